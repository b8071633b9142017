"""The `declare` room's reading of a suite: each test's capability, with its title, its sentence and
its code.

The suite is read, never imported: its imports are those of a cell.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from compat.value import StrictValue

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# With these a suite collects tests of its own making.
# https://docs.pytest.org/en/stable/reference/reference.html#collection-hooks
_COLLECTING = ("pytest_collect_file", "pytest_pycollect_makeitem", "pytest_pycollect_makemodule")
# Between these marks a document of the suite holds the table that is made from records.
BEGIN, END = "<!-- capabilities -->", "<!-- /capabilities -->"


class Described(StrictValue, frozen=True):
    """A capability as its test declares it.

    `code` is the test's source; `helper` names the suite's file to copy.

    `looks_for` has, for each thing that changed its name, its spellings in the order in which they
    are tried. `of` says whose it is: the subject's, or, where it is "helper", that of a file of the
    suite alone.
    """

    id: str
    title: str
    says: str
    file: str
    line: int
    code: str
    looks_for: tuple[tuple[str, ...], ...] = ()
    helper: str = ""
    of: str = ""
    quick: bool = False

    @property
    def group(self) -> str:
        return group_of(self.id)


def group_of(capability: str) -> str:
    """Return the group of a capability: the part of its id before the first dot; of a test without
    a marker, which is called `file::test`, the file.
    """
    file, is_test, _ = capability.partition("::")
    return file if is_test else capability.partition(".")[0]


class SuiteIds(StrictValue, frozen=True):
    """The ids under which the tests of a suite report.

    `ids` are those of its markers. A test without one reports as `file::test`, so `files` and
    `functions` have those names. `unreadable` is a place, `file:line`, where the suite makes ids
    that only a run can tell; else it is empty.
    """

    ids: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    unreadable: str = ""

    def has(self, capability: str) -> bool:
        """Return whether a test of the suite can report under that id, as far as can be known
        without a run.
        """
        if self.unreadable or capability in self.ids:
            return True
        file, *names = capability.partition("[")[0].split("::")
        return file in self.files and bool(names) and names[-1] in self.functions


def suite_ids(files: Mapping[str, str]) -> SuiteIds:
    """Return the ids that the files of a suite can report under, wherever they set a marker."""
    ids, functions, unreadable = set(), set(), ""
    for name in sorted(files):
        try:
            nodes = list(ast.walk(ast.parse(files[name])))
        except (SyntaxError, ValueError, RecursionError):
            unreadable = unreadable or f"{name}:1"
            continue
        functions |= {
            node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        for call in (node for node in nodes if isinstance(node, ast.Call)):
            kind, arguments = _marker(call) or ("", {})
            if kind == "capability" and isinstance(arguments.get("id"), str):
                ids.add(arguments["id"])
            elif kind == "capability" or _sets_marker_by_name(call):
                unreadable = unreadable or f"{name}:{call.lineno}"
        unreadable = unreadable or next(
            (f"{name}:1" for hook in _COLLECTING if hook in functions), ""
        )
    return SuiteIds(
        ids=frozenset(ids),
        files=frozenset(files),
        functions=frozenset(functions),
        unreadable=unreadable,
    )


def helper_ids(capabilities: Iterable[Described]) -> frozenset[str]:
    """Return the ids of the tests that look at the suite's own files, and say nothing about the
    subject.
    """
    return frozenset(capability.id for capability in capabilities if capability.of == "helper")


def with_table(document: str, table: str) -> str:
    """Return the document with the table between its two marks; raise ValueError when it has no
    such pair.
    """
    before, begun, rest = document.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        raise ValueError(f"has no {BEGIN} followed by {END}")
    return f"{before}{BEGIN}\n{table}{END}{after}"


def described(files: Mapping[str, str], *, unmarked: bool = False) -> tuple[Described, ...]:
    """Return the capabilities that the suite's files declare, sorted by id; the first test of an id
    speaks for it.

    A file that is not Python, and a marker whose values are not literals, declare nothing. With
    `unmarked`, a test without a marker is a capability by its node id, with its docstring.
    """
    by_id: dict[str, Described] = {}
    for name in sorted(files):
        for capability in _of_file(name, files[name]):
            by_id.setdefault(capability.id, capability)
        for capability in _unmarked(name, files[name]) if unmarked else ():
            by_id.setdefault(capability.id, capability)
    return tuple(by_id[name] for name in sorted(by_id))


def kept_described(
    files: Mapping[str, str],
    code: bytes,
    kept: Callable[[Sequence[bytes], Callable[[], bytes]], bytes],
    *,
    unmarked: bool = False,
) -> tuple[Described, ...]:
    """Return what `described` does; `kept` returns what the function that it is given would, from
    where it is kept for these sources, `code` being one of them.
    """
    sources = (msgspec.msgpack.encode((files, unmarked), order="sorted"), code)
    body = kept(sources, lambda: msgspec.msgpack.encode(described(files, unmarked=unmarked)))
    return msgspec.msgpack.decode(body, type=tuple[Described, ...])


def _of_file(name: str, text: str) -> Iterator[Described]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = text.splitlines()
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        marks = [
            mark for decorator in node.decorator_list if (mark := mark_of(decorator)) is not None
        ]
        for kind, arguments in marks:
            if kind != "capability" or not isinstance(arguments.get("id"), str):
                continue
            yield Described(
                id=arguments["id"],
                title=_text(arguments.get("title")) or arguments["id"],
                says=_text(arguments.get("says")),
                looks_for=_groups(arguments.get("looks_for")),
                helper=_text(arguments.get("helper")),
                of=_text(arguments.get("of")),
                file=name,
                line=node.lineno,
                code="\n".join(lines[node.lineno - 1 : node.end_lineno]) + "\n",
                quick=any(other == "quick" for other, _ in marks),
            )


def _unmarked(name: str, text: str) -> Iterator[Described]:
    """The tests at the top of a file and of its classes that have no marker of their own."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = text.splitlines()
    scopes: list[tuple[str, Sequence[ast.stmt]]] = [("", tree.body)]
    scopes += [
        (f"{node.name}::", node.body) for node in tree.body if isinstance(node, ast.ClassDef)
    ]
    for prefix, body in scopes:
        for node in body:
            if not isinstance(node, _FUNCTIONS) or not node.name.startswith("test"):
                continue
            if any((mark_of(mark) or ("",))[0] == "capability" for mark in node.decorator_list):
                continue
            says = (ast.get_docstring(node) or "").partition("\n\n")[0]
            yield Described(
                id=f"{name}::{prefix}{node.name}",
                title=node.name.removeprefix("test").strip("_").replace("_", " ") or node.name,
                says=" ".join(says.split())[:300],
                file=name,
                line=node.lineno,
                code="\n".join(lines[node.lineno - 1 : node.end_lineno]) + "\n",
            )


