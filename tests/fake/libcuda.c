// SPDX-License-Identifier: GPL-2.0-only
/*
 * A simulated libcuda.so.1: device memory is host memory, the kernels of user/kernels.h are computed here, and a
 * script (script.h) says what goes wrong. For tests and the demo; says so through softtape_simulated. Its arithmetic was
 * written from the text of user/ptx on its own, so that it can disagree with the helper's.
 *
 * The card has a clock of its own, which runs with the bytes moved and the steps computed: a slow host does not make a
 * slow card, and ten seconds of arithmetic need no ten seconds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../user/kernels.h"
#include "script.h"

#define EXPORT __attribute__((visibility("default")))

#define DRIVER_FILE	"/proc/driver/nvidia/version"
#define SYSFS_DEVICES	"/sys/bus/pci/devices/"

#define DEVICES_MAX	32
#define ALIGNMENT	512

/* Codes this library gives of itself; numbers of the CUDA driver API. */
#define INVALID_VALUE	1
#define OUT_OF_MEMORY	2
#define NOT_INITIALIZED	3
#define NO_DEVICE	100
#define INVALID_DEVICE	101
#define INVALID_IMAGE	200
#define INVALID_CONTEXT	201
#define NOT_FOUND	500
#define ILLEGAL_ADDRESS	700

/* An address no host pointer has: a helper that touches device memory directly dies at once. */
#define DEVICE_BASE	0x7f0000000000ull
/* A context takes some memory of its own. */
#define CONTEXT_BYTES	((size_t)4 << 20)
/* Only copies above this are windows of the link test; reports and the known answer are smaller. */
#define WINDOW_BYTES	65536

/* 128 lanes at 1.6 GHz, in operations per millisecond and multiprocessor. */
#define SM_RATE		(128 * 1.6e6)

EXPORT const int softtape_simulated = 1;

/* One card per process is all that softtape asks for; device numbers still follow the addresses asked for. */
static char device_bdf[DEVICES_MAX][16];
static int nr_devices;
static bool ready;
static int context_device = -1;
static uint8_t *vram;
static size_t vram_bytes, vram_used;
static double clock_ms;
static double touched_ms;

static const char * const kernel_name[] = {
#define X(module, name, args, threads) #name,
	KERNELS(X)
#undef X
};

static const unsigned int kernel_threads[] = {
#define X(module, name, args, threads) threads,
	KERNELS(X)
#undef X
};

#define NEED_CONTEXT()				\
	do {					\
		SCRIPTED();			\
		if (context_device < 0)		\
			return INVALID_CONTEXT;	\
	} while (0)

/* ---- memory and its faults ---- */

static uint8_t *device_memory(uint64_t address, size_t bytes)
{
	uint64_t offset = address - DEVICE_BASE;

	if (address < DEVICE_BASE || offset > vram_used || bytes > vram_used - offset)
		return NULL;
	return vram + offset;
}

