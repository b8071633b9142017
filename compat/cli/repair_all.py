"""What `compat repair --all-refused` does and prints: one search for many cells."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from compat import questions
from compat.cli.lockers import locker_of
from compat.cli.machine import cache_folder, now
from compat.cli.output import envelope, note, say
from compat.cli.this_machine import Interruption
from compat.declare.matrix import decode_custom
from compat.errors import CompatError, ToolFailed
from compat.files import read_if_there, write
from compat.fleet.mending import MendedCell, MendedFate
from compat.fleet.run_plan import budget_of
from compat.lock.locker import Locker
from compat.lock.lockfile import Inputs, Lock, Refusal
from compat.plan.cell import Cell
from compat.results.audits import sampled
from compat.search.corrections import LARGEST
from compat.site.wording import count, listed
from compat.value import encode
from compat.workspace import Workspace

FATES: tuple[tuple[MendedFate, str], ...] = (
    ("mended", "mended"),
    ("lockable", "can be locked as they are"),
    (
        "unmendable",
        f"proven: moving up to {LARGEST} packages does not mend them; none was left out",
    ),
    ("open", "open, as the resolutions ran out"),
)
# How many reasons and changes are listed.
MOST_LISTED = 10
# (sample, seed, budget, most locks a cell)
Choice = tuple[int | None, int, str, int]


def repair_all(workspace: Workspace, with_rules: bool, choice: Choice, as_json: bool) -> int:
    """Search the refused cells of a matrix and print what becomes of them; return the exit code."""
    sample, seed, budget, most_locks = choice
    seconds = budget_of(budget, 1).seconds if budget else None
    refused = questions.refused_places(workspace, with_rules)
    cells = refused.cells
    if sample is not None:
        by_id = {cell.id: cell for cell in cells}
        cells = tuple(by_id[name] for name in sampled(by_id, sample, seed))
        note(f"{count(len(cells), 'cell')} of {len(refused.cells):,}, seed {seed}")
    note(
        f"{count(refused.without_files, 'other cell')} cannot be mended by requirements: a"
        " coordinate has no file for their Python and platform"
    )
    store = _Kept(workspace, with_rules)
    answers = list(_answers(workspace, with_rules, (cells, most_locks, seconds), store))
    if as_json:
        envelope({"seed": seed, "without_files": refused.without_files, "cells": answers})
    else:
        _print(answers)
    left = len(cells) - len(answers)
    if left:
        note(f"{count(left, 'cell')} left; the same command goes on with them")
    return 3 if left or any(answer.fate == "open" for answer in answers) else 0


def _answers(
    workspace: Workspace,
    with_rules: bool,
    work: tuple[Sequence[Cell], int, float | None],
    store: "_Kept",
) -> Iterator[MendedCell]:
    """Yield the kept answers, then those that are found until the time or the patience ends."""
    cells, most_locks, seconds = work
    begun, interruption = now(), Interruption()
    wanted = [cell for cell in cells if cell.id not in store.answers]
    yield from (store.answers[cell.id] for cell in cells if cell.id in store.answers)
    known = tuple(store.answers.values())
    locker = _Stoppable(locker_of(workspace, "uv"), interruption)
    search = questions.mended(workspace, wanted, locker, (with_rules, most_locks), known)
    for number in range(1, len(wanted) + 1):
        if interruption.signal or (
            seconds is not None and (now() - begun).total_seconds() >= seconds
        ):
            return
        try:
            answer = next(search)
        except CompatError:
            if interruption.signal:
                return  # what it was about to ask is not asked
            raise
        store.keep(answer)
        note(f"{number} of {len(wanted)}: {answer.cell}: {_line(answer)}")
        yield answer


class _Stoppable:
    """A locker that is asked nothing more once the order to stop was given."""

    def __init__(self, locker: Locker, interruption: Interruption) -> None:
        self._locker = locker
        self._interruption = interruption

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        """Return the locker's answer; raise ToolFailed after the order to stop."""
        if self._interruption.signal:
            raise ToolFailed.of("stopped")
        return self._locker.lock(inputs)


class _Kept:
    """What was found earlier, by the same declaration and the same catalogue."""

    def __init__(self, workspace: Workspace, with_rules: bool) -> None:
        catalogue = read_if_there(workspace.catalogue_path) or b""
        parts = (workspace.declaration().encode(), catalogue, str(with_rules).encode())
        digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
        self._path = cache_folder() / "repairs" / f"{workspace.name}-{digest}.json"
        text = read_if_there(self._path)
        try:
            earlier = _decoded(text or b"[]")
        except msgspec.DecodeError:
            earlier = ()  # a cache that is damaged is made anew
        self.answers = {answer.cell: answer for answer in earlier if answer.fate != "open"}

    def keep(self, answer: MendedCell) -> None:
        """Keep an answer at once, as the next may be stopped."""
        self.answers[answer.cell] = answer
        write(self._path, encode(tuple(self.answers.values())))


def _decoded(text: bytes) -> tuple[MendedCell, ...]:
    return msgspec.json.decode(text, type=tuple[MendedCell, ...], dec_hook=decode_custom)


def _line(answer: MendedCell) -> str:
    match answer.fate:
        case "mended":
            also = f", as {answer.answered_by}" if answer.answered_by else ""
            return f"{_moves(answer)}{also}; {count(answer.locks, 'lock')}"
        case "lockable":
            return "can be locked as it is"
    reasons = [listed(conflict) for conflict in answer.conflicts if conflict]
    held = f"; cannot hold: {'; '.join(reasons)}" if reasons else ""
    return f"{answer.fate}; {count(answer.locks, 'lock')}{held}: {answer.remains or answer.refusal}"


def _reason(answer: MendedCell) -> str:
    """Why moving a few packages does not mend a cell, or what stands in its way as it is."""
    conflicts = [listed(conflict) for conflict in answer.conflicts if conflict]
    if answer.remains or answer.fate == "open" or not conflicts:
        return answer.remains or answer.refusal
    return f"more than {LARGEST} packages would have to move; none of these can hold: " + "; ".join(
        conflicts
    )


def _moves(answer: MendedCell) -> str:
    moves = [f"{m.package} {m.version or 'left out'}" for m in answer.moved]
    return listed(moves) or "its coordinates alone"


def _print(answers: Sequence[MendedCell]) -> None:
    fates = Counter(answer.fate for answer in answers)
    say(f"{count(len(answers), 'cell')}, {sum(answer.locks for answer in answers):,} locks")
    for fate, words in FATES:
        if fates[fate]:
            say(f"  {fates[fate]:,} ({fates[fate] / len(answers):.0%}) {words}")
    changes = Counter(_moves(answer) for answer in answers if answer.fate == "mended")
    firsts = {_moves(answer): answer.cell for answer in reversed(answers)}
    for moves, number in changes.most_common(MOST_LISTED):
        say(f"mended by {moves}: {count(number, 'cell')}, such as {firsts[moves]}")
    others = [answer for answer in answers if answer.fate in ("unmendable", "open")]
    reasons = Counter(map(_reason, others))
    for reason, number in reasons.most_common(MOST_LISTED):
        say(f"not mended: {count(number, 'cell')}: {reason}")
