// SPDX-License-Identifier: GPL-2.0-only
/*
 * The side of the self-test that gives the verdict: start the child, watch it, end it, judge it. Never calls CUDA and
 * never waits for anything without a limit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda.h"
#include "phases.h"
#include "predict.h"
#include "selftest.h"
#include "respawn.h"

/*
 * A child past its limit gets this long to stop by itself, after SIGTERM, after SIGKILL. The first is longest: a kill
 * in the middle of a kernel can wedge the GPU (dcgm-exporter issue 84).
 */
#define STOP_MS		2000
#define TERM_MS		1000
#define KILL_MS		1500

/**
 * struct child - the process that runs the phases
 * @spawn:	the process
 * @kick_fd:	eventfd, becomes readable when a phase begins or ends
 * @page:	shared with it
 * @page_fd:	memory behind @page
 */
struct child {
	struct respawn spawn;
	int kick_fd;
	int page_fd;
	struct phases_page *page;
};

/* Why the parent stopped watching. */
enum end { END_EXITED, END_LATE, END_CANCELLED };

const char *selftest_phase_name(enum selftest_phase_id id)
{
	static const char * const name[] = {
#define X(id, word, limit_ms) word,
		SELFTEST_PHASES(X)
#undef X
	};

	return id < SELFTEST_NR_PHASES ? name[id] : "start";
}

const char *selftest_fault_word(enum selftest_fault_kind kind)
{
	static const char * const word[] = {
#define X(id, word, text) word,
		SELFTEST_FAULTS(X)
#undef X
	};

	return word[kind];
}

const char *selftest_fault_text(enum selftest_fault_kind kind)
{
	static const char * const text[] = {
#define X(id, word, text) text,
		SELFTEST_FAULTS(X)
#undef X
	};

	return text[kind];
}

const char *selftest_unit_word(enum selftest_unit unit)
{
	static const char * const word[] = {
#define X(id, kernel, word, operations) word,
		SELFTEST_UNITS(X)
#undef X
	};

	return word[unit];
}

static unsigned int least_limit_ms(unsigned int id)
{
	static const unsigned int limit_ms[] = {
#define X(id, word, limit_ms) limit_ms,
		SELFTEST_PHASES(X)
#undef X
	};

	/* Before the first phase the child only has to start. */
	return limit_ms[id < SELFTEST_NR_PHASES ? id : SELFTEST_LIBRARY];
}

const char *selftest_word_name(enum selftest_word word)
{
	static const char * const name[] = {
#define X(id, word) word,
		SELFTEST_WORDS(X)
#undef X
	};

	return name[word];
}

const char *selftest_cause_code(enum selftest_cause cause)
{
	static const char * const code[] = {
#define X(id, code, action) code,
		SELFTEST_CAUSES(X)
#undef X
	};

	return code[cause];
}

const char *selftest_cause_action(enum selftest_cause cause)
{
	static const char * const action[] = {
#define X(id, code, action) action,
		SELFTEST_CAUSES(X)
#undef X
	};

	return action[cause];
}

/*
 * 8b/10b below 8 GT/s, 128b/130b from there (PCIe r6.0 4.2.1, 4.2.2); 84 % of that is left with 128-byte payloads and
 * about 24 bytes around each (an estimate that agrees with measured cards).
 */
uint32_t selftest_link_mbs(unsigned int speed_mts, unsigned int width)
{
	uint64_t lanes_mts = (uint64_t)speed_mts * width;
	uint64_t raw_mbs = speed_mts < 8000 ? lanes_mts / 10 : lanes_mts * 128 / 130 / 8;

	return (uint32_t)(raw_mbs * 84 / 100);
}

