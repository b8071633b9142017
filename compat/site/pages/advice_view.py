"""The `site` room's answer to "what do I install?": the advisor's cards as pages show them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from packaging.version import Version

from compat.advise.answer import Card, Recommended
from compat.advise.lifted import Lifted
from compat.advise.proof import TestedCombination
from compat.advise.published import AsPublished
from compat.advise.request import Goal, Request, Want, exactly, label
from compat.advise.rows import ProofWords
from compat.declare.matrix import Axis
from compat.site.edition import Edition, MatrixReport, place_of
from compat.site.pages.capability_view import failing
from compat.site.pages.command_view import CommandBox, command_box
from compat.site.pages.place_view import View
from compat.site.paths import cell_page, lock_file, page
from compat.site.status import StatusStyle, style_of

GOAL_WORDS: dict[Goal, str] = {
    "best": "published for these versions, with the fewest failures",
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
    cautions: tuple[str, ...]
    lifted: tuple[Lifted, ...]
    box: CommandBox
    published: AsPublished
    trade_off: str
    path: str
    answer_path: str
    lock_path: str

    @property
    def words(self) -> str:
        return ", ".join(f"{tile.label} {tile.version}" for tile in self.tiles)


class Advice(View, frozen=True):
    """An answer: the best card, or where nothing fits what is in the way and the nearest, with what
    it changes.

    `says` is the answer in one short sentence, which a script reads out.
    """

    says: str

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


class AdvisePage(View, frozen=True):
    """The advisor's page: the best answer, and those by preference and by version."""

    subject: str
    advice: Advice
    goals: tuple[tuple[str, CardView], ...]
    pythons: tuple[Option, ...]
    others: tuple[tuple[str, tuple[Option, ...]], ...]


class AnswerPage(View, frozen=True):
    """One answer with a page of its own, and the pages of the versions that it is for."""

    advice: Advice
    versions: tuple[tuple[str, str], ...]


def advice(edition: Edition, report: MatrixReport, request: Request) -> Advice:
    answer = report.answer(request)
    if isinstance(answer, Recommended):
        others = tuple(
            card_view(edition, report, alternative.card, alternative.trade_off)
            for alternative in answer.alternatives
        )
        return _proven(card_view(edition, report, answer.best), others)
    nearest = None if answer.nearest is None else card_view(edition, report, answer.nearest)
    return Advice(
        says=unproven_words(answer.changes if nearest is not None else ()),
        best=nearest,
        proven=False,
        alternatives=(),
        in_the_way=answer.in_the_way,
        changes=answer.changes,
    )


def _proven(best: CardView, alternatives: tuple[CardView, ...]) -> Advice:
    return Advice(
        says=f"{best.words}: {best.style.word}.",
        best=best,
        proven=True,
        alternatives=alternatives,
        in_the_way=(),
        changes=(),
    )


def unproven_words(changes: Sequence[str]) -> str:
    nothing = "No tested combination matches"
    return f"{nothing}: {'; '.join(changes)}." if changes else f"{nothing}."


def answer_page(
    edition: Edition, report: MatrixReport, coordinates: Mapping[str, Version]
) -> AnswerPage:
    return AnswerPage(
        advice=advice(edition, report, Request(wants=wants(report, coordinates))),
        versions=version_links(report, coordinates),
    )


def tested_page(
    edition: Edition, report: MatrixReport, combination: TestedCombination
) -> AnswerPage:
    matrix = report.snapshot.matrix
    return AnswerPage(
        advice=_proven(card_view(edition, report, report.advisor.card(combination)), ()),
        versions=version_links(
            report,
            {
                axis.name: combination.cell.on(axis.name).version
                for axis in matrix.axes
                if axis.name != matrix.subject
            },
        ),
    )


def version_links(
    report: MatrixReport, coordinates: Mapping[str, Version]
) -> tuple[tuple[str, str], ...]:
    return tuple(
        (
            f"{label(axis)} {coordinates[axis.name]}",
            answer_path(report, {axis.name: coordinates[axis.name]}),
        )
        for axis in report.snapshot.matrix.axes
        if axis.name in coordinates
    )


def answer_path(report: MatrixReport, coordinates: Mapping[str, Version]) -> str:
    texts = [
        f"{axis.short}{coordinates[axis.name]}"
        for axis in report.snapshot.matrix.axes
        if axis.name in coordinates
    ]
    return page(report.name, "advise", *(["-".join(texts)] if texts else []))


