// SPDX-License-Identifier: GPL-2.0-only
/* What advise says of made-up hosts: the watts, the states, the commands. Expected numbers are worked out by hand beside them. */
#include "test.h"

#include <stdlib.h>

#include "advice.h"

static struct advice_card a_card(const char *name, unsigned int compute)
{
	struct advice_card card = { .bdf = "0000:01:00.0", .mining = true, .board = board_find(name), .speed_mts = 2500, .width = 1,
				    .link_mbs = 210, .memory_mib = 4096 };

	util_copy(card.name, sizeof(card.name), name);
	compat_gpu(0, compute, &card.compat);
	return card;
}

/* A P104-100 as its driver shows it. */
static void add_nvml(struct advice_card *card)
{
	card->nvml = (struct nvml_card){ .known = true, .celsius = 50, .has_fan = true, .fan_percent = 40, .limit_mw = 180000,
					 .default_mw = 180000, .min_mw = 90000, .max_mw = 217000, .max_mhz = 1733 };
}

static struct advice_facts a_host(struct advice_card *card, size_t nr)
{
	struct advice_facts facts = { .common = true, .branch = 535, .flavour = "proprietary", .card = card, .nr = nr,
				      .install = "INSTALL" };
	size_t i;

	facts.compat = card[0].compat;
	for (i = 1; i < nr; i++)
		facts.common &= compat_join(&facts.compat, &card[i].compat);
	return facts;
}

/* The first item of a topic and state with a piece of text; NULL if there is none. */
static const struct advice_item *find(const struct advice_list *list, enum advice_topic topic, enum advice_state state,
				      const char *text)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (list->item[i].topic == topic && list->item[i].state == state && strstr(list->item[i].text, text))
			return &list->item[i];
	return NULL;
}

static const struct {
	const char *desc;
	const char *cards[8];
	unsigned int cpu_w, limit_w;
	bool laptop;
	unsigned int cards_w, unknown, host_w, total_w, supply_w;
} budgets[] = {
	/* (180 + 100 + 50) * 1.2 = 396 */
	{ "one P104-100", { "P104-100" }, 0, 0, false, 180, 0, 150, 396, 400 },
	/* (180 + 65 + 50) * 1.2 = 354 */
	{ "with the processor's limit", { "P104-100" }, 65, 0, false, 180, 0, 115, 354, 400 },
	/* (125 + 150) * 1.2 = 330 */
	{ "with a lower limit of the card", { "P104-100" }, 0, 125, false, 125, 0, 150, 330, 400 },
	/* (6 * 120 + 150) * 1.2 = 1044 */
	{ "six P106-100", { "P106-100", "P106-100", "P106-100", "P106-100", "P106-100", "P106-100" }, 0, 0, false, 720, 0, 150, 1044, 1200 },
	/* (8 * 320 + 150) * 1.2 = 3252: no single supply */
	{ "eight CMP 90HX", { "CMP 90HX", "CMP 90HX", "CMP 90HX", "CMP 90HX", "CMP 90HX", "CMP 90HX", "CMP 90HX", "CMP 90HX" }, 0, 0,
	  false, 2560, 0, 150, 3252, 0 },
	/* one is not in the table: (180 + 150) * 1.2, and no size is named */
	{ "with a card that nobody knows", { "P104-100", "unnamed mining GPU" }, 0, 0, false, 180, 1, 150, 396, 0 },
	/* 180 * 1.2 = 216 */
	{ "beside a laptop", { "P104-100" }, 0, 0, true, 180, 0, 0, 216, 300 },
};

