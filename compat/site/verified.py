"""The `site` room's check of a published copy: is each document of the API there as its index lists it, and no other?

The index of the API lists the indexes of matrices, and those the indexes of folders, each with the sha256 of what it
lists, so one look at the first decides about all. Documents of two editions mixed do not pass.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from compat.errors import Fault, reason
from compat.site.api import ROOT
from compat.site.folder import refuse_unsafe
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
    try:
        waiting = list(_lists(first, (folder / first).read_bytes()))
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        return Checked(listed=0, faults=(_fault("no-index", first, f"is no index of a site: {why}"),))
    seen, faults = {first}, []
    while waiting:
        one = waiting.pop()
        if one.path not in seen:
            seen.add(one.path)
            found = _listed(folder, one)
            if isinstance(found, Fault):
                faults.append(found)
            else:
                waiting += found
    faults += [_fault("stray", path, "is in no index: of another edition") for path in _there(folder) - seen]
    return Checked(listed=len(seen), faults=tuple(sorted(faults, key=lambda fault: fault.path)))


def _listed(folder: Path, one: FileShape) -> tuple[FileShape, ...] | Fault:
    """What a document lists, or what is wrong with it."""
    try:
        refuse_unsafe(one.path)
    except ValueError:
        return _fault("outside", one.path, "points outside of the site")
    try:
        content = (folder / one.path).read_bytes()
        if len(content) == one.bytes and hashlib.sha256(content).hexdigest() == one.sha256:
            return _lists(one.path, content)
    except OSError as error:
        return _fault("missing", one.path, f"is listed and cannot be read: {reason(error)}")
    except ValueError as error:
        return _fault("no-index", one.path, f"is no index of a site: {error}")
    return _fault("mixed", one.path, "is not what its index lists: of another edition, or damaged")


def _lists(path: str, content: bytes) -> tuple[FileShape, ...]:
    is_index = path.startswith(f"{ROOT}/") and path.endswith(f"/{INDEX}")
    return msgspec.json.decode(content, type=_Lists).files if is_index else ()


def _there(folder: Path) -> set[str]:
    found: Iterator[Path] = (path for path in (folder / ROOT).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in found}


def _fault(code: str, path: str, message: str) -> Fault:
    return Fault(code=code, path=path, message=message, hint=AGAIN)
