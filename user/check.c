// SPDX-License-Identifier: GPL-2.0-only
/* The command check: one process per card, watched so that none of them can keep the verdict from coming. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"
#include "inventory.h"
#include "compare.h"
#include "job.h"
#include "journal.h"
#include "output.h"
#include "state.h"
#include "together.h"

/* Progress is shown and deadlines are looked at this often. */
#define LOOK_MS		200
/* selftest_run() ends its child within five seconds of a cancel. */
#define CANCEL_MS	8000
/* Longer levels draw full power for minutes: not all cards of a rig at once. */
#define PARALLEL_LONG	4

/**
 * struct worker - the process of one card
 * @pid:	process, 0 = it has ended
 * @job:	shared with it
 * @shown:	phases whose start was shown
 * @predicted:	the prediction was shown
 */
struct worker {
	pid_t pid;
	struct job *job;
	unsigned int shown;
	bool predicted;
};

struct check {
	struct worker *worker;
	size_t nr;
	int signal_fd;
	bool predict;
	bool cancelled;
	bool terminated;
	long long cancel_until_ms;
};

static const char *level_word(enum level level)
{
	static const char *const words[] = {
#define X(id, word) [id] = word,
		LEVELS(X)
#undef X
	};

	return words[level];
}

static int open_signals(bool children)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (children)
		sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * The process of one card. It keeps none of our standard streams: stuck in the driver it would keep a pipe open, and
 * `softtape check | reader` would never end.
 */
static _Noreturn void child(struct job *job, void (*work)(struct job *job, int cancel_fd))
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
		_exit(EXIT_FAILURE);

	work(job, open_signals(false));
	_exit(EXIT_SUCCESS);
}

static void fail_job(struct job *job, const char *why)
{
	struct finding finding;

	finding_make(&finding, FINDING_CUDA, job->card.bdf, "%s", why);
	util_copy(finding.word, sizeof(finding.word), "host-error");
	outcome_add(&job->outcome, &finding);
	job->outcome.run = RUN_DONE;
	job->outcome.verdict = VERDICT_NOT_TESTABLE;
	job->outcome.ended = time(NULL);
	job_store(job);
}

static void start(struct worker *worker, void (*work)(struct job *job, int cancel_fd))
{
	worker->pid = fork();
	if (!worker->pid)
		child(worker->job, work);

	if (worker->pid < 0) {
		worker->pid = 0;
		fail_job(worker->job, strerror(errno));
	}
}

static bool is_complete(const struct job *job)
{
	return job->outcome.run == RUN_DONE || job->outcome.run == RUN_INTERRUPTED;
}

