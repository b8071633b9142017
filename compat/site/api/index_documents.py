"""The `site` room's API about itself: where it begins, and what it has about each matrix."""

import datetime
from collections import Counter
from collections.abc import Collection

from compat.advise.rows import AdviceTable
from compat.plan.cell import RECIPES, Recipe
from compat.site.api.envelope import (
    SCHEMA_VERSION,
    AxisCoordinates,
    Dated,
    SitePath,
    axes_of,
    dated,
)
from compat.site.edition import Edition, Listed, MatrixReport
from compat.site.paths import API_ROOT, api_path
from compat.value import Value


class Counts(Value, frozen=True, kw_only=True):
    """How many cells there are: in the plan, with a run or a lock, tested, stale; and by
    verdict.
    """

    planned: int
    known: int
    tested: int
    stale: int
    verdicts: dict[str, int]


class MatrixIndex(Dated, frozen=True, kw_only=True):
    """What the API has about a matrix.

    `files` are its own, those of folders are listed in the folders' own indexes.

    `latest` is the day of the newest run that counts; verdicts are stale after `fresh_days`.
    """

    title: str
    subject: str
    platform: str
    suite_digest: str
    fresh_days: int
    latest: datetime.date | None
    axes: tuple[AxisCoordinates, ...]
    recipes: tuple[Recipe, ...]
    capabilities: tuple[str, ...]
    counts: Counts
    files: tuple[Listed, ...]


class Advise(Dated, frozen=True, kw_only=True):
    """What the advisor answers from."""

    advice: AdviceTable


class MatrixLink(Value, frozen=True, kw_only=True):
    """A matrix of the site."""

    name: str
    title: str
    index: SitePath


class Root(Value, frozen=True, kw_only=True):
    """Where the API begins: its matrices, and its own files."""

    schema_version: int
    day: datetime.date
    matrices: tuple[MatrixLink, ...]
    files: tuple[Listed, ...]


def is_of_root(indexes: Collection[str], path: str) -> bool:
    """Return whether the document that the API begins with lists a file; `indexes` are the paths of
    the matrices' own.
    """
    return path.startswith("schema/v1/") or path.rpartition("/")[0] == API_ROOT or path in indexes


def root_document(edition: Edition, listed: tuple[Listed, ...]) -> Root:
    matrices = (
        MatrixLink(
            name=report.name, title=report.snapshot.matrix.title, index=api_path(report.name)
        )
        for report in edition.reports
    )
    return Root(
        schema_version=SCHEMA_VERSION,
        day=edition.day,
        matrices=tuple(matrices),
        files=listed,
    )


def is_of_matrix(folder: str, path: str) -> bool:
    """Return whether the index of a matrix lists a file, whose folder in the API is this: its own
    files, and the indexes of the folders in it.
    """
    rest = path.removeprefix(folder)
    return rest != path and ("/" not in rest or rest.endswith("/index.json"))


def index_document(report: MatrixReport, listed: tuple[Listed, ...]) -> MatrixIndex:
    snapshot = report.snapshot
    verdicts = Counter(entry.verdict.kind for entry in snapshot.entries)
    tested = [entry for entry in snapshot.known if entry.is_tested]
    days = (entry.verdict.latest for entry in tested if entry.verdict.latest is not None)
    return MatrixIndex(
        **dated(report),
        title=snapshot.matrix.title,
        subject=snapshot.matrix.subject,
        platform=snapshot.matrix.platform,
        suite_digest=snapshot.present.suite_digest,
        fresh_days=snapshot.present.fresh_days,
        latest=max(days, default=None),
        axes=axes_of(report),
        recipes=RECIPES,
        capabilities=report.asked,
        counts=Counts(
            planned=sum(entry.planned for entry in snapshot.entries),
            known=len(snapshot.known),
            tested=len(tested),
            stale=sum(entry.verdict.stale for entry in tested),
            verdicts={kind: verdicts[kind] for kind in verdicts},
        ),
        files=listed,
    )
