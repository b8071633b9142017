"""The `advise` room's comparison: what another proven combination gains and loses against the
recommended one.
"""

from collections.abc import Iterator, Sequence

from compat.advise.proof import TestedCombination
from compat.advise.request import label
from compat.declare.matrix import Axis, Matrix

MOST_ALTERNATIVES = 2


def alternatives(
    matrix: Matrix, best: TestedCombination, others: Sequence[TestedCombination]
) -> tuple[TestedCombination, ...]:
    """Return up to two others that are better in something, each in another respect; then the next
    best.
    """
    chosen: list[TestedCombination] = []
    offered: set[str] = set()
    for other in others:
        if len(chosen) == MOST_ALTERNATIVES:
            return tuple(chosen)
        gained = set(better_in(matrix, other, best))
        if gained - offered:
            chosen.append(other)
            offered |= gained
    chosen += [other for other in others if other not in chosen][: MOST_ALTERNATIVES - len(chosen)]
    return tuple(chosen)


def trade_off(matrix: Matrix, best: TestedCombination, other: TestedCombination) -> str:
    """Return in one sentence what the other one gains and loses."""
    gained = ", ".join(_gain(matrix, other, respect) for respect in better_in(matrix, other, best))
    worse = (respect for respect in better_in(matrix, best, other) if respect != "days")
    lost = ", ".join(_loss(matrix, other, respect) for respect in worse)
    sentence = (
        f"{gained}, but {lost}"
        if gained and lost
        else gained or lost or "the same, locked another way"
    )
    return f"{sentence[0].upper()}{sentence[1:]}."


def better_in(matrix: Matrix, one: TestedCombination, other: TestedCombination) -> tuple[str, ...]:
    """Return in what the first is better: `kind`, `range`, `recipe`, `pins`, `stale`, `days`, or
    the name of an axis.
    """
    return tuple(_respects(matrix, one, other))


def _respects(
    matrix: Matrix, tested_combination: TestedCombination, other: TestedCombination
) -> Iterator[str]:
    if tested_combination.doubts < other.doubts:
        yield "kind"
    if tested_combination.outside < other.outside:
        yield "range"
    if tested_combination.is_published and not other.is_published:
        yield "recipe"
    elif tested_combination.changed < other.changed:
        yield "pins"
    companions = (axis for axis in matrix.packages if axis.name != matrix.subject)
    axes: tuple[Axis, ...] = (matrix.subject_axis, *companions, matrix.interpreters)
    for axis in axes:
        if tested_combination.cell.on(axis.name).version > other.cell.on(axis.name).version:
            yield axis.name
    if other.stale and not tested_combination.stale:
        yield "stale"
    if tested_combination.days > other.days:
        yield "days"


def _gain(matrix: Matrix, proof: TestedCombination, respect: str) -> str:
    match respect:
        case "kind":
            return "less fails" if proof.doubts else "nothing fails in this combination"
        case "range":
            return "published for these versions"
        case "recipe":
            return "as published, with nothing lifted"
        case "pins":
            return f"with only {_pins(proof)}"
        case "stale":
            return "with fresh evidence"
        case "days":
            return f"tested on {proof.days} days"
    return f"newer {_version(matrix, proof, respect)}"


def _loss(matrix: Matrix, proof: TestedCombination, respect: str) -> str:
    match respect:
        case "kind":
            return _failures(proof)
        case "range":
            return "not published for these versions"
        case "recipe":
            return "only with changed dependency pins"
        case "pins":
            return f"with {_pins(proof)}"
        case "stale":
            return "its evidence is stale"
    return f"older {_version(matrix, proof, respect)}"


def _failures(proof: TestedCombination) -> str:
    lacking = (*proof.faults, *proof.untried)
    if not lacking:
        return "its tests did not run to their end"
    verb = "fails" if len(lacking) == 1 else "fail"
    verb = verb if proof.faults else "was not tested" if len(lacking) == 1 else "were not tested"
    return f"{' and '.join(lacking[:3])}{' and more' if lacking[3:] else ''} {verb}"


def _pins(proof: TestedCombination) -> str:
    return "1 changed pin" if proof.changed == 1 else f"{proof.changed} changed pins"


def tested(proof: TestedCombination) -> str:
    """Return how often and on how many days: `tested once`, `tested twice on 1 day`."""
    if proof.tested == 1:
        return "tested once"
    times = "twice" if proof.tested == 2 else f"{proof.tested} times"
    return f"tested {times} on {proof.days} {'day' if proof.days == 1 else 'days'}"


def _version(matrix: Matrix, proof: TestedCombination, name: str) -> str:
    axis: Axis = next(axis for axis in matrix.axes if axis.name == name)
    return f"{label(axis)} {proof.version(name)}"
