/* SPDX-License-Identifier: GPL-2.0-only */
/* What the user configured: /etc/softtape.conf for the helper, the module's parameters for plans. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "../kmod/softtape.h"

#define SETTINGS_FILE	"/etc/softtape.conf"

/* X(enumerator, word): what to do when a card is plugged, default first. */
#define ON_PLUGS(X)				\
	X(ON_PLUG_QUICK,	"quick")	\
	X(ON_PLUG_STANDARD,	"standard")	\
	X(ON_PLUG_BIND_ONLY,	"bind-only")	\
	X(ON_PLUG_OFF,		"off")

enum on_plug {
#define X(id, word) id,
	ON_PLUGS(X)
#undef X
};

/**
 * struct settings - the configuration file as values
 * @on_plug:		what `check --on-plug` does
 * @max_parallel:	cards tested at once by everybody together; 0 = quick: all, other levels: 4
 * @driver_wait_s:	how long to wait for the driver, 0 to 3600
 * @expected_cards:	how many cards there must be, -1 = not said
 */
struct settings {
	enum on_plug on_plug;
	unsigned int max_parallel;
	unsigned int driver_wait_s;
	int expected_cards;
};

int settings_read(const char *file, struct settings *ret_settings, char *error, size_t size);
bool settings_policy(struct softtape_policy *ret_policy);

#endif
