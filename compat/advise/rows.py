"""The `advise` room's table: all that a page needs to answer requests by itself, as the command
would.

A request that names coordinates and capabilities is answered so: keep the rows whose `at` is as
asked and whose `lacks` names no needed capability; for the goal `published` only those whose
`changed` is 0. Of these take the first by (`tier`, where a capability was needed 1 if `outside` is
not 0, and 0 if the goal is `closest`; `rank` of the goal). Where no row is left, the nearest is the
first by (1 where `published` does not admit it; needs lacking; axes not as asked; coordinates off,
all axes together; that order).
"""

import datetime
from collections.abc import Callable, Mapping
from functools import cache

from compat.advise.answer import Advisor
from compat.advise.proof import TestedCombination, as_published
from compat.advise.request import GOALS, Goal, exactly, label
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
    many packages are not as published, and `outside` how many of these are axes whose version the
    release's own requirements exclude. `tested` is how many runs count, `days` on how many days
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
    outside: int
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


class ProofWords(Value, frozen=True):
    """What pages call a proven combination: its verdict, and each capability that fails."""

    verdict: str
    failing: tuple[str, ...]


# The lines that install something, with uv and with pip.
ShellLines = tuple[tuple[str, ...], tuple[str, ...]]


def advise_rows(
    advisor: Advisor,
    lines: Callable[[TestedCombination], ShellLines],
    words: Callable[[TestedCombination], ProofWords],
) -> AdviceTable:
    """Return the table of a matrix; `lines` installs a combination, `words` are what pages call
    it.
    """
    snapshot = advisor.snapshot
    # Each sentence once, by number.
    sentences: dict[str, int] = {}

    def number(text: str) -> int:
        return sentences.setdefault(text, len(sentences))

    capabilities = sorted({name for proof in advisor.proofs for name in (*proof.has, *proof.fails)})
    numbers = {name: place for place, name in enumerate(capabilities)}

    @cache  # most proofs have the same ones
    def lacking(has: tuple[str, ...]) -> tuple[int, ...]:
        known = frozenset(has)
        return tuple(place for name, place in numbers.items() if name not in known)

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
                number(advisor.refusal(exactly(axis, version)))
                for version in advisor.ranks.positions[axis.name]
            )
            for axis in snapshot.matrix.axes
        ),
        capabilities=tuple(capabilities),
        rows=tuple(
            _row(advisor, proof, lines(proof), words(proof), number, numbers, lacking(proof.has))
            for proof in ordered
        ),
        sentences=tuple(sentences),
    )


def _row(
    advisor: Advisor,
    proof: TestedCombination,
    lines: ShellLines,
    words: ProofWords,
    number: Callable[[str], int],
    numbers: Mapping[str, int],
    lacks: tuple[int, ...],
) -> AdviceRow:
    uv, pip = lines
    return AdviceRow(
        id=proof.id,
        at=tuple(
            advisor.ranks.positions[coordinate.axis][coordinate.version]
            for coordinate in proof.cell.coordinates
        ),
        recipe=proof.cell.recipe,
        verdict=proof.kind,
        words=number(words.verdict),
        score=number(proof.score.words),
        failing=tuple(map(number, words.failing)),
        tier=proof.tier,
        outside=proof.outside,
        changed=proof.changed,
        versions=tuple(str(version) for _, version in proof.versions),
        fails=tuple(numbers[name] for name in proof.fails),
        faults=tuple(numbers[name] for name in proof.faults),
        lacks=lacks,
        tested=proof.tested,
        days=proof.days,
        last=proof.last,
        isolation=proof.isolation,
        stale=tuple(map(number, proof.stale)),
        lifted=tuple(number(lifted.sentence) for lifted in proof.lifted),
        published=number(as_published(advisor.snapshot, proof.cell).sentence),
        uv=tuple(map(number, uv)),
        pip=tuple(map(number, pip)),
        rank=Rank(**{goal: advisor.ranks.of(proof, goal) for goal in GOALS}),
    )
