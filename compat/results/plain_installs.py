"""What a plain install of each release on each Python comes to, and from what that is known.

A resolver that found packages has run nothing: that is `resolves`, never `works`.
"""

import datetime
from collections.abc import Iterator
from typing import Literal, get_args

from msgspec.structs import replace
from packaging.version import Version

from compat.plan.cell import Cell
from compat.plan.obstacle import Obstacle
from compat.plan.plain_cells import PlainQuestion, plain_question_of
from compat.results.answer import Answer, Kind, KnownRefusal
from compat.results.plain_answers import PlainAnswer
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed, is_spurious
from compat.value import StrictValue

PlainState = Literal[
    "works",
    "works-smoke",
    "partial",
    "partial-smoke",
    "flaky",
    "flaky-smoke",
    "broken",
    "broken-smoke",
    "resolves",
    "refused",
    "needs-build",
    "ruled-out",
    "not-admitted",
    "not-asked",
]
PlainGround = Literal["run", "resolver", "clause", "metadata", "none"]
PLAIN_STATES: tuple[PlainState, ...] = get_args(PlainState)
_RAN: dict[Kind, PlainState] = {
    "works": "works",
    "partial": "partial",
    "flaky": "flaky",
    "broken": "broken",
}
# The same where only the core of the suite was run.
_RAN_CORE: dict[Kind, PlainState] = {
    "works": "works-smoke",
    "partial": "partial-smoke",
    "flaky": "flaky-smoke",
    "broken": "broken-smoke",
}


class PlainInstall(StrictValue, frozen=True, kw_only=True):
    """What `pip install subject==release` comes to on a Python.

    `cell` is the fresh cell that stands for it; empty where the release does not admit the Python.
    `outcome` is what the run, the resolver or the plan came to, `locked` where packages were found,
    empty where nobody asked; `because` says it in one sentence. `on` is the day of the run or of
    the resolver's answer; null for what metadata says. `ground` is where it is known from;
    `witness` the cell that was asked where it was another one with the same conflict, else empty.
    """

    release: str
    python: str
    cell: str
    state: PlainState
    outcome: str
    because: str
    on: datetime.date | None
    ground: PlainGround
    witness: str = ""


class PlainCause(StrictValue, frozen=True, kw_only=True):
    """One answer, with all plain installs that came to it: the releases by Python, oldest first.

    `on` are the first and the last day of these answers, null where metadata says it. `example` is
    the sentence of the newest release.
    """

    state: PlainState
    outcome: str
    example: str
    on: tuple[datetime.date, datetime.date] | None
    count: int
    releases: dict[str, tuple[str, ...]]


def plain_installs(snapshot: Snapshot) -> tuple[PlainInstall, ...]:
    def derived() -> tuple[PlainInstall, ...]:
        return tuple(_install(snapshot, question) for question in snapshot.plain_questions)

    return snapshot.once("plain-installs", derived)


def plain_of_cell(snapshot: Snapshot, asked: Cell) -> Iterator[PlainInstall]:
    matrix = snapshot.matrix
    if asked.recipe != "fresh":
        return
    pair = (asked.on(axis).version for axis in (matrix.subject, matrix.interpreters.name))
    question = snapshot.once(
        ("plain-question", *pair), lambda: plain_question_of(snapshot.feasibility, asked)
    )
    if question is not None and question.cell is not None and question.cell.id == asked.id:
        yield _install(snapshot, question)


def plain_causes(installs: tuple[PlainInstall, ...]) -> tuple[PlainCause, ...]:
    groups: dict[tuple[PlainState, str], list[PlainInstall]] = {}
    for install in installs:
        # What ran is a verdict of its own; how it failed is told on its page.
        outcome = "" if install.ground == "run" else install.outcome
        groups.setdefault((install.state, outcome), []).append(install)
    causes = [_cause(group, outcome) for (_, outcome), group in groups.items()]
    causes.sort(key=lambda cause: (PLAIN_STATES.index(cause.state), -cause.count, cause.outcome))
    return tuple(causes)


