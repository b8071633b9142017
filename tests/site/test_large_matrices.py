"""What a matrix of many cells needs: long pages are cut in several, long lists end, records are
read once.
"""

import datetime
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product

import pytest
from support.editions import edition, files
from support.known import CELLS, DAY, Shelf, lock_of, proven, ran, statuses
from support.printed import SITE, Addresses, printed, whole

from compat.lock.lockfile import Lock
from compat.results.record import Record
from compat.site.api import axis_documents
from compat.site.api.documents import api, cell_files
from compat.site.edition import Edition
from compat.site.pages import charts_view, grid_view, results_view
from compat.site.pages.cell_view import Neighbours, Place
from compat.site.pages.charts_view import charts
from compat.site.pages.grid_view import grid, grid_parts
from compat.site.pages.render import Printer
from compat.site.paths import api_path, cell_page
from compat.site.publication import edition_files

EVERY = proven(*(cell.id for cell in CELLS))


class Counting(Shelf):
    """A shelf that counts how often all records of a cell are read."""

    def __init__(self, records: Iterable[Record], locks: Iterable[Lock]) -> None:
        """Take all records and locks."""
        super().__init__(records, locks)
        self.read = Counter[str]()

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell."""
        self.read[cell] += 1
        return super().records(cell)

    def newest_records(self, cell: str, lock_digest: str | None = None) -> Iterator[Record]:
        """Yield the records of a cell on a lock, or on any, newest first."""
        ours = reversed(super().records(cell))
        return (one for one in ours if lock_digest in (None, one.lock_digest))


def linked(pages: dict[str, str], path: str) -> set[str]:
    """The pages that are reached from one by the links of a matrix's pages."""
    reached, waiting = {path}, [path]
    while waiting:
        here = waiting.pop()
        for link in Addresses(pages[here]).links:
            parts = [*here.split("/")[:-1], *link.partition("#")[0].split("/")]
            target: list[str] = []
            for part in parts:
                target = target[:-1] if part == ".." else [*target, part]
            there = "/".join([*filter(None, target), "index.html"])
            if there in pages and there not in reached:
                reached.add(there)
                waiting.append(there)
    return reached


