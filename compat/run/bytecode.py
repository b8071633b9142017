"""Caches bytecode by the digest of its source, so that a fresh cell need not compile it again.

A cell's code must not be able to poison the cache. `harvest` takes nothing that a cell wrote: it
compiles the sources of the imported modules itself. `lend` copies, because a cell could write
through a hard link. Both hash the source itself. A RECORD is hostile text and only says where to
look; it was read before any code of the cell ran.
"""

import base64
import hashlib
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

from compat.run import compiling
from compat.run.evidence import Limits
from compat.run.installed import Distribution
from compat.run.isolation import Room
from compat.run.supervise import run_limited

_HASH_BYTES = 32
# A large library has 4,000 modules, which take 20 s. Only hostile sources need more.
_COMPILING = Limits(
    wall_seconds=300, silence_seconds=60, memory_mb=2000, processes=4, output_mb=1, disk_mb=1000
)


class BytecodeStore:
    """The part of the cache for one interpreter.

    Two patch versions share a tag and a magic number; two pre-releases share only the tag.
    """

    def __init__(self, store: Path, tag: str, magic: bytes) -> None:
        self.place = store / f"{tag}-{magic.hex()}"
        self.tag = tag
        self.magic = magic

    def lend(self, site_packages: Path, distributions: Iterable[Distribution]) -> int:
        """Call before any code of the cell has run; what cannot be read or written is skipped."""
        known = _known(self.place)
        site, is_plain, lent = os.path.realpath(site_packages), cache(_is_plain), 0
        for name, sha256 in sources(distributions):
            path = os.path.join(site, name)
            if sha256 in known and is_plain(os.path.dirname(path)):
                lent += self._lent(path, sha256)
        return lent

    def _lent(self, path: str, sha256: str) -> bool:
        """Copy one file from the cache, if the source matches its RECORD; remove a torn one."""
        folder, name = os.path.split(path)
        target = os.path.join(folder, "__pycache__", f"{name[:-3]}.{self.tag}.pyc")
        try:
            if hashlib.sha256(compiling.source_of(path)).hexdigest() != sha256:
                return False
            shelf = os.path.join(self.place, sha256[:2], sha256)
            with open(shelf, "rb", buffering=0) as file:
                stored = file.read()
            if hashlib.sha256(stored[_HASH_BYTES:]).digest() != stored[:_HASH_BYTES]:
                os.unlink(shelf)
                return False
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(target, flags, 0o644), "wb", buffering=0) as file:
                file.write(stored[_HASH_BYTES:])
        except OSError:
            return False
        return True

    def harvest(
        self,
        site_packages: Path,
        distributions: Iterable[Distribution],
        used: Collection[str],
        python: Path,
    ) -> int:
        """Call when no process of the cell is alive. `python` has this tag and magic. No cell can
        write to it, so it is not the one in the cell's own folder.
        """
        known = _known(self.place)
        site, is_plain = os.path.realpath(site_packages), cache(_is_plain)
        missing = {
            sha256: path
            for name, sha256 in sources(distributions)
            if sha256 not in known and name in used
            if is_plain(os.path.dirname(path := os.path.join(site, name)))
        }
        if not missing:
            return 0
        self.place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            names = Path(folder) / "wanted"
            names.write_text(
                "".join(f"{sha256} {path}\n" for sha256, path in sorted(missing.items())),
                encoding="utf-8",
            )
            command = [
                *(str(python), "-I", "-S", "-B", compiling.__file__),
                *(str(names), str(self.place), self.magic.hex()),
            ]
            place, log = Path(folder), Path(folder) / "log"
            room = Room(cwd=place, variables=(), log=log, writable=(self.place,), network=False)
            run_limited(command, room, _COMPILING, level="L1")
        return len(_known(self.place) & missing.keys())


def sources(distributions: Iterable[Distribution]) -> Iterator[tuple[str, str]]:
    """Yield each module below site-packages that a RECORD names, and its sha256 in hexadecimal."""
    for path, digest in (row for each in distributions for row in each.files.items()):
        algorithm, _, value = digest.partition("=")
        if not path.endswith(".py") or algorithm != "sha256":
            continue
        if {"", ".", ".."} & set(path.split("/")) or not path.isprintable() or "\\" in path:
            continue
        try:
            raw = base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True)
        except ValueError:
            continue
        if len(raw) == _HASH_BYTES:
            yield path, raw.hex()


def _is_plain(path: str) -> bool:
    """A folder that is reached through a link is not ours to use."""
    cache = os.path.join(path, "__pycache__")
    if not os.path.isdir(path) or os.path.realpath(path) != path:
        return False
    try:
        os.makedirs(cache, exist_ok=True)
    except OSError:
        return False
    return not os.path.islink(cache)


def _known(place: Path) -> frozenset[str]:
    names: set[str] = set()
    for number in range(256):
        try:
            names.update(os.listdir(place / f"{number:02x}"))
        except OSError:
            continue
    return frozenset(names)
