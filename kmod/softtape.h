/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pure core of softtape: plain values that pass between match, observe, plan and report. Compiled unchanged into
 * the kernel module and into the helper; knows no struct pci_dev, no I/O and no clock.
 */
#ifndef SOFTTAPE_H
#define SOFTTAPE_H

#include <linux/types.h>
#include <linux/pci_regs.h>
#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/string.h>
#else
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#endif

#define SOFTTAPE_VENDOR_NVIDIA	0x10de
#define SOFTTAPE_CLASS_DISPLAY	0x03	/* base class, PCI Code and ID Assignment 1.4 */

/* A PCI device has at most eight functions (PCI LB 3.0 3.2.2.3.4). */
#define SOFTTAPE_FUNCTIONS_MAX	8

/* FMA runs far below mul+add by the maker's choice: never a fault. */
#define SOFTTAPE_Q_SLOW_FMA	(1u << 0)

/**
 * struct softtape_card - one row of card_list.h
 * @device:	PCI device id; 0 in the row for cards of the ids parameter
 * @name:	product name as printed
 * @compute:	CUDA compute capability, major * 10 + minor; 0 = not known
 * @quirks:	SOFTTAPE_Q_*
 */
struct softtape_card {
	__u16 device;
	const char *name;
	__u8 compute;
	__u32 quirks;
};

/**
 * enum softtape_value - a word of the log line
 * @SOFTTAPE_OFF:	not enabled on either end
 * @SOFTTAPE_L0S:	ASPM only: L0s enabled on at least one end
 * @SOFTTAPE_L1:	ASPM only: L1 enabled on at least one end
 * @SOFTTAPE_L0S_L1:	ASPM only: both
 * @SOFTTAPE_ON:	Clock PM, L1 substates, D3cold: enabled on at least one function or end
 * @SOFTTAPE_UNSUPPORTED: not enabled, and the hardware cannot enable it
 * @SOFTTAPE_UNKNOWN:	not read
 *
 * The first four equal the ASPM Control field (PCIe r6.0 7.5.3.7).
 */
enum softtape_value {
	SOFTTAPE_OFF,
	SOFTTAPE_L0S,
	SOFTTAPE_L1,
	SOFTTAPE_L0S_L1,
	SOFTTAPE_ON,
	SOFTTAPE_UNSUPPORTED,
	SOFTTAPE_UNKNOWN,
};

/* What a step changes and a report names, in the order of the log line. */
enum softtape_item {
	SOFTTAPE_ASPM,
	SOFTTAPE_CLKPM,
	SOFTTAPE_L1SS,
	SOFTTAPE_D3COLD,
	SOFTTAPE_NR_ITEMS,
	SOFTTAPE_CAP = SOFTTAPE_NR_ITEMS,
	SOFTTAPE_STEPS_MAX,
};

/* Module parameters aspm, d3cold, smbus; first value of each is the default. */
enum softtape_aspm_policy { SOFTTAPE_ASPM_OFF, SOFTTAPE_ASPM_KEEP, SOFTTAPE_ASPM_FORCE };
enum softtape_d3cold_policy { SOFTTAPE_D3COLD_OFF, SOFTTAPE_D3COLD_KEEP };
enum softtape_smbus_policy { SOFTTAPE_SMBUS_AWAKE, SOFTTAPE_SMBUS_HOLD, SOFTTAPE_SMBUS_OFF };

#define SOFTTAPE_IDS_MAX	32
#define SOFTTAPE_SKIP_MAX	32

/**
 * struct softtape_address - where a PCI function sits
 * @domain:	PCI domain (segment), 32 bits as some drivers use more than 16
 * @bus:	bus number
 * @slot:	device number, 0-31; the function number is of no interest
 */
struct softtape_address {
	__u32 domain;
	__u8 bus;
	__u8 slot;
};

/**
 * struct softtape_policy - the module parameters as one value
 * @aspm:	what to do with ASPM, Clock PM and L1 substates
 * @speed:	cap on the port's Target Link Speed, 1-4 (gen1-gen4); 0 = keep
 * @d3cold:	whether D3cold is forbidden
 * @smbus:	what to do beside SMBus controllers
 * @dry_run:	plan and report only
 * @ids:	device ids of vendor 10de to treat as cards too
 * @nr_ids:	valid entries in @ids
 * @skip:	slots to leave alone
 * @nr_skip:	valid entries in @skip
 *
 * All zero is the default policy.
 */
struct softtape_policy {
	enum softtape_aspm_policy aspm;
	__u8 speed;
	enum softtape_d3cold_policy d3cold;
	enum softtape_smbus_policy smbus;
	bool dry_run;
	__u16 ids[SOFTTAPE_IDS_MAX];
	unsigned int nr_ids;
	struct softtape_address skip[SOFTTAPE_SKIP_MAX];
	unsigned int nr_skip;
};

