// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the child does to the card, phase by phase. Knows CUDA and the kernels; nothing of deadlines, processes or
 * verdicts on other cards.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cardtest.h"
#include "predict.h"

/* A poll this far apart costs at most 1 % of a 10 ms launch and no CPU to speak of. */
#define POLL_NS			100000

/* Enough resident blocks for every SM we know (2048 threads each); more only queue. */
#define BLOCKS_PER_SM		8

/* The first word of SHA-256: any number does. */
#define KNOWN_SEED		0x6a09e667

uint64_t phases_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void cardtest_enter(struct test *t, enum cuda_symbol symbol)
{
	atomic_store(&t->page->call, symbol + 1);
	atomic_store(&t->page->inside, 1);
}

CUresult cardtest_leave(struct test *t, CUresult code)
{
	atomic_store(&t->page->code, code);
	atomic_store(&t->page->inside, 0);
	return code;
}

/* One line for people; a later phase's words go behind those of an earlier one. */
void cardtest_say(struct test *t, const char *format, ...)
{
	char *error = t->page->result.error;
	size_t size = sizeof(t->page->result.error), end = strnlen(error, size - 1);
	va_list args;

	if (end && end < size - 3) {
		memcpy(error + end, "; ", 3);
		end += 2;
	}
	va_start(args, format);
	vsnprintf(error + end, size - end, format, args);
	va_end(args);
}

enum selftest_word cardtest_not_testable(struct test *t, enum selftest_cause cause)
{
	t->page->result.cause = cause;
	return SELFTEST_NOT_TESTABLE;
}

/*
 * Which codes say that nothing is known about the card, by phase. Code 0 stands for every other one. What is not here
 * is a fault of the card: it failed at work that every sound card can do.
 */
static const struct {
	enum selftest_phase_id first, last;
	CUresult code;
	enum selftest_cause cause;
} causes[] = {
	{ SELFTEST_INIT, SELFTEST_CONTEXT, CUDA_ERROR_STUB_LIBRARY, SELFTEST_LIB_STUB },
	{ SELFTEST_INIT, SELFTEST_CONTEXT, CUDA_ERROR_NO_DEVICE, SELFTEST_NO_DEVICE },
	{ SELFTEST_INIT, SELFTEST_CONTEXT, CUDA_ERROR_SYSTEM_NOT_READY, SELFTEST_NOT_READY },
	{ SELFTEST_INIT, SELFTEST_CONTEXT, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, SELFTEST_LIB_MISMATCH },
	{ SELFTEST_INIT, SELFTEST_CONTEXT, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, SELFTEST_LIB_COMPAT },
	{ SELFTEST_INIT, SELFTEST_INIT, 0, SELFTEST_INIT_FAILED },
	{ SELFTEST_DEVICE, SELFTEST_DEVICE, 0, SELFTEST_NOT_VISIBLE },
	{ SELFTEST_CONTEXT, SELFTEST_CONTEXT, CUDA_ERROR_INVALID_DEVICE, SELFTEST_NOT_VISIBLE },
	{ SELFTEST_CONTEXT, SELFTEST_CONTEXT, CUDA_ERROR_DEVICE_UNAVAILABLE, SELFTEST_BUSY },
	{ SELFTEST_CONTEXT, SELFTEST_SOAK, CUDA_ERROR_OUT_OF_MEMORY, SELFTEST_NO_MEMORY },
	{ SELFTEST_CONTEXT, SELFTEST_CONTEXT, CUDA_ERROR_NOT_PERMITTED, SELFTEST_INIT_FAILED },
	{ SELFTEST_CONTEXT, SELFTEST_CONTEXT, CUDA_ERROR_NOT_SUPPORTED, SELFTEST_INIT_FAILED },
	{ SELFTEST_JIT, SELFTEST_JIT, CUDA_ERROR_JIT_COMPILER_NOT_FOUND, SELFTEST_NO_JIT },
	{ SELFTEST_JIT, SELFTEST_JIT, CUDA_ERROR_INVALID_IMAGE, SELFTEST_JIT_REFUSED },
	{ SELFTEST_JIT, SELFTEST_JIT, CUDA_ERROR_NO_BINARY_FOR_GPU, SELFTEST_JIT_REFUSED },
	{ SELFTEST_JIT, SELFTEST_JIT, CUDA_ERROR_INVALID_PTX, SELFTEST_JIT_REFUSED },
	{ SELFTEST_JIT, SELFTEST_JIT, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, SELFTEST_JIT_REFUSED },
	{ SELFTEST_JIT, SELFTEST_JIT, CUDA_ERROR_JIT_COMPILATION_DISABLED, SELFTEST_JIT_REFUSED },
	{ SELFTEST_JIT, SELFTEST_JIT, CUDA_ERROR_INVALID_SOURCE, SELFTEST_JIT_REFUSED },
	{ SELFTEST_JIT, SELFTEST_JIT, CUDA_ERROR_NOT_FOUND, SELFTEST_JIT_REFUSED },
};

