"""The `site` room's pages of results: grids, releases, cells, capabilities, causes, changes, plain
installs and variants.
"""

import datetime
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace
from packaging.version import Version

from compat.declare.capabilities import Described, group_of
from compat.declare.matrix import Matrix, PackageAxis
from compat.plan.cell import HEAD, Cell, Recipe
from compat.plan.feasible import Kind
from compat.results.answer import Answer, representative
from compat.results.compare import ChangeKind
from compat.results.installs import (
    INSTALL_STATES,
    INSTALLABLE,
    Install,
    InstallState,
    install_causes,
    newest_on,
    on_platforms,
    plain_installs,
)
from compat.results.record import Capability, Record, Status
from compat.results.snapshot import cell_count
from compat.run.outcome import Failed, Outcome, parse_outcome
from compat.site.edition import Board, Event, MatrixReport, Versions, once
from compat.site.paths import cell_page, grid_path, page
from compat.site.status import (
    EXPECTED,
    STYLES,
    StatusStyle,
    by_python,
    install_reason,
    installable_words,
    is_admitted,
    place_style,
    plain_command,
    platform_title,
    style_of,
)
from compat.site.wording import (
    RECIPE_WORDS,
    UNCHANGED_WORDS,
    cause_sentence,
    cause_words,
    checkout_words,
    combination_words,
    cut_text,
    day,
    failing_words,
    listed,
    python_of,
    ranges,
)
from compat.value import grouped


class Doc(SimpleNamespace):
    """What a template shows where no document of the API has it: names with values, entries and
    other documents.
    """


def place_view(entries: Sequence[Answer], matrix: Matrix) -> Doc:
    """Return the place of these entries as a grid shows it; of several Pythons, those that have its
    style are named. `path` is empty where its representative cell has no page.
    """
    spoken, style = representative(entries), place_style(entries)
    by_python = grouped((python_of(entry.cell, matrix), entry) for entry in entries)
    where = combination_words(spoken.cell, matrix)
    if len(by_python) > 1:
        every = sorted(by_python.items())
        alike = [str(python) for python, group in every if place_style(group) == style]
        where = where.removesuffix(str(python_of(spoken.cell, matrix))) + listed(alike)
    tested = f", tested {day(spoken.latest)}" if spoken.latest is not None else ""
    recipe = f", {recipe_words(spoken)}" if style.state in ("partial", "broken", "flaky") else ""
    is_old = spoken.stale and spoken.is_tested
    old = ", to be tested again" if is_old else ""
    # A cell of a checkout has no page that names what fails.
    lost = f": {listed(spoken.fails)} fails" if spoken.cell.is_local and spoken.fails else ""
    return Doc(
        css=f"{style.css} stale" if is_old else style.css,
        symbol=style.symbol,
        sentence=f"{where}: {style.word}{recipe}{tested}{old}{lost}",
        path=entry_page(spoken),
    )


def entry_page(entry: Answer) -> str:
    """Return the page of a cell that has one, else an empty text."""
    is_known = bool(entry.runs) or entry.lock_digest is not None
    return cell_page(entry.cell) if is_known and not entry.cell.is_local else ""


def look(entry: Answer, siblings: Sequence[Answer] = ()) -> StatusStyle:
    """Return how a cell is shown: what is to be tested again has a mark in its corner."""
    style = style_of(entry, siblings)
    # What is inferred has no run that could be old.
    is_old = entry.stale and entry.is_tested
    return replace(style, css=f"{style.css} stale") if is_old else style


def recipe_words(entry: Answer) -> str:
    return UNCHANGED_WORDS if entry.is_unchanged else RECIPE_WORDS[entry.cell.recipe]


_ORDER: tuple[ChangeKind, ...] = ("regressed", "fixed", "spurious", "new", "gone", "same")
_MOST_CELLS = 200
_MOST_DAYS = 30


