"""What a matrix of many cells needs: long pages are cut in several, long lists end, records are
read once.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from support.editions import edition, files
from support.known import CELLS, Shelf, lock_of, proven, ran, statuses
from support.printed import SITE, Addresses, printed, whole

from compat.lock.lockfile import Lock
from compat.results.record import Record
from compat.site import documents, results
from compat.site.documents import api, cell_files
from compat.site.edition import Edition
from compat.site.paths import api_path, cell_page
from compat.site.publication import edition_files
from compat.site.render import Printer
from compat.site.results import Neighbours, grid, grid_parts

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
        in_one = {python: grid(before, python) for python in before.board}
        monkeypatch.setattr(results, "_MOST_PLACES", 1)
        (after,) = edition(EVERY).reports
        for python, one in in_one.items():
            parts = grid_parts(after, python)
            shown = [grid(after, python, number) for number in range(len(parts))]
            assert [[row.label for row in part.rows] for part in shown] == [
                [row.label] for row in one.rows
            ]
            assert len(parts) > 1

    def test_the_pages_lead_to_each_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(results, "_MOST_PLACES", 1)
        pages = printed(edition(EVERY))
        more = {path for path in pages if path.startswith("demo/grid/") and path.count("/") == 4}
        assert more
        assert more <= linked(pages, "demo/grid/all/index.html")
        releases = pages["demo/grid/all/2/index.html"].partition('aria-label="Releases"')[2]
        links = re.findall("<a [^>]*>", releases.partition("</nav>")[0])
        assert ["aria-current" in link for link in links] == [n == 1 for n in range(len(links))]

    def test_one_page_says_nothing_of_pages(self) -> None:
        pages = printed(edition(EVERY))
        assert 'aria-label="Releases"' not in pages["demo/grid/all/index.html"]


class TestHistory:
    def test_first_results_are_counted_and_changed_verdicts_listed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(results, "_MOST_DAYS", 1)
        one, other = lock_of(CELLS[0].id), lock_of(CELLS[1].id)
        runs = [
            *(ran(lock, days_ago=90) for lock in (one, other)),
            ran(one, "import-fail:abort", days_ago=40),
            ran(other, "import-fail:abort", days_ago=20),
        ]
        page = printed(edition(Shelf(runs, [one, other])))["demo/changes/index.html"]
        told = " ".join(" ".join(Addresses(page).words).split())
        assert "2 verdicts changed so far" in told
        assert "2 first results changed nothing" in told
        assert "1 older change: in the data" in told
        assert f"cell/{other.inputs.cell}/" in page
        assert f"cell/{one.inputs.cell}/" not in page


class TestCapabilities:
    def test_a_long_list_begins_with_what_does_not_work_and_counts_the_rest(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(documents, "MOST_CELLS", 3)
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
        cells = {cell: one["status"] for one in found["results"] for cell in one["cells"]}
        assert worse.items() < cells.items()
        assert found["left_out"] == len(locks) - 3
        assert found["counts"]["yes"] == len(locks) - 2


class TestNeighbours:
    def test_of_cells_that_work_the_nearest_along_one_axis_comes_first(self) -> None:
        locks = [lock_of(cell.id) for cell in CELLS if cell.recipe == "fresh"]
        for failing in locks:
            runs = [ran(lock, "import-fail:abort" if lock is failing else "pass") for lock in locks]
            report = edition(Shelf(runs, locks)).reports[0]
            entry = report.snapshot.by_id[failing.inputs.cell]
            nearest = Neighbours(report).greener(entry)
            assert nearest is not None
            assert nearest.kind == "works"
            axes = [axis.name for axis in report.snapshot.matrix.axes]
            differ = [a for a in axes if nearest.cell.on(a) != entry.cell.on(a)]
            others = [other for other in report.snapshot.known if other is not entry]
            fewest = min(sum(o.cell.on(a) != entry.cell.on(a) for a in axes) for o in others)
            assert len(differ) == fewest

    def test_beside_a_cell_are_the_next_ones_on_each_axis(self) -> None:
        report = edition(EVERY).reports[0]
        known = report.snapshot.known
        for entry in known:
            for axis, pair in Neighbours(report).beside(entry.cell).items():
                alike = sorted(
                    (
                        other
                        for other in known
                        if other.cell.recipe == entry.cell.recipe
                        and all(
                            other.cell.on(a.name) == entry.cell.on(a.name)
                            for a in report.snapshot.matrix.axes
                            if a.name != axis
                        )
                    ),
                    key=lambda other: other.cell.on(axis).version,
                )
                here = alike.index(entry)
                assert pair == (
                    alike[here - 1] if here else None,
                    alike[here + 1] if here + 1 < len(alike) else None,
                )


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
