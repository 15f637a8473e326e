// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command report: what a maintainer needs to know, as one archive beside the caller and a block to paste into an issue.
 * Nothing leaves the machine. What may be read is in sources.c, what is hidden in redact.c.
 */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "archive.h"
#include "command.h"
#include "host.h"
#include "identity.h"
#include "output.h"
#include "redact.h"
#include "sources.h"

#define ARCHIVE_NAME	"softtape-report.tar"	/* in the current folder */
#define ARCHIVE_FOLDER	"softtape-report"
#define BLOCK_NAME	"summary.md"
#define CONTENTS_NAME	"contents.txt"
#define BLOCK_LOG_LINES	20

/* What a maintainer might miss, and why it is not there. */
static const struct {
	const char *what;
	const char *why;
} left_out[] = {
	{ "the whole kernel log and journal", "other programs write there; only lines of drivers, AER and the cards are taken" },
	{ "the whole kernel command line", "it may hold passwords and names of disks; only named parameters are taken" },
	{ "the commands of modprobe's install lines", "they may be anything" },
	{ "other PCI, USB and network devices, disks", "they say more about you than about the card" },
	{ "processes, users, environment", "they say more about you than about the card" },
	{ "serial numbers and UUIDs of cards and board", "they name one machine for ever" },
	{ "output of nvidia-smi and nvidia-bug-report.sh", "they print serial numbers and process names, and may hang with a lost card" },
};

static void host_line(FILE *out)
{
	char name[128] = "unknown system", kernel[128], board[128] = "unknown", maker[128] = "", model[128] = "unknown";

	sources_file_value("/etc/os-release", "PRETTY_NAME", name, sizeof(name));
	host_release(kernel, sizeof(kernel));
	host_read("/sys/class/dmi/id/board_vendor", maker, sizeof(maker));
	host_read("/sys/class/dmi/id/board_name", board, sizeof(board));
	sources_file_value("/proc/cpuinfo", "model name", model, sizeof(model));
	fprintf(out, "%s, kernel %s, board %s%s%s, processor %s\n", name, kernel, maker, maker[0] ? " " : "", board, model);
}

/* "550.163.01 proprietary", as the driver itself says; the open flavour calls itself "Open Kernel Module". */
static void driver_text(char *buf, size_t size)
{
	char version[64], text[1024] = "";

	if (host_read("/sys/module/nvidia/version", version, sizeof(version))) {
		util_copy(buf, size, "none");
		return;
	}

	host_read("/proc/driver/nvidia/version", text, sizeof(text));
	snprintf(buf, size, "%s%s%s", version, strstr(text, "Open Kernel Module") ? " open" : text[0] ? " proprietary" : "",
		 strstr(text, "(simulated)") ? " (simulated)" : "");
}

static void module_text(char *buf, size_t size)
{
	char version[64];

	if (!host_read("/sys/module/softtape/version", version, sizeof(version)))
		snprintf(buf, size, "%s", version);
	else
		snprintf(buf, size, "%s", host_exists("/sys/module/softtape") ? "unknown version" : "not loaded");
}

static void card_attribute(const struct card *card, const char *name, char *buf, size_t size)
{
	char path[CARD_PATH_MAX + CARD_WORD_MAX];

	card_path(card, name, path, sizeof(path));
	if (util_read(path, buf, size))
		util_copy(buf, size, "unknown");
}

static void subsystem_text(const struct card *card, char *buf, size_t size)
{
	char vendor[16], device[16];

	card_attribute(card, "subsystem_vendor", vendor, sizeof(vendor));
	card_attribute(card, "subsystem_device", device, sizeof(device));
	if (!strncmp(vendor, "0x", 2) && !strncmp(device, "0x", 2))
		snprintf(buf, size, "%s:%s", vendor + 2, device + 2);
	else
		util_copy(buf, size, "unknown");
}

static void link_text(const struct card *card, char *buf, size_t size)
{
	if (card->view.speed && card->view.width)
		snprintf(buf, size, "%s x%u", softtape_speed_word(card->view.speed), card->view.width);
	else
		util_copy(buf, size, "unknown");
}

static void card_row(const struct row *row, FILE *out)
{
	char subsystem[32], link[32], verdict[64];

	subsystem_text(&row->card, subsystem, sizeof(subsystem));
	link_text(&row->card, link, sizeof(link));
	output_verdict(row->outcome, verdict, sizeof(verdict));
	fprintf(out, "| `%s` | %s | `%04x:%04x` | `%s` | %s | %s | %s | %s |\n", row->card.bdf, row->card.name, row->card.vendor,
		row->card.device, subsystem, link, row->card.driver[0] ? row->card.driver : "none", output_quirks(&row->card),
		verdict);
}

