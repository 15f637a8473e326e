// SPDX-License-Identifier: GPL-2.0-only
/* The pure core (kmod/cards.c policy.c plan.c report.c): rows with inputs and written-down answers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../kmod/softtape.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The table of the driver blobs 535.274.02 and 550.163.01, and 1df4. */
static const __u16 all_ids[] = {
	0x15c2, 0x1b07, 0x1b87, 0x1bc7, 0x1c07, 0x1c09, 0x1d83, 0x1d84, 0x1dc1, 0x1df4, 0x1e09, 0x1e49, 0x1ebc,
	0x1efc, 0x1f0b, 0x2081, 0x2082, 0x2083, 0x20c2, 0x2189, 0x220d, 0x224d, 0x248a, 0x24ca, 0x250a,
};

static void cards_are_the_known_ids(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(all_ids); i++) {
		const struct softtape_card *card = softtape_card_at(i);

		assert_non_null(card);
		assert_int_equal(card->device, all_ids[i]);
		assert_in_range(card->compute, 60, 86);
		assert_true(card->name[0]);
	}
	assert_null(softtape_card_at(ARRAY_SIZE(all_ids)));
}

static void cards_match(void **state)
{
	static const struct {
		const char *desc;
		__u16 vendor, device;
		__u32 class_code;
		const char *name;
	} rows[] = {
		{ "P104-100, 3D controller", 0x10de, 0x1b87, 0x030200, "P104-100" },
		{ "P104-100, VGA class", 0x10de, 0x1b87, 0x030000, "P104-100" },
		{ "P104-100, other display", 0x10de, 0x1b87, 0x038000, "P104-100" },
		{ "listed id, audio class", 0x10de, 0x1b87, 0x040300, NULL },
		{ "listed id, bridge class", 0x10de, 0x1b87, 0x060400, NULL },
		{ "same id, AMD", 0x1002, 0x1b87, 0x030200, NULL },
		{ "TITAN V", 0x10de, 0x1d81, 0x030000, NULL },
		{ "GTX 1070", 0x10de, 0x1b81, 0x030000, NULL },
		{ "one below P104-100", 0x10de, 0x1b86, 0x030200, NULL },
		{ "one above P104-100", 0x10de, 0x1b88, 0x030200, NULL },
		{ "GTX 1060", 0x10de, 0x1c03, 0x030000, NULL },
		{ "no public name", 0x10de, 0x1efc, 0x030200, "unnamed mining GPU" },
		{ "second CMP 100-210", 0x10de, 0x1df4, 0x030200, "CMP 100-210" },
		{ "P106M, not in the driver's table", 0x10de, 0x1c36, 0x030200, NULL },
		{ "all ones", 0xffff, 0xffff, 0xffffff, NULL },
	};
	const struct softtape_policy policy = { 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct softtape_card *card =
			softtape_card_match(&policy, rows[i].vendor, rows[i].device, rows[i].class_code);

		print_message("  %s\n", rows[i].desc);
		if (!rows[i].name)
			assert_null(card);
		else
			assert_string_equal(card ? card->name : "(none)", rows[i].name);
	}
}

static void cards_match_user_ids(void **state)
{
	struct softtape_policy policy = { 0 };

	(void)state;
	assert_int_equal(softtape_policy_set(&policy, "ids", "10de:1b81,10DE:1B87"), 0);
	assert_string_equal(softtape_card_match(&policy, 0x10de, 0x1b81, 0x030000)->name, "user-added");
	assert_string_equal(softtape_card_match(&policy, 0x10de, 0x1b87, 0x030200)->name, "P104-100");
	assert_null(softtape_card_match(&policy, 0x10de, 0x1b81, 0x040300));
	assert_null(softtape_card_match(&policy, 0x10de, 0x1b82, 0x030000));
}

