/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CUDA self-test of one card: request in, result out. The caller never touches CUDA; a child process does, watched
 * with a deadline per phase. Knows nothing of quirks, state files or output.
 */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Phases in the order they run. X(enumerator, word, least time limit in ms); the words are interface (JSON, journal).
 * Those from known-answer to soak do the card's work: what they found stays known when a later one fails.
 */
#define SELFTEST_PHASES(X)				\
	X(SELFTEST_LIBRARY,	"library",	10000)	\
	X(SELFTEST_INIT,	"init",		30000)	\
	X(SELFTEST_DEVICE,	"device",	10000)	\
	X(SELFTEST_CONTEXT,	"context",	20000)	\
	X(SELFTEST_JIT,		"jit",		20000)	\
	X(SELFTEST_KNOWN,	"known-answer",	10000)	\
	X(SELFTEST_ALLOCATION,	"allocation",	10000)	\
	X(SELFTEST_ADDRESS,	"address",	10000)	\
	X(SELFTEST_INVERSIONS,	"inversions",	10000)	\
	X(SELFTEST_RANDOM,	"random",	10000)	\
	X(SELFTEST_MODULO,	"modulo-20",	10000)	\
	X(SELFTEST_MOVE,	"block-move",	10000)	\
	X(SELFTEST_HOLD,	"hold",		10000)	\
	X(SELFTEST_LINK,	"link",		10000)	\
	X(SELFTEST_TOGETHER,	"copy-together", 10000)	\
	X(SELFTEST_COMPUTE,	"compute",	10000)	\
	X(SELFTEST_SOAK,	"soak",		60000)	\
	X(SELFTEST_TEARDOWN,	"teardown",	10000)

enum selftest_phase_id {
#define X(id, word, limit_ms) id,
	SELFTEST_PHASES(X)
#undef X
	SELFTEST_NR_PHASES,
};

/*
 * What became of a phase and of the whole test. X(enumerator, word); the words are interface.
 *
 * data-fault: the card computed, kept or moved wrong data. gpu-fault: CUDA reported an error inside a phase. crashed:
 * the child died by a signal or left by itself inside a phase. hung: no answer in time. lost: the card left the bus.
 * not-testable: nothing is known about the card, see cause. degraded: right data, but far slower than the link carries.
 * cancelled: the caller asked for the end.
 */
#define SELFTEST_WORDS(X)				\
	X(SELFTEST_NOT_RUN,		"not-run")	\
	X(SELFTEST_RUNNING,		"running")	\
	X(SELFTEST_PASS,		"pass")		\
	X(SELFTEST_DEGRADED,		"degraded")	\
	X(SELFTEST_NOT_TESTABLE,	"not-testable")	\
	X(SELFTEST_CANCELLED,		"cancelled")	\
	X(SELFTEST_DATA_FAULT,		"data-fault")	\
	X(SELFTEST_GPU_FAULT,		"gpu-fault")	\
	X(SELFTEST_CRASHED,		"crashed")	\
	X(SELFTEST_HUNG,		"hung")		\
	X(SELFTEST_LOST,		"lost")

enum selftest_word {
#define X(id, word) id,
	SELFTEST_WORDS(X)
#undef X
	SELFTEST_NR_WORDS,
};

/*
 * Why nothing could be tested. X(enumerator, code, action); the codes are interface (findings in JSON), the action is
 * a sentence for people.
 */
