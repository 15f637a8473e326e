// SPDX-License-Identifier: GPL-2.0-only
/* A simulated SMBus controller on the simulated host bridge: its driver, its adapter, what is held and given back. */
#include <linux/i2c.h>
#include <linux/pci.h>
#include <linux/workqueue.h>

/* Number of the step of softtape_smbus_init() that fails. */
static int failing;

static struct workqueue_struct *usual_workqueue(const char *name, unsigned int flags)
{
	return alloc_ordered_workqueue("%s", flags, name);
}

#undef alloc_ordered_workqueue
#define alloc_ordered_workqueue(_name, _flags) (failing == 1 ? NULL : usual_workqueue(_name, _flags))
#define bus_register_notifier(_bus, _nb) \
	(failing == ((_bus) == &pci_bus_type ? 2 : 3) ? -EINVAL : bus_register_notifier(_bus, _nb))
#include "../../kmod/smbus.c"
#undef bus_register_notifier

#include "fakehost.h"
#include "suites.h"

static s32 no_transfer(struct i2c_adapter *adapter, u16 addr, unsigned short flags, char read_write, u8 command,
		       int size, union i2c_smbus_data *data)
{
	return -ENXIO;
}

static u32 smbus_only(struct i2c_adapter *adapter)
{
	return I2C_FUNC_SMBUS_BYTE_DATA;
}

static const struct i2c_algorithm algorithm = { .smbus_xfer = no_transfer, .functionality = smbus_only };
static struct i2c_adapter *adapter;

static int controller_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int ret;

	adapter = kzalloc(sizeof(*adapter), GFP_KERNEL);
	if (!adapter)
		return -ENOMEM;

	adapter->owner = THIS_MODULE;
	adapter->algo = &algorithm;
	adapter->dev.parent = &pdev->dev;
	strscpy(adapter->name, "SMBus I801 adapter at 0700", sizeof(adapter->name));
	ret = i2c_add_adapter(adapter);
	if (ret)
		kfree(adapter);
	return ret;
}

static void controller_remove(struct pci_dev *pdev)
{
	i2c_del_adapter(adapter);
	kfree(adapter);
}

static const struct pci_device_id controller_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0x1b87) },
	{ }
};

static struct pci_driver controller_driver = {
	.name = "softtape-kunit-smbus",
	.id_table = controller_ids,
	.probe = controller_probe,
	.remove = controller_remove,
};

void smbus_fresh(void)
{
	closing = false;
	cards = 0;
	workqueue = NULL;
}

static void controller_start(struct kunit *test)
{
	fakehost_knobs.ep_vendor = PCI_VENDOR_ID_INTEL;
	fakehost_knobs.ep_class = PCI_CLASS_SERIAL_SMBUS << 8;
	host_start(test);
	KUNIT_ASSERT_EQ(test, pci_register_driver(&controller_driver), 0);
}

/* Everything queued is done. */
static const char *said(struct kunit *test)
{
	char *text = kunit_kzalloc(test, SOFTTAPE_SMBUS_TEXT_MAX, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, text);
	flush_delayed_work(&work);
	softtape_smbus_current(text, SOFTTAPE_SMBUS_TEXT_MAX);
	return text;
}

static void awake_test(struct kunit *test)
{
	struct pci_dev *pdev;

	controller_start(test);
	pdev = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load("smbus", "awake"), 0);
	KUNIT_EXPECT_STREQ(test, said(test), "none");
	softtape_smbus_card_added();
	softtape_smbus_card_added();
	KUNIT_EXPECT_STREQ(test, said(test), "awake");
	softtape_smbus_card_removed();
	KUNIT_EXPECT_STREQ(test, said(test), "awake");
	softtape_smbus_card_removed();
	KUNIT_EXPECT_STREQ(test, said(test), "none");
	module_unload();
	pci_unregister_driver(&controller_driver);
}

static void hold_test(struct kunit *test)
{
	char expected[SOFTTAPE_SMBUS_TEXT_MAX];
	struct i2c_client *client;

	controller_start(test);
	snprintf(expected, sizeof(expected), "held:0x4c@i2c-%d,0x4e@i2c-%d,0x4f@i2c-%d", adapter->nr, adapter->nr,
		 adapter->nr);
	KUNIT_ASSERT_EQ(test, module_load("smbus", "hold"), 0);
	softtape_smbus_card_added();
	KUNIT_EXPECT_STREQ(test, said(test), (const char *)expected);
	KUNIT_EXPECT_EQ(test, PTR_ERR(i2c_new_dummy_device(adapter, 0x4e)), (long)-EBUSY);
	client = i2c_new_dummy_device(adapter, 0x4d);
	KUNIT_ASSERT_FALSE(test, IS_ERR(client));
	i2c_unregister_device(client);

	softtape_smbus_card_removed();
	KUNIT_EXPECT_STREQ(test, said(test), "none");
	client = i2c_new_dummy_device(adapter, 0x4e);
	KUNIT_ASSERT_FALSE(test, IS_ERR(client));
	softtape_smbus_card_added();
	snprintf(expected, sizeof(expected), "held:0x4c@i2c-%d,0x4f@i2c-%d,owned:dummy", adapter->nr, adapter->nr);
	KUNIT_EXPECT_STREQ(test, said(test), (const char *)expected);
	i2c_unregister_device(client);
	module_unload();
	pci_unregister_driver(&controller_driver);
}

