# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages for the test rig: the user cache, an apt of our own, downloads, unpacking.

The mirror, its proxies and its keys come from the machine's own apt configuration; the lists
and the packages live under the user cache and the system's are never touched.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LISTS_AGE = 24 * 3600		# lists are refreshed at most once a day
RESULT_AGE = 7 * 24 * 3600	# what was resolved and built is used as it is for a week
UNUSED_AGE = 30 * 24 * 3600	# what nothing asked for in that time is deleted
KEY = "[0-9a-f]" * 16		# glob of what digest() gives
# A person's PATH may lack what builds trees: depmod, mke2fs, chroot, setpriv.
os.environ["PATH"] += ":/usr/sbin:/sbin"
SUITES = {
	"bullseye": ["bullseye", "bullseye-security"],
	"bookworm": ["bookworm", "bookworm-security", "bookworm-backports"],
	"trixie": ["trixie", "trixie-security", "trixie-backports"],
	"sid": ["sid"],
}


class Missing(Exception):
	"""Something this machine cannot give (network, disk, namespaces): one line for a person."""


class Gone(Missing):
	"""A package could not be downloaded; with newer lists another version may be."""

	def __init__(self, apt, why):
		super().__init__(f"cannot download: {why}")
		self.apt = apt


def say(text):
	"""Progress for a person; stdout belongs to the results."""
	print(f"rig: {text}", file=sys.stderr, flush=True)


def cache(*parts):
	"""Path below the user cache; the folder that holds it is made."""
	base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
	path = pathlib.Path(base, "softtape", *parts)
	path.parent.mkdir(parents=True, exist_ok=True)
	return path


def need_space(mib, what):
	"""Refuse before anything starts when the cache's disk cannot hold @mib more."""
	cache("x")
	free = shutil.disk_usage(cache()).free >> 20
	if free < mib:
		raise Missing(f"{what} needs {mib} MB free in {cache()}, there are {free} MB")


def digest(*values):
	"""Short key over any plain values."""
	return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def run(argv, what, **kw):
	"""Run a command quietly; when it fails its last lines are the reason."""
	ret = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, text=True,
			     stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
	if ret.returncode:
		tail = (ret.stderr.strip() or ret.stdout.strip()).splitlines()[-12:]
		raise RuntimeError(f"{what}: {argv[0]} ended with {ret.returncode}\n" + "\n".join(tail))
	return ret.stdout


def run_told(argv, what):
	"""Like run(), but shows mmdebstrap's own milestones while it works."""
	with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
			      text=True, errors="replace") as proc:
		lines = []
		for line in proc.stderr:
			lines.append(line)
			if line.startswith("I: ") and line.endswith("...\n"):
				say("  " + line[3:-4])
	if proc.returncode:
		raise RuntimeError(f"{what} ended with {proc.returncode}\n" + "".join(lines[-12:]))


@contextlib.contextmanager
def lock(name):
	"""One builder at a time for each name, also between checkouts."""
	with open(cache("lock", name), "w") as f:
		try:
			fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
		except BlockingIOError:
			say(f"waiting for another run that builds {name}")
			fcntl.flock(f, fcntl.LOCK_EX)
		yield


def result(name, recipe, resolve, build):
	"""A cached result: {"path": ...} and whatever @resolve found.

	@recipe: plain values that decide what is built; @resolve() asks the archive and returns a
	dict, which with the recipe is the key; @build(path, dict) makes the folder or file. Within
	a week the last answer to the same recipe is used without asking anybody.
	"""
	recipe = digest(recipe)
	note = cache("notes", f"{name}-{recipe}.json")
	with lock(f"{name}-{recipe}"):
		last = json.loads(note.read_text()) if note.exists() else None
		if last and not os.path.exists(last["path"]):
			last = None
		if last and time.time() - last["time"] < RESULT_AGE:
			os.utime(note)
			return last
		try:
			now = make(name, recipe, resolve, build)
		except Missing as e:
			if not last:
				raise
			say(f"{e}; using what is cached for {name}")
			return last
		if last and last["path"] != now["path"]:
			remove(last["path"])
		now.update(time=time.time())
		note.write_text(json.dumps(now))
	forget_old()
	return now


