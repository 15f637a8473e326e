// SPDX-License-Identifier: GPL-2.0-only
/*
 * From registers to words to steps. Registers are those of the dumps in tests/fixtures/cases, or differ from them in
 * what the row says; expected values are read off them by hand with PCIe r6.0 7.5.3.
 */
#include "../../kmod/plan.c"

#include "suites.h"

#define END(...) { .known = true, .version = 2, .ext_known = true, __VA_ARGS__ }

/* p104-100-with-port.txt: 01:00.0, Express at 0x78, and 00:1c.0, Express at 0x40. */
#define P104	END(.lnkcap = 0x00453c41, .lnkctl = 0x0143, .lnksta = 0x1011, .lnkcap2 = 0x2, .lnkctl2 = 0x1)
#define PORT	END(.lnkcap = 0x00100c43, .lnkctl = 0x0043, .lnksta = 0x3011, .lnkcap2 = 0xe, .lnkctl2 = 0x3)
/* cmp-40hx-aspm-on.txt, Express at 0x78; no port in that dump. */
#define CMP40	END(.ext_known = false, .lnkcap = 0x00453d01, .lnkctl = 0x0143, .lnksta = 0x1101, .lnkcap2 = 0x2)
#define AUDIO	END(.lnkcap = 0x00453c41, .lnkctl = 0x0040, .lnksta = 0x1011)

#define LINK(...) { .above = SOFTTAPE_ABOVE_PORT, .nr_fn = 1, .d3cold = SOFTTAPE_ON, __VA_ARGS__ }

