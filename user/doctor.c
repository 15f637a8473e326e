// SPDX-License-Identifier: GPL-2.0-only
/* The command doctor: why does it not work? Runs the groups of checks, sorts what they found. Changes nothing. */
#include "doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "check.h"
#include "output.h"
#include "state.h"

/* Where the facts about the host begin, behind their names. */
#define FACT_COLUMNS	15

/* Each group looks at one side of the host and adds findings; none depends on another's. */
static void (*const groups[])(struct doctor *doctor) = {
	doctor_host, doctor_boot, doctor_driver, doctor_link, doctor_log,
};

/**
 * doctor_unseen - note what could not be looked at
 * @doctor:	the look
 * @format:	what, and why
 */
void doctor_unseen(struct doctor *doctor, const char *format, ...)
{
	size_t len = strlen(doctor->unseen);
	va_list args;

	if (len + 3 >= sizeof(doctor->unseen))
		return;
	if (len)
		len += (size_t)snprintf(doctor->unseen + len, sizeof(doctor->unseen) - len, "; ");

	va_start(args, format);
	vsnprintf(doctor->unseen + len, sizeof(doctor->unseen) - len, format, args);
	va_end(args);
}

static void join_gpus(struct doctor *doctor)
{
	struct compat compat;
	size_t i;

	doctor->common = true;
	for (i = 0; i < doctor->result->nr; i++) {
		const struct card *card = &doctor->result->row[i].card;

		compat_gpu(card->device, card->row ? card->row->compute : 0, &compat);
		if (!i)
			doctor->compat = compat;
		else
			doctor->common &= compat_join(&doctor->compat, &compat);
	}
	if (!doctor->result->nr)
		compat_gpu(0, 0, &doctor->compat);
}

/* The module's license and file are the same for each card; the first one that finds them tells. */
static void read_common_facts(struct doctor *doctor)
{
	size_t i;

	for (i = 0; i < doctor->result->nr && !doctor->facts.installed; i++)
		bind_facts_read(&doctor->result->row[i].card, &doctor->facts);
	if (!doctor->result->nr)
		bind_firmware_read(&doctor->facts);
}

static void add_cards(struct result *result)
{
	struct card_list list = { 0 };
	size_t i;

	if (card_discover(&result->policy, true, &list))
		return;

	for (i = 0; i < list.nr; i++) {
		struct row *row = result_add(result, &list.item[i]);

		card_read_link(&row->card);
		state_attach(row);
	}
	card_list_free(&list);
}

/**
 * doctor_look - look at the host, judge nothing
 * @doctor:	filled
 * @options:	the command line
 * @result:	gets a row per NVIDIA GPU
 */
void doctor_look(struct doctor *doctor, const struct options *options, struct result *result)
{
	int ret;

	memset(doctor, 0, sizeof(*doctor));
	doctor->options = options;
	doctor->result = result;
	add_cards(result);
	stack_read(&doctor->stack);
	read_common_facts(doctor);
	join_gpus(doctor);
	ret = inventory_read(&doctor->inventory);
	if (ret && ret != -ENOENT)
		doctor_unseen(doctor, "the inventory (%s)", strerror(-ret));
}

static int by_severity(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int left = finding_info(x->code)->severity, right = finding_info(y->code)->severity;

	if (left != right)
		return right - left;
	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return strcmp(x->bdf, y->bdf);
}

static enum verdict verdict_of(const struct finding *finding)
{
	if (finding->code == FINDING_OFF_BUS || finding->code == FINDING_QUIRKS_LOST)
		return VERDICT_LOST;
	if (finding->code == FINDING_CARDS_FEWER || finding->code == FINDING_DATA || finding->code == FINDING_ALIAS)
		return VERDICT_FAULT;
	if (finding->code == FINDING_NO_CARD)
		return VERDICT_NOT_TESTABLE;

	switch (finding_info(finding->code)->severity) {
	case FINDING_ERROR:
		return VERDICT_NOT_TESTABLE;
	case FINDING_WARNING:
		return VERDICT_DEGRADED;
	default:
		return VERDICT_PASS;
	}
}

