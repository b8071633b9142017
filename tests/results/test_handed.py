"""Records that other machines made: the sound ones are taken, whatever else lies there is named and left."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from made_records import CELL, LOCK, NOW, OTHER_LOCK, OTHER_SUITE, SUITE, ran, raw_of, signed
from made_records import START as BEGAN

from compat.errors import Fault
from compat.results import handed as gate
from compat.results.files import names
from compat.results.handed import Checkout, handed
from compat.results.record import MOST_BYTES, Record, digest_of, encode_record

HERE = Checkout(matrix="tff", cells=frozenset([CELL, "py3.9-a"]), locks={CELL: LOCK}, suite_digest=SUITE, moment=NOW)
TODAY = (NOW - BEGAN).days - 1


def put(folder: Path, record: Record, text: str = "", name: str = "") -> Path:
    """Lay a record down as a shard hands it over."""
    text = text or encode_record(record)
    path = folder / "records-1" / record.cell / (name or names(record, digest_of(text))[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def look(folder: Path) -> dict[str, Record | Fault]:
    return dict(handed(folder, HERE))


def complaint(folder: Path) -> str:
    (found,) = [one for one in look(folder).values() if isinstance(one, Fault)]
    return found.line()


def sound(day: int = TODAY, **more: object) -> Record:
    return ran("pass", **{"day": day, **more})  # type: ignore[arg-type]


def test_a_sound_record_is_taken_however_deep_the_artifact_lays_it(tmp_path: Path) -> None:
    put(tmp_path, sound())
    put(tmp_path / "further" / "down", sound(second=1))
    assert set(map(type, look(tmp_path).values())) == {Record}
    assert len(look(tmp_path)) == 2


def test_a_refusal_of_a_cell_that_has_no_lock_is_taken(tmp_path: Path) -> None:
    put(tmp_path, ran("lock-fail:conflict(numpy)", day=TODAY, cell="py3.9-a", lock="", suite=SUITE))
    put(tmp_path, ran("lock-fail:conflict(numpy)", day=TODAY, cell="py3.9-a", lock="", suite="", second=1))
    assert set(map(type, look(tmp_path).values())) == {Record}


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (sound(cell="py9.9-none"), "is no cell of the matrix"),
        (sound(matrix="other"), "is a record of other"),
        (sound(lock=OTHER_LOCK), "is of another lock"),
        (sound(lock=""), "is of another lock"),
        (sound(cell="py3.9-a"), "is of a lock, but the cell has none here"),
        (sound(suite=OTHER_SUITE), "is of another suite"),
        (sound(suite=""), "is of another suite"),
        (sound(day=TODAY + 3), "started in the future"),
        (sound(day=TODAY - 8), "more than 7 days ago"),
    ],
)
def test_a_sound_record_of_something_else_is_refused(record: Record, why: str, tmp_path: Path) -> None:
    put(tmp_path, record)
    assert why in complaint(tmp_path)


def test_an_attempt_with_another_date_than_its_run_does_not_get_by(tmp_path: Path) -> None:
    record = sound()
    old = msgspec.structs.replace(record.attempts[0], started=BEGAN)
    put(tmp_path, msgspec.structs.replace(record, attempts=(old,)))
    assert "more than 7 days ago" in complaint(tmp_path)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda text: text.replace("12.5", "13.5"), "its digest differs"),
        (lambda text: text[:-20], "is not JSON"),
        (lambda text: " " * (MOST_BYTES + 1), "is larger than"),
        (lambda text: signed({**raw_of(sound()), "format": 99}), "has format 99"),
        (lambda text: signed({**raw_of(sound()), "extra": 1}), "extra"),
        (lambda text: "[" * 100_000, "nested too deep"),
    ],
)
def test_a_damaged_or_forged_text_is_refused(spoil: Callable[[str], str], why: str, tmp_path: Path) -> None:
    record = sound()
    text = encode_record(record)
    put(tmp_path, record, spoil(text), names(record, digest_of(text))[0])
    assert why in complaint(tmp_path)


def test_a_record_under_another_name_or_cell_is_refused(tmp_path: Path) -> None:
    put(tmp_path, sound(), name="20261120T000000Z-00000000.json")
    assert "has not the name" in complaint(tmp_path)
    path = put(tmp_path / "b", sound())
    path.parent.rename(path.parent.parent / "py3.9-a")
    assert sum("is a record of tff" in one.line() for one in look(tmp_path).values() if isinstance(one, Fault)) == 1


def test_whatever_is_no_record_is_named_and_left(tmp_path: Path) -> None:
    (tmp_path / "cell").mkdir()
    (tmp_path / "cell" / "run.sh").write_text("true", encoding="utf-8")
    (tmp_path / ".hidden").write_text("", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / os.fsdecode(b"\xff\x1b[31m.json")).write_text("{}", encoding="utf-8")
    (tmp_path / "a/b/c/d/e/f/g").mkdir(parents=True)
    found = look(tmp_path)
    assert set(found) == {"cell/run.sh", ".hidden", "pipe.json", "\\udcff\x1b[31m.json", "a/b/c/d/e/f"}
    assert all(isinstance(one, Fault) and one.line().isprintable() for one in found.values())


def test_a_link_is_never_followed(tmp_path: Path) -> None:
    elsewhere = put(tmp_path / "elsewhere", sound())
    shard = tmp_path / "shard"
    (shard / CELL).mkdir(parents=True)
    (shard / CELL / elsewhere.name).symlink_to(elsewhere)
    (shard / "records").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    found = look(shard)
    assert [one.message for one in found.values() if isinstance(one, Fault)] == ["is a symbolic link"] * 2


def test_no_more_files_are_looked_at_than_a_night_can_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MOST_FILES", 3)
    for second in range(5):
        put(tmp_path, sound(second=second))
    found = list(look(tmp_path).values())
    assert len(found) == 4
    assert "one file too many" in complaint(tmp_path)
