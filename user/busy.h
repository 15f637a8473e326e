/* SPDX-License-Identifier: GPL-2.0-only */
/* Who else uses a card. */
#ifndef BUSY_H
#define BUSY_H

#include <stdbool.h>
#include <stddef.h>

bool busy_node(const char *bdf, const char *proc, char *buf, size_t size);
bool busy_find(const char *bdf, const char *proc, char *who, size_t size);

#endif
