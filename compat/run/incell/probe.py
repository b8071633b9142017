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
import sysconfig
import time
from typing import Any

MESSAGE = 500


def probe(out: str, module: str) -> int:
    """Import `module`, write the facts to `out`, and return the exit code."""
    watch_signals()
    if os.path.exists(out):
        os.remove(out)
    del sys.argv[1:]
    raised = None
    start = time.perf_counter()
    try:
        __import__(module)
    except BaseException as error:
        raised = describe(error)
    facts = {"seconds": round(time.perf_counter() - start, 6), "raised": raised}
    write_facts(out, facts)
    write_facts(out + ".modules", loaded())
    return 0 if raised is None else 1


def watch_signals() -> None:
    """Let a supervisor ask for all stacks by SIGUSR1, and let children be stopped by SIGINT.

    A process started in the background of a shell inherits an ignored SIGINT and hands it down to
    its children.
    """
    faulthandler.enable(all_threads=True)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def describe(error: BaseException) -> dict[str, str]:
    return {"type": type(error).__name__, "message": first_line(error), "where": frame_place(error)}


def first_line(error: BaseException) -> str:
    try:
        lines = str(error).strip().splitlines()
    except Exception as second:
        lines = [f"(no text: its __str__ raised {type(second).__name__})"]
    line = lines[0] if lines else ""
    return line.encode("utf-8", "backslashreplace").decode("utf-8")[:MESSAGE]


def frame_place(error: BaseException) -> str:
    """Return `file:line` of the syntax error, or of the innermost frame that is neither ours nor
    the importer's.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{short_path(error.filename)}:{error.lineno or 0}"
    where = ""
    # Generated code has another name each time.
    temporary = os.environ.get("TMPDIR", "/tmp") + os.sep
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        short = short_source(file, trace.tb_frame.f_globals)
        if not (file == __file__ or short.startswith(("<", temporary)) or is_importer(file)):
            where = f"{short}:{trace.tb_lineno}"
        trace = trace.tb_next
    return where


def is_importer(file: str) -> bool:
    """The interesting frame is the one that requested the import."""
    return os.path.basename(os.path.dirname(file)) == "importlib"


def short_source(file: str, names: dict[str, Any]) -> str:
    """Shorten the path; a compiled module's source is always shown below its own package.

    Its frames name files of the machine that built it, or a header of another package.
    """
    short, module = short_path(file), str(names.get("__name__", ""))
    if file.endswith((".py", ">")) or not module or short.split("/")[0] == module.split(".")[0]:
        return short
    return "/".join([*module.split(".")[:-1], os.path.basename(file)])


def short_path(file: str) -> str:
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in file:
            return file.rpartition(folder)[2]
    library = os.path.dirname(sysconfig.get_paths()["stdlib"]) + os.sep
    return file[len(library) :] if file.startswith(library) else file


def loaded() -> list[str]:
    """Return the files of the loaded modules below site-packages.

    Read from each module's own dictionary: an attribute access would load a lazy module.
    """
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
