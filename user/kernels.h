/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernels of user/ptx: names, arguments, launch shapes, memory layouts, and the host's own computation of their
 * results. Knows no CUDA: tests and the stand-in library use the list as well.
 */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * PTX modules: X(name, lowest compute capability); the file is ptx/<name>.ptx, which also defines the arithmetic of its
 * kernels. Those for 50 load everywhere; the others are left out on older cards.
 */
#define KERNEL_MODULES(X)	\
	X(known, 50)		\
	X(memory, 50)		\
	X(sweep, 50)		\
	X(move, 50)		\
	X(compute, 50)		\
	X(dp4a, 61)

/*
 * X(module, kernel, arguments, threads per block). Every argument is a .u64. Grids are one-dimensional, no dynamic
 * shared memory.
 *
 * known_answer(out, seed)						exactly KNOWN_BLOCKS blocks
 * memory_fill(base, items, first, seed, invert, turn)			any grid
 * memory_check(base, items, first, seed, invert, turn, report, shift)	any grid
 * sweep_write(base, items, phase, value, step, mask, period, turn)	blocks * 256 a multiple of period
 * sweep_check(base, items, phase, value, step, mask, period, turn, write, first, report, shift)	the same
 * move_items(to, from, items)						any grid
 * compute_*(reference, seed, rounds, repeats, report)			any grid
 */
#define KERNELS(X)				\
	X(known, known_answer, 2, 256)		\
	X(memory, memory_fill, 6, 256)		\
	X(memory, memory_check, 8, 256)		\
	X(sweep, sweep_write, 8, 256)		\
	X(sweep, sweep_check, 12, 256)		\
	X(move, move_items, 3, 256)		\
	X(compute, compute_integer, 5, 256)	\
	X(compute, compute_fma, 5, 256)		\
	X(compute, compute_muladd, 5, 256)	\
	X(dp4a, compute_dp4a, 5, 256)

enum kernel_module_id {
#define X(name, capability) KERNEL_MODULE_##name,
	KERNEL_MODULES(X)
#undef X
	NR_KERNEL_MODULES,
};

enum kernel_id {
#define X(module, name, args, threads) KERNEL_##name,
	KERNELS(X)
#undef X
	NR_KERNELS,
};

#define KERNEL_ARGS_MAX	12

/* known_answer: 64 KiB of 32-bit words, four sections of one word per thread. */
#define KNOWN_BLOCKS	16
#define KNOWN_THREADS	4096
#define KNOWN_WORDS	16384

/* memory_* and sweep_*: an item is four words; a report keeps this many wrong words, and statistics of so many. */
#define MEMORY_ITEM_BYTES	16
#define MEMORY_RECORDS		16
#define MEMORY_SAMPLE		65536
#define MEMORY_BINS		256

/* sweep_*: grids of a multiple of this many blocks suit every period. */
#define SWEEP_BLOCKS		5

/* compute_*: threads per block, which all blocks share a result for; SM numbers told apart. */
#define COMPUTE_THREADS		256
#define COMPUTE_SMS		256
#define COMPUTE_RECORDS		16

/**
 * struct memory_record - one wrong word, as memory_check and sweep_check write it
 * @word:	number of the word: byte offset / 4, counted from where the first item's number was counted
 * @expected:	what the pattern says
 * @got:	what was read
 * @again:	the same word read a second time
 * @sm:		number of the SM that read it
 */
struct memory_record {
	uint64_t word;
	uint32_t expected;
	uint32_t got;
	uint32_t again;
	uint32_t sm;
	uint32_t pad[2];
};

/**
 * struct memory_report - what memory_check and sweep_check leave behind
 * @wrong:	number of wrong words
 * @sampled:	of these are in the statistics; min(@sampled, MEMORY_RECORDS) of @record are valid, in no particular
 *		order
 * @not_first:	complement of the first page of 4 KiB with a wrong word; 0 = none
 * @last:	the last such page
 * @up:		by bit: words where it was 0 and read 1
 * @down:	by bit: words where it was 1 and read 0
 * @flips:	words by number of flipped bits less one
 * @bin:	words by their number shifted right, the last one takes the rest
 */
struct memory_report {
	uint64_t wrong;
	uint32_t sampled;
	uint32_t not_first;
	uint32_t last;
	uint32_t pad[3];
	uint32_t up[32];
	uint32_t down[32];
	uint32_t flips[32];
	uint32_t bin[MEMORY_BINS];
	struct memory_record record[MEMORY_RECORDS];
};

/**
 * struct sweep - a pattern of sweep_*
 * @value:	of word 0, before @mask
 * @step:	places that each word is rotated further than the one before it
 * @mask:	bit k set: word k of a period is turned over
 * @period:	in items, 1 to 8
 */
struct sweep {
	uint32_t value;
	uint32_t step;
	uint32_t mask;
	uint32_t period;
};

/**
 * struct compute_record - one wrong result of a chain
 * @sm:		number of the SM
 * @thread:	which of the block's 256 chains
 * @repeat:	which repetition
 * @expected:	what the host computed
 * @got:	what the thread computed
 */
struct compute_record {
	uint32_t sm;
	uint32_t thread;
	uint32_t repeat;
	uint32_t expected;
	uint32_t got;
	uint32_t pad[3];
};

/**
 * struct compute_report - what compute_* leave behind
 * @wrong:	wrong results, modulo 2^32
 * @wanted:	records wanted; min(@wanted, COMPUTE_RECORDS) of @record are valid
 * @ran:	blocks by SM number
 * @wrong_on:	wrong results by SM number
 */
struct compute_report {
	uint32_t wrong;
	uint32_t wanted;
	uint32_t pad[2];
	uint32_t ran[COMPUTE_SMS];
	uint32_t wrong_on[COMPUTE_SMS];
	struct compute_record record[COMPUTE_RECORDS];
};

/* Text of a module, NUL-terminated, and the lowest compute capability it is for. */
const char *kernel_ptx(enum kernel_module_id module);
unsigned int kernel_capability(enum kernel_module_id module);

/* The value of word number @word, see ptx/memory.ptx. */
uint32_t kernel_pattern(uint64_t word, uint32_t seed);

/* The word below 2^32 with that value: what kernel_pattern() gave can be traced back. */
uint32_t kernel_pattern_word(uint32_t value, uint32_t seed);

/* The value of word number @word, see ptx/sweep.ptx. */
uint32_t kernel_sweep(const struct sweep *sweep, uint64_t word);

/* All KNOWN_WORDS results of known_answer, see ptx/known.ptx. */
void kernel_known_answer(uint32_t *out, uint32_t seed);

/* All COMPUTE_THREADS results of a compute_* kernel, see ptx/compute.ptx and ptx/dp4a.ptx. */
void kernel_compute(enum kernel_id kernel, uint32_t *out, uint32_t seed, uint32_t rounds);

#endif
