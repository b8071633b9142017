"""A process that starts writers of records and kills them at random moments; or several that write
at once.

`writer.py kill FOLDER TIMES SEED`: each writer notes in FOLDER/acknowledged what `add` has returned
for, and prints how many it was. `writer.py crowd FOLDER WRITERS DISTINCT IDENTICAL`: prints how
often `add` said that a record was new.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from support.made_records import ran

from compat.results.record import encode_record, record_digest
from compat.results.record_files import RecordFiles


def kill(folder: Path, times: int, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(times):
        child = os.fork()
        if child == 0:
            _write_for_ever(folder, number)
        # After so many records of its own, not after so much time: a loaded machine gives it none.
        _wait_for_notes(folder / "acknowledged", chance.randrange(4))
        time.sleep(chance.random() * 0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _wait_for_notes(notes: Path, count: int) -> None:
    """Wait until the file is longer by that many lines of a digest."""
    longer = (notes.stat().st_size if notes.exists() else 0) + count * 66
    while count and (not notes.exists() or notes.stat().st_size < longer):
        time.sleep(0.0005)


def _write_for_ever(folder: Path, number: int) -> None:
    store = RecordFiles(folder / "tff")
    notes = os.open(folder / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for second in range(1_000_000):
        record = ran("pass", second=number * 1000 + second % 1000, log=f"{number}.{second} " * 200)
        store.add(record)
        # Two pages of the file take a note in two steps, and a kill between them tears it: so that
        # it spoils no other, each begins a line of its own.
        os.write(notes, f"\n{record_digest(encode_record(record))}\n".encode())


def crowd(folder: Path, writers: int, distinct: int, identical: int) -> None:
    same = ran("pass", day=1)
    records = [ran("pass", second=second // 2, log=str(second)) for second in range(distinct)] + [
        same
    ] * identical
    random.Random(3).shuffle(records)
    children = []
    for writer in range(writers):
        child = os.fork()
        if child == 0:
            store = RecordFiles(folder / "tff")
            new = sum([store.add(record) for record in records[writer::writers]])
            os.write(1, f"{new}\n".encode())
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    {"kill": kill, "crowd": crowd}[sys.argv[1]](Path(sys.argv[2]), *map(int, sys.argv[3:]))
