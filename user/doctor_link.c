// SPDX-License-Identifier: GPL-2.0-only
/* Checks of each card's link and power: lanes, speed, error counters, and who else changes its settings. */
#include <string.h>

#include "doctor.h"

#define PCI_DEVICES	"/sys/bus/pci/devices"

/* From here on corrected errors are no longer what any link has now and then (an estimate). */
#define AER_STORM	100

static void read_text(const char *bdf, const char *file, char *buf, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/%s", bdf, file);
	if (host_read(path, buf, size))
		buf[0] = '\0';
}

/* "2.5 GT/s PCIe" in MT/s; "Unknown" is 0 (drivers/pci/probe.c:pci_speed_string). */
static unsigned int read_mts(const char *bdf, const char *file)
{
	unsigned int whole = 0, tenth = 0;
	char text[64];

	read_text(bdf, file, text, sizeof(text));
	sscanf(text, "%u.%u", &whole, &tenth);
	return whole * 1000 + tenth * 100;
}

/* 255 is "unknown" (PCIE_LNK_WIDTH_UNKNOWN). */
static unsigned int read_width(const char *bdf, const char *file)
{
	unsigned int width = 0;
	char text[64];

	read_text(bdf, file, text, sizeof(text));
	sscanf(text, "%u", &width);
	return width < 255 ? width : 0;
}

/**
 * doctor_link_end - what sysfs says of the link at one end
 * @bdf:	a card or a bridge
 *
 * Return: what is not known is 0.
 */
struct link_end doctor_link_end(const char *bdf)
{
	return (struct link_end){
		.speed_mts = read_mts(bdf, "current_link_speed"),
		.width = read_width(bdf, "current_link_width"),
		.max_mts = read_mts(bdf, "max_link_speed"),
		.max_width = read_width(bdf, "max_link_width"),
	};
}

static void check_width(struct doctor *doctor, const struct card *card, const struct link_end *end,
			const struct link_end *port)
{
	struct finding_list *findings = &doctor->result->findings;
	unsigned int both = port->max_width && port->max_width < end->max_width ? port->max_width : end->max_width;

	if (!end->width || !end->max_width)
		return;

	if (end->width < both)
		finding_add(findings, end->width == 1 ? FINDING_ONE_LANE : FINDING_NARROW, card->bdf,
			    "x%u now; the card can do x%u, the port %s x%u", end->width, end->max_width, card->port,
			    port->max_width ? port->max_width : end->max_width);
	else if (port->max_width && port->max_width < end->max_width)
		finding_add(findings, FINDING_PORT_NARROW, card->bdf, "the card can do x%u, the port %s x%u",
			    end->max_width, card->port, port->max_width);
}

static void check_speed(struct doctor *doctor, const struct card *card, const struct link_end *end,
			const struct link_end *port)
{
	unsigned int both = port->max_mts && port->max_mts < end->max_mts ? port->max_mts : end->max_mts;

	if (end->speed_mts && end->speed_mts < both)
		finding_add(&doctor->result->findings, FINDING_SLOW_LINK, card->bdf,
			    "%u.%u GT/s now; card and port can do %u.%u", end->speed_mts / 1000,
			    end->speed_mts % 1000 / 100, both / 1000, both % 1000 / 100);
	else if (end->speed_mts == 2500 && end->width && end->width <= 4 && end->width == end->max_width)
		finding_add(&doctor->result->findings, FINDING_SMALL_LINK, card->bdf,
			    "2.5 GT/s x%u, which is all the card can do", end->width);
}

/* "RxErr 12\nBadTLP 0\n...TOTAL_ERR_COR 12" (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats); -1 = no counters. */
static long long read_aer(const char *bdf, const char *file, const char *total, char *buf, size_t size)
{
	char text[4096], name[64], *line, *save = NULL;
	long long count, sum = -1;
	size_t len = 0;

	buf[0] = '\0';
	read_text(bdf, file, text, sizeof(text));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%63s %lld", name, &count) != 2)
			continue;
		if (!strcmp(name, total))
			sum = count;
		else if (count && len < size)
			len += (size_t)snprintf(buf + len, size - len, "%s%s %lld", len ? ", " : "", name, count);
	}

	return sum;
}

/* Both ends count what they receive. */
static void check_aer(struct doctor *doctor, const struct card *card, const char *end)
{
	struct finding_list *findings = &doctor->result->findings;
	char what[256];
	long long count;

	count = read_aer(end, "aer_dev_correctable", "TOTAL_ERR_COR", what, sizeof(what));
	if (count > 0)
		finding_add(findings, count >= AER_STORM ? FINDING_AER_STORM : FINDING_AER_SOME, card->bdf,
			    "%lld corrected errors at %s: %s", count, end, what);
	count = read_aer(end, "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL", what, sizeof(what));
	if (count > 0)
		finding_add(findings, FINDING_AER_FATAL, card->bdf, "%lld non-fatal errors at %s: %s", count, end, what);
	count = read_aer(end, "aer_dev_fatal", "TOTAL_ERR_FATAL", what, sizeof(what));
	if (count > 0)
		finding_add(findings, FINDING_AER_FATAL, card->bdf, "%lld fatal errors at %s: %s", count, end, what);
}

