// SPDX-License-Identifier: GPL-2.0-only
/*
 * The check of one card, from lock to verdict, in a process of its own. Never calls CUDA: selftest.c's child does. Every
 * step says how long it may take, so that the process that waits can give up.
 */
#include "job.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "aer.h"
#include "bind.h"
#include "busy.h"
#include "diagnose.h"
#include "doctor.h"
#include "kevent.h"
#include "klog.h"
#include "predict.h"
#include "quirks.h"
#include "selftest.h"
#include "state.h"
#include "watch.h"

/* The module tries for 30 s to reach a card and its port, then once a minute. */
#define QUIRKS_WAIT_MS	35000
/* Reading sysfs takes milliseconds; a step that takes this much longer than its own limit is stuck. */
#define GRACE_MS	15000
/* The kernel's event for a new card may be this far ahead of the end of its enumeration. */
#define ENUMERATION_MS	2000
/* selftest_run() tells of itself this often, and needs five seconds to stop a child. */
#define TELL_MS		10000
/* A long phase renews the state file. */
#define STORE_MS	60000
/* Cards of a rig go to full power so far apart. */
#define POWER_GAP_MS	100
/* Cards of an uplink wait for each other so long: contexts of slow cards take seconds. */
#define MEETING_MS	60000
/* And then copy so long. */
#define TOGETHER_MS	500
/* Rounds of questions to NVML; a quick check is over in seconds. */
#define NVML_QUICK_MS	200
#define NVML_MS		1000
/* Another check's slot is looked for this often. */
#define SLOT_LOOK_MS	250

/**
 * job_store - write the state file
 * @job:	as it is now
 */
void job_store(struct job *job)
{
	struct row row = { .card = job->card, .outcome = &job->outcome };

	/* What was corrupted on purpose says nothing of the card. */
	if (!job->foreign && !job->inject)
		job->state_error = -state_write(&row);
}

static void note(struct job *job, enum finding_code code, const char *evidence)
{
	struct finding finding;

	finding_make(&finding, code, job->card.bdf, "%s", evidence);
	outcome_add(&job->outcome, &finding);
}

static struct phase *phase_start(struct job *job, const char *name, long long limit_ms)
{
	struct phase *phase = outcome_phase(&job->outcome, name);

	util_copy(phase->result, sizeof(phase->result), "running");
	job->deadline_ms = limit_ms ? util_now_ms() + limit_ms + GRACE_MS : 0;
	job_store(job);
	return phase;
}

static void phase_end(struct job *job, struct phase *phase, long long start_ms, const char *result)
{
	util_copy(phase->result, sizeof(phase->result), result);
	phase->ms = (unsigned int)(util_now_ms() - start_ms);
	job_store(job);
}

/* Looks until the driver is there, cannot come, or the time is over; fills @finding in the last two cases. */
static int wait_driver(struct job *job, struct watch *watch, struct bind_facts *facts, enum bind *ret_bind,
		       struct finding *finding)
{
	long long start_ms = util_now_ms(), until_ms = start_ms + job->wait_s * 1000LL;
	long long placed_ms = start_ms + (job->wait_s ? ENUMERATION_MS : 0);
	bool waited = false;
	int ret;

	for (;;) {
		card_read_driver(&job->card);
		card_read_link(&job->card);
		bind_facts_read(&job->card, facts);
		facts->enumerating = util_now_ms() < placed_ms;
		*ret_bind = bind_decide(facts, waited, job->card.bdf, finding);
		if (*ret_bind != BIND_WAIT)
			return 0;

		ret = watch_wait(watch, facts->bar[0] && facts->enumerating ? placed_ms : until_ms);
		if (ret == -ECANCELED)
			return ret;
		waited = util_now_ms() >= until_ms;
	}
}

