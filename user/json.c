// SPDX-License-Identifier: GPL-2.0-only
/* A result as the JSON document. The keys are interface: softtape.schema.json describes them, keys are only added. */
#include "output.h"

#include <json-c/json.h>
#include <string.h>

#define SCHEMA	1

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add(object, key, value);
}

/* What drivers, kernels and firmware say need not be UTF-8; JSON must be (RFC 8259 8.1). */
struct json_object *output_string(const char *text)
{
	char *clean CLEANUP_FREE = util_clean_copy(text);

	return json_object_new_string(clean);
}

/* Unknown is null, never a word or a number of its own. */
static void add_text(struct json_object *object, const char *key, const char *text)
{
	add(object, key, text && text[0] && strcmp(text, "unknown") ? output_string(text) : NULL);
}

static void add_number(struct json_object *object, const char *key, unsigned long long number)
{
	add(object, key, number ? json_object_new_uint64(number) : NULL);
}

static void add_bool(struct json_object *object, const char *key, bool value)
{
	add(object, key, json_object_new_boolean(value));
}

static struct json_object *link_object(const struct softtape_view *view)
{
	struct json_object *link = json_object_new_object();

	add_text(link, "speed", softtape_speed_word(view->speed));
	add_number(link, "width", view->width);
	add_text(link, "max_speed", softtape_speed_word(view->max_speed));
	add_number(link, "max_width", view->max_width);
	return link;
}

static struct json_object *quirks_object(const struct row *row)
{
	static const enum softtape_field fields[] = {
		SOFTTAPE_F_STATE, SOFTTAPE_F_ASPM, SOFTTAPE_F_CLKPM, SOFTTAPE_F_L1SS,
		SOFTTAPE_F_D3COLD, SOFTTAPE_F_CAP, SOFTTAPE_F_SMBUS,
	};
	struct json_object *quirks = json_object_new_object();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		add_text(quirks, softtape_field_name(fields[i]), row->card.quirk[fields[i]]);
	return quirks;
}

static void step_word(const struct softtape_step *step, __u8 value, char *buf, size_t size)
{
	if (step->what == SOFTTAPE_CAP)
		snprintf(buf, size, "gen%u", value);
	else
		util_copy(buf, size, softtape_value_word(value));
}

static struct json_object *steps_array(const struct softtape_plan *plan)
{
	struct json_object *steps = json_object_new_array();
	char word[CARD_WORD_MAX];
	int i;

	for (i = 0; i < plan->nr; i++) {
		const struct softtape_step *step = &plan->step[i];
		struct json_object *object = json_object_new_object();

		add_text(object, "what", softtape_field_name(SOFTTAPE_F_ASPM + (step->what - SOFTTAPE_ASPM)));
		step_word(step, step->from, word, sizeof(word));
		add_text(object, "from", word);
		step_word(step, step->to, word, sizeof(word));
		add_text(object, "to", word);
		add_text(object, "result", "planned");
		json_object_array_add(steps, object);
	}

	return steps;
}

static struct json_object *phases_array(const struct outcome *outcome)
{
	struct json_object *phases = json_object_new_array();
	unsigned int i;

	for (i = 0; outcome && i < outcome->nr_phase; i++) {
		struct json_object *phase = json_object_new_object();

		add_text(phase, "name", outcome->phase[i].name);
		add_text(phase, "result", outcome->phase[i].result);
		add(phase, "ms", json_object_new_uint64(outcome->phase[i].ms));
		add_number(phase, "predicted_ms", outcome->phase[i].predicted_ms);
		json_object_array_add(phases, phase);
	}

	return phases;
}

static unsigned long long predicted_ms(const struct outcome *outcome)
{
	unsigned long long ms = 0;
	unsigned int i;

	for (i = 0; i < outcome->nr_phase; i++)
		ms += outcome->phase[i].predicted_ms;
	return ms;
}

static const char *inject_word(enum selftest_inject inject)
{
	static const char *const words[] = {
#define X(id, word) [id] = word,
		SELFTEST_INJECTS(X)
#undef X
	};

	return words[inject];
}

static struct json_object *run_object(const struct outcome *outcome)
{
	struct json_object *run = json_object_new_object();