static int child_init(struct child *child, const struct selftest_request *req)
{
	*child = (struct child){ .spawn.pidfd = -1, .kick_fd = -1, .page_fd = -1, .page = MAP_FAILED };

	child->page_fd = memfd_create("softtape", MFD_CLOEXEC);
	if (child->page_fd < 0 || ftruncate(child->page_fd, sizeof(*child->page)))
		return -errno;
	child->page = mmap(NULL, sizeof(*child->page), PROT_READ | PROT_WRITE, MAP_SHARED, child->page_fd, 0);
	if (child->page == MAP_FAILED)
		return -errno;
	child->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (child->kick_fd < 0)
		return -errno;

	child->page->magic = PHASES_MAGIC;
	snprintf(child->page->bdf, sizeof(child->page->bdf), "%s", req->bdf);
	child->page->plan = req->plan;
	child->page->inject = req->inject;
	atomic_store(&child->page->link_mbs, selftest_link_mbs(req->speed_mts, req->width));
	child->page->result.failed = SELFTEST_NR_PHASES;
	atomic_store(&child->page->phase, SELFTEST_NR_PHASES);
	return respawn_start(SELFTEST_CHILD_COMMAND, child->page_fd, child->kick_fd, &child->spawn);
}

static void child_exit(struct child *child)
{
	if (child->page != MAP_FAILED)
		munmap(child->page, sizeof(*child->page));
	if (child->page_fd >= 0)
		close(child->page_fd);
	if (child->kick_fd >= 0)
		close(child->kick_fd);
	respawn_close(&child->spawn);
}

static bool child_stop(const struct child *child)
{
	atomic_store(&child->page->stop, 1);
	if (respawn_has_ended(&child->spawn, STOP_MS))
		return true;
	respawn_signal(&child->spawn, SIGTERM);
	if (respawn_has_ended(&child->spawn, TERM_MS))
		return true;
	respawn_signal(&child->spawn, SIGKILL);
	return respawn_has_ended(&child->spawn, KILL_MS);
}

/* What a child wrote may be anything: numbers into their ranges, text to its end. */
static void collect(const struct child *child, struct selftest_result *ret)
{
	*ret = child->page->result;
	if ((unsigned int)ret->word >= SELFTEST_NR_WORDS)
		ret->word = SELFTEST_CRASHED;
	if ((unsigned int)ret->failed > SELFTEST_NR_PHASES)
		ret->failed = SELFTEST_NR_PHASES;
	if ((unsigned int)ret->cause >= SELFTEST_NR_CAUSES)
		ret->cause = SELFTEST_CAUSE_NONE;
	for (unsigned int i = 0; i < SELFTEST_NR_PHASES; i++)
		if ((unsigned int)ret->phase[i].word >= SELFTEST_NR_WORDS)
			ret->phase[i].word = SELFTEST_CRASHED;
	if (ret->nr_faults > SELFTEST_FAULTS_MAX)
		ret->nr_faults = SELFTEST_FAULTS_MAX;
	for (unsigned int i = 0; i < ret->nr_faults; i++) {
		struct selftest_fault *fault = &ret->fault[i];

		if ((unsigned int)fault->kind >= SELFTEST_NR_FAULTS)
			fault->kind = FAULT_KNOWN;
		if ((unsigned int)fault->phase >= SELFTEST_NR_PHASES)
			fault->phase = SELFTEST_KNOWN;
		if ((unsigned int)fault->unit >= SELFTEST_NR_UNITS)
			fault->unit = UNIT_INTEGER;
	}
	ret->error[sizeof(ret->error) - 1] = '\0';
	ret->name[sizeof(ret->name) - 1] = '\0';
}

static void report_progress(const struct selftest_request *req, const struct child *child)
{
	struct selftest_result so_far;

	if (!req->progress)
		return;
	collect(child, &so_far);
	req->progress(&so_far, req->progress_data);
}

/* First word of a small file of procfs or sysfs, "" if it cannot be had. */
static void read_word(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, ret, size - 1);

	ret[len > 0 ? len : 0] = '\0';
	ret[strcspn(ret, " \n")] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Follow what the child does while it works, this often. */