static void reap(struct worker *worker)
{
	char why[64];
	int status;

	if (!worker->pid || waitpid(worker->pid, &status, WNOHANG) != worker->pid)
		return;

	worker->pid = 0;
	if (is_complete(worker->job))
		return;

	snprintf(why, sizeof(why), "the check's own process ended %s %d", WIFSIGNALED(status) ? "by signal" : "with status",
		 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	fail_job(worker->job, why);
}

static const char *last_phase(const struct job *job)
{
	const struct outcome *outcome = &job->outcome;

	return outcome->nr_phase ? outcome->phase[outcome->nr_phase - 1].name : "start";
}

static void abandon(struct worker *worker)
{
	char path[64], where[128], why[256];

	snprintf(path, sizeof(path), "/proc/%d/wchan", worker->pid);
	if (util_read(path, where, sizeof(where)) || !where[0])
		util_copy(where, sizeof(where), "unknown");
	snprintf(why, sizeof(why), "the check's process (pid %d) does not come back from phase %s; it waits in %s",
		 worker->pid, last_phase(worker->job), where);

	kill(worker->pid, SIGKILL);
	worker->pid = 0;
	job_abandon(worker->job, why);
}

static bool is_overdue(const struct check *check, const struct worker *worker)
{
	long long now_ms = util_now_ms();

	if (check->cancelled)
		return now_ms > check->cancel_until_ms;
	return worker->job->deadline_ms && now_ms > worker->job->deadline_ms;
}

/* Known as soon as the card has told its memory and clocks. */
static void show_prediction(struct worker *worker)
{
	const struct outcome *outcome = &worker->job->outcome;
	unsigned int i, sum_ms = 0;

	if (worker->predicted || outcome->test.phase[SELFTEST_DEVICE].word != SELFTEST_PASS)
		return;
	worker->predicted = true;
	for (i = 0; i < SELFTEST_NR_PHASES; i++)
		sum_ms += outcome->test.phase[i].predicted_ms;
	fprintf(stderr, "%s: predicted %u.%u s", worker->job->card.bdf, sum_ms / 1000, sum_ms / 100 % 10);
	for (i = 0; i < SELFTEST_NR_PHASES; i++)
		if (outcome->test.phase[i].predicted_ms)
			fprintf(stderr, ", %s %u.%02u", selftest_phase_name(i), outcome->test.phase[i].predicted_ms / 1000,
				outcome->test.phase[i].predicted_ms / 10 % 100);
	fputs(" (least times by arithmetic)\n", stderr);
}

static void show_progress(struct worker *worker)
{
	const struct outcome *outcome = &worker->job->outcome;

	for (; worker->shown < outcome->nr_phase && worker->shown < OUTCOME_PHASES_MAX; worker->shown++)
		fprintf(stderr, "%s: %s\n", worker->job->card.bdf, outcome->phase[worker->shown].name);
}

static void take_signals(struct check *check)
{
	struct signalfd_siginfo info;
	size_t i;

	while (read(check->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD || check->cancelled)
			continue;
		check->cancelled = true;
		check->terminated = info.ssi_signo == SIGTERM;
		check->cancel_until_ms = util_now_ms() + CANCEL_MS;
		for (i = 0; i < check->nr; i++)
			if (check->worker[i].pid)
				kill(check->worker[i].pid, SIGTERM);
	}
}

static bool any_running(const struct check *check)
{
	size_t i;

	for (i = 0; i < check->nr; i++)
		if (check->worker[i].pid)
			return true;
	return false;
}

static void supervise(struct check *check)
{
	struct pollfd fd = { .fd = check->signal_fd, .events = POLLIN };
	bool show = isatty(STDERR_FILENO);
	size_t i;

	while (any_running(check)) {
		poll(&fd, 1, LOOK_MS);
		take_signals(check);
		for (i = 0; i < check->nr; i++) {
			struct worker *worker = &check->worker[i];

			reap(worker);
			if (worker->pid && is_overdue(check, worker))
				abandon(worker);
			if (show || check->predict)
				show_prediction(worker);
			if (show)
				show_progress(worker);
		}
	}
}

/* Waits until nobody else tests: cards of an uplink copy at once, however few may be tested at a time. */
static bool take_all_slots(struct check *check, unsigned int max, int *fds, unsigned int *held)
{
	struct pollfd fd = { .fd = check->signal_fd, .events = POLLIN };
	int ret = state_try_all_slots(max, fds, held);

	while (ret == -EAGAIN && !check->cancelled) {
		poll(&fd, 1, LOOK_MS);
		take_signals(check);
		ret = state_try_all_slots(max, fds, held);
	}
	return !ret;
}

/* What the port's link carries, by the kernel's reading; 0 = not known. */
static unsigned int port_carries_mbs(const char *port)
{
	char path[64], speed[32], width[32];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/current_link_speed", port);
	if (util_read(path, speed, sizeof(speed)))
		return 0;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/current_link_width", port);
	if (util_read(path, width, sizeof(width)))
		return 0;
	return selftest_link_mbs((unsigned int)(strtod(speed, NULL) * 1000), (unsigned int)strtoul(width, NULL, 10));
}

static void copy_together(struct check *check, struct job *jobs, const char *port)
{
	struct meeting *meeting;
	size_t i;

	meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (meeting == MAP_FAILED)
		return;
	for (i = 0; i < check->nr; i++)
		meeting->cards += together_is_under(&jobs[i], port);
	for (i = 0; i < check->nr; i++) {
		if (!together_is_under(&jobs[i], port))
			continue;
		jobs[i].meeting = meeting;
		start(&check->worker[i], job_together);
	}
	supervise(check);
	munmap(meeting, sizeof(*meeting));
	together_judge(jobs, check->nr, port, port_carries_mbs(port));
	for (i = 0; i < check->nr; i++)
		if (!strcmp(jobs[i].outcome.uplink.port, port))
			job_store(&jobs[i]);
}

/*
 * Once all cards were tested one by one. This takes all slots, as it needs all cards of an uplink at once: nobody else tests
 * meanwhile, and it does not begin before the others are done.
 */
static void copy_by_uplink(struct check *check, struct job *jobs, unsigned int max)
{
	int *fds = calloc(max + 1, sizeof(*fds));
	unsigned int held = 0;
	char port[ADDRESS_MAX];
	size_t i;

	for (i = 0; fds && i < check->nr && !check->cancelled; i++)
		if (together_find(jobs, check->nr, i, port, sizeof(port)) && take_all_slots(check, max, fds, &held))
			copy_together(check, jobs, port);
	while (held)
		close(fds[--held]);
	free(fds);
}

static struct job *make_jobs(const struct result *result, const struct options *options, const struct settings *settings)
{
	unsigned int max = settings->max_parallel;
	struct job *jobs;
	size_t i;

	jobs = mmap(NULL, result->nr * sizeof(*jobs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (jobs == MAP_FAILED)
		return NULL;

	if (!max && options->level != LEVEL_QUICK)
		max = PARALLEL_LONG;
	for (i = 0; i < result->nr; i++) {
		jobs[i].card = result->row[i].card;
		jobs[i].level = options->level;
		jobs[i].wait_s = options->wait_s >= 0 ? (unsigned int)options->wait_s : settings->driver_wait_s;
		jobs[i].max_parallel = max;
		jobs[i].inject = options->inject;
		jobs[i].soak_ms = options->soak_ms;
		jobs[i].force = options->force;
		util_copy(jobs[i].outcome.level, sizeof(jobs[i].outcome.level), level_word(options->level));
	}

	return jobs;
}

static void compare(const struct options *options, struct json_object *document, struct result *result)
{
	size_t i;

	if (!options->compare)
		return;
	for (i = 0; i < result->nr; i++)
		if (result->row[i].outcome->tested)
			compare_row(document, &result->row[i]);
	compare_close(document);
}

static void collect(struct result *result, const struct job *jobs)
{
	int state_error = 0;
	size_t i;

	for (i = 0; i < result->nr; i++) {
		result->row[i].card = jobs[i].card;
		*result_outcome(&result->row[i]) = jobs[i].outcome;
		result->verdict = verdict_worse(result->verdict, jobs[i].outcome.verdict);
		state_error = jobs[i].state_error ? jobs[i].state_error : state_error;
	}

	if (state_error)
		finding_add(&result->findings, FINDING_NO_STATE, NULL, "%s", strerror(state_error));
}

static const char *detector_word(const struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (!outcome_detector_works(result->row[i].outcome))
			return "failed";
	return "works";
}

/**
 * check_cards - check every card of a result
 * @options:	level, waiting time, force
 * @settings:	configuration
 * @result:	its rows get outcomes, it gets the verdict
 *
 * Return: exit status.
 */
int check_cards(const struct options *options, const struct settings *settings, struct result *result)
{
	/* People see what it will take before it takes it, also in a file; programs read it in the document. */
	struct check check = { .nr = result->nr, .predict = !options->json && !options->on_plug };
	struct json_object *before = NULL;
	struct job *jobs;
	char error[512];
	size_t i;

	if (options->compare && compare_open(options->compare, &before, error, sizeof(error)))
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_INPUT, NULL, "%s", error);
	jobs = make_jobs(result, options, settings);
	check.worker = calloc(result->nr, sizeof(*check.worker));
	check.signal_fd = open_signals(true);
	if (!jobs || !check.worker || check.signal_fd < 0) {
		free(check.worker);
		return command_fail(result, verdict_exit(VERDICT_NOT_TESTABLE), FINDING_INPUT, NULL, "%s", strerror(errno));
	}

	fflush(NULL);
	for (i = 0; i < check.nr; i++) {
		check.worker[i].job = &jobs[i];
		start(&check.worker[i], job_run);
	}

	supervise(&check);
	copy_by_uplink(&check, jobs, jobs[0].max_parallel);
	collect(result, jobs);
	if (options->inject)
		result->detector = detector_word(result);
	compare(options, before, result);
	free(check.worker);
	close(check.signal_fd);
	munmap(jobs, result->nr * sizeof(*jobs));

	/* systemd stops us with SIGTERM when the card is pulled: that is no failure of the unit. */
	if (check.terminated && !options->inject)
		return 0;
	/* A card whose check did not come to its end is one that nothing is known of. */
	if (check.cancelled)
		result->verdict = verdict_worse(result->verdict, VERDICT_NOT_TESTABLE);
	return verdict_exit(options->inject ? VERDICT_FAULT : result->verdict);
}

/**
 * check_settings - read the configuration for a command
 * @options:	may name a file
 * @ret_settings: filled on success
 * @result:	gets the finding on failure
 *
 * Return: 0 or an exit status.
 */
int check_settings(const struct options *options, struct settings *ret_settings, struct result *result)
{
	char error[512];

	if (settings_read(options->config, ret_settings, error, sizeof(error)))
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_INPUT, NULL, "%s", error);
	return 0;
}

/* The unit stops. After an unplug the last thing known of a card is that it is gone; at shutdown there is nothing to say. */
static int note_unplug(const struct options *options, struct result *result)
{
	struct row row = { .outcome = NULL };
	struct address address;
	char bdf[ADDRESS_MAX], path[64];

	if (options->nr_card != 1 || address_parse(options->card[0], &address))
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "--on-unplug needs one address");

	address_format(&address, bdf, sizeof(bdf));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", bdf);
	if (!access(path, F_OK))
		return 0;
	state_note_unplug(bdf);
	if (state_read(bdf, &row) || !row.outcome)
		return 0;

	row.outcome->run = RUN_DONE;
	row.outcome->verdict = VERDICT_LOST;
	state_write(&row);
	free(row.outcome);
	return 0;
}

