// SPDX-License-Identifier: GPL-2.0-only
/*
 * From registers to words, and from words and policy to steps. Pure: no device, no I/O, no clock. Sections are of the
 * PCI Express Base Specification r6.0.
 */
#include "softtape.h"

static __u8 highest_speed(const struct softtape_end *end)
{
	/* Supported Link Speeds Vector, bits 7:1 (7.5.3.18); zero in devices that only know 2.5 GT/s and 5 GT/s. */
	unsigned int vector = end->lnkcap2 >> 1 & 0x7f;
	__u8 speed = 0;

	for (; vector; vector >>= 1)
		speed++;

	return speed ? speed : end->lnkcap & PCI_EXP_LNKCAP_SLS;
}

static bool port_read(const struct softtape_link *link)
{
	return link->above == SOFTTAPE_ABOVE_PORT && link->port.known;
}

static enum softtape_value aspm_value(const struct softtape_link *link)
{
	unsigned int on = 0, able = 0;
	int i;

	for (i = 0; i < link->nr_fn; i++) {
		on |= link->fn[i].lnkctl & PCI_EXP_LNKCTL_ASPMC;
		able |= (link->fn[i].lnkcap & PCI_EXP_LNKCAP_ASPMS) >> 10;
	}

	if (port_read(link)) {
		on |= link->port.lnkctl & PCI_EXP_LNKCTL_ASPMC;
		able &= (link->port.lnkcap & PCI_EXP_LNKCAP_ASPMS) >> 10;
	}

	/* Bits that firmware set without support on the other end are still on. */
	return on || able ? (enum softtape_value)on : SOFTTAPE_UNSUPPORTED;
}

/* Enable Clock Power Management exists on the card's functions only (7.5.3.7). */
static enum softtape_value clkpm_value(const struct softtape_link *link)
{
	bool able = false;
	int i;

	for (i = 0; i < link->nr_fn; i++) {
		if (link->fn[i].lnkctl & PCI_EXP_LNKCTL_CLKREQ_EN)
			return SOFTTAPE_ON;
		able |= !!(link->fn[i].lnkcap & PCI_EXP_LNKCAP_CLKPM);
	}

	return able ? SOFTTAPE_OFF : SOFTTAPE_UNSUPPORTED;
}

static bool l1ss_on(const struct softtape_end *end)
{
	return end->l1ss_cap && (end->l1ss_ctl1 & PCI_L1SS_CTL1_L1SS_MASK);
}

/* L1 substates live in function 0 of the card and in the port (7.8.3). */
static enum softtape_value l1ss_value(const struct softtape_link *link)
{
	const struct softtape_end *card = &link->fn[0], *port = &link->port;

	if (l1ss_on(card) || (port_read(link) && l1ss_on(port)))
		return SOFTTAPE_ON;
	if (!card->ext_known || (port_read(link) && !port->ext_known))
		return SOFTTAPE_UNKNOWN;
	if (!card->l1ss_cap || (port_read(link) && !port->l1ss_cap))
		return SOFTTAPE_UNSUPPORTED;
	return SOFTTAPE_OFF;
}

/**
 * softtape_view_make - say what a link's registers mean
 * @link:	registers as read, not changed
 * @ret_view:	filled completely
 *
 * Clock PM and ASPM count as on when one function or end has them on. Without a downstream port above nothing is ours
 * to change and every item is unsupported.
 */
void softtape_view_make(const struct softtape_link *link, struct softtape_view *ret_view)
{
	const struct softtape_end *card = &link->fn[0];
	int i;

	memset(ret_view, 0, sizeof(*ret_view));
	ret_view->above = link->above;

	for (i = 0; i < SOFTTAPE_NR_ITEMS; i++)
		ret_view->item[i] = card->known ? SOFTTAPE_UNSUPPORTED : SOFTTAPE_UNKNOWN;

	if (card->known) {
		ret_view->speed = card->lnksta & PCI_EXP_LNKSTA_CLS;
		ret_view->width = (card->lnksta & PCI_EXP_LNKSTA_NLW) >> PCI_EXP_LNKSTA_NLW_SHIFT;
		ret_view->max_speed = card->lnkcap & PCI_EXP_LNKCAP_SLS;
		ret_view->max_width = (card->lnkcap & PCI_EXP_LNKCAP_MLW) >> 4;
	}

	if (link->above == SOFTTAPE_ABOVE_NONE)
		return;

	ret_view->item[SOFTTAPE_D3COLD] = link->d3cold;
	if (card->known && card->version) {
		ret_view->item[SOFTTAPE_ASPM] = aspm_value(link);
		ret_view->item[SOFTTAPE_CLKPM] = clkpm_value(link);
		ret_view->item[SOFTTAPE_L1SS] = l1ss_value(link);
	}

	if (!port_read(link))
		return;

	ret_view->port_version = link->port.version;
	ret_view->port_max = highest_speed(&link->port);
	ret_view->tls = link->port.lnkctl2 & PCI_EXP_LNKCTL2_TLS;
}

