"""The `site` room's check of a published copy: is each document of the API there as its index lists it, and no other?

The index of the API lists the indexes of matrices, and those the indexes of folders, each with the sha256 of what it
lists, so one look at the first decides about all. Documents of two editions mixed do not pass.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from compat.errors import Fault
from compat.site.api import ROOT
from compat.site.shapes import FileShape

INDEX = "index.json"
AGAIN = "publish the whole site again, or fetch it whole"


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What a copy came to: how many documents its indexes list, and what is wrong."""

    listed: int
    faults: tuple[Fault, ...]


class _Lists(msgspec.Struct, frozen=True):
    files: tuple[FileShape, ...]


def verified(folder: Path) -> Checked:
    """Return whether the site in a folder is one edition, and all of it; nothing is written."""
    first = f"{ROOT}/{INDEX}"
    seen: dict[str, Fault | None] = {first: None}
    try:
        waiting = _read(folder, first)
    except (OSError, ValueError) as error:
        return Checked(listed=0, faults=(_fault("no-index", first, f"is no index of a site: {_why(error)}"),))
    while waiting:
        one = waiting.pop()
        if one.path in seen:
            continue
        seen[one.path] = _wrong(folder, one)
        if seen[one.path] is None and one.path.startswith(f"{ROOT}/") and one.path.endswith(f"/{INDEX}"):
            waiting += _read(folder, one.path)
    strays = (_fault("stray", path, "is in no index: of another edition") for path in _there(folder) - seen.keys())
    wrong = (fault for fault in seen.values() if fault is not None)
    return Checked(listed=len(seen), faults=tuple(sorted((*wrong, *strays), key=lambda fault: fault.path)))


def _wrong(folder: Path, one: FileShape) -> Fault | None:
    path = PurePosixPath(one.path)
    if path.is_absolute() or ".." in path.parts or "\\" in one.path or "\0" in one.path:
        return _fault("outside", one.path, "points outside of the site")
    try:
        content = (folder / path).read_bytes()
    except OSError as error:
        return _fault("missing", one.path, f"is listed and cannot be read: {_why(error)}")
    if len(content) != one.bytes or hashlib.sha256(content).hexdigest() != one.sha256:
        return _fault("mixed", one.path, "is not what its index lists: of another edition, or damaged")
    return None


def _read(folder: Path, path: str) -> list[FileShape]:
    return list(msgspec.json.decode((folder / path).read_bytes(), type=_Lists).files)


def _there(folder: Path) -> set[str]:
    found: Iterator[Path] = (path for path in (folder / ROOT).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in found}


def _why(error: Exception) -> str:
    return (error.strerror or "unknown fault").lower() if isinstance(error, OSError) else str(error)


def _fault(code: str, path: str, message: str) -> Fault:
    return Fault(code=code, path=path, message=message, hint=AGAIN)
