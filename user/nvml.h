/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NVML: the one place that loads the library, and what it says of cards, asked by a child process with a deadline. Everything
 * that NVML is asked is asked in a process of its own: the library may hang with a card that is lost, and it is not ours.
 */
#ifndef NVML_H
#define NVML_H

#include <stdbool.h>
#include <stddef.h>

#include "util.h"

#define NVML_CARDS_MAX	64

/* nvmlTemperatureSensors_t, nvmlTemperatureThresholds_t, nvmlClockType_t. */
#define NVML_SENSOR_GPU		0
#define NVML_THRESHOLD_SLOWDOWN	1
#define NVML_CLOCK_GRAPHICS	0
#define NVML_CLOCK_SM		1
#define NVML_CLOCK_MEM		2

typedef const void *nvml_device;

/*
 * X(name as exported, member, arguments); only the first two must be there, the others are NULL in a library without them. Each
 * returns nvmlReturn_t: 0 is success, all else no answer. Present since 390 at the latest but for the offset.
 */
#define NVML_CALLS(X)											\
	X("nvmlInit_v2",				init,		(void))				\
	X("nvmlDeviceGetHandleByPciBusId_v2",		by_bus,		(const char *, nvml_device *))	\
	X("nvmlShutdown",				shutdown,	(void))				\
	X("nvmlDeviceGetTemperature",			temperature,	(nvml_device, int, unsigned int *)) \
	X("nvmlDeviceGetTemperatureThreshold",		threshold,	(nvml_device, int, unsigned int *)) \
	X("nvmlDeviceGetFanSpeed",			fan,		(nvml_device, unsigned int *))	\
	X("nvmlDeviceGetPowerManagementLimit",		limit,		(nvml_device, unsigned int *))	\
	X("nvmlDeviceGetPowerManagementDefaultLimit",	default_limit,	(nvml_device, unsigned int *))	\
	X("nvmlDeviceGetPowerManagementLimitConstraints", constraints,	(nvml_device, unsigned int *, unsigned int *)) \
	X("nvmlDeviceGetPowerUsage",			power,		(nvml_device, unsigned int *))	\
	X("nvmlDeviceGetClockInfo",			clock,		(nvml_device, int, unsigned int *)) \
	X("nvmlDeviceGetMaxClockInfo",			max_clock,	(nvml_device, int, unsigned int *)) \
	X("nvmlDeviceGetCurrentClocksThrottleReasons",	throttle,	(nvml_device, unsigned long long *)) \
	X("nvmlDeviceGetPcieReplayCounter",		replays,	(nvml_device, unsigned int *))	\
	X("nvmlDeviceGetMemoryInfo",			memory,		(nvml_device, unsigned long long *)) \
	X("nvmlDeviceGetVbiosVersion",			vbios,		(nvml_device, char *, unsigned int)) \
	X("nvmlDeviceGetGpcClkVfOffset",		offset,		(nvml_device, int *))

/**
 * struct nvml_calls - the library, loaded
 * @locks_clocks: it has the call that locks clocks (nvmlDeviceSetGpuLockedClocks)
 * @sets_fan:	it has the call that sets a fan (nvmlDeviceSetFanSpeed_v2)
 * @sets_offset: it has the call that sets a clock offset (nvmlDeviceSetGpcClkVfOffset)
 * @simulated:	it says of itself that it is a stand-in
 */
struct nvml_calls {
#define X(name, member, arguments) int (*member)arguments;
	NVML_CALLS(X)
#undef X
	bool locks_clocks;
	bool sets_fan;
	bool sets_offset;
	bool simulated;
};

/**
 * struct nvml_card - what NVML says of one card; 0 = it does not say
 * @bdf:	asked for
 * @known:	NVML has this card
 * @celsius:	temperature of the chip
 * @slow_celsius: where it slows itself down
 * @has_fan:	@fan_percent is valid
 * @fan_percent: what the fan is told to do
 * @limit_mw:	power limit now, milliwatts
 * @default_mw:	as delivered
 * @min_mw:	lowest that may be set
 * @max_mw:	highest
 * @memory_mib:	size of its memory
 * @max_mhz:	highest graphics clock
 * @locks_clocks: the library has the call that locks clocks (nvmlDeviceSetGpuLockedClocks)
 * @offset_reads: the library has the call that sets a clock offset, and what is set now was read back
 * @sets_fan:	the library has the call that sets a fan (nvmlDeviceSetFanSpeed_v2)
 * @vbios:	version of its VBIOS, empty = not told
 */
struct nvml_card {
	char bdf[ADDRESS_MAX];
	bool known;
	unsigned int celsius;
	unsigned int slow_celsius;
	bool has_fan;
	unsigned int fan_percent;
	unsigned int limit_mw;
	unsigned int default_mw;
	unsigned int min_mw;
	unsigned int max_mw;
	unsigned int memory_mib;
	unsigned int max_mhz;
	bool locks_clocks;
	bool offset_reads;
	bool sets_fan;
	char vbios[32];
};

/**
 * struct nvml - the answer
 * @simulated:	the library is a stand-in
 * @card:	in the order asked for
 * @nr:		their number
 */
struct nvml {
	bool simulated;
	struct nvml_card card[NVML_CARDS_MAX];
	size_t nr;
};

bool nvml_open(struct nvml_calls *ret_calls);
int nvml_read(struct nvml *nvml, int deadline_ms);

#endif