#define LOOK_MS		200
/* And while it waits for an answer. */
#define ANSWER_MS	5
/* The caller hears of it at least this often. */
#define TELL_MS		1000
/* No single step of the card's work takes longer: launches end within some 50 ms, sweeps within a second. */
#define STEP_MS		10000
/* No card has more memory, or slower. */
#define MIB_MAX		((uint64_t)1 << 19)
#define MBS_MIN		10000
/* However it goes on, at this many times its limit a phase is over. */
#define HARD		10

/**
 * struct progress - what the parent saw of the child, for its limits
 * @phase:	running phase
 * @done:	all phases are over
 * @step:	pieces of work done
 * @phase_ms:	when the phase began
 * @step_ms:	when the last step was seen, or the phase began
 * @cpu_wait_ms: how long the child had waited for a processor by then
 * @told_ms:	when the caller was told last
 */
struct progress {
	uint32_t phase;
	uint32_t done;
	uint32_t step;
	uint64_t phase_ms;
	uint64_t step_ms;
	uint64_t cpu_wait_ms;
	uint64_t told_ms;
};

/*
 * Milliseconds that a process was ready to run and had no processor (second number of schedstat, in ns). Without it a
 * loaded machine looks like a card that does not answer.
 */
static uint64_t cpu_wait_ms(pid_t pid)
{
	unsigned long long ran_ns, waited_ns = 0;
	char path[64], text[100];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	return sscanf(text, "%llu %llu", &ran_ns, &waited_ns) == 2 ? waited_ns / 1000000 : 0;
}

/* Does the phase tell of its steps? The others are one call of CUDA after another. */
static bool makes_steps(uint32_t phase)
{
	return phase >= SELFTEST_KNOWN && phase < SELFTEST_TEARDOWN;
}

static uint64_t limit_ms(const struct selftest_request *req, const struct child *child, uint32_t phase)
{
	uint64_t mib = child->page->result.mem_mib;
	uint32_t mbs = child->page->result.peak_mbs;
	struct predict_facts facts;

	if (req->limit_ms)
		return req->limit_ms;
	if (phase >= SELFTEST_NR_PHASES)
		return least_limit_ms(phase);
	/* From what the child says of the card, as far as that can be: it may have written anything. */
	facts.bytes = (mib < MIB_MAX ? mib : MIB_MAX) << 20;
	facts.peak_mbs = mbs > MBS_MIN ? mbs : MBS_MIN;
	return predict_limit_ms(phase, least_limit_ms(phase), predict_ms(&req->plan, &facts, phase));
}

static void look(struct progress *seen, const struct child *child)
{
	uint32_t phase = atomic_load(&child->page->phase), done = atomic_load(&child->page->done);
	uint32_t step = atomic_load(&child->page->step);
	bool waits = atomic_load(&child->page->ask) != ASK_NOTHING;
	uint64_t now_ms = phases_now_ms();

	/* The end of the last phase starts a limit of its own: leaving takes time too, or for ever. */
	if (phase != seen->phase || done != seen->done)
		seen->phase_ms = now_ms;
	else if (waits)
		seen->phase_ms += now_ms - seen->step_ms;
	else if (step == seen->step)
		return;
	seen->phase = phase;
	seen->done = done;
	seen->step = step;
	seen->step_ms = now_ms;
	seen->cpu_wait_ms = cpu_wait_ms(child->spawn.pid);
}

static bool is_late(const struct progress *seen, const struct selftest_request *req, const struct child *child)
{
	uint64_t now_ms = phases_now_ms(), limit = limit_ms(req, child, seen->phase), waited_ms;
	uint64_t still_ms = now_ms - seen->step_ms;

	if (now_ms - seen->phase_ms >= limit * HARD)
		return true;
	if (makes_steps(seen->phase) && limit > STEP_MS)
		limit = STEP_MS;
	if (still_ms < limit)
		return false;
	waited_ms = cpu_wait_ms(child->spawn.pid) - seen->cpu_wait_ms;
	return still_ms >= limit + waited_ms;
}

