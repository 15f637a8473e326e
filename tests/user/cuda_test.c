// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading libcuda: absent, broken and usable are three different answers. Runs this program again for each, because
 * the search path counts only at the start of a process.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cuda.h"

/* As seen from where the test is run, or absolute. */
#ifndef FAKE_DIR
#define FAKE_DIR "build/fake"
#endif

/* The other process: "open"; prints how it went and the loader's words. */
static int open_and_print(void)
{
	static const char * const word[] = { "ok", "absent", "broken" };
	char error[300] = "untouched";
	struct cuda cuda = { 0 };
	enum cuda_open_result result = cuda_open(&cuda, error, sizeof(error));

	printf("%s %d %s\n", word[result], cuda.simulated, error);
	if (result == CUDA_OPEN_OK && (!cuda.cuInit || !cuda.cuEventElapsedTime))
		return 1;
	return 0;
}

/* Start ourselves with @dir as the search path and return what was printed. */
static char *open_in(const char *dir)
{
	static char said[400];
	char command[600], self[300];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *pipe;
	size_t got;

	assert_true(len > 0);
	self[len] = '\0';
	snprintf(command, sizeof(command), "LD_LIBRARY_PATH='%s' '%s' open", dir, self);
	pipe = popen(command, "re");
	assert_non_null(pipe);
	got = fread(said, 1, sizeof(said) - 1, pipe);
	said[got] = '\0';
	assert_int_equal(pclose(pipe), 0);
	return said;
}

static void usable(void **state)
{
	(void)state;
	assert_string_equal(open_in(FAKE_DIR), "ok 1 untouched\n");
}

static void absent(void **state)
{
	const char *said = open_in("/nonexistent");

	(void)state;
	if (!strncmp(said, "ok 0", 4)) {
		print_message("skipped: this machine has a libcuda of its own\n");
		skip();
	}
	assert_string_equal(said, "absent 0 libcuda.so.1: cannot open shared object file: No such file or directory\n");
}

/* Drivers 390 and 418 without libnvidia-fatbinaryloader: libcuda is there, what it needs is not. */
static void needs_what_is_missing(void **state)
{
	(void)state;
	assert_string_equal(open_in(FAKE_DIR "/needs"),
			    "broken 0 libsofttape-missing.so.1: cannot open shared object file: No such file or directory\n");
}

static void lacks_a_symbol(void **state)
{
	const char *said = open_in(FAKE_DIR "/lacks");

	(void)state;
	assert_memory_equal(said, "broken 0 ", 9);
	assert_non_null(strstr(said, "undefined symbol: cuInit"));
}

static void is_no_library(void **state)
{
	const char *said = open_in(FAKE_DIR "/garbage");

	(void)state;
	assert_memory_equal(said, "broken 0 ", 9);
	assert_non_null(strstr(said, "file too short"));
}

static void codes_and_symbols_have_names(void **state)
{
	(void)state;
	assert_string_equal(cuda_code_name(0), "CUDA_SUCCESS");
	assert_string_equal(cuda_code_name(100), "CUDA_ERROR_NO_DEVICE");
	assert_string_equal(cuda_code_name(804), "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE");
	assert_string_equal(cuda_code_name(999), "CUDA_ERROR_UNKNOWN");
	assert_string_equal(cuda_code_name(998), "unnamed code");
	assert_string_equal(cuda_code_name(-1), "unnamed code");
	assert_string_equal(cuda_symbol_name(CUDA_cuInit), "cuInit");
	assert_string_equal(cuda_symbol_name(CUDA_cuMemAlloc_v2), "cuMemAlloc_v2");
	assert_string_equal(cuda_symbol_name(NR_CUDA_SYMBOLS), "?");
	assert_string_equal(cuda_symbol_name(-1), "?");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usable),
		cmocka_unit_test(absent),
		cmocka_unit_test(needs_what_is_missing),
		cmocka_unit_test(lacks_a_symbol),
		cmocka_unit_test(is_no_library),
		cmocka_unit_test(codes_and_symbols_have_names),
	};

	if (argc == 2 && !strcmp(argv[1], "open"))
		return open_and_print();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