static void test_budgets(void **state)
{
	size_t i, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(budgets); i++) {
		struct advice_card card[8];
		struct advice_budget budget;
		struct advice_facts facts;

		for (n = 0; n < 8 && budgets[i].cards[n]; n++) {
			card[n] = a_card(budgets[i].cards[n], 61);
			if (!budgets[i].limit_w)
				continue;
			add_nvml(&card[n]);
			card[n].nvml.limit_mw = budgets[i].limit_w * 1000;
		}
		facts = a_host(card, n);
		facts.cpu_w = budgets[i].cpu_w;
		facts.laptop = budgets[i].laptop;
		advice_budget_make(&facts, &budget);
		assert_row(budget.cards_w == budgets[i].cards_w && budget.unknown == budgets[i].unknown, &budgets[i]);
		assert_row(budget.host_w == budgets[i].host_w && budget.total_w == budgets[i].total_w, &budgets[i]);
		assert_row(budget.supply_w == budgets[i].supply_w, &budgets[i]);
	}
}

static const struct {
	const char *desc;
	unsigned int compute[2];
	unsigned int branch;
	const char *flavour;
	enum advice_state state;
	const char *text;
	bool command;
} drivers[] = {
	{ "Pascal with Debian's driver", { 61 }, 535, "proprietary", ADVICE_FITS, "branches 390 to 580, proprietary flavour", false },
	{ "Pascal with the last branch", { 61 }, 580, "proprietary", ADVICE_FITS, "branches 390 to 580", false },
	{ "Pascal with the branch after it", { 61 }, 590, "proprietary", ADVICE_CHANGE, "does not fit", true },
	{ "Pascal with the open flavour", { 61 }, 550, "open", ADVICE_CHANGE, "does not fit", true },
	{ "Turing with the open flavour", { 75 }, 595, "open", ADVICE_FITS, "branch 460 or newer, proprietary or open", false },
	{ "Pascal and Ampere", { 61, 80 }, 550, "proprietary", ADVICE_FITS, "2 NVIDIA GPUs together: branches 450 to 580", false },
	{ "Pascal and Ampere with the open flavour", { 61, 80 }, 550, "open", ADVICE_CHANGE, "does not fit", true },
	{ "Pascal and Ampere with an old branch", { 61, 86 }, 460, "proprietary", ADVICE_CHANGE, "branches 470 to 580", true },
	{ "Pascal and Blackwell", { 61, 120 }, 575, "open", ADVICE_CHANGE, "No one driver", false },
	{ "no driver", { 61 }, 0, "", ADVICE_HINT, "No driver is installed", true },
};

static void test_drivers(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(drivers); i++) {
		struct advice_card card[2] = { a_card("P104-100", drivers[i].compute[0]), a_card("CMP 170HX", drivers[i].compute[1]) };
		struct advice_facts facts = a_host(card, drivers[i].compute[1] ? 2 : 1);
		const struct advice_item *item;
		struct advice_list list;

		facts.branch = drivers[i].branch;
		util_copy(facts.flavour, sizeof(facts.flavour), drivers[i].flavour);
		advice_make(&facts, &list);
		item = find(&list, ADVICE_DRIVER, drivers[i].state, drivers[i].text);
		assert_row(item && !strcmp(item->command, drivers[i].command ? "INSTALL" : ""), &drivers[i]);
		advice_free(&list);
	}
}

