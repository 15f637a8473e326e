// SPDX-License-Identifier: GPL-2.0-only
/* The JSON writer: whatever texts and numbers a check came to, the document is UTF-8 and reads back as it was written. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

/* What is left of the input; an empty one gives zeros. */
struct input {
	const unsigned char *data;
	size_t size;
};

static void take(struct input *input, void *to, size_t bytes)
{
	size_t n = bytes < input->size ? bytes : input->size;

	memset(to, 0, bytes);
	memcpy(to, input->data, n);
	input->data += n;
	input->size -= n;
}

static void take_text(struct input *input, char *to, size_t size)
{
	unsigned char length;

	take(input, &length, 1);
	take(input, to, length < size ? length : size - 1);
	to[length < size ? length : size - 1] = '\0';
}

static unsigned int take_below(struct input *input, unsigned int limit)
{
	unsigned char value;

	take(input, &value, 1);
	return value % limit;
}

static void make_test(struct input *input, struct selftest_result *test)
{
	take(input, &test->statistics, 64);
	test->statistics.sampled |= 1;
	take(input, &test->to_card, sizeof(test->to_card));
	take(input, test->unit_mops, sizeof(test->unit_mops));
	test->phase[SELFTEST_LIBRARY].word = take_below(input, SELFTEST_NR_WORDS);
	test->nr_faults = take_below(input, 4);
	for (unsigned int i = 0; i < test->nr_faults; i++) {
		struct selftest_fault *fault = &test->fault[i];

		take(input, &fault->at, sizeof(fault->at));
		take(input, &fault->expected, sizeof(fault->expected));
		fault->kind = take_below(input, SELFTEST_NR_FAULTS);
		fault->phase = take_below(input, SELFTEST_NR_PHASES);
		fault->unit = take_below(input, SELFTEST_NR_UNITS);
	}
}

static void make_outcome(struct input *input, struct outcome *outcome)
{
	struct finding *finding;

	outcome->run = take_below(input, RUN_NR);
	outcome->verdict = take_below(input, VERDICT_NR);
	outcome->tested = take_below(input, 2);
	outcome->inject = take_below(input, SELFTEST_NR_INJECTS);
	take_text(input, outcome->level, sizeof(outcome->level));
	take_text(input, outcome_phase(outcome, "link")->result, sizeof(outcome->phase[0].result));
	take(input, &outcome->errors, sizeof(outcome->errors));
	take(input, &outcome->started, sizeof(outcome->started));
	take(input, &outcome->link_errors, sizeof(outcome->link_errors));
	outcome->link_errors.looked = take_below(input, 2);
	outcome->nr_finding = 1;
	finding = &outcome->finding[0];
	finding->code = take_below(input, FINDING_NR);
	take_text(input, finding->word, sizeof(finding->word));
	take_text(input, finding->evidence, sizeof(finding->evidence));
	take_text(input, finding->bdf, sizeof(finding->bdf));
	outcome->telemetry.samples = take_below(input, 2);
	outcome->telemetry.nr_trend = take_below(input, TELEMETRY_TREND_MAX + 1);
	take(input, outcome->telemetry.trend, 64);
	make_test(input, &outcome->test);
}

static void make_card(struct input *input, struct card *card)
{
	take_text(input, card->bdf, sizeof(card->bdf));
	take_text(input, card->name, sizeof(card->name));
	take_text(input, card->driver, sizeof(card->driver));
	take_text(input, card->port, sizeof(card->port));
	take_text(input, card->quirk[SOFTTAPE_F_STATE], CARD_WORD_MAX);
	take(input, &card->vendor, sizeof(card->vendor));
	card->view.speed = (__u8)take_below(input, 256);
	card->view.width = (__u8)take_below(input, 256);
}

/* Lengths of sequences by their first byte, no surrogates, nothing longer than needed (RFC 3629). */
static int is_utf8(const unsigned char *text)
{
	while (*text) {
		unsigned int more = *text < 0x80 ? 0 : *text < 0xc2 ? 9 : *text < 0xe0 ? 1 : *text < 0xf0 ? 2 : *text < 0xf5 ? 3 : 9;
		unsigned char first = *text++;

		if (more == 9 || (first == 0xe0 && *text < 0xa0) || (first == 0xed && *text > 0x9f) ||
		    (first == 0xf0 && *text < 0x90) || (first == 0xf4 && *text > 0x8f))
			return 0;
		for (; more; more--)
			if ((*text++ & 0xc0) != 0x80)
				return 0;
	}
	return 1;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct input input = { data, size };
	struct result result = { .command = "check" };
	struct json_object *document, *again;
	struct card card = { 0 };
	const char *text;
	struct row *row;

	make_card(&input, &card);
	row = result_add(&result, &card);
	make_outcome(&input, result_outcome(row));
	result.exit = (int)take_below(&input, 6);

	document = output_document(&result);
	text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN);
	if (!is_utf8((const unsigned char *)text))
		abort();
	again = json_tokener_parse(text);
	if (!again || !json_object_equal(document, again))
		abort();
	json_object_put(again);
	json_object_put(document);
	result_free(&result);
	return 0;
}
