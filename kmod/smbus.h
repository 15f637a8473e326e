/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's SMBus controllers, while a card is present. A kernel without I2C has none. */
#ifndef SOFTTAPE_SMBUS_H
#define SOFTTAPE_SMBUS_H

#include "record.h"

#if IS_ENABLED(CONFIG_I2C)

int softtape_smbus_init(void);
void softtape_smbus_exit(void);

void softtape_smbus_card_added(void);
void softtape_smbus_card_removed(void);
void softtape_smbus_current(char *buf, size_t size);

#else

static inline int softtape_smbus_init(void)
{
	return 0;
}

static inline void softtape_smbus_exit(void)
{
}

static inline void softtape_smbus_card_added(void)
{
}

static inline void softtape_smbus_card_removed(void)
{
}

static inline void softtape_smbus_current(char *buf, size_t size)
{
	strscpy(buf, softtape_policy.smbus == SOFTTAPE_SMBUS_OFF ? "off" : "unsupported", size);
}

#endif
#endif