def forget_old():
	"""Delete results that nothing has asked for in a month, such as those of an older source tree."""
	for note in cache("notes", "x").parent.glob(f"*-{KEY}.json"):
		if time.time() - note.stat().st_mtime > UNUSED_AGE:
			remove(json.loads(note.read_text())["path"])
			note.unlink()


def make(name, recipe, resolve, build):
	"""Resolve and build for result(); once more with fresh lists when a listed package is gone."""
	try:
		return make_once(name, recipe, resolve, build)
	except Gone as e:
		e.apt.update(age=0)
		return make_once(name, recipe, resolve, build)


def make_once(name, recipe, resolve, build):
	now = resolve()
	path = cache(f"{name}-{digest(recipe, now)}")
	if not path.exists():
		tmp = cache(f"{name}-{recipe}-tmp")
		remove(tmp)
		build(tmp, now)
		tmp.rename(path)
	return {**now, "path": str(path)}


def namespace(*argv):
	"""argv in private mount, pid and (empty) network namespaces, as root there.

	An ordinary user becomes root of a user namespace; a real root loses the right to load
	modules, so that nothing run in a guest's tree can reach this machine's kernel.
	"""
	pre = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net"]
	if os.geteuid():
		pre += ["--user", "--map-root-user", "--map-auto"]
	else:
		pre += ["setpriv", "--bounding-set=-sys_module,-sys_boot", "--inh-caps=-sys_module,-sys_boot"]
	return pre + [str(a) for a in argv]


def can_namespace():
	"""Raise Missing unless trees with several owners can be made here."""
	ret = subprocess.run(namespace("sh", "-c", "mount -t tmpfs none /mnt && chown 1:1 /mnt"),
			     stdin=subprocess.DEVNULL, capture_output=True, text=True)
	if ret.returncode:
		why = (ret.stderr.strip().splitlines() or ["no reason given"])[-1]
		raise Missing(f"no namespaces for a guest tree (root, or uidmap and user namespaces, are needed): {why}")


def remove(path):
	"""Delete a file or a tree, whoever owns what is in it."""
	if not os.path.lexists(path):
		return
	try:
		shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
	except PermissionError:
		run(namespace("rm", "-rf", path), f"removing {path}")


def mirrors():
	"""(mirror, security mirror or None) of Debian, from apt's own configuration."""
	forced = os.environ.get("SOFTTAPE_DEBIAN_MIRROR")
	if forced:
		return forced, None
	out = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
		   "Created-By: Packages"], "reading apt's configuration")
	names = "|".join(list(SUITES) + ["forky", "stable", "oldstable", "testing", "unstable"])
	main = sec = None
	for line in out.splitlines():
		uri, suite, component = line.split()[:3]
		if component != "main":
			continue
		if re.fullmatch(names, suite):
			main = main or uri
		elif re.fullmatch(f"(?:{names})-security", suite):
			sec = sec or uri
	if not main:
		raise Missing("apt's configuration here names no Debian mirror (SOFTTAPE_DEBIAN_MIRROR=URL sets one)")
	return main, sec


