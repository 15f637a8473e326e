// SPDX-License-Identifier: GPL-2.0-only
/*
 * The phases that go over all memory: get it, fill it, check it on the card, and make sense of what is wrong. Only
 * reports of a few KiB cross the link. Knows nothing of deadlines, processes or verdicts.
 */
#include <string.h>

#include "cardtest.h"

/* Left to the driver and to others: 16 MiB, on small cards a 128th. */
#define RESERVE_BYTES		(16 * MIB)
/* Less is no test of anything. */
#define LEAST_BYTES		(1 * MIB)

/* Words 2 to 5 of SHA-256: any numbers do. */
#define ADDRESS_SEED		0xbb67ae85
#define RANDOM_SEED		0x3c6ef372
#define MOVE_SEED		0xa54ff53a
#define HOLD_SEED		0x510e527f
/* Far enough from each other for passes without number: 2^32 divided by the golden ratio. */
#define SEED_STEP		0x9e3779b9

/* From here on it is not a bit that is wrong but the whole word: half of the bits would be 16. */
#define PLACE_BITS		8

/* Wrong words that are no handful, and places to look at then. */
#define MANY_WORDS		4096
#define PROBES			64

/* Of the peak; below is far too slow. */
#define SLOW_PERCENT		40

/* Of the soak: one pass over memory, then the arithmetic for so long, and again. */
#define SOAK_BURST_MS		1000
/* After the idle time of the hold phase: from the lowest clock to full power at once. */
#define HOLD_BURST_MS		200
/* Five sixths of the idle time are enough when the memory clock is known to be down. */
#define HOLD_ENOUGH(ms)		((ms) / 6 * 5)

/**
 * struct tally - what a phase found so far
 * @kind:	what a lasting wrong bit is called in this phase
 * @moved:	words lie half a chunk above the place their number says (1), below it (-1), or there (0)
 * @wrong:	wrong words
 * @first:	the lowest of the first pass that had any
 */
struct tally {
	enum selftest_fault_kind kind;
	int moved;
	uint64_t wrong;
	struct selftest_fault first;
};

/* One direction of a sweep, for the bandwidth. */
struct timing {
	float ms;
	uint64_t bytes;
};

static uint32_t mbs(const struct timing *timing)
{
	return timing->ms > 0 ? (uint32_t)((double)timing->bytes / 1000 / (double)timing->ms) : 0;
}

/* Numbers of words into 256 bins. */
static unsigned int bin_shift(const struct test *t)
{
	unsigned int shift = 0;

	while ((t->items * 4 - 1) >> shift >= MEMORY_BINS)
		shift++;
	return shift;
}

/* The chunk that holds an item. */
static const struct chunk *chunk_of(const struct test *t, uint64_t item)
{
	for (unsigned int i = 0; i < t->nr_chunks; i++)
		if (item - t->chunk[i].first < t->chunk[i].items)
			return &t->chunk[i];
	return NULL;
}

/* Of a word that is under test. */
static CUdeviceptr address_of(const struct test *t, uint64_t word)
{
	const struct chunk *chunk = chunk_of(t, word / 4);

	return chunk->base + (word - chunk->first * 4) * 4;
}

/* A report may lie in memory that answers twice, and then hold anything. */
static uint32_t nr_records(const struct test *t, const struct memory_report *report)
{
	uint32_t nr = 0;

	while (nr < report->sampled && nr < MEMORY_RECORDS && report->record[nr].word < t->items * 4)
		nr++;
	return nr;
}

/* ---- getting memory ---- */

static CUresult take_chunks(struct test *t, size_t bytes, size_t *left)
{
	CUresult code = CUDA_SUCCESS;

	while (*left >= bytes && t->nr_chunks < CHUNKS_MAX) {
		struct chunk *chunk = &t->chunk[t->nr_chunks];

		code = CALL(t, cuMemAlloc_v2, &chunk->base, bytes);
		if (code)
			break;
		chunk->items = (uint32_t)(bytes / MEMORY_ITEM_BYTES);
		chunk->first = t->items;
		t->items += chunk->items;
		t->nr_chunks++;
		*left -= bytes;
	}
	return code == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : code;
}

