// SPDX-License-Identifier: GPL-2.0-only
/*
 * One record per card, from its appearance to its removal: which moment does what, what is said and when. Registers are
 * link.c's, decisions plan.c's.
 *
 * Moments (order on hot-add with a resident driver: A, C, D, B):
 * A  ADD_DEVICE: no driver can be bound and the core keeps no ASPM state yet. Look, cap the speed, forbid D3cold. No
 *    ASPM bit is written: nothing tells here whether the OS may.
 * B  own work under the rescan lock, when enumeration of the slot has ended: have the core disable the link states.
 *    Covers "no driver ever" and cards that were there before the module.
 * C  BIND_DRIVER: the same, the last point before probe.
 * D  BOUND_DRIVER, and the work after UNBOUND_DRIVER: read back what the driver made of it.
 * E  DEL_DEVICE: forget, give the port its target speed back.
 * F  resume: read back, cap again.
 *
 * Locks, outermost first: rescan lock, device locks of the slot's functions (by trylock outside of callbacks that come
 * with them), record->lock, records_lock. DEL_DEVICE comes with the rescan lock held and takes record->lock, so the
 * link state that the core frees after it stays while record->lock is held. No callback takes the rescan lock or waits
 * for the work; a dead record is freed by a work of its own.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "link.h"
#include "record.h"
#include "smbus.h"

/* A record that cannot be settled is tried again often at first, then for as long as the card is there. */
#define RETRY_FAST_MS	100
#define RETRY_FAST_FOR	(30 * HZ)
#define RETRY_SLOW	(60 * HZ)
/* Works begin at once; that long they may be held up. */
#define ATTACH_MS	200

/* Further lines of one card, at most one in this time. */
#define LINE_INTERVAL	(10 * HZ)

/**
 * struct record - what softtape knows of one card
 * @node:	entry in records; records_lock
 * @owner:	the matched function, referenced
 * @card:	its row
 * @skipped:	excluded by the user: nothing is read or written
 * @lock:	everything down to @printed_at, and the life of the core's link state
 * @dead:	removed; only the work may still see it
 * @attached:	the sysfs directory exists
 * @looked:	@first is valid
 * @capped:	the cap step was carried out, refused or found unneeded
 * @final:	the final line was printed
 * @untold:	the core was not asked to disable the states, or did not take them as disabled: maybe too early
 * @first:	the link at first look
 * @outcome:	what the steps came to
 * @no_d3cold:	bit per function: D3cold was forbidden by us
 * @tls_old:	the port's target speed before ours
 * @tls_ours:	the port's target speed that we set; 0 = none
 * @printed:	report of the last line
 * @printed_at:	when, in jiffies
 * @snapshot:	what sysfs shows; records_lock
 * @after:	reason for the next run of @work; records_lock
 * @resumed:	the machine slept since @work last ran to its end; records_lock
 * @started:	when the record was made, or something last happened to it, in jiffies; records_lock
 * @work:	moment B and everything else that needs the rescan lock
 * @burial:	ends @work and frees the record
 */
struct record {
	struct list_head node;
	struct pci_dev *owner;
	const struct softtape_card *card;
	bool skipped;
	struct mutex lock;	/* everything down to printed_at */
	bool dead;
	bool attached;
	bool looked;
	bool capped;
	bool final;
	bool untold;
	struct softtape_view first;
	struct softtape_outcome outcome;
	u8 no_d3cold;
	u8 tls_old;
	u8 tls_ours;
	struct softtape_report printed;
	unsigned long printed_at;
	struct softtape_report snapshot;
	const char *after;
	bool resumed;
	unsigned long started;
	struct delayed_work work;
	struct work_struct burial;
};

static LIST_HEAD(records);
static DEFINE_SPINLOCK(records_lock);
static DECLARE_WAIT_QUEUE_HEAD(attached);
static struct workqueue_struct *workqueue;

