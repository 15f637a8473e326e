// SPDX-License-Identifier: GPL-2.0-only
/*
 * A simulated PCI host bridge with one root port and one card, as registers in
 * memory, for the test guest: the kernel's PCI core takes it for hardware.
 *
 * It offers what QEMU's root port does not: L0s and L1, L1 substates, common
 * clock, a target speed and a retrain on the port's side of the link. It knows
 * nothing of softtape. No interrupt, no hot-plug slot, no memory behind BAR0.
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
#include <linux/suspend.h>

#define CAP_PM		0x60
#define CAP_EXP		0x78
#define CAP_L1SS	0x100	/* first extended capability */

/* Which register: index into both tables, an absent one has width 0. */
enum {
	ID, COMMAND, STATUS, CLASS, CACHELINE, HEADER, BAR0, BAR0_HI, SUBSYS,
	BUSES, IOWIN, MEMWIN, PREFWIN, PREFBASE, PREFLIMIT, BRCTL, CAPPTR, INTLINE,
	PM, PMCSR, EXP, DEVCAP, DEVCTL, DEVSTA, LNKCAP, LNKCTL, LNKSTA, RTCTL,
	DEVCAP2, DEVCTL2, LNKCAP2, LNKCTL2,
	L1SS, L1SS_CAP, L1SS_CTL1, L1SS_CTL2,
	NR_REGS
};

/**
 * struct reg - one register of one function
 * @name:	shown in the log
 * @off:	offset in config space, bytes
 * @width:	bytes: 1, 2 or 4; 0 where the function lacks the register
 * @reset:	value after power-on, as if firmware had left it there
 * @rw:		bits that take what is written
 * @w1c:	bits that a written 1 clears
 * @val:	value now
 */
struct reg {
	const char *name;
	u16 off;
	u8 width;
	u32 reset;
	u32 rw;
	u32 w1c;
	u32 val;
};

/* The part of the table that both ends of a link share. */
#define COMMON_REGS							\
	[COMMAND] = { "command", PCI_COMMAND, 2, .rw = 0x0547 },	\
	[STATUS] = { "status", PCI_STATUS, 2, PCI_STATUS_CAP_LIST,	\
		     .w1c = 0xf900 },					\
	[CACHELINE] = { "cacheline", PCI_CACHE_LINE_SIZE, 2, .rw = 0xffff }, \
	[INTLINE] = { "intline", PCI_INTERRUPT_LINE, 1, .rw = 0xff },	\
	[DEVCTL] = { "devctl", CAP_EXP + PCI_EXP_DEVCTL, 2, 0x2810,	\
		     .rw = 0x7fff },					\
	[DEVSTA] = { "devsta", CAP_EXP + PCI_EXP_DEVSTA, 2, .w1c = 0x0f }, \
	[DEVCAP2] = { "devcap2", CAP_EXP + PCI_EXP_DEVCAP2, 4,		\
		      PCI_EXP_DEVCAP2_LTR },				\
	[DEVCTL2] = { "devctl2", CAP_EXP + PCI_EXP_DEVCTL2, 2,		\
		      .rw = PCI_EXP_DEVCTL2_LTR_EN | 0x1f },		\
	[LNKCAP2] = { "lnkcap2", CAP_EXP + PCI_EXP_LNKCAP2, 4 },	\
	[LNKCTL2] = { "lnkctl2", CAP_EXP + PCI_EXP_LNKCTL2, 2,		\
		      .rw = PCI_EXP_LNKCTL2_TLS | 0x0030 },		\
	[L1SS] = { "l1ss", CAP_L1SS, 4, 0x00010000 | PCI_EXT_CAP_ID_L1SS }, \
	[L1SS_CAP] = { "l1ss_cap", CAP_L1SS + PCI_L1SS_CAP, 4,		\
		       0x0028281f },					\
	[L1SS_CTL1] = { "l1ss_ctl1", CAP_L1SS + PCI_L1SS_CTL1, 4,	\
			.rw = 0xe3ffff0f },				\
	[L1SS_CTL2] = { "l1ss_ctl2", CAP_L1SS + PCI_L1SS_CTL2, 4,	\
			.reset = 0x28, .rw = 0xfb }

