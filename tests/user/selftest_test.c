// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every way a self-test can end, played by the simulated libcuda. This program is also the child that selftest_run()
 * starts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "phases.h"
#include "predict.h"
#include "selftest.h"
#include "respawn.h"

/* As seen from where the test is run, or absolute. */
#ifndef FAKE_DIR
#define FAKE_DIR "build/fake"
#endif

#define BDF	"0000:01:00.0"

/* What a stop costs at most, after the limit: 2 + 1 + 1.5 s and what a busy machine adds. */
#define STOP_MS	6000

/* How this program behaves as the child; "" is well. */
#define CHILD_ENV "SOFTTAPE_TEST_CHILD"

/* Every phase once, and as short as it can be. */
static const struct selftest_plan every_phase = {
	.patterns = 2, .inversions = 1, .random = 1, .modulo = 1, .move = 1, .hold_ms = 60, .link_ms = 20,
	.compute_ms = 20, .soak_ms = 1,
};

/* A small card on a slow link, unless @script says otherwise: 4 MiB are free. */
static void use_fake(const char *script)
{
	char words[400];

	snprintf(words, sizeof(words), "vram=8 link=210 %s", script);
	setenv("LD_LIBRARY_PATH", FAKE_DIR, 1);
	setenv("SOFTTAPE_FAKE_FORCE", "1", 1);
	setenv("SOFTTAPE_FAKE", words, 1);
	unsetenv(CHILD_ENV);
}

static struct selftest_result run(const struct selftest_request *req)
{
	struct selftest_request filled = *req;
	struct selftest_result result;

	memset(&result, 0xa5, sizeof(result));
	if (!filled.bdf)
		filled.bdf = BDF;
	if (!filled.cancel_fd)
		filled.cancel_fd = -1;
	if (!filled.plan.patterns && !filled.plan.together_ms)
		filled.plan = every_phase;
	selftest_run(&filled, &result);
	return result;
}

static void print_result(const char *desc, const struct selftest_result *r)
{
	print_message("    %s: %s in %s, cause \"%s\", errors %llu: %s\n", desc, selftest_word_name(r->word),
		      selftest_phase_name(r->failed), selftest_cause_code(r->cause), (unsigned long long)r->errors,
		      r->error);
}

static bool ends_the_test(enum selftest_word word, unsigned int phase)
{
	return word != SELFTEST_PASS && word != SELFTEST_DEGRADED &&
	       (word != SELFTEST_DATA_FAULT || phase == SELFTEST_KNOWN);
}

/* What holds for every result: nothing runs after a phase that ends the test, and all before it has a word. */
static void assert_phases_agree(const struct selftest_result *r)
{
	bool ended = false;

	/* That a card is gone is seen at the end, whatever ran before. */
	for (unsigned int i = 0; r->word != SELFTEST_LOST && i < SELFTEST_TEARDOWN; i++) {
		if (i == SELFTEST_TOGETHER)
			continue;
		assert_int_equal(r->phase[i].word == SELFTEST_NOT_RUN, ended);
		ended |= ends_the_test(r->phase[i].word, i);
	}
	if (r->failed < SELFTEST_NR_PHASES)
		assert_int_equal(r->phase[r->failed].word, r->word);
}

static void sound_card_passes(void **state)
{
	struct selftest_result r;

	(void)state;
	use_fake("vram=64 link=200 compute=61 sm=15 driver=12040 name=Some_card");
	r = run(&(struct selftest_request){ .speed_mts = 2500, .width = 1 });
	print_result("pass", &r);
	assert_int_equal(r.word, SELFTEST_PASS);
	assert_int_equal(r.failed, SELFTEST_NR_PHASES);
	assert_int_equal(r.cause, SELFTEST_CAUSE_NONE);
	for (unsigned int i = 0; i < SELFTEST_NR_PHASES; i++)
		assert_int_equal(r.phase[i].word, i == SELFTEST_TOGETHER ? SELFTEST_NOT_RUN : SELFTEST_PASS);
	assert_true(r.simulated);
	assert_string_equal(r.error, "");
	assert_string_equal(r.name, "Some card");
	assert_int_equal(r.driver_cuda, 12040);
	assert_int_equal(r.compute, 61);
	assert_int_equal(r.sm_count, 15);
	assert_int_equal(r.mem_mib, 64);
	/* 64 MiB less 4 for the context; then less 0.5 of reserve and 64 KiB of scratch. */
	assert_int_equal(r.free_mib, 60);
	assert_int_equal(r.tested_mib, 59);
	assert_int_equal(r.peak_mbs, 320320);
	/* As the script has it; the sums are in single precision. */
	assert_in_range(r.read_mbs, 255000, 257000);
	assert_in_range(r.write_mbs, 255000, 257000);
	assert_int_equal(r.nr_faults, 0);
	assert_int_equal(r.statistics.sampled, 0);
	assert_int_equal(r.notes, 0);
	assert_int_equal(r.sm_seen, 15);
	/* 128 lanes at 1.6 GHz, 15 multiprocessors; two operations for a fused multiply-add, eight halves for dp4a. */
	assert_in_range(r.unit_mops[UNIT_INTEGER], 3060000, 3080000);
	assert_in_range(r.unit_mops[UNIT_FMA], 6120000, 6160000);
	assert_in_range(r.unit_mops[UNIT_MULADD], 3060000, 3080000);
	assert_in_range(r.unit_mops[UNIT_DP4A], 6120000, 6160000);
	assert_in_range(r.to_card.windows, 20, 2048);
	assert_in_range(r.to_host.windows, 20, 2048);
	assert_in_range(r.to_card.median, 199, 201);
	assert_int_equal(r.errors, 0);
	assert_int_equal(r.link_mbs, 210);
	assert_in_range(r.h2d_mbs, 199, 201);
	assert_in_range(r.d2h_mbs, 199, 201);
}

/* The larger the card, the more of what is free; 97 % is what was promised. */
static void nearly_all_free_memory_is_tested(void **state)
{
	static const char * const rows[] = { "vram=8", "vram=32", "vram=101", "vram=400", "vram=1100" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selftest_result r;

		use_fake(rows[i]);
		r = run(&(struct selftest_request){ .plan = { .patterns = 1 } });
		print_result(rows[i], &r);
		assert_int_equal(r.word, SELFTEST_PASS);
		/* Both are whole MiB rounded down. */
		assert_true((r.tested_mib + 1) * 100 >= r.free_mib * 97);
		assert_true(r.tested_mib <= r.free_mib);
		assert_int_equal(r.link_mbs, 0);
	}
}