/* Errors before warnings: an error without a verdict of its own outranks them, other than in a check. */
static enum verdict judge(const struct finding_list *findings)
{
	enum verdict verdict = VERDICT_PASS;
	size_t i;

	for (i = 0; i < findings->nr; i++) {
		enum verdict next = verdict_of(&findings->item[i]);

		if (next == VERDICT_NOT_TESTABLE && verdict == VERDICT_DEGRADED)
			verdict = next;
		else if (!(next == VERDICT_DEGRADED && verdict == VERDICT_NOT_TESTABLE))
			verdict = verdict_worse(verdict, next);
	}

	return verdict;
}

/*
 * GPUs that are no mining cards belong to the look, not to the answer, unless they were asked for. What the last check found
 * is told as a finding of our own, where it still counts.
 */
static void keep_asked(const struct options *options, struct result *result)
{
	size_t i, nr = 0;

	for (i = 0; i < result->nr; i++) {
		if (result->row[i].outcome)
			result->row[i].outcome->nr_finding = 0;
		if (options->any || result->row[i].card.row)
			result->row[nr++] = result->row[i];
		else
			free(result->row[i].outcome);
	}
	result->nr = nr;
}

int doctor_run(const struct options *options, struct result *result)
{
	struct doctor doctor;
	struct settings settings;
	size_t i;
	int ret;

	if (options->nr_card)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL,
				    "doctor takes no card: it looks at the whole host");
	ret = check_settings(options, &settings, result);
	if (ret)
		return ret;

	doctor_look(&doctor, options, result);
	doctor.settings = settings;
	for (i = 0; i < ARRAY_SIZE(groups); i++)
		groups[i](&doctor);
	if (doctor.unseen[0])
		finding_add(&result->findings, FINDING_NOT_SEEN, NULL, "%s", doctor.unseen);

	qsort(result->findings.item, result->findings.nr, sizeof(*result->findings.item), by_severity);
	result->verdict = judge(&result->findings);
	keep_asked(options, result);
	return verdict_exit(result->verdict);
}

static size_t count(const struct result *result, enum finding_severity severity)
{
	size_t i, nr = 0;

	for (i = 0; i < result->findings.nr; i++)
		nr += finding_info(result->findings.item[i].code)->severity == severity;
	return nr;
}

/* The same of another card: one text is enough for people. */
static bool is_repeated(const struct finding *a, const struct finding *b)
{
	char one[1024], other[1024];

	finding_command(a, one, sizeof(one));
	finding_command(b, other, sizeof(other));
	return a->code == b->code && !strcmp(a->evidence, b->evidence) && !strcmp(one, other);
}

/* Findings of one code follow each other. */
static void print_findings(const struct result *result)
{
	struct finding finding;
	size_t i = 0, len;

	while (i < result->findings.nr) {
		finding = result->findings.item[i];
		while (++i < result->findings.nr &&
		       is_repeated(&result->findings.item[i], &result->findings.item[i - 1])) {
			len = strlen(finding.evidence);
			snprintf(finding.evidence + len, sizeof(finding.evidence) - len, ", also %s",
				 result->findings.item[i].bdf);
		}
		output_finding(&finding, stdout);
	}
}

void doctor_print(const struct options *options, const struct result *result)
{
	size_t i, errors = count(result, FINDING_ERROR), warnings = count(result, FINDING_WARNING);

	(void)options;
	for (i = 0; i < result->nr_fact; i++) {
		printf("%-*s", FACT_COLUMNS, result->fact[i].key);
		output_wrapped(stdout, FACT_COLUMNS, FACT_COLUMNS, output_columns(), result->fact[i].value);
	}
	output_list(result, false);
	putchar('\n');
	print_findings(result);
	if (errors + warnings)
		printf(output_language() == FINDING_CHINESE ? "\n错误 %zu 个，警告 %zu 个；softtape explain 代码 给出每一项的详情\n" :
		       "\nerrors: %zu, warnings: %zu; softtape explain CODE says more about each\n", errors, warnings);
	else if (result->nr)
		puts(output_language() == FINDING_CHINESE ? "\n没有发现问题" : "\nnothing wrong was found");
}