/* The last call returned @code, which is not success: say so and judge it. */
enum selftest_word cardtest_failed(struct test *t, CUresult code)
{
	enum selftest_phase_id phase = atomic_load(&t->page->phase);

	if (atomic_load(&t->page->stop))
		return SELFTEST_CANCELLED;

	cardtest_say(t, "%s: %d %s", cuda_symbol_name(atomic_load(&t->page->call) - 1), code, cuda_code_name(code));
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (phase >= causes[i].first && phase <= causes[i].last && (!causes[i].code || causes[i].code == code))
			return cardtest_not_testable(t, causes[i].cause);
	return SELFTEST_GPU_FAULT;
}

bool cardtest_stopped(const struct test *t)
{
	return atomic_load(&t->page->stop);
}

static void step(struct test *t)
{
	atomic_fetch_add(&t->page->step, 1);
}

static void pause_ns(long ns)
{
	const struct timespec pause = { .tv_nsec = ns };

	nanosleep(&pause, NULL);
}

/* A full counter is no harm: the parent is then about to look anyway. */
static void kick(const struct test *t)
{
	uint64_t one = 1;
	ssize_t written = write(t->kick_fd, &one, sizeof(one));

	(void)written;
}

/**
 * cardtest_ask - wait until the parent lets this card go on
 * @t:		the run
 * @ask:	for what
 *
 * Return: false when the parent said stop instead.
 */
bool cardtest_ask(struct test *t, enum selftest_ask ask)
{
	uint64_t begin_ms = phases_now_ms();

	atomic_store(&t->page->grant, ASK_NOTHING);
	atomic_store(&t->page->ask, ask);
	kick(t);
	while (atomic_load(&t->page->grant) != (uint32_t)ask && !cardtest_stopped(t))
		pause_ns(1000000);
	atomic_store(&t->page->ask, ASK_NOTHING);
	t->page->result.queue_ms += (uint32_t)(phases_now_ms() - begin_ms);
	return !cardtest_stopped(t);
}

/* Leaves the card alone; waiting is work here, so it counts as steps. */
void cardtest_wait_ms(struct test *t, unsigned int ms)
{
	uint64_t end_ms = phases_now_ms() + ms;

	while (phases_now_ms() < end_ms && !cardtest_stopped(t)) {
		pause_ns(10000000);
		step(t);
	}
}

static CUresult finish_stream(struct test *t, CUstream stream)
{
	CUresult code;

	while ((code = CALL(t, cuStreamQuery, stream)) == CUDA_ERROR_NOT_READY && !cardtest_stopped(t))
		pause_ns(POLL_NS);
	return code;
}

/* Wait for all work without ever blocking in the driver. CUDA_ERROR_NOT_READY means that the parent said stop. */
CUresult cardtest_finish(struct test *t)
{
	CUresult code = finish_stream(t, t->stream);

	code = code ? code : finish_stream(t, t->other);
	step(t);
	return code;
}

/* Starts a kernel and does not wait; @args has one number for each of its parameters. */
CUresult cardtest_launch(struct test *t, enum kernel_id kernel, unsigned int blocks, uint64_t *args)
{
	static const unsigned int threads[] = {
#define X(module, name, nr_args, nr_threads) nr_threads,
		KERNELS(X)
#undef X
	};
	void *params[KERNEL_ARGS_MAX];

	for (unsigned int i = 0; i < KERNEL_ARGS_MAX; i++)
		params[i] = &args[i];
	return CALL(t, cuLaunchKernel, t->func[kernel], blocks, 1, 1, threads[kernel], 1, 1, 0, t->stream, params, NULL);
}

