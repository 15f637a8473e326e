/* SPDX-License-Identifier: GPL-2.0-only */
/* Verdicts in the journal. */
#ifndef JOURNAL_H
#define JOURNAL_H

#include "result.h"

bool journal_is_output(void);
bool journal_send(const struct result *result);

#endif