/* Memory that answers at two addresses is mapped twice. */
static bool map_vram(void)
{
	size_t alias = (size_t)script.alias << 20;
	int fd;

	vram_bytes = (size_t)script.vram << 20;
	if (!alias || alias >= vram_bytes) {
		vram = mmap(NULL, vram_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		return vram != MAP_FAILED;
	}
	fd = memfd_create("vram", MFD_CLOEXEC);
	vram = mmap(NULL, vram_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fd < 0 || vram == MAP_FAILED || ftruncate(fd, (off_t)alias))
		return false;
	for (size_t at = 0; at < vram_bytes; at += alias)
		if (mmap(vram + at, vram_bytes - at < alias ? vram_bytes - at : alias, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return false;
	close(fd);
	return true;
}

static void turn_over(uint64_t at, unsigned int bit)
{
	vram[at] ^= (uint8_t)(1u << (bit & 7));
}

static bool is_in(const struct script_fault *fault, const uint8_t *from, size_t bytes)
{
	uint64_t first = (uint64_t)(from - vram);

	return fault->at >= first && fault->at - first < bytes && fault->at < vram_bytes;
}

static void stick(void)
{
	for (unsigned int i = 0; i < script.stuck.nr; i++) {
		const struct script_fault *fault = &script.stuck.item[i];
		uint8_t mask = (uint8_t)(1u << (fault->bit & 7));

		if (fault->at >= vram_bytes)
			continue;
		if (fault->value)
			vram[fault->at] |= mask;
		else
			vram[fault->at] &= (uint8_t)~mask;
	}
}

/* After a kernel has written [from, from + bytes). */
static void disturb(const uint8_t *from, size_t bytes)
{
	static const uint32_t half = 0x5aa53cc3;
	uint32_t word;

	for (unsigned int i = 0; i < script.flip.nr; i++)
		if (is_in(&script.flip.item[i], from, bytes) && !script.flip.item[i].used++)
			turn_over(script.flip.item[i].at, script.flip.item[i].bit);
	for (unsigned int i = 0; i < script.garble.nr; i++) {
		if (!is_in(&script.garble.item[i], from, bytes))
			continue;
		memcpy(&word, vram + script.garble.item[i].at, 4);
		word ^= half;
		memcpy(vram + script.garble.item[i].at, &word, 4);
	}
	stick();
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1000 + (double)ts.tv_nsec / 1e6;
}

/* Before a kernel reads, and after it is done: time in which memory was left alone is the host's. */
static void age(bool reads)
{
	for (unsigned int i = 0; reads && i < script.decay.nr; i++)
		if (touched_ms > 0 && now_ms() - touched_ms >= script.decay.item[i].value &&
		    script.decay.item[i].at < vram_bytes)
			turn_over(script.decay.item[i].at, script.decay.item[i].bit);
	touched_ms = now_ms();
}

static void corrupt_copy(const struct script_faults *faults, void *data, size_t bytes)
{
	for (unsigned int i = 0; i < faults->nr; i++)
		if (bytes > WINDOW_BYTES && faults->item[i].at < bytes / 4)
			((uint32_t *)data)[faults->item[i].at] ^= 1;
}

static void take_time(double bytes)
{
	clock_ms += bytes / 1000 / (double)script.bandwidth;
}

/* ---- the kernels, from the text of user/ptx ---- */

static uint32_t finalise(uint32_t v)
{
	v = (v ^ (v >> 16)) * 2246822507u;
	v = (v ^ (v >> 13)) * 3266489909u;
	return v ^ (v >> 16);
}

static uint32_t value_of(uint64_t number, uint32_t seed)
{
	uint32_t low = (uint32_t)(number & 0xffffffffu), high = (uint32_t)(number >> 32);

	return finalise(low + high * 2654435769u + seed);
}

/* What belongs into memory: a hash of the number, or a row that repeats. */
struct contents {
	bool repeats;
	uint64_t first;
	uint32_t seed, invert;
	uint32_t row[32];
	unsigned int length;
};

static uint32_t word_of(const struct contents *c, uint64_t i)
{
	return c->repeats ? c->row[(c->first + i) % c->length] : value_of(c->first + i, c->seed) ^ c->invert;
}

static struct contents hash_of(const uint64_t *arg)
{
	return (struct contents){ .first = arg[2] * 4, .seed = (uint32_t)arg[3], .invert = (uint32_t)arg[4] };
}

/* base, items, phase, value, step, mask, period */
static struct contents row_of(const uint64_t *arg)
{
	struct contents c = { .repeats = true, .first = arg[2] * 4, .length = (unsigned int)arg[6] * 4 };

	for (unsigned int k = 0; k < c.length; k++) {
		unsigned int by = k * (unsigned int)arg[4] % 32;
		uint64_t twice = (arg[3] & 0xffffffff) << 32 | (arg[3] & 0xffffffff);

		c.row[k] = (uint32_t)(twice >> (32 - by));
		if (arg[5] >> k & 1)
			c.row[k] = ~c.row[k];
	}
	return c;
}

/* Words at a time; the length of every row divides it. */
#define BLOCK 640

static void make_block(const struct contents *c, uint64_t at, uint32_t *to, uint64_t words)
{
	for (uint64_t i = 0; i < words; i++)
		to[i] = word_of(c, at + i);
}

static int run_write(const struct contents *c, const uint64_t *arg)
{
	uint64_t words = arg[1] * 4;
	uint32_t *to = (uint32_t *)device_memory(arg[0], words * 4);

	if (!to)
		return ILLEGAL_ADDRESS;
	make_block(c, 0, to, words < BLOCK || !c->repeats ? words : BLOCK);
	for (uint64_t at = BLOCK; c->repeats && at < words; at += BLOCK)
		memcpy(to + at, to, (words - at < BLOCK ? words - at : BLOCK) * 4);
	disturb((uint8_t *)to, words * 4);
	take_time((double)words * 4);
	return 0;
}

struct look {
	struct memory_report *report;
	uint64_t number;
	unsigned int shift;
};

static void report_word(const struct look *look, uint64_t i, uint32_t should, uint32_t is, uint32_t again)
{
	struct memory_report *report = look->report;
	uint64_t number = look->number + i, bin = number >> look->shift;
	uint32_t page = (uint32_t)(number / 1024), diff = is ^ should, slot;

	report->wrong++;
	if (report->sampled >= MEMORY_SAMPLE)
		return;
	slot = report->sampled++;
	if (page > report->last)
		report->last = page;
	if (~page > report->not_first)
		report->not_first = ~page;
	report->bin[bin < MEMORY_BINS ? bin : MEMORY_BINS - 1]++;
	report->flips[__builtin_popcount(diff) - 1]++;
	for (unsigned int bit = 0; bit < 32; bit++) {
		report->up[bit] += diff >> bit & 1 && !(should >> bit & 1);
		report->down[bit] += diff >> bit & 1 && should >> bit & 1;
	}
	if (slot < MEMORY_RECORDS)
		report->record[slot] = (struct memory_record){
			.word = number, .expected = should, .got = is, .again = again, .sm = (uint32_t)(i % (uint64_t)script.sm),
		};
}

/* A bit that reads wrong once. */
static uint32_t misread(const uint32_t *from, uint64_t i)
{
	uint32_t value = from[i];

	for (unsigned int f = 0; f < script.misread.nr; f++) {
		struct script_fault *fault = &script.misread.item[f];

		if (is_in(fault, (const uint8_t *)(from + i), 4) && ++fault->used == (fault->value ? fault->value : 1))
			value ^= 1u << (fault->bit & 7) << 8 * (fault->at & 3);
	}
	return value;
}

static bool may_misread(const uint32_t *from, uint64_t words)
{
	for (unsigned int f = 0; f < script.misread.nr; f++)
		if (is_in(&script.misread.item[f], (const uint8_t *)from, words * 4))
			return true;
	return false;
}

static int run_check(const struct contents *c, const uint64_t *arg, struct look *look, bool write)
{
	uint64_t words = arg[1] * 4;
	uint32_t *from = (uint32_t *)device_memory(arg[0], words * 4), should[BLOCK];
	bool made = false;

	if (!from || !look->report)
		return ILLEGAL_ADDRESS;
	age(true);
	/* Backwards: no user may rely on the order of the records. */
	for (uint64_t at = (words - 1) / BLOCK * BLOCK;; at -= BLOCK) {
		uint64_t nr = words - at < BLOCK ? words - at : BLOCK;

		if (!c->repeats || !made)
			make_block(c, at, should, c->repeats ? BLOCK : nr);
		made = true;
		if (memcmp(should, from + at, nr * 4) || may_misread(from + at, nr)) {
			for (uint64_t i = nr; i-- > 0;) {
				uint32_t is = misread(from, at + i);

				if (is != should[i])
					report_word(look, at + i, should[i], is, from[at + i]);
			}
		}
		for (uint64_t i = 0; write && i < nr; i++)
			from[at + i] = ~should[i];
		if (!at)
			break;
	}
	if (write)
		disturb((uint8_t *)from, words * 4);
	age(false);
	take_time((double)words * (write ? 8 : 4));
	return 0;
}

static int run_memory_check(const uint64_t *arg)
{
	const struct contents c = hash_of(arg);
	struct look look = {
		.report = (struct memory_report *)device_memory(arg[6], sizeof(*look.report)), .number = arg[2] * 4,
		.shift = (unsigned int)arg[7],
	};

	return run_check(&c, arg, &look, false);
}

static int run_sweep_check(const uint64_t *arg)
{
	const struct contents c = row_of(arg);
	struct look look = {
		.report = (struct memory_report *)device_memory(arg[10], sizeof(*look.report)), .number = arg[9] * 4,
		.shift = (unsigned int)arg[11],
	};

	return run_check(&c, arg, &look, arg[8] & 1);
}

static int move(uint64_t to, uint64_t from, size_t bytes)
{
	uint8_t *target = device_memory(to, bytes), *source = device_memory(from, bytes);

	if (!target || !source)
		return ILLEGAL_ADDRESS;
	age(true);
	memcpy(target, source, bytes);
	for (unsigned int i = 0; i < script.mismove.nr; i++)
		if (is_in(&script.mismove.item[i], target, bytes))
			turn_over(script.mismove.item[i].at, script.mismove.item[i].bit);
	disturb(target, bytes);
	age(false);
	take_time((double)bytes * 2);
	return 0;
}

static uint32_t end_of_integers(uint32_t x, uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t y = x * 2246822507u;

		x = (y ^ (y >> 13)) + (uint32_t)(((uint64_t)x * 3266489909u) >> 32);
	}
	return x;
}

/* In single precision, step by step as the text has it; volatile, so that nothing is fused or kept longer. */
static uint32_t end_of_floats(uint32_t x, uint32_t rounds)
{
	volatile float f = (float)((int)(x % 4096) - 2048), p, q;

	for (uint32_t i = 0; i < rounds; i++) {
		p = f * 1229.0f;
		p = p + 1013.0f;
		q = p * 0.000244140625f;
		q = q + 12582912.0f;
		q = q - 12582912.0f;
		q = q * -4096.0f;
		f = q + p;
	}
	return (uint32_t)(int)f;
}

static uint32_t end_of_bytes(uint32_t x, uint32_t rounds)
{
	static const uint8_t factor[4] = { 5, 29, 59, 127 };

	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t y = x;

		for (unsigned int b = 0; b < 4; b++)
			y += (x >> 8 * b & 255) * factor[b];
		x = (uint32_t)(((uint64_t)y << 32 | y) >> 25);
	}
	return x;
}

static uint32_t end_of(unsigned int unit, uint32_t x, uint32_t rounds)
{
	return unit == 0 ? end_of_integers(x, rounds) : unit == 3 ? end_of_bytes(x, rounds) : end_of_floats(x, rounds);
}

/* The ends of a unit's chains; the same question comes again and again. */
static const uint32_t *ends_of(unsigned int unit, uint32_t seed, uint32_t rounds)
{
	static uint32_t ends[4][COMPUTE_THREADS], asked[4][2];

	if (!asked[unit][1] || asked[unit][0] != seed || asked[unit][1] != rounds)
		for (uint32_t t = 0; t < COMPUTE_THREADS; t++)
			ends[unit][t] = end_of(unit, t * 2654435761u + seed, rounds);
	asked[unit][0] = seed;
	asked[unit][1] = rounds;
	return ends[unit];
}

static bool sm_is_wrong(unsigned int sm, unsigned int unit)
{
	for (unsigned int i = 0; i < script.smfault.nr; i++)
		if (script.smfault.item[i].at == sm && script.smfault.item[i].bit == unit)
			return true;
	return false;
}

static void compute_block(struct compute_report *report, unsigned int sm, unsigned int unit, const uint64_t *arg,
			  const uint32_t *reference)
{
	const uint32_t *ends = ends_of(unit, (uint32_t)arg[1], (uint32_t)arg[2]);

	report->ran[sm]++;
	for (uint32_t t = 0; t < COMPUTE_THREADS; t++) {
		uint32_t is = ends[t] ^ (sm_is_wrong(sm, unit) && t == 77 ? 16 : 0);

		if (is == reference[t])
			continue;
		report->wrong += (uint32_t)arg[3];
		report->wrong_on[sm] += (uint32_t)arg[3];
		for (uint32_t r = 0; r < arg[3] && report->wanted < COMPUTE_RECORDS; r++)
			report->record[report->wanted++] = (struct compute_record){
				.sm = sm, .thread = t, .repeat = r, .expected = reference[t], .got = is,
			};
	}
}

static int run_compute(unsigned int unit, unsigned int blocks, const uint64_t *arg)
{
	static const double operations[] = { 5, 4, 8, 4 };
	const uint32_t *reference = (uint32_t *)device_memory(arg[0], COMPUTE_THREADS * 4);
	struct compute_report *report = (struct compute_report *)device_memory(arg[4], sizeof(*report));
	double steps = (double)blocks * COMPUTE_THREADS * (double)arg[2] * (double)arg[3];

	if (!reference || !report || !arg[2] || arg[2] % 4 || !arg[3])
		return ILLEGAL_ADDRESS;
	for (unsigned int b = 0; b < blocks; b++) {
		unsigned int sm = b % (unsigned int)script.sm;

		if ((long)sm != script.smhole)
			compute_block(report, sm, unit, arg, reference);
	}
	clock_ms += steps * operations[unit] / (SM_RATE * (double)script.sm) *
		    (unit == 1 ? 100.0 / (double)script.fma : 1);
	return 0;
}

static uint32_t bits_of(float f)
{
	union { float f; uint32_t u; } v = { .f = f };

	return v.u;
}

static unsigned int leading_zeros(uint32_t v)
{
	unsigned int n = 0;

	for (uint32_t bit = 1u << 31; bit && !(v & bit); bit >>= 1)
		n++;
	return n;
}

static unsigned int ones(uint32_t v)
{
	unsigned int n = 0;

	for (; v; v &= v - 1)
		n++;
	return n;
}

static uint32_t integer_part(uint32_t t, uint32_t seed)
{
	uint32_t x = finalise(t * 2654435761u + seed), y;
	uint64_t product = (uint64_t)x * (uint64_t)(t | 2147483649u);
	uint32_t h = (uint32_t)(product >> 32);

	y = x >> (t % 32);
	y ^= h << (t / 32 % 32);
	y += ones(x) * 16777619u;
	y ^= leading_zeros(h) << 8;
	y += x % (t % 1024 + 3);
	return y ^ (uint32_t)(((uint64_t)x * (uint64_t)h) >> 17);
}

static uint32_t float_part(uint32_t t, uint32_t y)
{
	volatile float f = (float)(y % 4096) * (float)(y / 4096 % 4096) + (float)(y / 16777216);
	volatile float g = f / ((float)(y / 4096 % 4096) + 1), h = sqrtf(f), sum = g + h, product = g * h;
	union { double d; uint32_t u[2]; } q = { .d = (double)y / ((double)t + 1.0) };

	return (bits_of(sum) + bits_of(product)) ^ q.u[0] ^ q.u[1] ^ (uint32_t)h;
}

static void exchange(uint32_t *block)
{
	for (unsigned int step = 1; step < 256; step *= 2) {
		uint32_t next[256];

		for (unsigned int j = 0; j < 256; j++)
			next[j] = ((block[j] << 1) | (block[j] >> 31)) + block[j ^ step];
		memcpy(block, next, sizeof(next));
	}
}

static int run_known(unsigned int blocks, unsigned int threads, const uint64_t *arg)
{
	uint32_t *out = (uint32_t *)device_memory(arg[0], KNOWN_WORDS * 4);
	uint32_t shared[256];

	if (!out || blocks * threads != KNOWN_THREADS)
		return ILLEGAL_ADDRESS;
	for (uint32_t t = 0; t < KNOWN_THREADS; t++) {
		uint32_t y = integer_part(t, (uint32_t)arg[1]);

		out[t] = y;
		out[8192 + t] = float_part(t, y);
		shared[t % 256] = y;
		if (t % 256 == 255) {
			exchange(shared);
			memcpy(out + 4096 + t - 255, shared, sizeof(shared));
		}
	}
	for (uint32_t t = 0; t < KNOWN_THREADS; t++) {
		uint32_t y = out[t], z = out[4096 + t];
		uint64_t sum;

		out[12288 + y % 1024] += y / 1024;
		out[13312 + y / 1024 % 1024] ^= y;
		if (out[14336 + y / 4194304] < z)
			out[14336 + y / 4194304] = z;
		memcpy(&sum, out + 15360 + t % 512 * 2, 8);
		sum += (uint64_t)y * z;
		memcpy(out + 15360 + t % 512 * 2, &sum, 8);
	}
	for (unsigned int i = 0; i < script.known.nr; i++)
		if (script.known.item[i].at < KNOWN_WORDS)
			out[script.known.item[i].at] ^= 1;
	disturb((uint8_t *)out, KNOWN_WORDS * 4);
	return 0;
}

/* ---- devices ---- */

static bool bound_to_nvidia(const char *bdf)
{
	char path[80], target[200];
	ssize_t len;

	snprintf(path, sizeof(path), SYSFS_DEVICES "%.15s/driver", bdf);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	return strrchr(target, '/') && !strcmp(strrchr(target, '/'), "/nvidia");
}

static double sysfs_number(const char *bdf, const char *file)
{
	double number = 0;
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), SYSFS_DEVICES "%.15s/%s", bdf, file);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%lf", &number) != 1)
		number = 0;
	fclose(f);
	return number;
}

