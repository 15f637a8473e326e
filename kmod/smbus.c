// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host's SMBus controllers (PCI class 0x0c05 with a main adapter of i2c-i801 or i2c-piix4): kept awake, and
 * addresses held on them, from the first card's appearance to the last one's removal. Nothing is ever sent on a bus.
 * Which address may be held, and the words, are smbus_rules.c's.
 *
 * All is done by one work, which looks at what there is and makes it what is wanted. Events only queue it: a driver was
 * bound to a controller, a card came or went, a client came or went. One cannot wait: a driver that leaves its
 * controller deletes the adapter with our clients on it, so UNBIND_DRIVER, which comes before that, forgets them.
 *
 * Locks, outermost first: device lock of the controller, lock. The device lock, which driver-core callbacks come with
 * and the work only tries for, keeps the driver, its adapters and our clients where they are: i2c_del_adapter() is
 * called by the driver's remove. Nothing else is held while I2C is called, and no callback waits for the work.
 */
#include <linux/dmi.h>
#include <linux/i2c.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "smbus.h"

/* When a driver or a client that is just coming or going has done so. */
#define SOON	(HZ / 10)

/* Hosts have one, boards with two processors two. */
#define CONTROLLERS_MAX	8

/* drivers/firmware/dmi_scan.c:dmi_memdev_handle, behind the last memory device */
#define MEMDEV_NONE	0xffff

/**
 * struct controller - a controller whose driver has a main adapter
 * @pdev:	the controller, referenced; NULL = unused entry; lock
 * @state:	what we found and did; changed with the device lock and lock held, read with either
 * @client:	our clients, NULL = not held; device lock
 */
struct controller {
	struct pci_dev *pdev;
	struct softtape_smbus state;
	struct i2c_client *client[SOFTTAPE_SMBUS_ADDRESSES];
};

static DEFINE_SPINLOCK(lock);
static struct controller controllers[CONTROLLERS_MAX];
static unsigned int cards;	/* lock */
static bool closing;		/* lock; nothing is queued or wanted any more */

static struct workqueue_struct *workqueue;
static void smbus_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(work, smbus_work);

/* With lock held. */
static void queue_locked(void)
{
	if (!closing)
		mod_delayed_work(workqueue, &work, 0);
}

static void queue(void)
{
	spin_lock(&lock);
	queue_locked();
	spin_unlock(&lock);
}

static void queue_soon(void)
{
	spin_lock(&lock);
	if (!closing)
		queue_delayed_work(workqueue, &work, SOON);
	spin_unlock(&lock);
}

/* With lock held: the entry of a controller, or with NULL an unused one. */
static struct controller *find_locked(const struct pci_dev *pdev)
{
	unsigned int i;

	for (i = 0; i < CONTROLLERS_MAX; i++)
		if (controllers[i].pdev == pdev)
			return &controllers[i];

	return NULL;
}

/* With the device lock held, as nobody else may make or drop an entry for it then. */
static struct controller *find(const struct pci_dev *pdev)
{
	struct controller *controller;

	spin_lock(&lock);
	controller = find_locked(pdev);
	spin_unlock(&lock);

	return controller;
}

static bool wanted(void)
{
	bool any;

	spin_lock(&lock);
	any = cards && !closing;
	spin_unlock(&lock);

	return any && !softtape_policy.dry_run;
}

static int is_main_adapter(struct device *dev, const void *parent)
{
	struct i2c_adapter *adapter = i2c_verify_adapter(dev);

	return adapter && adapter->dev.parent == parent && softtape_smbus_main_adapter(adapter->name);
}

/* With the device lock held, which keeps the adapter. The first one: i2c-piix4 adds an auxiliary one after it. */
static struct i2c_adapter *main_adapter(struct pci_dev *pdev)
{
	struct device *dev;

	if (!pdev->dev.driver)
		return NULL;

	dev = bus_find_device(&i2c_bus_type, NULL, &pdev->dev, is_main_adapter);
	put_device(dev);

	return dev ? to_i2c_adapter(dev) : NULL;
}

/**
 * struct search - a client that is looked for on an adapter and on the segments behind it
 * @address:	its address
 * @name:	who owns it, the result
 */
