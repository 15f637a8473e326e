// SPDX-License-Identifier: GPL-2.0-only
/* The hardware edge on the simulated host bridge: what is read, what is written and in which order. */
#include "../../kmod/link.c"

#include "fakehost.h"
#include "suites.h"

/* What a test has asked for; given back when it ends. */
#define REFERENCES 16
static struct pci_dev *references[REFERENCES];
static unsigned int nr_references;
static bool started;

int host_init(struct kunit *test)
{
	fakehost_defaults();
	nr_references = 0;
	started = false;
	return 0;
}

void host_exit(struct kunit *test)
{
	while (nr_references)
		pci_dev_put(references[--nr_references]);
	if (started)
		fakehost_stop();
	started = false;
}

/* With the knobs as the test has set them. */
void host_start(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, fakehost_start(), 0);
	started = true;
	fakehost_log_clear();
}

static struct pci_dev *keep(struct kunit *test, struct pci_dev *pdev)
{
	KUNIT_ASSERT_NOT_NULL(test, pdev);
	KUNIT_ASSERT_LT(test, nr_references, REFERENCES * 1u);
	references[nr_references++] = pdev;
	return pdev;
}

struct pci_dev *host_card(struct kunit *test, unsigned int slot, unsigned int function)
{
	return keep(test, fakehost_card(slot, function));
}

struct pci_dev *host_port(struct kunit *test, unsigned int slot)
{
	return keep(test, fakehost_port(slot));
}

/* As writing to the sysfs files remove and rescan does. */
void host_remove(unsigned int slot)
{
	struct pci_dev *pdev;
	unsigned int i;

	for (i = 0; i < FAKEHOST_FUNCTIONS; i++) {
		pdev = fakehost_card(slot, i);
		if (pdev)
			pci_stop_and_remove_bus_device_locked(pdev);
		pci_dev_put(pdev);
	}
}

void host_rescan(void)
{
	struct pci_bus *bus = pci_find_bus(fakehost_knobs.domain, 0);

	pci_lock_rescan_remove();
	pci_rescan_bus(bus);
	pci_unlock_rescan_remove();
}

/* All writes in the record, "ep0.1 lnkctl 0040; port lnkctl 0040; ": values as stored; of l1ss_ctl1 the enable bits. */
const char *host_writes(struct kunit *test)
{
	char *text = kunit_kzalloc(test, 4096, GFP_KERNEL);
	const struct fakehost_access *a;
	int i, len = 0;

	KUNIT_ASSERT_NOT_NULL(test, text);
	for (i = 0; (a = fakehost_log_at(i)); i++)
		if (!a->read)
			len += scnprintf(text + len, 4096 - len, "%s %s %0*x; ", a->fn, a->reg, a->size * 2,
					 strcmp(a->reg, "l1ss_ctl1") ? a->now : a->now & 0xf);

	return text;
}

#define EXPECT_WRITES(test, text) KUNIT_EXPECT_STREQ(test, host_writes(test), text)

static void port_test(struct kunit *test)
{
	struct pci_dev *card, *port;

	fakehost_knobs.switched = true;
	fakehost_knobs.slots = 2;
	host_start(test);
	card = host_card(test, 1, 0);
	port = host_port(test, 1);
	KUNIT_EXPECT_PTR_EQ(test, softtape_link_port(card), port);
	/* A switch's own ends: the upstream port is below a root port, a downstream port below the upstream port. */
	KUNIT_EXPECT_NULL(test, softtape_link_port(port));
	KUNIT_EXPECT_PTR_EQ(test, softtape_link_port(pci_upstream_bridge(port)),
			    pci_upstream_bridge(pci_upstream_bridge(port)));
	KUNIT_EXPECT_NULL(test, softtape_link_port(pci_upstream_bridge(pci_upstream_bridge(port))));
}

static void function_test(struct kunit *test)
{
	struct pci_dev *card, *pdev;

	fakehost_knobs.functions = 2;
	host_start(test);
	card = host_card(test, 0, 0);
	pdev = softtape_link_function(card, 1);
	KUNIT_EXPECT_PTR_EQ(test, pdev, host_card(test, 0, 1));
	pci_dev_put(pdev);
	KUNIT_EXPECT_NULL(test, softtape_link_function(card, 2));
	KUNIT_EXPECT_FALSE(test, softtape_link_bound(card));
}

/* Another vendor's function in the slot is not ours. */
static void foreign_function_test(struct kunit *test)
{
	struct pci_dev *card;

	fakehost_knobs.ep_vendor = 0x10df;
	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_EXPECT_NULL(test, softtape_link_function(card, 0));
}

