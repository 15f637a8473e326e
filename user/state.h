/* SPDX-License-Identifier: GPL-2.0-only */
/* Files and locks that outlive a process: last verdict per card, slots for tests at once. Judges nothing. */
#ifndef STATE_H
#define STATE_H

#include "result.h"

int state_replace_file(int dir_fd, const char *name, const char *text);
int state_write(const struct row *row);
int state_read(const char *bdf, struct row *ret_row);
void state_forget(const char *bdf);
void state_attach(struct row *row);
int state_each(int (*take)(const char *bdf, void *data), void *data);

void state_note_unplug(const char *bdf);
void state_each_unplug(void (*take)(const char *bdf, long long when, void *data), void *data);

int state_lock_card(const struct card *card, char *holder, size_t size);
bool state_take_turn(const char *name, unsigned int gap_ms);
int state_try_all_slots(unsigned int max, int *fds, unsigned int *held);
int state_try_slot(unsigned int max);

unsigned long long state_pid_ticks(int pid);

#endif
