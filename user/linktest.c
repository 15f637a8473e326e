// SPDX-License-Identifier: GPL-2.0-only
/*
 * The link phases: copies to the card and back, alone and together with other cards, with every word compared and every
 * window timed by the card's own clock. Knows nothing of deadlines, processes or verdicts.
 */
#include <stdlib.h>
#include <string.h>

#include "cardtest.h"

/* The eighth word of SHA-256. */
#define COPY_SEED		0x5be0cd19

/* Enough to speak of a median and of a spread, and never more than can be remembered. */
#define WINDOWS_MIN		20
#define WINDOWS_MAX		2048
/* A window takes this part of the time of its direction. */
#define WINDOWS_WANTED		24
#define WINDOW_LEAST		((size_t)64 * 1024)

/**
 * struct link - what both directions share
 * @data:	what goes over the link: the pattern of memory.ptx
 * @to:		where it goes on the card
 * @from:	where it comes from when both directions are busy
 * @bytes:	of a window now; at most @most
 * @most:	what pinned memory and the place on the card allow
 * @rate:	of each window in MB/s
 * @windows:	their number
 * @ms:		of all windows
 */
struct link {
	uint32_t *data;
	CUdeviceptr to;
	CUdeviceptr from;
	size_t bytes;
	size_t most;
	uint32_t rate[WINDOWS_MAX];
	uint32_t windows;
	float ms;
	uint64_t total;
};

/* Wrong words in the memory itself would be blamed on the link: take a chunk in which none were found. */
static bool is_clean(const struct test *t, const struct chunk *chunk)
{
	const struct selftest_result *result = &t->page->result;
	uint64_t first = chunk->first * MEMORY_ITEM_BYTES, last = first + (uint64_t)chunk->items * MEMORY_ITEM_BYTES;

	for (uint32_t i = 0; i < result->nr_faults; i++) {
		const struct selftest_fault *fault = &result->fault[i];

		if (fault->kind >= FAULT_CELL && fault->kind <= FAULT_MOVE && fault->kind != FAULT_ALIAS &&
		    fault->at >= first && fault->at < last)
			return false;
	}
	return true;
}

