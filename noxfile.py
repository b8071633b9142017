# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Sessions: `nox -s matrix` is the main job, `nox -s tests` the tests, `nox -s "cell(...)"` one
cell.

The script block names all that this file imports, so a plain `nox` runs it as it is, offline, and
lists it at once.
"""

import hashlib
import os
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["matrix"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_external_run = True

HERE = Path(__file__).parent
# How often a push is tried again after somebody else's came first: two runs of one repository are
# rare.
PUSHES = 5
LOCKED = sorted(
    (path.parent.parent.name, path.stem) for path in HERE.glob("matrices/*/locks/*.txt")
)


def groups(*names: str) -> list[str]:
    """Return the requirements of the named dependency groups."""
    return list(nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), *names))


def compat(session: nox.Session) -> str:
    """Return the command `compat`, from an environment of its own that is made again when
    pyproject.toml changes.
    """
    place = HERE / ".nox" / "compat"
    stamp, wanted = (
        place / "stamp",
        hashlib.sha256((HERE / "pyproject.toml").read_bytes()).hexdigest(),
    )
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        session.log("making the environment of compat itself; this is needed once")
        session.run(sys.executable, "-m", "venv", "--clear", str(place), external=True)
        session.run(
            str(place / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "-e",
            str(HERE),
            external=True,
        )
        stamp.write_text(wanted, encoding="utf-8")
    return str(place / "bin" / "compat")


@nox.session(venv_backend="none")
def matrix(session: nox.Session) -> None:
    """Plan a matrix on the real index and run its smoke cells: nox -s matrix [-- MATRIX [options
    of compat run]].
    """
    name, *options = session.posargs or ["tff"]
    command = compat(session)
    session.run(command, "plan", name, external=True)
    session.run(
        command, "run", name, *(options or ["--quick"]), external=True, success_codes=[0, 1]
    )


@nox.session(venv_backend="none")
@nox.parametrize("matrix,cell", [nox.param(matrix, cell, id=cell) for matrix, cell in LOCKED])
def cell(session: nox.Session, matrix: str, cell: str) -> None:
    """Install one locked cell and run its suite; it succeeds when the cell passes.

    Options go to `compat run`.
    """
    session.run(compat(session), "run", matrix, cell, *session.posargs, external=True)


@nox.session(venv_backend="none")
def site(session: nox.Session) -> None:
    """Publish the site into public/ and show it until Ctrl+C: nox -s site [-- --no-serve]; in CI it
    only publishes.
    """
    options = [option for option in session.posargs if option != "--no-serve"]
    verb = "publish" if "CI" in os.environ or "--no-serve" in session.posargs else "serve"
    session.run(compat(session), verb, "--out", str(HERE / "public"), *options, external=True)


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests but the benchmarks; those on the real index are skipped where it cannot be
    reached.
    """
    session.install("-e", ".", *groups("test"))
    session.run("pytest", "-n", "2", "-m", "not benchmark", *session.posargs)


@nox.session
def hard(session: nox.Session) -> None:
    """Repeat what the tests try a few times: kills, orphans, generated declarations, hostile cells;
    about an hour.
    """
    session.install("-e", ".", *groups("test"), "pytest-repeat>=0.9.4")
    often = {"COMPAT_KILLS": "1000", "COMPAT_EXAMPLES": "300"}
    session.run(
        "pytest",
        "-n",
        "2",
        "tests/results/test_writers.py",
        "tests/cli/test_generated.py",
        env=often,
    )
    session.run("pytest", "-n", "2", "--count", "20", "tests/run/test_supervise_orphans.py")
    session.run(
        "pytest",
        "-n",
        "2",
        "--count",
        "3",
        "tests/run/test_hostile_cells.py",
        "tests/zoo",
        *session.posargs,
    )


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
    session.run(
        "check-jsonschema", "--builtin-schema", "vendor.dependabot", ".github/dependabot.yml"
    )


@nox.session(venv_backend="none")
def requirements(session: nox.Session) -> None:
    """Renew .ci/requirements.txt, the pinned and hashed needs of compat that the workflows
    install.
    """
    output = (".ci/requirements.txt", "--no-header", "--quiet", "--upgrade", *session.posargs)
    given = (
        "pyproject.toml",
        "--group",
        "build",
        "--universal",
        "--python-version",
        "3.10",
        "--generate-hashes",
    )
    session.run("uv", "pip", "compile", *given, "--output-file", *output, external=True)


