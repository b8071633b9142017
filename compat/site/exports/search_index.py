"""The `site` room's index of search, and the signs by which a pasted text is recognised;
both are read by the site's own script alone, and are no part of the API.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from packaging.version import Version

from compat.advise.doctor.facts import MOST_READ
from compat.advise.doctor.parse import PYTHON_PATTERNS, VERSION_PATTERN
from compat.advise.message import flat, signs
from compat.advise.request import label
from compat.results.answer import Answer
from compat.run.outcome import Failed, parse_outcome
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.encode import json
from compat.site.install_words import platform_title
from compat.site.pages.advice import answer_path, version_axes
from compat.site.pages.page_list import SECTIONS, TABS, section_paths
from compat.site.pages.render import assets, heading_id
from compat.site.pages.results import Doc, capability_ids, causes, subject_versions
from compat.site.paths import ENTRIES, SIGNS, about_path, address, cell_page, page
from compat.site.wording import cut_text, ranges

_GONE = re.compile(r"requires (?P<name>\S+) (?P<pin>\S+), and the index has no such release")


def search_files(edition: Edition) -> Iterator[SiteFile]:
    known = {
        "libraries": [_library(report) for report in edition.reports],
        "most": MOST_READ,
        "pythons": PYTHON_PATTERNS,
        "versions": VERSION_PATTERN,
    }
    names = ("kind", "words", "also", "path")
    own = [entry for report in edition.reports for entry in _entries(report)]
    entries = [dict(zip(names, entry, strict=True)) for entry in (*own, *_documentation())]
    yield SiteFile(path=ENTRIES, content=json({"entries": entries}))
    yield SiteFile(path=SIGNS, content=json(known))


# Other words for a platform, by a part of its name.
_ALSO_CALLED = {
    "macos": "mac osx darwin apple",
    "macos-arm64": "m1 m2 m3 m4 silicon",
    "windows": "win win10 win11",
    "aarch64": "arm arm64 raspberry graviton",
    "musl": "alpine",
}
Entry = tuple[str, str, str, str]


def _entries(report: MatrixReport) -> Iterator[Entry]:
    matrix, name = report.snapshot.matrix, report.name
    axis, title, home = matrix.subject_axis, matrix.title, address(page(name))
    yield "library", title, f"{axis.package} {axis.short} {name}", home
    for release in reversed(subject_versions(report)):
        path = address(page(name, "release", str(release)))
        yield "release", f"{axis.package} {release}", f"{axis.short} {title}", path
    for other, version in version_axes(report):
        path = address(answer_path(report, {other.name: version}))
        words = f"{label(other)} {version} for {title}"
        yield "version", words, f"{other.name} {other.short}", path
    for platform in matrix.platforms:
        called = (words for part, words in _ALSO_CALLED.items() if part in platform)
        path = address(page(name, "advise", platform))
        yield "platform", f"{title} on {platform_title(platform)}", " ".join(called), path
    yield "page", f"{title} in a notebook or a container", "colab jupyter docker podman", home
    for id in capability_ids(report):
        described = report.titles.get(id)
        also = "" if described is None else cut_text(described.says)
        path = address(page(name, "cap", id))
        yield "capability", report.title(id), f"{id} {title} {also}", path
    for cause in causes(report).red:
        also = cut_text("" if cause.known is None else cause.known.because)
        yield "cause", cause.sentence, also, address(page(name, "causes", cause.anchor))
    best = report.best("best", {})
    if best is not None:
        for pin in report.locks[best.id].pins:
            words = f"{pin.name} {pin.version}, installed with {title}"
            yield "package", words, "dependency", address(cell_page(best.cell))
    for section, path in section_paths(report).items():
        words = TABS.get(section) or SECTIONS[section]
        yield "page", f"{title}: {words}", section, address(path)


def _documentation() -> Iterator[Entry]:
    for path in sorted((assets() / "pages").glob("*.md")):
        title, *rest = path.read_text(encoding="utf-8").splitlines()
        title, home = title.removeprefix("# "), address(about_path(path.name))
        yield "documentation", title, "", home
        for line in rest:
            depth, _, heading = line.partition(" ")
            if depth in ("##", "###"):
                heading = heading.replace("`", "")
                yield "documentation", heading, title, f"{home}#{heading_id(heading)}"


def _library(report: MatrixReport) -> dict[str, Any]:
    matrix, releases = report.snapshot.matrix, map(str, subject_versions(report))
    return {
        "name": report.name,
        "title": matrix.title,
        "subject": matrix.subject_axis.package,
        "home": address(page(report.name)),
        "releases": {each: address(page(report.name, "release", each)) for each in releases},
        "causes": [*_causes(report)],
    }


def _causes(report: MatrixReport) -> Iterator[dict[str, Any]]:
    causes_page = address(page(report.name, "causes"))
    package, snapshot = report.snapshot.matrix.subject_axis.package, report.snapshot
    vanished_here = vanished(snapshot.entries, snapshot.matrix.subject)
    gone = {(flat(lacking.requirement),): lacking for lacking in vanished_here}
    anchors = dict.fromkeys(gone, f"{causes_page}#out")
    for cause in causes(report).red:
        outcome = parse_outcome(cause.outcome)
        found_by = signs(outcome) if isinstance(outcome, Failed) else ()
        path = address(page(report.name, "causes", cause.anchor))
        if found_by and found_by[0] in gone:
            anchors[found_by[0]] = path
        elif found_by:
            yield {"sentence": cause.sentence, "path": path, "signs": found_by}
    for sign, lacking in gone.items():
        verb = "requires" if lacking.is_of_one else "require"
        requiring = f"which {package} {lacking.releases} {verb}"
        sentence = f"The package index has no {lacking.requirement}, {requiring}."
        yield {"sentence": sentence, "path": anchors[sign], "signs": (sign,)}


def vanished(entries: Iterable[Answer], subject: str) -> list[Doc]:
    releases: dict[str, set[str]] = {}
    versions: set[Version] = set()
    for entry in entries:
        versions.add(entry.cell.on(subject).version)
        match = None if entry.obstacle is None else _GONE.search(entry.obstacle.because)
        if match is not None:
            requirement = f"{match['name']}{match['pin']}"
            releases.setdefault(requirement, set()).add(str(entry.cell.on(subject).version))
    every = [str(version) for version in sorted(versions)]
    newest_first = sorted(
        releases.items(), key=lambda item: -max(every.index(version) for version in item[1])
    )
    return [
        Doc(requirement=name, releases=ranges(chosen, every), is_of_one=len(chosen) == 1)
        for name, chosen in newest_first
    ]
