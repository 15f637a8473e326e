#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The command advise on hosts made from text: what it reads of them, and that both forms say the same."""
import pathlib
import shutil
import tempfile

import hosts
from hosts import on_host
from lib import VALIDATOR, check, document, main

WORK = pathlib.Path(tempfile.mkdtemp(prefix="softtape-advise-"))


def advice(name, files=(), nvml=None):
    """A host with more files, and its advice."""
    host = hosts.Host(WORK / "host", name)
    for path, text in files:
        file = host.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    host.nvml = nvml if nvml is not None else host.nvml
    answer = on_host(host, "advise", "--json")
    check(answer.returncode == 0, answer.stderr)
    return host, document(answer)


def items(found, topic, state, part=""):
    """The items of a topic and state whose text has a part."""
    return [item for item in found["advise"]["items"]
            if item["topic"] == topic and item["state"] == state and part in item["text"]]


def test_healthy():
    """One P104-100 under Debian's driver: everything fits, the numbers come from NVML, and they are a stand-in's."""
    host, found = advice("healthy")
    said = found["advise"]
    check(said["driver"] == {"possible": True, "branch_min": 390, "branch_max": 580, "proprietary": True, "open": False,
                             "installed": 535}, said["driver"])
    check(said["power"] == {"cards_w": 180, "unknown_cards": 0, "host_w": 150, "host_assumed": True, "reserve_percent": 20,
                            "total_w": 396, "supply_w": 400}, said["power"])
    check(not [item for item in said["items"] if item["state"] == "change"], said["items"])
    check(items(found, "memory", "fits", "4096 MiB, as sold") and items(found, "link", "hint", "2.5 GT/s x4"), said["items"])
    check(items(found, "power", "hint", "180 W now, 90 to 217 allowed")[0]["undo"] == "sudo nvidia-smi -i 0000:01:00.0 -pl 180", "undo")
    check("print(n.nvmlDeviceGetGpcClkVfOffset(h))" in items(found, "clocks", "hint", "set and read back")[0]["command"], "offset")
    check(found["simulated"], "not called simulated")
    text = on_host(host, "advise").stdout.decode()
    check("the driver is simulated" in text.splitlines()[1] and "download.pytorch.org/whl/cu126" in text, text)


def test_not_utf8():
    """A version that is no UTF-8 leaves the document JSON."""
    host = hosts.Host(WORK / "host", "healthy")
    file = host.root / "usr/lib/python3/dist-packages/torch/version.py"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"__version__ = '2.4.0+cu118\xff'\ncuda = '11.8'\n")
    check(items(document(on_host(host, "advise", "--json")), "pytorch", "fits", "PyTorch 2.4.0+cu118? in /usr/lib"), "text")


def test_text_says_all():
    """Every sentence, command and way back of the document is in the text, words wrapped."""
    host, found = advice("mining-six")
    text = " ".join(on_host(host, "advise").stdout.decode().split())
    for item in found["advise"]["items"]:
        check(" ".join(item["text"].split()) in text, item["text"])
        check(not item["command"] or item["bdf"] or item["command"] in text, item["command"])
    check(text.count("the same, with its own address") >= 4, text)


