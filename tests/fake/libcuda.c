// SPDX-License-Identifier: GPL-2.0-only
/*
 * A simulated libcuda.so.1: device memory is host memory, the kernels of user/kernels.h are computed here, and a
 * script says what goes wrong. For tests and the demo; says so through softtape_simulated. Its arithmetic was written
 * from the text of user/ptx on its own, so that it can disagree with the helper's.
 *
 * The script is read from /etc/softtape-fake.conf and then from SOFTTAPE_FAKE; a later word wins. Words are separated
 * by blanks, line ends or ";", a line that starts with # is a comment:
 *
 *	NAME=code:N[@K]		entry point NAME (cuInit, cuMemAlloc_v2, ...) returns N, from its Kth call on (1)
 *	NAME=delay:MS[@K]	works, but later
 *	NAME=exit:N[@K]		ends the process
 *	NAME=signal:N[@K]	raises a signal
 *	NAME=hang[@K]		never returns; SIGTERM ends it
 *	NAME=hang-hard[@K]	never returns; only SIGKILL ends it
 *	NAME=block:FILE[@K]	opens FILE for writing: state D when its file system is frozen
 *	force=1			pretend without the nvidia driver (also SOFTTAPE_FAKE_FORCE=1)
 *	driver=12040		what cuDriverGetVersion says
 *	vram=MIB		size of the device memory (32: small, for emulated machines)
 *	compute=61 sm=15	capability and multiprocessors
 *	name=TEXT		device name, "_" stands for a blank
 *	link=MBS		copy rate in MB/s; default: what the card's link in sysfs carries, else 840 (Gen1 x4)
 *	stuck=BYTE:BIT:VALUE	a bit of device memory always reads VALUE
 *	flip=BYTE:BIT		the first store of a kernel to that byte leaves the bit turned over
 *	h2d=WORD		turns bit 0 of that word of every copy to the device of 1 MiB or more
 *	d2h=WORD		the same on the way back
 *	known=WORD		turns bit 0 of that word of what known_answer computed
 *
 * BYTE is an offset in the device memory, as it comes out of the allocations below: the first 64 KiB are scratch.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../user/kernels.h"

#define EXPORT __attribute__((visibility("default")))

#define CONFIG_FILE	"/etc/softtape-fake.conf"
#define DRIVER_FILE	"/proc/driver/nvidia/version"
#define SYSFS_DEVICES	"/sys/bus/pci/devices/"

#define ACTIONS_MAX	64
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
#define NOT_READY	600
#define ILLEGAL_ADDRESS	700

/* An address no host pointer has: a helper that touches device memory directly dies at once. */
#define DEVICE_BASE	0x7f0000000000ull
/* A context takes some memory of its own. */
#define CONTEXT_BYTES	((size_t)4 << 20)

EXPORT const int softtape_simulated = 1;

enum action_kind { ACT_CODE, ACT_DELAY, ACT_EXIT, ACT_SIGNAL, ACT_HANG, ACT_HANG_HARD, ACT_BLOCK };

struct action {
	char name[48];
	enum action_kind kind;
	long value;
	char file[200];
	unsigned long from_call;
	unsigned long calls;
};

struct fault {
	bool on;
	uint64_t at;
	unsigned int bit, value;
};

static struct {
	struct action action[ACTIONS_MAX];
	unsigned int nr_actions;
	bool force;
	long driver, vram_mib, compute, sm, link_mbs;
	char name[80];
	struct fault stuck, flip, h2d, d2h, known;
} script = {
	.driver = 12040, .vram_mib = 32, .compute = 61, .sm = 15, .name = "Simulated_NVIDIA_GPU",
};

/* One card per process is all that softtape asks for; device numbers still follow the addresses asked for. */
static char device_bdf[DEVICES_MAX][16];
static int nr_devices;
static bool ready;
static int context_device = -1;
static uint8_t *vram;
static size_t vram_bytes, vram_used;
static double clock_ms;

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

/* ---- the script ---- */

static void complain(const char *word)
{
	fprintf(stderr, "simulated libcuda: not understood: %s\n", word);
	abort();
}