/* A number of MT/s from a file of sysfs such as "2.5 GT/s PCIe", and lanes from another. */
static double read_number(const char *folder, const char *file)
{
	char path[300], text[40];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	read_word(path, text, sizeof(text));
	return strtod(text, NULL);
}

/* A link that saves power shows its speed only under load. */
static void read_link_under_load(const struct selftest_request *req, const struct child *child)
{
	uint32_t carries;

	if (!req->sysfs || atomic_load(&child->page->phase) != SELFTEST_LINK)
		return;
	carries = selftest_link_mbs((unsigned int)(read_number(req->sysfs, "current_link_speed") * 1000),
				    (unsigned int)read_number(req->sysfs, "current_link_width"));
	if (carries > atomic_load(&child->page->link_mbs))
		atomic_store(&child->page->link_mbs, carries);
}

static void pass_on_clock(const struct selftest_request *req, const struct child *child)
{
	if (req->clock_fell && atomic_load(&child->page->phase) == SELFTEST_HOLD && req->clock_fell(req->progress_data))
		atomic_store(&child->page->clock_fell, 1);
}

/* Answers what the child asks; returns for how long to wait until the next look. */
static int answer(const struct selftest_request *req, const struct child *child)
{
	uint32_t ask = atomic_load(&child->page->ask);

	if (ask == ASK_NOTHING)
		return LOOK_MS;
	if (!req->grant || req->grant(ask, req->progress_data))
		atomic_store(&child->page->grant, ask);
	return ANSWER_MS;
}

/* Follow the child from phase to phase until it ends, is late, or the caller has enough. */
static enum end watch(const struct selftest_request *req, const struct child *child)
{
	struct progress seen = { .phase = SELFTEST_NR_PHASES, .phase_ms = phases_now_ms() };
	uint64_t kicks;

	seen.step_ms = seen.phase_ms;
	for (;;) {
		struct pollfd pfd[] = {
			{ .fd = child->spawn.pidfd, .events = POLLIN },
			{ .fd = child->kick_fd, .events = POLLIN },
			{ .fd = req->cancel_fd, .events = POLLIN },
		};
		int wait_ms = answer(req, child);

		if (req->limit_ms && (int)req->limit_ms / 4 < wait_ms)
			wait_ms = (int)req->limit_ms / 4;
		if (poll(pfd, 3, wait_ms) < 0 && errno != EINTR)
			return END_LATE;
		if (pfd[0].revents & POLLIN)
			return END_EXITED;
		if (pfd[2].revents & (POLLIN | POLLHUP))
			return END_CANCELLED;
		read_link_under_load(req, child);
		pass_on_clock(req, child);
		if ((pfd[1].revents & POLLIN && read(child->kick_fd, &kicks, sizeof(kicks)) == sizeof(kicks)) ||
		    phases_now_ms() - seen.told_ms >= TELL_MS) {
			seen.told_ms = phases_now_ms();
			report_progress(req, child);
		}
		look(&seen, child);
		if (is_late(&seen, req, child))
			return END_LATE;
	}
}

/* "state D in percpu_rwsem_wait": where the kernel holds the child. */
static void describe_stuck(pid_t pid, char *ret, size_t size)
{
	char path[64], stat[200], where[64];
	const char *state;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
	if (fd >= 0)
		close(fd);
	stat[len > 0 ? len : 0] = '\0';
	/* The name before it may hold anything, also brackets. */
	state = strrchr(stat, ')');

	/* "0" is the answer when it runs, or when we may not know. */
	snprintf(path, sizeof(path), "/proc/%d/wchan", pid);
	read_word(path, where, sizeof(where));
	if (!strcmp(where, "0"))
		where[0] = '\0';
	snprintf(ret, size, "state %c%s%s", state && state[1] ? state[2] : '?', *where ? " in " : "", where);
}