def cause_anchor(outcome: Outcome) -> str:
    """Return the id that a root cause has on the page of causes; it stays as long as the cause."""
    digest = hashlib.sha256(_without_line(outcome).encode(errors="surrogatepass"))
    return f"cause-{digest.hexdigest()[:12]}"


def _without_line(outcome: Outcome) -> str:
    # The line of a file differs between versions, the cause does not.
    return str(replace(outcome, at="") if isinstance(outcome, Failed) else outcome)


@once
def causes(report: MatrixReport) -> Doc:
    """Return all causes, the most common first; `ruled_out` has kinds of obstacles with their most
    common sentences, `inferred` from what cells are known that nobody tried.
    """
    red: dict[str, list[Answer]] = {}
    undecided: dict[str, list[Answer]] = {}
    kinds, grounds = Counter[Kind](), Counter[str]()
    sentences: dict[str, Counter[str]] = {}
    for entry in report.snapshot.known:
        outcome = entry.outcome
        if isinstance(outcome, Failed):
            red.setdefault(_without_line(outcome), []).append(entry)
        elif entry.kind == "unknown" and entry.runs:
            undecided.setdefault(_without_line(entry.runs[-1].outcomes[-1]), []).append(entry)
    for entry in report.snapshot.entries:
        if entry.planned and entry.evidence == "inferred":
            grounds["; ".join(entry.reasons)] += 1
        if entry.obstacle is not None and not entry.is_tested:
            kinds[entry.obstacle.kind] += 1
            sentences.setdefault(entry.obstacle.kind, Counter())[entry.obstacle.because] += 1
    return Doc(
        red=_folded(report, red),
        inferred=_by_count(grounds),
        ruled_out=[
            (cause_words(kind), count, _by_count(sentences[kind])[:5])
            for kind, count in kinds.most_common()
        ],
        undecided=_folded(report, undecided, "undecided-"),
    )


def _by_count(counted: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))


def _folded(
    report: MatrixReport, by_outcome: dict[str, list[Answer]], prefix: str = ""
) -> list[Doc]:
    subject = report.snapshot.matrix.subject
    every = [str(version) for version in report.advisor.ranks.positions[subject]]
    folded = []
    for text, entries in sorted(by_outcome.items(), key=lambda item: (-len(item[1]), item[0])):
        outcome, known = parse_outcome(text), map(report.snapshot.explained, entries)
        days = [e.since for e in entries if e.since is not None]
        versions = sorted({entry.cell.on(subject).version for entry in entries})
        few, ends = len(versions) == 1, f"{versions[0]} to {versions[-1]}"
        fails = all(entry.kind in ("works", "partial") for entry in entries)
        folded.append(
            Doc(
                anchor=f"{prefix}{cause_anchor(outcome)}",
                outcome=text,
                sentence=cause_sentence(outcome),
                known=next(filter(None, known), None),
                count=len(entries),
                releases=ranges((entry.cell.on(subject).number for entry in entries), every),
                span=str(versions[0]) if few else f"{ends} ({len(versions)})",
                since=min(days, default=None),
                whose="capability" if fails else "combination",
                cells=entries[:_MOST_CELLS],
                more=max(0, len(entries) - _MOST_CELLS),
            )
        )
    return folded


def changes(report: MatrixReport) -> Doc:
    by_day = grouped((event.moment.date(), event) for event in report.events)
    changed = {
        date: sorted((e for e in every if e.change.kind != "new"), key=_order)
        for date, every in by_day.items()
    }
    firsts = [(date, len(by_day[date]) - len(news)) for date, news in changed.items()]
    days = [(date, news) for date, news in changed.items() if news]
    return Doc(
        days=days[:_MOST_DAYS],
        count=sum(len(news) for _, news in days),
        left_out=sum(len(news) for _, news in days[_MOST_DAYS:]),
        first=sum(first for _, first in firsts),
        firsts=[(date, first) for date, first in firsts if first][:_MOST_DAYS],
    )


def newest(report: MatrixReport, most: int) -> list[Event]:
    changed = (event for event in report.events if event.change.kind != "new")
    return sorted(changed, key=_order)[:most]


