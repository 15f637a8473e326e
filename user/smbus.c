// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host's SMBus controllers: driver, who sits at the sensors' addresses, what smbus=hold would come to. Which address
 * may be held is decided where the module decides it (kmod/smbus_rules.c).
 */
#include "smbus.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "host.h"
#include "klog.h"

#define DEVICES		"/sys/bus/pci/devices"
#define SMBIOS_TABLES	"/sys/firmware/dmi/tables/DMI"

/* PCI Code and ID Assignment 1.4: serial bus controller, SMBus */
#define CLASS_SMBUS	0x0c05

/* Enough for every folder below: two names of devices behind DEVICES. */
#define FOLDER_MAX	256

/* SMBIOS 3.7 7.18: Memory Device, offset of Memory Type. */
#define MEMORY_DEVICE		17
#define MEMORY_DEVICE_TYPE	0x12

/* drivers/i2c/busses/i2c-i801.c and i2c-piix4.c, the texts of 5.10 to 7.3 */
static const char *const busy_texts[] = {
	"SMBus is busy, can't use it", "Transaction timeout", "Failed terminating the transaction", "SMBus Timeout!",
	"Failed reset at end of transaction",
};
static const char *const bios_texts[] = { "BIOS is accessing SMBus registers" };

/* Whether the memory is DDR5: ours to find out for all controllers together. */
enum ddr5 { DDR5_UNKNOWN, DDR5_NO, DDR5_YES };

static bool contains_any(const char *line, const char *const *texts, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (strstr(line, texts[i]))
			return true;
	return false;
}

/* i2c-i801 speaks as its PCI device, i2c-piix4 as its adapter. */
static void take_line(const char *line, void *data)
{
	struct smbus *smbus = data;
	unsigned int i;

	for (i = 0; i < smbus->nr; i++) {
		struct smbus_host *host = &smbus->host[i];
		char adapter[24];

		snprintf(adapter, sizeof(adapter), "i2c-%d: ", host->adapter);
		if (!strstr(line, host->bdf) && (host->adapter < 0 || !strstr(line, adapter)))
			continue;
		if (contains_any(line, busy_texts, ARRAY_SIZE(busy_texts)))
			util_copy(host->busy, sizeof(host->busy), line);
		if (contains_any(line, bios_texts, ARRAY_SIZE(bios_texts)))
			util_copy(host->bios, sizeof(host->bios), line);
	}
}

static enum ddr5 memory_of_tables(const unsigned char *table, size_t len)
{
	enum ddr5 found = DDR5_UNKNOWN;
	size_t pos = 0;

	/* SMBIOS 3.7 6.1: type, length, handle; behind the formatted part strings, ended by two zeros. */
	while (pos + 4 <= len && table[pos + 1] >= 4 && pos + table[pos + 1] <= len) {
		const unsigned char *entry = table + pos;

		if (entry[0] == MEMORY_DEVICE && entry[1] > MEMORY_DEVICE_TYPE) {
			if (softtape_smbus_memory_ddr5(entry[MEMORY_DEVICE_TYPE]))
				return DDR5_YES;
			found = DDR5_NO;
		}

		pos += entry[1];
		while (pos + 2 <= len && (table[pos] || table[pos + 1]))
			pos++;
		pos += 2;
	}

	return found;
}

/* The tables are root's alone. */
static enum ddr5 memory(void)
{
	char path[HOST_PATH_MAX];
	unsigned char table[65536];
	size_t len = 0;
	ssize_t n;
	int fd CLEANUP_CLOSE = -1;

