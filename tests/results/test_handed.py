"""Records that other machines made: the sound ones are taken, whatever else lies there is named and
left.
"""

import contextlib
import datetime
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from packaging.version import Version
from support.made_records import (
    CELL,
    NOW,
    OTHER_LOCK,
    OTHER_SUITE,
    SUITE,
    capabilities,
    cells_in,
    damaged,
    ran,
    raw_of,
    signed,
)
from support.made_records import START as BEGAN

from compat.declare.capabilities import SuiteIds, expected_ids, suite_ids
from compat.errors import Fault
from compat.lock.lockfile import Inputs, Lock, Pin
from compat.results import record_files as gate
from compat.results.record import MOST_BYTES, Capability, Record, encode_line, encode_record
from compat.results.record_files import Checkout, RecordFiles, handed
from compat.run.evidence import Installed, Isolation

LOCKED = Lock(
    inputs=Inputs(cell=CELL, python=Version("3.11.7"), platform="", requirements=()), tool="uv",
    pins=(Pin(name="tff", version=Version("0.87"), hashes=("a" * 64,)),),
)  # fmt: skip
LOCK = LOCKED.digest
SUITE_TEXT = """
@pytest.mark.capability("sum")
def test_sum(): ...

def test_mean(): ...
"""
HERE = Checkout(
    matrix="tff",
    cells=frozenset([CELL, "py3.9-a"]),
    locks={CELL: LOCKED},
    suite_digest=SUITE,
    moment=NOW,
    suite_ids=suite_ids({"test_sums.py": SUITE_TEXT}),
    since=NOW - gate.OLDEST,
)
URL = "https://github.com/someone/compat/actions/runs/7"
ASKED = msgspec.structs.replace(
    HERE,
    shards={CELL: "records-1", "py3.9-a": "records-2"},
    since=NOW - datetime.timedelta(hours=13),
    run_url=URL,
)
RED = "test-fail:assertion(sum)"
TODAY = (NOW - BEGAN).days - 1


def put(folder: Path, record: Record, text: str = "") -> Path:
    """Lay a record down as a shard hands it over."""
    path = folder / "records-1" / f"{record.started:%Y-%m-%d}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(line_of(text) if text else encode_line(record))
    return path


def line_of(text: str) -> bytes:
    """The line of a record's text, spoilt or not."""
    with contextlib.suppress(ValueError, RecursionError):
        text = msgspec.json.format(text, indent=-1)
    return text.encode() + b"\n"


def look(folder: Path, here: Checkout = HERE) -> dict[str, Record | Fault]:
    return dict(handed(folder, here))


def complaint(folder: Path, here: Checkout = HERE) -> str:
    (found,) = [one for one in look(folder, here).values() if isinstance(one, Fault)]
    return found.line()


def sound(day: int = TODAY, told: str = "pass", **more: object) -> Record:
    """A record such as a run of the lock and the suite leaves."""
    usual = {"lock": LOCK, "capabilities": capabilities(sum="yes"), "installed": (PINNED,)}
    return ran(told, **{"day": day, **usual, **more})  # type: ignore[arg-type]


PINNED = Installed(name="tff", version="0.87")


def test_a_sound_record_is_taken_however_deep_the_artifact_lays_it(tmp_path: Path) -> None:
    put(tmp_path / "further" / "down", sound())
    assert list(map(type, look(tmp_path).values())) == [Record]


@pytest.mark.parametrize("suite", [SUITE, ""])
def test_a_refusal_of_a_cell_that_has_no_lock_is_taken(suite: str, tmp_path: Path) -> None:
    put(tmp_path, ran("lock-fail:conflict(numpy)", day=TODAY, cell="py3.9-a", lock="", suite=suite))
    assert list(map(type, look(tmp_path).values())) == [Record]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (sound(cell="py9.9-none"), "is not a cell of the matrix"),
        (sound(matrix="other"), "is a record of other"),
        (sound(lock=OTHER_LOCK), "is of another lock"),
        (sound(lock=""), "is of another lock"),
        (sound(cell="py3.9-a"), "is of a lock, but the cell has none here"),
        (sound(suite=OTHER_SUITE), "is of another suite"),
        (sound(suite=""), "is of another suite"),
        (sound(day=TODAY + 3), "started in the future"),
        (sound(day=TODAY - 8), "before 2026-11-14T22:40:12+00:00"),
    ],
)
def test_a_sound_record_of_something_else_is_refused(
    record: Record, why: str, tmp_path: Path
) -> None:
    put(tmp_path, record)
    assert why in complaint(tmp_path)


