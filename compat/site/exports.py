"""The `site` room's files for other programs: advisories, SQLite and CSV, feeds, search."""

import csv
import datetime
import hashlib
import io
import json
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import astuple
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.advise.doctor.facts import MOST_READ
from compat.advise.doctor.parse import PYTHON_PATTERNS, VERSION_PATTERN
from compat.advise.package_list import flat, signs
from compat.advise.request import label
from compat.github.markdown import plain
from compat.plan.cell import axis_coordinates
from compat.policy.calendar import Schedule, ScheduledMove
from compat.policy.evaluation import Proposal
from compat.results.answer import Answer
from compat.results.record import Capability
from compat.results.runs import in_order
from compat.run.outcome import Failed, Outcome, parse_outcome
from compat.site.documents import cell_summary
from compat.site.edition import (
    Edition,
    Event,
    MatrixReport,
    SiteFile,
    fit,
    json_bytes,
    moment,
    rendered,
)
from compat.site.page_list import SECTIONS, TABS, section_paths
from compat.site.paths import (
    ADVISORIES,
    ENTRIES,
    SIGNS,
    about_path,
    address,
    advisory_path,
    cell_page,
    export_path,
    page,
    segment,
)
from compat.site.render import assets, heading_id
from compat.site.reports import answer_path, version_axes
from compat.site.results import Doc, capability_ids, causes, subject_versions
from compat.site.status import platform_title, style_then
from compat.site.wording import (
    cause_sentence,
    combination_words,
    cut_text,
    day,
    listed,
    plain_dates,
    ranges,
)
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
    known = [e for e in tested if not e.cell.is_variant and not e.cell.platform]
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


# The downloads: all verdicts, runs, capabilities and metrics of a matrix as one SQLite file, and
# its known cells as CSV (RFC 4180).

Row = tuple[Any, ...]


