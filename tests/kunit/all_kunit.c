// SPDX-License-Identifier: GPL-2.0-only
/* Hands the suites to KUnit, pure ones first. */
#include <linux/module.h>

#include "suites.h"

#if IS_ENABLED(CONFIG_I2C)
kunit_test_suites(&cards_suite, &policy_suite, &plan_suite, &report_suite, &smbus_rules_suite, &link_suite,
		  &smbus_suite, &sysfs_suite, &record_suite, &main_suite, &hostile_suite);
#else
kunit_test_suites(&cards_suite, &policy_suite, &plan_suite, &report_suite, &smbus_rules_suite, &link_suite,
		  &sysfs_suite, &record_suite, &main_suite, &hostile_suite);
#endif
