"""The `declare` room's way in: the texts of one matrix's folder -> declarations that are sound
together.
"""

import datetime

from compat.declare.decode import decode_matrix, decode_policy
from compat.declare.faults import capped
from compat.declare.lint import lint_matrix
from compat.declare.lint_policy import lint_policy
from compat.declare.matrix import Matrix
from compat.declare.policy import Policy
from compat.errors import DeclarationError, Fault
from compat.value import Value


class Declared(Value, frozen=True, kw_only=True):
    """What people declared about one matrix; `policy` is None when its folder has none."""

    matrix: Matrix
    policy: Policy | None = None


def load(matrix: bytes, policy: bytes | None, *, folder: str, today: datetime.date) -> Declared:
    """Return the declarations of `matrices/<folder>/`, from the contents of its matrix.toml and its
    policy.toml.

    Raises DeclarationError with the faults of both documents; what spans documents is looked at
    when both decode.
    """
    of_matrix, of_policy = f"matrices/{folder}/matrix.toml", f"matrices/{folder}/policy.toml"
    faults: list[Fault] = []
    declared_matrix: Matrix | None = None
    declared_policy: Policy | None = None
    try:
        declared_matrix = decode_matrix(matrix, of_matrix)
        faults += capped(
            lint_matrix(declared_matrix, of_matrix, folder=folder, today=today), of_matrix
        )
    except DeclarationError as error:
        faults += error.faults
    try:
        declared_policy = None if policy is None else decode_policy(policy, of_policy)
        if declared_matrix is not None and declared_policy is not None:
            faults += capped(
                lint_policy(declared_policy, declared_matrix, of_policy, today=today), of_policy
            )
    except DeclarationError as error:
        faults += error.faults
    if faults or declared_matrix is None:
        raise DeclarationError(*faults)
    return Declared(matrix=declared_matrix, policy=declared_policy)
