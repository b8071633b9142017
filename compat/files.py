"""Reads, compares and atomically writes the repository's own text files."""

import difflib
import os
import tempfile
from pathlib import Path

from compat.errors import CompatError, UsageError, reason


def read(path: Path) -> bytes:
    """Return the file's bytes; raise UsageError when there is no such readable file."""
    try:
        return path.read_bytes()
    except OSError as fault:
        raise UsageError.of(f"cannot be read: {reason(fault)}", path=str(path)) from None


def read_if_there(path: Path) -> bytes | None:
    """Return the file's bytes, or None when it does not exist."""
    return read(path) if path.exists() else None


def write(path: Path, text: str) -> bool:
    """Write the text so that a reader sees the old file or the new one, never a part; return whether it changed.

    The text goes to a temporary name beside the file, is synced, and takes the file's place by a rename.
    """
    data = text.encode()
    if path.exists() and path.read_bytes() == data:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as fault:
        raise CompatError.of(f"cannot be written: {reason(fault)}", path=str(path)) from None
    return True


def unified_diff(name: str, before: str, after: str) -> str:
    """Return the unified diff of two texts of a file; empty when they are equal."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(lines)
