// SPDX-License-Identifier: GPL-2.0-only
/* Small things every file of the helper needs: cleanup attributes, whole small files, PCI addresses. */
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

/* Reads @min to @max hex digits at @text; 0 when there are fewer or more. */
static size_t hex_field(const char *text, size_t min, size_t max, unsigned int *ret_value)
{
	unsigned int value = 0;
	size_t n = 0;

	for (; isxdigit((unsigned char)text[n]); n++) {
		int c = tolower((unsigned char)text[n]);

		if (n == max)
			return 0;
		value = value << 4 | (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
	}

	if (n < min)
		return 0;

	*ret_value = value;
	return n;
}

/**
 * address_parse_prefix - read a PCI address at the start of a text
 * @text:	`[dddd:]bb:dd.f`, each number with or without leading zeros
 * @ret_address: filled on success
 *
 * Return: bytes read, 0 when @text does not start with an address.
 */
size_t address_parse_prefix(const char *text, struct address *ret_address)
{
	unsigned int number[3], function;
	size_t n, pos = 0, nr = 0;

	while (nr < 3) {
		n = hex_field(text + pos, 1, 8, &number[nr++]);
		if (!n)
			return 0;
		pos += n;
		if (text[pos] == '.')
			break;
		if (nr == 3 || text[pos++] != ':')
			return 0;
	}

	if (nr < 2 || text[pos++] != '.')
		return 0;

	n = hex_field(text + pos, 1, 1, &function);
	if (!n || function > 7 || number[nr - 1] > 0x1f || number[nr - 2] > 0xff)
		return 0;

	ret_address->domain = nr == 3 ? number[0] : 0;
	ret_address->bus = (unsigned char)number[nr - 2];
	ret_address->slot = (unsigned char)number[nr - 1];
	ret_address->function = (unsigned char)function;
	return pos + n;
}

/**
 * address_parse - read a PCI address
 * @text:	as for address_parse_prefix(), nothing behind it
 * @ret_address: filled on success
 *
 * Return: 0, or -EINVAL when @text is something else.
 */
int address_parse(const char *text, struct address *ret_address)
{
	struct address address;
	size_t n = address_parse_prefix(text, &address);

	if (!n || text[n])
		return -EINVAL;

	*ret_address = address;
	return 0;
}

/**
 * address_format - write a PCI address the way sysfs does
 * @address:	the address
 * @buf:	at least ADDRESS_MAX bytes
 * @size:	bytes in @buf
 */
void address_format(const struct address *address, char *buf, size_t size)
{
	snprintf(buf, size, "%04x:%02x:%02x.%x", address->domain, address->bus, address->slot, address->function);
}

bool address_same_slot(const struct address *a, const struct address *b)
{
	return a->domain == b->domain && a->bus == b->bus && a->slot == b->slot;
}

/**
 * util_read - read a small file as text
 * @path:	the file
 * @buf:	terminated on success, without trailing white space
 * @size:	bytes in @buf; a longer file is cut
 *
 * Return: 0 or a negative errno.
 */
int util_read(const char *path, char *buf, size_t size)
{
	int fd CLEANUP_CLOSE = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;

	while (len < size - 1) {
		n = read(fd, buf + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += (size_t)n;
	}

	while (len && isspace((unsigned char)buf[len - 1]))
		len--;
	buf[len] = '\0';
	return 0;
}

/**
 * util_link_name - last part of what a symbolic link points to
 * @path:	the link
 * @buf:	terminated on success
 * @size:	bytes in @buf
 *
 * Return: 0 or a negative errno.
 */
int util_link_name(const char *path, char *buf, size_t size)
{
	char target[4096];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *name;

	if (n < 0)
		return -errno;

	target[n] = '\0';
	name = strrchr(target, '/');
	util_copy(buf, size, name ? name + 1 : target);
	return 0;
}

/* Bytes of the character that a text begins with; 0 when it begins with none (RFC 3629). */
static size_t utf8_length(const unsigned char *text)
{
	size_t i, length = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 0;

	for (i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than needed, half of a surrogate pair, behind the last character. */
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return length;
}

/**
 * util_clean_utf8 - copy a text that may hold anything, as a kernel log does
 * @text:	as it came
 * @buf:	filled; a byte that is no UTF-8 becomes a question mark
 * @size:	bytes in @buf; a longer text is cut between two characters
 */
void util_clean_utf8(const char *text, char *buf, size_t size)
{
	size_t length, at = 0;

	while (*text) {
		length = utf8_length((const unsigned char *)text);
		if (at + (length ? length : 1) >= size)
			break;
		if (length)
			memcpy(buf + at, text, length);
		else
			buf[at] = '?';
		at += length ? length : 1;
		text += length ? length : 1;
	}
	buf[at] = '\0';
}

/* The same in memory of its own, to be freed. */
char *util_clean_copy(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	if (!copy)
		abort();
	util_clean_utf8(text, copy, size);
	return copy;
}

/* Copies a text, cut where it does not fit. */
void util_copy(char *buf, size_t size, const char *text)
{
	snprintf(buf, size, "%s", text);
}

/**
 * util_grow - make room for one more element
 * @array:	the array so far, or NULL
 * @nr:		elements in use
 * @room:	elements that fit, changed
 * @size:	bytes of one element
 *
 * Return: the array, moved or not. Out of memory ends the program: nothing sensible is left to do.
 */
void *util_grow(void *array, size_t nr, size_t *room, size_t size)
{
	if (nr < *room)
		return array;

	*room = *room ? *room * 2 : 8;
	array = reallocarray(array, *room, size);
	if (!array) {
		fputs("softtape: out of memory\n", stderr);
		abort();
	}

	return array;
}

/* Milliseconds of the monotonic clock. */
long long util_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}
