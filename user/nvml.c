// SPDX-License-Identifier: GPL-2.0-only
/*
 * What NVML says of cards, asked by a child process with a deadline: the library may hang with a card that is lost, and it
 * is not ours. Changes no setting.
 */
#include "nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAP_LOOK_MS		20

/**
 * nvml_open - load the library into this process, which may hang or die of it from then on
 * @ret_calls:	filled on success
 *
 * Return: false when there is no library, or one without the calls that everything else needs.
 */
bool nvml_open(struct nvml_calls *ret_calls)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	struct nvml_calls calls = { 0 };

	if (!library)
		return false;

#define X(name, member, arguments) *(void **)&calls.member = dlsym(library, name);
	NVML_CALLS(X)
#undef X
	if (!calls.init || !calls.by_bus) {
		dlclose(library);
		return false;
	}

	calls.locks_clocks = dlsym(library, "nvmlDeviceSetGpuLockedClocks");
	calls.sets_fan = dlsym(library, "nvmlDeviceSetFanSpeed_v2");
	calls.sets_offset = dlsym(library, "nvmlDeviceSetGpcClkVfOffset");
	calls.simulated = dlsym(library, "softtape_simulated");
	*ret_calls = calls;
	return true;
}

/* Each answer counts when the call is there and returns 0 (NVML_SUCCESS). */
static void ask_power(const struct nvml_calls *calls, nvml_device device, struct nvml_card *card)
{
	unsigned int min, max, value;

	if (calls->limit && !calls->limit(device, &value))
		card->limit_mw = value;
	if (calls->default_limit && !calls->default_limit(device, &value))
		card->default_mw = value;
	if (!calls->constraints || calls->constraints(device, &min, &max))
		return;
	card->min_mw = min;
	card->max_mw = max;
}

static void ask_card(const struct nvml_calls *calls, struct nvml_card *card)
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
	if (calls->temperature && !calls->temperature(device, NVML_SENSOR_GPU, &value))
		card->celsius = value;
	if (calls->threshold && !calls->threshold(device, NVML_THRESHOLD_SLOWDOWN, &value))
		card->slow_celsius = value;
	card->has_fan = calls->fan && !calls->fan(device, &value);
	if (card->has_fan)
		card->fan_percent = value;
	ask_power(calls, device, card);
	if (calls->max_clock && !calls->max_clock(device, NVML_CLOCK_GRAPHICS, &value))
		card->max_mhz = value;
	if (calls->memory && !calls->memory(device, memory))
		card->memory_mib = (unsigned int)(memory[0] >> 20);
	card->offset_reads = calls->sets_offset && calls->offset && !calls->offset(device, &offset);
	if (!calls->vbios || calls->vbios(device, card->vbios, sizeof(card->vbios)))
		card->vbios[0] = '\0';
}

/* One that hangs in the driver cannot be killed: a reader of our output must not wait for it. */
static void drop_descriptors(void)
{
	int fd, null_fd = open("/dev/null", O_RDWR);

	for (fd = 0; fd <= 2; fd++)
		dup2(null_fd, fd);
	close_range(3, ~0U, 0);
}

static _Noreturn void child(struct nvml *shared)
{
	struct nvml_calls calls;
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	drop_descriptors();
	if (!nvml_open(&calls) || calls.init())
		_exit(EXIT_FAILURE);

	shared->simulated = calls.simulated;
	for (i = 0; i < shared->nr; i++)
		ask_card(&calls, &shared->card[i]);
	if (calls.shutdown)
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
