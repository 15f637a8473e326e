// SPDX-License-Identifier: GPL-2.0-only
/* Cards as libudev and sysfs show them, on machines that umockdev plays; to be run with its library preloaded. */
#include "test.h"

#include <errno.h>
#include <umockdev.h>

#include "bind.h"
#include "card.h"
#include "watch.h"

static const struct softtape_policy policy;

static void add_device(UMockdevTestbed *bed, const char *name, const char *parent, const char *vendor, const char *device,
		       const char *class_code)
{
	char *path = umockdev_testbed_add_device(bed, "pci", name, parent, "vendor", vendor, "device", device, "class",
						 class_code, NULL, NULL);

	assert_non_null(path);
	g_free(path);
}

/* A P104-100 and its audio-less neighbour cards behind ports, and devices that are none of our business. */
static int make_machine(void **state)
{
	UMockdevTestbed *bed = umockdev_testbed_new();

	add_device(bed, "0000:00:1c.0", NULL, "0x8086", "0xa118", "0x060400");
	add_device(bed, "0000:00:1d.0", NULL, "0x8086", "0xa119", "0x060400");
	add_device(bed, "0000:0b:00.0", "/sys/devices/0000:00:1d.0", "0x10de", "0x1c07", "0x030200");
	add_device(bed, "0000:01:00.0", "/sys/devices/0000:00:1c.0", "0x10de", "0x1b87", "0x030200");
	/* The TITAN V, a card's id in another class, the id at another maker. */
	add_device(bed, "0000:02:00.0", NULL, "0x10de", "0x1d81", "0x030000");
	add_device(bed, "0000:03:00.0", NULL, "0x10de", "0x1b87", "0x040300");
	add_device(bed, "0000:04:00.0", NULL, "0x8086", "0x1b87", "0x030200");
	*state = bed;
	return 0;
}

static int drop_machine(void **state)
{
	g_object_unref(*state);
	return 0;
}

static void test_discover(void **state)
{
	struct card_list list;

	(void)state;
	assert_int_equal(card_discover(&policy, false, &list), 0);
	assert_int_equal(list.nr, 2);
	assert_string_equal(list.item[0].bdf, "0000:01:00.0");
	assert_string_equal(list.item[0].name, "P104-100");
	assert_string_equal(list.item[0].port, "0000:00:1c.0");
	assert_string_equal(list.item[1].bdf, "0000:0b:00.0");
	assert_string_equal(list.item[1].name, "P106-100");
	assert_string_equal(list.item[1].driver, "");
	card_list_free(&list);
}

static void test_any(void **state)
{
	struct card_list list;

	(void)state;
	assert_int_equal(card_discover(&policy, true, &list), 0);
	assert_int_equal(list.nr, 3);
	assert_string_equal(list.item[1].bdf, "0000:02:00.0");
	assert_null(list.item[1].row);
	card_list_free(&list);
}

static void test_added_id(void **state)
{
	struct softtape_policy added = { 0 };
	struct card_list list;

	(void)state;
	assert_int_equal(softtape_policy_set(&added, "ids", "10de:1d81"), 0);
	assert_int_equal(card_discover(&added, false, &list), 0);
	assert_int_equal(list.nr, 3);
	assert_non_null(list.item[1].row);
	assert_string_equal(list.item[1].row->name, "user-added");
	card_list_free(&list);
}

static void open_card(const char *bdf, struct card *card)
{
	struct address address;

	assert_int_equal(address_parse(bdf, &address), 0);
	assert_int_equal(card_open(&policy, &address, card), 0);
	card_read_link(card);
}

static void test_open(void **state)
{
	struct address address = { .bus = 9 };
	struct card card;

	(void)state;
	assert_int_equal(card_open(&policy, &address, &card), -ENODEV);
	open_card("4:00.0", &card);
	assert_int_equal(card.vendor, 0x8086);
	assert_null(card.row);
}

static void test_link_without_registers(void **state)
{
	const char *path = "/sys/devices/0000:00:1c.0/0000:01:00.0";
	struct card card;

	umockdev_testbed_set_attribute(*state, path, "current_link_speed", "2.5 GT/s PCIe\n");
	umockdev_testbed_set_attribute(*state, path, "current_link_width", "1\n");
	umockdev_testbed_set_attribute(*state, path, "max_link_speed", "8.0 GT/s PCIe\n");
	umockdev_testbed_set_attribute(*state, path, "max_link_width", "255\n");
	open_card("01:00.0", &card);
	assert_int_equal(card.view.speed, 1);
	assert_int_equal(card.view.width, 1);
	assert_int_equal(card.view.max_speed, 3);
	assert_int_equal(card.view.max_width, 0);
	assert_int_equal(card.view.item[SOFTTAPE_ASPM], SOFTTAPE_UNKNOWN);
	assert_false(card.gone);
}

static void set_config(UMockdevTestbed *bed, guint8 *byte, size_t size)
{
	umockdev_testbed_set_attribute_binary(bed, "/sys/devices/0000:00:1c.0/0000:01:00.0", "config", byte, (gssize)size);
}

