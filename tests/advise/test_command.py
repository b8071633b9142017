"""The command `compat advise`: what it prints, and how it ends."""

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest
from support.known import DAY, Shelf, lock_of, proven, ran, repository, statuses
from support.ran import Ran, called

from compat.results.record import StepSeconds
from compat.run.evidence import Metric

NEW, OLD, RELAXED = "py3.9-dep2-demo2.0", "py3.8-dep1-demo1.0", "py3.8-dep2-demo2.0+relaxed"
Advise = Callable[..., Ran]


@pytest.fixture
def advise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Advise:
    """Ask for advice about a shelf."""
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("compat.cli.options.today", lambda: DAY)

    def command(shelf: Shelf, *words: str) -> Ran:
        with repository(shelf) as root:
            return called(monkeypatch, capsys, "advise", "demo", *words, "--root", str(root))

    return command


def test_what_is_proven_is_told_with_its_evidence_and_its_commands(advise: Advise) -> None:
    old, new = lock_of(OLD), lock_of(NEW)
    shelf = Shelf([ran(old), ran(old, days_ago=1), ran(new)], [old, new])
    found = advise(shelf, "--goal", "newest")
    assert found.code == 0
    assert found.out.splitlines()[:4] == [
        "Python 3.9, dep 2.0, demo 2.0",
        "  Of the releases that are published for these versions and mostly work, demo 2.0 is the"
        " newest.",
        f"  works; tested once, last on {DAY}, isolation L3; {NEW}",
        "  all 2 work",
    ]
    assert (
        "uv pip install --python demo2.0-dep2-py3.9 --no-deps --require-hashes"
        f" -r matrices/demo/locks/{NEW}.txt" in found.out
    )
    assert "or Python 3.8, dep 1.0, demo 1.0" in found.out


def test_what_was_lifted_and_what_a_plain_install_does_is_told(advise: Advise) -> None:
    lock = lock_of(RELAXED, install_as_python="3.9.18")
    found = advise(Shelf([ran(lock)], [lock]))
    assert "  lifted: Python 3.8 instead of >=3.9" in found.out
    assert "  as published: pip install 'dep==2.*' 'demo==2.0'" in found.out
    assert "requires Python >=3.9, not 3.8" in found.out
    assert "--python-version 3.9.18 -r given.txt" in found.out


def test_where_nothing_fits_the_nearest_is_shown_and_the_code_is_1(advise: Advise) -> None:
    found = advise(proven(NEW), "python==3.8", "demo==2")
    assert found.code == 1
    assert "requires Python >=3.9, not 3.8" in found.out
    assert "3.8 was tested)" in found.out


def partly(outcome: str = "test-fail:assertion(mean)", **found: str) -> Shelf:
    """A shelf whose one combination works in part."""
    lock = lock_of(NEW)
    return Shelf([ran(lock, outcome, capabilities=statuses(**found))], [lock])


def test_a_combination_that_works_only_in_part_ends_with_1_and_says_what_fails(
    advise: Advise,
) -> None:
    found = advise(partly(sum="yes", mean="no"))
    assert found.code == 1
    assert f"  partly works; tested once, last on {DAY}" in found.out
    assert (
        "  1 of 2 works; 1 fails in this combination\n  Does not work: mean (wrong result)\n"
        in found.out
    )
    assert "mean fails (--need CAPABILITY" in found.err
    found = advise(partly(sum="yes", mean="no", **{"import": "no"}))
    failing = "import (wrong result), mean (wrong result)"
    assert "  1 of 3 works; 2 fail in this combination\n" in found.out
    assert f"  Does not work: {failing}\n" in found.out
    assert "import and mean fail" in found.err
    assert ": test-fail:assertion(test_other) (" in (
        advise(partly("test-fail:assertion(test_other)", sum="yes")).err
    )


def test_a_combination_that_has_what_is_needed_ends_with_0_whatever_else_fails(
    advise: Advise,
) -> None:
    found = advise(partly(sum="yes", mean="no"), "--need", "sum")
    assert found.code == 0
    assert "partly works; tested once" in found.out
    assert "Does not work: mean" in found.out
    assert advise(partly(sum="yes", mean="no"), "--need", "sum", "--need", "mean").code == 1


