// SPDX-License-Identifier: GPL-2.0-only
/* The command status: last verdicts from the state files. Touches no card. */
#include <string.h>

#include "command.h"
#include "state.h"

static bool has_row(const struct result *result, const char *bdf)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (!strcmp(result->row[i].card.bdf, bdf))
			return true;
	return false;
}

static int take(const char *bdf, void *data)
{
	struct result *result = data;
	struct row stored;

	if (has_row(result, bdf) || state_read(bdf, &stored))
		return 0;

	result_add(result, &stored.card)->outcome = stored.outcome;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->card.bdf, ((const struct row *)b)->card.bdf);
}

/* Cards that were never checked belong to the answer too: nobody knows whether they work. */
static void add_present(struct result *result)
{
	struct card_list list;
	size_t i;

	if (card_discover(&result->policy, false, &list))
		return;

	for (i = 0; i < list.nr; i++)
		if (!has_row(result, list.item[i].bdf))
			result_add(result, &list.item[i]);
	card_list_free(&list);
}

static bool is_wanted(const struct options *options, const struct card *card)
{
	struct address address;
	char bdf[ADDRESS_MAX];
	int i;

	for (i = 0; i < options->nr_card; i++) {
		if (!strcmp(options->card[i], "all"))
			return true;
		if (address_parse(options->card[i], &address))
			continue;
		address_format(&address, bdf, sizeof(bdf));
		if (!strcmp(bdf, card->bdf))
			return true;
	}

	return !options->nr_card;
}

static void keep_wanted(const struct options *options, struct result *result)
{
	size_t i, nr = 0;

	for (i = 0; i < result->nr; i++) {
		if (is_wanted(options, &result->row[i].card))
			result->row[nr++] = result->row[i];
		else
			free(result->row[i].outcome);
	}

	result->nr = nr;
}

static int check_words(const struct options *options, struct result *result)
{
	struct address address;
	int i;

	for (i = 0; i < options->nr_card; i++)
		if (strcmp(options->card[i], "all") && address_parse(options->card[i], &address))
			return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL,
					    "'%s' is neither a PCI address like 01:00.0 nor 'all'", options->card[i]);
	return 0;
}

int status_run(const struct options *options, struct result *result)
{
	size_t i;
	int ret;

	ret = check_words(options, result);
	if (ret)
		return ret;

	state_each(take, result);
	add_present(result);
	keep_wanted(options, result);
	if (!result->nr && !options->nr_card)
		result->note = "no mining card";
	if (!result->nr)
		return options->nr_card ? command_fail(result, verdict_exit(VERDICT_NOT_TESTABLE), FINDING_NOT_FOUND, NULL,
						       "no card and no verdict at %s", options->card[0]) : 0;

	qsort(result->row, result->nr, sizeof(*result->row), by_address);
	for (i = 0; i < result->nr; i++) {
		const struct outcome *outcome = result->row[i].outcome;

		result->verdict = verdict_worse(result->verdict, outcome && outcome->verdict != VERDICT_NONE ?
						outcome->verdict : VERDICT_NOT_TESTABLE);
	}

	return verdict_exit(result->verdict);
}
