// SPDX-License-Identifier: GPL-2.0-only
/* The rates of a card now, beside those of an earlier check's JSON document. */
#include "compare.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#define DOCUMENT_MAX	(16 * 1024 * 1024)

/* A tenth: clocks and other traffic move a rate by some percent from one day to the next. */
#define SLOWER_PERCENT	10

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &value);
	return value;
}

static const char *text(struct json_object *object, const char *key)
{
	struct json_object *value = member(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static unsigned int number(struct json_object *object, const char *key)
{
	struct json_object *value = member(object, key);
	int64_t n = json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;

	return n > 0 && n <= UINT32_MAX ? (unsigned int)n : 0;
}

/**
 * compare_open - read an earlier document
 * @path:	file with what `softtape check --json` printed
 * @ret_document: set on success, to be closed
 * @error:	filled on failure
 * @size:	bytes in @error
 *
 * Return: 0, or -EINVAL when it cannot be read or is something else.
 */
int compare_open(const char *path, struct json_object **ret_document, char *error, size_t size)
{
	char *buf CLEANUP_FREE = malloc(DOCUMENT_MAX);
	struct json_object *document;
	int ret;

	if (!buf)
		abort();
	ret = util_read(path, buf, DOCUMENT_MAX);
	if (ret) {
		snprintf(error, size, "--compare %s: %s", path, strerror(-ret));
		return -EINVAL;
	}

	document = json_tokener_parse(buf);
	if (strcmp(text(document, "tool"), "softtape") || !json_object_is_type(member(document, "cards"), json_type_array)) {
		json_object_put(document);
		snprintf(error, size, "--compare %s: not what softtape check --json prints", path);
		return -EINVAL;
	}

	*ret_document = document;
	return 0;
}

/* At the same address, or the only one of its kind: cards change their slot. */
static struct json_object *find_card(struct json_object *document, const struct card *card)
{
	struct json_object *cards = member(document, "cards"), *same_kind = NULL, *item;
	size_t i, nr = json_object_array_length(cards), kinds = 0;
	char id[16];

	snprintf(id, sizeof(id), "%04x:%04x", card->vendor, card->device);
	for (i = 0; i < nr; i++) {
		item = json_object_array_get_idx(cards, i);
		if (strcmp(text(item, "id"), id))
			continue;
		if (!strcmp(text(item, "bdf"), card->bdf))
			return item;
		same_kind = item;
		kinds++;
	}
	return kinds == 1 ? same_kind : NULL;
}

static void compare_rate(struct outcome *outcome, const char *what, unsigned int before, unsigned int now)
{
	struct comparison *comparison = &outcome->comparison[outcome->nr_comparison];

	if (!before || !now || outcome->nr_comparison == OUTCOME_COMPARISONS_MAX)
		return;
	util_copy(comparison->what, sizeof(comparison->what), what);
	comparison->before = before;
	comparison->now = now;
	outcome->nr_comparison++;
}

static void judge(const struct card *card, struct outcome *outcome)
{
	char slower[256] = "";
	struct finding finding;
	unsigned int i;
	size_t len;

	for (i = 0; i < outcome->nr_comparison; i++) {
		const struct comparison *c = &outcome->comparison[i];

		if ((unsigned long long)c->now * 100 >= (unsigned long long)c->before * (100 - SLOWER_PERCENT))
			continue;
		len = strlen(slower);
		snprintf(slower + len, sizeof(slower) - len, "%s%s %u, was %u", len ? "; " : "", c->what, c->now, c->before);
	}
	if (!slower[0])
		return;
	finding_make(&finding, FINDING_SLOWER, card->bdf, "%s", slower);
	outcome_add(outcome, &finding);
}

/**
 * compare_row - add what an earlier check of this card measured
 * @document:	of compare_open()
 * @row:	with its outcome; gets the comparisons, and a finding when the card is slower or was not there
 */
void compare_row(struct json_object *document, struct row *row)
{
	struct json_object *card = find_card(document, &row->card), *rates = member(card, "rates");
	struct json_object *memory = member(card, "memory"), *mops = member(member(card, "compute"), "mops");
	const struct selftest_result *test = &row->outcome->test;
	struct finding finding;
	unsigned int unit;

	if (!card) {
		finding_make(&finding, FINDING_INPUT, row->card.bdf, "the earlier document has no check of this card");
		outcome_add(row->outcome, &finding);
		return;
	}

	compare_rate(row->outcome, "to_card", number(member(rates, "to_card"), "median_mbs"), test->to_card.median);
	compare_rate(row->outcome, "to_host", number(member(rates, "to_host"), "median_mbs"), test->to_host.median);
	compare_rate(row->outcome, "memory_read", number(memory, "read_mbs"), test->read_mbs);
	compare_rate(row->outcome, "memory_write", number(memory, "write_mbs"), test->write_mbs);
	for (unit = 0; unit < SELFTEST_NR_UNITS; unit++)
		compare_rate(row->outcome, selftest_unit_word(unit), number(mops, selftest_unit_word(unit)),
			     test->unit_mops[unit]);
	judge(&row->card, row->outcome);
}

void compare_close(struct json_object *document)
{
	json_object_put(document);
}
