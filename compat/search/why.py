"""Explains what pins the lowest version of an axis, for each release: the declared metadata, the
needs of the code, and the results of the cells below.
"""

import ast
import contextlib
import functools
import operator
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import PackageAxis
from compat.declare.parsing import minor_series, parsed
from compat.errors import DeclarationError
from compat.files import read_if_present
from compat.index.discover import lowest_of
from compat.index.release import Release, lowest_python
from compat.results.answer import Answer, Kind, representative
from compat.results.record import Capability
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed, Outcome, brief, parse_outcome
from compat.value import StrictValue, Value, grouped

# The Python that each line of a source needs, as vermin detects it, and whether postponed
# annotations (PEP 563) would avoid it.
#
# vermin's own two modes do not distinguish that, so annotations are moved out of the source before
# it reads it. In the rest, types are distinguished from other code: `typing` has an older spelling.

MOST_SOURCE_BYTES = 2_000_000  # the largest module seen in a wheel has 1.5 MB
Series = tuple[int, int]
NeedKind = Literal["annotation", "type", "code", "guard", "guarded"]
_NOTHING: Series = (3, 0)
# vermin guesses which names are types in `X | Y`, and calls that unstable. It is nearly always
# right about annotations, but not about other code.
_UNION = "union types as "
# vermin's name for `tuple[int]` anywhere.
_GENERIC = "builtin generic type annotation "
_VARIABLE = "variable annotations"
_OPEN = "`...` among the arguments of `typing.Callable`"
_FALLBACKS = frozenset(("ImportError", "ModuleNotFoundError", "AttributeError", "NameError"))
_ASKS = {"version_info", "hexversion", "TYPE_CHECKING", "hasattr"}
_REFUSES = "a version check that refuses older Pythons"
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_MINORS = range(60)
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Need(StrictValue, frozen=True, kw_only=True, order=True):
    """A feature that a line uses, and the first Python series (3, minor) that has it.

    An `annotation` can be postponed; a `type` such as `list[int]` runs, as in an alias. A `guard`
    rejects every older Python at import. `guarded` code is below a check or beside a fallback.
    """

    line: int
    needs: Series
    feature: str
    kind: NeedKind


