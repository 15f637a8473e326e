// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text of `lspci -x`, `-xxx` or `-xxxx` as devices. Knows nothing of cards and links. The text comes from strangers:
 * comments, verbose output between the bytes, CRLF, cut or garbled lines, binary and endless input all end well.
 */
#include "dump.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* No line that matters is longer; the rest of a longer one is skipped. */
#define LINE_MAX_BYTES	1024

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* "40: 10" and longer: the offset of a line of bytes and where they start, or -1. */
static long hex_offset(const char *line, const char **ret_bytes)
{
	long offset = 0;
	int n;

	for (n = 0; n < 3 && hex_digit(line[n]) >= 0; n++)
		offset = offset << 4 | hex_digit(line[n]);

	if (n < 2 || line[n] != ':' || line[n + 1] != ' ' || hex_digit(line[n + 2]) < 0)
		return -1;

	*ret_bytes = line + n + 2;
	return offset;
}

static void set_flaw(struct dump_device *device, const char *flaw, unsigned long line)
{
	if (device->flaw)
		return;

	device->flaw = flaw;
	device->flaw_line = line;
}

static void add_bytes(struct dump_device *device, long offset, const char *text, unsigned long line)
{
	int n;

	if ((size_t)offset != device->size) {
		set_flaw(device, "bytes missing or repeated", line);
		return;
	}

	device->byte = realloc(device->byte, device->size + 16);
	if (!device->byte)
		abort();

	for (n = 0; n < 16 && *text; n++) {
		int high = hex_digit(text[0]);
		int low = high < 0 ? -1 : hex_digit(text[1]);

		if (low < 0 || (text[2] && text[2] != ' ')) {
			set_flaw(device, "garbled line", line);
			return;
		}

		device->byte[device->size++] = (__u8)(high << 4 | low);
		text += text[2] ? 3 : 2;
	}

	if (*text || device->size > CONFIG_SIZE_MAX)
		set_flaw(device, "garbled line", line);
}

static struct dump_device *add_device(struct dump *dump, const struct address *address, unsigned long line)
{
	struct dump_device *device;

	dump->device = util_grow(dump->device, dump->nr, &dump->room, sizeof(*dump->device));
	device = &dump->device[dump->nr++];
	memset(device, 0, sizeof(*device));
	device->address = *address;
	device->line = line;
	return device;
}

/* lspci writes two digits of bus and slot, and a blank or nothing behind the function. */
static bool is_device_line(const char *line, struct address *ret_address)
{
	size_t n = address_parse_prefix(line, ret_address);

	return n >= strlen("bb:dd.f") && (!line[n] || isspace((unsigned char)line[n]));
}

static void take_line(struct dump *dump, const char *line, unsigned long number)
{
	struct address address;
	const char *bytes;
	long offset;

	if (is_device_line(line, &address)) {
		add_device(dump, &address, number);
		return;
	}

	offset = hex_offset(line, &bytes);
	if (offset >= 0 && dump->nr)
		add_bytes(&dump->device[dump->nr - 1], offset, bytes, number);
}

/* A bridge, found by the bus behind it. */
struct dump_bridge {
	__u64 key;
	size_t index;
};

static __u64 bus_key(unsigned int domain, unsigned int bus)
{
	return (__u64)domain << 8 | bus;
}

