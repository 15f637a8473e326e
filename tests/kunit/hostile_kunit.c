// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cards made of random and of damaged bytes: loops and holes in capability lists, impossible speeds and widths. Nothing
 * hangs, nothing is left behind, and what is no card gets not one write that it would not have got without the module.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/pci.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>

#include "fakehost.h"
#include "record.h"
#include "suites.h"

static unsigned int images = 60;
module_param(images, uint, 0444);
MODULE_PARM_DESC(images, "how many cards");

static unsigned int seed = 1;
module_param(seed, uint, 0444);

static u8 *sound, *image;

static void put16(u8 *at, u16 value)
{
	at[0] = value;
	at[1] = value >> 8;
}

/* The same number gives the same bytes. Every other one is a card, by its id and class. */
static void make_image(unsigned int number)
{
	struct rnd_state random;
	unsigned int i, damaged;

	prandom_seed_state(&random, ((u64)seed << 32) + number);
	if (number % 4 < 2) {
		prandom_bytes_state(&random, image, FAKEHOST_SPACE);
	} else {
		memcpy(image, sound, FAKEHOST_SPACE);
		damaged = 1 + prandom_u32_state(&random) % 32;
		for (i = 0; i < damaged; i++) {
			u32 at = prandom_u32_state(&random);

			/* Mostly where the capabilities are. */
			at = at & 0x1000 ? 0x34 + at % 0xdc : at & 0x2000 ? 0x100 + at % 0x40 : at % FAKEHOST_SPACE;
			image[at] = prandom_u32_state(&random);
		}
	}

	put16(image + PCI_VENDOR_ID, PCI_VENDOR_ID_NVIDIA);
	put16(image + PCI_DEVICE_ID, number % 2 ? 0x1b87 : 0x1b81);
	put16(image + PCI_CLASS_DEVICE, PCI_CLASS_DISPLAY_3D);
	image[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_NORMAL;
}

static void sound_image(struct kunit *test)
{
	struct pci_dev *card = fakehost_card(0, 0);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, card);
	for (i = 0; i < FAKEHOST_SPACE; i++)
		pci_read_config_byte(card, i, &sound[i]);
	pci_dev_put(card);
}

/* A life of this card with the module loaded or not; how many writes it got. */
static unsigned int live(struct kunit *test, unsigned int number, bool loaded)
{
	struct softtape_report report;
	struct pci_dev *card;
	unsigned int writes = 0, i;

	make_image(number);
	fakehost_set_image(image, FAKEHOST_SPACE);
	fakehost_log_clear();
	fakehost_set_present(1);
	host_rescan();
	card = fakehost_card(0, 0);
	if (card && loaded)
		KUNIT_EXPECT_EQ_MSG(test, softtape_record_snapshot(&card->dev, &report), number % 2 == 1,
				    "seed %u image %u", seed, number);
	if (card && loaded && number % 2)
		softtape_record_verify(&card->dev);
	for (i = 0; fakehost_log_at(i); i++)
		writes += !strcmp(fakehost_log_at(i)->fn, "ep");
	host_remove(0);
	if (card)
		KUNIT_EXPECT_FALSE(test, softtape_record_snapshot(&card->dev, &report));
	pci_dev_put(card);
	fakehost_set_present(0);
	return writes;
}

/* The same with the module loaded for this one alone, behind the card that comes first in each round. */
static unsigned int live_alone(struct kunit *test, unsigned int number, bool loaded)
{
	unsigned int writes;

	if (loaded)
		KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	live(test, 0, loaded);
	writes = live(test, number, loaded);
	if (loaded)
		module_unload();
	return writes;
}

/* In parts, as neither KUnit (300 s) nor the kernel's look for hung tasks (120 s) waits longer for one. */
static const unsigned int parts[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 };

static void part_name(const unsigned int *part, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "part %u, seed %u", *part, seed);
}

KUNIT_ARRAY_PARAM(part, parts, part_name);

static void images_test(struct kunit *test)
{
	const unsigned int part = *(const unsigned int *)test->param_value;
	const unsigned int first = images * part / ARRAY_SIZE(parts), end = images * (part + 1) / ARRAY_SIZE(parts);
	unsigned int *with, i, without, again;

	host_start(test);
	sound_image(test);
	host_remove(0);
	fakehost_set_present(0);

	with = kunit_kcalloc(test, end - first, sizeof(*with), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, with);

	/*
	 * What is no card lives twice, each time behind the same one: a card meets the windows that the one before has
	 * left, which is no matter of the module.
	 */
	KUNIT_ASSERT_EQ(test, module_load("speed", "gen1"), 0);
	live(test, 0, true);
	for (i = first; i < end; i++)
		if (i % 2 == 0)
			with[i - first] = live(test, i, true);
	for (i = first; i < end; i++)
		if (i % 2)
			live(test, i, true);
	module_unload();

	live(test, 0, false);
	for (i = first; i < end; i++) {
		if (i % 2)
			continue;
		without = live(test, i, false);
		/* What the kernel writes at a time of its own, as in its look for PME, does not come again. */
		for (again = 0; again < 3 && with[i - first] != without; again++) {
			with[i - first] = live_alone(test, i, true);
			without = live_alone(test, i, false);
		}
		KUNIT_EXPECT_EQ_MSG(test, with[i - first], without, "seed %u image %u is no card and got other writes",
				    seed, i);
	}
	fakehost_set_image(NULL, 0);
}

static int hostile_init(struct kunit *test)
{
	sound = vmalloc(FAKEHOST_SPACE);
	image = vmalloc(FAKEHOST_SPACE);
	if (!sound || !image)
		return -ENOMEM;
	return host_init(test);
}

static void hostile_exit(struct kunit *test)
{
	host_exit(test);
	vfree(sound);
	vfree(image);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(images_test, part_gen_params),
	{ }
};

struct kunit_suite hostile_suite = {
	.name = "softtape-hostile",
	.init = hostile_init,
	.exit = hostile_exit,
	.test_cases = cases,
};
