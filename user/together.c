// SPDX-License-Identifier: GPL-2.0-only
/* Cards that share an uplink: who they are, and what their copying at once came to. Pure. */
#include "together.h"

#include <string.h>

#include "diagnose.h"

/* The first address in a card's path in sysfs that is not the card's own: the root port. Empty when there is none. */
static void root_port(const struct card *card, char *buf, size_t size)
{
	char path[CARD_PATH_MAX], *part, *save = NULL;
	struct address address;

	buf[0] = '\0';
	util_copy(path, sizeof(path), card->syspath);
	for (part = strtok_r(path, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		if (address_parse(part, &address) || !strcmp(part, card->bdf))
			continue;
		util_copy(buf, size, part);
		return;
	}
}

/* Only a card that can be tested and computes correctly: others have their verdict, and may disturb. */
static bool may_copy(const struct job *job)
{
	const struct outcome *outcome = &job->outcome;

	return outcome->tested && !job->inject && outcome->run == RUN_DONE &&
	       (outcome->verdict == VERDICT_PASS || outcome->verdict == VERDICT_DEGRADED);
}

/* Is this a card to copy together with others below @port? */
bool together_is_under(const struct job *job, const char *port)
{
	char own[ADDRESS_MAX];

	root_port(&job->card, own, sizeof(own));
	return own[0] && !strcmp(own, port) && may_copy(job);
}

/**
 * together_find - a root port that several of the checked cards share
 * @jobs:	checked
 * @nr:		their number
 * @from:	the first of its cards is this one
 * @ret_port:	filled with its address
 * @size:	bytes in @ret_port
 *
 * Return: whether @from is the first of several below its port.
 */
bool together_find(struct job *jobs, size_t nr, size_t from, char *ret_port, size_t size)
{
	unsigned int others = 0;
	size_t i;

	root_port(&jobs[from].card, ret_port, size);
	if (!together_is_under(&jobs[from], ret_port))
		return false;
	for (i = 0; i < nr; i++) {
		if (i == from || !together_is_under(&jobs[i], ret_port))
			continue;
		if (i < from)
			return false;
		others++;
	}
	return others > 0;
}

/**
 * together_judge - what the cards below a port reached at once
 * @jobs:	of all cards
 * @nr:		their number
 * @port:	root port
 * @carries_mbs: what its link carries, 0 = not known
 *
 * Fills the uplink of each card that copied. Together below half of what the uplink carries, or of what they reach one by
 * one if that is less, they are degraded.
 */
void together_judge(struct job *jobs, size_t nr, const char *port, unsigned int carries_mbs)
{
	struct uplink uplink = { .carries_mbs = carries_mbs };
	struct finding finding;
	size_t i;

	util_copy(uplink.port, sizeof(uplink.port), port);
	for (i = 0; i < nr; i++) {
		const struct selftest_result *test = &jobs[i].outcome.test;

		if (!together_is_under(&jobs[i], port) || !test->together_mbs)
			continue;
		uplink.cards++;
		uplink.alone_mbs += test->h2d_mbs;
		uplink.together_mbs += test->together_mbs;
	}

	for (i = 0; i < nr && uplink.cards > 1; i++) {
		struct outcome *outcome = &jobs[i].outcome;

		if (!together_is_under(&jobs[i], port) || !outcome->test.together_mbs)
			continue;
		outcome->uplink = uplink;
		if (!diagnose_uplink(&uplink))
			continue;
		finding_make(&finding, FINDING_SHARED_COPY, jobs[i].card.bdf,
			     "%u cards below %s: %u MB/s at once, %u one by one, the uplink carries %u", uplink.cards, port,
			     uplink.together_mbs, uplink.alone_mbs, uplink.carries_mbs);
		outcome_add(outcome, &finding);
		outcome->verdict = verdict_worse(outcome->verdict, VERDICT_DEGRADED);
	}
}
