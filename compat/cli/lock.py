"""`compat matrix lock`."""

from collections import Counter

from compat import pipeline
from compat.cli.arguments import Exit, option
from compat.cli.installs import MOST_QUESTIONS, platforms_named, resolve_installs, side_by_side
from compat.cli.options import CELL_NAMES, MATRIX_NAME, OTHER_PLATFORM, LockerName, workspace_of
from compat.cli.output import envelope, note, report, report_disproofs, say
from compat.cli.this_machine import locker_of, uv_locker
from compat.errors import CompatError, NothingToDo, UsageError
from compat.fleet.batch import LockResult
from compat.lock.lockfile import Refusal
from compat.lock.mixed import changed_inputs, changed_pins
from compat.plan.cell import Cell
from compat.plan.plan import Infeasible, facts_for, lockable_cells, named_cells
from compat.results.answer import lifted
from compat.site.wording import LockFacts, count, lock_facts
from compat.value import Value
from compat.workspace import Workspace

_LOCKED = ("locked", "relocked", "current")
_SAID = {"plan-fail": "infeasible", "lock-fail": "unresolved", "not-locked": "not locked"}


class LockLine(Value, frozen=True, kw_only=True):
    """The result of one cell, as printed."""

    id: str
    outcome: str
    because: str = ""
    pins: int = 0
    digest: str = ""
    changes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    relaxed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    facts: LockFacts | None = None


def lock_command(
    matrix: str = MATRIX_NAME,
    words: list[str] | None = CELL_NAMES,
    check: bool = option("Report drift without writing."),
    plain: bool = option("Resolve a plain install of each release."),
    most: int = option(
        "With --plain or --platform: limit; new cells first, then oldest.",
        min=1,
        default=MOST_QUESTIONS,
    ),
    platform: str = OTHER_PLATFORM,
    locker: LockerName = option("Resolver.", default="uv"),
    jobs: int = option("Number of cells to lock at once.", "-j", min=1, max=64, default=1),
) -> None:
    """Write the hash-pinned lock of each cell.

    Without cells: every cell that has a lock. --plain: each release's fresh cell on each Python;
    stored in plain.json. --platform: what metadata leaves open; stored in platforms/.

    Exits 1 if some do not resolve, are infeasible or drift, or no cell matched; 2 if the suite's
    requirements conflict; 3 if some got no answer.

    Examples: compat matrix lock tff py3.11-tf2.14-tff0.87.0+relaxed; compat matrix lock tff
    --check; compat matrix lock tff 'py3.9-*-tff0.33.0+relaxed' --jobs 4; compat matrix lock tff
    --plain --most 40; compat matrix lock tff --platform all
    """
    workspace = workspace_of(matrix)
    if platform:
        if plain or check:
            raise UsageError.of("--platform excludes --plain and --check")
        if locker == "pip-tools":
            message = "pip-tools resolves for the machine that it runs on alone, not for others"
            raise UsageError.of(message, path="--locker", hint="--locker uv does")
        # It builds nothing for other platforms.
        resolver, named = uv_locker(workspace), platforms_named(workspace, platform)
        raise Exit(resolve_installs(workspace, named, words or (), resolver, jobs, most))
    if plain:
        if words or check:
            raise UsageError.of("--plain covers every release: no cells, no --check")
        resolver = locker_of(workspace, locker)
        raise Exit(resolve_installs(workspace, (), (), resolver, jobs, most))
    facts, resolver = workspace.feasibility, locker_of(workspace, locker)
    cells = named_cells(facts, words, beyond_axes=True) if words else ()
    if not words:
        planned = {cell.id: cell for cell in lockable_cells(facts)}
        names = [cell_id for cell_id, _ in workspace.lock_paths()]
        for name in names:
            if name not in planned:
                note(f"warning: {name} has a lock but is not in the plan: skipped")
        cells = tuple(planned[name] for name in names if name in planned)
    if not cells:
        name = workspace.name
        hint = (
            f"compat matrix lock {name} 'GLOB' locks cells by their ids;"
            f" compat run {name} locks and runs"
        )
        raise NothingToDo.of(f"matrix {name!r} has no locks yet", hint=hint)

    lines: list[LockLine] = []
    errors: list[CompatError] = []
    for cell, result in side_by_side(
        cells, lambda cell: pipeline.locked(workspace, facts, cell, resolver), jobs, errors
    ):
        try:
            line = _settled(workspace, cell, result, check)
        except CompatError as error:
            errors.append(error)
            report(error.faults)
            continue
        lines.append(line)
        _print(line)
    locked = [line.id for line in lines if line.outcome in _LOCKED]
    disproofs, fell = ((), ()) if check else pipeline.settled(workspace, locked)
    faults = [fault for error in errors for fault in error.faults]
    envelope({"cells": lines, "disproved": disproofs, "fell": fell}, faults)
    report_disproofs(disproofs, fell)
    tally = Counter(_SAID.get(line.outcome.partition(":")[0], line.outcome) for line in lines)
    tally += Counter({"without an answer": len(errors)})
    counts = ", ".join(f"{number:,} {what}" for what, number in tally.items())
    note(f"{count(len(lines) + len(errors), 'cell')}: {counts}")
    of_suite = any(line.outcome.startswith("lock-fail:suite-fault") for line in lines)
    code = 2 if of_suite else int(len(locked) < len(lines))
    raise Exit(max((error.exit_code for error in errors), default=code))


