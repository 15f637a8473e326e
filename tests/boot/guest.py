# SPDX-License-Identifier: GPL-2.0-only
"""What softtape shows of itself in a guest: log lines, sysfs files, unit runs, state files."""
import json
import re
from collections import Counter
from dataclasses import dataclass

from vm import expect

LINE = re.compile(r"(?P<bdf>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): "
                  r"softtape: (?P<card>[^\[]+) \[(?P<id>[0-9a-f]{4}:[0-9a-f]{4})\]: (?P<values>.+)$")
VALUE = re.compile(r"(\w+)=([^\s(]+)(?:\(([^)]*)\))?(?: |$)")

# systemd.journal-fields(7), sd-messages.h: "a unit is being started"
STARTING = "7d4958e842da4a758f6c1cdc7b36dcc5"


@dataclass
class Line:
    """softtape's log line, taken apart: value and reason by key."""
    text: str
    bdf: str
    card: str
    ident: str
    value: dict
    reason: dict

    def has(self, **wanted):
        """Fails unless each key has this text, value(reason); a wanted text without "(" leaves the reason open."""
        for key, text in wanted.items():
            got = self.value.get(key)
            if "(" in text:
                got = f"{got}({self.reason.get(key)})"
            expect(got == text, f"{key}={text} expected: {self.text}")
        return self


def parse_line(text):
    """Line of one kernel log line, None if it is not one of softtape's about a card."""
    match = LINE.search(text)
    if not match:
        return None
    rest = VALUE.sub("", match["values"])
    expect(rest == "", f"not key=value(reason): {rest!r} in {text}")
    found = VALUE.findall(match["values"])
    return Line(text, match["bdf"], match["card"], match["id"],
                {k: v for k, v, _ in found}, {k: r for k, _, r in found})


def lines(vm, mark=0, bdf=None):
    """softtape's lines about cards since @mark."""
    parsed = [parse_line(text) for text in vm.lines(mark)]
    return [line for line in parsed if line and bdf in (None, line.bdf)]


def final_line(vm, bdf, mark=0, seconds=60):
    """Waits for the first line about a card since @mark."""
    vm.wait_line(re.escape(bdf) + r": softtape: .*\bstate=", seconds, mark)
    return lines(vm, mark, bdf)[0]


def one_line(vm, bdf, mark=0):
    """The only line about a card since @mark; call it when everything is over."""
    final_line(vm, bdf, mark)
    found = lines(vm, mark, bdf)
    expect(len(found) == 1, f"one line expected, there are {len(found)}: " + " / ".join(line.text for line in found))
    return found[0]


def silent(vm, mark, bdf=None):
    """Fails if the module has said anything (about a card) since @mark."""
    said = [line for line in vm.lines(mark) if bdf is None or bdf in line]
    expect(not said, f"not a word expected: {' / '.join(said)}")


def sysfs(vm, bdf):
    """The files of softtape/ as a dict, None if the folder is absent."""
    text = vm.ok(f"cd /sys/bus/pci/devices/{bdf}/softtape 2>/dev/null || exit 0; "
                 "for f in *; do [ $f = verify ] || [ $f = report ] || echo \"$f=$(cat $f)\"; done")
    return dict(line.split("=", 1) for line in text.splitlines()) or None


def same_in_sysfs(vm, line):
    """The sysfs files say what the log line says."""
    files = sysfs(vm, line.bdf)
    expect(files is not None, f"no softtape/ below {line.bdf}")
    expect(files.pop("card") == line.card, f"sysfs card, {line.text}")
    for key, value in files.items():
        logged = line.value.get(key)
        expect(value in (logged, f"{logged}({line.reason.get(key)})"), f"sysfs {key}={value}, log: {line.text}")
    return files


def hide(vm, *files):
    """Moves files of the guest away until the next scenario."""
    vm.ok(f"""
        for f in {' '.join(files)}; do
            f=$(realpath "${{f%/*}}")/${{f##*/}}
            mkdir -p "/run/hidden/${{f%/*}}" && mv "$f" "/run/hidden/$f" || exit 1
        done
        ldconfig; depmod; systemctl restart systemd-udevd
    """)


def on_plug(vm, level):
    """What the unit runs from now on: quick, bind-only or off (reset() says off, to save time)."""
    vm.ok(f"echo 'on_plug = {level}' >/etc/softtape.conf")


def load(vm, *params, expect_ok=True):
    """Loads the module anew with these parameters; (status, what modprobe said)."""
    status, text = vm.sh("modprobe -r softtape; modprobe softtape " + " ".join(params))
    if expect_ok:
        expect(status == 0, f"modprobe softtape {' '.join(params)}: {text}")
    return status, text


def unload(vm, *modules):
    """Unloads what is loaded of these modules."""
    vm.ok(f"for m in {' '.join(modules)}; do ! grep -q \"^$m \" /proc/modules || rmmod $m || exit 1; done")


def modprobe_conf(vm, text):
    """These lines of modprobe.d hold for udev too until the next scenario.

    A restart, as udevd 252 does not look at modprobe.d again for `udevadm control --reload`.
    """
    vm.ok(f"mkdir -p /run/modprobe.d; printf '{text}\\n' >/run/modprobe.d/test.conf; systemctl restart systemd-udevd")


