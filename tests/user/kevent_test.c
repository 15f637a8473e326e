// SPDX-License-Identifier: GPL-2.0-only
/* Lines of the kernel log, as the driver (470 to 580) and Linux (5.10 to 6.12) print them, and neighbours that are none. */
#include "test.h"

#include "kevent.h"

static const struct {
	const char *desc;
	const char *line;
	bool event;
	enum kevent_kind kind;
	const char *bdf;
	int xid;
	enum finding_code code;
	bool corrected;
} rows[] = {
	{ "off the bus", "NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", true,
	  KEVENT_XID, "0000:01:00.0", 79, FINDING_XID_BUS, false },
	{ "a program's", "NVRM: Xid (PCI:0000:0a:00): 31, pid=4711, name=python3, Ch 00000008, MMU Fault", true,
	  KEVENT_XID, "0000:0a:00.0", 31, FINDING_XID_APP, false },
	{ "memory", "NVRM: Xid (PCI:0001:c1:00): 48, An uncorrectable double bit error (DBE) has been detected", true,
	  KEVENT_XID, "0001:c1:00.0", 48, FINDING_XID_MEMORY, false },
	{ "the card's own", "NVRM: Xid (PCI:0000:01:00): 62, 1d68(3ec4) 00000000 00000000", true,
	  KEVENT_XID, "0000:01:00.0", 62, FINDING_XID, false },
	{ "no number", "NVRM: Xid (PCI:0000:01:00): pid=1", false, 0, NULL, 0, 0, false },
	{ "negative", "NVRM: Xid (PCI:0000:01:00): -3, what", false, 0, NULL, 0, 0, false },
	{ "cut off", "NVRM: Xid (PCI:0000:01:00", false, 0, NULL, 0, 0, false },
	{ "another line of the driver", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01", false, 0, NULL, 0, 0, false },
	{ "repaired, 5.10", "pcieport 0000:00:1c.0: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)", true,
	  KEVENT_AER, "0000:00:1c.0", 0, FINDING_AER_STORM, true },
	{ "repaired, 6.12", "nvidia 0000:01:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)", true,
	  KEVENT_AER, "0000:01:00.0", 0, FINDING_AER_STORM, true },
	{ "lost", "nvidia 0000:01:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)",
	  true, KEVENT_AER, "0000:01:00.0", 0, FINDING_AER_FATAL, false },
	{ "lost, older words", "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Inaccessible", true,
	  KEVENT_AER, "0000:00:1c.0", 0, FINDING_AER_FATAL, false },
	{ "only the report", "pcieport 0000:00:1c.0: AER: Corrected error received: 0000:01:00.0", false, 0, NULL, 0, 0, false },
	{ "nothing", "", false, 0, NULL, 0, 0, false },
};

static void test_rows(void **state)
{
	struct kevent event;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(&event, 0xa5, sizeof(event));
		assert_row(kevent_parse(rows[i].line, &event) == rows[i].event, &rows[i]);
		if (!rows[i].event)
			continue;
		assert_row(event.kind == rows[i].kind, &rows[i]);
		assert_row(!strcmp(event.bdf, rows[i].bdf), &rows[i]);
		assert_row(event.xid == rows[i].xid, &rows[i]);
		assert_row(event.code == rows[i].code, &rows[i]);
		assert_row(event.corrected == rows[i].corrected, &rows[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests_name("kevent", tests, NULL, NULL);
}
