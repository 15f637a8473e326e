# SPDX-License-Identifier: GPL-2.0-only
"""A Debian host as its installer leaves it, and what its user makes there by README.md's own lines.

The archive is a local one of exactly the packages that those lines ask for: neither a tree nor a guest has a network.
"""

import os
import pathlib
import re
import shutil
import subprocess

from debian import KEY, Apt, Missing, cache, can_namespace, digest, lock, namespace, need_space, remove, result, run, run_told, say
from tree import DEB, MASK, SOURCE, all_files, content, copy_overlay, copy_source, copy_tree, inside, make_disk, overlay_content, prune

RELEASES = {"12": "bookworm", "13": "trixie"}
USER = "miner"
HOST = ["apt", "ca-certificates", "initramfs-tools", "kmod", "less", "linux-image-amd64", "login", "passwd", "pciutils", "procps",
	"sudo", "systemd", "systemd-sysv", "tzdata", "udev", "util-linux", "zstd"]
# What may be installed there: by README.md's first line, by scripts/deps, and by our packages.
OFFERED = [*(p for p in DEB if p != "lintian"), "dkms", "fakeroot", "gcc", "git", "kmod", "linux-headers-amd64", "make", "openssl"]
ARCHIVE = "/srv/debian"
# As Debian's installer writes them, beside ARCHIVE; nothing answers there.
SOURCES = {"12": "sources.list", "13": "sources.list.d/debian.sources"}
# Of the kernel's modules those that a disk and a card need: udev would load others for QEMU's devices, seconds of boot.
TRIM = """set -e; find "$1/lib/modules/$2/kernel" -name '*.ko*' ! -path '*/kernel/drivers/pci/*' ! -path '*/kernel/drivers/nvme/*' \\
	! -path '*/kernel/drivers/i2c/*' ! -path '*/kernel/fs/ext4/*' ! -path '*/kernel/fs/jbd2/*' ! -path '*/kernel/fs/mbcache*' \\
	! -path '*/kernel/lib/*' ! -path '*/kernel/arch/*/crypto/*' ! -path '*/kernel/crypto/*' ! -path '*/kernel/block/*' -delete
	PATH=$PATH:/usr/sbin:/sbin; depmod -b "$1" "$2"
"""
SETUP = f"""set -e
echo 'deb [trusted=yes] file:{ARCHIVE} ./' >/etc/apt/sources.list.d/local.list
apt-get -qq update
rm -f /etc/apt/sources.list
useradd -m -s /bin/bash -G sudo {USER}
echo '{USER} ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/{USER}
printf 'COMPRESS=gzip\\n' >/etc/initramfs-tools/conf.d/test
update-initramfs -u -k $1
"""


def host(debian):
	"""A fresh host of a Debian release, its own generic kernel in it: dict of path, kernel."""
	apt = Apt(RELEASES[debian])
	sources = SOURCE / "tests/fixtures/apt" / pathlib.PurePath(SOURCES[debian]).name

	def resolve():
		debs = apt.closure(["?essential", *HOST])
		kernels = [m[1] for d in debs if (m := re.fullmatch(r"linux-image-(\d\S*-amd64)", d[0]))]
		return {"kernel": kernels[0], "debs": debs, "offered": apt.closure(["?essential", *HOST, *OFFERED])}

	def build(path, found):
		can_namespace()
		if not shutil.which("mmdebstrap"):
			raise Missing("mmdebstrap is not installed (make deps installs it)")
		need_space(3000, f"a fresh Debian {debian}")
		archive = cache(f"{path.name}.archive")
		remove(archive)
		apt.repository(found["offered"], archive)
		say(f"making a fresh Debian {debian}: {len(found['debs'])} packages, some minutes")
		run_told(namespace("mmdebstrap", "--mode=root", "--variant=apt", "--include=" + ",".join(HOST), "--dpkgopt=force-unsafe-io",
				   "--skip=check/empty,output/dev", "--customize-hook=rm -f \"$1\"/etc/apt/sources.list \"$1\"/etc/apt/sources.list.d/*",
				   RELEASES[debian], path, f"deb [trusted=yes] copy:{archive} ./"), f"a fresh Debian {debian}")
		run(namespace("cp", "-rL", archive, f"{path}{ARCHIVE}"), "copying the archive")
		remove(archive)
		run(namespace("sh", "-c", TRIM, "sh", path, found["kernel"]), "kernel modules")
		run(inside(path, "sh", "-c", SETUP, "sh", found["kernel"]), f"setting up Debian {debian}")
		run(namespace("cp", "-T", sources, path / "etc/apt" / SOURCES[debian]), "copying apt's sources")

	return result(f"fresh-{debian}", [HOST, OFFERED, TRIM, SETUP, sources.read_text()], resolve, build)



def readme(head):
	"""The lines of the code block that follows this text in README.md, the placeholder in them filled in."""
	block = (SOURCE / "README.md").read_text().split(head)[1].split("```")[1]
	return block.replace("REPOSITORY", "/srv/softtape").strip().split("\n")


