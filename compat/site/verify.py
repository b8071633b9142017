"""The `site` room's check of a published copy: every listed file is there with its digest, and no
other file is.

The list, `files.json`, names every page, badge, feed and document of the edition with its sha256,
so a look at that one file decides about all. Files of two editions mixed do not pass.
"""

import hashlib
import os
from pathlib import Path

import msgspec

from compat.errors import Fault, reason
from compat.site.edition import Listed
from compat.site.writer import FILES, MANIFEST, refuse_unsafe
from compat.value import Value

AGAIN = "publish the whole site again, or fetch it whole"


class Checked(Value, frozen=True, kw_only=True):
    """The result of checking a copy: how many files its list has, and what is wrong."""

    listed: int
    faults: tuple[Fault, ...]


class _List(Value, frozen=True):
    files: tuple[Listed, ...]


def verified(folder: Path) -> Checked:
    """Return whether the site in a folder is one edition, and all of it; nothing is written, and no
    link followed.
    """
    regular, others = _there(folder)
    try:
        if FILES not in regular:
            raise ValueError("is not there")
        listed = msgspec.json.decode((folder / FILES).read_bytes(), type=_List).files
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        return Checked(
            listed=0,
            faults=(
                _fault("no-index", FILES, f"is not a valid list of the files of a site: {why}"),
            ),
        )
    # The list cannot hold itself, and the manifest is for the machine that writes the folder.
    strangers = (regular | others) - {file.path for file in listed} - {FILES, MANIFEST}
    faults = [
        _fault("stray", path, "is not in the list: of another edition, or added")
        for path in strangers
    ]
    faults += [
        fault for file in listed if (fault := _wrong(folder, file, regular, others)) is not None
    ]
    return Checked(
        listed=len(listed), faults=tuple(sorted(faults, key=lambda fault: (fault.path, fault.code)))
    )


def _wrong(
    folder: Path, file: Listed, regular: frozenset[str], others: frozenset[str]
) -> Fault | None:
    try:
        refuse_unsafe(file.path)
    except ValueError:
        return _fault("outside", file.path, "points outside of the site")
    if file.path not in regular:
        why = "is not a regular file" if file.path in others else "is not there"
        return _fault("missing", file.path, f"is listed, but {why}")
    try:
        content = (folder / file.path).read_bytes()
    except OSError as error:
        return _fault("missing", file.path, f"is listed, but cannot be read: {reason(error)}")
    if len(content) == file.bytes and hashlib.sha256(content).hexdigest() == file.sha256:
        return None
    return _fault("mixed", file.path, "is not what the list has: of another edition, or changed")


def _there(folder: Path) -> tuple[frozenset[str], frozenset[str]]:
    # The paths of the regular files in a folder, and those of links, pipes and other things that
    # are not directories.
    regular, others, waiting = set(), set(), [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                path = Path(entry.path).relative_to(folder).as_posix()
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    regular.add(path)
                else:
                    others.add(path)
    return frozenset(regular), frozenset(others)


def _fault(code: str, path: str, message: str) -> Fault:
    return Fault(code=code, path=path, message=message, hint=AGAIN)