static int check_driver(struct job *job, int cancel_fd, struct verdict_facts *facts)
{
	long long start_ms = util_now_ms();
	struct phase *phase = phase_start(job, "driver", job->wait_s * 1000LL);
	struct watch *watch = watch_open(cancel_fd);
	struct bind_facts bind_facts;
	struct finding finding;
	enum bind bind;
	int ret;

	ret = wait_driver(job, watch, &bind_facts, &bind, &finding);
	watch_close(watch);
	if (ret) {
		phase_end(job, phase, start_ms, "cancelled");
		return ret;
	}

	job->outcome.simulated = bind_facts.simulated;
	facts->testable = bind == BIND_READY;
	facts->lost = bind == BIND_NEVER && finding.code == FINDING_OFF_BUS;
	/* A driver that binds all the same may fail later: then this is why. */
	facts->short_of |= bind == BIND_READY && bind_facts.bar[0];
	if (bind == BIND_READY && bind_facts.bar[0])
		bind_no_space(&bind_facts, job->card.bdf, &finding);
	if (bind == BIND_NEVER && finding.code == FINDING_NO_MODULE)
		doctor_driver_lines(&job->card, finding.command, sizeof(finding.command));
	if (bind == BIND_NEVER || bind_facts.bar[0])
		outcome_add(&job->outcome, &finding);
	phase_end(job, phase, start_ms, facts->testable ? "pass" : facts->lost ? "lost" : "not-testable");
	return 0;
}

static int wait_quirks(struct job *job, int cancel_fd)
{
	long long until_ms = util_now_ms() + QUIRKS_WAIT_MS;
	struct watch *watch = watch_open(cancel_fd);
	int ret = 0;

	do {
		card_read_quirks(&job->card);
		if (!quirks_pending(&job->card))
			break;
		ret = watch_wait(watch, until_ms);
	} while (!ret);

	watch_close(watch);
	return ret == -ECANCELED ? ret : 0;
}

static int check_quirks(struct job *job, int cancel_fd, struct verdict_facts *facts)
{
	static const char *const words[] = {
		[QUIRKS_FINE] = "pass",
		[QUIRKS_SHORT] = "degraded",
		[QUIRKS_LOST] = "lost",
	};
	long long start_ms = util_now_ms();
	struct phase *phase = phase_start(job, "quirks", QUIRKS_WAIT_MS);
	enum quirks quirks;

	if (wait_quirks(job, cancel_fd)) {
		phase_end(job, phase, start_ms, "cancelled");
		return -ECANCELED;
	}

	card_read_link(&job->card);
	quirks = quirks_judge(&job->card, !access("/sys/module/softtape", F_OK), &job->outcome);
	facts->short_of |= quirks == QUIRKS_SHORT;
	facts->lost |= quirks == QUIRKS_LOST || job->card.gone;
	if (job->card.gone)
		note(job, FINDING_OFF_BUS, "config space reads all ones");
	phase_end(job, phase, start_ms, job->card.row ? words[quirks] : "not-applicable");
	return 0;
}

/* Returns a descriptor that holds the slot, -ECANCELED, or another negative errno when slots cannot be had at all. */
static int wait_slot(struct job *job, int cancel_fd)
{
	struct pollfd fd = { .fd = cancel_fd, .events = POLLIN };
	long long start_ms = util_now_ms();
	struct phase *phase;
	int slot;

	slot = state_try_slot(job->max_parallel);
	if (slot != -EAGAIN)
		return slot;

	phase = phase_start(job, "queue", 0);
	while (slot == -EAGAIN)
		slot = poll(&fd, 1, SLOT_LOOK_MS) > 0 ? -ECANCELED : state_try_slot(job->max_parallel);
	phase_end(job, phase, start_ms, slot == -ECANCELED ? "cancelled" : "pass");
	job->outcome.queue_ms += phase->ms;
	return slot;
}

static void take_result(struct job *job, const struct selftest_result *result)
{
	struct outcome *outcome = &job->outcome;
	int i;

	for (i = 0; i < SELFTEST_NR_PHASES; i++) {
		struct phase *phase;

		if (result->phase[i].word == SELFTEST_NOT_RUN)
			continue;
		phase = outcome_phase(outcome, selftest_phase_name(i));
		util_copy(phase->result, sizeof(phase->result), selftest_word_name(result->phase[i].word));
		phase->ms = result->phase[i].ms;
		phase->predicted_ms = result->phase[i].predicted_ms;
	}

	outcome->simulated |= result->simulated;
	outcome->errors = result->errors;
	outcome->h2d_mbs = result->h2d_mbs;
	outcome->d2h_mbs = result->d2h_mbs;
	outcome->link_mbs = result->link_mbs;
	outcome->tested_mib = (unsigned int)result->tested_mib;
	outcome->mem_mib = (unsigned int)result->mem_mib;
	outcome->test = *result;
}

