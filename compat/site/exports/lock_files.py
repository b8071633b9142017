"""The `site` room's locks: each as a file to install from, and where a lock has two steps, its two
parts.
"""

from collections.abc import Iterator

from compat.advise.commands import Whereabouts, in_two_steps, parts
from compat.lock.lockfile import Inputs
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.paths import lock_file, lock_part

# What the head of a lock says when there are two; only then it is read whole.
STEPS = "\n# given-python: "


def whereabouts(edition: Edition, report: MatrixReport, inputs: Inputs) -> Whereabouts:
    """Return the addresses under which the site has the lock of these inputs."""
    whole, rest, subject = (edition.url(path) for path in _paths(report, inputs.cell))
    return (
        Whereabouts(lock=whole, pins=rest, given=subject)
        if in_two_steps(inputs)
        else Whereabouts(lock=whole)
    )


def files(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        for cell in report.locks:
            whole, *two = _paths(report, cell)
            text = report.parts.lock_text(cell) or ""
            yield SiteFile(path=whole, content=text.encode())
            if STEPS in text and in_two_steps(report.locks.inputs(cell)):
                for path, part in zip(two, parts(report.locks[cell]), strict=True):
                    yield SiteFile(path=path, content=part.encode())


def _paths(report: MatrixReport, cell: str) -> tuple[str, str, str]:
    name = report.name
    return lock_file(name, cell), lock_part(name, cell, "pins"), lock_part(name, cell, "given")
