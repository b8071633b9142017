"""A suite as cells get it: the folder beside matrix.toml, or a copy of the project's own tests.

Of the repository a copy holds the tests, the conftest.py of the folders above them and the settings
of pytest, and nothing else: the library is the one that is installed in the cell. Tests inside of a
package that import from above themselves become a part of the installed one.
"""

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from compat import files
from compat.declare.capabilities import MARK, SETTINGS, TEST_FILES, reach_above
from compat.declare.faults import Finding, faults_of
from compat.declare.matrix import Matrix
from compat.declare.project import (
    SETTINGS_FILES,
    ProjectSettings,
    cell_settings,
    settings_in,
)
from compat.declare.suite import asked_names
from compat.errors import DeclarationError

# The largest folder of tests that is copied into each cell, in bytes; pandas has 40 MB.
MOST_BYTES = 300_000_000
_TEST_FOLDERS = ("test", "tests", "testing")
_LEFT_OUT = ("__pycache__", "node_modules")
INIT = "__init__.py"
_IMPORTS = re.compile(rb"^[ \t]*(?:from|import) +(\w+)", re.MULTILINE)


def placed_suite(folder: Path, matrix: Matrix, cache: Callable[[], Path]) -> Path:
    """Return the folder of a suite: the one beside matrix.toml; of a project's own tests a copy
    below the cache folder, under the digest of what is in it.

    `folder` is that of the matrix. Raises DeclarationError for tests that are not there, lie
    outside the repository by a link, or are too large.
    """
    if matrix.suite.path:
        return folder / matrix.suite.path
    repository = folder.parents[1]
    contents = dict(_contents(repository, matrix))
    contents |= dict(_helpers(repository, matrix, contents))
    names = asked_names(matrix)
    own = project_settings(repository, matrix.suite.tests)
    contents[SETTINGS] = cell_settings(own, matrix.suite.arguments, names).encode()
    contents |= dict.fromkeys(_packages(repository, matrix, contents), MARK)
    digest = hashlib.sha256()
    for name in sorted(contents):
        digest.update(name.encode() + b"\0" + hashlib.sha256(contents[name]).digest())
    place = cache() / "suites" / digest.hexdigest()
    if not place.is_dir():
        # Under another name first: a copy is there whole, or not at all.
        part = files.new_folder(place.with_suffix(".part"))
        for name, content in contents.items():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).write_bytes(content)
        with contextlib.suppress(OSError):
            part.rename(place)
    return place


def _contents(repository: Path, matrix: Matrix) -> Iterator[tuple[str, bytes]]:
    tests = repository / matrix.suite.tests
    if not tests.exists():
        raise _fault(matrix, f"the repository has no {matrix.suite.tests!r}", "name its tests")
    top, size, is_package = _top(repository, tests), 0, _holds_tests(repository, tests)
    above = [parent / "conftest.py" for parent in top.parents if _is_in(parent, repository)]
    below = (
        sorted(top.rglob("*")) if top.is_dir() else [top, *sorted(top.parent.glob("conftest.py"))]
    )
    for path in (*above, *below):
        parts = path.relative_to(repository).parts
        if not path.is_file() or any(p in _LEFT_OUT or p.startswith(".") for p in parts):
            continue
        if is_package and not (_in_tests(parts) or path.name == "conftest.py"):
            continue
        if not _is_in(path.resolve(), repository.resolve()):
            message = f"{'/'.join(parts)} is a link out of the repository"
            raise _fault(matrix, message, "copy the file into the tests")
        content = files.read(path)
        size += len(content)
        if size > MOST_BYTES:
            message = f"{matrix.suite.tests!r} holds more than {MOST_BYTES // 1_000_000} MB"
            raise _fault(matrix, message, "name a smaller folder")
        yield "/".join(parts), content


def _in_tests(parts: Iterable[str]) -> bool:
    return any(part in _TEST_FOLDERS for part in parts)


def _holds_tests(repository: Path, tests: Path) -> bool:
    """Whether tests are a package of the library, with a folder of them in each of its parts: of
    such a package the installed one is tested, and the folders of tests alone are copied.
    """
    if _in_tests(tests.relative_to(repository).parts) or not (tests / INIT).exists():
        return False
    paths = [p.relative_to(repository).parts for kind in TEST_FILES for p in tests.rglob(kind)]
    return bool(paths) and all(map(_in_tests, paths))


def _helpers(
    repository: Path, matrix: Matrix, contents: Mapping[str, bytes]
) -> Iterator[tuple[str, bytes]]:
    """Yield what tests import from beside themselves, at the top of the repository: it is no part
    of the library, and a plain run finds it.
    """
    texts = [content for name, content in contents.items() if name.endswith(".py")]
    names = {name.decode() for text in texts for name in _IMPORTS.findall(text)}
    own = {matrix.suite.module.partition(".")[0], matrix.subject_axis.normalised_name, "setup"}
    for name in sorted(names - own - {path.partition("/")[0] for path in contents}):
        folder = repository / name
        has_code = next(folder.rglob("*.py"), None) is not None
        below = sorted(folder.rglob("*")) if has_code else ()
        for path in (repository / f"{name}.py", *below):
            parts = path.relative_to(repository).parts
            if any(part in _LEFT_OUT or part.startswith(".") for part in parts):
                continue
            if path.is_file() and _is_in(path.resolve(), repository.resolve()):
                yield path.relative_to(repository).as_posix(), files.read(path)


def _top(repository: Path, tests: Path) -> Path:
    """The topmost folder that is called like one of tests: helpers may stand above those named."""
    inside = tests.relative_to(repository)
    for number, part in enumerate(inside.parts, start=1):
        if part in _TEST_FOLDERS:
            return repository.joinpath(*inside.parts[:number])
    return tests


def _packages(repository: Path, matrix: Matrix, contents: Mapping[str, bytes]) -> tuple[str, ...]:
    top = _top(repository, repository / matrix.suite.tests)
    if _holds_tests(repository, top):
        inner = {
            folder
            for name in contents
            for folder in Path(name).parents
            if not _in_tests(folder.parts) and (repository / folder / INIT).exists()
        }
        return tuple((folder / INIT).as_posix() for folder in sorted(inner))
    packages: list[Path] = []
    for folder in top.parents if (top / INIT).exists() else ():
        if folder == repository or not (folder / INIT).exists():
            break
        packages.insert(0, folder)
    if not packages:
        return ()
    above = f"{packages[-1].relative_to(repository).as_posix()}/"
    texts = {
        name.removeprefix(above): content.decode(errors="replace")
        for name, content in contents.items()
        if name.endswith(".py") and "/" in name.removeprefix(above)
    }
    if not reach_above(texts, ".".join(folder.name for folder in packages)):
        return ()
    return tuple((folder / INIT).relative_to(repository).as_posix() for folder in packages)


def project_settings(repository: Path, below: str = "") -> ProjectSettings | None:
    """Return the settings that pytest itself would read: the nearest at the tests or above them."""
    tests = repository / below
    for folder in (tests, *tests.parents):
        for name in SETTINGS_FILES if _is_in(folder, repository) else ():
            content = files.read_if_there(folder / name) if folder.is_dir() else None
            if content is None:
                continue
            settings = settings_in(name, content.decode(errors="replace"))
            if settings is not None:
                return settings
    return None


def _is_in(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents


def _fault(matrix: Matrix, message: str, hint: str) -> DeclarationError:
    source = f"matrices/{matrix.name}/matrix.toml"
    finding = Finding("suite", ("suite", "tests"), message, hint)
    return DeclarationError(*faults_of(source, [finding]))
