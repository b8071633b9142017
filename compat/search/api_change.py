"""Which object of a package a release lacks or changed, as its sources tell: nothing is run."""

import builtins
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from compat.search.api_surface import Surface, module_of, surface
from compat.value import Value

# `f() got an unexpected keyword argument 'x'`, `f() missing 1 required positional argument: 'x'`,
# `f() takes 2 positional arguments but 3 were given`, with a class before the name or not.
_CALLED = re.compile(
    r"(?P<name>[\w.]+)\(\) (?:got an unexpected|got multiple|missing \d|takes |got some positional)"
)
_QUOTED = re.compile(r"'(\w+)'")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_DEEPEST = 12


class ApiChange(Value, frozen=True, kw_only=True):
    """An object of the release that works, as the one that fails has it no more or otherwise.

    It was `added` later where the failing release is the older one. Of what takes other parameters
    there, `lost` are those that only the working release takes and `new` those that only the
    failing one takes or requires. `file` is where the working release has it, below the
    environment's packages.
    """

    name: str
    kind: Literal["removed", "added", "signature"]
    file: str
    lost: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


def api_change(
    good: str, bad: str, modules: tuple[str, ...], text: str, *, is_older: bool = False
) -> ApiChange | None:
    """Return the object that the text of a failure names, if the failing release lacks it or has it
    with other parameters; None where the sources do not tell.

    `good` and `bad` are folders that hold the working and the failing release, `modules` the
    top-level modules of the first. Both are read, and never imported. `is_older` says that the
    failing release is the older one.
    """
    working, failing = _Release(good), _Release(bad)
    called = _CALLED.search(text)
    if called is not None:
        changed = _changed_calls(working, failing, modules, called["name"])
        return next((change for change in changed if _explains(change, text)), None)
    for name in _candidates(text, modules):
        file = working.place(name)
        if file and failing.place(name) == "":
            return ApiChange(name=name, kind="added" if is_older else "removed", file=file)
    return None


def _explains(change: ApiChange, text: str) -> bool:
    named = set(_QUOTED.findall(text))
    if "unexpected keyword" in text:
        return bool(named & set(change.lost))
    return bool(named & set(change.new)) if "missing" in text else bool(change.lost)


def _candidates(text: str, modules: tuple[str, ...]) -> Iterator[str]:
    names = dict.fromkeys(_NAME.findall(text))
    yield from (name for name in names if name.partition(".")[0] in modules)
    for name in names:
        _, dot, rest = name.partition(".")
        yield from (f"{module}.{rest}" for module in modules if dot)


class _Release:
    """The sources of one release in a folder; each module is read when it is asked for."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self._read: dict[str, Surface] = {}

    def file(self, module: str) -> str:
        """The file of a module, below the folder; empty where there is none."""
        stem = module.replace(".", "/")
        places = (f"{stem}/__init__.py", f"{stem}.py")
        return next((each for each in places if (self.folder / each).is_file()), "")

    def surface(self, module: str, file: str) -> Surface:
        if module not in self._read:
            is_package = file.endswith("/__init__.py")
            self._read[module] = surface((self.folder / file).read_bytes(), module, is_package)
        return self._read[module]

    def modules(self, top: str) -> Iterator[tuple[str, str]]:
        """Every module below a top-level one, with its file."""
        for path in sorted((self.folder / top).rglob("*.py")) or [self.folder / f"{top}.py"]:
            file = path.relative_to(self.folder).as_posix()
            module = module_of(file)
            if module and path.is_file():
                yield module, file

    def place(self, dotted: str, depth: int = _DEEPEST) -> str | None:
        """The file that has an object; empty where none has it, None where the sources leave that
        open: another package, a `__getattr__`, a file that does not parse.
        """
        parts = dotted.split(".")
        lengths = range(len(parts), 0, -1)
        matched = ((n, file) for n in lengths if (file := self.file(".".join(parts[:n]))))
        length, file = next(matched, (0, ""))
        if not file or length == len(parts):
            return file or None  # without the package itself nothing is known of its names
        module = ".".join(parts[:length])
        each, name = self.surface(module, file), ".".join(parts[length:])
        if name in each.names:
            return file
        if not depth:
            return None
        head, _, rest = name.partition(".")
        elsewhere = [f"{star}.{name}" for star in each.stars]
        if rest and head in each.aliases:
            elsewhere.append(".".join((*each.aliases[head], rest)))
        bases = each.bases.get(head, ()) if rest else ()
        elsewhere += [f"{module}.{b}.{rest}" for b in bases if not hasattr(builtins, b)]
        places = [self.place(other, depth - 1) for other in elsewhere]
        is_open = each.is_open or None in places
        return next(filter(None, places), None if is_open else "")

    def functions(self, top: str, wanted: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Each function of that name, or constructor of such a class: its dotted name, its file,
        and its parameters as `api_surface` writes them.
        """
        for module, file in self.modules(top):
            for name, parameters in self.surface(module, file).names.items():
                owner, _, last = name.rpartition(".")
                is_constructor = last == "__init__" and owner == wanted
                if parameters is not None and (last == wanted or is_constructor):
                    is_class = name in self.surface(module, file).bases
                    if not is_class:
                        yield f"{module}.{name}", file, parameters


def _changed_calls(
    working: _Release, failing: _Release, modules: tuple[str, ...], called: str
) -> Iterator[ApiChange]:
    wanted = called.removesuffix(".__init__").rpartition(".")[2]
    for top in modules:
        other = {name: takes for name, _, takes in failing.functions(top, wanted)}
        for name, file, takes in working.functions(top, wanted):
            if name in other and takes != other[name]:
                yield ApiChange(
                    name=name,
                    kind="signature",
                    file=file,
                    lost=_only(takes, other[name], ""),
                    new=_only(other[name], takes, "!"),
                )


def _only(takes: tuple[str, ...], other: tuple[str, ...], sign: str) -> tuple[str, ...]:
    """The parameters that only one of two functions takes, or with `!` requires."""
    lone = (each for each in takes if each not in other and each[0] not in "#*")
    return tuple(dict.fromkeys(each.removeprefix(sign) for each in lone if sign or each[0] != "!"))
