"""Describes an exception inside a cell, and whether the suite's code or other code raised it.

A copy of it lies beside those of `plugin.py` and `probe.py` in the cell.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
import sysconfig
import tempfile
import traceback
from typing import Any

MESSAGE = 500
OUTPUT = 100_000
_FRAME = re.compile(r'^ +File "([^"\n]+)", line (\d+)', re.MULTILINE)
# pytest indents every line of an assertion's message except the first.
_TRACEBACK = re.compile(
    r"Traceback \(most recent call last\):\r?\n"
    r"(?P<frames>(?P<indent> *)  File .*\n(?:(?P=indent) .*\n)*)"
    r"(?P=indent)(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>[^\r\n]*))?\r?$",
    re.MULTILINE,
)
# Read before a test can patch the system's name.
STDLIB = os.path.realpath(os.path.dirname(sysconfig.get_paths()["stdlib"])) + os.sep
_MACHINERY = re.compile(r"(_pytest|pluggy|python[0-9.]+/importlib)/")


def facts_of(error: BaseException, suites: list[str], otherwise: str = "") -> dict[str, Any]:
    """Also whether the suite's own code raised it, and what killed a child process."""
    outside, inside = frame_locations(error, suites)
    child = child_facts(error, suites)
    frames = list(traceback.walk_tb(error.__traceback__))
    line = linecache.getline(frames[-1][0].f_code.co_filename, frames[-1][1]) if frames else ""
    return {
        **({"child": child} if child else {}),
        "type": type(error).__name__,
        "message": exception_line(error),
        "where": text(outside or inside or otherwise, MESSAGE),
        "of_suite": bool(inside and not outside),
        "is_own": bool(inside and not outside) and line.lstrip().startswith("raise "),
    }


def child_facts(error: BaseException, suites: list[str]) -> dict[str, Any] | None:
    """The last traceback in an exception's text, or in the output of a process that it holds."""
    tracebacks: list[re.Match[str]] = []
    for name in ("", "stdout", "stderr"):
        try:
            part = getattr(error, name, None) if name else error
            output = part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)
        except Exception:
            continue
        tracebacks += _TRACEBACK.finditer(output[-OUTPUT:])
    if not tracebacks:
        return None
    traceback = tracebacks[-1]
    frames = [(installed(f), line) for f, line in _FRAME.findall(traceback.group("frames"))]
    places = [
        (is_of(file, suites), f"{shown_path(file, suites)}:{line}")
        for file, line in frames
        if not is_noise(file, {})
    ]
    outside = [place for is_own, place in places if not is_own]
    return {
        "type": text(traceback.group("type").rpartition(".")[2], MESSAGE),
        "message": text(traceback.group("message") or "", MESSAGE),
        "where": text((outside or [place for _, place in places] or [""])[-1], MESSAGE),
        "of_suite": bool(places) and not outside,
    }


def installed(file: str) -> str:
    """The file on this machine for a frame: a compiled module's frames name the build machine's."""
    parts = file.split("/")
    for folder in sys.path if not os.path.exists(file) else ():
        for first in range(len(parts) - 1):
            path = os.path.join(folder, *parts[first:])
            if folder and parts[first] and os.path.exists(path):
                return path
    return file


def frame_locations(error: BaseException, suites: list[str]) -> tuple[str, str]:
    """Return `file:line` of the innermost frame outside the suite, and of the one inside it.

    Frames before the suite's first are pytest's own. Skips hidden frames (assertion helpers), those
    of importlib, and generated code with changing names.
    """
    if isinstance(error, SyntaxError) and error.filename:
        where = f"{shown_path(error.filename, suites)}:{error.lineno or 0}"
        return ("", where) if is_of(error.filename, suites) else (where, "")
    inside = outside = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        where = f"{shown_source(file, frame.f_globals, suites)}:{line}"
        if is_of(file, suites):
            inside = inside if inside and frame.f_locals.get("__tracebackhide__") else where
        elif (inside or not suites) and not is_noise(file, frame.f_locals):
            outside = where
    return outside, inside


def is_of(file: str, suites: list[str]) -> bool:
    return "/site-packages/" not in file and any(
        os.path.realpath(file).startswith(suite) for suite in suites
    )


def is_noise(file: str, local: dict[str, Any]) -> bool:
    short = shown_path(file, [])
    generated = short.startswith("<") or (
        short == file and file.startswith(tempfile.gettempdir() + os.sep)
    )
    return generated or bool(local.get("__tracebackhide__")) or bool(_MACHINERY.match(short))


def shown_source(file: str, names: dict[str, Any], suites: list[str]) -> str:
    """A compiled module's frames name its build machine: it is shown below its own package."""
    short, module = shown_path(file, suites), str(names.get("__name__", ""))
    if file.endswith((".py", ">")) or not module or short.split("/")[0] == module.split(".")[0]:
        return short
    return "/".join([*module.split(".")[:-1], os.path.basename(file)])


def shown_path(file: str, suites: list[str]) -> str:
    """Shorten the path to below site-packages, the standard library or the suite, if possible."""
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in file:
            return file.rpartition(folder)[2]
    for above in [STDLIB, *suites]:
        if os.path.realpath(file).startswith(above):
            return os.path.realpath(file)[len(above) :]
    return file


def exception_line(error: BaseException) -> str:
    """The first line of an exception's message; building the message may itself raise."""
    try:
        lines = str(error).strip().splitlines()
    except Exception as second:
        lines = [f"(no text: its __str__ raised {type(second).__name__})"]
    return text(lines[0], MESSAGE) if lines else ""


def text(value: Any, limit: int) -> str:
    """Return a string for every JSON reader: no lone surrogates, at most `limit` characters."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")[:limit]
