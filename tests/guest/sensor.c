// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sensor driver for the tests: of the hwmon class, detects itself at 0x48-0x4f on whatever answers there, and binds.
 * What lm75 and lm90 do, without wanting the registers of a chip that QEMU does not have.
 */
#include <linux/i2c.h>
#include <linux/module.h>
#include <linux/version.h>

static const unsigned short addresses[] = { 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, I2C_CLIENT_END };

static int sensor_detect(struct i2c_client *client, struct i2c_board_info *info)
{
	if (i2c_smbus_read_byte_data(client, 1) < 0)
		return -ENODEV;

	strscpy(info->type, "sensor", I2C_NAME_SIZE);
	return 0;
}

static int sensor_probe(struct i2c_client *client)
{
	dev_info(&client->dev, "simulated sensor\n");
	return 0;
}

static const struct i2c_device_id ids[] = {
	{ "sensor" },
	{ }
};
MODULE_DEVICE_TABLE(i2c, ids);

static struct i2c_driver sensor_driver = {
	.class = I2C_CLASS_HWMON,
	.driver = { .name = "sensor_driver" },
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	.probe_new = sensor_probe,
#else
	.probe = sensor_probe,
#endif
	.id_table = ids,
	.detect = sensor_detect,
	.address_list = addresses,
};
module_i2c_driver(sensor_driver);

MODULE_DESCRIPTION("simulated sensor driver");
MODULE_AUTHOR("The softtape authors");
MODULE_LICENSE("GPL");
