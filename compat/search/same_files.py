"""Which releases fail at import as one that ran does, because their wheels hold the same file.

That a file fails on a Python is known where a run failed in it at import, and another, which
differs in a newer Python alone, got past the import. Files are compared by content.
"""

from collections.abc import Callable, Iterator

from packaging.version import Version

from compat.index.release import Artifact, Release
from compat.plan.platform import accepted_tags
from compat.results.answer import Answer
from compat.results.clauses import FileClause
from compat.results.snapshot import Snapshot
from compat.run.outcome import Cause, Failed

ContentsOf = Callable[[Artifact], dict[str, str]]
# What a newer Python can mend: it reads the line, or the line can be run.
_OF_PYTHON: tuple[Cause, ...] = ("syntax", "type-error", "missing-attribute")


def file_clauses(snapshot: Snapshot, contents_of: ContentsOf) -> tuple[FileClause, ...]:
    """Return a clause for each file in which an import failed, sorted by file and digest.

    `contents_of` returns the sha256 of each file of a wheel by its path. Raises IndexUnreachable as
    that does.
    """
    clauses: dict[tuple[str, str], FileClause] = {}
    listed: dict[str, dict[str, str]] = {}

    def contents(release: Release, entry: Answer) -> dict[str, str]:
        artifact = _wheel(snapshot, release, entry)
        if artifact is None:
            return {}
        if artifact.filename not in listed:
            listed[artifact.filename] = contents_of(artifact)
        return listed[artifact.filename]

    for entry, failed, works in _failing(snapshot):
        path = failed.place.rpartition(":")[0]
        usable = snapshot.feasibility.usable(entry.cell, snapshot.matrix.subject_axis)
        digests = {contents(release, entry).get(path, "") for release in usable}
        if len(digests) != 1 or not (digest := digests.pop()):
            continue
        before = clauses.get((path, digest))
        python = entry.cell.on(snapshot.matrix.interpreters.name).version
        if before is not None and str(python) in before.pythons:
            continue
        releases = [
            str(release.version)
            for release in snapshot.catalogue.of(snapshot.matrix.subject_axis).releases
            if contents(release, entry).get(path) == digest
        ]
        clauses[path, digest] = FileClause(
            path=path,
            sha256=digest,
            releases=tuple(releases),
            pythons=_up_to(snapshot, python),
            outcome=str(failed),
            cell=entry.cell.id,
            works=works.cell.id,
            on=entry.counted[-1].run.started.date(),
        )
    return tuple(clauses[key] for key in sorted(clauses))


def _failing(snapshot: Snapshot) -> Iterator[tuple[Answer, Failed, Answer]]:
    axis = snapshot.matrix.interpreters.name
    tested = sorted(
        (entry for entry in snapshot.known if entry.is_tested and entry.planned),
        key=lambda entry: entry.cell.on(axis).version,
    )
    for entry in reversed(tested):
        failed = entry.outcome
        if not isinstance(failed, Failed) or failed.stage != "import":
            continue
        if failed.cause not in _OF_PYTHON or ":" not in failed.place:
            continue
        newer = (other for other in tested if _differs_in_newer(entry, other, axis))
        works = next((o for o in newer if o.kind in ("works", "partial")), None)
        if works is not None:
            yield entry, failed, works


def _differs_in_newer(entry: Answer, other: Answer, axis: str) -> bool:
    if entry.cell.recipe != other.cell.recipe:
        return False
    differs = [
        (mine, theirs)
        for mine, theirs in zip(entry.cell.coordinates, other.cell.coordinates, strict=True)
        if mine.version != theirs.version
    ]
    return len(differs) == 1 and all(
        mine.axis == axis and mine.version < theirs.version for mine, theirs in differs
    )


def _up_to(snapshot: Snapshot, python: Version) -> tuple[str, ...]:
    series = sorted(snapshot.matrix.interpreters.patches)
    names = dict.fromkeys(f"{patch.major}.{patch.minor}" for patch in series)
    return tuple(name for name in names if Version(name) <= python)


def _wheel(snapshot: Snapshot, release: Release, entry: Answer) -> Artifact | None:
    python = entry.cell.on(snapshot.matrix.interpreters.name).version
    tags = accepted_tags(python, snapshot.matrix.platform)
    wheels = [artifact for artifact in release.artifacts if artifact.is_wheel]
    fitting = [wheel for wheel in wheels if not tags.isdisjoint(wheel.tags)]
    return next(iter(fitting or wheels), None)
