// SPDX-License-Identifier: GPL-2.0-only
/* Checks of the host around the cards: are all there, who is stuck, what is hot, where does the display go. */
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <time.h>

#include "doctor.h"
#include "nvml.h"
#include "state.h"

#define NVML_MS		5000
#define FILE_MAX_BYTES	(256 * 1024)
/* A card that slows itself down later than this is not known; used where NVML does not tell (an estimate). */
#define SLOW_CELSIUS	95
/* Below this no fan needs to turn. */
#define WARM_CELSIUS	70
/* A person does not take a card out so often in so many seconds (an estimate). */
#define FLAPPING_TIMES	3
#define FLAPPING_S	3600

static void check_presence(struct doctor *doctor)
{
	struct finding_list *findings = &doctor->result->findings;
	int expect = doctor->options->expect >= 0 ? doctor->options->expect : doctor->settings.expected_cards;
	struct card_list present = { 0 };
	char path[HOST_PATH_MAX + 16];
	struct inventory missing;
	size_t i, listed = 0;

	for (i = 0; i < doctor->result->nr; i++)
		listed += !!doctor->result->row[i].card.row;
	if (expect >= 0 && listed < (size_t)expect)
		finding_add(findings, FINDING_CARDS_FEWER, NULL, "%zu of %d cards", listed, expect);

	if (doctor->inventory.bad_line) {
		inventory_path(path, sizeof(path));
		finding_add(findings, FINDING_INVENTORY, NULL, "%s:%u", path, doctor->inventory.bad_line);
	}
	if (!card_discover(&doctor->result->policy, false, &present)) {
		inventory_missing(&doctor->inventory, &present, &missing);
		for (i = 0; i < missing.nr; i++)
			finding_add(findings, FINDING_CARD_MISSING, missing.item[i].bdf, "%s [10de:%04x] was at %s",
				    missing.item[i].name, missing.item[i].device, missing.item[i].bdf);
		card_list_free(&present);
	}
	if (!listed && !doctor->result->nr)
		finding_add(findings, FINDING_NO_CARD, NULL, "the kernel sees no NVIDIA GPU at all");
	else if (!listed)
		finding_add(findings, FINDING_NO_CARD, NULL, "the kernel sees %zu NVIDIA GPU%s that softtape leaves alone", doctor->result->nr,
			    doctor->result->nr == 1 ? "" : "s");
}

/**
 * struct leavings - how often a card left within FLAPPING_S
 * @bdf:	the card
 * @count:	how often
 * @first:	when first, seconds since the epoch
 * @last:	when last
 */
struct leavings {
	char bdf[ADDRESS_MAX];
	unsigned int count;
	long long first;
	long long last;
};

struct leavings_walk {
	long long now;
	struct leavings card[64];
	size_t nr;
};

static void take_unplug(const char *bdf, long long when, void *data)
{
	struct leavings_walk *walk = data;
	struct leavings *card;
	size_t i = 0;

	if (when > walk->now || walk->now - when > FLAPPING_S)
		return;
	while (i < walk->nr && strcmp(walk->card[i].bdf, bdf))
		i++;
	if (i == ARRAY_SIZE(walk->card))
		return;

	card = &walk->card[i];
	if (i == walk->nr) {
		walk->nr++;
		util_copy(card->bdf, sizeof(card->bdf), bdf);
		card->first = when;
	}
	card->count++;
	card->last = when;
}

static void check_flapping(struct doctor *doctor)
{
	struct leavings_walk walk = { .now = time(NULL) };
	size_t i;

	state_each_unplug(take_unplug, &walk);
	for (i = 0; i < walk.nr; i++)
		if (walk.card[i].count >= FLAPPING_TIMES)
			finding_add(&doctor->result->findings, FINDING_FLAPPING, walk.card[i].bdf,
				    "left %u times in %lld minutes, the last time %lld minutes ago", walk.card[i].count,
				    (walk.card[i].last - walk.card[i].first + 60) / 60, (walk.now - walk.card[i].last) / 60);
}

/* Functions of the driver in which processes have been seen to wait; the kernel's own are not the card's fault. */
static bool is_drivers(const char *wchan)
{
	static const char *const starts[] = { "nv", "_nv", "os_acquire", "uvm", "rm_", "pci_wait" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(starts); i++)
		if (!strncmp(wchan, starts[i], strlen(starts[i])))
			return true;
	return false;
}

static int take_process(const char *pid, void *data)
{
	struct doctor *doctor = data;
	char path[128], text[1024], wchan[128] = "", *state;

	if (!isdigit((unsigned char)pid[0]))
		return 0;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	state = host_read(path, text, sizeof(text)) ? NULL : strrchr(text, ')');
	if (!state || strncmp(state, ") D", 3))
		return 0;

	snprintf(path, sizeof(path), "/proc/%s/wchan", pid);
	host_read(path, wchan, sizeof(wchan));
	*state = '\0';
	if (is_drivers(wchan))
		finding_add(&doctor->result->findings, FINDING_D_STATE, NULL, "%s (pid %s) waits in %s",
			    strchr(text, '(') ? strchr(text, '(') + 1 : "", pid, wchan);
	return 0;
}

