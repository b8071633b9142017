"""What is kept of the needs of releases: read strictly, bounded, and merged."""

import pytest
from packaging.version import Version

from compat.errors import DeclarationError
from compat.search.why import MOST_PLACES, Needs, decode_needs, encode_needs, release_needs

ANNOTATED = b"def f(x: list[int]): ...\n"


def needs(**modules: bytes) -> Needs:
    named = {f"{name}.py": source for name, source in modules.items()}
    read = release_needs(Version("1.0"), "demo-1.0-py3-none-any.whl", named)
    return Needs().with_releases([read], "vermin 1 on Python 3.11")


def test_what_is_written_is_read_back() -> None:
    kept = needs(one=ANNOTATED, two=b"Pair = tuple[int, int]\n", bad=b"print 1\n")
    assert decode_needs(encode_needs(kept), "needs.json") == kept
    text = encode_needs(kept)
    assert len(text.splitlines()) == 3, "a release takes a line"
    # As written while copies of releases were changed and run.
    old = f'{text[:-2]}, "changed": [\n{{"release":"1.0"}}\n]}}\n'
    assert decode_needs(old, "needs.json") == kept


def test_places_are_counted_and_only_the_first_are_kept() -> None:
    lines = b"\n".join(b"def f%d(x: list[int]): ..." % number for number in range(30))
    [release] = needs(one=lines, two=ANNOTATED, bad=b"print 1\n").releases
    [group] = release.needs
    assert (group.places, group.files, len(group.first)) == (31, 2, MOST_PLACES)
    assert (release.modules, release.unread) == (2, 1)


def test_what_needs_more_than_a_tested_python_is_told_apart() -> None:
    source = b"if (n := 1):\n    pass\nimport tomllib\n"
    [release] = needs(one=source).releases
    assert release.lowest("code", None) == Version("3.11")
    assert release.lowest("code", Version("3.9")) == Version("3.8")
    assert release.lowest("type", None) is None
    assert [group.series for group in release.above(Version("3.9"))] == ["3.11"]


def test_a_release_stands_there_once() -> None:
    kept = needs(one=ANNOTATED).with_releases(needs(one=b"").releases, "vermin 2")
    assert [release.needs for release in kept.releases] == [()]


@pytest.mark.parametrize(
    ("part", "instead"),
    [
        ('"format": 1', '"format": 2'),
        ('"release":"1.0"', '"release":"one"'),
        ('"series":"3.9"', '"series":"2.7"'),
        ('"places":1', '"places":-1'),
        ('"kind":"annotation"', '"kind":"annotation","more":1'),
        ("]}\n", "]"),
    ],
)
def test_anything_else_is_refused_with_its_place(part: str, instead: str) -> None:
    text = encode_needs(needs(one=ANNOTATED))
    assert part in text
    with pytest.raises(DeclarationError, match="has no needs") as refused:
        decode_needs(text.replace(part, instead), "matrices/demo/needs.json")
    [fault] = refused.value.faults
    assert fault.path == "matrices/demo/needs.json"
    assert "--write" in fault.hint


def test_a_release_that_stands_there_twice_is_refused() -> None:
    text = encode_needs(needs(one=ANNOTATED))
    line = text.splitlines()[1]
    with pytest.raises(DeclarationError, match="twice"):
        decode_needs(text.replace(line, f"{line},\n{line}"), "needs.json")