def _order(event: Event) -> tuple[float, int]:
    return -event.moment.date().toordinal(), _ORDER.index(event.change.kind)


def matrix_health(report: MatrixReport) -> Doc:
    """Return how a matrix does on its day, counted in cells; `newest` and `oldest` are days of runs
    that count. It is quiet when something ran, but nothing within the days that a run stays fresh.
    """
    known, present, days = report.snapshot.known, report.snapshot.present, report.run_days
    newest = days[-1] if days else None
    return Doc(
        cells=cell_count(report.snapshot),
        flaky=sum(entry.kind == "flaky" for entry in known),
        stale=sum(entry.stale and entry.is_tested for entry in known),
        newest=newest,
        oldest=days[0] if days else None,
        is_quiet=newest is not None and (present.day - newest).days > present.fresh_days,
        fresh_days=present.fresh_days,
    )


def reliability(report: MatrixReport) -> Doc:
    known = report.snapshot.known
    states = Counter(report.style(e) for e in known)
    outcomes = Counter(outcome for entry in known for run in entry.runs for outcome in run.outcomes)
    ignored = outcomes - Counter(
        outcome for entry in known for run in entry.counted for outcome in run.outcomes
    )
    trouble: Counter[str] = Counter()
    for outcome, number in ignored.items():
        trouble[str(outcome).partition("(")[0]] += number
    levels = Counter(run.isolation for entry in known for run in entry.runs)
    return Doc(
        states=[(style, states[style]) for style in STYLES.values() if states[style]],
        attempts=outcomes.total(),
        spurious=trouble.most_common(),
        isolation=sorted(levels.items(), reverse=True),
    )


def plain_page(report: MatrixReport) -> Doc:
    snapshot, matrix = report.snapshot, report.snapshot.matrix
    installs = plain_installs(snapshot)
    releases = [str(v) for v in sorted({Version(install.release) for install in installs})]
    pythons = [str(v) for v in sorted({Version(install.python) for install in installs})]
    own = {(install.release, install.python): install for install in installs}
    best = {(b.release, b.platform): b.example for b in on_platforms(snapshot.platform_installs)}
    rows: list[tuple[list[str], list[InstallState], list[Install]]] = []
    for release in reversed(releases):
        elsewhere = [best[release, name] for name in matrix.platforms]
        answers = [*(own[release, python] for python in pythons), *elsewhere]
        states = [install.state for install in answers]
        if rows and rows[-1][1] == states:
            rows[-1][0].append(release)
        else:
            rows.append(([release], states, answers))
    days = [i.on for i in installs if i.ground == "resolver" and i.on is not None]
    return Doc(
        pythons=pythons,
        rows=[
            (ranges(alike, releases), page(report.name, "release", alike[0]), answers)
            for alike, _, answers in rows
        ],
        states={state for _, states, _ in rows for state in states},
        causes=[
            (cause, by_python(cause.releases, releases))
            for cause in install_causes((*installs, *snapshot.platform_installs))
        ],
        count=len(installs),
        asked=len(days),
        last=max(days, default=None),
    )


def platform_facts(report: MatrixReport) -> list[Doc]:
    installs = report.snapshot.platform_installs
    package = report.snapshot.matrix.subject_axis.package
    return [
        Doc(
            name=name,
            title=platform_title(name),
            installs=newest_on(installs, name, INSTALLABLE),
            sentence=installable_words(installs, name, package),
            path=page(report.name, "advise", name),
        )
        for name in report.snapshot.matrix.platforms
    ]


