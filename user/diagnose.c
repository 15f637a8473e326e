// SPDX-License-Identifier: GPL-2.0-only
/* What a self-test's result means, as findings: one for each kind of wrong data, with its places, and one for the rest. */
#include "diagnose.h"

#include <stdarg.h>
#include <string.h>

/* Places that a line for people names; the JSON document has more. */
#define PLACES_MAX	4

/* A text that grows in one line. */
struct line {
	char text[sizeof(((struct finding *)0)->evidence)];
	size_t len;
};

static PRINTF_LIKE(2, 3) void add(struct line *line, const char *format, ...)
{
	va_list args;
	int n;

	if (line->len >= sizeof(line->text) - 1)
		return;
	va_start(args, format);
	n = vsnprintf(line->text + line->len, sizeof(line->text) - line->len, format, args);
	va_end(args);
	line->len += n > 0 ? (size_t)n : 0;
}

static bool is_memory(enum selftest_fault_kind kind)
{
	return kind >= FAULT_CELL && kind <= FAULT_MOVE;
}

static void add_place(struct line *line, const struct selftest_fault *fault)
{
	if (fault->kind == FAULT_COMPUTE)
		add(line, "SM %u %s", fault->sm, selftest_unit_word(fault->unit));
	else if (fault->kind == FAULT_ALIAS)
		add(line, "0x%llx is 0x%llx", (unsigned long long)fault->at, (unsigned long long)fault->other);
	else
		add(line, "0x%llx expected %08x got %08x%s", (unsigned long long)fault->at, fault->expected, fault->got,
		    !is_memory(fault->kind) ? "" : fault->again == fault->expected ? " then right" : " twice");
}

static unsigned int count_kind(const struct selftest_result *result, enum selftest_fault_kind kind)
{
	unsigned int nr = 0;
	uint32_t i;

	for (i = 0; i < result->nr_faults; i++)
		nr += result->fault[i].kind == kind;
	return nr;
}

static void add_places(struct line *line, const struct selftest_result *result, enum selftest_fault_kind kind)
{
	unsigned int named = 0, all = count_kind(result, kind);
	uint32_t i;

	for (i = 0; i < result->nr_faults && named < PLACES_MAX; i++) {
		if (result->fault[i].kind != kind)
			continue;
		add(line, "%s", named++ ? ", " : "");
		add_place(line, &result->fault[i]);
	}
	if (all > PLACES_MAX)
		add(line, " and %u more", all - PLACES_MAX);
}

static void diagnose_kind(const struct selftest_result *result, enum selftest_fault_kind kind, const char *bdf,
			  struct outcome *outcome)
{
	enum finding_code code = kind == FAULT_ALIAS ? FINDING_ALIAS : FINDING_DATA;
	const struct selftest_fault *first = result->fault;
	struct line line = { .len = 0 };
	struct finding finding;

	while (first->kind != kind)
		first++;
	add(&line, "%s in phase %s: ", selftest_fault_word(kind), selftest_phase_name(first->phase));
	add_places(&line, result, kind);
	if (kind == FAULT_ALIAS)
		add(&line, "; about %llu of %llu MiB are real", (unsigned long long)result->real_mib,
		    (unsigned long long)result->mem_mib);
	add(&line, "; %s%s", selftest_fault_text(kind), is_memory(kind) && kind != FAULT_ALIAS ?
	    ". Which chip it is cannot be told from that" : "");
	finding_make(&finding, code, bdf, "%s", line.text);
	outcome_add(outcome, &finding);
}

static void diagnose_notes(const struct selftest_result *result, const char *bdf, struct outcome *outcome)
{
	struct finding finding;

	if (result->notes & NOTE_SLOW_LINK) {
		finding_make(&finding, FINDING_SLOW_COPY, bdf, "%u MB/s to the card, %u MB/s back, the link carries %u",
			     result->h2d_mbs, result->d2h_mbs, result->link_mbs);
		outcome_add(outcome, &finding);
	}
	if (result->notes & NOTE_UNEVEN_LINK) {
		finding_make(&finding, FINDING_UNEVEN_COPY, bdf,
			     "in windows of equal size %u to %u MB/s to the card, %u to %u MB/s back; medians %u and %u",
			     result->to_card.min, result->to_card.max, result->to_host.min, result->to_host.max,
			     result->to_card.median, result->to_host.median);
		outcome_add(outcome, &finding);
	}
	if (result->notes & NOTE_SLOW_MEMORY) {
		finding_make(&finding, FINDING_SLOW_MEMORY, bdf, "read at %u MB/s; clock and bus width give %u MB/s",
			     result->read_mbs, result->peak_mbs);
		outcome_add(outcome, &finding);
	}
	if (result->notes & NOTE_SM_UNSEEN) {
		finding_make(&finding, FINDING_SM_UNSEEN, bdf, "%u of %u multiprocessors were seen to compute",
			     result->sm_seen, result->sm_count);
		outcome_add(outcome, &finding);
	}
}

/* What ended the test before its time. */
static void diagnose_end(const struct selftest_result *result, const char *bdf, struct outcome *outcome)
{
	static const enum finding_code codes[SELFTEST_NR_WORDS] = {
		[SELFTEST_NOT_TESTABLE] = FINDING_CUDA,
		[SELFTEST_GPU_FAULT] = FINDING_GPU,
		[SELFTEST_CRASHED] = FINDING_CRASHED,
		[SELFTEST_HUNG] = FINDING_HUNG,
		[SELFTEST_LOST] = FINDING_OFF_BUS,
	};
	struct finding finding;
	unsigned int i;

	if (result->word == SELFTEST_NOT_TESTABLE) {
		finding_make(&finding, FINDING_CUDA, bdf, "%s%s%s", selftest_cause_action(result->cause),
			     result->error[0] ? "; seen: " : "", result->error);
		util_copy(finding.word, sizeof(finding.word), selftest_cause_code(result->cause));
		outcome_add(outcome, &finding);
		return;
	}

	/* Not always the outcome: wrong data found before weighs as much as an error of CUDA after it. */
	for (i = 0; i < SELFTEST_NR_PHASES; i++) {
		enum selftest_word word = result->phase[i].word;

		if (word == SELFTEST_NOT_TESTABLE || !codes[word])
			continue;
		finding_make(&finding, codes[word], bdf, "in phase %s: %s", selftest_phase_name(i), result->error);
		outcome_add(outcome, &finding);
		return;
	}
	if (codes[result->word]) {
		finding_make(&finding, codes[result->word], bdf, "%s", result->error);
		outcome_add(outcome, &finding);
	}
}

/**
 * diagnose_result - say what was found
 * @result:	of a self-test that is over
 * @bdf:	whose
 * @outcome:	gets the findings
 */
void diagnose_result(const struct selftest_result *result, const char *bdf, struct outcome *outcome)
{
	unsigned int kind;

	diagnose_end(result, bdf, outcome);
	for (kind = 0; kind < SELFTEST_NR_FAULTS; kind++)
		if (count_kind(result, kind))
			diagnose_kind(result, kind, bdf, outcome);
	diagnose_notes(result, bdf, outcome);
}
