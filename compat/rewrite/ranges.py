"""A version range as somebody wrote it, and the same range with another lower bound: what every
rewrite rests on.
"""

import re
from collections.abc import Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.value import Value


class Move(Value, frozen=True, kw_only=True):
    """A floor that goes to `floor`, up or down: of one package, or of Python when `package` is
    None.

    `before` is where it was, and `known` the versions of its axis: lists that name each version
    need them, ranges do not. With `added` the floor stays, and lists that end at the newest known
    version get that one.
    """

    package: str | None
    floor: Version
    before: Version | None = None
    known: tuple[Version, ...] = ()
    added: Version | None = None

    def __post_init__(self) -> None:
        if self.floor.local:
            raise ValueError(f"a floor has no local part: {self.floor}")


class RangePlace(Value, frozen=True, kw_only=True):
    """Where a range stands, and the text there: a requirement, or for Python a bare specifier.

    With `pins`, as in a constraints file, a lone `==` is a choice of one version and no range.
    """

    name: str
    text: str
    pins: bool = False


class Edit(Value, frozen=True, kw_only=True):
    """One value that a rewrite changed."""

    place: str
    before: str
    after: str


class Skipped(Value, frozen=True, kw_only=True):
    """A value that speaks of the package, was not changed, and why."""

    place: str
    text: str
    because: str


class Unsatisfiable(Value, frozen=True, kw_only=True):
    """The move would leave a place with a range that admits nothing; so nothing at all is
    rewritten.
    """

    place: str
    before: str
    because: str


class RewrittenRanges(Value, frozen=True, kw_only=True):
    """The new text of each place, in the order given, and what was left alone."""

    texts: tuple[str, ...]
    left: tuple[Skipped, ...]


Bound = tuple[Version, bool]


class _Clause(Value, frozen=True):
    start: int
    end: int
    operator: str
    space: str
    version: str

    @property
    def bound(self) -> Bound | None:
        """The version from which the clause admits, and whether that version itself is left out."""
        if self.operator in (">=", "~=", "==", ">"):
            return Version(self.version.removesuffix(".*")), self.operator == ">"
        return None


class _Range(Value, frozen=True):
    head: str
    text: str
    tail: str
    clauses: tuple[_Clause, ...]

    @property
    def bound(self) -> Bound | None:
        return max((clause.bound for clause in self.clauses if clause.bound), default=None)


_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?![A-Za-z0-9._-])")
_REQUIREMENT = re.compile(
    _NAME.pattern + r"(?:\s*\[[^\]]*\])?(?P<parenthesis>\s*\(?)(?P<range>[^;@()]*)\)?\s*(?:;.*)?",
    re.S,
)
_CLAUSE = re.compile(r"(~=|==|!=|<=|>=|<|>)(\s*)([^\s,]+)")
_OTHER_PIN = "it is pinned below the new floor, and not at the old one; change it by hand"
_SEVERAL = "it names no lower bound of its own, and other places do"


def moved(places: Sequence[RangePlace], move: Move) -> RewrittenRanges | Unsatisfiable:
    """Return the places' texts after the move; places that do not speak of the package keep theirs.

    The floor is the lowest bound of all places. Up: every lower bound below the new floor goes up.
    Down: those at the old floor go down; a higher bound elsewhere has its own reason and stays.
    Where no place has a lower bound, each gets one.
    """
    if move.added is not None:
        return RewrittenRanges(texts=tuple(place.text for place in places), left=())
    ranges = [_range(place, move) for place in places]
    pinned = [_pinned(r, move) if p.pins else None for p, r in zip(places, ranges, strict=True)]
    ranges = [None if pin is not None else r for pin, r in zip(pinned, ranges, strict=True)]
    known = [parsed.bound for parsed in ranges if isinstance(parsed, _Range) and parsed.bound]
    texts: list[str] = []
    left: list[Skipped] = []
    for place, parsed, pin in zip(places, ranges, pinned, strict=True):
        text = place.text if pin is None else pin
        if pin == place.text:
            left.append(Skipped(place=place.name, text=text, because=_OTHER_PIN))
        elif isinstance(parsed, Skipped):
            left.append(parsed)
        elif parsed and known and parsed.bound is None:
            left.append(Skipped(place=place.name, text=text, because=_SEVERAL))
        elif parsed and _concerned(parsed.bound, known, move.floor):
            changed = with_floor(parsed.text, move.floor)
            if (because := _objection(changed, move.floor)) is not None:
                return Unsatisfiable(place=place.name, before=text, because=because)
            text = parsed.head + changed + parsed.tail
        texts.append(text)
    return RewrittenRanges(texts=tuple(texts), left=tuple(left))


def names_package(text: str, package: str) -> bool:
    match = _NAME.match(text)
    return match is not None and canonicalize_name(match[1]) == canonicalize_name(package)


def with_floor(text: str, floor: Version) -> str:
    """Return a specifier set's text with another lower bound, everything else as it was.

    `>=` keeps its form, `>` becomes `>=`. `~=2.8` stays `~=` as long as it means the same upper
    bound; otherwise it, `==2.8.*` and `==2.8.0` become `>=` with the upper bound that they implied
    (`<3`, `<2.9`, `<=2.8.0`). Upper bounds and `!=` stay. A set without a lower bound gets one in
    front. May return a set that admits nothing.
    """
    clauses = _clauses(text)
    bounded = [(clause.bound, clause) for clause in clauses if clause.bound]
    wanted = (floor, False)
    if not bounded:
        return _in_front(text, clauses, floor)
    top, _ = max(bounded, key=lambda pair: (pair[0], pair[1].operator == ">="))
    if top == wanted:
        return text
    if wanted > top:
        chosen = [max(bounded, key=lambda pair: (pair[0], pair[1].operator == ">="))[1]]
    else:
        chosen = [clause for bound, clause in bounded if bound > wanted]
    comma = ", " if ", " in text else ","
    for clause in reversed(chosen):
        text = text[: clause.start] + _with_floor(clause, floor, comma) + text[clause.end :]
    return text


