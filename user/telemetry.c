// SPDX-License-Identifier: GPL-2.0-only
/*
 * What NVML measures of one card while it is tested, by a process of its own. The parent only reads memory: nothing here
 * waits for the library.
 */
#include "telemetry.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "nvml.h"

#define TELEMETRY_MAGIC		0x73667465

/* A process that does not stop within this is killed, and not waited for any longer than that again. */
#define STOP_MS			250

/* Tries to read a set of values that nobody is writing just then. */
#define READ_TRIES		1000

/**
 * struct telemetry_page - shared with the child
 * @magic:	TELEMETRY_MAGIC
 * @bdf:	the card
 * @interval_ms: between two rounds
 * @stop:	set by the parent
 * @turn:	odd while the child writes
 * @data:	what was measured
 */
struct telemetry_page {
	uint32_t magic;
	char bdf[20];
	uint32_t interval_ms;
	_Atomic uint32_t stop;
	_Atomic uint32_t turn;
	struct telemetry data;
};

const char *telemetry_channel_word(enum telemetry_channel channel)
{
	static const char *const words[] = {
#define X(id, word) [id] = word,
		TELEMETRY_CHANNELS(X)
#undef X
	};

	return words[channel];
}

/* ---- the parent ---- */

/**
 * telemetry_start - begin to measure
 * @bdf:	the card
 * @interval_ms: between two rounds of questions
 * @ret:	filled; to be stopped. What cannot be started measures nothing
 */
void telemetry_start(const char *bdf, unsigned int interval_ms, struct telemetry_watch *ret)
{
	struct telemetry_page *page = MAP_FAILED;
	int fd = memfd_create("softtape-nvml", MFD_CLOEXEC);

	*ret = (struct telemetry_watch){ .spawn.pidfd = -1 };
	if (fd >= 0 && !ftruncate(fd, sizeof(*page)))
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		page->magic = TELEMETRY_MAGIC;
		page->interval_ms = interval_ms;
		snprintf(page->bdf, sizeof(page->bdf), "%s", bdf);
		ret->page = page;
		respawn_start(TELEMETRY_CHILD_COMMAND, fd, -1, &ret->spawn);
	}
	if (fd >= 0)
		close(fd);
}

/**
 * telemetry_read - what was measured so far
 * @watch:	of telemetry_start()
 * @ret:	filled; its numbers are in range whatever the other process wrote
 */
void telemetry_read(const struct telemetry_watch *watch, struct telemetry *ret)
{
	unsigned int tries = READ_TRIES, before;

	memset(ret, 0, sizeof(*ret));
	if (!watch->page)
		return;
	do {
		before = atomic_load(&watch->page->turn);
		memcpy(ret, &watch->page->data, sizeof(*ret));
		atomic_thread_fence(memory_order_acquire);
	} while ((before & 1 || before != atomic_load(&watch->page->turn)) && --tries);
	/* A child that died while it wrote has left half of a round. */
	if (!tries)
		memset(ret, 0, sizeof(*ret));
	if (ret->nr_trend > TELEMETRY_TREND_MAX)
		ret->nr_trend = TELEMETRY_TREND_MAX;
}

/**
 * telemetry_stop - end it, and read what was measured in all
 * @watch:	of telemetry_start()
 * @ret:	filled as by telemetry_read()
 *
 * Takes at most twice STOP_MS; a process in the driver that cannot be killed is left behind.
 */
void telemetry_stop(struct telemetry_watch *watch, struct telemetry *ret)
{
	if (watch->page)
		atomic_store(&watch->page->stop, 1);
	if (watch->spawn.pidfd >= 0 && !respawn_has_ended(&watch->spawn, STOP_MS)) {
		respawn_signal(&watch->spawn, SIGKILL);
		respawn_has_ended(&watch->spawn, STOP_MS);
	}
	respawn_close(&watch->spawn);
	telemetry_read(watch, ret);
	if (watch->page)
		munmap(watch->page, sizeof(*watch->page));
	watch->page = NULL;
}

/* ---- the child ---- */