static const struct view_row {
	const char *what;
	struct softtape_link link;
	enum softtape_value item[SOFTTAPE_NR_ITEMS];
	u8 speed, width, max_speed, max_width, port_version, port_max, tls;
} view_rows[] = {
	{ "P104-100 with port", LINK(.fn = { P104 }, .port = PORT),
	  { SOFTTAPE_L0S_L1, SOFTTAPE_ON, SOFTTAPE_UNSUPPORTED, SOFTTAPE_ON }, 1, 1, 1, 4, 2, 3, 3 },
	{ "CMP 40HX, no port in the dump", LINK(.above = SOFTTAPE_ABOVE_UNKNOWN, .fn = { CMP40 },
	  .d3cold = SOFTTAPE_UNKNOWN),
	  { SOFTTAPE_L0S_L1, SOFTTAPE_ON, SOFTTAPE_UNKNOWN, SOFTTAPE_UNKNOWN }, 1, 16, 1, 16, 0, 0, 0 },
	{ "no port above", LINK(.above = SOFTTAPE_ABOVE_NONE, .fn = { P104 }),
	  { SOFTTAPE_UNSUPPORTED, SOFTTAPE_UNSUPPORTED, SOFTTAPE_UNSUPPORTED, SOFTTAPE_UNSUPPORTED },
	  1, 1, 1, 4, 0, 0, 0 },
	{ "card not read", LINK(.fn = { { .known = false } }, .port = PORT),
	  { SOFTTAPE_UNKNOWN, SOFTTAPE_UNKNOWN, SOFTTAPE_UNKNOWN, SOFTTAPE_ON }, 0, 0, 0, 0, 2, 3, 3 },
	{ "card without PCI Express", LINK(.fn = { { .known = true } }, .port = PORT),
	  { SOFTTAPE_UNSUPPORTED, SOFTTAPE_UNSUPPORTED, SOFTTAPE_UNSUPPORTED, SOFTTAPE_ON }, 0, 0, 0, 0, 2, 3, 3 },
	{ "all off",
	  LINK(.fn = { END(.lnkcap = 0x00453c41, .lnkctl = 0x40, .lnksta = 0x1011, .l1ss_cap = 0x1f) },
	       .port = END(.lnkcap = 0x00100c43, .lnkctl = 0x40, .lnkcap2 = 0xe, .lnkctl2 = 3, .l1ss_cap = 0x1f),
	       .d3cold = SOFTTAPE_OFF),
	  { SOFTTAPE_OFF, SOFTTAPE_OFF, SOFTTAPE_OFF, SOFTTAPE_OFF }, 1, 1, 1, 4, 2, 3, 3 },
	{ "L1 in the port only, L0s in the card only, L1.1 in the port only",
	  LINK(.fn = { END(.lnkcap = 0x00453c41, .lnkctl = 0x41, .lnksta = 0x1011, .l1ss_cap = 0x1f) },
	       .port = END(.lnkcap = 0x00100c43, .lnkctl = 0x42, .lnkcap2 = 0xe, .lnkctl2 = 3, .l1ss_cap = 0x1f,
			   .l1ss_ctl1 = 0x8)),
	  { SOFTTAPE_L0S_L1, SOFTTAPE_OFF, SOFTTAPE_ON, SOFTTAPE_ON }, 1, 1, 1, 4, 2, 3, 3 },
	{ "no common ASPM, none on, no Clock PM",
	  LINK(.fn = { END(.lnkcap = 0x00400441, .lnksta = 0x1011) },
	       .port = END(.lnkcap = 0x00100843, .lnkcap2 = 0xe, .lnkctl2 = 3)),
	  { SOFTTAPE_UNSUPPORTED, SOFTTAPE_UNSUPPORTED, SOFTTAPE_UNSUPPORTED, SOFTTAPE_ON }, 1, 1, 1, 4, 2, 3, 3 },
	{ "no common ASPM, but firmware set L0s in the card",
	  LINK(.fn = { END(.lnkcap = 0x00400441, .lnkctl = 1, .lnksta = 0x1011) },
	       .port = END(.lnkcap = 0x00100843, .lnkcap2 = 0xe, .lnkctl2 = 3)),
	  { SOFTTAPE_L0S, SOFTTAPE_UNSUPPORTED, SOFTTAPE_UNSUPPORTED, SOFTTAPE_ON }, 1, 1, 1, 4, 2, 3, 3 },
	{ "Clock PM on in function 1 only",
	  LINK(.nr_fn = 2, .fn = { AUDIO, END(.lnkcap = 0x00453c41, .lnkctl = 0x0140) }, .port = PORT),
	  { SOFTTAPE_L0S_L1, SOFTTAPE_ON, SOFTTAPE_UNSUPPORTED, SOFTTAPE_ON }, 1, 1, 1, 4, 2, 3, 3 },
	{ "version-1 port at 5 GT/s", LINK(.fn = { P104 }, .port = END(.version = 1, .lnkcap = 0x00100c42)),
	  { SOFTTAPE_L0S_L1, SOFTTAPE_ON, SOFTTAPE_UNSUPPORTED, SOFTTAPE_ON }, 1, 1, 1, 4, 1, 2, 0 },
};

