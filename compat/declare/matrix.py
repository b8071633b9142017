"""The declared matrix, its suite table, platforms and policy as frozen values."""

import datetime
import re
from typing import Annotated, Any, ClassVar, Literal, get_args

import msgspec
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from compat.declare import parsing
from compat.declare.parsing import choice
from compat.value import StrictValue, Value, schema_hook

# The platforms that a matrix can declare beside its own.

PlatformName = Literal[
    "linux-x86_64",
    "linux-aarch64",
    "linux-musl-x86_64",
    "linux-musl-aarch64",
    "macos-arm64",
    "macos-x86_64",
    "windows-x86_64",
    "windows-arm64",
]
PLATFORM_NAMES: tuple[PlatformName, ...] = get_args(PlatformName)
PlatformNames = Annotated[tuple[PlatformName, ...], msgspec.Meta(max_length=len(PLATFORM_NAMES))]
# The oldest supported macOS: that of GitHub's oldest runner for arm64 (2026-11-23).
MACOS = (14, 0)


class PlatformFacts(Value, frozen=True, kw_only=True):
    """A platform. `target` is its name in uv, locks and `Matrix.platform`; empty if the matrix's
    glibc decides. `tags` are patterns of platform tags of its wheels. The other fields are its
    markers (PEP 508); `runner` is GitHub's label, if any.
    """

    title: str
    target: str = ""
    tags: tuple[str, ...]
    machine: str
    system: str = "Linux"
    os_name: str = "posix"
    sys_platform: str = "linux"
    runner: str = ""


def _platform(title: str, machine: str, tags: str, target: str, runner: str) -> PlatformFacts:
    markers = {"macOS": ("Darwin", "posix", "darwin"), "Windows": ("Windows", "nt", "win32")}
    system, os_name, sys_platform = markers.get(title.split()[0], ("Linux", "posix", "linux"))
    return PlatformFacts(
        title=title, target=target, tags=tuple(tags.split()), machine=machine, system=system,
        os_name=os_name, sys_platform=sys_platform, runner=runner,
    )  # fmt: skip


# Runners: https://docs.github.com/actions/reference/runners/github-hosted-runners (2026-11-23).
_ROWS = """
Linux x86-64|x86_64|manylinux*_x86_64 linux_x86_64||ubuntu-24.04
Linux aarch64|aarch64|manylinux*_aarch64 linux_aarch64||ubuntu-24.04-arm
Linux x86-64 with musl|x86_64|musllinux_*_x86_64 linux_x86_64|x86_64-unknown-linux-musl|
Linux aarch64 with musl|aarch64|musllinux_*_aarch64 linux_aarch64|aarch64-unknown-linux-musl|
macOS arm64|arm64|macosx_*_arm64 macosx_*_universal2|aarch64-apple-darwin|macos-14
macOS x86-64|x86_64|macosx_*_x86_64 macosx_*_universal2|x86_64-apple-darwin|macos-15-intel
Windows x86-64|AMD64|win_amd64|x86_64-pc-windows-msvc|windows-latest
Windows arm64|ARM64|win_arm64|aarch64-pc-windows-msvc|windows-11-arm
"""
PLATFORMS: dict[PlatformName, PlatformFacts] = {
    name: _platform(*row.split("|"))
    for name, row in zip(PLATFORM_NAMES, _ROWS.split("\n")[1:-1], strict=True)
}


def target_of(name: PlatformName, own: str) -> str:
    """Return a platform as locks name it; Linux with glibc with that of `own`, the matrix's."""
    facts = PLATFORMS[name]
    return facts.target or f"{facts.machine}-{own.partition('-')[2]}"


def own_name(own: str) -> PlatformName:
    return next(name for name in PLATFORM_NAMES if target_of(name, own) == own)


def facts_of_target(target: str) -> PlatformFacts | None:
    return next((facts for facts in PLATFORMS.values() if facts.target == target), None)


def target_words(target: str) -> str:
    """Return a platform's title, `macOS arm64`; Linux with a glibc as locks name it."""
    facts = facts_of_target(target)
    return target if facts is None else facts.title


# The table `[suite]` of a matrix, and the tiers of a run.

# How much of a suite a run asks for: its core capabilities, or all of it.
Tier = Literal["smoke", "full"]
TIERS: tuple[Tier, ...] = get_args(Tier)

CapabilityPattern = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[!-~]{1,200}$(?!\n)",
        description="the id of a capability, or a glob of ids such as 'federated.*'",
    ),
]


