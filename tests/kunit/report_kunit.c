// SPDX-License-Identifier: GPL-2.0-only
/* The words of the log line; expected texts are written by hand after the README's tables. */
#include "../../kmod/report.c"

#include "suites.h"

static const struct softtape_card p104 = { .device = 0x1b87, .name = "P104-100" };

#define LINE(...) { .card = &p104, .device = 0x1b87, .smbus = "off", __VA_ARGS__ }
#define OFF4 .value = { SOFTTAPE_OFF, SOFTTAPE_OFF, SOFTTAPE_OFF, SOFTTAPE_OFF }
#define UNCHANGED4 \
	.reason = { SOFTTAPE_R_UNCHANGED, SOFTTAPE_R_UNCHANGED, SOFTTAPE_R_UNCHANGED, SOFTTAPE_R_UNCHANGED }

static const struct line_row {
	const char *what;
	struct softtape_report report;
	const char *values;
} line_rows[] = {
	{ "the design's example",
	  LINE(.state = SOFTTAPE_APPLIED, OFF4, .was = { SOFTTAPE_L0S_L1, SOFTTAPE_ON, SOFTTAPE_OFF, SOFTTAPE_ON },
	       .reason = { SOFTTAPE_R_WAS, SOFTTAPE_R_WAS, SOFTTAPE_R_UNCHANGED, SOFTTAPE_R_WAS }, .smbus = "awake",
	       .view = { .speed = 1, .width = 1, .max_speed = 1, .max_width = 4 }),
	  "state=applied aspm=off(was l0s+l1) clkpm=off(was on) l1ss=off(unchanged) d3cold=off(was on) cap=keep "
	  "speed=2.5GT/s,x1(max 2.5GT/s,x4) smbus=awake" },
	{ "skipped says nothing else", LINE(.state = SOFTTAPE_SKIPPED, OFF4), "state=skipped" },
	{ "lost",
	  LINE(.state = SOFTTAPE_LOST,
	       .value = { SOFTTAPE_UNKNOWN, SOFTTAPE_UNKNOWN, SOFTTAPE_UNKNOWN, SOFTTAPE_UNKNOWN },
	       .cap = SOFTTAPE_CAP_UNKNOWN),
	  "state=lost aspm=unknown clkpm=unknown l1ss=unknown d3cold=unknown cap=unknown speed=unknown smbus=off" },
	{ "dry run with a cap",
	  LINE(.state = SOFTTAPE_DRY_RUN, .value = { SOFTTAPE_L1, SOFTTAPE_OFF, SOFTTAPE_UNSUPPORTED, SOFTTAPE_ON },
	       .reason = { SOFTTAPE_R_WOULD, SOFTTAPE_R_UNCHANGED, SOFTTAPE_R_NONE, SOFTTAPE_R_WOULD },
	       .cap = SOFTTAPE_CAP_WOULD, .cap_gen = 3, .cap_want = 1,
	       .view = { .speed = 3, .width = 16, .max_speed = 4, .max_width = 16 }),
	  "state=dry-run aspm=l1(would be off) clkpm=off(unchanged) l1ss=unsupported d3cold=on(would be off) "
	  "cap=gen3(would be gen1) speed=8GT/s,x16(max 16GT/s,x16) smbus=off" },
	{ "dry run of SMBus",
	  LINE(.state = SOFTTAPE_DRY_RUN, OFF4, UNCHANGED4, .smbus_would = "awake",
	       .view = { .speed = 1, .width = 1, .max_speed = 1, .max_width = 4 }),
	  "state=dry-run aspm=off(unchanged) clkpm=off(unchanged) l1ss=off(unchanged) d3cold=off(unchanged) cap=keep "
	  "speed=2.5GT/s,x1(max 2.5GT/s,x4) smbus=off(would be awake)" },
	{ "dry run of SMBus where nothing would come of it",
	  LINE(.state = SOFTTAPE_DRY_RUN, OFF4, .smbus = "refused(ddr5)", .smbus_would = "held"),
	  "state=dry-run aspm=off clkpm=off l1ss=off d3cold=off cap=keep speed=unknown smbus=refused(ddr5)" },
	{ "a later line, refused",
	  LINE(.state = SOFTTAPE_REFUSED, .value = { SOFTTAPE_L0S, SOFTTAPE_ON, SOFTTAPE_ON, SOFTTAPE_ON },
	       .reason = { SOFTTAPE_R_REFUSED_DRIVER, SOFTTAPE_R_REFUSED_FIRMWARE, SOFTTAPE_R_REFUSED_CORE,
			   SOFTTAPE_R_KEEP }, .cap = SOFTTAPE_CAP_CLAMPED, .cap_gen = 2, .after = "bind",
	       .view = { .speed = 2, .width = 4 }),
	  "state=refused aspm=l0s(refused:driver) clkpm=on(refused:firmware) l1ss=on(refused:core) d3cold=on(keep) "
	  "cap=clamped:gen2 speed=5GT/s,x4 smbus=off after=bind" },
	{ "partial", LINE(.state = SOFTTAPE_PARTIAL, OFF4, UNCHANGED4, .cap = SOFTTAPE_CAP_SET, .cap_gen = 1,
	  .view = { .speed = 9, .width = 1 }),
	  "state=partial aspm=off(unchanged) clkpm=off(unchanged) l1ss=off(unchanged) d3cold=off(unchanged) cap=gen1 "
	  "speed=unknown,x1 smbus=off" },
	{ "pending", LINE(.state = SOFTTAPE_PENDING, .value = { SOFTTAPE_L0S_L1, SOFTTAPE_OFF, SOFTTAPE_OFF,
	  SOFTTAPE_OFF },
	  .reason = { SOFTTAPE_R_REFUSED_READBACK }, .cap = SOFTTAPE_CAP_LIFTED),
	  "state=pending aspm=l0s+l1(refused:readback) clkpm=off l1ss=off d3cold=off cap=lifted "
	  "speed=unknown smbus=off" },
	{ "unchanged, cap unneeded", LINE(.state = SOFTTAPE_UNCHANGED, OFF4, .cap = SOFTTAPE_CAP_UNNEEDED),
	  "state=unchanged aspm=off clkpm=off l1ss=off d3cold=off cap=unneeded speed=unknown smbus=off" },
	{ "cap left to the driver", LINE(.state = SOFTTAPE_UNCHANGED, OFF4, .cap = SOFTTAPE_CAP_REFUSED_DRIVER),
	  "state=unchanged aspm=off clkpm=off l1ss=off d3cold=off cap=refused(driver) speed=unknown smbus=off" },
	{ "cap not taken", LINE(.state = SOFTTAPE_UNCHANGED, OFF4, .cap = SOFTTAPE_CAP_REFUSED_READBACK),
	  "state=unchanged aspm=off clkpm=off l1ss=off d3cold=off cap=refused(readback) speed=unknown smbus=off" },
	{ "cap on a version-1 port", LINE(.state = SOFTTAPE_UNCHANGED, OFF4, .cap = SOFTTAPE_CAP_REFUSED_V1),
	  "state=unchanged aspm=off clkpm=off l1ss=off d3cold=off cap=refused(v1) speed=unknown smbus=off" },
	{ "no port", LINE(.state = SOFTTAPE_UNCHANGED, OFF4, .cap = SOFTTAPE_CAP_UNSUPPORTED),
	  "state=unchanged aspm=off clkpm=off l1ss=off d3cold=off cap=unsupported speed=unknown smbus=off" },
};