static void findings_list(const struct result *cards, FILE *out)
{
	unsigned int n;
	size_t i;

	for (i = 0; i < cards->nr; i++)
		for (n = 0; cards->row[i].outcome && n < cards->row[i].outcome->nr_finding; n++) {
			const struct finding *finding = &cards->row[i].outcome->finding[n];

			fprintf(out, "- `%s` %s: %s\n", finding->bdf, finding_word(finding), finding->evidence);
		}
}

static const char *source_of(const struct sources *sources, const char *name)
{
	size_t i;

	for (i = 0; i < sources->nr; i++)
		if (!strcmp(sources->text[i].name, name))
			return sources->text[i].text;
	return NULL;
}

/* The end of the log, in a block that its text cannot close. */
static void log_end(const char *log, FILE *out)
{
	const char *start = log + strlen(log);
	unsigned int left = BLOCK_LOG_LINES + 1;

	while (start > log && left) {
		start--;
		left -= *start == '\n';
	}
	start += *start == '\n';

	fputs("\n<details><summary>Kernel log</summary>\n\n~~~~text\n", out);
	for (; *start; start++)
		fputc(*start == '~' ? '-' : *start, out);
	fputs("~~~~\n</details>\n", out);
}

static char *make_block(const struct result *cards, const struct sources *sources)
{
	const char *log = source_of(sources, "kernel-log.txt");
	char driver[128], module[64], *block = NULL;
	size_t i, size;
	FILE *out = open_memstream(&block, &size);

	if (!out)
		abort();

	driver_text(driver, sizeof(driver));
	module_text(module, sizeof(module));
	fputs("### softtape report\n\n", out);
	host_line(out);
	fprintf(out, "softtape " SOFTTAPE_VERSION ", kernel module %s, nvidia driver %s\n\n", module, driver);
	if (cards->nr)
		fputs("| address | card | id | subsystem | link | driver | quirks | verdict |\n"
		      "|---|---|---|---|---|---|---|---|\n", out);
	else
		fputs("No NVIDIA card is there.\n", out);
	for (i = 0; i < cards->nr; i++)
		card_row(&cards->row[i], out);
	fputc('\n', out);
	findings_list(cards, out);
	if (log)
		log_end(log, out);

	fclose(out);
	return block;
}

static void write_contents(const struct sources *sources, const struct redact *redact, FILE *out)
{
	unsigned int hidden = 0;
	size_t i;

	fprintf(out, "What softtape " SOFTTAPE_VERSION " took\n");
	for (i = 0; i < sources->nr; i++)
		fprintf(out, "  %-24s %s%s%s%s\n", sources->text[i].name, sources->text[i].about, sources->text[i].text ? "" : " (",
			sources->text[i].text ? "" : sources->text[i].why, sources->text[i].text ? "" : ")");
	fprintf(out, "  %-24s the block to paste into an issue\n", BLOCK_NAME);

	fputs("\nLeft out\n", out);
	for (i = 0; i < ARRAY_SIZE(left_out); i++)
		fprintf(out, "  %s: %s\n", left_out[i].what, left_out[i].why);

	fputs("\nHidden, the same value behind the same number\n", out);
	for (i = 0; i < REDACT_NR; i++) {
		hidden += redact_count(redact, i);
		if (redact_count(redact, i))
			fprintf(out, "  [%s-N]: %u\n", redact_word(i), redact_count(redact, i));
	}
	if (!hidden)
		fputs("  nothing\n", out);
}

/**
 * struct report - everything as it is handed out
 * @file:	members of the archive, what is to be hidden is hidden
 * @nr:		their number
 * @block:	one of them, the Markdown block
 * @contents:	one of them, what is there and what is not
 */
struct report {
	struct archive_file file[SOURCES_MAX + 2];
	size_t nr;
	const char *block;
	const char *contents;
};

static const char *add_member(struct report *report, const char *name, const char *text)
{
	report->file[report->nr++] = (struct archive_file){ name, text };
	return text;
}

static void report_make(const struct result *cards, struct report *ret_report, struct sources *sources)
{
	struct redact *redact = redact_new();
	char *block CLEANUP_FREE = NULL, *contents = NULL;
	FILE *out;
	size_t i, size;

	memset(ret_report, 0, sizeof(*ret_report));
	identity_collect(redact);
	sources_read(cards, sources);
	block = make_block(cards, sources);

	ret_report->block = add_member(ret_report, BLOCK_NAME, redact_text(redact, block));
	for (i = 0; i < sources->nr; i++)
		if (sources->text[i].text)
			add_member(ret_report, sources->text[i].name, redact_text(redact, sources->text[i].text));

	out = open_memstream(&contents, &size);
	if (!out)
		abort();
	write_contents(sources, redact, out);
	fclose(out);
	ret_report->contents = add_member(ret_report, CONTENTS_NAME, contents);
	redact_free(redact);
}

static void report_free(struct report *report)
{
	size_t i;

	for (i = 0; i < report->nr; i++)
		free((char *)report->file[i].text);
}

