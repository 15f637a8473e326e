/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting for a change of a device, without missing one and without waiting for ever. */
#ifndef WATCH_H
#define WATCH_H

struct watch;

struct watch *watch_open(int cancel_fd);
int watch_wait(struct watch *watch, long long until_ms);
void watch_close(struct watch *watch);

#endif
