"""The command `compat doctor`: what it reads, what it prints, and how it ends."""

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.known import DAY, Shelf, lock_of, ran, repository, statuses
from support.ran import Ran, called

NEW, OLD = "py3.9-dep2-demo2.0", "py3.8-dep1-demo1.0"
PROVEN = "demo==2.0\ndep==2.0\n"
Doctor = Callable[..., Ran]


@pytest.fixture
def doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    """Ask about something, by default beside one proven combination; `piped` is given to standard
    input.
    """
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr("compat.cli.options.today", lambda: DAY)

    def command(*words: str, shelf: Shelf | None = None, piped: bytes | None = None) -> Ran:
        if piped is not None:
            (tmp_path / "piped").write_bytes(piped)
            monkeypatch.setattr(sys, "stdin", (tmp_path / "piped").open())
        with repository(shelf or proven()) as root:
            return called(monkeypatch, capsys, "doctor", *words, "--root", str(root))

    return command


def proven() -> Shelf:
    new, old = lock_of(NEW), lock_of(OLD)
    return Shelf([ran(new), ran(old)], [new, old])


@pytest.fixture
def freeze(tmp_path: Path) -> Callable[[str], str]:
    def written(text: str) -> str:
        path = tmp_path / "freeze.txt"
        path.write_text(text)
        return str(path)

    return written


Freeze = Callable[[str], str]


def test_what_a_run_proves_ends_with_0(doctor: Doctor, freeze: Freeze) -> None:
    answer = doctor("--freeze", freeze(PROVEN), "--python", "3.9")
    assert answer.out.splitlines() == [
        "Demo: proven",
        "  Python 3.9, dep 2.0, demo 2.0; 2 packages read",
        f"  {NEW} works: all 2 work; tested on {DAY}",
    ]
    assert answer.code == 0


def test_what_works_in_part_is_proven_and_ends_with_1(doctor: Doctor, freeze: Freeze) -> None:
    lock = lock_of(NEW)
    partly = Shelf(
        [ran(lock, "test-fail:assertion(mean)", capabilities=statuses(sum="yes", mean="no"))],
        [lock],
    )
    answer = doctor("--freeze", freeze(PROVEN), "--python", "3.9", shelf=partly)
    assert "Demo: proven" in answer.out
    assert "partly works" in answer.out
    assert answer.code == 1


def test_a_broken_list_is_told_with_its_cause_and_a_command(doctor: Doctor, freeze: Freeze) -> None:
    answer = doctor("demo", "--freeze", freeze("demo==2.0\ndep==2.0\n"), "--python", "3.8")
    assert answer.out.startswith("Demo: broken\n")
    assert "this is Python 3.8." in answer.out
    assert f"Nearest tested set: {NEW} works" in answer.out
    assert "uv venv --python 3.9" in answer.out
    assert answer.code == 1


def test_what_was_never_run_is_unproven_with_the_pins_to_the_nearest(
    doctor: Doctor, freeze: Freeze
) -> None:
    answer = doctor("--freeze", freeze("demo==2.0\ndep==2.5\n"), "--python", "3.9")
    assert answer.out.startswith("Demo: unproven\n")
    assert "dep 2.0 instead of" in answer.out
    assert "    pip install --no-deps dep==2.0" in answer.out
    assert answer.code == 1


def test_a_message_on_standard_input_is_read(doctor: Doctor) -> None:
    answer = doctor(
        piped=b"ERROR: Package 'demo' requires a different Python: 3.8.1 not in '>=3.9'\n"
    )
    assert answer.out.startswith("broken: python\n")
    assert "Demo: broken\n" in answer.out
    assert "yours is 3.8.1." in answer.out
    assert answer.code == 1


