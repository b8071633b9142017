"""Raises or lowers a floor in a file's text, and only that; the file's name selects the format."""

import ast
import configparser
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec
import yaml
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.errors import DeclarationError, UsageError
from compat.rewrite import ranges
from compat.rewrite.ranges import Move, Rewritten, Skipped, Unsatisfiable, plain_version
from compat.rewrite.toml_values import rewritten_pyproject
from compat.value import Value

# Rewrites text in place, without running it: requirements, setup.cfg, setup.py, noxfile.py,
# tox.ini, workflows, classifiers, and badges of a README.

_SEVERAL_LINES = "it spans several lines; change it by hand"
_PYTHON = re.compile(
    r"~?(?P<pypy>pypy-?)?(?P<version>\d+\.\d+)(?:\.(?:\d+|x|\*))?(?:t|-dev|-0|-v[\w.]+)?"
)


def _quoted(
    start: int, end: int, text: str, quote: str, move: ranges.Move
) -> ranges.ListedVersion | None:
    spell = lambda version: f"{quote}{version}{quote}"  # noqa: E731
    if move.package is not None:
        known = ranges.plain_version(text)
        return None if known is None else ranges.ListedVersion(start, end, known, spell)
    match = _PYTHON.fullmatch(text)
    if match is None:
        return None
    is_plain = match["version"] == text
    return ranges.ListedVersion(start, end, Version(match["version"]), spell if is_plain else None)


_HEADER = re.compile(r"\[([^\]]+)\]")
_KEY = re.compile(r"([^\s=:][^=:]*?)\s*[=:]\s*")
_COMMENT = re.compile(r"(^|\s)#.*$")
_OPTION = re.compile(r"\s--?[A-Za-z]")
# A line's number, its offset, and its text.
_Line = tuple[int, int, str]


class _Piece(Value, frozen=True):
    """A stretch with one requirement or specifier; `because` says why it cannot move."""

    place: str
    start: int
    end: int
    because: str = ""


def rewritten_requirements(text: str, move: ranges.Move) -> ranges.Rewritten | ranges.Unsatisfiable:
    # A file pinned with hashes is a lock: it must be regenerated, and is unchanged.
    if move.package is None:
        return ranges.Rewritten(text=text)
    pieces: list[_Piece] = []
    group: list[_Line] = []
    for line in _lines(text):
        group.append(line)
        # A backslash joins lines; as in pip, a comment ends the joined line.
        if line[2].endswith("\\") and not line[2].lstrip().startswith("#"):
            continue
        pieces += _requirement_piece(group, move.package)
        group = []
    pieces += _requirement_piece(group, move.package) if group else []
    return _spliced(text, pieces, move, pins=True)


def rewritten_setup_cfg(text: str, move: ranges.Move) -> ranges.Rewritten | ranges.Unsatisfiable:
    """Raises DeclarationError for a text that configparser rejects."""
    try:
        configparser.RawConfigParser().read_string(text)
    except configparser.Error as fault:
        raise DeclarationError.of(f"is not a valid setup.cfg: {fault}") from fault
    pieces: list[_Piece] = []
    for section, key, lines in _values(text):
        place = f"{section}.{key}"
        if move.package is None and place == "options.python_requires":
            filled = [line for line in lines if line[2].strip()]
            because = _SEVERAL_LINES if len(filled) > 1 else ""
            pieces += (_stripped(line, place, because) for line in filled)
        elif move.package is not None and (
            place == "options.install_requires" or section == "options.extras_require"
        ):
            pieces += _list_pieces(lines, place, move.package)
    return _spliced(text, pieces, move)


