"""The pip-tools locker: `pip-compile` under the cell's own interpreter."""

import datetime
import html
import tempfile
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from uv import find_uv_bin

from compat.declare.parsing import minor_series
from compat.errors import IndexUnreachable, NoPage, ToolFailed
from compat.index.release import ReleaseSource, release_of, releases_of
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Inputs, Lock, Pin, Refusal, parse_exact
from compat.lock.resolvers import last_words, refusal_of_pip
from compat.lock.sources import locked_in_layers
from compat.lock.uv import FindPython, run_tool
from compat.loopback import Answering, Loopback
from compat.plan.platform import build_of, python_remedy


class IndexView(Loopback):
    """A Simple index (PEP 503) over a ReleaseSource, without files after each package's date.

    pip has no dates for the interpreters that we support, so the index applies them. Use it as a
    context. `hidden` names the packages that lost files; `unreachable` holds the first error other
    than a missing page.
    """

    def __init__(
        self, source: ReleaseSource, until: Callable[[str], datetime.datetime | None]
    ) -> None:
        self._source = source
        self._until = until
        self.hidden: set[str] = set()
        self.unreachable: IndexUnreachable | None = None
        view = self

        class Answer(Answering):
            """One request."""

            def do_GET(self) -> None:
                status, text = view.page(self.path.strip("/").rpartition("/")[2])
                self.answer(status, "text/html; charset=utf-8", text.encode())

        super().__init__(Answer)

    def page(self, name: str) -> tuple[HTTPStatus, str]:
        try:
            known = self._source.package(canonicalize_name(name))
        except NoPage:
            return HTTPStatus.NOT_FOUND, ""
        except IndexUnreachable as fault:
            self.unreachable = self.unreachable or fault
            return HTTPStatus.SERVICE_UNAVAILABLE, ""
        until, lines = self._until(known.name), []
        for artifact in (each for release in known.releases for each in release.artifacts):
            if not artifact.is_seen(until):
                self.hidden.add(known.name)
                continue
            digest = f"#sha256={artifact.sha256}" if artifact.sha256 else ""
            attributes = {"href": f"{artifact.url}{digest}"}
            if artifact.requires_python is not None:
                attributes["data-requires-python"] = str(artifact.requires_python)
            if artifact.yanked:
                attributes["data-yanked"] = ""
            listed = " ".join(f'{key}="{html.escape(text)}"' for key, text in attributes.items())
            lines.append(f"<a {listed}>{html.escape(artifact.filename)}</a>\n")
        return HTTPStatus.OK, f"<!DOCTYPE html>\n<html><body>\n{''.join(lines)}</body></html>\n"


# pip-compile downloads whole wheels where the index has no metadata files, which takes minutes for
# a large tree.
_SECONDS = 3600
_KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


