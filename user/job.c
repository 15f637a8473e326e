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

#include "bind.h"
#include "busy.h"
#include "diagnose.h"
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
 */
struct test_run {
	struct job *job;
	int stop_fd;
	char who[256];
	unsigned int stored;
	long long stored_ms;
};

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

static bool may_go_on(enum selftest_ask ask, void *data)
{
	(void)data;
	return ask != ASK_POWER || state_take_turn("power", POWER_GAP_MS);
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

static int run_selftest(struct job *job, int cancel_fd, struct verdict_facts *facts)
{
	int stop_fd CLEANUP_CLOSE = eventfd(0, EFD_CLOEXEC), any_fd CLEANUP_CLOSE = join(cancel_fd, stop_fd);
	struct test_run run = { .job = job, .stop_fd = stop_fd };
	struct selftest_result result;
	char config[CARD_PATH_MAX + 16];
	struct selftest_request request = {
		.bdf = job->card.bdf,
		.config_path = config,
		.plan = *plan_of(job->level),
		.inject = job->inject,
		.sysfs = job->card.syspath,
		.speed_mts = speed_mts(job->card.view.speed),
		.width = job->card.view.width,
		.cancel_fd = any_fd,
		.progress = on_progress,
		.grant = may_go_on,
		.progress_data = &run,
	};

	if (job->soak_ms)
		request.plan.soak_ms = job->soak_ms;
	job->outcome.soak_ms = request.plan.soak_ms;
	card_path(&job->card, "config", config, sizeof(config));
	job->outcome.tested = true;
	job->deadline_ms = 0;
	selftest_run(&request, &result);
	take_result(job, &result);
	job->outcome.queue_ms += result.queue_ms;
	diagnose_result(&result, job->card.bdf, &job->outcome);
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
	if (!ret)
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
