"""Reads and checks the declarations of one matrix, or reports every fault; JSON schemas."""

import datetime
import inspect
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any, TypeVar

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from compat.declare import matrix
from compat.declare.matrix import (
    ANY,
    InterpreterAxis,
    Matrix,
    Outside,
    PackageAxis,
    Policy,
    decode_custom,
    own_name,
    parse_pin,
)
from compat.declare.parsing import (
    KINDS,
    Finding,
    Path,
    choice,
    faults_of,
    kind_of,
    minor_series,
    parse_requirement,
    parse_specifier,
    parse_version,
    repeated,
    shown,
    toml_document,
    unknown_axis,
)
from compat.errors import DeclarationError, Fault
from compat.value import StrictValue, Value

# The JSON schemas of declarations (draft 2020-12), and every fault that they find.

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REFERENCE = "#/$defs/"


def matrix_schema() -> dict[str, Any]:
    return _schema(matrix.Matrix, "A declared matrix: matrix.toml")


def policy_schema() -> dict[str, Any]:
    return _schema(matrix.Policy, "A declared policy: policy.toml")


def schema_text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


@cache
def definitions() -> dict[str, dict[str, Any]]:
    return {**_derived(matrix.Matrix)["$defs"], **_derived(matrix.Policy)["$defs"]}


def _schema(kind: type, title: str) -> dict[str, Any]:
    derived = _derived(kind)
    description = derived["$defs"][kind.__name__]["description"]
    return {"$schema": DIALECT, "title": title, "description": description, **derived}


def _derived(kind: type) -> dict[str, Any]:
    derived = msgspec.json.schema(kind, schema_hook=matrix.schema_custom)
    for definition in derived["$defs"].values():
        paragraphs = inspect.cleandoc(definition["description"]).split("\n\n")
        definition["description"] = "\n\n".join(" ".join(text.split()) for text in paragraphs)
    return derived


# Enough to fill a screen several times; a hostile document would have tens of thousands.
MOST_FOUND = 500


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{shown(text)} is not a date such as 2027-01-31") from error


_FORMATS: dict[str, tuple[str, Callable[[str], object]]] = {
    "condition": ("bad-specifier", matrix.parse_condition),
    "date": ("bad-value", _date),
    "pep440-specifier": ("bad-specifier", parse_specifier),
    "pep440-version": ("bad-version", parse_version),
    "pin": ("bad-specifier", matrix.parse_pin),
    "requirement": ("bad-requirement", parse_requirement),
}
_MSGSPEC_PATH = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_MSGSPEC_PART = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>[0-9]+)\]")


def explained(document: dict[str, Any], kind: type[StrictValue], source: str) -> tuple[Fault, ...]:
    """Return the faults of a document of that kind: at most one a key, sorted by place."""
    collected = list(islice(_faults(document, {"$ref": REFERENCE + kind.__name__}, ()), MOST_FOUND))
    first: dict[Path, Finding] = {}
    for finding in collected:
        first.setdefault(finding.path, finding)
    return faults_of(source, first.values(), complete=len(collected) < MOST_FOUND)


def _faults(value: Any, schema: dict[str, Any], path: Path) -> Iterator[Finding]:
    if "$ref" in schema:
        yield from _reference(value, schema["$ref"], path)
        return
    if "anyOf" in schema:
        yield from _any_of(value, schema, path)
        return
    if "enum" in schema:
        if value not in schema["enum"]:
            message = f"{shown(value)} is not allowed; {choice(str(value), schema['enum'])}"
            yield Finding("bad-value", path, message)
        return
    name = "date" if schema.get("format") == "date" else schema.get("type")
    if name == "date" and isinstance(value, str):
        name = "string"
    # In Python a boolean is an integer and a moment a date; in TOML they are not.
    if name is not None and type(value) is not KINDS[name][0]:
        yield _wrong_type(name, value, path)
    elif isinstance(value, dict):
        yield from _of_table(value, schema, path)
    elif isinstance(value, list):
        yield from _of_bounds(len(value), schema, path, "Items", f"has {len(value)} entries")
        for index, entry in enumerate(value[: schema.get("maxItems")]):
            yield from _faults(entry, schema["items"], (*path, index))
    elif isinstance(value, str):
        yield from _of_text(value, schema, path)
    elif isinstance(value, int):
        yield from _of_bounds(value, schema, path, "imum", f"{shown(value)} is out of range")


