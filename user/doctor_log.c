// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of the kernel log: each line is matched by fragments of what kernel and driver print (nvidia 470 to 595, Linux
 * 5.10 to 7.3), counted by card, and told once.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "doctor.h"
#include "klog.h"

/* More damaged packets than this in one boot's log are no accident (an estimate). */
#define AER_LINES	10

/**
 * struct tally - one thing said of one card
 * @code:	which
 * @bdf:	card, empty = not told
 * @count:	how often
 * @xids:	numbers seen, as "79, 31"
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
};

/* The first address in a line: "0000:01:00.0", or NVRM's "PCI:0000:01:00" without a function. */
static void address_of(const char *line, char *buf, size_t size)
{
	struct address address;
	char text[ADDRESS_MAX];
	const char *c;
	size_t len;

	buf[0] = '\0';
	for (c = line; *c; c++) {
		if (!isxdigit((unsigned char)*c) || (c > line && (isalnum((unsigned char)c[-1]) || c[-1] == '.')))
			continue;
		len = strspn(c, "0123456789abcdefABCDEF:");
		/* dddd:bb:dd, as much as an address has at least without its function. */
		if (len < strlen("dddd:bb:dd") || len > strlen("dddddddd:bb:dd"))
			continue;
		if (c[len] == '.' && address_parse_prefix(c, &address)) {
			address_format(&address, buf, size);
			return;
		}
		snprintf(text, sizeof(text), "%.*s.0", (int)len, c);
		if (c[len] != '.' && !address_parse(text, &address)) {
			address_format(&address, buf, size);
			return;
		}
	}
}

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

/* By what NVIDIA's list of Xid numbers says of the cause; which of them are a program's: its Kubernetes device plugin. */
static enum finding_code xid_code(int xid)
{
	switch (xid) {
	case 79:
		return FINDING_XID_BUS;
	case 48: case 63: case 64: case 92: case 94: case 95:
		return FINDING_XID_MEMORY;
	case 13: case 31: case 43: case 45: case 68: case 109:
		return FINDING_XID_APP;
	default:
		return FINDING_XID;
	}
}

/* "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, GPU has fallen off the bus." */
static bool take_xid(struct log_walk *walk, const char *line, const char *bdf)
{
	const char *xid = strstr(line, "Xid (");
	char number[16];
	struct tally *tally;
	size_t len;

	xid = xid ? strstr(xid, "): ") : NULL;
	if (!xid)
		return false;

	snprintf(number, sizeof(number), "%d", atoi(xid + 3));
	tally = count(walk, xid_code(atoi(number)), bdf, line);
	len = strlen(tally->xids);
	if (!strstr(tally->xids, number) && len + strlen(number) + 3 < sizeof(tally->xids))
		snprintf(tally->xids + len, sizeof(tally->xids) - len, "%s%s", len ? ", " : "", number);
	return true;
}

/* drivers/pci/pcie/aer.c:aer_print_error */
static bool take_aer(struct log_walk *walk, const char *line, const char *bdf)
{
	if (!strstr(line, "PCIe Bus Error: severity="))
		return false;

	count(walk, strstr(line, "severity=Corrected") ? FINDING_AER_STORM : FINDING_AER_FATAL, bdf, line);
	return true;
}

static void take_line(const char *line, void *data)
{
	struct log_walk *walk = data;
	char bdf[ADDRESS_MAX];
	const struct card *card;
	size_t i;

	address_of(line, bdf, sizeof(bdf));
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

	if (take_xid(walk, line, bdf) || take_aer(walk, line, bdf))
		return;
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

	if (code == FINDING_AER_STORM && tally->count < AER_LINES)
		code = FINDING_AER_SOME;
	/* The counters have said so already, more exactly; and who owns the card explains why the driver was not asked. */
	if (has_finding(findings, code, tally->bdf) || (code == FINDING_AER_SOME && has_finding(findings, FINDING_AER_STORM, tally->bdf)))
		return;

	finding_add(findings, code, tally->bdf, "%s%s%s%u times; last: %s", tally->xids[0] ? "Xid " : "", tally->xids,
		    tally->xids[0] ? ", " : "", tally->count, tally->last);
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
