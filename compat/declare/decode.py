"""The `declare` room's decoding: the text of a matrix or a policy -> its value, or every fault of
the text at once.
"""

from typing import TypeVar

import msgspec

from compat.declare.matrix import Matrix, decode_custom
from compat.declare.policy import Policy
from compat.declare.toml import toml_document
from compat.errors import DeclarationError
from compat.value import StrictValue

Declaration = TypeVar("Declaration", bound=StrictValue)


def decode_matrix(text: bytes, source: str) -> Matrix:
    """Return the matrix that a `matrix.toml` declares; raise DeclarationError with all its faults.

    `source` is the file's name for messages. What spans several keys or files is left to linting.
    """
    return _decode(text, source, Matrix)


def decode_policy(text: bytes, source: str) -> Policy:
    """Return the policy that a `policy.toml` declares; raise DeclarationError with all its
    faults.
    """
    return _decode(text, source, Policy)


def _decode(text: bytes, source: str, kind: type[Declaration]) -> Declaration:
    parsed = toml_document(text, source)
    try:
        return msgspec.convert(parsed, kind, dec_hook=decode_custom)
    except msgspec.ValidationError as error:
        # Sound declarations never need it.
        from compat.declare.schema_faults import explained

        raise DeclarationError(*explained(parsed, kind, source)) from error
