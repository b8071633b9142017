"""The table with which a page answers requests by itself, like the command.

Algorithm for a request of coordinates and capabilities: keep the rows whose `at` matches and whose
`lacks` names no required capability; for the goal `published` only those whose `changed` is 0. Take
the first by (`tier`, where a capability was required 1 if `outside` is not 0, and 0 if the goal is
`closest`; `rank` of the goal). If no row is left, the nearest is the first by (1 where `published`
does not admit it; missing capabilities; mismatched axes; coordinates off, all axes together; that
order).
"""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping

from packaging.version import Version

from compat.advise.answer import Advisor, as_published
from compat.advise.request import GOALS, Goal, exactly, label
from compat.declare.matrix import Matrix
from compat.plan.cell import Recipe
from compat.results.answer import Answer
from compat.value import Value


class AdviceAxis(Value, frozen=True):
    """An axis: its name and short name in ids, its usual name, its package (null: it is the
    interpreter), and its coordinates, oldest first.
    """

    name: str
    short: str
    label: str
    coordinates: tuple[str, ...]
    package: str | None


class AdviceRow(Value, frozen=True):
    """A proven combination.

    Numbers index the table's lists: `at` the coordinates of each axis, `fails`, `faults` and
    `lacks` the `capabilities` (`lacks` has those that no run has shown), the others the
    `sentences`.

    `words` is the verdict in the words of pages; `score` is how much works; `failing` is what
    fails, with its cause. `faults` are those of `fails` that fail by the combination. `changed` is
    the number of packages with changed requirements, and `outside` the number of these that are
    axes whose version the release's own requirements exclude. `tested` counts the counting runs,
    `days` their days. `stale` says why its evidence is old, `lifted` which requirements it
    violates, `published` what a plain install does; `uv` and `pip` are the lines that install it.
    `rank` is its position among all by each goal, 0 for the best.
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
    rank: dict[Goal, int]


class AdviceTable(Value, frozen=True):
    """The proven combinations of a matrix, the best first, with the lists that they index.

    `refusals` gives, for each coordinate of each axis, the reason why another one is recommended.
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


# What pages print of a proven combination: its verdict, and each failing capability.
ProofWords = tuple[str, tuple[str, ...]]
# The lines that install something, with uv and with pip.
ShellLines = tuple[tuple[str, ...], tuple[str, ...]]


def advise_rows(
    advisor: Advisor,
    lines: Callable[[Answer], ShellLines],
    words: Callable[[Answer], ProofWords],
) -> AdviceTable:
    snapshot, positions = advisor.snapshot, advisor.ranks.positions
    sentences: dict[str, int] = {}  # each once, by number

    def number(text: str) -> int:
        return sentences.setdefault(text, len(sentences))

    distinct = {id(proof.capabilities): proof.capabilities for proof in advisor.proofs}.values()
    asked = {c.id for every in distinct for c in every if c.status in ("yes", "no")}
    capabilities = sorted(asked)
    rows = _rows(advisor, capabilities, number, lines, words)
    return AdviceTable(
        matrix=snapshot.matrix.name,
        subject=snapshot.matrix.subject,
        day=snapshot.day,
        goals=GOALS,
        axes=axes_of(snapshot.matrix, positions),
        refusals=tuple(
            tuple(number(advisor.refusal(exactly(axis, v))) for v in positions[axis.name])
            for axis in snapshot.matrix.axes
        ),
        capabilities=tuple(capabilities),
        rows=tuple(rows),
        sentences=tuple(sentences),
    )


def axes_of(matrix: Matrix, versions: Mapping[str, Iterable[Version]]) -> tuple[AdviceAxis, ...]:
    return tuple(
        AdviceAxis(
            name=axis.name,
            short=axis.short,
            label=label(axis),
            coordinates=tuple(map(str, versions[axis.name])),
            package=axis.package,
        )
        for axis in matrix.axes
    )


def _rows(
    advisor: Advisor,
    capabilities: list[str],
    number: Callable[[str], int],
    lines: Callable[[Answer], ShellLines],
    words: Callable[[Answer], ProofWords],
) -> Iterator[AdviceRow]:
    snapshot, ranks = advisor.snapshot, advisor.ranks
    numbers = {name: place for place, name in enumerate(capabilities)}
    # Most proofs have the same capabilities, and then they are one object.
    lacks: dict[int, tuple[int, ...]] = {}
    for proof in sorted(advisor.proofs, key=lambda proof: ranks.of(proof, "best")):
        assert proof.latest is not None, "what is proven ran"
        same, (verdict, failing) = id(proof.capabilities), words(proof)
        if same not in lacks:
            passing = {c.id for c in proof.capabilities if c.status == "yes"}
            lacks[same] = tuple(n for name, n in numbers.items() if name not in passing)
        uv, pip = (tuple(map(number, steps)) for steps in lines(proof))
        yield AdviceRow(
            id=proof.id,
            at=tuple(ranks.positions[c.axis][c.version] for c in proof.cell.coordinates),
            recipe=proof.cell.recipe,
            verdict=proof.kind,
            words=number(verdict),
            score=number(proof.score.words),
            failing=tuple(map(number, failing)),
            tier=proof.tier,
            outside=proof.outside,
            changed=proof.changed,
            versions=tuple(str(proof.version(c.axis)) for c in proof.cell.coordinates),
            fails=tuple(numbers[name] for name in proof.fails),
            faults=tuple(numbers[name] for name in proof.failing_here),
            lacks=lacks[same],
            tested=proof.tested,
            days=proof.days,
            last=proof.latest,
            isolation=proof.isolation,
            stale=tuple(map(number, proof.outdated)),
            lifted=tuple(number(lifted.sentence) for lifted in proof.lifted or ()),
            published=number(as_published(snapshot, proof.cell).sentence),
            uv=uv,
            pip=pip,
            rank={goal: ranks.of(proof, goal) for goal in GOALS},
        )
