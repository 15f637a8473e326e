// SPDX-License-Identifier: GPL-2.0-only
/*
 * Emulated card: serves one PCI function, taken from an lspci dump, to QEMU's
 * vfio-user-pci device, and logs every write that reaches its configuration space.
 * Protocol: qemu/qemu docs/interop/vfio-user.rst, version 0.0; structures are the
 * kernel's own (linux/vfio.h). No DMA, no interrupt, no memory behind the BARs.
 *
 * Log, one line each, flushed at once:
 *	S file			server started
 *	C, D			QEMU connected, disconnected
 *	R			device reset: power-on values are back
 *	W off width old new now	configuration write, hex; old and now are what a read
 *				gave before and after it
 *	B bar off width new	BAR write, hex (nothing stores it)
 */
#include <errno.h>
#include <getopt.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "config.h"

#define MSG_MAX		(64 * 1024)
#define LIMIT_S		3600

enum {
	CMD_VERSION = 1,
	CMD_DMA_MAP = 2,
	CMD_DMA_UNMAP = 3,
	CMD_GET_INFO = 4,
	CMD_GET_REGION_INFO = 5,
	CMD_GET_IRQ_INFO = 7,
	CMD_SET_IRQS = 8,
	CMD_REGION_READ = 9,
	CMD_REGION_WRITE = 10,
	CMD_RESET = 13,
};

#define FLAG_REPLY	0x01
#define FLAG_NO_REPLY	0x10
#define FLAG_ERROR	0x20

struct header {
	uint16_t id;
	uint16_t command;
	uint32_t size;
	uint32_t flags;
	uint32_t error;
};

struct region_access {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
	uint8_t data[];
};

/* BAR0 registers that identify the chip: PMC_BOOT_0 and its newer layout. GP104. */
#define BOOT_0		0x000
#define BOOT_0_GP104	0x134000a1u
#define BOOT_42		0xa00
#define BOOT_42_GP104	0x134a1000u
/* BAR0 window onto the function's own configuration space. */
#define CONFIG_MIRROR	0x88000

static struct config cfg;
static FILE *log_file;

#define LOG(...) (fprintf(log_file, __VA_ARGS__), fflush(log_file))

static void write_config(unsigned int off, unsigned int len, uint32_t val)
{
	uint32_t old = config_read(&cfg, off, len);

	config_write(&cfg, off, len, val);
	LOG("W %03x %u %0*x %0*x %0*x\n", off, len, 2 * len, old, 2 * len, val,
	    2 * len, config_read(&cfg, off, len));
}

static uint32_t read_bar(unsigned int bar, uint64_t off, unsigned int len)
{
	if (bar != 0)
		return 0;
	if (off == BOOT_0)
		return BOOT_0_GP104;
	if (off == BOOT_42)
		return BOOT_42_GP104;
	if (off >= CONFIG_MIRROR && off + len <= CONFIG_MIRROR + CONFIG_SIZE)
		return config_read(&cfg, off - CONFIG_MIRROR, len);
	return 0;
}

static void write_bar(unsigned int bar, uint64_t off, unsigned int len, uint32_t val)
{
	if (bar == 0 && off >= CONFIG_MIRROR && off + len <= CONFIG_MIRROR + CONFIG_SIZE)
		write_config(off - CONFIG_MIRROR, len, val);
	else
		LOG("B %u %06llx %u %0*x\n", bar, (unsigned long long)off, len, 2 * len, val);
}

static uint64_t region_size(unsigned int region)
{
	if (region < CONFIG_BARS)
		return cfg.bar_size[region];
	return region == VFIO_PCI_CONFIG_REGION_INDEX ? CONFIG_SIZE : 0;
}

