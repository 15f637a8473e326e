// SPDX-License-Identifier: GPL-2.0-only
/*
 * A simulated libnvidia-ml.so.1 for tests and the demo: it stands where a driver would have put one, finds bound
 * cards and tells a temperature. Says so through softtape_simulated. SOFTTAPE_FAKE_NVML="celsius=93 fan=0" sets what it
 * tells; without a word of it the card is cool and draws little.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Codes of nvmlReturn_t. */
#define INVALID_ARGUMENT	2
#define NOT_FOUND		6
#define DRIVER_NOT_LOADED	9

EXPORT const int softtape_simulated = 1;

EXPORT int nvmlInit_v2(void)
{
	return access("/proc/driver/nvidia/version", F_OK) ? DRIVER_NOT_LOADED : 0;
}

EXPORT int nvmlShutdown(void)
{
	return 0;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bdf, const void **device)
{
	static char known[32];
	char path[100], target[200];
	ssize_t len;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.12s/driver", bdf);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 7 || strncmp(target + len - 7, "/nvidia", 7))
		return NOT_FOUND;
	snprintf(known, sizeof(known), "%s", bdf);
	*device = known;
	return 0;
}

/* The number behind "word=" of the script, or @usual. */
static unsigned int scripted(const char *word, unsigned int usual)
{
	const char *script = getenv("SOFTTAPE_FAKE_NVML"), *found = script ? strstr(script, word) : NULL;

	return found ? (unsigned int)atoi(found + strlen(word)) : usual;
}

EXPORT int nvmlDeviceGetTemperature(const void *device, int sensor, unsigned int *celsius)
{
	if (!device || sensor)
		return INVALID_ARGUMENT;
	*celsius = scripted("celsius=", 45);
	return 0;
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
	if (!device)
		return INVALID_ARGUMENT;
	*percent = scripted("fan=", 30);
	return 0;
}

EXPORT int nvmlDeviceGetPowerManagementLimit(const void *device, unsigned int *milliwatts)
{
	if (!device)
		return INVALID_ARGUMENT;
	*milliwatts = scripted("limit=", 180) * 1000;
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
	if (!device)
		return INVALID_ARGUMENT;
	*milliwatts = 9000;
	return 0;
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

EXPORT int nvmlDeviceGetGpcClkVfOffset(const void *device, int *offset)
{
	if (!device)
		return INVALID_ARGUMENT;
	*offset = 0;
	return 0;
}
