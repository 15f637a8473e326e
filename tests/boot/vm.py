# SPDX-License-Identifier: GPL-2.0-only
"""A Debian guest in QEMU with emulated cards in its slots.

For writers of scenarios, the whole interface in one place:

	with Vm("name", ports=2) as vm:			boots; ends every process at the end
		card = vm.plug("p104-100-riser-x1.txt")	hot-plugs into port 0; card.bdf is its address
		status, text = vm.sh("softtape list")	one command in the guest, as root
		text = vm.ok("softtape list")		the same, any status but 0 is a Failure
		job = vm.start("sleep 5; date")		in the background; job.wait() -> (status, text)
		vm.wait("test -e /run/x", 30)		polls in the guest until true
		vm.wait_line(r"softtape: ", 30)		waits for a line on the console (= kernel log)
		vm.lines(mark)				softtape's own lines since mark = vm.mark()
		card.writes(mark)			configuration writes since mark = card.mark()
		vm.unplug(0)				orderly, waits until the device is gone
		card.kill()				the card falls off the bus
		vm.suspend()				real S3 and back
		vm.reboot(), vm.poweroff()

Nothing sleeps: each wait has a condition and a deadline and raises Failure, which names
what was awaited; so does QEMU's end (a panic ends it). vm.check_splats() raises it for a kernel
warning or oops; the runner calls that at the end of each scenario.
Times are generous, as the guest is slow on a busy machine (TCG, no KVM).
"""
import base64
import functools
import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "rig"))

import secure  # noqa: E402
from machine import qemu  # noqa: E402
from tree import image  # noqa: E402

BUILD = TOP / "build" / "boot"
CASES = HERE.parent / "fixtures" / "cases"

BOOT_SECONDS = 180
COMMAND_SECONDS = 90

# What a healthy kernel never prints.
SPLAT = re.compile(r"Kernel panic|\bBUG:|\bOops\b|WARNING: (?:CPU|possible)|Call Trace|"
                   r"general protection fault|refcount_t:|kobject_add_internal failed|unregistered twice")


class Failure(Exception):
    """The guest did not do what a scenario expects."""


def expect(condition, what):
    """Raises Failure(@what) unless @condition."""
    if not condition:
        raise Failure(what)


def spawn(argv, log, **kwargs):
    """Starts a process that dies with this one."""
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *map(str, argv)], stdin=subprocess.DEVNULL,
                            stdout=log, stderr=log, **kwargs)


def end(process):
    """Ends a process that spawn() started."""
    if process.poll() is None:
        process.kill()
    process.wait()


def poll_until(check, seconds, what, interval=0.02):
    """Calls check() until it returns something true, and returns that."""
    deadline = time.monotonic() + seconds
    while True:
        got = check()
        if got:
            return got
        if time.monotonic() > deadline:
            raise Failure(f"timed out after {seconds} s: {what}")
        time.sleep(interval)


# --- the emulated card ---------------------------------------------------------------------------

@dataclass(frozen=True)
class Write:
    """One configuration write as the card saw it."""
    offset: int
    width: int
    old: int
    new: int
    now: int

    def __str__(self):
        digits = 2 * self.width
        old, new, now = (f"{value:0{digits}x}" for value in (self.old, self.new, self.now))
        return f"{self.offset:03x}.{self.width} {old} -> {new} (now {now})"


class Card:
    """One function served to QEMU; lives in a slot of a Vm."""

    def __init__(self, dump, sock, log, options=()):
        self.dump = Path(dump)
        self.log = Path(log)
        self.sock = str(sock)
        self.bdf = None
        self.port = None
        self.qdev = None
        self._options = tuple(options)
        self._err = open(self.log.with_suffix(".err"), "wb")
        self.log.touch()
        self._server = spawn([BUILD / "card", *self._options, self.dump, self.sock, self.log], self._err)
        poll_until(self._listening, 20, f"server of {self.dump.name}")

    def _listening(self):
        if self._server.poll() is not None:
            raise Failure(f"card server: {self.log.with_suffix('.err').read_text().strip()}")
        return os.path.exists(self.sock)

    def mark(self):
        """Position in the log, for writes()."""
        return self.log.stat().st_size

    def events(self, mark=0):
        """Log lines since @mark, split into words."""
        with open(self.log, encoding="ascii") as log:
            log.seek(mark)
            return [line.split() for line in log]

    def writes(self, mark=0, offset=None):
        """Configuration writes since @mark, only those that touch @offset if given."""
        found = [Write(int(e[1], 16), int(e[2]), int(e[3], 16), int(e[4], 16), int(e[5], 16))
                 for e in self.events(mark) if e[0] == "W"]
        return [w for w in found if offset is None or w.offset <= offset < w.offset + w.width]

    def kill(self):
        """The card falls off the bus: from now on reads give all ones."""
        end(self._server)
        if os.path.exists(self.sock):
            os.unlink(self.sock)

    def close(self):
        """Ends the server."""
        self.kill()
        self._err.close()


