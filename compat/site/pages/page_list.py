"""The `site` room's table of pages: which there are, from which template, and what each depends
on.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from packaging.version import Version

from compat.policy.quarters import quarters
from compat.results.snapshot import Entry
from compat.site.api.documents import api_path
from compat.site.edition import Edition, MatrixReport, cell_page, page, place_of
from compat.site.pages.advice_view import advise_page
from compat.site.pages.capability_view import (
    capability_ids,
    capability_list,
    capability_view,
)
from compat.site.pages.causes_view import causes
from compat.site.pages.cell_view import cell_view
from compat.site.pages.changes_view import changes_page
from compat.site.pages.charts_view import charts
from compat.site.pages.grid_view import choices, grid, grid_path, main_python
from compat.site.pages.home_view import home, home_views
from compat.site.pages.menu import SECTIONS
from compat.site.pages.neighbours import Neighbours
from compat.site.pages.pair_view import Pairs
from compat.site.pages.policy_view import (
    proposal_list,
    proposal_view,
    schedule_view,
    title_of,
)
from compat.site.pages.quarter_view import quarter_view, quarter_words
from compat.site.pages.release_view import release_entries, release_view, subject_versions
from compat.site.pages.reliability_view import reliability
from compat.site.pages.reports import ProblemReport
from compat.site.status import style_of
from compat.site.tokens import Tokens, digest
from compat.site.wording import place_words
from compat.value import Value


class Page(Value, frozen=True, kw_only=True):
    """A page: its path, its template, its title, a sentence for search engines, and its view, made
    when needed.

    `matrix` is the volume that it is of, None for a page of the whole site; `section` its entry in
    the menu. `inputs` is a digest of all that the view is made from. `canonical` is another path
    that has the same content. `report` is what a report about its data names, None where it shows
    no data of one thing.
    """

    path: str
    template: str
    title: str
    about: str
    view: Callable[[], Any]
    inputs: str
    matrix: str | None = None
    section: str = ""
    canonical: str = ""
    report: ProblemReport | None = None


def pages(edition: Edition) -> Iterator[Page]:
    """Yield every page of an edition."""
    tokens = {volume.name: edition.tokens(volume) for volume in edition.volumes}
    yield Page(
        path="index.html",
        template="front.html",
        title=(
            "What works with what?"
            f" {', '.join(one.picture.matrix.title for one in edition.volumes)}"
        ),
        about="Which versions of a library work together, because they were installed and tested.",
        view=partial(home_views, edition),
        inputs=digest(*(one.all for one in tokens.values())),
    )
    for volume in edition.volumes:
        yield from _sections(edition, volume, tokens[volume.name])
        yield from _grids(volume, tokens[volume.name])
        yield from _advice(edition, volume, tokens[volume.name])
        yield from _capabilities(volume, tokens[volume.name])
        yield from _quarters(volume, tokens[volume.name])
        yield from _proposals(volume, tokens[volume.name])
        yield from _releases(volume, tokens[volume.name])
        yield from _cells(edition, volume, tokens[volume.name])
    yield from _aliases(edition)


def _sections(edition: Edition, volume: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    title, subject = volume.picture.matrix.title, volume.picture.matrix.subject_axis.package
    told: tuple[tuple[str, str, str, Callable[[], Any]], ...] = (
        (
            "",
            f"{title}: what do I install?",
            f"Tested versions of {subject}.",
            partial(home, edition, volume),
        ),
        (
            "causes",
            f"{title}: why things do not work",
            "Each root cause once.",
            partial(causes, volume),
        ),
        (
            "charts",
            f"{title}: over the releases",
            "Support, speed and share of working capabilities.",
            partial(charts, volume),
        ),
        (
            "changes",
            f"{title}: what changed",
            "Every change of a verdict.",
            partial(changes_page, volume),
        ),
        (
            "schedule",
            f"{title}: when minimum versions move",
            "Dates by rule.",
            partial(schedule_view, volume),
        ),
        (
            "proposals",
            f"{title}: proposed minimum versions",
            "Moves and their evidence.",
            partial(proposal_list, volume),
        ),
        (
            "reliability",
            f"{title}: how far to trust this",
            "Coverage, age and isolation of the runs.",
            partial(reliability, volume),
        ),
    )
    for section, words, about, view in told:
        yield Page(
            path=page(volume.name, *([section] if section else [])),
            template=f"{section or 'home'}.html",
            title=words,
            about=about,
            view=view,
            inputs=tokens.all,
            matrix=volume.name,
            section=section or "home",
        )


def _grids(volume: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    main, title, chosen = main_python(volume), volume.picture.matrix.title, choices(volume, None)

    def of(python: Version | None, path: str, canonical: str = "") -> Page:
        where = "any Python" if python is None else f"Python {python}"
        here = chain.from_iterable(() if python is None else volume.board[python].values())
        return Page(
            path=path,
            template="grid.html",
            title=f"What works with {title} on {where}?",
            about=f"Each release of {title} against the packages that it needs, tested on {where}.",
            view=partial(grid, volume, python),
            inputs=tokens.all if python is None else digest(tokens.of(*here), chosen),
            matrix=volume.name,
            section="grid",
            canonical=canonical,
            report=ProblemReport(facts=(("grid", where),), data=(api_path(volume.name, "cells"),)),
        )

    yield of(main, page(volume.name, "grid"), grid_path(volume, main))
    for python in (*volume.board, None):
        yield of(python, grid_path(volume, python))


def _advice(edition: Edition, volume: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    title = volume.picture.matrix.title
    for python in (None, *volume.board):
        where = "" if python is None else f" on Python {python}"
        yield Page(
            path=page(volume.name, "advise", *([] if python is None else [f"py{python}"])),
            template="advise.html",
            title=f"What to install for {title}{where}",
            about=(
                f"The newest versions of {title} that tests show to work together{where}, with the"
                " commands."
            ),
            view=partial(advise_page, edition, volume, python),
            inputs=tokens.all,
            matrix=volume.name,
            section="advise",
        )


def _capabilities(volume: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    title = volume.picture.matrix.title
    yield Page(
        path=page(volume.name, "cap"),
        template="capabilities.html",
        title=f"What {title} can do, release by release",
        about=f"Each capability of {title}, since when it works, and where it fails.",
        view=partial(capability_list, volume),
        inputs=tokens.all,
        matrix=volume.name,
        section="cap",
    )
    pairs = Pairs(volume)
    for name in capability_ids(volume):
        words = pairs.title(name)
        yield Page(
            path=page(volume.name, "cap", name),
            template="capability.html",
            title=f"{words}: since when, in {title}",
            about=f"In which releases of {title} this works: {words}.",
            view=partial(capability_view, volume, name, pairs.links(name)),
            inputs=tokens.all,
            matrix=volume.name,
            section="cap",
            report=ProblemReport(
                facts=(("capability", name),), data=(api_path(volume.name, "capabilities", name),)
            ),
        )
    yield from _pairs(volume, pairs, tokens)


def _pairs(volume: MatrixReport, pairs: Pairs, tokens: Tokens) -> Iterator[Page]:
    title = volume.picture.matrix.title
    for first, second in pairs.all:
        yield Page(
            path=pairs.path(first, second),
            template="pair.html",
            title=f"“{pairs.title(first)}” and “{pairs.title(second)}”: do both work?",
            about=f"In which releases of {title} both work, only one of them, or none.",
            view=partial(pairs.view, first, second),
            inputs=digest(tokens.of(), pairs.inputs(first, second)),
            matrix=volume.name,
            section="cap",
            report=ProblemReport(
                facts=(("capability", first), ("capability", second)),
                data=tuple(api_path(volume.name, "capabilities", name) for name in (first, second)),
            ),
        )


def _quarters(volume: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    title = volume.picture.matrix.title
    for one in quarters(volume.schedule):
        words = quarter_words(one)
        yield Page(
            path=page(volume.name, "schedule", one.id),
            template="quarter.html",
            title=f"{title}: minimum versions in {words}",
            about=f"Minimum versions of {title} in {words}, and what each move drops.",
            view=partial(quarter_view, volume, one),
            inputs=tokens.all,
            matrix=volume.name,
            section="schedule",
        )


def _proposals(volume: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    for one in volume.proposals:
        yield Page(
            path=page(volume.name, "proposals", one.id),
            template="proposal.html",
            title=title_of(one),
            about=f"{title_of(one)}: grounds, objections and evidence.",
            view=partial(proposal_view, volume, one),
            inputs=tokens.all,
            matrix=volume.name,
            section="proposals",
        )


def _releases(volume: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    known, package = release_entries(volume), volume.picture.matrix.subject_axis.package
    versions = subject_versions(volume)
    for version in versions:
        yield Page(
            path=page(volume.name, "release", str(version)),
            template="release.html",
            title=f"{package} {version}",
            about=f"What {package} {version} works with, what it requires, and what is ruled out.",
            view=partial(release_view, volume, version),
            inputs=digest(tokens.of(*known.get(version, ())), versions),
            matrix=volume.name,
            section="grid",
            report=ProblemReport(
                facts=(("release", f"{package} {version}"),),
                data=(
                    api_path(volume.name, "releases", volume.picture.matrix.subject, str(version)),
                ),
            ),
        )
    for name, ends in (("latest", versions[-1:]), ("oldest", versions[:1])):
        for end in ends:
            yield _alias(page(volume.name, "release", name), page(volume.name, "release", str(end)))


def _cells(edition: Edition, volume: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    neighbours = Neighbours(volume)
    for entry in volume.picture.known:
        yield _cell(edition, volume, tokens, entry, neighbours)


def _cell(
    edition: Edition, volume: MatrixReport, tokens: Tokens, entry: Entry, neighbours: Neighbours
) -> Page:
    cell = entry.cell
    around: Iterable[Entry | None] = (
        one for pair in neighbours.beside(cell).values() for one in pair
    )
    green = (
        neighbours.greener(entry) if entry.verdict.kind in ("broken", "partial", "flaky") else None
    )
    place = place_words(cell, volume.picture.matrix)
    return Page(
        path=cell_page(cell),
        template="cell.html",
        title=f"{place}: {style_of(entry).word}",
        about=(
            f"Does {place} work? What was installed, what passed, what failed, and how to"
            " reproduce it."
        ),
        view=partial(cell_view, edition, volume, entry, neighbours),
        inputs=tokens.of(*volume.places[place_of(cell)], entry, green, *around),
        matrix=volume.name,
        section="grid",
        report=_report(entry),
    )


def _report(entry: Entry) -> ProblemReport:
    found = entry.verdict
    outcome = () if found.outcome is None else (("outcome", str(found.outcome)),)
    latest = () if found.latest is None else (("last tested", str(found.latest)),)
    return ProblemReport(
        facts=(("cell", entry.cell.id), ("verdict", found.kind), *outcome, *latest),
        data=(api_path(entry.cell.matrix, "cells", entry.cell.id),),
    )


def _aliases(edition: Edition) -> Iterator[Page]:
    """The sections of the first volume answer without its name too, so that a short address can be
    told.
    """
    first, names = edition.volumes[0].name, {volume.name for volume in edition.volumes}
    for section in SECTIONS:
        if section not in names:
            yield _alias(page(section), page(first, section))


def _alias(path: str, target: str) -> Page:
    return Page(
        path=path,
        template="moved.html",
        title="",
        about="",
        view=lambda: target,
        inputs=digest(path, target),
    )
