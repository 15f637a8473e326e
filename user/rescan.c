// SPDX-License-Identifier: GPL-2.0-only
/* The command rescan: most mining boards do not signal a plugged card, so root asks the kernel to look again. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "check.h"
#include "journal.h"

#define RESCAN_FILE "/sys/bus/pci/rescan"

static int ask_kernel(void)
{
	int fd CLEANUP_CLOSE = open(RESCAN_FILE, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) != 1)
		return -errno;
	return 0;
}

static bool was_there(const struct card_list *before, const struct card *card)
{
	size_t i;

	for (i = 0; i < before->nr; i++)
		if (!strcmp(before->item[i].bdf, card->bdf))
			return true;
	return false;
}

static void add_new(const struct card_list *before, const struct card_list *after, struct result *result)
{
	size_t i;

	for (i = 0; i < after->nr; i++)
		if (!was_there(before, &after->item[i]))
			result_add(result, &after->item[i]);
}

static int look_again(struct result *result)
{
	struct card_list before = { 0 }, after = { 0 };
	int ret;

	ret = card_discover(&result->policy, false, &before);
	if (!ret)
		ret = ask_kernel();
	if (!ret)
		ret = card_discover(&result->policy, false, &after);
	if (!ret)
		add_new(&before, &after, result);

	card_list_free(&before);
	card_list_free(&after);
	return ret;
}

int rescan_run(const struct options *options, struct result *result)
{
	struct settings settings;
	int ret;

	if (options->nr_card)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "rescan takes no card: the kernel looks everywhere");

	ret = check_settings(options, &settings, result);
	if (ret)
		return ret;

	ret = look_again(result);
	if (ret == -EACCES || ret == -EPERM)
		return command_fail(result, verdict_exit(VERDICT_NOT_TESTABLE), FINDING_PERMISSION, NULL, RESCAN_FILE ": %s",
				    strerror(-ret));
	if (ret)
		return command_fail(result, verdict_exit(VERDICT_NOT_TESTABLE), FINDING_NOT_FOUND, NULL, RESCAN_FILE ": %s",
				    strerror(-ret));

	if (!result->nr) {
		result->note = "no new card";
		return 0;
	}

	ret = check_cards(options, &settings, result);
	journal_send(result);
	return ret;
}
