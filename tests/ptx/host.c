// SPDX-License-Identifier: GPL-2.0-only
/*
 * The helper's side of tests/ptx/run: print what the host expects of the kernels, or run one self-test and print its
 * end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
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

static int print_pattern(uint64_t first_item, uint64_t items, uint32_t seed)
{
	for (uint64_t word = first_item * 4; word < (first_item + items) * 4; word++)
		printf("word %llu %u\n", (unsigned long long)word, kernel_pattern(word, seed));
	return 0;
}

static int print_selftest(const char *bdf)
{
	const struct selftest_request req = { .bdf = bdf, .cancel_fd = -1 };
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
	if (argc == 5 && !strcmp(argv[1], "pattern"))
		return print_pattern(number(argv[2]), number(argv[3]), (uint32_t)number(argv[4]));
	if (argc == 3 && !strcmp(argv[1], "selftest"))
		return print_selftest(argv[2]);
	fprintf(stderr, "usage: host known SEED | pattern FIRST ITEMS SEED | selftest BDF\n");
	return 2;
}