/**
 * struct test_run - one run of the self-test
 * @job:	whose
 * @stop_fd:	written to when the test must end
 * @who:	who came while it ran, empty = nobody
 * @stored:	phases that the state file tells of
 * @stored_ms:	when it was written
 * @telemetry:	process that asks NVML
 * @before:	errors of the link before the link phase, or before the test when the phase came and went unseen
 * @link_began:	the link phase was seen to run
 * @klog_fd:	kernel log from the beginning on, negative = may not be read
 * @arrived:	this card waits for the others of its uplink
 * @give_up_ms:	until then, 0 = it does not wait yet
 */
struct test_run {
	struct job *job;
	int stop_fd;
	char who[256];
	unsigned int stored;
	long long stored_ms;
	struct telemetry_watch telemetry;
	struct aer_counts before;
	bool link_began;
	int klog_fd;
	bool arrived;
	long long give_up_ms;
};

/* The errors of the link while it is at work: between the beginning and the end of its phase. */
static void watch_link(struct test_run *run, const struct selftest_result *so_far)
{
	enum selftest_word word = so_far->phase[SELFTEST_LINK].word;
	struct link_errors *errors = &run->job->outcome.link_errors;
	struct aer_counts now;

	if (word == SELFTEST_NOT_RUN || errors->looked)
		return;
	aer_read(&run->job->card, &now);
	if (word == SELFTEST_RUNNING) {
		/* The first look; the phase has hardly begun. */
		if (!run->link_began)
			run->before = now;
		run->link_began = true;
		return;
	}
	aer_since(&run->before, &now);
	errors->looked = true;
	errors->corrected = now.corrected;
	errors->nonfatal = now.nonfatal;
	errors->fatal = now.fatal;
}

/* Who arrives during the test must neither suffer from it nor be taken for a fault. */
static void on_progress(const struct selftest_result *so_far, void *data)
{
	struct test_run *run = data;
	long long now_ms = util_now_ms();
	unsigned int i, phases = 0;

	/* Changes with every phase that begins or ends. */
	for (i = 0; i < SELFTEST_NR_PHASES; i++)
		phases += (so_far->phase[i].word != SELFTEST_NOT_RUN) + (so_far->phase[i].word > SELFTEST_RUNNING);
	take_result(run->job, so_far);
	watch_link(run, so_far);
	/* The next call comes within a second; one that does not come is a process that is stuck. */
	run->job->deadline_ms = now_ms + TELL_MS + GRACE_MS;
	if (phases != run->stored || now_ms - run->stored_ms >= STORE_MS) {
		job_store(run->job);
		run->stored = phases;
		run->stored_ms = now_ms;
	}
	if (!run->who[0] && !run->job->force && busy_find(run->job->card.bdf, "/proc", run->who, sizeof(run->who)))
		eventfd_write(run->stop_fd, 1);
}

/* The last one to come opens the door for all; a card that waits too long goes home. */
static bool all_are_there(struct test_run *run)
{
	struct meeting *meeting = run->job->meeting;
	unsigned int ready, gone;

	if (!meeting)
		return true;
	if (!run->arrived) {
		run->arrived = true;
		run->give_up_ms = util_now_ms() + MEETING_MS;
		atomic_fetch_add(&meeting->ready, 1);
	}
	ready = atomic_load(&meeting->ready);
	gone = atomic_load(&meeting->gone);
	if (ready + gone >= meeting->cards && ready > 1)
		return true;
	if (ready + gone >= meeting->cards || util_now_ms() > run->give_up_ms)
		eventfd_write(run->stop_fd, 1);
	return false;
}

