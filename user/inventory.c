// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which cards this machine had, kept over reboots. One line per card: address, id, name. Serial numbers are not asked for:
 * a card is told by its kind, because addresses move when another card is missing.
 */
#include "inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "host.h"
#include "state.h"

#define INVENTORY_DIR	"/var/lib/softtape"
#define INVENTORY_NAME	"inventory"

/* STATE_DIRECTORY is systemd's own name for a service's folder below /var/lib (systemd.exec(5)). */
static void folder(char *buf, size_t size)
{
	const char *given = getenv("STATE_DIRECTORY");

	if (given && given[0] == '/')
		util_copy(buf, size, given);
	else
		host_path(INVENTORY_DIR, buf, size);
}

/**
 * inventory_path - where the inventory is
 * @buf:	filled
 * @size:	bytes in @buf, a longer path is cut
 */
void inventory_path(char *buf, size_t size)
{
	char dir[HOST_PATH_MAX];

	folder(dir, sizeof(dir));
	snprintf(buf, size, "%s/" INVENTORY_NAME, dir);
}

/**
 * inventory_read - the cards that were there last time
 * @ret_inventory: filled on success; with @bad_line set it has the lines that could be read
 *
 * Return:
 * * %0		- read
 * * %-ENOENT	- nobody ever looked
 * * %-EIO	- it is there and cannot be read to its end
 * * another negative errno of open(2)
 */
int inventory_read(struct inventory *ret_inventory)
{
	struct inventory inventory = { .nr = 0 };
	char path[HOST_PATH_MAX + 16], line[256];
	unsigned int device, number = 0;
	FILE *file CLEANUP_FILE = NULL;
	struct address address;

	inventory_path(path, sizeof(path));
	file = fopen(path, "re");
	if (!file)
		return -errno;

	while (inventory.nr < INVENTORY_MAX && fgets(line, sizeof(line), file)) {
		char *name = inventory.item[inventory.nr].name;

		number++;
		if (sscanf(line, "%19s 10de:%4x %63[^\n]", inventory.item[inventory.nr].bdf, &device, name) == 3 &&
		    !address_parse(inventory.item[inventory.nr].bdf, &address))
			inventory.item[inventory.nr++].device = (__u16)device;
		else if (!inventory.bad_line)
			inventory.bad_line = number;
	}
	if (ferror(file))
		return -EIO;

	*ret_inventory = inventory;
	return 0;
}

/**
 * inventory_write - remember cards
 * @inventory:	all of them
 *
 * Return: 0 or a negative errno.
 */
static int inventory_write(const struct inventory *inventory)
{
	char dir[HOST_PATH_MAX], text[INVENTORY_MAX * 128];
	int dir_fd CLEANUP_CLOSE = -1;
	size_t i, len = 0;

	text[0] = '\0';
	for (i = 0; i < inventory->nr; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s 10de:%04x %s\n", inventory->item[i].bdf,
					inventory->item[i].device, inventory->item[i].name);

	folder(dir, sizeof(dir));
	if (mkdir(dir, 0755) && errno != EEXIST)
		return -errno;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return -errno;
	return state_replace_file(dir_fd, INVENTORY_NAME, text);
}

/* Adds a card if it is not in there. */
static void inventory_add(struct inventory *inventory, const struct card *card)
{
	size_t i;

	for (i = 0; i < inventory->nr; i++)
		if (!strcmp(inventory->item[i].bdf, card->bdf) && inventory->item[i].device == card->device)
			return;
	if (inventory->nr == INVENTORY_MAX)
		return;

	util_copy(inventory->item[inventory->nr].bdf, ADDRESS_MAX, card->bdf);
	util_copy(inventory->item[inventory->nr].name, CARD_WORD_MAX, card->name);
	inventory->item[inventory->nr++].device = card->device;
}

/**
 * inventory_missing - cards that were there and are not
 * @inventory:	what was there
 * @present:	what is there now
 * @ret_missing: filled
 *
 * A card at its old address is itself; one of the same kind at an address that is new stands for one that moved.
 */
