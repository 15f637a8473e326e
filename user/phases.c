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

#include "cuda.h"
#include "kernels.h"
#include "phases.h"

#define MIB			((size_t)1 << 20)

/*
 * One pattern over this much memory, in steps of SLICE: 64 MiB take 0.4 ms at 192 GB/s and stay under 50 ms down to 1.4
 * GB/s.
 */
#define VRAM_BYTES		(256 * MIB)
#define VRAM_SLICE		(64 * MIB)
#define VRAM_STEP		(16 * MIB)

/* Pieces of the copy phase: 8 MiB take 40 ms on Gen1 x1; enough pieces for 250 ms, at most 8 (5 ms on Gen3 x16). */
#define COPY_CHUNK		(8 * MIB)
#define COPY_CHUNKS_MAX		8
#define COPY_TIME_MS		250.0f

/* Enough resident blocks for every SM we know (2048 threads each); more only queue. */
#define BLOCKS_PER_SM		8

/* A poll this far apart costs at most 1 % of a 10 ms launch and no CPU to speak of. */
#define POLL_NS			100000

/* The first three words of SHA-256: any numbers do. */
#define KNOWN_SEED		0x6a09e667
#define VRAM_SEED		0xbb67ae85
#define COPY_SEED		0x3c6ef372

/**
 * struct test - one run
 * @cuda:	the library
 * @page:	shared with the parent
 * @dev:	the card
 * @ctx:	NULL until the context phase
 * @stream:	all work goes here
 * @mark:	events around a copy
 * @func:	kernels by enum kernel_id
 * @scratch:	device memory for results and reports, KNOWN_WORDS words
 * @pinned:	host memory, COPY_CHUNK bytes
 * @vram:	device memory under test, set by the vram phase
 * @vram_bytes:	its size, a multiple of VRAM_STEP
 *
 * Device and pinned memory go with the context.
 */
struct test {
	struct cuda cuda;
	struct phases_page *page;
	CUdevice dev;
	CUcontext ctx;
	CUstream stream;
	CUevent mark[2];
	CUfunction func[NR_KERNELS];
	CUdeviceptr scratch;
	void *pinned;
	CUdeviceptr vram;
	size_t vram_bytes;
};

uint64_t phases_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void call_enter(struct test *t, enum cuda_symbol symbol)
{
	atomic_store(&t->page->call, symbol + 1);
	atomic_store(&t->page->inside, 1);
}

static CUresult call_leave(struct test *t, CUresult code)
{
	atomic_store(&t->page->code, code);
	atomic_store(&t->page->inside, 0);
	return code;
}

/* Every CUDA call goes through here, so that the parent knows where a dead or stuck child was. */
#define CALL(t, name, ...)	(call_enter(t, CUDA_##name), call_leave(t, (t)->cuda.name(__VA_ARGS__)))

static void say(struct test *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct test *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(t->page->result.error, sizeof(t->page->result.error), format, args);
	va_end(args);
}

static enum selftest_word not_testable(struct test *t, enum selftest_cause cause)
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
	{ SELFTEST_CONTEXT, SELFTEST_COPY, CUDA_ERROR_OUT_OF_MEMORY, SELFTEST_NO_MEMORY },
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
static enum selftest_word failed(struct test *t, CUresult code)
{
	enum selftest_phase_id phase = atomic_load(&t->page->phase);

	if (atomic_load(&t->page->stop))
		return SELFTEST_CANCELLED;

	say(t, "%s: %d %s", cuda_symbol_name(atomic_load(&t->page->call) - 1), code, cuda_code_name(code));
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (phase >= causes[i].first && phase <= causes[i].last && (!causes[i].code || causes[i].code == code))
			return not_testable(t, causes[i].cause);
	return SELFTEST_GPU_FAULT;
}

/* Wait for the stream without ever blocking in the driver. CUDA_ERROR_NOT_READY means that the parent said stop. */
static CUresult finish(struct test *t)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	CUresult code;

	while ((code = CALL(t, cuStreamQuery, t->stream)) == CUDA_ERROR_NOT_READY && !atomic_load(&t->page->stop))
		nanosleep(&pause, NULL);
	return code;
}

