"""What a project page becomes, which pages are kept, and how several indexes add up."""

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.version import Version
from support.fake_index import (
    HTML,
    JSON,
    FakeIndex,
    File,
    Reply,
    body,
    in_html,
    in_json,
    status,
    truncated,
)

from compat.errors import IndexUnreachable
from compat.index.metadata import ResponseLimits
from compat.index.pypi import PyPISource
from compat.index.release import Package
from compat.index.settings import IndexSettings

UTC = datetime.timezone.utc
SHA = "ab" * 32

FILES = [
    File("thing-1.10-py3-none-any.whl", sha256=SHA, requires_python=">=3.9"),
    File("thing-1.9.tar.gz", sha256=SHA, requires_python=">=3.8", yanked="it \x1b[31m broke"),
    File("thing-1.9-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", metadata=True),
    File("Thing-1.0.zip", metadata=False),
]


def source(
    index: FakeIndex, limits: ResponseLimits, folder: Path | None = None, refresh: bool = False
) -> PyPISource:
    return PyPISource(IndexSettings(index_url=index.url), folder, limits, refresh=refresh)


def versions(package: Package) -> list[str]:
    return [str(release.version) for release in package.releases]


def test_releases_stand_by_version_and_files_by_name(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.page("thing", in_json(FILES))
    package = source(index, quick).package("Thing")
    assert package.name == "thing"
    assert versions(package) == ["1.0", "1.9", "1.10"]
    wheel, sdist = package.releases[1].artifacts
    assert [wheel.filename, sdist.filename] == sorted([wheel.filename, sdist.filename])
    assert wheel.tags == {
        Tag("cp311", "cp311", "manylinux_2_17_x86_64"),
        Tag("cp311", "cp311", "manylinux2014_x86_64"),
    }
    assert sdist.tags == frozenset()
    assert sdist.yanked
    assert not wheel.yanked
    assert not package.releases[1].yanked
    # What a stranger writes reaches no terminal as it is.
    assert package.releases[1].yank_reason == sdist.yank_reason == "it \\x1b[31m broke"
    assert sdist.requires_python == SpecifierSet(">=3.8")
    assert [wheel.has_metadata, sdist.has_metadata] == [True, None]
    assert sdist.sha256 == SHA
    assert sdist.url == f"{index.root}/files/thing-1.9.tar.gz"


@pytest.mark.parametrize("kind", [HTML, "text/html", "text/html; charset=utf-8"])
def test_html_and_json_give_the_same_package(
    index: FakeIndex, quick: ResponseLimits, kind: str
) -> None:
    index.page("thing", in_json(FILES), in_html(FILES, kind))
    asked = source(index, quick)
    assert asked.package("thing") == asked.package("thing")


def test_json_is_asked_for_first(index: FakeIndex, quick: ResponseLimits) -> None:
    index.page("thing", in_json(FILES))
    source(index, quick).package("thing")
    assert index.asked[0].headers["Accept"].startswith(JSON + ",")


@pytest.mark.parametrize("form", [in_json, in_html])
def test_upload_times_are_read_where_there_are_any_and_are_utc(
    index: FakeIndex, quick: ResponseLimits, form: Callable[[list[File]], Reply]
) -> None:
    index.page(
        "thing",
        form(
            [
                File("thing-1.0.tar.gz", uploaded="2023-05-01T12:00:00.5+02:00"),
                File("thing-1.0-py3-none-any.whl", uploaded="2023-05-01T09:00:00"),
                File("thing-2.0-py3-none-any.whl"),
            ]
        ),
    )
    package = source(index, quick).package("thing")
    assert package.releases[0].artifacts[1].uploaded == datetime.datetime(
        2023, 5, 1, 10, 0, 0, 500_000, tzinfo=UTC
    )
    assert package.releases[0].uploaded == datetime.datetime(2023, 5, 1, 9, tzinfo=UTC)
    assert package.releases[1].uploaded is None


def test_an_upload_time_in_html_that_cannot_be_read_is_none(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.page("thing", in_html([File("thing-1.0.tar.gz", uploaded="yesterday")]))
    assert source(index, quick).package("thing").releases[0].uploaded is None


@pytest.mark.parametrize("text", ["", "nonsense", "3.x", ">=3.9,,<", None])
def test_a_requires_python_that_cannot_be_read_is_none(
    index: FakeIndex, quick: ResponseLimits, text: str | None
) -> None:
    index.page("thing", in_json([File("thing-1.0.tar.gz", requires_python=text)]))
    assert source(index, quick).package("thing").releases[0].artifacts[0].requires_python is None


@pytest.mark.parametrize(
    "bad",
    [
        File("thing-not.a.version!-py3-none-any.whl"),
        File("thing-2.0.win32.exe"),
        File("thing-2.0-py3.9.egg"),
        File("other-2.0.tar.gz"),
        File("thing-2.0-py3-none-any.whl", url="file:///etc/passwd"),
        File("thing-2.0-py3-none-any.whl", url="javascript:alert(1)"),
        File("thing-2.0-py3-none-../../any.whl", url="/files/x.whl"),
        File("thing-2.0-py3-none-any\u202e.whl", url="/files/x.whl"),
        File("README"),
    ],
    ids=lambda file: f"{file.filename} {file.url}",
)
@pytest.mark.parametrize("form", [in_json, in_html])
def test_a_file_that_cannot_be_used_is_passed_over(
    index: FakeIndex, quick: ResponseLimits, bad: File, form: object
) -> None:
    assert callable(form)
    index.page("thing", form([File("thing-1.0.tar.gz"), bad]))
    assert versions(source(index, quick).package("thing")) == ["1.0"]


def test_a_hash_that_is_none_is_left_out_because_it_becomes_a_file_name(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.page("thing", in_json([File("thing-1.0.tar.gz", sha256="../../etc/passwd")]))
    assert source(index, quick).package("thing").releases[0].artifacts[0].sha256 is None


def test_equal_versions_written_differently_are_one_release(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.page("thing", in_json([File("thing-1.0.0.tar.gz"), File("thing-1.0-py3-none-any.whl")]))
    assert len(source(index, quick).package("thing").releases) == 1


def test_a_fresh_page_is_not_asked_for_again(
    index: FakeIndex, quick: ResponseLimits, tmp_path: Path
) -> None:
    index.page("thing", in_json(FILES))
    first = source(index, quick, tmp_path).package("thing")
    second = source(index, quick, tmp_path).package("thing")
    assert first == second
    assert second.stale_since is None
    assert len(index.asked) == 1


def test_refresh_asks_for_a_fresh_page_too(
    index: FakeIndex, quick: ResponseLimits, tmp_path: Path
) -> None:
    index.page("thing", in_json(FILES[:1]), in_json(FILES))
    source(index, quick, tmp_path).package("thing")
    assert len(source(index, quick, tmp_path, refresh=True).package("thing").releases) == 3
    assert len(source(index, quick, tmp_path).package("thing").releases) == 3


@pytest.mark.parametrize(
    "reply",
    [
        status(404),
        status(500),
        truncated(b"{"),
        body(b"{}", JSON),
        body(b"<a href='/login'>log in</a>", HTML),
    ],
    ids=["404", "500", "truncated", "wrong JSON", "portal page"],
)
def test_an_old_page_serves_when_the_index_fails_and_says_how_old_it_is(
    index: FakeIndex, quick: ResponseLimits, tmp_path: Path, reply: Reply
) -> None:
    index.page("thing", in_json(FILES), reply)
    before = datetime.datetime.now(UTC)
    good = source(index, quick, tmp_path).package("thing")
    after = datetime.datetime.now(UTC)
    for _ in range(2):  # twice: the bad answer must not have taken the good one's place
        served = source(index, quick, tmp_path, refresh=True).package("thing")
        assert served.releases == good.releases
        assert served.stale_since is not None
        assert before <= served.stale_since <= after


def test_an_old_page_serves_when_the_index_is_down(
    index: FakeIndex, quick: ResponseLimits, tmp_path: Path
) -> None:
    index.page("thing", in_json(FILES))
    good = source(index, quick, tmp_path).package("thing")
    index.stop()
    served = source(index, quick, tmp_path, refresh=True).package("thing")
    assert served.releases == good.releases
    assert served.stale_since is not None


def test_a_page_past_its_time_is_asked_for_again(index: FakeIndex, tmp_path: Path) -> None:
    index.page("thing", in_json(FILES[:1]), in_json(FILES))
    limits = ResponseLimits(fresh=0)
    source(index, limits, tmp_path).package("thing")
    served = source(index, limits, tmp_path).package("thing")
    assert len(served.releases) == 3
    assert served.stale_since is None


def kept_pages(cache: Path) -> list[Path]:
    return sorted((cache / "pages").iterdir())


def test_a_folder_that_cannot_be_written_does_not_break_a_run(
    index: FakeIndex, quick: ResponseLimits, tmp_path: Path
) -> None:
    (tmp_path / "pages").write_bytes(b"no folder")
    index.page("thing", in_json(FILES))
    asked = source(index, quick, tmp_path)
    for _ in range(2):
        assert len(asked.package("thing").releases) == 3
    assert len(index.asked) == 1


def test_a_cache_that_breaks_in_the_middle_of_a_run_does_not_break_the_run(
    index: FakeIndex, quick: ResponseLimits, tmp_path: Path
) -> None:
    index.page("thing", in_json(FILES))
    asked = source(index, quick, tmp_path)
    for _ in range(2):
        assert len(asked.package("thing").releases) == 3
        for page in kept_pages(tmp_path):
            page.write_bytes(b"\xff" * 50_000)
    assert len(index.asked) == 2


@pytest.mark.parametrize(
    "value",
    [
        "{",
        "{}",
        "",
        "[1]",
        '{"status_code": 200}',
        '{"status_code": 200, "_content": 5, "headers": 3}',
    ],
)
def test_a_kept_page_that_cannot_be_read_is_asked_for_again_without_a_word(
    index: FakeIndex,
    quick: ResponseLimits,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    value: str,
) -> None:
    index.page("thing", in_json(FILES))
    source(index, quick, tmp_path).package("thing")
    for page in kept_pages(tmp_path):
        page.write_text(value, encoding="utf-8")
    assert len(source(index, quick, tmp_path).package("thing").releases) == 3
    assert len(index.asked) == 2
    assert capfd.readouterr().err == ""


def test_a_cache_folder_that_cannot_be_made_does_not_break_a_run(
    index: FakeIndex, quick: ResponseLimits, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    index.page("thing", in_json(FILES))
    asked = source(index, quick, tmp_path / "file" / "cache")
    assert len(asked.package("thing").releases) == 3
    assert len(asked.package("thing").releases) == 3
    assert len(index.asked) == 1  # kept in memory instead


def test_an_extra_index_wins_over_the_main_one_whatever_that_has(
    index: FakeIndex, other_index: FakeIndex, quick: ResponseLimits
) -> None:
    index.page("thing", in_json([File("thing-99.0.tar.gz")]))
    index.page("other", in_json([File("other-2.0.tar.gz")]))
    other_index.page("thing", in_json([File("thing-1.0.tar.gz")]))
    asked = PyPISource(
        IndexSettings(index_url=index.url, extra_index_urls=(other_index.url,)), limits=quick
    )
    assert versions(asked.package("thing")) == ["1.0"]
    assert versions(asked.package("other")) == ["2.0"]
    assert asked.places("thing") == ((0, Version("1.0")), (1, Version("99.0")))
    assert asked.places("other") == ((1, Version("2.0")),)


def test_merged_indexes_add_up_and_the_extra_one_counts_first(
    index: FakeIndex, other_index: FakeIndex, quick: ResponseLimits
) -> None:
    other_index.page(
        "thing", in_json([File("thing-1.0.tar.gz", sha256="aa" * 32), File("thing-3.0.tar.gz")])
    )
    index.page(
        "thing", in_json([File("thing-1.0.tar.gz", sha256="bb" * 32), File("thing-2.0.tar.gz")])
    )
    settings = IndexSettings(index_url=index.url, extra_index_urls=(other_index.url,), merged=True)
    package = PyPISource(settings, limits=quick).package("thing")
    assert versions(package) == ["1.0", "2.0", "3.0"]
    assert [artifact.sha256 for artifact in package.releases[0].artifacts] == ["aa" * 32]


def test_one_of_several_indexes_may_lack_the_page(
    index: FakeIndex, other_index: FakeIndex, quick: ResponseLimits
) -> None:
    other_index.page("thing", in_json(FILES))
    settings = IndexSettings(index_url=index.url, extra_index_urls=(other_index.url,))
    assert len(PyPISource(settings, limits=quick).package("thing").releases) == 3


def test_one_of_several_indexes_may_not_be_down(
    index: FakeIndex, other_index: FakeIndex, quick: ResponseLimits
) -> None:
    index.page("thing", in_json(FILES))
    other_index.stop()
    settings = IndexSettings(index_url=index.url, extra_index_urls=(other_index.url,))
    with pytest.raises(IndexUnreachable, match="cannot be reached"):
        PyPISource(settings, limits=quick).package("thing")


def test_a_login_goes_to_its_own_index_and_into_nothing_else(
    index: FakeIndex, other_index: FakeIndex, quick: ResponseLimits, tmp_path: Path
) -> None:
    index.page("thing", in_json(FILES))
    other_index.page("thing", in_json(FILES))
    with_login = index.url.replace("http://", "http://user:s3cret@")
    settings = IndexSettings(index_url=with_login, extra_index_urls=(other_index.url,), merged=True)
    asked = PyPISource(settings, tmp_path, quick)
    package = asked.package("thing")
    asked.close()
    assert index.asked[0].headers["Authorization"] == "Basic dXNlcjpzM2NyZXQ="
    assert "Authorization" not in other_index.asked[0].headers
    assert "s3cret" not in repr(package)
    kept = b"".join(page.read_bytes() for page in kept_pages(tmp_path))
    assert index.url.encode() in kept
    for secret in (b"s3cret", b"dXNlcjpzM2NyZXQ"):
        assert secret not in kept


def test_a_password_inside_a_page_does_not_get_into_the_package(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.page(
        "thing",
        in_json(
            [File("thing-1.0.tar.gz", url="https://user:s3cret@files.example/thing-1.0.tar.gz")]
        ),
    )
    package = source(index, quick).package("thing")
    assert package.releases[0].artifacts[0].url == "https://files.example/thing-1.0.tar.gz"
    assert package.releases[0].version == Version("1.0")
