// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much each level does, how long that takes by arithmetic, and how long it may take. Pure: numbers in, numbers out.
 */
#include "predict.h"

/*
 * A sweep touches all tested memory once. quick: 4 for addresses, 4 for one solid pattern, 4 random: 12 sweeps. standard:
 * 4, 52 * 4, 10 * 4, 20 * 2, 4 and 2: 298 sweeps. On 8 GiB at 320 GB/s a sweep takes 26.8 ms.
 */
const struct selftest_plan predict_quick = {
	.patterns = 1, .inversions = 1, .random = 1, .link_ms = 250, .compute_ms = 500,
};

const struct selftest_plan predict_standard = {
	.patterns = PREDICT_PATTERNS, .inversions = 1, .random = 10, .modulo = 1, .move = 1, .hold_ms = 12000,
	.link_ms = 500, .compute_ms = 10000,
};

const struct selftest_plan predict_long = {
	.patterns = PREDICT_PATTERNS, .inversions = 5, .random = 50, .modulo = 5, .move = 5, .hold_ms = 12000,
	.link_ms = 500, .compute_ms = 30000, .soak_ms = 600000,
};

#define KNOWN_MS	10

static uint64_t sweeps(const struct selftest_plan *plan, enum selftest_phase_id phase)
{
	switch (phase) {
	case SELFTEST_ADDRESS:
		return 4;
	case SELFTEST_INVERSIONS:
		return 4 * (uint64_t)plan->patterns * plan->inversions;
	case SELFTEST_RANDOM:
		return 4 * (uint64_t)plan->random;
	case SELFTEST_MODULO:
		return 40 * (uint64_t)plan->modulo;
	case SELFTEST_MOVE:
		return 4 * (uint64_t)plan->move;
	case SELFTEST_HOLD:
		return plan->hold_ms ? 2 : 0;
	default:
		return 0;
	}
}

static uint64_t boxed_ms(const struct selftest_plan *plan, enum selftest_phase_id phase)
{
	switch (phase) {
	case SELFTEST_KNOWN:
		return KNOWN_MS;
	case SELFTEST_HOLD:
		return plan->hold_ms;
	case SELFTEST_LINK:
		/* In each direction; both at once takes as long as half of that, to and fro. */
		return 3 * (uint64_t)plan->link_ms;
	case SELFTEST_TOGETHER:
		return plan->together_ms;
	case SELFTEST_COMPUTE:
		return plan->compute_ms;
	case SELFTEST_SOAK:
		return plan->soak_ms;
	default:
		return 0;
	}
}

bool predict_has(const struct selftest_plan *plan, enum selftest_phase_id phase)
{
	if (phase <= SELFTEST_ALLOCATION || phase == SELFTEST_TEARDOWN)
		return true;
	if (plan->together_ms)
		return phase == SELFTEST_TOGETHER;
	return sweeps(plan, phase) || boxed_ms(plan, phase);
}

uint64_t predict_ms(const struct selftest_plan *plan, const struct predict_facts *facts, enum selftest_phase_id phase)
{
	uint64_t kib = facts->bytes / 1024 * sweeps(plan, phase), mbs = facts->peak_mbs;

	if (!predict_has(plan, phase))
		return 0;
	/* KiB * 1024 / (MB/s * 1000) are milliseconds. */
	return boxed_ms(plan, phase) + (mbs ? (kib * 1024 + mbs * 1000 - 1) / (mbs * 1000) : 0);
}

uint64_t predict_limit_ms(enum selftest_phase_id phase, uint64_t least_ms, uint64_t predicted_ms)
{
	/* Memory at a twentieth of its peak is slow beyond use; what is bounded by time needs little on top. */
	uint64_t limit_ms = phase == SELFTEST_SOAK || phase == SELFTEST_HOLD ? predicted_ms + least_ms :
			    phase >= SELFTEST_LINK ? predicted_ms * 5 : predicted_ms * 20;

	return limit_ms > least_ms ? limit_ms : least_ms;
}