/**
 * struct softtape_end - the registers of one end of a link, raw
 * @known:	the PCI Express capability was looked for in readable space; false: nothing else here is valid
 * @ext_known:	extended configuration space was readable; false: L1SS is unknown
 * @version:	PCI Express Capability Version (7.5.3.2); 0 = no such capability, 1 = no registers from LNKCAP2 on
 * @type:	Device/Port Type, PCI_EXP_TYPE_*
 * @lnkcap:	Link Capabilities (7.5.3.6)
 * @lnkctl:	Link Control (7.5.3.7)
 * @lnksta:	Link Status (7.5.3.8)
 * @lnkcap2:	Link Capabilities 2 (7.5.3.18), 0 when @version is 1
 * @lnkctl2:	Link Control 2 (7.5.3.19), 0 when @version is 1
 * @l1ss_cap:	L1 PM Substates Capabilities (7.8.3.2), 0 = no such capability
 * @l1ss_ctl1:	L1 PM Substates Control 1 (7.8.3.3)
 *
 * Section numbers are of the PCI Express Base Specification r6.0.
 */
struct softtape_end {
	bool known;
	bool ext_known;
	__u8 version;
	__u8 type;
	__u32 lnkcap;
	__u16 lnkctl;
	__u16 lnksta;
	__u32 lnkcap2;
	__u16 lnkctl2;
	__u32 l1ss_cap;
	__u32 l1ss_ctl1;
};

/**
 * enum softtape_above - what is directly above the card
 * @SOFTTAPE_ABOVE_PORT:	a downstream port, its registers are in struct softtape_link
 * @SOFTTAPE_ABOVE_UNKNOWN:	not in the dump or not readable: judged by the card's end alone
 * @SOFTTAPE_ABOVE_NONE:	no downstream port (root complex integrated, passthrough): nothing is ours to change
 */
enum softtape_above { SOFTTAPE_ABOVE_PORT, SOFTTAPE_ABOVE_UNKNOWN, SOFTTAPE_ABOVE_NONE };

/**
 * struct softtape_link - the card's link as read
 * @above:	what is above the card
 * @port:	the downstream port, valid with SOFTTAPE_ABOVE_PORT
 * @fn:		the NVIDIA functions of the slot, the matched one first
 * @nr_fn:	entries in @fn, 1 to SOFTTAPE_FUNCTIONS_MAX
 * @d3cold:	SOFTTAPE_OFF, SOFTTAPE_ON or SOFTTAPE_UNKNOWN (D3cold is the kernel's own flag, not a register)
 */
struct softtape_link {
	enum softtape_above above;
	struct softtape_end port;
	struct softtape_end fn[SOFTTAPE_FUNCTIONS_MAX];
	int nr_fn;
	enum softtape_value d3cold;
};

/**
 * struct softtape_view - a link in the words of the log line
 * @item:	value of each item
 * @speed:	Current Link Speed of the card, LNKSTA encoding (1 = 2.5 GT/s); 0 = unknown or link down
 * @width:	negotiated lanes; 0 = unknown or link down
 * @max_speed:	Max Link Speed in the card's LNKCAP; misleads on these cards, for display only
 * @max_width:	Maximum Link Width in the card's LNKCAP
 * @above:	copied from the link
 * @port_version: PCI Express Capability Version of the port; 0 = unknown
 * @port_max:	highest speed the port supports; 0 = unknown
 * @tls:	Target Link Speed of the port (LNKCTL2); 0 = unknown or none
 */
struct softtape_view {
	enum softtape_value item[SOFTTAPE_NR_ITEMS];
	__u8 speed;
	__u8 width;
	__u8 max_speed;
	__u8 max_width;
	enum softtape_above above;
	__u8 port_version;
	__u8 port_max;
	__u8 tls;
};

/**
 * struct softtape_step - one change to make
 * @what:	the item, or SOFTTAPE_CAP
 * @from:	enum softtape_value; for SOFTTAPE_CAP the port's Target Link Speed (1 = gen1)
 * @to:		same encoding
 * @retrain:	SOFTTAPE_CAP only: the link runs faster than @to and must be retrained
 */
struct softtape_step {
	enum softtape_item what;
	__u8 from;
	__u8 to;
	bool retrain;
};

