// SPDX-License-Identifier: GPL-2.0-only
/* What names this machine and its people: names, ids, addresses, serial numbers. Collected only to be hidden. */
#include "identity.h"

#include <string.h>

#include "host.h"

#define TEXT_MAX	(1024 * 1024)
#define VALUE_MAX	256

static void add_file(struct redact *redact, enum redact_kind kind, const char *path)
{
	char value[VALUE_MAX];

	if (!host_read(path, value, sizeof(value)))
		redact_add(redact, kind, value);
}

/* A host has its whole name, its own part of it and its domain. */
static void add_host(struct redact *redact, const char *name)
{
	char label[VALUE_MAX];
	const char *dot = strchr(name, '.');

	redact_add(redact, REDACT_HOST, name);
	if (!dot)
		return;
	snprintf(label, sizeof(label), "%.*s", (int)(dot - name), name);
	redact_add(redact, REDACT_HOST, label);
	if (strchr(dot + 1, '.'))
		redact_add(redact, REDACT_HOST, dot + 1);
}

static void add_hosts(struct redact *redact)
{
	static const char *const files[] = { "/proc/sys/kernel/hostname", "/etc/hostname", "/etc/mailname" };
	char *text CLEANUP_FREE = host_read_all("/etc/hosts", TEXT_MAX), *rest = text, *line, name[VALUE_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		if (!host_read(files[i], name, sizeof(name)))
			add_host(redact, name);

	while (rest && (line = strsep(&rest, "\n"))) {
		char *word, *save = NULL;

		line[strcspn(line, "#")] = '\0';
		word = strtok_r(line, " \t", &save);
		/* What every Debian writes there: ip6-localhost, ip6-allnodes. */
		while (word && (word = strtok_r(NULL, " \t", &save)))
			if (strncmp(word, "ip6-", 4))
				add_host(redact, word);
	}
}

/* Name, full name and home of people, not of services (login.defs(5): UID_MIN, and nobody). */
static void add_users(struct redact *redact)
{
	static const char *const environment[] = { "USER", "LOGNAME", "SUDO_USER" };
	char *text CLEANUP_FREE = host_read_all("/etc/passwd", TEXT_MAX), *rest = text, *line;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(environment); i++)
		if (getenv(environment[i]))
			redact_add(redact, REDACT_USER, getenv(environment[i]));

	while (rest && (line = strsep(&rest, "\n"))) {
		const char *name = strsep(&line, ":"), *password = strsep(&line, ":"), *uid = strsep(&line, ":");
		const char *gid = strsep(&line, ":"), *full = strsep(&line, ":"), *home = strsep(&line, ":");
		unsigned long number = uid ? strtoul(uid, NULL, 10) : 0;
		char person[VALUE_MAX];

		(void)password;
		(void)gid;
		if (!home || number < 1000 || number == 65534)
			continue;
		redact_add(redact, REDACT_USER, name);
		snprintf(person, sizeof(person), "%.*s", (int)strcspn(full, ","), full);
		redact_add(redact, REDACT_USER, person);
		redact_add(redact, REDACT_USER, strrchr(home, '/') ? strrchr(home, '/') + 1 : home);
	}
}

struct value_walk {
	struct redact *redact;
	enum redact_kind kind;
	const char *dir;
	const char *file;
};

static int take_value(const char *name, void *data)
{
	const struct value_walk *walk = data;
	char path[HOST_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", walk->dir, name, walk->file);
	add_file(walk->redact, walk->kind, path);
	return 0;
}

/**
 * identity_collect - what this machine and its people are called
 * @redact:	gets the values
 */
void identity_collect(struct redact *redact)
{
	static const struct {
		enum redact_kind kind;
		const char *path;
	} files[] = {
		{ REDACT_MACHINE, "/etc/machine-id" },
		{ REDACT_MACHINE, "/var/lib/dbus/machine-id" },
		{ REDACT_MACHINE, "/proc/sys/kernel/random/boot_id" },
		{ REDACT_UUID, "/sys/class/dmi/id/product_uuid" },
		{ REDACT_SERIAL, "/sys/class/dmi/id/product_serial" },
		{ REDACT_SERIAL, "/sys/class/dmi/id/board_serial" },
		{ REDACT_SERIAL, "/sys/class/dmi/id/chassis_serial" },
		{ REDACT_SERIAL, "/sys/class/dmi/id/board_asset_tag" },
		{ REDACT_SERIAL, "/sys/class/dmi/id/chassis_asset_tag" },
	};
	static const struct {
		enum redact_kind kind;
		const char *dir;
		const char *file;
	} folders[] = {
		{ REDACT_MAC, "/sys/class/net", "address" },
		{ REDACT_SERIAL, "/sys/class/block", "device/serial" },
		{ REDACT_SERIAL, "/sys/class/block", "device/wwid" },
		{ REDACT_SERIAL, "/sys/class/nvme", "serial" },
	};
	size_t i;

	add_hosts(redact);
	add_users(redact);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		add_file(redact, files[i].kind, files[i].path);
	for (i = 0; i < ARRAY_SIZE(folders); i++) {
		struct value_walk walk = { redact, folders[i].kind, folders[i].dir, folders[i].file };

		host_each(folders[i].dir, take_value, &walk);
	}
}
