"""`compat ci record --from` takes the locks that this checkout asks for and that the index
backs."""

import shutil
from pathlib import Path

import msgspec
import pytest
from packaging.version import Version
from support.fake_index import FakeIndex
from support.local_index import DEMO, fill
from support.ran import Run

from compat.cli.options import workspace_of
from compat.lock.lockfile import Pin, decode_lock, decode_pins, encode_lock, lock_digest

CELLS = ("py3.11-dep1-demo1.0", "py3.11-dep2-demo2.0+relaxed")


@pytest.fixture
def handed(run: Run, root: Path, tmp_path: Path) -> Path:
    """A folder with two sound locks that this checkout does not have."""
    assert run("matrix", "lock", "demo", *CELLS).code == 0
    folder = tmp_path / "planned" / "locks"
    folder.parent.mkdir()
    shutil.move(root / "matrices" / "demo" / "locks", folder)
    return folder


def kept(root: Path) -> list[str]:
    return sorted(path.stem for path in (root / "matrices" / "demo").glob("locks/*"))


def changed(path: Path, before: str, after: str) -> None:
    """Change a lock as somebody would who knows how its digest is made."""
    text = path.read_text(encoding="utf-8")
    assert before in text
    lines = [
        line for line in text.replace(before, after).splitlines() if not line.startswith("# digest")
    ]
    pins = "\n".join(lines)
    whole = f"# digest: {lock_digest(decode_pins(pins))}\n{pins}\n"
    path.write_text(encode_lock(decode_lock(whole, path.name)), encoding="utf-8")


def test_sound_locks_are_kept_and_those_that_are_there_are_left(
    run: Run, root: Path, handed: Path
) -> None:
    ran = run("ci", "record", "demo", "--from", str(handed.parent))
    assert (ran.code, kept(root)) == (0, sorted(CELLS)), ran.err
    assert "2 locks imported, 0 already here, 0 rejected" in ran.err
    assert (
        "0 locks imported, 2 already here, 0 rejected"
        in run("ci", "record", "demo", "--from", str(handed.parent)).err
    )


def test_a_lock_with_files_that_the_index_does_not_list_is_refused(
    run: Run, root: Path, handed: Path
) -> None:
    path = handed / f"{CELLS[0]}.txt"
    digest = next(
        line for line in path.read_text(encoding="utf-8").splitlines() if "--hash" in line
    ).split(":")[1]
    changed(path, digest, "ab" * 32)
    ran = run("ci", "record", "demo", "--from", str(handed.parent))
    assert (ran.code, kept(root)) == (1, [CELLS[1]])
    assert "does not list" in ran.err


@pytest.mark.parametrize(
    ("cell", "before", "after", "reason"),
    [
        (
            CELLS[0],
            "# require: demo==1.0",
            "# require: demo==1.0\n# require: evil",
            "asks for something else",
        ),
        (CELLS[0], "# python: 3.11.7", "# python: 3.11.8", "asks for something else"),
        (
            CELLS[1],
            "# require: pytest",
            "# require: pytest\n# require: evil",
            "asks for something that the cell does not",
        ),
        (CELLS[1], "# python: 3.11.7", "# python: 3.11.8", "another `python`"),
        # Else that index would list the files that the lock pins.
        (CELLS[1], "# tool: uv", "# index: https://a.invalid/\n# tool: uv", "another `index`"),
        # A floor brings a package as a requirement does.
        (CELLS[1], "# tool: uv", "# floor: pytest>=1\n# tool: uv", "that the cell does not"),
        (CELLS[0], "# tool: uv", "# build: dep\n# tool: uv", "the matrix names no such build"),
    ],
)
def test_a_lock_that_asks_for_something_else_is_refused(
    run: Run, root: Path, handed: Path, cell: str, before: str, after: str, reason: str
) -> None:
    changed(handed / f"{cell}.txt", before, after)
    ran = run("ci", "record", "demo", "--from", str(handed.parent))
    assert (ran.code, kept(root)) == (1, sorted({*CELLS} - {cell}))
    assert reason in ran.err


# An index may list what no cell asks for, and more releases than its requirements take.
SIX = ("six", "1.0", 3)