def release_installs(report: MatrixReport, version: Version) -> Doc:
    installs = [i for i in plain_installs(report.snapshot) if i.release == str(version)]
    pythons = [i.python for i in sorted(installs, key=lambda i: Version(i.python))]
    alike: dict[tuple[object, ...], list[Install]] = {}
    for install in sorted(installs, key=lambda i: Version(i.python), reverse=True):
        reason = install_reason(install).removesuffix(f", not {install.python}")
        alike.setdefault((install.state, reason, install.on, install.witness), []).append(install)
    groups = sorted(alike.items(), key=lambda item: INSTALL_STATES.index(item[1][0].state))
    elsewhere = (i for i in report.snapshot.platform_installs if i.release == str(version))
    return Doc(
        command=plain_command(report.snapshot.matrix.subject_axis.package, str(version)),
        rows=[
            (f"Python {ranges((i.python for i in group), pythons)}", group[0], str(key[1]))
            for key, group in groups
        ]
        + [
            (
                f"{platform_title(best.platform)}, Python {listed(best.pythons)}",
                best.example,
                install_reason(best.example),
            )
            for best in on_platforms(elsewhere)
            if best.platform
        ],
    )


SHORT = {"yes": "works", "no": "fails", "absent": "absent", "unknown": "not tested"}
_MOST_FAILING = 20


def capability_ids(report: MatrixReport) -> tuple[str, ...]:
    return tuple(sorted((*report.asked, *report.helpers)))


def failing(report: MatrixReport, entry: Answer) -> tuple[str, ...]:
    return failing_words(entry, report.title)


# What each release, oldest first, says of a capability.
Results = Sequence[tuple[Version, Capability | None]]


def capability_list(report: MatrixReport) -> list[tuple[str, list[Doc]]]:
    groups = itertools.groupby(report.asked, group_of)
    return [(group, [_line(report, name) for name in names]) for group, names in groups]


def capability_view(report: MatrixReport, name: str) -> Doc:
    undescribed = Described(id=name, title=name, says="", file="", line=0, code="")
    results = [(column.version, column.capability(name)) for column in report.columns]
    every, subject = report.results.get(name, ()), report.snapshot.matrix.subject
    by_cause = grouped(
        ((capability.cause, capability.subject.partition(" (")[0]), (entry, capability))
        for entry, capability in every
        if capability.status == "no"
    )
    failures = []
    for (cause, why), cells in sorted(by_cause.items(), key=lambda item: -len(item[1])):
        known = (report.snapshot.explained(entry, capability) for entry, capability in cells)
        failures.append(
            Doc(
                why=cause_words(cause) + (f": {cut_text(why, 300)}" if why else ""),
                known=next(filter(None, known), None),
                cells=[entry for entry, _ in cells[:_MOST_FAILING]],
                more=max(0, len(cells) - _MOST_FAILING),
            )
        )
    return Doc(
        test=report.titles.get(name) or undescribed,
        statements=capability_statements(results),
        failures=failures,
        statuses=grouped((entry.cell.on(subject).version, own.status) for entry, own in every),
    )


def _by_status(results: Results) -> list[tuple[Status, str, list[tuple[str, Capability]]]]:
    """Return each status in turn, between which releases, and the results of these."""
    asked = [(str(version), own) for version, own in results if own is not None]
    groups = [[*group] for _, group in itertools.groupby(asked, lambda pair: pair[1].status)]
    return [
        (group[0][1].status, where(group[0][0], group[-1][0], number, len(groups)), group)
        for number, group in enumerate(groups)
    ]


def capability_statements(results: Results) -> tuple[str, ...]:
    statements = []
    for status, place, group in _by_status(results):
        more = ""
        if status == "yes":
            alike = [[*own] for _, own in itertools.groupby(group, lambda pair: pair[1].spelling)]
            names = "; then ".join(
                f"called {own[0][1].spelling}{'' if own is alike[-1] else f' until {own[-1][0]}'}"
                for own in alike
                if own[0][1].spelling
            )
            more = f", {names}" if names else ""
        elif status == "absent":
            missing = next((own.missing for _, own in group if own.missing), ())
            more = f": looked for {', '.join(missing)}" if missing else ""
        statements.append(f"{SHORT[status].capitalize()} {place}{more}.")
    return tuple(statements) or ("Not tested in any release yet.",)


