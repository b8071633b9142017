# ruff: noqa: E501
"""Print, as JSON, what the modules of this Python's own library have: run by tools/knowledge.py on each
interpreter, from 2.7 on. Standard input may list names as `module:name` that other Pythons have: a
module's `__getattr__` answers to names that `dir` does not list.
"""

import inspect
import json
import os
import pkgutil
import sys
import warnings

warnings.simplefilter("ignore")
SKIPPED = {
    "__main__",
    "antigravity",
    "this",
    "test",
    "idlelib",
    "turtledemo",
    "lib2to3",
    "ensurepip",
    "__phello__",
    "tkinter",
    "Tkinter",
    "lib-tk",
    "pydoc_data",
    "msilib",
    "turtle",
    "curses",
}
FOLDER = os.path.dirname(os.__file__)
BUILTIN = {"builtins", "__builtin__"}


def modules():
    names = set(sys.builtin_module_names)
    for place in (FOLDER, os.path.join(FOLDER, "lib-dynload")):
        names |= {name for _, name, _ in pkgutil.iter_modules([place])}
    for name in sorted(names):
        if name in SKIPPED or name.startswith(("_test", "_ctypes_test", "_xxtest", "xx")):
            continue
        yield name
        folder = os.path.join(FOLDER, name)
        if os.path.isdir(folder) and name not in ("encodings", "site-packages"):
            for _, inner, _ in pkgutil.iter_modules([folder]):
                if inner not in ("__main__", "tests", "test") and not inner.startswith("_"):
                    yield name + "." + inner


def parameters(thing):
    try:
        if hasattr(inspect, "signature"):
            kinds = inspect.Parameter
            out = []
            for p in inspect.signature(thing).parameters.values():
                if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY):
                    out.append(p.name)
                elif p.kind == kinds.VAR_KEYWORD:
                    out.append("**")
            return out
        return list(inspect.getargspec(thing).args)
    except Exception:
        return None


others = {}
for each in sys.stdin.read().split():
    others.setdefault(each.partition(":")[0], []).append(each.partition(":")[2])
found = {}
for name in modules():
    try:
        __import__(name)
        module = sys.modules[name]
    except BaseException:
        found[name + ":"] = None
        continue
    shown = "builtins" if name in BUILTIN else name
    found[shown + ":"] = None
    more = others.get(shown, []) if hasattr(module, "__getattr__") else []
    for attribute in dir(module) + more:
        try:
            thing = getattr(module, attribute)
        except BaseException:
            continue
        found[shown + ":" + attribute] = parameters(thing) if callable(thing) else None
        if isinstance(thing, type) and not attribute.startswith("_"):
            for member in dir(thing):
                if not member.startswith("__") or member in ("__origin__", "__getitem__"):
                    found[shown + ":" + attribute + "." + member] = None
json.dump(found, sys.stdout)
