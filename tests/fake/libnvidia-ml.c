// SPDX-License-Identifier: GPL-2.0-only
/*
 * A simulated libnvidia-ml.so.1 for tests and the demo: it stands where a driver would have put one, finds bound
 * cards and tells what the script (script.h) says. Says so through softtape_simulated. SOFTTAPE_FAKE_NVML="celsius=93
 * fan=0" sets what else it tells; without a word of it the card is cool and draws little.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "script.h"

#define EXPORT __attribute__((visibility("default")))

/* Codes of nvmlReturn_t. */
#define INVALID_ARGUMENT	2
#define NOT_SUPPORTED		3
#define NOT_FOUND		6
#define DRIVER_NOT_LOADED	9

EXPORT const int softtape_simulated = 1;

EXPORT int nvmlInit_v2(void)
{
	SCRIPTED();
	return script.force || !access("/proc/driver/nvidia/version", F_OK) ? 0 : DRIVER_NOT_LOADED;
}

EXPORT int nvmlShutdown(void)
{
	SCRIPTED();
	return 0;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bdf, const void **device)
{
	static char known[32];
	char path[100], target[200];
	ssize_t len;

	SCRIPTED();
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.12s/driver", bdf);
	len = readlink(path, target, sizeof(target) - 1);
	if (!script.force && (len < 7 || strncmp(target + len - 7, "/nvidia", 7)))
		return NOT_FOUND;
	snprintf(known, sizeof(known), "%s", bdf);
	*device = known;
	return 0;
}

/* The number behind "word=" of the script, or @usual. */
static long scripted(const char *word, long usual)
{
	const char *script = getenv("SOFTTAPE_FAKE_NVML"), *found = script ? strstr(script, word) : NULL;

	return found ? atol(found + strlen(word)) : usual;
}

static int tell(const void *device, long value, unsigned int *to)
{
	if (!device)
		return INVALID_ARGUMENT;
	if (value < 0)
		return NOT_SUPPORTED;
	*to = (unsigned int)value;
	return 0;
}

EXPORT int nvmlDeviceGetTemperature(const void *device, int sensor, unsigned int *celsius)
{
	SCRIPTED();
	return sensor ? INVALID_ARGUMENT : tell(device, scripted("celsius=", script.temp), celsius);
}

EXPORT int nvmlDeviceGetTemperatureThreshold(const void *device, int threshold, unsigned int *celsius)
{
	if (!device || threshold > 1)
		return INVALID_ARGUMENT;
	*celsius = threshold ? 96 : 99;
	return 0;
}

EXPORT int nvmlDeviceGetFanSpeed(const void *device, unsigned int *percent)
{
	SCRIPTED();
	return tell(device, scripted("fan=", script.fan), percent);
}

EXPORT int nvmlDeviceGetPowerManagementLimit(const void *device, unsigned int *milliwatts)
{
	if (!device)
		return INVALID_ARGUMENT;
	*milliwatts = (unsigned int)scripted("limit=", 180) * 1000;
	return 0;
}

EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(const void *device, unsigned int *milliwatts)
{
	if (!device)
		return INVALID_ARGUMENT;
	*milliwatts = 180000;
	return 0;
}

EXPORT int nvmlDeviceGetPowerManagementLimitConstraints(const void *device, unsigned int *min, unsigned int *max)
{
	if (!device)
		return INVALID_ARGUMENT;
	*min = 90000;
	*max = 217000;
	return 0;
}

EXPORT int nvmlDeviceGetPowerUsage(const void *device, unsigned int *milliwatts)
{
	SCRIPTED();
	return tell(device, script.power, milliwatts);
}

/* 0 = graphics, 1 = SM, 2 = memory. */
EXPORT int nvmlDeviceGetClockInfo(const void *device, int type, unsigned int *mhz)
{
	SCRIPTED();
	return tell(device, type == 2 ? script.memmhz : script.smclock, mhz);
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(const void *device, unsigned long long *reasons)
{
	unsigned int mask;
	int code;

	SCRIPTED();
	code = tell(device, script.throttle, &mask);
	if (!code)
		*reasons = mask;
	return code;
}

/* Rises with time, so that it does not matter how often it is read. */
EXPORT int nvmlDeviceGetPcieReplayCounter(const void *device, unsigned int *replays)
{
	static struct timespec start;
	struct timespec now;

	SCRIPTED();
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!start.tv_sec)
		start = now;
	return tell(device, script.replay < 0 ? -1 : script.replay * ((now.tv_sec - start.tv_sec) * 1000 +
								       (now.tv_nsec - start.tv_nsec) / 1000000), replays);
}

EXPORT int nvmlDeviceGetMemoryInfo(const void *device, unsigned long long *memory)
{
	if (!device)
		return INVALID_ARGUMENT;
	memory[0] = (unsigned long long)scripted("memory=", 4096) << 20;
	memory[1] = memory[0];
	memory[2] = 0;
	return 0;
}

EXPORT int nvmlDeviceGetVbiosVersion(const void *device, char *version, unsigned int size)
{
	if (!device)
		return INVALID_ARGUMENT;
	snprintf(version, size, "86.04.7A.00.01");
	return 0;
}

/* There to be found; whoever calls it has a mistake. */
EXPORT int nvmlDeviceSetGpcClkVfOffset(const void *device, int offset)
{
	(void)device;
	(void)offset;
	abort();
}

EXPORT int nvmlDeviceGetGpcClkVfOffset(const void *device, int *offset)
{
	if (!device)
		return INVALID_ARGUMENT;
	*offset = 0;
	return 0;
}