CUresult cardtest_mark(struct test *t, unsigned int mark)
{
	return CALL(t, cuEventRecord, t->mark[mark], t->stream);
}

/* Waits for all work and adds what lay between the two marks, by the card's clock. */
CUresult cardtest_marked_ms(struct test *t, float *ms)
{
	float took = 0;
	CUresult code = cardtest_finish(t);

	code = code ? code : CALL(t, cuEventElapsedTime, &took, t->mark[0], t->mark[1]);
	*ms += took;
	return code;
}

CUresult cardtest_clear(struct test *t, CUdeviceptr where, size_t bytes)
{
	CUresult code = CALL(t, cuMemsetD32Async, where, 0, bytes / 4, t->stream);

	return code ? code : cardtest_finish(t);
}

/* At most PINNED_BYTES; destroys what is in the pinned memory. */
CUresult cardtest_fetch(struct test *t, void *to, CUdeviceptr from, size_t bytes)
{
	CUresult code = CALL(t, cuMemcpyDtoHAsync_v2, t->pinned, from, bytes, t->stream);

	code = code ? code : cardtest_finish(t);
	if (!code)
		memcpy(to, t->pinned, bytes);
	return code;
}

/* The same the other way. */
CUresult cardtest_put(struct test *t, CUdeviceptr to, const void *from, size_t bytes)
{
	CUresult code;

	memcpy(t->pinned, from, bytes);
	code = CALL(t, cuMemcpyHtoDAsync_v2, to, t->pinned, bytes, t->stream);
	return code ? code : cardtest_finish(t);
}

/* Blocks that fill the card, a number that suits every sweep. */
unsigned int cardtest_grid(const struct test *t)
{
	unsigned int blocks = t->page->result.sm_count * BLOCKS_PER_SM;

	return (blocks + SWEEP_BLOCKS - 1) / SWEEP_BLOCKS * SWEEP_BLOCKS;
}

static bool same_place(const struct selftest_fault *a, const struct selftest_fault *b)
{
	bool memory = a->kind >= FAULT_CELL && a->kind <= FAULT_MOVE && b->kind >= FAULT_CELL && b->kind <= FAULT_MOVE;

	if (a->kind == FAULT_COMPUTE)
		return b->kind == FAULT_COMPUTE && a->sm == b->sm && a->unit == b->unit;
	return (memory || a->kind == b->kind) && a->at == b->at;
}

/**
 * cardtest_fault - note one wrong word
 * @t:		the run
 * @fault:	what was seen; the same place in memory stands once, as it was first seen
 */
void cardtest_fault(struct test *t, const struct selftest_fault *fault)
{
	struct selftest_result *result = &t->page->result;
	struct selftest_fault *known;

	for (uint32_t i = 0; i < result->nr_faults; i++) {
		known = &result->fault[i];
		if (!same_place(known, fault))
			continue;
		known->bits |= fault->bits;
		known->seen++;
		return;
	}
	if (result->nr_faults == SELFTEST_FAULTS_MAX) {
		result->more_faults++;
		return;
	}
	known = &result->fault[result->nr_faults];
	*known = *fault;
	known->phase = atomic_load(&t->page->phase);
	known->seen = 1;
	result->nr_faults++;
}

/**
 * cardtest_data_fault - a phase found wrong words
 * @t:		the run
 * @what:	which words, for people
 * @errors:	their number, not 0
 * @first:	one of them, as a rule the first
 *
 * Return: SELFTEST_DATA_FAULT. The first such phase gives the line for people.
 */
enum selftest_word cardtest_data_fault(struct test *t, const char *what, uint64_t errors,
				       const struct selftest_fault *first)
{
	struct selftest_result *result = &t->page->result;

	if (!result->errors) {
		result->mismatch_at = first->at;
		result->expected = first->expected;
		result->got = first->got;
		cardtest_say(t, "%s: %llu wrong words, first at byte 0x%llx: expected %08x, got %08x", what,
			     (unsigned long long)errors, (unsigned long long)first->at, first->expected, first->got);
	}
	result->errors += errors;
	return SELFTEST_DATA_FAULT;
}

