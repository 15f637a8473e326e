// SPDX-License-Identifier: GPL-2.0-only
/* softtape: the command line. Parses, calls one command, prints what it came to. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "output.h"
#include "selftest.h"
#include "status.h"

enum {
	OPTION_FILE = 1u << 0,
	OPTION_SET = 1u << 1,
	OPTION_TREE = 1u << 2,
	OPTION_ANY = 1u << 3,
	OPTION_LEVEL = 1u << 4,
	OPTION_WAIT = 1u << 5,
	OPTION_FORCE = 1u << 6,
	OPTION_ON_PLUG = 1u << 7,
	OPTION_ON_UNPLUG = 1u << 8,
	OPTION_CONFIG = 1u << 9,
	OPTION_JSON = 1u << 10,
	OPTION_HELP = 1u << 11,
	OPTION_VERSION = 1u << 12,
	OPTION_OUTPUT = 1u << 13,
	OPTION_LANG = 1u << 14,
	OPTION_EXPECT = 1u << 15,
	OPTION_MAX_AGE = 1u << 16,
	OPTION_TIMEOUT = 1u << 17,
	OPTION_TO = 1u << 18,
	OPTION_COMPAT = 1u << 19,
	OPTION_SOAK = 1u << 20,
	OPTION_COMPARE = 1u << 21,
	OPTION_INJECT = 1u << 22,
	OPTION_SUPPORTED = 1u << 23,
	OPTION_EVERYWHERE = OPTION_JSON | OPTION_HELP | OPTION_VERSION,
};

/* One row per option: parsing, checking and help all come from here. The long names' values are the row's bit. */
static const struct {
	const char *name;
	int letter;
	const char *argument;
	unsigned int bit;
	const char *help;
} option_table[] = {
	{ "file", 'F', "FILE", OPTION_FILE, "plan for the text of lspci -xxxx, '-' reads standard input" },
	{ "set", 0, "KEY=VALUE", OPTION_SET, "plan with another module parameter, as speed=gen1; may be repeated" },
	{ "tree", 0, NULL, OPTION_TREE, "show the ports the cards hang on" },
	{ "any", 0, NULL, OPTION_ANY, "every NVIDIA display function, not only mining cards" },
	{ "supported", 0, NULL, OPTION_SUPPORTED, "the ids that are mining cards, instead of this machine's" },
	{ "level", 0, "LEVEL", OPTION_LEVEL, "quick, standard (default), long, or bind-only" },
	{ "soak", 0, "DURATION", OPTION_SOAK, "keep memory and arithmetic busy afterwards: 90s, 30m, 72h, 3d" },
	{ "compare", 0, "FILE", OPTION_COMPARE, "compare the rates with those of an earlier check's JSON document" },
	{ "inject", 0, "KIND", OPTION_INJECT, "memory, copy, or compute: corrupt such words to see them found, status 1" },
	{ "wait-driver", 0, "SECONDS", OPTION_WAIT, "how long to wait for the driver (default 60)" },
	{ "force", 0, NULL, OPTION_FORCE, "test a card that another process uses" },
	{ "on-plug", 0, NULL, OPTION_ON_PLUG, "for the udev unit: do what on_plug= in " SETTINGS_FILE " says" },
	{ "on-unplug", 0, NULL, OPTION_ON_UNPLUG, "for the udev unit: note that the card is gone" },
	{ "config", 0, "FILE", OPTION_CONFIG, "read this configuration instead of " SETTINGS_FILE },
	{ "expect", 0, "NUMBER", OPTION_EXPECT, "how many cards there must be" },
	{ "max-age", 0, "SECONDS", OPTION_MAX_AGE, "how old a verdict may be" },
	{ "timeout", 0, "SECONDS", OPTION_TIMEOUT, "how long to wait for the verdicts (without end)" },
	{ "to", 0, "FILE", OPTION_TO, "write to this file; a report never overwrites one; metrics: '-' is standard output" },
	{ "output", 0, "FORM", OPTION_OUTPUT, "another form: json; of status nagios, npd, prom; of explain man, table, catalog" },
	{ "lang", 0, "LANGUAGE", OPTION_LANG, "en or zh; without it as the locale says" },
	{ "compat", 0, NULL, OPTION_COMPAT, "only print a row per card for the list of tested hardware" },
	{ "json", 0, NULL, OPTION_JSON, "print one JSON document" },
	{ "help", 'h', NULL, OPTION_HELP, "print this text" },
	{ "version", 0, NULL, OPTION_VERSION, "print the version" },
};