static bool parse_action(const char *name, const char *value)
{
	static const struct {
		const char *word;
		enum action_kind kind;
	} kinds[] = {
		{ "code:", ACT_CODE }, { "delay:", ACT_DELAY }, { "exit:", ACT_EXIT }, { "signal:", ACT_SIGNAL },
		{ "hang-hard", ACT_HANG_HARD }, { "hang", ACT_HANG }, { "block:", ACT_BLOCK },
	};
	struct action *action = &script.action[script.nr_actions];
	const char *at = strrchr(value, '@');

	if (script.nr_actions == ACTIONS_MAX || strlen(name) >= sizeof(action->name))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i].word);

		if (strncmp(value, kinds[i].word, len))
			continue;
		strcpy(action->name, name);
		action->kind = kinds[i].kind;
		action->value = strtol(value + len, NULL, 0);
		snprintf(action->file, sizeof(action->file), "%.*s", at ? (int)(at - value - (long)len) : 199,
			 value + len);
		action->from_call = at ? strtoul(at + 1, NULL, 10) : 1;
		script.nr_actions++;
		return true;
	}
	return false;
}

static bool parse_fault(struct fault *fault, const char *value)
{
	char *end;

	fault->at = strtoull(value, &end, 0);
	fault->bit = *end == ':' ? (unsigned int)strtoul(end + 1, &end, 10) : 0;
	fault->value = *end == ':' ? (unsigned int)strtoul(end + 1, &end, 10) : 0;
	fault->on = true;
	return !*end;
}

static bool parse_number(long *number, const char *value)
{
	char *end;

	*number = strtol(value, &end, 0);
	return end != value && !*end;
}

static bool parse_word(char *word)
{
	const struct {
		const char *key;
		long *number;
		struct fault *fault;
	} keys[] = {
		{ "driver", &script.driver, NULL }, { "vram", &script.vram_mib, NULL },
		{ "compute", &script.compute, NULL }, { "sm", &script.sm, NULL }, { "link", &script.link_mbs, NULL },
		{ "stuck", NULL, &script.stuck }, { "flip", NULL, &script.flip }, { "h2d", NULL, &script.h2d },
		{ "d2h", NULL, &script.d2h }, { "known", NULL, &script.known },
	};
	char *value = strchr(word, '=');

	if (!value)
		return false;
	*value++ = '\0';
	if (!strncmp(word, "cu", 2))
		return parse_action(word, value);
	if (!strcmp(word, "force"))
		return script.force = !strcmp(value, "1");
	if (!strcmp(word, "name"))
		return snprintf(script.name, sizeof(script.name), "%s", value) < (int)sizeof(script.name);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(word, keys[i].key))
			return keys[i].fault ? parse_fault(keys[i].fault, value) : parse_number(keys[i].number, value);
	return false;
}

