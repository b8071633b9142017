"""Results of cells as commands print them: grid, lines and table for people, rows for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from compat.cli.output import console, fields, say, table
from compat.errors import one_line
from compat.results.answer import EXCUSED, STATE_WORDS, Blame, beside, blame_of, by_evidence
from compat.run.outcome import Failed, Outcome, parse_outcome
from compat.site.status import style_of
from compat.site.wording import cause_sentence, count, listed
from compat.workspace import Workspace

if TYPE_CHECKING:
    from compat.results.judge import JudgedRun
    from compat.results.record import Capability, Record

# Up to so many cells are shown as lines, more as a grid.
FEW = 6
_NAMED = 3


def verdict_row(workspace: Workspace, cell: str) -> dict[str, Any]:
    verdict = workspace.verdict(cell)
    return {
        "id": cell,
        "verdict": verdict.kind,
        "words": verdict_words(workspace, cell),
        **fields(verdict, "score evidence since latest stale expected reasons"),
        "outcome": None if verdict.outcome is None else str(verdict.outcome),
        "last": _last_outcome(workspace, cell),
        "capabilities": {capability.id: capability.status for capability in verdict.capabilities},
        "faults": {fault.id: fault.fault for fault in verdict.faults},
        "helpers": {capability.id: capability.status for capability in verdict.helpers},
        "blocked_by": verdict.blocked_by or None,
        "cautions": cautions_of(workspace, cell),
    }


def cautions_of(workspace: Workspace, cell: str) -> tuple[str, ...]:
    known = workspace.at_hand
    entry = known.by_id.get(cell)
    return () if entry is None else known.cautions(entry)


def verdict_words(workspace: Workspace, cell: str) -> str:
    known = workspace.at_hand
    verdict, entry = workspace.verdict(cell), known.by_id.get(cell)
    siblings = [] if entry is None else beside(known, entry)
    is_placed = workspace.is_known(cell) or any(workspace.is_known(e.cell.id) for e in siblings)
    is_placed = is_placed or verdict.evidence == "inferred" or bool(verdict.blocked_by)
    if entry is None or not is_placed:
        return STATE_WORDS[by_evidence(verdict.kind, verdict)]
    return style_of(entry, siblings).word


def print_verdicts(workspace: Workspace, cells: Sequence[str], few: int = FEW) -> None:
    """Print results: a few as lines, more as grids.

    Cells of variants, and cells that the matrix no longer has, have no place in a grid and get a
    line.
    """
    from compat.cli.grid import print_grid, sign_text

    out, known = console(), workspace.known_combinations
    entries = {cell: known.by_id[cell] for cell in cells if cell in known.by_id}
    shown = [entry for entry in entries.values() if not entry.cell.is_variant]
    lost = [cell for cell in cells if cell not in entries or entries[cell].cell.is_variant]
    if len(cells) > few:
        if shown:
            print_grid(out, known, shown)
        cells = lost
    if not cells:
        return
    rows = []
    for cell in cells:
        *columns, _ = columns_of(workspace, cell)
        entry, sign = known.by_id.get(cell), ""
        if entry is not None:  # one that the matrix cannot read any more is not on the site either
            style = style_of(entry, beside(workspace.at_hand, entry))
            sign = sign_text(out, style, is_stale=entry.stale).plain
        rows.append((sign, *columns))
    table(("", *COLUMNS[:-1]), rows)


class RunWords:
    """Words for results of runs that separate what fails in every combination of a release."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._titles = {capability.id: capability.title for capability in workspace.described}

    def of(self, cell: str, outcome: Outcome, capabilities: Iterable[Capability]) -> str:
        """Return `passed but for FedProx, which fails in every combination of this release` if
        nothing else failed, else the stored outcome.
        """
        failing = [c for c in capabilities if c.status == "no"]
        if not isinstance(outcome, Failed) or outcome.stage != "test" or not failing:
            return str(outcome)
        # Only now: cells start without waiting until all answers are derived.
        known = self._workspace.at_hand
        entry = known.by_id.get(cell)
        faults = entry and known.attribution.context(entry.cell, known.present).faults
        blames = {c.id: blame_of(c, faults or ()) for c in failing}
        if outcome.subject not in blames or not set(blames.values()) <= {*EXCUSED}:
            return str(outcome)
        return f"passed but for {self._apart(blames)}"

    def of_record(self, record: Record) -> str:
        return self.of(record.cell, record.outcome, record.capabilities)

    def of_attempt(self, attempt: JudgedRun) -> str:
        from compat.results.judge import attempted_capabilities

        tried = attempted_capabilities(attempt.evidence, str)
        return self.of(attempt.evidence.cell, attempt.outcome, tried)

    def _apart(self, faults: Mapping[str, Blame]) -> str:
        clauses = []
        for blame in EXCUSED:
            names = sorted(name for name in faults if faults[name] == blame)
            titles = [self._titles.get(name, name) for name in names]
            if titles:
                verb = "fail" if titles[1:] else "fails"
                why = {"release": f"which {verb} in every combination of this release"}
                gone = f"which {'are' if titles[1:] else 'is'} not available today"
                clauses.append(f"{listed(titles)}, {why.get(blame, gone)}")
        return "; and ".join(clauses)


def print_failures(outcomes: Mapping[str, str]) -> None:
    cells_by_cause: dict[str, list[str]] = {}
    for cell, text in outcomes.items():
        outcome = parse_outcome(text)
        if isinstance(outcome, Failed):
            cells_by_cause.setdefault(one_line(cause_sentence(outcome)), []).append(cell)
    for cause, cells in sorted(cells_by_cause.items(), key=lambda item: -len(item[1])):
        named = listed(sorted(cells), _NAMED)
        say(f"{count(len(cells), 'cell')}: {cause}")
        say(f"  {named}")


COLUMNS = ("cell", "verdict", "score", "latest", "outcome")


def columns_of(workspace: Workspace, cell: str) -> tuple[str, ...]:
    verdict = workspace.verdict(cell)
    last = _last_outcome(workspace, cell)
    outcome = f"last run: {last}" if last else ""
    if verdict.outcome is not None:
        outcome = RunWords(workspace).of(cell, verdict.outcome, verdict.capabilities)
    latest = f"{verdict.latest}{' (stale)' if verdict.stale else ''}" if verdict.latest else "never"
    return cell, verdict_words(workspace, cell), verdict.score.words, latest, outcome


def _last_outcome(workspace: Workspace, cell: str) -> str | None:
    rows = workspace.runs.get(cell)
    return str(rows[-1].outcome) if rows else None