static const struct {
	const char *desc;
	unsigned int compute, branch, toolkit, cudnn, torch, torch_cuda;
	enum advice_topic topic;
	enum advice_state state;
	const char *text;
	const char *command;
} programs[] = {
	{ "wheels for Pascal", 61, 535, 0, 0, 0, 0, ADVICE_PYTORCH, ADVICE_HINT, "index cu126, up to PyTorch 2.14", "'torch<2.15'" },
	{ "wheels for Pascal with an old driver", 61, 470, 0, 0, 0, 0, ADVICE_PYTORCH, ADVICE_HINT, "index cu118", "'torch<2.8'" },
	{ "wheels for Turing", 75, 550, 0, 0, 0, 0, ADVICE_PYTORCH, ADVICE_HINT, "index cu128", "'torch' --index-url" },
	{ "a wheel without code", 61, 550, 0, 0, 208, 1208, ADVICE_PYTORCH, ADVICE_CHANGE, "no kernel image", "" },
	{ "a wheel for a newer driver", 61, 470, 0, 0, 204, 1201, ADVICE_PYTORCH, ADVICE_CHANGE, "needs driver branch 525", "" },
	{ "a wheel that fits", 61, 535, 0, 0, 204, 1201, ADVICE_PYTORCH, ADVICE_FITS, "fits", "" },
	{ "a wheel without CUDA", 61, 535, 0, 0, 204, 0, ADVICE_PYTORCH, ADVICE_CHANGE, "without CUDA", "" },
	{ "no Triton on Pascal", 61, 535, 0, 0, 0, 0, ADVICE_PYTORCH, ADVICE_HINT, "Triton needs capability 7.0", "TORCHDYNAMO_DISABLE" },
	{ "a cuDNN that dropped Pascal", 61, 535, 0, 911, 0, 0, ADVICE_PYTORCH, ADVICE_CHANGE, "cuDNN 9.11 dropped", "" },
	{ "the last cuDNN for Pascal", 61, 535, 0, 910, 0, 0, ADVICE_PYTORCH, ADVICE_FITS, "cuDNN 9.10 fits", "" },
	{ "a toolkit that dropped Pascal", 61, 580, 1300, 0, 0, 0, ADVICE_CUDA, ADVICE_CHANGE, "13.0 cannot build", "" },
	{ "a toolkit for a newer driver", 61, 470, 1204, 0, 0, 0, ADVICE_CUDA, ADVICE_CHANGE, "needs driver branch 525", "" },
	{ "a toolkit that fits", 61, 535, 1108, 0, 0, 0, ADVICE_CUDA, ADVICE_FITS, "toolkit 11.8 fits", "" },
	{ "what the driver offers", 61, 535, 0, 0, 0, 0, ADVICE_CUDA, ADVICE_FITS, "CUDA 12.2", "" },
	{ "FP16 on Pascal", 61, 535, 0, 0, 0, 0, ADVICE_MEMORY, ADVICE_HINT, "FP16 at 1/64", "" },
};

static void test_programs(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(programs); i++) {
		struct advice_card card = a_card("P104-100", programs[i].compute);
		struct advice_facts facts = a_host(&card, 1);
		const struct advice_item *item;
		struct advice_list list;

		facts.branch = programs[i].branch;
		facts.stack.toolkit = programs[i].toolkit;
		facts.stack.cudnn = programs[i].cudnn;
		facts.stack.nr_torch = !!programs[i].torch;
		facts.stack.torch[0].version = programs[i].torch;
		facts.stack.torch[0].cuda = programs[i].torch_cuda;
		advice_make(&facts, &list);
		item = find(&list, programs[i].topic, programs[i].state, programs[i].text);
		assert_row(item && strstr(item->command, programs[i].command), &programs[i]);
		advice_free(&list);
	}
}

/* 2^30 bytes are 1073.7 MB: at 840 MB/s 1.28 s, at 210 5.11, at 1700 0.63. */
static void test_link_time(void **state)
{
	static const struct {
		unsigned int mbs;
		const char *text;
	} rates[] = { { 840, "takes 1.3 s." }, { 210, "takes 5.1 s." }, { 1700, "takes 0.6 s." } };
	struct advice_card card = a_card("P104-100", 61);
	struct advice_facts facts = a_host(&card, 1);
	struct advice_list list;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		card.link_mbs = rates[i].mbs;
		advice_make(&facts, &list);
		assert_non_null(find(&list, ADVICE_LINK, ADVICE_HINT, rates[i].text));
		advice_free(&list);
	}
}

/* None of the Pascal items on a card they are not true for. */
static void test_neighbours(void **state)
{
	struct advice_card card = a_card("CMP 40HX", 75);
	struct advice_facts facts = a_host(&card, 1);
	struct advice_list list;

	(void)state;
	card.link_mbs = 3400;
	facts.compat = card.compat;
	advice_make(&facts, &list);
	assert_null(find(&list, ADVICE_PYTORCH, ADVICE_HINT, "Triton"));
	assert_null(find(&list, ADVICE_PYTORCH, ADVICE_HINT, "cuDNN"));
	assert_null(find(&list, ADVICE_MEMORY, ADVICE_HINT, "FP16"));
	assert_null(find(&list, ADVICE_DRIVER, ADVICE_HINT, "the last for"));
	assert_null(find(&list, ADVICE_LINK, ADVICE_HINT, ""));
	advice_free(&list);

	card.slow_fma = true;
	advice_make(&facts, &list);
	assert_non_null(find(&list, ADVICE_MEMORY, ADVICE_HINT, "-fmad=false"));
	advice_free(&list);
}

