// SPDX-License-Identifier: GPL-2.0-only
/* A card's life, from its appearance to its removal, on the simulated host bridge with a driver of our own. */
#include <linux/delay.h>
#include <linux/slab.h>

#include "fakehost.h"
#include "record.h"
#include "suites.h"

/* What fails while a test says so. */
static bool no_memory, no_directory;

static void *usual_kzalloc(size_t size, gfp_t flags)
{
	return kzalloc(size, flags);
}

#undef kzalloc
#define kzalloc(_size, _flags) (no_memory ? NULL : usual_kzalloc(_size, _flags))
#define softtape_sysfs_add(_pdev) (no_directory ? -ENOMEM : softtape_sysfs_add(_pdev))
#include "../../kmod/record.c"
#undef kzalloc
#undef softtape_sysfs_add

/* What the driver's probe does and finds. */
static struct {
	u32 lnkctl;		/* of the card, as found */
	int nr;			/* probes */
	int ret;
	bool aspm_on;		/* switches ASPM on again */
	bool speed_up;		/* sets a faster target speed and link */
} probe;

static int test_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	probe.lnkctl = fakehost_peek(0, false, "lnkctl");
	probe.nr++;
	if (probe.aspm_on) {
		fakehost_poke(0, false, "lnkctl", 0x143);
		fakehost_poke(0, true, "lnkctl", 0x43);
	}
	if (probe.speed_up)
		fakehost_poke(0, true, "lnkctl2", 3);
	return probe.ret;
}

static void test_remove(struct pci_dev *pdev)
{
}

static const struct pci_device_id test_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID) },
	{ }
};

static struct pci_driver test_driver = {
	.name = "softtape-kunit",
	.id_table = test_ids,
	.probe = test_probe,
	.remove = test_remove,
};

static int life_init(struct kunit *test)
{
	memset(&probe, 0, sizeof(probe));
	no_memory = false;
	no_directory = false;
	return host_init(test);
}

static const char *said(struct kunit *test, struct pci_dev *card)
{
	char *text = kunit_kzalloc(test, SOFTTAPE_LINE_MAX, GFP_KERNEL);
	struct softtape_report report;

	KUNIT_ASSERT_NOT_NULL(test, text);
	if (softtape_record_snapshot(&card->dev, &report)) {
		report.after = NULL;
		softtape_report_values(&report, text, SOFTTAPE_LINE_MAX);
	}
	return text;
}

#define EXPECT_SAID(test, card, part) \
	KUNIT_EXPECT_TRUE_MSG(test, strstr(said(test, card), part), "not in it: %s; %s", part, said(test, card))

/* Until everything queued for this card has been done. */
static void settled(struct kunit *test, struct pci_dev *card)
{
	struct record *record = record_of(card);

	KUNIT_ASSERT_NOT_NULL(test, record);
	flush_delayed_work(&record->work);
}

static void late_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	KUNIT_EXPECT_TRUE(test, record_of(card)->attached);
	settled(test, card);
	EXPECT_SAID(test, card,
		    "state=applied aspm=off(was l0s+l1) clkpm=off(was on) l1ss=off(unchanged) d3cold=off(was on) "
		    "cap=keep speed=8GT/s,x4(max 8GT/s,x4)");
	KUNIT_EXPECT_TRUE(test, card->no_d3cold);
	KUNIT_EXPECT_TRUE(test, record_of(card)->attached);
	module_unload();
	KUNIT_EXPECT_FALSE(test, card->no_d3cold);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, false, "lnkctl"), 0x40u);
}

/* Whoever removes a card holds the rescan lock: meanwhile it may have lost the folder that our directory goes into. */
static void late_leaving_test(struct kunit *test)
{
	struct pci_dev *card;
	struct record *record;

	host_start(test);
	card = host_card(test, 0, 0);
	pci_lock_rescan_remove();
	KUNIT_EXPECT_EQ(test, module_load(NULL, NULL), 0);
	record = record_of(card);
	KUNIT_EXPECT_TRUE(test, record && !record->attached);
	pci_unlock_rescan_remove();
	settled(test, card);
	KUNIT_EXPECT_TRUE(test, record_of(card)->attached);
	module_unload();
}

