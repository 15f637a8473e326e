// SPDX-License-Identifier: GPL-2.0-only
/*
 * softtape: settle ASPM, link speed and power of headless NVIDIA mining cards before a driver uses them.
 *
 * Parameters, notifiers, load and unload. Which moment does what is in record.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/pci.h>
#include <linux/suspend.h>

#include "record.h"
#include "smbus.h"

struct softtape_policy softtape_policy;

static char *aspm = "off";
module_param(aspm, charp, 0444);
MODULE_PARM_DESC(aspm, "ASPM, L1 substates and Clock PM of the card's link: off (default), keep, force (write the registers even where firmware or pcie_aspm=off keeps the kernel from it)");

static char *speed = "keep";
module_param(speed, charp, 0444);
MODULE_PARM_DESC(speed, "cap on the port's target link speed: keep (default), gen1, gen2, gen3, gen4");

static char *d3cold = "off";
module_param(d3cold, charp, 0444);
MODULE_PARM_DESC(d3cold, "off (default): the card never goes to D3cold; keep");

static char *smbus = "awake";
module_param(smbus, charp, 0444);
MODULE_PARM_DESC(smbus, "SMBus controllers while a card is present: awake (default), hold, off");

static char *ids = "";
module_param(ids, charp, 0444);
MODULE_PARM_DESC(ids, "more ids to treat as a card: 10de:dddd[,10de:dddd...]");

static char *skip = "";
module_param(skip, charp, 0444);
MODULE_PARM_DESC(skip, "slots to leave alone: dddd:bb:dd.f[,dddd:bb:dd.f...]");

static char *dry_run = "N";

/* A charp that may stand without a value, as a flag. */
static int dry_run_set(const char *value, const struct kernel_param *kp)
{
	return param_set_charp(value ? value : "Y", kp);
}

static const struct kernel_param_ops dry_run_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = dry_run_set,
	.get = param_get_charp,
	.free = param_free_charp,
};
module_param_cb(dry_run, &dry_run_ops, &dry_run, 0444);
__MODULE_PARM_TYPE(dry_run, "charp");
MODULE_PARM_DESC(dry_run, "Y: read, plan and report only (default N)");

#define CARD(_device, _name, _compute, _quirks) \
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, _device), PCI_BASE_CLASS_DISPLAY << 16, 0xff0000 },

/* Only for modules.alias: there is no pci_driver, the card belongs to its own driver. */
static const struct pci_device_id id_table[] = {
#include "card_list.h"
	{ }
};
MODULE_DEVICE_TABLE(pci, id_table);

static int read_parameters(void)
{
	const struct {
		const char *key;
		const char *value;
	} given[] = {
		{ "aspm", aspm },
		{ "speed", speed },
		{ "d3cold", d3cold },
		{ "smbus", smbus },
		{ "ids", ids },
		{ "skip", skip },
		{ "dry_run", dry_run },
	};
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(given); i++) {
		ret = softtape_policy_set(&softtape_policy, given[i].key, given[i].value);
		if (ret) {
			pr_err("parameter %s=%s refused, accepted: %s\n", given[i].key, given[i].value,
			       softtape_policy_accepts(given[i].key));
			return ret;
		}
	}

	return 0;
}

static int bus_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	if (pdev->vendor != PCI_VENDOR_ID_NVIDIA)
		return NOTIFY_DONE;

	switch (action) {
	case BUS_NOTIFY_ADD_DEVICE:
		softtape_record_add(pdev, false);
		break;
	case BUS_NOTIFY_BIND_DRIVER:
		softtape_record_bind(pdev);
		break;
	case BUS_NOTIFY_BOUND_DRIVER:
		softtape_record_bound(pdev);
		break;
	case BUS_NOTIFY_UNBOUND_DRIVER:
	case BUS_NOTIFY_DRIVER_NOT_BOUND:
		softtape_record_unbound(pdev);
		break;
	case BUS_NOTIFY_DEL_DEVICE:
		softtape_record_del(pdev);
		break;
	}

	return NOTIFY_DONE;
}

static struct notifier_block bus_nb = { .notifier_call = bus_event };

static int pm_event(struct notifier_block *nb, unsigned long action, void *data)
{
	switch (action) {
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		softtape_record_resume();
		break;
	}

	return NOTIFY_DONE;
}

static struct notifier_block pm_nb = { .notifier_call = pm_event };

static int __init softtape_init(void)
{
	struct pci_dev *pdev = NULL;
	int ret;

	ret = read_parameters();
	if (ret)
		return ret;

	ret = softtape_smbus_init();
	if (ret)
		return ret;

	ret = softtape_record_init();
	if (ret)
		goto err_smbus_exit;

	ret = bus_register_notifier(&pci_bus_type, &bus_nb);
	if (ret)
		goto err_record_exit;

	ret = register_pm_notifier(&pm_nb);
	if (ret)
		goto err_bus_unregister;

	/* After the notifier, so that no card is missed; records are keyed by device, so that none is taken twice. */
	for_each_pci_dev(pdev)
		if (pdev->vendor == PCI_VENDOR_ID_NVIDIA)
			softtape_record_add(pdev, true);
	softtape_record_wait();

	return 0;

err_bus_unregister:
	bus_unregister_notifier(&pci_bus_type, &bus_nb);
err_record_exit:
	softtape_record_exit();
err_smbus_exit:
	softtape_smbus_exit();
	return ret;
}
module_init(softtape_init);

static void __exit softtape_exit(void)
{
	unregister_pm_notifier(&pm_nb);
	bus_unregister_notifier(&pci_bus_type, &bus_nb);
	softtape_record_exit();
	softtape_smbus_exit();
}
module_exit(softtape_exit);

MODULE_DESCRIPTION("PCI quirks for headless NVIDIA mining cards");
MODULE_AUTHOR("The softtape authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(SOFTTAPE_VERSION);
