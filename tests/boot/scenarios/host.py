# SPDX-License-Identifier: GPL-2.0-only
"""The half of `make install` and `make uninstall` that needs a running system: scripts/host in the guest."""
import subprocess

import guest
from scenario import scenario
from vm import BUILD, TOP, expect

P104 = "p104-100-riser-x1.txt"


def version():
    """The project's version, from dkms.conf."""
    text = (TOP / "dkms.conf").read_text(encoding="utf-8")
    return text.split('PACKAGE_VERSION="')[1].split('"')[0]


@scenario(alone=True)
def install_on_running_host(vm):
    """make install with a card there: loaded, checked; repeated: nothing new; an older module under a bound card stays"""
    guest.on_plug(vm, "quick")
    vm.ok("mkdir -p /run/source/scripts /run/older")
    vm.send("scripts/host", "/run/source/scripts/host")
    # What modinfo says when DKMS has just installed another build than the one that is loaded.
    vm.ok("printf '#!/bin/sh\\necho OTHER\\n' >/run/older/modinfo; chmod +x /run/older/modinfo")
    host = f"export VERSION={version()} PREFIX=/usr/local; bash /run/source/scripts/host"

    vm.ok("modprobe -r softtape; mv /usr/local/lib/udev/rules.d/70-softtape.rules /run/; systemctl restart systemd-udevd")
    guest.keep_out(vm, "softtape")
    card = vm.plug(P104)
    guest.settle(vm)
    expect(guest.runs(vm, card.bdf) == 0, "a check ran before anything was installed")
    vm.ok("rm /run/modprobe.d/test.conf; mv /run/70-softtape.rules /usr/local/lib/udev/rules.d/")

    vm.ok("mkdir -p /usr/local/lib/systemd/catalog")
    subprocess.run(["make", "-s", "-C", TOP, "program", "build/softtape.catalog"], check=True, stdout=subprocess.DEVNULL)
    vm.send(TOP / "build/softtape.catalog", "/usr/local/lib/systemd/catalog/softtape.catalog")

    mark = vm.mark()
    text = vm.ok(f"{host} start")
    expect("module loaded" in text, text)
    vm.ok("journalctl --list-catalog | grep -q softtape")
    guest.one_line(vm, card.bdf, mark).has(state="applied")
    expect(guest.wait_check(vm, card.bdf)["verdict"] == "pass", "the card does not pass")
    expect(guest.runs(vm, card.bdf) == 1, f"{guest.runs(vm, card.bdf)} checks")

    text = vm.ok(f"{host} start")
    expect("already loaded" in text, text)
    expect(guest.runs(vm, card.bdf) == 1, "a second check ran")

    vm.ok(f"{host} stop")
    text = vm.ok(f"PATH=/run/older:$PATH; {host} start")
    expect("active after reboot" in text, text)
    expect(guest.runs(vm, card.bdf) == 2, "no check after the new program was installed")

    vm.ok("printf '#!/bin/sh\\necho $* >/run/initramfs-made\\n' >/run/older/update-initramfs; chmod +x /run/older/update-initramfs")
    vm.ok(f"{host} stop; {host} unload; {host} dkms-remove; rm -r /usr/local/lib/systemd/catalog; PATH=/run/older:$PATH; {host} forget")
    vm.ok("! journalctl --list-catalog | grep softtape && grep -qx -e '-u -k all' /run/initramfs-made")
    vm.ok("! grep ^softtape /proc/modules && ! ls -d /run/softtape /var/lib/softtape /var/lib/dkms/softtape 2>/dev/null | grep .")
    expect(not guest.failed_units(vm), f"failed: {guest.failed_units(vm)}")


@scenario(alone=True, prove=True)
def package_on_running_host(vm):
    """the Debian package on a running host: a card that is there is checked at once; purge ends the check, leaves nothing"""
    subprocess.run([TOP / "scripts/deb", BUILD / "deb"], check=True, stdout=subprocess.DEVNULL)
    guest.on_plug(vm, "quick")
    vm.ok("""rm -r /usr/local/bin/softtape /usr/local/share/softtape
        rm /usr/local/lib/udev/rules.d/70-softtape.rules /usr/local/lib/systemd/system/softtape@.service
        systemctl daemon-reload; systemctl restart systemd-udevd""")
    card = vm.plug(P104)
    guest.settle(vm)
    expect(guest.runs(vm, card.bdf) == 0, "a check ran before the package was there")

    deb, = (BUILD / "deb").glob("softtape_*.deb")
    vm.send(deb, "/run/softtape.deb")
    vm.ok("dpkg -i --force-confold /run/softtape.deb")
    expect(guest.wait_check(vm, card.bdf)["verdict"] == "pass", "the card does not pass")
    expect(guest.runs(vm, card.bdf) == 1, f"{guest.runs(vm, card.bdf)} checks")

    vm.ok("dpkg -i --force-confold /run/softtape.deb")
    guest.wait_check(vm, card.bdf)
    expect(guest.runs(vm, card.bdf) == 2, "no check by the program that was installed anew")

    vm.ok("dpkg --purge softtape")
    vm.ok("! ls -d /run/softtape /var/lib/softtape /etc/softtape.conf 2>/dev/null | grep . && ! systemctl is-active 'softtape@*'")
    expect(not guest.failed_units(vm), f"failed: {guest.failed_units(vm)}")