/* Length of the answer put into @body, or a negative errno. */
static int access_region(bool is_write, struct region_access *body, size_t len)
{
	size_t want = sizeof(*body) + (is_write ? body->count : 0);
	bool is_config = body->region == VFIO_PCI_CONFIG_REGION_INDEX;

	if (len < want || body->count > MSG_MAX - 64 ||
	    body->offset + body->count > region_size(body->region))
		return -EINVAL;

	for (uint32_t done = 0, step; done < body->count; done += step) {
		uint64_t off = body->offset + done;
		uint32_t val = 0;

		step = body->count - done;
		if (step > 4)
			step = 4;
		if (is_write)
			memcpy(&val, body->data + done, step);
		if (is_write && is_config)
			write_config(off, step, val);
		else if (is_write)
			write_bar(body->region, off, step, val);
		else if (is_config)
			val = config_read(&cfg, off, step);
		else
			val = read_bar(body->region, off, step);
		if (!is_write)
			memcpy(body->data + done, &val, step);
	}
	return sizeof(*body) + (is_write ? 0 : body->count);
}

static int answer_version(uint8_t *body)
{
	static const char caps[] = "{\"capabilities\":{\"max_msg_fds\":16}}";

	memset(body, 0, 4);
	memcpy(body + 4, caps, sizeof(caps));
	return 4 + sizeof(caps);
}

static int answer_info(uint8_t *body)
{
	struct vfio_device_info info = {
		.argsz = 16,	/* up to num_irqs: what the protocol knows */
		.flags = VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI,
		.num_regions = VFIO_PCI_NUM_REGIONS,
		.num_irqs = VFIO_PCI_NUM_IRQS,
	};

	memcpy(body, &info, info.argsz);
	return info.argsz;
}

static int answer_region_info(uint8_t *body)
{
	struct vfio_region_info info;

	memcpy(&info, body, sizeof(info));
	if (info.index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	info.argsz = sizeof(info);
	info.cap_offset = 0;
	info.offset = 0;
	info.size = region_size(info.index);
	info.flags = info.size ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0;
	memcpy(body, &info, sizeof(info));
	return sizeof(info);
}

static int answer_irq_info(uint8_t *body)
{
	struct vfio_irq_info info;

	memcpy(&info, body, sizeof(info));
	info.argsz = sizeof(info);
	info.flags = VFIO_IRQ_INFO_EVENTFD;
	info.count = info.index <= VFIO_PCI_MSI_IRQ_INDEX ? 1 : 0;
	memcpy(body, &info, sizeof(info));
	return sizeof(info);
}

/* Length of the answer put into @body (room for MSG_MAX), or a negative errno. */
static int answer(unsigned int command, uint8_t *body, size_t len)
{
	switch (command) {
	case CMD_VERSION:
		return answer_version(body);
	case CMD_DMA_MAP:
	case CMD_SET_IRQS:
		return 0;
	case CMD_DMA_UNMAP:
		return len;
	case CMD_GET_INFO:
		return answer_info(body);
	case CMD_GET_REGION_INFO:
		return answer_region_info(body);
	case CMD_GET_IRQ_INFO:
		return answer_irq_info(body);
	case CMD_REGION_READ:
	case CMD_REGION_WRITE:
		return access_region(command == CMD_REGION_WRITE, (void *)body, len);
	case CMD_RESET:
		config_reset(&cfg);
		LOG("R\n");
		return 0;
	}
	return -ENOTSUP;
}

static bool receive(int fd, void *buf, size_t len)
{
	char *at = buf;

	while (len) {
		char control[CMSG_SPACE(16 * sizeof(int))];
		struct iovec iov = { .iov_base = at, .iov_len = len };
		struct msghdr msg = {
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = control, .msg_controllen = sizeof(control),
		};
		ssize_t got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
		struct cmsghdr *cmsg = got > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

		if (got <= 0)
			return false;
		/* Event and memory descriptors: this card signals and fetches nothing. */
		if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS)
			for (size_t i = 0; i < (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++)
				close(((int *)CMSG_DATA(cmsg))[i]);
		at += got;
		len -= got;
	}
	return true;
}

static void serve(int fd)
{
	static union {
		uint8_t bytes[MSG_MAX];
		struct region_access aligned;
	} body;
	struct header head;

	while (receive(fd, &head, sizeof(head))) {
		size_t len = head.size - sizeof(head);
		int ret;

		if (head.size < sizeof(head) || len > sizeof(body) || !receive(fd, &body, len))
			return;
		ret = answer(head.command, body.bytes, len);
		if (head.flags & FLAG_NO_REPLY)
			continue;
		head.flags = FLAG_REPLY | (ret < 0 ? FLAG_ERROR : 0);
		head.error = ret < 0 ? -ret : 0;
		head.size = sizeof(head) + (ret > 0 ? ret : 0);
		if (send(fd, &head, sizeof(head), MSG_NOSIGNAL | (ret > 0 ? MSG_MORE : 0)) < 0 ||
		    (ret > 0 && send(fd, &body, ret, MSG_NOSIGNAL) != ret))
			return;
	}
}

static int listen_at(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* Under its own name only when it listens: who waits for the name connects at once. */
	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s.new", path) >= (int)sizeof(addr.sun_path)) {
		fprintf(stderr, "%s: longer than a socket name may be\n", path);
		return -1;
	}
	if (fd < 0 || bind(fd, (void *)&addr, sizeof(addr)) || listen(fd, 1) || rename(addr.sun_path, path)) {
		perror(path);
		return -1;
	}
	return fd;
}