static void policy_values(void **state)
{
	static const struct {
		const char *key, *value;
		int ret;
	} rows[] = {
		{ "aspm", "off", 0 },		{ "aspm", "keep", 0 },		{ "aspm", "force", 0 },
		{ "aspm", "on", -EINVAL },	{ "aspm", "", -EINVAL },	{ "aspm", "off ", -EINVAL },
		{ "aspm", "OFF", -EINVAL },
		{ "speed", "keep", 0 },		{ "speed", "gen1", 0 },		{ "speed", "gen4", 0 },
		{ "speed", "gen0", -EINVAL },	{ "speed", "gen5", -EINVAL },	{ "speed", "1", -EINVAL },
		{ "d3cold", "off", 0 },		{ "d3cold", "keep", 0 },	{ "d3cold", "force", -EINVAL },
		{ "smbus", "awake", 0 },	{ "smbus", "hold", 0 },		{ "smbus", "off", 0 },
		{ "smbus", "keep", -EINVAL },
		{ "dry_run", "N", 0 },		{ "dry_run", "Y", 0 },		{ "dry_run", "1", 0 },
		{ "dry_run", "yes", -EINVAL },
		{ "ids", "", 0 },		{ "ids", "10de:1b81", 0 },	{ "ids", "10de:1b81,10de:1b82", 0 },
		{ "ids", "1002:1b81", -EINVAL }, { "ids", "10de:1b8", -EINVAL }, { "ids", "10de:1b811", -EINVAL },
		{ "ids", "10de1b81", -EINVAL },	{ "ids", "10de:1b81,", -EINVAL }, { "ids", "10de:1b81 ", -EINVAL },
		{ "ids", "010de:1b81", -EINVAL }, { "ids", ",10de:1b81", -EINVAL },
		{ "skip", "", 0 },		{ "skip", "0000:01:00.0", 0 },	{ "skip", "0000:01:00.0,0001:ff:1f.7", 0 },
		{ "skip", "01:00.0", -EINVAL },	{ "skip", "0000:01:20.0", -EINVAL }, { "skip", "0000:01:00.8", -EINVAL },
		{ "skip", "0000:01:00", -EINVAL }, { "skip", "0000:01:00.0,", -EINVAL }, { "skip", "0000-01-00.0", -EINVAL },
		{ "colour", "red", -ENOENT },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct softtape_policy policy = { 0 };

		print_message("  %s=%s\n", rows[i].key, rows[i].value);
		assert_int_equal(softtape_policy_set(&policy, rows[i].key, rows[i].value), rows[i].ret);
	}
}

static void policy_meaning(void **state)
{
	const struct softtape_address in = { 0x10000, 0xab, 0x1f }, bus = { 0x10000, 0xaa, 0x1f };
	const struct softtape_address slot = { 0x10000, 0xab, 0x1e }, domain = { 0, 0xab, 0x1f };
	struct softtape_policy policy = { 0 };

	(void)state;
	assert_int_equal(softtape_policy_set(&policy, "aspm", "force"), 0);
	assert_int_equal(softtape_policy_set(&policy, "speed", "gen3"), 0);
	assert_int_equal(softtape_policy_set(&policy, "d3cold", "keep"), 0);
	assert_int_equal(softtape_policy_set(&policy, "smbus", "off"), 0);
	assert_int_equal(softtape_policy_set(&policy, "dry_run", "y"), 0);
	assert_int_equal(policy.aspm, SOFTTAPE_ASPM_FORCE);
	assert_int_equal(policy.speed, 3);
	assert_int_equal(policy.d3cold, SOFTTAPE_D3COLD_KEEP);
	assert_int_equal(policy.smbus, SOFTTAPE_SMBUS_OFF);
	assert_true(policy.dry_run);
	assert_int_equal(softtape_policy_set(&policy, "dry_run", "0"), 0);
	assert_false(policy.dry_run);

	assert_int_equal(softtape_policy_set(&policy, "skip", "0000:01:00.0,10000:AB:1F.5"), 0);
	assert_true(softtape_slot_skipped(&policy, &in));
	assert_false(softtape_slot_skipped(&policy, &bus));
	assert_false(softtape_slot_skipped(&policy, &slot));
	assert_false(softtape_slot_skipped(&policy, &domain));

	assert_string_equal(softtape_policy_accepts("aspm"), "off, keep, force");
	assert_null(softtape_policy_accepts("colour"));
}

static void policy_lists_are_bounded(void **state)
{
	struct softtape_policy policy = { 0 };
	char ids[40 * 10 + 1], skip[40 * 13 + 1];
	int i, n;

	(void)state;
	for (n = 32; n <= 33; n++) {
		ids[0] = skip[0] = '\0';
		for (i = 0; i < n; i++) {
			snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), "%s10de:%04x", i ? "," : "", i);
			snprintf(skip + strlen(skip), sizeof(skip) - strlen(skip), "%s0000:%02x:00.0", i ? "," : "", i);
		}
		assert_int_equal(softtape_policy_set(&policy, "ids", ids), n == 32 ? 0 : -EINVAL);
		assert_int_equal(softtape_policy_set(&policy, "skip", skip), n == 32 ? 0 : -EINVAL);
	}
}

