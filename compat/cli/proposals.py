"""Commands about floors: propose their moves, and show the schedule of the coming ones."""

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table

from compat import files, pipeline
from compat.cli.output import console, envelope, note, say
from compat.cli.pull_requests import GitHubTarget, print_outcome, sync
from compat.cli.setting import Json, MatrixName, Root, Setting
from compat.cli.stand import Stand
from compat.declare.matrix import InterpreterAxis, Matrix
from compat.errors import UsageError
from compat.github.description import affected
from compat.github.pull_request import RepositoryFile
from compat.policy.calendar import Schedule
from compat.policy.calendar import schedule as scheduled
from compat.policy.proposal import AxisFloor, Proposal
from compat.policy.propose import floors, proposals
from compat.results.snapshot import Snapshot, snapshot
from compat.rewrite.file import rewritten
from compat.rewrite.ranges import Move, Unsatisfiable
from compat.rewrite.toml_values import rewritten_matrix
from compat.site.exports.ical import ical

Today = Annotated[
    str,
    typer.Option("--today", metavar="DATE", help="Another day than this one, such as 2027-04-01."),
]
Target = Annotated[
    list[Path] | None,
    typer.Option(
        "--target", help="A library's pyproject.toml, setup.cfg or requirements file to move along."
    ),
]


def propose_command(
    matrix: MatrixName,
    day: Today = "",
    cells: Annotated[
        bool, typer.Option("--cells", help="Print only the cells that must run first.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Make the open moves in the files.")
    ] = False,
    target: Target = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Open, update or close pull request and issue.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --open: only show what would be sent.")
    ] = False,
    repository: Annotated[
        str, typer.Option("--repository", help="owner/name; else GITHUB_REPOSITORY.")
    ] = "",
    base: Annotated[
        str, typer.Option("--base", help="The branch to change; else GITHUB_REF_NAME, else main.")
    ] = "",
    site: Annotated[
        str, typer.Option("--site", help="Where the site is, to link each cell to its page.")
    ] = "",
    as_json: Json = False,
    root: Root = None,
) -> None:
    """Propose floor moves: what policy, releases and records allow, and what speaks against the
    rest.

    A day in the past tells what a maintainer would have been told then. Exit code 1 when a move is
    open. --open takes its token from GITHUB_TOKEN; without one it ends in exit code 4. Examples:
    compat propose tff; compat propose tff --today 2022-09-22; compat propose tff --cells; compat
    propose tff --write --target pyproject.toml; compat propose tff --open --dry-run
    """
    stand = Stand(Setting(matrix, root))
    when = _day(day, stand)
    seen = _picture(stand, when)
    found = proposals(seen, when)
    if cells:
        print(
            "".join(
                f"{cell}\n" for cell in dict.fromkeys(need for one in found for need in one.needs)
            ),
            end="",
        )
        return
    if (write or open_) and when != stand.present.day:
        raise UsageError.of(
            "--today looks at another day; nothing is written or opened for it", hint="leave it out"
        )
    opened = [one for one in found if one.is_open]
    moved = _moved(stand.setting, opened, target or [])
    if write:
        for path, file in moved.items():
            files.write(path, file.after)
    changed = [file for file in moved.values() if file.before != file.after]
    if as_json:
        _as_json(seen, when, found, changed)
    else:
        _shown(seen, when, found, changed)
    if open_:
        desk = GitHubTarget(
            repository=repository,
            base=base,
            site=f"{site.rstrip('/')}/{matrix}/" if site else "",
            dry_run=dry_run,
        )
        outcomes = sync(desk, seen, found, changed)
        for what, outcome in zip(("pull request", "issue"), outcomes, strict=True):
            print_outcome(what, outcome)
    raise typer.Exit(1 if opened else 0)


def schedule_command(
    matrix: MatrixName,
    day: Today = "",
    ics: Annotated[
        Path | None, typer.Option("--ics", help="Write the calendar to this file.")
    ] = None,
    as_json: Json = False,
    root: Root = None,
) -> None:
    """Show the coming moves of every floor for three years, and the minimum versions from each date
    on.

    Examples: compat schedule tff; compat schedule tff --json; compat schedule tff --ics tff.ics
    """
    stand = Stand(Setting(matrix, root))
    when = _day(day, stand)
    made = scheduled(_picture(stand, when), when)
    if ics is not None:
        files.write(ics, ical(made))
    if as_json:
        moves = [
            {"id": move.id, "wording": move.wording, **msgspec.structs.asdict(move)}
            for move in made.moves
        ]
        envelope({**msgspec.structs.asdict(made), "moves": moves})
        return
    _schedule_shown(made)


def _day(text: str, stand: Stand) -> datetime.date:
    if stand.setting.ask.policy is None:
        where = f"matrices/{stand.setting.folder.name}/policy.toml"
        raise UsageError.of("this matrix declares no policy, so its floors do not move", path=where)
    try:
        return datetime.date.fromisoformat(text) if text else stand.present.day
    except ValueError:
        raise UsageError.of(f"{text!r} is not a date such as 2027-04-01", path="--today") from None


def _picture(stand: Stand, day: datetime.date) -> Snapshot:
    """What is known on that day; of a day in the past, what is known today."""
    if day <= stand.present.day:
        return stand.picture
    ask, kept = stand.setting.ask, stand.setting.kept
    then = msgspec.structs.replace(stand.present, day=day)
    return snapshot(ask, kept, pipeline.planned(ask, kept).fates, stand.locks, stand.rows, then)