static CUresult launch(struct test *t, enum kernel_id kernel, unsigned int blocks, uint64_t *args)
{
	static const unsigned int threads[] = {
#define X(module, name, nr_args, nr_threads) nr_threads,
		KERNELS(X)
#undef X
	};
	void *params[KERNEL_ARGS_MAX];
	CUresult code;

	for (unsigned int i = 0; i < KERNEL_ARGS_MAX; i++)
		params[i] = &args[i];
	code = CALL(t, cuLaunchKernel, t->func[kernel], blocks, 1, 1, threads[kernel], 1, 1, 0, t->stream, params,
		    NULL);
	return code ? code : finish(t);
}

static CUresult clear(struct test *t, CUdeviceptr where, size_t bytes)
{
	CUresult code = CALL(t, cuMemsetD32Async, where, 0, bytes / 4, t->stream);

	return code ? code : finish(t);
}

static CUresult fetch(struct test *t, void *to, CUdeviceptr from, size_t bytes)
{
	CUresult code = CALL(t, cuMemcpyDtoHAsync_v2, t->pinned, from, bytes, t->stream);

	code = code ? code : finish(t);
	if (!code)
		memcpy(to, t->pinned, bytes);
	return code;
}

static enum selftest_word data_fault(struct test *t, const char *what, uint64_t errors, uint64_t at, uint32_t expected,
				     uint32_t got)
{
	struct selftest_result *result = &t->page->result;

	result->errors = errors;
	result->mismatch_at = at;
	result->expected = expected;
	result->got = got;
	say(t, "%s: %llu wrong words, first at byte 0x%llx: expected %08x, got %08x", what, (unsigned long long)errors,
	    (unsigned long long)at, expected, got);
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
	say(t, "%s", why);
	return not_testable(t, opened == CUDA_OPEN_ABSENT ? SELFTEST_LIB_ABSENT : SELFTEST_LIB_BROKEN);
}

static enum selftest_word run_init(struct test *t)
{
	CUresult code;
	int version;

	/* Answers before cuInit and without a driver; a failure here is no news that cuInit would not bring. */
	if (!CALL(t, cuDriverGetVersion, &version))
		t->page->result.driver_cuda = (uint32_t)version;

	code = CALL(t, cuInit, 0);
	return code ? failed(t, code) : SELFTEST_PASS;
}

static enum selftest_word run_device(struct test *t)
{
	struct selftest_result *result = &t->page->result;
	int major, minor, sm_count;
	CUresult code;
	size_t bytes;

	code = CALL(t, cuDeviceGetByPCIBusId, &t->dev, t->page->bdf);
	if (code)
		return failed(t, code);
	code = CALL(t, cuDeviceGetName, result->name, (int)sizeof(result->name), t->dev);
	if (code)
		return failed(t, code);
	code = CALL(t, cuDeviceGetAttribute, &major, CU_ATTRIBUTE_CAPABILITY_MAJOR, t->dev);
	code = code ? code : CALL(t, cuDeviceGetAttribute, &minor, CU_ATTRIBUTE_CAPABILITY_MINOR, t->dev);
	code = code ? code : CALL(t, cuDeviceGetAttribute, &sm_count, CU_ATTRIBUTE_SM_COUNT, t->dev);
	code = code ? code : CALL(t, cuDeviceTotalMem_v2, &bytes, t->dev);
	if (code)
		return failed(t, code);

	result->compute = (uint32_t)(major * 10 + minor);
	result->sm_count = sm_count > 0 ? (uint32_t)sm_count : 1;
	result->mem_mib = bytes / MIB;
	return SELFTEST_PASS;
}

static enum selftest_word run_context(struct test *t)
{
	CUresult code;

	code = CALL(t, cuCtxCreate_v2, &t->ctx, 0, t->dev);
	if (code) {
		t->ctx = NULL;
		return failed(t, code);
	}
	code = CALL(t, cuStreamCreate, &t->stream, 0);
	code = code ? code : CALL(t, cuEventCreate, &t->mark[0], 0);
	code = code ? code : CALL(t, cuEventCreate, &t->mark[1], 0);
	code = code ? code : CALL(t, cuMemAlloc_v2, &t->scratch, KNOWN_WORDS * sizeof(uint32_t));
	if (code)
		return failed(t, code);

