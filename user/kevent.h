/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines of the kernel log that tell of a card's trouble: the driver's Xid and the port's AER. Pure: text in, values out. */
#ifndef KEVENT_H
#define KEVENT_H

#include "finding.h"

enum kevent_kind { KEVENT_XID, KEVENT_AER };

/**
 * struct kevent - one such line
 * @kind:	which sort
 * @bdf:	the function it names, empty = none; NVRM names no function, so it is .0
 * @xid:	its number
 * @code:	what it stands for
 * @corrected:	AER: the link repaired it
 */
struct kevent {
	enum kevent_kind kind;
	char bdf[ADDRESS_MAX];
	int xid;
	enum finding_code code;
	bool corrected;
};

enum finding_code kevent_xid_code(int xid);
void kevent_address(const char *line, char *buf, size_t size);
bool kevent_parse(const char *line, struct kevent *ret);

#endif