@pytest.mark.parametrize(
    ("cell", "drop", "add", "reason"),
    [
        (CELLS[0], "demo", ("demo", "2.0"), "pins demo 2.0, and demo==1.0 is asked for"),
        (CELLS[0], "dep", ("dep", "2.0"), "pins dep 2.0, and dep"),
        (CELLS[0], "", SIX[:2], "pins six, which nothing asks for"),
        (CELLS[0], "deep", None, "pins no deep, which is asked for"),
        (CELLS[1], "demo", ("demo", "1.0"), "another `injected_pin`"),
        (CELLS[1], "gone", ("gone", "4.0"), "pins late, which nothing asks for"),
        (CELLS[1], "deep", None, "pins no deep, which is asked for"),
        (CELLS[1], "late", None, "pins no late, which is asked for"),
    ],
)
def test_a_lock_whose_pins_do_not_answer_the_request_is_refused(
    run: Run,
    root: Path,
    handed: Path,
    demo_index: FakeIndex,
    cell: str,
    drop: str,
    add: tuple[str, str] | None,
    reason: str,
) -> None:
    fill(demo_index, {SIX[0]: [(*SIX[1:], None, [])]})
    path = handed / f"{cell}.txt"
    lock = decode_lock(path.read_text(encoding="utf-8"), path.name)
    pins = [pin for pin in lock.pins if pin.name != drop]
    if add:
        name, version = add[0], Version(add[1])
        package = workspace_of("demo", root).source.package(name)
        [release] = [release for release in package.releases if release.version == version]
        hashes = tuple(sorted(file.sha256 or "" for file in release.artifacts))
        pins.append(Pin(name=name, version=version, hashes=hashes))
    forged = msgspec.structs.replace(lock, pins=tuple(sorted(pins, key=lambda pin: pin.name)))
    path.write_text(encode_lock(forged), encoding="utf-8")
    ran = run("ci", "record", "demo", "--from", str(handed.parent))
    assert (ran.code, kept(root)) == (1, sorted({*CELLS} - {cell})), ran.err
    assert reason in ran.err


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("# require: gone==4.2\n", "", "pins gone, which nothing asks for"),
        ("# require: gone==4.2", "# require: gone", "asks for something that"),
        ("# suite-only: pytest", "# suite-only: gone late pytest", "that only the suite brings"),
    ],
)
def test_a_relaxed_lock_takes_no_freedom_that_the_recipe_does_not_offer(
    run: Run, root: Path, handed: Path, before: str, after: str, reason: str
) -> None:
    changed(handed / f"{CELLS[1]}.txt", before, after)
    ran = run("ci", "record", "demo", "--from", str(handed.parent))
    assert (ran.code, kept(root)) == (1, [CELLS[0]]), ran.err
    assert reason in ran.err


def test_what_is_not_the_lock_of_a_planned_cell_is_refused(
    run: Run, root: Path, handed: Path
) -> None:
    (handed / f"{CELLS[0]}.txt").rename(handed / "py3.11-dep9-demo9.txt")
    (handed / "conftest.py").write_text("raise SystemExit\n", encoding="utf-8")
    (handed / "link.txt").symlink_to("/etc/passwd")
    (handed / "folder.txt").mkdir()
    ran = run("ci", "record", "demo", "--from", str(handed.parent))
    assert (ran.code, kept(root)) == (1, [CELLS[1]])
    assert "conftest.py: is not a" in ran.err
    assert "link.txt: is not a" in ran.err
    assert "folder.txt: is not a" in ran.err
    assert "of a planned cell" in ran.err


def test_a_lock_of_a_release_that_the_index_lost_is_refused(
    run: Run, root: Path, handed: Path, demo_index: FakeIndex
) -> None:
    fill(
        demo_index,
        {name: releases for name, releases in DEMO.items() if name == "dep"} | {"deep": []},
    )
    fill(demo_index, {"deep": [("7.0", 2, None, [])]})
    ran = run("ci", "record", "demo", "--from", str(handed.parent))
    assert ran.code == 1
    assert "pins deep" in ran.err
