# SPDX-License-Identifier: GPL-2.0-only
"""A guest under UEFI with Secure Boot on: Microsoft's keys in the firmware, then Debian's shim, boot loader and kernel."""
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "rig"))

from machine import secure_boot  # noqa: E402


def system_partition(folder, signed, kernel, cmdline):
    """Fills a folder that QEMU shows as a FAT disk: what a Debian installation puts there, the kernel beside it."""
    boot, debian = folder / "EFI/BOOT", folder / "EFI/debian"
    boot.mkdir(parents=True)
    debian.mkdir()
    shutil.copy(signed / "usr/lib/shim/shimx64.efi.signed", boot / "BOOTX64.EFI")
    shutil.copy(signed / "usr/lib/shim/mmx64.efi.signed", boot / "mmx64.efi")
    shutil.copy(signed / "usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed", boot / "grubx64.efi")
    shutil.copy(kernel, folder / "vmlinuz")
    (debian / "grub.cfg").write_text(f"linux /vmlinuz {cmdline}\nboot\n", encoding="ascii")


def args(run, kernel, cmdline):
    """QEMU's arguments; its files go to the folder @run, the firmware's variables among them."""
    signed = Path(secure_boot())
    firmware = signed / "usr/share/OVMF"
    system_partition(run / "esp", signed, kernel, cmdline)
    shutil.copy(firmware / "OVMF_VARS_4M.ms.fd", run / "variables.fd")
    return ["-machine", "q35,smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on",
            "-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={firmware}/OVMF_CODE_4M.secboot.fd",
            "-drive", f"if=pflash,unit=1,format=raw,file={run}/variables.fd",
            "-drive", f"if=none,id=esp,format=raw,snapshot=on,file=fat:{run}/esp",
            "-device", "ide-hd,drive=esp,bus=ide.0,bootindex=0"]
