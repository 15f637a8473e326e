// SPDX-License-Identifier: GPL-2.0-only
/* Cards as this machine shows them, or as a dump does: identity, link, driver, quirk state. Decides nothing. */
#include "card.h"

#include <errno.h>
#include <fcntl.h>
#include <libudev.h>
#include <string.h>

#define SYSFS_DEVICES	"/sys/bus/pci/devices"

#define CLEANUP_UDEV	__attribute__((cleanup(udev_put)))
#define CLEANUP_DEVICE	__attribute__((cleanup(device_put)))
#define CLEANUP_ENUM	__attribute__((cleanup(enumerate_put)))

static void udev_put(struct udev **udev)
{
	udev_unref(*udev);
}

static void device_put(struct udev_device **device)
{
	udev_device_unref(*device);
}

static void enumerate_put(struct udev_enumerate **enumerate)
{
	udev_enumerate_unref(*enumerate);
}

/**
 * card_path - path of a file in the card's sysfs folder
 * @card:	a live card
 * @file:	name below the folder
 * @buf:	filled
 * @size:	bytes in @buf
 */
void card_path(const struct card *card, const char *file, char *buf, size_t size)
{
	snprintf(buf, size, "%s/%s", card->syspath, file);
}

static size_t read_config(const char *path, __u8 *byte)
{
	int fd CLEANUP_CLOSE = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	if (fd < 0)
		return 0;

	while (size < CONFIG_SIZE_MAX) {
		n = pread(fd, byte + size, CONFIG_SIZE_MAX - size, (off_t)size);
		if (n <= 0)
			break;
		size += (size_t)n;
	}

	return size;
}

/* sysfs says "2.5 GT/s PCIe", "8.0 GT/s PCIe" or "Unknown" (drivers/pci/probe.c:pci_speed_string). */
static __u8 parse_speed(const char *text)
{
	static const char *const speeds[] = { "2.5 ", "5.0 ", "8.0 ", "16.0 ", "32.0 ", "64.0 " };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(speeds); i++)
		if (!strncmp(text, speeds[i], strlen(speeds[i])))
			return (__u8)(i + 1);

	return 0;
}

static void read_attribute(const struct card *card, const char *file, char *buf, size_t size)
{
	char path[CARD_PATH_MAX + CARD_WORD_MAX];

	card_path(card, file, path, sizeof(path));
	if (util_read(path, buf, size))
		buf[0] = '\0';
}

static __u8 read_number(const struct card *card, const char *file)
{
	char text[CARD_WORD_MAX];
	unsigned long number;

	read_attribute(card, file, text, sizeof(text));
	number = strtoul(text, NULL, 10);
	/* A link that is down reads 0, an unknown width 255 (PCIE_LNK_WIDTH_UNKNOWN). */
	return number < 0xff ? (__u8)number : 0;
}

static __u8 read_speed(const struct card *card, const char *file)
{
	char text[CARD_WORD_MAX];

	read_attribute(card, file, text, sizeof(text));
	return parse_speed(text);
}

static void read_function(const char *path, struct card *card)
{
	__u8 byte[CONFIG_SIZE_MAX];
	struct config config = { .byte = byte, .size = read_config(path, byte) };
	enum config_flaw flaw;

	if (config.size < CONFIG_SIZE_HEADER || config_vendor(&config) != SOFTTAPE_VENDOR_NVIDIA)
		return;

	flaw = config_end(&config, &card->link.fn[card->link.nr_fn++]);
	if (card->flaw == CONFIG_FINE)
		card->flaw = flaw;
}

/* The other functions of the slot that are NVIDIA's: their bits count as the card's. */
static void read_siblings(struct card *card)
{
	struct address address = card->address;
	char bdf[ADDRESS_MAX], path[CARD_PATH_MAX];
	unsigned char i;

	for (i = 0; i < SOFTTAPE_FUNCTIONS_MAX; i++) {
		if (i == card->address.function)
			continue;
		address.function = i;
		address_format(&address, bdf, sizeof(bdf));
		snprintf(path, sizeof(path), SYSFS_DEVICES "/%s/config", bdf);
		read_function(path, card);
	}
}

static void read_port(struct card *card)
{
	__u8 byte[CONFIG_SIZE_MAX];
	struct config config = { .byte = byte };
	char path[CARD_PATH_MAX];

	card->link.above = SOFTTAPE_ABOVE_NONE;
	if (!card->port[0])
		return;

	snprintf(path, sizeof(path), SYSFS_DEVICES "/%s/config", card->port);
	config.size = read_config(path, byte);
	card->link.above = SOFTTAPE_ABOVE_UNKNOWN;
	if (config.size < CONFIG_SIZE_HEADER || config_is_gone(&config))
		return;

	config_end(&config, &card->link.port);
	if (card->link.port.known && !config_is_downstream(&card->link.port))
		card->link.above = SOFTTAPE_ABOVE_NONE;
	else
		card->link.above = SOFTTAPE_ABOVE_PORT;
}

