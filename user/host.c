// SPDX-License-Identifier: GPL-2.0-only
/* Files of this machine by their absolute paths, below one root that tests put elsewhere. Knows no cards. */
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* As many as the kernel follows itself (include/linux/namei.h:MAXSYMLINKS). */
#define LINKS_MAX	40

/**
 * host_root - what every absolute path is put behind
 *
 * SOFTTAPE_ROOT is for tests: a folder with the files of another machine. Nothing that runs with more rights than its
 * caller looks at it.
 *
 * Return: the folder, "" on the machine itself.
 */
const char *host_root(void)
{
	const char *root = secure_getenv("SOFTTAPE_ROOT");

	return root ? root : "";
}

/**
 * host_path - where a file of the machine really is
 * @path:	absolute
 * @buf:	filled
 * @size:	bytes in @buf
 */
void host_path(const char *path, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s", host_root(), path);
}

bool host_exists(const char *path)
{
	char resolved[HOST_PATH_MAX], full[HOST_PATH_MAX];

	if (host_resolve(path, resolved, sizeof(resolved)))
		return false;
	host_path(resolved, full, sizeof(full));
	return !access(full, F_OK);
}

/**
 * host_read - read a small file of the machine as text
 * @path:	absolute
 * @buf:	terminated on success, without trailing white space
 * @size:	bytes in @buf; a longer file is cut
 *
 * Return: 0 or a negative errno.
 */
int host_read(const char *path, char *buf, size_t size)
{
	char full[HOST_PATH_MAX];

	host_path(path, full, sizeof(full));
	return util_read(full, buf, size);
}

/**
 * host_read_all - read a file of the machine as text
 * @path:	absolute
 * @max:	bytes that are read at most
 *
 * Return: the text, to be freed; NULL with errno set.
 */
char *host_read_all(const char *path, size_t max)
{
	char *text = malloc(max + 1);
	int ret;

	if (!text)
		abort();

	ret = host_read(path, text, max + 1);
	if (!ret)
		return text;

	free(text);
	errno = -ret;
	return NULL;
}

/* The folder part of @path stays, its last part is replaced by @target; an absolute target replaces all of it. */
static void follow(char *path, size_t size, const char *target)
{
	char *slash = strrchr(path, '/');

	if (target[0] == '/' || !slash)
		util_copy(path, size, target);
	else
		util_copy(slash + 1, size - (size_t)(slash + 1 - path), target);
}

/**
 * host_resolve - where the last part of a path leads in the end, links counted from the root
 * @path:	absolute; links in its folders are followed by the kernel and must be relative to work below another root
 * @buf:	filled on success
 * @size:	bytes in @buf
 *
 * Return: 0, or a negative errno.
 */
int host_resolve(const char *path, char *buf, size_t size)
{
	char full[HOST_PATH_MAX], target[HOST_PATH_MAX];
	int left;
	ssize_t n;

	util_copy(buf, size, path);
	for (left = LINKS_MAX; left; left--) {
		host_path(buf, full, sizeof(full));
		n = readlink(full, target, sizeof(target) - 1);
		if (n < 0)
			return errno == EINVAL ? 0 : -errno;
		target[n] = '\0';
		follow(buf, size, target);
	}

	return -ELOOP;
}

/**
 * host_mtime - when a file was last written
 * @path:	absolute
 *
 * Return: seconds since the epoch, 0 when there is no such file.
 */
long long host_mtime(const char *path)
{
	char full[HOST_PATH_MAX];
	struct stat stat_buf;

	host_path(path, full, sizeof(full));
	return stat(full, &stat_buf) ? 0 : stat_buf.st_mtime;
}

static int is_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/**
 * host_each - walk the names in a folder, in the order of version numbers, hidden ones left out
 * @dir:	absolute
 * @take:	called with each name; not 0 ends the walk
 * @data:	handed to @take
 *
 * Return: what @take returned last, 0 for an empty folder, a negative errno for one that cannot be read.
 */
int host_each(const char *dir, int (*take)(const char *name, void *data), void *data)
{
	char full[HOST_PATH_MAX];
	struct dirent **names;
	int i, nr, ret = 0;

	host_path(dir, full, sizeof(full));
	nr = scandir(full, &names, is_name, versionsort);
	if (nr < 0)
		return -errno;

	for (i = 0; i < nr; i++) {
		if (!ret)
			ret = take(names[i]->d_name, data);
		free(names[i]);
	}

	free(names);
	return ret;
}

/**
 * host_release - release of the running kernel
 * @buf:	filled
 * @size:	bytes in @buf
 */
void host_release(char *buf, size_t size)
{
	struct utsname uts;

	if (host_root()[0] && !host_read("/proc/sys/kernel/osrelease", buf, size))
		return;
	util_copy(buf, size, uname(&uts) ? "KERNEL" : uts.release);
}
