"""The `site` room's list of pages: path, template, title and document of each."""

from collections.abc import Iterator
from functools import partial
from itertools import combinations, pairwise, product
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import escape
from packaging.version import Version

from compat.advise.request import label
from compat.github.markdown import code, link, plain
from compat.site import reports, results
from compat.site.documents import as_of_documents
from compat.site.edition import Edition, MatrixReport
from compat.site.paths import (
    BUILD,
    NOT_FOUND,
    SEARCH,
    api_path,
    cell_page,
    compared,
    export_path,
    grid_part_path,
    grid_path,
    page,
)
from compat.site.status import platform_title
from compat.site.wording import combination_words, cut_text, day, without_path
from compat.value import Value, grouped

# The tabs; a page below them names the one that it belongs to.
TABS: dict[str, str] = {
    "advise": "Install",
    "grid": "Grid",
    "cap": "Capabilities",
    "roadmap": "Roadmap",
    "more": "More",
}
# What stands below a tab.
SECTIONS: dict[str, str] = {
    "plain": "Plain installs and platforms",
    "causes": "Causes",
    "changes": "Changes",
    "charts": "Charts",
    "reliability": "Reliability",
    "lanes": "Variants",
}
# Sections of earlier editions that are a part of another page now.
JOINED = {"platforms": "plain", "schedule": "roadmap", "proposals": "roadmap"}


def section_paths(report: MatrixReport) -> dict[str, str]:
    sections = [*TABS, *SECTIONS]
    if not report.snapshot.matrix.has_variants:
        sections.remove("lanes")
    return {section: page(report.name, section) for section in sections}


# Longer ones are cut in lists of results; html-validate's rule long-title asks for the same.
LONGEST_TITLE = 70
ASKED = "What is wrong, and how do you know?"


class Page(Value, frozen=True, kw_only=True):
    """A page: its path, its template, its title, what it is about (its template asks the report for
    the rest), and a sentence for search engines, empty where the title says it.

    `matrix` is the report that it is of, None for a page of the whole site; `section` its entry in
    the menu. `canonical` is another path that has the same content, or to which this page sends its
    reader. `facts` and `data` are what an issue about its data names: facts such as ("cell", its
    id), and paths of data; empty where it shows no data of one thing.
    """

    path: str
    template: str
    title: str
    view: Any = None
    about: str = ""
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
        for of_matrix in (
            *(_sections, _causes, _grids, _answers, _capabilities, _releases, _cells),
        ):
            yield from of_matrix(report)


def _of(report: MatrixReport | None, path: str, template: str, title: str, view: Any = None,
        section: str = "", **more: Any) -> Page:  # fmt: skip
    return Page(
        path=path, template=f"{template}.html", title=title, view=view,
        matrix=None if report is None else report.name, section=section, **more,
    )  # fmt: skip


def alias(path: str, target: str) -> Page:
    return _of(None, path, "moved", "", target, canonical=target)


def _whole_site(edition: Edition) -> Iterator[Page]:
    titles = ", ".join(report.snapshot.matrix.title for report in edition.reports)
    of = partial(_of, None)
    title = titled(f"Tested versions of {titles}", "Tested versions of libraries")
    about = "Which versions of a library work together: installed from lock files and tested."
    yield of("index.html", "front", title, about=about)
    about = "Libraries, releases, capabilities, causes, packages and documentation."
    yield of(SEARCH, "search", "Search", about=about)
    about = "Badges, feeds, calendars, downloads, the API and a box for other pages."
    yield of(BUILD, "build", "Build on it", about=about)
    missing = "There is no such page"
    yield of(NOT_FOUND, "missing", missing, canonical="index.html")
    for report in edition.reports:
        title, home = f"{report.snapshot.matrix.title}: what works with what", page(report.name)
        about = f"What works with {report.snapshot.matrix.title}, for each Python."
        more = {"about": about, "canonical": home}
        yield _of(report, export_path("embed", report.name), "embed", title, **more)
    # The sections of the first report answer without its name too, so that short addresses work.
    names, first = {report.name for report in edition.reports}, edition.reports[0]
    short = section_paths(first) | {old: page(first.name, new) for old, new in JOINED.items()}
    for section, path in short.items():
        if section not in names:
            yield alias(page(section), path)


def _sections(report: MatrixReport) -> Iterator[Page]:
    title, subject = report.snapshot.matrix.title, report.snapshot.matrix.subject_axis.package
    paths = section_paths(report)

    def of(section: str, path: str, tab: str, **more: Any) -> Page:
        words, about = SECTION_PAGES[section]
        head = words.format(title)
        return _of(report, path, section, head, section=tab, about=about, **more)

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
    for proposal in report.proposals:
        path, head = page(report.name, "proposals", proposal.id), reports.title_of(proposal)
        yield _of(report, path, "proposal", head, proposal, "roadmap")


SECTION_PAGES: dict[str, tuple[str, str]] = {
    "home": ("{}: what do I install?", "Tested versions, and how to install them."),
    "plain": ("{}: does pip install work?",
              "What pip install does today, on each Python and platform."),
    "roadmap": ("{}: which minimum versions move, and when?",
                "Each minimum version: what it can move to, when, and what blocks it."),
    "more": ("More about {}", "Causes, changes, charts and reliability."),
    "causes": ("{}: why things do not work",
               "Why combinations fail: each cause with its cells and releases."),
    "charts": ("{} over the releases",
               "Measurements that changed from a release on."),
    "changes": ("{}: what changed", "Verdicts that changed, newest first."),
    "reliability": ("{}: how reliable are the results?",
                    "How many runs, how old, in which sandbox, and what is flaky."),
    "lanes": ("{}: lowest versions and pre-releases",
              "Lowest declared versions, and pre-releases of dependencies."),
}  # fmt: skip