	add_text(run, "state", outcome_run_word(outcome->run));
	add_text(run, "level", outcome->level);
	add_number(run, "pid", (unsigned long long)outcome->pid);
	add_number(run, "pid_ticks", outcome->pid_ticks);
	add_number(run, "predicted_ms", predicted_ms(outcome));
	add(run, "queue_ms", json_object_new_uint64(outcome->queue_ms));
	add_number(run, "soak_ms", outcome->soak_ms);
	add_text(run, "inject", inject_word(outcome->inject));
	add_number(run, "started", (unsigned long long)outcome->started);
	add_number(run, "ended", (unsigned long long)outcome->ended);
	return run;
}

static struct json_object *windows_object(const struct selftest_rates *rates)
{
	struct json_object *object;

	if (!rates->windows)
		return NULL;
	object = json_object_new_object();
	add_number(object, "windows", rates->windows);
	add(object, "min_mbs", json_object_new_uint64(rates->min));
	add(object, "median_mbs", json_object_new_uint64(rates->median));
	add(object, "max_mbs", json_object_new_uint64(rates->max));
	return object;
}

static struct json_object *uplink_object(const struct uplink *uplink)
{
	struct json_object *object;

	if (!uplink->port[0])
		return NULL;
	object = json_object_new_object();
	add_text(object, "port", uplink->port);
	add_number(object, "cards", uplink->cards);
	add_number(object, "carries_mbs", uplink->carries_mbs);
	add_number(object, "alone_mbs", uplink->alone_mbs);
	add_number(object, "together_mbs", uplink->together_mbs);
	return object;
}

static struct json_object *rates_object(const struct outcome *outcome)
{
	const struct selftest_result *test = &outcome->test;
	struct json_object *rates = json_object_new_object();

	add_number(rates, "h2d_mbs", outcome->h2d_mbs);
	add_number(rates, "d2h_mbs", outcome->d2h_mbs);
	add_number(rates, "link_mbs", outcome->link_mbs);
	add(rates, "to_card", windows_object(&test->to_card));
	add(rates, "to_host", windows_object(&test->to_host));
	add_number(rates, "both_mbs", test->both_mbs);
	add_number(rates, "together_mbs", test->together_mbs);
	add_number(rates, "copied_mb", test->copied_mb);
	add(rates, "uplink", uplink_object(&outcome->uplink));
	return rates;
}

static struct json_object *memory_object(const struct outcome *outcome)
{
	const struct selftest_result *test = &outcome->test;
	struct json_object *memory = json_object_new_object();

	add_number(memory, "tested_mib", outcome->tested_mib);
	add_number(memory, "total_mib", outcome->mem_mib);
	add_number(memory, "free_mib", test->free_mib);
	add(memory, "untested_mib", outcome->tested_mib ?
	    json_object_new_uint64(outcome->mem_mib - (unsigned long long)outcome->tested_mib) : NULL);
	add_number(memory, "real_mib", test->real_mib);
	add_number(memory, "peak_mbs", test->peak_mbs);
	add_number(memory, "read_mbs", test->read_mbs);
	add_number(memory, "write_mbs", test->write_mbs);
	return memory;
}

static struct json_object *compute_object(const struct selftest_result *test)
{
	struct json_object *compute = json_object_new_object(), *rates = json_object_new_object();
	unsigned int unit;

	add_number(compute, "capability", test->compute);
	add_number(compute, "multiprocessors", test->sm_count);
	add_number(compute, "multiprocessors_seen", test->sm_seen);
	for (unit = 0; unit < SELFTEST_NR_UNITS; unit++)
		add_number(rates, selftest_unit_word(unit), test->unit_mops[unit]);
	add(compute, "mops", rates);
	/* Fused multiply-adds at less than half the pace of a multiplication and an addition: made so. */
	add(compute, "fma_limited", test->unit_mops[UNIT_FMA] && test->unit_mops[UNIT_MULADD] ?
	    json_object_new_boolean(test->unit_mops[UNIT_FMA] < test->unit_mops[UNIT_MULADD] / 2) : NULL);
	return compute;
}

static void add_hex(struct json_object *object, const char *key, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%08x", value);
	add_text(object, key, text);
}

static struct json_object *fault_object(const struct selftest_fault *fault)
{
	struct json_object *object = json_object_new_object();
	bool memory = fault->kind >= FAULT_CELL && fault->kind <= FAULT_MOVE;

