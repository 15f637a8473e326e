#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Every `# expect:` line of every case, against what `softtape plan -F` prints as text and as JSON."""
import re

from lib import CASES, check, document, main, run

# What an expectation may look like. Each pattern comes with a check of (match, text, card of the JSON document or None, case).
RULES = []


def rule(pattern):
    """Registers a check for expectations of this form."""
    def keep(function):
        RULES.append((re.compile(pattern), function))
        return function
    return keep


def plan(case, *words):
    """Text and JSON document of a plan."""
    text, data = run("plan", "-F", case, *words), run("plan", "-F", case, *words, "--json")
    check(text.returncode == 0 and not text.stderr, f"status {text.returncode}, says {text.stderr!r}")
    return text.stdout.decode(), document(data)


def lines_of(text):
    """Lines without their indentation."""
    return [line.strip() for line in text.splitlines()]


def has_line(text, start):
    """A line that is this, or goes on behind it with a blank or a bracket."""
    return any(line == start or re.match(re.escape(start) + r"[ (,]", line) for line in lines_of(text))


@rule(r"card (?P<name>[A-Z0-9 -]+?)(?: behind (?P<port>[0-9a-f:.]+))?")
def expect_card(match, text, card, _case):
    """One card, its name, the port above."""
    head = text.splitlines()[0]
    check(card and card["name"] == match["name"], f"JSON says {card and card['name']}")
    check(re.match(rf"[0-9a-f:.]+ {re.escape(match['name'])} \[10de:[0-9a-f]{{4}}\]", head), head)
    if match["port"]:
        check(head.endswith(f" behind {match['port']}"), head)
        check(card["port"] == f"0000:{match['port']}", card["port"])


@rule(r"step (?P<what>\w+) (?P<from>\S+) -> (?P<to>\S+)(?: \([^)]*\))?")
def expect_step(match, text, card, _case):
    """A step, word by word."""
    check(has_line(text, match[0]) if "(" not in match[0] else match[0] in lines_of(text), text)
    check({"what": match["what"], "from": match["from"], "to": match["to"], "result": "planned"} in card["steps"], card["steps"])


@rule(r"no (?P<other>other )?step: (?P<items>.+)")
def expect_no_step(match, text, card, case):
    """No step, or none that another line does not announce; and the items that stay."""
    announced = len(re.findall(r"^# expect: step ", case.read_text(), re.M)) if match["other"] else 0
    check(len(card["steps"]) == announced, card["steps"])
    check(sum(line.startswith("step ") for line in lines_of(text)) == announced, text)
    for item in re.findall(r"(\w+) (\w+)\(unchanged\)", match["items"]):
        check(f"{item[0]} {item[1]}(unchanged)" in lines_of(text), text)
        check(card["quirks"][item[0]] == item[1], card["quirks"])


@rule(r"speed (?P<speed>[0-9.]+GT/s),x(?P<width>\d+)\(max (?P<max_speed>[0-9.]+GT/s),x(?P<max_width>\d+)\)")
def expect_speed(match, text, card, _case):
    """Speed and width, now and at most."""
    check(match[0] in lines_of(text), text)
    check(card["link"] == {"speed": match["speed"], "width": int(match["width"]), "max_speed": match["max_speed"],
                           "max_width": int(match["max_width"])}, card["link"])


@rule(r"speed=(?P<set>gen\d) -> (?P<rest>step (?P<what>cap) (?P<from>gen\d) -> (?P<to>gen\d) on the port, .+)")
def expect_cap_step(match, _text, _card, case):
    """With another setting: a step on the port."""
    text, data = plan(case, "--set", f"speed={match['set']}")
    check(match["rest"] in lines_of(text), text)
    check({"what": "cap", "from": match["from"], "to": match["to"], "result": "planned"} in data["cards"][0]["steps"], data)


@rule(r"speed=(?P<set>gen\d) -> cap unneeded, no write")
def expect_cap_unneeded(match, _text, _card, case):
    """With another setting: nothing for the port."""
    text, data = plan(case, "--set", f"speed={match['set']}")
    check("cap unneeded, no write" in lines_of(text), text)
    check(data["cards"][0]["quirks"]["cap"] == "unneeded", data["cards"][0]["quirks"])
    check(not [step for step in data["cards"][0]["steps"] if step["what"] == "cap"], data["cards"][0]["steps"])


@rule(r"port not in dump")
def expect_no_port(match, text, card, _case):
    """The bridge above is missing."""
    check(text.splitlines()[0].endswith(match[0]) and card["port"] is None, text)


@rule(r"endpoint has no Link Control 2 \(capability version 1\)")
def expect_version_1(match, text, _card, _case):
    """A capability without the second set of registers."""
    check(match[0] in lines_of(text), text)


@rule(r"state (?P<state>\w+): .*")
def expect_state(match, text, card, _case):
    """The state in a word."""
    check(f"state {match['state']}" in lines_of(text) and card["quirks"]["state"] == match["state"], text)


@rule(r"no mining card; .*")
def expect_no_card(_match, text, card, _case):
    """One line, no card."""
    check(text == "no mining card\n" and card is None, text)


@rule(r"exit 0")
def expect_exit(_match, _text, _card, _case):
    """plan() has looked at the status already."""


def test_of(case):
    """The test of one case."""
    def test():
        text, data = plan(case)
        card = data["cards"][0] if data["cards"] else None
        check(len(data["cards"]) <= 1, "one card per case")
        expectations = re.findall(r"^# expect: (.+)$", case.read_text(), re.M)
        check(expectations, "no expectation")
        for words in expectations:
            found = [(pattern.fullmatch(words), function) for pattern, function in RULES]
            matching = [(match, function) for match, function in found if match]
            check(len(matching) == 1, f"{len(matching)} rules for: {words}")
            matching[0][1](matching[0][0], text, card, case)
    test.__name__ = f"test_case-{case.stem}"
    return test


if __name__ == "__main__":
    FILES = sorted(CASES.glob("*.txt"))
    check(len(FILES) >= 7, f"{len(FILES)} cases in {CASES}")
    main([test_of(file) for file in FILES])