static void choose_place(const struct test *t, struct link *link)
{
	const struct chunk *best = &t->chunk[0];
	size_t bytes;

	for (unsigned int i = 1; i < t->nr_chunks; i++) {
		const struct chunk *chunk = &t->chunk[i];

		if (is_clean(t, chunk) && (!is_clean(t, best) || chunk->items > best->items))
			best = chunk;
	}
	bytes = (size_t)best->items / 2 * MEMORY_ITEM_BYTES;
	link->to = best->base;
	link->from = best->base + bytes;
	link->most = bytes < PINNED_BYTES ? bytes : PINNED_BYTES;
	link->bytes = link->most;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void add_window(struct link *link, float ms)
{
	link->rate[link->windows++] = ms > 0 ? (uint32_t)((double)link->bytes / 1000 / (double)ms) : 0;
	link->total += link->bytes;
	link->ms += ms;
}

static struct selftest_rates rates(struct link *link)
{
	if (!link->windows)
		return (struct selftest_rates){ 0 };
	qsort(link->rate, link->windows, sizeof(link->rate[0]), by_size);
	return (struct selftest_rates){
		.windows = link->windows, .min = link->rate[0], .median = link->rate[link->windows / 2],
		.max = link->rate[link->windows - 1],
	};
}

static uint32_t mean(const struct link *link)
{
	return link->ms > 0 ? (uint32_t)((double)link->total / 1000 / (double)link->ms) : 0;
}

static bool goes_on(const struct test *t, const struct link *link, uint64_t begin_ms, unsigned int box_ms)
{
	bool enough = link->ms >= (float)box_ms || phases_now_ms() - begin_ms > 10 * (uint64_t)box_ms + 1000;

	return !cardtest_stopped(t) && link->windows < WINDOWS_MAX && (link->windows < WINDOWS_MIN || !enough);
}

static void forget_windows(struct link *link)
{
	link->windows = 0;
	link->ms = 0;
	link->total = 0;
}

/* After the first window its rate is known. */
static void fit_window(struct link *link, unsigned int box_ms)
{
	size_t bytes = (size_t)((double)mean(link) * 1000 * box_ms / WINDOWS_WANTED);

	bytes -= bytes % (4 * MEMORY_ITEM_BYTES);
	if (bytes < WINDOW_LEAST)
		bytes = WINDOW_LEAST;
	link->bytes = bytes < link->most ? bytes : link->most;
	forget_windows(link);
}

static CUresult check_arrived(struct test *t, const struct link *link)
{
	uint64_t args[KERNEL_ARGS_MAX] = { link->to, link->bytes / MEMORY_ITEM_BYTES, 0, COPY_SEED, 0, 0, t->scratch, 63 };

	return cardtest_launch(t, KERNEL_memory_check, cardtest_grid(t), args);
}

/* A bit of the first window goes out wrong, for a user who wants to see that found. */
static void corrupt_pinned(struct test *t, const struct link *link)
{
	if (t->page->inject != INJECT_COPY || t->page->result.injected)
		return;
	((uint32_t *)t->pinned)[link->bytes / 8] ^= 1u << 5;
	t->page->result.injected++;
}

static CUresult window_to_card(struct test *t, struct link *link)
{
	float ms = 0;
	CUresult code;

	memcpy(t->pinned, link->data, link->bytes);
	corrupt_pinned(t, link);
	/* A copy that never arrives must not find the data of the last one there. */
	code = CALL(t, cuMemsetD32Async, link->to, 0, link->bytes / 4, t->stream);
	code = code ? code : cardtest_mark(t, 0);
	code = code ? code : CALL(t, cuMemcpyHtoDAsync_v2, link->to, t->pinned, link->bytes, t->stream);
	code = code ? code : cardtest_mark(t, 1);
	code = code ? code : check_arrived(t, link);
	code = code ? code : cardtest_marked_ms(t, &ms);
	add_window(link, ms);
	return code;
}

static enum selftest_word to_card(struct test *t, struct link *link, unsigned int box_ms, const char *what)
{
	uint64_t begin_ms = phases_now_ms();
	CUresult code = cardtest_clear(t, t->scratch, sizeof(struct memory_report));

	code = code ? code : window_to_card(t, link);
	fit_window(link, box_ms);
	while (!code && goes_on(t, link, begin_ms, box_ms))
		code = window_to_card(t, link);
	return code ? cardtest_failed(t, code) : memtest_arrived(t, FAULT_TO_CARD, what);
}

static enum selftest_word compare_host(struct test *t, const struct link *link, const uint32_t *got)
{
	struct selftest_fault first = { 0 };
	uint64_t errors = 0;

	if (!memcmp(got, link->data, link->bytes))
		return SELFTEST_PASS;
	for (size_t i = link->bytes / 4; i-- > 0;) {
		if (got[i] == link->data[i])
			continue;
		first = (struct selftest_fault){
			.kind = FAULT_TO_HOST, .at = i * 4, .expected = link->data[i], .got = got[i], .again = got[i], .sm = ~0u,
			.pass = 1, .bits = got[i] ^ link->data[i],
		};
		/* Some places are enough for people; the number tells the rest. */
		if (errors++ < MEMORY_RECORDS)
			cardtest_fault(t, &first);
	}
	return cardtest_data_fault(t, "copy to the host", errors, &first);
}

/* The same on the way back: the word is wrong on the card before it leaves. */
static CUresult corrupt_card(struct test *t, const struct link *link)
{
	uint32_t wrong = link->data[1] ^ 1u << 9;

	if (t->page->inject != INJECT_COPY || t->page->result.injected != 1)
		return CUDA_SUCCESS;
	t->page->result.injected++;
	return cardtest_put(t, link->to + 4, &wrong, sizeof(wrong));
}

/* What lies on the card is known to be right: put it there again when a window went wrong on the way. */
static CUresult restore(struct test *t, const struct link *link)
{
	uint64_t args[KERNEL_ARGS_MAX] = { link->to, link->most / MEMORY_ITEM_BYTES, 0, COPY_SEED };
	CUresult code = cardtest_launch(t, KERNEL_memory_fill, cardtest_grid(t), args);

	return code ? code : cardtest_finish(t);
}

static CUresult window_to_host(struct test *t, struct link *link)
{
	float ms = 0;
	CUresult code;

	memset(t->pinned, 0, link->bytes);
	code = cardtest_mark(t, 0);
	code = code ? code : CALL(t, cuMemcpyDtoHAsync_v2, t->pinned, link->to, link->bytes, t->stream);
	code = code ? code : cardtest_mark(t, 1);
	code = code ? code : cardtest_marked_ms(t, &ms);
	add_window(link, ms);
	return code;
}

static enum selftest_word to_host(struct test *t, struct link *link, unsigned int box_ms)
{
	uint64_t begin_ms = phases_now_ms();
	enum selftest_word word = SELFTEST_PASS, one;
	bool first = true;
	CUresult code;

	link->bytes = link->most;
	forget_windows(link);
	code = restore(t, link);
	code = code ? code : corrupt_card(t, link);
	while (!code && (first || goes_on(t, link, begin_ms, box_ms))) {
		code = window_to_host(t, link);
		one = code ? SELFTEST_PASS : compare_host(t, link, t->pinned);
		word = one == SELFTEST_PASS ? word : one;
		if (first)
			fit_window(link, box_ms);
		if (!code && first && t->page->inject == INJECT_COPY)
			code = restore(t, link);
		first = false;
	}
	return code ? cardtest_failed(t, code) : word;
}

/* Both directions at once, each in a stream of its own. */
static CUresult both_ways(struct test *t, struct link *link, uint32_t *back, float *ms)
{
	float took = 0, other = 0;
	CUresult code;

	memcpy(t->pinned, link->data, link->bytes);
	memset(back, 0, link->bytes);
	code = CALL(t, cuMemsetD32Async, link->to, 0, link->bytes / 4, t->stream);
	code = code ? code : cardtest_finish(t);
	code = code ? code : cardtest_mark(t, 0);
	code = code ? code : CALL(t, cuEventRecord, t->other_mark[0], t->other);
	code = code ? code : CALL(t, cuMemcpyHtoDAsync_v2, link->to, t->pinned, link->bytes, t->stream);
	code = code ? code : CALL(t, cuMemcpyDtoHAsync_v2, back, link->from, link->bytes, t->other);
	code = code ? code : cardtest_mark(t, 1);
	code = code ? code : CALL(t, cuEventRecord, t->other_mark[1], t->other);
	code = code ? code : cardtest_marked_ms(t, &took);
	code = code ? code : CALL(t, cuEventElapsedTime, &other, t->other_mark[0], t->other_mark[1]);
	code = code ? code : check_arrived(t, link);
	code = code ? code : cardtest_finish(t);
	*ms += took > other ? took : other;
	return code;
}

static enum selftest_word both(struct test *t, struct link *link, unsigned int box_ms)
{
	uint64_t args[KERNEL_ARGS_MAX] = { link->from, link->bytes / MEMORY_ITEM_BYTES, 0, COPY_SEED };
	uint64_t begin_ms = phases_now_ms(), total = 0;
	enum selftest_word word = SELFTEST_PASS, one;
	float ms = 0;
	void *back;
	CUresult code;

	code = CALL(t, cuMemHostAlloc, &back, link->bytes, 0);
	if (code == CUDA_ERROR_OUT_OF_MEMORY) {
		cardtest_failed(t, code);
		return cardtest_not_testable(t, SELFTEST_HOST_ERROR);
	}
	code = code ? code : cardtest_launch(t, KERNEL_memory_fill, cardtest_grid(t), args);
	code = code ? code : cardtest_clear(t, t->scratch, sizeof(struct memory_report));
	while (!code && ms < (float)box_ms && phases_now_ms() - begin_ms < 4 * (uint64_t)box_ms && !cardtest_stopped(t)) {
		code = both_ways(t, link, back, &ms);
		total += 2 * link->bytes;
		one = code ? SELFTEST_PASS : compare_host(t, link, back);
		word = one == SELFTEST_PASS ? word : one;
	}
	if (code)
		return cardtest_failed(t, code);
	t->page->result.both_mbs = ms > 0 ? (uint32_t)((double)total / 1000 / (double)ms) : 0;
	t->page->result.copied_mb += (uint32_t)(total / 1000000);
	one = memtest_arrived(t, FAULT_TO_CARD, "copy to the card, both ways at once");
	return one == SELFTEST_PASS ? word : one;
}

static bool is_uneven(const struct selftest_rates *rates, const struct link *link)
{
	/* Sorted by rates(): a tenth of the windows at less than half of the median is no hiccup. */
	return rates->windows >= WINDOWS_MIN && link->rate[rates->windows / 10] * 2 < rates->median;
}

/*
 * Half of what the link carries: seen on sound cards are 82 to 103 % (notes of six cards, GiB/s measured against 84 %
 * of raw).
 */
static enum selftest_word judge_rate(struct test *t, bool uneven)
{
	const struct selftest_result *result = &t->page->result;
	uint32_t link_mbs = result->link_mbs;

	if (link_mbs && (result->h2d_mbs * 2 < link_mbs || result->d2h_mbs * 2 < link_mbs)) {
		cardtest_say(t, "copy: %u MB/s to the card and %u MB/s back over a link that carries %u MB/s", result->h2d_mbs,
			     result->d2h_mbs, link_mbs);
		t->page->result.notes |= NOTE_SLOW_LINK;
	}
	if (!uneven)
		return result->notes & NOTE_SLOW_LINK ? SELFTEST_DEGRADED : SELFTEST_PASS;
	t->page->result.notes |= NOTE_UNEVEN_LINK;
	cardtest_say(t, "copy: uneven, %u to %u MB/s to the card and %u to %u MB/s back in windows of equal size",
		     result->to_card.min, result->to_card.max, result->to_host.min, result->to_host.max);
	return SELFTEST_DEGRADED;
}

static void count_detected(struct test *t, uint32_t known)
{
	struct selftest_result *result = &t->page->result;

	for (uint32_t i = known; t->page->inject == INJECT_COPY && i < result->nr_faults; i++)
		result->detected += (result->fault[i].kind == FAULT_TO_CARD && result->fault[i].bits == 1u << 5) ||
				    (result->fault[i].kind == FAULT_TO_HOST && result->fault[i].bits == 1u << 9);
}

/* Wrong data outweighs a slow link, and an error of CUDA either. */
static enum selftest_word worse(enum selftest_word a, enum selftest_word b)
{
	return a == SELFTEST_PASS || (a == SELFTEST_DATA_FAULT && b != SELFTEST_PASS && b != SELFTEST_DEGRADED) ? b : a;
}

static enum selftest_word run(struct test *t, struct link *link)
{
	struct selftest_result *result = &t->page->result;
	unsigned int box_ms = t->page->plan.link_ms;
	uint32_t known = result->nr_faults;
	enum selftest_word word;
	bool uneven;

	word = to_card(t, link, box_ms, "copy to the card");
	result->h2d_mbs = mean(link);
	result->to_card = rates(link);
	result->copied_mb = (uint32_t)(link->total / 1000000);
	uneven = is_uneven(&result->to_card, link);
	if (word != SELFTEST_PASS && word != SELFTEST_DATA_FAULT)
		return word;

	word = worse(word, to_host(t, link, box_ms));
	result->d2h_mbs = mean(link);
	result->to_host = rates(link);
	result->copied_mb += (uint32_t)(link->total / 1000000);
	uneven |= is_uneven(&result->to_host, link);
	if (word == SELFTEST_PASS || word == SELFTEST_DATA_FAULT)
		word = worse(word, both(t, link, box_ms));
	count_detected(t, known);
	/* The parent has meanwhile read what the link was under load. */
	result->link_mbs = atomic_load(&t->page->link_mbs);
	return worse(word, judge_rate(t, uneven));
}

static enum selftest_word with_data(struct test *t, enum selftest_word (*what)(struct test *t, struct link *link))
{
	static struct link link;
	enum selftest_word word;

	choose_place(t, &link);
	link.data = malloc(link.most);
	if (!link.data) {
		cardtest_say(t, "no memory for %zu bytes", link.most);
		return cardtest_not_testable(t, SELFTEST_HOST_ERROR);
	}
	for (size_t i = 0; i < link.most / 4; i++)
		link.data[i] = kernel_pattern(i, COPY_SEED);
	word = what(t, &link);
	free(link.data);
	return word;
}

enum selftest_word linktest_run(struct test *t)
{
	return with_data(t, run);
}

static enum selftest_word together(struct test *t, struct link *link)
{
	enum selftest_word word;

	/* All cards of the uplink start at once, or this one is told to stop. */
	if (!cardtest_ask(t, ASK_TOGETHER))
		return SELFTEST_CANCELLED;
	word = to_card(t, link, t->page->plan.together_ms, "copy to the card while others copy");
	t->page->result.together_mbs = mean(link);
	return word;
}

enum selftest_word linktest_together(struct test *t)
{
	return with_data(t, together);
}
