/* SPDX-License-Identifier: GPL-2.0-only */
/* From what was seen to one word and one exit status. Pure: numbers in, words out. */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "selftest.h"

/* X(enumerator, word, exit status, rank: the worst of several cards has the highest). Words and statuses are interface. */
#define VERDICTS(X)						\
	X(VERDICT_NONE,		"none",		0, 0)		\
	X(VERDICT_PASS,		"pass",		0, 1)		\
	X(VERDICT_NOT_TESTABLE,	"not-testable",	3, 2)		\
	X(VERDICT_DEGRADED,	"degraded",	5, 3)		\
	X(VERDICT_FAULT,	"fault",	1, 4)		\
	X(VERDICT_HUNG,		"hung",		4, 5)		\
	X(VERDICT_LOST,		"lost",		4, 6)

enum verdict {
#define X(id, word, status, rank) id,
	VERDICTS(X)
#undef X
	VERDICT_NR,
};

/* Exit status of a command line or an input that cannot be used. */
#define VERDICT_EXIT_USAGE 2

/**
 * struct verdict_facts - what a check came to
 * @lost:	the card reads all ones, is gone, or the module lost it
 * @testable:	driver bound, card not busy
 * @tested:	the self-test was run (it is not at level bind-only)
 * @word:	its outcome, valid with @tested
 * @short_of:	quirks, link or cooling are below what was asked
 * @driver_fault: the driver reported a fault of the card, whatever the test saw
 */
struct verdict_facts {
	bool lost;
	bool testable;
	bool tested;
	enum selftest_word word;
	bool short_of;
	bool driver_fault;
};

const char *verdict_word(enum verdict verdict);
int verdict_exit(enum verdict verdict);
bool verdict_find(const char *word, enum verdict *ret_verdict);
enum verdict verdict_decide(const struct verdict_facts *facts);
enum verdict verdict_worse(enum verdict a, enum verdict b);

#endif