enum selftest_word memtest_allocation(struct test *t)
{
	static const size_t sizes[] = { 256 * MIB, 64 * MIB, 16 * MIB, 2 * MIB, MIB / 4 };
	size_t reserve = t->free_bytes / 128 < RESERVE_BYTES ? t->free_bytes / 128 : RESERVE_BYTES;
	size_t left = t->free_bytes > reserve ? t->free_bytes - reserve : 0;
	CUresult code = CUDA_SUCCESS;

	t->page->result.free_mib = t->free_bytes / MIB;
	for (size_t i = 0; !code && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		code = take_chunks(t, sizes[i], &left);
	if (code)
		return cardtest_failed(t, code);
	if (t->items * MEMORY_ITEM_BYTES >= LEAST_BYTES)
		return SELFTEST_PASS;
	cardtest_say(t, "%zu of %llu MiB are called free and not even 1 can be had", t->free_bytes / MIB,
		     (unsigned long long)t->page->result.mem_mib);
	return cardtest_not_testable(t, SELFTEST_NO_MEMORY);
}

/* ---- sweeps: all chunks are queued, then waited for once ---- */

static const struct chunk *nth_chunk(const struct test *t, unsigned int i, bool turn)
{
	return &t->chunk[turn ? t->nr_chunks - 1 - i : i];
}

static CUresult timed(struct test *t, CUresult code, struct timing *timing)
{
	code = code ? code : cardtest_mark(t, 1);
	timing->bytes += t->items * MEMORY_ITEM_BYTES;
	return code ? code : cardtest_marked_ms(t, &timing->ms);
}

/* Fill with a hash of the place, or check it. */
static CUresult hash_sweep(struct test *t, enum kernel_id kernel, uint32_t seed, uint32_t invert, bool turn,
			   struct timing *timing)
{
	CUresult code = cardtest_mark(t, 0);