static const struct {
	const char *desc;
	const char *name;
	unsigned int memory_mib;
	enum advice_state state;
	const char *text;
} memories[] = {
	{ "P104-100 as sold", "P104-100", 4096, ADVICE_FITS, "as sold" },
	{ "P104-100 as CUDA counts", "P104-100", 4034, ADVICE_FITS, "as sold" },
	{ "P104-100 with another VBIOS", "P104-100", 8192, ADVICE_HINT, "known from cards whose VBIOS was changed" },
	{ "P102-100 with another VBIOS", "P102-100", 10144, ADVICE_HINT, "known from cards whose VBIOS was changed" },
	{ "a size of no card", "P104-100", 6144, ADVICE_HINT, "not known of this product" },
	{ "less than sold", "P106-100", 3072, ADVICE_HINT, "switched off" },
	{ "the larger P106-090", "P106-090", 6144, ADVICE_FITS, "as sold" },
	{ "unlocked CMP 170HX", "CMP 170HX", 65536, ADVICE_HINT, "known from cards" },
	{ "no driver", "P104-100", 0, ADVICE_UNKNOWN, "does not tell" },
	{ "no data sheet", "CMP 100-210", 12288, ADVICE_UNKNOWN, "no data sheet" },
};

static void test_memories(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(memories); i++) {
		struct advice_card card = a_card(memories[i].name, 61);
		struct advice_facts facts = a_host(&card, 1);
		struct advice_list list;

		card.memory_mib = memories[i].memory_mib;
		advice_make(&facts, &list);
		assert_row(find(&list, ADVICE_MEMORY, memories[i].state, memories[i].text), &memories[i]);
		advice_free(&list);
	}
}

static void test_limit(void **state)
{
	struct advice_card card = a_card("P104-100", 61);
	struct advice_facts facts = a_host(&card, 1);
	const struct advice_item *item;
	struct advice_list list;

	(void)state;
	/* 70 % of 180 is 126, in steps of five 125. */
	add_nvml(&card);
	advice_make(&facts, &list);
	item = find(&list, ADVICE_POWER, ADVICE_HINT, "Lower the power limit first");
	assert_non_null(item);
	assert_non_null(strstr(item->command, "sudo nvidia-smi -i 0000:01:00.0 -pl 125 &&"));
	assert_string_equal(item->undo, "sudo nvidia-smi -i 0000:01:00.0 -pl 180");
	advice_free(&list);

	/* Never below what the card takes. */
	card.nvml.min_mw = 149500;
	advice_make(&facts, &list);
	item = find(&list, ADVICE_POWER, ADVICE_HINT, "Lower the power limit first");
	assert_non_null(item && strstr(item->command, "-pl 150 &&") ? item : NULL);
	advice_free(&list);

	/* Low enough already. */
	card.nvml.limit_mw = 120000;
	card.nvml.min_mw = 90000;
	advice_make(&facts, &list);
	assert_non_null(find(&list, ADVICE_POWER, ADVICE_FITS, "limited to 120 of 180 W"));
	assert_null(find(&list, ADVICE_POWER, ADVICE_HINT, "Lower the power limit"));
	advice_free(&list);

	/* More than it was sold with. */
	card.nvml.limit_mw = 217000;
	advice_make(&facts, &list);
	assert_non_null(find(&list, ADVICE_POWER, ADVICE_HINT, "limit is 217 W, it was sold with 180"));
	advice_free(&list);

	/* Nothing is invented without NVML. */
	card.nvml.known = false;
	advice_make(&facts, &list);
	assert_null(find(&list, ADVICE_POWER, ADVICE_HINT, "Lower"));
	assert_non_null(find(&list, ADVICE_POWER, ADVICE_UNKNOWN, "sold with 180 W, 1x 8-pin"));
	assert_non_null(find(&list, ADVICE_CLOCKS, ADVICE_UNKNOWN, ""));
	advice_free(&list);
}

