"""What makes a suite another one, and what does not."""

from pathlib import Path

from compat.run.suitefiles import suite_digest

README = "# The suite\n\n<!-- capabilities -->\n{}<!-- /capabilities -->\n"


def suite(tmp_path: Path, readme: str) -> Path:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n", encoding="utf-8")
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    return tmp_path


def test_the_table_made_from_records_is_no_part_of_the_question(tmp_path: Path) -> None:
    empty = suite_digest(suite(tmp_path, README.format("")))
    assert suite_digest(suite(tmp_path, README.format("| import | yes |\n"))) == empty


def test_anything_else_is(tmp_path: Path) -> None:
    digests = {
        suite_digest(suite(tmp_path, text))
        for text in ("", "a", README.format(""), README.format("") + "b")
    }
    (tmp_path / "test_a.py").write_text("def test_a(): fail\n", encoding="utf-8")
    digests.add(suite_digest(tmp_path))
    (tmp_path / "test_a.py").rename(tmp_path / "test_b.py")
    digests.add(suite_digest(tmp_path))
    assert len(digests) == 6
