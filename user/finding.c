// SPDX-License-Identifier: GPL-2.0-only
/* What can be wrong: the one table of codes, causes and remedies, and a list of what was found. Looks at nothing. */
#include "finding.h"

#include <stdarg.h>
#include <string.h>
#include <sys/utsname.h>

#define X(id, word) [id] = word,
static const char *const codes[] = { FINDINGS(X) };
#undef X

/* Actions: none, capture, configure, driver, install, kernel-parameter, permission, reboot, reseat, retire, riser, wait. */
static const struct finding_info table[] = {
	[FINDING_USAGE] = {
		.severity = FINDING_ERROR, .action = "none",
		.title = "the command line was not understood",
		.cause = "A command, option, value or address is not one that softtape knows.",
		.remedy = "See the help.",
		.command = "softtape --help",
	},
	[FINDING_INPUT] = {
		.severity = FINDING_ERROR, .action = "capture",
		.title = "the input cannot be read",
		.cause = "The file is not there, may not be read, or holds no bytes of any PCI device.",
		.remedy = "Take the dump again, as root: only root sees more than the first 64 bytes.",
		.command = "sudo lspci -xxxx > dump.txt",
	},
	[FINDING_DUMP_DEVICE] = {
		.severity = FINDING_WARNING, .action = "capture",
		.title = "one device of the dump cannot be read",
		.cause = "Its lines are cut, garbled, or show a device that did not answer. The other devices "
			"are not affected.",
		.remedy = "Take the dump again, as root; a device that reads all ones was off the bus.",
		.command = "sudo lspci -xxxx > dump.txt",
	},
	[FINDING_NO_CARD] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "no mining card is present",
		.cause = "No PCI function of this machine is in softtape's list. Other NVIDIA cards are left alone.",
		.remedy = "If a card should be there: check its power and its riser with the power off, then let "
			"the kernel look again.",
		.command = "sudo softtape rescan",
	},
	[FINDING_NOT_FOUND] = {
		.severity = FINDING_ERROR, .action = "reseat",
		.title = "there is no device at this address",
		.cause = "The address is mistyped, the card is gone, or the kernel has not looked since it was "
			"plugged.",
		.remedy = "See what is there; without hot-plug support of the board let the kernel look again.",
		.command = "softtape list --any; sudo softtape rescan",
	},
	[FINDING_NOT_NVIDIA] = {
		.severity = FINDING_ERROR, .action = "none",
		.title = "this device is not an NVIDIA display function",
		.cause = "softtape can only judge NVIDIA cards.",
		.remedy = "Name another address.",
		.command = "softtape list --any",
	},
	[FINDING_PERMISSION] = {
		.severity = FINDING_ERROR, .action = "permission",
		.title = "this needs root",
		.cause = "The kernel lets only root do this.",
		.remedy = "Run it as root.",
		.command = "sudo softtape rescan",
	},
	[FINDING_OFF_BUS] = {
		.severity = FINDING_ERROR, .action = "reseat",
		.title = "the card fell off the bus",
		.cause = "Its configuration space reads all ones: nobody answers any more. Power, riser or "
			"contact failed.",
		.remedy = "Switch the power off, check the power plugs and the riser, reseat the card, start again.",
		.command = "sudo softtape rescan",
	},
	[FINDING_BAR] = {
		.severity = FINDING_ERROR, .action = "kernel-parameter",
		.title = "the card got no address space for its registers or memory",
		.cause = "The bridge window is too small, or the firmware left no room. The driver cannot start "
			"without it.",
		.remedy = "Let the kernel lay out the windows itself, or switch on 'Above 4G decoding' in the "
			"firmware setup, then reboot.",
		.command = "pci=realloc (add to the kernel command line, then reboot)",
	},
	[FINDING_NOUVEAU] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "nouveau owns the card",
		.cause = "nouveau bound first, so the nvidia driver cannot; nouveau has no CUDA.",
		.remedy = "Keep nouveau away and rebuild the initramfs, then reboot.",
		.command = "echo 'blacklist nouveau' | sudo tee /etc/modprobe.d/no-nouveau.conf && sudo "
			"update-initramfs -u && sudo reboot",
	},
	[FINDING_NVIDIAFB] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "nvidiafb owns the card",
		.cause = "The frame buffer driver bound first, so the nvidia driver cannot.",
		.remedy = "Keep nvidiafb away and rebuild the initramfs, then reboot.",
		.command = "echo 'blacklist nvidiafb' | sudo tee /etc/modprobe.d/no-nvidiafb.conf && sudo "
			"update-initramfs -u && sudo reboot",
	},
	[FINDING_VFIO] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "the card is reserved for a virtual machine",
		.cause = "A vfio driver holds the card on purpose, so the host cannot use it.",
		.remedy = "Test inside the virtual machine, or give the card back to the host.",
		.command = "echo {bdf} | sudo tee /sys/bus/pci/drivers/{driver}/unbind && echo | sudo tee "
			"/sys/bus/pci/devices/{bdf}/driver_override && echo {bdf} | sudo tee "
			"/sys/bus/pci/drivers_probe",
	},
	[FINDING_OWNER] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "another driver owns the card",
		.cause = "A driver that is not nvidia is bound to the card.",
		.remedy = "Unbind it, then let the kernel choose again.",
		.command = "echo {bdf} | sudo tee /sys/bus/pci/drivers/{driver}/unbind && echo {bdf} | sudo tee "
			"/sys/bus/pci/drivers_probe",
	},
	[FINDING_NO_MODULE] = {
		.severity = FINDING_ERROR, .action = "install",
		.title = "there is no nvidia module for the running kernel",
		.cause = "No nvidia driver is installed, or it was not built for this kernel (its headers were "
			"missing).",
		.remedy = "Install headers and driver (Debian: component non-free); for a Pascal or Volta card "
			"at most branch 580.",
		.command = "sudo apt install linux-headers-{kernel} nvidia-driver && sudo dkms autoinstall -k {kernel}",
	},
	[FINDING_SECURE_BOOT] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "Secure Boot refuses the nvidia module",
		.cause = "The module is not signed with a key that this machine's firmware or shim trusts.",
		.remedy = "Enrol the key that DKMS signs with and confirm it on the console at the next boot, or "
			"switch Secure Boot off.",
		.command = "sudo mokutil --import /var/lib/dkms/mok.pub && sudo reboot",
	},
	[FINDING_BRANCH] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "the nvidia driver is too new for this card",
		.cause = "Branch 590 and later ignore Pascal and Volta cards; 580 is the last that drives them.",
		.remedy = "Install branch 580 or older (Debian's own packages are).",
		.command = "sudo apt install nvidia-driver/stable nvidia-kernel-dkms/stable && sudo reboot",
	},
	[FINDING_OPEN] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "the open nvidia module cannot drive this card",
		.cause = "The open flavour needs a GPU System Processor: Turing or newer. Cards before that need "
			"the proprietary flavour.",
		.remedy = "Install the proprietary flavour.",
		.command = "sudo apt install nvidia-kernel-dkms nvidia-open-kernel-dkms- && sudo reboot",
	},
	[FINDING_NOT_LOADED] = {
		.severity = FINDING_ERROR, .action = "configure",
		.title = "the nvidia module exists but is not loaded",
		.cause = "Nothing loaded it within the waiting time: it is blacklisted, or loading failed.",
		.remedy = "Load it and look at the message.",
		.command = "sudo modprobe nvidia; sudo dmesg | grep -i -e nvrm -e nvidia | tail",
	},
	[FINDING_NOT_BOUND] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "the nvidia module is loaded but did not take the card",
		.cause = "Its probe failed or it was never asked. The kernel log says why, in lines with NVRM.",
		.remedy = "Read the kernel log; check the card's power plugs.",
		.command = "sudo dmesg | grep -e NVRM -e {bdf} | tail",
	},
	[FINDING_MODULE_ABSENT] = {
		.severity = FINDING_WARNING, .action = "install",
		.title = "the kernel module softtape is not loaded",
		.cause = "Without it nobody settles the card's link: ASPM, Clock PM and D3cold stay as the "
			"firmware left them.",
		.remedy = "Load it; if there is none for this kernel, build it.",
		.command = "sudo modprobe softtape || sudo dkms autoinstall -k {kernel}",
	},
	[FINDING_NOT_CLAIMED] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the kernel module softtape does not know this card",
		.cause = "The loaded module is older than this program, or the card is only listed here.",
		.remedy = "Reload the module when no card is busy, or reboot.",
		.command = "sudo modprobe -r softtape && sudo modprobe softtape",
	},
	[FINDING_QUIRKS_PENDING] = {
		.severity = FINDING_WARNING, .action = "wait",
		.title = "the card's link is not settled yet",
		.cause = "The module could not reach the card or its port so far and goes on trying.",
		.remedy = "Look again in a minute; keep the port awake.",
		.command = "cat /sys/bus/pci/devices/{bdf}/softtape/state",
	},
	[FINDING_QUIRKS_REFUSED] = {
		.severity = FINDING_WARNING, .action = "kernel-parameter",
		.title = "not every setting of the link was accepted",
		.cause = "refused:firmware - the firmware kept control over ASPM. refused:core - the kernel runs "
			"with pcie_aspm=off. refused:readback - the register did not take the value. "
			"refused:driver - something switched it on again.",
		.remedy = "For firmware and core: load the module with aspm=force. For readback the hardware decides.",
		.command = "echo 'options softtape aspm=force' | sudo tee /etc/modprobe.d/softtape-aspm.conf && "
			"sudo reboot",
	},
	[FINDING_QUIRKS_LOST] = {
		.severity = FINDING_ERROR, .action = "reseat",
		.title = "the module lost the card",
		.cause = "The card stopped answering while its link was being settled.",
		.remedy = "Switch the power off, check the power plugs and the riser, start again.",
		.command = "sudo dmesg | grep softtape: | tail",
	},
	[FINDING_QUIRKS_SKIPPED] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "the module leaves this slot alone, as configured",
		.cause = "The parameter skip= names the slot.",
		.remedy = "Nothing to do.",
		.command = "cat /sys/module/softtape/parameters/skip",
	},
	[FINDING_QUIRKS_DRY_RUN] = {
		.severity = FINDING_INFO, .action = "none",
		.title = "the module changes nothing, as configured",
		.cause = "The parameter dry_run is set: the module plans and reports only.",
		.remedy = "Nothing to do.",
		.command = "cat /sys/bus/pci/devices/{bdf}/softtape/report",
	},
	[FINDING_DRIFTED] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the registers no longer say what the module settled",
		.cause = "Somebody changed the link afterwards: an ASPM policy, a tool, or the driver.",
		.remedy = "Let the module settle it again, then look for who changes it.",
		.command = "echo 1 | sudo tee /sys/bus/pci/devices/{bdf}/softtape/verify; cat "
			"/sys/module/pcie_aspm/parameters/policy",
	},
	[FINDING_CAP] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the speed cap that was asked for does not hold",
		.cause = "lifted - something raised the port's target speed again. refused - the port did not "
			"take it, is too old for it, or a driver was already bound.",
		.remedy = "For refused(driver): load softtape before the driver, that is reboot.",
		.command = "cat /sys/bus/pci/devices/{bdf}/softtape/report",
	},
	[FINDING_BUSY] = {
		.severity = FINDING_ERROR, .action = "wait",
		.title = "another process uses the card",
		.cause = "A test would disturb it and be disturbed.",
		.remedy = "Stop that process, or test all the same.",
		.command = "sudo softtape check --force {bdf}",
	},
	[FINDING_LOCKED] = {
		.severity = FINDING_ERROR, .action = "wait",
		.title = "a check of this card is already running",
		.cause = "Two checks of one card would disturb each other.",
		.remedy = "Wait for it, then read its verdict.",
		.command = "softtape status {bdf}",
	},
	[FINDING_CUDA] = {
		.severity = FINDING_ERROR, .action = "install",
		.title = "CUDA could not be tried on the card",
		.cause = "The driver's user-space part is missing, broken, of another version, or not allowed.",
		.remedy = "See the evidence; the driver's packages must all have one version.",
		.command = "dpkg -l 'libcuda1' 'nvidia-*' | grep ^ii; ls -l /dev/nvidia*",
	},
	[FINDING_DATA] = {
		.severity = FINDING_ERROR, .action = "retire",
		.title = "the card computed, kept or moved wrong data",
		.cause = "Memory, chip, power or riser is faulty. This card corrupts results.",
		.remedy = "Try another riser and another power plug, lower the clocks; if it stays, retire the card.",
		.command = "sudo softtape check {bdf}",
	},
	[FINDING_GPU] = {
		.severity = FINDING_ERROR, .action = "riser",
		.title = "CUDA reported an error of the card during the test",
		.cause = "The driver gave up on a command. An Xid line in the kernel log says more.",
		.remedy = "Check power and riser; read the kernel log.",
		.command = "sudo dmesg | grep -e Xid -e NVRM | tail",
	},
	[FINDING_CRASHED] = {
		.severity = FINDING_ERROR, .action = "driver",
		.title = "the test process died inside the driver's library",
		.cause = "libcuda crashed or left; that is not what a healthy card and driver do.",
		.remedy = "Read the kernel log; reinstall the driver if it happens on every card.",
		.command = "sudo dmesg | grep -e Xid -e NVRM -e segfault | tail",
	},
	[FINDING_HUNG] = {
		.severity = FINDING_ERROR, .action = "reboot",
		.title = "the card or its driver gave no answer in time",
		.cause = "A call into the driver did not come back. A process stuck there cannot be killed.",
		.remedy = "Read the kernel log, check power and riser with the power off, then start again.",
		.command = "sudo dmesg | grep -e Xid -e NVRM -e 'blocked for more' | tail",
	},
	[FINDING_SLOW_COPY] = {
		.severity = FINDING_WARNING, .action = "riser",
		.title = "copies are far slower than the link can carry",
		.cause = "Repeated transfers over a bad riser, or other traffic on a shared uplink.",
		.remedy = "Try another riser or slot, or cap the speed.",
		.command = "softtape list --tree",
	},
	[FINDING_INTERRUPTED] = {
		.severity = FINDING_WARNING, .action = "none",
		.title = "the check was ended before it was done",
		.cause = "It was stopped, or the machine went down.",
		.remedy = "Check again.",
		.command = "sudo softtape check {bdf}",
	},
	[FINDING_NEEDS_ROOT] = {
		.severity = FINDING_INFO, .action = "permission",
		.title = "link registers can only be read by root",
		.cause = "The kernel shows others the first 64 bytes of configuration space; the link's "
			"registers lie behind them.",
		.remedy = "Run it as root to see them.",
		.command = "sudo softtape plan {bdf}",
	},
	[FINDING_NO_STATE] = {
		.severity = FINDING_WARNING, .action = "configure",
		.title = "the state of the check cannot be stored",
		.cause = "The state folder cannot be made or written. The verdict itself is not affected.",
		.remedy = "Make the folder writable: /run/softtape for root, $XDG_RUNTIME_DIR/softtape for others.",
		.command = "sudo systemd-tmpfiles --create",
	},
};

