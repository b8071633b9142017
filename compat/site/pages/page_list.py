"""The `site` room's list of pages: path, template, view and inputs of each."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from packaging.version import Version

from compat.policy.calendar import quarters
from compat.results.answer import Answer
from compat.site.edition import Edition, MatrixReport, place_of
from compat.site.pages.answer_pages import answer_pages
from compat.site.pages.capability_view import (
    capability_ids,
    capability_list,
    capability_view,
)
from compat.site.pages.causes_view import causes
from compat.site.pages.cell_view import cell_view, signs_beside
from compat.site.pages.changes_view import changes_in_month, changes_page, earlier_months
from compat.site.pages.charts_view import charts
from compat.site.pages.grid_view import choices, grid, grid_parts, main_python, part_label
from compat.site.pages.home_view import home
from compat.site.pages.install_views import lanes_view, plain_page, platforms_page
from compat.site.pages.neighbours import Neighbours
from compat.site.pages.page import LatePage, Page, alias, titled
from compat.site.pages.pair_view import Pairs
from compat.site.pages.policy_view import (
    proposal_list,
    proposal_view,
    schedule_view,
    title_of,
)
from compat.site.pages.problem_report import ProblemReport
from compat.site.pages.quarter_view import quarter_view, quarter_words
from compat.site.pages.release_view import release_entries, release_view, subject_versions
from compat.site.pages.reliability_view import reliability
from compat.site.pages.whole_site import whole_site_pages
from compat.site.paths import api_path, cell_page, grid_part_path, grid_path, page
from compat.site.status import style_of
from compat.site.tokens import Tokens, digest
from compat.site.wording import place_words


def pages(edition: Edition) -> Iterator[Page | LatePage]:
    tokens = {report.name: edition.tokens(report) for report in edition.reports}
    yield from whole_site_pages(edition, tokens)
    for report in edition.reports:
        yield from _sections(edition, report, tokens[report.name])
        yield from _months(report, tokens[report.name])
        yield from _grids(report, tokens[report.name])
        yield from answer_pages(edition, report, tokens[report.name])
        yield _plain(report, tokens[report.name])
        yield from _platforms(report, tokens[report.name])
        yield from _lanes(report, tokens[report.name])
        yield from _capabilities(report, tokens[report.name])
        yield from _quarters(report, tokens[report.name])
        yield from _proposals(report, tokens[report.name])
        yield from _releases(edition, report, tokens[report.name])
        yield from _cells(edition, report, tokens[report.name])


def _sections(edition: Edition, report: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    title, subject = report.snapshot.matrix.title, report.snapshot.matrix.subject_axis.package
    sections: tuple[tuple[str, str, str, Callable[[], Any]], ...] = (
        (
            "",
            f"{title}: what do I install?",
            f"Tested versions of {subject}.",
            partial(home, edition, report),
        ),
        (
            "causes",
            f"{title}: why things do not work",
            "Each root cause once.",
            partial(causes, report),
        ),
        (
            "charts",
            f"{title}: over the releases",
            "Support, speed and share of working capabilities.",
            partial(charts, report),
        ),
        (
            "changes",
            f"{title}: what changed",
            "Every change of a verdict.",
            partial(changes_page, report),
        ),
        (
            "schedule",
            f"{title}: when minimum versions move",
            "Dates by rule.",
            partial(schedule_view, report),
        ),
        (
            "proposals",
            f"{title}: which minimum versions can move, and when?",
            "Each floor: what it can move to, when, and what is missing.",
            partial(proposal_list, report),
        ),
        (
            "reliability",
            f"{title}: how far to trust this",
            "Coverage, age and isolation of the runs.",
            partial(reliability, report),
        ),
    )
    for section, words, about, view in sections:
        yield Page(
            path=page(report.name, *([section] if section else [])),
            template=f"{section or 'home'}.html",
            title=words,
            about=about,
            view=view,
            inputs=tokens.all,
            matrix=report.name,
            section=section or "home",
        )


def _months(report: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    title = report.snapshot.matrix.title
    for month in earlier_months(report):
        yield Page(
            path=month.path,
            template="changes.html",
            title=f"{title}: what changed in {month.words}",
            about=f"Changes of verdicts in {month.words}.",
            view=partial(changes_in_month, report, month.name),
            inputs=tokens.all,
            matrix=report.name,
            section="changes",
        )


def _grids(report: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    main, title, chosen = main_python(report), report.snapshot.matrix.title, choices(report, None)

    inputs: dict[Version | None, str] = {None: tokens.all}
    for series, board in report.board.items():
        places = chain.from_iterable(of_release.values() for of_release in board.values())
        inputs[series] = digest(tokens.of(*chain.from_iterable(places)), chosen)

    def of(python: Version | None, number: int, path: str, canonical: str = "") -> Page:
        where = "any Python" if python is None else f"Python {python}"
        parts = grid_parts(report, python)
        rows = f", {part_label(parts[number])}" if parts[1:] else ""
        return Page(
            path=path,
            template="grid.html",
            title=titled(f"What works with {title} on {where}{rows}?", f"{title} on {where}{rows}"),
            about=f"Each release of {title} against the packages that it needs, tested on {where}.",
            view=partial(grid, report, python, number),
            inputs=inputs[python],
            matrix=report.name,
            section="grid",
            canonical=canonical,
            problem=ProblemReport(facts=(("grid", where),), data=(api_path(report.name, "cells"),)),
        )

    yield of(main, 0, page(report.name, "grid"), grid_path(report.name, main))
    for python in (*report.board, None):
        for number in range(len(grid_parts(report, python))):
            yield of(python, number, grid_part_path(report.name, python, number))


def _plain(report: MatrixReport, tokens: Tokens) -> Page:
    title, subject = report.snapshot.matrix.title, report.snapshot.matrix.subject_axis.package
    return Page(
        path=page(report.name, "plain"),
        template="plain.html",
        title=f"{title}: does a plain install work today?",
        about=f"What pip install {subject} comes to, release by release, on each Python.",
        view=partial(plain_page, report),
        inputs=tokens.all,
        matrix=report.name,
        section="plain",
        problem=ProblemReport(
            facts=(("plain install of", subject),),
            data=(api_path(report.name, "plain-installs"),),
        ),
    )


def _platforms(report: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    title, subject = report.snapshot.matrix.title, report.snapshot.matrix.subject_axis.package
    if report.snapshot.matrix.platforms:
        yield Page(
            path=page(report.name, "platforms"),
            template="platforms.html",
            title=titled(f"{title}: does it install on my machine?", f"{title}: my machine"),
            about=f"Where {subject} installs beside the platform that is tested, and why not.",
            view=partial(platforms_page, report),
            inputs=tokens.all,
            matrix=report.name,
            section="platforms",
            problem=ProblemReport(
                facts=(("platforms of", subject),),
                data=(api_path(report.name, "platform-installs"),),
            ),
        )


def _lanes(report: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    if report.snapshot.matrix.has_lanes:
        title = report.snapshot.matrix.title
        words = "lowest declared versions and what is not out yet"
        yield Page(
            path=page(report.name, "lanes"),
            template="lanes.html",
            title=titled(f"{title}: {words}", f"{title}: beside the grid"),
            about=f"{title} with the lowest versions that it declares, and with pre-releases.",
            view=partial(lanes_view, report),
            # The other digests are of the grid's cells alone.
            inputs=digest(tokens.all, report.lanes),
            matrix=report.name,
            section="lanes",
        )


def _capabilities(report: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    title = report.snapshot.matrix.title
    yield Page(
        path=page(report.name, "cap"),
        template="capabilities.html",
        title=f"What {title} can do, release by release",
        about=f"Each capability of {title}, since when it works, and where it fails.",
        view=partial(capability_list, report),
        inputs=tokens.all,
        matrix=report.name,
        section="cap",
    )
    pairs = Pairs(report)
    for name in capability_ids(report):
        words = pairs.title(name)
        yield Page(
            path=page(report.name, "cap", name),
            template="capability.html",
            title=titled(f"{words}: since when, in {title}", f"{words}: since when"),
            about=f"In which releases of {title} this works: {words}.",
            view=partial(capability_view, report, name, pairs.links(name)),
            inputs=tokens.all,
            matrix=report.name,
            section="cap",
            problem=ProblemReport(
                facts=(("capability", name),), data=(api_path(report.name, "capabilities", name),)
            ),
        )
    yield from _pairs(report, pairs, tokens)


def _pairs(report: MatrixReport, pairs: Pairs, tokens: Tokens) -> Iterator[Page]:
    title = report.snapshot.matrix.title
    for first, second in pairs.all:
        both = f"“{pairs.title(first)}” and “{pairs.title(second)}”"
        yield Page(
            path=pairs.path(first, second),
            template="pair.html",
            title=titled(f"{both}: do both work?", both),
            about=f"In which releases of {title} both work, only one of them, or none.",
            view=partial(pairs.view, first, second),
            inputs=digest(tokens.of(), pairs.inputs(first, second)),
            matrix=report.name,
            section="cap",
            problem=ProblemReport(
                facts=(("capability", first), ("capability", second)),
                data=tuple(api_path(report.name, "capabilities", name) for name in (first, second)),
            ),
        )


def _quarters(report: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    title = report.snapshot.matrix.title
    for quarter in quarters(report.schedule):
        words = quarter_words(quarter)
        yield Page(
            path=page(report.name, "schedule", quarter.id),
            template="quarter.html",
            title=f"{title}: minimum versions in {words}",
            about=f"Minimum versions of {title} in {words}, and what each move drops.",
            view=partial(quarter_view, report, quarter),
            inputs=tokens.all,
            matrix=report.name,
            section="schedule",
        )


def _proposals(report: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    for proposal in report.proposals:
        yield Page(
            path=page(report.name, "proposals", proposal.id),
            template="proposal.html",
            title=title_of(proposal),
            about=f"{title_of(proposal)}: grounds, objections and evidence.",
            view=partial(proposal_view, report, proposal),
            inputs=tokens.all,
            matrix=report.name,
            section="proposals",
        )


def _releases(edition: Edition, report: MatrixReport, tokens: Tokens) -> Iterator[Page]:
    known, package = release_entries(report), report.snapshot.matrix.subject_axis.package
    versions = subject_versions(report)
    for version in versions:
        yield Page(
            path=page(report.name, "release", str(version)),
            template="release.html",
            title=f"{package} {version}",
            about=f"What {package} {version} works with, what it requires, and what is ruled out.",
            view=partial(release_view, edition, report, version),
            inputs=digest(tokens.of(*known.get(version, ())), versions),
            matrix=report.name,
            section="grid",
            problem=ProblemReport(
                facts=(("release", f"{package} {version}"),),
                data=(
                    api_path(report.name, "releases", report.snapshot.matrix.subject, str(version)),
                ),
            ),
        )
    for name, ends in (("latest", versions[-1:]), ("oldest", versions[:1])):
        for end in ends:
            yield alias(page(report.name, "release", name), page(report.name, "release", str(end)))


def _cells(edition: Edition, report: MatrixReport, tokens: Tokens) -> Iterator[LatePage]:
    """The pages of cells, which are many: of those that are as before the digest alone is made."""
    neighbours = Neighbours(report)
    for entry in report.snapshot.known:
        fails = entry.verdict.kind in ("broken", "partial", "flaky")
        green = neighbours.greener(entry) if fails else None
        # Of what stands beside it on the axes the links alone: so a new run there that changes no
        # sign makes no page anew.
        yield LatePage(
            path=cell_page(entry.cell),
            inputs=digest(
                tokens.of(*report.places[place_of(entry.cell)], entry, green),
                *signs_beside(entry, neighbours),
            ),
            page=partial(_cell, edition, report, entry, neighbours),
        )


def _cell(edition: Edition, report: MatrixReport, entry: Answer, neighbours: Neighbours) -> Page:
    cell = entry.cell
    place = place_words(cell, report.snapshot.matrix)
    style = style_of(entry, report.places[place_of(cell)])
    return Page(
        path=cell_page(cell),
        template="cell.html",
        title=titled(f"{place}: {style.word}", f"{place}: {style.brief}", place),
        about=(
            f"Does {place} work? What was installed, what passed, what failed, and how to"
            " reproduce it."
        ),
        view=partial(cell_view, edition, report, entry, neighbours),
        inputs="",
        matrix=report.name,
        section="grid",
        problem=_problem(entry),
    )


def _problem(entry: Answer) -> ProblemReport:
    verdict = entry.verdict
    outcome = () if verdict.outcome is None else (("outcome", str(verdict.outcome)),)
    latest = () if verdict.latest is None else (("last tested", str(verdict.latest)),)
    return ProblemReport(
        facts=(("cell", entry.cell.id), ("verdict", verdict.kind), *outcome, *latest),
        data=(api_path(entry.cell.matrix, "cells", entry.cell.id),),
    )
