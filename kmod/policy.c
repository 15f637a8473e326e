// SPDX-License-Identifier: GPL-2.0-only
/* Module parameters as text: which exist, what they accept, what they mean. Knows no device. */
#include "softtape.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

static int word_index(const char *const *words, const char *value)
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(words[i], value))
			return i;

	return -EINVAL;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Reads 1 to @max hex digits at *@pos; -1 when there is none. */
static long hex_number(const char **pos, int max)
{
	long number = 0;
	int n;

	for (n = 0; n < max && hex_digit(**pos) >= 0; n++)
		number = number << 4 | hex_digit(*(*pos)++);

	return n ? number : -1;
}

static int set_aspm(struct softtape_policy *policy, const char *value)
{
	static const char *const words[] = { "off", "keep", "force", NULL };
	int i = word_index(words, value);

	if (i < 0)
		return i;

	policy->aspm = i;
	return 0;
}

static int set_speed(struct softtape_policy *policy, const char *value)
{
	static const char *const words[] = { "keep", "gen1", "gen2", "gen3", "gen4", NULL };
	int i = word_index(words, value);

	if (i < 0)
		return i;

	policy->speed = i;
	return 0;
}

static int set_d3cold(struct softtape_policy *policy, const char *value)
{
	static const char *const words[] = { "off", "keep", NULL };
	int i = word_index(words, value);

	if (i < 0)
		return i;

	policy->d3cold = i;
	return 0;
}

static int set_smbus(struct softtape_policy *policy, const char *value)
{
	static const char *const words[] = { "awake", "hold", "off", NULL };
	int i = word_index(words, value);

	if (i < 0)
		return i;

	policy->smbus = i;
	return 0;
}

static int set_dry_run(struct softtape_policy *policy, const char *value)
{
	static const char *const words[] = { "N", "Y", "n", "y", "0", "1", NULL };
	int i = word_index(words, value);

	if (i < 0)
		return i;

	policy->dry_run = i & 1;
	return 0;
}

/* 10de:dddd[,10de:dddd...]; an empty text is the empty list. */
static int set_ids(struct softtape_policy *policy, const char *value)
{
	unsigned int nr = 0;

	while (*value) {
		const char *start = value;
		long vendor = hex_number(&value, 4);
		long device;

		if (value - start != 4 || vendor != SOFTTAPE_VENDOR_NVIDIA || *value++ != ':')
			return -EINVAL;

		start = value;
		device = hex_number(&value, 4);
		if (value - start != 4 || nr == SOFTTAPE_IDS_MAX)
			return -EINVAL;

		policy->ids[nr++] = device;
		if (*value == ',' && value[1])
			value++;
		else if (*value)
			return -EINVAL;
	}

	policy->nr_ids = nr;
	return 0;
}

/* One dddd:bb:dd.f at *@pos. */
static int read_address(const char **pos, struct softtape_address *ret_address)
{
	const char *start = *pos;
	long domain, bus, slot, function;

	domain = hex_number(pos, 8);
	if (*pos - start < 4 || *(*pos)++ != ':')
		return -EINVAL;

	bus = hex_number(pos, 2);
	if (bus < 0 || *(*pos)++ != ':')
		return -EINVAL;

	slot = hex_number(pos, 2);
	if (slot < 0 || slot > 0x1f || *(*pos)++ != '.')
		return -EINVAL;

	function = hex_number(pos, 1);
	if (function < 0 || function >= SOFTTAPE_FUNCTIONS_MAX)
		return -EINVAL;

	ret_address->domain = domain;
	ret_address->bus = bus;
	ret_address->slot = slot;
	return 0;
}

static int set_skip(struct softtape_policy *policy, const char *value)
{
	unsigned int nr = 0;

	while (*value) {
		if (nr == SOFTTAPE_SKIP_MAX || read_address(&value, &policy->skip[nr]))
			return -EINVAL;

		nr++;
		if (*value == ',' && value[1])
			value++;
		else if (*value)
			return -EINVAL;
	}

	policy->nr_skip = nr;
	return 0;
}

static const struct {
	const char *key;
	const char *accepts;
	int (*set)(struct softtape_policy *policy, const char *value);
} parameters[] = {
	{ "aspm", "off, keep, force", set_aspm },
	{ "speed", "keep, gen1, gen2, gen3, gen4", set_speed },
	{ "d3cold", "off, keep", set_d3cold },
	{ "smbus", "awake, hold, off", set_smbus },
	{ "dry_run", "N, Y", set_dry_run },
	{ "ids", "10de:dddd[,10de:dddd...], at most 32", set_ids },
	{ "skip", "dddd:bb:dd.f[,dddd:bb:dd.f...], at most 32", set_skip },
};

/**
 * softtape_policy_key - walk the parameter names
 * @index:	0 for the first
 *
 * Return: the name, or NULL behind the last one.
 */
const char *softtape_policy_key(unsigned int index)
{
	return index < sizeof(parameters) / sizeof(parameters[0]) ? parameters[index].key : NULL;
}

/**
 * softtape_policy_accepts - what a parameter accepts, for messages
 * @key:	parameter name
 *
 * Return: the accepted values, default first, or NULL when there is no such parameter.
 */
const char *softtape_policy_accepts(const char *key)
{
	unsigned int i;

	for (i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++)
		if (!strcmp(parameters[i].key, key))
			return parameters[i].accepts;

	return NULL;
}

/**
 * softtape_policy_set - set one parameter from its text
 * @policy:	changed on success; unspecified for this one parameter on failure
 * @key:	parameter name
 * @value:	text as given by the user, without a trailing newline
 *
 * Return:
 * * %0		- set
 * * %-ENOENT	- no parameter of that name
 * * %-EINVAL	- not an accepted value, or more list entries than fit
 */
int softtape_policy_set(struct softtape_policy *policy, const char *key, const char *value)
{
	unsigned int i;

	for (i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++)
		if (!strcmp(parameters[i].key, key))
			return parameters[i].set(policy, value);

	return -ENOENT;
}