def _causes(report: MatrixReport) -> Iterator[Page]:
    folded = results.causes(report)
    for cause in (*folded.red, *folded.undecided):
        path = page(report.name, "causes", cause.anchor)
        title = titled(without_path(cause.sentence))
        facts = (("cause", cause.outcome),)
        yield _of(report, path, "cause", title, cause, "more", facts=facts)


def _grids(report: MatrixReport) -> Iterator[Page]:
    main, title = results.main_python(report), report.snapshot.matrix.title

    def of(python: Version | None, number: int, path: str, canonical: str = "") -> Page:
        where = "any Python" if python is None else f"Python {python}"
        parts = results.grid_parts(report, python)
        rows = f", {results.part_label(parts[number])}" if parts[1:] else ""
        words = f"{title} on {where}{rows}"
        data = (api_path(report.name, "cells"),)
        return _of(
            report, path, "grid", titled(f"What works with {words}?", words),
            (python, number), "grid",
            canonical=canonical, facts=(("grid", where),), data=data,
        )  # fmt: skip

    yield of(main, 0, page(report.name, "grid"), grid_path(report.name, main))
    for python in report.board:
        for number in range(len(results.grid_parts(report, python))):
            yield of(python, number, grid_part_path(report.name, python, number))


def _answers(report: MatrixReport) -> Iterator[Page]:
    matrix, title = report.snapshot.matrix, report.snapshot.matrix.title
    of = partial(_of, report, section="advise")
    for name in matrix.platforms:
        where, path = platform_title(name), page(report.name, "advise", name)
        words = titled(f"{title} on {where}", where)
        yield of(path, "platform", words, name)
    for axis, version in reports.version_axes(report):
        words, path = f"{label(axis)} {version}", reports.answer_path(report, {axis.name: version})
        head = titled(f"{title} with {words}", words)
        yield of(path, "version", head, (axis, version))
    versions = grouped(
        (axis.name, (axis.name, each)) for axis, each in reports.version_axes(report)
    )
    for pair in (dict(p) for two in combinations(versions.values(), 2) for p in product(*two)):
        words = " and ".join(words for words, _ in reports.version_links(report, pair))
        head = titled(f"What to install for {title} with {words}", f"{title} with {words}")
        yield of(reports.answer_path(report, pair), "answer", head, pair)
    for proof in report.advisor.proofs:
        yield alias(page(report.name, "advise", proof.id), cell_page(proof.cell))


def _capabilities(report: MatrixReport) -> Iterator[Page]:
    title, path = report.snapshot.matrix.title, page(report.name, "cap")
    head = f"What {title} can do, release by release"
    yield _of(report, path, "capabilities", head, section="cap")
    for name in results.capability_ids(report):
        words = report.title(name)
        head = titled(f"{words}: since when, in {title}", f"{words}: since when")
        data = (api_path(report.name, "capabilities", name),)
        path, facts = page(report.name, "cap", name), (("capability", name),)
        yield _of(report, path, "capability", head, name, "cap", facts=facts, data=data)


def _releases(report: MatrixReport) -> Iterator[Page]:
    axis, versions = report.snapshot.matrix.subject_axis, results.subject_versions(report)
    of, package = partial(_of, report), axis.package
    for version in versions:
        words, path = f"{package} {version}", page(report.name, "release", str(version))
        data = (api_path(report.name, "releases", axis.name, str(version)),)
        facts = (("release", words),)
        yield of(path, "release", words, version, "grid", facts=facts, data=data)
    head = titled(f"Compare two releases of {package}", "Compare two releases")
    path = page(report.name, "compare")
    yield of(path, "compare_any", head, versions[::-1], "grid")
    for old, new in pairwise(versions):
        path = page(report.name, "compare", f"{old}...{new}")
        yield alias(path, compared(report.name, str(old), str(new)))
    for past in as_of_documents(report):
        head = f"{report.snapshot.matrix.title} as of {day(past.day)}"
        path = page(report.name, "as-of", str(past.day))
        yield of(path, "as_of", head, past, "more")
    for name, ends in (("latest", versions[-1:]), ("oldest", versions[:1])):
        for end in ends:
            yield alias(page(report.name, "release", name), page(report.name, "release", str(end)))


def _cells(report: MatrixReport) -> Iterator[Page]:
    for entry in report.snapshot.known:
        place = combination_words(entry.cell, report.snapshot.matrix)
        style = report.style(entry)
        head = titled(f"{place}: {style.word}", f"{place}: {style.brief}", place)
        facts = (
            ("cell", entry.id),
            ("verdict", entry.kind),
            *((("outcome", str(entry.outcome)),) if entry.outcome is not None else ()),
            *((("last tested", str(entry.latest)),) if entry.latest is not None else ()),
        )
        data = (api_path(report.name, "cells", entry.id),)
        yield _of(
            report, cell_page(entry.cell), "cell", head, entry, "grid",
            about=f"These versions {style.sentence}.", facts=facts, data=data,
        )  # fmt: skip