static int usage(void)
{
	fputs("usage: card [options] DUMP SOCKET LOG\n"
	      "  --slot ADDR        function of the dump (first NVIDIA one)\n"
	      "  --bar1 MIB         size of BAR1 (64)\n"
	      "  --set PLACE=VALUE  patch the dump, e.g. 80.w=0140 or exp+2.w=0001\n"
	      "  --stick PLACE      swallow writes, e.g. exp+10.w\n"
	      "  --limit SECONDS    stop after that time (3600)\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "slot", required_argument, NULL, 's' },
		{ "bar1", required_argument, NULL, 'b' },
		{ "set", required_argument, NULL, 'p' },
		{ "stick", required_argument, NULL, 'k' },
		{ "limit", required_argument, NULL, 'l' },
		{ }
	};
	const char *slot = NULL, *set[16], *stick[16];
	unsigned int nset = 0, nstick = 0, limit_s = LIMIT_S;
	uint64_t bar1_mib = 64;
	pid_t parent = getppid();
	int opt, listener;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 's')
			slot = optarg;
		else if (opt == 'b')
			bar1_mib = strtoull(optarg, NULL, 10);
		else if (opt == 'p' && nset < 16)
			set[nset++] = optarg;
		else if (opt == 'k' && nstick < 16)
			stick[nstick++] = optarg;
		else if (opt == 'l')
			limit_s = strtoul(optarg, NULL, 10);
		else
			return usage();
	}
	if (argc - optind != 3 || !bar1_mib || bar1_mib & (bar1_mib - 1))
		return usage();

	/* Nobody's orphan: go with the test that started us, or at the limit. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return 1;
	alarm(limit_s);

	if (!config_load(&cfg, argv[optind], slot))
		return 1;
	for (unsigned int i = 0; i < nset; i++)
		if (!config_set(&cfg, set[i]))
			return usage();
	for (unsigned int i = 0; i < nstick; i++)
		if (!config_stick(&cfg, stick[i]))
			return usage();
	config_derive(&cfg, bar1_mib << 20);

	log_file = fopen(argv[optind + 2], "ae");
	if (!log_file) {
		perror(argv[optind + 2]);
		return 1;
	}
	LOG("S %s\n", argv[optind]);
	listener = listen_at(argv[optind + 1]);
	if (listener < 0)
		return 1;

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		LOG("C\n");
		serve(fd);
		close(fd);
		LOG("D\n");
	}
}
