// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command metrics: the last verdicts for the textfile collector of Prometheus' node_exporter. No time stamps, which the
 * collector refuses; what is not known has no sample. Labels by address, no serial numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>

#include "host.h"
#include "output.h"
#include "state.h"
#include "status.h"

#define PCI_DEVICES	"/sys/bus/pci/devices"

static void head(FILE *file, const char *name, const char *type, const char *help)
{
	fprintf(file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Backslash, quote and newline are escaped in a label's value (Prometheus' text format). */
static void label(FILE *file, const char *name, const char *value)
{
	fprintf(file, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', file);
		fputc(*value == '\n' ? ' ' : *value, file);
	}
	fputc('"', file);
}

static void sample(FILE *file, const char *name, const struct row *row, const char *key, const char *value)
{
	fprintf(file, "%s{", name);
	label(file, "bdf", row->card.bdf);
	fputc(',', file);
	label(file, key, value);
	fputs("} ", file);
}

static void print_info(FILE *file, const struct result *result)
{
	char version[CARD_WORD_MAX] = "", id[CARD_WORD_MAX];
	size_t i;

	host_read("/sys/module/softtape/version", version, sizeof(version));
	head(file, "softtape_build_info", "gauge", "Versions of the program and of the loaded kernel module.");
	fprintf(file, "softtape_build_info{version=\"" SOFTTAPE_VERSION "\",module=\"%s\"} 1\n", version);
	if (result->expected >= 0) {
		head(file, "softtape_cards_expected", "gauge", "How many cards there must be.");
		fprintf(file, "softtape_cards_expected %d\n", result->expected);
	}
	head(file, "softtape_cards", "gauge", "How many listed cards the kernel sees.");
	fprintf(file, "softtape_cards %zu\n", result->present);
	if (!result->nr)
		return;

	head(file, "softtape_card_info", "gauge", "What a card is; simulated = it or its driver is a stand-in.");
	for (i = 0; i < result->nr; i++) {
		const struct row *row = &result->row[i];

		snprintf(id, sizeof(id), "%04x:%04x", row->card.vendor, row->card.device);
		fputs("softtape_card_info{", file);
		label(file, "bdf", row->card.bdf);
		fputs(",", file);
		label(file, "device", id);
		fputs(",", file);
		label(file, "model", row->card.name);
		fputs(",", file);
		label(file, "driver", row->card.driver);
		fprintf(file, ",simulated=\"%s\"} 1\n", row->outcome && row->outcome->simulated ? "true" : "false");
	}
}

static void print_states(FILE *file, const struct result *result)
{
	static const char *const states[] = { "pass", "degraded", "not-testable", "fault", "hung",
					      "lost", "running",  "interrupted",  "never" };
	size_t i, n;

	if (!result->nr)
		return;

	head(file, "softtape_check_state", "gauge", "1 for the state of the card's last check, 0 for the others.");
	for (i = 0; i < result->nr; i++) {
		const char *word = status_word(&result->row[i], "never");

		for (n = 0; n < ARRAY_SIZE(states); n++) {
			sample(file, "softtape_check_state", &result->row[i], "state", states[n]);
			fprintf(file, "%d\n", !strcmp(word, states[n]));
		}
	}
}

/* One metric of numbers: its value of a card, false = not known. */
struct number {
	const char *name;
	const char *type;
	const char *help;
	bool (*get)(const struct row *row, double *ret_value);
};

static bool get_time(const struct row *row, double *ret_value)
{
	*ret_value = row->outcome ? (double)row->outcome->ended : 0;
	return *ret_value > 0;
}

static bool get_duration(const struct row *row, double *ret_value)
{
	unsigned int i, ms = 0;

	for (i = 0; row->outcome && i < row->outcome->nr_phase; i++)
		ms += row->outcome->phase[i].ms;
	*ret_value = ms / 1000.0;
	return row->outcome && row->outcome->run == RUN_DONE;
}

static bool get_errors(const struct row *row, double *ret_value)
{
	*ret_value = row->outcome ? (double)row->outcome->errors : 0;
	return row->outcome && row->outcome->tested;
}

static bool get_width(const struct row *row, double *ret_value)
{
	*ret_value = row->card.view.width;
	return row->card.view.width;
}

static bool get_max_width(const struct row *row, double *ret_value)
{
	*ret_value = row->card.view.max_width;
	return row->card.view.max_width;
}

/* Link Speed encoding (PCIe r6.0 7.5.3.6). */
static bool get_speed(const struct row *row, double *ret_value)
{
	static const double speeds[] = { 0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9 };

	if (!row->card.view.speed || row->card.view.speed >= ARRAY_SIZE(speeds))
		return false;
	*ret_value = speeds[row->card.view.speed];
	return true;
}

static const struct number numbers[] = {
	{ "softtape_check_last_timestamp_seconds", "gauge", "When the last check ended, seconds since the epoch.",
	  get_time },
	{ "softtape_check_duration_seconds", "gauge", "How long the last check took.", get_duration },
	{ "softtape_memory_errors_total", "counter",
	  "Wrong words found by the last check; a later check starts anew.", get_errors },
	{ "softtape_pcie_link_width_lanes", "gauge", "Lanes of the card's link at the last look.", get_width },
	{ "softtape_pcie_link_width_max_lanes", "gauge", "Lanes that the card says it can use.", get_max_width },
	{ "softtape_pcie_link_speed_transfers_per_second", "gauge", "Speed of each lane at the last look.",
	  get_speed },
};

static void print_numbers(FILE *file, const struct result *result)
{
	bool begun;
	double value;
	size_t i, n;

	for (n = 0; n < ARRAY_SIZE(numbers); n++)
		for (i = 0, begun = false; i < result->nr; i++) {
			if (!numbers[n].get(&result->row[i], &value))
				continue;
			if (!begun)
				head(file, numbers[n].name, numbers[n].type, numbers[n].help);
			begun = true;
			fprintf(file, "%s{", numbers[n].name);
			label(file, "bdf", result->row[i].card.bdf);
			fprintf(file, "} %.15g\n", value);
		}
}

static void print_rates(FILE *file, const struct result *result)
{
	bool begun = false;
	size_t i;

	for (i = 0; i < result->nr; i++) {
		const struct outcome *outcome = result->row[i].outcome;

		if (!outcome || !outcome->h2d_mbs || !outcome->d2h_mbs)
			continue;
		if (!begun)
			head(file, "softtape_bandwidth_bytes_per_second", "gauge", "Copy rate in the last check.");
		begun = true;
		sample(file, "softtape_bandwidth_bytes_per_second", &result->row[i], "direction", "to_card");
		fprintf(file, "%llu\n", outcome->h2d_mbs * 1000000ull);
		sample(file, "softtape_bandwidth_bytes_per_second", &result->row[i], "direction", "from_card");
		fprintf(file, "%llu\n", outcome->d2h_mbs * 1000000ull);
	}
}

/* Is an item as the module wants it? Words of the log line. */
static void print_quirks(FILE *file, const struct result *result)
{
	static const enum softtape_field fields[] = {
		SOFTTAPE_F_ASPM, SOFTTAPE_F_CLKPM, SOFTTAPE_F_L1SS, SOFTTAPE_F_D3COLD,
	};
	bool begun = false;
	size_t i, n;

	for (i = 0; i < result->nr; i++)
		for (n = 0; n < ARRAY_SIZE(fields); n++) {
			const char *word = result->row[i].card.quirk[fields[n]];

			if (!word[0] || !strcmp(word, "unknown"))
				continue;
			if (!begun)
				head(file, "softtape_quirk_applied", "gauge",
				     "1 if the item is off, as the module wants it.");
			begun = true;
			sample(file, "softtape_quirk_applied", &result->row[i], "quirk", softtape_field_name(fields[n]));
			fprintf(file, "%d\n", !strcmp(word, "off") || !strcmp(word, "unsupported"));
		}
}

static bool read_total(const char *bdf, const char *name, const char *total, unsigned long long *ret_count)
{
	char path[256], text[4096], *line;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/%s", bdf, name);
	line = host_read(path, text, sizeof(text)) ? NULL : strstr(text, total);
	return line && sscanf(line + strlen(total), "%llu", ret_count) == 1;
}

/* What happened to a card since boot, as the kernel counts it. */
static void print_events(FILE *file, const struct result *result)
{
	static const struct {
		const char *event;
		const char *file;
		const char *total;
	} events[] = {
		{ "aer_corrected", "aer_dev_correctable", "TOTAL_ERR_COR" },
		{ "aer_nonfatal", "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL" },
		{ "aer_fatal", "aer_dev_fatal", "TOTAL_ERR_FATAL" },
	};
	unsigned long long number;
	bool begun = false;
	size_t i, n;

	for (i = 0; i < result->nr; i++)
		for (n = 0; n < ARRAY_SIZE(events); n++) {
			if (!read_total(result->row[i].card.bdf, events[n].file, events[n].total, &number))
				continue;
			if (!begun)
				head(file, "softtape_events_total", "counter", "Events of the card's link since boot.");
			begun = true;
			sample(file, "softtape_events_total", &result->row[i], "event", events[n].event);
			fprintf(file, "%llu\n", number);
		}
}

/**
 * metrics_text - verdicts in Prometheus' text format
 * @result:	of status
 *
 * Return: the text, to be freed.
 */
static char *metrics_text(const struct result *result)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		abort();

	print_info(file, result);
	print_states(file, result);
	print_numbers(file, result);
	print_quirks(file, result);
	print_rates(file, result);
	print_events(file, result);
	if (fclose(file))
		abort();
	return text;
}

