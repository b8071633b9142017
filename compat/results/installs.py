"""The result of a plain install of each release on each Python, here and on other platforms.

A resolver that found packages has run nothing, and on another platform nothing runs, so the result
there is never `works`. It comes from metadata, resolvers and the tags of wheels.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
from msgspec.structs import asdict, replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import Matrix, PlatformName, target_of
from compat.files import read_if_present, write
from compat.index.discover import decode_packages, encode_packages
from compat.index.release import Catalogue, Package, Required
from compat.lock.lockfile import Lock, encode_lock
from compat.plan.cell import Cell, product
from compat.plan.feasible import Feasibility, Obstacle
from compat.results.learnt import PlainAnswer, decode_answers, encode_answers
from compat.run.outcome import Failed, is_spurious
from compat.value import StrictValue, grouped

if TYPE_CHECKING:
    from compat.results.snapshot import Snapshot

# In the order of lists: by a run, by a resolver or metadata, and what is not installable.
InstallState = Literal[
    "works",
    "works-smoke",
    "partial",
    "partial-smoke",
    "flaky",
    "flaky-smoke",
    "broken",
    "broken-smoke",
    "resolves",
    "by-metadata",
    "needs-build",
    "refused",
    "ruled-out",
    "no-wheel",
    "not-admitted",
    "not-asked",
]
INSTALL_STATES: tuple[InstallState, ...] = get_args(InstallState)
# What installs on another platform, as far as metadata or a resolver show.
INSTALLABLE: tuple[InstallState, ...] = ("resolves", "by-metadata")
PlainEvidence = Literal["run", "resolver", "clause", "metadata", "none"]
# As in answers; `locked` means that a resolver found packages.
InstallEvidence = Literal["tested", "locked", "asked", "inferred", "declared", "none"]
_EVIDENCE: dict[PlainEvidence, InstallEvidence] = {
    "run": "tested",
    "resolver": "asked",
    "clause": "inferred",
    "metadata": "declared",
    "none": "none",
}


class Install(StrictValue, frozen=True, kw_only=True):
    """The result of `pip install subject==release` on a Python.

    `platform` is empty for the matrix's own. `cell` is the fresh cell that represents it, with the
    newest coordinates that the release's own metadata admits there; empty where metadata alone, or
    a rule, decides. `outcome` is that of the run, the resolver or the plan, `locked` where packages
    were found, empty where untested. `on` is the day of the run or of the resolver's answer.
    `witness` is the resolved cell where it was another one with the same conflict. `lacking` is the
    package without a file on another platform, `newest` its newest version with one, and
    `newest_pythons` the Pythons for it.
    """

    release: str
    python: str
    cell: str = ""
    state: InstallState = "not-asked"
    outcome: str = ""
    because: str = ""
    on: datetime.date | None = None
    ground: PlainEvidence = "none"
    witness: str = ""
    platform: PlatformName | Literal[""] = ""
    lacking: str = ""
    newest: str = ""
    newest_pythons: tuple[str, ...] = ()

    @property
    def evidence(self) -> InstallEvidence:
        return "locked" if self.state == "resolves" else _EVIDENCE[self.ground]

    @property
    def is_open(self) -> bool:
        """Whether metadata leaves it to a resolver on another platform."""
        return self.evidence != "declared" or self.state == "by-metadata"

    @property
    def row(self) -> dict[str, Any]:
        return {**asdict(self), "evidence": self.evidence}


class InstallGroup:
    """Plain installs of one platform that have the same state.

    `example` is the most informative: of the newest release, and preferably on a Python for which
    another version of the blocking package has a wheel there, so that the platform is the cause and
    not the Python.
    """

    def __init__(self, installs: Iterable[Install], outcome: str = "") -> None:
        self.installs = sorted(installs, key=lambda install: Version(install.python))
        self.outcome = outcome
        self.example = max(
            reversed(self.installs),
            key=lambda i: (i.python in i.newest_pythons, Version(i.release)),
        )
        self.platform, self.state = self.example.platform, self.example.state
        self.release, self.count = self.example.release, len(self.installs)
        self.pythons = [install.python for install in self.installs]

    @property
    def releases(self) -> dict[str, tuple[str, ...]]:
        releases: dict[str, tuple[str, ...]] = {}
        for install in self.installs:
            releases[install.python] = (*releases.get(install.python, ()), install.release)
        return releases

    @property
    def on(self) -> tuple[datetime.date, datetime.date] | None:
        """The first and the last day of these answers; None for metadata."""
        days = [install.on for install in self.installs if install.on is not None]
        return (min(days), max(days)) if days else None

    @property
    def is_example(self) -> bool:
        return self.count > 1 and bool(self.example.because)

    @property
    def row(self) -> dict[str, Any]:
        names = ("platform", "state", "outcome", "on", "count", "releases")
        own = {name: getattr(self, name) for name in names}
        return own | {"example": self.example.row if self.platform else self.example.because}


def install_causes(installs: Iterable[Install]) -> tuple[InstallGroup, ...]:
    # A run is an answer of its own; its page shows the failure.
    groups = grouped(
        ((i.platform, i.state, "" if i.ground == "run" else i.outcome), i) for i in installs
    )
    platforms = list(dict.fromkeys(platform for platform, _, _ in groups))

    def order(cause: InstallGroup) -> tuple[int, int, int, str]:
        rank = INSTALL_STATES.index(cause.state)
        return platforms.index(cause.platform), rank, -cause.count, cause.outcome

    every = (InstallGroup(group, outcome) for (*_, outcome), group in groups.items())
    return tuple(sorted(every, key=order))


def on_platforms(installs: Iterable[Install]) -> tuple[InstallGroup, ...]:
    groups = grouped(((install.release, install.platform), install) for install in installs)
    best = []
    for group in groups.values():
        state = next(s for s in INSTALL_STATES if any(install.state == s for install in group))
        best.append(InstallGroup(install for install in group if install.state == state))
    return tuple(best)


def newest_on(
    installs: Iterable[Install], platform: PlatformName, states: Collection[InstallState]
) -> InstallGroup | None:
    every = on_platforms(i for i in installs if i.platform == platform)
    able = (release for release in every if release.state in states)
    return max(able, key=lambda release: Version(release.release), default=None)


def plain_installs(snapshot: Snapshot) -> tuple[Install, ...]:
    """Those on the matrix's own platform, by run, resolver, clause or metadata."""
    own = snapshot.own_installs
    return snapshot.once("plain", lambda: tuple(_known_install(snapshot, i) for i in own))