/* Exit latencies 3 (256-512 ns, 4-8 us): short enough for any card. */
#define LNKCAP_COMMON (PCI_EXP_LNKCAP_ASPMS | 3 << 12 | 3 << 15 | 1 << 22)
#define LNKCTL_FIRMWARE (PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_CCC)

static struct reg port_regs[NR_REGS] = {
	COMMON_REGS,
	[ID] = { "id", PCI_VENDOR_ID, 4, 0x4b4b1b36 },
	[CLASS] = { "class", PCI_CLASS_REVISION, 4, PCI_CLASS_BRIDGE_PCI << 16 },
	[HEADER] = { "header", PCI_HEADER_TYPE, 1, PCI_HEADER_TYPE_BRIDGE },
	[BUSES] = { "buses", PCI_PRIMARY_BUS, 4, .rw = 0x00ffffff },
	[IOWIN] = { "iowin", PCI_IO_BASE, 2, 0x00f0, .rw = 0xf0f0 },
	[MEMWIN] = { "memwin", PCI_MEMORY_BASE, 4, 0x0000fff0,
		     .rw = 0xfff0fff0 },
	[PREFWIN] = { "prefwin", PCI_PREF_MEMORY_BASE, 4, 0x0001fff1,
		      .rw = 0xfff0fff0 },
	[PREFBASE] = { "prefbase", PCI_PREF_BASE_UPPER32, 4, .rw = ~0u },
	[PREFLIMIT] = { "preflimit", PCI_PREF_LIMIT_UPPER32, 4, .rw = ~0u },
	[CAPPTR] = { "capptr", PCI_CAPABILITY_LIST, 1, CAP_EXP },
	[BRCTL] = { "brctl", PCI_BRIDGE_CONTROL, 2, .rw = 0x005b },
	[EXP] = { "exp", CAP_EXP, 4, PCI_EXP_TYPE_ROOT_PORT << 20 |
		  PCI_CAP_ID_EXP },
	[DEVCAP] = { "devcap", CAP_EXP + PCI_EXP_DEVCAP, 4, 0x00008001 },
	[LNKCAP] = { "lnkcap", CAP_EXP + PCI_EXP_LNKCAP, 4, LNKCAP_COMMON |
		     PCI_EXP_LNKCAP_DLLLARC | PCI_EXP_LNKCAP_LBNC },
	[LNKCTL] = { "lnkctl", CAP_EXP + PCI_EXP_LNKCTL, 2, LNKCTL_FIRMWARE,
		     .rw = 0x0ed3 },
	[LNKSTA] = { "lnksta", CAP_EXP + PCI_EXP_LNKSTA, 2, PCI_EXP_LNKSTA_SLC,
		     .w1c = PCI_EXP_LNKSTA_LBMS | PCI_EXP_LNKSTA_LABS },
	[RTCTL] = { "rtctl", CAP_EXP + PCI_EXP_RTCTL, 2, .rw = 0x1f },
};

/* DEVCAP: the card accepts any L0s and L1 exit latency. */
static struct reg ep_regs[NR_REGS] = {
	COMMON_REGS,
	[ID] = { "id", PCI_VENDOR_ID, 4 },
	[CLASS] = { "class", PCI_CLASS_REVISION, 4 },
	[HEADER] = { "header", PCI_HEADER_TYPE, 1, PCI_HEADER_TYPE_NORMAL },
	[BAR0] = { "bar0", PCI_BASE_ADDRESS_0, 4,
		   PCI_BASE_ADDRESS_MEM_TYPE_64 |
		   PCI_BASE_ADDRESS_MEM_PREFETCH, .rw = ~(SZ_16M - 1) },
	[BAR0_HI] = { "bar0_hi", PCI_BASE_ADDRESS_1, 4, .rw = ~0u },
	[SUBSYS] = { "subsys", PCI_SUBSYSTEM_VENDOR_ID, 4, 0x4b4b10de },
	[CAPPTR] = { "capptr", PCI_CAPABILITY_LIST, 1, CAP_PM },
	[PM] = { "pm", CAP_PM, 4, 3 << 16 | CAP_EXP << 8 | PCI_CAP_ID_PM },
	[PMCSR] = { "pmcsr", CAP_PM + PCI_PM_CTRL, 2,
		    PCI_PM_CTRL_NO_SOFT_RESET, .rw = PCI_PM_CTRL_STATE_MASK },
	[EXP] = { "exp", CAP_EXP, 4, PCI_EXP_TYPE_LEG_END << 20 |
		  PCI_CAP_ID_EXP },
	[DEVCAP] = { "devcap", CAP_EXP + PCI_EXP_DEVCAP, 4, 0x00008fe1 },
	[LNKCAP] = { "lnkcap", CAP_EXP + PCI_EXP_LNKCAP, 4, LNKCAP_COMMON |
		     PCI_EXP_LNKCAP_CLKPM },
	[LNKCTL] = { "lnkctl", CAP_EXP + PCI_EXP_LNKCTL, 2, LNKCTL_FIRMWARE |
		     PCI_EXP_LNKCTL_CLKREQ_EN, .rw = 0x03cb },
	[LNKSTA] = { "lnksta", CAP_EXP + PCI_EXP_LNKSTA, 2,
		     PCI_EXP_LNKSTA_SLC },
};

