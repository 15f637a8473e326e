#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run the kernels of user/ptx as they stand, instruction by instruction, and print what they leave in memory.

Takes exactly the instructions the files use and stops at anything else. Knows nothing of what a kernel is meant to
compute: it follows the PTX ISA's description of each instruction, so that its results can disagree with the host's.

	emulate.py known SEED			all words of known_answer, one "index value" per line
	emulate.py pattern FIRST ITEMS SEED INVERT TURN
						memory_fill over ITEMS items, then memory_check, also of disturbed words
	emulate.py sweep FIRST ITEMS VALUE STEP MASK PERIOD TURN WRITE
						sweep_write, then sweep_check, also of disturbed words
	emulate.py move ITEMS			move_items of ITEMS items
	emulate.py compute KERNEL SEED ROUNDS	the ends of a kernel's chains, as its report tells them
"""
import math
import pathlib
import re
import struct
import sys
from fractions import Fraction

PTX = pathlib.Path(__file__).resolve().parents[2] / "user" / "ptx"
BITS = {"u32": 32, "b32": 32, "s32": 32, "u64": 64, "b64": 64, "f32": 32, "f64": 64}
BASE = 0x10000
SMID = 7		# any number below 255


def f32(value):
    """Round to single precision, to nearest even."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def sqrt32(value):
    """Correctly rounded single square root: a double has more than twice the digits, so rounding twice is harmless."""
    return f32(math.sqrt(value))


class Kernel:
    """The parsed body of one entry: parameters, labels, instructions as lists of (guard, opcode, operands)."""

    def __init__(self, text, name):
        text = re.sub(r"//[^\n]*", "", text)
        head, body = re.search(rf"\.visible \.entry {name}\((.*?)\)\s*\{{(.*?)\n\}}", text, re.S).groups()
        self.params = re.findall(r"\.param \.u64 (\w+)", head)
        self.kind, self.code, self.labels = {}, [], {}
        for line in re.split(r"[;\n]", re.sub(r"^(\w+:)", r"\1\n", body, flags=re.M)):
            self.add(line.strip())

    def add(self, line):
        if not line or line.startswith(".shared"):
            return
        if line.endswith(":"):
            self.labels[line[:-1]] = len(self.code)
        elif line.startswith(".reg"):
            for reg in re.findall(r"%\w+(?:<\d+>)?", line):
                many = re.match(r"(%\w+)<(\d+)>", reg)
                for one in [f"{many[1]}{i}" for i in range(int(many[2]))] if many else [reg]:
                    self.kind[one] = line.split()[1][1:]
        else:
            guard = re.match(r"@(%\w+)\s+", line)
            line = line[guard.end():] if guard else line
            op, _, rest = line.partition("\t") if "\t" in line else line.partition(" ")
            args = [a.strip() for a in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s{}\[\]]+", rest)]
            self.code.append((guard[1] if guard else None, op, args))


class Thread:
    """Registers and place of one thread; run() goes on until a barrier or the end."""

    def __init__(self, kernel, special, params, memory, shared):
        self.k, self.memory, self.shared = kernel, memory, shared
        self.regs, self.pc, self.alive = dict(special), 0, True
        self.params = dict(zip(kernel.params, params))

    def value(self, text):
        if text in self.regs:
            return self.regs[text]
        if text.startswith("0f"):
            return struct.unpack(">f", bytes.fromhex(text[2:]))[0]
        if text == "share":
            return 0
        return int(text, 0)

    def place(self, text):
        base, _, offset = text[1:-1].partition("+")
        return self.regs[base] + int(offset or 0)

    def run(self):
        """Return True at a barrier, False at the end."""
        while True:
            guard, op, args = self.k.code[self.pc]
            self.pc += 1
            if guard and not self.regs[guard]:
                continue
            if op == "ret":
                self.alive = False
                return False
            if op == "bar.sync":
                return True
            if op == "bra":
                self.pc = self.k.labels[args[0]]
            elif op.startswith(("ld.", "st.", "atom.")):
                self.access(op, args)
            else:
                self.compute(op, args)

    def access(self, op, args):
        kind = op.rsplit(".", 1)[1]
        size = BITS[kind] // 8
        memory = self.shared if ".shared" in op else self.memory
        if op.startswith("ld.param"):
            assert kind == "u64"
            self.regs[args[0]] = self.params[args[1][1:-1]]
        elif op in ("ld.global.cv.v4.u32", "ld.global.cv.u32", "ld.shared.u32"):
            names = re.findall(r"%\w+", args[0])
            at = self.place(args[1])
            assert at % (size * len(names)) == 0, "misaligned load"
            for i, name in enumerate(names):
                self.regs[name] = int.from_bytes(memory[at + size * i:at + size * (i + 1)], "little")
        elif op in ("st.global.v4.u32", "st.global.u32", "st.global.u64", "st.shared.u32"):
            names = re.findall(r"%\w+", args[1])
            at = self.place(args[0])
            assert at % (size * len(names)) == 0, "misaligned store"
            for i, name in enumerate(names):
                memory[at + size * i:at + size * (i + 1)] = self.regs[name].to_bytes(size, "little")
        else:
            self.atomic(op, args, size)

    def atomic(self, op, args, size):
        at = self.place(args[1])
        old, operand = int.from_bytes(self.memory[at:at + size], "little"), self.value(args[2])
        new = {"atom.global.add.u32": lambda: old + operand, "atom.global.add.u64": lambda: old + operand,
               "atom.global.xor.b32": lambda: old ^ operand, "atom.global.max.u32": lambda: max(old, operand)}[op]()
        self.memory[at:at + size] = (new % (1 << 8 * size)).to_bytes(size, "little")
        self.regs[args[0]] = old

    def compute(self, op, args):
        if op == "mov.b64" and args[0].startswith("{"):
            bits = struct.unpack("<Q", struct.pack("<d", self.regs[args[1]]))[0]
            low, high = re.findall(r"%\w+", args[0])
            self.regs[low], self.regs[high] = bits & 0xffffffff, bits >> 32
            return
        values = [self.value(a) for a in args[1:]]
        kind = op.rsplit(".", 1)[1]
        if op == "mov.f32":
            self.regs[args[0]] = values[0]
            return
        if op == "mov.b32" and self.k.kind[args[1]] == "f32":
            result = struct.unpack("<I", struct.pack("<f", values[0]))[0]
        else:
            result = OPS[op](*values)
        if self.k.kind[args[0]] in ("u32", "u64"):
            assert result >= 0 or kind in ("s32", "f32") or op in ("sub.u32", "not.b32")
            result %= 1 << BITS[self.k.kind[args[0]]]
        assert kind in BITS
        self.regs[args[0]] = result


