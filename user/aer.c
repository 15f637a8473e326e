// SPDX-License-Identifier: GPL-2.0-only
/* Errors that the PCI Express link reported, as the kernel counts them. */
#include "aer.h"

#include <string.h>

/* Last line of a file: "TOTAL_ERR_COR 12" (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats); -1 = no such file. */
static long long read_total(const char *folder, const char *file)
{
	char path[CARD_PATH_MAX + 32], text[4096];
	const char *total;
	long long count;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (util_read(path, text, sizeof(text)))
		return -1;
	total = strstr(text, "TOTAL_ERR_");
	return total && sscanf(total, "%*s %lld", &count) == 1 && count >= 0 ? count : -1;
}

static void add_end(const char *folder, struct aer_counts *counts)
{
	static const struct {
		const char *file;
		size_t member;
	} files[] = {
		{ "aer_dev_correctable", offsetof(struct aer_counts, corrected) },
		{ "aer_dev_nonfatal", offsetof(struct aer_counts, nonfatal) },
		{ "aer_dev_fatal", offsetof(struct aer_counts, fatal) },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		long long *count = (long long *)((char *)counts + files[i].member);
		long long more = read_total(folder, files[i].file);

		if (more >= 0)
			*count = *count < 0 ? more : *count + more;
	}
}

/**
 * aer_read - the errors of a card's link, both ends together
 * @card:	a live card
 * @ret:	filled
 */
void aer_read(const struct card *card, struct aer_counts *ret)
{
	char port[CARD_PATH_MAX];
	char *end;

	*ret = (struct aer_counts){ -1, -1, -1 };
	add_end(card->syspath, ret);
	util_copy(port, sizeof(port), card->syspath);
	end = strrchr(port, '/');
	if (!end || !card->port[0])
		return;
	*end = '\0';
	add_end(port, ret);
}

/* What was counted since @before; in @now, which may miss what was not counted then. */
void aer_since(const struct aer_counts *before, struct aer_counts *now)
{
	now->corrected = before->corrected < 0 || now->corrected < 0 ? -1 : now->corrected - before->corrected;
	now->nonfatal = before->nonfatal < 0 || now->nonfatal < 0 ? -1 : now->nonfatal - before->nonfatal;
	now->fatal = before->fatal < 0 || now->fatal < 0 ? -1 : now->fatal - before->fatal;
}
