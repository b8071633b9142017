"""The texts about floor moves: as they are read on GitHub, and harmless whatever stands in a
log.
"""

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.floors import DAY, bad, cell, declared, green, hold, policy, ran, red, seen

from compat.declare.load import Declared
from compat.github.markdown import faults, title_faults
from compat.github.standing import requested, waiting
from compat.policy.evaluation import Proposal
from compat.policy.propose import floors, proposals
from compat.results.record import Record

GOLDEN = Path(__file__).parent / "golden"
SITE = "https://compat.example/"


def page_of(cell: str) -> str:
    return f"{SITE}cell/{cell}/"


DIFF = (
    '--- a/matrices/demo/matrix.toml\n+++ b/matrices/demo/matrix.toml\n-at = "1.2"\n+at = "1.3"\n'
)
AT_13 = (cell("3.9", "1.3"), cell("3.11", "1.3"))
AT_14 = (cell("3.9", "1.4"), cell("3.11", "1.4"))
ASK = declared(
    {"python": "3.9", "dep": "1.2"},
    policy(holds=(hold("dep", "1.3"),), known_bad=(bad("python", "3.10"),)),
)


def same(name: str, text: str) -> None:
    """Compare with the kept text, or keep it when asked to."""
    path = GOLDEN / name
    if os.environ.get("ACCEPT_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    assert text == kept, (
        f"if this is right: ACCEPT_GOLDEN=1 pytest {Path(__file__).name}, and look at the diff"
    )


def found(runs: list[Record], ask: Declared = ASK) -> list[Proposal]:
    return list(proposals(seen(runs, ask), DAY))


def both() -> list[Proposal]:
    return found(green(*AT_13) + red(AT_14[0]) + [ran(AT_14[1], "test-fail:assertion(a|b)")])


def test_the_text_of_a_pull_request() -> None:
    text = requested([one for one in both() if one.is_open], "Demo", DIFF, page_of)
    same("request.md", f"{text.title}\n\n{text.body}")


def test_the_text_of_the_issue_about_the_others() -> None:
    text = waiting([one for one in both() if not one.is_open], "Demo")
    same("issue.md", f"{text.title}\n\n{text.body}")


def test_the_arithmetic_that_is_printed() -> None:
    told = ["\n  ".join((floor.package, *floor.arithmetic)) for floor in floors(seen([], ASK), DAY)]
    same("arithmetic.txt", "\n\n".join(told) + "\n")


def test_a_cell_is_a_link_only_where_there_is_a_site() -> None:
    opened = [one for one in both() if one.is_open]
    assert f"{SITE}cell/{AT_13[0]}/" in requested(opened, "Demo", cell_url=page_of).body
    assert "](" not in requested(opened, "Demo").body


def test_a_long_table_is_cut_and_says_so() -> None:
    many = both()[0]
    several = [*many.evidence, *both()[-1].evidence] * 30
    text = waiting([msgspec.structs.replace(many, evidence=tuple(several))], "Demo").body
    assert text.count("\n| py") + text.count("\n| `py") == 40
    assert f"... and {len(several) - 40} more cells." in text


HOSTILE = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(
    [
        "@everyone",
        "fixes #1",
        "![x](https://x.example/p.png)",
        "<img src=x>",
        "| a | b |",
        "closes GH-7",
        "`",
        "\u202e",
    ]
)


@given(HOSTILE)
@examples(80)
def test_what_a_run_said_cannot_come_alive(words: str) -> None:
    subject = words.replace("\n", " ").replace("\r", " ").replace(")", "")
    try:
        runs = [ran(one, f"test-fail:assertion({subject})") for one in AT_14]
    except ValueError:
        return
    for text in (waiting(found(runs), "Demo"), requested(found(runs), "Demo", subject, page_of)):
        assert faults(text.body) == ()
        assert title_faults(text.title) == ()


@pytest.mark.parametrize("title", ["Demo", "@team", "closes #3"])
def test_a_title_is_one_harmless_line(title: str) -> None:
    assert title_faults(requested(both(), title).title) == ()