static void test_clocks(void **state)
{
	struct advice_card card = a_card("CMP 40HX", 75);
	struct advice_facts facts = a_host(&card, 1);
	const struct advice_item *item;
	struct advice_list list;

	(void)state;
	/* The call is there, but what it sets does not read back: no offset is offered. */
	add_nvml(&card);
	card.nvml.locks_clocks = true;
	advice_make(&facts, &list);
	assert_non_null(find(&list, ADVICE_CLOCKS, ADVICE_UNKNOWN, "no clock offsets"));
	/* 1733 * 0.8 = 1386, in steps of 15: 1380 */
	item = find(&list, ADVICE_CLOCKS, ADVICE_HINT, "lower clocks");
	assert_non_null(item);
	assert_string_equal(item->command, "sudo nvidia-smi -i 0000:01:00.0 -lgc 0,1380");
	assert_string_equal(item->undo, "sudo nvidia-smi -i 0000:01:00.0 -rgc");
	assert_non_null(find(&list, ADVICE_FANS, ADVICE_FITS, "50 C, fan at 40 %"));
	advice_free(&list);

	card.nvml.offset_reads = true;
	card.nvml.sets_fan = true;
	advice_make(&facts, &list);
	item = find(&list, ADVICE_CLOCKS, ADVICE_HINT, "set and read back");
	assert_non_null(item);
	assert_non_null(strstr(item->command, "print(n.nvmlDeviceGetGpcClkVfOffset(h))"));
	assert_non_null(strstr(item->undo, "nvmlDeviceSetGpcClkVfOffset(h, 0)"));
	item = find(&list, ADVICE_FANS, ADVICE_HINT, "fan at 40 %");
	assert_non_null(item);
	assert_non_null(strstr(item->undo, "nvmlDeviceSetDefaultFanSpeed_v2"));
	advice_free(&list);

	/* Locked clocks came with Volta. */
	compat_gpu(0, 61, &card.compat);
	advice_make(&facts, &list);
	assert_null(find(&list, ADVICE_CLOCKS, ADVICE_HINT, "lower clocks"));
	advice_free(&list);

	card.nvml.has_fan = false;
	advice_make(&facts, &list);
	assert_non_null(find(&list, ADVICE_FANS, ADVICE_HINT, "reports no fan"));
	advice_free(&list);
}

/* Whatever changes something says how to take it back, and every fact says where it is from. */
static void test_undo(void **state)
{
	struct advice_card card[2] = { a_card("P104-100", 61), a_card("CMP 170HX", 80) };
	struct advice_facts facts = a_host(card, 2);
	struct advice_list list;
	size_t i;

	(void)state;
	add_nvml(&card[0]);
	add_nvml(&card[1]);
	card[0].nvml.offset_reads = card[1].nvml.locks_clocks = card[0].nvml.sets_fan = true;
	advice_make(&facts, &list);
	for (i = 0; i < list.nr; i++) {
		const struct advice_item *item = &list.item[i];

		if (strstr(item->command, "sudo ") && !strstr(item->command, "softtape check") && !item->undo[0])
			fail_msg("no way back: %s", item->command);
		if (item->state != ADVICE_UNKNOWN && !item->source[0])
			fail_msg("no source: %s", item->text);
		if (strlen(item->text) + 1 == sizeof(item->text) || strlen(item->command) + 1 == sizeof(item->command))
			fail_msg("cut: %s", item->text);
	}
	advice_free(&list);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_budgets),
		cmocka_unit_test(test_drivers),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_link_time),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_memories),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_undo),
	};

	return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
