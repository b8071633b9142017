"""Change compat/ in ways drawn at random, and say whether tests fail.

    pytest -m "not (real_index or browser or slow or benchmark)" --cov=compat --cov-context=test
    python tools/mutants.py --seed 7 --count 60 --within 300 --coverage .coverage

Each change is made in a copy of the checkout, so that the checkout stays as it is. With --coverage
(pytest-cov writes it) the tests run that execute the changed line, without it the quick tests of
its room; then those of other rooms may still catch what survives. A line that only other processes
execute counts as covered by no test.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
OTHER = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
}


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield each node that can be changed inside a function, and how."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    inner = {id(n): n for function in functions for s in function.body for n in ast.walk(s)}
    for node in inner.values():
        match node:
            case ast.Compare(ops=[op]) if type(op) in OTHER:
                yield node, "operator"
            case ast.BoolOp() | ast.BinOp() if type(node.op) in OTHER:
                yield node, "operator"
            case ast.Constant(value=bool() | int()):
                yield node, "constant"
            case ast.If() | ast.IfExp():
                yield node, "condition"
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue():
                yield node, "statement"


def changed(source: str, node: ast.AST, kind: str) -> str:
    """Return the source with the node changed; everything else stays as it is written."""
    before = ast.unparse(node)
    match node:
        case ast.Compare():
            node.ops = [OTHER[type(node.ops[0])]()]
        case ast.BoolOp() | ast.BinOp():
            node.op = OTHER[type(node.op)]()
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant():
            node.value += 1
        case ast.If() | ast.IfExp():
            node = node.test
            before = ast.unparse(node)
    now = ast.unparse(node)
    usual = now if kind == "constant" else f"({now})"
    after = {"condition": f"(not ({before}))", "statement": "pass"}.get(kind, usual)
    lines = source.encode().splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno - 1
    head, tail = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    return b"".join([*lines[:first], head, after.encode(), tail, *lines[last + 1 :]]).decode()


def tests_of_room(root: Path, room: str) -> list[str]:
    """The folder of a room's tests, or all tests that lie in no room."""
    folder = root / "tests" / room
    return [str(folder)] if folder.is_dir() else [str(p) for p in root.glob("tests/test_*.py")]


def tests_of_lines(measured: object, name: Path, first: int, last: int) -> list[str]:
    """The tests that execute one of these lines of a file, by what coverage measured."""
    [path] = [p for p in measured.measured_files() if p.endswith(f"/{name}")] or [""]
    by_line = measured.contexts_by_lineno(path)
    contexts = {one for line in range(first, last + 1) for one in by_line.get(line, ())}
    # Of a parametrized test all cases run: an identifier may hold any character.
    return sorted({one.partition("|")[0].partition("[")[0] for one in contexts if one})


def is_caught(root: Path, tests: list[str], within: int) -> str:
    """Run tests until one fails."""
    asked = root.parent / "tests.txt"
    asked.write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"@{asked}"]
    command += ["-m", "not (real_index or browser or slow or benchmark)"]
    environ = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(
            command, cwd=root, env=environ, timeout=within, check=False, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return "no answer in time"
    # 3 and 4: what all tests import fails already. 5: no test was chosen.
    return {0: "SURVIVED", 5: "no answer"}.get(ended.returncode, "caught")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--within", type=int, default=300, help="seconds for each")
    parser.add_argument("--rooms", nargs="*", help="of what is drawn, only what lies in these")
    parser.add_argument("--coverage", type=Path, help="with contexts, of the quick tests")
    asked = parser.parse_args()
    if asked.coverage:
        from coverage import CoverageData

        measured = CoverageData(str(asked.coverage))
        measured.read()
    print(f"seed {asked.seed}", flush=True)
    files = sorted((HERE / "compat").rglob("*.py"))
    found = [
        (path, number)
        for path in files
        for number, _ in enumerate(places(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "checkout"
        shutil.copytree(
            HERE, root, ignore=shutil.ignore_patterns(".git", ".venv", ".nox", "__pycache__")
        )
        tally: dict[str, int] = {}
        unchanged: dict[str, str] = {}
        drawn = random.Random(asked.seed).sample(found, asked.count)
        for path, number in drawn:
            room = path.relative_to(HERE / "compat").parts[0].removesuffix(".py")
            if asked.rooms and room not in asked.rooms:
                continue
            source = path.read_text(encoding="utf-8")
            node, kind = list(places(ast.parse(source)))[number]
            line, words = node.lineno, ast.unparse(node).partition("\n")[0][:60]
            name = path.relative_to(HERE)
            if asked.coverage:
                tests, is_sound = tests_of_lines(measured, name, line, node.end_lineno), True
            else:
                tests = tests_of_room(root, room)
                if room not in unchanged:
                    unchanged[room] = is_caught(root, tests, asked.within)
                # Tests that fail without a change say nothing of one.
                is_sound = unchanged[room] == "SURVIVED"
            (root / name).write_text(changed(source, node, kind), encoding="utf-8")
            said = "no answer" if not is_sound else "NO TEST"
            if is_sound and tests:
                said = is_caught(root, tests, asked.within)
            (root / name).write_text(source, encoding="utf-8")
            tally[said] = tally.get(said, 0) + 1
            print(f"{said}: {kind} in {name}:{line}: {words} ({len(tests)} tests)", flush=True)
    print(tally)


if __name__ == "__main__":
    main()
