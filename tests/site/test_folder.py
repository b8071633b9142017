"""The output folder: only what changed is written, and every address that ever was still
answers.
"""

from pathlib import Path

import pytest

from compat.errors import CompatError
from compat.site.edition import SiteFile
from compat.site.publication import Written, nearest, read_urls, write_edition


def made(path: str, text: str = "x") -> SiteFile:
    return SiteFile(path=path, content=text.encode())


def write(folder: Path, *files: SiteFile, earlier: tuple[str, ...] = ()) -> Written:
    return write_edition(folder, files, earlier, lambda path, to: f"{path} moved to {to}".encode())


def test_only_what_differs_is_written(tmp_path: Path) -> None:
    write(tmp_path, made("index.html"), made("b.json", "old"))
    before = (tmp_path / "index.html").stat()
    again = write(tmp_path, made("index.html"), made("b.json", "new"))
    assert again.changed == ("b.json",)
    assert (tmp_path / "index.html").stat().st_mtime_ns == before.st_mtime_ns


def test_a_file_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    write(tmp_path, made("index.html"))
    (tmp_path / "index.html").unlink()
    assert write(tmp_path, made("index.html")).changed == ("index.html",)


def test_a_page_that_is_gone_leads_to_the_nearest_that_is_there(tmp_path: Path) -> None:
    home, grid, cell = (f"{place}index.html" for place in ("", "demo/cell/", "demo/cell/x/"))
    write(tmp_path, made(home), made(grid), made(cell))
    found = write(tmp_path, made(home), made(grid))
    assert found.moved == (cell,)
    assert (tmp_path / cell).read_text() == f"{cell} moved to {grid}"
    assert write(tmp_path, made(home), made(grid)).changed == ()


def test_a_page_that_comes_back_takes_its_address_again(tmp_path: Path) -> None:
    write(tmp_path, made("index.html"), made("a/index.html", "page"))
    write(tmp_path, made("index.html"))
    write(tmp_path, made("index.html"), made("a/index.html", "page"))
    assert (tmp_path / "a/index.html").read_text() == "page"


def test_addresses_of_editions_elsewhere_answer_in_an_empty_folder(tmp_path: Path) -> None:
    found = write(tmp_path, made("index.html"), earlier=("old/page/index.html",))
    assert found.moved == ("old/page/index.html",)
    assert read_urls((tmp_path / "urls.json").read_bytes()) == ("index.html", "old/page/index.html")


def test_data_that_is_no_longer_made_stays(tmp_path: Path) -> None:
    write(tmp_path, made("index.html"), made("api/v1/demo/old.json", "{}"))
    write(tmp_path, made("index.html"))
    assert (tmp_path / "api/v1/demo/old.json").read_text() == "{}"


@pytest.mark.parametrize("path", ["../x", "/x", "a//b", "a/./b", "a\\b", "a/\0", ""])
def test_no_path_leaves_the_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="not a path of a site"):
        write(tmp_path / "out", made(path))
    with pytest.raises(ValueError, match="not a path of a site"):
        read_urls(b'["%s"]' % path.encode("unicode_escape").replace(b"\\x", b"\\u00"))


def test_two_files_of_one_path_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CompatError, match="is made twice"):
        write(tmp_path, made("index.html"), made("index.html"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(CompatError, match="cannot be written"):
        write(tmp_path / "out", made("index.html"))


def test_a_damaged_manifest_means_that_everything_is_looked_at_again(tmp_path: Path) -> None:
    write(tmp_path, made("index.html"))
    (tmp_path / ".edition.json").write_text("{")
    assert write(tmp_path, made("index.html")).unchanged == 1


def test_the_nearest_page_is_in_the_folder_above_or_the_home() -> None:
    living = {"index.html", "demo/index.html"}
    assert nearest("demo/cell/x/index.html", living) == "demo/index.html"
    assert nearest("other/cell/x/index.html", living) == "index.html"
