/* SPDX-License-Identifier: GPL-2.0-only */
/* Checking cards, for the commands that do. */
#ifndef CHECK_H
#define CHECK_H

#include "command.h"

int check_settings(const struct options *options, struct settings *ret_settings, struct result *result);
int check_cards(const struct options *options, const struct settings *settings, struct result *result);

#endif
