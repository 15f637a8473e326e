// SPDX-License-Identifier: GPL-2.0-only
/* The pure SMBus rules (kmod/smbus_rules.c): every address, adapter names as the drivers give them, every word. */
#include "test.h"

#include "../../kmod/softtape.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Written by hand, one row of sixteen addresses each; H = may be held. */
static const char *const may_hold[] = {
	/*       0123456789abcdef */
	/* 00 */ "................",	/* reserved, SMBus host 08 */
	/* 10 */ "................",	/* 18-1f: DIMM temperature sensors */
	/* 20 */ "................",
	/* 30 */ "................",	/* 30-37: DIMM write protection and page select */
	/* 40 */ "............H.HH",	/* the card; on DDR5 hosts 48-4f are the modules' regulators */
	/* 50 */ "................",	/* 50-57: DIMM SPD */
	/* 60 */ "................",
	/* 70 */ "................",	/* multiplexers, reserved */
};

static void every_address_is_decided(void **state)
{
	unsigned int address, found = 0;

	(void)state;
	assert_int_equal(ARRAY_SIZE(may_hold) * 16, 0x80);
	for (address = 0; address < 0x80; address++) {
		bool expected = may_hold[address / 16][address % 16] == 'H';

		if (softtape_smbus_may_hold(address, false) != expected)
			fail_msg("address 0x%02x: %d expected", address, expected);
		if (softtape_smbus_may_hold(address, true))
			fail_msg("address 0x%02x may be held on a DDR5 host", address);
		found += expected;
	}
	/* Beyond seven bits there is nothing to hold. */
	for (; address <= 0xff; address++)
		assert_false(softtape_smbus_may_hold(address, false));
	assert_int_equal(found, 3);
}

static void what_is_tried_may_be_held(void **state)
{
	static const __u8 expected[] = { 0x4c, 0x4e, 0x4f };
	unsigned int i;

	(void)state;
	assert_int_equal(ARRAY_SIZE(expected), SOFTTAPE_SMBUS_ADDRESSES);
	for (i = 0; i < SOFTTAPE_SMBUS_ADDRESSES; i++)
		assert_int_equal(softtape_smbus_address(i), expected[i]);
}

