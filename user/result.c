// SPDX-License-Identifier: GPL-2.0-only
/* What a command came to, as plain values between those who find out and those who print. */
#include "result.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <string.h>

struct row *result_add(struct result *result, const struct card *card)
{
	struct row *row;

	result->row = util_grow(result->row, result->nr, &result->room, sizeof(*result->row));
	row = &result->row[result->nr++];
	memset(row, 0, sizeof(*row));
	row->card = *card;
	return row;
}

/* The row's outcome, made when there is none yet. */
struct outcome *result_outcome(struct row *row)
{
	if (!row->outcome)
		row->outcome = calloc(1, sizeof(*row->outcome));
	if (!row->outcome)
		abort();
	return row->outcome;
}

/* Notes a fact of the host. */
void result_fact(struct result *result, const char *key, const char *format, ...)
{
	struct fact *fact;
	va_list args;

	result->fact = util_grow(result->fact, result->nr_fact, &result->room_fact, sizeof(*result->fact));
	fact = &result->fact[result->nr_fact++];
	util_copy(fact->key, sizeof(fact->key), key);
	va_start(args, format);
	vsnprintf(fact->value, sizeof(fact->value), format, args);
	va_end(args);
}

/* Drops the cards, keeps the rest. */
void result_free_rows(struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		free(result->row[i].outcome);
	free(result->row);
	result->row = NULL;
	result->nr = 0;
	result->room = 0;
}

void result_free(struct result *result)
{
	result_free_rows(result);
	free(result->fact);
	finding_free(&result->findings);
	json_object_put(result->more);
	memset(result, 0, sizeof(*result));
}

/* Keeps a finding; those that no longer fit repeat what the first ones said. */
void outcome_add(struct outcome *outcome, const struct finding *finding)
{
	if (outcome->nr_finding < OUTCOME_FINDINGS_MAX)
		outcome->finding[outcome->nr_finding++] = *finding;
}

/* The phase of this name, made when there is none yet. */
struct phase *outcome_phase(struct outcome *outcome, const char *name)
{
	struct phase *phase;
	unsigned int i;

	for (i = 0; i < outcome->nr_phase; i++)
		if (!strcmp(outcome->phase[i].name, name))
			return &outcome->phase[i];

	/* The set of names is fixed and fits; a file from elsewhere may hold more, they share the last entry. */
	if (outcome->nr_phase < OUTCOME_PHASES_MAX)
		outcome->nr_phase++;
	phase = &outcome->phase[outcome->nr_phase - 1];
	memset(phase, 0, sizeof(*phase));
	util_copy(phase->name, sizeof(phase->name), name);
	return phase;
}

/* Were words corrupted on purpose, and all of them found? */
bool outcome_detector_works(const struct outcome *outcome)
{
	return outcome->inject && outcome->test.injected && outcome->test.detected == outcome->test.injected;
}

const char *outcome_run_word(enum run run)
{
	static const char *const words[] = {
#define X(id, word) [id] = word,
		RUNS(X)
#undef X
	};

	return words[run];
}