static void read_test(struct kunit *test)
{
	struct softtape_link link;

	fakehost_knobs.functions = 2;
	fakehost_knobs.ep_l1ss = 0xf;
	host_start(test);
	KUNIT_ASSERT_EQ(test, softtape_link_read(host_card(test, 0, 0), &link), 0);
	KUNIT_EXPECT_EQ(test, (int)link.above, (int)SOFTTAPE_ABOVE_PORT);
	KUNIT_EXPECT_EQ(test, link.nr_fn, 2);
	KUNIT_EXPECT_EQ(test, link.fn[0].version, 2);
	KUNIT_EXPECT_EQ(test, link.fn[0].lnkcap & 0x3ff, 0x43u);
	KUNIT_EXPECT_EQ(test, link.fn[0].lnkctl & 0x103, 0x103);
	KUNIT_EXPECT_EQ(test, link.fn[0].lnksta & 0x3ff, 0x43);
	KUNIT_EXPECT_EQ(test, link.fn[0].lnkcap2, 0xeu);
	KUNIT_EXPECT_EQ(test, link.fn[0].l1ss_cap, 0x0028281fu);
	KUNIT_EXPECT_EQ(test, link.fn[0].l1ss_ctl1 & 0xf, 0xfu);
	KUNIT_EXPECT_EQ(test, link.fn[1].l1ss_cap, 0u);
	KUNIT_EXPECT_EQ(test, link.port.lnkctl2 & 0xf, 3);
	KUNIT_EXPECT_EQ(test, (int)link.d3cold, (int)SOFTTAPE_ON);
	EXPECT_WRITES(test, "");
}

static void read_version1_test(struct kunit *test)
{
	struct softtape_link link;

	fakehost_knobs.port_version = 1;
	fakehost_knobs.port_speed = 2;
	host_start(test);
	KUNIT_ASSERT_EQ(test, softtape_link_read(host_card(test, 0, 0), &link), 0);
	KUNIT_EXPECT_EQ(test, link.port.version, 1);
	KUNIT_EXPECT_EQ(test, link.port.lnkcap2, 0u);
	KUNIT_EXPECT_EQ(test, link.port.lnkctl2, 0);
}

static void read_gone_test(struct kunit *test)
{
	struct softtape_link link;
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	fakehost_set_present(0);
	KUNIT_EXPECT_EQ(test, softtape_link_read(card, &link), -ENODEV);
	fakehost_set_present(1);
	KUNIT_EXPECT_EQ(test, softtape_link_read(card, &link), 0);
}

/* One access that fails is not a card that is gone. */
static void read_missed_test(struct kunit *test)
{
	struct softtape_link link, whole;
	struct pci_dev *card;
	unsigned int i, nr;

	host_start(test);
	card = host_card(test, 0, 0);
	fakehost_knobs.log_reads = true;
	fakehost_log_clear();
	KUNIT_ASSERT_EQ(test, softtape_link_read(card, &whole), 0);
	for (nr = 0; fakehost_log_at(nr); nr++)
		;
	fakehost_knobs.log_reads = false;
	KUNIT_EXPECT_GT(test, nr, 10u);

	for (i = 1; i <= nr; i++) {
		int ret;

		fakehost_knobs.fail_at = i;
		ret = softtape_link_read(card, &link);
		KUNIT_EXPECT_EQ_MSG(test, fakehost_knobs.fail_at, 0u, "access %u was not made", i);
		KUNIT_EXPECT_TRUE_MSG(test, ret == 0 || ret == -EAGAIN, "access %u: %d", i, ret);
		if (!ret)
			KUNIT_EXPECT_EQ_MSG(test, memcmp(&link, &whole, sizeof(link)), 0, "access %u was made up", i);
	}
}