# Many releases share a content.
@functools.cache
def needs_of(source: bytes) -> tuple[Need, ...] | None:
    """What a module needs beyond Python 3.0, by line; None where it cannot be read here."""
    if len(source) > MOST_SOURCE_BYTES:
        return None
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
        # Lines as the interpreter counts them, and vermin, too.
        return _needs(source.decode(encoding).replace("\r\n", "\n").replace("\r", "\n"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _needs(text: str) -> tuple[Need, ...]:
    tree = ast.parse(text)
    never, evaluated = _annotations(tree)
    if any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    ):
        never, evaluated = [*never, *evaluated], []
    masked = _masked(text, [*never, *evaluated])
    # Appended on their own lines, because vermin gives the annotation of a returned value the line
    # of the function's last statement.
    behind = masked.count("\n") + 3
    lines = [f"_: {ast.unparse(annotation)}" for annotation in evaluated]
    findings: set[tuple[int, Series, str, NeedKind]] = set()
    for number, needs, feature in _detected("\n".join((masked, "", *lines))):
        if number < behind:
            kind: NeedKind = "type" if feature.startswith(_GENERIC) else "code"
            if not feature.startswith(_UNION):
                findings.add((number, needs, feature, kind))
        elif feature != _VARIABLE:
            findings.add((evaluated[number - behind].lineno, needs, feature, "annotation"))
    findings.update(_open_callables(tree, never, evaluated))
    guarded = _guarded_lines(tree)
    guards = (Need(line=n, needs=s, feature=_REFUSES, kind="guard") for n, s in _guards(tree.body))
    others = (
        Need(
            line=line, needs=needs, feature=feature.replace(_GENERIC, "builtin generic type "),
            kind="guarded" if line in guarded else kind,
        )
        for line, needs, feature, kind in findings
    )  # fmt: skip
    return tuple(sorted((*guards, *others)))


def _guards(body: list[ast.stmt]) -> Iterator[tuple[int, Series]]:
    for node in body:
        if isinstance(node, ast.If | ast.Assert) and "version_info" in _names(node.test):
            with contextlib.suppress(ValueError, TypeError, IndexError):
                first = next((m for m in _MINORS if not _refuses(node, m)), 0)
                if first:
                    yield node.lineno, (3, first)
        elif isinstance(node, ast.Try):
            yield from _guards(node.body)


def _refuses(node: ast.If | ast.Assert, minor: int) -> bool:
    holds = bool(_value(node.test, (3, minor, 0, "final", 0)))
    if isinstance(node, ast.Assert):
        return not holds
    branch = node.body if holds else node.orelse
    return any(
        isinstance(part, ast.Raise)
        or (
            isinstance(part, ast.Expr)
            and isinstance(part.value, ast.Call)
            and next(_names(part.value.func), "") == "exit"
        )
        for part in branch
    )


def _value(node: ast.expr, version: tuple[Any, ...]) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Tuple():
            return tuple(_value(element, version) for element in node.elts)
        case ast.Attribute(attr="version_info") | ast.Name(id="version_info"):
            return version
        case ast.Attribute(attr="major" | "minor" | "micro"):
            return _value(node.value, version)[("major", "minor", "micro").index(node.attr)]
        case ast.Subscript(slice=ast.Slice(lower=None, upper=ast.expr() as upper, step=None)):
            return _value(node.value, version)[: _value(upper, version)]
        case ast.Subscript():
            return _value(node.value, version)[_value(node.slice, version)]
        case ast.BoolOp():
            both = all if isinstance(node.op, ast.And) else any
            return both([_value(part, version) for part in node.values])
        case ast.UnaryOp(op=ast.Not()):
            return not _value(node.operand, version)
        case ast.Compare(ops=[op], comparators=[other]) if type(op) in _COMPARED:
            return _COMPARED[type(op)](_value(node.left, version), _value(other, version))
    raise ValueError("it asks for something else")


@functools.cache
def _config() -> Any:
    from vermin import Config  # type: ignore[import-untyped]
    from vermin.formats import ParsableFormat  # type: ignore[import-untyped]

    config = Config()
    config.set_format(ParsableFormat())
    config.set_eval_annotations(True)
    config.set_parse_comments(False)  # `# novermin` hides a need; it does not remove it
    config.enable_feature("union-types")
    return config


def _detected(text: str) -> set[tuple[int, Series, str]]:
    # vermin's findings, as line, series and feature. Its parsable lines are
    # `path:line:column:python2:python3:feature`. Its rules take a tenth of a second to load; stored
    # needs do not load them.
    from vermin import SourceVisitor
    from vermin.parser import Parser  # type: ignore[import-untyped]
    from vermin.utility import InvalidVersionException  # type: ignore[import-untyped]

    node, _, _, error = Parser(text, "").detect(_config())
    if node is None:
        raise SyntaxError(error or "vermin cannot read it")
    visitor = SourceVisitor(_config(), "", text)
    visitor.set_no_lines(set())
    visitor.tour(node)
    try:
        visitor.minimum_versions()  # without it the output is incomplete
    except InvalidVersionException as fault:
        raise SyntaxError(f"of Python 2: {fault}") from fault
    findings = set()
    for finding in visitor.output_text().splitlines():
        fields = finding.split(":", 5)
        if len(fields) == 6 and fields[1].isdigit() and fields[4].startswith("3."):
            minor = fields[4].removeprefix("3.")
            if minor.isdigit() and (3, int(minor)) > _NOTHING:
                findings.add((int(fields[1]), (3, int(minor)), fields[5]))
    return findings


def _open_callables(
    tree: ast.Module, never: list[ast.expr], evaluated: list[ast.expr]
) -> Iterator[tuple[int, Series, str, NeedKind]]:
    # Yield what vermin does not detect: `Callable[[int, ...], int]`, for which `typing` raises a
    # TypeError before Python 3.9.
    ignored = {id(node) for annotation in never for node in ast.walk(annotation)}
    annotated = {id(node) for annotation in evaluated for node in ast.walk(annotation)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Subscript)
            and id(node) not in ignored
            and next(_names(node.value), "") == "Callable"
            and isinstance(node.slice, ast.Tuple)
            and isinstance(node.slice.elts[0], ast.List)
            and any(
                isinstance(element, ast.Constant) and element.value is ...
                for element in node.slice.elts[0].elts
            )
        ):
            yield node.lineno, (3, 9), _OPEN, "annotation" if id(node) in annotated else "type"


