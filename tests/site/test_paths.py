"""Names as parts of paths: any text, one part, inside the site, and no two texts the same."""

import posixpath

from hypothesis import example, given
from hypothesis import strategies as st
from support.hostile_texts import HUGE, STRINGS

from compat.results.record import RESERVED
from compat.site.paths import is_cell_page, page, segment

texts = st.one_of(
    st.text(max_size=400), st.sampled_from(STRINGS), st.text("./~%\\ aA:", max_size=8)
)


@given(texts)
@example("")
@example("..")
@example("index.html")
@example("CON")
@example("con.txt")
@example("a.")
@example("\ud800")
@example(HUGE)
def test_any_text_is_one_harmless_part_of_a_path(text: str) -> None:
    part = segment(text)
    assert 0 < len(part) <= 150
    assert part.isascii()
    assert part == part.lower()
    assert not set(part) & set('/\\:*?"<>|%&# \0')
    assert not part.startswith(".")
    assert not part.endswith(".")
    assert part not in ("index.html", "index.json")
    assert part.partition(".")[0] not in RESERVED
    assert posixpath.normpath(page("demo", "cap", text)) == f"demo/cap/{part}/index.html"


@given(texts, texts)
@example("A", "a")
@example("~", "")
@example("~7e", "~")
@example("con", "~con")
@example("a.", "a~2e")
@example("a" * 200, "a" * 201)
def test_two_texts_never_share_a_part(one: str, other: str) -> None:
    assert (segment(one) == segment(other)) == (one == other)


def test_two_hundred_hostile_texts_have_two_hundred_parts() -> None:
    assert len({segment(text) for text in STRINGS}) == len(set(STRINGS)) >= 200


def test_only_the_page_of_a_cell_is_one() -> None:
    assert is_cell_page(page("demo", "cell", "py3.9-demo1.0"))
    others = (
        page("about", "cell"),
        page("demo", "cap", "cell"),
        "api/v1/cell/x.json",
        "index.html",
    )
    assert not any(map(is_cell_page, others))


def test_what_is_plain_stays_readable() -> None:
    assert segment("py3.9-tf2.11-tff0.33.0+relaxed") == "py3.9-tf2.11-tff0.33.0+relaxed"
    assert segment("federated.sum") == "federated.sum"