def test_an_attempt_with_another_date_than_its_run_does_not_get_by(tmp_path: Path) -> None:
    record = sound()
    old = msgspec.structs.replace(record.attempts[0], started=BEGAN)
    put(tmp_path, msgspec.structs.replace(record, attempts=(old,)))
    assert "started at 2026-11-01T12:00:00+00:00, before" in complaint(tmp_path)


class TestAForgedRecord:
    """What a shard whose cell broke out could write, in the form of a sound record."""

    def asked(self, **more: object) -> Record:
        return sound(**{"day": TODAY + 1, "second": -60, "run_url": URL, **more})

    def test_what_the_plan_asked_for_is_taken(self, tmp_path: Path) -> None:
        put(tmp_path, self.asked())
        assert list(map(type, look(tmp_path, ASKED).values())) == [Record]

    def test_of_a_cell_that_no_shard_was_given_is_refused(self, tmp_path: Path) -> None:
        put(tmp_path, self.asked())
        assert "gives to no shard" in complaint(tmp_path, msgspec.structs.replace(ASKED, shards={}))

    def test_of_a_cell_that_another_shard_was_given_is_refused(self, tmp_path: Path) -> None:
        path = put(tmp_path, self.asked())
        path.parent.rename(tmp_path / "records-2")
        assert "records-1/" in complaint(tmp_path, ASKED)

    def test_beside_the_shard_s_own_of_that_cell_spoils_that_and_no_other_shard_s(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, self.asked())
        path = put(tmp_path, self.asked(second=-50))
        assert "one of 2 records" in complaint(tmp_path, ASKED)
        own, other = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(own)
        (tmp_path / "records-2").mkdir()
        (tmp_path / "records-2" / path.name).write_bytes(other)
        assert [type(each) for each in look(tmp_path, ASKED).values()] == [Record, Fault]

    def test_thousands_of_a_cell_are_refused_in_one_line_and_none_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = put(tmp_path, self.asked())
        path.write_text(f'{{"cell":"{CELL}"}}\n' * 3000, encoding="utf-8")
        monkeypatch.setattr(gate, "decode_line", lambda *_: pytest.fail("a record was read"))
        for here in (HERE, ASKED):
            assert f"one of 3,000 records of {CELL}," in complaint(tmp_path, here)

    @pytest.mark.parametrize(("planned", "other"), [("full", "smoke"), ("smoke", "full")])
    def test_of_another_tier_than_was_planned_is_refused(
        self, planned: str, other: str, tmp_path: Path
    ) -> None:
        here = msgspec.structs.replace(ASKED, tiers={CELL: planned})
        for tier, folder in ((planned, tmp_path / "one"), (other, tmp_path / "other")):
            put(folder, msgspec.structs.replace(self.asked(), tier=tier))
        assert list(map(type, look(tmp_path / "one", here).values())) == [Record]
        told = complaint(tmp_path / "other", here)
        assert f"tier {other}, and the plan asks for tier {planned}" in told

    def test_that_is_a_refusal_is_of_no_tier(self, tmp_path: Path) -> None:
        here = msgspec.structs.replace(
            ASKED, tiers={"py3.9-a": "smoke"}, shards={"py3.9-a": "records-1"}
        )
        started = self.asked().started
        told = ran("lock-fail:conflict(numpy)", day=TODAY, cell="py3.9-a", lock="")
        put(tmp_path, msgspec.structs.replace(told, run_url=URL, started=started, attempts=()))
        assert list(map(type, look(tmp_path, here).values())) == [Record]

    def test_that_started_before_the_plan_was_made_is_refused(self, tmp_path: Path) -> None:
        put(tmp_path, self.asked(second=-10_000))
        assert "before 2026-11-21T09:40:12+00:00" in complaint(tmp_path, ASKED)

    @pytest.mark.parametrize(
        "url", ["", "https://example.org/", URL + "1", URL.replace("someone", "somebody")]
    )
    def test_of_another_run_is_refused(self, url: str, tmp_path: Path) -> None:
        put(tmp_path, self.asked(run_url=url))
        assert f"made it, but {URL} was asked" in complaint(tmp_path, ASKED)

    def test_that_names_a_run_where_none_was_asked_is_refused(self, tmp_path: Path) -> None:
        put(tmp_path, sound(run_url=URL))
        assert f"says that {URL} made it, but no run on GitHub was asked" in complaint(tmp_path)

    @pytest.mark.parametrize(
        "installed",
        [
            (),
            (Installed(name="tff", version="0.86"),),
            (PINNED, Installed(name="os-helper", version="1")),
        ],
    )
    @pytest.mark.parametrize(
        "told", ["pass", "import-fail:missing-module(jax)", "test-fail:wall-time"]
    )
    def test_with_other_packages_than_the_lock_pins_is_refused(
        self, installed: tuple[Installed, ...], told: str, tmp_path: Path
    ) -> None:
        put(tmp_path, sound(told=told, installed=installed))
        assert "than the lock pins" in complaint(tmp_path)

    def test_of_an_install_that_failed_may_have_none(self, tmp_path: Path) -> None:
        put(tmp_path, sound(told="install-fail:network", installed=(), capabilities=()))
        assert list(map(type, look(tmp_path).values())) == [Record]

    def test_of_a_run_without_an_attempt_is_refused(self, tmp_path: Path) -> None:
        put(tmp_path, msgspec.structs.replace(sound(), attempts=()))
        assert "lists no attempt" in complaint(tmp_path)

    def test_whose_attempts_say_something_else_is_refused(self, tmp_path: Path) -> None:
        # Whoever forges one knows how its digest is made.
        for number, (change, why) in enumerate(
            [
                ({"isolation": "L0"}, "attempts ran at L0"),
                ({"outcome": RED}, "do not result in pass"),
            ]
        ):
            raw = raw_of(sound())
            raw["attempts"] = [*raw["attempts"], {**raw["attempts"][0], **change}]
            put(tmp_path / str(number), sound(), signed(raw))
            assert why in complaint(tmp_path / str(number))

    @pytest.mark.parametrize(("asked", "is_taken"), [("L3", False), ("L1", True), (None, True)])
    def test_of_another_level_than_was_asked_for_is_refused(
        self, asked: Isolation | None, is_taken: bool, tmp_path: Path
    ) -> None:
        attempts = [msgspec.structs.replace(each, isolation="L1") for each in sound().attempts]
        put(tmp_path, msgspec.structs.replace(sound(), isolation="L1", attempts=tuple(attempts)))
        [found] = look(tmp_path, msgspec.structs.replace(HERE, isolation=asked)).values()
        assert isinstance(found, Record) is is_taken

    def test_that_passed_and_says_nothing_of_what_the_suite_asks_is_refused(
        self, tmp_path: Path
    ) -> None:
        owed = expected_ids({"test_sums.py": SUITE_TEXT.replace("@", "import pytest\n@")})
        assert owed == {"sum", "test_sums.py::test_mean"}
        here = msgspec.structs.replace(HERE, owed={"full": owed})
        put(tmp_path, sound())
        assert "says nothing of test_sums.py::test_mean" in complaint(tmp_path, here)
        both = capabilities(**{"sum": "yes", "test_sums.py::test_mean": "absent"})
        put(tmp_path / "whole", sound(capabilities=both))
        assert list(map(type, look(tmp_path / "whole", here).values())) == [Record]

    @pytest.mark.parametrize("statuses", [{}, {"sum": "absent"}])
    def test_that_passed_without_a_capability_is_refused(
        self, statuses: dict[str, str], tmp_path: Path
    ) -> None:
        put(tmp_path, sound(capabilities=capabilities(**statuses)))
        assert "no capability worked" in complaint(tmp_path)

    def test_that_failed_a_test_without_a_failing_capability_is_refused(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, sound(told="test-fail:assertion(sum)"))
        assert "test-fail:assertion(sum), but no capability" in complaint(tmp_path)

    def test_of_a_crash_in_the_first_test_needs_none(self, tmp_path: Path) -> None:
        put(tmp_path, sound(told="test-fail:segfault(sum)", capabilities=()))
        assert list(map(type, look(tmp_path).values())) == [Record]

    @pytest.mark.parametrize(
        ("name", "is_known"),
        [
            ("sum", True),
            ("test_sums.py::test_mean", True),
            ("test_sums.py::TestAll::test_mean[a::b-1]", True),
            ("median", False),
            ("test_sums.py::test_median", False),
            ("test_other.py::test_mean", False),
            ("test_mean", False),
        ],
    )
    def test_with_a_capability_that_the_suite_lacks_is_refused(
        self, name: str, is_known: bool, tmp_path: Path
    ) -> None:
        put(tmp_path, sound(capabilities=(Capability(id=name, status="yes"),)))
        told = [each.message for each in look(tmp_path).values() if isinstance(each, Fault)]
        assert told == (
            [] if is_known else [f"reports the capability {name!r}, which no test of the suite has"]
        )

    def test_has_any_capability_where_only_a_run_can_tell_which_there_are(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, sound(capabilities=capabilities(anything="yes")))
        here = msgspec.structs.replace(HERE, suite_ids=SuiteIds(unreadable="test_sums.py:3"))
        assert list(map(type, look(tmp_path, here).values())) == [Record]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda text: text.replace("12.5", "13.5"), "its digest differs"),
        (lambda text: text[:-20].replace("\n", ""), "JSON is malformed"),
        (lambda text: " " * (MOST_BYTES + 1), "is larger than"),
        (lambda text: signed({**raw_of(sound()), "format": 99}), "has format 99"),
        (lambda text: signed({**raw_of(sound()), "extra": 1}), "extra"),
        (lambda text: "[" * 100_000, "nested too deep"),
    ],
)
def test_a_damaged_or_forged_text_is_refused(
    spoil: Callable[[str], str], why: str, tmp_path: Path
) -> None:
    record = sound()
    put(tmp_path, record, spoil(encode_record(record)))
    assert why in complaint(tmp_path)