/* Command register, bit 2 (PCI LB 3.0 6.2.2); everybody may read the header. */
static void check_master(struct doctor *doctor, const struct card *card)
{
	unsigned char header[6];
	char path[HOST_PATH_MAX], file[256];
	FILE *stream CLEANUP_FILE = NULL;

	snprintf(file, sizeof(file), PCI_DEVICES "/%s/config", card->bdf);
	host_path(file, path, sizeof(path));
	stream = fopen(path, "re");
	if (!stream || fread(header, sizeof(header), 1, stream) != 1 || strcmp(card->driver, "nvidia"))
		return;
	if (!(header[4] & 0x04))
		finding_add(&doctor->result->findings, FINDING_MASTER, card->bdf, "command register %02x%02x",
			    header[5], header[4]);
}

/* Services that switch power saving on by themselves; a link below *.wants means that it starts at boot. */
static const char *power_tool(void)
{
	static const struct {
		const char *name;
		const char *file;
	} tools[] = {
		{ "TLP", "/etc/systemd/system/multi-user.target.wants/tlp.service" },
		{ "powertop", "/etc/systemd/system/multi-user.target.wants/powertop.service" },
		{ "powertop", "/etc/systemd/system/powertop.service" },
	};
	char profile[64], path[HOST_PATH_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tools); i++) {
		host_path(tools[i].file, path, sizeof(path));
		if (!access(path, F_OK) || host_exists(tools[i].file))
			return tools[i].name;
	}
	if (!host_read("/etc/tuned/active_profile", profile, sizeof(profile)) && strstr(profile, "powersave"))
		return "tuned";
	return NULL;
}

static bool tlp_leaves_alone(const char *bdf)
{
	static const char *const files[] = { "/etc/tlp.conf", "/etc/tlp.d/50-softtape.conf" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		char *text CLEANUP_FREE = host_read_all(files[i], 256 * 1024), value[512];

		if (!text)
			continue;
		stack_value(text, "RUNTIME_PM_DENYLIST", value, sizeof(value));
		if (strstr(value, bdf + strlen("0000:")))
			return true;
	}

	return false;
}

static void check_power(struct doctor *doctor, const struct card *card, const char *tool, bool saving)
{
	char control[32], command[512];

	read_text(card->bdf, "power/control", control, sizeof(control));
	if (!tool || (strcmp(control, "auto") && !saving) || (!strcmp(tool, "TLP") && tlp_leaves_alone(card->bdf)))
		return;

	if (!strcmp(tool, "TLP"))
		snprintf(command, sizeof(command),
			 "echo 'RUNTIME_PM_DENYLIST=\"%s\"' | sudo tee /etc/tlp.d/50-softtape.conf && "
			 "sudo tlp start",
			 card->bdf + strlen("0000:"));
	else if (!strcmp(tool, "powertop"))
		snprintf(command, sizeof(command), "sudo systemctl disable --now powertop");
	else
		snprintf(command, sizeof(command), "sudo tuned-adm profile throughput-performance");
	finding_add_command(&doctor->result->findings, FINDING_POWER_TOOL, card->bdf, command,
			    "%s starts at boot; power/control is %s, ASPM policy %s", tool, control[0] ? control : "unknown",
			    saving ? "saves power" : "is default");
}

/**
 * doctor_link - links and power of the listed cards
 * @doctor:	the look
 */
void doctor_link(struct doctor *doctor)
{
	const char *tool = power_tool();
	char policy[128] = "";
	bool saving, any = false;
	size_t i;

	host_read("/sys/module/pcie_aspm/parameters/policy", policy, sizeof(policy));
	saving = strstr(policy, "[powersave]") || strstr(policy, "[powersupersave]");
	for (i = 0; i < doctor->result->nr; i++) {
		const struct card *card = &doctor->result->row[i].card;
		struct link_end end, port = { 0 };

		if (!card->row || card->gone)
			continue;
		any = true;
		end = doctor_link_end(card->bdf);
		if (card->port[0])
			port = doctor_link_end(card->port);
		check_width(doctor, card, &end, &port);
		check_speed(doctor, card, &end, &port);
		check_aer(doctor, card, card->bdf);
		if (card->port[0])
			check_aer(doctor, card, card->port);
		check_master(doctor, card);
		check_power(doctor, card, tool, saving);
		if (card->flaw == CONFIG_SHORT)
			doctor_unseen(doctor, "link registers of %s", card->bdf);
	}
	if (any && saving)
		finding_add(&doctor->result->findings, FINDING_ASPM_POLICY, NULL, "policy %s", policy);
}
