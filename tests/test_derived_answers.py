"""What is known of a matrix stands in a table, and is always what follows from the files alone."""

import datetime
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.known import (
    DAY,
    FRESH,
    SUITE,
    Shelf,
    answered,
    lock_of,
    ran,
    repository,
    shelves,
    statuses,
)

from compat.advise.diagnosis import files_of_known
from compat.files import write
from compat.lock.lockfile import encode_lock
from compat.plan.cell import Cell
from compat.results import snapshot as snapshot_module
from compat.results.answer import Answer
from compat.results.answers import AnswerReader
from compat.results.learnt import PLAIN, store_answers
from compat.results.runs import History
from compat.results.snapshot import Snapshot
from compat.run.suitefiles import suite_digest
from compat.workspace import Workspace

pytestmark = pytest.mark.slow  # derives everything again after each of many made-up histories
NEW, OLD = "py3.9-dep2-demo2.0", "py3.8-dep1-demo1.0"
BESIDE = "py3.8-dep1-demo2.0"
RELAXED = "py3.8-dep2-demo1.0+relaxed"


def workspace(root: Path, cache: Path, day: datetime.date = DAY) -> Workspace:
    return Workspace(root / "matrices" / "demo", day, lambda: cache)


def plain(entries: tuple[Answer, ...]) -> list[Answer]:
    """The entries without their runs, which are read when they are asked for."""
    return [msgspec.structs.replace(entry, history=None) for entry in entries]  # type: ignore[arg-type]


def anew(root: Path, day: datetime.date = DAY) -> Snapshot:
    """What is known where nothing is kept."""
    with TemporaryDirectory() as empty:
        known = workspace(root, Path(empty), day).snapshot
        assert known.known is not None
        assert len(known.by_id) >= len(known.known)
        return known


@given(shelves())
@examples(30)  # each derives all of a repository four times
def test_what_is_kept_is_what_would_be_worked_out_anew(shelf: Shelf) -> None:
    with repository(shelf) as root, TemporaryDirectory() as cache:
        expected = anew(root)
        for _ in range(2):
            known = workspace(root, Path(cache)).snapshot
            assert plain(known.known) == plain(expected.known)
            assert plain(tuple(known.entries)) == plain(tuple(expected.entries))
            open_cells = [e for e in expected.entries if e.planned and e.likely == "unknown"]
            assert plain(known.unanswered) == plain(tuple(open_cells))
            assert known.attribution.refuting == expected.attribution.refuting
            # A cell that is asked about alone comes to the same.
            for entry in expected.known[:2]:
                alone = workspace(root, Path(cache)).snapshot.by_id[entry.cell.id]
                assert plain((alone,)) == plain((entry,))


@given(shelves(), shelves(), st.sampled_from([0, 1, 45, 300, -3]))
@examples(30)
def test_after_more_runs_and_on_another_day_it_is_too(shelf: Shelf, more: Shelf, days: int) -> None:
    day = DAY + datetime.timedelta(days=days)
    patched = pytest.MonkeyPatch.context()
    with patched as patch, repository(shelf) as root, TemporaryDirectory() as cache:
        # The records are of today's suite, so that they hold for as long as any do.
        patch.setattr("compat.workspace.suite_digest", lambda _: SUITE)
        demo = workspace(root, Path(cache))
        assert plain(demo.snapshot.known) == plain(anew(root).known)
        for cell in FRESH:
            for record in more.records(cell):
                demo.store.add(record)
        expected = anew(root, day)
        for _ in range(2):
            known = workspace(root, Path(cache), day).snapshot
            assert plain(known.known) == plain(expected.known)
            assert plain(tuple(known.entries)) == plain(tuple(expected.entries))
            assert known.attribution.refuting == expected.attribution.refuting
        # What is kept of another day says nothing wrong about the first one.
        assert plain(workspace(root, Path(cache)).snapshot.known) == plain(anew(root).known)


def red_and_green() -> Shelf:
    locks = [lock_of(cell) for cell in (NEW, BESIDE, OLD)]
    with TemporaryDirectory() as empty:
        suite = suite_digest(Path(empty))
    red, green = statuses(a="no", b="yes"), statuses(a="yes")
    failing = ran(locks[0], "test-fail:assertion(a)", suite=suite, capabilities=red)
    working = [ran(lock, suite=suite, capabilities=green) for lock in locks[1:]]
    return Shelf([failing, *working], locks)


def test_the_next_question_judges_no_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with repository(red_and_green()) as root:
        first = workspace(root, tmp_path).snapshot
        assert {entry.cell.id for entry in first.known} == {NEW, BESIDE, OLD}
        for name in ("judge", "judged_again"):
            monkeypatch.setattr(snapshot_module, name, lambda *_, **__: pytest.fail("judged again"))
        again = workspace(root, tmp_path).snapshot
        assert again.by_id[NEW].failing("combination") == ("a",)
        assert plain(again.known) == plain(first.known)
        assert [len(entry.runs) for entry in again.known] == [1, 1, 1]
        assert again.known[0].counted == again.known[0].history.counted != ()