# --- QEMU's monitor and the agent in the guest ---------------------------------------------------

class Qmp:
    """QEMU's machine protocol, as much as is needed here."""

    def __init__(self, path, alive):
        self._alive = alive
        self._sock = socket.socket(socket.AF_UNIX)
        poll_until(lambda: self._try(path), 30, "QEMU's monitor")
        self._buf = b""
        self.seen = []
        self._next(30, lambda m: "QMP" in m)
        self.run("qmp_capabilities")

    def _try(self, path):
        self._alive()
        try:
            self._sock.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True

    def _read(self, seconds):
        """One message, or None after @seconds."""
        while b"\n" not in self._buf:
            if not select.select([self._sock], [], [], seconds)[0]:
                return None
            got = self._sock.recv(65536)
            if not got:
                raise Failure("QEMU closed its monitor")
            self._buf += got
        line, self._buf = self._buf.split(b"\n", 1)
        return json.loads(line)

    def _next(self, seconds, match):
        """The next message that fits; events on the way are kept."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._alive()
            message = self._read(0.2)
            if message is None:
                continue
            if "event" in message:
                self.seen.append(message)
            if match(message):
                return message
        raise Failure(f"no answer from QEMU's monitor in {seconds} s")

    def run(self, command, **arguments):
        """Runs a command and returns its result."""
        self._sock.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        answer = self._next(60, lambda m: "return" in m or "error" in m)
        if "error" in answer:
            raise Failure(f"QEMU refuses {command}: {answer['error']['desc']}")
        return answer["return"]

    def drain(self):
        """Forgets the events seen so far."""
        while self._read(0) is not None:
            pass
        self.seen.clear()

    def wait_event(self, name, seconds, match=lambda data: True):
        """Waits for an event, also one already seen since drain()."""
        def fits(message):
            return message.get("event") == name and match(message.get("data", {}))

        for message in self.seen:
            if fits(message):
                return message
        try:
            return self._next(seconds, fits)
        except Failure as failure:
            raise Failure(f"QEMU event {name} did not come: {failure}") from failure


@dataclass
class Job:
    """A command that runs in the guest."""
    agent: "Agent"
    ident: str
    seconds: float
    code: str

    def wait(self, seconds=None):
        """(exit status, output); the status is 124 or 137 if its time limit ended it."""
        return self.agent.result(self.ident, (seconds or self.seconds) + 30, self.code)


class Agent:
    """Client of the shell script `agent` in the guest."""

    def __init__(self, path, alive):
        self._alive = alive
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.connect(str(path))
        self._buf = b""
        self._results = {}
        self._count = 0

    def start(self, code, seconds):
        """Hands @code to the guest's shell."""
        self._count += 1
        ident = str(self._count)
        text = base64.b64encode(code.encode()).decode() or "-"
        self._sock.sendall(f"{ident} {seconds} {text}\n".encode())
        return Job(self, ident, seconds, code)

    def _pump(self, seconds):
        if not select.select([self._sock], [], [], seconds)[0]:
            return
        got = self._sock.recv(65536)
        if not got:
            self._alive()
            raise Failure("the agent's serial port is closed")
        self._buf += got
        *lines, self._buf = self._buf.split(b"\n")
        for line in lines:
            words = line.decode("ascii", "replace").split()
            if len(words) == 3:
                self._results[words[0]] = (words[1], words[2])

    def result(self, ident, seconds, code):
        """Waits for the result of @ident."""
        deadline = time.monotonic() + seconds
        while ident not in self._results:
            self._alive()
            if time.monotonic() > deadline:
                raise Failure(f"no answer from the guest in {seconds:.0f} s: {code.strip()[:200]}")
            self._pump(0.1)
        status, text = self._results.pop(ident)
        return int(status), "" if text == "-" else base64.b64decode(text).decode(errors="replace")

    def wait_ready(self, seconds):
        """Waits until the agent says that it runs; returns the guest's boot id."""
        deadline = time.monotonic() + seconds
        while "ready" not in self._results:
            self._alive()
            if time.monotonic() > deadline:
                raise Failure(f"the guest was not up in {seconds} s")
            self._pump(0.1)
        return self._results.pop("ready")[0]


