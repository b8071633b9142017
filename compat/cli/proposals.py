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
from compat.cli.setting import Json, MatrixName, Root, Setting
from compat.cli.stand import Stand
from compat.declare.matrix import InterpreterAxis, Matrix
from compat.errors import UsageError
from compat.policy.calendar import Schedule
from compat.policy.calendar import schedule as scheduled
from compat.policy.describe import affected
from compat.policy.ical import ical
from compat.policy.proposal import Floor, Proposal, row
from compat.policy.propose import floors, proposals
from compat.policy.ranges import Move, Unsatisfiable
from compat.policy.rewrite import rewritten
from compat.policy.rewrite_toml import rewritten_matrix
from compat.results.picture import Picture, picture

Today = Annotated[str, typer.Option("--today", metavar="DATE", help="Another day than this one, such as 2027-04-01.")]
Target = Annotated[
    list[Path] | None,
    typer.Option("--target", help="A library's pyproject.toml, setup.cfg or requirements file to move along."),
]


def propose(
    matrix: MatrixName,
    day: Today = "",
    cells: Annotated[bool, typer.Option("--cells", help="Print only the cells that must run first.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Make the open moves in the files.")] = False,
    target: Target = None,
    as_json: Json = False,
    root: Root = None,
) -> None:
    """Propose floor moves: what policy, releases and records allow, and what speaks against the rest.

    A day in the past tells what a maintainer would have been told then. Exit code 1 when a move is open.
    Examples: compat propose tff; compat propose tff --today 2022-09-22; compat propose tff --cells;
    compat propose tff --write --target pyproject.toml
    """
    stand = Stand(Setting(matrix, root))
    seen = _picture(stand, _day(day, stand))
    when = _day(day, stand)
    found = proposals(seen, when)
    if cells:
        print("".join(f"{cell}\n" for cell in dict.fromkeys(need for one in found for need in one.needs)), end="")
        return
    opened = [one for one in found if one.is_open]
    if write and when < seen.day:
        raise UsageError.of("--write and a day in the past do not go together", hint="leave out --today")
    diffs = _diffs(stand.setting, opened, target or [], write)
    if as_json:
        _as_json(seen, when, found, diffs)
    else:
        _shown(seen, when, found, diffs)
    raise typer.Exit(1 if opened else 0)


def schedule(
    matrix: MatrixName,
    day: Today = "",
    ics: Annotated[Path | None, typer.Option("--ics", help="Write the calendar to this file.")] = None,
    as_json: Json = False,
    root: Root = None,
) -> None:
    """Show the coming moves of every floor for three years, and the minimum versions from each date on.

    Examples: compat schedule tff; compat schedule tff --json; compat schedule tff --ics tff.ics
    """
    stand = Stand(Setting(matrix, root))
    when = _day(day, stand)
    made = scheduled(_picture(stand, when), when)
    if ics is not None:
        files.write(ics, ical(made))
    if as_json:
        moves = [{"id": move.id, "wording": move.wording, **msgspec.structs.asdict(move)} for move in made.moves]
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


def _picture(stand: Stand, day: datetime.date) -> Picture:
    """What is known on that day; of a day in the past, what is known today."""
    if day <= stand.present.day:
        return stand.picture
    ask, kept = stand.setting.ask, stand.setting.kept
    then = msgspec.structs.replace(stand.present, day=day)
    return picture(ask, kept, pipeline.planned(ask, kept).fates, stand.locks, stand.rows, then)


def _diffs(setting: Setting, opened: Sequence[Proposal], targets: Sequence[Path], write: bool) -> list[str]:
    """The open moves as unified diffs of the matrix and the targets; made in the files when told."""
    path = setting.folder / "matrix.toml"
    before = after = files.read(path).decode(errors="replace")
    for one in opened:
        after = rewritten_matrix(after, one.axis, one.proposed, one.because)
    found = [(path, f"matrices/{setting.folder.name}/matrix.toml", before, after)]
    for target in targets:
        text = files.read(target).decode(errors="replace")
        found.append((target, target.name, text, _moved(setting.ask.matrix, str(target), text, opened)))
    if write:
        for place, _, old, new in found:
            if old != new:
                files.write(place, new)
    return [diff for _, name, old, new in found if (diff := files.unified_diff(name, old, new))]


def _moved(matrix: Matrix, path: str, text: str, opened: Sequence[Proposal]) -> str:
    for one in opened:
        axis = next(axis for axis in matrix.axes if axis.name == one.axis)
        package = None if isinstance(axis, InterpreterAxis) else axis.package
        outcome = rewritten(path, text, Move(package=package, floor=one.proposed))
        if isinstance(outcome, Unsatisfiable):
            note(f"compat: {path}: {outcome.place}: {outcome.because}; left as it is: {outcome.before}")
            continue
        for left in outcome.left:
            note(f"compat: {path}: {left.place}: {left.because}; left as it is: {left.text}")
        text = outcome.text
    return text


def _as_json(seen: Picture, day: datetime.date, found: Sequence[Proposal], diffs: Sequence[str]) -> None:
    envelope(
        {
            "matrix": seen.matrix.name,
            "day": day,
            "looks_back": day < seen.day,
            "floors": floors(seen, day),
            "proposals": [row(one) for one in found],
            "diffs": diffs,
        }
    )


def _shown(seen: Picture, day: datetime.date, found: Sequence[Proposal], diffs: Sequence[str]) -> None:
    opened = sum(one.is_open for one in found)
    say(f"{seen.matrix.title} on {day}: {opened} open, {len(found) - opened} waiting")
    for floor in floors(seen, day):
        _floor_shown(floor, [one for one in found if one.axis == floor.axis])
    for diff in diffs:
        say()
        print(diff, end="")
    if opened:
        note("Next: --write makes the open moves in the files.")
    elif any(one.needs for one in found):
        name = seen.matrix.name
        note(f"Next: compat propose {name} --cells names the cells to run; compat lock and compat run take them.")


def _floor_shown(floor: Floor, found: Sequence[Proposal]) -> None:
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
    say(f"  {one.kind} {one.package} {one.current} -> {one.proposed}: {'OPEN' if one.is_open else 'waits'}  ({one.id})")
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
    table = Table("when", "minimum", "state", "out since", "source", "proven")
    for move in made.moves:
        proven = "yes" if move.proven else "no"
        table.add_row(move.wording, f"{move.package} {move.to}", move.state, str(move.released), move.source, proven)
    console().print(table)
    for move in made.moves:
        for because in (move.held, "" if move.proven else move.proof):
            if because:
                say(f"  {move.package} {move.to}: {because}")
    minimums = Table("from", "minimum by the rules", "as far as it is proven now")
    for minimum in made.minimums:
        minimums.add_row(str(minimum.on), _versions(minimum.floors), _versions(minimum.proven))
    console().print(minimums)


def _versions(pairs: Sequence[tuple[str, Any]]) -> str:
    return ", ".join(f"{axis} {version}" for axis, version in pairs)