def mark_of(decorator: ast.expr) -> tuple[str, dict[str, Any]] | None:
    """The name and the literal arguments of `@pytest.mark.<name>(...)`; None for any other
    decorator.
    """
    if isinstance(decorator, ast.Call):
        return _marker(decorator)
    return (
        (decorator.attr, {})
        if isinstance(decorator, ast.Attribute) and _is_mark(decorator.value)
        else None
    )


def _marker(call: ast.Call) -> tuple[str, dict[str, Any]] | None:
    """The name and the literal arguments of the call `pytest.mark.<name>(...)`; None for any other
    call.
    """
    if not (isinstance(call.func, ast.Attribute) and _is_mark(call.func.value)):
        return None
    arguments: dict[str, Any] = {}
    pairs = [("id", call.args[0])] if call.args else []
    pairs += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg is not None]
    for key, value in pairs:
        try:
            arguments[key] = ast.literal_eval(value)
        except (ValueError, TypeError, RecursionError, MemoryError):
            continue
    return call.func.attr, arguments


def _is_mark(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "mark"


def _sets_marker_by_name(call: ast.Call) -> bool:
    """Whether a call makes a marker whose name is a value: `getattr(pytest.mark, name)`,
    `item.add_marker(name)`.
    """
    if isinstance(call.func, ast.Name):
        return call.func.id == "getattr" and bool(call.args) and _is_mark(call.args[0])
    return isinstance(call.func, ast.Attribute) and call.func.attr == "add_marker"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _groups(value: object) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list | tuple):
        return ()
    groups = ((entry,) if isinstance(entry, str) else entry for entry in value)
    return tuple(
        tuple(str(name) for name in group) for group in groups if isinstance(group, list | tuple)
    )
