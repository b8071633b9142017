"""The files of a suite, as a cell gets them: their digest, and the tests that pytest has to collect
from them.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from compat.declare.capabilities import with_table
from compat.declare.collectable import collectable_tests
from compat.declare.core_capabilities import core_ids, core_tests
from compat.declare.suite_plugins import OTHER_SETTINGS, SETTINGS
from compat.files import read_if_there
from compat.value import Value


def _suite_files(folder: Path) -> Iterator[Path]:
    """Yield the files that belong to a suite, by name."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if (
            path.is_file()
            and "__pycache__" not in parts
            and not any(part.startswith(".") for part in parts)
        ):
            yield path


def python_texts(folder: Path) -> dict[str, str]:
    """Return the Python files of a suite, by their path below it."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*.py"))
    }


def settings_texts(folder: Path) -> dict[str, str]:
    """Return the files of a suite's folder in which pytest's settings may stand, by name."""
    contents = {name: read_if_there(folder / name) for name in (SETTINGS, *OTHER_SETTINGS)}
    return {
        name: content.decode(errors="replace")
        for name, content in contents.items()
        if content is not None
    }


def suite_digest(folder: Path) -> str:
    """Return the sha256 over the names and contents of a suite's files.

    A table made from records, between its marks in a document, has no part in it: it is no question
    but the answers.
    """
    digest = hashlib.sha256()
    for path in _suite_files(folder):
        parts = path.relative_to(folder).parts
        digest.update("/".join(parts).encode() + b"\0" + hashlib.sha256(_asked(path)).digest())
    return digest.hexdigest()


def _asked(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".md":
        return content
    try:
        return with_table(content.decode(), "").encode()
    except ValueError:
        return content


def suite_tests(folder: Path) -> frozenset[str]:
    """Return the tests that pytest has to collect from the suite whatever is installed, as it names
    them.
    """
    return collectable_tests(_texts(folder))


class SuiteCore(Value, frozen=True):
    """What a smoke run asks for: the ids of the core, and the tests that must report under them."""

    ids: frozenset[str]
    tests: frozenset[str]


def suite_core(folder: Path, patterns: Sequence[str]) -> SuiteCore:
    """Return the core of the suite in a folder, as the patterns of its declaration name it."""
    texts = _texts(folder)
    ids = core_ids(patterns, texts)
    return SuiteCore(ids=ids, tests=core_tests(ids, texts))


def _texts(folder: Path) -> dict[str, str]:
    contents = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in _suite_files(folder)
    }
    return {name: content.decode(errors="replace") for name, content in contents.items()}
