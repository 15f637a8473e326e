// SPDX-License-Identifier: GPL-2.0-only
/* What the user configured: /etc/softtape.conf for the helper, the module's parameters for plans. */
#include "settings.h"

#include <errno.h>
#include <glob.h>
#include <ini.h>
#include <libkmod.h>
#include <stdlib.h>

#include "host.h"

#define PARAMETERS	"/sys/module/softtape/parameters"

struct reader {
	struct settings settings;
	const char *file;
	char *error;
	size_t size;
};

static bool set_on_plug(struct settings *settings, const char *value)
{
	static const char *const words[] = {
#define X(id, word) [id] = word,
		ON_PLUGS(X)
#undef X
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i], value))
			continue;
		settings->on_plug = i;
		return true;
	}

	return false;
}

static bool parse_number(const char *value, unsigned long min, unsigned long max, unsigned int *ret_number)
{
	unsigned long number;
	char *end;

	if (*value < '0' || *value > '9')
		return false;

	errno = 0;
	number = strtoul(value, &end, 10);
	if (errno || *end || number < min || number > max)
		return false;

	*ret_number = (unsigned int)number;
	return true;
}

/* Nothing behind the sign is the default. */
static bool set_max_parallel(struct settings *settings, const char *value)
{
	settings->max_parallel = 0;
	return !value[0] || parse_number(value, 1, 64, &settings->max_parallel);
}

static bool set_driver_wait(struct settings *settings, const char *value)
{
	return parse_number(value, 0, 3600, &settings->driver_wait_s);
}

static bool set_expected_cards(struct settings *settings, const char *value)
{
	unsigned int number;

	settings->expected_cards = -1;
	if (!value[0])
		return true;
	if (!parse_number(value, 0, 64, &number))
		return false;
	settings->expected_cards = (int)number;
	return true;
}

static const struct {
	const char *key;
	const char *accepts;
	bool (*set)(struct settings *settings, const char *value);
} keys[] = {
	{ "on_plug", "quick, standard, bind-only, off", set_on_plug },
	{ "max_parallel", "1 to 64", set_max_parallel },
	{ "driver_wait", "0 to 3600 (seconds)", set_driver_wait },
	{ "expected_cards", "0 to 64", set_expected_cards },
};

/* Called by inih for each line; 0 makes it remember the line as wrong, the first message is kept. */
static int take_key(void *data, const char *section, const char *key, const char *value)
{
	struct reader *reader = data;
	char text[256];
	size_t i;

	/* inih knows ";" behind a value as a comment, not "#", which begins one in a line of its own. */
	util_copy(text, sizeof(text), value);
	text[strcspn(text, "#")] = '\0';
	for (i = strlen(text); i && strchr(" \t", text[i - 1]); i--)
		text[i - 1] = '\0';

	for (i = 0; !section[0] && i < ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i].key, key))
			continue;
		if (keys[i].set(&reader->settings, text))
			return 1;
		if (!reader->error[0])
			snprintf(reader->error, reader->size, "%s: %s=%s: accepted are %s", reader->file, key, value,
				 keys[i].accepts);
		return 0;
	}

	if (!reader->error[0])
		snprintf(reader->error, reader->size, "%s: unknown key '%s': there are on_plug, max_parallel, driver_wait, expected_cards",
			 reader->file, key);
	return 0;
}

/*
 * inih takes an indented line for more of the value before it, and the rest of a line that is too long for a line of its
 * own; nobody means that here. No value is that long, a comment may be.
 */
static char *next_line(char *buf, int size, void *stream)
{
	char *start;
	int c;

	if (!fgets(buf, size, stream))
		return NULL;

	if (strlen(buf) == (size_t)size - 1 && buf[size - 2] != '\n') {
		buf[size - 2] = '\n';
		do
			c = getc(stream);
		while (c != EOF && c != '\n');
	}

	start = buf + strspn(buf, " \t");
	memmove(buf, start, strlen(start) + 1);
	return buf;
}

