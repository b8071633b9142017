"""The facts that parsers find in a message, each with the line that states it."""

import json
import lzma
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat.declare.parsing import poetry_range
from compat.lock.resolvers import grammar_of, plain_quotes
from compat.value import Value

# Only the end of a longer message is read: tools print the error there.
MOST_READ = 50_000
_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_DRAWN = re.compile("[\u2500-\u257f\u25b6\u00d7\u276f\u2501]+>?")


@cache
def grammar() -> dict[str, Any]:
    tables = grammar_of("compat.advise.doctor", "grammar.toml")
    return tables | {"lists": {n: frozenset(text.split()) for n, text in tables["lists"].items()}}


def pattern(name: str) -> "re.Pattern[str]":
    matched: re.Pattern[str] = grammar()["patterns"][name]
    return matched


class LacksName(Value, frozen=True):
    """A module or class lacks a name. `since` is the release that removed it, if stated."""

    module: str
    name: str
    line: int
    is_class: bool = False
    file: str = ""
    since: str = ""


class NoModule(Value, frozen=True):
    """A module was not found."""

    module: str
    line: int


class BadCall(Value, frozen=True):
    """A callable was called with an unknown argument (`+`), without a required one (`!`), with too
    many (`#`), or for another number of results (`=`).
    """

    function: str
    kind: Literal["+", "!", "#", "="]
    argument: str
    line: int


class Binary(Value, frozen=True):
    """A compiled file does not fit: `by` is compiled, and `what` is its target."""

    kind: str
    what: str
    by: str
    line: int
    needs: str = ""


class Changed(Value, frozen=True):
    """The user went from one release of a package to another."""

    what: str
    old: str
    new: str
    line: int


class Text:
    """The lines of a message without frames, colours and notices, and all of them joined by single
    blanks, because tools wrap lines anywhere.
    """

    def __init__(self, text: str) -> None:
        text = _ESCAPES.sub("", text[-MOST_READ:]).replace("\\\\", "/").replace("\r", "\n")
        # A word longer than any name or path is no part of a format, and would take quadratic time.
        text = re.sub(r"\S{300,}", lambda word: f"{word[0][:150]} {word[0][-150:]}", text)
        self.lines = [] if not text.strip() else [_bare(line) for line in text.split("\n")]
        self.notices = [line for line in self.lines if pattern("notice").search(line)]
        noted, length = set(self.notices), 0
        self._starts: list[int] = []
        pieces: list[str] = []
        for line in self.lines:
            piece = "" if line in noted else " ".join(plain_quotes(line).split())
            self._starts.append(length)
            if piece:
                pieces.append(piece)
                length += len(piece) + 1
        self.flat = " ".join(pieces)

    def line_at(self, offset: int) -> int:
        return max(1, bisect_right(self._starts, offset))


def _bare(line: str) -> str:
    plain = _DRAWN.sub(" ", line)
    is_framed = plain.strip()[:1] in "\u2502|"
    return pattern("margin").sub("", plain.strip("\u2502| ") if is_framed else plain.rstrip())


def specifier(text: str) -> SpecifierSet | None:
    """Parse a range in any tool's notation; None for other text."""
    # The last alternative (`~2.7 || ^3.4`), which is the newest.
    text = text.rpartition("||")[2].strip().strip("()'\"").replace(" and ", ",").replace("|", ",")
    if not text or text in ("*", "any"):
        return SpecifierSet()
    text = re.sub(r"(?<![<>=!~])=(?!=)", "==", text)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        return SpecifierSet(",".join(filter(None, map(_clause, parts))))
    except InvalidSpecifier:
        return None


def _clause(part: str) -> str:
    part = part.replace(" ", "")
    if re.match(r"[~^](?!=)\d", part):
        return poetry_range(part)
    if part[:1].isdigit():
        part = f"=={part}"
    # `2.7*` of conda, and `>=1.9.*` of old metadata
    part = re.sub(r"(?<=\d)\*$", ".*", part)
    if part.startswith(("<", ">")):
        part = part.removesuffix(".*")
    return part


@cache
def requirement_of(text: str) -> Requirement | None:
    try:
        requirement = Requirement(text)
    except (InvalidRequirement, InvalidVersion):
        return None
    requirement.name = canonicalize_name(requirement.name)
    return requirement


