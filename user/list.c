// SPDX-License-Identifier: GPL-2.0-only
/* The commands list and (none): what is there, in one table or a few lines. Changes nothing. */
#include <json-c/json.h>
#include <string.h>

#include "bind.h"
#include "command.h"
#include "output.h"
#include "state.h"

/* Every card's file says the same, but for those of skipped slots. */
static const char *module_smbus(const struct result *result)
{
	const char *text = "";
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (strcmp(result->row[i].card.quirk[SOFTTAPE_F_STATE], softtape_state_word(SOFTTAPE_SKIPPED)))
			text = result->row[i].card.quirk[SOFTTAPE_F_SMBUS];
	return text;
}

/* The module's list, for whoever has to know it: scripts, udev rules, people who look for a card. */
static int list_supported(const struct options *options, struct result *result)
{
	struct json_object *array = json_object_new_array();
	const struct softtape_card *card;
	char text[16];
	unsigned int i;

	if (options->nr_card || options->tree || options->any) {
		json_object_put(array);
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL,
				    "--supported lists ids, not this machine's cards: nothing goes with it");
	}

	for (i = 0; (card = softtape_card_at(i)); i++) {
		struct json_object *row = json_object_new_object();

		snprintf(text, sizeof(text), "%04x:%04x", SOFTTAPE_VENDOR_NVIDIA, card->device);
		json_object_object_add(row, "id", json_object_new_string(text));
		json_object_object_add(row, "name", json_object_new_string(card->name));
		snprintf(text, sizeof(text), "%u.%u", card->compute / 10, card->compute % 10);
		json_object_object_add(row, "compute", json_object_new_string(text));
		json_object_array_add(array, row);
	}
	result->more = json_object_new_object();
	json_object_object_add(result->more, "supported", array);
	return 0;
}

int list_run(const struct options *options, struct result *result)
{
	int ret;
	size_t i;

	if (options->supported)
		return list_supported(options, result);

	ret = command_cards(options, result);

	for (i = 0; i < result->nr; i++)
		state_attach(&result->row[i]);
	smbus_read(module_smbus(result), &result->smbus);
	return ret;
}

void list_print(const struct options *options, const struct result *result)
{
	const struct softtape_card *card;
	unsigned int i;

	for (i = 0; options->supported && (card = softtape_card_at(i)); i++)
		printf("%04x:%04x  %u.%u  %s\n", SOFTTAPE_VENDOR_NVIDIA, card->device, card->compute / 10, card->compute % 10, card->name);
	if (options->supported)
		return;

	output_list(result, options->tree);
	output_smbus(&result->smbus);
}

int summary_run(const struct options *options, struct result *result)
{
	return list_run(options, result);
}

static bool any_unchecked(const struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (!result->row[i].outcome || result->row[i].outcome->verdict == VERDICT_NONE)
			return true;
	return false;
}

static bool any_bad(const struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (result->row[i].outcome && result->row[i].outcome->verdict > VERDICT_PASS)
			return true;
	return false;
}

static const char *next_command(const struct result *result, bool loaded)
{
	if (!result->nr)
		return "sudo softtape rescan   (the kernel looks again for cards)";
	if (!loaded)
		return "softtape doctor   (why the module is not loaded, and what helps)";
	if (any_unchecked(result))
		return "sudo softtape check   (tests the cards, gives a verdict)";
	if (any_bad(result))
		return "softtape doctor   (what is wrong, and what helps)";
	return "softtape list --tree   (which cards share an uplink)";
}

void summary_print(const struct options *options, const struct result *result)
{
	bool loaded = !access("/sys/module/softtape", F_OK);
	char version[64];

	(void)options;
	printf("softtape %s, kernel module %s", SOFTTAPE_VERSION, loaded ? "loaded" : "not loaded");
	if (!util_read("/sys/module/nvidia/version", version, sizeof(version)))
		printf(", nvidia driver %s%s\n", version, bind_driver_simulated() ? " (simulated)" : "");
	else
		puts(", no nvidia driver loaded");
	output_list(result, false);
	printf("next: %s\n", next_command(result, loaded));
}
