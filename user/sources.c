// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a report is made of: the one list of sources, and for each which lines or keys of it are taken. Everything else of
 * this machine stays out: a source that nobody thought of gives nothing away.
 */
#include "sources.h"

#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "command.h"
#include "host.h"
#include "klog.h"
#include "output.h"

#define DKMS_DIR	"/var/lib/dkms"
#define TEXT_MAX	(1024 * 1024)
#define LOG_LINES_MAX	1000
#define MAKE_LOG_MAX	6000
#define WORD_MAX	256
#define BRIDGES_MAX	8

/* Reads nothing from elsewhere than named in its row; returns 0, or a negative errno when there is nothing to read. */
struct source {
	const char *name;
	const char *about;
	int (*write)(const struct result *cards, FILE *out);
};

static bool is_in(const char *word, const char *const *list, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(word, list[i]))
			return true;
	return false;
}

/* Calls for each line of a file of the machine; the line may be changed. */
static int each_line(const char *path, void (*take)(char *line, FILE *out), FILE *out)
{
	char *text CLEANUP_FREE = host_read_all(path, TEXT_MAX), *rest = text, *line;

	if (!text)
		return -errno;
	while ((line = strsep(&rest, "\n")))
		take(line, out);
	return 0;
}

/**
 * sources_file_value - a value of a file of "KEY=VALUE" or "Key: value" lines
 * @path:	absolute, on the machine
 * @key:	at the start of a line, blanks may follow it
 * @buf:	filled without quotes on success
 * @size:	bytes in @buf
 */
bool sources_file_value(const char *path, const char *key, char *buf, size_t size)
{
	char *text CLEANUP_FREE = host_read_all(path, TEXT_MAX), *rest = text, *line;
	size_t len = strlen(key);

	while (rest && (line = strsep(&rest, "\n"))) {
		char *value = line + len;

		if (strncmp(line, key, len))
			continue;
		value += strspn(value, " \t");
		if (*value != '=' && *value != ':')
			continue;
		value += 1 + strspn(value + 1, " \t\"'");
		value[strcspn(value, "\"'")] = '\0';
		util_copy(buf, size, value);
		return true;
	}

	return false;
}

static void write_file(const char *key, const char *path, FILE *out)
{
	char text[WORD_MAX];

	if (!host_read(path, text, sizeof(text)) && text[0])
		fprintf(out, "%s: %s\n", key, text);
}

static void write_value(const char *path, const char *key, FILE *out)
{
	char value[WORD_MAX];

	if (sources_file_value(path, key, value, sizeof(value)))
		fprintf(out, "%s: %s\n", key, value);
}

static int write_system(const struct result *cards, FILE *out)
{
	static const char *const release_keys[] = { "PRETTY_NAME", "ID", "VERSION_ID", "VERSION_CODENAME" };
	static const struct {
		const char *key;
		const char *path;
	} files[] = {
		{ "kernel", "/proc/sys/kernel/osrelease" },
		{ "kernel build", "/proc/sys/kernel/version" },
		{ "tainted", "/proc/sys/kernel/tainted" },
		{ "uptime", "/proc/uptime" },
		{ "maker", "/sys/class/dmi/id/sys_vendor" },
		{ "product", "/sys/class/dmi/id/product_name" },
		{ "board maker", "/sys/class/dmi/id/board_vendor" },
		{ "board", "/sys/class/dmi/id/board_name" },
		{ "firmware maker", "/sys/class/dmi/id/bios_vendor" },
		{ "firmware", "/sys/class/dmi/id/bios_version" },
		{ "firmware date", "/sys/class/dmi/id/bios_date" },
		{ "lockdown", "/sys/kernel/security/lockdown" },
		{ "ASPM policy", "/sys/module/pcie_aspm/parameters/policy" },
	};
	size_t i;

	(void)cards;
	fprintf(out, "softtape: " SOFTTAPE_VERSION "\n");
	for (i = 0; i < ARRAY_SIZE(release_keys); i++)
		write_value("/etc/os-release", release_keys[i], out);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		write_file(files[i].key, files[i].path, out);
	write_value("/proc/cpuinfo", "model name", out);
	write_value("/proc/meminfo", "MemTotal", out);
	return 0;
}