def _annotations(tree: ast.Module) -> tuple[list[ast.expr], list[ast.expr]]:
    never: list[ast.expr] = []
    evaluated: list[ast.expr] = []

    def walk(node: ast.AST, is_local: bool) -> None:
        if isinstance(node, ast.AnnAssign):
            (never if is_local else evaluated).append(node.annotation)
        elif isinstance(node, ast.arg) and node.annotation is not None:
            evaluated.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            evaluated.append(node.returns)
        for name, value in ast.iter_fields(node):
            inner = is_local
            if isinstance(node, _Function):
                inner = is_local or name == "body"
            elif isinstance(node, ast.ClassDef):
                inner = is_local and name != "body"
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    walk(child, inner)

    walk(tree, False)
    return never, evaluated


def _masked(text: str, annotations: list[ast.expr]) -> str:
    lines = [line.encode() for line in text.split("\n")]
    for node in annotations:
        first, start = node.lineno - 1, node.col_offset
        last, end = (node.end_lineno or node.lineno) - 1, node.end_col_offset or start
        # Replaced from the end, so that earlier offsets in a line stay valid.
        if first == last:
            lines[first] = lines[first][:start] + b"0".ljust(end - start) + lines[first][end:]
            continue
        # Brackets keep the line breaks of an annotation within one expression.
        lines[first] = lines[first][:start] + b"(0"
        for number in range(first + 1, last):
            lines[number] = b""
        lines[last] = b" " * (end - 1) + b")" + lines[last][end:]
    return b"\n".join(lines).decode()


def _guarded_lines(tree: ast.Module) -> set[int]:
    # The lines of guarded code: below a test that names the version or TYPE_CHECKING, or in a `try`
    # with a fallback for a missing name.
    lines: set[int] = set()
    for node in ast.walk(tree):
        is_guard = False
        if isinstance(node, ast.If | ast.IfExp):
            is_guard = bool(_ASKS & set(_names(node.test)))
        elif isinstance(node, ast.Try):
            kinds = [handler.type for handler in node.handlers]
            is_guard = any(kind is None or _FALLBACKS & set(_names(kind)) for kind in kinds)
        if is_guard:
            assert isinstance(node, ast.stmt | ast.expr), "a guard is one of these"
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def _names(node: ast.expr) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


# ---- the needs of a matrix's releases, as a text stored beside the matrix, which answers
# `compat find reason` without a download


NEEDS = "needs.json"
FORMAT = 1
MOST_PLACES = 8  # of each kind and series; the rest is counted
_MOST_BYTES = 8_000_000
_OLDEST: Series = (3, 7)  # needs of Pythons older than any that compat runs are ignored