static void line_name(const struct line_row *row, char *desc)
{
	strscpy(desc, row->what, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(line, line_rows, line_name);

static void line_test(struct kunit *test)
{
	const struct line_row *row = test->param_value;
	static const char prefix[] = "softtape: P104-100 [10de:1b87]: ";
	char *text = kunit_kzalloc(test, SOFTTAPE_LINE_MAX, GFP_KERNEL);
	size_t len;

	KUNIT_ASSERT_NOT_NULL(test, text);
	len = softtape_report_values(&row->report, text, SOFTTAPE_LINE_MAX);
	KUNIT_EXPECT_STREQ(test, (const char *)text, row->values);
	KUNIT_EXPECT_EQ(test, len, strlen(row->values));

	softtape_report_line(&row->report, text, SOFTTAPE_LINE_MAX);
	KUNIT_EXPECT_EQ(test, strncmp(text, prefix, strlen(prefix)), 0);
	KUNIT_EXPECT_STREQ(test, (const char *)text + strlen(prefix), row->values);
}

/* Files have the value without its reason. */
static void field_test(struct kunit *test)
{
	const struct softtape_report *report = &line_rows[3].report;
	static const char *const expected[] = {
		[SOFTTAPE_F_CARD] = "P104-100", [SOFTTAPE_F_STATE] = "dry-run", [SOFTTAPE_F_ASPM] = "l1",
		[SOFTTAPE_F_CLKPM] = "off", [SOFTTAPE_F_L1SS] = "unsupported", [SOFTTAPE_F_D3COLD] = "on",
		[SOFTTAPE_F_CAP] = "gen3", [SOFTTAPE_F_SPEED] = "8GT/s,x16", [SOFTTAPE_F_SMBUS] = "off",
	};
	static const char *const names[] = { "card", "state", "aspm", "clkpm", "l1ss", "d3cold", "cap", "speed",
	  "smbus" };
	char text[64];
	int i;

	KUNIT_ASSERT_EQ(test, (int)SOFTTAPE_NR_FIELDS, 9);
	for (i = 0; i < SOFTTAPE_NR_FIELDS; i++) {
		softtape_report_field(report, i, text, sizeof(text));
		KUNIT_EXPECT_STREQ(test, (const char *)text, expected[i]);
		KUNIT_EXPECT_STREQ(test, softtape_field_name(i), names[i]);
	}
}

/* Text is cut at the end of the buffer, and always terminated. */
static void short_buffer_test(struct kunit *test)
{
	const struct softtape_report *report = &line_rows[0].report;
	char text[16];

	memset(text, 'x', sizeof(text));
	KUNIT_EXPECT_EQ(test, softtape_report_line(report, text, 8), (size_t)7);
	KUNIT_EXPECT_STREQ(test, (const char *)text, "softtap");
	KUNIT_EXPECT_EQ(test, text[8], 'x');
	KUNIT_EXPECT_EQ(test, softtape_report_line(report, text, 1), (size_t)0);
	KUNIT_EXPECT_EQ(test, text[0], '\0');
	text[0] = 'x';
	KUNIT_EXPECT_EQ(test, softtape_report_line(report, text, 0), (size_t)0);
	KUNIT_EXPECT_EQ(test, text[0], 'x');
	KUNIT_EXPECT_EQ(test, softtape_report_values(report, text, 14), (size_t)13);
	KUNIT_EXPECT_STREQ(test, (const char *)text, "state=applied");
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(line_test, line_gen_params),
	KUNIT_CASE(field_test),
	KUNIT_CASE(short_buffer_test),
	{ }
};

struct kunit_suite report_suite = { .name = "softtape-report", .test_cases = cases };
