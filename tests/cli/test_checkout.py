"""A checkout in place of the releases: `compat diff` and `compat run --subject-from`, on a project
with a build back end of its own and an index on this machine.
"""

import datetime
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from _pytest.mark.expression import Expression
from packaging.version import Version
from support.fake_index import FakeIndex
from support.zoo import SERIES, Animal, Repository, serve, wheel

from compat.cli.floor import usual_pythons
from compat.declare.load import load
from compat.draft.draft import SuiteDraft, only_in, trial_text
from compat.fleet.floor import slowest
from compat.github.markdown import faults
from compat.run.suitefiles import own_option

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

PACKAGE = "zoogood"
LOCAL = f"py{SERIES}-a-local"
# The suite asks for two things, so that one can break while the other works.
SUITE = """\
import pytest


@pytest.mark.capability("life.alive", title="Alive", says="It is alive.")
def test_alive():
    import animal

    assert animal.ALIVE


@pytest.mark.capability("life.name", title="Name", says="It has a name.")
def test_name():
    import animal

    assert animal.name() == "cat"
"""
MODULE = "ALIVE = True\n\n\ndef name():\n    return 'cat'\n"
RENAMED = MODULE.replace("def name", "def title")
BACKEND = """\
import zipfile


def build_wheel(directory, config_settings=None, metadata_directory=None):
    version, *lines = open("METADATA.txt").read().split("\\n")
    info = "zoogood-" + version + ".dist-info"
    head = ["Metadata-Version: 2.1", "Name: zoogood", "Version: " + version]
    texts = {
        "animal.py": open("animal.py").read(),
        info + "/METADATA": "\\n".join(head + [line for line in lines if line]) + "\\n",
        info + "/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        info + "/RECORD": "",
    }
    record = "".join(path + ",,\\n" for path in texts)
    name = "zoogood-" + version + "-py3-none-any.whl"
    with zipfile.ZipFile(directory + "/" + name, "w") as archive:
        for path, text in texts.items():
            archive.writestr(path, record if path.endswith("RECORD") else text)
    return name
"""
PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def index() -> Iterator[FakeIndex]:
    fake = FakeIndex()
    yield fake
    fake.stop()


@pytest.fixture
def zoo(tmp_path: Path, cache: Path, index: FakeIndex, tools: Any) -> Repository:
    """A release of the animal, and a checkout of it in the same repository."""
    animal = Animal(
        name="good",
        story="It works.",
        outcome="pass",
        module=MODULE,
        suite=SUITE,
        others={"other==1.0": "", "other==2.0": ""},
    )
    repository = Repository(tmp_path, cache, index, animal, tools)
    checkout(tmp_path, MODULE)
    return repository


