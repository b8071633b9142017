"""The `site` room's pages of no matrix: the front, search, what to build on, and what stands where
there is no page.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from compat.site.edition import Edition
from compat.site.pages.build_view import build_page, embed_box
from compat.site.pages.home_view import front
from compat.site.pages.menu import section_paths
from compat.site.pages.page import Page, alias
from compat.site.pages.search_view import search_page
from compat.site.paths import BUILD, NOT_FOUND, SEARCH, embed_path, page
from compat.site.tokens import Tokens, digest


def whole_site_pages(edition: Edition, tokens: Mapping[str, Tokens]) -> Iterator[Page]:
    inputs = digest(*(token.all for token in tokens.values()))
    yield Page(
        path="index.html",
        template="front.html",
        title=(
            "What works with what?"
            f" {', '.join(report.snapshot.matrix.title for report in edition.reports)}"
        ),
        about="Which versions of a library work together, because they were installed and tested.",
        view=partial(front, edition),
        inputs=inputs,
    )
    yield Page(
        path=SEARCH,
        template="search.html",
        title="Search",
        about="Every release, version, capability and cause that has a page.",
        view=partial(search_page, edition),
        inputs=inputs,
    )
    yield Page(
        path=BUILD,
        template="build.html",
        title="Build on it",
        about="Badges, feeds, calendars, downloads, the API and a box for other pages.",
        view=partial(build_page, edition),
        inputs=inputs,
    )
    yield Page(
        path=NOT_FOUND,
        template="missing.html",
        title="There is no such page",
        about="There is no page at this address.",
        view=lambda: None,
        inputs=inputs,
        canonical="index.html",
    )
    for report in edition.reports:
        yield Page(
            path=embed_path(report.name),
            template="embed.html",
            title=f"{report.snapshot.matrix.title}: what works with what",
            about=f"What works with {report.snapshot.matrix.title}, for each Python.",
            view=partial(embed_box, edition, report),
            inputs=tokens[report.name].all,
            canonical=page(report.name),
        )
    yield from _aliases(edition)


def _aliases(edition: Edition) -> Iterator[Page]:
    """The sections of the first report answer without its name too, so that a short address can be
    told.
    """
    names = {report.name for report in edition.reports}
    for section, path in section_paths(edition.reports[0]).items():
        if section not in names:
            yield alias(page(section), path)
