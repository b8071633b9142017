# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Sessions: `nox` shows and proves the first matrix, `nox -s tests` tests, `nox -l` lists them all.

The script block names all that this file imports, so it runs offline and lists them at once.
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["matrix"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_external_run = True

HERE = Path(__file__).parent
EXTRAS = ".[site,sources]"
LOCKS = sorted((path.parts[-3], path.stem) for path in HERE.glob("matrices/*/locks/*.txt"))


def groups(*names: str) -> list[str]:
    """Return the requirements of the named dependency groups."""
    return list(nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), *names))


def compat(session: nox.Session, extra: str = "") -> str:
    """Return the command `compat`, from an environment that pyproject.toml's changes renew."""
    environment = HERE / ".nox" / "compat"
    stamp = environment / "stamp"
    digest = hashlib.sha256((HERE / "pyproject.toml").read_bytes()).hexdigest()
    pip = (str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet")
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != digest:
        session.log("making the environment of compat itself; this is needed once")
        session.run(sys.executable, "-m", "venv", "--clear", str(environment), external=True)
        session.run(*pip, "-e", str(HERE), external=True)
        stamp.write_text(digest, encoding="utf-8")
    if extra and not (environment / extra).exists():
        session.run(*pip, "-e", f"{HERE}[{extra}]", external=True)
        (environment / extra).touch()
    return str(environment / "bin" / "compat")


@nox.session(venv_backend="none")
def matrix(session: nox.Session) -> None:
    """Show what a matrix recommends, and prove it here: [-- MATRIX [--record] [OPTION of run...]].

    The smoke cells run the core of the suite, as many at once as cores and memory allow; `--tier
    full` runs all of it. Their records and locks stay in a copy of matrices/ unless --record asks
    for them here.
    """
    name, *options = session.posargs or ["tff"]
    command, root = compat(session), HERE
    session.run(command, "advise", name, external=True, success_codes=[0, 1])
    if "--record" in options:
        options.remove("--record")
    else:
        root = HERE / ".nox" / "visit"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(HERE / "matrices", root / "matrices")
    # Of an option that stands twice the last counts, so what is asked for comes last.
    usual = ["--tier", "smoke", "--root", str(root)]
    if "--due" in options:
        options.remove("--due")
    elif not options or options[0].startswith("-"):
        usual.append("--quick")
    session.run(command, "run", name, *usual, *options, external=True, success_codes=[0, 1])


@nox.session(venv_backend="none")
@nox.parametrize("matrix,cell", [nox.param(*lock, id=lock[1]) for lock in LOCKS])
def cell(session: nox.Session, matrix: str, cell: str) -> None:
    """Install one locked cell and run its suite; it succeeds when the cell passes."""
    session.run(compat(session), "run", matrix, cell, *session.posargs, external=True)


@nox.session(venv_backend="none")
def site(session: nox.Session) -> None:
    """Publish the site into public/ and show it; in CI, or with -- --no-serve, only publish."""
    options = [option for option in session.posargs if option != "--no-serve"]
    verb = "publish" if "CI" in os.environ or "--no-serve" in session.posargs else "serve"
    command = compat(session, "site")
    session.run(command, verb, "--out", str(HERE / "public"), *options, external=True)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the quick tests; `-- long` runs the others and all examples of each property, `-- all`
    both.

    The others ask the real index, open browsers, wait for time limits or play whole workflows.
    More workers than the two processors of a small machine: some tests only wait.
    """
    session.install("-e", EXTRAS, *groups("test"))
    others = "real_index or browser or slow"
    # Hypothesis marks each property as its own.
    chosen = {"long": f"({others} or hypothesis) and not benchmark", "all": "not benchmark"}
    marks = chosen.get(session.posargs[0] if session.posargs else "")
    part = ["-n", "3", "-m", f"not ({others}) and not benchmark", "--dist", "worksteal"]
    if marks is not None:
        # The tests of a file share what takes minutes to make; tests/conftest.py orders the files.
        part = ["-n", "6", "-m", marks, "--dist", "loadfile", "--no-loadscope-reorder"]
        part.append("--hypothesis-profile=all")
    # Hundreds of tests start Python, which takes twice the time where nothing keeps its bytecode.
    bytecode = {"PYTHONDONTWRITEBYTECODE": ""}
    session.run("pytest", *part, *session.posargs[marks is not None :], env=bytecode)


@nox.session
def hard(session: nox.Session) -> None:
    """Repeat kills, orphans and hostile cells, and try every real library; 40 to 120 minutes."""
    session.install("-e", EXTRAS, *groups("test"), "pytest-repeat>=0.9.4")
    often, pytest = {"COMPAT_KILLS": "1000", "COMPAT_EXAMPLES": "300"}, ("pytest", "-n", "2")
    session.run(
        *pytest,
        *("tests/results/test_writers.py", "tests/cli/test_generated.py"),
        "--hypothesis-profile=all",
        env=often,
    )
    session.run(*pytest, "--count", "20", "tests/run/test_supervise_orphans.py")
    hostile = ("tests/run/test_hostile_cells.py", "tests/run/test_hostile_archives.py")
    session.run(*pytest, "--count", "3", *hostile, *session.posargs)
    session.run(*pytest, "tests/zoo", *session.posargs, env={"COMPAT_LEVELS": "L3 L2 L1"})
    real = ("tests/decays", "tests/strangers/test_floors_of_real_axes.py")
    session.run("pytest", *real, *session.posargs, env={"COMPAT_REAL": "all"})


@nox.session
def bench(session: nox.Session) -> None:
    """Measure compat beside other tools: [-- PART or option...]; `-- tests` asserts the bounds,
    `-- public NAME DATA` is a public benchmark: bounds, problems, floors, locks, pinned, ..."""
    session.install("-e", EXTRAS, *groups("test"))
    if session.posargs[:1] == ["tests"]:
        session.run("pytest", "-m", "benchmark", "-s", *session.posargs[1:])
    elif session.posargs[:1] == ["public"]:
        scripts = {path.stem[7:]: str(path) for path in HERE.glob("tests/benchmarks/public_*.py")}
        name, *words = [*session.posargs[1:], ""]
        if name not in scripts:
            session.error(f"-- public NAME DATA: {', '.join(sorted(scripts))}")
        session.run("python", scripts[name], *filter(None, words))
    else:
        session.run("python", "tests/benchmarks/side_by_side.py", *session.posargs)


@nox.session(venv_backend="none")
def distributions(session: nox.Session) -> None:
    """Build the sdist and the wheel into dist/ with the pinned tools: [-- TAG of the version]."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    if session.posargs and session.posargs[0] != f"v{project['version']}":
        session.error(f"{session.posargs[0]} is not the tag of version {project['version']}")
    if session.posargs and "/OWNER/" in project.get("urls", {}).get("Source", ""):
        session.error("put the owner of the repository into project.urls of pyproject.toml")
    session.run(sys.executable, "-m", "build", "--no-isolation", external=True)


@nox.session
def check(session: nox.Session) -> None:
    """Lint, format and types; the declarations and their schemas; the workflows."""
    session.install("-e", EXTRAS, *groups("check"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("compat", "check")
    session.run("compat", "matrix", "schema")
    example = "tests/workflows/example"
    session.run("zizmor", "--quiet", "--offline", "--pedantic", ".github", "action.yml", example)
    for schema, *patterns in (
        ("github-workflows", ".github/workflows/*.yml", f"{example}/.github/workflows/*.yml"),
        ("github-actions", ".github/actions/*/action.yml", "action.yml"),
        ("dependabot", ".github/dependabot.yml"),
        ("citation-file-format", "CITATION.cff"),
    ):
        paths = sorted(str(path) for pattern in patterns for path in HERE.glob(pattern))
        session.run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *paths)
    session.run("pre-commit", "validate-manifest", ".pre-commit-hooks.yaml")
    session.run("pre-commit", "validate-config", f"{example}/.pre-commit-config.yaml")


@nox.session(venv_backend="none")
def requirements(session: nox.Session) -> None:
    """Renew .ci/requirements.txt, the pinned and hashed dependencies that workflows install."""
    output = (".ci/requirements.txt", "--no-header", "--quiet", "--upgrade", *session.posargs)
    inputs = ("pyproject.toml", "--group", "build", "--group", "sessions")
    extras = ("--extra", "site", "--extra", "sources")
    form = (*extras, "--universal", "--python-version", "3.10", "--generate-hashes")
    session.run("uv", "pip", "compile", *inputs, *form, "--output-file", *output, external=True)


@nox.session(venv_backend="none")
def interpreters(session: nox.Session) -> None:
    """Install the interpreters that this machine lacks: nox -s interpreters -- 3.8 3.11, or those
    of a matrix by its matrix.toml.
    """
    uv = ("uv", "python")
    wanted = []
    for word in session.posargs:
        if word.endswith(".toml"):
            axes = nox.project.load_toml(word)["axes"]
            releases = (
                r for axis in axes if axis["kind"] == "interpreter" for r in axis["releases"]
            )
            wanted += [".".join(str(release).split(".")[:2]) for release in releases]
        else:
            wanted.append(word)
    for series in dict.fromkeys(wanted):
        path = session.run(*uv, "find", series, external=True, silent=True, success_codes=[0, 2])
        if not Path(str(path).strip()).is_file():
            # `compat run` names one that cannot be installed, and runs the other cells.
            session.run(*uv, "install", series, external=True, success_codes=[0, 1, 2])
