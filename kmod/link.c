// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hardware edge: read a card's link, carry out a step, read back. Holds no policy. Sections are of the PCI Express
 * Base Specification r6.0.
 *
 * Callers make sure that the card and the port above are awake, and that no link state is freed meanwhile: they are a
 * driver-core callback of the card, or hold the rescan lock or the record's mutex (see record.c).
 */
#include <linux/delay.h>
#include <linux/pci.h>

#include "link.h"

/* Link training must end within 1 s of conventional reset (6.6.1); a retrain takes milliseconds. */
#define TRAINING_MS	1000

/* A card that is coming back from Recovery may miss one read; one that is gone misses two. */
#define GONE_MS		10

/**
 * softtape_link_port - the downstream port directly above a card
 * @card:	any function of the card
 *
 * Return: the port, alive as long as @card is, or NULL when the card is integrated into the root complex, sits behind a
 * conventional bridge or was passed through to a guest without a port.
 */
struct pci_dev *softtape_link_port(struct pci_dev *card)
{
	struct pci_dev *port = pci_upstream_bridge(card);

	if (!port || !pci_is_pcie(port) || !pci_is_pcie(card))
		return NULL;
	if (pci_pcie_type(port) != PCI_EXP_TYPE_ROOT_PORT && pci_pcie_type(port) != PCI_EXP_TYPE_DOWNSTREAM)
		return NULL;

	return port;
}

/**
 * softtape_link_function - an NVIDIA function of a card's slot
 * @card:	any function of the card
 * @function:	0 to SOFTTAPE_FUNCTIONS_MAX - 1
 *
 * Return: the function with a reference for the caller to drop, or NULL when there is none or it is not NVIDIA's.
 */
struct pci_dev *softtape_link_function(struct pci_dev *card, unsigned int function)
{
	struct pci_dev *pdev = pci_get_slot(card->bus, PCI_DEVFN(PCI_SLOT(card->devfn), function));

	if (pdev && pdev->vendor != PCI_VENDOR_ID_NVIDIA) {
		pci_dev_put(pdev);
		return NULL;
	}

	return pdev;
}

/**
 * softtape_link_bound - is a driver bound to any NVIDIA function of the slot?
 * @card:	any function of the card
 *
 * Stable only while the device locks of the functions are held.
 */
bool softtape_link_bound(struct pci_dev *card)
{
	unsigned int i;

	for (i = 0; i < SOFTTAPE_FUNCTIONS_MAX; i++) {
		struct pci_dev *pdev = softtape_link_function(card, i);
		bool bound = pdev && READ_ONCE(pdev->dev.driver);

		pci_dev_put(pdev);
		if (bound)
			return true;
	}

	return false;
}

static bool answers(struct pci_dev *pdev)
{
	u16 vendor;

	return !pci_read_config_word(pdev, PCI_VENDOR_ID, &vendor) && vendor != 0xffff;
}

/* The search takes a header that cannot be read for the end of the list, so it must come to that twice. */
static int find_l1ss(struct pci_dev *pdev)
{
	int pos = pci_find_ext_capability(pdev, PCI_EXT_CAP_ID_L1SS);

	return pos ? pos : pci_find_ext_capability(pdev, PCI_EXT_CAP_ID_L1SS);
}

/* False when a register could not be read: the core gives 0 then, which looks like off. */
static bool read_end(struct pci_dev *pdev, struct softtape_end *end)
{
	int pos, failed = 0;

	memset(end, 0, sizeof(*end));
	end->known = true;
	if (!pci_is_pcie(pdev))
		return true;

	end->version = pdev->pcie_flags_reg & PCI_EXP_FLAGS_VERS;
	end->type = pci_pcie_type(pdev);
	failed |= pcie_capability_read_dword(pdev, PCI_EXP_LNKCAP, &end->lnkcap);
	failed |= pcie_capability_read_word(pdev, PCI_EXP_LNKCTL, &end->lnkctl);
	failed |= pcie_capability_read_word(pdev, PCI_EXP_LNKSTA, &end->lnksta);
	if (end->version > 1) {
		failed |= pcie_capability_read_dword(pdev, PCI_EXP_LNKCAP2, &end->lnkcap2);
		failed |= pcie_capability_read_word(pdev, PCI_EXP_LNKCTL2, &end->lnkctl2);
	}

	end->ext_known = true;
	pos = find_l1ss(pdev);
	if (pos) {
		failed |= pci_read_config_dword(pdev, pos + PCI_L1SS_CAP, &end->l1ss_cap);
		failed |= pci_read_config_dword(pdev, pos + PCI_L1SS_CTL1, &end->l1ss_ctl1);
	}

	return !failed;
}

