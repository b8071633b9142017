"""`compat cache clean`, and the same before a run that would not fit."""

import re
from collections.abc import Sequence
from pathlib import Path

from compat.cli.arguments import option
from compat.cli.machine import cache_folder, disk_mb, install_variables, now
from compat.cli.output import envelope, note, say, table
from compat.errors import CompatError, UsageError, reason
from compat.index.settings import IndexSettings
from compat.run.cached import (
    CACHE_KINDS,
    CacheItem,
    cache_items,
    remove_dead_folders,
    remove_items,
    unused_items,
)
from compat.site.wording import count

DAY = 24 * 3600.0
_SIZE = re.compile(r"(?P<number>\d{1,6}(\.\d{1,3})?) ?(?P<unit>[MGT])B?", re.IGNORECASE)
_UNITS = {"M": 10**6, "G": 10**9, "T": 10**12}


def clean_command(
    days: int = option("Remove entries unused for this many days.", min=0, default=30),
    most: str = option(
        "Then remove least recently used entries down to this size.", metavar="20GB"
    ),
    dry_run: bool = option("Print what would be removed."),
) -> None:
    """Remove old entries from the cache.

    Entries can be downloaded or rebuilt, except evidence, which `compat ci record --rejudge` reads.
    Records are not in the cache. Entries used in the last hour stay.

    Examples: compat cache clean --dry-run; compat cache clean --days 7; compat cache clean --most
    20GB
    """
    cache, limit = cache_folder(), None
    if most:
        match = _SIZE.fullmatch(most.strip())
        if match is None:
            raise UsageError.of(f"--most {most!r} is not a size such as 500MB or 20GB")
        limit = int(float(match["number"]) * _UNITS[match["unit"].upper()])
    for cells in (*cache.glob("sandbox/cells"), *cache.glob("L?/sandbox/cells")):
        remove_dead_folders(cells)
    items = list(cache_items(cache))
    unused = unused_items(items, now().timestamp(), seconds=days * DAY, most=limit)
    if not dry_run:
        _remove(unused, cache)
    kinds = {
        kind: {
            f"{what}{figure}": value
            for what, of in (("", items), ("removed_", unused))
            for figure, value in (
                ("items", sum(item.kind == kind for item in of)),
                ("bytes", sum(item.size for item in of if item.kind == kind)),
            )
        }
        for kind in CACHE_KINDS
    }
    envelope({"removed": not dry_run, "kinds": kinds})
    goes = "would go" if dry_run else "removed"
    rows = [
        (kind, f"{number:,}", _shown(size), f"{gone:,}", _shown(gone_size))
        for kind, (number, size, gone, gone_size) in ((k, row.values()) for k, row in kinds.items())
    ]
    table(("what", "number", "size", goes, "of size"), rows)
    freed = _shown(sum(item.size for item in unused))
    say(f"{count(len(unused), 'item')} {goes}, {freed}")


def make_room(megabytes: int) -> None:
    """Remove the least recently used cache entries if less disk is free. A disk that stays full is
    reported by the limit of each cell.
    """
    missing = (megabytes - disk_mb()) * 2**20
    if missing <= 0:
        return
    cache, moment = cache_folder(), now().timestamp()
    items = list(cache_items(cache))
    size = sum(item.size for item in items)
    unused = unused_items(items, moment, seconds=float("inf"), most=max(0, size - missing))
    try:
        _remove(unused, cache)
    except CompatError as fault:
        note(f"warning: the cache could not be cleaned: {fault}")
        return
    if not unused:
        return
    days = (moment - unused[-1].used) / DAY
    note(
        f"removed {_shown(sum(item.size for item in unused))} of the cache, unused for"
        f" {days:.0f} days or longer, to make room for {megabytes:,} MB of cells"
    )


def _remove(items: Sequence[CacheItem], cache: Path) -> None:
    variables = dict(install_variables(IndexSettings(index_url="")))
    try:
        remove_items(items, cache, variables)
    except OSError as fault:
        raise CompatError.of(f"cannot be removed: {reason(fault)}", path="the cache") from fault


def _shown(size: int) -> str:
    return f"{size / 10**9:,.1f} GB" if size >= 10**9 else f"{size / 10**6:,.1f} MB"
