"""The `site` room's advisories: what runs proved not to work together, as documents of the Open
Source Vulnerability format, and which of them an environment meets.
"""

import datetime
import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.advise.request import label
from compat.plan.cell import axis_coordinates
from compat.results.answer import Answer
from compat.run.outcome import Failed
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.paths import ADVISORIES, advisory_path, cell_page
from compat.site.wording import cause_sentence, listed
from compat.value import Value, grouped

# https://ossf.github.io/osv-schema/; `x_` begins the ids of those who are not registered there.
SCHEMA_VERSION = "1.7.4"
_STAGES = ("import", "collect", "test")
_GREEN = ("works", "partial", "flaky")


class Combination(Value, frozen=True, kw_only=True):
    """Versions that fail together: a package's by a specifier, Python's by its series; without
    `pythons` on each that was tested. `works` is the nearest cell that works, which differs in one
    version: `culprit` says in which. `withdrawn` is the day of the run that disproved it.
    """

    subject: str
    requires: dict[str, str]
    pythons: tuple[str, ...]
    cell: str
    works: str
    culprit: str
    published: datetime.date
    modified: datetime.date
    version: str
    withdrawn: datetime.date | None = None


def advisories(edition: Edition) -> Iterator[SiteFile]:
    """Yield each advisory, and one archive of all; the same content gives the same bytes."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for report in edition.reports:
            for document in documents(report, edition):
                content = msgspec.json.format(json.dumps(document)).encode() + b"\n"
                path = advisory_path(report.name, document["id"])
                packed.writestr(zipfile.ZipInfo(f"{document['id']}.json"), content)
                yield SiteFile(path=path, content=content)
    yield SiteFile(path=ADVISORIES, content=archive.getvalue())


def documents(report: MatrixReport, edition: Edition) -> Iterator[dict[str, Any]]:
    by_signature = grouped(
        ((_signature(failed), (*of.requires, *(("Python",) if of.pythons else ()))), (of, failed))
        for of, failed in _combinations(report)
    )
    package, by_id = report.snapshot.matrix.subject_axis.normalised_name, report.snapshot.by_id
    for (signature, axes), failures in sorted(by_signature.items()):
        rows = [combination for combination, _ in failures]
        # All may have been disproved since; what a reader of the archive has is then withdrawn.
        lasting = [row for row in rows if row.withdrawn is None]
        shown = lasting or rows
        name = hashlib.sha256("\n".join((report.name, signature, *axes)).encode()).hexdigest()
        identity = f"x_compat-{report.name}-{name[:10]}"
        versions = sorted({row.version for row in shown}, key=Version)
        fails_with = []
        for other in axes:
            texts = {row.requires.get(other, "").strip("=*.") for row in shown} - {""}
            texts = texts or {python for row in shown for python in row.pythons}
            fails_with.append(f"{other} {listed(sorted(texts, key=Version), 8)}")
        days = [row.withdrawn or row.modified for row in rows]
        span = (
            versions[0]
            if not versions[1:]
            else f"{versions[0]} to {versions[-1]} ({len(versions)} releases)"
        )
        document: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "id": identity,
            "published": _moment(min(row.published for row in rows)),
            "modified": _moment(max(days)),
            "summary": f"{package} {span} fails with {listed(fails_with)}",
            "details": f"{cause_sentence(failures[0][1])} Only the versions listed were run.",
            "affected": [
                {
                    "package": {
                        "ecosystem": "PyPI",
                        "name": package,
                        "purl": f"pkg:pypi/{package}",
                    },
                    "versions": versions,
                }
            ],
            "references": [
                {"type": "ADVISORY", "url": edition.url(advisory_path(report.name, identity))},
                *(
                    {"type": "EVIDENCE", "url": edition.url(cell_page(by_id[row.cell].cell))}
                    for row in shown
                ),
            ],
            "database_specific": {
                "matrix": report.name,
                "signature": signature,
                "depends_on": list(axes),
                "combinations": msgspec.to_builtins(shown),
            },
        }
        if not lasting:
            document["withdrawn"] = _moment(max(days))
        yield document


def _moment(day: datetime.date) -> str:
    return f"{day}T00:00:00Z"


def _signature(failed: Failed) -> str:
    # Another release fails at another line of the same file.
    return f"{failed.stage}-fail:{failed.cause}({failed.subject.partition(':')[0]})"


def _combinations(report: MatrixReport) -> Iterator[tuple[Combination, Failed]]:
    matrix, subject = report.snapshot.matrix, report.snapshot.matrix.subject
    tested = (entry for entry in report.snapshot.known if entry.is_tested)
    known = [e for e in tested if not e.cell.is_in_lane and not e.cell.platform]
    places = {e.cell.id: {c.axis: c.version for c in e.cell.coordinates} for e in known}
    works = (e.cell.id for e in known if e.kind in _GREEN)
    green = grouped((places[cell][subject], cell) for cell in works)
    # An axis may have lost a version that was run.
    order = {
        axis.name: sorted(
            {c.version for c in axis_coordinates(axis, report.snapshot.catalogue)}
            | {place[axis.name] for place in places.values()}
        )
        for axis in matrix.axes
    }
    axes = [name for name in order if name != subject]

    blamed: dict[str, list[str]] = {}
    unpaired = []
    for entry in known:
        failed, withdrawn = _failed(entry)
        if failed is None:
            continue
        place, nearest = places[entry.cell.id], dict[str, tuple[int, str]]()
        others = green.get(place[subject], [])
        if withdrawn is None and any(places[cell] == place for cell in others):
            continue
        # A pair of cells that differ in one version alone proves that this one matters.
        for cell in others:
            differ = [axis for axis in axes if places[cell][axis] != place[axis]]
            if len(differ) == 1:
                (axis,) = differ
                index = order[axis].index
                far = abs(index(places[cell][axis]) - index(place[axis])), cell
                nearest[axis] = min(far, nearest.get(axis, far))
        matters = [axis for axis in axes if axis in nearest]
        if any(
            places[c] != place and all(places[c][a] == place[a] for a in matters) for c in others
        ):
            matters = axes
        if not nearest:
            unpaired.append((entry, failed, withdrawn))
            continue
        blamed.setdefault(_signature(failed), matters)
        (_, cell), axis = min((far, axis) for axis, far in nearest.items())
        name = label(next(each for each in matrix.axes if each.name == axis))
        culprit = f"{name} {place[axis]} fails, {places[cell][axis]} works"
        combination = _combination(report, entry, withdrawn, matters, (cell, culprit))
        if combination is not None:
            yield combination, failed
    # A release without a cell that works: what its other releases, which fail alike, depend on;
    # else all versions that were run.
    for entry, failed, withdrawn in unpaired:
        combination = _combination(
            report, entry, withdrawn, blamed.get(_signature(failed), axes), ("", "")
        )
        if combination is not None:
            yield combination, failed


def _combination(
    report: MatrixReport,
    entry: Answer,
    withdrawn: datetime.date | None,
    matters: Iterable[str],
    beside: tuple[str, str],
) -> Combination | None:
    matrix, run = report.snapshot.matrix, entry.counted[-1].run
    place = {coordinate.axis: coordinate.version for coordinate in entry.cell.coordinates}
    own, package = {a.normalised_name for a in matrix.packages}, matrix.subject_axis.normalised_name
    lock = report.locks.get(entry.cell.id)
    pins = {} if lock is None or lock.digest != run.lock_digest else lock.versions
    # A package on no axis at which the failure points is a part of the conflict, by its pin.
    third = [name for name in run.involved if name not in own and name != "python"]
    if withdrawn is None and not all(name in pins for name in third):
        return None
    bounds = {
        axis.normalised_name: f"=={place[axis.name]}"
        + ("" if axis.select.is_exact(place[axis.name]) else ".*")
        for axis in matrix.packages
        if axis.name in matters or axis.name == matrix.subject
    }
    python = matrix.interpreters.name
    days = (c.run.started.date() for c in entry.counted if _red(c.outcomes))
    return Combination(
        subject=bounds.pop(package),
        requires=bounds | {name: f"=={pins[name]}" for name in third if name in pins},
        pythons=(str(place[python]),) if python in matters else (),
        cell=entry.cell.id,
        works=beside[0],
        culprit=beside[1],
        published=next(days, run.started.date()),
        modified=run.started.date(),
        version=str(pins.get(package, place[matrix.subject])),
        withdrawn=withdrawn,
    )


def _failed(entry: Answer) -> tuple[Failed | None, datetime.date | None]:
    """The failure of a cell that is broken, or was by an earlier run, and when that was disproved:
    the day of the first run since that got past it.
    """
    if entry.kind == "broken" and isinstance(entry.outcome, Failed):
        return (entry.outcome if entry.outcome.stage in _STAGES else None), None
    runs = entry.counted if entry.kind in _GREEN else ()
    for number, counted in enumerate(runs):
        failed = _red(counted.outcomes)
        if failed is not None:
            since = (c.run.started.date() for c in runs[number:] if _red(c.outcomes) is None)
            disproved = next(since, None)
            return (None, None) if disproved is None else (failed, disproved)
    return None, None


def _red(outcomes: Iterable[Any]) -> Failed | None:
    every = tuple(outcomes)
    first = every[0] if every else None
    stages = {outcome.stage if isinstance(outcome, Failed) else "" for outcome in every}
    # A test that fails leaves the rest of the release working.
    return first if isinstance(first, Failed) and stages <= {"import", "collect"} else None


def met(
    advisory: Mapping[str, Any], environment: Mapping[str, Version], python: str = ""
) -> str | None:
    """Return the package by whose name an advisory is reported in an environment; None where its
    versions are not together there, or that hangs on a Python that is not named.
    """
    if advisory.get("withdrawn"):
        return None
    (affected,) = advisory["affected"]
    name: str = affected["package"]["name"]
    for row in advisory["database_specific"]["combinations"]:
        bounds = {name: row["subject"], **row["requires"]}
        if row["pythons"] and python not in row["pythons"]:
            continue
        if all(
            package in environment
            and SpecifierSet(bound).contains(environment[package], prereleases=True)
            for package, bound in bounds.items()
        ):
            return name
    return None