static enum selftest_word run_library(struct test *t)
{
	enum cuda_open_result opened;
	char why[300];

	opened = cuda_open(&t->cuda, why, sizeof(why));
	if (opened == CUDA_OPEN_OK) {
		t->page->result.simulated = t->cuda.simulated;
		return SELFTEST_PASS;
	}
	cardtest_say(t, "%s", why);
	return cardtest_not_testable(t, opened == CUDA_OPEN_ABSENT ? SELFTEST_LIB_ABSENT : SELFTEST_LIB_BROKEN);
}

static enum selftest_word run_init(struct test *t)
{
	CUresult code;
	int version;

	/* Answers before cuInit and without a driver; a failure here is no news that cuInit would not bring. */
	if (!CALL(t, cuDriverGetVersion, &version))
		t->page->result.driver_cuda = (uint32_t)version;

	code = CALL(t, cuInit, 0);
	return code ? cardtest_failed(t, code) : SELFTEST_PASS;
}

static void predict(struct test *t, uint64_t bytes)
{
	struct selftest_result *result = &t->page->result;
	const struct predict_facts facts = { .bytes = bytes, .peak_mbs = result->peak_mbs };

	for (unsigned int id = 0; id < SELFTEST_NR_PHASES; id++)
		result->phase[id].predicted_ms = (uint32_t)predict_ms(&t->page->plan, &facts, id);
}

static enum selftest_word run_device(struct test *t)
{
	struct selftest_result *result = &t->page->result;
	int major, minor, sm_count, clock_khz = 0, bus_bits = 0;
	CUresult code;
	size_t bytes;

	code = CALL(t, cuDeviceGetByPCIBusId, &t->dev, t->page->bdf);
	if (code)
		return cardtest_failed(t, code);
	code = CALL(t, cuDeviceGetName, result->name, (int)sizeof(result->name), t->dev);
	if (code)
		return cardtest_failed(t, code);
	code = CALL(t, cuDeviceGetAttribute, &major, CU_ATTRIBUTE_CAPABILITY_MAJOR, t->dev);
	code = code ? code : CALL(t, cuDeviceGetAttribute, &minor, CU_ATTRIBUTE_CAPABILITY_MINOR, t->dev);
	code = code ? code : CALL(t, cuDeviceGetAttribute, &sm_count, CU_ATTRIBUTE_SM_COUNT, t->dev);
	code = code ? code : CALL(t, cuDeviceTotalMem_v2, &bytes, t->dev);
	if (code)
		return cardtest_failed(t, code);

	result->compute = (uint32_t)(major * 10 + minor);
	result->sm_count = sm_count > 0 ? (uint32_t)sm_count : 1;
	result->mem_mib = bytes / MIB;
	/* Two transfers a clock; a driver that does not know them costs only the comparison. */
	if (!CALL(t, cuDeviceGetAttribute, &clock_khz, CU_ATTRIBUTE_MEMORY_CLOCK_KHZ, t->dev) &&
	    !CALL(t, cuDeviceGetAttribute, &bus_bits, CU_ATTRIBUTE_MEMORY_BUS_BITS, t->dev) && clock_khz > 0 && bus_bits > 0)
		result->peak_mbs = (uint32_t)((uint64_t)clock_khz * 2 * (uint64_t)bus_bits / 8 / 1000);
	predict(t, bytes);
	return SELFTEST_PASS;
}

static enum selftest_word run_context(struct test *t)
{
	size_t total_bytes;
	CUresult code;

	code = CALL(t, cuCtxCreate_v2, &t->ctx, 0, t->dev);
	if (code) {
		t->ctx = NULL;
		return cardtest_failed(t, code);
	}
	code = CALL(t, cuMemGetInfo_v2, &t->free_bytes, &total_bytes);
	code = code ? code : CALL(t, cuStreamCreate, &t->stream, 0);
	code = code ? code : CALL(t, cuStreamCreate, &t->other, 0);
	for (unsigned int i = 0; !code && i < 2; i++) {
		code = CALL(t, cuEventCreate, &t->mark[i], 0);
		code = code ? code : CALL(t, cuEventCreate, &t->other_mark[i], 0);
	}
	code = code ? code : CALL(t, cuMemAlloc_v2, &t->scratch, SCRATCH_BYTES);
	if (code)
		return cardtest_failed(t, code);