class Apt:
	"""An apt that knows one Debian release (with its security and backports) and no installed package."""

	unreachable = set()	# releases whose mirror gave no answer to this process

	def __init__(self, release):
		self.release = release
		self.dir = cache("apt", release)
		self.conf = self.dir / "apt.conf"

	def setup(self):
		main, sec = mirrors()
		for sub in ("lists/partial", "archives/partial", "empty.d"):
			(self.dir / sub).mkdir(parents=True, exist_ok=True)
		(self.dir / "status").touch()
		by = f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
		uris = [(sec if s.endswith("-security") else main, s) for s in SUITES[self.release]]
		(self.dir / "sources.list").write_text(
			"".join(f"deb {by}{uri} {s} main\n" for uri, s in uris if uri))
		self.conf.write_text("".join(f'{k} "{v}";\n' for k, v in {
			"Dir::State": self.dir, "Dir::State::lists": self.dir / "lists",
			"Dir::State::status": self.dir / "status", "Dir::Cache": self.dir,
			"Dir::Cache::archives": self.dir / "archives",
			"Dir::Etc::sourcelist": self.dir / "sources.list",
			"Dir::Etc::sourceparts": self.dir / "empty.d",
			"Dir::Etc::preferences": self.dir / "none",
			"Dir::Etc::preferencesparts": self.dir / "empty.d",
			"Dir::Cache::pkgcache": self.dir / "pkgcache.bin", "APT::Default-Release": "",
			"APT::Sandbox::User": "root", "APT::Architecture": "amd64",
			"APT::Install-Recommends": "false", "Acquire::Languages": "none",
			"Acquire::Retries": "3", "Acquire::http::Timeout": "30", "Acquire::https::Timeout": "30",
		}.items()) + "#clear APT::Architectures;\n#clear APT::Update;\n#clear DPkg::Post-Invoke;\n")

	def run(self, *args, **kw):
		tool, *args = args
		return run([tool, "-c", self.conf, "-qq", *args], f"apt for {self.release}",
			   env={**os.environ, "LC_ALL": "C"}, **kw)

	def update(self, age=LISTS_AGE):
		"""Fresh lists, or old ones when the mirror cannot be reached."""
		stamp = self.dir / "updated"
		with lock(f"apt-{self.release}"):
			if stamp.exists() and time.time() - stamp.stat().st_mtime < age:
				return
			if self.release in self.unreachable and stamp.exists():
				return
			need_space(300, "the package lists")
			self.setup()
			say(f"reading the package lists of {self.release}")
			try:
				self.run("apt-get", "update", "-o", "APT::Update::Error-Mode=any")
			except RuntimeError as e:
				self.unreachable.add(self.release)
				if not stamp.exists():
					raise Missing(f"no package lists of {self.release}: {self.reason(e)}") from None
				say(f"no new package lists, using those of {time.ctime(stamp.stat().st_mtime)}: {self.reason(e)}")
				return
			stamp.touch()

	@staticmethod
	def reason(error):
		"""The line of apt's complaint that says most."""
		lines = str(error).splitlines()
		return next((line for line in lines if "Failed to fetch" in line or "Unable to" in line), lines[-1])

	def closure(self, packages, suite=None):
		"""[(name, version, file, size)] of @packages and all they depend on, newest there is."""
		self.update()
		out = self.run("apt-get", "install", "--print-uris", "-y", *(["-t", suite] if suite else []), *packages)
		found = re.findall(r"^'[^']+' (\S+) (\d+)", out, re.M)
		if not found:
			raise RuntimeError(f"apt for {self.release}: nothing found for {' '.join(packages)}")
		debs = []
		for file, size in found:
			name, version, _ = file.rsplit("_", 2)
			debs.append([name, version.replace("%3a", ":"), file, int(size)])
		return sorted(debs)

	def fetch(self, debs):
		"""Have every file of closure() in the cache, return their paths in that order."""
		store = cache("debs", "x").parent
		want = [d for d in debs if not (store / d[2]).exists()]
		if want:
			mib = (sum(d[3] for d in want) >> 20) + 1
			need_space(mib + 100, "the download")
			say(f"downloading {len(want)} packages, {mib} MB")
			partial = cache("debs-partial", str(os.getpid()), "x").parent
			try:
				self.run("apt-get", "download", *(f"{d[0]}={d[1]}" for d in want), cwd=partial)
				for d in want:
					os.replace(partial / d[2], store / d[2])
			except (RuntimeError, FileNotFoundError) as e:
				raise Gone(self, self.reason(e)) from None
			finally:
				shutil.rmtree(partial)
		for d in debs:
			os.utime(store / d[2])
		for old in store.iterdir():
			if time.time() - old.stat().st_mtime > UNUSED_AGE:
				old.unlink(missing_ok=True)
		return [store / d[2] for d in debs]

	def repository(self, debs, path):
		"""Make @path a local repository of exactly these packages, for mmdebstrap."""
		files = self.fetch(debs)
		path.mkdir()
		text = self.run("apt-cache", "show", *(f"{d[0]}={d[1]}" for d in debs))
		at = {(d[0], d[1]): f for d, f in zip(debs, files)}
		index = []
		for stanza in filter(None, text.split("\n\n")):
			key = tuple(re.search(rf"^{k}: (\S+)", stanza, re.M)[1] for k in ("Package", "Version"))
			os.symlink(at[key], path / at[key].name)
			index.append(re.sub(r"^Filename: .*", f"Filename: ./{at[key].name}", stanza, flags=re.M))
		(path / "Packages").write_text("\n\n".join(index) + "\n")
