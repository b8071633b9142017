"""A matrix extended by a version that its axes leave out: what the declaration becomes."""

import msgspec
from packaging.specifiers import Specifier, SpecifierSet
from packaging.version import Version

from compat.declare.matrix import Axis, InterpreterAxis, Matrix, PackageAxis
from compat.declare.selector import Selector


def extended_matrix(matrix: Matrix, axis: Axis, release: Version) -> Matrix | None:
    """Return the matrix with one more release on an axis: a series of Python, or a release of a
    package; None where the axis leaves that release out by more than an upper bound.
    """
    own: Axis
    if isinstance(axis, InterpreterAxis):
        own = msgspec.structs.replace(axis, releases=(*axis.releases, added_python(axis, release)))
    else:
        select = widened(axis, release)
        if select is None:
            return None
        own = msgspec.structs.replace(axis, select=select)
    axes = tuple(own if other is axis else other for other in matrix.axes)
    return msgspec.structs.replace(matrix, axes=axes)


def added_python(axis: InterpreterAxis, series: Version) -> Version:
    """Return how a further series stands on the axis: with its first patch where every other one
    names a patch, too.
    """
    has_patches = all(len(release.release) > 2 for release in axis.releases)
    return Version(f"{series}.0") if has_patches else series


def widened(axis: PackageAxis, release: Version) -> Selector | None:
    """Return the axis's selector with its upper bounds moved up to the series of the release; None
    where another part of its specifier leaves the release out: that was somebody's choice.
    """
    select = axis.select
    text = widened_specifier(str(select.specifier), release, select.keep)
    if text is None:
        return None
    wider = msgspec.structs.replace(select, specifier=SpecifierSet(text))
    return wider if wider.keeps(release) else None


def widened_specifier(text: str, release: Version, keep: str) -> str | None:
    """Return a specifier that admits the release too, in the order of its text, or None."""
    parts: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        clause = Specifier(part)
        if clause.contains(release, prereleases=True):
            parts.append(part)
        elif clause.operator == "~=":
            parts += [f">={clause.version}", _bound(release, keep)]
        elif clause.operator in ("<", "<="):
            parts.append(_bound(release, keep))
        else:
            return None
    return ",".join(dict.fromkeys(parts))


def _bound(release: Version, keep: str) -> str:
    epoch = f"{release.epoch}!" if release.epoch else ""
    match keep:
        case "major":
            return f"<{epoch}{release.major + 1}"
        case "minor":
            return f"<{epoch}{release.major}.{release.minor + 1}"
        case _:
            return f"<={release}"
