"""A run that was killed and started again ends where a run ends that nobody disturbed."""

import time
from pathlib import Path

import pytest
from support.fake_index import FakeIndex
from support.zoo import Animal, Repository, serve, wheel

pytestmark = pytest.mark.slow

VERSIONS = ("1.0", "2.0", "3.0", "4.0")
# The second release is red, so that the reports have more than one word to agree on.
SUITE = """\
import time

import animal


def test_version():
    time.sleep(2)
    assert animal.VERSION != "2.0"
"""
REPORTS = (("show", "zoo"), ("show", "zoo", "--cells"), ("show", "zoo", "--table"))


def repository(
    root: Path, cache: Path, index: FakeIndex, tools: list[tuple[str, str, bytes]]
) -> Repository:
    """A repository whose matrix has a cell for each of the versions."""
    root.mkdir()
    animal = Animal(name="four", story="One of its releases is red.", outcome="", suite=SUITE)
    made = Repository(root, cache, index, animal, tools)
    releases = [
        (version, wheel("zoofour", version, {"animal.py": f"VERSION = {version!r}\n"}, []))
        for version in VERSIONS
    ]
    serve(index, "zoofour", [(version, content, "py3-none-any") for version, content in releases])
    return made


def kept(repository: Repository) -> set[bytes]:
    """The lines of the records."""
    return set(repository.records())


def test_the_unfinished_cells_alone_run_and_the_reports_agree_byte_for_byte(
    tmp_path: Path, cache: Path, index: FakeIndex, tools: list[tuple[str, str, bytes]]
) -> None:
    undisturbed = repository(tmp_path / "undisturbed", cache, index, tools)
    code, _, err = undisturbed.run("run", "zoo")
    assert code == 1, err  # one release is red
    killed = repository(tmp_path / "killed", cache, index, tools)
    process = killed.start("run", "zoo")
    while not kept(killed) and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    finished = kept(killed)
    assert 0 < len(finished) < len(VERSIONS)
    code, _, err = killed.run("run", "zoo")
    assert code == int(not any(b"-a2.0" in line for line in finished)), err
    assert f"[1/{len(VERSIONS) - len(finished)}] " in err
    assert finished <= kept(killed)
    assert len(kept(killed)) == len(VERSIONS)
    for words in REPORTS:
        assert killed.run(*words) == undisturbed.run(*words), words
