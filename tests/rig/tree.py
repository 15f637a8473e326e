# SPDX-License-Identifier: GPL-2.0-only
"""Debian trees with DKMS in them, and the guest's disk image with the current source tree installed in it."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

from debian import (KEY, Apt, Missing, cache, can_namespace, digest, lock, namespace, need_space,
		    remove, result, run, run_told, say)
from machine import headers, image_debs

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = ["dkms", "make", "gcc", "libc6-dev", "kmod", "procps"]
GUEST = ["openssl", "systemd", "systemd-sysv", "udev", "pciutils", "util-linux", "pkg-config",
	 "libudev-dev", "libkmod-dev", "libjson-c-dev", "libsmartcols-dev", "libinih-dev", "libsystemd-dev", "scdoc", "mokutil"]
# What our packages depend on, and what a host has anyway.
HOST = ["pahole", "libinih1", "libjson-c5", "libkmod2", "libsmartcols1", "libsystemd0", "libudev1", "systemd", "udev",
	"initramfs-tools", "linux-base"]
# What builds and judges our packages.
DEB = ["build-essential", "debhelper", "dh-dkms", "dpkg-dev", "lintian", "scdoc", "pkg-config", "libudev-dev", "libkmod-dev", "libjson-c-dev",
       "libsmartcols-dev", "libinih-dev", "libsystemd-dev"]
# name: (release, series of the kernel and headers in it, packages)
TREES = {
	"guest": ("bookworm", "6.1", BUILD + ["pahole"] + GUEST),
	"trixie": ("trixie", "7", BUILD + ["pahole"]),
	"bullseye": ("bullseye", "5.10", BUILD),
	"fleet": ("bookworm", "6.1", ["libinih1", "libjson-c5", "libkmod2", "libsmartcols1", "libsystemd0", "libudev1", "iproute2", "hostname", "mount",
		  "slurmctld", "slurmd", "slurm-client", "munge", "prometheus", "prometheus-node-exporter", "curl"]),
	"deb-12": ("bookworm", "6.1", BUILD + DEB),
	"deb-13": ("trixie", "7", BUILD + ["pahole"] + DEB),
	"clean-12": ("bookworm", "6.1", BUILD + HOST),
	"clean-13": ("trixie", "7", BUILD + HOST),
}
# Units that only cost boot time in a guest without clock, network or terminals.
MASK = """apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service
	fstrim.timer getty.target getty@.service serial-getty@.service systemd-random-seed.service
	systemd-timesyncd.service systemd-networkd.service systemd-resolved.service systemd-update-utmp.service
	systemd-update-utmp-runlevel.service systemd-user-sessions.service""".split()
ENTER = """set -e; t=$1; shift
mount -t proc proc $t/proc
mount -t tmpfs -o mode=755 dev $t/dev
for n in null zero full random urandom; do : >$t/dev/$n; mount --bind /dev/$n $t/dev/$n; done
ln -s /proc/self/fd $t/dev/fd
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/ LC_ALL=C chroot $t "$@"
"""

# Of the stock modules only what a card's driver may need, and the firmware's variables: udev would load others for QEMU's
# devices, seconds of boot.
STOCK_MODULES = """set -e; find "$1/lib/modules/$2" -name '*.ko*' ! -path '*/drivers/pci/*' ! -path '*/vfio/*' ! -path '*/virt/lib/*' ! -path '*/efivarfs/*' -delete
	PATH=$PATH:/usr/sbin:/sbin; depmod -b "$1" "$2"
