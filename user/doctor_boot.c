// SPDX-License-Identifier: GPL-2.0-only
/* Checks of what a boot brings: kernels and their headers, DKMS, signatures, initramfs, the module softtape, boot files. */
#include <errno.h>
#include <glob.h>
#include <libkmod.h>
#include <string.h>

#include "apt.h"
#include "doctor.h"
#include "output.h"

#define DKMS_DIR	"/var/lib/dkms"
#define MODULES_DIR	"/lib/modules"
#define KERNELS_MAX	32
#define FILE_MAX_BYTES	(1024 * 1024)

struct kernels {
	char name[KERNELS_MAX][128];
	size_t nr;
};

/* First file of the machine that fits a pattern, "" if none does. */
static void first_match(const char *pattern, char *buf, size_t size)
{
	char full[HOST_PATH_MAX];
	glob_t found;

	buf[0] = '\0';
	host_path(pattern, full, sizeof(full));
	if (glob(full, 0, NULL, &found))
		return;
	util_copy(buf, size, found.gl_pathv[0] + strlen(host_root()));
	globfree(&found);
}

static bool any_match(const char *pattern)
{
	char path[HOST_PATH_MAX];

	first_match(pattern, path, sizeof(path));
	return path[0];
}

/* A folder of modules without a kernel in /boot is what a removed package left. */
static int take_kernel(const char *name, void *data)
{
	struct kernels *kernels = data;
	char path[256];

	snprintf(path, sizeof(path), "/boot/vmlinuz-%s", name);
	if (kernels->nr < KERNELS_MAX && host_exists(path))
		util_copy(kernels->name[kernels->nr++], sizeof(kernels->name[0]), name);
	return 0;
}

static bool has_headers(const char *kernel)
{
	char path[256], build[HOST_PATH_MAX];

	snprintf(path, sizeof(path), MODULES_DIR "/%s/build", kernel);
	return !host_resolve(path, build, sizeof(build)) && host_exists(build);
}

/* The newest lines of make.log that say error. */
static void build_error(const char *module, char *buf, size_t size)
{
	char pattern[256], path[HOST_PATH_MAX], *text CLEANUP_FREE = NULL, *line, *rest;

	buf[0] = '\0';
	snprintf(pattern, sizeof(pattern), DKMS_DIR "/%s/*/build/make.log", module);
	first_match(pattern, path, sizeof(path));
	text = path[0] ? host_read_all(path, FILE_MAX_BYTES) : NULL;
	for (rest = text; rest && (line = strsep(&rest, "\n")); )
		if (strstr(line, "error:") || strstr(line, "Error "))
			snprintf(buf, size, "; make.log: %.150s", line);
}

struct dkms_walk {
	struct doctor *doctor;
	const struct kernels *kernels;
};

static bool is_built(const char *module, const char *kernel)
{
	char pattern[384];

	snprintf(pattern, sizeof(pattern), DKMS_DIR "/%s/*/%s/*/module/*.ko*", module, kernel);
	return any_match(pattern);
}

static int take_module(const char *module, void *data)
{
	struct dkms_walk *walk = data;
	char missing[256] = "", built[256] = "", error[200], command[256], first[128] = "";
	size_t i;

	if (strcmp(module, "softtape") && strncmp(module, "nvidia", strlen("nvidia")))
		return 0;

	for (i = 0; i < walk->kernels->nr; i++) {
		const char *kernel = walk->kernels->name[i];
		char *list = is_built(module, kernel) ? built : missing;
		size_t len = strlen(list);

		/* Without headers it cannot be built, which has its own finding. */
		if (list == missing && !has_headers(kernel))
			continue;
		if (list == missing)
			util_copy(first, sizeof(first), kernel);
		snprintf(list + len, sizeof(missing) - len, "%s%s", len ? ", " : "", kernel);
	}
	if (!missing[0])
		return 0;

	build_error(module, error, sizeof(error));
	/* softtape keeps out of DKMS' own builds, so that it can never make a kernel's package fail. */
	if (!strcmp(module, "softtape"))
		snprintf(command, sizeof(command), "sudo /etc/kernel/postinst.d/dkms-softtape %s", first);
	else
		snprintf(command, sizeof(command),
			 "sudo dkms autoinstall -k %s || tail -n 20 " DKMS_DIR "/%s/*/build/make.log", first, module);
	finding_add_command(&walk->doctor->result->findings, FINDING_DKMS, NULL, command,
			    "%s is registered with DKMS but not built for %s (built for %s)%s", module, missing,
			    built[0] ? built : "none", error);
	return 0;
}

