// SPDX-License-Identifier: GPL-2.0-only
/*
 * A simulated PCI host bridge with ports and cards, as registers in memory, for the test guest: the kernel's PCI core
 * takes it for hardware.
 *
 * It offers what QEMU's root port does not: L0s and L1, L1 substates, common clock, a target speed, a retrain and the
 * loss of a link on the port's side, a switch, and a card made of any bytes. It records every write. It knows nothing
 * of softtape. No interrupt, no memory behind BAR0. Shape and behaviour: struct fakehost_knobs.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/ioport.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/numa.h>
#include <linux/pci.h>
#include <linux/pm.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/stacktrace.h>
#include <linux/suspend.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "fakehost.h"

#define CAP_PM		0x60
#define CAP_EXP		0x78
#define CAP_L1SS	0x100	/* first extended capability */
#define RECORD_SIZE	16384

/**
 * struct reg - one register of one kind of function
 * @name:	shown in the record
 * @off:	offset in config space, bytes
 * @width:	bytes: 1, 2 or 4
 * @reset:	value after power-on, as if firmware had left it there
 * @rw:		bits that take what is written
 * @w1c:	bits that a written 1 clears
 */
struct reg {
	const char *name;
	u16 off;
	u8 width;
	u32 reset;
	u32 rw;
	u32 w1c;
};

/* The part of the table that both ends of a link share. */
#define HEADER_REGS							\
	{ "command", PCI_COMMAND, 2, .rw = 0x0547 },			\
	{ "status", PCI_STATUS, 2, PCI_STATUS_CAP_LIST, .w1c = 0xf900 }, \
	{ "cacheline", PCI_CACHE_LINE_SIZE, 2, .rw = 0xffff },		\
	{ "intline", PCI_INTERRUPT_LINE, 1, .rw = 0xff }

#define EXP_REGS							\
	{ "devctl", CAP_EXP + PCI_EXP_DEVCTL, 2, 0x2810, .rw = 0x7fff }, \
	{ "devsta", CAP_EXP + PCI_EXP_DEVSTA, 2, .w1c = 0x0f },		\
	{ "lnkcap", CAP_EXP + PCI_EXP_LNKCAP, 4 },			\
	{ "devcap2", CAP_EXP + PCI_EXP_DEVCAP2, 4, PCI_EXP_DEVCAP2_LTR }, \
	{ "devctl2", CAP_EXP + PCI_EXP_DEVCTL2, 2, .rw = PCI_EXP_DEVCTL2_LTR_EN | 0x1f }, \
	{ "lnkcap2", CAP_EXP + PCI_EXP_LNKCAP2, 4 },			\
	{ "lnkctl2", CAP_EXP + PCI_EXP_LNKCTL2, 2, .rw = 0x0030 },	\
	{ "l1ss", CAP_L1SS, 4, 0x00010000 | PCI_EXT_CAP_ID_L1SS },	\
	{ "l1ss_cap", CAP_L1SS + PCI_L1SS_CAP, 4, 0x0028281f },		\
	{ "l1ss_ctl1", CAP_L1SS + PCI_L1SS_CTL1, 4 },			\
	{ "l1ss_ctl2", CAP_L1SS + PCI_L1SS_CTL2, 4, .reset = 0x28, .rw = 0xfb }

static const struct reg port_regs[] = {
	HEADER_REGS,
	{ "id", PCI_VENDOR_ID, 4, 0x4b4b1b36 },
	{ "class", PCI_CLASS_REVISION, 4, PCI_CLASS_BRIDGE_PCI << 16 },
	{ "header", PCI_HEADER_TYPE, 1, PCI_HEADER_TYPE_BRIDGE },
	{ "buses", PCI_PRIMARY_BUS, 4, .rw = 0x00ffffff },
	{ "iowin", PCI_IO_BASE, 2, 0x00f0, .rw = 0xf0f0 },
	{ "memwin", PCI_MEMORY_BASE, 4, 0x0000fff0, .rw = 0xfff0fff0 },
	{ "prefwin", PCI_PREF_MEMORY_BASE, 4, 0x0001fff1, .rw = 0xfff0fff0 },
	{ "prefbase", PCI_PREF_BASE_UPPER32, 4, .rw = ~0u },
	{ "preflimit", PCI_PREF_LIMIT_UPPER32, 4, .rw = ~0u },
	{ "capptr", PCI_CAPABILITY_LIST, 1, CAP_EXP },
	{ "brctl", PCI_BRIDGE_CONTROL, 2, .rw = 0x005b },
	{ "exp", CAP_EXP, 4, PCI_CAP_ID_EXP },
	{ "devcap", CAP_EXP + PCI_EXP_DEVCAP, 4, 0x00008001 },
	EXP_REGS,
	{ "lnkctl", CAP_EXP + PCI_EXP_LNKCTL, 2 },
	{ "lnksta", CAP_EXP + PCI_EXP_LNKSTA, 2, PCI_EXP_LNKSTA_SLC,
	  .w1c = PCI_EXP_LNKSTA_LBMS | PCI_EXP_LNKSTA_LABS },
	{ "sltcap", CAP_EXP + PCI_EXP_SLTCAP, 4 },
	{ "sltctl", CAP_EXP + PCI_EXP_SLTCTL, 2, .rw = 0x1fff },
	{ "sltsta", CAP_EXP + PCI_EXP_SLTSTA, 2, .w1c = 0x011f },
	{ "rtctl", CAP_EXP + PCI_EXP_RTCTL, 2, .rw = 0x1f },
	{ }
};

