"""The `site` room's API about plain installs: each release on each Python, and each cause once."""

from msgspec.structs import asdict

from compat.results.plain_installs import (
    PlainCause,
    PlainInstall,
    plain_causes,
    plain_installs,
)
from compat.results.run_group import Kind
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


class PlainInstallRow(PlainInstall, frozen=True, kw_only=True):
    """A plain install: its command, what it comes to, and what works instead, null where nothing
    was tested.
    """

    command: str
    instead: WorksInstead | None


class PlainInstalls(Document, frozen=True, kw_only=True):
    """What a plain install of each release on each Python comes to, oldest release first; and each
    cause once.

    `resolves` means that a resolver finds packages, not that they work; `on` is the day of a row's
    run or answer.
    """

    package: str
    installs: tuple[PlainInstallRow, ...]
    causes: tuple[PlainCause, ...]


def plain_document(report: MatrixReport) -> PlainInstalls:
    """Return what is known of plain installs."""
    package, installs = report.snapshot.matrix.subject_axis.package, plain_installs(report.snapshot)
    return PlainInstalls(
        **head(report),
        package=package,
        installs=tuple(
            PlainInstallRow(
                **asdict(install),
                command=plain_command(package, install.release),
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
