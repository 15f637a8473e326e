/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Configuration space of the emulated card: text dump in, masked writes out.
 * Knows nothing of sockets, QEMU or logs.
 */
#ifndef SOFTTAPE_BOOT_CONFIG_H
#define SOFTTAPE_BOOT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_SIZE	4096
#define CONFIG_BARS	6

/**
 * struct config - one function's configuration space
 * @now:	what a read returns
 * @power_on:	what a reset brings back
 * @rw:		bits a write can change
 * @w1c:	bits that a written 1 clears
 * @sticky:	bytes whose writes are swallowed, as some boards do
 * @bar_size:	bytes behind each BAR, 0 where there is none
 */
struct config {
	uint8_t now[CONFIG_SIZE];
	uint8_t power_on[CONFIG_SIZE];
	uint8_t rw[CONFIG_SIZE];
	uint8_t w1c[CONFIG_SIZE];
	uint8_t sticky[CONFIG_SIZE];
	uint64_t bar_size[CONFIG_BARS];
};

/*
 * Reads the function at @slot ("01:00.0") from `lspci -x` text, the first NVIDIA
 * one when @slot is NULL. False, with a line on stderr, if there is none.
 */
bool config_load(struct config *cfg, const char *path, const char *slot);

/*
 * One patch of the dump, before the masks are derived: "OFFSET.WIDTH=VALUE", hex,
 * as setpci writes it (80.w=0140), OFFSET may be exp+N (from the PCIe capability).
 */
bool config_set(struct config *cfg, const char *patch);

/* "OFFSET.WIDTH": writes there are swallowed from now on. */
bool config_stick(struct config *cfg, const char *what);

/* Derives masks and BAR sizes from the header and the capability lists. */
void config_derive(struct config *cfg, uint64_t bar1_size);

void config_reset(struct config *cfg);

/* Up to four bytes, little endian. The caller has checked the range. */
uint32_t config_read(const struct config *cfg, unsigned int off, unsigned int len);
void config_write(struct config *cfg, unsigned int off, unsigned int len, uint32_t val);

#endif