/*
 * Registers in hex as a setpci user reads them. LNKCAP: 0x453d01 = x16 2.5 GT/s, L0s+L1, Clock PM (a CMP 40HX capture),
 * 0x453c41 the same at x4, 0x456101 without ASPM and x16 (a CMP 170HX); 0x100c43 = x4 8 GT/s L0s+L1 with DLLLARC.
 */
static const struct link_row {
	const char *desc;
	const char *set;		/* "key=value" or NULL */
	struct softtape_link link;
	const char *items;		/* aspm clkpm l1ss d3cold */
	const char *steps;		/* "what from to[ retrain]; ..." */
	enum softtape_cap cap;
} link_rows[] = {
#define CARD_END(_lnkcap, _lnkctl, _lnksta) \
	{ .known = true, .version = 2, .lnkcap = (_lnkcap), .lnkctl = (_lnkctl), .lnksta = (_lnksta), \
	  .lnkcap2 = 0x2, .lnkctl2 = 0x1 }
#define PORT_END(_lnkctl, _lnksta, _tls) \
	{ .known = true, .version = 2, .lnkcap = 0x100c43, .lnkctl = (_lnkctl), .lnksta = (_lnksta), \
	  .lnkcap2 = 0xe, .lnkctl2 = (_tls) }
	{
		.desc = "both ends on, as firmware left them",
		.link = { SOFTTAPE_ABOVE_PORT, PORT_END(0x43, 0x3011, 3), { CARD_END(0x453c41, 0x143, 0x1011) }, 1,
			  SOFTTAPE_ON },
		.items = "l0s+l1 on unknown on", .steps = "aspm l0s+l1 off; clkpm on off; d3cold on off; ",
		.cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "aspm=keep leaves Clock PM alone too",
		.set = "aspm=keep",
		.link = { SOFTTAPE_ABOVE_PORT, PORT_END(0x43, 0x3011, 3), { CARD_END(0x453c41, 0x143, 0x1011) }, 1,
			  SOFTTAPE_ON },
		.items = "l0s+l1 on unknown on", .steps = "d3cold on off; ", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "d3cold=keep",
		.set = "d3cold=keep",
		.link = { SOFTTAPE_ABOVE_PORT, PORT_END(0x43, 0x3011, 3), { CARD_END(0x453c41, 0x40, 0x1011) }, 1,
			  SOFTTAPE_ON },
		.items = "l0s+l1 off unknown on", .steps = "aspm l0s+l1 off; ", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "only the port is on: still on",
		.link = { SOFTTAPE_ABOVE_PORT, PORT_END(0x42, 0x3011, 3), { CARD_END(0x453c41, 0x40, 0x1011) }, 1,
			  SOFTTAPE_OFF },
		.items = "l1 off unknown off", .steps = "aspm l1 off; ", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "only the second function is on",
		.link = { SOFTTAPE_ABOVE_PORT, PORT_END(0x40, 0x3011, 3),
			  { CARD_END(0x453c41, 0x40, 0x1011), CARD_END(0x453c41, 0x141, 0x1011) }, 2, SOFTTAPE_OFF },
		.items = "l0s on unknown off", .steps = "aspm l0s off; clkpm on off; ", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "Clock PM bit of the port means nothing",
		.link = { SOFTTAPE_ABOVE_PORT, PORT_END(0x140, 0x3011, 3), { CARD_END(0x453c41, 0x40, 0x1011) }, 1,
			  SOFTTAPE_OFF },
		.items = "off off unknown off", .steps = "", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "CMP 170HX: no ASPM, Clock PM on",
		.link = { SOFTTAPE_ABOVE_UNKNOWN, { 0 }, { CARD_END(0x456101, 0x140, 0x1041) }, 1, SOFTTAPE_UNKNOWN },
		.items = "unsupported on unknown unknown", .steps = "clkpm on off; ", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "port without ASPM, nothing on",
		.link = { SOFTTAPE_ABOVE_PORT, { .known = true, .version = 2, .lnkcap = 0x100012 },
			  { CARD_END(0x453c41, 0x40, 0x1011) }, 1, SOFTTAPE_OFF },
		.items = "unsupported off unknown off", .steps = "", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "port without ASPM, firmware set the card's bits all the same",
		.link = { SOFTTAPE_ABOVE_PORT, { .known = true, .version = 2, .lnkcap = 0x100012 },
			  { CARD_END(0x453c41, 0x42, 0x1011) }, 1, SOFTTAPE_OFF },
		.items = "l1 off unknown off", .steps = "aspm l1 off; ", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "no port above: nothing is ours, whatever the bits say",
		.link = { SOFTTAPE_ABOVE_NONE, { 0 }, { CARD_END(0x453c41, 0x143, 0x1011) }, 1, SOFTTAPE_ON },
		.set = "speed=gen1",
		.items = "unsupported unsupported unsupported unsupported", .steps = "",
		.cap = SOFTTAPE_CAP_UNSUPPORTED,
	}, {
		.desc = "64 bytes only: unknown, no step",
		.link = { SOFTTAPE_ABOVE_UNKNOWN, { 0 }, { { .known = false } }, 1, SOFTTAPE_UNKNOWN },
		.items = "unknown unknown unknown unknown", .steps = "", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "no PCI Express capability",
		.link = { SOFTTAPE_ABOVE_UNKNOWN, { 0 }, { { .known = true } }, 1, SOFTTAPE_UNKNOWN },
		.items = "unsupported unsupported unsupported unknown", .steps = "", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "L1 substates on at the card's end",
		.link = { SOFTTAPE_ABOVE_PORT,
			  { .known = true, .ext_known = true, .version = 2, .lnkcap = 0x100c43, .l1ss_cap = 0x1f },
			  { { .known = true, .ext_known = true, .version = 2, .lnkcap = 0x453c41, .l1ss_cap = 0x1f,
			      .l1ss_ctl1 = 0x8 } }, 1, SOFTTAPE_OFF },
		.items = "off off on off", .steps = "l1ss on off; ", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "L1 substates: timing fields are no enables",
		.link = { SOFTTAPE_ABOVE_PORT,
			  { .known = true, .ext_known = true, .version = 2, .lnkcap = 0x100c43, .l1ss_cap = 0x1f },
			  { { .known = true, .ext_known = true, .version = 2, .lnkcap = 0x453c41, .l1ss_cap = 0x1f,
			      .l1ss_ctl1 = 0x40372800 } }, 1, SOFTTAPE_OFF },
		.items = "off off off off", .steps = "", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "L1 substates: the port has none",
		.link = { SOFTTAPE_ABOVE_PORT,
			  { .known = true, .ext_known = true, .version = 2, .lnkcap = 0x100c43 },
			  { { .known = true, .ext_known = true, .version = 2, .lnkcap = 0x453c41, .l1ss_cap = 0x1f } },
			  1, SOFTTAPE_OFF },
		.items = "off off unsupported off", .steps = "", .cap = SOFTTAPE_CAP_KEEP,
	}, {
		.desc = "speed=gen1, link already there: target only",
		.set = "speed=gen1",
		.link = { SOFTTAPE_ABOVE_PORT, PORT_END(0x40, 0x3011, 3), { CARD_END(0x453c41, 0x40, 0x1011) }, 1,
			  SOFTTAPE_OFF },
		.items = "off off unknown off", .steps = "cap 3 1; ", .cap = SOFTTAPE_CAP_SET,
	}, {
		.desc = "speed=gen1, link at 8 GT/s: retrain",
		.set = "speed=gen1",
		.link = { SOFTTAPE_ABOVE_PORT, PORT_END(0x40, 0x3043, 3), { CARD_END(0x453c43, 0x40, 0x1043) }, 1,
			  SOFTTAPE_OFF },
		.items = "off off unknown off", .steps = "cap 3 1 retrain; ", .cap = SOFTTAPE_CAP_SET,
	}, {
		.desc = "speed=gen3 is what the port has",
		.set = "speed=gen3",
		.link = { SOFTTAPE_ABOVE_PORT, PORT_END(0x40, 0x3043, 3), { CARD_END(0x453c43, 0x40, 0x1043) }, 1,
			  SOFTTAPE_OFF },
		.items = "off off unknown off", .steps = "", .cap = SOFTTAPE_CAP_UNNEEDED,
	}, {
		.desc = "speed=gen4 is more than the port has",
		.set = "speed=gen4",
		.link = { SOFTTAPE_ABOVE_PORT, PORT_END(0x40, 0x3043, 3), { CARD_END(0x453c43, 0x40, 0x1043) }, 1,
			  SOFTTAPE_OFF },
		.items = "off off unknown off", .steps = "", .cap = SOFTTAPE_CAP_UNNEEDED,
	}, {
		.desc = "target speed already low, link above it: retrain, target not raised",
		.set = "speed=gen2",
		.link = { SOFTTAPE_ABOVE_PORT, PORT_END(0x40, 0x3043, 1), { CARD_END(0x453c43, 0x40, 0x1043) }, 1,
			  SOFTTAPE_OFF },
		.items = "off off unknown off", .steps = "cap 3 1 retrain; ", .cap = SOFTTAPE_CAP_SET,
	}, {
		.desc = "version-1 port that can do more",
		.set = "speed=gen1",
		.link = { SOFTTAPE_ABOVE_PORT, { .known = true, .version = 1, .lnkcap = 0x100c42 },
			  { CARD_END(0x453c43, 0x40, 0x1042) }, 1, SOFTTAPE_OFF },
		.items = "off off unknown off", .steps = "", .cap = SOFTTAPE_CAP_REFUSED_V1,
	}, {
		.desc = "version-1 port that cannot",
		.set = "speed=gen1",
		.link = { SOFTTAPE_ABOVE_PORT, { .known = true, .version = 1, .lnkcap = 0x100c41 },
			  { CARD_END(0x453c43, 0x40, 0x1041) }, 1, SOFTTAPE_OFF },
		.items = "off off unknown off", .steps = "", .cap = SOFTTAPE_CAP_UNNEEDED,
	}, {
		.desc = "port not in the dump",
		.set = "speed=gen1",
		.link = { SOFTTAPE_ABOVE_UNKNOWN, { 0 }, { CARD_END(0x453c41, 0x40, 0x1011) }, 1, SOFTTAPE_UNKNOWN },
		.items = "off off unknown unknown", .steps = "", .cap = SOFTTAPE_CAP_UNKNOWN,
	},
};

