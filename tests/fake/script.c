// SPDX-License-Identifier: GPL-2.0-only
/* Reads the script of the simulated NVIDIA libraries and carries out what it says of an entry point; see script.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "script.h"

#define CONFIG_FILE	"/etc/softtape-fake.conf"
#define ACTIONS_MAX	64
#define UNKNOWN		999

enum action_kind { ACT_CODE, ACT_DELAY, ACT_EXIT, ACT_SIGNAL, ACT_HANG, ACT_HANG_HARD, ACT_SPIN, ACT_BLOCK, ACT_LOST };

struct action {
	char name[48];
	enum action_kind kind;
	long value;
	char file[200];
	unsigned long from_call;
	unsigned long calls;
};

struct script script = {
	.name = "Simulated_NVIDIA_GPU",
#define X(word, value) .word = value,
	SCRIPT_NUMBERS(X)
#undef X
};

static struct action actions[ACTIONS_MAX];
static unsigned int nr_actions;
static bool lost;

static void complain(const char *word)
{
	fprintf(stderr, "simulated NVIDIA library: not understood: %s\n", word);
	abort();
}

static bool parse_action(const char *name, const char *value)
{
	static const struct {
		const char *word;
		enum action_kind kind;
	} kinds[] = {
		{ "code:", ACT_CODE }, { "delay:", ACT_DELAY }, { "exit:", ACT_EXIT }, { "signal:", ACT_SIGNAL },
		{ "hang-hard", ACT_HANG_HARD }, { "hang", ACT_HANG }, { "spin", ACT_SPIN }, { "block:", ACT_BLOCK },
		{ "lost:", ACT_LOST },
	};
	struct action *action = &actions[nr_actions];
	const char *at = strrchr(value, '@');

	if (nr_actions == ACTIONS_MAX || strlen(name) >= sizeof(action->name))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i].word);

		if (strncmp(value, kinds[i].word, len))
			continue;
		strcpy(action->name, name);
		action->kind = kinds[i].kind;
		action->value = strtol(value + len, NULL, 0);
		snprintf(action->file, sizeof(action->file), "%.*s", at ? (int)(at - value - (long)len) : 199,
			 value + len);
		action->from_call = at ? strtoul(at + 1, NULL, 10) : 1;
		nr_actions++;
		return true;
	}
	return false;
}

static bool parse_fault(struct script_faults *faults, const char *value)
{
	struct script_fault *fault = &faults->item[faults->nr];
	char *end;

	if (faults->nr == SCRIPT_FAULTS_MAX)
		return false;
	fault->at = strtoull(value, &end, 0);
	fault->bit = *end == ':' ? (unsigned int)strtoul(end + 1, &end, 10) : 0;
	fault->value = *end == ':' ? (unsigned int)strtoul(end + 1, &end, 10) : 0;
	faults->nr++;
	return end != value && !*end;
}

static bool parse_number(long *number, const char *value)
{
	char *end;

	*number = strtol(value, &end, 0);
	return end != value && !*end;
}

static bool parse_word(char *word)
{
	static const struct {
		const char *key;
		long *number;
	} numbers[] = {
#define X(word, value) { #word, &script.word },
		SCRIPT_NUMBERS(X)
#undef X
	};
	static const struct {
		const char *key;
		struct script_faults *faults;
	} faults[] = {
#define X(word) { #word, &script.word },
		SCRIPT_FAULTS(X)
#undef X
	};
	char *value = strchr(word, '=');

	if (!value)
		return false;
	*value++ = '\0';
	if (!strncmp(word, "cu", 2) || !strncmp(word, "nvml", 4))
		return parse_action(word, value);
	if (!strcmp(word, "force"))
		return script.force = !strcmp(value, "1");
	if (!strcmp(word, "name"))
		return snprintf(script.name, sizeof(script.name), "%s", value) < (int)sizeof(script.name);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(word, numbers[i].key))
			return parse_number(numbers[i].number, value);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (!strcmp(word, faults[i].key))
			return parse_fault(faults[i].faults, value);
	return false;
}

static void parse_text(const char *text)
{
	char copy[4096], shown[200], *line, *word, *lines = NULL, *words;

	snprintf(copy, sizeof(copy), "%s", text);
	for (line = strtok_r(copy, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
		if (*line == '#')
			continue;
		for (word = strtok_r(line, " \t;", &words); word; word = strtok_r(NULL, " \t;", &words)) {
			snprintf(shown, sizeof(shown), "%s", word);
			if (!parse_word(word))
				complain(shown);
		}
	}
}

__attribute__((constructor)) static void read_script(void)
{
	const char *env = getenv("SOFTTAPE_FAKE"), *force = getenv("SOFTTAPE_FAKE_FORCE");
	char text[4096];
	size_t len;
	FILE *file;

	file = fopen(CONFIG_FILE, "re");
	if (file) {
		len = fread(text, 1, sizeof(text) - 1, file);
		text[len] = '\0';
		fclose(file);
		parse_text(text);
	}
	if (env)
		parse_text(env);
	if (force && !strcmp(force, "1"))
		script.force = true;
	for (char *c = script.name; *c; c++)
		if (*c == '_')
			*c = ' ';
}

static void sleep_ms(long ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void hang(bool hard)
{
	sigset_t all;

	if (hard) {
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
	}
	for (;;)
		sleep_ms(1000);
}

static void spin(void)
{
	static volatile bool for_ever = true;

	while (for_ever)
		;
}

static void leave_bus(const char *file)
{
	static const unsigned char ones[64] = { [0 ... 63] = 0xff };
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, ones, sizeof(ones)) != sizeof(ones))
		complain(file);
	close(fd);
	lost = true;
}

static int carry_out(const struct action *action)
{
	switch (action->kind) {
	case ACT_CODE:
		return (int)action->value;
	case ACT_DELAY:
		sleep_ms(action->value);
		return 0;
	case ACT_EXIT:
		exit((int)action->value);
	case ACT_SIGNAL:
		raise((int)action->value);
		return 0;
	case ACT_HANG:
	case ACT_HANG_HARD:
		hang(action->kind == ACT_HANG_HARD);
		return 0;
	case ACT_SPIN:
		spin();
		return 0;
	case ACT_BLOCK:
		close(open(action->file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		return 0;
	case ACT_LOST:
		if (!lost)
			leave_bus(action->file);
		return 0;
	}
	return 0;
}

int script_act(const char *name)
{
	int code = 0;

	for (unsigned int i = 0; i < nr_actions; i++) {
		struct action *action = &actions[i];
		int said;

		if (strcmp(action->name, name) || ++action->calls < action->from_call)
			continue;
		said = carry_out(action);
		code = said ? said : code;
	}
	return lost ? UNKNOWN : code;
}