	/* The only allocation that is the host's memory: out of memory says nothing about the card. */
	code = CALL(t, cuMemHostAlloc, &t->pinned, COPY_CHUNK, 0);
	if (code == CUDA_ERROR_OUT_OF_MEMORY) {
		failed(t, code);
		return not_testable(t, SELFTEST_HOST_ERROR);
	}
	return code ? failed(t, code) : SELFTEST_PASS;
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
	word = failed(t, code);
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
	CUmodule module[NR_KERNEL_MODULES];
	enum selftest_word word;
	CUresult code;

	for (unsigned int i = 0; i < NR_KERNEL_MODULES; i++) {
		word = load_module(t, i, &module[i]);
		if (word != SELFTEST_PASS)
			return word;
	}
	for (unsigned int i = 0; i < NR_KERNELS; i++) {
		code = CALL(t, cuModuleGetFunction, &t->func[i], module[kernel[i].module], kernel[i].name);
		if (code)
			return failed(t, code);
	}
	return SELFTEST_PASS;
}

static enum selftest_word compare(struct test *t, const char *what, const uint32_t *got, const uint32_t *expected,
				  size_t words)
{
	uint64_t errors = 0;
	size_t first = 0;

	for (size_t i = 0; i < words; i++) {
		if (got[i] == expected[i])
			continue;
		if (!errors++)
			first = i;
	}
	if (!errors)
		return SELFTEST_PASS;
	return data_fault(t, what, errors, first * 4, expected[first], got[first]);
}

static enum selftest_word run_known(struct test *t)
{
	static uint32_t expected[KNOWN_WORDS], got[KNOWN_WORDS];
	uint64_t args[KERNEL_ARGS_MAX] = { t->scratch, KNOWN_SEED };
	CUresult code;

	code = clear(t, t->scratch, sizeof(got));
	code = code ? code : launch(t, KERNEL_known_answer, KNOWN_BLOCKS, args);
	code = code ? code : fetch(t, got, t->scratch, sizeof(got));
	if (code)
		return failed(t, code);

	kernel_known_answer(expected, KNOWN_SEED);
	return compare(t, "known answer", got, expected, KNOWN_WORDS);
}

static unsigned int grid(const struct test *t)
{
	return t->page->result.sm_count * BLOCKS_PER_SM;
}

/* Call @kernel for every slice of the memory under test. */
static CUresult sweep(struct test *t, enum kernel_id kernel)
{
	CUresult code = CUDA_SUCCESS;

	for (size_t at = 0; !code && at < t->vram_bytes; at += VRAM_SLICE) {
		size_t bytes = t->vram_bytes - at < VRAM_SLICE ? t->vram_bytes - at : VRAM_SLICE;
		uint64_t args[KERNEL_ARGS_MAX] = {
			t->vram + at, bytes / MEMORY_ITEM_BYTES, at / MEMORY_ITEM_BYTES, VRAM_SEED, t->scratch,
		};

		code = launch(t, kernel, grid(t), args);
	}
	return code;
}

static enum selftest_word judge_report(struct test *t, const char *what)
{
	const struct memory_record *first;
	struct memory_report report;
	uint32_t records;
	CUresult code;

	code = fetch(t, &report, t->scratch, sizeof(report));
	if (code)
		return failed(t, code);
	if (!report.wrong && !report.wanted)
		return SELFTEST_PASS;

	records = report.wanted < MEMORY_RECORDS ? report.wanted : MEMORY_RECORDS;
	first = &report.record[0];
	for (uint32_t i = 1; i < records; i++)
		if (report.record[i].word < first->word)
			first = &report.record[i];
	return data_fault(t, what, report.wrong, first->word * 4, first->expected, first->got);
}

/* As much as there is, up to VRAM_BYTES: what is called free cannot always be had in one piece. */
static enum selftest_word allocate_vram(struct test *t)
{
	size_t free_bytes, total_bytes, bytes;
	CUresult code;

	code = CALL(t, cuMemGetInfo_v2, &free_bytes, &total_bytes);
	if (code)
		return failed(t, code);