/* DEVCAP: the card accepts any L0s and L1 exit latency. */
static const struct reg ep_regs[] = {
	HEADER_REGS,
	{ "id", PCI_VENDOR_ID, 4 },
	{ "class", PCI_CLASS_REVISION, 4 },
	{ "header", PCI_HEADER_TYPE, 1, PCI_HEADER_TYPE_NORMAL },
	{ "bar0", PCI_BASE_ADDRESS_0, 4, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH,
	  .rw = ~(SZ_16M - 1) },
	{ "bar0_hi", PCI_BASE_ADDRESS_1, 4, .rw = ~0u },
	{ "subsys", PCI_SUBSYSTEM_VENDOR_ID, 4, 0x4b4b10de },
	{ "capptr", PCI_CAPABILITY_LIST, 1, CAP_PM },
	{ "pm", CAP_PM, 4, 3 << 16 | CAP_EXP << 8 | PCI_CAP_ID_PM },
	{ "pmcsr", CAP_PM + PCI_PM_CTRL, 2, PCI_PM_CTRL_NO_SOFT_RESET, .rw = PCI_PM_CTRL_STATE_MASK },
	{ "exp", CAP_EXP, 4, PCI_EXP_TYPE_LEG_END << 20 | PCI_CAP_ID_EXP },
	{ "devcap", CAP_EXP + PCI_EXP_DEVCAP, 4, 0x00008fe1 },
	EXP_REGS,
	{ "lnkctl", CAP_EXP + PCI_EXP_LNKCTL, 2 },
	{ "lnksta", CAP_EXP + PCI_EXP_LNKSTA, 2, PCI_EXP_LNKSTA_SLC },
	{ }
};

/* Exit latencies 3 (256-512 ns, 4-8 us): short enough for any card. */
#define LNKCAP_COMMON (PCI_EXP_LNKCAP_ASPMS | 3 << 12 | 3 << 15 | 1 << 22)
#define LNKCTL_FIRMWARE (PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_CCC)

static const struct fakehost_knobs default_knobs = {
	.domain = 0x4b4b,
	.mem = true,
	.slots = 1,
	.functions = 1,
	.ep_vendor = PCI_VENDOR_ID_NVIDIA,
	.ep_device = 0x1b87,
	.ep_class = PCI_CLASS_DISPLAY_3D << 8,
	.port_speed = 3,
	.ep_speed = 3,
	.port_version = 2,
	.ep_version = 2,
	.port_lnkcap = LNKCAP_COMMON | PCI_EXP_LNKCAP_DLLLARC | PCI_EXP_LNKCAP_LBNC,
	.ep_lnkcap = LNKCAP_COMMON | PCI_EXP_LNKCAP_CLKPM,
	.port_lnkctl = LNKCTL_FIRMWARE,
	.ep_lnkctl = LNKCTL_FIRMWARE | PCI_EXP_LNKCTL_CLKREQ_EN,
	.width = 4,
	.port_lnkctl_rw = 0x0ed3,
	.ep_lnkctl_rw = 0x03cb,
	.port_l1ss_rw = 0xe3ffff0f,
	.ep_l1ss_rw = 0xe3ffff0f,
	.port_tls_rw = PCI_EXP_LNKCTL2_TLS | 0x0030,
	.tls_max = 15,
	.train_speed = 15,
	.train_width = 32,
	.train_reads = 2,
};

/* Filled before the parameters are read, so that a parameter's default is what is written above. */
struct fakehost_knobs fakehost_knobs = default_knobs;
EXPORT_SYMBOL_GPL(fakehost_knobs);

#define KNOB(_name, _type, _mode) module_param_named(_name, fakehost_knobs._name, _type, _mode)
KNOB(domain, uint, 0444);
KNOB(bind_delay_ms, uint, 0444);
KNOB(mem, bool, 0444);
KNOB(slots, uint, 0444);
KNOB(switched, bool, 0444);
KNOB(hotplug, bool, 0444);
KNOB(functions, uint, 0644);
KNOB(ep_vendor, uint, 0644);
KNOB(ep_device, uint, 0644);
KNOB(ep_class, uint, 0644);
KNOB(port_speed, uint, 0644);
KNOB(ep_speed, uint, 0644);
KNOB(port_version, uint, 0644);
KNOB(ep_version, uint, 0644);
KNOB(port_lnkcap, uint, 0644);
KNOB(ep_lnkcap, uint, 0644);
KNOB(port_lnkctl, uint, 0644);
KNOB(ep_lnkctl, uint, 0644);
KNOB(port_l1ss, uint, 0644);
KNOB(ep_l1ss, uint, 0644);
KNOB(port_tls, uint, 0644);
KNOB(width, uint, 0644);
KNOB(port_lnkctl_rw, uint, 0644);
KNOB(ep_lnkctl_rw, uint, 0644);
KNOB(port_l1ss_rw, uint, 0644);
KNOB(ep_l1ss_rw, uint, 0644);
KNOB(port_tls_rw, uint, 0644);
KNOB(tls_min, uint, 0644);
KNOB(tls_max, uint, 0644);
KNOB(train_speed, uint, 0644);
KNOB(train_width, uint, 0644);
KNOB(fail_speed, uint, 0644);
KNOB(train_reads, int, 0644);
KNOB(fail_at, uint, 0644);
KNOB(vanish_at, uint, 0644);
KNOB(fault_from, ulong, 0644);
KNOB(fault_to, ulong, 0644);
KNOB(log_reads, bool, 0644);

static bool autostart = true;
module_param(autostart, bool, 0444);
MODULE_PARM_DESC(autostart, "0: another module makes the bridge");

/**
 * struct fn - one PCI function
 * @name:	shown in the record
 * @regs:	names, and what it is made of unless @image is set
 * @type:	PCI Express port type
 * @image:	made of the bytes that were given, not of @regs
 * @exp:	where the PCI Express capability is; 0 = none
 * @l1ss:	where the L1 PM Substates capability is; 0 = none
 * @space:	configuration space now
 * @rw:		bits that take what is written
 * @w1c:	bits that a written 1 clears
 */
struct fn {
	char name[8];
	const struct reg *regs;
	u8 type;
	bool image;
	u16 exp;
	u16 l1ss;
	u8 space[FAKEHOST_SPACE];
	u8 rw[FAKEHOST_SPACE];
	u8 w1c[FAKEHOST_SPACE];
};

