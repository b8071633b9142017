"""The `declare` room's lint of a policy: faults of a policy that decodes, visible only beside its matrix."""

import datetime
from collections.abc import Iterator
from itertools import chain

from compat.declare.faults import Finding, faults_of, repeated, unknown_axis
from compat.declare.matrix import Matrix
from compat.declare.policy import Policy
from compat.errors import Fault


def lint_policy(policy: Policy, matrix: Matrix, source: str, *, today: datetime.date) -> tuple[Fault, ...]:
    """Return what is wrong with a policy beside its matrix, sorted by place."""
    return faults_of(
        source, chain(_axes(policy, matrix), _repeated(policy), _expired(policy, today), _dead(policy, matrix))
    )


def _axes(policy: Policy, matrix: Matrix) -> Iterator[Finding]:
    names = {axis.name for axis in matrix.axes}
    for key in ("windows", "holds", "known_bad"):
        for i, entry in enumerate(getattr(policy, key)):
            if entry.axis not in names:
                yield unknown_axis((key, i, "axis"), entry.axis, names)


def _repeated(policy: Policy) -> Iterator[Finding]:
    yield from repeated((("windows", i, "axis"), window.axis) for i, window in enumerate(policy.windows))
    yield from repeated((("holds", i), f"{hold.axis} {hold.at}") for i, hold in enumerate(policy.holds))
    yield from repeated((("known_bad", i), f"{bad.axis} {bad.version}") for i, bad in enumerate(policy.known_bad))


def _expired(policy: Policy, today: datetime.date) -> Iterator[Finding]:
    for i, hold in enumerate(policy.holds):
        if hold.until < today:
            message = f"the hold on axis {hold.axis!r} expired after {hold.until}"
            yield Finding("expired", ("holds", i, "until"), message, "renew it with a new reason, or delete it")


def _dead(policy: Policy, matrix: Matrix) -> Iterator[Finding]:
    floors = {floor.axis: floor.at for floor in matrix.floors}
    names = {axis.name for axis in matrix.axes}
    for i, hold in enumerate(policy.holds):
        floor = floors.get(hold.axis)
        if hold.axis in names and floor is None:
            message = f"holds nothing: the matrix declares no floor of axis {hold.axis!r}"
            yield Finding("dead-hold", ("holds", i, "axis"), message, "declare the floor, or delete the hold")
        elif floor is not None and hold.at < floor:
            message = f"holds nothing: the floor of axis {hold.axis!r} is at {floor} already, above {hold.at}"
            yield Finding("dead-hold", ("holds", i, "at"), message, "delete the hold")
