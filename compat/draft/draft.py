"""The draft of a matrix: what a project declares and the index has -> texts that are sound
together, and the reason of each choice.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.load import load
from compat.declare.matrix import Matrix
from compat.declare.patches import patch_of
from compat.draft.declaration_text import DraftAxis, DraftMatrix, matrix_text, policy_text
from compat.draft.library import KnownLibrary, pythons
from compat.draft.naming import axis_name, short_name
from compat.draft.smoke_cells import has_wheels, smoke_cells
from compat.draft.suite_draft import SuiteDraft
from compat.draft.weighed import Target, Weighed, lower_bound, minor_series_from, weighed
from compat.errors import NoPage
from compat.index.discover import THREADS, discover
from compat.index.kept import encode_catalogue
from compat.index.release import Package
from compat.index.source import ReleaseSource
from compat.plan.plan import Feasible, plan
from compat.value import Value

# A first matrix runs within minutes: at five seconds a cell, which is usual for a small library,
# this is a quarter of an hour on one worker. Chosen on 2026-11-23.
MOST_CELLS = 160
MOST_SERIES_OF_SUBJECT = 3
MOST_DEPENDENCIES = 2
MOST_ASKED = 40  # dependencies whose page is asked for


class DraftRequest(Value, frozen=True, kw_only=True):
    """Where and when a draft is made: the architecture of this machine, the series of Python that
    it has, and the day.
    """

    machine: str
    here: frozenset[Version]
    day: datetime.date


class Draft(Value, frozen=True, kw_only=True):
    """A drafted matrix.

    `matrix` is it as it is declared, `texts` are its files by their path below `matrices/<name>/`.
    `reasons` are sentences about what is in it, `left_out` about the dependencies that are not.
    `cells` counts the fresh cells that can be installed, `quick` are its smoke cells.
    """

    name: str
    matrix: Matrix
    texts: Mapping[str, str]
    reasons: tuple[str, ...]
    left_out: tuple[str, ...]
    cells: int
    quick: tuple[str, ...]


def draft_of(
    library: KnownLibrary, request: DraftRequest, suite: SuiteDraft, source: ReleaseSource
) -> Draft:
    """Return the draft of a library's matrix.

    Its texts are decoded and planned before they are returned: what is drafted can be run. Raises
    UsageError for a library that no Python of today can have.
    """
    series, python_because = pythons(library, request.day)
    target = Target(series=series, platform=f"{request.machine}-manylinux_2_28")
    weights = sorted(_weights(library, source, target), key=lambda w: (-w.weight, w.name))
    subject_series = 1 if suite.is_own else MOST_SERIES_OF_SUBJECT
    chosen = _chosen(weights, len(series) * subject_series)
    axes = tuple(_axes(library, chosen, subject_series))
    name = axis_name(library.name)
    drafted = DraftMatrix(
        name=name,
        title=library.name,
        subject=axes[-1].name,
        platform=target.platform,
        pythons=series,
        python_because=python_because,
        axes=axes,
        suite=suite.table([axis.package for axis in axes]),
        relaxed=tuple(axis.name for axis in axes if axis.is_bounded),
    )
    day, policy = request.day, policy_text()

    def declared(draft: DraftMatrix) -> tuple[str, Matrix]:
        text = matrix_text(draft, str(day))
        return text, load(text.encode(), policy.encode(), folder=name, today=day).matrix

    _, matrix = declared(drafted)
    catalogue = discover(matrix, source)
    planned = plan(matrix, catalogue)
    needed = tuple(n for n in drafted.relaxed if f"newer-{n}"[:40] not in planned.unneeded)
    cells = [f.cell for f in planned.fates if isinstance(f, Feasible) and f.cell.recipe == "fresh"]
    with_wheels = [cell for cell in cells if has_wheels(matrix, catalogue, cell)]
    quick = smoke_cells(matrix, with_wheels, request.here)
    text, matrix = declared(msgspec.structs.replace(drafted, quick=quick, relaxed=needed))
    texts = {"matrix.toml": text, "policy.toml": policy, **suite.texts}
    return Draft(
        name=name,
        matrix=matrix,
        texts=texts | {"catalogue.json": encode_catalogue(catalogue, matrix)},
        reasons=(python_because, *(axis.because for axis in axes), suite.because),
        left_out=tuple(f"{w.name}: {w.because}" for w in weights if w not in chosen),
        cells=len(cells),
        quick=quick,
    )


def _weights(library: KnownLibrary, source: ReleaseSource, target: Target) -> Iterator[Weighed]:
    def page(requirement: Requirement) -> Package | None:
        try:
            return source.package(canonicalize_name(requirement.name))
        except NoPage:
            return None

    wanted = []
    for requirement in library.requirements[:MOST_ASKED]:
        on = [version for version in target.series if _holds(requirement, version)]
        if len(on) == len(target.series):
            wanted.append(requirement)
            continue
        where = f"only where {requirement.marker}{'' if on else ', which no cell is'}"
        name = canonicalize_name(requirement.name)
        yield Weighed(name=name, left_out=f"it is asked for {where}")
    with ThreadPoolExecutor(THREADS) as pool:
        for requirement, package in zip(wanted, pool.map(page, wanted), strict=True):
            yield weighed(requirement, package, target)


def _holds(requirement: Requirement, series: Version) -> bool:
    if requirement.marker is None:
        return True
    environment = {
        "python_version": str(series),
        "python_full_version": str(patch_of(series)),
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "extra": "",
    }
    return requirement.marker.evaluate(environment)


def _late(dependency: Weighed) -> str:
    declared = lower_bound(Requirement(dependency.requirement).specifier)
    oldest = dependency.coordinates[0]
    if declared is None or dependency.selector.coordinate(declared) == oldest:
        return ""
    return "; this is the oldest version that the axis has"


def _chosen(weights: Sequence[Weighed], cells: int) -> list[Weighed]:
    chosen: list[Weighed] = []
    for dependency in weights:
        if dependency.left_out or len(chosen) == MOST_DEPENDENCIES:
            continue
        if cells * len(dependency.coordinates) <= MOST_CELLS:
            chosen.append(dependency)
            cells *= len(dependency.coordinates)
    return chosen


def _axes(library: KnownLibrary, chosen: Sequence[Weighed], series: int) -> Iterator[DraftAxis]:
    names, shorts = {"python", axis_name(library.name)}, {"py"}
    for dependency in chosen:
        name = axis_name(dependency.name, names)
        short = short_name(dependency.name, shorts)
        names.add(name)
        shorts.add(short)
        oldest = dependency.coordinates[0]
        yield DraftAxis(
            name=name,
            short=short,
            package=dependency.name,
            selector=dependency.selector,
            because=f"{dependency.name}: {dependency.because}",
            floor=oldest,
            floor_because=f"{library.source} asks for {dependency.requirement}{_late(dependency)}",
            is_bounded=dependency.is_bounded,
        )
    versions = [release.version for release in library.releases]
    selector = minor_series_from(versions, series)
    series_of = sorted({selector.coordinate(v) for v in versions if selector.keeps(v)})
    which = f"{series_of[0]}" if len(series_of) == 1 else f"{series_of[0]} to {series_of[-1]}"
    yield DraftAxis(
        name=axis_name(library.name),
        short=short_name(library.name, shorts),
        package=library.name,
        selector=selector,
        because=f"{library.name}: its newest series, {which}",
    )
