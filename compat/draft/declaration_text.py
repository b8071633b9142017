"""The texts that a draft consists of: matrix.toml, policy.toml and a first suite."""

import json
from collections.abc import Iterable, Iterator, Sequence

from packaging.version import Version

from compat.declare.selector import Selector
from compat.value import Value


class DraftAxis(Value, frozen=True, kw_only=True):
    """A package axis as it is proposed, with its floor (None for the subject) and the reasons."""

    name: str
    short: str
    package: str
    selector: Selector
    because: str
    floor: Version | None = None
    floor_because: str = ""
    is_bounded: bool = False


class DraftMatrix(Value, frozen=True, kw_only=True):
    """A matrix as it is proposed; `suite` are the lines of its table `[suite]`."""

    name: str
    title: str
    subject: str
    platform: str
    pythons: tuple[Version, ...]
    python_because: str
    axes: tuple[DraftAxis, ...]
    suite: tuple[str, ...]
    quick: tuple[str, ...] = ()
    relaxed: tuple[str, ...] = ()


def matrix_text(matrix: DraftMatrix, day: str) -> str:
    quick = [f"  {_quoted(cell)}," for cell in matrix.quick]
    lines = [
        f"# Proposed by `compat init` on {day}. All of it is yours to change;",
        "# `compat check` names what does not fit.",
        f"name = {_quoted(matrix.name)}",
        f"title = {_quoted(matrix.title)}",
        f"subject = {_quoted(matrix.subject)}",
        "# Locks install on this and every newer glibc.",
        f"platform = {_quoted(matrix.platform)}",
        "margin_days = 30",
        *(
            ["# The smoke cells of `compat run --quick`.", "quick = [", *quick, "]"]
            if quick
            else []
        ),
        "",
        "[suite]",
        *matrix.suite,
        "",
        f"# {matrix.python_because}.",
        "[[axes]]",
        'kind = "interpreter"',
        'name = "python"',
        'short = "py"',
        f"releases = {_array(map(str, matrix.pythons))}",
    ]
    for axis in matrix.axes:
        lines += _axis(axis)
    lines += _floor("python", matrix.pythons[0], matrix.python_because)
    for axis in matrix.axes:
        if axis.floor is not None:
            lines += _floor(axis.name, axis.floor, axis.floor_because)
    for axis in matrix.axes:
        if axis.name in matrix.relaxed:
            lines += _rule(axis)
    return "\n".join(lines) + "\n"


def policy_text() -> str:
    return "\n".join(
        [
            "# How the floors move: `compat propose` does the arithmetic aloud.",
            "default_months = 24      # how long an axis keeps a version",
            'cadence = "quarterly"    # floors rise on the first day of a quarter',
            "notice_days = 60         # how long before that day a move is announced",
            "witnesses = 2            # passing runs, on different days, that a move needs",
            "",
            "[[windows]]",
            'axis = "python"',
            "end_of_life = true",
            'because = "A Python without security fixes upstream is not supported."',
            "",
        ]
    )


def import_test(module: str, title: str) -> str:
    # Return the text of a suite that asks for the import alone, and whether what the module offers
    # by `__all__` is there.
    return f'''\
"""What every release of {title} promises. Add what your users count on: one test a capability."""

import importlib

import pytest


@pytest.mark.capability("import", title="Import", says="The package imports.")
def test_the_package_imports():
    importlib.import_module({_quoted(module)})


@pytest.mark.capability("import.names", title="Names", says="What `__all__` names can be used.")
def test_what_it_offers_is_there():
    package = importlib.import_module({_quoted(module)})
    missing = [name for name in getattr(package, "__all__", ()) if not hasattr(package, name)]
    assert not missing
'''


def toml_line(key: str, value: str | Sequence[str]) -> str:
    return f"{key} = {_quoted(value) if isinstance(value, str) else _array(value)}"


def _axis(axis: DraftAxis) -> Iterator[str]:
    specifier = str(axis.selector.specifier)
    select = [f"specifier = {_quoted(specifier)}"] if specifier else []
    select.append(f"keep = {_quoted(axis.selector.keep)}")
    yield from ("", f"# {axis.because}.", "[[axes]]", 'kind = "package"')
    yield toml_line("name", axis.name)
    yield toml_line("short", axis.short)
    yield toml_line("package", axis.package)
    yield f"select = {{ {', '.join(select)} }}"


def _floor(axis: str, at: Version, because: str) -> Iterator[str]:
    yield from ("", "[[floors]]", toml_line("axis", axis), toml_line("at", str(at)))
    yield toml_line("because", because)


def _rule(axis: DraftAxis) -> Iterator[str]:
    because = f"Relaxed cells ask the code, not the metadata, whether a newer {axis.package} works."
    yield from ("", "[[rules]]", toml_line("name", f"newer-{axis.name}"[:40]), 'effect = "relax"')
    yield toml_line("because", because)
    yield f'when = {{ {axis.name} = "newer" }}'
    yield f'relaxations = [{{ package = {_quoted(axis.package)}, to = "any" }}]'


def _array(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"


def _quoted(text: str) -> str:
    # A JSON string is a TOML basic string, but for the delete character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