def version_of(text: str) -> Version | None:
    try:
        return Version(text.strip().rstrip(".,;:)'"))
    except InvalidVersion:
        return None


# Generated knowledge of packages: which releases have a name or an argument, and which have files
# for a Python.
#
# It is read on demand from data files beside this module, one a package. `tools/knowledge.py`
# writes them.

# An index has no interpreter older or newer than these, by series.
PYTHONS = tuple(Version(f"3.{minor}") for minor in range(5, 16))


@cache
def _text(name: str) -> bytes:
    try:
        packed = (files("compat.advise.doctor") / "data" / f"{name}.xz").read_bytes()
    except OSError:
        return b"{}"
    return lzma.decompress(packed)


@cache
def _data(name: str) -> Any:
    return json.loads(_text(name))


def corrected(package: str, version: Version, name: str) -> str:
    """The bound on another package that conda-forge's maintainers added to a release."""
    known = index(package)
    published = known.days.get(version, "") if known is not None else ""
    for releases, day, what, bound in _data("bounds").get(package, ()):
        # Without a version or a day, a row does not show which releases it corrects.
        if not (releases or day):
            continue
        is_of = SpecifierSet(releases).contains(version, prereleases=True)
        if what == name and is_of and (not day or "" < published < day):
            return str(bound)
    return ""


def package_of_module(module: str) -> str:
    """The known package of a module; messages are matched in any case, and so are modules."""
    names, (top, *inner) = _data("names"), module.split(".")[:2]
    owners_of = (names.get(key) or names.get(key.lower()) for key in (".".join([top, *inner]), top))
    return str(next(filter(None, owners_of), ""))


def package_of(module: str) -> str:
    top = module.partition(".")[0]
    return package_of_module(module) or (str(canonicalize_name(top)) if top else "")


@cache
def modules_of(package: str) -> list[str]:
    """The modules of a package, and the short names that programs give them."""
    return [module for module, own in _data("names").items() if own == package]


def packages_known() -> list[str]:
    return sorted(set(_data("names").values()))


def owners(name: str) -> tuple[str, ...]:
    """The packages that have, in some release, a class of that name, or a function (`name()`) with
    changed parameters.
    """
    lines, key = _text("owners"), f"\n{name}\t".encode()
    start = lines.find(key)
    stop = lines.index(b"\n", start + 1) if start >= 0 else 0
    return tuple(lines[start + len(key) : stop].decode().split()) if start >= 0 else ()


def speakers(text: str) -> Iterator[tuple[str, str, int]]:
    """The packages of which some releases raise an error with this text, the range of those that
    do not, and the length of the text, the longest first.
    """
    rows = plain_quotes(_text("words").decode()).split("\n")
    matched = []
    for package, wish, *pieces in (row.split("\t") for row in rows if "\t" in row):
        places = [text.find(piece[:80]) for piece in pieces]
        if min(places) >= 0 and places == sorted(places):
            matched.append((-sum(map(len, pieces)), package, wish))
    yield from ((package, wish, -length) for length, package, wish in sorted(matched))


@cache
def api(package: str) -> "Api | None":
    content = _data(f"{package}.api") if re.fullmatch(r"[a-z0-9-]+", package) else None
    return Api(content) if content else None


def library() -> "Api":
    """The names of Python's own modules, by the series that have them."""
    known = api("python")
    assert known is not None, "it is among the data files"
    return known


@cache
def index(package: str) -> "Index | None":
    content = _data(f"{package}.index") if re.fullmatch(r"[a-z0-9-]+", package) else None
    return Index(content) if content else None


