// SPDX-License-Identifier: GPL-2.0-only
/* State files: what is written comes back, and what has happened since is seen. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "state.h"

/* No machine has it: domains beyond ffff belong to VMD, and those start at 10000. */
#define BDF "fffe:ff:1f.7"

static char dir[] = "/tmp/softtape-state-XXXXXX";

static struct row make_row(struct outcome *outcome)
{
	struct row row = { .outcome = outcome };
	struct finding finding;

	assert_int_equal(address_parse(BDF, &row.card.address), 0);
	util_copy(row.card.bdf, sizeof(row.card.bdf), BDF);
	util_copy(row.card.name, sizeof(row.card.name), "P104-100");
	util_copy(row.card.driver, sizeof(row.card.driver), "nvidia");
	util_copy(row.card.quirk[SOFTTAPE_F_STATE], CARD_WORD_MAX, "applied");
	row.card.vendor = 0x10de;
	row.card.device = 0x1b87;
	row.card.view = (struct softtape_view){ .speed = 1, .width = 1, .max_speed = 1, .max_width = 4 };

	memset(outcome, 0, sizeof(*outcome));
	outcome->run = RUN_DONE;
	outcome->verdict = VERDICT_DEGRADED;
	outcome->simulated = true;
	outcome->tested = true;
	outcome->errors = 5000000000ULL;
	outcome->started = 1700000000;
	outcome->ended = 1700000009;
	outcome->h2d_mbs = 160;
	outcome->mem_mib = 8192;
	util_copy(outcome->level, sizeof(outcome->level), "quick");
	util_copy(outcome_phase(outcome, "driver")->result, 16, "pass");
	outcome_phase(outcome, "driver")->ms = 12;
	util_copy(outcome_phase(outcome, "address")->result, 16, "pass");
	finding_make(&finding, FINDING_DRIFTED, BDF, "%s", "aspm is l1");
	outcome_add(outcome, &finding);
	return row;
}

static void test_round_trip(void **state)
{
	struct outcome outcome;
	struct row row = make_row(&outcome), back;

	(void)state;
	assert_int_equal(state_write(&row), 0);
	assert_int_equal(state_read(BDF, &back), 0);
	assert_string_equal(back.card.name, "P104-100");
	assert_string_equal(back.card.driver, "nvidia");
	assert_string_equal(back.card.quirk[SOFTTAPE_F_STATE], "applied");
	assert_int_equal(back.card.device, 0x1b87);
	assert_int_equal(back.card.view.max_width, 4);
	assert_int_equal(back.outcome->run, RUN_DONE);
	assert_true(back.outcome->simulated);
	assert_true(back.outcome->tested);
	assert_true(back.outcome->errors == 5000000000ULL);
	assert_int_equal(back.outcome->ended, 1700000009);
	assert_int_equal(back.outcome->h2d_mbs, 160);
	assert_int_equal(back.outcome->nr_phase, 2);
	assert_string_equal(back.outcome->phase[0].name, "driver");
	assert_int_equal(back.outcome->phase[0].ms, 12);
	/* Written as degraded; there is no device of this address, so it was unplugged, and that comes first. */
	assert_int_equal(back.outcome->nr_finding, 2);
	assert_int_equal(back.outcome->finding[0].code, FINDING_CARD_MISSING);
	assert_int_equal(back.outcome->finding[1].code, FINDING_DRIFTED);
	assert_int_equal(back.outcome->verdict, VERDICT_LOST);
	free(back.outcome);
}

static void test_running(void **state)
{
	struct outcome outcome;
	struct row row = make_row(&outcome), back;
	siginfo_t info;
	pid_t pid;

	(void)state;
	outcome.run = RUN_RUNNING;
	outcome.verdict = VERDICT_NONE;
	outcome.pid = getpid();
	outcome.pid_ticks = state_pid_ticks(getpid());
	assert_true(outcome.pid_ticks);
	assert_int_equal(state_write(&row), 0);
	assert_int_equal(state_read(BDF, &back), 0);
	assert_int_equal(back.outcome->run, RUN_RUNNING);
	free(back.outcome);

	/* A reused process number: same number, other start. */
	outcome.pid_ticks--;
	assert_int_equal(state_write(&row), 0);
	assert_int_equal(state_read(BDF, &back), 0);
	assert_int_equal(back.outcome->run, RUN_INTERRUPTED);
	free(back.outcome);

	/* Ended, its parent has not looked yet; then gone. */
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	outcome.pid = pid;
	outcome.pid_ticks = state_pid_ticks(pid);
	assert_true(outcome.pid_ticks);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(state_write(&row), 0);
	assert_int_equal(state_read(BDF, &back), 0);
	assert_int_equal(back.outcome->run, RUN_INTERRUPTED);
	free(back.outcome);

	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(state_write(&row), 0);
	assert_int_equal(state_read(BDF, &back), 0);
	assert_int_equal(back.outcome->run, RUN_INTERRUPTED);
	free(back.outcome);
}

