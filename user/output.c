// SPDX-License-Identifier: GPL-2.0-only
/* A result as text for people. Decides nothing. */
#include "output.h"

#include <libsmartcols.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#include "host.h"

/* A table of cards may be this wide; on a narrower terminal it says the same in fewer words. */
#define WIDE_COLUMNS	100

static bool colored;

/**
 * output_color_init - decide whether to use colour
 *
 * Only on a terminal, never with NO_COLOR (no-color.org) or TERM=dumb. Colour is never the only signal.
 */
void output_color_init(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	colored = isatty(STDOUT_FILENO) && !(no_color && no_color[0]) && term && strcmp(term, "dumb");
}

/**
 * output_columns - how wide the terminal is
 *
 * Return: its columns, at least 40; 0 = standard output is no terminal or does not tell.
 */
size_t output_columns(void)
{
	struct winsize size = { .ws_col = 0 };

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 0;
	return size.ws_col < 40 ? 40 : size.ws_col;
}

/**
 * output_wrapped - a text in lines that end at blanks
 * @file:	where to
 * @indent:	column at which the following lines begin
 * @column:	column at which the first one goes on
 * @columns:	columns of a line; 0 = one line, however long
 * @text:	words
 */
void output_wrapped(FILE *file, size_t indent, size_t column, size_t columns, const char *text)
{
	bool begun = false;
	size_t len;

	for (; *text; text += len + strspn(text + len, " ")) {
		len = strcspn(text, " ");
		if (begun && columns && column + 1 + len > columns) {
			fprintf(file, "\n%*s", (int)indent, "");
			column = indent;
		} else if (begun) {
			fputc(' ', file);
			column++;
		}
		fprintf(file, "%.*s", (int)len, text);
		column += len;
		begun = true;
	}
	fputc('\n', file);
}

static enum finding_language language;

/**
 * output_language_init - in which language findings are told
 * @word:	"en" or "zh" as the user asked; NULL = as the locale says (setlocale(3): LC_ALL, LC_MESSAGES, LANG)
 */
void output_language_init(const char *word)
{
	static const char *const names[] = { "LC_ALL", "LC_MESSAGES", "LANG" };
	size_t i;

	for (i = 0; !(word && word[0]) && i < ARRAY_SIZE(names); i++)
		word = getenv(names[i]);
	language = word && !strncmp(word, "zh", 2) ? FINDING_CHINESE : FINDING_ENGLISH;
}

enum finding_language output_language(void)
{
	return language;
}

static const char *verdict_color(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_PASS:
		return "\033[32m";
	case VERDICT_FAULT:
	case VERDICT_HUNG:
	case VERDICT_LOST:
		return "\033[31m";
	case VERDICT_NONE:
		return "";
	default:
		return "\033[33m";
	}
}

static const char *short_address(const char *address)
{
	return strncmp(address, "0000:", 5) ? address : address + 5;
}

/* For a narrow terminal: of the most that link and card can do only what is more than now. */
static void format_link_short(const struct softtape_view *view, char *buf, size_t size)
{
	size_t len;

	if (!view->speed || !view->width) {
		util_copy(buf, size, "unknown");
		return;
	}

	len = (size_t)snprintf(buf, size, "%s,x%u", softtape_speed_word(view->speed), view->width);
	if (!view->max_speed || !view->max_width || (view->speed == view->max_speed && view->width == view->max_width))
		return;
	if (view->speed == view->max_speed)
		snprintf(buf + len, size - len, " of x%u", view->max_width);
	else
		snprintf(buf + len, size - len, " of %s,x%u", softtape_speed_word(view->max_speed), view->max_width);
}

static void format_link(const struct softtape_view *view, char *buf, size_t size)
{
	if (!view->speed || !view->width)
		util_copy(buf, size, "unknown");
	else if (!view->max_speed || !view->max_width)
		snprintf(buf, size, "%s,x%u", softtape_speed_word(view->speed), view->width);
	else
		snprintf(buf, size, "%s,x%u(max %s,x%u)", softtape_speed_word(view->speed), view->width,
			 softtape_speed_word(view->max_speed), view->max_width);
}

/* State of the module's settings in a word or two. */
const char *output_quirks(const struct card *card)
{
	if (card->quirk[SOFTTAPE_F_STATE][0])
		return card->quirk[SOFTTAPE_F_STATE];
	if (!card->row)
		return "not applicable";
	return host_exists("/sys/module/softtape") ? "not claimed" : "module absent";
}

