# SPDX-License-Identifier: GPL-2.0-only
"""What doctor, status, wait, metrics and the inventory say on a running system: no card, a good one, a bad one, no driver."""
import json

import guest
from scenario import scenario
from vm import expect

P104 = "p104-100-riser-x1.txt"


def doctor(vm, before=""):
    """Exit status, findings by code."""
    status, text = vm.sh(f"{before} softtape doctor --json")
    return status, {finding["code"]: finding for finding in json.loads(text)["findings"]}


def wrong(found):
    """What is no remark."""
    return {code: finding["evidence"] for code, finding in found.items() if finding["severity"] != "info"}


@scenario()
def doctor_says(vm):
    """doctor finds nothing without cause, names what is wrong, and tells a user what it could not see"""
    guest.on_plug(vm, "quick")
    vm.ok("rm -rf /var/lib/softtape/inventory")
    status, found = doctor(vm)
    expect(status == 3 and "no-card" in found, f"no card: {status} {found}")
    # The guest has DKMS and a module that was built elsewhere, but no headers.
    usual = ["headers-missing"]
    expect(list(wrong(found)) == usual, f"no card: {wrong(found)}")

    card = vm.plug(P104)
    guest.wait_check(vm, card.bdf)
    status, found = doctor(vm)
    expect(status == 5 and list(wrong(found)) == usual, f"good card: {status} {wrong(found)}")
    _, found = doctor(vm, "setpriv --reuid=65534 --regid=65534 --clear-groups")
    expect("not-seen" in found and list(wrong(found)) == usual, f"as a user: {found}")
    expect(vm.ok("softtape wait --timeout 30").count("pass (simulated)") == 1, "wait")
    expect(vm.ok("softtape status --output nagios").startswith("SOFTTAPE OK - "), "nagios")
    vm.ok("softtape metrics --to /run/softtape.prom && grep 'state=\"pass\"} 1' /run/softtape.prom")
    expect(card.bdf in vm.ok("softtape inventory"), "the unit's check did not learn the card")

    vm.unplug()
    guest.settle(vm)
    status, found = doctor(vm)
    expect(status == 3 and "card-missing" in found, f"unplugged: {status} {found}")
    vm.ok("echo 'known=7' >/etc/softtape-fake.conf")
    card = vm.plug(P104)
    guest.wait_check(vm, card.bdf)
    status, found = doctor(vm)
    expect(status == 1 and list(wrong(found)) == ["data-fault", *usual], f"bad card: {status} {wrong(found)}")
    vm.unplug()
    guest.settle(vm)
    # Twice so far, so the next one would be flapping.
    expect(card.bdf in vm.ok("cat /run/softtape/unplugs; rm /run/softtape/unplugs"), "the unit did not note the unplug")

    guest.unload(vm, "nvidia_uvm", "nvidia")
    guest.hide(vm, "/lib/modules/$(uname -r)/extra/nvidia.ko", "/lib/modules/$(uname -r)/extra/nvidia-uvm.ko")
    card = vm.plug(P104)
    guest.wait_check(vm, card.bdf)
    status, found = doctor(vm)
    expect(status == 3 and list(wrong(found)) == ["no-nvidia-module", *usual], f"no driver: {status} {wrong(found)}")
    expect("apt install linux-headers-" in found["no-nvidia-module"]["command"], found["no-nvidia-module"]["command"])