#define SELFTEST_CAUSES(X)										\
	X(SELFTEST_CAUSE_NONE,		"",			"")					\
	X(SELFTEST_LIB_ABSENT,		"libcuda-absent",						\
	  "libcuda.so.1 is not installed: install it from the same source as the driver (Debian: libcuda1)")	\
	X(SELFTEST_LIB_BROKEN,		"libcuda-broken",						\
	  "libcuda.so.1 is there but cannot be used: reinstall it with the driver")			\
	X(SELFTEST_LIB_STUB,		"libcuda-stub",							\
	  "a toolkit's stub libcuda hides the driver's: take the stubs folder out of LD_LIBRARY_PATH")	\
	X(SELFTEST_LIB_MISMATCH,	"libcuda-mismatch",						\
	  "libcuda and the loaded nvidia module have different versions: reboot after a driver update")	\
	X(SELFTEST_LIB_COMPAT,		"libcuda-compat",						\
	  "forward-compatibility libraries do not work on this class of card: use the driver's own libcuda")	\
	X(SELFTEST_NO_DEVICE,		"cuda-no-device",						\
	  "CUDA finds no usable device: is the nvidia module loaded, are /dev/nvidia* accessible")	\
	X(SELFTEST_NOT_VISIBLE,		"cuda-not-visible",						\
	  "CUDA works but does not offer this card: see the kernel log for NVRM lines about its address")	\
	X(SELFTEST_NOT_READY,		"cuda-not-ready",						\
	  "the driver says the system is not ready yet: try again, or start the service it waits for")	\
	X(SELFTEST_INIT_FAILED,		"cuda-init-failed",						\
	  "CUDA did not start: is nvidia_uvm loaded and /dev/nvidia-uvm accessible; see the kernel log")	\
	X(SELFTEST_BUSY,		"card-busy",							\
	  "another process has the card: stop it, or leave exclusive compute mode")			\
	X(SELFTEST_NO_MEMORY,		"card-memory-busy",						\
	  "too little free memory on the card: another process uses it")				\
	X(SELFTEST_NO_JIT,		"jit-library-absent",						\
	  "the driver's PTX compiler library is missing (Debian: libnvidia-ptxjitcompiler1)")		\
	X(SELFTEST_JIT_REFUSED,		"jit-refused",							\
	  "the driver refused to compile the test for this card")					\
	X(SELFTEST_HOST_ERROR,		"host-error",							\
	  "this machine could not start the test: out of memory, processes or files")

enum selftest_cause {
#define X(id, code, action) id,
	SELFTEST_CAUSES(X)
#undef X
	SELFTEST_NR_CAUSES,
};

/*
 * What a wrong word looks like. X(enumerator, word, first half of a sentence for people); the words are interface.
 *
 * A re-read that is right again speaks for the way, one that is as wrong for the cell or its write. About half of the
 * bits flipped speaks for the address (memtest_vulkan's readme: about 16 of 32). None of it names a chip: how addresses
 * are spread over the chips is not public.
 */
#define SELFTEST_FAULTS(X)											\
	X(FAULT_KNOWN,		"known-answer",	"the card computes wrongly")					\
	X(FAULT_CELL,		"memory-cell",	"a bit in memory does not hold its value: a cell, or a data line")	\
	X(FAULT_READ,		"memory-read",	"a word reads wrong once and right the next time: timing or supply of the memory") \
	X(FAULT_PLACE,		"memory-place",	"a word holds quite another value: an address line, or a write that went astray") \
	X(FAULT_ALIAS,		"memory-alias",	"two addresses are the same memory: the card has less of it than it says")	\
	X(FAULT_HOLD,		"memory-hold",	"memory loses bits while it waits: refresh or low clock")	\
	X(FAULT_MOVE,		"memory-move",	"words change while they are moved inside the card")		\
	X(FAULT_TO_CARD,	"copy-to-card",	"words change on the way to the card: riser, contact, or slot")	\
	X(FAULT_TO_HOST,	"copy-to-host",	"words change on the way back: riser, contact, or slot")	\
	X(FAULT_COMPUTE,	"compute",	"a multiprocessor computes wrongly: chip, supply, or clock")

enum selftest_fault_kind {
#define X(id, word, text) id,
	SELFTEST_FAULTS(X)
#undef X
	SELFTEST_NR_FAULTS,
};

