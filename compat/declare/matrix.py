"""The declared matrix: axes, rules, suite and floors as frozen values."""

import datetime
from typing import Annotated, Any, Literal, get_args

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from compat.declare.faults import choice
from compat.declare.parsing import (
    LONGEST_SPECIFIER,
    Builds,
    CellText,
    ExtraName,
    Link,
    Name,
    PackageName,
    Platform,
    Reason,
    Requirements,
    Short,
    Title,
    parse_release,
    parse_requirement,
    parse_specifier,
    parse_version,
)
from compat.declare.patches import patch_of
from compat.declare.platforms import PlatformNames
from compat.declare.prerelease_table import Prereleases
from compat.declare.selector import Selector
from compat.declare.suite_table import Suite
from compat.value import StrictValue

# Where a coordinate can lie outside what the subject's published requirement admits: anywhere,
# below or above it.
Outside = Literal["moved", "older", "newer"]
OUTSIDE: tuple[Outside, ...] = get_args(Outside)
# Whose fault it is that a capability fails; `KnownIssue` says more.
FaultOf = Literal["combination", "release", "index"]
ANY = "any"
NOTHING = "nothing"

Pin = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=LONGEST_SPECIFIER,
        description="a version specifier, 'any' or 'nothing'",
        extra_json_schema={"format": "pin"},
    ),
]


class InterpreterAxis(StrictValue, frozen=True, tag_field="kind", tag="interpreter"):
    """CPython series: `3.11.7` is the oldest patch of its series that a lock must still install on.

    `3.11` leaves the patch open: locks are made for the newest one that this edition of compat
    knows, which is the same on every machine.
    """

    name: Name
    short: Short
    releases: Annotated[tuple[Version, ...], msgspec.Meta(min_length=1, max_length=50)]

    @property
    def patches(self) -> tuple[Version, ...]:
        return tuple(map(patch_of, self.releases))


class PackageAxis(StrictValue, frozen=True, tag_field="kind", tag="package"):
    """Releases of one package of the index; every cell installs it with its `extras`."""

    name: Name
    short: Short
    package: PackageName
    select: Selector = msgspec.field(default_factory=Selector)
    extras: Annotated[tuple[ExtraName, ...], msgspec.Meta(max_length=20)] = ()

    @property
    def normalised_name(self) -> NormalizedName:
        return canonicalize_name(self.package)


Axis = InterpreterAxis | PackageAxis


class When:
    """Conditions on coordinates, all of which must hold: axis name -> specifier, `moved`, `older`
    or `newer`.

    `moved` holds when the coordinate lies outside what the subject's published requirement admits,
    `older` and `newer` when it lies below or above all of that. A plain class because msgspec would
    read a Struct's keys as fields, and these keys are the matrix's own axis names.
    """

    __slots__ = ("conditions",)

    def __init__(self, conditions: tuple[tuple[str, SpecifierSet | Outside], ...]) -> None:
        self.conditions = conditions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, When) and self.conditions == other.conditions

    def __hash__(self) -> int:
        return hash(self.conditions)

    def __repr__(self) -> str:
        return f"When({self.as_table()!r})"

    def as_table(self) -> dict[str, str]:
        return {axis: str(condition) for axis, condition in self.conditions}


class Relaxation(StrictValue, frozen=True):
    """One pin of the subject that a rule lifts, replaces or drops; with `everywhere`, anybody's pin
    in the tree.

    `to` is a specifier (the pin is replaced), `any` (lifted) or `nothing` (the package is dropped).
    `as_of` names an axis: the package is resolved as of that coordinate's release instead of the
    cell's. It is an offer: where the cell can be locked with the published pin, the lock keeps
    that. With `always` it is taken even there, for a need that no metadata tells, such as a check
    at import. A bound on a package that is on no axis is withdrawn where nothing can be locked with
    it. `ignore_requires_python` is for the subject's own package and stands alone.
    """

    package: PackageName
    to: Pin | None = None
    as_of: Name | None = None
    everywhere: bool = False
    always: bool = False
    ignore_requires_python: bool = False

    def __post_init__(self) -> None:
        if (self.to is None) is not self.ignore_requires_python:
            raise ValueError("needs either `to` or `ignore_requires_python = true`")
        if self.as_of is not None and self.to in (None, NOTHING):
            raise ValueError("`as_of` goes with a `to` that keeps the package")
        if self.ignore_requires_python and (self.everywhere or self.always):
            raise ValueError(
                "`ignore_requires_python` stands alone, without `everywhere` or `always`"
            )
        parse_pin(self.to or ANY)

    @property
    def specifier(self) -> SpecifierSet:
        """What the pin becomes; empty means any version."""
        return parse_pin(self.to or ANY)