static const struct card *card_at(const struct doctor *doctor, unsigned int bus, unsigned int slot,
				  unsigned int function)
{
	size_t i;

	for (i = 0; i < doctor->result->nr; i++) {
		const struct card *card = &doctor->result->row[i].card;

		if (card->row && card->address.bus == bus && card->address.slot == slot &&
		    card->address.function == function)
			return card;
	}

	return NULL;
}

static bool has_other_nvidia(const struct doctor *doctor)
{
	size_t i;

	for (i = 0; i < doctor->result->nr; i++)
		if (!doctor->result->row[i].card.row)
			return true;
	return false;
}

/* Xorg's address is decimal: BusID "PCI:1:0:0" (xorg.conf(5)). */
static void check_xorg(struct doctor *doctor, const char *path)
{
	char *text CLEANUP_FREE = host_read_all(path, FILE_MAX_BYTES), *line, *rest = text, command[512];
	unsigned int bus, slot, function;
	const struct card *card = NULL;
	bool nvidia = false, address = false;

	while (rest && (line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t");
		if (!strncasecmp(line, "Driver", 6))
			nvidia |= strstr(line, "\"nvidia\"") != NULL;
		if (strncasecmp(line, "BusID", 5) || !strstr(line, "PCI:") ||
		    sscanf(strstr(line, "PCI:"), "PCI:%u:%u:%u", &bus, &slot, &function) != 3)
			continue;
		address = true;
		card = card ? card : card_at(doctor, bus, slot, function);
	}

	if (!nvidia || (address && !card) || (!address && has_other_nvidia(doctor)))
		return;

	snprintf(command, sizeof(command), "sudo mv %s %s.off && sudo reboot", path, path);
	finding_add_command(&doctor->result->findings, FINDING_DISPLAY, card ? card->bdf : NULL, command,
			    "%s sets the display up on %s", path,
			    card ? "this card" : "the nvidia driver, which has no card with outputs");
}

static void check_display(struct doctor *doctor)
{
	char full[HOST_PATH_MAX];
	size_t i, listed = 0;
	glob_t found;

	for (i = 0; i < doctor->result->nr; i++)
		listed += !!doctor->result->row[i].card.row;
	if (!listed)
		return;

	check_xorg(doctor, "/etc/X11/xorg.conf");
	host_path("/etc/X11/xorg.conf.d/*.conf", full, sizeof(full));
	if (glob(full, 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++)
		check_xorg(doctor, found.gl_pathv[i] + strlen(host_root()));
	globfree(&found);
}

static void judge_heat(struct doctor *doctor, const struct nvml_card *card, bool simulated)
{
	unsigned int limit = card->slow_celsius ? card->slow_celsius : SLOW_CELSIUS;
	const char *said = simulated ? " (simulated)" : "";

	if (!card->known || !card->celsius)
		return;
	if (card->has_fan && !card->fan_percent && card->celsius >= WARM_CELSIUS)
		finding_add(&doctor->result->findings, FINDING_FAN, card->bdf, "%u C, fan at 0 %%%s", card->celsius,
			    said);
	/* Five degrees are what a room changes from night to day. */
	if (card->celsius + 5 >= limit)
		finding_add(&doctor->result->findings, FINDING_HOT, card->bdf, "%u C, it slows down at %u C%s",
			    card->celsius, limit, said);
}

static void check_heat(struct doctor *doctor)
{
	struct nvml nvml = { .nr = 0 };
	size_t i;
	int ret;

	for (i = 0; i < doctor->result->nr && nvml.nr < NVML_CARDS_MAX; i++)
		if (!strcmp(doctor->result->row[i].card.driver, "nvidia"))
			util_copy(nvml.card[nvml.nr++].bdf, ADDRESS_MAX, doctor->result->row[i].card.bdf);
	if (!nvml.nr)
		return;

	ret = nvml_read(&nvml, NVML_MS);
	if (ret) {
		doctor_unseen(doctor, "temperatures and fans (NVML: %s)",
			      ret == -ETIMEDOUT ? "no answer" : "not usable");
		return;
	}
	for (i = 0; i < nvml.nr; i++)
		judge_heat(doctor, &nvml.card[i], nvml.simulated);
}

/**
 * doctor_host - the host around the cards
 * @doctor:	the look
 */
void doctor_host(struct doctor *doctor)
{
	result_fact(doctor->result, "system", "%s%s", doctor->stack.pretty[0] ? doctor->stack.pretty : "unknown",
		    stack_is_container() ? ", in a container" : "");
	check_presence(doctor);
	check_flapping(doctor);
	host_each("/proc", take_process, doctor);
	check_display(doctor);
	check_heat(doctor);
}