# What compat itself passes to pytest, or what would keep the tests of a run from running.
_REFUSED = (
    (r"-c$|--config-file|--rootdir|--confcutdir|--basetemp", "compat says where the suite is"),
    (r"--co$|--collect-only|--fixtures|--version|--help|-h$", "with it no test runs"),
    (r"-[a-z]*x$|--maxfail|--exitfirst|--stepwise|--sw$", "it ends a run before its last test"),
    (r"--reruns", "a retry would hide a failure"),
    (r"--lf$|--ff$|--last-failed|--failed-first|--nf$", "a cell has no earlier run"),
    (r"-p$|-p.", "a cell loads the plugins that the requirements name"),
)


class MeasuredThing(StrictValue, frozen=True):
    """What a metric of the suite measures: a name and a title."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,99}$(?!\n)")]
    title: Annotated[str, msgspec.Meta(min_length=3, max_length=80)]


class Suite(StrictValue, frozen=True):
    """The tests that run inside each cell, what they need installed besides the subject, and the
    limits of a run.

    The tests are at `path`, a folder beside matrix.toml that is written for the matrix, or they are
    the project's own: `tests`, below the repository, which pytest runs with `arguments`. `groups`
    and `extras` are those of the repository's pyproject.toml: their requirements are installed like
    `requirements`.

    `module` must import before any test; empty means the package's name with underscores.
    `environment` holds variables that the cell gets besides compat's own short list. `writes` are
    folders below site-packages that the library itself writes into, such as those of files that it
    unpacks on first use; a cell gets its own copy of them. Limits: seconds of wall time and of
    silence for a step, MiB of memory and of disk. `metrics` are the titles of what it measures, for
    charts. `core` names the few quick capabilities that every release has, by id or glob: `--tier
    smoke` runs only these. Changing `core` does not make earlier results stale.
    """

    path: parsing.SuitePath = ""
    tests: parsing.TestsPath = ""
    arguments: Annotated[tuple[parsing.Argument, ...], msgspec.Meta(max_length=50)] = ()
    groups: parsing.Groups = ()
    extras: parsing.Groups = ()
    module: parsing.ModuleName = ""
    requirements: parsing.Requirements = ()
    environment: Annotated[tuple[parsing.Setting, ...], msgspec.Meta(max_length=20)] = ()
    writes: Annotated[tuple[parsing.InstalledFolder, ...], msgspec.Meta(max_length=20)] = ()
    seconds: Annotated[int, msgspec.Meta(ge=1, le=36_000)] = 600
    silence_seconds: Annotated[int, msgspec.Meta(ge=1, le=36_000)] = 240
    memory_mb: Annotated[int, msgspec.Meta(ge=64, le=1_000_000)] = 4096
    disk_mb: Annotated[int, msgspec.Meta(ge=64, le=1_000_000)] = 4096
    metrics: Annotated[tuple[MeasuredThing, ...], msgspec.Meta(max_length=50)] = ()
    core: Annotated[tuple[CapabilityPattern, ...], msgspec.Meta(max_length=50)] = ()

    def __post_init__(self) -> None:
        if bool(self.path) is bool(self.tests):
            raise ValueError(
                "needs either `path`, a folder beside matrix.toml, or `tests`, a folder or file of"
                " tests below the repository"
            )
        if self.arguments and not self.tests:
            raise ValueError("`arguments` go with `tests`; a suite at `path` has its pytest.ini")
        for argument in self.arguments:
            for pattern, why in _REFUSED:
                if re.match(pattern, argument):
                    raise ValueError(f"`arguments` have {argument!r}: {why}")
        for text in self.requirements:
            parsing.parse_requirement(text)


# The newest patch of each series as of 2026-11-22, https://www.python.org/downloads/. A series that
# is not here is newer than this list, and its `.0` is what everybody has.
_NEWEST = "3.6.15 3.7.17 3.8.20 3.9.25 3.10.22 3.11.18 3.12.16 3.13.18 3.14.10 3.15.2"
NEWEST = {patch.rpartition(".")[0]: Version(patch) for patch in _NEWEST.split()}


def patch_of(release: Version) -> Version:
    if len(release.release) > 2:
        return release
    return NEWEST.get(str(release), Version(f"{release}.0"))


class Selector(StrictValue, frozen=True):
    """Which releases of a package belong to the axis.

    `keep` is `each` release, or the series of each `minor` (X.Y) or `major` (X). A series is locked
    to the newest patch that the recipe allows, or with `patch` to the oldest one. `also` adds
    single releases beside their series. `prereleases` admits alphas, betas, candidates and
    development releases.
    """

    specifier: SpecifierSet = msgspec.field(default_factory=SpecifierSet)
    keep: Literal["each", "minor", "major"] = "each"
    also: Annotated[tuple[Version, ...], msgspec.Meta(max_length=50)] = ()
    patch: Literal["newest", "oldest"] = "newest"
    prereleases: bool = False

    def keeps(self, version: Version) -> bool:
        """Return whether a release of this version is kept.

        Pre-releases, which by PEP 440 development releases are too, are kept only where the
        selector says so. Local versions never are: no public index takes them.
        """
        if version.local is not None or (version.is_prerelease and not self.prereleases):
            return False
        return self.specifier.contains(version, prereleases=True)

    def is_exact(self, coordinate: Version) -> bool:
        return self.keep == "each" or coordinate in self.also

    def names(self, version: Version) -> bool:
        """Return whether that very release is asked for, so that an installer takes it yanked."""
        exact = (clause.version for clause in self.specifier if clause.operator == "==")
        return version in (*self.also, *(Version(text) for text in exact if "*" not in text))

    def stands_for(self, coordinate: Version, version: Version) -> bool:
        if coordinate in self.also:
            return coordinate == version
        return self.series(version) == coordinate

    def coordinate(self, version: Version) -> Version:
        return version if version in self.also else self.series(version)

    def series(self, version: Version) -> Version:
        """Return the series of a version, which is itself where each release is kept.

        A version's epoch (PEP 440) goes into its series.
        """
        match self.keep:
            case "each":
                return version
            case "minor":
                return Version(f"{version.epoch}!{version.major}.{version.minor}")
            case "major":
                return Version(f"{version.epoch}!{version.major}")


IndexAddress = Annotated[
    str,
    msgspec.Meta(
        # Printable ASCII without quotes, angle brackets and `@`: it stands in locks and on pages,
        # so it may hold no password. Without TLS only this machine is believed.
        pattern=r"^(https://|http://127\.0\.0\.1[:/])[!#-;=?A-~]+$(?!\n)",
        max_length=300,
        description=(
            "the address of a package index, such as 'https://my.example/pip/', without a password"
        ),
    ),
]


class Prereleases(StrictValue, frozen=True):
    """Variant with pre-releases: the newest one of each of these axes that is newer than every
    final release.

    `index` is where to find them (default: main index). `as_of` uses releases before that day, so
    that a variant can be run again.
    """

    axes: Annotated[tuple[parsing.Name, ...], msgspec.Meta(min_length=1, max_length=7)]
    index: IndexAddress = ""
    as_of: datetime.date | None = None


# Where a coordinate can lie outside what the subject's published requirement admits: anywhere,
# below or above it.
Outside = Literal["moved", "older", "newer"]
OUTSIDE: tuple[Outside, ...] = get_args(Outside)
# Whose fault it is that a capability fails, see `KnownIssue`.
FaultOf = Literal["combination", "release", "index"]
ANY = "any"
NOTHING = "nothing"

Pin = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=parsing.LONGEST_SPECIFIER,
        description="a version specifier, 'any' or 'nothing'",
        extra_json_schema={"format": "pin"},
    ),
]


class InterpreterAxis(StrictValue, frozen=True, tag_field="kind", tag="interpreter"):
    """CPython series: `3.11.7` is the oldest patch of its series that a lock must still install on.

    `3.11` uses the newest patch that this version of compat knows.
    """

    # It is no package of the index.
    package: ClassVar[None] = None
    normalised_name: ClassVar[str] = ""

    name: parsing.Name
    short: parsing.Short
    releases: Annotated[tuple[Version, ...], msgspec.Meta(min_length=1, max_length=50)]

    @property
    def patches(self) -> tuple[Version, ...]:
        return tuple(map(patch_of, self.releases))

    @property
    def series(self) -> dict[Version, Version]:
        """The series, oldest first, each with its patch."""
        return {self.coordinate(patch): patch for patch in sorted(self.patches)}

    def coordinate(self, version: Version) -> Version:
        return Version(parsing.minor_series(version))


class PackageAxis(StrictValue, frozen=True, tag_field="kind", tag="package"):
    """Releases of one package of the index; every cell installs it with its `extras`."""

    name: parsing.Name
    short: parsing.Short
    package: parsing.PackageName
    select: Selector = msgspec.field(default_factory=Selector)
    extras: Annotated[tuple[parsing.ExtraName, ...], msgspec.Meta(max_length=20)] = ()

    @property
    def normalised_name(self) -> NormalizedName:
        return canonicalize_name(self.package)

    def coordinate(self, version: Version) -> Version:
        return self.select.coordinate(version)


Axis = InterpreterAxis | PackageAxis


class When:
    """Conditions on coordinates, all of which must hold: axis name -> specifier, or `moved`,
    `older` or `newer`: outside, below or above everything that the subject's metadata admits.

    A plain class, as msgspec would take axis names for the fields of a Struct.
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
    """One requirement that a rule lifts, replaces or drops: the subject's, or with `everywhere`
    that of any package.

    `to` is a specifier, `any` or `nothing` (the package is dropped). `as_of` names an axis: the
    package is resolved as of that version's release. It applies only if the published requirement
    cannot be locked; with `always` it applies regardless. A bound on a package without an axis is
    withdrawn if nothing can be locked with it.
    """

    package: parsing.PackageName
    to: Pin | None = None
    as_of: parsing.Name | None = None
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
    """A decision with its reason: `exclude` cells, or `relax` requirements in relaxed cells."""

    name: parsing.Name
    effect: Literal["exclude", "relax"]
    because: parsing.Reason
    when: When = msgspec.field(default_factory=lambda: When(()))
    until: datetime.date | None = None
    link: parsing.Link | None = None
    relaxations: Annotated[tuple[Relaxation, ...], msgspec.Meta(max_length=100)] = ()

    def __post_init__(self) -> None:
        if (self.effect == "relax") is not bool(self.relaxations):
            raise ValueError("`relaxations` belong to the effect `relax`, and only to it")