/**
 * struct slot - a port and what is in its slot
 * @port:	a root port or a switch's downstream port
 * @ep:		the card's functions
 * @nr_fn:	of the card that is powered
 * @present:	a card is in the slot
 * @link_up:	the link works: the card answers
 * @train_left:	reads of LNKSTA that training takes yet
 */
struct slot {
	struct fn port;
	struct fn ep[FAKEHOST_FUNCTIONS];
	unsigned int nr_fn;
	bool present;
	bool link_up;
	int train_left;
};

/* Everything below; config accesses come in any context. */
static DEFINE_RAW_SPINLOCK(lock);
static struct hardware {
	struct slot slot[FAKEHOST_SLOTS];
	struct fn root, up;	/* with a switch only */
	u8 image[FAKEHOST_SPACE], port_image[FAKEHOST_SPACE];
	size_t image_size, port_image_size;
	struct fakehost_access record[RECORD_SIZE];
	unsigned int nr_recorded, nr_lost;
} *hw;

static u32 size_mask(int size)
{
	return GENMASK(size * 8 - 1, 0);
}

static u32 get(const u8 *space, int off, int size)
{
	u32 val = 0;
	int i;

	for (i = 0; i < size; i++)
		val |= (u32)space[off + i] << i * 8;

	return val;
}

static void put(u8 *space, int off, int size, u32 val)
{
	int i;

	for (i = 0; i < size; i++)
		space[off + i] = val >> i * 8;
}

static u16 exp16(const struct fn *fn, int reg)
{
	return fn->exp ? get(fn->space, fn->exp + reg, 2) : 0;
}

static void exp16_set(struct fn *fn, int reg, u16 clear, u16 set)
{
	if (fn->exp)
		put(fn->space, fn->exp + reg, 2, (exp16(fn, reg) & ~clear) | set);
}

static const struct reg *reg_at(const struct fn *fn, int off, int size)
{
	const struct reg *reg;

	for (reg = fn->regs; !fn->image && reg->name; reg++)
		if (reg->off < off + size && off < reg->off + reg->width)
			return reg;

	return NULL;
}

static bool is_port(const struct fn *fn)
{
	return fn->regs == port_regs;
}

/* What can be changed while the machine runs. */
static void refresh_masks(struct fn *fn)
{
	const struct fakehost_knobs *k = &fakehost_knobs;
	bool port = is_port(fn);

	if (fn->exp) {
		put(fn->rw, fn->exp + PCI_EXP_LNKCTL, 2, port ? k->port_lnkctl_rw : k->ep_lnkctl_rw);
		if (port && k->port_version >= 2)
			put(fn->rw, fn->exp + PCI_EXP_LNKCTL2, 2, k->port_tls_rw);
	}
	if (fn->l1ss)
		put(fn->rw, fn->l1ss + PCI_L1SS_CTL1, 4, port ? k->port_l1ss_rw : k->ep_l1ss_rw);
}

static void reset_from_table(struct fn *fn)
{
	const struct fakehost_knobs *k = &fakehost_knobs;
	u32 speed = is_port(fn) ? k->port_speed : k->ep_speed;
	u32 version = is_port(fn) ? k->port_version : k->ep_version;
	u32 lnkctl2 = is_port(fn) ? k->port_tls : 0;
	const struct reg *reg;

	for (reg = fn->regs; reg->name; reg++) {
		put(fn->space, reg->off, reg->width, reg->reset);
		put(fn->rw, reg->off, reg->width, reg->rw);
		put(fn->w1c, reg->off, reg->width, reg->w1c);
	}

	fn->exp = CAP_EXP;
	fn->l1ss = CAP_L1SS;
	if (!(lnkctl2 & PCI_EXP_LNKCTL2_TLS))
		lnkctl2 |= speed;
	put(fn->space, CAP_EXP + PCI_EXP_FLAGS, 2, version | fn->type << 4);
	put(fn->space, CAP_EXP + PCI_EXP_LNKCAP, 4, speed | k->width << 4 |
	    (is_port(fn) ? k->port_lnkcap : k->ep_lnkcap));
	put(fn->space, CAP_EXP + PCI_EXP_LNKCTL, 2, is_port(fn) ? k->port_lnkctl : k->ep_lnkctl);
	put(fn->space, CAP_EXP + PCI_EXP_LNKCAP2, 4, GENMASK(speed, 1));
	put(fn->space, CAP_EXP + PCI_EXP_LNKCTL2, 2, lnkctl2);
	put(fn->space, CAP_L1SS + PCI_L1SS_CTL1, 4, is_port(fn) ? k->port_l1ss : k->ep_l1ss);

	/* Registers from Device Capabilities 2 on came with version 2 (PCIe r2.0). */
	if (version < 2) {
		memset(fn->space + CAP_EXP + PCI_EXP_DEVCAP2, 0, CAP_L1SS - CAP_EXP - PCI_EXP_DEVCAP2);
		memset(fn->rw + CAP_EXP + PCI_EXP_DEVCAP2, 0, CAP_L1SS - CAP_EXP - PCI_EXP_DEVCAP2);
	}
}

static void forget(struct fn *fn)
{
	memset(fn->space, 0, sizeof(fn->space));
	memset(fn->rw, 0, sizeof(fn->rw));
	memset(fn->w1c, 0, sizeof(fn->w1c));
	fn->exp = 0;
	fn->l1ss = 0;
	fn->image = false;
}

