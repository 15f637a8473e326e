/* SPDX-License-Identifier: GPL-2.0-only */
/* The rates of a card now, beside those of an earlier check's JSON document. */
#ifndef COMPARE_H
#define COMPARE_H

#include "result.h"

struct json_object;

int compare_open(const char *path, struct json_object **ret_document, char *error, size_t size);
void compare_row(struct json_object *document, struct row *row);
void compare_close(struct json_object *document);

#endif
