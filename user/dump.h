/* SPDX-License-Identifier: GPL-2.0-only */
/* Text of `lspci -x`, `-xxx` or `-xxxx` as devices. Knows nothing of cards and links. */
#ifndef DUMP_H
#define DUMP_H

#include "config.h"
#include "util.h"

/* A dump of a whole machine has some hundred KiB; whoever pipes in more has named the wrong file. */
#define DUMP_SIZE_MAX	(256u << 20)

/**
 * struct dump_device - one device of the text
 * @address:	as written, domain 0 when it has none
 * @line:	number of its first line
 * @byte:	the bytes given
 * @size:	their number, from offset 0 on without a gap
 * @flaw:	why the bytes cannot be used, NULL = they can
 * @flaw_line:	where
 */
struct dump_device {
	struct address address;
	unsigned long line;
	__u8 *byte;
	size_t size;
	const char *flaw;
	unsigned long flaw_line;
};

struct dump_bridge;

/**
 * struct dump - all devices of a text
 * @device:	in the order of the text, @nr of them
 * @bridge:	its bridges by the bus behind them, @nr_bridge of them: texts of many thousand devices must not take minutes
 * @ones:	a device reads all ones: it may be the port that is looked for
 */
struct dump {
	struct dump_device *device;
	size_t nr;
	size_t room;
	struct dump_bridge *bridge;
	size_t nr_bridge;
	size_t room_bridge;
	bool ones;
};

int dump_read(FILE *file, struct dump *ret_dump);
struct config dump_config(const struct dump_device *device);
const struct dump_device *dump_port(const struct dump *dump, size_t index);
void dump_free(struct dump *dump);

#endif
