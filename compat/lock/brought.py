"""What cells are known to hold: by the kept locks, and by what releases publish."""

from collections.abc import Iterable

from compat.declare.suite_imports import Brought
from compat.index.release import Catalogue
from compat.lock.lockfile import Lock
from compat.plan.requirements import published_names


def brought_by(catalogue: Catalogue | None, locks: Iterable[Lock]) -> Brought:
    pins = [{pin.name for pin in lock.pins} for lock in locks]
    published = published_names(() if catalogue is None else catalogue.packages)
    return Brought(names=published.union(*pins), locked=bool(pins))