def test_how_often_and_on_how_many_days_is_told(advise: Advise) -> None:
    lock = lock_of(NEW)
    runs = [ran(lock), ran(lock, minute=1), ran(lock, days_ago=1)]
    assert "tested twice on 1" in advise(Shelf(runs[:2], [lock])).out
    assert "3 times on 2" in advise(Shelf(runs, [lock])).out


def test_an_unknown_capability_is_answered_with_one_that_is_known(advise: Advise) -> None:
    assert advise(proven(NEW), "--need", "xyzzy").err.endswith(
        "(the suite has 2, such as import)\n"
    )
    assert advise(partly(sum="yes"), "--need", "xyzzy").err.endswith("(the suite has one, sum)\n")
    assert "the suite marks no" in advise(Shelf(), "--need", "xyzzy").err


def test_where_nothing_is_proven_at_all_that_is_said(advise: Advise) -> None:
    found = advise(Shelf())
    assert (found.code, "proven so far" in found.err) == (1, True)


@pytest.mark.parametrize(
    "words", [("pyton==3",), ("demo==",), ("--need", "summ"), ("--goal", "finest")]
)
def test_what_is_no_request_is_wrong_usage(advise: Advise, words: tuple[str, ...]) -> None:
    found = advise(proven(NEW), *words)
    assert (found.code, found.out) == (2, "")
    assert found.err.count("\n") == 1


@pytest.mark.parametrize(("shelf", "is_proven"), [(proven(NEW), True), (Shelf(), False)])
def test_machines_read_the_same_keys_whatever_the_answer(
    advise: Advise, shelf: Shelf, is_proven: bool
) -> None:
    told = advise(shelf, "--json").json["data"]
    assert list(told) == [
        "matrix",
        "request",
        "proven",
        "in_the_way",
        "changes",
        "best",
        "because",
        "alternatives",
        "plain",
        "platforms",
        "not_on",
    ]
    assert told["proven"] is is_proven
    assert (told["best"] is None) is not is_proven


def test_machines_read_the_lines_about_a_plain_install_too(advise: Advise) -> None:
    shelf = proven(NEW)
    told = advise(shelf, "demo==2.0", "--json").json["data"]["plain"]
    assert told
    printed = advise(shelf, "demo==2.0").out
    assert all(f"\n  {line}\n" in printed for line in told)
    assert advise(shelf, "--json").json["data"]["plain"] == []


def test_what_an_installation_takes_is_told_as_far_as_it_was_measured(advise: Advise) -> None:
    lock = lock_of(NEW)
    found = advise(proven(NEW))
    assert "not measured: time, size" in found.out
    size = Metric(name="installed_size", value=2200.0, unit="MiB", better="lower")
    measured = ran(lock, metrics=(size,), step_seconds=StepSeconds(install=61.0))
    found = advise(Shelf([measured], [lock]))
    assert (
        "  Linux x86-64, glibc 2.28 or newer; 3 packages, each checked by its hash; 2.3 GB on disk;"
        " installed in 61 s by our newest run, files partly cached; not measured: size of the"
        " download\n"
    ) in found.out
    told = advise(Shelf([measured], [lock]), "--json").json["data"]["best"]["facts"]
    assert (told["installed_mb"], told["install_seconds"]) == (2200.0, 61.0)


@pytest.mark.slow
def test_of_the_committed_matrix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("compat.cli.options.today", lambda: datetime.date(2026, 11, 26))

    def answer(*words: str) -> Ran:
        root = str(Path(__file__).parents[2])
        return called(monkeypatch, capsys, "advise", "tff", *words, "--root", root)

    mac = answer("--platform", "macos-arm64")
    assert (mac.code, "FROM --platform=linux/amd64 python:3" in mac.out) == (1, True)
    for goal in ("best", "newest"):
        asked = answer("python==3.9", "tensorflow==2.9", "--goal", goal, "--json").json["data"]
        best = asked["best"]
        assert best["coordinates"]["tf"] == "2.9"
        assert not any("tensorflow 2" in one["sentence"] for one in best["lifted"])
        assert "published" in asked["because"]
    newest = answer("tff>=0.90", "--json")
    assert (newest.code, newest.json["data"]["best"]["versions"]["tff"]) == (1, "0.87.0")
    [obstacle] = newest.json["data"]["in_the_way"]
    assert ">=0.90: the newest is" in obstacle
    assert answer("python==3.9", "python==3.11").code == 2