/* Arithmetic that the compute phase measures one by one. X(enumerator, kernel of kernels.h, word, operations per step) */
#define SELFTEST_UNITS(X)						\
	X(UNIT_INTEGER,	KERNEL_compute_integer,	"integer",	5)	\
	X(UNIT_FMA,	KERNEL_compute_fma,	"fma",		8)	\
	X(UNIT_MULADD,	KERNEL_compute_muladd,	"mul+add",	8)	\
	X(UNIT_DP4A,	KERNEL_compute_dp4a,	"dp4a",		8)

enum selftest_unit {
#define X(id, kernel, word, operations) id,
	SELFTEST_UNITS(X)
#undef X
	SELFTEST_NR_UNITS,
};

/* What --inject can corrupt. X(enumerator, word); the words are interface. */
#define SELFTEST_INJECTS(X)			\
	X(INJECT_NONE,		"")		\
	X(INJECT_MEMORY,	"memory")	\
	X(INJECT_COPY,		"copy")		\
	X(INJECT_COMPUTE,	"compute")

enum selftest_inject {
#define X(id, word) id,
	SELFTEST_INJECTS(X)
#undef X
	SELFTEST_NR_INJECTS,
};

/* Why a card that computes correctly is degraded all the same; bits of @notes. */
enum selftest_note {
	NOTE_SLOW_LINK = 1,	/* copies at less than half of what the link carries */
	NOTE_UNEVEN_LINK = 2,	/* some windows at less than half of the median */
	NOTE_SLOW_MEMORY = 4,	/* sweeps at less than 40 % of the peak */
	NOTE_SM_UNSEEN = 8,	/* a multiprocessor never computed */
};

/* What the child waits for; @grant of the request decides. */
enum selftest_ask { ASK_NOTHING, ASK_POWER, ASK_TOGETHER };

struct selftest_result;

/**
 * struct selftest_plan - how much to do; a phase without a share is left out
 * @patterns:	of the inversions phase, from the first of its list on
 * @inversions:	passes over these
 * @random:	passes of the random phase
 * @modulo:	passes of 20 offsets
 * @move:	passes of the block-move phase
 * @hold_ms:	how long memory is left alone
 * @link_ms:	copying in each direction, and in both at once
 * @together_ms: copying while other cards do the same; then nothing else is done
 * @compute_ms:	all arithmetic units together
 * @soak_ms:	alternating memory and compute at the end
 */
struct selftest_plan {
	uint32_t patterns;
	uint32_t inversions;
	uint32_t random;
	uint32_t modulo;
	uint32_t move;
	uint32_t hold_ms;
	uint32_t link_ms;
	uint32_t together_ms;
	uint32_t compute_ms;
	uint64_t soak_ms;
};

/**
 * struct selftest_request - what to test
 * @bdf:	PCI address as "dddd:bb:dd.f"
 * @config_path: the function's config space in sysfs; read after a failure to tell a lost card (all ones or gone
 *		from the bus) from other failures; NULL = not looked at
 * @plan:	how much to do
 * @inject:	corrupt words on purpose, to see that they are found
 * @speed_mts:	negotiated speed of the card's link in MT/s (2500, 5000, ...); 0 = unknown, the copy rate is then only
 *		reported
 * @width:	negotiated lanes; 0 = unknown
 * @sysfs:	the function's folder in sysfs, where speed and width are read again while the link works; NULL = not
 * @cancel_fd:	test ends as SELFTEST_CANCELLED when this descriptor becomes readable (signalfd, eventfd, pipe);
 *		-1 = none
 * @limit_ms:	time limit of every phase; 0 = what its plan asks for
 * @progress:	called in the caller's process when a phase begins or ends, once in a second between, and at the end;
 *		may be NULL
 * @grant:	asked again and again while the child waits: may it go on; NULL = always. That time counts as queue
 * @clock_fell:	asked while the card waits in the hold phase: is its memory clock down; NULL = not known
 * @progress_data: handed to these three
 */
struct selftest_request {
	const char *bdf;
	const char *config_path;
	struct selftest_plan plan;
	enum selftest_inject inject;
	unsigned int speed_mts;
	unsigned int width;
	const char *sysfs;
	int cancel_fd;
	unsigned int limit_ms;
	void (*progress)(const struct selftest_result *so_far, void *data);
	bool (*grant)(enum selftest_ask ask, void *data);
	bool (*clock_fell)(void *data);
	void *progress_data;
};