/**
 * softtape_link_read - read both ends of a card's link
 * @card:	the matched function
 * @ret_link:	filled on success
 *
 * May sleep.
 *
 * Return:
 * * %0		- read
 * * %-ENODEV	- the port answers and the card does not, twice: it is off the bus
 * * %-EAGAIN	- the port does not answer, or a register could not be read; nothing can be said of the card
 */
int softtape_link_read(struct pci_dev *card, struct softtape_link *ret_link)
{
	struct pci_dev *port = softtape_link_port(card);
	unsigned int i;
	bool read;

	memset(ret_link, 0, sizeof(*ret_link));
	ret_link->above = port ? SOFTTAPE_ABOVE_PORT : SOFTTAPE_ABOVE_NONE;
	ret_link->d3cold = card->no_d3cold ? SOFTTAPE_OFF : SOFTTAPE_ON;

	read = read_end(card, &ret_link->fn[ret_link->nr_fn++]);
	if (port)
		read &= read_end(port, &ret_link->port);

	for (i = 0; i < SOFTTAPE_FUNCTIONS_MAX; i++) {
		struct pci_dev *pdev = softtape_link_function(card, i);

		if (pdev && pdev != card) {
			read &= read_end(pdev, &ret_link->fn[ret_link->nr_fn++]);
			if (!pdev->no_d3cold)
				ret_link->d3cold = SOFTTAPE_ON;
		}
		pci_dev_put(pdev);
	}

	/* Asked after the registers: whatever was read before a card vanished is not trusted. */
	if (answers(card))
		return read ? 0 : -EAGAIN;
	if (port && !answers(port))
		return -EAGAIN;

	msleep(GONE_MS);
	return answers(card) ? -EAGAIN : -ENODEV;
}

static void clear_l1ss(struct pci_dev *pdev)
{
	int pos = pci_find_ext_capability(pdev, PCI_EXT_CAP_ID_L1SS);
	u32 ctl1;

	/* Dword access only: some devices break on less (drivers/pci/pcie/aspm.c). */
	if (!pos || pci_read_config_dword(pdev, pos + PCI_L1SS_CTL1, &ctl1) || ctl1 == ~0u)
		return;
	if (ctl1 & PCI_L1SS_CTL1_L1SS_MASK)
		pci_write_config_dword(pdev, pos + PCI_L1SS_CTL1, ctl1 & ~PCI_L1SS_CTL1_L1SS_MASK);
}

static void clear_lnkctl(struct pci_dev *pdev, u16 bits)
{
	u16 lnkctl;

	if (!pcie_capability_read_word(pdev, PCI_EXP_LNKCTL, &lnkctl) && lnkctl != 0xffff && (lnkctl & bits))
		pcie_capability_clear_word(pdev, PCI_EXP_LNKCTL, bits);
}

/*
 * ASPM is disabled in all functions of the downstream component before the port (7.5.3.7), L1 before its substates and
 * the substates child first (5.5.4).
 */
static void clear_directly(struct pci_dev *card)
{
	struct pci_dev *port = softtape_link_port(card);
	unsigned int i;

	for (i = 0; i < SOFTTAPE_FUNCTIONS_MAX; i++) {
		struct pci_dev *pdev = softtape_link_function(card, i);

		if (pdev)
			clear_lnkctl(pdev, PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_CLKREQ_EN);
		pci_dev_put(pdev);
	}
	clear_lnkctl(port, PCI_EXP_LNKCTL_ASPMC);

	clear_l1ss(card);
	clear_l1ss(port);
}

