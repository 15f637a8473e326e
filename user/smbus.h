/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's SMBus controllers as sysfs, SMBIOS and the kernel log show them. Nothing is sent on a bus. */
#ifndef SMBUS_H
#define SMBUS_H

#include "../kmod/softtape.h"
#include "util.h"

#define SMBUS_HOSTS_MAX		8
#define SMBUS_NAME_MAX		48
#define SMBUS_LINE_MAX		160

/* Where sensors sit, and where a card may answer. */
#define SMBUS_SENSOR_FIRST	0x48
#define SMBUS_SENSOR_LAST	0x4f
#define SMBUS_SENSORS_MAX	(SMBUS_SENSOR_LAST - SMBUS_SENSOR_FIRST + 1)

/**
 * struct smbus_sensor - somebody at a sensor's address who is not softtape
 * @address:	7 bits
 * @name:	name of the I2C client
 * @driver:	its driver, empty = none
 */
struct smbus_sensor {
	unsigned int address;
	char name[SMBUS_NAME_MAX];
	char driver[SMBUS_NAME_MAX];
};

/**
 * struct smbus_host - one controller
 * @bdf:	its PCI address
 * @driver:	its driver, empty = none
 * @adapter:	N of its main adapter i2c-N, -1 = none of a known kind
 * @held:	per address of softtape_smbus_address(): held by the module
 * @sensor:	others at 0x48-0x4f, in the order of addresses
 * @nr_sensor:	their number
 * @busy:	last line of the kernel log about a bus that is stuck, empty = none
 * @bios:	last line about firmware that uses the controller, empty = none
 * @hold:	what smbus=hold comes to here, in the words of the log line; empty = unknown
 */
struct smbus_host {
	char bdf[ADDRESS_MAX];
	char driver[SMBUS_NAME_MAX];
	int adapter;
	bool held[SOFTTAPE_SMBUS_ADDRESSES];
	struct smbus_sensor sensor[SMBUS_SENSORS_MAX];
	unsigned int nr_sensor;
	char busy[SMBUS_LINE_MAX];
	char bios[SMBUS_LINE_MAX];
	char hold[SOFTTAPE_SMBUS_TEXT_MAX];
};

/**
 * struct smbus - all controllers
 * @read:	they were looked for
 * @log_read:	the kernel log could be read
 * @host:	the controllers, in the order of addresses
 * @nr:		their number
 */
struct smbus {
	bool read;
	bool log_read;
	struct smbus_host host[SMBUS_HOSTS_MAX];
	unsigned int nr;
};

void smbus_read(const char *module_says, struct smbus *ret_smbus);

#endif
