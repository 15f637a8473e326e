// SPDX-License-Identifier: GPL-2.0-only
/* Verdicts in one line, for monitors that run a program and look at its exit status: Nagios and node-problem-detector. */
#include <string.h>

#include "status.h"

/* node-problem-detector cuts what a plugin prints at 80 bytes, its default. */
#define NPD_BYTES	80

static size_t count(const struct result *result, enum verdict verdict)
{
	size_t i, nr = 0;

	for (i = 0; i < result->nr; i++)
		nr += result->row[i].outcome && result->row[i].outcome->verdict == verdict;
	return nr;
}

static unsigned long long sum_errors(const struct result *result)
{
	unsigned long long sum = 0;
	size_t i;

	for (i = 0; i < result->nr; i++)
		sum += result->row[i].outcome ? result->row[i].outcome->errors : 0;
	return sum;
}

/* The card with the worst verdict; NULL when every one passes or there is none. */
static const struct row *worst(const struct result *result)
{
	const struct row *found = NULL;
	enum verdict verdict = VERDICT_PASS, next;
	size_t i;

	for (i = 0; i < result->nr; i++) {
		next = result->row[i].outcome && result->row[i].outcome->verdict != VERDICT_NONE ?
		       result->row[i].outcome->verdict : VERDICT_NOT_TESTABLE;
		if (verdict_worse(verdict, next) == verdict)
			continue;
		verdict = next;
		found = &result->row[i];
	}

	return found;
}

static bool is_simulated(const struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (result->row[i].outcome && result->row[i].outcome->simulated)
			return true;
	return false;
}

/* What is wrong in a few words. */
static void describe(const struct result *result, char *buf, size_t size)
{
	const struct row *row = worst(result);
	const struct finding *own = result->findings.nr ? &result->findings.item[0] : NULL;
	const char *code = "";

	if (row && row->outcome && row->outcome->nr_finding)
		code = finding_word(&row->outcome->finding[0]);
	if (own && (own->code == FINDING_USAGE || own->code == FINDING_INPUT || own->code == FINDING_NOT_FOUND || !row))
		snprintf(buf, size, "%s: %.400s", finding_word(own), own->evidence);
	else if (row)
		snprintf(buf, size, "%s %s%s%s%s%s", row->card.bdf, status_word(row, "never checked"), code[0] ? ": " : "", code,
			 own ? ", " : "", own ? finding_word(own) : "");
	else if (!result->nr)
		util_copy(buf, size, "no mining card");
	else
		snprintf(buf, size, result->nr == 1 ? "%zu card passes" : "%zu cards pass", count(result, VERDICT_PASS));
}

/**
 * forms_exit - the exit status that a monitor understands
 * @form:	OUTPUT_NAGIOS, OUTPUT_NPD, or another
 * @status:	of the command
 *
 * Nagios: 0 OK, 1 warning, 2 critical, 3 unknown. node-problem-detector: 0 fine, 1 a problem, another: unknown.
 */
int forms_exit(enum output_form form, int status)
{
	static const int nagios[] = { 0, 2, 3, 3, 2, 1 }, npd[] = { 0, 1, 2, 2, 1, 1 };

	if (form == OUTPUT_NAGIOS)
		return nagios[status];
	return form == OUTPUT_NPD ? npd[status] : status;
}

/**
 * forms_print - verdicts in one line
 * @form:	OUTPUT_NAGIOS or OUTPUT_NPD
 * @result:	of status, its exit set
 */
void forms_print(enum output_form form, const struct result *result)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };
	char what[512], line[640];

	describe(result, what, sizeof(what));
	if (form == OUTPUT_NPD) {
		snprintf(line, sizeof(line), "%s%s", what, is_simulated(result) ? " (simulated)" : "");
		printf("%.*s\n", NPD_BYTES - 1, line);
		return;
	}

	/* A pipe begins the numbers (Monitoring Plugins Development Guidelines). */
	while (strchr(what, '|'))
		*strchr(what, '|') = '/';
	printf("SOFTTAPE %s - %s%s | cards=%zu;;;0 pass=%zu;;;0 degraded=%zu;;;0 fault=%zu;;;0 errors=%llu;;;0\n",
	       words[forms_exit(form, result->exit)], what, is_simulated(result) ? " (simulated)" : "", result->nr,
	       count(result, VERDICT_PASS), count(result, VERDICT_DEGRADED), count(result, VERDICT_FAULT),
	       sum_errors(result));
}
