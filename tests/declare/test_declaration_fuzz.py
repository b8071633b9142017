"""Whatever a file holds: a declaration comes out, or a DeclarationError, and nothing else."""

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.documents import MATRIX, POLICY, TODAY, Document, changed, places, toml

from compat.declare.load import decode_matrix, decode_policy, load
from compat.errors import DeclarationError

WORDS = sorted(
    {str(part) for document in (MATRIX, POLICY) for path, _ in places(document) for part in path}
)
LEAVES = sorted(
    {
        value
        for document in (MATRIX, POLICY)
        for _, value in places(document)
        if isinstance(value, str)
    }
)
TEXTS = st.sampled_from(
    [*LEAVES, *WORDS, "===x", "~=1.0", "!=1.*", "==0.*", ">1!0", "1+cpu", "any"]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = (
    TEXTS
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.booleans()
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(datetime.timezone.utc))
    | st.times()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=20,
)
CHANGES = st.lists(st.tuples(st.integers(0, 200), VALUES), min_size=1, max_size=4)


def refusal(matrix: bytes, policy: bytes | None) -> DeclarationError | None:
    """Return how the declarations are refused, None when they load; anything else that is raised
    fails the test.
    """
    try:
        load(matrix, policy, folder="demo", today=TODAY)
    except DeclarationError as error:
        return error
    return None


def is_clear(error: DeclarationError | None) -> bool:
    return error is None or bool(
        error.faults and all(fault.line().isprintable() for fault in error.faults)
    )


def with_changes(document: Document, changes: list[tuple[int, Any]]) -> Document:
    for index, value in changes:
        paths = [path for path, _ in places(document)]
        if paths:
            document = changed(document, paths[index % len(paths)], value)
    return document


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=12))
def test_any_document_is_refused_without_a_traceback(document: Document) -> None:
    for decode in (decode_matrix, decode_policy):
        with pytest.raises(DeclarationError):
            decode(toml(document), "file")


@given(CHANGES, CHANGES)
def test_a_changed_declaration_loads_or_is_refused(
    of_matrix: list[Any], of_policy: list[Any]
) -> None:
    assert is_clear(refusal(toml(with_changes(MATRIX, of_matrix)), toml(POLICY)))
    assert is_clear(refusal(toml(MATRIX), toml(with_changes(POLICY, of_policy))))


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_are_refused_without_a_traceback(content: bytes) -> None:
    error = refusal(content, content)
    assert error is not None
    assert is_clear(error)


@given(st.integers(0, 600), st.binary(max_size=4))
def test_a_damaged_file_loads_or_is_refused(position: int, damage: bytes) -> None:
    good = toml(MATRIX)
    assert is_clear(refusal(good[:position] + damage + good[position + 1 :], None))
    assert is_clear(refusal(good[:position], None))