static void add_left_out(struct json_object *array, const char *what, const char *why)
{
	struct json_object *entry = json_object_new_object();

	json_object_object_add(entry, "what", json_object_new_string(what));
	json_object_object_add(entry, "why", json_object_new_string(why));
	json_object_array_add(array, entry);
}

static struct json_object *report_object(const struct report *report, const struct sources *sources, const char *path)
{
	struct json_object *object = json_object_new_object(), *files = json_object_new_array(), *out = json_object_new_array();
	size_t i;

	for (i = 0; i < report->nr; i++)
		json_object_array_add(files, json_object_new_string(report->file[i].name));
	for (i = 0; i < sources->nr; i++)
		if (!sources->text[i].text)
			add_left_out(out, sources->text[i].about, sources->text[i].why);
	for (i = 0; i < ARRAY_SIZE(left_out); i++)
		add_left_out(out, left_out[i].what, left_out[i].why);

	json_object_object_add(object, "archive", output_string(path));
	json_object_object_add(object, "files", files);
	json_object_object_add(object, "left_out", out);
	json_object_object_add(object, "contents", json_object_new_string(report->contents));
	json_object_object_add(object, "markdown", json_object_new_string(report->block));
	return object;
}

static int write_report(const struct result *cards, const char *path, struct result *result)
{
	struct sources sources;
	struct report report;
	int ret;

	report_make(cards, &report, &sources);
	ret = archive_write(path, ARCHIVE_FOLDER, report.file, report.nr);
	if (!ret)
		result->more = report_object(&report, &sources, path);
	report_free(&report);
	sources_free(&sources);

	if (ret == -EEXIST)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_INPUT, NULL,
				    "%s is there already and is not overwritten: name another file with --to", path);
	if (ret)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_INPUT, NULL, "%s cannot be written: %s", path, strerror(-ret));
	return 0;
}

/* One row of the hardware list per mining card: what a reader needs to say "mine is the same". */
static char *make_compat(const struct result *cards)
{
	char kernel[128], driver[128], board[128] = "unknown", maker[128] = "", *rows = NULL;
	size_t i, size;
	FILE *out = open_memstream(&rows, &size);

	if (!out)
		abort();

	host_release(kernel, sizeof(kernel));
	host_read("/sys/class/dmi/id/board_vendor", maker, sizeof(maker));
	host_read("/sys/class/dmi/id/board_name", board, sizeof(board));
	driver_text(driver, sizeof(driver));
	for (i = 0; i < cards->nr; i++) {
		const struct row *row = &cards->row[i];
		char subsystem[32], link[32], verdict[64];

		if (!row->card.row)
			continue;
		subsystem_text(&row->card, subsystem, sizeof(subsystem));
		link_text(&row->card, link, sizeof(link));
		output_verdict(row->outcome, verdict, sizeof(verdict));
		fprintf(out, "| `%04x:%04x` | %s | `%s` | %s%s%s | %s | %s | %s | %s | %s |\n", row->card.vendor, row->card.device,
			row->card.name, subsystem, maker, maker[0] ? " " : "", board, link, kernel, driver, output_quirks(&row->card),
			verdict);
	}

	fclose(out);
	return rows;
}

static int write_compat(const struct result *cards, struct result *result)
{
	struct redact *redact = redact_new();
	char *rows CLEANUP_FREE = make_compat(cards), *shown CLEANUP_FREE = NULL;

	identity_collect(redact);
	shown = redact_text(redact, rows);
	redact_free(redact);
	if (!shown[0])
		return command_fail(result, verdict_exit(VERDICT_NOT_TESTABLE), FINDING_NO_CARD, NULL, "no row without a card");

	result->more = json_object_new_object();
	json_object_object_add(result->more, "markdown", json_object_new_string(shown));
	return 0;
}

int report_run(const struct options *options, struct result *result)
{
	const struct options every = { .any = true };
	struct result cards = { .command = "list", .policy = result->policy };
	int ret;

	if (options->nr_card)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "report takes no card, it is about the whole host");
	if (options->compat && options->to)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "--compat writes no file");

	ret = list_run(&every, &cards);
	if (ret)
		finding_append(&result->findings, &cards.findings.item[0]);
	else if (options->compat)
		ret = write_compat(&cards, result);
	else
		ret = write_report(&cards, options->to ? options->to : ARCHIVE_NAME, result);
	result_free(&cards);
	return ret;
}

static const char *more_text(const struct result *result, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(result->more, key, &value) ? json_object_get_string(value) : NULL;
}

/* The block alone on standard output, for a pipe; what was done on standard error. */
void report_print(const struct options *options, const struct result *result)
{
	(void)options;
	if (!result->more)
		return;

	fputs(more_text(result, "markdown"), stdout);
	if (!more_text(result, "archive"))
		return;
	fflush(stdout);
	fprintf(stderr, "\n%s\nWritten to %s on this machine, sent to nobody. Look at it before you attach it:\n"
		"  tar -xOf %s | less\n", more_text(result, "contents"), more_text(result, "archive"), more_text(result, "archive"));
}