def as_user(lines):
	"""A shell script of root that types lines as the host's user does, who says yes to everything."""
	quoted = "\n".join(f"{line} || exit" for line in lines).replace("'", "'\\''")
	return f"yes | su - {USER} -c '{quoted}'"


REPOSITORY = f"""set -e; cd /srv/softtape; git init -q; git add -A
git -c user.name=test -c user.email=test@packages.invalid commit -q -m 'a state of the source'
chown -R {USER}: .
"""
# Debian's NVIDIA driver is what a user has already, or not; here it is the simulated one.
STAND_INS = """set -e
apt-get -y install linux-headers-amd64
cd /srv/softtape
make -s -C tests/guest KDIR=/lib/modules/$1/build
install -D -m 644 -t /tmp/out/lib/modules/$1/extra tests/guest/nvidia.ko tests/guest/nvidia-uvm.ko
make -s -C tests/fake install DESTDIR=/tmp/out
"""


def made(debian):
	"""(fresh host, folder): the packages made on such a host by README.md's lines in the folder's deb/, the stand-ins of the
	NVIDIA driver in driver/, and what all of it said in log."""
	base = host(debian)
	*lines, _ = readme("**As Debian packages**")
	names = [n for n in all_files() if not n.startswith("tests/") or n.split("/")[1] in ("guest", "fake")]
	path = cache(f"made-{debian}-{digest(base['path'], lines, STAND_INS, content(SOURCE, names))}")
	with lock(f"made-{debian}"):
		if not path.exists():
			need_space(3000, "a Debian host to build on")
			say(f"making the packages on a fresh Debian {debian}, a minute or two")
			tmp, work = cache(f"made-{debian}-tmp"), cache(f"made-{debian}-host")
			remove(tmp)
			tmp.mkdir()
			copy_tree(base["path"], work)
			copy_source(work, all_files(), "srv/softtape")
			with open(tmp / "log", "w") as log:
				for script in (as_user(lines[:1]), REPOSITORY, as_user(lines[1:]), STAND_INS):
					log.write(f"+ {script}\n")
					log.flush()
					ret = subprocess.run(inside(work, "sh", "-c", script, "sh", base["kernel"]), stdin=subprocess.DEVNULL,
							     stdout=log, stderr=log)
					if ret.returncode:
						tail = (tmp / "log").read_text().splitlines()[-15:]
						raise RuntimeError(f"on a fresh Debian {debian}: {script}\n" + "\n".join(tail))
			run(["cp", "-r", f"{work}/home/{USER}/softtape/build/deb", tmp / "deb"], "copying the packages")
			run(["cp", "-r", f"{work}/tmp/out", tmp / "driver"], "copying the stand-ins")
			remove(work)
			tmp.rename(path)
		os.utime(path)
		prune(f"made-{debian}-{KEY}", path, 1)
	return base, path


FINISH = """set -e
tree=$(getent passwd $2 | cut -d: -f6)/softtape
mkdir -p $tree/build
mv /srv/deb $tree/build/deb
chown -R $2: $tree
depmod $1
ldconfig
shift 2
for unit; do ln -sf /dev/null /etc/systemd/system/$unit; done
mkdir -p /etc/systemd/journald.conf.d
printf '[Journal]\\nStorage=volatile\\n' >/etc/systemd/journald.conf.d/guest.conf
echo rig01 >/etc/hostname
printf '127.0.0.1 localhost\\n127.0.1.1 rig01\\n' >/etc/hosts
rm -f /etc/machine-id
systemd-machine-id-setup
touch /etc/.updated /var/.updated
"""


def image(debian, overlay):
	"""A fresh host's disk with the built packages in its user's folder and the simulated driver in place.

	Returns a dict: path, release, vmlinuz, initrd.
	"""
	base, built = made(debian)
	path = cache(f"fresh-image-{debian}-{digest(str(built), FINISH, MASK, overlay_content(overlay))}.ext4")
	with lock(f"fresh-image-{debian}"):
		if not path.exists():
			need_space(4000, "the guest's disk")
			say(f"making the disk of a fresh Debian {debian}")
			tmp, new = cache(f"fresh-image-{debian}-tmp"), cache(f"fresh-image-{debian}-tmp.ext4")
			copy_tree(base["path"], tmp)
			run(namespace("cp", "-r", built / "deb", tmp / "srv/deb"), "copying the packages")
			run(namespace("sh", "-c", 'tar -C "$1" --owner=0 --group=0 -c . | tar -C "$2" -x --keep-directory-symlink', "sh",
				      built / "driver", tmp), "copying the stand-ins")
			run(inside(tmp, "sh", "-c", FINISH, "sh", base["kernel"], USER, *MASK), "finishing the guest")
			copy_overlay(overlay, tmp)
			make_disk(tmp, new, "4G")
			remove(tmp)
			new.rename(path)
		os.utime(path)
		prune(f"fresh-image-{debian}-{KEY}.ext4", path, 1)
	boot = f"{base['path']}/boot"
	return {"path": str(path), "release": base["kernel"], "vmlinuz": f"{boot}/vmlinuz-{base['kernel']}",
		"initrd": f"{boot}/initrd.img-{base['kernel']}"}