def _of_bounds(
    number: int, schema: dict[str, Any], path: Path, ending: str, wrong: str
) -> Iterator[Finding]:
    least, most = schema.get(f"min{ending}"), schema.get(f"max{ending}")
    if (least is not None and number < least) or (most is not None and number > most):
        allowed = f"at most {most}" if least is None else f"{least} to {most}"
        yield Finding("bad-value", path, f"{wrong}; allowed: {allowed}")


def _of_text(text: str, schema: dict[str, Any], path: Path) -> Iterator[Finding]:
    if "pattern" in schema and re.search(schema["pattern"], text) is None:
        yield Finding("bad-value", path, f"{shown(text)} is not {schema['description']}")
    if "format" in schema:
        code, parse = _FORMATS[schema["format"]]
        try:
            parse(text)
        except ValueError as error:
            yield Finding(code, path, str(error))
    yield from _of_bounds(len(text), schema, path, "Length", f"has {len(text)} characters")


def _of_table(table: dict[str, Any], schema: dict[str, Any], path: Path) -> Iterator[Finding]:
    known = schema.get("properties", {})
    allowed = schema.get("additionalProperties", True)
    for key, value in table.items():
        if key in known:
            yield from _faults(value, known[key], (*path, key))
        elif allowed is False:
            message = f"unknown key {shown(key)}; {choice(key, sorted(known))}"
            yield Finding("unknown-key", (*path, key), message)
        elif allowed is not True:
            yield from _faults(value, allowed, (*path, key))
    for key in schema.get("required", ()):
        if key not in table:
            yield Finding("missing-key", (*path, key), f"missing key {key!r}")


def _reference(value: Any, reference: str, path: Path) -> Iterator[Finding]:
    # Follow a reference; where the schema finds nothing, ask the type itself, which knows its
    # invariants.
    name = reference.removeprefix(REFERENCE)
    sound = True
    for finding in _faults(value, definitions()[name], path):
        sound = False
        yield finding
    if not sound:
        return
    kind = next(kind for kind in StrictValue.__subclasses__() if kind.__name__ == name)
    try:
        msgspec.convert(value, kind, dec_hook=matrix.decode_custom)
    except msgspec.ValidationError as error:
        message = str(error)
        match = _MSGSPEC_PATH.search(message)
        parts = _MSGSPEC_PART.finditer(match["path"]) if match else ()
        inner = (part["key"] or int(part["index"]) for part in parts)
        yield Finding("bad-value", (*path, *inner), _MSGSPEC_PATH.sub("", message))


def _any_of(value: Any, schema: dict[str, Any], path: Path) -> Iterator[Finding]:
    # Follow the branch that the discriminator names, or else the first: the others are null, which
    # TOML has not.
    if "discriminator" not in schema:
        yield from _faults(value, schema["anyOf"][0], path)
    elif not isinstance(value, dict):
        yield _wrong_type("object", value, path)
    else:
        key, mapping = schema["discriminator"]["propertyName"], schema["discriminator"]["mapping"]
        word = value.get(key)
        if key not in value:
            message = f"missing key {key!r}; {choice('', mapping)}"
            yield Finding("missing-key", (*path, key), message)
        elif not isinstance(word, str):
            yield _wrong_type("string", word, (*path, key))
        elif word not in mapping:
            message = f"{shown(word)} is not allowed; {choice(word, mapping)}"
            yield Finding("bad-value", (*path, key), message)
        else:
            yield from _faults(value, {"$ref": mapping[word]}, path)