static const struct {
	const char *desc;
	const char *text;
} broken[] = {
	{ "empty", "" },
	{ "no JSON", "hello" },
	{ "half", "{\"schema\": 1, \"cards\": [{\"bdf\": \"fffe:ff:1f.7\"" },
	{ "no object", "[1, 2]" },
	{ "no cards", "{\"schema\": 1}" },
	{ "cards are a word", "{\"cards\": \"x\"}" },
	{ "card is a word", "{\"cards\": [\"x\"]}" },
	{ "another card", "{\"cards\": [{\"bdf\": \"0000:01:00.0\", \"id\": \"10de:1b87\", \"run\": {}}]}" },
	{ "no run", "{\"cards\": [{\"bdf\": \"fffe:ff:1f.7\", \"id\": \"10de:1b87\"}]}" },
	{ "no id", "{\"cards\": [{\"bdf\": \"fffe:ff:1f.7\", \"run\": {}}]}" },
};

static void test_broken(void **state)
{
	char path[128];
	struct row row;
	FILE *file;
	size_t i;

	(void)state;
	snprintf(path, sizeof(path), "%s/" BDF ".json", dir);
	for (i = 0; i < ARRAY_SIZE(broken); i++) {
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(broken[i].text, file);
		fclose(file);
		assert_row(state_read(BDF, &row) < 0, &broken[i]);
	}
}

static void test_no_trace(void **state)
{
	struct outcome outcome;
	struct row row = make_row(&outcome);
	char command[128];

	(void)state;
	assert_int_equal(state_write(&row), 0);
	assert_int_equal(state_write(&row), 0);
	/* Only the file itself, no temporary name. */
	snprintf(command, sizeof(command), "test \"$(ls -A %s)\" = " BDF ".json", dir);
	assert_int_equal(system(command), 0);
}

/* A name that can be foreseen, in a folder that others may write to as well: theirs is neither followed nor filled. */
static void test_name_taken(void **state)
{
	struct outcome outcome;
	struct row row = make_row(&outcome);
	char other[64], taken[64], text[16];

	(void)state;
	snprintf(other, sizeof(other), "%s/other", dir);
	snprintf(taken, sizeof(taken), "%s/." BDF ".json.%d", dir, getpid());
	assert_int_equal(close(open(other, O_WRONLY | O_CREAT, 0600)), 0);
	assert_int_equal(link(other, taken), 0);
	assert_int_equal(state_write(&row), 0);
	assert_int_equal(util_read(other, text, sizeof(text)), 0);
	assert_string_equal(text, "");

	assert_int_equal(mkfifo(taken, 0600), 0);
	alarm(10);
	assert_int_equal(state_write(&row), 0);
	alarm(0);
	unlink(other);
}

static void test_slots(void **state)
{
	int a, b, c;

	(void)state;
	a = state_try_slot(2);
	b = state_try_slot(2);
	assert_true(a >= 0 && b >= 0);
	assert_int_equal(state_try_slot(2), -EAGAIN);
	close(a);
	c = state_try_slot(2);
	assert_true(c >= 0);
	close(b);
	close(c);

	c = state_try_slot(0);
	assert_true(c >= 0);
	close(c);
}

static int remove_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_running),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_no_trace),
		cmocka_unit_test(test_name_taken),
		cmocka_unit_test(test_slots),
	};

	if (!mkdtemp(dir) || setenv("RUNTIME_DIRECTORY", dir, 1))
		return 1;
	return cmocka_run_group_tests_name("state", tests, NULL, remove_dir);
}
