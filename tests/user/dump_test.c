// SPDX-License-Identifier: GPL-2.0-only
/* Text of lspci, tidy and untidy. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "card.h"

#define LINE(offset) offset ": 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
#define HEADER "00: de 10 87 1b 07 00 10 00 a1 00 02 03 00 00 00 00\n" LINE("10") LINE("20") LINE("30")
#define BRIDGE(secondary) "00: 86 80 18 a1 07 04 10 00 f1 00 04 06 10 00 81 00\n" \
	"10: 00 00 00 00 00 00 00 00 00 " secondary " 01 00 f0 00 00 00\n" LINE("20") LINE("30")

static struct dump read_text(const char *text, size_t size)
{
	FILE *file = fmemopen((void *)text, size, "r");
	struct dump dump;

	assert_non_null(file);
	assert_int_equal(dump_read(file, &dump), 0);
	fclose(file);
	return dump;
}

static const struct {
	const char *desc;
	const char *text;
	size_t nr;
	size_t size;		/* of the first device */
	const char *flaw;	/* of the first device, NULL = fine */
} rows[] = {
	{ "empty", "\n", 0, 0, NULL },
	{ "plain", "01:00.0 3D controller\n" HEADER, 1, 64, NULL },
	{ "address alone", "01:00.0\n" HEADER, 1, 64, NULL },
	{ "domain", "0000:01:00.0 3D controller\n" HEADER, 1, 64, NULL },
	{ "windows line ends", "01:00.0 3D\r\n00: de 10 87 1b 07 00 10 00 a1 00 02 03 00 00 00 00\r\n10: 00\r\n", 1, 17,
	  "bytes end inside the header" },
	{ "byte order mark", "\xef\xbb\xbf" "01:00.0 3D\n" HEADER, 1, 64, NULL },
	{ "comments and blank lines", "# a comment\n\n01:00.0 3D\n# another\n" HEADER "\n# end\n", 1, 64, NULL },
	{ "verbose text between", "01:00.0 3D\n\tSubsystem: none\n\tControl: I/O- Mem+\n\tad: de\n" HEADER, 1, 64, NULL },
	{ "indented paste", "    01:00.0 3D\n    " HEADER, 1, 64, NULL },
	{ "bytes before any device", HEADER "01:00.0 3D\n" HEADER, 1, 64, NULL },
	{ "two devices", "00:1c.0 bridge\n" HEADER "01:00.0 3D\n" HEADER, 2, 64, NULL },
	{ "no bytes", "01:00.0 3D\n", 1, 0, "no bytes: lspci needs -xxxx" },
	{ "line missing", "01:00.0 3D\n00: de 10 87 1b 07 00 10 00 a1 00 02 03 00 00 00 00\n" LINE("20"), 1, 16,
	  "bytes missing or repeated" },
	{ "line twice", "01:00.0 3D\n" HEADER LINE("30"), 1, 64, "bytes missing or repeated" },
	{ "not a digit", "01:00.0 3D\n00: de 10 87 1b 07 0g 10 00 a1 00 02 03 00 00 00 00\n", 1, 5, "garbled line" },
	{ "seventeen bytes", "01:00.0 3D\n00: de 10 87 1b 07 00 10 00 a1 00 02 03 00 00 00 00 11\n", 1, 16, "garbled line" },
	{ "half a byte", "01:00.0 3D\n00: de 1", 1, 1, "garbled line" },
	{ "all ones", "01:00.0 3D\n"
	  "00: ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff\n10: ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff\n"
	  "20: ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff\n30: ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff\n", 1, 64,
	  "config space reads all ones: the device was off the bus" },
	{ "an address in a sentence", "see 01:00.0 below\n" HEADER, 0, 0, NULL },
	{ "an offset that looks like an address", "01:00.0 3D\n" HEADER "40: 01\n", 1, 65, NULL },
};

static void test_rows(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dump dump = read_text(rows[i].text, strlen(rows[i].text));

		assert_row(dump.nr == rows[i].nr, &rows[i]);
		if (dump.nr) {
			assert_row(dump.device[0].size == rows[i].size, &rows[i]);
			assert_row(!rows[i].flaw == !dump.device[0].flaw, &rows[i]);
			assert_row(!rows[i].flaw || !strcmp(rows[i].flaw, dump.device[0].flaw), &rows[i]);
		}
		dump_free(&dump);
	}
}

static void test_port(void **state)
{
	static const char text[] = "00:1c.0 bridge\n" BRIDGE("01") "01:00.0 card\n" HEADER
				   "00:1d.0 bridge\n" BRIDGE("02") "02:00.0 card\n" HEADER
				   "03:00.0 card without a port\n" HEADER
				   "04:00.0 card before its port\n" HEADER "00:1e.0 bridge\n" BRIDGE("04")
				   "0001:01:00.0 card of another domain\n" HEADER
				   /* the second machine of one file */
				   "00:02.0 bridge\n" BRIDGE("01") "01:00.0 card\n" HEADER;
	struct dump dump = read_text(text, strlen(text));

	(void)state;
	assert_int_equal(dump.nr, 10);
	assert_ptr_equal(dump_port(&dump, 1), &dump.device[0]);
	assert_ptr_equal(dump_port(&dump, 3), &dump.device[2]);
	assert_null(dump_port(&dump, 4));
	assert_ptr_equal(dump_port(&dump, 5), &dump.device[6]);
	assert_null(dump_port(&dump, 7));
	assert_ptr_equal(dump_port(&dump, 9), &dump.device[8]);
	dump_free(&dump);
}

