"""The `advise` room's table: all that a page needs to answer requests by itself, as the command
would.

A request that names coordinates and capabilities is answered so: keep the rows whose `at` is as
asked and whose `lacks` names no needed capability; for the goal `published` only those whose
`changed` is 0. Of these take the first by (`tier`, or 0 where a capability was needed or the goal
is `closest`; `rank` of the goal). Where no row is left, the nearest is the first by (1 where
`published` does not admit it; needs lacking; axes not as asked; coordinates off, all axes together;
that order).
"""

import datetime
from collections.abc import Callable

from compat.advise.answer import Advisor, Card
from compat.advise.commands import Whereabouts, commands
from compat.advise.proof import TestedCombination
from compat.advise.request import GOALS, Goal, exactly, label
from compat.declare.matrix import Matrix
from compat.lock.lockfile import Lock
from compat.plan.cell import Recipe
from compat.value import Value


class AdviceAxis(Value, frozen=True):
    """An axis: its name and short name in ids, what people call it, and its coordinates, oldest
    first.
    """

    name: str
    short: str
    label: str
    coordinates: tuple[str, ...]


class Rank(Value, frozen=True):
    """The place of a row among all by each goal, 0 for the best."""

    best: int
    newest: int
    stable: int
    closest: int
    published: int
    minimum: int


class AdviceRow(Value, frozen=True):
    """A proven combination.

    Numbers point into the table's lists: `at` into the coordinates of each axis, `fails`, `faults`
    and `lacks` into `capabilities` (`lacks` has all that it was not seen to have), the others into
    `sentences`.

    `words` says what the verdict is, as pages do; `score` how much works; `failing` what does not,
    with its cause. `faults` are those of `fails` that fail by the combination, `changed` is how
    many packages are not as published. `tested` is how many runs count, `days` on how many days
    they were. `stale` says why its evidence is old, `lifted` which requirements are not kept,
    `published` what a plain install does; `uv` and `pip` are the lines that install it.
    """

    id: str
    at: tuple[int, ...]
    recipe: Recipe
    verdict: str
    words: int
    score: int
    failing: tuple[int, ...]
    tier: int
    changed: int
    versions: tuple[str, ...]
    fails: tuple[int, ...]
    faults: tuple[int, ...]
    lacks: tuple[int, ...]
    tested: int
    days: int
    last: datetime.date
    isolation: str
    stale: tuple[int, ...]
    lifted: tuple[int, ...]
    published: int
    uv: tuple[int, ...]
    pip: tuple[int, ...]
    rank: Rank


class AdviceTable(Value, frozen=True):
    """The proven combinations of a matrix, the best first, with the lists that their numbers point
    into.

    `refusals` has, for each coordinate of each axis, the sentence that says why another one is
    offered.
    """

    matrix: str
    subject: str
    day: datetime.date
    goals: tuple[Goal, ...]
    axes: tuple[AdviceAxis, ...]
    refusals: tuple[tuple[int, ...], ...]
    capabilities: tuple[str, ...]
    sentences: tuple[str, ...]
    rows: tuple[AdviceRow, ...]


class _Sentences:
    """Sentences, each once, by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


class ProofWords(Value, frozen=True):
    """What pages call a proven combination: its verdict, and each capability that fails."""

    verdict: str
    failing: tuple[str, ...]


class _Shown:
    """A card with its commands and its words."""

    def __init__(self, card: Card, at: Whereabouts, matrix: Matrix, words: ProofWords) -> None:
        self.card = card
        self.commands = commands(card.lock, at, matrix)
        self.words = words


def advise_rows(
    advisor: Advisor,
    at: Callable[[Lock], Whereabouts],
    words: Callable[[TestedCombination], ProofWords],
) -> AdviceTable:
    """Return the table of a matrix; `at` tells where a lock can be had, `words` what pages call a
    combination.
    """
    snapshot, sentences = advisor.snapshot, _Sentences()
    capabilities = sorted({name for proof in advisor.proofs for name in (*proof.has, *proof.fails)})
    numbers = {name: number for number, name in enumerate(capabilities)}
    ordered = sorted(advisor.proofs, key=lambda proof: advisor.ranks.of(proof, "best"))
    return AdviceTable(
        matrix=snapshot.matrix.name,
        subject=snapshot.matrix.subject,
        day=snapshot.day,
        goals=GOALS,
        axes=tuple(
            AdviceAxis(
                name=axis.name,
                short=axis.short,
                label=label(axis),
                coordinates=tuple(map(str, advisor.ranks.positions[axis.name])),
            )
            for axis in snapshot.matrix.axes
        ),
        refusals=tuple(
            tuple(
                sentences.number(advisor.refusal(exactly(axis, version)))
                for version in advisor.ranks.positions[axis.name]
            )
            for axis in snapshot.matrix.axes
        ),
        capabilities=tuple(capabilities),
        rows=tuple(
            _row(
                advisor,
                _Shown(card, at(card.lock), snapshot.matrix, words(card.proof)),
                numbers,
                sentences,
            )
            for card in map(advisor.card, ordered)
        ),
        sentences=tuple(sentences.numbers),
    )


def _row(
    advisor: Advisor, shown: _Shown, numbers: dict[str, int], sentences: _Sentences
) -> AdviceRow:
    card, proof, has = shown.card, shown.card.proof, frozenset(shown.card.proof.has)
    return AdviceRow(
        id=proof.id,
        at=tuple(
            advisor.ranks.positions[coordinate.axis][coordinate.version]
            for coordinate in proof.cell.coordinates
        ),
        recipe=proof.cell.recipe,
        verdict=proof.kind,
        words=sentences.number(shown.words.verdict),
        score=sentences.number(proof.score.words),
        failing=tuple(map(sentences.number, shown.words.failing)),
        tier=proof.tier,
        changed=proof.changed,
        versions=tuple(str(version) for _, version in proof.versions),
        fails=tuple(numbers[name] for name in proof.fails),
        faults=tuple(numbers[name] for name in proof.faults),
        lacks=tuple(number for name, number in numbers.items() if name not in has),
        tested=proof.tested,
        days=proof.days,
        last=proof.last,
        isolation=proof.isolation,
        stale=tuple(map(sentences.number, proof.stale)),
        lifted=tuple(sentences.number(lifted.sentence) for lifted in proof.lifted),
        published=sentences.number(card.published.sentence),
        uv=tuple(map(sentences.number, shown.commands.uv)),
        pip=tuple(map(sentences.number, shown.commands.pip)),
        rank=Rank(**{goal: advisor.ranks.of(proof, goal) for goal in GOALS}),
    )