/* @value holds an answer when @code says so. */
static void take(struct telemetry_range *range, int code, const unsigned int *value)
{
	/* NOT_SUPPORTED and any other trouble of one question: no value this time. */
	if (code)
		return;
	if (!range->known || *value < range->min)
		range->min = *value;
	if (!range->known || *value > range->max)
		range->max = *value;
	range->now = *value;
	range->known = true;
}

/* All questions of a round first, so that the page is not half written while the library thinks. */
static void ask(const struct nvml_calls *calls, nvml_device device, struct telemetry *data)
{
	unsigned long long reasons = 0;
	unsigned int value = 0;

	if (calls->temperature)
		take(&data->range[TELEMETRY_TEMPERATURE], calls->temperature(device, NVML_SENSOR_GPU, &value), &value);
	if (calls->power)
		take(&data->range[TELEMETRY_POWER], calls->power(device, &value), &value);
	if (calls->fan)
		take(&data->range[TELEMETRY_FAN], calls->fan(device, &value), &value);
	if (calls->clock)
		take(&data->range[TELEMETRY_SM_CLOCK], calls->clock(device, NVML_CLOCK_SM, &value), &value);
	if (calls->clock)
		take(&data->range[TELEMETRY_MEMORY_CLOCK], calls->clock(device, NVML_CLOCK_MEM, &value), &value);
	if (calls->throttle && !calls->throttle(device, &reasons)) {
		data->throttle_known = true;
		data->throttle |= reasons;
	}
	if (!calls->replays || calls->replays(device, &value))
		return;
	if (!data->replays_known)
		data->replays_first = value;
	data->replays_known = true;
	data->replays = value;
}

/* Keeps the whole test: when the points are used up, every second one goes and the step doubles. */
static void add_point(struct telemetry *data, uint32_t seconds)
{
	struct telemetry_point *point;

	if (!data->trend_step)
		data->trend_step = 1;
	if (data->samples % data->trend_step)
		return;
	if (data->nr_trend == TELEMETRY_TREND_MAX) {
		for (uint32_t i = 0; i < TELEMETRY_TREND_MAX / 2; i++)
			data->trend[i] = data->trend[2 * i];
		data->nr_trend /= 2;
		data->trend_step *= 2;
	}
	point = &data->trend[data->nr_trend++];
	point->seconds = seconds;
	point->celsius = data->range[TELEMETRY_TEMPERATURE].now;
	point->milliwatts = data->range[TELEMETRY_POWER].now;
	point->sm_mhz = data->range[TELEMETRY_SM_CLOCK].now;
}

static void publish(struct telemetry_page *page, const struct telemetry *data)
{
	atomic_fetch_add(&page->turn, 1);
	memcpy(&page->data, data, sizeof(*data));
	atomic_fetch_add(&page->turn, 1);
}

static void wait_ms(struct telemetry_page *page, unsigned int ms)
{
	const struct timespec pause = { .tv_nsec = 10000000 };

	for (; ms >= 10 && !atomic_load(&page->stop); ms -= 10)
		nanosleep(&pause, NULL);
}

static int measure(struct telemetry_page *page)
{
	struct telemetry data = { 0 };
	struct nvml_calls calls;
	nvml_device device;
	long long start_ms = util_now_ms();
	bool last;

	if (!nvml_open(&calls) || calls.init() || calls.by_bus(page->bdf, &device))
		return 1;
	data.simulated = calls.simulated;
	/* The last round begins after the test has ended, so that what counts up is seen to its end. */
	do {
		last = atomic_load(&page->stop);
		ask(&calls, device, &data);
		add_point(&data, (uint32_t)((util_now_ms() - start_ms) / 1000));
		data.samples++;
		publish(page, &data);
		wait_ms(page, page->interval_ms);
	} while (!last);
	return 0;
}

int telemetry_child(void)
{
	struct telemetry_page *page;

	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, RESPAWN_PAGE_FD, 0);
	if (page == MAP_FAILED || page->magic != TELEMETRY_MAGIC) {
		fputs("softtape: this command is not for people\n", stderr);
		return 2;
	}
	/* Not closed and not shut down: the library may go wrong there too. */
	_exit(measure(page));
}
