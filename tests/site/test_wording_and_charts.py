"""How things are said and drawn: dates, lists, ranges, causes in words; bars and rows inside their
frame.
"""

import datetime
import functools
from typing import Any

import pytest
from bs4 import BeautifulSoup
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import Markup
from support.editions import edition
from support.known import Shelf

from compat.results.record import Capability
from compat.run.outcome import CAUSES, STAGES, Failed
from compat.site.render import Printer, assets, printable, sentence, ticked
from compat.site.reports import nice
from compat.site.results import Doc, capability_statements
from compat.site.wording import cause_sentence, count, day, listed, plain_dates, ranges

CHART: dict[str, Any] = {
    "id": "c",
    "title": "t",
    "says": "s",
    "heads": ("what",),
    "rows": (("this",),),
}
DAY = datetime.date(2026, 11, 3)


def test_plain_words() -> None:
    assert day(DAY) == "3 November 2026"
    assert count(1, "cell") == "1 cell"
    assert count(27132, "cell") == "27,132 cells"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed([str(n) for n in range(9)], 3) == "0, 1, 2 and 6 more"
    assert ranges(["2.8", "2.9", "2.11"], ["2.8", "2.9", "2.10", "2.11"]) == "2.8 to 2.9, 2.11"
    assert ranges([], ["2.8"]) == ""


def test_a_result_in_words() -> None:
    failed = Failed(stage="test", cause="assertion", subject="sum")
    assert cause_sentence(failed) == "A test fails: sum gives a wrong result."
    none = Failed(stage="collect", cause="no-tests", subject="no report")
    assert "pytest ended before" in cause_sentence(none)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("it passed on 2026-11-03", "it passed on 3 November 2026"),
        ("2026-11-03, 2026-11-04.", "3 November 2026, 4 November 2026."),
        ("2026-13-03", "2026-13-03"),
        ("see notes/2026-11-03.md", "see notes/2026-11-03.md"),
        ("demo-2026-11-03 2026-11-03.post1", "demo-2026-11-03 2026-11-03.post1"),
    ],
)
def test_a_date_in_a_sentence_is_said_as_on_pages_and_one_in_a_name_is_left(
    data: str, shown: str
) -> None:
    assert plain_dates(data) == shown


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_is_one_sentence_with_and_without_its_subject(cause: str) -> None:
    for stage in STAGES:
        for subject in ("", "numpy=={0}"):
            told = cause_sentence(Failed(stage=stage, cause=cause, subject=subject))
            assert told.endswith(".")
            assert told.count("numpy=={0}") == bool(subject)


def test_a_clause_becomes_a_sentence_unless_it_begins_with_a_name_of_ours() -> None:
    assert sentence("the suite has changed since") == "The suite has changed since."
    assert sentence("py3.9-tf2.8 must run again") == "py3.9-tf2.8 must run again."
    assert sentence("It is held.") == "It is held."


def test_what_stands_in_backticks_is_code_and_nothing_else_comes_alive() -> None:
    assert ticked("calls `f(<x>)` twice") == Markup("calls <code>f(&lt;x&gt;)</code> twice")
    assert ticked("one ` alone <b>") == Markup("one ` alone &lt;b&gt;")


@given(st.text())
def test_what_is_printed_holds_no_sign_that_turns_text_or_cannot_stand_in_a_page(text: str) -> None:
    shown = printable(text)
    assert not set(shown) & set("\x00\x1b\x7f\x9b\u202e\u2066\u200f")
    assert shown == text or not text.isprintable() or not text.isascii()


def capability(status: str, spelling: str = "", missing: str = "") -> Capability:
    return Capability(
        id="sum", status=status, spelling=spelling, missing=(missing,) if missing else ()
    )  # type: ignore[arg-type]


def test_a_capability_is_told_as_a_browser_support_table_tells_it() -> None:
    told = [
        ("0.1", capability("absent", missing="demo.sum")),
        ("0.2", capability("yes", "demo.add")),
        ("0.3", None),
        ("0.4", capability("yes", "demo.add")),
        ("0.5", capability("yes", "demo.sum")),
        ("0.6", capability("no")),
        ("0.7", capability("yes", "demo.sum")),
    ]
    assert capability_statements(told) == (  # type: ignore[arg-type]
        "Absent until 0.1: looked for demo.sum.",
        "Works in 0.2 to 0.5, called demo.add until 0.4; then called demo.sum.",
        "Fails in 0.6.",
        "Works since 0.7, called demo.sum.",
    )
    assert capability_statements(()) == ("Not tested in any release yet.",)


PLACE = ("x", "y", "width", "height")


@functools.cache
def parts() -> Any:
    return Printer(edition(Shelf()), assets())._environment.get_template("parts.html").module


def drawn(chart: Doc) -> BeautifulSoup:
    return BeautifulSoup(parts().chart(chart), "html.parser")


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=90), st.data())
@example([1.1e-308, 5e-324], None)
def test_dots_stay_inside_their_frame_and_in_order_on_two_bands(
    values: list[float], data: st.DataObject | None
) -> None:
    at = 1 if data is None else data.draw(st.integers(1, len(values) - 1))
    points = [(str(n), v, str(v)) for n, v in enumerate(values)]
    chart = drawn(Doc(**CHART, unit="", points=points, at=at))
    bands, dots = chart.select("rect.band"), chart.select("text.point")
    first, second = [[float(str(band[name])) for name in PLACE] for band in bands]
    assert len(dots) == len(values)
    assert first[0] + first[2] <= second[0] + 0.2
    for x, y, width, height in (first, second):
        assert 0 <= x <= x + width <= 960
        assert -0.2 <= y <= y + height <= 220
    middles = [float(str(dot["x"])) for dot in dots]
    assert middles == sorted(middles)
    assert 0 <= middles[0] <= middles[-1] <= 960
    assert all(0 <= float(str(dot["y"])) <= 220 for dot in dots)


@given(st.floats(1e-6, 1e12))
def test_a_round_number_is_not_far_above(value: float) -> None:
    assert value * 0.99999 <= nice(value) <= value * 2.6


days = st.dates(datetime.date(2015, 1, 1), datetime.date(2035, 1, 1))


@given(
    st.lists(st.tuples(st.sampled_from("abc"), days, st.none() | days), min_size=1, max_size=20),
    days,
)
def test_windows_have_a_row_for_each_name_and_every_span_in_its_row(
    told: list[tuple[str, datetime.date, datetime.date | None]], today: datetime.date
) -> None:
    spans = [
        Doc(
            row=row,
            begin=begin,
            end=None if end is None else max(begin, end),
            css="works",
            sign="",
            says=row,
        )
        for row, begin, end in told
    ]
    chart = drawn(Doc(**CHART, spans=spans, today=today))
    rules = [float(str(rule["d"]).split()[1].split("H")[0]) for rule in chart.select("path.rule")]
    names = [tick.text for tick in chart.select("text.tick[text-anchor=end]")]
    assert sorted(names) == sorted({row for row, _, _ in told})
    assert len(rules) == len(names)
    spans_drawn = chart.select("rect.works")
    assert len(spans_drawn) == len(told)
    for span in spans_drawn:
        x, y, width, height = (float(str(span[name])) for name in PLACE)
        assert 64 <= x <= x + width <= 960
        assert abs(y + height / 2 - rules[names.index(span.text)]) < 13
