// SPDX-License-Identifier: GPL-2.0-only
/* The commands status and wait: last verdicts from the state files. Touches no card. */
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "command.h"
#include "journal.h"
#include "output.h"
#include "state.h"
#include "status.h"

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

/* Cards that the kernel sees now, whatever is known of their checks. */
static size_t count_present(const struct result *result)
{
	struct card_list list = { 0 };
	size_t nr;

	if (card_discover(&result->policy, false, &list))
		return 0;
	nr = list.nr;
	card_list_free(&list);
	return nr;
}

static void judge_number(const struct options *options, const struct settings *settings, struct result *result)
{
	int expect = options->expect < 0 ? settings->expected_cards : options->expect;

	result->expected = expect;
	result->present = count_present(result);
	if (expect < 0 || result->present >= (size_t)expect)
		return;

	finding_add(&result->findings, FINDING_CARDS_FEWER, NULL, "%zu of %d cards", result->present, expect);
	result->verdict = verdict_worse(result->verdict, VERDICT_FAULT);
}

static void judge_age(const struct options *options, const struct row *row, struct result *result)
{
	const struct outcome *outcome = row->outcome;
	long long age_s = outcome && outcome->ended ? time(NULL) - outcome->ended : -1;

	if (options->max_age_s < 0 || !outcome || age_s <= options->max_age_s)
		return;

	finding_add(&result->findings, FINDING_STATE_OLD, row->card.bdf, "checked %lld s ago, allowed are %d", age_s,
		    options->max_age_s);
	result->verdict = verdict_worse(result->verdict, VERDICT_NOT_TESTABLE);
}

/**
 * status_gather - last verdicts, from the state files
 * @options:	which cards, how many there must be, how old a verdict may be
 * @result:	gets a row per card that was ever checked or is there, and the verdict over all
 *
 * Return: 0 or an exit status when the command line is wrong.
 */
int status_gather(const struct options *options, struct result *result)
{
	struct settings settings;
	size_t i;
	int ret;

	ret = check_words(options, result);
	if (!ret)
		ret = check_settings(options, &settings, result);
	if (ret)
		return ret;

	state_each(take, result);
	add_present(result);
	keep_wanted(options, result);
	if (result->nr)
		qsort(result->row, result->nr, sizeof(*result->row), by_address);

	result->verdict = VERDICT_NONE;
	for (i = 0; i < result->nr; i++) {
		const struct outcome *outcome = result->row[i].outcome;

		result->verdict = verdict_worse(result->verdict, outcome && outcome->verdict != VERDICT_NONE ?
						outcome->verdict : VERDICT_NOT_TESTABLE);
		judge_age(options, &result->row[i], result);
	}

	judge_number(options, &settings, result);
	return 0;
}

/**
 * status_word - the last check of a card in one word
 * @row:	the card
 * @never:	word for a card that was never checked
 *
 * Return: its verdict, or how far the check came.
 */
const char *status_word(const struct row *row, const char *never)
{
	if (!row->outcome)
		return never;
	return row->outcome->verdict == VERDICT_NONE ? outcome_run_word(row->outcome->run) : verdict_word(row->outcome->verdict);
}

int status_run(const struct options *options, struct result *result)
{
	int ret;

	ret = status_gather(options, result);
	if (ret)
		return ret;

	if (!result->nr && options->nr_card)
		return command_fail(result, verdict_exit(VERDICT_NOT_TESTABLE), FINDING_NOT_FOUND, NULL,
				    "no card and no verdict at %s", options->card[0]);
	if (!result->nr)
		result->note = "no mining card";
	return verdict_exit(result->verdict);
}

void status_print(const struct options *options, const struct result *result)
{
	size_t i;

	check_print(options, result);
	for (i = 0; i < result->nr; i++)
		if (!result->row[i].outcome) {
			printf("next: sudo softtape check %s\n", result->row[i].card.bdf);
			return;
		}
}

/* Not what a check came to: what keeps it from being final. NULL = it is. */
static const char *not_final(const struct row *row)
{
	if (!row->outcome || row->outcome->run == RUN_NONE)
		return "never checked";
	if (row->outcome->run == RUN_RUNNING)
		return "being checked";
	return row->outcome->run == RUN_INTERRUPTED ? "its check was interrupted" : NULL;
}

static bool is_final(const struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (not_final(&result->row[i]))
			return false;
	return result->expected < 0 || result->present >= (size_t)result->expected;
}

static void tell_waiting(struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (not_final(&result->row[i]))
			finding_add(&result->findings, FINDING_TIMEOUT, result->row[i].card.bdf, "%s",
				    not_final(&result->row[i]));
}

/* Whoever waits, or reads the journal of the unit that does, is told for what; once, until it is something else. */
static void say_waiting(const struct result *result, char *said, size_t size)
{
	char text[512] = "";
	size_t i, len = 0;

	for (i = 0; i < result->nr && len < sizeof(text); i++)
		if (not_final(&result->row[i]))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %s", len ? ", " : "",
						result->row[i].card.bdf, not_final(&result->row[i]));
	if (result->expected > 0 && result->present < (size_t)result->expected && len < sizeof(text))
		snprintf(text + len, sizeof(text) - len, "%s%zu of %d cards there", len ? ", " : "", result->present,
			 result->expected);
	if (!strcmp(text, said))
		return;

	util_copy(said, size, text);
	fprintf(stderr, "softtape: waiting: %s\n", text);
}

/* A look takes milliseconds, and what is waited for seconds: checks, drivers, cards that come up late. */
#define LOOK_MS	250

int wait_run(const struct options *options, struct result *result)
{
	long long until_ms = options->timeout_s < 0 ? 0 : util_now_ms() + options->timeout_s * 1000LL;
	const char *command = result->command;
	struct softtape_policy policy = result->policy;
	bool told = isatty(STDERR_FILENO) || journal_is_output();
	char said[512] = "";
	int ret;

	for (;;) {
		ret = status_gather(options, result);
		if (ret || is_final(result))
			break;
		if (until_ms && util_now_ms() >= until_ms) {
			tell_waiting(result);
			return verdict_exit(VERDICT_NOT_TESTABLE);
		}
		if (told)
			say_waiting(result, said, sizeof(said));
		result_free(result);
		result->command = command;
		result->policy = policy;
		poll(NULL, 0, LOOK_MS);
	}

	if (!ret && !result->nr)
		result->note = "no mining card";
	return ret ? ret : verdict_exit(result->verdict);
}