	add_text(object, "kind", selftest_fault_word(fault->kind));
	add_text(object, "phase", selftest_phase_name(fault->phase));
	add(object, "at", json_object_new_uint64(fault->at));
	add(object, "other", fault->kind == FAULT_ALIAS ? json_object_new_uint64(fault->other) : NULL);
	add_hex(object, "expected", fault->expected);
	add_hex(object, "got", fault->got);
	add_hex(object, "xor", fault->expected ^ fault->got);
	add(object, "reread", memory ? json_object_new_string(fault->again == fault->expected ? "right" :
							      fault->again == fault->got ? "same" : "other") : NULL);
	add(object, "sm", fault->sm != ~0u ? json_object_new_uint64(fault->sm) : NULL);
	add_text(object, "unit", fault->kind == FAULT_COMPUTE ? selftest_unit_word(fault->unit) : NULL);
	add(object, "pass", json_object_new_uint64(fault->pass));
	add_hex(object, "bits", fault->bits);
	add(object, "seen", json_object_new_uint64(fault->seen));
	return object;
}

static struct json_object *faults_array(const struct selftest_result *test)
{
	struct json_object *faults = json_object_new_array();
	uint32_t i;

	for (i = 0; i < test->nr_faults; i++)
		json_object_array_add(faults, fault_object(&test->fault[i]));
	return faults;
}

static struct json_object *numbers_array(const uint32_t *numbers, size_t nr)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < nr; i++)
		json_object_array_add(array, json_object_new_uint64(numbers[i]));
	return array;
}

static struct json_object *statistics_object(const struct selftest_statistics *statistics)
{
	struct json_object *object;

	if (!statistics->sampled)
		return NULL;
	object = json_object_new_object();
	add_number(object, "words", statistics->sampled);
	add(object, "first", json_object_new_uint64(statistics->first));
	add(object, "last", json_object_new_uint64(statistics->last));
	add(object, "bits_up", numbers_array(statistics->up, ARRAY_SIZE(statistics->up)));
	add(object, "bits_down", numbers_array(statistics->down, ARRAY_SIZE(statistics->down)));
	add(object, "flips", numbers_array(statistics->flips, ARRAY_SIZE(statistics->flips)));
	add(object, "bins", numbers_array(statistics->bin, ARRAY_SIZE(statistics->bin)));
	return object;
}

static void add_count(struct json_object *object, const char *key, long long count)
{
	add(object, key, count < 0 ? NULL : json_object_new_int64(count));
}

static struct json_object *link_errors_object(const struct link_errors *errors)
{
	struct json_object *object;

	if (!errors->looked)
		return NULL;
	object = json_object_new_object();
	add_count(object, "corrected", errors->corrected);
	add_count(object, "nonfatal", errors->nonfatal);
	add_count(object, "fatal", errors->fatal);
	add_count(object, "replays", errors->replays);
	add_count(object, "log_lines", errors->log_lines);
	return object;
}

static struct json_object *range_object(const struct telemetry_range *range)
{
	struct json_object *object;

	if (!range->known)
		return NULL;
	object = json_object_new_object();
	add(object, "last", json_object_new_uint64(range->now));
	add(object, "min", json_object_new_uint64(range->min));
	add(object, "max", json_object_new_uint64(range->max));
	return object;
}

static struct json_object *trend_array(const struct telemetry *telemetry)
{
	struct json_object *array = json_object_new_array();
	uint32_t i;

	for (i = 0; i < telemetry->nr_trend; i++) {
		const struct telemetry_point *point = &telemetry->trend[i];
		struct json_object *object = json_object_new_object();

		add(object, "seconds", json_object_new_uint64(point->seconds));
		add_number(object, "temperature_c", point->celsius);
		add_number(object, "power_mw", point->milliwatts);
		add_number(object, "sm_mhz", point->sm_mhz);
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *telemetry_object(const struct telemetry *telemetry)
{
	struct json_object *object;
	int channel;

	if (!telemetry->samples)
		return NULL;
	object = json_object_new_object();
	add_bool(object, "simulated", telemetry->simulated);
	add_number(object, "samples", telemetry->samples);
	for (channel = 0; channel < TELEMETRY_NR_CHANNELS; channel++)
		add(object, telemetry_channel_word(channel), range_object(&telemetry->range[channel]));
	add(object, "throttle_reasons", telemetry->throttle_known ? json_object_new_uint64(telemetry->throttle) : NULL);
	add(object, "trend", trend_array(telemetry));
	return object;
}

static struct json_object *xids_array(const struct outcome *outcome)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < outcome->nr_xid; i++)
		json_object_array_add(array, json_object_new_int(outcome->xid[i]));
	return array;
}

