// SPDX-License-Identifier: GPL-2.0-only
/* From what was seen to one word and one exit status. Pure: numbers in, words out. */
#include "verdict.h"

#include <string.h>

static const struct {
	const char *word;
	int status;
	int rank;
} table[] = {
#define X(id, word, status, rank) [id] = { word, status, rank },
	VERDICTS(X)
#undef X
};

const char *verdict_word(enum verdict verdict)
{
	return table[verdict].word;
}

int verdict_exit(enum verdict verdict)
{
	return table[verdict].status;
}

/**
 * verdict_find - the verdict of a word
 * @word:	as a state file holds it
 * @ret_verdict: set on success
 *
 * Return: true when there is such a verdict.
 */
bool verdict_find(const char *word, enum verdict *ret_verdict)
{
	int i;

	for (i = 0; i < VERDICT_NR; i++) {
		if (strcmp(table[i].word, word))
			continue;
		*ret_verdict = i;
		return true;
	}

	return false;
}

static enum verdict from_test(enum selftest_word word)
{
	switch (word) {
	case SELFTEST_PASS:
		return VERDICT_PASS;
	case SELFTEST_DEGRADED:
		return VERDICT_DEGRADED;
	case SELFTEST_DATA_FAULT:
	case SELFTEST_GPU_FAULT:
	case SELFTEST_CRASHED:
		return VERDICT_FAULT;
	case SELFTEST_HUNG:
		return VERDICT_HUNG;
	case SELFTEST_LOST:
		return VERDICT_LOST;
	default:
		/* A test that was not run to its end says nothing of the card. */
		return VERDICT_NOT_TESTABLE;
	}
}

/**
 * verdict_decide - one word for one card
 * @facts:	what was seen
 */
enum verdict verdict_decide(const struct verdict_facts *facts)
{
	enum verdict verdict = VERDICT_PASS;

	if (facts->lost)
		return VERDICT_LOST;
	if (!facts->testable)
		return VERDICT_NOT_TESTABLE;
	if (facts->tested)
		verdict = from_test(facts->word);
	if (facts->driver_fault && (verdict == VERDICT_PASS || verdict == VERDICT_DEGRADED))
		return VERDICT_FAULT;
	if (verdict == VERDICT_PASS && facts->short_of)
		return VERDICT_DEGRADED;
	return verdict;
}

/**
 * verdict_worse - the verdict of several cards
 * @a:		one
 * @b:		another
 *
 * Return: the one that decides the exit status: 4 before 1 before 5 before 3 before 0.
 */
enum verdict verdict_worse(enum verdict a, enum verdict b)
{
	return table[a].rank >= table[b].rank ? a : b;
}