static bool may_go_on(enum selftest_ask ask, void *data)
{
	struct test_run *run = data;

	switch (ask) {
	case ASK_POWER:
		return state_take_turn("power", POWER_GAP_MS);
	case ASK_TOGETHER:
		return all_are_there(run);
	default:
		return true;
	}
}

/* Half of its highest clock, or less, is idle. */
static bool clock_fell(void *data)
{
	struct test_run *run = data;
	const struct telemetry_range *clock = &run->job->outcome.telemetry.range[TELEMETRY_MEMORY_CLOCK];

	telemetry_read(&run->telemetry, &run->job->outcome.telemetry);
	return clock->known && clock->now <= clock->max / 2;
}

/* One descriptor for two reasons to stop: readable when either of the two is. */
static int join(int a, int b)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0)
		return fd;
	/* A descriptor below 0 is none (tests). */
	epoll_ctl(fd, EPOLL_CTL_ADD, a, &event);
	epoll_ctl(fd, EPOLL_CTL_ADD, b, &event);
	return fd;
}

/* MT/s of a Link Speed field (PCIe r6.0 7.5.3.6). */
static unsigned int speed_mts(__u8 speed)
{
	static const unsigned int mts[] = { 0, 2500, 5000, 8000, 16000, 32000, 64000 };

	return speed < ARRAY_SIZE(mts) ? mts[speed] : 0;
}

static const struct selftest_plan *plan_of(enum level level)
{
	switch (level) {
	case LEVEL_QUICK:
		return &predict_quick;
	case LEVEL_LONG:
		return &predict_long;
	default:
		return &predict_standard;
	}
}

static void take_event(const char *line, void *data)
{
	struct test_run *run = data;
	struct outcome *outcome = &run->job->outcome;
	struct kevent event;
	unsigned int i;

	if (!kevent_parse(line, &event))
		return;
	if (event.kind == KEVENT_AER) {
		if (!strcmp(event.bdf, run->job->card.bdf) || !strcmp(event.bdf, run->job->card.port))
			outcome->link_errors.log_lines++;
		return;
	}
	if (strcmp(event.bdf, run->job->card.bdf))
		return;
	for (i = 0; i < outcome->nr_xid; i++)
		if (outcome->xid[i] == event.xid)
			return;
	if (outcome->nr_xid == OUTCOME_XIDS_MAX)
		return;
	outcome->xid[outcome->nr_xid++] = event.xid;
	note(run->job, event.code, line);
}

/* What the test does not see itself: NVML, the kernel log, the link's counters. */
static void look_around_begin(struct test_run *run)
{
	struct job *job = run->job;

	aer_read(&job->card, &run->before);
	run->klog_fd = klog_open_end();
	telemetry_start(job->card.bdf, job->level == LEVEL_QUICK ? NVML_QUICK_MS : NVML_MS, &run->telemetry);
}

static void look_around_end(struct test_run *run, struct verdict_facts *facts)
{
	struct job *job = run->job;
	struct outcome *outcome = &job->outcome;
	const struct telemetry *telemetry = &outcome->telemetry;
	char other[128];
	unsigned int i;

	watch_link(run, &outcome->test);
	telemetry_stop(&run->telemetry, &outcome->telemetry);
	outcome->link_errors.replays = telemetry->replays_known ? (long long)telemetry->replays - telemetry->replays_first : -1;
	outcome->link_errors.log_lines = run->klog_fd < 0 ? -1 : 0;
	if (run->klog_fd >= 0) {
		klog_drain(run->klog_fd, take_event, run);
		close(run->klog_fd);
	}
	if (job->card.row && outcome->test.compute && outcome->test.compute != job->card.row->compute) {
		snprintf(other, sizeof(other), "CUDA capability %u.%u, a %s has %u.%u", outcome->test.compute / 10,
			 outcome->test.compute % 10, job->card.row->name, job->card.row->compute / 10, job->card.row->compute % 10);
		note(job, FINDING_OTHER_CHIP, other);
		facts->short_of = true;
	}
	/* A program's fault is the test's own if it is anybody's: told, and the data says the rest. */
	for (i = 0; i < outcome->nr_xid; i++)
		facts->driver_fault |= kevent_xid_code(outcome->xid[i]) != FINDING_XID_APP;
	facts->short_of |= diagnose_surroundings(job->card.bdf, outcome);
}

