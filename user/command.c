// SPDX-License-Identifier: GPL-2.0-only
/* What several commands share: picking the cards, failing with a finding. */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

/**
 * command_fail - note why a command cannot go on
 * @result:	gets the finding
 * @status:	exit status
 * @code:	which
 * @bdf:	card, NULL = none
 * @format:	evidence, one line
 *
 * Return: @status, for the caller to return.
 */
int command_fail(struct result *result, int status, enum finding_code code, const char *bdf, const char *format, ...)
{
	char text[sizeof(((struct finding *)0)->evidence)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	finding_add(&result->findings, code, bdf, "%s", text);
	return status;
}

static bool has_card(const struct result *result, const char *bdf)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (!strcmp(result->row[i].card.bdf, bdf))
			return true;
	return false;
}

static int add_all(const struct options *options, struct result *result)
{
	struct card_list list = { 0 };
	size_t i;
	int ret;

	ret = card_discover(&result->policy, options->any, &list);
	if (ret)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_INPUT, NULL, "PCI devices cannot be listed: %s",
				    strerror(-ret));

	for (i = 0; i < list.nr; i++)
		if (!has_card(result, list.item[i].bdf))
			result_add(result, &list.item[i]);
	card_list_free(&list);
	return 0;
}

static int add_one(const char *text, struct result *result)
{
	struct address address;
	char bdf[ADDRESS_MAX];
	struct card card;
	int ret;

	if (address_parse(text, &address))
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL,
				    "'%s' is neither a PCI address like 01:00.0 nor 'all'", text);

	address_format(&address, bdf, sizeof(bdf));
	ret = card_open(&result->policy, &address, &card);
	if (ret)
		return command_fail(result, verdict_exit(VERDICT_NOT_TESTABLE), FINDING_NOT_FOUND, bdf,
				    "no PCI device at %s", bdf);
	if (card.vendor != SOFTTAPE_VENDOR_NVIDIA || card.class_code >> 16 != SOFTTAPE_CLASS_DISPLAY)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_NOT_NVIDIA, bdf, "%04x:%04x class %06x",
				    card.vendor, card.device, card.class_code);

	if (!has_card(result, card.bdf))
		result_add(result, &card);
	return 0;
}

/**
 * command_cards - the cards that the command line means
 * @options:	its words: addresses, `all`, or nothing (= all)
 * @result:	gets a row per card
 *
 * Return: 0, or an exit status; the rest of the words is then not looked at.
 */
int command_cards(const struct options *options, struct result *result)
{
	int i, ret = 0;
	size_t n;

	if (!options->nr_card)
		ret = add_all(options, result);

	for (i = 0; !ret && i < options->nr_card; i++)
		ret = strcmp(options->card[i], "all") ? add_one(options->card[i], result) : add_all(options, result);

	for (n = 0; n < result->nr; n++)
		card_read_link(&result->row[n].card);
	return ret;
}
