"""The `site` room's API about plain installs: each release on each Python, and each cause once."""

import datetime

from msgspec.structs import asdict

from compat.results.answer import Kind
from compat.results.plain_installs import (
    PlainCause,
    PlainGround,
    PlainInstall,
    PlainState,
    plain_causes,
    plain_installs,
)
from compat.site.api.envelope import Document, SitePath, head
from compat.site.edition import MatrixReport
from compat.site.paths import lock_file
from compat.site.plain_words import plain_command, works_instead
from compat.value import Value


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


def plain_document(report: MatrixReport) -> PlainInstalls:
    package, installs = report.snapshot.matrix.subject_axis.package, plain_installs(report.snapshot)
    numbers = {
        text: number
        for number, text in enumerate(dict.fromkeys(install.because for install in installs))
    }
    return PlainInstalls(
        **head(report),
        package=package,
        command=plain_command(package, "RELEASE"),
        sentences=tuple(numbers),
        installs=tuple(
            PlainInstallRow(
                **asdict(install) | {"because": numbers[install.because]},
                instead=_instead(report, install),
            )
            for install in installs
        ),
        causes=plain_causes(installs),
    )


def _instead(report: MatrixReport, install: PlainInstall) -> WorksInstead | None:
    if install.state == "works":
        return None
    proof = works_instead(report.advisor, install)
    if proof is None:
        return None
    return WorksInstead(cell=proof.id, verdict=proof.kind, lock=lock_file(report.name, proof.id))