/**
 * enum softtape_cap - first word of the log line's cap key
 * @SOFTTAPE_CAP_KEEP:		no cap was asked for
 * @SOFTTAPE_CAP_UNNEEDED:	target speed and link are already within the cap
 * @SOFTTAPE_CAP_SET:		genN: the port's target speed is what was asked
 * @SOFTTAPE_CAP_CLAMPED:	clamped:genN: the port took another value than the one asked for
 * @SOFTTAPE_CAP_LIFTED:	was set, and something raised it again
 * @SOFTTAPE_CAP_REFUSED_DRIVER: a driver is bound, the port is left alone
 * @SOFTTAPE_CAP_REFUSED_READBACK: the port did not take the value, or the link did not follow
 * @SOFTTAPE_CAP_REFUSED_V1:	the port has no Link Control 2
 * @SOFTTAPE_CAP_UNSUPPORTED:	no downstream port above
 * @SOFTTAPE_CAP_UNKNOWN:	the port could not be read
 * @SOFTTAPE_CAP_WOULD:		genN(would be genM): a dry run's answer
 */
enum softtape_cap {
	SOFTTAPE_CAP_KEEP,
	SOFTTAPE_CAP_UNNEEDED,
	SOFTTAPE_CAP_SET,
	SOFTTAPE_CAP_CLAMPED,
	SOFTTAPE_CAP_LIFTED,
	SOFTTAPE_CAP_REFUSED_DRIVER,
	SOFTTAPE_CAP_REFUSED_READBACK,
	SOFTTAPE_CAP_REFUSED_V1,
	SOFTTAPE_CAP_UNSUPPORTED,
	SOFTTAPE_CAP_UNKNOWN,
	SOFTTAPE_CAP_WOULD,
};

/**
 * struct softtape_plan - what to change, in the order of the log line
 * @step:	the steps
 * @nr:		valid entries in @step; 0 = nothing to do
 * @cap:	answer on the cap before any step: KEEP, UNNEEDED, REFUSED_V1, UNSUPPORTED or UNKNOWN, and SET when a
 *		step in @step is to set it
 */
struct softtape_plan {
	struct softtape_step step[SOFTTAPE_STEPS_MAX];
	int nr;
	enum softtape_cap cap;
};

/* Why an item is as it is; the word behind the value. */
enum softtape_reason {
	SOFTTAPE_R_NONE,
	SOFTTAPE_R_WAS,			/* (was X) */
	SOFTTAPE_R_UNCHANGED,		/* (unchanged) */
	SOFTTAPE_R_KEEP,		/* (keep): the policy leaves it alone */
	SOFTTAPE_R_REFUSED_FIRMWARE,	/* the OS has no control over ASPM (-EPERM) */
	SOFTTAPE_R_REFUSED_CORE,	/* the kernel keeps no state for this link (-EINVAL), as with pcie_aspm=off */
	SOFTTAPE_R_REFUSED_READBACK,	/* the register shows it on, after a write or again */
	SOFTTAPE_R_REFUSED_DRIVER,	/* went off, and is on again with a driver bound */
	SOFTTAPE_R_WOULD,		/* (would be off): a dry run */
};

enum softtape_state {
	SOFTTAPE_PENDING,
	SOFTTAPE_SKIPPED,
	SOFTTAPE_DRY_RUN,
	SOFTTAPE_LOST,
	SOFTTAPE_UNCHANGED,
	SOFTTAPE_APPLIED,
	SOFTTAPE_PARTIAL,
	SOFTTAPE_REFUSED,
};

/**
 * struct softtape_outcome - what carrying out a plan came to
 * @refusal:	per item the SOFTTAPE_R_REFUSED_* of an item that stayed on when it was to be switched off, else
 *		SOFTTAPE_R_NONE
 * @bound:	a driver is bound: an item that came back is put down to it
 * @cap:	final answer on the cap
 * @cap_to:	Target Link Speed the plan asks for; 0 without a step
 */
struct softtape_outcome {
	enum softtape_reason refusal[SOFTTAPE_NR_ITEMS];
	bool bound;
	enum softtape_cap cap;
	__u8 cap_to;
};

/* Addresses a card may answer at (softtape_smbus_address). */
#define SOFTTAPE_SMBUS_ADDRESSES	3

/* The longest text of the smbus key, terminator included; enough for two controllers with everything held. */
#define SOFTTAPE_SMBUS_TEXT_MAX		96

/* The kernel's I2C_NAME_SIZE, also enough for the name of a driver; longer ones are cut. */
#define SOFTTAPE_SMBUS_NAME_MAX		20

/**
 * struct softtape_smbus - a host SMBus controller of a known kind, with a driver
 * @adapter:	number of its main I2C adapter, N of i2c-N
 * @ddr5:	the host's memory forbids holding anything
 * @awake:	kept out of runtime suspend by us
 * @held:	per address: held by us
 * @owner:	per address: who else has it, a driver's name or, without a driver, the client's; empty = nobody
 */
