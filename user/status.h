/* SPDX-License-Identifier: GPL-2.0-only */
/* Last verdicts, for the commands that tell them in their own forms. */
#ifndef STATUS_H
#define STATUS_H

#include "command.h"

int status_gather(const struct options *options, struct result *result);
const char *status_word(const struct row *row, const char *never);
void forms_print(enum output_form form, const struct result *result);
int forms_exit(enum output_form form, int status);

#endif
