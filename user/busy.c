// SPDX-License-Identifier: GPL-2.0-only
/* Who else uses a card: processes that hold its device node open. */
#include "busy.h"

#include <ctype.h>
#include <dirent.h>
#include <string.h>

#include "util.h"

/* Is this our own program? The test's child is started as /proc/self/exe, so its name in comm is "exe". */
static bool is_ours(const char *proc, const char *pid)
{
	char path[1024], name[64];

	snprintf(path, sizeof(path), "%s/%s/exe", proc, pid);
	/* The kernel appends " (deleted)" after an update. */
	return !util_link_name(path, name, sizeof(name)) &&
	       (!strcmp(name, "softtape") || !strcmp(name, "softtape (deleted)"));
}

/*
 * They hold nodes without using the card: the persistence daemon keeps the driver's state alive, and a check of another
 * card opens every node at cuInit (the card's own lock keeps two checks apart).
 */
static bool is_harmless(const char *proc, const char *pid, const char *comm)
{
	return !strncmp(comm, "nvidia-persiste", 15) || is_ours(proc, pid);
}

/**
 * busy_node - the device node of a card
 * @bdf:	address of a card with the nvidia driver bound
 * @proc:	where procfs is
 * @buf:	filled, as /dev/nvidia0
 * @size:	bytes in @buf
 *
 * The driver tells its number: "Device Minor: \t 0".
 *
 * Return: whether it does.
 */
bool busy_node(const char *bdf, const char *proc, char *buf, size_t size)
{
	static const char key[] = "Device Minor:";
	char path[512], text[4096], *line;
	unsigned int minor;

	snprintf(path, sizeof(path), "%s/driver/nvidia/gpus/%s/information", proc, bdf);
	if (util_read(path, text, sizeof(text)))
		return false;

	line = strstr(text, key);
	if (!line || sscanf(line + strlen(key), " %u", &minor) != 1)
		return false;

	snprintf(buf, size, "/dev/nvidia%u", minor);
	return true;
}

static bool has_open(const char *proc, const char *pid, const char *node)
{
	char path[1024], target[256];
	struct dirent *entry;
	bool found = false;
	ssize_t n;
	DIR *stream;

	snprintf(path, sizeof(path), "%s/%s/fd", proc, pid);
	stream = opendir(path);
	if (!stream)
		return false;

	while (!found && (entry = readdir(stream))) {
		snprintf(path, sizeof(path), "%s/%s/fd/%s", proc, pid, entry->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		found = !strcmp(target, node);
	}

	closedir(stream);
	return found;
}

/**
 * busy_find - look for another user of a card
 * @bdf:	address of a card with the nvidia driver bound
 * @proc:	where procfs is
 * @who:	filled when there is one
 * @size:	bytes in @who
 *
 * Without root only this user's processes can be seen. A program that uses another card holds every node open too, so
 * the answer errs on the side of leaving it alone.
 */
bool busy_find(const char *bdf, const char *proc, char *who, size_t size)
{
	char node[64], path[1024], comm[64];
	struct dirent *entry;
	bool found = false;
	DIR *stream;

	if (!busy_node(bdf, proc, node, sizeof(node)))
		return false;

	stream = opendir(proc);
	if (!stream)
		return false;

	while (!found && (entry = readdir(stream))) {
		if (!isdigit((unsigned char)entry->d_name[0]) || !has_open(proc, entry->d_name, node))
			continue;
		snprintf(path, sizeof(path), "%s/%s/comm", proc, entry->d_name);
		if (util_read(path, comm, sizeof(comm)) || is_harmless(proc, entry->d_name, comm))
			continue;
		snprintf(who, size, "%s (pid %s) has %s open", comm, entry->d_name, node);
		found = true;
	}

	closedir(stream);
	return found;
}
