"""What pip, uv, poetry, pipenv, pip-tools and conda print when versions do not fit, as facts: who
requires what, what was asked, what there is no file of, and which Python is wanted.

Formats that say one thing are in `grammar.toml`; lists and chains are read here.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from packaging.utils import canonicalize_name

from compat.advise.doctor.facts import (
    CLAUSE,
    EXTRAS,
    NAME,
    PYTHON,
    RANGE,
    Absent,
    Asked,
    Changed,
    Fact,
    Have,
    Refused,
    Requires,
    Text,
    Trouble,
    Unbuilt,
    grammar,
    pattern,
    version_of,
)
from compat.advise.doctor.python import Traceback, package_of

PYTHON_PATTERNS: tuple[str, ...] = tuple(grammar()["site"]["pythons"])
VERSION_PATTERN: str = grammar()["site"]["version"]
_INSTALLED = re.compile(VERSION_PATTERN, re.IGNORECASE)


def resolver_facts(text: Text) -> Iterator[Fact]:
    for stated in PYTHON_PATTERNS:
        for match, line in _each(text, f"(?i){stated}", 1):
            yield Have(what=PYTHON, version=".".join(filter(None, match.groups())), line=line)
    for entry in grammar()["format"]:
        for match, line in _each(text, entry["pattern"]):
            for kind in entry["facts"]:
                yield from _made(kind, _Match(match, entry, text.flat), line)
    yield from _asked_lists(text)
    yield from _conda(text)
    yield from _listed(text)


def _each(
    text: Text, form: "str | re.Pattern[str]", most: int = 400
) -> Iterator[tuple["re.Match[str]", int]]:
    for number, match in enumerate(re.finditer(form, text.flat)):
        if number == most:
            return
        yield match, text.line_at(match.start())


def _name(text: str) -> str:
    name = str(canonicalize_name(re.sub(r"\[.*|\{.*", "", text.strip())))
    return PYTHON if name in ("cpython", "python") else name


class _Match:
    """The fields of one match, by the letters of `grammar.toml`."""

    def __init__(self, match: "re.Match[str]", entry: dict[str, Any], flat: str) -> None:
        self.groups, self.entry, self.flat = match.groupdict(), entry, flat
        wanted = entry.get("range", "").format(self["v"]) or self["r"].strip(",")
        self.range = wanted or (f"=={self['v']}" if self["v"] else "")

    def __getitem__(self, group: str) -> str:
        return (self.groups.get(group) or "").rstrip(".")

    @property
    def what(self) -> str:
        return self.entry.get("what") or _name(self["n"])


def _made(kind: str, match: _Match, line: int) -> Iterator[Fact]:
    match kind:
        case "Requires":
            is_check = match.entry.get("check", False)
            who = _name(match["who"])
            yield Requires(who, match["w"], match.what, match.range, line, is_check=is_check)
        case "Asked":
            yield Asked(what=match.what, range=match.range, line=line)
        case "Other":
            yield Asked(what=_name(match["h"]), range=match["hv"], line=line)
        case "Have" if match["h"]:
            yield Have(what=_name(match["h"]), version=match["hv"], line=line)
        case "Refused":
            yield Refused(who="", version=match["v"], range=match["r"], line=line)
        case "Unbuilt":
            signs = (entry["sign"] for entry in grammar()["build"] if entry["sign"] in match.flat)
            yield Unbuilt(what=match.what, version=match["v"], line=line, why=next(signs, ""))
        case "Absent":
            yield _absent(match, line)
        case "Asker":  # of what pip does not find: `demo==1.0->-r requirements.txt`
            first = match["origin"].partition("->")[0].strip()
            asker = re.match(rf"({NAME}){EXTRAS}(?:==(\d[\w.+!-]*)$)?", first)
            if asker and asker[1] not in ("r", "c"):
                yield Requires(_name(asker[1]), asker[2] or "", match.what, match.range, line)
        case "Joined":  # pip-tools joins the ranges of several askers, and saw releases
            clauses = [clause for clause in match["r"].split(",") if clause]
            for clause in clauses if len(clauses) > 1 and match["all"] else ():
                yield Requires(who="", version="", what=match.what, range=clause, line=line)


def _absent(match: _Match, line: int) -> Fact:
    if match["n"].endswith(".txt") or match.what == PYTHON:
        words = f"{match['n']} names no package: the command or the list is not as pip takes it."
        return Trouble(kind="machine", sentence=words, line=line)
    visited = match.groups.get("all")
    versions = None if visited is None else tuple(re.findall(r"(?:^|, ?)(\d[^,\s]*)", visited))
    versions = versions if match.groups.get("none") is None else ()
    tags = tuple(re.findall(r"\w+", match["tags"].replace(" and ", " ")))
    why = match.entry["why"]
    return Absent(match.what, match.range, why, line, tags=tags, versions=versions)


# Lists of what the user asks for, and what stands in them: a name, and its range in a second group.
_NAMED = rf"(?:^|, | and )({NAME})()(?=,| and |$)"
_PINNED = rf"(?<![\w-])({NAME}){EXTRAS}(?:==| )({RANGE}|\d[\w.*+!]{{0,30}})"
_TERM = rf"({NAME}){EXTRAS}(?:\{{[^}}]*\}})?({RANGE})?\.?(?=,| and |$| \()"
_WORD = rf"(?:^| )'?({NAME}){EXTRAS} ?({CLAUSE}(?:,{CLAUSE})*)'?(?= |$)"
_CANNOT = r"Cannot install (.{3,600}?) because these package versions"
_COMMAND = r"\bpip[\d.]* install ([^$#]{2,300}?)(?= [A-Z]\w+ing |ERROR|\$|$)"
_LISTS: tuple[tuple["str | re.Pattern[str]", str], ...] = (
    *((_CANNOT, each) for each in (_PINNED, _NAMED)),
    (pattern("you_require"), _TERM),
    (_COMMAND, _WORD),
)


def _asked_lists(text: Text) -> Iterator[Fact]:
    """What the user asks for where a tool lists it: pip's `Cannot install`, uv's `you require`."""
    for listed, each in _LISTS:
        for match, line in _each(text, listed):
            for name, wanted in re.findall(each, match[1]):
                if name not in ("line", "and", "r"):
                    yield Asked(what=_name(name), range=wanted, line=line)
    for match, line in _each(
        text, rf"requested Python version \(([^)]+)\) does not satisfy Python({RANGE})"
    ):
        yield Asked(what=PYTHON, range=match[1], line=line)
        tail = text.flat[match.end() : match.end() + 200]
        who = re.match(rf" and ({NAME}){EXTRAS}(?:==(\d[\w.]*))? depends on Python", tail)
        before = text.flat[max(0, match.start() - 700) : match.start()]
        above = re.findall(rf"({NAME})\{{[^}}]*\}}[<>=]", before)
        name, version = (who[1], who[2] or "") if who else (above[-1] if above else "", "")
        yield Requires(_name(name), version, PYTHON, match[2], line)


def _conda(text: Text) -> Iterator[Fact]:
    if not re.search(r"nsatisfiableError|nothing provides|found to be i", text.flat):
        return
    for number, line in enumerate(text.lines, 1):
        stripped = line.strip()
        if not (
            stripped.startswith("-") or "->" in stripped or re.fullmatch(r"[\w.-]+=\S+", stripped)
        ):
            continue
        links = [_conda_spec(part) for part in stripped.lstrip("- ").split("->")]
        if not links[0][0] or links[0][0] in ("package", "specifications"):
            continue
        if len(links) == 1:
            yield Asked(what=_name(links[0][0]), range=links[0][1], line=number)
        for (who, version), (what, wanted) in pairwise(links):
            yield Requires(_name(who), version, _name(what), wanted, number)


def _conda_spec(text: str) -> tuple[str, str]:
    match = re.match(
        r"\s*([A-Za-z][\w.-]*?)(?:\[version='([^']+)'\]|[ =]+([\w.*<>=!,|]+))?(?:[= ]\S+)?\s*$",
        text,
    )
    if match is None:
        return "", ""
    wanted = (match[2] or match[3] or "").split("|")[0]
    if wanted and wanted[0].isdigit() and "*" not in wanted:
        wanted = f"{wanted}.*" if wanted.count(".") < 2 else f"=={wanted}"
    return match[1], wanted


def _listed(text: Text) -> Iterator[Fact]:
    pinned = rf"\s*({NAME}){EXTRAS} ?((?:[<>~!]=?|>=)\s?\d[\w.*]*(?:, ?{CLAUSE})*)(?: ?;.*)?"
    for number, line in enumerate(text.lines, 1):
        wish = re.fullmatch(pinned, line)
        if wish and "ecause" not in text.flat:
            yield Asked(what=_name(wish[1]), range=wish[2], line=number)
        if re.search(
            r"depends on|[Rr]equire|Ignored the|from versions|satisf|Collecting|ecause"
            r"|Found existing|ninstall(?:ed|ing) (?!.*nstalled)",
            line,
        ):
            continue
        if "we can conclude" in text.flat:
            continue  # the versions are those that a resolver weighed
        for match in list(_INSTALLED.finditer(line))[:40]:
            name = match[1].lower()
            if name not in grammar()["lists"]["no_package"] and not name.endswith(".py"):
                yield Have(what=_name(match[1]), version=match[2], line=number)


# ---- what packages say in words of their own


def word_facts(text: Text, trace: Traceback) -> Iterator[Fact]:
    stated: set[tuple[str, str]] = set()
    for match in pattern("step").finditer(text.flat):
        what, line = str(canonicalize_name(match["n"])), text.line_at(match.start())
        yield Changed(what=what, old=match["a"], new=match["b"], line=line)
        yield Have(what=what, version=match["b"], line=line)
    for entry in grammar()["words"]:
        for number, match in enumerate(entry["pattern"].finditer(text.flat)):
            if number == 12:
                break
            around = text.flat[max(0, match.start() - 90) : match.end() + 90]
            near = text.flat[max(0, match.start() - 200) : match.end() + 200]
            if not pattern("asks").search(around) or _is_of_a_tool(near):
                continue
            fact = _fact(match, entry.get("range", ""), text, trace)
            if fact is None or (fact.what, "") in stated or (fact.what == PYTHON):
                continue
            stated.add((fact.what, ""))
            yield fact
            yield from _found(match, fact, text)


def _is_of_a_tool(near: str) -> bool:
    """Whether an installer says it: those have grammars of their own."""
    is_tools = pattern("of_a_tool").search(near.replace("generated code", "")) is not None
    return is_tools and "generated code" not in near


def _fact(match: "re.Match[str]", form: str, text: Text, trace: Traceback) -> Requires | None:
    groups = match.groupdict()
    name = groups["n"].strip(".-")
    if re.search(r"(?:from |-> ?|<)$", match.string[max(0, match.start() - 6) : match.start()]):
        return None
    if name.lower() in grammar()["lists"]["no_name"] or "pb2" in name:
        return None
    what = package_of(name) if "-" not in name else str(canonicalize_name(name))
    wanted = groups.get("r") or ""
    if groups.get("not"):
        opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[groups["not"]]
        wanted = opposite + groups["v"]
    elif not wanted:
        version = groups["v"]
        if form.startswith("<=") and version.endswith(".x"):
            version = version.replace(".x", ".99")
        wanted = form.format(version.removeprefix("v").rstrip("."))
    elif wanted[0].isdigit():
        wanted = f"=={wanted}"
    if groups.get("h") and "Gencode" in match[0]:
        wanted += f",<{int(groups['v'].split('.')[0]) + 2}"
    who = groups.get("who") or _speaker(
        text.flat[max(0, match.start() - 120) : match.end() + 80], what
    )
    if not who:
        who = next((p for p in trace.installed if p not in (what, PYTHON)), "")
    return Requires(
        who=str(canonicalize_name(who.replace(" ", "-"))) if who else "",
        version="",
        what=what,
        range=wanted,
        line=text.line_at(match.start()),
        is_check=True,
    )


def _speaker(near: str, what: str) -> str:
    for match in pattern("speaker").finditer(near):
        who = next(filter(None, (match["a"], match["b"], match["c"], match["d"])))
        name = package_of(who) if " " not in who else who.lower().replace(" ", "-")
        if (
            name != what
            and name not in grammar()["lists"]["no_name"]
            and who.lower() not in ("run", "using", "extension", "project", "we")
        ):
            return name
    return ""


def _found(match: "re.Match[str]", fact: Requires, text: Text) -> Iterator[Fact]:
    groups = match.groupdict()
    matched = groups.get("h")
    if not matched:
        stated = pattern("found").search(text.flat, match.start(), match.end() + 160)
        matched = stated["v"] if stated else None
    if matched and version_of(matched):
        yield Have(what=fact.what, version=matched, line=fact.line)
    if groups.get("who") and groups.get("v"):
        yield Have(what=fact.who, version=groups["v"], line=fact.line)
