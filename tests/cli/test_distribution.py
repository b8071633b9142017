"""What an index hands out: an sdist and a wheel that are whole, and what their commands do in a
folder where there is nothing.
"""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from compat.cli.app import FIRST, GROUPS

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

HERE = Path(__file__).parent.parent.parent
TRACKED = subprocess.run(
    ["git", "ls-files", "compat", "docs", "site"],
    cwd=HERE,
    capture_output=True,
    text=True,
    check=True,
).stdout.split()


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_code_the_pages_and_what_the_site_is_made_of(
    distributions: Path,
) -> None:
    [wheel] = distributions.glob("*.whl")
    held = contents(wheel)
    assets = "compat/site/assets"
    expected = {
        name.replace("docs/", f"{assets}/pages/").replace(
            "site/", f"{assets}/", name[:5] == "site/"
        )
        for name in TRACKED
        if name not in (assets, "site/pages") and not name.startswith("docs/pictures/")
    }
    assert {name for name in held if ".dist-info/" not in name} == expected
    assert held[f"{assets}/static/style.css"] == (HERE / "site/static/style.css").read_bytes()


def test_the_sdist_makes_the_same_wheel_and_says_what_changed(distributions: Path) -> None:
    [wheel] = distributions.glob("*.whl")
    [again] = (distributions / "unpacked").glob("*.whl")
    assert contents(again) == contents(wheel)
    [sdist] = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CHANGELOG.md", "LICENSE", "PACKAGE.md", "README.md", "pyproject.toml"} <= names
    assert not [name for name in names if name.startswith(("tests", "matrices"))]


def test_an_index_would_take_both(distributions: Path) -> None:
    files = [path for path in distributions.iterdir() if path.suffix in (".whl", ".gz")]
    assert len(files) == 2
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files],
        check=False,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("PASSED") == 2


class Installed:
    """The commands of an installed wheel, in a folder where there is nothing."""

    def __init__(self, scripts: Path, folder: Path, environ: dict[str, str]) -> None:
        self.scripts = scripts
        self.folder = folder
        self.environ = environ

    def __call__(self, *words: str, script: str = "compat") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.scripts / script, *words],
            cwd=self.folder,
            env=self.environ,
            check=False,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def compat(installed: Path, tmp_path: Path) -> Installed:
    """Nothing of the tests' own Python, and no index that could answer."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PIP_", "UV_", "PYTHON", "GITHUB_"))
    }
    folder = tmp_path / "empty"
    folder.mkdir()
    places = {"COMPAT_CACHE_DIR": str(tmp_path / "cache"), "PIP_CONFIG_FILE": "/dev/null"}
    return Installed(installed.parent, folder, {**kept, **places, "PYTHONDONTWRITEBYTECODE": "1"})


def test_both_scripts_are_the_command(compat: Installed) -> None:
    versions = {compat("--version", script=name).stdout for name in ("compat", "compat-matrix")}
    assert len(versions) == 1
    assert re.fullmatch(r"compat \d+\.\d+\S*\n", versions.pop())


def test_every_command_helps_in_an_empty_folder(compat: Installed) -> None:
    listed = compat("--help").stdout
    names = {name for rows in FIRST.values() for name in rows} | {*GROUPS}
    for name in names:
        assert re.search(rf"^\W*{name}\b", listed, re.MULTILINE), name
    assert not [line for line in listed.splitlines()[1:] if line.endswith("...")]
    helped = {name: compat(name, "--help") for name in ("check", "plan", "run", "publish", "show")}
    for name, ended in helped.items():
        assert (ended.returncode, ended.stderr) == (0, ""), name
        assert "Example" in ended.stdout, name


@pytest.mark.parametrize("command", ["check", "publish", "site serve"])
def test_without_a_repository_a_command_says_so_in_one_line(
    compat: Installed, command: str
) -> None:
    ended = compat(*command.split())
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(r"error: no folder matrices/ here .*\n", ended.stderr)
    assert list(compat.folder.iterdir()) == []


def test_the_schemas_can_be_written_where_no_matrix_is_yet(compat: Installed) -> None:
    assert compat("matrix", "schema", "--write").returncode in (0, 1)
    written = compat.folder / "matrices"
    assert {path.name for path in written.iterdir()} == {
        "matrix.schema.json",
        "policy.schema.json",
    }
    for path in written.iterdir():
        assert path.read_bytes() == (HERE / "matrices" / path.name).read_bytes()
