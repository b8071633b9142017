"""A checkout in place of the releases: `compat diff` and `compat run --subject-from`, on a project
with a build back end of its own and an index on this machine.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fake_index import FakeIndex
from support.zoo import SERIES, Animal, Repository, pytest_and_its_needs

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
def tools() -> Any:
    return pytest_and_its_needs()


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
    files = [path for path in folder.rglob("*") if path.suffix in (".json", ".txt")]
    return sorted({path.parent.relative_to(folder).as_posix() for path in files})


def test_a_checkout_that_changes_nothing_is_as_before_and_leaves_nothing(zoo: Repository) -> None:
    code, out, err = zoo.run("diff", "zoo")
    assert code == 0, err
    assert f"{PACKAGE} 1.1.dev0 beside {PACKAGE} 1.0: 1 cell: 1 as before" in out
    assert kept(zoo) == ["locks", f"records/{zoo.cell}"]
    code, out, err = zoo.run("diff", "zoo", "--json")
    assert (code, json.loads(out)["data"]["counts"]["same"]) == (0, 1)
    assert "Of the release 1 cell had a fresh result and was not run again." in err
    assert not list((zoo.cache / "sandbox" / "checkouts").iterdir())


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
    assert kept(zoo) == ["locks", f"records/{zoo.cell}"]


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
    assert kept(zoo) == [f"checkouts/{commit}/locks", f"checkouts/{commit}/records/{LOCAL}"]
    (record,) = (zoo.root / "matrices" / "zoo" / "checkouts").glob("*/records/*/*.json")
    assert json.loads(record.read_text())["matrix"] == "zoo"
    checkout(zoo.root, RENAMED)
    code, out, err = zoo.run("run", "zoo", "--subject-from", ".", "--json")
    data = json.loads(out)["data"]
    assert (code, data["checkout"]["changed"]) == (1, True)
    assert data["checkout"]["name"].startswith(f"{commit}-")
    assert data["cells"][0]["capabilities"] == {"life.alive": "yes", "life.name": "no"}
    assert "with changes that are not committed" in err
    # What was kept of a checkout is no result of a release.
    assert json.loads(zoo.run("show", "zoo", "--json")[1])["data"]["cells"] == []


def test_other_requirements_are_locked_anew_and_named(zoo: Repository) -> None:
    checkout(zoo.root, RENAMED, "1.1.dev0", "Requires-Dist: other<2")
    code, out, err = zoo.run("diff", "zoo")
    assert code == 1, err
    assert f"{LOCAL} has other packages, too: other missing -> 1.0" in out


def test_a_python_that_is_dropped_is_broken_without_a_run(zoo: Repository) -> None:
    checkout(zoo.root, MODULE, "1.1.dev0", "Requires-Python: >=3.99")
    code, out, err = zoo.run("diff", "zoo")
    assert code == 1, err
    assert f"requires Python >=3.99, not {SERIES}" in out
    assert f"    {LOCAL}" in out
    code, _, err = zoo.run("run", "zoo", "--subject-from", ".")
    assert (code, "no cell of the checkout is left to run" in err) == (1, True)


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


def test_a_failing_release_is_mended_by_a_checkout(
    tmp_path: Path, cache: Path, index: FakeIndex, tools: Any
) -> None:
    animal = Animal(name="good", story="", outcome="pass", module=RENAMED, suite=SUITE)
    zoo = Repository(tmp_path, cache, index, animal, tools)
    checkout(tmp_path, MODULE)
    code, out, err = zoo.run("diff", "zoo")
    assert code == 0, err
    assert "1 cell: 1 mended" in out
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
    assert line.startswith("compat: .: ")
    assert line.endswith(")")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("diff", "zoo", "--against", "9.9"), "'9.9' is no release of the matrix"),
        (("diff", "zoo", "py9*"), "no cell of the checkout is 'py9*'"),
        (("diff", "zoo", "--subject-from", "nowhere"), "there is no such source to build"),
        (("diff", "zoo", "--subject-from", "git+ext::sh"), "is not an address that git can"),
        (("run", "zoo", "--keep-records"), "--keep-records goes with --subject-from"),
        (("run", "zoo", "--due", "--subject-from", "."), "--subject-from goes without --due"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(
    zoo: Repository, words: tuple[str, ...], sentence: str
) -> None:
    code, _, err = zoo.run(*words)
    assert code == 2, err
    assert sentence in err