def test_whatever_is_no_record_is_named_and_left(tmp_path: Path) -> None:
    (tmp_path / "cell").mkdir()
    (tmp_path / "cell" / "run.sh").write_text("true", encoding="utf-8")
    (tmp_path / ".hidden").write_text("", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / os.fsdecode(b"\xff\x1b[31m.json")).write_text("{}", encoding="utf-8")
    (tmp_path / "a/b/c/d/e/f/g").mkdir(parents=True)
    found = look(tmp_path)
    assert set(found) == {
        "cell/run.sh",
        ".hidden",
        "pipe.json",
        "\\udcff\x1b[31m.json",
        "a/b/c/d/e/f",
    }
    assert all(isinstance(one, Fault) and one.line().isprintable() for one in found.values())


def test_a_link_is_never_followed(tmp_path: Path) -> None:
    elsewhere = put(tmp_path / "elsewhere", sound())
    shard = tmp_path / "shard"
    shard.mkdir()
    (shard / elsewhere.name).symlink_to(elsewhere)
    (shard / "records").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    found = look(shard)
    assert [one.message for one in found.values() if isinstance(one, Fault)] == [
        "is a symbolic link"
    ] * 2


def test_no_more_lines_are_looked_at_than_a_night_can_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "MOST_LINES", 3)
    for number in range(5):
        put(tmp_path, sound(cell=f"py3.{number}-a"))
    assert len(look(tmp_path)) == 4
    told = [each.line() for each in look(tmp_path).values() if isinstance(each, Fault)]
    assert sum("one record too many" in each for each in told) == 1
    monkeypatch.setattr(gate, "MOST_LINES", 0)
    assert "one record too many" in complaint(tmp_path)


def test_records_that_a_run_did_not_write_are_set_aside(tmp_path: Path) -> None:
    store = RecordFiles(tmp_path / "tff")
    (tmp_path / "tff").mkdir()
    store.add(sound(second=-90))
    watch = gate.StoreWatch(store)
    store.add(watch.own(sound(second=-70)))
    # A cell below L3 writes what it likes.
    foreign = sound(second=-80, cell="py3.9-a")
    store.add(foreign)
    store.add(sound(day=1, cell="py3.9-a"))
    assert watch.set_aside() == ("2026-11-02.jsonl:1", "2026-11-20.jsonl:1")
    aside = store.folder / gate.SET_ASIDE / "2026-11-20.jsonl"
    assert aside.read_bytes() == encode_line(foreign)
    assert (cells_in(store), len(store.records(CELL)), damaged(store, NOW)) == ((CELL,), 2, ())
    assert watch.set_aside() == ()
