"""The words of a command line: options and arguments as a function's signature declares them, their
values, and their help.

Importing a library for it took longer than most answers: 0.2 of the 0.4 CPU s of `compat --help`
(typer 0.28, November 2026).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal


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
    """A word or an option of a command; its name, type and default come from the signature."""

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
    ) -> None:
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


class Argument(Parameter):
    """A positional word; its metavar has brackets if it is optional."""

    def bound(self, name: str, hint: Any) -> Parameter:
        own = super().bound(name, hint)
        if not own.metavar.startswith("["):
            own.default = ...
        return own


class Option(Parameter):
    """An option; its name is the parameter's unless one with two dashes is given. `--yes/--no`
    names a pair of flags.
    """

    def bound(self, name: str, hint: Any) -> Parameter:
        own = super().bound(name, hint)
        names = [name for names in self.names for name in names.split("/")]
        if not any(name.startswith("--") for name in names):
            names.insert(0, f"--{name.strip('_').replace('_', '-')}" if name[1:] else f"-{name}")
        own.names = names
        return own

    @property
    def off(self) -> list[str]:
        return [name for name in self.names if name.startswith("--no-")]


def argument(help: str, metavar: str = "") -> Any:
    return Argument(help, metavar=metavar)


def option(help: str, *names: str, **about: Any) -> Any:
    return Option(help, *names, **about)


class Given:
    """The options that every command takes, as given; they stand anywhere."""

    def __init__(self) -> None:
        self.as_json = self.quiet = self.refresh = False
        self.verbose = 0
        self.color = "auto"
        self.root: Any = None
        self.index_url: str | None = None
        self.extra_index_url: list[str] | None = None


given = Given()
# By the name of the attribute of Given.
SHARED = {
    name: about.bound(name, hint)
    for name, hint, about in (
        ("as_json", bool, Option("Print one JSON object on stdout.", "--json")),
        ("root", str, Option("Folder of matrices/ (default: searched upwards).", metavar="FOLDER")),
        ("index_url", str, Option("Package index (default: pip's configuration).", metavar="URL")),
        (
            "extra_index_url",
            list[str],
            Option("Extra index with precedence over the main one; repeatable.", metavar="URL"),
        ),
        ("refresh", bool, Option("Bypass the cache of index pages.")),
        ("quiet", bool, Option("Print results, warnings and errors only.", "--quiet", "-q")),
        (
            "verbose",
            bool,
            Option("Log processes, requests and caches; -vv logs more.", "--verbose", "-v"),
        ),
        (
            "color",
            Literal["auto", "always", "never"],
            Option("auto, always or never.", metavar="WHEN"),
        ),
    )
}
# Flags of the last release that say what is so without them.
GONE = {
    "--due": "is the default of run",
    "--allow-empty": "is not needed: a run with nothing due exits 0",
}
_FLAGS = {name: option for option in SHARED.values() for name in option.names}
_MORE = "compat --help shows the commands"


def shared_taken(words: Sequence[str]) -> list[str]:
    given.__init__()  # type: ignore[misc]
    end = words.index("--") if "--" in words else len(words)

    def keep(parameter: Parameter, value: Any) -> None:
        before = getattr(given, parameter.name)
        if parameter.is_list:
            value = [*(before or ()), value]
        elif parameter.name == "root":
            from pathlib import Path

            value = Path(value)
        elif parameter.name == "verbose":
            value = before + 1
        setattr(given, parameter.name, value)

    return [*_taken(words[:end], _FLAGS, keep, lambda word, name: [word], _MORE), *words[end:]]


def _taken(
    words: Sequence[str],
    options: Mapping[str, Parameter],
    keep: Callable[[Parameter, Any], None],
    unknown: Callable[[str, str], list[str]],
    more: str,
) -> list[str]:
    """Hand each option with its value to `keep`; return the other words, with what `unknown`
    returns for each unknown option.
    """
    waiting, loose = list(words), []
    while waiting:
        word = waiting.pop(0)
        if word == "-" or not word.startswith("-"):
            loose.append(word)
            continue
        name, sign, text = word.partition("=")
        if not word.startswith("--"):
            name, sign, text = word[:2], word[2:], word[2:].removeprefix("=")
        parameter = options.get(name)
        if parameter is None:
            loose += unknown(word, name)
        elif parameter.is_flag:
            if sign.strip(name[1]):  # but for -vv
                raise WrongUsage(f"{name} takes no value", more)
            for _ in range(1 + len(sign)):
                keep(parameter, not name.startswith("--no-"))
        elif not sign and not waiting:
            raise WrongUsage(f"{name} needs {parameter.metavar}", more)
        else:
            keep(parameter, parameter.value(text if sign else waiting.pop(0)))
    return loose


class _Names(dict[str, Any]):
    """The names of a module, each evaluated from its source when needed: no module of ours is
    imported for its declarations.
    """

    def __init__(self, module: str) -> None:
        import ast

        super().__init__()
        self._module = module
        folder, name = __file__.rpartition("compat")[0], module.replace(".", "/")
        with open(f"{folder}{name}.py", encoding="utf-8") as file:
            self.tree = ast.parse(file.read())
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


def nearest(word: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else ""


def values_of(known: Sequence[Parameter], words: Sequence[str], command: str) -> dict[str, Any]:
    values: dict[str, Any] = {
        p.name: getattr(given, p.name) if p.name in SHARED else p.default for p in known
    }
    options = {name: p for p in known for name in p.names}
    more = f"compat {command} --help shows the options"

    def keep(parameter: Parameter, value: Any) -> None:
        before = values[parameter.name] or []
        values[parameter.name] = [*before, value] if parameter.is_list else value

    def unknown(word: str, name: str) -> list[str]:
        if name not in GONE:
            hint = nearest(name, [*options, *_FLAGS]) or more
            raise WrongUsage(f"compat {command} has no option {name}", hint)
        print(
            f"warning: {name} {GONE[name]}, and will be removed in the next release",
            file=sys.stderr,
        )
        return []

    end = words.index("--") if "--" in words else len(words)
    loose = [*_taken(words[:end], options, keep, unknown, more), *words[end + 1 :]]
    for parameter in (p for p in known if isinstance(p, Argument)):
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

    places = [p for p in known if isinstance(p, Argument)]
    usage = " ".join(["compat", command, *(p.metavar for p in places), "[OPTIONS]"])
    width = shutil.get_terminal_size().columns
    text = [f"Usage: {usage}"]
    for paragraph in says.split("\n\n"):
        text += ["", *textwrap.wrap(" ".join(paragraph.split()), width, break_on_hyphens=False)]
    for title, kind in (("Arguments:", Argument), ("Options:", Option)):
        if listed := [help_row(p) for p in known if isinstance(p, kind)]:
            text += ["", title, rows(listed)]
    return "\n".join([*text, "", "Options of every command:", shared_rows()])


def help_row(parameter: Parameter) -> tuple[str, str]:
    if not isinstance(parameter, Option):
        return parameter.metavar, parameter.help
    off, default = parameter.off, parameter.default
    names = "/".join(parameter.names) if off else ", ".join(sorted(parameter.names, key=len))
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
