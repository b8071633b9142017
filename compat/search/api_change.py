"""Reads with `ast`, without running them, which names sources define and how to call them."""

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from compat.value import Value

# Of a callable: the accepted keyword arguments, the required ones (`!name`), the most positional
# arguments (`#2`), and the numbers of results (`=4`); `**` and `*` where it accepts any. Empty for
# other objects.
Parameters: TypeAlias = "tuple[str, ...] | None"
# Tables of removed names have one of these words in their name.
_GONE = ("expired", "former", "removed")
_COMPILED = (".so", ".pyd")


def module_of(path: str) -> str | None:
    stem, _, ending = path.rpartition("/")[2].partition(".")
    if not (ending == "py" or (f".{ending}".endswith(_COMPILED) and stem)):
        return None
    parts = [*path.split("/")[:-1], *([] if stem == "__init__" else [stem])]
    return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else None


class Surface:
    """What one module defines. `names` includes `Class.member`.

    `stars` and `aliases` point into other modules; `bases` are those of its classes. `exports` are
    the names that `import *` gives, where `__all__` lists them. `is_open` means that more names may
    appear at run time.
    """

    def __init__(self, module: str, is_package: bool = False) -> None:
        self.module = module
        self.package = module if is_package else module.rpartition(".")[0]
        self.names: dict[str, Parameters] = {}
        self.stars: list[str] = []
        self.aliases: dict[str, tuple[str, str]] = {}
        self.bases: dict[str, tuple[str, ...]] = {}
        self.exports: set[str] | None = None
        self.has_getattr = self.is_open = False

    def read(self, body: list[ast.stmt]) -> None:
        for node in body:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.names[node.name] = parameters_of(node)
                for inner in ast.walk(node):
                    for name in inner.names if isinstance(inner, ast.Global) else ():
                        self.names.setdefault(name, None)
            case ast.ClassDef():
                self._class(node)
            case ast.Import():
                for alias in node.names:
                    self.names[alias.asname or alias.name.partition(".")[0]] = None
            case ast.ImportFrom():
                self._import_from(node)
            case ast.Assign():
                for target in node.targets:
                    self._assigned(target, node.value)
            case ast.AnnAssign() | ast.AugAssign():
                self._assigned(node.target, node.value)
            case ast.If():
                if self.has_getattr or "TYPE_CHECKING" not in ast.unparse(node.test):
                    self.read(node.body)
                self.read(node.orelse)
            case ast.Try():
                for part in (node.body, node.orelse, node.finalbody):
                    self.read(part)
                for handler in node.handlers:
                    self.read(handler.body)
            case ast.With() | ast.For() | ast.While():
                self.read(node.body)
            case ast.Expr(value=ast.Call()):
                # globals().update(...), _import_all(globals()) and the like
                text = ast.unparse(node)
                self.is_open |= "globals()" in text
                # A folder whose modules are found in this one's place, as `__path__.api`.
                folder = re.match(r"__path__\.(?:append|extend|insert)\(.*'(\w+)'", text)
                self.names |= {f"__path__.{folder[1]}": None} if folder else {}
            case _:
                pass

    def _import_from(self, node: ast.ImportFrom) -> None:
        base = self.package.split(".")
        if node.level:
            base = base[: len(base) - node.level + 1]
            source = ".".join([*base, *([node.module] if node.module else [])])
        else:
            source = node.module or ""
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(source)
                self.is_open |= source.partition(".")[0] != self.module.partition(".")[0]
            else:
                name = alias.asname or alias.name
                self.names[name] = None
                self.aliases[name] = (source, alias.name)

    def _assigned(self, target: ast.expr, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                if name == "__all__" and (
                    isinstance(value, ast.List | ast.Tuple) or self.exports is not None
                ):
                    listed = set(_strings(getattr(value, "elts", [])))
                    self.exports = listed | (self.exports or set())
                self.names[name] = None
                if isinstance(value, ast.Name):
                    self.aliases[name] = (self.module, value.id)
                if self.has_getattr and not any(word in name for word in _GONE):
                    self.names |= dict.fromkeys(_lazy_names(value))
            case ast.Tuple() | ast.List():
                for part in target.elts:
                    self._assigned(part, None)
                for keyword in value.keywords if isinstance(value, ast.Call) else ():
                    # __getattr__, __dir__, __all__ = lazy_loader.attach(..., submod_attrs={...})
                    if self.has_getattr and keyword.arg in ("submodules", "submod_attrs"):
                        self.names |= dict.fromkeys(_lazy_names(keyword.value))
            case ast.Subscript(value=ast.Name(id=name)) if self.has_getattr or "import" in name:
                if isinstance(value, ast.List):
                    self.names |= dict.fromkeys(_strings(value.elts))
            case _:
                pass

    def _class(self, node: ast.ClassDef) -> None:
        inner = Surface(self.module)
        inner.read([part for part in node.body if not isinstance(part, ast.ImportFrom)])
        init = inner.names.get("__init__") or inner.names.get("__new__")
        self.names[node.name] = init
        self.bases[node.name] = tuple(
            ast.unparse(base) for base in node.bases if isinstance(base, ast.Name | ast.Attribute)
        )
        own = {
            part.attr
            for part in ast.walk(node)
            if isinstance(part, ast.Attribute)
            and isinstance(part.ctx, ast.Store)
            and isinstance(part.value, ast.Name)
            and part.value.id in ("self", "cls")
        }
        members = dict.fromkeys(own) | inner.names
        self.names |= {f"{node.name}.{name}": value for name, value in members.items()}


def surface(source: bytes, module: str, is_package: bool) -> Surface:
    """Parse one module; one that does not parse is open and empty."""
    result = Surface(module, is_package)
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        result.is_open = True
        return result
    inner = (
        node for part in body if isinstance(part, ast.If) for node in (*part.body, *part.orelse)
    )
    for node in (*body, *inner):
        # Lazy by its `__getattr__`, or by an object in its place in `sys.modules`.
        match node:
            case ast.FunctionDef(name="__getattr__", args=ast.arguments(args=[_])):
                result.has_getattr = True
            case ast.Assign(targets=[target]):
                words = ast.unparse(target)
                result.has_getattr |= "__getattr__" in words or words == "sys.modules[__name__]"
    result.read(body)
    return result


def parameters_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    required = [each.arg for each in positional[: len(positional) - len(arguments.defaults)]]
    required += [
        each.arg
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    ]
    results = (
        f"={len(each.value.elts)}"
        for each in ast.walk(node)
        if isinstance(each, ast.Return) and isinstance(each.value, ast.Tuple)
    )
    return tuple(
        dict.fromkeys(
            (
                *results,
                *(each.arg for each in (*arguments.args, *arguments.kwonlyargs)),
                *(f"!{name}" for name in required),
                "*" if arguments.vararg else f"#{len(positional)}",
                *(("**",) if arguments.kwarg else ()),
            )
        )
    )


def _lazy_names(value: ast.expr | None) -> Iterator[str]:
    """The names that a table for a module's `__getattr__` offers.

    Forms: `{"name": "module"}`, `{"module": ["name"]}`, `{"name": ("why it is deprecated",
    object)}`. A name with None was removed.
    """
    if not isinstance(value, ast.Dict):
        if isinstance(value, ast.Set | ast.List | ast.Tuple):
            yield from _strings(value.elts)
        return
    for key, item in zip(value.keys, value.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            continue
        match item:
            case ast.List() | ast.Set():
                yield from _strings(item.elts)
            case ast.Tuple(elts=[*_, ast.Constant(value=None)]):
                continue
            case ast.Constant(value=str(text)) if " " in text:
                continue
            case _:
                pass
        if key.value.isidentifier():
            yield key.value


def _strings(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.isidentifier()
        ):
            yield node.value


# `f() got an unexpected keyword argument 'x'`, `f() missing 1 required positional argument: 'x'`,
# `f() takes 2 positional arguments but 3 were given`, with or without a class before the name.
_CALLED = re.compile(
    r"(?P<name>[\w.]+)\(\) (?:got an unexpected|got multiple|missing \d|takes |got some positional)"
)
_QUOTED = re.compile(r"'(\w+)'")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_DEEPEST = 12


class ApiChange(Value, frozen=True, kw_only=True):
    """An object that the failing release lacks (one `added` later, if older) or calls differently.

    `lost` parameters only the working release accepts, `new` ones only the failing one. `file` is
    the working release's, below the environment's packages.
    """

    name: str
    kind: Literal["removed", "added", "signature"]
    file: str
    lost: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


def api_change(
    good: str, bad: str, modules: tuple[str, ...], text: str, *, is_older: bool = False
) -> ApiChange | None:
    """Return the object in a failure's text that the failing release lacks or changed, if any.

    `good` and `bad` are folders with the two releases, `modules` the former's top-level modules;
    both are read, never imported. `is_older` means that the failing release is the older one.
    """
    working, failing = _Release(good), _Release(bad)
    called = _CALLED.search(text)
    if called is None:
        names = dict.fromkeys(_NAME.findall(text))
        whole = (name for name in names if name.partition(".")[0] in modules)
        rests = (rest for name in names if (rest := name.partition(".")[2]))
        for name in (*whole, *(f"{module}.{rest}" for rest in rests for module in modules)):
            file = working.place(name)
            if file and failing.place(name) == "":
                return ApiChange(name=name, kind="added" if is_older else "removed", file=file)
        return None
    quoted, wanted = set(_QUOTED.findall(text)), called["name"].removesuffix(".__init__")
    wanted = wanted.rpartition(".")[2]
    for top in modules:
        other = {name: takes for name, _, takes in failing.functions(top, wanted)}
        for name, file, takes in working.functions(top, wanted):
            if name not in other or takes == other[name]:
                continue
            lost, new = _only(takes, other[name], ""), _only(other[name], takes, "!")
            explains = bool(lost)
            if "unexpected keyword" in text:
                explains = not quoted.isdisjoint(lost)
            elif "missing" in text:
                explains = not quoted.isdisjoint(new)
            if explains:
                return ApiChange(name=name, kind="signature", file=file, lost=lost, new=new)
    return None


class _Release:
    """The sources of one release in a folder; each module is parsed on first use."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.surface = cache(
            lambda module, file: surface(
                (self.folder / file).read_bytes(), module, file.endswith("/__init__.py")
            )
        )

    def file(self, module: str) -> str:
        stem = module.replace(".", "/")
        places = (f"{stem}/__init__.py", f"{stem}.py")
        return next((each for each in places if (self.folder / each).is_file()), "")

    def modules(self, top: str) -> Iterator[tuple[str, str]]:
        for path in sorted((self.folder / top).rglob("*.py")) or [self.folder / f"{top}.py"]:
            file = path.relative_to(self.folder).as_posix()
            module = module_of(file)
            if module and path.is_file():
                yield module, file

    def place(self, dotted: str, depth: int = _DEEPEST) -> str | None:
        """The file that defines an object; empty: none does; None: the sources leave that open."""
        parts = dotted.split(".")
        lengths = range(len(parts), 0, -1)
        matched = ((n, file) for n in lengths if (file := self.file(".".join(parts[:n]))))
        length, file = next(matched, (0, ""))
        if not file or length == len(parts):
            return file or None  # without the package itself, its names are unknown
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
        """Each function, or constructor of a class, of that name: name, file and parameters."""
        for module, file in self.modules(top):
            for name, parameters in self.surface(module, file).names.items():
                owner, _, last = name.rpartition(".")
                is_constructor = last == "__init__" and owner == wanted
                if parameters is not None and (last == wanted or is_constructor):
                    is_class = name in self.surface(module, file).bases
                    if not is_class:
                        yield f"{module}.{name}", file, parameters


def _only(takes: tuple[str, ...], other: tuple[str, ...], sign: str) -> tuple[str, ...]:
    lone = (each for each in takes if each not in other and each[0] not in "#*=")
    return tuple(dict.fromkeys(each.removeprefix(sign) for each in lone if sign or each[0] != "!"))
