/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands: what main.c hands to each of them, and what they share. */
#ifndef COMMAND_H
#define COMMAND_H

#include "result.h"
#include "settings.h"

/* X(enumerator, word), the default of hand runs first. */
#define LEVELS(X)				\
	X(LEVEL_STANDARD,	"standard")	\
	X(LEVEL_QUICK,		"quick")	\
	X(LEVEL_LONG,		"long")		\
	X(LEVEL_BIND_ONLY,	"bind-only")

enum level {
#define X(id, word) id,
	LEVELS(X)
#undef X
	LEVEL_NR,
};

/* X(enumerator, word): forms a result is printed in, the default first. Which command knows which is in main.c. */
#define OUTPUTS(X)				\
	X(OUTPUT_TEXT,		"text")		\
	X(OUTPUT_JSON,		"json")		\
	X(OUTPUT_NAGIOS,	"nagios")	\
	X(OUTPUT_NPD,		"npd")		\
	X(OUTPUT_PROM,		"prom")		\
	X(OUTPUT_MAN,		"man")		\
	X(OUTPUT_TABLE,		"table")	\
	X(OUTPUT_CATALOG,	"catalog")

enum output_form {
#define X(id, word) id,
	OUTPUTS(X)
#undef X
	OUTPUT_NR,
};

/**
 * struct options - the command line as values
 * @json:	the result is to be one JSON document
 * @output:	form of the result; OUTPUT_JSON sets @json
 * @tree:	list below ports
 * @any:	every NVIDIA display function
 * @supported:	list what is listed, not what is there
 * @force:	test a card that others use
 * @on_plug:	the udev unit calls: level comes from the configuration
 * @on_unplug:	the unit stops: note that the card is gone
 * @level:	how much to test
 * @inject:	corrupt words on purpose
 * @soak_ms:	length of the soak, 0 = the level's
 * @compare:	earlier document to compare with, NULL = none
 * @wait_s:	seconds to wait for the driver, -1 = as configured
 * @file:	dump to plan for, NULL = this machine
 * @expect:	how many cards there must be, -1 = not said
 * @max_age_s:	oldest verdict that counts, -1 = any
 * @timeout_s:	how long to wait for verdicts, -1 = without end
 * @to:		file to write to, NULL = the command's own way
 * @language:	"en" or "zh", NULL = by locale
 * @compat:	one row for the hardware list instead of an archive
 * @config:	configuration file, NULL = the usual ones
 * @set:	"key=value" of plan, @nr_set of them
 * @card:	what follows the command, @nr_card words
 */
struct options {
	bool json;
	bool tree;
	bool any;
	bool supported;
	bool force;
	bool on_plug;
	bool on_unplug;
	bool compat;
	enum output_form output;
	enum level level;
	enum selftest_inject inject;
	unsigned long long soak_ms;
	const char *compare;
	int wait_s;
	int expect;
	int max_age_s;
	int timeout_s;
	const char *to;
	const char *language;
	const char *file;
	const char *config;
	const char *set[16];
	unsigned int nr_set;
	char **card;
	int nr_card;
};

int command_fail(struct result *result, int status, enum finding_code code, const char *bdf, const char *format, ...)
	PRINTF_LIKE(5, 6);
int command_cards(const struct options *options, struct result *result);

int summary_run(const struct options *options, struct result *result);
void summary_print(const struct options *options, const struct result *result);
int list_run(const struct options *options, struct result *result);
void list_print(const struct options *options, const struct result *result);
int plan_run(const struct options *options, struct result *result);
void plan_print(const struct options *options, const struct result *result);
int check_run(const struct options *options, struct result *result);
void check_print(const struct options *options, const struct result *result);
int rescan_run(const struct options *options, struct result *result);
int status_run(const struct options *options, struct result *result);
void status_print(const struct options *options, const struct result *result);
int wait_run(const struct options *options, struct result *result);
int metrics_run(const struct options *options, struct result *result);
void metrics_print(const struct options *options, const struct result *result);
int inventory_run(const struct options *options, struct result *result);
void inventory_print(const struct options *options, const struct result *result);
int doctor_run(const struct options *options, struct result *result);
void doctor_print(const struct options *options, const struct result *result);
int explain_run(const struct options *options, struct result *result);
void explain_print(const struct options *options, const struct result *result);
int report_run(const struct options *options, struct result *result);
void report_print(const struct options *options, const struct result *result);
int advise_run(const struct options *options, struct result *result);
void advise_print(const struct options *options, const struct result *result);

#endif