static enum softtape_value read_d3cold(const struct card *card)
{
	char text[CARD_WORD_MAX];

	if (!strcmp(card->quirk[SOFTTAPE_F_D3COLD], "off"))
		return SOFTTAPE_OFF;
	if (!strcmp(card->quirk[SOFTTAPE_F_D3COLD], "on"))
		return SOFTTAPE_ON;

	/* The user's own switch; the kernel's flag behind it is not shown anywhere. */
	read_attribute(card, "d3cold_allowed", text, sizeof(text));
	if (!strcmp(text, "0"))
		return SOFTTAPE_OFF;
	return strcmp(text, "1") ? SOFTTAPE_UNKNOWN : SOFTTAPE_ON;
}

/**
 * card_read_link - read registers of both ends as far as we may
 * @card:	a live card; everything about its link is replaced
 *
 * Without root only 64 bytes can be read: then the items are unknown, speed and width come from sysfs.
 */
void card_read_link(struct card *card)
{
	__u8 byte[CONFIG_SIZE_MAX];
	struct config config = { .byte = byte };
	char path[CARD_PATH_MAX + CARD_WORD_MAX];

	memset(&card->link, 0, sizeof(card->link));
	card->link.nr_fn = 1;
	card_path(card, "config", path, sizeof(path));
	config.size = read_config(path, byte);
	card->config_size = config.size;
	card->gone = config.size ? config_is_gone(&config) : access(card->syspath, F_OK) != 0;
	card->flaw = CONFIG_SHORT;

	if (config.size >= CONFIG_SIZE_HEADER && !card->gone)
		card->flaw = config_end(&config, &card->link.fn[0]);
	read_siblings(card);
	read_port(card);
	card->link.d3cold = read_d3cold(card);

	softtape_view_make(&card->link, &card->view);
	if (card->gone || card->link.fn[0].known)
		return;

	card->view.speed = read_speed(card, "current_link_speed");
	card->view.width = read_number(card, "current_link_width");
	card->view.max_speed = read_speed(card, "max_link_speed");
	card->view.max_width = read_number(card, "max_link_width");
}

/**
 * card_read_driver - look which driver is bound now
 * @card:	a live card
 */
void card_read_driver(struct card *card)
{
	char path[CARD_PATH_MAX + CARD_WORD_MAX];

	card_path(card, "driver", path, sizeof(path));
	if (util_link_name(path, card->driver, sizeof(card->driver)))
		card->driver[0] = '\0';
}

/**
 * card_read_quirks - read what the module says now
 * @card:	a live card
 */
void card_read_quirks(struct card *card)
{
	char file[CARD_WORD_MAX];
	int i;

	for (i = 0; i < SOFTTAPE_NR_FIELDS; i++) {
		snprintf(file, sizeof(file), "softtape/%s", softtape_field_name(i));
		read_attribute(card, file, card->quirk[i], sizeof(card->quirk[i]));
	}

	read_attribute(card, "softtape/report", card->report, sizeof(card->report));
	card->claimed = card->quirk[SOFTTAPE_F_STATE][0] != '\0';
}

static __u32 sysattr_hex(struct udev_device *device, const char *name)
{
	const char *text = udev_device_get_sysattr_value(device, name);

	return text ? (__u32)strtoul(text, NULL, 16) : 0;
}

static void set_name(struct card *card, struct udev_device *device)
{
	const char *model = NULL;

	if (card->row && card->row->device) {
		util_copy(card->name, sizeof(card->name), card->row->name);
		return;
	}

	if (device)
		model = udev_device_get_property_value(device, "ID_MODEL_FROM_DATABASE");
	util_copy(card->name, sizeof(card->name), model ? model : card->row ? card->row->name : "NVIDIA device");
}

/* The module knows better than we which ids its user added. */
static void set_row(struct card *card, const struct softtape_policy *policy)
{
	static const struct softtape_card added = { .name = "user-added" };

	card->row = softtape_card_match(policy, card->vendor, card->device, card->class_code);
	if (!card->row && card->quirk[SOFTTAPE_F_CARD][0])
		card->row = &added;
}

