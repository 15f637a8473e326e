// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of the kernel log: each line is matched by fragments of what kernel and driver print (nvidia 470 to 595, Linux
 * 5.10 to 7.3), counted by card, and told once.
 */
#include <errno.h>
#include <string.h>

#include "doctor.h"
#include "kevent.h"
#include "klog.h"

/* More damaged packets than this in one boot's log are no accident (an estimate). */
#define AER_LINES	10

/**
 * struct tally - one thing said of one card
 * @code:	which
 * @bdf:	card, empty = not told
 * @count:	how often
 * @xids:	numbers seen, as "79, 31, "
 * @last:	the last line
 */
struct tally {
	enum finding_code code;
	char bdf[ADDRESS_MAX];
	unsigned int count;
	char xids[64];
	char last[256];
};

struct log_walk {
	struct doctor *doctor;
	struct tally *tally;
	size_t nr;
	size_t room;
	enum finding_code waiting;
	bool waits;
};

/* Lines that name what is wrong by themselves. */
static const struct {
	const char *fragment;
	enum finding_code code;
} messages[] = {
	{ "does not have the necessary power cables", FINDING_POWER_CABLE },
	{ "RmInitAdapter failed!", FINDING_INIT_FAILED },
	{ "probe routine was not called for", FINDING_PROBE_NOT_CALLED },
	{ "64-bit BAR mapped above", FINDING_WINDOW },
	{ "non-zero usage count", FINDING_REMOVED_IN_USE },
	{ "power state from D3cold to D0", FINDING_D3COLD_STUCK },
	{ "fallen off the bus", FINDING_XID_BUS },
	{ "Out of memory: Killed process", FINDING_HOST_MEMORY },
	{ "softtape: loading out-of-tree module taints kernel", FINDING_HARMLESS },
	{ "softtape: module verification failed", FINDING_HARMLESS },
};

/* The listed card that a line is about: its own address, or its port's. NULL = somebody else's. */
static const struct card *card_of(const struct doctor *doctor, const char *bdf)
{
	size_t i;

	for (i = 0; i < doctor->result->nr; i++) {
		const struct card *card = &doctor->result->row[i].card;

		if (card->row && (!strcmp(card->bdf, bdf) || !strcmp(card->port, bdf)))
			return card;
	}

	return NULL;
}

static bool is_remembered(const struct doctor *doctor, const char *bdf)
{
	size_t i;

	for (i = 0; i < doctor->inventory.nr; i++)
		if (!strcmp(doctor->inventory.item[i].bdf, bdf))
			return true;
	return false;
}

static struct tally *count(struct log_walk *walk, enum finding_code code, const char *bdf, const char *line)
{
	struct tally *tally;
	size_t i;

	for (i = 0; i < walk->nr; i++)
		if (walk->tally[i].code == code && !strcmp(walk->tally[i].bdf, bdf))
			break;
	if (i == walk->nr) {
		walk->tally = util_grow(walk->tally, walk->nr, &walk->room, sizeof(*walk->tally));
		memset(&walk->tally[walk->nr++], 0, sizeof(*walk->tally));
	}

	tally = &walk->tally[i];
	tally->code = code;
	util_copy(tally->bdf, sizeof(tally->bdf), bdf);
	tally->count++;
	util_copy(tally->last, sizeof(tally->last), line);
	return tally;
}

static void take_event(struct log_walk *walk, const struct kevent *event, const char *line, const char *bdf)
{
	struct tally *tally = count(walk, event->code, bdf, line);
	size_t len = strlen(tally->xids);
	char number[16];
	const char *seen;

	if (event->kind != KEVENT_XID)
		return;
	snprintf(number, sizeof(number), "%d, ", event->xid);
	/* 6 is not in "62, 16, ". */
	seen = strstr(tally->xids, number);
	while (seen && seen > tally->xids && seen[-1] != ' ')
		seen = strstr(seen + 1, number);
	if (!seen && len + strlen(number) < sizeof(tally->xids))
		util_copy(tally->xids + len, sizeof(tally->xids) - len, number);
}

static void take_line(const char *line, void *data)
{
	struct log_walk *walk = data;
	char bdf[ADDRESS_MAX];
	const struct card *card;
	struct kevent event;
	size_t i;

	kevent_address(line, bdf, sizeof(bdf));
	card = card_of(walk->doctor, bdf);
	/* Other devices have their own troubles; a card that is gone is known by the inventory or by its driver's words. */
	if (bdf[0] && !card && !is_remembered(walk->doctor, bdf) && !strstr(line, "NVRM"))
		return;
	if (card)
		util_copy(bdf, sizeof(bdf), card->bdf);

	/* "This PCI I/O region assigned to your NVIDIA device is invalid:", the address comes with the next line. */
	if (walk->waits && bdf[0]) {
		count(walk, walk->waiting, bdf, line);
		walk->waits = false;
		return;
	}
	if (strstr(line, "region assigned to your NVIDIA device is invalid")) {
		walk->waiting = FINDING_BAR;
		walk->waits = true;
		return;
	}

	if (kevent_parse(line, &event)) {
		take_event(walk, &event, line, bdf);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(messages); i++)
		if (strstr(line, messages[i].fragment)) {
			count(walk, messages[i].code, bdf, line);
			return;
		}
}

static bool has_finding(const struct finding_list *findings, enum finding_code code, const char *bdf)
{
	size_t i;

	for (i = 0; i < findings->nr; i++)
		if (findings->item[i].code == code && !strcmp(findings->item[i].bdf, bdf))
			return true;
	return false;
}

static void tell(struct doctor *doctor, const struct tally *tally)
{
	struct finding_list *findings = &doctor->result->findings;
	enum finding_code code = tally->code;
	char times[32];

	if (code == FINDING_AER_STORM && tally->count < AER_LINES)
		code = FINDING_AER_SOME;
	/* The counters have said so already, more exactly; and who owns the card explains why the driver was not asked. */
	if (has_finding(findings, code, tally->bdf) ||
	    (code == FINDING_AER_SOME && has_finding(findings, FINDING_AER_STORM, tally->bdf)))
		return;

	snprintf(times, sizeof(times), tally->count == 1 ? "once" : "%u times; last", tally->count);
	finding_add(findings, code, tally->bdf, "%s%s%s: %s", tally->xids[0] ? "Xid " : "", tally->xids, times, tally->last);
}

/**
 * doctor_log - what the kernel log says of the cards
 * @doctor:	the look
 */
void doctor_log(struct doctor *doctor)
{
	struct log_walk walk = { .doctor = doctor };
	int ret = klog_each(take_line, &walk);
	size_t i;

	if (ret)
		doctor_unseen(doctor, "the kernel log (%s)", strerror(-ret));
	for (i = 0; i < walk.nr; i++)
		tell(doctor, &walk.tally[i]);
	free(walk.tally);
}