/* Parameters that decide about links, power, memory windows and which driver gets a card. */
static bool is_shown_parameter(const char *name)
{
	static const char *const names[] = {
		"pci", "pcie_aspm", "pcie_ports", "pcie_port_pm", "iommu", "intel_iommu", "amd_iommu", "nomodeset", "nomsi",
		"modprobe.blacklist", "module_blacklist", "rd.driver.blacklist", "initcall_blacklist", "lockdown",
		"module.sig_enforce", "vfio-pci.ids", "noapic", "acpi", "noacpi", "maxcpus",
	};
	static const char *const modules[] = { "softtape.", "nvidia", "nouveau.", "pcie_aspm." };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modules); i++)
		if (!strncmp(name, modules[i], strlen(modules[i])))
			return true;
	return is_in(name, names, ARRAY_SIZE(names));
}

static int write_command_line(const struct result *cards, FILE *out)
{
	char *text CLEANUP_FREE = host_read_all("/proc/cmdline", TEXT_MAX), *rest = text, *word;
	unsigned int left_out = 0;

	(void)cards;
	if (!text)
		return -errno;

	while ((word = strsep(&rest, " \t\n"))) {
		char name[64];

		if (!word[0])
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
		if (is_shown_parameter(name))
			fprintf(out, "%s\n", word);
		else
			left_out++;
	}

	fprintf(out, "(%u other parameters left out)\n", left_out);
	return 0;
}

/* Bridges above a card, the highest first: sysfs nests devices as the bus does. */
static size_t bridges_of(const struct card *card, char (*bridge)[ADDRESS_MAX])
{
	char path[CARD_PATH_MAX], *part, *save = NULL;
	struct address address;
	size_t nr = 0;

	util_copy(path, sizeof(path), card->syspath);
	for (part = strtok_r(path, "/", &save); part && nr < BRIDGES_MAX; part = strtok_r(NULL, "/", &save))
		if (!address_parse(part, &address) && strcmp(part, card->bdf))
			util_copy(bridge[nr++], ADDRESS_MAX, part);
	return nr;
}

struct log_lines {
	const struct result *cards;
	char *line[LOG_LINES_MAX];
	size_t nr;
};

static bool is_about(const struct card *card, const char *bdf)
{
	char bridge[BRIDGES_MAX][ADDRESS_MAX];
	size_t i, nr = bridges_of(card, bridge);

	for (i = 0; i < nr; i++)
		if (!strcmp(bdf, bridge[i]))
			return true;
	return !strcmp(bdf, card->bdf);
}

/*
 * By how a line begins, never by a word somewhere in it: the kernel's command line and whatever a program writes into the
 * log have such words too.
 */
static bool is_shown_line(const struct result *cards, const char *line)
{
	static const char *const starts[] = {
		"NVRM: ", "nvidia: ", "nvidia ", "nvidia-nvlink: ", "nvidia-modeset: ", "nvidia-uvm: ", "nvidia_uvm: ", "nouveau ",
		"nvidiafb: ", "softtape: ", "pcieport ", "AER: ", "Loading of ", "Lockdown: ", "PCIe ASPM ", "ACPI FADT declares ",
	};
	char driver[32], bdf[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(starts); i++)
		if (!strncmp(line, starts[i], strlen(starts[i])))
			return true;

	/* "pci 0000:01:00.0: ..." about a card or a bridge above one. */
	if (sscanf(line, "%31s %31[0-9a-f:.]", driver, bdf) != 2 || !strlen(bdf) || bdf[strlen(bdf) - 1] != ':')
		return false;
	bdf[strlen(bdf) - 1] = '\0';
	for (i = 0; i < cards->nr; i++)
		if (is_about(&cards->row[i].card, bdf))
			return true;
	return false;
}

