"""Real writers: killed at random moments, and many at once."""

import datetime
import os
import random
import subprocess
import sys
from pathlib import Path

from support.made_records import CELL, NOW, damaged

from compat.results.record import encode_record, record_digest
from compat.results.record_files import RecordFiles

# COMPAT_KILLS=1000 is for the night.
KILLS = int(os.environ.get("COMPAT_KILLS", "100"))
HERE = Path(__file__).parent


def write(*words: object) -> str:
    done = subprocess.run(
        [sys.executable, HERE / "writer.py", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    return done.stdout


def test_a_killed_writer_tears_no_file_and_loses_nothing_that_it_acknowledged(
    tmp_path: Path,
) -> None:
    (tmp_path / "tff").mkdir()
    seed = random.randrange(10**6)
    write("kill", tmp_path, KILLS, seed)
    store = RecordFiles(tmp_path / "tff")
    notes = (tmp_path / "acknowledged").read_text().split()
    acknowledged = [digest for digest in notes if len(digest) == 64]
    assert len(notes) - len(acknowledged) <= KILLS
    kept = {record_digest(encode_record(record)) for record in store.records(CELL)}
    left_over = store.sweep()
    print(
        f"seed {seed}: {KILLS} kills, {len(acknowledged)} acknowledged, {len(kept)} kept,"
        f" {left_over} left over"
    )
    assert damaged(store, NOW + datetime.timedelta(days=1)) == ()
    assert len(acknowledged) > KILLS / 4  # else they were killed before they wrote anything
    assert set(acknowledged) <= kept
    assert len(kept) <= len(acknowledged) + KILLS
    files = [store.folder / name for name, _ in store.states()]
    assert sum(len(path.read_bytes().splitlines()) for path in files) == len(kept)


def test_eight_writers_at_once_lose_nothing_and_keep_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "tff").mkdir()
    new = [int(line) for line in write("crowd", tmp_path, 8, 1000, 200).split()]
    store = RecordFiles(tmp_path / "tff")
    assert len(new) == 8
    assert sum(new) == 1001
    assert len(store.records(CELL)) == 1001
    assert damaged(store, NOW) == ()
    assert sum(len(store.read(store.folder / name).records) for name, _ in store.states()) == 1001
