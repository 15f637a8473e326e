/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What NVML measures of one card while it is tested, by a process of its own: the library may hang with the card, and the
 * verdict must not wait for it. Judges nothing.
 */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "respawn.h"

/* X(enumerator, word, unit in the word); the words are interface (JSON). What NVML does not offer is not available. */
#define TELEMETRY_CHANNELS(X)				\
	X(TELEMETRY_TEMPERATURE,	"temperature_c")	\
	X(TELEMETRY_POWER,		"power_mw")		\
	X(TELEMETRY_FAN,		"fan_percent")		\
	X(TELEMETRY_SM_CLOCK,		"sm_mhz")		\
	X(TELEMETRY_MEMORY_CLOCK,	"memory_mhz")

enum telemetry_channel {
#define X(id, word) id,
	TELEMETRY_CHANNELS(X)
#undef X
	TELEMETRY_NR_CHANNELS,
};

/* Bits of NVML's throttle reasons (nvmlClocksThrottleReason*). */
#define THROTTLE_HW_SLOWDOWN	0x8
#define THROTTLE_HW_THERMAL	0x40
#define THROTTLE_POWER_BRAKE	0x80

#define TELEMETRY_TREND_MAX	64

/**
 * struct telemetry_range - one channel over the test
 * @known:	NVML offers it
 * @now:	last value
 * @min:	lowest
 * @max:	highest
 */
struct telemetry_range {
	bool known;
	uint32_t now;
	uint32_t min;
	uint32_t max;
};

/**
 * struct telemetry_point - one moment of the trend
 * @seconds:	since the telemetry began
 * @celsius:	temperature, 0 = not known
 * @milliwatts:	power, 0 = not known
 * @sm_mhz:	clock, 0 = not known
 */
struct telemetry_point {
	uint32_t seconds;
	uint32_t celsius;
	uint32_t milliwatts;
	uint32_t sm_mhz;
};

/**
 * struct telemetry - what was measured so far
 * @simulated:	the library says of itself that it is a stand-in
 * @samples:	rounds of questions that were answered; 0 = nothing is known
 * @range:	by channel
 * @throttle_known: @throttle is offered
 * @throttle:	all reasons seen, as NVML's bits
 * @replays_known: the replay counter is offered
 * @replays_first: the counter when the telemetry began
 * @replays:	the counter now
 * @nr_trend:	points of @trend
 * @trend_step:	samples from one point to the next
 * @trend:	the whole test in at most TELEMETRY_TREND_MAX points
 */
struct telemetry {
	bool simulated;
	uint32_t samples;
	struct telemetry_range range[TELEMETRY_NR_CHANNELS];
	bool throttle_known;
	uint64_t throttle;
	bool replays_known;
	uint32_t replays_first;
	uint32_t replays;
	uint32_t nr_trend;
	uint32_t trend_step;
	struct telemetry_point trend[TELEMETRY_TREND_MAX];
};

struct telemetry_page;

/**
 * struct telemetry_watch - the process that asks
 * @spawn:	the process
 * @page:	shared with it, NULL = could not be started
 */
struct telemetry_watch {
	struct respawn spawn;
	struct telemetry_page *page;
};

/* The hidden command: main() hands over to telemetry_child() when argv[1] is this word. */
#define TELEMETRY_CHILD_COMMAND	"nvml-child"

void telemetry_start(const char *bdf, unsigned int interval_ms, struct telemetry_watch *ret);
void telemetry_read(const struct telemetry_watch *watch, struct telemetry *ret);
void telemetry_stop(struct telemetry_watch *watch, struct telemetry *ret);

const char *telemetry_channel_word(enum telemetry_channel channel);

/* The child's side; the value is an exit status. */
int telemetry_child(void);

#endif
