// SPDX-License-Identifier: GPL-2.0-only
/* Lines of the kernel log that tell of a card's trouble: the driver's Xid and the port's AER. Pure: text in, values out. */
#include "kevent.h"

#include <ctype.h>
#include <string.h>

/**
 * kevent_address - the first address in a line
 * @line:	as "0000:01:00.0", or NVRM's "PCI:0000:01:00" without a function
 * @buf:	filled, empty when there is none
 * @size:	bytes in @buf
 */
void kevent_address(const char *line, char *buf, size_t size)
{
	struct address address;
	char text[ADDRESS_MAX];
	const char *c;
	size_t len;

	buf[0] = '\0';
	for (c = line; *c; c++) {
		if (!isxdigit((unsigned char)*c) || (c > line && (isalnum((unsigned char)c[-1]) || c[-1] == '.')))
			continue;
		len = strspn(c, "0123456789abcdefABCDEF:");
		len -= c[len - 1] == ':';
		/* dddd:bb:dd, as much as an address has at least without its function. */
		if (len < strlen("dddd:bb:dd") || len > strlen("dddddddd:bb:dd"))
			continue;
		if (c[len] == '.' && address_parse_prefix(c, &address)) {
			address_format(&address, buf, size);
			return;
		}
		snprintf(text, sizeof(text), "%.*s.0", (int)len, c);
		if (c[len] != '.' && !address_parse(text, &address)) {
			address_format(&address, buf, size);
			return;
		}
	}
}

/* By what NVIDIA's list of Xid numbers says of the cause; which of them are a program's: its Kubernetes device plugin. */
enum finding_code kevent_xid_code(int xid)
{
	switch (xid) {
	case 79:
		return FINDING_XID_BUS;
	case 48: case 63: case 64: case 92: case 94: case 95:
		return FINDING_XID_MEMORY;
	case 13: case 31: case 43: case 45: case 68: case 109:
		return FINDING_XID_APP;
	default:
		return FINDING_XID;
	}
}

/* "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, GPU has fallen off the bus." */
static bool parse_xid(const char *line, struct kevent *event)
{
	const char *xid = strstr(line, "Xid (");
	unsigned int number;

	xid = xid ? strstr(xid, "): ") : NULL;
	if (!xid || !isdigit((unsigned char)xid[3]) || sscanf(xid + 3, "%9u", &number) != 1)
		return false;

	event->kind = KEVENT_XID;
	event->xid = (int)number;
	event->code = kevent_xid_code((int)number);
	return true;
}

/* drivers/pci/pcie/aer.c:aer_print_error */
static bool parse_aer(const char *line, struct kevent *event)
{
	if (!strstr(line, "PCIe Bus Error: severity="))
		return false;

	event->kind = KEVENT_AER;
	event->corrected = strstr(line, "severity=Correct");
	event->code = event->corrected ? FINDING_AER_STORM : FINDING_AER_FATAL;
	return true;
}

/**
 * kevent_parse - is this such a line
 * @line:	message of the kernel log
 * @ret:	filled when it is
 */
bool kevent_parse(const char *line, struct kevent *ret)
{
	struct kevent event = { .xid = 0 };

	if (!parse_xid(line, &event) && !parse_aer(line, &event))
		return false;
	kevent_address(line, event.bdf, sizeof(event.bdf));
	*ret = event;
	return true;
}
