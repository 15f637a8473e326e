/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The script of the simulated NVIDIA libraries: what they say of the card and what goes wrong, for tests and the demo.
 *
 * It is read from /etc/softtape-fake.conf and then from SOFTTAPE_FAKE; a later word wins, faults and actions add up.
 * Words are separated by blanks, line ends or ";", a line that starts with # is a comment. A word that nobody
 * understands ends the process, so that a test with a slip in it does not pass.
 *
 *	NAME=code:N[@K]		entry point NAME (cuInit, nvmlInit_v2, ...) returns N, from its Kth call on (1)
 *	NAME=delay:MS[@K]	works, but later
 *	NAME=exit:N[@K]		ends the process
 *	NAME=signal:N[@K]	raises a signal
 *	NAME=hang[@K]		never returns; SIGTERM ends it
 *	NAME=hang-hard[@K]	never returns; only SIGKILL ends it
 *	NAME=spin[@K]		never returns and keeps a processor busy
 *	NAME=block:FILE[@K]	opens FILE for writing: state D when its file system is frozen
 *	NAME=lost:FILE[@K]	the card leaves the bus: FILE (its config space) reads all ones, every later call fails with 999
 *	force=1			pretend without the nvidia driver (also SOFTTAPE_FAKE_FORCE=1)
 *	driver=12040		what cuDriverGetVersion says
 *	vram=MIB		size of the device memory (32: small, for emulated machines)
 *	compute=61 sm=15	capability (default: what kmod/card_list.h says of the card's id, else 61) and multiprocessors
 *	name=TEXT		device name, "_" stands for a blank
 *	memclock=KHZ bus=BITS	of the memory: 5005000 and 256 are 320 GB/s
 *	bandwidth=MBS		what sweeps reach, 256000
 *	fma=PERCENT		rate of fused multiply-adds (100)
 *	link=MBS		copy rate; default: what the card's link in sysfs carries, else 840 (Gen1 x4)
 *	uneven=N		every Nth copy of a window takes four times as long
 *	alias=MIB		memory from there on is the memory from 0 on
 *	stuck=BYTE:BIT:VALUE	a bit of device memory always reads VALUE
 *	flip=BYTE:BIT		the first store of a kernel to that byte leaves the bit turned over
 *	garble=BYTE		half of the bits of that word are turned over by every store
 *	misread=BYTE:BIT:N	the Nth check of that byte sees the bit turned over once
 *	decay=BYTE:BIT:MS	the bit turns over when memory was left alone for so long
 *	mismove=BYTE:BIT	the bit turns over when a move stores that byte
 *	h2d=WORD		turns bit 0 of that word of every copy to the device of more than 64 KiB
 *	d2h=WORD		the same on the way back
 *	known=WORD		turns bit 0 of that word of what known_answer computed
 *	smfault=SM:UNIT		that multiprocessor computes wrongly; 0 integer, 1 fma, 2 mul+add, 3 dp4a
 *	smhole=SM		that multiprocessor never runs anything
 *	temp=C power=MW fan=PERCENT smclock=MHZ memmhz=MHZ throttle=MASK replay=N
 *				what NVML says; -1 = NOT_SUPPORTED; replay rises by N in each millisecond
 *
 * BYTE is an offset in the device memory, as it comes out of the allocations: the first 64 KiB are scratch.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#define SCRIPT_FAULTS_MAX	8

/**
 * struct script_fault - one word with numbers
 * @at, @bit, @value:	what stands between the colons
 * @used:	for the library: how often it struck
 */
struct script_fault {
	uint64_t at;
	unsigned int bit;
	unsigned int value;
	unsigned int used;
};

struct script_faults {
	struct script_fault item[SCRIPT_FAULTS_MAX];
	unsigned int nr;
};

/* Numbers: X(word, value without it). */
#define SCRIPT_NUMBERS(X)		\
	X(driver, 12040)		\
	X(vram, 32)			\
	X(compute, 0)			\
	X(sm, 15)			\
	X(memclock, 5005000)		\
	X(bus, 256)			\
	X(bandwidth, 256000)		\
	X(fma, 100)			\
	X(link, 0)			\
	X(uneven, 0)			\
	X(alias, 0)			\
	X(smhole, -1)			\
	X(temp, 45)			\
	X(power, 9000)		\
	X(fan, 30)			\
	X(smclock, 1607)		\
	X(memmhz, 5005)			\
	X(throttle, 0)			\
	X(replay, 0)

#define SCRIPT_FAULTS(X)	\
	X(stuck)		\
	X(flip)			\
	X(garble)		\
	X(misread)		\
	X(decay)		\
	X(mismove)		\
	X(h2d)			\
	X(d2h)			\
	X(known)		\
	X(smfault)

struct script {
	bool force;
	char name[80];
#define X(word, value) long word;
	SCRIPT_NUMBERS(X)
#undef X
#define X(word) struct script_faults word;
	SCRIPT_FAULTS(X)
#undef X
};

extern struct script script;

/* What the script says about a call; 0 = carry on. */
int script_act(const char *name);

/* First line of every entry point. */
#define SCRIPTED()					\
	do {						\
		int scripted = script_act(__func__);	\
							\
		if (scripted)				\
			return scripted;		\
	} while (0)

#endif
