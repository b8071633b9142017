"""The words of a command line: options and arguments as a function's signature declares them, their
values, and their help.

Importing a library for it took longer than most answers: 0.2 of the 0.4 CPU s of `compat --help`
(typer 0.28, November 2026).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, get_type_hints


class Exit(Exception):
    """Ends a command with an exit code."""

    def __init__(self, code: int = 0) -> None:
        super().__init__(code)
        self.code = code


class WrongUsage(Exception):
    """A command does not accept these words; `hint` is what to type."""

    def __init__(self, message: str, hint: str = "compat --help shows the commands") -> None:
        super().__init__(message)
        self.hint = hint


class Parameter:
    """A word or an option of a command; its name, type and default come from the signature.

    A word may be left out if its metavar has brackets. An option has the parameter's name, unless
    one with two dashes is given; `--yes/--no` names a pair of flags.
    """

    name = ""
    kind: Any = bool
    choices: tuple[str, ...] = ()
    is_list = False

    def __init__(
        self,
        help: str,
        *names: str,
        metavar: str = "",
        default: Any = None,
        min: float | None = None,
        max: float | None = None,
        is_option: bool = True,
    ) -> None:
        self.is_option = is_option
        self.help, self.names, self._metavar = help, list(names), metavar
        self.default, self.min, self.max = default, min, max

    def bound(self, name: str, hint: Any) -> Parameter:
        import copy
        import types
        from typing import Literal, Union, get_args, get_origin

        own = copy.copy(self)
        own.name, is_optional = name, False
        if get_origin(hint) in (Union, types.UnionType):
            (hint,) = (part for part in get_args(hint) if part is not type(None))
            is_optional = True
        own.is_list = get_origin(hint) is list
        if own.is_list:
            (hint,) = get_args(hint)
        own.choices = get_args(hint) if get_origin(hint) is Literal else ()
        own.kind = str if own.choices else hint
        if self.default is None and not is_optional:
            own.default = {bool: False, str: ""}.get(hint, ...)
        if not self.is_option:
            own.default = own.default if own.metavar.startswith("[") else ...
            return own
        own.names = [name for names in self.names for name in names.split("/")]
        if not any(name.startswith("--") for name in own.names):
            long = f"--{name.strip('_').replace('_', '-')}" if name[1:] else f"-{name}"
            own.names.insert(0, long)
        return own

    @property
    def is_flag(self) -> bool:
        return self.kind is bool

    @property
    def metavar(self) -> str:
        if self._metavar or self.is_flag:
            return self._metavar
        if self.choices:
            return "|".join(self.choices)
        return {int: "N", float: "N", str: self.name.upper()}.get(self.kind, "FILE")

    def value(self, text: str) -> Any:
        what = self.names[0] if self.names else self.metavar
        if self.choices and text not in self.choices:
            message = f"{what} {text!r} is not one of {', '.join(self.choices)}"
            raise WrongUsage(message, nearest(text, self.choices) or _MORE)
        try:
            value = self.kind(text)
        except ValueError:
            raise WrongUsage(f"{what} {text!r} is not a number") from None
        if self.kind in (int, float):
            low, high = self.min, self.max
            if (low is not None and value < low) or (high is not None and value > high):
                bounds = f"at least {low}" if high is None else f"{low} to {high}"
                raise WrongUsage(f"{what} {text} is out of range: {bounds}")
        return value


def argument(help: str, metavar: str = "") -> Any:
    return Parameter(help, metavar=metavar, is_option=False)


def option(help: str, *names: str, **about: Any) -> Any:
    return Parameter(help, *names, **about)


def _shared_options(
    as_json: bool = option("Print one JSON object on stdout.", "--json"),
    root: Path | None = option(
        "Folder of matrices/ (default: searched upwards).", metavar="FOLDER"
    ),
    index_url: str | None = option("Package index (default: pip's configuration).", metavar="URL"),
    extra_index_url: list[str] | None = option(
        "Extra index with precedence over the main one; repeatable.", metavar="URL"
    ),
    refresh: bool = option("Bypass the cache of index pages."),
    quiet: bool = option("Print results, warnings and errors only.", "--quiet", "-q"),
    verbose: bool = option("Log processes, requests and caches; -vv logs more.", "--verbose", "-v"),
    color: Literal["auto", "always", "never"] | None = option(
        "auto, always or never.", metavar="WHEN"
    ),
) -> None:
    """The options that every command takes; they stand anywhere."""


_HINTS = get_type_hints(_shared_options)
_ABOUT = zip(_HINTS, _shared_options.__defaults__ or (), strict=False)
SHARED = {name: about.bound(name, _HINTS[name]) for name, about in _ABOUT}
# Their values, as given.
given = SimpleNamespace(**{name: option.default for name, option in SHARED.items()})
_FLAGS = {name: option for option in SHARED.values() for name in option.names}
_MORE = "compat --help shows the commands"


def shared_taken(words: Sequence[str]) -> list[str]:
    """Set the options of every command; return the other words."""
    given.__dict__.update({name: option.default for name, option in SHARED.items()})
    end, loose = words.index("--") if "--" in words else len(words), []
    for parameter, value in _read(words[:end], _FLAGS, _MORE):
        name = "" if parameter is None else parameter.name
        if parameter is None:
            loose.append(value)
        elif parameter.is_list:
            setattr(given, name, [*(getattr(given, name) or ()), value])
        else:
            setattr(given, name, given.verbose + 1 if name == "verbose" else value)
    return [*loose, *words[end:]]


def _read(
    words: Sequence[str], options: Mapping[str, Parameter], more: str
) -> Iterator[tuple[Parameter | None, Any]]:
    """Yield each option with its value, and None with each other word, unknown options included."""
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, sign, text = word.partition("=")
        if not word.startswith("--"):
            name, sign, text = word[:2], word[2:], word[2:].removeprefix("=")
        parameter = options.get(name)
        if parameter is None:
            yield None, word
        elif parameter.is_flag:
            if sign.strip(name[1]):  # but for -vv
                raise WrongUsage(f"{name} takes no value", more)
            yield from ((parameter, not name.startswith("--no-")) for _ in range(1 + len(sign)))
        elif not sign and not waiting:
            raise WrongUsage(f"{name} needs {parameter.metavar}", more)
        else:
            yield parameter, parameter.value(text if sign else waiting.pop(0))


def source_of(module: str) -> str:
    folder, name = __file__.rpartition("compat")[0], module.replace(".", "/")
    with open(f"{folder}{name}.py", encoding="utf-8") as file:
        return file.read()


class _Names(dict[str, Any]):
    """The names of a module, each evaluated from its source when needed: no module of ours is
    imported for its declarations.
    """

    def __init__(self, module: str) -> None:
        import ast

        super().__init__()
        self._module = module
        self.tree = ast.parse(source_of(module))
        self._found: dict[str, Any] = {}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom):
                self._found |= {a.asname or a.name: (node.module, a.name) for a in node.names}
            elif isinstance(node, ast.Import):
                self._found |= {a.asname or a.name: (a.name, "") for a in node.names}
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._found[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._found[node.target.id] = node.value

    def value(self, node: Any) -> Any:
        import ast

        return eval(compile(ast.Expression(node), self._module, "eval"), {}, self)

    def __missing__(self, name: str) -> Any:
        import importlib

        source = self._found[name]
        if not isinstance(source, tuple):
            self[name] = self.value(source)
        elif source[0] == "compat.cli" or not source[1]:  # a module
            self[name] = importlib.import_module(".".join(filter(None, source)))
        elif source[0].startswith("compat.") and source[0] != __name__:
            self[name] = _names(source[0])[source[1]]
        else:
            self[name] = getattr(importlib.import_module(source[0]), source[1])
        return self[name]


_names = cache(_Names)


def declared(module: str, function: str) -> tuple[str, list[Parameter]]:
    import ast

    names = _names(module)
    node = next(n for n in names.tree.body if isinstance(n, ast.FunctionDef) and n.name == function)
    pairs = zip(node.args.args, node.args.defaults, strict=True)
    known = [names.value(about).bound(p.arg, names.value(p.annotation)) for p, about in pairs]
    return ast.get_docstring(node) or "", known


def nearest(word: str, known: Sequence[str] | Mapping[str, str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, known, n=1)
    return (
        f"did you mean {known[near[0]] if isinstance(known, Mapping) else near[0]}?" if near else ""
    )


def values_of(known: Sequence[Parameter], words: Sequence[str], command: str) -> dict[str, Any]:
    values: dict[str, Any] = {
        p.name: getattr(given, p.name) if p.name in SHARED else p.default for p in known
    }
    options = {name: p for p in known for name in p.names}
    more = f"compat {command} --help shows the options"

    def keep(parameter: Parameter, value: Any) -> None:
        before = values[parameter.name] or []
        values[parameter.name] = [*before, value] if parameter.is_list else value

    end = words.index("--") if "--" in words else len(words)
    loose = []
    for parameter, value in _read(words[:end], options, more):
        if parameter is not None:
            keep(parameter, value)
        elif value == "-" or not value.startswith("-"):
            loose.append(value)
        else:
            name = value.partition("=")[0] if value.startswith("--") else value[:2]
            hint = nearest(name, [*options, *_FLAGS]) or more
            raise WrongUsage(f"compat {command} has no option {name}", hint)
    loose += words[end + 1 :]
    for parameter in (p for p in known if not p.is_option):
        taken = loose if parameter.is_list else loose[:1]
        loose = loose[len(taken) :]
        for text in taken:
            keep(parameter, parameter.value(text))
    if loose:
        raise WrongUsage(f"compat {command}: unexpected argument {loose[0]!r}", more)
    missing = [p for p in known if values[p.name] is ...]
    if missing:
        what = f"{' '.join(missing[0].names[:1])} {missing[0].metavar}".strip()
        raise WrongUsage(f"compat {command} needs {what}", more)
    return values


def rows(pairs: Sequence[tuple[str, str]], most: int = 30) -> str:
    import shutil
    import textwrap

    total = shutil.get_terminal_size().columns
    width = min(most, max((len(name) for name, _ in pairs), default=0)) + 4
    lines = []
    for name, sentence in pairs:
        wrapped = textwrap.wrap(sentence, max(20, total - width)) or [""]
        head = f"  {name}".ljust(width)
        if len(name) + 4 > width:
            lines.append(f"  {name}")
            head = " " * width
        lines += [f"{head}{wrapped[0]}".rstrip(), *(" " * width + line for line in wrapped[1:])]
    return "\n".join(lines)


def shared_rows() -> str:
    names = [(f"{', '.join(p.names[::-1])} {p.metavar}".rstrip(), p.help) for p in SHARED.values()]
    return rows([*names, ("-h, --help", "Show this help.")])


def help_of(command: str, says: str, known: Sequence[Parameter]) -> str:
    import shutil
    import textwrap

    places = [p for p in known if not p.is_option]
    usage = " ".join(["compat", command, *(p.metavar for p in places), "[OPTIONS]"])
    width = shutil.get_terminal_size().columns
    text = [f"Usage: {usage}"]
    for paragraph in says.split("\n\n"):
        text += ["", *textwrap.wrap(" ".join(paragraph.split()), width, break_on_hyphens=False)]
    for title, of_options in (("Arguments:", False), ("Options:", True)):
        if listed := [help_row(p) for p in known if p.is_option is of_options]:
            text += ["", title, rows(listed)]
    return "\n".join([*text, "", "Options of every command:", shared_rows()])


def help_row(parameter: Parameter) -> tuple[str, str]:
    if not parameter.is_option:
        return parameter.metavar, parameter.help
    default = parameter.default
    has_pair = any(name.startswith("--no-") for name in parameter.names)
    names = "/".join(parameter.names) if has_pair else ", ".join(sorted(parameter.names, key=len))
    is_said = default not in (None, False, True, "", ...) and not parameter.is_list
    tail = f" [default: {default}]" if is_said else ""
    return f"{names} {parameter.metavar}".rstrip(), parameter.help + tail


def matrices_folder(root: Path | None = None) -> Path:
    root = given.root if root is None else root
    starts = [root] if root is not None else [Path.cwd(), *Path.cwd().parents]
    for start in starts:
        if (start / "matrices").is_dir():
            return start / "matrices"
    from compat.errors import UsageError

    where = f"in {root}" if root is not None else "here or in any folder above"
    hint = "run compat inside the repository, or name it with --root"
    raise UsageError.of(f"no folder matrices/ {where}", hint=hint)


def matrix_names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in folder.glob("*/matrix.toml")))
