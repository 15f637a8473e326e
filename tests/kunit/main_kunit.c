// SPDX-License-Identifier: GPL-2.0-only
/* Parameters, load and unload; and for the other suites the module's own way in and out. */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/suspend.h>

/* Tests load and unload the module as often as they like. */
#undef __init
#define __init
#undef __exit
#define __exit
#undef module_init
#define module_init(_function)
#undef module_exit
#define module_exit(_function)

/* The module's own; ours came with the headers above. */
#undef pr_fmt
#include "record.h"
#include "smbus.h"

/* Number of the step of softtape_init() that fails. */
static int failing;

#define softtape_smbus_init() (failing == 1 ? -ENOMEM : softtape_smbus_init())
#define softtape_record_init() (failing == 2 ? -ENOMEM : softtape_record_init())
#define bus_register_notifier(_bus, _nb) (failing == 3 ? -EINVAL : bus_register_notifier(_bus, _nb))
#undef register_pm_notifier
#define register_pm_notifier(_nb) (failing == 4 ? -EEXIST : (register_pm_notifier)(_nb))
#include "../../kmod/main.c"
#undef bus_register_notifier

#include "fakehost.h"
#include "suites.h"

static struct parameter {
	const char *key;
	char **value;
	char *usual;
} parameters[] = {
	{ "aspm", &aspm, "off" }, { "speed", &speed, "keep" }, { "d3cold", &d3cold, "off" }, { "smbus", &smbus,
	  "off" },
	{ "ids", &ids, "" }, { "skip", &skip, "" }, { "dry_run", &dry_run, "N" },
};

/* insmod softtape.ko KEY=VALUE; the other parameters have their defaults. */
int module_load(const char *key, const char *value)
{
	unsigned int i;

	memset(&softtape_policy, 0, sizeof(softtape_policy));
	smbus_fresh();
	for (i = 0; i < ARRAY_SIZE(parameters); i++)
		*parameters[i].value = key && !strcmp(key, parameters[i].key) ? (char *)value : parameters[i].usual;

	return softtape_init();
}

void module_unload(void)
{
	softtape_exit();
}

/* What the kernel says when all devices have resumed. */
void module_resume(void)
{
	pm_event(&pm_nb, PM_POST_SUSPEND, NULL);
}

static void refused_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, module_load("aspm", "on"), -EINVAL);
	KUNIT_EXPECT_EQ(test, module_load("speed", "gen9"), -EINVAL);
	KUNIT_EXPECT_EQ(test, module_load("skip", "01:00.0"), -EINVAL);
	KUNIT_EXPECT_EQ(test, module_load(NULL, NULL), 0);
	module_unload();
}

/* Whatever step fails, the ones before are undone: cards come without a record, and the next try is a good one. */
static void failing_init_test(struct kunit *test)
{
	static const int errors[] = { -ENOMEM, -ENOMEM, -EINVAL, -EEXIST };
	struct softtape_report report;
	struct pci_dev *card;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		failing = i + 1;
		KUNIT_EXPECT_EQ_MSG(test, module_load("smbus", "awake"), errors[i], "step %u", i);
	}
	failing = 0;
	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_EXPECT_FALSE(test, softtape_record_snapshot(&card->dev, &report));
	KUNIT_ASSERT_EQ(test, module_load("smbus", "awake"), 0);
	KUNIT_EXPECT_TRUE(test, softtape_record_snapshot(&card->dev, &report));
	module_unload();
}

/* A flag may stand without a value. */
static void dry_run_test(struct kunit *test)
{
	char *before = dry_run;
	static char *text = "N";
	const struct kernel_param kp = { .name = "dry_run", .arg = &text };

	KUNIT_EXPECT_EQ(test, dry_run_set("N", &kp), 0);
	KUNIT_EXPECT_STREQ(test, (const char *)text, "N");
	KUNIT_EXPECT_EQ(test, dry_run_set(NULL, &kp), 0);
	KUNIT_EXPECT_STREQ(test, (const char *)text, "Y");
	KUNIT_EXPECT_PTR_EQ(test, before, dry_run);
	param_free_charp(&text);
}

/* Another vendor's device: not a read, not a write. */
static void other_vendor_test(struct kunit *test)
{
	struct pci_dev *card;

	fakehost_knobs.ep_vendor = 0x10df;
	host_start(test);
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	card = host_card(test, 0, 0);
	fakehost_knobs.log_reads = true;
	fakehost_log_clear();
	bus_event(&bus_nb, BUS_NOTIFY_ADD_DEVICE, &card->dev);
	bus_event(&bus_nb, BUS_NOTIFY_BIND_DRIVER, &card->dev);
	bus_event(&bus_nb, BUS_NOTIFY_DEL_DEVICE, &card->dev);
	KUNIT_EXPECT_NULL(test, fakehost_log_at(0));
	module_unload();
}

static struct kunit_case cases[] = {
	KUNIT_CASE(refused_test),
	KUNIT_CASE(failing_init_test),
	KUNIT_CASE(dry_run_test),
	KUNIT_CASE(other_vendor_test),
	{ }
};

struct kunit_suite main_suite = {
	.name = "softtape-main",
	.init = host_init,
	.exit = host_exit,
	.test_cases = cases,
};