/* Which of the three link states are on; none when the card does not answer. */
static void read_states(struct pci_dev *card, bool on[SOFTTAPE_D3COLD])
{
	struct softtape_link link;
	struct softtape_view view;
	int ret, i;

	ret = softtape_link_read(card, &link);
	if (ret == -EAGAIN)
		ret = softtape_link_read(card, &link);

	softtape_view_make(&link, &view);
	for (i = 0; i < SOFTTAPE_D3COLD; i++)
		on[i] = !ret && softtape_value_on(view.item[i]);
}

/**
 * softtape_link_settle - disable ASPM, Clock PM and L1 substates on a card's link
 * @card:	the matched function, with a downstream port above
 * @policy:	its aspm value decides; nothing is done with keep or dry_run
 * @outcome:	refusal is set for the three items, from what the registers say afterwards
 *
 * The core is told even when the registers are clear, so that a later change of its policy does not switch the states
 * on. Its return value says who refuses, never that something was done: it is 0 without CONFIG_PCIEASPM, and for bits
 * that changed behind its back (include/linux/pci.h; aspm.c:pcie_config_aspm_link). May sleep.
 *
 * Return: what the core said:
 * * %0		- told
 * * %-EPERM	- the OS has no control over ASPM (firmware)
 * * %-EINVAL	- the core keeps no state for this link: pcie_aspm=off, or enumeration has not ended
 */
int softtape_link_settle(struct pci_dev *card, const struct softtape_policy *policy,
			 struct softtape_outcome *outcome)
{
	enum softtape_reason refusal = SOFTTAPE_R_REFUSED_READBACK;
	bool on[SOFTTAPE_D3COLD];
	int ret, i;

	if (policy->aspm == SOFTTAPE_ASPM_KEEP || policy->dry_run)
		return 0;

	ret = pci_disable_link_state(card, PCIE_LINK_STATE_L0S | PCIE_LINK_STATE_L1 | PCIE_LINK_STATE_CLKPM);
	if (ret && policy->aspm != SOFTTAPE_ASPM_FORCE)
		refusal = ret == -EPERM ? SOFTTAPE_R_REFUSED_FIRMWARE : SOFTTAPE_R_REFUSED_CORE;

	read_states(card, on);
	if (refusal == SOFTTAPE_R_REFUSED_READBACK && memchr(on, true, sizeof(on))) {
		clear_directly(card);
		read_states(card, on);
	}

	for (i = 0; i < SOFTTAPE_D3COLD; i++)
		outcome->refusal[i] = on[i] ? refusal : SOFTTAPE_R_NONE;

	return ret;
}

static int wait_training_ended(struct pci_dev *port)
{
	u16 lnksta;
	int ms;

	for (ms = 0; ms <= TRAINING_MS; ms++) {
		if (pcie_capability_read_word(port, PCI_EXP_LNKSTA, &lnksta) || lnksta == 0xffff)
			return -ENODEV;
		if (!(lnksta & PCI_EXP_LNKSTA_LT))
			return 0;
		usleep_range(1000, 1100);
	}

	return -ETIMEDOUT;
}

static int wait_link_active(struct pci_dev *port)
{
	u32 lnkcap;
	u16 lnksta;
	int ms;

	/* Without Data Link Layer Link Active Reporting the bit reads 0 on a link that works (7.5.3.8). */
	if (pcie_capability_read_dword(port, PCI_EXP_LNKCAP, &lnkcap) || !(lnkcap & PCI_EXP_LNKCAP_DLLLARC))
		return 0;

	for (ms = 0; ms <= TRAINING_MS; ms++) {
		if (pcie_capability_read_word(port, PCI_EXP_LNKSTA, &lnksta) || lnksta == 0xffff)
			return -ENODEV;
		if (lnksta & PCI_EXP_LNKSTA_DLLLA)
			return 0;
		usleep_range(1000, 1100);
	}

	return -ETIMEDOUT;
}