static void set_option(struct softtape_policy *policy, const char *option)
{
	char key[16];

	if (!option)
		return;

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(option, "="), option);
	assert_int_equal(softtape_policy_set(policy, key, strchr(option, '=') + 1), 0);
}

static void step_text(const struct softtape_step *step, char *buf, size_t size)
{
	static const char *const what[] = { "aspm", "clkpm", "l1ss", "d3cold", "cap" };

	if (step->what == SOFTTAPE_CAP)
		snprintf(buf, size, "cap %u %u%s; ", step->from, step->to, step->retrain ? " retrain" : "");
	else
		snprintf(buf, size, "%s %s %s; ", what[step->what], softtape_value_word(step->from),
			 softtape_value_word(step->to));
}

static void links_are_planned(void **state)
{
	unsigned int i;
	int n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(link_rows); i++) {
		const struct link_row *row = &link_rows[i];
		struct softtape_policy policy = { 0 };
		struct softtape_view view;
		struct softtape_plan plan;
		char items[64], steps[256] = "";

		print_message("  %s\n", row->desc);
		set_option(&policy, row->set);
		softtape_view_make(&row->link, &view);
		softtape_plan_make(&view, &policy, &plan);

		snprintf(items, sizeof(items), "%s %s %s %s", softtape_value_word(view.item[SOFTTAPE_ASPM]),
			 softtape_value_word(view.item[SOFTTAPE_CLKPM]), softtape_value_word(view.item[SOFTTAPE_L1SS]),
			 softtape_value_word(view.item[SOFTTAPE_D3COLD]));
		for (n = 0; n < plan.nr; n++)
			step_text(&plan.step[n], steps + strlen(steps), sizeof(steps) - strlen(steps));

		assert_string_equal(items, row->items);
		assert_string_equal(steps, row->steps);
		assert_int_equal(plan.cap, row->cap);
	}
}

