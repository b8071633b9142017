"""The `site` room's answer to "what do I install?": the advisor's cards as pages show them."""

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.advise.answer import Card, Recommended
from compat.advise.lifted import Lifted
from compat.advise.proof import TestedCombination
from compat.advise.published import AsPublished
from compat.advise.request import Goal, Request, Want, label
from compat.advise.rows import ProofWords
from compat.site.edition import Edition, MatrixReport, place_of
from compat.site.pages.capability_view import failing
from compat.site.pages.command_view import CommandBox, command_box
from compat.site.pages.place_view import View
from compat.site.paths import address, api_path, cell_page, lock_file, page
from compat.site.status import StatusStyle, style_of
from compat.site.wording import python_of

GOAL_WORDS: dict[Goal, str] = {
    "best": "the fewest failures, then the closest to published",
    "newest": "the newest",
    "stable": "tested on the most days",
    "closest": "the closest to published",
    "published": "as published",
    "minimum": "the oldest that works",
}


class Tile(View, frozen=True):
    """One part of a combination: what it is, and its version."""

    label: str
    version: str
    is_subject: bool


class CardView(View, frozen=True):
    """A proven combination, with its commands and its evidence."""

    proof: TestedCombination
    tiles: tuple[Tile, ...]
    style: StatusStyle
    symbol: str
    score: str
    fails: tuple[str, ...]
    lifted: tuple[Lifted, ...]
    box: CommandBox
    published: AsPublished
    trade_off: str
    path: str
    lock_path: str

    @property
    def words(self) -> str:
        """The combination in words."""
        return ", ".join(f"{tile.label} {tile.version}" for tile in self.tiles)


class Advice(View, frozen=True):
    """An answer: the best card, or where nothing fits what is in the way and the nearest, with what
    it changes.
    """

    best: CardView | None
    proven: bool
    alternatives: tuple[CardView, ...]
    in_the_way: tuple[str, ...]
    changes: tuple[str, ...]


class Option(View, frozen=True):
    """An answer for one version of an axis, and the page with more; `without` says why there is no
    answer.
    """

    label: str
    path: str
    best: CardView | None
    without: str = ""


class FormField(View, frozen=True):
    """A field of the advisor's form: an axis and its coordinates, newest first."""

    name: str
    label: str
    versions: tuple[str, ...]


class AdvisePage(View, frozen=True):
    """The advisor's page: of everything, or of one Python.

    `table_path` is what the script answers from.
    """

    subject: str
    python: str
    advice: Advice
    goals: tuple[tuple[str, CardView], ...]
    goal_words: tuple[tuple[str, str], ...]
    pythons: tuple[Option, ...]
    others: tuple[tuple[str, tuple[Option, ...]], ...]
    choices: tuple[FormField, ...]
    needs: tuple[tuple[str, str], ...]
    table_path: str
    cells_path: str


def advice(edition: Edition, report: MatrixReport, request: Request) -> Advice:
    """Return the answer to a request."""
    answer = report.answer(request)
    if isinstance(answer, Recommended):
        others = tuple(
            card_view(edition, report, alternative.card, alternative.trade_off)
            for alternative in answer.alternatives
        )
        best = card_view(edition, report, answer.best)
        return Advice(best=best, proven=True, alternatives=others, in_the_way=(), changes=())
    nearest = None if answer.nearest is None else card_view(edition, report, answer.nearest)
    return Advice(
        best=nearest,
        proven=False,
        alternatives=(),
        in_the_way=answer.in_the_way,
        changes=answer.changes,
    )


def best(
    edition: Edition, report: MatrixReport, coordinates: dict[str, Version], goal: Goal = "best"
) -> CardView | None:
    """Return the best proven card with these coordinates by axis; None when there is none."""
    for proof in report.ordered(goal):
        if all(proof.cell.on(axis).version == version for axis, version in coordinates.items()):
            return card_view(edition, report, report.advisor.card(proof))
    return None


def card_view(edition: Edition, report: MatrixReport, card: Card, trade_off: str = "") -> CardView:
    """Return a card as pages show it."""
    proof, matrix = card.proof, report.snapshot.matrix
    entry = report.snapshot.by_id[proof.cell.id]
    style = style_of(entry, report.places[place_of(proof.cell)])
    ordered = (
        matrix.subject_axis,
        *(axis for axis in matrix.axes[::-1] if axis.name != matrix.subject),
    )
    return CardView(
        proof=proof,
        tiles=tuple(
            Tile(
                label=label(axis),
                version=str(proof.version(axis.name)),
                is_subject=axis.name == matrix.subject,
            )
            for axis in ordered
        ),
        style=style,
        symbol=style.symbol,
        score=proof.score.words,
        fails=failing(report, entry),
        lifted=card.lifted,
        box=command_box(edition, report, card.lock),
        published=card.published,
        trade_off=trade_off,
        path=cell_page(proof.cell),
        lock_path=lock_file(report.name, proof.cell.id),
    )


