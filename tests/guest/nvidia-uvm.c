// SPDX-License-Identifier: GPL-2.0-only
/*
 * The second module of the simulated NVIDIA driver: nvidia_uvm with its nodes
 * and dynamic major, loaded only together with nvidia.
 */
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/module.h>

#include "nvidia.h"

static int major;

static const struct file_operations uvm_fops = {
	.owner = THIS_MODULE,
	.llseek = noop_llseek,
};

static int __init uvm_init(void)
{
	major = register_chrdev(0, "nvidia-uvm", &uvm_fops);
	if (major < 0)
		return major;

	device_create(&nvidia_class, NULL, MKDEV(major, 0), NULL, "nvidia-uvm");
	device_create(&nvidia_class, NULL, MKDEV(major, 1), NULL,
		      "nvidia-uvm-tools");
	pr_info("nvidia-uvm: Loaded the UVM driver, major device number %d (simulated).\n",
		major);
	return 0;
}

static void __exit uvm_exit(void)
{
	device_destroy(&nvidia_class, MKDEV(major, 1));
	device_destroy(&nvidia_class, MKDEV(major, 0));
	unregister_chrdev(major, "nvidia-uvm");
}

module_init(uvm_init);
module_exit(uvm_exit);
MODULE_DESCRIPTION("simulated NVIDIA UVM driver for softtape's tests");
MODULE_VERSION(SIM_VERSION);
MODULE_LICENSE("GPL");