/* SMBIOS 3.7 table 78. */
static void memory_types_are_told(void **state)
{
	static const struct {
		const char *desc;
		__u8 type;
		bool ddr5;
	} rows[] = {
		{ "not given", 0x00, false },	{ "other", 0x01, false },	{ "unknown", 0x02, false },
		{ "RAM, as QEMU says", 0x07, false }, { "DDR3", 0x18, false },	{ "DDR4", 0x1a, false },
		{ "LPDDR4", 0x1e, false },	{ "HBM2", 0x21, false },	{ "DDR5", 0x22, true },
		{ "LPDDR5", 0x23, true },	{ "HBM3", 0x24, true },		{ "a later one", 0x30, true },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_row(softtape_smbus_memory_ddr5(rows[i].type) == rows[i].ddr5, &rows[i]);

	assert_true(softtape_smbus_client_ddr5("spd5118"));
	assert_false(softtape_smbus_client_ddr5("ee1004"));
	assert_false(softtape_smbus_client_ddr5("spd"));
}

static void adapters_are_told(void **state)
{
	static const struct {
		const char *desc;
		const char *name;
		bool main;
	} rows[] = {
		{ "i801", "SMBus I801 adapter at 0700", true },
		{ "i801, integrated device function", "SMBus I801 IDF adapter at f040", false },
		{ "piix4 before SB800", "SMBus PIIX4 adapter at b100", true },
		{ "piix4, port 0", "SMBus PIIX4 adapter port 0 at 0b00", true },
		{ "piix4, port 1, auxiliary", "SMBus PIIX4 adapter port 1 at 0b20", false },
		{ "piix4, port 2", "SMBus PIIX4 adapter port 2 at 0b00", false },
		{ "segment of a multiplexer", "i2c-0-mux (chan_id 0)", false },
		{ "a GPU's own", "NVIDIA i2c adapter 1 at 1:00.0", false },
		{ "nothing", "", false },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_row(softtape_smbus_main_adapter(rows[i].name) == rows[i].main, &rows[i]);
}

static const struct text_row {
	const char *desc;
	enum softtape_smbus_policy policy;
	bool dry_run;
	struct softtape_smbus smbus[2];
	unsigned int nr;
	const char *text;
} text_rows[] = {
#define AWAKE	SOFTTAPE_SMBUS_AWAKE
#define HOLD	SOFTTAPE_SMBUS_HOLD
	{ "off", SOFTTAPE_SMBUS_OFF, false, { { .awake = false } }, 1, "off" },
	{ "off, no controller", SOFTTAPE_SMBUS_OFF, false, { { 0 } }, 0, "off" },
	{ "no controller", AWAKE, false, { { 0 } }, 0, "no-controller" },
	{ "no controller to hold on", HOLD, false, { { 0 } }, 0, "no-controller" },
	{ "no controller, dry run", AWAKE, true, { { 0 } }, 0, "no-controller" },
	{ "no card", AWAKE, false, { { .adapter = 0 } }, 1, "none" },
	{ "awake", AWAKE, false, { { .awake = true } }, 1, "awake" },
	{ "awake, DDR5 is no matter", AWAKE, false, { { .awake = true, .ddr5 = true } }, 1, "awake" },
	{ "the second of two", AWAKE, false, { { .adapter = 0 }, { .awake = true } }, 2, "awake" },
	{ "all held", HOLD, false, { { .adapter = 7, .awake = true, .held = { true, true, true } } }, 1,
	  "held:0x4c@i2c-7,0x4e@i2c-7,0x4f@i2c-7" },
	{ "one owned", HOLD, false, { { .awake = true, .held = { false, true, true }, .owner = { "lm90" } } }, 1,
	  "held:0x4e@i2c-0,0x4f@i2c-0,owned:lm90" },
	{ "all owned, by two", HOLD, false, { { .awake = true, .owner = { "lm75", "lm90", "lm75" } } }, 1,
	  "owned:lm75,owned:lm90" },
	{ "two controllers", HOLD, false, { { .awake = true, .held = { true } },
	  { .adapter = 1, .awake = true, .held = { true } } }, 2, "held:0x4c@i2c-0,0x4c@i2c-1" },
	{ "nothing could be held", HOLD, false, { { .awake = true } }, 1, "awake" },
	{ "DDR5", HOLD, false, { { .awake = true, .ddr5 = true } }, 1, "refused(ddr5)" },
	{ "DDR5, no card", HOLD, false, { { .ddr5 = true } }, 1, "none" },
	{ "dry run", AWAKE, true, { { 0 } }, 1, "off" },
	{ "dry run, hold", HOLD, true, { { 0 } }, 1, "off" },
	{ "dry run, hold, DDR5", HOLD, true, { { .ddr5 = true } }, 1, "refused(ddr5)" },
};

static void texts_are_written(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(text_rows); i++) {
		const struct text_row *row = &text_rows[i];
		const struct softtape_policy policy = { .smbus = row->policy, .dry_run = row->dry_run };
		char text[SOFTTAPE_SMBUS_TEXT_MAX];
		size_t len = softtape_smbus_text(&policy, row->smbus, row->nr, text, sizeof(text));

		if (strcmp(text, row->text))
			fail_msg("row '%s': %s", row->desc, text);
		assert_row(len == strlen(row->text), row);
	}
}

static void texts_are_cut_between_items(void **state)
{
	const struct softtape_policy policy = { .smbus = SOFTTAPE_SMBUS_HOLD };
	const struct softtape_smbus smbus = { .awake = true, .held = { true, true, true } };
	char text[64];
	size_t size;

	(void)state;
	for (size = 0; size < sizeof(text); size++) {
		memset(text, '#', sizeof(text));
		softtape_smbus_text(&policy, &smbus, 1, text, size);
		assert_int_equal(text[size], '#');
		/* "held:0x4c@i2c-0" has 15 characters, each further item 11. */
		if (size > 15)
			assert_int_equal(strlen(text), size > 37 ? 37 : size > 26 ? 26 : 15);
	}
}

static void dry_runs_say_what_would_be(void **state)
{
	static const struct {
		const char *desc;
		struct softtape_policy policy;
		const char *smbus;
		const char *end;
	} rows[] = {
		{ "awake", { .dry_run = true }, "off", " smbus=off(would be awake)" },
		{ "hold", { .dry_run = true, .smbus = HOLD }, "off", " smbus=off(would be held)" },
		{ "off", { .dry_run = true, .smbus = SOFTTAPE_SMBUS_OFF }, "off", " smbus=off" },
		{ "no controller", { .dry_run = true }, "no-controller", " smbus=no-controller" },
		{ "no dry run", { .smbus = SOFTTAPE_SMBUS_OFF }, "off", " smbus=off" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct softtape_report report = { .card = softtape_card_at(0), .state = SOFTTAPE_DRY_RUN };
		char line[SOFTTAPE_LINE_MAX];
		size_t len;

		strcpy(report.smbus, rows[i].smbus);
		report.smbus_would = softtape_smbus_would(&rows[i].policy);
		len = softtape_report_line(&report, line, sizeof(line));
		assert_in_range(len, strlen(rows[i].end), sizeof(line));
		if (strcmp(line + len - strlen(rows[i].end), rows[i].end))
			fail_msg("row '%s': %s", rows[i].desc, line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_is_decided),
		cmocka_unit_test(what_is_tried_may_be_held),
		cmocka_unit_test(memory_types_are_told),
		cmocka_unit_test(adapters_are_told),
		cmocka_unit_test(texts_are_written),
		cmocka_unit_test(texts_are_cut_between_items),
		cmocka_unit_test(dry_runs_say_what_would_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