/* The callers of both are driver-core callbacks of the card, which keep its record (see the top of the file). */
static struct record *record_of(struct pci_dev *pdev)
{
	struct record *record, *found = NULL;

	spin_lock(&records_lock);
	list_for_each_entry(record, &records, node)
		if (record->owner == pdev)
			found = record;
	spin_unlock(&records_lock);

	return found;
}

/* With records_lock held. A record whose owner is gone is about to be buried and holds the slot no more. */
static struct record *find_slot(struct pci_dev *pdev)
{
	struct record *record;

	list_for_each_entry(record, &records, node)
		if (record->owner->bus == pdev->bus && PCI_SLOT(record->owner->devfn) == PCI_SLOT(pdev->devfn) &&
		    device_is_registered(&record->owner->dev))
			return record;

	return NULL;
}

static struct record *record_of_slot(struct pci_dev *pdev)
{
	struct record *record;

	spin_lock(&records_lock);
	record = find_slot(pdev);
	spin_unlock(&records_lock);

	return record;
}

/* ADD_DEVICE and the pass over what is already there may meet the same card at once: the first one keeps it. */
static bool link_record(struct record *record)
{
	bool first;

	spin_lock(&records_lock);
	first = !find_slot(record->owner);
	if (first)
		list_add_tail(&record->node, &records);
	spin_unlock(&records_lock);

	return first;
}

static bool unlink_record(struct record *record)
{
	bool linked;

	spin_lock(&records_lock);
	linked = !list_empty(&record->node);
	list_del_init(&record->node);
	spin_unlock(&records_lock);

	return linked;
}

/* Something happened to the card: look at it now, and often if that cannot be done at once. */
static void queue_event(struct record *record, const char *after)
{
	spin_lock(&records_lock);
	record->after = after;
	record->started = jiffies;
	spin_unlock(&records_lock);

	mod_delayed_work(workqueue, &record->work, 0);
}

/* Look again later, unless that will be sooner anyway. */
static void queue_again(struct record *record, const char *after, unsigned long delay)
{
	spin_lock(&records_lock);
	if (!record->after)
		record->after = after;
	spin_unlock(&records_lock);

	queue_delayed_work(workqueue, &record->work, delay);
}

static void report_init(struct record *record, struct softtape_report *report)
{
	memset(report, 0, sizeof(*report));
	report->card = record->card;
	report->device = record->owner->device;
	if (record->skipped) {
		strscpy(report->smbus, "off", sizeof(report->smbus));
		return;
	}

	softtape_smbus_current(report->smbus, sizeof(report->smbus));
	report->smbus_would = softtape_smbus_would(&softtape_policy);
}

static void set_snapshot(struct record *record, const struct softtape_report *report)
{
	spin_lock(&records_lock);
	record->snapshot = *report;
	spin_unlock(&records_lock);
}

static void print_line(struct record *record, const struct softtape_report *report)
{
	char line[SOFTTAPE_LINE_MAX];

	softtape_report_line(report, line, sizeof(line));
	if (report->state == SOFTTAPE_LOST || report->state == SOFTTAPE_REFUSED)
		pci_warn(record->owner, "%s\n", line);
	else
		pci_info(record->owner, "%s\n", line);

	record->printed = *report;
	record->printed_at = jiffies;
}

static void send_uevent(struct record *record, const struct softtape_report *report)
{
	char state[32], card[48], *env[3] = { state, card };
	int ret;

	snprintf(state, sizeof(state), "SOFTTAPE_STATE=%s", softtape_state_word(report->state));
	snprintf(card, sizeof(card), "SOFTTAPE_CARD=%s", report->card->name);
	ret = kobject_uevent_env(&record->owner->dev.kobj, KOBJ_CHANGE, env);
	if (ret)
		pci_warn(record->owner, "softtape: no uevent (%d)\n", ret);
}

