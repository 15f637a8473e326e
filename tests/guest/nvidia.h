/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two halves of the simulated NVIDIA driver share. */
#ifndef GUEST_NVIDIA_H
#define GUEST_NVIDIA_H

struct class;

#ifndef SIM_VERSION
#define SIM_VERSION "550.163.01"
#endif

/* Device nodes of both modules, made by devtmpfs with mode 0666. */
extern struct class nvidia_class;

#endif