"""


def inside(tree, *argv):
	"""argv that runs @argv in a tree: proc, a small /dev, no network, no way to load a module here."""
	return namespace("sh", "-c", ENTER, "sh", tree, *argv)


def unpack_over(debs, path):
	"""Unpack packages over a tree without installing them; lib may be a link there."""
	for deb in debs:
		run(namespace("sh", "-c", 'dpkg-deb --fsys-tarfile "$1" | tar -C "$2" -x --keep-directory-symlink',
			      "sh", deb, path), f"unpacking {deb.name}")


def tree(name):
	"""A cached Debian tree (see TREES): dict of path, kernel (its release)."""
	release, series, packages = TREES[name]
	apt = Apt(release)

	def resolve():
		rel, _ = headers(series)
		debs = apt.closure(["?essential", "apt", *packages, f"linux-headers-{rel}"])
		return {"kernel": rel, "debs": debs, "image": image_debs(apt, series, rel)}

	def build(path, found):
		can_namespace()
		if not shutil.which("mmdebstrap"):
			raise Missing("mmdebstrap is not installed (make deps installs it)")
		need_space(1500, f"the {name} tree")
		repo = pathlib.Path(f"{path}.repo")
		remove(repo)
		apt.repository(found["debs"], repo)
		say(f"making the {name} tree: {len(found['debs'])} packages, a few minutes")
		run_told(namespace(
			"mmdebstrap", "--mode=root", "--variant=apt",
			"--include=" + ",".join([*packages, f"linux-headers-{found['kernel']}"]),
			"--dpkgopt=force-unsafe-io", "--dpkgopt=path-exclude=/usr/share/doc/*",
			"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
			"--skip=check/empty,output/dev",
			"--customize-hook=rm -f \"$1\"/etc/apt/sources.list \"$1\"/etc/apt/sources.list.d/*",
			release, path, f"deb [trusted=yes] copy:{repo} ./"), f"the {name} tree")
		remove(repo)
		unpack_over(apt.fetch(found["image"]), path)
		run(namespace("sh", "-c", STOCK_MODULES, "sh", path, found["kernel"]), "kernel modules")

	return result(f"tree-{name}", [TREES[name], STOCK_MODULES], resolve, build)


def check_room():
	"""Refuse before anything is downloaded when the disk cannot hold what the machine still needs."""
	sizes = {"qemu": 300, "tree-guest": 1300, "installed": 700, "image": 400}
	missing = [n for n in sizes if not list(cache("x").parent.glob(f"{n}-{KEY}*"))]
	if missing:
		need_space(sum(sizes[n] for n in missing), "the virtual machine")


def all_files():
	"""Files of the source tree that are or could be in git, relative paths."""
	git = ["git", "-c", f"safe.directory={SOURCE}", "-C", SOURCE, "ls-files", "-z", "-co", "--exclude-standard"]
	if (SOURCE / ".git").exists() and shutil.which("git"):
		names = run(git, "listing the source tree").split("\0")
	else:
		names = [str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*")]
	return sorted(n for n in names if n and not n.startswith("build/") and (SOURCE / n).is_file())


def source_files():
	"""Files of the source tree that decide what is in the guest, relative paths."""
	def counts(name):
		top, *rest = name.split("/")
		if top == "tests":
			return rest and rest[0] in ("guest", "fake")
		return top not in (".ci", ".git", "build", "debian", "examples", ".gitignore") and not top.endswith(".md")
	return [n for n in all_files() if counts(n)]


def content(base, names):
	"""Key over names, modes and contents of files below @base."""
	out = []
	for name in names:
		path = base / name
		what = os.readlink(path) if path.is_symlink() else path.read_bytes().hex()
		out.append([name, stat.S_IMODE(path.lstat().st_mode) & 0o111, what])
	return digest(out)


def copy_tree(source, path):
	"""A copy of a tree with all its owners, in place of whatever is at @path."""
	remove(path)
	run(namespace("cp", "-a", "--reflink=auto", source, path), "copying a tree")


def copy_source(path, names=None, to="usr/local/src/softtape"):
	"""The current source tree, or @names of it, as a person would clone it, to a folder of the tree @path."""
	with tempfile.NamedTemporaryFile("w") as f:
		f.write("\0".join(names or source_files()))
		f.flush()
		run(namespace("sh", "-c", """mkdir -p "$3" && tar -C "$1" --null -T "$2" --owner=0 --group=0 -c | tar -C "$3" -x""",
			      "sh", SOURCE, f.name, f"{path}/{to}"), "copying the source tree")


INSTALL = """set -e
cd /usr/local/src/softtape
make install || { cat /var/lib/dkms/softtape/*/build/make.log; exit 1; }
make -s -C tests/guest KDIR=/lib/modules/$1/build
install -D -m 644 -t /lib/modules/$1/extra tests/guest/*.ko
make -s -C tests/fake install
"""
FINISH = """
rm -rf /usr/local/src/softtape
ldconfig
depmod $1
shift
for unit; do ln -sf /dev/null /etc/systemd/system/$unit; done
mkdir -p /etc/systemd/journald.conf.d
printf '[Journal]\\nStorage=volatile\\n' >/etc/systemd/journald.conf.d/guest.conf
echo guest >/etc/hostname
echo 00000000000000000000000000000001 >/etc/machine-id
rm -rf /var/cache/apt /var/lib/apt/lists/* /var/log/*
touch /etc/.updated /var/.updated
"""


def prune(pattern, keep, nr):
	"""Keep @keep and the @nr most recently used results that match @pattern, delete the others."""
	old = sorted(cache("x").parent.glob(pattern), key=lambda p: -p.stat().st_mtime)
	for path in [p for p in old if p != keep][nr:]:
		remove(path)


def installed(bare=False):
	"""The guest's tree with its kernel's modules, softtape and the stand-ins installed."""
	base = tree("guest")
	script = "set -e\n" + FINISH if bare else INSTALL + FINISH
	key = digest(base["path"], script, MASK, "" if bare else content(SOURCE, source_files()))
	path = cache(f"installed-{key}")
	with lock("installed"):
		if not path.exists():
			can_namespace()
			need_space(1000, "the guest's tree")
			say("making a fresh guest tree" + ("" if bare else ": make install with DKMS, stand-ins"))
			tmp = cache("installed-tmp")
			copy_tree(base["path"], tmp)
			copy_source(tmp)
			log = cache("installed.log")
			with open(log, "w") as f:
				ret = subprocess.run(inside(tmp, "sh", "-c", script, "sh", base["kernel"], *MASK),
						     stdin=subprocess.DEVNULL, stdout=f, stderr=f)
			if ret.returncode:
				tail = log.read_text().splitlines()[-15:]
				raise RuntimeError(f"installing into the guest failed, see {log}\n" + "\n".join(tail))
			tmp.rename(path)
		os.utime(path)
		prune(f"installed-{KEY}", path, 2)
	return path, base


def overlay_content(overlay):
	"""What a folder that is mirrored onto / has, for a key."""
	folder = pathlib.Path(overlay)
	return content(folder, sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_symlink() or p.is_file()))


def copy_overlay(overlay, path):
	"""The files of a folder onto a tree, owner root, in place of what is there."""
	run(namespace("cp", "-rdT", "--remove-destination", "--preserve=mode", overlay, path), "copying the overlay")


def make_disk(path, disk, size):
	"""An ext4 file system, sparse, of what is in a tree."""
	remove(disk)
	run(namespace("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", path, "-E", "root_owner=0:0", disk, size), "mke2fs")


def image(overlay=None, bare=False):
	"""The guest's disk (ext4, sparse; root on it, to be used with snapshot=on).

	@overlay: a folder mirrored onto /, owner root; @bare: without softtape. Returns a dict: path, release, vmlinuz.
	"""
	check_room()
	source, base = installed(bare)
	path = cache(f"image-{digest(str(source), overlay_content(overlay) if overlay else '')}.ext4")
	with lock("image"):
		if not path.exists():
			need_space(2000, "the guest's disk")
			say("making the guest's disk")
			tmp, disk = cache("image-tmp"), cache("image-tmp.ext4")
			remove(tmp)
			# Links, as nothing below is written in place; what only a build needs stays out.
			run(namespace("sh", "-c", """cp -al "$1" "$2" && cd "$2" &&
				rm -rf usr/src/linux-* usr/lib/gcc usr/include usr/bin/*-lto-dump-*""", "sh", source, tmp), "copying a tree")
			if overlay:
				copy_overlay(overlay, tmp)
			make_disk(tmp, disk, "1500M")
			remove(tmp)
			disk.rename(path)
		os.utime(path)
		prune(f"image-{KEY}.ext4", path, 3)
	return {"path": str(path), "release": base["kernel"], "vmlinuz": f"{base['path']}/boot/vmlinuz-{base['kernel']}"}


if __name__ == "__main__":
	try:
		print(image(bare="--bare" in sys.argv[1:])["path"])
	except (Missing, RuntimeError) as e:
		sys.exit(f"{sys.argv[0]}: {e}")
