/* SPDX-License-Identifier: GPL-2.0-only */
/* The exact lines that bring the NVIDIA driver to this machine. */
#ifndef APT_H
#define APT_H

#include "compat.h"
#include "stack.h"

void apt_headers_package(const char *release, char *buf, size_t size);
void apt_driver_lines(const struct stack *stack, const struct compat *compat, char *buf, size_t size);

#endif
