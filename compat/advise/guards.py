"""The `advise` room's guards: what packages were seen to ask of others when they are imported, and
no metadata tells.
"""

from collections.abc import Iterable, Iterator

from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.advise.message import read_message
from compat.advise.package_list import PackageList
from compat.plan.requirements import requirement_of
from compat.results.record import Record
from compat.run.outcome import Failed, Outcome
from compat.value import Value


class ImportGuard(Value, frozen=True):
    """A release that asks for `requirement` when it is imported, as it said in the run of `cell`.

    `of` is its package, by normalised name.
    """

    of: str
    version: Version
    requirement: str
    cell: str


def guards_of(records: Iterable[Record]) -> tuple[ImportGuard, ...]:
    return tuple(dict.fromkeys(guard for record in records for guard in _guards(record)))


def is_guard(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.cause == "version-guard"


def refused_by(
    guards: Iterable[ImportGuard], packages: PackageList
) -> Iterator[tuple[ImportGuard, str, Version]]:
    """Yield the guards of installed releases that refuse an installed package, with its name and
    version.
    """
    for guard in guards:
        need = requirement_of(guard.requirement)
        installed = None if need is None else packages.versions.get(need.name)
        if (
            need is not None
            and installed is not None
            and packages.versions.get(guard.of) == guard.version
            and not need.specifier.contains(installed, prereleases=True)
        ):
            yield guard, need.name, installed


def _guards(record: Record) -> Iterator[ImportGuard]:
    versions: dict[str, str] = {
        canonicalize_name(pin.name): pin.version for pin in record.installed
    }
    for asks in read_message(record.log).requires:
        if not asks.is_check or asks.who not in versions:
            continue
        need = requirement_of(f"{asks.what}{asks.range}")
        if need is not None:
            yield ImportGuard(
                of=asks.who,
                version=Version(versions[asks.who]),
                requirement=str(need),
                cell=record.cell,
            )