	bytes = free_bytes < VRAM_BYTES ? free_bytes : VRAM_BYTES;
	for (bytes -= bytes % VRAM_STEP; bytes; bytes -= VRAM_STEP) {
		code = CALL(t, cuMemAlloc_v2, &t->vram, bytes);
		if (code == CUDA_ERROR_OUT_OF_MEMORY)
			continue;
		t->vram_bytes = bytes;
		return code ? failed(t, code) : SELFTEST_PASS;
	}
	say(t, "%zu of %zu MiB are called free and not even %zu can be had", free_bytes / MIB, total_bytes / MIB,
	    VRAM_STEP / MIB);
	return not_testable(t, SELFTEST_NO_MEMORY);
}

static enum selftest_word run_vram(struct test *t)
{
	enum selftest_word word;
	CUresult code;

	word = allocate_vram(t);
	if (word != SELFTEST_PASS)
		return word;
	code = clear(t, t->scratch, sizeof(struct memory_report));
	code = code ? code : sweep(t, KERNEL_memory_fill);
	code = code ? code : sweep(t, KERNEL_memory_check);
	if (code)
		return failed(t, code);
	t->page->result.tested_mib = t->vram_bytes / MIB;
	return judge_report(t, "memory");
}

/* Chunks go to different places, as far as the tested memory reaches. */
static CUdeviceptr chunk_address(const struct test *t, unsigned int chunk)
{
	return t->vram + (chunk % (t->vram_bytes / COPY_CHUNK)) * COPY_CHUNK;
}

/* One copy between two events; the card's clock says how long it took. */
static CUresult copy_timed(struct test *t, bool to_card, CUdeviceptr card, float *ms)
{
	float took = 0;
	CUresult code;

	code = CALL(t, cuEventRecord, t->mark[0], t->stream);
	if (code)
		return code;
	code = to_card ? CALL(t, cuMemcpyHtoDAsync_v2, card, t->pinned, COPY_CHUNK, t->stream) :
			 CALL(t, cuMemcpyDtoHAsync_v2, t->pinned, card, COPY_CHUNK, t->stream);
	code = code ? code : CALL(t, cuEventRecord, t->mark[1], t->stream);
	code = code ? code : finish(t);
	code = code ? code : CALL(t, cuEventElapsedTime, &took, t->mark[0], t->mark[1]);
	*ms += took;
	return code;
}

static uint32_t rate_mbs(unsigned int chunks, float ms)
{
	return ms > 0 ? (uint32_t)((float)chunks * (float)COPY_CHUNK / 1000.0f / ms) : 0;
}

/* The card itself checks what arrived, so that a wrong word is blamed on the right direction. */
static enum selftest_word copy_to_card(struct test *t, const uint32_t *data, unsigned int *ret_chunks)
{
	unsigned int chunk = 0;
	CUresult code;
	float ms = 0;

	code = clear(t, t->scratch, sizeof(struct memory_report));
	memcpy(t->pinned, data, COPY_CHUNK);
	for (; !code && chunk < COPY_CHUNKS_MAX && ms < COPY_TIME_MS; chunk++) {
		CUdeviceptr card = chunk_address(t, chunk);
		uint64_t args[KERNEL_ARGS_MAX] = { card, COPY_CHUNK / MEMORY_ITEM_BYTES, 0, COPY_SEED, t->scratch };

		code = copy_timed(t, true, card, &ms);
		code = code ? code : launch(t, KERNEL_memory_check, grid(t), args);
	}
	if (code)
		return failed(t, code);
	t->page->result.h2d_mbs = rate_mbs(chunk, ms);
	*ret_chunks = chunk;
	return judge_report(t, "copy to the card");
}

static enum selftest_word copy_to_host(struct test *t, const uint32_t *data, unsigned int chunks)
{
	enum selftest_word word = SELFTEST_PASS;
	unsigned int chunk = 0;
	CUresult code;
	float ms = 0;

	for (; chunk < chunks && word == SELFTEST_PASS; chunk++) {
		/* A copy that never arrives must not find its data already there. */
		memset(t->pinned, 0, COPY_CHUNK);
		code = copy_timed(t, false, chunk_address(t, chunk), &ms);
		if (code)
			return failed(t, code);
		word = compare(t, "copy to the host", t->pinned, data, COPY_CHUNK / 4);
	}
	t->page->result.d2h_mbs = rate_mbs(chunk, ms);
	return word;
}

/*
 * Half of what the link carries: seen on sound cards are 82 to 103 % (notes of six cards, GiB/s measured against 84 %
 * of raw).
 */
