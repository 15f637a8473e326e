/* SPDX-License-Identifier: GPL-2.0-only */
/* A tar file of texts. Knows nothing of what they say. */
#ifndef ARCHIVE_H
#define ARCHIVE_H

#include "util.h"

/**
 * struct archive_file - one member
 * @name:	below the archive's folder, without a slash
 * @text:	its bytes
 */
struct archive_file {
	const char *name;
	const char *text;
};

int archive_write(const char *path, const char *folder, const struct archive_file *file, size_t nr);

#endif