static void caps_are_judged(void **state)
{
	static const struct {
		const char *desc;
		__u8 cap, old, tls;
		enum softtape_cap answer;
	} rows[] = {
		{ "took it", 1, 3, 1, SOFTTAPE_CAP_SET },
		{ "took less", 3, 4, 2, SOFTTAPE_CAP_CLAMPED },
		{ "went down, not far enough", 1, 3, 2, SOFTTAPE_CAP_CLAMPED },
		{ "ignored", 1, 4, 4, SOFTTAPE_CAP_REFUSED_READBACK },
		{ "went up", 1, 3, 4, SOFTTAPE_CAP_REFUSED_READBACK },
		{ "reads as nothing", 1, 3, 0, SOFTTAPE_CAP_REFUSED_READBACK },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("  %s\n", rows[i].desc);
		assert_int_equal(softtape_cap_judge(rows[i].cap, rows[i].old, rows[i].tls), rows[i].answer);
	}
}

/* Views before and after, what was refused, and the line that must come of it. */
static const struct line_row {
	const char *desc;
	const char *set[2];
	struct softtape_view first, now;
	struct softtape_outcome outcome;
	const char *after;
	const char *line;
} line_rows[] = {
#define VIEW(_aspm, _clkpm, _l1ss, _d3cold, _speed, _width, _tls) \
	{ .item = { SOFTTAPE_##_aspm, SOFTTAPE_##_clkpm, SOFTTAPE_##_l1ss, SOFTTAPE_##_d3cold }, .speed = (_speed), \
	  .width = (_width), .max_speed = 1, .max_width = 4, .tls = (_tls) }
	{
		.desc = "everything was on",
		.first = VIEW(L0S_L1, ON, OFF, ON, 1, 1, 3), .now = VIEW(OFF, OFF, OFF, OFF, 1, 1, 3),
		.line = "softtape: P104-100 [10de:1b87]: state=applied aspm=off(was l0s+l1) clkpm=off(was on) "
			"l1ss=off(unchanged) d3cold=off(was on) cap=keep speed=2.5GT/s,x1(max 2.5GT/s,x4) smbus=off",
	}, {
		.desc = "nothing to do; D3cold alone does not count",
		.first = VIEW(OFF, OFF, OFF, ON, 1, 4, 3), .now = VIEW(OFF, OFF, OFF, OFF, 1, 4, 3),
		.line = "softtape: P104-100 [10de:1b87]: state=unchanged aspm=off(unchanged) clkpm=off(unchanged) "
			"l1ss=off(unchanged) d3cold=off(was on) cap=keep speed=2.5GT/s,x4(max 2.5GT/s,x4) smbus=off",
	}, {
		.desc = "firmware keeps control",
		.first = VIEW(L1, ON, UNSUPPORTED, ON, 1, 4, 3), .now = VIEW(L1, ON, UNSUPPORTED, OFF, 1, 4, 3),
		.outcome = { .refusal = { SOFTTAPE_R_REFUSED_FIRMWARE, SOFTTAPE_R_REFUSED_FIRMWARE } },
		.line = "softtape: P104-100 [10de:1b87]: state=refused aspm=l1(refused:firmware) "
			"clkpm=on(refused:firmware) l1ss=unsupported d3cold=off(was on) cap=keep "
			"speed=2.5GT/s,x4(max 2.5GT/s,x4) smbus=off",
	}, {
		.desc = "pcie_aspm=off",
		.first = VIEW(L0S, OFF, OFF, OFF, 1, 4, 3), .now = VIEW(L0S, OFF, OFF, OFF, 1, 4, 3),
		.outcome = { .refusal = { SOFTTAPE_R_REFUSED_CORE } },
		.line = "softtape: P104-100 [10de:1b87]: state=refused aspm=l0s(refused:core) clkpm=off(unchanged) "
			"l1ss=off(unchanged) d3cold=off(unchanged) cap=keep speed=2.5GT/s,x4(max 2.5GT/s,x4) smbus=off",
	}, {
		.desc = "one register is stuck",
		.first = VIEW(L0S_L1, ON, OFF, OFF, 1, 4, 3), .now = VIEW(OFF, ON, OFF, OFF, 1, 4, 3),
		.outcome = { .refusal = { SOFTTAPE_R_NONE, SOFTTAPE_R_REFUSED_READBACK } },
		.line = "softtape: P104-100 [10de:1b87]: state=partial aspm=off(was l0s+l1) clkpm=on(refused:readback) "
			"l1ss=off(unchanged) d3cold=off(unchanged) cap=keep speed=2.5GT/s,x4(max 2.5GT/s,x4) smbus=off",
	}, {
		.desc = "the driver switched it on",
		.first = VIEW(OFF, OFF, OFF, OFF, 1, 4, 3), .now = VIEW(L0S_L1, OFF, OFF, OFF, 1, 4, 3),
		.outcome = { .bound = true }, .after = "bind",
		.line = "softtape: P104-100 [10de:1b87]: state=refused aspm=l0s+l1(refused:driver) clkpm=off(unchanged) "
			"l1ss=off(unchanged) d3cold=off(unchanged) cap=keep speed=2.5GT/s,x4(max 2.5GT/s,x4) smbus=off "
			"after=bind",
	}, {
		.desc = "aspm=keep d3cold=keep",
		.set = { "aspm=keep", "d3cold=keep" },
		.first = VIEW(L0S_L1, ON, UNKNOWN, ON, 1, 4, 3), .now = VIEW(L0S_L1, ON, UNKNOWN, ON, 1, 4, 3),
		.line = "softtape: P104-100 [10de:1b87]: state=unchanged aspm=l0s+l1(keep) clkpm=on(keep) l1ss=unknown "
			"d3cold=on(keep) cap=keep speed=2.5GT/s,x4(max 2.5GT/s,x4) smbus=off",
	}, {
		.desc = "dry run",
		.set = { "dry_run=Y", "speed=gen1" },
		.first = VIEW(L0S_L1, OFF, OFF, ON, 1, 4, 3), .now = VIEW(L0S_L1, OFF, OFF, ON, 1, 4, 3),
		.outcome = { .cap = SOFTTAPE_CAP_SET, .cap_to = 1 },
		.line = "softtape: P104-100 [10de:1b87]: state=dry-run aspm=l0s+l1(would be off) clkpm=off(unchanged) "
			"l1ss=off(unchanged) d3cold=on(would be off) cap=gen3(would be gen1) "
			"speed=2.5GT/s,x4(max 2.5GT/s,x4) smbus=off",
	}, {
		.desc = "cap set",
		.set = { "speed=gen1" },
		.first = VIEW(OFF, OFF, OFF, OFF, 3, 4, 3), .now = VIEW(OFF, OFF, OFF, OFF, 1, 4, 1),
		.outcome = { .cap = SOFTTAPE_CAP_SET, .cap_to = 1 },
		.line = "softtape: P104-100 [10de:1b87]: state=applied aspm=off(unchanged) clkpm=off(unchanged) "
			"l1ss=off(unchanged) d3cold=off(unchanged) cap=gen1 speed=2.5GT/s,x4(max 2.5GT/s,x4) smbus=off",
	}, {
		.desc = "cap clamped above what was asked",
		.set = { "speed=gen1" },
		.first = VIEW(OFF, OFF, OFF, OFF, 3, 4, 3), .now = VIEW(OFF, OFF, OFF, OFF, 2, 4, 2),
		.outcome = { .cap = SOFTTAPE_CAP_CLAMPED, .cap_to = 1 },
		.line = "softtape: P104-100 [10de:1b87]: state=refused aspm=off(unchanged) clkpm=off(unchanged) "
			"l1ss=off(unchanged) d3cold=off(unchanged) cap=clamped:gen2 speed=5GT/s,x4(max 2.5GT/s,x4) "
			"smbus=off",
	}, {
		.desc = "cap refused, ASPM took",
		.set = { "speed=gen1" },
		.first = VIEW(L1, OFF, OFF, OFF, 4, 16, 4), .now = VIEW(OFF, OFF, OFF, OFF, 4, 16, 4),
		.outcome = { .cap = SOFTTAPE_CAP_REFUSED_READBACK, .cap_to = 1 },
		.line = "softtape: P104-100 [10de:1b87]: state=partial aspm=off(was l1) clkpm=off(unchanged) "
			"l1ss=off(unchanged) d3cold=off(unchanged) cap=refused(readback) "
			"speed=16GT/s,x16(max 2.5GT/s,x4) smbus=off",
	}, {
		.desc = "no port above",
		.first = VIEW(UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, 0, 0, 0),
		.now = VIEW(UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, UNSUPPORTED, 0, 0, 0),
		.line = "softtape: P104-100 [10de:1b87]: state=unchanged aspm=unsupported clkpm=unsupported "
			"l1ss=unsupported d3cold=unsupported cap=keep speed=unknown(max 2.5GT/s,x4) smbus=off",
	},
};

static void lines_are_written(void **state)
{
	const struct softtape_policy none = { 0 };
	const struct softtape_card *card = softtape_card_match(&none, 0x10de, 0x1b87, 0x030200);
	unsigned int i, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(line_rows); i++) {
		const struct line_row *row = &line_rows[i];
		struct softtape_report report = { .card = card, .device = 0x1b87, .smbus = "off", .after = row->after };
		struct softtape_policy policy = { 0 };
		char line[SOFTTAPE_LINE_MAX];

		print_message("  %s\n", row->desc);
		for (n = 0; n < ARRAY_SIZE(row->set); n++)
			set_option(&policy, row->set[n]);
		softtape_report_make(&report, &row->first, &row->now, &policy, &row->outcome);
		assert_int_equal(softtape_report_line(&report, line, sizeof(line)), strlen(row->line));
		assert_string_equal(line, row->line);
	}
}