static void check_kernels(struct doctor *doctor)
{
	struct kernels kernels = { .nr = 0 };
	struct dkms_walk walk = { .doctor = doctor, .kernels = &kernels };
	char missing[384] = "", package[160], command[256];
	size_t i, len;

	host_each(MODULES_DIR, take_kernel, &kernels);
	for (i = 0; i < kernels.nr; i++)
		if (!has_headers(kernels.name[i]) && (len = strlen(missing)) < sizeof(missing) - 2)
			snprintf(missing + len, sizeof(missing) - len, "%s%s", len ? ", " : "", kernels.name[i]);

	/* Headers are for DKMS; a host without it gets its modules ready made. */
	if (missing[0] && host_exists(DKMS_DIR)) {
		apt_headers_package(doctor->stack.release, package, sizeof(package));
		snprintf(command, sizeof(command), "sudo apt install %s", package);
		finding_add_command(&doctor->result->findings, FINDING_HEADERS, NULL, command, "no headers for %s",
				    missing);
	}
	if (host_each(DKMS_DIR, take_module, &walk) == -EACCES)
		doctor_unseen(doctor, DKMS_DIR);
	result_fact(doctor->result, "kernel", "%s, %zu installed%s", doctor->stack.release, kernels.nr,
		    has_headers(doctor->stack.release) ? ", headers present" : ", no headers");
}

struct module_file {
	char path[HOST_PATH_MAX];
	char version[CARD_WORD_MAX];
	char srcversion[CARD_WORD_MAX];
	char signer[128];
};

/* What modinfo says of the file that modprobe would load for the running kernel. */
static bool read_module_file(const struct doctor *doctor, const char *pattern, struct module_file *ret_file)
{
	struct kmod_list *list = NULL, *entry;
	char full[HOST_PATH_MAX], where[384];
	struct kmod_module *module = NULL;
	struct kmod_ctx *ctx;

	memset(ret_file, 0, sizeof(*ret_file));
	snprintf(where, sizeof(where), MODULES_DIR "/%s/%s", doctor->stack.release, pattern);
	first_match(where, ret_file->path, sizeof(ret_file->path));
	ctx = ret_file->path[0] ? kmod_new(NULL, NULL) : NULL;
	if (!ctx)
		return ret_file->path[0];

	kmod_set_log_priority(ctx, 0);
	host_path(ret_file->path, full, sizeof(full));
	if (!kmod_module_new_from_path(ctx, full, &module) && kmod_module_get_info(module, &list) >= 0) {
		kmod_list_foreach(entry, list) {
			const char *key = kmod_module_info_get_key(entry), *value = kmod_module_info_get_value(entry);

			if (!strcmp(key, "version"))
				util_copy(ret_file->version, sizeof(ret_file->version), value);
			else if (!strcmp(key, "srcversion"))
				util_copy(ret_file->srcversion, sizeof(ret_file->srcversion), value);
			else if (!strcmp(key, "signer"))
				util_copy(ret_file->signer, sizeof(ret_file->signer), value);
		}
		kmod_module_info_free_list(list);
	}

	kmod_module_unref(module);
	kmod_unref(ctx);
	return true;
}

/* /proc/keys names each key of the kernel's rings that the reader may see (security/keys/proc.c). */
static bool key_is_known(struct doctor *doctor, const char *signer)
{
	char *text CLEANUP_FREE = host_read_all("/proc/keys", FILE_MAX_BYTES), *line, *rest = text;
	bool any = false;

	while (rest && (line = strsep(&rest, "\n"))) {
		if (!strstr(line, " asymmetri "))
			continue;
		any = true;
		if (strstr(line, signer))
			return true;
	}

	if (!any)
		doctor_unseen(doctor, "the kernel's keys (/proc/keys)");
	return !any;
}