def where(first: str, last: str, number: int, of: int) -> str:
    """Return where a span of releases is among all: `since 1.2`, `until 1.0`, `in 1.0 to 1.2`."""
    if of == 1:
        return "in every release tested for it"
    if number == of - 1:
        return f"since {first}"
    if number == 0:
        return f"until {last}"
    return f"in {first}" if first == last else f"in {first} to {last}"


def _line(report: MatrixReport, name: str) -> Doc:
    results = [(column.version, column.capability(name)) for column in report.columns]
    ranges = [(status, place) for status, place, _ in _by_status(results)]
    fails = "no" in [status for status, _ in ranges[-1:]]
    kinds = ["changes"] * (len(ranges) > 1) + ["failing"] * fails
    return Doc(id=name, ranges=ranges[::-1], kinds=" ".join(kinds))


PROVEN = ("works", "decayed", "relaxed", "partial")
# A page with so many places weighs some 45 KiB gzipped.
_MOST_PLACES = 4_000
_FAILING = ("broken", "partial", "flaky")
_NOT_DECLARED = ("requires-python", "excluded", "yanked")
Places = tuple[Answer, ...]
# A style, and the versions that have it, as ranges.
StyledVersions = tuple[StatusStyle, str]


def main_python(report: MatrixReport) -> Version | None:
    """Return the newest Python on which anything was tested; where nothing was, the newest that a
    release admits.

    None, for all of them, where the matrix has no cell: nothing is on the index yet.
    """
    *counted, _ = [(python, _counts(board)) for python, board in report.board.items()]
    for counts in (0, 1):
        pythons = [python for python, numbers in counted if numbers[counts]]
        if pythons:
            return pythons[-1]
    return counted[-1][0] if counted else None


def grid(report: MatrixReport, python: Version | None, number: int = 0) -> Doc:
    """Return that page of the grid of one Python, or with None of that of all: each place as it is
    on the best of them. `hidden` counts the releases about which there is nothing to say on this
    Python, and `narrowed` are the columns that are left out: no release admits them, and nothing
    works there.
    """
    matrix, parts = report.snapshot.matrix, grid_parts(report, python)
    places, every_shown = report.board[python], _shown_combinations(report, python)
    shown = [every_shown[subject] for subject in parts[number]]
    every = sorted({others for of_release in places.values() for others in of_release})
    columns = _columns(report, shown)
    rows = [
        _row(report, str(subject), page(report.name, "release", str(subject)), columns, every,
             places[subject])
        for subject in parts[number]
    ]  # fmt: skip
    of_checkout = _of_checkout(report, python) if number == 0 else {}
    if of_checkout:
        rows.insert(0, _row(report, HEAD, "", columns, every, of_checkout))
    in_columns = (board.get(others) for board in (*shown, of_checkout) for others in columns)
    styles = {place_style(entries) for entries in in_columns if entries}
    left = {others for board in shown for others in board} - {*columns}
    return Doc(
        label="all Pythons" if python is None else f"Python {python}",
        others=" and ".join(axis.package for axis in _other_axes(matrix)),
        subject=matrix.subject_axis.package,
        columns=[(label_of(others), _newest(report, others)) for others in columns],
        rows=rows,
        legend=_ordered(styles),
        head=checkout_words(report.parts.checkout, report.snapshot.checkout) if of_checkout else "",
        tested=_counts(places)[0],
        stale=any(representative(entries).stale for entries in _every(every_shown)),
        hidden=len(places) - len(every_shown),
        narrowed=ranges(map(label_of, left), [label_of(others) for others in every]),
    )


def _columns(report: MatrixReport, boards: Sequence[Mapping[Versions, Places]]) -> list[Versions]:
    """The columns that some release admits, or in which something works; newest first. All, where
    there is no such column.
    """
    every = {others for board in boards for others in board}
    worth = {
        others
        for board in boards
        for others, entries in board.items()
        if is_declared(report, entries) or place_style(entries).state in PROVEN
    }
    return sorted(worth or every, reverse=True)