def _wrong_type(name: str, value: Any, path: Path) -> Finding:
    got = shown(value) if isinstance(value, bool | int | float | str) else kind_of(value)
    remedy = ""
    match name, value:
        case "string", int() | float() | datetime.date() if not isinstance(value, bool):
            remedy = f'put it in quotes: "{shown(value)}"'
        case "array", dict() if len(path) == 1:
            remedy = f"write [[{path[0]}]] instead of [{path[0]}]"
        case "object", list() if len(path) == 1:
            remedy = f"write [{path[0]}] instead of [[{path[0]}]]"
    return Finding("wrong-type", path, f"expected {KINDS[name][1]}, got {got}", remedy)


Declaration = TypeVar("Declaration", bound=StrictValue)


def decode_matrix(text: bytes, source: str) -> Matrix:
    """Raises DeclarationError with all faults but those that span several keys or files."""
    return _decode(text, source, Matrix)


def decode_policy(text: bytes, source: str) -> Policy:
    return _decode(text, source, Policy)


def _decode(text: bytes, source: str, kind: type[Declaration]) -> Declaration:
    parsed = toml_document(text, source)
    try:
        return msgspec.convert(parsed, kind, dec_hook=decode_custom)
    except msgspec.ValidationError as error:
        # Sound declarations never need it.

        raise DeclarationError(*explained(parsed, kind, source)) from error


class Declared(Value, frozen=True, kw_only=True):
    """What people declared about one matrix; `policy` is None when its folder has none."""

    matrix: Matrix
    policy: Policy | None = None


def load(matrix: bytes, policy: bytes | None, *, folder: str, today: datetime.date) -> Declared:
    """Raises DeclarationError with the faults of both files of `matrices/<folder>/`."""
    of_matrix, of_policy = f"matrices/{folder}/matrix.toml", f"matrices/{folder}/policy.toml"
    faults: list[Fault] = []
    declared_matrix: Matrix | None = None
    declared_policy: Policy | None = None
    try:
        declared_matrix = decode_matrix(matrix, of_matrix)
        faults += lint_matrix(declared_matrix, of_matrix, folder=folder, today=today)
    except DeclarationError as error:
        faults += error.faults
    try:
        declared_policy = None if policy is None else decode_policy(policy, of_policy)
        if declared_matrix is not None and declared_policy is not None:
            faults += lint_policy(declared_policy, declared_matrix, of_policy, today=today)
    except DeclarationError as error:
        faults += error.faults
    if faults or declared_matrix is None:
        raise DeclarationError(*faults)
    return Declared(matrix=declared_matrix, policy=declared_policy)


def lint_matrix(
    matrix: Matrix, source: str, *, folder: str, today: datetime.date
) -> tuple[Fault, ...]:
    parts = (_axes, _rules, _known, _floors, _platforms, _requirements)
    findings = [finding for part in parts for finding in part(matrix)]
    if matrix.name != folder:
        message = f"{shown(matrix.name)} is not the name of the matrix's folder; allowed: {folder}"
        findings.append(Finding("name", ("name",), message))
    for i, rule in enumerate(matrix.rules):
        findings += _expired(("rules", i, "until"), f"rule {rule.name!r}", rule.until, today)
    return faults_of(source, findings)


def _axes(matrix: Matrix) -> Iterator[Finding]:
    packages = {axis.name for axis in matrix.packages}
    if matrix.subject not in packages:
        yield unknown_axis(("subject",), matrix.subject, packages, "package axis")
    count = sum(isinstance(axis, InterpreterAxis) for axis in matrix.axes)
    if count != 1:
        message = f"has {count} axes of kind 'interpreter'; allowed: exactly one"
        yield Finding("interpreter-axis", ("axes",), message)
    for key in ("name", "short"):
        yield from repeated((("axes", i, key), getattr(a, key)) for i, a in enumerate(matrix.axes))
    yield from repeated(
        (("axes", i, "package"), axis.normalised_name)
        for i, axis in enumerate(matrix.axes)
        if isinstance(axis, PackageAxis)
    )
    for i, axis in enumerate(matrix.axes):
        if isinstance(axis, InterpreterAxis):
            for j, release in enumerate(axis.releases):
                is_final = str(release) == release.base_version and not release.epoch
                if len(release.release) not in (2, 3) or not is_final:
                    message = (
                        f"{shown(str(release))} is not a series of Python such as '3.11', or a"
                        " final patch such as '3.11.4'"
                    )
                    yield Finding("bad-version", ("axes", i, "releases", j), message)
            series = enumerate(map(minor_series, axis.releases))
            yield from repeated((("axes", i, "releases", j), each) for j, each in series)
            continue
        select, path = axis.select, ("axes", i, "select")
        yield from _unsatisfiable((*path, "specifier"), select.specifier)
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