static void take_log_line(const char *line, void *data)
{
	struct log_lines *lines = data;
	char **place = &lines->line[lines->nr % LOG_LINES_MAX];

	if (!is_shown_line(lines->cards, line))
		return;

	free(*place);
	*place = strdup(line);
	if (!*place)
		abort();
	lines->nr++;
}

static int write_log(const struct result *cards, FILE *out)
{
	struct log_lines *lines = calloc(1, sizeof(*lines));
	size_t i, first;
	int ret;

	if (!lines)
		abort();

	lines->cards = cards;
	ret = klog_each(take_log_line, lines);
	first = lines->nr > LOG_LINES_MAX ? lines->nr - LOG_LINES_MAX : 0;
	if (first)
		fprintf(out, "(%zu earlier lines left out)\n", first);
	for (i = first; i < lines->nr; i++)
		fprintf(out, "%s\n", lines->line[i % LOG_LINES_MAX]);

	for (i = 0; i < LOG_LINES_MAX; i++)
		free(lines->line[i]);
	free(lines);
	return ret;
}

/* The modules that can own a card, and those that talk on the bus beside it. Debian's names have a dash and more behind. */
static bool is_shown_module(const char *name)
{
	static const char *const names[] = {
		"nouveau", "nvidiafb", "softtape", "vfio", "vfio_pci", "vfio-pci", "i2c_i801", "i2c_piix4", "lm75", "lm90", "adm1021",
		"jc42", "ee1004", "at24",
	};

	return !strncmp(name, "nvidia", strlen("nvidia")) || is_in(name, names, ARRAY_SIZE(names));
}

/* name size users deps state address (taint); the address is the kernel's layout, which is nobody's business. */
static void take_module(char *line, FILE *out)
{
	char name[64], size[32], users[32], deps[256], state[32];

	if (sscanf(line, "%63s %31s %31s %255s %31s", name, size, users, deps, state) == 5 && is_shown_module(name))
		fprintf(out, "loaded: %s %s, users %s\n", name, state, users);
}

/* What somebody wrote for himself. */
static void cut_comment(char *line, const char *signs)
{
	size_t len = strcspn(line, signs);

	while (len && strchr(" \t", line[len - 1]))
		len--;
	line[len] = '\0';
}

/* Options and blacklists of these modules; what an install line runs may be anything. */
static void take_modprobe_line(char *line, FILE *out)
{
	char verb[16], name[64];

	cut_comment(line, "#");
	if (sscanf(line, "%15s %63s", verb, name) != 2 || !is_shown_module(name))
		return;

	if (!strcmp(verb, "options") || !strcmp(verb, "blacklist") || !strcmp(verb, "softdep"))
		fprintf(out, "modprobe.d: %s\n", line + strspn(line, " \t"));
	else if (!strcmp(verb, "install") || !strcmp(verb, "remove"))
		fprintf(out, "modprobe.d: %s %s (command left out)\n", verb, name);
}

/* A folder whose names are walked, and where the text goes. */
struct walk {
	const char *dir;
	FILE *out;
};

/* What modprobe and softtape read of a folder. */
static bool is_conf(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && !strcmp(dot, ".conf");
}

static int take_modprobe_file(const char *name, void *data)
{
	const struct walk *walk = data;
	char path[HOST_PATH_MAX];

	if (!is_conf(name))
		return 0;
	snprintf(path, sizeof(path), "%s/%s", walk->dir, name);
	each_line(path, take_modprobe_line, walk->out);
	return 0;
}

static int take_parameter(const char *name, void *data)
{
	char path[HOST_PATH_MAX], key[128];

	snprintf(path, sizeof(path), "/sys/module/softtape/parameters/%s", name);
	snprintf(key, sizeof(key), "softtape parameter %s", name);
	write_file(key, path, data);
	return 0;
}