static enum level plug_level(enum on_plug on_plug)
{
	static const enum level levels[] = {
		[ON_PLUG_QUICK] = LEVEL_QUICK,
		[ON_PLUG_STANDARD] = LEVEL_STANDARD,
		[ON_PLUG_BIND_ONLY] = LEVEL_BIND_ONLY,
		[ON_PLUG_OFF] = LEVEL_QUICK,
	};

	return levels[on_plug];
}

/* Nothing is run for the card that is there now, so what was said of one that left must not stand. */
static int forget_unplug(struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		state_forget(result->row[i].card.bdf);
	result_free_rows(result);
	result->note = "on_plug=off: nothing is run";
	return 0;
}

/* The unit has a folder for it; a hand run keeps no inventory. */
static void learn(const struct result *result)
{
	struct card_list present;

	if (!getenv("STATE_DIRECTORY") || card_discover(&result->policy, false, &present))
		return;
	inventory_learn(&present);
	card_list_free(&present);
}

/* --inject asks one question, and a card that is not there leaves it with the same answer as one that cannot be tested. */
static int without_test(const struct options *options, int status, struct result *result)
{
	if (!options->inject || status == VERDICT_EXIT_USAGE)
		return status;

	result->detector = "failed";
	result->note = "injected: nothing, there is no card to test: DETECTOR FAILED";
	return verdict_exit(VERDICT_FAULT);
}

