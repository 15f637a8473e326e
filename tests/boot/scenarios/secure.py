# SPDX-License-Identifier: GPL-2.0-only
"""Secure Boot from the firmware up: OVMF with Microsoft's keys, Debian's shim, boot loader and kernel, MokManager's menu."""
import json

import guest
from scenario import scenario
from vm import Boot, expect

P104 = "p104-100-riser-x1.txt"
PASSWORD = "softtape"
# What MokManager shows, in the order in which a person meets it, and the keys that enrol the waiting key.
MENU = (
    ("Press any key to perform MOK management", ("ret",)),
    ("Enroll MOK", ("down", "ret")),
    ("View key 0", ("down", "ret")),
    ("Enroll the key", ("down", "ret")),
    ("Password", (*PASSWORD, "ret")),
    ("Reboot", ("ret",)),
)


def enrol(vm, mark):
    """Walks through MokManager's menu."""
    for text, keys in MENU:
        mark = vm.wait_text(text, 120, mark)
        vm.type(*keys)


def key_findings(vm):
    """What softtape doctor has to say about Secure Boot: {code: command to type}, of softtape's own module."""
    _, text = vm.sh("softtape doctor --json")
    codes = ("softtape-rejected", "key-not-enrolled")
    return {finding["code"]: finding["command"] for finding in json.loads(text)["findings"] if finding["code"] in codes}


@scenario(boot=Boot(ports=1, secure=True), alone=True, prove=True)
def secure_boot(vm):
    """Secure Boot on: the kernel refuses the DKMS-signed module, doctor says why; its key enrolled, it settles the card"""
    vm.ok("mokutil --sb-state | grep 'SecureBoot enabled'; grep '\\[integrity\\]' /sys/kernel/security/lockdown")
    expect(vm.ok("modinfo -F signer softtape").strip() == "DKMS module signing key", "the module is not signed by DKMS")
    mark = vm.mark()
    card = vm.plug(P104)
    guest.settle(vm)
    status, text = vm.sh("modprobe softtape")
    expect(status != 0 and "Key was rejected by service" in text, f"status {status}: {text}")
    guest.silent(vm, mark)
    found = key_findings(vm)
    expect(found.get("softtape-rejected", "").startswith("sudo mokutil --import /var/lib/dkms/mok.pub"), f"doctor says {found}")

    vm.ok(f"printf '{PASSWORD}\\n{PASSWORD}\\n' | mokutil --import /var/lib/dkms/mok.pub")
    expect("DKMS module signing key" in vm.ok("mokutil --list-new"), "the key does not wait for its enrolment")
    vm.unplug()
    mark = vm.mark()
    vm.reboot(meanwhile=lambda: enrol(vm, mark))

    vm.ok("mokutil --sb-state | grep 'SecureBoot enabled'; mokutil --list-enrolled | grep 'DKMS module signing key'")
    vm.ok("grep '^softtape ' /proc/modules || modprobe softtape")
    mark = vm.mark()
    card = vm.plug(P104)
    guest.one_line(vm, card.bdf, mark).has(state="applied")
    expect(not key_findings(vm), f"doctor still says {key_findings(vm)}")
