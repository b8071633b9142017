"""On which day a canary last passed with an interpreter of this machine: once a day is enough."""

import datetime
import hashlib
from pathlib import Path

from compat.files import code_of, read_if_there, write
from compat.run.job import Bench


class CanaryDays:
    """The day on which the canary of one interpreter passed at one isolation level, by this code.

    A bench that names no folder for it remembers nothing.
    """

    def __init__(self, bench: Bench) -> None:
        parts = (bench.python, bench.tag, bench.level, bench.sandbox)
        digest = hashlib.sha256("\0".join(parts).encode() + code_of("run")).hexdigest()
        self._path = Path(bench.canaries, digest[:32]) if bench.canaries else None

    def passed_on(self, day: datetime.date) -> bool:
        text = None if self._path is None else read_if_there(self._path)
        return text == day.isoformat().encode()

    def keep(self, day: datetime.date) -> None:
        """Remember that it passed on that day."""
        if self._path is not None:
            write(self._path, day.isoformat())

    def forget(self) -> None:
        """Forget that it passed."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