def test_a_matrix_is_told_only_where_its_subject_fails_or_is_what_was_asked_about(
    doctor: Doctor, freeze: Freeze, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = b"AttributeError: module 'numpy' has no attribute 'bool'."
    beside = doctor("--freeze", freeze(PROVEN), "--python", "3.9", "--message", "-", piped=message)
    assert "broken: numpy" in beside.out
    assert "Demo" not in beside.out
    # What every environment has is in a list for no reason of its own.
    other = freeze("demo==1.5\n")
    assert "Demo: unproven" in doctor("--freeze", other).out
    monkeypatch.setattr("compat.advise.diagnosis._NOT_IN_FREEZE", frozenset(["demo"]))
    assert "Demo" not in doctor("--freeze", other).out
    assert "Demo: proven" in doctor("--freeze", freeze(PROVEN), "--python", "3.9").out


def test_a_message_is_answered_without_what_matrices_and_environments_need(tmp_path: Path) -> None:
    (tmp_path / "error.txt").write_text("AttributeError: module 'numpy' has no attribute 'bool'.\n")
    code = (
        "import sys\nfrom compat.cli.app import main\n"
        "sys.argv = ['compat', 'doctor', '--message', 'error.txt']\n"
        "try:\n    main()\nfinally:\n    print(sorted(n for n in sys.modules if n in"
        " ('compat.workspace', 'compat.advise.diagnosis', 'compat.cli.environment')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "numpy==1.23.5" in done.stdout
    assert done.stdout.endswith("[]\n"), done.stdout


def test_a_list_on_standard_input_is_asked_for(doctor: Doctor) -> None:
    answer = doctor("--freeze", "-", "--python", "3.9", piped=PROVEN.encode("utf-16"))
    assert answer.code == 0


def test_another_environment_is_read_without_starting_it(doctor: Doctor, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    site = venv / "lib" / "python3.9" / "site-packages"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").write_text("#!/bin/sh\nexit 99\n")
    (venv / "pyvenv.cfg").write_text("home = /nowhere\nversion = 3.9.18\n")
    for name, version, requires in (
        ("demo", "2.0", "dep>=2"),
        ("dep", "1.0", ""),
        ("black", "24.1", "absent"),
    ):
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        more = f"Requires-Dist: {requires}\n" if requires else ""
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{more}"
        (info / "METADATA").write_text(f"{head}\nRequires-Dist: no-header-any-more\n")
        (site / name).mkdir()
        (site / name / "__init__.py").write_text("raise SystemExit('imported')\n")
    for place in (venv, venv / "bin" / "python"):
        answer = doctor("--python", str(place))
        assert "dep 1.0 is installed." in answer.out
        assert "absent" not in answer.out
        assert f"{venv}/bin/python" in answer.out
        assert answer.code == 1


def test_its_own_environment_is_read_where_nothing_is_named(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("nothing is piped here"))
    answer = doctor()
    assert answer.code == 1
    assert "no matrix here" in answer.out


def test_a_line_that_is_not_understood_is_told(doctor: Doctor, freeze: Freeze) -> None:
    answer = doctor("--freeze", freeze(f"{PROVEN}-e ./local\n"), "--python", "3.9")
    assert "'-e ./local'" in answer.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--freeze", "/no/such/file"], "/no/such/file: cannot be read: no such file or directory"),
        (["--python", "/no/such/python"], "/no/such/python: no such file or folder"),
        (["--python", "3.9"], "--python: a version needs a list beside it"),
        (["--freeze", "-", "--message", "-"], "cannot both be the standard input"),
        (["nothing"], "no matrix 'nothing'"),
    ],
)
def test_wrong_usage_is_one_clear_line(doctor: Doctor, words: list[str], told: str) -> None:
    answer = doctor(*words, piped=b"" if "3.9" not in words else None)
    assert told in answer.err
    assert len(answer.err.splitlines()) == 1
    assert answer.code == 2


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\xff\xfe\x1b]0;title\x07\xe2\x80\xae" * 1000,
        b"demo==2.0\x1b[2J\n",
        b"\xff\xfe" + bytes(range(128, 138)),
        b"\n" * 10_000,
    ],
)
def test_hostile_lists_end_in_one_printable_line(
    doctor: Doctor, tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "hostile.txt"
    path.write_bytes(data)
    answer = doctor("demo", "--freeze", str(path))
    assert answer.code in (1, 2)
    assert all(char.isprintable() or char == "\n" for char in answer.out + answer.err)
    assert len(answer.err.splitlines()) <= 2


def test_hostile_messages_are_bounded_and_escaped(doctor: Doctor) -> None:
    text = "demo 1.0 requires \x1b[31mdep<1\u202e, but you have dep 9.9 which is incompatible\n"
    answer = doctor("demo", piped=text.encode() * 20_000)
    assert answer.code == 1
    assert all(char.isprintable() or char == "\n" for char in answer.out + answer.err)
    assert len(answer.out.splitlines()) < 24


def test_machines_read_the_same(doctor: Doctor, freeze: Freeze) -> None:
    (answer,) = doctor("--freeze", freeze(PROVEN), "--python", "3.9", "--json").json["data"][
        "answers"
    ]
    assert (answer["state"], answer["works"], answer["proof"]) == ("proven", True, NEW)
    asked = ("--freeze", freeze("demo==2.0\ndep==2.5\n"), "--python", "3.9", "--json")
    (answer,) = doctor(*asked).json["data"]["answers"]
    assert answer["state"] == "unproven"
    assert answer["nearest"]["cell"] == NEW
    assert answer["nearest"]["differences"] == [
        {"package": "dep", "installed": "2.5", "tested": "2.0"}
    ]


SAME = "py3.9-dep1-demo2.0+relaxed"
FAILS = "import-fail:missing-attribute({}; at demo/core.py:3)"


def test_a_proof_comes_before_the_failure_of_another_version_beside_it(
    doctor: Doctor, freeze: Freeze
) -> None:
    works, fails = lock_of(NEW), lock_of(SAME)
    broken = ran(fails, FAILS.format("gone.name"), involved=("demo",))
    shelf = Shelf([ran(works), broken], [works, fails])
    answer = doctor("--freeze", freeze(PROVEN), "--python", "3.9", shelf=shelf)
    assert (answer.out.splitlines()[0], answer.code) == ("Demo: proven", 0)
    untested = doctor("--freeze", freeze(f"{PROVEN}third==1\n"), "--python", "3.9", shelf=shelf)
    assert untested.code == 0
    own = doctor("--freeze", freeze("demo==2.0\ndep==1.0\n"), "--python", "3.9", shelf=shelf)
    assert own.out.startswith("Demo: broken\n")


@pytest.mark.parametrize(
    ("thing", "listed", "state"),
    [
        ("entries.get", "third==1.0", "broken"),  # exactly this set was run
        ("entries.get", "third==2.0", "unproven"),  # whose `entries` is, nobody knows
        ("third.get", "third==1.0\nother==2.0", "broken"),  # what it names is the same
        ("third.get", "third==2.0\nother==1.0", "unproven"),
        ("third.get", "third==1.0\nother==2.0\ndep==2.1", "unproven"),  # another axis version
    ],
)
def test_a_failure_holds_where_all_that_it_names_and_every_axis_are_equal(
    doctor: Doctor, freeze: Freeze, thing: str, listed: str, state: str
) -> None:
    lock, old = lock_of(NEW, third="1.0", other="1.0"), lock_of(OLD)
    if "other" not in listed:
        lock = lock_of(NEW, third="1.0")
    known = [name for name in ("third",) if thing.startswith(name)]
    shelf = Shelf(
        [ran(lock, FAILS.format(thing), involved=(*known, "demo")), ran(old)], [lock, old]
    )
    versions = dict(line.split("==") for line in f"{PROVEN}{listed}".split())
    text = "".join(f"{name}=={version}\n" for name, version in versions.items())
    answer = doctor("--freeze", freeze(text), "--python", "3.9", shelf=shelf)
    assert answer.out.startswith(f"Demo: {state}\n"), answer.out


def test_a_remedy_is_a_set_in_which_what_failed_works(
    doctor: Doctor, freeze: Freeze, tmp_path: Path
) -> None:
    partial, whole = lock_of(NEW, third="1.0"), lock_of("py3.9-dep2-demo1.0+relaxed")
    outcome = "test-fail:missing-attribute(mean; by Reply.version; at demo/core.py:3)"
    failed = ran(partial, outcome, capabilities=statuses(sum="yes", mean="no"))
    works = ran(whole, "pass", capabilities=statuses(sum="yes", mean="yes"))
    shelf = Shelf([failed, works], [partial, whole])
    message = tmp_path / "message.txt"
    message.write_text("AttributeError: 'Reply' object has no attribute 'version'\n")
    asked = ("demo", "--freeze", freeze("demo==2.0\ndep==2.0\nthird==2.0\n"), "--python", "3.9")
    for more in ((), ("--message", str(message))):
        (answer,) = doctor(*asked, *more, "--json", shelf=shelf).json["data"]["answers"]
        assert answer["nearest"]["cell"] == whole.inputs.cell
        assert answer["state"] == ("broken" if more else "unproven")