/* In the core's hands: only these registers, only these bits off, the card's end before the port's. */
static void settle_test(struct kunit *test)
{
	const struct softtape_policy policy = { };
	struct softtape_outcome outcome = { };
	const struct fakehost_access *a;
	bool port_cleared = false;
	int i;

	fakehost_knobs.functions = 2;
	fakehost_knobs.ep_l1ss = 0xf;
	fakehost_knobs.port_l1ss = 0xf;
	host_start(test);
	KUNIT_EXPECT_EQ(test, softtape_link_settle(host_card(test, 0, 0), &policy, &outcome), 0);
	for (i = 0; i < SOFTTAPE_D3COLD; i++)
		KUNIT_EXPECT_EQ(test, (int)outcome.refusal[i], (int)SOFTTAPE_R_NONE);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, false, "lnkctl"), 0x40u);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl"), 0x40u);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, false, "l1ss_ctl1") & 0xf, 0u);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "l1ss_ctl1") & 0xf, 0u);

	for (i = 0; (a = fakehost_log_at(i)); i++) {
		bool port = a->fn[0] == 'p', lnkctl = !strcmp(a->reg, "lnkctl");

		KUNIT_EXPECT_TRUE_MSG(test, lnkctl || !strncmp(a->reg, "l1ss_ctl", 8), "%s %s", a->fn, a->reg);
		if (lnkctl)
			KUNIT_EXPECT_EQ_MSG(test, a->written & ~0x143, 0u, "%s lnkctl %x", a->fn, a->written);
		if (lnkctl && port && !(a->now & 3))
			port_cleared = true;
		if (lnkctl && !port && (a->old & 3) > (a->now & 3))
			KUNIT_EXPECT_FALSE_MSG(test, port_cleared, "%s after the port", a->fn);
	}
}

/* Without the core: exactly this, in this order (PCIe r6.0 7.5.3.7 and 5.5.4). */
static void clear_directly_test(struct kunit *test)
{
	struct pci_dev *card;

	fakehost_knobs.functions = 2;
	fakehost_knobs.ep_l1ss = 0xf;
	fakehost_knobs.port_l1ss = 0xf;
	host_start(test);
	card = host_card(test, 0, 0);
	fakehost_log_clear();
	clear_directly(card);
	EXPECT_WRITES(test, "ep lnkctl 0040; ep0.1 lnkctl 0040; port lnkctl 0040; ep l1ss_ctl1 00000000; "
		      "port l1ss_ctl1 00000000; ");

	fakehost_log_clear();
	clear_directly(card);
	EXPECT_WRITES(test, "");
}

static void settle_untouched_test(struct kunit *test)
{
	const struct softtape_policy dry = { .dry_run = true }, kept = { .aspm = SOFTTAPE_ASPM_KEEP };
	struct softtape_outcome outcome = { };
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_EXPECT_EQ(test, softtape_link_settle(card, &dry, &outcome), 0);
	KUNIT_EXPECT_EQ(test, softtape_link_settle(card, &kept, &outcome), 0);
	EXPECT_WRITES(test, "");
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, false, "lnkctl"), 0x143u);
}

/* Bits that stay whatever is written: said so, on either end. */
static void settle_stuck_test(struct kunit *test)
{
	const struct softtape_policy policy = { };
	struct softtape_outcome outcome = { };

	fakehost_knobs.port_lnkctl_rw = 0xed0;
	host_start(test);
	softtape_link_settle(host_card(test, 0, 0), &policy, &outcome);
	KUNIT_EXPECT_EQ(test, (int)outcome.refusal[SOFTTAPE_ASPM], (int)SOFTTAPE_R_REFUSED_READBACK);
	KUNIT_EXPECT_EQ(test, (int)outcome.refusal[SOFTTAPE_CLKPM], (int)SOFTTAPE_R_NONE);
}

/* The core believes it has disabled what is on again behind its back. */
static void settle_behind_back_test(struct kunit *test)
{
	const struct softtape_policy policy = { };
	struct softtape_outcome outcome = { };
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	softtape_link_settle(card, &policy, &outcome);
	fakehost_poke(0, false, "lnkctl", 0x143);
	fakehost_poke(0, true, "lnkctl", 0x42);
	KUNIT_EXPECT_EQ(test, softtape_link_settle(card, &policy, &outcome), 0);
	KUNIT_EXPECT_EQ(test, (int)outcome.refusal[SOFTTAPE_ASPM], (int)SOFTTAPE_R_NONE);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, false, "lnkctl"), 0x40u);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl"), 0x40u);
}

/* At a card's ADD_DEVICE, when the core keeps no state of its link yet. */
static struct {
	struct softtape_policy policy;
	struct softtape_outcome outcome;
	int ret;
	u32 lnkctl;
} unready;

static int settle_unready(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	if (action == BUS_NOTIFY_ADD_DEVICE && pdev->vendor == PCI_VENDOR_ID_NVIDIA) {
		unready.ret = softtape_link_settle(pdev, &unready.policy, &unready.outcome);
		unready.lnkctl = fakehost_peek(0, false, "lnkctl");
	}
	return NOTIFY_DONE;
}