static void lines_of_skipped_cards_are_short(void **state)
{
	const struct softtape_report report = {
		.card = softtape_card_at(0), .device = 0x15c2, .state = SOFTTAPE_SKIPPED, .smbus = "off",
	};
	char line[SOFTTAPE_LINE_MAX];

	(void)state;
	softtape_report_line(&report, line, sizeof(line));
	assert_string_equal(line, "softtape: CMP 100-100 [10de:15c2]: state=skipped");
}

static void lines_are_cut_not_overrun(void **state)
{
	const struct softtape_report report = { .card = softtape_card_at(2), .device = 0x1b87, .smbus = "off" };
	char line[64];
	size_t size;

	(void)state;
	for (size = 0; size < 40; size++) {
		memset(line, '#', sizeof(line));
		assert_in_range(softtape_report_line(&report, line, size), 0, size ? size - 1 : 0);
		assert_int_equal(line[size], '#');
		if (size)
			assert_int_equal(line[strnlen(line, size)], '\0');
	}
}

static void fields_are_values_without_reasons(void **state)
{
	static const char *const values[] = { "P104-100", "applied", "off", "off", "unsupported", "off", "clamped:gen2",
					      "5GT/s,x4", "off" };
	static const char *const names[] = { "card", "state", "aspm", "clkpm", "l1ss", "d3cold", "cap", "speed", "smbus" };
	struct softtape_report report = {
		.card = softtape_card_at(2), .device = 0x1b87, .state = SOFTTAPE_APPLIED, .smbus = "off",
		.value = { SOFTTAPE_OFF, SOFTTAPE_OFF, SOFTTAPE_UNSUPPORTED, SOFTTAPE_OFF },
		.reason = { SOFTTAPE_R_WAS, SOFTTAPE_R_UNCHANGED, SOFTTAPE_R_NONE, SOFTTAPE_R_KEEP },
		.was = { SOFTTAPE_L1 }, .cap = SOFTTAPE_CAP_CLAMPED, .cap_gen = 2,
		.view = { .speed = 2, .width = 4, .max_speed = 3, .max_width = 16 },
	};
	char text[64];
	int i;

	(void)state;
	for (i = 0; i < SOFTTAPE_NR_FIELDS; i++) {
		softtape_report_field(&report, i, text, sizeof(text));
		assert_string_equal(text, values[i]);
		assert_string_equal(softtape_field_name(i), names[i]);
	}
}

