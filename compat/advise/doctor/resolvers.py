"""What pip, uv, poetry, pipenv, pip-tools and conda print when versions do not fit, as facts: who
requires what, what was asked, what there is no file of, and which Python is wanted.

Formats that say one thing are in `grammar.toml`; lists and chains are read here.
"""

import re
from collections.abc import Callable, Iterator
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
    Fact,
    Have,
    Refused,
    Requires,
    Text,
    Trouble,
    Unbuilt,
    grammar,
    pattern,
)

# The Python that a message names, the surest first, and a package with its version. The site's
# script reads them, too: their syntax is that which Python and JavaScript share, a repetition has a
# bound, and case does not count. Two groups are the two numbers of a tag.
_OURS = r"(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?)"
_PLAIN = r"([23]\.\d{1,2}(?:\.\d{1,2})?)(?![\d.]{0,8}(?:[*,<>+]| or | and |-))"
PYTHON_PATTERNS = (
    rf"requires a different python: {_OURS}",
    rf"current python version \(?{_OURS}",
    rf"using (?:cpython|python|python interpreter)[ :]{{1,3}}{_OURS}",
    rf"cannot install on python version {_OURS}",
    rf"(?:you require|you're using|youre using) cpython {_OURS}",
    rf"interpreter (?:version|resolved to python) \(?{_OURS}",
    rf"\(python {_OURS}\)",
    r"(?<!different )(?<!requires )(?<!to )\bpython(?: ?version)?(?:[ =:]| is ){1,3}\(?(?:python )?"
    + _PLAIN,
    r"(?<!requires )\bpython[/\\-]?([23]\.\d{1,2})(?![\d.]{0,8}[*,<>])",
    r"\b(?:cp|cpython-|python)([23])(\d{1,2})(?=[-_/\\.]\w|[/\\])",
)
VERSION_PATTERN = (
    r"(?<![\w.=/-])([a-z][\w.-]{1,60}?)(?:\[[^\]]{0,80}\])?(?:==|(?: version)?:? {1,60}| \(|-)v?"
    r"(\d{1,8}(?:\.\d{1,8}){1,6}(?:[\w+]{0,30}\w)?)(?! or )"
    r"(?=[\s,;)']|-py|-cp|\.tar|\.whl|\.\s|\.$|$)"
)
_INSTALLED = re.compile(VERSION_PATTERN, re.IGNORECASE)


def resolver_facts(text: Text) -> Iterator[Fact]:
    for stated in PYTHON_PATTERNS:
        for match, line in _each(text, f"(?i){stated}", 1):
            yield Have(what=PYTHON, version=".".join(filter(None, match.groups())), line=line)
    for entry in grammar()["format"]:
        for match, line in _each(text, entry["pattern"]):
            for kind in entry["facts"]:
                yield from _MADE[kind](_Match(match, entry, text.flat), line)
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


def _requires(match: _Match, line: int) -> Iterator[Fact]:
    yield Requires(
        who=_name(match["who"]),
        version=match["w"],
        what=match.what,
        range=match.range,
        line=line,
        is_check=match.entry.get("check", False),
    )


def _asked(match: _Match, line: int) -> Iterator[Fact]:
    yield Asked(what=match.what, range=match.range, line=line)


def _other(match: _Match, line: int) -> Iterator[Fact]:
    yield Asked(what=_name(match["h"]), range=match["hv"], line=line)


def _have(match: _Match, line: int) -> Iterator[Fact]:
    if match["h"]:
        yield Have(what=_name(match["h"]), version=match["hv"], line=line)


def _refused(match: _Match, line: int) -> Iterator[Fact]:
    yield Refused(who="", version=match["v"], range=match["r"], line=line)


def _unbuilt(match: _Match, line: int) -> Iterator[Fact]:
    signs = (entry["sign"] for entry in grammar()["build"] if entry["sign"] in match.flat)
    yield Unbuilt(what=match.what, version=match["v"], line=line, why=next(signs, ""))


def _absent(match: _Match, line: int) -> Iterator[Fact]:
    name = match["n"]
    if name.endswith(".txt") or match.what == PYTHON:
        words = f"{name} names no package: the command or the list is not as pip takes it."
        yield Trouble(kind="machine", sentence=words, line=line)
        return
    visited = match.groups.get("all")
    versions = None if visited is None else tuple(re.findall(r"(?:^|, ?)(\d[^,\s]*)", visited))
    if match.groups.get("none") is not None:
        versions = ()
    yield Absent(
        what=match.what,
        range=match.range,
        why=match.entry["why"],
        line=line,
        tags=tuple(re.findall(r"\w+", match["tags"].replace(" and ", " "))),
        versions=versions,
    )