/**
 * struct fn - one PCI function
 * @name:	shown in the log
 * @speed:	fastest link speed, 1 = 2.5 GT/s; goes into LNKCAP and LNKCAP2
 * @version:	of the PCI Express capability; 1 has no LNKCAP2 and LNKCTL2
 * @regs:	NR_REGS registers
 */
struct fn {
	const char *name;
	u32 speed;
	u32 version;
	struct reg *regs;
};

static struct fn port = { "port", 3, 2, port_regs };
static struct fn ep = { "ep", 3, 2, ep_regs };

/* Changes take effect at the card's next power-on (present 0, then 1) ... */
module_param_named(port_speed, port.speed, uint, 0644);
module_param_named(ep_speed, ep.speed, uint, 0644);
module_param_named(port_version, port.version, uint, 0644);
module_param_named(ep_version, ep.version, uint, 0644);
module_param_named(port_lnkcap, port_regs[LNKCAP].reset, uint, 0644);
module_param_named(ep_lnkcap, ep_regs[LNKCAP].reset, uint, 0644);
module_param_named(port_lnkctl, port_regs[LNKCTL].reset, uint, 0644);
module_param_named(ep_lnkctl, ep_regs[LNKCTL].reset, uint, 0644);
module_param_named(port_l1ss, port_regs[L1SS_CTL1].reset, uint, 0644);
module_param_named(ep_l1ss, ep_regs[L1SS_CTL1].reset, uint, 0644);
module_param_named(port_tls, port_regs[LNKCTL2].reset, uint, 0644);

static unsigned int ep_vendor = PCI_VENDOR_ID_NVIDIA;
module_param(ep_vendor, uint, 0644);
static unsigned int ep_device = 0x1b87;
module_param(ep_device, uint, 0644);
static unsigned int ep_class = PCI_CLASS_DISPLAY_3D << 8;
module_param(ep_class, uint, 0644);
static unsigned int width = 4;
module_param(width, uint, 0644);
MODULE_PARM_DESC(width, "lanes in LNKCAP of both ends");

/* ... these at once: bits that take a write (0 = stuck), ... */
module_param_named(port_lnkctl_rw, port_regs[LNKCTL].rw, uint, 0644);
module_param_named(ep_lnkctl_rw, ep_regs[LNKCTL].rw, uint, 0644);
module_param_named(port_l1ss_rw, port_regs[L1SS_CTL1].rw, uint, 0644);
module_param_named(ep_l1ss_rw, ep_regs[L1SS_CTL1].rw, uint, 0644);
module_param_named(port_tls_rw, port_regs[LNKCTL2].rw, uint, 0644);

/* ... and what the link makes of a retrain. */
static unsigned int tls_min;
module_param(tls_min, uint, 0644);
static unsigned int tls_max = 15;
module_param(tls_max, uint, 0644);
MODULE_PARM_DESC(tls_max, "the port stores a target speed within tls_min and tls_max");
static unsigned int train_speed = 15;
module_param(train_speed, uint, 0644);
MODULE_PARM_DESC(train_speed, "training reaches this speed at most");
static unsigned int train_width = 32;
module_param(train_width, uint, 0644);
MODULE_PARM_DESC(train_width, "training reaches this many lanes at most");
static unsigned int fail_speed;
module_param(fail_speed, uint, 0644);
MODULE_PARM_DESC(fail_speed, "training at this speed loses the link, 0 = none");
static int train_reads = 2;
module_param(train_reads, int, 0644);
MODULE_PARM_DESC(train_reads, "reads of LNKSTA that show Link Training, -1 = all");

