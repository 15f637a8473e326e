// SPDX-License-Identifier: GPL-2.0-only
/*
 * A simulated NVIDIA driver for the test guest: binds by class, has the real
 * one's names, nodes, procfs and failures, and drives nothing.
 *
 * Shapes and texts follow driver 550: the messages are those that a helper must
 * recognise in the kernel log. It knows no card names and nothing of softtape.
 */
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "nvidia.h"

#define NV_MAJOR	195
#define NV_MINOR_CTL	255
#define NV_GPUS_MAX	32	/* minors from 0, lowest free one first */

#define ENUMERATION_TIMEOUT	(5 * HZ)

static char *version = SIM_VERSION;
module_param(version, charp, 0444);
MODULE_PARM_DESC(version, "in sysfs, procfs and messages; modinfo keeps the built-in one");

static bool open_flavour;
module_param(open_flavour, bool, 0444);
MODULE_PARM_DESC(open_flavour, "procfs shows the open kernel module");

static char *fail;
module_param(fail, charp, 0644);
MODULE_PARM_DESC(fail, "how probe fails: legacy, open, bar0, lost, nodev; empty: it does not");

static unsigned int fail_id;
module_param(fail_id, uint, 0644);
MODULE_PARM_DESC(fail_id, "device id that fails, 0 = all");

static bool resident;
module_param(resident, bool, 0444);
MODULE_PARM_DESC(resident, "stay loaded without a card, unlike the real driver");

static bool aspm_on;
module_param(aspm_on, bool, 0644);
MODULE_PARM_DESC(aspm_on, "probe sets L0s, L1 and Clock PM on the card's link");

static unsigned int probe_delay_ms;
module_param(probe_delay_ms, uint, 0644);

/* Opening a card's node sleeps like a call into a hung driver: state D. */
static bool hang;
static DECLARE_WAIT_QUEUE_HEAD(hang_wait);

struct gpu {
	struct pci_dev *pdev;
	unsigned int minor;
	struct proc_dir_entry *proc;
};

/* Slots change under gpus_lock only: probes of several cards may overlap. */
static DEFINE_MUTEX(gpus_lock);
static struct gpu *gpus[NV_GPUS_MAX];
static atomic_t nr_probed, nr_bound;
static DECLARE_WAIT_QUEUE_HEAD(probed_wait);
static struct proc_dir_entry *proc_root, *proc_gpus;

static int hang_set(const char *text, const struct kernel_param *kp)
{
	int ret = param_set_bool(text, kp);

	wake_up_all(&hang_wait);
	return ret;
}

static const struct kernel_param_ops hang_ops = {
	.set = hang_set,
	.get = param_get_bool,
};
module_param_cb(hang, &hang_ops, &hang, 0644);
MODULE_PARM_DESC(hang, "open of /dev/nvidiaN does not return until this is 0 again");

/* Writing a number has the driver report it as an Xid of every bound card. */
static unsigned int xid;

static int xid_set(const char *text, const struct kernel_param *kp)
{
	int ret = param_set_uint(text, kp);
	unsigned int i;

	mutex_lock(&gpus_lock);
	for (i = 0; !ret && i < NV_GPUS_MAX; i++)
		if (gpus[i])
			pr_err("NVRM: Xid (PCI:%04x:%02x:%02x): %u, pid=1, name=none, (simulated)\n",
			       pci_domain_nr(gpus[i]->pdev->bus), gpus[i]->pdev->bus->number,
			       PCI_SLOT(gpus[i]->pdev->devfn), xid);
	mutex_unlock(&gpus_lock);

	return ret;
}

static const struct kernel_param_ops xid_ops = {
	.set = xid_set,
	.get = param_get_uint,
};
module_param_cb(xid, &xid_ops, &xid, 0644);
MODULE_PARM_DESC(xid, "an Xid to report of every bound card, at once");

static char *nvidia_devnode(const struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return NULL;
}

/* The cast: before 6.2 the device is not const, which no call can notice. */
struct class nvidia_class = {
	.name = "nvidia_simulated",
	.devnode = (typeof_member(struct class, devnode))nvidia_devnode,
};
EXPORT_SYMBOL_GPL(nvidia_class);

static int nvidia_open(struct inode *inode, struct file *file)
{
	unsigned int minor = iminor(inode);

	if (minor == NV_MINOR_CTL)
		return 0;

	wait_event(hang_wait, !READ_ONCE(hang));
	return minor < NV_GPUS_MAX && READ_ONCE(gpus[minor]) ? 0 : -ENODEV;
}

