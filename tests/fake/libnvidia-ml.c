// SPDX-License-Identifier: GPL-2.0-only
/*
 * A simulated libnvidia-ml.so.1 for tests and the demo: it stands where a driver would have put one, finds bound
 * cards and tells a temperature. Says so through softtape_simulated.
 */
#include <stdio.h>
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

EXPORT int nvmlDeviceGetTemperature(const void *device, int sensor, unsigned int *celsius)
{
	if (!device || sensor)
		return INVALID_ARGUMENT;
	*celsius = 45;
	return 0;
}