struct search {
	u8 address;
	char name[SOFTTAPE_SMBUS_NAME_MAX];
};

static int find_owner(struct device *dev, void *data)
{
	struct i2c_client *client = i2c_verify_client(dev);
	struct search *search = data;

	/* Segments of a multiplexer are children of the adapter. */
	if (!client)
		return device_for_each_child(dev, data, find_owner);
	if (client->addr != search->address)
		return 0;

	strscpy(search->name, client->name, sizeof(search->name));
	/* A driver that comes or goes at this moment is named by the next run. */
	if (device_trylock(dev)) {
		if (dev->driver)
			strscpy(search->name, dev->driver->name, sizeof(search->name));
		device_unlock(dev);
	}

	return 1;
}

static int is_ddr5_client(struct device *dev, void *data)
{
	struct i2c_client *client = i2c_verify_client(dev);

	return client && softtape_smbus_client_ddr5(client->name);
}

static bool is_ddr5(struct i2c_adapter *adapter)
{
	u16 handle;
	int slot;

	for (slot = 0; (handle = dmi_memdev_handle(slot)) != MEMDEV_NONE; slot++)
		if (softtape_smbus_memory_ddr5(dmi_memdev_type(handle)))
			return true;

	return device_for_each_child(&adapter->dev, NULL, is_ddr5_client);
}

static void release_address(struct controller *controller, unsigned int i)
{
	i2c_unregister_device(controller->client[i]);
	controller->client[i] = NULL;
}

/* A client is no child of its adapter any more before its folder goes (drivers/base/core.c:device_del). */
static bool has_folder(struct i2c_adapter *adapter, u8 address)
{
	struct kernfs_node *folder;
	char name[16];

	snprintf(name, sizeof(name), "%d-%04x", adapter->nr, address);
	folder = sysfs_get_dirent(adapter->dev.kobj.sd, name);
	sysfs_put(folder);

	return folder;
}

static void hold_address(struct controller *controller, struct softtape_smbus *state, struct i2c_adapter *adapter,
			 unsigned int i)
{
	struct search search = { .address = softtape_smbus_address(i) };
	struct i2c_client *client;

	if (device_for_each_child(&adapter->dev, &search, find_owner)) {
		strscpy(state->owner[i], search.name, sizeof(state->owner[i]));
		return;
	}

	if (has_folder(adapter, search.address)) {
		queue_soon();
		return;
	}

	client = i2c_new_dummy_device(adapter, search.address);
	if (!IS_ERR(client))
		controller->client[i] = client;
	/* Another owner came first: i2c_event() hears of it. */
	else if (PTR_ERR(client) != -EBUSY)
		pci_warn(controller->pdev, "softtape: 0x%02x is not held (%ld)\n", search.address, PTR_ERR(client));
}

/*
 * Without a driver i2c-dev would still let a program in (drivers/i2c/i2c-dev.c:i2cdev_check). It may come later, with
 * asynchronous probing, and root may unbind it: i2c_event() hears of both.
 */
static bool is_held(const struct i2c_client *client)
{
	return client && READ_ONCE(client->dev.driver);
}

static void settle_addresses(struct controller *controller, struct softtape_smbus *state, struct i2c_adapter *adapter)
{
	bool hold = state->awake && softtape_policy.smbus == SOFTTAPE_SMBUS_HOLD;
	unsigned int i;

	for (i = 0; i < SOFTTAPE_SMBUS_ADDRESSES; i++) {
		bool may = hold && softtape_smbus_may_hold(softtape_smbus_address(i), state->ddr5);

		state->owner[i][0] = '\0';
		if (!may && controller->client[i])
			release_address(controller, i);
		if (may && !controller->client[i])
			hold_address(controller, state, adapter, i);
		state->held[i] = is_held(controller->client[i]);
	}
}

static void wake(struct pci_dev *pdev, struct softtape_smbus *state)
{
	pm_runtime_get_sync(&pdev->dev);
	state->awake = pm_runtime_active(&pdev->dev);
	if (!state->awake)
		pm_runtime_put(&pdev->dev);
}

static void let_sleep(struct pci_dev *pdev, struct softtape_smbus *state)
{
	state->awake = false;
	pm_runtime_put(&pdev->dev);
}