class PipToolsLocker:
    """A Locker over `pip-compile`, in an environment for each interpreter under `cache`.

    Dates come from an IndexView. pip has no overrides, and builds no release here.
    """

    def __init__(
        self,
        settings: IndexSettings,
        source: ReleaseSource,
        environ: Mapping[str, str],
        find_python: FindPython,
        cache: Path,
    ) -> None:
        self._source = source
        self._environ = {key: environ[key] for key in _KEPT if key in environ} | {
            "PIP_CONFIG_FILE": "/dev/null"
        }
        if settings.cert is not None:
            self._environ |= {"PIP_CERT": settings.cert, "SSL_CERT_FILE": settings.cert}
        self._index = settings.index_url
        self._find_python = find_python
        self._cache = cache
        self._preparing = threading.Lock()

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        return locked_in_layers(self._lock, inputs)

    def _lock(self, inputs: Inputs) -> Lock | Refusal:
        # From a further index pip would take every package whose newest version it has.
        beyond = (*inputs.overrides, *inputs.excludes, *inputs.floors, inputs.index)
        if subject := ", ".join(filter(None, (*beyond, build_of(inputs.platform)))):
            because = (
                f"pip-tools does not lock {subject} here: it changes no requirement deep in the"
                " tree, takes no lowest version, asks one index, and locks for CPython's usual"
                " builds; the locker uv does, so leave --locker out"
            )
            return Refusal(cause="unsupported", subject=subject, because=because)
        with self._preparing:
            compiler = self.prepare(inputs.python)
        with (
            IndexView(self._source, inputs.cutoff) as view,
            tempfile.TemporaryDirectory(prefix="compat-lock-") as folder,
        ):
            bounds, roots = (Path(folder) / name for name in ("bounds.txt", "roots.in"))
            bounds.write_text("\n".join(inputs.constraints), encoding="utf-8")
            lines = (*inputs.requirements, "-c bounds.txt")
            roots.write_text("\n".join(lines), encoding="utf-8")
            command = [
                *(str(compiler), "-m", "piptools", "compile", "roots.in", "--output-file=-"),
                *("--quiet", "--no-header", "--no-annotate", "--allow-unsafe", "--strip-extras"),
                *("--no-emit-index-url", "--no-emit-trusted-host", "--resolver=backtracking"),
                *("--pip-args=--only-binary=:all:", f"--index-url={view.url}simple/"),
            ]
            done = run_tool(command, Path(folder), self._environ, _SECONDS)
        if view.unreachable is not None:
            raise view.unreachable
        if done.returncode == 0:
            listed = (line for line in done.stdout.splitlines() if line.strip())
            exact = (parse_exact(line) for line in listed if not line.startswith(("#", "-")))
            pins = [self._pin(inputs, name, version) for name, version in exact]
            pins += () if inputs.injected_pin is None else (inputs.injected_pin,)
            own = next(compiler.parents[1].glob("lib/*/site-packages/pip_tools-*.dist-info"))
            return Lock(
                inputs=inputs,
                pins=tuple(sorted(pins, key=lambda pin: pin.name)),
                tool=f"pip-tools {own.name.split('-')[1].removesuffix('.dist')}",
            )
        refusal = refusal_of_pip(done.stderr)
        if refusal is None:
            message = last_words(done.stderr)
            raise ToolFailed.of(f"pip-compile could not lock {inputs.cell}: {message}")
        return self._completed(inputs, refusal, view.hidden)

    def _completed(self, inputs: Inputs, refusal: Refusal, hidden: set[str]) -> Refusal:
        """Where pip says missing but a source distribution exists, it is source-only."""
        try:
            missing = Requirement(refusal.subject)
        except InvalidRequirement:
            return refusal
        name = canonicalize_name(missing.name)
        refusal = msgspec.structs.replace(refusal, hidden=(name,) if name in hidden else ())
        until = inputs.cutoff(name)
        if refusal.cause != "no-artifact" or not any(
            missing.specifier.contains(release.version)
            and not (file.is_wheel or file.yanked or file.set_aside)
            and file.is_seen(until)
            for release in releases_of(self._source.package, name)
            for file in release.artifacts
        ):
            return refusal
        because = (
            f"{refusal.subject} has no wheel for this cell, only a source distribution; pip-tools"
            " builds nothing here, the locker uv does"
        )
        return msgspec.structs.replace(refusal, cause="source-only", because=because)

    def _pin(self, inputs: Inputs, name: str, version: Version) -> Pin:
        until, release = inputs.cutoff(name), release_of(self._source.package, name, version)
        files = () if release is None else release.artifacts
        hashes = {file.sha256 for file in files if file.sha256 and file.is_seen(until)}
        return Pin(name=name, version=version, hashes=tuple(sorted(hashes)))

    def prepare(self, python: Version) -> Path:
        series = minor_series(python)
        place = self._cache / "lockers" / f"py{series}"
        compiler = place / "bin" / "python"
        if (place / "ready").exists():
            return compiler
        interpreter = self._find_python(python)
        if interpreter is None:
            raise ToolFailed.of(
                f"the locker pip-tools needs Python {series}, and this machine has none",
                hint=f"{python_remedy(series)}; the locker uv needs none",
            )
        self._cache.mkdir(parents=True, exist_ok=True)
        options = f"--default-index={self._index}", f"--python={compiler}", "--only-binary=:all:"
        for command in (
            ["venv", "--clear", f"--python={interpreter}", str(place)],
            ["pip", "install", *options, "pip-tools", "setuptools", "wheel"],
        ):
            words = [find_uv_bin(), *command, "--no-config", "--quiet"]
            done = run_tool(words, self._cache, self._environ, _SECONDS)
            if done.returncode != 0:
                message = f"pip-tools could not be installed: {last_words(done.stderr)}"
                raise IndexUnreachable.of(message)
        (place / "ready").touch()
        return compiler
