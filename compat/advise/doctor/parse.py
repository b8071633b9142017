"""Parses the messages of tools into facts: CPython, IPython, pytest, loader and compiler; pip, uv,
poetry, pipenv, pip-tools and conda; and packages' own messages.

Single-line formats are in `grammar.toml`; tracebacks, lists and chains are parsed here.
"""

import re
from collections.abc import Mapping
from itertools import islice, pairwise
from typing import Any

from packaging.utils import canonicalize_name

from compat.advise.doctor.facts import (
    BadCall,
    Binary,
    Changed,
    LacksName,
    NoModule,
    Text,
    grammar,
    index,
    owners,
    package_of,
    package_of_module,
    pattern,
    requirement_of,
    version_of,
)
from compat.advise.package_list import is_own_name
from compat.lock.resolvers import (
    CLAUSE,
    EXTRAS,
    NAME,
    PYTHON,
    Absent,
    Asked,
    Fact,
    Have,
    Made,
    Match,
    Requires,
    Trouble,
    compiled,
    facts_in,
    package_name,
)
from compat.value import Value

_CELL = re.compile(r"^\s*(?P<path><(?:ipython-input|stdin|string)[^>]*>)")
_ARROW = re.compile(r"^\s*-+> ?(?P<line>\d+) (?P<source>.*)")
_PACKAGES = re.compile(r"(?:site|dist)-packages[/\\]+(?:(\w+)-[\w.]+\.egg[/\\]+)?([\w.]+)")
_PYTHON = re.compile(
    r"(?:/|\\)lib(?:64)?(?:/|\\)(?:python\d[\d.]*(?:/|\\))?\w+(?:/|\\)?[\w/\\]*\.py$|^<frozen ",
    re.I,
)


class Frame(Value, frozen=True):
    """One frame: its file, its source line, its owner (a package, `python`, or empty for the user),
    and its function, `<module>` at import.
    """

    path: str
    source: str
    package: str
    function: str = ""


class Raised(Value, frozen=True):
    """An exception, and the line that names it."""

    type: str
    line: int


class Traceback(Value, frozen=True):
    """All frames of a message in order, outermost first, and all exceptions."""

    frames: tuple[Frame, ...]
    raised: tuple[Raised, ...]

    @property
    def installed(self) -> list[str]:
        packages = dict.fromkeys(f.package for f in reversed(self.frames))
        return [package for package in packages if package not in ("", PYTHON)]

    @property
    def own_stems(self) -> frozenset[str]:
        parts = (
            part.removesuffix(".py")
            for frame in self.frames
            if not frame.package and not frame.path.startswith("<")
            for part in re.split(r"[/\\]", frame.path)
        )
        return frozenset(part for part in parts if part)


def read_traceback(text: Text) -> Traceback:
    frames: list[Frame] = []
    raised: list[Raised] = []
    for number, line in enumerate(text.lines, 1):
        error = pattern("raised").match(line)
        if error is not None:
            raised.append(Raised(type=error["type"], line=number))
            continue
        where = (
            pattern("file").search(line)
            or pattern("ipython").match(line)
            or _CELL.match(line)
            or pattern("short").match(line)
        )
        if where is None:
            continue
        path, package = where["path"].replace("\\", "/"), ""
        if matched := _PACKAGES.search(path):
            package = package_of(matched[2].removesuffix(".py").partition(".")[0])
        elif re.search(r"/usr/src/(\w+)/\1/", path):
            package = package_of(path.split("/")[3])
        elif _PYTHON.search(path):
            package = "python"
        inside = re.match(r"\S{0,60}?,? ?in (<?[\w.]+>?)", line[where.end() :])
        function = where.groupdict().get("function") or (inside[1] if inside else "")
        frames.append(Frame(path, _source(text.lines, number), package, function))
    return Traceback(frames=tuple(frames), raised=tuple(raised))


def _source(lines: list[str], number: int) -> str:
    for line in lines[number : number + 12]:
        arrow = _ARROW.match(line)
        if arrow:
            return arrow["source"].strip()
        places = (pattern("raised").match, pattern("ipython").match, pattern("file").search)
        if any(is_place(line) for is_place in places):
            break
    following = lines[number].strip() if number < len(lines) else ""
    inline = lines[number - 1].partition(".py:")[2].partition(" ")[2]
    if inline and not inline.startswith("in "):
        return inline.strip()
    if pattern("raised").match(following) or pattern("file").search(following):
        return ""
    return re.sub(r"^(?:❱\s*)?\d*\s+(?=[a-z])", "", following)


