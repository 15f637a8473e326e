// SPDX-License-Identifier: GPL-2.0-only
/* Which addresses may be held, on which adapters, and the words; expected values are written out by hand. */
#include "../../kmod/smbus_rules.c"

#include "suites.h"

static void every_address_test(struct kunit *test)
{
	unsigned int address;

	for (address = 0; address <= 0xff; address++) {
		bool ours = address == 0x4c || address == 0x4e || address == 0x4f;

		KUNIT_EXPECT_EQ_MSG(test, softtape_smbus_may_hold(address, false), ours, "address %#x", address);
		KUNIT_EXPECT_FALSE_MSG(test, softtape_smbus_may_hold(address, true), "address %#x, DDR5", address);
	}
}

static void list_test(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, SOFTTAPE_SMBUS_ADDRESSES, 3);
	KUNIT_EXPECT_EQ(test, softtape_smbus_address(0), 0x4c);
	KUNIT_EXPECT_EQ(test, softtape_smbus_address(1), 0x4e);
	KUNIT_EXPECT_EQ(test, softtape_smbus_address(2), 0x4f);
}

/* SMBIOS 3.7 table 78: DDR5 is 22h; a hub of DDR5 modules is a client of this name. */
static void memory_test(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, softtape_smbus_memory_ddr5(0x00));
	KUNIT_EXPECT_FALSE(test, softtape_smbus_memory_ddr5(0x1a));
	KUNIT_EXPECT_FALSE(test, softtape_smbus_memory_ddr5(0x21));
	KUNIT_EXPECT_TRUE(test, softtape_smbus_memory_ddr5(0x22));
	KUNIT_EXPECT_TRUE(test, softtape_smbus_memory_ddr5(0x23));
	KUNIT_EXPECT_TRUE(test, softtape_smbus_memory_ddr5(0xff));
	KUNIT_EXPECT_TRUE(test, softtape_smbus_client_ddr5("spd5118"));
	KUNIT_EXPECT_FALSE(test, softtape_smbus_client_ddr5("spd511"));
	KUNIT_EXPECT_FALSE(test, softtape_smbus_client_ddr5("ee1004"));
}

static const struct name_row {
	const char *name;
	bool main;
} name_rows[] = {
	{ "SMBus I801 adapter at 0700", true },
	{ "SMBus I801 IDF adapter at f040", false },
	{ "SMBus PIIX4 adapter at b100", true },
	{ "SMBus PIIX4 adapter port 0 at 0b00", true },
	{ "SMBus PIIX4 adapter port 1 at 0b20", false },
	{ "SMBus PIIX4 adapter port 2 at 0b00", false },
	{ "SMBus I801 adapte", false },
	{ "i2c-0-mux (chan_id 0)", false },
	{ "", false },
};

static void row_name(const struct name_row *row, char *desc)
{
	strscpy(desc, row->name[0] ? row->name : "no name", KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(name, name_rows, row_name);

static void name_test(struct kunit *test)
{
	const struct name_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, softtape_smbus_main_adapter(row->name), row->main);
}

#define HOLD SOFTTAPE_SMBUS_HOLD

static const struct text_row {
	const char *what;
	struct softtape_policy policy;
	struct softtape_smbus smbus[2];
	unsigned int nr;
	const char *text;
} text_rows[] = {
	{ "off", { .smbus = SOFTTAPE_SMBUS_OFF }, { { .awake = true } }, 1, "off" },
	{ "no controller", { }, { { } }, 0, "no-controller" },
	{ "no card", { }, { { } }, 1, "none" },
	{ "awake", { }, { { .awake = true } }, 1, "awake" },
	{ "second of two awake", { }, { { }, { .awake = true } }, 2, "awake" },
	{ "all held", { .smbus = HOLD }, { { .adapter = 7, .awake = true, .held = { true, true, true } } }, 1,
	  "held:0x4c@i2c-7,0x4e@i2c-7,0x4f@i2c-7" },
	{ "one owned", { .smbus = HOLD },
	  { { .awake = true, .held = { false, true, true }, .owner = { "lm90" } } }, 1,
	  "held:0x4e@i2c-0,0x4f@i2c-0,owned:lm90" },
	{ "owned by two", { .smbus = HOLD }, { { .awake = true, .owner = { "lm75", "lm90", "lm75" } } }, 1,
	  "owned:lm75,owned:lm90" },
	{ "DDR5", { .smbus = HOLD }, { { .awake = true, .ddr5 = true } }, 1, "refused(ddr5)" },
	{ "DDR5, awake only", { }, { { .awake = true, .ddr5 = true } }, 1, "awake" },
	{ "DDR5, no card", { .smbus = HOLD }, { { .ddr5 = true } }, 1, "none" },
	{ "dry run", { .dry_run = true }, { { } }, 1, "off" },
	{ "dry run on DDR5", { .dry_run = true, .smbus = HOLD }, { { .ddr5 = true } }, 1, "refused(ddr5)" },
};

static void text_name(const struct text_row *row, char *desc)
{
	strscpy(desc, row->what, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(text, text_rows, text_name);

static void text_test(struct kunit *test)
{
	const struct text_row *row = test->param_value;
	char text[SOFTTAPE_SMBUS_TEXT_MAX];
	size_t len;

	len = softtape_smbus_text(&row->policy, row->smbus, row->nr, text, sizeof(text));
	KUNIT_EXPECT_STREQ(test, (const char *)text, row->text);
	KUNIT_EXPECT_EQ(test, len, strlen(row->text));

	/* An item that does not fit is left out whole, and nothing is written behind the buffer. */
	memset(text, '#', sizeof(text));
	softtape_smbus_text(&row->policy, row->smbus, row->nr, text, 16);
	KUNIT_EXPECT_EQ(test, text[16], '#');
	KUNIT_EXPECT_LE(test, strlen(text), (size_t)15);
	KUNIT_EXPECT_EQ(test, softtape_smbus_text(&row->policy, row->smbus, row->nr, text, 0), (size_t)0);
}

static void would_test(struct kunit *test)
{
	const struct softtape_policy usual = { }, dry = { .dry_run = true }, hold = { .dry_run = true, .smbus = HOLD },
		off = { .dry_run = true, .smbus = SOFTTAPE_SMBUS_OFF };

	KUNIT_EXPECT_NULL(test, softtape_smbus_would(&usual));
	KUNIT_EXPECT_STREQ(test, softtape_smbus_would(&dry), "awake");
	KUNIT_EXPECT_STREQ(test, softtape_smbus_would(&hold), "held");
	KUNIT_EXPECT_NULL(test, softtape_smbus_would(&off));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(every_address_test),
	KUNIT_CASE(list_test),
	KUNIT_CASE(memory_test),
	KUNIT_CASE_PARAM(name_test, name_gen_params),
	KUNIT_CASE_PARAM(text_test, text_gen_params),
	KUNIT_CASE(would_test),
	{ }
};

struct kunit_suite smbus_rules_suite = { .name = "softtape-smbus-rules", .test_cases = cases };
