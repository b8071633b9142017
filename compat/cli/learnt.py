"""What a run taught, in sentences, and what to type next; never more than what ran."""

from collections.abc import Mapping, Sequence

from compat.advise.lifted import lifted
from compat.plan.cell import LANES, Coordinate
from compat.results.answer import Answer
from compat.results.representative import representative
from compat.run.outcome import (
    Failed,
    Outcome,
    Passed,
    brief,
    is_doubtful,
    is_spurious,
    is_suite_fault,
    parse_outcome,
)
from compat.site.wording import UNCHANGED_WORDS, listed, place_words, reason_words
from compat.workspace import Workspace

# Up to so many places have a sentence each; more are counted.
_FEW = 3


class _Answers:
    """The cells of this run that have an answer, by place, the best place first."""

    def __init__(self, workspace: Workspace, outcomes: Mapping[str, str]) -> None:
        self.workspace = workspace
        known = workspace.at_hand.by_id
        self.outcomes: dict[str, Outcome] = {}
        places: dict[tuple[Coordinate, ...], list[Answer]] = {}
        for cell, text in outcomes.items():
            outcome, entry = parse_outcome(text), known.get(cell)
            # A doubtful outcome that no second run came to is no answer.
            is_answer = not is_spurious(outcome) and not is_suite_fault(outcome)
            if (
                entry is None
                or entry.cell.is_in_lane
                or not is_answer
                or not _counts(outcome, entry)
            ):
                continue
            self.outcomes[cell] = outcome
            places.setdefault(entry.cell.coordinates, []).append(entry)
        waiting = list(places.values())
        self.places: list[list[Answer]] = []
        while waiting:
            best = representative(entry for entries in waiting for entry in entries)
            chosen = next(entries for entries in waiting if best in entries)
            waiting.remove(chosen)
            self.places.append([best, *(entry for entry in chosen if entry is not best)])

    def works(self, entry: Answer) -> bool:
        """Return whether the cell works, if only in part, and did so in this run."""
        return entry.verdict.kind in ("works", "partial") and not self._is_refused(entry)

    def sentence(self, entries: Sequence[Answer]) -> str:
        """Say what is known of a place by its cells that ran, the best first."""
        best, *others = entries
        place = place_words(best.cell, self.workspace.matrix)
        verb, detail = self._said(best)
        clauses = [f"{place} {verb} {self._how(best)}{detail}"]
        for entry in others:
            verb, detail = self._said(entry)
            clauses.append(f"{self._how(entry)}, it {verb}{detail}")
        return f"{'; '.join(clauses)}."

    def _said(self, entry: Answer) -> tuple[str, str]:
        outcome, kind = self.outcomes[entry.cell.id], entry.verdict.kind
        if isinstance(outcome, Failed) and self._is_refused(entry):
            today = " today" if entry.cell.recipe == "fresh" else ""
            return f"cannot be installed{today}", f": {reason_words(outcome)}"
        score = entry.verdict.score
        if entry.verdict.evidence == "smoke" and kind in ("works", "partial"):
            passes = "passes" if kind == "works" else "passes a part of"
            score_words = f" ({score.words})" if score.passing < score.asked else ""
            return f"{passes} the core of the suite, of which alone it was asked,", score_words
        if kind == "works":
            return "works", f" ({score.words})" if score.passing < score.asked else ""
        if kind == "partial":
            return "partly works", f" ({score.words})" if score.words else ""
        if kind == "flaky":
            return "passes and fails by chance", ""
        if isinstance(outcome, Passed):
            return "passed, but has no answer yet", ""
        where = f", at {outcome.at}" if outcome.at else ""
        verb = "has no answer yet" if kind == "unknown" else "does not work"
        return verb, f": {reason_words(outcome)}{where}"

    def _is_refused(self, entry: Answer) -> bool:
        outcome = self.outcomes[entry.cell.id]
        return isinstance(outcome, Failed) and outcome.stage in ("plan", "lock", "install")

    def _how(self, entry: Answer) -> str:
        if entry.cell.recipe == "fresh":
            return "as published"
        if entry.cell.recipe == "dated":
            return "as published, with packages of its time"
        lock = self.workspace.lock(entry.cell.id)
        # Without a kept catalogue it is not known here what was published.
        if lock is None or self.workspace.kept_catalogue is None:
            return "with changed dependency pins"
        facts = self.workspace.at_hand.feasibility
        packages = [name for change in lifted(facts, entry.cell, lock) for name in change.packages]
        if not packages:
            return UNCHANGED_WORDS
        return f"when the requirements on {listed(list(dict.fromkeys(packages)), 4)} are changed"


def learnt(workspace: Workspace, outcomes: Mapping[str, str]) -> list[str]:
    """Return what the cells of a run came to, as sentences: one for each place where they are few,
    else the numbers and the best.

    A cell that the machine, the network or the suite ended taught nothing.
    """
    answers = _Answers(workspace, outcomes)
    if len(answers.places) <= _FEW:
        return [answers.sentence(entries) for entries in answers.places]
    working = [entries[0] for entries in answers.places if answers.works(entries[0])]
    partial = sum(entry.verdict.kind == "partial" for entry in working)
    whole = len(working) - partial
    summary = f"Of {len(answers.places):,} combinations that ran, {_number(whole)}"
    if partial:
        summary += f" and {partial} partly {'works' if partial == 1 else 'work'}"
    if any(entry.verdict.evidence == "smoke" for entry in working):
        summary += ", as far as the core of the suite tells"
    if not working:
        return [f"{summary}."]
    return [f"{summary}. The best of them: {answers.sentence([working[0]])}"]


def next_step(workspace: Workspace, outcomes: Mapping[str, str]) -> str:
    """Return what to type next: advice where something works, else how to see what failed."""
    answers, name = _Answers(workspace, outcomes), workspace.name
    cells = [entries[0] for entries in answers.places]
    cell = cells[0].cell.id if cells else "CELL"
    if not cells and any(text.partition("+")[2] in LANES for text in outcomes):
        return f"Next: compat matrix variants {name} holds them against the ordinary cells."
    results = f"compat show {name} {cell} shows its test results and how to reproduce them"
    if any(map(answers.works, cells)):
        return f"Next: compat advise {name} says what to install; {results}."
    return f"Next: {results}."


def _counts(outcome: Outcome, entry: Answer) -> bool:
    if not isinstance(outcome, Failed) or not is_doubtful(outcome):
        return True
    counted = entry.verdict.outcome
    return counted is not None and brief(counted) == brief(outcome)


def _number(works: int) -> str:
    return f"{works or 'none'} {'works' if works < 2 else 'work'}"
