// SPDX-License-Identifier: GPL-2.0-only
/* Which driver branch, CUDA and PyTorch go with which GPU. Pure: numbers in, numbers out. */
#include "compat.h"

#include <string.h>

#include "util.h"

/*
 * Device ids by chip family, as pci.ids groups them: used only for GPUs that are not in the card list, which has the
 * exact capability. Later families interleave, so the first row that fits counts.
 */
static const struct {
	unsigned int first;
	unsigned int last;
	unsigned int compute;
} families[] = {
	{ 0x0fc0, 0x12ff, 30 },		/* Kepler */
	{ 0x15c0, 0x15ff, 60 },		/* GP100 */
	{ 0x1340, 0x17ff, 52 },		/* Maxwell */
	{ 0x1b00, 0x1d7f, 61 },		/* Pascal */
	{ 0x1d80, 0x1dff, 70 },		/* Volta */
	{ 0x1e00, 0x1fff, 75 },		/* Turing */
	{ 0x2080, 0x20ff, 80 },		/* GA100 */
	{ 0x2180, 0x21ff, 75 },		/* TU116, TU117 */
	{ 0x2200, 0x22ff, 86 },		/* GA102 */
	{ 0x2300, 0x23ff, 90 },		/* Hopper */
	{ 0x2400, 0x25ff, 86 },		/* GA104, GA106, GA107 */
	{ 0x2600, 0x28ff, 89 },		/* Ada */
	{ 0x2900, 0x2aff, 100 },	/* Blackwell, data centre */
	{ 0x2b00, 0x2fff, 120 },	/* Blackwell */
};

/*
 * By capability, ascending; a row holds up to and including its own. Branch ends: 470 for Kepler, 580 for Maxwell, Pascal
 * and Volta [NixOS/nixos-hardware issue 1880; Debian's nvidia-detect lists]; the open flavour needs a GSP, that is Turing
 * [NVIDIA/open-gpu-kernel-modules issue 19], and is the only one for Blackwell. CUDA 13 builds for 7.5 and up [ptxas 13.0].
 */
static const struct compat generations[] = {
	{ .compute = 37, .generation = "Kepler", .branch_min = 390, .branch_max = 470, .proprietary = true, .cuda_max = 1104 },
	{ .compute = 53, .generation = "Maxwell", .branch_min = 390, .branch_max = 580, .proprietary = true, .cuda_max = 1209 },
	{ .compute = 62, .generation = "Pascal", .branch_min = 390, .branch_max = 580, .proprietary = true, .cuda_max = 1209 },
	{ .compute = 72, .generation = "Volta", .branch_min = 390, .branch_max = 580, .proprietary = true, .cuda_max = 1209 },
	{ .compute = 75, .generation = "Turing", .branch_min = 460, .proprietary = true, .open = true },
	{ .compute = 80, .generation = "Ampere", .branch_min = 450, .proprietary = true, .open = true },
	{ .compute = 87, .generation = "Ampere", .branch_min = 470, .proprietary = true, .open = true },
	{ .compute = 89, .generation = "Ada", .branch_min = 525, .proprietary = true, .open = true },
	{ .compute = 90, .generation = "Hopper", .branch_min = 525, .proprietary = true, .open = true },
	{ .compute = 121, .generation = "Blackwell", .branch_min = 570, .open = true },
};

/* First branch of each CUDA release, ascending (NVIDIA's CUDA release notes, table of driver versions). */
static const struct {
	unsigned int branch;
	unsigned int cuda;
} releases[] = {
	{ 390, 901 }, { 410, 1000 }, { 418, 1001 }, { 440, 1002 }, { 450, 1100 }, { 455, 1101 }, { 460, 1102 },
	{ 465, 1103 }, { 470, 1104 }, { 495, 1105 }, { 510, 1106 }, { 515, 1107 }, { 520, 1108 }, { 525, 1200 },
	{ 530, 1201 }, { 535, 1202 }, { 545, 1203 }, { 550, 1204 }, { 555, 1205 }, { 560, 1206 }, { 565, 1207 },
	{ 570, 1208 }, { 575, 1209 }, { 580, 1300 }, { 590, 1301 },
};

static unsigned int family_compute(unsigned int device)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(families); i++)
		if (device >= families[i].first && device <= families[i].last)
			return families[i].compute;
	return 0;
}

/**
 * compat_gpu - what a GPU can live with
 * @device:	its PCI device id, vendor 10de
 * @compute:	its capability where it is known, else 0
 * @ret_compat:	filled; .compute = 0 when nothing is known
 */
void compat_gpu(unsigned int device, unsigned int compute, struct compat *ret_compat)
{
	struct compat compat = { .generation = "unknown", .proprietary = true, .open = true };
	size_t i;

	compute = compute ? compute : family_compute(device);
	for (i = 0; compute && i < ARRAY_SIZE(generations); i++) {
		if (compute > generations[i].compute)
			continue;
		compat = generations[i];
		break;
	}

	compat.compute = compute;
	*ret_compat = compat;
}

