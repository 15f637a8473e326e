// SPDX-License-Identifier: GPL-2.0-only
/* Lines of the kernel log: whatever is in them, what comes out is an address and a number, or nothing. */
#include <stdlib.h>
#include <string.h>

#include "kevent.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *line = malloc(size + 1);
	struct address address;
	struct kevent event;

	memcpy(line, data, size);
	line[size] = '\0';
	if (kevent_parse(line, &event)) {
		if (event.bdf[0] && address_parse(event.bdf, &address))
			abort();
		if (event.xid < 0 || (event.kind == KEVENT_AER && event.xid))
			abort();
		finding_info(event.code);
	}
	free(line);
	return 0;
}
