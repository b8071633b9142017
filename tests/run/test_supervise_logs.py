import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.run.disk import Disk, cut_log, open_log


@pytest.fixture
def log(tmp_path: Path) -> Iterator[int]:
    descriptor = open_log(tmp_path / "log")
    yield descriptor
    os.close(descriptor)


def whole(log: int) -> bytes:
    return os.pread(log, 1 << 26, 0)


def test_a_cut_log_keeps_its_head_and_its_tail_and_says_what_is_gone(log: int) -> None:
    os.write(log, b"head" + b"x" * 1000 + b"tail")
    cut_log(log, 100)
    assert len(whole(log)) == 100
    assert whole(log).startswith(b"head")
    assert whole(log).endswith(b"tail")
    assert b"\n... 908 bytes cut ...\n" in whole(log)


def test_a_cut_of_a_large_log_goes_by_pieces(log: int) -> None:
    os.write(log, b"a" * (8 << 20) + b"z" * (8 << 20))
    cut_log(log, 6 << 20)
    line = b"\n... 10485760 bytes cut ...\n"
    head, found, tail = whole(log).partition(line)
    assert found
    assert (set(head), set(tail)) == ({ord("a")}, {ord("z")})
    assert len(head + line + tail) == 6 << 20


@given(text=st.binary(max_size=300), most=st.integers(0, 300))
def test_a_log_is_never_longer_than_it_may_be_and_never_cut_without_need(
    text: bytes, most: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = open_log(tmp_path_factory.mktemp("logs") / "log")
    try:
        os.write(log, text)
        cut_log(log, most)
        assert whole(log) == text if len(text) <= most else len(whole(log)) <= most
    finally:
        os.close(log)


def test_a_walk_that_outlives_its_process_does_not_fail_at_the_closed_log(tmp_path: Path) -> None:
    log = os.open(tmp_path / "log", os.O_CREAT | os.O_WRONLY)
    disk = Disk([tmp_path], 1, log=log)
    os.close(log)
    disk.walked = -1e9  # a walk is due
    assert not disk.is_full()
    assert disk.walk is not None
    disk.walk.join(10)
    assert disk.cost