/* Masks for a dump, which gives values only: what the known registers allow. Any bytes may come. */
static void reset_from_image(struct fn *fn, const u8 *image, size_t size)
{
	const struct reg *reg;
	int pos, i;

	fn->image = true;
	memcpy(fn->space, image, size);
	for (reg = fn->regs; reg->name; reg++) {
		if (reg->off >= PCI_STD_HEADER_SIZEOF)
			continue;
		put(fn->rw, reg->off, reg->width, reg->rw);
		put(fn->w1c, reg->off, reg->width, reg->w1c);
	}
	for (i = 0; i < 6 && !is_port(fn); i++)
		put(fn->rw, PCI_BASE_ADDRESS_0 + i * 4, 4,
		    fn->space[PCI_BASE_ADDRESS_0 + i * 4] & PCI_BASE_ADDRESS_SPACE_IO ? ~0xffu : ~(SZ_64K - 1u));

	pos = fn->space[PCI_CAPABILITY_LIST] & ~3;
	for (i = 0; i < 48 && pos >= 0x40; i++, pos = fn->space[pos + 1] & ~3) {
		if (fn->space[pos] == PCI_CAP_ID_PM && pos <= 0xf8)
			put(fn->rw, pos + PCI_PM_CTRL, 2, PCI_PM_CTRL_STATE_MASK);
		if (fn->space[pos] == PCI_CAP_ID_EXP && pos <= 0x100 - 0x3c && !fn->exp) {
			fn->exp = pos;
			put(fn->rw, pos + PCI_EXP_DEVCTL, 2, 0x7fff);
			if (is_port(fn))
				put(fn->w1c, pos + PCI_EXP_LNKSTA, 2, PCI_EXP_LNKSTA_LBMS | PCI_EXP_LNKSTA_LABS);
		}
	}

	pos = 0x100;
	for (i = 0; i < 960 && pos >= 0x100 && pos <= FAKEHOST_SPACE - 16; i++) {
		u32 header = get(fn->space, pos, 4);

		if ((header & 0xffff) == PCI_EXT_CAP_ID_L1SS && !fn->l1ss)
			fn->l1ss = pos;
		pos = header >> 20 & ~3;
	}
}

static void reset_port(struct fn *fn, unsigned int number)
{
	forget(fn);
	if (hw->port_image_size && fn == &hw->slot[0].port) {
		reset_from_image(fn, hw->port_image, hw->port_image_size);
		return;
	}

	reset_from_table(fn);
	if (fn->type == PCI_EXP_TYPE_UPSTREAM || !fakehost_knobs.hotplug)
		return;

	exp16_set(fn, PCI_EXP_FLAGS, 0, PCI_EXP_FLAGS_SLOT);
	put(fn->space, CAP_EXP + PCI_EXP_SLTCAP, 4, PCI_EXP_SLTCAP_HPC | PCI_EXP_SLTCAP_HPS | PCI_EXP_SLTCAP_NCCS |
	    (number + 1) << 19);
}

static void reset_function(struct fn *fn, unsigned int number)
{
	const struct fakehost_knobs *k = &fakehost_knobs;

	reset_from_table(fn);
	put(fn->space, PCI_VENDOR_ID, 4, (number ? 0x10f0 : k->ep_device) << 16 | k->ep_vendor);
	put(fn->space, PCI_CLASS_REVISION, 4, (number ? PCI_CLASS_MULTIMEDIA_HD_AUDIO << 8 : k->ep_class) << 8 | 0xa1);
	if (k->functions > 1)
		fn->space[PCI_HEADER_TYPE] |= 0x80;
	/* Only function 0 has L1 substates (PCIe r6.0 7.8.3) and, here, memory. */
	if (number) {
		memset(fn->space + CAP_L1SS, 0, 16);
		memset(fn->rw + CAP_L1SS, 0, 16);
		fn->l1ss = 0;
		put(fn->space, PCI_BASE_ADDRESS_0, 4, 0);
		put(fn->rw, PCI_BASE_ADDRESS_0, 4, 0);
		put(fn->rw, PCI_BASE_ADDRESS_1, 4, 0);
	}
}

static void power_on(struct slot *slot)
{
	unsigned int i;

	slot->nr_fn = hw->image_size ? 1 : clamp(fakehost_knobs.functions, 1u, FAKEHOST_FUNCTIONS * 1u);
	for (i = 0; i < slot->nr_fn; i++) {
		struct fn *fn = &slot->ep[i];

		forget(fn);
		if (hw->image_size && slot == hw->slot)
			reset_from_image(fn, hw->image, hw->image_size);
		else
			reset_function(fn, i);
	}
}

static void link_set_status(struct fn *fn, u32 speed, u32 lanes)
{
	const u16 clear = PCI_EXP_LNKSTA_CLS | PCI_EXP_LNKSTA_NLW | PCI_EXP_LNKSTA_LT | PCI_EXP_LNKSTA_DLLLA;

	exp16_set(fn, PCI_EXP_LNKSTA, clear, speed | lanes << PCI_EXP_LNKSTA_NLW_SHIFT);
}

static void slot_event(struct slot *slot, u16 event)
{
	if (fakehost_knobs.hotplug)
		exp16_set(&slot->port, PCI_EXP_SLTSTA, PCI_EXP_SLTSTA_PDS,
			  event | (slot->present ? PCI_EXP_SLTSTA_PDS : 0));
}

/* End of training: a link that was down comes up with a card just powered on. */
static void link_trained(struct slot *slot)
{
	const struct fakehost_knobs *k = &fakehost_knobs;
	struct fn *port = &slot->port;
	u32 tls = exp16(port, PCI_EXP_LNKCTL2) & PCI_EXP_LNKCTL2_TLS;
	u32 speed = min3(k->port_speed, k->ep_speed, k->train_speed);
	u32 lanes = min(k->width, k->train_width);
	unsigned int i;
	bool up;

	if (k->port_version >= 2)
		speed = min(speed, tls);
	up = slot->present && speed != k->fail_speed && !(exp16(port, PCI_EXP_LNKCTL) & PCI_EXP_LNKCTL_LD);

	if (up && !slot->link_up)
		power_on(slot);
	if (up != slot->link_up)
		slot_event(slot, PCI_EXP_SLTSTA_DLLSC);
	slot->link_up = up;

	link_set_status(port, up ? speed : 0, up ? lanes : 0);
	if (!up)
		return;

	for (i = 0; i < slot->nr_fn; i++)
		if (!slot->ep[i].image)
			link_set_status(&slot->ep[i], speed, lanes);
	if (k->port_lnkcap & PCI_EXP_LNKCAP_DLLLARC)
		exp16_set(port, PCI_EXP_LNKSTA, 0, PCI_EXP_LNKSTA_DLLLA);
}

