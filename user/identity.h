/* SPDX-License-Identifier: GPL-2.0-only */
/* What names this machine and its people. */
#ifndef IDENTITY_H
#define IDENTITY_H

#include "redact.h"

void identity_collect(struct redact *redact);

#endif