static int read_device(struct udev_device *device, const struct softtape_policy *policy, struct card *ret_card)
{
	struct udev_device *parent = udev_device_get_parent(device);
	const char *subsystem = parent ? udev_device_get_subsystem(parent) : NULL;
	struct card card = { 0 };

	if (address_parse(udev_device_get_sysname(device), &card.address))
		return -EINVAL;

	address_format(&card.address, card.bdf, sizeof(card.bdf));
	util_copy(card.syspath, sizeof(card.syspath), udev_device_get_syspath(device));
	card.vendor = (__u16)sysattr_hex(device, "vendor");
	card.device = (__u16)sysattr_hex(device, "device");
	card.class_code = sysattr_hex(device, "class") & 0xffffff;
	if (subsystem && !strcmp(subsystem, "pci"))
		util_copy(card.port, sizeof(card.port), udev_device_get_sysname(parent));

	card_read_quirks(&card);
	set_row(&card, policy);
	set_name(&card, device);
	card_read_driver(&card);
	*ret_card = card;
	return 0;
}

/**
 * card_open - look at one device, not at its registers
 * @policy:	for added ids
 * @address:	where
 * @ret_card:	filled on success
 *
 * Return:
 * * %0		- there is a device, whatever it is
 * * %-ENODEV	- there is none
 * * %-ENOMEM	- libudev could not start
 */
int card_open(const struct softtape_policy *policy, const struct address *address, struct card *ret_card)
{
	struct udev *udev CLEANUP_UDEV = udev_new();
	struct udev_device *device CLEANUP_DEVICE = NULL;
	char bdf[ADDRESS_MAX];

	if (!udev)
		return -ENOMEM;

	address_format(address, bdf, sizeof(bdf));
	device = udev_device_new_from_subsystem_sysname(udev, "pci", bdf);
	if (!device)
		return -ENODEV;

	return read_device(device, policy, ret_card);
}

static int compare_cards(const void *a, const void *b)
{
	const struct address *x = &((const struct card *)a)->address, *y = &((const struct card *)b)->address;

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	return (x->bus << 16 | x->slot << 8 | x->function) - (y->bus << 16 | y->slot << 8 | y->function);
}

static struct card *add_card(struct card_list *list, const struct card *card)
{
	list->item = util_grow(list->item, list->nr, &list->room, sizeof(*list->item));
	list->item[list->nr] = *card;
	return &list->item[list->nr++];
}

static void take_device(struct udev *udev, const char *syspath, const struct softtape_policy *policy, bool any,
			struct card_list *list)
{
	struct udev_device *device CLEANUP_DEVICE = udev_device_new_from_syspath(udev, syspath);
	struct card card;

	if (!device || sysattr_hex(device, "vendor") != SOFTTAPE_VENDOR_NVIDIA ||
	    sysattr_hex(device, "class") >> 16 != SOFTTAPE_CLASS_DISPLAY)
		return;

	if (!read_device(device, policy, &card) && (card.row || any))
		add_card(list, &card);
}

/**
 * card_discover - find the cards of this machine without looking at their registers
 * @policy:	for added ids
 * @any:	every NVIDIA display function, not only mining cards
 * @ret_list:	filled on success, sorted by address; to be freed with card_list_free()
 *
 * Return: 0 or a negative errno.
 */
int card_discover(const struct softtape_policy *policy, bool any, struct card_list *ret_list)
{
	struct udev *udev CLEANUP_UDEV = udev_new();
	struct udev_enumerate *enumerate CLEANUP_ENUM = udev ? udev_enumerate_new(udev) : NULL;
	struct udev_list_entry *entry;
	struct card_list list = { 0 };
	int ret;

	if (!enumerate)
		return -ENOMEM;

	ret = udev_enumerate_add_match_subsystem(enumerate, "pci");
	if (ret >= 0)
		ret = udev_enumerate_scan_devices(enumerate);
	if (ret < 0)
		return ret;

	udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(enumerate))
		take_device(udev, udev_list_entry_get_name(entry), policy, any, &list);

	if (list.nr)
		qsort(list.item, list.nr, sizeof(*list.item), compare_cards);
	*ret_list = list;
	return 0;
}

static void add_function(struct card *card, const struct dump_device *device)
{
	struct config config = dump_config(device);
	enum config_flaw flaw;

	if (device->flaw || !address_same_slot(&device->address, &card->address) ||
	    config_vendor(&config) != SOFTTAPE_VENDOR_NVIDIA || card->link.nr_fn == SOFTTAPE_FUNCTIONS_MAX)
		return;

	flaw = config_end(&config, &card->link.fn[card->link.nr_fn++]);
	if (card->flaw == CONFIG_FINE)
		card->flaw = flaw;
}

static bool is_next_function(const struct address *before, const struct address *after)
{
	return address_same_slot(before, after) && before->function < after->function;
}

/* lspci prints the functions of a slot one after the other, upwards; what comes after the last is the next machine's. */
static void dump_functions(const struct dump *dump, size_t index, struct card *card)
{
	const struct dump_device *device = dump->device;
	size_t i;

	add_function(card, &device[index]);
	for (i = index; i && is_next_function(&device[i - 1].address, &device[i].address); i--)
		add_function(card, &device[i - 1]);
	for (i = index + 1; i < dump->nr && is_next_function(&device[i - 1].address, &device[i].address); i++)
		add_function(card, &device[i]);
}