static int retrain(struct pci_dev *port, struct pci_dev *card)
{
	int ret;

	pcie_capability_set_word(port, PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_RL);

	ret = wait_training_ended(port);
	if (ret)
		return ret;

	ret = wait_link_active(port);
	if (ret)
		return ret;

	/*
	 * Link Bandwidth Management Status, set by our retrain, together with a link that is down later makes the
	 * core's quirk force 2.5 GT/s (quirks.c:pcie_failed_link_retrain). Write 1 to clear.
	 */
	pcie_capability_write_word(port, PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_LBMS);

	return answers(card) ? 0 : -ENODEV;
}

/**
 * softtape_link_set_tls - write a port's Target Link Speed and read it back
 * @port:	downstream port with a capability version above 1
 * @from:	value that must be there, else nothing is written; 0 = any
 * @to:		value to write, 1-6
 *
 * Does not retrain: the value counts from the next training on.
 *
 * Return: the value read back; %-EBUSY when it was not @from, %-ENODEV when the port does not answer.
 */
int softtape_link_set_tls(struct pci_dev *port, __u8 from, __u8 to)
{
	u16 lnkctl2;

	if (!answers(port) || pcie_capability_read_word(port, PCI_EXP_LNKCTL2, &lnkctl2))
		return -ENODEV;
	if (from && (lnkctl2 & PCI_EXP_LNKCTL2_TLS) != from)
		return -EBUSY;

	pcie_capability_clear_and_set_word(port, PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS, to);
	if (pcie_capability_read_word(port, PCI_EXP_LNKCTL2, &lnkctl2))
		return -ENODEV;

	return lnkctl2 & PCI_EXP_LNKCTL2_TLS;
}

static bool runs_within(struct pci_dev *port, __u8 speed)
{
	u16 lnksta;

	return !pcie_capability_read_word(port, PCI_EXP_LNKSTA, &lnksta) && lnksta != 0xffff &&
	       (lnksta & PCI_EXP_LNKSTA_CLS) <= speed;
}

/**
 * softtape_link_cap - carry out the cap step of a plan
 * @card:	the matched function, with a downstream port above and no driver bound to any function
 * @cap:	speed asked for, 1-4
 * @step:	the step
 * @ret_tls:	with SET and CLAMPED the port's target speed, as read back
 *
 * The port's target speed rules; the card's own does nothing [report: cmpunlocker PR 19]. A port that does not take the
 * value, or a link that does not follow, gets its old target speed back and is retrained once more. May sleep for some
 * seconds when the link fails, else for milliseconds.
 *
 * Return: SOFTTAPE_CAP_SET, SOFTTAPE_CAP_CLAMPED or SOFTTAPE_CAP_REFUSED_READBACK.
 */
enum softtape_cap softtape_link_cap(struct pci_dev *card, __u8 cap, const struct softtape_step *step, __u8 *ret_tls)
{
	struct pci_dev *port = softtape_link_port(card);
	enum softtape_cap result;
	u16 lnkctl2;
	__u8 old;
	int tls;

	if (wait_training_ended(port) || pcie_capability_read_word(port, PCI_EXP_LNKCTL2, &lnkctl2))
		return SOFTTAPE_CAP_REFUSED_READBACK;

	old = lnkctl2 & PCI_EXP_LNKCTL2_TLS;
	tls = softtape_link_set_tls(port, old, step->to);
	/* The write may have been done all the same. */
	if (tls == -ENODEV)
		softtape_link_set_tls(port, step->to, old);
	if (tls < 0)
		return SOFTTAPE_CAP_REFUSED_READBACK;

	result = softtape_cap_judge(cap, old, tls);
	if (result != SOFTTAPE_CAP_REFUSED_READBACK &&
	    (!step->retrain || (!retrain(port, card) && runs_within(port, tls)))) {
		*ret_tls = tls;
		return result;
	}

	if (tls != old)
		softtape_link_set_tls(port, 0, old);
	if (result != SOFTTAPE_CAP_REFUSED_READBACK)
		retrain(port, card);

	return SOFTTAPE_CAP_REFUSED_READBACK;
}