/* Moments A, C, D, B: settled before the driver's probe. */
static void early_test(struct kunit *test)
{
	struct pci_dev *card;

	KUNIT_ASSERT_EQ(test, pci_register_driver(&test_driver), 0);
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	host_start(test);
	card = host_card(test, 0, 0);
	device_lock(&card->dev);	/* probing may be left to a thread (7.x) */
	device_unlock(&card->dev);
	wait_for_device_probe();
	KUNIT_EXPECT_EQ(test, probe.nr, 1);
	KUNIT_EXPECT_EQ_MSG(test, probe.lnkctl & 0x103, 0u, "the probe found Link Control %x", probe.lnkctl);
	settled(test, card);
	EXPECT_SAID(test, card, "state=applied aspm=off(was l0s+l1) clkpm=off(was on)");
	module_unload();
	pci_unregister_driver(&test_driver);
}

/* Moment A writes no ASPM bit: only when enumeration is over may the core be asked. */
static void early_writes_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	settled(test, card);
	host_remove(0);
	fakehost_set_present(0);
	fakehost_set_present(1);
	/* As ADD_DEVICE would come, without the rest of enumeration. */
	pci_lock_rescan_remove();
	fakehost_log_clear();
	softtape_record_add(card, false);
	KUNIT_EXPECT_STREQ(test, host_writes(test), "port lnkctl2 0001; port lnkctl 0040; port lnksta 3041; ");
	pci_unlock_rescan_remove();
	module_unload();
}

static void driver_sets_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	settled(test, card);
	probe.aspm_on = true;
	KUNIT_ASSERT_EQ(test, pci_register_driver(&test_driver), 0);
	EXPECT_SAID(test, card, "state=refused aspm=l0s+l1(refused:driver) clkpm=on(refused:driver)");
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), 0);
	EXPECT_SAID(test, card, "state=applied aspm=off(was l0s+l1)");
	pci_unregister_driver(&test_driver);
	settled(test, card);
	EXPECT_SAID(test, card, "state=applied");
	module_unload();
}

static void probe_fails_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	probe.ret = -EIO;
	KUNIT_ASSERT_EQ(test, pci_register_driver(&test_driver), 0);
	settled(test, card);
	EXPECT_SAID(test, card, "state=applied aspm=off(was l0s+l1)");
	pci_unregister_driver(&test_driver);
	module_unload();
}

/* The card's port runs at the cap; what was there before comes back when the card leaves, and at unload. */
static void cap_test(struct kunit *test)
{
	struct pci_dev *card;

	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	host_start(test);
	card = host_card(test, 0, 0);
	settled(test, card);
	EXPECT_SAID(test, card, "cap=gen1 speed=2.5GT/s,x4");
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 1u);
	host_remove(0);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 3u);

	host_rescan();
	card = host_card(test, 0, 0);
	settled(test, card);
	EXPECT_SAID(test, card, "cap=gen1");
	module_unload();
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 3u);
}

/* A value that is not ours any more is not put back. */
static void cap_not_ours_test(struct kunit *test)
{
	struct pci_dev *card;

	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	host_start(test);
	card = host_card(test, 0, 0);
	settled(test, card);
	fakehost_poke(0, true, "lnkctl2", 2);
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), 0);
	KUNIT_EXPECT_EQ_MSG(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 1u, "verify has not lowered it again");
	fakehost_poke(0, true, "lnkctl2", 2);
	host_remove(0);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 2u);
	module_unload();
}

static void cap_with_driver_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, pci_register_driver(&test_driver), 0);
	fakehost_log_clear();
	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	settled(test, card);
	EXPECT_SAID(test, card, "state=partial aspm=off(was l0s+l1) clkpm=off(was on)");
	EXPECT_SAID(test, card, "cap=refused(driver)");
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 3u);
	module_unload();
	pci_unregister_driver(&test_driver);
}

