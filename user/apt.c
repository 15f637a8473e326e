// SPDX-License-Identifier: GPL-2.0-only
/* The exact lines that bring the NVIDIA driver to this machine. Reads apt's sources, runs nothing. */
#include "apt.h"

#include <ctype.h>
#include <string.h>

#include "host.h"

#define SOURCES_DIR	"/etc/apt/sources.list.d"
#define FILE_MAX_BYTES	(256 * 1024)

/**
 * struct sources - how this machine gets Debian's packages
 * @file:	the file that names Debian's own archive, empty = none found
 * @deb822:	it is in deb822 form (apt-transport: sources.list(5)), else one line per source
 * @non_free:	component non-free is on somewhere
 * @codename:	suite wanted
 */
struct sources {
	char file[128];
	bool deb822;
	bool non_free;
	const char *codename;
};

/* Is @word among the words of @line? non-free is not non-free-firmware. */
static bool has_word(const char *line, const char *word)
{
	size_t len = strlen(word);

	for (; *line; line += strcspn(line, " \t")) {
		line += strspn(line, " \t");
		if (!strncmp(line, word, len) && (!line[len] || line[len] == ' ' || line[len] == '\t'))
			return true;
	}

	return false;
}

/* The archive itself carries the suite by its bare name, security and updates add something to it. */
static bool is_suite(const char *line, const struct sources *sources)
{
	return has_word(line, sources->codename) || has_word(line, "stable");
}

static void take_one_line(char *line, const char *file, struct sources *sources)
{
	if (strncmp(line, "deb ", 4) || !has_word(line, "main") || !is_suite(line, sources))
		return;

	sources->non_free |= has_word(line, "non-free");
	if (!sources->file[0])
		util_copy(sources->file, sizeof(sources->file), file);
}

static void take_stanza(const char *suites, const char *components, const char *file, struct sources *sources)
{
	if (!has_word(components, "main") || !is_suite(suites, sources))
		return;

	sources->non_free |= has_word(components, "non-free");
	if (sources->file[0])
		return;
	util_copy(sources->file, sizeof(sources->file), file);
	sources->deb822 = true;
}

static void take_lines(const char *path, bool deb822, struct sources *sources)
{
	char *text CLEANUP_FREE = host_read_all(path, FILE_MAX_BYTES), *line, *rest = text;
	char suites[256] = "", components[256] = "";

	while (rest && (line = strsep(&rest, "\n"))) {
		if (!deb822)
			take_one_line(line, path, sources);
		else if (!strncasecmp(line, "Suites:", 7))
			util_copy(suites, sizeof(suites), line + 7);
		else if (!strncasecmp(line, "Components:", 11))
			util_copy(components, sizeof(components), line + 11);
		if (deb822 && (!line[strspn(line, " \t")] || !rest)) {
			take_stanza(suites, components, path, sources);
			suites[0] = '\0';
			components[0] = '\0';
		}
	}
}

static int take_file(const char *name, void *data)
{
	const char *dot = strrchr(name, '.');
	char path[256];

	snprintf(path, sizeof(path), SOURCES_DIR "/%s", name);
	if (dot && !strcmp(dot, ".sources"))
		take_lines(path, true, data);
	else if (dot && !strcmp(dot, ".list"))
		take_lines(path, false, data);
	return 0;
}

/**
 * apt_headers_package - the package that brings the headers of each kernel of this kind
 * @release:	of a kernel, as 6.1.0-57-cloud-amd64
 * @buf:	filled
 * @size:	bytes in @buf
 *
 * Debian and Ubuntu name it after the last words of the release; a kernel of another origin has its own.
 */
void apt_headers_package(const char *release, char *buf, size_t size)
{
	const char *part = release, *dash;

	/* The flavour begins behind the last part that starts with a digit. */
	while ((dash = strchr(part, '-')) && isdigit((unsigned char)dash[1]))
		part = dash + 1;
	if (dash)
		snprintf(buf, size, "linux-headers-%s", dash + 1);
	else
		snprintf(buf, size, "linux-headers-%s", release);
}

static void debian_lines(const struct stack *stack, const struct compat *compat, char *buf, size_t size)
{
	struct sources sources = { .codename = stack->codename[0] ? stack->codename : "stable" };
	const char *more = "contrib non-free non-free-firmware", *flavour = "nvidia-kernel-dkms";
	char headers[160];
	size_t len = 0;

	/* non-free-firmware came with Debian 12. */
	if (!strcmp(stack->codename, "bullseye") || !strcmp(stack->codename, "buster"))
		more = "contrib non-free";
	if (compat->open && !compat->proprietary)
		flavour = "nvidia-open-kernel-dkms";

	take_lines("/etc/apt/sources.list", false, &sources);
	host_each(SOURCES_DIR, take_file, &sources);
	if (!sources.non_free && !sources.file[0])
		len = (size_t)snprintf(buf, size,
				       "add '%s main %s' to apt's sources, which name no Debian archive; then: ",
				       sources.codename, more);
	else if (!sources.non_free && sources.deb822)
		len = (size_t)snprintf(buf, size, "sudo sed -i 's/^Components:.*/Components: main %s/' %s && ", more,
				       sources.file);
	else if (!sources.non_free)
		len = (size_t)snprintf(buf, size, "sudo sed -i -E 's/^(deb .* main)( .*)?$/\\1 %s/' %s && ", more,
				       sources.file);

	apt_headers_package(stack->release, headers, sizeof(headers));
	if (len < size)
		snprintf(buf + len, size - len, "sudo apt update && sudo apt install %s %s nvidia-smi libcuda1 "
			 "libnvidia-ptxjitcompiler1 nvidia-modprobe nvidia-persistenced && sudo reboot", headers, flavour);
}

/**
 * apt_driver_lines - what to type when there is no driver
 * @stack:	distribution and kernel
 * @compat:	what all cards of the host can live with
 * @buf:	filled; the driver without a desktop, component non-free switched on when it is off
 * @size:	bytes in @buf
 *
 * Debian 11 to 13 and unstable carry 470, 535 and 550 as nvidia-driver: all of them drive every card of the list. Ubuntu
 * has branches in the package names; elsewhere only the branch can be told.
 */
void apt_driver_lines(const struct stack *stack, const struct compat *compat, char *buf, size_t size)
{
	const char *open = compat->open && !compat->proprietary ? "-open" : "";
	unsigned int branch = compat->branch_max && compat->branch_max < 535 ? compat->branch_max : 535;
	char headers[160];

	if (compat->branch_min > branch)
		branch = compat->branch_min;

	apt_headers_package(stack->release, headers, sizeof(headers));
	if (!strcmp(stack->distribution, "debian"))
		debian_lines(stack, compat, buf, size);
	else if (!strcmp(stack->distribution, "ubuntu"))
		snprintf(buf, size,
			 "sudo apt update && sudo apt install %s nvidia-headless-%u%s nvidia-utils-%u && sudo reboot",
			 headers, branch, open, branch);
	else if (compat->branch_max)
		snprintf(buf, size, "install the %s nvidia driver of your distribution, branch %u to %u",
			 compat->proprietary ? "proprietary" : "open", compat->branch_min, compat->branch_max);
	else
		snprintf(buf, size, "install the %s nvidia driver of your distribution, branch %u or newer",
			 compat->proprietary ? "proprietary" : "open", compat->branch_min);
}
