"""`compat check` says which packages stand on two indexes, and which of them counts."""

from collections.abc import Iterator

import pytest
from support.fake_index import FakeIndex, status
from support.local_index import fill
from support.ran import Run


@pytest.fixture
def private(run: Run) -> Iterator[FakeIndex]:
    index = FakeIndex()
    fill(index, {"demo": [("0.9", 1, None, [])], "unrelated": [("1.0", 1, None, [])]})
    yield index
    index.stop()


def test_check_tells_of_a_package_on_two_indexes_and_which_counts(
    run: Run, private: FakeIndex
) -> None:
    ran = run("check", "demo", "--extra-index-url", private.url)
    assert ran.code == 0
    assert "0.9 on extra index" in ran.err
    assert "2.0 on the main" in ran.err


def test_check_asks_no_index_without_an_extra_one(run: Run, demo_index: FakeIndex) -> None:
    ran = run("check", "demo")
    assert (ran.code, ran.err) == (0, "")
    assert demo_index.asked == []


def test_check_goes_on_where_an_index_does_not_answer(run: Run, private: FakeIndex) -> None:
    private.page("demo", status(403))
    ran = run("check", "demo", "--extra-index-url", private.url)
    assert ran.code == 0
    assert "refuses access (403)" in ran.err