/**
 * struct command - one row per command
 * @name:	its word; NULL = softtape alone
 * @arguments:	what follows it, for the help
 * @help:	one line
 * @example:	how it is used, for its own help
 * @options:	OPTION_* it knows beside those known everywhere
 * @run:	does the work, returns the exit status
 * @print:	the result as text
 */
struct command {
	const char *name;
	const char *arguments;
	const char *help;
	const char *example;
	unsigned int options;
	int (*run)(const struct options *options, struct result *result);
	void (*print)(const struct options *options, const struct result *result);
};

static const struct command commands[] = {
	{ NULL, "", "the state in a few lines and the next useful command", NULL, 0, summary_run, summary_print },
	{ "list", "[card ...]", "cards, link, driver, quirk state, last verdict", "softtape list --tree",
	  OPTION_TREE | OPTION_ANY | OPTION_SUPPORTED, list_run, list_print },
	{ "plan", "[card ...]", "what the kernel module would do", "softtape plan --set speed=gen1 01:00.0", OPTION_FILE | OPTION_SET,
	  plan_run, plan_print },
	{ "check", "[card ...]", "wait for the driver, verify quirks and link, test, give a verdict", "sudo softtape check --level long all",
	  OPTION_ANY | OPTION_LEVEL | OPTION_SOAK | OPTION_COMPARE | OPTION_INJECT | OPTION_WAIT | OPTION_FORCE | OPTION_ON_PLUG | OPTION_ON_UNPLUG | OPTION_CONFIG,
	  check_run, check_print },
	{ "rescan", "", "let the kernel look for new cards and check them (root)", "sudo softtape rescan",
	  OPTION_LEVEL | OPTION_WAIT | OPTION_CONFIG, rescan_run, check_print },
	{ "status", "[card ...]", "last verdicts", "softtape status --expect 6 --output nagios",
	  OPTION_EXPECT | OPTION_MAX_AGE | OPTION_OUTPUT | OPTION_CONFIG, status_run, status_print },
	{ "wait", "[card ...]", "wait until every card has its verdict", "softtape wait --expect 6 --timeout 300",
	  OPTION_EXPECT | OPTION_TIMEOUT | OPTION_CONFIG, wait_run, check_print },
	{ "metrics", "", "last verdicts for Prometheus", "sudo softtape metrics --to /var/lib/prometheus/node-exporter/softtape.prom",
	  OPTION_EXPECT | OPTION_TO | OPTION_CONFIG, metrics_run, metrics_print },
	{ "inventory", "[save]", "the cards that are remembered; save: remember those that are there now", "sudo softtape inventory save", 0,
	  inventory_run, inventory_print },
	{ "doctor", "", "why does it not work: symptom, evidence, what to do", "sudo softtape doctor",
	  OPTION_ANY | OPTION_EXPECT | OPTION_LANG | OPTION_CONFIG, doctor_run, doctor_print },
	{ "explain", "[code]", "what a finding means and what helps", "softtape explain no-nvidia-module", OPTION_OUTPUT | OPTION_LANG,
	  explain_run, explain_print },
	{ "advise", "", "driver branch, CUDA, PyTorch, power and clocks for these cards on this host", "softtape advise", 0, advise_run,
	  advise_print },
	{ "report", "", "one archive without private data, and a block to paste into an issue", "sudo softtape report",
	  OPTION_TO | OPTION_COMPAT, report_run, report_print },
};

/* Ends an option's line with the commands that know it; the shell completions are made from this. */
static void print_users(unsigned int bit)
{
	const char *separator = " [";
	size_t i;

	for (i = 1; i < ARRAY_SIZE(commands); i++) {
		if (!(commands[i].options & bit))
			continue;
		printf("%s%s", separator, commands[i].name);
		separator = " ";
	}

	puts(separator[1] ? "" : "]");
}

static void print_option(size_t i)
{
	char left[64];

	snprintf(left, sizeof(left), "%s--%s%s%s", option_table[i].letter == 'F' ? "-F, " :
		 option_table[i].letter == 'h' ? "-h, " : "", option_table[i].name,
		 option_table[i].argument ? " " : "", option_table[i].argument ? option_table[i].argument : "");
	printf("  %-22s %s", left, option_table[i].help);
}

static const char exit_statuses[] =
	"\nExit status: 0 pass, 1 fault, 2 usage or unreadable input, 3 not testable, 4 hung or lost, 5 degraded.\n"
	"Several cards: the worst, in the order 4, 1, 5, 3, 0.";