def is_users_own(module: str, trace: Traceback) -> bool:
    """Whether a module may be the user's: it has a common name, or that of a user's file."""
    top = module.partition(".")[0]
    return is_own_name(package_of(module)) or (
        top in trace.own_stems and package_of(module) not in trace.installed
    )


# ---- messages of Python

# The library of a mangled C++ name: those that extensions of other packages link to.
_NAMESPACES = {"at": "torch", "c10": "torch", "caffe2": "torch", "torch": "torch"}
_READS = re.compile(
    r"\b(?:load_model|model_from_\w+|(?:cls\.|_)?from_config|deserialize\w*|\w*unpickle\w*|__setstate__)\("
)


def all_facts(text: Text) -> tuple[Traceback, list[Fact]]:
    trace = read_traceback(text)
    return trace, [*_of_python(text, trace), *_of_words(text, trace), *_of_resolvers(text)]


def _of_python(text: Text, trace: Traceback) -> Made:
    tables = grammar()
    for entry in tables["cpython"]:
        for match in islice(entry["pattern"].finditer(text.flat), 8):
            line = text.line_at(match.start())
            yield from _made(entry, match, line, trace)
    for entry in tables["python"]:
        for match in entry["pattern"].finditer(text.flat):
            line, who = text.line_at(match.start()), next(iter(trace.installed), "")
            yield Requires(PYTHON, entry["needs"], line, who, is_check=True)
    for entry in tables["trouble"]:
        matched = entry["pattern"].search(text.flat)
        if matched:
            line = text.line_at(matched.start())
            yield Trouble(kind=entry["kind"], sentence=entry["sentence"], line=line)
    yield from _written_by_another(trace)
    for notice in text.notices:
        stated = re.search(r"([\w-]+)[/\\]\w+\.py:.* from version \S+ when using version", notice)
        if stated and trace.raised:
            line = text.lines.index(notice) + 1
            yield Binary(kind="saved", what="", by=package_of(stated[1]), line=line)


def _made(entry: Mapping[str, Any], match: Match, line: int, trace: Traceback) -> Made:
    """The facts of one format, by its `make`."""
    groups = match.groupdict(default="") | entry.get("groups", {})
    innermost = next(iter(trace.installed), "")
    by = _of_file(groups.get("file", ""), trace) or innermost
    match entry["make"]:
        case "cannot_import":
            yield from _cannot_import(match, line, trace)
        case "module_lacks":
            yield from _module_lacks(match, line)
        case "class_lacks" if groups["name"].endswith("cython__"):  # parts of two builds are mixed
            by = package_of(groups["module"].partition(".")[0])
            yield Binary(kind="loader", what="", by=by, line=line)
        case "class_lacks":
            yield LacksName(groups["module"], groups["name"], line, is_class=True)
        case "said_removed":
            module, _, name = groups["dotted"].rpartition(".")
            yield LacksName(module, name, line, since=groups["version"])
        case "said_moved":
            module, dot, _ = groups["raised"].partition(".")
            of_class = owners(match[0].partition(":")[0])
            whose = innermost or (of_class[0] if len(of_class) == 1 else "")
            module = module if dot else whose.replace("-", "_")
            if module:
                yield LacksName(module, groups["name"], line, file="-packages")
        case "not_defined":
            yield LacksName("builtins", groups["name"], line)
        case "no_module":
            yield NoModule(_no_module(match), line)
        case "called" if groups["missing"]:
            for name in re.findall(r"'(\w+)'", groups["missing"]):
                yield BadCall(groups["function"], "!", name, line)
        case "called" if groups["unexpected"]:
            yield BadCall(groups["function"], "+", groups["unexpected"], line)
        case "called":
            yield BadCall(groups["function"], "#", groups["given"], line)
        case "operator":  # of an extension that torch did not load
            yield Binary("symbol", "torch", package_of(groups["package"]), line)
        case "hook":  # of pluggy
            module = f"_{groups['project']}.hookspec"
            yield LacksName(module, groups["name"], line, file="-packages")
        case "unpacked":
            calls = re.findall(r", ?[\w\]*]+ = ([\w.]+)\(", match.string[: match.start()])
            yield from (BadCall(call, "=", groups["count"], line) for call in calls[-1:])
        case "symbol":
            yield _symbol(groups["symbol"], _of_file(groups["file"], trace), line)
        case "loader":
            yield Binary(kind="loader", what="", by=by, line=line)
        case "library":
            yield Binary("library", groups["library"], by, line, needs=groups["version"])
        case "instruction":
            imported = re.findall(
                r"\b(?:import|from) ([A-Za-z_]\w*)", match.string[: match.start()]
            )
            by = package_of(imported[-1]) if imported else innermost
            yield Binary(kind="instruction", what="", by=by, line=line)
        case "saved":
            yield Binary(kind="saved", what="", by=package_of(groups["n"]), line=line)
        case "array":
            yield from _array(match, line, trace, entry.get("needs", ""))


