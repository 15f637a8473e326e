// SPDX-License-Identifier: GPL-2.0-only
/* Verdicts in the journal, with fields to search by. Without libsystemd only what the unit prints gets there. */
#include "journal.h"

#include <string.h>
#include <sys/stat.h>
#include <syslog.h>

#include "output.h"

/**
 * journal_is_output - does standard output go to the journal?
 *
 * systemd names the stream it gave us in JOURNAL_STREAM (systemd.exec(5)).
 */
bool journal_is_output(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat stat;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && !fstat(STDOUT_FILENO, &stat) &&
	       stat.st_dev == device && stat.st_ino == inode;
}

#ifdef HAVE_LIBSYSTEMD
#include <systemd/sd-journal.h>

#define MESSAGE_VERDICT	"MESSAGE_ID=5c0f7a0e3e4c4ff0a3a7f1c70b0d6a52"

static int verdict_priority(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_PASS:
		return LOG_INFO;
	case VERDICT_FAULT:
	case VERDICT_HUNG:
	case VERDICT_LOST:
		return LOG_ERR;
	case VERDICT_DEGRADED:
	case VERDICT_NOT_TESTABLE:
		return LOG_WARNING;
	default:
		return LOG_NOTICE;
	}
}

static int severity_priority(enum finding_severity severity)
{
	static const int priorities[] = {
		[FINDING_INFO] = LOG_INFO,
		[FINDING_WARNING] = LOG_WARNING,
		[FINDING_ERROR] = LOG_ERR,
	};

	return priorities[severity];
}

static void send_finding(const struct finding *finding, bool simulated)
{
	const struct finding_info *info = finding_info(finding->code);
	char command[1024], id[33];

	finding_command(finding, command, sizeof(command));
	finding_message_id(finding_word(finding), id, sizeof(id));
	sd_journal_send("MESSAGE_ID=%s", id, "PRIORITY=%i", severity_priority(info->severity), "SOFTTAPE_BDF=%s", finding->bdf,
			"SOFTTAPE_CODE=%s", finding_word(finding), "SOFTTAPE_ACTION=%s", info->action,
			"SOFTTAPE_COMMAND=%s", command, "SOFTTAPE_SIMULATED=%i", simulated,
			"MESSAGE=%s: %s [%s]: %s; %s", finding->bdf, info->title, finding_word(finding), finding->evidence,
			info->remedy, NULL);
}

static bool send_row(const struct row *row)
{
	const struct outcome *outcome = row->outcome;
	char line[1024];
	unsigned int i;

	output_verdict_line(row, false, line, sizeof(line));
	if (sd_journal_send(MESSAGE_VERDICT, "PRIORITY=%i", verdict_priority(outcome->verdict), "SOFTTAPE_BDF=%s",
			    row->card.bdf, "SOFTTAPE_CARD=%s", row->card.name, "SOFTTAPE_VERDICT=%s",
			    verdict_word(outcome->verdict), "SOFTTAPE_LEVEL=%s", outcome->level, "SOFTTAPE_SIMULATED=%i",
			    outcome->simulated, "MESSAGE=%s", line, NULL))
		return false;

	for (i = 0; i < outcome->nr_finding; i++)
		send_finding(&outcome->finding[i], outcome->simulated);
	return true;
}

/**
 * journal_send - write verdicts and findings
 * @result:	of a check
 *
 * Return: whether the journal took them.
 */
bool journal_send(const struct result *result)
{
	bool sent = true;
	size_t i;

	for (i = 0; i < result->nr; i++)
		sent &= result->row[i].outcome && send_row(&result->row[i]);
	return sent;
}

#else

bool journal_send(const struct result *result)
{
	(void)result;
	return false;
}

#endif