static void cap_lifted_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	settled(test, card);
	probe.speed_up = true;
	KUNIT_ASSERT_EQ(test, pci_register_driver(&test_driver), 0);
	EXPECT_SAID(test, card, "cap=lifted");
	/* A bound driver's link is left alone. */
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), 0);
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 3u);
	pci_unregister_driver(&test_driver);
	settled(test, card);
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), 0);
	EXPECT_SAID(test, card, "cap=gen1");
	module_unload();
}

static void unneeded_cap_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	/* Not left by firmware: 7.x takes a target of 2.5 GT/s for that of a failed link and lifts it at its scan. */
	fakehost_poke(0, true, "lnkctl2", 1);
	fakehost_poke(0, true, "lnksta", 0x3041);
	fakehost_poke(0, false, "lnksta", 0x1041);
	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	settled(test, card);
	EXPECT_SAID(test, card, "cap=unneeded");
	fakehost_poke(0, true, "lnkctl2", 3);
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), 0);
	EXPECT_SAID(test, card, "cap=lifted");
	fakehost_poke(0, true, "lnkctl2", 1);
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), 0);
	EXPECT_SAID(test, card, "cap=unneeded");
	module_unload();
}

/* Power is lost and comes back with what firmware does. */
static void resume_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	settled(test, card);
	fakehost_poke(0, true, "lnkctl2", 3);
	fakehost_poke(0, true, "lnksta", 0x3043);
	fakehost_poke(0, false, "lnksta", 0x1043);
	module_resume();
	settled(test, card);
	EXPECT_SAID(test, card, "cap=gen1 speed=2.5GT/s,x4");
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, false, "lnksta") & 0xf, 1u);
	module_unload();
}

/* Power stayed: the cap is still in the port, and still a cap. */
static void resume_unchanged_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	settled(test, card);
	module_resume();
	settled(test, card);
	EXPECT_SAID(test, card, "state=applied aspm=off(was l0s+l1)");
	EXPECT_SAID(test, card, "cap=gen1 speed=2.5GT/s,x4");
	module_unload();
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 3u);
}

static void skip_test(struct kunit *test)
{
	struct pci_dev *card;

	fakehost_knobs.slots = 2;
	host_start(test);
	card = host_card(test, 1, 0);
	KUNIT_ASSERT_EQ(test, module_load("skip", "4b4b:02:00.3"), 0);
	settled(test, card);
	settled(test, host_card(test, 0, 0));
	KUNIT_EXPECT_STREQ(test, said(test, card), "state=skipped");
	EXPECT_SAID(test, host_card(test, 0, 0), "state=applied");
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), -EPERM);
	KUNIT_EXPECT_EQ(test, fakehost_peek(1, false, "lnkctl"), 0x143u);
	KUNIT_EXPECT_FALSE(test, card->no_d3cold);
	module_resume();
	KUNIT_ASSERT_EQ(test, pci_register_driver(&test_driver), 0);
	pci_unregister_driver(&test_driver);
	KUNIT_EXPECT_STREQ(test, said(test, card), "state=skipped");
	module_unload();
}

static void dry_run_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load("dry_run", "Y"), 0);
	settled(test, card);
	EXPECT_SAID(test, card, "state=dry-run aspm=l0s+l1(would be off)");
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), 0);
	KUNIT_EXPECT_STREQ(test, host_writes(test), "");
	KUNIT_EXPECT_FALSE(test, card->no_d3cold);
	module_unload();
	KUNIT_EXPECT_STREQ(test, host_writes(test), "");
}

static void lost_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	settled(test, card);
	fakehost_set_present(0);
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), 0);
	EXPECT_SAID(test, card,
		    "state=lost aspm=unknown clkpm=unknown l1ss=unknown d3cold=unknown cap=keep speed=unknown");
	fakehost_set_present(1);
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), 0);
	EXPECT_SAID(test, card, "aspm=off(was l0s+l1)");
	module_unload();
}