static unsigned int domain = 0x4b4b;
module_param(domain, uint, 0444);
static bool mem = true;
module_param(mem, bool, 0444);
MODULE_PARM_DESC(mem, "the bridge has a window for BAR0");
static unsigned int bind_delay_ms;
module_param(bind_delay_ms, uint, 0444);
MODULE_PARM_DESC(bind_delay_ms, "time between the card's ADD event and the core's leave to bind it");

/* Registers, link and log; config accesses come in any context. */
static DEFINE_RAW_SPINLOCK(lock);
static bool present = true;
static bool link_up;
static int train_left;

static struct access {
	const char *fn, *reg;
	u32 old, written, now;
	u16 off;
	u8 size;
} accesses[2048];
static unsigned int nr_accesses, nr_lost;

static u32 size_mask(int size)
{
	return GENMASK(size * 8 - 1, 0);
}

/* Registers from Device Capabilities 2 on came with version 2 (PCIe r2.0). */
static bool reg_covers(const struct fn *fn, const struct reg *reg, int off,
		       int size)
{
	if (fn->version < 2 && reg->off >= CAP_EXP + PCI_EXP_DEVCAP2 &&
	    reg->off < CAP_L1SS)
		return false;

	return reg->off < off + size && off < reg->off + reg->width;
}

/* Bits of an access at @off as the register at @reg_off counts them. */
static u32 to_reg(u32 bits, int off, int reg_off)
{
	return off < reg_off ? bits >> (reg_off - off) * 8 :
			       bits << (off - reg_off) * 8;
}

static u32 fn_read(const struct fn *fn, int off, int size)
{
	const struct reg *reg;
	u32 val = 0;

	if (fn == &ep && !link_up)
		return size_mask(size);

	for (reg = fn->regs; reg < fn->regs + NR_REGS; reg++)
		if (reg_covers(fn, reg, off, size))
			val |= to_reg(reg->val, reg->off, off);

	return val & size_mask(size);
}

static void fn_reset(struct fn *fn)
{
	struct reg *regs = fn->regs;
	int i;

	for (i = 0; i < NR_REGS; i++)
		regs[i].val = regs[i].reset;

	regs[EXP].val |= fn->version << 16;
	regs[LNKCAP].val |= fn->speed | width << 4;
	regs[LNKCAP2].val = GENMASK(fn->speed, 1);
	if (!(regs[LNKCTL2].val & PCI_EXP_LNKCTL2_TLS))
		regs[LNKCTL2].val |= fn->speed;
	if (fn == &ep) {
		regs[ID].val = ep_device << 16 | ep_vendor;
		regs[CLASS].val = ep_class << 8 | 0xa1;
	}
}

static void link_set_status(struct reg *lnksta, u32 speed, u32 lanes)
{
	lnksta->val &= ~(PCI_EXP_LNKSTA_CLS | PCI_EXP_LNKSTA_NLW |
			 PCI_EXP_LNKSTA_LT | PCI_EXP_LNKSTA_DLLLA);
	lnksta->val |= speed | lanes << PCI_EXP_LNKSTA_NLW_SHIFT;
}

/* End of training: a link that was down comes up with a card just powered on. */
static void link_trained(void)
{
	u32 tls = port_regs[LNKCTL2].val & PCI_EXP_LNKCTL2_TLS;
	u32 speed = min3(port.speed, ep.speed, train_speed);
	u32 lanes = min(width, train_width);
	bool up;

	if (port.version >= 2)
		speed = min(speed, tls);
	up = present && speed != fail_speed &&
	     !(port_regs[LNKCTL].val & PCI_EXP_LNKCTL_LD);

	if (up && !link_up)
		fn_reset(&ep);
	link_up = up;

	link_set_status(&port_regs[LNKSTA], up ? speed : 0, up ? lanes : 0);
	if (!up)
		return;

	link_set_status(&ep_regs[LNKSTA], speed, lanes);
	if (port_regs[LNKCAP].val & PCI_EXP_LNKCAP_DLLLARC)
		port_regs[LNKSTA].val |= PCI_EXP_LNKSTA_DLLLA;
}

