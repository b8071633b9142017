"""Tests that are a part of their package: those that import what stands above their own folder,
relative to it or by the package's name.
"""

import ast
from collections.abc import Mapping

# What stands in a cell for the __init__.py of a package above the tests: the installed one counts.
MARK = b"# compat: the installed package stands here, and the tests below are a part of it.\n"


def reach_above(texts: Mapping[str, str], package: str) -> bool:
    """Return whether a test imports from above its folder of tests.

    `texts` are the Python files by their path below the parent of that folder, `package` is the
    dotted name of that parent.
    """
    return any(_reaches(path, text, package) for path, text in texts.items())


def _reaches(path: str, text: str, package: str) -> bool:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    folders = path.split("/")[:-1]
    own = f"{package}.{folders[0]}"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            # One dot is the folder itself, and each further one the folder above.
            if node.level > len(folders) or (not node.level and _is_in(node.module or "", own)):
                return True
        elif isinstance(node, ast.Import) and any(_is_in(a.name, own) for a in node.names):
            return True
    return False


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
