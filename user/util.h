/* SPDX-License-Identifier: GPL-2.0-only */
/* Small things every file of the helper needs: cleanup attributes, whole small files, PCI addresses. */
#ifndef UTIL_H
#define UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(string, first) __attribute__((format(printf, string, first)))

#define CLEANUP_FREE __attribute__((cleanup(util_free)))
#define CLEANUP_CLOSE __attribute__((cleanup(util_close)))
#define CLEANUP_FILE __attribute__((cleanup(util_fclose)))

static inline void util_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void util_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void util_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

/* A domain has up to eight digits (VMD's start at 10000), a file name made of the text must stay short. */
#define ADDRESS_MAX 20

/**
 * struct address - a PCI function's address
 * @domain:	segment
 * @bus:	bus number
 * @slot:	device number, 0-31
 * @function:	0-7
 */
struct address {
	unsigned int domain;
	unsigned char bus;
	unsigned char slot;
	unsigned char function;
};

int address_parse(const char *text, struct address *ret_address);
size_t address_parse_prefix(const char *text, struct address *ret_address);
void address_format(const struct address *address, char *buf, size_t size);
bool address_same_slot(const struct address *a, const struct address *b);

int util_read(const char *path, char *buf, size_t size);
int util_link_name(const char *path, char *buf, size_t size);
void util_clean_utf8(const char *text, char *buf, size_t size);
char *util_clean_copy(const char *text);
void util_copy(char *buf, size_t size, const char *text);
void *util_grow(void *array, size_t nr, size_t *room, size_t size);
long long util_now_ms(void);

#endif