/* A card that does not answer while the module loads, and does when a driver comes. */
static void lost_at_first_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	fakehost_set_present(0);
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	settled(test, card);
	EXPECT_SAID(test, card, "state=lost");
	fakehost_set_present(1);
	KUNIT_ASSERT_EQ(test, pci_register_driver(&test_driver), 0);
	EXPECT_SAID(test, card, "state=applied aspm=off(was l0s+l1) clkpm=off(was on)");
	KUNIT_EXPECT_EQ(test, probe.lnkctl & 0x103, 0u);
	pci_unregister_driver(&test_driver);
	module_unload();
}

/* All functions of the slot keep out of D3cold, and those that did before still do after unload. */
static void functions_test(struct kunit *test)
{
	struct pci_dev *card, *audio;

	fakehost_knobs.functions = 3;
	host_start(test);
	card = host_card(test, 0, 0);
	audio = host_card(test, 0, 1);
	pci_d3cold_disable(host_card(test, 0, 2));
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	settled(test, card);
	KUNIT_EXPECT_NULL(test, record_of(audio));
	KUNIT_EXPECT_TRUE(test, card->no_d3cold && audio->no_d3cold);
	EXPECT_SAID(test, card, "d3cold=off(was on)");
	module_unload();
	KUNIT_EXPECT_FALSE(test, card->no_d3cold || audio->no_d3cold);
	KUNIT_EXPECT_TRUE(test, host_card(test, 0, 2)->no_d3cold);
}

/* Function 0 comes anew while a driver works with another one: the link is not retrained under it. */
static void bound_neighbour_test(struct kunit *test)
{
	struct pci_dev *card;

	fakehost_knobs.functions = 2;
	host_start(test);
	KUNIT_ASSERT_EQ(test, pci_register_driver(&test_driver), 0);
	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	pci_stop_and_remove_bus_device_locked(host_card(test, 0, 0));
	host_rescan();
	card = host_card(test, 0, 0);
	settled(test, card);
	EXPECT_SAID(test, card, "cap=refused(driver)");
	KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 3u);
	pci_unregister_driver(&test_driver);
	module_unload();
}

/* Functions of a card that comes join its record one by one. */
static void join_test(struct kunit *test)
{
	struct pci_dev *card;

	fakehost_knobs.functions = 2;
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	host_start(test);
	card = host_card(test, 0, 0);
	settled(test, card);
	KUNIT_EXPECT_TRUE(test, host_card(test, 0, 1)->no_d3cold);
	host_remove(0);
	KUNIT_EXPECT_NULL(test, record_of(card));
	module_unload();
}

/* The pass over what is there and the notifier meet the same card: one record. */
static void twice_test(struct kunit *test)
{
	struct pci_dev *card;
	struct record *record;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	record = record_of(card);
	softtape_record_add(card, true);
	softtape_record_add(card, false);
	KUNIT_EXPECT_PTR_EQ(test, record_of(card), record);
	settled(test, card);
	/* As a race would have it: made twice, kept once. */
	record = record_new(card, softtape_card_at(0));
	KUNIT_ASSERT_NOT_NULL(test, record);
	KUNIT_EXPECT_FALSE(test, link_record(record));
	record_free(record);
	module_unload();
}

/* Removed while the pass over what is already there has it in hand. */
static void removed_meanwhile_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load("dry_run", "Y"), 0);
	settled(test, card);
	host_remove(0);
	KUNIT_EXPECT_NULL(test, record_of(card));
	softtape_record_add(card, true);
	/* The work sees to it, and may have done so already. */
	while (record_of(card))
		msleep(20);
	module_unload();
}

