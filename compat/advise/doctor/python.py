"""What CPython, the loader and the compiler print when something does not fit, as facts.

The formats are in `grammar.toml`.
"""

import re
from collections.abc import Callable, Iterator

from compat.advise.doctor.facts import (
    PYTHON,
    BadCall,
    Binary,
    Fact,
    LacksName,
    NoModule,
    Syntax,
    Text,
    Trouble,
    grammar,
)
from compat.advise.doctor.known import index, package_of_module
from compat.advise.doctor.traceback import Traceback, package_of

Match = re.Match[str]
Made = Iterator[Fact]
# Which library a mangled C++ name is of: those that extensions of other packages link to.
_NAMESPACES = {"at": "torch", "c10": "torch", "caffe2": "torch", "torch": "torch"}
_READS = re.compile(
    r"\b(?:load_model|model_from_\w+|(?:cls\.|_)?from_config|deserialize\w*|\w*unpickle\w*|__setstate__)\("
)
_CARET = re.compile(r"^\s*[\^~]+\s*$")


def python_facts(text: Text, trace: Traceback) -> Made:
    tables = grammar()
    for entry in tables["cpython"]:
        for number, match in enumerate(entry["pattern"].finditer(text.flat)):
            if number == 8:
                break
            line = text.line_at(match.start())
            if entry["make"] == "array":
                yield _array(match, line, trace, entry.get("needs", ""))
            else:
                yield from _MAKERS[entry["make"]](match, line, trace)
    for entry in tables["python"]:
        for match in entry["pattern"].finditer(text.flat):
            line = text.line_at(match.start())
            yield LacksName(module=PYTHON, name=match[0][:60], line=line, since=entry["needs"])
    for entry in tables["trouble"]:
        matched = entry["pattern"].search(text.flat)
        if matched:
            line = text.line_at(matched.start())
            yield Trouble(kind=entry["kind"], sentence=entry["sentence"], line=line)
    yield from _syntax(text)
    yield from _written_by_another(trace)
    for notice in text.notices:
        stated = re.search(r"([\w-]+)[/\\]\w+\.py:.* from version \S+ when using version", notice)
        if stated and trace.raised:
            line = text.lines.index(notice) + 1
            yield Binary(kind="saved", what="", by=package_of(stated[1]), line=line)


def _written_by_another(trace: Traceback) -> Made:
    """An error below the frames that read back what another release wrote: a saved model or object,
    or code that a compiler generated for its runtime.
    """
    kinds = ("TypeError", "KeyError", "ValueError", "AttributeError", "ModuleNotFoundError")
    if not trace.raised or trace.raised[-1].type.rpartition(".")[2] not in kinds:
        return
    line = trace.raised[-1].line
    for entry in grammar()["generated"]:
        places = [f for f in trace.frames if entry["pattern"].search(f.path)]
        if places:
            yield Binary(kind="generated", what=entry["by"], by=places[-1].package, line=line)
    readers = [
        f for f in trace.frames[-6:] if f.package not in ("", PYTHON) and _READS.search(f.source)
    ]
    if readers and trace.frames[-1].package:
        yield Binary(kind="saved", what="", by=readers[0].package, line=line)


def _shadow(line: int) -> Trouble:
    words = (
        "A module was used while it was still being imported. Mostly a local file has the name of a"
        " package or of a module of Python: rename it."
    )
    return Trouble(kind="shadow", sentence=words, line=line)


def _cannot_import(match: Match, line: int, trace: Traceback) -> Made:
    name, module = match["name"], match["module"] or ""
    if match["partial"]:
        yield _shadow(line)
        return
    if not module:  # before Python 3.7 the line above says it
        above = match.string[: match.start()]
        asked = re.findall(rf"from ([\w.]+) import [^#]{{0,200}}?\b{name}\b", above)
        module = re.split(r" from ", asked[-1])[-1] if asked else ""
    if module.startswith("."):
        place = next((f for f in reversed(trace.frames) if f.package), None)
        module = "" if place is None else _absolute(module, place.path)
    if module:
        yield LacksName(module=module, name=name, line=line, file=match["file"] or "")


def _absolute(relative: str, path: str) -> str:
    inside = re.split(r"(?:site|dist)-packages/", path)[-1].split("/")
    rest = relative.lstrip(".")
    dots = len(relative) - len(rest)
    return ".".join([*inside[: len(inside) - dots], *([rest] if rest else [])])


def _module_lacks(match: Match, line: int, trace: Traceback) -> Made:
    module, name = match["module"] or "", match["name"]
    if match["partial"] or match["circular"]:
        yield _shadow(line)
        return
    if not module:  # Python 2 leaves it out; the line above says it: `mx.mod`.
        before = match.string[: match.start()]
        used = re.findall(rf"\b([A-Za-z_][\w.]*)\.{re.escape(name)}\b", before)
        top, dot, rest = used[-1].partition(".") if used else ("", "", "")
        real = re.findall(rf"\bimport ([\w.]+) as {re.escape(top)}\b", before)
        module = "" if top == "self" else (real[-1] if real and top else top) + dot + rest
    if module:
        yield LacksName(module=module, name=name, line=line)


def _class_lacks(match: Match, line: int, trace: Traceback) -> Made:
    if match["name"].endswith("cython__"):  # parts of two builds are mixed
        by = package_of(match["module"].partition(".")[0])
        yield Binary(kind="loader", what="", by=by, line=line)
    else:
        yield LacksName(module=match["module"], name=match["name"], line=line, is_class=True)


def _said_removed(match: Match, line: int, trace: Traceback) -> Made:
    module, _, name = match["dotted"].rpartition(".")
    yield LacksName(module=module, name=name, line=line, since=match["version"] or "")


