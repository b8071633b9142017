"""Tracebacks as CPython, IPython and pytest print them: frames, and what was raised."""

import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from compat.advise.doctor.facts import Text, pattern
from compat.advise.doctor.known import package_of_module
from compat.advise.module_names import is_own_name, module_package
from compat.value import Value

_CELL = re.compile(r"^\s*(?P<path><(?:ipython-input|stdin|string)[^>]*>)")
_ARROW = re.compile(r"^\s*-+> ?(?P<line>\d+) (?P<source>.*)")
_PACKAGES = re.compile(r"(?:site|dist)-packages[/\\]+(?:(\w+)-[\w.]+\.egg[/\\]+)?([\w.]+)")
_PYTHON = re.compile(
    r"(?:/|\\)lib(?:64)?(?:/|\\)(?:python\d[\d.]*(?:/|\\))?\w+(?:/|\\)?[\w/\\]*\.py$|^<frozen ",
    re.I,
)


class Frame(Value, frozen=True):
    """One place: its file, what stands there, and whose it is: a package, `python`, or empty for the
    user's own.
    """  # noqa: E501

    path: str
    source: str
    package: str
    line: int


class Raised(Value, frozen=True):
    """What was raised, as its last line says; `text` has the lines that follow, too."""

    type: str
    text: str
    line: int


class Traceback(Value, frozen=True):
    """All frames of a message in their order, outermost first, and all that was raised."""

    frames: tuple[Frame, ...]
    raised: tuple[Raised, ...]

    @property
    def installed(self) -> list[str]:
        """The packages in whose files it happened, the innermost first."""
        return list(
            dict.fromkeys(
                f.package for f in reversed(self.frames) if f.package and f.package != "python"
            )
        )

    @property
    def own_stems(self) -> frozenset[str]:
        """The names of the user's own files and of the folders in which they lie."""
        parts = (
            part.removesuffix(".py")
            for frame in self.frames
            if not frame.package and not frame.path.startswith("<")
            for part in re.split(r"[/\\]", frame.path)
        )
        return frozenset(part for part in parts if part)

    def importer(self, module: str) -> str:
        """The innermost package that is not that of the module, whose line asks for it."""
        provider = package_of(module)
        return next((p for p in self.installed if p != provider), "")


def package_of(module: str) -> str:
    """The distribution of a dotted module, by normalised name."""
    return (
        package_of_module(module) or str(canonicalize_name(module_package(module)))
        if module
        else ""
    )


def read_traceback(text: Text) -> Traceback:
    frames: list[Frame] = []
    raised: list[Raised] = []
    for number, line in enumerate(text.lines, 1):
        where = (
            pattern("file").search(line)
            or pattern("ipython").match(line)
            or _CELL.match(line)
            or pattern("short").match(line)
        )
        if where is not None and (error := pattern("raised").match(line)) is None:
            frames.append(_frame(where["path"], _source(text.lines, number), number))
            continue
        error = pattern("raised").match(line)
        if error is not None:
            more = " ".join(l.strip() for l in _following(text.lines, number))  # noqa: E741
            raised.append(
                Raised(
                    type=error["type"], text=f"{error['text'] or ''} {more}".strip(), line=number
                )
            )
    return Traceback(frames=tuple(frames), raised=tuple(raised))


def _frame(path: str, source: str, number: int) -> Frame:
    matched = _PACKAGES.search(path)
    package = ""
    if matched:
        module = matched[2].removesuffix(".py")
        package = package_of(module.partition(".")[0])
    elif re.search(r"/usr/src/(\w+)/\1/", path):
        package = package_of(path.split("/")[3])
    elif _PYTHON.search(path.replace("\\", "/")) or path.startswith("<frozen"):
        package = "python"
    return Frame(path=path.replace("\\", "/"), source=source, package=package, line=number)


def _source(lines: list[str], number: int) -> str:
    """What stands at a frame: the next line, or the one that an arrow points to."""
    for line in lines[number : number + 12]:
        arrow = _ARROW.match(line)
        if arrow:
            return arrow["source"].strip()
        if (
            pattern("file").search(line)
            or pattern("ipython").match(line)
            or pattern("raised").match(line)
        ):
            break
    following = lines[number].strip() if number < len(lines) else ""
    inline = lines[number - 1].partition(".py:")[2].partition(" ")[2]
    if inline and not inline.startswith("in "):
        return inline.strip()
    return (
        ""
        if pattern("raised").match(following) or pattern("file").search(following)
        else re.sub(r"^(?:❱\s*)?\d*\s+(?=[a-z])", "", following)
    )


def _following(lines: list[str], number: int) -> Iterator[str]:
    for line in lines[number : number + 8]:
        if (
            not line.strip()
            or pattern("file").search(line)
            or pattern("raised").match(line)
            or pattern("short").match(line)
        ):
            return
        yield line


def is_users_own(module: str, trace: Traceback) -> bool:
    """Whether a module may be the user's: it has such a name, or that of one of his files."""
    top = module.partition(".")[0]
    return is_own_name(package_of(module)) or (
        top in trace.own_stems and package_of(module) not in trace.installed
    )
