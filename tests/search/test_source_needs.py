"""What a source needs of Python, and of what kind that is."""

import pytest

from compat.search.why import MOST_SOURCE_BYTES, Need, NeedKind, needs_of


def newer(source: str) -> set[tuple[int, NeedKind, str]]:
    """What needs more than Python 3.7: line, kind and series."""
    needs = needs_of(source.encode())
    assert needs is not None
    return {(n.line, n.kind, f"{n.needs[0]}.{n.needs[1]}") for n in needs if n.needs > (3, 7)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if (n := 3):\n    pass\n", {(1, "code", "3.8")}),
        ("match x:\n    case 1:\n        pass\n", {(1, "code", "3.10")}),
        ("with (open('a') as f, open('b') as g):\n    pass\n", {(1, "code", "3.9")}),
        ("import functools\n\n@functools.cache\ndef f(): ...\n", {(3, "code", "3.9")}),
        ("def f(a, /): ...\n", {(1, "code", "3.8")}),
    ],
)
def test_syntax_and_members_that_cannot_be_postponed_are_code(
    source: str, expected: set[tuple[int, NeedKind, str]]
) -> None:
    assert newer(source) == expected
    assert newer(f"from __future__ import annotations\n{source}") == {
        (line + 1, kind, series) for line, kind, series in expected
    }


@pytest.mark.parametrize(
    "source",
    [
        "def f(x: list[int]): ...\n",
        "def f(*x: list[int], **y: int): ...\n",
        "async def f() -> dict[str, int]: ...\n",
        "x: set[int] = set()\n",
        "class A:\n    x: tuple[int, int]\n",
        "import typing\n\ndef f(x: typing.Callable[[int, ...], int]): ...\n",
    ],
)
def test_annotations_that_are_evaluated_can_be_postponed(source: str) -> None:
    assert {(kind, series) for _, kind, series in newer(source)} == {("annotation", "3.9")}
    assert newer(f"from __future__ import annotations\n{source}") == set()


@pytest.mark.parametrize(
    "source",
    [
        "Pair = tuple[int, int]\n",
        "import typing\n\ndef f(x):\n    return typing.cast(list[int], x)\n",
        "class A(dict[str, int]): ...\n",
        "def f(x=list[int]): ...\n",
        "import typing\n\nStep = typing.Callable[[int, ...], int]\n",
    ],
)
def test_a_type_that_runs_stays_whatever_becomes_of_annotations(source: str) -> None:
    assert {(kind, series) for _, kind, series in newer(source)} == {("type", "3.9")}
    later = newer(f"from __future__ import annotations\n{source}")
    assert {kind for _, kind, _ in later} == {"type"}


def test_annotations_of_local_variables_are_never_evaluated() -> None:
    assert newer("def f():\n    x: list[int] = []\n    return x\n") == set()
    # In a class inside of a function they are.
    inner = "def f():\n    class A:\n        x: list[int]\n    return A\n"
    assert newer(inner) == {(3, "annotation", "3.9")}


def test_a_text_is_no_type() -> None:
    assert newer("def f(x: 'list[int]') -> 'int | None': ...\n") == set()


def test_a_union_is_counted_in_annotations_alone() -> None:
    # Which names outside of them are types, vermin has to guess.
    source = "FLAGS = READ | WRITE\n\n\ndef f(x: int | None): ...\n"
    assert newer(source) == {(4, "annotation", "3.10")}
    # Seen in pip-tools 7.4.1: sets, which vermin takes for types.
    assert newer("def f(a, b):\n    best = a\n    best |= b\n    return best\n") == set()


def test_an_annotation_has_its_own_line() -> None:
    source = (
        "def f(\n    x: dict[str, int],\n    y: int = 1,\n"
        ") -> tuple[\n    int,\n    list[str],\n]:\n"
        "    '''Grüße.'''\n\n    return x\n"
    )
    assert newer(source) == {(2, "annotation", "3.9"), (4, "annotation", "3.9")}


def test_what_follows_an_annotation_in_its_line_is_read() -> None:
    source = (
        "def f(\n    x: tuple[\n        int,\n    ] = tuple[int], y: list[int] = list[int]\n): ..."
    )
    kinds = {kind for _, kind, _ in newer(source)}
    assert kinds == {"annotation", "type"}


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    from functools import cache\nexcept ImportError:\n    cache = None\n",
        "import sys\n\nif sys.version_info >= (3, 9):\n    from functools import cache\n",
        "import typing\n\nif typing.TYPE_CHECKING:\n    from functools import cache\n",
    ],
)
def test_code_that_asks_first_is_guarded(source: str) -> None:
    assert {kind for _, kind, _ in newer(source)} == {"guarded"}


def test_a_try_without_a_fallback_for_what_is_missing_guards_nothing() -> None:
    source = "try:\n    from functools import cache\nexcept OSError:\n    pass\n"
    assert {kind for _, kind, _ in newer(source)} == {"code"}


@pytest.mark.parametrize(
    "source",
    [
        b"print 'of Python 2'\n",
        b"x = 1\0\n",
        b"# -*- coding: no-such-encoding -*-\n",
        b"x = " + b"(" * 500 + b")" * 500,
        b"x = 1\n" + b"#" * MOST_SOURCE_BYTES,
        b"\xff\xfe",
    ],
    ids=["python 2", "null", "encoding", "deep", "large", "bytes"],
)
def test_what_cannot_be_read_has_no_needs(source: bytes) -> None:
    assert needs_of(source) is None


def test_what_hides_a_need_from_vermin_does_not_remove_it() -> None:
    assert newer("if (n := 3):  # novermin\n    pass\n") == {(1, "code", "3.8")}


def test_line_ends_and_an_encoding_are_read_as_python_reads_them() -> None:
    source = "# -*- coding: latin-1 -*-\r\nname = 'é'\r\ndef f(x: list[int]): ...\r\n"
    needs = needs_of(source.encode("latin-1"))
    assert needs is not None
    assert (
        Need(line=3, needs=(3, 9), feature="builtin generic type (list[..])", kind="annotation")
        in needs
    )


@pytest.mark.parametrize(
    ("source", "series"),
    [
        ("import sys\nif sys.version_info < (3, 9):\n    raise RuntimeError('no')\n", "3.9"),
        (
            "import sys\nif sys.version_info[0] < 3 or sys.version_info[1] < 9:\n"
            "    raise Exception('no')\n",
            "3.9",
        ),
        ("import sys\nif sys.version_info[:2] <= (3, 8):\n    sys.exit('no')\n", "3.9"),
        ("import sys\nassert sys.version_info >= (3, 10, 1)\n", "3.11"),
        (
            "import sys\nif sys.version_info.minor >= 10:\n    pass\nelse:\n    raise OSError\n",
            "3.10",
        ),
        # None of these refuses older ones.
        ("import sys\nif sys.version_info >= (3, 12):\n    raise RuntimeError('no')\n", None),
        ("import sys\nif sys.version_info < (3, 9):\n    import old\n", None),
        ("import sys\nif sys.version_info < oldest():\n    raise RuntimeError('no')\n", None),
        ("import sys\ndef f():\n    assert sys.version_info >= (3, 9)\n", None),
    ],
)
def test_a_test_that_refuses_older_pythons_is_a_guard(source: str, series: str | None) -> None:
    assert newer(source) == (set() if series is None else {(2, "guard", series)})