class TestGrid:
    def test_every_release_stands_on_one_page_newest_first(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (before,) = edition(EVERY).reports
        in_one = {python: grid(before, python) for python in (*before.board, None)}
        monkeypatch.setattr(grid_view, "_MOST_PLACES", 1)
        (after,) = edition(EVERY).reports
        for python, one in in_one.items():
            parts = grid_parts(after, python)
            shown = [grid(after, python, number) for number in range(len(parts))]
            assert [[row.version for row in part.rows] for part in shown] == [
                [row.version] for row in one.rows
            ]
            assert len(parts) > 1
            assert sum(count for part in shown for _, count in part.legend) == sum(
                count for _, count in one.legend
            )
            assert [is_here for *_, is_here in shown[1].parts] == [
                n == 1 for n in range(len(parts))
            ]

    def test_the_pages_lead_to_each_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(grid_view, "_MOST_PLACES", 1)
        pages = printed(edition(EVERY))
        more = {path for path in pages if path.startswith("demo/grid/") and path.count("/") == 4}
        assert more
        assert more <= linked(pages, "demo/grid/all/index.html")

    def test_one_page_says_nothing_of_pages(self) -> None:
        pages = printed(edition(EVERY))
        assert 'aria-label="Releases"' not in pages["demo/grid/all/index.html"]


class TestHistory:
    def test_what_is_not_of_the_newest_days_stands_on_the_page_of_its_month(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(results_view, "_MOST_DAYS", 1)
        ago = (0, 40, 41, 80)
        locks = [lock_of(cell.id) for cell in CELLS[: len(ago)]]
        runs = [ran(lock, days_ago=days) for lock, days in zip(locks, ago, strict=True)]
        pages = printed(edition(Shelf(runs, locks)))
        newest = pages["demo/changes/index.html"]
        months = Counter((DAY - datetime.timedelta(days=days)).isoformat()[:7] for days in ago[1:])
        assert "4 changes so far" in newest
        for lock, days in zip(locks, ago, strict=True):
            month = (DAY - datetime.timedelta(days=days)).isoformat()[:7]
            page = newest if not days else pages[f"demo/changes/{month}/index.html"]
            assert f"cell/{lock.inputs.cell}/" in page
        assert {path for path in pages if path.startswith("demo/changes/2")} == {
            f"demo/changes/{month}/index.html" for month in months
        }
        for month, number in months.items():
            told = " ".join(Addresses(pages[f"demo/changes/{month}/index.html"]).words)
            assert f"{number} change{'s' if number > 1 else ''} in" in told
            assert f"demo/changes/{month}/index.html" in linked(pages, "demo/changes/index.html")


class TestCharts:
    def test_the_newest_releases_are_drawn_and_the_page_says_how_many_are_not(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(charts_view, "_MOST_BARS", 1)
        monkeypatch.setattr(charts_view, "_MOST_SIGNS", 1)
        shelf = Shelf(
            [ran(lock, capabilities=statuses(sum="yes")) for lock in EVERY.locks.values()],
            EVERY.locks.values(),
        )
        of = edition(shelf)
        (report,) = of.reports
        newest = str(max(column.version for column in report.columns))
        drawn = charts(report)
        assert drawn.left_out == len(report.columns) - 1 > 0
        for one in drawn.charts:
            assert {row[0] for row in one.table.rows} == {newest}
        said = " ".join(Addresses(printed(of)["demo/charts/index.html"]).words)
        assert f"{drawn.left_out} older one" in said


class TestCapabilities:
    def test_a_long_list_begins_with_what_does_not_work_and_counts_the_rest(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(axis_documents, "MOST_CELLS", 3)
        locks = [lock_of(cell.id) for cell in CELLS]
        worse = {locks[1].inputs.cell: "no", locks[-1].inputs.cell: "absent"}
        shelf = Shelf(
            [
                ran(
                    lock,
                    "test-fail:assertion(sum)" if worse.get(lock.inputs.cell) == "no" else "pass",
                    capabilities=statuses(sum=worse.get(lock.inputs.cell, "yes")),
                )
                for lock in locks
            ],
            locks,
        )
        found = json.loads(
            files(edition(shelf), cell_files, api)[api_path("demo", "capabilities", "sum")]
        )
        order = [entry.cell.id for entry in shelf.picture().known]
        cells = [row["cell"] for row in found["cells"]]
        assert set(worse) < set(cells)
        assert cells == sorted(cells, key=order.index)
        assert found["left_out"] == len(locks) - 3
        assert found["counts"]["yes"] == len(locks) - 2


class TestNeighbours:
    def test_the_nearest_comes_first_and_of_equally_near_ones_the_first_axis(self) -> None:
        (report,) = edition(EVERY).reports
        neighbours = Neighbours(report)
        lengths = [len(numbers) for numbers in neighbours._numbers]
        for place in product(*map(range, lengths)):
            moves = sorted(
                (abs(to - place[axis]), axis, to)
                for axis, length in enumerate(lengths)
                for to in range(length)
                if to != place[axis]
            )
            expected = [(*place[:axis], to, *place[axis + 1 :]) for _, axis, to in moves]
            assert [*neighbours._along_axes(place)] == expected

    def test_nothing_is_looked_at_beyond_the_nearest_that_works(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked_at: list[Place] = []
        along_axes = Neighbours._along_axes

        def noted(neighbours: Neighbours, place: Place) -> Iterator[Place]:
            for other in along_axes(neighbours, place):
                looked_at.append(other)
                yield other

        monkeypatch.setattr(Neighbours, "_along_axes", noted)
        locks = [lock_of(cell.id) for cell in CELLS if cell.recipe == "fresh"]
        outcomes = ["import-fail:abort", *["pass"] * (len(locks) - 1)]
        shelf = Shelf(
            [ran(lock, outcome) for lock, outcome in zip(locks, outcomes, strict=True)], locks
        )
        neighbours = Neighbours(edition(shelf).reports[0])
        (failing,) = (e for e in shelf.picture().known if e.kind == "broken")
        nearest = neighbours.greener(failing)
        assert nearest is not None
        assert nearest.kind == "works"
        assert looked_at[-1] == neighbours._place(nearest.cell)


class TestRecords:
    def test_the_document_of_a_cell_follows_its_page_and_its_records_are_read_once(self) -> None:
        locks = [lock_of(cell.id) for cell in CELLS[:6]]
        shelf = Counting(
            [ran(lock, "import-fail:abort" if n % 2 else "pass") for n, lock in enumerate(locks)],
            locks,
        )
        of = edition(shelf)
        paths = []
        for one in edition_files(of, Printer(of, SITE)):
            if one.path.startswith("demo/cell/"):
                shelf.read.clear()
            paths.append(one.path)
            if one.path.startswith("api/v1/demo/cells/") and one.path.count("/") == 4:
                assert [*shelf.read.values()] in ([], [1])
        for entry in shelf.picture().known:
            place = paths.index(cell_page(entry.cell))
            assert paths[place + 1] == api_path("demo", "cells", entry.cell.id)
        assert len(paths) == len(set(paths))

    def test_the_site_is_the_same_in_whatever_order_it_is_made(self) -> None:
        of: Edition = edition(EVERY)
        one = {file.path for file in edition_files(of, Printer(of, SITE))}
        assert whole(edition(EVERY)).keys() <= one
