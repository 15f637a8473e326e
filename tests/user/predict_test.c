// SPDX-License-Identifier: GPL-2.0-only
/* What is predicted, against sums made by hand: 8 GiB at 320 GB/s are 26.84 ms a sweep. */
#include "test.h"

#include "predict.h"
#include "util.h"

static const struct predict_facts card = { .bytes = 8ULL << 30, .peak_mbs = 320000 };

static const struct {
	const char *desc;
	const struct selftest_plan *plan;
	enum selftest_phase_id phase;
	uint64_t ms;
} rows[] = {
	{ "4 sweeps", &predict_quick, SELFTEST_ADDRESS, 108 },
	{ "one pattern", &predict_quick, SELFTEST_INVERSIONS, 108 },
	{ "52 patterns of 4 sweeps", &predict_standard, SELFTEST_INVERSIONS, 5584 },
	{ "five times that", &predict_long, SELFTEST_INVERSIONS, 27918 },
	{ "20 offsets of 2 sweeps", &predict_standard, SELFTEST_MODULO, 1074 },
	{ "not at this level", &predict_quick, SELFTEST_MODULO, 0 },
	{ "12 s and 2 sweeps", &predict_standard, SELFTEST_HOLD, 12054 },
	{ "three times 250 ms", &predict_quick, SELFTEST_LINK, 750 },
	{ "bounded by time alone", &predict_standard, SELFTEST_COMPUTE, 10000 },
	{ "only at the longest", &predict_standard, SELFTEST_SOAK, 0 },
	{ "nothing is known of the driver", &predict_standard, SELFTEST_CONTEXT, 0 },
};

static void phases_take_what_arithmetic_says(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_row(predict_ms(rows[i].plan, &card, rows[i].phase) == rows[i].ms, &rows[i]);
}

static uint64_t total_ms(const struct selftest_plan *plan)
{
	uint64_t ms = 0;
	int phase;

	for (phase = 0; phase < SELFTEST_NR_PHASES; phase++)
		ms += predict_ms(plan, &card, phase);
	return ms;
}

/* What was promised, and what the README says. */
static void levels_keep_their_time(void **state)
{
	(void)state;
	assert_in_range(total_ms(&predict_quick), 1500, 1649);
	assert_in_range(total_ms(&predict_standard), 31450, 31549);
	assert_in_range(total_ms(&predict_long), 681000, 687000);
}

/* Nothing known of the memory: what is bounded by time is still told. */
static void an_unknown_card_is_predicted_in_part(void **state)
{
	static const struct predict_facts none = { 0 };

	(void)state;
	assert_int_equal(predict_ms(&predict_standard, &none, SELFTEST_INVERSIONS), 0);
	assert_int_equal(predict_ms(&predict_standard, &none, SELFTEST_COMPUTE), 10000);
}

static void limits_leave_room(void **state)
{
	(void)state;
	assert_int_equal(predict_limit_ms(SELFTEST_ADDRESS, 10000, 108), 10000);
	assert_int_equal(predict_limit_ms(SELFTEST_INVERSIONS, 10000, 5584), 111680);
	assert_int_equal(predict_limit_ms(SELFTEST_COMPUTE, 10000, 10000), 50000);
	assert_int_equal(predict_limit_ms(SELFTEST_HOLD, 10000, 12054), 22054);
	assert_int_equal(predict_limit_ms(SELFTEST_SOAK, 60000, 259200000), 259260000);
}

/* Copying together is a run of its own. */
static void together_is_alone(void **state)
{
	static const struct selftest_plan plan = { .together_ms = 500 };

	(void)state;
	assert_true(predict_has(&plan, SELFTEST_KNOWN));
	assert_true(predict_has(&plan, SELFTEST_TOGETHER));
	assert_false(predict_has(&plan, SELFTEST_ADDRESS));
	assert_false(predict_has(&plan, SELFTEST_LINK));
	assert_false(predict_has(&predict_standard, SELFTEST_TOGETHER));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(phases_take_what_arithmetic_says),
		cmocka_unit_test(levels_keep_their_time),
		cmocka_unit_test(an_unknown_card_is_predicted_in_part),
		cmocka_unit_test(limits_leave_room),
		cmocka_unit_test(together_is_alone),
	};

	return cmocka_run_group_tests_name("predict", tests, NULL, NULL);
}
