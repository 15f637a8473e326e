// SPDX-License-Identifier: GPL-2.0-only
/* The words of the log line and of the sysfs files. Pure text: decides nothing. */
#include "softtape.h"

/* Text that is cut, never overrun. */
struct text {
	char *buf;
	size_t size;
	size_t len;
};

static __attribute__((format(printf, 2, 3))) void add(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	if (text->len >= text->size)
		return;

	va_start(args, format);
	n = vsnprintf(text->buf + text->len, text->size - text->len, format, args);
	va_end(args);

	if (n > 0)
		text->len += n;
}

static size_t text_length(const struct text *text)
{
	if (!text->size)
		return 0;
	return text->len < text->size ? text->len : text->size - 1;
}

/**
 * softtape_value_word - the word for a value
 * @value:	any enum softtape_value
 */
const char *softtape_value_word(enum softtape_value value)
{
	static const char *const words[] = {
		[SOFTTAPE_OFF] = "off",
		[SOFTTAPE_L0S] = "l0s",
		[SOFTTAPE_L1] = "l1",
		[SOFTTAPE_L0S_L1] = "l0s+l1",
		[SOFTTAPE_ON] = "on",
		[SOFTTAPE_UNSUPPORTED] = "unsupported",
		[SOFTTAPE_UNKNOWN] = "unknown",
	};

	return words[value];
}

/**
 * softtape_state_word - the word for a state
 * @state:	any enum softtape_state
 */
const char *softtape_state_word(enum softtape_state state)
{
	static const char *const words[] = {
		[SOFTTAPE_PENDING] = "pending",
		[SOFTTAPE_SKIPPED] = "skipped",
		[SOFTTAPE_DRY_RUN] = "dry-run",
		[SOFTTAPE_LOST] = "lost",
		[SOFTTAPE_UNCHANGED] = "unchanged",
		[SOFTTAPE_APPLIED] = "applied",
		[SOFTTAPE_PARTIAL] = "partial",
		[SOFTTAPE_REFUSED] = "refused",
	};

	return words[state];
}

/**
 * softtape_field_name - key of the log line, name of the sysfs file
 * @field:	any enum softtape_field below SOFTTAPE_NR_FIELDS
 */
const char *softtape_field_name(enum softtape_field field)
{
	static const char *const names[] = {
		[SOFTTAPE_F_CARD] = "card",
		[SOFTTAPE_F_STATE] = "state",
		[SOFTTAPE_F_ASPM] = "aspm",
		[SOFTTAPE_F_CLKPM] = "clkpm",
		[SOFTTAPE_F_L1SS] = "l1ss",
		[SOFTTAPE_F_D3COLD] = "d3cold",
		[SOFTTAPE_F_CAP] = "cap",
		[SOFTTAPE_F_SPEED] = "speed",
		[SOFTTAPE_F_SMBUS] = "smbus",
	};

	return names[field];
}

/**
 * softtape_speed_word - a Link Speed field in words
 * @speed:	encoding of LNKCAP, LNKSTA and LNKCTL2 on devices of revision 3 and later (PCIe r6.0 7.5.3.6)
 *
 * Return: "2.5GT/s" for 1 and so on, "unknown" for 0 and for encodings that do not exist.
 */
const char *softtape_speed_word(__u8 speed)
{
	static const char *const words[] = { "unknown", "2.5GT/s", "5GT/s", "8GT/s", "16GT/s", "32GT/s", "64GT/s" };

	return words[speed < sizeof(words) / sizeof(words[0]) ? speed : 0];
}

static void add_speed(struct text *text, __u8 speed, __u8 width)
{
	if (speed && width)
		add(text, "%s,x%u", softtape_speed_word(speed), width);
	else
		add(text, "unknown");
}

static void add_cap(struct text *text, const struct softtape_report *report)
{
	static const char *const words[] = {
		[SOFTTAPE_CAP_KEEP] = "keep",
		[SOFTTAPE_CAP_UNNEEDED] = "unneeded",
		[SOFTTAPE_CAP_LIFTED] = "lifted",
		[SOFTTAPE_CAP_REFUSED_DRIVER] = "refused(driver)",
		[SOFTTAPE_CAP_REFUSED_READBACK] = "refused(readback)",
		[SOFTTAPE_CAP_REFUSED_V1] = "refused(v1)",
		[SOFTTAPE_CAP_UNSUPPORTED] = "unsupported",
		[SOFTTAPE_CAP_UNKNOWN] = "unknown",
	};

	if (report->cap == SOFTTAPE_CAP_SET || report->cap == SOFTTAPE_CAP_WOULD)
		add(text, "gen%u", report->cap_gen);
	else if (report->cap == SOFTTAPE_CAP_CLAMPED)
		add(text, "clamped:gen%u", report->cap_gen);
	else
		add(text, "%s", words[report->cap]);
}

static enum softtape_item field_item(enum softtape_field field)
{
	return SOFTTAPE_ASPM + (field - SOFTTAPE_F_ASPM);
}

