"""The table of capabilities by release in Markdown, with the cause of each `no`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from packaging.version import Version

from compat.declare.capabilities import Described
from compat.declare.parsing import minor_series
from compat.results.answer import Answer, newest_versions, representative_of_release
from compat.results.record import Capability, Status
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed, is_before_import
from compat.value import StrictValue, grouped

# Yes in the representative cell, but not in the one on the newest versions.
NOT_WITH_THE_NEWEST = "◐"
SIGNS: dict[Status | None, str] = {"yes": "✓", "no": "✗", "absent": "∅", None: "?"}


class ReleaseColumn(StrictValue, frozen=True, kw_only=True):
    """A release: its representative cell, the others, and the one on the newest versions."""

    version: Version
    entry: Answer
    newest: Answer
    others: tuple[Answer, ...] = ()

    def capability(self, name: str) -> Capability | None:
        return _capability(self.entry, name)

    def sign(self, name: str) -> str:
        capability, with_newest = self.capability(name), _capability(self.newest, name)
        fell = isinstance(self.newest.outcome, Failed) and not self.newest.capabilities
        if (
            capability is not None
            and capability.status == "yes"
            and (fell or (with_newest is not None and with_newest.status == "no"))
        ):
            return NOT_WITH_THE_NEWEST
        return SIGNS[None if capability is None else capability.status]


def columns(snapshot: Snapshot) -> tuple[ReleaseColumn, ...]:
    subject, tested = snapshot.matrix.subject, (e for e in snapshot.known if e.is_tested)
    by_version = grouped((entry.cell.on(subject).version, entry) for entry in tested)
    releases = []
    for version, entries in sorted(by_version.items()):
        reached = [entry for entry in entries if entry.capabilities]
        if reached:
            best = representative_of_release(reached)
            alike = (e for e in entries if e.cell.recipe == best.cell.recipe)
            peers = (entry for entry in alike if not is_before_import(entry.outcome))
            newest = max(peers, key=newest_versions, default=best)
            others = tuple(entry for entry in reached if entry is not best)
            column = ReleaseColumn(version=version, entry=best, newest=newest, others=others)
            releases.append(column)
    return tuple(releases)


def capability_table(snapshot: Snapshot, described: Sequence[Described]) -> str:
    shown = columns(snapshot)
    if not shown:
        return "No cell has reached the suite yet.\n"
    titles = {each.id: each.title for each in described if each.title != each.id}
    tried = {c.id for column in shown for c in column.entry.capabilities}
    ids = sorted(tried.union(each.id for each in described) - snapshot.present.helpers)
    lines = [
        f"| capability | {' | '.join(_series(column.version) for column in shown)} |",
        f"|---|{'---|' * len(shown)}",
    ]
    for name in ids:
        title = f"{_plain(titles[name])} " if name in titles else ""
        signs = (column.sign(name) for column in shown)
        lines.append(f"| {title}`{_plain(name)}` | {' | '.join(signs)} |")
    behind = any(column.sign(name) == NOT_WITH_THE_NEWEST for column in shown for name in ids)
    half = f" {NOT_WITH_THE_NEWEST} yes, but not with the newest versions that were tested,"
    half = half if behind else ""
    legend = f"✓ yes,{half} ✗ no (see below), ∅ not offered by this release, ? not asked."
    lines += ["", f"{legend} Each release is shown in:", ""]
    lines += [f"- `{column.entry.cell.id}`, run {column.entry.latest}" for column in shown]
    newest = (column.newest for column in shown if not column.newest.capabilities)
    ends = (f"- `{entry.cell.id}`: {_plain(str(entry.outcome))}" for entry in newest)
    lines += _section("With the newest versions that were tested:", ends)
    lines += _section("Where another cell of the same release differs:", _differences(shown))
    lines += _section("Why a capability is ✗:", _reasons(snapshot, shown))
    names = {name: _plain(titles.get(name, name)) for name in snapshot.present.helpers}
    what = "Tests of the suite's own helpers, which say nothing about the library"
    lines += _section(f"{what}, in the cells above:", _helpers(shown, names))
    return "\n".join(lines) + "\n"


def unexplained(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    return tuple(
        (entry.cell.id, capability.id)
        for entry in snapshot.known
        for capability in entry.capabilities
        if capability.status == "no" and snapshot.explained(entry, capability) is None
    )


def _section(title: str, lines: Iterable[str]) -> list[str]:
    listed = list(lines)
    return ["", title, "", *listed] if listed else []


def _helpers(shown: Sequence[ReleaseColumn], titles: Mapping[str, str]) -> Iterable[str]:
    for name in sorted(titles):
        helpers = (helper for column in shown for helper in column.entry.helpers)
        tally = Counter(helper.status for helper in helpers if helper.id == name)
        every: tuple[Status, ...] = ("yes", "no", "absent")
        counts = ", ".join(f"{tally[status]} {status}" for status in every if tally[status])
        yield f"- {titles[name]} `{_plain(name)}`: {counts or 'not asked'}"


def _differences(shown: Sequence[ReleaseColumn]) -> Iterable[str]:
    for column in shown:
        for other in column.others:
            own, theirs = column.entry.statuses, other.statuses
            names = [name for name in sorted(theirs) if theirs[name] != own.get(name)]
            if names:
                signs = ", ".join(f"`{_plain(name)}` {SIGNS[theirs[name]]}" for name in names)
                yield f"- `{other.cell.id}`: {signs}"


def _reasons(snapshot: Snapshot, shown: Sequence[ReleaseColumn]) -> Iterable[str]:
    failing = grouped(
        ((capability.id, snapshot.explained(entry, capability)), _series(column.version))
        for column in shown
        for entry in (column.entry, *column.others)
        for capability in entry.capabilities
        if capability.status == "no"
    )
    for (name, issue), versions in sorted(failing.items(), key=lambda item: (item[0][0], item[1])):
        link = f" [source]({issue.link})" if issue is not None and issue.link else ""
        because = "not explained yet" if issue is None else f"{issue.because}{link}"
        yield f"- `{_plain(name)}` ({', '.join(dict.fromkeys(versions))}): {because}"


def _capability(entry: Answer, name: str) -> Capability | None:
    asked = (*entry.capabilities, *entry.helpers)
    return next((capability for capability in asked if capability.id == name), None)


def _series(version: Version) -> str:
    return minor_series(version) if version.micro == 0 else str(version)


def _plain(text: str) -> str:
    return "".join(sign for sign in text if sign not in "|`\\" and sign.isprintable())
