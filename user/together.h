/* SPDX-License-Identifier: GPL-2.0-only */
/* Cards that share an uplink: who they are, and what their copying at once came to. Pure. */
#ifndef TOGETHER_H
#define TOGETHER_H

#include "job.h"

bool together_find(struct job *jobs, size_t nr, size_t from, char *ret_port, size_t size);
bool together_is_under(const struct job *job, const char *port);
void together_judge(struct job *jobs, size_t nr, const char *port, unsigned int carries_mbs);

#endif