static void news_are_told_from_noise(void **state)
{
	const struct softtape_report base = { .state = SOFTTAPE_APPLIED, .cap = SOFTTAPE_CAP_SET, .cap_gen = 1 };
	struct softtape_report other;

	(void)state;
	other = base;
	other.view.speed = 3;
	other.view.width = 1;
	other.after = "resume";
	other.reason[0] = SOFTTAPE_R_WAS;
	assert_false(softtape_report_differs(&base, &other));

	other = base;
	other.value[SOFTTAPE_D3COLD] = SOFTTAPE_ON;
	assert_true(softtape_report_differs(&base, &other));
	other = base;
	other.state = SOFTTAPE_LOST;
	assert_true(softtape_report_differs(&base, &other));
	other = base;
	other.cap = SOFTTAPE_CAP_LIFTED;
	assert_true(softtape_report_differs(&base, &other));
	other = base;
	other.cap_gen = 2;
	assert_true(softtape_report_differs(&base, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cards_are_the_known_ids),
		cmocka_unit_test(cards_match),
		cmocka_unit_test(cards_match_user_ids),
		cmocka_unit_test(policy_values),
		cmocka_unit_test(policy_meaning),
		cmocka_unit_test(policy_lists_are_bounded),
		cmocka_unit_test(links_are_planned),
		cmocka_unit_test(caps_are_judged),
		cmocka_unit_test(lines_are_written),
		cmocka_unit_test(lines_of_skipped_cards_are_short),
		cmocka_unit_test(lines_are_cut_not_overrun),
		cmocka_unit_test(fields_are_values_without_reasons),
		cmocka_unit_test(news_are_told_from_noise),
	};

	return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
