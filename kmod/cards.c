// SPDX-License-Identifier: GPL-2.0-only
/* Which PCI function is a card: the list, the ids parameter, the skip parameter. Knows no register. */
#include "softtape.h"

#define CARD(_device, _name, _compute, _quirks) \
	{ .device = (_device), .name = (_name), .compute = (_compute), .quirks = (_quirks) },

static const struct softtape_card cards[] = {
#include "card_list.h"
};

#undef CARD

static const struct softtape_card user_added = { .name = "user-added" };

/**
 * softtape_card_at - walk the card list
 * @index:	0 for the first row
 *
 * Return: the row, or NULL behind the last one.
 */
const struct softtape_card *softtape_card_at(unsigned int index)
{
	return index < sizeof(cards) / sizeof(cards[0]) ? &cards[index] : NULL;
}

static bool id_added(const struct softtape_policy *policy, __u16 device)
{
	unsigned int i;

	for (i = 0; i < policy->nr_ids; i++)
		if (policy->ids[i] == device)
			return true;

	return false;
}

/**
 * softtape_card_match - is this PCI function a card?
 * @policy:	for its ids
 * @vendor:	PCI vendor id
 * @device:	PCI device id
 * @class_code:	24-bit class code; the base class must be display, whatever the id
 *
 * A listed id keeps its row when it is named in ids as well. Subsystem ids play no part: offset 0x40 of these chips is
 * a writable alias of them [envytools:docs/hw/bus/pci.rst].
 *
 * Return: the row of the list, the "user-added" row, or NULL for every other function.
 */
const struct softtape_card *softtape_card_match(const struct softtape_policy *policy, __u16 vendor, __u16 device,
						__u32 class_code)
{
	unsigned int i;

	if (vendor != SOFTTAPE_VENDOR_NVIDIA || class_code >> 16 != SOFTTAPE_CLASS_DISPLAY)
		return NULL;

	for (i = 0; i < sizeof(cards) / sizeof(cards[0]); i++)
		if (cards[i].device == device)
			return &cards[i];

	return id_added(policy, device) ? &user_added : NULL;
}

/**
 * softtape_slot_skipped - did the user exclude this slot?
 * @policy:	for its skip entries
 * @address:	domain, bus and device number
 *
 * Return: true when any skip entry names a function of the slot.
 */
bool softtape_slot_skipped(const struct softtape_policy *policy, const struct softtape_address *address)
{
	unsigned int i;

	for (i = 0; i < policy->nr_skip; i++)
		if (policy->skip[i].domain == address->domain && policy->skip[i].bus == address->bus &&
		    policy->skip[i].slot == address->slot)
			return true;

	return false;
}