/* MB/s: the lanes' bits without their coding, and 84 % of it for the packets. */
static double link_rate(void)
{
	double gts = sysfs_number(device_bdf[context_device], "current_link_speed");
	double lanes = sysfs_number(device_bdf[context_device], "current_link_width");

	if (script.link)
		return (double)script.link;
	if (gts <= 0 || lanes <= 0)
		return 840;
	return gts * 1000 / 8 * (gts < 8 ? 0.8 : 128.0 / 130) * lanes * 0.84;
}

/* Of the card that was asked for last; there is one per process. */
static long capability(void)
{
	static const struct {
		unsigned int device;
		long compute;
	} cards[] = {
#define CARD(device, name, compute, quirks) { device, compute },
#include "../../kmod/card_list.h"
#undef CARD
	};
	unsigned int device = 0;
	char path[100];
	FILE *file;

	if (script.compute)
		return script.compute;
	snprintf(path, sizeof(path), SYSFS_DEVICES "%.15s/device", nr_devices ? device_bdf[nr_devices - 1] : "");
	file = fopen(path, "re");
	if (file && fscanf(file, "%x", &device) != 1)
		device = 0;
	if (file)
		fclose(file);
	for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++)
		if (cards[i].device == device)
			return cards[i].compute;
	return 61;
}

