/* SPDX-License-Identifier: GPL-2.0-only */
/* Do the module's settings hold? Pure: a card as read in, findings out. */
#ifndef QUIRKS_H
#define QUIRKS_H

#include "result.h"

/**
 * enum quirks - what the module's settings came to
 * @QUIRKS_FINE:	they are as asked
 * @QUIRKS_SHORT:	something is below what was asked
 * @QUIRKS_LOST:	the module lost the card
 */
enum quirks { QUIRKS_FINE, QUIRKS_SHORT, QUIRKS_LOST };

bool quirks_pending(const struct card *card);
enum quirks quirks_judge(const struct card *card, bool module_loaded, struct outcome *outcome);

#endif
