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
	assert_int_equal(offsetof(struct memory_report, wanted), 8);
	assert_int_equal(offsetof(struct memory_report, record), 16);
	assert_int_equal(sizeof(struct memory_record), 32);
	assert_int_equal(offsetof(struct memory_record, expected), 8);
	assert_int_equal(offsetof(struct memory_record, got), 12);
	assert_int_equal(offsetof(struct memory_record, again), 16);
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

		assert_non_null(strstr(ptx, "\n.version 5.0\n.target sm_50\n.address_size 64\n"));
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
		cmocka_unit_test(ptx_declares_every_kernel_with_its_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