static bool address_is_valid(const char *bdf)
{
	unsigned int domain, bus, device, function;
	char end;

	return strlen(bdf) < sizeof(device_bdf[0]) &&
	       sscanf(bdf, "%x:%x:%x.%x%c", &domain, &bus, &device, &function, &end) == 4;
}

EXPORT int cuInit(unsigned int flags)
{
	SCRIPTED();
	if (flags)
		return INVALID_VALUE;
	/* A list of devices that leaves the card out hides it, as with the real library. */
	if (getenv("CUDA_VISIBLE_DEVICES") || (!script.force && access(DRIVER_FILE, F_OK)))
		return NO_DEVICE;
	ready = true;
	return 0;
}

EXPORT int cuDriverGetVersion(int *version)
{
	SCRIPTED();
	*version = (int)script.driver;
	return 0;
}

EXPORT int cuDeviceGetByPCIBusId(int *dev, const char *bdf)
{
	SCRIPTED();
	if (!ready)
		return NOT_INITIALIZED;
	if (!address_is_valid(bdf))
		return INVALID_VALUE;
	if (!script.force && !bound_to_nvidia(bdf))
		return INVALID_DEVICE;
	for (int i = 0; i < nr_devices; i++)
		if (!strcasecmp(device_bdf[i], bdf)) {
			*dev = i;
			return 0;
		}
	if (nr_devices == DEVICES_MAX)
		return INVALID_DEVICE;
	strcpy(device_bdf[nr_devices], bdf);
	*dev = nr_devices++;
	return 0;
}