def _rules(matrix: Matrix) -> Iterator[Finding]:
    axes = {axis.name: axis for axis in matrix.axes}
    packages = {axis.name for axis in matrix.packages}
    movable = sorted(packages - {matrix.subject})
    subject = {axis.normalised_name for axis in matrix.packages if axis.name == matrix.subject}
    yield from repeated((("rules", i, "name"), rule.name) for i, rule in enumerate(matrix.rules))
    first: dict[object, str] = {}
    for i, rule in enumerate(matrix.rules):
        same = first.setdefault((rule.effect, rule.when, frozenset(rule.relaxations)), rule.name)
        if same != rule.name:
            does = f"rule {rule.name!r} does what rule {same!r} does already"
            message = f"{does}, under the same conditions"
            yield Finding("unneeded", ("rules", i), message, "delete one of them")
        if rule.effect == "exclude" and not rule.when.conditions:
            message = "an exclusion without conditions excludes every cell"
            yield Finding("excludes-all", ("rules", i, "when"), message)
        for name, specifier in rule.when.conditions:
            place = ("rules", i, "when", name)
            yield from _unsatisfiable(place, specifier)
            axis = axes.get(name)
            if axis is None:
                yield unknown_axis(place, name, axes)
            elif isinstance(specifier, str):
                if name not in movable:
                    message = (
                        f"{specifier!r} has no meaning on axis {name!r}: the subject pins the"
                        f" packages of other axes only; {choice(name, movable)}"
                    )
                    yield Finding("meaningless", place, message)
            elif isinstance(axis, InterpreterAxis) and not specifier.is_unsatisfiable():
                series = [*axis.series]
                if not any(specifier.contains(version, prereleases=True) for version in series):
                    message = f"{shown(str(specifier))} holds for no series of axis {axis.name!r}"
                    message = f"{message}: {', '.join(map(str, series))}"
                    yield Finding("unneeded", place, message, "delete the rule")
        yield from repeated(
            (("rules", i, "relaxations", j, "package"), canonicalize_name(relaxation.package))
            for j, relaxation in enumerate(rule.relaxations)
            if not relaxation.ignore_requires_python
        )
        for j, relaxation in enumerate(rule.relaxations):
            path = ("rules", i, "relaxations", j)
            yield from _unsatisfiable((*path, "to"), parse_pin(relaxation.to or ANY))
            is_subject = canonicalize_name(relaxation.package) in subject or not subject
            if relaxation.ignore_requires_python and not is_subject:
                what = f"{shown(relaxation.package)} is not the subject's package"
                hint = "only its requires-python can be ignored"
                message = f"{what}; {choice('', subject)}"
                yield Finding("not-subject", (*path, "package"), message, hint)
            if relaxation.as_of is not None and relaxation.as_of not in packages:
                yield unknown_axis((*path, "as_of"), relaxation.as_of, packages, "package axis")


def _expired(
    path: Path, what: str, until: datetime.date | None, today: datetime.date
) -> Iterator[Finding]:
    if until is not None and until < today:
        message = f"{what} expired after {until}"
        yield Finding("expired", path, message, "renew it with a new reason, or delete it")


def _floors(matrix: Matrix) -> Iterator[Finding]:
    axes = {axis.name: axis for axis in matrix.axes}
    yield from repeated((("floors", i, "axis"), f.axis) for i, f in enumerate(matrix.floors))
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
            wanted, series = str(floor.at), [*map(str, axis.series)]
            if wanted not in series:
                what = f"{shown(wanted)} is no series of axis {axis.name!r}"
                message = f"{what}; {choice(wanted, series)}"
                yield Finding("unknown-series", ("floors", i, "at"), message)


