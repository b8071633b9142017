"""Breaks the suite of a matrix in each declared way, and says whether the tests that should notice
do.
"""

import argparse
import ast
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SUITE = Path(__file__).resolve().parents[2] / "matrices" / "tff" / "suite"
VERSION = "from importlib.metadata import version; print(version('tensorflow-federated'))"
QUIET = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}
KEYS = {"file", "old", "new", "breaks", "because", "release"}


@dataclass(frozen=True)
class Mutation:
    """One way of breaking a file of the suite, and the capabilities whose tests must then fail."""

    source: str
    file: str
    old: str
    new: str
    breaks: tuple[str, ...]
    because: str
    release: str | None = None


@dataclass(frozen=True)
class Interpreter:
    """A Python that the suite runs in, and the release of the library there."""

    path: Path
    version: str

    def fits(self, release: str | None) -> bool:
        """Return whether this is an environment of the kind that a mutation needs."""
        return release is None or (self.version + ".").startswith(release + ".")

    def order(self) -> tuple[int, ...]:
        """Return what interpreters are ordered by."""
        return tuple(int(part) for part in self.version.split(".") if part.isdigit())


def main() -> int:
    """Run the mutations and return 0 only when each is caught."""
    options = read_options()
    # Children must not ignore SIGINT: the library stops its worker by it, and waits for ever where
    # it is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    mutations = [mutation for path in options.declared for mutation in read(path)]
    tests = tests_of(options.suite)
    problems = [
        problem for mutation in mutations for problem in problems_of(mutation, options.suite, tests)
    ]
    for problem in problems:
        print("invalid  " + problem)
    if problems or options.check:
        print(f"{len(mutations)} mutations, {len(problems)} problems")
        return 1 if problems or not mutations else 0
    if not options.python:
        print("give at least one --python, or --check")
        return 2
    runner = Runner(options.suite, tests, options.limit)
    interpreters = sorted(map(interpreter, options.python), key=Interpreter.order, reverse=True)
    plan = planned(mutations, interpreters, runner)
    with ThreadPoolExecutor(options.jobs) as pool:
        said = list(pool.map(lambda one: tell(one, plan.get(one), runner), mutations))
    print(", ".join(f"{said.count(word)} {word}" for word in ("caught", "MISSED", "invalid")))
    return 0 if mutations and set(said) == {"caught"} else 1


def read_options() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("declared", nargs="+", type=Path, help="TOML files of [[mutation]] tables")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        type=Path,
        help="of an environment; may be repeated",
    )
    parser.add_argument("--suite", default=SUITE, type=Path)
    parser.add_argument(
        "--jobs", default=1, type=int, choices=(1, 2), help="mutations at the same time"
    )
    parser.add_argument("--limit", default=240, type=int, help="seconds for one run of tests")
    parser.add_argument(
        "--check", action="store_true", help="only whether the texts and capabilities are there"
    )
    return parser.parse_args()


def read(path: Path) -> list[Mutation]:
    """Return the mutations that a file declares."""
    found = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutation"]:
        if strange := set(entry) - KEYS:
            raise SystemExit(f"{path.name}: unknown keys {sorted(strange)}")
        found.append(Mutation(path.name, **{**entry, "breaks": tuple(entry["breaks"])}))
    return found


