/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernels of user/ptx: names, arguments, launch shapes, memory layouts, and the host's own computation of their
 * results. Knows no CUDA: tests and the stand-in library use the list as well.
 */
#ifndef KERNELS_H
#define KERNELS_H

#include <stddef.h>
#include <stdint.h>

/*
 * PTX modules: X(name); the file is ptx/<name>.ptx, which also defines the arithmetic of its kernels.
 */
#define KERNEL_MODULES(X)	\
	X(known)		\
	X(memory)

/*
 * X(module, kernel, arguments, threads per block). Every argument is a .u64. Grids are one-dimensional, no dynamic
 * shared memory.
 *
 * known_answer(out, seed)			exactly KNOWN_BLOCKS blocks
 * memory_fill(base, items, first, seed)	any grid
 * memory_check(base, items, first, seed, report)	any grid
 */
#define KERNELS(X)				\
	X(known, known_answer, 2, 256)		\
	X(memory, memory_fill, 4, 256)		\
	X(memory, memory_check, 5, 256)

enum kernel_module_id {
#define X(name) KERNEL_MODULE_##name,
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

#define KERNEL_ARGS_MAX	5

/* known_answer: 64 KiB of 32-bit words, four sections of one word per thread. */
#define KNOWN_BLOCKS	16
#define KNOWN_THREADS	4096
#define KNOWN_WORDS	16384

/* memory_*: an item is four words; a report keeps this many wrong words. */
#define MEMORY_ITEM_BYTES	16
#define MEMORY_RECORDS		16

/**
 * struct memory_record - one wrong word, as memory_check writes it
 * @word:	number of the word: byte offset / 4, counted from where the first item's number was counted
 * @expected:	what the pattern says
 * @got:	what was read
 * @again:	the same word read a second time
 */
struct memory_record {
	uint64_t word;
	uint32_t expected;
	uint32_t got;
	uint32_t again;
	uint32_t pad[3];
};

/**
 * struct memory_report - what memory_check leaves behind
 * @wrong:	number of wrong words
 * @wanted:	records wanted; min(@wanted, MEMORY_RECORDS) of @record are valid, in no particular order
 */
struct memory_report {
	uint64_t wrong;
	uint32_t wanted;
	uint32_t pad;
	struct memory_record record[MEMORY_RECORDS];
};

/* Text of a module, NUL-terminated. */
const char *kernel_ptx(enum kernel_module_id module);

/* The value of word number @word, see ptx/memory.ptx. */
uint32_t kernel_pattern(uint64_t word, uint32_t seed);

/* All KNOWN_WORDS results of known_answer, see ptx/known.ptx. */
void kernel_known_answer(uint32_t *out, uint32_t seed);

#endif
