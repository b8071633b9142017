"""What `compat ci record --locks` does: takes locks that another machine made, the sound ones, and
names the others.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from compat import files
from compat.cli.output import envelope, note, report, say
from compat.errors import DeclarationError, Fault, UsageError
from compat.lock.received import handed_lock
from compat.plan.plan import lockable_cells
from compat.site.wording import count
from compat.workspace import Workspace

_MOST_FILES = 20_000
_MOST_BYTES = 4_000_000  # a lock of 130 pins has 0.3 MB


def take_locks(workspace: Workspace, folder: Path, as_json: bool) -> int:
    """Keep the sound locks of the folder, tell what is wrong with the others, and return the exit
    code.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise UsageError.of(
            "is not a directory",
            path=str(folder),
            hint="--locks takes the folder that holds the locks",
        )
    planned = {cell.id: cell for cell in lockable_cells(workspace.feasibility)}
    taken: list[str] = []
    current: list[str] = []
    faults: list[Fault] = []
    for name, text in handed_texts(folder):
        try:
            if isinstance(text, Fault):
                raise DeclarationError(text)
            cell = name.removesuffix(".txt")
            path = workspace.lock_path(cell)
            before = files.read_if_there(path) if cell in planned else None
            if before == text.encode():
                current.append(name)
                continue
            lock = handed_lock(text, name, planned, workspace.feasibility, workspace.source)
            workspace.keep_lock(cell, lock)
            taken.append(name)
        except DeclarationError as error:
            faults.extend(error.faults)
    if as_json:
        envelope(
            {"kept": taken, "current": current, "refused": [fault.path for fault in faults]}, faults
        )
    for name in () if as_json else taken:
        say(f"{name}  kept")
    report(faults)
    note(f"{count(len(taken), 'lock')} kept, {len(current)} there already, {len(faults)} refused")
    return 1 if faults else 0


def handed_texts(folder: Path) -> Iterator[tuple[str, str | Fault]]:
    """Yield each entry of a folder of locks with its text, or with what is wrong; links are not
    followed.
    """
    for number, name in enumerate(sorted(os.listdir(folder))):
        shown = name.encode(errors="backslashreplace").decode()
        if number >= _MOST_FILES:
            yield (
                shown,
                _fault(
                    shown, f"is one file too many: at most {_MOST_FILES:,} are handed over at once"
                ),
            )
            return
        yield shown, _text(folder / name, shown)


def _text(path: Path, name: str) -> str | Fault:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return _fault(name, "is not a regular file")
    if not name.endswith(".txt") or not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return _fault(name, "is not a lock")
    with os.fdopen(handle, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        return _fault(name, f"is larger than {_MOST_BYTES:,} bytes")
    return content.decode(errors="replace")


def _fault(name: str, message: str) -> Fault:
    return Fault(code=DeclarationError.code, path=name, message=message)
