/* SPDX-License-Identifier: GPL-2.0-only */
/* Which driver branch, CUDA and PyTorch go with which GPU. Pure: numbers in, numbers out. */
#ifndef COMPAT_H
#define COMPAT_H

#include <stdbool.h>
#include <stddef.h>

/* When the tables of compat.c were last compared with their sources: they age. */
#define COMPAT_CHECKED	"2026-10"

/**
 * struct compat - what a GPU can live with
 * @compute:	CUDA compute capability, major * 10 + minor; 0 = not known
 * @generation:	name of its generation
 * @branch_min:	first driver branch that knows it
 * @branch_max:	last one; 0 = no end known
 * @proprietary: the proprietary flavour drives it
 * @open:	the open flavour drives it
 * @cuda_max:	last CUDA that still builds for it, major * 100 + minor; 0 = no end known
 */
struct compat {
	unsigned int compute;
	const char *generation;
	unsigned int branch_min;
	unsigned int branch_max;
	bool proprietary;
	bool open;
	unsigned int cuda_max;
};

/**
 * struct torch - PyTorch builds that run on a GPU
 * @index:	last part of the wheel index to use
 * @newest:	last release on it with code for this GPU, as "2.14"; NULL = no end known
 */
struct torch {
	const char *index;
	const char *newest;
};

void compat_gpu(unsigned int device, unsigned int compute, struct compat *ret_compat);
bool compat_join(struct compat *both, const struct compat *other);
unsigned int compat_branch_cuda(unsigned int branch);
unsigned int compat_cuda_branch(unsigned int cuda);
void compat_torch(const struct compat *compat, unsigned int branch, struct torch *ret_torch);
unsigned int compat_cudnn_max(unsigned int compute);
unsigned int compat_debian_branch(const char *codename);
bool compat_torch_has_code(unsigned int torch, unsigned int cuda, unsigned int compute);

#endif
