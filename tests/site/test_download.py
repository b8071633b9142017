"""The database, the sitemap and the card: what else can be fetched."""

import sqlite3
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given
from msgspec.structs import replace
from packaging.utils import parse_wheel_filename
from packaging.version import Version
from support.editions import URL, edition, files
from support.examples import examples
from support.known import Shelf, lock_of, proven, ran, shelves, statuses
from support.memory_source import MemorySource
from support.printed import SITE

from compat.index.release import Artifact, Package, Release
from compat.lock.lockfile import decode_lock
from compat.run.evidence import Metric
from compat.site import publication
from compat.site.edition import SiteFile, fitted, store_wheels, stored_wheels
from compat.site.edition import lock_site_files as installs
from compat.site.exports import downloads
from compat.site.pictures import card_lines
from compat.site.publication import is_page, sitemap
from compat.site.render import Printer

NEW, OLD = "py3.9-dep2-demo2.0", "py3.8-dep1-demo1.0"
RUN = ran(
    lock_of(NEW),
    "test-fail:assertion(mean)",
    capabilities=statuses(sum="yes", mean="no"),
    metrics=(Metric(name="import_seconds", value=1.5, unit="s", better="lower"),),
)
SHELF = Shelf([RUN, ran(lock_of(OLD))], [lock_of(NEW), lock_of(OLD)])


def opened(shelf: Shelf, folder: Path) -> sqlite3.Connection:
    path = folder / "demo.sqlite"
    path.write_bytes(files(edition(shelf), downloads)["download/demo.sqlite"])
    return sqlite3.connect(path)


def test_the_queries_that_come_with_it_answer(tmp_path: Path) -> None:
    text = files(edition(SHELF), downloads)["download/demo.sql"].decode()
    asked = "\n".join(line for line in text.splitlines() if not line.startswith((".", "--"))).split(
        ";"
    )
    with closing(opened(SHELF, tmp_path)) as database:
        works, failing = (database.execute(one).fetchall() for one in asked if one.strip())
    ((*row, versions),) = works
    assert row == [OLD, "works", 1, "2026-11-20"]
    assert set(versions.split(", ")) == {"dep 1", "demo 1.0", "python 3.8"}
    assert failing == [("mean", 1, "test-fail:assertion(mean)")]


def test_it_holds_runs_capabilities_and_metrics(tmp_path: Path) -> None:
    with closing(opened(SHELF, tmp_path)) as database:
        assert database.execute(
            "SELECT cell, outcome, counts, isolation FROM runs ORDER BY cell"
        ).fetchall() == [
            (OLD, "pass", 1, "L3"),
            (NEW, "test-fail:assertion(mean)", 1, "L3"),
        ]
        assert database.execute("SELECT name, value FROM metrics").fetchall() == [
            ("import_seconds", 1.5)
        ]
        assert database.execute("SELECT capability, title FROM suite").fetchall() == [
            ("import", None),
            ("mean", "Means"),
            ("sum", "Sums"),
        ]


def test_each_run_has_the_metrics_that_it_measured(tmp_path: Path) -> None:
    measured = [
        (),
        (Metric(name="import_seconds", value=1.5, unit="s", better="lower"),),
        (
            Metric(name="rate", value=0.1, unit="1/s", better="higher"),
            Metric(name="import_seconds", value=2.0, unit="s", better="lower"),
        ),
    ]
    runs = [
        ran(lock_of(NEW), metrics=metrics, minute=minute) for minute, metrics in enumerate(measured)
    ]
    with closing(opened(Shelf(runs, [lock_of(NEW)]), tmp_path)) as database:
        found = database.execute("SELECT run, name, value, unit, better FROM metrics").fetchall()
    assert sorted(found) == sorted(
        (run, metric.name, metric.value, metric.unit, metric.better)
        for run, metrics in enumerate(measured, 1)
        for metric in metrics
    )


@given(shelf=shelves())
@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_agrees_with_the_picture_and_is_the_same_each_time(shelf: Shelf, tmp_path: Path) -> None:
    made = [files(edition(shelf), downloads)["download/demo.sqlite"] for _ in range(2)]
    assert made[0] == made[1]
    with closing(opened(shelf, tmp_path)) as database:
        found = database.execute("SELECT id, verdict, stale FROM cells ORDER BY id").fetchall()
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    known = shelf.picture().known
    assert found == sorted((one.cell.id, one.kind, int(one.stale)) for one in known)