static const struct file_operations nvidia_fops = {
	.owner = THIS_MODULE,
	.open = nvidia_open,
	.llseek = noop_llseek,
};

static int version_show(struct seq_file *s, void *unused)
{
	if (open_flavour)
		seq_printf(s, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build  (simulated)\n",
			   version);
	else
		seq_printf(s, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  (simulated)\n",
			   version);
	seq_puts(s, "GCC version:  (simulated)\n");
	return 0;
}

static int information_show(struct seq_file *s, void *unused)
{
	const struct gpu *gpu = s->private;

	seq_puts(s, "Model: \t\t NVIDIA simulated GPU\n");
	seq_printf(s, "IRQ:   \t\t %u\n", gpu->pdev->irq);
	seq_puts(s, "GPU UUID: \t GPU-????????-????-????-????-????????????\n");
	seq_puts(s, "Video BIOS: \t ??.??.??.??.??\n");
	seq_puts(s, "Bus Type: \t PCIe\n");
	seq_puts(s, "DMA Size: \t 47 bits\n");
	seq_puts(s, "DMA Mask: \t 0x7fffffffffff\n");
	seq_printf(s, "Bus Location: \t %s\n", pci_name(gpu->pdev));
	seq_printf(s, "Device Minor: \t %u\n", gpu->minor);
	seq_puts(s, "GPU Firmware: \t N/A\n");
	seq_puts(s, "GPU Excluded:\t No\n");
	return 0;
}

/* The texts below: fragments that logs and reports quote, same line breaks. */
static void say_legacy(const struct pci_dev *pdev)
{
	pr_err("NVRM: The NVIDIA simulated GPU installed in this system is\n"
	       "NVRM:  supported through the NVIDIA 580.xx Legacy drivers. Please\n"
	       "NVRM:  visit the driver's page for more\n"
	       "NVRM:  information.  The %s NVIDIA driver will ignore\n"
	       "NVRM:  this GPU.  Continuing probe...\n", version);
}

static void say_open(const struct pci_dev *pdev)
{
	pr_err("NVRM: The NVIDIA GPU %s (PCI ID: %04x:%04x)\n"
	       "NVRM: installed in this system is not supported by open\n"
	       "NVRM: nvidia.ko because it does not include the required GPU\n"
	       "NVRM: System Processor (GSP).\n",
	       pci_name(pdev), pdev->vendor, pdev->device);
}

static void say_bar0(const struct pci_dev *pdev)
{
	pr_err("NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
	       "NVRM: BAR0 is 0M @ 0x0 (PCI:%s)\n", pci_name(pdev));
}

static void say_lost(const struct pci_dev *pdev)
{
	pr_err("NVRM: The NVIDIA GPU %s\n"
	       "NVRM: (PCI ID: %04x:%04x) installed in this system has\n"
	       "NVRM: fallen off the bus and is not responding to commands.\n",
	       pci_name(pdev), pdev->vendor, pdev->device);
}

/* The real driver returns -1 from probe, not an errno with a meaning. */
static const struct failure {
	const char *name;
	int ret;
	void (*say)(const struct pci_dev *pdev);
} failures[] = {
	{ "legacy", -1, say_legacy },
	{ "open", -1, say_open },
	{ "bar0", -1, say_bar0 },
	{ "lost", -1, say_lost },
	{ "nodev", -ENODEV, NULL },
};

static const struct failure *failure_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(failures); i++)
		if (sysfs_streq(name, failures[i].name))
			return &failures[i];

	return NULL;
}

/* What the parameters ask for, else what is really wrong with this card. */
static const struct failure *failure_of(struct pci_dev *pdev)
{
	const struct failure *asked = NULL;
	u16 vendor;

	kernel_param_lock(THIS_MODULE);
	if (fail && (!fail_id || fail_id == pdev->device))
		asked = failure_find(fail);
	kernel_param_unlock(THIS_MODULE);
	if (asked)
		return asked;

	if (pci_read_config_word(pdev, PCI_VENDOR_ID, &vendor) ||
	    vendor == 0xffff)
		return failure_find("lost");
	if (!pci_resource_start(pdev, 0))
		return failure_find("bar0");

	return NULL;
}

static int failure_say(const struct failure *failure,
		       const struct pci_dev *pdev)
{
	if (failure->say) {
		failure->say(pdev);
		pr_err("NVRM: (simulated)\n");
	}
	return failure->ret;
}