def _asker(match: _Match, line: int) -> Iterator[Fact]:
    """Who asks for what pip does not find: `demo==1.0->-r requirements.txt`."""
    first = match["origin"].partition("->")[0].strip()
    who = re.match(rf"({NAME}){EXTRAS}(?:==(\d[\w.+!-]*)$)?", first)
    if who and who[1] not in ("r", "c"):
        yield Requires(
            who=_name(who[1]),
            version=who[2] or "",
            what=match.what,
            range=match.range,
            line=line,
        )


def _joined(match: _Match, line: int) -> Iterator[Fact]:
    """pip-tools joins the ranges of several askers, and saw releases."""
    clauses = [clause for clause in match["r"].split(",") if clause]
    for clause in clauses if len(clauses) > 1 and match["all"] else ():
        yield Requires(who="", version="", what=match.what, range=clause, line=line)


_MADE: dict[str, Callable[[_Match, int], Iterator[Fact]]] = {
    "Requires": _requires,
    "Asked": _asked,
    "Other": _other,
    "Have": _have,
    "Refused": _refused,
    "Unbuilt": _unbuilt,
    "Absent": _absent,
    "Asker": _asker,
    "Joined": _joined,
}


def _asked_lists(text: Text) -> Iterator[Fact]:
    """What the user asks for where a tool lists it: pip's `Cannot install`, uv's `you require`."""
    for match, line in _each(text, r"Cannot install (.{3,600}?) because these package versions"):
        pinned = rf"(?<![\w-])({NAME}){EXTRAS}(?:==| )({RANGE}|\d[\w.*+!]{{0,30}})"
        for name, wanted in re.findall(pinned, match[1]):
            if name not in ("line", "and", "r"):
                yield Asked(what=_name(name), range=wanted, line=line)
        for name in re.findall(rf"(?:^|, | and )({NAME})(?=,| and |$)", match[1]):
            if name != "and":
                yield Asked(what=_name(name), range="", line=line)
    term = rf"({NAME}){EXTRAS}(?:\{{[^}}]*\}})?({RANGE})?\.?(?=,| and |$| \()"
    for match, line in _each(text, pattern("you_require")):
        for name, wanted in re.findall(term, match[1]):
            if name != "and":
                yield Asked(what=_name(name), range=wanted, line=line)
    for match, line in _each(
        text, r"\bpip[\d.]* install ([^$#]{2,300}?)(?= [A-Z]\w+ing |ERROR|\$|$)"
    ):
        asked = rf"(?:^| )'?({NAME}){EXTRAS} ?({CLAUSE}(?:,{CLAUSE})*)'?(?= |$)"
        for name, wanted in re.findall(asked, match[1]):
            yield Asked(what=_name(name), range=wanted, line=line)
    for match, line in _each(
        text, rf"requested Python version \(([^)]+)\) does not satisfy Python({RANGE})"
    ):
        yield Asked(what=PYTHON, range=match[1], line=line)
        tail = text.flat[match.end() : match.end() + 200]
        who = re.match(rf" and ({NAME}){EXTRAS}(?:==(\d[\w.]*))? depends on Python", tail)
        before = text.flat[max(0, match.start() - 700) : match.start()]
        listed = re.findall(rf"({NAME})\{{[^}}]*\}}[<>=]", before)
        name = who[1] if who else listed[-1] if listed else ""
        version = (who[2] or "") if who else ""
        yield Requires(who=_name(name), version=version, what=PYTHON, range=match[2], line=line)


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
            yield Requires(
                who=_name(who), version=version, what=_name(what), range=wanted, line=number
            )


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
    """Versions that a text mentions, and lines of a list of requirements."""
    pinned = rf"\s*({NAME}){EXTRAS} ?((?:[<>~!]=?|>=)\s?\d[\w.*]*(?:, ?{CLAUSE})*)(?: ?;.*)?"
    for number, line in enumerate(text.lines, 1):
        wish = re.fullmatch(pinned, line)
        if wish and "ecause" not in text.flat:
            yield Asked(what=_name(wish[1]), range=wish[2], line=number)
        if re.search(
            r"depends on|[Rr]equire|Ignored the|from versions|satisf|Collecting|ecause", line
        ):
            continue
        if "we can conclude" in text.flat:
            continue  # the versions are those that a resolver weighed
        for match in list(_INSTALLED.finditer(line))[:40]:
            name = match[1].lower()
            if name not in grammar()["lists"]["no_package"] and not name.endswith(".py"):
                yield Have(what=_name(match[1]), version=match[2], line=number)
