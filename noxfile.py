# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Sessions: `nox -s matrix` is the main job, `nox -s tests` the tests, `nox -s "cell(...)"` one cell.

The script block names all that this file imports, so a plain `nox` runs it as it is, offline, and lists it at once.
"""

import hashlib
import os
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["matrix"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_external_run = True

HERE = Path(__file__).parent
LOCKED = sorted((path.parent.parent.name, path.stem) for path in HERE.glob("matrices/*/locks/*.txt"))


def groups(*names: str) -> list[str]:
    """Return the requirements of the named dependency groups."""
    return list(nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), *names))


def compat(session: nox.Session) -> str:
    """Return the command `compat`, from an environment of its own that is made again when pyproject.toml changes."""
    place = HERE / ".nox" / "compat"
    stamp, wanted = place / "stamp", hashlib.sha256((HERE / "pyproject.toml").read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        session.log("making the environment of compat itself; this is needed once")
        session.run(sys.executable, "-m", "venv", "--clear", str(place), external=True)
        session.run(str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "-e", str(HERE), external=True)
        stamp.write_text(wanted, encoding="utf-8")
    return str(place / "bin" / "compat")


@nox.session(venv_backend="none")
def matrix(session: nox.Session) -> None:
    """Plan a matrix on the real index and run its telling cells: nox -s matrix [-- MATRIX [options of compat run]]."""
    name, *options = session.posargs or ["tff"]
    command = compat(session)
    session.run(command, "plan", name, external=True)
    session.run(command, "run", name, *(options or ["--quick"]), external=True, success_codes=[0, 1])


@nox.session(venv_backend="none")
@nox.parametrize("matrix,cell", [nox.param(matrix, cell, id=cell) for matrix, cell in LOCKED])
def cell(session: nox.Session, matrix: str, cell: str) -> None:
    """Install one locked cell and run its suite; it succeeds when the cell passes. Options go to `compat run`."""
    session.run(compat(session), "run", matrix, cell, *session.posargs, external=True)


@nox.session(venv_backend="none")
def site(session: nox.Session) -> None:
    """Publish the site into public/ and show it until Ctrl+C: nox -s site [-- --no-serve]; in CI it only publishes."""
    options = [option for option in session.posargs if option != "--no-serve"]
    verb = "publish" if "CI" in os.environ or "--no-serve" in session.posargs else "serve"
    session.run(compat(session), verb, "--out", str(HERE / "public"), *options, external=True)


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests but the benchmarks; those on the real index are skipped where it cannot be reached."""
    session.install("-e", ".", *groups("test"))
    session.run("pytest", "-n", "2", "-m", "not benchmark", *session.posargs)


@nox.session
def hard(session: nox.Session) -> None:
    """Repeat what the tests try a few times: kills, orphans, generated declarations, hostile cells; about an hour."""
    session.install("-e", ".", *groups("test"), "pytest-repeat>=0.9.4")
    often = {"COMPAT_KILLS": "1000", "COMPAT_EXAMPLES": "300"}
    session.run("pytest", "-n", "2", "tests/results/test_writers.py", "tests/cli/test_generated.py", env=often)
    session.run("pytest", "-n", "2", "--count", "20", "tests/run/test_supervise_orphans.py")
    session.run("pytest", "-n", "2", "--count", "3", "tests/run/test_hostile_cells.py", "tests/zoo", *session.posargs)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Measure speed and memory, side by side with the plain way."""
    session.install("-e", ".", *groups("test"))
    session.run("pytest", "-m", "benchmark", "-s", *session.posargs)


@nox.session
def check(session: nox.Session) -> None:
    """Lint, format and types, and the declarations and their schemas."""
    session.install("-e", ".", *groups("check"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("compat", "check")
    session.run("compat", "schema")
    session.run("zizmor", "--quiet", "--offline", "--pedantic", ".github")
    workflows = sorted(str(path) for path in HERE.glob(".github/workflows/*.yml"))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    actions = sorted(str(path) for path in HERE.glob(".github/actions/*/action.yml"))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-actions", *actions)
    session.run("check-jsonschema", "--builtin-schema", "vendor.dependabot", ".github/dependabot.yml")


@nox.session(venv_backend="none")
def requirements(session: nox.Session) -> None:
    """Renew .ci/requirements.txt, the pinned and hashed needs of compat that the workflows install."""
    output = (".ci/requirements.txt", "--no-header", "--quiet", "--upgrade", *session.posargs)
    needs = ("pyproject.toml", "--group", "build", "--group", "sessions")
    given = (*needs, "--universal", "--python-version", "3.10", "--generate-hashes")
    session.run("uv", "pip", "compile", *given, "--output-file", *output, external=True)


@nox.session(venv_backend="none")
def interpreters(session: nox.Session) -> None:
    """Get the interpreters that this machine lacks: nox -s interpreters -- 3.8 3.11."""
    for series in session.posargs:
        found = session.run("uv", "python", "find", series, external=True, silent=True, success_codes=[0, 2])
        if not Path(str(found).strip()).is_file():
            # One that cannot be had is told by `compat run`, which runs the other cells.
            session.run("uv", "python", "install", series, external=True, success_codes=[0, 1, 2])
