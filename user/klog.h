/* SPDX-License-Identifier: GPL-2.0-only */
/* The lines of the kernel log. */
#ifndef KLOG_H
#define KLOG_H

int klog_each(void (*take)(const char *line, void *data), void *data);
int klog_open_end(void);
void klog_drain(int fd, void (*take)(const char *line, void *data), void *data);

#endif