/* The core's refusal is reported and respected, unless the user forces it. */
static void settle_unready_test(struct kunit *test)
{
	static struct notifier_block nb = { .notifier_call = settle_unready };

	memset(&unready, 0, sizeof(unready));
	KUNIT_ASSERT_EQ(test, bus_register_notifier(&pci_bus_type, &nb), 0);
	host_start(test);
	KUNIT_EXPECT_EQ(test, unready.ret, -EINVAL);
	KUNIT_EXPECT_EQ(test, (int)unready.outcome.refusal[SOFTTAPE_ASPM], (int)SOFTTAPE_R_REFUSED_CORE);
	KUNIT_EXPECT_EQ(test, (int)unready.outcome.refusal[SOFTTAPE_CLKPM], (int)SOFTTAPE_R_REFUSED_CORE);
	KUNIT_EXPECT_EQ(test, (int)unready.outcome.refusal[SOFTTAPE_L1SS], (int)SOFTTAPE_R_NONE);
	KUNIT_EXPECT_EQ(test, unready.lnkctl, 0x143u);

	unready.policy.aspm = SOFTTAPE_ASPM_FORCE;
	host_remove(0);
	fakehost_set_present(0);
	fakehost_set_present(1);
	host_rescan();
	KUNIT_EXPECT_EQ(test, unready.ret, -EINVAL);
	KUNIT_EXPECT_EQ(test, (int)unready.outcome.refusal[SOFTTAPE_ASPM], (int)SOFTTAPE_R_NONE);
	KUNIT_EXPECT_EQ(test, unready.lnkctl, 0x40u);
	bus_unregister_notifier(&pci_bus_type, &nb);
}

static void settle_gone_test(struct kunit *test)
{
	const struct softtape_policy policy = { };
	struct softtape_outcome outcome = { };
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	fakehost_set_present(0);
	softtape_link_settle(card, &policy, &outcome);
	KUNIT_EXPECT_EQ(test, (int)outcome.refusal[SOFTTAPE_ASPM], (int)SOFTTAPE_R_NONE);
}

static const struct cap_row {
	const char *what;
	u8 cap;
	unsigned int tls_min, tls_rw, fail_speed, train_speed;
	int train_reads;
	enum softtape_cap result;
	u32 tls, speed;
} cap_rows[] = {
	{ "gen3 to gen1", 1, 0, 0xf, 0, 15, 2, SOFTTAPE_CAP_SET, 1, 1 },
	{ "gen3 to gen2", 2, 0, 0xf, 0, 15, 2, SOFTTAPE_CAP_SET, 2, 2 },
	{ "training at once", 1, 0, 0xf, 0, 15, 0, SOFTTAPE_CAP_SET, 1, 1 },
	{ "port clamps to gen2", 1, 2, 0xf, 0, 15, 2, SOFTTAPE_CAP_CLAMPED, 2, 2 },
	{ "target speed stuck", 1, 0, 0, 0, 15, 2, SOFTTAPE_CAP_REFUSED_READBACK, 3, 3 },
	{ "link lost at gen1, back at gen3", 1, 0, 0xf, 1, 15, 2, SOFTTAPE_CAP_REFUSED_READBACK, 3, 3 },
	{ "training never ends", 1, 0, 0xf, 0, 15, -1, SOFTTAPE_CAP_REFUSED_READBACK, 3, 3 },
};