	for (unsigned int i = 0; !code && i < t->nr_chunks; i++) {
		const struct chunk *chunk = nth_chunk(t, i, turn);
		uint64_t args[KERNEL_ARGS_MAX] = {
			chunk->base, chunk->items, chunk->first, seed, invert, turn, t->scratch, bin_shift(t),
		};

		code = cardtest_launch(t, kernel, cardtest_grid(t), args);
	}
	return timed(t, code, timing);
}

static CUresult sweep_write(struct test *t, const struct sweep *sweep)
{
	struct timing timing = { 0 };
	CUresult code = cardtest_mark(t, 0);

	for (unsigned int i = 0; !code && i < t->nr_chunks; i++) {
		const struct chunk *chunk = &t->chunk[i];
		uint64_t args[KERNEL_ARGS_MAX] = {
			chunk->base, chunk->items, chunk->first % sweep->period, sweep->value, sweep->step, sweep->mask,
			sweep->period, 0,
		};

		code = cardtest_launch(t, KERNEL_sweep_write, cardtest_grid(t), args);
	}
	return timed(t, code, &timing);
}

static CUresult sweep_check(struct test *t, const struct sweep *sweep, bool write, bool turn, struct timing *timing)
{
	CUresult code = cardtest_mark(t, 0);

	for (unsigned int i = 0; !code && i < t->nr_chunks; i++) {
		const struct chunk *chunk = nth_chunk(t, i, turn);
		uint64_t args[KERNEL_ARGS_MAX] = {
			chunk->base, chunk->items, chunk->first % sweep->period, sweep->value, sweep->step, sweep->mask,
			sweep->period, turn, write, chunk->first, t->scratch, bin_shift(t),
		};

		code = cardtest_launch(t, KERNEL_sweep_check, cardtest_grid(t), args);
	}
	return timed(t, code, timing);
}

/* ---- making sense of a report ---- */

static void add_statistics(struct test *t, const struct memory_report *report)
{
	struct selftest_statistics *all = &t->page->result.statistics;
	uint64_t first = (uint64_t)~report->not_first * 4096, last = (uint64_t)report->last * 4096;

	if (!all->sampled || first < all->first)
		all->first = first;
	if (last > all->last)
		all->last = last;
	all->sampled += report->sampled;
	for (unsigned int i = 0; i < 32; i++) {
		all->up[i] += report->up[i];
		all->down[i] += report->down[i];
		all->flips[i] += report->flips[i];
	}
	for (unsigned int i = 0; i < MEMORY_BINS; i++)
		all->bin[i] += report->bin[i];
}

static enum selftest_fault_kind kind_of(const struct memory_record *record, enum selftest_fault_kind lasting)
{
	if (record->again == record->expected)
		return FAULT_READ;
	return __builtin_popcount(record->expected ^ record->got) >= PLACE_BITS ? FAULT_PLACE : lasting;
}

static bool is_known(const struct test *t, uint64_t at)
{
	const struct selftest_result *result = &t->page->result;

	for (uint32_t i = 0; i < result->nr_faults; i++)
		if (result->fault[i].kind >= FAULT_CELL && result->fault[i].kind <= FAULT_MOVE && result->fault[i].at == at)
			return true;
	return false;
}

/* Where a wrong word is to be blamed: where it lies, or, after a move, where it was already wrong. */
static uint64_t place_of(const struct test *t, const struct tally *tally, uint64_t word)
{
	const struct chunk *chunk = chunk_of(t, word / 4);
	uint64_t half = chunk->items / 2 * (uint64_t)MEMORY_ITEM_BYTES, at = word * 4;

	if (!tally->moved || is_known(t, at))
		return at;
	return tally->moved > 0 ? at + half : at - half;
}

static CUresult begin(struct test *t)
{
	return cardtest_clear(t, t->scratch, sizeof(struct memory_report));
}

/* Fetch and clear the report of a pass; add it to all that is known. */
static CUresult take_report(struct test *t, struct tally *tally, uint32_t pass, struct memory_report *report)
{
	CUresult code = cardtest_fetch(t, report, t->scratch, sizeof(*report));

	if (code || !report->wrong)
		return code;
	add_statistics(t, report);
	for (uint32_t i = 0; i < nr_records(t, report); i++) {
		const struct memory_record *record = &report->record[i];
		const struct selftest_fault fault = {
			.kind = kind_of(record, tally->kind), .at = place_of(t, tally, record->word), .expected = record->expected,
			.got = record->got, .again = record->again, .sm = record->sm, .pass = pass,
			.bits = record->expected ^ record->got,
		};

		if ((!tally->wrong && !i) || (fault.at < tally->first.at && fault.pass == tally->first.pass))
			tally->first = fault;
		cardtest_fault(t, &fault);
	}
	tally->wrong += report->wrong;
	return begin(t);
}

static CUresult look(struct test *t, struct tally *tally, uint32_t pass)
{
	struct memory_report report;

	return take_report(t, tally, pass, &report);
}

static enum selftest_word end(struct test *t, CUresult code, const struct tally *tally)
{
	if (tally->wrong)
		cardtest_data_fault(t, "memory", tally->wrong, &tally->first);
	if (code)
		return cardtest_failed(t, code);
	return tally->wrong ? SELFTEST_DATA_FAULT : SELFTEST_PASS;
}

/* ---- address uniqueness ---- */

/*
 * Does the item hold exactly what belongs to another one? A word alone may by chance; four in a row do not. The words
 * of more than 16 GiB share their low 32 bits, so each multiple is tried.
 */
static bool other_place(const struct test *t, const uint32_t *words, uint32_t invert, uint64_t *ret_item)
{
	for (uint64_t high = 0; high <= t->items * 4 >> 32; high++) {
		uint64_t word = high << 32 |
			(uint32_t)(kernel_pattern_word(words[0] ^ invert, ADDRESS_SEED) - (uint32_t)high * 0x9e3779b9);
		bool same = !(word & 3) && word / 4 < t->items;

		for (unsigned int i = 1; same && i < 4; i++)
			same = (kernel_pattern(word + i, ADDRESS_SEED) ^ invert) == words[i];
		if (!same)
			continue;
		*ret_item = word / 4;
		return true;
	}
	return false;
}

/* Looks at one item; fills @ret_fault when what it holds belongs elsewhere. */
static CUresult look_for_alias(struct test *t, uint64_t item, uint32_t invert, struct selftest_fault *ret_fault)
{
	uint64_t other;
	uint32_t words[4], expected = kernel_pattern(item * 4, ADDRESS_SEED) ^ invert;
	CUresult code = cardtest_fetch(t, words, address_of(t, item * 4), sizeof(words));

	if (code || !other_place(t, words, invert, &other) || other == item)
		return code;
	*ret_fault = (struct selftest_fault){
		.kind = FAULT_ALIAS, .at = item * 16, .other = other * 16, .expected = expected, .got = words[0],
		.again = words[0], .sm = ~0u, .pass = 1, .bits = expected ^ words[0],
	};
	return CUDA_SUCCESS;
}

/*
 * The first records may tell of something else, such as the doubles of the report itself; so other places are looked at
 * too when there are many wrong words.
 */
static CUresult find_alias(struct test *t, const struct memory_report *report, uint32_t invert,
			   struct selftest_fault *ret_fault)
{
	uint32_t records = nr_records(t, report), places = report->wrong > MANY_WORDS ? PROBES : 0;
	CUresult code = CUDA_SUCCESS;

