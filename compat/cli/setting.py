"""Where a command stands: the matrices' folder, the index, the lockers, the clock and the
environment.
"""

import datetime
import difflib
import os
import sys
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import platformdirs
import typer
from packaging.version import Version

from compat import pipeline
from compat.cli.output import note
from compat.declare.load import Declared
from compat.declare.text import minor_series
from compat.errors import UsageError, reason
from compat.index.interpreters import find
from compat.index.pypi import PyPISource
from compat.index.release import Catalogue
from compat.index.settings import IndexSettings, settings
from compat.plan.feasible import Feasibility
from compat.results.redact import redacted

_OTHER_CACHE = "COMPAT_CACHE_DIR=FOLDER names a folder that can be written"
LockerName = Literal["uv", "pip-tools"]
MatrixName = Annotated[
    str, typer.Argument(metavar="MATRIX", help="A folder of matrices/, for example tff.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Root = Annotated[
    Path | None,
    typer.Option("--root", help="The folder that holds matrices/; else looked for upwards."),
]
IndexUrl = Annotated[
    str | None, typer.Option("--index-url", help="The package index; else as pip is configured.")
]
ExtraIndexUrl = Annotated[
    list[str] | None,
    typer.Option(
        "--extra-index-url", help="A further index, asked before the main one; repeatable."
    ),
]
Refresh = Annotated[
    bool, typer.Option("--refresh", help="Ask the index again, whatever the cache holds.")
]


def today() -> datetime.date:
    """Return the day, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc).date()


def now() -> datetime.datetime:
    """Return the moment, in UTC, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


def environ() -> Mapping[str, str]:
    """Return the environment."""
    return os.environ


def run_url() -> str:
    """Return the address of the GitHub Actions run that this is a part of; empty elsewhere."""
    server, repository, run = (
        environ().get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")
    )
    is_run = server.startswith("https://") and repository and run.isdecimal()
    return f"{server}/{repository}/actions/runs/{run}" if is_run else ""


def cache_folder() -> Path:
    """Return where compat keeps what it can fetch again; COMPAT_CACHE_DIR moves it.

    Raises UsageError for a user without a home folder (no HOME, and no entry in the system's list
    of users).
    """
    named = environ().get("COMPAT_CACHE_DIR")
    if named:
        return Path(named)
    try:
        return platformdirs.user_cache_path("compat-matrix", appauthor=False)
    except RuntimeError:
        message = "this user has no home folder, in which compat would keep its cache"
        raise UsageError.of(message, hint=_OTHER_CACHE) from None


def sandbox_folder() -> Path:
    """Return where cells are made, and the cache of uv that they are linked from: one file system,
    one mount.

    Raises UsageError where it cannot be made or written: nothing can be installed or locked then.
    """
    folder = cache_folder() / "sandbox"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageError.of(
            f"the cache folder cannot be made: {reason(fault)}", hint=_OTHER_CACHE
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError.of("the cache folder cannot be written", hint=_OTHER_CACHE)
    return folder


@cache
def machine_places() -> tuple[str, ...]:
    """Return the folders that tell this machine from others: what stands at its root, and where
    compat works.
    """
    top = [path for path in Path("/").iterdir() if path.is_dir()]
    named = [
        Path(value) for name in ("TMPDIR", "TEMP", "TMP", "HOME") if (value := environ().get(name))
    ]
    own = [cache_folder(), Path.cwd(), Path(sys.prefix), Path(sys.base_prefix), *named]
    return tuple(sorted({str(path) for path in (*top, *own, *(path.resolve() for path in own))}))


def without_places(text: str) -> str:
    """Return the text as it may be published from this machine."""
    return redacted(text, places=machine_places())


def matrices_folder(root: Path | None) -> Path:
    """Return the folder `matrices/` under `root`, or under the nearest folder upwards from here
    that has one.
    """
    starts = [root] if root is not None else [Path.cwd(), *Path.cwd().parents]
    for start in starts:
        if (start / "matrices").is_dir():
            return start / "matrices"
    where = f"in {root}" if root is not None else "here or in any folder above"
    raise UsageError.of(
        f"no folder matrices/ {where}",
        hint="run compat inside the repository, or name it with --root",
    )


def matrix_names(folder: Path) -> tuple[str, ...]:
    """Return the matrices that are declared in the folder."""
    return tuple(sorted(path.parent.name for path in folder.glob("*/matrix.toml")))


class Setting:
    """Everything that the commands about one matrix share; each part is made when it is first
    needed.
    """

    def __init__(
        self,
        name: str,
        root: Path | None,
        index_url: str | None = None,
        extra_index_url: list[str] | None = None,
        refresh: bool = False,
    ) -> None:
        """Take the matrix's name and what the command line says about places."""
        matrices = matrices_folder(root)
        known = matrix_names(matrices)
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else ""
            raise UsageError.of(
                f"no matrix {name!r}; declared here: {', '.join(known) or 'none'}", hint=hint
            )
        self.folder = matrices / name
        self._index_url = index_url
        self._extra = tuple(extra_index_url or ())
        self._refresh = refresh

    @cached_property
    def ask(self) -> Declared:
        """The declarations."""
        return pipeline.declared(self.folder, today())

    @cached_property
    def index(self) -> IndexSettings:
        """Where the package index is."""
        told = settings(index_url=self._index_url, extra_index_urls=self._extra)
        return msgspec.structs.replace(told, merged=self.ask.matrix.indexes == "all")

    @cached_property
    def source(self) -> PyPISource:
        """The package index."""
        return PyPISource(self.index, cache_folder(), refresh=self._refresh)

    @cached_property
    def catalogue(self) -> Catalogue:
        """What the index holds of the matrix's packages; a stale answer is told on stderr.

        What the subject pins is taken from the kept catalogue where there is one.
        """
        return self._told(
            pipeline.discovered(
                self.ask, self.source, pipeline.kept_catalogue(self.folder, self.ask.matrix)
            )
        )

    @cached_property
    def anew(self) -> Catalogue:
        """What the index holds of the matrix's packages and of what the subject pins."""
        return self._told(pipeline.discovered(self.ask, self.source))

    def _told(self, catalogue: Catalogue) -> Catalogue:
        for package in catalogue.packages:
            if package.stale_since is not None:
                when = f"{package.stale_since:%Y-%m-%d %H:%M} UTC"
                note(
                    f"compat: the index did not answer for {package.name}; using its page of {when}"
                )
            for artifact in (
                artifact for release in package.releases for artifact in release.artifacts
            ):
                if artifact.set_aside:
                    note(f"compat: a file is set aside: {artifact.set_aside}")
        return catalogue

    @cached_property
    def kept(self) -> Catalogue:
        """The catalogue that is kept beside the matrix; asked of the index where none is."""
        kept = pipeline.kept_catalogue(self.folder, self.ask.matrix)
        if kept is None:
            note(
                f"compat: no kept catalogue, asking the index; compat discover {self.folder.name}"
                " --write keeps one"
            )
        return self.catalogue if kept is None else kept

    @cached_property
    def facts(self) -> Feasibility:
        """What the catalogue and the rules say about cells."""
        return Feasibility(self.ask.matrix, self.catalogue)


def interpreter(patch: Version) -> str | None:
    """Return the path of an interpreter of that version's series on this machine."""
    found = find(Version(minor_series(patch)), environ(), cache_folder() / "interpreters")
    return None if found is None else found.path
