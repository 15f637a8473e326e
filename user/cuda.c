// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find libcuda.so.1 and its symbols, and name its codes. Calls nothing in it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cuda.h"

#define SONAME "libcuda.so.1"

static const char * const symbol_name[] = {
#define X(name, params) #name,
	CUDA_SYMBOLS(X)
#undef X
};

/*
 * glibc names the file it did not find first; when that is not libcuda itself, libcuda was found and something it needs
 * is missing (390 and 418: libnvidia-fatbinaryloader). Relies on untranslated messages: no setlocale() before.
 */
static bool is_absent(const char *why)
{
	return !strcmp(why, SONAME ": cannot open shared object file: No such file or directory");
}

static bool find_symbols(void *handle, struct cuda *cuda)
{
	void *found[NR_CUDA_SYMBOLS];

	for (unsigned int i = 0; i < NR_CUDA_SYMBOLS; i++) {
		found[i] = dlsym(handle, symbol_name[i]);
		if (!found[i])
			return false;
	}

#define X(name, params) memcpy(&cuda->name, &found[CUDA_##name], sizeof(cuda->name));
	CUDA_SYMBOLS(X)
#undef X
	return true;
}

enum cuda_open_result cuda_open(struct cuda *ret, char *error, size_t size)
{
	void *handle = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
	struct cuda cuda = { 0 };
	const char *why;

	if (!handle) {
		why = dlerror();
		snprintf(error, size, "%s", why);
		return is_absent(why) ? CUDA_OPEN_ABSENT : CUDA_OPEN_BROKEN;
	}

	if (!find_symbols(handle, &cuda)) {
		snprintf(error, size, "%s", dlerror());
		dlclose(handle);
		return CUDA_OPEN_BROKEN;
	}

	cuda.simulated = dlsym(handle, "softtape_simulated") != NULL;
	*ret = cuda;
	return CUDA_OPEN_OK;
}

const char *cuda_symbol_name(unsigned int symbol)
{
	return symbol < NR_CUDA_SYMBOLS ? symbol_name[symbol] : "?";
}

const char *cuda_code_name(CUresult code)
{
	switch (code) {
#define X(name, number) case number: return #name;
	CUDA_CODES(X)
#undef X
	default:
		return "unnamed code";
	}
}