/* Snapshot, line, uevent, in this order. The first call in a life prints the final line, a later one only news. */
static void publish(struct record *record, struct softtape_report *report, const char *after)
{
	unsigned long next = record->printed_at + LINE_INTERVAL;

	if (record->final)
		report->after = after ? after : "verify";

	set_snapshot(record, report);

	if (record->final) {
		if (!softtape_report_differs(&record->printed, report))
			return;
		if (time_before(jiffies, next)) {
			queue_again(record, report->after, next - jiffies);
			return;
		}
	}

	record->final = true;
	print_line(record, report);
	send_uevent(record, report);
}

static void publish_lost(struct record *record, const char *after)
{
	struct softtape_report report;
	int i;

	report_init(record, &report);
	report.state = SOFTTAPE_LOST;
	report.cap = softtape_policy.speed ? SOFTTAPE_CAP_UNKNOWN : SOFTTAPE_CAP_KEEP;
	for (i = 0; i < SOFTTAPE_NR_ITEMS; i++)
		report.value[i] = SOFTTAPE_UNKNOWN;

	publish(record, &report, after);
}

static int look(struct record *record, struct softtape_view *ret_view)
{
	struct softtape_link link;
	int ret;

	ret = softtape_link_read(record->owner, &link);
	if (ret)
		return ret;

	softtape_view_make(&link, ret_view);
	if (!record->looked) {
		record->first = *ret_view;
		record->looked = true;
	}

	return 0;
}

static void forbid_d3cold(struct record *record)
{
	unsigned int i;

	if (softtape_policy.d3cold == SOFTTAPE_D3COLD_KEEP || softtape_policy.dry_run ||
	    !softtape_link_port(record->owner))
		return;

	for (i = 0; i < SOFTTAPE_FUNCTIONS_MAX; i++) {
		struct pci_dev *pdev = softtape_link_function(record->owner, i);

		if (pdev && !pdev->no_d3cold) {
			pci_d3cold_disable(pdev);
			record->no_d3cold |= BIT(i);
		}
		pci_dev_put(pdev);
	}
}

static void permit_d3cold(struct record *record)
{
	unsigned int i;

	for (i = 0; i < SOFTTAPE_FUNCTIONS_MAX; i++) {
		struct pci_dev *pdev = softtape_link_function(record->owner, i);

		if (pdev && (record->no_d3cold & BIT(i)))
			pci_d3cold_enable(pdev);
		pci_dev_put(pdev);
	}

	record->no_d3cold = 0;
}

static const struct softtape_step *cap_step(const struct softtape_plan *plan)
{
	int i;

	for (i = 0; i < plan->nr; i++)
		if (plan->step[i].what == SOFTTAPE_CAP)
			return &plan->step[i];

	return NULL;
}

/* @bound: a driver may be using the link, so the port is left alone. */
static void cap_speed(struct record *record, const struct softtape_view *view, bool bound)
{
	struct softtape_outcome *outcome = &record->outcome;
	const struct softtape_step *step;
	struct softtape_plan plan;
	__u8 tls;

	softtape_plan_make(view, &softtape_policy, &plan);
	step = cap_step(&plan);
	record->capped = true;
	/* Our own target speed is still there, as after most resumes: the cap is no less one for that. */
	if (!step && record->tls_ours)
		return;

	outcome->cap = plan.cap;
	outcome->cap_to = step ? step->to : 0;
	if (!step || softtape_policy.dry_run)
		return;

	if (bound) {
		outcome->cap = SOFTTAPE_CAP_REFUSED_DRIVER;
		return;
	}

	outcome->cap = softtape_link_cap(record->owner, softtape_policy.speed, step, &tls);
	if (outcome->cap == SOFTTAPE_CAP_REFUSED_READBACK)
		return;

	if (!record->tls_ours)
		record->tls_old = view->tls;
	record->tls_ours = tls;
}

static bool cap_lifted(const struct record *record, const struct softtape_view *now)
{
	struct softtape_plan plan;

	if (record->tls_ours)
		return now->tls > record->tls_ours || now->speed > record->tls_ours;

	softtape_plan_make(now, &softtape_policy, &plan);
	return cap_step(&plan);
}

