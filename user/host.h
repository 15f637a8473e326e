/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of this machine by their absolute paths, below one root that tests put elsewhere. Knows no cards. */
#ifndef HOST_H
#define HOST_H

#include "util.h"

#define HOST_PATH_MAX	1024

const char *host_root(void);
void host_path(const char *path, char *buf, size_t size);
bool host_exists(const char *path);
int host_read(const char *path, char *buf, size_t size);
char *host_read_all(const char *path, size_t max);
int host_resolve(const char *path, char *buf, size_t size);
long long host_mtime(const char *path);
int host_each(const char *dir, int (*take)(const char *name, void *data), void *data);
void host_release(char *buf, size_t size);

#endif