def is_declared(report: MatrixReport, entries: Sequence[Answer]) -> bool:
    """Return whether the release's own metadata admits a place, whatever else stands against it."""
    facts, axes = report.facts, _other_axes(report.snapshot.matrix)
    return any(
        entry.planned
        and entry.cell.recipe == "fresh"
        and (entry.obstacle is None or entry.obstacle.kind not in _NOT_DECLARED)
        and not any(facts.moved(entry.cell, axis.name) for axis in axes)
        for entry in entries
    )


def part_label(subjects: Sequence[Version]) -> str:
    return f"{subjects[0]} to {subjects[-1]}" if subjects[1:] else f"{subjects[0]}"


@once
def grid_parts(report: MatrixReport, python: Version | None) -> tuple[tuple[Version, ...], ...]:
    shown = _shown_combinations(report, python)
    parts: list[tuple[Version, ...]] = [()]
    on_page: set[Versions] = set()
    for subject in sorted(shown, reverse=True):
        on_page |= shown[subject].keys()
        if parts[-1] and len(on_page) * (len(parts[-1]) + 1) > _MOST_PLACES:
            parts.append(())
            on_page = {*shown[subject]}
        parts[-1] = (*parts[-1], subject)
    return tuple(parts)


@once
def _shown_combinations(report: MatrixReport, python: Version | None) -> Board:
    worth_a_sign = {
        subject: {o: entries for o, entries in board.items() if _says_something(entries)}
        for subject, board in report.board[python].items()
    }
    return {subject: board for subject, board in worth_a_sign.items() if board}


def _of_checkout(report: MatrixReport, python: Version | None) -> dict[Versions, Places]:
    matrix, places = report.snapshot.matrix, dict[Versions, Places]()
    for entry in report.snapshot.checkout:
        if not entry.cell.is_variant and python in (None, python_of(entry.cell, matrix)):
            others = tuple(entry.cell.on(axis.name).version for axis in _other_axes(matrix))
            places[others] = (*places.get(others, ()), entry)
    return places


@once
def choices(report: MatrixReport) -> list[tuple[Version | None, int]]:
    return [(python, _counts(board)[0]) for python, board in reversed(report.board.items())]


def answers(
    places: Iterable[tuple[str, Sequence[Answer]]], every: Sequence[str], *, inferred: bool = False
) -> tuple[StyledVersions, ...]:
    """Return what was proven of places with their labels, or what is inferred, the best first;
    `every` label there is orders them.
    """
    styled = ((place_style(entries), name) for name, entries in places)
    by_style = grouped(
        (style, name)
        for style, name in styled
        if (style in EXPECTED.values() if inferred else style.state in PROVEN)
    )
    return tuple((style, ranges(by_style[style], every)) for style in _ordered(by_style))


def _row(
    report: MatrixReport,
    label: str,
    path: str,
    columns: Sequence[Versions],
    every: Sequence[Versions],
    places: Mapping[Versions, Places],
) -> Doc:
    """One row: `answers` is what was proven, else `inferred`, else `declared`, what the metadata
    admits.
    """
    labels = [label_of(versions) for versions in every]
    row = [(label_of(others), places[others]) for others in every if others in places]
    shown = [_shown(report, places.get(others, ())) for others in columns]
    tested = [entries for _, entries in row if any(entry.is_tested for entry in entries)]
    failing = any(place_style(entries).state in _FAILING for entries in tested)
    return Doc(
        label=label,
        path=path,
        answers=answers(row, labels) or answers(row, labels, inferred=True),
        declared=ranges((name for name, entries in row if is_declared(report, entries)), labels),
        places=shown,
        kinds=" ".join(["tested"] * bool(tested) + ["failing"] * failing),
    )


def _shown(report: MatrixReport, entries: Places) -> Doc | None:
    declared = is_declared(report, entries)
    if not declared and not _says_something(entries):
        return None
    place = place_view(entries, report.snapshot.matrix)
    if declared:
        place.css += " asked"
        place.sentence += "; the release declares it"
    return place


