# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Sessions: `nox -s matrix` is the main job, `nox -s tests` the tests; `nox -l` lists the rest."""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["matrix"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_external_run = True


def groups(*names: str) -> list[str]:
    """Return the requirements of the named dependency groups."""
    return list(nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), *names))


@nox.session
def matrix(session: nox.Session) -> None:
    """Plan a matrix on the real index and check its locks: nox -s matrix [-- MATRIX]."""
    session.install("-e", ".")
    name = session.posargs[0] if session.posargs else "tff"
    session.run("compat", "plan", name)
    session.run("compat", "lock", name, "--check", success_codes=[0, 1])


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests but the benchmarks; those on the real index are skipped where it cannot be reached."""
    session.install("-e", ".", *groups("test"))
    session.run("pytest", "-n", "2", "-m", "not benchmark", *session.posargs)


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
