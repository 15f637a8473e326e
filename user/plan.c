// SPDX-License-Identifier: GPL-2.0-only
/* The command plan: what the module would do, on this machine or for a dump. Writes to no device. */
#include <errno.h>
#include <string.h>

#include "command.h"
#include "output.h"

static int apply_set(const char *set, struct result *result)
{
	const char *value = strchr(set, '='), *accepts;
	char key[32];
	int ret;

	if (!value)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "--set %s: key=value is needed", set);

	snprintf(key, sizeof(key), "%.*s", (int)(value - set), set);
	accepts = softtape_policy_accepts(key);
	if (!accepts)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL,
				    "--set %s: there is no module parameter '%s'", set, key);

	ret = softtape_policy_set(&result->policy, key, value + 1);
	if (ret)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "--set %s: %s accepts %s", set, key,
				    accepts);
	return 0;
}

static int read_dump(const char *name, struct result *result)
{
	bool standard_input = !strcmp(name, "-");
	FILE *file = standard_input ? stdin : fopen(name, "re");
	struct card_list list = { 0 };
	struct dump dump = { 0 };
	size_t i;
	int ret;

	if (!file)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_INPUT, NULL, "%s: %s", name, strerror(errno));

	ret = dump_read(file, &dump);
	if (!standard_input)
		fclose(file);
	if (ret)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_INPUT, NULL, "%s: %s", name, strerror(-ret));

	ret = card_from_dump(&result->policy, &dump, &list, &result->findings);
	for (i = 0; i < list.nr; i++)
		result_add(result, &list.item[i]);

	card_list_free(&list);
	if (ret)
		ret = command_fail(result, VERDICT_EXIT_USAGE, FINDING_INPUT, NULL,
				   dump.nr ? "%s: not one device can be read" : "%s: this is no output of lspci -xxxx", name);
	dump_free(&dump);
	return ret;
}

static bool names(const char *word, const struct card *card)
{
	struct address address;

	return !strcmp(word, "all") || (!address_parse(word, &address) && address_same_slot(&address, &card->address) &&
					address.function == card->address.function);
}

static bool names_any(const char *word, const struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (names(word, &result->row[i].card))
			return true;
	return !strcmp(word, "all");
}

static bool is_named(const struct options *options, const struct card *card)
{
	int i;

	for (i = 0; i < options->nr_card; i++)
		if (names(options->card[i], card))
			return true;
	return !options->nr_card;
}

/* Cards of the dump that were not named are dropped; each name that fits nothing is a mistake. */
static int pick_from_dump(const struct options *options, struct result *result)
{
	size_t n, nr = 0;
	int i;

	for (i = 0; i < options->nr_card; i++) {
		if (names_any(options->card[i], result))
			continue;
		result_free_rows(result);
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "%s: no mining card of that address",
				    options->card[i]);
	}

	for (n = 0; n < result->nr; n++)
		if (is_named(options, &result->row[n].card))
			result->row[nr++] = result->row[n];
	result->nr = nr;
	return 0;
}

/* Cards that were named although they are none: the module leaves them alone, so there is no plan. */
static void drop_others(struct result *result)
{
	size_t i, nr = 0;

	for (i = 0; i < result->nr; i++)
		if (result->row[i].card.row)
			result->row[nr++] = result->row[i];
	result->nr = nr;
}

static void make_plan(struct row *row, const struct softtape_policy *policy)
{
	struct softtape_address slot = {
		.domain = row->card.address.domain,
		.bus = row->card.address.bus,
		.slot = row->card.address.slot,
	};
	struct softtape_outcome outcome = { 0 };
	struct softtape_report report = { .card = row->card.row, .device = row->card.device, .smbus = "" };
	const enum softtape_value *item = row->card.view.item;
	int i;

	row->planned = true;
	if (softtape_slot_skipped(policy, &slot)) {
		util_copy(row->card.quirk[SOFTTAPE_F_STATE], CARD_WORD_MAX, softtape_state_word(SOFTTAPE_SKIPPED));
		return;
	}

	softtape_plan_make(&row->card.view, policy, &row->plan);
	outcome.cap = row->plan.cap;
	softtape_report_make(&report, &row->card.view, &row->card.view, policy, &outcome);
	for (i = SOFTTAPE_F_ASPM; i <= SOFTTAPE_F_CAP; i++)
		softtape_report_field(&report, i, row->card.quirk[i], CARD_WORD_MAX);

	/* With steps to carry out the state is not known before. */
	row->card.quirk[SOFTTAPE_F_STATE][0] = '\0';
	if (policy->dry_run)
		util_copy(row->card.quirk[SOFTTAPE_F_STATE], CARD_WORD_MAX, softtape_state_word(SOFTTAPE_DRY_RUN));
	else if (!row->plan.nr && row->plan.cap != SOFTTAPE_CAP_REFUSED_V1 && row->plan.cap != SOFTTAPE_CAP_UNKNOWN && item[SOFTTAPE_ASPM] != SOFTTAPE_UNKNOWN &&
		 item[SOFTTAPE_CLKPM] != SOFTTAPE_UNKNOWN)
		util_copy(row->card.quirk[SOFTTAPE_F_STATE], CARD_WORD_MAX, softtape_state_word(SOFTTAPE_UNCHANGED));
	else if (row->plan.cap == SOFTTAPE_CAP_REFUSED_V1 && !row->plan.nr)
		util_copy(row->card.quirk[SOFTTAPE_F_STATE], CARD_WORD_MAX, softtape_state_word(SOFTTAPE_REFUSED));
}

static void note_unreadable(const struct card *card, struct finding_list *findings)
{
	if (card->gone)
		finding_add(findings, FINDING_OFF_BUS, card->bdf, "config space reads all ones");
	else if (card->flaw == CONFIG_SHORT && geteuid())
		finding_add(findings, FINDING_NEEDS_ROOT, card->bdf, "%zu bytes of config space can be read", card->config_size);
}

int plan_run(const struct options *options, struct result *result)
{
	unsigned int n;
	size_t i;
	int ret = 0;

	result->dump = options->file;
	if (result->dump)
		memset(&result->policy, 0, sizeof(result->policy));
	for (n = 0; !ret && n < options->nr_set; n++)
		ret = apply_set(options->set[n], result);
	if (ret)
		return ret;

	ret = options->file ? read_dump(options->file, result) : command_cards(options, result);
	if (!ret && result->dump)
		ret = pick_from_dump(options, result);
	if (ret)
		return ret;

	drop_others(result);
	for (i = 0; i < result->nr; i++) {
		make_plan(&result->row[i], &result->policy);
		if (!result->dump)
			note_unreadable(&result->row[i].card, &result->findings);
	}
	return 0;
}

void plan_print(const struct options *options, const struct result *result)
{
	(void)options;
	output_plan(result);
}