def checkout(folder: Path, module: str, version: str = "1.1.dev0", *lines: str) -> None:
    """Write the project's files."""
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "backend.py").write_text(BACKEND)
    (folder / "animal.py").write_text(module)
    (folder / "METADATA.txt").write_text("\n".join((version, *lines)))


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    done = subprocess.run(
        ["git", *name, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def kept(zoo: Repository) -> list[str]:
    """What is kept of runs and locks, without times and digests."""
    folder = zoo.root / "matrices" / "zoo"
    files = [path for path in folder.rglob("*") if path.suffix in (".jsonl", ".txt")]
    return sorted({path.parent.relative_to(folder).as_posix() for path in files})


def test_a_checkout_that_changes_nothing_is_as_before_and_leaves_nothing(zoo: Repository) -> None:
    code, out, err = zoo.run("diff", "zoo")
    assert code == 0, err
    assert f"{PACKAGE} 1.1.dev0 beside {PACKAGE} 1.0: 1 cell: 1 as before" in out
    assert "zoo/compare/?old=1.0" in err
    assert kept(zoo) == ["locks", "records"]
    code, out, err = zoo.run("diff", "zoo", "--json")
    assert (code, json.loads(out)["data"]["counts"]["same"]) == (0, 1)
    assert "1 cell had a" in err
    assert not list((zoo.sandbox / "checkouts").iterdir())


def test_what_breaks_is_named_with_its_cell_and_run_once_more(zoo: Repository) -> None:
    checkout(zoo.root, RENAMED)
    code, out, err = zoo.run("diff", "zoo")
    assert code == 1, err
    sentence = "life.name (Name) fails: AttributeError: module 'animal' has no attribute 'name'"
    assert sentence in out
    assert out.index(sentence) < out.index(f"    {LOCAL}")
    assert "Alive" not in out
    assert err.count(f"{LOCAL}  test-fail:missing-attribute(life.name") == 2
    code, out, _ = zoo.run("diff", "zoo", "--json", LOCAL)
    data = json.loads(out)["data"]
    (cell,) = data["cells"]
    assert (code, cell["cell"], cell["against"]) == (1, LOCAL, zoo.cell)
    assert (cell["difference"], cell["before"], cell["after"]) == ("breaks", "works", "partial")
    (change,) = cell["capabilities"]
    assert (change["id"], change["before"], change["after"]) == ("life.name", "yes", "no")
    assert data["checkout"]["version"] == "1.1.dev0"
    assert kept(zoo) == ["locks", "records"]


REPORTS = ("--junit", "junit.xml", "--summary", "summary.md")


def reported(zoo: Repository) -> tuple[dict[str, list[str]], str]:
    """The tags of the cases and their messages by name, and the summary, which is harmless."""
    root = ElementTree.parse(zoo.root / "junit.xml").getroot()
    (suite,) = root
    assert suite.get("name") == LOCAL
    cases = {
        str(case.get("name")): [f"{said.tag}: {said.get('message')}" for said in case]
        for case in suite
    }
    assert root.get("tests") == str(len(cases))
    assert root.get("failures") == str(sum(x[0][:7] == "failure" for x in cases.values() if x))
    summary = (zoo.root / "summary.md").read_text(encoding="utf-8")
    assert faults(summary) == ()
    return cases, summary


def test_reports_of_a_comparison_fail_what_breaks_and_nothing_else(zoo: Repository) -> None:
    checkout(zoo.root, RENAMED)
    code, _, err = zoo.run("diff", "zoo", *REPORTS)
    assert code == 1, err
    cases, summary = reported(zoo)
    (why,) = cases.pop("life.name")
    assert "life.name (Name) fails: AttributeError" in why
    assert cases == {"life.alive": []}
    heading, row = summary.splitlines()[0], summary.splitlines()[4]
    assert heading == f"## {PACKAGE} 1.1.dev0 beside {PACKAGE} 1.0: 1 cell: 1 broken"
    assert row.startswith("| Broken | life.name (Name) fails: ")
    assert row.endswith(f" | `{LOCAL}` |")
    checkout(zoo.root, MODULE, "1.1.dev0", "Requires-Python: >=3.99")
    assert zoo.run("diff", "zoo", *REPORTS)[0] == 1
    cases, summary = reported(zoo)
    because = f"{PACKAGE} 1.1.dev0 requires Python >=3.99, not {SERIES}"
    assert cases == {"plan": [f"failure: {because}"]}
    assert summary.count("## ") == 2
    checkout(zoo.root, MODULE)
    assert zoo.run("diff", "zoo", *REPORTS)[0] == 0
    cases, summary = reported(zoo)
    assert cases == {"life.alive": [], "life.name": []}
    assert summary.endswith(": 1 cell: 1 as before\n\n")


def test_what_fails_with_the_release_too_is_skipped(
    tmp_path: Path, cache: Path, index: FakeIndex, tools: Any
) -> None:
    animal = Animal(name="good", story="", outcome="", module=RENAMED, suite=SUITE)
    zoo = Repository(tmp_path, cache, index, animal, tools)
    checkout(tmp_path, RENAMED)
    assert zoo.run("diff", "zoo", *REPORTS)[0] == 0
    cases, _ = reported(zoo)
    (said,) = cases["life.name"]
    assert said.startswith("skipped: fails: AttributeError: ")
    assert said.endswith(f"; it is not known to work with {PACKAGE} 1.0 either")
    checkout(tmp_path, "raise ImportError('no animals here')\n")
    assert zoo.run("diff", "zoo", *REPORTS)[0] == 1
    cases, _ = reported(zoo)
    assert [said[0].partition(":")[0] for said in cases.values()] == ["failure"]


def test_a_run_of_a_checkout_leaves_reports_too(zoo: Repository) -> None:
    checkout(zoo.root, RENAMED)
    code, _, err = zoo.run("run", "zoo", "--subject-from", ".", *REPORTS)
    assert code == 1, err
    cases, summary = reported(zoo)
    assert (cases["life.alive"], cases["life.name"][0][:8]) == ([], "failure:")
    assert summary.startswith(f"## {PACKAGE} 1.1.dev0: the combination does not work\n")
    assert f"| `{LOCAL}` | partly works |" in summary


def test_records_of_a_checkout_are_kept_by_its_commit_on_request(zoo: Repository) -> None:
    (zoo.root / ".gitignore").write_text("secret.txt\nmatrices/\n")
    (zoo.root / "secret.txt").write_text("not for a build")
    git(zoo.root, "init", "--quiet")
    git(zoo.root, "add", "--all")
    git(zoo.root, "commit", "--quiet", "--message", "First")
    commit = git(zoo.root, "rev-parse", "HEAD")[:12]
    code, out, err = zoo.run("run", "zoo", "--subject-from", ".", "--keep-records")
    assert code == 0, err
    assert f"{PACKAGE} 1.1.dev0 (commit {commit}): 1 cell to run" in err
    assert f"{LOCAL}  works" in out
    assert kept(zoo) == [f"checkouts/{commit}/locks", f"checkouts/{commit}/records"]
    (record,) = (zoo.root / "matrices" / "zoo" / "checkouts").glob("*/records/*.jsonl")
    assert [json.loads(record.read_text())[key] for key in ("matrix", "cell")] == ["zoo", LOCAL]
    checkout(zoo.root, RENAMED)
    code, out, err = zoo.run("run", "zoo", "--subject-from", ".", "--json")
    data = json.loads(out)["data"]
    assert (code, data["checkout"]["changed"]) == (1, True)
    assert data["checkout"]["name"].startswith(f"{commit}-")
    assert data["cells"][0]["capabilities"] == {"life.alive": "yes", "life.name": "no"}
    assert "not committed" in err
    # What was kept of a checkout is a row of its own, and no result of a release.
    (cell,) = json.loads(zoo.run("show", "zoo", "--json")[1])["data"]["cells"]
    assert (cell["id"], cell["verdict"]) == (LOCAL, "works")
    # It is the row HEAD of the grid, and it is in the data with its commit.
    code, _, err = zoo.run("publish", "zoo", "--out", "public")
    assert code == 0, err
    public = zoo.root / "public"
    (row,) = json.loads((public / "api/v1/zoo/cells.json").read_bytes())["checkout"]
    assert (row["id"], row["verdict"], row["evidence"]) == (LOCAL, "works", "tested")
    page = (public / "zoo" / "grid" / "index.html").read_text(encoding="utf-8")
    head = page.partition('data-release="HEAD"')[2].partition("</tr>")[0]
    assert "works:</span> alone" in head
    assert f"HEAD is commit {commit}, tested on " in page


def test_the_checkout_that_ran_last_is_a_row_beside_the_releases(zoo: Repository) -> None:
    assert zoo.run("run", "zoo", zoo.cell)[0] == 0
    advice = zoo.run("advise", "zoo", "--json")[1]
    checkout(zoo.root, MODULE)
    assert zoo.run("run", "zoo", "--subject-from", ".", "--keep-records")[0] == 0
    checkout(zoo.root, RENAMED)
    git(zoo.root, "init", "--quiet")
    git(zoo.root, "add", "--all")
    git(zoo.root, "commit", "--quiet", "--message", "First")
    commit = git(zoo.root, "rev-parse", "HEAD")[:12]
    assert zoo.run("run", "zoo", "--subject-from", ".", "--keep-records")[0] == 1
    code, out, err = zoo.run("show", "zoo")
    assert code == 0, err
    rows = [line.split() for line in out.splitlines()[2:4]]
    assert [row[0] for row in rows] == ["HEAD", "1.0"]
    assert rows[0][1] != rows[1][1]
    assert f"HEAD is commit {commit}, tested on" in err
    code, out, _ = zoo.run("show", "zoo", LOCAL)
    assert (code, "life.name  no" in out) == (0, True)
    # Nothing else uses it.
    assert zoo.run("advise", "zoo", "--json")[1] == advice
    assert zoo.run("publish", "--out", "public", "--base-url", "https://zoo.example/")[0] == 0
    pages = [path.read_text("utf-8") for path in (zoo.root / "public").rglob("index.html")]
    page = next(text for text in pages if f"HEAD is commit {commit}, tested on" in text)
    row = page[page.index('<th scope="row">HEAD</th>') :].partition("</tr>")[0]
    assert "zoogood HEAD on Python" in row
    assert "life.name fails" in row
    assert zoo.run("site", "check", "public")[0] == 0


def test_other_requirements_are_locked_anew_and_named(zoo: Repository) -> None:
    checkout(zoo.root, RENAMED, "1.1.dev0", "Requires-Dist: other<2")
    code, out, err = zoo.run("diff", "zoo")
    assert code == 1, err
    assert f"{LOCAL} also has other packages: other missing -> 1.0" in out


def test_a_python_that_is_dropped_is_broken_without_a_run(zoo: Repository) -> None:
    checkout(zoo.root, MODULE, "1.1.dev0", "Requires-Python: >=3.99")
    code, out, err = zoo.run("diff", "zoo")
    assert code == 1, err
    assert f"requires Python >=3.99, not {SERIES}" in out
    assert f"    {LOCAL}" in out
    code, _, err = zoo.run("run", "zoo", "--subject-from", ".")
    assert (code, "left to run" in err) == (1, True)


def test_a_place_whose_python_is_missing_names_it_and_is_not_run_again(zoo: Repository) -> None:
    matrix = zoo.root / "matrices" / "zoo" / "matrix.toml"
    version = ".".join(str(part) for part in sys.version_info[:3])
    text = matrix.read_text().replace(f'"{version}"', f'"{version}", "3.99.0"')
    matrix.write_text(text)
    code, out, err = zoo.run("diff", "zoo")
    assert code == 0, err
    assert "2 cells: 1 as before, 1 without an answer" in out
    remedy = "this machine has no Python 3.99; `uv python install 3.99` gets one"
    absent = LOCAL.replace(SERIES, "3.99")
    assert out.rstrip().endswith(f"{remedy}\n    {absent}")
    assert err.count(f"{absent}  plan-fail:no-interpreter(py3.99)") == 1
    assert "again" not in err
    code, _, err = zoo.run("run", "zoo", "--subject-from", ".")
    assert code == 3, err
    assert err.rstrip().endswith(f"1 cell has no answer: {remedy}")


def test_a_wheel_and_a_git_repository_are_checkouts_too(zoo: Repository, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    checkout(elsewhere, MODULE)
    git(elsewhere, "init", "--quiet")
    git(elsewhere, "add", "--all")
    git(elsewhere, "commit", "--quiet", "--message", "First")
    commit = git(elsewhere, "rev-parse", "HEAD")
    address = f"git+file://{elsewhere}@{commit}"
    code, out, err = zoo.run("run", "zoo", "--subject-from", address, "--json")
    assert code == 0, err
    data = json.loads(out)["data"]["checkout"]
    assert (data["commit"], data["changed"]) == (commit, False)
    subprocess.run(
        ["python", "-c", "import backend; backend.build_wheel('.')"], cwd=elsewhere, check=True
    )
    (wheel,) = elsewhere.glob("*.whl")
    code, out, err = zoo.run("run", "zoo", "--subject-from", str(wheel), "--json")
    assert code == 0, err
    assert json.loads(out)["data"]["checkout"]["name"].startswith("wheel-")


def test_a_source_distribution_is_a_checkout_too(zoo: Repository, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    checkout(elsewhere, RENAMED, "1.1")
    path = tmp_path / "zoogood-1.1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(elsewhere, "zoogood-1.1")
    shutil.rmtree(elsewhere)
    code, out, err = zoo.run("diff", "zoo", "--subject-from", str(path), "--json")
    assert code == 1, err
    told = json.loads(out)["data"]
    assert (told["checkout"]["version"], told["checkout"]["commit"]) == ("1.1", "")
    assert [change["id"] for change in told["cells"][0]["capabilities"]] == ["life.name"]
    path.write_bytes(b"no archive")
    code, _, err = zoo.run("diff", "zoo", "--subject-from", str(path))
    assert code == 1, err
    (line,) = [line for line in err.splitlines() if "cannot be built" in line]
    assert line.startswith(f"error: {path}: ")


def test_a_failing_release_is_mended_by_a_checkout(
    tmp_path: Path, cache: Path, index: FakeIndex, tools: Any
) -> None:
    animal = Animal(name="good", story="", outcome="pass", module=RENAMED, suite=SUITE)
    zoo = Repository(tmp_path, cache, index, animal, tools)
    checkout(tmp_path, MODULE)
    code, out, err = zoo.run("diff", "zoo")
    assert code == 0, err
    assert "1 cell: 1 fixed" in out
    assert "life.name (Name) works now" in out


def wrong_project(folder: Path) -> None:
    (folder / "backend.py").write_text("import nowhere\n")


def other_package(folder: Path) -> None:
    (folder / "backend.py").write_text(BACKEND.replace("zoogood", "zoobad"))


def no_project(folder: Path) -> None:
    (folder / "pyproject.toml").unlink()


@pytest.mark.parametrize(
    ("spoil", "code", "words"),
    [
        (wrong_project, 1, "cannot be built: ModuleNotFoundError: No module named 'nowhere'"),
        (other_package, 2, "is the project zoobad, and the subject of the matrix is zoogood"),
        (no_project, 2, "neither pyproject.toml nor setup.py"),
    ],
)
def test_a_checkout_that_is_none_has_one_clear_line(
    zoo: Repository, spoil: Any, code: int, words: str
) -> None:
    spoil(zoo.root)
    ended, _, err = zoo.run("diff", "zoo")
    assert ended == code, err
    (line,) = [line for line in err.splitlines() if words in line]
    assert line.startswith("error: .: ")
    assert line.endswith(")")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("diff", "zoo", "--against", "9.9"), "'9.9' is no release of the matrix"),
        (("diff", "zoo", "py9*"), "no cell of the checkout is 'py9*'"),
        (("diff", "zoo", "--subject-from", "nowhere"), "there is no such source to build"),
        (("diff", "zoo", "--subject-from", "git+ext::sh"), "is not an address that git can"),
        (("run", "zoo", "--keep-records"), "--keep-records needs --subject-from"),
        (("run", "zoo", "--keep", "--subject-from", "."), "--subject-from excludes --dry-run"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(
    zoo: Repository, words: tuple[str, ...], sentence: str
) -> None:
    code, _, err = zoo.run(*words)
    assert code == 2, err
    assert sentence in err


DECLARED = f"""\
[project]
name = "{PACKAGE}"
version = "1.1.dev0"
dependencies = [
    "other >= 1.0 ,<9",  # as of long ago
    "another>=1.0",
    "third>=1.0",
]

"""
# It works with other 1.0 only beside another 1.0, which takes a third look to see.
OWN_TESTS = """\
from importlib.metadata import version


def test_third():
    assert int(version("third")[0]) >= 3


def test_pair():
    assert (version("other"), version("another")) != ("1.0", "3.0")


def test_never():
    assert 0
"""


@pytest.fixture
def project(tmp_path: Path, cache: Path, index: FakeIndex, tools: Any) -> Repository:
    """A project without a matrix, with tests of its own and three dependencies."""
    versions = {f"{name}=={v}.0": "" for name in ("other", "another", "third") for v in range(1, 6)}
    versions = {k: v for k, v in versions.items() if k not in ("other==4.0", "another==4.0")}
    versions["third==2.9rc1"] = ""  # as a minimum, it would make installers choose pre-releases
    versions |= {"plain==1.0": "", "greedy==1.0": "third>=4", "extra==1.0": "", "extra==2.0": ""}
    animal = Animal(name="good", story="It works.", outcome="pass", others=versions)
    repository = Repository(tmp_path, cache, index, animal, tools)
    shutil.rmtree(tmp_path / "matrices")
    requires = ("other>=1.0,<9", "another>=1.0", "third>=1.0", "plain", "far>=1; sys_platform=='x'")
    checkout(tmp_path, MODULE, "1.1.dev0", *(f"Requires-Dist: {text}" for text in requires))
    (tmp_path / "pyproject.toml").write_text(DECLARED + PROJECT)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_own.py").write_text(OWN_TESTS)
    return repository


def minimums(ran: tuple[int, str, str]) -> dict[str, dict[str, Any]]:
    return {row["package"]: row for row in json.loads(ran[1])["data"]["minimums"]}


def test_the_false_minimum_of_a_project_is_found_and_mended(project: Repository) -> None:
    ran = project.run("floor", ".", "--python", SERIES, "--json", "--check")
    found = minimums(ran)
    assert ran[0] == 1, ran[2]
    assert {name: (row["state"], row["works"], row["fails"]) for name, row in found.items()} == {
        "other": ("works", "1.0", None),
        "another": ("works", "1.0", None),
        "third": ("false", "3.0", "2.0"),
        "plain": ("unbounded", "1.0", None),
        "far": ("elsewhere", None, None),
    }
    assert "tests/test_own.py::test_third fails" in found["third"]["because"]
    assert "test_own.py:5" in found["third"]["because"]
    assert json.loads(ran[1])["data"]["failing"] == ["tests/test_own.py::test_never"]
    assert not (project.root / "matrices").exists()

    fix = "--fix", "--write", "--constraints", "low.txt"
    code, out, err = project.run("floor", "--python", SERIES, *fix)
    assert code == 0, err
    assert (project.root / "matrices" / PACKAGE / "matrix.toml").is_file()
    assert "FALSE, 3.0 is the" in out
    after = (project.root / "pyproject.toml").read_text()
    assert after == (DECLARED + PROJECT).replace("third>=1.0", "third>=3.0")
    pins = (project.root / "low.txt").read_text().splitlines()[1:]
    assert pins == ["another==1.0", "other==1.0", "plain==1.0", "third==3.0"]


def test_a_minimum_that_the_tests_keep_out_is_not_called_true(project: Repository) -> None:
    (project.root / "pyproject.toml").write_text(
        f'{DECLARED}[dependency-groups]\ntest = ["pytest", "greedy"]\n\n{PROJECT}'
    )
    # A file that needs what nothing brings is left out, and leaves the others their say.
    lost = "def test_third_of_all():\n    import nowhere_to_be_had\n"
    (project.root / "tests" / "test_lost.py").write_text(lost)
    ran = project.run("floor", ".", "--python", SERIES, "--json", "--check", "-k", "third")
    found = minimums(ran)
    assert "nowhere_to_be_had: --ignore-glob=/*/tests/test_lost.py" in ran[2]
    assert ran[0] == 0, ran[2]
    assert (found["third"]["state"], found["third"]["works"]) == ("untested", "4.0")
    assert "your tests need" in found["third"]["because"]
    # The tests that are left out have no say.
    assert {found[name]["state"] for name in ("other", "another")} == {"works"}
    data = json.loads(ran[1])["data"]
    # What the resolver refuses costs no run: newest, two halves, the lowest that is let in, and all
    # of them at last.
    assert (data["passing"], data["failing"], data["runs"]) == (1, [], 5)


def test_what_the_tests_require_may_fail_below_without_making_a_minimum_false(
    project: Repository, index: FakeIndex
) -> None:
    """requests_mock calls what only newer releases of requests have, on 28 November 2026."""
    module = (
        "from importlib.metadata import version\n\n\n"
        "def mocked():\n    if version('third') < '4':\n        raise TypeError('no keyword')\n"
    )
    files = {"tool.py": module}
    serve(index, "tool", [("1.0", wheel("tool", "1.0", files, []), "py3-none-any")])
    (project.root / "pyproject.toml").write_text(
        f'{DECLARED}[dependency-groups]\ntest = ["pytest", "tool"]\n\n{PROJECT}'
    )
    tests = project.root / "tests" / "test_own.py"
    tests.write_text("import tool\n\n\ndef test_tool():\n    tool.mocked()\n")
    words = "floor", ".", "--python", SERIES, "--check"
    ran = project.run(*words, "--json")
    third = minimums(ran)["third"]
    assert ran[0] == 0, ran[2]
    assert (third["state"], third["works"]) == ("untested", "4.0")
    assert "the test tool tool fails with it: TypeError" in third["because"]
    # What the project's own tests see is its own fault, whatever else fails.
    tests.write_text(f"{tests.read_text()}\n\n{OWN_TESTS}")
    ran = project.run(*words, "--json", "-k", "third or tool")
    third = minimums(ran)["third"]
    assert (ran[0], third["state"]) == (1, "false"), ran[2]
    assert "test_own.py" in third["because"]


def test_a_project_whose_tests_cannot_say_anything_ends_without_an_answer(
    project: Repository,
) -> None:
    (project.root / "tests" / "test_own.py").write_text("import nowhere_to_be_had\n")
    code, _, err = project.run("floor", ".", "--python", SERIES, "--check")
    assert code == 3, err
    assert "nowhere_to_be_had" in err
    shutil.rmtree(project.root / "tests")
    assert project.run("floor", ".", "--python", SERIES, "--check")[0] == 3
    assert project.run("floor", "nothing")[0] == 2
    (project.root / "packages" / "one").mkdir(parents=True)
    (project.root / "pyproject.toml").rename(project.root / "packages" / "one" / "pyproject.toml")
    assert "projects: packages/one" in project.run("floor", ".")[2]
    assert project.run("floor", ".", "--axis", "python", "--fix")[0] == 2


def test_a_member_of_a_workspace_takes_what_its_root_asks_for(project: Repository) -> None:
    member = project.root / "packages" / "one"
    member.mkdir(parents=True)
    for name in ("pyproject.toml", "backend.py", "METADATA.txt", "animal.py", "tests"):
        (project.root / name).rename(member / name)
    (project.root / "pyproject.toml").write_text(
        "[dependency-groups]\nci = ['pytest', 'greedy', 'other>=1; sys_platform == \"linux\"',"
        " 'another==5.0']\n\n"
        '[tool.pytest.ini_options]\naddopts = "-k third"\n'
    )
    git(project.root, "init", "--quiet")
    git(project.root, "add", "--all")
    git(project.root, "commit", "--quiet", "--message", "First")
    ran = project.run("floor", "packages/one", "--python", SERIES, "--json")
    assert ran[0] == 0, ran[2]
    data = json.loads(ran[1])["data"]
    assert "dependency group ci" in data["tests"]
    assert (data["passing"], data["failing"]) == (1, [])
    assert minimums(ran)["third"]["state"] == "untested"  # greedy keeps it out
    # A pin of the tests keeps no minimum out.
    assert "pins a dependency of the project: another==5.0" in ran[2]
    assert minimums(ran)["another"]["works"] == "1.0"


@pytest.mark.parametrize(
    ("addopts", "processes"),
    [
        ("", ""),
        ("-n auto", "auto"),
        ("--numprocesses=2 -q", "2"),
        ("-n0", "0"),
        ("-k 'a -name'", ""),
    ],
)
def test_in_how_many_processes_a_project_runs_its_tests(
    tmp_path: Path, addopts: str, processes: str
) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {addopts}\n")
    (tmp_path / "tests").mkdir()
    assert own_option(tmp_path, "tests", "-n", "--numprocesses") == processes


def test_the_minimum_of_an_extra_is_searched_with_all_extras(project: Repository) -> None:
    further = "Requires-Dist: extra>=1; extra=='more'", "Provides-Extra: more"
    checkout(project.root, MODULE, "1.1.dev0", "Requires-Dist: third>=3", *further)
    (project.root / "tests" / "test_own.py").write_text(
        "from importlib.metadata import version\n\n\n"
        "def test_extra():\n    assert version('extra') > '1.0'\n"
    )
    found = minimums(project.run("floor", ".", "--python", SERIES, "--json", "--extras"))
    rows = {name: (row["extra"], row["state"], row["works"]) for name, row in found.items()}
    assert rows == {"third": ("", "works", "3.0"), "extra": ("more", "false", "2.0")}


def test_any_number_of_files_narrows_a_search() -> None:
    suite = SuiteDraft(tests="tests", module="demo", because="", arguments=("-k", "not old"))
    files = [f"tests/test_of_a_long_name_{number}.py" for number in range(40)]
    part = only_in(suite, files, ["tests/test_of_a_long_name_1.py::test_slow"])
    text = trial_text("demo", [Version("3.12")], "x86_64-manylinux_2_28", part)
    arguments = load(
        text.encode(), None, folder="demo", today=datetime.date(2026, 11, 1)
    ).matrix.suite.arguments
    assert arguments[0] == "-k"
    assert arguments[1].startswith("(not old) and (((((test_of_a_long_name_0 or ")
    assert arguments[1].endswith(" and not (test_slow)")
    # pytest compiles it, however many tests are left out.
    many = only_in(suite, [], [f"tests/test_a.py::test_{number}" for number in range(20_000)])
    asked = Expression.compile(many.arguments[1])
    names = ("test_77", "test_20000", "old")
    assert [asked.evaluate(lambda word, n=n, **_: word == n) for n in names] == [False, True, False]


def test_a_file_that_fails_alone_makes_no_minimum_false(project: Repository) -> None:
    (project.root / "tests" / "test_a.py").write_text(
        "import os\n\n\ndef test_first():\n    os.environ['FIRST'] = '1'\n"
    )
    (project.root / "tests" / "test_own.py").write_text(
        "import os\nfrom importlib.metadata import version\n\n\ndef test_own():\n"
        "    assert os.environ.pop('FIRST', '') and version('third') >= '2'\n"
    )
    found = minimums(project.run("floor", ".", "--python", SERIES, "--json", "--check"))
    states = {name: (row["state"], row["works"]) for name, row in found.items()}
    assert states["third"] == ("false", "2.0")
    assert states["other"] == states["another"] == ("works", "1.0")


def test_without_a_declared_python_the_classifiers_choose(tmp_path: Path) -> None:
    series = [Version(f"3.{minor}") for minor in range(8, 16)]

    def chosen(*lines: str) -> list[str]:
        path = tmp_path / "demo-1-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("demo-1.dist-info/METADATA", "\n".join(lines))
        return [
            str(version)
            for version in usual_pythons(series, str(path), datetime.date(2026, 11, 28))
        ]

    prefix = "Classifier: Programming Language :: Python ::"
    assert chosen(f"{prefix} 3", f"{prefix} 3.10", f"{prefix} 3.13") == ["3.10", "3.13"]
    assert chosen("Name: demo")[:2] == ["3.11", "3.12"]


def test_the_slowest_tests_are_left_out_and_each_file_keeps_one() -> None:
    seconds = {"a.py::slow": 9.0, "a.py::quick": 1.0, "b.py::only": 50.0, "c.py::cut": 1.0}
    assert slowest(seconds, ["a.py", "b.py"], 5.0) == {"a.py::slow", "c.py::cut"}
    assert slowest(seconds, ["a.py", "b.py", "c.py"], 500.0) == frozenset()
