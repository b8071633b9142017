"""Cells whose own code lies about them: what it cannot do at each level, and what a run of it comes
to.
"""

import base64
import hashlib
import io
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.hostile import allowed
from support.lair import Lair, used_lair

from compat.results.judge import judged, record_of
from compat.results.record import INSTALLED
from compat.run import installation
from compat.run.classify import classify
from compat.run.evidence import Ended, Evidence, Isolation
from compat.run.installed import Environment
from compat.run.isolation import Room
from compat.run.supervise import run_limited

LEVELS: tuple[Isolation, ...] = ("L3", "L2", "L1")
RED = "import animal\n\ndef test_red():\n    assert False, 'this is red'\n"
GREEN = "import animal\n\ndef test_green():\n    assert animal.ALIVE\n"


def at(*levels: str) -> list[Any]:
    return [
        pytest.param(level, marks=() if level == "L3" else pytest.mark.slow) for level in levels
    ]


@pytest.fixture(params=at(*LEVELS))
def lair(
    request: pytest.FixtureRequest, tools: list[tuple[str, str, bytes]], once: Any
) -> Iterator[Lair]:
    """Below L3 Landlock keeps a cell from files elsewhere, but not in /tmp ("open")."""
    level, _, is_open = request.param.partition("-")
    if level not in allowed():
        pytest.skip(f"this machine does not allow {level}")
    with tempfile.TemporaryDirectory(dir="/tmp" if is_open else Path.home()) as folder:
        yield used_lair(once, Path(folder), level, tools)


WHERE_IT_CAN_WRITE_TOO = pytest.mark.parametrize(
    "lair", at(*LEVELS, "L2-open", "L1-open"), indirect=True
)
# What the level of isolation cannot change: the test itself tampers, or the report alone speaks.
AT_THE_HIGHEST = pytest.mark.parametrize("lair", ["L3"], indirect=True)


def wrong_hash(after: str) -> Callable[[str, bytes], bytes]:
    """Return what makes a wheel with a hash in its RECORD, the one after the text, that no file
    has.
    """

    def remade(name: str, content: bytes) -> bytes:
        packed, record = io.BytesIO(), f"{name}-1.0.dist-info/RECORD"
        with (
            zipfile.ZipFile(io.BytesIO(content)) as before,
            zipfile.ZipFile(packed, "w") as archive,
        ):
            for path in before.namelist():
                text = before.read(path).decode()
                archive.writestr(
                    path, re.sub(f"({re.escape(after)}).{{43}}", rf"\g<1>{'A' * 43}", text)
                )
                assert path != record or "A" * 43 in archive.read(path).decode()
        return packed.getvalue()

    return remade


def row(text: str) -> str:
    """What RECORD says of a file with this text."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"sha256={digest},{len(text.encode())}"


def outcome(evidence: Evidence) -> str:
    return str(classify(evidence))


# Empties the method by which pytest runs a test function, in place, and sets the time of change
# back.
EMPTIES_PYTEST = """
import os, re, sys
from pathlib import Path
# The import does not see pytest, but knows where it stands.
for folder in [*sys.path, *(name.replace("/venv/", "/runner/venv/") for name in sys.path)]:
    path = Path(folder) / "_pytest" / "python.py"
    if path.exists():
        before = path.stat()
        text = path.read_text()
        lied = text.replace("self.ihook.pytest_pyfunc_call(pyfuncitem=self)", "pass", 1)
        assert lied != text
        try:
            with open(path, "r+") as file:
                file.write(lied)
                file.truncate()
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        except OSError as error:
            print("could not write:", error)
