"""What `compat ci record --from` does: takes records that other machines made, the sound ones, and
names the others.
"""

import datetime
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec

from compat.cli.machine import now, run_url
from compat.cli.output import envelope, note, report, say
from compat.declare.capabilities import suite_ids
from compat.declare.suite_table import Tier
from compat.errors import CompatError, Fault, UsageError, reason
from compat.files import read
from compat.lock.kept_lock import kept_lock
from compat.plan.plan import lockable_cells
from compat.results.intake import OLDEST, Checkout, handed
from compat.results.strict import strict
from compat.run.evidence import Isolation
from compat.run.suitefiles import owed_capabilities
from compat.site.wording import count
from compat.value import Value
from compat.workspace import Workspace


class Shards(Value, frozen=True):
    """What `compat plan --print github` prints: which cells each shard was given, and when."""

    class Row(Value, frozen=True, kw_only=True):
        """A shard; it hands its records over in the folder `records-<shard>`. Of the cells in
        `smoke` it runs the suite's core alone.
        """

        shard: Annotated[int, msgspec.Meta(ge=1)]
        cells: str
        smoke: str = ""
        since: Annotated[datetime.datetime, msgspec.Meta(tz=True)]

    include: tuple[Row, ...]


def take(
    workspace: Workspace,
    folder: Path,
    as_json: bool,
    plan: Path | None,
    made_by: str,
    level: Isolation | None,
) -> int:
    """Keep the sound records of the folder, tell what is wrong with the others, and return the exit
    code.

    `plan` is the file that says which shard was given which cells, `made_by` the address of the
    run, and `level` the one at which it was to run.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise UsageError.of(
            "is not a directory",
            path=str(folder),
            hint="--from takes the folder that holds the records",
        )
    taken: list[str] = []
    known: list[str] = []
    faults: list[Fault] = []
    try:
        shards = None if plan is None else _shards(plan)
        checkout = _checkout(workspace, made_by, shards, level)
        for name, record in handed(folder, checkout):
            if isinstance(record, Fault):
                faults.append(record)
            else:
                (taken if workspace.store.add(record) else known).append(name)
    except OSError as fault:
        raise CompatError.of(f"cannot be listed: {reason(fault)}") from fault
    if as_json:
        envelope(
            {"kept": taken, "known": known, "refused": [fault.path for fault in faults]}, faults
        )
    for name in () if as_json else taken:
        say(f"{name}  kept")
    report(faults)
    if checkout.suite_ids.unreadable:
        where = "/".join(filter(None, (workspace.matrix.suite.path, checkout.suite_ids.unreadable)))
        note(
            f"warning: capabilities were not compared with the suite: {where} makes ids that only a"
            " run can tell"
        )
    note(f"{count(len(taken), 'record')} kept, {len(known)} there already, {len(faults)} refused")
    return 1 if faults or not (taken or known) else 0


def _shards(path: Path) -> Shards:
    try:
        text = read(path).decode()
        strict(text)  # no key twice
        shards = msgspec.json.decode(text, type=Shards)
        rows = shards.include
        cells = Counter(cell for row in rows for cell in (row.cells + " " + row.smoke).split())
        for what, number in (*cells.items(), *Counter(row.shard for row in rows).items()):
            if number > 1:
                raise ValueError(f"{what} stands there {number} times")
        return shards
    except (ValueError, RecursionError) as fault:
        hint = "`compat plan MATRIX --budget 90m --print github` writes one"
        raise UsageError.of(f"is not a valid plan: {fault}", path=str(path), hint=hint) from fault


def _checkout(
    workspace: Workspace, made_by: str, plan: Shards | None, level: Isolation | None
) -> Checkout:
    """This checkout, as records must fit it; its catalogue and its locks are read whole, so that
    they are sound.
    """
    rows = () if plan is None else plan.include
    oldest = now() - OLDEST
    stale = next((row.since for row in rows if not oldest <= row.since <= now()), None)
    if stale is not None:
        raise UsageError.of(
            f"the plan was made at {stale.isoformat()}, and one of the last {OLDEST.days} days is"
            " taken"
        )
    return Checkout(
        matrix=workspace.name,
        cells=frozenset(
            cell.id for cell in lockable_cells(workspace.facts_of(workspace.kept_or_asked))
        ),
        locks={cell: kept_lock(path) for cell, path in workspace.lock_paths()},
        suite_digest=workspace.context.suite_digest,
        suite_ids=suite_ids(workspace.suite_texts),
        moment=now(),
        since=min((row.since for row in rows), default=oldest),
        run_url=made_by or run_url(),
        # Without a word about it a plan asks for the level that moves floors.
        isolation=level or (None if plan is None else "L3"),
        owed=owed_capabilities(workspace.suite_folder, workspace.matrix.suite),
        shards=(
            None
            if plan is None
            else {
                cell: f"records-{row.shard}"
                for row in rows
                for cell in (*row.cells.split(), *row.smoke.split())
            }
        ),
        tiers=_tiers(rows),
    )


def _tiers(rows: Iterable[Shards.Row]) -> dict[str, Tier]:
    tiers: dict[str, Tier] = {}
    for row in rows:
        tiers |= dict.fromkeys(row.smoke.split(), "smoke")
        tiers |= dict.fromkeys(row.cells.split(), "full")
    return tiers