class KnownIssue(StrictValue, frozen=True):
    """The reason for a failure, shown beside each run that it matches.

    It names the start of an outcome, such as `import-fail:type-error(package/module.py`, or a
    capability and the start of its failure; without `outcome` any failure matches. `fault` is
    `combination`, `release` (fails in every combination) or `index` (no longer has what is
    required). Only the first lowers the verdict. A cell where the capability passes refutes the
    entry. `since` is the first day on which `because` could be known; a report for an earlier day
    ignores the entry.
    """

    because: parsing.Reason
    capability: Annotated[str, msgspec.Meta(max_length=200)] = ""
    outcome: Annotated[str, msgspec.Meta(max_length=300)] = ""
    fault: FaultOf = "combination"
    when: When = msgspec.field(default_factory=lambda: When(()))
    link: parsing.Link | None = None
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
    """The oldest supported version of an axis, and why."""

    axis: parsing.Name
    at: Version
    because: parsing.Reason


class Unpublished(StrictValue, frozen=True):
    """A state of the subject that is not on the index, such as a tag, and what it declares."""

    state: parsing.Title
    when: When
    because: parsing.Reason
    link: parsing.Link | None = None


class Source(StrictValue, frozen=True):
    """An archive outside of the index that has releases of a package, such as a page of links to
    wheels. It is named if a release is missing; compat never fetches from it.
    """

    package: parsing.PackageName
    find_links: parsing.Link
    because: parsing.Reason