class Presence(Value, frozen=True):
    """The releases of a package that have something: `had` of all read ones, in order."""

    package: str
    releases: tuple[Version, ...]
    had: frozenset[int]
    unsure: frozenset[int] = frozenset()

    @property
    def is_known(self) -> bool:
        """Whether some release has it and another surely lacks it."""
        return bool(self.had) and len(self.had | self.unsure) < len(self.releases)

    @property
    def never(self) -> bool:
        return not self.had and not self.unsure

    @property
    def always(self) -> bool:
        return len(self.had) == len(self.releases)

    def place_of(self, version: Version) -> int:
        """The last release that was read up to this version."""
        return max((i for i, each in enumerate(self.releases) if each <= version), default=0)

    def spans(self) -> list[tuple[Version, Version | None]]:
        """The spans that have it: the first release with it, and the first that lacks it again."""
        matched: list[tuple[Version, Version | None]] = []
        start: int | None = None
        for number in range(len(self.releases) + 1):
            inside = number in self.had or (start is not None and number in self.unsure)
            if inside and start is None:
                start = number
            elif not inside and start is not None:
                end = self.releases[number] if number < len(self.releases) else None
                matched.append((self.releases[start], end))
                start = None
        return matched

    def wanted(self, installed: Version | None, is_every: bool = False) -> list[str]:
        """The ranges of the spans, the nearest to the installed one first; without one, the longest
        of those that ended, as most code was written in it. A range ends at the last read release
        that has it, because the next ones are unknown, unless each was read (`is_every`).
        """
        spans = self.spans()
        if installed is None:
            number = {each: place for place, each in enumerate(self.releases)}
            long = [(number[a] - (number[b] if b else len(number)), a, b) for a, b in spans]
            ended = [span for span in long if span[2] and 3 * span[0] <= min(long)[0]]
            ordered = [(first, end) for _, first, end in sorted(ended)] or spans[-1:]
        else:
            older = [span for span in spans if span[1] is not None and span[1] <= installed]
            newer = [span for span in spans if span[0] > installed]
            # A missing name is mostly used by code for one side: the span that follows where none
            # ended before.
            ordered = [*reversed(older), *newer] or spans[-1:]
        ranges = []
        for first, end in ordered:
            parts = [f">={first}"] if first != self.releases[0] else []
            if end is not None:
                last = self.releases[self.releases.index(end) - 1]
                parts.append(f"<{end}" if is_every else f"<={last}")
            ranges.append(",".join(parts))
        return ranges or [""]