def fma32(a, b, c):
    """Product and sum exact, then one rounding; all that the kernels multiply is exact in double precision too."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assert Fraction(float(exact)) == exact
    return f32(float(exact))


def dp4a(a, b, c):
    """Four products of bytes and a sum."""
    return c + sum((a >> n & 255) * (b >> n & 255) for n in (0, 8, 16, 24))


OPS = {
    "mov.u32": lambda a: a, "mov.u64": lambda a: a, "cvta.to.global.u64": lambda a: a,
    "cvt.u32.u64": lambda a: a & 0xffffffff, "cvt.u64.u32": lambda a: a,
    "cvt.rn.f32.u32": lambda a: f32(float(a)), "cvt.rn.f64.u32": float, "cvt.rzi.u32.f32": int,
    "add.u32": lambda a, b: a + b, "add.u64": lambda a, b: a + b, "sub.u32": lambda a, b: a - b,
    "mul.lo.u32": lambda a, b: a * b, "mul.hi.u32": lambda a, b: a * b >> 32, "mul.wide.u32": lambda a, b: a * b,
    "mad.lo.u32": lambda a, b, c: a * b + c, "rem.u32": lambda a, b: a % b,
    "and.b32": lambda a, b: a & b, "or.b32": lambda a, b: a | b, "xor.b32": lambda a, b: a ^ b,
    "shl.b32": lambda a, b: a << min(b, 32), "shl.b64": lambda a, b: a << min(b, 64),
    "shr.u32": lambda a, b: a >> min(b, 32), "shr.u64": lambda a, b: a >> min(b, 64),
    "not.b32": lambda a: ~a, "min.u32": min, "dp4a.u32.u32": dp4a,
    "cvt.rn.f32.s32": lambda a: f32(float(a - (a >> 31 << 32))), "cvt.rzi.s32.f32": int,
    "popc.b32": lambda a: bin(a).count("1"), "clz.b32": lambda a: 32 - a.bit_length(),
    "setp.ge.u64": lambda a, b: a >= b, "setp.eq.u64": lambda a, b: a == b, "setp.eq.u32": lambda a, b: a == b,
    "setp.ge.u32": lambda a, b: a >= b, "setp.ne.u32": lambda a, b: a != b, "setp.lt.u32": lambda a, b: a < b,
    "fma.rn.f32": fma32, "add.rn.f32": lambda a, b: f32(a + b), "mul.rn.f32": lambda a, b: f32(a * b),
    "div.rn.f32": lambda a, b: f32(a / b), "sqrt.rn.f32": sqrt32, "div.rn.f64": lambda a, b: a / b,
}
BITS["pred"] = 1


def launch(kernel, blocks, threads, params, memory):
    """Run block after block; inside a block every thread up to the next barrier, then again."""
    for block in range(blocks):
        shared = bytearray(1024)
        team = [Thread(kernel, {"%tid.x": t, "%ctaid.x": block, "%ntid.x": threads, "%nctaid.x": blocks, "%smid": SMID},
                       params, memory, shared) for t in range(threads)]
        while any([t.run() for t in team if t.alive]):
            pass


def words(memory, at, number):
    return struct.unpack_from(f"<{number}I", memory, at)


def known(seed):
    memory = bytearray(BASE + 65536)
    launch(Kernel((PTX / "known.ptx").read_text(), "known_answer"), 16, 256, [BASE, seed], memory)
    for index, value in enumerate(words(memory, BASE, 16384)):
        print(index, value)


REPORT = 8192


def disturb(memory, items, places):
    """Turn bit 4 over in those words behind BASE."""
    for bad in places:
        memory[BASE + bad * 4] ^= 0x10


def show_report(memory, at, what):
    """Print all of a struct memory_report that is not 0."""
    fields = {"up": (32, 32), "down": (160, 32), "flips": (288, 32), "bin": (416, 256)}
    print(what, *words(memory, at, 3), words(memory, at + 12, 1)[0] ^ 0xffffffff, words(memory, at + 16, 1)[0])
    for name, (offset, number) in fields.items():
        for index, value in enumerate(words(memory, at + offset, number)):
            if value:
                print(what, name, index, value)
    for slot in range(min(words(memory, at + 8, 1)[0], 16)):
        print(what, "record", *struct.unpack_from("<QIIII", memory, at + 1440 + 32 * slot))


def pattern(first, items, seed, invert, turn):
    """Print the words of the fill, what a check says of them, and what it says after three were disturbed."""
    text = (PTX / "memory.ptx").read_text()
    memory = bytearray(BASE + items * 16 + REPORT)
    report = BASE + items * 16
    args = [BASE, items, first, seed, invert, turn]
    launch(Kernel(text, "memory_fill"), 3, 32, args, memory)
    for index, value in enumerate(words(memory, BASE, items * 4)):
        print("word", first * 4 + index, value)
    launch(Kernel(text, "memory_check"), 2, 32, [*args, report, 4], memory)
    show_report(memory, report, "clean")
    disturb(memory, items, (1, items * 2, items * 4 - 1))
    launch(Kernel(text, "memory_check"), 2, 32, [*args, report, 4], memory)
    show_report(memory, report, "disturbed")


def sweep(first, items, value, step, mask, period, turn, write):
    """The same for a pattern that repeats; with WRITE also what the check leaves behind."""
    text = (PTX / "sweep.ptx").read_text()
    memory = bytearray(BASE + items * 16 + REPORT)
    report = BASE + items * 16
    args = [BASE, items, first % period, value, step, mask, period, turn]
    launch(Kernel(text, "sweep_write"), period, 32, args, memory)
    for index, word in enumerate(words(memory, BASE, items * 4)):
        print("word", first * 4 + index, word)
    clean = bytearray(memory)
    launch(Kernel(text, "sweep_check"), period, 32, [*args, 0, first, report, 4], clean)
    assert clean[:report] == memory[:report], "a check that does not write wrote"
    show_report(clean, report, "clean")
    disturb(memory, items, (1, items * 2, items * 4 - 1))
    launch(Kernel(text, "sweep_check"), 2 * period, 32, [*args, write, first, report, 4], memory)
    show_report(memory, report, "disturbed")
    for index, word in enumerate(words(memory, BASE, items * 4)):
        print("left", first * 4 + index, word)


def move(items):
    """Print what arrived, and what stands behind it."""
    memory = bytearray(BASE + items * 32 + 16)
    for i in range(items * 16):
        memory[BASE + i] = i * 7 & 255
    launch(Kernel((PTX / "move.ptx").read_text(), "move_items"), 2, 32, [BASE + items * 16, BASE, items], memory)
    assert memory[BASE + items * 16:BASE + items * 32] == bytes(i * 7 & 255 for i in range(items * 16))
    assert not any(memory[BASE + items * 32:]), "wrote too far"
    print("moved", items)


def compute(kernel, seed, rounds):
    """Learn the ends from what the kernel reports against a reference of zeros, 16 at a time; then all must be right."""
    code = Kernel((PTX / ("dp4a.ptx" if kernel == "compute_dp4a" else "compute.ptx")).read_text(), kernel)
    report, ends = BASE + 1024, [0] * 256

    def run(blocks, repeats):
        memory = bytearray(BASE + 8192)
        struct.pack_into("<256I", memory, BASE, *ends)
        launch(code, blocks, 256, [BASE, seed, rounds, repeats, report], memory)
        assert words(memory, report + 16, 256)[SMID] == blocks, "blocks are not counted"
        wrong, wanted = words(memory, report, 2)
        assert wrong == wanted == sum(words(memory, report + 1040, 256)), "counts differ"
        return wanted, [words(memory, report + 2064 + 32 * slot, 5) for slot in range(min(wanted, 16))]

    wanted, records = run(1, 1)
    while records:
        for smid, thread, repeat, expected, got in records:
            assert (smid, repeat, expected) == (SMID, 0, 0)
            ends[thread] = got
        before, (wanted, records) = wanted, run(1, 1)
        assert wanted == max(before - 16, 0), "an end that was right is wrong now"
    for thread, end in enumerate(ends):
        print(thread, end)
    assert run(2, 3)[0] == 0, "not the same in every block and repetition"
    ends[200] ^= 1
    print("one wrong", *run(2, 3)[1][-1])


if __name__ == "__main__":
    given = [a if a.startswith("compute_") else int(a, 0) for a in sys.argv[2:]]
    {"known": known, "pattern": pattern, "sweep": sweep, "move": move, "compute": compute}[sys.argv[1]](*given)
