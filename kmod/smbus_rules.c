// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which addresses of a host's SMBus may be held, on which adapters, and the words for what came of it. Pure: no
 * adapter, no I/O.
 */
#include "softtape.h"

/*
 * Where these chips may answer: a BMC's hwmon driver looks for them there [report: an out-of-tree driver]. That any of
 * the cards has its pins B5 and B6 connected is not known.
 */
static const __u8 card_addresses[SOFTTAPE_SMBUS_ADDRESSES] = { 0x4c, 0x4e, 0x4f };

/* What else lives on the bus of a PC and is never ours, whatever the list above says. */
static const struct {
	__u8 first;
	__u8 last;
} forbidden[] = {
	{ 0x00, 0x07 },		/* reserved by the I2C bus (UM10204 3.1.12); 0x08 is the SMBus host */
	{ 0x08, 0x0c },		/* host, smart battery, alert response (SMBus 3.2 appendix C) */
	{ 0x18, 0x1f },		/* DIMM temperature sensors (JEDEC JC-42.4) */
	{ 0x30, 0x37 },		/* DIMM write protection and page select (drivers/misc/eeprom/ee1004.c) */
	{ 0x50, 0x57 },		/* DIMM SPD */
	{ 0x61, 0x61 },		/* SMBus device default address (SMBus 3.2 appendix C) */
	{ 0x78, 0x7f },		/* reserved by the I2C bus */
};

/* SMBIOS 3.7 7.18.2; whatever came after DDR4 has its power management chips on the module. */
#define MEMORY_TYPE_DDR5	0x22

/**
 * softtape_smbus_address - walk the addresses that are held for a card
 * @index:	0 to SOFTTAPE_SMBUS_ADDRESSES - 1
 *
 * Return: the 7-bit address.
 */
__u8 softtape_smbus_address(unsigned int index)
{
	return card_addresses[index];
}

/**
 * softtape_smbus_may_hold - may softtape take this address?
 * @address:	7 bits
 * @ddr5:	the host's memory is DDR5 or newer: 0x48-0x4f are voltage regulators of the modules there (JESD301-1)
 *
 * The one place that decides. Whether the address has an owner already is asked elsewhere.
 */
bool softtape_smbus_may_hold(__u8 address, bool ddr5)
{
	unsigned int i;

	if (ddr5)
		return false;

	for (i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
		if (address >= forbidden[i].first && address <= forbidden[i].last)
			return false;

	for (i = 0; i < SOFTTAPE_SMBUS_ADDRESSES; i++)
		if (card_addresses[i] == address)
			return true;

	return false;
}

/**
 * softtape_smbus_memory_ddr5 - does a kind of memory rule out holding?
 * @type:	Memory Type of an SMBIOS memory device (type 17, offset 12h); 0 = not given
 *
 * Return: true for DDR5 (22h), LPDDR5 (23h) and every later code.
 */
bool softtape_smbus_memory_ddr5(__u8 type)
{
	return type >= MEMORY_TYPE_DDR5;
}

/**
 * softtape_smbus_client_ddr5 - does an I2C client say that the memory is DDR5?
 * @name:	name of the client
 *
 * The hub of every DDR5 module is one (drivers/hwmon/spd5118.c); it counts where SMBIOS says nothing.
 */
bool softtape_smbus_client_ddr5(const char *name)
{
	return !strcmp(name, "spd5118");
}

/**
 * softtape_smbus_main_adapter - is this the bus that a board's slots may be on?
 * @name:	name of an I2C adapter whose parent is an SMBus controller
 *
 * i2c-i801 has one adapter, i2c-piix4 up to five: old chips one without a port and an auxiliary one, newer ones ports
 * 0, 2, 3 and 4 behind a switch (piix4_main_port_names_sb800). Segments of a multiplexer have names of their own.
 */
bool softtape_smbus_main_adapter(const char *name)
{
	static const char *const names[] = {
		"SMBus I801 adapter at ",
		"SMBus PIIX4 adapter at ",
		"SMBus PIIX4 adapter port 0 at ",
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;

	return false;
}

/**
 * softtape_smbus_would - the word behind "would be" of a dry run
 * @policy:	module parameters
 *
 * Return: "awake", "held", or NULL when it is no dry run or nothing was asked for.
 */
const char *softtape_smbus_would(const struct softtape_policy *policy)
{
	if (!policy->dry_run || policy->smbus == SOFTTAPE_SMBUS_OFF)
		return NULL;
	return policy->smbus == SOFTTAPE_SMBUS_HOLD ? "held" : "awake";
}

/* Adds one comma separated item, or nothing when it does not fit. */
static __attribute__((format(printf, 4, 5))) size_t add(char *buf, size_t size, size_t len, const char *format, ...)
{
	size_t comma = len ? 1 : 0;
	va_list args;
	int n;

	if (len + comma >= size)
		return len;

	va_start(args, format);
	n = vsnprintf(buf + len + comma, size - len - comma, format, args);
	va_end(args);
	if (n < 0 || len + comma + n >= size) {
		buf[len] = '\0';
		return len;
	}

	if (comma)
		buf[len] = ',';
	return len + comma + n;
}

static size_t add_held(const struct softtape_smbus *smbus, char *buf, size_t size, size_t len)
{
	unsigned int i;

	for (i = 0; i < SOFTTAPE_SMBUS_ADDRESSES; i++)
		if (smbus->held[i])
			len = add(buf, size, len, "%s0x%02x@i2c-%d", len ? "" : "held:", card_addresses[i],
				  smbus->adapter);

	return len;
}

/* Each owner once. */
static size_t add_owned(const struct softtape_smbus *smbus, char *buf, size_t size, size_t len)
{
	unsigned int i, j;

	for (i = 0; i < SOFTTAPE_SMBUS_ADDRESSES; i++) {
		for (j = 0; j < i; j++)
			if (!strcmp(smbus->owner[i], smbus->owner[j]))
				break;
		if (smbus->owner[i][0] && j == i)
			len = add(buf, size, len, "owned:%s", smbus->owner[i]);
	}

	return len;
}

static const char *word(const struct softtape_policy *policy, const struct softtape_smbus *smbus, unsigned int nr)
{
	bool awake = false, ddr5 = false;
	unsigned int i;

	if (policy->smbus == SOFTTAPE_SMBUS_OFF)
		return "off";
	if (!nr)
		return "no-controller";

	for (i = 0; i < nr; i++) {
		awake |= smbus[i].awake;
		ddr5 |= smbus[i].ddr5;
	}

	if (policy->smbus == SOFTTAPE_SMBUS_HOLD && ddr5 && (awake || policy->dry_run))
		return "refused(ddr5)";
	if (policy->dry_run)
		return "off";
	return awake ? "awake" : "none";
}

/**
 * softtape_smbus_text - the value of the smbus key
 * @policy:	module parameters
 * @smbus:	the controllers
 * @nr:		entries in @smbus
 * @buf:	always terminated when @size is not 0; items that do not fit are left out
 * @size:	bytes in @buf
 *
 * Return: length of the text in @buf.
 */
size_t softtape_smbus_text(const struct softtape_policy *policy, const struct softtape_smbus *smbus, unsigned int nr,
			   char *buf, size_t size)
{
	size_t len = 0;
	unsigned int i;

	if (!size)
		return 0;

	buf[0] = '\0';
	for (i = 0; i < nr; i++)
		len = add_held(&smbus[i], buf, size, len);
	for (i = 0; i < nr; i++)
		len = add_owned(&smbus[i], buf, size, len);

	return len ? len : add(buf, size, 0, "%s", word(policy, smbus, nr));
}
