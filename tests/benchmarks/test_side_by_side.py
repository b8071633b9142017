"""The comparison beside other tools: its table, its verdicts, and the command's words."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import side_by_side
from side_by_side import Cost, Row, agreed, interleaved, table, timed

SCRIPT = Path(side_by_side.__file__)
PAGE = SCRIPT.parent.parent.parent / "docs" / "benchmarks.md"
Answer = tuple[Cost, Mapping[str, bool]]


def test_a_ratio_is_above_one_where_it_takes_longer() -> None:
    rows = [Row("plain", Cost(4, 30), 10), Row("ours", Cost(2, 60), 10)]
    assert table(rows, "plain", "cells").splitlines()[2:] == [
        "| plain | 4.0 | 30.0 | 20.0 | 1.00 | 1.00 |",
        "| ours | 2.0 | 60.0 | 10.0 | 0.50 | 2.00 |",
    ]


def test_verdicts_that_differ_end_it_with_the_cells() -> None:
    assert agreed({"nox": {"a": True, "b": False}, "tox": {"a": True, "b": False}})
    with pytest.raises(SystemExit, match=r"tox says otherwise of b$"):
        agreed({"nox": {"a": True, "b": False}, "tox": {"a": True, "b": True}})
    with pytest.raises(SystemExit, match=r"tox says otherwise of b$"):
        agreed({"nox": {"a": True, "b": False}, "tox": {"a": True}})


def test_the_first_round_is_not_counted_and_each_begins_with_another_way() -> None:
    called: list[str] = []

    def way(name: str) -> Callable[[], Answer]:
        def run() -> Answer:
            called.append(name)
            return Cost(len(called), 100 * len(called)), {"a": True}

        return run

    found = interleaved({"x": way("x"), "y": way("y")}, 2)
    assert called == ["x", "y", "y", "x", "x", "y"]
    assert found == {"x": Cost(4.5, 450), "y": Cost(4.5, 450)}


def test_a_process_that_breaks_ends_it_and_one_that_says_no_does_not(tmp_path: Path) -> None:
    cost, said = timed([sys.executable, "-c", "print('no'); exit(1)"], tmp_path, os.environ)
    assert said == "no\n"
    assert cost.cpu > 0
    with pytest.raises(SystemExit, match="ended with 2: trouble"):
        timed([sys.executable, "-c", "print('trouble'); exit(2)"], tmp_path, os.environ)


def test_a_part_that_does_not_exist_is_named() -> None:
    told = subprocess.run(
        [sys.executable, str(SCRIPT), "cell"], capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert "cell: not a part; these are: cells, locks, growth" in told.stderr


def test_the_page_shows_the_tables_that_are_printed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for base, unit in (("nox + uv", "cells"), ("uv", "locks")):
        assert table([Row(base, Cost(1, 1))], base, unit).splitlines()[0] in page
    figure = r" ([\d.]+) \|"
    tables = [
        re.findall(rf"^\| [^|]+ \|{figure * 5}$", part, re.MULTILINE)
        for part in page.split("| | CPU s | wall s |")[1:]
    ]
    assert all(tables)
    for rows in tables:
        # All ways did as many cells or locks; both figures are rounded to a tenth.
        figures = [(float(wall), float(rate)) for _, wall, rate, *_ in rows]
        assert any(
            all(
                abs(60 * units / wall - rate) <= 0.051 + 0.051 * rate / wall
                for wall, rate in figures
            )
            for units in range(1, 1001)
        )
