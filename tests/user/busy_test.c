// SPDX-License-Identifier: GPL-2.0-only
/* Who else uses a card, told from a made-up procfs. */
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#include "busy.h"
#include "util.h"

#define BDF	"0000:01:00.0"

static char proc[] = "/tmp/softtape-proc-XXXXXX";

/* A process of this number, name and program that has this file open. */
static void add_process(int pid, const char *comm, const char *exe, const char *file)
{
	char command[512];

	snprintf(command, sizeof(command), "mkdir -p %s/%d/fd && cd %s/%d && echo '%s' > comm && ln -sf '%s' exe && ln -sf %s fd/3",
		 proc, pid, proc, pid, comm, exe, file);
	assert_int_equal(system(command), 0);
}

static void remove_processes(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/[0-9]*", proc);
	assert_int_equal(system(command), 0);
}

/* Text as the driver prints it. */
static int add_card(void **state)
{
	char command[512];

	(void)state;
	snprintf(command, sizeof(command), "mkdir -p %s/driver/nvidia/gpus/" BDF " && printf 'Model: \\t\\t P104-100\\nIRQ:   \\t\\t 33\\n"
		 "Device Minor: \\t 1\\nGPU Excluded:\\t No\\n' > %s/driver/nvidia/gpus/" BDF "/information", proc, proc);
	return system(command);
}

static const struct {
	const char *desc;
	const char *comm;
	const char *exe;
	const char *file;
	const char *who;	/* NULL = nobody */
} rows[] = {
	{ "somebody computes", "python3", "/usr/bin/python3", "/dev/nvidia1", "python3 (pid 4711) has /dev/nvidia1 open" },
	{ "another card's node", "python3", "/usr/bin/python3", "/dev/nvidia0", NULL },
	{ "a longer number", "python3", "/usr/bin/python3", "/dev/nvidia10", NULL },
	{ "the common node", "python3", "/usr/bin/python3", "/dev/nvidiactl", NULL },
	{ "the persistence daemon", "nvidia-persiste", "/usr/bin/nvidia-persistenced", "/dev/nvidia1", NULL },
	{ "our own test of another card", "exe", "/usr/local/bin/softtape", "/dev/nvidia1", NULL },
	{ "the same, replaced meanwhile", "exe", "/usr/local/bin/softtape (deleted)", "/dev/nvidia1", NULL },
	{ "somebody who took our name", "softtape", "/usr/bin/softtaped", "/dev/nvidia1", "softtape (pid 4711) has /dev/nvidia1 open" },
};

static void test_rows(void **state)
{
	char who[256];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		who[0] = '\0';
		remove_processes();
		add_process(1, "init", "/sbin/init", "/dev/null");
		add_process(4711, rows[i].comm, rows[i].exe, rows[i].file);
		assert_row(busy_find(BDF, proc, who, sizeof(who)) == !!rows[i].who, &rows[i]);
		assert_row(!rows[i].who || !strcmp(who, rows[i].who), &rows[i]);
	}
}

static void test_unknown_card(void **state)
{
	char who[256];

	(void)state;
	add_process(4711, "python3", "/usr/bin/python3", "/dev/nvidia1");
	assert_false(busy_find("0000:02:00.0", proc, who, sizeof(who)));
	assert_false(busy_find(BDF, "/nonexistent", who, sizeof(who)));
}

static int remove_proc(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", proc);
	return system(command);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_unknown_card),
	};

	if (!mkdtemp(proc))
		return 1;
	return cmocka_run_group_tests_name("busy", tests, add_card, remove_proc);
}