static struct json_object *comparisons_array(const struct outcome *outcome)
{
	struct json_object *array = json_object_new_array();
	unsigned int i;

	for (i = 0; i < outcome->nr_comparison; i++) {
		const struct comparison *comparison = &outcome->comparison[i];
		struct json_object *object = json_object_new_object();

		add_text(object, "what", comparison->what);
		add_number(object, "before", comparison->before);
		add_number(object, "now", comparison->now);
		json_object_array_add(array, object);
	}
	return array;
}

static void add_test(struct json_object *card, const struct outcome *outcome)
{
	const struct selftest_result *test = &outcome->test;

	add(card, "compute", compute_object(test));
	add(card, "faults", faults_array(test));
	add(card, "more_faults", json_object_new_uint64(test->more_faults));
	add(card, "statistics", statistics_object(&test->statistics));
	add(card, "link_errors", link_errors_object(&outcome->link_errors));
	add(card, "telemetry", telemetry_object(&outcome->telemetry));
	add(card, "xids", xids_array(outcome));
	if (outcome->nr_comparison)
		add(card, "compare", comparisons_array(outcome));
	if (!outcome->inject)
		return;
	add(card, "injected", json_object_new_uint64(test->injected));
	add(card, "detected", json_object_new_uint64(test->detected));
	add(card, "detector_works", json_object_new_boolean(outcome_detector_works(outcome)));
}

static struct json_object *card_object(const struct row *row)
{
	const struct outcome *outcome = row->outcome;
	struct json_object *card = json_object_new_object();
	char id[CARD_WORD_MAX];

	snprintf(id, sizeof(id), "%04x:%04x", row->card.vendor, row->card.device);
	add_text(card, "bdf", row->card.bdf);
	add_text(card, "id", id);
	add_text(card, "name", row->card.name);
	add(card, "simulated", outcome && (outcome->tested || outcome->simulated) ?
	    json_object_new_boolean(outcome->simulated) : NULL);
	if (row->card.line)
		add(card, "line", json_object_new_uint64(row->card.line));
	add_text(card, "port", row->card.port);
	add(card, "link", link_object(&row->card.view));
	add_text(card, "driver", row->card.driver);
	add(card, "quirks", quirks_object(row));
	if (row->planned)
		add(card, "steps", steps_array(&row->plan));
	add(card, "phases", phases_array(outcome));
	add(card, "errors", outcome && outcome->tested ? json_object_new_uint64(outcome->errors) : NULL);
	add_text(card, "verdict", outcome && outcome->verdict != VERDICT_NONE ? verdict_word(outcome->verdict) : NULL);
	if (!outcome)
		return card;

	add(card, "rates", rates_object(outcome));
	add(card, "memory", memory_object(outcome));
	add(card, "run", run_object(outcome));
	if (outcome->test.phase[SELFTEST_LIBRARY].word != SELFTEST_NOT_RUN)
		add_test(card, outcome);
	return card;
}

static void add_finding(struct json_object *findings, const struct finding *finding)
{
	const struct finding_info *info = finding_info(finding->code);
	struct json_object *object = json_object_new_object();
	char command[1024];

	finding_command(finding, command, sizeof(command));
	add_text(object, "code", finding_word(finding));
	add_text(object, "severity", finding_severity_word(info->severity));
	add_text(object, "action", info->action);
	add_text(object, "evidence", finding->evidence);
	add_text(object, "bdf", finding->bdf);
	add_text(object, "title", info->title);
	add_text(object, "command", command);
	json_object_array_add(findings, object);
}

static struct json_object *findings_array(const struct result *result)
{
	struct json_object *findings = json_object_new_array();
	unsigned int n;
	size_t i;

	for (i = 0; i < result->findings.nr; i++)
		add_finding(findings, &result->findings.item[i]);

