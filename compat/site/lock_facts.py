"""The `site` room's facts about installing a lock: where it installs, how much, how long, as its
newest run measured it. Pages, data and the command line say them in the same words.
"""

from collections.abc import Iterable, Sequence

from compat.advise.commands import platform_words
from compat.lock.lockfile import Lock
from compat.results.record import INSTALLED, Record
from compat.results.runs import Ran
from compat.site.wording import count, listed, seconds
from compat.value import Value


class LockFacts(Value, frozen=True, kw_only=True):
    """What is known of installing a lock; None for what no run of these files measured.

    `install_seconds` are those of the newest run, which takes part of the files from a cache.
    `installed_mb` is what the files of the environment take, in MiB. How much is downloaded is
    measured nowhere: package indexes need not state the sizes of files (PEP 700), and a run does
    not ask.
    """

    platform: str
    packages: int
    install_seconds: float | None
    installed_mb: float | None

    @property
    def words(self) -> tuple[str, ...]:
        known = [self.platform, f"{count(self.packages, 'package')}, each checked by its hash"]
        unknown = ["size of the download"]
        if self.installed_mb is None:
            unknown.insert(0, "size on disk")
        else:
            # As disks are sold and measured: of a million bytes each.
            megabytes = self.installed_mb * 2**20 / 1e6
            digits = 0 if megabytes >= 9.95 else 1
            is_small = megabytes < 999.5
            size = f"{megabytes:.{digits}f} MB" if is_small else f"{megabytes / 1e3:.1f} GB"
            known.append(f"{size} on disk")
        if self.install_seconds is None:
            unknown.insert(0, "time")
        else:
            spent = seconds(self.install_seconds)
            known.append(f"installed in {spent} by our newest run, files partly cached")
        return (*known, f"not measured: {listed(unknown)}")


def lock_facts(lock: Lock, runs: Sequence[Ran], records: Iterable[Record]) -> LockFacts:
    """Return what is known of a lock; `runs` are those of its cell, oldest first, `records` those
    on it, newest first, of which no more are taken than it needs.
    """
    digest = lock.digest
    on_lock = (run for run in reversed(runs) if run.lock_digest == digest)
    metrics = (metric for run in on_lock for metric in run.metrics)
    size = next((metric.value for metric in metrics if metric.name == INSTALLED), None)
    every = (record.step_seconds.install for record in records)
    spent = next((seconds_spent for seconds_spent in every if seconds_spent is not None), None)
    return LockFacts(
        platform=platform_words(lock.inputs),
        packages=len(lock.library_pins),
        install_seconds=spent,
        installed_mb=size,
    )
