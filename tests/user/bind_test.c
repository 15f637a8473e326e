// SPDX-License-Identifier: GPL-2.0-only
/* Why no driver is bound: facts to finding, kernel log lines to facts. */
#include "test.h"

#include "bind.h"

#define BDF	"0000:01:00.0"

/* A Pascal card that waits for a proprietary 550 that is loaded. */
#define WAITING .compute = 61, .loaded = true, .installed = true, .version = "550.163.01", .license = "NVIDIA"

static const struct {
	const char *desc;
	struct bind_facts facts;
	bool waited;
	enum bind bind;
	enum finding_code code;
} rows[] = {
	{ "bound", { WAITING, .driver = "nvidia" }, false, BIND_READY, 0 },
	{ "bound, whatever the BAR", { WAITING, .driver = "nvidia", .bar = "BAR 1" }, false, BIND_READY, 0 },
	{ "bound and off the bus", { WAITING, .driver = "nvidia", .gone = true }, false, BIND_NEVER, FINDING_OFF_BUS },
	{ "may come", { WAITING }, false, BIND_WAIT, 0 },
	{ "did not come", { WAITING }, true, BIND_NEVER, FINDING_NOT_BOUND },
	{ "nouveau", { WAITING, .driver = "nouveau" }, false, BIND_NEVER, FINDING_NOUVEAU },
	{ "nvidiafb", { WAITING, .driver = "nvidiafb" }, false, BIND_NEVER, FINDING_NVIDIAFB },
	{ "vfio-pci", { WAITING, .driver = "vfio-pci" }, false, BIND_NEVER, FINDING_VFIO },
	{ "pci-stub", { WAITING, .driver = "pci-stub" }, false, BIND_NEVER, FINDING_VFIO },
	{ "somebody else", { WAITING, .driver = "nvidia_like" }, false, BIND_NEVER, FINDING_OWNER },
	{ "no space", { WAITING, .bar = "BAR 1" }, false, BIND_NEVER, FINDING_BAR },
	{ "no space yet", { WAITING, .bar = "BAR 1", .enumerating = true }, false, BIND_WAIT, 0 },
	{ "nothing installed", { .compute = 61 }, false, BIND_NEVER, FINDING_NO_MODULE },
	{ "installed, not loaded yet", { .compute = 61, .installed = true, .version = "550.1", .license = "NVIDIA" }, false,
	  BIND_WAIT, 0 },
	{ "installed, never loaded", { .compute = 61, .installed = true, .version = "550.1", .license = "NVIDIA" }, true,
	  BIND_NEVER, FINDING_NOT_LOADED },
	{ "branch 580 is fine", { .compute = 61, .loaded = true, .version = "580.95.05", .license = "NVIDIA" }, false,
	  BIND_WAIT, 0 },
	{ "branch 590 on Pascal", { .compute = 61, .loaded = true, .version = "590.1", .license = "NVIDIA" }, false,
	  BIND_NEVER, FINDING_BRANCH },
	{ "branch 595 on Volta", { .compute = 70, .installed = true, .version = "595.45.04", .license = "NVIDIA" }, false,
	  BIND_NEVER, FINDING_BRANCH },
	{ "branch 595 on Turing", { .compute = 75, .loaded = true, .version = "595.45.04", .license = "NVIDIA" }, false,
	  BIND_WAIT, 0 },
	{ "open on Pascal", { .compute = 61, .installed = true, .version = "550.1", .license = "Dual MIT/GPL" }, false,
	  BIND_NEVER, FINDING_OPEN },
	{ "a license that only looks open", { .compute = 61, .installed = true, .version = "550.1", .license = "GPL" }, false,
	  BIND_WAIT, 0 },
	{ "open on Turing", { .compute = 75, .installed = true, .version = "550.1", .license = "Dual MIT/GPL" }, false,
	  BIND_WAIT, 0 },
	{ "unknown card, the log knows: branch", { .loaded = true, .version = "595.1", .log_ignored = "x" }, false, BIND_NEVER,
	  FINDING_BRANCH },
	{ "unknown card, the log knows: open", { .loaded = true, .version = "570.1", .log_open = "x" }, false, BIND_NEVER,
	  FINDING_OPEN },
	{ "unknown card, new branch", { .loaded = true, .version = "595.1", .license = "Dual MIT/GPL" }, false, BIND_WAIT, 0 },
	{ "signature refused", { .compute = 61, .installed = true, .license = "NVIDIA", .log_rejected = "x" }, false,
	  BIND_NEVER, FINDING_SECURE_BOOT },
	{ "another module's signature refused", { WAITING, .log_rejected = "x" }, false, BIND_WAIT, 0 },
	{ "Secure Boot without a log", { .compute = 61, .installed = true, .secure_boot = true, .lockdown = true }, true,
	  BIND_NEVER, FINDING_SECURE_BOOT },
	{ "Secure Boot, not locked down", { .compute = 61, .installed = true, .secure_boot = true }, true, BIND_NEVER,
	  FINDING_NOT_LOADED },
};

