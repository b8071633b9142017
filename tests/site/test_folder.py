"""The output folder: only what changed is written, and every address that ever was still
answers.
"""

from pathlib import Path

import pytest

from compat.errors import CompatError
from compat.site.edition import DigestListing, Listed, Made, SiteFile
from compat.site.writer import Written, nearest, read_urls, write_edition


def made(path: str, inputs: str, text: str = "x") -> Made:
    return Made(path=path, inputs=inputs, make=text.encode)


def write(
    folder: Path,
    *files: SiteFile | Made | DigestListing,
    generation: str = "1",
    earlier: tuple[str, ...] = (),
) -> Written:
    return write_edition(
        folder, files, generation, earlier, lambda path, to: f"{path} moved to {to}".encode()
    )


def never() -> bytes:
    raise AssertionError("made though nothing changed")


def test_a_page_is_made_only_when_what_it_reads_has_changed(tmp_path: Path) -> None:
    write(tmp_path, made("a/index.html", "1"))
    write(tmp_path, Made(path="a/index.html", inputs="1", make=never))
    again = write(tmp_path, made("a/index.html", "2", "y"))
    assert again.changed == ("a/index.html",)
    assert (tmp_path / "a/index.html").read_bytes() == b"y"


def test_other_code_or_templates_make_every_page_anew_but_write_only_what_differs(
    tmp_path: Path,
) -> None:
    write(tmp_path, made("index.html", "1"), made("b.json", "1", "old"))
    before = (tmp_path / "index.html").stat()
    again = write(tmp_path, made("index.html", "1"), made("b.json", "1", "new"), generation="2")
    assert again.changed == ("b.json",)
    assert (tmp_path / "index.html").stat().st_mtime_ns == before.st_mtime_ns


def test_a_file_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    write(tmp_path, made("index.html", "1"))
    (tmp_path / "index.html").unlink()
    assert write(tmp_path, made("index.html", "1")).changed == ("index.html",)


def test_a_page_that_is_gone_leads_to_the_nearest_that_is_there(tmp_path: Path) -> None:
    home, grid, cell = (f"{place}index.html" for place in ("", "demo/cell/", "demo/cell/x/"))
    write(tmp_path, made(home, "1"), made(grid, "1"), made(cell, "1"))
    found = write(tmp_path, made(home, "1"), made(grid, "1"))
    assert found.moved == (cell,)
    assert (tmp_path / cell).read_text() == f"{cell} moved to {grid}"
    assert write(tmp_path, made(home, "1"), made(grid, "1")).changed == ()


def test_a_page_that_comes_back_takes_its_address_again(tmp_path: Path) -> None:
    write(tmp_path, made("index.html", "1"), made("a/index.html", "1", "page"))
    write(tmp_path, made("index.html", "1"))
    write(tmp_path, made("index.html", "1"), made("a/index.html", "1", "page"))
    assert (tmp_path / "a/index.html").read_text() == "page"


def test_addresses_of_editions_elsewhere_answer_in_an_empty_folder(tmp_path: Path) -> None:
    found = write(tmp_path, made("index.html", "1"), earlier=("old/page/index.html",))
    assert found.moved == ("old/page/index.html",)
    assert read_urls((tmp_path / "urls.json").read_bytes()) == ("index.html", "old/page/index.html")


def test_data_that_is_no_longer_made_stays(tmp_path: Path) -> None:
    write(tmp_path, made("index.html", "1"), made("api/v1/demo/old.json", "1", "{}"))
    write(tmp_path, made("index.html", "1"))
    assert (tmp_path / "api/v1/demo/old.json").read_text() == "{}"


def test_a_listing_names_the_files_before_it(tmp_path: Path) -> None:
    told: list[tuple[Listed, ...]] = []

    def listing(files: tuple[Listed, ...]) -> bytes:
        told.append(files)
        return b"listing"

    files = (
        made("api/a.json", "1", "aa"),
        made("index.html", "1"),
        DigestListing(path="list", lists=lambda path: path.startswith("api/"), make=listing),
    )
    write(tmp_path, *files)
    assert [(one.path, one.bytes) for one in told[0]] == [("api/a.json", 2)]


@pytest.mark.parametrize("path", ["../x", "/x", "a//b", "a/./b", "a\\b", "a/\0", ""])
def test_no_path_leaves_the_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="not a path of a site"):
        write(tmp_path / "out", made(path, "1"))
    with pytest.raises(ValueError, match="not a path of a site"):
        read_urls(b'["%s"]' % path.encode("unicode_escape").replace(b"\\x", b"\\u00"))


def test_two_files_of_one_path_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CompatError, match="is made twice"):
        write(tmp_path, made("index.html", "1"), made("index.html", "2"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(CompatError, match="cannot be written"):
        write(tmp_path / "out", made("index.html", "1"))


def test_a_damaged_manifest_means_that_everything_is_looked_at_again(tmp_path: Path) -> None:
    write(tmp_path, made("index.html", "1"))
    (tmp_path / ".edition.json").write_text("{")
    assert write(tmp_path, made("index.html", "1")).unchanged == 1


def test_the_nearest_page_is_in_the_folder_above_or_the_home() -> None:
    living = {"index.html", "demo/index.html"}
    assert nearest("demo/cell/x/index.html", living) == "demo/index.html"
    assert nearest("other/cell/x/index.html", living) == "index.html"