static void link_training_step(struct slot *slot)
{
	if (slot->train_left > 0 && --slot->train_left)
		return;
	if (slot->train_left < 0)
		return;

	link_trained(slot);
	if (fakehost_knobs.port_lnkcap & PCI_EXP_LNKCAP_LBNC)
		exp16_set(&slot->port, PCI_EXP_LNKSTA, 0, PCI_EXP_LNKSTA_LBMS);
}

static void link_retrain(struct slot *slot)
{
	exp16_set(&slot->port, PCI_EXP_LNKSTA, 0, PCI_EXP_LNKSTA_LT);
	slot->train_left = fakehost_knobs.train_reads;
	if (!slot->train_left)
		link_training_step(slot);
}

/* A link that is down, or trains, and a card that is still in its slot. */
static void link_down(struct slot *slot)
{
	slot->link_up = false;
	slot_event(slot, PCI_EXP_SLTSTA_DLLSC);
	link_set_status(&slot->port, 0, 0);
}

static bool covers(int off, int size, int reg, int width)
{
	return reg < off + size && off < reg + width;
}

/* What a write to a slot's port does beside storing bits. */
static void port_written(struct slot *slot, int off, int size, u32 written, u16 old_brctl, u16 old_lnkctl)
{
	const struct fakehost_knobs *k = &fakehost_knobs;
	struct fn *port = &slot->port;
	u16 lnkctl = exp16(port, PCI_EXP_LNKCTL), tls;
	int lnkctl_off = port->exp + PCI_EXP_LNKCTL, lnkctl2_off = port->exp + PCI_EXP_LNKCTL2;

	if (get(port->space, PCI_BRIDGE_CONTROL, 2) & ~old_brctl & PCI_BRIDGE_CTL_BUS_RESET) {
		slot->link_up = false;
		link_trained(slot);
	}

	if (covers(off, size, lnkctl_off, 1)) {
		if ((lnkctl ^ old_lnkctl) & PCI_EXP_LNKCTL_LD)
			link_trained(slot);
		if (written >> (lnkctl_off - off) * 8 & PCI_EXP_LNKCTL_RL)
			link_retrain(slot);
	}

	if (k->port_version >= 2 && covers(off, size, lnkctl2_off, 1)) {
		tls = exp16(port, PCI_EXP_LNKCTL2) & PCI_EXP_LNKCTL2_TLS;
		exp16_set(port, PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS, clamp_t(u16, tls, k->tls_min, k->tls_max));
	}
}

static void store(struct fn *fn, int off, int size, u32 data)
{
	int i;

	refresh_masks(fn);
	for (i = off; i < off + size; i++, data >>= 8) {
		fn->space[i] = (fn->space[i] & ~fn->rw[i]) | (data & fn->rw[i]);
		fn->space[i] &= ~(data & fn->w1c[i]);
	}
}

static void record(const struct fn *fn, int off, int size, u32 old, u32 val, u32 now, bool read)
{
	const struct reg *reg = reg_at(fn, off, size);

	if (hw->nr_recorded == RECORD_SIZE) {
		hw->nr_lost++;
		return;
	}

	hw->record[hw->nr_recorded++] = (struct fakehost_access) {
		.fn = fn->name, .reg = reg ? reg->name : "-", .off = off, .size = size, .read = read,
		.old = old, .written = val & size_mask(size), .now = now,
	};
}

static unsigned int secondary(const struct fn *port)
{
	return port->space[PCI_SECONDARY_BUS];
}

/* The function at an address, and the slot it belongs to; nothing answers behind a link that is down. */
static struct fn *fn_find(struct pci_bus *bus, unsigned int devfn, struct slot **ret_slot)
{
	const struct fakehost_knobs *k = &fakehost_knobs;
	bool root = pci_is_root_bus(bus);
	unsigned int i, number = PCI_SLOT(devfn);

	*ret_slot = NULL;
	if (k->switched && root)
		return devfn ? NULL : &hw->root;
	if (k->switched && bus->number == secondary(&hw->root))
		return devfn ? NULL : &hw->up;
	if (k->switched ? bus->number == secondary(&hw->up) : root) {
		if (PCI_FUNC(devfn) || number >= k->slots)
			return NULL;
		*ret_slot = &hw->slot[number];
		return &hw->slot[number].port;
	}

	for (i = 0; i < k->slots; i++) {
		struct slot *slot = &hw->slot[i];

		if (bus->number != secondary(&slot->port) || number || PCI_FUNC(devfn) >= slot->nr_fn)
			continue;
		*ret_slot = slot;
		return &slot->ep[PCI_FUNC(devfn)];
	}

	return NULL;
}

static bool asked_from(unsigned long from, unsigned long to)
{
	unsigned long entries[32];
	unsigned int i, nr;

	nr = stack_trace_save(entries, ARRAY_SIZE(entries), 0);
	for (i = 0; i < nr; i++)
		if (entries[i] >= from && entries[i] < to)
			return true;

	return false;
}

/* Faults on request, counted over what reaches slot 0. */
static bool inject(struct slot *slot)
{
	struct fakehost_knobs *k = &fakehost_knobs;

	if (slot != hw->slot || !(k->vanish_at || k->fail_at))
		return false;
	if (k->fault_from && !asked_from(k->fault_from, k->fault_to))
		return false;

	if (k->vanish_at && !--k->vanish_at) {
		slot->present = false;
		link_trained(slot);
		slot_event(slot, PCI_EXP_SLTSTA_PDC);
	}

	return k->fail_at && !--k->fail_at;
}

