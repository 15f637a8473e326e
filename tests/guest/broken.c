// SPDX-License-Identifier: GPL-2.0-only
/* One bug of each kind that the debug kernel must find, on request at load: shows that its detectors work. */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

static char *kind = "";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "leak, atomic, object, order, freed, race");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spin);

static void leak(void)
{
	char *lost = kmalloc(100, GFP_KERNEL);

	pr_info("leaks %zu bytes\n", ksize(lost));
}

static void sleep_in_atomic(void)
{
	spin_lock(&spin);
	msleep(20);
	spin_unlock(&spin);
}

static void nothing(struct work_struct *work)
{
}

static void free_pending_work(void)
{
	struct delayed_work *work = kmalloc(sizeof(*work), GFP_KERNEL);

	if (!work)
		return;
	INIT_DELAYED_WORK(work, nothing);
	schedule_delayed_work(work, HZ);
	kfree(work);
}

static void order(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);

	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void use_freed(void)
{
	char *byte = kmalloc(1, GFP_KERNEL);

	kfree(byte);
	WRITE_ONCE(*byte, 1);
}

static int raced;

static void count(struct work_struct *work)
{
	int i;

	for (i = 0; i < 100000; i++) {
		raced++;
		barrier();
	}
}

static DECLARE_WORK(counting, count);

static void race(void)
{
	queue_work(system_unbound_wq, &counting);
	count(NULL);
	flush_work(&counting);
}

static int __init broken_init(void)
{
	if (!strcmp(kind, "leak"))
		leak();
	else if (!strcmp(kind, "atomic"))
		sleep_in_atomic();
	else if (!strcmp(kind, "object"))
		free_pending_work();
	else if (!strcmp(kind, "order"))
		order();
	else if (!strcmp(kind, "freed"))
		use_freed();
	else if (!strcmp(kind, "race"))
		race();
	return 0;
}

static void __exit broken_exit(void)
{
}

module_init(broken_init);
module_exit(broken_exit);
MODULE_DESCRIPTION("deliberate bugs for the debug kernel's detectors");
MODULE_LICENSE("GPL");