static int minor_get(struct gpu *gpu)
{
	unsigned int minor;
	int ret = -ENOSPC;

	mutex_lock(&gpus_lock);
	for (minor = 0; minor < NV_GPUS_MAX && ret; minor++) {
		if (gpus[minor])
			continue;
		WRITE_ONCE(gpus[minor], gpu);
		gpu->minor = minor;
		ret = 0;
	}
	mutex_unlock(&gpus_lock);
	return ret;
}

static void minor_put(struct gpu *gpu)
{
	mutex_lock(&gpus_lock);
	WRITE_ONCE(gpus[gpu->minor], NULL);
	mutex_unlock(&gpus_lock);
}

static void link_aspm_on(struct pci_dev *pdev)
{
	struct pci_dev *port = pci_upstream_bridge(pdev);

	if (port)
		pcie_capability_set_word(port, PCI_EXP_LNKCTL,
					 PCI_EXP_LNKCTL_ASPMC);
	pcie_capability_set_word(pdev, PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_ASPMC |
				 PCI_EXP_LNKCTL_CLKREQ_EN);
}

/* Nodes and procfs are for people and tests: binding does not hang on them. */
static void gpu_show(struct gpu *gpu)
{
	device_create(&nvidia_class, NULL, MKDEV(NV_MAJOR, gpu->minor), NULL,
		      "nvidia%u", gpu->minor);
	gpu->proc = proc_mkdir(pci_name(gpu->pdev), proc_gpus);
	if (gpu->proc)
		proc_create_single_data("information", 0444, gpu->proc,
					information_show, gpu);
}

static void gpu_hide(struct gpu *gpu)
{
	proc_remove(gpu->proc);
	device_destroy(&nvidia_class, MKDEV(NV_MAJOR, gpu->minor));
}

static int gpu_start(struct pci_dev *pdev)
{
	const struct failure *failure;
	struct gpu *gpu;
	int ret;

	if (probe_delay_ms)
		msleep(probe_delay_ms);

	failure = failure_of(pdev);
	if (failure)
		return failure_say(failure, pdev);

	gpu = kzalloc(sizeof(*gpu), GFP_KERNEL);
	if (!gpu)
		return -ENOMEM;

	gpu->pdev = pdev;
	ret = minor_get(gpu);
	if (ret)
		goto err_free_gpu;

	ret = pci_enable_device(pdev);
	if (ret)
		goto err_minor_put;

	pci_set_master(pdev);
	if (aspm_on)
		link_aspm_on(pdev);
	pci_set_drvdata(pdev, gpu);
	gpu_show(gpu);
	return 0;

err_minor_put:
	minor_put(gpu);
err_free_gpu:
	kfree(gpu);
	return ret;
}

/* Counted when it is over: who waits for nr_probed reads nr_bound next. */
static int nvidia_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int ret = gpu_start(pdev);

	if (!ret)
		atomic_inc(&nr_bound);
	smp_mb__before_atomic();	/* nr_bound before nr_probed */
	atomic_inc(&nr_probed);
	wake_up(&probed_wait);
	return ret;
}

static void nvidia_remove(struct pci_dev *pdev)
{
	struct gpu *gpu = pci_get_drvdata(pdev);

	gpu_hide(gpu);
	pci_disable_device(pdev);
	minor_put(gpu);
	kfree(gpu);
}

static const struct pci_device_id nvidia_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID),
	  .class = PCI_CLASS_DISPLAY_VGA << 8, .class_mask = ~0 },
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID),
	  .class = PCI_CLASS_DISPLAY_3D << 8, .class_mask = ~0 },
	{ }
};
MODULE_DEVICE_TABLE(pci, nvidia_ids);

static struct pci_driver nvidia_driver = {
	.name = "nvidia",
	.id_table = nvidia_ids,
	.probe = nvidia_probe,
	.remove = nvidia_remove,
};

/* Cards of older branches are named here and then do not count. */
static int cards_count(void)
{
	const struct failure *legacy = failure_find("legacy");
	struct pci_dev *pdev = NULL;
	int count = 0;

	for_each_pci_dev(pdev) {
		if (!pci_match_id(nvidia_ids, pdev))
			continue;
		if (failure_of(pdev) == legacy)
			failure_say(legacy, pdev);
		else
			count++;
	}
	return count;
}

static int cards_without_other_driver(void)
{
	struct pci_dev *pdev = NULL;
	int count = 0;

	for_each_pci_dev(pdev)
		if (pci_match_id(nvidia_ids, pdev) &&
		    (!pdev->dev.driver || pdev->dev.driver == &nvidia_driver.driver))
			count++;
	return count;
}