EXPORT int cuDeviceGetName(char *name, int len, int dev)
{
	SCRIPTED();
	if (dev < 0 || dev >= nr_devices)
		return INVALID_DEVICE;
	snprintf(name, (size_t)len, "%s", script.name);
	return 0;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int dev)
{
	SCRIPTED();
	if (dev < 0 || dev >= nr_devices)
		return INVALID_DEVICE;
	switch (attribute) {
	case 16:
		*value = (int)script.sm;
		return 0;
	case 36:
		*value = (int)script.memclock;
		return 0;
	case 37:
		*value = (int)script.bus;
		return 0;
	case 75:
		*value = (int)capability() / 10;
		return 0;
	case 76:
		*value = (int)capability() % 10;
		return 0;
	default:
		return INVALID_VALUE;
	}
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int dev)
{
	SCRIPTED();
	if (dev < 0 || dev >= nr_devices)
		return INVALID_DEVICE;
	*bytes = (size_t)script.vram << 20;
	return 0;
}

EXPORT int cuCtxCreate_v2(void **ctx, unsigned int flags, int dev)
{
	SCRIPTED();
	if (flags || dev < 0 || dev >= nr_devices || context_device >= 0)
		return INVALID_VALUE;
	if (!map_vram() || vram_bytes < CONTEXT_BYTES)
		return OUT_OF_MEMORY;
	vram_used = 0;
	context_device = dev;
	*ctx = &context_device;
	return 0;
}