/**
 * finding_info - the row of a code
 * @code:	any code
 */
const struct finding_info *finding_info(enum finding_code code)
{
	return &table[code];
}

/* The stable word a finding is printed under. */
const char *finding_word(const struct finding *finding)
{
	return finding->word[0] ? finding->word : codes[finding->code];
}

/**
 * finding_find - the code of a word
 * @word:	what a user typed
 * @ret_code:	set on success
 *
 * Return: true when there is such a code.
 */
bool finding_find(const char *word, enum finding_code *ret_code)
{
	int i;

	for (i = 0; i < FINDING_NR; i++) {
		if (strcmp(codes[i], word))
			continue;
		*ret_code = i;
		return true;
	}

	return false;
}

const char *finding_severity_word(enum finding_severity severity)
{
	static const char *const words[] = {
		[FINDING_INFO] = "info",
		[FINDING_WARNING] = "warning",
		[FINDING_ERROR] = "error",
	};

	return words[severity];
}

/* The word in braces at @text as its value; NULL when it is none of ours. */
static const char *placeholder(const char *text, const struct finding *finding, const char *kernel)
{
	if (!strncmp(text, "{bdf}", 5))
		return finding->bdf[0] ? finding->bdf : "ADDRESS";
	if (!strncmp(text, "{kernel}", 8))
		return kernel;
	if (!strncmp(text, "{driver}", 8))
		return finding->driver[0] ? finding->driver : "DRIVER";
	return NULL;
}