static void test_decide(void **state)
{
	struct finding finding;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(&finding, 0, sizeof(finding));
		assert_row(bind_decide(&rows[i].facts, rows[i].waited, BDF, &finding) == rows[i].bind, &rows[i]);
		if (rows[i].bind != BIND_NEVER)
			continue;
		assert_row(finding.code == rows[i].code, &rows[i]);
		assert_row(!strcmp(finding.bdf, BDF), &rows[i]);
	}
}

/* The command frees the card from the driver that has it. */
static void test_command(void **state)
{
	struct bind_facts facts = { .driver = "vfio-pci" };
	struct finding finding;
	char command[512];

	(void)state;
	assert_int_equal(bind_decide(&facts, false, BDF, &finding), BIND_NEVER);
	finding_command(&finding, command, sizeof(command));
	assert_non_null(strstr(command, "echo " BDF " | sudo tee /sys/bus/pci/drivers/vfio-pci/unbind"));
	assert_null(strchr(command, '{'));
}

/* Lines as drivers and kernels print them (open-gpu-kernel-modules nv-pci.c, kernel/module/signing.c). */
static const char *const ignored[] = {
	"NVRM: The NVIDIA GPU " BDF " (PCI ID: 10de:1b87)",
	"NVRM: installed in this system is supported through the",
	"NVRM: NVIDIA 580.xx Legacy drivers. Please visit the driver page.",
	NULL,
};
static const char *const ignored_other[] = {
	"NVRM: The NVIDIA GPU 0000:02:00.0 (PCI ID: 10de:1b87)",
	"NVRM: installed in this system is supported through the",
	"NVRM: NVIDIA 580.xx Legacy drivers. Please visit the driver page.",
	NULL,
};
static const char *const open_flavour[] = {
	"NVRM: The NVIDIA GPU " BDF " (PCI ID: 10de:1b87)",
	"NVRM: installed in this system is not supported by open",
	"NVRM: nvidia.ko because it does not include the required GPU",
	"NVRM: System Processor (GSP).",
	NULL,
};
static const char *const too_late[] = {
	"NVRM: GPU " BDF " something", "one", "two", "three", "NVRM: 580.xx Legacy drivers", NULL,
};
static const char *const rejected[] = { "Loading of module with unavailable key is rejected", NULL };
static const char *const locked[] = {
	"Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7", NULL,
};
static const char *const tainted[] = { "softtape: module verification failed: signature missing - tainting kernel", NULL };

static const char *const no_space[] = { "pci " BDF ": BAR 1: no space for [mem size 0x10000000 64bit pref]", NULL };
static const char *const no_space_new[] = {
	"pci " BDF ": BAR 1 [mem size 0x10000000 64bit pref]: failed to assign", NULL,
};
static const char *const no_space_other[] = { "pci 0000:02:00.0: BAR 1: no space for [mem size 0x10000000 64bit pref]", NULL };