EXPORT int cuCtxDestroy_v2(void *ctx)
{
	NEED_CONTEXT();
	if (ctx != &context_device)
		return INVALID_CONTEXT;
	munmap(vram, vram_bytes);
	context_device = -1;
	return 0;
}

/* ---- modules: recognised by the entries they declare ---- */

/* Only what the helper embeds is taken: any PTX that declares a kernel of the list. */
EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned int nr, int *option, void **value)
{
	(void)nr;
	(void)option;
	(void)value;
	NEED_CONTEXT();
	if (!strstr(image, ".version 5.0") || (!strstr(image, ".target sm_50") &&
					       (capability() < 61 || !strstr(image, ".target sm_61"))))
		return INVALID_IMAGE;
	*module = (void *)(uintptr_t)image;
	return 0;
}

EXPORT int cuModuleGetFunction(const char **func, const char *module, const char *name)
{
	char entry[80];

	NEED_CONTEXT();
	snprintf(entry, sizeof(entry), ".visible .entry %s(", name);
	if (!strstr(module, entry))
		return NOT_FOUND;
	for (unsigned int i = 0; i < NR_KERNELS; i++)
		if (!strcmp(kernel_name[i], name)) {
			*func = kernel_name[i];
			return 0;
		}
	return NOT_FOUND;
}