	for (uint32_t i = 0; !code && ret_fault->kind != FAULT_ALIAS && i < records; i++)
		code = look_for_alias(t, report->record[i].word / 4, invert, ret_fault);
	for (uint32_t i = 0; !code && ret_fault->kind != FAULT_ALIAS && i < places; i++)
		code = look_for_alias(t, t->items / PROBES * i, invert, ret_fault);
	return code;
}

/* The rest of the test goes on with the memory that is there once. */
static void keep_only(struct test *t, uint64_t items)
{
	unsigned int kept = 0;

	while (kept < t->nr_chunks && t->chunk[kept].first < items) {
		struct chunk *chunk = &t->chunk[kept++];

		if (items - chunk->first < chunk->items)
			chunk->items = (uint32_t)(items - chunk->first);
	}
	t->nr_chunks = kept;
	t->items = items;
}

static void note_alias(struct test *t, const struct selftest_fault *alias, const struct memory_report *report,
		       struct tally *tally)
{
	uint64_t real = t->items > report->wrong / 4 ? t->items - report->wrong / 4 : 0;

	cardtest_fault(t, alias);
	tally->wrong += report->wrong;
	tally->first = *alias;
	t->page->result.real_mib = real * MEMORY_ITEM_BYTES / MIB;
	/* An eighth less, as the driver's own memory and the reports have their doubles too. */
	real -= real / 8;
	keep_only(t, real > LEAST_BYTES / MEMORY_ITEM_BYTES ? real & ~(uint64_t)4095 : LEAST_BYTES / MEMORY_ITEM_BYTES);
}

/* Words that a user wants to see found: a bit turned over at three places between fill and check. */
static CUresult inject(struct test *t, uint32_t seed)
{
	const uint64_t places[] = { t->items * 4 / 5, t->items * 2 + 1, t->items * 4 - 3 };
	CUresult code = CUDA_SUCCESS;

	for (unsigned int i = 0; !code && i < 3; i++) {
		uint32_t wrong = kernel_pattern(places[i], seed) ^ 1u << i * 7;

		code = cardtest_put(t, address_of(t, places[i]), &wrong, sizeof(wrong));
		t->page->result.injected++;
	}
	return code;
}

static void count_detected(struct test *t, const struct memory_report *report, uint32_t seed)
{
	for (uint32_t i = 0; i < nr_records(t, report); i++) {
		const struct memory_record *record = &report->record[i];
		uint32_t flipped = record->got ^ kernel_pattern(record->word, seed);

		t->page->result.detected += flipped == 1u || flipped == 1u << 7 || flipped == 1u << 14;
	}
}

static CUresult address_pass(struct test *t, bool turn, struct tally *tally)
{
	uint32_t invert = turn ? 0xffffffff : 0;
	bool corrupt = !turn && t->page->inject == INJECT_MEMORY;
	struct timing fill = { 0 }, check = { 0 };
	struct selftest_fault alias = { .kind = FAULT_CELL };
	struct memory_report report;
	CUresult code;

	code = hash_sweep(t, KERNEL_memory_fill, ADDRESS_SEED, invert, turn, &fill);
	if (!code && corrupt)
		code = inject(t, ADDRESS_SEED);
	/* Memory that answers twice may have filled the report too. */
	code = code ? code : begin(t);
	code = code ? code : hash_sweep(t, KERNEL_memory_check, ADDRESS_SEED, invert, turn, &check);
	/* The report stays where it is for take_report(). */
	code = code ? code : cardtest_fetch(t, &report, t->scratch, sizeof(report));
	if (!code && report.wrong)
		code = find_alias(t, &report, invert, &alias);
	if (code)
		return code;
	if (corrupt)
		count_detected(t, &report, ADDRESS_SEED);
	t->page->result.read_mbs = mbs(&check);
	if (alias.kind != FAULT_ALIAS)
		return take_report(t, tally, turn + 1, &report);
	note_alias(t, &alias, &report, tally);
	return begin(t);
}

/* Sound cards read at 70 to 85 % of their peak; the clock of the compute state is a little below the one behind it. */
static enum selftest_word judge_rate(struct test *t, enum selftest_word word)
{
	struct selftest_result *result = &t->page->result;

