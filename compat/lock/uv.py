"""The uv locker: any Python from one machine, overrides, a date per package, wheels only."""

import logging
import re
import shlex
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version as installed
from pathlib import Path

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from uv import find_uv_bin

from compat.declare.matrix import MACOS
from compat.errors import IndexUnreachable, ToolFailed
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Inputs, Lock, Pin, Refusal, decode_pins, moment_text
from compat.lock.resolvers import cut_reason, refusal_of_uv, tool_message
from compat.lock.sources import (
    NamedBuilds,
    SourceRelease,
    for_want_of_builds,
    locked_in_layers,
    shelved,
)
from compat.plan.platform import build_of, python_name, python_remedy, without_build

_LOG = logging.getLogger(__name__)
# Guards the look-up of uv's program: concurrent first calls would see it half made.
sysconfig.get_config_vars()
Done = subprocess.CompletedProcess[str]


def run_tool(
    command: list[str],
    folder: Path,
    environ: Mapping[str, str] | None,
    seconds: int,
    errors: str = "replace",
) -> Done:
    """Without `environ` the tool gets that of this process."""
    name = Path(command[0]).name
    # An address may hold a login.
    _LOG.info("running %s", re.sub(r"//[^/\s@]*@", "//", shlex.join(command)))
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=None if environ is None else dict(environ),
            capture_output=True,
            text=True,
            errors=errors,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolFailed.of(f"{name} had no answer after {seconds} s") from error
    except OSError as fault:
        message = f"{name} could not be started: {fault.strerror}"
        raise ToolFailed.of(message, hint=f"install {name}") from fault


