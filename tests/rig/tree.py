# SPDX-License-Identifier: GPL-2.0-only
"""Debian trees with DKMS in them, and the guest's disk image with the current source tree installed in it."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

from debian import (Apt, Missing, cache, can_namespace, digest, lock, namespace, need_space,
		    remove, result, run, say)
from machine import headers, kernel

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = ["dkms", "make", "gcc", "libc6-dev", "kmod", "procps"]
GUEST = ["systemd", "systemd-sysv", "udev", "pciutils", "util-linux", "pkg-config",
	 "libudev-dev", "libkmod-dev", "libjson-c-dev", "libsmartcols-dev", "libinih-dev", "libsystemd-dev"]
# name: (release, kernel series whose headers are in it, packages)
TREES = {
	"guest": ("bookworm", "6.1", BUILD + GUEST),
	"trixie": ("trixie", "7", BUILD + ["pahole"]),
	"bullseye": ("bullseye", "5.10", BUILD),
}
MASK = ["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer",
	"e2scrub_reap.service", "fstrim.timer", "getty@tty1.service", "serial-getty@ttyS0.service",
	"systemd-timesyncd.service", "systemd-networkd.service", "systemd-resolved.service"]
ENTER = """set -e; t=$1; shift
mount -t proc proc $t/proc
mount -t tmpfs -o mode=755 dev $t/dev
for n in null zero full random urandom; do : >$t/dev/$n; mount --bind /dev/$n $t/dev/$n; done
ln -s /proc/self/fd $t/dev/fd
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C chroot $t "$@"
"""


def inside(tree, *argv):
	"""argv that runs @argv in a tree: proc, a small /dev, no network, no way to load a module here."""
	return namespace("sh", "-c", ENTER, "sh", tree, *argv)


def tree(name):
	"""A cached Debian tree (see TREES): dict of path, release and kernel (its headers' release)."""
	release, series, packages = TREES[name]
	apt = Apt(release)

	def resolve():
		rel, _ = headers(series)
		debs = apt.closure(["?essential", "apt", *packages, f"linux-headers-{rel}"])
		return {"release": release, "kernel": rel, "debs": debs}

	def build(path, found):
		can_namespace()
		if not shutil.which("mmdebstrap"):
			raise Missing("mmdebstrap is not installed (make deps installs it)")
		need_space(1500, f"the {name} tree")
		repo = pathlib.Path(f"{path}.repo")
		remove(repo)
		apt.repository(found["debs"], repo)
		say(f"making the {name} tree: {len(found['debs'])} packages, a few minutes")
		run(namespace("mmdebstrap", "--mode=root", "--variant=apt", "--quiet",
			      "--include=" + ",".join([*packages, f"linux-headers-{found['kernel']}"]),
			      "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
			      "--dpkgopt=path-exclude=/usr/share/locale/*", "--skip=check/empty,output/dev",
			      release, path, f"deb [trusted=yes] copy:{repo} ./"), f"the {name} tree")
		remove(repo)

	return result(f"tree-{name}", resolve, build)
