"""Folders of cells: one for each process, kept while it lives, removed when it is gone, whatever is
in them.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from compat import files
from compat.run.cached import Scratch, remove_dead_folders

LEVELS = 3000


def deep(folder: Path, mode: int = 0o755) -> None:
    """Make a folder with so many levels that no path reaches the lowest."""
    folder.mkdir()
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir("below", dir_fd=handle)
        below = os.open("below", os.O_RDONLY, dir_fd=handle)
        os.fchmod(handle, mode)
        os.close(handle)
        handle = below
    os.close(handle)


@pytest.mark.parametrize("mode", [0o755, 0o000])
def test_a_tree_of_3000_levels_is_removed(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "deep"
    deep(folder, mode)
    files.remove_tree(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_removed_and_never_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    (precious / "inside").mkdir(parents=True)
    folder = tmp_path / "cell"
    (folder / "below").mkdir(parents=True)
    (folder / "link").symlink_to(precious)
    (folder / "below" / "link").symlink_to(precious / "inside")
    files.remove_tree(folder)
    (tmp_path / "cell").symlink_to(precious)
    files.remove_tree(tmp_path / "cell")
    assert [path.name for path in tmp_path.rglob("*")] == ["precious", "inside"]


def test_a_pipe_and_a_file_are_removed_and_what_is_not_there_is_no_fault(tmp_path: Path) -> None:
    folder = tmp_path / "cell"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "file").touch(mode=0o000)
    files.remove_tree(folder)
    files.remove_tree(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_is_never_one_that_is_there(tmp_path: Path) -> None:
    wanted = tmp_path / "cell" / "20260101T000000Z"
    names = [files.new_folder(wanted).name for _ in range(3)]
    assert names == ["20260101T000000Z", "20260101T000000Z-2", "20260101T000000Z-3"]


def test_processes_do_not_share_a_folder_and_a_sweep_leaves_the_living_alone(
    tmp_path: Path,
) -> None:
    first, second = Scratch(tmp_path), Scratch(tmp_path)
    assert first.folder != second.folder
    (first.folder / "0").mkdir()
    assert remove_dead_folders(tmp_path) == 0
    assert (first.folder / "0").is_dir()
    first.close()
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from compat.run.cached import Scratch
scratch = Scratch(Path({str(tmp_path)!r}))
(scratch.folder / "0" / "cell").mkdir(parents=True)
print("ready", flush=True)
input()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    assert remove_dead_folders(tmp_path) == 0
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    assert remove_dead_folders(tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


def test_folders_from_before_folders_were_locked_are_swept(tmp_path: Path) -> None:
    (tmp_path / "worker-0" / "cell" / "home").mkdir(parents=True)
    (tmp_path / "worker-0").chmod(0o000)
    (tmp_path / "worker-1").touch()
    assert remove_dead_folders(tmp_path) == 2
    assert list(tmp_path.iterdir()) == []


def test_what_is_to_be_kept_outlives_its_process_and_the_sweep(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, keep=True)
    (scratch.folder / "cell").mkdir()
    scratch.close()
    assert remove_dead_folders(tmp_path) == 0
    assert [path.name for path in scratch.folder.iterdir()] == ["cell"]
