/* SPDX-License-Identifier: GPL-2.0-only */
/* What a card's board is as it was sold: power, plugs, memory. The one table of it. */
#ifndef BOARD_H
#define BOARD_H

/**
 * struct board - one product
 * @name:	as in the card list
 * @power_w:	power it was sold with, watts
 * @plugs:	power plugs
 * @memory_mib:	memory it was sold with; a second size or 0
 * @changed_mib: memory seen after somebody changed its VBIOS; 0 = not heard of
 * @source:	where this is from
 */
struct board {
	const char *name;
	unsigned int power_w;
	const char *plugs;
	unsigned int memory_mib[2];
	unsigned int changed_mib;
	const char *source;
};

const struct board *board_find(const char *name);

#endif
