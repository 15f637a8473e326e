// SPDX-License-Identifier: GPL-2.0-only
/* Do the module's settings hold? Pure: a card as read in, findings out. */
#include "quirks.h"

#include <string.h>

static const char *state(const struct card *card)
{
	return card->quirk[SOFTTAPE_F_STATE];
}

static bool state_is(const struct card *card, enum softtape_state value)
{
	return !strcmp(state(card), softtape_state_word(value));
}

/**
 * quirks_pending - is the module still at work?
 * @card:	with its quirks read
 */
bool quirks_pending(const struct card *card)
{
	return state_is(card, SOFTTAPE_PENDING);
}

static void note(struct outcome *outcome, enum finding_code code, const struct card *card, const char *evidence)
{
	struct finding finding;

	finding_make(&finding, code, card->bdf, "%s", evidence);
	outcome_add(outcome, &finding);
}

/* The module's report says "aspm=l1(keep)" where the user told it to leave an item alone. */
static bool is_kept(const struct card *card, enum softtape_field field)
{
	char key[CARD_WORD_MAX];
	const char *value;
	size_t len;

	snprintf(key, sizeof(key), " %s=", softtape_field_name(field));
	value = strstr(card->report, key);
	if (!value)
		return false;

	value += strlen(key);
	len = strcspn(value, "( ");
	return !strncmp(value + len, "(keep)", strlen("(keep)"));
}

static bool is_on(enum softtape_value value)
{
	return value != SOFTTAPE_OFF && value != SOFTTAPE_UNSUPPORTED && value != SOFTTAPE_UNKNOWN;
}

static size_t drift_items(const struct card *card, char *buf, size_t size)
{
	size_t len = 0;
	int i;

	/* D3cold is no register. */
	for (i = SOFTTAPE_ASPM; i < SOFTTAPE_D3COLD; i++) {
		enum softtape_field field = SOFTTAPE_F_ASPM + (i - SOFTTAPE_ASPM);
		const char *live = softtape_value_word(card->view.item[i]);

		if (!is_on(card->view.item[i]) || is_kept(card, field) || !strcmp(live, card->quirk[field]) || len >= size)
			continue;
		len += (size_t)snprintf(buf + len, size - len, "%s%s is %s, the module left it %s", len ? "; " : "",
					softtape_field_name(field), live, card->quirk[field]);
	}

	return len;
}

/* "gen1" and "clamped:gen1" promise that the port's target speed is not above. */
static size_t drift_cap(const struct card *card, char *buf, size_t size)
{
	const char *word = strstr(card->quirk[SOFTTAPE_F_CAP], "gen");
	unsigned int cap = word ? (unsigned int)atoi(word + strlen("gen")) : 0;

	if (!cap || !card->view.tls || card->view.tls <= cap)
		return 0;
	return (size_t)snprintf(buf, size, "the port's target speed is gen%u, the module left it gen%u", card->view.tls, cap);
}

static bool judge_drift(const struct card *card, struct outcome *outcome)
{
	char evidence[400];
	size_t len;

	len = drift_items(card, evidence, sizeof(evidence));
	if (!len)
		len = drift_cap(card, evidence, sizeof(evidence));
	if (len)
		note(outcome, FINDING_DRIFTED, card, evidence);
	return len;
}

static bool judge_cap(const struct card *card, struct outcome *outcome)
{
	const char *cap = card->quirk[SOFTTAPE_F_CAP];

	if (strcmp(cap, "lifted") && strncmp(cap, "refused", strlen("refused")))
		return false;

	note(outcome, FINDING_CAP, card, cap);
	return true;
}

static const char *evidence_of(const struct card *card)
{
	return card->report[0] ? card->report : state(card);
}

static enum quirks judge_settled(const struct card *card, struct outcome *outcome)
{
	bool is_short = false;

	if (state_is(card, SOFTTAPE_PARTIAL) || state_is(card, SOFTTAPE_REFUSED)) {
		is_short = true;
		/* A cap that was refused has its own words. */
		if (!judge_cap(card, outcome) || strstr(card->report, "(refused:"))
			note(outcome, FINDING_QUIRKS_REFUSED, card, evidence_of(card));
	} else {
		is_short |= judge_cap(card, outcome);
	}

	is_short |= judge_drift(card, outcome);
	return is_short ? QUIRKS_SHORT : QUIRKS_FINE;
}

/**
 * quirks_judge - compare what the module says, what was asked and what the registers say
 * @card:	with quirks and link read
 * @module_loaded: the kernel module softtape is there
 * @outcome:	gets the findings
 *
 * A card that is in no list is none of the module's business, whatever its link looks like.
 */
enum quirks quirks_judge(const struct card *card, bool module_loaded, struct outcome *outcome)
{
	if (!card->row)
		return QUIRKS_FINE;

	if (!card->claimed) {
		note(outcome, module_loaded ? FINDING_NOT_CLAIMED : FINDING_MODULE_ABSENT, card,
		     module_loaded ? "no folder softtape beside the card in sysfs" : "no folder /sys/module/softtape");
		return QUIRKS_SHORT;
	}

	if (state_is(card, SOFTTAPE_LOST)) {
		note(outcome, FINDING_QUIRKS_LOST, card, evidence_of(card));
		return QUIRKS_LOST;
	}

	if (state_is(card, SOFTTAPE_SKIPPED)) {
		note(outcome, FINDING_QUIRKS_SKIPPED, card, evidence_of(card));
		return QUIRKS_FINE;
	}

	if (state_is(card, SOFTTAPE_DRY_RUN)) {
		note(outcome, FINDING_QUIRKS_DRY_RUN, card, evidence_of(card));
		return QUIRKS_FINE;
	}

	if (quirks_pending(card)) {
		note(outcome, FINDING_QUIRKS_PENDING, card, evidence_of(card));
		return QUIRKS_SHORT;
	}

	return judge_settled(card, outcome);
}
