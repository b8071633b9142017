"""The pages of findings: each table follows from the answers of the matrices."""

import runpy
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_each_table_of_the_findings_is_what_the_answers_say(
    derived: Callable[[date], Path],
) -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "findings.py"))
    for path in tool["PAGES"]:
        text = path.read_text(encoding="utf-8")
        assert tool["page"](text, lambda: derived(tool["DAY"])) == text
        assert text.count("<!-- end -->") == len(tool["BLOCK"].findall(text)) >= 1