static void print_help(void)
{
	char left[64];
	size_t i;

	puts("softtape plan -F dump.txt          what would be done for the cards of another machine\n"
	     "softtape list                      cards, link, driver, quirk state, last verdict\n"
	     "sudo softtape check 01:00.0        does this card work? exit status 0 = pass\n\n"
	     "Usage: softtape <command> [options] [card ...]\n"
	     "A card is a PCI address like 01:00.0, or all.\n\nCommands:");
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		snprintf(left, sizeof(left), "%s %s", commands[i].name ? commands[i].name : "(none)", commands[i].arguments);
		printf("  %-22s %s\n", left, commands[i].help);
	}

	puts("\nOptions, in brackets the commands they go with:");
	for (i = 0; i < ARRAY_SIZE(option_table); i++) {
		print_option(i);
		print_users(option_table[i].bit);
	}
	puts(exit_statuses);
}

static void print_command_help(const struct command *command)
{
	size_t i;

	printf("%s\n\nUsage: softtape %s [options]%s%s\n%s\n\nOptions:\n", command->example, command->name,
	       command->arguments[0] ? " " : "", command->arguments, command->help);
	for (i = 0; i < ARRAY_SIZE(option_table); i++) {
		if (!(option_table[i].bit & (command->options | OPTION_EVERYWHERE)))
			continue;
		print_option(i);
		putchar('\n');
	}
	puts(exit_statuses);
}

static size_t distance(const char *a, const char *b)
{
	size_t row[32], i, j, diagonal, above;
	size_t len = strlen(b);

	if (len >= ARRAY_SIZE(row))
		return len;

	for (j = 0; j <= len; j++)
		row[j] = j;
	for (i = 0; a[i]; i++) {
		diagonal = row[0];
		row[0] = i + 1;
		for (j = 0; j < len; j++) {
			size_t best = diagonal + (a[i] != b[j]);

			above = row[j + 1];
			best = best < above + 1 ? best : above + 1;
			row[j + 1] = best < row[j] + 1 ? best : row[j] + 1;
			diagonal = above;
		}
	}

	return row[len];
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].name && !strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int unknown_command(struct result *result, const char *name)
{
	const char *best = NULL;
	size_t i, least = 4;

	for (i = 1; i < ARRAY_SIZE(commands); i++) {
		size_t d = distance(name, commands[i].name);

		if (d >= least || d >= strlen(commands[i].name))
			continue;
		least = d;
		best = commands[i].name;
	}

	return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "unknown command '%s'%s%s%s", name,
			    best ? ", did you mean '" : "", best ? best : "", best ? "'?" : "");
}

static int parse_level(const char *word, struct options *options, struct result *result)
{
	static const char *const words[] = {
#define X(id, word) [id] = word,
		LEVELS(X)
#undef X
	};
	int i;

	for (i = 0; i < LEVEL_NR; i++) {
		if (strcmp(words[i], word))
			continue;
		options->level = i;
		return 0;
	}

	return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL,
			    "--level %s: accepted are quick, standard, long, bind-only", word);
}

/* A number and a unit; at most 30 days, so that milliseconds fit into 32 bits. */
static int parse_soak(const char *text, struct options *options, struct result *result)
{
	static const struct {
		char letter;
		unsigned long seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	unsigned long number;
	size_t i = 0;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	while (i < ARRAY_SIZE(units) && units[i].letter != *end)
		i++;
	if (errno || *text < '0' || *text > '9' || i == ARRAY_SIZE(units) || end[1] || !number ||
	    number > 30 * 86400UL / units[i].seconds)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL,
				    "--soak %s: accepted are a number and s, m, h or d, as 30m or 72h, up to 30d", text);

	options->soak_ms = number * units[i].seconds * 1000ULL;
	return 0;
}

static int parse_inject(const char *word, struct options *options, struct result *result)
{
	static const char *const words[] = {
#define X(id, word) [id] = word,
		SELFTEST_INJECTS(X)
#undef X
	};
	int i;

	for (i = INJECT_NONE + 1; i < SELFTEST_NR_INJECTS; i++) {
		if (strcmp(words[i], word))
			continue;
		options->inject = i;
		return 0;
	}

	return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "--inject %s: accepted are memory, copy, compute",
			    word);
}

static int parse_output(const char *word, struct options *options, struct result *result)
{
	static const char *const words[] = {
#define X(id, word) [id] = word,
		OUTPUTS(X)
#undef X
	};
	int i;

	for (i = 0; i < OUTPUT_NR; i++) {
		if (strcmp(words[i], word))
			continue;
		options->output = i;
		options->json |= i == OUTPUT_JSON;
		return 0;
	}

	return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "--output %s: unknown form", word);
}

