"""Reads, compares and atomically writes files, locks them, and removes folders whatever is in
them.
"""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import hashlib
import itertools
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import packaging

from compat.errors import CompatError, UsageError, reason

if TYPE_CHECKING:
    from jinja2 import Environment

# Folders that tools make in a project.
_OF_TOOLS = re.compile(
    r"\.(?:git|hg|eggs|tox|nox|venv|hypothesis|\w+_cache)|__pycache__|node_modules|site-packages"
    r"|.*\.egg-info"
)
_LARGEST_TEXT = 4_000_000


@cache
def _templates(package: str, folder: str, finalize: Callable[[object], str]) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, folder),
        autoescape=lambda name: (name or "").endswith((".atom", ".svg", ".xml")),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        finalize=finalize,
    )


def rendered(
    package: str,
    template: str,
    shown: Mapping[str, object],
    filters: Mapping[str, Callable[..., str]] | None = None,
    folder: str = "templates",
    finalize: Callable[[object], str] = str,
) -> str:
    """Return what a template of a package becomes; `finalize` makes a text of each value."""
    environment = _templates(package, folder, finalize)
    environment.filters |= filters or {}
    return environment.get_template(template).render(shown)


def read(path: Path) -> bytes:
    """Return the file's bytes; raise UsageError when there is no such readable regular file."""
    try:
        return _bytes_of(path)
    except OSError as fault:
        raise UsageError.of(f"cannot be read: {reason(fault)}", path=str(path)) from fault


def read_if_present(path: Path) -> bytes | None:
    try:
        return _bytes_of(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return read(path)


def _bytes_of(path: Path) -> bytes:
    # Opened without waiting: a pipe that nobody writes to would never end, nor would a device.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(0, "it is a directory" if stat.S_ISDIR(mode) else "it is no regular file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def write(path: Path, text: str | bytes, *, synced: bool = True) -> bool:
    """Write the text by a temporary file and a rename, so that nobody reads a part of it, also
    after a crash if it is `synced`; return whether it changed.
    """
    data = text.encode() if isinstance(text, str) else text
    if read_if_present(path) == data:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                if synced:
                    file.flush()
                    os.fsync(file.fileno())
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as fault:
        raise CompatError.of(f"cannot be written: {reason(fault)}", path=str(path)) from fault
    return True


def first_bytes(path: str, size: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        raise UsageError.of(f"cannot be read: {reason(fault)}", path=path) from fault
    try:
        return os.read(handle, size)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def tree_state(folder: Path) -> bytes:
    """Return a digest of the files below the folder, their sizes and times, not their contents."""
    return hashlib.sha256(os.fsencode("\n".join(tree_states(folder)))).digest()


def tree_states(folder: Path) -> list[str]:
    return sorted(_states(os.fspath(folder), ""))


def _states(folder: str, prefix: str) -> Iterator[str]:
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _states(entry.path, f"{prefix}{entry.name}/")
            else:
                state = entry.stat(follow_symlinks=False)
                yield f"{prefix}{entry.name} {state.st_size} {state.st_mtime_ns}"


# A module, and a table that one reads: a grammar decides what is derived as well.
_OF_CODE = (".py", ".toml")


@cache
def code_of(*rooms: str) -> bytes:
    """Return what derived data depend on: the code of these rooms, Python, and packaging."""
    house = Path(__file__).parent
    inside = (path for room in rooms for path in (house / room).iterdir())
    paths = sorted(path for path in inside if path.suffix in _OF_CODE)
    texts = [path.read_bytes() for path in paths]
    return b"\0".join([sys.version.encode(), packaging.__version__.encode(), *texts])


@cache
def code_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(p for p in Path(__file__).parent.rglob("*") if p.suffix in _OF_CODE):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def texts_below(folder: Path, besides: Path) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file below a folder that people write: what tools keep for
    themselves, the folder `besides`, large files and those that are no text are passed over.
    """
    own = os.path.realpath(besides)
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not _OF_TOOLS.fullmatch(name)
            and not (name in ("build", "dist") and os.path.samefile(top, folder))
            and not os.path.exists(os.path.join(top, name, "pyvenv.cfg"))
            and not (name == besides.name and os.path.realpath(os.path.join(top, name)) == own)
        )
        for path in (os.path.join(top, name) for name in sorted(names)):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                if os.path.isfile(path) and os.path.getsize(path) <= _LARGEST_TEXT:
                    text = read(Path(path)).decode()
                    if "\0" not in text:
                        yield os.path.relpath(path, folder).replace(os.sep, "/"), text


def unified_diff(name: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(lines)


def new_folder(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        folder = path if number == 1 else path.with_name(f"{path.name}-{number}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError("there is always a next number")


def lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock of a file or folder until it is closed or its process
    ends; None when another has it.
    """
    how = os.O_RDONLY | os.O_DIRECTORY if path.is_dir() else os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    handle = os.open(path, how | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever held the lock before may have removed the file: such a lock keeps nobody out.
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[int]:
    """Open a file to add to its end, made if need be, and hold its lock; wait for whoever has it.

    Raises OSError where it cannot be opened, or is no regular file.
    """
    how = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    is_ours = False
    while not is_ours:
        handle = os.open(path, how, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(0, "it is no regular file")
            fcntl.flock(handle, fcntl.LOCK_EX)
            # Whoever held the lock before may have put another file in its place.
            with contextlib.suppress(FileNotFoundError):
                is_ours = os.path.samestat(os.fstat(handle), os.stat(path))
            if is_ours:
                yield handle
        finally:
            os.close(handle)


def remove_tree(path: Path) -> None:
    """Remove the folder with its contents; links are removed, never followed.

    chmod and rm remove what shutil.rmtree gives up: some 1,000 levels, and folders without rights.
    What is gone already is fine. Raises OSError when something cannot be removed.
    """
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(path)
    if path.is_dir() and not path.is_symlink():
        place = os.path.abspath(path)
        subprocess.run(["chmod", "-R", "u+rwx", place], check=False, capture_output=True)
        removed = subprocess.run(["rm", "-rf", place], check=False, capture_output=True, text=True)
        if removed.returncode:
            raise OSError(0, removed.stderr[:300].strip())
    path.unlink(missing_ok=True)
