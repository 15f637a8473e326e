// SPDX-License-Identifier: GPL-2.0-only
/* PCI addresses as people write them. */
#include "test.h"

#include "util.h"

static const struct {
	const char *desc;
	const char *text;
	const char *full;	/* NULL = refused */
} rows[] = {
	{ "bus without zero", "1:00.0", "0000:01:00.0" },
	{ "as lspci prints it", "01:00.0", "0000:01:00.0" },
	{ "as sysfs prints it", "0000:01:00.0", "0000:01:00.0" },
	{ "capital digits", "0000:0A:1F.7", "0000:0a:1f.7" },
	{ "VMD domain", "10000:e1:00.0", "10000:e1:00.0" },
	{ "function 8", "01:00.8", NULL },
	{ "slot 0x20", "01:20.0", NULL },
	{ "bus 0x100", "100:00.0", NULL },
	{ "no function", "01:00", NULL },
	{ "nothing", "", NULL },
	{ "word", "all", NULL },
	{ "more behind it", "01:00.0x", NULL },
	{ "blank before it", " 01:00.0", NULL },
	{ "four numbers", "0:0:01:00.0", NULL },
	{ "a colon too many", "0000:01:00:.0", NULL },
	{ "domain of nine digits", "100000000:01:00.0", NULL },
	{ "two points", "01:00..0", NULL },
	{ "a path", "../../etc/passwd", NULL },
};

static void test_address(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct address address = { .bus = 0x77 };
		char text[ADDRESS_MAX];
		int ret = address_parse(rows[i].text, &address);

		if (!rows[i].full) {
			assert_row(ret < 0, &rows[i]);
			/* An output is untouched on failure. */
			assert_row(address.bus == 0x77, &rows[i]);
			continue;
		}

		address_format(&address, text, sizeof(text));
		assert_row(!ret && !strcmp(text, rows[i].full), &rows[i]);
	}
}

static void test_read_cuts(void **state)
{
	char buf[8];

	(void)state;
	assert_int_equal(util_read("/proc/self/status", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "Name:\tu");
	assert_true(util_read("/proc/self/nothing", buf, sizeof(buf)) < 0);
}

/* Examples of RFC 3629 and of the Unicode Standard's table of well-formed sequences, and their neighbours. */
static void test_utf8(void **state)
{
	static const struct {
		const char *desc;
		const char *text;
		const char *clean;
	} texts[] = {
		{ "plain", "a line", "a line" },
		{ "two bytes", "\xc3\xa4", "\xc3\xa4" },
		{ "three bytes", "\xe5\x8d\xa1", "\xe5\x8d\xa1" },
		{ "four bytes", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "a byte of another code", "\xe4", "?" },
		{ "cut off", "ab\xe5\x8d", "ab??" },
		{ "longer than needed", "\xc0\xaf", "??" },
		{ "longer than needed, three", "\xe0\x9f\xbf", "???" },
		{ "half of a pair", "\xed\xa0\x80", "???" },
		{ "behind the last", "\xf4\x90\x80\x80", "????" },
		{ "the last", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
		{ "a follower alone", "\x80x", "?x" },
		{ "too long", "0123456789abcdefghij", "0123456789abcde" },
		{ "not cut inside a character", "0123456789abcd\xc3\xa4", "0123456789abcd" },
	};
	char clean[16];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		util_clean_utf8(texts[i].text, clean, sizeof(clean));
		assert_row(!strcmp(clean, texts[i].clean), &texts[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_read_cuts),
	};

	return cmocka_run_group_tests_name("util", tests, NULL, NULL);
}
