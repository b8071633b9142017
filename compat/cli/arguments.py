"""The words of a command line: the options and arguments that a function declares in its
signature, their values, and the help about them.

Written here because importing a library for it took longer than most answers: 0.2 of the 0.4 CPU s
of `compat --help` (typer 0.28, November 2026).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


class Exit(Exception):
    """Ends a command with an exit code."""

    def __init__(self, code: int = 0) -> None:
        super().__init__(code)
        self.code = code


class WrongUsage(Exception):
    """The words of a command line are not as a command takes them; `hint` is what to type."""

    def __init__(self, message: str, hint: str = "compat --help shows the commands") -> None:
        super().__init__(message)
        self.hint = hint


class Argument:
    """A word that stands by its place. `metavar` says what it names, in brackets where it may be
    left out.
    """

    def __init__(self, *, metavar: str = "", help: str = "") -> None:
        self.metavar, self.help = metavar, help


class Option:
    """A word that begins with a dash, with its value. `--yes/--no` declares a pair of flags; `min`
    and `max` bound a number.
    """

    def __init__(
        self,
        *names: str,
        help: str = "",
        metavar: str = "",
        min: float | None = None,
        max: float | None = None,
    ) -> None:
        self.names = [name for names_ in names for name in names_.split("/")]
        self.off = [name for name in self.names if name.startswith("--no-")]
        self.metavar, self.help, self.min, self.max = metavar, help, min, max


class Given:
    """The options that every command takes, as they were given; they stand anywhere."""

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
    "as_json": Option("--json", help="Print one JSON object on stdout."),
    "root": Option("--root", metavar="FOLDER", help="Folder of matrices/; else searched upwards."),
    "index_url": Option("--index-url", metavar="URL", help="Package index; else as pip has it."),
    "extra_index_url": Option(
        "--extra-index-url", metavar="URL", help="Index to ask before the main one; repeatable."
    ),
    "refresh": Option("--refresh", help="Ask the index again, whatever the cache holds."),
    "quiet": Option("--quiet", "-q", help="Print results, warnings and errors only."),
    "verbose": Option("--verbose", "-v", help="Log processes, requests and caches; -vv logs more."),
    "color": Option("--color", metavar="WHEN", help="auto, always or never."),
}
# Flags of the last release that say what is so without them.
GONE = {
    "--due": "is what run does without it",
    "--allow-empty": "is not needed: a run with nothing due ends with 0",
}
_FLAGS = {name: key for key, option in SHARED.items() for name in option.names}


def shared_taken(words: Sequence[str]) -> list[str]:
    given.__init__()  # type: ignore[misc]
    end = words.index("--") if "--" in words else len(words)
    waiting, rest = list(words[:end]), []
    while waiting:
        word = waiting.pop(0)
        name, sign, value = word.partition("=")
        if word.startswith("-v") and set(word[1:]) == {"v"}:
            given.verbose += len(word) - 1
        elif (key := _FLAGS.get(name)) is None:
            rest.append(word)
        elif not SHARED[key].metavar:
            setattr(given, key, getattr(given, key) + 1 if key == "verbose" else True)
        else:
            if not sign and not waiting:
                raise WrongUsage(f"{name} needs {SHARED[key].metavar}")
            text = value if sign else waiting.pop(0)
            if key == "color" and text not in ("auto", "always", "never"):
                raise WrongUsage(f"--color {text!r} is not auto, always or never")
            if key == "extra_index_url":
                given.extra_index_url = [*(given.extra_index_url or ()), text]
            else:
                setattr(given, key, text)
    if given.root is not None:
        from pathlib import Path

        given.root = Path(given.root)
    return [*rest, *words[end:]]


class Parameter:
    """A parameter of a command: its declaration, its type, and what it is without a word."""

    def __init__(self, name: str, about: Argument | Option, hint: Any, default: Any) -> None:
        import types
        from typing import Literal, Union, get_args, get_origin

        if get_origin(hint) in (Union, types.UnionType):
            (hint,) = (part for part in get_args(hint) if part is not type(None))
        self.is_list = get_origin(hint) is list
        if self.is_list:
            (hint,) = get_args(hint)
        self.choices: tuple[str, ...] = get_args(hint) if get_origin(hint) is Literal else ()
        self.name, self.about, self.default = name, about, default
        self.kind: Any = str if self.choices else hint

    @property
    def is_flag(self) -> bool:
        return isinstance(self.about, Option) and self.kind is bool

    @property
    def metavar(self) -> str:
        if self.about.metavar or self.is_flag:
            return self.about.metavar
        if self.choices:
            return "|".join(self.choices)
        kinds = {int: "N", float: "N", str: self.name.upper()}
        return kinds.get(self.kind, "FILE")

    def value(self, text: str) -> Any:
        what = self.about.names[0] if isinstance(self.about, Option) else self.metavar
        if self.choices and text not in self.choices:
            raise WrongUsage(f"{what} {text!r} is not one of {', '.join(self.choices)}")
        try:
            value = self.kind(text)
        except ValueError:
            raise WrongUsage(f"{what} {text!r} is not a number") from None
        if self.kind in (int, float) and isinstance(self.about, Option):
            low, high = self.about.min, self.about.max
            if (low is not None and value < low) or (high is not None and value > high):
                bounds = f"at least {low}" if high is None else f"{low} to {high}"
                raise WrongUsage(f"{what} {text} is out of range: {bounds}")
        return value


class _Names(dict[str, Any]):
    """The names of a module, each evaluated when it is asked for: from its source, so that a module
    of ours is never imported for its declarations.
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

        code = compile(ast.Expression(node), self._module, "eval")
        return eval(code, {}, self)

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


