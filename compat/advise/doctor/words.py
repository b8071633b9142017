"""What packages say in words of their own when they meet another version than they need: one small
grammar of names, versions and comparisons.
"""

import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from compat.advise.doctor.facts import (
    PYTHON,
    Changed,
    Fact,
    Have,
    Requires,
    Text,
    grammar,
    pattern,
    version_of,
)
from compat.advise.doctor.traceback import Traceback, package_of


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