def proof_words(report: MatrixReport, proof: TestedCombination) -> ProofWords:
    """Return what a card calls a proven combination, for what is shown without a page."""
    entry = report.snapshot.by_id[proof.id]
    style = style_of(entry, report.places[place_of(proof.cell)])
    return ProofWords(verdict=style.word, failing=failing(report, entry))


def by_python(edition: Edition, report: MatrixReport) -> tuple[Option, ...]:
    """Return the best answer for each Python, the newest first."""
    axis = report.snapshot.matrix.interpreters.name
    return tuple(
        Option(
            label=str(python),
            path=page(report.name, "advise", f"py{python}"),
            best=best(edition, report, {axis: python}),
            without=_without(report, python),
        )
        for python in reversed(report.board)
    )


def _without(report: MatrixReport, python: Version) -> str:
    """Why nothing can be recommended for a Python."""
    places = report.board[python].values()
    if any(entry.obstacle is None for entries in places for entry in entries):
        return "no tested combination"
    versions = sorted({subject for subject, _ in report.board[python]})
    releases = report.facts.subject_releases(versions[-1])
    published = releases[-1].published if releases else None
    requires = None if published is None else published.requires_python
    if requires is None or requires.contains(python):
        return "not supported: metadata or a rule excludes every combination"
    return (
        f"not supported: {report.snapshot.matrix.subject_axis.package} {releases[-1].version}"
        f" requires Python {requires}"
    )


def advise_page(edition: Edition, report: MatrixReport, python: Version | None) -> AdvisePage:
    """Return the advisor's page, of all Pythons or of one."""
    matrix = report.snapshot.matrix
    asked = {} if python is None else {matrix.interpreters.name: python}
    request = Request(wants=_wants(report, asked))
    return AdvisePage(
        subject=matrix.subject_axis.package,
        python="" if python is None else str(python),
        advice=advice(edition, report, request),
        goals=tuple(_goals(edition, report, asked)),
        goal_words=tuple(GOAL_WORDS.items()),
        pythons=by_python(edition, report),
        others=tuple(_by_others(edition, report, python)),
        choices=tuple(
            FormField(
                name=axis.name,
                label=label(axis),
                versions=tuple(
                    str(version) for version in reversed(report.advisor.ranks.positions[axis.name])
                ),
            )
            for axis in matrix.axes
        ),
        needs=tuple(
            (described.id, described.title)
            for described in report.capabilities
            if described.id not in report.helpers
        ),
        table_path=api_path(report.name, "advise"),
        cells_path=address(page(report.name, "cell")),
    )


def _goals(
    edition: Edition, report: MatrixReport, coordinates: dict[str, Version]
) -> Iterator[tuple[str, CardView]]:
    for goal, word in GOAL_WORDS.items():
        card = best(edition, report, coordinates, goal)
        if card is not None:
            yield word, card


def _by_others(
    edition: Edition, report: MatrixReport, python: Version | None
) -> Iterator[tuple[str, tuple[Option, ...]]]:
    """For each other package axis, the best answer for each of its versions that anything is proven
    with.
    """
    matrix = report.snapshot.matrix
    proven = [
        proof.cell
        for proof in report.advisor.proofs
        if python in (None, python_of(proof.cell, matrix))
    ]
    for axis in matrix.packages:
        if axis.name == matrix.subject:
            continue
        options = []
        for version in sorted({cell.on(axis.name).version for cell in proven}, reverse=True):
            coordinates = {axis.name: version} | (
                {} if python is None else {matrix.interpreters.name: python}
            )
            card = best(edition, report, coordinates)
            options.append(
                Option(label=str(version), path="" if card is None else card.path, best=card)
            )
        yield axis.package, tuple(options)


def _wants(report: MatrixReport, coordinates: dict[str, Version]) -> tuple[Want, ...]:
    return tuple(
        Want(axis=axis, specifier=SpecifierSet(f"=={coordinates[axis.name]}"))
        for axis in report.snapshot.matrix.axes
        if axis.name in coordinates
    )