/* A cap that held, or was not needed, may have been lifted since, for one by quirks.c:pcie_failed_link_retrain. */
static void check_cap(struct record *record, const struct softtape_view *now)
{
	struct softtape_outcome *outcome = &record->outcome;

	if (softtape_policy.dry_run)
		return;

	switch (outcome->cap) {
	case SOFTTAPE_CAP_UNNEEDED:
	case SOFTTAPE_CAP_SET:
	case SOFTTAPE_CAP_CLAMPED:
	case SOFTTAPE_CAP_LIFTED:
		break;
	default:
		return;
	}

	if (cap_lifted(record, now))
		outcome->cap = SOFTTAPE_CAP_LIFTED;
	else if (outcome->cap == SOFTTAPE_CAP_LIFTED)
		outcome->cap = record->tls_ours ?
			       softtape_cap_judge(softtape_policy.speed, record->tls_old, now->tls) :
			       SOFTTAPE_CAP_UNNEEDED;
}

static void restore_tls(struct record *record)
{
	struct pci_dev *port = softtape_link_port(record->owner);
	int tls;

	if (!record->tls_ours || record->tls_ours == record->tls_old)
		return;

	/* There is no later moment, so an access that fails gets a second chance here. */
	pm_runtime_get_sync(&port->dev);
	tls = softtape_link_set_tls(port, record->tls_ours, record->tls_old);
	if (tls == -ENODEV || tls == record->tls_ours)
		tls = softtape_link_set_tls(port, record->tls_ours, record->tls_old);
	if (tls == record->tls_old)
		record->tls_ours = 0;
	pm_runtime_put(&port->dev);
}

/* Have the link states disabled, unless that is done; the user may have chosen otherwise in the link/ files since. */
static void settle(struct record *record, bool again)
{
	if (softtape_link_port(record->owner) && (!record->final || again || record->untold))
		record->untold = softtape_link_settle(record->owner, &softtape_policy, &record->outcome);
}

/* 0, or -EAGAIN: the registers could not be read, and nothing new was said. */
static int conclude(struct record *record, const char *after)
{
	struct softtape_report report;
	struct softtape_view now;
	int ret;

	ret = look(record, &now);
	if (ret == -ENODEV) {
		publish_lost(record, after);
		return 0;
	}
	if (ret)
		return ret;

	check_cap(record, &now);
	record->outcome.bound = softtape_link_bound(record->owner);
	report_init(record, &report);
	softtape_report_make(&report, &record->first, &now, &softtape_policy, &record->outcome);
	publish(record, &report, after);
	return 0;
}

static bool awake(struct pci_dev *pdev)
{
	return pdev->current_state == PCI_D0 || pdev->current_state == PCI_UNKNOWN;
}

/* Takes a runtime-PM reference on both ends, whatever it returns. */
static bool wake(struct pci_dev *card)
{
	struct pci_dev *port = softtape_link_port(card);

	if (port)
		pm_runtime_get_sync(&port->dev);
	pm_runtime_get_sync(&card->dev);

	return (!port || awake(port)) && card->current_state != PCI_D3cold;
}

static void let_sleep(struct pci_dev *card)
{
	struct pci_dev *port = softtape_link_port(card);

	pm_runtime_put(&card->dev);
	if (port)
		pm_runtime_put(&port->dev);
}

/* Functions of a slot whose device locks are held; referenced. */
struct locked {
	struct pci_dev *pdev[SOFTTAPE_FUNCTIONS_MAX];
};

static void unlock_functions(struct locked *locked)
{
	unsigned int i;

	for (i = 0; i < SOFTTAPE_FUNCTIONS_MAX; i++) {
		if (!locked->pdev[i])
			continue;
		device_unlock(&locked->pdev[i]->dev);
		pci_dev_put(locked->pdev[i]);
	}
}

/*
 * Device locks of all functions, so that no driver comes or goes. Never waits: our load may have been asked for from
 * within a probe of this very card.
 */
