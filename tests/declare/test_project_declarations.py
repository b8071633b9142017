"""A project's own tests as the suite, as it is declared: what is refused, what groups ask for, and
which settings of pytest a cell gets.
"""

import msgspec
import pytest
from packaging.requirements import Requirement
from support.documents import MATRIX, TODAY, changed, toml

from compat.declare.capabilities import collectable_tests, described, group_of, suite_faults
from compat.declare.load import decode_matrix, load
from compat.declare.matrix import Matrix
from compat.declare.project import (
    Project,
    cell_settings,
    extras_in,
    listed_in,
    name_in_setup,
    noted_settings,
    project_of,
    settings_in,
    with_groups,
)
from compat.errors import DeclarationError

SOURCE = "matrices/demo/matrix.toml"
PYPROJECT = b"""
[project]
name = "Demo"
dependencies = []
[project.optional-dependencies]
fast = ["orjson>=3"]
all = ["demo[fast]", "demo[all]"]
bad = ["x @ https://example.org/x.whl"]
[dependency-groups]
test = ["pytest>=8", {include-group = "more"}, "demo[fast]", "demo-engine<2"]
more = ["hypothesis"]
odd = ["not a requirement"]
cycle = [{include-group = "cycle"}]
"""


def matrix_with(**suite: object) -> Matrix:
    document = changed(MATRIX, ("suite",), suite)
    return load(toml(document), None, folder="demo", today=TODAY).matrix


