"""The `site` room's list of pages: path, template, title and document of each."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import escape
from packaging.version import Version

from compat.advise.request import label
from compat.github.markdown import code, link, plain
from compat.results.answer import Answer, representative
from compat.site.api.documents import as_of_documents
from compat.site.edition import Edition, MatrixReport, place_of
from compat.site.exports.pictures import matrix_badges
from compat.site.install_words import platform_title
from compat.site.pages.advice import (
    answer_page,
    answer_pairs,
    answer_path,
    embed_box,
    home,
    platform_page,
    tested_page,
    version_axes,
    version_links,
    version_page,
)
from compat.site.pages.reports import charts, proposal_view, roadmap, title_of
from compat.site.pages.results import (
    Doc,
    Neighbours,
    as_of,
    capability_ids,
    capability_list,
    capability_view,
    causes,
    cell_view,
    changes,
    comparison,
    grid,
    grid_parts,
    lanes_view,
    main_python,
    matrix_health,
    part_label,
    plain_page,
    recipe_words,
    release_view,
    reliability,
    subject_versions,
)
from compat.site.paths import (
    BUILD,
    NOT_FOUND,
    SEARCH,
    api_path,
    badge_path,
    calendar_path,
    card_path,
    cell_page,
    compare_page,
    download_path,
    embed_image,
    embed_path,
    feed_path,
    grid_part_path,
    grid_path,
    lock_file,
    page,
)
from compat.site.status import style_of
from compat.site.wording import cut_text, day, place_words
from compat.value import Value

# The tabs; a page below them names the one that it belongs to.
TABS: dict[str, str] = {
    "advise": "Install",
    "grid": "Grid",
    "cap": "Capabilities",
    "roadmap": "Roadmap",
    "more": "More",
}
# What stands below a tab, and what it is about.
SECTIONS: dict[str, tuple[str, str]] = {
    "plain": (
        "Plain installs and platforms",
        "What `pip install` does today, on each Python and platform.",
    ),
    "causes": ("Causes", "Why combinations fail: each cause with its cells and releases."),
    "changes": ("Changes", "Verdicts that changed, newest first."),
    "charts": ("Charts", "Measurements that changed from a release on."),
    "reliability": ("Reliability", "How many runs, how old, in which sandbox, and what is flaky."),
    "lanes": ("Variants", "Lowest declared versions, and pre-releases of dependencies."),
}
# Sections of earlier editions that are a part of another page now.
JOINED = {"platforms": "plain", "schedule": "roadmap", "proposals": "roadmap"}


def section_paths(report: MatrixReport) -> dict[str, str]:
    sections = [*TABS, *SECTIONS]
    if not report.snapshot.matrix.has_lanes:
        sections.remove("lanes")
    return {section: page(report.name, section) for section in sections}


def front(edition: Edition) -> list[Doc]:
    return [
        Doc(report=report, best=report.best("best", {}), health=matrix_health(report))
        for report in edition.reports
    ]


def more(report: MatrixReport) -> list[tuple[str, str, str]]:
    paths = section_paths(report)
    below = [
        (words, paths[name], about) for name, (words, about) in SECTIONS.items() if name in paths
    ]
    return [
        *below,
        ("Build on it", BUILD, "Badges, feeds, calendars, downloads, the API, a box to embed."),
        ("Documentation", "about/index.html", "How results are made, and how to use compat."),
    ]


def build_page(edition: Edition) -> list[Doc]:
    return [_build(edition, report) for report in edition.reports]


def badge_markdown(edition: Edition, badge: tuple[str, str], matrix: str) -> str:
    stem, words = badge
    alternative = words.translate({ord(sign): "" for sign in "[]\\`"})
    return f"[![{alternative}]({edition.url(f'{stem}.svg')})]({edition.url(page(matrix))})"


def _build(edition: Edition, report: MatrixReport) -> Doc:
    name, matrix = report.name, report.snapshot.matrix
    home, box = edition.url(page(name)), f"{matrix.title}: what works with what"
    badges = [
        (badge_path(name, *named), f"{badge.label}: {badge.message}")
        for named, badge in matrix_badges(report)
    ]
    known = [entry for entry in report.snapshot.known if entry.is_tested]
    cell = representative(known).cell.id if known else ""
    documents = [api_path(name), api_path(name, "advise"), api_path(name, "cells")]
    documents += [api_path(name, "cells", cell), lock_file(name, cell)] if cell else []
    return Doc(
        name=name,
        title=matrix.title,
        badges=badges,
        downloads=[
            ("Feed of what happened, Atom", feed_path(name)),
            ("Calendar of the moves of minimum versions", calendar_path(name)),
            ("Every known cell as CSV", download_path(name, "csv")),
            ("All answers and runs as an SQLite database", download_path(name, "sqlite")),
            ("Queries to begin with", download_path(name, "sql")),
            ("Picture for posts, PNG", card_path(name, "png")),
        ],
        curls=[f"curl -sSO {edition.url(path)}" for path in documents],
        image=embed_image(name),
        frame=embed_path(name),
        image_markdown=f"[![{box}]({edition.url(embed_image(name))})]({home})",
        frame_html=(
            f'<iframe src="{edition.url(embed_path(name))}" title="{box}" width="440"'
            ' height="260" loading="lazy"></iframe>'
        ),
    )


# Longer ones are cut in lists of results; html-validate's rule long-title asks for the same.
LONGEST_TITLE = 70
ASKED = "What is wrong, and how do you know?"


class Page(Value, frozen=True, kw_only=True):
    """A page: its path, its template, its title, a sentence for search engines, and its document,
    made when needed.

    `matrix` is the report that it is of, None for a page of the whole site; `section` its entry in
    the menu. `canonical` is another path that has the same content, or to which this page sends its
    reader. `facts` and `data` are what an issue about its data names: facts such as ("cell", its
    id), and paths of data; empty where it shows no data of one thing.
    """

    path: str
    template: str
    title: str
    about: str
    document: Callable[[], Any]
    matrix: str | None = None
    section: str = ""
    canonical: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    data: tuple[str, ...] = ()


def titled(*forms: str) -> str:
    whole = next((form for form in forms if len(escape(form)) <= LONGEST_TITLE), None)
    if whole is not None:
        return whole
    # An apostrophe is five characters of HTML, and those are what is counted.
    spare = len(escape(forms[-1])) - len(forms[-1])
    return cut_text(forms[-1], LONGEST_TITLE - spare)


def problem_link(edition: Edition, page: Page) -> str:
    """Return the address of a new issue about a page; empty where the site belongs to no
    repository.

    Nothing in its title and text mentions, shows or closes anything: names and outcomes come from
    outside.
    """
    if not edition.repository:
        return ""
    lines = [f"- {name}: {code(value)}" for name, value in page.facts]
    for name, path in (("page", page.path), *(("data", path) for path in page.data)):
        lines.append(
            f"- {name}: {link(path.removesuffix('index.html') or 'home', edition.url(path))}"
        )
    body = "\n".join((ASKED, "", "", "", *lines))
    asked = {"title": plain(f"Wrong data? {page.title}"), "body": body}
    return f"https://github.com/{edition.repository}/issues/new?{urlencode(asked, quote_via=quote)}"


def pages(edition: Edition) -> Iterator[Page]:
    yield from _whole_site(edition)
    for report in edition.reports:
        yield from _sections(report)
        yield from _causes(report)
        yield from _grids(report)
        yield from _answers(report)
        yield from _capabilities(report)
        yield from _policy(report)
        yield from _releases(edition, report)
        yield from _cells(edition, report)


def alias(path: str, target: str) -> Page:
    return Page(
        path=path,
        template="moved.html",
        title="",
        about="",
        document=lambda: target,
        canonical=target,
    )


def _whole_site(edition: Edition) -> Iterator[Page]:
    titles = ", ".join(report.snapshot.matrix.title for report in edition.reports)
    yield Page(
        path="index.html",
        template="front.html",
        title=titled(f"Tested versions of {titles}", "Tested versions of libraries"),
        about="Which versions of a library work together: installed from lock files and tested.",
        document=partial(front, edition),
    )
    yield Page(
        path=SEARCH,
        template="search.html",
        title="Search",
        about="Libraries, releases, capabilities, causes, packages and documentation.",
        document=lambda: None,
    )
    yield Page(
        path=BUILD,
        template="build.html",
        title="Build on it",
        about="Badges, feeds, calendars, downloads, the API and a box for other pages.",
        document=partial(build_page, edition),
    )
    yield Page(
        path=NOT_FOUND,
        template="missing.html",
        title="There is no such page",
        about="There is no page at this address.",
        document=lambda: None,
        canonical="index.html",
    )
    for report in edition.reports:
        yield Page(
            path=embed_path(report.name),
            template="embed.html",
            title=f"{report.snapshot.matrix.title}: what works with what",
            about=f"What works with {report.snapshot.matrix.title}, for each Python.",
            document=partial(embed_box, report),
            canonical=page(report.name),
        )
    # The sections of the first report answer without its name too, so that a short address can be
    # told.
    names, first = {report.name for report in edition.reports}, edition.reports[0]
    short = section_paths(first) | {old: page(first.name, new) for old, new in JOINED.items()}
    for section, path in short.items():
        if section not in names:
            yield alias(page(section), path)


def _sections(report: MatrixReport) -> Iterator[Page]:
    title, subject = report.snapshot.matrix.title, report.snapshot.matrix.subject_axis.package
    paths = section_paths(report)

    def of(section: str, path: str, tab: str, **more: Any) -> Page:
        document, words, about = SECTION_PAGES[section]
        return Page(
            path=path,
            template=f"{section}.html",
            title=words.format(title),
            about=about.format(subject),
            document=partial(document, report),
            matrix=report.name,
            section=tab,
            **more,
        )

    yield of("home", page(report.name), "advise")
    # The same at its old address, where questions that were shared begin.
    yield of("home", paths["advise"], "advise", canonical=page(report.name))
    for section in paths:
        if section in SECTION_PAGES:
            tab = "advise" if section == "plain" else section if section in TABS else "more"
            facts = (("plain install of", subject),) if section == "plain" else ()
            data = (api_path(report.name, "plain-installs"),) if section == "plain" else ()
            yield of(section, paths[section], tab, facts=facts, data=data)
    for old, new in JOINED.items():
        yield alias(page(report.name, old), paths[new])


SECTION_PAGES: dict[str, tuple[Callable[[MatrixReport], Any], str, str]] = {
    "home": (home, "{}: what do I install?", "Tested versions of {}."),
    "plain": (plain_page, "{}: does pip install work?", "What pip install {} does."),
    "roadmap": (roadmap, "{}: which minimum versions move, and when?",
                "Each minimum version: what it can move to, when, and what blocks it."),
    "more": (more, "More about {}", "Causes, changes, charts and reliability."),
    "causes": (causes, "{}: why things do not work", "Each root cause once."),
    "charts": (charts, "{} over the releases", "Measurements that changed."),
    "changes": (changes, "{}: what changed", "Every change of a verdict."),
    "reliability": (reliability, "{}: how reliable are the results?",
                    "Coverage, age and isolation of the runs."),
    "lanes": (lanes_view, "{}: lowest versions and pre-releases",
              "{} with the lowest versions that it declares, and with pre-releases."),
}  # fmt: skip


def _causes(report: MatrixReport) -> Iterator[Page]:
    folded = causes(report)
    for cause in (*folded.red, *folded.undecided):
        yield Page(
            path=page(report.name, "causes", cause.anchor),
            template="cause.html",
            title=titled(cause.sentence),
            about=titled(f"{cause.sentence} The cells that this affects."),
            document=partial(_same, cause),
            matrix=report.name,
            section="more",
            facts=(("cause", cause.outcome),),
        )


def _same(document: Any) -> Any:
    return document


def _grids(report: MatrixReport) -> Iterator[Page]:
    main, title = main_python(report), report.snapshot.matrix.title

    def of(python: Version | None, number: int, path: str, canonical: str = "") -> Page:
        where = "any Python" if python is None else f"Python {python}"
        parts = grid_parts(report, python)
        rows = f", {part_label(parts[number])}" if parts[1:] else ""
        return Page(
            path=path,
            template="grid.html",
            title=titled(f"What works with {title} on {where}{rows}?", f"{title} on {where}{rows}"),
            about=f"Each release of {title} against the packages that it needs, tested on {where}.",
            document=partial(grid, report, python, number),
            matrix=report.name,
            section="grid",
            canonical=canonical,
            facts=(("grid", where),),
            data=(api_path(report.name, "cells"),),
        )

    yield of(main, 0, page(report.name, "grid"), grid_path(report.name, main))
    for python in (*report.board, None):
        for number in range(len(grid_parts(report, python))):
            yield of(python, number, grid_part_path(report.name, python, number))


def _answers(report: MatrixReport) -> Iterator[Page]:
    matrix, title = report.snapshot.matrix, report.snapshot.matrix.title
    of = partial(Page, template="answer.html", matrix=report.name, section="advise")
    for name in matrix.platforms:
        yield of(
            path=page(report.name, "advise", name),
            template="platform.html",
            title=titled(f"{title} on {platform_title(name)}", platform_title(name)),
            about=f"Whether {title} installs on {platform_title(name)}, and what to do instead.",
            document=partial(platform_page, report, name),
        )
    for axis, version in version_axes(report):
        words = f"{label(axis)} {version}"
        yield of(
            path=answer_path(report, {axis.name: version}),
            template="version.html",
            title=titled(f"{title} with {words}", words),
            about=f"Which releases of {title} work with {words}, which do not, and why.",
            document=partial(version_page, report, axis, version),
        )
    for pair in answer_pairs(report):
        words = " and ".join(words for words, _ in version_links(report, pair))
        yield of(
            path=answer_path(report, pair),
            title=titled(f"What to install for {title} with {words}", f"{title} with {words}"),
            about=f"What works with {words}, with the commands.",
            document=partial(answer_page, report, pair),
        )
    for combination in report.advisor.proofs:
        words = place_words(combination.cell, matrix)
        recipe = recipe_words(report.snapshot.by_id[combination.id])
        yield of(
            path=page(report.name, "advise", combination.id),
            title=titled(f"Install {words}", words),
            about=f"The commands that install {words}, {recipe}.",
            document=partial(tested_page, report, combination),
            canonical=cell_page(combination.cell),
        )


def _capabilities(report: MatrixReport) -> Iterator[Page]:
    title = report.snapshot.matrix.title
    of = partial(Page, matrix=report.name, section="cap")
    yield of(
        path=page(report.name, "cap"),
        template="capabilities.html",
        title=f"What {title} can do, release by release",
        about=f"Each capability of {title}, since when it works, and where it fails.",
        document=partial(capability_list, report),
    )
    for name in capability_ids(report):
        words = report.title(name)
        yield of(
            path=page(report.name, "cap", name),
            template="capability.html",
            title=titled(f"{words}: since when, in {title}", f"{words}: since when"),
            about=f"In which releases of {title} this works: {words}.",
            document=partial(capability_view, report, name),
            facts=(("capability", name),),
            data=(api_path(report.name, "capabilities", name),),
        )


def _policy(report: MatrixReport) -> Iterator[Page]:
    for proposal in report.proposals:
        yield Page(
            path=page(report.name, "proposals", proposal.id),
            template="proposal.html",
            title=title_of(proposal),
            about=f"{title_of(proposal)}: grounds, objections and evidence.",
            document=partial(proposal_view, report, proposal),
            matrix=report.name,
            section="roadmap",
        )


def _releases(edition: Edition, report: MatrixReport) -> Iterator[Page]:
    axis, versions = report.snapshot.matrix.subject_axis, subject_versions(report)
    for version in versions:
        words = f"{axis.package} {version}"
        yield Page(
            path=page(report.name, "release", str(version)),
            template="release.html",
            title=words,
            about=f"What {words} works with, what it requires, and what is ruled out.",
            document=partial(release_view, report, version),
            matrix=report.name,
            section="grid",
            facts=(("release", words),),
            data=(api_path(report.name, "releases", axis.name, str(version)),),
        )
    compared = partial(Page, matrix=report.name, section="grid")
    yield compared(
        path=page(report.name, "compare"),
        template="compare_any.html",
        title=titled(f"Compare two releases of {axis.package}", "Compare two releases"),
        about=f"Any two releases of {axis.package}, or two tested combinations, side by side.",
        document=lambda: versions[::-1],
    )
    for old, new in pairwise(versions):
        yield compared(
            path=compare_page(report.name, old, new),
            template="compare.html",
            title=titled(f"{axis.package} {old} and {new}", f"{old} and {new}"),
            about=f"What changes from {axis.package} {old} to {new}: capabilities and packages.",
            document=partial(comparison, edition, report, old, new),
        )
    for past in as_of_documents(report):
        yield Page(
            path=page(report.name, "as-of", str(past.day)),
            template="as_of.html",
            title=f"{report.snapshot.matrix.title} as of {day(past.day)}",
            about=f"The verdicts of {report.snapshot.matrix.title} at the end of a day.",
            document=partial(as_of, report, past),
            matrix=report.name,
            section="more",
        )
    for name, ends in (("latest", versions[-1:]), ("oldest", versions[:1])):
        for end in ends:
            yield alias(page(report.name, "release", name), page(report.name, "release", str(end)))


def _cells(edition: Edition, report: MatrixReport) -> Iterator[Page]:
    neighbours = Neighbours(report)
    for entry in report.snapshot.known:
        place = place_words(entry.cell, report.snapshot.matrix)
        style = style_of(entry, report.places[place_of(entry.cell)])
        yield Page(
            path=cell_page(entry.cell),
            template="cell.html",
            title=titled(f"{place}: {style.word}", f"{place}: {style.brief}", place),
            about=(
                f"Does {place} work? What was installed, what passed, what failed, and how to"
                " reproduce it."
            ),
            document=partial(cell_view, edition, report, entry, neighbours),
            matrix=report.name,
            section="grid",
            facts=_cell_facts(entry),
            data=(api_path(report.name, "cells", entry.cell.id),),
        )


def _cell_facts(entry: Answer) -> tuple[tuple[str, str], ...]:
    outcome = () if entry.outcome is None else (("outcome", str(entry.outcome)),)
    latest = () if entry.latest is None else (("last tested", str(entry.latest)),)
    return (("cell", entry.cell.id), ("verdict", entry.kind), *outcome, *latest)
