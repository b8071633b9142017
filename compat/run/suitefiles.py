"""The files of a suite as a cell gets them: the folder, the digest, and the tests to collect."""

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from compat import files
from compat.declare.capabilities import (
    MARK,
    SETTINGS,
    TEST_FILES,
    collectable_tests,
    core_ids,
    core_tests,
    expected_ids,
    reach_above,
    requested_names,
    with_table,
)
from compat.declare.matrix import Matrix, Suite, Tier
from compat.declare.parsing import suite_faults_at
from compat.declare.project import (
    SETTINGS_FILES,
    ProjectSettings,
    cell_settings,
    noted_settings,
    settings_in,
    split_options,
)
from compat.errors import DeclarationError
from compat.files import read_if_present

# Plugins that a plain pytest run would load and a cell does not, unless it tests one. A retry hides
# a failure. A shuffled order gives equal cells different tests. All others are loaded; options that
# activate xdist, coverage and the like are dropped from the settings.
LEFT_OUT = ("pytest-rerunfailures", "flaky", "pytest-retry", "pytest-randomly")


def python_texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*.py"))
    }


def packages_above(folder: Path, tests: str) -> dict[str, str]:
    """By dotted name: those above a project that installed ones replace, outermost first."""
    packages: dict[str, str] = {}
    parts: list[str] = []
    place = folder
    for part in tests.split("/"):
        place /= part
        if read_if_present(place / "__init__.py") == MARK:
            parts.append(part)
            packages[".".join(parts)] = place.relative_to(folder).as_posix()
    # Where the tests are a whole package, its parts hold them.
    for init in sorted(place.rglob("*/__init__.py")) if parts else ():
        if read_if_present(init) == MARK:
            below = init.parent.relative_to(place).parts
            packages[".".join((*parts, *below))] = init.parent.relative_to(folder).as_posix()
    return packages


def settings_texts(folder: Path) -> dict[str, str]:
    contents = {name: read_if_present(folder / name) for name in SETTINGS_FILES}
    return {
        name: content.decode(errors="replace")
        for name, content in contents.items()
        if content is not None
    }


def suite_contents(folder: Path) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_hidden = "__pycache__" in parts or any(part.startswith(".") for part in parts)
        if path.is_file() and not is_hidden:
            contents["/".join(parts)] = path.read_bytes()
    return contents


def suite_digest(folder: Path) -> str:
    """A table generated from records, between its marks in a document, is excluded."""
    contents = suite_contents(folder)
    for name in [name for name in contents if name.endswith(".md")]:
        with contextlib.suppress(ValueError):
            contents[name] = with_table(contents[name].decode(), "").encode()
    return _digest(contents.items())