def _pinned(parsed: _Range | Skipped | None, move: Move) -> str | None:
    # The text of a lone pin after the move: the new floor where it was the old one, itself where it
    # is another version below the new floor; None where the move does not concern it.
    if not isinstance(parsed, _Range) or move.before is None or len(parsed.clauses) != 1:
        return None
    (clause,) = parsed.clauses
    if clause.operator != "==" or clause.version.endswith(".*"):
        return None
    version, text = Version(clause.version), parsed.text
    if is_of(version, move.before):
        text = text[: clause.start] + f"=={clause.space}{move.floor}" + text[clause.end :]
    elif version >= move.floor:
        return None
    return parsed.head + text + parsed.tail


def is_of(version: Version, series: Version | None) -> bool:
    if series is None:
        return False
    return version.release[: len(series.release)] == series.release or version == series


def _concerned(bound: Bound | None, known: list[Bound], floor: Version) -> bool:
    if bound is None or not known:
        return True
    wanted, lowest = (floor, False), min(known)
    return bound < wanted if wanted > lowest else bound == lowest


def _range(place: RangePlace, move: Move) -> _Range | Skipped | None:
    # Return the range at a place, why it cannot be moved, or None when it is about something else.
    if move.package is None:
        return _parsed("", place.text, "", place)
    if not names_package(place.text, move.package):
        return None
    match = _REQUIREMENT.fullmatch(place.text)
    try:
        requirement = Requirement(place.text.strip())
    except InvalidRequirement:
        return Skipped(
            place=place.name, text=place.text, because="it is not a valid requirement (PEP 508)"
        )
    if requirement.url or match is None:
        return Skipped(
            place=place.name,
            text=place.text,
            because="it is a direct reference, which has no range",
        )
    start, end = match.span("range")
    return _parsed(place.text[:start], place.text[start:end], place.text[end:], place)


def _parsed(head: str, text: str, tail: str, place: RangePlace) -> _Range | Skipped:
    try:
        specifiers = SpecifierSet(text)
    except InvalidSpecifier:
        return Skipped(
            place=place.name, text=place.text, because="its range is not valid (PEP 440)"
        )
    if any(part.operator == "===" or "+" in part.version for part in specifiers):
        return Skipped(
            place=place.name, text=place.text, because="it asks for one build, not for a range"
        )
    return _Range(head, text, tail, _clauses(text))


def _clauses(text: str) -> tuple[_Clause, ...]:
    return tuple(
        _Clause(match.start(), match.end(), *match.groups()) for match in _CLAUSE.finditer(text)
    )


def _in_front(text: str, clauses: Sequence[_Clause], floor: Version) -> str:
    if not clauses:
        return f">={floor}{text}"
    start = clauses[0].start
    return f"{text[:start]}>={clauses[0].space}{floor}{', ' if ', ' in text else ','}{text[start:]}"


def _with_floor(clause: _Clause, floor: Version, comma: str) -> str:
    plain = f">={clause.space}{floor}"
    if clause.operator in (">=", ">"):
        return plain
    version = Version(clause.version.removesuffix(".*"))
    if clause.operator == "~=":
        same = _compatible(version, floor)
        return (
            f"~={clause.space}{same}"
            if same
            else f"{plain}{comma}<{clause.space}{_after(version, 1)}"
        )
    if clause.version.endswith(".*"):
        return f"{plain}{comma}<{clause.space}{_after(version, 0)}"
    return f"{plain}{comma}<={clause.space}{clause.version}"


def _compatible(version: Version, floor: Version) -> str | None:
    # Return what follows `~=` so that it starts at the floor and ends where it ended; None when
    # nothing does.
    length = len(version.release)
    if (
        len(floor.release) > length
        or floor.epoch != version.epoch
        or str(floor) != floor.base_version
    ):
        return None
    padded = (*floor.release, *[0] * (length - len(floor.release)))
    return _numbers(floor.epoch, padded) if padded[:-1] == version.release[:-1] else None


def _after(version: Version, dropped: int) -> str:
    # Return the first version after the series that is left when `dropped` components are cut off.
    series = version.release[: len(version.release) - dropped]
    return _numbers(version.epoch, (*series[:-1], series[-1] + 1))


def _numbers(epoch: int, release: Sequence[int]) -> str:
    return (f"{epoch}!" if epoch else "") + ".".join(map(str, release))


def _objection(text: str, floor: Version) -> str | None:
    specifiers = SpecifierSet(text)
    if specifiers.is_unsatisfiable():
        return f"nothing is left of {text.strip()}"
    # A floor of one or two components is a series (2.8): its first patch may be left out. A longer
    # one is a version.
    admitted = (
        not (specifiers & SpecifierSet(f"=={floor.public}.*")).is_unsatisfiable()
        if _series(floor)
        else floor in specifiers
    )
    return None if admitted else f"{text.strip()} leaves out {floor} itself"


def _series(floor: Version) -> bool:
    return len(floor.release) < 3 and str(floor) == floor.base_version