/* The verdict in a word or two, also when there is none. */
void output_verdict(const struct outcome *outcome, char *buf, size_t size)
{
	const char *word = "never checked";

	if (outcome && outcome->verdict != VERDICT_NONE)
		word = verdict_word(outcome->verdict);
	else if (outcome)
		word = outcome_run_word(outcome->run);
	snprintf(buf, size, "%s%s", word, outcome && outcome->simulated ? " (simulated)" : "");
}

static void set_cell(struct libscols_line *line, size_t column, const char *text)
{
	if (scols_line_set_data(line, column, text))
		abort();
}

static struct libscols_line *add_line(struct libscols_table *table, struct libscols_line *parent)
{
	struct libscols_line *line = scols_table_new_line(table, parent);

	if (!line)
		abort();
	return line;
}

static void fill_line(struct libscols_line *line, const struct row *row, bool narrow)
{
	enum verdict verdict = row->outcome ? row->outcome->verdict : VERDICT_NONE;
	char text[128];

	set_cell(line, 0, narrow ? short_address(row->card.bdf) : row->card.bdf);
	snprintf(text, sizeof(text), "%s [%04x:%04x]", row->card.name, row->card.vendor, row->card.device);
	set_cell(line, 1, text);
	if (row->card.gone)
		util_copy(text, sizeof(text), "off the bus");
	else if (narrow)
		format_link_short(&row->card.view, text, sizeof(text));
	else
		format_link(&row->card.view, text, sizeof(text));
	set_cell(line, 2, text);
	set_cell(line, 3, row->card.driver[0] ? row->card.driver : "none");
	set_cell(line, 4, output_quirks(&row->card));
	output_verdict(row->outcome, text, sizeof(text));
	set_cell(line, 5, text);
	if (colored && verdict != VERDICT_NONE)
		scols_cell_set_color(scols_line_get_cell(line, 5), verdict_color(verdict));
}

static size_t count_below(const struct result *result, const char *port)
{
	char part[ADDRESS_MAX + 2];
	size_t i, nr = 0;

	snprintf(part, sizeof(part), "/%s/", port);
	for (i = 0; i < result->nr; i++)
		nr += !!strstr(result->row[i].card.syspath, part);
	return nr;
}

/* The line of a port, made when a card below it comes first; ports are told by their address. */
static struct libscols_line *port_line(struct libscols_table *table, struct libscols_line *parent, const char *port,
				       const struct result *result, bool narrow)
{
	struct libscols_iter *iter = scols_new_iter(SCOLS_ITER_FORWARD);
	const char *shown = narrow ? short_address(port) : port;
	struct libscols_line *line = NULL;
	char text[CARD_WORD_MAX];
	size_t below = count_below(result, port);

	if (!iter)
		abort();

	while (!scols_table_next_line(table, iter, &line))
		if (!strcmp(scols_line_get_cell(line, 0) ? scols_cell_get_data(scols_line_get_cell(line, 0)) : "", shown))
			break;
		else
			line = NULL;
	scols_free_iter(iter);
	if (line)
		return line;

	line = add_line(table, parent);
	set_cell(line, 0, shown);
	snprintf(text, sizeof(text), below > 1 ? "port, shared by %zu cards" : "port", below);
	set_cell(line, 1, text);
	return line;
}

/* sysfs nests devices as the bus does: /sys/devices/pci0000:00/0000:00:1c.0/0000:01:00.0. */
static struct libscols_line *add_ports(struct libscols_table *table, const struct row *row, const struct result *result, bool narrow)
{
	char path[CARD_PATH_MAX], *part, *save = NULL;
	struct libscols_line *line = NULL;
	struct address address;

	util_copy(path, sizeof(path), row->card.syspath);
	for (part = strtok_r(path, "/", &save); part; part = strtok_r(NULL, "/", &save))
		if (!address_parse(part, &address) && strcmp(part, row->card.bdf))
			line = port_line(table, line, part, result, narrow);
	return line;
}

/* Where a command failed, that is told already, and nobody knows what is there. */
static void tell_none(const struct result *result)
{
	if (!result->exit)
		puts("no mining card");
}

/**
 * output_list - cards as a table
 * @result:	the cards
 * @tree:	below the ports they hang on
 */