static void link_training_step(void)
{
	if (train_left > 0 && --train_left)
		return;
	if (train_left < 0)
		return;

	link_trained();
	if (port_regs[LNKCAP].val & PCI_EXP_LNKCAP_LBNC)
		port_regs[LNKSTA].val |= PCI_EXP_LNKSTA_LBMS;
}

static void link_retrain(void)
{
	port_regs[LNKSTA].val |= PCI_EXP_LNKSTA_LT;
	train_left = train_reads;
	if (!train_left)
		link_training_step();
}

/* What a write does beside storing bits. */
static void port_written(struct reg *reg, u32 old, u32 written)
{
	u32 tls;

	switch (reg - port_regs) {
	case BRCTL:
		if (!(reg->val & ~old & PCI_BRIDGE_CTL_BUS_RESET))
			break;
		link_up = false;
		link_trained();
		break;
	case LNKCTL:
		if ((reg->val ^ old) & PCI_EXP_LNKCTL_LD)
			link_trained();
		if (written & PCI_EXP_LNKCTL_RL)
			link_retrain();
		break;
	case LNKCTL2:
		tls = reg->val & PCI_EXP_LNKCTL2_TLS;
		reg->val += clamp(tls, tls_min, tls_max) - tls;
		break;
	}
}

static void fn_write(struct fn *fn, int off, int size, u32 data)
{
	struct reg *reg;
	u32 mask, old;

	for (reg = fn->regs; reg < fn->regs + NR_REGS; reg++) {
		if (!reg_covers(fn, reg, off, size))
			continue;

		mask = to_reg(size_mask(size), off, reg->off);
		old = reg->val;
		data &= size_mask(size);
		reg->val &= ~(reg->rw & mask);
		reg->val |= to_reg(data, off, reg->off) & reg->rw & mask;
		reg->val &= ~(to_reg(data, off, reg->off) & reg->w1c & mask);
		if (fn == &port)
			port_written(reg, old, to_reg(data, off, reg->off));
	}
}

static struct access *log_next(void)
{
	static struct access overflow;

	if (nr_accesses < ARRAY_SIZE(accesses))
		return &accesses[nr_accesses++];

	nr_lost++;
	return &overflow;
}

static const char *reg_name(const struct fn *fn, int off, int size)
{
	const struct reg *reg;

	for (reg = fn->regs; reg < fn->regs + NR_REGS; reg++)
		if (reg_covers(fn, reg, off, size))
			return reg->name;

	return "-";
}

/* The port answers on the root bus, the card where the port forwards to. */
static struct fn *fn_find(struct pci_bus *bus, unsigned int devfn)
{
	if (devfn)
		return NULL;
	if (pci_is_root_bus(bus))
		return &port;

	return bus->number == (port_regs[BUSES].val >> 8 & 0xff) ? &ep : NULL;
}

static int fakehost_read(struct pci_bus *bus, unsigned int devfn, int off,
			 int size, u32 *val)
{
	struct fn *fn = fn_find(bus, devfn);
	unsigned long flags;

	if (!fn) {
		*val = size_mask(size);
		return PCIBIOS_SUCCESSFUL;
	}

	raw_spin_lock_irqsave(&lock, flags);
	*val = fn_read(fn, off, size);
	if (fn == &port && reg_covers(fn, &port_regs[LNKSTA], off, size) &&
	    port_regs[LNKSTA].val & PCI_EXP_LNKSTA_LT)
		link_training_step();
	raw_spin_unlock_irqrestore(&lock, flags);

	return PCIBIOS_SUCCESSFUL;
}