/* Bits of every NVIDIA function of the slot count, others do not; another slot's do not. */
static void test_functions(void **state)
{
	static const char other[] = "00: 86 80 87 1b 07 00 10 00 a1 00 02 03 00 00 00 00\n" LINE("10") LINE("20") LINE("30");
	static const char format[] = "01:00.0 card\n" HEADER "01:00.1 audio\n" HEADER "01:00.2 intel\n%s01:01.0 card\n" HEADER;
	static const struct softtape_policy policy;
	struct finding_list findings = { 0 };
	struct card_list list;
	struct dump dump;
	char text[8192];

	(void)state;
	snprintf(text, sizeof(text), format, other);
	dump = read_text(text, strlen(text));
	assert_int_equal(card_from_dump(&policy, &dump, &list, &findings), 0);
	/* Function 1 is a listed id of display class here too, so it is a card of its own. */
	assert_int_equal(list.nr, 3);
	assert_int_equal(list.item[0].link.nr_fn, 2);
	assert_int_equal(list.item[2].link.nr_fn, 1);
	card_list_free(&list);
	finding_free(&findings);
	dump_free(&dump);
}

/* Two machines in one text whose cards meet: each its own, and told apart. */
static void test_machines(void **state)
{
	static const struct softtape_policy policy;
	static const char text[] = "01:00.0 card\n" HEADER "01:00.1 audio\n" HEADER "01:00.0 card\n" HEADER "02:00.0 card\n" HEADER;
	struct finding_list findings = { 0 };
	struct dump dump = read_text(text, strlen(text));
	struct card_list list;

	(void)state;
	assert_int_equal(card_from_dump(&policy, &dump, &list, &findings), 0);
	assert_int_equal(list.nr, 4);
	assert_int_equal(list.item[0].link.nr_fn, 2);
	assert_int_equal(list.item[2].link.nr_fn, 1);
	assert_int_equal(list.item[0].line, 1);
	assert_int_equal(list.item[2].line, 11);
	assert_true(list.item[0].again && list.item[2].again && !list.item[1].again && !list.item[3].again);
	assert_int_equal(findings.nr, 1);
	assert_int_equal(findings.item[0].code, FINDING_DUMP_AGAIN);
	assert_string_equal(findings.item[0].bdf, "0000:01:00.0");
	assert_string_equal(findings.item[0].evidence, "2 cards, the first two in lines 1 and 11");
	card_list_free(&list);
	finding_free(&findings);
	dump_free(&dump);
}

static void test_nothing_readable(void **state)
{
	static const struct softtape_policy policy;
	struct finding_list findings = { 0 };
	struct dump dump = read_text("01:00.0 3D\n00: de\n02:00.0 3D\n", 30);
	struct card_list list;

	(void)state;
	assert_int_equal(card_from_dump(&policy, &dump, &list, &findings), -ENODATA);
	assert_int_equal(findings.nr, 2);
	assert_string_equal(findings.item[0].bdf, "0000:01:00.0");
	assert_string_equal(findings.item[1].bdf, "0000:02:00.0");
	finding_free(&findings);
	card_list_free(&list);
	dump_free(&dump);
}

/* All that `plan -F` does with a text, without printing. */
static void use_text(const char *text, size_t size)
{
	static const struct softtape_policy capped = { .speed = 1 };
	struct dump dump = read_text(text, size);
	struct finding_list findings = { 0 };
	struct softtape_plan plan;
	struct card_list list;
	size_t i;

	card_from_dump(&capped, &dump, &list, &findings);
	for (i = 0; i < list.nr; i++) {
		softtape_plan_make(&list.item[i].view, &capped, &plan);
		assert_true(plan.nr <= SOFTTAPE_STEPS_MAX);
	}

	card_list_free(&list);
	finding_free(&findings);
	dump_free(&dump);
}

static size_t read_case(char *buf, size_t size)
{
	FILE *file = fopen("../tests/fixtures/cases/p104-100-with-port.txt", "r");
	size_t n;

	if (!file)
		fail_msg("to be run in user/");
	n = fread(buf, 1, size, file);
	fclose(file);
	assert_in_range(n, 1000, size - 1);
	return n;
}

/* Cut behind every byte; a sanitizer sees every read too far, cmocka every wrong count. */
static void test_cut(void **state)
{
	char text[8192];
	size_t size = read_case(text, sizeof(text)), n;

	(void)state;
	for (n = 1; n <= size; n++)
		use_text(text, n);
}

/* xorshift32 (Marsaglia 2003), so that a failure can be repeated. */
static uint32_t random32(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static void test_changed(void **state)
{
	static const char letters[] = "0123456789abcdef :.\n\r\t\377";
	char text[8192], changed[8192];
	size_t size = read_case(text, sizeof(text));
	uint32_t seed = 1, i;
	int round;

	(void)state;
	for (round = 0; round < 5000; round++) {
		memcpy(changed, text, size);
		for (i = random32(&seed) % 40; i; i--)
			changed[random32(&seed) % size] = letters[random32(&seed) % sizeof(letters)];
		use_text(changed, size);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_nothing_readable),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_changed),
	};

	return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
