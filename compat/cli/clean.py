"""The command that bounds the cache: clean; and the same before a run that would not fit."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from compat.cli.arguments import given, option
from compat.cli.machine import cache_folder, disk_mb, install_variables, now
from compat.cli.output import envelope, note, say, table
from compat.errors import CompatError, UsageError, reason
from compat.index.settings import IndexSettings
from compat.run.cache_items import CACHE_KINDS, CacheItem, cache_items, remove_items, unused_items
from compat.run.scratch import remove_dead_folders
from compat.site.wording import count

DAY = 24 * 3600.0
_SIZE = re.compile(r"(?P<number>\d{1,6}(\.\d{1,3})?) ?(?P<unit>[MGT])B?", re.IGNORECASE)
_UNITS = {"M": 10**6, "G": 10**9, "T": 10**12}


def clean_command(
    days: int = option("Remove what was not used for so many days.", min=0, default=30),
    most: str = option("Then what is least recently used, down to this size.", metavar="20GB"),
    dry_run: bool = option("Only say what would be removed."),
) -> None:
    """Remove what has not been used for long from the cache.

    All of it can be fetched or made again, but for evidence, which compat ci record --rejudge
    reads.
    Records are no part of the cache. What was used within the last hour stays.

    Examples: compat cache clean --dry-run; compat cache clean --days 7; compat cache clean --most
    20GB
    """
    cache, limit = cache_folder(), None if not most else _bytes(most)
    for cells in (*cache.glob("sandbox/cells"), *cache.glob("L?/sandbox/cells")):
        remove_dead_folders(cells)
    items = list(cache_items(cache))
    unused = unused_items(items, now().timestamp(), seconds=days * DAY, most=limit)
    if not dry_run:
        _remove(unused, cache)
    if given.as_json:
        envelope({"removed": not dry_run, "kinds": _kinds(items, unused)})
        return
    goes = "would go" if dry_run else "removed"
    rows = [
        (
            kind,
            f"{row['items']:,}",
            _shown(row["bytes"]),
            f"{row['removed_items']:,}",
            _shown(row["removed_bytes"]),
        )
        for kind, row in _kinds(items, unused).items()
    ]
    table(("what", "number", "size", goes, "of size"), rows)
    freed = _shown(sum(item.size for item in unused))
    say(f"{count(len(unused), 'item')} {goes}, {freed}")


def make_room(megabytes: int) -> None:
    """Remove what is least recently used of the cache, where the disk has not so much free; say
    what went. A disk that stays too full is no fault here: the limit of each cell says it.
    """
    missing = (megabytes - disk_mb()) * 2**20
    if missing <= 0:
        return
    cache = cache_folder()
    items = list(cache_items(cache))
    size = sum(item.size for item in items)
    moment = now().timestamp()
    unused = unused_items(items, moment, seconds=float("inf"), most=max(0, size - missing))
    if not unused:
        return
    try:
        _remove(unused, cache)
    except CompatError as fault:
        note(f"warning: the cache could not be cleaned: {fault}")
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


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError.of(f"--most {text!r} is not a size such as 500MB or 20GB")
    return int(float(match["number"]) * _UNITS[match["unit"].upper()])


def _kinds(items: Sequence[CacheItem], unused: Sequence[CacheItem]) -> dict[str, dict[str, int]]:
    return {
        kind: {
            "items": sum(item.kind == kind for item in items),
            "bytes": _size(items, kind),
            "removed_items": sum(item.kind == kind for item in unused),
            "removed_bytes": _size(unused, kind),
        }
        for kind in CACHE_KINDS
    }


def _size(items: Iterable[CacheItem], kind: str) -> int:
    return sum(item.size for item in items if item.kind == kind)


def _shown(size: int) -> str:
    return f"{size / 10**9:,.1f} GB" if size >= 10**9 else f"{size / 10**6:,.1f} MB"
