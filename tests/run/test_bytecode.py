import base64
import hashlib
import importlib.util
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from compat.run.bytecode import BytecodeStore, sources
from compat.run.installed import Distribution, distributions_in

TAG = str(sys.implementation.cache_tag)
MAGIC = importlib.util.MAGIC_NUMBER
PYTHON = Path(sys.executable)


def digest_of(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip(
        "="
    )


class Cell:
    """A site-packages with one distribution, whose files all have the same time, as a wheel's files
    often have.
    """

    def __init__(self, site: Path, files: dict[str, str]) -> None:
        self.site = site
        self.rows = []
        for name, text in files.items():
            path = site / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            os.utime(path, (1_000_000_000, 1_000_000_000))
            self.rows.append(f"{name},{digest_of(text.encode())},{len(text)}")
        self.record(*self.rows)

    def record(self, *rows: str) -> None:
        folder = self.site / "demo-1.dist-info"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "RECORD").write_text(
            "".join(f"{row}\n" for row in rows), errors="surrogateescape"
        )

    def runs(self, program: str, *flags: str) -> "subprocess.CompletedProcess[str]":
        program = f"import sys; sys.path.insert(0, {str(self.site)!r}); {program}"
        command = [sys.executable, "-S", *flags, "-c", program]
        return subprocess.run(command, env={}, capture_output=True, text=True, check=True)

    @property
    def distributions(self) -> list[Distribution]:
        return list(distributions_in(self.site.parent, self.site.name))

    def lend(self, store: Path, magic: bytes = MAGIC, tag: str = TAG) -> int:
        return BytecodeStore(store, tag, magic).lend(self.site, self.distributions)

    def harvest(self, store: Path, magic: bytes = MAGIC) -> int:
        """Tell the harvest of each module whose bytecode a run has left here."""
        left = (path.relative_to(self.site) for path in self.site.rglob(f"__pycache__/*.{TAG}.pyc"))
        used = {
            (path.parent.parent / f"{path.name.partition('.')[0]}.py").as_posix() for path in left
        }
        return BytecodeStore(store, TAG, magic).harvest(self.site, self.distributions, used, PYTHON)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def first(tmp_path: Path) -> Cell:
    files = {
        "demo/__init__.py": "VALUE = 1\n",
        "demo/more.py": "MORE = 1\n",
        "alone.py": "",
        "demo/data.txt": "x",
    }
    return Cell(tmp_path / "first", files)


def second(tmp_path: Path, **files: str) -> Cell:
    return Cell(tmp_path / "second", {"demo/__init__.py": "VALUE = 1\n", **files})


class TestAHarvest:
    def test_takes_what_a_run_imported_and_nothing_twice(self, first: Cell, store: Path) -> None:
        assert first.harvest(store) == 0
        first.runs("import demo")
        assert first.harvest(store) == 1
        assert first.harvest(store) == 0
        first.runs("import demo.more, alone")
        assert first.harvest(store) == 2

    def test_takes_no_byte_that_the_cell_wrote(
        self, first: Cell, store: Path, tmp_path: Path
    ) -> None:
        cache = first.site / "demo" / "__pycache__"
        cache.mkdir()
        lie = compile("VALUE = 'a lie'", "demo", "exec")
        content = MAGIC + bytes(12) + __import__("marshal").dumps(lie)
        (cache / f"__init__.{TAG}.pyc").write_bytes(content)
        assert first.harvest(store) == 1
        later = second(tmp_path)
        assert later.lend(store) == 1
        assert later.runs("import demo; print(demo.VALUE)").stdout == "1\n"

    def test_takes_no_source_that_is_not_what_was_installed(self, first: Cell, store: Path) -> None:
        first.runs("import demo")
        (first.site / "demo" / "__init__.py").write_text("VALUE = 2\n")
        assert first.harvest(store) == 0

    def test_takes_the_rest_when_a_source_cannot_be_compiled(
        self, tmp_path: Path, store: Path
    ) -> None:
        cell = Cell(
            tmp_path / "cell",
            {"bad.py": "def", "deep.py": "-" * 200_000 + "1", "zgood.py": "X = 1\n"},
        )
        cache = cell.site / "__pycache__"
        cache.mkdir()
        for stem in ("bad", "deep", "zgood"):
            (cache / f"{stem}.{TAG}.pyc").touch()
        assert cell.harvest(store) == 1

    def test_does_not_wait_for_a_pipe_in_the_place_of_a_source(
        self, first: Cell, store: Path
    ) -> None:
        first.runs("import demo")
        (first.site / "demo" / "__init__.py").unlink()
        os.mkfifo(first.site / "demo" / "__init__.py")
        counts: list[int] = []
        waiting = threading.Thread(target=lambda: counts.append(first.harvest(store)), daemon=True)
        waiting.start()
        # Only so that a wait for ever does not hold up the tests.
        waiting.join(60)
        assert counts == [0]

    def test_stores_nothing_for_an_interpreter_of_another_magic_number(
        self, first: Cell, store: Path
    ) -> None:
        first.runs("import demo")
        assert first.harvest(store, magic=b"\0\0\r\n") == 0

    def test_of_an_empty_place_is_nothing(self, tmp_path: Path, store: Path) -> None:
        nowhere, place = BytecodeStore(store, TAG, MAGIC), tmp_path / "nowhere"
        assert list(distributions_in(tmp_path, "nowhere")) == []
        assert nowhere.harvest(place, [], {"a.py"}, PYTHON) == 0
        assert nowhere.lend(place, []) == 0