/* A volume management device's bus, whose domain has a digit more. */
static const char *const no_space_longer[] = { "pci 1" BDF ": BAR 1: no space for [mem size 0x4000 64bit]", NULL };
static const char *const ignored_next[] = {
	"nvidia " BDF ": vgaarb: VGA decodes changed: olddecodes=io+mem,decodes=none:owns=none",
	"NVRM: The NVIDIA GPU 0000:02:00.0 (PCI ID: 10de:1b87)",
	"NVRM: installed in this system is supported through the",
	"NVRM: NVIDIA 580.xx Legacy drivers. Please visit the driver page.",
	NULL,
};

static const char *const without_function[] = {
	"NVRM: GPU at PCI:0000:01:00: GPU-0b4ef5e7-6f2a-4b5d-8d1c-0a1b2c3d4e5f", "NVRM: NVIDIA 580.xx Legacy drivers.", NULL,
};

#define IGNORED "NVRM: The NVIDIA GPU " BDF " (PCI ID: 10de:1b87)", "NVRM: NVIDIA 580.xx Legacy drivers."
static const char *const other_module_since[] = {
	IGNORED, "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  550.163.01  Release Build", NULL,
};
static const char *const other_card_since[] = { IGNORED, "pci " BDF ": [10de:1b87] type 00 class 0x030200", NULL };
static const char *const other_slot_since[] = { IGNORED, "pci 0000:02:00.0: [10de:1b87] type 00 class 0x030200", NULL };
static const char *const loaded_since[] = {
	"Loading of unsigned module is rejected", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01", NULL,
};
static const char *const space_since[] = {
	"pci " BDF ": BAR 1: no space for [mem size 0x10000000 64bit pref]", "pci " BDF ": [10de:1b87] type 00 class 0x030200",
	NULL,
};

static const struct {
	const char *desc;
	const char *const *lines;
	bool ignored;
	bool open;
	bool rejected;
	bool last;
	bool bar;
} logs[] = {
	{ .desc = "branch too new", .lines = ignored, .ignored = true, .last = true },
	{ .desc = "branch too new for another card", .lines = ignored_other },
	{ .desc = "open flavour", .lines = open_flavour, .open = true, .last = true },
	{ .desc = "too far from the address", .lines = too_late, .last = true },
	{ .desc = "signature", .lines = rejected, .rejected = true },
	{ .desc = "lockdown", .lines = locked, .rejected = true },
	{ .desc = "unsigned but loaded", .lines = tainted },
	{ .desc = "another module since", .lines = other_module_since },
	{ .desc = "another card since", .lines = other_card_since },
	{ .desc = "a card in another slot since", .lines = other_slot_since, .ignored = true, .last = true },
	{ .desc = "signed since", .lines = loaded_since },
	{ .desc = "another card since, with space", .lines = space_since },
	{ .desc = "no space", .lines = no_space, .bar = true },
	{ .desc = "no space, as newer kernels say it", .lines = no_space_new, .bar = true },
	{ .desc = "no space for another card", .lines = no_space_other },
	{ .desc = "an address without a function", .lines = without_function, .ignored = true, .last = true },
	{ .desc = "no space, at an address that ends the same", .lines = no_space_longer },
	{ .desc = "branch too new for the card that is named next", .lines = ignored_next },
};

static void test_log(void **state)
{
	size_t i, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(logs); i++) {
		struct bind_facts facts = { 0 };
		int after_address = 0;

		for (n = 0; logs[i].lines[n]; n++)
			bind_log_line(logs[i].lines[n], BDF, &after_address, &facts);
		assert_row(!!facts.log_ignored[0] == logs[i].ignored, &logs[i]);
		assert_row(!!facts.log_open[0] == logs[i].open, &logs[i]);
		assert_row(!!facts.log_rejected[0] == logs[i].rejected, &logs[i]);
		assert_row(!!facts.log_last[0] == logs[i].last, &logs[i]);
		assert_row(!!facts.log_bar[0] == logs[i].bar, &logs[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