static bool trylock_functions(struct pci_dev *card, struct locked *ret_locked)
{
	unsigned int i;

	memset(ret_locked, 0, sizeof(*ret_locked));

	for (i = 0; i < SOFTTAPE_FUNCTIONS_MAX; i++) {
		struct pci_dev *pdev = softtape_link_function(card, i);

		if (!pdev)
			continue;
		if (!device_trylock(&pdev->dev)) {
			pci_dev_put(pdev);
			unlock_functions(ret_locked);
			return false;
		}
		ret_locked->pdev[i] = pdev;
	}

	return true;
}

static void attach(struct record *record)
{
	int ret;

	if (record->attached)
		return;

	ret = softtape_sysfs_add(record->owner);
	if (ret) {
		pci_warn(record->owner, "softtape: no sysfs directory (%d)\n", ret);
		return;
	}
	WRITE_ONCE(record->attached, true);
	wake_up(&attached);
}

static bool all_attached(void)
{
	struct record *record;
	bool all = true;

	spin_lock(&records_lock);
	list_for_each_entry(record, &records, node)
		all &= READ_ONCE(record->attached);
	spin_unlock(&records_lock);

	return all;
}

/**
 * softtape_record_wait - let the works make the directories of what was there before the module
 *
 * So that they are there when modprobe is back. Not waited for longer than a moment: who holds the rescan lock may be
 * waiting for our load, or be stuck.
 */
void softtape_record_wait(void)
{
	wait_event_timeout(attached, all_attached(), msecs_to_jiffies(ATTACH_MS));
}

/* The card is not even woken. */
static int work_skipped(struct record *record)
{
	struct softtape_report report;
	int i;

	report_init(record, &report);
	report.state = SOFTTAPE_SKIPPED;
	for (i = 0; i < SOFTTAPE_NR_ITEMS; i++)
		report.value[i] = SOFTTAPE_UNKNOWN;

	mutex_lock(&record->lock);
	if (!record->dead)
		publish(record, &report, NULL);
	mutex_unlock(&record->lock);

	return 0;
}

/* With the rescan lock, the device locks and record->lock held, both ends awake. */
static int work_awake(struct record *record, const char *after, bool resumed)
{
	struct softtape_view view;
	bool bound;
	int ret;

	ret = look(record, &view);
	if (ret == -EAGAIN)
		return ret;

	if (!ret) {
		bound = softtape_link_bound(record->owner);
		if (!record->capped || (resumed && !bound))
			cap_speed(record, &view, bound);
		forbid_d3cold(record);
		settle(record, false);
	}

	return conclude(record, after);
}

static void record_free(struct record *record)
{
	pci_dev_put(record->owner);
	kfree(record);
}

static void record_burial(struct work_struct *work)
{
	struct record *record = container_of(work, struct record, burial);

	cancel_delayed_work_sync(&record->work);
	record_free(record);
}

/*
 * Gone from the list, so nobody finds it any more. The work may still run, and may wait for the rescan lock that our
 * caller holds: it is waited for elsewhere.
 */
static void bury(struct record *record)
{
	mutex_lock(&record->lock);
	record->dead = true;
	mutex_unlock(&record->lock);

	/*
	 * Nobody sets the timer again. One that ends while the workqueue is being destroyed would lose its work
	 * (workqueue.c:__queue_work), and the burial would wait for it for ever.
	 */
	cancel_delayed_work(&record->work);
	if (!record->skipped)
		softtape_smbus_card_removed();
	queue_work(workqueue, &record->burial);
}

