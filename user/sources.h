/* SPDX-License-Identifier: GPL-2.0-only */
/* What a report is made of: the one list of sources, and for each which lines or keys of it are taken. */
#ifndef SOURCES_H
#define SOURCES_H

#include "result.h"

/**
 * struct source_text - what one source gave
 * @name:	file in the archive
 * @about:	where it comes from and what of it
 * @text:	taken lines, before anything is hidden; owned. NULL when the source could not be read
 * @why:	why not, valid when @text is NULL
 */
struct source_text {
	const char *name;
	const char *about;
	char *text;
	const char *why;
};

#define SOURCES_MAX	16

/**
 * struct sources - everything that is read for a report
 * @text:	one entry per source
 * @nr:		their number
 */
struct sources {
	struct source_text text[SOURCES_MAX];
	size_t nr;
};

void sources_read(const struct result *cards, struct sources *ret_sources);
bool sources_file_value(const char *path, const char *key, char *buf, size_t size);
void sources_free(struct sources *sources);

#endif
