"""What pip-tools refuses, held against the index: pip calls a release without a wheel missing."""

import datetime
from pathlib import Path

import pytest
from packaging.tags import parse_tag
from packaging.version import Version
from support.memory_source import MemorySource

from compat.errors import ToolFailed
from compat.index.release import Artifact, Package, Release
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Inputs, Lock, Refusal
from compat.lock.piptools import PipToolsLocker
from compat.lock.uv import Done

UTC = datetime.timezone.utc
UPLOADED = datetime.datetime(2021, 5, 11, tzinfo=UTC)
MISSING = (
    "  ERROR: Could not find a version that satisfies the requirement demo=={0} (from versions:"
    " 2.1)\nTraceback (most recent call last):\nERROR: No matching distribution found for demo=={0}"
)


def release(version: str, *names: str) -> Release:
    artifacts = tuple(
        Artifact(
            filename=name,
            url=f"https://files.example/{name}",
            tags=frozenset(parse_tag("cp39-cp39-manylinux_2_28_x86_64"))
            if name.endswith("whl")
            else frozenset(),
            uploaded=UPLOADED,
            yanked="yanked" in name,
        )
        for name in names
    )
    return Release(version=Version(version), artifacts=artifacts)


DEMO = Package(
    name="demo",
    releases=(
        release("1.0", "demo-1.0.tar.gz", "demo-1.0-cp39-cp39-manylinux_2_28_x86_64.whl"),
        release("1.1", "demo-1.1-cp39-cp39-manylinux_2_28_x86_64.whl"),
        release("1.2", "demo-1.2-yanked.tar.gz"),
    ),
)


@pytest.fixture
def locker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipToolsLocker:
    """A locker with an environment that is ready, so that nothing is installed."""
    ready = tmp_path / "lockers" / "py3.11" / "ready"
    ready.parent.mkdir(parents=True)
    ready.touch()
    settings = IndexSettings(index_url="https://index.example/simple")
    return PipToolsLocker(
        settings, MemorySource({"demo": DEMO}, {}), {}, lambda version: None, tmp_path
    )


def answer(
    locker: PipToolsLocker,
    monkeypatch: pytest.MonkeyPatch,
    stderr: str,
    as_of: datetime.datetime | None = None,
) -> Lock | Refusal:
    monkeypatch.setattr(
        "compat.lock.piptools.run_tool",
        lambda *arguments: Done([], returncode=1, stdout="", stderr=stderr),
    )
    inputs = Inputs(
        cell="py3.11-demo1.0",
        python=Version("3.11.7"),
        platform="x86_64-manylinux_2_28",
        requirements=("demo==1.0",),
        as_of=as_of,
    )
    return locker.lock(inputs)


@pytest.mark.parametrize(
    ("version", "cause"),
    [("1.0", "source-only"), ("1.1", "no-artifact"), ("1.2", "no-artifact"), ("9", "no-artifact")],
)
def test_a_release_with_a_source_distribution_only_is_not_missing(
    locker: PipToolsLocker, monkeypatch: pytest.MonkeyPatch, version: str, cause: str
) -> None:
    refusal = answer(locker, monkeypatch, MISSING.format(version))
    assert isinstance(refusal, Refusal)
    assert str(refusal) == f"lock-fail:{cause}(demo=={version})"
    assert "Traceback" not in refusal.because


def test_a_source_distribution_of_a_later_day_does_not_count(
    locker: PipToolsLocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = answer(locker, monkeypatch, MISSING.format("1.0"), UPLOADED)
    assert str(refusal) == "lock-fail:no-artifact(demo==1.0)"


def test_only_what_pip_calls_missing_is_held_against_the_index(
    locker: PipToolsLocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    conflict = "ERROR: Cannot install demo==1.0 and dep==2 because these versions conflict."
    assert str(answer(locker, monkeypatch, conflict)) == "lock-fail:conflict(demo==1.0)"


def test_a_package_without_a_page_stays_missing(
    locker: PipToolsLocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = MISSING.format("1.0").replace("demo==", "nowhere==")
    assert str(answer(locker, monkeypatch, missing)) == "lock-fail:no-artifact(nowhere==1.0)"


def test_a_tool_that_breaks_is_told_by_whole_words(
    locker: PipToolsLocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = " ".join(f"word{number}" for number in range(200))
    with pytest.raises(ToolFailed) as raised:
        answer(locker, monkeypatch, words)
    (fault,) = raised.value.faults
    first, *_ = fault.message.removeprefix("pip-compile could not lock py3.11-demo1.0: ").split()
    assert first in words.split()
