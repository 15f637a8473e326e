// SPDX-License-Identifier: GPL-2.0-only
/* The files below softtape/: what they show, and what they take. */
#include "../../kmod/sysfs.c"

#include "fakehost.h"
#include "suites.h"

static const char *show(struct kunit *test, struct pci_dev *card, struct device_attribute *attr)
{
	/* sysfs_emit() wants a page. */
	char *page = (char *)get_zeroed_page(GFP_KERNEL);
	char *text = kunit_kzalloc(test, 512, GFP_KERNEL);
	ssize_t ret;

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_NOT_NULL(test, text);
	ret = attr->show(&card->dev, attr, page);
	if (ret < 0)
		snprintf(text, 512, "%zd", ret);
	else
		strscpy(text, page, 512);
	free_page((unsigned long)page);
	return text;
}

static void files_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_EXPECT_STREQ(test, show(test, card, &field_state.attr), "-19");
	KUNIT_EXPECT_STREQ(test, show(test, card, &dev_attr_report), "-19");
	KUNIT_EXPECT_EQ(test, verify_store(&card->dev, &dev_attr_verify, "1", 1), (ssize_t)-ENODEV);

	KUNIT_ASSERT_EQ(test, module_load("dry_run", "Y"), 0);
	/* A verify may come before the work has done its part. */
	while (verify_store(&card->dev, &dev_attr_verify, "1\n", 2) == -EAGAIN)
		cond_resched();
	KUNIT_EXPECT_STREQ(test, show(test, card, &field_card.attr), "P104-100\n");
	KUNIT_EXPECT_STREQ(test, show(test, card, &field_state.attr), "dry-run\n");
	KUNIT_EXPECT_STREQ(test, show(test, card, &field_aspm.attr), "l0s+l1\n");
	KUNIT_EXPECT_STREQ(test, show(test, card, &field_clkpm.attr), "on\n");
	KUNIT_EXPECT_STREQ(test, show(test, card, &field_l1ss.attr), "off\n");
	KUNIT_EXPECT_STREQ(test, show(test, card, &field_cap.attr), "keep\n");
	KUNIT_EXPECT_STREQ(test, show(test, card, &field_speed.attr), "8GT/s,x4\n");
	KUNIT_EXPECT_STREQ(test, show(test, card, &dev_attr_report),
			   "state=dry-run aspm=l0s+l1(would be off) clkpm=on(would be off) l1ss=off(unchanged) "
			   "d3cold=on(would be off) cap=keep speed=8GT/s,x4(max 8GT/s,x4) smbus=off\n");
	KUNIT_EXPECT_EQ(test, verify_store(&card->dev, &dev_attr_verify, "1\n", 2), (ssize_t)2);
	KUNIT_EXPECT_EQ(test, verify_store(&card->dev, &dev_attr_verify, "0\n", 2), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, verify_store(&card->dev, &dev_attr_verify, "", 0), (ssize_t)-EINVAL);
	module_unload();
	KUNIT_EXPECT_STREQ(test, show(test, card, &field_state.attr), "-19");
}

static void twice_test(struct kunit *test)
{
	struct pci_dev *card;

	host_start(test);
	card = host_card(test, 0, 0);
	KUNIT_EXPECT_EQ(test, softtape_sysfs_add(card), 0);
	softtape_sysfs_del(card);
	KUNIT_EXPECT_EQ(test, softtape_sysfs_add(card), 0);
	softtape_sysfs_del(card);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(files_test),
	KUNIT_CASE(twice_test),
	{ }
};

struct kunit_suite sysfs_suite = {
	.name = "softtape-sysfs",
	.init = host_init,
	.exit = host_exit,
	.test_cases = cases,
};
