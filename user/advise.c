// SPDX-License-Identifier: GPL-2.0-only
/* The command advise: what goes with these cards on this host. Gathers the facts, prints the advice; changes nothing. */
#include <json-c/json.h>
#include <string.h>

#include "advice.h"
#include "apt.h"
#include "doctor.h"
#include "output.h"
#include "selftest.h"

#define NVML_DEADLINE_MS	10000
#define POWERCAP		"/sys/class/powercap"
/* As wide as a terminal is, within bounds. */
#define TEXT_COLUMNS		100
#define INDENT_COLUMNS		11

/* The highest bridge above a card that other cards hang on too, and how many do. */
static void read_shared(const struct result *result, const struct card *card, struct advice_card *advice)
{
	char path[CARD_PATH_MAX], *part, *save = NULL;

	util_copy(path, sizeof(path), card->syspath);
	for (part = strtok_r(path, "/", &save); part && advice->shared < 2; part = strtok_r(NULL, "/", &save)) {
		char below[ADDRESS_MAX + 2];
		struct address address;
		struct link_end end;
		size_t i;

		if (address_parse(part, &address) || !strcmp(part, card->bdf))
			continue;
		snprintf(below, sizeof(below), "/%s/", part);
		for (advice->shared = 0, i = 0; i < result->nr; i++)
			advice->shared += !!strstr(result->row[i].card.syspath, below);
		end = doctor_link_end(part);
		advice->shared_mbs = selftest_link_mbs(end.speed_mts, end.width);
	}
}

static void read_card(const struct result *result, const struct row *row, const struct nvml *nvml, struct advice_card *advice)
{
	const struct card *card = &row->card;
	struct link_end end = doctor_link_end(card->bdf);
	size_t i;

	*advice = (struct advice_card){ .mining = card->row, .board = board_find(card->name) };
	util_copy(advice->bdf, sizeof(advice->bdf), card->bdf);
	util_copy(advice->name, sizeof(advice->name), card->name);
	advice->slow_fma = card->row && card->row->quirks & SOFTTAPE_Q_SLOW_FMA;
	compat_gpu(card->device, card->row ? card->row->compute : 0, &advice->compat);
	advice->speed_mts = end.speed_mts;
	advice->width = end.width;
	advice->link_mbs = selftest_link_mbs(end.speed_mts, end.width);
	read_shared(result, card, advice);
	for (i = 0; i < nvml->nr; i++)
		if (!strcmp(nvml->card[i].bdf, card->bdf))
			advice->nvml = nvml->card[i];
	advice->memory_mib = advice->nvml.memory_mib ? advice->nvml.memory_mib : row->outcome ? row->outcome->mem_mib : 0;
}

/* Only cards that the driver has: NVML opens the nodes of every card it is asked for. */
static void ask_nvml(const struct result *result, struct nvml *nvml)
{
	size_t i;

	memset(nvml, 0, sizeof(*nvml));
	for (i = 0; i < result->nr && nvml->nr < NVML_CARDS_MAX; i++)
		if (!strcmp(result->row[i].card.driver, "nvidia"))
			util_copy(nvml->card[nvml->nr++].bdf, ADDRESS_MAX, result->row[i].card.bdf);
	if (nvml->nr && nvml_read(nvml, NVML_DEADLINE_MS))
		memset(nvml, 0, sizeof(*nvml));
}

/* "MemTotal:       8052032 kB" */
static unsigned int read_host_mib(void)
{
	char text[256];
	unsigned long long kib = 0;

	if (!host_read("/proc/meminfo", text, sizeof(text)))
		sscanf(text, "MemTotal: %llu", &kib);
	return (unsigned int)(kib >> 10);
}

/* Packages are intel-rapl:N; what has a second colon is a part of one. Constraint 0 is the long-term limit, in microwatts. */
static int take_package(const char *name, void *data)
{
	unsigned long long microwatts = 0;
	unsigned int *cpu_w = data;
	char path[128], text[32];

	if (strncmp(name, "intel-rapl:", 11) || strchr(name + 11, ':'))
		return 0;
	snprintf(path, sizeof(path), POWERCAP "/%s/constraint_0_power_limit_uw", name);
	if (!host_read(path, text, sizeof(text)))
		sscanf(text, "%llu", &microwatts);
	/* Some firmware sets 4095 W, which means no limit. */
	if (microwatts < 1000000000)
		*cpu_w += (unsigned int)(microwatts / 1000000);
	return 0;
}

/* Chassis types of what runs on a battery (SMBIOS 3.6 7.4.1). */
static bool is_laptop(void)
{
	static const unsigned int types[] = { 8, 9, 10, 11, 14, 30, 31, 32 };
	char text[16];
	size_t i;

	if (host_read("/sys/class/dmi/id/chassis_type", text, sizeof(text)))
		return false;
	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (strtoul(text, NULL, 10) == types[i])
			return true;
	return false;
}

static void read_facts(struct doctor *doctor, struct advice_facts *facts, bool *ret_simulated)
{
	const struct result *result = doctor->result;
	const char *license = doctor->facts.license;
	struct nvml *nvml = calloc(1, sizeof(*nvml));
	size_t i;

	*facts = (struct advice_facts){
		.stack = doctor->stack, .compat = doctor->compat, .common = doctor->common, .nr = result->nr,
		.host_mib = read_host_mib(), .laptop = is_laptop(), .card = calloc(result->nr, sizeof(*facts->card)),
	};
	if (!nvml || !facts->card)
		abort();

	facts->branch = (unsigned int)atoi(facts->stack.driver[0] ? facts->stack.driver : doctor->facts.version);
	if (license[0])
		util_copy(facts->flavour, sizeof(facts->flavour), strcmp(license, "Dual MIT/GPL") ? "proprietary" : "open");
	apt_driver_lines(&facts->stack, &facts->compat, facts->install, sizeof(facts->install));
	host_each(POWERCAP, take_package, &facts->cpu_w);
	ask_nvml(result, nvml);
	for (i = 0; i < result->nr; i++)
		read_card(result, &result->row[i], nvml, &facts->card[i]);
	*ret_simulated = nvml->simulated || doctor->facts.simulated;
	free(nvml);
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, text && text[0] ? output_string(text) : NULL);
}

