"""Measure the shape of the house: `python tests/measure.py [FOLDER ...]` prints one column a
checkout.

The figures show drift; they are no goal in themselves. What each one counts stands in its function.
"""

import ast
import collections
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# Words that do not say what a local variable holds.
FILLERS = frozenset(
    [
        "one",
        "ones",
        "found",
        "told",
        "made",
        "some",
        "at",
        "thing",
        "things",
        "it",
        "here",
        "there",
        "said",
        "kept",
        "seen",
        "given",
        "came",
    ]
)
WIDTH = 100


class Checkout:
    """One checkout's Python modules below `compat/`, parsed once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = root / "compat"
        paths = sorted(self.package.rglob("*.py"))
        self.text = {path: path.read_text(encoding="utf-8") for path in paths}
        self.tree = {path: ast.parse(text) for path, text in self.text.items()}
        others = [*(root / "tests").rglob("*.py"), root / "noxfile.py"]
        self.all_text = self.text | {path: path.read_text(encoding="utf-8") for path in others}

    def classes(self) -> Iterator[ast.ClassDef]:
        """Yield each class."""
        for tree in self.tree.values():
            yield from (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def modules(checkout: Checkout) -> int:
    """Count modules, without `__init__.py`."""
    return sum(path.name != "__init__.py" for path in checkout.tree)


def lines(checkout: Checkout) -> int:
    """Count lines of `compat/`."""
    return sum(len(text.splitlines()) for text in checkout.text.values())


def characters(checkout: Checkout) -> int:
    """Count what is neither blank nor indentation: unlike lines, it does not change with the
    width.
    """
    return sum(len("".join(text.split())) for text in checkout.text.values())


def _public(checkout: Checkout) -> collections.Counter[str]:
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    names: collections.Counter[str] = collections.Counter()
    for tree in checkout.tree.values():
        names.update(
            {node.name for node in tree.body if isinstance(node, kinds) and node.name[0] != "_"}
        )
    return names


def public_names(checkout: Checkout) -> int:
    """Count the names of public classes and functions at the top of a module."""
    return len(_public(checkout))


def doubles(checkout: Checkout) -> int:
    """Count the names that are public in two or more modules."""
    return sum(count > 1 for count in _public(checkout).values())


def fillers(checkout: Checkout) -> str:
    """Share of assignments, loops and comprehensions whose name says nothing."""
    names = [
        node.id
        for tree in checkout.tree.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return (
        f"{sum(name in FILLERS for name in names)}"
        f" ({sum(name in FILLERS for name in names) / len(names):.1%})"
    )


def wide(checkout: Checkout) -> int:
    """Count lines over 100 columns in `compat/`, `tests/` and the noxfile."""
    return sum(
        len(line) > WIDTH for text in checkout.all_text.values() for line in text.splitlines()
    )


def edges(checkout: Checkout) -> str:
    """Imports of other modules of the house, for a module, on average."""
    count = 0
    for tree in checkout.tree.values():
        imported = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("compat"):
                imported.add(node.module)
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names if alias.name.startswith("compat.")}
        count += len(imported)
    return f"{count / modules(checkout):.2f}"


def _forms(checkout: Checkout, *words: str) -> int:
    count = 0
    for node in checkout.classes():
        fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
        # An enumeration, a protocol and a class with methods only are not a form of a fact.
        names = {field.target.id.lower() for field in fields if isinstance(field.target, ast.Name)}
        count += bool(fields) and (
            any(word in node.name.lower() for word in words) or bool(names & set(words))
        )
    return count


def forms_of_a_verdict(checkout: Checkout) -> int:
    """Count the classes with fields that are a verdict or carry one by that name."""
    return _forms(checkout, "verdict", "verdicts")


def forms_of_a_capability(checkout: Checkout) -> int:
    """Count the classes with fields that are a capability or carry some by that name."""
    return _forms(checkout, "capability", "capabilities")


FIGURES: dict[str, Callable[[Checkout], object]] = {
    "modules": modules,
    "lines": lines,
    "characters of code": characters,
    "public names": public_names,
    "names public in two modules": doubles,
    "filler locals": fillers,
    f"lines over {WIDTH} columns": wide,
    "import edges a module": edges,
    "forms of a verdict": forms_of_a_verdict,
    "forms of a capability": forms_of_a_capability,
}


def main(roots: list[str]) -> None:
    """Print a row a figure and a column a checkout."""
    checkouts = [Checkout(Path(root)) for root in roots or ["."]]
    for name, figure in FIGURES.items():
        print(f"{name:32}", *(f"{figure(checkout)!s:>16}" for checkout in checkouts))


if __name__ == "__main__":
    main(sys.argv[1:])
