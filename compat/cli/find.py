"""`compat blame` and `compat find repair`."""

import json
import time
from collections.abc import Iterator, Mapping

import msgspec

from compat import pipeline
from compat.advise.commands import SCOPED_SINCE, scoped
from compat.cli.arguments import Exit, argument, option
from compat.cli.budget import budget_seconds
from compat.cli.machine import cache_folder, install_variables, level_of
from compat.cli.options import ISOLATION_LEVEL, MATRIX_NAME, refuse_faulty_suite, workspace_of
from compat.cli.output import envelope, fields, note, say, say_rendered
from compat.cli.this_machine import ThisMachine, locker_of
from compat.errors import DeclarationError, UsageError
from compat.fleet.laboratory import LockLaboratory
from compat.plan.cell import parse_cell
from compat.plan.plan import named_cells
from compat.plan.platform import python_name, python_remedy
from compat.rewrite.toml_values import rule_text
from compat.run.outcome import Failed, Outcome, is_spurious, is_suite_fault
from compat.search.api_change import ApiChange
from compat.search.blame import Blame, BlamedPackage
from compat.site.wording import count, listed

# More packages than this are no answer that anybody can act on: they are counted.
MOST_NAMED = 3
Changes = Mapping[str, ApiChange]


def sentences(answer: Blame, changes: Changes) -> Iterator[str]:
    for number, cause in enumerate(answer.causes):
        is_alike = number and cause.failure == answer.causes[number - 1].failure
        then = "independently, " if is_alike else "then " if number else ""
        versions = [(p.package, p.first_bad or p.bad) for p in cause.packages]
        names = [f"{name} {of}" if of else f"the loss of {name}" for name, of in versions]
        together = " break it only together" if cause.is_minimal else " broke it together"
        culprit = f"{listed(names)}{together if names[1:] else ' broke it'}"
        if len(names) > MOST_NAMED:
            named = listed(names[:MOST_NAMED])
            culprit = f"{len(names)} packages broke it together, including {named}"
        yield f"{then}{culprit}: {cause.failure}"
        if cause.message:
            yield f"  it raises {cause.message}"
        for package in cause.packages:
            if package.package in changes:
                yield f"  {_changed(package, changes[package.package])}"
            yield f"  {_releases(package)}"
        if not cause.is_minimal:
            yield "  they cannot be separated: without one of them it fails in another way"
        if cause.days is not None:
            before, after = cause.days
            yield f"  by the index's dates it passed on {before} and failed on {after}"
    if answer.because:
        what = "no further cause" if answer.causes else "no cause found"
        yield f"{what}: {answer.because}"
    elif answer.causes:
        packages = (package for cause in answer.causes for package in cause.packages)
        names = [
            f"{p.package} {p.last_good or p.good}" if p.last_good or p.good else f"no {p.package}"
            for p in packages
        ]
        yield f"  BAD with {listed(names)} passes"


def closing(answer: Blame, runs: int, seconds: float) -> str:
    time = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
    if not answer.causes:
        verified = "Nothing is verified." if answer.is_finished else f"Stopped: {answer.because}."
    elif answer.is_verified:
        near = any(cause.is_near for cause in answer.causes)
        where = ", in the packages of the last working day" if near else ""
        verified = f"Verified both ways{where}."
    elif not answer.is_finished:
        verified = f"Stopped: {answer.because}; the same command continues from here."
    else:
        ways = (
            ["GOOD with it fails the same way"] if all(c.is_forward for c in answer.causes) else []
        )
        ways += ["BAD without it passes"] if answer.is_backward else []
        verified = f"Not verified both ways{f'; only: {listed(ways)}' if ways else ''}."
    return f"{count(runs, 'run')}, {time}. {verified}"


def _releases(package: BlamedPackage) -> str:
    if package.last_good is None:
        before = package.good or "not installed"
        return f"{package.package} is {package.bad or 'gone'} in BAD, and {before} in GOOD"
    untested = ""
    if package.untested:
        untested = f"; {count(package.untested, 'release')} between them gave no result"
    if package.yanked:
        are = "are" if package.yanked[1:] else "is"
        untested += f"; {listed(list(map(str, package.yanked)))} {are} yanked"
    extra = f", with {listed(list(package.brings))}" if package.brings else ""
    return (
        f"{package.package} {package.last_good} works, {package.first_bad} fails{extra}{untested}"
    )


