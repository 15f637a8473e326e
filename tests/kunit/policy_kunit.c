// SPDX-License-Identifier: GPL-2.0-only
/* Parameter texts. Expected values are written out from the README's table. */
#include "../../kmod/policy.c"

#include "suites.h"

static const struct set_row {
	const char *key, *value;
	int ret;
} set_rows[] = {
	{ "aspm", "off", 0 }, { "aspm", "keep", 0 }, { "aspm", "force", 0 }, { "aspm", "Off", -EINVAL },
	{ "aspm", "", -EINVAL }, { "aspm", "offf", -EINVAL },
	{ "speed", "keep", 0 }, { "speed", "gen1", 0 }, { "speed", "gen4", 0 }, { "speed", "gen0", -EINVAL },
	{ "speed", "gen5", -EINVAL }, { "speed", "1", -EINVAL },
	{ "d3cold", "off", 0 }, { "d3cold", "keep", 0 }, { "d3cold", "on", -EINVAL },
	{ "smbus", "awake", 0 }, { "smbus", "hold", 0 }, { "smbus", "off", 0 }, { "smbus", "held", -EINVAL },
	{ "dry_run", "N", 0 }, { "dry_run", "Y", 0 }, { "dry_run", "1", 0 }, { "dry_run", "yes", -EINVAL },
	{ "ids", "", 0 }, { "ids", "10de:1b81", 0 }, { "ids", "10DE:1B81,10de:1c03", 0 }, { "ids", "1002:1b81",
	  -EINVAL },
	{ "ids", "10de:1b8", -EINVAL }, { "ids", "10de:1b81,", -EINVAL }, { "ids", "10de:1b811", -EINVAL },
	{ "ids", "10de:1b81 ", -EINVAL }, { "ids", "0x10de:1b81", -EINVAL },
	{ "skip", "", 0 }, { "skip", "0000:01:00.0", 0 }, { "skip", "10000:01:1f.7,0000:02:00.1", 0 },
	{ "skip", "01:00.0", -EINVAL }, { "skip", "0000:01:20.0", -EINVAL }, { "skip", "0000:01:00.8", -EINVAL },
	{ "skip", "0000:01:00", -EINVAL }, { "skip", "0000:01:00.0;", -EINVAL }, { "skip", "0000:001:0.0", -EINVAL },
	{ "aspmm", "off", -ENOENT }, { "", "off", -ENOENT },
};

static void row_name(const struct set_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s=%s", row->key, row->value);
}

KUNIT_ARRAY_PARAM(set, set_rows, row_name);

static void set_test(struct kunit *test)
{
	const struct set_row *row = test->param_value;
	struct softtape_policy policy = { };

	KUNIT_EXPECT_EQ(test, softtape_policy_set(&policy, row->key, row->value), row->ret);
}

static void meaning_test(struct kunit *test)
{
	struct softtape_policy policy = { };

	softtape_policy_set(&policy, "aspm", "force");
	softtape_policy_set(&policy, "speed", "gen3");
	softtape_policy_set(&policy, "d3cold", "keep");
	softtape_policy_set(&policy, "smbus", "hold");
	softtape_policy_set(&policy, "dry_run", "y");
	softtape_policy_set(&policy, "ids", "10de:1B81,10de:0001");
	softtape_policy_set(&policy, "skip", "abcd1234:fe:1f.7,0000:02:03.1");
	KUNIT_EXPECT_EQ(test, (int)policy.aspm, (int)SOFTTAPE_ASPM_FORCE);
	KUNIT_EXPECT_EQ(test, policy.speed, 3);
	KUNIT_EXPECT_EQ(test, (int)policy.d3cold, (int)SOFTTAPE_D3COLD_KEEP);
	KUNIT_EXPECT_EQ(test, (int)policy.smbus, (int)SOFTTAPE_SMBUS_HOLD);
	KUNIT_EXPECT_TRUE(test, policy.dry_run);
	KUNIT_ASSERT_EQ(test, policy.nr_ids, 2u);
	KUNIT_EXPECT_EQ(test, policy.ids[0], 0x1b81);
	KUNIT_EXPECT_EQ(test, policy.ids[1], 1);
	KUNIT_ASSERT_EQ(test, policy.nr_skip, 2u);
	KUNIT_EXPECT_EQ(test, policy.skip[0].domain, 0xabcd1234u);
	KUNIT_EXPECT_EQ(test, policy.skip[0].bus, 0xfe);
	KUNIT_EXPECT_EQ(test, policy.skip[0].slot, 0x1f);
	KUNIT_EXPECT_EQ(test, policy.skip[1].domain, 0u);
	KUNIT_EXPECT_EQ(test, policy.skip[1].bus, 2);
	KUNIT_EXPECT_EQ(test, policy.skip[1].slot, 3);
}

/* The 33rd entry of a list is refused. */
static void limits_test(struct kunit *test)
{
	struct softtape_policy policy = { };
	char *ids = kunit_kzalloc(test, 512, GFP_KERNEL), *skip = kunit_kzalloc(test, 512, GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, ids);
	KUNIT_ASSERT_NOT_NULL(test, skip);
	for (i = 0; i < 32; i++) {
		sprintf(ids + i * 10, "10de:00%02x,", i);
		sprintf(skip + i * 13, "0000:%02x:00.0,", i);
	}
	ids[319] = '\0';
	skip[415] = '\0';
	KUNIT_EXPECT_EQ(test, softtape_policy_set(&policy, "ids", ids), 0);
	KUNIT_EXPECT_EQ(test, softtape_policy_set(&policy, "skip", skip), 0);
	KUNIT_EXPECT_EQ(test, policy.nr_ids, 32u);
	KUNIT_EXPECT_EQ(test, policy.nr_skip, 32u);
	strcpy(ids + 319, ",10de:ffff");
	strcpy(skip + 415, ",0000:ff:00.0");
	KUNIT_EXPECT_EQ(test, softtape_policy_set(&policy, "ids", ids), -EINVAL);
	KUNIT_EXPECT_EQ(test, softtape_policy_set(&policy, "skip", skip), -EINVAL);
}

static void names_test(struct kunit *test)
{
	unsigned int nr;

	for (nr = 0; softtape_policy_key(nr); nr++)
		KUNIT_EXPECT_NOT_NULL(test, softtape_policy_accepts(softtape_policy_key(nr)));
	KUNIT_EXPECT_EQ(test, nr, 7u);
	KUNIT_EXPECT_STREQ(test, softtape_policy_accepts("d3cold"), "off, keep");
	KUNIT_EXPECT_NULL(test, softtape_policy_accepts("d3hot"));
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(set_test, set_gen_params),
	KUNIT_CASE(meaning_test),
	KUNIT_CASE(limits_test),
	KUNIT_CASE(names_test),
	{ }
};

struct kunit_suite policy_suite = { .name = "softtape-policy", .test_cases = cases };