@nox.session(venv_backend="none")
def interpreters(session: nox.Session) -> None:
    """Get the interpreters that this machine lacks: nox -s interpreters -- 3.8 3.11."""
    for series in session.posargs:
        found = session.run(
            "uv", "python", "find", series, external=True, silent=True, success_codes=[0, 2]
        )
        if not Path(str(found).strip()).is_file():
            # One that cannot be had is told by `compat run`, which runs the other cells.
            session.run("uv", "python", "install", series, external=True, success_codes=[0, 1, 2])


@nox.session(venv_backend="none")
def keep(session: nox.Session) -> None:
    """Commit what was learnt of a matrix (catalogue, locks, records), and push it: nox -s keep --
    MATRIX [BRANCH].

    What others pushed meanwhile stays. Where the branch takes no push, as a protected one, or the
    change does not go together with theirs, it becomes a branch of its own and a pull request.
    """
    name, *branch = session.posargs
    places = [f"matrices/{name}/{place}" for place in ("catalogue.json", "locks", "records")]
    there = [place for place in places if (HERE / place).exists()]
    session.run("git", "add", "--", *there, external=True)
    if not session.run("git", "diff", "--cached", "--name-only", external=True, silent=True):
        session.log("there is nothing new to keep")
        return
    session.run(
        "git",
        "commit",
        "--quiet",
        "--message",
        f"What was learnt of {name}",
        "--",
        *there,
        external=True,
    )
    if branch and not pushed(session, branch[0]):
        offer(session, name, branch[0])


def pushed(session: nox.Session, branch: str) -> bool:
    """Push the last commit onto whatever the branch has by then, and return whether that could be
    done.
    """
    for _ in range(PUSHES):
        there = tip(session, branch)
        try:
            session.run("git", "rebase", "--quiet", there, external=True)
        except CommandFailed:
            session.run("git", "rebase", "--abort", external=True)
            session.log(f"this does not go together with what {branch} has now")
            return False
        try:
            session.run("git", "push", "--quiet", "origin", f"HEAD:{branch}", external=True)
            return True
        except CommandFailed:
            if tip(session, branch) == there:
                session.log(f"nobody pushed meanwhile, so {branch} itself takes no push")
                return False
    session.log(f"somebody else was faster {PUSHES} times")
    return False


def tip(session: nox.Session, branch: str) -> str:
    """Return the commit that the branch has at the origin now."""
    session.run("git", "fetch", "--quiet", "origin", branch, external=True)
    return str(session.run("git", "rev-parse", "FETCH_HEAD", external=True, silent=True)).strip()


def offer(session: nox.Session, name: str, base: str) -> None:
    """Push the last commit to a branch of its own, so that it replaces none, and open a pull
    request from that.
    """
    commit = str(
        session.run("git", "rev-parse", "--short=12", "HEAD", external=True, silent=True)
    ).strip()
    head, title = f"compat/kept-{name}-{commit}", f"What was learnt of {name}"
    session.run("git", "push", "--quiet", "origin", f"HEAD:refs/heads/{head}", external=True)
    body = (
        f"`{base}` did not take this push. Nothing of it is known to the next run before it is"
        " merged."
    )
    try:
        words = ("--base", base, "--head", head, "--title", title, "--body", body)
        session.run("gh", "pr", "create", *words, external=True)
    except CommandFailed:
        session.error(
            f"{head} is pushed, and no pull request could be opened: open one from it to {base}"
        )


@nox.session(venv_backend="none")
def watchdog(session: nox.Session) -> None:
    """Fail when a scheduled workflow is off, or has not succeeded for so many days: nox -s watchdog
    -- matrix.yml 3.
    """
    workflow, days = session.posargs
    place = f"repos/{{owner}}/{{repo}}/actions/workflows/{workflow}"
    state = str(
        session.run("gh", "api", place, "--jq", ".state", external=True, silent=True)
    ).strip()
    asked = (
        "gh",
        "api",
        f"{place}/runs?status=success&per_page=1",
        "--jq",
        ".workflow_runs[0].created_at // empty",
    )
    last = str(session.run(*asked, external=True, silent=True) or "").strip()
    age = (
        datetime.now(timezone.utc) - datetime.fromisoformat(last.replace("Z", "+00:00"))
        if last
        else None
    )
    if state != "active":
        session.error(
            f"{workflow} is {state}; `gh workflow enable {workflow}` switches it on again"
        )
    if age is None or age > timedelta(days=int(days)):
        session.error(
            f"{workflow} succeeded last on {last or 'no day'}, which is more than {days} days ago"
        )
    session.log(f"{workflow} succeeded on {last}")