def _moved(
    setting: Setting, opened: Sequence[Proposal], targets: Sequence[Path]
) -> dict[Path, RepositoryFile]:
    """The matrix and the targets, as they are and after the open moves, by where they are."""
    here = setting.folder / "matrix.toml"
    before = after = files.read(here).decode(errors="replace")
    for one in opened:
        after = rewritten_matrix(after, one.axis, one.proposed, one.because)
    found = {
        here: RepositoryFile(
            path=f"matrices/{setting.folder.name}/matrix.toml", before=before, after=after
        )
    }
    for target in targets:
        text = files.read(target).decode(errors="replace")
        after = _rewritten(setting.ask.matrix, str(target), text, opened)
        found[target] = RepositoryFile(
            path=_below(target, setting.folder.parents[1]), before=text, after=after
        )
    return found


def _below(path: Path, repository: Path) -> str:
    """The path as the repository has it; the file's name where it lies elsewhere."""
    full = path.resolve()
    inside = full.is_relative_to(repository.resolve())
    return full.relative_to(repository.resolve()).as_posix() if inside else path.name


def _rewritten(matrix: Matrix, path: str, text: str, opened: Sequence[Proposal]) -> str:
    for one in opened:
        axis = next(axis for axis in matrix.axes if axis.name == one.axis)
        package = None if isinstance(axis, InterpreterAxis) else axis.package
        outcome = rewritten(path, text, Move(package=package, floor=one.proposed))
        if isinstance(outcome, Unsatisfiable):
            note(
                f"compat: {path}: {outcome.place}: {outcome.because}; left as it is:"
                f" {outcome.before}"
            )
            continue
        for left in outcome.left:
            note(f"compat: {path}: {left.place}: {left.because}; left as it is: {left.text}")
        text = outcome.text
    return text


def _as_json(
    seen: Snapshot, day: datetime.date, found: Sequence[Proposal], changed: Sequence[RepositoryFile]
) -> None:
    envelope(
        {
            "matrix": seen.matrix.name,
            "day": day,
            "looks_back": day < seen.day,
            "floors": floors(seen, day),
            "proposals": found,
            "diffs": [files.unified_diff(file.path, file.before, file.after) for file in changed],
        }
    )


def _shown(
    seen: Snapshot, day: datetime.date, found: Sequence[Proposal], changed: Sequence[RepositoryFile]
) -> None:
    opened = sum(one.is_open for one in found)
    say(f"{seen.matrix.title} on {day}: {opened} open, {len(found) - opened} waiting")
    for floor in floors(seen, day):
        _floor_shown(floor, [one for one in found if one.axis == floor.axis])
    for file in changed:
        say()
        print(files.unified_diff(file.path, file.before, file.after), end="")
    if opened:
        note("Next: --write makes the open moves in the files.")
    elif any(one.needs for one in found):
        name = seen.matrix.name
        note(
            f"Next: compat propose {name} --cells names the cells to run; compat lock and compat"
            " run take them."
        )


def _floor_shown(floor: AxisFloor, found: Sequence[Proposal]) -> None:
    say()
    say(f"{floor.package}")
    for line in floor.arithmetic:
        say(f"  {line}")
    if not found:
        say("  So nothing is to be proposed.")
    for one in found:
        _proposal_shown(one)


def _proposal_shown(one: Proposal) -> None:
    say()
    say(
        f"  {one.kind} {one.package} {one.current} -> {one.proposed}:"
        f" {'OPEN' if one.is_open else 'waits'}  ({one.id})"
    )
    for line in (*one.grounds, *one.arithmetic[-1:]):
        say(f"    {line}")
    for objection in one.objections:
        say(f"    against: {objection.because}")
    for gone in one.lost:
        say(f"    no longer covered: {affected(gone)}")
    for more in one.gained:
        say(f"    newly covered: {affected(more)}")
    for cell in one.evidence:
        days = f" on {', '.join(map(str, cell.days))}" if cell.days else ""
        came = f", {cell.outcome}{days}" if cell.outcome else ""
        say(f"    {cell.word}: {cell.cell}  {cell.verdict}{came}")
    for need in one.needs:
        say(f"    to run: {need}")


def _schedule_shown(made: Schedule) -> None:
    say(f"{made.title}: coming moves of its minimum versions, {made.day} to {made.until}")
    for package, rule in dict.fromkeys((move.package, move.rule) for move in made.moves):
        say(f"  {package}: the minimum may rise to {rule}")
    table = Table("when", "minimum", "state", "release date", "source", "proven")
    for move in made.moves:
        proven = "yes" if move.proven else "no"
        table.add_row(
            move.wording,
            f"{move.package} {move.to}",
            move.state,
            str(move.released),
            move.source,
            proven,
        )
    console().print(table)
    for move in made.moves:
        for because in (move.held, "" if move.proven else move.proof):
            if because:
                say(f"  {move.package} {move.to}: {because}")
    minimums = Table("from", "minimum by the rules", "with the moves that are proven now")
    for minimum in made.minimums:
        minimums.add_row(str(minimum.on), _versions(minimum.floors), _versions(minimum.proven))
    console().print(minimums)


def _versions(pairs: Sequence[tuple[str, Any]]) -> str:
    return ", ".join(f"{axis} {version}" for axis, version in pairs)