def _spliced(
    text: str, pieces: Sequence[_Piece], move: ranges.Move, pins: bool = False
) -> ranges.Rewritten | ranges.Unsatisfiable:
    free = [piece for piece in pieces if not piece.because]
    outcome = ranges.moved([(p.place, text[p.start : p.end]) for p in free], move, pins)
    if isinstance(outcome, ranges.Unsatisfiable):
        return outcome
    texts, left = outcome
    changes = [
        ranges.TextChange(p.start, p.end, after) for p, after in zip(free, texts, strict=True)
    ]
    fixed = (
        ranges.Skipped(place=p.place, text=text[p.start : p.end], because=p.because)
        for p in pieces
        if p.because
    )
    return ranges.applied(text, changes, (*fixed, *left))


def _lines(text: str) -> Iterator[_Line]:
    for number, match in enumerate(re.finditer(r"[^\n]*\n|[^\n]+", text), start=1):
        yield number, match.start(), match[0].rstrip("\r\n")


def _requirement_piece(group: Sequence[_Line], package: str) -> Iterator[_Piece]:
    number, start, first = group[0]
    content = _COMMENT.sub("", first).rstrip()
    if ranges.names_package(content, package):
        because = _SEVERAL_LINES if len(group) > 1 else ""
        if any(_OPTION.search(text) for _, _, text in group):
            because = "it is pinned with options of its own; lock it again instead"
        yield _Piece(f"line {number}", start, start + len(content), because)


def _values(text: str) -> Iterator[tuple[str, str, list[_Line]]]:
    section, key, lines = "", "", list[_Line]()
    for number, start, line in _lines(text):
        if line.lstrip()[:1] in ("#", ";"):
            continue
        if line[:1].isspace() or not line:
            lines += [(number, start, line)] if line.strip() else []
            continue
        if key:
            yield section, key, lines
        key, lines = "", []
        if header := _HEADER.match(line):
            section = header[1]
        elif match := _KEY.match(line):
            key = match[1].lower().replace("-", "_")
            lines = [(number, start + match.end(), line[match.end() :])]
    if key:
        yield section, key, lines


def _list_pieces(lines: Sequence[_Line], place: str, package: str) -> Iterator[_Piece]:
    # A list's requirements as setuptools reads them: one a line, or on a single line between
    # semicolons.
    number, start, first = lines[0]
    if first.startswith("file:"):
        yield _stripped(lines[0], place, "it is read from another file; change that one")
        return
    if len(lines) == 1:
        parts = re.finditer(r"[^;]+", first)
        lines = [(number, start + match.start(), match[0]) for match in parts]
    for line in lines:
        if ranges.names_package(line[2], package):
            yield _stripped(line, f"{place}, line {line[0]}")


def _stripped(line: _Line, place: str, because: str = "") -> _Piece:
    _, start, text = line
    start += len(text) - len(text.lstrip())
    return _Piece(place, start, start + len(text.strip()), because)


# A literal of one piece, without a prefix that changes its meaning.
_LITERAL = re.compile(r"(?P<quote>['\"])(?P<text>[^'\"\\\n]*)(?P=quote)")
# Names that noxfiles give lists of Pythons; a list that a `python=` names counts, too.
_NAMES = re.compile(r"(?i)(?:supported_|all_)?(?:pythons?|py|python_versions?|py_versions?)")
_REQUIREMENTS = ("install_requires", "tests_require", "setup_requires")
_Literal = re.Match[str]


