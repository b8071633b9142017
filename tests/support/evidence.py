"""Evidence of a run that went well, for tests of what handles runs."""

import datetime
from typing import Any

from compat.run.evidence import Ended, Evidence, Installed, Step

FINE = Ended(
    by="exit", exit_code=0, signal=None, seconds=1, peak_memory_mb=1, survivors=0, isolation="L0"
)
PINS = (Installed(name="demo", version="1"),)


def evidence(cell: str, *, log: str = "", ended: Ended = FINE, **more: Any) -> Evidence:
    """Return the evidence of a cell whose install and import ended so."""
    facts = {
        "cell": cell,
        "matrix": "demo",
        "subject": "demo",
        "lock_digest": "",
        "suite_digest": "",
        "started": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc),
        "seconds": 1,
        "host": "linux-x86_64-1cpu-1gb",
        "isolation": "L0",
        "expected": PINS,
        "installed": PINS,
        "import_seconds": 1.0,
        "steps": tuple(Step(name=name, ended=ended, log=log) for name in ("install", "import")),
    }
    return Evidence(**{**facts, **more})
