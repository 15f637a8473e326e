// SPDX-License-Identifier: GPL-2.0-only
/*
 * The check of one card while its machine changes: a driver that comes late, never or cannot; quirks that settle late. The
 * machine is played by umockdev, whose library must be preloaded; CUDA has no part in it (level bind-only).
 */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <fcntl.h>
#include <umockdev.h>
#include <unistd.h>

#include "job.h"

#define CARD_PATH	"/sys/devices/0000:01:00.0"

static char state_dir[] = "/tmp/softtape-job-XXXXXX";

struct machine {
	UMockdevTestbed *bed;
	struct job job;
	int cancel[2];
	pthread_t thread;
};

static void set_attribute(struct machine *machine, const char *name, const char *value)
{
	umockdev_testbed_set_attribute(machine->bed, CARD_PATH, name, value);
}

/* Everything below /sys is umockdev's, so this is its folder, not the machine's. */
static void add_module(struct machine *machine, const char *name, const char *version)
{
	char command[512], *sys = umockdev_testbed_get_sys_dir(machine->bed);

	snprintf(command, sizeof(command), "mkdir -p %s/module/%s && echo %s > %s/module/%s/version", sys, name, version, sys,
		 name);
	assert_int_equal(system(command), 0);
	g_free(sys);
}

/* A P104-100 without a driver, the module's work done, nvidia 550 loaded. */
static int make_machine(void **state)
{
	static const guint8 none[64] = { 0xde, 0x10, 0x87, 0x1b, 0x00, 0x00, 0x00, 0x00, 0xa1, 0x00, 0x02, 0x03 };
	static const struct softtape_policy policy;
	struct machine *machine = calloc(1, sizeof(*machine));
	struct address address = { .bus = 1 };
	char *path;

	machine->bed = umockdev_testbed_new();
	path = umockdev_testbed_add_device(machine->bed, "pci", "0000:01:00.0", NULL, "vendor", "0x10de", "device", "0x1b87",
					   "class", "0x030200", NULL, NULL);
	g_free(path);
	umockdev_testbed_set_attribute_binary(machine->bed, CARD_PATH, "config", (guint8 *)none, sizeof(none));
	set_attribute(machine, "softtape/state", "unchanged\n");
	set_attribute(machine, "softtape/cap", "keep\n");
	add_module(machine, "nvidia", "550.163.01");
	add_module(machine, "softtape", "0");

	assert_int_equal(pipe(machine->cancel), 0);
	assert_int_equal(card_open(&policy, &address, &machine->job.card), 0);
	machine->job.level = LEVEL_BIND_ONLY;
	machine->job.wait_s = 60;
	*state = machine;
	return 0;
}

static int drop_machine(void **state)
{
	struct machine *machine = *state;

	close(machine->cancel[0]);
	close(machine->cancel[1]);
	g_object_unref(machine->bed);
	free(machine);
	return 0;
}

static void *run(void *data)
{
	struct machine *machine = data;

	job_run(&machine->job, machine->cancel[0]);
	return NULL;
}

static const struct phase *last_phase(const struct machine *machine)
{
	const struct outcome *outcome = &machine->job.outcome;

	return outcome->nr_phase ? &outcome->phase[outcome->nr_phase - 1] : NULL;
}

/* Starts the check and waits until it is inside a phase. */
static void start(struct machine *machine, const char *phase)
{
	long long until_ms = util_now_ms() + 20000;

	assert_int_equal(pthread_create(&machine->thread, NULL, run, machine), 0);
	while (!last_phase(machine) || strcmp(last_phase(machine)->name, phase) || strcmp(last_phase(machine)->result, "running")) {
		assert_true(util_now_ms() < until_ms);
		usleep(10000);
	}
}

static void finish(struct machine *machine)
{
	assert_int_equal(pthread_join(machine->thread, NULL), 0);
}

static void expect(const struct machine *machine, enum verdict verdict, unsigned int nr_finding, enum finding_code code)
{
	const struct outcome *outcome = &machine->job.outcome;

	assert_int_equal(outcome->verdict, verdict);
	assert_int_equal(outcome->nr_finding, nr_finding);
	if (nr_finding)
		assert_int_equal(outcome->finding[0].code, code);
}

static void bind_driver(struct machine *machine, const char *name)
{
	char target[128];

	snprintf(target, sizeof(target), "../../bus/pci/drivers/%s", name);
	umockdev_testbed_set_attribute_link(machine->bed, CARD_PATH, "driver", target);
	umockdev_testbed_uevent(machine->bed, CARD_PATH, "bind");
}

static void test_late_driver(void **state)
{
	struct machine *machine = *state;

	start(machine, "driver");
	bind_driver(machine, "nvidia");
	finish(machine);
	expect(machine, VERDICT_PASS, 0, 0);
	assert_int_equal(machine->job.outcome.run, RUN_DONE);
	assert_string_equal(machine->job.card.driver, "nvidia");
}

static void test_late_nouveau(void **state)
{
	struct machine *machine = *state;

	start(machine, "driver");
	bind_driver(machine, "nouveau");
	finish(machine);
	expect(machine, VERDICT_NOT_TESTABLE, 1, FINDING_NOUVEAU);
}

