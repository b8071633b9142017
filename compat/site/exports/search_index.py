"""The `site` room's index of search, and the signs by which a pasted text is recognised;
both are read by the site's own script alone, and are no part of the API.
"""

from collections.abc import Iterator

from compat.advise.doctor.facts import MOST_READ
from compat.advise.doctor.resolvers import PYTHON_PATTERNS, VERSION_PATTERN
from compat.advise.message import Sign, flat, signs
from compat.run.outcome import Failed, parse_outcome
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.encode import json
from compat.site.pages.grid_view import subject_versions
from compat.site.pages.results_view import causes
from compat.site.pages.whole_site import search_entries
from compat.site.paths import ENTRIES, SIGNS, address, page
from compat.site.signs import vanished
from compat.value import Value


class RecognisedCause(Value, frozen=True, kw_only=True):
    """A published cause: its sentence, where it stands, and its signs."""

    sentence: str
    path: str
    signs: tuple[Sign, ...]


class Library(Value, frozen=True, kw_only=True):
    """A matrix as the script knows it: its name, title and subject, its home, the addresses of its
    releases below it, and its causes.
    """

    name: str
    title: str
    subject: str
    home: str
    releases: dict[str, str]
    causes: tuple[RecognisedCause, ...]


def search_files(edition: Edition) -> Iterator[SiteFile]:
    signs_known = {
        "libraries": [library(report) for report in edition.reports],
        "most": MOST_READ,
        "pythons": PYTHON_PATTERNS,
        "versions": VERSION_PATTERN,
    }
    yield SiteFile(path=ENTRIES, content=json({"entries": search_entries(edition)}))
    yield SiteFile(path=SIGNS, content=json(signs_known))


def library(report: MatrixReport) -> Library:
    matrix = report.snapshot.matrix
    return Library(
        name=report.name,
        title=matrix.title,
        subject=matrix.subject_axis.package,
        home=address(page(report.name)),
        releases={
            str(version): address(page(report.name, "release", str(version)))
            for version in subject_versions(report)
        },
        causes=tuple(_causes(report)),
    )


def _causes(report: MatrixReport) -> Iterator[RecognisedCause]:
    causes_page = address(page(report.name, "causes"))
    package = report.snapshot.matrix.subject_axis.package
    gone = {
        (flat(requirement.requirement),): requirement
        for requirement in vanished(report.snapshot.entries, report.snapshot.matrix.subject)
    }
    anchors = dict.fromkeys(gone, f"{causes_page}#out")
    for cause in causes(report).red:
        outcome = parse_outcome(cause.outcome)
        found_by = signs(outcome) if isinstance(outcome, Failed) else ()
        path = f"{causes_page}#{cause.anchor}"
        if found_by and found_by[0] in gone:
            anchors[found_by[0]] = path
        elif found_by:
            yield RecognisedCause(sentence=cause.sentence, path=path, signs=found_by)
    for sign, requirement in gone.items():
        verb = "requires" if requirement.is_of_one else "require"
        yield RecognisedCause(
            sentence=(
                f"The package index has no {requirement.requirement}, which {package}"
                f" {requirement.releases} {verb}."
            ),
            path=anchors[sign],
            signs=(sign,),
        )
