// SPDX-License-Identifier: GPL-2.0-only
/* Configuration spaces: the two that are known by heart, and every way bytes can be wrong. */
#include "test.h"

#include <stdlib.h>

#include "config.h"
#include "util.h"

/*
 * The least that counts: an endpoint of the CMP 40HX's make, bytes of the capture in facts of that card: power
 * management at 60, MSI at 68, PCI Express at 78, Link Capabilities 00453d01, Link Control 0140, Link Status 1101.
 */
static void make_card(__u8 *byte)
{
	static const struct { int pos; __u8 value[20]; } parts[] = {
		{ 0x00, { 0xde, 0x10, 0x0b, 0x1f, 0x07, 0x04, 0x10, 0x00, 0xa1, 0x00, 0x02, 0x03 } },
		{ 0x34, { 0x60 } },
		{ 0x60, { 0x01, 0x68, 0xc3, 0xc9 } },
		{ 0x68, { 0x05, 0x78, 0x81, 0x00 } },
		{ 0x78, { 0x10, 0x00, 0x01, 0x00, 0xe1, 0x8d, 0x2c, 0x11, 0x30, 0x29, 0x10, 0x00, 0x01, 0x3d, 0x45, 0x00,
			  0x40, 0x01, 0x01, 0x11 } },
	};
	size_t i;

	memset(byte, 0, CONFIG_SIZE_MAX);
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		memcpy(byte + parts[i].pos, parts[i].value, sizeof(parts[i].value));
}

/* The same with a capability of version 2: 5 GT/s in Link Capabilities 2, Target Link Speed 2, L1 substates at 250. */
static void make_version_2(__u8 *byte)
{
	make_card(byte);
	byte[0x7a] = 0x02;
	byte[0x78 + 0x2c] = 0x06;
	byte[0x78 + 0x30] = 0x02;
	memcpy(byte + 0x100, (__u8[]){ 0x02, 0x00, 0x01, 0x25 }, 4);
	memcpy(byte + 0x250, (__u8[]){ 0x1e, 0x00, 0x01, 0x00, 0x1f, 0xff, 0x0a, 0x00, 0x05, 0x00, 0x00, 0x00 }, 12);
}

static void test_version_1(void **state)
{
	__u8 byte[CONFIG_SIZE_MAX];
	struct config config = { .byte = byte, .size = 256 };
	struct softtape_end end;

	(void)state;
	make_card(byte);
	/* What stands behind a version-1 capability is not Link Control 2. */
	byte[0x78 + 0x30] = 0x33;

	assert_int_equal(config_vendor(&config), 0x10de);
	assert_int_equal(config_device(&config), 0x1f0b);
	assert_int_equal(config_class(&config), 0x030200);
	assert_false(config_is_gone(&config));
	assert_int_equal(config_end(&config, &end), CONFIG_FINE);
	assert_true(end.known);
	assert_false(end.ext_known);
	assert_int_equal(end.version, 1);
	assert_int_equal(end.type, PCI_EXP_TYPE_ENDPOINT);
	assert_int_equal(end.lnkcap, 0x00453d01);
	assert_int_equal(end.lnkctl, 0x0140);
	assert_int_equal(end.lnksta, 0x1101);
	assert_int_equal(end.lnkcap2, 0);
	assert_int_equal(end.lnkctl2, 0);
}

static void test_version_2(void **state)
{
	__u8 byte[CONFIG_SIZE_MAX];
	struct config config = { .byte = byte, .size = CONFIG_SIZE_MAX };
	struct softtape_end end;

	(void)state;
	make_version_2(byte);
	assert_int_equal(config_end(&config, &end), CONFIG_FINE);
	assert_int_equal(end.version, 2);
	assert_int_equal(end.lnkcap2, 6);
	assert_int_equal(end.lnkctl2, 2);
	assert_true(end.ext_known);
	assert_int_equal(end.l1ss_cap, 0x000aff1f);
	assert_int_equal(end.l1ss_ctl1, 5);
}