def _written_by_another(trace: Traceback) -> Made:
    """An error below the frames that read data of another release: a saved model or object, or code
    that a compiler generated for its runtime.
    """
    kinds = ("TypeError", "KeyError", "ValueError", "AttributeError", "ModuleNotFoundError")
    if not trace.raised or trace.raised[-1].type.rpartition(".")[2] not in kinds:
        return
    line = trace.raised[-1].line
    for entry in grammar()["generated"]:
        places = [f for f in trace.frames if entry["pattern"].search(f.path)]
        if places:
            yield Binary(kind="generated", what=entry["by"], by=places[-1].package, line=line)
    innermost = trace.frames[-1].package if trace.frames else ""
    readers = [f for f in trace.frames[-6:] if f.package != PYTHON and _READS.search(f.source)]
    if readers and innermost:
        yield Binary(kind="saved", what="", by=readers[0].package or innermost, line=line)


def _cannot_import(match: Match, line: int, trace: Traceback) -> Made:
    name, module = match["name"], match["module"] or ""
    if not module:  # before Python 3.7 the line above names it
        above = match.string[: match.start()]
        statement = rf"from ([\w.]+) import (?:(?! import )[^#]){{0,200}}?\b{name}\b"
        asked = re.findall(statement, above)
        module = asked[-1] if asked else ""
    if module.startswith("."):
        inside = next((f.path for f in reversed(trace.frames) if f.package), "").split("-packages/")
        rest, folders = module.lstrip("."), inside[-1].split("/")
        folders = folders[: len(folders) + len(rest) - len(module)]
        module = ".".join(filter(None, [*folders, rest])) if inside[1:] else ""
    if module:
        yield LacksName(module=module, name=name, line=line, file=match["file"] or "")


def _module_lacks(match: Match, line: int) -> Made:
    module, name = match["module"] or "", match["name"]
    if not module:  # Python 2 omits it; the line above has it: `mx.mod`.
        before = match.string[: match.start()]
        used = re.findall(rf"\b([A-Za-z_][\w.]*)\.{re.escape(name)}\b", before)
        top, dot, rest = used[-1].partition(".") if used else ("", "", "")
        real = re.findall(rf"\bimport ([\w.]+) as {re.escape(top)}\b", before)
        module = "" if top == "self" else (real[-1] if real and top else top) + dot + rest
    if module:
        yield LacksName(module=module, name=name, line=line)


def _no_module(match: Match) -> str:
    module = str(match["module"]).rstrip(".")
    if "." not in module:  # Python 2 prints only the last part
        above = match.string[: match.start()]
        whole = re.findall(rf"\b(?:from|import) ([\w.]+\.{re.escape(module)})\b", above)
        parts = re.findall(rf"\bfrom ([\w.]+) import {re.escape(module)}\b", above)
        module = whole[-1] if whole else f"{parts[-1]}.{module}" if parts else module
    return module


def _symbol(symbol: str, by: str, line: int) -> Binary:
    names, rest = [], re.search(r"\d+(.*)", symbol) if symbol.startswith("_Z") else None
    while rest is not None:  # each name of a mangled one stands behind its length
        length = int(symbol[rest.start() : rest.start(1)])
        names.append(rest[1][:length])
        rest = re.compile(r"\d+(.*)").search(symbol, rest.start(1) + length)
    known = (_NAMESPACES.get(name) or package_of_module(name) for name in names if len(name) > 1)
    what = "torch" if symbol.startswith("TH") else next(filter(None, known), "")
    return Binary(kind="symbol", what=what, by=by, line=line)