class Rule(StrictValue, frozen=True):
    """A decision of people about cells, with its reason: `exclude` cells, or `relax` pins in
    relaxed cells.
    """

    name: Name
    effect: Literal["exclude", "relax"]
    because: Reason
    when: When = msgspec.field(default_factory=lambda: When(()))
    until: datetime.date | None = None
    link: Link | None = None
    relaxations: Annotated[tuple[Relaxation, ...], msgspec.Meta(max_length=100)] = ()

    def __post_init__(self) -> None:
        if (self.effect == "relax") is not bool(self.relaxations):
            raise ValueError("`relaxations` belong to the effect `relax`, and only to it")


class KnownIssue(StrictValue, frozen=True):
    """Why something is not green, found out by people: shown beside each run that it explains.

    It names the start of an outcome, such as `import-fail:type-error(package/module.py`, or a
    capability and the start of how that fails, such as `test-fail:assertion`, and when it holds. A
    capability that fails in another way is not explained; without `outcome` every way is.

    `fault` says whose fault it is that a capability fails: of the `combination`, of the `release`,
    which fails in every combination, or of the `index`, which no longer has what it needs. Only the
    first takes from the verdict of a cell. A cell where the capability works refutes the entry.
    `since` is the day from which all that `because` says could be known, such as that of the newest
    release that it names; a look back at an earlier day leaves it out.
    """

    because: Reason
    capability: Annotated[str, msgspec.Meta(max_length=200)] = ""
    outcome: Annotated[str, msgspec.Meta(max_length=300)] = ""
    fault: FaultOf = "combination"
    when: When = msgspec.field(default_factory=lambda: When(()))
    link: Link | None = None
    since: datetime.date | None = None

    def __post_init__(self) -> None:
        if not self.capability and not self.outcome:
            raise ValueError("needs `capability`, `outcome`, or both")
        if self.capability and not f"{self.outcome}test-fail".startswith("test-fail"):
            raise ValueError("a capability fails at stage test: `outcome` begins with 'test-fail'")
        if not self.capability and self.fault != "combination":
            raise ValueError(
                "`fault` goes with `capability`: what an outcome stops, nothing excuses"
            )


class Floor(StrictValue, frozen=True):
    """The oldest coordinate of an axis that is supported now, and why."""

    axis: Name
    at: Version
    because: Reason


class Source(StrictValue, frozen=True):
    """An archive outside of the index that has releases of a package, such as a page of links to
    wheels (`pip install --find-links`). It is named where a release is missing, and never asked.
    """

    package: PackageName
    find_links: Link
    because: Reason