static int run_kernel(unsigned int id, unsigned int blocks, const uint64_t *arg)
{
	struct contents c;

	switch (id) {
	case KERNEL_known_answer:
		return run_known(blocks, kernel_threads[id], arg);
	case KERNEL_memory_fill:
		c = hash_of(arg);
		return run_write(&c, arg);
	case KERNEL_memory_check:
		return run_memory_check(arg);
	case KERNEL_sweep_write:
	case KERNEL_sweep_check:
		/* Each thread keeps its four words: the grid has to be a multiple of the period. */
		if (!arg[6] || arg[6] > 8 || blocks * kernel_threads[id] % arg[6])
			return ILLEGAL_ADDRESS;
		c = row_of(arg);
		return id == KERNEL_sweep_write ? run_write(&c, arg) : run_sweep_check(arg);
	case KERNEL_move_items:
		return move(arg[0], arg[1], arg[2] * MEMORY_ITEM_BYTES);
	default:
		return run_compute(id - KERNEL_compute_integer, blocks, arg);
	}
}

EXPORT int cuLaunchKernel(const char *func, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
			  unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
			  void *stream, void **params, void **extra)
{
	static const unsigned int nr_args[] = {
#define X(module, name, args, threads) args,
		KERNELS(X)
#undef X
	};
	uint64_t arg[KERNEL_ARGS_MAX] = { 0 };
	unsigned int id = 0;

	NEED_CONTEXT();
	while (id < NR_KERNELS && kernel_name[id] != func)
		id++;
	if (id == NR_KERNELS || !grid_x || grid_y != 1 || grid_z != 1 || block_x != kernel_threads[id] ||
	    block_y != 1 || block_z != 1 || shared_bytes || !stream || extra)
		return INVALID_VALUE;
	for (unsigned int i = 0; i < nr_args[id]; i++)
		arg[i] = *(const uint64_t *)params[i];

	return run_kernel(id, grid_x, arg);
}

