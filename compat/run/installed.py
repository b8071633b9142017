"""Checks an installed environment against its wheels' RECORD files, and again after code ran.

RECORD names each file of an installed wheel with its hash, see the specification "Recording
installed projects":
https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

import base64
import contextlib
import csv
import email.parser
import hashlib
import importlib.machinery
import importlib.metadata
import os
import posixpath
import re
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat import files
from compat.files import remove_tree
from compat.lock.lockfile import Pin
from compat.run.events import open_plain, read_bytes
from compat.run.evidence import Installed
from compat.run.meter import MIB

_MOST_METADATA = 4 << 20
_MOST_RECORD = 64 << 20
_CHUNK = 1 << 20
# The interpreter loads code from these, wherever they lie on its path. The last two, beside its
# executable, locate its standard library.
_CODE = (".py", ".pyc", ".so", ".pth", "._pth", "pyvenv.cfg")
# The interpreter imports these at its start when it finds them:
# https://docs.python.org/3/library/site.html
_AT_START = ("sitecustomize", "usercustomize")
_PACKAGE = "__init__"
# Where pytest finds its plugins through importlib.metadata: either form of a distribution.
_ENTRY_POINTS = re.compile(r"[^/]+\.(?:dist|egg)-info/entry_points\.txt")
# An installer rewrites these for any wheel, so they differ between cells. The last has the time of
# a local wheel.
_OF_INSTALLER = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json")
# The lines of a script that name its interpreter; a long path becomes three lines of /bin/sh.
_LAUNCHER = re.compile(rb"#!(?:/bin/sh\n'{3}exec' [^\n]*\n' '{3}|[^\n]*)\n")
# Sorts last: other files of this kind take precedence on the path.
_JOINED = "zz_compat_layers.pth"
# An algorithm of no fixed length (shake) has no digest to compare.
_STRONG = frozenset(
    name
    for name in hashlib.algorithms_guaranteed - {"md5", "sha1"}
    if hashlib.new(name).digest_size
)
# Namespaces nest this deep: google.cloud.storage.
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
    """A file's state as the kernel reports it.

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
    """A file that differs from its RECORD, below site-packages, with its package and actual hash.

    The package, `name==version`, is "" when no RECORD names the file. The hash is "" when it is not
    a plain file.
    """

    package: str
    path: str
    digest: str


