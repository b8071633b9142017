"""What pins a minimum version, in sentences; for the page, the API and the command."""

from typing import Literal

from packaging.version import Version

from compat.run.outcome import Failed, parse_outcome
from compat.search.why import CellBelow, Keeper, NeedKind, PackageFloor, PythonFloor
from compat.site.wording import cause_sentence, count, cut_text, listed

# What a reader must know to trust the rest; docs/limitations.md has it at length.
BLIND_SPOTS = (
    "vermin reads the sources and runs nothing: it does not see what a dependency needs, arguments"
    " that only a newer `typing` takes, or `X | Y` outside annotations; what stands below a look at"
    " the version or beside a fallback is not counted; and annotations that something evaluates"
    " (dataclass readers, get_type_hints) need their Python even when they are postponed."
)
_KINDS: dict[NeedKind, tuple[str, str]] = {
    "annotation": ("annotation", "annotations"),
    "type": ("type that runs", "types that run"),
    "code": ("place in the code", "places in the code"),
    "guard": ("version check", "version checks"),
}
_OWN: tuple[Literal["code", "type", "annotation", "guard"], ...] = (
    "code",
    "type",
    "annotation",
    "guard",
)


def keeper_sentence(floor: PythonFloor) -> str:
    series, read = floor.series, floor.needs
    if not floor.keepers:
        if read is None:
            return f"It declares no more than Python {series}; its sources were not read."
        return f"Nothing in its code or its metadata asks for more than Python {series}."
    hardest = floor.keepers[0]
    if hardest == "dependency":
        outcome = cause_sentence(parse_outcome(floor.below[0].outcome)).removesuffix(".")
        return (
            f"A dependency keeps it at Python {series}; nothing in its own code does. On Python"
            f" {floor.below[0].version}, {_lower_first(outcome)}."
        )
    if hardest == "wheel":
        return f"Its wheels are for Python {series} and newer: there is no wheel below."
    if hardest == "declared":
        if read is None:
            return f"Python {series} is declared; whether its code needs it was not read."
        bounds = [b for keeper in _OWN if (b := _bound(floor, keeper)) is not None]
        most = max(bounds, default=Version("3.6"))
        return (
            f"Python {series} is declared only: nothing that was found in its"
            f" {count(floor.modules, 'module')} needs more than Python {most}."
        )
    return f"{_needed_by(floor, hardest)}{_declared(floor)}"


def combination_lines(floor: PythonFloor) -> tuple[str, ...]:
    if floor.needs is None:
        return ()
    lines = []
    for kind in _OWN:
        for group in floor.needs:
            if group.kind == kind and group.series == floor.series:
                lines += [f"{p.file}:{p.line}: {p.feature}" for p in group.first]
                if group.places > len(group.first):
                    more = (f"more {word}" for word in _KINDS[kind])
                    lines.append(f"and {count(group.places - len(group.first), *more)}")
    return tuple(lines)


def unreached_sentence(floor: PythonFloor) -> str:
    if not floor.unreached:
        return ""
    newest = max(floor.unreached, key=lambda group: Version(group.series))
    first = newest.first[0]
    return (
        f"{count(newest.places, *_KINDS[newest.kind])} in {count(newest.files, 'file')} would need"
        f" Python {newest.series} ({first.file}:{first.line}: {first.feature}), but what the suite"
        f" tries works on Python {floor.works_on}."
    )


def below_sentence(cell: CellBelow, axis: str) -> str:
    preposition = "On" if axis == "Python" else "With"
    where = f"{preposition} {axis} {cell.version} ({cell.cell})"
    outcome = parse_outcome(cell.outcome) if cell.outcome else None
    if cell.kind == "works":
        return f"{where} it works."
    if cell.kind == "partial":
        first, others = cell.failing[0] if cell.failing else None, len(cell.failing) - 1
        if first is None:
            return f"{where} it works in part."
        more = f" and {count(others, 'more capability', 'more capabilities')}" if others else ""
        return f"{where} it works, except {first.id}{more}: {cut_text(first.subject)}."
    if outcome is None:
        return f"{where} there is no answer."
    if cell.is_by_rule:
        what = outcome.subject if isinstance(outcome, Failed) else ""
        return (
            f"{where} it was not tested: {what}, which a rule of the matrix lets in, cannot be"
            " installed there."
        )
    return f"{where}, {_lower_first(cause_sentence(outcome))}"


def _lower_first(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:]}"


def package_sentence(floor: PackageFloor) -> str:
    if not floor.requirements:
        return f"{floor.release} does not require {floor.package}."
    lines = listed([f"`{line}`" for line in floor.requirements])
    if not floor.lower:
        return f"{floor.release} requires {lines}, which has no lower bound."
    return f"{floor.release} requires {lines}: {floor.package} {floor.lower} or newer."


def api_gone(cell: CellBelow) -> tuple[str, ...]:
    names = [c.failed.by for c in cell.failing if c.failed is not None and c.failed.by]
    outcome = parse_outcome(cell.outcome) if cell.outcome else None
    is_missing = isinstance(outcome, Failed) and outcome.cause.startswith("missing-")
    if is_missing and isinstance(outcome, Failed):
        names.append(outcome.by or outcome.subject)
    return tuple(dict.fromkeys(name for name in names if name))


def short_answer(floor: PythonFloor) -> str:
    if not floor.keepers:
        return "nothing"
    words: dict[Keeper, str] = {
        "wheel": "no wheel below",
        "code": "code",
        "type": "types that run",
        "annotation": "annotations only",
        "guard": "a version check",
        "declared": "declared only",
        "dependency": "a dependency",
    }
    return words[floor.keepers[0]]


def below_words(floor: PythonFloor) -> str:
    """Return in a few words the result on the newest Python below: `3.8: no (type-error)`; empty
    where none was tried.
    """
    if not floor.below:
        return ""
    cell = floor.below[0]
    outcome = parse_outcome(cell.outcome) if cell.outcome else None
    if cell.kind in ("works", "partial") or not isinstance(outcome, Failed):
        return f"{cell.version}: {cell.kind}"
    return f"{cell.version}: no ({outcome.cause})"


def _needed_by(floor: PythonFloor, hardest: Keeper) -> str:
    read = floor.needs
    assert read is not None, "only what was read needs anything"
    groups = {g.kind: g for g in read if g.series == floor.series}
    words = [
        f"{count(groups[kind].places, *_KINDS[kind])} in {count(groups[kind].files, 'file')}"
        for kind in _OWN
        if kind in groups
    ]
    sentence = f"Python {floor.series} is needed by {listed(words)}"
    if hardest == "annotation":
        only = f"Python {floor.series} is needed by annotations only: {words[0]}"
        return f"{only}; {words[1]} must be lifted as well" if "guard" in groups else only
    if hardest == "guard":
        return f"Only {words[0]} asks for Python {floor.series}: it refuses older ones at import"
    if hardest == "type":
        return f"{sentence}; `typing` has older names for these types"
    return sentence


def _declared(floor: PythonFloor) -> str:
    declared = _bound(floor, "declared")
    if declared is None:
        return "; its metadata declares no minimum."
    if declared < Version(floor.series):
        return f"; its metadata admits Python {declared} all the same."
    return "."


def _bound(floor: PythonFloor, keeper: Keeper) -> Version | None:
    return Version(floor.bounds[keeper]) if keeper in floor.bounds else None
