"""Builds a source distribution into a wheel, isolated, in a folder that is removed afterwards.

A build runs other people's code. It gets the isolation of a cell's step, the network for its tools,
and its own package cache, which no other build, install or cell reads.
"""

import contextlib
import datetime
import hashlib
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from uv import find_uv_bin

from compat.declare.parsing import minor_series
from compat.errors import ToolFailed
from compat.index.release import Published
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Inputs, Pin, Refusal, encode_pin, moment_text
from compat.lock.uv import index_arguments, refused
from compat.run.evidence import Ended, Isolation, Limits
from compat.run.isolation import Room
from compat.run.supervise import run_limited
from compat.value import Value

BUILD_SECONDS = 1800  # compiled packages of many thousand lines take many minutes
_DEPTH = 12  # folders of uv's cache above a built wheel: 6 in uv 0.13


class Workshop(Value, frozen=True):
    """What a build gets: interpreter, isolation level, index, variables, limits, readable folders.

    Built wheels are cached on the `shelf`.
    """

    python: str
    level: Isolation
    index: IndexSettings
    variables: tuple[tuple[str, str], ...]
    limits: Limits
    shelf: str
    readable: tuple[str, ...] = ()


class Order(Value, frozen=True):
    """A build for a Python, with the tools of a date (None: today's)."""

    pin: Pin
    python: Version
    as_of: datetime.datetime | None

    @property
    def key(self) -> str:
        pin, series = self.pin, minor_series(self.python)
        parts = [pin.name, str(pin.version), *pin.hashes, series, str(self.as_of)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def build_room(place: Path, log: Path, shop: Workshop) -> Room:
    for name in ("home", "tmp"):
        (place / name).mkdir(parents=True)
    folders = (("HOME", "home"), ("TMPDIR", "tmp"), ("UV_CACHE_DIR", "cache"))
    own = {name: str(place / folder) for name, folder in folders}
    return Room(
        cwd=place, variables=tuple(sorted((dict(shop.variables) | own).items())), log=log,
        writable=(place,), readable=tuple(map(Path, shop.readable)), network=True,
    )  # fmt: skip


def build_all(
    orders: Sequence[Order],
    place: Path,
    log: Path,
    shop: Workshop,
    note: Callable[[Ended], None],
    cancel: threading.Event,
) -> list[Path]:
    """Return the wheels of the orders, each cached or built, up to the first failure."""
    wheels: list[Path] = []
    for order in orders:
        pin, part = order.pin, log.with_suffix(".part.log")
        wheel = next(iter(sorted(Path(shop.shelf, order.key).glob("*.whl"))), None)
        if wheel is None:
            room = build_room(place / pin.name, part, shop)
            (room.cwd / "source.txt").write_text(f"{encode_pin(pin)}\n", encoding="utf-8")
            dates = []
            if order.as_of is not None:
                # The tools are of that date; the pin itself is exact and hashed.
                dates.append(f"--exclude-newer={moment_text(order.as_of)}")
                dates.append(f"--exclude-newer-package={pin.name}=false")
            command = [
                *(find_uv_bin(), "pip", "install", "--no-config", "--no-progress"),
                *("--color=never", "--no-deps", "--no-python-downloads", "--require-hashes"),
                *(f"--no-binary={pin.name}", f"--python={shop.python}", "--target=target"),
                *(*index_arguments(shop.index), *dates, "-r", "source.txt"),
            ]
            ended = run_limited(command, room, shop.limits, level=shop.level, cancel=cancel)
            with log.open("ab") as whole, part.open("rb") as piece:
                shutil.copyfileobj(piece, whole)
            part.unlink()
            note(ended)
            if ended.by != "exit" or ended.exit_code != 0:
                break
            wheel = _on_shelf(shop, order, _built_wheel(room.cwd, pin))
        wheels.append(wheel)
    return wheels


def _built_wheel(place: Path, pin: Pin) -> Path:
    """The folder is hostile: links are not followed, and depth is limited."""
    for folder, folders, names in os.walk(place / "cache"):
        if len(Path(folder).relative_to(place).parts) >= _DEPTH:
            folders.clear()
        for name in sorted(names):
            path = Path(folder, name)
            with contextlib.suppress(InvalidWheelFilename, InvalidVersion):
                is_of_pin = parse_wheel_filename(name)[:2] == (pin.name, pin.version)
                if is_of_pin and stat.S_ISREG(path.lstat().st_mode):
                    return path
    raise ToolFailed.of(f"the build of {pin.name} {pin.version} left no wheel")


def _on_shelf(shop: Workshop, order: Order, wheel: Path) -> Path:
    """Cached only at L3, where no suite can write, and by date: tools of tomorrow may differ."""
    if shop.level != "L3" or order.as_of is None:
        return wheel
    shelf = Path(shop.shelf)
    shelf.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".new-", dir=shelf))
    shutil.copyfile(wheel, folder / wheel.name, follow_symlinks=False)
    try:
        folder.rename(shelf / order.key)
    except OSError:  # another process was faster
        shutil.rmtree(folder, ignore_errors=True)
    return shelf / order.key / wheel.name


class Builder:
    """Reports to a locker what the source distribution of a release requires."""

    def __init__(self, shop_of: Callable[[Version], Workshop]) -> None:
        self._shop_of = shop_of
        self._known: dict[str, Published | Refusal] = {}

    def __call__(self, inputs: Inputs, pin: Pin) -> Published | Refusal:
        order = Order(pin=pin, python=inputs.python, as_of=inputs.as_of)
        if (key := order.key) not in self._known:
            self._known[key] = self._asked(order, inputs.cell)
        return self._known[key]

    def _asked(self, order: Order, cell: str) -> Published | Refusal:
        shop = self._shop_of(order.python)
        ends: list[Ended] = []
        shelf = Path(shop.shelf)
        shelf.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".build-", dir=shelf))
        log = folder / "log"
        try:
            wheels = build_all([order], folder / "rooms", log, shop, ends.append, threading.Event())
            if wheels:
                # What may ask an index is imported only where something was built.
                from compat.index.metadata import published_in

                return published_in(wheels[0])
            if ends[0].by != "exit":
                raise ToolFailed.of(
                    f"the build of {order.pin.name} {order.pin.version} ended by {ends[0].by}"
                )
            return refused(cell, log.read_text(encoding="utf-8", errors="replace"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