def _settled(workspace: Workspace, cell: Cell, result: LockResult, check: bool) -> LockLine:
    if isinstance(result, Infeasible):
        outcome = f"plan-fail:{result.obstacle.kind}({', '.join(result.obstacle.between)})"
        return LockLine(id=cell.id, outcome=outcome, because=result.obstacle.because)
    if isinstance(result, Refusal):
        return LockLine(id=cell.id, outcome=str(result), because=result.because)
    before = workspace.lock(cell.id)
    changes = () if before is None else tuple(changed_pins(before, result).values())
    if before is None:
        outcome = "not-locked" if check else "locked"
    elif changes or (before.inputs, before.builds) != (result.inputs, result.builds):
        outcome = "drifted" if check else "relocked"
    else:
        outcome = "current"
    if not check and outcome != "current":
        workspace.keep_lock(cell.id, result)
    reasons: tuple[str, ...] = ()
    if before is not None and outcome != "current":
        reasons = tuple(changed_inputs(before.inputs, result.inputs)) or ("the index",)
    facts = facts_for(workspace.feasibility, cell)
    taken = lifted(facts, cell, result) if cell.recipe == "relaxed" else ()
    changed = {package for requirement in taken for package in requirement.packages}
    names = [pin.name for pin in result.pins if pin.name in facts.rules.relaxations(cell)]
    records = workspace.newest_records(cell.id, result.digest)
    return LockLine(
        id=cell.id,
        outcome=outcome,
        pins=len(result.pins),
        digest=result.digest,
        changes=changes,
        reasons=reasons,
        relaxed=tuple(f"{r.sentence} (rule {r.rule})" if r.rule else r.sentence for r in taken),
        kept=tuple(name for name in names if name not in changed),
        builds=result.builds,
        facts=lock_facts(result, workspace.runs.get(cell.id, ()), records),
    )


def _print(line: LockLine) -> None:
    tail = f": {line.because}" if line.because else f" ({count(line.pins, 'pin')})"
    say(f"{line.id}  {line.outcome}{tail}")
    published = "as published, although a rule would relax it"
    named = {"built from source": line.builds, published: line.kept}
    below = [] if line.facts is None else ["; ".join(line.facts.words)]
    below += (f"relaxed: {sentence}" for sentence in line.relaxed)
    below += (f"{what}: {', '.join(names)}" for what, names in named.items() if names)
    say(*below, *line.changes, *(f"because of {reason}" for reason in line.reasons), indent=4)
