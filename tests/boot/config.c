// SPDX-License-Identifier: GPL-2.0-only
/*
 * Configuration space of the emulated card: text dump in, masked writes out.
 * Register layout is PCIe r6.0 chapter 7 by way of linux/pci_regs.h.
 */
#include <ctype.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#define NVIDIA	0x10de
#define MIB	(1024u * 1024u)

static unsigned int get16(const uint8_t *space, unsigned int off)
{
	return space[off] | space[off + 1] << 8;
}

static uint32_t get32(const uint8_t *space, unsigned int off)
{
	return get16(space, off) | (uint32_t)get16(space, off + 2) << 16;
}

static void put(uint8_t *space, unsigned int off, unsigned int len, uint32_t val)
{
	while (len--) {
		space[off++] = val;
		val >>= 8;
	}
}

/* "01:00.0 ..." or "0000:01:00.0 ...": the length of the address, else 0. */
static int slot_length(const char *line)
{
	unsigned int domain, bus, dev, fn;
	int n = 0;

	if (sscanf(line, "%4x:%2x:%2x.%1x%n", &domain, &bus, &dev, &fn, &n) == 4 && n == 12)
		return n;
	if (sscanf(line, "%2x:%2x.%1x%n", &bus, &dev, &fn, &n) == 3 && n == 7)
		return n;
	return 0;
}

/* "80: 36 29 ..." into @space; anything else is left alone. */
static void take_row(uint8_t *space, const char *line)
{
	unsigned int off, byte;
	int n;

	if (sscanf(line, "%3x:%n", &off, &n) != 1 || !isspace(line[n]) || off % 16)
		return;
	for (unsigned int i = 0; i < 16 && off + i < CONFIG_SIZE; i++) {
		int used;

		if (sscanf(line + n, " %2x%n", &byte, &used) != 1)
			return;
		space[off + i] = byte;
		n += used;
	}
}

bool config_load(struct config *cfg, const char *path, const char *slot)
{
	FILE *file = fopen(path, "re");
	bool wanted = false, found = false;
	char line[512];

	if (!file) {
		perror(path);
		return false;
	}

	memset(cfg, 0, sizeof(*cfg));
	while (fgets(line, sizeof(line), file)) {
		int n = slot_length(line);

		if (n) {
			const char *shown = n == 12 ? line + 5 : line;

			if (found && get16(cfg->now, PCI_VENDOR_ID) == NVIDIA)
				break;
			memset(cfg->now, 0, sizeof(cfg->now));
			wanted = !slot || !strncmp(slot, shown, 7) || !strncmp(slot, line, n);
			found = wanted;
		} else if (wanted) {
			take_row(cfg->now, line);
		}
	}
	fclose(file);

	if (!found || get16(cfg->now, PCI_VENDOR_ID) != NVIDIA) {
		fprintf(stderr, "%s: no NVIDIA function %s\n", path, slot ? slot : "in it");
		return false;
	}
	return true;
}

