"""A project's own tests as the suite, run in cells: on what is installed, as they stand, and with
what a cell leaves out told by the record.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.documents import MATRIX, TODAY, changed, toml
from support.fake_index import FakeIndex
from support.zoo import Animal, Repository, serve, wheel

from compat.cli.init import discovered, own_tests
from compat.cli.show import answer_lines
from compat.declare.load import load
from compat.results.record import Capability
from compat.run.suitefiles import packages_above, placed_suite

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

HIDING = """
ALIVE = True
try:
    import _pytest.python

    _pytest.python.PyCollector.collect = lambda self: []
except ImportError:
    pass  # the library is imported without pytest
"""
FILES = {
    "pyproject.toml": """
[project]
name = "other"
[dependency-groups]
test = ["pytest"]
[tool.pytest.ini_options]
addopts = "-n auto --cov=animal -ra"
filterwarnings = ["error"]
testpaths = ["tests"]
markers = ["slow: takes long"]
""",
    "animal.py": "raise ImportError('the checkout is not what is asked about')\n",
    "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef root():\n    return 1\n",
    "tests/__init__.py": "",
    "tests/help.py": "ONE = 1\n",
    "tests/test_a.py": """
import pytest
from tests.help import ONE


@pytest.mark.parametrize("number", [1, 2])
def test_many(number, root):
    assert root == ONE


class TestThings:
    def test_thing(self):
        '''Things can be counted.'''
""",
    "tests/test_b.py": """
import animal
import pytest


def test_alive():
    assert animal.ALIVE


@pytest.mark.slow
def test_slow():
    assert False
""",
}


def project(
    tmp_path: Path, index: FakeIndex, tools: Any, module: str = "ALIVE = True\n", **files: str
) -> Repository:
    """A repository with a checkout of its own, whose matrix runs the project's tests."""
    animal = Animal(name="own", story="It has tests.", outcome="pass", module=module)
    repository = Repository(tmp_path, tmp_path / "cache", index, animal, tools)
    for path, text in {**FILES, **files}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    matrix = tmp_path / "matrices" / "zoo" / "matrix.toml"
    text = matrix.read_text(encoding="utf-8")
    declared = '"path" = "suite", "module" = "animal", "requirements" = ["pytest"]'
    assert declared in text
    own = 'tests = "tests", module = "animal", arguments = ["-m", "not slow"], groups = ["test"]'
    text = text.replace(declared, own)
    matrix.write_text(text, encoding="utf-8")
    return repository


def record_of(repository: Repository) -> Any:
    (line,) = repository.records()
    return json.loads(line)