def overlay():
    """Folder with the files that the guest has on top of what tests/rig puts into its image."""
    root = BUILD / "overlay"
    shutil.rmtree(root, ignore_errors=True)
    units = root / "etc/systemd/system"
    wants = units / "multi-user.target.wants"
    wants.mkdir(parents=True)
    shutil.copy(HERE / "agent.service", units / "test-agent.service")
    (wants / "test-agent.service").symlink_to("../test-agent.service")
    lib = root / "usr/local/lib"
    lib.mkdir(parents=True)
    shutil.copy(HERE / "agent", lib / "test-agent")
    (lib / "test-agent").chmod(0o755)
    return root


@functools.cache
def guest_image():
    """The guest's disk and kernel, made once; whatever changes in the source tree meanwhile is not in it."""
    return image(overlay=overlay())


# --- the machine ---------------------------------------------------------------------------------

@dataclass(frozen=True)
class Boot:
    """What has to be known before the machine starts; equal values may share a machine."""
    ports: int = 2
    cmdline: str = ""
    cards: tuple = ()		# (port, dump, (options of the server...)): plugged before power-on
    native: bool = False	# pciehp instead of ACPI hot-plug
    port_speed: str = "16"	# GT/s, as QEMU's x-speed
    port_width: str = "16"
    port_room: bool = True	# bridge windows that hold a card
    bar1_mib: int = 64
    iommu: bool = False		# an Intel IOMMU, switched on
    secure: bool = False	# UEFI with Secure Boot on, Debian's shim, boot loader and kernel
    memory_mib: int = 1024
    extra: tuple = ()		# more arguments of QEMU


@dataclass
class Port:
    """A slot behind a PCIe root port."""
    number: int
    devfn: int
    bus: int = 0
    cards: list = field(default_factory=list)


