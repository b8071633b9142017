"""Obstacle: what rules a cell out, and the sentences that name the refused releases."""

from collections.abc import Mapping, Sequence
from typing import Literal

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.declare.matrix import PackageAxis
from compat.plan.cell import Cell
from compat.value import Value

Kind = Literal[
    "excluded",
    "yanked",
    "requires-python",
    "no-artifact",
    "conflicting-pin",
    "undated",
    "no-interpreter",
]
_FEW = 4  # releases that a sentence names one by one


class Obstacle(Value, frozen=True, kw_only=True):
    """Why a cell cannot work: the coordinates or rules it stands between, one sentence, and the
    package that the subject requires where that is what cannot be had.
    """

    kind: Kind
    between: tuple[str, ...]
    because: str
    package: str = ""


class RefusingAxis(Value, frozen=True, kw_only=True):
    """An axis whose coordinate a release refuses, and the requirement by which it does."""

    axis: PackageAxis
    pin: SpecifierSet | None


def conflict(
    cell: Cell,
    subject: PackageAxis,
    refused: Mapping[Version, Sequence[RefusingAxis]],
    unusable: Mapping[Version, str],
) -> Obstacle:
    """Return the obstacle of a cell in which each usable release refuses a coordinate.

    An axis that all of them refuse is named alone; else each release is told with the first that it
    refuses.
    """
    coordinate = cell.on(subject.name)
    by_axis = [{refusing.axis.name: refusing for refusing in each} for each in refused.values()]
    shared = [name for name in by_axis[0] if all(name in axes for axes in by_axis)]
    if shared:
        axis = by_axis[0][shared[0]].axis
        pins = {
            version: str(axes[axis.name].pin)
            for version, axes in zip(refused, by_axis, strict=True)
        }
        several = len(refused) + len(unusable) > 1
        wanted = [
            f"{pin} ({versions})" if several else pin for pin, versions in grouped(pins).items()
        ]
        other = cell.on(axis.name)
        because = (
            f"{subject.package} {coordinate.version} requires {axis.package} {' or '.join(wanted)},"
            f" not {other.version}"
        )
        between = [other.text]
    else:
        firsts = {version: each[0] for version, each in refused.items()}
        each = by_reason(
            {
                v: f"requires {r.axis.package} {r.pin}, not {cell.on(r.axis.name).version}"
                for v, r in firsts.items()
            }
        )
        because = f"no release of {subject.package} {coordinate.version} admits all: {each}"
        names = {first.axis.name for first in firsts.values()}
        between = [c.text for c in cell.coordinates if c.axis in names]
    if unusable:
        because += f"; of the others {by_reason(unusable)}"
    return Obstacle(kind="conflicting-pin", between=(coordinate.text, *between), because=because)


def by_reason(reasons: Mapping[Version, str]) -> str:
    """Return one clause for each reason.

    For example `1.0 is yanked; each of 1.1, 1.2 requires Python >=3.10`.
    """
    return "; ".join(
        f"each of {listed} {reason}" if " " in listed else f"{listed} {reason}"
        for reason, listed in grouped(reasons).items()
    )


def grouped(reasons: Mapping[Version, str]) -> dict[str, str]:
    """Return the versions of each reason: a few one by one, of many the first and the last."""
    versions: dict[str, list[str]] = {}
    for version, reason in reasons.items():
        versions.setdefault(reason, []).append(str(version))
    return {
        reason: ", ".join(listed) if len(listed) <= _FEW else f"{listed[0]} to {listed[-1]}"
        for reason, listed in versions.items()
    }