static int write_modules(const struct result *cards, FILE *out)
{
	static const char *const dirs[] = {
		"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d",
	};
	size_t i;

	(void)cards;
	each_line("/proc/modules", take_module, out);
	write_file("softtape version", "/sys/module/softtape/version", out);
	write_file("softtape srcversion", "/sys/module/softtape/srcversion", out);
	host_each("/sys/module/softtape/parameters", take_parameter, out);
	write_file("nvidia version", "/sys/module/nvidia/version", out);
	for (i = 0; i < ARRAY_SIZE(dirs); i++)
		host_each(dirs[i], take_modprobe_file, &(struct walk){ dirs[i], out });

	return 0;
}

static void take_param(char *line, FILE *out)
{
	static const char *const keys[] = {
		"EnableMSI", "EnablePCIeGen3", "EnablePCIERelaxedOrderingMode", "EnableGpuFirmware", "EnableS0ixPowerManagement",
		"DynamicPowerManagement", "PreserveVideoMemoryAllocations", "OpenRmEnableUnsupportedGpus", "ModifyDeviceFiles",
		"DeviceFileMode", "RegistryDwords", "NvLinkDisable", "EnableResizableBar",
	};
	char key[64];

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(line, ":"), line);
	if (is_in(key, keys, ARRAY_SIZE(keys)))
		fprintf(out, "%s\n", line);
}

static void take_information(char *line, FILE *out)
{
	static const char *const keys[] = {
		"Model", "IRQ", "Video BIOS", "Bus Type", "DMA Size", "DMA Mask", "Bus Location", "GPU Firmware", "GPU Excluded",
	};
	char key[64];

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(line, ":"), line);
	if (is_in(key, keys, ARRAY_SIZE(keys)))
		fprintf(out, "  %s\n", line);
}

static int take_gpu(const char *name, void *data)
{
	char path[HOST_PATH_MAX];

	fprintf(data, "%s\n", name);
	snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", name);
	each_line(path, take_information, data);
	return 0;
}

static void take_version(char *line, FILE *out)
{
	if (!strncmp(line, "NVRM version:", 13) || !strncmp(line, "GCC version:", 12))
		fprintf(out, "%s\n", line);
}

static int write_nvidia(const struct result *cards, FILE *out)
{
	int ret = each_line("/proc/driver/nvidia/version", take_version, out);

	(void)cards;
	if (ret)
		return ret;
	each_line("/proc/driver/nvidia/params", take_param, out);
	host_each("/proc/driver/nvidia/gpus", take_gpu, out);
	return 0;
}

/* Below a version of a module DKMS has a folder per kernel, beside source and build. */
static int take_dkms_kernel(const char *name, void *data)
{
	const struct walk *walk = data;
	char path[HOST_PATH_MAX];

	if (!isdigit((unsigned char)name[0]))
		return 0;
	snprintf(path, sizeof(path), "%s/%s/x86_64/module", walk->dir, name);
	fprintf(walk->out, "%s/%s: %s\n", walk->dir + strlen(DKMS_DIR "/"), name, host_exists(path) ? "built" : "not built");
	return 0;
}