def test_mining_six():
    """Five cards on x1 ports, three of them behind one switch, one without its driver."""
    _, found = advice("mining-six", [("/proc/meminfo", "MemTotal:        4030112 kB\n"),
                                     ("/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "51000000\n"),
                                     ("/sys/class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw", "99000000\n")])
    # Four at the 180 W that NVML tells, a P102-100 that was sold with 250; 51 + 50 for the host: 1071 * 1.2
    check(found["advise"]["power"] == {"cards_w": 970, "unknown_cards": 0, "host_w": 101, "host_assumed": True,
                                       "reserve_percent": 20, "total_w": 1286, "supply_w": 1300}, found["advise"]["power"])
    shared = {item["bdf"] for item in items(found, "link", "hint", "one of 3 cards that share an uplink of about 420 MB/s")}
    check(shared == {"0000:05:00.0", "0000:06:00.0", "0000:07:00.0"}, shared)
    check(items(found, "link", "hint", "5 of 5 GPUs") and items(found, "link", "hint", "data-parallel"), "narrow")
    check(items(found, "memory", "hint", "16384 MiB together, the host 3935"), items(found, "memory", "hint"))
    check(items(found, "power", "unknown", "without the driver")[0]["bdf"] == "0000:07:00.0", items(found, "power", "unknown"))


def test_changed_vbios():
    """A P104-100 with 8 GB is not taken for one as sold."""
    _, found = advice("healthy", nvml="memory=8192")
    item = items(found, "memory", "hint", "8192 MiB, sold with 4096")[0]
    check("86.04.7A.00.01" in item["text"] and item["command"] == "sudo softtape check --level long 0000:01:00.0", item)


def test_lower_limit():
    """A limit that was set already counts in the budget and is not asked for again."""
    _, found = advice("healthy", nvml="limit=120")
    check(found["advise"]["power"]["cards_w"] == 120 and items(found, "power", "fits", "limited to 120 of 180 W"), found["advise"])


def test_laptop():
    """An internal GPU of a new generation and a P104-100: no driver for both, a supply for the card alone, no guess at CUDA."""
    _, found = advice("laptop-m2-pascal", [("/sys/class/dmi/id/chassis_type", "10\n")])
    said = found["advise"]
    check(not said["driver"]["possible"] and items(found, "driver", "change", "No one driver"), said["driver"])
    check({item["bdf"] for item in items(found, "driver", "hint", "branch")} == {"0000:01:00.0", "0000:02:00.0"}, said["items"])
    check(not [item for item in said["items"] if item["topic"] == "pytorch"] and items(found, "cuda", "unknown"), said["items"])
    check(said["power"]["cards_w"] == 180 and said["power"]["host_w"] == 0 and said["power"]["supply_w"] == 300, said["power"])


def test_installed():
    """PyTorch, cuDNN and the driver are compared with the cards."""
    _, found = advice("torch-too-new")
    check(items(found, "pytorch", "change", "no kernel image"), found["advise"]["items"])
    wheel = "/usr/local/lib/python3.11/dist-packages/nvidia_cudnn_cu12-9.11.0.98.dist-info/METADATA"
    _, found = advice("healthy", [(wheel, "")])
    check(items(found, "pytorch", "change", "cuDNN 9.11 dropped"), found["advise"]["items"])
    host, _ = advice("healthy")
    library = host.root / "usr/lib/x86_64-linux-gnu/libcudnn.so.9"
    (library.parent / "libcudnn.so.9.10.2").write_text("x", encoding="utf-8")
    library.symlink_to("libcudnn.so.9.10.2")
    check(items(document(on_host(host, "advise", "--json")), "pytorch", "fits", "cuDNN 9.10 fits"), "libcudnn.so.9")
    _, found = advice("branch-too-old")
    check(items(found, "driver", "change", "does not fit"), found["advise"]["items"])


def test_no_driver():
    """Without a driver it says how to get one, and what cannot be known."""
    _, found = advice("no-driver-deb822")
    item = items(found, "driver", "hint", "No driver is installed")[0]
    check("sudo apt update && sudo apt install linux-headers-amd64" in item["command"], item)
    check(found["advise"]["driver"]["installed"] is None and items(found, "power", "unknown") and items(found, "memory", "unknown"),
          found["advise"])


def test_no_card():
    """Nothing to advise: that, what to do next, status 0."""
    host = hosts.Host(WORK / "host", "no-card")
    for path in list((host.root / "sys/bus/pci/devices").iterdir()):
        vendor = path / "vendor"
        check(vendor.read_text(encoding="utf-8").strip() != "0x10de", f"{path.name} is an NVIDIA GPU")
    answer = on_host(host, "advise")
    check(answer.returncode == 0 and answer.stdout.startswith(b"no NVIDIA GPU\nnext: sudo softtape rescan "), answer.stdout)
    check("advise" not in document(on_host(host, "advise", "--json")), "a key without content")


def test_usage():
    """It is about the whole host."""
    host = hosts.Host(WORK / "host", "healthy")
    check(on_host(host, "advise", "01:00.0").returncode == 2, "a card")


def test_schema_refuses():
    """The schema is not satisfied by anything."""
    _, found = advice("healthy")
    for change in (lambda a: a["items"][0].update(state="ok"), lambda a: a["items"][0].update(topic="x"), lambda a: a.pop("driver"),
                   lambda a: a["power"].update(supply_w="400"), lambda a: a.update(checked="today")):
        bad = {**found, "advise": {**found["advise"], "items": [dict(found["advise"]["items"][0])], "power": dict(found["advise"]["power"])}}
        change(bad["advise"])
        check(list(VALIDATOR.iter_errors(bad)), "a broken document passed")


if __name__ == "__main__":
    try:
        main([value for name, value in list(globals().items()) if name.startswith("test_")])
    finally:
        shutil.rmtree(WORK)
