"""What `compat record --from` does: takes records that other machines made, the sound ones, and names the others."""

from pathlib import Path

from compat import pipeline
from compat.cli.output import envelope, note, report, say
from compat.cli.setting import now
from compat.cli.stand import Stand
from compat.errors import CompatError, Fault, UsageError, reason
from compat.plan.feasible import Feasibility
from compat.plan.plan import cells
from compat.results.handed import Checkout, handed


def take(stand: Stand, folder: Path, as_json: bool) -> int:
    """Keep the sound records of the folder, tell what is wrong with the others, and return the exit code."""
    if folder.is_symlink() or not folder.is_dir():
        raise UsageError.of("is no folder", path=str(folder), hint="--from takes the folder that holds the records")
    kept: list[str] = []
    known: list[str] = []
    faults: list[Fault] = []
    try:
        for name, found in handed(folder, _checkout(stand)):
            if isinstance(found, Fault):
                faults.append(found)
            else:
                (kept if stand.store.add(found) else known).append(name)
    except OSError as fault:
        raise CompatError.of(f"cannot be listed: {reason(fault)}") from None
    if as_json:
        envelope({"kept": kept, "known": known, "refused": [fault.path for fault in faults]}, faults)
    for name in () if as_json else kept:
        say(f"{name}  kept")
    report(faults)
    note(f"{len(kept)} records kept, {len(known)} there already, {len(faults)} refused")
    return 1 if faults or not (kept or known) else 0


def _checkout(stand: Stand) -> Checkout:
    """This checkout, as records must fit it; its catalogue and its locks are read whole, so that they are sound."""
    setting = stand.setting
    locks = {cell: pipeline.kept_lock(path).digest for cell, path in pipeline.kept_locks(setting.folder)}
    return Checkout(
        matrix=setting.folder.name,
        cells=frozenset(cell.id for cell in cells(Feasibility(setting.ask.matrix, setting.kept))),
        locks=locks,
        suite_digest=stand.present.suite_digest,
        moment=now(),
    )
