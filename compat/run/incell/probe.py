"""Imports the subject inside a cell and writes its cost or its error: `python -I probe.py OUT.json
MODULE`.

The file is written in one step after the import. A process that dies leaves none, which is evidence
too. Exits 0 if the import succeeds, and 1 if it raises.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import time
from typing import Any


def probe(out: str, module: str) -> int:
    """Import `module`, write the facts to `out`, and return the exit code."""
    # The supervisor asks for all stacks by SIGUSR1. A process started in the background of a shell
    # inherits an ignored SIGINT and hands it down to its children, which it could not stop then.
    faulthandler.enable(all_threads=True)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.path.exists(out):
        os.remove(out)
    del sys.argv[1:]
    failure = None
    start = time.perf_counter()
    try:
        __import__(module)
    except BaseException as error:
        failure = error
    seconds = round(time.perf_counter() - start, 6)
    modules = loaded()
    raised = None if failure is None else describe(failure)
    write_facts(out, {"seconds": seconds, "raised": raised})
    write_facts(out + ".modules", modules)
    return 0 if raised is None else 1


def describe(error: BaseException) -> dict[str, str]:
    # It lies beside this file, whose folder is not on the path of an isolated interpreter. Only a
    # failed import needs it.
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    from compat_raised import exception_line  # type: ignore[import-not-found]

    message = exception_line(error)
    return {"type": type(error).__name__, "message": message, "where": frame_location(error)}


def frame_location(error: BaseException) -> str:
    """Of the syntax error, or of the innermost frame that is neither ours nor the importer's."""
    import traceback

    from compat_raised import shown_path, shown_source

    if isinstance(error, SyntaxError) and error.filename:
        return f"{shown_path(error.filename, [])}:{error.lineno or 0}"
    where = ""
    # Generated code has another name each time.
    temporary = os.environ.get("TMPDIR", "/tmp") + os.sep
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        short = shown_source(file, frame.f_globals, [])
        # The interesting frame is the one that requested the import.
        is_importer = os.path.basename(os.path.dirname(file)) == "importlib"
        if not (file == __file__ or short.startswith(("<", temporary)) or is_importer):
            where = f"{short}:{line}"
    return where


def loaded() -> list[str]:
    """Read from each module's own dictionary: an attribute access would load a lazy module."""
    names = set()
    for module in list(sys.modules.values()):
        try:
            file = object.__getattribute__(module, "__dict__").get("__file__")
        except (AttributeError, TypeError):
            continue
        if isinstance(file, str) and "/site-packages/" in file:
            names.add(file.rpartition("/site-packages/")[2])
    return sorted(names)


def write_facts(out: str, facts: Any) -> None:
    part = f"{out}.{os.getpid()}.part"
    with open(part, "w", encoding="ascii") as file:
        json.dump(facts, file, ensure_ascii=True, sort_keys=True)
        file.write("\n")
    os.replace(part, out)


if __name__ == "__main__":
    sys.exit(probe(sys.argv[1], sys.argv[2]))