static void cap_name(const struct cap_row *row, char *desc)
{
	strscpy(desc, row->what, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(cap, cap_rows, cap_name);

static void cap_test(struct kunit *test)
{
	const struct cap_row *row = test->param_value;
	const struct softtape_step step = { .what = SOFTTAPE_CAP, .from = 3, .to = row->cap, .retrain = true };
	__u8 tls;
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	fakehost_knobs.tls_min = row->tls_min;
	fakehost_knobs.port_tls_rw = row->tls_rw;
	fakehost_knobs.fail_speed = row->fail_speed;
	fakehost_knobs.train_speed = row->train_speed;
	fakehost_knobs.train_reads = row->train_reads;
	KUNIT_EXPECT_EQ(test, (int)softtape_link_cap(card, row->cap, &step, &tls), (int)row->result);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl2") & 0xf, row->tls);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, false, "lnksta") & 0xf, row->speed);
	if (row->result != SOFTTAPE_CAP_REFUSED_READBACK)
		KUNIT_EXPECT_EQ_MSG(test, fakehost_peek(0, true, "lnksta") & 0x4000, 0u, "bandwidth status left set");
}

/* Target speed first, then the retrain, then the status bit; the card's end is not written. */
static void cap_order_test(struct kunit *test)
{
	const struct softtape_step retrain_step = { .what = SOFTTAPE_CAP, .from = 3, .to = 1, .retrain = true };
	const struct softtape_step plain_step = { .what = SOFTTAPE_CAP, .from = 1, .to = 1, .retrain = false };
	__u8 tls;
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	softtape_link_cap(card, 1, &retrain_step, &tls);
	EXPECT_WRITES(test, "port lnkctl2 0001; port lnkctl 0043; port lnksta 3041; ");

	fakehost_log_clear();
	softtape_link_cap(card, 1, &plain_step, &tls);
	EXPECT_WRITES(test, "port lnkctl2 0001; ");
}

/* A port without Link Active reporting: its bit is not waited for. */
static void cap_no_reporting_test(struct kunit *test)
{
	const struct softtape_step step = { .what = SOFTTAPE_CAP, .from = 3, .to = 1, .retrain = true };
	__u8 tls;

	fakehost_knobs.port_lnkcap &= ~(PCI_EXP_LNKCAP_DLLLARC | PCI_EXP_LNKCAP_LBNC);
	host_start(test);
	KUNIT_EXPECT_EQ(test, (int)softtape_link_cap(host_card(test, 0, 0), 1, &step, &tls), (int)SOFTTAPE_CAP_SET);
}

/* A card that does not come back after the retrain, and one that was gone before. */
static void cap_gone_test(struct kunit *test)
{
	const struct softtape_step step = { .what = SOFTTAPE_CAP, .from = 3, .to = 1, .retrain = true };
	__u8 tls;
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	fakehost_set_present(0);
	KUNIT_EXPECT_EQ(test, (int)softtape_link_cap(card, 1, &step, &tls), (int)SOFTTAPE_CAP_REFUSED_READBACK);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 3u);
}

static void set_tls_test(struct kunit *test)
{
	struct pci_dev *port, *card;

	host_start(test);
	port = host_port(test, 0);
	card = host_card(test, 0, 0);
	KUNIT_EXPECT_EQ(test, softtape_link_set_tls(port, 3, 2), 2);
	KUNIT_EXPECT_EQ(test, softtape_link_set_tls(port, 3, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, softtape_link_set_tls(port, 0, 1), 1);
	EXPECT_WRITES(test, "port lnkctl2 0002; port lnkctl2 0001; ");
	fakehost_set_present(0);
	KUNIT_EXPECT_EQ(test, softtape_link_set_tls(card, 0, 1), -ENODEV);
}

/* Every access of a cap fails once: no answer but the three there are, and no hang. */
static void cap_missed_test(struct kunit *test)
{
	const struct softtape_step step = { .what = SOFTTAPE_CAP, .from = 3, .to = 1, .retrain = true };
	__u8 tls;
	struct pci_dev *card;
	unsigned int i;

	host_start(test);
	card = host_card(test, 0, 0);
	for (i = 1; i < 100; i++) {
		enum softtape_cap cap;

		fakehost_poke(0, true, "lnkctl2", 3);
		fakehost_knobs.fail_at = i;
		cap = softtape_link_cap(card, 1, &step, &tls);
		KUNIT_EXPECT_TRUE_MSG(test, cap == SOFTTAPE_CAP_SET || cap == SOFTTAPE_CAP_REFUSED_READBACK,
				      "access %u: cap %d", i, cap);
		if (fakehost_knobs.fail_at)
			break;
	}
	KUNIT_EXPECT_LT(test, i, 100u);
	fakehost_knobs.fail_at = 0;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(port_test),
	KUNIT_CASE(function_test),
	KUNIT_CASE(foreign_function_test),
	KUNIT_CASE(read_test),
	KUNIT_CASE(read_version1_test),
	KUNIT_CASE(read_gone_test),
	KUNIT_CASE(read_missed_test),
	KUNIT_CASE(settle_test),
	KUNIT_CASE(clear_directly_test),
	KUNIT_CASE(settle_untouched_test),
	KUNIT_CASE(settle_stuck_test),
	KUNIT_CASE(settle_behind_back_test),
	KUNIT_CASE(settle_unready_test),
	KUNIT_CASE(settle_gone_test),
	KUNIT_CASE_PARAM(cap_test, cap_gen_params),
	KUNIT_CASE(cap_order_test),
	KUNIT_CASE(cap_no_reporting_test),
	KUNIT_CASE(cap_gone_test),
	KUNIT_CASE(set_tls_test),
	KUNIT_CASE(cap_missed_test),
	{ }
};

struct kunit_suite link_suite = {
	.name = "softtape-link",
	.init = host_init,
	.exit = host_exit,
	.test_cases = cases,
};
