// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs in the light guest on the debug kernel: makes each allocation and each access to configuration space fail once.
 *
 * An operation is run with its first, its second, ... allocation failing until it has no more, then the same with the
 * module's accesses to port and card, which fail, or before which the card vanishes. After each the operation is run
 * without a fault and must come to what it came to at the very first.
 *
 *	faults memory|accesses
 *
 * Prints for each operation "OPERATION: N failed, ...", and "bad OPERATION N: REASON" for what is not right; status 1 then.
 *
 * Allocations: /proc/PID/fail-nth counts those of slab memory in one task (Documentation/fault-injection); a system call
 * is made to fail in this process, the module's works in the workers. What failed is read from the kernel's log.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MODULES		"/lib/modules/"
#define BUS		"/sys/devices/pci4b4b:00/pci_bus/4b4b:00/rescan"
#define PORT		"/sys/bus/pci/devices/4b4b:00:00.0"
#define CARD		"/sys/bus/pci/devices/4b4b:01:00.0"
#define AUDIO		"/sys/bus/pci/devices/4b4b:01:00.1"
#define KNOB(_name)	"/sys/module/fakehost/parameters/" _name
#define SLAB(_name)	"/sys/kernel/debug/failslab/" _name
#define CLIENT		"/sys/bus/i2c/devices/0-00"
#define SMBUS		"/sys/bus/pci/drivers/i801_smbus/"
#define CONTROLLER	"0000:00:1f.3"
#define NVIDIA		"/sys/bus/pci/drivers/nvidia/"
#define ADDRESS		"4b4b:01:00.0"

#define PARAMETERS	"speed=gen1 smbus=hold"
#define TEXT_MAX	512

/* An operation that does not end is one that is wrong. */
#define MOST		2000

static const char *operation;
static int number;
static int status;
static char whole[TEXT_MAX];

/**
 * struct count - what the faults of one operation came to
 * @failed:	faults
 * @ours:	of these, with the module's code on the stack
 * @refused:	the operation said no, with an errno
 * @told:	the card is not as without the fault, and the log or its record says why
 * @same:	the card is as without the fault
 */
static struct count {
	int failed, ours, refused, told, same;
} count;

