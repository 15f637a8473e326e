/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This program once more, as a process that may hang or die: it holds nothing of its parent but shared memory. Knows
 * nothing of what the process does.
 */
#ifndef RESPAWN_H
#define RESPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Descriptors of such a process: the shared memory, and an eventfd that wakes the parent (or /dev/null). */
#define RESPAWN_PAGE_FD	3
#define RESPAWN_KICK_FD	4

/**
 * struct respawn - such a process
 * @pid:	its id, 0 = never started
 * @pidfd:	becomes readable when it has ended
 */
struct respawn {
	pid_t pid;
	int pidfd;
};

int respawn_start(const char *command, int page_fd, int kick_fd, struct respawn *ret);
bool respawn_has_ended(const struct respawn *spawn, unsigned int ms);
void respawn_signal(const struct respawn *spawn, int sig);
void respawn_close(struct respawn *spawn);

#endif
