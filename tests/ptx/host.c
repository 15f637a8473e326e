// SPDX-License-Identifier: GPL-2.0-only
/*
 * The helper's side of tests/ptx/run: print what the host expects of the kernels, or run one self-test and print its
 * end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "predict.h"
#include "selftest.h"

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 0);
}

static int print_known(uint32_t seed)
{
	static uint32_t out[KNOWN_WORDS];

	kernel_known_answer(out, seed);
	for (unsigned int i = 0; i < KNOWN_WORDS; i++)
		printf("%u %u\n", i, out[i]);
	return 0;
}

static int print_pattern(char **arg)
{
	uint64_t first_item = number(arg[0]), items = number(arg[1]);
	uint32_t seed = (uint32_t)number(arg[2]), invert = (uint32_t)number(arg[3]);

	for (uint64_t word = first_item * 4; word < (first_item + items) * 4; word++)
		printf("word %llu %u\n", (unsigned long long)word, kernel_pattern(word, seed) ^ invert);
	return 0;
}

static int print_sweep(char **arg)
{
	const struct sweep sweep = {
		.value = (uint32_t)number(arg[2]), .step = (uint32_t)number(arg[3]), .mask = (uint32_t)number(arg[4]),
		.period = (uint32_t)number(arg[5]),
	};
	uint64_t first_item = number(arg[0]), items = number(arg[1]);

	for (uint64_t word = first_item * 4; word < (first_item + items) * 4; word++)
		printf("word %llu %u\n", (unsigned long long)word, kernel_sweep(&sweep, word));
	return 0;
}

static int print_compute(char **arg)
{
	static const char * const names[] = {
#define X(module, name, args, threads) #name,
		KERNELS(X)
#undef X
	};
	uint32_t out[COMPUTE_THREADS];
	unsigned int kernel = 0;

	while (kernel < NR_KERNELS && strcmp(names[kernel], arg[0]))
		kernel++;
	if (kernel < KERNEL_compute_integer || kernel == NR_KERNELS)
		return 2;
	kernel_compute(kernel, out, (uint32_t)number(arg[1]), (uint32_t)number(arg[2]));
	for (unsigned int t = 0; t < COMPUTE_THREADS; t++)
		printf("%u %u\n", t, out[t]);
	return 0;
}

static int print_selftest(const char *bdf)
{
	const struct selftest_request req = { .bdf = bdf, .plan = predict_quick, .cancel_fd = -1 };
	struct selftest_result r;

	selftest_run(&req, &r);
	printf("%s %s %s %u %s\n", selftest_word_name(r.word), selftest_phase_name(r.failed),
	       selftest_cause_code(r.cause), r.driver_cuda, r.error);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], SELFTEST_CHILD_COMMAND))
		return selftest_child();
	if (argc == 3 && !strcmp(argv[1], "known"))
		return print_known((uint32_t)number(argv[2]));
	if (argc == 7 && !strcmp(argv[1], "pattern"))
		return print_pattern(argv + 2);
	if (argc == 8 && !strcmp(argv[1], "sweep"))
		return print_sweep(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "compute"))
		return print_compute(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "selftest"))
		return print_selftest(argv[2]);
	fprintf(stderr, "usage: host known SEED | pattern FIRST ITEMS SEED INVERT TURN | "
		"sweep FIRST ITEMS VALUE STEP MASK PERIOD | compute KERNEL SEED ROUNDS | selftest BDF\n");
	return 2;
}