class TestALoan:
    @pytest.fixture(autouse=True)
    def _stored(self, first: Cell, store: Path) -> None:
        first.runs("import demo, demo.more")
        assert first.harvest(store) == 2

    def test_is_what_the_interpreter_really_loads(self, store: Path, tmp_path: Path) -> None:
        later = second(tmp_path)
        assert later.lend(store) == 1
        done = later.runs("import demo; print(demo.VALUE, demo.__file__)", "-v")
        assert done.stdout == f"1 {later.site}/demo/__init__.py\n"
        assert f"code object from '{later.site}/demo/__pycache__/__init__.{TAG}.pyc'" in done.stderr
        assert "wrote" not in "\n".join(
            line for line in done.stderr.splitlines() if str(later.site) in line
        )

    def test_tells_the_place_of_the_file_that_it_is_used_for(
        self, store: Path, tmp_path: Path
    ) -> None:
        text = "def where():\n    return where.__code__.co_filename\n"
        one, two = (Cell(tmp_path / name, {"module.py": text}) for name in ("one", "two"))
        one.runs("import module")
        one.harvest(store)
        assert two.lend(store) == 1
        assert two.runs("import module; print(module.where())").stdout == f"{two.site}/module.py\n"

    def test_is_never_that_of_another_version_even_of_the_same_size_and_time(
        self, store: Path, tmp_path: Path
    ) -> None:
        later = second(tmp_path, **{"demo/__init__.py": "VALUE = 2\n"})
        assert later.lend(store) == 0
        assert later.runs("import demo; print(demo.VALUE)").stdout == "2\n"
        assert later.harvest(store) == 1
        for value in (1, 2):
            cell = Cell(tmp_path / f"cell{value}", {"demo/__init__.py": f"VALUE = {value}\n"})
            assert cell.lend(store) == 1
            assert cell.runs("import demo; print(demo.VALUE)").stdout == f"{value}\n"

    def test_is_not_given_on_the_word_of_a_record(self, store: Path, tmp_path: Path) -> None:
        later = second(tmp_path)
        (later.site / "demo" / "__init__.py").write_text("VALUE = 2\n")
        assert later.lend(store) == 0

    def test_is_not_given_to_another_interpreter(self, store: Path, tmp_path: Path) -> None:
        assert second(tmp_path).lend(store, magic=b"\0\0\r\n") == 0
        assert second(tmp_path).lend(store, tag="cpython-399") == 0

    def test_is_a_copy_that_the_cell_may_spoil(self, store: Path, tmp_path: Path) -> None:
        later = second(tmp_path)
        later.lend(store)
        with open(later.site / "demo" / "__pycache__" / f"__init__.{TAG}.pyc", "r+b") as file:
            file.write(b"spoiled")
        third = Cell(tmp_path / "third", {"demo/__init__.py": "VALUE = 1\n"})
        assert third.lend(store) == 1
        assert third.runs("import demo; print(demo.VALUE)").stdout == "1\n"

    def test_leaves_what_is_there(self, store: Path, tmp_path: Path) -> None:
        later = second(tmp_path)
        later.lend(store)
        assert later.lend(store) == 0

    def test_of_a_torn_file_is_not_given_and_the_file_is_made_anew(
        self, first: Cell, store: Path, tmp_path: Path
    ) -> None:
        for path in store.rglob("*"):
            if path.is_file():
                os.truncate(path, path.stat().st_size - 5)
        assert second(tmp_path).lend(store) == 0
        assert first.harvest(store) >= 1

    @pytest.mark.parametrize("link", ["demo", "demo/__pycache__"])
    def test_is_not_written_through_a_link(self, store: Path, tmp_path: Path, link: str) -> None:
        outside = tmp_path / "outside"
        later = second(tmp_path)
        if link == "demo":
            (later.site / "demo").rename(outside)
        else:
            outside.mkdir()
        (later.site / link).symlink_to(outside)
        before = sorted(outside.rglob("*"))
        assert later.lend(store) == 0
        assert sorted(outside.rglob("*")) == before

    @pytest.mark.benchmark
    def test_of_many_files_takes_no_longer_than_their_number(
        self, tmp_path: Path, store: Path
    ) -> None:
        few, many = (
            self._seconds(tmp_path / "few", store, 200),
            self._seconds(tmp_path / "many", store, 2000),
        )
        # Ten times the files: quadratic time would take a hundred times as long.
        assert many < 40 * few

    def _seconds(self, folder: Path, store: Path, count: int) -> float:
        folder.mkdir()
        names = [f"package{number % 50}/module{number}.py" for number in range(count)]
        files = {name: f"NUMBER = {number}\n" for number, name in enumerate(names)}
        lender, borrower = Cell(folder / "lender", files), Cell(folder / "borrower", files)
        for name in names:
            cache = (lender.site / name).parent / "__pycache__"
            cache.mkdir(exist_ok=True)
            (cache / f"{Path(name).stem}.{TAG}.pyc").touch()
        lender.harvest(store)
        began = time.monotonic()
        assert borrower.lend(store) == count
        return time.monotonic() - began