static void make_request(struct job *job, const char *config, struct test_run *run, struct selftest_request *ret)
{
	*ret = (struct selftest_request){
		.bdf = job->card.bdf,
		.config_path = config,
		.plan = *plan_of(job->level),
		.inject = job->inject,
		.sysfs = job->card.syspath,
		.speed_mts = speed_mts(job->card.view.speed),
		.width = job->card.view.width,
		.progress = on_progress,
		.grant = may_go_on,
		.clock_fell = clock_fell,
		.progress_data = run,
	};
	if (job->soak_ms)
		ret->plan.soak_ms = job->soak_ms;
}

static int run_selftest(struct job *job, int cancel_fd, struct verdict_facts *facts)
{
	int stop_fd CLEANUP_CLOSE = eventfd(0, EFD_CLOEXEC), any_fd CLEANUP_CLOSE = join(cancel_fd, stop_fd);
	struct test_run run = { .job = job, .stop_fd = stop_fd };
	struct selftest_request request;
	struct selftest_result result;
	char config[CARD_PATH_MAX + 16];

	card_path(&job->card, "config", config, sizeof(config));
	make_request(job, config, &run, &request);
	request.cancel_fd = any_fd;
	job->outcome.soak_ms = request.plan.soak_ms;
	job->outcome.tested = true;
	job->deadline_ms = util_now_ms() + TELL_MS + GRACE_MS;
	look_around_begin(&run);
	selftest_run(&request, &result);
	take_result(job, &result);
	job->outcome.queue_ms += result.queue_ms;
	diagnose_result(&result, job->card.bdf, &job->outcome);
	look_around_end(&run, facts);
	facts->tested = true;
	facts->word = result.word;
	/* The link is read while the card is still awake from the test. */
	card_read_link(&job->card);
	if (result.word != SELFTEST_CANCELLED || !run.who[0])
		return result.word == SELFTEST_CANCELLED ? -ECANCELED : 0;

	note(job, FINDING_BUSY, run.who);
	facts->testable = false;
	return 0;
}

static int test(struct job *job, int cancel_fd, struct verdict_facts *facts)
{
	char who[256];
	int slot CLEANUP_CLOSE = -1;

	if (!facts->testable || facts->lost || job->level == LEVEL_BIND_ONLY)
		return 0;

	slot = wait_slot(job, cancel_fd);
	if (slot == -ECANCELED)
		return slot;

	if (!job->force && busy_find(job->card.bdf, "/proc", who, sizeof(who))) {
		note(job, FINDING_BUSY, who);
		facts->testable = false;
		return 0;
	}

	return run_selftest(job, cancel_fd, facts);
}

static int check(struct job *job, int cancel_fd, struct verdict_facts *facts)
{
	int ret;

	ret = check_driver(job, cancel_fd, facts);
	/* A card that is gone has no registers to compare: whatever they seem to say would be one more finding of the same. */
	if (!ret && !facts->lost)
		ret = check_quirks(job, cancel_fd, facts);
	if (!ret)
		ret = test(job, cancel_fd, facts);
	return ret;
}

static void finish(struct job *job, enum run run, enum verdict verdict)
{
	job->outcome.run = run;
	job->outcome.verdict = verdict;
	job->outcome.ended = time(NULL);
	job_store(job);
}

/* Somebody wants us to end: because the card was pulled, or because they lost patience. */
static void cancel(struct job *job)
{
	if (access(job->card.syspath, F_OK)) {
		note(job, FINDING_OFF_BUS, "the card was removed during the check");
		finish(job, RUN_DONE, VERDICT_LOST);
		return;
	}

	note(job, FINDING_INTERRUPTED, "ended by a signal");
	finish(job, RUN_INTERRUPTED, VERDICT_NONE);
}

/**
 * job_run - check one card
 * @job:	with card and settings filled in; its outcome is complete afterwards
 * @cancel_fd:	readable = end early
 */
