/* SPDX-License-Identifier: GPL-2.0-only */
/* Why does it not work? What the groups of checks share. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "bind.h"
#include "command.h"
#include "compat.h"
#include "host.h"
#include "inventory.h"
#include "stack.h"

/**
 * struct doctor - one look at the host
 * @options:	the command line
 * @result:	rows: every NVIDIA display function; gets findings and facts
 * @settings:	configuration
 * @stack:	what is installed
 * @facts:	what every card has in common: Secure Boot, lockdown, loaded module, license
 * @compat:	what all NVIDIA GPUs of the host can live with
 * @common:	one driver can drive all of them
 * @inventory:	listed cards that were there before
 * @unseen:	what could not be looked at, as a list in words
 */
struct doctor {
	const struct options *options;
	struct result *result;
	struct settings settings;
	struct stack stack;
	struct bind_facts facts;
	struct compat compat;
	bool common;
	struct inventory inventory;
	char unseen[384];
};

/**
 * struct link_end - one end of a link; 0 = not known
 * @speed_mts:	MT/s now
 * @width:	lanes now
 * @max_mts:	MT/s that this end claims
 * @max_width:	lanes that this end claims
 */
struct link_end {
	unsigned int speed_mts;
	unsigned int width;
	unsigned int max_mts;
	unsigned int max_width;
};

struct link_end doctor_link_end(const char *bdf);
void doctor_look(struct doctor *doctor, const struct options *options, struct result *result);
void doctor_unseen(struct doctor *doctor, const char *format, ...) PRINTF_LIKE(2, 3);

void doctor_driver_lines(const struct card *card, char *buf, size_t size);

void doctor_boot(struct doctor *doctor);
void doctor_driver(struct doctor *doctor);
void doctor_link(struct doctor *doctor);
void doctor_log(struct doctor *doctor);
void doctor_host(struct doctor *doctor);

#endif
