// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a card's board is as it was sold: power, plugs, memory. The one table of it; a product that is not here is not
 * known. Boards of other makers differ: what NVML says of the card that is there counts more.
 */
#include "board.h"

#include <stddef.h>
#include <string.h>

#include "util.h"

static const struct board boards[] = {
	{ "P102-100", 250, "2x 8-pin", { 5120 }, 10240, "Inno3D's data sheet as quoted in the press; 10 GB: logs of cards in use" },
	{ "P104-100", 180, "1x 8-pin", { 4096 }, 8192,
	  "Gigabyte's announcement; a log of nvidia-smi with a cap of 180 W; 8 GB: AI6-P104-Homelab" },
	{ "P106-100", 120, "1x 6-pin", { 6144 }, 0, "TechPowerUp's data base; logs of nvidia-smi with a cap of 120 W" },
	{ "P106-090", 75, "1x 6-pin", { 3072, 6144 }, 0, "TechPowerUp's data base" },
	{ "CMP 30HX", 125, "1x 8-pin", { 6144 }, 0, "NVIDIA's announcement of the CMP cards" },
	{ "CMP 40HX", 185, "1x 8-pin", { 8192 }, 0, "NVIDIA's announcement; TechPowerUp's data base" },
	{ "CMP 50HX", 250, "2x 8-pin", { 10240 }, 0, "NVIDIA's announcement of the CMP cards" },
	{ "CMP 90HX", 320, "2x 8-pin", { 10240 }, 0, "NVIDIA's announcement of the CMP cards; logs of nvidia-smi show lower caps" },
	{ "CMP 170HX", 250, "1x 8-pin, of the PCIe or of the CPU kind: look", { 8192, 10240 }, 65536,
	  "press reports; logs of nvidia-smi with a cap of 250 W; 64 GB: logs after a firmware unlock" },
};

/**
 * board_find - the row of a product
 * @name:	as in the card list
 *
 * Return: the row, NULL when nothing is known of it.
 */
const struct board *board_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(boards); i++)
		if (!strcmp(boards[i].name, name))
			return &boards[i];
	return NULL;
}
