/* SPDX-License-Identifier: GPL-2.0-only */
/* What NVML says of cards, asked by a child process with a deadline. */
#ifndef NVML_H
#define NVML_H

#include <stdbool.h>
#include <stddef.h>

#include "util.h"

#define NVML_CARDS_MAX	64

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
 * @draw_mw:	power now
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
	unsigned int draw_mw;
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

int nvml_read(struct nvml *nvml, int deadline_ms);

#endif