static int fakehost_read(struct pci_bus *bus, unsigned int devfn, int off, int size, u32 *val)
{
	int ret = PCIBIOS_SUCCESSFUL;
	unsigned long flags;
	struct slot *slot;
	struct fn *fn;

	*val = size_mask(size);

	raw_spin_lock_irqsave(&lock, flags);
	fn = fn_find(bus, devfn, &slot);
	if (fn && inject(slot))
		ret = PCIBIOS_DEVICE_NOT_FOUND;
	else if (fn && (!slot || fn == &slot->port || slot->link_up))
		*val = get(fn->space, off, size);
	if (fn && fakehost_knobs.log_reads)
		record(fn, off, size, *val, *val, *val, true);
	if (slot && fn == &slot->port && covers(off, size, fn->exp + PCI_EXP_LNKSTA, 2) &&
	    exp16(fn, PCI_EXP_LNKSTA) & PCI_EXP_LNKSTA_LT)
		link_training_step(slot);
	raw_spin_unlock_irqrestore(&lock, flags);

	return ret;
}

static int fakehost_write(struct pci_bus *bus, unsigned int devfn, int off, int size, u32 val)
{
	u32 old = size_mask(size), now = size_mask(size);
	u16 old_brctl, old_lnkctl;
	int ret = PCIBIOS_SUCCESSFUL;
	unsigned long flags;
	struct slot *slot;
	struct fn *fn;

	raw_spin_lock_irqsave(&lock, flags);
	fn = fn_find(bus, devfn, &slot);
	if (!fn)
		goto out_unlock;

	if (inject(slot)) {
		ret = PCIBIOS_SET_FAILED;
		goto out_unlock;
	}

	if (!slot || fn == &slot->port || slot->link_up) {
		old = get(fn->space, off, size);
		old_brctl = get(fn->space, PCI_BRIDGE_CONTROL, 2);
		old_lnkctl = exp16(fn, PCI_EXP_LNKCTL);
		store(fn, off, size, val);
		if (slot && fn == &slot->port)
			port_written(slot, off, size, val, old_brctl, old_lnkctl);
		now = get(fn->space, off, size);
	}
	record(fn, off, size, old, val, now, false);

out_unlock:
	raw_spin_unlock_irqrestore(&lock, flags);
	return ret;
}

static struct pci_ops fakehost_ops = {
	.read = fakehost_read,
	.write = fakehost_write,
};

/**
 * fakehost_set_present - put cards into slots and take them out, without a word to the kernel
 * @slots:	bit per slot
 */
void fakehost_set_present(unsigned int slots)
{
	unsigned long flags;
	unsigned int i;

	raw_spin_lock_irqsave(&lock, flags);
	for (i = 0; i < fakehost_knobs.slots; i++) {
		struct slot *slot = &hw->slot[i];
		bool present = slots & BIT(i);

		if (present == slot->present)
			continue;
		slot->present = present;
		link_trained(slot);
		slot_event(slot, PCI_EXP_SLTSTA_PDC);
	}
	raw_spin_unlock_irqrestore(&lock, flags);
}
EXPORT_SYMBOL_GPL(fakehost_set_present);

/**
 * fakehost_lose_link - a slot's link goes down with the card in its slot; the next retrain brings it back
 * @slot:	number
 */
void fakehost_lose_link(unsigned int slot)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	link_down(&hw->slot[slot]);
	raw_spin_unlock_irqrestore(&lock, flags);
}
EXPORT_SYMBOL_GPL(fakehost_lose_link);

/**
 * fakehost_set_image - what the card of slot 0 is made of from its next power-on
 * @image:	configuration space
 * @size:	bytes, up to FAKEHOST_SPACE; 0 = the built-in card
 */
void fakehost_set_image(const void *image, size_t size)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	hw->image_size = min_t(size_t, size, FAKEHOST_SPACE);
	memcpy(hw->image, image, hw->image_size);
	raw_spin_unlock_irqrestore(&lock, flags);
}
EXPORT_SYMBOL_GPL(fakehost_set_image);

/**
 * fakehost_set_port_image - what the port of slot 0 is made of from now on; only while the kernel has no device for it
 * @image:	configuration space
 * @size:	bytes, up to FAKEHOST_SPACE; 0 = the built-in port
 *
 * The card is powered on anew. Speed and width of the link stay those of struct fakehost_knobs.
 */
void fakehost_set_port_image(const void *image, size_t size)
{
	struct slot *slot = &hw->slot[0];
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	hw->port_image_size = min_t(size_t, size, FAKEHOST_SPACE);
	memcpy(hw->port_image, image, hw->port_image_size);
	reset_port(&slot->port, 0);
	slot->link_up = false;
	link_trained(slot);
	raw_spin_unlock_irqrestore(&lock, flags);
}
EXPORT_SYMBOL_GPL(fakehost_set_port_image);

static int present_set(const char *text, const struct kernel_param *kp)
{
	unsigned int slots;
	int ret = kstrtouint(text, 0, &slots);

	if (!ret && hw)
		fakehost_set_present(slots);
	return ret;
}

static int present_get(char *buffer, const struct kernel_param *kp)
{
	unsigned int i, slots = 0;

	for (i = 0; hw && i < fakehost_knobs.slots; i++)
		slots |= hw->slot[i].present << i;
	return sprintf(buffer, "%u\n", slots);
}

static const struct kernel_param_ops present_ops = { .set = present_set, .get = present_get };
module_param_cb(present, &present_ops, NULL, 0644);
MODULE_PARM_DESC(present, "bit per slot; 0: the card is gone, its config space reads all ones");

static int lose_set(const char *text, const struct kernel_param *kp)
{
	unsigned int slot;
	int ret = kstrtouint(text, 0, &slot);

	if (!ret && hw && slot < fakehost_knobs.slots)
		fakehost_lose_link(slot);
	return ret;
}

static const struct kernel_param_ops lose_ops = { .set = lose_set };
module_param_cb(lose, &lose_ops, NULL, 0200);
MODULE_PARM_DESC(lose, "number of the slot whose link goes down");

/**
 * fakehost_log_clear - forget the record
 */
