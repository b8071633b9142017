"""One matrix on disk: what is read once, what the snapshot and the single verdicts agree about."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from support.known import DAY, Shelf, lock_of, proven, ran, repository, statuses

from compat.advise.answer import Recommended
from compat.advise.request import Request
from compat.cli.advise import advisor_of
from compat.lock.lockfile import encode_lock
from compat.results.answer import Answer
from compat.results.answers import AnswerTable
from compat.results.record_files import RecordFiles
from compat.results.snapshot import agenda
from compat.run.suitefiles import suite_digest
from compat.workspace import Workspace

NEW, OLD = "py3.9-dep2-demo2.0", "py3.8-dep1-demo1.0"


def workspace(root: Path, cache: Path, day: datetime.date = DAY) -> Workspace:
    return Workspace(root / "matrices" / "demo", day, lambda: cache)


def test_each_verdict_is_that_of_the_snapshot(tmp_path: Path) -> None:
    with repository(proven(NEW, OLD)) as root:
        demo = workspace(root, tmp_path)
        known = {entry.cell.id: entry for entry in demo.snapshot.known}
        assert known.keys() >= {NEW, OLD}
        assert {cell: demo.verdict(cell) for cell in known} == known


def test_one_question_looks_at_the_files_of_records_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`show` looked at each of them three times, in November 2026."""
    looked: list[int] = []
    states = RecordFiles.states

    def noted(store: RecordFiles) -> Iterator[tuple[str, tuple[int, int]]]:
        looked.append(len(looked))
        return states(store)

    monkeypatch.setattr(RecordFiles, "states", noted)
    with repository(proven(NEW, OLD)) as root:
        demo = workspace(root, tmp_path)
        assert demo.verdict(NEW).kind == "works"
        assert len(demo.records(NEW)) == 1
        now = datetime.datetime.combine(DAY, datetime.time(23), datetime.timezone.utc)
        assert demo.damaged(now) == ()
        assert len(looked) == 2  # the table and the records of one cell
        ((name, _), *_) = demo.store.states()
        path = demo.store.folder / name
        path.write_text("{}\n")
        demo.refresh()
        assert [fault.path for fault in demo.damaged(now)] == [f"{demo.store.name(path)}:1"]


def verdicts(root: Path, cache: Path, day: datetime.date = DAY) -> dict[str, Answer]:
    return {e.cell.id: e for e in workspace(root, cache, day).snapshot.known}


def test_what_is_kept_of_a_cell_says_what_its_runs_say_on_any_day(tmp_path: Path) -> None:
    lock = lock_of(NEW)
    # The newest says nothing about the versions, and the verdict rests on the one before it.
    runs = [
        ran(lock, days_ago=200),
        ran(lock, "import-fail:missing-module(a)", days_ago=5),
        ran(lock, "install-fail:network", days_ago=2),
    ]
    days = [DAY + datetime.timedelta(days=n) for n in (0, 100, 101, -3, -6, 85, 86, -300, 0)]
    with repository(Shelf(runs, [lock])) as root:
        for day in days:
            kept, anew = (workspace(root, tmp_path / at, day).snapshot for at in ("", f"{day}"))
            assert kept.known == anew.known, day
            assert agenda(kept) == agenda(anew), day


def test_a_question_about_all_cells_reads_no_runs_where_nothing_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers(root: Path) -> tuple[object, ...]:
        demo = workspace(root, tmp_path)
        advisor = advisor_of(demo)
        known = [
            (answer.id, answer.kind, answer.outcome, answer.reasons, answer.score, answer.stale)
            for answer in demo.snapshot.known
        ]
        answer = advisor.answer(Request())
        assert isinstance(answer, Recommended)
        best = answer.best.proof.id, answer.because
        return known, agenda(demo.snapshot), best, [proof.id for proof in advisor.proofs]

    locks = [lock_of(cell) for cell in (NEW, "py3.8-dep1-demo2.0", OLD)]
    failing = ran(locks[0], "test-fail:assertion(a)", capabilities=statuses(a="no", b="yes"))
    runs = [failing, *(ran(lock, capabilities=statuses(a="yes")) for lock in locks[1:])]
    with repository(Shelf(runs, locks)) as root:
        before = answers(root)
        monkeypatch.setattr(AnswerTable, "runs_of", lambda *_: pytest.fail("read runs"))
        assert answers(root) == before


def test_a_verdict_of_another_suite_or_lock_is_judged_again(tmp_path: Path) -> None:
    lock, suite = lock_of(NEW), tmp_path / "suite"
    suite.mkdir()
    with repository(Shelf([ran(lock, suite=suite_digest(suite))], [lock])) as root:
        assert not verdicts(root, tmp_path)[NEW].stale
        path = root / "matrices" / "demo" / "locks" / f"{NEW}.txt"
        path.write_text(encode_lock(lock_of(NEW, pytest="7.0")))
        assert verdicts(root, tmp_path)[NEW].stale
        path.write_text(encode_lock(lock_of(NEW)))
        assert not verdicts(root, tmp_path)[NEW].stale
        (root / "matrices" / "demo" / "suite" / "test_more.py").write_text("")
        assert verdicts(root, tmp_path)[NEW].stale


def test_a_lock_is_read_again_when_its_file_has_changed(tmp_path: Path) -> None:
    with repository(proven(NEW)) as root:
        for _ in range(2):
            digests = workspace(root, tmp_path).lock_digests
            assert digests[NEW] == lock_of(NEW).digest
        other = lock_of(NEW, pytest="7.0.1")
        (root / "matrices" / "demo" / "locks" / f"{NEW}.txt").write_text(encode_lock(other))
        assert workspace(root, tmp_path).lock_digests[NEW] == other.digest


def test_runs_of_cells_that_the_matrix_cannot_read_say_nothing_about_time(tmp_path: Path) -> None:
    lock = lock_of(NEW)
    run = ran(lock)
    elsewhere = msgspec.structs.replace(run, cell="py3.9-demo3.0", seconds=run.seconds * 9)
    with repository(Shelf([run], [lock])) as root:
        demo = workspace(root, tmp_path)
        demo.store.add(elsewhere)
        assert "py3.9-demo3.0" in demo.runs
        (cell,) = [entry.cell for entry in demo.snapshot.known]
        assert demo.durations["full"].of(cell) == run.seconds
        assert demo.verdict("py3.9-demo3.0").kind == "works"


def test_what_was_read_is_read_again_only_when_told(tmp_path: Path) -> None:
    with repository(proven(NEW)) as root:
        demo = workspace(root, tmp_path)
        assert demo.runs is demo.runs
        before = demo.runs
        demo.refresh()
        assert demo.runs is not before
        assert {c: list(r) for c, r in demo.runs.items()} == {c: list(r) for c, r in before.items()}


def test_the_cache_is_asked_for_only_when_it_is_needed(tmp_path: Path) -> None:
    def nowhere() -> Path:
        raise AssertionError("asked for the cache")

    with repository(proven(NEW)) as root:
        demo = Workspace(root / "matrices" / "demo", DAY, nowhere)
        assert demo.matrix.name == "demo"
        assert demo.lock_digests.keys() == {NEW}
        with pytest.raises(AssertionError, match="asked for the cache"):
            _ = demo.runs