void job_run(struct job *job, int cancel_fd)
{
	struct verdict_facts facts = { 0 };
	int lock CLEANUP_CLOSE = -1;
	char holder[128];

	job->deadline_ms = util_now_ms() + GRACE_MS;
	job->outcome.run = RUN_RUNNING;
	job->outcome.inject = job->inject;
	job->outcome.pid = getpid();
	job->outcome.pid_ticks = state_pid_ticks(getpid());
	job->outcome.started = time(NULL);

	lock = state_lock_card(&job->card, holder, sizeof(holder));
	if (lock == -EBUSY) {
		job->foreign = true;
		note(job, FINDING_LOCKED, holder);
		finish(job, RUN_DONE, VERDICT_NOT_TESTABLE);
		return;
	}

	job_store(job);
	if (check(job, cancel_fd, &facts))
		cancel(job);
	else
		finish(job, RUN_DONE, verdict_decide(&facts));
}

/* Adds what a card showed while others copied too to what it showed alone. */
static void merge_together(struct job *job, const struct selftest_result *result)
{
	struct outcome *outcome = &job->outcome;
	struct phase *phase = outcome_phase(outcome, selftest_phase_name(SELFTEST_TOGETHER));
	enum selftest_word word = result->phase[SELFTEST_TOGETHER].word;
	struct verdict_facts facts = { .testable = true, .tested = true, .word = result->word };
	struct selftest_result *test = &outcome->test;
	uint32_t i;

	util_copy(phase->result, sizeof(phase->result), selftest_word_name(word));
	phase->ms = result->phase[SELFTEST_TOGETHER].ms;
	phase->predicted_ms = result->phase[SELFTEST_TOGETHER].predicted_ms;
	test->phase[SELFTEST_TOGETHER] = result->phase[SELFTEST_TOGETHER];
	test->together_mbs = result->together_mbs;
	test->errors += result->errors;
	outcome->errors += result->errors;
	for (i = 0; i < result->nr_faults && test->nr_faults < SELFTEST_FAULTS_MAX; i++)
		test->fault[test->nr_faults++] = result->fault[i];
	/* Cancelled, or a context that another process has now: nothing new is known. */
	if (result->word == SELFTEST_CANCELLED || result->word == SELFTEST_NOT_TESTABLE)
		return;
	diagnose_result(result, job->card.bdf, outcome);
	outcome->verdict = verdict_worse(outcome->verdict, verdict_decide(&facts));
}

/**
 * job_together - let a card copy while the others of its uplink do the same
 * @job:	checked before, with its meeting
 * @cancel_fd:	readable = end early
 *
 * Takes no slot: the caller holds all of them.
 */
void job_together(struct job *job, int cancel_fd)
{
	int stop_fd CLEANUP_CLOSE = eventfd(0, EFD_CLOEXEC), any_fd CLEANUP_CLOSE = join(cancel_fd, stop_fd);
	struct test_run run = { .job = job, .stop_fd = stop_fd, .klog_fd = -1 };
	int lock CLEANUP_CLOSE = -1;
	struct selftest_request request;
	struct selftest_result result;
	char config[CARD_PATH_MAX + 16], holder[128];

	job->deadline_ms = util_now_ms() + 3LL * MEETING_MS + GRACE_MS;
	lock = state_lock_card(&job->card, holder, sizeof(holder));
	job->foreign = lock == -EBUSY;
	if (!job->foreign) {
		card_path(&job->card, "config", config, sizeof(config));
		make_request(job, config, &run, &request);
		request.cancel_fd = any_fd;
		request.plan = (struct selftest_plan){ .together_ms = TOGETHER_MS };
		request.progress = NULL;
		selftest_run(&request, &result);
		merge_together(job, &result);
	}
	if (!run.arrived)
		atomic_fetch_add(&job->meeting->gone, 1);
	job->outcome.run = RUN_DONE;
	job_store(job);
}

/**
 * job_abandon - give the verdict for a process that gives none
 * @job:	whose process is stuck or dead
 * @why:	evidence
 */
void job_abandon(struct job *job, const char *why)
{
	note(job, FINDING_HUNG, why);
	finish(job, RUN_DONE, VERDICT_HUNG);
}
