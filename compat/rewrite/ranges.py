"""Replaces the lower bound of a range as written, and updates lists of supported versions from the
old floor to the new one.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.value import Value


class Move(Value, frozen=True, kw_only=True):
    """A floor that goes up or down to `floor`: of a package, or of Python if `package` is None.

    `before` is the old floor, `known` the versions of its axis, which lists need. With `added` the
    floor stays, and lists that end at the newest known version get that one.
    """

    package: str | None
    floor: Version
    before: Version | None = None
    known: tuple[Version, ...] = ()
    added: Version | None = None

    def __post_init__(self) -> None:
        if self.floor.local:
            raise ValueError(f"a floor has no local part: {self.floor}")


class Skipped(Value, frozen=True, kw_only=True):
    """A value that names the package, was not changed, and why."""

    place: str
    text: str
    because: str


class Unsatisfiable(Skipped, frozen=True, kw_only=True):
    """The move would leave a range that admits nothing; so nothing is rewritten."""


class Rewritten(Value, frozen=True, kw_only=True):
    """The text after a move, and the unchanged values that name the package."""

    text: str
    left: tuple[Skipped, ...] = ()


class RepositoryFile(Value, frozen=True, kw_only=True):
    """A file of the repository as it was read, and its new text."""

    path: str
    before: str
    after: str


# The lower end of a range, and whether that version itself is excluded.
Bound = tuple[Version, bool]
_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?![A-Za-z0-9._-])")
_REQUIREMENT = re.compile(
    _NAME.pattern + r"(?:\s*\[[^\]]*\])?(?P<parenthesis>\s*\(?)(?P<range>[^;@()]*)\)?\s*(?:;.*)?",
    re.S,
)
_CLAUSE = re.compile(r"(?P<operator>~=|==|!=|<=|>=|<|>)(?P<space>\s*)(?P<version>[^\s,]+)")
_OTHER_PIN = "it is pinned below the new floor, and not at the old one; change it by hand"
_SEVERAL = "it names no lower bound of its own, and other places do"


def moved(
    places: Sequence[tuple[str, str]], move: Move, pins: bool = False
) -> tuple[list[str], tuple[Skipped, ...]] | Unsatisfiable:
    """Return the text of each place (name, requirement or Python specifier) after the move, and the
    unchanged places.

    The floor is the lowest bound of all places. Up: every lower bound below the new floor goes up.
    Down: those at the old floor go down; a higher bound elsewhere has its own reason. Without any
    lower bound, each place gets one. With `pins`, as in a constraints file, a lone `==` is a pin
    and no range.
    """
    if move.added is not None:
        return [text for _, text in places], ()
    ranges = [_range(name, text, move) for name, text in places]
    pinned = [_pinned(r, move) if pins and isinstance(r, tuple) else None for r in ranges]
    ranges = [None if pin else r for r, pin in zip(ranges, pinned, strict=True)]
    every = [parsed[1] for parsed in ranges if isinstance(parsed, tuple)]
    known = [bound for text in every if (bound := _bound(_clauses(text)))]
    wanted = (move.floor, False)
    texts: list[str] = []
    left: list[Skipped] = []
    for (name, text), parsed, pin in zip(places, ranges, pinned, strict=True):
        after = pin or text
        if pin == text:
            left.append(Skipped(place=name, text=text, because=_OTHER_PIN))
        elif isinstance(parsed, Skipped):
            left.append(parsed)
        elif parsed is not None:
            head, specifiers, tail = parsed
            bound = _bound(_clauses(specifiers))
            if known and bound is None:
                left.append(Skipped(place=name, text=text, because=_SEVERAL))
            elif (
                bound is None
                or not known
                or (bound < wanted if wanted > min(known) else bound == min(known))
            ):
                changed = with_floor(specifiers, move.floor)
                if because := _objection(changed, move.floor):
                    return Unsatisfiable(place=name, text=text, because=because)
                after = head + changed + tail
        texts.append(after)
    return texts, tuple(left)


def names_package(text: str, package: str) -> bool:
    match = _NAME.match(text)
    return match is not None and canonicalize_name(match[1]) == canonicalize_name(package)


def with_floor(text: str, floor: Version) -> str:
    """Return a specifier set's text with another lower bound and no other change.

    `>=` keeps its form, `>` becomes `>=`. `~=2.8` stays `~=` while its upper bound is the same.
    Otherwise it, `==2.8.*` and `==2.8.0` become `>=` with the upper bound that they implied (`<3`,
    `<2.9`, `<=2.8.0`). Upper bounds and `!=` stay. A set without a lower bound gets one in front.
    May return a set that admits nothing.
    """
    clauses, wanted = _clauses(text), (floor, False)
    comma = ", " if ", " in text else ","
    bounded = [(bound, clause) for clause in clauses if (bound := _bound([clause]))]
    if not bounded:
        if not clauses:
            return f">={floor}{text}"
        start = clauses[0].start()
        return f"{text[:start]}>={clauses[0]['space']}{floor}{comma}{text[start:]}"
    top, highest = max(bounded, key=lambda pair: (pair[0], pair[1]["operator"] == ">="))
    if top == wanted:
        return text
    above = [clause for bound, clause in bounded if bound > wanted]
    for clause in [highest] if wanted > top else reversed(above):
        operator, space, version = clause.groups()
        after, own = f">={space}{floor}", Version(version.removesuffix(".*"))
        if operator == "~=":
            same = _compatible(own, floor)
            after = f"~={space}{same}" if same else f"{after}{comma}<{space}{_after(own, 1)}"
        elif version.endswith(".*"):
            after += f"{comma}<{space}{_after(own, 0)}"
        elif operator == "==":
            after += f"{comma}<={space}{version}"
        text = text[: clause.start()] + after + text[clause.end() :]
    return text


def is_of(version: Version, series: Version | None) -> bool:
    if series is None:
        return False
    return version.release[: len(series.release)] == series.release or version == series


def _clauses(text: str) -> list[re.Match[str]]:
    return list(_CLAUSE.finditer(text))


def _bound(clauses: Iterable[re.Match[str]]) -> Bound | None:
    bounds = [
        (Version(clause["version"].removesuffix(".*")), clause["operator"] == ">")
        for clause in clauses
        if clause["operator"] in (">=", "~=", "==", ">")
    ]
    return max(bounds, default=None)


def _pinned(parsed: tuple[str, str, str], move: Move) -> str | None:
    # The text of a lone pin after the move: the new floor instead of the old one, itself where it
    # is another version below the new floor; None where the move does not concern it.
    head, text, tail = parsed
    clauses = _clauses(text)
    if move.before is None or len(clauses) != 1:
        return None
    operator, space, version = clauses[0].groups()
    if operator != "==" or version.endswith(".*"):
        return None
    if is_of(Version(version), move.before):
        text = text[: clauses[0].start()] + f"=={space}{move.floor}" + text[clauses[0].end() :]
    elif Version(version) >= move.floor:
        return None
    return head + text + tail


def _range(place: str, text: str, move: Move) -> tuple[str, str, str] | Skipped | None:
    start, end, because = 0, len(text), ""
    if move.package is not None:
        if not names_package(text, move.package):
            return None
        match = _REQUIREMENT.fullmatch(text)
        try:
            if Requirement(text.strip()).url or match is None:
                because = "it is a direct reference, which has no range"
            else:
                start, end = match.span("range")
        except InvalidRequirement:
            because = "it is not a valid requirement (PEP 508)"
    if not because:
        try:
            parts = SpecifierSet(text[start:end])
            if any(part.operator == "===" or "+" in part.version for part in parts):
                because = "it asks for one build, not for a range"
        except InvalidSpecifier:
            because = "its range is not valid (PEP 440)"
    if because:
        return Skipped(place=place, text=text, because=because)
    return text[:start], text[start:end], text[end:]


def _compatible(version: Version, floor: Version) -> str | None:
    # The version after `~=` that starts at the floor and has the same end; None without one.
    length = len(version.release)
    is_plain = floor.epoch == version.epoch and str(floor) == floor.base_version
    if len(floor.release) > length or not is_plain:
        return None
    padded = (*floor.release, *[0] * (length - len(floor.release)))
    return _numbers(floor.epoch, padded) if padded[:-1] == version.release[:-1] else None


def _after(version: Version, dropped: int) -> str:
    series = version.release[: len(version.release) - dropped]
    return _numbers(version.epoch, (*series[:-1], series[-1] + 1))


def _numbers(epoch: int, release: Sequence[int]) -> str:
    return (f"{epoch}!" if epoch else "") + ".".join(map(str, release))


def _objection(text: str, floor: Version) -> str:
    specifiers = SpecifierSet(text)
    if specifiers.is_unsatisfiable():
        return f"nothing is left of {text.strip()}"
    # A floor of one or two components is a series (2.8): its first patch may be omitted. A longer
    # one is a version.
    is_admitted = floor in specifiers
    if len(floor.release) < 3 and str(floor) == floor.base_version:
        is_admitted = not (specifiers & SpecifierSet(f"=={floor.public}.*")).is_unsatisfiable()
    return "" if is_admitted else f"{text.strip()} leaves out {floor} itself"


Spell = Callable[[Version], str]
_REST_OF_LINE = re.compile(r"[ \t]*,?[ \t]*(?:#.*)?\r?\n?")
_COMMENT_ABOVE = re.compile(r"(?:[ \t]*#[^\n]*\n)+\Z")


class ListedVersion(Value, frozen=True):
    """An item of a list: its position without the separator, and its version. `spell` writes
    another version; None for an item that can only be removed, such as a PyPy.
    """

    start: int
    end: int
    version: Version
    spell: Spell | None


class TextChange(Value, frozen=True):
    """A stretch of a text, and its replacement."""

    start: int
    end: int
    after: str


def value_changes(
    text: str, known: Iterable[ListedVersion | None], move: Move, is_list: bool
) -> list[TextChange]:
    """Return the changes of a list, or of one value; None stands for an item that is no version."""
    items = [each for each in known if each is not None]
    if is_list:
        return list_changes(text, items, move)
    item = items[0] if items and move.before is not None and move.added is None else None
    if item is None or item.spell is None or not _leaves(item, move):
        return []
    return [TextChange(item.start, item.end, item.spell(move.floor))]


def list_changes(text: str, items: Sequence[ListedVersion], move: Move) -> list[TextChange]:
    """Up: in a list that has one from the old floor to below the new one, all below the new one are
    removed; if it does not name the new floor, the highest of them becomes it. Down: a list that
    began at the old floor gets the new versions. An added version goes beside the newest.
    """
    plain = [item for item in items if item.spell is not None]
    if move.added is not None:
        highest = max(plain, key=lambda item: item.version, default=None)
        if highest is None or not is_of(highest.version, max(move.known, default=None)):
            return []
        known = text[items[0].start : items[-1].end]
        if re.search(rf"(?<![\w.]){re.escape(str(move.added))}(?![\dt])", known):
            return []  # already listed, as a pre-release: 3.15-dev
        return _beside_the_end(text, items, highest, [move.added])
    if move.before is None:
        return []
    if move.floor < move.before:
        lowest = min(plain, key=lambda item: item.version, default=None)
        if lowest is None or not is_of(lowest.version, move.before):
            return []
        versions = sorted(v for v in move.known if move.floor <= v < lowest.version)
        new = [v for v in versions if not is_of(lowest.version, v)]
        return _beside_the_end(text, items, lowest, new)
    leaving = [item for item in items if _leaves(item, move)]
    if leaving:
        leaving = [i for i in items if i.version < move.floor and not is_of(move.floor, i.version)]
    # A list of series has the series of a floor that is one release.
    is_named = any(is_of(i.version, move.floor) or is_of(move.floor, i.version) for i in items)
    own = () if is_named else [item for item in leaving if item.spell is not None]
    stays = max(own, key=lambda item: item.version, default=None)
    changes: list[TextChange] = []
    # From the last on, without those after it: a list that ends with several loses their commas.
    for item in sorted(leaving, key=lambda item: item.start, reverse=True):
        if item is stays and item.spell is not None:
            changes.append(TextChange(item.start, item.end, item.spell(move.floor)))
        else:
            start, end = _without(text, item.start, item.end)
            changes.append(TextChange(start, end, ""))
            text = text[:start] + text[end:]
    return changes


def applied(text: str, changes: Iterable[TextChange], left: Iterable[Skipped] = ()) -> Rewritten:
    once = {(change.start, change.end): change.after for change in changes}
    for (start, end), after in sorted(once.items(), reverse=True):
        text = text[:start] + after + text[end:]
    return Rewritten(text=text, left=tuple(left))


def plain_version(text: str) -> Version | None:
    """Parse a version; None for any other text, such as the git tag `v2.8.5`."""
    return Version(text) if re.fullmatch(r"\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?", text) else None


def _leaves(item: ListedVersion, move: Move) -> bool:
    assert move.before is not None
    return move.before <= item.version < move.floor and not is_of(move.floor, item.version)


def _beside_the_end(
    text: str, items: Sequence[ListedVersion], end: ListedVersion, versions: Sequence[Version]
) -> list[TextChange]:
    position = items.index(end)
    neighbour = 1 if position == 0 else position - 1
    if end.spell is None or neighbour >= len(items):
        return []
    first, second = sorted((position, neighbour))
    between = re.sub(r"[ \t]*#[^\n]*", "", text[items[first].end : items[second].start])
    between = re.sub(r"(\r?\n)(?:[ \t]*\r?\n)+", r"\1", between)
    spelled = [end.spell(version) for version in versions]
    if position == 0:
        return [TextChange(end.start, end.start, "".join(f"{item}{between}" for item in spelled))]
    return [TextChange(end.end, end.end, "".join(f"{between}{item}" for item in reversed(spelled)))]


def _without(text: str, start: int, end: int) -> tuple[int, int]:
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end + 1
    head, tail = text[line_start:start], text[end:line_end]
    if re.fullmatch(r"[ \t]*(?:- +)?", head) and _REST_OF_LINE.fullmatch(tail):
        above = _COMMENT_ABOVE.search(text, 0, line_start)
        # A comment goes with its item, unless it may describe those below, too.
        is_own = re.match(r"\s*(?:#|[\])}]|$|\n)", text[line_end:])
        return (above.start() if above and is_own else line_start), line_end
    if match := re.match(r"[ \t]*,[ \t]*", tail):
        return start, end + match.end()
    if match := re.search(r"[ \t]*,[ \t]*$", head):
        return line_start + match.start(), end
    return start, end