void fakehost_log_clear(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	hw->nr_recorded = 0;
	hw->nr_lost = 0;
	raw_spin_unlock_irqrestore(&lock, flags);
}
EXPORT_SYMBOL_GPL(fakehost_log_clear);

/**
 * fakehost_log_at - an entry of the record
 * @index:	0 for the first
 *
 * Entries never change once counted; do not clear meanwhile.
 *
 * Return: the entry, or NULL behind the last one.
 */
const struct fakehost_access *fakehost_log_at(unsigned int index)
{
	const struct fakehost_access *access = NULL;
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	if (index < hw->nr_recorded)
		access = &hw->record[index];
	raw_spin_unlock_irqrestore(&lock, flags);

	return access;
}
EXPORT_SYMBOL_GPL(fakehost_log_at);

static int log_show(struct seq_file *s, void *unused)
{
	const struct fakehost_access *a;
	unsigned int i;

	for (i = 0; (a = fakehost_log_at(i)); i++) {
		int digits = a->size * 2;

		if (a->read)
			seq_printf(s, "%s %03x %d read %0*x %s\n", a->fn, a->off, a->size, digits, a->now, a->reg);
		else
			seq_printf(s, "%s %03x %d %0*x %0*x %0*x %s\n", a->fn, a->off, a->size, digits, a->old,
				   digits, a->written, digits, a->now, a->reg);
	}
	if (hw->nr_lost)
		seq_printf(s, "lost %u\n", hw->nr_lost);
	return 0;
}

static ssize_t log_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	fakehost_log_clear();
	return count;
}

static int log_open(struct inode *inode, struct file *file)
{
	return single_open(file, log_show, NULL);
}

static const struct file_operations log_fops = {
	.owner = THIS_MODULE,
	.open = log_open,
	.read = seq_read,
	.write = log_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* One write is one image; a single byte goes back to what is built in. The port's file has data, the card's none. */
static ssize_t image_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	size_t size = min_t(size_t, count, FAKEHOST_SPACE);
	u8 *image = vmalloc(FAKEHOST_SPACE);
	ssize_t ret = count;

	if (!image)
		return -ENOMEM;

	if (copy_from_user(image, buf, size))
		ret = -EFAULT;
	else if (file->private_data)
		fakehost_set_port_image(image, size > 1 ? size : 0);
	else
		fakehost_set_image(image, size > 1 ? size : 0);
	vfree(image);
	return ret;
}

static const struct file_operations image_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = image_write,
	.llseek = default_llseek,
};

/* The core's own structures; one bridge is all a test needs. */
static struct pci_sysdata sysdata;
static struct resource buses, window;
static struct pci_host_bridge *bridge;
static struct dentry *debugfs;

static const char *fn_name(struct fn *fn, const char *kind, unsigned int slot, unsigned int function)
{
	/* With one slot and one function the names are short, as there is nothing to tell apart. */
	if (fakehost_knobs.slots == 1 && (is_port(fn) || !function))
		snprintf(fn->name, sizeof(fn->name), "%s", kind);
	else if (is_port(fn))
		snprintf(fn->name, sizeof(fn->name), "%s%u", kind, slot);
	else
		snprintf(fn->name, sizeof(fn->name), "%s%u.%u", kind, slot, function);
	return fn->name;
}

/* As after power-on of the whole machine; cards stay in their slots. */
static void reset_all(void)
{
	unsigned int i;

	if (fakehost_knobs.switched) {
		reset_port(&hw->root, FAKEHOST_SLOTS);
		reset_port(&hw->up, 0);
		link_set_status(&hw->root, fakehost_knobs.port_speed, fakehost_knobs.width);
		link_set_status(&hw->up, fakehost_knobs.port_speed, fakehost_knobs.width);
	}
	for (i = 0; i < fakehost_knobs.slots; i++) {
		struct slot *slot = &hw->slot[i];

		reset_port(&slot->port, i);
		slot->link_up = false;
		link_trained(slot);
		slot_event(slot, 0);
	}
}

static int hardware_init(void)
{
	struct fakehost_knobs *k = &fakehost_knobs;
	unsigned int i, j;

	hw = vzalloc(sizeof(*hw));
	if (!hw)
		return -ENOMEM;

	k->slots = clamp(k->slots, 1u, FAKEHOST_SLOTS * 1u);
	hw->root.regs = port_regs;
	hw->root.type = PCI_EXP_TYPE_ROOT_PORT;
	hw->up.regs = port_regs;
	hw->up.type = PCI_EXP_TYPE_UPSTREAM;
	strscpy(hw->root.name, "root", sizeof(hw->root.name));
	strscpy(hw->up.name, "up", sizeof(hw->up.name));

	for (i = 0; i < k->slots; i++) {
		struct slot *slot = &hw->slot[i];

		slot->present = true;
		slot->port.regs = port_regs;
		slot->port.type = k->switched ? PCI_EXP_TYPE_DOWNSTREAM : PCI_EXP_TYPE_ROOT_PORT;
		fn_name(&slot->port, "port", i, 0);
		for (j = 0; j < FAKEHOST_FUNCTIONS; j++) {
			slot->ep[j].regs = ep_regs;
			slot->ep[j].type = PCI_EXP_TYPE_LEG_END;
			fn_name(&slot->ep[j], "ep", i, j);
		}
	}

	reset_all();
	return 0;
}

