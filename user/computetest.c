// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compute phase: chains of arithmetic whose ends the host knows, on every multiprocessor, each kind of unit by
 * itself. Knows nothing of deadlines, processes or verdicts.
 */
#include <stdio.h>

#include "cardtest.h"

/* Steps of a chain: the host computes 256 of them in some milliseconds. */
#define ROUNDS		1024
/* The seventh word of SHA-256. */
#define CHAIN_SEED	0x1f83d9ab
/* A launch ought to take this long: far from the 50 ms that keep a display alive, far above its own cost. */
#define LAUNCH_MS	20.0f
#define REPEATS_MAX	4096

/* The scratch memory holds the report, then the reference. */
#define REFERENCE_AT	8192
_Static_assert(sizeof(struct compute_report) <= REFERENCE_AT, "the reference would lie in the report");

static const struct {
	enum kernel_id kernel;
	const char *word;
	unsigned int operations;
} units[] = {
#define X(id, kernel, word, operations) [id] = { kernel, word, operations },
	SELFTEST_UNITS(X)
#undef X
};

static CUresult launch(struct test *t, enum selftest_unit unit, uint32_t repeats, float *ms)
{
	uint64_t args[KERNEL_ARGS_MAX] = { t->scratch + REFERENCE_AT, CHAIN_SEED, ROUNDS, repeats, t->scratch };
	CUresult code = cardtest_mark(t, 0);

	code = code ? code : cardtest_launch(t, units[unit].kernel, cardtest_grid(t), args);
	code = code ? code : cardtest_mark(t, 1);
	return code ? code : cardtest_marked_ms(t, ms);
}

static CUresult put_reference(struct test *t, enum selftest_unit unit, bool corrupt)
{
	uint32_t reference[COMPUTE_THREADS];
	CUresult code = cardtest_clear(t, t->scratch, sizeof(struct compute_report));

	kernel_compute(units[unit].kernel, reference, CHAIN_SEED, ROUNDS);
	if (corrupt) {
		reference[COMPUTE_THREADS / 3] ^= 1;
		t->page->result.injected++;
	}
	return code ? code : cardtest_put(t, t->scratch + REFERENCE_AT, reference, sizeof(reference));
}

/* The best record of a multiprocessor; the first ones to arrive may all be of another. */
static const struct compute_record *record_of(const struct compute_report *report, uint32_t sm)
{
	for (uint32_t i = 0; i < report->wanted && i < COMPUTE_RECORDS; i++)
		if (report->record[i].sm == sm)
			return &report->record[i];
	return NULL;
}

static enum selftest_word judge(struct test *t, enum selftest_unit unit, const struct compute_report *report,
				bool corrupt)
{
	struct selftest_fault fault = { 0 };
	uint64_t wrong = 0;
	char what[40];

	for (uint32_t sm = COMPUTE_SMS; sm-- > 0;) {
		const struct compute_record *record = record_of(report, sm);

		if (!report->wrong_on[sm])
			continue;
		wrong += report->wrong_on[sm];
		fault = (struct selftest_fault){ .kind = FAULT_COMPUTE, .sm = sm, .pass = 1, .unit = unit };
		if (record) {
			fault.at = record->thread;
			fault.expected = record->expected;
			fault.got = fault.again = record->got;
			fault.bits = record->expected ^ record->got;
			if (corrupt && record->thread == COMPUTE_THREADS / 3 && fault.bits == 1)
				t->page->result.detected = t->page->result.injected;
		}
		cardtest_fault(t, &fault);
	}
	if (!wrong)
		return SELFTEST_PASS;
	snprintf(what, sizeof(what), "%s arithmetic", units[unit].word);
	return cardtest_data_fault(t, what, wrong, &fault);
}

static unsigned int count_seen(bool *seen, const struct compute_report *report)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < COMPUTE_SMS; i++) {
		seen[i] |= report->ran[i] != 0;
		nr += seen[i];
	}
	return nr;
}

/* One unit for @box_ms; launches grow until they last long enough to be worth it. */
static enum selftest_word run_unit(struct test *t, enum selftest_unit unit, float box_ms, bool *seen)
{
	bool corrupt = t->page->inject == INJECT_COMPUTE && unit == UNIT_INTEGER && !t->page->result.injected;
	uint64_t begin_ms = phases_now_ms(), done = 0;
	struct compute_report report;
	uint32_t repeats = 1;
	float ms = 0, took;
	CUresult code = put_reference(t, unit, corrupt);

	while (!code && !cardtest_stopped(t)) {
		took = 0;
		code = launch(t, unit, repeats, &took);
		ms += took;
		done += repeats;
		/* By the card's clock, and by ours in case that one stands still. */
		if (ms >= box_ms || (float)(phases_now_ms() - begin_ms) >= 2 * box_ms)
			break;
		if (took < LAUNCH_MS / 2 && repeats < REPEATS_MAX)
			repeats *= 2;
	}
	code = code ? code : cardtest_fetch(t, &report, t->scratch, sizeof(report));
	if (code)
		return cardtest_failed(t, code);
	t->page->result.sm_seen = count_seen(seen, &report);
	if (ms > 0)
		t->page->result.unit_mops[unit] = (uint32_t)((double)done * ROUNDS * units[unit].operations *
			COMPUTE_THREADS * cardtest_grid(t) / 1000 / (double)ms);
	return judge(t, unit, &report, corrupt);
}

static enum selftest_word run_units(struct test *t, unsigned int ms, bool *seen)
{
	enum selftest_word word = SELFTEST_PASS, one;
	unsigned int present = 0;

	for (unsigned int unit = 0; unit < SELFTEST_NR_UNITS; unit++)
		present += t->func[units[unit].kernel] != NULL;
	for (unsigned int unit = 0; unit < SELFTEST_NR_UNITS; unit++) {
		if (!t->func[units[unit].kernel])
			continue;
		one = run_unit(t, unit, (float)ms / (float)present, seen);
		if (one != SELFTEST_PASS && one != SELFTEST_DATA_FAULT)
			return one;
		word = one == SELFTEST_DATA_FAULT ? one : word;
	}
	return word;
}

/* A short while of everything, between other work. */
enum selftest_word computetest_burst(struct test *t, unsigned int ms)
{
	bool seen[COMPUTE_SMS] = { false };

	return run_units(t, ms, seen);
}

enum selftest_word computetest_run(struct test *t)
{
	bool seen[COMPUTE_SMS] = { false };
	enum selftest_word word = run_units(t, t->page->plan.compute_ms, seen);
	struct selftest_result *result = &t->page->result;

	if ((word != SELFTEST_PASS && word != SELFTEST_DATA_FAULT) || cardtest_stopped(t) ||
	    result->sm_seen >= result->sm_count)
		return word;
	cardtest_say(t, "only %u of %u multiprocessors were seen to compute", result->sm_seen, result->sm_count);
	result->notes |= NOTE_SM_UNSEEN;
	return word == SELFTEST_PASS ? SELFTEST_DEGRADED : word;
}