def tests_of(suite: Path) -> dict[str, str]:
    """Return the node id of the test of each capability, read from the source."""
    found = {}
    for path in sorted(suite.glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for capability in capabilities_of(node):
                    found[capability] = f"{path.name}::{node.name}"
    return found


def capabilities_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the id that a test is marked with, if it is."""
    calls = [node for node in function.decorator_list if isinstance(node, ast.Call) and node.args]
    marks = [call.args[0] for call in calls if ast.unparse(call.func) == "pytest.mark.capability"]
    return [str(mark.value) for mark in marks if isinstance(mark, ast.Constant)]


def problems_of(mutation: Mutation, suite: Path, tests: dict[str, str]) -> list[str]:
    """Return why a mutation cannot be tried."""
    where = f"{mutation.source}: {mutation.file}, {mutation.because}"
    path = suite / mutation.file
    if not path.is_file():
        return [f"{where}: no such file"]
    text = path.read_text(encoding="utf-8")
    found = [f"{where}: no test of {name}" for name in mutation.breaks if name not in tests]
    if not mutation.breaks:
        found.append(f"{where}: breaks nothing")
    if text.count(mutation.old) != 1:
        found.append(f"{where}: `old` occurs {text.count(mutation.old)} times")
    elif mutation.old == mutation.new:
        found.append(f"{where}: changes nothing")
    elif path.suffix == ".py" and not is_python(text.replace(mutation.old, mutation.new)):
        found.append(f"{where}: is no Python any more")
    return found


def is_python(text: str) -> bool:
    """Return whether a text can be parsed."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def interpreter(path: Path) -> Interpreter:
    """Return a Python together with the release that is installed there."""
    said = subprocess.run(
        [path, "-c", VERSION], stdout=subprocess.PIPE, timeout=60, check=True, text=True
    )
    return Interpreter(path, said.stdout.strip())


class Runner:
    """Runs tests of a copy of the suite."""

    def __init__(self, suite: Path, tests: dict[str, str], limit: int) -> None:
        """Remember what to copy, which test is whose, and how long one run may take."""
        self.suite, self.tests, self.limit = suite, tests, limit

    def statuses(
        self,
        python: Interpreter,
        capabilities: Iterable[str],
        mutation: Mutation | None = None,
        runs: int = 1,
    ) -> dict[str, str]:
        """Return passed, failed, skipped or unknown for each capability; the copy is mutated if so
        asked.
        """
        wanted = sorted(set(capabilities))
        with tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True) as folder:
            copy = Path(folder) / "suite"
            shutil.copytree(
                self.suite, copy, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache")
            )
            if mutation is not None:
                file = copy / mutation.file
                file.write_text(
                    file.read_text(encoding="utf-8").replace(mutation.old, mutation.new),
                    encoding="utf-8",
                )
            report = Path(folder) / "report.xml"
            nodes = sorted({self.tests[name] for name in wanted})
            self._run(python, copy, report, nodes, runs * self.limit)
            found = read_report(report)
        return {name: found.get(self.tests[name], "unknown") for name in wanted}

    def _run(
        self, python: Interpreter, copy: Path, report: Path, nodes: list[str], limit: int
    ) -> None:
        """Run tests in a process group of their own, of which nothing stays."""
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            f"--basetemp={report.parent / 'temp'}",
            f"--junitxml={report}",
        ]
        with (report.parent / "output").open("wb") as output:
            process = subprocess.Popen(
                [python.path.absolute(), "-m", "pytest", *options, *nodes],
                cwd=copy,
                env={**os.environ, **QUIET},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                print(f"time limit of {limit} s: {', '.join(nodes)}", flush=True)
            finally:
                end_group(process)


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a process and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


def read_report(path: Path) -> dict[str, str]:
    """Return what each test came to; one run several times (with parameters) failed when any of
    them did.
    """
    found: dict[str, str] = {}
    if not path.is_file():
        return found
    for case in ElementTree.parse(path).iter("testcase"):
        module = case.get("classname", "").rpartition(".")[2]
        name = f"{module}.py::{case.get('name', '').partition('[')[0]}"
        if case.find("failure") is not None or case.find("error") is not None:
            found[name] = "failed"
        else:
            found.setdefault(name, "skipped" if case.find("skipped") is not None else "passed")
    return found


def planned(
    mutations: list[Mutation], interpreters: list[Interpreter], runner: Runner
) -> dict[Mutation, tuple[Interpreter, list[str]]]:
    """Return where to try each mutation, and which of its capabilities the unmutated suite has
    there.

    The newest interpreter where all of them pass is taken; failing that, where some pass and the
    others are absent.
    """
    plan: dict[Mutation, tuple[Interpreter, list[str]]] = {}
    for python in interpreters:
        open_ones = [
            one
            for one in mutations
            if python.fits(one.release)
            and (one not in plan or len(plan[one][1]) < len(set(one.breaks)))
        ]
        wanted = {name for one in open_ones for name in one.breaks}
        if not wanted:
            continue
        print(f"unmutated in {python.version}: {len(wanted)} capabilities", flush=True)
        now = runner.statuses(python, wanted, runs=max(2, len(wanted) // 8))
        for name, status in now.items():
            if status not in ("passed", "skipped"):
                print(f"  {name} is {status} without any mutation", flush=True)
        for one in open_ones:
            passing = sorted({name for name in one.breaks if now[name] == "passed"})
            sound = all(now[name] in ("passed", "skipped") for name in one.breaks)
            if sound and len(passing) > len(plan[one][1] if one in plan else ()):
                plan[one] = python, passing
    return plan


def tell(mutation: Mutation, place: tuple[Interpreter, list[str]] | None, runner: Runner) -> str:
    """Try one mutation, and print and return whether it is caught."""
    if place is None:
        word, remark = "invalid", "its tests do not pass unmutated in any of the environments given"
    else:
        python, names = place
        after = runner.statuses(python, names, mutation)
        word = verdict(after.values())
        remark = (
            python.version + ": " + ", ".join(f"{name} {status}" for name, status in after.items())
        )
    print(f"{word:<7}  {mutation.file}: {mutation.because} ({remark})", flush=True)
    return word


def verdict(statuses: Iterable[str]) -> str:
    """Return caught when all tests failed, MISSED when one passed, invalid when one was not heard
    of.
    """
    seen = set(statuses)
    if seen & {"passed", "skipped"}:
        return "MISSED"
    return "caught" if seen == {"failed"} else "invalid"


if __name__ == "__main__":
    sys.exit(main())
