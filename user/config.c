// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bytes of a configuration space as registers. Knows neither sysfs nor lspci. Every offset is checked against the
 * bytes at hand and every list is walked at most as often as it can have members, so any bytes at all may come in.
 */
#include "config.h"

/* As many capabilities as fit between 0x40 and 0xff (drivers/pci/pci.c:PCI_FIND_CAP_TTL). */
#define CAPS_MAX	48
/* An extended capability has at least eight bytes (drivers/pci/pci.c:pci_find_next_ext_capability). */
#define EXT_CAPS_MAX	((CONFIG_SIZE_MAX - PCI_CFG_SPACE_SIZE) / 8)

#define PCI_CFG_SPACE_SIZE 256

static bool has(const struct config *config, size_t pos, size_t bytes)
{
	return config->size >= bytes && pos <= config->size - bytes;
}

static __u16 word(const struct config *config, size_t pos)
{
	return (__u16)(config->byte[pos] | config->byte[pos + 1] << 8);
}

static __u32 dword(const struct config *config, size_t pos)
{
	return word(config, pos) | (__u32)word(config, pos + 2) << 16;
}

/**
 * config_is_gone - nobody answered
 * @config:	at least one byte
 *
 * A read that no device completes gives all ones; ffff is no vendor's id (PCI LB 3.0 6.2.1).
 */
bool config_is_gone(const struct config *config)
{
	return !has(config, PCI_VENDOR_ID, 2) || word(config, PCI_VENDOR_ID) == 0xffff;
}

__u16 config_vendor(const struct config *config)
{
	return word(config, PCI_VENDOR_ID);
}

__u16 config_device(const struct config *config)
{
	return word(config, PCI_DEVICE_ID);
}

__u32 config_class(const struct config *config)
{
	return dword(config, PCI_CLASS_REVISION) >> 8;
}

bool config_is_bridge(const struct config *config)
{
	return (config->byte[PCI_HEADER_TYPE] & 0x7f) == PCI_HEADER_TYPE_BRIDGE;
}

__u8 config_secondary(const struct config *config)
{
	return config->byte[PCI_SECONDARY_BUS];
}

static enum config_flaw find_cap(const struct config *config, __u8 id, size_t *ret_pos)
{
	size_t pos;
	int left;

