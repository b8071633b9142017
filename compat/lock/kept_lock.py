"""A lock as a file that is kept beside its matrix."""

from pathlib import Path

from compat.files import read
from compat.lock.lock_text import decode_lock
from compat.lock.lockfile import Lock


def kept_lock(path: Path) -> Lock:
    """Return the lock of that file; raise DeclarationError when it is damaged."""
    return decode_lock(read(path).decode(errors="replace"), "/".join(path.parts[-4:]))
