// SPDX-License-Identifier: GPL-2.0-only
/* Why has the nvidia driver not taken a card? The decision; pure. */
#include "bind.h"

#include <string.h>

/* 580 is the last branch for cards before Turing; 590 ignores them [NixOS/nixos-hardware issue 1880]. */
#define BRANCH_WITHOUT_PASCAL	590
#define COMPUTE_TURING		75

static enum bind never(enum finding_code code, const char *bdf, const char *evidence, struct finding *ret_finding)
{
	finding_make(ret_finding, code, bdf, "%s", evidence);
	return BIND_NEVER;
}

static enum bind decide_owner(const struct bind_facts *facts, const char *bdf, struct finding *ret_finding)
{
	enum finding_code code = FINDING_OWNER;
	char evidence[CARD_WORD_MAX + 32];

	if (!strcmp(facts->driver, "nouveau"))
		code = FINDING_NOUVEAU;
	else if (!strcmp(facts->driver, "nvidiafb"))
		code = FINDING_NVIDIAFB;
	else if (!strncmp(facts->driver, "vfio", 4) || !strcmp(facts->driver, "pci-stub"))
		code = FINDING_VFIO;

	snprintf(evidence, sizeof(evidence), "bound to %s", facts->driver);
	never(code, bdf, evidence, ret_finding);
	util_copy(ret_finding->driver, sizeof(ret_finding->driver), facts->driver);
	return BIND_NEVER;
}

static bool is_before_turing(const struct bind_facts *facts)
{
	return facts->compute && facts->compute < COMPUTE_TURING;
}

/* The proprietary flavour says "NVIDIA" (open-gpu-kernel-modules kernel-open/nvidia/nv.c for the open one). */
static bool is_open(const struct bind_facts *facts)
{
	return !strcmp(facts->license, "Dual MIT/GPL");
}

static bool decide_flavour(const struct bind_facts *facts, const char *bdf, struct finding *ret_finding)
{
	char evidence[512];

	if (facts->log_ignored[0] || (is_before_turing(facts) && atoi(facts->version) >= BRANCH_WITHOUT_PASCAL)) {
		snprintf(evidence, sizeof(evidence), "driver %s%s%s", facts->version[0] ? facts->version : "of unknown version",
			 facts->log_ignored[0] ? "; kernel log: " : "", facts->log_ignored);
		never(FINDING_BRANCH, bdf, evidence, ret_finding);
		return true;
	}

	if (facts->log_open[0] || (is_before_turing(facts) && is_open(facts))) {
		snprintf(evidence, sizeof(evidence), "module license '%s'%s%s", facts->license,
			 facts->log_open[0] ? "; kernel log: " : "", facts->log_open);
		never(FINDING_OPEN, bdf, evidence, ret_finding);
		return true;
	}

	return false;
}

static enum bind decide_late(const struct bind_facts *facts, const char *bdf, struct finding *ret_finding)
{
	if (facts->loaded)
		return never(FINDING_NOT_BOUND, bdf, facts->log_last[0] ? facts->log_last :
			     "nothing in the kernel log about this card", ret_finding);
	if (facts->secure_boot && facts->lockdown)
		return never(FINDING_SECURE_BOOT, bdf, "Secure Boot is on, the kernel is locked down, nvidia is not loaded",
			     ret_finding);
	return never(FINDING_NOT_LOADED, bdf, facts->module, ret_finding);
}

/**
 * bind_no_space - say which BARs got no address
 * @facts:	with at least one such BAR
 * @bdf:	the card's address
 * @ret_finding: filled
 */
void bind_no_space(const struct bind_facts *facts, const char *bdf, struct finding *ret_finding)
{
	finding_make(ret_finding, FINDING_BAR, bdf, "no address for %s%s%s", facts->bar,
		     facts->log_bar[0] ? "; kernel log: " : "", facts->log_bar);
}

/**
 * bind_decide - is the driver there, may it come, or why not?
 * @facts:	what was seen just now
 * @waited:	the waiting time is over
 * @bdf:	the card's address
 * @ret_finding: filled with BIND_NEVER
 */
enum bind bind_decide(const struct bind_facts *facts, bool waited, const char *bdf, struct finding *ret_finding)
{
	if (facts->gone)
		return never(FINDING_OFF_BUS, bdf, "config space reads all ones", ret_finding);
	if (!strcmp(facts->driver, "nvidia"))
		return BIND_READY;
	if (facts->driver[0])
		return decide_owner(facts, bdf, ret_finding);
	/* A card is announced before it gets its addresses (drivers/pci/probe.c:pci_device_add, then setup-bus.c). */
	if (facts->bar[0] && facts->enumerating)
		return BIND_WAIT;
	if (facts->bar[0]) {
		bind_no_space(facts, bdf, ret_finding);
		return BIND_NEVER;
	}
	if (!facts->loaded && !facts->installed)
		return never(FINDING_NO_MODULE, bdf, "no nvidia module that takes this card is installed for the running kernel", ret_finding);
	if (decide_flavour(facts, bdf, ret_finding))
		return BIND_NEVER;
	if (!facts->loaded && facts->log_rejected[0])
		return never(FINDING_SECURE_BOOT, bdf, facts->log_rejected, ret_finding);
	return waited ? decide_late(facts, bdf, ret_finding) : BIND_WAIT;
}
