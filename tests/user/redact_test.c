// SPDX-License-Identifier: GPL-2.0-only
/* What is hidden from a report, each spelling, and what must stay readable. */
#include "test.h"

#include <locale.h>
#include <stdlib.h>

#include "redact.h"

static const struct {
	const char *desc;
	const char *text;
	const char *want;
} rows[] = {
	{ "host name", "rig7 is up", "[host-1] is up" },
	{ "host name, other case, in brackets", "(RIG7)", "([host-1])" },
	{ "host name between signs", "/var/log/rig7-backup_rig7.log", "/var/log/[host-1]-backup_[host-1].log" },
	{ "host name inside a word", "rig77 brig7 rig7x", "rig77 brig7 rig7x" },
	{ "user name", "owner=alice", "owner=[user-1]" },
	{ "user name inside a word", "malice", "malice" },
	{ "MAC as the kernel prints it", "wlan aa:bb:cc:dd:ee:0f up", "wlan [mac-1] up" },
	{ "MAC in capitals", "AA-BB-CC-DD-EE-0F", "[mac-1]" },
	{ "known MAC without separators, inside a word", "Bootaabbccddee0f0000", "Boot[mac-1]0000" },
	{ "known MAC in groups of four", "aabb.ccdd.ee0f", "[mac-1]" },
	{ "MAC that nobody told of, behind a key", "hwaddr=02:42:ac:11:00:02,", "hwaddr=[mac-1]," },
	{ "MAC behind a colon", "mac:02:42:ac:11:00:02", "mac:[mac-1]" },
	{ "longer address", "20:00:00:25:90:ff:fe:12", "[mac-1]" },
	{ "IPv4", "from 192.168.1.20:22", "from [ip-1]:22" },
	{ "IPv4 twice", "10.0.0.1 10.0.0.2 10.0.0.1", "[ip-1] [ip-2] [ip-1]" },
	{ "IPv6", "addr 2001:db8::17 up", "addr [ip-1] up" },
	{ "IPv6 behind a colon", "inet:fe80::1/64", "inet:[ip-1]/64" },
	{ "IPv6 in full", "2001:db8:0:0:0:0:0:17.", "[ip-1]." },
	{ "UUID", "root 0b4ef5e7-6f2a-4b5d-8d1c-0a1b2c3d4e5f", "root [uuid-1]" },
	{ "UUID of a GPU", "GPU-0B4EF5E7-6F2A-4B5D-8D1C-0A1B2C3D4E5F: x", "[uuid-1]: x" },
	{ "machine id", "id 0123456789abcdef0123456789abcdef", "id [machine-id-1]" },
	{ "machine id as UUID", "01234567-89AB-CDEF-0123-456789ABCDEF", "[machine-id-1]" },
	{ "32 digits nobody told of", "x fedcba9876543210fedcba9876543210 y", "x [uuid-1] y" },
	{ "serial of the board", "s/n MB-1234567", "s/n [serial-1]" },
	{ "serial under a key", "Board Serial Number: 0324217060234", "Board Serial Number: [serial-1]" },
	{ "serial in JSON", "\"serial\": \"ABC123\",", "\"serial\": \"[serial-1]\"," },
	{ "SerialNumber of USB", "usb 1-1: SerialNumber: 4C53", "usb 1-1: SerialNumber: [serial-1]" },
	{ "asset tag", "Asset Tag: 4711", "Asset Tag: [serial-1]" },
	{ "home folder", "in /home/bob/secret-project/x.py:3", "in [path-1]:3" },
	{ "home folder of a known user", "'/home/alice/x'", "'[path-1]'" },
	{ "mount", "/run/media/bob/DISK", "[path-1]" },
	{ "folder of one's own", "CC /data/customer/x.c:3", "CC [path-1]:3" },
	{ "behind a compiler's flag", "cc -I/builds/customer/inc -I/usr/src/linux", "cc -I[path-1] -I/usr/src/linux" },
	{ "as a value", "NVreg_TemporaryFilePath=/opt/customer/x", "NVreg_TemporaryFilePath=[path-1]" },
	{ "with a blank, quoted", "in \"/home/bob/My Files/x\" now", "in \"[path-1]\" now" },
	{ "system folders", "/usr/lib/x /var/lib/dkms/softtape /proc/1 /etc/softtape.conf", "/usr/lib/x /var/lib/dkms/softtape /proc/1 /etc/softtape.conf" },
	{ "no path", "N/A 8.0 GT/s and/or x4/x1", "N/A 8.0 GT/s and/or x4/x1" },
	{ "URL", "get ssh://git.customer.example/x?y now", "get ssh://[host-1] now" },
	{ "serial in words", "GPU serial is 0324217060234", "GPU serial is [serial-1]" },
	{ "S/N that nobody told of", "S/N: 4C53", "S/N: [serial-1]" },
	{ "process with commas", "13, pid=1, name=foo,bar, Ch 00000008", "13, pid=1, name=[process-1], Ch 00000008" },
	{ "secret inside a name", "AWS_SECRET_ACCESS_KEY=abc", "AWS_SECRET_ACCESS_KEY=[secret-1]" },
	{ "secret behind an option", "run --password abc --user", "run --password [secret-1] --user" },
	{ "bearer", "Authorization: Bearer abc.def", "Authorization: [secret-1]" },
	{ "with a blank behind a backslash", "/data/My\\ Customer/x y", "[path-1] y" },
	{ "quoted inside of JSON", "\"at \\\"/data/My Customer/x\\\".\"", "\"at \\\"[path-1]\\\".\"" },
	{ "not quite a system folder", "/etcetera/x /usr2 /_x /.x", "[path-1] [path-2] [path-3] [path-4]" },
	{ "markup and awk", "<summary>Log</summary> awk '$2 ~ /^D/'", "<summary>Log</summary> awk '$2 ~ /^D/'" },
	{ "process with comma and blank", "pid=1, name=foo, bar baz, Graphics", "pid=1, name=[process-1], Graphics" },
	{ "process at the end of JSON's text", "\"last: pid=1, name=foo,bar\",", "\"last: pid=1, name=[process-1]\"," },
	{ "process as the log writes other scripts", "pid=1, name=\\xe4\\xb8\\xad\\xe6, bar, Ch 00000008",
	  "pid=1, name=[process-1], Ch 00000008" },
	{ "process of a finding, comma and colon", "\"evidence\": \"foo,b: ar (pid 12) waits\"",
	  "\"evidence\": \"[process-1] (pid 12) waits\"" },
	{ "serial no.", "Serial No.: 0324217", "Serial No.: [serial-1]" },
	{ "secret with signs", "X_TOKEN=a,b;c DB_PASSWORD_2=x", "X_TOKEN=[secret-1] DB_PASSWORD_2=[secret-2]" },
	{ "secret with blanks", "GITHUB_TOKEN=\"a b c\" x", "GITHUB_TOKEN=\"[secret-1]\" x" },
	{ "secret quoted inside of JSON", "\\\"password\\\": \\\"a b\\\",", "\\\"password\\\": \\\"[secret-1]\\\"," },
	{ "secret in words", "the password is abc", "the password is [secret-1]" },
	{ "secret behind a longer option", "run --db-password abc", "run --db-password [secret-1]" },
	{ "authorization of several words", "-H 'Authorization: Digest abc def' x", "-H 'Authorization: [secret-1]' x" },
	{ "bearer alone", "bearer abc x", "bearer [secret-1] x" },
	{ "count of tests", "\"passes\": 3, passed: 4", "\"passes\": 3, passed: 4" },
	{ "basic is a word", "basic test", "basic test" },
	{ "mail", "by bob.b@example.org.", "by [mail-1]" },
	{ "who built a kernel", "(bob@buildbox)", "([mail-1])" },
	{ "process of nouveau's channel", "fifo: CACHE_ERROR - ch 2 [Web Content[812]] subc 0",
	  "fifo: CACHE_ERROR - ch 2 [[process-1][812]] subc 0" },
	{ "process of nouveau's client", "nouveau 0000:01:00.0: train_x[812]: failed to map",
	  "nouveau 0000:01:00.0: [process-1][812]: failed to map" },
	{ "path behind a long flag", "cc -isystem/data/abc/x -o x", "cc -isystem[path-1] -o x" },
	{ "process of an Xid", "13, pid=1234, name=train_x, Graphics", "13, pid=1234, name=[process-1], Graphics" },
	{ "process of a finding", "\"evidence\": \"train my llm (pid 12) waits\"", "\"evidence\": \"[process-1] (pid 12) waits\"" },
	{ "password", "user=x password=hunter2 y", "user=x password=[secret-1] y" },
	{ "passphrase", "passphrase: 'abc'", "passphrase: '[secret-1]'" },
	{ "API key", "API_KEY=abc", "API_KEY=[secret-1]" },
	{ "several on one line", "alice@rig7 10.0.0.1 alice", "[mail-1] [ip-1] [user-1]" },
	{ "lines", "rig7\n\nrig7\n", "[host-1]\n\n[host-1]\n" },
	/* What a report is for. */
	{ "PCI addresses", "0000:01:00.0 10000:e1:00.0 PCI:0000:01:00", "0000:01:00.0 10000:e1:00.0 PCI:0000:01:00" },
	{ "ids", "[10de:1b87] 1043:8804", "[10de:1b87] 1043:8804" },
	{ "driver version", "550.163.01 535.274.02", "550.163.01 535.274.02" },
	{ "VBIOS", "86.04.50.00.72 90.16.20.40.7e", "86.04.50.00.72 90.16.20.40.7e" },
	{ "kernel", "6.1.0-57-cloud-amd64 6.12.41+deb13-amd64", "6.1.0-57-cloud-amd64 6.12.41+deb13-amd64" },
	{ "registers", "60: 01 68 03 00 0x00000000f9000000 0040200", "60: 01 68 03 00 0x00000000f9000000 0040200" },
	{ "unit of a card", "softtape@0000:01:00.0.service", "softtape@0000:01:00.0.service" },
	{ "a time", "12:34:56", "12:34:56" },
	{ "key was rejected", "Loading of module with unavailable key is rejected", "Loading of module with unavailable key is rejected" },
	{ "serial port", "serial8250: ttyS0 at I/O", "serial8250: ttyS0 at I/O" },
	{ "speed", "2.5GT/s,x1(max 2.5GT/s,x4)", "2.5GT/s,x1(max 2.5GT/s,x4)" },
	{ "log line of the module", "softtape: P104-100 [10de:1b87]: state=applied aspm=off(was l0s+l1)",
	  "softtape: P104-100 [10de:1b87]: state=applied aspm=off(was l0s+l1)" },
};