static int read_file(struct reader *reader, const char *file)
{
	FILE *stream CLEANUP_FILE = fopen(file, "re");
	int line;

	if (!stream) {
		snprintf(reader->error, reader->size, "%s: %s", file, strerror(errno));
		return -errno;
	}

	reader->file = file;
	line = ini_parse_stream(next_line, stream, take_key, reader);
	/* A folder can be opened, not read. */
	if (ferror(stream)) {
		snprintf(reader->error, reader->size, "%s: cannot be read", file);
		return -EIO;
	}
	if (!line)
		return 0;

	if (!reader->error[0])
		snprintf(reader->error, reader->size, "%s: line %d is not key=value", file, line);
	return -EINVAL;
}

static int read_default(struct reader *reader)
{
	glob_t drop_ins;
	int ret = 0;
	size_t i;

	char file[HOST_PATH_MAX], pattern[HOST_PATH_MAX];

	host_path(SETTINGS_FILE, file, sizeof(file));
	if (!access(file, F_OK))
		ret = read_file(reader, file);

	host_path(SETTINGS_FILE ".d/*.conf", pattern, sizeof(pattern));
	if (glob(pattern, 0, NULL, &drop_ins))
		return ret;

	for (i = 0; !ret && i < drop_ins.gl_pathc; i++)
		ret = read_file(reader, drop_ins.gl_pathv[i]);
	globfree(&drop_ins);
	return ret;
}

/**
 * settings_read - read the configuration
 * @file:	only this file; NULL = /etc/softtape.conf and then the *.conf in /etc/softtape.conf.d, as far as they exist
 * @ret_settings: filled on success
 * @error:	one line on failure
 * @size:	bytes in @error
 *
 * Return: 0, or a negative errno when a file cannot be read or understood.
 */
int settings_read(const char *file, struct settings *ret_settings, char *error, size_t size)
{
	struct reader reader = { .settings.driver_wait_s = 60, .settings.expected_cards = -1, .error = error, .size = size };
	int ret;

	error[0] = '\0';
	ret = file ? read_file(&reader, file) : read_default(&reader);
	if (!ret)
		*ret_settings = reader.settings;
	return ret;
}

static void policy_loaded(struct softtape_policy *policy)
{
	char path[sizeof(PARAMETERS) + 32], value[1024];
	const char *key;
	unsigned int i;

	for (i = 0; (key = softtape_policy_key(i)); i++) {
		snprintf(path, sizeof(path), PARAMETERS "/%s", key);
		if (!util_read(path, value, sizeof(value)) && strcmp(value, "(null)"))
			softtape_policy_set(policy, key, value);
	}
}

static void policy_option(struct softtape_policy *policy, char *option)
{
	char *value = strchr(option, '=');

	if (!value)
		return;

	*value = '\0';
	softtape_policy_set(policy, option, value + 1);
}

/* "options softtape ..." lines of modprobe.d: what the next load will bring. */
static void policy_modprobe(struct softtape_policy *policy)
{
	struct kmod_ctx *ctx = kmod_new(NULL, NULL);
	struct kmod_module *module = NULL;
	char *text, *option, *save = NULL;
	const char *options;

	if (!ctx)
		return;

	if (!kmod_module_new_from_name(ctx, "softtape", &module)) {
		options = kmod_module_get_options(module);
		text = options ? strdup(options) : NULL;
		for (option = text ? strtok_r(text, " ", &save) : NULL; option; option = strtok_r(NULL, " ", &save))
			policy_option(policy, option);
		free(text);
		kmod_module_unref(module);
	}

	kmod_unref(ctx);
}

/**
 * settings_policy - the module's parameters on this machine
 * @ret_policy:	those of the loaded module, else those that modprobe.d sets for it
 *
 * Return: whether the module is loaded.
 */
bool settings_policy(struct softtape_policy *ret_policy)
{
	bool loaded = !access("/sys/module/softtape", F_OK);

	memset(ret_policy, 0, sizeof(*ret_policy));
	if (loaded)
		policy_loaded(ret_policy);
	else
		policy_modprobe(ret_policy);
	return loaded;
}
