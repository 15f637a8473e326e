// SPDX-License-Identifier: GPL-2.0-only
/* Facts about the nvidia driver and a card, from sysfs, libkmod, the firmware and the kernel log. Decides nothing. */
#include <errno.h>
#include <fcntl.h>
#include <libkmod.h>
#include <string.h>

#include "bind.h"
#include "host.h"
#include "kevent.h"
#include "klog.h"

#define SECURE_BOOT_VARIABLE "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

/* PCI LB 3.0 6.2.5.1; further lines of the file resource are the ROM and bridge windows. */
#define BARS		6
/* include/linux/ioport.h */
#define IORESOURCE_MEM	0x200

/* The address may stand in a line before the one that matters. */
#define LOG_LINES_TOGETHER 4

static bool is_driver_name(const char *name)
{
	static const char *const others[] = { "nvidiafb", "nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia_peermem" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(name, others[i]))
			return false;
	return !strncmp(name, "nvidia", strlen("nvidia"));
}

static void read_modinfo(struct kmod_module *module, struct bind_facts *facts)
{
	struct kmod_list *list = NULL, *entry;

	if (kmod_module_get_info(module, &list) < 0)
		return;

	kmod_list_foreach(entry, list) {
		const char *key = kmod_module_info_get_key(entry), *value = kmod_module_info_get_value(entry);

		if (!strcmp(key, "version") && !facts->version[0])
			util_copy(facts->version, sizeof(facts->version), value);
		else if (!strcmp(key, "license"))
			util_copy(facts->license, sizeof(facts->license), value);
	}

	kmod_module_info_free_list(list);
}

static bool take_file(struct kmod_module *module, struct bind_facts *facts)
{
	if (!kmod_module_get_path(module))
		return false;

	facts->installed = true;
	util_copy(facts->module, sizeof(facts->module), kmod_module_get_name(module));
	read_modinfo(module, facts);
	return true;
}

/*
 * Debian has no file of the name nvidia: an install line of modprobe.d says "modprobe -i nvidia-current $CMDLINE_OPTS",
 * so the file is looked for among the words of that line.
 */
static bool take_install_line(struct kmod_ctx *ctx, struct kmod_module *module, struct bind_facts *facts)
{
	const char *line = kmod_module_get_install_commands(module);
	struct kmod_module *target;
	char *text, *word, *save = NULL;
	bool found = false;

	text = line ? strdup(line) : NULL;
	for (word = text ? strtok_r(text, " \t;&|", &save) : NULL; word && !found; word = strtok_r(NULL, " \t;&|", &save)) {
		if (strncmp(word, "nvidia", strlen("nvidia")) || kmod_module_new_from_name(ctx, word, &target))
			continue;
		found = take_file(target, facts);
		kmod_module_unref(target);
	}

	free(text);
	return found;
}

/* The modules of the running kernel, on the machine itself or below a test's root. */
static struct kmod_ctx *modules_of_kernel(void)
{
	char release[128], folder[160], path[HOST_PATH_MAX];

	if (!host_root()[0])
		return kmod_new(NULL, NULL);

	host_release(release, sizeof(release));
	snprintf(folder, sizeof(folder), "/lib/modules/%s", release);
	host_path(folder, path, sizeof(path));
	return kmod_new(path, NULL);
}

static void read_module(const struct card *card, struct bind_facts *facts)
{
	struct kmod_list *list = NULL, *entry;
	char path[CARD_PATH_MAX + 16], modalias[256];
	struct kmod_ctx *ctx;

	card_path(card, "modalias", path, sizeof(path));
	if (util_read(path, modalias, sizeof(modalias)))
		return;

	ctx = modules_of_kernel();
	if (!ctx)
		return;

	kmod_set_log_priority(ctx, 0);
	if (kmod_module_new_from_lookup(ctx, modalias, &list) < 0)
		list = NULL;

	kmod_list_foreach(entry, list) {
		struct kmod_module *module = kmod_module_get_module(entry);

		if (!facts->installed && is_driver_name(kmod_module_get_name(module)) && !take_file(module, facts))
			take_install_line(ctx, module, facts);
		kmod_module_unref(module);
	}

	kmod_module_unref_list(list);
	kmod_unref(ctx);
}

/* The stand-in of the tests and the demo says so where the real driver shows its version. */
bool bind_driver_simulated(void)
{
	char text[1024];

	return !util_read("/proc/driver/nvidia/version", text, sizeof(text)) && strstr(text, "(simulated)");
}

static void read_loaded(struct bind_facts *facts)
{
	facts->simulated = bind_driver_simulated();
	facts->loaded = !access("/sys/module/nvidia", F_OK);
	if (facts->loaded && util_read("/sys/module/nvidia/version", facts->version, sizeof(facts->version)))
		facts->version[0] = '\0';
}

/*
 * Every card of the list has registers behind BAR 0 and memory behind BAR 1. The others count when the kernel still shows
 * what they are: depending on its version a BAR that could not be placed keeps size and flags, or is all zero.
 */
