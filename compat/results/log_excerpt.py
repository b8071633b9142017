"""The `results` room's log excerpts: the part of a log around the first real error."""

import re
from collections.abc import Callable

# What `socketserver` prints when a client of a server goes away: the relay that the suite runs for
# remote executors has such clients, and none of it fails a test.
# https://docs.python.org/3/library/socketserver.html#socketserver.BaseServer.handle_error
_SERVER_NOISE = re.compile(
    r"-{40}\nException (?:occurred|happened) during processing of request from .*\n"
    r"(?:(?!-{40}\n?).*\n)*?(?:-{40}\n?|\Z)"
)
_HEADING = re.compile(r"^=+ (?:FAILURES|ERRORS) =+$")
_SIGNS = ("Error", "error:", "Fatal Python", "FAILED", "Traceback")
# What pytest puts before the lines of the exception itself.
_RAISED = "E  "


def around_first_error(log: str, before: int, after: int) -> str:
    """Return so many lines of a log before and after its first real error, and no server's noise.

    In a report of pytest that is the first exception below the heading of its failures, and nothing
    above that heading is returned. A log without an error is cut at its end.
    """
    lines = _SERVER_NOISE.sub("\n", log).splitlines()
    heading = next((n for n, line in enumerate(lines) if _HEADING.match(line)), None)
    top = 0 if heading is None else heading + 1
    raised = None if heading is None else _first(lines, top, lambda line: line.startswith(_RAISED))
    error = _first(lines, top, lambda line: any(sign in line for sign in _SIGNS))
    first = raised if raised is not None else error if error is not None else len(lines)
    return "\n".join(lines[max(top, first - before) : first + after])


def _first(lines: list[str], top: int, fits: Callable[[str], bool]) -> int | None:
    return next((n for n in range(top, len(lines)) if fits(lines[n])), None)
