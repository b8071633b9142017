"""The site of the committed records: no page is too heavy, no link broken, and mending it writes
only what changed.
"""

import re
import shutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from support.made_records import cells_in
from support.one_truth import differences
from support.printed import broken_links
from support.real_site import DAY, MATRICES, URL

from compat.cli import publish
from compat.results.record_files import RecordFiles
from compat.site.publication import KIB, weights

pytestmark = pytest.mark.slow


@pytest.fixture
def site(real_site: Path) -> Path:
    return real_site


def test_every_kind_of_file_is_within_its_budget(site: Path) -> None:
    again = publish.publish_site(None, site / "public", URL, DAY, site)
    found = weights(again.gzipped)
    assert {one.kind for one in found} >= {"home", "grid", "cell", "cap", "release", "css", "js"}
    assert [one for one in found if one.is_over] == []
    assert next(one.size for one in found if one.kind == "grid") <= 15 * KIB


def test_no_link_is_broken(site: Path) -> None:
    folder = site / "public"
    content = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert broken_links(content, [path for path in content if path.endswith(".html")]) == []


@pytest.mark.parametrize(("matrix", "least"), [("tff", 2000), ("pip-tools", 150)])
def test_no_two_files_of_a_matrix_disagree(site: Path, matrix: str, least: int) -> None:
    compared, different = differences(site / "public", matrix)
    assert different == []
    assert compared > least


def test_names_in_backticks_stand_as_code(site: Path) -> None:
    folders = ("tff/cap", "tff/release", "tff/schedule")
    pages = [page for name in folders for page in (site / "public" / name).rglob("index.html")]
    assert len(pages) > 100
    raw = [
        (page.parent.name, str(text)[:80])
        for page in pages
        if "`" in (source := page.read_text(encoding="utf-8"))
        for text in BeautifulSoup(source, "html.parser")(string=True)
        if "`" in text and not {parent.name for parent in text.parents} & {"pre", "code"}
    ]
    assert raw == []


def test_search_engines_are_told_of_every_canonical_address_and_no_other(site: Path) -> None:
    folder = site / "public"
    told = (folder / "sitemap.xml").read_text(encoding="utf-8")
    listed = re.findall(r"<loc>https://compat\.example/([^<]*)</loc>", told)
    canonical = []
    for path in folder.rglob("index.html"):
        below = path.parent.relative_to(folder).as_posix()
        address = "" if below == "." else f"{below}/"
        own = f'rel="canonical" href="https://compat.example/{address}"'
        if own in path.read_text(encoding="utf-8"):
            canonical.append(address)
    assert sorted(listed) == sorted(canonical)
    assert "tff/advise/tf2.9/" in listed
    assert "embed/tff/" not in listed


def test_without_one_record_only_what_it_told_is_written_again(tmp_path: Path) -> None:
    shutil.copytree(MATRICES / "pip-tools", tmp_path / "matrices" / "pip-tools")
    publish.publish_site(None, tmp_path / "public", URL, DAY, tmp_path)
    store = RecordFiles(tmp_path / "matrices" / "pip-tools")
    lost, *others = [record for cell in cells_in(store) for record in store.records(cell)]
    shutil.rmtree(store.folder)
    for record in others:
        store.add(record)
    again = publish.publish_site(None, tmp_path / "public", URL, DAY, tmp_path)
    cells = [path for path in again.changed if "/cell/" in path or "/cells/" in path]
    release = lost.cell.partition("piptools")[2].partition("+")[0]
    about = [p for p in again.changed if "/release/" in p or "/compare/" in p or "/lock/" in p]
    assert [path for path in about if release not in path] == []
    assert len(again.changed) < again.unchanged
    assert len(cells) < 10
    assert f"pip-tools/cell/{lost.cell}/index.html" in cells