"""


def test_what_the_files_of_a_cell_take_is_measured(lair: Lair) -> None:
    small = lair.run({}, {"test_a.py": GREEN})
    large = lair.run({"food.py": "#" * 3_000_000}, {"test_a.py": GREEN})
    assert small.installed_mb is not None
    assert large.installed_mb is not None
    assert 2.5 < large.installed_mb - small.installed_mb < 3.5
    (size,) = (m for m in record_of([judged(large)], "uv").metrics if m.name == INSTALLED)
    assert (size.value, size.unit) == (large.installed_mb, "MiB")


@pytest.mark.slow
class TestOneCellAndTheNext:
    """Nothing that a cell writes is what another cell gets."""

    def test_an_honest_cell_passes_and_a_red_one_fails(self, lair: Lair) -> None:
        assert outcome(lair.run({}, {"test_a.py": GREEN})) == "pass"
        assert outcome(lair.run({}, {"test_a.py": RED})).startswith(
            "test-fail:assertion(test_a.py::test_red"
        )

    @WHERE_IT_CAN_WRITE_TOO
    def test_an_import_that_rewrites_pytest_makes_no_later_cell_green(self, lair: Lair) -> None:
        first = lair.run(
            {"animal.py": EMPTIES_PYTEST + "raise RuntimeError('as if nothing was')\n"}, {}
        )
        expected = (
            "import-fail:error(animal.py"
            if lair.is_sealed
            else "import-fail:environment-mismatch(wrote to "
        )
        assert outcome(first).startswith(expected)
        later = lair.run({}, {"test_a.py": RED})
        assert outcome(later).startswith("test-fail:assertion(test_a.py::test_red")

    @WHERE_IT_CAN_WRITE_TOO
    def test_a_suite_that_rewrites_pytest_makes_neither_itself_nor_a_later_cell_green(
        self, lair: Lair
    ) -> None:
        first = lair.run({}, {"test_a.py": EMPTIES_PYTEST + GREEN})
        if lair.is_sealed:
            assert outcome(first) == "pass"
        else:
            assert outcome(first) == "test-fail:environment-mismatch(wrote to _pytest/python.py)"
        later = lair.run({}, {"test_a.py": RED})
        assert outcome(later).startswith("test-fail:assertion(test_a.py::test_red")

    @AT_THE_HIGHEST
    @pytest.mark.parametrize("is_record_edited", [False, True])
    def test_a_wheel_that_was_changed_in_the_cache_is_found_out_and_fetched_again(
        self, lair: Lair, is_record_edited: bool
    ) -> None:
        assert outcome(lair.run({}, {"test_a.py": GREEN})) == "pass"
        (source,) = [*(lair.folder / "sandbox" / "uv").glob("archive-v0/*/_pytest/python.py")]
        text = source.read_text()
        lied = text.replace("self.ihook.pytest_pyfunc_call(pyfuncitem=self)", "pass", 1)
        source.write_text(lied)
        if is_record_edited:
            (record,) = source.parent.parent.glob("pytest-*.dist-info/RECORD")
            record.write_text(record.read_text().replace(row(text), row(lied)))
            assert row(lied) in record.read_text()
        assert outcome(lair.run({}, {"test_a.py": RED})).startswith("install-fail:cache(pytest==")
        later = lair.run({}, {"test_a.py": RED})
        assert outcome(later).startswith("test-fail:assertion(test_a.py::test_red")
        assert later.misrecorded == ()

    @AT_THE_HIGHEST
    def test_a_wheel_that_only_was_written_again_is_as_it_was(self, lair: Lair) -> None:
        """The canary's is, each day: a worker would stop."""
        assert outcome(lair.run({}, {"test_a.py": GREEN})) == "pass"
        for wheel in (lair.folder / "links").iterdir():
            wheel.touch()
        assert outcome(lair.run({}, {"test_a.py": GREEN})) == "pass"

    @AT_THE_HIGHEST
    def test_a_wheel_of_the_cache_that_nobody_saw_come_is_fetched_again(self, lair: Lair) -> None:
        assert outcome(lair.run({}, {"test_a.py": GREEN})) == "pass"
        (source,) = [*(lair.folder / "sandbox" / "uv").glob("archive-v0/*/_pytest/python.py")]
        text = source.read_text()
        source.write_text(text.replace("self.ihook.pytest_pyfunc_call(pyfuncitem=self)", "pass", 1))
        for seal in (lair.folder / "seals").iterdir():
            seal.unlink()
        later = lair.run({}, {"test_a.py": RED})
        assert outcome(later).startswith("test-fail:assertion(test_a.py::test_red")

    @AT_THE_HIGHEST
    def test_a_file_that_was_put_into_the_cache_is_found_out(self, lair: Lair) -> None:
        assert outcome(lair.run({}, {"test_a.py": GREEN})) == "pass"
        (source,) = [*(lair.folder / "sandbox" / "uv").glob("archive-v0/*/_pytest/python.py")]
        (source.parent.parent / "zz.pth").write_text("import os; os._exit(0)\n")
        assert outcome(lair.run({}, {"test_a.py": GREEN})).startswith("install-fail:cache(")
        assert outcome(lair.run({}, {"test_a.py": GREEN})) == "pass"

    @pytest.mark.parametrize(
        ("lair", "place"),
        [
            *((level, "data/pyvenv.cfg") for level in LEVELS),
            *(("L3", place) for place in ("data/bin/pyvenv.cfg", "scripts/python._pth")),
        ],
        indirect=["lair"],
    )
    def test_no_code_of_a_wheel_runs_in_an_install(self, lair: Lair, place: str) -> None:
        mark = lair.folder / "sandbox" / "uv" / "mark"
        library = f"python{sys.version_info.major}.{sys.version_info.minor}"
        writes = f"import posix; posix.close(posix.open({str(mark)!r}, posix.O_CREAT))\n"
        evidence = lair.run(
            {},
            {"test_a.py": GREEN},
            before={
                f"before1-1.0.data/{place}": "home = venv/evil/bin\n",
                f"before1-1.0.data/data/evil/lib/{library}/encodings/__init__.py": writes,
                f"before1-1.0.data/data/evil/lib/{library}/os.py": "",
                "before1-1.0.data/data/evil/bin/x": "",
                f"before1-1.0.data/data/lib/{library}/encodings/__init__.py": writes,
                "before1-1.0.data/data/share/before/kept": "data",
                # Longer than a name may be, once anything is put behind it.
                f"{'n' * 250}.pth": writes,
            },
        )
        assert not mark.exists() or not lair.is_sealed
        assert outcome(evidence) == "pass", evidence.steps[0].log
        told = f"before1: {place.removeprefix('data/').replace('scripts', 'bin')}"
        assert {*evidence.refused} == {told, f"before1: lib/{library}/encodings/__init__.py"}
        assert evidence.startup == (f"before1: {'n' * 250}.pth",)
        remarks = record_of([judged(evidence)], "uv").remarks
        assert any(f"belongs to the interpreter: {told}" in remark for remark in remarks)

    @AT_THE_HIGHEST
    def test_an_install_from_files_of_its_own_does_not_write_to_the_shared_cache(
        self, lair: Lair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rooms = []

        def noted(command: list[str], room: Room, *rest: Any, **options: Any) -> Ended:
            rooms.append((command, room))
            return run_limited(command, room, *rest, **options)

        monkeypatch.setattr(installation, "run_limited", noted)
        lair.run({}, {"test_a.py": GREEN}, is_local=True)
        (own,) = (room for command, room in rooms if "local.txt" in command)
        cell = lair.folder / "sandbox" / "cells" / "worker-1" / "cell"
        assert own.writable == (cell,)
        assert dict(own.variables)["UV_CACHE_DIR"] == str(cell / "cache")

    def test_a_start_up_file_does_not_run_while_more_is_installed(self, lair: Lair) -> None:
        mark = lair.folder / "sandbox" / "uv" / "mark"
        writes = (
            f"import pathlib; p = pathlib.Path({str(mark.parent)!r}); p.exists() and (p /"
            " 'mark').touch()\n"
        )
        evidence = lair.run(
            {}, {"test_a.py": GREEN}, before={"aa.pth": writes, "sitecustomize.py": writes}
        )
        assert evidence.startup == ("before1: aa.pth", "before1: sitecustomize.py")
        # Elsewhere the import and the suite can write there themselves.
        assert not lair.is_sealed or not mark.exists()

    @AT_THE_HIGHEST
    def test_what_a_wheel_has_beside_its_record_is_told_and_does_not_stop_it(
        self, lair: Lair
    ) -> None:
        evidence = lair.run({}, {"test_a.py": GREEN}, remade=wrong_hash("animal.py,sha256="))
        assert outcome(evidence) == "pass"
        assert evidence.misrecorded == ("lair1==1.0: animal.py",)
        again = lair.run({}, {"test_a.py": GREEN}, remade=wrong_hash("animal.py,sha256="))
        assert outcome(again) == "pass"

    @WHERE_IT_CAN_WRITE_TOO
    def test_bytecode_that_an_import_leaves_beside_a_source_is_never_loaded(
        self, lair: Lair
    ) -> None:
        lies = """
import importlib.util, marshal, sys
sys.path += [name.replace("/venv/", "/runner/venv/") for name in sys.path]
import _pytest.python
ALIVE = True
source = _pytest.python.__file__
text = open(source).read().replace("self.ihook.pytest_pyfunc_call(pyfuncitem=self)", "pass", 1)
code = marshal.dumps(compile(text, source, "exec"))
try:
    with open(importlib.util.cache_from_source(source), "wb") as file:
        file.write(importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + code)
except OSError as error:
    print("could not write:", error)
"""
        # Where no cell has been: the import finds no bytecode of ours to write over.
        fresh = Lair(lair.folder / "fresh", lair.level, lair.tools)
        evidence = fresh.run({"animal.py": lies}, {"test_a.py": RED})
        red = "test-fail:assertion(test_a.py::test_red"
        # Between the steps it gets bytecode of ours there, so that it has something to write over.
        again = "test-fail:environment-mismatch(wrote to _pytest/__pycache__/python."
        assert outcome(evidence).startswith(red if lair.is_sealed else again)
        assert [trial.status for trial in evidence.tests] == ["failed"]


# Runs once pytest has said its last word in the test's own process.
APPENDS = """
import atexit, json, os
ALIVE = True
def lie():
    with open(os.environ["COMPAT_EVENTS"], "a") as file:
        test = {"event": "end", "test": "test_a.py::test_red", "status": "passed", "seconds": \
0.1, "capability": ""}
        for event in (test, {"event": "finish", "exitstatus": 0}):
            file.write(json.dumps(event) + "\\n")
if "COMPAT_EVENTS" in os.environ:
    atexit.register(lie)
"""
FORGES_TWICE = """
import json, os
ALIVE = True
if "COMPAT_EVENTS" in os.environ:
    with open(os.environ["COMPAT_EVENTS"], "a") as file:
        for event in ({"event": "collected", "count": 1}, {"event": "start", "test": \
"test_a.py::test_red"}):
            file.write(json.dumps(event) + "\\n")
"""
# All that is forged agrees, but the exit code is another.
FORGES_ALL = """
import json, os
ALIVE = True
if "COMPAT_EVENTS" in os.environ:
    end = {"event": "end", "test": "test_a.py::test_green", "status": "passed", "seconds": 0.1, \
"capability": ""}
    events = [{"event": "collected", "count": 1}, {"event": "start", "test": \
"test_a.py::test_green"}, end]
    with open(os.environ["COMPAT_EVENTS"], "a") as file:
        for event in (*events, {"event": "finish", "exitstatus": 0}):
            file.write(json.dumps(event) + "\\n")
    os._exit(1)
"""
ADDS_OPTIONS = "import os; os.environ.update(PYTEST_ADDOPTS='-k green', PYTEST_PLUGINS='animal')\n"
REWRITES_SUITE = (
    "import os, pathlib; p = pathlib.Path(os.environ.get('HOME', '')).parent / 'suite' /"
    " 'test_a.py'; p.exists() and p.write_text('def test_red():\\n    pass\\n')\n"
)
DROPS_A_TEST = """
ALIVE = True
try:
    # Only the suite's step has pytest; there it comes before the tests are collected.
    from _pytest.python import PyCollector
    whole = PyCollector.collect
    PyCollector.collect = lambda self: [test for test in whole(self) if "red" not in test.name]
except ImportError:
    pass
"""
EXITS = "import atexit, os\nALIVE = True\natexit.register(lambda: os._exit({code}))\n"


@pytest.mark.slow
class TestItsOwnGreen:
    """What a cell's own code says of it has to agree with all that can be seen from outside."""

    @AT_THE_HIGHEST
    def test_events_after_the_end_are_no_report(self, lair: Lair) -> None:
        evidence = lair.run({"animal.py": APPENDS}, {"test_a.py": RED})
        assert outcome(evidence) == "test-fail:report-mismatch(more came after the end)"

    @AT_THE_HIGHEST
    def test_two_reports_in_one_are_none(self, lair: Lair) -> None:
        evidence = lair.run({"animal.py": FORGES_TWICE}, {"test_a.py": RED})
        assert outcome(evidence).startswith("test-fail:")
        assert evidence.report_fault

    @AT_THE_HIGHEST
    def test_a_whole_report_with_another_exit_code_is_none(self, lair: Lair) -> None:
        evidence = lair.run({"animal.py": FORGES_ALL}, {"test_a.py": GREEN})
        expected = "test-fail:report-mismatch(pytest says exit code 0 but exits with 1)"
        assert outcome(evidence) == expected

    @AT_THE_HIGHEST
    def test_options_from_a_start_up_file_choose_no_tests(self, lair: Lair) -> None:
        evidence = lair.run({"zz.pth": ADDS_OPTIONS}, {"test_a.py": RED + GREEN})
        assert outcome(evidence).startswith("test-fail:assertion(test_a.py::test_red")
        assert evidence.startup == ("lair1: zz.pth",)

    @WHERE_IT_CAN_WRITE_TOO
    def test_a_start_up_file_cannot_rewrite_the_suite_unseen(self, lair: Lair) -> None:
        evidence = lair.run({"zz.pth": REWRITES_SUITE}, {"test_a.py": RED})
        seen = ("import-fail:", "test-fail:")
        assert outcome(evidence).startswith(seen), outcome(evidence)
        if not lair.is_sealed:
            assert "environment-mismatch(wrote to suite/test_a.py)" in outcome(evidence)

    @AT_THE_HIGHEST
    def test_a_test_that_is_left_out_is_missed(self, lair: Lair) -> None:
        evidence = lair.run({"animal.py": DROPS_A_TEST}, {"test_a.py": RED + GREEN})
        assert (
            outcome(evidence) == "test-fail:report-mismatch(test_a.py::test_red was not collected)"
        )

    @AT_THE_HIGHEST
    @pytest.mark.parametrize("code", [0, 3])
    def test_a_probe_says_what_its_exit_code_says(self, lair: Lair, code: int) -> None:
        evidence = lair.run({"animal.py": EXITS.format(code=code)}, {})
        if code == 0:
            assert evidence.import_seconds is not None
        else:
            assert (
                outcome(evidence)
                == "import-fail:report-mismatch(the probe says that the import worked but exits"
                " with 3)"
            )


MAKES_LINKS = """
import os
ALIVE = True
home = os.environ["HOME"]
if "COMPAT_EVENTS" in os.environ:
    os.remove(os.environ["COMPAT_EVENTS"])
    os.symlink("{target}", os.environ["COMPAT_EVENTS"])
"""
MAKES_A_FIFO = """
import os
os.mkfifo(os.path.join(os.environ["HOME"], "import.json"))
os._exit(0)
"""
MOVES_ITS_HOME = """
import os, shutil
home = os.environ["HOME"]
try:
    os.rename(home, home + ".old")
    os.symlink("{folder}", home)
except OSError as error:
    print("could not move:", error)
os._exit(0)
"""


class TestTheSupervisor:
    """It reads nothing for a cell that the cell could not read, and waits for nothing that a cell
    makes.
    """

    def test_events_that_are_a_link_are_not_followed(self, lair: Lair) -> None:
        secret = lair.folder / "secret"
        secret.write_text("a secret\n", encoding="utf-8")
        lies = MAKES_LINKS.format(target=secret)
        evidence = lair.run({"animal.py": lies}, {"test_a.py": GREEN})
        assert not outcome(evidence).startswith("pass")
        kept = [path for path in lair.folder.rglob("events.jsonl") if path.is_file()]
        assert not any("a secret" in path.read_text() for path in kept)

    def test_events_without_an_end_are_not_copied(self, lair: Lair) -> None:
        evidence = lair.run(
            {"animal.py": MAKES_LINKS.format(target="/dev/zero")}, {"test_a.py": GREEN}
        )
        assert not outcome(evidence).startswith("pass")

    def test_a_pipe_in_place_of_the_probes_file_is_not_waited_for(self, lair: Lair) -> None:
        assert (
            outcome(lair.run({"animal.py": MAKES_A_FIFO}, {"test_a.py": GREEN}))
            == "import-fail:premature-exit"
        )

    def test_a_home_that_is_a_link_is_not_entered(self, lair: Lair) -> None:
        elsewhere = lair.folder / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "import.json").write_text('{"seconds": 0.1, "raised": null}', encoding="utf-8")
        lies = MOVES_ITS_HOME.format(folder=elsewhere)
        assert outcome(lair.run({"animal.py": lies}, {"test_a.py": GREEN})).startswith(
            "import-fail:"
        )
        assert (elsewhere / "import.json").exists()