struct softtape_smbus {
	int adapter;
	bool ddr5;
	bool awake;
	bool held[SOFTTAPE_SMBUS_ADDRESSES];
	char owner[SOFTTAPE_SMBUS_ADDRESSES][SOFTTAPE_SMBUS_NAME_MAX];
};

/**
 * struct softtape_report - everything the log line and the sysfs files say of a card
 * @card:	its row
 * @device:	its PCI device id
 * @state:	overall state
 * @value:	per item what is now
 * @was:	per item what was at first look
 * @reason:	per item the word behind the value
 * @cap:	cap answer
 * @cap_gen:	N of genN and clamped:genN; with SOFTTAPE_CAP_WOULD the speed now
 * @cap_want:	M of (would be genM)
 * @view:	speed and width as last read
 * @smbus:	text of the smbus key
 * @smbus_would:	what it would be without a dry run; NULL = no dry run, or nothing was asked for
 * @after:	"bind", "unbind", "resume", "verify" for a further line; NULL for the final line
 */
struct softtape_report {
	const struct softtape_card *card;
	__u16 device;
	enum softtape_state state;
	enum softtape_value value[SOFTTAPE_NR_ITEMS];
	enum softtape_value was[SOFTTAPE_NR_ITEMS];
	enum softtape_reason reason[SOFTTAPE_NR_ITEMS];
	enum softtape_cap cap;
	__u8 cap_gen;
	__u8 cap_want;
	struct softtape_view view;
	char smbus[SOFTTAPE_SMBUS_TEXT_MAX];
	const char *smbus_would;
	const char *after;
};

/* Keys of the log line and names of the sysfs files. */
enum softtape_field {
	SOFTTAPE_F_CARD,
	SOFTTAPE_F_STATE,
	SOFTTAPE_F_ASPM,
	SOFTTAPE_F_CLKPM,
	SOFTTAPE_F_L1SS,
	SOFTTAPE_F_D3COLD,
	SOFTTAPE_F_CAP,
	SOFTTAPE_F_SPEED,
	SOFTTAPE_F_SMBUS,
	SOFTTAPE_NR_FIELDS,
};

/* Longest line with every key, SMBus text apart, is under 300 characters. */
#define SOFTTAPE_LINE_MAX	512

/* cards.c */
const struct softtape_card *softtape_card_at(unsigned int index);
const struct softtape_card *softtape_card_match(const struct softtape_policy *policy, __u16 vendor, __u16 device,
						__u32 class_code);
bool softtape_slot_skipped(const struct softtape_policy *policy, const struct softtape_address *address);

/* policy.c */
const char *softtape_policy_key(unsigned int index);
const char *softtape_policy_accepts(const char *key);
int softtape_policy_set(struct softtape_policy *policy, const char *key, const char *value);

/* plan.c */
bool softtape_value_on(enum softtape_value value);
void softtape_view_make(const struct softtape_link *link, struct softtape_view *ret_view);
void softtape_plan_make(const struct softtape_view *view, const struct softtape_policy *policy,
			struct softtape_plan *ret_plan);
enum softtape_cap softtape_cap_judge(__u8 cap, __u8 old, __u8 tls);

/* smbus_rules.c */
__u8 softtape_smbus_address(unsigned int index);
bool softtape_smbus_may_hold(__u8 address, bool ddr5);
bool softtape_smbus_memory_ddr5(__u8 type);
bool softtape_smbus_client_ddr5(const char *name);
bool softtape_smbus_main_adapter(const char *name);
const char *softtape_smbus_would(const struct softtape_policy *policy);
size_t softtape_smbus_text(const struct softtape_policy *policy, const struct softtape_smbus *smbus, unsigned int nr,
			   char *buf, size_t size);

/* report.c */
const char *softtape_value_word(enum softtape_value value);
const char *softtape_state_word(enum softtape_state state);
const char *softtape_field_name(enum softtape_field field);
const char *softtape_speed_word(__u8 speed);
void softtape_report_make(struct softtape_report *report, const struct softtape_view *first,
			  const struct softtape_view *now, const struct softtape_policy *policy,
			  const struct softtape_outcome *outcome);
bool softtape_report_differs(const struct softtape_report *a, const struct softtape_report *b);
size_t softtape_report_field(const struct softtape_report *report, enum softtape_field field, char *buf, size_t size);
size_t softtape_report_values(const struct softtape_report *report, char *buf, size_t size);
size_t softtape_report_line(const struct softtape_report *report, char *buf, size_t size);

#endif