/*
 * The collector must be able to read it, and must never see half of it. So the name gets a new file, which must not cost
 * the host its /dev/null or /dev/stdout: -EEXIST for what is no file.
 */
static int write_file(const char *to, const char *text)
{
	char path[HOST_PATH_MAX], name[HOST_PATH_MAX];
	int dir_fd CLEANUP_CLOSE = -1;
	struct stat stat;

	if (!lstat(to, &stat) && !S_ISREG(stat.st_mode))
		return S_ISDIR(stat.st_mode) ? -EISDIR : -EEXIST;

	util_copy(path, sizeof(path), to);
	util_copy(name, sizeof(name), to);
	dir_fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -errno : state_replace_file(dir_fd, basename(name), text);
}

int metrics_run(const struct options *options, struct result *result)
{
	char *text CLEANUP_FREE = NULL;
	int ret;

	ret = status_gather(options, result);
	if (ret || !options->to || !strcmp(options->to, "-"))
		return ret;

	text = metrics_text(result);
	ret = write_file(options->to, text);
	if (ret)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_INPUT, NULL, "%s: %s", options->to,
				    ret == -EEXIST ? "is no file, and is not replaced" : strerror(-ret));
	result->quiet = true;
	return 0;
}

void metrics_print(const struct options *options, const struct result *result)
{
	char *text CLEANUP_FREE = NULL;

	(void)options;
	if (result->quiet)
		return;
	text = metrics_text(result);
	fputs(text, stdout);
}
