"""The `site` room's API about floors: what keeps the lowest version of an axis where it is, as
`compat find reason --json` tells it, too.
"""

from msgspec.structs import asdict

from compat.search.needs import ChangedRun, SeriesNeeds
from compat.search.why import (
    CellBelow,
    Keeper,
    PackageFloor,
    PythonFloor,
    package_floor,
    subject_coordinates,
)
from compat.site.api.envelope import Document, head
from compat.site.edition import MatrixReport
from compat.site.why_words import (
    BLIND_SPOTS,
    api_gone,
    below_sentence,
    changed_sentence,
    keeper_sentence,
    package_sentence,
)
from compat.value import Value


class BelowDocument(CellBelow, frozen=True, kw_only=True):
    """A cell below, with one sentence of what it came to, and the API that its failures miss."""

    sentence: str
    api_missing: tuple[str, ...]


class ChangedDocument(ChangedRun, frozen=True, kw_only=True):
    """A run of a changed copy, with one sentence; it says nothing of the release as it is."""

    sentence: str


class PythonFloorDocument(Value, frozen=True, kw_only=True):
    """What keeps a release from an older Python; `sentence` says it.

    `needs` has what vermin found by kind and series, and is null where the wheel was not read.
    `newly_failing` are the capabilities that fail in the newest changed copy and in no cell of the
    release on a Python that it supports.
    """

    release: str
    requires_python: str
    series: str
    keepers: tuple[Keeper, ...]
    sentence: str
    bounds: dict[Keeper, str]
    modules: int
    unread: int
    needs: tuple[SeriesNeeds, ...] | None
    works_on: str
    below: tuple[BelowDocument, ...]
    changed: tuple[ChangedDocument, ...]
    newly_failing: tuple[str, ...]
    unreached: tuple[SeriesNeeds, ...]


class PackageFloorDocument(Value, frozen=True, kw_only=True):
    """What keeps a release from an older version of a package; `sentence` says it."""

    release: str
    package: str
    requirements: tuple[str, ...]
    lower: str
    sentence: str
    works_on: str
    below: tuple[BelowDocument, ...]


class FloorsDocument(Document, frozen=True, kw_only=True):
    """What keeps each release from an older Python, and from older versions of other packages of
    the matrix, oldest release first.

    `read_by` is what read the sources, empty where nothing was read; `limits` says what it cannot
    see. A run of a changed copy is evidence about the copy, never a verdict about the release.
    """

    package: str
    read_by: str
    limits: str
    python: tuple[PythonFloorDocument, ...]
    packages: tuple[PackageFloorDocument, ...]


def floors_document(report: MatrixReport) -> FloorsDocument:
    snapshot = report.snapshot
    subject = snapshot.matrix.subject_axis
    others = [axis for axis in snapshot.matrix.packages if axis.name != subject.name]
    return FloorsDocument(
        **head(report),
        package=subject.package,
        read_by=report.needs.read_by,
        limits=BLIND_SPOTS,
        python=tuple(map(python_document, report.python_floors.values())),
        packages=tuple(
            package_document(package_floor(snapshot, axis, version))
            for axis in others
            for version in subject_coordinates(snapshot)
        ),
    )


def python_document(floor: PythonFloor) -> PythonFloorDocument:
    needs = floor.needs
    return PythonFloorDocument(
        release=floor.release,
        requires_python=floor.requires_python,
        series=floor.series,
        keepers=floor.keepers,
        sentence=keeper_sentence(floor),
        bounds=floor.bounds,
        modules=0 if needs is None else needs.modules,
        unread=0 if needs is None else needs.unread,
        needs=None if needs is None else needs.needs,
        works_on=floor.works_on,
        below=tuple(_below(cell, "Python") for cell in floor.below),
        changed=tuple(
            ChangedDocument(**asdict(run), sentence=changed_sentence(floor, run))
            for run in floor.changed
        ),
        newly_failing=floor.newly_failing,
        unreached=floor.unreached,
    )


def package_document(floor: PackageFloor) -> PackageFloorDocument:
    return PackageFloorDocument(
        release=floor.release,
        package=floor.package,
        requirements=floor.requirements,
        lower=floor.lower,
        sentence=package_sentence(floor),
        works_on=floor.works_on,
        below=tuple(_below(cell, floor.package) for cell in floor.below),
    )


def _below(cell: CellBelow, axis: str) -> BelowDocument:
    return BelowDocument(
        **asdict(cell), sentence=below_sentence(cell, axis), api_missing=api_gone(cell)
    )
