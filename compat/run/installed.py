"""What stands in a cell's environment: held against its wheels' RECORD files, and looked at again
after code ran.

RECORD names each file of an installed wheel with its hash, see the specification "Recording
installed projects":
https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

import base64
import contextlib
import csv
import email.parser
import hashlib
import os
import posixpath
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat.run.disk import MIB
from compat.run.evidence import Installed
from compat.run.foreign import open_plain, read_bytes

_MOST_METADATA = 4 << 20
_MOST_RECORD = 64 << 20
_CHUNK = 1 << 20
# The interpreter takes code from these, wherever on its path they lie.
_CODE = (".py", ".pyc", ".so", ".pth")
# The interpreter imports these at its start when it finds them:
# https://docs.python.org/3/library/site.html
_AT_START = ("sitecustomize", "usercustomize")
_START_FILES = tuple(f"{module}.py" for module in _AT_START)
# Sorted last: what other files of this kind put on the path comes before.
_JOINED = "zz_compat_layers.pth"
_WEAK = frozenset(("md5", "sha1"))
# Namespaces go so deep: google.cloud.storage.
_DEEPEST_MODULE = 3


class Distribution(NamedTuple):
    """An installed distribution.

    `files` are those of its RECORD, below site-packages, each with its hash or "".
    """

    name: str
    version: str
    files: Mapping[str, str]
    requires: tuple[str, ...] = ()


class FileState(NamedTuple):
    """What the kernel says of a file.

    A program can set back `mtime`, but not `ctime`; a new hard link changes it.
    """

    inode: int
    size: int
    mtime: int
    ctime: int
    mode: int

    @classmethod
    def of(cls, status: os.stat_result) -> "FileState":
        mode = stat.S_IFMT(status.st_mode) | stat.S_IMODE(status.st_mode)
        return cls(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, mode)


class Wrong(NamedTuple):
    """A file that is not as its RECORD says, below site-packages, with the package and the hash
    that it has.

    The package is "" when no RECORD names the file, and the hash is "" when it is not a plain file.
    """

    package: str
    path: str
    digest: str


class Environment:
    """A cell's folder with its virtual environment, as an installer left it and as code members
    it.
    """

    def __init__(self, cell: Path, site: str) -> None:
        self.cell = cell
        self.site = site
        self._code_folders = (site, "venv/bin")
        self.distributions: tuple[Distribution, ...] = ()
        self._bare: frozenset[str] = frozenset()
        self._hashes: dict[str, str] = {}
        self._states: dict[str, FileState] = {}
        self._compiled: frozenset[str] = frozenset()

    @property
    def packages(self) -> Path:
        return self.cell / self.site

    def is_bare(self) -> None:
        """Take what is there now for the environment's own: nothing has been installed."""
        self._bare = frozenset(_states(self.cell, self._code_folders))

    def compare_shared(self) -> tuple[Wrong, ...]:
        """The same as `compare`, of an environment whose bytecode was made before it was shared."""
        self._bare = frozenset(filter(_is_cached, _states(self.cell, self._code_folders)))
        return self.compare()

    def split(self, names: Collection[str], other: "Environment") -> None:
        """Move the distributions of these names into another environment, where nothing is yet.

        To be called after `compare` and before code of the cell runs: what was hashed is moved, so
        it need not be read again.
        """
        moved = tuple(d for d in self.distributions if d.name in names)
        self.distributions = tuple(d for d in self.distributions if d.name not in names)
        other.distributions = moved
        shared = {name for d in self.distributions for name in d.files}
        emptied: set[Path] = set()
        for name in sorted({name for d in moved for name in d.files}):
            path = posixpath.normpath(f"{self.site}/{name}")
            source, target = self.cell / path, other.cell / path
            if not path.startswith("venv/") or path in self._bare or not os.path.lexists(source):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            other._hashes[path] = self._hashes.get(path, "")
            if name in shared:
                os.link(source, target, follow_symlinks=False)
                continue
            source.rename(target)
            self._hashes.pop(path, None)
            emptied.update(above for above in source.parents if self.packages in above.parents)
        # An empty folder can be imported as a namespace.
        for folder in sorted(emptied, key=lambda folder: len(folder.parts), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def join(self, other: "Environment") -> None:
        """Let this interpreter, and each that it starts, find the packages of another environment
        after its own.
        """
        path = f"{self.site}/{_JOINED}"
        line = f"import site; site.addsitedir({str(other.packages)!r})\n"
        (self.cell / path).write_text(line, encoding="utf-8")
        self._states[path] = FileState.of((self.cell / path).lstat())

    def compare(self) -> tuple[Wrong, ...]:
        """Return what is installed and not as a RECORD says, sorted; each file is read and
        hashed.
        """
        self.distributions = tuple(distributions_in(self.cell, self.site))
        self._hashes = {}
        wrong = set()
        for distribution in self.distributions:
            for name, expected in distribution.files.items():
                path = posixpath.normpath(f"{self.site}/{name}")
                self._hashes[path] = (
                    _hash_of_path(self.cell / path, expected) if path.startswith("venv/") else ""
                )
                if expected and self._hashes[path] != expected:
                    wrong.add(
                        Wrong(
                            f"{distribution.name}=={distribution.version}", name, self._hashes[path]
                        )
                    )
        for path in (
            _states(self.cell, self._code_folders).keys() - self._bare - self._hashes.keys()
        ):
            wrong.add(Wrong("", path.removeprefix(f"{self.site}/"), ""))
        return tuple(sorted(wrong))

    @contextlib.contextmanager
    def startup_put_aside(self) -> Iterator[None]:
        """Give the files that an interpreter runs at its start another name meanwhile; no code of
        the cell ran yet.
        """
        names = [
            path
            for path in self.packages.iterdir()
            if path.suffix == ".pth" or path.name.startswith(_AT_START)
        ]
        for path in names:
            path.rename(path.with_name(f"{path.name}.aside"))
        try:
            yield
        finally:
            for path in names:
                path.with_name(f"{path.name}.aside").rename(path)

    def settle(self, *folders: str) -> None:
        """Take what is in these folders of the cell now for what code may find and must leave."""
        self._states = _states(self.cell, folders)

    def installed_mb(self) -> float:
        sizes = (
            state.size
            for path, state in self._states.items()
            if path.startswith("venv/") and not _is_cached(path)
        )
        return round(sum(sizes) / MIB, 1)

    def changed(self, *folders: str) -> tuple[str, ...]:
        """Return what differs since `settle`: files that were changed or removed, and new ones that
        hold code.

        Bytecode in its usual place is no change: child processes may leave it, see
        `remove_bytecode`. A file whose state alone differs is read again where its hash is known:
        other cells link and unlink the installer's files. Paths are below site-packages, or else
        below the cell.
        """
        states = _states(self.cell, folders)
        new = states.keys() - self._states.keys()
        self._compiled = frozenset(filter(_is_cached, new))
        changed = {path for path in new - self._compiled if path.endswith(_CODE)}
        changed |= self._states.keys() - states.keys()
        for path in states.keys() & self._states.keys():
            if states[path] != self._states[path] and not self._is_as_before(path, states[path]):
                changed.add(path)
        return tuple(sorted(path.removeprefix(f"{self.site}/") for path in changed))

    def remove_bytecode(self) -> None:
        """Remove what `changed` saw interpreters leave: the next step is to compile the sources
        themselves.
        """
        for path in self._compiled:
            (self.cell / path).unlink(missing_ok=True)

    def startup(self) -> tuple[str, ...]:
        return tuple(
            f"{distribution.name}: {name}"
            for distribution in self.distributions
            for name in sorted(distribution.files)
            if "/" not in name
            and (name in _START_FILES or (name.endswith(".pth") and self._runs_code(name)))
        )

    def _runs_code(self, name: str) -> bool:
        """Whether a `.pth` file has a line that begins with `import`, which is executed."""
        try:
            lines = read_bytes(self.cell, f"{self.site}/{name}", _MOST_METADATA).splitlines()
        except OSError:
            return False
        return any(line.startswith((b"import ", b"import\t")) for line in lines)

    def _is_as_before(self, path: str, state: FileState) -> bool:
        before, known = self._states[path], self._hashes.get(path)
        if not known or (before.size, before.mode) != (state.size, state.mode):
            return False
        try:
            return _hash(open_plain(self.cell, path), known) == known
        except OSError:
            return False


def is_known_misrecorded(folder: Path, wrong: Iterable[Wrong]) -> bool:
    """Return whether all that differs from RECORD is what a fresh download brought before, see
    `remember`.
    """
    return all(item.digest and (folder / _key(item)).exists() for item in wrong)


def remember(folder: Path, wrong: Iterable[Wrong]) -> None:
    """Remember, in a folder that no cell can write to at L3, what freshly downloaded wheels differ
    in.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for item in wrong:
        (folder / _key(item)).touch()


def _key(wrong: Wrong) -> str:
    return hashlib.sha256("\0".join(wrong).encode(errors="surrogateescape")).hexdigest()


def installed(distributions: Iterable[Distribution]) -> tuple[Installed, ...]:
    pairs = {(distribution.name, distribution.version) for distribution in distributions}
    return tuple(Installed(name=name, version=version) for name, version in sorted(pairs))


def renamed_modules(distributions: Iterable[Distribution]) -> tuple[tuple[str, str], ...]:
    """Return each top-level module that is not called like its package, with the package; sorted by
    module.

    One that several packages share, as namespaces are, goes by its own name, and each module in it
    that belongs to one of them by its dotted name: `google.protobuf` is of protobuf.
    """
    owners: dict[tuple[str, ...], set[str]] = {}
    shared: set[tuple[str, ...]] = {()}
    held = tuple(distributions)
    for depth in range(1, _DEEPEST_MODULE + 1):
        members: dict[tuple[str, ...], set[str]] = {}
        for distribution in held:
            for name in _modules_at(distribution, depth):
                if name[:-1] in shared and (depth > 1 or _is_renamed(name[0], distribution)):
                    members.setdefault(name, set()).add(distribution.name)
        shared = {name for name, packages in members.items() if len(packages) > 1}
        owners |= members
    return tuple(
        (".".join(name), next(iter(packages)) if len(packages) == 1 else name[0])
        for name, packages in sorted(owners.items())
        if len(packages) == 1 or len(name) == 1
    )


def _is_renamed(module: str, distribution: Distribution) -> bool:
    return canonicalize_name(module) != distribution.name


def bringing(distributions: Iterable[Distribution], module: str) -> str:
    return next((d.name for d in distributions if module in _top_level(d)), "")


def top_modules(distributions: Iterable[Distribution], package: str) -> tuple[str, ...]:
    names: set[str] = set()
    for distribution in distributions:
        if distribution.name == canonicalize_name(package):
            names |= _top_level(distribution)
    return tuple(sorted(names))


def _top_level(distribution: Distribution) -> set[str]:
    return {name for (name,) in _modules_at(distribution, 1)}


def _modules_at(distribution: Distribution, depth: int) -> set[tuple[str, ...]]:
    paths = [name.split("/") for name in distribution.files if name.endswith((".py", ".so"))]
    names = {
        (*parts[: depth - 1], parts[depth - 1].partition(".")[0])
        if len(parts) == depth
        else tuple(parts[:depth])
        for parts in paths
        if len(parts) >= depth
    }
    return {name for name in names if name[-1] != "__init__" and all(map(str.isidentifier, name))}


def distributions_in(cell: Path, site: str) -> Iterator[Distribution]:
    try:
        names = sorted(os.listdir(cell / site))
    except OSError:
        return
    for info in (name for name in names if name.endswith(".dist-info")):
        headers = email.parser.BytesHeaderParser().parsebytes(
            _content(cell, f"{site}/{info}/METADATA")
        )
        text = str(headers["Version"] or "?")
        with contextlib.suppress(InvalidVersion):
            text = str(Version(text))
        name = canonicalize_name(str(headers["Name"] or "?"))
        files = dict(_rows(_content(cell, f"{site}/{info}/RECORD", _MOST_RECORD)))
        yield Distribution(name, text, files, tuple(map(str, headers.get_all("Requires-Dist", ()))))


def _content(cell: Path, name: str, most: int = _MOST_METADATA) -> bytes:
    try:
        return read_bytes(cell, name, most)
    except OSError:
        return b""


def _rows(record: bytes) -> Iterator[tuple[str, str]]:
    """Yield each path of a RECORD with its hash; without one where RECORD gives none, as for
    itself.
    """
    lines = record.decode("utf-8", errors="replace").splitlines()
    try:
        for row in csv.reader(lines):
            if row and row[0]:
                expected = row[1].rstrip("=") if len(row) > 1 else ""
                algorithm = expected.partition("=")[0]
                is_usable = algorithm in hashlib.algorithms_guaranteed and algorithm not in _WEAK
                yield posixpath.normpath(row[0]), expected if is_usable else ""
    except csv.Error:
        return


def _hash_of_path(path: Path, expected: str) -> str:
    """Return the hash of a file that no code of the cell can have made yet; empty when it is not a
    plain file.
    """
    try:
        return _hash(
            os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), expected
        )
    except OSError:
        return ""


def _hash(descriptor: int, expected: str) -> str:
    """Return the hash of an open file as RECORD writes it, by the algorithm of the expected one;
    sha256 without.
    """
    algorithm = expected.partition("=")[0] or "sha256"
    digest = hashlib.new(algorithm)
    with open(descriptor, "rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return f"{algorithm}={base64.urlsafe_b64encode(digest.digest()).rstrip(b'=').decode()}"


def _is_cached(path: str) -> bool:
    return path.endswith(".pyc") and "/__pycache__/" in path


def _states(cell: Path, folders: Iterable[str]) -> dict[str, FileState]:
    """Return the state of all files in these folders of the cell, by path; links stand for
    themselves.

    What cannot be listed, such as a path that is too long, is left out: what stood there then
    counts as removed.
    """
    states: dict[str, FileState] = {}
    waiting = list(folders)
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(cell / folder) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(path)
                        continue
                    states[path] = FileState.of(entry.stat(follow_symlinks=False))
        except OSError:
            continue
    return states