static enum selftest_word judge_rate(struct test *t)
{
	const struct selftest_result *result = &t->page->result;
	uint32_t link_mbs = t->page->link_mbs;

	if (!link_mbs || (result->h2d_mbs * 2 >= link_mbs && result->d2h_mbs * 2 >= link_mbs))
		return SELFTEST_PASS;
	say(t, "copy: %u MB/s to the card and %u MB/s back over a link that carries %u MB/s", result->h2d_mbs,
	    result->d2h_mbs, link_mbs);
	return SELFTEST_DEGRADED;
}

static enum selftest_word run_copy(struct test *t)
{
	enum selftest_word word;
	unsigned int chunks = 0;
	uint32_t *data;

	data = malloc(COPY_CHUNK);
	if (!data) {
		say(t, "no memory for %zu bytes", COPY_CHUNK);
		return not_testable(t, SELFTEST_HOST_ERROR);
	}
	for (size_t i = 0; i < COPY_CHUNK / 4; i++)
		data[i] = kernel_pattern(i, COPY_SEED);

	word = copy_to_card(t, data, &chunks);
	if (word == SELFTEST_PASS)
		word = copy_to_host(t, data, chunks);
	free(data);
	return word == SELFTEST_PASS ? judge_rate(t) : word;
}

static enum selftest_word run_teardown(struct test *t)
{
	CUresult code = CALL(t, cuCtxDestroy_v2, t->ctx);

	if (!code)
		return SELFTEST_PASS;
	/* After a fault every call reports the same fault again: keep the first words. */
	if (t->page->result.word != SELFTEST_PASS && t->page->result.word != SELFTEST_DEGRADED)
		return SELFTEST_GPU_FAULT;
	return failed(t, code);
}

static enum selftest_word (* const run[SELFTEST_NR_PHASES])(struct test *t) = {
	[SELFTEST_LIBRARY] = run_library,
	[SELFTEST_INIT] = run_init,
	[SELFTEST_DEVICE] = run_device,
	[SELFTEST_CONTEXT] = run_context,
	[SELFTEST_JIT] = run_jit,
	[SELFTEST_KNOWN] = run_known,
	[SELFTEST_VRAM] = run_vram,
	[SELFTEST_COPY] = run_copy,
	[SELFTEST_TEARDOWN] = run_teardown,
};

/* A full counter is no harm: the parent is then about to look anyway. */
static void kick(int kick_fd)
{
	uint64_t one = 1;
	ssize_t written = write(kick_fd, &one, sizeof(one));

	(void)written;
}

/* Returns whether the test may go on. */
static bool run_phase(struct test *t, enum selftest_phase_id id, int kick_fd)
{
	struct selftest_result *result = &t->page->result;
	uint64_t begin_ms = phases_now_ms();
	bool good, first;

	atomic_store(&t->page->begin_ms, begin_ms);
	result->phase[id].word = SELFTEST_RUNNING;
	atomic_store(&t->page->phase, id);
	kick(kick_fd);

	result->phase[id].word = run[id](t);
	result->phase[id].ms = (uint32_t)(phases_now_ms() - begin_ms);
	good = result->phase[id].word == SELFTEST_PASS || result->phase[id].word == SELFTEST_DEGRADED;
	/* The first phase that did not pass names the outcome; only a real failure outweighs "degraded". */
	first = result->word == SELFTEST_PASS || (result->word == SELFTEST_DEGRADED && !good);
	if (first && result->phase[id].word != SELFTEST_PASS) {
		result->failed = id;
		result->word = result->phase[id].word;
	}
	return good;
}

void phases_run(struct phases_page *page, int kick_fd)
{
	struct test t = { .page = page };
	unsigned int id = 0;

	page->result.word = SELFTEST_PASS;
	page->result.failed = SELFTEST_NR_PHASES;
	page->result.link_mbs = page->link_mbs;

	while (id < SELFTEST_TEARDOWN && !atomic_load(&page->stop) && run_phase(&t, id, kick_fd))
		id++;
	if (t.ctx)
		run_phase(&t, SELFTEST_TEARDOWN, kick_fd);

	/* Not closed: a library that goes wrong in its destructors would spoil a verdict that is already there. */
	atomic_store(&page->done, 1);
	kick(kick_fd);
}
