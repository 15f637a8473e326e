/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be wrong: the one table of codes, causes and remedies, and a list of what was found. */
#ifndef FINDING_H
#define FINDING_H

#include "util.h"

/* X(enumerator, code). The codes are interface; the texts are in finding.c. */
#define FINDINGS(X)						\
	X(FINDING_USAGE,		"usage")		\
	X(FINDING_INPUT,		"input")		\
	X(FINDING_DUMP_DEVICE,		"dump-device")		\
	X(FINDING_DUMP_AGAIN,		"dump-address-again")	\
	X(FINDING_NO_CARD,		"no-card")		\
	X(FINDING_NOT_FOUND,		"card-not-found")	\
	X(FINDING_NOT_NVIDIA,		"card-not-nvidia")	\
	X(FINDING_PERMISSION,		"permission")		\
	X(FINDING_OFF_BUS,		"off-the-bus")		\
	X(FINDING_BAR,			"bar-unassigned")	\
	X(FINDING_NOUVEAU,		"owner-nouveau")	\
	X(FINDING_NVIDIAFB,		"owner-nvidiafb")	\
	X(FINDING_VFIO,			"owner-vfio")		\
	X(FINDING_OWNER,		"owner-other")		\
	X(FINDING_NO_MODULE,		"no-nvidia-module")	\
	X(FINDING_SECURE_BOOT,		"secure-boot")		\
	X(FINDING_BRANCH,		"branch-too-new")	\
	X(FINDING_OPEN,			"open-flavour")		\
	X(FINDING_NOT_LOADED,		"module-not-loaded")	\
	X(FINDING_NOT_BOUND,		"driver-not-bound")	\
	X(FINDING_MODULE_ABSENT,	"softtape-absent")	\
	X(FINDING_NOT_CLAIMED,		"softtape-not-claimed")	\
	X(FINDING_QUIRKS_PENDING,	"quirks-pending")	\
	X(FINDING_QUIRKS_REFUSED,	"quirks-refused")	\
	X(FINDING_QUIRKS_LOST,		"quirks-lost")		\
	X(FINDING_QUIRKS_SKIPPED,	"quirks-skipped")	\
	X(FINDING_QUIRKS_DRY_RUN,	"quirks-dry-run")	\
	X(FINDING_DRIFTED,		"drifted")		\
	X(FINDING_CAP,			"cap-missed")		\
	X(FINDING_BUSY,			"card-busy")		\
	X(FINDING_LOCKED,		"check-running")	\
	X(FINDING_CUDA,			"cuda-not-testable")	\
	X(FINDING_DATA,			"data-fault")		\
	X(FINDING_INJECTED,		"injected-found")	\
	X(FINDING_GPU,			"gpu-fault")		\
	X(FINDING_CRASHED,		"crashed")		\
	X(FINDING_HUNG,			"hung")			\
	X(FINDING_SLOW_COPY,		"slow-copy")		\
	X(FINDING_ALIAS,		"memory-aliased")	\
	X(FINDING_OTHER_CHIP,		"chip-differs")		\
	X(FINDING_UNEVEN_COPY,		"uneven-copy")		\
	X(FINDING_SLOW_MEMORY,		"slow-memory")		\
	X(FINDING_SM_UNSEEN,		"sm-unseen")		\
	X(FINDING_LINK_ERRORS,		"link-errors")		\
	X(FINDING_SHARED_COPY,		"slow-together")	\
	X(FINDING_THROTTLED,		"throttled")		\
	X(FINDING_SLOWER,		"slower-than-before")	\
	X(FINDING_INTERRUPTED,		"interrupted")		\
	X(FINDING_NEEDS_ROOT,		"needs-root")		\
	X(FINDING_NO_STATE,		"no-state")		\
	X(FINDING_CARD_MISSING,		"card-missing")		\
	X(FINDING_INVENTORY,		"inventory-garbled")	\
	X(FINDING_FLAPPING,		"card-flapping")	\
	X(FINDING_CARDS_FEWER,		"cards-fewer")		\
	X(FINDING_NOT_SEEN,		"not-seen")		\
	X(FINDING_HEADERS,		"headers-missing")	\
	X(FINDING_DKMS,			"dkms-not-built")	\
	X(FINDING_SOFTTAPE_REJECTED,	"softtape-rejected")	\
	X(FINDING_MOK,			"key-not-enrolled")	\
	X(FINDING_LOCKDOWN,		"kernel-lockdown")	\
	X(FINDING_STALE,		"module-stale")		\
	X(FINDING_VERSIONS,		"versions-differ")	\
	X(FINDING_INITRAMFS,		"initramfs-stale")	\
	X(FINDING_LATE,			"softtape-late")	\
	X(FINDING_KERNEL,		"kernel-untested")	\
	X(FINDING_HARMLESS,		"harmless-lines")	\
	X(FINDING_BOOT_FILES,		"boot-files-missing")	\
	X(FINDING_BRANCH_OLD,		"branch-too-old")	\
	X(FINDING_MIXED,		"no-common-driver")	\
	X(FINDING_NODES,		"nodes-missing")	\
	X(FINDING_UVM,			"uvm-missing")		\
	X(FINDING_NODES_DENIED,		"nodes-denied")		\
	X(FINDING_MISMATCH,		"driver-mismatch")	\
	X(FINDING_PERSISTENCE,		"persistence-off")	\
	X(FINDING_CUDA_OLD,		"cuda-too-old")		\
	X(FINDING_CUDA_NEW,		"cuda-too-new")		\
	X(FINDING_INIT_FAILED,		"driver-init-failed")	\
	X(FINDING_POWER_CABLE,		"power-cable")		\
	X(FINDING_PROBE_NOT_CALLED,	"probe-not-called")	\
	X(FINDING_WINDOW,		"bridge-window")	\
	X(FINDING_REMOVED_IN_USE,	"removed-in-use")	\
	X(FINDING_D3COLD_STUCK,		"power-state-stuck")	\
	X(FINDING_XID_BUS,		"xid-off-bus")		\
	X(FINDING_XID_MEMORY,		"xid-memory")		\
	X(FINDING_XID_APP,		"xid-program")		\
	X(FINDING_XID,			"xid-card")		\
	X(FINDING_AER_STORM,		"aer-storm")		\
	X(FINDING_AER_SOME,		"aer-some")		\
	X(FINDING_AER_FATAL,		"aer-uncorrected")	\
	X(FINDING_NARROW,		"link-narrow")		\
	X(FINDING_ONE_LANE,		"link-x1")		\
	X(FINDING_PORT_NARROW,		"port-narrow")		\
	X(FINDING_SLOW_LINK,		"link-slow")		\
	X(FINDING_SMALL_LINK,		"link-small")		\
	X(FINDING_POWER_TOOL,		"power-tool")		\
	X(FINDING_ASPM_POLICY,		"aspm-policy")		\
	X(FINDING_D_STATE,		"process-stuck")	\
	X(FINDING_CONTAINER,		"container-no-card")	\
	X(FINDING_DISPLAY,		"display-on-headless")	\
	X(FINDING_HOT,			"card-hot")		\
	X(FINDING_FAN,			"fan-stopped")		\
	X(FINDING_HOST_MEMORY,		"host-memory")		\
	X(FINDING_MASTER,		"bus-master-off")	\
	X(FINDING_STATE_OLD,		"state-too-old")	\
	X(FINDING_TIMEOUT,		"wait-timeout")

