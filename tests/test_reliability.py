"""The table of compat's own checks names tests that exist, one line for each of the 34 faults."""

import re
from pathlib import Path

from support.corpus import each

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "checks.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| \d+ \|", line)
]


def test_there_is_a_line_for_each_of_the_checks() -> None:
    assert [int(row[0]) for row in ROWS] == list(range(1, 35))
    assert {row[3] for row in ROWS} <= {"holds", "in part", "not tested"}


def test_the_page_counts_its_lines_right() -> None:
    scores = [row[3] for row in ROWS]
    counted = re.search(
        r"holds in (\d+) of them, in part in (\d+), and (\d+) is", PAGE.read_text(encoding="utf-8")
    )
    assert counted is not None
    assert tuple(map(int, counted.groups())) == tuple(
        map(scores.count, ("holds", "in part", "not tested"))
    )


@each("row", ROWS, ids=lambda row: row[0])
def test_each_test_that_a_line_names_exists(row: list[str]) -> None:
    named = re.findall(r"`([^`]+)`", row[5])
    assert bool(named) is (row[3] != "not tested")
    for name in named:
        path, _, function = name.partition("::")
        assert (ROOT / path).is_file(), name
        assert not function or f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), name
