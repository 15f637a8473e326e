/* SPDX-License-Identifier: GPL-2.0-only */
/* The bytes of a configuration space as registers. Knows neither sysfs nor lspci. */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "../kmod/softtape.h"

#define CONFIG_SIZE_MAX	4096

/* Up to here anybody may read (drivers/pci/pci-sysfs.c:pci_read_config). */
#define CONFIG_SIZE_HEADER 64

/**
 * struct config - a configuration space as read
 * @byte:	the bytes
 * @size:	valid bytes from the start, 0 to CONFIG_SIZE_MAX
 */
struct config {
	const __u8 *byte;
	size_t size;
};

/**
 * enum config_flaw - what kept the registers of one end from being found
 * @CONFIG_FINE:	nothing
 * @CONFIG_SHORT:	the bytes end before the registers do
 * @CONFIG_LOOP:	a capability list runs in a circle
 */
enum config_flaw { CONFIG_FINE, CONFIG_SHORT, CONFIG_LOOP };

bool config_is_gone(const struct config *config);
__u16 config_vendor(const struct config *config);
__u16 config_device(const struct config *config);
__u32 config_class(const struct config *config);
bool config_is_bridge(const struct config *config);
__u8 config_secondary(const struct config *config);
enum config_flaw config_end(const struct config *config, struct softtape_end *ret_end);
bool config_is_downstream(const struct softtape_end *end);
void config_shareable(const struct config *config, __u8 *ret_byte);

#endif