/* A second line is only printed 10 s after the first one; the news is not lost. */
static void interval_test(struct kunit *test)
{
	struct softtape_report printed;
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	settled(test, card);
	printed = record_of(card)->printed;
	fakehost_set_present(0);
	softtape_record_verify(&card->dev);
	KUNIT_EXPECT_EQ(test, (int)record_of(card)->printed.state, (int)printed.state);
	EXPECT_SAID(test, card, "state=lost");
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&record_of(card)->work));
	record_of(card)->printed_at = jiffies - LINE_INTERVAL;
	softtape_record_verify(&card->dev);
	KUNIT_EXPECT_EQ(test, (int)record_of(card)->printed.state, (int)SOFTTAPE_LOST);
	module_unload();
}

/* Bound to a card, or below a port, that sleeps: not a read until the work finds both awake. */
static void bound_asleep_test(struct kunit *test)
{
	struct pci_dev *card, *port, *sleeper;
	int i;

	host_start(test);
	card = host_card(test, 0, 0);
	port = host_port(test, 0);
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	settled(test, card);
	fakehost_knobs.log_reads = true;
	for (i = 0; i < 2; i++) {
		sleeper = i ? port : card;
		sleeper->current_state = PCI_D3cold;
		fakehost_log_clear();
		softtape_record_bound(card);
		KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), -EAGAIN);
		settled(test, card);
		KUNIT_EXPECT_NULL(test, fakehost_log_at(0));
		sleeper->current_state = PCI_D0;
		settled(test, card);
		KUNIT_EXPECT_NOT_NULL(test, fakehost_log_at(0));
		EXPECT_SAID(test, card, "state=applied aspm=off(was l0s+l1)");
	}
	module_unload();
}

/* A card that cannot be looked at is tried ten times a second at first and after half a minute once in a minute. */
static void retry_test(struct kunit *test)
{
	struct record *record;
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	card->current_state = PCI_D3cold;
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	settled(test, card);
	EXPECT_SAID(test, card, "state=pending");
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), -EAGAIN);
	record = record_of(card);
	KUNIT_EXPECT_TRUE(test, time_before(record->work.timer.expires, jiffies + HZ));
	record->started = jiffies - 30 * HZ;
	/* Once for a run that may have begun before that. */
	settled(test, card);
	settled(test, card);
	KUNIT_EXPECT_TRUE(test, time_after(record->work.timer.expires, jiffies + 50 * HZ));
	card->current_state = PCI_D0;
	settled(test, card);
	EXPECT_SAID(test, card, "state=applied");
	module_unload();
}

static void no_memory_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	no_memory = true;
	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	KUNIT_EXPECT_NULL(test, record_of(card));
	KUNIT_EXPECT_STREQ(test, host_writes(test), "");
	KUNIT_EXPECT_EQ(test, softtape_record_verify(&card->dev), -ENODEV);
	module_unload();
}

/* Everything else is done all the same. */
static void no_directory_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	no_directory = true;
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	settled(test, card);
	EXPECT_SAID(test, card, "state=applied aspm=off(was l0s+l1)");
	KUNIT_EXPECT_FALSE(test, record_of(card)->attached);
	module_unload();
}

static void slow_work(struct work_struct *unused)
{
	msleep(300);
}

static DECLARE_WORK(slow, slow_work);

/* A retry whose timer ends while the module is being unloaded, and the record's burial has not had its turn. */
static void unload_with_timer_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load(NULL, NULL), 0);
	settled(test, card);
	workqueue_set_max_active(workqueue, 1);
	queue_work(workqueue, &slow);
	queue_again(record_of(card), "verify", msecs_to_jiffies(100));
	module_unload();
}

/* Whatever access of a card's life fails, the card ends with an answer that is true of its registers. */
static void missed_access_test(struct kunit *test)
{
	unsigned int at;

	host_start(test);
	for (at = 1; at < 200; at += 3) {
		struct pci_dev *card = fakehost_card(0, 0);
		bool on;

		fakehost_poke(0, false, "lnkctl", 0x143);
		fakehost_poke(0, true, "lnkctl", 0x43);
		fakehost_knobs.fail_at = at;
		KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
		settled(test, card);
		fakehost_knobs.fail_at = 0;
		while (softtape_record_verify(&card->dev) == -EAGAIN)
			settled(test, card);
		on = fakehost_peek(0, false, "lnkctl") & 0x103 || fakehost_peek(0, true, "lnkctl") & 3;
		KUNIT_EXPECT_FALSE_MSG(test, on, "access %u failed: %s", at, said(test, card));
		EXPECT_SAID(test, card, "aspm=off");
		module_unload();
		KUNIT_EXPECT_EQ_MSG(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 3u, "access %u failed", at);
		pci_dev_put(card);
	}
}