class Matrix(StrictValue, frozen=True):
    """A declared matrix.

    `subject` names the axis of the library under test. `platform` is
    `<architecture>-manylinux_<glibc>`: locks install on any Linux of that architecture with that
    glibc or a newer one. `margin_days` is what recipe `dated` adds to the date of the newest
    release, so that companions published just after it are included. `quick` names the smoke cells.
    `known` explains failures.

    `constraints` bound packages anywhere in the tree and install none. `builds` names the releases,
    each as `name==version`, whose source distribution may be built if no wheel fits; all others
    install from wheels, because a build runs other people's code. `lowest` and `prereleases`
    declare variants: the lowest versions that the subject declares, and unreleased dependencies.
    `platforms` are other platforms whose plain installs are resolved; nothing runs there. With
    several `indexes`, only the `first` that has a package is used, extra ones before the main one,
    or `all` are. `namesakes` are other projects' packages that look like builds of this one.
    """

    name: parsing.Name
    title: parsing.Title
    subject: parsing.Name
    platform: parsing.Platform
    margin_days: Annotated[int, msgspec.Meta(ge=0, le=3650)]
    axes: Annotated[tuple[Axis, ...], msgspec.Meta(min_length=2, max_length=8)]
    suite: Suite
    floors: Annotated[tuple[Floor, ...], msgspec.Meta(max_length=8)] = ()
    rules: Annotated[tuple[Rule, ...], msgspec.Meta(max_length=500)] = ()
    requirements: parsing.Requirements = ()
    constraints: parsing.Requirements = ()
    builds: parsing.Builds = ()
    lowest: bool = False
    prereleases: Prereleases | None = None
    platforms: PlatformNames = ()
    indexes: Literal["first", "all"] = "first"
    quick: Annotated[tuple[parsing.CellText, ...], msgspec.Meta(max_length=50)] = ()
    known: Annotated[tuple[KnownIssue, ...], msgspec.Meta(max_length=500)] = ()
    sources: Annotated[tuple[Source, ...], msgspec.Meta(max_length=20)] = ()
    unpublished: Annotated[tuple[Unpublished, ...], msgspec.Meta(max_length=20)] = ()
    namesakes: Annotated[tuple[parsing.PackageName, ...], msgspec.Meta(max_length=20)] = ()

    def __post_init__(self) -> None:
        for text in (*self.requirements, *self.constraints):
            parsing.parse_requirement(text)
        for text in self.builds:
            parsing.parse_release(text)

    @property
    def has_variants(self) -> bool:
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
    def no_prereleases(self) -> tuple[str, ...]:
        return tuple(sorted(a.normalised_name for a in self.packages if not a.select.prereleases))

    @property
    def subject_axis(self) -> PackageAxis:
        """The axis of the library asked about; linting has made sure that it is a package axis."""
        return next(axis for axis in self.packages if axis.name == self.subject)

    def with_axis(self, axis: Axis) -> "Matrix":
        axes = tuple(axis if other.name == axis.name else other for other in self.axes)
        return msgspec.structs.replace(self, axes=axes)


