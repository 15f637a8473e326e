// SPDX-License-Identifier: GPL-2.0-only
/* The configuration file: what is accepted, and one clear line for what is not. */
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#include "settings.h"
#include "util.h"

#define LONG	"------------------------------------------------------------------------------------------------------------"

static const struct {
	const char *desc;
	const char *text;
	int ret;		/* 0, or anything below */
	struct settings settings;
	const char *error;	/* part of it */
} rows[] = {
	{ "empty", "", 0, { ON_PLUG_QUICK, 0, 60, -1 }, NULL },
	{ "comments only", "# on_plug = off\n\n; x\n", 0, { ON_PLUG_QUICK, 0, 60, -1 }, NULL },
	{ "everything", "on_plug = standard\nmax_parallel=2\n  driver_wait = 0\n", 0, { ON_PLUG_STANDARD, 2, 0, -1 }, NULL },
	{ "last one counts", "on_plug=off\non_plug=bind-only\n", 0, { ON_PLUG_BIND_ONLY, 0, 60, -1 }, NULL },
	{ "comment behind the value", "on_plug = off ; no tests\n", 0, { ON_PLUG_OFF, 0, 60, -1 }, NULL },
	{ "as many as the level allows", "max_parallel=2\nmax_parallel =\n", 0, { ON_PLUG_QUICK, 0, 60, -1 }, NULL },
	{ "how many cards there must be", "expected_cards = 6\n", 0, { ON_PLUG_QUICK, 0, 60, 6 }, NULL },
	{ "no number of cards any more", "expected_cards=6\nexpected_cards=\n", 0, { ON_PLUG_QUICK, 0, 60, -1 }, NULL },
	{ "a rig without end", "expected_cards=65\n", -1, { 0 }, "accepted are 0 to 64" },
	{ "comment of the other kind", "on_plug = off # no tests\n", 0, { ON_PLUG_OFF, 0, 60, -1 }, NULL },
	{ "a comment alone is the default", "max_parallel = # all\n", 0, { ON_PLUG_QUICK, 0, 60, -1 }, NULL },
	{ "a long comment", "# " LONG LONG LONG "\non_plug=off\n", 0, { ON_PLUG_OFF, 0, 60, -1 }, NULL },
	{ "a long comment at the end", "on_plug=off\n# " LONG LONG "max_parallel=2", 0, { ON_PLUG_OFF, 0, 60, -1 }, NULL },
	{ "a long comment behind the value", "on_plug=off ; " LONG LONG LONG "\nmax_parallel=2\n", 0, { ON_PLUG_OFF, 2, 60, -1 }, NULL },
	{ "unknown value", "on_plug=always\n", -1, { 0 }, "on_plug=always: accepted are quick, standard, bind-only, off" },
	{ "unknown key", "on_plugs=off\n", -1, { 0 }, "unknown key 'on_plugs'" },
	{ "inside a section", "[softtape]\non_plug=off\n", -1, { 0 }, "unknown key 'on_plug'" },
	{ "no slot at all", "max_parallel=0\n", -1, { 0 }, "accepted are 1 to 64" },
	{ "too many slots", "max_parallel=65\n", -1, { 0 }, "accepted are 1 to 64" },
	{ "negative", "driver_wait=-1\n", -1, { 0 }, "accepted are 0 to 3600" },
	{ "not a number", "driver_wait=60s\n", -1, { 0 }, "accepted are 0 to 3600" },
	{ "overflow", "driver_wait=99999999999999999999\n", -1, { 0 }, "accepted are 0 to 3600" },
	{ "no equals sign", "on_plug\n", -1, { 0 }, "line 1" },
};

static void test_rows(void **state)
{
	char path[] = "/tmp/softtape-conf-XXXXXX";
	int fd = mkstemp(path);
	size_t i;

	(void)state;
	assert_true(fd >= 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct settings settings = { .max_parallel = 77 };
		char error[256];
		int ret;

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, rows[i].text, strlen(rows[i].text), 0), strlen(rows[i].text));
		ret = settings_read(path, &settings, error, sizeof(error));
		assert_row(!ret == !rows[i].ret, &rows[i]);
		if (ret) {
			assert_row(settings.max_parallel == 77, &rows[i]);
			if (!strstr(error, rows[i].error) || !strstr(error, path))
				fail_msg("row '%s': %s", rows[i].desc, error);
			continue;
		}
		assert_row(settings.on_plug == rows[i].settings.on_plug, &rows[i]);
		assert_row(settings.max_parallel == rows[i].settings.max_parallel, &rows[i]);
		assert_row(settings.driver_wait_s == rows[i].settings.driver_wait_s, &rows[i]);
		assert_row(settings.expected_cards == rows[i].settings.expected_cards, &rows[i]);
	}

	close(fd);
	unlink(path);
}

static void test_missing(void **state)
{
	struct settings settings;
	char error[256];

	(void)state;
	assert_true(settings_read("/nonexistent/softtape.conf", &settings, error, sizeof(error)) < 0);
	assert_string_equal(error, "/nonexistent/softtape.conf: No such file or directory");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