	*ret_pos = 0;
	if (!has(config, PCI_CAPABILITY_LIST, 1))
		return CONFIG_SHORT;
	if (!(word(config, PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return CONFIG_FINE;

	pos = config->byte[PCI_CAPABILITY_LIST] & ~3u;
	for (left = CAPS_MAX; left; left--) {
		if (pos < 0x40)
			return CONFIG_FINE;
		if (!has(config, pos, 2))
			return CONFIG_SHORT;
		if (config->byte[pos] == 0xff)
			return CONFIG_FINE;
		if (config->byte[pos] == id) {
			*ret_pos = pos;
			return CONFIG_FINE;
		}
		pos = config->byte[pos + 1] & ~3u;
	}

	return CONFIG_LOOP;
}

static enum config_flaw find_ext_cap(const struct config *config, __u16 id, size_t *ret_pos)
{
	size_t pos = PCI_CFG_SPACE_SIZE;
	__u32 header;
	int left;

	*ret_pos = 0;
	for (left = EXT_CAPS_MAX; left; left--) {
		if (!has(config, pos, 4))
			return CONFIG_SHORT;
		header = dword(config, pos);
		/* No list at all reads as zero, or as ones when nobody decodes the space (PCIe r6.0 7.6.1). */
		if (!header || header == 0xffffffff)
			return CONFIG_FINE;
		if (PCI_EXT_CAP_ID(header) == id) {
			*ret_pos = pos;
			return CONFIG_FINE;
		}
		pos = PCI_EXT_CAP_NEXT(header);
		if (pos < PCI_CFG_SPACE_SIZE)
			return CONFIG_FINE;
	}

	return CONFIG_LOOP;
}

static enum config_flaw read_express(const struct config *config, size_t pos, struct softtape_end *end)
{
	__u16 flags;

	if (!has(config, pos, PCI_EXP_LNKSTA + 2))
		return CONFIG_SHORT;

	flags = word(config, pos + PCI_EXP_FLAGS);
	end->version = flags & PCI_EXP_FLAGS_VERS;
	end->type = (flags & PCI_EXP_FLAGS_TYPE) >> 4;
	end->lnkcap = dword(config, pos + PCI_EXP_LNKCAP);
	end->lnkctl = word(config, pos + PCI_EXP_LNKCTL);
	end->lnksta = word(config, pos + PCI_EXP_LNKSTA);

	if (end->version < 2)
		return CONFIG_FINE;
	if (!has(config, pos, PCI_EXP_LNKCTL2 + 2))
		return CONFIG_SHORT;

	end->lnkcap2 = dword(config, pos + PCI_EXP_LNKCAP2);
	end->lnkctl2 = word(config, pos + PCI_EXP_LNKCTL2);
	return CONFIG_FINE;
}

static enum config_flaw read_l1ss(const struct config *config, struct softtape_end *end)
{
	enum config_flaw flaw;
	size_t pos;

	flaw = find_ext_cap(config, PCI_EXT_CAP_ID_L1SS, &pos);
	if (flaw != CONFIG_FINE)
		return flaw;

	if (pos) {
		if (!has(config, pos, PCI_L1SS_CTL1 + 4))
			return CONFIG_SHORT;
		end->l1ss_cap = dword(config, pos + PCI_L1SS_CAP);
		end->l1ss_ctl1 = dword(config, pos + PCI_L1SS_CTL1);
	}

	end->ext_known = true;
	return CONFIG_FINE;
}

/**
 * config_end - find the link registers of one end
 * @config:	at least CONFIG_SIZE_HEADER bytes
 * @ret_end:	filled completely; what could not be found is not known
 *
 * Return: what is wrong with the bytes. Missing extended space alone is no flaw, @ret_end->ext_known says it.
 */
enum config_flaw config_end(const struct config *config, struct softtape_end *ret_end)
{
	struct softtape_end end = { 0 };
	enum config_flaw flaw;
	size_t pos;

	memset(ret_end, 0, sizeof(*ret_end));

	flaw = find_cap(config, PCI_CAP_ID_EXP, &pos);
	if (flaw == CONFIG_FINE && pos)
		flaw = read_express(config, pos, &end);
	if (flaw != CONFIG_FINE)
		return flaw;

	end.known = true;
	if (config->size > PCI_CFG_SPACE_SIZE)
		flaw = read_l1ss(config, &end);

	*ret_end = end;
	return flaw;
}

/**
 * config_is_downstream - is this the upper end of a link?
 * @end:	a known end
 */
bool config_is_downstream(const struct softtape_end *end)
{
	return end->version && (end->type == PCI_EXP_TYPE_ROOT_PORT || end->type == PCI_EXP_TYPE_DOWNSTREAM ||
				end->type == PCI_EXP_TYPE_PCIE_BRIDGE);
}

static void keep(const struct config *config, size_t pos, size_t bytes, __u8 *byte)
{
	if (has(config, pos, 1))
		memcpy(byte + pos, config->byte + pos, has(config, pos, bytes) ? bytes : config->size - pos);
}

/* How much of a capability says what a link, a power state or a counter is; of all others only the place in the list. */
static size_t cap_bytes(__u8 id)
{
	switch (id) {
	case PCI_CAP_ID_PM:
	case PCI_CAP_ID_SSVID:
		return 8;
	case PCI_CAP_ID_MSI:
		return PCI_MSI_ADDRESS_LO;
	case PCI_CAP_ID_EXP:
		return PCI_EXP_SLTSTA2 + 2;
	default:
		return 2;
	}
}

static size_t ext_cap_bytes(__u16 id)
{
	switch (id) {
	case PCI_EXT_CAP_ID_ERR:
		return PCI_ERR_HEADER_LOG;
	case PCI_EXT_CAP_ID_LTR:
	case PCI_EXT_CAP_ID_ACS:
		return 8;
	case PCI_EXT_CAP_ID_L1SS:
		return PCI_L1SS_CTL2 + 4;
	case PCI_EXT_CAP_ID_SECPCI:
		return 12;
	default:
		return 4;
	}
}

/* PCI LB 3.0 Appendix I: VPD is read through a window that still holds what was read last, a serial number perhaps. */
static void wipe_vpd(const struct config *config, __u8 *byte)
{
	size_t pos;

	if (find_cap(config, PCI_CAP_ID_VPD, &pos) == CONFIG_FINE && pos && has(config, pos, 8))
		memset(byte + pos + 2, 0, 6);
}

/* PCIe r6.0 7.9.3: a number that no second device has. */
static void wipe_serial(const struct config *config, __u8 *byte)
{
	size_t pos;

	if (find_ext_cap(config, PCI_EXT_CAP_ID_DSN, &pos) == CONFIG_FINE && pos && has(config, pos, 12))
		memset(byte + pos + 4, 0, 8);
}

/**
 * config_shareable - the registers that may be shown to anybody
 * @config:	at least CONFIG_SIZE_HEADER bytes
 * @ret_byte:	as many bytes as @config has; header and listed capabilities, every other byte is 0
 */
void config_shareable(const struct config *config, __u8 *ret_byte)
{
	size_t pos;
	int left;

	memset(ret_byte, 0, config->size);
	keep(config, 0, CONFIG_SIZE_HEADER, ret_byte);

	pos = word(config, PCI_STATUS) & PCI_STATUS_CAP_LIST ? config->byte[PCI_CAPABILITY_LIST] & ~3u : 0;
	for (left = CAPS_MAX; left && pos >= CONFIG_SIZE_HEADER && has(config, pos, 2); left--) {
		keep(config, pos, cap_bytes(config->byte[pos]), ret_byte);
		pos = config->byte[pos + 1] & ~3u;
	}

	pos = PCI_CFG_SPACE_SIZE;
	for (left = EXT_CAPS_MAX; left && pos >= PCI_CFG_SPACE_SIZE && has(config, pos, 4) && dword(config, pos); left--) {
		keep(config, pos, ext_cap_bytes(PCI_EXT_CAP_ID(dword(config, pos))), ret_byte);
		pos = PCI_EXT_CAP_NEXT(dword(config, pos));
	}

	if (config->size >= PCI_CFG_SPACE_SIZE)
		wipe_vpd(config, ret_byte);
	if (config->size > PCI_CFG_SPACE_SIZE)
		wipe_serial(config, ret_byte);
}
