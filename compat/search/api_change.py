"""Which object of a package a release lacks or changed, as its sources tell: nothing is run."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from compat.value import Value

if TYPE_CHECKING:
    import griffe

# `f() got an unexpected keyword argument 'x'`, `f() missing 1 required positional argument: 'x'`,
# `f() takes 2 positional arguments but 3 were given`, with a class before the name or not.
_CALLED = re.compile(
    r"(?P<name>[\w.]+)\(\) (?:got an unexpected|got multiple|missing \d|takes |got some positional)"
)
# It warns of annotations that it cannot read; without a handler that goes to stderr.
logging.getLogger("griffe").addHandler(logging.NullHandler())
_QUOTED = re.compile(r"'(\w+)'")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


T = TypeVar("T")
_Found: TypeAlias = "griffe.Object | griffe.Alias"


class ApiChange(Value, frozen=True, kw_only=True):
    """An object of the release that works, as the one that fails has it no more or otherwise.

    It was `added` later where the failing release is the older one. Of what takes other parameters
    there, `lost` are those that only the working release takes and `new` those that only the
    failing one takes. `file` is where the working release has it, below the environment's packages.
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
    called = _CALLED.search(text)
    if called is not None:
        changed = _changed_calls(good, bad, modules, called["name"])
        return next((change for change in changed if _explains(change, text)), None)
    for name in _candidates(text, modules):
        # What cannot be read has lost nothing that anybody knows of.
        if _loaded(bad, name.partition(".")[0], is_whole=False) is None:
            continue
        working = _found(good, name)
        if working is not None and _found(bad, name) is None:
            kind: Literal["removed", "added"] = "added" if is_older else "removed"
            return ApiChange(name=name, kind=kind, file=_file(working, good))
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


def _found(folder: str, name: str) -> _Found | None:
    """The object of that dotted name, found as an import would find it; None where there is
    none.
    """
    top, *path = name.split(".")
    # A whole package takes many seconds, and its first module often tells.
    for is_whole in (False, True):
        module = _loaded(folder, top, is_whole)
        member = None if module is None else _member(module, path)
        if member is not None:
            return member
    return None


def _loaded(folder: str, name: str, is_whole: bool) -> _Found | None:
    """A module and, where it is a whole package, all below it; None where it cannot be read."""
    import griffe

    loader = griffe.GriffeLoader(search_paths=[folder], allow_inspection=False)

    def load() -> _Found:
        loaded = loader.load(name, submodules=is_whole, try_relative_path=False)
        if is_whole:
            loader.resolve_aliases(implicit=True, external=False)
        return loaded

    return _guarded(load)


def _member(parent: _Found, path: list[str]) -> _Found | None:
    reached: _Found | None = parent
    for name in path:
        if reached is not None:
            reached = _guarded(partial(_step, reached, name))
    return reached


def _step(parent: _Found, name: str) -> _Found | None:
    member: _Found | None = parent.members.get(name)
    return member


def _changed_calls(
    good: str, bad: str, modules: tuple[str, ...], called: str
) -> Iterator[ApiChange]:
    wanted = called.removesuffix(".__init__").rpartition(".")[2]
    for module in modules:
        working = _loaded(good, module, is_whole=True)
        failing = _loaded(bad, module, is_whole=True)
        if working is None or failing is None:
            continue
        by_path = {function.path: function for function in _functions(failing, wanted)}
        for function in _functions(working, wanted):
            other = by_path.get(function.path)
            if other is not None and _parameters(function) != _parameters(other):
                works, fails = ([p.name for p in f.parameters] for f in (function, other))
                yield ApiChange(
                    name=function.path,
                    kind="signature",
                    file=_file(function, good),
                    lost=tuple(name for name in works if name not in fails),
                    new=tuple(name for name in fails if name not in works),
                )


def _functions(parent: _Found, wanted: str) -> Iterator[griffe.Function]:
    import griffe

    for name, member in parent.members.items():
        if isinstance(member, griffe.Alias):
            continue
        if isinstance(member, griffe.Function):
            is_constructor = name == "__init__" and parent.name == wanted
            if name == wanted or is_constructor:
                yield member
        else:
            yield from _functions(member, wanted)


def _parameters(function: griffe.Function) -> str:
    return ", ".join(
        parameter.name if parameter.default is None else f"{parameter.name}=..."
        for parameter in function.parameters
    )


def _file(found_object: _Found, folder: str) -> str:
    # What a module imports from another is told by the module that offers it.
    path = _guarded(lambda: str(found_object.filepath)) or _guarded(
        lambda: str(found_object.parent and found_object.parent.filepath)
    )
    return "" if path is None else path.removeprefix(f"{folder}/")


def _guarded(load: Callable[[], T]) -> T | None:
    """What is loaded; None where sources that somebody else wrote cannot be read."""
    try:
        return load()
    except Exception:
        return None
