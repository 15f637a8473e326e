// SPDX-License-Identifier: GPL-2.0-only
/* Facts to verdict, verdicts to exit status. Expected values are those of the contract. */
#include "test.h"

#include "util.h"
#include "verdict.h"

static const struct {
	const char *desc;
	struct verdict_facts facts;
	enum verdict verdict;
	int status;
} rows[] = {
	{ "all well", { .testable = true, .tested = true, .word = SELFTEST_PASS }, VERDICT_PASS, 0 },
	{ "well, quirks are not", { .testable = true, .tested = true, .word = SELFTEST_PASS, .short_of = true },
	  VERDICT_DEGRADED, 5 },
	{ "bind-only, well", { .testable = true }, VERDICT_PASS, 0 },
	{ "bind-only, quirks are not", { .testable = true, .short_of = true }, VERDICT_DEGRADED, 5 },
	{ "slow copies", { .testable = true, .tested = true, .word = SELFTEST_DEGRADED }, VERDICT_DEGRADED, 5 },
	{ "wrong data", { .testable = true, .tested = true, .word = SELFTEST_DATA_FAULT }, VERDICT_FAULT, 1 },
	{ "wrong data is worse than quirks",
	  { .testable = true, .tested = true, .word = SELFTEST_DATA_FAULT, .short_of = true }, VERDICT_FAULT, 1 },
	{ "error of the GPU", { .testable = true, .tested = true, .word = SELFTEST_GPU_FAULT }, VERDICT_FAULT, 1 },
	{ "crashed", { .testable = true, .tested = true, .word = SELFTEST_CRASHED }, VERDICT_FAULT, 1 },
	{ "hung", { .testable = true, .tested = true, .word = SELFTEST_HUNG }, VERDICT_HUNG, 4 },
	{ "lost in the test", { .testable = true, .tested = true, .word = SELFTEST_LOST }, VERDICT_LOST, 4 },
	{ "right data, but the driver saw a fault", { .testable = true, .tested = true, .word = SELFTEST_PASS, .driver_fault = true },
	  VERDICT_FAULT, 1 },
	{ "slow, and the driver saw a fault",
	  { .testable = true, .tested = true, .word = SELFTEST_DEGRADED, .driver_fault = true }, VERDICT_FAULT, 1 },
	{ "a hang is worse than what the driver saw",
	  { .testable = true, .tested = true, .word = SELFTEST_HUNG, .driver_fault = true }, VERDICT_HUNG, 4 },
	{ "lost before", { .lost = true }, VERDICT_LOST, 4 },
	{ "lost after a pass", { .lost = true, .testable = true, .tested = true, .word = SELFTEST_PASS }, VERDICT_LOST, 4 },
	{ "no driver", { .testable = false }, VERDICT_NOT_TESTABLE, 3 },
	{ "no driver, quirks are not", { .short_of = true }, VERDICT_NOT_TESTABLE, 3 },
	{ "no library", { .testable = true, .tested = true, .word = SELFTEST_NOT_TESTABLE }, VERDICT_NOT_TESTABLE, 3 },
	{ "cancelled is no pass", { .testable = true, .tested = true, .word = SELFTEST_CANCELLED }, VERDICT_NOT_TESTABLE, 3 },
	{ "not run is no pass", { .testable = true, .tested = true, .word = SELFTEST_NOT_RUN }, VERDICT_NOT_TESTABLE, 3 },
	{ "running is no pass", { .testable = true, .tested = true, .word = SELFTEST_RUNNING }, VERDICT_NOT_TESTABLE, 3 },
};

static void test_decide(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_row(verdict_decide(&rows[i].facts) == rows[i].verdict, &rows[i]);
		assert_row(verdict_exit(rows[i].verdict) == rows[i].status, &rows[i]);
	}
}

/* 4, 1, 5, 3, 0: each pair of the order, both ways round. */
static void test_worse(void **state)
{
	static const enum verdict order[] = { VERDICT_LOST, VERDICT_HUNG, VERDICT_FAULT, VERDICT_DEGRADED,
					      VERDICT_NOT_TESTABLE, VERDICT_PASS, VERDICT_NONE };
	size_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		for (j = i; j < ARRAY_SIZE(order); j++) {
			assert_int_equal(verdict_worse(order[i], order[j]), order[i]);
			assert_int_equal(verdict_worse(order[j], order[i]), order[i]);
		}
	}
}

static void test_words(void **state)
{
	enum verdict verdict = VERDICT_NONE;

	(void)state;
	assert_true(verdict_find("not-testable", &verdict));
	assert_int_equal(verdict, VERDICT_NOT_TESTABLE);
	assert_false(verdict_find("passed", &verdict));
	assert_int_equal(verdict, VERDICT_NOT_TESTABLE);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_worse),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
