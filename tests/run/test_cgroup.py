"""Control groups: where they may be made, what limits them, and what their counters mean.

The files are those of cgroups(7) in a folder of the test; `test_supervise` asks the kernel, where
it lets us.
"""

import os
from pathlib import Path

import pytest

from compat.run import meter
from compat.run.evidence import Limits
from compat.run.meter import Group, Home, homes_of, remove_dead_groups

LIMITS = Limits(
    wall_seconds=1, silence_seconds=1, memory_mb=100, processes=10, output_mb=1, disk_mb=1
)


def group_folder(folder: Path, **files: str) -> Path:
    """Make a folder with files as the kernel would."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"cgroup.procs": "", **files}.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


class Tree:
    """Makes the files of each new group, as the kernel does, and removes them with it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *files: str) -> None:
        mkdir, rmdir = Path.mkdir, Path.rmdir

        def make(path: Path, *more: object, **named: object) -> None:
            mkdir(path, *more, **named)  # type: ignore[arg-type]
            for name in ("cgroup.procs", *files):
                (path / name).touch()

        def remove(path: Path) -> None:
            for file in path.iterdir():
                file.unlink()
            rmdir(path)

        monkeypatch.setattr(Path, "mkdir", make)
        monkeypatch.setattr(Path, "rmdir", remove)


def test_groups_are_made_below_what_was_delegated_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enabled = {"cgroup__controllers": "cpu memory pids", "cgroup__subtree_control": "memory pids"}
    scope = group_folder(tmp_path / "user.slice" / "compat.scope", **enabled)
    group_folder(scope / "inner")
    (tmp_path / "cgroup.controllers").touch()
    assert homes_of(tmp_path, "0::/user.slice/compat.scope/inner\n") == []

    def delegated(path: Path, name: str) -> bytes:
        if (path, name) != (scope, "user.delegate"):
            raise OSError
        return b"1"

    monkeypatch.setattr(os, "getxattr", delegated)
    (home,) = homes_of(tmp_path, "0::/user.slice/compat.scope/inner\n")
    assert (home.folder, set(home.controllers)) == (scope, {"pids", "memory"})
    assert homes_of(tmp_path, "0::/user.slice/other.scope\n") == []


def test_of_version_1_only_hierarchies_whose_root_we_are_in_are_ours(tmp_path: Path) -> None:
    for controller in ("pids", "memory"):
        group_folder(tmp_path / controller)
    assert homes_of(tmp_path, "5:pids:/\n4:memory:/somebody\n1:cpu:/\n") == [
        Home(folder=tmp_path / "pids", controllers=("pids",))
    ]


def test_controllers_that_are_not_enabled_yet_are_enabled(tmp_path: Path) -> None:
    control = {"cgroup__controllers": "pids", "cgroup__subtree_control": ""}
    group_folder(tmp_path, **control)
    assert homes_of(tmp_path, "0::/\n") == [Home(folder=tmp_path, controllers=("pids",))]
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+pids"


@pytest.mark.parametrize(
    ("files", "limits"),
    [
        (("memory.max", "memory.swap.max"), {"memory.max": "104857600", "memory.swap.max": "0"}),
        (("memory.max",), {"memory.max": "104857600"}),
        (
            ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
            {"memory.limit_in_bytes": "104857600", "memory.memsw.limit_in_bytes": "104857600"},
        ),
    ],
)
def test_a_group_limits_memory_and_swap_and_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], limits: dict[str, str]
) -> None:
    Tree(monkeypatch, "pids.max", *files)
    group = Group(LIMITS, (Home(folder=tmp_path, controllers=("pids", "memory")),))
    (folder,) = group.folders
    assert {name: (folder / name).read_text() for name in files} == limits
    assert (folder / "pids.max").read_text() == "40"
    group.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "text", "by"),
    [
        ("memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\n", "memory"),
        ("memory.events", "low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\n", None),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "memory"),
        ("pids.events", "max 3\n", "processes"),
        ("pids.events", "max 0\n", None),
    ],
)
def test_what_the_kernel_killed_or_refused_is_told_by_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, by: str | None
) -> None:
    Tree(monkeypatch, "pids.max", "memory.max", name)
    group = Group(LIMITS, (Home(folder=tmp_path, controllers=("pids", "memory")),))
    (group.folders[0] / name).write_text(text)
    assert group.broken() == by
    group.close()


def test_groups_of_the_dead_are_swept_and_those_of_the_living_stay(tmp_path: Path) -> None:
    mine = tmp_path / f"compat-{meter._myself()}-0"
    for folder in (
        mine,
        tmp_path / "compat-4194305-1-0",
        tmp_path / f"compat-{os.getpid()}-1-0",
        tmp_path / "another",
    ):
        folder.mkdir()
    assert remove_dead_groups(tmp_path) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(("another", mine.name))


def test_without_a_home_nothing_is_limited_and_nothing_fails() -> None:
    group = Group(LIMITS, ())
    assert (group.handles, group.controllers, group.broken()) == ([], set(), None)
    group.close()