def _digest(contents: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in contents:
        digest.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return digest.hexdigest()


def suite_tests(folder: Path, below: str = "") -> frozenset[str]:
    """Return the tests that pytest collects whatever is installed; `below` is a file or folder."""
    tests = collectable_tests(_texts(folder))
    return frozenset(
        test for test in tests if not below or test.startswith((f"{below}/", f"{below}::"))
    )


def left_out_tests(
    folder: Path, tests: Iterable[str], left_out: Iterable[tuple[str, str]], newer: Iterable[str]
) -> frozenset[str]:
    """Those newer than the release, or reported as skipped for a mark that a file has."""
    mark_of = {test: mark for mark, test in left_out}
    names = frozenset(newer)
    texts = python_texts(folder)
    shared = "".join(text for path, text in texts.items() if path.endswith("conftest.py"))
    return frozenset(
        test
        for test in tests
        if not names.isdisjoint((test, test.partition("::")[0]))
        or f"mark.{mark_of.get(test, ' ')}" in texts.get(test.partition("::")[0], "") + shared
    )


def suite_notes(
    suite: Suite, folder: str, left_out: Iterable[tuple[str, str]] = ()
) -> tuple[str, ...]:
    if not folder or not suite.tests:
        return ()
    settings = read_if_present(Path(folder) / SETTINGS) or b""
    notes = [*noted_settings(settings.decode(errors="replace"))]
    tests: dict[str, list[str]] = {}
    for why, test in dict.fromkeys(left_out):
        tests.setdefault(why, []).append(test)
    for why, names in tests.items():
        examples = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        because = (
            "they are newer than the release"
            if why == "newer"
            else f"they are marked {why}, and a cell has no network"
        )
        notes.append(f"not run: {len(names)} of the tests, as {because}: {examples}")
    if not suite_tests(Path(folder), suite.tests):
        because = "the tests are chosen by conftest.py, by settings or by arguments"
        notes.append(f"which tests must be collected is not known from the files alone: {because}")
    return tuple(notes)


def suite_core(folder: Path, patterns: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The ids of the core, and the tests that must report under them."""
    texts = _texts(folder)
    ids = core_ids(patterns, texts)
    return ids, core_tests(ids, texts)


def expected_capabilities(folder: Path, suite: Suite) -> dict[Tier, frozenset[str]]:
    """As far as files show. None for a project's own tests: a cell skips newer ones."""
    if suite.tests:
        return {}
    texts = _texts(folder)
    owed = expected_ids(texts)
    return {"full": owed, "smoke": owed & core_ids(suite.core, texts)}


def _texts(folder: Path) -> dict[str, str]:
    contents = suite_contents(folder)
    return {name: content.decode(errors="replace") for name, content in contents.items()}


# The largest folder of tests that is copied into each cell, in bytes; pandas has 40 MB.
MOST_BYTES = 300_000_000
_TEST_FOLDERS = ("test", "tests", "testing")
_NO_TESTS = ("__pycache__", "node_modules")
INIT = "__init__.py"
_IMPORTS = re.compile(rb"^[ \t]*(?:from|import) +(\w+)", re.MULTILINE)


def placed_suite(folder: Path, matrix: Matrix, cache: Callable[[], Path]) -> Path:
    """Return the folder of a suite: the one beside matrix.toml, or a cached copy of a project's
    tests.

    The copy is named by its digest. `folder` is that of the matrix. Raises DeclarationError for
    tests that do not exist, lie outside the repository by a link, or are too large.
    """
    if matrix.suite.path:
        return folder / matrix.suite.path
    repository = folder.parents[1]
    contents = dict(_contents(repository, matrix))
    contents |= dict(_helpers(repository, matrix, contents))
    names = requested_names(matrix)
    own = project_settings(repository, matrix.suite.tests)
    contents[SETTINGS] = cell_settings(own, matrix.suite.arguments, names).encode()
    contents |= dict.fromkeys(_packages(repository, matrix, contents), MARK)
    place = cache() / "suites" / _digest(sorted(contents.items()))
    if not place.is_dir():
        # Written under another name first: a copy is complete or absent.
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
    above = [parent / "conftest.py" for parent in top.parents if parent.is_relative_to(repository)]
    below = (
        sorted(top.rglob("*")) if top.is_dir() else [top, *sorted(top.parent.glob("conftest.py"))]
    )
    for path in filter(partial(_is_copied, repository), (*above, *below)):
        parts = path.relative_to(repository).parts
        if is_package and not (_in_tests(parts) or path.name == "conftest.py"):
            continue
        if not path.resolve().is_relative_to(repository.resolve()):
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
    """A package with folders of tests in each part is installed; only these are copied."""
    if _in_tests(tests.relative_to(repository).parts) or not (tests / INIT).exists():
        return False
    paths = [p.relative_to(repository).parts for kind in TEST_FILES for p in tests.rglob(kind)]
    return bool(paths) and all(map(_in_tests, paths))


def _helpers(
    repository: Path, matrix: Matrix, contents: Mapping[str, bytes]
) -> Iterator[tuple[str, bytes]]:
    """Not part of the library, but a plain run finds it at the top of the repository."""
    texts = [content for name, content in contents.items() if name.endswith(".py")]
    names = {name.decode() for text in texts for name in _IMPORTS.findall(text)}
    own = {matrix.suite.module.partition(".")[0], matrix.subject_axis.normalised_name, "setup"}
    for name in sorted(names - own - {path.partition("/")[0] for path in contents}):
        folder = repository / name
        has_code = next(folder.rglob("*.py"), None) is not None
        below = sorted(folder.rglob("*")) if has_code else ()
        for path in filter(partial(_is_copied, repository), (repository / f"{name}.py", *below)):
            if path.resolve().is_relative_to(repository.resolve()):
                yield path.relative_to(repository).as_posix(), files.read(path)


def _is_copied(repository: Path, path: Path) -> bool:
    parts = path.relative_to(repository).parts
    return path.is_file() and not any(p in _NO_TESTS or p.startswith(".") for p in parts)


def _top(repository: Path, tests: Path) -> Path:
    """The topmost folder named like one of tests: helpers may lie above the named ones."""
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
    tests, top = repository / below, folders_above(repository)[-1]
    for folder in (tests, *tests.parents):
        for name in SETTINGS_FILES if folder.is_relative_to(top) else ():
            content = files.read_if_present(folder / name) if folder.is_dir() else None
            if content is None:
                continue
            settings = settings_in(name, content.decode(errors="replace"))
            if settings is not None:
                return settings
    return None


def own_option(repository: Path, tests: str, *names: str) -> str:
    """Return the value that the project's settings give an option of pytest; empty without one."""
    addopts = (project_settings(repository, tests) or {}).get("addopts", "")
    options = list(map(str, addopts)) if isinstance(addopts, list) else split_options(addopts)
    for word, following in zip(options, (*options[1:], ""), strict=False):
        for name in names:
            if word == name:
                return following
            if word.startswith(f"{name}=" if name.startswith("--") else name):
                return word.removeprefix(name).removeprefix("=")
    return ""


def folders_above(folder: Path) -> list[Path]:
    """Return a folder and those above it in its git repository, such as a workspace's."""
    every = [folder, *folder.parents]
    tops = [n for n, place in enumerate(every) if (place / ".git").exists()]
    return every[: tops[0] + 1] if tops else every[:1]


def _fault(matrix: Matrix, message: str, hint: str) -> DeclarationError:
    source = f"matrices/{matrix.name}/matrix.toml"
    return DeclarationError(*suite_faults_at(source, ("tests",), message, hint))