static void check_signature(struct doctor *doctor, const struct module_file *file, bool loaded)
{
	struct finding_list *findings = &doctor->result->findings;

	if (!doctor->facts.secure_boot)
		return;

	if (!loaded && doctor->facts.log_rejected[0])
		finding_add(findings, FINDING_SOFTTAPE_REJECTED, NULL,
			    "Secure Boot is on, softtape is not loaded; kernel log: %s", doctor->facts.log_rejected);
	else if (!loaded && doctor->facts.lockdown && (!file->signer[0] || !key_is_known(doctor, file->signer)))
		finding_add(findings, FINDING_SOFTTAPE_REJECTED, NULL, "Secure Boot is on, %s is %s%s", file->path,
			    file->signer[0] ? "signed by a key the kernel does not have: " : "not signed", file->signer);
	else if (file->signer[0] && !key_is_known(doctor, file->signer))
		finding_add(findings, FINDING_MOK, NULL, "%s is signed by '%s', which is in no key ring", file->path,
			    file->signer);
}

/* A module that was built later than the initramfs matters when the initramfs has one. */
static void check_initramfs(struct doctor *doctor, const struct module_file *file)
{
	char *list CLEANUP_FREE = host_read_all("/etc/initramfs-tools/modules", FILE_MAX_BYTES);
	bool has_module = host_exists("/usr/share/initramfs-tools/hooks/softtape") ||
			  host_exists("/etc/initramfs-tools/hooks/softtape") || (list && strstr(list, "\nsofttape"));
	char path[256], config[HOST_PATH_MAX];
	long long image, newest = 0;
	const char *what = "";

	snprintf(path, sizeof(path), "/boot/initrd.img-%s", doctor->stack.release);
	image = host_mtime(path);
	if (!image)
		return;

	if (has_module && file->path[0] && host_mtime(file->path) > image) {
		newest = host_mtime(file->path);
		what = file->path;
	}
	first_match("/etc/modprobe.d/*nouveau*.conf", config, sizeof(config));
	if (config[0] && host_mtime(config) > image && host_mtime(config) > newest) {
		newest = host_mtime(config);
		what = config;
	}
	if (newest)
		finding_add(&doctor->result->findings, FINDING_INITRAMFS, NULL, "%s is %lld s older than %s", path,
			    newest - image, what);
}

/* /proc/modules lists the module that was loaded last first (kernel/module/main.c:add_unformed_module). */
static bool is_loaded_after_driver(void)
{
	char *text CLEANUP_FREE = host_read_all("/proc/modules", FILE_MAX_BYTES);
	const char *own, *driver;

	if (!text)
		return false;
	own = !strncmp(text, "softtape ", 9) ? text : strstr(text, "\nsofttape ");
	driver = strstr(text, "\nnvidia ");
	return own && driver && own < driver;
}

static const struct {
	unsigned int major;
	unsigned int minor;
} tested[] = {
#define KERNEL(major, minor) { major, minor },
#include "tested_kernels.h"
#undef KERNEL
};

/* A kernel of a series that nobody has tried is no fault, but the first thing to know when something else is. */
static void check_tested(struct doctor *doctor)
{
	unsigned int major, minor;
	char list[128] = "";
	size_t i, len;

	if (sscanf(doctor->stack.release, "%u.%u", &major, &minor) != 2)
		return;

	for (i = 0; i < ARRAY_SIZE(tested); i++) {
		if (tested[i].major == major && tested[i].minor == minor)
			return;
		len = strlen(list);
		snprintf(list + len, sizeof(list) - len, "%s%u.%u", len ? ", " : "", tested[i].major, tested[i].minor);
	}
	finding_add(&doctor->result->findings, FINDING_KERNEL, NULL, "%s runs here, tried were %s", doctor->stack.release, list);
}

/* What the build of every module says on a host without the kernel's debug information; people take it for an error. */
static void check_build_log(struct doctor *doctor)
{
	char path[HOST_PATH_MAX], *text CLEANUP_FREE = NULL;

	first_match(DKMS_DIR "/softtape/*/*/*/log/make.log", path, sizeof(path));
	text = path[0] ? host_read_all(path, FILE_MAX_BYTES) : NULL;
	if (text && strstr(text, "Skipping BTF generation"))
		finding_add(&doctor->result->findings, FINDING_HARMLESS, NULL, "%s: Skipping BTF generation", path);
}

