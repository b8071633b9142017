"""The `site` room's API about plain installs on other platforms than the matrix's own."""

import datetime

from msgspec.structs import asdict

from compat.declare.platforms import PLATFORMS, PlatformName, target_of
from compat.results.platform_installs import PlatformEvidence, PlatformState
from compat.site.api.envelope import Document, head
from compat.site.edition import MatrixReport
from compat.site.platform_words import platform_reason
from compat.value import Value


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


def platforms_document(report: MatrixReport) -> PlatformInstalls:
    matrix, installs = report.snapshot.matrix, report.snapshot.platform_installs
    reasons = [platform_reason(install) for install in installs]
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
            PlatformInstallRow(**asdict(install) | {"because": numbers[text]})
            for install, text in zip(installs, reasons, strict=True)
        ),
    )
