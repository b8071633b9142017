"""A catalogue kept as text says what the index said, and names no place."""

import re
from pathlib import Path

import pytest
from packaging.tags import Tag
from packaging.utils import parse_wheel_filename
from support.world import WORLDS, catalogue_of, matrix_of, world

from compat.errors import DeclarationError
from compat.index.discover import decode_catalogue, encode_catalogue
from compat.plan.plan import plan

NAMES = sorted(path.stem for path in WORLDS.glob("*.toml"))
MATRICES = Path(__file__).parent.parent.parent / "matrices"


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_by_the_kept_catalogue_is_the_plan_by_the_index(name: str) -> None:
    matrix, catalogue = matrix_of(world(name)), catalogue_of(world(name))
    kept = decode_catalogue(encode_catalogue(catalogue, matrix), "a test")
    assert plan(matrix, kept) == plan(matrix, catalogue)


@pytest.mark.parametrize("name", NAMES)
def test_keeping_what_was_kept_changes_nothing(name: str) -> None:
    matrix = matrix_of(world(name))
    text = encode_catalogue(catalogue_of(world(name)), matrix)
    assert encode_catalogue(decode_catalogue(text, "a test"), matrix) == text


@pytest.mark.parametrize(
    "path", sorted(MATRICES.glob("*/catalogue.json")), ids=lambda path: path.parent.name
)
def test_a_committed_catalogue_is_sound_and_names_no_host(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert decode_catalogue(text, path.name).packages
    # A reason why a release was yanked is its author's own sentence.
    assert "://" not in re.sub(r'"yank_reason":"[^"]*"', "", text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": 1, "packages": []}',
        '{"format": 3, "packages": [], "required": []}',
        '{"format": 2, "packages": []}',
        '{"format": 2, "packages": [], "required": [], "more": 1}',
        (
            '{"format": 2, "required": [], "packages": [{"name": "a", "releases": [{"version":'
            ' "x"}]}]}'
        ),
        (
            '{"format": 2, "required": [], "packages": '
            '[{"name": "a", "releases": [{"version": "1", "files": [{"name": "a.whl"}]}]}]}'
        ),
        (
            '{"format": 2, "required": [], "packages": '
            '[{"name": "a", "releases": [{"version": "1", "asks": {"python": ">>"}}]}]}'
        ),
        "[" * 100_000,
    ],
)
def test_what_is_no_catalogue_is_refused_with_its_place_and_a_remedy(text: str) -> None:
    with pytest.raises(
        DeclarationError, match=r"matrices/x/catalogue\.json.*is no catalogue.*--write"
    ):
        decode_catalogue(text, "matrices/x/catalogue.json")


@pytest.mark.parametrize(
    "name",
    [
        *("demo-1.0-py3-none-any.whl", "demo-1.0-2b-cp39-cp39-linux_x86_64.whl"),
        "demo-1.0-py2.py3-none-manylinux1_x86_64.manylinux2014_x86_64.whl",
        *("demo-1.0-b-py3-none-any.whl", "demo-1-0-2-py3-none-any.whl", "demo-py3-none-any.whl"),
        *("demo-one-py3-none-any.whl", "de__mo-1.0-py3-none-any.whl", "demo-1.0-py3-none-.whl"),
        *("demo.whl", "-.whl", "----.whl", "demo-1.0-none-any.whl", "demo-1.0-3-none-any.whl"),
    ],
)
def test_a_wheel_has_the_tags_of_its_name_or_the_fault_of_its_name(name: str) -> None:
    text = (
        '{"format": 2, "packages": [{"name": "demo", "releases": [{"version": "1.0", "files":'
        f' [{{"name": "{name}", "uploaded": "2024-01-01T00:00:00Z"}}]}}]}}], "required": []}}'
    )
    tags, wrong = tags_or_fault(name)
    if wrong:
        with pytest.raises(DeclarationError, match=re.escape(wrong)):
            decode_catalogue(text, "a test")
        return
    (release,) = decode_catalogue(text, "a test").packages[0].releases
    assert [artifact.tags for artifact in release.artifacts] == [tags]


def tags_or_fault(name: str) -> tuple[frozenset[Tag], str]:
    try:
        return parse_wheel_filename(name)[3], ""
    except ValueError as fault:
        return frozenset(), str(fault)
