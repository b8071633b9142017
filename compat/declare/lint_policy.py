"""The `declare` room's lint of a policy: faults of a policy that decodes, visible only beside its
matrix.
"""

import datetime
from collections.abc import Iterator
from itertools import chain

from compat.declare.faults import Finding, faults_of, repeated, unknown_axis
from compat.declare.matrix import Matrix
from compat.declare.policy import Policy
from compat.errors import Fault


def lint_policy(
    policy: Policy, matrix: Matrix, source: str, *, today: datetime.date
) -> tuple[Fault, ...]:
    return faults_of(
        source,
        chain(
            _axes(policy, matrix),
            _repeated(policy),
            _expired(policy, today),
            _dead(policy, matrix),
            _ends(policy, matrix),
        ),
    )


def _axes(policy: Policy, matrix: Matrix) -> Iterator[Finding]:
    names = {axis.name for axis in matrix.axes}
    for key in ("windows", "holds", "known_bad"):
        for i, entry in enumerate(getattr(policy, key)):
            if entry.axis not in names:
                yield unknown_axis((key, i, "axis"), entry.axis, names)


def _repeated(policy: Policy) -> Iterator[Finding]:
    yield from repeated(
        (("windows", i, "axis"), window.axis) for i, window in enumerate(policy.windows)
    )
    yield from repeated(
        (("holds", i), f"{hold.axis} {hold.at}") for i, hold in enumerate(policy.holds)
    )
    yield from repeated(
        (("known_bad", i), f"{bad.axis} {bad.version}") for i, bad in enumerate(policy.known_bad)
    )


def _expired(policy: Policy, today: datetime.date) -> Iterator[Finding]:
    for i, hold in enumerate(policy.holds):
        if hold.until < today:
            message = f"the hold on axis {hold.axis!r} expired after {hold.until}"
            yield Finding(
                "expired",
                ("holds", i, "until"),
                message,
                "renew it with a new reason, or delete it",
            )


def _dead(policy: Policy, matrix: Matrix) -> Iterator[Finding]:
    floors, names = {floor.axis for floor in matrix.floors}, {axis.name for axis in matrix.axes}
    for key, does, noun in (("windows", "moves", "window"), ("holds", "holds", "hold")):
        for i, entry in enumerate(getattr(policy, key)):
            if entry.axis in names - floors:
                remedy = "" if entry.axis == matrix.subject else "declare the floor, or "
                message = f"{does} nothing: the matrix declares no floor of axis {entry.axis!r}"
                yield Finding(
                    f"dead-{noun}",
                    (key, i, "axis"),
                    message,
                    f"{remedy}delete the {noun}",
                )


def _ends(policy: Policy, matrix: Matrix) -> Iterator[Finding]:
    known = {axis.name for axis in matrix.packages}
    for i, window in enumerate(policy.windows):
        if window.end_of_life and window.axis in known:
            message = (
                f"no end of life is known of the packages of axis {window.axis!r}, only of"
                " interpreters"
            )
            yield Finding(
                "no-end-of-life",
                ("windows", i, "end_of_life"),
                message,
                "give it `months` or `minors`",
            )