def _platforms(matrix: Matrix) -> Iterator[Finding]:
    names = () if matrix.prereleases is None else matrix.prereleases.axes
    dependencies = sorted({axis.name for axis in matrix.packages} - {matrix.subject})
    yield from repeated((("prereleases", "axes", i), name) for i, name in enumerate(names))
    for i, name in enumerate(names):
        path = ("prereleases", "axes", i)
        if name == matrix.subject:
            message = f"{shown(name)} is the subject, and a variant is for its dependencies"
            hint = "`select.prereleases = true` of its axis makes coordinates of its pre-releases"
            yield Finding("meaningless", path, message, hint)
        elif name not in dependencies:
            yield unknown_axis(path, name, dependencies, "package axis of a dependency")
    if matrix.platforms and matrix.platform.endswith(("-free-threaded", "-pypy")):
        message = "other platforms are resolved only for CPython's usual builds"
        yield Finding("meaningless", ("platforms",), message, "declare them in a matrix of these")
        return
    yield from repeated((("platforms", i), name) for i, name in enumerate(matrix.platforms))
    own = own_name(matrix.platform)
    for i, platform in enumerate(matrix.platforms):
        if platform == own:
            message = f"{shown(platform)} is the matrix's own platform, {matrix.platform}"
            yield Finding("meaningless", ("platforms", i), message, "delete it")


def _requirements(matrix: Matrix) -> Iterator[Finding]:
    axes = {axis.normalised_name: axis.name for axis in matrix.packages}
    lists: dict[Path, tuple[str, ...]] = {("requirements",): matrix.requirements}
    lists["suite", "requirements"] = matrix.suite.requirements
    for path, i, text in ((path, *each) for path, own in lists.items() for each in enumerate(own)):
        axis = axes.get(canonicalize_name(parse_requirement(text).name))
        if axis is not None:
            message = f"{shown(text)} names the package of axis {axis!r}, whose version is the"
            message = f"{message} cell's to choose"
            yield Finding("coordinate-package", (*path, i), message, "delete it")


def lint_policy(
    policy: Policy, matrix: Matrix, source: str, *, today: datetime.date
) -> tuple[Fault, ...]:
    return faults_of(source, _of_policy(policy, matrix, today))


def _of_policy(policy: Policy, matrix: Matrix, today: datetime.date) -> Iterator[Finding]:
    names, floors = {axis.name for axis in matrix.axes}, {floor.axis for floor in matrix.floors}
    entries = (("windows", "moves"), ("holds", "holds"), ("known_bad", ""))
    for key, does in entries:
        for i, entry in enumerate(getattr(policy, key)):
            if entry.axis not in names:
                yield unknown_axis((key, i, "axis"), entry.axis, names)
            elif does and entry.axis not in floors:
                noun = key.removesuffix("s")
                remedy = "" if entry.axis == matrix.subject else "declare the floor, or "
                message = f"{does} nothing: the matrix declares no floor of axis {entry.axis!r}"
                hint = f"{remedy}delete the {noun}"
                yield Finding(f"dead-{noun}", (key, i, "axis"), message, hint)
    yield from repeated((("windows", i, "axis"), w.axis) for i, w in enumerate(policy.windows))
    yield from repeated((("holds", i), f"{h.axis} {h.at}") for i, h in enumerate(policy.holds))
    yield from repeated(
        (("known_bad", i), f"{bad.axis} {bad.version}") for i, bad in enumerate(policy.known_bad)
    )
    for i, hold in enumerate(policy.holds):
        what = f"the hold on axis {hold.axis!r}"
        yield from _expired(("holds", i, "until"), what, hold.until, today)
    packages = {axis.name for axis in matrix.packages}
    for i, window in enumerate(policy.windows):
        if window.end_of_life and window.axis in packages:
            which = f"the packages of axis {window.axis!r}"
            message = f"no end of life is known of {which}, only of interpreters"
            hint = "give it `months` or `minors`"
            yield Finding("no-end-of-life", ("windows", i, "end_of_life"), message, hint)