def plain_install(snapshot: Snapshot, cell: str) -> Install | None:
    by_cell = snapshot.once("plain-cells", lambda: {i.cell: i for i in snapshot.own_installs})
    install = by_cell.get(cell) if cell else None
    return None if install is None else _known_install(snapshot, install)


def _known_install(snapshot: Snapshot, install: Install) -> Install:
    if not install.cell:
        return install
    known, answer = snapshot.by_id.get(install.cell), snapshot.plain.get(install.cell)
    # The newest of run and answer; without either, another cell's answer or metadata.
    ran = known if known is not None and known.is_tested else None
    if ran is not None and (
        answer is None or answer.refusal is None or (ran.latest and answer.on < ran.latest)
    ):
        # The result of a run; a run that could not be resolved is a resolution failure.
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
    # A missing build says less than metadata that no build could fix.
    is_open = answer is not None and answer.refusal is not None and is_spurious(answer.refusal)
    if answer is not None and not (is_open and install.state == "ruled-out"):
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
    return install


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


def platform_facts(
    matrix: Matrix,
    catalogue: Catalogue,
    elsewhere: Sequence[Package] | None,
    platform: PlatformName,
) -> Feasibility:
    """`elsewhere` has the wheels for other platforms of the subject's pins. Without it these
    packages are unknown, and nothing is ruled out because of them.
    """
    further = {
        (package.name, release.version): release.artifacts
        for package in elsewhere or ()
        for release in package.releases
    }

    def whole(package: Required) -> Required:
        releases = tuple(
            replace(r, artifacts=(*r.artifacts, *further.get((package.name, r.version), ())))
            for r in package.releases
        )
        return replace(package, releases=releases)

    required = () if elsewhere is None else catalogue.required
    every = tuple(map(whole, required))
    other = replace(matrix, platform=target_of(platform, matrix.platform))
    return Feasibility(other, replace(catalogue, required=every))