def keep_out(vm, *modules):
    """udev does not load these modules by itself until the next scenario."""
    modprobe_conf(vm, "\\n".join(f"blacklist {m}" for m in modules))


# --- registers ---

def lnkctl(vm, bdf):
    """Link Control of a device as the guest reads it."""
    return int(vm.ok(f"setpci -s {bdf} CAP_EXP+10.w"), 16)


def lnkctl_offset(vm, bdf):
    """Where Link Control is in the device's configuration space."""
    text = vm.ok(f"lspci -s {bdf} -vv | sed -n 's/.*Capabilities: .\\([0-9a-f]*\\). Express.*/\\1/p'")
    return int(text, 16) + 0x10


def extra_writes(card, twin, mark=0):
    """Configuration writes that the kernel did not make to @twin, the same card under an id that is not in the list.

    Compared by register and value, not by order: what is left is softtape's own work.
    """
    left = Counter((w.offset, w.width, w.new) for w in twin.writes())
    extra = []
    for write in card.writes(mark):
        key = (write.offset, write.width, write.new)
        if left[key]:
            left[key] -= 1
        else:
            extra.append(write)
    return extra


def plug_twin(vm, dump, port=0, options=()):
    """A card's life with the id of a GTX 1070: what the kernel writes by itself. Plugged, settled, unplugged."""
    twin = vm.plug(dump, port, ["--set", "2.w=1b81", *options])
    settle(vm)
    vm.unplug(port)
    return twin


def only_link_control(extra, offset):
    """Every write went to Link Control and did nothing but clear ASPM and Clock PM bits (PCIe r6.0 7.5.3.7)."""
    for write in extra:
        cleared = write.old & ~write.new & 0xffff
        fine = write.offset == offset and write.width == 2 and not write.new & ~write.old and not cleared & ~0x103
        expect(fine, f"a write that was not announced: {write}")


# --- helper, unit, state file ---

def unit(bdf):
    """Name of the check's unit."""
    return f"softtape@{bdf}.service"


def runs(vm, bdf):
    """How often the check of a card has been started since reset(), or else since boot."""
    return int(vm.ok(f"journalctl -q -b -o cat $(cat /run/test-since 2>/dev/null) UNIT={unit(bdf)} "
                     f"MESSAGE_ID={STARTING} | wc -l"))


def wait_check(vm, bdf, seconds=180):
    """Waits for the end of the check; returns the state file."""
    vm.wait(f'[ "$(systemctl show -P SubState {unit(bdf)})" = exited ]', seconds, f"{unit(bdf)} to end")
    return state(vm, bdf)


def state(vm, bdf):
    """The state file as a dict, None if there is none."""
    status, text = vm.sh(f"cat /run/softtape/{bdf}.json")
    return json.loads(text) if status == 0 else None


def failed_units(vm):
    """Names of units in state failed."""
    return vm.ok("systemctl list-units --state=failed --plain --no-legend | cut -d' ' -f1").split()


def add_services(vm, folder):
    """Two services behind softtape-ready.target, test-Wants and test-Requires, in a folder of units; a boot starts them if enabled."""
    vm.ok(f"""mkdir -p {folder} && cd {folder} || exit 1
        for word in Wants Requires; do
            printf '%s\\n' [Unit] $word=softtape-ready.target After=softtape-ready.target [Service] Type=oneshot RemainAfterExit=yes \\
                ExecStart=true [Install] WantedBy=multi-user.target >test-$word.service || exit 1
        done
        systemctl daemon-reload""")


def drop_services(vm, folder):
    """And away."""
    vm.ok(f"systemctl disable test-Wants test-Requires; rm -f {folder}/test-*.service; systemctl daemon-reload")


def services(vm):
    """State of the two, that of test-Wants first."""
    return vm.ok("systemctl show -P ActiveState test-Wants test-Requires").split()


def settle(vm):
    """All events of udev and jobs of systemd are done."""
    vm.ok("udevadm settle")
    vm.wait('[ -z "$(systemctl list-jobs --no-legend)" ]', 120, "systemd's jobs")


def reset(vm):
    """Between two scenarios of one guest: no card, module fresh with defaults, no state, no driver."""
    for port in vm.ports:
        vm.unplug(port.number)
    unload(vm, "fakehost", "nvidia_uvm", "nvidia", "vfio_pci", "softtape")
    vm.ok("""
        if [ -d /run/hidden ]; then
            cp -a /run/hidden/. / && rm -r /run/hidden && ldconfig && depmod || exit 1
            restart=y
        fi
        if [ -e /run/modprobe.d/test.conf ]; then
            rm /run/modprobe.d/test.conf
            restart=y
        fi
        [ -z "$restart" ] || systemctl restart systemd-udevd
        rm -f /etc/softtape-fake.conf
        echo default >/sys/module/pcie_aspm/parameters/policy 2>/dev/null
        udevadm settle
        systemctl reset-failed
        rm -rf /run/softtape/* /var/lib/softtape/*
        echo 'on_plug = off' >/etc/softtape.conf
        date +--since=@%s.%6N >/run/test-since
        modprobe softtape
    """)