	if ((word != SELFTEST_PASS && word != SELFTEST_DATA_FAULT) ||
	    (uint64_t)result->read_mbs * 100 >= (uint64_t)result->peak_mbs * SLOW_PERCENT)
		return word;
	cardtest_say(t, "memory is read at %u MB/s, clock and bus width give %u MB/s", result->read_mbs, result->peak_mbs);
	result->notes |= NOTE_SLOW_MEMORY;
	return word == SELFTEST_PASS ? SELFTEST_DEGRADED : word;
}

enum selftest_word memtest_address(struct test *t)
{
	struct tally tally = { .kind = FAULT_CELL };
	CUresult code = begin(t);

	for (unsigned int turn = 0; !code && turn < 2; turn++)
		code = address_pass(t, turn, &tally);
	t->page->result.tested_mib = t->items * MEMORY_ITEM_BYTES / MIB;
	return judge_rate(t, end(t, code, &tally));
}

/* ---- patterns ---- */

static struct sweep pattern(unsigned int i)
{
	static const uint32_t solid[] = { 0, 0xffffffff, 0x55555555, 0xaaaaaaaa };

	if (i < 4)
		return (struct sweep){ .value = solid[i], .period = 1 };
	if (i < 12)
		return (struct sweep){ .value = 0x01010101u << (i - 4), .period = 1 };
	if (i < 20)
		return (struct sweep){ .value = ~(0x01010101u << (i - 12)), .period = 1 };
	return (struct sweep){ .value = 1u << (i - 20), .step = 1, .period = 8 };
}

/* Write upwards; read and turn over upwards; read downwards. */
static CUresult invert_moving(struct test *t, const struct sweep *sweep, struct timing *timing)
{
	struct sweep turned = *sweep;
	struct timing down = { 0 };
	CUresult code;

	turned.mask = ~turned.mask;
	code = sweep_write(t, sweep);
	code = code ? code : sweep_check(t, sweep, true, false, timing);
	return code ? code : sweep_check(t, &turned, false, true, &down);
}

enum selftest_word memtest_inversions(struct test *t)
{
	const struct selftest_plan *plan = &t->page->plan;
	struct tally tally = { .kind = FAULT_CELL };
	struct timing timing = { 0 };
	CUresult code = begin(t);

