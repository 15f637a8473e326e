// SPDX-License-Identifier: GPL-2.0-only
/* Text of lspci -xxxx: its devices' config spaces through the reader of registers, as `softtape plan -F` does. */
#include <stdlib.h>

#include "card.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const struct softtape_policy policy;
	struct finding_list findings = { 0 };
	struct card_list list = { 0 };
	struct dump dump = { 0 };
	FILE *file = size ? fmemopen((void *)data, size, "r") : NULL;

	if (!file)
		return 0;
	if (!dump_read(file, &dump)) {
		card_from_dump(&policy, &dump, &list, &findings);
		for (size_t i = 0; i < dump.nr; i++) {
			struct config config = dump_config(&dump.device[i]);
			struct softtape_end end;

			if (config.size > CONFIG_SIZE_MAX)
				abort();
			config_end(&config, &end);
		}
		card_list_free(&list);
		finding_free(&findings);
		dump_free(&dump);
	}
	fclose(file);
	return 0;
}
