// SPDX-License-Identifier: GPL-2.0-only
/*
 * The embedded PTX and the host's computation of what it must give. Written from the description at the top of each
 * PTX file; knows no CUDA.
 */
#include <math.h>
#include <string.h>

#include "kernels.h"

/* As seen from the folder in which the compiler runs. */
#ifndef PTX_DIR
#define PTX_DIR "user/ptx"
#endif

#define X(name, capability)					\
	__asm__(".pushsection .rodata\n"			\
		".balign 16\n"					\
		"ptx_" #name ":\n"				\
		".incbin \"" PTX_DIR "/" #name ".ptx\"\n"	\
		".byte 0\n"					\
		".popsection\n");				\
	extern const char ptx_##name[] __attribute__((visibility("hidden")));
KERNEL_MODULES(X)
#undef X

const char *kernel_ptx(enum kernel_module_id module)
{
	static const char * const text[] = {
#define X(name, capability) [KERNEL_MODULE_##name] = ptx_##name,
		KERNEL_MODULES(X)
#undef X
	};

	return text[module];
}

unsigned int kernel_capability(enum kernel_module_id module)
{
	static const unsigned int capability[] = {
#define X(name, capability) [KERNEL_MODULE_##name] = capability,
		KERNEL_MODULES(X)
#undef X
	};

	return capability[module];
}

static uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x85ebca6b;
	x ^= x >> 13;
	x *= 0xc2b2ae35;
	x ^= x >> 16;
	return x;
}

uint32_t kernel_pattern(uint64_t word, uint32_t seed)
{
	return mix((uint32_t)word + (uint32_t)(word >> 32) * 0x9e3779b9 + seed);
}

uint32_t kernel_pattern_word(uint32_t value, uint32_t seed)
{
	/* Each step of mix() backwards; the factors are the inverses of its own modulo 2^32. */
	value ^= value >> 16;
	value *= 0x7ed1b41d;
	value ^= value >> 13 ^ value >> 26;
	value *= 0xa5cb9243;
	value ^= value >> 16;
	return value - seed;
}

uint32_t kernel_sweep(const struct sweep *sweep, uint64_t word)
{
	uint32_t k = (uint32_t)(word % (4 * (uint64_t)sweep->period));
	uint32_t by = k * sweep->step & 31;
	uint32_t value = by ? sweep->value << by | sweep->value >> (32 - by) : sweep->value;

	return sweep->mask >> k & 1 ? ~value : value;
}

static uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint64_t double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint32_t known_integer(uint32_t t, uint32_t seed)
{
	uint32_t x = mix(t * 0x9e3779b1 + seed);
	uint32_t h = ((uint64_t)x * (t | 0x80000001)) >> 32;
	uint32_t a;

	a = (x >> (t & 31)) ^ (h << ((t >> 5) & 31));
	a += (uint32_t)__builtin_popcount(x) * 0x01000193;
	a ^= (h ? (uint32_t)__builtin_clz(h) : 32) << 8;
	a += x % ((t & 1023) + 3);
	a ^= (uint32_t)((uint64_t)x * h >> 17);
	return a;
}

/* One block: what 256 threads make of each other's words in eight rounds. */
static void known_shared(const uint32_t *a, uint32_t *b)
{
	uint32_t before[256];

	memcpy(b, a, sizeof(before));
	for (unsigned int r = 0; r < 8; r++) {
		memcpy(before, b, sizeof(before));
		for (unsigned int j = 0; j < 256; j++)
			b[j] = (before[j] << 1 | before[j] >> 31) + before[j ^ (1u << r)];
	}
}

static uint32_t known_float(uint32_t t, uint32_t a)
{
	float fa = a & 0xfff, fb = (a >> 12) & 0xfff, fc = a >> 24;
	float f = fa * fb + fc;
	float g = f / (fb + 1.0f), h = sqrtf(f);
	/* Kept apart from the sum by its own variable: a contraction of the two would change the rounding. */
	volatile float product = g * h;
	uint64_t d = double_bits((double)a / (double)(t + 1));
	uint32_t c = float_bits(g + h) + float_bits(product);

	return c ^ (uint32_t)d ^ (uint32_t)(d >> 32) ^ (uint32_t)h;
}

static void known_atomics(uint32_t t, uint32_t a, uint32_t b, uint32_t *out)
{
	uint32_t *max = &out[14336 + (a >> 22)];
	uint32_t *low = &out[15360 + 2 * (t & 511)];
	uint64_t sum = ((uint64_t)low[1] << 32 | low[0]) + (uint64_t)a * b;

	out[12288 + (a & 1023)] += a >> 10;
	out[13312 + ((a >> 10) & 1023)] ^= a;
	if (b > *max)
		*max = b;
	low[0] = (uint32_t)sum;
	low[1] = (uint32_t)(sum >> 32);
}

void kernel_known_answer(uint32_t *out, uint32_t seed)
{
	uint32_t *a = out, *b = out + KNOWN_THREADS, *c = out + 2 * KNOWN_THREADS;

	memset(out, 0, KNOWN_WORDS * sizeof(*out));
	for (uint32_t t = 0; t < KNOWN_THREADS; t++)
		a[t] = known_integer(t, seed);
	for (uint32_t t = 0; t < KNOWN_THREADS; t += 256)
		known_shared(a + t, b + t);
	for (uint32_t t = 0; t < KNOWN_THREADS; t++) {
		c[t] = known_float(t, a[t]);
		known_atomics(t, a[t], b[t], out);
	}
}

static uint32_t chain_integer(uint32_t x, uint32_t rounds)
{
	while (rounds--) {
		uint32_t y = x * 0x85ebca6b, z = (uint32_t)((uint64_t)x * 0xc2b2ae35 >> 32);

		x = (y ^ y >> 13) + z;
	}
	return x;
}

/* Whole numbers all the way: p - 4096 * q is what the card's exact steps leave, see ptx/compute.ptx. */
static uint32_t chain_float(uint32_t x, uint32_t rounds)
{
	int32_t f = (int32_t)(x & 4095) - 2048;

	while (rounds--) {
		int32_t p = f * 1229 + 1013, q = (p + 2048) >> 12;

		/* A tie goes to the even neighbour. */
		if (((p + 2048) & 4095) == 0 && q & 1)
			q--;
		f = p - 4096 * q;
	}
	return (uint32_t)f;
}

static uint32_t chain_dp4a(uint32_t x, uint32_t rounds)
{
	while (rounds--) {
		uint32_t y = x + (x & 255) * 0x05 + (x >> 8 & 255) * 0x1d + (x >> 16 & 255) * 0x3b + (x >> 24) * 0x7f;

		x = y << 7 | y >> 25;
	}
	return x;
}

void kernel_compute(enum kernel_id kernel, uint32_t *out, uint32_t seed, uint32_t rounds)
{
	for (uint32_t t = 0; t < COMPUTE_THREADS; t++) {
		uint32_t x = t * 0x9e3779b1 + seed;

		if (kernel == KERNEL_compute_integer)
			out[t] = chain_integer(x, rounds);
		else if (kernel == KERNEL_compute_dp4a)
			out[t] = chain_dp4a(x, rounds);
		else
			out[t] = chain_float(x, rounds);
	}
}
