// SPDX-License-Identifier: GPL-2.0-only
/* The lines of the kernel log. Understands none of them. */
#include "klog.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "host.h"

/* One record per read (Documentation/ABI/testing/dev-kmsg); longer ones do not exist. */
#define RECORD_MAX	8192

/* The message stands behind the first semicolon, more lines with keys behind it. */
static void take_record(char *record, void (*take)(const char *line, void *data), void *data)
{
	char *line = strchr(record, ';');

	if (!line)
		return;
	line[strcspn(line, "\n")] = '\0';
	take(line + 1, data);
}

/* One message per read, until there is none. */
static int read_records(int fd, void (*take)(const char *line, void *data), void *data)
{
	char record[RECORD_MAX];
	ssize_t n;

	for (;;) {
		n = read(fd, record, sizeof(record) - 1);
		/* Overwritten while we read: the next read goes on with what is left. */
		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (n <= 0)
			return n < 0 && errno != EAGAIN ? -errno : 0;
		record[n] = '\0';
		take_record(record, take, data);
	}
}

/**
 * klog_each - walk the kernel log from its oldest line
 * @take:	called with each message, without its prefix
 * @data:	handed to @take
 *
 * A test's file of records, one a line, is read the same way.
 *
 * Return: 0, or a negative errno when the log may not be read.
 */
int klog_each(void (*take)(const char *line, void *data), void *data)
{
	char path[HOST_PATH_MAX], record[RECORD_MAX];
	FILE *file CLEANUP_FILE = NULL;
	int fd CLEANUP_CLOSE = -1;

	host_path("/dev/kmsg", path, sizeof(path));
	if (host_root()[0]) {
		file = fopen(path, "re");
		while (file && fgets(record, sizeof(record), file))
			take_record(record, take, data);
		return file ? 0 : -errno;
	}

	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;

	return read_records(fd, take, data);
}

/**
 * klog_open_end - begin to listen to what the kernel says from now on
 *
 * Return: a descriptor for klog_drain(), to be closed, or a negative errno when the log may not be read.
 */
int klog_open_end(void)
{
	char path[HOST_PATH_MAX];
	int fd;

	host_path("/dev/kmsg", path, sizeof(path));
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	lseek(fd, 0, SEEK_END);
	return fd;
}

/**
 * klog_drain - what the kernel has said since
 * @fd:		of klog_open_end()
 * @take:	called with each message, without its prefix
 * @data:	handed to @take
 */
void klog_drain(int fd, void (*take)(const char *line, void *data), void *data)
{
	char record[RECORD_MAX];
	FILE *file;

	if (!host_root()[0]) {
		read_records(fd, take, data);
		return;
	}
	file = fdopen(dup(fd), "r");
	while (file && fgets(record, sizeof(record), file))
		take_record(record, take, data);
	if (file)
		fclose(file);
}
