"""The `site` room's index of search, and the signs by which a pasted text is recognised;
both are read by the site's own script alone, and are no part of the API.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from packaging.version import Version

from compat.advise.doctor.facts import MOST_READ
from compat.advise.doctor.resolvers import PYTHON_PATTERNS, VERSION_PATTERN
from compat.advise.message import Sign, flat, signs
from compat.results.answer import Answer
from compat.run.outcome import Failed, parse_outcome
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.encode import json
from compat.site.pages.grid_view import subject_versions
from compat.site.pages.place_view import Doc
from compat.site.pages.results_view import causes
from compat.site.pages.whole_site import search_entries
from compat.site.paths import ENTRIES, SIGNS, address, page
from compat.site.wording import ranges

_GONE = re.compile(r"requires (?P<name>\S+) (?P<pin>\S+), and the index has no such release")


def search_files(edition: Edition) -> Iterator[SiteFile]:
    known = {
        "libraries": [_library(report) for report in edition.reports],
        "most": MOST_READ,
        "pythons": PYTHON_PATTERNS,
        "versions": VERSION_PATTERN,
    }
    yield SiteFile(path=ENTRIES, content=json({"entries": search_entries(edition)}))
    yield SiteFile(path=SIGNS, content=json(known))


def _library(report: MatrixReport) -> dict[str, Any]:
    """A matrix as the script knows it: its home, the addresses of its releases below it, and its
    causes.
    """
    matrix, releases = report.snapshot.matrix, map(str, subject_versions(report))
    causes = [*_causes(report)]
    return {
        "name": report.name,
        "title": matrix.title,
        "subject": matrix.subject_axis.package,
        "home": address(page(report.name)),
        "releases": {each: address(page(report.name, "release", each)) for each in releases},
        "causes": [
            {"sentence": sentence, "path": path, "signs": signs} for sentence, path, signs in causes
        ],
    }


def _causes(report: MatrixReport) -> Iterator[tuple[str, str, tuple[Sign, ...]]]:
    """Each published cause: its sentence, where it stands, and its signs."""
    causes_page = address(page(report.name, "causes"))
    package, snapshot = report.snapshot.matrix.subject_axis.package, report.snapshot
    vanished_here = vanished(snapshot.entries, snapshot.matrix.subject)
    gone = {(flat(lacking.requirement),): lacking for lacking in vanished_here}
    anchors = dict.fromkeys(gone, f"{causes_page}#out")
    for cause in causes(report).red:
        outcome = parse_outcome(cause.outcome)
        found_by = signs(outcome) if isinstance(outcome, Failed) else ()
        path = f"{causes_page}#{cause.anchor}"
        if found_by and found_by[0] in gone:
            anchors[found_by[0]] = path
        elif found_by:
            yield cause.sentence, path, found_by
    for sign, lacking in gone.items():
        verb = "requires" if lacking.is_of_one else "require"
        requiring = f"which {package} {lacking.releases} {verb}"
        sentence = f"The package index has no {lacking.requirement}, {requiring}."
        yield sentence, anchors[sign], (sign,)


def vanished(entries: Iterable[Answer], subject: str) -> list[Doc]:
    """Return each requirement that the package index no longer has a release for, and which
    releases of the subject have it, as ranges.
    """
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