/* "cuCtxCreate_v2 entered, not back" or "after cuStreamQuery: 600 CUDA_ERROR_NOT_READY". */
static void describe_call(const struct phases_page *page, char *ret, size_t size)
{
	uint32_t call = atomic_load(&page->call);
	int32_t code = atomic_load(&page->code);

	if (!call)
		snprintf(ret, size, "before any CUDA call");
	else if (atomic_load(&page->inside))
		snprintf(ret, size, "%s entered, not back", cuda_symbol_name(call - 1));
	else
		snprintf(ret, size, "after %s: %d %s", cuda_symbol_name(call - 1), code, cuda_code_name(code));
}

/* Where the child was when it was looked at; @phase is SELFTEST_NR_PHASES before the first. */
struct place {
	enum selftest_phase_id phase;
	uint32_t ms;
};

static struct place place_of(const struct phases_page *page)
{
	uint32_t phase = atomic_load(&page->phase);

	return (struct place){
		.phase = phase < SELFTEST_NR_PHASES ? phase : SELFTEST_NR_PHASES,
		.ms = (uint32_t)(phases_now_ms() - atomic_load(&page->begin_ms)),
	};
}

/* The outcome is @word, at that place. */
static void conclude(struct selftest_result *ret, const struct place *place, enum selftest_word word)
{
	ret->word = word;
	ret->cause = SELFTEST_CAUSE_NONE;
	ret->failed = place->phase;
	if (place->phase < SELFTEST_NR_PHASES) {
		ret->phase[place->phase].word = word;
		ret->phase[place->phase].ms = place->ms;
	}
}

/* Behind what earlier phases said. */
static void add_error(struct selftest_result *ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_error(struct selftest_result *ret, const char *format, ...)
{
	size_t end = strlen(ret->error);
	va_list args;

	if (end)
		end += (size_t)snprintf(ret->error + end, sizeof(ret->error) - end, "; ");
	if (end >= sizeof(ret->error))
		return;
	va_start(args, format);
	vsnprintf(ret->error + end, sizeof(ret->error) - end, format, args);
	va_end(args);
}

static void host_error(struct selftest_result *ret, const char *what, const char *why)
{
	ret->word = SELFTEST_NOT_TESTABLE;
	ret->cause = SELFTEST_HOST_ERROR;
	snprintf(ret->error, sizeof(ret->error), "%s: %s", what, why);
}

/* The child has ended without saying that it was done. */
static void judge_death(const struct child *child, struct selftest_result *ret)
{
	struct place place = place_of(child->page);
	siginfo_t info = { 0 };
	char call[100], how[60];

	/* Somebody else may have reaped it (SIGCHLD ignored): then how it ended is unknown, that it did is not. */
	if (waitid(P_PID, (id_t)child->spawn.pid, &info, WEXITED | WNOHANG) || !info.si_pid)
		snprintf(how, sizeof(how), "ended");
	else if (info.si_code == CLD_EXITED)
		snprintf(how, sizeof(how), "exited with status %d", info.si_status);
	else
		snprintf(how, sizeof(how), "killed by signal %d (%s)", info.si_status, strsignal(info.si_status));

	if (place.phase == SELFTEST_NR_PHASES) {
		host_error(ret, "test process did not start", how);
		return;
	}
	conclude(ret, &place, SELFTEST_CRASHED);
	describe_call(child->page, call, sizeof(call));
	add_error(ret, "test process %s, %s", how, call);
}

/* The child is late: stop it, and say where it was before it was disturbed. */
static void judge_late(const struct child *child, struct selftest_result *ret)
{
	struct place place = place_of(child->page);
	char call[100], stuck[100];
	bool ended;

	describe_call(child->page, call, sizeof(call));
	describe_stuck(child->spawn.pid, stuck, sizeof(stuck));
	ended = child_stop(child);
	collect(child, ret);
	if (place.phase == SELFTEST_NR_PHASES) {
		host_error(ret, "test process did not start", stuck);
		return;
	}
	conclude(ret, &place, SELFTEST_HUNG);
	add_error(ret, "no answer for %u.%u s: %s, %s%s", place.ms / 1000,
		 place.ms % 1000 / 100, call, stuck, ended ? "" : "; cannot be killed, left behind");
}

static void judge_cancelled(const struct child *child, struct selftest_result *ret)
{
	struct place place = place_of(child->page);
	bool ended = child_stop(child);

	collect(child, ret);
	/* Who stops a test takes nothing back of what it has found. */
	if (!ret->errors)
		conclude(ret, &place, SELFTEST_CANCELLED);
	else if (ret->word != SELFTEST_DATA_FAULT)
		conclude(ret, &place, SELFTEST_DATA_FAULT);
	else if (place.phase < SELFTEST_NR_PHASES && ret->phase[place.phase].word == SELFTEST_RUNNING)
		ret->phase[place.phase].word = SELFTEST_CANCELLED;
	add_error(ret, "stopped on request%s",
		 ended ? "" : "; the test process cannot be killed");
}

/* Vendor id of a card that is gone: all ones, or no such file. A file that may not be read tells nothing. */
static bool config_is_gone(const char *path)
{
	unsigned char vendor[2] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return errno == ENOENT;
	len = read(fd, vendor, sizeof(vendor));
	close(fd);
	return len == sizeof(vendor) && vendor[0] == 0xff && vendor[1] == 0xff;
}

/* Twice, 10 ms apart: a card that is just being reset also answers all ones. */
static bool card_is_lost(const char *path)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	if (!path || !config_is_gone(path))
		return false;
	nanosleep(&pause, NULL);
	return config_is_gone(path);
}

