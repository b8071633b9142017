"""Hundreds of malformed declarations: each refused with faults of one clear line, and none of them
slowly.
"""

from collections.abc import Iterator

import pytest
from support.corpus import each
from support.documents import MATRIX, POLICY, TODAY, places, toml, without
from support.malformed import OPTIONAL, corpus, policy_corpus

from compat.declare.load import load
from compat.errors import DeclarationError

GOOD_MATRIX, GOOD_POLICY = toml(MATRIX), toml(POLICY)


def all_malformed() -> Iterator[tuple[str, bytes, bytes | None, str]]:
    for name, document in corpus():
        yield name, document, None, "matrices/demo/matrix.toml"
    for name, document in policy_corpus():
        yield name, GOOD_MATRIX, document, "matrices/demo/policy.toml"


@each("name, matrix, policy, source", all_malformed, ids=str)
def test_a_malformed_declaration_is_refused_in_clear_lines(
    name: str, matrix: bytes, policy: bytes | None, source: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        load(matrix, policy, folder="demo", today=TODAY)
    faults = caught.value.faults
    assert faults
    assert len(faults) <= 51
    for fault in faults:
        line = fault.line()
        assert line.isprintable()
        assert len(line) <= 500
        assert fault.code
        assert fault.path == source or fault.path.startswith(f"{source}: ")
        assert fault.message


def test_the_corpus_is_large_and_its_names_are_unique() -> None:
    names = [name for name, _ in corpus()]
    assert len(names) >= 200
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("part", ["matrix", "policy"])
def test_the_declarations_that_the_corpus_starts_from_are_sound(part: str) -> None:
    assert getattr(load(GOOD_MATRIX, GOOD_POLICY, folder="demo", today=TODAY), part) is not None


def test_what_the_corpus_calls_optional_can_be_left_out() -> None:
    optional = [
        path for path, _ in places(MATRIX) if path[-1] in OPTIONAL and path != ("rules", 1, "when")
    ]
    assert len(optional) > 10
    for path in optional:
        load(toml(without(MATRIX, path)), None, folder="demo", today=TODAY)
    for key in ("windows", "holds", "known_bad"):
        load(GOOD_MATRIX, toml(without(POLICY, (key,))), folder="demo", today=TODAY)