_read: dict[str, _Names] = {}


def _names(module: str) -> _Names:
    if module not in _read:
        _read[module] = _Names(module)
    return _read[module]


def declared(module: str, function: str) -> tuple[str, list[Parameter]]:
    import ast
    from typing import get_args

    names = _names(module)
    node = next(n for n in names.tree.body if isinstance(n, ast.FunctionDef) and n.name == function)
    places = node.args.args
    defaults = [*(...,) * (len(places) - len(node.args.defaults)), *node.args.defaults]
    known = []
    for place, default in zip(places, defaults, strict=True):
        hint, about = get_args(names.value(place.annotation))
        is_set = default is not ...
        known.append(Parameter(place.arg, about, hint, names.value(default) if is_set else ...))
    return ast.get_docstring(node) or "", known


def nearest(word: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else ""


def values_of(known: Sequence[Parameter], words: Sequence[str], command: str) -> dict[str, Any]:
    values: dict[str, Any] = {
        p.name: getattr(given, p.name) if p.name in SHARED else p.default for p in known
    }
    places = [p for p in known if isinstance(p.about, Argument)]
    options = {n: p for p in known if isinstance(p.about, Option) for n in p.about.names}
    more = f"compat {command} --help shows the options"
    waiting, loose, is_open = list(words), [], True

    def keep(parameter: Parameter, value: Any) -> None:
        before = values[parameter.name] or []
        values[parameter.name] = [*before, value] if parameter.is_list else value

    while waiting:
        word = waiting.pop(0)
        if word == "--" and is_open:
            is_open = False
        elif not is_open or word == "-" or not word.startswith("-"):
            loose.append(word)
        else:
            name, sign, text = word.partition("=")
            if not word.startswith("--"):
                name, sign, text = word[:2], word[2:], word[2:].removeprefix("=")
            parameter = options.get(name)
            if parameter is None and name in GONE:
                print(
                    f"warning: {name} {GONE[name]}, and goes with the next release", file=sys.stderr
                )
                continue
            if parameter is None:
                hint = nearest(name, [*options, *_FLAGS]) or more
                raise WrongUsage(f"compat {command} has no option {name}", hint)
            if parameter.is_flag:
                if sign:
                    raise WrongUsage(f"{name} takes no value", more)
                keep(parameter, name not in parameter.about.off)  # type: ignore[union-attr]
            elif not sign and not waiting:
                raise WrongUsage(f"{name} needs {parameter.metavar}", more)
            else:
                keep(parameter, parameter.value(text if sign else waiting.pop(0)))
    for parameter in places:
        taken = loose if parameter.is_list else loose[:1]
        loose = loose[len(taken) :]
        for text in taken:
            keep(parameter, parameter.value(text))
        if values[parameter.name] is ...:
            raise WrongUsage(f"compat {command} needs {parameter.metavar}", more)
    if loose:
        raise WrongUsage(f"compat {command} takes no further word {loose[0]!r}", more)
    missing = [p for p in known if values[p.name] is ...]
    if missing:
        name = missing[0].about.names[0]  # type: ignore[union-attr]
        raise WrongUsage(f"compat {command} needs {name} {missing[0].metavar}", more)
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
    return rows(
        [
            (", ".join([*reversed(o.names)]) + (f" {o.metavar}" if o.metavar else ""), o.help)
            for o in SHARED.values()
        ]
        + [("-h, --help", "Show this help.")]
    )


def help_of(command: str, says: str, known: Sequence[Parameter]) -> str:
    import shutil
    import textwrap

    known = [p for p in known if p.name not in SHARED or p.about is not SHARED[p.name]]
    places = [p for p in known if isinstance(p.about, Argument)]
    options = [p for p in known if isinstance(p.about, Option)]
    usage = " ".join(["compat", command, *(p.metavar for p in places), "[OPTIONS]"])
    width = shutil.get_terminal_size().columns
    text = [f"Usage: {usage}"]
    for paragraph in says.split("\n\n"):
        text += ["", *textwrap.wrap(" ".join(paragraph.split()), width, break_on_hyphens=False)]
    if places:
        text += ["", "Arguments:", rows([(p.metavar, p.about.help) for p in places])]
    if options:
        text += ["", "Options:", rows([option_row(p) for p in options])]
    return "\n".join([*text, "", "Options of every command:", shared_rows()])


def option_row(parameter: Parameter) -> tuple[str, str]:
    option = parameter.about
    assert isinstance(option, Option)
    names = ", ".join(sorted(option.names, key=len)) if not option.off else "/".join(option.names)
    default = parameter.default
    is_said = default not in (None, False, True, "", ...) and not parameter.is_list
    tail = f" [default: {default}]" if is_said else ""
    return f"{names} {parameter.metavar}".rstrip(), option.help + tail