/* S3 takes the power; the bridge wakes before port and card, as firmware left it. */
static int fakehost_resume(struct device *dev)
{
	unsigned long flags;

	if (!pm_resume_via_firmware())
		return 0;

	raw_spin_lock_irqsave(&lock, flags);
	reset_all();
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static struct dev_pm_domain power = {
	.ops = { .resume_noirq = fakehost_resume },
};

/*
 * Above what firmware gives to real buses and below the 40 address bits of
 * QEMU's plain CPU. Nothing answers there: reads give all ones.
 */
static int window_init(void)
{
	window = (struct resource) {
		.name = "fakehost (simulated)",
		.flags = IORESOURCE_MEM | IORESOURCE_PREFETCH | IORESOURCE_MEM_64,
	};
	return allocate_resource(&iomem_resource, &window, SZ_128M, 1ull << 38, iomem_resource.end, SZ_128M, NULL,
				 NULL);
}

/**
 * fakehost_defaults - all knobs as they are without a parameter; only while there is no bridge
 */
void fakehost_defaults(void)
{
	fakehost_knobs = default_knobs;
}
EXPORT_SYMBOL_GPL(fakehost_defaults);

/**
 * fakehost_start - make the bridge, a card in every slot, and let the kernel find it all
 *
 * Return: 0 or a negative errno.
 */
int fakehost_start(void)
{
	int ret;

	ret = hardware_init();
	if (ret)
		return ret;

	ret = -ENOMEM;
	bridge = pci_alloc_host_bridge(0);
	if (!bridge)
		goto err_free_hw;

	sysdata = (struct pci_sysdata) { .node = NUMA_NO_NODE, .domain = fakehost_knobs.domain };
	buses = (struct resource) { .name = "fakehost buses", .end = 0xff, .flags = IORESOURCE_BUS };
	bridge->sysdata = &sysdata;
	bridge->ops = &fakehost_ops;
	bridge->dev.pm_domain = &power;
	pci_add_resource(&bridge->windows, &buses);
	if (fakehost_knobs.mem) {
		ret = window_init();
		if (ret)
			goto err_free_bridge;
		pci_add_resource(&bridge->windows, &window);
	}

	pci_lock_rescan_remove();
	ret = pci_scan_root_bus_bridge(bridge);
	if (!ret) {
		pci_assign_unassigned_bus_resources(bridge->bus);
		if (fakehost_knobs.bind_delay_ms)
			msleep(fakehost_knobs.bind_delay_ms);
		pci_bus_add_devices(bridge->bus);
	}
	pci_unlock_rescan_remove();
	if (ret)
		goto err_release_window;

	debugfs = debugfs_create_dir("fakehost", NULL);
	debugfs_create_file("log", 0600, debugfs, NULL, &log_fops);
	debugfs_create_file("image", 0200, debugfs, NULL, &image_fops);
	debugfs_create_file("port_image", 0200, debugfs, hw, &image_fops);
	return 0;

err_release_window:
	if (fakehost_knobs.mem)
		release_resource(&window);
err_free_bridge:
	pci_free_host_bridge(bridge);
	bridge = NULL;
err_free_hw:
	vfree(hw);
	hw = NULL;
	return ret;
}
EXPORT_SYMBOL_GPL(fakehost_start);

/**
 * fakehost_stop - take the bridge and all behind it away
 */
void fakehost_stop(void)
{
	debugfs_remove_recursive(debugfs);

	pci_lock_rescan_remove();
	pci_stop_root_bus(bridge->bus);
	pci_remove_root_bus(bridge->bus);
	pci_unlock_rescan_remove();

	pci_free_host_bridge(bridge);
	if (fakehost_knobs.mem)
		release_resource(&window);
	bridge = NULL;
	vfree(hw);
	hw = NULL;
}
EXPORT_SYMBOL_GPL(fakehost_stop);

/**
 * fakehost_card - a function of a slot's card, as the kernel knows it
 * @slot:	number
 * @function:	number
 *
 * Return: the device with a reference for the caller, or NULL.
 */
struct pci_dev *fakehost_card(unsigned int slot, unsigned int function)
{
	return pci_get_domain_bus_and_slot(fakehost_knobs.domain, secondary(&hw->slot[slot].port), function);
}
EXPORT_SYMBOL_GPL(fakehost_card);

/**
 * fakehost_port - a slot's port, as the kernel knows it
 * @slot:	number
 *
 * Return: the device with a reference for the caller, or NULL.
 */
struct pci_dev *fakehost_port(unsigned int slot)
{
	unsigned int bus = fakehost_knobs.switched ? secondary(&hw->up) : 0;

	return pci_get_domain_bus_and_slot(fakehost_knobs.domain, bus, PCI_DEVFN(slot, 0));
}
EXPORT_SYMBOL_GPL(fakehost_port);

static const struct reg *reg_named(const struct fn *fn, const char *name)
{
	const struct reg *reg;

	for (reg = fn->regs; reg->name; reg++)
		if (!strcmp(reg->name, name))
			return reg;

	return NULL;
}

/**
 * fakehost_peek - a register as it is, without an access
 * @slot:	number
 * @port:	of the port; else of the card's function 0
 * @reg:	its name
 */
u32 fakehost_peek(unsigned int slot, bool port, const char *reg)
{
	struct fn *fn = port ? &hw->slot[slot].port : &hw->slot[slot].ep[0];
	const struct reg *found = reg_named(fn, reg);

	return found ? get(fn->space, found->off, found->width) : ~0u;
}
EXPORT_SYMBOL_GPL(fakehost_peek);

/**
 * fakehost_poke - give a register a value behind the kernel's back
 * @slot:	number
 * @port:	of the port; else of the card's function 0
 * @reg:	its name
 * @value:	value
 */
void fakehost_poke(unsigned int slot, bool port, const char *reg, u32 value)
{
	struct fn *fn = port ? &hw->slot[slot].port : &hw->slot[slot].ep[0];
	const struct reg *found = reg_named(fn, reg);
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	if (found)
		put(fn->space, found->off, found->width, value);
	raw_spin_unlock_irqrestore(&lock, flags);
}
EXPORT_SYMBOL_GPL(fakehost_poke);

static int __init fakehost_init(void)
{
	return autostart ? fakehost_start() : 0;
}

static void __exit fakehost_exit(void)
{
	if (bridge)
		fakehost_stop();
}

module_init(fakehost_init);
module_exit(fakehost_exit);
MODULE_DESCRIPTION("simulated PCI host bridge with cards, for softtape's tests");
MODULE_LICENSE("GPL");