static void bad(const char *what, const char *text)
{
	printf("bad %s %d: %s%s%s\n", operation, number, what, *text ? ": " : "", text);
	fflush(stdout);
	status = 1;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

static void put_number(const char *path, unsigned long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%#lx", value);
	put(path, text);
}

/* The first line of a file; empty when there is none. */
static int get(const char *path, char *line)
{
	int fd = open(path, O_RDONLY), error = 0;
	ssize_t done = -1;

	*line = '\0';
	if (fd < 0)
		return errno;
	done = read(fd, line, TEXT_MAX - 1);
	if (done < 0)
		error = errno;
	close(fd);
	line[done > 0 ? done : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return error;
}

static bool there(const char *path)
{
	return !access(path, F_OK);
}

static int load(const char *name, const char *parameters)
{
	char path[64];
	int fd, error;

	snprintf(path, sizeof(path), MODULES "%s.ko", name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return errno;
	error = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;
	close(fd);
	return error;
}

static int unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

/* --- the kernel's log ------------------------------------------------------------------------------------------- */

static int log_fd;
static bool heard_ours, heard_event;
static char heard[TEXT_MAX];

/*
 * Reads what is new: was the module on the stack of a failure, was it its uevent that failed, and what has it said apart
 * from its usual lines?
 */
static void listen_log(void)
{
	bool event = false;
	char record[8192];
	ssize_t size;

	while ((size = read(log_fd, record, sizeof(record) - 1)) > 0) {
		char *text;

		record[size] = '\0';
		text = strchr(record, ';');
		/* The unwinder is not sure of these. */
		if (!text || strstr(text, " ? "))
			continue;
		if (strstr(text, "[softtape]")) {
			heard_ours = true;
			heard_event |= event;
		}
		event = strstr(text, "kobject_uevent_env");
		text = strstr(text, "softtape: ");
		if (text && !strstr(text, "state=") && !strstr(text, "smbus=") && !*heard)
			snprintf(heard, sizeof(heard), "%.*s", (int)strcspn(text, "\n"), text);
	}
}

/* What follows in the log belongs to this fault. */
static void mark(void)
{
	char text[128];

	listen_log();
	heard_ours = false;
	heard_event = false;
	*heard = '\0';
	snprintf(text, sizeof(text), "fault %s %d\n", operation, number);
	put("/dev/kmsg", text);
}

/* --- the card --------------------------------------------------------------------------------------------------- */

static bool within_ms(int ms, bool (*done)(void))
{
	for (; !done(); ms -= 2) {
		if (ms <= 0)
			return false;
		usleep(2000);
	}
	return true;
}

static bool settled(void)
{
	char line[TEXT_MAX];

	return !get(CARD "/softtape/state", line) && strcmp(line, "pending");
}

static bool smbus_known(void)
{
	char line[TEXT_MAX];

	return !get(CARD "/softtape/smbus", line) && strcmp(line, "none") && strcmp(line, "no-controller");
}

static bool released(void)
{
	return !there(CLIENT "4c") && !there(CLIENT "4e") && !there(CLIENT "4f");
}

/* What is known of the card when it is settled. */
static void look(char *line)
{
	if (there(CARD "/softtape") && within_ms(20000, settled))
		within_ms(2000, smbus_known);
	get(CARD "/softtape/report", line);
}

static unsigned int config16(const char *path, int offset)
{
	unsigned char bytes[2] = { 0xff, 0xff };
	int fd = open(path, O_RDONLY);

	if (pread(fd, bytes, 2, offset) != 2)
		bytes[0] = bytes[1] = 0xff;
	close(fd);
	return bytes[0] | bytes[1] << 8;
}

/* Link Control and Link Control 2 of the simulated port and card. */
static void check_truth(const char *report)
{
	unsigned int card = config16(CARD "/config", 0x88), port = config16(PORT "/config", 0x88);

	if (card == 0xffff)
		return;
	if (strstr(report, "aspm=off") && ((card | port) & 3))
		bad("ASPM is on", report);
	if (strstr(report, "clkpm=off") && card & 0x100)
		bad("Clock PM is on", report);
	if (strstr(report, "cap=gen1") && (config16(PORT "/config", 0xa8) & 15) != 1)
		bad("there is no cap", report);
}

static void go(void)
{
	put(CARD "/remove", "1");
	put(AUDIO "/remove", "1");
	put(KNOB("present"), "0");
	if (!within_ms(10000, released))
		bad("addresses are held without a card", "");
	if ((config16(PORT "/config", 0xa8) & 15) != 3)
		bad("the port's target speed was not given back", "");
}

static int come(void)
{
	put(KNOB("present"), "1");
	return put(BUS, "1");
}

/* As after a power cycle. */
static void replug(void)
{
	go();
	come();
}

/* The card after a fault: as without one, or its record shows what it is, or the log says why there is none. */
static void judge(void)
{
	char report[TEXT_MAX];

	look(report);
	listen_log();
	check_truth(report);
	if (heard_event && !*heard)
		bad("no uevent, and not a word", "");
	if (!strcmp(report, whole)) {
		count.same++;
		return;
	}

	count.told++;
	printf("  %s %d: %s: %s\n", operation, number, *report ? report : "no record", heard);
	if (!*report && !*heard)
		bad("no record, and not a word", "");
}

static bool is_whole(void)
{
	char report[TEXT_MAX];

	look(report);
	return !strcmp(report, whole);
}

static void again(void)
{
	char report[TEXT_MAX];

	if (within_ms(3000, is_whole))
		return;
	look(report);
	bad("the next time, without a fault", *report ? report : "no record");
}

/* --- where a fault may be --------------------------------------------------------------------------------------- */

struct range {
	unsigned long from, to;
};

/*
 * The module's code with the rest of its last page, which may lie elsewhere after each load, and the function that makes
 * kmemleak's own entry for what was just allocated: where that fails the kernel takes another one, and nobody sees it.
 */
static void find_code(struct range *module, struct range *kmemleak)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	unsigned long address;
	char line[TEXT_MAX], name[TEXT_MAX], type;

	memset(module, 0, sizeof(*module));
	memset(kmemleak, 0, sizeof(*kmemleak));
	while (symbols && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%lx %c %s", &address, &type, name) != 3 || !strchr("tT", type))
			continue;
		if (kmemleak->from && address > kmemleak->from && (!kmemleak->to || address < kmemleak->to))
			kmemleak->to = address;
		if (!strcmp(name, "kmemleak_alloc"))
			kmemleak->from = address;
		if (!strstr(line, "\t[softtape]"))
			continue;
		if (!module->from || address < module->from)
			module->from = address;
		if (address >= module->to)
			module->to = (address | 0xfff) + 1;
	}
	if (symbols)
		fclose(symbols);
}

/* @ours: only what the module's code asks for; else every allocation. */
static void aim(bool ours)
{
	struct range module, kmemleak;

	find_code(&module, &kmemleak);
	put_number(SLAB("reject-start"), kmemleak.from);
	put_number(SLAB("reject-end"), kmemleak.to);
	put_number(SLAB("require-start"), ours ? module.from : 0);
	put_number(SLAB("require-end"), ours ? module.to : ~0ul);
	put_number(KNOB("fault_from"), module.from);
	put_number(KNOB("fault_to"), module.to);
}

static int fail_nth(const char *task, int *value)
{
	char path[300], line[TEXT_MAX];
	int error;

	snprintf(path, sizeof(path), "/proc/%s/fail-nth", task);
	if (*value >= 0) {
		snprintf(line, sizeof(line), "%d", *value);
		return put(path, line);
	}
	error = get(path, line);
	*value = atoi(line);
	return error;
}

/*
 * Both of the module's workqueues run in these. Arms them, or with @n = 0 disarms them and tells how many have come to
 * the allocation that fails, and whether any came to one at all.
 */
static int workers(int n, int armed, bool *ret_any)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int hit = 0;

	while ((entry = readdir(proc))) {
		char path[300], name[TEXT_MAX];
		int left = -1;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (!atoi(entry->d_name) || get(path, name) || strncmp(name, "kworker/u", 9))
			continue;
		if (!n && !fail_nth(entry->d_name, &left)) {
			hit += !left;
			*ret_any |= left != armed;
		}
		fail_nth(entry->d_name, &n);
	}
	closedir(proc);
	return hit;
}

/* --- operations ------------------------------------------------------------------------------------------------- */

static void begin(const char *name)
{
	operation = name;
	number = 0;
	memset(&count, 0, sizeof(count));
}

static void end(void)
{
	printf("%s: %d failed, %d inside the module: %d refused, %d told, %d without effect\n", operation, count.failed,
	       count.ours, count.refused, count.told, count.same);
	fflush(stdout);
	if (number > MOST)
		bad("no end", "");
}

static bool tally(bool failed)
{
	listen_log();
	count.failed += failed;
	count.ours += failed && heard_ours;
	return failed;
}

/* One system call of this process with its @number-th allocation failing: was there one? */
static bool task_fault(int (*call)(void), int *ret_error)
{
	int left = -1, off = 0;

	mark();
	fail_nth("thread-self", &number);
	*ret_error = call();
	fail_nth("thread-self", &left);
	fail_nth("thread-self", &off);
	if (*ret_error && left)
		bad("an error without a fault", strerror(*ret_error));
	if (*ret_error && *ret_error != ENOMEM)
		bad("an error that is not of memory", strerror(*ret_error));
	count.refused += *ret_error != 0;
	return tally(!left);
}

static int load_it(void)
{
	return load("softtape", PARAMETERS);
}

static int unload_it(void)
{
	return unload("softtape");
}

static void faults_of_load(void)
{
	bool failed, inside = false;
	int error;

	begin("load");
	do {
		number += inside ? 1 : 10;
		failed = task_fault(load_it, &error);
		if (there("/sys/module/softtape") == !!error)
			bad("there although it failed, or not although it did not", "");
		if (!error) {
			judge();
			unload_it();
		}
		load_it();
		again();
		unload_it();
		/* Of the kernel's own before the module runs one in ten, then all: the first ten of the module's once more. */
		if (heard_ours && !inside) {
			inside = true;
			number -= 10;
		}
	} while (failed && number < MOST);
	end();
}

static void faults_of_arrival(void)
{
	bool failed;
	int error;

	begin("arrival");
	do {
		number++;
		failed = task_fault(come, &error);
		judge();
		go();
		come();
		again();
		go();
	} while (failed && number < MOST);
	end();
}

/* The same for what the workers do after @call. */
static void faults_of_work(const char *name, int (*call)(void), void (*back)(void))
{
	bool any, failed = true;

	begin(name);
	while (failed && number < MOST) {
		number++;
		mark();
		workers(number, 0, NULL);
		call();
		judge();
		any = false;
		failed = tally(workers(0, number, &any));
		back();
		call();
		again();
		back();
		/* All of it was done by a worker that was not there yet. */
		if (!any) {
			number--;
			failed = true;
		}
	}
	end();
}

static int hold(void)
{
	put(SMBUS "unbind", CONTROLLER);
	return put(SMBUS "bind", CONTROLLER);
}

static void nothing(void)
{
}

static const char *file;

static int read_file(void)
{
	char line[TEXT_MAX];

	return get(file, line);
}

static int verify(void)
{
	return put(CARD "/softtape/verify", "1");
}

static void faults_of_call(const char *name, int (*call)(void))
{
	bool failed;
	int error;

	begin(name);
	do {
		number++;
		failed = task_fault(call, &error);
		if (call == unload_it && !error) {
			load_it();
			replug();
		}
		again();
	} while (failed && number < MOST);
	end();
}

static int depart(void)
{
	put(CARD "/remove", "1");
	return 0;
}

static int bind(void)
{
	return put(NVIDIA "bind", ADDRESS);
}

static void unbind(void)
{
	put(NVIDIA "unbind", ADDRESS);
}

static void load_again(void)
{
	load_it();
	replug();
	aim(true);
}

/*
 * Which record is right after an access has failed, or behind a card that has vanished, is the suites' matter; here it
 * must be there, have come to an end, be lost only with a card that is, and not say what the registers deny.
 */
static void judge_access(bool vanished)
{
	char report[TEXT_MAX];

	look(report);
	if (!strcmp(report, whole)) {
		count.same++;
		return;
	}

	count.told++;
	printf("  %s %d: %s\n", operation, number, *report ? report : "no record");
	if (!strncmp(report, "state=lost", 10) != vanished)
		bad("wrong about the card", *report ? report : "no record");
	if (!vanished)
		check_truth(report);
}

/* With the module's first, second, ... access to port or card failing, or the card vanishing before it. */
static void faults_of_access(const char *name, const char *knob, int (*call)(void), void (*back)(void))
{
	bool vanishes = !strcmp(knob, KNOB("vanish_at")), failed;
	char left[TEXT_MAX];

	begin(name);
	do {
		number++;
		mark();
		put_number(knob, number);
		call();
		if (there(CARD) && there("/sys/module/softtape"))
			judge_access(vanishes);
		get(knob, left);
		put(knob, "0");
		failed = !atoi(left);
		heard_ours = true;
		tally(failed);
		if (vanishes && call != come)
			replug();
		back();
		call();
		if (there(CARD "/softtape"))
			again();
		back();
		if (there(CARD "/softtape"))
			again();
	} while (failed && number < MOST);
	end();
}

static void memory(void)
{
	static const char *const files[] = { "card", "state", "aspm", "smbus", "report" };
	char path[64], name[64];
	unsigned int i;

	/* The link states stay off when the module goes, so the first load is not like the others. */
	load_it();
	look(whole);
	unload_it();
	load_it();
	look(whole);
	printf("a load: %s\n", whole);
	unload_it();
	aim(false);
	faults_of_load();

	load_it();
	replug();
	look(whole);
	printf("a card's life: %s\n", whole);
	aim(true);
	go();
	faults_of_arrival();
	faults_of_work("arrival, its work", come, go);
	come();
	again();
	faults_of_work("controller's driver, the work", hold, nothing);

	aim(false);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), CARD "/softtape/%s", files[i]);
		snprintf(name, sizeof(name), "read of %s", files[i]);
		file = path;
		faults_of_call(name, read_file);
	}
	faults_of_call("verify", verify);
	faults_of_call("unload", unload_it);
}