static int work_once(struct record *record, const char *after, bool resumed)
{
	struct pci_dev *owner = record->owner;
	struct locked locked;
	int ret = -EAGAIN;

	/* Removed after the pass over what is already there had found it, and before it was in the list. */
	if (!device_is_registered(&owner->dev)) {
		if (unlink_record(record))
			bury(record);
		return 0;
	}

	mutex_lock(&record->lock);
	if (!record->dead)
		attach(record);
	mutex_unlock(&record->lock);

	if (record->skipped)
		return work_skipped(record);

	if (!wake(owner) || !trylock_functions(owner, &locked))
		goto out_sleep;

	mutex_lock(&record->lock);
	ret = record->dead ? 0 : work_awake(record, after, resumed);
	mutex_unlock(&record->lock);
	unlock_functions(&locked);

out_sleep:
	let_sleep(owner);
	return ret;
}

static void record_work(struct work_struct *work)
{
	struct record *record = container_of(work, struct record, work.work);
	unsigned long started;
	const char *after;
	bool resumed;
	int ret;

	spin_lock(&records_lock);
	resumed = record->resumed;
	after = resumed ? "resume" : record->after;
	started = record->started;
	record->resumed = false;
	record->after = NULL;
	spin_unlock(&records_lock);

	pci_lock_rescan_remove();
	ret = work_once(record, after, resumed);
	pci_unlock_rescan_remove();

	if (!ret)
		return;

	/* Under the lock, so that nothing is queued behind the back of a burial. */
	mutex_lock(&record->lock);
	if (!record->dead) {
		spin_lock(&records_lock);
		record->resumed |= resumed;
		spin_unlock(&records_lock);
		queue_again(record, after, time_before(jiffies, started + RETRY_FAST_FOR) ?
			    msecs_to_jiffies(RETRY_FAST_MS) : RETRY_SLOW);
	}
	mutex_unlock(&record->lock);
}

static struct record *record_new(struct pci_dev *pdev, const struct softtape_card *card)
{
	const struct softtape_address address = {
		.domain = pci_domain_nr(pdev->bus),
		.bus = pdev->bus->number,
		.slot = PCI_SLOT(pdev->devfn),
	};
	struct record *record;
	int i;

	record = kzalloc(sizeof(*record), GFP_KERNEL);
	if (!record)
		return NULL;

	record->owner = pci_dev_get(pdev);
	record->card = card;
	record->skipped = softtape_slot_skipped(&softtape_policy, &address);
	record->untold = true;
	record->started = jiffies;
	INIT_LIST_HEAD(&record->node);
	mutex_init(&record->lock);
	INIT_DELAYED_WORK(&record->work, record_work);
	INIT_WORK(&record->burial, record_burial);

	report_init(record, &record->snapshot);
	record->snapshot.state = SOFTTAPE_PENDING;
	for (i = 0; i < SOFTTAPE_NR_ITEMS; i++)
		record->snapshot.value[i] = SOFTTAPE_UNKNOWN;

	return record;
}

/* Moment A. Both ends are awake: enumeration just read them. */
static void early(struct record *record)
{
	struct softtape_report report;
	struct softtape_view view;

	if (record->skipped || look(record, &view))
		return;

	/* The card itself is new, another function of the slot may be in use since before. */
	cap_speed(record, &view, softtape_link_bound(record->owner));
	forbid_d3cold(record);

	report_init(record, &report);
	softtape_report_make(&report, &record->first, &view, &softtape_policy, &record->outcome);
	report.state = SOFTTAPE_PENDING;
	set_snapshot(record, &report);
}

/* Another NVIDIA function of a slot that has a record: no line and no directory, but no D3cold either. */
static void join(struct record *record)
{
	mutex_lock(&record->lock);
	if (!record->skipped)
		forbid_d3cold(record);
	mutex_unlock(&record->lock);
}

/**
 * softtape_record_add - a function of vendor NVIDIA appeared, or was there before the module
 * @pdev:	the function
 * @late:	false: from ADD_DEVICE, its registers may be read now; true: left to the work, which has the locks
 */
