/* SPDX-License-Identifier: GPL-2.0-only */
/* What a command came to, as plain values between those who find out and those who print. */
#ifndef RESULT_H
#define RESULT_H

#include "card.h"
#include "finding.h"
#include "smbus.h"
#include "telemetry.h"
#include "verdict.h"

struct json_object;

#define OUTCOME_PHASES_MAX	32
#define OUTCOME_FINDINGS_MAX	24
#define OUTCOME_COMPARISONS_MAX	8
#define OUTCOME_XIDS_MAX	8

/* X(enumerator, word); the words are interface (state file). */
#define RUNS(X)					\
	X(RUN_NONE,		"none")		\
	X(RUN_RUNNING,		"running")	\
	X(RUN_DONE,		"done")		\
	X(RUN_INTERRUPTED,	"interrupted")

enum run {
#define X(id, word) id,
	RUNS(X)
#undef X
	RUN_NR,
};

/**
 * struct phase - one step of a check
 * @name:	its word
 * @result:	what became of it
 * @ms:		how long it took
 * @predicted_ms: how long it takes at least by arithmetic; 0 = not known
 */
struct phase {
	char name[16];
	char result[16];
	unsigned int ms;
	unsigned int predicted_ms;
};

/**
 * struct comparison - a rate beside that of an earlier check
 * @what:	which
 * @before:	then
 * @now:	in the same unit
 */
struct comparison {
	char what[16];
	unsigned int before;
	unsigned int now;
};

/**
 * struct link_errors - trouble of the link while the link phase copied
 * @looked:	the phase was run
 * @corrected:	repaired by the link, both ends; -1 = not counted here
 * @nonfatal:	packets lost, the same
 * @fatal:	the same
 * @log_lines:	lines of the kernel log with such errors, during the whole test; -1 = may not be read
 * @replays:	packets sent again by NVML's counter, during the whole test; -1 = not offered
 */
struct link_errors {
	bool looked;
	long long corrected;
	long long nonfatal;
	long long fatal;
	long long log_lines;
	long long replays;
};

/**
 * struct uplink - what several cards share on their way to the processor
 * @port:	root port above them, empty = none shared
 * @cards:	that copied at once
 * @carries_mbs: what its link carries, 0 = not known
 * @alone_mbs:	sum of what the cards reach one by one
 * @together_mbs: sum of what they reached at once
 */
struct uplink {
	char port[ADDRESS_MAX];
	unsigned int cards;
	unsigned int carries_mbs;
	unsigned int alone_mbs;
	unsigned int together_mbs;
};

/**
 * struct outcome - what a check of one card came to so far; plain values, shared between processes
 * @run:	how far the check came
 * @verdict:	VERDICT_NONE until the end
 * @simulated:	the CUDA library or the driver is a stand-in
 * @tested:	the self-test was started
 * @level:	word of the level
 * @phase:	steps so far
 * @nr_phase:	their number
 * @errors:	wrong words found
 * @finding:	what was found
 * @nr_finding:	their number
 * @pid:	process that checks
 * @pid_ticks:	its start time in clock ticks since boot, so that a reused pid is not taken for it
 * @started:	seconds since the epoch
 * @ended:	the same, 0 = not yet
 * @h2d_mbs:	copy rate to the card, 0 = not measured
 * @d2h_mbs:	copy rate from the card
 * @link_mbs:	what the link can carry, 0 = unknown
 * @tested_mib:	memory gone over
 * @mem_mib:	memory the card has
 * @queue_ms:	time spent waiting for a turn
 * @inject:	what was corrupted on purpose
 * @soak_ms:	length of the soak asked for
 * @telemetry:	what NVML measured meanwhile
 * @link_errors: of the link phase
 * @xid:	numbers that the driver reported meanwhile, each once
 * @nr_xid:	their number
 * @uplink:	when cards copied together
 * @comparison:	rates beside those of an earlier check
 * @nr_comparison: their number
 * @test:	the self-test in full, valid with @tested; not kept in state files
 */
struct outcome {
	enum run run;
	enum verdict verdict;
	bool simulated;
	bool tested;
	char level[12];
	struct phase phase[OUTCOME_PHASES_MAX];
	unsigned int nr_phase;
	unsigned long long errors;
	struct finding finding[OUTCOME_FINDINGS_MAX];
	unsigned int nr_finding;
	int pid;
	unsigned long long pid_ticks;
	long long started;
	long long ended;
	unsigned int h2d_mbs;
	unsigned int d2h_mbs;
	unsigned int link_mbs;
	unsigned int tested_mib;
	unsigned int mem_mib;
	unsigned int queue_ms;
	enum selftest_inject inject;
	unsigned long long soak_ms;
	struct telemetry telemetry;
	struct link_errors link_errors;
	int xid[OUTCOME_XIDS_MAX];
	unsigned int nr_xid;
	struct uplink uplink;
	struct comparison comparison[OUTCOME_COMPARISONS_MAX];
	unsigned int nr_comparison;
	struct selftest_result test;
};

/**
 * struct row - one card of the result
 * @card:	what it is
 * @planned:	@plan is valid
 * @plan:	steps the module would carry out
 * @outcome:	its check, NULL = never checked; owned
 */
struct row {
	struct card card;
	bool planned;
	struct softtape_plan plan;
	struct outcome *outcome;
};

/* One fact of the host in words: doctor's head, the report's block. */
struct fact {
	char key[24];
	char value[256];
};

/**
 * struct result - what a command came to
 * @command:	its name
 * @policy:	settings that @row's plans were made with
 * @quiet:	the text was already written elsewhere
 * @note:	one line instead of cards, NULL = none
 * @dump:	cards are from a dump, not from this machine
 * @row:	cards
 * @fact:	facts of the host, @nr_fact of them
 * @smbus:	the host's SMBus controllers, if the command looks at them
 * @findings:	what was found outside of checks
 * @expected:	how many cards there must be, -1 = not said; of status only
 * @present:	how many listed cards the kernel sees; of status only
 * @simulated:	something beside the cards' outcomes is a stand-in
 * @detector:	whether corruption on purpose was found, NULL = nothing was to be corrupted
 * @more:	what only this command has, the document's key of its name; owned, NULL = nothing
 * @verdict:	of all cards together
 * @exit:	exit status
 */
struct result {
	const char *command;
	struct softtape_policy policy;
	bool quiet;
	const char *note;
	bool dump;
	struct row *row;
	size_t nr;
	size_t room;
	struct fact *fact;
	size_t nr_fact;
	size_t room_fact;
	struct smbus smbus;
	struct finding_list findings;
	int expected;
	size_t present;
	bool simulated;
	const char *detector;
	struct json_object *more;
	enum verdict verdict;
	int exit;
};

struct row *result_add(struct result *result, const struct card *card);
struct outcome *result_outcome(struct row *row);
void result_fact(struct result *result, const char *key, const char *format, ...) PRINTF_LIKE(3, 4);
void result_free_rows(struct result *result);
void result_free(struct result *result);

void outcome_add(struct outcome *outcome, const struct finding *finding);
struct phase *outcome_phase(struct outcome *outcome, const char *name);
bool outcome_detector_works(const struct outcome *outcome);
const char *outcome_run_word(enum run run);

#endif