/*
 * udev hears of a hot-added card before the core lets a driver bind it (device_add()
 * comes before pci_bus_add_device()). The real module takes seconds to load, this one
 * milliseconds: it would look too early, and leave.
 */
static void wait_until_probed(void)
{
	wait_event_timeout(probed_wait,
			   atomic_read(&nr_probed) >= cards_without_other_driver(),
			   ENUMERATION_TIMEOUT);
}

/* Like the real driver: no card that works, no module. */
static int cards_check(int count)
{
	int probed = atomic_read(&nr_probed);
	int bound = atomic_read(&nr_bound);

	if (probed < count)
		pr_err("NVRM: The NVIDIA probe routine was not called for %d device(s).\n"
		       "NVRM: This can occur when a driver such as:\n"
		       "NVRM: nouveau, rivafb, nvidiafb or rivatv\n"
		       "NVRM: was loaded and obtained ownership of the NVIDIA device(s).\n",
		       count - probed);
	if (!probed)
		pr_err("NVRM: No NVIDIA devices probed.\n");
	else if (bound < probed)
		pr_err("NVRM: The NVIDIA probe routine failed for %d device(s).\n",
		       probed - bound);
	if (probed && !bound)
		pr_err("NVRM: None of the NVIDIA devices were initialized.\n");

	return bound || resident ? 0 : -ENODEV;
}

/*
 * Sysfs shows what struct module points to; the module loader frees its own
 * copy, so the pointer is put back before the module ends.
 */
static void version_swap(void)
{
	static const char *other;
	const char *now = THIS_MODULE->version;

	THIS_MODULE->version = other ? other : version;
	other = now;
}

static int nodes_init(void)
{
	int ret;

	ret = class_register(&nvidia_class);
	if (ret)
		return ret;

	ret = __register_chrdev(NV_MAJOR, 0, NV_GPUS_MAX, "nvidia",
				&nvidia_fops);
	if (ret)
		goto err_class;

	ret = __register_chrdev(NV_MAJOR, NV_MINOR_CTL, 1, "nvidiactl",
				&nvidia_fops);
	if (ret)
		goto err_chrdev;

	device_create(&nvidia_class, NULL, MKDEV(NV_MAJOR, NV_MINOR_CTL), NULL,
		      "nvidiactl");
	return 0;

err_chrdev:
	__unregister_chrdev(NV_MAJOR, 0, NV_GPUS_MAX, "nvidia");
err_class:
	class_unregister(&nvidia_class);
	return ret;
}

static void nodes_exit(void)
{
	device_destroy(&nvidia_class, MKDEV(NV_MAJOR, NV_MINOR_CTL));
	__unregister_chrdev(NV_MAJOR, NV_MINOR_CTL, 1, "nvidiactl");
	__unregister_chrdev(NV_MAJOR, 0, NV_GPUS_MAX, "nvidia");
	class_unregister(&nvidia_class);
}

static int __init nvidia_init(void)
{
	int count = cards_count();
	int ret;

	if (!count && !resident) {
		pr_err("NVRM: No NVIDIA GPU found.\n");
		return -ENODEV;
	}

	version_swap();
	ret = nodes_init();
	if (ret)
		goto err_version;

	proc_root = proc_mkdir("driver/nvidia", NULL);
	if (!proc_root) {
		ret = -ENOMEM;
		goto err_nodes;
	}
	proc_gpus = proc_mkdir("gpus", proc_root);
	proc_create_single("version", 0444, proc_root, version_show);

	ret = pci_register_driver(&nvidia_driver);
	if (ret)
		goto err_proc;

	if (count)
		wait_until_probed();
	ret = count ? cards_check(count) : 0;
	if (ret)
		goto err_driver;

	pr_info("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  %s  (simulated)\n",
		version);
	return 0;

err_driver:
	pci_unregister_driver(&nvidia_driver);
err_proc:
	proc_remove(proc_root);
err_nodes:
	nodes_exit();
err_version:
	version_swap();
	return ret;
}

static void __exit nvidia_exit(void)
{
	pci_unregister_driver(&nvidia_driver);
	proc_remove(proc_root);
	nodes_exit();
	version_swap();
}

module_init(nvidia_init);
module_exit(nvidia_exit);
MODULE_DESCRIPTION("simulated NVIDIA driver for softtape's tests");
MODULE_VERSION(SIM_VERSION);
MODULE_ALIAS_CHARDEV_MAJOR(NV_MAJOR);
MODULE_LICENSE("GPL");