/* The driver leaves with our clients on its adapter, and comes back. */
static void unbind_test(struct kunit *test)
{
	controller_start(test);
	KUNIT_ASSERT_EQ(test, module_load("smbus", "hold"), 0);
	softtape_smbus_card_added();
	KUNIT_EXPECT_EQ(test, strncmp(said(test), "held:", 5), 0);
	pci_unregister_driver(&controller_driver);
	KUNIT_EXPECT_STREQ(test, said(test), "no-controller");
	KUNIT_ASSERT_EQ(test, pci_register_driver(&controller_driver), 0);
	KUNIT_EXPECT_EQ(test, strncmp(said(test), "held:", 5), 0);
	module_unload();
	KUNIT_EXPECT_FALSE(test, adapter && device_for_each_child(&adapter->dev, NULL, is_ddr5_client));
	pci_unregister_driver(&controller_driver);
}

/* Somebody else has the controller's device lock while the module loads: it is looked at later. */
static void busy_test(struct kunit *test)
{
	struct pci_dev *pdev;

	controller_start(test);
	pdev = host_card(test, 0, 0);
	device_lock(&pdev->dev);
	KUNIT_ASSERT_EQ(test, module_load("smbus", "awake"), 0);
	softtape_smbus_card_added();
	KUNIT_EXPECT_STREQ(test, said(test), "no-controller");
	device_unlock(&pdev->dev);
	KUNIT_EXPECT_STREQ(test, said(test), "awake");
	module_unload();
	pci_unregister_driver(&controller_driver);
}

/* One more than there is room for is left alone. */
static void ninth_test(struct kunit *test)
{
	struct pci_dev *others;
	unsigned int i;

	controller_start(test);
	others = host_port(test, 0);
	for (i = 0; i < CONTROLLERS_MAX; i++)
		controllers[i].pdev = others;
	KUNIT_ASSERT_EQ(test, module_load("smbus", "hold"), 0);
	softtape_smbus_card_added();
	KUNIT_EXPECT_STREQ(test, said(test), "none");
	KUNIT_EXPECT_NULL(test, find(host_card(test, 0, 0)));
	KUNIT_EXPECT_FALSE(test, has_folder(adapter, 0x4c));
	/* Its driver may leave all the same. */
	pci_unregister_driver(&controller_driver);
	for (i = 0; i < CONTROLLERS_MAX; i++)
		KUNIT_EXPECT_PTR_EQ(test, controllers[i].pdev, others);
	memset(controllers, 0, sizeof(controllers));
	module_unload();
}

/* A controller that does not wake up is not called awake, and no reference to it is kept. */
static void asleep_test(struct kunit *test)
{
	struct pci_dev *pdev;
	int before;

	controller_start(test);
	pdev = host_card(test, 0, 0);
	KUNIT_ASSERT_EQ(test, module_load("smbus", "hold"), 0);
	before = atomic_read(&pdev->dev.power.usage_count);
	pdev->dev.power.runtime_status = RPM_SUSPENDED;
	pdev->dev.power.runtime_error = -EIO;
	softtape_smbus_card_added();
	KUNIT_EXPECT_STREQ(test, said(test), "none");
	KUNIT_EXPECT_EQ(test, atomic_read(&pdev->dev.power.usage_count), before);

	pdev->dev.power.runtime_error = 0;
	pdev->dev.power.runtime_status = RPM_ACTIVE;
	softtape_smbus_card_removed();
	softtape_smbus_card_added();
	KUNIT_EXPECT_EQ(test, strncmp(said(test), "held:", 5), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&pdev->dev.power.usage_count), before + 1);
	module_unload();
	KUNIT_EXPECT_EQ(test, atomic_read(&pdev->dev.power.usage_count), before);
	pci_unregister_driver(&controller_driver);
}

/* Whatever step fails, nothing stays behind: a controller that comes is not taken. */
static void failing_init_test(struct kunit *test)
{
	for (failing = 1; failing <= 3; failing++)
		KUNIT_EXPECT_EQ(test, module_load("smbus", "awake"), failing == 1 ? -ENOMEM : -EINVAL);
	failing = 0;
	controller_start(test);
	KUNIT_EXPECT_NULL(test, find(host_card(test, 0, 0)));
	KUNIT_ASSERT_EQ(test, module_load("smbus", "awake"), 0);
	KUNIT_EXPECT_NOT_NULL(test, find(host_card(test, 0, 0)));
	module_unload();
	pci_unregister_driver(&controller_driver);
}

static void dry_run_test(struct kunit *test)
{
	controller_start(test);
	KUNIT_ASSERT_EQ(test, module_load("dry_run", "Y"), 0);
	softtape_smbus_card_added();
	KUNIT_EXPECT_STREQ(test, said(test), "off");
	module_unload();
	pci_unregister_driver(&controller_driver);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(awake_test),
	KUNIT_CASE(hold_test),
	KUNIT_CASE(unbind_test),
	KUNIT_CASE(busy_test),
	KUNIT_CASE(ninth_test),
	KUNIT_CASE(asleep_test),
	KUNIT_CASE(failing_init_test),
	KUNIT_CASE(dry_run_test),
	{ }
};

struct kunit_suite smbus_suite = {
	.name = "softtape-smbus",
	.init = host_init,
	.exit = host_exit,
	.test_cases = cases,
};