void output_list(const struct result *result, bool tree)
{
	static const char *const columns[] = { "CARD", "NAME", "LINK", "DRIVER", "QUIRKS", "VERDICT" };
	bool narrow = output_columns() && output_columns() < WIDE_COLUMNS;
	struct libscols_table *table;
	size_t i;

	if (!result->nr) {
		tell_none(result);
		return;
	}

	table = scols_new_table();
	if (!table)
		abort();

	scols_table_enable_colors(table, colored);
	for (i = 0; i < ARRAY_SIZE(columns); i++)
		if (!scols_table_new_column(table, columns[i], 0, !i && tree ? SCOLS_FL_TREE : 0))
			abort();

	for (i = 0; i < result->nr; i++)
		fill_line(add_line(table, tree ? add_ports(table, &result->row[i], result, narrow) : NULL), &result->row[i], narrow);

	scols_print_table(table);
	scols_unref_table(table);
}

static void print_held(const struct smbus_host *host)
{
	const char *before = "";
	unsigned int i;

	printf("  held by softtape:");
	for (i = 0; i < SOFTTAPE_SMBUS_ADDRESSES; i++) {
		if (!host->held[i])
			continue;
		printf("%s 0x%02x", before, softtape_smbus_address(i));
		before = ",";
	}
	puts(before[0] ? "" : " nothing");
}

static void print_sensors(const struct smbus_host *host)
{
	unsigned int i;

	printf("  others at 0x48-0x4f:");
	for (i = 0; i < host->nr_sensor; i++)
		printf("%s 0x%02x %s (%s)", i ? "," : "", host->sensor[i].address, host->sensor[i].name,
		       host->sensor[i].driver[0] ? host->sensor[i].driver : "no driver");
	puts(host->nr_sensor ? "" : " none");
}

static void print_smbus_host(const struct smbus_host *host, bool log_read)
{
	const char *hold = host->hold[0] ? host->hold : "unknown (kind of memory needs root)";

	printf("SMBus %s: driver %s, ", host->bdf, host->driver[0] ? host->driver : "none");
	if (host->adapter >= 0)
		printf("i2c-%d, ", host->adapter);
	printf("smbus=hold here: %s\n", hold);
	if (host->adapter >= 0) {
		print_held(host);
		print_sensors(host);
	}
	if (!log_read)
		puts("  kernel log: not readable (needs root)");
	if (host->busy[0])
		printf("  kernel log: %s\n", host->busy);
	if (host->bios[0])
		printf("  kernel log: %s\n", host->bios);
}

/**
 * output_smbus - the SMBus controllers, a few lines each
 * @smbus:	what was found
 */
void output_smbus(const struct smbus *smbus)
{
	unsigned int i;

	for (i = 0; i < smbus->nr; i++)
		print_smbus_host(&smbus->host[i], smbus->log_read);
}

static const char *why_unknown(const struct result *result, const struct card *card, enum softtape_item item, char *buf,
			       size_t size)
{
	if (item == SOFTTAPE_D3COLD)
		return result->dump ? "not in a dump" : "not shown by the kernel";
	if (card->flaw == CONFIG_LOOP)
		return "capability list runs in a circle";
	if (!result->dump)
		return geteuid() ? "needs root" : "not readable";

	snprintf(buf, size, "dump ends at 0x%zx", card->config_size);
	return buf;
}

static bool has_step(const struct softtape_plan *plan, enum softtape_item item)
{
	int i;

	for (i = 0; i < plan->nr; i++)
		if (plan->step[i].what == item)
			return true;
	return false;
}

static void print_step(const struct row *row, const struct softtape_step *step)
{
	const struct softtape_view *view = &row->card.view;

	if (step->what != SOFTTAPE_CAP) {
		printf("  step %s %s -> %s%s\n", softtape_field_name(SOFTTAPE_F_ASPM + (step->what - SOFTTAPE_ASPM)),
		       softtape_value_word(step->from), softtape_value_word(step->to),
		       step->what == SOFTTAPE_ASPM && view->above == SOFTTAPE_ABOVE_PORT ? " (endpoint, then port)" : "");
		return;
	}

	printf("  step cap gen%u -> gen%u on the port, ", step->from, step->to);
	if (step->retrain)
		printf("then retrain (link now %s)\n", softtape_speed_word(view->speed));
	else if (view->speed)
		printf("no retrain needed (link already %s)\n", softtape_speed_word(view->speed));
	else
		puts("no retrain (link speed unknown)");
}