static void test_gone(void **state)
{
	guint8 byte[256];
	struct card card;

	memset(byte, 0xff, sizeof(byte));
	set_config(*state, byte, sizeof(byte));
	open_card("01:00.0", &card);
	assert_true(card.gone);
	/* The kernel still knows what it was. */
	assert_string_equal(card.name, "P104-100");
	assert_int_equal(card.view.speed, 0);
}

/* Pulled while somebody looks at it: no file at all is not the same as a file that may not be read. */
static void test_removed(void **state)
{
	struct card card;

	open_card("01:00.0", &card);
	assert_false(card.gone);
	umockdev_testbed_remove_device(*state, "/sys/devices/0000:00:1c.0/0000:01:00.0");
	card_read_link(&card);
	assert_true(card.gone);
}

static void test_quirks(void **state)
{
	const char *path = "/sys/devices/0000:00:1c.0/0000:01:00.0";
	struct card card;

	open_card("01:00.0", &card);
	assert_false(card.claimed);
	umockdev_testbed_set_attribute(*state, path, "softtape/state", "applied\n");
	umockdev_testbed_set_attribute(*state, path, "softtape/aspm", "off\n");
	umockdev_testbed_set_attribute(*state, path, "softtape/report", "state=applied aspm=off(was l1)\n");
	card_read_quirks(&card);
	assert_true(card.claimed);
	assert_string_equal(card.quirk[SOFTTAPE_F_STATE], "applied");
	assert_string_equal(card.quirk[SOFTTAPE_F_ASPM], "off");
	assert_string_equal(card.report, "state=applied aspm=off(was l1)");
}

#define BAR0 "0xf9000000 0xf9ffffff 0x40200\n"
#define BAR1 "0xe0000000 0xefffffff 0x14220c\n"
#define NONE "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"

static const struct {
	const char *desc;
	const char *resource;
	const char *bar;
} bars[] = {
	{ "all there", BAR0 BAR1 NONE "0xf0000000 0xf1ffffff 0x14220c\n" NONE NONE, "" },
	{ "BAR 0 missing", NONE BAR1 NONE, "BAR 0" },
	{ "BAR 1 has only a size", BAR0 "0x0 0xfffffff 0x2014220c\n" NONE, "BAR 1" },
	{ "both missing", NONE NONE NONE, "BAR 0, BAR 1" },
	{ "BAR 3 has only a size", BAR0 BAR1 NONE "0x0 0x1ffffff 0x2014220c\n" NONE NONE, "BAR 3" },
	{ "I/O missing, which no driver needs", BAR0 BAR1 NONE NONE NONE "0x0 0x7f 0x20040101\n", "" },
	{ "ROM missing, which no driver needs", BAR0 BAR1 NONE NONE NONE NONE "0x0 0x7ffff 0x20046200\n", "" },
};

static void test_bars(void **state)
{
	struct bind_facts facts;
	struct card card;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bars); i++) {
		umockdev_testbed_set_attribute(*state, "/sys/devices/0000:00:1c.0/0000:01:00.0", "resource", bars[i].resource);
		open_card("01:00.0", &card);
		bind_facts_read(&card, &facts);
		assert_row(!strcmp(facts.bar, bars[i].bar), &bars[i]);
	}
}

/* An event wakes the watch long before its own look; the driver link is then read. */
static void test_watch(void **state)
{
	const char *path = "/sys/devices/0000:00:1c.0/0000:01:00.0";
	struct watch *watch = watch_open(-1);
	long long start_ms;
	struct card card;

	open_card("01:00.0", &card);
	assert_int_equal(watch_wait(watch, util_now_ms() - 1), -ETIMEDOUT);
	umockdev_testbed_set_attribute_link(*state, path, "driver", "../../../../bus/pci/drivers/nvidia");
	start_ms = util_now_ms();
	umockdev_testbed_uevent(*state, path, "bind");
	assert_int_equal(watch_wait(watch, util_now_ms() + 60000), 0);
	/* 500 ms is the look without events. */
	assert_true(util_now_ms() - start_ms < 400);
	card_read_driver(&card);
	assert_string_equal(card.driver, "nvidia");
	watch_close(watch);
}

static void test_watch_cancel(void **state)
{
	struct watch *watch;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	watch = watch_open(fds[0]);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(watch_wait(watch, util_now_ms() + 60000), -ECANCELED);
	watch_close(watch);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
#define MACHINE_TEST(name) cmocka_unit_test_setup_teardown(name, make_machine, drop_machine)
	static const struct CMUnitTest tests[] = {
		MACHINE_TEST(test_discover),
		MACHINE_TEST(test_any),
		MACHINE_TEST(test_added_id),
		MACHINE_TEST(test_open),
		MACHINE_TEST(test_link_without_registers),
		MACHINE_TEST(test_gone),
		MACHINE_TEST(test_removed),
		MACHINE_TEST(test_quirks),
		MACHINE_TEST(test_bars),
		MACHINE_TEST(test_watch),
		MACHINE_TEST(test_watch_cancel),
	};

	UMockdevTestbed *bed = umockdev_testbed_new();
	bool mocked = umockdev_in_mock_environment();

	g_object_unref(bed);
	if (!mocked) {
		fputs("FAIL card_test: libumockdev-preload.so.0 is not preloaded\n", stderr);
		return 1;
	}
	return cmocka_run_group_tests_name("card", tests, NULL, NULL);
}
