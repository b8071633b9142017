"""`compat find repair`."""

import json

from compat import pipeline
from compat.advise.commands import SCOPED_SINCE, scoped
from compat.cli.arguments import Exit, argument, option
from compat.cli.machine import level_of
from compat.cli.options import ISOLATION_LEVEL, MATRIX_NAME, refuse_faulty_suite, workspace_of
from compat.cli.output import envelope, fields, note, say_rendered
from compat.cli.this_machine import ThisMachine, locker_of
from compat.errors import DeclarationError, UsageError
from compat.plan.plan import named_cells
from compat.plan.platform import python_name, python_remedy
from compat.rewrite.toml_values import rule_text
from compat.run.outcome import Failed, Outcome, is_spurious, is_suite_fault
from compat.site.wording import count


def repair_command(
    matrix: str = MATRIX_NAME,
    cell: str = argument("The id of a cell.", metavar="CELL"),
    without_rules: bool = option("Ignore the matrix's rules."),
    verify: bool = option(
        "Install it and run the suite's core.", "--verify/--no-verify", default=True
    ),
    isolation: str = ISOLATION_LEVEL,
) -> None:
    """Find the smallest change of requirements that makes a cell installable.

    The cell's versions stay. As few published requirements on other packages change as possible.
    Never offers a version that a record shows broken. Installs the result and runs the suite's
    core. Exits 1 if there is no such change or the core fails, else 0.

    Example: compat find repair tff py3.11-tf2.14-tff0.87.0 --without-rules
    """
    workspace = workspace_of(matrix)
    cells = named_cells(workspace.facts_of(workspace.kept_or_asked), [cell])
    if len(cells) != 1:
        hint = f"for example {cells[0].id}"
        raise UsageError.of(f"{cell!r} names {count(len(cells), 'cell')}, not one", hint=hint)
    if verify:
        refuse_faulty_suite(workspace)  # before the search, whose answer would be lost
    repair = pipeline.repaired(workspace, cells[0], locker_of(workspace, "uv"), not without_rules)
    is_tried = verify and bool(repair.refusal)
    outcome: Outcome | None = None
    if is_tried and repair.lock is not None:
        machine = ThisMachine(workspace, level_of(isolation))
        missing = machine.missing_interpreter(repair.lock)
        if missing is None:
            run = pipeline.tried(workspace, repair.cell, repair.lock, machine)
            machine.interruption.exit_if_interrupted()
            outcome = None if run is None else run.outcome
        else:
            name = python_name(missing, repair.lock.inputs.platform)
            note(f"not run, as this machine has no Python {name}; {python_remedy(name)}")
    if outcome is not None and is_suite_fault(outcome):
        path = f"matrices/{workspace.name}"
        raise DeclarationError.of(f"the suite is at fault: {outcome}", path=path)
    is_broken = isinstance(outcome, Failed) and not is_spurious(outcome)
    pins = [f"{moved.package}=={moved.version}" for moved in repair.moved]
    subject = workspace.matrix.subject_axis
    # What the subject asks for is replaced in that release alone, what others ask for everywhere.
    own = [f"{moved.package}=={moved.version}" for moved in repair.moved if moved.published]
    lines = [json.dumps(pin) for pin in pins if pin not in own]
    if own and repair.lock is not None:
        version = repair.lock.versions[subject.normalised_name]
        lines.insert(0, scoped(subject.normalised_name, version, own))
    override = "\n".join(
        ["[tool.uv]", "override-dependencies = [", *(f"  {line}," for line in lines), "]", ""]
    )
    document = {
        **fields(repair, "cell refusal remains refuted moved"),
        "rule": "" if repair.rule is None else rule_text(repair.rule),
        "constraints": pins,
        "uv": override if pins else "",
        "digest": "" if repair.lock is None else repair.lock.digest,
        "core": None if outcome is None else str(outcome),
    }
    envelope(document)
    evidence = "" if outcome is None else f"; core run on {workspace.day}: {outcome}"
    say_rendered(
        "repair.txt",
        repair=repair,
        outcome=outcome,
        is_broken=is_broken,
        rule="" if repair.rule is None else rule_text(repair.rule, evidence),
        pins=pins,
        override=override,
        since=SCOPED_SINCE,
        refused=[moved.package for moved in repair.moved if not moved.is_admitted],
        package=subject.package,
    )
    if repair.lock is None or is_broken:
        raise Exit(1)
    if repair.refusal and outcome is None:
        note("nothing was run")