def answer_pairs(report: MatrixReport) -> Iterator[dict[str, Version]]:
    matrix, positions = report.snapshot.matrix, report.advisor.ranks.positions
    python = matrix.interpreters.name
    for axis in matrix.packages:
        if axis.name != matrix.subject:
            for series, version in product(positions[python], positions[axis.name]):
                yield {python: series, axis.name: version}


def best(
    edition: Edition, report: MatrixReport, coordinates: Mapping[str, Version], goal: Goal = "best"
) -> CardView | None:
    """Return the best proven card with these coordinates by axis; None when there is none."""
    proof = report.best(goal, coordinates)
    return None if proof is None else card_view(edition, report, report.advisor.card(proof))


def card_view(edition: Edition, report: MatrixReport, card: Card, trade_off: str = "") -> CardView:
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
        cautions=card.cautions,
        lifted=card.lifted,
        box=command_box(edition, report, card.lock),
        published=card.published,
        trade_off=trade_off,
        path=cell_page(proof.cell),
        answer_path=page(report.name, "advise", proof.cell.id),
        lock_path=lock_file(report.name, proof.cell.id),
    )


def proof_words(report: MatrixReport, proof: TestedCombination) -> ProofWords:
    entry = report.snapshot.by_id[proof.id]
    style = style_of(entry, report.places[place_of(proof.cell)])
    return ProofWords(verdict=style.word, failing=failing(report, entry))


def by_python(edition: Edition, report: MatrixReport) -> tuple[Option, ...]:
    axis = report.snapshot.matrix.interpreters
    return tuple(
        option(edition, report, axis, python, {})
        for python in reversed(report.advisor.ranks.positions[axis.name])
    )


def option(
    edition: Edition,
    report: MatrixReport,
    axis: Axis,
    version: Version,
    beside: Mapping[str, Version],
) -> Option:
    coordinates = {**beside, axis.name: version}
    card = best(edition, report, coordinates)
    return Option(
        label=str(version),
        path=answer_path(report, coordinates),
        best=card,
        without="" if card is not None else without(report, coordinates),
    )


def without(report: MatrixReport, coordinates: Mapping[str, Version]) -> str:
    matrix = report.snapshot.matrix
    entries = report.entries_at(coordinates)
    if any(entry.obstacle is None for entry in entries):
        return "no tested combination"
    python = coordinates.get(matrix.interpreters.name)
    versions = sorted({entry.cell.on(matrix.subject).version for entry in entries})
    releases = report.facts.subject_releases(versions[-1]) if versions else ()
    published = releases[-1].published if releases else None
    requires = None if published is None else published.requires_python
    if python is None or requires is None or requires.contains(python):
        return "not supported: metadata or a rule excludes every combination"
    return (
        f"not supported: no release can be installed with it; {matrix.subject_axis.package}"
        f" {releases[-1].version} requires Python {requires}"
    )


def advise_page(edition: Edition, report: MatrixReport) -> AdvisePage:
    return AdvisePage(
        subject=report.snapshot.matrix.subject_axis.package,
        advice=advice(edition, report, Request()),
        goals=tuple(_goals(edition, report)),
        pythons=by_python(edition, report),
        others=by_others(edition, report, {}),
    )


def _goals(edition: Edition, report: MatrixReport) -> Iterator[tuple[str, CardView]]:
    for goal, word in GOAL_WORDS.items():
        card = best(edition, report, {}, goal)
        if card is not None:
            yield word, card


def by_others(
    edition: Edition, report: MatrixReport, coordinates: Mapping[str, Version]
) -> tuple[tuple[str, tuple[Option, ...]], ...]:
    """Return, for each axis beside these coordinates and the subject's, the best answer for each of
    its versions, the newest first.
    """
    matrix, positions = report.snapshot.matrix, report.advisor.ranks.positions
    partners = [axis for axis in matrix.packages if axis.name != matrix.subject]
    axes: list[Axis] = [matrix.interpreters, *partners] if coordinates else [*partners]
    return tuple(
        (
            label(axis),
            tuple(
                option(edition, report, axis, version, coordinates)
                for version in reversed(positions[axis.name])
            ),
        )
        for axis in axes
        if axis.name not in coordinates
    )


def wants(report: MatrixReport, coordinates: Mapping[str, Version]) -> tuple[Want, ...]:
    return tuple(
        exactly(axis, coordinates[axis.name])
        for axis in report.snapshot.matrix.axes
        if axis.name in coordinates
    )
