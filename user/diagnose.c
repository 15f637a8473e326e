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

/* Every word that was corrupted on purpose was found, and no other. One of the reference is wrong for each multiprocessor. */
static bool is_only_injected(const struct selftest_result *result, const struct outcome *outcome)
{
	uint32_t i, others = 0;

	for (i = 0; i < result->nr_faults; i++)
		others += result->fault[i].kind != FAULT_COMPUTE || result->fault[i].unit != UNIT_INTEGER || result->fault[i].bits != 1;
	return outcome->inject && result->injected && result->detected == result->injected &&
	       (result->nr_faults == result->injected || !others);
}

static enum finding_code code_of(const struct selftest_result *result, enum selftest_fault_kind kind, const struct outcome *outcome)
{
	if (kind == FAULT_ALIAS)
		return FINDING_ALIAS;
	return is_only_injected(result, outcome) ? FINDING_INJECTED : FINDING_DATA;
}

static void diagnose_kind(const struct selftest_result *result, enum selftest_fault_kind kind, const char *bdf,
			  struct outcome *outcome)
{
	enum finding_code code = code_of(result, kind, outcome);
	const struct selftest_fault *first = result->fault;
	struct line line = { .len = 0 };
	struct finding finding;

	while (first->kind != kind)
		first++;
	/* A user who wanted to see the detector work must not take it for the card's own. */
	if (outcome->inject)
		add(&line, "with words corrupted on purpose: ");
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

/* PCIe allows one wrong bit in 10^12: some repeats are no fault. This many in every 100 MB copied are. */
#define ERRORS_PER_100MB	1

/* Degrees C from which a card shortens its life; NVIDIA's own slowdown begins a little above. */
#define HOT_C			90

/* Too many repeats, or any packet that was lost. */
static bool has_link_errors(const struct outcome *outcome)
{
	const struct link_errors *errors = &outcome->link_errors;
	long long repeats = 0;

	if (!errors->looked)
		return false;
	if (errors->nonfatal > 0 || errors->fatal > 0)
		return true;
	repeats += errors->corrected > 0 ? errors->corrected : 0;
	repeats += errors->replays > 0 ? errors->replays : 0;
	/* Where the kernel does not count, its log is all there is. */
	if (errors->corrected < 0 && errors->log_lines > 0)
		repeats += errors->log_lines;
	return repeats > ERRORS_PER_100MB * (1 + (long long)outcome->test.copied_mb / 100);
}

static void add_count(struct line *line, long long count, const char *what)
{
	if (count >= 0)
		add(line, "%s%lld %s", line->len ? ", " : "", count, what);
}

static void diagnose_link_errors(const char *bdf, struct outcome *outcome)
{
	const struct link_errors *errors = &outcome->link_errors;
	struct line line = { .len = 0 };
	struct finding finding;

	add_count(&line, errors->corrected, "corrected errors");
	add_count(&line, errors->nonfatal, "non-fatal");
	add_count(&line, errors->fatal, "fatal");
	add_count(&line, errors->replays, "replays");
	add_count(&line, errors->log_lines, "lines in the kernel log");
	add(&line, " while %u MB were copied", outcome->test.copied_mb);
	finding_make(&finding, FINDING_LINK_ERRORS, bdf, "%s", line.text);
	outcome_add(outcome, &finding);
}

static bool diagnose_heat(const char *bdf, struct outcome *outcome)
{
	const struct telemetry *telemetry = &outcome->telemetry;
	const struct telemetry_range *heat = &telemetry->range[TELEMETRY_TEMPERATURE];
	bool hot = heat->known && heat->max >= HOT_C, slowed = telemetry->throttle & THROTTLE_HW_THERMAL;
	struct finding finding;

	if (telemetry->throttle & (THROTTLE_HW_SLOWDOWN | THROTTLE_POWER_BRAKE) && !slowed) {
		finding_make(&finding, FINDING_THROTTLED, bdf, "throttle reasons 0x%llx",
			     (unsigned long long)telemetry->throttle);
		outcome_add(outcome, &finding);
	}
	if (!hot && !slowed)
		return false;
	finding_make(&finding, FINDING_HOT, bdf, "%u degrees C at most%s", heat->known ? heat->max : 0,
		     slowed ? ", the hardware slowed it down" : "");
	outcome_add(outcome, &finding);
	return true;
}

/**
 * diagnose_surroundings - what link and telemetry say beside the test
 * @bdf:	whose
 * @outcome:	with its link errors and telemetry; gets the findings
 *
 * Return: whether the card is degraded by that.
 */
bool diagnose_surroundings(const char *bdf, struct outcome *outcome)
{
	bool degraded = has_link_errors(outcome);

	if (degraded)
		diagnose_link_errors(bdf, outcome);
	return diagnose_heat(bdf, outcome) || degraded;
}

/**
 * diagnose_uplink - do cards slow each other down beyond what their uplink explains
 * @uplink:	what they reached
 */
bool diagnose_uplink(const struct uplink *uplink)
{
	unsigned int limit = uplink->alone_mbs;

	if (uplink->carries_mbs && uplink->carries_mbs < limit)
		limit = uplink->carries_mbs;
	return uplink->together_mbs * 2ULL < limit;
}