def parse_condition(text: str) -> SpecifierSet | Outside:
    if not text.strip():
        allowed = "'moved', 'older', 'newer', or a version specifier such as '>=2.3,<3'"
        raise ValueError(f"an empty condition always holds; allowed: {allowed}")
    word = next((word for word in OUTSIDE if word == text), None)
    return _specifier_or(text, *OUTSIDE) if word is None else word


def parse_pin(text: str) -> SpecifierSet:
    """Raises ValueError; `any` and `nothing` are the empty specifier."""
    return SpecifierSet() if text in (ANY, NOTHING) else _specifier_or(text, ANY, NOTHING)


def decode_custom(kind: type, raw: Any) -> Any:
    """Decode the types that msgspec does not know; the `dec_hook` of every declaration."""
    if kind is When:
        if not isinstance(raw, dict) or not all(isinstance(text, str) for text in raw.values()):
            raise ValueError("Expected a table of axis = 'specifier' or axis = 'moved'")
        pairs = ((axis, parse_condition(text)) for axis, text in raw.items())
        return When(tuple(sorted(pairs, key=lambda pair: pair[0])))
    if not isinstance(raw, str):
        raise ValueError(f"Expected `str`, got `{type(raw).__name__}`")
    if kind is SpecifierSet:
        return parsing.parse_specifier(raw)
    if kind is Version:
        return parsing.parse_version(raw)
    raise NotImplementedError(kind)


def schema_custom(kind: type) -> dict[str, Any]:
    if kind is When:
        return {"type": "object", "additionalProperties": {"type": "string", "format": "condition"}}
    return schema_hook(kind)


def _specifier_or(text: str, *words: str) -> SpecifierSet:
    try:
        return parsing.parse_specifier(text)
    except ValueError as error:
        raise ValueError(f"{error}; also {choice(text, words)}") from error


Months = Annotated[int, msgspec.Meta(ge=1, le=240)]


class Window(StrictValue, frozen=True):
    """How long an axis supports a version, by exactly one rule.

    With `months` the floor may rise to the newest version that is at least that old, with `dropped`
    also to the oldest that is not, as in SPEC 0 (for a series, its newest minor version counts).
    With `minors` it may rise to the oldest of that many newest, with `end_of_life`, on the
    interpreter axis, to the oldest that upstream still supports.
    """

    axis: parsing.Name
    because: parsing.Reason
    months: Months | None = None
    dropped: bool = False
    minors: Annotated[int, msgspec.Meta(ge=1, le=50)] | None = None
    end_of_life: bool = False

    def __post_init__(self) -> None:
        if (self.months is not None) + (self.minors is not None) + self.end_of_life != 1:
            raise ValueError("needs exactly one of `months`, `minors` and `end_of_life = true`")
        if self.dropped and self.months is None:
            raise ValueError("`dropped` goes with `months`")