/**
 * finding_command - what to type against a finding
 * @finding:	the finding; its bdf and driver are put in
 * @buf:	filled
 * @size:	bytes in @buf
 */
void finding_command(const struct finding *finding, char *buf, size_t size)
{
	const char *text = table[finding->code].command, *value;
	struct utsname uts;
	size_t len = 0;

	if (uname(&uts))
		util_copy(uts.release, sizeof(uts.release), "KERNEL");

	while (*text && len < size - 1) {
		value = placeholder(text, finding, uts.release);
		if (!value) {
			buf[len++] = *text++;
			continue;
		}
		util_copy(buf + len, size - len, value);
		len += strlen(buf + len);
		text = strchr(text, '}') + 1;
	}

	buf[len] = '\0';
}

static PRINTF_LIKE(4, 0) void make(struct finding *ret_finding, enum finding_code code, const char *bdf,
				   const char *format, va_list args)
{
	char *c;

	memset(ret_finding, 0, sizeof(*ret_finding));
	ret_finding->code = code;
	util_copy(ret_finding->bdf, sizeof(ret_finding->bdf), bdf ? bdf : "");
	vsnprintf(ret_finding->evidence, sizeof(ret_finding->evidence), format, args);

	/* Evidence may quote the kernel log or the user: no control characters, no broken UTF-8. */
	for (c = ret_finding->evidence; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

/**
 * finding_make - fill in one finding
 * @ret_finding: filled
 * @code:	which
 * @bdf:	card it is about, NULL = none
 * @format:	evidence
 */
void finding_make(struct finding *ret_finding, enum finding_code code, const char *bdf, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	make(ret_finding, code, bdf, format, args);
	va_end(args);
}

void finding_append(struct finding_list *list, const struct finding *finding)
{
	list->item = util_grow(list->item, list->nr, &list->room, sizeof(*list->item));
	list->item[list->nr++] = *finding;
}

void finding_add(struct finding_list *list, enum finding_code code, const char *bdf, const char *format, ...)
{
	struct finding finding;
	va_list args;

	va_start(args, format);
	make(&finding, code, bdf, format, args);
	va_end(args);
	finding_append(list, &finding);
}

void finding_free(struct finding_list *list)
{
	free(list->item);
	memset(list, 0, sizeof(*list));
}
