// SPDX-License-Identifier: GPL-2.0-only
/* What the module says, against what was asked and what registers say. */
#include "test.h"

#include "quirks.h"

static const struct softtape_card card_row = { .device = 1, .name = "test card" };

/* Settled as asked: registers agree. */
#define SETTLED .claimed = true, .view.item = { SOFTTAPE_OFF, SOFTTAPE_OFF, SOFTTAPE_UNSUPPORTED, SOFTTAPE_OFF }
#define QUIRKS(state_, aspm_, cap_)								\
	.quirk = { [SOFTTAPE_F_STATE] = state_, [SOFTTAPE_F_ASPM] = aspm_, [SOFTTAPE_F_CLKPM] = "off",	\
		   [SOFTTAPE_F_L1SS] = "unsupported", [SOFTTAPE_F_D3COLD] = "off", [SOFTTAPE_F_CAP] = cap_ }

static const struct {
	const char *desc;
	struct card card;
	bool listed;
	bool loaded;
	enum quirks quirks;
	unsigned int nr;
	enum finding_code code;
} rows[] = {
	{ "applied", { SETTLED, QUIRKS("applied", "off", "keep") }, true, true, QUIRKS_FINE, 0, 0 },
	{ "nothing to do", { SETTLED, QUIRKS("unchanged", "off", "unneeded") }, true, true, QUIRKS_FINE, 0, 0 },
	{ "no module", { .claimed = false }, true, false, QUIRKS_SHORT, 1, FINDING_MODULE_ABSENT },
	{ "module without this card", { .claimed = false }, true, true, QUIRKS_SHORT, 1, FINDING_NOT_CLAIMED },
	{ "no mining card", { .view.item = { SOFTTAPE_L1 } }, false, false, QUIRKS_FINE, 0, 0 },
	{ "skipped", { .claimed = true, QUIRKS("skipped", "", ""), .view.item = { SOFTTAPE_L1 } }, true, true, QUIRKS_FINE, 1,
	  FINDING_QUIRKS_SKIPPED },
	{ "dry run", { .claimed = true, QUIRKS("dry-run", "l1", "keep"), .view.item = { SOFTTAPE_L1 } }, true, true,
	  QUIRKS_FINE, 1, FINDING_QUIRKS_DRY_RUN },
	{ "still pending", { SETTLED, QUIRKS("pending", "unknown", "keep") }, true, true, QUIRKS_SHORT, 1,
	  FINDING_QUIRKS_PENDING },
	{ "lost", { SETTLED, QUIRKS("lost", "unknown", "unknown") }, true, true, QUIRKS_LOST, 1, FINDING_QUIRKS_LOST },
	{ "refused", { .claimed = true, QUIRKS("refused", "l1", "keep"), .view.item = { SOFTTAPE_L1 } }, true, true,
	  QUIRKS_SHORT, 1, FINDING_QUIRKS_REFUSED },
	{ "partial", { .claimed = true, QUIRKS("partial", "l1", "keep"), .view.item = { SOFTTAPE_L1 } }, true, true,
	  QUIRKS_SHORT, 1, FINDING_QUIRKS_REFUSED },
	{ "only the cap refused", { SETTLED, QUIRKS("refused", "off", "refused(readback)") }, true, true, QUIRKS_SHORT, 1,
	  FINDING_CAP },
	{ "cap lifted", { SETTLED, QUIRKS("refused", "off", "lifted") }, true, true, QUIRKS_SHORT, 1, FINDING_CAP },
	{ "switched on behind the module's back", { .claimed = true, QUIRKS("applied", "off", "keep"),
	  .view.item = { SOFTTAPE_L1, SOFTTAPE_OFF, SOFTTAPE_OFF, SOFTTAPE_OFF } }, true, true, QUIRKS_SHORT, 1,
	  FINDING_DRIFTED },
	{ "left on by the user", { .claimed = true, QUIRKS("unchanged", "off", "keep"), .report = "state=unchanged aspm=off(keep) x",
	  .view.item = { SOFTTAPE_L1 } }, true, true, QUIRKS_FINE, 0, 0 },
	{ "registers not readable", { .claimed = true, QUIRKS("applied", "off", "keep"),
	  .view.item = { SOFTTAPE_UNKNOWN, SOFTTAPE_UNKNOWN, SOFTTAPE_UNKNOWN, SOFTTAPE_OFF } }, true, true, QUIRKS_FINE, 0, 0 },
	{ "cap holds", { SETTLED, QUIRKS("applied", "off", "gen1"), .view.tls = 1 }, true, true, QUIRKS_FINE, 0, 0 },
	{ "cap raised", { .claimed = true, QUIRKS("applied", "off", "gen1"), .view.tls = 3 }, true, true, QUIRKS_SHORT, 1,
	  FINDING_DRIFTED },
	{ "clamped cap holds", { SETTLED, QUIRKS("applied", "off", "clamped:gen2"), .view.tls = 2 }, true, true, QUIRKS_FINE, 0,
	  0 },
	{ "clamped cap raised", { .claimed = true, QUIRKS("applied", "off", "clamped:gen2"), .view.tls = 3 }, true, true,
	  QUIRKS_SHORT, 1, FINDING_DRIFTED },
};

static void test_judge(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct outcome outcome = { 0 };
		struct card card = rows[i].card;

		card.row = rows[i].listed ? &card_row : NULL;
		assert_row(quirks_judge(&card, rows[i].loaded, &outcome) == rows[i].quirks, &rows[i]);
		assert_row(outcome.nr_finding == rows[i].nr, &rows[i]);
		assert_row(!rows[i].nr || outcome.finding[0].code == rows[i].code, &rows[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_judge) };

	return cmocka_run_group_tests_name("quirks", tests, NULL, NULL);
}