/**
 * softtape_value_on - is something enabled?
 * @value:	any enum softtape_value
 */
bool softtape_value_on(enum softtape_value value)
{
	return value != SOFTTAPE_OFF && value != SOFTTAPE_UNSUPPORTED && value != SOFTTAPE_UNKNOWN;
}

static bool item_wanted_off(enum softtape_item item, const struct softtape_policy *policy)
{
	if (item == SOFTTAPE_D3COLD)
		return policy->d3cold == SOFTTAPE_D3COLD_OFF;
	return policy->aspm != SOFTTAPE_ASPM_KEEP;
}

static void add_step(struct softtape_plan *plan, enum softtape_item what, __u8 from, __u8 to, bool retrain)
{
	struct softtape_step *step = &plan->step[plan->nr++];

	step->what = what;
	step->from = from;
	step->to = to;
	step->retrain = retrain;
}

static enum softtape_cap plan_cap(const struct softtape_view *view, __u8 cap, struct softtape_plan *plan)
{
	__u8 to = cap;

	if (!cap)
		return SOFTTAPE_CAP_KEEP;
	if (view->above == SOFTTAPE_ABOVE_NONE)
		return SOFTTAPE_CAP_UNSUPPORTED;
	if (view->above == SOFTTAPE_ABOVE_UNKNOWN || !view->port_version)
		return SOFTTAPE_CAP_UNKNOWN;

	/*
	 * The kernel's accessors drop writes to the "2" registers of a version-1 capability silently
	 * (drivers/pci/access.c:pcie_capability_reg_implemented), so such a port is capped by what it is or not at all.
	 */
	if (view->port_version == 1)
		return view->port_max <= cap ? SOFTTAPE_CAP_UNNEEDED : SOFTTAPE_CAP_REFUSED_V1;

	if (view->tls <= cap && view->speed <= cap)
		return SOFTTAPE_CAP_UNNEEDED;

	if (view->port_max && view->port_max < to)
		to = view->port_max;
	if (view->tls && view->tls < to)
		to = view->tls;

	add_step(plan, SOFTTAPE_CAP, view->tls > view->speed ? view->tls : view->speed, to, view->speed > cap);
	return SOFTTAPE_CAP_SET;
}

/**
 * softtape_plan_make - decide what to change on a card's link
 * @view:	state read just before
 * @policy:	module parameters; dry_run changes nothing here
 * @ret_plan:	filled completely
 *
 * Pure, may be called from any context. Unknown items plan no step.
 */
void softtape_plan_make(const struct softtape_view *view, const struct softtape_policy *policy,
			struct softtape_plan *ret_plan)
{
	int i;

	memset(ret_plan, 0, sizeof(*ret_plan));

	for (i = 0; i < SOFTTAPE_NR_ITEMS; i++)
		if (softtape_value_on(view->item[i]) && item_wanted_off(i, policy))
			add_step(ret_plan, i, view->item[i], SOFTTAPE_OFF, false);

	ret_plan->cap = plan_cap(view, policy->speed, ret_plan);
}

/**
 * softtape_cap_judge - name what a port made of a target speed that was written
 * @cap:	speed asked for, 1-4
 * @old:	Target Link Speed before the write
 * @tls:	Target Link Speed read back
 *
 * Return: SOFTTAPE_CAP_SET; SOFTTAPE_CAP_CLAMPED when the port took another value (its own limit, or a register that
 * clamps as the CMP 170HX's does [report: cmp170hx-zh]); SOFTTAPE_CAP_REFUSED_READBACK when it took none.
 */
enum softtape_cap softtape_cap_judge(__u8 cap, __u8 old, __u8 tls)
{
	if (tls == cap)
		return SOFTTAPE_CAP_SET;
	return tls && (tls < cap || tls < old) ? SOFTTAPE_CAP_CLAMPED : SOFTTAPE_CAP_REFUSED_READBACK;
}

