"""What CPython, the loader and the compiler print when something does not fit: about two dozen
formats that they have for everybody, as facts.
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
)
from compat.advise.doctor.known import index, package_of_module
from compat.advise.doctor.traceback import Traceback, package_of

_Q = "'?"
_DOTTED = r"[A-Za-z_][\w.]*\w|[A-Za-z_]"
_SO = r"(?P<file>[^ ()']{0,300}?(?P<stem>[\w.+-]+)\.(?:so|dll|pyd|dylib)[\w.]*)"
# Which library a mangled C++ name is of: those that extensions of other packages link to.
_NAMESPACES = {"at": "torch", "c10": "torch", "caffe2": "torch", "torch": "torch", "TH": "torch"}

Made = Iterator[Fact]
Build = Callable[["re.Match[str]", int, Traceback], Made]


def python_facts(text: Text, trace: Traceback) -> Iterator[Fact]:
    for pattern, build in _FORMATS:
        for number, match in enumerate(pattern.finditer(text.flat)):
            if number == 8:
                break
            yield from build(match, text.line_at(match.start()), trace)
    yield from _syntax(text)
    for notice in text.notices:
        said = re.search(r"([\w-]+)[/\\]\w+\.py:.* from version \S+ when using version", notice)
        if said and trace.raised:
            yield Binary(
                kind="saved", what="", by=package_of(said[1]), line=text.lines.index(notice) + 1
            )


def _cannot_import(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    name, module = match["name"], match["module"] or ""
    if match["partial"]:
        yield from _shadow(match, line, trace)
        return
    if not module:
        sources = [f.source for f in trace.frames if f.line <= line + 1]
        found = [
            m[1]
            for s in reversed(sources)
            if (m := re.search(rf"\bfrom ([\w.]+) import\b.*\b{name}\b", s))
        ] or [
            m[1]
            for m in [
                re.search(
                    rf"from ([\w.]+) import [^#]{{0,200}}\b{name}\b", match.string[: match.start()]
                )
            ]
            if m
        ]
        module = found[0] if found else ""
    if module.startswith("."):
        place = next((f for f in reversed(trace.frames) if f.package), None)
        module = "" if place is None else _absolute(module, place.path)
    if module:
        yield LacksName(module=module, name=name, line=line, file=match["file"] or "")


def _absolute(relative: str, path: str) -> str:
    inside = re.split(r"(?:site|dist)-packages/", path)[-1].split("/")
    dots = len(relative) - len(relative.lstrip("."))
    rest = relative.lstrip(".")
    return ".".join([*inside[: len(inside) - dots], *([rest] if rest else [])])


def _shadow(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    yield Trouble(
        kind="shadow",
        sentence="A module was used while it was still being imported. Mostly a local file has the"
        " name of a package or of a module of Python: rename it.",
        line=line,
    )


def _used(name: str, before: str) -> tuple[str, str]:
    used = re.findall(rf"\b([A-Za-z_][\w.]*)\.{re.escape(name)}\b", before)
    if not used:
        return "", ""
    top, dot, rest = used[-1].partition(".")
    if top == "self":
        return "", ""
    real = re.findall(rf"\bimport ([\w.]+) as {re.escape(top)}\b", before)
    return used[-1], (real[-1] + dot + rest) if real else ""


def _class_lacks(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    if match["name"].endswith("cython__"):  # parts of two builds are mixed
        yield Binary(
            kind="loader", what="", by=package_of(match["module"].partition(".")[0]), line=line
        )
        return
    yield LacksName(module=match["module"], name=match["name"], line=line, is_class=True)


def _said_removed(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    module, _, name = match["dotted"].rpartition(".")
    if module:
        yield LacksName(module=module, name=name, line=line, since=match["version"] or "")


def _no_module(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    module = match["module"].rstrip(".")
    if match["package"]:
        yield from _shadow(match, line, trace)
        return
    if "." not in module:  # Python 2 gives the last part alone
        froms = re.findall(
            rf"\b(?:from|import) ([\w.]+\.{re.escape(module)})\b", match.string[: match.start()]
        )
        split = re.findall(
            rf"\bfrom ([\w.]+)\.?(?<=\.){re.escape(module)} import", match.string[: match.start()]
        )
        module = (froms or split or [module])[-1]
    yield NoModule(module=module, line=line)


def _called(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    function = match["function"] or ""
    if match["unexpected"]:
        yield BadCall(function=function, kind="+", argument=match["unexpected"], line=line)
    elif match["missing"]:
        for name in re.findall(r"'(\w+)'", match["missing"]):
            yield BadCall(function=function, kind="!", argument=name, line=line)
    elif function:
        yield BadCall(function=function, kind="#", argument=match["given"], line=line)


def _undefined_symbol(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    who = _of_file(match["file"])
    mangled = re.match(r"_ZNK?S?t?\d+([A-Za-z_]\w*)", match["symbol"])
    what = ""
    if mangled:
        length = int(re.search(r"\d+", match["symbol"])[0])  # type: ignore[index]
        space = mangled[1][:length]
        what = _NAMESPACES.get(space, package_of(space) if length > 4 else "")
    elif match["symbol"].startswith(("TH", "at_")):
        what = "torch"
    yield Binary(kind="symbol", what=what, by=who, line=line)


def _of_file(path: str) -> str:
    found = re.search(r"(?:site|dist)-packages/(\w+)", path.replace("\\", "/"))
    if found:
        return package_of(found[1])
    stem = path.replace("\\", "/").rpartition("/")[2].partition(".")[0]
    above = path.replace("\\", "/").split("/")[-2:-1]
    if "cpython" in path or "abi3" in path:
        parts = path.replace("\\", "/").split("/")[:-1]
        known = next(
            (
                p
                for part in parts
                if (p := package_of_module(part) or (part if index(part) else ""))
            ),
            "",
        )
        return known or package_of(above[0] if stem.startswith("_") and above else stem)
    top = path.partition("/")[0]
    return package_of(top) if top.isidentifier() else ""


def _glibc(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    by = _of_file(match["by"] or "") or (trace.installed[:1] or [""])[0]
    yield Binary(kind="library", what=match["library"], by=by, line=line, needs=match["version"])


def _loader(kind: str) -> Build:
    def build(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
        by = _of_file(match["file"]) or (trace.installed[:1] or [""])[0]
        yield Binary(kind=kind, what="", by=by, line=line)

    return build


def _array_layout(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    built, got = match["built"], match["got"]
    # NumPy 1 has 96 bytes in its dtype, NumPy 2 has 88 of them in the part that a header shows.
    needs = "<2" if (built, got) == ("96", "88") else ">=2" if (built, got) == ("88", "96") else ""
    by = next((p for p in trace.installed if p not in ("numpy", PYTHON)), "")
    yield Binary(kind="array", what="numpy", by=by, line=line, needs=needs)


def _array_api(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    by = next((p for p in trace.installed if p not in ("numpy", PYTHON)), "")
    groups = match.groupdict()
    needs = "<2"
    if groups.get("built"):
        needs = "newer" if int(groups["built"], 16) > int(groups["got"], 16) else "older"
    yield Binary(kind="array", what="numpy", by=by, line=line, needs=needs)


def _instruction(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    before = match.string[: match.start()]
    imported = re.findall(r"\b(?:import|from) ([A-Za-z_]\w*)", before)
    by = package_of(imported[-1]) if imported else (trace.installed[:1] or [""])[0]
    yield Binary(kind="instruction", what="", by=by, line=line)


def _not_defined(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    yield LacksName(module="builtins", name=match["name"], line=line)


def _saved(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    yield Binary(kind="saved", what="", by=package_of(match["n"]), line=line)


def _newer_python(needs: str) -> Build:
    def build(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
        yield LacksName(module=PYTHON, name=match[0][:60], line=line, since=needs)

    return build


def _trouble(kind: str, sentence: str) -> Build:
    def build(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
        yield Trouble(kind=kind, sentence=sentence, line=line)

    return build


def _compiled(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern)


_FORMATS: tuple[tuple["re.Pattern[str]", Build], ...] = (
    (
        _compiled(
            rf"[Cc]annot import name {_Q}(?P<name>\w+){_Q}(?: from (?P<partial>partially initialized"
            rf" module )?{_Q}(?P<module>[\w.]+){_Q})?(?P<circular> \(most likely[^)]*\))?"
            r"(?: \((?P<file>[^()]{1,300})\))?"
        ),
        _cannot_import,
    ),
    (
        _compiled(
            rf"\b(?P<partial>partially initialized )?module(?:' object|(?: '(?P<module>{_DOTTED})')) has no"
            r" attribute '(?P<name>\w+)'"
        ),
        lambda m, line, trace: (
            _shadow(m, line, trace) if m["partial"] else _module_lacks_of(m, line, trace)
        ),
    ),
    (
        _compiled(
            r"(?<!module)(?:type object )?'(?P<module>[A-Za-z_][\w.]*)'(?: object)? has no attribute '(?P<name>\w+)'"
        ),
        lambda m, line, trace: (
            iter(())
            if re.search(r"module '?$", m.string[: m.start("module")][-9:])
            or m["module"] == "module"
            else _class_lacks(m, line, trace)
        ),
    ),
    (
        _compiled(
            r"'?(?P<dotted>[A-Za-z_]\w*(?:\.\w+)+)'? (?:was|has been|is) (?:(?:deprecated and )?removed|not supported|no longer (?:supported|available)) (?:in|from)"
            r" (?:the )?(?:(?P<library>[A-Za-z][\w-]*) )?(?:version )?v?(?P<version>\d+(?:\.\d+)*)?"
        ),
        _said_removed,
    ),
    (
        _compiled(
            r"[Nn]o module named:? '?(?P<module>[A-Za-z_][\w.]*)'?(?P<package>; '?[\w.]+'? is not a package)?"
        ),
        _no_module,
    ),
    (
        _compiled(
            r"(?:(?P<function>[A-Za-z_][\w.<>]*)\(\) |\b[Gg])"
            r"(?:(?:g?)ot an unexpected keyword argument '(?P<unexpected>\w+)'"
            r"|missing \d+ required (?:positional|keyword-only) arguments?: (?P<missing>'\w+'(?:,? (?:and )?'\w+'){0,8})"
            r"|takes (?:exactly |from |at most )?(?P<takes>[\w ]{1,20}?) (?:positional )?arguments?(?: but| \()(?P<given> ?\d+) )"
        ),
        _called,
    ),
    (_compiled(_SO + r": undefined symbol: (?P<symbol>\w+)"), _undefined_symbol),
    (
        _compiled(
            r"dlopen\((?P<file>[^,() ]{1,300}), \w+\): (?:[Ss]ymbol not found|no suitable image|tried: )"
        ),
        _loader("loader"),
    ),
    (
        _compiled(
            r"(?P<file>(?P<library>lib\w+)[^ ]*): version '(?P<version>[\w.]+)' not found(?: \(required by (?P<by>[^)]+)\))?"
        ),
        _glibc,
    ),
    (
        _compiled(
            r"numpy\.(?:dtype|ufunc|ndarray) (?:size changed, may indicate binary incompatibility|has the wrong size)(?:.{0,20}Expected (?P<built>\d+)(?: from C header)?, got (?P<got>\d+))?"
        ),
        _array_layout,
    ),
    (
        _compiled(
            r"compiled against (?:NumPy C-)?API version (?P<built>0x\w+).{0,30}? numpy is (?P<got>0x\w+)"
        ),
        _array_api,
    ),
    (
        _compiled(r"compiled using NumPy 1\.x cannot be run in NumPy 2|_ARRAY_API not found"),
        _array_api,
    ),
    (_compiled(r"Illegal instruction"), _instruction),
    (_compiled(r"\bname '(?P<name>\w+)' is not defined"), _not_defined),
    (
        _compiled(
            r"(?:saved|generated|created|written|trained|pickled) (?:by|with|using) (?:an? )?(?:older|newer|earlier|previous|different)"
            r" (?:versions? of )?(?P<n>[A-Za-z][\w-]+)"
        ),
        _saved,
    ),
    (_compiled(r"'(?:type|ABCMeta|_ABCMeta)' object is not subscriptable"), _newer_python(">=3.9")),
    (
        _compiled(r"Callable\[\[arg, \.\.\.\], result\]: each arg must be a type"),
        _newer_python(">=3.9.2"),
    ),
    (
        _compiled(
            r"unsupported operand type\(s\) for \|: '(?:type|_GenericAlias|NoneType|_UnionGenericAlias|ABCMeta)'"
        ),
        _newer_python(">=3.10"),
    ),
    (_compiled(r"unsupported operand type\(s\) for \|: 'dict' and 'dict'"), _newer_python(">=3.9")),
    (
        _compiled(
            r"'(?:dict_keys|dict_values|dict_items|map|zip|filter|range)' object (?:is not subscriptable|does not support (?:indexing|item))"
        ),
        _newer_python("<3"),
    ),
    (_compiled(r"future feature annotations is not defined"), _newer_python(">=3.7")),
    (
        _compiled(r"mutable default .{1,200}? for field \w+ is not allowed: use default_factory"),
        _newer_python("<3.11"),
    ),
    (_compiled(r"As of 3\.10, the \*?loop\*? parameter was removed"), _newer_python("<3.10")),
    (
        _compiled(
            r"(?i)max retries exceeded|temporary failure in name resolution|read timed out|readtimeout"
            r"|connection (?:refused|reset|aborted|broken|timed out)|certificate_verify_failed|could not"
            r" fetch url|failed to fetch|error sending request for url|cannot connect to proxy|getaddrinfo"
            r" failed|tunnel connection failed|remote end closed connection|http error (?:40[137]|429|5\d\d)"
        ),
        _trouble("network", "The network or the index failed, which says nothing about versions."),
    ),
    (
        _compiled(r"(?i)no space left on device"),
        _trouble("disk", "The disk is full, which says nothing about versions."),
    ),
    (
        _compiled(r"(?i)externally-managed-environment"),
        _trouble(
            "machine",
            "This Python belongs to the operating system: install into a virtual environment.",
        ),
    ),
    (
        _compiled(r"(?i)\[errno 13\]|\[winerror 5\]|permission denied|access is denied"),
        _trouble(
            "machine", "A file or folder cannot be written, which says nothing about versions."
        ),
    ),
    (
        _compiled(
            r"\bMemoryError\b|[Cc]annot allocate memory(?! in static)|signal: killed|OOM when allocating|out of memory"
        ),
        _trouble("machine", "The machine is out of memory, which says nothing about versions."),
    ),
    (
        _compiled(r"(?i)do not match the hashes from the requirements file"),
        _trouble(
            "network",
            "The index serves other files than the requirements were made for, or the download is damaged.",
        ),
    ),
    (
        _compiled(
            r"(?i)invalid requirement: |could not open requirements file|no such option: |zsh: no matches found"
            r"|: command not found|not a valid editable requirement|does not appear to be a python project"
            r"|literally named '?requirements\.txt"
        ),
        _trouble(
            "machine",
            "The command is not as the installer takes it, which says nothing about versions.",
        ),
    ),
    (
        _compiled(
            r"fatal error: '?(?!longintrepr)[\w/.]+\.h'?|Microsoft Visual C\+\+ [\d.]+ (?:or greater )?is required"
        ),
        _trouble("machine", "The machine lacks a compiler or the headers of a system library."),
    ),
    (
        _compiled(r"\blib(?!cu|nv)[\w+-]+\.so[\d.]*: cannot open shared object file"),
        _trouble(
            "machine", "The machine lacks a library of the system, which pip does not install."
        ),
    ),
)


def _module_lacks_of(match: "re.Match[str]", line: int, trace: Traceback) -> Made:
    module = match["module"] or "module"
    tail = match.string[match.end() : match.end() + 60]
    if "most likely due to a circular import" in tail:
        return _shadow(match, line, trace)
    name = match["name"]
    if module != "module":
        return iter([LacksName(module=module, name=name, line=line)])
    alias, full = _used(name, match.string[: match.start()])
    return iter([LacksName(module=full or alias or "", name=name, line=line)])


_CARET = re.compile(r"^\s*[\^~]+\s*$")


def _syntax(text: Text) -> Iterator[Fact]:
    for number, line in enumerate(text.lines):
        match = re.match(r"\s*(?:SyntaxError|TabError): ?(.*)", line)
        if match is None:
            continue
        above = [l for l in text.lines[max(0, number - 4) : number] if not _CARET.match(l)]
        source = above[-1].strip() if above else ""
        files = [
            m[1]
            for l in text.lines[:number]
            if (m := re.search(r"\b[Ff]ile [\"']([^\"']+)[\"'], line", l))
        ]
        yield Syntax(
            source=source,
            file=(files or [""])[-1].replace("\\", "/"),
            line=number + 1,
            text=match[1],
        )
