/* SPDX-License-Identifier: GPL-2.0-only */
/* Which cards this machine had, kept over reboots. */
#ifndef INVENTORY_H
#define INVENTORY_H

#include "card.h"

#define INVENTORY_MAX	64

/**
 * struct inventory - cards that were there
 * @bdf:	address at that time
 * @device:	PCI device id, vendor 10de
 * @name:	product name
 * @nr:		their number
 * @bad_line:	first line of the file that could not be read, from 1; 0 = none
 */
struct inventory {
	struct {
		char bdf[ADDRESS_MAX];
		__u16 device;
		char name[CARD_WORD_MAX];
	} item[INVENTORY_MAX];
	size_t nr;
	unsigned int bad_line;
};

void inventory_path(char *buf, size_t size);
int inventory_read(struct inventory *ret_inventory);
void inventory_missing(const struct inventory *inventory, const struct card_list *present, struct inventory *ret_missing);
int inventory_learn(const struct card_list *present);

#endif