class PythonSource:
    """The string literals of a Python text with their positions."""

    def __init__(self, text: str) -> None:
        try:
            self._nodes = list(ast.walk(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
            raise DeclarationError.of(f"is not valid Python: {fault}") from fault
        self.calls = [node for node in self._nodes if isinstance(node, ast.Call)]
        self._text = text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def literal(self, node: ast.AST) -> _Literal | None:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            return None
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        return _LITERAL.fullmatch(self._text, start, end)

    def literals(self, node: ast.AST | None) -> list[_Literal]:
        if not isinstance(node, ast.List | ast.Tuple | ast.Set):
            return []
        known = [text for element in node.elts if (text := self.literal(element)) is not None]
        return known if len(known) == len(node.elts) else []

    def python_lists(self) -> Iterator[list[_Literal]]:
        values = [k.value for c in self.calls for k in c.keywords if k.arg in ("python", "pythons")]
        names = {node.id for node in values if isinstance(node, ast.Name)}
        for node in self._nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                known = [target.id for target in targets if isinstance(target, ast.Name)]
                if any(name in names or _NAMES.fullmatch(name) for name in known):
                    values.append(node.value)
        for value in values:
            literal = self.literal(value)
            yield self.literals(value) if literal is None else [literal]

    def parametrized(self, package: str) -> Iterator[list[_Literal]]:
        for call in self.calls:
            if _called(call) == "parametrize" and len(call.args) > 1:
                first = self.literal(call.args[0])
                if first and canonicalize_name(first["text"]) == canonicalize_name(package):
                    yield self.literals(call.args[1])

    def _offset(self, line: int, column: int) -> int:
        before = self._lines[line - 1].encode()[:column] if line <= len(self._lines) else b""
        return self._starts[line - 1] + len(before.decode())


def rewritten_noxfile(text: str, move: ranges.Move) -> ranges.Rewritten | ranges.Unsatisfiable:
    """Raises DeclarationError for a text that is not Python."""
    source = PythonSource(text)
    changes: list[ranges.TextChange] = []
    for literals in source.parametrized(move.package) if move.package else source.python_lists():
        known = (_quoted(m.start(), m.end(), m["text"], m["quote"], move) for m in literals)
        changes += ranges.value_changes(text, known, move, is_list=len(literals) > 1)
    return ranges.applied(text, changes)


def rewritten_setup_py(text: str, move: ranges.Move) -> ranges.Rewritten | ranges.Unsatisfiable:
    """Raises DeclarationError for a text that is not Python."""
    source = PythonSource(text)
    calls = (call for call in source.calls if _called(call) == "setup")
    pieces: list[_Piece] = []
    for keyword in (keyword for call in calls for keyword in call.keywords):
        name, value, literals = keyword.arg or "", keyword.value, list[_Literal]()
        if move.package is None:
            literal = source.literal(value) if name == "python_requires" else None
            literals += [] if literal is None else [literal]
        elif name in _REQUIREMENTS:
            literals += source.literals(value)
        elif name == "extras_require" and isinstance(value, ast.Dict):
            literals += (text for extra in value.values for text in source.literals(extra))
        pieces += (_Piece(name, *literal.span("text")) for literal in literals)
    return _spliced(text, pieces, move)


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


# Classifiers of Python series in any text that lists them (core metadata specifications).

_PREFIX = "Programming Language :: Python :: "
# In quotes, or alone on its line as in setup.cfg.
_CLASSIFIER = re.compile(
    rf"(?P<quote>[\"'])?{_PREFIX}(?P<version>\d+\.\d+)(?(quote)(?P=quote)|(?=[ \t]*\r?$))", re.M
)
# What stands before an item of a list, and not before a comment's or a variable's text.
_IN_LIST = re.compile(r"(?:^[ \t]*|[\[,(][ \t]*)\Z", re.M)


def with_classifiers(done: ranges.Rewritten, move: ranges.Move) -> ranges.Rewritten:
    if move.package is not None:
        return done
    text = done.text

    def item(match: re.Match[str]) -> ranges.ListedVersion:
        quote = match["quote"] or ""
        spell = lambda version: f"{quote}{_PREFIX}{version}{quote}"  # noqa: E731
        return ranges.ListedVersion(match.start(), match.end(), Version(match["version"]), spell)

    matches = _CLASSIFIER.finditer(text)
    own = [m for m in matches if _IN_LIST.search(text, 0, m.start())]
    changes = ranges.list_changes(text, [item(match) for match in own], move)
    return ranges.applied(text, changes, done.left)


# tox.ini: the environments of `envlist`, the Pythons that a CI maps to them, and the requirements
# of `deps` (https://tox.wiki/en/stable/config.html).

_LIST = re.compile(
    r"^env_?list[ \t]*=(?P<value>[^\n]*\n?(?:[ \t]+[^\n]*\n?|[ \t]*\r?\n(?=[ \t]))*)", re.M
)
_BRACES = re.compile(r"(?<![\w.])(?P<prefix>py3?|pypy3?|)\{(?P<items>[^{}]*)\}")
_ITEM = re.compile(r"[^,\s{}]+")
_SPAN = re.compile(r"(?<![^,\s{])(?P<low>\d+)-(?P<high>\d+)(?![^,\s}])")
_ENVIRONMENT = re.compile(r"(?P<prefix>py-?|pypy-?|)(?P<version>3\.?\d+)(?P<rest>(?:-[^,\s]*)?)")
_PYPY = re.compile(r"pypy|py\{[^}]*\bpy")
_MAPPING = re.compile(r"^(?P<line>[ \t]*(?P<version>3\.\d+)[ \t]*[:=][^\n]*\n?)", re.M)
_MAPPED = re.compile(
    r"^\[gh(?:-actions)?(?::[\w-]+)?\][ \t]*\n(?P<body>(?:(?!\[)[^\n]*\n?)*)", re.M
)


def rewritten_tox(text: str, move: ranges.Move) -> ranges.Rewritten | ranges.Unsatisfiable:
    if move.package is None:
        changes = [change for match in _LIST.finditer(text) for change in _listed(match, move)]
        # The lines of tox-gh and tox-gh-actions whose Python is removed, and one for an added
        # Python, like that of the newest.
        is_lowered = move.before is None or move.floor < move.before
        for match in () if is_lowered else _MAPPED.finditer(text):
            mapped = _MAPPING.finditer(text, *match.span("body"))
            named = [(line, Version(line["version"])) for line in mapped]
            for line, version in named:
                added, newest = move.added, max(move.known, default=None)
                if added is not None and version == newest and added not in [v for _, v in named]:
                    joined = f"{newest.major}{newest.minor}", f"{added.major}{added.minor}"
                    beside = line[0].replace(str(newest), str(added)).replace(*joined)
                    changes.append(ranges.TextChange(line.end(), line.end(), beside))
                if move.before is not None and move.before <= version < move.floor:
                    changes.append(ranges.TextChange(line.start(), line.end(), ""))
        done = ranges.applied(text, changes)
        before, after = (any(map(_PYPY.search, _LIST.findall(t))) for t in (text, done.text))
        lost = [ranges.Skipped(place="envlist", text="", because=_LAST_PYPY)]
        return ranges.Rewritten(text=done.text, left=tuple(lost if before and not after else ()))
    pieces: list[_Piece] = []
    for section, key, lines in _values(text):
        if key == "deps" and section.startswith("testenv"):
            plain = [(number, start, _COMMENT.sub("", line)) for number, start, line in lines]
            pieces += _list_pieces(plain, f"{section}.deps", move.package)
    return _spliced(text, pieces, move)


def _listed(match: re.Match[str], move: ranges.Move) -> Iterator[ranges.TextChange]:
    text, (start, end) = match.string, match.span("value")
    outside = text[start:end]
    for braces in _BRACES.finditer(text, start, end):
        items = (_braced(item, braces) for item in _ITEM.finditer(text, *braces.span("items")))
        yield from ranges.value_changes(text, items, move, is_list=True)
        for span in _SPAN.finditer(text, *braces.span("items")):
            yield from _span_changes(span, braces["prefix"], move)
        left, right = braces.start() - start, braces.end() - start
        outside = outside[:left] + "x" * (right - left) + outside[right:]
    names = (
        (name, _ENVIRONMENT.fullmatch(name[0].split("#")[0]))
        for name in re.finditer(r"[^,\s]+", outside)
        if "#" not in outside[outside.rfind("\n", 0, name.start()) + 1 : name.start()]
    )
    # Environments with another suffix are a list of their own: `py310-lowest` beside `py310`.
    plain: dict[str, list[ranges.ListedVersion]] = {}
    for name, known in names:
        if known is not None:
            plain.setdefault(known["rest"], []).append(_named(text, name.start() + start, known))
    for alike in plain.values():
        yield from ranges.list_changes(text, alike, move)


def _span_changes(
    span: re.Match[str], prefix: str, move: ranges.Move
) -> Iterator[ranges.TextChange]:
    if move.before is None or "pypy" in prefix or not prefix:
        return
    is_minor = prefix.endswith("3")
    low, high = (span[end] if is_minor else span[end][1:] for end in ("low", "high"))
    if not (low and high):
        return
    first = Version(f"3.{low}")
    is_lowered = first == move.before and move.floor < first
    if move.added is not None and Version(f"3.{high}") == max(move.known):
        end, version = "high", move.added
    elif move.before <= first < move.floor or is_lowered:
        end, version = "low", move.floor
    else:
        return
    yield ranges.TextChange(
        *span.span(end), str(version.minor) if is_minor else f"3{version.minor}"
    )


def _braced(item: re.Match[str], braces: re.Match[str]) -> ranges.ListedVersion | None:
    prefix = braces["prefix"]
    if prefix.endswith("3"):
        if not item[0].isdecimal():
            return None
        spell = (lambda version: str(version.minor)) if prefix == "py3" else None
        return ranges.ListedVersion(item.start(), item.end(), Version(f"3.{item[0]}"), spell)
    known = _ENVIRONMENT.fullmatch(item[0])
    if known is None or known["rest"]:
        return None
    if not prefix and not known["prefix"] and "." not in known["version"]:
        return None
    is_pypy = prefix.startswith("pypy") or (prefix == "py" and known["prefix"] == "py")
    return _named(item.string, item.start(), known, is_pypy)


def _named(
    text: str, start: int, known: re.Match[str], is_pypy: bool = False
) -> ranges.ListedVersion:
    prefix, is_dotted = known["prefix"], "." in known["version"]
    digits = known["version"].replace(".", "")
    end = start + len(known[0])
    rest = text[end - len(known["rest"]) : end]

    def spell(version: Version) -> str:
        number = str(version) if is_dotted else f"{version.major}{version.minor}"
        return f"{prefix}{number}{rest}"

    own = None if is_pypy or prefix.startswith("pypy") else spell
    return ranges.ListedVersion(start, end, Version(f"{digits[0]}.{digits[1:]}"), own)


# The matrices of a CI in YAML: keys such as `python-version`, as a list in either style, or as one
# version. A parser finds the position of each value.

_PYTHON_KEY = re.compile(r"(?i)(?:python|py)(?:[-_]?versions?)?")
# An entry of a matrix has more than its Python, such as a tox environment.
_ENTRIES = ("exclude", "include")
_IN_ENTRY = "it is in an entry of `exclude` or `include`; change the entry by hand"
_LAST_PYPY = "the list's only PyPy was removed with it; add a newer one if PyPy is supported"


def rewritten_workflow(text: str, move: ranges.Move) -> ranges.Rewritten | ranges.Unsatisfiable:
    """Raises DeclarationError for a text that is not YAML."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as fault:
        line = " ".join(str(fault).split())
        raise DeclarationError.of(f"is not valid YAML: {line}") from fault
    changes: list[ranges.TextChange] = []
    left: list[ranges.Skipped] = []

    def skip(change: ranges.TextChange, because: str) -> None:
        line = text.count("\n", 0, change.start) + 1
        stretch = text[change.start : change.end].strip()
        left.append(ranges.Skipped(place=f"line {line}", text=stretch, because=because))

    for value, keys in _yaml_values(root, move, frozenset()):
        is_list = isinstance(value, yaml.SequenceNode)
        nodes = [n for n in (value.value if is_list else [value]) if isinstance(n, yaml.ScalarNode)]
        items: list[ranges.ListedVersion | None] = []
        for node in nodes:
            # A number without quotes would lose its last zero: 3.10 is 3.1.
            start, end, quote = node.start_mark.index, node.end_mark.index, node.style or '"'
            item = _quoted(start, end, text[start:end].strip("'\""), quote, move)
            items += [item] if quote in "'\"" else []
        is_several = is_list and len(value.value) != 1
        moves = ranges.value_changes(text, items, move, is_several)
        if not keys.isdisjoint(_ENTRIES):
            for change in moves:
                skip(change, _IN_ENTRY)
            continue
        changes += moves
        pypys = [change for change in moves if "pypy" in text[change.start : change.end]]
        every = [node for node in nodes if is_list and node.value.startswith("pypy")]
        if pypys and len(every) == len(pypys):
            skip(pypys[-1], _LAST_PYPY)
    return ranges.applied(text, changes, left)


def _yaml_values(
    node: yaml.Node | None, move: ranges.Move, keys: frozenset[str]
) -> Iterator[tuple[yaml.Node, frozenset[str]]]:
    if isinstance(node, yaml.SequenceNode):
        for element in node.value:
            yield from _yaml_values(element, move, keys)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
            if move.package is None:
                is_about = bool(_PYTHON_KEY.fullmatch(name))
            else:
                # Outside of a matrix a package's variable may hold a tag or a branch.
                own = re.sub(r"[-_]?versions?$", "", name, flags=re.I)
                is_about = bool(own) and "matrix" in keys and _is_same(own, move.package)
            if is_about:
                yield value, keys
            yield from _yaml_values(value, move, keys | {name})


# Badges of a README with the lowest version of a project: static ones of shields.io, and the words
# beside them (https://shields.io/badges/static-badge).

# In a path of shields.io a dash of the text is doubled, a blank is _ or %20.
_BADGE = re.compile(
    r"img\.shields\.io/badge/(?P<label>(?:[^-/\s)\"]|--)+)-"
    r"(?P<message>(?P<head>(?:%3E%3D|>=|%E2%89%A5|≥|from|_|%20)*)"
    r"(?P<version>\d+(?:\.\d+)*)(?P<tail>(?:%2B|\+|_|%20|or|newer|later)*))-",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(r"!\[(?P<alt>[^\]\n]*)\]\([^)\s]*$")
_RST = re.compile(r"[^\n]*\n(?:[ \t]+:(?!alt)\w+:[^\n]*\n)*[ \t]+:alt:(?P<alt>[^\n]*)")


def rewritten_readme(text: str, move: ranges.Move) -> ranges.Rewritten:
    changes: list[ranges.TextChange] = []
    for badge in _BADGE.finditer(text) if move.before not in (None, move.floor) else ():
        label = re.sub(r"_|%20", " ", badge["label"].replace("--", "-")).strip()
        # Without a word before or after it, it is one version and not a floor.
        is_floor = bool(badge["head"] or badge["tail"]) and Version(badge["version"]) == move.before
        if not is_floor or not _is_same(label.replace(" ", "-"), move.package or "python"):
            continue
        changes.append(ranges.TextChange(*badge.span("version"), str(move.floor)))
        line_start = text.rfind("\n", 0, badge.start()) + 1
        alt = _MARKDOWN.search(text, line_start, badge.start()) or _RST.match(text, badge.end())
        version = re.compile(rf"(?<![\d.]){re.escape(badge['version'])}(?![\d]|\.\d)")
        if alt and (match := version.search(text, *alt.span("alt"))):
            changes.append(ranges.TextChange(*match.span(), str(move.floor)))
    return ranges.applied(text, changes)


def _is_same(name: str, package: str) -> bool:
    return canonicalize_name(name) == canonicalize_name(package)


Rewrite = Callable[[str, Move], Rewritten | Unsatisfiable]
# By the name of the file; the first match wins.
_READERS: tuple[tuple[str, Rewrite], ...] = (
    (r"pyproject\.toml", rewritten_pyproject),
    (r"setup\.cfg", rewritten_setup_cfg),
    (r"setup\.py", rewritten_setup_py),
    (r"tox\.ini", rewritten_tox),
    (r"noxfile\.py", rewritten_noxfile),
    (r"README(?:\.\w+)?", rewritten_readme),
    (r".*\.ya?ml", rewritten_workflow),
    (r".*\.(?:txt|in)", rewritten_requirements),
)
# The files that declare a project's floors, below its folder. Of requirements files many are locks:
# one is taken if the build reads it, or if it is named explicitly.
PROJECT_FILES = (
    *("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py"),
    *("README.md", "README.rst", ".github/workflows/*.yml", ".github/workflows/*.yaml"),
    *(".readthedocs.yml", ".readthedocs.yaml", "constraints.txt", "*/constraints.txt"),
)
_BUILD_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


def files_read_by(name: str, text: str) -> list[str]:
    return re.findall(r"[\w./-]*requir[\w./-]*\.(?:txt|in)\b", text) * (name in _BUILD_FILES)


def rewritten(path: str, text: str, move: Move) -> Rewritten | Unsatisfiable:
    """Raises UsageError for an unknown name, DeclarationError for a text in another format."""
    name = path.rsplit("/", 1)[-1]
    for pattern, rewrite in _READERS:
        if re.fullmatch(pattern, name):
            outcome = rewrite(text, move)
            if isinstance(outcome, Unsatisfiable):
                return outcome
            if name.startswith(("pyproject.", "setup.")):
                outcome = with_classifiers(outcome, move)
            lines = text.splitlines()
            named = {
                (lines[int(s.place[5:]) - 1] if s.place.startswith("line ") else s.text).strip()
                for s in outcome.left
            }
            more = (m for m in mentions(name, outcome.text, move) if m.text not in named)
            return msgspec.structs.replace(outcome, left=(*outcome.left, *more))
    hint = (
        "it can in pyproject.toml, setup.cfg, setup.py, tox.ini, noxfile.py, a README, a CI's YAML,"
        " and requirements files ending in .txt or .in"
    )
    raise UsageError.of("compat cannot move a floor in this file", path=path, hint=hint)


def nearest_floor(path: str, text: str, move: Move) -> Version | None:
    before = move.before
    if before is None:
        return None
    low, high = sorted((before, move.floor))
    on_the_way = sorted(v for v in move.known if low <= v <= high and v not in (before, move.floor))
    candidates: Sequence[Version] = on_the_way[::-1] if move.floor > before else on_the_way
    for version in candidates:
        shorter = msgspec.structs.replace(move, floor=version)
        if isinstance(rewritten(path, text, shorter), Rewritten):
            return version
    return None


_LOCKS = {
    "uv.lock": "uv lock",
    "poetry.lock": "poetry lock",
    "pdm.lock": "pdm lock",
    "pixi.lock": "pixi lock",
    "Pipfile.lock": "pipenv lock",
    "pylock.toml": "the command that wrote it",
}
# These describe the past, and stay true.
_HISTORY = re.compile(r"(?i)(?:change(?:s|log)|history|news|release[-_]?notes|authors)\b.*")
_SETTINGS = re.compile(r"(?i).*\.(?:toml|ini|cfg|ya?ml)|justfile|makefile|\.python-versions?")
_NUMBER = re.compile(r"(?<![\w.])v?(?P<version>\d+(?:\.\d+)*)(?!\w)")
_NEVER = (
    re.compile(
        r"python_(?:full_)?version\s*(?P<operator><=?)\s*\\?['\"](?P<version>\d+(?:\.\d+)+)"
    ),
    re.compile(r"version_info\s*(?P<operator><=?)\s*\((?P<version>\d+\s*,\s*\d+)"),
)
# The minimum of another package: `PyYAML>=3.10`.
_OTHERS = re.compile(
    r"(?i)(?<![\w.-])(?!py\b|[\w.-]*(?:python|version)\b)[a-z][\w.-]*\s*[<>=!~]=\s*\Z"
)
_LONGEST = 120


def mentions(path: str, text: str, move: Move) -> Iterator[Skipped]:
    """If a floor goes down, only lines that still require the old one count."""
    name = path.rsplit("/", 1)[-1]
    is_history = any(map(_HISTORY.fullmatch, path.split("/")))
    if move.added is not None or move.before in (None, move.floor) or is_history:
        return
    if name in _LOCKS:
        if move.package is None or re.search(_spelled(move.package), text):
            yield Skipped(place="", text="", because=f"it is a lock: run `{_LOCKS[name]}`")
        return
    text = re.sub(r".{1000,}", "", text)  # such as a minified file
    named = _python_lines(name, text, move) if move.package is None else _mentions(text, move)
    for number, line, because in named:
        yield Skipped(place=f"line {number}", text=line.strip()[:_LONGEST], because=because)


def _mentions(text: str, move: Move) -> Iterator[tuple[int, str, str]]:
    name = re.compile(_spelled(move.package or ""))
    for number, line in enumerate(text.splitlines(), start=1):
        if (known := name.search(line)) is None:
            continue
        for match in _NUMBER.finditer(line, known.end()):
            # A bare number is a version only in certain notations.
            is_one = "." in match["version"] or line[match.start() - 1] in "=<>~\"'"
            version = plain_version(match["version"]) if is_one else None
            if version is not None and _is_left(line[: match.start()], version, move):
                yield number, line, f"mentions {move.package} {version}"
                break


def _spelled(package: str) -> str:
    words = map(re.escape, re.split(r"[-_.]+", package))
    return rf"(?i)(?<![a-z0-9]){'[-_.]*'.join(words)}(?![a-z0-9])"


def _python_lines(name: str, text: str, move: Move) -> Iterator[tuple[int, str, str]]:
    series = [v for v in {*move.known, move.before} if v is not None and len(v.release) == 2]
    minors = "|".join(str(v.minor) for v in sorted(series, reverse=True))
    mention = re.compile(
        rf"(?i)(?:(?<![\d.])3\.(?P<dotted>{minors})(?P<patch>\.(?:\d+|x|\*))?"
        rf"|(?:py|cp|pypy|python)-?3(?P<joined>{minors})|3,\s*(?P<pair>{minors}))(?!\d)"
    )
    for number, line in enumerate(text.splitlines(), start=1):
        is_about = re.search(r"(?i)py|version_info", line) is not None
        if any(_never_holds(match, move) for never in _NEVER for match in never.finditer(line)):
            yield number, line, f"never holds from Python {move.floor} on"
            continue
        for match in mention.finditer(line):
            if _OTHERS.search(line[: match.start()]):
                continue
            if not is_about and (match["patch"] or not _SETTINGS.fullmatch(name)):
                continue
            if match["pair"] and "version_info" not in line:
                continue
            version = Version(f"3.{match['dotted'] or match['joined'] or match['pair']}")
            if _is_left(line[: match.start()], version, move):
                yield number, line, f"mentions Python {version}"
                break


def _is_left(head: str, version: Version, move: Move) -> bool:
    assert move.before is not None
    if move.floor < move.before:
        return version == move.before and re.search(r"[>~]=\s*['\"]?\Z", head) is not None
    return move.before <= version < move.floor


def _never_holds(match: re.Match[str], move: Move) -> bool:
    assert move.before is not None
    version = Version(re.sub(r"\s*,\s*", ".", match["version"]))
    is_new = move.before < version if match["operator"] == "<" else move.before <= version
    bound = version <= move.floor if match["operator"] == "<" else version < move.floor
    return bound and is_new