/* One byte of make_version_2() changed, or fewer bytes of it. */
static const struct {
	const char *desc;
	size_t size;
	int pos;
	__u8 value;
	enum config_flaw flaw;
	bool known;
	bool ext_known;
	__u8 version;
} rows[] = {
	{ "as it is", 4096, 0x06, 0x10, CONFIG_FINE, true, true, 2 },
	{ "what anybody may read", 64, 0x06, 0x10, CONFIG_SHORT, false, false, 0 },
	{ "ends before the list begins", 0x20, 0x06, 0x10, CONFIG_SHORT, false, false, 0 },
	{ "no list, 64 bytes", 64, 0x06, 0x00, CONFIG_FINE, true, false, 0 },
	{ "no list", 4096, 0x06, 0x00, CONFIG_FINE, true, true, 0 },
	{ "ends at the capability", 0x78, 0x06, 0x10, CONFIG_SHORT, false, false, 0 },
	{ "ends in Link Control 2", 0x78 + 0x31, 0x06, 0x10, CONFIG_SHORT, false, false, 0 },
	{ "ends behind Link Control 2", 0x78 + 0x32, 0x06, 0x10, CONFIG_FINE, true, false, 2 },
	{ "points at itself", 256, 0x61, 0x60, CONFIG_LOOP, false, false, 0 },
	{ "points back", 256, 0x69, 0x60, CONFIG_LOOP, false, false, 0 },
	{ "points into the header", 256, 0x69, 0x10, CONFIG_FINE, true, false, 0 },
	{ "list ends early", 256, 0x69, 0x00, CONFIG_FINE, true, false, 0 },
	{ "points at the end", 256, 0x69, 0xfe, CONFIG_FINE, true, false, 0 },
	{ "reads ones", 256, 0x68, 0xff, CONFIG_FINE, true, false, 0 },
	{ "extended list points at itself", 4096, 0x103, 0x10, CONFIG_LOOP, true, false, 2 },
	{ "extended list ends early", 4096, 0x103, 0x00, CONFIG_FINE, true, true, 2 },
	{ "extended list ends behind the bytes", 0x200, 0x06, 0x10, CONFIG_SHORT, true, false, 2 },
	{ "ends inside L1 substates", 0x250 + 11, 0x06, 0x10, CONFIG_SHORT, true, false, 2 },
	{ "ends behind L1 substates", 0x250 + 12, 0x06, 0x10, CONFIG_FINE, true, true, 2 },
	{ "extended list points at the last bytes", 4096, 0x103, 0xff, CONFIG_FINE, true, true, 2 },
};

static void test_rows(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		__u8 byte[CONFIG_SIZE_MAX], *exact = malloc(rows[i].size);
		struct config config = { .byte = exact, .size = rows[i].size };
		struct softtape_end end;

		make_version_2(byte);
		byte[rows[i].pos] = rows[i].value;
		/* A copy of the exact size lets a sanitizer see every byte too far. */
		memcpy(exact, byte, rows[i].size);
		assert_row(config_end(&config, &end) == rows[i].flaw, &rows[i]);
		assert_row(end.known == rows[i].known, &rows[i]);
		assert_row(end.ext_known == rows[i].ext_known, &rows[i]);
		assert_row(end.version == rows[i].version, &rows[i]);
		free(exact);
	}
}

static void test_gone(void **state)
{
	__u8 byte[CONFIG_SIZE_HEADER];
	struct config config = { .byte = byte, .size = sizeof(byte) };

	(void)state;
	memset(byte, 0xff, sizeof(byte));
	assert_true(config_is_gone(&config));
	byte[0] = 0xde;
	assert_false(config_is_gone(&config));
	config.size = 1;
	assert_true(config_is_gone(&config));
}

/* xorshift32 (Marsaglia 2003), so that a failure can be repeated. */
static uint32_t random32(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Whatever comes in, the walk ends and stays inside; the sanitizer build is the judge of the second. */
static void test_random(void **state)
{
	uint32_t seed = 1;
	int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		size_t size = CONFIG_SIZE_HEADER + random32(&seed) % (CONFIG_SIZE_MAX - CONFIG_SIZE_HEADER + 1), i;
		__u8 whole[CONFIG_SIZE_MAX], *byte = malloc(size), *shown = malloc(size);
		struct config config = { .byte = byte, .size = size };
		struct softtape_link link = { .nr_fn = 1 };
		struct softtape_policy policy = { .speed = 1 };
		struct softtape_view view;
		struct softtape_plan plan;

		make_version_2(whole);
		memcpy(byte, whole, size);
		for (i = random32(&seed) % 64; i; i--)
			byte[random32(&seed) % size] = (__u8)random32(&seed);

		config_end(&config, &link.fn[0]);
		link.port = link.fn[0];
		softtape_view_make(&link, &view);
		softtape_plan_make(&view, &policy, &plan);
		assert_true(plan.nr <= SOFTTAPE_STEPS_MAX);
		config_shareable(&config, shown);
		assert_memory_equal(shown, byte, CONFIG_SIZE_HEADER);
		free(shown);
		free(byte);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_1),
		cmocka_unit_test(test_version_2),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
