/* SPDX-License-Identifier: GPL-2.0-only */
/* The software between kernel and program as found on this machine: driver, libraries, toolkit, PyTorch, distribution. */
#ifndef STACK_H
#define STACK_H

#include "card.h"

#define STACK_TORCH_MAX	4

/**
 * struct stack_torch - one PyTorch
 * @path:	its folder
 * @text:	its version as it says, such as 2.8.0+cu128
 * @version:	major * 100 + minor
 * @cuda:	CUDA it was built with, major * 100 + minor; 0 = without
 */
struct stack_torch {
	char path[256];
	char text[CARD_WORD_MAX];
	unsigned int version;
	unsigned int cuda;
};

/**
 * struct stack - what is installed
 * @release:	of the running kernel
 * @distribution: ID of os-release, such as debian
 * @codename:	VERSION_CODENAME, such as bookworm
 * @pretty:	PRETTY_NAME
 * @driver:	version of the loaded nvidia module, empty = not loaded
 * @libcuda:	version in the file name of libcuda, empty = not known
 * @libcuda_found: there is a libcuda.so.1
 * @libcuda_empty: it has no bytes
 * @nvml:	version in the file name of libnvidia-ml, empty = not known
 * @toolkit:	CUDA toolkit, major * 100 + minor; 0 = none
 * @cudnn:	newest cuDNN found, major * 100 + minor; 0 = none
 * @torch:	PyTorch of the system, of this user and of this environment
 * @nr_torch:	their number
 */
struct stack {
	char release[128];
	char distribution[32];
	char codename[32];
	char pretty[CARD_WORD_MAX];
	char driver[CARD_WORD_MAX];
	char libcuda[CARD_WORD_MAX];
	bool libcuda_found;
	bool libcuda_empty;
	char nvml[CARD_WORD_MAX];
	unsigned int toolkit;
	unsigned int cudnn;
	struct stack_torch torch[STACK_TORCH_MAX];
	unsigned int nr_torch;
};

void stack_read(struct stack *ret_stack);
unsigned int stack_version(const char *text);
void stack_value(const char *text, const char *key, char *buf, size_t size);
bool stack_is_container(void);

#endif
