"""The texts of one matrix's folder: declarations that are sound together, or every fault."""

import datetime
from collections.abc import Iterator
from itertools import chain
from typing import TypeVar

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.faults import (
    Finding,
    Path,
    capped,
    choice,
    faults_of,
    repeated,
    shown,
    unknown_axis,
)
from compat.declare.matrix import (
    ANY,
    Axis,
    InterpreterAxis,
    Matrix,
    Outside,
    PackageAxis,
    Policy,
    decode_custom,
    parse_pin,
)
from compat.declare.parsing import minor_series, parse_requirement
from compat.declare.platforms import own_name
from compat.declare.toml import toml_document
from compat.errors import DeclarationError, Fault
from compat.value import StrictValue, Value

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
        from compat.declare.schema import explained

        raise DeclarationError(*explained(parsed, kind, source)) from error


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


def lint_matrix(
    matrix: Matrix, source: str, *, folder: str, today: datetime.date
) -> tuple[Fault, ...]:
    """Return what is wrong with a matrix, sorted by place; `folder` is the name of the folder that
    it stands in.
    """
    return faults_of(
        source,
        chain(
            _identity(matrix, folder),
            _axes(matrix),
            *(
                _series(axis, i)
                for i, axis in enumerate(matrix.axes)
                if isinstance(axis, InterpreterAxis)
            ),
            _coordinates(matrix),
            _specifiers(matrix),
            _conditions(matrix),
            _repeated_rules(matrix),
            _expired(matrix, today),
            _relaxations(matrix),
            _known(matrix),
            _floors(matrix),
            _prereleases(matrix),
            _platforms(matrix),
            _requirements(matrix),
        ),
    )


def _identity(matrix: Matrix, folder: str) -> Iterator[Finding]:
    if matrix.name != folder:
        message = f"{shown(matrix.name)} is not the name of the matrix's folder; allowed: {folder}"
        yield Finding("name", ("name",), message)
    if matrix.subject not in _package_names(matrix):
        yield unknown_axis(("subject",), matrix.subject, _package_names(matrix), "package axis")


def _axes(matrix: Matrix) -> Iterator[Finding]:
    count = sum(isinstance(axis, InterpreterAxis) for axis in matrix.axes)
    if count != 1:
        yield Finding(
            "interpreter-axis",
            ("axes",),
            f"has {count} axes of kind 'interpreter'; allowed: exactly one",
        )
    for key in ("name", "short"):
        yield from repeated(
            (("axes", i, key), getattr(axis, key)) for i, axis in enumerate(matrix.axes)
        )
    yield from repeated(
        (("axes", i, "package"), axis.normalised_name)
        for i, axis in enumerate(matrix.axes)
        if isinstance(axis, PackageAxis)
    )


def _series(axis: InterpreterAxis, index: int) -> Iterator[Finding]:
    path = ("axes", index, "releases")
    for i, release in enumerate(axis.releases):
        if (
            len(release.release) not in (2, 3)
            or str(release) != release.base_version
            or release.epoch
        ):
            message = (
                f"{shown(str(release))} is not a series of Python such as '3.11', or a final patch"
                " such as '3.11.4'"
            )
            yield Finding("bad-version", (*path, i), message)
    yield from repeated(
        ((*path, i), minor_series(release)) for i, release in enumerate(axis.releases)
    )


def _coordinates(matrix: Matrix) -> Iterator[Finding]:
    for i, axis in enumerate(matrix.axes):
        if not isinstance(axis, PackageAxis):
            continue
        select, path = axis.select, ("axes", i, "select")
        if select.keep == "each" and (select.also or select.patch == "oldest"):
            key = "also" if select.also else "patch"
            message = "each release is a coordinate already, so there are no series"
            yield Finding("meaningless", (*path, key), message, '`keep = "minor"` makes series')
            continue
        yield from repeated(((*path, "also", j), str(v)) for j, v in enumerate(select.also))
        for j, version in enumerate(select.also):
            place = (*path, "also", j)
            if not select.keeps(version):
                message = f"{shown(str(version))} is not selected by {shown(str(select.specifier))}"
                yield Finding("meaningless", place, message)
            elif version == select.series(version):
                message = f"{shown(str(version))} is the same version as its series"
                hint = '`patch = "oldest"` locks each series to its oldest patch'
                yield Finding("meaningless", place, message, hint)


def _specifiers(matrix: Matrix) -> Iterator[Finding]:
    for i, axis in enumerate(matrix.axes):
        if isinstance(axis, PackageAxis):
            yield from _unsatisfiable(("axes", i, "select", "specifier"), axis.select.specifier)
    for i, rule in enumerate(matrix.rules):
        for name, specifier in rule.when.conditions:
            yield from _unsatisfiable(("rules", i, "when", name), specifier)
        for j, relaxation in enumerate(rule.relaxations):
            yield from _unsatisfiable(
                ("rules", i, "relaxations", j, "to"), parse_pin(relaxation.to or ANY)
            )


