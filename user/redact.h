/* SPDX-License-Identifier: GPL-2.0-only */
/* Takes what identifies a person or a machine out of a text. Reads nothing. */
#ifndef REDACT_H
#define REDACT_H

#include "util.h"

/* X(enumerator, word): what a hidden value is; the word stands in its place, with a number. */
#define REDACTS(X)				\
	X(REDACT_HOST,		"host")		\
	X(REDACT_USER,		"user")		\
	X(REDACT_MACHINE,	"machine-id")	\
	X(REDACT_MAC,		"mac")		\
	X(REDACT_IP,		"ip")		\
	X(REDACT_UUID,		"uuid")		\
	X(REDACT_SERIAL,	"serial")	\
	X(REDACT_PATH,		"path")		\
	X(REDACT_MAIL,		"mail")		\
	X(REDACT_PROCESS,	"process")	\
	X(REDACT_SECRET,	"secret")

enum redact_kind {
#define X(id, word) id,
	REDACTS(X)
#undef X
	REDACT_NR,
};

struct redact;

struct redact *redact_new(void);
void redact_add(struct redact *redact, enum redact_kind kind, const char *value);
char *redact_text(struct redact *redact, const char *text);
unsigned int redact_count(const struct redact *redact, enum redact_kind kind);
const char *redact_word(enum redact_kind kind);
void redact_free(struct redact *redact);

#endif