def downloads(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        yield SiteFile(path=export_path("sqlite", report.name), content=database(report))
        text = rendered("queries.sql", report=report, subject=report.snapshot.matrix.subject)
        yield SiteFile(path=export_path("sql", report.name), content=text)


def database(report: MatrixReport) -> bytes:
    """Return the database; what is the same gives the same bytes, as long as SQLite itself is
    the same.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "compat.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            tables = rendered("tables.sql").decode()
            connection.executescript(
                f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; {tables}"
            )
            for table, rows in _tables(report):
                columns = connection.execute(f"SELECT count(*) FROM pragma_table_info('{table}')")
                places = ", ".join("?" * columns.fetchone()[0])
                connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
            connection.execute("COMMIT")
        return path.read_bytes()


def _tables(report: MatrixReport) -> Iterator[tuple[str, Iterable[Row]]]:
    known = report.snapshot.known
    sets, measures = dict[Any, int](), dict[Any, int]()
    results, kinds, recipes = dict[Any, int](), dict[Any, int](), dict[Any, int]()

    def kind(entry: Answer) -> int:
        obstacle = None if entry.obstacle is None else entry.obstacle.kind
        return _number(kinds, (entry.kind, entry.evidence, entry.expected, obstacle))

    yield "cells", (_cell_row(report, entry) for entry in known)
    yield (
        "plan_places",
        (
            (place, _number(recipes, tuple((e.cell.recipe, kind(e)) for e in planned)))
            for place, entries in report.places.items()
            if (planned := [entry for entry in entries if entry.planned])
        ),
    )
    yield (
        "plan_recipes",
        ((n, msgspec.json.encode(dict(each)).decode()) for each, n in recipes.items()),
    )
    yield "plan_kinds", ((number, *kind) for kind, number in kinds.items())
    yield "coordinates", _coordinates(report)
    yield "runs", _runs(known, sets, measures)
    yield (
        "result_sets",
        (
            (number, _number(results, _result(capability)))
            for capabilities, number in sets.items()
            for capability in capabilities
        ),
    )
    yield "results", ((number, *result) for result, number in results.items())
    yield (
        "measures",
        (
            (number, place, *map(fit, measure))
            for measured, number in measures.items()
            for place, measure in enumerate(measured)
        ),
    )
    yield "suite", (_test(report, name) for name in (*report.asked, *report.helpers))


def _number(numbers: dict[Any, int], value: Any) -> int:
    """Return the number of a value, in the order in which values came; equal ones have the same."""
    return numbers.setdefault(value, len(numbers) + 1)


def _cell_row(report: MatrixReport, entry: Answer) -> Row:
    *known, blocked_by, score = astuple(cell_summary(report, entry))
    obstacle = entry.obstacle
    reason = (None, None) if obstacle is None else (obstacle.kind, obstacle.because)
    return (*map(_value, (*known, *reason, blocked_by, *astuple(score)[:5], score.words)),)


def _value(value: Any) -> Any:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return fit(value) if isinstance(value, str) else value


def _coordinates(report: MatrixReport) -> Iterator[Row]:
    positions = report.advisor.ranks.positions
    for entry in report.snapshot.known:
        for coordinate in entry.cell.coordinates:
            axis, place = coordinate.axis, positions[coordinate.axis][coordinate.version]
            yield entry.cell.id, axis, coordinate.number, place


def _runs(known: Iterable[Answer], sets: dict[Any, int], measures: dict[Any, int]) -> Iterator[Row]:
    outcomes: dict[tuple[Outcome, ...], str] = {}
    number = 0
    for entry in known:
        counting = {id(counted.run) for counted in entry.counted}
        for run in in_order(entry.runs):
            number += 1
            if run.outcomes not in outcomes:
                outcomes[run.outcomes] = fit(" ".join(map(str, run.outcomes)))
            names = tuple((m.name, m.unit, m.better) for m in run.metrics)
            yield (
                number,
                entry.cell.id,
                run.started.isoformat(),
                outcomes[run.outcomes],
                id(run) in counting,
                run.seconds,
                run.isolation,
                run.tier,
                run.lock_digest,
                run.suite_digest,
                _number(sets, run.capabilities),
                msgspec.json.encode([m.value for m in run.metrics]).decode(),
                _number(measures, names),
            )


def _result(capability: Capability) -> Row:
    further = (capability.cause, capability.subject, capability.spelling)
    texts = (fit(text) if text else None for text in further)
    return (fit(capability.id), capability.status, *texts)


def _test(report: MatrixReport, name: str) -> Row:
    test = report.titles.get(name)
    words = (None, None) if test is None else (fit(test.title), fit(test.says))
    return (fit(name), *words, name in report.helpers)


# A spreadsheet takes a text that begins so for a formula:
# https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def spreadsheets(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        axes, text = [axis.name for axis in report.snapshot.matrix.axes], io.StringIO()
        table = csv.writer(text)
        names = ("recipe", "words", "state", "outcome", "latest", "runs", "stale", "page")
        table.writerow(("cell", *axes, *names))
        for entry in report.snapshot.known:
            summary = cell_summary(report, entry)
            cells = (
                summary.id,
                *(entry.cell.on(axis).number for axis in axes),
                summary.recipe,
                report.style(entry).word,
                summary.state,
                summary.outcome or "",
                summary.latest or "",
                summary.tested,
                "yes" if summary.stale else "no",
                edition.url(cell_page(entry.cell)),
            )
            table.writerow([harmless(fit(str(cell))) for cell in cells])
        content = text.getvalue().encode()
        yield SiteFile(path=export_path("csv", report.name), content=content)


def harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


# The feed of past events as Atom (RFC 4287), and calendar of the coming moves of floors as
# iCalendar (RFC 5545). No clock is read: the same edition gives the same text.

MOST_ENTRIES = 100


class FeedEntry(Value, frozen=True, kw_only=True):
    """An event: its category, a name that no other event will ever have, and its text."""

    category: str
    name: str
    moment: datetime.datetime
    title: str
    text: str
    path: str


def feeds(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        past = sorted(feed_entries(report), key=lambda one: (-one.moment.timestamp(), one.name))
        updated = max((entry.moment for entry in past), default=moment(datetime.date(2000, 1, 1)))
        shown = {"entries": past[:MOST_ENTRIES], "updated": updated, "stamp": _stamp}
        content = rendered("feed.atom", edition=edition, report=report, **shown)
        yield SiteFile(path=export_path("feed", report.name), content=content)


def feed_entries(report: MatrixReport) -> Iterator[FeedEntry]:
    yield from (_change(report, event) for event in report.events[:MOST_ENTRIES])
    yield from _releases(report)
    yield from (_proposal(report, proposal) for proposal in report.proposals if proposal.is_open)
    newest = report.run_days[-1] if report.run_days else report.snapshot.day
    since = newest + datetime.timedelta(days=report.snapshot.present.fresh_days + 1)
    if since <= report.snapshot.day:
        yield FeedEntry(
            category="health",
            name=f"stale-{since}",
            moment=moment(since),
            title="every result is out of date: no test runs any more",
            text=f"The newest run that counts was on {day(newest)}.",
            path=page(report.name, "reliability"),
        )


def _stamp(when: datetime.datetime) -> str:
    return f"{when.astimezone(datetime.timezone.utc):%Y-%m-%dT%H:%M:%S.%fZ}"


def _change(report: MatrixReport, event: Event) -> FeedEntry:
    change, cell = event.change, event.entry.cell
    was = "" if change.before in (None, "unknown") else _word(report, event, event.before)
    before = f"; was: {was}" if was else ""
    score = event.verdict.score.words
    place, outcome = combination_words(cell, report.snapshot.matrix), event.verdict.outcome
    known = f"{change.kind}\0{outcome}".encode(errors="surrogatepass")
    lines = [
        f"Cell {cell.id}.",
        "" if outcome is None else f"{outcome}. {cause_sentence(outcome)}",
        f"{score[0].upper()}{score[1:]}." if score else "",
        f"Works no longer: {listed(change.lost)}." if change.lost else "",
        f"Works now: {listed(change.gained)}." if change.gained else "",
        f"The {' and the '.join(event.beside)} also changed." if event.beside else "",
    ]
    return FeedEntry(
        category="regressions" if change.kind == "regressed" else "changes",
        name=f"cell-{cell.id}-{_stamp(event.moment)}-{hashlib.sha256(known).hexdigest()[:12]}",
        moment=event.moment,
        title=f"{_word(report, event, event.verdict)}{before}: {place} ({cell.recipe})",
        text=plain_dates(" ".join(line for line in lines if line)),
        path=cell_page(cell),
    )


def _word(report: MatrixReport, event: Event, verdict: Answer) -> str:
    return style_then(event.entry, verdict, report.siblings(event.entry)).word


def _releases(report: MatrixReport) -> Iterator[FeedEntry]:
    snapshot = report.snapshot
    for axis in snapshot.matrix.packages:
        for release in snapshot.catalogue.of(axis).selected(axis.select):
            if release.uploaded is None or release.uploaded.date() > snapshot.day:
                continue
            what, is_subject = (
                f"{label(axis)} {release.version}",
                axis is snapshot.matrix.subject_axis,
            )
            place = ("release", str(release.version)) if is_subject else ("grid",)
            yield FeedEntry(
                category="releases",
                name=f"release-{axis.name}-{segment(str(release.version))}",
                moment=release.uploaded,
                title=f"{what} released",
                text=f"{what} was released on {day(release.uploaded.date())}.",
                path=page(report.name, *place),
            )


def _proposal(report: MatrixReport, proposal: Proposal) -> FeedEntry:
    today, latest = report.snapshot.day, [proof.latest for proof in proposal.evidence]
    days = [day for day in latest if day is not None and day <= today]
    return FeedEntry(
        category="proposals",
        name=f"proposal-{proposal.id}-{proposal.digest[:16]}",
        moment=moment(max(days, default=today)),
        title=(
            f"proposed: {proposal.package} {proposal.proposed} as a further version of the matrix"
            if proposal.kind == "extend"
            else f"proposed: {proposal.package} {proposal.proposed} as the minimum instead of"
            f" {proposal.current}"
        ),
        text=plain_dates(f"{proposal.because}. {' '.join(proposal.grounds)}"),
        path=page(report.name, "roadmap"),
    )


def calendars(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        text = ical(report.schedule)
        yield SiteFile(path=export_path("calendar", report.name), content=text.encode())


def ical(schedule: Schedule) -> str:
    text = rendered(
        "calendar.ics",
        schedule=schedule,
        described=_described,
        day=datetime.timedelta(days=1),
        plain=plain,
        escaped=_escaped,
    )
    return "".join(f"{_folded(line)}\r\n" for line in text.decode().split("\n")[:-1])


def _described(schedule: Schedule, move: ScheduledMove) -> str:
    released = "is planned for" if move.released > schedule.day else "was released on"
    lines = (
        f"With the {move.wording} the minimum may rise from {move.package} {move.before} to"
        f" {move.to}.",
        f"Rule: {move.rule}. {move.package} {move.to} {released} {move.released} ({move.source}).",
        f"Evidence: {move.proof}.",
        *((f"Hold: {move.held}",) if move.held else ()),
    )
    return "\n".join(plain(plain_dates(line), limit=1000) for line in lines)


def _escaped(text: str) -> str:
    text = re.sub(r"([\\;,])", r"\\\1", text)
    return re.sub(r"\r\n|[\r\n]", r"\\n", text)


def _folded(line: str) -> str:
    # A line has at most 75 octets (RFC 5545, 3.1), and none of its characters is cut.
    folded, octets = "", 0
    for character in line:
        size = len(character.encode())
        if octets + size > 75:
            folded, octets = f"{folded}\r\n ", 1
        folded, octets = folded + character, octets + size
    return folded


# The index of search, and the signs by which a pasted text is recognised; both are read by the
# site's own script alone, and are no part of the API.

_GONE = re.compile(r"requires (?P<name>\S+) (?P<pin>\S+), and the index has no such release")


def search_files(edition: Edition) -> Iterator[SiteFile]:
    known = {
        "libraries": [_library(report) for report in edition.reports],
        "most": MOST_READ,
        "pythons": PYTHON_PATTERNS,
        "versions": VERSION_PATTERN,
    }
    names = ("kind", "words", "also", "path")
    own = [entry for report in edition.reports for entry in _entries(report)]
    entries = [dict(zip(names, entry, strict=True)) for entry in (*own, *_documentation())]
    yield SiteFile(path=ENTRIES, content=json_bytes({"entries": entries}))
    yield SiteFile(path=SIGNS, content=json_bytes(known))


# Other words for a platform, by a part of its name.
_ALSO_CALLED = {
    "macos": "mac osx darwin apple",
    "macos-arm64": "m1 m2 m3 m4 silicon",
    "windows": "win win10 win11",
    "aarch64": "arm arm64 raspberry graviton",
    "musl": "alpine",
}
Entry = tuple[str, str, str, str]


def _entries(report: MatrixReport) -> Iterator[Entry]:
    matrix, name = report.snapshot.matrix, report.name
    axis, title, home = matrix.subject_axis, matrix.title, address(page(name))
    yield "library", title, f"{axis.package} {axis.short} {name}", home
    for release in reversed(subject_versions(report)):
        path = address(page(name, "release", str(release)))
        yield "release", f"{axis.package} {release}", f"{axis.short} {title}", path
    for other, version in version_axes(report):
        path = address(answer_path(report, {other.name: version}))
        words = f"{label(other)} {version} for {title}"
        yield "version", words, f"{other.name} {other.short}", path
    for platform in matrix.platforms:
        called = (words for part, words in _ALSO_CALLED.items() if part in platform)
        path = address(page(name, "advise", platform))
        yield "platform", f"{title} on {platform_title(platform)}", " ".join(called), path
    yield "page", f"{title} in a notebook or a container", "colab jupyter docker podman", home
    for id in capability_ids(report):
        described = report.titles.get(id)
        also = "" if described is None else cut_text(described.says)
        path = address(page(name, "cap", id))
        yield "capability", report.title(id), f"{id} {title} {also}", path
    for cause in causes(report).red:
        also = cut_text("" if cause.known is None else cause.known.because)
        yield "cause", cause.sentence, also, address(page(name, "causes", cause.anchor))
    best = report.best("best", {})
    if best is not None:
        for pin in report.locks[best.id].pins:
            words = f"{pin.name} {pin.version}, installed with {title}"
            yield "package", words, "dependency", address(cell_page(best.cell))
    for section, path in section_paths(report).items():
        words = TABS.get(section) or SECTIONS[section]
        yield "page", f"{title}: {words}", section, address(path)


def _documentation() -> Iterator[Entry]:
    for path in sorted((assets() / "pages").glob("*.md")):
        title, *rest = path.read_text(encoding="utf-8").splitlines()
        title, home = title.removeprefix("# "), address(about_path(path.name))
        yield "documentation", title, "", home
        for line in rest:
            depth, _, heading = line.partition(" ")
            if depth in ("##", "###"):
                heading = heading.replace("`", "")
                yield "documentation", heading, title, f"{home}#{heading_id(heading)}"


def _library(report: MatrixReport) -> dict[str, Any]:
    matrix, releases = report.snapshot.matrix, map(str, subject_versions(report))
    return {
        "name": report.name,
        "title": matrix.title,
        "subject": matrix.subject_axis.package,
        "home": address(page(report.name)),
        "releases": {each: address(page(report.name, "release", each)) for each in releases},
        "causes": [*_causes(report)],
    }


def _causes(report: MatrixReport) -> Iterator[dict[str, Any]]:
    causes_page = address(page(report.name, "causes"))
    package, snapshot = report.snapshot.matrix.subject_axis.package, report.snapshot
    vanished_here = vanished(snapshot.entries, snapshot.matrix.subject)
    gone = {(flat(lacking.requirement),): lacking for lacking in vanished_here}
    anchors = dict.fromkeys(gone, f"{causes_page}#out")
    for cause in causes(report).red:
        outcome = parse_outcome(cause.outcome)
        found_by = signs(outcome) if isinstance(outcome, Failed) else ()
        path = address(page(report.name, "causes", cause.anchor))
        if found_by and found_by[0] in gone:
            anchors[found_by[0]] = path
        elif found_by:
            yield {"sentence": cause.sentence, "path": path, "signs": found_by}
    for sign, lacking in gone.items():
        verb = "requires" if lacking.is_of_one else "require"
        requiring = f"which {package} {lacking.releases} {verb}"
        sentence = f"The package index has no {lacking.requirement}, {requiring}."
        yield {"sentence": sentence, "path": anchors[sign], "signs": (sign,)}


def vanished(entries: Iterable[Answer], subject: str) -> list[Doc]:
    releases: dict[str, set[str]] = {}
    versions: set[Version] = set()
    for entry in entries:
        versions.add(entry.cell.on(subject).version)
        match = None if entry.obstacle is None else _GONE.search(entry.obstacle.because)
        if match is not None:
            requirement = f"{match['name']}{match['pin']}"
            releases.setdefault(requirement, set()).add(str(entry.cell.on(subject).version))
    every = [str(version) for version in sorted(versions)]
    newest_first = sorted(
        releases.items(), key=lambda item: -max(every.index(version) for version in item[1])
    )
    return [
        Doc(requirement=name, releases=ranges(chosen, every), is_of_one=len(chosen) == 1)
        for name, chosen in newest_first
    ]
