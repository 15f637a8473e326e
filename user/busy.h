/* SPDX-License-Identifier: GPL-2.0-only */
/* Who else uses a card. */
#ifndef BUSY_H
#define BUSY_H

#include "card.h"

bool busy_find(const struct card *card, char *who, size_t size);

#endif