static int fakehost_write(struct pci_bus *bus, unsigned int devfn, int off,
			  int size, u32 val)
{
	struct fn *fn = fn_find(bus, devfn);
	struct access *access;
	unsigned long flags;
	u32 old;

	if (!fn)
		return PCIBIOS_SUCCESSFUL;

	raw_spin_lock_irqsave(&lock, flags);
	old = fn_read(fn, off, size);
	if (fn == &port || link_up)
		fn_write(fn, off, size, val);
	access = log_next();
	*access = (struct access) {
		.fn = fn->name, .reg = reg_name(fn, off, size),
		.off = off, .size = size, .old = old,
		.written = val & size_mask(size),
		.now = fn_read(fn, off, size),
	};
	raw_spin_unlock_irqrestore(&lock, flags);

	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops fakehost_ops = {
	.read = fakehost_read,
	.write = fakehost_write,
};

static int present_set(const char *text, const struct kernel_param *kp)
{
	unsigned long flags;
	int ret;

	ret = param_set_bool(text, kp);
	if (ret)
		return ret;

	raw_spin_lock_irqsave(&lock, flags);
	link_trained();
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static const struct kernel_param_ops present_ops = {
	.set = present_set,
	.get = param_get_bool,
};
module_param_cb(present, &present_ops, &present, 0644);
MODULE_PARM_DESC(present, "0: the card is gone, its config space reads all ones");

/* Entries never change once counted; a concurrent clear shows old ones. */
static int log_show(struct seq_file *s, void *unused)
{
	const struct access *a;
	unsigned int nr, lost;
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	nr = nr_accesses;
	lost = nr_lost;
	raw_spin_unlock_irqrestore(&lock, flags);

	for (a = accesses; a < accesses + nr; a++)
		seq_printf(s, "%s %03x %d %0*x %0*x %0*x %s\n", a->fn, a->off,
			   a->size, a->size * 2, a->old, a->size * 2,
			   a->written, a->size * 2, a->now, a->reg);
	if (lost)
		seq_printf(s, "lost %u\n", lost);
	return 0;
}

static ssize_t log_clear(struct file *file, const char __user *buf,
			 size_t count, loff_t *pos)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	nr_accesses = 0;
	nr_lost = 0;
	raw_spin_unlock_irqrestore(&lock, flags);
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
	.write = log_clear,
	.llseek = seq_lseek,
	.release = single_release,
};

/* The core's own structures; one bridge is all a test needs. */
static struct pci_sysdata sysdata = { .node = NUMA_NO_NODE };
static struct resource buses = {
	.name = "fakehost buses",
	.end = 0xff,
	.flags = IORESOURCE_BUS,
};

static struct resource window = {
	.name = "fakehost (simulated)",
	.flags = IORESOURCE_MEM | IORESOURCE_PREFETCH | IORESOURCE_MEM_64,
};

static struct pci_host_bridge *bridge;
static struct dentry *debugfs;

/* S3 takes the power; the bridge wakes before port and card, as firmware left it. */
static int fakehost_resume(struct device *dev)
{
	unsigned long flags;

	if (!pm_resume_via_firmware())
		return 0;

	raw_spin_lock_irqsave(&lock, flags);
	fn_reset(&port);
	link_up = false;
	link_trained();
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
	return allocate_resource(&iomem_resource, &window, SZ_64M, 1ull << 38,
				 iomem_resource.end, SZ_64M, NULL, NULL);
}

static int __init fakehost_init(void)
{
	int ret;

	fn_reset(&port);
	link_trained();

	bridge = pci_alloc_host_bridge(0);
	if (!bridge)
		return -ENOMEM;

	sysdata.domain = domain;
	bridge->sysdata = &sysdata;
	bridge->ops = &fakehost_ops;
	bridge->dev.pm_domain = &power;
	pci_add_resource(&bridge->windows, &buses);
	if (mem) {
		ret = window_init();
		if (ret)
			goto err_free_bridge;
		pci_add_resource(&bridge->windows, &window);
	}

	pci_lock_rescan_remove();
	ret = pci_scan_root_bus_bridge(bridge);
	if (!ret) {
		pci_assign_unassigned_bus_resources(bridge->bus);
		if (bind_delay_ms)
			msleep(bind_delay_ms);
		pci_bus_add_devices(bridge->bus);
	}
	pci_unlock_rescan_remove();
	if (ret)
		goto err_release_window;

	debugfs = debugfs_create_dir("fakehost", NULL);
	debugfs_create_file("log", 0600, debugfs, NULL, &log_fops);
	return 0;

err_release_window:
	if (mem)
		release_resource(&window);
err_free_bridge:
	pci_free_host_bridge(bridge);
	return ret;
}

static void __exit fakehost_exit(void)
{
	debugfs_remove_recursive(debugfs);

	pci_lock_rescan_remove();
	pci_stop_root_bus(bridge->bus);
	pci_remove_root_bus(bridge->bus);
	pci_unlock_rescan_remove();

	pci_free_host_bridge(bridge);
	if (mem)
		release_resource(&window);
}

module_init(fakehost_init);
module_exit(fakehost_exit);
MODULE_DESCRIPTION("simulated PCI host bridge with one card, for softtape's tests");
MODULE_LICENSE("GPL");