static void print_item(const struct result *result, const struct row *row, const struct softtape_report *report,
		       enum softtape_item item)
{
	char why[CARD_WORD_MAX];

	if (has_step(&row->plan, item))
		return;

	printf("  %s %s", softtape_field_name(SOFTTAPE_F_ASPM + (item - SOFTTAPE_ASPM)),
	       softtape_value_word(row->card.view.item[item]));
	if (row->card.view.item[item] == SOFTTAPE_UNKNOWN)
		printf(" (%s)", why_unknown(result, &row->card, item, why, sizeof(why)));
	else if (report->reason[item] == SOFTTAPE_R_UNCHANGED)
		printf("(unchanged)");
	else if (report->reason[item] == SOFTTAPE_R_KEEP)
		printf("(keep)");
	putchar('\n');
}

static void print_cap(const struct row *row)
{
	switch (row->plan.cap) {
	case SOFTTAPE_CAP_KEEP:
		puts("  cap keep");
		break;
	case SOFTTAPE_CAP_UNNEEDED:
		puts("  cap unneeded, no write");
		break;
	case SOFTTAPE_CAP_REFUSED_V1:
		puts("  cap refused(v1)");
		break;
	case SOFTTAPE_CAP_UNSUPPORTED:
		puts("  cap unsupported");
		break;
	case SOFTTAPE_CAP_UNKNOWN:
		puts("  cap unknown");
		break;
	default:
		break;
	}
}

static void print_above(const struct card *card)
{
	if (card->link.above == SOFTTAPE_ABOVE_NONE)
		printf(", no downstream port above: nothing here is ours to change\n");
	else if (card->port[0])
		printf(" behind %s\n", short_address(card->port));
	else if (card->port_gone)
		printf(", port not found: a device of the dump reads all ones\n");
	else
		printf(", port not in dump\n");
}

static void print_versions(const struct softtape_link *link)
{
	if (link->fn[0].known && link->fn[0].version == 1)
		puts("  endpoint has no Link Control 2 (capability version 1)");
	if (link->above == SOFTTAPE_ABOVE_PORT && link->port.known && link->port.version == 1)
		puts("  port has no Link Control 2 (capability version 1)");
}

static void print_plan(const struct result *result, const struct row *row)
{
	const struct card *card = &row->card;
	struct softtape_outcome outcome = { .cap = row->plan.cap };
	struct softtape_report report = { .card = card->row };
	char text[CARD_WORD_MAX];
	int i;

	printf("%s %s [%04x:%04x]", card->bdf, card->name, card->vendor, card->device);
	if (card->again)
		printf(" (line %lu of the dump)", card->line);
	print_above(card);

	/* Of a slot that is left alone nothing is said but that. */
	if (!strcmp(card->quirk[SOFTTAPE_F_STATE], softtape_state_word(SOFTTAPE_SKIPPED))) {
		puts("  state skipped");
		return;
	}

	softtape_report_make(&report, &card->view, &card->view, &result->policy, &outcome);
	for (i = 0; i < row->plan.nr; i++)
		print_step(row, &row->plan.step[i]);
	for (i = 0; i < SOFTTAPE_NR_ITEMS; i++)
		print_item(result, row, &report, i);
	print_cap(row);
	format_link(&card->view, text, sizeof(text));
	printf("  speed %s\n", text);
	print_versions(&card->link);
	if (card->quirk[SOFTTAPE_F_STATE][0])
		printf("  state %s\n", card->quirk[SOFTTAPE_F_STATE]);
	if (card->report[0])
		printf("  module says: %s\n", card->report);
}

/**
 * output_plan - what the module would do
 * @result:	cards with their plans
 */
void output_plan(const struct result *result)
{
	size_t i;

	if (!result->nr)
		tell_none(result);

	for (i = 0; i < result->nr; i++) {
		if (i)
			putchar('\n');
		print_plan(result, &result->row[i]);
	}
}

/* What stands around the texts of the table of findings; labels are as wide as LABEL_COLUMNS on a terminal. */
#define LABEL_COLUMNS	8

static const struct words {
	const char *seen;
	const char *remedy;
	const char *run;
} words_in[] = {
	[FINDING_ENGLISH] = { "  seen: ", "  do:   ", "  run:  " },
	[FINDING_CHINESE] = { "  看到: ", "  处理: ", "  运行: " },
};