void inventory_missing(const struct inventory *inventory, const struct card_list *present, struct inventory *ret_missing)
{
	bool found[INVENTORY_MAX] = { false }, *used = calloc(present->nr + 1, sizeof(*used));
	size_t i, n;
	int pass;

	if (!used)
		abort();

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < inventory->nr; i++)
			for (n = 0; n < present->nr && !found[i]; n++) {
				if (used[n] || present->item[n].device != inventory->item[i].device ||
				    (!pass && strcmp(present->item[n].bdf, inventory->item[i].bdf)))
					continue;
				found[i] = true;
				used[n] = true;
			}

	memset(ret_missing, 0, sizeof(*ret_missing));
	for (i = 0; i < inventory->nr; i++)
		if (!found[i])
			ret_missing->item[ret_missing->nr++] = inventory->item[i];
	free(used);
}

/**
 * inventory_learn - remember new cards, forget none
 * @present:	what is there now
 *
 * Missing cards stay in the inventory until a person saves it anew. A card that moved takes the place of its old address.
 *
 * Return: 0; -EBADMSG when the old one is garbled, which is left for a person to see; or the negative errno of reading or writing.
 */
int inventory_learn(const struct card_list *present)
{
	struct inventory old = { .nr = 0 }, missing, now = { .nr = 0 };
	size_t i;
	int ret;

	ret = inventory_read(&old);
	if (ret && ret != -ENOENT)
		return ret;
	if (old.bad_line)
		return -EBADMSG;
	inventory_missing(&old, present, &missing);
	for (i = 0; i < present->nr; i++)
		inventory_add(&now, &present->item[i]);
	for (i = 0; i < missing.nr && now.nr < INVENTORY_MAX; i++)
		now.item[now.nr++] = missing.item[i];

	if (now.nr == old.nr && !memcmp(now.item, old.item, sizeof(now.item)))
		return 0;
	return inventory_write(&now);
}

static int save(struct result *result, const struct card_list *present)
{
	struct inventory now = { .nr = 0 };
	size_t i;
	int ret;

	for (i = 0; i < present->nr; i++)
		inventory_add(&now, &present->item[i]);
	ret = inventory_write(&now);
	if (!ret)
		return 0;

	finding_add_command(&result->findings, FINDING_PERMISSION, NULL, "sudo softtape inventory save", INVENTORY_DIR ": %s",
			    strerror(-ret));
	return verdict_exit(VERDICT_NOT_TESTABLE);
}

static int show(struct result *result, const struct card_list *present)
{
	struct inventory old = { .nr = 0 }, missing;
	char path[HOST_PATH_MAX + 16];
	size_t i;
	int ret;

	ret = inventory_read(&old);
	if (ret == -ENOENT || (!ret && !old.nr && !old.bad_line)) {
		result->note = "nothing is remembered; softtape inventory save remembers the cards that are there now";
		return 0;
	}
	inventory_path(path, sizeof(path));
	if (ret)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_INPUT, NULL, "%s: %s", path, strerror(-ret));
	if (old.bad_line) {
		finding_add_command(&result->findings, FINDING_INPUT, NULL, "sudo softtape inventory save",
				    "%s:%u: not the line of a card; softtape inventory save writes the file anew", path, old.bad_line);
		return VERDICT_EXIT_USAGE;
	}

	for (i = 0; i < old.nr; i++)
		result_fact(result, old.item[i].bdf, "%s [10de:%04x]", old.item[i].name, old.item[i].device);
	inventory_missing(&old, present, &missing);
	for (i = 0; i < missing.nr; i++)
		finding_add(&result->findings, FINDING_CARD_MISSING, missing.item[i].bdf, "%s [10de:%04x] was at %s",
			    missing.item[i].name, missing.item[i].device, missing.item[i].bdf);
	return 0;
}

/* Without a word it shows what is remembered, with "save" it remembers what is there now. */
int inventory_run(const struct options *options, struct result *result)
{
	struct card_list present;
	int ret;

	if (options->nr_card > 1 || (options->nr_card && strcmp(options->card[0], "save")))
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL,
				    "inventory takes nothing or 'save'");

	ret = card_discover(&result->policy, false, &present);
	if (ret)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_INPUT, NULL, "PCI devices cannot be listed: %s",
				    strerror(-ret));

	ret = options->nr_card ? save(result, &present) : 0;
	if (!ret)
		ret = show(result, &present);
	card_list_free(&present);
	return ret;
}

void inventory_print(const struct options *options, const struct result *result)
{
	size_t i;

	(void)options;
	if (result->note)
		puts(result->note);
	for (i = 0; i < result->nr_fact; i++)
		printf("%s %s\n", result->fact[i].key, result->fact[i].value);
}