/* Whatever access fails while the target speed is given back, the next card in the slot is not capped. */
static void missed_restore_test(struct kunit *test)
{
	unsigned int at;

	host_start(test);
	for (at = 1; at < 100; at++) {
		struct pci_dev *card = fakehost_card(0, 0);

		KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
		settled(test, card);
		KUNIT_EXPECT_EQ(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 1u);
		fakehost_knobs.fail_at = at;
		module_unload();
		KUNIT_EXPECT_EQ_MSG(test, fakehost_peek(0, true, "lnkctl2") & 0xf, 3u, "access %u failed", at);
		fakehost_poke(0, true, "lnkctl2", 3);
		pci_dev_put(card);
		if (fakehost_knobs.fail_at)
			break;
	}
	fakehost_knobs.fail_at = 0;
	KUNIT_EXPECT_GT(test, at, 3u);
	KUNIT_EXPECT_LT(test, at, 100u);
}

/* The card vanishes at any access of its life; it is removed some time later, as slots do. */
static void vanish_test(struct kunit *test)
{
	unsigned int at;

	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	host_start(test);
	for (at = 1; at < 150; at += 7) {
		struct pci_dev *card;

		host_remove(0);
		fakehost_set_present(1);
		fakehost_knobs.vanish_at = at;
		host_rescan();
		card = fakehost_card(0, 0);
		/* Gone before its class was read, it is no card. */
		if (card && record_of(card)) {
			flush_delayed_work(&record_of(card)->work);
			softtape_record_verify(&card->dev);
		}
		fakehost_knobs.vanish_at = 0;
		host_remove(0);
		if (card)
			KUNIT_EXPECT_NULL(test, record_of(card));
		pci_dev_put(card);
	}
	module_unload();
}

static struct kunit_case cases[] = {
	KUNIT_CASE(late_test),
	KUNIT_CASE(late_leaving_test),
	KUNIT_CASE(early_test),
	KUNIT_CASE(early_writes_test),
	KUNIT_CASE(driver_sets_test),
	KUNIT_CASE(probe_fails_test),
	KUNIT_CASE(cap_test),
	KUNIT_CASE(cap_not_ours_test),
	KUNIT_CASE(cap_with_driver_test),
	KUNIT_CASE(cap_lifted_test),
	KUNIT_CASE(unneeded_cap_test),
	KUNIT_CASE(resume_test),
	KUNIT_CASE(resume_unchanged_test),
	KUNIT_CASE(skip_test),
	KUNIT_CASE(dry_run_test),
	KUNIT_CASE(lost_test),
	KUNIT_CASE(lost_at_first_test),
	KUNIT_CASE(functions_test),
	KUNIT_CASE(bound_neighbour_test),
	KUNIT_CASE(join_test),
	KUNIT_CASE(twice_test),
	KUNIT_CASE(removed_meanwhile_test),
	KUNIT_CASE(interval_test),
	KUNIT_CASE(bound_asleep_test),
	KUNIT_CASE(retry_test),
	KUNIT_CASE(no_memory_test),
	KUNIT_CASE(no_directory_test),
	KUNIT_CASE(unload_with_timer_test),
	KUNIT_CASE(missed_access_test),
	KUNIT_CASE(missed_restore_test),
	KUNIT_CASE(vanish_test),
	{ }
};

struct kunit_suite record_suite = {
	.name = "softtape-record",
	.init = life_init,
	.exit = host_exit,
	.test_cases = cases,
};
