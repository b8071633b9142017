"""What a suite has: capabilities, the tests that pytest always collects, and those of its core.

The suite is parsed, never imported: its imports are those of a cell.
"""

import ast
import configparser
import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatch, fnmatchcase
from typing import Any

from packaging.utils import canonicalize_name

from compat.declare.matrix import Matrix
from compat.declare.parsing import Finding, faults_of, parse_requirement, shown, suite_faults_at
from compat.errors import Fault
from compat.value import StrictValue

SETTINGS = "pytest.ini"
# What pytest collects by itself: https://docs.pytest.org/en/stable/explanation/goodpractices.html
TEST_FILES = ("test_*.py", "*_test.py")
# Replaces in a cell the __init__.py of a package above the tests: the installed one counts.
MARK = b"# compat: the installed package stands here, and the tests below are a part of it.\n"
# Between these marks a document of the suite holds the table that is made from records.
BEGIN, END = "<!-- capabilities -->", "<!-- /capabilities -->"
# With these a suite collects tests of its own making.
# https://docs.pytest.org/en/stable/reference/reference.html#collection-hooks
_COLLECTING = ("pytest_collect_file", "pytest_pycollect_makeitem", "pytest_pycollect_makemodule")
# A suite with one of these chooses among its tests, or finds them in a way of its own; and so do
# such settings.
_CHOOSING = (
    *("collect_ignore", "pytest_ignore_collect", "pytest_collect", "pytest_pycollect"),
    "pytest_itemcollected",
)
# What makes one file choose; in a file that is none of tests, whoever imports it.
_CHOOSING_HERE = ("importorskip", "allow_module_level", "__test__")
# Folders that pytest passes over, https://docs.pytest.org/en/stable/reference/reference.html
_PASSED_OVER = {"build", "dist", "node_modules", "venv", "CVS", "_darcs", "{arch}"}
_CHOSEN = re.compile(
    r"python_files|python_classes|python_functions|norecursedirs|testpaths|collect_imported"
    r"|(?<!\S)-(?!r)[a-zA-Z]*[kmx][a-zA-Z]*\b"
    r"|--(deselect|ignore|maxfail|exitfirst|last-failed|lf|ff|sw|stepwise)"
)
_SKIPS = re.compile(
    r"pytest\.skip\(|(?<![\w.])skip\(|importorskip|skip_?if|skipTest|mark\.skip|unittest\.skip|Skipped"
    r"|raise .*skip\.Exception"
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Described(StrictValue, frozen=True):
    """A capability as its test declares it.

    `looks_for` has the spellings of each renamed thing, in the order in which they are tried. `of`
    is "helper" for a capability of the suite itself; `helper` is the suite's file to copy.
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
    """Return the part of the id before its first dot; of a test without a marker its file."""
    file, is_test, _ = capability.partition("::")
    return file if is_test else capability.partition(".")[0]


class SuiteIds(StrictValue, frozen=True):
    """The ids under which the tests of a suite report.

    `ids` are those of its markers. A test without one reports as `file::test`. `unreadable` is a
    place, `file:line`, whose ids only a run can determine.
    """

    ids: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    unreadable: str = ""

    def has(self, capability: str) -> bool:
        """Return whether a test can report under that id, as far as is known without a run."""
        if self.unreadable or capability in self.ids:
            return True
        file, *names = capability.partition("[")[0].split("::")
        return file in self.files and bool(names) and names[-1] in self.functions


# A file that this Python cannot parse has no nodes.
_UNREADABLE = ast.Module(body=[], type_ignores=[])


def _tree_of(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _UNREADABLE


def _functions(tree: ast.Module) -> Iterator[tuple[ast.ClassDef | None, _Function, str]]:
    # The functions and methods at the top of a file, with their class, as pytest names them.
    for node in tree.body:
        if isinstance(node, _Function):
            yield None, node, node.name
        elif isinstance(node, ast.ClassDef):
            inner = (each for each in node.body if isinstance(each, _Function))
            yield from ((node, each, f"{node.name}::{each.name}") for each in inner)


def suite_ids(files: Mapping[str, str]) -> SuiteIds:
    ids, functions, unreadable = set(), set(), ""
    for name in sorted(files):
        tree = _tree_of(files[name])
        nodes = list(ast.walk(tree))
        functions |= {node.name for node in nodes if isinstance(node, _Function)}
        for call in (node for node in nodes if isinstance(node, ast.Call)):
            kind, arguments = mark_of(call) or ("", {})
            # Calls that make a marker whose name is a value: `getattr(pytest.mark, name)`,
            # `item.add_marker(name)`.
            is_by_name = (
                call.func.id == "getattr" and bool(call.args) and _is_mark(call.args[0])
                if isinstance(call.func, ast.Name)
                else isinstance(call.func, ast.Attribute) and call.func.attr == "add_marker"
            )
            if kind == "capability" and isinstance(arguments.get("id"), str):
                ids.add(arguments["id"])
            elif kind == "capability" or is_by_name:
                unreadable = unreadable or f"{name}:{call.lineno}"
        if tree is _UNREADABLE or any(hook in functions for hook in _COLLECTING):
            unreadable = unreadable or f"{name}:1"
    return SuiteIds(
        ids=frozenset(ids),
        files=frozenset(files),
        functions=frozenset(functions),
        unreadable=unreadable,
    )


def helper_ids(capabilities: Iterable[Described]) -> frozenset[str]:
    return frozenset(capability.id for capability in capabilities if capability.of == "helper")


def with_table(document: str, table: str) -> str:
    """Return the document with the table between its two marks; raise ValueError without them."""
    before, begun, rest = document.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        raise ValueError(f"has no {BEGIN} followed by {END}")
    return f"{before}{BEGIN}\n{table}{END}{after}"


def described(files: Mapping[str, str], *, unmarked: bool = False) -> tuple[Described, ...]:
    """Return the capabilities that the files declare, sorted by id; the first test of an id counts.

    Ignores files that are not Python, and markers whose values are not literals. With `unmarked`, a
    test without a marker is a capability by its node id, with its docstring.
    """
    by_id: dict[str, Described] = {}
    for name in sorted(files):
        tree, lines = _tree_of(files[name]), files[name].splitlines()
        rows: list[tuple[_Function, dict[str, Any]]] = []
        for node in (each for each in ast.walk(tree) if isinstance(each, _Function)):
            marks = list(filter(None, map(mark_of, node.decorator_list)))
            is_quick = any(kind == "quick" for kind, _ in marks)
            for kind, arguments in marks:
                if kind == "capability" and isinstance(id := arguments.get("id"), str):
                    texts = {key: arguments.get(key) for key in ("title", "says", "helper", "of")}
                    fields: dict[str, Any] = {k: t for k, t in texts.items() if isinstance(t, str)}
                    fields["title"] = fields.get("title") or id
                    looks_for = _groups(arguments.get("looks_for"))
                    own = {"id": id, "looks_for": looks_for, "quick": is_quick}
                    rows.append((node, {"says": "", **fields, **own}))
        for _, node, test in _functions(tree) if unmarked else ():
            kinds = (mark[0] for mark in map(mark_of, node.decorator_list) if mark)
            if node.name.startswith("test") and "capability" not in kinds:
                says = (ast.get_docstring(node) or "").partition("\n\n")[0]
                title = node.name.removeprefix("test").strip("_").replace("_", " ") or node.name
                own = {"id": f"{name}::{test}", "says": " ".join(says.split())[:300]}
                rows.append((node, {"title": title, **own}))
        for node, fields in rows:
            code = "\n".join(lines[node.lineno - 1 : node.end_lineno]) + "\n"
            capability = Described(file=name, line=node.lineno, code=code, **fields)
            by_id.setdefault(capability.id, capability)
    return tuple(by_id[name] for name in sorted(by_id))


def mark_of(node: ast.expr) -> tuple[str, dict[str, Any]] | None:
    """Return name and literal arguments of `pytest.mark.<name>(...)`, the first as `id`."""
    call = node if isinstance(node, ast.Call) else None
    target = node if call is None else call.func
    if not (isinstance(target, ast.Attribute) and _is_mark(target.value)):
        return None
    pairs: list[tuple[str, ast.expr]] = []
    if call is not None:
        pairs += [("id", call.args[0])] if call.args else []
        pairs += [(each.arg, each.value) for each in call.keywords if each.arg is not None]
    arguments: dict[str, Any] = {}
    for key, value in pairs:
        with suppress(ValueError, TypeError, RecursionError, MemoryError):
            arguments[key] = ast.literal_eval(value)
    return target.attr, arguments


def _is_mark(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "mark"


def _groups(value: object) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list | tuple):
        return ()
    groups = ((entry,) if isinstance(entry, str) else entry for entry in value)
    return tuple(tuple(map(str, group)) for group in groups if isinstance(group, list | tuple))


def collectable_tests(texts: Mapping[str, str]) -> frozenset[str]:
    """Return the tests that pytest always collects, as `file::class::function`.

    `texts` are the suite's files by path. Only plain test functions and methods at the top of their
    file count, and only where no setting, hook, module-level skip or deletion can remove them.
    """
    python = {name: text for name, text in texts.items() if name.endswith(".py")}
    choosing = {name for name, text in python.items() if any(w in text for w in _CHOOSING_HERE)}
    settings = (
        line for line in texts.get(SETTINGS, "").splitlines() if not line.startswith(("#", ";"))
    )
    if (
        any(word in text for text in python.values() for word in _CHOOSING)
        or not all(map(is_test_file, choosing))
        or any(map(_CHOSEN.search, settings))
    ):
        return frozenset()

    def is_plain(node: _Function | ast.ClassDef, prefix: str) -> bool:
        marks = (ast.unparse(e).startswith(("pytest.mark.", "mark.")) for e in node.decorator_list)
        return node.name.startswith(prefix) and all(marks)

    tests = set()
    for name in filter(is_test_file, python.keys() - choosing):
        if not _PASSED_OVER.isdisjoint(name.split("/")):
            continue
        tree = _tree_of(python[name])
        names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
        deleted = {node.id for node in names if isinstance(node.ctx, ast.Del)}
        # pytest skips a class with a constructor, its own or inherited.
        constructed = {owner for owner, node, _ in _functions(tree) if node.name == "__init__"}
        for owner, node, test in _functions(tree):
            is_there = node.name not in deleted
            if owner is not None:
                is_there = is_plain(owner, "Test") and not owner.bases and owner not in constructed
            if is_there and is_plain(node, "test"):
                tests.add(f"{name}::{test}")
    return frozenset(tests)


def is_test_file(name: str) -> bool:
    return any(fnmatch(name.rpartition("/")[2], pattern) for pattern in TEST_FILES)


def core_ids(patterns: Sequence[str], texts: Mapping[str, str]) -> frozenset[str]:
    """Return the ids of the suite that the patterns match, without those of helpers."""
    ids = _ids(texts) if patterns else frozenset()
    return frozenset(name for name in ids if any(fnmatchcase(name, text) for text in patterns))


def core_tests(ids: Iterable[str], texts: Mapping[str, str]) -> frozenset[str]:
    """Return the tests that pytest always collects whose files show one of the ids."""
    wanted, reported = frozenset(ids), _reported(texts)
    return frozenset(t for t in collectable_tests(texts) if reported.get(t, "") in wanted - {""})


def expected_ids(texts: Mapping[str, str]) -> frozenset[str]:
    """Return the ids that a passing run must report: nothing removes or skips their tests."""
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
    reported: dict[str, str] = {}
    for name, text in texts.items():
        tree = _tree_of(text) if name.endswith(".py") else _UNREADABLE
        of_module: list[ast.expr] = []
        for node in tree.body:
            if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == "pytestmark"
                for target in node.targets
            ):
                value = node.value
                of_module = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
        for owner, node, inner in _functions(tree):
            test, of_class = f"{name}::{inner}", owner.decorator_list if owner else ()
            every = map(mark_of, (*node.decorator_list, *of_class, *of_module))
            ids = [mark[1].get("id") for mark in every if mark and mark[0] == "capability"]
            reported[test] = test if not ids else ids[0] if isinstance(ids[0], str) else ""
    return reported


def reach_above(texts: Mapping[str, str], package: str) -> bool:
    """Return whether a test imports from above its folder, so that the tests are part of their
    package.

    `texts` are the Python files by path below the parent of that folder, whose dotted name is
    `package`.
    """
    for path, text in texts.items():
        folders = path.split("/")[:-1]
        own = f"{package}.{folders[0]}" if folders else package
        for node in ast.walk(_tree_of(text)):
            modules: list[str] = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module or ""]
            elif isinstance(node, ast.ImportFrom) and node.level > len(folders):
                # One dot is the folder itself, and each further one the folder above.
                return True
            if any(module == own or module.startswith(f"{own}.") for module in modules):
                return True
    return False


# What is wrong with a suite before any cell exists, and which packages bring which modules.


# Modules with a known distribution, normalised (PEP 503). The distribution of any other module may
# have any name.
def _brought(modules: str) -> dict[str, tuple[str, ...]]:
    pairs = (word.partition("=") for word in modules.split())
    return {name: tuple((brought or name).split(",")) for name, _, brought in pairs}


_MODULES = _brought(
    "approvaltests ddt dirty_equals=dirty-equals factory=factory-boy faker freezegun httpretty"
    " hamcrest=pyhamcrest hypothesis inline_snapshot=inline-snapshot mock moto nose=nose,pynose"
    " parameterized requests_mock=requests-mock respx syrupy testfixtures vcr=vcrpy"
    " time_machine=time-machine xdist=pytest-xdist"
    " PIL=pillow,pillow-simd aiohttp attr=attrs boto3 bs4=beautifulsoup4 dateutil=python-dateutil"
    " django flask grpc=grpcio httpx jinja2 lxml matplotlib numpy pandas psutil pydantic redis"
    " requests scipy sklearn=scikit-learn,scikit-learn-intelex sqlalchemy tqdm yaml=pyyaml"
)


def requested_names(matrix: Matrix) -> frozenset[str]:
    texts = (*matrix.suite.requirements, *matrix.requirements)
    requirements = {canonicalize_name(parse_requirement(text).name) for text in texts}
    return frozenset(requirements | {axis.normalised_name for axis in matrix.packages})


def modules_of(distribution: str) -> frozenset[str]:
    """Return the modules of a distribution; of an unknown one, the module with its name."""
    known = frozenset(module for module, names in _MODULES.items() if distribution in names)
    return known or frozenset([distribution.replace("-", "_")])


def distribution_of(module: str) -> str:
    """Return the known distribution of a module, else ""."""
    plugin = (canonicalize_name(module),) if module.startswith("pytest_") else ()
    return next(iter(_MODULES.get(module, plugin)), "")


def is_collected(path: str) -> bool:
    return path.rpartition("/")[2] == "conftest.py" or is_test_file(path)


def suite_faults(matrix: Matrix, texts: Mapping[str, str] | None, source: str) -> tuple[Fault, ...]:
    """`texts` are its Python files and settings of pytest by path; None without a folder."""
    if texts is None:
        message = f"{shown(matrix.suite.path)} is not a directory"
        return suite_faults_at(source, ("path",), message, "make it, with at least one test_*.py")
    is_there = matrix.suite.tests in texts or "python_files" in texts.get(SETTINGS, "")
    if not is_there and not any(map(is_test_file, texts)):
        if matrix.suite.tests:
            message = f"{shown(matrix.suite.tests)} has no file of tests that pytest collects"
            return suite_faults_at(
                source, ("tests",), message, "name a folder with a test_*.py, or a file"
            )
        message = f"{shown(matrix.suite.path)} has no file of tests"
        return suite_faults_at(source, ("path",), message, "add at least one test_*.py")
    folder = "" if matrix.suite.tests else f"{source.rpartition('/')[0]}/{matrix.suite.path}/"
    without_pytest: tuple[Fault, ...] = ()
    if "pytest" not in requested_names(matrix):
        message = "do not ask for pytest, which runs the suite in each cell"
        without_pytest = suite_faults_at(source, ("requirements",), message, "add 'pytest'")
    settings: tuple[Fault, ...] = ()
    try:
        parser = configparser.RawConfigParser(allow_no_value=True)
        parser.read_string(texts.get(SETTINGS, ""))
    except configparser.Error as fault:
        reason = str(fault).replace("\n", " ").replace("'<string>', ", "")
        message = f"is not valid INI: {reason}"
        settings = (Fault(code="suite", path=f"{folder}{SETTINGS}", message=message),)
    return (
        *without_pytest,
        *_unparsable(matrix, texts, folder),
        *settings,
        *faults_of(source, core_findings(matrix.suite.core, texts)),
    )


def _unparsable(matrix: Matrix, texts: Mapping[str, str], folder: str) -> Iterator[Fault]:
    # Yield the files that the matrix's oldest interpreter cannot parse, as far as this one can
    # check.
    oldest = min(release.release[:2] for release in matrix.interpreters.releases)
    running = sys.version_info[:2]
    if oldest > running or any("collect_ignore" in text for text in texts.values()):
        return
    for name, text in sorted(texts.items()):
        if not name.endswith(".py") or (matrix.suite.tests and not is_collected(name)):
            continue
        try:
            ast.parse(text, feature_version=(oldest[0], oldest[1]))
        except (SyntaxError, ValueError) as fault:
            line = f":{fault.lineno}" if isinstance(fault, SyntaxError) and fault.lineno else ""
            reason = fault.msg if isinstance(fault, SyntaxError) else str(fault)
            message = (
                f"does not parse on Python {oldest[0]}.{oldest[1]}, the matrix's oldest: {reason}"
            )
            yield Fault(code="suite", path=f"{folder}{name}{line}", message=message)