class Api:
    """The names of a package's releases."""

    def __init__(self, content: Any) -> None:
        self.package: str = content["package"]
        self.modules: list[str] = content["modules"]
        self.releases = tuple(map(Version, content["releases"]))
        self._modules: dict[str, dict[str, str]] = content["names"]
        self._calls: dict[str, dict[str, str]] = content["calls"]

    def _presence(self, spans: Iterable[str], unsure: Iterable[str] = ()) -> Presence:
        return Presence(
            package=self.package,
            releases=self.releases,
            had=frozenset(n for text in spans for n in self._numbers(text)),
            unsure=frozenset(n for text in unsure for n in self._numbers(text)),
        )

    def _numbers(self, text: str) -> Iterator[int]:
        for part in filter(None, text.split(",")):
            first, _, last = part.partition("-")
            yield from range(int(first), int(last) + 1 if last else len(self.releases))

    def _spans_of(self, module: str, name: str) -> list[str]:
        by_spans = self._modules.get(module, {})
        return [spans for spans, names in by_spans.items() if name in names.split(" ")]

    def module(self, module: str) -> Presence:
        """Which releases have a module."""
        return self._presence(self._spans_of(module, ""))

    def name(self, module: str, name: str) -> Presence:
        """Which releases' module has a name. Unsure where the module generates names."""
        public, top = self._public(module), module.partition(".")[0]
        spans = [each for m in public or [module] for each in self._spans_of(m, name)]
        unsure = [] if spans else self._spans_of(module, "?")
        if public and spans:  # unsure where it is a module of another kind
            known = {each for m in public for each in self._spans_of(m, "")}
            lacking = self.name(top, module.split(".")[1]).had - self._presence(known).had
            unsure = [f"{number}-{number}" for number in lacking]
        elif spans and module == top and (files := index(self.package)) and api(name):
            # A package shows another one that it requires: `demo.dep` for `dep`.
            requiring = (n for n, v in enumerate(self.releases) if files.requires(v, name))
            spans += [f"{number}-{number}" for number in requiring]
        elif not spans and module not in self._modules:
            above, _, inner = module.rpartition(".")
            if above in self._modules and inner:
                spans = self._spans_of(above, f"{inner}.{name}")
        return self._presence(spans, unsure)

    def _public(self, module: str) -> list[str]:
        """The modules in private folders that users see as a module: `a._api.v2.x` as `a.x`."""
        top, dot, rest = module.partition(".")
        form = re.compile(rf"{top}\w*(?:\.(?:_\w+|v\d+))+\.{re.escape(rest)}")
        return (
            list(filter(form.fullmatch, self._modules))
            if module not in self._modules and dot
            else []
        )

    def before(self, module: str, name: str) -> str:
        """The major release that moved a name to `compat.v1` and the like."""
        tail = re.sub(r"^\w+(\._\w+|\.v\d+)*", "", module)
        form = re.compile(rf".*\.compat\.v(\d+){re.escape(tail)}")
        old = [match[1] for home in self.homes(name) if (match := form.fullmatch(home))]
        return str(int(min(old)) + 1) if old else ""

    def homes(self, name: str) -> list[str]:
        """The modules that have a name in some release."""
        return [module for module in self._modules if self._spans_of(module, name)]

    def has_module(self, module: str) -> bool:
        return module in self._modules

    def _class(self, owner: str) -> tuple[dict[str, set[str]], set[str]]:
        """The spans of each member of a class, and its bases."""
        members: dict[str, set[str]] = {}
        bases = set[str]()
        for by_spans in self._modules.values():
            for spans, names in by_spans.items():
                is_in = f"{owner}." in names or f"{owner}<" in names
                for name in names.split(" ") if is_in else ():
                    if name.startswith(f"{owner}<"):
                        bases.add(name[len(owner) + 1 :])
                    elif name.startswith(f"{owner}."):
                        members.setdefault(name[len(owner) + 1 :], set()).add(spans)
        return members, bases

    def attribute(self, name: str, attribute: str) -> Presence:
        """Which releases' class, or one of its bases, has an attribute."""
        queue, visited, spans = [name.rpartition(".")[2]], set[str](), set[str]()
        while queue:
            each = queue.pop()
            if each not in visited:
                visited.add(each)
                members, bases = self._class(each)
                spans |= members.get(attribute, set())
                queue += bases
        return self._presence(spans)

    def accepts(self, function: str, argument: str) -> Presence | None:
        """Which releases' function or class accepts an argument; None without changes."""
        queue, visited = [function.removesuffix(".__init__").removesuffix(".__new__")], set[str]()
        while queue:
            last = queue.pop(0)
            visited.add(last)
            matched = []
            for path, changed in self._calls.items():
                called = path.partition(":")[2].removesuffix(".__init__").removesuffix(".__new__")
                # A function with `**` takes any.
                open_to = "" if argument[:1] in "!#=" else changed.get("**", "")
                if argument[:1] == "#":  # this many are accepted where the most is not less
                    most = [p for p in changed if p[0] == "#" and int(p[1:]) >= int(argument[1:])]
                    open_to = ",".join([*(changed[p] for p in most), changed.get("*", "")])
                    open_to = open_to if any(p[0] in "#*" for p in changed) else ""
                if (called == last or called.endswith(f".{last}")) and (
                    argument in changed or open_to
                ):
                    spans = (changed.get(argument, ""), open_to)
                    if argument[:1] == "!":
                        spans = (self._free(path, changed[argument]), "")
                    matched.append(
                        (argument not in changed, called != last, path.count("."), spans)
                    )
            if matched:
                all_of = matched if argument[:1] == "=" else [min(matched)]
                return self._presence(each for row in all_of for each in row[3] if each)
            # A class without its own `__init__` accepts the arguments of its base.
            queue += sorted(self._class(last.rpartition(".")[2])[1] - visited)
        return None

    def _free(self, path: str, requiring: str) -> str:
        """The releases that have a function and do not require an argument."""
        module, _, name = path.partition(":")
        has = self._presence(self._spans_of(module, name)).had
        return ",".join(f"{n}-{n}" for n in sorted(has - self._presence([requiring]).had))

    def takers(self, argument: str) -> Iterator[Presence]:
        for path, changed in self._calls.items():
            if argument in changed and path.partition(":")[2][:1].isupper():
                spans = changed[argument]
                yield self._presence([self._free(path, spans) if argument[:1] == "!" else spans])


@cache
def _may_hold(need: Requirement, python: Version | None) -> bool:
    """Whether a requirement's marker holds on a Linux machine, for a Python or for any of them."""
    marker = str(need.marker or "")
    if need.marker is None or "platform" in marker or "implementation" in marker:
        return need.marker is None
    return any(
        need.marker.evaluate(
            {"python_version": str(each), "python_full_version": f"{each}.9", "extra": ""}
        )
        for each in ([Version(f"{python.major}.{python.minor}")] if python else PYTHONS)
    )


