// SPDX-License-Identifier: GPL-2.0-only
/* The command explain: what a finding means and what helps, from the one table. */
#include <string.h>

#include "command.h"
#include "output.h"
#include "selftest.h"

static bool find_cause(const char *word, enum selftest_cause *ret_cause)
{
	int i;

	for (i = SELFTEST_CAUSE_NONE + 1; i < SELFTEST_NR_CAUSES; i++) {
		if (strcmp(selftest_cause_code(i), word))
			continue;
		*ret_cause = i;
		return true;
	}

	return false;
}

static void add(struct result *result, enum finding_code code, const char *word, const char *evidence)
{
	struct finding finding;

	finding_make(&finding, code, NULL, "%s", evidence);
	util_copy(finding.word, sizeof(finding.word), word);
	finding_append(&result->findings, &finding);
}

static void add_every(struct result *result)
{
	enum finding_code code;
	int i;

	for (i = 0; i < FINDING_NR; i++)
		if (i != FINDING_CUDA)
			add(result, i, "", "");
	/* A busy card is found in two places under one code. */
	for (i = SELFTEST_CAUSE_NONE + 1; i < SELFTEST_NR_CAUSES; i++)
		if (!finding_find(selftest_cause_code(i), &code))
			add(result, FINDING_CUDA, selftest_cause_code(i), selftest_cause_action(i));
}

int explain_run(const struct options *options, struct result *result)
{
	enum selftest_cause cause;
	enum finding_code code;

	if (!options->nr_card) {
		add_every(result);
		return 0;
	}

	if (options->nr_card > 1)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "explain takes one code");
	if (finding_find(options->card[0], &code))
		add(result, code, "", "");
	else if (find_cause(options->card[0], &cause))
		add(result, FINDING_CUDA, options->card[0], selftest_cause_action(cause));
	else
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL,
				    "there is no finding '%s'; softtape explain lists all", options->card[0]);
	return 0;
}

void explain_print(const struct options *options, const struct result *result)
{
	size_t i;

	for (i = 0; i < result->findings.nr; i++)
		output_explain(&result->findings.item[i], !options->nr_card);
}
