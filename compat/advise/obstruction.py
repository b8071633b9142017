"""The `advise` room's reasons: why nothing that meets a request is proven."""

from collections.abc import Iterator, Mapping, Sequence

from compat.advise.proof import TestedCombination, is_current, is_goal_met
from compat.advise.ranks import positions
from compat.advise.request import Request, label, unavailable, wanted_coordinates
from compat.plan.cell import Cell
from compat.plan.feasible import Obstacle
from compat.results.answer import Answer
from compat.results.snapshot import Snapshot
from compat.results.state_words import verdict_clause


def obstructions(
    snapshot: Snapshot, request: Request, proofs: Mapping[str, TestedCombination]
) -> tuple[str, ...]:
    """Return what is in the way of a request that no proof meets, as sentences, the most telling
    first. `proofs` has every proof by the id of its cell.

    Runs speak first, then what metadata and rules say of the cells as published, then what was
    never run.
    """
    known = positions(snapshot)
    asked = wanted_coordinates(request, known, snapshot.catalogue)
    matching = list(snapshot.having(asked))
    if not matching:
        nowhere = (want for want in request.wants if not asked[want.axis.name])
        return tuple(unavailable(want, snapshot.catalogue) for want in nowhere)
    matching.sort(
        key=lambda entry: [-known[axis][entry.cell.on(axis).version] for axis in _order(snapshot)]
    )
    return (
        *_of_runs(snapshot, matching, request, proofs),
        *_of_metadata(snapshot, matching, request),
        *(_of_nobody(matching, request) or _of_others(matching, request)),
    )


def _order(snapshot: Snapshot) -> tuple[str, ...]:
    subject = snapshot.matrix.subject
    return subject, *(axis.name for axis in snapshot.matrix.axes if axis.name != subject)


def _of_runs(
    snapshot: Snapshot,
    matching: Sequence[Answer],
    request: Request,
    proofs: Mapping[str, TestedCombination],
) -> Iterator[str]:
    """The newest tested combination of such versions, why it does not do, and how many more do
    not.
    """
    failing = [entry for entry in matching if entry.is_tested]
    if not failing:
        return
    entry = failing[0]
    why = _failure(snapshot, entry, request, proofs.get(entry.id))
    yield f"{entry.id} {why}{_more(len(failing) - 1)}"


def _more(others: int) -> str:
    if others < 2:
        return "; 1 more was run and does not do" if others else ""
    return f"; {others:,} more were run and do not do"


def _failure(
    snapshot: Snapshot, entry: Answer, request: Request, proof: TestedCombination | None
) -> str:
    verdict = entry
    if verdict.kind in ("works", "partial"):
        if entry.lock_digest is None:
            return "worked, but has no lock that could be installed"
        if proof is None or not is_current(entry):
            return "worked on another lock than it has now, and was not run since"
        pins = () if is_goal_met(proof, request) else ("with changed dependency pins",)
        differs = (*pins, *_lacking(verdict, request), *_other_versions(proof, request))
        return f"{verdict_clause(verdict)}, but {', '.join(differs)}"
    issue = snapshot.explained(entry)
    because = f" ({issue.because})" if issue is not None else ""
    return f"{verdict_clause(verdict)}: {verdict.outcome}, tested on {verdict.latest}{because}"


def _lacking(verdict: Answer, request: Request) -> Iterator[str]:
    wording = {"no": "fails", "absent": "is not there"}
    statuses = {capability.id: capability.status for capability in verdict.capabilities}
    for need in request.needs:
        if statuses.get(need) != "yes":
            yield f"{need} {wording.get(statuses.get(need, ''), 'was not tested')}"


def _other_versions(proof: TestedCombination, request: Request) -> Iterator[str]:
    for want in proof.unmet(request):
        yield f"with {label(want.axis)} {proof.version(want.axis.name)}, not {want.specifier}"


def _of_metadata(snapshot: Snapshot, matching: Sequence[Answer], request: Request) -> Iterator[str]:
    """Why the plan rules out all that fits as published; the obstacle that speaks of what was asked
    is the one told.
    """
    published = [entry for entry in matching if entry.cell.recipe != "relaxed"]
    ruled_out = [(entry, entry.obstacle) for entry in published if entry.obstacle is not None]
    if not ruled_out or len(ruled_out) < len(published):
        return
    _, obstacle = min(ruled_out, key=lambda pair: _beside(snapshot, request, *pair))
    releases = len({entry.cell.on(snapshot.matrix.subject).version for entry, _ in ruled_out})
    others = (
        f"; as published none of the {releases - 1} other releases fits" if releases > 1 else ""
    )
    yield f"{obstacle.because}{others}"


def _beside(snapshot: Snapshot, request: Request, entry: Answer, obstacle: Obstacle) -> int:
    asked = {snapshot.matrix.subject, *(want.axis.name for want in request.wants)}
    return sum(_axis_of(entry.cell, text) not in (None, *asked) for text in obstacle.between)


def _axis_of(cell: Cell, text: str) -> str | None:
    return next(
        (coordinate.axis for coordinate in cell.coordinates if coordinate.text == text), None
    )


def _of_others(matching: Sequence[Answer], request: Request) -> Iterator[str]:
    """What is inferred of cells that were not run, or what a resolver said, where nothing else is
    left: the newest one, and how many more.
    """
    refused = [
        entry
        for entry in matching
        if entry.kind == "broken"
        and not entry.is_tested
        and (request.goal != "published" or entry.cell.recipe != "relaxed")
    ]
    if refused:
        verdict = refused[0]
        more = f"; {len(refused) - 1:,} more are refused, too" if refused[1:] else ""
        yield f"{verdict.id} {verdict_clause(verdict)}: {'; '.join(verdict.reasons)}{more}"


def _of_nobody(matching: Sequence[Answer], request: Request) -> list[str]:
    """How many were never run, with the one that most speaks for."""
    untested = [
        entry
        for entry in matching
        if entry.kind == "unknown"
        and not entry.counted
        and (request.goal != "published" or entry.cell.recipe != "relaxed")
    ]
    if not untested:
        return []
    many = (
        "1 combination that fits"
        if len(untested) == 1
        else f"{len(untested):,} combinations that fit"
    )
    is_relaxed = all(entry.cell.recipe == "relaxed" for entry in untested)
    relaxed = " once pins are lifted" if is_relaxed else ""
    likely = min(untested, key=lambda entry: entry.expected not in ("works", "partial"))
    expected = "" if likely.expected is None else f" ({verdict_clause(likely)})"
    return [f"{many}{relaxed} could work and were never run, such as {likely.cell.id}{expected}"]