/* Offset of a capability in the classic list, 0 if absent or the list loops. */
static unsigned int find_cap(const uint8_t *space, unsigned int id)
{
	unsigned int pos = space[PCI_CAPABILITY_LIST];

	if (!(get16(space, PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return 0;
	for (int left = 48; pos >= 0x40 && left; left--, pos = space[pos + 1])
		if (space[pos] == id)
			return pos;
	return 0;
}

/* "OFFSET.WIDTH", the end of it in @end. */
static bool parse_place(const struct config *cfg, const char *text, unsigned int *off,
			unsigned int *len, char **end)
{
	unsigned int base = 0;

	if (!strncmp(text, "exp+", 4)) {
		base = find_cap(cfg->now, PCI_CAP_ID_EXP);
		text += 4;
	}
	*off = base + strtoul(text, end, 16);
	if (**end != '.' || !(*end)[1])
		return false;
	*len = (*end)[1] == 'l' ? 4 : (*end)[1] == 'w' ? 2 : 1;
	*end += 2;
	return *off + *len <= CONFIG_SIZE;
}

bool config_set(struct config *cfg, const char *patch)
{
	unsigned int off, len;
	char *end;

	if (!parse_place(cfg, patch, &off, &len, &end) || *end != '=')
		return false;
	put(cfg->now, off, len, strtoul(end + 1, &end, 16));
	return !*end;
}

bool config_stick(struct config *cfg, const char *what)
{
	unsigned int off, len;
	char *end;

	if (!parse_place(cfg, what, &off, &len, &end) || *end)
		return false;
	memset(cfg->sticky + off, 0xff, len);
	return true;
}

/*
 * Sizes as lspci shows them on Pascal and Turing boards: BAR0 16 MiB registers,
 * BAR1 the window into VRAM, BAR3 32 MiB, BAR5 128 I/O ports.
 */
static void derive_bars(struct config *cfg, uint64_t bar1_size)
{
	static const uint64_t sizes[CONFIG_BARS] = { 16 * MIB, 0, 0, 32 * MIB, 0, 128 };

	for (int i = 0; i < CONFIG_BARS; i++) {
		unsigned int off = PCI_BASE_ADDRESS_0 + 4 * i;
		uint32_t bar = get32(cfg->now, off);
		uint64_t mask;

		if (!bar)
			continue;
		cfg->bar_size[i] = i == 1 ? bar1_size : sizes[i];
		mask = ~(cfg->bar_size[i] - 1);
		put(cfg->rw, off, 4, mask);
		/* No firmware has been here: BARs come up unassigned. */
		put(cfg->now, off, 4, bar & (bar & PCI_BASE_ADDRESS_SPACE_IO ? 0x3 : 0xf));
		if ((bar & 0x7) == PCI_BASE_ADDRESS_MEM_TYPE_64) {
			put(cfg->rw, off + 4, 4, mask >> 32);
			put(cfg->now, off + 4, 4, 0);
			i++;
		}
	}
}

static void derive_express(struct config *cfg, unsigned int pos)
{
	bool v2 = (get16(cfg->now, pos + PCI_EXP_FLAGS) & PCI_EXP_FLAGS_VERS) >= 2;
	unsigned int lnkctl = PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC |
			      PCI_EXP_LNKCTL_ES | PCI_EXP_LNKCTL_HAWD;

	if (get32(cfg->now, pos + PCI_EXP_LNKCAP) & PCI_EXP_LNKCAP_CLKPM)
		lnkctl |= PCI_EXP_LNKCTL_CLKREQ_EN;

	put(cfg->rw, pos + PCI_EXP_DEVCTL, 2, 0x7fff);
	put(cfg->w1c, pos + PCI_EXP_DEVSTA, 2, 0x000f);
	put(cfg->rw, pos + PCI_EXP_LNKCTL, 2, lnkctl);
	if (!v2)
		return;
	put(cfg->rw, pos + PCI_EXP_DEVCTL2, 2, 0x7fff);
	put(cfg->rw, pos + PCI_EXP_LNKCTL2, 2, 0xffff);
	put(cfg->w1c, pos + PCI_EXP_LNKSTA2, 2, 0x0020);
}

static void derive_msi(struct config *cfg, unsigned int pos)
{
	unsigned int flags = get16(cfg->now, pos + PCI_MSI_FLAGS);
	bool wide = flags & PCI_MSI_FLAGS_64BIT;

	put(cfg->rw, pos + PCI_MSI_FLAGS, 2, PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE);
	put(cfg->rw, pos + PCI_MSI_ADDRESS_LO, 4, 0xfffffffc);
	if (wide)
		put(cfg->rw, pos + PCI_MSI_ADDRESS_HI, 4, 0xffffffff);
	put(cfg->rw, pos + (wide ? PCI_MSI_DATA_64 : PCI_MSI_DATA_32), 2, 0xffff);
	if (flags & PCI_MSI_FLAGS_MASKBIT)
		put(cfg->rw, pos + (wide ? PCI_MSI_MASK_64 : PCI_MSI_MASK_32), 4, 0xffffffff);
}

static void derive_extended(struct config *cfg)
{
	unsigned int pos = PCI_CFG_SPACE_SIZE;

	for (int left = 60; pos >= PCI_CFG_SPACE_SIZE && left; left--) {
		uint32_t head = get32(cfg->now, pos);

		switch (PCI_EXT_CAP_ID(head)) {
		case PCI_EXT_CAP_ID_ERR:
			put(cfg->w1c, pos + PCI_ERR_UNCOR_STATUS, 4, 0x07fff030);
			put(cfg->rw, pos + PCI_ERR_UNCOR_MASK, 4, 0x07fff030);
			put(cfg->rw, pos + PCI_ERR_UNCOR_SEVER, 4, 0x07fff030);
			put(cfg->w1c, pos + PCI_ERR_COR_STATUS, 4, 0x0000f1c1);
			put(cfg->rw, pos + PCI_ERR_COR_MASK, 4, 0x0000f1c1);
			put(cfg->rw, pos + PCI_ERR_CAP, 4, PCI_ERR_CAP_ECRC_GENE | PCI_ERR_CAP_ECRC_CHKE);
			break;
		case PCI_EXT_CAP_ID_L1SS:
			put(cfg->rw, pos + PCI_L1SS_CTL1, 4, 0xe3ffff0f);
			put(cfg->rw, pos + PCI_L1SS_CTL2, 4, 0x000000fb);
			break;
		case PCI_EXT_CAP_ID_LTR:
			put(cfg->rw, pos + PCI_LTR_MAX_SNOOP_LAT, 4, 0x1fff1fff);
			break;
		}
		pos = PCI_EXT_CAP_NEXT(head);
	}
}

void config_derive(struct config *cfg, uint64_t bar1_size)
{
	unsigned int pos;

	put(cfg->rw, PCI_COMMAND, 2, PCI_COMMAND_IO | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
	    PCI_COMMAND_PARITY | PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
	put(cfg->w1c, PCI_STATUS, 2, 0xf900);
	cfg->rw[PCI_CACHE_LINE_SIZE] = 0xff;
	cfg->rw[PCI_INTERRUPT_LINE] = 0xff;
	derive_bars(cfg, bar1_size);
	/* A driver had switched the card on before the dump was taken. */
	put(cfg->now, PCI_COMMAND, 2, 0);

	pos = find_cap(cfg->now, PCI_CAP_ID_PM);
	if (pos) {
		put(cfg->rw, pos + PCI_PM_CTRL, 2, PCI_PM_CTRL_STATE_MASK | PCI_PM_CTRL_PME_ENABLE);
		put(cfg->w1c, pos + PCI_PM_CTRL, 2, PCI_PM_CTRL_PME_STATUS);
	}
	pos = find_cap(cfg->now, PCI_CAP_ID_MSI);
	if (pos)
		derive_msi(cfg, pos);
	pos = find_cap(cfg->now, PCI_CAP_ID_MSIX);
	if (pos)
		put(cfg->rw, pos + PCI_MSIX_FLAGS, 2, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	pos = find_cap(cfg->now, PCI_CAP_ID_EXP);
	if (pos)
		derive_express(cfg, pos);
	derive_extended(cfg);

	memcpy(cfg->power_on, cfg->now, sizeof(cfg->now));
}

void config_reset(struct config *cfg)
{
	memcpy(cfg->now, cfg->power_on, sizeof(cfg->now));
}

uint32_t config_read(const struct config *cfg, unsigned int off, unsigned int len)
{
	uint32_t val = 0;

	while (len--)
		val = val << 8 | cfg->now[off + len];
	return val;
}

void config_write(struct config *cfg, unsigned int off, unsigned int len, uint32_t val)
{
	for (; len--; off++, val >>= 8) {
		uint8_t rw = cfg->rw[off] & ~cfg->sticky[off];

		cfg->now[off] = (cfg->now[off] & ~rw) | (val & rw);
		cfg->now[off] &= ~(val & cfg->w1c[off]);
	}
}
