/* SPDX-License-Identifier: GPL-2.0-only */
/* A result as text for people or as the JSON document. Decides nothing. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "result.h"

struct json_object;

/* The Makefile hands in what dkms.conf says. */
#ifndef SOFTTAPE_VERSION
#define SOFTTAPE_VERSION "unknown"
#endif

struct json_object *output_string(const char *text);
struct json_object *output_document(const struct result *result);
void output_json(const struct result *result);

void output_color_init(void);
void output_language_init(const char *word);
size_t output_columns(void);
void output_wrapped(FILE *file, size_t indent, size_t column, size_t columns, const char *text);
enum finding_language output_language(void);
void output_list(const struct result *result, bool tree);
void output_smbus(const struct smbus *smbus);
void output_plan(const struct result *result);
const char *output_quirks(const struct card *card);
void output_verdict(const struct outcome *outcome, char *buf, size_t size);
void output_verdict_line(const struct row *row, bool color, char *buf, size_t size);
void output_verdicts(const struct result *result);
void output_finding(const struct finding *finding, FILE *file);
void output_explain(const struct finding *finding, bool brief);

#endif