static const char *severity_word(enum finding_severity severity)
{
	static const char *const chinese[] = {
		[FINDING_INFO] = "提示", [FINDING_WARNING] = "警告", [FINDING_ERROR] = "错误",
	};

	return language == FINDING_CHINESE ? chinese[severity] : finding_severity_word(severity);
}

/**
 * output_finding - one finding in a few lines
 * @finding:	what was found
 * @file:	where to
 */
void output_finding(const struct finding *finding, FILE *file)
{
	const struct finding_info *info = finding_info(finding->code);
	struct finding_text text = finding_text(finding->code, language);
	const struct words *words = &words_in[language];
	size_t columns = output_columns();
	char command[1024], title[512];

	finding_command(finding, command, sizeof(command));
	snprintf(title, sizeof(title), "%s: %s%s%s [%s]", severity_word(info->severity), finding->bdf, finding->bdf[0] ? ": " : "",
		 text.title, finding_word(finding));
	output_wrapped(file, LABEL_COLUMNS, 0, columns, title);
	if (finding->evidence[0]) {
		fputs(words->seen, file);
		output_wrapped(file, LABEL_COLUMNS, LABEL_COLUMNS, columns, finding->evidence);
	}
	fputs(words->remedy, file);
	output_wrapped(file, LABEL_COLUMNS, LABEL_COLUMNS, columns, text.remedy);
	/* To be copied: a line break would be copied too. */
	if (command[0])
		fprintf(file, "%s%s\n", words->run, command);
}

static PRINTF_LIKE(4, 5) void append(char *buf, size_t size, size_t *len, const char *format, ...)
{
	va_list args;
	int n;

	if (*len >= size)
		return;

	va_start(args, format);
	n = vsnprintf(buf + *len, size - *len, format, args);
	va_end(args);
	if (n > 0)
		*len += (size_t)n;
}

static void append_measures(const struct outcome *outcome, char *buf, size_t size, size_t *len)
{
	if (outcome->mem_mib)
		append(buf, size, len, ", %u of %u MiB tested", outcome->tested_mib, outcome->mem_mib);
	if (outcome->h2d_mbs && outcome->d2h_mbs)
		append(buf, size, len, ", copies %u/%u MB/s", outcome->h2d_mbs, outcome->d2h_mbs);
	if (outcome->link_mbs)
		append(buf, size, len, " (link carries %u)", outcome->link_mbs);
	if (outcome->errors)
		append(buf, size, len, ", %llu error%s", outcome->errors, outcome->errors == 1 ? "" : "s");
}

/**
 * output_verdict_line - one card's verdict in one line
 * @row:	the card
 * @color:	with colour
 * @buf:	filled
 * @size:	bytes in @buf
 */
void output_verdict_line(const struct row *row, bool color, char *buf, size_t size)
{
	const struct outcome *outcome = row->outcome;
	char word[CARD_WORD_MAX], link[CARD_WORD_MAX];
	size_t len = 0;

	output_verdict(outcome, word, sizeof(word));
	format_link(&row->card.view, link, sizeof(link));
	append(buf, size, &len, "%s %s: %s%s%s, driver %s, quirks %s", row->card.bdf, row->card.name,
	       color ? verdict_color(outcome ? outcome->verdict : VERDICT_NONE) : "", word, color ? "\033[0m" : "",
	       row->card.driver[0] ? row->card.driver : "none", output_quirks(&row->card));
	/* It is read from the card by a check, and by nobody before that. */
	if (!outcome)
		return;
	append(buf, size, &len, ", link %s", link);
	append_measures(outcome, buf, size, &len);
}

static double seconds(unsigned long long ms)
{
	return (double)ms / 1000;
}

static void print_times(const struct outcome *outcome)
{
	unsigned long long predicted_ms = 0, ms = 0;
	unsigned int i;

	for (i = 0; i < outcome->nr_phase; i++) {
		predicted_ms += outcome->phase[i].predicted_ms;
		ms += outcome->phase[i].predicted_ms ? outcome->phase[i].ms : 0;
	}
	printf("  time: %.1f s, predicted at least %.1f s", seconds(ms), seconds(predicted_ms));
	if (outcome->queue_ms >= 100)
		printf(", waited for a turn %.1f s", seconds(outcome->queue_ms));
	putchar('\n');
}