static void add_value(struct text *text, const struct softtape_report *report, enum softtape_field field)
{
	switch (field) {
	case SOFTTAPE_F_CARD:
		add(text, "%s", report->card->name);
		break;
	case SOFTTAPE_F_STATE:
		add(text, "%s", softtape_state_word(report->state));
		break;
	case SOFTTAPE_F_ASPM:
	case SOFTTAPE_F_CLKPM:
	case SOFTTAPE_F_L1SS:
	case SOFTTAPE_F_D3COLD:
		add(text, "%s", softtape_value_word(report->value[field_item(field)]));
		break;
	case SOFTTAPE_F_CAP:
		add_cap(text, report);
		break;
	case SOFTTAPE_F_SPEED:
		add_speed(text, report->view.speed, report->view.width);
		break;
	case SOFTTAPE_F_SMBUS:
		add(text, "%s", report->smbus);
		break;
	default:
		break;
	}
}

static void add_item_reason(struct text *text, const struct softtape_report *report, enum softtape_item item)
{
	static const char *const words[] = {
		[SOFTTAPE_R_UNCHANGED] = "unchanged",
		[SOFTTAPE_R_KEEP] = "keep",
		[SOFTTAPE_R_REFUSED_FIRMWARE] = "refused:firmware",
		[SOFTTAPE_R_REFUSED_CORE] = "refused:core",
		[SOFTTAPE_R_REFUSED_READBACK] = "refused:readback",
		[SOFTTAPE_R_REFUSED_DRIVER] = "refused:driver",
		[SOFTTAPE_R_WOULD] = "would be off",
	};
	enum softtape_reason reason = report->reason[item];

	if (reason == SOFTTAPE_R_WAS)
		add(text, "(was %s)", softtape_value_word(report->was[item]));
	else if (reason != SOFTTAPE_R_NONE)
		add(text, "(%s)", words[reason]);
}

static void add_reason(struct text *text, const struct softtape_report *report, enum softtape_field field)
{
	switch (field) {
	case SOFTTAPE_F_ASPM:
	case SOFTTAPE_F_CLKPM:
	case SOFTTAPE_F_L1SS:
	case SOFTTAPE_F_D3COLD:
		add_item_reason(text, report, field_item(field));
		break;
	case SOFTTAPE_F_CAP:
		if (report->cap == SOFTTAPE_CAP_WOULD)
			add(text, "(would be gen%u)", report->cap_want);
		break;
	case SOFTTAPE_F_SPEED:
		if (!report->view.max_speed || !report->view.max_width)
			break;
		add(text, "(max ");
		add_speed(text, report->view.max_speed, report->view.max_width);
		add(text, ")");
		break;
	case SOFTTAPE_F_SMBUS:
		if (report->smbus_would && !strcmp(report->smbus, "off"))
			add(text, "(would be %s)", report->smbus_would);
		break;
	default:
		break;
	}
}

/**
 * softtape_report_field - one value without its reason, as a sysfs file shows it
 * @report:	the report
 * @field:	which value
 * @buf:	always terminated when @size is not 0
 * @size:	bytes in @buf
 *
 * Return: length of the text in @buf.
 */
size_t softtape_report_field(const struct softtape_report *report, enum softtape_field field, char *buf, size_t size)
{
	struct text text = { .buf = buf, .size = size };

	add_value(&text, report, field);
	return text_length(&text);
}

static void add_values(struct text *text, const struct softtape_report *report)
{
	int field;

	for (field = SOFTTAPE_F_STATE; field < SOFTTAPE_NR_FIELDS; field++) {
		add(text, "%s%s=", field == SOFTTAPE_F_STATE ? "" : " ", softtape_field_name(field));
		add_value(text, report, field);
		add_reason(text, report, field);
		/* Nothing was read, so there is nothing else to say. */
		if (report->state == SOFTTAPE_SKIPPED)
			return;
	}

	if (report->after)
		add(text, " after=%s", report->after);
}

/**
 * softtape_report_values - the key=value part of the log line
 * @report:	the report
 * @buf:	always terminated when @size is not 0
 * @size:	bytes in @buf
 *
 * Return: length of the text in @buf.
 */
size_t softtape_report_values(const struct softtape_report *report, char *buf, size_t size)
{
	struct text text = { .buf = buf, .size = size };

	add_values(&text, report);
	return text_length(&text);
}

/**
 * softtape_report_line - the log line, from "softtape: " on, without a newline
 * @report:	the report
 * @buf:	always terminated when @size is not 0; SOFTTAPE_LINE_MAX is enough
 * @size:	bytes in @buf
 *
 * Return: length of the text in @buf.
 */
size_t softtape_report_line(const struct softtape_report *report, char *buf, size_t size)
{
	struct text text = { .buf = buf, .size = size };

	add(&text, "softtape: %s [%04x:%04x]: ", report->card->name, SOFTTAPE_VENDOR_NVIDIA, report->device);
	add_values(&text, report);
	return text_length(&text);
}
