/* SPDX-License-Identifier: GPL-2.0-only */
/* The check of one card, from lock to verdict, in a process of its own. */
#ifndef JOB_H
#define JOB_H

#include <stdatomic.h>

#include "command.h"

/**
 * struct meeting - cards that are to copy at the same time; shared between their processes
 * @cards:	how many there are
 * @ready:	that wait for the others
 * @gone:	that will not come
 */
struct meeting {
	unsigned int cards;
	_Atomic unsigned int ready;
	_Atomic unsigned int gone;
};

/**
 * struct job - shared between the process that checks a card and the one that waits for it
 * @card:	the card, renewed while the check runs
 * @outcome:	what is known so far; complete when its run is done or interrupted
 * @deadline_ms: when the present step must be over, on util_now_ms()'s clock; 0 = it may wait
 * @level:	how much to test
 * @wait_s:	seconds to wait for the driver
 * @max_parallel: slots, 0 = no limit
 * @inject:	corrupt words on purpose
 * @soak_ms:	length of the soak, 0 = the level's
 * @force:	test a card that others use
 * @foreign:	another check has the card: its state file is not ours to write
 * @meeting:	for job_together()
 * @state_error: what kept the state file from being written, as errno; 0 = nothing
 */
struct job {
	struct card card;
	struct outcome outcome;
	long long deadline_ms;
	enum level level;
	unsigned int wait_s;
	unsigned int max_parallel;
	enum selftest_inject inject;
	unsigned long long soak_ms;
	bool force;
	bool foreign;
	struct meeting *meeting;
	int state_error;
};

void job_run(struct job *job, int cancel_fd);
void job_together(struct job *job, int cancel_fd);
void job_abandon(struct job *job, const char *why);
void job_store(struct job *job);

#endif
