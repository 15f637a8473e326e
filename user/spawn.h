/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This program once more, as a process that may hang or die: it holds nothing of its parent but shared memory. Knows
 * nothing of what the process does.
 */
#ifndef SPAWN_H
#define SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Descriptors of such a process: the shared memory, and an eventfd that wakes the parent (or /dev/null). */
#define SPAWN_PAGE_FD	3
#define SPAWN_KICK_FD	4

/**
 * struct spawn - such a process
 * @pid:	its id, 0 = never started
 * @pidfd:	becomes readable when it has ended
 */
struct spawn {
	pid_t pid;
	int pidfd;
};

int spawn_start(const char *command, int page_fd, int kick_fd, struct spawn *ret);
bool spawn_has_ended(const struct spawn *spawn, unsigned int ms);
void spawn_signal(const struct spawn *spawn, int sig);
void spawn_close(struct spawn *spawn);

#endif
