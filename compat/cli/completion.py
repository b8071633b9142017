"""Completion in bash, zsh and fish, from the repository's files alone: nobody waits for a Tab."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from compat.cli.app import FIRST, GROUPS, called, declared_by
from compat.cli.arguments import SHARED, WrongUsage, shared_taken

SHELLS = ("bash", "zsh", "fish")


def script(shell: str) -> str:
    if shell not in SHELLS:
        raise WrongUsage(
            f"--completion {shell!r} is not one of {', '.join(SHELLS)}",
            'for example: eval "$(compat --completion bash)"',
        )
    path = Path(__file__).parent / "templates" / f"completion.{shell}"
    return path.read_text(encoding="utf-8").rstrip("\n")


def complete(words: Sequence[str]) -> None:
    """Print what can stand at the end of a line; `words` are the shell and the line."""
    shell, line = words
    try:
        typed = shlex.split(line)
    except ValueError:  # within a quotation
        return
    begun = "" if line.endswith(" ") or len(typed) < 2 else typed.pop()
    fitting = sorted({w for w in _candidates(typed[1:], begun, shell) if w.startswith(begun)})
    # bash replaces only what follows the last of these.
    cut = max(begun.rfind("="), begun.rfind(":")) + 1 if shell == "bash" else 0
    for word in fitting:
        print(word[cut:])


def _candidates(typed: list[str], begun: str, shell: str) -> Iterator[str]:
    try:
        before = shared_taken(typed)
    except WrongUsage:  # one of every command waits for its value
        yield from ("auto", "always", "never") if typed[-1] == "--color" else _paths(begun, shell)
        return
    shared = [name for option in SHARED.values() for name in option.names]
    if not before or before == ["help"]:
        yield from (name for names in FIRST.values() for name in names)
        yield from GROUPS
        yield from (*shared, "--version", "--help", "help") if not before else ()
        return
    if before[0] in GROUPS and len(before) == 1:
        yield from GROUPS[before[0]][1]
        return
    key, _, after = called(before)
    _, known = declared_by(key)
    options = {n: p for p in known if p.is_option for n in p.names}
    waiting = options.get(after[-1]) if after else None
    if waiting is not None and not waiting.is_flag:
        yield from waiting.choices or _values(waiting.metavar, after, begun, shell)
        return
    if begun.startswith("-"):
        yield from (*options, *shared, "--help")
        return
    loose = [word for word in after if not word.startswith("-")]
    places = [p for p in known if not p.is_option]
    place = places[min(len(loose), len(places) - 1)] if places else None
    if place is not None and (place.is_list or len(loose) < len(places)):
        yield from place.choices or _values(place.metavar, loose, begun, shell)


def _values(metavar: str, typed: Sequence[str], begun: str, shell: str) -> Iterator[str]:
    what = metavar.strip("[].")
    from compat.cli.arguments import given

    starts = [given.root] if given.root else [Path.cwd(), *Path.cwd().parents]
    folder = next((s / "matrices" for s in starts if (s / "matrices").is_dir()), None)
    if folder is None:
        return
    if what.endswith("MATRIX"):
        yield from (path.parent.name for path in folder.glob("*/matrix.toml"))
        return
    folder = folder / (typed[0] if typed else "")
    text = ""
    if (folder / "matrix.toml").is_file():
        text = (folder / "matrix.toml").read_text(encoding="utf-8", errors="replace")
    if what in ("CELL", "CELLS", "GOOD", "BAD"):
        yield from _cells(folder)
    elif what in ("AXIS", "AXIS=VERSION", "REQUIREMENT", "VERSION"):
        sign = {"AXIS=VERSION": "=", "REQUIREMENT": "=="}.get(what, "")
        for axis, versions in _axes(text, _cells(folder)).items():
            if sign:
                yield from (f"{axis}{sign}{version}" for version in versions)
            elif what == "AXIS":
                yield axis
            elif f'subject = "{axis}"' in text:
                yield from versions
    elif what == "CAPABILITY":
        marked = re.compile(r"""capability\(\s*["']([^"']+)["']""")
        for path in folder.glob("**/test_*.py"):
            yield from marked.findall(path.read_text(encoding="utf-8", errors="replace"))
        yield "import"
    elif what == "PLATFORM":
        yield from re.findall(
            r'"([^"]+)"', "".join(re.findall(r"^platforms = \[[^]]*]", text, re.M))
        )
        yield "all"
    elif what == "ISOLATION":
        yield from ("L3", "L2", "L1", "L0")
    elif what == "RECIPE":
        yield from ("fresh", "dated", "relaxed")
    elif what in ("FILE", "FOLDER", "PATH", "SOURCE"):
        yield from _paths(begun, shell)


def _paths(begun: str, shell: str) -> Iterator[str]:
    if shell == "fish":  # the others fall back to paths by themselves
        yield from (f"{path}{'/' if path.is_dir() else ''}" for path in Path().glob(f"{begun}*"))


def _cells(folder: Path) -> set[str]:
    return {path.name.rsplit(".", 1)[0] for path in folder.glob("locks/*.t*")}


def _axes(text: str, cells: set[str]) -> dict[str, list[str]]:
    """The versions of each axis that cells have. By regular expressions: parsing TOML takes longer
    than the rest.
    """
    versions_of: dict[str, list[str]] = {}
    parts = [cell.partition("+")[0].split("-") for cell in cells]
    for place, axis in enumerate(re.split(r"^\[\[axes\]\]$", text, flags=re.M)[1:]):
        named: dict[str, str] = dict(
            re.findall(r'^(name|short) = "([^"]+)"', axis.partition("\n[")[0], re.M)
        )
        if "name" in named:
            short = named.get("short") or named["name"]
            versions = {p[place].removeprefix(short) for p in parts if len(p) > place}
            versions_of[named["name"]] = sorted(versions)
    return versions_of
