/* SPDX-License-Identifier: GPL-2.0-only */
/* What a self-test's result means, as findings. Pure: values in, findings out. */
#ifndef DIAGNOSE_H
#define DIAGNOSE_H

#include "result.h"

void diagnose_result(const struct selftest_result *result, const char *bdf, struct outcome *outcome);
bool diagnose_surroundings(const char *bdf, struct outcome *outcome);
bool diagnose_uplink(const struct uplink *uplink);

#endif
