"""The `declare` room's core: which capabilities and tests of a suite a smoke run asks for.

The suite's files are read, never imported.
"""

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from compat.declare.capabilities import described, helper_ids, mark_of, suite_ids
from compat.declare.collectable import collectable_tests, is_test_file
from compat.declare.faults import Finding, shown

_SKIPS = re.compile(
    r"pytest\.skip\(|(?<![\w.])skip\(|importorskip|skip_?if|skipTest|mark\.skip|unittest\.skip|Skipped"
    r"|raise .*skip\.Exception"
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def core_ids(patterns: Sequence[str], texts: Mapping[str, str]) -> frozenset[str]:
    """Return the ids of the suite that the patterns name; a file of the suite alone has none.

    `texts` are the suite's files by their path below it. A test without a marker is called
    `file::test`.
    """
    ids = _ids(texts) if patterns else frozenset()
    return frozenset(name for name in ids if any(fnmatchcase(name, text) for text in patterns))


def core_tests(ids: Iterable[str], texts: Mapping[str, str]) -> frozenset[str]:
    """Return the tests that pytest has to collect and that report under one of the ids, as
    `file::class::function`.

    A test is left out where its file does not tell its id.
    """
    wanted, reported = frozenset(ids), _reported(texts)
    return frozenset(
        test for test in collectable_tests(texts) if reported.get(test, "") in wanted - {""}
    )


def owed_ids(texts: Mapping[str, str]) -> frozenset[str]:
    """Return the ids that a run which passed must report: of tests that nothing leaves out and
    whose files, like those that they share, hold no skip. What is absent is reported, too.
    """
    helpers = (text for name, text in texts.items() if not is_test_file(name))
    if any(map(_SKIPS.search, helpers)):
        return frozenset()
    reported = _reported(texts)
    tests = (t for t in collectable_tests(texts) if not _SKIPS.search(texts[t.partition("::")[0]]))
    return frozenset(filter(None, (reported.get(test) for test in tests)))


def core_findings(patterns: Sequence[str], texts: Mapping[str, str]) -> Iterator[Finding]:
    ids = _ids(texts) if patterns else frozenset()
    for number, pattern in enumerate(patterns):
        if not any(fnmatchcase(name, pattern) for name in ids):
            near = difflib.get_close_matches(pattern, ids, n=1)
            hint = f"did you mean {near[0]!r}?" if near else ""
            message = f"{shown(pattern)} names no capability of the suite"
            yield Finding("unknown-capability", ("suite", "core", number), message, hint)


def _ids(texts: Mapping[str, str]) -> frozenset[str]:
    unmarked = {name for test, name in _reported(texts).items() if name == test}
    marked = suite_ids(texts).ids - helper_ids(described(texts))
    return frozenset(marked | (unmarked & collectable_tests(texts)))


def _reported(texts: Mapping[str, str]) -> dict[str, str]:
    # Under which id each test reports: that of its nearest marker, or its own; empty where the
    # marker's id is not a literal.
    return {
        f"{name}::{test}": f"{name}::{test}" if capability is None else capability
        for name, text in texts.items()
        if name.endswith(".py")
        for test, capability in _of_text(text)
    }


def _of_text(text: str) -> Iterator[tuple[str, str | None]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    module = _marker_id(_module_marks(tree), None)
    for node in tree.body:
        if isinstance(node, _FUNCTIONS):
            yield node.name, _marker_id(node.decorator_list, module)
        if isinstance(node, ast.ClassDef):
            of_class = _marker_id(node.decorator_list, module)
            for inner in node.body:
                if isinstance(inner, _FUNCTIONS):
                    yield f"{node.name}::{inner.name}", _marker_id(inner.decorator_list, of_class)


def _module_marks(tree: ast.Module) -> list[ast.expr]:
    marks: list[ast.expr] = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
        ):
            marks = (
                node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
            )
    return marks


def _marker_id(marks: Iterable[ast.expr], farther: str | None) -> str | None:
    # The id of the first capability among the marks, empty where it is not a literal; without one
    # that of what stands farther out.
    for mark in marks:
        name, arguments = mark_of(mark) or ("", {})
        if name == "capability":
            capability = arguments.get("id")
            return capability if isinstance(capability, str) else ""
    return farther