@cache
def _fits(row: str, python: Version) -> bool:
    tags, _, rest = row.partition("|")
    requires = specifier(rest.split("|")[1])
    series = Version(f"{python.major}.{python.minor}")
    patch = python if python.micro else Version(f"{series}.9")
    if requires is not None and not requires.contains(patch, prereleases=True):
        return False
    if not tags:
        return "s" in rest.split("|")[2]
    number = f"{series.major}{series.minor}"
    ours = {f"cp{number}", f"py{number}", f"py{series.major}", "py2.py3"}
    abi3 = (re.fullmatch(r"cp3(\d+)\+", each) for each in tags.split())
    return not ours.isdisjoint(tags.split()) or any(
        series.major == 3 and int(match[1]) <= series.minor for match in abi3 if match
    )


class Index:
    """The files of a package's releases, and their requirements."""

    def __init__(self, content: Any) -> None:
        self.package: str = content["package"]
        self._rows: dict[Version, str] = {}
        self.days: dict[Version, str] = {}
        row = ""
        for version, day, changed in content["wheels"]:
            row = changed or row
            self._rows[Version(version)] = row
            self.days[Version(version)] = day
        self._requires = {Version(v): lines for v, lines in content["requires"].items()}
        self._stated = sorted(self._requires)
        # For a compiled package, a release without wheels has no file for a newer Python.
        self._is_compiled = any("cp" in row.partition("|")[0] for row in self._rows.values())

    @property
    def versions(self) -> list[Version]:
        return list(self._rows)

    def is_wheel(self, version: Version) -> bool:
        return self._rows[version][:1] not in ("", "|")

    def fits(self, version: Version, python: Version) -> bool:
        row = self._rows.get(version, "|||")
        return not (row[:1] == "|" and self._is_compiled) and _fits(row, python)

    def years(self, old: Version, new: Version) -> int:
        """How many years lie between two releases."""
        return int(self.days.get(new, "")[:4] or 0) - int(self.days.get(old, "")[:4] or 9999)

    def pythons(self, version: Version) -> list[Version]:
        return [python for python in PYTHONS if self.fits(version, python)]

    def newest(
        self, wanted: SpecifierSet, python: Version | None = None, day: str = ""
    ) -> Version | None:
        """The newest final release in a range with a file for a Python, up to a day."""
        fitting = [
            version
            for version in self._rows
            if not version.is_prerelease
            and (not day or self.days[version] <= day)
            and wanted.contains(version)
            and (python is None or self.fits(version, python))
        ]
        return max(fitting, default=None)

    def requires(self, version: Version, name: str, python: Version | None = None) -> list[str]:
        """What a release requires of another package, a range for each marker that may hold; empty
        where it requires none, or is unknown.
        """
        place = bisect_right(self._stated, version)
        lines = self._requires[self._stated[place - 1]] if place and version in self._rows else ()
        ranges = []
        for line in lines:
            stem = line[: len(name)].lower().replace("_", "-").replace(".", "-")
            need = requirement_of(line) if stem == name else None
            if need is not None and need.name == name and _may_hold(need, python):
                ranges.append(str(need.specifier))
        return [] if "" in ranges else ranges

    @property
    def required(self) -> set[str]:
        """All packages that some release requires."""
        needs = (requirement_of(line) for lines in self._requires.values() for line in lines)
        return {need.name for need in needs if need is not None}

    def asks(self, name: str) -> bool:
        return any(self.requires(version, name) for version in self._stated)

    def admitting(
        self, name: str, wanted: Version, day: str, python: Version | None
    ) -> Version | None:
        """The newest release that requires another package and admits a version of it, published on
        `day`. A release that is a year older set no bound because it did not know that version.
        """
        for version in sorted(self._rows, reverse=True):
            if version.is_prerelease or (python is not None and not self.fits(version, python)):
                continue
            bound = SpecifierSet(corrected(self.package, version, name))
            if day and int(self.days[version][:4] or 0) + 1 < int(day[:4]):
                continue
            asked = map(SpecifierSet, self.requires(version, name, python))
            if bound.contains(wanted, True) and any(each.contains(wanted, True) for each in asked):
                return version
        return None