static void judge_lost(struct selftest_result *ret)
{
	char before[sizeof(ret->error)];

	snprintf(before, sizeof(before), "%s", ret->error);
	snprintf(ret->error, sizeof(ret->error), "the card left the bus%s%.300s", *before ? ": " : "", before);
	ret->word = SELFTEST_LOST;
	ret->cause = SELFTEST_CAUSE_NONE;
	if (ret->failed < SELFTEST_NR_PHASES)
		ret->phase[ret->failed].word = SELFTEST_LOST;
}

static void judge(const struct selftest_request *req, const struct child *child, enum end end,
		  struct selftest_result *ret)
{
	collect(child, ret);
	if (end == END_CANCELLED)
		judge_cancelled(child, ret);
	else if (end == END_LATE)
		judge_late(child, ret);
	else if (!atomic_load(&child->page->done))
		judge_death(child, ret);

	if (ret->word != SELFTEST_PASS && ret->word != SELFTEST_DEGRADED && ret->word != SELFTEST_CANCELLED &&
	    card_is_lost(req->config_path))
		judge_lost(ret);
}

void selftest_run(const struct selftest_request *req, struct selftest_result *ret)
{
	struct child child;
	int err;

	*ret = (struct selftest_result){ .failed = SELFTEST_NR_PHASES };
	err = child_init(&child, req);
	if (!err) {
		judge(req, &child, watch(req, &child), ret);
	} else {
		if (child.spawn.pid)
			kill(child.spawn.pid, SIGKILL);
		host_error(ret, "cannot start the test process", strerror(-err));
	}
	child_exit(&child);
	if (req->progress)
		req->progress(ret, req->progress_data);
}

int selftest_child(void)
{
	struct phases_page *page = MAP_FAILED;
	struct stat st;

	/* By size first: touching a page behind the end of a shorter file is a signal. */
	if (!fstat(RESPAWN_PAGE_FD, &st) && st.st_size == sizeof(*page))
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, RESPAWN_PAGE_FD, 0);
	if (page == MAP_FAILED || page->magic != PHASES_MAGIC) {
		fprintf(stderr, "softtape: %s is for softtape itself\n", SELFTEST_CHILD_COMMAND);
		return 2;
	}
	phases_run(page, RESPAWN_KICK_FD);
	/* Not exit(): no destructor of a CUDA library may run after the verdict. */
	_exit(0);
}
