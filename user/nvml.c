// SPDX-License-Identifier: GPL-2.0-only
/*
 * What NVML says of cards, asked by a child process with a deadline: the library may hang with a card that is lost, and it
 * is not ours. Changes no setting.
 */
#include "nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define TEMPERATURE_GPU		0	/* nvmlTemperatureSensors_t */
#define THRESHOLD_SLOWDOWN	1	/* nvmlTemperatureThresholds_t */
#define CLOCK_GRAPHICS		0	/* nvmlClockType_t */
#define REAP_LOOK_MS		20

typedef const void *nvml_device;

/* X(name as exported, member, arguments); all but the first three may be missing. */
#define CALLS(X)											\
	X("nvmlInit_v2",				init,		(void))				\
	X("nvmlShutdown",				shutdown,	(void))				\
	X("nvmlDeviceGetHandleByPciBusId_v2",		by_bus,		(const char *, nvml_device *))	\
	X("nvmlDeviceGetTemperature",			temperature,	(nvml_device, int, unsigned int *)) \
	X("nvmlDeviceGetTemperatureThreshold",		threshold,	(nvml_device, int, unsigned int *)) \
	X("nvmlDeviceGetFanSpeed",			fan,		(nvml_device, unsigned int *))	\
	X("nvmlDeviceGetPowerManagementLimit",		limit,		(nvml_device, unsigned int *))	\
	X("nvmlDeviceGetPowerManagementDefaultLimit",	default_limit,	(nvml_device, unsigned int *))	\
	X("nvmlDeviceGetPowerManagementLimitConstraints", constraints,	(nvml_device, unsigned int *, unsigned int *)) \
	X("nvmlDeviceGetPowerUsage",			usage,		(nvml_device, unsigned int *))	\
	X("nvmlDeviceGetMaxClockInfo",			max_clock,	(nvml_device, int, unsigned int *)) \
	X("nvmlDeviceGetMemoryInfo",			memory,		(nvml_device, unsigned long long *)) \
	X("nvmlDeviceGetVbiosVersion",			vbios,		(nvml_device, char *, unsigned int)) \
	X("nvmlDeviceGetGpcClkVfOffset",		offset,		(nvml_device, int *))

struct calls {
#define X(name, member, arguments) int (*member)arguments;
	CALLS(X)
#undef X
	bool locks_clocks;
	bool sets_fan;
	bool sets_offset;
	bool simulated;
};

static void *library_open(struct calls *calls)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return NULL;

#define X(name, member, arguments) *(void **)&calls->member = dlsym(library, name);
	CALLS(X)
#undef X
	calls->locks_clocks = dlsym(library, "nvmlDeviceSetGpuLockedClocks");
	calls->sets_fan = dlsym(library, "nvmlDeviceSetFanSpeed_v2");
	calls->sets_offset = dlsym(library, "nvmlDeviceSetGpcClkVfOffset");
	calls->simulated = dlsym(library, "softtape_simulated");
	if (calls->init && calls->shutdown && calls->by_bus)
		return library;

	dlclose(library);
	return NULL;
}

/* Each answer counts when the call is there and returns 0 (NVML_SUCCESS). */
static void ask_power(const struct calls *calls, nvml_device device, struct nvml_card *card)
{
	unsigned int min, max, value;

	if (calls->limit && !calls->limit(device, &value))
		card->limit_mw = value;
	if (calls->default_limit && !calls->default_limit(device, &value))
		card->default_mw = value;
	if (calls->usage && !calls->usage(device, &value))
		card->draw_mw = value;
	if (!calls->constraints || calls->constraints(device, &min, &max))
		return;
	card->min_mw = min;
	card->max_mw = max;
}

static void ask_card(const struct calls *calls, struct nvml_card *card)
{
	unsigned long long memory[3];	/* nvmlMemory_t: total, free, used in bytes */
	nvml_device device;
	unsigned int value;
	int offset;

	if (calls->by_bus(card->bdf, &device))
		return;

	card->known = true;
	card->locks_clocks = calls->locks_clocks;
	card->sets_fan = calls->sets_fan;
	if (calls->temperature && !calls->temperature(device, TEMPERATURE_GPU, &value))
		card->celsius = value;
	if (calls->threshold && !calls->threshold(device, THRESHOLD_SLOWDOWN, &value))
		card->slow_celsius = value;
	card->has_fan = calls->fan && !calls->fan(device, &value);
	if (card->has_fan)
		card->fan_percent = value;
	ask_power(calls, device, card);
	if (calls->max_clock && !calls->max_clock(device, CLOCK_GRAPHICS, &value))
		card->max_mhz = value;
	if (calls->memory && !calls->memory(device, memory))
		card->memory_mib = (unsigned int)(memory[0] >> 20);
	card->offset_reads = calls->sets_offset && calls->offset && !calls->offset(device, &offset);
	if (!calls->vbios || calls->vbios(device, card->vbios, sizeof(card->vbios)))
		card->vbios[0] = '\0';
}

static _Noreturn void child(struct nvml *shared)
{
	struct calls calls = { 0 };
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!library_open(&calls) || calls.init())
		_exit(EXIT_FAILURE);

	shared->simulated = calls.simulated;
	for (i = 0; i < shared->nr; i++)
		ask_card(&calls, &shared->card[i]);
	calls.shutdown();
	_exit(EXIT_SUCCESS);
}

static int wait_child(pid_t pid, int deadline_ms)
{
	long long until_ms = util_now_ms() + deadline_ms;
	int status;

	while (util_now_ms() < until_ms) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ENOENT;
		poll(NULL, 0, REAP_LOOK_MS);
	}

	/* Stuck in the driver it cannot even be killed: nobody waits for it. */
	kill(pid, SIGKILL);
	waitpid(pid, &status, WNOHANG);
	return -ETIMEDOUT;
}

/**
 * nvml_read - ask NVML about cards
 * @nvml:	.card[].bdf and .nr filled in; the rest is filled on success
 * @deadline_ms: how long it may take
 *
 * Return:
 * * %0		- answered; cards that NVML does not know are not .known
 * * %-ENOENT	- no library, no driver, or the library crashed
 * * %-ETIMEDOUT - no answer in time
 * * %-ENOMEM, %-EAGAIN - this machine could not start a child
 */
int nvml_read(struct nvml *nvml, int deadline_ms)
{
	struct nvml *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	int ret;

	if (shared == MAP_FAILED)
		return -ENOMEM;

	*shared = *nvml;
	fflush(NULL);
	pid = fork();
	if (!pid)
		child(shared);
	ret = pid < 0 ? -errno : wait_child(pid, deadline_ms);
	if (!ret)
		*nvml = *shared;

	munmap(shared, sizeof(*shared));
	return ret;
}
