"""The `site` room's API about what is known beside the grid: plain installs of each release on each
Python, here and on other platforms, and variants.
"""

import datetime

from compat.declare.platforms import PLATFORMS, PlatformName, target_of
from compat.results.answer import Kind
from compat.results.compare import LaneAlert, LaneCell
from compat.results.installs import (
    Install,
    PlainGround,
    PlainState,
    PlatformEvidence,
    PlatformState,
    install_causes,
    plain_installs,
)
from compat.site.api.envelope import Document, SitePath, head
from compat.site.edition import MatrixReport
from compat.site.install_words import install_reason, plain_command, works_instead
from compat.site.paths import lock_file
from compat.value import StrictValue, Value


class WorksInstead(Value, frozen=True, kw_only=True):
    """The best tested combination with the same release on the same Python, and its lock file."""

    cell: str
    verdict: Kind
    lock: SitePath


class PlainInstallRow(Value, frozen=True, kw_only=True):
    """A plain install on one Python: what it comes to, and what works instead, null where nothing
    was tested.

    `because` is the number of its sentence in `sentences`; the rest is as the command line has it.
    """

    release: str
    python: str
    cell: str
    state: PlainState
    outcome: str
    because: int
    on: datetime.date | None
    ground: PlainGround
    witness: str
    instead: WorksInstead | None


class PlainCause(StrictValue, frozen=True, kw_only=True):
    """One answer, with all plain installs that came to it: the releases by Python, oldest first.

    `on` are the first and the last day of these answers, null where metadata says it. `example` is
    the sentence of the newest release.
    """

    state: PlainState
    outcome: str
    example: str
    on: tuple[datetime.date, datetime.date] | None
    count: int
    releases: dict[str, tuple[str, ...]]


class PlainInstalls(Document, frozen=True, kw_only=True):
    """What a plain install of each release on each Python comes to, oldest release first; and each
    cause once.

    `resolves` means that a resolver finds packages, not that they work; `on` is the day of a row's
    run or answer. `command` asks it, with the release in the place of `RELEASE`. `sentences` has
    each sentence once.
    """

    package: str
    command: str
    sentences: tuple[str, ...]
    installs: tuple[PlainInstallRow, ...]
    causes: tuple[PlainCause, ...]


class OtherPlatformFacts(Value, frozen=True, kw_only=True):
    """A platform that the matrix asks about: its name, what users call it, its name in locks, and
    the label of a runner of GitHub's, empty where none is known.
    """

    name: PlatformName
    title: str
    target: str
    runner: str


class PlatformInstallRow(Value, frozen=True, kw_only=True):
    """A plain install on one Python of a platform; `because` is the number of its sentence in
    `sentences`, the rest is as the command line has it.
    """

    platform: PlatformName
    release: str
    python: str
    cell: str
    state: PlatformState
    evidence: PlatformEvidence
    outcome: str
    because: int
    on: datetime.date | None
    lacking: str
    newest: str
    newest_pythons: tuple[str, ...]


class PlatformInstalls(Document, frozen=True, kw_only=True):
    """What a plain install of each release on each Python comes to on other platforms, where
    nothing was run: by metadata (`declared`), or by a resolver that was asked for that platform
    (`locked` where it found packages, `asked` where not). `sentences` has each sentence once.
    """

    package: str
    platforms: tuple[OtherPlatformFacts, ...]
    sentences: tuple[str, ...]
    installs: tuple[PlatformInstallRow, ...]


class LanesDocument(Document, frozen=True, kw_only=True):
    """What the lanes of a matrix came to, each cell held against an ordinary one.

    Only a matrix that declares a lane has this document. The cells of lanes colour no place of the
    grid and stand in no other document.
    """

    cells: tuple[LaneCell, ...]
    alerts: tuple[LaneAlert, ...]


def plain_document(report: MatrixReport) -> PlainInstalls:
    package, installs = report.snapshot.matrix.subject_axis.package, plain_installs(report.snapshot)
    sentences = dict.fromkeys(install.because for install in installs)
    numbers = {text: number for number, text in enumerate(sentences)}
    return PlainInstalls(
        **head(report),
        package=package,
        command=plain_command(package, "RELEASE"),
        sentences=tuple(numbers),
        installs=tuple(
            PlainInstallRow(
                **install.row | {"because": numbers[install.because]},
                instead=_instead(report, install),
            )
            for install in installs
        ),
        causes=tuple(PlainCause(**cause.row) for cause in install_causes(installs)),
    )


def platforms_document(report: MatrixReport) -> PlatformInstalls:
    matrix, installs = report.snapshot.matrix, report.snapshot.platform_installs
    reasons = [install_reason(install) for install in installs]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(reasons))}
    return PlatformInstalls(
        **head(report),
        package=matrix.subject_axis.package,
        platforms=tuple(
            OtherPlatformFacts(
                name=name,
                title=PLATFORMS[name].title,
                target=target_of(name, matrix.platform),
                runner=PLATFORMS[name].runner,
            )
            for name in matrix.platforms
        ),
        sentences=tuple(numbers),
        installs=tuple(
            PlatformInstallRow(**install.row | {"because": numbers[text]})
            for install, text in zip(installs, reasons, strict=True)
        ),
    )


def lanes_document(report: MatrixReport) -> LanesDocument:
    return LanesDocument(**head(report), cells=report.lanes.cells, alerts=report.lanes.alerts)


def _instead(report: MatrixReport, install: Install) -> WorksInstead | None:
    proof = None if install.state == "works" else works_instead(report.advisor, install)
    if proof is None:
        return None
    return WorksInstead(cell=proof.id, verdict=proof.kind, lock=lock_file(report.name, proof.id))
