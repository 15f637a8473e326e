// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tar file of texts. Knows nothing of what they say. The format is tar's own business: the texts are laid out in a
 * folder that only we can read, and the tar of the system packs it.
 */
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Any fixed date will do; tar complains about 1970. */
#define MEMBER_TIME	"--mtime=@946684800"
#define ROOT_MAX	256

static int write_file(int dir_fd, const struct archive_file *file)
{
	size_t len = strlen(file->text), done = 0;
	int fd CLEANUP_CLOSE = openat(dir_fd, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;

	while (done < len) {
		ssize_t n = write(fd, file->text + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}

	return 0;
}

static int stage(const char *root, const char *folder, const struct archive_file *file, size_t nr)
{
	int root_fd CLEANUP_CLOSE = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int dir_fd CLEANUP_CLOSE = -1;
	size_t i;
	int ret;

	if (root_fd < 0 || mkdirat(root_fd, folder, 0700))
		return -errno;
	dir_fd = openat(root_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return -errno;

	for (i = 0; i < nr; i++) {
		ret = write_file(dir_fd, &file[i]);
		if (ret)
			return ret;
	}

	return 0;
}

static void unstage(const char *root, const char *folder, const struct archive_file *file, size_t nr)
{
	char path[2 * ROOT_MAX];
	size_t i;

	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", root, folder, file[i].name);
		unlink(path);
	}

	snprintf(path, sizeof(path), "%s/%s", root, folder);
	rmdir(path);
	rmdir(root);
}

/* The same texts give the same bytes: nothing of the time, of the user or of the order of a folder gets in. */
static int spawn_tar(const char *root, const char *folder, int out_fd, pid_t *ret_pid)
{
	/* Not the caller's PATH, and not their TAR_OPTIONS. */
	static const char *const programs[] = { "/usr/bin/tar", "/bin/tar" };
	static char *const environment[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };
	char directory[ROOT_MAX + 16];
	char *const words[] = {
		"tar", "--create", "--file=-", directory, "--format=ustar", "--sort=name", MEMBER_TIME, "--owner=0", "--group=0",
		"--numeric-owner", "--mode=u=rwX,go=rX", "--", (char *)folder, NULL,
	};
	posix_spawn_file_actions_t actions;
	int ret = ENOENT;
	size_t i;

	snprintf(directory, sizeof(directory), "--directory=%s", root);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	for (i = 0; i < ARRAY_SIZE(programs) && ret == ENOENT; i++)
		ret = posix_spawn(ret_pid, programs[i], &actions, NULL, words, environment);
	posix_spawn_file_actions_destroy(&actions);
	return -ret;
}

static int run_tar(const char *root, const char *folder, int out_fd)
{
	int status, ret;
	pid_t pid;

	ret = spawn_tar(root, folder, out_fd, &pid);
	if (ret)
		return ret;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return -EIO;
	return fsync(out_fd) && errno != EINVAL ? -errno : 0;
}

/**
 * archive_write - pack texts into a new tar file
 * @path:	the file; it must not be there yet
 * @folder:	name of the folder that the members lie in
 * @file:	members
 * @nr:		how many
 *
 * Return: 0, -EEXIST when @path is there, -ENOENT when there is no tar or no place for @path, -EIO when tar failed (it
 * has said why on standard error), or another negative errno. No file is left after a failure.
 */
int archive_write(const char *path, const char *folder, const struct archive_file *file, size_t nr)
{
	const char *temp = secure_getenv("TMPDIR");
	char root[ROOT_MAX];
	int ret;
	int fd CLEANUP_CLOSE = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;

	snprintf(root, sizeof(root), "%s/softtape-XXXXXX", temp && temp[0] == '/' ? temp : "/tmp");
	if (mkdtemp(root)) {
		ret = stage(root, folder, file, nr);
		if (!ret)
			ret = run_tar(root, folder, fd);
		unstage(root, folder, file, nr);
	} else {
		ret = -errno;
	}

	if (ret)
		unlink(path);
	return ret;
}
