"""The locker that asks uv: any Python from one machine, overrides, a date per package."""

import datetime
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import version as installed
from pathlib import Path

from packaging.version import Version
from uv import find_uv_bin

from compat.errors import IndexUnreachable, ToolFailed
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Inputs, Lock, Refusal
from compat.lock.refusals import refusal_of_uv, shortened, told
from compat.lock.text import decode_pins
from compat.lock.tool import run

# Generous: locks take seconds; a source build of an old package inside one may take minutes.
_SECONDS = 900
_NETWORK = (
    "Failed to fetch",
    "error sending request",
    "dns error",
    "Connection refused",
    "operation timed out",
    "HTTP status",
)
# What uv needs of the caller's environment; other UV_* and PIP_* settings would make locks depend on the machine.
_KEPT = (
    "PATH", "HOME", "TMPDIR", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME",
    "UV_CACHE_DIR", "UV_HTTP_RETRIES", "UV_HTTP_TIMEOUT",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip

FindPython = Callable[[Version], str | None]


class UvLocker:
    """A Locker over `uv pip compile`.

    Source distributions must be built to know what they require; that happens under the cell's own interpreter when
    `find_python` knows one, else under whichever uv finds.
    """

    def __init__(self, settings: IndexSettings, environ: Mapping[str, str], find_python: FindPython) -> None:
        """Take the index, the caller's environment (only what uv needs of it is passed on), and the interpreters."""
        self._settings = settings
        self._environ = {key: environ[key] for key in _KEPT if key in environ}
        if settings.cert is not None:
            self._environ["SSL_CERT_FILE"] = settings.cert
        self._find_python = find_python

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        """Return the pins that uv resolves, or its refusal."""
        with tempfile.TemporaryDirectory(prefix="compat-lock-") as folder:
            done = run(self._arguments(inputs, Path(folder)), Path(folder), self._environ, _SECONDS)
        if done.returncode == 0:
            given = () if inputs.given is None else (inputs.given,)
            pins = sorted((*decode_pins(done.stdout), *given), key=lambda pin: pin.name)
            return Lock(inputs=inputs, pins=tuple(pins), tool=f"uv {installed('uv')}")
        refusal = None if any(sign in _errors(done.stderr) for sign in _NETWORK) else refusal_of_uv(done.stderr)
        if refusal is not None:
            return refusal
        raise _trouble(inputs.cell, done.stderr)

    def _arguments(self, inputs: Inputs, folder: Path) -> list[str]:
        arguments = [
            find_uv_bin(), "pip", "compile", _listed(folder, "roots.txt", inputs.requirements),
            "--no-config", "--no-progress", "--color=never", "--no-header", "--no-annotate", "--generate-hashes",
            "--no-python-downloads", f"--python-version={inputs.python}", f"--python-platform={inputs.platform}",
            f"--default-index={self._settings.index_url}",
            *(f"--prerelease-package={name}=disallow" for name in inputs.finals),
        ]  # fmt: skip
        for extra in self._settings.extra_index_urls:
            arguments += [f"--index={extra}", "--index-strategy=unsafe-best-match"]
        python = self._find_python(inputs.python)
        if python is not None:
            arguments.append(f"--python={python}")
        if inputs.overrides:
            arguments += ["--overrides", _listed(folder, "overrides.txt", inputs.overrides)]
        if inputs.excludes:
            arguments += ["--excludes", _listed(folder, "excludes.txt", inputs.excludes)]
        return [*arguments, *dates(inputs)]


def dates(inputs: Inputs) -> list[str]:
    """Return what makes uv see the index as of a lock's date.

    It holds for what a source build asks for, too: a build of then needs the tools of then. A fresh
    lock has no date, because today's tools are what a user's plain install gets.
    """
    if inputs.as_of is None:
        return []
    return [
        f"--exclude-newer={_moment(inputs.as_of)}",
        *(
            f"--exclude-newer-package={c.package}={'false' if c.until is None else _moment(c.until)}"
            for c in inputs.cutoffs
        ),
    ]


def _listed(folder: Path, name: str, lines: tuple[str, ...]) -> str:
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return name


def _moment(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _errors(stderr: str) -> str:
    """What follows the first error: warnings before it may speak of networks without being the trouble."""
    return stderr[max(stderr.find("error:"), stderr.find("\u00d7 "), 0) :]


def _trouble(cell: str, stderr: str) -> IndexUnreachable | ToolFailed:
    words = shortened(told(_errors(stderr)))
    if any(sign in stderr for sign in _NETWORK):
        return IndexUnreachable.of(
            f"uv could not lock {cell}: {words}", hint="check the network and the index, then again"
        )
    return ToolFailed.of(f"uv could not lock {cell}: {words}")
