/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the two processes of a self-test share: one page of plain values that outlives the child, however it ends.
 */
#ifndef PHASES_H
#define PHASES_H

#include <stdatomic.h>
#include <stdint.h>

#include "selftest.h"

#define PHASES_MAGIC	0x73667470	/* "sftp" */

/**
 * struct phases_page - the shared page
 * @magic:	PHASES_MAGIC, written by the parent
 * @bdf:	the card, written by the parent
 * @plan:	how much to do, written by the parent
 * @inject:	enum selftest_inject, written by the parent
 * @link_mbs:	what its link can carry in MB/s, 0 = not known; raised by the parent when it sees more under load
 * @clock_fell:	set by the parent when the idle card's memory clock is low
 * @stop:	set by the parent: no further launch, end
 * @ask:	enum selftest_ask: what the child waits for; its time limit stands still meanwhile
 * @grant:	the parent's answer, the same value
 * @step:	counts finished pieces of work, so that slow is told from stuck
 * @phase:	running phase; SELFTEST_NR_PHASES before the first
 * @begin_ms:	when @phase began (CLOCK_MONOTONIC)
 * @call:	last CUDA call, enum cuda_symbol + 1; 0 = none yet
 * @inside:	1 while the child is inside that call
 * @code:	what it returned last
 * @done:	set last; @result is complete
 * @result:	filled as the test goes on
 *
 * The parent trusts nothing here beyond what selftest.c checks: a crashing child may have written anything.
 */
struct phases_page {
	uint32_t magic;
	char bdf[16];
	struct selftest_plan plan;
	uint32_t inject;
	_Atomic uint32_t link_mbs;
	_Atomic uint32_t clock_fell;
	_Atomic uint32_t stop;
	_Atomic uint32_t ask;
	_Atomic uint32_t grant;
	_Atomic uint32_t step;
	_Atomic uint32_t phase;
	_Atomic uint64_t begin_ms;
	_Atomic uint32_t call;
	_Atomic uint32_t inside;
	_Atomic int32_t code;
	_Atomic uint32_t done;
	struct selftest_result result;
};

/* CLOCK_MONOTONIC in milliseconds, the same for both processes. */
uint64_t phases_now_ms(void);

/**
 * phases_run - run every phase and the teardown
 * @page:	shared with the parent, who watches
 * @kick_fd:	eventfd written when a phase begins or ends
 *
 * May hang or die at any CUDA call: only for a process of its own.
 */
void phases_run(struct phases_page *page, int kick_fd);

#endif
