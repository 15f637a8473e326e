/* SPDX-License-Identifier: GPL-2.0-only */
/* Cards as this machine shows them, or as a dump does: identity, link, driver, quirk state. Decides nothing. */
#ifndef CARD_H
#define CARD_H

#include "config.h"
#include "dump.h"
#include "finding.h"

#define CARD_PATH_MAX	256
#define CARD_WORD_MAX	SOFTTAPE_SMBUS_TEXT_MAX	/* the longest value the module shows */

/**
 * struct card - one card
 * @address:	its PCI address
 * @bdf:	the same as text
 * @port:	address of the bridge above as text, empty = none known
 * @port_gone:	no bridge above in the dump, but a device that reads all ones and may be it
 * @vendor:	PCI vendor id
 * @device:	PCI device id
 * @class_code:	24-bit class code
 * @row:	its row; NULL when it is no mining card
 * @name:	product name
 * @link:	registers of both ends
 * @view:	the same in words; speed and width also where registers may not be read
 * @flaw:	what kept registers from being found
 * @config_size: bytes of config space that could be read
 * @gone:	config space reads all ones
 * @line:	where a card of a dump is in its text, from 1; 0 = not of a dump
 * @again:	another card of the dump has the same address
 * @syspath:	folder in sysfs, empty for a card of a dump
 * @driver:	name of the bound driver, empty = none
 * @claimed:	the module shows a softtape folder for it
 * @quirk:	values of that folder, indexed by enum softtape_field; empty = not read
 * @report:	the module's whole text with reasons; empty = not read
 */
struct card {
	struct address address;
	char bdf[ADDRESS_MAX];
	char port[ADDRESS_MAX];
	bool port_gone;
	__u16 vendor;
	__u16 device;
	__u32 class_code;
	const struct softtape_card *row;
	char name[CARD_WORD_MAX];
	struct softtape_link link;
	struct softtape_view view;
	enum config_flaw flaw;
	size_t config_size;
	bool gone;
	unsigned long line;
	bool again;
	char syspath[CARD_PATH_MAX];
	char driver[CARD_WORD_MAX];
	bool claimed;
	char quirk[SOFTTAPE_NR_FIELDS][CARD_WORD_MAX];
	char report[SOFTTAPE_LINE_MAX];
};

struct card_list {
	struct card *item;
	size_t nr;
	size_t room;
};

int card_discover(const struct softtape_policy *policy, bool any, struct card_list *ret_list);
int card_open(const struct softtape_policy *policy, const struct address *address, struct card *ret_card);
void card_read_driver(struct card *card);
void card_read_quirks(struct card *card);
void card_read_link(struct card *card);
void card_path(const struct card *card, const char *file, char *buf, size_t size);

int card_from_dump(const struct softtape_policy *policy, const struct dump *dump, struct card_list *ret_list,
		   struct finding_list *findings);
void card_list_free(struct card_list *list);

#endif