	for (uint32_t pass = 0; !code && pass < plan->inversions * plan->patterns; pass++) {
		struct sweep sweep = pattern(pass % plan->patterns);

		code = invert_moving(t, &sweep, &timing);
		code = code ? code : look(t, &tally, pass + 1);
	}
	/* Each of these sweeps reads and writes. */
	timing.bytes *= 2;
	t->page->result.write_mbs = mbs(&timing);
	return end(t, code, &tally);
}

static CUresult random_pass(struct test *t, uint32_t pass, struct tally *tally)
{
	uint32_t seed = RANDOM_SEED + pass * SEED_STEP;
	struct timing fill = { 0 }, check = { 0 };
	CUresult code = CUDA_SUCCESS;

	for (unsigned int turn = 0; !code && turn < 2; turn++) {
		uint32_t invert = turn ? 0xffffffff : 0;

		code = hash_sweep(t, KERNEL_memory_fill, seed, invert, turn, &fill);
		code = code ? code : hash_sweep(t, KERNEL_memory_check, seed, invert, turn, &check);
	}
	return code ? code : look(t, tally, pass + 1);
}

enum selftest_word memtest_random(struct test *t)
{
	struct tally tally = { .kind = FAULT_CELL };
	CUresult code = begin(t);

	for (uint32_t pass = 0; !code && pass < t->page->plan.random; pass++)
		code = random_pass(t, pass, &tally);
	return end(t, code, &tally);
}

enum selftest_word memtest_modulo(struct test *t)
{
	struct tally tally = { .kind = FAULT_CELL };
	struct timing timing = { 0 };
	CUresult code = begin(t);

	for (uint32_t pass = 0; !code && pass < 20 * t->page->plan.modulo; pass++) {
		struct sweep sweep = {
			.value = kernel_pattern(pass, RANDOM_SEED), .mask = ~(1u << pass % 20), .period = 5,
		};

		code = sweep_write(t, &sweep);
		code = code ? code : sweep_check(t, &sweep, false, false, &timing);
		code = code ? code : look(t, &tally, pass + 1);
	}
	return end(t, code, &tally);
}

/* ---- block move: one half of each chunk to the other, by the SMs and back by the copy engine ---- */

static CUresult each_half(struct test *t, enum kernel_id kernel, bool upper, uint64_t first_of_upper, uint32_t seed)
{
	CUresult code = CUDA_SUCCESS;

	for (unsigned int i = 0; !code && i < t->nr_chunks; i++) {
		const struct chunk *chunk = &t->chunk[i];
		uint32_t half = chunk->items / 2;
		uint64_t args[KERNEL_ARGS_MAX] = {
			chunk->base + (upper ? (uint64_t)half * MEMORY_ITEM_BYTES : 0), half,
			chunk->first + (first_of_upper ? half : 0), seed, 0, 0, t->scratch, bin_shift(t),
		};

		code = cardtest_launch(t, kernel, cardtest_grid(t), args);
	}
	return code ? code : cardtest_finish(t);
}

static CUresult move_halves(struct test *t, bool by_sm)
{
	CUresult code = CUDA_SUCCESS;

	for (unsigned int i = 0; !code && i < t->nr_chunks; i++) {
		const struct chunk *chunk = &t->chunk[i];
		uint32_t half = chunk->items / 2;
		CUdeviceptr upper = chunk->base + (uint64_t)half * MEMORY_ITEM_BYTES;
		uint64_t args[KERNEL_ARGS_MAX] = { upper, chunk->base, half };

		code = by_sm ? cardtest_launch(t, KERNEL_move_items, cardtest_grid(t), args) :
			       CALL(t, cuMemcpyDtoD_v2, chunk->base, upper, (size_t)half * MEMORY_ITEM_BYTES);
	}
	return code ? code : cardtest_finish(t);
}

static CUresult move_pass(struct test *t, uint32_t pass, struct tally *tally)
{
	uint32_t seed = MOVE_SEED + pass * SEED_STEP;
	CUresult code = CUDA_SUCCESS;

	for (unsigned int back = 0; !code && back < 2; back++) {
		/* New numbers for each direction: a move that does not happen must not find them already there. */
		seed += back;
		tally->moved = back ? -1 : 1;
		code = each_half(t, KERNEL_memory_fill, back, back, seed);
		code = code ? code : move_halves(t, !back);
		code = code ? code : each_half(t, KERNEL_memory_check, !back, back, seed);
		code = code ? code : look(t, tally, 2 * pass + back + 1);
	}
	return code;
}

enum selftest_word memtest_move(struct test *t)
{
	struct tally tally = { .kind = FAULT_MOVE };
	CUresult code = begin(t);

