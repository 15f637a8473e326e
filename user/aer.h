/* SPDX-License-Identifier: GPL-2.0-only */
/* Errors that the PCI Express link reported, as the kernel counts them. Judges nothing. */
#ifndef AER_H
#define AER_H

#include "card.h"

/**
 * struct aer_counts - errors since the kernel met the devices; -1 = not counted here
 * @corrected:	repaired by the link
 * @nonfatal:	a packet was lost
 * @fatal:	the link itself
 */
struct aer_counts {
	long long corrected;
	long long nonfatal;
	long long fatal;
};

void aer_read(const struct card *card, struct aer_counts *ret);
void aer_since(const struct aer_counts *before, struct aer_counts *now);

#endif