int check_run(const struct options *options, struct result *result)
{
	struct options mine = *options;
	struct settings settings;
	int ret;

	if (options->on_unplug)
		return note_unplug(options, result);

	ret = check_settings(options, &settings, result);
	if (ret)
		return ret;

	if (options->on_plug)
		mine.level = plug_level(settings.on_plug);

	if (mine.level == LEVEL_BIND_ONLY && (mine.soak_ms || mine.compare || mine.inject))
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL,
				    "--level bind-only runs no test: --soak, --compare and --inject need one");

	ret = command_cards(&mine, result);
	if (ret)
		return without_test(&mine, ret, result);
	if (options->on_plug)
		learn(result);
	if (options->on_plug && settings.on_plug == ON_PLUG_OFF)
		return forget_unplug(result);
	if (!result->nr) {
		ret = command_fail(result, verdict_exit(VERDICT_NOT_TESTABLE), FINDING_NO_CARD, NULL, options->any ?
				   "no NVIDIA display function" : "no PCI function of this machine is in the list");
		return without_test(&mine, ret, result);
	}

	ret = check_cards(&mine, &settings, result);
	/* What was corrupted on purpose says nothing of the card. */
	if (!mine.inject && journal_send(result) && options->on_plug && journal_is_output())
		result->quiet = true;
	return ret;
}

void check_print(const struct options *options, const struct result *result)
{
	(void)options;
	if (result->note)
		puts(result->note);
	else if (!result->quiet)
		output_verdicts(result);
}
