"""The suite of a drafted matrix: what its table says, and the files that it needs."""

from collections.abc import Mapping

from compat.draft.declaration_text import import_test, toml_line
from compat.value import Value


class SuiteDraft(Value, frozen=True, kw_only=True):
    """A suite as it is proposed: the lines of `[suite]`, its files by their path below the matrix's
    folder, and why it is this one.

    `is_own` says that it is the library's own tests, which are those of one release.
    """

    lines: tuple[str, ...]
    texts: Mapping[str, str]
    because: str
    is_own: bool = False


def import_suite(module: str, title: str, because: str) -> SuiteDraft:
    """Return a suite that asks whether the library imports."""
    lines = (
        'path = "suite"',
        toml_line("module", module),
        'requirements = ["pytest"]',
        "# What `compat run --tier smoke` asks for: few capabilities that every release has.",
        'core = ["import"]',
    )
    texts = {"suite/test_import.py": import_test(module, title)}
    return SuiteDraft(lines=lines, texts=texts, because=because)