static bool is_unplaced(int bar, const char *line)
{
	unsigned long long start, end, flags;

	if (sscanf(line, "%llx %llx %llx", &start, &end, &flags) != 3 || start)
		return false;
	return bar < 2 || (end && (flags & IORESOURCE_MEM));
}

static void read_bars(const struct card *card, struct bind_facts *facts)
{
	char path[CARD_PATH_MAX + 16], text[2048], *line, *save = NULL;
	size_t len = 0;
	int bar = 0;

	card_path(card, "resource", path, sizeof(path));
	if (util_read(path, text, sizeof(text)))
		return;

	for (line = strtok_r(text, "\n", &save); line && bar < BARS; line = strtok_r(NULL, "\n", &save), bar++)
		if (is_unplaced(bar, line))
			len += (size_t)snprintf(facts->bar + len, sizeof(facts->bar) - len, "%sBAR %d", len ? ", " : "", bar);
}

/**
 * bind_firmware_read - look whether firmware and kernel refuse modules
 * @facts:	.secure_boot and .lockdown are set
 */
void bind_firmware_read(struct bind_facts *facts)
{
	char text[128];
	int fd CLEANUP_CLOSE = open(SECURE_BOOT_VARIABLE, O_RDONLY | O_CLOEXEC);

	/* Four bytes of attributes, then the value (efivarfs). */
	facts->secure_boot = fd >= 0 && read(fd, text, sizeof(text)) == 5 && text[4] == 1;
	if (!util_read("/sys/kernel/security/lockdown", text, sizeof(text)))
		facts->lockdown = !strstr(text, "[none]");
}

/* What was said of an earlier module, or of an earlier card at this address, is no evidence. */
static void forget_old(const char *line, bool own, int *after_address, struct bind_facts *facts)
{
	/* "NVRM: loading NVIDIA UNIX ..." when the module starts; drivers/pci/probe.c:pci_setup_device when a device appears. */
	bool loading = strstr(line, "NVRM: loading"), appeared = own && strstr(line, ": [10de:");

	if (loading)
		facts->log_rejected[0] = '\0';
	if (appeared)
		facts->log_bar[0] = '\0';
	if (!loading && !appeared)
		return;

	facts->log_ignored[0] = '\0';
	facts->log_open[0] = '\0';
	facts->log_last[0] = '\0';
	*after_address = 0;
}

/**
 * bind_log_line - take one line of the kernel log into account
 * @line:	the message, without its prefix
 * @bdf:	the card's address
 * @after_address: lines left that belong to a line with the card's address; state between calls, starts with 0
 * @facts:	log_* are updated
 */
void bind_log_line(const char *line, const char *bdf, int *after_address, struct bind_facts *facts)
{
	char address[ADDRESS_MAX];
	bool own;

	kevent_address(line, address, sizeof(address));
	own = !strcmp(address, bdf);
	forget_old(line, own, after_address, facts);
	/* From here on the driver speaks of another card. */
	if (address[0] && !own && strstr(line, "NVRM"))
		*after_address = 0;
	if (own) {
		*after_address = LOG_LINES_TOGETHER;
		/* drivers/pci/setup-res.c:pci_assign_resource */
		if (strstr(line, "no space for") || strstr(line, "failed to assign"))
			util_copy(facts->log_bar, sizeof(facts->log_bar), line);
	}

	/* kernel/module/signing.c and the lockdown hook; they do not name the module. */
	if ((strstr(line, "Loading of") && strstr(line, "is rejected")) || strstr(line, "key was rejected") ||
	    strstr(line, "unsigned module loading is restricted"))
		util_copy(facts->log_rejected, sizeof(facts->log_rejected), line);

	if (!*after_address)
		return;

	--*after_address;
	if (strstr(line, "NVRM"))
		util_copy(facts->log_last, sizeof(facts->log_last), line);
	if (strstr(line, "Legacy drivers") || strstr(line, "will ignore"))
		util_copy(facts->log_ignored, sizeof(facts->log_ignored), line);
	if (strstr(line, "does not include the required GPU") || strstr(line, "not supported by open"))
		util_copy(facts->log_open, sizeof(facts->log_open), line);
}

struct log_reader {
	const char *bdf;
	int after_address;
	struct bind_facts *facts;
};

static void take_line(const char *line, void *data)
{
	struct log_reader *reader = data;

	bind_log_line(line, reader->bdf, &reader->after_address, reader->facts);
}

static void read_log(const struct card *card, struct bind_facts *facts)
{
	struct log_reader reader = { .bdf = card->bdf, .facts = facts };

	klog_each(take_line, &reader);
}

/**
 * bind_facts_read - look at a card and at the driver
 * @card:	a live card, its gone and driver as read just before
 * @ret_facts:	filled; what may not be read is empty
 */
void bind_facts_read(const struct card *card, struct bind_facts *ret_facts)
{
	struct bind_facts facts = { .gone = card->gone };

	util_copy(facts.driver, sizeof(facts.driver), card->driver);
	facts.compute = card->row ? card->row->compute : 0;
	read_loaded(&facts);
	read_module(card, &facts);
	read_bars(card, &facts);
	bind_firmware_read(&facts);
	read_log(card, &facts);
	*ret_facts = facts;
}