static struct redact *known_values(void)
{
	struct redact *redact = redact_new();

	redact_add(redact, REDACT_HOST, "rig7");
	redact_add(redact, REDACT_USER, "alice");
	redact_add(redact, REDACT_MAC, "aa:bb:cc:dd:ee:0f");
	redact_add(redact, REDACT_MACHINE, "0123456789abcdef0123456789abcdef");
	redact_add(redact, REDACT_SERIAL, "MB-1234567");
	return redact;
}

static void test_rows(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct redact *redact = known_values();
		char *text = redact_text(redact, rows[i].text);

		if (strcmp(text, rows[i].want))
			fail_msg("%s: '%s', wanted '%s'", rows[i].desc, text, rows[i].want);
		free(text);
		redact_free(redact);
	}
}

/* Names that every second machine has would only make the report unreadable. */
static void test_common(void **state)
{
	static const char *const words[] = { "localhost", "debian", "nvidia", "softtape", "x", "Default string", "" };
	struct redact *redact = redact_new();
	char *text;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		redact_add(redact, REDACT_HOST, words[i]);
		redact_add(redact, REDACT_SERIAL, words[i]);
	}
	redact_add(redact, REDACT_MAC, "00:00:00:00:00:00");

	text = redact_text(redact, "localhost debian nvidia softtape x Default string 000000000000");
	assert_string_equal(text, "localhost debian nvidia softtape x Default string 000000000000");
	free(text);
	redact_free(redact);
}

