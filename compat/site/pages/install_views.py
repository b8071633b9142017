"""The `site` room's pages of what is known beside the grid: plain installs, here and on other
platforms, and variants. They show what the API's documents have.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from packaging.version import Version

from compat.declare.platforms import own_name
from compat.plan.cell import LANES
from compat.results.installs import (
    PLAIN_STATES,
    Install,
    InstallState,
    install_causes,
    on_platforms,
    plain_installs,
)
from compat.site.edition import MatrixReport
from compat.site.install_words import (
    INSTALL_STYLES,
    evidence_words,
    install_reason,
    installable_words,
    plain_command,
    platform_title,
)
from compat.site.lane_words import LANE_QUESTIONS, LANE_TITLES, no_prerelease_words
from compat.site.pages.place_view import Doc
from compat.site.paths import api_path, page
from compat.site.wording import listed, ranges


def plain_page(report: MatrixReport) -> Doc:
    """Return every plain install: a table of releases, neighbours with the same answers in one row,
    and each answer once with its releases.
    """
    snapshot, matrix = report.snapshot, report.snapshot.matrix
    installs = plain_installs(snapshot)
    releases = [str(v) for v in sorted({Version(install.release) for install in installs})]
    pythons = [str(v) for v in sorted({Version(install.python) for install in installs})]
    own = {(install.release, install.python): install for install in installs}
    best = {(b.release, b.platform): b.install for b in on_platforms(snapshot.platform_installs)}
    rows: list[tuple[list[str], list[InstallState], list[Install]]] = []
    for release in reversed(releases):
        elsewhere = [best[release, name] for name in matrix.platforms]
        answers = [*(own[release, python] for python in pythons), *elsewhere]
        states = [install.state for install in answers]
        if rows and rows[-1][1] == states:
            rows[-1][0].append(release)
        else:
            rows.append(([release], states, answers))
    counts = Counter(state for _, states, _ in rows for state in states)
    days = [snapshot.plain[i.cell].on for i in installs if i.cell in snapshot.plain]
    return Doc(
        package=matrix.subject_axis.package,
        own=platform_title(own_name(matrix.platform)),
        pythons=pythons,
        platforms=[
            (
                name,
                platform_title(name),
                installable_words(snapshot.platform_installs, name, matrix.subject_axis.package),
            )
            for name in matrix.platforms
        ],
        rows=[
            (ranges(alike, releases), page(report.name, "release", alike[0]), answers)
            for alike, _, answers in rows
        ],
        legend=[INSTALL_STYLES[state] for state in INSTALL_STYLES if counts[state]],
        causes=[
            Doc(
                on=platform_title(cause.platform) if cause.platform else "",
                install=cause.example,
                style=INSTALL_STYLES[cause.state],
                reason=install_reason(cause.example if cause.platform else cause),
                is_example=bool(cause.platform) and cause.is_example,
                count=cause.count,
                releases=_by_python(cause.releases, releases),
            )
            for cause in install_causes((*installs, *snapshot.platform_installs))
        ],
        count=len(installs),
        asked=len(days),
        last=max(days, default=None),
        data=[api_path(report.name, "plain-installs")]
        + [api_path(report.name, "platform-installs")] * bool(matrix.platforms),
    )


def _by_python(
    by_python: dict[str, tuple[str, ...]], every: Sequence[str]
) -> list[tuple[str, str]]:
    """The Pythons with the same releases together: `3.9 and 3.10`, `0.63.0 to 0.87.0`."""
    pythons: dict[str, list[str]] = {}
    for python, versions in by_python.items():
        pythons.setdefault(ranges(versions, every), []).append(python)
    return [(listed(alike), versions) for versions, alike in pythons.items()]


def release_installs(report: MatrixReport, version: Version) -> Doc:
    """Return what a plain install of a release does, each answer once with its Pythons, the best
    first; then the best on each other platform.
    """
    installs = [i for i in plain_installs(report.snapshot) if i.release == str(version)]
    pythons = [i.python for i in sorted(installs, key=lambda i: Version(i.python))]
    alike: dict[tuple[object, ...], list[Install]] = {}
    for install in sorted(installs, key=lambda i: Version(i.python), reverse=True):
        reason = install_reason(install).removesuffix(f", not {install.python}")
        alike.setdefault((install.state, reason, install.on, install.witness), []).append(install)
    groups = sorted(alike.items(), key=lambda item: PLAIN_STATES.index(item[1][0].state))
    elsewhere = (i for i in report.snapshot.platform_installs if i.release == str(version))
    return Doc(
        command=plain_command(report.snapshot.matrix.subject_axis.package, str(version)),
        rows=[
            (f"Python {ranges((i.python for i in group), pythons)}", group[0], str(key[1]))
            for key, group in groups
        ]
        + [
            (
                f"{platform_title(best.platform)}, Python {listed(best.pythons)}",
                best.install,
                install_reason(best.install),
            )
            for best in on_platforms(elsewhere)
        ],
    )


def install_evidence(install: Install) -> str:
    """Return from what an answer is known, on any platform."""
    if install.platform:
        return evidence_words(install)
    if install.on is None:
        return "by metadata"
    return f"{'tested' if install.ground == 'run' else 'asked'} on {install.on}"


def lanes_view(report: MatrixReport) -> Iterator[Doc]:
    """Yield each variant that the matrix declares or has cells of, with the cells that have an
    answer.
    """
    matrix, awaited = report.snapshot.matrix, report.snapshot.catalogue.prereleases
    absent = [no_prerelease_words(package.name) for package in awaited if not package.releases]
    for lane in LANES:
        cells = [cell for cell in report.lanes.cells if cell.lane == lane]
        notes = absent if lane == "prerelease" else []
        is_declared = matrix.lowest if lane == "lowest" else bool(matrix.prerelease_axes)
        if is_declared or cells or notes:
            yield Doc(
                lane=lane,
                title=LANE_TITLES[lane],
                question=LANE_QUESTIONS[lane],
                notes=[a.sentence for a in report.lanes.alerts if a.lane == lane] + notes,
                cells=[c for c in cells if c.verdict not in ("unknown", "infeasible")],
                waiting=sum(cell.verdict == "unknown" for cell in cells),
                ruled_out=sum(cell.verdict == "infeasible" for cell in cells),
            )