def _cause(group: list[PlainInstall], outcome: str) -> PlainCause:
    releases: dict[str, list[str]] = {}
    for install in sorted(group, key=lambda install: Version(install.python)):
        releases.setdefault(install.python, []).append(install.release)
    days = [install.on for install in group if install.on is not None]
    return PlainCause(
        state=group[-1].state,
        outcome=outcome,
        example=group[-1].because,
        on=(min(days), max(days)) if days else None,
        count=len(group),
        releases={python: tuple(versions) for python, versions in releases.items()},
    )


def _install(snapshot: Snapshot, question: PlainQuestion) -> PlainInstall:
    install = PlainInstall(
        release=str(question.release),
        python=str(question.python),
        cell="" if question.cell is None else question.cell.id,
        state="not-asked",
        outcome="",
        because="",
        on=None,
        ground="none",
    )
    if question.obstacle is not None and question.obstacle.kind == "yanked":
        # An exact pin installs it, with a warning.
        return replace(install, because=question.obstacle.because)
    if question.cell is None:
        return _of_metadata(install, "not-admitted", question.obstacle)
    entry, answer = snapshot.by_id.get(install.cell), snapshot.plain.get(install.cell)
    # The newest of run and answer; without either what another answer, or metadata, says.
    ran = entry if entry is not None and entry.is_tested else None
    if ran is not None and (answer is None or answer.refusal is None or _is_older(answer, ran)):
        return _of_run(install, ran)
    # For want of a build a resolver says less than metadata that no build could mend.
    obstacle = None if entry is None else entry.obstacle
    is_open = answer is not None and answer.refusal is not None and is_spurious(answer.refusal)
    if answer is not None and not (is_open and obstacle is not None):
        return _of_answer(install, answer)
    if entry is not None and entry.refusal is not None and entry.refusal.ground != "file":
        return _of_refusal(install, entry.refusal)
    return install if obstacle is None else _of_metadata(install, "ruled-out", obstacle)


def _is_older(answer: PlainAnswer, entry: Answer) -> bool:
    latest = entry.latest
    return latest is not None and answer.on < latest


def _of_metadata(
    install: PlainInstall, state: PlainState, obstacle: Obstacle | None
) -> PlainInstall:
    assert obstacle is not None, "what is not asked has an obstacle"
    # A pin that cannot be had is told once for all that have it; a Python for all releases.
    subject = obstacle.between[0] if state == "ruled-out" else ""
    outcome = Failed(stage="plan", cause=obstacle.kind, subject=subject)
    return replace(
        install,
        state=state,
        outcome=str(outcome),
        because=obstacle.because,
        ground="metadata",
    )


def _of_run(install: PlainInstall, entry: Answer) -> PlainInstall:
    """What a run came to; one whose packages could not be resolved is a resolver's refusal."""
    verdict = entry
    outcome = verdict.outcome
    is_lock = isinstance(outcome, Failed) and outcome.stage == "lock"
    states = _RAN_CORE if verdict.evidence == "smoke" else _RAN
    return replace(
        install,
        state="refused" if is_lock else states[verdict.kind],
        outcome=str(outcome or ""),
        because="; ".join(verdict.reasons),
        on=verdict.latest,
        ground="resolver" if is_lock else "run",
    )


def _of_answer(install: PlainInstall, answer: PlainAnswer) -> PlainInstall:
    refusal = answer.refusal
    if refusal is None:
        because = "a resolver finds packages that satisfy every requirement; they were not run"
        state: PlainState = "resolves"
    else:
        because = answer.because
        state = "needs-build" if is_spurious(refusal) else "refused"
    return replace(
        install,
        state=state,
        outcome=answer.outcome,
        because=because,
        on=answer.on,
        ground="resolver",
    )


def _of_refusal(install: PlainInstall, refusal: KnownRefusal) -> PlainInstall:
    return replace(
        install,
        state="needs-build" if is_spurious(refusal.outcome) else "refused",
        outcome=str(refusal.outcome),
        because=refusal.sentence,
        on=refusal.on,
        ground="clause",
        witness=refusal.witness,
    )
