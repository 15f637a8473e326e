/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the phases of the child share: one run's state, and the calls that tell the parent where the child is. Only for
 * phases.c, memtest.c, linktest.c and computetest.c.
 */
#ifndef CARDTEST_H
#define CARDTEST_H

#include "cuda.h"
#include "kernels.h"
#include "phases.h"

#define MIB		((size_t)1 << 20)

/* 256 MiB pieces of 256 GiB, and some small ones. */
#define CHUNKS_MAX	1100

/* Small results and reports live in one allocation; the largest is the known answer. */
#define SCRATCH_BYTES	(KNOWN_WORDS * sizeof(uint32_t))

/* Pinned memory in each direction: 8 MiB take 40 ms on Gen1 x1. Two of them for every card of a rig must fit the host. */
#define PINNED_BYTES	(8 * MIB)

/**
 * struct chunk - one allocation under test
 * @base:	where it is
 * @items:	of 16 bytes
 * @first:	number of its first item, counted over all chunks
 */
struct chunk {
	CUdeviceptr base;
	uint32_t items;
	uint64_t first;
};

/**
 * struct test - one run
 * @cuda:	the library
 * @page:	shared with the parent
 * @kick_fd:	wakes the parent
 * @dev:	the card
 * @ctx:	NULL until the context phase
 * @stream:	all work goes here
 * @other:	a second stream, for copies in both directions
 * @mark:	events around what is timed on @stream
 * @other_mark:	the same on @other
 * @func:	kernels by enum kernel_id; NULL where the card is too old for the module
 * @scratch:	device memory for results and reports, SCRATCH_BYTES
 * @pinned:	host memory, PINNED_BYTES
 * @chunk:	memory under test, @nr_chunks of them
 * @items:	of all chunks
 * @free_bytes:	called free when the context was there
 *
 * Device and pinned memory go with the context.
 */
struct test {
	struct cuda cuda;
	struct phases_page *page;
	int kick_fd;
	CUdevice dev;
	CUcontext ctx;
	CUstream stream;
	CUstream other;
	CUevent mark[2];
	CUevent other_mark[2];
	CUfunction func[NR_KERNELS];
	CUdeviceptr scratch;
	void *pinned;
	struct chunk chunk[CHUNKS_MAX];
	unsigned int nr_chunks;
	uint64_t items;
	size_t free_bytes;
};

void cardtest_enter(struct test *t, enum cuda_symbol symbol);
CUresult cardtest_leave(struct test *t, CUresult code);

/* Every CUDA call goes through here, so that the parent knows where a dead or stuck child was. */
#define CALL(t, name, ...) \
	(cardtest_enter(t, CUDA_##name), cardtest_leave(t, (t)->cuda.name(__VA_ARGS__)))

void cardtest_say(struct test *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum selftest_word cardtest_not_testable(struct test *t, enum selftest_cause cause);
enum selftest_word cardtest_failed(struct test *t, CUresult code);
bool cardtest_stopped(const struct test *t);
bool cardtest_ask(struct test *t, enum selftest_ask ask);
void cardtest_wait_ms(struct test *t, unsigned int ms);

CUresult cardtest_finish(struct test *t);
CUresult cardtest_launch(struct test *t, enum kernel_id kernel, unsigned int blocks, uint64_t *args);
CUresult cardtest_mark(struct test *t, unsigned int mark);
CUresult cardtest_marked_ms(struct test *t, float *ms);
CUresult cardtest_clear(struct test *t, CUdeviceptr where, size_t bytes);
CUresult cardtest_fetch(struct test *t, void *to, CUdeviceptr from, size_t bytes);
CUresult cardtest_put(struct test *t, CUdeviceptr to, const void *from, size_t bytes);
unsigned int cardtest_grid(const struct test *t);

void cardtest_fault(struct test *t, const struct selftest_fault *fault);
enum selftest_word cardtest_data_fault(struct test *t, const char *what, uint64_t errors,
				       const struct selftest_fault *first);

/* The phases, each in the file of its kind. */
enum selftest_word memtest_allocation(struct test *t);
enum selftest_word memtest_address(struct test *t);
enum selftest_word memtest_inversions(struct test *t);
enum selftest_word memtest_random(struct test *t);
enum selftest_word memtest_modulo(struct test *t);
enum selftest_word memtest_move(struct test *t);
enum selftest_word memtest_hold(struct test *t);
enum selftest_word memtest_soak(struct test *t);
enum selftest_word memtest_arrived(struct test *t, enum selftest_fault_kind kind, const char *what);
enum selftest_word linktest_run(struct test *t);
enum selftest_word linktest_together(struct test *t);
enum selftest_word computetest_run(struct test *t);
enum selftest_word computetest_burst(struct test *t, unsigned int ms);

#endif
