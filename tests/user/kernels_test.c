// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host's own results of the kernels, against numbers that did not come from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernels.h"

/* Seed 1, word 0 is MurmurHash3_x86_32("", 1), a published test vector; the others are tests/ptx/emulate.py's. */
static void pattern_is_as_published(void **state)
{
	static const struct {
		uint64_t word;
		uint32_t seed, value;
	} rows[] = {
		{ 0, 0, 0 },
		{ 0, 1, 0x514e28b7 },
		{ 1, 0, 0x514e28b7 },
		{ 0x400, 0xbb67ae85, 0x2a781069 },
		{ 0xffffffff, 0xbb67ae85, 0x9993290c },
		{ 0x100000000, 0xbb67ae85, 0x3d89b212 },
		{ 5, 0x3c6ef372, 0xbde772ca },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(kernel_pattern(rows[i].word, rows[i].seed), rows[i].value);
}

/* First and last word of each section for seed 0x6a09e667, from tests/ptx/emulate.py, which runs the PTX itself. */
static void known_answer_is_that_of_the_ptx(void **state)
{
	static const struct {
		unsigned int word;
		uint32_t value;
	} rows[] = {
		{ 0, 0xdbf05850 }, { 4095, 0xae97db82 },	/* integer */
		{ 4096, 0x61097bf2 }, { 8191, 0x678f3401 },	/* shared memory */
		{ 8192, 0xdbbeed41 }, { 12287, 0xa1c5d085 },	/* floating point */
		{ 12288, 0x00bfaaaf }, { 13312, 0x619001c9 },	/* sum, xor */
		{ 14336, 0xd7526d98 },				/* maximum */
		{ 15360, 0xc5aed69f }, { 15361, 0x67a70501 },	/* 64-bit sum */
		{ 16383, 0xf277cae9 },
	};
	static uint32_t out[KNOWN_WORDS];

	(void)state;
	memset(out, 0xa5, sizeof(out));
	kernel_known_answer(out, 0x6a09e667);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(out[rows[i].word], rows[i].value);
}

static void another_seed_gives_another_answer(void **state)
{
	static uint32_t one[KNOWN_WORDS], other[KNOWN_WORDS];
	unsigned int same = 0;

	(void)state;
	kernel_known_answer(one, 1);
	kernel_known_answer(other, 2);
	for (unsigned int i = 0; i < KNOWN_WORDS; i++)
		same += one[i] == other[i];
	/* Sums over eight threads may meet by chance; whole sections may not. */
	assert_in_range(same, 0, 8);
}

/* What the check kernel writes and the host reads are the same bytes. */
static void report_has_the_layout_of_the_ptx(void **state)
{
	(void)state;
	assert_int_equal(offsetof(struct memory_report, wrong), 0);
	assert_int_equal(offsetof(struct memory_report, sampled), 8);
	assert_int_equal(offsetof(struct memory_report, not_first), 12);
	assert_int_equal(offsetof(struct memory_report, last), 16);
	assert_int_equal(offsetof(struct memory_report, up), 32);
	assert_int_equal(offsetof(struct memory_report, down), 160);
	assert_int_equal(offsetof(struct memory_report, flips), 288);
	assert_int_equal(offsetof(struct memory_report, bin), 416);
	assert_int_equal(offsetof(struct memory_report, record), 1440);
	assert_int_equal(sizeof(struct memory_record), 32);
	assert_int_equal(offsetof(struct memory_record, expected), 8);
	assert_int_equal(offsetof(struct memory_record, got), 12);
	assert_int_equal(offsetof(struct memory_record, again), 16);
	assert_int_equal(offsetof(struct memory_record, sm), 20);
	assert_int_equal(offsetof(struct compute_report, wanted), 4);
	assert_int_equal(offsetof(struct compute_report, ran), 16);
	assert_int_equal(offsetof(struct compute_report, wrong_on), 1040);
	assert_int_equal(offsetof(struct compute_report, record), 2064);
	assert_int_equal(sizeof(struct compute_record), 32);
}

/* A wrong value tells which place it belongs to. */
static void pattern_can_be_undone(void **state)
{
	static const uint32_t words[] = { 0, 1, 5, 0x400, 0x7fffffff, 0x80000000, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(kernel_pattern_word(kernel_pattern(words[i], 0xbb67ae85), 0xbb67ae85), words[i]);
		assert_int_equal(kernel_pattern_word(kernel_pattern(words[i], 0), 0), words[i]);
	}
	assert_int_equal(kernel_pattern_word(0x514e28b7, 1), 0);
}

/* By hand. */
static void sweeps_repeat_as_described(void **state)
{
	static const struct {
		struct sweep sweep;
		uint64_t word;
		uint32_t value;
	} rows[] = {
		{ { .value = 0x55555555, .period = 1 }, 7, 0x55555555 },
		{ { .value = 0x55555555, .mask = ~0u, .period = 1 }, 7, 0xaaaaaaaa },
		{ { .value = 1, .step = 1, .period = 8 }, 0, 1 },
		{ { .value = 1, .step = 1, .period = 8 }, 31, 0x80000000 },
		{ { .value = 1, .step = 1, .period = 8 }, 32, 1 },
		{ { .value = 0x80000000, .step = 1, .period = 8 }, 1, 1 },
		{ { .value = 1, .step = 1, .mask = ~0u, .period = 8 }, 4, ~0x10u },
		{ { .value = 0xf, .mask = ~(1u << 3), .period = 5 }, 3, 0xf },
		{ { .value = 0xf, .mask = ~(1u << 3), .period = 5 }, 4, ~0xfu },
		{ { .value = 0xf, .mask = ~(1u << 3), .period = 5 }, 23, 0xf },
		{ { .value = 0xf, .mask = ~(1u << 3), .period = 5 }, 0x10000000fULL, ~0xfu },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(kernel_sweep(&rows[i].sweep, rows[i].word), rows[i].value);
}

static void ptx_declares_every_kernel_with_its_arguments(void **state)
{
	static const struct {
		enum kernel_module_id module;
		const char *name;
		unsigned int args, threads;
	} rows[] = {
#define X(module, name, args, threads) { KERNEL_MODULE_##module, #name, args, threads },
		KERNELS(X)
#undef X
	};
	char entry[100];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *ptx = kernel_ptx(rows[i].module), *at;
		unsigned int args = 0;

		snprintf(entry, sizeof(entry), "\n.version 5.0\n.target sm_%u\n.address_size 64\n",
			 kernel_capability(rows[i].module));
		assert_non_null(strstr(ptx, entry));
		snprintf(entry, sizeof(entry), ".visible .entry %s(", rows[i].name);
		at = strstr(ptx, entry);
		assert_non_null(at);
		for (at = strstr(at, "("); *at != ')'; at++)
			args += !strncmp(at, ".param .u64 ", 12);
		assert_int_equal(args, rows[i].args);
		assert_in_range(rows[i].args, 1, KERNEL_ARGS_MAX);
		assert_int_equal(rows[i].threads % 32, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pattern_is_as_published),
		cmocka_unit_test(known_answer_is_that_of_the_ptx),
		cmocka_unit_test(another_seed_gives_another_answer),
		cmocka_unit_test(report_has_the_layout_of_the_ptx),
		cmocka_unit_test(pattern_can_be_undone),
		cmocka_unit_test(sweeps_repeat_as_described),
		cmocka_unit_test(ptx_declares_every_kernel_with_its_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