def _every(board: Board) -> Iterator[tuple[Answer, ...]]:
    return (entries for of_release in board.values() for entries in of_release.values())


def _counts(board: Board) -> tuple[int, int]:
    tested = sum(any(entry.is_tested for entry in entries) for entries in _every(board))
    return tested, sum(is_admitted(entries) for entries in _every(board))


def _says_something(entries: Sequence[Answer]) -> bool:
    return is_admitted(entries) or any(
        entry.is_tested
        or (entry.obstacle is None and (entry.refusal is not None or entry.expected is not None))
        for entry in entries
    )


def _other_axes(matrix: Matrix) -> tuple[PackageAxis, ...]:
    return tuple(axis for axis in matrix.packages if axis is not matrix.subject_axis)


def label_of(others: Versions) -> str:
    return " · ".join(map(str, others)) or "alone"


def _newest(report: MatrixReport, others: Versions) -> datetime.date | None:
    axes = _other_axes(report.snapshot.matrix)
    days = [report.released(axis.name, version) for axis, version in zip(axes, others, strict=True)]
    return max((day for day in days if day is not None), default=None)


def _ordered(styles: Iterable[StatusStyle]) -> list[StatusStyle]:
    order = [*STYLES.values()]
    return sorted(styles, key=order.index)


def subject_versions(report: MatrixReport) -> tuple[Version, ...]:
    return tuple(sorted(report.board[None]))


def release_grid(report: MatrixReport, version: Version) -> Doc:
    boards = {python: board.get(version, {}) for python, board in report.board.items() if python}
    columns = _columns(report, [*boards.values()])
    every = sorted({others for board in boards.values() for others in board})
    styles = {place_style(board[o]) for board in boards.values() for o in columns if o in board}
    rows = [
        _row(report, f"Python {python}", grid_path(report.name, python), columns, every, board)
        for python, board in reversed(boards.items())
    ]
    shown = {place.css.split()[0] for row in rows for place in row.places if place is not None}
    return Doc(
        others=" and ".join(other.package for other in _other_axes(report.snapshot.matrix)),
        columns=[label_of(others) for others in columns],
        rows=rows,
        legend=[style for style in _ordered(styles) if style.css.split()[0] in shown],
    )


def cautions(report: MatrixReport, entries: Sequence[Answer]) -> list[str]:
    # Untested cells are described on their own pages.
    locked = (entry for entry in entries if entry.lock_digest is not None)
    return [*dict.fromkeys(caution for e in locked for caution in report.snapshot.cautions(e))]


Place = tuple[int, ...]


def attempts(report: MatrixReport, entry: Answer) -> list[tuple[Record, Any, bool]]:
    counting = {run.run.started: run.outcomes for run in entry.counted}
    return [
        (record, attempt, attempt.outcome in counting.get(record.started, ()))
        for record in reversed(report.records(entry.id))
        for attempt in record.attempts[::-1] or (record,)  # a record of one has no list
    ]


def reasons(report: MatrixReport, entry: Answer) -> tuple[str, ...]:
    # A reason that names the outcome, or what fails, repeats what the page shows below.
    failing = entry.failing("combination", "unexplained", "release", "index")
    shown = () if entry.kind == "flaky" else (str(entry.outcome), ", ".join(failing) or "\0")
    further = (reason for reason in entry.reasons if not any(part in reason for part in shown))
    audit = report.audit_sentence if entry.evidence == "inferred" else ""
    is_without_answer = entry.runs and entry.outcome is None
    issue = report.snapshot.explained(entry) if is_without_answer else None
    known = "" if issue is None else issue.because.replace("`", "")
    cautions = (caution.replace("`", "") for caution in report.snapshot.cautions(entry))
    return (*further, *dict.fromkeys(filter(None, (audit, known, *cautions))))