/* One value has one token in all texts, and is counted once. */
static void test_tokens(void **state)
{
	struct redact *redact = known_values();
	char *first = redact_text(redact, "10.1.1.1 10.1.1.2"), *second = redact_text(redact, "10.1.1.2 10.1.1.3");

	(void)state;
	assert_string_equal(first, "[ip-1] [ip-2]");
	assert_string_equal(second, "[ip-2] [ip-3]");
	assert_int_equal(redact_count(redact, REDACT_IP), 3);
	assert_int_equal(redact_count(redact, REDACT_HOST), 0);
	free(first);
	free(second);
	redact_free(redact);
}

/* A name that is also a token's word does not eat tokens. */
/* Names of an older age: a byte that is no UTF-8 neither ends what is to be hidden nor gets into a JSON document. */
static void test_not_utf8(void **state)
{
	struct redact *redact;
	char *text;

	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	redact = redact_new();
	redact_add(redact, REDACT_USER, "J\xf6rg");
	text = redact_text(redact, "/data/K\xf6ln/customer.txt of J\xf6rg, password=x\xff\xfey \xae\n");
	setlocale(LC_CTYPE, "C");
	assert_string_equal(text, "[path-1] of [user-1], password=[secret-1] ?\n");
	free(text);
	redact_free(redact);
}

static void test_token_word(void **state)
{
	struct redact *redact = redact_new();
	char *text;

	(void)state;
	redact_add(redact, REDACT_USER, "mac");
	text = redact_text(redact, "aa:bb:cc:dd:ee:0f mac");
	assert_string_equal(text, "[mac-1] [user-1]");
	free(text);
	redact_free(redact);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_common),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_not_utf8),
		cmocka_unit_test(test_token_word),
	};

	return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