_Words = Annotated[str, msgspec.Meta(max_length=500)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_SeriesText = Annotated[str, msgspec.Meta(pattern=r"^3\.[0-9]{1,2}$(?!\n)")]
_VersionText = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class NeedPlace(StrictValue, frozen=True, kw_only=True):
    """A line of a wheel that needs a Python, and the feature."""

    file: _Words
    line: _Count
    feature: _Words


class SeriesNeeds(StrictValue, frozen=True, kw_only=True):
    """The needs of one kind and Python series: number of lines and files, and the first lines."""

    kind: NeedKind
    series: _SeriesText
    places: _Count
    files: _Count
    first: Annotated[tuple[NeedPlace, ...], msgspec.Meta(max_length=MOST_PLACES)]


class ReleaseNeeds(StrictValue, frozen=True, kw_only=True):
    """What the modules of a wheel need of Python, oldest first; `unread` could not be read."""

    release: _VersionText
    wheel: _Words
    modules: _Count
    unread: _Count
    needs: Annotated[tuple[SeriesNeeds, ...], msgspec.Meta(max_length=100)]

    def lowest(self, kind: NeedKind, tested: Version | None) -> Version | None:
        """Needs above a Python on which the release was `tested` are omitted."""
        series = (Version(n.series) for n in self.needs if n.kind == kind)
        return max((s for s in series if tested is None or s <= tested), default=None)

    def above(self, series: Version) -> tuple[SeriesNeeds, ...]:
        return tuple(n for n in self.needs if n.kind != "guarded" and Version(n.series) > series)


class Needs(StrictValue, frozen=True, kw_only=True):
    """All stored needs of a matrix's releases; `changed` was written until November 2026."""

    format: Annotated[int, msgspec.Meta(ge=FORMAT, le=FORMAT)] = FORMAT
    read_by: _Words = ""
    releases: Annotated[tuple[ReleaseNeeds, ...], msgspec.Meta(max_length=5000)] = ()
    changed: tuple[Any, ...] = ()

    def of(self, release: Version) -> ReleaseNeeds | None:
        return next((r for r in self.releases if Version(r.release) == release), None)

    def with_releases(self, read: Iterable[ReleaseNeeds], read_by: str) -> "Needs":
        merged = {n.release: n for n in (*self.releases, *read)}
        ordered = sorted(merged.values(), key=lambda n: Version(n.release))
        return Needs(releases=tuple(ordered), read_by=read_by)


def release_needs(release: Version, wheel: str, modules: Mapping[str, bytes]) -> ReleaseNeeds:
    places: dict[tuple[NeedKind, Series], list[NeedPlace]] = defaultdict(list)
    unread = 0
    for path, source in sorted(modules.items()):
        needs = needs_of(source)
        if needs is None:
            unread += 1
            continue
        for need in needs:
            if need.needs >= _OLDEST:
                place = NeedPlace(file=path, line=need.line, feature=need.feature[:500])
                places[need.kind, need.needs].append(place)
    return ReleaseNeeds(
        release=str(release),
        wheel=wheel,
        modules=len(modules) - unread,
        unread=unread,
        needs=tuple(
            SeriesNeeds(
                kind=kind,
                series=f"{series[0]}.{series[1]}",
                places=len(lines),
                files=len({place.file for place in lines}),
                first=tuple(lines[:MOST_PLACES]),
            )
            for (kind, series), lines in sorted(places.items())
        ),
    )


def encode_needs(needs: Needs) -> str:
    releases = ",\n".join(msgspec.json.encode(n).decode() for n in needs.releases)
    by = msgspec.json.encode(needs.read_by).decode()
    return f'{{"format": {FORMAT}, "read_by": {by}, "releases": [\n{releases}\n]}}\n'


def decode_needs(text: str, source: str) -> Needs:
    try:
        if len(text) > _MOST_BYTES:
            raise ValueError(f"it is larger than {_MOST_BYTES} bytes")
        needs = msgspec.json.decode(text, type=Needs)
        # What the types cannot express; an InvalidVersion is a ValueError, too.
        releases = [release.release for release in needs.releases]
        if len(set(map(Version, releases))) < len(releases):
            raise ValueError("a release stands there twice")
    except (ValueError, RecursionError) as fault:
        hint = "compat find reason MATRIX python --all --write makes it anew once it is deleted"
        raise DeclarationError.of(f"has no needs: {fault}", path=source, hint=hint) from fault
    return msgspec.structs.replace(needs, changed=())


def stored_needs(folder: Path) -> Needs:
    text = read_if_present(folder / NEEDS)
    source = f"matrices/{folder.name}/{NEEDS}"
    return Needs() if text is None else decode_needs(text.decode(errors="replace"), source)


# Hardest to change first: build a wheel for another Python, rewrite code, spell a type as `typing`
# does, postpone an annotation, lift a version check, change a declaration. A dependency is last
# because it is known from runs alone.
Keeper = Literal["wheel", "code", "type", "annotation", "guard", "declared", "dependency"]
KEEPERS: tuple[Keeper, ...] = get_args(Keeper)
_ANY = Version("3.0")


class CellBelow(Value, frozen=True, kw_only=True):
    """A cell below the lowest supported version; `is_by_rule`: what a rule freed blocked it."""

    cell: str
    version: str
    kind: Kind
    outcome: str
    failing: tuple[Capability, ...] = ()
    is_by_rule: bool = False


class PythonFloor(Value, frozen=True, kw_only=True):
    """What keeps a release from an older Python.

    `series` is the lowest that nothing known rules out; `keepers` rule out the one below, hardest
    to change first, and `bounds` has the series of each. `works_on` is the lowest Python on which a
    tested cell works, in part at least; needs beyond it are `unreached`: no capability used them.
    `below` has the best cell on each Python below both, the newest first. `needs` has what vermin
    found in `modules`, None where the wheel was not read; `unread` modules could not be.
    """

    release: str
    requires_python: str
    series: str
    keepers: tuple[Keeper, ...]
    bounds: dict[Keeper, str]
    modules: int
    unread: int
    needs: tuple[SeriesNeeds, ...] | None
    works_on: str
    below: tuple[CellBelow, ...]
    unreached: tuple[SeriesNeeds, ...]


class PackageFloor(Value, frozen=True, kw_only=True):
    """What keeps a release from an older version of another package of the matrix.

    `lower` is the lowest version that the `requirements` on it admit, `works_on` the lowest with
    which a tested cell works, if in part. `below` has the best tested cell of each below `lower`.
    """

    release: str
    package: str
    requirements: tuple[str, ...]
    lower: str
    works_on: str
    below: tuple[CellBelow, ...]


def subject_release(snapshot: Snapshot, version: Version) -> Release | None:
    members = snapshot.catalogue.members(snapshot.matrix.subject_axis, version)
    return next((r for r in reversed(members) if not r.yanked), None)


def subject_coordinates(snapshot: Snapshot) -> tuple[Version, ...]:
    axis, catalogue = snapshot.matrix.subject_axis, snapshot.catalogue
    if all(package.name != axis.normalised_name for package in catalogue.packages):
        return ()  # nothing was discovered yet
    return catalogue.coordinates(axis)


def python_floor(snapshot: Snapshot, needs: Needs, version: Version) -> PythonFloor:
    matrix = snapshot.matrix
    release = subject_release(snapshot, version)
    published = None if release is None else release.published
    requires = None if published is None else published.requires_python
    read = None if release is None else needs.of(release.version)
    oldest = min(matrix.interpreters.series, default=_ANY)
    axis = matrix.interpreters.name
    entries = _tested(snapshot, version)
    working = [e for e in entries if e.kind in ("works", "partial")]
    works_on = min((e.cell.on(axis).version for e in working), default=None)
    bounds: dict[Keeper, Version] = {}
    if release is not None and (wheel := lowest_python(release)) is not None:
        bounds["wheel"] = wheel
    kinds: tuple[Literal["code", "type", "annotation", "guard"], ...]
    kinds = ("code", "type", "annotation", "guard")
    for kind in kinds:
        if read is not None and (lowest := read.lowest(kind, works_on)) is not None:
            bounds[kind] = lowest
    if requires is not None and (declared := lowest_of(requires, exact=True)) is not None:
        bounds["declared"] = Version(minor_series(declared))
    floor = max([oldest, *bounds.values(), *([] if works_on is None else [works_on])])
    below = _below(snapshot, entries, axis, floor)
    nearest = below[0].outcome if below and not below[0].is_by_rule else ""
    if works_on == floor and nearest and _is_unobtainable(parse_outcome(nearest)):
        bounds["dependency"] = floor
    highest = max(bounds.values(), default=_ANY)
    keepers = tuple(k for k in KEEPERS if bounds.get(k) == highest) if highest > oldest else ()
    return PythonFloor(
        release=str(version if release is None else release.version),
        requires_python=str(requires or ""),
        series=str(max(highest, oldest)),
        keepers=keepers,
        bounds={keeper: str(bounds[keeper]) for keeper in KEEPERS if keeper in bounds},
        unreached=() if read is None or works_on is None else read.above(works_on),
        works_on=str(works_on or ""),
        below=below,
        modules=0 if read is None else read.modules,
        unread=0 if read is None else read.unread,
        needs=None if read is None else read.needs,
    )


def package_floor(snapshot: Snapshot, axis: PackageAxis, version: Version) -> PackageFloor:
    release = subject_release(snapshot, version)
    published = None if release is None else release.published
    texts = () if published is None else published.requires_dist
    lines = [
        (text, requirement)
        for text in texts
        if (requirement := parsed(text)) is not None
        and canonicalize_name(requirement.name) == axis.normalised_name
        and "extra" not in str(requirement.marker)
    ]
    bounds = (lowest_of(line.specifier, exact=True) for _, line in lines)
    lower = max(filter(None, bounds), default=None)
    entries = _tested(snapshot, version)
    working = [e.cell.on(axis.name).version for e in entries if e.kind in ("works", "partial")]
    # A series represents its releases: 2.9 is not below 2.9.1.
    floor = None if lower is None else axis.coordinate(lower)
    return PackageFloor(
        release=str(version if release is None else release.version),
        package=axis.package,
        requirements=tuple(text for text, _ in lines),
        lower=str(lower or ""),
        works_on=str(min(working, default="")),
        below=() if floor is None else _below(snapshot, entries, axis.name, floor),
    )


def _tested(snapshot: Snapshot, version: Version) -> list[Answer]:
    return [entry for entry in snapshot.known_on(snapshot.matrix.subject, version) if entry.runs]


def _below(
    snapshot: Snapshot, entries: Iterable[Answer], axis: str, floor: Version
) -> tuple[CellBelow, ...]:
    by_version = grouped((entry.cell.on(axis).version, entry) for entry in entries)
    ordered = sorted((each for each in by_version.items() if each[0] < floor), reverse=True)
    cells = []
    for version, own in ordered:
        entry, is_by_rule = representative(own), False
        outcome, failing = entry.outcome, entry.failing("combination", "unexplained")
        if (
            entry.cell.recipe == "relaxed"
            and isinstance(outcome, Failed)
            and _is_unobtainable(outcome)
        ):
            free = snapshot.feasibility.rules.relaxations(entry.cell)
            is_by_rule = canonicalize_name(outcome.subject.split("==")[0]) in free
        below = CellBelow(
            cell=entry.cell.id,
            version=str(version),
            kind=entry.kind,
            outcome="" if outcome is None else str(brief(outcome)),
            failing=tuple(c for c in entry.capabilities if c.id in failing),
            is_by_rule=is_by_rule,
        )
        cells.append(below)
    return tuple(cells)


def _is_unobtainable(outcome: Outcome | None) -> bool:
    return isinstance(outcome, Failed) and outcome.stage in ("lock", "install")