	/* The only allocation that is the host's memory: out of memory says nothing about the card. */
	code = CALL(t, cuMemHostAlloc, &t->pinned, PINNED_BYTES, 0);
	if (code == CUDA_ERROR_OUT_OF_MEMORY) {
		cardtest_failed(t, code);
		return cardtest_not_testable(t, SELFTEST_HOST_ERROR);
	}
	return code ? cardtest_failed(t, code) : SELFTEST_PASS;
}

/* The compiler's own words, on one line, behind what failed() said. */
static void say_log(struct test *t, const char *log)
{
	char *error = t->page->result.error;
	size_t end = strlen(error), size = sizeof(t->page->result.error);

	if (!*log)
		return;
	snprintf(error + end, size - end, " (%s)", log);
	for (char *c = error + end; *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
}

static enum selftest_word load_module(struct test *t, enum kernel_module_id id, CUmodule *ret_module)
{
	char log[200] = "";
	int option[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *value[] = { log, (void *)(sizeof(log) - 1) };
	enum selftest_word word;
	CUresult code;

	code = CALL(t, cuModuleLoadDataEx, ret_module, kernel_ptx(id), 2, option, value);
	if (!code)
		return SELFTEST_PASS;
	word = cardtest_failed(t, code);
	log[sizeof(log) - 1] = '\0';
	say_log(t, log);
	return word;
}

static enum selftest_word run_jit(struct test *t)
{
	static const struct {
		enum kernel_module_id module;
		const char *name;
	} kernel[] = {
#define X(module, name, args, threads) { KERNEL_MODULE_##module, #name },
		KERNELS(X)
#undef X
	};
	CUmodule module[NR_KERNEL_MODULES] = { 0 };
	enum selftest_word word;
	CUresult code;

	for (unsigned int i = 0; i < NR_KERNEL_MODULES; i++) {
		if (t->page->result.compute < kernel_capability(i))
			continue;
		word = load_module(t, i, &module[i]);
		if (word != SELFTEST_PASS)
			return word;
	}
	for (unsigned int i = 0; i < NR_KERNELS; i++) {
		if (!module[kernel[i].module])
			continue;
		code = CALL(t, cuModuleGetFunction, &t->func[i], module[kernel[i].module], kernel[i].name);
		if (code)
			return cardtest_failed(t, code);
	}
	return SELFTEST_PASS;
}

static enum selftest_word run_known(struct test *t)
{
	static uint32_t expected[KNOWN_WORDS], got[KNOWN_WORDS];
	uint64_t args[KERNEL_ARGS_MAX] = { t->scratch, KNOWN_SEED };
	struct selftest_fault first = { 0 };
	uint64_t errors = 0;
	CUresult code;

	code = cardtest_clear(t, t->scratch, sizeof(got));
	code = code ? code : cardtest_launch(t, KERNEL_known_answer, KNOWN_BLOCKS, args);
	code = code ? code : cardtest_fetch(t, got, t->scratch, sizeof(got));
	if (code)
		return cardtest_failed(t, code);

	kernel_known_answer(expected, KNOWN_SEED);
	for (uint32_t i = KNOWN_WORDS; i-- > 0;) {
		if (got[i] == expected[i])
			continue;
		errors++;
		first = (struct selftest_fault){ .kind = FAULT_KNOWN, .at = i * 4, .expected = expected[i], .got = got[i],
						 .again = got[i], .sm = ~0u, .pass = 1, .bits = got[i] ^ expected[i] };
	}
	if (!errors)
		return SELFTEST_PASS;
	/* One place stands for all: results depend on each other. */
	cardtest_fault(t, &first);
	return cardtest_data_fault(t, "known answer", errors, &first);
}

static enum selftest_word run_teardown(struct test *t)
{
	CUresult code = CALL(t, cuCtxDestroy_v2, t->ctx);

	if (!code)
		return SELFTEST_PASS;
	/* After a fault every call reports the same fault again: keep the first words. */
	if (t->page->result.word != SELFTEST_PASS && t->page->result.word != SELFTEST_DEGRADED)
		return SELFTEST_GPU_FAULT;
	return cardtest_failed(t, code);
}

static enum selftest_word (* const run[SELFTEST_NR_PHASES])(struct test *t) = {
	[SELFTEST_LIBRARY] = run_library,
	[SELFTEST_INIT] = run_init,
	[SELFTEST_DEVICE] = run_device,
	[SELFTEST_CONTEXT] = run_context,
	[SELFTEST_JIT] = run_jit,
	[SELFTEST_KNOWN] = run_known,
	[SELFTEST_ALLOCATION] = memtest_allocation,
	[SELFTEST_ADDRESS] = memtest_address,
	[SELFTEST_INVERSIONS] = memtest_inversions,
	[SELFTEST_RANDOM] = memtest_random,
	[SELFTEST_MODULO] = memtest_modulo,
	[SELFTEST_MOVE] = memtest_move,
	[SELFTEST_HOLD] = memtest_hold,
	[SELFTEST_LINK] = linktest_run,
	[SELFTEST_TOGETHER] = linktest_together,
	[SELFTEST_COMPUTE] = computetest_run,
	[SELFTEST_SOAK] = memtest_soak,
	[SELFTEST_TEARDOWN] = run_teardown,
};

/* Which outcome counts when two phases differ; of equals the first does. */
static unsigned int weight(enum selftest_word word)
{
	static const unsigned int weights[SELFTEST_NR_WORDS] = {
		[SELFTEST_DEGRADED] = 1, [SELFTEST_NOT_TESTABLE] = 2, [SELFTEST_CANCELLED] = 2, [SELFTEST_DATA_FAULT] = 3,
		[SELFTEST_GPU_FAULT] = 3, [SELFTEST_CRASHED] = 3, [SELFTEST_HUNG] = 4, [SELFTEST_LOST] = 5,
	};

	return weights[word];
}

/* Wrong data is a result like another: the next phase may find more. Nothing is believed after a wrong known answer. */
static bool may_go_on(enum selftest_phase_id id, enum selftest_word word)
{
	return word == SELFTEST_PASS || word == SELFTEST_DEGRADED ||
	       (word == SELFTEST_DATA_FAULT && id != SELFTEST_KNOWN);
}

/* Full power from one moment to the next: not all cards of a rig at once. */
static bool needs_power(unsigned int id)
{
	return id == SELFTEST_COMPUTE || id == SELFTEST_SOAK;
}

/* Returns whether the test may go on. */
static bool run_phase(struct test *t, enum selftest_phase_id id)
{
	struct selftest_result *result = &t->page->result;
	uint64_t begin_ms;

	if (needs_power(id) && !cardtest_ask(t, ASK_POWER))
		return false;
	begin_ms = phases_now_ms();
	atomic_store(&t->page->begin_ms, begin_ms);
	result->phase[id].word = SELFTEST_RUNNING;
	atomic_store(&t->page->phase, id);
	kick(t);

	result->phase[id].word = run[id](t);
	result->phase[id].ms = (uint32_t)(phases_now_ms() - begin_ms);
	if (weight(result->phase[id].word) > weight(result->word)) {
		result->failed = id;
		result->word = result->phase[id].word;
	}
	return may_go_on(id, result->phase[id].word);
}

void phases_run(struct phases_page *page, int kick_fd)
{
	/* One run per process, and too large for a stack. */
	static struct test test;
	struct test *t = &test;
	unsigned int id = 0;

	t->page = page;
	t->kick_fd = kick_fd;
	page->result.word = SELFTEST_PASS;
	page->result.failed = SELFTEST_NR_PHASES;
	page->result.link_mbs = atomic_load(&page->link_mbs);

	while (id < SELFTEST_TEARDOWN && !cardtest_stopped(t) && (!predict_has(&page->plan, id) || run_phase(t, id)))
		id++;
	if (t->ctx)
		run_phase(t, SELFTEST_TEARDOWN);

	/* Not closed: a library that goes wrong in its destructors would spoil a verdict that is already there. */
	atomic_store(&page->done, 1);
	kick(t);
}