	host_path(SMBIOS_TABLES, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* Without SMBIOS the module goes by the clients alone. */
	if (fd < 0)
		return errno == ENOENT ? DDR5_NO : DDR5_UNKNOWN;

	while (len < sizeof(table) && (n = read(fd, table + len, sizeof(table) - len)) > 0)
		len += (size_t)n;
	return memory_of_tables(table, len);
}

/* A controller that is being read, and what belongs to none of its fields. */
struct scan {
	struct smbus_host *host;
	const char *module_says;
	const char *folder;
	char owner[SOFTTAPE_SMBUS_ADDRESSES][SMBUS_NAME_MAX];
	enum ddr5 ddr5;
};

static void read_name(const char *folder, const char *entry, const char *file, char *buf, size_t size)
{
	char path[HOST_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", folder, entry, file);
	if (host_read(path, buf, size))
		buf[0] = '\0';
}

static void read_driver(const char *folder, const char *entry, char *buf, size_t size)
{
	char path[HOST_PATH_MAX], full[HOST_PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s/driver", folder, entry);
	host_path(path, full, sizeof(full));
	if (util_link_name(full, buf, size))
		buf[0] = '\0';
}

static bool module_holds(const struct scan *scan, unsigned int address)
{
	char item[32];
	const char *at;

	snprintf(item, sizeof(item), "0x%02x@i2c-%d", address, scan->host->adapter);
	for (at = strstr(scan->module_says, item); at; at = strstr(at + 1, item))
		if (at[strlen(item)] == ',' || !at[strlen(item)])
			return true;
	return false;
}

static void take_owner(struct scan *scan, const struct smbus_sensor *sensor)
{
	unsigned int i;

	for (i = 0; i < SOFTTAPE_SMBUS_ADDRESSES; i++) {
		if (softtape_smbus_address(i) != sensor->address)
			continue;
		if (module_holds(scan, sensor->address))
			scan->host->held[i] = true;
		else
			util_copy(scan->owner[i], sizeof(scan->owner[i]), sensor->driver[0] ? sensor->driver : sensor->name);
	}
}

static int take_client(const char *name, void *data)
{
	struct scan *scan = data;
	struct smbus_host *host = scan->host;
	struct smbus_sensor sensor;
	char folder[FOLDER_MAX];
	int adapter;

	if (sscanf(name, "%d-%4x", &adapter, &sensor.address) != 2 || adapter != host->adapter)
		return 0;

	snprintf(folder, sizeof(folder), "%s/i2c-%d", scan->folder, host->adapter);
	read_name(folder, name, "name", sensor.name, sizeof(sensor.name));
	read_driver(folder, name, sensor.driver, sizeof(sensor.driver));
	if (softtape_smbus_client_ddr5(sensor.name))
		scan->ddr5 = DDR5_YES;

	take_owner(scan, &sensor);
	if (sensor.address >= SMBUS_SENSOR_FIRST && sensor.address <= SMBUS_SENSOR_LAST &&
	    !module_holds(scan, sensor.address) && host->nr_sensor < ARRAY_SIZE(host->sensor))
		host->sensor[host->nr_sensor++] = sensor;
	return 0;
}

/* Ends the walk at the first main adapter, as the module does. */
static int take_adapter(const char *name, void *data)
{
	struct scan *scan = data;
	char text[SMBUS_NAME_MAX];
	int adapter;

	if (sscanf(name, "i2c-%d", &adapter) != 1)
		return 0;

	read_name(scan->folder, name, "name", text, sizeof(text));
	if (!softtape_smbus_main_adapter(text))
		return 0;

	scan->host->adapter = adapter;
	return 1;
}

static void foresee_hold(struct scan *scan)
{
	const struct softtape_policy policy = { .smbus = SOFTTAPE_SMBUS_HOLD };
	struct softtape_smbus smbus = { .adapter = scan->host->adapter, .awake = true, .ddr5 = scan->ddr5 == DDR5_YES };
	struct smbus_host *host = scan->host;
	unsigned int i;

	if (host->adapter < 0) {
		softtape_smbus_text(&policy, NULL, 0, host->hold, sizeof(host->hold));
		return;
	}
	if (scan->ddr5 == DDR5_UNKNOWN)
		return;

	for (i = 0; i < SOFTTAPE_SMBUS_ADDRESSES; i++) {
		bool may = softtape_smbus_may_hold(softtape_smbus_address(i), smbus.ddr5);

		smbus.held[i] = may && !scan->owner[i][0];
		if (may)
			snprintf(smbus.owner[i], sizeof(smbus.owner[i]), "%.*s", (int)sizeof(smbus.owner[i]) - 1,
				 scan->owner[i]);
	}
	softtape_smbus_text(&policy, &smbus, 1, host->hold, sizeof(host->hold));
}

struct walk {
	const char *module_says;
	struct smbus *smbus;
	enum ddr5 ddr5;
};

static int take_device(const char *name, void *data)
{
	struct walk *walk = data;
	struct smbus *smbus = walk->smbus;
	char text[SMBUS_NAME_MAX], folder[FOLDER_MAX / 2], adapter[FOLDER_MAX];
	struct scan scan = { .module_says = walk->module_says, .folder = folder, .ddr5 = walk->ddr5 };

	read_name(DEVICES, name, "class", text, sizeof(text));
	if (strtoul(text, NULL, 16) >> 8 != CLASS_SMBUS)
		return 0;
	if (smbus->nr == ARRAY_SIZE(smbus->host))
		return 1;

	scan.host = &smbus->host[smbus->nr++];
	scan.host->adapter = -1;
	util_copy(scan.host->bdf, sizeof(scan.host->bdf), name);
	read_driver(DEVICES, name, scan.host->driver, sizeof(scan.host->driver));

	snprintf(folder, sizeof(folder), DEVICES "/%s", name);
	if (host_each(folder, take_adapter, &scan) == 1) {
		snprintf(adapter, sizeof(adapter), "%s/i2c-%d", folder, scan.host->adapter);
		host_each(adapter, take_client, &scan);
	}
	foresee_hold(&scan);
	return 0;
}

/**
 * smbus_read - look at the host's SMBus controllers
 * @module_says: the module's smbus value, "" = not loaded or no card
 * @ret_smbus:	filled
 */
void smbus_read(const char *module_says, struct smbus *ret_smbus)
{
	struct walk walk = { .module_says = module_says, .smbus = ret_smbus };

	memset(ret_smbus, 0, sizeof(*ret_smbus));
	walk.ddr5 = memory();
	ret_smbus->read = true;
	host_each(DEVICES, take_device, &walk);
	ret_smbus->log_read = !klog_each(take_line, ret_smbus);
}
