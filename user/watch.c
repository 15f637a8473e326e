// SPDX-License-Identifier: GPL-2.0-only
/* Waiting for a change of a device, without missing one and without waiting for ever. */
#include "watch.h"

#include <errno.h>
#include <libudev.h>
#include <poll.h>

#include "util.h"

/* Where no udevd runs there are no events: the caller looks for itself this often. */
#define LOOK_MS	500

struct watch {
	struct udev *udev;
	struct udev_monitor *monitor;
	int cancel_fd;
};

/**
 * watch_open - start to collect events of PCI devices
 * @cancel_fd:	readable = stop waiting; -1 = none
 *
 * To be called before the first look at what is waited for, so that no change falls in between.
 *
 * Return: to be closed with watch_close(); works by looking alone when events cannot be had.
 */
struct watch *watch_open(int cancel_fd)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		abort();

	watch->cancel_fd = cancel_fd;
	watch->udev = udev_new();
	if (watch->udev)
		watch->monitor = udev_monitor_new_from_netlink(watch->udev, "udev");
	if (!watch->monitor)
		return watch;

	if (udev_monitor_filter_add_match_subsystem_devtype(watch->monitor, "pci", NULL) < 0 ||
	    udev_monitor_enable_receiving(watch->monitor) < 0) {
		udev_monitor_unref(watch->monitor);
		watch->monitor = NULL;
	}

	return watch;
}

static void drain(struct udev_monitor *monitor)
{
	struct udev_device *device;

	while ((device = udev_monitor_receive_device(monitor)))
		udev_device_unref(device);
}

/**
 * watch_wait - sleep until it is worth looking again
 * @watch:	the watch
 * @until_ms:	end of patience, on util_now_ms()'s clock
 *
 * Return:
 * * %0		- look again
 * * %-ETIMEDOUT - @until_ms is over
 * * %-ECANCELED - the caller's cancel descriptor is readable
 */
int watch_wait(struct watch *watch, long long until_ms)
{
	struct pollfd fds[] = {
		{ .fd = watch->cancel_fd, .events = POLLIN },
		{ .fd = watch->monitor ? udev_monitor_get_fd(watch->monitor) : -1, .events = POLLIN },
	};
	long long left = until_ms - util_now_ms();

	if (left <= 0)
		return -ETIMEDOUT;

	if (poll(fds, ARRAY_SIZE(fds), left < LOOK_MS ? (int)left : LOOK_MS) > 0) {
		if (fds[0].revents)
			return -ECANCELED;
		if (fds[1].revents)
			drain(watch->monitor);
	}

	return 0;
}

void watch_close(struct watch *watch)
{
	udev_monitor_unref(watch->monitor);
	udev_unref(watch->udev);
	free(watch);
}