def test_the_tests_run_on_what_is_installed_and_are_capabilities_by_their_ids(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    repository = project(tmp_path, index, tools)
    assert repository.run("check")[1] == "valid: zoo\n"
    code, _, err = repository.run("run", "zoo")
    assert code == 0, err
    record = record_of(repository)
    assert [(capability["id"], capability["status"]) for capability in record["capabilities"]] == [
        ("tests/test_a.py::TestThings::test_thing", "yes"),
        ("tests/test_a.py::test_many", "yes"),
        ("tests/test_b.py::test_alive", "yes"),
    ]
    left_out, unknown = record["remarks"][:2]
    assert left_out.endswith(": -n auto --cov=animal")
    assert "conftest.py" in unknown
    shown = repository.run("show", "zoo", repository.cell)[1]
    assert "pytest tests -m 'not slow'" in shown
    assert repository.run("run", "zoo", "--dry-run")[0] == 0
    # A change of what is asked, be it a test or an argument, is due.
    helper = tmp_path / "tests" / "help.py"
    helper.write_text("ONE = 1  # as before\n", encoding="utf-8")
    assert "suite-changed" in repository.run("run", "zoo", "--dry-run")[1]


def test_tests_in_a_package_that_import_from_above_are_a_part_of_the_installed_one(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    broken = "raise ImportError('the checkout is not what is asked about')\n"
    text = """
from ....core import NAME
from animal.deep.tests.util import ONE


def test_above():
    assert (NAME, ONE) == ("installed", 1)
"""
    tests = {
        "__init__.py": "",
        "util.py": "ONE = 1\n",
        "unit/test_a.py": text,
    }
    files = {f"src/animal/deep/tests/{name}": content for name, content in tests.items()}
    files |= {"src/animal/__init__.py": broken, "src/animal/deep/__init__.py": broken}
    files |= {"src/animal/deep/tests/unit/__init__.py": "", "src/animal/core.py": broken}
    for path in files:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    repository = project(tmp_path, index, tools, **files)
    installed = {"__init__.py": "", "core.py": "NAME = 'installed'\n", "deep/__init__.py": ""}
    contents = {f"animal/{name}": content for name, content in installed.items()}
    tag = "py3-none-any"
    serve(index, "zooown", [("1.0", wheel("zooown", "1.0", contents, []), tag)])
    matrix = tmp_path / "matrices" / "zoo" / "matrix.toml"
    declared = matrix.read_text(encoding="utf-8")
    matrix.write_text(declared.replace('tests = "tests"', 'tests = "src/animal/deep/tests"'))
    code, _, err = repository.run("run", "zoo")
    assert code == 0, err
    (capability,) = record_of(repository)["capabilities"]
    assert capability["id"] == "src/animal/deep/tests/unit/test_a.py::test_above"
    assert capability["status"] == "yes"


def serve_plugin(
    index: FakeIndex, name: str, module: str, requires: list[str], point: str = ""
) -> None:
    """Serve a package with a fixture `MODULE_sound`, and with a plugin of that name unless it is
    empty.
    """
    plugin = f"import pytest\n\n\n@pytest.fixture\ndef {module}_sound():\n    return 1\n"
    contents = {f"{module}/__init__.py": "ALIVE = True\n", f"{module}/plugin.py": plugin}
    if point:
        points = f"[pytest11]\n{point} = {module}.plugin\n"
        contents[f"{name}-1.0.dist-info/entry_points.txt"] = points
    serve(index, name, [("1.0", wheel(name, "1.0", contents, requires), "py3-none-any")])


def test_a_plugin_is_loaded_and_its_tests_start_pytest_as_by_hand(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    # The tests of pytest-asyncio 1.5.0 do both.
    text = """
pytest_plugins = ["pytester", "named.plugin"]


def test_sound(animal_sound, named_sound, pytestconfig, pytester):
    assert animal_sound == named_sound == 1
    assert pytestconfig.pluginmanager.hasplugin("quiet")
    pytester.makeini("[pytest]")
    pytester.makepyfile("def test_nested(animal_sound, quiet_sound): ...")
    for result in (pytester.runpytest_inprocess(), pytester.runpytest_subprocess()):
        result.assert_outcomes(passed=1, warnings=0)
"""
    repository = project(tmp_path, index, tools, **{"tests/test_a.py": text})
    serve_plugin(index, "zooown", "animal", ["between"], "animal")
    serve_plugin(index, "between", "between", ["quiet", "named"])
    serve_plugin(index, "quiet", "quiet", [], "quiet")
    serve_plugin(index, "named", "named", [], "named.plugin")
    code, _, err = repository.run("run", "zoo")
    assert code == 0, err
    ids = [capability["id"] for capability in record_of(repository)["capabilities"]]
    assert "tests/test_a.py::test_sound" in ids


def test_the_plugin_of_what_the_subject_needs_is_loaded(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    # As the tests of starlette 1.10.0 need that of anyio, which none of its groups names.
    text = "def test_sound(quiet_sound):\n    assert quiet_sound == 1\n"
    repository = project(tmp_path, index, tools, **{"tests/test_a.py": text})
    serve_plugin(index, "zooown", "animal", ["quiet"])
    serve_plugin(index, "quiet", "quiet", [], "quiet")
    code, _, err = repository.run("run", "zoo")
    assert code == 0, err


RETRYING = """
def pytest_configure(config):
    config.addinivalue_line("markers", "flaky(reruns=1): runs again")


def pytest_collection_modifyitems(items):
    raise SystemExit("a cell loads no plugin that runs tests again")
"""
PLAINLY = """
import os
import socket
import tempfile

import pytest


@pytest.mark.flaky(reruns=5)
def test_with_the_mark_of_a_plugin_that_is_left_out(): ...


def test_with_a_plugin_of_what_a_test_tool_needs(quiet_sound):
    assert quiet_sound == 1


@pytest.mark.parametrize("folder", ["/tmp", "/var/tmp"])
def test_that_writes_by_name(folder):
    with tempfile.TemporaryDirectory(dir=folder) as made:
        assert os.listdir(folder) == [os.path.basename(made)] or "pytest" in str(os.listdir(folder))


def test_that_reads_and_writes_below_the_top_of_the_project():
    with open("tests/help.py") as file:
        assert "ONE" in file.read()
    os.mkdir("tests/made")
    assert os.listdir("tests/made") == []


@pytest.mark.online
def test_of_a_network():
    socket.create_connection(("192.0.2.1", 9), timeout=1)
"""


def test_what_passes_plainly_passes_in_a_cell(tmp_path: Path, index: FakeIndex, tools: Any) -> None:
    repository = project(tmp_path, index, tools, **{"tests/test_b.py": PLAINLY})
    settings = (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    settings = settings.replace('["pytest"]', '["pytest", "tool", "pytest-rerunfailures"]')
    settings = settings.replace("-ra", "-ra --strict-markers --reruns 3 --random-order")
    settings = settings.replace("slow: takes long", "online: asks a server")
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    matrix = tmp_path / "matrices" / "zoo" / "matrix.toml"
    text = matrix.read_text(encoding="utf-8")
    matrix.write_text(text.replace('arguments = ["-m", "not slow"], ', ""), encoding="utf-8")
    serve_plugin(index, "tool", "tool", ["quiet"])
    serve_plugin(index, "quiet", "quiet", [], "quiet")
    files = {
        "rerun/__init__.py": "",
        "rerun/plugin.py": RETRYING,
        "pytest_rerunfailures-1.0.dist-info/entry_points.txt": "[pytest11]\nre = rerun.plugin\n",
    }
    made = wheel("pytest_rerunfailures", "1.0", files, [])
    serve(index, "pytest_rerunfailures", [("1.0", made, "py3-none-any")])
    code, _, err = repository.run("run", "zoo")
    assert code == 0, err
    record = record_of(repository)
    assert len(record["capabilities"]) == 6
    left_out, not_run = record["remarks"][:2]
    assert left_out.endswith(": -n auto --cov=animal --reruns 3 --random-order")
    assert not_run.endswith(": tests/test_b.py::test_of_a_network")


def test_init_runs_the_tests_once_and_adds_what_they_lack(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    files = {
        "tests/test_a.py": "import yaml\n\n\ndef test_a(): ...\n",
        "tests/test_b.py": "if True:\n    import attr, unknown\n\n\ndef test_b(): ...\n",
    }
    repository = project(tmp_path, index, tools, **files)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "zooown"\n', encoding="utf-8")
    for name, module in (("zooown", "zooown"), ("pyyaml", "yaml"), ("attrs", "attr")):
        made = wheel(name, "1.0", {f"{module}.py": ""}, [])
        serve(index, name, [("1.0", made, "py3-none-any")])
    code, out, err = repository.run("init")
    assert code == 0, err
    text = (tmp_path / "matrices" / "zooown" / "matrix.toml").read_text(encoding="utf-8")
    assert 'requirements = ["pytest", "pyyaml", "attrs"]' in text, err
    assert "added: pyyaml and attrs" in err
    assert "suite-fault(add what brings" in err
    assert "is not proven" in err
    (tmp_path / "tests" / "test_b.py").write_text("def test_b(): ...\n")
    shutil.rmtree(tmp_path / "matrices" / "zooown")
    code, out, err = repository.run("init")
    assert (code, "all 2 work" in out) == (0, True), err
    shutil.rmtree(tmp_path / "matrices" / "zooown")
    code, out, err = repository.run("init", "--no-run")
    assert (code, "[1/1]" in err) == (0, False)


def test_a_conflict_of_the_tests_own_requirements_is_no_record_of_the_combination(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    repository = project(tmp_path, index, tools)
    settings = (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    settings = settings.replace('["pytest"]', '["pytest", "tool==1.0"]')
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    serve_plugin(index, "tool", "tool", ["zooown>=2"])
    code, _, err = repository.run("run", "zoo")
    assert code == 2, err
    assert "zooown>=2 through tool==1.0" in err
    assert repository.records() == []
    assert repository.run("matrix", "lock", "zoo", repository.cell)[0] == 2
    code, out, err = repository.run("matrix", "lock", "zoo", "--plain")
    assert (code, out) == (0, f"{repository.cell}  locked\n"), err
    assert "does not install" not in repository.run("grid", "zoo")[1]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("import os\n\n\ndef test_x(monkeypatch):\n    monkeypatch.setattr(os, 'name', 'nt')\n"
         "    raise ValueError\n",
         "suite-fault(mend tests/test_a.py::test_x: pytest itself ends in it (INTERNALERROR, Not"),
        ("import pytest\n\npytestmark = pytest.mark.unheard_of\n\n\ndef test_x(): ...\n",
         "suite-fault(mend the tests: 'unheard_of' not found in `markers`"),
        ("raise ValueError('no data beside the tests')\n",
         "suite-fault(mend the tests: no data beside the tests; at tests/test_a.py:1)"),
        ("open('beside.txt')\n", "suite-fault(mend the tests: [Errno 2] No such file"),
    ],
)  # fmt: skip
def test_what_ends_pytest_itself_and_what_it_cannot_collect_are_no_record(
    tmp_path: Path, index: FakeIndex, tools: Any, broken: str, said: str
) -> None:
    repository = project(tmp_path, index, tools, **{"tests/test_a.py": broken})
    settings = (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    settings = settings.replace("-ra", "-ra --strict-markers")
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    code, _, err = repository.run("run", "zoo")
    assert code == 2, err
    assert said in err
    assert repository.records() == []


def test_tests_that_the_tag_of_a_release_does_not_have_are_not_asked_of_it(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    alive = "import animal\n\n\ndef test_alive():\n    assert animal.ALIVE\n"
    repository = project(tmp_path, index, tools, **{"tests/test_b.py": alive})
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "1"), ("tag", "v1.0")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    tests = tmp_path / "tests"
    (tests / "test_b.py").write_text(f"{alive}\n\ndef test_new():\n    assert animal.NEW\n")
    (tests / "test_c.py").write_text(NEWER)
    matrix = tmp_path / "matrices" / "zoo" / "matrix.toml"
    text = matrix.read_text(encoding="utf-8")
    matrix.write_text(text.replace('arguments = ["-m", "not slow"], ', ""), encoding="utf-8")
    code, _, err = repository.run("run", "zoo")
    assert code == 0, err
    record = record_of(repository)
    assert len(record["capabilities"]) == 3
    assert any(
        remark.endswith(": tests/test_b.py::test_new, tests/test_c.py")
        for remark in record["remarks"]
    )


def test_a_package_that_hides_tests_and_one_that_changes_them_are_found_out(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    repository = project(tmp_path, index, tools, HIDING)
    matrix = tmp_path / "matrices" / "zoo" / "matrix.toml"
    text = matrix.read_text(encoding="utf-8")
    matrix.write_text(text.replace('arguments = ["-m", "not slow"], ', ""), encoding="utf-8")
    code, _, err = repository.run("run", "zoo")
    assert code == 1, err
    assert "report-mismatch(tests/test_b.py::test_alive was not collected)" in err


NEWER = """
from animal import SOUND


def test_sound():
    assert SOUND


class TestSounds:
    def test_loud(self):
        assert SOUND
"""


def test_a_file_that_asks_for_what_a_release_lacks_leaves_the_others_their_say(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    repository = project(tmp_path, index, tools, **{"tests/test_c.py": NEWER})
    matrix = tmp_path / "matrices" / "zoo" / "matrix.toml"
    text = matrix.read_text(encoding="utf-8")
    chosen = 'arguments = ["-m", "not slow"], '
    assert chosen in text
    (tmp_path / "tests" / "test_b.py").write_text("def test_alive(): ...\n", encoding="utf-8")
    matrix.write_text(text.replace(chosen, ""), encoding="utf-8")
    code, _, err = repository.run("run", "zoo")
    assert code == 1, err
    record = record_of(repository)
    lost = "missing-attribute", "animal.SOUND"
    assert record["outcome"].startswith(
        "test-fail:missing-attribute(tests/test_c.py::TestSounds::test_loud; by animal.SOUND"
    )
    assert [(c["id"], c["status"], c.get("cause", "")) for c in record["capabilities"]] == [
        ("tests/test_a.py::TestThings::test_thing", "yes", ""),
        ("tests/test_a.py::test_many", "yes", ""),
        ("tests/test_b.py::test_alive", "yes", ""),
        ("tests/test_c.py::TestSounds::test_loud", "no", lost[0]),
        ("tests/test_c.py::test_sound", "no", lost[0]),
    ]
    assert "3 of 5 work; 2 fail" in repository.run("show", "zoo", repository.cell)[1]
    # Where nobody can tell which tests a file has, the file itself is what fails.
    matrix.write_text(text, encoding="utf-8")
    assert repository.run("run", "zoo")[0] == 1
    newest = max(map(json.loads, repository.records()), key=lambda record: record["started"])
    failing = [c for c in newest["capabilities"] if c["status"] == "no"]
    assert [(c["id"], c["cause"]) for c in failing] == [("tests/test_c.py", lost[0])]


def test_where_no_file_can_be_collected_there_is_nothing_in_part(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    both = {"tests/test_a.py": NEWER, "tests/test_b.py": NEWER}
    repository = project(tmp_path, index, tools, **both)
    assert repository.run("run", "zoo")[0] == 1
    record = record_of(repository)
    assert record["outcome"].startswith("collect-fail:missing-attribute(animal.SOUND")
    assert "capabilities" not in record or record["capabilities"] == []


def test_tests_that_are_not_there_are_a_fault_of_the_declaration(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    repository = project(tmp_path, index, tools)
    (tmp_path / "tests").rename(tmp_path / "checks")
    code, out, err = repository.run("run", "zoo")
    assert (code, out) == (2, "")
    assert "suite.tests: the repository has" in err
    outside = tmp_path.parent / f"{tmp_path.name}-outside.py"
    outside.write_text("SECRET = 1\n", encoding="utf-8")
    (tmp_path / "checks").rename(tmp_path / "tests")
    (tmp_path / "tests" / "test_c.py").symlink_to(outside)
    code, _, err = repository.run("check")
    assert code == 2
    assert "tests/test_c.py is a link" in err


def test_of_thousands_of_tests_each_file_is_one_line_and_each_failure_another() -> None:
    answers = [
        Capability(id=f"tests/test_{file}.py::test_{number}", status="yes")
        for file in range(60)
        for number in range(50)
    ]
    failed = Capability(
        id="tests/test_7.py::test_x", status="no", cause="assertion", subject="E: 1"
    )
    lines = list(answer_lines([*answers, failed], {failed.id: "by this combination"}))
    assert len(lines) == 62
    assert "tests/test_7.py  50 yes" in lines
    assert "tests/test_7.py::test_x  no (by this combination): E: 1" in lines
    few = answers[:3]
    assert list(answer_lines(few, {})) == [f"{answer.id}  yes" for answer in few]
    marked = [Capability(id=f"a.{number}", status="yes") for number in range(200)]
    assert len(list(answer_lines(marked, {}))) == 200


def test_what_tests_import_from_the_top_of_the_repository_is_a_part_of_them(tmp_path: Path) -> None:
    # As pre-commit-hooks has it: tests/ imports testing.util, which reads testing/resources/.
    for name, text in {
        "tests/test_a.py": "from helpers import a\nimport demo\nif a:\n    import loose, yaml\n",
        "helpers/util.py": "",
        "helpers/resources/a.txt": "a",
        "helpers/.hidden": "",
        "loose.py": "",
        "demo/__init__.py": "",
        "yaml/only.txt": "",
        "unused.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    document = changed(MATRIX, ("suite",), {"tests": "tests", "module": "demo"})
    matrix = load(toml(document), None, folder="demo", today=TODAY).matrix
    place = placed_suite(tmp_path / "matrices" / "demo", matrix, lambda: tmp_path / "cache")
    found = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    helpers = {"helpers/util.py", "helpers/resources/a.txt", "loose.py"}
    assert found - {"pytest.ini"} == {"tests/test_a.py", *helpers}


def test_of_a_package_whose_parts_have_tests_the_tests_alone_are_copied(tmp_path: Path) -> None:
    # As graphene has it: graphene/tests, graphene/types/tests, graphene/utils/tests.
    tests = {"demo/tests/test_a.py", "demo/part/tests/test_b.py", "demo/part/tests/data.txt"}
    code = {"demo/__init__.py", "demo/a.py", "demo/part/__init__.py", "demo/part/b.py", "c.py"}
    for name in tests | code:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert own_tests(tmp_path) == "demo"
    document = changed(MATRIX, ("suite",), {"tests": "demo", "module": "demo"})
    matrix = load(toml(document), None, folder="demo", today=TODAY).matrix
    place = placed_suite(tmp_path / "matrices" / "demo", matrix, lambda: tmp_path / "cache")
    found = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    assert found - {"pytest.ini"} == tests | {"demo/__init__.py", "demo/part/__init__.py"}
    # The installed packages stand for these, each with its own tests.
    assert packages_above(place, "demo") == {"demo": "demo", "demo.part": "demo/part"}


@pytest.mark.parametrize(
    ("files", "settings", "tests"),
    [
        # As jsonpatch and schedule have it: one file beside the module.
        (["demo.py", "tests.py"], "", "tests.py"),
        (["demo.py", "test_demo.py"], "", "test_demo.py"),
        (["test_a.py", "test_b.py"], "", ""),
        (["tests/test_a.py", "test_b.py"], "", "tests"),
        (["checks/a.py", "checks/b.py"], "testpaths = checks/a.py\n", "checks/a.py"),
        (["tests/check_a.py"], "python_files = check_*.py\n", "tests"),
        (["tests/test_a.py"], "testpaths = .\n", "tests"),
        (["demo/testsuite/test_a.py"], "", "demo/testsuite"),
        (["testing/test_a.py", "demo/tests/test_a.py"], "", "demo/tests"),
        (["tests/test_a.py"], "testpaths = ..\n", "tests"),
    ],
)
def test_the_tests_of_a_project_are_found(
    tmp_path: Path, files: list[str], settings: str, tests: str
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{settings}")
    assert own_tests(tmp_path) == tests


def test_tests_that_only_unittest_finds_are_run(tmp_path: Path) -> None:
    (tmp_path / "demo" / "tests").mkdir(parents=True)
    (tmp_path / "demo" / "tests" / "build_tests.py").write_text("import unittest\n")
    assert (own_tests(tmp_path), discovered(tmp_path)) == ("", ())
    settings = tmp_path / "pyproject.toml"
    settings.write_text("test = 'python -m unittest discover -s demo -p \"*tests.py\"'\n")
    assert own_tests(tmp_path) == "demo/tests"
    assert discovered(tmp_path) == ("-o", "python_files=*tests.py")
    # The project's own settings of pytest are what it runs.
    settings.write_text(f"{settings.read_text()}[tool.pytest]\npython_files = 't_*.py'\n")
    assert (own_tests(tmp_path), discovered(tmp_path)) == ("", ())