static void view_name(const struct view_row *row, char *desc)
{
	strscpy(desc, row->what, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(view, view_rows, view_name);

static void view_test(struct kunit *test)
{
	const struct view_row *row = test->param_value;
	struct softtape_view view;
	int i;

	softtape_view_make(&row->link, &view);
	for (i = 0; i < SOFTTAPE_NR_ITEMS; i++)
		KUNIT_EXPECT_EQ_MSG(test, (int)view.item[i], (int)row->item[i], "item %d", i);
	KUNIT_EXPECT_EQ(test, view.speed, row->speed);
	KUNIT_EXPECT_EQ(test, view.width, row->width);
	KUNIT_EXPECT_EQ(test, view.max_speed, row->max_speed);
	KUNIT_EXPECT_EQ(test, view.max_width, row->max_width);
	KUNIT_EXPECT_EQ(test, view.port_version, row->port_version);
	KUNIT_EXPECT_EQ(test, view.port_max, row->port_max);
	KUNIT_EXPECT_EQ(test, view.tls, row->tls);
}

/* Text of the steps: "aspm>0" for an item, "cap3>1" with the port's old and new target, "!" for a retrain. */
static const struct plan_row {
	const char *what;
	struct softtape_policy policy;
	u8 speed, port_version, port_max, tls;
	enum softtape_above above;
	enum softtape_cap cap;
	const char *steps;
} plan_rows[] = {
	{ "defaults", { }, 1, 2, 3, 3, SOFTTAPE_ABOVE_PORT, SOFTTAPE_CAP_KEEP, "0>0 1>0 2>0 3>0 " },
	{ "aspm=keep", { .aspm = SOFTTAPE_ASPM_KEEP }, 1, 2, 3, 3, SOFTTAPE_ABOVE_PORT, SOFTTAPE_CAP_KEEP, "3>0 " },
	{ "d3cold=keep", { .d3cold = SOFTTAPE_D3COLD_KEEP }, 1, 2, 3, 3, SOFTTAPE_ABOVE_PORT, SOFTTAPE_CAP_KEEP,
	  "0>0 1>0 2>0 " },
	{ "gen1, link at gen1 already", { .speed = 1, .aspm = SOFTTAPE_ASPM_KEEP }, 1, 2, 3, 3, SOFTTAPE_ABOVE_PORT,
	  SOFTTAPE_CAP_SET, "3>0 cap3>1 " },
	{ "gen1, link at gen3", { .speed = 1, .aspm = SOFTTAPE_ASPM_KEEP }, 3, 2, 3, 3, SOFTTAPE_ABOVE_PORT,
	  SOFTTAPE_CAP_SET,
	  "3>0 cap3>1! " },
	{ "gen3 is what the port has", { .speed = 3, .aspm = SOFTTAPE_ASPM_KEEP }, 1, 2, 3, 3, SOFTTAPE_ABOVE_PORT,
	  SOFTTAPE_CAP_UNNEEDED, "3>0 " },
	{ "gen2, one below the port", { .speed = 2, .aspm = SOFTTAPE_ASPM_KEEP }, 1, 2, 3, 3, SOFTTAPE_ABOVE_PORT,
	  SOFTTAPE_CAP_SET, "3>0 cap3>2 " },
	{ "gen1, target 1 but the link runs at gen2", { .speed = 1, .aspm = SOFTTAPE_ASPM_KEEP }, 2, 2, 3, 1,
	  SOFTTAPE_ABOVE_PORT, SOFTTAPE_CAP_SET, "3>0 cap2>1! " },
	{ "version-1 port, too fast", { .speed = 1, .aspm = SOFTTAPE_ASPM_KEEP }, 2, 1, 2, 0, SOFTTAPE_ABOVE_PORT,
	  SOFTTAPE_CAP_REFUSED_V1, "3>0 " },
	{ "version-1 port, slow enough", { .speed = 2, .aspm = SOFTTAPE_ASPM_KEEP }, 2, 1, 2, 0, SOFTTAPE_ABOVE_PORT,
	  SOFTTAPE_CAP_UNNEEDED, "3>0 " },
	{ "no port", { .speed = 1, .aspm = SOFTTAPE_ASPM_KEEP }, 1, 0, 0, 0, SOFTTAPE_ABOVE_NONE,
	  SOFTTAPE_CAP_UNSUPPORTED,
	  "3>0 " },
	{ "port unknown", { .speed = 1, .aspm = SOFTTAPE_ASPM_KEEP }, 1, 0, 0, 0, SOFTTAPE_ABOVE_UNKNOWN,
	  SOFTTAPE_CAP_UNKNOWN,
	  "3>0 " },
};

static void plan_name(const struct plan_row *row, char *desc)
{
	strscpy(desc, row->what, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(plan, plan_rows, plan_name);

static void plan_test(struct kunit *test)
{
	const struct plan_row *row = test->param_value;
	const struct softtape_view view = {
		.item = { SOFTTAPE_L0S_L1, SOFTTAPE_ON, SOFTTAPE_ON, SOFTTAPE_ON }, .speed = row->speed,
		  .above = row->above,
		.port_version = row->port_version, .port_max = row->port_max, .tls = row->tls,
	};
	struct softtape_plan plan;
	char text[64];
	int i, len = 0;

	text[0] = '\0';
	softtape_plan_make(&view, &row->policy, &plan);
	for (i = 0; i < plan.nr; i++) {
		const struct softtape_step *step = &plan.step[i];

		if (step->what == SOFTTAPE_CAP)
			len += scnprintf(text + len, sizeof(text) - len, "cap%u>%u%s ", step->from, step->to,
					 step->retrain ? "!" : "");
		else
			len += scnprintf(text + len, sizeof(text) - len, "%d>%u ", step->what, step->to);
	}
	KUNIT_EXPECT_STREQ(test, (const char *)text, row->steps);
	KUNIT_EXPECT_EQ(test, (int)plan.cap, (int)row->cap);
}

/* What is off, unsupported or unknown plans nothing. */
static void nothing_test(struct kunit *test)
{
	const struct softtape_view view = { .item = { SOFTTAPE_OFF, SOFTTAPE_UNSUPPORTED, SOFTTAPE_UNKNOWN,
	  SOFTTAPE_OFF } };
	const struct softtape_policy policy = { };
	struct softtape_plan plan;

	softtape_plan_make(&view, &policy, &plan);
	KUNIT_EXPECT_EQ(test, plan.nr, 0);
}

static const struct judge_row {
	u8 cap, old, tls;
	enum softtape_cap result;
} judge_rows[] = {
	{ 1, 3, 1, SOFTTAPE_CAP_SET }, { 1, 3, 2, SOFTTAPE_CAP_CLAMPED }, { 1, 3, 3, SOFTTAPE_CAP_REFUSED_READBACK },
	{ 2, 4, 1, SOFTTAPE_CAP_CLAMPED }, { 1, 3, 0, SOFTTAPE_CAP_REFUSED_READBACK }, { 3, 3, 3, SOFTTAPE_CAP_SET },
	{ 1, 2, 4, SOFTTAPE_CAP_REFUSED_READBACK },
};

static void judge_name(const struct judge_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "cap %u, was %u, reads %u", row->cap, row->old, row->tls);
}

KUNIT_ARRAY_PARAM(judge, judge_rows, judge_name);

static void judge_test(struct kunit *test)
{
	const struct judge_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, (int)softtape_cap_judge(row->cap, row->old, row->tls), (int)row->result);
}

/* first: aspm, clkpm at first look; now: the same, read back. D3cold off, no L1 substates, in all rows. */
static const struct state_row {
	const char *what;
	struct softtape_policy policy;
	enum softtape_value first[2], now[2];
	struct softtape_outcome outcome;
	u8 tls;
	enum softtape_state state;
	enum softtape_reason reason[2];
} state_rows[] = {
	{ "both went off", { }, { SOFTTAPE_L0S_L1, SOFTTAPE_ON }, { SOFTTAPE_OFF, SOFTTAPE_OFF }, { }, 3,
	  SOFTTAPE_APPLIED,
	  { SOFTTAPE_R_WAS, SOFTTAPE_R_WAS } },
	{ "both were off", { }, { SOFTTAPE_OFF, SOFTTAPE_OFF }, { SOFTTAPE_OFF, SOFTTAPE_OFF }, { }, 3,
	  SOFTTAPE_UNCHANGED,
	  { SOFTTAPE_R_UNCHANGED, SOFTTAPE_R_UNCHANGED } },
	{ "one stayed on", { }, { SOFTTAPE_L1, SOFTTAPE_ON }, { SOFTTAPE_L1, SOFTTAPE_OFF },
	  { .refusal = { SOFTTAPE_R_REFUSED_FIRMWARE } }, 3, SOFTTAPE_PARTIAL, { SOFTTAPE_R_REFUSED_FIRMWARE,
	    SOFTTAPE_R_WAS } },
	{ "both stayed on", { }, { SOFTTAPE_L1, SOFTTAPE_ON }, { SOFTTAPE_L1, SOFTTAPE_ON },
	  { .refusal = { SOFTTAPE_R_REFUSED_CORE, SOFTTAPE_R_REFUSED_CORE } }, 3, SOFTTAPE_REFUSED,
	  { SOFTTAPE_R_REFUSED_CORE, SOFTTAPE_R_REFUSED_CORE } },
	{ "came back with a driver", { }, { SOFTTAPE_OFF, SOFTTAPE_OFF }, { SOFTTAPE_L0S, SOFTTAPE_OFF },
	  { .bound = true }, 3,
	  SOFTTAPE_REFUSED, { SOFTTAPE_R_REFUSED_DRIVER, SOFTTAPE_R_UNCHANGED } },
	{ "came back without a driver", { }, { SOFTTAPE_OFF, SOFTTAPE_OFF }, { SOFTTAPE_L0S, SOFTTAPE_OFF }, { }, 3,
	  SOFTTAPE_REFUSED, { SOFTTAPE_R_REFUSED_READBACK, SOFTTAPE_R_UNCHANGED } },
	{ "dry run", { .dry_run = true }, { SOFTTAPE_L0S, SOFTTAPE_OFF }, { SOFTTAPE_L0S, SOFTTAPE_OFF }, { }, 3,
	  SOFTTAPE_DRY_RUN, { SOFTTAPE_R_WOULD, SOFTTAPE_R_UNCHANGED } },
	{ "aspm=keep", { .aspm = SOFTTAPE_ASPM_KEEP }, { SOFTTAPE_L0S, SOFTTAPE_OFF }, { SOFTTAPE_L0S,
	  SOFTTAPE_OFF }, { }, 3,
	  SOFTTAPE_UNCHANGED, { SOFTTAPE_R_KEEP, SOFTTAPE_R_KEEP } },
	{ "unknown and unsupported", { }, { SOFTTAPE_UNKNOWN, SOFTTAPE_UNSUPPORTED },
	  { SOFTTAPE_UNKNOWN, SOFTTAPE_UNSUPPORTED }, { }, 3, SOFTTAPE_UNCHANGED, { SOFTTAPE_R_NONE,
	    SOFTTAPE_R_NONE } },
	{ "on without support went off", { }, { SOFTTAPE_L0S, SOFTTAPE_OFF }, { SOFTTAPE_UNSUPPORTED,
	  SOFTTAPE_OFF }, { }, 3,
	  SOFTTAPE_APPLIED, { SOFTTAPE_R_WAS, SOFTTAPE_R_UNCHANGED } },
	{ "cap held", { .speed = 1 }, { SOFTTAPE_OFF, SOFTTAPE_OFF }, { SOFTTAPE_OFF, SOFTTAPE_OFF },
	  { .cap = SOFTTAPE_CAP_SET, .cap_to = 1 }, 1, SOFTTAPE_APPLIED, { SOFTTAPE_R_UNCHANGED,
	    SOFTTAPE_R_UNCHANGED } },
	{ "cap clamped above what was asked", { .speed = 1 }, { SOFTTAPE_OFF, SOFTTAPE_OFF }, { SOFTTAPE_OFF,
	  SOFTTAPE_OFF },
	  { .cap = SOFTTAPE_CAP_CLAMPED, .cap_to = 1 }, 2, SOFTTAPE_REFUSED, { SOFTTAPE_R_UNCHANGED,
	    SOFTTAPE_R_UNCHANGED } },
	{ "cap refused, ASPM went off", { .speed = 1 }, { SOFTTAPE_L0S, SOFTTAPE_OFF }, { SOFTTAPE_OFF,
	  SOFTTAPE_OFF },
	  { .cap = SOFTTAPE_CAP_REFUSED_DRIVER, .cap_to = 1 }, 3, SOFTTAPE_PARTIAL, { SOFTTAPE_R_WAS,
	    SOFTTAPE_R_UNCHANGED } },
	{ "cap unneeded", { .speed = 3 }, { SOFTTAPE_OFF, SOFTTAPE_OFF }, { SOFTTAPE_OFF, SOFTTAPE_OFF },
	  { .cap = SOFTTAPE_CAP_UNNEEDED }, 3, SOFTTAPE_UNCHANGED, { SOFTTAPE_R_UNCHANGED, SOFTTAPE_R_UNCHANGED } },
};

static void state_name(const struct state_row *row, char *desc)
{
	strscpy(desc, row->what, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(state, state_rows, state_name);

static struct softtape_view state_view(const enum softtape_value value[2], u8 tls)
{
	struct softtape_view view = { .item = { value[0], value[1], SOFTTAPE_UNSUPPORTED, SOFTTAPE_OFF },
	  .tls = tls };

	return view;
}

static void state_test(struct kunit *test)
{
	const struct state_row *row = test->param_value;
	struct softtape_view first = state_view(row->first, 3), now = state_view(row->now, row->tls);
	struct softtape_report report = { };

	softtape_report_make(&report, &first, &now, &row->policy, &row->outcome);
	KUNIT_EXPECT_EQ(test, (int)report.state, (int)row->state);
	KUNIT_EXPECT_EQ(test, (int)report.reason[0], (int)row->reason[0]);
	KUNIT_EXPECT_EQ(test, (int)report.reason[1], (int)row->reason[1]);
	KUNIT_EXPECT_EQ(test, report.cap_gen, row->tls);
}

static void would_test(struct kunit *test)
{
	const struct softtape_policy policy = { .dry_run = true, .speed = 1 };
	const struct softtape_outcome outcome = { .cap = SOFTTAPE_CAP_SET, .cap_to = 1 };
	const struct softtape_view view = { .tls = 3 };
	struct softtape_report report = { };

	softtape_report_make(&report, &view, &view, &policy, &outcome);
	KUNIT_EXPECT_EQ(test, (int)report.cap, (int)SOFTTAPE_CAP_WOULD);
	KUNIT_EXPECT_EQ(test, report.cap_gen, 3);
	KUNIT_EXPECT_EQ(test, report.cap_want, 1);
}

static void differs_test(struct kunit *test)
{
	const struct softtape_report a = { .state = SOFTTAPE_APPLIED, .cap = SOFTTAPE_CAP_SET, .cap_gen = 1 };
	struct softtape_report b = a;

	KUNIT_EXPECT_FALSE(test, softtape_report_differs(&a, &b));
	b.view.speed = 3;
	strscpy(b.smbus, "other", sizeof(b.smbus));
	KUNIT_EXPECT_FALSE(test, softtape_report_differs(&a, &b));
	b.cap_gen = 2;
	KUNIT_EXPECT_TRUE(test, softtape_report_differs(&a, &b));
	b = a;
	b.cap = SOFTTAPE_CAP_LIFTED;
	KUNIT_EXPECT_TRUE(test, softtape_report_differs(&a, &b));
	b = a;
	b.state = SOFTTAPE_LOST;
	KUNIT_EXPECT_TRUE(test, softtape_report_differs(&a, &b));
	b = a;
	b.value[SOFTTAPE_D3COLD] = SOFTTAPE_ON;
	KUNIT_EXPECT_TRUE(test, softtape_report_differs(&a, &b));
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(view_test, view_gen_params),
	KUNIT_CASE_PARAM(plan_test, plan_gen_params),
	KUNIT_CASE(nothing_test),
	KUNIT_CASE_PARAM(judge_test, judge_gen_params),
	KUNIT_CASE_PARAM(state_test, state_gen_params),
	KUNIT_CASE(would_test),
	KUNIT_CASE(differs_test),
	{ }
};

struct kunit_suite plan_suite = { .name = "softtape-plan", .test_cases = cases };