def source_of_row(path: str, digest: str) -> tuple[str, str] | None:
    return next(sources([Distribution("demo", "1.0", {path: digest})]), None)


class TestARecord:
    GOOD = digest_of(b"")

    def test_names_modules_below_site_packages(self) -> None:
        found = source_of_row("a/b/c.py", self.GOOD)
        assert found == ("a/b/c.py", hashlib.sha256().hexdigest())
        assert source_of_row("c.py", self.GOOD) is not None

    @pytest.mark.parametrize(
        "path",
        [
            "../a.py",
            "a/../../b.py",
            "/etc/a.py",
            "a//b.py",
            "./a.py",
            "a\\b.py",
            "a\0.py",
            "a\n.py",
            "a.pyc",
            "",
            "/a.py",
        ],
    )
    def test_with_a_hostile_path_names_nothing(self, path: str) -> None:
        assert source_of_row(path, self.GOOD) is None

    @pytest.mark.parametrize(
        "digest",
        [
            "",
            "sha256",
            "sha256=",
            "sha256=AAAA",
            "md5=" + "A" * 22,
            "sha256=" + "é" * 43,
            "sha256=../../../x",
            "sha256=" + "A" * 90,
        ],
    )
    def test_with_a_hostile_digest_names_nothing(self, digest: str) -> None:
        assert source_of_row("a.py", digest) is None

    @pytest.mark.parametrize(
        "text", ["a" * 200_000, '"' * 101, "a.py\0,b\n", "\udcff,\udcfe\n", "x\n,\n,,\n"]
    )
    def test_of_rubbish_is_no_list_of_anything(
        self, tmp_path: Path, store: Path, text: str
    ) -> None:
        cell = Cell(tmp_path / "cell", {})
        cell.record(text)
        assert list(sources(cell.distributions)) == []
        assert (cell.lend(store), cell.harvest(store)) == (0, 0)