/* Takes the new state over and says so on the controller, if there is anything new. */
static void publish(struct controller *controller, const struct softtape_smbus *state)
{
	char old[SOFTTAPE_SMBUS_TEXT_MAX], now[SOFTTAPE_SMBUS_TEXT_MAX];

	softtape_smbus_text(&softtape_policy, &controller->state, 1, old, sizeof(old));
	softtape_smbus_text(&softtape_policy, state, 1, now, sizeof(now));

	spin_lock(&lock);
	controller->state = *state;
	spin_unlock(&lock);

	if (!softtape_policy.dry_run && strcmp(old, now))
		pci_info(controller->pdev, "softtape: smbus=%s\n", now);
}

/* With the device lock held. */
static struct controller *take(struct pci_dev *pdev)
{
	struct controller *controller;

	spin_lock(&lock);
	controller = find_locked(pdev);
	if (!controller) {
		controller = find_locked(NULL);
		if (controller)
			controller->pdev = pci_dev_get(pdev);
	}
	spin_unlock(&lock);

	return controller;
}

/* With the device lock held: makes what is the case what is wanted. */
static void settle(struct pci_dev *pdev)
{
	struct i2c_adapter *adapter = main_adapter(pdev);
	struct controller *controller;
	struct softtape_smbus state;
	bool on = wanted();

	if (!adapter)
		return;

	controller = take(pdev);
	if (!controller)
		return;

	state = controller->state;
	state.adapter = adapter->nr;
	state.ddr5 = is_ddr5(adapter);
	if (on && !state.awake)
		wake(pdev, &state);
	if (!on && state.awake)
		let_sleep(pdev, &state);
	settle_addresses(controller, &state, adapter);
	publish(controller, &state);
}

/*
 * From UNBIND_DRIVER. The driver's remove follows with the device lock still held; it deletes the adapter, and the I2C
 * core our clients with it (i2c-core-base.c:i2c_del_adapter, the pass over what is left). To unregister them here would
 * run the notifiers of the I2C bus inside those of the PCI bus, which lockdep takes for one lock.
 */
static void leave(struct pci_dev *pdev)
{
	const struct softtape_smbus none = { 0 };
	struct controller *controller = find(pdev);

	if (!controller)
		return;

	if (controller->state.awake)
		pm_runtime_put(&pdev->dev);
	publish(controller, &none);

	spin_lock(&lock);
	memset(controller, 0, sizeof(*controller));
	spin_unlock(&lock);
	pci_dev_put(pdev);
}

/* With the device lock held: gives everything back while the driver stays. */
static void release(struct pci_dev *pdev)
{
	struct controller *controller = find(pdev);
	unsigned int i;

	if (!controller)
		return;

	for (i = 0; i < SOFTTAPE_SMBUS_ADDRESSES; i++)
		if (controller->client[i])
			release_address(controller, i);
	leave(pdev);
}

/* Never waits for a device lock: the driver's probe that holds it may take long, or want this module. */
static bool settle_all(void)
{
	struct pci_dev *pdev = NULL;
	bool all = true;

	while ((pdev = pci_get_class(PCI_CLASS_SERIAL_SMBUS << 8, pdev))) {
		if (!device_trylock(&pdev->dev)) {
			all = false;
			continue;
		}
		settle(pdev);
		device_unlock(&pdev->dev);
	}

	return all;
}

static void smbus_work(struct work_struct *unused)
{
	if (!settle_all())
		queue_soon();
}

static int pci_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	if (pdev->class >> 8 != PCI_CLASS_SERIAL_SMBUS)
		return NOTIFY_DONE;

	if (action == BUS_NOTIFY_BOUND_DRIVER)
		queue();
	if (action == BUS_NOTIFY_UNBIND_DRIVER)
		leave(pdev);

	return NOTIFY_DONE;
}

static struct notifier_block pci_nb = { .notifier_call = pci_event };