static void dump_above(const struct dump *dump, size_t index, struct card *card)
{
	const struct dump_device *port = dump_port(dump, index);
	struct config config;

	/* Nothing is above the bus where a machine starts; other root buses cannot be told from a port that is missing. */
	if (!port) {
		card->link.above = card->address.bus ? SOFTTAPE_ABOVE_UNKNOWN : SOFTTAPE_ABOVE_NONE;
		card->port_gone = dump->ones;
		return;
	}

	config = dump_config(port);
	address_format(&port->address, card->port, sizeof(card->port));
	config_end(&config, &card->link.port);
	card->link.above = card->link.port.known && !config_is_downstream(&card->link.port) ? SOFTTAPE_ABOVE_NONE :
			   SOFTTAPE_ABOVE_PORT;
}

static bool dump_card(const struct softtape_policy *policy, const struct dump *dump, size_t index, struct card *card)
{
	const struct dump_device *device = &dump->device[index];
	struct config config = dump_config(device);

	memset(card, 0, sizeof(*card));
	card->row = softtape_card_match(policy, config_vendor(&config), config_device(&config), config_class(&config));
	if (!card->row)
		return false;

	card->address = device->address;
	card->line = device->line;
	address_format(&card->address, card->bdf, sizeof(card->bdf));
	card->vendor = config_vendor(&config);
	card->device = config_device(&config);
	card->class_code = config_class(&config);
	card->config_size = device->size;
	set_name(card, NULL);

	dump_functions(dump, index, card);
	dump_above(dump, index, card);
	card->link.d3cold = SOFTTAPE_UNKNOWN;
	softtape_view_make(&card->link, &card->view);
	return true;
}

/* A card of a list that is to be sorted without moving it. */
struct place {
	struct card *card;
};

static int by_place(const void *a, const void *b)
{
	const struct card *x = ((const struct place *)a)->card, *y = ((const struct place *)b)->card;
	int order = strcmp(x->bdf, y->bdf);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Several machines in one text are welcome; which card is which must be told then. */
static void tell_repeated(struct card_list *list, struct finding_list *findings)
{
	struct place *order = calloc(list->nr + 1, sizeof(*order));
	const char *bdf;
	size_t i, n;

	if (!order)
		abort();
	for (i = 0; i < list->nr; i++)
		order[i].card = &list->item[i];
	qsort(order, list->nr, sizeof(*order), by_place);

	for (i = 0; i < list->nr; i += n) {
		bdf = order[i].card->bdf;
		for (n = 1; i + n < list->nr && !strcmp(order[i + n].card->bdf, bdf); n++)
			order[i + n].card->again = true;
		if (n == 1)
			continue;
		order[i].card->again = true;
		finding_add(findings, FINDING_DUMP_AGAIN, bdf, "%zu cards, the first two in lines %lu and %lu", n,
			    order[i].card->line, order[i + 1].card->line);
	}
	free(order);
}

/**
 * card_from_dump - find the cards of a dump
 * @policy:	for added ids
 * @dump:	the dump
 * @ret_list:	filled, in the order of the text; to be freed with card_list_free()
 * @findings:	gets one entry per device that cannot be read, and per address that several cards have
 *
 * Return: 0, or -ENODATA when not one device can be read.
 */
int card_from_dump(const struct softtape_policy *policy, const struct dump *dump, struct card_list *ret_list,
		   struct finding_list *findings)
{
	struct card_list list = { 0 };
	char bdf[ADDRESS_MAX];
	size_t i, readable = 0;
	struct card card;

	for (i = 0; i < dump->nr; i++) {
		const struct dump_device *device = &dump->device[i];

		if (device->flaw) {
			address_format(&device->address, bdf, sizeof(bdf));
			finding_add(findings, FINDING_DUMP_DEVICE, bdf, "line %lu: %s", device->flaw_line, device->flaw);
			continue;
		}
		readable++;
		if (!dump_card(policy, dump, i, &card))
			continue;
		if (card.flaw == CONFIG_LOOP)
			finding_add(findings, FINDING_DUMP_DEVICE, card.bdf, "the capability list runs in a circle");
		else if (card.flaw == CONFIG_SHORT)
			finding_add(findings, FINDING_DUMP_DEVICE, card.bdf, "bytes end at 0x%zx, before the registers do",
				    card.config_size);
		add_card(&list, &card);
	}

	tell_repeated(&list, findings);
	*ret_list = list;
	return readable ? 0 : -ENODATA;
}

void card_list_free(struct card_list *list)
{
	free(list->item);
	memset(list, 0, sizeof(*list));
}