static void accesses(void)
{
	load_it();
	replug();
	look(whole);
	printf("a card's life: %s\n", whole);
	aim(true);
	faults_of_access("verify, an access fails", KNOB("fail_at"), verify, nothing);
	faults_of_access("verify, the card vanishes", KNOB("vanish_at"), verify, nothing);
	faults_of_access("unload, an access fails", KNOB("fail_at"), unload_it, load_again);
	faults_of_access("unload, the card vanishes", KNOB("vanish_at"), unload_it, load_again);
	faults_of_access("departure, an access fails", KNOB("fail_at"), depart, replug);
	faults_of_access("departure, the card vanishes", KNOB("vanish_at"), depart, replug);
	load("nvidia", "resident=1");
	unbind();
	faults_of_access("driver's bind, an access fails", KNOB("fail_at"), bind, unbind);
	faults_of_access("driver's bind, the card vanishes", KNOB("vanish_at"), bind, unbind);
	unload("nvidia");
	go();
	faults_of_access("arrival, an access fails", KNOB("fail_at"), come, go);
	faults_of_access("arrival, the card vanishes", KNOB("vanish_at"), come, go);
}

int main(int argc, char **argv)
{
	log_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	put(SLAB("ignore-gfp-wait"), "N");
	put(SLAB("verbose"), "2");
	if (argc != 2 || load("fakehost", "functions=2 ep_l1ss=0xf port_l1ss=0xf") || load("i2c-smbus", "") ||
	    load("i2c-i801", ""))
		return 2;

	if (!strcmp(argv[1], "memory"))
		memory();
	else
		accesses();

	unload_it();
	unload("i2c_i801");
	unload("i2c_smbus");
	unload("fakehost");
	return status;
}