class Matrix(StrictValue, frozen=True):
    """A declared matrix.

    `subject` names the axis of the library asked about. `platform` is
    `<architecture>-manylinux_<glibc>`: locks install on any Linux of that architecture with that
    glibc or a newer one. `margin_days` is what recipe `dated` adds to the newest coordinate's
    release, so that companions that came out just after it are seen. `quick` names the few cells
    that tell most, for a look at the state of things; `known` explains what is not green.

    `constraints` bound packages wherever in the tree they are asked for, and bring none along.
    `builds` names the releases, each as `name==version`, whose source distribution may be built
    where no wheel fits; of everything else only wheels are taken, because a build runs other
    people's code. `lowest` asks for cells that install the lowest versions that the subject
    declares of its dependencies, `prereleases` for cells with dependencies that are not out yet.
    `platforms` are others that plain installs are asked about, by metadata and by resolvers; no
    cell of theirs is run here.
    `indexes` says what holds where several package indexes are configured: of each package only the
    `first` index that has it is asked, extra indexes before the main one, or `all` are, and the
    newest version of any of them wins.
    """

    name: Name
    title: Title
    subject: Name
    platform: Platform
    margin_days: Annotated[int, msgspec.Meta(ge=0, le=3650)]
    axes: Annotated[tuple[Axis, ...], msgspec.Meta(min_length=2, max_length=8)]
    suite: Suite
    floors: Annotated[tuple[Floor, ...], msgspec.Meta(max_length=8)] = ()
    rules: Annotated[tuple[Rule, ...], msgspec.Meta(max_length=500)] = ()
    requirements: Requirements = ()
    constraints: Requirements = ()
    builds: Builds = ()
    lowest: bool = False
    prereleases: Prereleases | None = None
    platforms: PlatformNames = ()
    indexes: Literal["first", "all"] = "first"
    quick: Annotated[tuple[CellText, ...], msgspec.Meta(max_length=50)] = ()
    known: Annotated[tuple[KnownIssue, ...], msgspec.Meta(max_length=500)] = ()
    sources: Annotated[tuple[Source, ...], msgspec.Meta(max_length=20)] = ()

    def __post_init__(self) -> None:
        for text in (*self.requirements, *self.constraints):
            parse_requirement(text)
        for text in self.builds:
            parse_release(text)

    @property
    def has_lanes(self) -> bool:
        return self.lowest or self.prereleases is not None

    @property
    def prerelease_axes(self) -> tuple[PackageAxis, ...]:
        names = () if self.prereleases is None else self.prereleases.axes
        return tuple(axis for axis in self.packages if axis.name in names)

    @property
    def interpreters(self) -> InterpreterAxis:
        """The interpreter axis; linting has made sure that there is exactly one."""
        return next(axis for axis in self.axes if isinstance(axis, InterpreterAxis))

    @property
    def packages(self) -> tuple[PackageAxis, ...]:
        return tuple(axis for axis in self.axes if isinstance(axis, PackageAxis))

    @property
    def subject_axis(self) -> PackageAxis:
        """The axis of the library asked about; linting has made sure that it is a package axis."""
        return next(axis for axis in self.packages if axis.name == self.subject)


def parse_condition(text: str) -> SpecifierSet | Outside:
    if not text.strip():
        allowed = "'moved', 'older', 'newer', or a version specifier such as '>=2.3,<3'"
        raise ValueError(f"an empty condition always holds; allowed: {allowed}")
    word = next((word for word in OUTSIDE if word == text), None)
    return _specifier_or(text, *OUTSIDE) if word is None else word


def parse_pin(text: str) -> SpecifierSet:
    """Return what `to` makes of a pin, the empty specifier for `any` and `nothing`, or raise
    ValueError.
    """
    return SpecifierSet() if text in (ANY, NOTHING) else _specifier_or(text, ANY, NOTHING)


def decode_custom(kind: type, raw: Any) -> Any:
    """Decode the types that msgspec does not know; the `dec_hook` of every declaration."""
    if kind is When:
        return _when(raw)
    if not isinstance(raw, str):
        raise ValueError(f"Expected `str`, got `{type(raw).__name__}`")
    if kind is SpecifierSet:
        return parse_specifier(raw)
    if kind is Version:
        return parse_version(raw)
    raise NotImplementedError(kind)


def schema_custom(kind: type) -> dict[str, Any]:
    """Return the JSON schema of the types that msgspec does not know; the `schema_hook` of every
    declaration.
    """
    if kind is When:
        return {"type": "object", "additionalProperties": {"type": "string", "format": "condition"}}
    if kind is SpecifierSet:
        return {"type": "string", "format": "pep440-specifier"}
    if kind is Version:
        return {"type": "string", "format": "pep440-version"}
    raise NotImplementedError(kind)


def _specifier_or(text: str, *words: str) -> SpecifierSet:
    try:
        return parse_specifier(text)
    except ValueError as error:
        raise ValueError(f"{error}; also {choice(text, words)}") from error


def _when(raw: object) -> When:
    if not isinstance(raw, dict) or not all(isinstance(text, str) for text in raw.values()):
        raise ValueError("Expected a table of axis = 'specifier' or axis = 'moved'")
    pairs = ((axis, parse_condition(text)) for axis, text in raw.items())
    return When(tuple(sorted(pairs, key=lambda pair: pair[0])))