static int parse_language(const char *word, struct options *options, struct result *result)
{
	if (strcmp(word, "en") && strcmp(word, "zh"))
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "--lang %s: accepted are en, zh", word);

	options->language = word;
	return 0;
}

static int parse_number(const char *option, const char *text, long max, int *ret_number, struct result *result)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || end == text || *end || number < 0 || number > max)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "--%s %s: accepted are 0 to %ld", option, text,
				    max);

	*ret_number = (int)number;
	return 0;
}

static int take_option(unsigned int bit, struct options *options, struct result *result)
{
	switch (bit) {
	case OPTION_FILE:
		options->file = optarg;
		break;
	case OPTION_SET:
		if (options->nr_set == ARRAY_SIZE(options->set))
			return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "too many --set");
		options->set[options->nr_set++] = optarg;
		break;
	case OPTION_TREE:
		options->tree = true;
		break;
	case OPTION_ANY:
		options->any = true;
		break;
	case OPTION_SUPPORTED:
		options->supported = true;
		break;
	case OPTION_LEVEL:
		return parse_level(optarg, options, result);
	case OPTION_SOAK:
		return parse_soak(optarg, options, result);
	case OPTION_COMPARE:
		options->compare = optarg;
		break;
	case OPTION_INJECT:
		return parse_inject(optarg, options, result);
	case OPTION_WAIT:
		return parse_number("wait-driver", optarg, 3600, &options->wait_s, result);
	case OPTION_EXPECT:
		return parse_number("expect", optarg, 64, &options->expect, result);
	case OPTION_MAX_AGE:
		return parse_number("max-age", optarg, INT_MAX, &options->max_age_s, result);
	case OPTION_TIMEOUT:
		return parse_number("timeout", optarg, INT_MAX, &options->timeout_s, result);
	case OPTION_TO:
		if (!*optarg)
			return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "--to needs the name of a file");
		options->to = optarg;
		break;
	case OPTION_FORCE:
		options->force = true;
		break;
	case OPTION_ON_PLUG:
		options->on_plug = true;
		break;
	case OPTION_ON_UNPLUG:
		options->on_unplug = true;
		break;
	case OPTION_CONFIG:
		options->config = optarg;
		break;
	case OPTION_OUTPUT:
		return parse_output(optarg, options, result);
	case OPTION_LANG:
		return parse_language(optarg, options, result);
	case OPTION_COMPAT:
		options->compat = true;
		break;
	case OPTION_JSON:
		options->json = true;
		break;
	default:
		break;
	}

	return 0;
}

static unsigned int option_bit(int value)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(option_table); i++)
		if (value == 256 + (int)i || (option_table[i].letter && value == option_table[i].letter))
			return option_table[i].bit;
	return 0;
}

static int bad_option(struct result *result, int value, char **argv)
{
	const char *word = optind > 0 ? argv[optind - 1] : "";

	if (value == ':')
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "%s needs a value", word);
	if (optopt && optopt < 256)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "unknown option -%c", optopt);
	return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "unknown option %s", word);
}

/* Fills @ret_seen with the bits of all options given; 0 or an exit status. */
static int parse_options(int argc, char **argv, struct options *options, unsigned int *ret_seen, struct result *result)
{
	struct option longs[ARRAY_SIZE(option_table) + 1] = { 0 };
	int value, ret = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(option_table); i++) {
		longs[i].name = option_table[i].name;
		longs[i].has_arg = option_table[i].argument ? required_argument : no_argument;
		longs[i].val = 256 + (int)i;
	}

	while (!ret && (value = getopt_long(argc, argv, ":F:h", longs, NULL)) != -1) {
		if (value == '?' || value == ':')
			return bad_option(result, value, argv);
		*ret_seen |= option_bit(value);
		ret = take_option(option_bit(value), options, result);
	}

	return ret;
}

static int check_options(const struct command *command, const struct options *options, unsigned int seen,
			 struct result *result)
{
	/* Text and JSON go with everything. */
	static const char *const form_command[OUTPUT_NR] = {
		[OUTPUT_NAGIOS] = "status", [OUTPUT_NPD] = "status", [OUTPUT_PROM] = "status",
		[OUTPUT_MAN] = "explain", [OUTPUT_TABLE] = "explain", [OUTPUT_CATALOG] = "explain",
	};
	const char *owner = form_command[options->output];
	unsigned int wrong = seen & ~(command->options | OPTION_EVERYWHERE);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(option_table); i++)
		if (wrong & option_table[i].bit)
			return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "--%s does not go with %s",
					    option_table[i].name, command->name ? command->name : "softtape alone");
	if (owner && strcmp(owner, command->name))
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "this form of --output does not go with %s",
				    command->name);
	return 0;
}