/* ---- memory ---- */

EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	NEED_CONTEXT();
	*total_bytes = vram_bytes;
	*free_bytes = vram_bytes - CONTEXT_BYTES - vram_used;
	return 0;
}

EXPORT int cuMemAlloc_v2(uint64_t *ptr, size_t bytes)
{
	size_t wanted = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

	NEED_CONTEXT();
	if (!bytes)
		return INVALID_VALUE;
	if (wanted > vram_bytes - CONTEXT_BYTES - vram_used)
		return OUT_OF_MEMORY;
	*ptr = DEVICE_BASE + vram_used;
	vram_used += wanted;
	return 0;
}

EXPORT int cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
	(void)flags;
	NEED_CONTEXT();
	*ptr = malloc(bytes);
	return *ptr ? 0 : OUT_OF_MEMORY;
}

static void pass_link(size_t bytes)
{
	static unsigned long windows;
	double ms = (double)bytes / 1000 / link_rate();

	if (bytes > WINDOW_BYTES && script.uneven && ++windows % (unsigned long)script.uneven == 0)
		ms *= 4;
	clock_ms += ms;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	uint8_t *card;

	NEED_CONTEXT();
	card = device_memory(to, bytes);
	if (!card || !stream)
		return INVALID_VALUE;
	memcpy(card, from, bytes);
	corrupt_copy(&script.h2d, card, bytes);
	stick();
	pass_link(bytes);
	return 0;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	const uint8_t *card;

	NEED_CONTEXT();
	card = device_memory(from, bytes);
	if (!card || !stream)
		return INVALID_VALUE;
	memcpy(to, card, bytes);
	corrupt_copy(&script.d2h, to, bytes);
	pass_link(bytes);
	return 0;
}

EXPORT int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes)
{
	NEED_CONTEXT();
	return move(to, from, bytes);
}

EXPORT int cuMemsetD32Async(uint64_t to, unsigned int value, size_t words, void *stream)
{
	uint8_t *card;

	NEED_CONTEXT();
	card = device_memory(to, words * 4);
	if (!card || !stream)
		return INVALID_VALUE;
	for (size_t i = 0; i < words; i++)
		memcpy(card + i * 4, &value, 4);
	stick();
	return 0;
}

/* ---- streams and events: everything is done when its call returns ---- */

EXPORT int cuStreamCreate(void **stream, unsigned int flags)
{
	(void)flags;
	NEED_CONTEXT();
	*stream = &clock_ms;
	return 0;
}

EXPORT int cuStreamQuery(void *stream)
{
	NEED_CONTEXT();
	return stream ? 0 : INVALID_VALUE;
}

EXPORT int cuEventCreate(double **event, unsigned int flags)
{
	(void)flags;
	NEED_CONTEXT();
	*event = calloc(1, sizeof(**event));
	return *event ? 0 : OUT_OF_MEMORY;
}

/* The simulated clock runs with the bytes copied: a slow host does not make a slow card. */
EXPORT int cuEventRecord(double *event, void *stream)
{
	NEED_CONTEXT();
	if (!stream)
		return INVALID_VALUE;
	*event = clock_ms;
	return 0;
}

EXPORT int cuEventElapsedTime(float *ms, const double *start, const double *end)
{
	NEED_CONTEXT();
	*ms = (float)(*end - *start);
	return 0;
}