# What a stranger writes wrongly: each one line, with place and remedy.
WRONG: dict[str, tuple[dict[str, object], str]] = {
    "no place": ({}, "suite: needs either `path`, a folder beside matrix.toml, or `tests`"),
    "two places": ({"path": "suite", "tests": "tests"}, "suite: needs either `path`"),
    "empty tests": ({"tests": ""}, "suite: needs either `path`"),
    "tests above": ({"tests": "../tests"}, "suite.tests: '../tests' is not a folder or a file"),
    "absolute tests": ({"tests": "/srv/tests"}, "suite.tests: '/srv/tests' is not a folder"),
    "tests with a slash": ({"tests": "tests/"}, "suite.tests: 'tests/' is not a folder"),
    "a node id as tests": ({"tests": "tests/a.py::test"}, "suite.tests: 'tests/a.py::test' is not"),
    "tests as a list": ({"tests": ["tests"]}, "suite.tests: expected a string, got an array"),
    "arguments without tests": (
        {"path": "suite", "arguments": ["-q"]},
        "`arguments` go with `tests`; a suite at `path` has its pytest.ini",
    ),
    "arguments as one text": (
        {"tests": "tests", "arguments": "-q"},
        "suite.arguments: expected an array, got '-q'",
    ),
    "collect only": ({"tests": "tests", "arguments": ["--co"]}, "'--co': with it no test runs"),
    "first failure": (
        {"tests": "tests", "arguments": ["-x"]},
        "it ends a run before its last test",
    ),
    "retries": ({"tests": "tests", "arguments": ["--reruns=3"]}, "a retry would hide a failure"),
    "last failed": ({"tests": "tests", "arguments": ["--lf"]}, "a cell has no earlier run"),
    "another root": ({"tests": "tests", "arguments": ["--rootdir=."]}, "says where the suite is"),
    "a plugin": ({"tests": "tests", "arguments": ["-p", "x"]}, "the plugins that the requirements"),
    "a control character": (
        {"tests": "tests", "arguments": ["\x1b"]},
        "is not an argument of pytest",
    ),
    "group as one text": (
        {"tests": "tests", "groups": "test"},
        "suite.groups: expected an array, got 'test'",
    ),
    "group with a space": (
        {"tests": "tests", "groups": ["a b"]},
        "suite.groups[0]: 'a b' is not a",
    ),
    "a glob as tests": ({"tests": "tests/*"}, "suite.tests: 'tests/*' is not a folder or a file"),
    "a number as argument": (
        {"tests": "tests", "arguments": ["--durations", 3]},
        "suite.arguments[1]: expected a string, got 3",
    ),
    "extra with a bracket": (
        {"tests": "tests", "extras": ["[x]"]},
        "suite.extras[0]: '[x]' is not",
    ),
    "misspelt key": ({"tests": "tests", "group": ["test"]}, "did you mean 'groups'?"),
}
WRONG_GROUPS: dict[str, tuple[dict[str, object], bytes | None, str]] = {
    "no pyproject": ({"groups": ["test"]}, None, "suite.groups: there is no pyproject.toml in the"),
    "no such group": (
        {"groups": ["tets"]},
        PYPROJECT,
        "suite.groups[0]: pyproject.toml has no dependency group 'tets'; allowed: test, more, odd,"
        " cycle; did you mean 'test'?",
    ),
    "no such extra": (
        {"extras": ["fats"]},
        PYPROJECT,
        "suite.extras[0]: pyproject.toml has no extra 'fats'; allowed: fast, all, bad; did you",
    ),
    "odd group": ({"groups": ["odd"]}, PYPROJECT, "dependency group 'odd' cannot be read: "),
    "cyclic group": ({"groups": ["cycle"]}, PYPROJECT, "suite.groups[0]: dependency group 'cycle'"),
    "url": ({"extras": ["bad"]}, PYPROJECT, "names a URL; only releases of the index"),
    "no toml": ({"groups": ["test"]}, b"[", "pyproject.toml: is not TOML"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_suite_is_one_line_with_place_and_remedy(name: str) -> None:
    suite, said = WRONG[name]
    with pytest.raises(DeclarationError) as caught:
        decode_matrix(toml(changed(MATRIX, ("suite",), suite)), SOURCE)
    (fault,) = caught.value.faults
    assert said in fault.line()
    assert fault.path.startswith(f"{SOURCE}: suite")


@pytest.mark.parametrize("name", WRONG_GROUPS)
def test_a_wrong_group_is_one_line_with_place_and_remedy(name: str) -> None:
    suite, content, said = WRONG_GROUPS[name]
    with pytest.raises(DeclarationError) as caught:
        with_groups(matrix_with(tests="tests", **suite), content, SOURCE)
    (fault,) = caught.value.faults
    assert said in fault.line()


def test_groups_and_extras_are_asked_for_as_requirements_are() -> None:
    declared = matrix_with(tests="tests", requirements=["mock"], groups=["Test"], extras=["all"])
    resolved = with_groups(declared, PYPROJECT, SOURCE)
    # The engine has an axis, and the project itself is in the cell.
    assert resolved.suite.requirements == ("mock", "pytest>=8", "hypothesis", "orjson>=3")
    plain = matrix_with(tests="tests", requirements=["pytest"])
    assert with_groups(plain, None, SOURCE) is plain


def test_the_groups_of_poetry_are_groups() -> None:
    text = b"""
[tool.poetry.group.test.dependencies]
pytest = "^8.1"
a = "^0.2.3"
b = "~1.4"
c = {version = ">=2,<3", extras = ["x", "y"], python = "<3.13", optional = true}
d = "*"
e = "1.2"
f = {path = "../f"}
python = "^3.9"
[tool.poetry.dev-dependencies]
g = "^1"
"""
    project = project_of(text)
    bounds = "pytest>=8.1,<9", "a>=0.2.3,<0.3", "b>=1.4,<1.5"
    rest = "c[x,y]>=2,<3; python_version < '3.13'", "d", "e==1.2"
    assert {*map(Requirement, project.of_group("test"))} == {*map(Requirement, (*bounds, *rest))}
    assert [*map(Requirement, project.of_group("dev"))] == [Requirement("g>=1,<2")]
    only = project_of(b'[tool.poetry]\nname = "Own"\n[tool.poetry.dev-dependencies]\ng = "^1"\n')
    assert (only.name, only.groups) == ("Own", {"dev": ["g>=1,<2"]})


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("pytest.ini", "", {}),
        ("pytest.ini", "[pytest]\nxfail_strict = true\n", {"xfail_strict": "true"}),
        ("tox.ini", "[tox]\n", None),
        ("tox.ini", "[pytest]\naddopts = -q\n", {"addopts": "-q"}),
        ("setup.cfg", "[tool:pytest]\naddopts = -q\n", {"addopts": "-q"}),
        ("setup.cfg", "[pytest]\naddopts = -q\n", None),
        (
            "pyproject.toml",
            '[tool.pytest.ini_options]\nmarkers = ["a", "b"]',
            {"markers": ["a", "b"]},
        ),
        ("pyproject.toml", "[tool.pytest]\nstrict = true", {"strict": True}),
        ("pyproject.toml", "[tool.ruff]\n", None),
        ("pyproject.toml", "[", None),
    ],
)
def test_settings_are_read_where_pytest_reads_them(
    name: str, text: str, values: dict[str, object] | None
) -> None:
    assert settings_in(name, text) == values