/* Gen1 x1 carries 210 MB/s; half of it is the border. */
static void slow_link_is_degraded(void **state)
{
	static const struct {
		const char *script;
		unsigned int speed_mts, width;
		enum selftest_word word;
	} rows[] = {
		{ "link=110", 2500, 1, SELFTEST_PASS },
		{ "link=100", 2500, 1, SELFTEST_DEGRADED },
		{ "link=100", 2500, 4, SELFTEST_DEGRADED },
		{ "link=100", 0, 4, SELFTEST_PASS },
		{ "link=100", 2500, 0, SELFTEST_PASS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selftest_result r;

		use_fake(rows[i].script);
		r = run(&(struct selftest_request){ .speed_mts = rows[i].speed_mts, .width = rows[i].width });
		print_result(rows[i].script, &r);
		assert_int_equal(r.word, rows[i].word);
		assert_int_equal(r.phase[SELFTEST_LINK].word, rows[i].word);
		assert_int_equal(r.phase[SELFTEST_TEARDOWN].word, SELFTEST_PASS);
		assert_int_equal(r.failed, rows[i].word == SELFTEST_PASS ? SELFTEST_NR_PHASES : SELFTEST_LINK);
	}
}

/* As many windows as can be remembered in each direction: a Gen5 x16 slot, or a card with little memory left. */
static void fast_link_fills_the_windows(void **state)
{
	struct selftest_result r;

	(void)state;
	use_fake("link=50000");
	r = run(&(struct selftest_request){ .plan = { .patterns = 1, .link_ms = 250 } });
	print_result("fast link", &r);
	assert_int_equal(r.word, SELFTEST_PASS);
	assert_int_equal(r.to_card.windows, 2048);
	assert_int_equal(r.to_host.windows, 2048);
	assert_in_range(r.to_host.median, 49000, 51000);
	assert_in_range(r.d2h_mbs, 49000, 51000);
}

/* 0.21, 0.84, 0.42, 0.83 and 13.3 GB/s of the design's table. */
static void link_carries_what_the_table_says(void **state)
{
	(void)state;
	assert_int_equal(selftest_link_mbs(2500, 1), 210);
	assert_int_equal(selftest_link_mbs(2500, 4), 840);
	assert_int_equal(selftest_link_mbs(5000, 1), 420);
	assert_in_range(selftest_link_mbs(8000, 1), 825, 828);
	assert_in_range(selftest_link_mbs(8000, 16), 13200, 13300);
	assert_int_equal(selftest_link_mbs(0, 16), 0);
	assert_int_equal(selftest_link_mbs(8000, 0), 0);
}

/*
 * Wrong data in each phase. Expected words are those of tests/ptx/emulate.py for the seeds of the phases; the memory
 * under test starts behind 64 KiB of scratch. A stuck bit disagrees with a word or with its complement: once in each
 * of address, inversions, random and soak; modulo-20, block-move and hold depend on their words.
 */
static void wrong_data_is_a_fault(void **state)
{
	static const struct {
		const char *script;
		enum selftest_phase_id failed;
		enum selftest_fault_kind kind;
		uint64_t least, most, at;
		uint32_t expected, got;
	} rows[] = {
		{ "known=0", SELFTEST_KNOWN, FAULT_KNOWN, 1, 1, 0, 0xdbf05850, 0xdbf05851 },
		{ "known=16383", SELFTEST_KNOWN, FAULT_KNOWN, 1, 1, 65532, 0xf277cae9, 0xf277cae8 },
		{ "stuck=0:0:1", SELFTEST_KNOWN, FAULT_KNOWN, 1, 1, 0, 0xdbf05850, 0xdbf05851 },
		{ "stuck=69632:1:1", SELFTEST_ADDRESS, FAULT_CELL, 4, 60, 0x1000, 0x2a781069, 0x2a78106b },
		{ "stuck=69632:0:0", SELFTEST_ADDRESS, FAULT_CELL, 4, 60, 0x1000, 0x2a781069, 0x2a781068 },
		{ "flip=69632:4", SELFTEST_ADDRESS, FAULT_CELL, 1, 1, 0x1000, 0x2a781069, 0x2a781079 },
		{ "misread=69632:4:1", SELFTEST_ADDRESS, FAULT_READ, 1, 1, 0x1000, 0x2a781069, 0x2a781079 },
		{ "garble=69632", SELFTEST_ADDRESS, FAULT_PLACE, 8, 80, 0x1000, 0x2a781069, 0x70dd2caa },
		{ "mismove=69632:4", SELFTEST_MOVE, FAULT_MOVE, 1, 1, 0x1000, 0, 0x10 },
		{ "decay=69632:4:900", SELFTEST_HOLD, FAULT_HOLD, 1, 1, 0x1000, 0, 0x10 },
		{ "h2d=5", SELFTEST_LINK, FAULT_TO_CARD, 20, 4096, 20, 0x1ef79989, 0x1ef79988 },
		{ "d2h=7", SELFTEST_LINK, FAULT_TO_HOST, 20, 4096, 28, 0x54937977, 0x54937976 },
		{ "smfault=14:2", SELFTEST_HOLD, FAULT_COMPUTE, 1, ~0u, 77, 0, 0x10 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selftest_plan plan = every_phase;
		const struct selftest_fault *fault;
		struct selftest_result r;

		/* Far longer than a busy machine leaves the memory alone at any other time. */
		if (rows[i].kind == FAULT_HOLD)
			plan.hold_ms = 1000;
		use_fake(rows[i].script);
		r = run(&(struct selftest_request){ .plan = plan });
		print_result(rows[i].script, &r);
		assert_int_equal(r.word, SELFTEST_DATA_FAULT);
		assert_int_equal(r.failed, rows[i].failed);
		assert_in_range(r.errors, rows[i].least, rows[i].most);
		assert_int_equal(r.mismatch_at, rows[i].at);
		/* Where the word is not known beforehand, its wrong bit is. */
		assert_int_equal(r.expected ^ r.got, rows[i].expected ^ rows[i].got);
		assert_true(!rows[i].expected || r.expected == rows[i].expected);
		assert_int_equal(r.phase[SELFTEST_TEARDOWN].word, SELFTEST_PASS);
		assert_phases_agree(&r);

		/* One place, named once. */
		fault = &r.fault[0];
		assert_int_equal(r.nr_faults, 1);
		assert_int_equal(fault->kind, rows[i].kind);
		assert_int_equal(fault->phase, rows[i].failed);
		assert_int_equal(fault->at, rows[i].at);
		assert_int_equal(fault->expected ^ fault->got, rows[i].expected ^ rows[i].got);
		assert_int_equal(fault->again == fault->expected, rows[i].kind == FAULT_READ);
		assert_int_equal(fault->kind == FAULT_COMPUTE ? fault->sm : 14, 14);
	}
}

/* "8 GiB" on a board with 4: named by the first memory phase, with the size of what there is; the rest is tested. */
static void memory_that_answers_twice_is_named(void **state)
{
	struct selftest_result r;

	(void)state;
	use_fake("vram=64 alias=32");
	r = run(&(struct selftest_request){ .plan = predict_quick });
	print_result("alias", &r);
	assert_int_equal(r.word, SELFTEST_DATA_FAULT);
	assert_int_equal(r.failed, SELFTEST_ADDRESS);
	assert_int_equal(r.nr_faults, 1);
	assert_int_equal(r.fault[0].kind, FAULT_ALIAS);
	assert_int_equal(r.fault[0].other - r.fault[0].at, 32 << 20);
	assert_in_range(r.real_mib, 31, 33);
	assert_in_range(r.tested_mib, 26, 32);
	for (unsigned int i = SELFTEST_INVERSIONS; i < SELFTEST_TEARDOWN; i++)
		assert_true(r.phase[i].word == SELFTEST_PASS || r.phase[i].word == SELFTEST_NOT_RUN);
}

/* Each of several faults is named, at its place, and what is sound between them is not. */
static void several_faults_are_all_named(void **state)
{
	static const struct {
		enum selftest_fault_kind kind;
		uint64_t at;
	} expected[] = {
		{ FAULT_CELL, 0x1000 }, { FAULT_CELL, 0x200000 }, { FAULT_PLACE, 0x101000 }, { FAULT_TO_CARD, 8 },
		{ FAULT_TO_HOST, 12 }, { FAULT_COMPUTE, 77 },
	};
	struct selftest_result r;

	(void)state;
	use_fake("vram=16 stuck=69632:3:1 stuck=2162688:5:0 garble=1118208 h2d=2 d2h=3 smfault=2:0 uneven=4");
	r = run(&(struct selftest_request){ .plan = predict_quick, .speed_mts = 2500, .width = 1 });
	print_result("several", &r);
	assert_int_equal(r.word, SELFTEST_DATA_FAULT);
	assert_int_equal(r.notes, NOTE_UNEVEN_LINK);
	assert_int_equal(r.nr_faults, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		unsigned int found = 0;

		for (unsigned int k = 0; k < r.nr_faults; k++)
			found += r.fault[k].kind == expected[i].kind && r.fault[k].at == expected[i].at;
		assert_int_equal(found, 1);
	}
	/* Bit 3 of a word, bit 5 of another, and sixteen of a third. */
	assert_true(r.statistics.up[3] && r.statistics.down[5] && r.statistics.flips[15]);
	assert_int_equal(r.statistics.first, 0x1000);
	assert_int_equal(r.statistics.last, 0x200000);
}

/* Correct, and yet not as it should be. */
static void slow_or_absent_parts_are_degraded(void **state)
{
	static const struct {
		const char *script;
		enum selftest_phase_id failed;
		unsigned int notes;
	} rows[] = {
		{ "bandwidth=129000", SELFTEST_NR_PHASES, 0 },
		{ "bandwidth=127000", SELFTEST_ADDRESS, NOTE_SLOW_MEMORY },
		{ "smhole=3", SELFTEST_COMPUTE, NOTE_SM_UNSEEN },
		{ "uneven=5", SELFTEST_LINK, NOTE_UNEVEN_LINK },
		{ "uneven=40", SELFTEST_NR_PHASES, 0 },
		/* As some cards are made: a rate, and no fault. */
		{ "fma=6", SELFTEST_NR_PHASES, 0 },
		{ "compute=60", SELFTEST_NR_PHASES, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selftest_result r;

		use_fake(rows[i].script);
		r = run(&(struct selftest_request){ 0 });
		print_result(rows[i].script, &r);
		assert_int_equal(r.word, rows[i].notes ? SELFTEST_DEGRADED : SELFTEST_PASS);
		assert_int_equal(r.failed, rows[i].failed);
		assert_int_equal(r.notes, rows[i].notes);
		assert_phases_agree(&r);
	}
}

/* What was corrupted on purpose is found, all of it. */
static void injected_words_are_found(void **state)
{
	static const struct {
		enum selftest_inject inject;
		enum selftest_phase_id failed;
		unsigned int injected;
	} rows[] = {
		{ INJECT_NONE, SELFTEST_NR_PHASES, 0 },
		{ INJECT_MEMORY, SELFTEST_ADDRESS, 3 },
		{ INJECT_COPY, SELFTEST_LINK, 2 },
		{ INJECT_COMPUTE, SELFTEST_COMPUTE, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selftest_result r;

		use_fake("");
		r = run(&(struct selftest_request){ .plan = predict_quick, .inject = rows[i].inject });
		assert_int_equal(r.word, rows[i].injected ? SELFTEST_DATA_FAULT : SELFTEST_PASS);
		assert_int_equal(r.failed, rows[i].failed);
		assert_int_equal(r.injected, rows[i].injected);
		assert_int_equal(r.detected, rows[i].injected);
	}
}

/* A later phase that ends badly takes nothing away from what an earlier one found. */
static void earlier_results_outlive_a_hang(void **state)
{
	struct selftest_result r;

	(void)state;
	use_fake("stuck=69632:3:1 cuMemcpyDtoD_v2=hang-hard");
	r = run(&(struct selftest_request){ .limit_ms = 1500 });
	print_result("stuck bit, then a hang", &r);
	assert_int_equal(r.word, SELFTEST_HUNG);
	assert_int_equal(r.failed, SELFTEST_MOVE);
	assert_int_equal(r.phase[SELFTEST_ADDRESS].word, SELFTEST_DATA_FAULT);
	assert_int_equal(r.phase[SELFTEST_MODULO].word, SELFTEST_DATA_FAULT);
	assert_int_equal(r.phase[SELFTEST_HOLD].word, SELFTEST_NOT_RUN);
	assert_int_equal(r.nr_faults, 1);
	assert_int_equal(r.fault[0].at, 0x1000);
	assert_memory_equal(r.error, "memory: ", 8);
	assert_non_null(strstr(r.error, "cuMemcpyDtoD_v2 entered, not back"));

	/* Within a phase too: a pass of the soak finds a wrong word, then the arithmetic cannot get its reference. */
	use_fake("misread=69632:4:3 cuMemcpyHtoDAsync_v2=code:719");
	r = run(&(struct selftest_request){ .plan = { .patterns = 1, .soak_ms = 60000 } });
	print_result("wrong word, then an error", &r);
	assert_int_equal(r.word, SELFTEST_GPU_FAULT);
	assert_int_equal(r.failed, SELFTEST_SOAK);
	assert_int_equal(r.errors, 1);
	assert_non_null(strstr(r.error, "memory: 1 wrong words"));
}

/* A bit that happens to hold the right value is no fault, and neither is one outside of what is used. */
static void right_data_is_none(void **state)
{
	static const char * const rows[] = { "stuck=0:0:0", "stuck=8388607:0:1", "flip=8388607:0", "h2d=2000000" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selftest_result r;

		use_fake(rows[i]);
		r = run(&(struct selftest_request){ 0 });
		print_result(rows[i], &r);
		assert_int_equal(r.phase[SELFTEST_KNOWN].word, SELFTEST_PASS);
		/* The scratch memory is the reports' too: there a stuck bit shows when they are read. */
		assert_true(i == 0 || r.word == SELFTEST_PASS);
	}
}

struct code_row {
	const char *script;
	enum selftest_word word;
	enum selftest_phase_id failed;
	enum selftest_cause cause;
	const char *error;
};

static void assert_code_row(const struct code_row *row)
{
	struct selftest_result r;

	use_fake(row->script);
	r = run(&(struct selftest_request){ 0 });
	print_result(row->script, &r);
	assert_int_equal(r.word, row->word);
	assert_int_equal(r.failed, row->failed);
	assert_int_equal(r.cause, row->cause);
	assert_string_equal(r.error, row->error);
	assert_phases_agree(&r);
}

/* Codes that mean something of their own, and neighbours that do not. */
static void codes_have_their_words(void **state)
{
	static const struct code_row rows[] = {
		{ "cuInit=code:100", SELFTEST_NOT_TESTABLE, SELFTEST_INIT, SELFTEST_NO_DEVICE,
		  "cuInit: 100 CUDA_ERROR_NO_DEVICE" },
		{ "cuInit=code:34", SELFTEST_NOT_TESTABLE, SELFTEST_INIT, SELFTEST_LIB_STUB,
		  "cuInit: 34 CUDA_ERROR_STUB_LIBRARY" },
		{ "cuInit=code:802", SELFTEST_NOT_TESTABLE, SELFTEST_INIT, SELFTEST_NOT_READY,
		  "cuInit: 802 CUDA_ERROR_SYSTEM_NOT_READY" },
		{ "cuInit=code:803", SELFTEST_NOT_TESTABLE, SELFTEST_INIT, SELFTEST_LIB_MISMATCH,
		  "cuInit: 803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" },
		{ "cuInit=code:804", SELFTEST_NOT_TESTABLE, SELFTEST_INIT, SELFTEST_LIB_COMPAT,
		  "cuInit: 804 CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE" },
		{ "cuInit=code:999", SELFTEST_NOT_TESTABLE, SELFTEST_INIT, SELFTEST_INIT_FAILED,
		  "cuInit: 999 CUDA_ERROR_UNKNOWN" },
		{ "cuInit=code:4711", SELFTEST_NOT_TESTABLE, SELFTEST_INIT, SELFTEST_INIT_FAILED,
		  "cuInit: 4711 unnamed code" },
		{ "cuDeviceGetByPCIBusId=code:101", SELFTEST_NOT_TESTABLE, SELFTEST_DEVICE, SELFTEST_NOT_VISIBLE,
		  "cuDeviceGetByPCIBusId: 101 CUDA_ERROR_INVALID_DEVICE" },
		{ "cuDeviceGetByPCIBusId=code:100", SELFTEST_NOT_TESTABLE, SELFTEST_DEVICE, SELFTEST_NO_DEVICE,
		  "cuDeviceGetByPCIBusId: 100 CUDA_ERROR_NO_DEVICE" },
		{ "cuCtxCreate_v2=code:2", SELFTEST_NOT_TESTABLE, SELFTEST_CONTEXT, SELFTEST_NO_MEMORY,
		  "cuCtxCreate_v2: 2 CUDA_ERROR_OUT_OF_MEMORY" },
		{ "cuCtxCreate_v2=code:46", SELFTEST_NOT_TESTABLE, SELFTEST_CONTEXT, SELFTEST_BUSY,
		  "cuCtxCreate_v2: 46 CUDA_ERROR_DEVICE_UNAVAILABLE" },
		{ "cuCtxCreate_v2=code:101", SELFTEST_NOT_TESTABLE, SELFTEST_CONTEXT, SELFTEST_NOT_VISIBLE,
		  "cuCtxCreate_v2: 101 CUDA_ERROR_INVALID_DEVICE" },
		{ "cuCtxCreate_v2=code:214", SELFTEST_GPU_FAULT, SELFTEST_CONTEXT, SELFTEST_CAUSE_NONE,
		  "cuCtxCreate_v2: 214 CUDA_ERROR_ECC_UNCORRECTABLE" },
		{ "cuMemHostAlloc=code:2", SELFTEST_NOT_TESTABLE, SELFTEST_CONTEXT, SELFTEST_HOST_ERROR,
		  "cuMemHostAlloc: 2 CUDA_ERROR_OUT_OF_MEMORY" },
		{ "cuModuleLoadDataEx=code:200", SELFTEST_NOT_TESTABLE, SELFTEST_JIT, SELFTEST_JIT_REFUSED,
		  "cuModuleLoadDataEx: 200 CUDA_ERROR_INVALID_IMAGE" },
		{ "cuModuleLoadDataEx=code:209", SELFTEST_NOT_TESTABLE, SELFTEST_JIT, SELFTEST_JIT_REFUSED,
		  "cuModuleLoadDataEx: 209 CUDA_ERROR_NO_BINARY_FOR_GPU" },
		{ "cuModuleLoadDataEx=code:218", SELFTEST_NOT_TESTABLE, SELFTEST_JIT, SELFTEST_JIT_REFUSED,
		  "cuModuleLoadDataEx: 218 CUDA_ERROR_INVALID_PTX" },
		{ "cuModuleLoadDataEx=code:221", SELFTEST_NOT_TESTABLE, SELFTEST_JIT, SELFTEST_NO_JIT,
		  "cuModuleLoadDataEx: 221 CUDA_ERROR_JIT_COMPILER_NOT_FOUND" },
		{ "cuModuleLoadDataEx=code:222@2", SELFTEST_NOT_TESTABLE, SELFTEST_JIT, SELFTEST_JIT_REFUSED,
		  "cuModuleLoadDataEx: 222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION" },
		{ "cuModuleLoadDataEx=code:223", SELFTEST_NOT_TESTABLE, SELFTEST_JIT, SELFTEST_JIT_REFUSED,
		  "cuModuleLoadDataEx: 223 CUDA_ERROR_JIT_COMPILATION_DISABLED" },
		{ "cuModuleGetFunction=code:500", SELFTEST_NOT_TESTABLE, SELFTEST_JIT, SELFTEST_JIT_REFUSED,
		  "cuModuleGetFunction: 500 CUDA_ERROR_NOT_FOUND" },
		{ "cuStreamQuery=code:700@2", SELFTEST_GPU_FAULT, SELFTEST_KNOWN, SELFTEST_CAUSE_NONE,
		  "cuStreamQuery: 700 CUDA_ERROR_ILLEGAL_ADDRESS" },
		{ "cuLaunchKernel=code:701@2", SELFTEST_GPU_FAULT, SELFTEST_ADDRESS, SELFTEST_CAUSE_NONE,
		  "cuLaunchKernel: 701 CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" },
		{ "cuMemcpyHtoDAsync_v2=code:719", SELFTEST_GPU_FAULT, SELFTEST_HOLD, SELFTEST_CAUSE_NONE,
		  "cuMemcpyHtoDAsync_v2: 719 CUDA_ERROR_LAUNCH_FAILED" },
		{ "cuMemcpyDtoD_v2=code:719", SELFTEST_GPU_FAULT, SELFTEST_MOVE, SELFTEST_CAUSE_NONE,
		  "cuMemcpyDtoD_v2: 719 CUDA_ERROR_LAUNCH_FAILED" },
		{ "vram=5", SELFTEST_NOT_TESTABLE, SELFTEST_ALLOCATION, SELFTEST_NO_MEMORY,
		  "1 of 5 MiB are called free and not even 1 can be had" },
		/* The context's own allocation works, those of the allocation phase do not. */
		{ "cuMemAlloc_v2=code:2@2", SELFTEST_NOT_TESTABLE, SELFTEST_ALLOCATION, SELFTEST_NO_MEMORY,
		  "4 of 8 MiB are called free and not even 1 can be had" },
		{ "cuMemAlloc_v2=code:999@2", SELFTEST_GPU_FAULT, SELFTEST_ALLOCATION, SELFTEST_CAUSE_NONE,
		  "cuMemAlloc_v2: 999 CUDA_ERROR_UNKNOWN" },
		/* After a fault every later call reports it again: the first words stay. */
		{ "cuLaunchKernel=code:719 cuCtxDestroy_v2=code:719", SELFTEST_GPU_FAULT, SELFTEST_KNOWN,
		  SELFTEST_CAUSE_NONE, "cuLaunchKernel: 719 CUDA_ERROR_LAUNCH_FAILED" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_code_row(&rows[i]);
}

/* The first call of every entry point that we use fails with 999. */
static void every_entry_point_may_fail(void **state)
{
	static const struct {
		const char *name;
		enum selftest_word word;
		enum selftest_phase_id failed;
	} rows[] = {
		{ "cuInit", SELFTEST_NOT_TESTABLE, SELFTEST_INIT },
		{ "cuDriverGetVersion", SELFTEST_PASS, SELFTEST_NR_PHASES },
		{ "cuDeviceGetByPCIBusId", SELFTEST_NOT_TESTABLE, SELFTEST_DEVICE },
		{ "cuDeviceGetName", SELFTEST_NOT_TESTABLE, SELFTEST_DEVICE },
		{ "cuDeviceGetAttribute", SELFTEST_NOT_TESTABLE, SELFTEST_DEVICE },
		{ "cuDeviceTotalMem_v2", SELFTEST_NOT_TESTABLE, SELFTEST_DEVICE },
		{ "cuCtxCreate_v2", SELFTEST_GPU_FAULT, SELFTEST_CONTEXT },
		{ "cuCtxDestroy_v2", SELFTEST_GPU_FAULT, SELFTEST_TEARDOWN },
		{ "cuModuleLoadDataEx", SELFTEST_GPU_FAULT, SELFTEST_JIT },
		{ "cuModuleGetFunction", SELFTEST_GPU_FAULT, SELFTEST_JIT },
		{ "cuLaunchKernel", SELFTEST_GPU_FAULT, SELFTEST_KNOWN },
		{ "cuMemGetInfo_v2", SELFTEST_GPU_FAULT, SELFTEST_CONTEXT },
		{ "cuMemAlloc_v2", SELFTEST_GPU_FAULT, SELFTEST_CONTEXT },
		{ "cuMemHostAlloc", SELFTEST_GPU_FAULT, SELFTEST_CONTEXT },
		{ "cuMemcpyHtoDAsync_v2", SELFTEST_GPU_FAULT, SELFTEST_HOLD },
		{ "cuMemcpyDtoD_v2", SELFTEST_GPU_FAULT, SELFTEST_MOVE },
		{ "cuMemcpyDtoHAsync_v2", SELFTEST_GPU_FAULT, SELFTEST_KNOWN },
		{ "cuMemsetD32Async", SELFTEST_GPU_FAULT, SELFTEST_KNOWN },
		{ "cuStreamCreate", SELFTEST_GPU_FAULT, SELFTEST_CONTEXT },
		{ "cuStreamQuery", SELFTEST_GPU_FAULT, SELFTEST_KNOWN },
		{ "cuEventCreate", SELFTEST_GPU_FAULT, SELFTEST_CONTEXT },
		{ "cuEventRecord", SELFTEST_GPU_FAULT, SELFTEST_ADDRESS },
		{ "cuEventElapsedTime", SELFTEST_GPU_FAULT, SELFTEST_ADDRESS },
	};
	char script[80], error[80];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selftest_result r;

		snprintf(script, sizeof(script), "%s=code:999", rows[i].name);
		snprintf(error, sizeof(error), "%s: 999 CUDA_ERROR_UNKNOWN", rows[i].name);
		use_fake(script);
		r = run(&(struct selftest_request){ 0 });
		print_result(script, &r);
		assert_int_equal(r.word, rows[i].word);
		assert_int_equal(r.failed, rows[i].failed);
		assert_string_equal(r.error, rows[i].word == SELFTEST_PASS ? "" : error);
		assert_phases_agree(&r);
	}
}

static void no_driver_is_no_device(void **state)
{
	struct selftest_result r;

	(void)state;
	if (!access("/proc/driver/nvidia/version", F_OK)) {
		print_message("skipped: this machine has an nvidia driver\n");
		skip();
	}
	use_fake("");
	unsetenv("SOFTTAPE_FAKE_FORCE");
	r = run(&(struct selftest_request){ 0 });
	assert_int_equal(r.word, SELFTEST_NOT_TESTABLE);
	assert_int_equal(r.cause, SELFTEST_NO_DEVICE);
	assert_true(r.simulated);
}

static void unusable_library_is_named(void **state)
{
	static const struct {
		const char *dir, *error;
	} rows[] = {
		{ FAKE_DIR "/needs", "libsofttape-missing.so.1: cannot open" },
		{ FAKE_DIR "/lacks", "undefined symbol: cuInit" },
		{ FAKE_DIR "/garbage", "file too short" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct selftest_result r;

		use_fake("");
		setenv("LD_LIBRARY_PATH", rows[i].dir, 1);
		r = run(&(struct selftest_request){ 0 });
		print_result(rows[i].dir, &r);
		assert_int_equal(r.word, SELFTEST_NOT_TESTABLE);
		assert_int_equal(r.failed, SELFTEST_LIBRARY);
		assert_int_equal(r.cause, SELFTEST_LIB_BROKEN);
		assert_false(r.simulated);
		assert_non_null(strstr(r.error, rows[i].error));
	}
}

/* What the user set for CUDA must neither hide the card nor put other code into the child. */
static void environment_is_cleaned(void **state)
{
	struct selftest_result r;

	(void)state;
	use_fake("");
	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	setenv("LD_PRELOAD", FAKE_DIR "/lacks/libcuda.so.1", 1);
	r = run(&(struct selftest_request){ 0 });
	unsetenv("LD_PRELOAD");
	unsetenv("CUDA_VISIBLE_DEVICES");
	print_result("environment", &r);
	assert_int_equal(r.word, SELFTEST_PASS);
}

static void death_of_the_child_is_a_crash(void **state)
{
	static const struct code_row rows[] = {
		{ "cuInit=signal:6", SELFTEST_CRASHED, SELFTEST_INIT, 0,
		  "test process killed by signal 6 (Aborted), cuInit entered, not back" },
		{ "cuCtxCreate_v2=signal:11", SELFTEST_CRASHED, SELFTEST_CONTEXT, 0,
		  "test process killed by signal 11 (Segmentation fault), cuCtxCreate_v2 entered, not back" },
		{ "cuLaunchKernel=signal:7@2", SELFTEST_CRASHED, SELFTEST_ADDRESS, 0,
		  "test process killed by signal 7 (Bus error), cuLaunchKernel entered, not back" },
		{ "cuMemcpyHtoDAsync_v2=signal:9", SELFTEST_CRASHED, SELFTEST_HOLD, 0,
		  "test process killed by signal 9 (Killed), cuMemcpyHtoDAsync_v2 entered, not back" },
		{ "cuCtxDestroy_v2=signal:15", SELFTEST_CRASHED, SELFTEST_TEARDOWN, 0,
		  "test process killed by signal 15 (Terminated), cuCtxDestroy_v2 entered, not back" },
		{ "cuInit=exit:0", SELFTEST_CRASHED, SELFTEST_INIT, 0,
		  "test process exited with status 0, cuInit entered, not back" },
		{ "cuStreamQuery=exit:3@3", SELFTEST_CRASHED, SELFTEST_KNOWN, 0,
		  "test process exited with status 3, cuStreamQuery entered, not back" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_code_row(&rows[i]);
}

static void hang_is_a_verdict_in_time(void **state)
{
	static const struct {
		const char *script;
		unsigned int limit_ms;
		enum selftest_phase_id failed;
		const char *error;
	} rows[] = {
		{ "cuInit=hang", 500, SELFTEST_INIT, "cuInit entered, not back, state S" },
		{ "cuInit=spin", 500, SELFTEST_INIT, "cuInit entered, not back, state R" },
		{ "cuCtxCreate_v2=hang-hard", 800, SELFTEST_CONTEXT, "cuCtxCreate_v2 entered, not back, state S" },
		/* A kernel that never ends: the child polls, sees the stop flag and leaves by itself. */
		{ "cuStreamQuery=code:600@9", 1500, SELFTEST_ADDRESS, "after cuStreamQuery: 600 CUDA_ERROR_NOT_READY" },
		{ "cuCtxDestroy_v2=hang", 1500, SELFTEST_TEARDOWN, "cuCtxDestroy_v2 entered, not back" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t begin_ms = phases_now_ms(), took_ms;
		struct selftest_result r;

		use_fake(rows[i].script);
		r = run(&(struct selftest_request){ .limit_ms = rows[i].limit_ms });
		took_ms = phases_now_ms() - begin_ms;
		print_result(rows[i].script, &r);
		assert_int_equal(r.word, SELFTEST_HUNG);
		assert_int_equal(r.failed, rows[i].failed);
		assert_non_null(strstr(r.error, rows[i].error));
		assert_null(strstr(r.error, "left behind"));
		assert_true(r.phase[r.failed].ms >= rows[i].limit_ms);
		/* Every earlier phase may use its limit too. */
		assert_in_range(took_ms, rows[i].limit_ms, rows[i].limit_ms * (rows[i].failed + 1) + STOP_MS);
		assert_phases_agree(&r);
	}
}

/*
 * A machine that is busy with other things: the same processor, a sixteenth of its time. Phases take far longer than their
 * limit and yet make their steps; a child that never comes back is one all the same, at ten times the limit at the latest.
 */
static void a_loaded_machine_is_no_hang(void **state)
{
	enum { LIMIT_MS = 400, HOGS = 15 };
	uint32_t slowest_ms = 0;
	struct selftest_result r;
	cpu_set_t before, one;
	pid_t hog[HOGS];
	uint64_t begin_ms;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (unsigned int i = 0; i < HOGS; i++) {
		hog[i] = fork();
		if (!hog[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			/* As the child does: some kernels share a processor out by session. */
			setsid();
			for (;;)
				;
		}
	}
	use_fake("vram=32");
	r = run(&(struct selftest_request){ .limit_ms = LIMIT_MS });
	print_result("loaded", &r);
	for (unsigned int i = 0; i < SELFTEST_NR_PHASES; i++)
		slowest_ms = r.phase[i].ms > slowest_ms ? r.phase[i].ms : slowest_ms;

	use_fake("cuCtxCreate_v2=spin");
	begin_ms = phases_now_ms();
	assert_int_equal(run(&(struct selftest_request){ .limit_ms = LIMIT_MS }).word, SELFTEST_HUNG);
	begin_ms = phases_now_ms() - begin_ms;

	for (unsigned int i = 0; i < HOGS; i++) {
		kill(hog[i], SIGKILL);
		waitpid(hog[i], NULL, 0);
	}
	sched_setaffinity(0, sizeof(before), &before);
	assert_int_equal(r.word, SELFTEST_PASS);
	/* Otherwise the machine was not busy enough to tell. */
	assert_true(slowest_ms > LIMIT_MS);
	assert_true(begin_ms < 10 * LIMIT_MS * 4 + STOP_MS);
}

/* Late, but within the limit. */
static void slow_answer_is_none(void **state)
{
	(void)state;
	use_fake("cuInit=delay:700 cuCtxCreate_v2=delay:700");
	assert_int_equal(run(&(struct selftest_request){ .limit_ms = 3000 }).word, SELFTEST_PASS);
}

static const char *temp_config(const void *bytes, size_t size)
{
	static char path[] = "/tmp/softtape-config-XXXXXX";
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	return path;
}

static void card_off_the_bus_is_lost(void **state)
{
	static const struct {
		const char *script, *config;
		enum selftest_word word;
	} rows[] = {
		{ "cuLaunchKernel=code:719", "\xff\xff\xff\xff", SELFTEST_LOST },
		{ "cuLaunchKernel=code:719", "\xde\x10\x87\x1b", SELFTEST_GPU_FAULT },
		{ "cuLaunchKernel=code:719", "\xde\xff\x87\x1b", SELFTEST_GPU_FAULT },
		{ "cuLaunchKernel=code:719", NULL, SELFTEST_LOST },
		{ "cuCtxCreate_v2=signal:9", "\xff\xff\xff\xff", SELFTEST_LOST },
		{ "cuDeviceGetByPCIBusId=code:101", "\xff\xff\xff\xff", SELFTEST_LOST },
		{ "d2h=7", "\xff\xff\xff\xff", SELFTEST_LOST },
		{ "", "\xff\xff\xff\xff", SELFTEST_PASS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *path = rows[i].config ? temp_config(rows[i].config, 4) : "/nonexistent/config";
		struct selftest_result r;

		use_fake(rows[i].script);
		r = run(&(struct selftest_request){ .config_path = path });
		if (rows[i].config)
			unlink(path);
		print_result(rows[i].script, &r);
		assert_int_equal(r.word, rows[i].word);
		assert_int_equal(r.cause, SELFTEST_CAUSE_NONE);
		if (r.word == SELFTEST_LOST)
			assert_memory_equal(r.error, "the card left the bus: ", 23);
		assert_phases_agree(&r);
	}
}

static void caller_can_stop_it(void **state)
{
	const struct itimerspec soon = { .it_value.tv_nsec = 300000000 };
	uint64_t begin_ms = phases_now_ms();
	struct selftest_result r;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(timerfd_settime(fd, 0, &soon, NULL), 0);
	use_fake("cuStreamQuery=code:600@5");
	r = run(&(struct selftest_request){ .cancel_fd = fd });
	close(fd);
	print_result("cancel", &r);
	assert_int_equal(r.word, SELFTEST_CANCELLED);
	assert_string_equal(r.error, "stopped on request");
	assert_true(phases_now_ms() - begin_ms < 300 + STOP_MS);
	assert_phases_agree(&r);
}

struct stopper {
	int fd;
	bool (*enough)(const struct selftest_result *so_far);
};

static void stop_when_enough(const struct selftest_result *so_far, void *data)
{
	struct stopper *stopper = data;

	if (stopper->enough(so_far))
		eventfd_write(stopper->fd, 1);
}

static bool address_is_wrong(const struct selftest_result *so_far)
{
	return so_far->phase[SELFTEST_ADDRESS].word == SELFTEST_DATA_FAULT;
}

static bool any_fault(const struct selftest_result *so_far)
{
	return so_far->nr_faults;
}

/* Who stops a test after hours must not lose what it has found: in a phase before, in the phase that runs. */
static void wrong_data_outlasts_a_stop(void **state)
{
	static const struct {
		const char *script;
		bool (*enough)(const struct selftest_result *so_far);
		enum selftest_phase_id failed;
	} rows[] = {
		{ "stuck=69632:1:1", address_is_wrong, SELFTEST_ADDRESS },
		/* Two checks of the address phase, then one of each pass. */
		{ "misread=69632:4:3", any_fault, SELFTEST_SOAK },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stopper stopper = { .fd = eventfd(0, EFD_CLOEXEC), .enough = rows[i].enough };
		struct selftest_result r;

		assert_true(stopper.fd >= 0);
		use_fake(rows[i].script);
		r = run(&(struct selftest_request){
			.cancel_fd = stopper.fd, .progress = stop_when_enough, .progress_data = &stopper,
			.plan = { .patterns = 1, .soak_ms = 60000 },
		});
		close(stopper.fd);
		print_result(rows[i].script, &r);
		assert_int_equal(r.word, SELFTEST_DATA_FAULT);
		assert_int_equal(r.failed, rows[i].failed);
		assert_true(r.errors > 0);
		assert_non_null(strstr(r.error, "stopped on request"));
	}
}

struct seen {
	unsigned int calls;
	bool init_running, init_passed;
	struct selftest_result last;
};

static void look(const struct selftest_result *so_far, void *data)
{
	struct seen *seen = data;

	seen->calls++;
	seen->init_running |= so_far->phase[SELFTEST_INIT].word == SELFTEST_RUNNING;
	seen->init_passed |= so_far->phase[SELFTEST_INIT].word == SELFTEST_PASS &&
			     so_far->phase[SELFTEST_CONTEXT].word == SELFTEST_RUNNING;
	seen->last = *so_far;
}

static void caller_sees_it_go_on(void **state)
{
	struct seen seen = { 0 };
	struct selftest_result r;

	(void)state;
	use_fake("cuInit=delay:300 cuCtxCreate_v2=delay:300");
	r = run(&(struct selftest_request){ .progress = look, .progress_data = &seen });
	assert_int_equal(r.word, SELFTEST_PASS);
	assert_true(seen.init_running);
	assert_true(seen.init_passed);
	assert_memory_equal(&seen.last, &r, sizeof(r));
}

static void child_that_never_starts(void **state)
{
	struct selftest_result r;

	(void)state;
	use_fake("");
	setenv(CHILD_ENV, "dies", 1);
	r = run(&(struct selftest_request){ 0 });
	print_result("dies", &r);
	assert_int_equal(r.word, SELFTEST_NOT_TESTABLE);
	assert_int_equal(r.cause, SELFTEST_HOST_ERROR);
	assert_int_equal(r.failed, SELFTEST_NR_PHASES);
	assert_string_equal(r.error, "test process did not start: exited with status 7");
}

/* A crash may leave anything in the shared page; the parent must survive it and its numbers stay in range. */
static void child_that_scribbles(void **state)
{
	struct selftest_result r;

	(void)state;
	use_fake("");
	setenv(CHILD_ENV, "scribbles", 1);
	r = run(&(struct selftest_request){ 0 });
	assert_in_range(r.word, 0, SELFTEST_NR_WORDS - 1);
	assert_in_range(r.failed, 0, SELFTEST_NR_PHASES);
	assert_in_range(r.cause, 0, SELFTEST_NR_CAUSES - 1);
	assert_true(strnlen(r.error, sizeof(r.error)) < sizeof(r.error));
	assert_true(strnlen(r.name, sizeof(r.name)) < sizeof(r.name));
	assert_int_not_equal(r.word, SELFTEST_PASS);
}

static void ignored_sigchld_costs_only_the_reason(void **state)
{
	struct selftest_result r;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	use_fake("cuInit=signal:6");
	r = run(&(struct selftest_request){ 0 });
	signal(SIGCHLD, SIG_DFL);
	print_result("SIGCHLD ignored", &r);
	assert_int_equal(r.word, SELFTEST_CRASHED);
	assert_string_equal(r.error, "test process ended, cuInit entered, not back");
}

static void hidden_command_by_hand_is_refused(void **state)
{
	char self[300], command[400];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	assert_true(len > 0);
	self[len] = '\0';
	snprintf(command, sizeof(command), "'%s' %s 3</dev/null 2>/dev/null", self, SELFTEST_CHILD_COMMAND);
	unsetenv(CHILD_ENV);
	len = system(command);
	assert_true(WIFEXITED((int)len));
	assert_int_equal(WEXITSTATUS((int)len), 2);
}

/*
 * A frozen file system: whoever opens a file on it for writing is in state D and takes no signal, as in a driver that
 * hangs. A guard process made beforehand thaws and unmounts when this one ends, however that happens.
 */
struct frozen {
	char dir[40], image[60], file[60];
	pid_t guard;
	int guard_fd;
};

static void frozen_remove(const struct frozen *frozen, bool mounted)
{
	int fd = mounted ? open(frozen->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		ioctl(fd, FITHAW, 0);
		close(fd);
	}
	/* Lazily: the process that was stuck may not be gone yet. */
	if (mounted)
		umount2(frozen->dir, MNT_DETACH);
	unlink(frozen->image);
	rmdir(frozen->dir);
}

static void frozen_guard(struct frozen *frozen)
{
	int pipe_fd[2];
	char byte;

	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	frozen->guard = fork();
	if (!frozen->guard) {
		setsid();
		close(pipe_fd[1]);
		while (read(pipe_fd[0], &byte, 1) < 0 && errno == EINTR)
			;
		frozen_remove(frozen, true);
		_exit(0);
	}
	assert_true(frozen->guard > 0);
	close(pipe_fd[0]);
	frozen->guard_fd = pipe_fd[1];
}

/* Returns what is missing, NULL when all is well. */
static const char *frozen_make(struct frozen *frozen)
{
	char command[300];
	int fd;

	if (geteuid())
		return "needs root";
	strcpy(frozen->dir, "/tmp/softtape-frozen-XXXXXX");
	if (!mkdtemp(frozen->dir))
		return "no temporary directory";
	snprintf(frozen->image, sizeof(frozen->image), "%s.ext4", frozen->dir);
	snprintf(frozen->file, sizeof(frozen->file), "%s/file", frozen->dir);
	snprintf(command, sizeof(command),
		 "truncate -s 8M %s && /sbin/mkfs.ext4 -q -F %s && mount -o loop %s %s 2>/dev/null",
		 frozen->image, frozen->image, frozen->image, frozen->dir);
	if (system(command)) {
		frozen_remove(frozen, false);
		return "no loop-mounted ext4 here";
	}
	frozen_guard(frozen);
	fd = open(frozen->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, FIFREEZE, 0), 0);
	close(fd);
	return NULL;
}

static int frozen_setup(void **state)
{
	struct frozen *frozen = calloc(1, sizeof(*frozen));
	const char *missing;

	if (!frozen)
		return -1;
	frozen->guard_fd = -1;
	missing = frozen_make(frozen);
	if (missing)
		print_message("skipped: %s\n", missing);
	*state = frozen;
	return 0;
}

static int frozen_teardown(void **state)
{
	struct frozen *frozen = *state;

	if (frozen->guard_fd >= 0) {
		close(frozen->guard_fd);
		waitpid(frozen->guard, NULL, 0);
	}
	free(frozen);
	return 0;
}

static void use_frozen(const struct frozen *frozen)
{
	char script[120];

	if (frozen->guard_fd < 0)
		skip();
	snprintf(script, sizeof(script), "cuCtxCreate_v2=block:%s", frozen->file);
	use_fake(script);
}

static void child_in_state_d_is_left_behind(void **state)
{
	uint64_t begin_ms = phases_now_ms();
	struct selftest_result r;

	use_frozen(*state);
	r = run(&(struct selftest_request){ .limit_ms = 1000 });
	print_result("state D", &r);
	assert_int_equal(r.word, SELFTEST_HUNG);
	assert_int_equal(r.failed, SELFTEST_CONTEXT);
	assert_non_null(strstr(r.error, "cuCtxCreate_v2 entered, not back, state D"));
	assert_non_null(strstr(r.error, "cannot be killed, left behind"));
	/* Library, init and device before it; then 4.5 s of trying to stop it. */
	assert_in_range(phases_now_ms() - begin_ms, 1000 + 4500, 4 * 1000 + STOP_MS);
}

/* "softtape check | reader": the reader must see the end although the child lives on. */
static void pipe_ends_although_the_child_does_not(void **state)
{
	uint64_t begin_ms = phases_now_ms();
	char text[400] = "";
	int pipe_fd[2];
	ssize_t len, got = 0;
	pid_t pid;

	use_frozen(*state);
	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	if (!pid) {
		struct selftest_result r;

		dup2(pipe_fd[1], STDOUT_FILENO);
		r = run(&(struct selftest_request){ .limit_ms = 1000 });
		dprintf(STDOUT_FILENO, "%s\n", selftest_word_name(r.word));
		_exit(0);
	}
	close(pipe_fd[1]);
	while ((len = read(pipe_fd[0], text + got, sizeof(text) - 1 - (size_t)got)) > 0)
		got += len;
	close(pipe_fd[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_string_equal(text, "hung\n");
	assert_true(phases_now_ms() - begin_ms < 4 * 1000 + STOP_MS);
}

static int misbehave(const char *how)
{
	unsigned char *page;

	if (!strcmp(how, "dies"))
		return 7;
	page = mmap(NULL, sizeof(struct phases_page), PROT_READ | PROT_WRITE, MAP_SHARED, RESPAWN_PAGE_FD, 0);
	if (page != MAP_FAILED)
		memset(page, 0xee, sizeof(struct phases_page));
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_card_passes),
		cmocka_unit_test(nearly_all_free_memory_is_tested),
		cmocka_unit_test(slow_link_is_degraded),
		cmocka_unit_test(fast_link_fills_the_windows),
		cmocka_unit_test(link_carries_what_the_table_says),
		cmocka_unit_test(wrong_data_is_a_fault),
		cmocka_unit_test(memory_that_answers_twice_is_named),
		cmocka_unit_test(several_faults_are_all_named),
		cmocka_unit_test(slow_or_absent_parts_are_degraded),
		cmocka_unit_test(injected_words_are_found),
		cmocka_unit_test(earlier_results_outlive_a_hang),
		cmocka_unit_test(right_data_is_none),
		cmocka_unit_test(codes_have_their_words),
		cmocka_unit_test(every_entry_point_may_fail),
		cmocka_unit_test(no_driver_is_no_device),
		cmocka_unit_test(unusable_library_is_named),
		cmocka_unit_test(environment_is_cleaned),
		cmocka_unit_test(death_of_the_child_is_a_crash),
		cmocka_unit_test(hang_is_a_verdict_in_time),
		cmocka_unit_test(slow_answer_is_none),
		cmocka_unit_test(card_off_the_bus_is_lost),
		cmocka_unit_test(caller_can_stop_it),
		cmocka_unit_test(wrong_data_outlasts_a_stop),
		cmocka_unit_test(caller_sees_it_go_on),
		cmocka_unit_test(child_that_never_starts),
		cmocka_unit_test(child_that_scribbles),
		cmocka_unit_test(ignored_sigchld_costs_only_the_reason),
		cmocka_unit_test(hidden_command_by_hand_is_refused),
		cmocka_unit_test_setup_teardown(child_in_state_d_is_left_behind, frozen_setup, frozen_teardown),
		cmocka_unit_test_setup_teardown(pipe_ends_although_the_child_does_not, frozen_setup, frozen_teardown),
		cmocka_unit_test(a_loaded_machine_is_no_hang),
	};

	if (argc == 2 && !strcmp(argv[1], SELFTEST_CHILD_COMMAND))
		return getenv(CHILD_ENV) ? misbehave(getenv(CHILD_ENV)) : selftest_child();

	/* With the address sanitizer a signal would end the child with an exit status instead. */
	setenv("ASAN_OPTIONS", "handle_segv=0:handle_sigbus=0:handle_abort=0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
