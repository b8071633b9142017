"""How things are said and drawn: dates, lists, ranges, causes in words; bars and rows inside their
frame.
"""

import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import Markup

from compat.results.record import Capability
from compat.run.outcome import CAUSES, STAGES, Failed
from compat.site.pages.render import printable, sentence, ticked
from compat.site.pages.reports import HEIGHT_OF_ROW, WIDTH, dots, nice, timeline
from compat.site.pages.results import Doc, capability_statements, stretches
from compat.site.wording import (
    cause_sentence,
    count,
    day,
    listed,
    plain_dates,
    ranges,
)

CHART = Doc(id="c", title="t", says="s", unit="")
TABLE = ("what",), (("this",),)
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
    assert capability_statements(stretches(told)) == (  # type: ignore[arg-type]
        "Absent until 0.1: looked for demo.sum.",
        "Works in 0.2 to 0.5, called demo.add until 0.4; then called demo.sum.",
        "Fails in 0.6.",
        "Works since 0.7, called demo.sum.",
    )
    assert capability_statements(()) == ("Not tested in any release yet.",)


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=90), st.data())
@example([1.1e-308, 5e-324], None)
def test_dots_stay_inside_their_frame_and_in_order_on_two_bands(
    values: list[float], data: st.DataObject | None
) -> None:
    at = 1 if data is None else data.draw(st.integers(1, len(values) - 1))
    chart = dots(CHART, [(str(n), v, str(v)) for n, v in enumerate(values)], *TABLE, at)
    first, second, *points = chart.shapes
    assert len(points) == len(values)
    assert first.x + first.width <= second.x + 0.2
    for shape in chart.shapes:
        assert 0 <= shape.x <= shape.x + shape.width <= WIDTH
        assert -0.2 <= shape.y <= shape.y + shape.height <= chart.height
    assert [one.x for one in points] == sorted(one.x for one in points)


@given(st.floats(1e-6, 1e12))
def test_a_round_number_is_not_far_above(value: float) -> None:
    assert value * 0.99999 <= nice(value) <= value * 2.6


days = st.dates(datetime.date(2015, 1, 1), datetime.date(2035, 1, 1))


@given(
    st.lists(st.tuples(st.sampled_from("abc"), days, st.none() | days), min_size=1, max_size=20),
    days,
)
def test_a_timeline_has_a_row_for_each_name_and_every_mark_in_its_row(
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
    dots = [Doc(row=row, begin=begin, css="works", sign="+", says=row) for row, begin, _ in told]
    chart = timeline(CHART, [*spans, *dots], *TABLE, today)
    names = [name for _, name in chart.ys]
    assert sorted(names) == sorted({row for row, _, _ in told})
    for shape in chart.shapes:
        row = names.index(shape.says)
        assert shape.x >= chart.left
        assert shape.x + shape.width <= WIDTH
        assert abs(shape.y + shape.height / 2 - chart.ys[row][0]) < HEIGHT_OF_ROW / 2