static int take_dkms_version(const char *name, void *data)
{
	const struct walk *walk = data;
	char dir[HOST_PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/%s", walk->dir, name);
	if (isdigit((unsigned char)name[0]))
		host_each(dir, take_dkms_kernel, &(struct walk){ dir, walk->out });
	return 0;
}

static int take_dkms_module(const char *name, void *data)
{
	char dir[HOST_PATH_MAX];

	snprintf(dir, sizeof(dir), DKMS_DIR "/%s", name);
	if (is_shown_module(name))
		host_each(dir, take_dkms_version, &(struct walk){ dir, data });
	return 0;
}

static void write_make_log(FILE *out)
{
	char *text CLEANUP_FREE = host_read_all(DKMS_DIR "/softtape/" SOFTTAPE_VERSION "/build/make.log", TEXT_MAX);
	size_t len = text ? strlen(text) : 0;

	if (text)
		fprintf(out, "\nend of softtape's make.log:\n%s\n", text + (len > MAKE_LOG_MAX ? len - MAKE_LOG_MAX : 0));
}

static int take_kernel(const char *name, void *data)
{
	char path[HOST_PATH_MAX];

	snprintf(path, sizeof(path), "/lib/modules/%s/build/Makefile", name);
	fprintf(data, "kernel %s: headers %s\n", name, host_exists(path) ? "there" : "missing");
	return 0;
}

static int write_dkms(const struct result *cards, FILE *out)
{
	(void)cards;
	host_each("/lib/modules", take_kernel, out);
	host_each(DKMS_DIR, take_dkms_module, out);
	write_make_log(out);
	return 0;
}

static void take_setting(char *line, FILE *out)
{
	static const char *const keys[] = { "on_plug", "max_parallel", "driver_wait", "expected_cards" };
	char key[64];

	cut_comment(line, "#;");
	if (sscanf(line, " %63[a-z_]", key) == 1 && is_in(key, keys, ARRAY_SIZE(keys)))
		fprintf(out, "%s\n", line + strspn(line, " \t"));
}

static int take_setting_file(const char *name, void *data)
{
	char path[HOST_PATH_MAX];

	if (!is_conf(name))
		return 0;
	snprintf(path, sizeof(path), "/etc/softtape.conf.d/%s", name);
	each_line(path, take_setting, data);
	return 0;
}

static int write_settings(const struct result *cards, FILE *out)
{
	int ret = each_line("/etc/softtape.conf", take_setting, out);

	(void)cards;
	host_each("/etc/softtape.conf.d", take_setting_file, out);
	return ret;
}

static void write_attribute(const char *syspath, const char *name, FILE *out)
{
	char path[CARD_PATH_MAX + CARD_WORD_MAX], text[4096], *line, *rest = text;

	snprintf(path, sizeof(path), "%s/%s", syspath, name);
	if (util_read(path, text, sizeof(text)) || !text[0])
		return;
	while ((line = strsep(&rest, "\n")))
		fprintf(out, "  %s: %s\n", name, line);
}

static void write_function(const char *syspath, FILE *out)
{
	static const char *const names[] = {
		"vendor", "device", "class", "revision", "subsystem_vendor", "subsystem_device", "enable", "power_state",
		"current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "d3cold_allowed", "power/control",
		"power/runtime_status", "numa_node", "link/l0s_aspm", "link/l1_aspm", "link/l1_1_aspm", "link/l1_2_aspm",
		"link/clkpm", "aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal", "resource",
	};
	char path[CARD_PATH_MAX + 16], driver[CARD_WORD_MAX];
	size_t i;

	fprintf(out, "%s\n", strrchr(syspath, '/') + 1);
	snprintf(path, sizeof(path), "%s/driver", syspath);
	if (!util_link_name(path, driver, sizeof(driver)))
		fprintf(out, "  driver: %s\n", driver);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		write_attribute(syspath, names[i], out);
}

/* Each bridge once, above the first card it is met with; then the card. */
static void each_function(const struct result *cards, void (*write)(const char *syspath, FILE *out), FILE *out)
{
	char bridge[BRIDGES_MAX][ADDRESS_MAX], path[CARD_PATH_MAX];
	size_t i, n, nr, before;

	for (i = 0; i < cards->nr; i++) {
		nr = bridges_of(&cards->row[i].card, bridge);
		for (n = 0; n < nr; n++) {
			for (before = 0; before < i; before++)
				if (is_about(&cards->row[before].card, bridge[n]))
					break;
			snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", bridge[n]);
			if (before == i)
				write(path, out);
		}
		write(cards->row[i].card.syspath, out);
	}
}

static int write_cards(const struct result *cards, FILE *out)
{
	size_t i;
	int n;

	each_function(cards, write_function, out);
	for (i = 0; i < cards->nr; i++) {
		const struct card *card = &cards->row[i].card;

		for (n = 0; n < SOFTTAPE_NR_FIELDS; n++)
			if (card->quirk[n][0])
				fprintf(out, "%s softtape/%s: %s\n", card->bdf, softtape_field_name(n), card->quirk[n]);
		if (card->report[0])
			fprintf(out, "%s softtape/report: %s\n", card->bdf, card->report);
	}

	return 0;
}

static void write_registers(const char *syspath, FILE *out)
{
	__u8 byte[CONFIG_SIZE_MAX], shown[CONFIG_SIZE_MAX];
	struct config config = { .byte = byte };
	char path[CARD_PATH_MAX + 16];
	FILE *file;
	size_t at;

	snprintf(path, sizeof(path), "%s/config", syspath);
	file = fopen(path, "re");
	if (!file)
		return;
	config.size = fread(byte, 1, sizeof(byte), file);
	fclose(file);
	if (config.size < CONFIG_SIZE_HEADER)
		return;

	config_shareable(&config, shown);
	fprintf(out, "%s [%04x]: %04x:%04x\n", strrchr(syspath, '/') + 1, config_class(&config) >> 8, config_vendor(&config),
		config_device(&config));
	for (at = 0; at < config.size; at++) {
		if (!(at % 16))
			fprintf(out, "%02zx:", at);
		fprintf(out, " %02x%s", shown[at], at % 16 == 15 || at + 1 == config.size ? "\n" : "");
	}
	fputc('\n', out);
}

static int write_dump(const struct result *cards, FILE *out)
{
	each_function(cards, write_registers, out);
	return 0;
}

static int write_document(const struct result *result, FILE *out)
{
	struct json_object *document = output_document(result);

	fprintf(out, "%s\n", json_object_to_json_string_ext(document, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE |
							    JSON_C_TO_STRING_SPACED));
	json_object_put(document);
	return 0;
}

static int write_doctor(const struct result *cards, FILE *out)
{
	const struct options options = { .any = true, .expect = -1 };
	struct result result = { .command = "doctor", .policy = cards->policy };

	result.exit = doctor_run(&options, &result);
	write_document(&result, out);
	result_free(&result);
	return 0;
}

static const struct source sources[] = {
	{ "system.txt", "os-release, kernel, board, firmware, processor, memory: named keys", write_system },
	{ "kernel-command-line.txt", "/proc/cmdline: parameters about PCI, power and the drivers", write_command_line },
	{ "kernel-log.txt", "kernel log: lines of the drivers, of AER, and of the cards and the bridges above them", write_log },
	{ "modules.txt", "/proc/modules and modprobe.d: modules that can own a card or talk beside it", write_modules },
	{ "nvidia.txt", "/proc/driver/nvidia: version, named parameters, model and VBIOS version", write_nvidia },
	{ "dkms.txt", "DKMS: what is built for which kernel, the end of softtape's make.log", write_dkms },
	{ "settings.txt", "/etc/softtape.conf and its drop-ins: known keys", write_settings },
	{ "pci.txt", "sysfs of the cards and the bridges above them: named files", write_cards },
	{ "registers.txt", "their registers for softtape plan -F; unknown capabilities and serial numbers are zero", write_dump },
	{ "cards.json", "softtape list --any --json with the last verdicts", write_document },
	{ "doctor.json", "softtape doctor --any --json", write_doctor },
};

/**
 * sources_read - read everything a report is made of
 * @cards:	every NVIDIA display function, with last verdicts
 * @ret_sources: filled; free it with sources_free()
 */
void sources_read(const struct result *cards, struct sources *ret_sources)
{
	size_t i;

	memset(ret_sources, 0, sizeof(*ret_sources));
	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		struct source_text *text = &ret_sources->text[ret_sources->nr++];
		FILE *out;
		size_t size;
		int ret;

		*text = (struct source_text){ .name = sources[i].name, .about = sources[i].about };
		out = open_memstream(&text->text, &size);
		if (!out)
			abort();
		ret = sources[i].write(cards, out);
		fclose(out);
		if (!ret && size)
			continue;
		text->why = ret == -EACCES || ret == -EPERM ? "needs root" : ret ? "not there" : "nothing in it";
		free(text->text);
		text->text = NULL;
	}
}

void sources_free(struct sources *ret_sources)
{
	size_t i;

	for (i = 0; i < ret_sources->nr; i++)
		free(ret_sources->text[i].text);
	memset(ret_sources, 0, sizeof(*ret_sources));
}