	for (i = 0; i < result->nr; i++)
		for (n = 0; result->row[i].outcome && n < result->row[i].outcome->nr_finding; n++)
			add_finding(findings, &result->row[i].outcome->finding[n]);

	return findings;
}

static struct json_object *facts_object(const struct result *result)
{
	struct json_object *facts = json_object_new_object();
	size_t i;

	for (i = 0; i < result->nr_fact; i++)
		add_text(facts, result->fact[i].key, result->fact[i].value);
	return facts;
}

static struct json_object *address_text(unsigned int address)
{
	char text[8];

	snprintf(text, sizeof(text), "0x%02x", address);
	return json_object_new_string(text);
}

static struct json_object *sensors_array(const struct smbus_host *host)
{
	struct json_object *sensors = json_object_new_array();
	unsigned int i;

	for (i = 0; i < host->nr_sensor; i++) {
		struct json_object *sensor = json_object_new_object();

		add(sensor, "address", address_text(host->sensor[i].address));
		add_text(sensor, "name", host->sensor[i].name);
		add_text(sensor, "driver", host->sensor[i].driver);
		json_object_array_add(sensors, sensor);
	}

	return sensors;
}

static struct json_object *messages_array(const struct smbus_host *host)
{
	struct json_object *messages = json_object_new_array();

	if (host->busy[0])
		json_object_array_add(messages, output_string(host->busy));
	if (host->bios[0])
		json_object_array_add(messages, output_string(host->bios));
	return messages;
}

static struct json_object *smbus_object(const struct smbus_host *host, bool log_read)
{
	struct json_object *object = json_object_new_object();
	struct json_object *held = json_object_new_array();
	char adapter[24] = "";
	unsigned int i;

	if (host->adapter >= 0)
		snprintf(adapter, sizeof(adapter), "i2c-%d", host->adapter);
	for (i = 0; i < SOFTTAPE_SMBUS_ADDRESSES; i++)
		if (host->held[i])
			json_object_array_add(held, address_text(softtape_smbus_address(i)));

	add_text(object, "bdf", host->bdf);
	add_text(object, "driver", host->driver);
	add_text(object, "adapter", adapter);
	add(object, "held", held);
	add(object, "sensors", sensors_array(host));
	add(object, "messages", log_read ? messages_array(host) : NULL);
	add_text(object, "hold", host->hold);
	return object;
}

static struct json_object *smbus_array(const struct smbus *smbus)
{
	struct json_object *hosts = json_object_new_array();
	unsigned int i;

	for (i = 0; i < smbus->nr; i++)
		json_object_array_add(hosts, smbus_object(&smbus->host[i], smbus->log_read));
	return hosts;
}

static bool any_simulated(const struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr; i++)
		if (result->row[i].outcome && result->row[i].outcome->simulated)
			return true;

	return result->simulated;
}

/**
 * output_document - the whole document
 * @result:	what a command came to
 *
 * Return: to be put by the caller.
 */
struct json_object *output_document(const struct result *result)
{
	struct json_object *document = json_object_new_object();
	struct json_object *cards = json_object_new_array();
	size_t i;

	for (i = 0; i < result->nr; i++)
		json_object_array_add(cards, card_object(&result->row[i]));

	add(document, "schema", json_object_new_int(SCHEMA));
	add_text(document, "tool", "softtape");
	add_text(document, "version", SOFTTAPE_VERSION);
	add_text(document, "command", result->command);
	add_bool(document, "simulated", any_simulated(result));
	add_text(document, "verdict", result->verdict == VERDICT_NONE ? NULL : verdict_word(result->verdict));
	add(document, "exit", json_object_new_int(result->exit));
	if (result->detector)
		add_text(document, "detector", result->detector);
	add(document, "cards", cards);
	if (result->smbus.read)
		add(document, "smbus", smbus_array(&result->smbus));
	add(document, "findings", findings_array(result));
	if (result->nr_fact)
		add(document, "facts", facts_object(result));
	if (result->more)
		add(document, result->command, json_object_get(result->more));
	return document;
}

/**
 * output_json - print the document
 * @result:	what a command came to
 */
void output_json(const struct result *result)
{
	struct json_object *document = output_document(result);

	puts(json_object_to_json_string_ext(document, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE |
					    JSON_C_TO_STRING_SPACED));
	json_object_put(document);
}