/* getopt also takes the start of a long option, and names one with a value that it must not have. */
static bool is_json(const char *word)
{
	size_t len = strcspn(word, "=");

	return len > strlen("--") && !strncmp(word, "--json", len) && len <= strlen("--json");
}

/* JSON is promised even when the command line is wrong, so it is looked for first. */
static bool wants_json(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (is_json(argv[i]) || !strcmp(argv[i], "--output=json") ||
		    (!strcmp(argv[i], "--output") && i + 1 < argc && !strcmp(argv[i + 1], "json")))
			return true;
	return false;
}

/* getopt sorts the words behind the options, but not when it stops at a wrong one. */
static void name_command(int argc, char **argv, struct result *result)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!find_command(argv[i]))
			continue;
		result->command = argv[i];
		return;
	}
}

static int run(int argc, char **argv, struct options *options, const struct command **ret_command,
	       struct result *result)
{
	const struct command *command = &commands[0];
	unsigned int seen = 0;
	int ret;

	ret = parse_options(argc, argv, options, &seen, result);
	if (ret) {
		name_command(argc, argv, result);
		return ret;
	}

	if (optind < argc) {
		result->command = argv[optind];
		command = find_command(argv[optind]);
	}

	if (seen & (OPTION_HELP | OPTION_VERSION)) {
		if (seen & OPTION_HELP && command && command->name)
			print_command_help(command);
		else if (seen & OPTION_HELP)
			print_help();
		else
			puts("softtape " SOFTTAPE_VERSION);
		return -1;
	}

	if (!command)
		return unknown_command(result, argv[optind]);
	ret = check_options(command, options, seen, result);
	if (ret)
		return ret;

	output_language_init(options->language);
	options->card = argv + optind + (optind < argc);
	options->nr_card = argc - optind - (optind < argc);
	settings_policy(&result->policy);
	*ret_command = command;
	return command->run(options, result);
}

static bool findings_are_result(const struct command *command, const struct result *result)
{
	return command && (command->print == explain_print || command->print == doctor_print) &&
	       result->exit != VERDICT_EXIT_USAGE;
}

/* Usage errors in one line; what a command found comes with what helps. */
static void print_text(const struct command *command, const struct options *options, const struct result *result)
{
	size_t i;

	fflush(stdout);
	for (i = 0; !findings_are_result(command, result) && i < result->findings.nr; i++) {
		const struct finding *finding = &result->findings.item[i];

		if (finding->code == FINDING_USAGE || finding->code == FINDING_INPUT)
			fprintf(stderr, "softtape: %s%s\n", finding->evidence,
				finding->code == FINDING_USAGE ? " (see softtape --help)" : "");
		else if (finding->code == FINDING_DUMP_DEVICE)
			fprintf(stderr, "softtape: %s: %s\n", finding->bdf, finding->evidence);
		else
			output_finding(finding, stderr);
	}

	if (options->output == OUTPUT_PROM)
		metrics_print(options, result);
	else if (command && (result->nr || result->exit != VERDICT_EXIT_USAGE))
		command->print(options, result);
}

/* What is opened later must not take the place of a closed standard stream: it would get our text. */
static void hold_standard_streams(void)
{
	int fd;

	for (fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(VERDICT_EXIT_USAGE);
}

int main(int argc, char **argv)
{
	struct options options = { .wait_s = -1, .expect = -1, .max_age_s = -1, .timeout_s = -1, .json = wants_json(argc, argv) };
	struct result result = { .command = "summary" };
	const struct command *command = NULL;
	int ret;

	hold_standard_streams();
	if (argc == 2 && !strcmp(argv[1], SELFTEST_CHILD_COMMAND))
		return selftest_child();
	if (argc == 2 && !strcmp(argv[1], TELEMETRY_CHILD_COMMAND))
		return telemetry_child();

	setlocale(LC_CTYPE, "");
	output_color_init();
	output_language_init(NULL);
	ret = run(argc, argv, &options, &command, &result);
	if (ret >= 0) {
		result.exit = ret;
		if (options.json)
			output_json(&result);
		else if (options.output == OUTPUT_NAGIOS || options.output == OUTPUT_NPD)
			forms_print(options.output, &result);
		else
			print_text(command, &options, &result);
	}

	result_free(&result);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "softtape: standard output: %s\n", strerror(errno));
		return ret > 0 ? ret : VERDICT_EXIT_USAGE;
	}

	return ret > 0 && !options.json ? forms_exit(options.output, ret) : ret > 0 ? ret : 0;
}