EXCLUDED = """
  { name = "no-more", effect = "exclude", because = "it never worked", when = { dep = "==2" } },
"""
CHANGES: dict[str, Callable[[Path, Workspace], object]] = {
    "a run": lambda folder, demo: demo.store.add(ran(lock_of(NEW), minute=5)),
    "a lock": lambda folder, demo: write(
        folder / "locks" / f"{NEW}.txt", encode_lock(lock_of(NEW, pytest="7.0"))
    ),
    "no lock": lambda folder, demo: (folder / "locks" / f"{NEW}.txt").unlink(),
    "the suite": lambda folder, demo: write(folder / "suite" / "test_more.py", "x = 1\n"),
    "an answer": lambda folder, demo: store_answers(
        folder, PLAIN, [answered("py3.9-dep1-demo2.0")]
    ),
    "the matrix": lambda folder, demo: write(
        folder / "matrix.toml",
        (folder / "matrix.toml").read_text().replace("rules = [", f"rules = [{EXCLUDED}", 1),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_is_known_at_once(tmp_path: Path, change: str) -> None:
    with repository(red_and_green()) as root:
        demo = workspace(root, tmp_path)
        before = plain(tuple(demo.snapshot.entries)), plain(demo.snapshot.known)
        CHANGES[change](demo.folder, demo)
        after = workspace(root, tmp_path).snapshot
        known = plain(after.known)
        assert (plain(tuple(after.entries)), known) != before
        assert known == plain(anew(root).known)


def test_another_day_is_another_question(tmp_path: Path) -> None:
    later = DAY + datetime.timedelta(days=100)
    with repository(red_and_green()) as root:
        for day, is_stale in ((DAY, False), (later, True), (DAY, False)):
            known = workspace(root, tmp_path, day).snapshot.known
            assert {entry.stale for entry in known} == {is_stale}


@pytest.mark.parametrize("change", ["answers SET body = x'00'", "derived SET body = x'00'"])
def test_what_is_damaged_is_derived_again(tmp_path: Path, change: str) -> None:
    with repository(red_and_green()) as root:
        before = workspace(root, tmp_path).snapshot
        expected, questions = plain(before.known), before.own_installs
        (path,) = (tmp_path / "answers").glob("*.sqlite")
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"UPDATE {change}")
            connection.commit()
        again = workspace(root, tmp_path).snapshot
        assert again.own_installs == questions
        assert plain(again.known) == expected
        path.write_bytes(path.read_bytes()[:5000])
        assert plain(workspace(root, tmp_path).snapshot.known) == expected
        path.unlink()
        assert plain(workspace(root, tmp_path).snapshot.known) == expected


def test_a_reader_keeps_what_it_has_opened(tmp_path: Path) -> None:
    with repository(red_and_green()) as root:
        before = workspace(root, tmp_path)
        assert before.snapshot.by_id[NEW].kind == "partial"
        before.store.add(ran(lock_of(OLD), "import-fail:missing-module(a)", minute=5))
        after = workspace(root, tmp_path).snapshot
        assert after.by_id[OLD].kind == "broken"
        assert before.snapshot.by_id[OLD].kind == "works"
        before.refresh()
        assert before.snapshot.by_id[OLD].kind == "broken"


def test_a_question_about_one_cell_does_not_read_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with repository(red_and_green()) as root:
        assert workspace(root, tmp_path).snapshot.known
        made: list[str] = []
        make = AnswerReader._answer

        def noted(reader: AnswerReader, cell: str, *row: Any) -> Answer:
            made.append(cell)
            return make(reader, cell, *row)

        monkeypatch.setattr(AnswerReader, "_answer", noted)
        assert workspace(root, tmp_path).verdict(NEW).failing("combination") == ("a",)
        assert made == [NEW]


def test_what_locks_say_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with repository(red_and_green()) as root:

        def asked(demo: Workspace) -> tuple[object, ...]:
            files = files_of_known(demo.snapshot, demo.lock_digests, demo.lock_text, demo.records)
            return demo.snapshot.known, files

        first = asked(workspace(root, tmp_path))
        for name in ("lock", "lock_text", "records"):
            monkeypatch.setattr(Workspace, name, lambda *_: pytest.fail("a file is read again"))
        assert asked(workspace(root, tmp_path)) == first


def test_only_the_releases_with_new_runs_are_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []
    judge = snapshot_module.judge

    def noted(cell: Cell, history: History, *of: Any, **more: Any) -> Answer:
        judged.extend([cell.id] if history.counted else [])
        return judge(cell, history, *of, **more)

    with repository(red_and_green()) as root:
        before = workspace(root, tmp_path).snapshot
        assert before.known
        monkeypatch.setattr(snapshot_module, "judge", noted)
        workspace(root, tmp_path).store.add(ran(lock_of(OLD), "import-fail:abort", minute=5))
        after = workspace(root, tmp_path).snapshot
        assert after.by_id[OLD].kind == "broken"
        assert judged == [OLD]
        assert plain(after.known) == plain(anew(root).known)


def test_after_a_run_no_lock_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = lock_of(RELAXED)
    with repository(Shelf([ran(lock)], [lock])) as root:
        before = workspace(root, tmp_path).snapshot.by_id[RELAXED]
        workspace(root, tmp_path).store.add(ran(lock, "test-fail:assertion(a)", minute=5))
        expected = plain(anew(root).known)
        monkeypatch.setattr(Workspace, "lock", lambda *_: pytest.fail("a lock is read again"))
        after = workspace(root, tmp_path).snapshot
        assert plain(after.known) == expected
        assert after.by_id[RELAXED] != before


def test_another_lock_may_keep_what_the_one_before_did_not(tmp_path: Path) -> None:
    with repository(Shelf([], [lock_of(RELAXED)])) as root:
        path = root / "matrices" / "demo" / "locks" / f"{RELAXED}.txt"
        assert not workspace(root, tmp_path).snapshot.by_id[RELAXED].is_unchanged
        write(path, encode_lock(lock_of(RELAXED, dep="1.0")))
        assert workspace(root, tmp_path).snapshot.by_id[RELAXED].is_unchanged
