// SPDX-License-Identifier: GPL-2.0-only
/* The command explain: what a finding means and what helps, from the one table, also in the forms documents need. */
#include <string.h>

#include "command.h"
#include "output.h"
#include "selftest.h"

static bool find_cause(const char *word, enum selftest_cause *ret_cause)
{
	int i;

	for (i = SELFTEST_CAUSE_NONE + 1; i < SELFTEST_NR_CAUSES; i++) {
		if (strcmp(selftest_cause_code(i), word))
			continue;
		*ret_cause = i;
		return true;
	}

	return false;
}

static void add(struct result *result, enum finding_code code, const char *word, const char *evidence)
{
	struct finding finding;

	finding_make(&finding, code, NULL, "%s", evidence);
	util_copy(finding.word, sizeof(finding.word), word);
	finding_append(&result->findings, &finding);
}

static void add_every(struct result *result)
{
	enum finding_code code;
	int i;

	for (i = 0; i < FINDING_NR; i++)
		if (i != FINDING_CUDA)
			add(result, i, "", "");
	/* A busy card is found in two places under one code. */
	for (i = SELFTEST_CAUSE_NONE + 1; i < SELFTEST_NR_CAUSES; i++)
		if (!finding_find(selftest_cause_code(i), &code))
			add(result, FINDING_CUDA, selftest_cause_code(i), selftest_cause_action(i));
}

int explain_run(const struct options *options, struct result *result)
{
	enum selftest_cause cause;
	enum finding_code code;

	if (!options->nr_card) {
		add_every(result);
		return 0;
	}

	if (options->nr_card > 1)
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL, "explain takes one code");
	if (finding_find(options->card[0], &code))
		add(result, code, "", "");
	else if (find_cause(options->card[0], &cause))
		add(result, FINDING_CUDA, options->card[0], selftest_cause_action(cause));
	else
		return command_fail(result, VERDICT_EXIT_USAGE, FINDING_USAGE, NULL,
				    "there is no finding '%s'; softtape explain lists all", options->card[0]);
	return 0;
}

/*
 * Words of one finding for a document. A cause of the self-test says all in one sentence, which is what to do: its row
 * gives the rest.
 */
static struct finding_text text_of(const struct finding *finding, enum finding_language language)
{
	struct finding_text text = finding_text(finding->code, language);

	if (finding->evidence[0])
		text.remedy = language == FINDING_CHINESE ? finding_cause_zh(finding->word) : finding->evidence;
	return text;
}

/* scdoc(5) reads these as markup, and a dash in front as an item of a list. */
static void print_scdoc(const char *text)
{
	if (*text == '-')
		putchar('\\');
	for (; *text; text++) {
		if (strchr("\\*_<>[]#~|", *text))
			putchar('\\');
		putchar(*text);
	}
}

static void print_man(const struct finding *finding, enum finding_language language)
{
	struct finding_text text = text_of(finding, language);
	char command[1024];

	finding_template(finding->code, command, sizeof(command));
	printf("*%s* (%s): ", finding_word(finding), finding_severity_word(finding_info(finding->code)->severity));
	print_scdoc(text.title);
	printf("\n\t");
	print_scdoc(text.cause);
	putchar(' ');
	print_scdoc(text.remedy);
	puts("\n");
	if (command[0])
		printf("\t```\n\t%s\n\t```\n\n", command);
}

static void print_cell(const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			putchar('\\');
		putchar(*text);
	}
}

static void print_table_row(const struct finding *finding, enum finding_language language)
{
	struct finding_text text = text_of(finding, language);
	char command[1024];

	finding_template(finding->code, command, sizeof(command));
	fputs("| ", stdout);
	print_cell(text.title);
	printf(" (`%s`) | ", finding_word(finding));
	print_cell(text.cause);
	fputs(" | ", stdout);
	print_cell(text.remedy);
	if (command[0]) {
		fputs(" `", stdout);
		print_cell(command);
		putchar('`');
	}
	puts(" |");
}

/* The catalog is shown beside the message, which has the evidence and the command for this machine. */
static void print_catalog(const struct finding *finding, enum finding_language language)
{
	struct finding_text text = text_of(finding, language);
	char id[33];

	finding_message_id(finding_word(finding), id, sizeof(id));
	printf("-- %s\nSubject: %s [@SOFTTAPE_CODE@]\nDefined-By: softtape\nDocumentation: man:softtape(1)\n\n"
	       "@SOFTTAPE_BDF@\n\n%s\n%s\n\n    @SOFTTAPE_COMMAND@\n\n", id, text.title, text.cause, text.remedy);
}

static void print_document(const struct options *options, const struct result *result)
{
	static const char *const heads[] = {
		[FINDING_ENGLISH] = "| symptom (code) | cause | what to do |\n|---|---|---|",
		[FINDING_CHINESE] = "| 现象（代码） | 原因 | 处理 |\n|---|---|---|",
	};
	size_t i;

	if (options->output == OUTPUT_TABLE)
		puts(heads[output_language()]);
	for (i = 0; i < result->findings.nr; i++) {
		const struct finding *finding = &result->findings.item[i];

		if (options->output == OUTPUT_MAN)
			print_man(finding, output_language());
		else if (options->output == OUTPUT_CATALOG)
			print_catalog(finding, output_language());
		else if (finding->code != FINDING_USAGE)
			print_table_row(finding, output_language());
	}
}

void explain_print(const struct options *options, const struct result *result)
{
	size_t i;

	if (options->output != OUTPUT_TEXT) {
		print_document(options, result);
		return;
	}

	for (i = 0; i < result->findings.nr; i++)
		output_explain(&result->findings.item[i], !options->nr_card);
}
