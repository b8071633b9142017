"""compat publish through the command: files, figures, days, addresses, and what is wrong with its
options.
"""

import os
from pathlib import Path

import pytest
from support.ran import Run

from compat import files
from compat.cli import publish


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "public"


def test_a_site_is_written_and_then_left_alone(run: Run, out: Path) -> None:
    first = run("publish", "--out", str(out), "--today", "2026-11-22")
    assert first.code == 0
    assert (out / "index.html").exists()
    assert (out / "demo/grid/index.html").exists()
    again = run("publish", "--out", str(out), "--today", "2026-11-22", "--json")
    assert again.json["data"]["changed"] == []
    assert again.json["data"]["unchanged"] > 20
    assert "grid" in [kind["kind"] for kind in again.json["data"]["weights"]]


def test_a_second_publish_into_the_same_folder_says_so_and_writes_nothing(
    run: Run, out: Path
) -> None:
    out.mkdir()
    lock = files.lock(out)
    assert lock is not None
    try:
        refused = run("publish", "--out", str(out))
    finally:
        os.close(lock)
    assert refused.code == 3
    assert "another compat writes" in refused.err.splitlines()[-1]
    assert list(out.iterdir()) == []
    assert run("publish", "--out", str(out)).code == 0


def test_what_was_published_verifies_and_a_mixture_does_not(run: Run, out: Path) -> None:
    run("publish", "--out", str(out))
    assert run("site", "check", str(out)).code == 0
    (out / "api/v1/demo/minimum.json").write_text("{}")
    mixed = run("site", "check", str(out))
    assert mixed.code == 1
    assert "api/v1/demo/minimum.json: is not" in mixed.err


@pytest.mark.parametrize("pattern", ["index.html", "badge/**/*.svg", "feed/**/*.*"])
def test_a_page_a_badge_or_a_feed_that_somebody_changed_is_named(
    pattern: str, run: Run, out: Path
) -> None:
    run("publish", "--out", str(out))
    path = min(out.glob(pattern)).relative_to(out).as_posix()
    (out / path).write_bytes((out / path).read_bytes().replace(b"No", b"Yes") + b" ")
    changed = run("site", "check", str(out))
    assert changed.code == 1
    assert f"{path}: " in changed.err


def test_a_page_that_somebody_added_is_named(run: Run, out: Path) -> None:
    run("publish", "--out", str(out))
    (out / "login").mkdir()
    (out / "login" / "index.html").write_text("Your password, please")
    added = run("site", "check", str(out))
    assert added.code == 1
    assert "login/index.html: " in added.err


def test_where_nothing_ran_the_page_says_no_data(run: Run, out: Path) -> None:
    run("publish", "--out", str(out))
    assert "No data." in (out / "index.html").read_text()


def test_the_day_is_that_of_the_option_or_of_the_build(
    run: Run, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795305600")
    assert str(publish._day("")) == "2026-11-22"
    assert str(publish._day("2026-11-21")) == "2026-11-21"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    refused = run("publish", "--out", str(out))
    assert refused.code == 2
    assert "SOURCE_DATE_EPOCH: 'soon' " in refused.err


def test_a_day_that_is_none_is_refused(run: Run, out: Path) -> None:
    refused = run("publish", "--out", str(out), "--today", "tomorrow")
    assert refused.code == 2
    assert "such as 2027-04-01" in refused.err


def test_an_unknown_matrix_is_refused_with_the_nearest(run: Run, out: Path) -> None:
    refused = run("publish", "demon", "--out", str(out))
    assert refused.code == 2
    assert "did you mean demo?" in refused.err


def test_the_base_address_stands_in_what_is_copied(run: Run, out: Path) -> None:
    run("publish", "--out", str(out), "--base-url", "https://compat.example/here")
    assert (
        '<link rel="canonical" href="https://compat.example/here/demo/grid/'
        in (out / "demo/grid/index.html").read_text()
    )


def test_a_folder_that_is_a_file_is_named_in_one_line(run: Run, out: Path) -> None:
    out.write_text("a file")
    refused = run("publish", "--out", str(out))
    assert refused.code == 3
    assert "cannot be written" in refused.err
    assert "Traceback" not in refused.err
    assert out.is_file()


def test_reports_go_to_the_repository_that_is_named(
    run: Run, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    grid = out / "demo/grid/index.html"
    assert run("publish", "--out", str(out)).code == 0
    assert "/issues/new" not in grid.read_text()
    assert run("publish", "--out", str(out), "--repository", "somebody/something").code == 0
    assert 'href="https://github.com/somebody/something/issues/new?title=' in grid.read_text()
    monkeypatch.setenv("GITHUB_REPOSITORY", "somebody/else")
    assert run("publish", "--out", str(out)).code == 0
    assert 'href="https://github.com/somebody/else/issues/new?title=' in grid.read_text()


@pytest.mark.parametrize(
    "named", ["something", "a/b/c", "a/b?c", "a/../b", 'a/"b', "a/b\n", "https://github.com/a/b"]
)
def test_what_is_no_repository_is_refused(run: Run, out: Path, named: str) -> None:
    refused = run("publish", "--out", str(out), "--repository", named)
    assert refused.code == 2
    assert "is no repository" in refused.err
    assert "write owner/name" in refused.err
    assert not out.exists()


class TestNothingToDo:
    """Where nothing changed no edition is made; whatever changed, one is."""

    WORDS = ("publish", "--today", "2026-11-22", "--json", "--out")

    @pytest.fixture
    def made(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """A word for each edition that is made."""
        made: list[str] = []
        edition_of = publish.pipeline.edition_of

        def noted(*arguments: object) -> object:
            made.append("edition")
            return edition_of(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(publish.pipeline, "edition_of", noted)
        return made

    def test_a_second_publish_makes_no_edition_and_says_the_same(
        self, run: Run, out: Path, made: list[str]
    ) -> None:
        run(*self.WORDS, str(out))
        first = run(*self.WORDS, str(out))
        assert made == ["edition"]
        assert first.json["data"]["changed"] == []
        assert first.json["data"]["unchanged"] > 20
        assert first.json["data"]["weights"]

    @pytest.mark.parametrize("change", ["declaration", "page", "gone", "manifest", "url"])
    def test_whatever_changed_is_noticed(
        self, run: Run, root: Path, out: Path, made: list[str], change: str
    ) -> None:
        run(*self.WORDS, str(out))
        words = list(self.WORDS)
        if change == "declaration":
            path = root / "matrices" / "demo" / "matrix.toml"
            path.write_text(path.read_text().replace('title = "', 'title = "Other ', 1))
        elif change == "page":
            (out / "index.html").write_text("")
        elif change == "gone":
            (out / "index.html").unlink()
        elif change == "manifest":
            (out / ".edition.json").unlink()
        else:
            words[1:1] = ["--base-url", "https://other.example/"]
        again = run(*words, str(out))
        assert made == ["edition", "edition"]
        assert again.code == 0
        if change in ("declaration", "url", "gone"):
            assert again.json["data"]["changed"]