def _changed(package: BlamedPackage, change: ApiChange) -> str:
    works, fails = package.last_good, package.first_bad
    if change.kind == "removed":
        return f"`{change.name}` was removed; {works} has it in {change.file}"
    if change.kind == "added":
        # It may have come with any of the untested releases between them.
        if package.untested:
            return f"`{change.name}` was added after {fails}; {works} has it in {change.file}"
        return f"`{change.name}` was added in {works}, in {change.file}; {fails} does not have it"
    of, lost, new = "", "no longer accepts {}", "also accepts {}"
    if works is not None and fails is not None and fails < works:
        of, lost, new = f" of {fails}", "does not accept {} yet", "still accepts {}"
    named = ((lost, change.lost), (new, change.new))
    parts = [words.format(listed(list(names))) for words, names in named if names]
    how = " and ".join(parts) or "has other parameters"
    return f"`{change.name}`{of} {how}; it is in {change.file}"


def blame_command(
    matrix: str = MATRIX_NAME,
    good: str = argument("Passing cell or lock file locks/CELL.txt.", metavar="GOOD"),
    bad: str = argument("Failing cell or lock (default: GOOD as of today).", metavar="[BAD]"),
    budget: str = option("Start no run after this time.", metavar="90m"),
    isolation: str = ISOLATION_LEVEL,
) -> None:
    """Find the package release that makes a cell fail.

    Without BAD: the dated cell of GOOD passes, its fresh one fails. Bisects the date if only it
    differs, then swaps packages between both locks, then tries the culprit's releases. Reports
    causes that only fail together. Repeats flaky failures. An interrupted search continues. Exits 0
    if the cause is verified both ways, 1 if not, 3 if the budget or the network ended it.

    Examples: compat blame tff py3.9-tf2.8-tff0.20.0+dated py3.9-tf2.8-tff0.20.0; compat blame tff
    py3.9-tf2.8-tff0.20.0 --budget 90m; compat blame tff old.txt new.txt
    """
    workspace = workspace_of(matrix)
    if not bad:
        cell = parse_cell(good, workspace.matrix)
        good, bad = (msgspec.structs.replace(cell, recipe=r).id for r in ("dated", "fresh"))
    if cells := [name for name in (good, bad) if not name.endswith(".txt")]:
        named = named_cells(workspace.facts_of(workspace.stored_or_fetched), cells)
        if len(named) > len(cells):
            message = f"{' '.join(cells)} names {count(len(named), 'cell')}"
            raise UsageError.of(message, hint=named[0].id)
    refuse_faulty_suite(workspace)
    machine, began = ThisMachine(workspace, level_of(isolation)), time.monotonic()
    folder = cache_folder() / "blame" / workspace.name
    seconds = float(budget_seconds(budget)) if budget else None
    laboratory = LockLaboratory(workspace, folder, machine, seconds)
    answer = pipeline.blamed(laboratory, good, bad)
    if answer.is_verified and answer.causes:
        pipeline.store_blame(workspace, laboratory, answer)
    changes = pipeline.changed_apis(laboratory, answer, install_variables(workspace.index))
    spent, asdict, causes = time.monotonic() - began, msgspec.structs.asdict, []
    for cause in answer.causes:
        packages = [{"api": changes.get(p.package), **asdict(p)} for p in cause.packages]
        causes.append(asdict(cause) | {"failure": str(cause.failure), "packages": packages})
    document = {"causes": causes, "is_verified": answer.is_verified, "runs": laboratory.runs}
    envelope({**asdict(answer), **document, "seconds": round(spent, 1)})
    say(*sentences(answer, changes))
    note(closing(answer, laboratory.runs, spent))
    machine.interruption.exit_if_interrupted()
    is_found = bool(answer.causes) and answer.is_verified
    raise Exit(3 if not answer.is_finished else 0 if is_found else 1)


# `compat find repair`.


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
    cells = named_cells(workspace.facts_of(workspace.stored_or_fetched), [cell])
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
