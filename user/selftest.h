/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CUDA self-test of one card: request in, result out. The caller never touches CUDA; a child process does, watched
 * with a deadline per phase. Knows nothing of quirks, state files or output.
 */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <stdbool.h>
#include <stdint.h>

/* Phases in the order they run. X(enumerator, word, time limit in ms); the words are interface (JSON, journal). */
#define SELFTEST_PHASES(X)				\
	X(SELFTEST_LIBRARY,	"library",	10000)	\
	X(SELFTEST_INIT,	"init",		30000)	\
	X(SELFTEST_DEVICE,	"device",	10000)	\
	X(SELFTEST_CONTEXT,	"context",	20000)	\
	X(SELFTEST_JIT,		"jit",		20000)	\
	X(SELFTEST_KNOWN,	"known-answer",	10000)	\
	X(SELFTEST_VRAM,	"vram",		10000)	\
	X(SELFTEST_COPY,	"copy",		10000)	\
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

struct selftest_result;

/**
 * struct selftest_request - what to test
 * @bdf:	PCI address as "dddd:bb:dd.f"
 * @config_path: the function's config space in sysfs; read after a failure to tell a lost card (all ones or gone
 *		from the bus) from other failures; NULL = not looked at
 * @speed_mts:	negotiated speed of the card's link in MT/s (2500, 5000, ...); 0 = unknown, the copy rate is then only
 *		reported
 * @width:	negotiated lanes; 0 = unknown
 * @cancel_fd:	test ends as SELFTEST_CANCELLED when this descriptor becomes readable (signalfd, eventfd, pipe);
 *		-1 = none
 * @limit_ms:	time limit of every phase; 0 = those of SELFTEST_PHASES
 * @progress:	called in the caller's process when a phase begins or ends, and at the end; may be NULL
 * @progress_data: handed to @progress
 */
struct selftest_request {
	const char *bdf;
	const char *config_path;
	unsigned int speed_mts;
	unsigned int width;
	int cancel_fd;
	unsigned int limit_ms;
	void (*progress)(const struct selftest_result *so_far, void *data);
	void *progress_data;
};

/**
 * struct selftest_phase - one row of the result
 * @word:	what became of it; SELFTEST_NOT_RUN if an earlier phase ended the test
 * @ms:		how long it took
 */
struct selftest_phase {
	enum selftest_word word;
	uint32_t ms;
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
 * @tested_mib:	memory that the vram phase went over
 * @errors:	wrong words found, all phases together
 * @mismatch_at: first wrong word: byte offset in what the failed phase compared; valid when @errors is not 0
 * @expected:	what should have been there
 * @got:	what was there
 * @h2d_mbs:	copy rate host to card in MB/s (10^6); 0 = not measured
 * @d2h_mbs:	copy rate card to host
 * @link_mbs:	what the link of the request can carry; 0 = not known
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
	uint64_t tested_mib;
	uint64_t errors;
	uint64_t mismatch_at;
	uint32_t expected;
	uint32_t got;
	uint32_t h2d_mbs;
	uint32_t d2h_mbs;
	uint32_t link_mbs;
};

/* The hidden command: main() hands over to selftest_child() before anything else when argv[1] is this word. */
#define SELFTEST_CHILD_COMMAND	"cuda-child"

const char *selftest_phase_name(enum selftest_phase_id id);
const char *selftest_word_name(enum selftest_word word);
const char *selftest_cause_code(enum selftest_cause cause);
const char *selftest_cause_action(enum selftest_cause cause);

/**
 * selftest_run - test one card
 * @req:	what to test
 * @ret:	filled in every case
 *
 * Starts /proc/self/exe again with SELFTEST_CHILD_COMMAND and always comes back: at the latest after the sum of the
 * phase limits plus five seconds, also when the child cannot be killed (it is then left behind). Several may run at
 * once in different threads or processes.
 */
void selftest_run(const struct selftest_request *req, struct selftest_result *ret);

/* What a link can carry one way in MB/s (10^6) with 128-byte payloads; 0 when speed or width is 0. */
uint32_t selftest_link_mbs(unsigned int speed_mts, unsigned int width);

/* The child's side; does not return to the caller's other work, the value is an exit status. */
int selftest_child(void);

#endif