def _unsatisfiable(path: Path, specifier: SpecifierSet | Outside) -> Iterator[Finding]:
    if isinstance(specifier, SpecifierSet) and specifier.is_unsatisfiable():
        yield Finding("unsatisfiable", path, f"no version satisfies {shown(str(specifier))}")


def _known(matrix: Matrix) -> Iterator[Finding]:
    axes = {axis.name: axis for axis in matrix.axes}
    entries = (
        *(("known", i, issue.when, issue) for i, issue in enumerate(matrix.known)),
        *(("unpublished", i, state.when, None) for i, state in enumerate(matrix.unpublished)),
    )
    for key, i, when, issue in entries:
        for name, specifier in when.conditions:
            path = (key, i, "when", name)
            if name not in axes:
                yield unknown_axis(path, name, axes)
            elif isinstance(specifier, str):
                message = f"{specifier!r} has no meaning here: say which versions"
                yield Finding("meaningless", path, message)
            elif issue and issue.fault != "combination" and name != matrix.subject:
                message = f"a fault of the {issue.fault} holds in every combination of a release"
                hint = f"say of which {matrix.subject}, or leave out `fault`"
                yield Finding("meaningless", path, message, hint)
            else:
                yield from _unsatisfiable(path, specifier)


def _conditions(matrix: Matrix) -> Iterator[Finding]:
    axes = {axis.name: axis for axis in matrix.axes}
    for i, rule in enumerate(matrix.rules):
        if rule.effect == "exclude" and not rule.when.conditions:
            yield Finding(
                "excludes-all",
                ("rules", i, "when"),
                "an exclusion without conditions excludes every cell",
            )
        for name, specifier in rule.when.conditions:
            path = ("rules", i, "when", name)
            if name not in axes:
                yield unknown_axis(path, name, axes)
            elif isinstance(specifier, str):
                yield from _moved(matrix, name, specifier, path)
            elif not specifier.is_unsatisfiable():
                yield from _unmet(axes[name], specifier, path)


def _moved(matrix: Matrix, name: str, word: Outside, path: Path) -> Iterator[Finding]:
    movable = _package_names(matrix) - {matrix.subject}
    if name not in movable:
        message = (
            f"{word!r} has no meaning on axis {name!r}: the subject pins the packages of other axes"
            " only"
        )
        yield Finding("meaningless", path, f"{message}; {choice(name, sorted(movable))}")


def _unmet(axis: Axis, specifier: SpecifierSet, path: Path) -> Iterator[Finding]:
    if not isinstance(axis, InterpreterAxis):
        return
    series = _all_series(axis)
    if not any(specifier.contains(version, prereleases=True) for version in series):
        message = f"{shown(str(specifier))} holds for no series of axis {axis.name!r}"
        yield Finding(
            "unneeded", path, f"{message}: {', '.join(map(str, series))}", "delete the rule"
        )


def _repeated_rules(matrix: Matrix) -> Iterator[Finding]:
    yield from repeated((("rules", i, "name"), rule.name) for i, rule in enumerate(matrix.rules))
    first: dict[object, str] = {}
    for i, rule in enumerate(matrix.rules):
        same = first.setdefault((rule.effect, rule.when, frozenset(rule.relaxations)), rule.name)
        if same != rule.name:
            message = (
                f"rule {rule.name!r} does what rule {same!r} does already, under the same"
                " conditions"
            )
            yield Finding("unneeded", ("rules", i), message, "delete one of them")


def _expired(matrix: Matrix, today: datetime.date) -> Iterator[Finding]:
    for i, rule in enumerate(matrix.rules):
        if rule.until is not None and rule.until < today:
            message = f"rule {rule.name!r} expired after {rule.until}"
            yield Finding(
                "expired",
                ("rules", i, "until"),
                message,
                "renew it with a new reason, or delete it",
            )


def _relaxations(matrix: Matrix) -> Iterator[Finding]:
    names = _package_names(matrix)
    subject = {axis.normalised_name for axis in matrix.packages if axis.name == matrix.subject}
    for i, rule in enumerate(matrix.rules):
        yield from repeated(
            (("rules", i, "relaxations", j, "package"), canonicalize_name(relaxation.package))
            for j, relaxation in enumerate(rule.relaxations)
            if not relaxation.ignore_requires_python
        )
        for j, relaxation in enumerate(rule.relaxations):
            path = ("rules", i, "relaxations", j)
            if (
                subject
                and relaxation.ignore_requires_python
                and canonicalize_name(relaxation.package) not in subject
            ):
                message = (
                    f"{shown(relaxation.package)} is not the subject's package;"
                    f" {choice('', subject)}"
                )
                yield Finding(
                    "not-subject",
                    (*path, "package"),
                    message,
                    "only its requires-python can be ignored",
                )
            if relaxation.as_of is not None and relaxation.as_of not in names:
                yield unknown_axis((*path, "as_of"), relaxation.as_of, names, "package axis")


