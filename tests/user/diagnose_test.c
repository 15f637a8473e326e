// SPDX-License-Identifier: GPL-2.0-only
/* What link, telemetry and a shared uplink make of a card that computes correctly; and the counters they rest on. */
#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aer.h"
#include "diagnose.h"
#include "together.h"

#define BDF "0000:01:00.0"

static const struct {
	const char *desc;
	struct link_errors errors;
	unsigned int copied_mb;
	bool degraded;
} links[] = {
	{ "nothing", { .looked = true }, 100, false },
	{ "not looked at", { .corrected = 1000, .nonfatal = 5 }, 100, false },
	{ "not counted anywhere", { true, -1, -1, -1, -1, -1 }, 100, false },
	{ "one wrong bit may be", { true, 1, 0, 0, 0, 0 }, 100, false },
	{ "two in 100 MB may be", { true, 2, 0, 0, 0, 0 }, 100, false },
	{ "three may not", { true, 3, 0, 0, 0, 0 }, 100, true },
	{ "but in 10 GB they may", { true, 3, 0, 0, 0, 0 }, 10000, false },
	{ "replays count as well", { true, 0, 0, 0, 0, 3 }, 100, true },
	{ "both together", { true, 1, 0, 0, 0, 2 }, 100, true },
	{ "a lost packet", { true, 0, 1, 0, 0, 0 }, 10000, true },
	{ "a broken link", { true, 0, 0, 1, 0, 0 }, 10000, true },
	{ "the log, when nobody counts", { true, -1, -1, -1, 3, -1 }, 100, true },
	{ "not counted twice", { true, 1, 0, 0, 3, 0 }, 100, false },
};

static void test_links(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(links); i++) {
		struct outcome outcome = { .link_errors = links[i].errors, .test.copied_mb = links[i].copied_mb };

		assert_row(diagnose_surroundings(BDF, &outcome) == links[i].degraded, &links[i]);
		assert_row(outcome.nr_finding == links[i].degraded, &links[i]);
		assert_row(!links[i].degraded || outcome.finding[0].code == FINDING_LINK_ERRORS, &links[i]);
	}
}

static const struct {
	const char *desc;
	struct uplink uplink;
	bool slow;
} uplinks[] = {
	{ "each as fast as alone", { .alone_mbs = 420, .together_mbs = 420 }, false },
	{ "half of that", { .alone_mbs = 420, .together_mbs = 210 }, false },
	{ "less", { .alone_mbs = 420, .together_mbs = 209 }, true },
	{ "the uplink is the limit", { .carries_mbs = 840, .alone_mbs = 6600, .together_mbs = 800 }, false },
	{ "half of the uplink", { .carries_mbs = 840, .alone_mbs = 6600, .together_mbs = 419 }, true },
	{ "a wide uplink changes nothing", { .carries_mbs = 13000, .alone_mbs = 420, .together_mbs = 209 }, true },
};

static void test_uplinks(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(uplinks); i++)
		assert_row(diagnose_uplink(&uplinks[i].uplink) == uplinks[i].slow, &uplinks[i]);
}

/* Two cards below a port that copy at once: both are told, and degraded, when that is far too slow. */
static void test_together(void **state)
{
	static const char port[] = "0000:00:1c.0";
	struct job *jobs = calloc(2, sizeof(*jobs));
	unsigned int i, mbs;

	(void)state;
	assert_non_null(jobs);
	for (mbs = 104; mbs <= 105; mbs++) {
		for (i = 0; i < 2; i++) {
			struct outcome outcome = { .run = RUN_DONE, .verdict = VERDICT_PASS, .tested = true,
						   .test = { .h2d_mbs = 210, .together_mbs = mbs } };

			jobs[i].outcome = outcome;
			snprintf(jobs[i].card.bdf, sizeof(jobs[i].card.bdf), "0000:0%u:00.0", i + 1);
			snprintf(jobs[i].card.syspath, sizeof(jobs[i].card.syspath), "/sys/devices/pci0000:00/%s/0000:0%u:00.0",
				 port, i + 1);
		}
		together_judge(jobs, 2, port, 840);
		for (i = 0; i < 2; i++) {
			assert_int_equal(jobs[i].outcome.nr_finding, mbs == 104);
			assert_int_equal(jobs[i].outcome.verdict, mbs == 104 ? VERDICT_DEGRADED : VERDICT_PASS);
			if (mbs == 104)
				assert_int_equal(jobs[i].outcome.finding[0].code, FINDING_SHARED_COPY);
		}
	}
	free(jobs);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* As Linux 6.1 prints them: a port above, the card below it. */
static void test_counters(void **state)
{
	char port[] = "/tmp/softtape-aer-XXXXXX", command[64];
	struct card card = { .port = "0000:00:1c.0" };
	struct aer_counts before, now;

	(void)state;
	assert_non_null(mkdtemp(port));
	snprintf(card.syspath, sizeof(card.syspath), "%s/" BDF, port);
	assert_int_equal(mkdir(card.syspath, 0700), 0);
	aer_read(&card, &before);
	assert_int_equal(before.corrected, -1);

	write_file(card.syspath, "aer_dev_correctable", "RxErr 2\nBadTLP 1\nTOTAL_ERR_COR 3\n");
	write_file(card.syspath, "aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 0\n");
	write_file(port, "aer_dev_correctable", "RxErr 40\nTOTAL_ERR_COR 40\n");
	aer_read(&card, &before);
	assert_int_equal(before.corrected, 43);
	assert_int_equal(before.nonfatal, 0);
	assert_int_equal(before.fatal, -1);

	write_file(port, "aer_dev_correctable", "RxErr 47\nTOTAL_ERR_COR 47\n");
	write_file(card.syspath, "aer_dev_fatal", "TOTAL_ERR_FATAL 9\n");
	aer_read(&card, &now);
	aer_since(&before, &now);
	assert_int_equal(now.corrected, 7);
	assert_int_equal(now.nonfatal, 0);
	/* Nobody knows how many there were before. */
	assert_int_equal(now.fatal, -1);

	write_file(port, "aer_dev_correctable", "garbage\n");
	write_file(card.syspath, "aer_dev_correctable", "TOTAL_ERR_COR -5\n");
	aer_read(&card, &now);
	assert_int_equal(now.corrected, -1);
	snprintf(command, sizeof(command), "rm -r %s", port);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_uplinks),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_counters),
	};

	return cmocka_run_group_tests_name("diagnose", tests, NULL, NULL);
}