# Generous: locks take seconds, but an index without metadata files makes uv read every wheel by
# ranges.
_SECONDS = 900
# What uv prints when the index, not the inputs, is at fault.
NETWORK_SIGNS = (
    *("Failed to fetch", "error sending request", "dns error", "Connection refused"),
    *("operation timed out", "HTTP status"),
)
# What uv needs of the caller's environment; other UV_* and PIP_* settings would make locks depend
# on the machine.
_KEPT = (
    "PATH", "HOME", "TMPDIR", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME",
    "UV_CACHE_DIR", "UV_HTTP_RETRIES", "UV_HTTP_TIMEOUT",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip

FindPython = Callable[[Version], str | None]


class UvLocker:
    """A Locker over `uv pip compile`, which takes wheels only and runs no code of any package.

    A release without a wheel for the cell is taken only where `builds` names it. It is built,
    isolated, for its requirements once the resolver has chosen it.
    """

    def __init__(
        self,
        settings: IndexSettings,
        environ: Mapping[str, str],
        find_python: FindPython,
        builds: NamedBuilds | None = None,
        shown: Sequence[SourceRelease] = (),
    ) -> None:
        """`shown` are releases that no index has, with their requirements: see `mixed.py`."""
        self._settings = settings
        self._environ = {key: environ[key] for key in _KEPT if key in environ}
        # The minimum macOS of a lock for one.
        self._environ["MACOSX_DEPLOYMENT_TARGET"] = ".".join(map(str, MACOS))
        if settings.cert is not None:
            self._environ["SSL_CERT_FILE"] = settings.cert
        self._find_python = find_python
        self._builds = builds
        self._shown = tuple(shown)
        self._built: dict[tuple[Version, Pin], SourceRelease] = {}
        # The library's resolution of a search is requested again when its suite is added.
        self._ask = lru_cache(maxsize=64)(self._lock)

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        return locked_in_layers(self._ask, inputs)

    def _lock(self, inputs: Inputs) -> Lock | Refusal:
        """A release with a named build is first shown without requirements, and built once uv takes
        it. So only chosen releases are built, and a failure before holds for any requirements.
        """
        if build_of(inputs.platform) and self._find_python(inputs.python) is None:
            # uv takes the tags of other builds from the interpreter alone.
            name = python_name(inputs.python, inputs.platform)
            raise ToolFailed.of(
                f"a lock for {name} needs that Python, and this machine has none",
                hint=python_remedy(name),
            )
        # A build from an earlier resolution is known without being chosen again.
        shelf = {
            item.pin: self._built.get((inputs.python, item.pin), item)
            for item in (() if self._builds is None else self._builds.offered(inputs))
        }
        unbuilt = {pin for pin in shelf if (inputs.python, pin) not in self._built}
        roots = self._with_floors(inputs, [*self._shown, *shelf.values()])
        if isinstance(roots, Refusal):
            return roots

        def resolve(more: Sequence[SourceRelease]) -> Sequence[Pin] | Refusal:
            return self._resolved(roots, [*more, *self._shown, *shelf.values()])

        while True:
            pins = resolve(())
            if isinstance(pins, Refusal):
                if self._builds is None:
                    return pins
                return for_want_of_builds(pins, roots, self._builds, resolve)
            build = None if self._builds is None else self._builds.build
            waiting = [pin for pin in _taken(pins, shelf) if pin in unbuilt]
            if not waiting or build is None:
                return _lock_of(inputs, pins, shelf)
            is_as_shown = True
            for pin in waiting:
                asks = build(inputs, pin)
                if isinstance(asks, Refusal):
                    return asks
                is_as_shown = is_as_shown and asks == shelf[pin].asks
                shelf[pin] = msgspec.structs.replace(shelf[pin], asks=asks)
                self._built[inputs.python, pin] = shelf[pin]
                unbuilt.remove(pin)
            if is_as_shown:
                return _lock_of(inputs, pins, shelf)

    def _with_floors(self, inputs: Inputs, shown: Sequence[SourceRelease]) -> Inputs | Refusal:
        """Other ranges do not count: a test tool without a bound would get its first release."""
        if not inputs.floors:
            return inputs
        exact = (text for text in inputs.requirements if "==" in text)
        alone = msgspec.structs.replace(inputs, requirements=(*exact, *inputs.floors))
        pins = self._resolved(alone, shown, "--resolution=lowest-direct")
        if isinstance(pins, Refusal):
            return pins
        names = {canonicalize_name(Requirement(text).name) for text in inputs.floors}
        lowest = (f"{pin.name}=={pin.version}" for pin in pins if pin.name in names)
        return msgspec.structs.replace(
            inputs, requirements=(*inputs.requirements, *inputs.floors, *lowest)
        )

    def _resolved(
        self, inputs: Inputs, releases: Sequence[SourceRelease], *options: str
    ) -> Sequence[Pin] | Refusal:
        with tempfile.TemporaryDirectory(prefix="compat-lock-") as folder:
            place = Path(folder)
            arguments = [*self._arguments(inputs, place), *options]
            if releases:
                (place / "shelf").mkdir()
                shelved(releases, place / "shelf")
                arguments.append("--find-links=shelf")
            done = run_tool(arguments, place, self._environ, _SECONDS)
        if done.returncode == 0:
            return decode_pins(done.stdout)
        return refused(inputs.cell, done.stderr)

    def _arguments(self, inputs: Inputs, folder: Path) -> list[str]:
        lists = {"roots": inputs.requirements}
        lists |= {name: getattr(inputs, name) for name in ("overrides", "constraints", "excludes")}
        for name, lines in lists.items():
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        arguments = [
            *(find_uv_bin(), "pip", "compile", "roots.txt"),
            *("--no-config", "--no-progress", "--color=never", "--no-header", "--no-annotate"),
            *("--generate-hashes", "--no-python-downloads", "--only-binary=:all:"),
            f"--python-version={inputs.python}",
            f"--python-platform={without_build(inputs.platform)}",
            *index_arguments(self._settings, inputs.index),
            *(f"--prerelease-package={name}=disallow" for name in inputs.no_prereleases),
        ]
        python = self._find_python(inputs.python)
        if python is not None:
            arguments.append(f"--python={python}")
        for name in (name for name, lines in lists.items() if lines and name != "roots"):
            arguments += [f"--{name}", f"{name}.txt"]
        if inputs.as_of is not None:
            arguments.append(f"--exclude-newer={moment_text(inputs.as_of)}")
            for cutoff in inputs.cutoffs:
                until = "false" if cutoff.until is None else moment_text(cutoff.until)
                arguments.append(f"--exclude-newer-package={cutoff.package}={until}")
        return arguments


def _lock_of(inputs: Inputs, resolved: Sequence[Pin], shelf: Mapping[Pin, SourceRelease]) -> Lock:
    """The injected pin's requirements are among the inputs, so it need not be built."""
    sources = {pin.name: pin for pin in _taken(resolved, shelf)}
    injected = () if inputs.injected_pin is None else (inputs.injected_pin,)
    pins = sorted(
        (*(sources.get(pin.name, pin) for pin in resolved), *injected), key=lambda pin: pin.name
    )
    builds = tuple(sorted({pin.name for pin in _taken(pins, shelf)}))
    return Lock(inputs=inputs, pins=tuple(pins), tool=f"uv {installed('uv')}", builds=builds)


def _taken(pins: Sequence[Pin], shelf: Mapping[Pin, SourceRelease]) -> list[Pin]:
    releases = {(pin.name, pin.version) for pin in pins}
    return [pin for pin in shelf if (pin.name, pin.version) in releases]


def index_arguments(settings: IndexSettings, further: str = "") -> list[str]:
    """A further index may have unrelated pre-releases, so it hides no other's final releases."""
    strategy = "unsafe-best-match" if settings.merged or further else "first-index"
    urls = (*settings.extra_index_urls, *([further] if further else []))
    extras = (f"--index={url}" for url in urls)
    return [f"--default-index={settings.index_url}", *extras, f"--index-strategy={strategy}"]


def refused(subject: str, stderr: str) -> Refusal:
    # From the first error on: an earlier warning may mention a network without cause.
    errors = stderr[max(stderr.find("error:"), stderr.find("\u00d7 "), 0) :]
    refusal = None if any(sign in errors for sign in NETWORK_SIGNS) else refusal_of_uv(stderr)
    if refusal is not None:
        return refusal
    words = cut_reason(tool_message(errors))
    if any(sign in stderr for sign in NETWORK_SIGNS):
        hint = "check the network and the index, then again"
        raise IndexUnreachable.of(f"uv could not lock {subject}: {words}", hint=hint)
    raise ToolFailed.of(f"uv could not lock {subject}: {words}")