class Environment:
    """A cell's folder with its virtual environment."""

    def __init__(self, cell: Path, site: str) -> None:
        self.cell = cell
        self.site = site
        self._code_folders = (site, "venv/bin")
        self.distributions: tuple[Distribution, ...] = ()
        self._bare: Mapping[str, FileState] = {}
        self._evicted: frozenset[str] = frozenset()
        self._hashes: dict[str, str] = {}
        self._states: dict[str, FileState] = {}
        self._compiled: frozenset[str] = frozenset()

    @property
    def packages(self) -> Path:
        return self.cell / self.site

    def is_bare(self) -> None:
        """Record the present files, with a copy, as the interpreter's; nothing is installed yet."""
        self._bare = _states(self.cell, ("venv",))
        shutil.copytree(self.cell / "venv", self.cell / "bare", symlinks=True)

    @contextlib.contextmanager
    def beside(self) -> Iterator[None]:
        """Show an installer a bare environment, as it queries its interpreter; merge new files."""
        before, venv = self.cell / "before", self.cell / "venv"
        venv.rename(before)
        shutil.copytree(self.cell / "bare", venv, symlinks=True)
        yield
        venv.rename(self.cell / "added")
        before.rename(venv)
        for path in _states(self.cell, ("added",)):
            target = self.cell / path.replace("added", "venv", 1)
            if path.replace("added", "venv", 1) not in self._bare:
                target.parent.mkdir(parents=True, exist_ok=True)
                (self.cell / path).replace(target)
        remove_tree(self.cell / "added")

    def evict(self) -> tuple[str, ...]:
        """Restore the interpreter's own files, and return files that wheels put beside them, now
        removed.

        Each is returned as `package: file`; no code of the cell ran yet. An interpreter reads its
        settings from its environment's root, or from the folder of its executable, before any code
        runs: https://docs.python.org/3/library/site.html. So wheels may not put files at the root
        or in the standard library's folder beside site-packages. Nor may they use a file name of
        the bare environment. The same holds for `*._pth`, which Python reads beside its executable
        (3.11 and later: Modules/getpath.py). Data in separate folders is allowed.
        """
        library = posixpath.dirname(self.site)
        names = {posixpath.basename(path) for path in self._bare}
        states = _states(self.cell, ("venv",), but=self.site)
        evicted = [
            path
            for path in states.keys() - self._bare.keys()
            if posixpath.dirname(path) == "venv"
            or path.startswith(f"{library}/")
            or posixpath.basename(path) in names
            or path.endswith("._pth")
        ]
        for path, state in self._bare.items():
            place, copy = self.cell / path, self.cell / "bare" / path.removeprefix("venv/")
            if path in states and (states[path] == state or _is_copy(place, copy)):
                continue
            evicted.append(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            remove_tree(place)
            shutil.copy2(copy, place, follow_symlinks=False)
        # The installer leaves an empty lock there.
        full = [path for path in evicted if path in self._bare or states[path].size]
        owners = {
            posixpath.normpath(f"{self.site}/{name}"): distribution.name
            for distribution in (distributions_in(self.cell, self.site) if full else ())
            for name in distribution.files
        }
        names_of_files = sorted(
            f"{owners.get(path, 'no package')}: {path.removeprefix('venv/')}" for path in full
        )
        for path in evicted:
            if path not in self._bare:
                (self.cell / path).unlink()
        self._evicted = frozenset(evicted)
        return tuple(names_of_files)

    def compare_shared(self) -> tuple[Wrong, ...]:
        """Like `compare`, for an environment whose bytecode was made before it was shared."""
        states = _states(self.cell, self._code_folders)
        self._bare = {path: state for path, state in states.items() if _is_cached(path)}
        return self.compare()

    def split(self, names: Collection[str], other: "Environment") -> None:
        """Call after `compare` and before code of the cell runs: moved files are not read again."""
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
            if source.parent not in emptied:
                emptied.update(above for above in source.parents if self.packages in above.parents)
        # An empty folder can be imported as a namespace.
        for folder in sorted(emptied, key=lambda folder: len(folder.parts), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def join(self, other: "Environment") -> None:
        """Append another environment's packages to the path of this interpreter and children."""
        path = f"{self.site}/{_JOINED}"
        line = f"import site; site.addsitedir({str(other.packages)!r})\n"
        (self.cell / path).write_text(line, encoding="utf-8")
        self._states[path] = FileState.of((self.cell / path).lstat())

    def compare(self) -> tuple[Wrong, ...]:
        """Read and hash each installed file; return those that differ from their RECORD, sorted."""
        self.distributions = tuple(distributions_in(self.cell, self.site))
        self._hashes = {}
        wrong = set()
        for distribution in self.distributions:
            for name, expected in distribution.files.items():
                path = posixpath.normpath(f"{self.site}/{name}")
                if path in self._evicted:
                    continue
                is_inside = path.startswith("venv/")
                self._hashes[path] = self._hash_of(path, expected) if is_inside else ""
                if expected and self._hashes[path] != expected:
                    package = f"{distribution.name}=={distribution.version}"
                    wrong.add(Wrong(package, name, self._hashes[path]))
        states = _states(self.cell, self._code_folders)
        for path in states.keys() - self._bare.keys() - self._hashes.keys():
            wrong.add(Wrong("", path.removeprefix(f"{self.site}/"), self._hash_of(path, "")))
        return tuple(sorted(wrong))

    def _hash_of(self, path: str, expected: str) -> str:
        # Code of the cell cannot have made the file yet.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return _hash(partial(os.open, self.cell / path, flags), expected)

    def record_of(self, distribution: Distribution) -> str:
        """A digest that is equal in each cell; call after `compare`. Scripts count by content."""
        info = re.compile(rf"[^/]+\.dist-info/(?:{'|'.join(map(re.escape, _OF_INSTALLER))})")
        rows = []
        for name, expected in sorted(distribution.files.items()):
            path = posixpath.normpath(f"{self.site}/{name}")
            content = _content(self.cell, path) if path.startswith("venv/bin/") else b""
            # A script counts without the lines that name its interpreter.
            match = _LAUNCHER.match(content)
            script = hashlib.sha256(content[match.end() :]).hexdigest() if match else ""
            if not info.fullmatch(name):
                rows.append(f"{name}\0{script or expected or self._hashes.get(path, '')}\n")
        return hashlib.sha256("".join(rows).encode(errors="surrogateescape")).hexdigest()

    def settle(self, *folders: str) -> None:
        self._states = _states(self.cell, folders)

    def installed_mb(self) -> float:
        sizes = (
            state.size
            for path, state in self._states.items()
            if path.startswith("venv/") and not _is_cached(path)
        )
        return round(sum(sizes) / MIB, 1)

    def changed(self, *folders: str) -> tuple[str, ...]:
        """Return what differs since `settle`: changed or removed files, and new ones that hold
        code.

        Bytecode in its usual place is ignored: child processes may leave it, see `remove_bytecode`.
        A file with a known hash and only a changed state is read again, because other cells link
        and unlink the installer's files. Paths are below site-packages, or else below the cell.
        """
        states = _states(self.cell, folders)
        new = states.keys() - self._states.keys()
        self._compiled = frozenset(filter(_is_cached, new))
        changed = {path for path in new - self._compiled if path.endswith(_CODE)}
        changed |= self._states.keys() - states.keys()
        for path in states.keys() & self._states.keys():
            before, now, known = self._states[path], states[path], self._hashes.get(path, "")
            if before == now:
                continue
            is_alike = known and (before.size, before.mode) == (now.size, now.mode)
            if not is_alike or _hash(partial(open_plain, self.cell, path), known) != known:
                changed.add(path)
        return tuple(sorted(path.removeprefix(f"{self.site}/") for path in changed))

    def remove_bytecode(self) -> None:
        """The next step must compile the sources themselves."""
        for path in self._compiled:
            (self.cell / path).unlink(missing_ok=True)

    def startup(self) -> tuple[str, ...]:
        """List start-up files as `package: file`. A `.pth` file may run code or add folders."""
        folders, at_start = {""}, set()
        for distribution in self.distributions:
            for name in distribution.files:
                if name.endswith(".pth") and "/" not in name:
                    content = _content(self.cell, f"{self.site}/{name}")
                    # Which characters end or precede a line differs between Pythons.
                    if b"import" in content or len(content) == _MOST_METADATA:
                        at_start.add(f"{distribution.name}: {name}")
                    else:
                        lines = content.decode(errors="replace").splitlines()
                        folders |= set(map(posixpath.normpath, lines))
        for distribution in self.distributions:
            for name in distribution.files:
                if _imported_as(name, folders) in _AT_START:
                    at_start.add(f"{distribution.name}: {name}")
        return tuple(sorted(at_start))

    def plugins(self) -> tuple[str, ...]:
        """Return the plugins that pytest discovers, as `package: plugin`."""
        loaded = set()
        for distribution in self.distributions:
            for name in filter(_ENTRY_POINTS.fullmatch, distribution.files):
                try:
                    points = _Listed(_content(self.cell, f"{self.site}/{name}")).entry_points
                    plugins = [point.name for point in points if point.group == "pytest11"]
                except (TypeError, ValueError):
                    plugins = ["of a form that cannot be read"]
                loaded |= {f"{distribution.name}: {plugin}" for plugin in plugins}
        return tuple(sorted(loaded))


class _Listed(importlib.metadata.Distribution):
    def __init__(self, points: bytes) -> None:
        self._points = points.decode(errors="replace")

    def read_text(self, filename: str) -> str | None:
        return self._points if filename == "entry_points.txt" else None

    def locate_file(self, path: object) -> Path:
        raise NotImplementedError


class Seals:
    """Digests of each wheel's RECORD as downloaded and verified, and of the files that differ from
    it.

    Stored by the hashes of the pin, in a folder that no step of a cell can write to at L3. Cached
    files are compared with them, which detects a changed file with a changed RECORD.
    """

    def __init__(self, folder: Path, interpreter: str) -> None:
        self._folder = folder
        self._interpreter = interpreter

    def unknown(self, pins: Iterable[Pin]) -> list[Pin]:
        return [pin for pin in pins if not self._place(pin).exists()]

    def broken(
        self, environment: Environment, pins: Iterable[Pin], wrong: Iterable[Wrong]
    ) -> list[Pin]:
        noted = {pin: self._lines(pin) for pin in pins}
        held = {d.name: d for d in environment.distributions}
        differing = _differing(environment, wrong)
        # Where no RECORD names a file, any of the wheels may have installed it.
        beside = {line for lines in noted.values() for line in lines[1:]}
        if any(noted.values()) and not differing.get("", set()) <= beside:
            return list(noted)
        return [
            pin
            for pin, lines in noted.items()
            if lines
            and pin.name in held
            and (
                lines[0] != environment.record_of(held[pin.name])
                or not differing.get(pin.name, set()) <= set(lines[1:])
            )
        ]

    def keep(self, environment: Environment, pins: Iterable[Pin], wrong: Iterable[Wrong]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        held = {d.name: d for d in environment.distributions}
        differing = _differing(environment, wrong)
        for pin in pins:
            if pin.name in held:
                own = differing.get(pin.name, set()) | differing.get("", set())
                lines = [environment.record_of(held[pin.name]), *sorted(own)]
                files.write(self._place(pin), "".join(f"{line}\n" for line in lines))

    def forget(self, pins: Iterable[Pin]) -> None:
        for pin in pins:
            self._place(pin).unlink(missing_ok=True)

    def _lines(self, pin: Pin) -> list[str]:
        return (files.read_if_present(self._place(pin)) or b"").decode().splitlines()

    def _place(self, pin: Pin) -> Path:
        text = "\n".join((self._interpreter, pin.name, str(pin.version), *pin.hashes))
        return self._folder / hashlib.sha256(text.encode()).hexdigest()


def _differing(environment: Environment, wrong: Iterable[Wrong]) -> dict[str, set[str]]:
    """A file that matches another RECORD is omitted: two wheels install it, one of them last."""
    rows = {row for d in environment.distributions for row in d.files.items()}
    differing: dict[str, set[str]] = {}
    for item in wrong:
        if not item.package or (item.path, item.digest) not in rows:
            text = "\0".join((item.path, item.digest)).encode(errors="surrogateescape")
            name = item.package.partition("=")[0]
            differing.setdefault(name, set()).add(hashlib.sha256(text).hexdigest())
    return differing


def installed(distributions: Iterable[Distribution]) -> tuple[Installed, ...]:
    pairs = {(distribution.name, distribution.version) for distribution in distributions}
    return tuple(Installed(name=name, version=version) for name, version in sorted(pairs))


def renamed_modules(distributions: Iterable[Distribution]) -> tuple[tuple[str, str], ...]:
    """Return each top-level module whose name differs from its package's, with the package, sorted.

    A module that several packages share, such as a namespace, has its own name. Each module in it
    that belongs to one package has its dotted name: `google.protobuf` is of protobuf.
    """
    owners: dict[tuple[str, ...], set[str]] = {}
    shared: set[tuple[str, ...]] = {()}
    held = tuple(distributions)
    for depth in range(1, _DEEPEST_MODULE + 1):
        members: dict[tuple[str, ...], set[str]] = {}
        for distribution in held:
            for name in _modules_at(distribution, depth):
                is_renamed = canonicalize_name(name[0]) != distribution.name
                if name[:-1] in shared and (depth > 1 or is_renamed):
                    members.setdefault(name, set()).add(distribution.name)
        shared = {name for name, packages in members.items() if len(packages) > 1}
        owners |= members
    return tuple(
        (".".join(name), next(iter(packages)) if len(packages) == 1 else name[0])
        for name, packages in sorted(owners.items())
        if len(packages) == 1 or len(name) == 1
    )


def bringing(distributions: Iterable[Distribution], module: str) -> str:
    return next((d.name for d in distributions if (module,) in _modules_at(d, 1)), "")


def top_modules(distributions: Iterable[Distribution], package: str) -> tuple[str, ...]:
    own = [d for d in distributions if d.name == canonicalize_name(package)]
    return tuple(sorted({name for d in own for (name,) in _modules_at(d, 1)}))


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
    """Yield each path of a RECORD with its hash, if it has one; RECORD itself has none."""
    lines = record.decode("utf-8", errors="replace").splitlines()
    try:
        for row in csv.reader(lines):
            if row and row[0]:
                expected = row[1].rstrip("=") if len(row) > 1 else ""
                algorithm = expected.partition("=")[0]
                yield posixpath.normpath(row[0]), expected if algorithm in _STRONG else ""
    except csv.Error:
        return


def _hash(opened: Callable[[], int], expected: str) -> str:
    """Hash a file as RECORD writes it, by the expected hash's algorithm (default sha256); empty
    when it is not a plain file.
    """
    algorithm = expected.partition("=")[0] or "sha256"
    digest = hashlib.new(algorithm)
    try:
        with open(opened(), "rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return ""
    return f"{algorithm}={base64.urlsafe_b64encode(digest.digest()).rstrip(b'=').decode()}"


def _imported_as(path: str, folders: Collection[str]) -> str:
    """The module that a file is at the top of one of these folders; empty for none."""
    folder, name = posixpath.split(path)
    module, dot, end = name.partition(".")
    suffixes = (*importlib.machinery.SOURCE_SUFFIXES, *importlib.machinery.BYTECODE_SUFFIXES)
    # An extension module's suffix has the interpreter's tag before `.so`, which may not be ours.
    if dot + end not in suffixes and not name.endswith(".so"):
        return ""
    if module == _PACKAGE:
        folder, module = posixpath.split(folder)
    return module if folder in folders else ""


def _is_copy(path: Path, copy: Path) -> bool:
    if path.is_symlink() or copy.is_symlink():
        both = path.is_symlink() and copy.is_symlink()
        return both and os.readlink(path) == os.readlink(copy)
    return path.is_file() and path.read_bytes() == copy.read_bytes()


def _is_cached(path: str) -> bool:
    return path.endswith(".pyc") and "/__pycache__/" in path


def _states(cell: Path, folders: Iterable[str], but: str = "") -> dict[str, FileState]:
    """Without links and excluded folders. Unlistable paths are omitted: they count as removed."""
    states: dict[str, FileState] = {}
    waiting = list(folders)
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(cell / folder) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        waiting += [path] if path != but else []
                        continue
                    states[path] = FileState.of(entry.stat(follow_symlinks=False))
        except OSError:
            continue
    return states