static void parse_text(const char *text)
{
	char copy[4096], shown[200], *line, *word, *lines = NULL, *words;

	snprintf(copy, sizeof(copy), "%s", text);
	for (line = strtok_r(copy, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
		if (*line == '#')
			continue;
		for (word = strtok_r(line, " \t;", &words); word; word = strtok_r(NULL, " \t;", &words)) {
			snprintf(shown, sizeof(shown), "%s", word);
			if (!parse_word(word))
				complain(shown);
		}
	}
}

/* A word nobody understands ends the process: a test with a slip in it must not pass. */
__attribute__((constructor)) static void read_script(void)
{
	const char *env = getenv("SOFTTAPE_FAKE"), *force = getenv("SOFTTAPE_FAKE_FORCE");
	char text[4096];
	size_t len;
	FILE *file;

	file = fopen(CONFIG_FILE, "re");
	if (file) {
		len = fread(text, 1, sizeof(text) - 1, file);
		text[len] = '\0';
		fclose(file);
		parse_text(text);
	}
	if (env)
		parse_text(env);
	if (force && !strcmp(force, "1"))
		script.force = true;
	for (char *c = script.name; *c; c++)
		if (*c == '_')
			*c = ' ';
}

static void sleep_ms(long ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void hang(bool hard)
{
	sigset_t all;

	if (hard) {
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
	}
	for (;;)
		sleep_ms(1000);
}

/* What the script says about this call; 0 = carry on. */
static int act(const char *name)
{
	int code = 0;

	for (unsigned int i = 0; i < script.nr_actions; i++) {
		struct action *action = &script.action[i];

		if (strcmp(action->name, name) || ++action->calls < action->from_call)
			continue;
		switch (action->kind) {
		case ACT_CODE:
			code = (int)action->value;
			break;
		case ACT_DELAY:
			sleep_ms(action->value);
			break;
		case ACT_EXIT:
			exit((int)action->value);
		case ACT_SIGNAL:
			raise((int)action->value);
			break;
		case ACT_HANG:
		case ACT_HANG_HARD:
			hang(action->kind == ACT_HANG_HARD);
			break;
		case ACT_BLOCK:
			close(open(action->file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
			break;
		}
	}
	return code;
}

/* First line of every entry point. */
#define SCRIPTED()				\
	do {					\
		int scripted = act(__func__);	\
						\
		if (scripted)			\
			return scripted;	\
	} while (0)

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

static void stick(void)
{
	uint8_t mask = (uint8_t)(1u << (script.stuck.bit & 7));

	if (!script.stuck.on || script.stuck.at >= vram_bytes)
		return;
	if (script.stuck.value)
		vram[script.stuck.at] |= mask;
	else
		vram[script.stuck.at] &= (uint8_t)~mask;
}

/* After a kernel has written [from, from + bytes). */
static void disturb(const uint8_t *from, size_t bytes)
{
	uint64_t first = (uint64_t)(from - vram);

	if (script.flip.on && script.flip.at >= first && script.flip.at - first < bytes) {
		vram[script.flip.at] ^= (uint8_t)(1u << (script.flip.bit & 7));
		script.flip.on = false;
	}
	stick();
}

static void corrupt_copy(const struct fault *fault, void *data, size_t bytes)
{
	if (fault->on && bytes >= 1 << 20 && fault->at < bytes / 4)
		((uint32_t *)data)[fault->at] ^= 1;
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

static int run_fill(const uint64_t *arg)
{
	uint64_t words = arg[1] * 4, number = arg[2] * 4;
	uint32_t *to = (uint32_t *)device_memory(arg[0], words * 4);

	if (!to)
		return ILLEGAL_ADDRESS;
	for (uint64_t i = 0; i < words; i++)
		to[i] = value_of(number + i, (uint32_t)arg[3]);
	disturb((uint8_t *)to, words * 4);
	return 0;
}

static int run_check(const uint64_t *arg)
{
	uint64_t words = arg[1] * 4, number = arg[2] * 4;
	const uint32_t *from = (uint32_t *)device_memory(arg[0], words * 4);
	struct memory_report *report = (struct memory_report *)device_memory(arg[4], sizeof(*report));

	if (!from || !report)
		return ILLEGAL_ADDRESS;
	/* Backwards: no user may rely on the order of the records. */
	for (uint64_t i = words; i-- > 0;) {
		uint32_t should = value_of(number + i, (uint32_t)arg[3]);

		if (from[i] == should)
			continue;
		report->wrong++;
		if (report->wanted++ >= MEMORY_RECORDS)
			continue;
		report->record[report->wanted - 1] = (struct memory_record){
			.word = number + i, .expected = should, .got = from[i], .again = from[i],
		};
	}
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
	if (script.known.on && script.known.at < KNOWN_WORDS)
		out[script.known.at] ^= 1;
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

	if (script.link_mbs)
		return (double)script.link_mbs;
	if (gts <= 0 || lanes <= 0)
		return 840;
	return gts * 1000 / 8 * (gts < 8 ? 0.8 : 128.0 / 130) * lanes * 0.84;
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
	case 75:
		*value = (int)script.compute / 10;
		return 0;
	case 76:
		*value = (int)script.compute % 10;
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
	*bytes = (size_t)script.vram_mib << 20;
	return 0;
}

EXPORT int cuCtxCreate_v2(void **ctx, unsigned int flags, int dev)
{
	SCRIPTED();
	if (flags || dev < 0 || dev >= nr_devices || context_device >= 0)
		return INVALID_VALUE;
	vram_bytes = (size_t)script.vram_mib << 20;
	vram = mmap(NULL, vram_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (vram == MAP_FAILED || vram_bytes < CONTEXT_BYTES)
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
	if (!strstr(image, ".version 5.0") || !strstr(image, ".target sm_50"))
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

	switch (id) {
	case KERNEL_known_answer:
		return run_known(grid_x, block_x, arg);
	case KERNEL_memory_fill:
		return run_fill(arg);
	default:
		return run_check(arg);
	}
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
	clock_ms += (double)bytes / 1000 / link_rate();
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
	clock_ms += (double)bytes / 1000 / link_rate();
	return 0;
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