def _of_file(path: str, trace: Traceback) -> str:
    path = path.replace("\\", "/")
    matched = re.search(r"(?:site|dist)-packages/(\w+)", path)
    if "-0.0.0-py" in path:  # built from a set-up script without a version: the user's own
        return ""
    if matched:
        return package_of(matched[1])
    *folders, file = path.split("/")
    if "cpython" in path or "abi3" in path:
        known = (package_of_module(p) or (p if index(p) else "") for p in folders)
        above = folders[-1] if folders else ""
        stem = file.partition(".")[0]
        return next(filter(None, known), package_of(above if stem.startswith("_") else stem))
    return package_of(folders[0]) if folders and folders[0].isidentifier() else ""


def _array(match: Match, line: int, trace: Traceback, needs: str) -> Made:
    groups = match.groupdict()
    # Without an error of its own, a program only notes it beside another.
    is_error = not trace.raised or match.string[: match.start()].endswith("Error: ")
    if "size changed" in match[0] and not is_error:
        return
    if built := groups.get("built"):
        needs = grammar()["interfaces"][groups.get("of") or "api"].get(built, "")
    by = next((p for p in trace.installed if p != "numpy"), "")
    yield Binary(kind="array", what="numpy", by=by, line=line, needs=needs)


# ---- messages of installers

PYTHON_PATTERNS: tuple[str, ...] = tuple(grammar()["site"]["pythons"])
VERSION_PATTERN: str = grammar()["site"]["version"]
_PYTHONS = tuple(compiled(f"(?i){text}") for text in PYTHON_PATTERNS)
_INSTALLED = compiled(f"(?i){VERSION_PATTERN}")


def _of_resolvers(text: Text) -> Made:
    for form in _PYTHONS:
        if match := form.search(text.flat):
            version, line = ".".join(filter(None, match.groups())), text.line_at(match.start())
            yield Have(what=PYTHON, version=version, line=line)
    for fact in facts_in(text.flat, text.line_at):
        if not isinstance(fact, Requires) or fact.range:
            yield fact
    yield from _conda(text)
    yield from _listed(text)


def _conda(text: Text) -> Made:
    if not re.search(
        r"nsatisfiableError|Unsatisfiable package|nothing provides|found to be i", text.flat
    ):
        return
    stated: list[Fact] = []
    for number, line in enumerate(text.lines, 1):
        stripped = line.strip()
        if not (
            stripped.startswith("-")
            or "->" in stripped
            or re.fullmatch(r"[\w.-]+(?:=|\[v)\S+", stripped)
        ):
            continue
        links = [_conda_spec(part) for part in stripped.lstrip("- ").split("->")]
        if not links[0][0] or links[0][0] in ("package", "specifications"):
            continue
        if len(links) == 1:
            stated.append(Asked(what=package_name(links[0][0]), range=links[0][1], line=number))
        for (who, version), (what, wanted) in pairwise(links):
            stated.append(Requires(package_name(what), wanted, number, package_name(who), version))
    yield from stated
    match stated:
        case [Asked(what=what, range=wanted, line=number)] if wanted and what != PYTHON:
            yield Absent(what, wanted, number)  # a lone one: no channel has it


def _conda_spec(text: str) -> tuple[str, str]:
    match = re.match(
        r"\s*([A-Za-z][\w.-]*?)(?:\[version='([^']+)'\]|[ =]+([\w.*<>=!,|]+))?(?:[= ]\S+)?\s*$",
        text,
    )
    if match is None:
        return "", ""
    wanted = (match[2] or match[3] or "").split("|")[0]
    if wanted and wanted[0].isdigit() and "*" not in wanted:
        wanted = f"{wanted}.*" if wanted.count(".") < 2 else f"=={wanted}"
    return match[1], wanted


