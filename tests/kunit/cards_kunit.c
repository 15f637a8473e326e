// SPDX-License-Identifier: GPL-2.0-only
/* Which function is a card. Names and ids are copied by hand from the NVIDIA driver's own table of supported chips. */
#include "../../kmod/cards.c"

#include "suites.h"

static const struct match_row {
	const char *what;
	u16 vendor, device;
	u32 class_code;
	const char *name;
} match_rows[] = {
	{ "P104-100 as 3D controller", 0x10de, 0x1b87, 0x030200, "P104-100" },
	{ "P104-100 as VGA controller", 0x10de, 0x1b87, 0x030000, "P104-100" },
	{ "below P104-100", 0x10de, 0x1b86, 0x030200, NULL },
	{ "above P104-100", 0x10de, 0x1b88, 0x030200, NULL },
	{ "P104-100's id at another vendor", 0x10df, 0x1b87, 0x030200, NULL },
	{ "P104-100's id, audio class", 0x10de, 0x1b87, 0x040300, NULL },
	{ "P104-100's id, class above display", 0x10de, 0x1b87, 0x040000, NULL },
	{ "P104-100's id, class below display", 0x10de, 0x1b87, 0x02ffff, NULL },
	{ "TITAN V", 0x10de, 0x1d81, 0x030000, NULL },
	{ "GTX 1070", 0x10de, 0x1b81, 0x030000, NULL },
	{ "first of the list", 0x10de, 0x15c2, 0x030200, "CMP 100-100" },
	{ "last of the list", 0x10de, 0x250a, 0x030200, "unnamed mining GPU" },
	{ "P106-100", 0x10de, 0x1c07, 0x030200, "P106-100" },
	{ "between P106-100 and P106-090", 0x10de, 0x1c08, 0x030200, NULL },
	{ "P106-090", 0x10de, 0x1c09, 0x030200, "P106-090" },
	{ "CMP 40HX", 0x10de, 0x1f0b, 0x030000, "CMP 40HX" },
	{ "nothing there", 0xffff, 0xffff, 0xffffff, NULL },
};

static void row_name(const struct match_row *row, char *desc)
{
	strscpy(desc, row->what, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(match, match_rows, row_name);

static void match_test(struct kunit *test)
{
	const struct softtape_policy policy = { };
	const struct match_row *row = test->param_value;
	const struct softtape_card *card;

	card = softtape_card_match(&policy, row->vendor, row->device, row->class_code);
	KUNIT_EXPECT_STREQ(test, card ? card->name : "no card", row->name ? row->name : "no card");
	if (card)
		KUNIT_EXPECT_EQ(test, card->device, row->device);
}

/* 24 ids of the driver's table, and 1df4 (see card_list.h). */
static void list_test(struct kunit *test)
{
	unsigned int nr;

	for (nr = 0; softtape_card_at(nr); nr++)
		if (nr)
			KUNIT_EXPECT_LT(test, softtape_card_at(nr - 1)->device, softtape_card_at(nr)->device);
	KUNIT_EXPECT_EQ(test, nr, 25u);
}

static void ids_test(struct kunit *test)
{
	const struct softtape_policy policy = { .ids = { 0x1b81, 0x1b87 }, .nr_ids = 2 };

	KUNIT_EXPECT_STREQ(test, softtape_card_match(&policy, 0x10de, 0x1b81, 0x030000)->name, "user-added");
	KUNIT_EXPECT_STREQ(test, softtape_card_match(&policy, 0x10de, 0x1b87, 0x030000)->name, "P104-100");
	KUNIT_EXPECT_NULL(test, softtape_card_match(&policy, 0x10de, 0x1b82, 0x030000));
	KUNIT_EXPECT_NULL(test, softtape_card_match(&policy, 0x10de, 0x1b81, 0x040300));
	KUNIT_EXPECT_NULL(test, softtape_card_match(&policy, 0x1002, 0x1b81, 0x030000));
}

static void skip_test(struct kunit *test)
{
	const struct softtape_policy policy = { .skip = { { 0x10000, 0x21, 3 } }, .nr_skip = 1 };
	const struct softtape_address same = { 0x10000, 0x21, 3 }, domain = { 0, 0x21, 3 }, bus = { 0x10000,
	  0x20, 3 },
		slot = { 0x10000, 0x21, 4 };

	KUNIT_EXPECT_TRUE(test, softtape_slot_skipped(&policy, &same));
	KUNIT_EXPECT_FALSE(test, softtape_slot_skipped(&policy, &domain));
	KUNIT_EXPECT_FALSE(test, softtape_slot_skipped(&policy, &bus));
	KUNIT_EXPECT_FALSE(test, softtape_slot_skipped(&policy, &slot));
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(match_test, match_gen_params),
	KUNIT_CASE(list_test),
	KUNIT_CASE(ids_test),
	KUNIT_CASE(skip_test),
	{ }
};

struct kunit_suite cards_suite = { .name = "softtape-cards", .test_cases = cases };