/**
 * compat_join - what two GPUs in one host can live with together
 * @both:	of the first, narrowed; the lower capability stays
 * @other:	of the second
 *
 * Return: whether one driver can drive both.
 */
bool compat_join(struct compat *both, const struct compat *other)
{
	if (other->branch_min > both->branch_min)
		both->branch_min = other->branch_min;
	if (other->branch_max && (!both->branch_max || other->branch_max < both->branch_max))
		both->branch_max = other->branch_max;
	if (other->cuda_max && (!both->cuda_max || other->cuda_max < both->cuda_max))
		both->cuda_max = other->cuda_max;
	if (other->compute && (!both->compute || other->compute < both->compute)) {
		both->compute = other->compute;
		both->generation = other->generation;
	}
	both->proprietary &= other->proprietary;
	both->open &= other->open;

	return (both->proprietary || both->open) && (!both->branch_max || both->branch_min <= both->branch_max);
}

/**
 * compat_branch_cuda - newest CUDA of a driver branch
 * @branch:	first part of the driver's version
 *
 * Return: major * 100 + minor, 0 for branches before 390.
 */
unsigned int compat_branch_cuda(unsigned int branch)
{
	unsigned int cuda = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(releases) && releases[i].branch <= branch; i++)
		cuda = releases[i].cuda;
	return cuda;
}

/**
 * compat_cuda_branch - oldest driver branch for programs built with a CUDA
 * @cuda:	major * 100 + minor
 *
 * From CUDA 11 on any driver of the same major will do (NVIDIA's "minor version compatibility"), apart from code that has
 * to be compiled by the driver.
 *
 * Return: the branch, 0 when no branch that is known is new enough.
 */
unsigned int compat_cuda_branch(unsigned int cuda)
{
	unsigned int wanted = cuda >= 1100 ? cuda / 100 * 100 : cuda;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(releases); i++)
		if (releases[i].cuda >= wanted)
			return releases[i].branch;
	return 0;
}

/**
 * compat_torch - which PyTorch wheels to use
 * @compat:	of the weakest GPU
 * @branch:	of the installed driver, 0 = none
 * @ret_torch:	filled
 *
 * A driver before 525 runs no CUDA 12: then cu118, which 2.7 was the last to have. Otherwise: cu128 and later wheels have no code below 7.0 from 2.8 on; cu126 keeps it, 2.14 is its last release [pytorch
 * .ci/manywheel/build_cuda.sh, issues 157517, 182250, 190385].
 */
void compat_torch(const struct compat *compat, unsigned int branch, struct torch *ret_torch)
{
	struct torch torch = { .index = "cu128" };

	if (compat->compute && compat->compute < 50) {
		torch.index = "cu113";
		torch.newest = "1.12";
	} else if (branch && branch < compat_cuda_branch(1200)) {
		torch.index = "cu118";
		torch.newest = "2.7";
	} else if (compat->compute && compat->compute < 75) {
		torch.index = "cu126";
		torch.newest = "2.14";
	}

	*ret_torch = torch;
}

/**
 * compat_cudnn_max - last cuDNN for a GPU
 * @compute:	its capability
 *
 * 9.11 dropped Maxwell, Pascal and Volta [immich pull request 23110; Arch Linux keeps 9.10 for them as a package].
 *
 * Return: major * 100 + minor, 0 = no end known.
 */
unsigned int compat_cudnn_max(unsigned int compute)
{
	return compute && compute < 75 ? 910 : 0;
}

/**
 * compat_debian_branch - branch of the package nvidia-driver of a Debian release
 * @codename:	such as bookworm
 *
 * [package lists of the three releases; none has a branch that is too new for any card of the list]
 *
 * Return: the branch, 0 for a release that is not known.
 */
unsigned int compat_debian_branch(const char *codename)
{
	static const struct {
		const char *codename;
		unsigned int branch;
	} releases_of_debian[] = { { "bullseye", 470 }, { "bookworm", 535 }, { "trixie", 550 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(releases_of_debian); i++)
		if (!strcmp(codename, releases_of_debian[i].codename))
			return releases_of_debian[i].branch;
	return 0;
}

/**
 * compat_torch_has_code - does a PyTorch wheel have code for a GPU?
 * @torch:	its version, major * 100 + minor
 * @cuda:	CUDA it was built with, major * 100 + minor; 0 = without CUDA
 * @compute:	of the GPU
 */
bool compat_torch_has_code(unsigned int torch, unsigned int cuda, unsigned int compute)
{
	if (!compute)
		return true;
	if (!cuda)
		return false;
	if (cuda >= 1300)
		return compute >= 75;
	if (torch >= 208 && cuda >= 1208)
		return compute >= 70;
	return compute >= 50 || (torch <= 112 && compute >= 37);
}
