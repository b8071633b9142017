"""`compat propose` and `compat matrix schedule`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from compat import files, pipeline
from compat.cli.arguments import Exit, option
from compat.cli.options import (
    DRY_RUN,
    MATRIX_NAME,
    POLICY_DAY,
    REPOSITORY_NAME,
    policy_day,
    workspace_of,
)
from compat.cli.output import envelope, note, raw, say, table
from compat.errors import UsageError
from compat.policy.calendar import missing_command, outlooks, schedule
from compat.policy.evaluation import Proposal
from compat.policy.propose import affected_words, floors, without_axis


def schedule_command(matrix: str = MATRIX_NAME, day: str = POLICY_DAY) -> None:
    """List the coming moves of every minimum, three years ahead.

    Examples: compat matrix schedule tff; compat matrix schedule tff --json
    """
    workspace = workspace_of(matrix)
    when = policy_day(day, workspace)
    snapshot = pipeline.known_on(workspace, when)
    coming = schedule(snapshot, when)
    envelope(coming)
    say(f"{coming.title}: coming moves of its minimum versions, {coming.day} to {coming.until}")
    for package, rule in dict.fromkeys((move.package, move.rule) for move in coming.moves):
        say(f"  {package}: the minimum may rise to {rule}")
    rows = [
        (
            *(move.wording, f"{move.package} {move.to}", move.state, move.released, move.source),
            "yes" if move.proven else "no",
        )
        for move in coming.moves
    ]
    table(("when", "minimum", "state", "release date", "source", "proven"), rows)
    for move in coming.moves:
        for because in (move.held, "" if move.proven else move.proof):
            if because:
                say(f"  {move.package} {move.to}: {because}")
    names = ("from", "minimum by the rules", "with the moves that are proven now")
    table(names, [(m.on, _versions(m.floors), _versions(m.proven)) for m in coming.minimums])
    say(*(f"{outlook.sentence}." for outlook in outlooks(snapshot, when)), indent=2)


def _versions(floors: Mapping[str, Version]) -> str:
    return ", ".join(f"{axis} {version}" for axis, version in floors.items())


def propose_command(
    matrix: str = MATRIX_NAME,
    day: str = POLICY_DAY,
    write: bool = option("Apply open proposals."),
    check: bool = option("Exit 1 if a move is open."),
    target: list[Path] | None = option("File or folder whose floors to update, too."),
    open_: bool = option("Open, update or close pull request and issue."),
    dry_run: bool = DRY_RUN,
    repository: str = REPOSITORY_NAME,
    base: str = option("Target branch (default: GITHUB_REF_NAME, then main)."),
    site: str = option("Base URL of the site, for links to cells."),
) -> None:
    """Propose moves of the supported minimums, with their evidence.

    With --today in the past: the proposals of that day. --check exits 1 if a move is open. --open
    needs GITHUB_TOKEN, else exits 4. --target takes pyproject.toml, setup.cfg, setup.py, tox.ini,
    noxfile.py, README, CI YAML or requirements files; of a folder those that its build reads.

    Examples: compat propose tff; compat propose tff --today 2022-09-22; compat propose tff --write
    --target .; compat propose tff --open --dry-run
    """
    workspace = workspace_of(matrix)
    when = policy_day(day, workspace)
    if (write or open_) and when != workspace.day:
        raise UsageError.of(
            "--write and --open work only for the current day", hint="leave out --today"
        )
    folders = [path for path in target or () if path.is_dir()]
    moves = pipeline.proposed(workspace, when, project_files(target or ()), folders)
    if write:
        pipeline.applied(moves)
    snapshot, opened = moves.snapshot, len(moves.opened)
    diffs = [files.unified_diff(file.path, file.before, file.after) for file in moves.changed]
    document: dict[str, Any] = {
        "matrix": snapshot.matrix.name,
        "day": when,
        "looks_back": when < snapshot.day,
        "floors": floors(snapshot, when),
        "outlooks": outlooks(snapshot, when),
        "proposals": moves.proposals,
        "diffs": diffs,
        "left_alone": moves.left,
        "without_axis": without_axis(snapshot, when),
    }
    envelope(document)
    say(
        f"{snapshot.matrix.title} on {when}: {opened} open, {len(moves.proposals) - opened} waiting"
    )
    for outlook in document["outlooks"]:
        say(f"  {outlook.sentence}.")
        if outlook.needs:
            say(f"    {missing_command(snapshot.matrix.name, outlook.needs)}")
    for floor in document["floors"]:
        of_axis = [p for p in moves.proposals if p.axis == floor.axis and p.kind != "extend"]
        say("", f"{floor.package}")
        say(*floor.arithmetic, indent=2)
        if not of_axis:
            say("  So nothing is proposed.")
        for proposal in of_axis:
            _print_proposal(proposal)
    if absent := document["without_axis"]:
        say("", f"No axis, so no moves: {', '.join(absent)}")
        note(f"compat run {workspace.name} '*+lowest' tests the minimums that they declare")
    extensions = [proposal for proposal in moves.proposals if proposal.kind == "extend"]
    if extensions:
        say("", "New versions")
    for proposal in extensions:
        _print_proposal(proposal)
    for diff in diffs:
        say("")
        raw(diff)
    if opened:
        note("Next: --write applies the open proposals.")
    elif any(proposal.needs for proposal in moves.proposals):
        name = snapshot.matrix.name
        note(f"Next: compat plan {name} --budget 8h --proposed lists the cells to run.")
    for line in moves.left:
        note(f"left alone: {line}")
    if open_:
        from compat.cli.upkeep import report_outcomes, sync

        pages = f"{site.rstrip('/')}/{matrix}/" if site else ""
        report_outcomes(sync(moves, repository, base, pages, dry_run))
    raise Exit(1 if check and moves.opened else 0)


def project_files(targets: Sequence[Path]) -> list[Path]:
    if not targets:
        return []
    from compat.rewrite.file import PROJECT_FILES, files_read_by

    paths: dict[Path, None] = {}
    for target in targets:
        below = [path for name in PROJECT_FILES for path in sorted(target.glob(name))]
        texts = [(path.name, files.read(path).decode(errors="replace")) for path in below]
        more = (target / name for known in texts for name in files_read_by(*known))
        below += (path for path in more if path.is_file())
        if target.is_dir() and not below:
            hint = "pyproject.toml is one, setup.cfg another"
            raise UsageError.of("has no file that declares a minimum", path=str(target), hint=hint)
        paths |= dict.fromkeys(below if target.is_dir() else [target])
    return list(paths)


def _print_proposal(proposal: Proposal) -> None:
    move = f"{proposal.kind} {proposal.package} {proposal.current} -> {proposal.proposed}"
    say("", f"  {move}: {'OPEN' if proposal.is_open else 'waits'}  ({proposal.id})")
    say(*(*proposal.grounds, *proposal.arithmetic[-1:]), indent=4)
    say(*(f"blocked by: {objection.because}" for objection in proposal.objections), indent=4)
    say(*(f"no longer covered: {affected_words(gone)}" for gone in proposal.lost), indent=4)
    say(*(f"newly covered: {affected_words(more)}" for more in proposal.gained), indent=4)
    for cell in proposal.evidence:
        days = f" on {', '.join(map(str, cell.days))}" if cell.days else ""
        outcome = f", {cell.outcome}{days}" if cell.outcome else ""
        say(f"    {cell.word}: {cell.cell}  {cell.verdict}{outcome}")
    say(*(f"to run: {need}" for need in proposal.needs), indent=4)