def _listed(text: Text) -> Made:
    pinned = rf"\s*({NAME}){EXTRAS} ?((?:[<>~!]=?|>=)\s?\d[\w.*]*(?:, ?{CLAUSE})*)(?: ?;.*)?"
    for number, line in enumerate(text.lines, 1):
        wish = re.fullmatch(pinned, line)
        if wish and "ecause" not in text.flat:
            yield Asked(what=package_name(wish[1]), range=wish[2], line=number)
        if re.search(
            r"depends on|[Rr]equire|Ignored the|from versions|satisf|Collecting|ecause"
            r"|Found existing|ninstall(?:ed|ing) (?!.*nstalled)"
            r"|(?:deprecated|removed|added|introduced|changed|new|available) (?:in|since|from)\b",
            line,
        ):
            continue
        if "we can conclude" in text.flat:
            continue  # the versions are those that a resolver considered
        for match in list(_INSTALLED.finditer(line))[:40]:
            name = match[1].lower()
            if name not in grammar()["lists"]["no_package"] and not name.endswith(".py"):
                yield Have(what=package_name(match[1]), version=match[2], line=number)


# ---- packages' own messages


def _of_words(text: Text, trace: Traceback) -> Made:
    stated: set[str] = set()
    for match in pattern("step").finditer(text.flat):
        what, line = str(canonicalize_name(match["n"])), text.line_at(match.start())
        yield Changed(what=what, old=match["a"], new=match["b"], line=line)
        yield Have(what=what, version=match["b"], line=line)
    # Of a resolver's derivation all is read by its own grammar, its hints included.
    for entry in () if "we can conclude" in text.flat else grammar()["words"]:
        for match in islice(entry["pattern"].finditer(text.flat), 12):
            around = text.flat[max(0, match.start() - 90) : match.end() + 90]
            near = text.flat[max(0, match.start() - 200) : match.end() + 200]
            # Installers have grammars of their own.
            is_tools = "generated code" not in near and pattern("of_a_tool").search(near)
            if is_tools or not pattern("asks").search(around):
                continue
            if requirement_of(text.lines[text.line_at(match.start()) - 1]):
                continue  # a line of a list
            fact = _fact(match, entry.get("range", ""), text, trace)
            # `>=0` is what a tool prints for no requirement.
            if fact is None or fact.what in stated or fact.what == PYTHON or fact.range == ">=0":
                continue
            stated.add(fact.what)
            yield fact
            yield from _found(match, fact, text)


def _fact(match: Match, form: str, text: Text, trace: Traceback) -> Requires | None:
    groups = match.groupdict()
    name = groups["n"].strip(".-")
    if re.search(r"(?:from |-> ?|<)$", match.string[max(0, match.start() - 6) : match.start()]):
        return None
    if name.lower() in grammar()["lists"]["no_name"] or "pb2" in name:
        return None
    what = package_of(name) if "-" not in name else str(canonicalize_name(name))
    wanted = groups.get("r") or ""
    if groups.get("not"):
        opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[groups["not"]]
        wanted = opposite + groups["v"]
    elif not wanted:
        version = groups["v"]
        if form.startswith("<=") and version.endswith(".x"):
            version = version.replace(".x", ".99")
        wanted = form.format(version.removeprefix("v").rstrip("."))
    elif wanted[0].isdigit():
        wanted = f"=={wanted}"
    who = groups.get("who") or _speaker(
        text.flat[max(0, match.start() - 120) : match.end() + 80], what
    )
    if not who:
        who = next((p for p in trace.installed if p not in (what, PYTHON)), "")
    return Requires(
        who=str(canonicalize_name(who.replace(" ", "-"))) if who else "",
        version="",
        what=what,
        range=wanted,
        line=text.line_at(match.start()),
        is_check=True,
    )


def _speaker(near: str, what: str) -> str:
    for match in pattern("speaker").finditer(near):
        who = next(filter(None, (match["a"], match["b"], match["c"], match["d"])))
        name = package_of(who) if " " not in who else who.lower().replace(" ", "-")
        if (
            name != what
            and name not in grammar()["lists"]["no_name"]
            and who.lower() not in ("run", "using", "extension", "project", "we")
        ):
            return name
    return ""


def _found(match: Match, fact: Requires, text: Text) -> Made:
    groups = match.groupdict()
    matched = groups.get("h")
    if not matched:
        stated = pattern("found").search(text.flat, match.start(), match.end() + 160)
        matched = stated["v"] if stated else None
    if matched and version_of(matched):
        yield Have(what=fact.what, version=matched, line=fact.line)
    if groups.get("who") and groups.get("v"):
        yield Have(what=fact.who, version=groups["v"], line=fact.line)