def declared_installs(
    facts: Feasibility, platform: PlatformName | Literal[""] = ""
) -> Iterator[Install]:
    """The answer of metadata for each release and Python; by default on the own platform."""
    newest = cache(partial(_newest_files, facts))
    subject, python = facts.matrix.subject, facts.matrix.interpreters.name
    pairs: dict[tuple[Version, Version], list[Cell]] = {}
    for place in product(facts.matrix, facts.catalogue):
        cell = Cell(matrix=facts.matrix.name, coordinates=place, recipe="fresh")
        pairs.setdefault((cell.on(subject).version, cell.on(python).version), []).append(cell)
    for (release, series), cells in sorted(pairs.items()):
        asked, obstacle = _asked(facts, cells)
        install = Install(
            platform=platform,
            release=str(release),
            python=str(series),
            cell="" if asked is None else replace(asked, platform=platform).id,
            state="by-metadata" if platform else "not-asked",
            ground="metadata" if platform else "none",
        )
        if asked is None and obstacle is not None and obstacle.kind == "yanked" and not platform:
            # An exact pin installs it, with a warning.
            yield replace(install, because=obstacle.because)
            continue
        is_asked = asked is not None
        if asked is not None:
            obstacle = facts.obstacle(asked)
        if obstacle is None:
            yield install
            continue
        lacking, because = "", obstacle.because
        if platform:
            lacking, because = _without_file(facts, install.release, asked, obstacle)
        if lacking:
            without = _of_metadata(install, "no-wheel", replace(obstacle, because=because), lacking)
            version, pythons = newest(lacking)
            yield replace(without, lacking=lacking, newest=version, newest_pythons=pythons)
            continue
        # A release is named individually; a Python, or an unavailable package, once for all
        # releases.
        is_python = not is_asked and (not platform or obstacle.kind == "requires-python")
        state: InstallState = "not-admitted" if is_python else "ruled-out"
        yield _of_metadata(install, state, obstacle, obstacle.between[0] if is_asked else "")


def _asked(facts: Feasibility, cells: list[Cell]) -> tuple[Cell | None, Obstacle | None]:
    """The cell of a release and Python that represents a plain install, or why there is none.

    The plan's facts about packages deeper in the tree are ignored: the install tests them.
    """
    others = [axis.name for axis in facts.matrix.packages if axis is not facts.matrix.subject_axis]
    if not facts.usable(cells[0], facts.matrix.subject_axis):
        return None, facts.unavailable(cells[0])
    # A resolver takes an admitted version with a file; without any, its message is about the
    # admitted ones.
    cells.sort(key=lambda cell: [cell.on(axis).version for axis in others], reverse=True)
    admitted = (cell for cell in cells if facts.conflicting(cell) is None)
    unmoved = (c for c in cells if not any(facts.moved(c, axis) for axis in others))
    chosen = next(itertools.chain(admitted, unmoved), None)
    obstacle = facts.excluded(chosen) if chosen else facts.conflicting(cells[0])
    return (chosen, None) if obstacle is None else (None, obstacle)


