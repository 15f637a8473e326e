// SPDX-License-Identifier: GPL-2.0-only
/* Which driver, CUDA and PyTorch go with which GPU: what is expected here was read from the sources named in compat.c. */
#include "test.h"

#include "compat.h"
#include "util.h"

static const struct {
	const char *desc;
	unsigned int device;
	unsigned int compute;
	const char *generation;
	unsigned int branch_min, branch_max;
	bool proprietary, open;
} gpus[] = {
	{ "P104-100", 0, 61, "Pascal", 390, 580, true, false },
	{ "CMP 100-210", 0, 70, "Volta", 390, 580, true, false },
	{ "CMP 40HX", 0, 75, "Turing", 460, 0, true, true },
	{ "CMP 170HX", 0, 80, "Ampere", 450, 0, true, true },
	{ "CMP 90HX", 0, 86, "Ampere", 470, 0, true, true },
	{ "GTX 1070 by its id", 0x1b81, 0, "Pascal", 390, 580, true, false },
	{ "TITAN V by its id", 0x1d81, 0, "Volta", 390, 580, true, false },
	{ "GeForce GT 1030 by its id", 0x1d01, 0, "Pascal", 390, 580, true, false },
	{ "GTX 1650 by its id", 0x1f82, 0, "Turing", 460, 0, true, true },
	{ "RTX 4090 by its id", 0x2684, 0, "Ada", 525, 0, true, true },
	{ "RTX 5090 by its id", 0x2b85, 0, "Blackwell", 570, 0, false, true },
	{ "GT 710 by its id", 0x128b, 0, "Kepler", 390, 470, true, false },
	{ "nobody's id", 0x0001, 0, "unknown", 0, 0, true, true },
};

static void test_gpus(void **state)
{
	struct compat compat;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(gpus); i++) {
		compat_gpu(gpus[i].device, gpus[i].compute, &compat);
		assert_row(!strcmp(compat.generation, gpus[i].generation), &gpus[i]);
		assert_row(compat.branch_min == gpus[i].branch_min && compat.branch_max == gpus[i].branch_max, &gpus[i]);
		assert_row(compat.proprietary == gpus[i].proprietary && compat.open == gpus[i].open, &gpus[i]);
	}
}

static const struct {
	const char *desc;
	unsigned int a, b;
	bool common;
	unsigned int branch_min, branch_max, compute;
} pairs[] = {
	{ "two Pascals", 61, 61, true, 390, 580, 61 },
	{ "Pascal and Turing", 61, 75, true, 460, 580, 61 },
	{ "Turing and Ampere", 75, 86, true, 470, 0, 75 },
	{ "Pascal and Blackwell: no flavour", 61, 120, false, 570, 580, 61 },
	{ "Kepler and Ada: no branch", 35, 89, false, 525, 470, 35 },
	{ "Kepler and Ampere: just one branch", 37, 86, true, 470, 470, 37 },
	{ "unknown and Pascal", 0, 61, true, 390, 580, 61 },
};

static void test_pairs(void **state)
{
	struct compat both, other;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		compat_gpu(0, pairs[i].a, &both);
		compat_gpu(0, pairs[i].b, &other);
		assert_row(compat_join(&both, &other) == pairs[i].common, &pairs[i]);
		assert_row(both.branch_min == pairs[i].branch_min && both.branch_max == pairs[i].branch_max, &pairs[i]);
		assert_row(both.compute == pairs[i].compute, &pairs[i]);
	}
}

static void test_cuda(void **state)
{
	(void)state;
	assert_int_equal(compat_branch_cuda(389), 0);
	assert_int_equal(compat_branch_cuda(470), 1104);
	assert_int_equal(compat_branch_cuda(471), 1104);
	assert_int_equal(compat_branch_cuda(535), 1202);
	assert_int_equal(compat_branch_cuda(580), 1300);
	assert_int_equal(compat_cuda_branch(1001), 418);
	assert_int_equal(compat_cuda_branch(1108), 450);
	assert_int_equal(compat_cuda_branch(1201), 525);
	assert_int_equal(compat_cuda_branch(1208), 525);
	assert_int_equal(compat_cuda_branch(1300), 580);
	assert_int_equal(compat_cuda_branch(1400), 0);
}

static const struct {
	const char *desc;
	unsigned int torch, cuda, compute;
	bool has_code;
} wheels[] = {
	{ "2.8.0+cu128 on Pascal: no kernel image", 208, 1208, 61, false },
	{ "2.7.1+cu128 on Pascal", 207, 1208, 61, true },
	{ "2.11.0+cu126 on Pascal", 211, 1206, 61, true },
	{ "2.4.1+cu121 on Pascal", 204, 1201, 61, true },
	{ "1.12.1+cu113 on Pascal", 112, 1103, 61, true },
	{ "2.8.0+cu128 on Volta", 208, 1208, 70, true },
	{ "2.9.0+cu130 on Volta", 209, 1300, 70, false },
	{ "2.9.0+cu130 on Turing", 209, 1300, 75, true },
	{ "2.4.1+cu121 on Kepler", 204, 1201, 35, false },
	{ "without CUDA", 208, 0, 75, false },
	{ "nobody knows the GPU", 208, 1208, 0, true },
};

static void test_wheels(void **state)
{
	struct compat compat;
	struct torch torch;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wheels); i++)
		assert_row(compat_torch_has_code(wheels[i].torch, wheels[i].cuda, wheels[i].compute) == wheels[i].has_code,
			   &wheels[i]);

	compat_gpu(0, 61, &compat);
	compat_torch(&compat, 470, &torch);
	assert_string_equal(torch.index, "cu118");
	assert_string_equal(torch.newest, "2.7");
	compat_torch(&compat, 535, &torch);
	assert_string_equal(torch.index, "cu126");
	assert_string_equal(torch.newest, "2.14");
	compat_gpu(0, 75, &compat);
	compat_torch(&compat, 0, &torch);
	assert_null(torch.newest);
}

static void test_others(void **state)
{
	(void)state;
	assert_int_equal(compat_cudnn_max(61), 910);
	assert_int_equal(compat_cudnn_max(70), 910);
	assert_int_equal(compat_cudnn_max(75), 0);
	assert_int_equal(compat_cudnn_max(0), 0);
	assert_int_equal(compat_debian_branch("bookworm"), 535);
	assert_int_equal(compat_debian_branch("trixie"), 550);
	assert_int_equal(compat_debian_branch("noble"), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpus),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_cuda),
		cmocka_unit_test(test_wheels),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests_name("compat", tests, NULL, NULL);
}