def failure(report: MatrixReport, entry: Answer) -> Doc | None:
    outcome = entry.outcome
    fails = entry.kind in ("broken", "partial", "flaky")
    if outcome is None or not (fails or entry.faults):
        return None
    green, others = neighbours(report).greener(entry) if fails else None, dict[str, str]()
    installed = packages(report, entry.id, reversed(report.records(entry.id)))
    if green is not None:
        others = packages(report, green.cell.id, report.newest_records(green.cell.id))
    pairs = [
        (name, installed.get(name, ""), others.get(name, ""))
        for name in (sorted({*installed, *others}) if installed and others else ())
    ]
    return Doc(
        known=report.snapshot.explained(entry),
        green=green,
        differences=[pair for pair in pairs if pair[1] != pair[2]],
    )


class Neighbours:
    """The known cells of a report by their places on the axes."""

    def __init__(self, report: MatrixReport) -> None:
        self._names = tuple(axis.name for axis in report.snapshot.matrix.axes)
        known = report.snapshot.known
        every = [sorted({entry.cell.on(name).version for entry in known}) for name in self._names]
        numbers = [{version: n for n, version in enumerate(versions)} for versions in every]
        self._places: dict[str, Place] = {
            entry.id: tuple(
                own[coordinate.version]
                for own, coordinate in zip(numbers, entry.cell.coordinates, strict=True)
            )
            for entry in known
        }
        self._reached = [entry for entry in known if entry.kind in ("works", "partial")]
        self._lines: dict[tuple[int, Place, Recipe], list[Answer]] = {}
        for entry in sorted(known, key=lambda entry: self._places[entry.id]):
            for line in self._lines_of(entry.cell):
                self._lines.setdefault(line, []).append(entry)

    def greener(self, entry: Answer) -> Answer | None:
        """Return the nearest cell in which works what does not work here: at the same place, else
        along one axis, else anywhere.

        Of a cell that fails as a whole that is one that works at least in part; of a partial one,
        one in which a capability passes that fails here.
        """
        own = self._places[entry.id]

        def far(other: Answer) -> tuple[object, ...]:
            steps = [to - n for n, to in zip(own, self._places[other.id], strict=True)]
            on = [axis for axis, step in enumerate(steps) if step]
            along = (on[0], steps[on[0]] > 0) if len(on) == 1 else ()
            is_other = other.cell.recipe != entry.cell.recipe
            return min(len(on), 2), sum(map(abs, steps)), along, is_other, other.id

        better = (o for o in self._reached if o is not entry and _is_greener(o, entry))
        return min(better, key=far, default=None)

    def beside(self, cell: Cell) -> dict[str, tuple[Answer | None, Answer | None]]:
        nearest = {}
        for axis, line in enumerate(self._lines_of(cell)):
            row = [None, *self._lines[line], None]
            number = next(n for n, entry in enumerate(row) if entry and entry.id == cell.id)
            nearest[self._names[axis]] = row[number - 1], row[number + 1]
        return nearest

    def _lines_of(self, cell: Cell) -> Iterator[tuple[int, Place, Recipe]]:
        place = self._places[cell.id]
        for axis in range(len(place)):
            yield axis, (*place[:axis], *place[axis + 1 :]), cell.recipe


neighbours = once(Neighbours)


def _is_greener(other: Answer, entry: Answer) -> bool:
    if other.kind == "works" or entry.kind != "partial":
        return other.kind in ("works", "partial")
    failing = entry.failing("combination", "unexplained")
    return other.kind == "partial" and any(
        capability.status == "yes" and capability.id in failing for capability in other.capabilities
    )


def packages(report: MatrixReport, cell: str, newest: Iterable[Record]) -> dict[str, str]:
    """Return what stands in a cell: as it was found installed, else as its lock pins it; `newest`
    are its records, newest first, of which no more are taken than it needs.
    """
    for record in newest:
        if record.installed:
            return {package.name: package.version for package in record.installed}
    lock = report.locks.get(cell)
    return {} if lock is None else {pin.name: str(pin.version) for pin in lock.pins}