def test_a_cell_gets_the_settings_without_what_it_cannot_take() -> None:
    text = """
[tool.pytest.ini_options]
addopts = "-ra -n auto --cov=demo --cov-report term-missing --strict-markers -x --maxfail 2"
testpaths = ["tests"]
filterwarnings = ["error", "ignore:x"]
xfail_strict = true
"""
    settings = settings_in("pyproject.toml", text)
    ini = cell_settings(settings, ["-m", "not slow"], frozenset(["hypothesis", "pytest"]))
    assert ini.splitlines() == [
        "# compat: options of pytest left out: -n auto --cov=demo --cov-report term-missing -x"
        " --maxfail 2",
        "[pytest]",
        "addopts = -ra --strict-markers --hypothesis-seed=0 -m 'not slow'",
        "filterwarnings =",
        "    error",
        "    ignore:x",
        "xfail_strict = true",
    ]
    assert len(noted_settings(ini)) == 1
    assert cell_settings(None, [], frozenset()) == "[pytest]\n"
    # pytest takes `-o` from a command line, and not from addopts.
    own = cell_settings(None, ["-v", "-o", "python_files=*tests.py", "-o"], frozenset())
    assert own == "[pytest]\naddopts = -v -o\npython_files = *tests.py\n"


PLAIN = "def test_a(): pass\nclass TestB:\n    def test_c(self):\n        '''It holds.'''\n"


def test_a_file_that_chooses_for_itself_leaves_the_others_to_be_collected() -> None:
    skipping = "import pytest\npytest.importorskip('x')\ndef test_d(): pass\n"
    texts = {"tests/test_a.py": PLAIN, "tests/test_b.py": skipping, "tests/build/test_e.py": PLAIN}
    assert collectable_tests(texts) == {"tests/test_a.py::test_a", "tests/test_a.py::TestB::test_c"}
    assert not collectable_tests(texts | {"tests/help.py": skipping})
    assert not collectable_tests(texts | {"pytest.ini": "[pytest]\naddopts = -k 'not a'\n"})
    assert collectable_tests(texts | {"pytest.ini": "# -k\n[pytest]\n\naddopts = -rxXs\n"})


def test_a_test_without_a_marker_is_a_capability_in_the_group_of_its_file() -> None:
    one, other = described({"tests/test_a.py": PLAIN}, unmarked=True)
    assert (one.id, one.title, one.says) == ("tests/test_a.py::TestB::test_c", "c", "It holds.")
    assert (other.id, other.line) == ("tests/test_a.py::test_a", 1)
    assert {one.group, other.group} == {"tests/test_a.py"}
    assert described({"tests/test_a.py": PLAIN}) == ()
    assert (group_of("core.sum"), group_of("core")) == ("core", "core")


def test_what_keeps_a_project_suite_from_running_is_named_by_its_own_place() -> None:
    matrix = matrix_with(tests="tests", requirements=["pytest"])

    def lines(texts: dict[str, str]) -> list[str]:
        return [fault.line() for fault in suite_faults(matrix, texts, SOURCE)]

    assert (
        lines({"tests/test_a.py": PLAIN, "tests/data/new.py": "(", "pytest.ini": "[pytest]\n"})
        == []
    )
    (none,) = lines({"tests/a.py": PLAIN})
    assert none.startswith(
        f"{SOURCE}: suite.tests: 'tests' has no file of tests that pytest collects"
    )
    (unparsable,) = lines({"tests/test_a.py": "("})
    assert unparsable.startswith("tests/test_a.py:1: ")
    asked = msgspec.structs.replace(matrix.suite, tests="tests/a.py")
    matrix = msgspec.structs.replace(matrix, suite=asked)
    assert lines({"tests/a.py": PLAIN}) == []


def test_what_tests_need_is_read_from_lists_and_metadata() -> None:
    text = "-r base.txt\npytest>=7  # as of now\nhttpx==1.0 --hash=sha256:0\n-e .[a]\nx @ https://a/x.whl\n"
    assert listed_in("requirements-dev.txt", text) == {
        "requirements-dev.txt": ("pytest>=7", "httpx==1.0", ".[a]")
    }
    tox = "[testenv]\ndeps =\n    pytest\n    py38,py39: mock>=4\n    -r x.txt\n"
    tox += "[testenv:docs]\nextras = a, b\n"
    assert listed_in("tox.ini", tox) == {
        "tox.ini [testenv]": ("pytest", "mock>=4"),
        "tox.ini [testenv:docs]": (".[a,b]",),
    }
    # Extras of the project itself, whose name its own files may leave to the build.
    project = Project(name="demo", extras={"a": ("x>=1",)}, listed={"r.txt": ("y", ".[a]")})
    assert project.of_list("r.txt") == ("y", "x>=1")
    metadata = ('a>=1; extra == "test"', "b", 'c; python_version < "3" and extra == "test"')
    assert extras_in(metadata) == {"test": ("a>=1",)}
    assert name_in_setup({"setup.cfg": "[metadata]\nname = demo\n"}) == "demo"
    assert name_in_setup({"setup.py": "setup(name='demo', version=v)"}) == "demo"
    assert name_in_setup({"setup.py": "setup(name=NAME"}) == ""