void softtape_record_add(struct pci_dev *pdev, bool late)
{
	const struct softtape_card *card;
	struct record *record;

	record = record_of_slot(pdev);
	if (record) {
		if (!late)
			join(record);
		return;
	}

	card = softtape_card_match(&softtape_policy, pdev->vendor, pdev->device, pdev->class);
	if (!card)
		return;

	record = record_new(pdev, card);
	if (!record) {
		pci_warn(pdev, "softtape: no memory, card left alone\n");
		return;
	}

	mutex_lock(&record->lock);
	if (!link_record(record)) {
		mutex_unlock(&record->lock);
		record_free(record);
		return;
	}

	if (!record->skipped)
		softtape_smbus_card_added();
	/* Late, it may be leaving just now, and only the rescan lock keeps its folder in sysfs: that is the work's. */
	if (!late) {
		early(record);
		if (device_is_registered(&pdev->dev))
			attach(record);
	}
	/* Before the lock is given up: from then on the card may be removed, and a burial ends this work. */
	mod_delayed_work(workqueue, &record->work, 0);
	mutex_unlock(&record->lock);
}

/**
 * softtape_record_bind - moment C, from BIND_DRIVER
 * @pdev:	any function of vendor NVIDIA
 */
void softtape_record_bind(struct pci_dev *pdev)
{
	struct record *record = record_of(pdev);
	struct softtape_view view;

	if (!record || record->skipped)
		return;

	mutex_lock(&record->lock);
	/* A card that was there before the module, bound before the work came to it: too late for a retrain. */
	if (!record->capped && !look(record, &view)) {
		cap_speed(record, &view, true);
		forbid_d3cold(record);
	}
	settle(record, false);
	if (conclude(record, "bind"))
		queue_event(record, "bind");
	mutex_unlock(&record->lock);
}

/**
 * softtape_record_bound - moment D, from BOUND_DRIVER
 * @pdev:	any function of vendor NVIDIA
 */
void softtape_record_bound(struct pci_dev *pdev)
{
	struct record *record = record_of(pdev);
	struct pci_dev *port;

	if (!record || record->skipped)
		return;

	port = softtape_link_port(pdev);
	if ((port && !awake(port)) || pdev->current_state == PCI_D3cold) {
		queue_event(record, "bind");
		return;
	}

	mutex_lock(&record->lock);
	if (conclude(record, "bind"))
		queue_event(record, "bind");
	mutex_unlock(&record->lock);
}

/**
 * softtape_record_unbound - from UNBOUND_DRIVER and DRIVER_NOT_BOUND
 * @pdev:	any function of vendor NVIDIA
 *
 * Left to the work: when the card is being removed, it finds the record dead and says nothing.
 */
void softtape_record_unbound(struct pci_dev *pdev)
{
	struct record *record = record_of(pdev);

	if (record && !record->skipped)
		queue_event(record, "unbind");
}

/**
 * softtape_record_del - moment E, from DEL_DEVICE
 * @pdev:	any function of vendor NVIDIA
 */
void softtape_record_del(struct pci_dev *pdev)
{
	struct record *record = record_of(pdev);

	if (!record || !unlink_record(record))
		return;

	if (record->attached)
		softtape_sysfs_del(pdev);

	mutex_lock(&record->lock);
	restore_tls(record);
	permit_d3cold(record);
	mutex_unlock(&record->lock);

	bury(record);
}

/**
 * softtape_record_resume - moment F, from the PM notifier
 *
 * Resume restores the port's target speed from memory and does not retrain (pci.c:pci_restore_pcie_state).
 */
void softtape_record_resume(void)
{
	struct record *record;

	spin_lock(&records_lock);
	list_for_each_entry(record, &records, node) {
		if (record->skipped)
			continue;
		record->resumed = true;
		record->started = jiffies;
		mod_delayed_work(workqueue, &record->work, 0);
	}
	spin_unlock(&records_lock);
}

/* Target speed only: a retrain has its own moments. */
static void reapply_tls(struct record *record, const struct softtape_view *now)
{
	struct pci_dev *port = softtape_link_port(record->owner);
	struct locked locked;

	if (!record->tls_ours || now->tls <= record->tls_ours || !trylock_functions(record->owner, &locked))
		return;

	if (!softtape_link_bound(record->owner))
		softtape_link_set_tls(port, 0, record->tls_ours);
	unlock_functions(&locked);
}