class Hold(StrictValue, frozen=True):
    """A limit for a floor: it stays at or below `at` until the day after `until`, and may return to
    it.
    """

    axis: parsing.Name
    at: Version
    because: parsing.Reason
    until: datetime.date
    link: parsing.Link | None = None


class KnownBad(StrictValue, frozen=True):
    """A release that is never proposed as a floor."""

    axis: parsing.Name
    version: Version
    because: parsing.Reason
    link: parsing.Link | None = None


class Policy(StrictValue, frozen=True):
    """How floors move. `policy = "spec-0"` applies https://scientific-python.org/specs/spec-0000/:
    Python is dropped after 36 months, all else after 24.

    `default_months` is the window of an axis without its own. `cadence` is how often a floor rises:
    on the first day of each month, quarter, half-year or year. `notice_days` is how long before
    that day the move is announced, `witnesses` how many passing runs on different days it requires.
    `isolation` is the minimum isolation of those runs: only at L3 a cell cannot write what other
    cells use. `tier` is the minimum tier of those runs: by default the whole suite, so that results
    of the core alone move no floor.
    """

    policy: Literal["own", "spec-0"] = "own"
    default_months: Months = 24
    cadence: Literal["monthly", "quarterly", "half-yearly", "yearly"] = "quarterly"
    notice_days: Annotated[int, msgspec.Meta(ge=0, le=365)] = 60
    witnesses: Annotated[int, msgspec.Meta(ge=1, le=50)] = 2
    isolation: Literal["L3", "L2", "L1", "L0"] = "L3"
    tier: Tier = "full"
    windows: Annotated[tuple[Window, ...], msgspec.Meta(max_length=8)] = ()
    holds: Annotated[tuple[Hold, ...], msgspec.Meta(max_length=100)] = ()
    known_bad: Annotated[tuple[KnownBad, ...], msgspec.Meta(max_length=500)] = ()

    def window(self, axis: Axis) -> Window:
        """Return the window of an axis: its own, else the policy's default."""
        is_spec = self.policy == "spec-0"
        default = Window(
            axis=axis.name,
            because="SPEC 0" if is_spec else "This is the policy's default for every axis",
            months=36 if is_spec and isinstance(axis, InterpreterAxis) else self.default_months,
            dropped=is_spec,
        )
        return next((window for window in self.windows if window.axis == axis.name), default)


def extended_matrix(matrix: Matrix, axis: Axis, release: Version) -> Matrix | None:
    """Return the matrix with one more release on an axis: a series of Python, or a release of a
    package; None where the axis leaves that release out by more than an upper bound.
    """
    replace = msgspec.structs.replace
    if isinstance(axis, InterpreterAxis):
        releases = (*axis.releases, added_python(axis, release))
        return matrix.with_axis(replace(axis, releases=releases))
    select = widened(axis, release)
    return None if select is None else matrix.with_axis(replace(axis, select=select))


def added_python(axis: InterpreterAxis, series: Version) -> Version:
    """Return a further series as the axis writes them: with a patch if every other one has it."""
    has_patches = all(len(release.release) > 2 for release in axis.releases)
    return Version(f"{series}.0") if has_patches else series


def widened(axis: PackageAxis, release: Version) -> Selector | None:
    """Return the axis's selector with its upper bounds moved up to the series of the release; None
    where another part of its specifier leaves the release out: that was somebody's choice.
    """
    select = axis.select
    text = widened_specifier(str(select.specifier), release, select.keep)
    if text is None:
        return None
    wider = msgspec.structs.replace(select, specifier=SpecifierSet(text))
    return wider if wider.keeps(release) else None


def widened_specifier(text: str, release: Version, keep: str) -> str | None:
    """Return a specifier that admits the release too, in the order of its text, or None."""
    parts: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        clause = Specifier(part)
        if clause.contains(release, prereleases=True):
            parts.append(part)
        elif clause.operator == "~=":
            parts += [f">={clause.version}", _bound(release, keep)]
        elif clause.operator in ("<", "<="):
            parts.append(_bound(release, keep))
        else:
            return None
    return ",".join(dict.fromkeys(parts))


def _bound(release: Version, keep: str) -> str:
    epoch = f"{release.epoch}!" if release.epoch else ""
    match keep:
        case "major":
            return f"<{epoch}{release.major + 1}"
        case "minor":
            return f"<{epoch}{release.major}.{release.minor + 1}"
        case _:
            return f"<={release}"