	for (uint32_t pass = 0; !code && pass < t->page->plan.move; pass++)
		code = move_pass(t, pass, &tally);
	return end(t, code, &tally);
}

/* ---- hold ---- */

enum selftest_word memtest_hold(struct test *t)
{
	uint32_t hold_ms = t->page->plan.hold_ms;
	struct timing fill = { 0 }, check = { 0 };
	struct tally tally = { .kind = FAULT_HOLD };
	enum selftest_word word;
	CUresult code = begin(t);

	code = code ? code : hash_sweep(t, KERNEL_memory_fill, HOLD_SEED, 0, false, &fill);
	if (code)
		return cardtest_failed(t, code);
	cardtest_wait_ms(t, HOLD_ENOUGH(hold_ms));
	if (!atomic_load(&t->page->clock_fell))
		cardtest_wait_ms(t, hold_ms - HOLD_ENOUGH(hold_ms));
	code = hash_sweep(t, KERNEL_memory_check, HOLD_SEED, 0, false, &check);
	code = code ? code : look(t, &tally, 1);
	word = end(t, code, &tally);
	return word == SELFTEST_PASS ? computetest_burst(t, HOLD_BURST_MS) : word;
}

/* ---- soak ---- */

enum selftest_word memtest_soak(struct test *t)
{
	uint64_t end_ms = phases_now_ms() + t->page->plan.soak_ms;
	enum selftest_word word = SELFTEST_PASS, burst = SELFTEST_PASS, memory;
	struct tally tally = { .kind = FAULT_CELL };
	CUresult code = begin(t);

	for (uint32_t pass = 0; !code && phases_now_ms() < end_ms && !cardtest_stopped(t); pass++) {
		code = random_pass(t, pass + t->page->plan.random, &tally);
		if (code)
			break;
		burst = computetest_burst(t, SOAK_BURST_MS);
		if (burst == SELFTEST_DATA_FAULT)
			word = burst;
		else if (burst != SELFTEST_PASS)
			break;
		code = begin(t);
	}
	memory = end(t, code, &tally);
	if (burst != SELFTEST_PASS && burst != SELFTEST_DATA_FAULT)
		return burst;
	return memory == SELFTEST_PASS ? word : memory;
}

/**
 * memtest_arrived - did a copy to the card bring what it should
 * @t:		the run; the report of memory_check, with words counted from 0, lies in its scratch memory
 * @kind:	what wrong words are called
 * @what:	which copy, for people
 *
 * Return: SELFTEST_PASS, SELFTEST_DATA_FAULT, or what an error of CUDA comes to.
 */
enum selftest_word memtest_arrived(struct test *t, enum selftest_fault_kind kind, const char *what)
{
	struct memory_report report;
	struct selftest_fault first = { .at = ~0ull };
	CUresult code = cardtest_fetch(t, &report, t->scratch, sizeof(report));

	if (code)
		return cardtest_failed(t, code);
	for (uint32_t i = 0; i < report.sampled && i < MEMORY_RECORDS; i++) {
		const struct memory_record *record = &report.record[i];
		const struct selftest_fault fault = {
			.kind = kind, .at = record->word * 4, .expected = record->expected, .got = record->got,
			.again = record->again, .sm = ~0u, .pass = 1, .bits = record->expected ^ record->got,
		};

		if (fault.at < first.at)
			first = fault;
		cardtest_fault(t, &fault);
	}
	return report.wrong ? cardtest_data_fault(t, what, report.wrong, &first) : SELFTEST_PASS;
}
