/* SPDX-License-Identifier: GPL-2.0-only */
/* What every cmocka test needs before cmocka.h. */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Names the row of a table in the failure. */
#define assert_row(condition, row)								\
	do {											\
		if (!(condition))								\
			fail_msg("row '%s': %s", (row)->desc, #condition);			\
	} while (0)

#endif