def _without_file(
    facts: Feasibility, release: str, cell: Cell | None, obstacle: Obstacle
) -> tuple[str, str]:
    """The package whose files do not fit, and why; empty where something else blocks it.

    For another axis's coordinate the sentence names the release that requires it.
    """
    subject, because = facts.matrix.subject_axis, obstacle.because
    if obstacle.kind != "no-artifact" or len(obstacle.between) < 2:
        return "", because
    if cell is None:
        return subject.normalised_name, because
    for axis in facts.matrix.packages:
        coordinate = cell.on(axis.name)
        if coordinate.text == obstacle.between[0]:
            if axis is not subject:
                asks = f"{subject.package} {release} admits {axis.package}"
                because = f"{asks} up to {coordinate.version}: {because}"
            return axis.normalised_name, because
    return canonicalize_name(Requirement(obstacle.between[0]).name), because


def _newest_files(facts: Feasibility, package: str) -> tuple[str, tuple[str, ...]]:
    """The newest release with a file for the platform, and its Pythons of the matrix."""
    known = {r.name: r.releases for r in facts.catalogue.required} | {
        axis.normalised_name: facts.catalogue.of(axis).selected(axis.select)
        for axis in facts.matrix.packages
    }
    finals = [r for r in known[package] if not r.version.is_prerelease]
    for release in sorted(finals, key=lambda release: release.version, reverse=True):
        series = sorted(facts.patches)
        pythons = [s for s in series if facts.can_install(release, s)]
        if pythons:
            return str(release.version), tuple(map(str, pythons))
    return "", ()


def answered_elsewhere(install: Install, answers: Mapping[str, PlainAnswer]) -> Install:
    """Metadata is newer than an answer that it contradicts: it is read together with the index."""
    answer = answers.get(install.cell.partition("@")[0])
    is_asked = answer is not None and install.state == "by-metadata"
    return _of_resolver(install, answer, answer.because) if answer and is_asked else install


PLATFORMS_FOLDER = "platforms"
WHEELS = "wheels.json"
ANSWERS = "answers.json"


class PlatformFiles:
    """The folder `platforms/` of a matrix; each part is read on first use."""

    def __init__(self, folder: Path) -> None:
        self._matrix = folder.name
        self._folder = folder / PLATFORMS_FOLDER

    @property
    def wheels_path(self) -> Path:
        return self._folder / WHEELS

    def store_wheels(self, packages: Iterable[Package]) -> bool:
        return write(self.wheels_path, encode_packages(packages))

    def answers(self, platform: PlatformName) -> dict[str, PlainAnswer]:
        text = read_if_present(self._folder / platform / ANSWERS)
        source = f"matrices/{self._matrix}/{PLATFORMS_FOLDER}/{platform}/{ANSWERS}"
        return {} if text is None else decode_answers(text.decode(errors="replace"), source)

    def store_answer(self, platform: PlatformName, answer: PlainAnswer, lock: Lock | None) -> None:
        """Replace the earlier answer about its cell, and its lock; remove an unavailable lock."""
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
        text = read_if_present(self.wheels_path)
        source = f"matrices/{self._matrix}/{PLATFORMS_FOLDER}/{WHEELS}"
        elsewhere = None if text is None else decode_packages(text.decode(errors="replace"), source)
        return platform_facts(matrix, catalogue, elsewhere, platform)

    def installs(
        self,
        matrix: Matrix,
        catalogue: Catalogue,
        keep: Callable[[str, Iterable[bytes], Callable[[], bytes]], bytes] | None = None,
    ) -> Iterator[Install]:
        """What metadata says on every platform, and resolvers on others; `keep` caches it."""

        def declared() -> bytes:
            own = declared_installs(Feasibility(matrix, catalogue))
            facts = ((self.facts(matrix, catalogue, name), name) for name in matrix.platforms)
            every = [*own, *(i for each in facts for i in declared_installs(*each))]
            return msgspec.msgpack.encode(every)

        wheels = (read_if_present(self.wheels_path) or b"") if matrix.platforms else b""
        body = declared() if keep is None else keep("installs", (wheels,), declared)
        answers = cache(self.answers)
        for install in msgspec.msgpack.decode(body, type=list[Install]):
            yield (
                answered_elsewhere(install, answers(install.platform))
                if install.platform
                else install
            )