static enum softtape_reason item_reason(enum softtape_item item, const struct softtape_policy *policy,
					enum softtape_value first, enum softtape_value now,
					const struct softtape_outcome *outcome)
{
	if (now == SOFTTAPE_UNKNOWN || (now == SOFTTAPE_UNSUPPORTED && !softtape_value_on(first)))
		return SOFTTAPE_R_NONE;
	if (!item_wanted_off(item, policy))
		return SOFTTAPE_R_KEEP;
	if (!softtape_value_on(now))
		return softtape_value_on(first) ? SOFTTAPE_R_WAS : SOFTTAPE_R_UNCHANGED;
	if (policy->dry_run)
		return SOFTTAPE_R_WOULD;
	if (outcome->refusal[item] != SOFTTAPE_R_NONE)
		return outcome->refusal[item];
	return outcome->bound ? SOFTTAPE_R_REFUSED_DRIVER : SOFTTAPE_R_REFUSED_READBACK;
}

static void count_cap(const struct softtape_report *report, __u8 cap, int *wanted, int *took)
{
	switch (report->cap) {
	case SOFTTAPE_CAP_SET:
	case SOFTTAPE_CAP_CLAMPED:
		(*wanted)++;
		/* A port that went down, but not as far as asked, did not do what was wanted. */
		if (report->cap_gen <= cap)
			(*took)++;
		break;
	case SOFTTAPE_CAP_LIFTED:
	case SOFTTAPE_CAP_REFUSED_DRIVER:
	case SOFTTAPE_CAP_REFUSED_READBACK:
	case SOFTTAPE_CAP_REFUSED_V1:
		(*wanted)++;
		break;
	default:
		break;
	}
}

/* D3cold does not count: it says nothing of the link as it is now. */
static enum softtape_state judge_state(const struct softtape_report *report, const struct softtape_policy *policy)
{
	int wanted = 0, took = 0, i;

	if (policy->dry_run)
		return SOFTTAPE_DRY_RUN;

	for (i = 0; i < SOFTTAPE_D3COLD; i++) {
		bool was_on = softtape_value_on(report->was[i]), is_on = softtape_value_on(report->value[i]);

		if (!item_wanted_off(i, policy) || (!was_on && !is_on))
			continue;
		wanted++;
		if (!is_on)
			took++;
	}

	count_cap(report, policy->speed, &wanted, &took);

	if (!wanted)
		return SOFTTAPE_UNCHANGED;
	if (took == wanted)
		return SOFTTAPE_APPLIED;
	return took ? SOFTTAPE_PARTIAL : SOFTTAPE_REFUSED;
}

/**
 * softtape_report_make - draw the conclusions the log line prints
 * @report:	card, device, smbus and after stay as they are, the rest is filled
 * @first:	view at first look; fixed for the life of the card
 * @now:	view read back
 * @policy:	module parameters
 * @outcome:	what the steps came to; with dry_run only its cap (the plan's answer) counts
 *
 * Never gives pending, skipped or lost: those are the caller's to set.
 */
void softtape_report_make(struct softtape_report *report, const struct softtape_view *first,
			  const struct softtape_view *now, const struct softtape_policy *policy,
			  const struct softtape_outcome *outcome)
{
	int i;

	for (i = 0; i < SOFTTAPE_NR_ITEMS; i++) {
		report->was[i] = first->item[i];
		report->value[i] = now->item[i];
		report->reason[i] = item_reason(i, policy, first->item[i], now->item[i], outcome);
	}

	report->view = *now;
	report->cap = outcome->cap;
	report->cap_gen = now->tls;
	report->cap_want = outcome->cap_to;
	if (policy->dry_run && outcome->cap == SOFTTAPE_CAP_SET)
		report->cap = SOFTTAPE_CAP_WOULD;

	report->state = judge_state(report, policy);
}

/**
 * softtape_report_differs - is there something new to say?
 * @a:	report last printed
 * @b:	report now
 *
 * Return: true when state, aspm, clkpm, l1ss, d3cold or cap differ. Speed alone does not count: these cards change it
 * with load.
 */
bool softtape_report_differs(const struct softtape_report *a, const struct softtape_report *b)
{
	int i;

	for (i = 0; i < SOFTTAPE_NR_ITEMS; i++)
		if (a->value[i] != b->value[i])
			return true;

	return a->state != b->state || a->cap != b->cap ||
	       ((a->cap == SOFTTAPE_CAP_SET || a->cap == SOFTTAPE_CAP_CLAMPED) && a->cap_gen != b->cap_gen);
}
