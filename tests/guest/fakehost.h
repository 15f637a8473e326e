/* SPDX-License-Identifier: GPL-2.0-only */
/* What other test modules may do with the simulated host bridge; see fakehost.c. */
#ifndef FAKEHOST_H
#define FAKEHOST_H

#include <linux/types.h>

struct pci_dev;

#define FAKEHOST_SLOTS		4
#define FAKEHOST_FUNCTIONS	8
#define FAKEHOST_SPACE		4096	/* bytes of configuration space */

/**
 * struct fakehost_knobs - what the simulated hardware is like; each is a module parameter of the same name
 * @domain:	PCI domain of the bridge
 * @bind_delay_ms: time between the cards' ADD event and the core's leave to bind them
 * @mem:	the bridge has a window for the cards' BAR0
 * @slots:	slots, each behind a port of its own
 * @switched:	one root port, and the slots behind a switch below it; else every slot has a root port
 * @hotplug:	the ports report presence and link changes as pciehp wants them (in poll mode: there is no interrupt)
 * @functions:	functions of a card; those above 0 are audio functions
 * @ep_vendor:	vendor of the cards; down to @width in effect from a card's next power-on
 * @ep_device:	device id of function 0
 * @ep_class:	class code of function 0
 * @port_speed:	fastest link speed, 1 = 2.5 GT/s; goes into LNKCAP and LNKCAP2
 * @ep_speed:	the card's
 * @port_version: of the PCI Express capability; 1 has no LNKCAP2 and LNKCTL2
 * @ep_version:	the card's
 * @port_lnkcap: LNKCAP without speed and width
 * @ep_lnkcap:	the card's
 * @port_lnkctl: LNKCTL as firmware left it
 * @ep_lnkctl:	the card's
 * @port_l1ss:	L1SS Control 1 as firmware left it
 * @ep_l1ss:	the card's
 * @port_tls:	LNKCTL2; target speed 0 = @port_speed
 * @width:	lanes in LNKCAP of both ends
 * @port_lnkctl_rw: bits that take a write, 0 = stuck; in effect at once, as all below
 * @ep_lnkctl_rw: the card's
 * @port_l1ss_rw: of L1SS Control 1
 * @ep_l1ss_rw:	the card's
 * @port_tls_rw: of LNKCTL2
 * @tls_min:	the port stores no lower target speed
 * @tls_max:	nor a higher one
 * @train_speed: training reaches this speed at most
 * @train_width: training reaches this many lanes at most
 * @fail_speed:	training at this speed loses the link, 0 = none
 * @train_reads: reads of LNKSTA that show Link Training, -1 = all
 * @fail_at:	the so manieth access to slot 0, port or card, fails; counts down, 0 = none
 * @vanish_at:	before the so manieth access to slot 0 its card vanishes; counts down, 0 = none
 * @fault_from:	both count only accesses that code from this address on asked for, as the stack tells; 0 = all
 * @fault_to:	up to this address
 * @log_reads:	the record has reads too
 */
struct fakehost_knobs {
	unsigned int domain;
	unsigned int bind_delay_ms;
	bool mem;
	unsigned int slots;
	bool switched;
	bool hotplug;
	unsigned int functions;
	unsigned int ep_vendor;
	unsigned int ep_device;
	unsigned int ep_class;
	unsigned int port_speed;
	unsigned int ep_speed;
	unsigned int port_version;
	unsigned int ep_version;
	unsigned int port_lnkcap;
	unsigned int ep_lnkcap;
	unsigned int port_lnkctl;
	unsigned int ep_lnkctl;
	unsigned int port_l1ss;
	unsigned int ep_l1ss;
	unsigned int port_tls;
	unsigned int width;
	unsigned int port_lnkctl_rw;
	unsigned int ep_lnkctl_rw;
	unsigned int port_l1ss_rw;
	unsigned int ep_l1ss_rw;
	unsigned int port_tls_rw;
	unsigned int tls_min;
	unsigned int tls_max;
	unsigned int train_speed;
	unsigned int train_width;
	unsigned int fail_speed;
	int train_reads;
	unsigned int fail_at;
	unsigned int vanish_at;
	unsigned long fault_from;
	unsigned long fault_to;
	bool log_reads;
};

extern struct fakehost_knobs fakehost_knobs;

/**
 * struct fakehost_access - one entry of the record
 * @fn:		function: "port0", "ep0.1", "root", "up"
 * @reg:	register at the start of the access, "-" if it has no name here
 * @old:	value before
 * @written:	value written; for a read the value given
 * @now:	value after
 * @off:	offset in configuration space
 * @size:	bytes
 * @read:	a read
 */
struct fakehost_access {
	const char *fn, *reg;
	u32 old, written, now;
	u16 off;
	u8 size;
	bool read;
};

void fakehost_defaults(void);
int fakehost_start(void);
void fakehost_stop(void);
void fakehost_set_present(unsigned int slots);
void fakehost_lose_link(unsigned int slot);
void fakehost_set_image(const void *image, size_t size);
void fakehost_set_port_image(const void *image, size_t size);
struct pci_dev *fakehost_card(unsigned int slot, unsigned int function);
struct pci_dev *fakehost_port(unsigned int slot);
u32 fakehost_peek(unsigned int slot, bool port, const char *reg);
void fakehost_poke(unsigned int slot, bool port, const char *reg, u32 value);
void fakehost_log_clear(void);
const struct fakehost_access *fakehost_log_at(unsigned int index);

#endif