static void add_number(struct json_object *object, const char *key, unsigned int number, bool known)
{
	json_object_object_add(object, key, known ? json_object_new_int64(number) : NULL);
}

static void add_bool(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}

static struct json_object *driver_object(const struct advice_facts *facts)
{
	struct json_object *driver = json_object_new_object();

	add_bool(driver, "possible", facts->common);
	add_number(driver, "branch_min", facts->compat.branch_min, facts->compat.branch_min);
	add_number(driver, "branch_max", facts->compat.branch_max, facts->compat.branch_max);
	add_bool(driver, "proprietary", facts->compat.proprietary);
	add_bool(driver, "open", facts->compat.open);
	add_number(driver, "installed", facts->branch, facts->branch);
	return driver;
}

static struct json_object *power_object(const struct advice_facts *facts)
{
	struct json_object *power = json_object_new_object();
	struct advice_budget budget;

	advice_budget_make(facts, &budget);
	add_number(power, "cards_w", budget.cards_w, true);
	add_number(power, "unknown_cards", budget.unknown, true);
	add_number(power, "host_w", budget.host_w, true);
	add_bool(power, "host_assumed", budget.host_assumed);
	add_number(power, "reserve_percent", ADVICE_RESERVE_PERCENT, true);
	add_number(power, "total_w", budget.total_w, true);
	add_number(power, "supply_w", budget.supply_w, budget.supply_w);
	return power;
}

static struct json_object *items_array(const struct advice_list *list)
{
	struct json_object *items = json_object_new_array();
	size_t i;

	for (i = 0; i < list->nr; i++) {
		const struct advice_item *item = &list->item[i];
		struct json_object *object = json_object_new_object();

		add_text(object, "topic", advice_topic_word(item->topic));
		add_text(object, "state", advice_state_word(item->state));
		add_text(object, "bdf", item->bdf);
		add_text(object, "text", item->text);
		add_text(object, "command", item->command);
		add_text(object, "undo", item->undo);
		add_text(object, "source", item->source);
		json_object_array_add(items, object);
	}

	return items;
}

int advise_run(const struct options *options, struct result *result)
{
	struct advice_facts facts;
	struct advice_list list;
	struct doctor doctor;

	if (options->nr_card)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "advise takes no card, it is about the whole host");

	doctor_look(&doctor, options, result);
	if (!result->nr)
		return 0;

	read_facts(&doctor, &facts, &result->simulated);
	advice_make(&facts, &list);
	result->more = json_object_new_object();
	add_text(result->more, "checked", COMPAT_CHECKED);
	json_object_object_add(result->more, "driver", driver_object(&facts));
	json_object_object_add(result->more, "power", power_object(&facts));
	json_object_object_add(result->more, "items", items_array(&list));
	advice_free(&list);
	free(facts.card);
	return 0;
}

static const char *item_text(struct json_object *item, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(item, key, &value) && value ? json_object_get_string(value) : "";
}

/* Several cards of a kind get the same advice: told once. */
static bool is_repeated(struct json_object *item, struct json_object *last)
{
	return last && item_text(item, "bdf")[0] && !strcmp(item_text(item, "text"), item_text(last, "text"));
}

static void print_item(struct json_object *item, struct json_object *last)
{
	size_t columns = output_columns() && output_columns() < TEXT_COLUMNS ? output_columns() : TEXT_COLUMNS;
	const char *bdf = item_text(item, "bdf"), *blank = bdf[0] ? " " : "";

	if (!last || strcmp(item_text(last, "topic"), item_text(item, "topic")))
		printf("\n%s\n", item_text(item, "topic"));
	printf("  %-8s %s%s", item_text(item, "state"), bdf, blank);
	if (is_repeated(item, last)) {
		puts("the same, with its own address");
		return;
	}

	output_wrapped(stdout, INDENT_COLUMNS, INDENT_COLUMNS + strlen(bdf) + strlen(blank), columns, item_text(item, "text"));
	if (item_text(item, "command")[0])
		printf("%*srun:  %s\n", INDENT_COLUMNS, "", item_text(item, "command"));
	if (item_text(item, "undo")[0])
		printf("%*sundo: %s\n", INDENT_COLUMNS, "", item_text(item, "undo"));
}

void advise_print(const struct options *options, const struct result *result)
{
	struct json_object *items, *last = NULL;
	size_t i;

	(void)options;
	if (!result->more) {
		puts("no NVIDIA GPU\nnext: sudo softtape rescan   (the kernel looks again for cards)");
		return;
	}

	json_object_object_get_ex(result->more, "items", &items);
	printf("%zu NVIDIA GPU%s; tables of %s\n", result->nr, result->nr == 1 ? "" : "s", COMPAT_CHECKED);
	if (result->simulated)
		puts("the driver is simulated, its numbers are not a card's");
	for (i = 0; i < json_object_array_length(items); i++) {
		struct json_object *item = json_object_array_get_idx(items, i);

		print_item(item, last);
		last = item;
	}
}