static void print_units(const struct selftest_result *test)
{
	unsigned int unit;

	printf("  arithmetic: %u of %u multiprocessors, in 10^9 operations per second", test->sm_seen, test->sm_count);
	for (unit = 0; unit < SELFTEST_NR_UNITS; unit++)
		if (test->unit_mops[unit])
			printf(", %s %u", selftest_unit_word(unit), test->unit_mops[unit] / 1000);
	if (test->unit_mops[UNIT_FMA] && test->unit_mops[UNIT_FMA] < test->unit_mops[UNIT_MULADD] / 2)
		printf(" (fma is slow by design on such cards)");
	putchar('\n');
}

static void print_surroundings(const struct outcome *outcome)
{
	const struct telemetry_range *range = outcome->telemetry.range;
	const struct uplink *uplink = &outcome->uplink;

	if (uplink->port[0])
		printf("  together: %u cards below %s at once, %u MB/s (one by one %u)\n", uplink->cards, uplink->port,
		       uplink->together_mbs, uplink->alone_mbs);
	if (range[TELEMETRY_TEMPERATURE].known)
		printf("  heat: %u to %u degrees C%s\n", range[TELEMETRY_TEMPERATURE].min, range[TELEMETRY_TEMPERATURE].max,
		       outcome->telemetry.simulated ? " (simulated)" : "");
}

static void print_comparisons(const struct outcome *outcome)
{
	unsigned int i;

	for (i = 0; i < outcome->nr_comparison; i++) {
		const struct comparison *c = &outcome->comparison[i];

		printf("  compared: %s %u, was %u (%+.1f %%)\n", c->what, c->now, c->before,
		       ((double)c->now - c->before) * 100 / c->before);
	}
}

static void print_test(const struct outcome *outcome)
{
	const struct selftest_result *test = &outcome->test;

	if (test->phase[SELFTEST_KNOWN].word == SELFTEST_NOT_RUN)
		return;
	print_times(outcome);
	if (test->read_mbs)
		printf("  memory: %llu MiB tested, %llu not, %llu in all; read at %.1f GB/s of %.1f\n",
		       (unsigned long long)test->tested_mib, (unsigned long long)(test->mem_mib - test->tested_mib),
		       (unsigned long long)test->mem_mib, test->read_mbs / 1000.0, test->peak_mbs / 1000.0);
	if (test->sm_seen)
		print_units(test);
	print_surroundings(outcome);
	print_comparisons(outcome);
	if (outcome->inject)
		printf("  injected: %u words corrupted, %u of them found: %s\n", test->injected, test->detected,
		       outcome_detector_works(outcome) ? "detector works" : "DETECTOR FAILED");
}

static bool test_never_began(const struct outcome *outcome)
{
	return outcome->test.phase[SELFTEST_KNOWN].word == SELFTEST_NOT_RUN;
}

static void print_verdict(const struct row *row)
{
	const struct outcome *outcome = row->outcome;
	char line[1024];
	unsigned int i;

	output_verdict_line(row, colored, line, sizeof(line));
	puts(line);
	if (outcome && outcome->tested)
		print_test(outcome);
	if (outcome && outcome->inject && test_never_began(outcome))
		puts("  injected: nothing, the test could not begin: DETECTOR FAILED");
	for (i = 0; outcome && i < outcome->nr_finding; i++)
		output_finding(&outcome->finding[i], stdout);
}

/**
 * output_verdicts - one line per card, and what was found
 * @result:	cards with their outcomes
 */
void output_verdicts(const struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		print_verdict(&result->row[i]);
}

/**
 * output_explain - what a finding means
 * @finding:	with its own text as evidence where its row stands for a family
 * @brief:	one line
 */
void output_explain(const struct finding *finding, bool brief)
{
	const char *severity = severity_word(finding_info(finding->code)->severity);
	struct finding_text text = finding_text(finding->code, language);
	const char *own = finding->evidence[0] ? finding->evidence : NULL;
	char command[1024];

	if (own && language == FINDING_CHINESE)
		own = finding_cause_zh(finding->word);
	if (brief) {
		printf("%-20s  %-7s  %s\n", finding_word(finding), severity, own ? own : text.title);
		return;
	}

	finding_command(finding, command, sizeof(command));
	printf("%s (%s): %s\n\n%s\n%s\n", finding_word(finding), severity, text.title, text.cause, own ? own : text.remedy);
	if (command[0])
		printf("\n  %s\n", command);
}