class Vm:
    """A running guest; use it in a `with` statement."""

    def __init__(self, name, boot=Boot(), results=None):
        self.name = name
        self.boot = boot
        self.dir = Path(results or BUILD / name)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.console_path = self.dir / "machine.log"
        self._qemu_log = self.dir / "qemu.log"
        self._slice_from = 0
        self._run = Path(tempfile.mkdtemp(prefix="softtape-vm-"))	# short: socket names are limited
        self._cards = []
        self._qemu = None
        self._ncards = 0
        self._splats_from = 0
        self.ports = [Port(i, 0x10 + i) for i in range(boot.ports)]
        self.qmp = None
        self.agent = None
        self.boot_id = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc):
        self.close()

    # -- start and end --

    def _port_args(self):
        for port in self.ports:
            spec = f"pcie-root-port,id=port{port.number},bus=pcie.0,chassis={port.number + 1},slot={port.number + 1}," \
                   f"addr={port.devfn:#x},x-speed={self.boot.port_speed},x-width={self.boot.port_width}"
            if self.boot.port_room:
                spec += f",mem-reserve=32M,pref64-reserve={4 * self.boot.bar1_mib}M,io-reserve=0"
            yield from ("-device", spec)

    def _system(self):
        """(kernel, its command line, QEMU's options for the root file system)."""
        root = guest_image()
        return root["vmlinuz"], "root=/dev/nvme0n1 rw printk.devkmsg=on systemd.show_status=0", \
            ["-drive", f"if=none,id=root,format=raw,snapshot=on,file={root['path']}",
             "-device", "nvme,serial=root,drive=root,addr=0x4"]

    def _args(self):
        kernel, cmdline, root = self._system()
        # no_timer_check: on a busy machine the timer's first ticks come too late for the kernel's test of the IO-APIC.
        cmdline += " console=ttyS0 ignore_loglevel panic=-1 oops=panic no_console_suspend tsc=unstable no_timer_check " + \
            self.boot.cmdline
        if self.boot.iommu:
            cmdline += " intel_iommu=on"
        args = [*qemu(), "-name", self.name, "-nodefaults", "-no-user-config", "-display", "none",
                "-machine", "q35", "-accel", "tcg,thread=multi", "-smp", "2", "-m", f"{self.boot.memory_mib}M",
                "-action", "reboot=shutdown", "-qmp", f"unix:{self._run}/qmp,server=on,wait=off",
                "-chardev", f"file,id=console,path={self.console_path}", "-serial", "chardev:console",
                "-chardev", f"socket,id=agent,path={self._run}/agent,server=on,wait=off", "-serial", "chardev:agent",
                *root]
        if self.boot.secure:
            args += secure.args(self._run, kernel, cmdline)
        else:
            args += ["-kernel", kernel, "-append", cmdline]
        if self.boot.iommu:
            args += ["-device", "intel-iommu,caching-mode=on"]
        if self.boot.native:
            args += ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"]
        return args + list(self._port_args()) + list(self.boot.extra)

    def _start(self):
        subprocess.run(["make", "-s", "-C", HERE, f"OUT={BUILD}"], check=True)
        args = self._args()
        for port, dump, options in self.boot.cards:
            card = self._serve(dump, port, options)
            args += ["-device", json.dumps(self._device(card, port))]
        with open(self._qemu_log, "wb") as log:
            log.write((" ".join(map(str, args)) + "\n").encode())
            log.flush()
            self._qemu = spawn(args, log)
        self.qmp = Qmp(self._run / "qmp", self.alive)
        self.agent = Agent(self._run / "agent", self.alive)
        self.boot_id = self.agent.wait_ready(BOOT_SECONDS)
        self._learn_addresses()

    def close(self):
        """Ends QEMU and the card servers."""
        if self._qemu:
            end(self._qemu)
        for card in self._cards:
            card.close()
        shutil.rmtree(self._run, ignore_errors=True)

    def move(self, results):
        """From now on logs go to another folder."""
        self.dir = Path(results)
        self._slice_from = self.mark()

    def save_console(self):
        """Leaves the console since the start, or the last move(), in the folder of the logs."""
        (self.dir / "console.log").write_text(self.console()[self._slice_from:], encoding="utf-8")

    def evidence(self):
        """After a failure: what the guest can still tell, into guest.txt in the folder of the logs."""
        try:
            _, text = self.sh("journalctl -q -b -o short-monotonic | tail -n 400; systemctl --failed; "
                              "cat /proc/modules; grep -r . /sys/bus/pci/devices/*/softtape /run/softtape; lspci -nnk", 60)
        except Failure as failure:
            text = f"the guest does not answer any more: {failure}\n"
        (self.dir / "guest.txt").write_text(text, encoding="utf-8")

    def alive(self):
        """Raises if QEMU has ended."""
        if self._qemu.poll() is None:
            return
        self.check_splats()
        tail = self._qemu_log.read_text(errors="replace").splitlines()[1:]
        raise Failure(f"QEMU ended with status {self._qemu.returncode}: {' '.join(tail[-2:])}")

    def check_splats(self):
        """Raises on a kernel warning or oops since the last call."""
        text = self.console()
        found = SPLAT.search(text, self._splats_from)
        self._splats_from = len(text)
        if found:
            line = text[text.rfind("\n", 0, found.start()) + 1:].split("\n", 1)[0]
            raise Failure(f"kernel splat: {line.strip()}")

    def _learn_addresses(self):
        """Bus numbers behind the ports, as the guest gave them."""
        text = self.ok("".join(f"cat /sys/bus/pci/devices/0000:00:{p.devfn:02x}.0/secondary_bus_number;"
                               for p in self.ports) or ":")
        for port, bus in zip(self.ports, text.split()):
            port.bus = int(bus)
        for card in self._cards:
            card.bdf = f"0000:{self.ports[card.port].bus:02x}:00.0"

    # -- cards --

    def _serve(self, dump, port, options=()):
        self._ncards += 1
        path = next(p for p in (Path(dump), CASES / dump, HERE / "cards" / dump) if p.is_absolute() and p.exists())
        card = Card(path, self._run / f"card{self._ncards}", self.dir / f"card{self._ncards}.log",
                    ["--bar1", str(self.boot.bar1_mib), *options])
        card.port = port
        card.qdev = f"card{self._ncards}"
        self._cards.append(card)
        self.ports[port].cards.append(card)
        return card

    def _device(self, card, port):
        return {"driver": "vfio-user-pci", "id": card.qdev, "bus": f"port{port}",
                "socket": {"type": "unix", "path": card.sock}}

    def plug(self, dump, port=0, options=(), seen=True):
        """Hot-plugs a card; with @seen waits until the guest has the device."""
        card = self._serve(dump, port, options)
        card.bdf = f"0000:{self.ports[port].bus:02x}:00.0"
        self.qmp.run("device_add", **self._device(card, port))
        if seen:
            self.wait(f"test -e /sys/bus/pci/devices/{card.bdf}/config", 60, f"{card.bdf} in the guest")
        return card

    def plug_two(self, dump, port=0):
        """Hot-plugs functions 0 and 1 of a dump as one card; returns both."""
        cards = [self._serve(dump, port, ["--slot", f"01:00.{function}"]) for function in (0, 1)]
        # The slot tells the guest when function 0 is there, so it comes last.
        for function in (1, 0):
            cards[function].bdf = f"0000:{self.ports[port].bus:02x}:00.{function}"
            self.qmp.run("device_add", **self._device(cards[function], port), addr=f"0.{function}", multifunction=True)
        for card in cards:
            self.wait(f"test -e /sys/bus/pci/devices/{card.bdf}/config", 60, f"{card.bdf} in the guest")
        return cards

    def unplug(self, port=0):
        """Orderly removal of everything in the slot; returns when the guest has let go."""
        cards = self.ports[port].cards
        if not cards:
            return
        self.qmp.drain()
        self.qmp.run("device_del", id=cards[0].qdev)
        for card in cards:
            self.qmp.wait_event("DEVICE_DELETED", 60, lambda data, c=card: data.get("device") == c.qdev)
            card.close()
        cards.clear()

    # -- commands and waits --

    def start(self, code, seconds=COMMAND_SECONDS):
        """Starts a command in the guest."""
        return self.agent.start(code, seconds)

    def sh(self, code, seconds=COMMAND_SECONDS):
        """Runs a command in the guest: (exit status, output)."""
        return self.start(code, seconds).wait()

    def ok(self, code, seconds=COMMAND_SECONDS):
        """Runs a command that must succeed, returns its output."""
        status, text = self.sh(code, seconds)
        expect(status == 0, f"status {status}: {code.strip()[:200]}: {text.strip()[-500:]}")
        return text

    def send(self, path, target):
        """Puts a small file of the source tree into the guest."""
        text = base64.b64encode((TOP / path).read_bytes()).decode()
        self.ok(f"echo {text} | base64 -d >{target}")

    def wait(self, condition, seconds=60, what=None):
        """Waits in the guest until the shell condition holds."""
        status, text = self.sh(f"until {{ {condition}\n}}; do sleep 0.1; done", seconds)
        expect(status == 0, f"timed out after {seconds} s: {what or condition} {text.strip()[-300:]}")

    def console(self):
        """The kernel log as it came over the serial console."""
        return self.console_path.read_text(errors="replace").replace("\r", "")

    def mark(self):
        """Position in the console, for lines() and wait_line()."""
        return len(self.console())

    def lines(self, mark=0, pattern=r"softtape: "):
        """Kernel log lines since @mark that match."""
        return [line for line in self.console()[mark:].split("\n") if re.search(pattern, line)]

    def wait_line(self, pattern, seconds=60, mark=0):
        """Waits for a whole line on the console, returns it."""
        def check():
            self.alive()
            text = self.console()[mark:].rpartition("\n")[0]
            return next((line for line in text.split("\n") if re.search(pattern, line)), None)
        return poll_until(check, seconds, f"kernel log line {pattern!r}")

    def wait_text(self, text, seconds=60, mark=0):
        """Waits for a text on the console, in a line that may not have ended; returns the position behind it."""
        def check():
            self.alive()
            at = self.console().find(text, mark)
            return at >= 0 and at + len(text)
        return poll_until(check, seconds, f"{text!r} on the console")

    def type(self, *keys):
        """Presses keys of the machine's keyboard, by QEMU's names: "a", "ret", "down"."""
        for key in keys:
            self.qmp.run("send-key", keys=[{"type": "qcode", "data": key}])

    # -- power --

    def suspend(self, seconds=120):
        """Suspends the guest to RAM and wakes it up."""
        self.qmp.drain()
        job = self.start("echo mem >/sys/power/state", seconds)
        self.qmp.wait_event("SUSPEND", seconds)
        self.qmp.run("system_wakeup")
        status, text = job.wait()
        expect(status == 0, f"suspend: {text}")

    def reboot(self, seconds=BOOT_SECONDS, meanwhile=None):
        """Reboots the guest and waits until it is up again; @meanwhile() is called in between."""
        self.qmp.run("set-action", reboot="reset")
        self.start("systemctl reboot")
        if meanwhile:
            meanwhile()
        boot_id = self.agent.wait_ready(seconds)
        expect(boot_id != self.boot_id, "the guest has not rebooted")
        self.qmp.run("set-action", reboot="shutdown")
        self.boot_id = boot_id

    def poweroff(self, seconds=60):
        """Powers the guest off and waits for QEMU's end."""
        self.start("systemctl poweroff")
        poll_until(lambda: self._qemu.poll() is not None, seconds, "power off")