enum finding_code {
#define X(id, code) id,
	FINDINGS(X)
#undef X
	FINDING_NR,
};

enum finding_severity { FINDING_INFO, FINDING_WARNING, FINDING_ERROR };

enum finding_language { FINDING_ENGLISH, FINDING_CHINESE };

/* The words of a row in one language. */
struct finding_text {
	const char *title;
	const char *cause;
	const char *remedy;
};

/**
 * struct finding_info - one row of the table
 * @severity:	how much it matters
 * @action:	one word of the small list of actions
 * @title:	what is the case, one line without a full stop
 * @cause:	why that is so and what follows from it
 * @remedy:	what to do, in words
 * @command:	what to type; {bdf}, {kernel} and {driver} are replaced; empty when there is nothing to type
 * @zh:		title, cause and remedy in Chinese
 */
struct finding_info {
	enum finding_severity severity;
	const char *action;
	const char *title;
	const char *cause;
	const char *remedy;
	const char *command;
	struct finding_text zh;
};

/**
 * struct finding - one thing found
 * @code:	row of the table
 * @bdf:	card it is about, empty = none
 * @word:	code to print where the row stands for a family (causes of the self-test); empty = the row's own
 * @driver:	driver that {driver} in the command stands for; empty = none
 * @evidence:	what was seen
 * @command:	what to type on this machine, instead of the row's; empty = the row's
 */
struct finding {
	enum finding_code code;
	char bdf[ADDRESS_MAX];
	char word[32];
	char driver[32];
	char evidence[512];
	char command[768];
};

/* A growing list; owned by whoever declared it. */
struct finding_list {
	struct finding *item;
	size_t nr;
	size_t room;
};

const struct finding_info *finding_info(enum finding_code code);
const char *finding_word(const struct finding *finding);
bool finding_find(const char *word, enum finding_code *ret_code);
struct finding_text finding_text(enum finding_code code, enum finding_language language);
const char *finding_cause_zh(const char *word);
void finding_message_id(const char *word, char *buf, size_t size);
const char *finding_severity_word(enum finding_severity severity);
void finding_command(const struct finding *finding, char *buf, size_t size);
void finding_template(enum finding_code code, char *buf, size_t size);
void finding_make(struct finding *ret_finding, enum finding_code code, const char *bdf, const char *format, ...)
	PRINTF_LIKE(4, 5);
void finding_add(struct finding_list *list, enum finding_code code, const char *bdf, const char *format, ...)
	PRINTF_LIKE(4, 5);
void finding_add_command(struct finding_list *list, enum finding_code code, const char *bdf, const char *command,
			 const char *format, ...) PRINTF_LIKE(5, 6);
void finding_append(struct finding_list *list, const struct finding *finding);
void finding_free(struct finding_list *list);

#endif