static int verify_locked(struct record *record)
{
	struct softtape_view view;
	int ret;

	if (!record->final)
		return -EAGAIN;

	ret = look(record, &view);
	if (ret == -EAGAIN)
		return ret;

	if (!ret) {
		reapply_tls(record, &view);
		forbid_d3cold(record);
		settle(record, true);
	}

	return conclude(record, "verify");
}

/**
 * softtape_record_verify - re-read and re-apply, for the sysfs file
 * @dev:	the matched function
 *
 * Runs while the sysfs file is held, which DEL_DEVICE and unload wait for before they take anything else.
 *
 * Return:
 * * %0		- the snapshot is new
 * * %-ENODEV	- no record
 * * %-EAGAIN	- still pending, or the port sleeps, or a register could not be read
 * * %-EPERM	- the slot is skipped
 */
int softtape_record_verify(struct device *dev)
{
	struct record *record = record_of(to_pci_dev(dev));
	int ret = -EAGAIN;

	if (!record)
		return -ENODEV;
	if (record->skipped)
		return -EPERM;

	if (wake(record->owner)) {
		mutex_lock(&record->lock);
		ret = verify_locked(record);
		mutex_unlock(&record->lock);
	}
	let_sleep(record->owner);

	return ret;
}

/**
 * softtape_record_snapshot - what is known of a card now
 * @dev:	the matched function
 * @ret_report:	filled when there is a record
 *
 * Takes spinlocks only.
 *
 * Return: whether there is a record.
 */
bool softtape_record_snapshot(struct device *dev, struct softtape_report *ret_report)
{
	struct record *record;
	bool found = false, skipped = false;

	spin_lock(&records_lock);
	list_for_each_entry(record, &records, node) {
		if (&record->owner->dev == dev) {
			*ret_report = record->snapshot;
			skipped = record->skipped;
			found = true;
		}
	}
	spin_unlock(&records_lock);

	/* Changes by itself, without a word from the card. */
	if (found && !skipped)
		softtape_smbus_current(ret_report->smbus, sizeof(ret_report->smbus));

	return found;
}

/**
 * softtape_record_init - before any notifier
 *
 * Return: 0 or %-ENOMEM.
 */
int softtape_record_init(void)
{
	/* Freezable: no register is touched between suspend and resume of the devices. */
	workqueue = alloc_workqueue("softtape", WQ_UNBOUND | WQ_FREEZABLE, 0);
	return workqueue ? 0 : -ENOMEM;
}

/* What we set and can take back: target speed, D3cold, the directory. A disabled link state stays disabled. */
static void release(struct record *record)
{
	struct pci_dev *owner = record->owner;
	struct locked locked;

	if (!device_is_registered(&owner->dev))
		return;

	if (record->attached)
		softtape_sysfs_del(owner);

	mutex_lock(&record->lock);
	permit_d3cold(record);
	if (wake(owner) && trylock_functions(owner, &locked)) {
		if (!softtape_link_bound(owner))
			restore_tls(record);
		unlock_functions(&locked);
	}
	let_sleep(owner);
	mutex_unlock(&record->lock);
}

static struct record *pop(void)
{
	struct record *record;

	spin_lock(&records_lock);
	record = list_first_entry_or_null(&records, struct record, node);
	if (record)
		list_del_init(&record->node);
	spin_unlock(&records_lock);

	return record;
}

/**
 * softtape_record_exit - after all notifiers are unregistered
 */
void softtape_record_exit(void)
{
	struct record *record;

	/* No card is removed while its directory is. */
	pci_lock_rescan_remove();
	while ((record = pop())) {
		release(record);
		bury(record);
	}
	pci_unlock_rescan_remove();

	destroy_workqueue(workqueue);
}
