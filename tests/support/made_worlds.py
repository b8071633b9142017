"""A world of packages without files, for searches: what fails is known, each run is counted."""

import datetime
import random
from collections.abc import Callable, Mapping, Sequence

from packaging.requirements import Requirement
from packaging.version import Version

from compat.lock.lockfile import Inputs, Lock, Pin
from compat.plan.platform import Asked
from compat.results.record import Record
from compat.run.outcome import Outcome, Passed

WHEN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
Versions = Mapping[str, Version]


def lock_of(versions: Mapping[str, int | str], python: str = "3.11.7") -> Lock:
    """The lock that pins these versions."""
    pins = tuple(
        Pin(name, Version(str(v)), (f"{name}-{v}",)) for name, v in sorted(versions.items())
    )
    inputs = Inputs(cell="demo", python=Version(python), platform="", requirements=())
    return Lock(inputs=inputs, pins=pins, tool="made")


class MadeLaboratory:
    """A Laboratory whose runs come to what `outcome` says of the versions, by chance where it asks
    its random numbers.
    """

    def __init__(
        self,
        outcome: Callable[[Versions, random.Random], Outcome],
        releases: Mapping[str, Sequence[str]] | None = None,
        requires: Mapping[tuple[str, str], str] | None = None,
        seed: int = 0,
    ) -> None:
        """`requires` says of some releases what they ask for, such as `dep>=2`."""
        self._outcome = outcome
        self._releases = releases or {}
        self._requires = requires or {}
        self._chance = random.Random(seed)
        self._results: dict[tuple[str, str], list[Record]] = {}
        self.runner: frozenset[str] = frozenset()
        self.withdrawn: dict[str, list[Version]] = {}
        self.involved: tuple[str, ...] = ()
        self.ran: list[str] = []
        self.dates: tuple[datetime.datetime, datetime.datetime] | None = None
        self.days: Callable[[datetime.datetime], Lock | None] = lambda moment: None

    def asks(self, name: str, version: Version, python: Version) -> tuple[Asked, ...]:
        """Return what a release asks for on a Python."""
        text = self._requires.get((name, str(version)), "")
        if not text:
            return ()
        asked = Requirement(text)
        environment = {"python_version": f"{python.major}.{python.minor}"}
        if asked.marker is not None and not asked.marker.evaluate(environment):
            return ()
        return (Asked(name=asked.name, specifier=asked.specifier, extras=(), url=""),)

    def results(self, lock: Lock) -> Sequence[Record]:
        """Return the runs of a lock so far."""
        return self._results.get((lock.digest, str(lock.inputs.python)), ())

    def run(self, lock: Lock, what: str) -> Record:
        """Run a lock."""
        self.ran.append(what)
        versions = {pin.name: pin.version for pin in lock.pins}
        versions["python"] = lock.inputs.python
        outcome = self._outcome(versions, self._chance)
        record = Record(
            cell="demo",
            matrix="demo",
            outcome=outcome,
            lock_digest=lock.digest,
            suite_digest="0" * 64,
            started=WHEN,
            seconds=1.0,
            host="linux-x86_64-2cpu-24gb",
            isolation="L0",
            involved=() if isinstance(outcome, Passed) else self.involved,
        )
        self._results.setdefault((lock.digest, str(lock.inputs.python)), []).append(record)
        return record

    def lock_at(self, moment: datetime.datetime) -> Lock | None:
        """Return the lock of a day."""
        return self.days(moment)

    def yanked(self, package: str) -> Sequence[Version]:
        """Return the yanked releases of a package."""
        return self.withdrawn.get(package, [])

    def releases(self, package: str) -> Sequence[Pin]:
        """Return the releases of a package."""
        return [
            Pin(package, Version(text), (f"{package}-{text}",))
            for text in self._releases.get(package, ())
        ]
