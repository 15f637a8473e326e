/* SPDX-License-Identifier: GPL-2.0-only */
/* The suites of softtape_kunit.ko, and what those on the simulated host bridge share. */
#ifndef SUITES_H
#define SUITES_H

#include <kunit/test.h>

struct pci_dev;

extern struct kunit_suite cards_suite, policy_suite, plan_suite, report_suite, smbus_rules_suite, link_suite,
	smbus_suite, sysfs_suite, record_suite, main_suite, hostile_suite;

/* link_kunit.c: the simulated hardware; a test's init and exit functions. */
int host_init(struct kunit *test);
void host_exit(struct kunit *test);
void host_start(struct kunit *test);
struct pci_dev *host_card(struct kunit *test, unsigned int slot, unsigned int function);
struct pci_dev *host_port(struct kunit *test, unsigned int slot);
void host_remove(unsigned int slot);
void host_rescan(void);
const char *host_writes(struct kunit *test);

/* main_kunit.c: the module, as insmod and rmmod would do it. */
int module_load(const char *key, const char *value);
void module_unload(void);
void module_resume(void);

/* smbus_kunit.c: as the module's memory is when it has just been loaded. */
#if IS_ENABLED(CONFIG_I2C)
void smbus_fresh(void);
#else
static inline void smbus_fresh(void)
{
}
#endif

#endif