/**
 * struct selftest_phase - one row of the result
 * @word:	what became of it; SELFTEST_NOT_RUN if an earlier phase ended the test
 * @ms:		how long it took, without waiting for its turn
 * @predicted_ms: how long it takes at least by arithmetic; 0 = not known
 */
struct selftest_phase {
	enum selftest_word word;
	uint32_t ms;
	uint32_t predicted_ms;
};

#define SELFTEST_FAULTS_MAX	32
#define SELFTEST_BINS		256

/**
 * struct selftest_fault - one place where something was wrong, however often
 * @kind:	what it looks like
 * @phase:	where it was first seen
 * @at:		byte offset: in the tested memory, in what was copied, or in the known answer; thread of a compute chain
 * @other:	FAULT_ALIAS: the other address of the same memory, as @at
 * @expected:	what should have been there when it was first seen
 * @got:	what was there
 * @again:	what a second look gave
 * @sm:		multiprocessor that saw it; ~0 = not known
 * @pass:	of the phase, from 1
 * @unit:	FAULT_COMPUTE: which arithmetic
 * @bits:	all bits that were ever wrong there
 * @seen:	how often; several looks of one pass may count once
 */
struct selftest_fault {
	enum selftest_fault_kind kind;
	enum selftest_phase_id phase;
	uint64_t at;
	uint64_t other;
	uint32_t expected;
	uint32_t got;
	uint32_t again;
	uint32_t sm;
	uint32_t pass;
	enum selftest_unit unit;
	uint32_t bits;
	uint32_t seen;
};

/**
 * struct selftest_statistics - all wrong words of the memory phases together
 * @sampled:	words that are counted here; at most about 65536 of each pass
 * @first:	byte offset of the first page of 4 KiB with one
 * @last:	of the last such page
 * @up:		by bit: 0 read as 1
 * @down:	by bit: 1 read as 0
 * @flips:	words by number of flipped bits less one
 * @bin:	words by place, the tested memory in 256 parts
 */
struct selftest_statistics {
	uint64_t sampled;
	uint64_t first;
	uint64_t last;
	uint32_t up[32];
	uint32_t down[32];
	uint32_t flips[32];
	uint32_t bin[SELFTEST_BINS];
};

/* Rates of one direction in MB/s (10^6) over its windows; all 0 = not measured. */
struct selftest_rates {
	uint32_t windows;
	uint32_t min;
	uint32_t median;
	uint32_t max;
};

/**
 * struct selftest_result - what is known at the end
 * @word:	the outcome: SELFTEST_PASS or the word of the first phase that did not pass
 * @failed:	that phase; SELFTEST_NR_PHASES when @word is SELFTEST_PASS or no phase was reached
 * @cause:	why nothing could be tested, with SELFTEST_NOT_TESTABLE only
 * @phase:	every phase, indexed by enum selftest_phase_id
 * @simulated:	the library says of itself that it is a stand-in
 * @error:	one line for people: CUDA call, code number and name, or signal, or what the child hangs in; empty if
 *		there is nothing to say
 * @driver_cuda: CUDA version of the driver, major * 1000 + minor * 10; 0 = not known
 * @name:	name as CUDA reports it, empty = not known
 * @compute:	compute capability as CUDA reports it, major * 10 + minor
 * @sm_count:	multiprocessors
 * @mem_mib:	total memory
 * @free_mib:	what was called free when the context was there
 * @tested_mib:	memory that the memory phases went over
 * @peak_mbs:	memory bandwidth by clock and bus width, in MB/s; 0 = not known
 * @read_mbs:	measured over sweeps that only read
 * @write_mbs:	measured over sweeps that read and write
 * @queue_ms:	time spent waiting for a turn
 * @errors:	wrong words found, all phases together
 * @mismatch_at: first wrong word: byte offset in what the failed phase compared; valid when @errors is not 0
 * @expected:	what should have been there
 * @got:	what was there
 * @h2d_mbs:	copy rate host to card in MB/s (10^6); 0 = not measured
 * @d2h_mbs:	copy rate card to host
 * @link_mbs:	what the link carries, as it was under load if that could be read; 0 = not known
 * @copied_mb:	10^6 bytes that went over the link in the link phase
 * @to_card:	windows of the copies to the card
 * @to_host:	windows of the copies back
 * @both_mbs:	both directions at once, their sum
 * @together_mbs: to the card while the other cards of the uplink copied too
 * @sm_seen:	multiprocessors that were seen to compute
 * @unit_mops:	rate of each arithmetic unit in 10^6 operations per second; 0 = not measured
 * @injected:	words corrupted on purpose
 * @detected:	of these were found
 * @real_mib:	FAULT_ALIAS: about how much memory there really is
 * @notes:	enum selftest_note
 * @fault:	what was wrong, @nr_faults of them
 * @more_faults: places that no longer fitted in
 * @statistics:	of the memory phases
 */
