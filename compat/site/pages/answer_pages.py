"""The `site` room's pages that answer what to install."""

from collections.abc import Iterator
from functools import partial

from compat.advise.proof import TestedCombination
from compat.advise.request import label
from compat.site.edition import Edition, MatrixReport, place_of
from compat.site.pages.advice_view import (
    AdvisePage,
    advise_page,
    answer_page,
    answer_pairs,
    answer_path,
    tested_page,
    version_links,
)
from compat.site.pages.page import LatePage, Page, titled
from compat.site.pages.place_view import recipe_words
from compat.site.pages.question_view import QuestionForm, question
from compat.site.pages.version_view import version_axes, version_page
from compat.site.paths import cell_page, page
from compat.site.tokens import Tokens, digest
from compat.site.wording import place_words


def answer_pages(
    edition: Edition, report: MatrixReport, tokens: Tokens
) -> Iterator[Page | LatePage]:
    """Yield the pages that answer what to install: of everything, of one version, of two, and of
    each tested combination.
    """
    title = report.snapshot.matrix.title
    of = partial(
        Page, template="answer.html", inputs=tokens.all, matrix=report.name, section="advise"
    )
    yield of(
        path=answer_path(report, {}),
        template="advise.html",
        title=f"What to install for {title}",
        about=f"The newest versions of {title} that tests show to work together.",
        view=partial(_advise, edition, report),
    )
    for axis, version in version_axes(report):
        words = f"{label(axis)} {version}"
        yield of(
            path=answer_path(report, {axis.name: version}),
            template="version.html",
            title=f"{words}: what works with {title}",
            about=f"Which releases of {title} work with {words}, which do not, and why.",
            view=partial(version_page, edition, report, axis, version),
        )
    for pair in answer_pairs(report):
        words = " and ".join(words for words, _ in version_links(report, pair))
        yield of(
            path=answer_path(report, pair),
            title=titled(f"What to install for {title} with {words}", f"{title} with {words}"),
            about=f"What works with {words}, with the commands.",
            view=partial(answer_page, edition, report, pair),
        )
    for combination in report.advisor.proofs:
        places = report.places[place_of(combination.cell)]
        yield LatePage(
            path=page(report.name, "advise", combination.id),
            page=partial(_tested, edition, report, combination),
            # What others came to moves no page of this one, but for those at its place.
            inputs=digest(
                tokens.of(report.snapshot.by_id[combination.id], *places),
                # What today's suite asks is told by all cells.
                combination.untried,
                combination.stale,
                f"{combination.days} {combination.tested} {combination.isolation}",
            ),
            is_elsewhere=True,
        )


def _tested(edition: Edition, report: MatrixReport, combination: TestedCombination) -> Page:
    entry = report.snapshot.by_id[combination.id]
    words = place_words(combination.cell, report.snapshot.matrix)
    return Page(
        path=page(report.name, "advise", combination.id),
        template="answer.html",
        title=titled(f"Install {words}", words),
        about=f"The commands that install {words}, {recipe_words(entry)}.",
        view=partial(tested_page, edition, report, combination),
        inputs="",
        matrix=report.name,
        section="advise",
        canonical=cell_page(combination.cell),
    )


def _advise(edition: Edition, report: MatrixReport) -> tuple[AdvisePage, QuestionForm]:
    return advise_page(edition, report), question(report, is_whole=True)