def _floors(matrix: Matrix) -> Iterator[Finding]:
    axes = {axis.name: axis for axis in matrix.axes}
    yield from repeated(
        (("floors", i, "axis"), floor.axis) for i, floor in enumerate(matrix.floors)
    )
    for i, floor in enumerate(matrix.floors):
        axis = axes.get(floor.axis)
        if axis is None:
            yield unknown_axis(("floors", i, "axis"), floor.axis, axes)
        elif floor.axis == matrix.subject:
            message = f"{shown(floor.axis)} is the subject, and only floors of what it needs move"
            others = sorted(axes.keys() - {matrix.subject})
            hint = f"delete the floor; allowed: {', '.join(others)}"
            yield Finding("subject-floor", ("floors", i, "axis"), message, hint)
        elif isinstance(axis, InterpreterAxis):
            series = [str(version) for version in _all_series(axis)]
            if str(floor.at) not in series:
                message = (
                    f"{shown(str(floor.at))} is no series of axis {axis.name!r};"
                    f" {choice(str(floor.at), series)}"
                )
                yield Finding("unknown-series", ("floors", i, "at"), message)


def _prereleases(matrix: Matrix) -> Iterator[Finding]:
    names = () if matrix.prereleases is None else matrix.prereleases.axes
    dependencies = sorted(_package_names(matrix) - {matrix.subject})
    yield from repeated((("prereleases", "axes", i), name) for i, name in enumerate(names))
    for i, name in enumerate(names):
        path = ("prereleases", "axes", i)
        if name == matrix.subject:
            message = f"{shown(name)} is the subject, and a lane is for what it needs"
            hint = "`select.prereleases = true` of its axis makes coordinates of its pre-releases"
            yield Finding("meaningless", path, message, hint)
        elif name not in dependencies:
            yield unknown_axis(path, name, dependencies, "package axis of a dependency")


def _platforms(matrix: Matrix) -> Iterator[Finding]:
    if matrix.platforms and matrix.platform.endswith(("-free-threaded", "-pypy")):
        message = "other platforms are asked about for CPython's usual builds alone"
        yield Finding("meaningless", ("platforms",), message, "ask in a matrix of these")
        return
    yield from repeated((("platforms", i), name) for i, name in enumerate(matrix.platforms))
    own = own_name(matrix.platform)
    for i, name in enumerate(matrix.platforms):
        if name == own:
            message = f"{shown(name)} is the matrix's own platform, {matrix.platform}"
            yield Finding("meaningless", ("platforms", i), message, "delete it")


def _requirements(matrix: Matrix) -> Iterator[Finding]:
    axes = {axis.normalised_name: axis.name for axis in matrix.packages}
    places = (
        (("requirements",), matrix.requirements),
        (("suite", "requirements"), matrix.suite.requirements),
    )
    for path, requirements in places:
        for i, text in enumerate(requirements):
            axis = axes.get(canonicalize_name(parse_requirement(text).name))
            if axis is not None:
                message = (
                    f"{shown(text)} names the package of axis {axis!r}, whose version is the cell's"
                    " to choose"
                )
                yield Finding("coordinate-package", (*path, i), message, "delete it")


def _package_names(matrix: Matrix) -> set[str]:
    return {axis.name for axis in matrix.packages}


def _all_series(axis: InterpreterAxis) -> list[Version]:
    return sorted({Version(minor_series(release)) for release in axis.releases})


def lint_policy(
    policy: Policy, matrix: Matrix, source: str, *, today: datetime.date
) -> tuple[Fault, ...]:
    return faults_of(
        source,
        chain(
            _policy_axes(policy, matrix),
            _repeated_entries(policy),
            _expired_holds(policy, today),
            _dead(policy, matrix),
            _ends(policy, matrix),
        ),
    )


def _policy_axes(policy: Policy, matrix: Matrix) -> Iterator[Finding]:
    names = {axis.name for axis in matrix.axes}
    for key in ("windows", "holds", "known_bad"):
        for i, entry in enumerate(getattr(policy, key)):
            if entry.axis not in names:
                yield unknown_axis((key, i, "axis"), entry.axis, names)


def _repeated_entries(policy: Policy) -> Iterator[Finding]:
    yield from repeated(
        (("windows", i, "axis"), window.axis) for i, window in enumerate(policy.windows)
    )
    yield from repeated(
        (("holds", i), f"{hold.axis} {hold.at}") for i, hold in enumerate(policy.holds)
    )
    yield from repeated(
        (("known_bad", i), f"{bad.axis} {bad.version}") for i, bad in enumerate(policy.known_bad)
    )


def _expired_holds(policy: Policy, today: datetime.date) -> Iterator[Finding]:
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