static void check_softtape(struct doctor *doctor)
{
	struct finding_list *findings = &doctor->result->findings;
	bool loaded = host_exists("/sys/module/softtape");
	char version[CARD_WORD_MAX] = "", srcversion[CARD_WORD_MAX] = "", text[CARD_WORD_MAX * 4] = "not installed";
	struct module_file file;
	bool installed = read_module_file(doctor, "*/dkms/softtape.ko*", &file) ||
			 read_module_file(doctor, "extra/softtape.ko*", &file) ||
			 read_module_file(doctor, "*/softtape.ko*", &file);

	host_read("/sys/module/softtape/version", version, sizeof(version));
	host_read("/sys/module/softtape/srcversion", srcversion, sizeof(srcversion));
	if (installed)
		snprintf(text, sizeof(text), "installed %s%s%s", file.version,
			 file.signer[0] ? ", signed by " : ", not signed", file.signer);
	result_fact(doctor->result, "softtape", "program " SOFTTAPE_VERSION ", module %s%s; %s",
		    loaded ? "loaded " : "not loaded", version, text);
	result_fact(doctor->result, "secure boot", "%s, lockdown %s", doctor->facts.secure_boot ? "on" : "off",
		    doctor->facts.lockdown ? "on" : "off");

	if (doctor->facts.lockdown)
		finding_add(findings, FINDING_LOCKDOWN, NULL, "/sys/kernel/security/lockdown is not none");
	if (loaded && srcversion[0] && file.srcversion[0] && strcmp(srcversion, file.srcversion))
		finding_add(findings, FINDING_STALE, NULL,
			    "loaded srcversion %s (version %s), installed %s (version %s)", srcversion, version,
			    file.srcversion, file.version);
	else if ((loaded && version[0] && strcmp(version, SOFTTAPE_VERSION)) ||
		 (!loaded && file.version[0] && strcmp(file.version, SOFTTAPE_VERSION)))
		finding_add(findings, FINDING_VERSIONS, NULL, "program " SOFTTAPE_VERSION ", module %s",
			    loaded ? version : file.version);
	if (installed)
		check_signature(doctor, &file, loaded);
	check_initramfs(doctor, &file);
	if (installed || loaded) {
		check_tested(doctor);
		check_build_log(doctor);
	}
	if (loaded && is_loaded_after_driver())
		finding_add(findings, FINDING_LATE, NULL, "/proc/modules lists softtape above nvidia");
}

/* Each thing that must be there after a reboot, wherever a package or make install may have put it. */
static void check_boot_files(struct doctor *doctor)
{
	static const struct {
		const char *what;
		const char *pattern;
	} files[] = {
		{ "the list of modules to load", "/{usr/local/lib,usr/lib,lib,etc}/modules-load.d/softtape.conf" },
		{ "the udev rule", "/{usr/local/lib,usr/lib,lib,etc}/udev/rules.d/70-softtape.rules" },
		{ "the unit softtape@", "/{usr/local/lib,usr/lib,lib,etc}/systemd/system/softtape@.service" },
	};
	char full[HOST_PATH_MAX], missing[256] = "";
	size_t i, len;
	glob_t found;

	if (!host_exists("/sys/module/softtape") && !any_match(DKMS_DIR "/softtape"))
		return;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		host_path(files[i].pattern, full, sizeof(full));
		if (!glob(full, GLOB_BRACE, NULL, &found)) {
			globfree(&found);
			continue;
		}
		len = strlen(missing);
		snprintf(missing + len, sizeof(missing) - len, "%s%s", len ? ", " : "", files[i].what);
	}

	if (missing[0])
		finding_add(&doctor->result->findings, FINDING_BOOT_FILES, NULL, "missing: %s", missing);
}

/**
 * doctor_boot - what a boot brings
 * @doctor:	the look
 */
void doctor_boot(struct doctor *doctor)
{
	check_kernels(doctor);
	check_softtape(doctor);
	check_boot_files(doctor);
}
