/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much each level does, how long that takes by arithmetic, and how long it may take. Pure: numbers in, numbers out.
 */
#ifndef PREDICT_H
#define PREDICT_H

#include "selftest.h"

/* Patterns of the inversions phase: solid 0 and 1, 0x55 and 0xaa, 8-bit walking and complement, 32-bit walking. */
#define PREDICT_PATTERNS	52

extern const struct selftest_plan predict_quick, predict_standard, predict_long;

/**
 * struct predict_facts - what a prediction rests on
 * @bytes:	memory to be tested; 0 = not known
 * @peak_mbs:	memory bandwidth in MB/s; 0 = not known
 */
struct predict_facts {
	uint64_t bytes;
	uint32_t peak_mbs;
};

/**
 * predict_ms - least time of a phase
 * @plan:	how much to do
 * @facts:	for the phases that touch all memory
 * @phase:	which
 *
 * Bytes over peak bandwidth, and the length of what is bounded by time. Real cards reach 70 to 85 % of their peak.
 *
 * Return: milliseconds, rounded up; 0 for a phase that is left out or that nothing is known of.
 */
uint64_t predict_ms(const struct selftest_plan *plan, const struct predict_facts *facts, enum selftest_phase_id phase);

/* Whether @plan has this phase. */
bool predict_has(const struct selftest_plan *plan, enum selftest_phase_id phase);

/* The time limit of a phase that is predicted to take @predicted_ms and takes @least_ms as the shortest limit. */
uint64_t predict_limit_ms(enum selftest_phase_id phase, uint64_t least_ms, uint64_t predicted_ms);

#endif