class TestWhatRunsAtTheStart:
    """It is told, whatever its form."""

    @pytest.mark.parametrize(
        ("name", "files"),
        [
            ("sitecustomize.py", {}),
            ("sitecustomize/__init__.py", {}),
            ("sitecustomize/__init__.cpython-311-x86_64-linux-gnu.so", {}),
            ("sitecustomize.cpython-312-x86_64-linux-gnu.so", {}),
            ("sitecustomize.abi3.so", {}),
            ("sitecustomize.pyc", {}),
            ("usercustomize/__init__.py", {}),
            ("deep/sitecustomize.py", {"a.pth": "deep\n"}),
            ("a.pth", {"a.pth": "# \u2028import os\n"}),
            ("a.pth", {"a.pth": "\ufeffimport os\n"}),
        ],
    )
    def test_a_file_is_told(self, tmp_path: Path, name: str, files: dict[str, str]) -> None:
        assert environment(tmp_path, {name: "", **files}).startup() == (f"it: {name}",)

    @pytest.mark.parametrize(
        "name", ["deep/sitecustomize.py", "sitecustomize.txt", "sitecustomize/more.py", "a.pth"]
    )
    def test_what_does_not_run_is_not_told(self, tmp_path: Path, name: str) -> None:
        assert environment(tmp_path, {name: "shallow\n"}).startup() == ()

    @pytest.mark.parametrize("form", ["dist", "egg"])
    def test_a_plugin_of_pytest_is_told(self, tmp_path: Path, form: str) -> None:
        files = {f"it-1.0.{form}-info/entry_points.txt": "[[pytest11]]\nsly = it\n[x]\ny = z\n"}
        assert environment(tmp_path, files).plugins() == ("it: sly",)

    def test_a_record_with_a_digest_of_no_fixed_length_is_one_without(self, tmp_path: Path) -> None:
        held = environment(tmp_path, {"it.py": ""}, "it.py,shake_128=AAAA,0\n")
        assert [item.path for item in held.compare()] == []


def environment(folder: Path, files: dict[str, str], record: str = "") -> Environment:
    """An environment into which the package `it` was installed with these files."""
    site = folder / "site"
    files = {**files, "it-1.0.dist-info/METADATA": "Name: it\nVersion: 1.0\n"}
    rows = "".join(f"{name},,\n" for name in files)
    files["it-1.0.dist-info/RECORD"] = f"{rows}it-1.0.dist-info/RECORD,,\n{record}"
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    held = Environment(folder, "site")
    held.compare()
    return held