static void test_no_driver(void **state)
{
	struct machine *machine = *state;

	machine->job.wait_s = 1;
	start(machine, "driver");
	finish(machine);
	expect(machine, VERDICT_NOT_TESTABLE, 1, FINDING_NOT_BOUND);
	assert_in_range(machine->job.outcome.phase[0].ms, 1000, 10000);
}

/* What cannot come is said at once, whatever the waiting time. */
static void test_branch(void **state)
{
	struct machine *machine = *state;

	add_module(machine, "nvidia", "595.45.04");
	assert_int_equal(pthread_create(&machine->thread, NULL, run, machine), 0);
	finish(machine);
	expect(machine, VERDICT_NOT_TESTABLE, 1, FINDING_BRANCH);
	assert_true(machine->job.outcome.phase[0].ms < 20000);
}

static void test_lost_while_waiting(void **state)
{
	struct machine *machine = *state;
	guint8 ones[64];

	memset(ones, 0xff, sizeof(ones));
	start(machine, "driver");
	umockdev_testbed_set_attribute_binary(machine->bed, CARD_PATH, "config", ones, sizeof(ones));
	finish(machine);
	expect(machine, VERDICT_LOST, 1, FINDING_OFF_BUS);
}

static void test_late_quirks(void **state)
{
	struct machine *machine = *state;

	set_attribute(machine, "softtape/state", "pending\n");
	bind_driver(machine, "nvidia");
	start(machine, "quirks");
	set_attribute(machine, "softtape/state", "applied\n");
	finish(machine);
	expect(machine, VERDICT_PASS, 0, 0);
	assert_string_equal(machine->job.card.quirk[SOFTTAPE_F_STATE], "applied");
}

static void test_refused_quirks(void **state)
{
	struct machine *machine = *state;

	set_attribute(machine, "softtape/state", "refused\n");
	set_attribute(machine, "softtape/report", "state=refused aspm=l1(refused:firmware) cap=keep\n");
	bind_driver(machine, "nvidia");
	run(machine);
	expect(machine, VERDICT_DEGRADED, 1, FINDING_QUIRKS_REFUSED);
	assert_non_null(strstr(machine->job.outcome.finding[0].evidence, "aspm=l1(refused:firmware)"));
}

static void test_cancel(void **state)
{
	struct machine *machine = *state;

	start(machine, "driver");
	assert_int_equal(write(machine->cancel[1], "x", 1), 1);
	finish(machine);
	assert_int_equal(machine->job.outcome.run, RUN_INTERRUPTED);
	expect(machine, VERDICT_NONE, 1, FINDING_INTERRUPTED);
}

/* Cancelled because the card was pulled. */
static void test_unplug(void **state)
{
	struct machine *machine = *state;

	start(machine, "driver");
	umockdev_testbed_remove_device(machine->bed, CARD_PATH);
	assert_int_equal(write(machine->cancel[1], "x", 1), 1);
	finish(machine);
	expect(machine, VERDICT_LOST, 1, FINDING_OFF_BUS);
}

static void test_locked(void **state)
{
	struct machine *machine = *state;
	int fd = open("/sys/bus/pci/devices/0000:01:00.0/config", O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	run(machine);
	expect(machine, VERDICT_NOT_TESTABLE, 1, FINDING_LOCKED);
	assert_true(machine->job.foreign);
	close(fd);
}

/* Another check began between the card's own test and the copy together: the state file is now that check's. */
static void test_locked_together(void **state)
{
	int fd = open("/sys/bus/pci/devices/0000:01:00.0/config", O_RDONLY);
	struct meeting meeting = { .cards = 2 };
	struct machine *machine = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/0000:01:00.0.json", state_dir);
	unlink(path);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	machine->job.meeting = &meeting;
	machine->job.outcome.verdict = VERDICT_PASS;
	job_together(&machine->job, machine->cancel[0]);
	expect(machine, VERDICT_PASS, 0, 0);
	assert_int_equal(machine->job.outcome.run, RUN_DONE);
	assert_int_equal(meeting.gone, 1);
	assert_int_equal(access(path, F_OK), -1);
	close(fd);
}

int main(void)
{
#define MACHINE_TEST(name) cmocka_unit_test_setup_teardown(name, make_machine, drop_machine)
	static const struct CMUnitTest tests[] = {
		MACHINE_TEST(test_late_driver),
		MACHINE_TEST(test_late_nouveau),
		MACHINE_TEST(test_no_driver),
		MACHINE_TEST(test_branch),
		MACHINE_TEST(test_lost_while_waiting),
		MACHINE_TEST(test_late_quirks),
		MACHINE_TEST(test_refused_quirks),
		MACHINE_TEST(test_cancel),
		MACHINE_TEST(test_unplug),
		MACHINE_TEST(test_locked),
		MACHINE_TEST(test_locked_together),
	};
	UMockdevTestbed *bed = umockdev_testbed_new();
	bool mocked = umockdev_in_mock_environment();
	char command[128];
	int ret;

	g_object_unref(bed);
	if (!mocked || !mkdtemp(state_dir) || setenv("RUNTIME_DIRECTORY", state_dir, 1)) {
		fputs("FAIL job_test: libumockdev-preload.so.0 is not preloaded\n", stderr);
		return 1;
	}

	ret = cmocka_run_group_tests_name("job", tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", state_dir);
	return system(command) ? 1 : ret;
}
