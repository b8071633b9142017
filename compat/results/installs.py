"""What a plain install of each release results in on each Python, here and on other platforms: the
question, what is known of its fresh cell, and the files of other platforms.

A resolver that found packages has run nothing, and on another platform nothing runs: that is never
`works`. There metadata and resolvers alone tell, and the tags of wheels are at hand for all.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.declare.platforms import PlatformName, target_of
from compat.files import Keep, read_if_there, write
from compat.index.kept import decode_packages, encode_packages
from compat.index.release import Catalogue, Package, Release, Required
from compat.lock.lock_text import encode_lock
from compat.lock.lockfile import Lock
from compat.plan.cell import Cell, product
from compat.plan.feasible import Feasibility, Installable, Obstacle
from compat.results.learnt import PlainAnswer, decode_answers, encode_answers
from compat.run.outcome import Failed, is_spurious
from compat.value import StrictValue, Value


class WheelThere(Value, frozen=True, kw_only=True):
    """The newest release of a package with a file for a platform, and for which Pythons of the
    matrix, oldest first.
    """

    package: str
    version: Version
    pythons: tuple[Version, ...]


class InstallQuestion(Value, frozen=True, kw_only=True):
    """Does `pip install subject==release` work on a Python?

    `cell` is the fresh cell with the newest coordinates that the release's own metadata admits
    there. Without a cell nobody need ask a resolver, and `obstacle` says why: the release does not
    admit the Python, the matrix has no coordinate that it admits, or a rule excludes it.

    On another platform `obstacle` is what rules it out by metadata, `lacking` the package that has
    no file there, and `newest` its newest release that has one, as far as known.
    """

    release: Version
    python: Version
    cell: Cell | None = None
    obstacle: Obstacle | None = None
    lacking: str = ""
    newest: WheelThere | None = None


def plain_questions(facts: Feasibility) -> tuple[InstallQuestion, ...]:
    """Return the question of each release and Python of the matrix, oldest first.

    What the plan knows of packages deeper in the tree is left aside: that is what is asked.
    """
    subject, python = facts.matrix.subject, facts.matrix.interpreters.name
    pairs: dict[tuple[Version, Version], list[Cell]] = {}
    for place in product(facts.matrix, facts.catalogue):
        cell = Cell(matrix=facts.matrix.name, coordinates=place, recipe="fresh")
        pairs.setdefault((cell.on(subject).version, cell.on(python).version), []).append(cell)
    return tuple(
        _question(facts, release, series, cells)
        for (release, series), cells in sorted(pairs.items())
    )


def _question(
    facts: Feasibility, release: Version, python: Version, cells: list[Cell]
) -> InstallQuestion:
    others = [axis.name for axis in facts.matrix.packages if axis is not facts.matrix.subject_axis]

    def versions(cell: Cell) -> tuple[Version, ...]:
        return tuple(cell.on(axis).version for axis in others)

    if not facts.usable(cells[0], facts.matrix.subject_axis):
        obstacle = facts.unavailable(cells[0])
        return InstallQuestion(release=release, python=python, obstacle=obstacle)
    # Of what the release admits, a resolver takes what has a file; where nothing has one, it says
    # so about what is admitted.
    newest_first = sorted(cells, key=versions, reverse=True)
    admitted = (cell for cell in newest_first if facts.conflicting(cell) is None)
    unmoved = (cell for cell in newest_first if not any(facts.moved(cell, axis) for axis in others))
    cell = next(itertools.chain(admitted, unmoved), None)
    if cell is None:
        obstacle = facts.conflicting(cells[-1])
        return InstallQuestion(release=release, python=python, obstacle=obstacle)
    obstacle = facts.excluded(cell)
    return InstallQuestion(
        release=release, python=python, cell=None if obstacle else cell, obstacle=obstacle
    )


def platform_facts(
    matrix: Matrix,
    catalogue: Catalogue,
    elsewhere: Sequence[Package] | None,
    platform: PlatformName,
) -> Feasibility:
    """Return what rules and catalogue say about cells of another platform.

    `elsewhere` has the wheels for other platforms of what the subject pins; without it nothing is
    known of those packages, and nothing is ruled out for want of them.
    """
    target = target_of(platform, matrix.platform)
    other = replace(matrix, platform=target)
    required = () if elsewhere is None else _merged(catalogue.required, elsewhere)
    return Feasibility(other, replace(catalogue, required=required))


def platform_questions(facts: Feasibility, platform: PlatformName) -> Iterator[InstallQuestion]:
    newest = _NewestFiles(facts)
    for question in plain_questions(facts):
        cell, obstacle = question.cell, question.obstacle
        if cell is not None:
            obstacle = facts.obstacle(cell)
            cell = replace(cell, platform=platform)
        lacking = "" if obstacle is None else _lacking(facts, question, obstacle)
        if obstacle is not None and lacking:
            obstacle = _of_release(facts, question, obstacle)
        wheel = newest.of(lacking) if lacking else None
        yield replace(question, cell=cell, obstacle=obstacle, lacking=lacking, newest=wheel)


def _merged(required: Iterable[Required], elsewhere: Iterable[Package]) -> tuple[Required, ...]:
    further = {
        (package.name, release.version): release.artifacts
        for package in elsewhere
        for release in package.releases
    }

    def whole(name: str, release: Release) -> Release:
        artifacts = (*release.artifacts, *further.get((name, release.version), ()))
        return replace(release, artifacts=artifacts)

    return tuple(
        replace(
            entry,
            package=replace(
                entry.package,
                releases=tuple(whole(entry.package.name, r) for r in entry.package.releases),
            ),
        )
        for entry in required
    )


def _lacking(facts: Feasibility, question: InstallQuestion, obstacle: Obstacle) -> str:
    """The package whose files do not fit; empty where something else is in the way.

    Of a package that the index lacks altogether an obstacle names no Python.
    """
    if obstacle.kind != "no-artifact" or len(obstacle.between) < 2:
        return ""
    if question.cell is None:
        return facts.matrix.subject_axis.normalised_name
    for axis in facts.matrix.packages:
        if question.cell.on(axis.name).text == obstacle.between[0]:
            return axis.normalised_name
    return canonicalize_name(Requirement(obstacle.between[0]).name)


def _of_release(facts: Feasibility, question: InstallQuestion, obstacle: Obstacle) -> Obstacle:
    """The obstacle of a coordinate beside the subject, told of the release that asks for it.

    Its cell has the newest coordinate that the release admits where none of them has a file.
    """
    for axis in facts.matrix.packages:
        if question.cell is None or axis is facts.matrix.subject_axis:
            continue
        coordinate = question.cell.on(axis.name)
        if coordinate.text == obstacle.between[0]:
            asks = f"{facts.matrix.subject_axis.package} {question.release} admits {axis.package}"
            because = f"{asks} up to {coordinate.version}: {obstacle.because}"
            return replace(obstacle, because=because)
    return obstacle


class _NewestFiles:
    """The newest release of each package with a file for the platform, looked for once."""

    def __init__(self, facts: Feasibility) -> None:
        self._installable = Installable(facts.matrix, facts.catalogue)
        self._releases: dict[str, tuple[Release, ...]] = {
            **{r.package.name: r.package.releases for r in facts.catalogue.required},
            **{
                axis.normalised_name: facts.catalogue.of(axis).selected(axis.select)
                for axis in facts.matrix.packages
            },
        }
        self._found: dict[str, WheelThere | None] = {}

    def of(self, package: str) -> WheelThere | None:
        if package not in self._found:
            self._found[package] = self._newest(package)
        return self._found[package]

    def _newest(self, package: str) -> WheelThere | None:
        finals = [r for r in self._releases[package] if not r.version.is_prerelease]
        for release in sorted(finals, key=lambda release: release.version, reverse=True):
            pythons = tuple(
                series
                for series in sorted(self._installable.patches)
                if self._installable.can_install(release, series)
            )
            if pythons:
                return WheelThere(package=package, version=release.version, pythons=pythons)
        return None


if TYPE_CHECKING:
    from compat.results.snapshot import Snapshot

PlainState = Literal[
    "works",
    "works-smoke",
    "partial",
    "partial-smoke",
    "flaky",
    "flaky-smoke",
    "broken",
    "broken-smoke",
    "resolves",
    "refused",
    "needs-build",
    "ruled-out",
    "not-admitted",
    "not-asked",
]
PlatformState = Literal[
    "resolves", "by-metadata", "needs-build", "refused", "ruled-out", "no-wheel", "not-admitted"
]
InstallState = Literal[PlainState, PlatformState]
PLAIN_STATES: tuple[PlainState, ...] = get_args(PlainState)
PLATFORM_STATES: tuple[PlatformState, ...] = get_args(PlatformState)
# What installs on another platform, as far as metadata or a resolver tell.
INSTALLABLE: tuple[PlatformState, ...] = ("resolves", "by-metadata")
PlainGround = Literal["run", "resolver", "clause", "metadata", "none"]
# As answers have it; `locked` is what a resolver found packages for.
PlatformEvidence = Literal["locked", "asked", "declared"]
_OWN = ("release", "python", "cell", "state", "outcome", "because", "on", "ground", "witness")
_ELSEWHERE = (
    *("platform", "release", "python", "cell", "state", "evidence", "outcome", "because", "on"),
    *("lacking", "newest", "newest_pythons"),
)


class Install(StrictValue, frozen=True, kw_only=True):
    """What `pip install subject==release` results in on a Python.

    `platform` is empty for the matrix's own. `cell` is the fresh cell that stands for it; empty
    where the release does not admit the Python, or has no file there. `outcome` is that of the run,
    the resolver or the plan, `locked` where packages were found, empty where nobody asked;
    `because` says it in one sentence. `on` is the day of the run or of the resolver's answer; null
    for what metadata says. `ground` is where it is known from; `witness` the cell that was asked
    where it was another one with the same conflict, else empty. `lacking` is the package that has
    no file on another platform; `newest` its newest version that has one, and `newest_pythons` for
    which Pythons, both empty where none is known.
    """

    release: str
    python: str
    cell: str
    state: InstallState = "not-asked"
    outcome: str = ""
    because: str = ""
    on: datetime.date | None = None
    ground: PlainGround = "none"
    witness: str = ""
    platform: PlatformName | Literal[""] = ""
    lacking: str = ""
    newest: str = ""
    newest_pythons: tuple[str, ...] = ()

    @property
    def evidence(self) -> PlatformEvidence:
        """Where it is known from on another platform."""
        if self.ground == "metadata":
            return "declared"
        return "locked" if self.state == "resolves" else "asked"

    @property
    def is_open(self) -> bool:
        """Whether metadata leaves it to a resolver on another platform."""
        return self.evidence != "declared" or self.state == "by-metadata"

    @property
    def row(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (_ELSEWHERE if self.platform else _OWN)}


class InstallCause(StrictValue, frozen=True, kw_only=True):
    """One answer, with all plain installs of a platform that have it: the releases by Python,
    oldest first.

    `on` are the first and the last day of these answers, null where metadata says it. `example` is
    the install that tells most, of a new release.
    """

    platform: PlatformName | Literal[""]
    state: InstallState
    outcome: str
    example: Install
    on: tuple[datetime.date, datetime.date] | None
    count: int
    releases: dict[str, tuple[str, ...]]

    @property
    def is_example(self) -> bool:
        return self.count > 1 and bool(self.example.because)

    @property
    def row(self) -> dict[str, Any]:
        if self.platform:
            names = ("platform", "state", "outcome", "count", "releases")
            return {name: getattr(self, name) for name in names} | {"example": self.example.row}
        names = ("state", "outcome", "on", "count", "releases")
        return {name: getattr(self, name) for name in names} | {"example": self.example.because}


class OnPlatform(StrictValue, frozen=True, kw_only=True):
    """The best result of a release on another platform: on which Pythons, and one install of
    them.
    """

    platform: PlatformName
    release: str
    state: InstallState
    pythons: tuple[str, ...]
    install: Install


def plain_installs(snapshot: Snapshot) -> tuple[Install, ...]:
    def derived() -> tuple[Install, ...]:
        return tuple(_install(snapshot, question) for question in snapshot.plain_questions)

    return snapshot.once("plain-installs", derived)


def plain_of_cell(snapshot: Snapshot, asked: Cell) -> Iterator[Install]:
    for question in snapshot.plain_questions if asked.recipe == "fresh" else ():
        if question.cell is not None and question.cell.id == asked.id:
            yield _install(snapshot, question)


def declared_installs(facts: Feasibility, platform: PlatformName) -> Iterator[Install]:
    """Yield what metadata says of the plain installs of another platform."""
    for question in platform_questions(facts, platform):
        cell, obstacle, newest = question.cell, question.obstacle, question.newest
        install = Install(
            platform=platform,
            release=str(question.release),
            python=str(question.python),
            cell="" if cell is None else cell.id,
            state="by-metadata",
            ground="metadata",
        )
        if obstacle is not None:
            is_python = cell is None and obstacle.kind == "requires-python"
            state: InstallState = "not-admitted" if is_python else "ruled-out"
            # A release is named by itself; a Python, or a package that is not available, once for
            # all releases.
            subject = question.lacking or ("" if cell is None else obstacle.between[0])
            install = replace(
                _of_metadata(install, "no-wheel" if question.lacking else state, obstacle, subject),
                lacking=question.lacking,
                newest="" if newest is None else str(newest.version),
                newest_pythons=() if newest is None else tuple(map(str, newest.pythons)),
            )
        yield install


def with_platform_answers(
    installs: Iterable[Install], answers: Mapping[str, PlainAnswer]
) -> Iterator[Install]:
    """Yield the installs of a platform with what a resolver said where metadata leaves it open.

    Metadata is newer than an answer that it contradicts: it is read each time that the index is.
    """
    for install in installs:
        answer = answers.get(install.cell.partition("@")[0])
        is_asked = answer is not None and install.state == "by-metadata"
        yield _of_resolver(install, answer, answer.because) if answer and is_asked else install


def install_causes(installs: Iterable[Install]) -> tuple[InstallCause, ...]:
    groups: dict[tuple[str, InstallState, str], list[Install]] = {}
    for install in installs:
        # What ran is an answer of its own; how it failed stands on its page.
        outcome = "" if install.ground == "run" else install.outcome
        groups.setdefault((install.platform, install.state, outcome), []).append(install)
    platforms = list(dict.fromkeys(platform for platform, _, _ in groups))

    def order(cause: InstallCause) -> tuple[int, int, int, str]:
        states: tuple[InstallState, ...] = PLATFORM_STATES if cause.platform else PLAIN_STATES
        rank = states.index(cause.state)
        return platforms.index(cause.platform), rank, -cause.count, cause.outcome

    return tuple(sorted((_cause(g, outcome) for (*_, outcome), g in groups.items()), key=order))


def on_platforms(installs: Iterable[Install]) -> tuple[OnPlatform, ...]:
    groups: dict[tuple[str, str], list[Install]] = {}
    for install in installs:
        groups.setdefault((install.release, install.platform), []).append(install)
    return tuple(map(_best, groups.values()))


def newest_on(
    installs: Iterable[Install], platform: PlatformName, states: Collection[InstallState]
) -> OnPlatform | None:
    every = on_platforms(i for i in installs if i.platform == platform)
    able = (release for release in every if release.state in states)
    return max(able, key=lambda release: Version(release.release), default=None)


def _install(snapshot: Snapshot, question: InstallQuestion) -> Install:
    cell = "" if question.cell is None else question.cell.id
    install = Install(release=str(question.release), python=str(question.python), cell=cell)
    if question.obstacle is not None and question.obstacle.kind == "yanked":
        # An exact pin installs it, with a warning.
        return replace(install, because=question.obstacle.because)
    if question.cell is None:
        assert question.obstacle is not None, "what is not asked has an obstacle"
        return _of_metadata(install, "not-admitted", question.obstacle)
    known, answer = snapshot.by_id.get(cell), snapshot.plain.get(cell)
    # The newest of run and answer; without either what another answer, or metadata, says.
    ran = known if known is not None and known.is_tested else None
    if ran is not None and (
        answer is None or answer.refusal is None or (ran.latest and answer.on < ran.latest)
    ):
        # What a run showed; one whose packages could not be resolved is a resolver's refusal.
        outcome, state = ran.outcome, f"{ran.kind}-smoke" if ran.evidence == "smoke" else ran.kind
        is_lock = isinstance(outcome, Failed) and outcome.stage == "lock"
        return replace(
            install,
            state="refused" if is_lock else state,
            outcome=str(outcome or ""),
            because="; ".join(ran.reasons),
            on=ran.latest,
            ground="resolver" if is_lock else "run",
        )
    # For want of a build a resolver says less than metadata that no build could mend.
    obstacle = None if known is None else known.obstacle
    is_open = answer is not None and answer.refusal is not None and is_spurious(answer.refusal)
    if answer is not None and not (is_open and obstacle is not None):
        resolved = "a resolver finds packages that satisfy every requirement; they were not run"
        return _of_resolver(install, answer, resolved if answer.refusal is None else answer.because)
    if known is not None and known.refusal is not None and known.refusal.ground != "file":
        refusal = known.refusal
        return replace(
            install,
            state=_refused(refusal.outcome),
            outcome=str(refusal.outcome),
            because=refusal.sentence,
            on=refusal.on,
            ground="clause",
            witness=refusal.witness,
        )
    if obstacle is None:
        return install
    # A pin that is not available is named once for all that have it; a Python for all releases.
    return _of_metadata(install, "ruled-out", obstacle, obstacle.between[0])


def _of_metadata(
    install: Install, state: InstallState, obstacle: Obstacle, subject: str = ""
) -> Install:
    outcome = str(Failed(stage="plan", cause=obstacle.kind, subject=subject))
    because = obstacle.because
    return replace(install, state=state, outcome=outcome, because=because, ground="metadata")


def _of_resolver(install: Install, answer: PlainAnswer, because: str) -> Install:
    state, outcome = _refused(answer.refusal), answer.outcome
    on, ground = answer.on, "resolver"
    return replace(install, state=state, outcome=outcome, because=because, on=on, ground=ground)


def _refused(refusal: Failed | None) -> InstallState:
    if refusal is None:
        return "resolves"
    return "needs-build" if is_spurious(refusal) else "refused"


def _cause(group: list[Install], outcome: str) -> InstallCause:
    releases: dict[str, list[str]] = {}
    for install in sorted(group, key=_by_python):
        releases.setdefault(install.python, []).append(install.release)
    example = _telling(group)
    days = [install.on for install in group if install.on is not None]
    return InstallCause(
        platform=example.platform,
        state=example.state,
        outcome=outcome,
        example=example,
        on=(min(days), max(days)) if days else None,
        count=len(group),
        releases={python: tuple(versions) for python, versions in releases.items()},
    )


def _best(group: list[Install]) -> OnPlatform:
    state = next(s for s in PLATFORM_STATES if any(install.state == s for install in group))
    same = sorted((install for install in group if install.state == state), key=_by_python)
    install = _telling(same)
    assert install.platform, "the matrix's own platform is no other one"
    return OnPlatform(
        platform=install.platform,
        release=install.release,
        state=state,
        pythons=tuple(install.python for install in same),
        install=install,
    )


def _telling(installs: Iterable[Install]) -> Install:
    """The install of the newest release, where it can be on a Python for which another version of
    what lacks a wheel there has one: so it is the platform's doing, not the Python's.
    """

    def telling(install: Install) -> tuple[bool, Version, Version]:
        is_of_platform = install.python in install.newest_pythons
        return is_of_platform, Version(install.release), _by_python(install)

    return max(installs, key=telling)


def _by_python(install: Install) -> Version:
    return Version(install.python)


PLATFORMS_FOLDER = "platforms"
WHEELS = "wheels.json"
ANSWERS = "answers.json"


class PlatformFiles:
    """The folder `platforms/` of a matrix; each part is read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._matrix = folder.name
        self._folder = folder / PLATFORMS_FOLDER

    @property
    def wheels_path(self) -> Path:
        return self._folder / WHEELS

    def keep_wheels(self, packages: Iterable[Package]) -> bool:
        return write(self.wheels_path, encode_packages(packages))

    def answers(self, platform: PlatformName) -> dict[str, PlainAnswer]:
        text = read_if_there(self._folder / platform / ANSWERS)
        source = f"matrices/{self._matrix}/{PLATFORMS_FOLDER}/{platform}/{ANSWERS}"
        return {} if text is None else decode_answers(text.decode(errors="replace"), source)

    def keep_answer(self, platform: PlatformName, answer: PlainAnswer, lock: Lock | None) -> None:
        """Keep an answer in the place of the earlier one about its cell, and its lock; a lock that
        is no longer to be had goes.
        """
        merged = self.answers(platform) | {answer.cell: answer}
        path = self.lock_path(platform, answer.cell)
        if lock is None:
            path.unlink(missing_ok=True)
        else:
            write(path, encode_lock(lock))
        write(self._folder / platform / ANSWERS, encode_answers(merged.values()))

    def lock_path(self, platform: PlatformName, cell: str) -> Path:
        return self._folder / platform / "locks" / f"{cell}.txt"

    def facts(self, matrix: Matrix, catalogue: Catalogue, platform: PlatformName) -> Feasibility:
        text = read_if_there(self.wheels_path)
        source = f"matrices/{self._matrix}/{PLATFORMS_FOLDER}/{WHEELS}"
        elsewhere = None if text is None else decode_packages(text.decode(errors="replace"), source)
        return platform_facts(matrix, catalogue, elsewhere, platform)

    def installs(self, matrix: Matrix, catalogue: Catalogue, keep: Keep) -> tuple[Install, ...]:
        def declared() -> bytes:
            return msgspec.msgpack.encode(
                tuple(
                    install
                    for name in matrix.platforms
                    for install in declared_installs(self.facts(matrix, catalogue, name), name)
                )
            )

        if not matrix.platforms:
            return ()
        known = msgspec.msgpack.decode(
            keep("platforms", (read_if_there(self.wheels_path) or b"",), declared),
            type=tuple[Install, ...],
        )
        return tuple(
            install
            for name in matrix.platforms
            for install in with_platform_answers(
                (install for install in known if install.platform == name), self.answers(name)
            )
        )