/* An owner of an address came or went, or a client that tells of DDR5. Our own come by here too. */
static int i2c_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct i2c_client *client = i2c_verify_client(data);

	if (!client || !(softtape_smbus_may_hold(client->addr, false) || softtape_smbus_client_ddr5(client->name)))
		return NOTIFY_DONE;

	switch (action) {
	case BUS_NOTIFY_BOUND_DRIVER:
	case BUS_NOTIFY_UNBOUND_DRIVER:
		queue();
		break;
	case BUS_NOTIFY_ADD_DEVICE:
	case BUS_NOTIFY_REMOVED_DEVICE:
		/* Not yet among the children of its adapter, or not quite gone (drivers/base/core.c). */
		queue_soon();
		break;
	}

	return NOTIFY_DONE;
}

static struct notifier_block i2c_nb = { .notifier_call = i2c_event };

/**
 * softtape_smbus_card_added - a card is present that is not to be left alone
 *
 * Only queues work: may be called from any callback, with any lock but ours held.
 */
void softtape_smbus_card_added(void)
{
	spin_lock(&lock);
	if (!cards++)
		queue_locked();
	spin_unlock(&lock);
}

/**
 * softtape_smbus_card_removed - it is gone; once for each softtape_smbus_card_added()
 *
 * Only queues work, like that.
 */
void softtape_smbus_card_removed(void)
{
	spin_lock(&lock);
	if (!--cards)
		queue_locked();
	spin_unlock(&lock);
}

/**
 * softtape_smbus_current - the value of the smbus key now
 * @buf:	always terminated
 * @size:	bytes in @buf
 *
 * Takes a spinlock only.
 */
void softtape_smbus_current(char *buf, size_t size)
{
	struct softtape_smbus states[CONTROLLERS_MAX];
	unsigned int i, nr = 0;

	spin_lock(&lock);
	for (i = 0; i < CONTROLLERS_MAX; i++)
		if (controllers[i].pdev)
			states[nr++] = controllers[i].state;
	spin_unlock(&lock);

	softtape_smbus_text(&softtape_policy, states, nr, buf, size);
}

/**
 * softtape_smbus_init - before any card
 *
 * Return: 0, %-ENOMEM, or what bus_register_notifier() gave.
 */
int softtape_smbus_init(void)
{
	int ret;

	closing = softtape_policy.smbus == SOFTTAPE_SMBUS_OFF;
	if (closing)
		return 0;

	/* Freezable: no controller is woken between suspend and resume of the devices. */
	workqueue = alloc_ordered_workqueue("softtape_smbus", WQ_FREEZABLE);
	if (!workqueue)
		return -ENOMEM;

	ret = bus_register_notifier(&pci_bus_type, &pci_nb);
	if (ret)
		goto err_workqueue;

	ret = bus_register_notifier(&i2c_bus_type, &i2c_nb);
	if (ret)
		goto err_pci_unregister;

	/* Without a card this only looks, so that the first card's line knows which controllers there are. */
	if (!settle_all())
		queue_soon();

	return 0;

err_pci_unregister:
	bus_unregister_notifier(&pci_bus_type, &pci_nb);
	/* A controller that bound meanwhile may have asked for a look that is still to come. */
	cancel_delayed_work_sync(&work);
err_workqueue:
	destroy_workqueue(workqueue);
	return ret;
}

/**
 * softtape_smbus_exit - after the last card is forgotten; gives everything back
 */
void softtape_smbus_exit(void)
{
	unsigned int i;

	if (closing)
		return;

	spin_lock(&lock);
	closing = true;
	spin_unlock(&lock);
	cancel_delayed_work_sync(&work);

	/*
	 * With the notifier still there: a driver that leaves meanwhile makes us forget the clients that go with its
	 * adapter. An entry that is gone when its device lock is ours went that way.
	 */
	for (i = 0; i < CONTROLLERS_MAX; i++) {
		struct pci_dev *pdev;

		spin_lock(&lock);
		pdev = pci_dev_get(controllers[i].pdev);
		spin_unlock(&lock);
		if (!pdev)
			continue;

		device_lock(&pdev->dev);
		release(pdev);
		device_unlock(&pdev->dev);
		pci_dev_put(pdev);
	}

	bus_unregister_notifier(&i2c_bus_type, &i2c_nb);
	bus_unregister_notifier(&pci_bus_type, &pci_nb);
	destroy_workqueue(workqueue);
}