static int compare_bridges(const void *a, const void *b)
{
	const struct dump_bridge *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void find_bridges(struct dump *dump)
{
	size_t i;

	for (i = 0; i < dump->nr; i++) {
		const struct dump_device *device = &dump->device[i];
		struct config config = dump_config(device);

		dump->ones |= device->size >= CONFIG_SIZE_HEADER && config_is_gone(&config);
		if (device->flaw || !config_is_bridge(&config))
			continue;
		dump->bridge = util_grow(dump->bridge, dump->nr_bridge, &dump->room_bridge, sizeof(*dump->bridge));
		dump->bridge[dump->nr_bridge++] = (struct dump_bridge){
			.key = bus_key(device->address.domain, config_secondary(&config)),
			.index = i,
		};
	}

	if (dump->nr_bridge)
		qsort(dump->bridge, dump->nr_bridge, sizeof(*dump->bridge), compare_bridges);
}

static void judge_device(struct dump_device *device)
{
	struct config config = dump_config(device);

	if (!device->size)
		set_flaw(device, "no bytes: lspci needs -xxxx", device->line);
	else if (device->size < CONFIG_SIZE_HEADER)
		set_flaw(device, "bytes end inside the header", device->line);
	else if (config_is_gone(&config))
		set_flaw(device, "config space reads all ones: the device was off the bus", device->line);
}

/* One line without its end, blanks around it cut; -1 at the end of the input, -errno when it fails. */
static int next_line(FILE *file, char *line, size_t size, size_t *total)
{
	size_t len = 0;
	int c;

	while ((c = getc_unlocked(file)) != EOF) {
		if (++*total > DUMP_SIZE_MAX)
			return -EFBIG;
		if (c == '\n')
			break;
		/* Pastes are often indented by blanks; a tab starts a line of verbose text. */
		if (!len && c == ' ')
			continue;
		if (len < size - 1)
			line[len++] = (char)(c ? c : '?');
	}

	if (c == EOF && ferror(file))
		return -(errno ? errno : EIO);
	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	line[len] = '\0';
	return c != EOF || len ? 1 : 0;
}

/**
 * dump_read - read all devices of a text
 * @file:	the text
 * @ret_dump:	filled on success; to be freed with dump_free(). Bytes that cannot be used have a flaw
 *
 * Return: 0; -EFBIG when the input does not end, or the negative errno of reading.
 */
int dump_read(FILE *file, struct dump *ret_dump)
{
	struct dump dump = { 0 };
	char line[LINE_MAX_BYTES] = "";
	unsigned long number = 0;
	size_t total = 0, i;
	int ret;

	while ((ret = next_line(file, line, sizeof(line), &total)) > 0) {
		/* Editors of other systems write one. */
		size_t mark = !number && !strncmp(line, "\xef\xbb\xbf", 3) ? 3 : 0;

		take_line(&dump, line + mark, ++number);
	}

	if (ret < 0) {
		dump_free(&dump);
		return ret;
	}

	for (i = 0; i < dump.nr; i++)
		judge_device(&dump.device[i]);
	find_bridges(&dump);

	*ret_dump = dump;
	return 0;
}

struct config dump_config(const struct dump_device *device)
{
	return (struct config){ .byte = device->byte, .size = device->size };
}

/**
 * dump_port - the bridge whose secondary bus a device sits on
 * @dump:	all devices
 * @index:	the device
 *
 * A text may hold several machines one after the other: the nearest bridge before the device wins, then the first behind.
 *
 * Return: the bridge, or NULL.
 */
const struct dump_device *dump_port(const struct dump *dump, size_t index)
{
	const struct dump_device *card = &dump->device[index];
	size_t low = 0, high = dump->nr_bridge, middle;
	__u64 key = bus_key(card->address.domain, card->address.bus);

	/* The first bridge that is not before the device, among those of its bus. */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (dump->bridge[middle].key < key || (dump->bridge[middle].key == key && dump->bridge[middle].index < index))
			low = middle + 1;
		else
			high = middle;
	}

	if (low && dump->bridge[low - 1].key == key)
		return &dump->device[dump->bridge[low - 1].index];
	/* Nothing is above itself, whatever its registers say. */
	low += low < dump->nr_bridge && dump->bridge[low].index == index;
	if (low < dump->nr_bridge && dump->bridge[low].key == key)
		return &dump->device[dump->bridge[low].index];
	return NULL;
}

void dump_free(struct dump *dump)
{
	size_t i;

	for (i = 0; i < dump->nr; i++)
		free(dump->device[i].byte);
	free(dump->device);
	free(dump->bridge);
	memset(dump, 0, sizeof(*dump));
}