struct selftest_result {
	enum selftest_word word;
	enum selftest_phase_id failed;
	enum selftest_cause cause;
	struct selftest_phase phase[SELFTEST_NR_PHASES];
	bool simulated;
	char error[400];
	uint32_t driver_cuda;
	char name[100];
	uint32_t compute;
	uint32_t sm_count;
	uint64_t mem_mib;
	uint64_t free_mib;
	uint64_t tested_mib;
	uint32_t peak_mbs;
	uint32_t read_mbs;
	uint32_t write_mbs;
	uint32_t queue_ms;
	uint64_t errors;
	uint64_t mismatch_at;
	uint32_t expected;
	uint32_t got;
	uint32_t h2d_mbs;
	uint32_t d2h_mbs;
	uint32_t link_mbs;
	uint32_t copied_mb;
	struct selftest_rates to_card;
	struct selftest_rates to_host;
	uint32_t both_mbs;
	uint32_t together_mbs;
	uint32_t sm_seen;
	uint32_t unit_mops[SELFTEST_NR_UNITS];
	uint32_t injected;
	uint32_t detected;
	uint64_t real_mib;
	uint32_t notes;
	uint32_t nr_faults;
	uint32_t more_faults;
	struct selftest_fault fault[SELFTEST_FAULTS_MAX];
	struct selftest_statistics statistics;
};

/* The hidden command: main() hands over to selftest_child() before anything else when argv[1] is this word. */
#define SELFTEST_CHILD_COMMAND	"cuda-child"

const char *selftest_phase_name(enum selftest_phase_id id);
const char *selftest_word_name(enum selftest_word word);
const char *selftest_cause_code(enum selftest_cause cause);
const char *selftest_cause_action(enum selftest_cause cause);
const char *selftest_fault_word(enum selftest_fault_kind kind);
const char *selftest_fault_text(enum selftest_fault_kind kind);
const char *selftest_unit_word(enum selftest_unit unit);

/**
 * selftest_run - test one card
 * @req:	what to test
 * @ret:	filled in every case
 *
 * Starts /proc/self/exe again with SELFTEST_CHILD_COMMAND and always comes back, also when the child cannot be killed
 * (it is then left behind). A phase is over its limit when it makes no step in that time; time in which the child waited
 * for a processor does not count, so that a busy machine is not taken for a card that hangs. Ten times the limit is the
 * end in every case, and five seconds later this returns. Several may run at once in different threads or processes.
 */
void selftest_run(const struct selftest_request *req, struct selftest_result *ret);

/* What a link can carry one way in MB/s (10^6) with 128-byte payloads; 0 when speed or width is 0. */
uint32_t selftest_link_mbs(unsigned int speed_mts, unsigned int width);

/* The child's side; does not return to the caller's other work, the value is an exit status. */
int selftest_child(void);

#endif