def places(sitemap_file: SiteFile) -> list[str]:
    found = (element.text for element in ElementTree.fromstring(sitemap_file.content).iter())
    return [place for place in found if place and place.strip()]


def test_the_sitemap_names_every_page() -> None:
    robots, whole = sitemap(edition(Shelf()), ["index.html", "demo/index.html"])
    assert places(whole) == [f"{URL}demo/", URL]
    assert f"Sitemap: {URL}{whole.path}" in robots.content.decode()
    assert robots.path == "robots.txt"


def test_more_pages_than_a_list_may_have_stand_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publication, "MOST", 2)
    pages = [f"demo/{number}/index.html" for number in range(5)]
    _, *lists, index = sitemap(edition(Shelf()), pages)
    assert places(index) == [f"{URL}{one.path}" for one in lists]
    assert [places(one) for one in lists] == [
        [f"{URL}demo/0/", f"{URL}demo/1/"],
        [f"{URL}demo/2/", f"{URL}demo/3/"],
        [f"{URL}demo/4/"],
    ]


def test_what_has_another_address_is_not_in_it() -> None:
    of = edition(SHELF)
    printer = Printer(of, SITE)
    pages = [page.path for page in printer.files() if is_page(page.path)]
    left = set(pages) - set(printer.own)
    assert f"demo/cell/{NEW}/index.html" in printer.own
    assert {"demo/grid/index.html", f"demo/advise/{OLD}/index.html", "404.html"} & set(
        printer.own
    ) == set()
    assert f"demo/advise/{OLD}/index.html" in left


@pytest.mark.parametrize(
    ("shelf", "said"), [(proven(NEW), "demo 2.0"), (Shelf(), "no combination passed yet")]
)
def test_the_card_says_the_answer(shelf: Shelf, said: str) -> None:
    assert said in card_lines(edition(shelf).reports[0])


def test_a_lock_is_published_with_the_files_that_its_python_and_platform_take(
    tmp_path: Path,
) -> None:
    names = {
        "dep-2.0-cp39-cp39-manylinux_2_17_x86_64.whl": "a" * 64,
        "dep-2.0-cp310-cp310-manylinux_2_17_x86_64.whl": "b" * 64,
        "dep-2.0-cp39-cp39-win_amd64.whl": "c" * 64,
        "dep-2.0.tar.gz": "d" * 64,
    }
    artifacts = tuple(
        Artifact(
            filename=name,
            sha256=sha256,
            tags=parse_wheel_filename(name)[3] if name.endswith(".whl") else frozenset(),
        )
        for name, sha256 in names.items()
    )
    release = Release(version=Version("2.0"), artifacts=artifacts)
    asked: list[str] = []

    class Source(MemorySource):
        def package(self, name: str) -> Package:
            asked.append(name)
            return Package(name=name, releases=(release,) if name == "dep" else ())

    plain = lock_of(NEW)
    pins = [replace(p, hashes=tuple(names.values())) if p.name == "dep" else p for p in plain.pins]
    lock = replace(plain, pins=tuple(pins))
    for _ in range(2):
        store_wheels(tmp_path, [lock], Source({}, {}))
    assert asked == ["dep"]
    shelf = Shelf([ran(lock)], [lock])
    of = edition(shelf)
    whole = files(of, installs)[f"lock/demo/{NEW}.txt"].decode()
    of.reports[0].wheels = stored_wheels(tmp_path)
    cut = files(of, installs)[f"lock/demo/{NEW}.txt"].decode()
    assert decode_lock(whole, "whole") == lock
    published = decode_lock(cut, "cut")
    assert [pin.hashes for pin in published.pins if pin.name == "dep"] == [("a" * 64,)]
    assert replace(published, pins=lock.pins) == lock
    assert f"# complete-digest: {lock.digest}\n" in cut
    built = replace(lock, builds=("dep",))
    assert fitted(built, stored_wheels(tmp_path)) == built
