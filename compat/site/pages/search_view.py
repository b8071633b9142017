"""The `site` room's search: every release, version, capability, cause and section that has a
page.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Literal, get_args

from compat.advise.request import label
from compat.site.edition import Edition, MatrixReport
from compat.site.pages.advice_view import answer_path
from compat.site.pages.capability_view import capability_ids, capability_title
from compat.site.pages.causes_view import causes
from compat.site.pages.menu import SECTIONS, section_paths
from compat.site.pages.place_view import View
from compat.site.pages.release_view import subject_versions
from compat.site.pages.version_view import version_axes
from compat.site.paths import ENTRIES, address, page
from compat.site.wording import cut_text

FoundKind = Literal["release", "version", "capability", "cause", "page"]
KINDS: tuple[FoundKind, ...] = get_args(FoundKind)
_HEADINGS: dict[FoundKind, str] = {
    "release": "Releases",
    "version": "Versions to combine them with",
    "capability": "Capabilities",
    "cause": "Causes of failures",
    "page": "Pages",
}


class SearchEntry(View, frozen=True):
    """Something to be searched: its kind, its words, further words by which it is found, and its
    address below the site's root.
    """

    kind: FoundKind
    words: str
    also: str
    path: str


class SearchGroup(View, frozen=True):
    """The entries of a kind, under a letter or a library."""

    heading: str
    parts: tuple[tuple[str, tuple[SearchEntry, ...]], ...]


class SearchPage(View, frozen=True):
    """All entries by kind, and where the script reads them."""

    groups: tuple[SearchGroup, ...]
    entries_path: str
    count: int


def search_entries(edition: Edition) -> tuple[SearchEntry, ...]:
    return tuple(entry for report in edition.reports for entry in _entries(report))


def search_page(edition: Edition) -> SearchPage:
    entries = search_entries(edition)
    return SearchPage(
        groups=tuple(
            SearchGroup(heading=_HEADINGS[kind], parts=tuple(_parts(kind, entries)))
            for kind in KINDS
            if any(entry.kind == kind for entry in entries)
        ),
        entries_path=ENTRIES,
        count=len(entries),
    )


def _parts(
    kind: FoundKind, entries: tuple[SearchEntry, ...]
) -> Iterator[tuple[str, tuple[SearchEntry, ...]]]:
    """Capabilities and causes by letter; releases and versions are in their order already."""
    chosen = [entry for entry in entries if entry.kind == kind]
    if kind not in ("capability", "cause"):
        yield "", tuple(chosen)
        return
    chosen.sort(key=_letter_and_words)
    for letter, group in groupby(chosen, key=lambda entry: _letter_and_words(entry)[0]):
        yield letter, tuple(group)


def _letter_and_words(entry: SearchEntry) -> tuple[str, str]:
    first = entry.words[:1].upper()
    return (first if first.isalpha() else "#"), entry.words.lower()


def _entries(report: MatrixReport) -> Iterator[SearchEntry]:
    matrix = report.snapshot.matrix
    package = matrix.subject_axis.package
    for version in reversed(subject_versions(report)):
        yield SearchEntry(
            kind="release",
            words=f"{package} {version}",
            also=f"{matrix.subject_axis.short} {matrix.title}",
            path=address(page(report.name, "release", str(version))),
        )
    for axis, version in version_axes(report):
        yield SearchEntry(
            kind="version",
            words=f"{label(axis)} {version} for {matrix.title}",
            also=f"{axis.name} {axis.short}",
            path=address(answer_path(report, {axis.name: version})),
        )
    for name in capability_ids(report):
        yield SearchEntry(
            kind="capability",
            words=capability_title(report, name),
            also=f"{name} {matrix.title}",
            path=address(page(report.name, "cap", name)),
        )
    causes_page = address(page(report.name, "causes"))
    for cause in causes(report).red:
        yield SearchEntry(
            kind="cause",
            words=cause.sentence,
            also=cut_text("" if cause.known is None else cause.known.because),
            path=f"{causes_page}#{cause.anchor}",
        )
    for section, path in section_paths(report).items():
        yield SearchEntry(
            kind="page",
            words=f"{matrix.title}: {SECTIONS[section]}",
            also=section,
            path=address(path),
        )
