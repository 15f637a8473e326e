/* SPDX-License-Identifier: GPL-2.0-only */
/* Why has the nvidia driver not taken a card? Facts gathered at the edge, one pure decision over them. */
#ifndef BIND_H
#define BIND_H

#include "card.h"

/**
 * struct bind_facts - everything the decision rests on
 * @gone:	config space reads all ones
 * @driver:	bound driver, empty = none
 * @compute:	compute capability of the card, major * 10 + minor; 0 = not known
 * @enumerating: the card is so new that the kernel may not have placed its BARs yet
 * @bar: memory BARs without an address, as "BAR 1, BAR 3"; empty = none
 * @loaded:	a module nvidia is loaded
 * @simulated:	it says of itself that it is a stand-in
 * @installed:	libkmod finds an nvidia module for the running kernel by the card's modalias
 * @module:	name of that module's file
 * @version:	driver version, of the loaded module if there is one; empty = not known
 * @license:	its license text; empty = not known
 * @secure_boot: the firmware enforces Secure Boot
 * @lockdown:	the kernel is locked down, so that unsigned modules are refused
 * @log_rejected: kernel log line that says a module's signature was refused; empty = none
 * @log_ignored: kernel log line of a driver that ignores this card because its branch is too new; empty = none
 * @log_open:	kernel log line of the open flavour that cannot drive this card; empty = none
 * @log_bar: kernel log line that says why; empty = none
 * @log_last:	last kernel log line of the driver about this card; empty = none
 */
struct bind_facts {
	bool gone;
	char driver[CARD_WORD_MAX];
	unsigned int compute;
	bool enumerating;
	char bar[CARD_WORD_MAX];
	bool loaded;
	bool simulated;
	bool installed;
	char module[CARD_WORD_MAX];
	char version[CARD_WORD_MAX];
	char license[CARD_WORD_MAX];
	bool secure_boot;
	bool lockdown;
	char log_rejected[256];
	char log_ignored[256];
	char log_open[256];
	char log_bar[256];
	char log_last[256];
};

/**
 * enum bind - what is to be done about the driver
 * @BIND_READY:	it is bound
 * @BIND_WAIT:	it may still come
 * @BIND_NEVER:	it will not come by itself
 */
enum bind { BIND_READY, BIND_WAIT, BIND_NEVER };

enum bind bind_decide(const struct bind_facts *facts, bool waited, const char *bdf, struct finding *ret_finding);
void bind_no_space(const struct bind_facts *facts, const char *bdf, struct finding *ret_finding);
void bind_facts_read(const struct card *card, struct bind_facts *ret_facts);
void bind_firmware_read(struct bind_facts *facts);
bool bind_driver_simulated(void);
void bind_log_line(const char *line, const char *bdf, int *after_address, struct bind_facts *facts);

#endif