def _said_moved(match: Match, line: int, trace: Traceback) -> Made:
    module = match["raised"].partition(".")[0] if "." in match["raised"] else ""
    module = module or next((p.replace("-", "_") for p in trace.installed), "")
    if module:
        yield LacksName(module=module, name=match["name"], line=line, file="-packages")


def _not_defined(match: Match, line: int, trace: Traceback) -> Made:
    yield LacksName(module="builtins", name=match["name"], line=line)


def _no_module(match: Match, line: int, trace: Traceback) -> Made:
    module = match["module"].rstrip(".")
    if match["package"]:
        yield _shadow(line)
        return
    if "." not in module:  # Python 2 gives the last part alone
        above = match.string[: match.start()]
        whole = re.findall(rf"\b(?:from|import) ([\w.]+\.{re.escape(module)})\b", above)
        parts = re.findall(rf"\bfrom ([\w.]+) import {re.escape(module)}\b", above)
        module = whole[-1] if whole else f"{parts[-1]}.{module}" if parts else module
    yield NoModule(module=module, line=line)


def _called(match: Match, line: int, trace: Traceback) -> Made:
    function = match["function"] or ""
    if match["unexpected"]:
        yield BadCall(function=function, kind="+", argument=match["unexpected"], line=line)
    elif match["missing"]:
        for name in re.findall(r"'(\w+)'", match["missing"]):
            yield BadCall(function=function, kind="!", argument=name, line=line)
    else:
        yield BadCall(function=function, kind="#", argument=match["given"], line=line)


def _symbol(match: Match, line: int, trace: Traceback) -> Made:
    what, symbol = "", match["symbol"]
    mangled = re.match(r"_ZNK?S?t?(\d+)([A-Za-z_]\w*)", symbol)
    if mangled:
        space = mangled[2][: int(mangled[1])]
        what = _NAMESPACES.get(space, package_of(space) if len(space) > 4 else "")
    elif symbol.startswith("TH"):
        what = "torch"
    yield Binary(kind="symbol", what=what, by=_of_file(match["file"], trace), line=line)


def _loader(match: Match, line: int, trace: Traceback) -> Made:
    by = _of_file(match["file"], trace) or _innermost(trace)
    yield Binary(kind="loader", what="", by=by, line=line)


def _library(match: Match, line: int, trace: Traceback) -> Made:
    by = _of_file(match["file"] or "", trace) or _innermost(trace)
    yield Binary(kind="library", what=match["library"], by=by, line=line, needs=match["version"])


def _of_file(path: str, trace: Traceback) -> str:
    """The package of a compiled file; empty for one of the user's own."""
    path = path.replace("\\", "/")
    matched = re.search(r"(?:site|dist)-packages/(\w+)", path)
    if matched:
        return package_of(matched[1])
    *folders, file = path.split("/")
    if "cpython" in path or "abi3" in path:
        known = (package_of_module(p) or (p if index(p) else "") for p in folders)
        above = folders[-1] if folders else ""
        stem = file.partition(".")[0]
        return next(filter(None, known), package_of(above if stem.startswith("_") else stem))
    return package_of(folders[0]) if folders and folders[0].isidentifier() else ""


def _innermost(trace: Traceback) -> str:
    return (trace.installed or [""])[0]


def _array(match: Match, line: int, trace: Traceback, needs: str) -> Binary:
    groups = match.groupdict()
    built, got = groups.get("built") or "", groups.get("got") or ""
    if built.startswith("0x"):
        needs = "newer" if int(built, 16) > int(got, 16) else "older"
    elif built:  # NumPy 1 has 96 bytes in what a header shows of its dtype, NumPy 2 has 88
        needs = {("96", "88"): "<2", ("88", "96"): ">=2"}.get((built, got), "")
    by = next((p for p in trace.installed if p != "numpy"), "")
    return Binary(kind="array", what="numpy", by=by, line=line, needs=needs)


def _instruction(match: Match, line: int, trace: Traceback) -> Made:
    imported = re.findall(r"\b(?:import|from) ([A-Za-z_]\w*)", match.string[: match.start()])
    by = package_of(imported[-1]) if imported else _innermost(trace)
    yield Binary(kind="instruction", what="", by=by, line=line)


def _saved(match: Match, line: int, trace: Traceback) -> Made:
    yield Binary(kind="saved", what="", by=package_of(match["n"]), line=line)


_MAKERS: dict[str, Callable[[Match, int, Traceback], Made]] = {
    "cannot_import": _cannot_import,
    "module_lacks": _module_lacks,
    "class_lacks": _class_lacks,
    "said_removed": _said_removed,
    "said_moved": _said_moved,
    "not_defined": _not_defined,
    "no_module": _no_module,
    "called": _called,
    "symbol": _symbol,
    "loader": _loader,
    "library": _library,
    "instruction": _instruction,
    "saved": _saved,
}


def _syntax(text: Text) -> Made:
    for number, line in enumerate(text.lines):
        match = re.match(r"\s*(?:SyntaxError|TabError): ?(.*)", line)
        if match is None:
            continue
        above = [each for each in text.lines[max(0, number - 4) : number] if not _CARET.match(each)]
        places = (
            re.search(r"\b[Ff]ile [\"']([^\"']+)[\"'], line", each) for each in text.lines[:number]
        )
        files = [place[1].replace("\\", "/") for place in places if place]
        yield Syntax(
            source=above[-1].strip() if above else "",
            file=files[-1] if files else "",
            line=number + 1,
            text=match[1],
        )
