"""Builds the wheel of a checkout once with the project's own build back end (PEP 517), in the
isolation of every other build; once for each Python where the wheel is not for all.
"""

import hashlib
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from uv import find_uv_bin

from compat.errors import BuildFailed, IndexUnreachable, ToolFailed, UsageError, one_line
from compat.index.metadata import published_in
from compat.index.release import Published
from compat.index.settings import without_credentials
from compat.lock.refusals import error_before_failure, own_error
from compat.lock.uv import NETWORK_SIGNS, index_arguments
from compat.plan.platform import accepted_tags, admits
from compat.run.builds import Workshop, build_room
from compat.run.evidence import Ended
from compat.run.source_tree import SourceCopy, copied_source
from compat.run.supervise import run_limited
from compat.value import Value

_MOST_BYTES = 2**30  # PyPI takes files of at most 100 MB, on request of at most 1 GB
_DIGITS = 12


class CheckoutWheel(Value, frozen=True, kw_only=True):
    """A wheel of this machine: what it is, by its name and content, and what it asks for."""

    name: str
    path: str
    sha256: str
    version: Version
    tags: frozenset[Tag]
    published: Published


class BuiltCheckout(Value, frozen=True, kw_only=True):
    """A project's source that stands in for a release, and its wheels, the first of which decides
    its version.

    `source` is what the user named. `commit` is empty outside of git; `is_changed` says that the
    files differ from it. `folder` is the copy that was built; empty for a wheel.
    """

    source: str
    commit: str
    is_changed: bool
    wheels: tuple[CheckoutWheel, ...]
    folder: str = ""

    @property
    def version(self) -> Version:
        return self.wheels[0].version

    @property
    def name(self) -> str:
        """What its records are kept under: its commit; where the files differ from that, or there
        is none, the digest of its first wheel as well.
        """
        digest = self.wheels[0].sha256[:_DIGITS]
        if not self.commit:
            return f"wheel-{digest}"
        commit = self.commit[:_DIGITS]
        return f"{commit}-{digest}" if self.is_changed else commit

    @property
    def words(self) -> str:
        if not self.commit:
            return str(self.version)
        changed = ", with changes that are not committed" if self.is_changed else ""
        return f"{self.version} (commit {self.commit[:_DIGITS]}{changed})"


class CheckoutOrder(Value, frozen=True, kw_only=True):
    """What is to be built: a source, as `copied_source` takes it; the package that it must be,
    empty for any; and the Pythons and the platform that its wheels are for, the Python to begin
    with first.
    """

    source: str
    package: str
    pythons: tuple[Version, ...]
    platform: str


def built_checkout(
    order: CheckoutOrder,
    place: Path,
    shop_of: Callable[[Version], Workshop],
    environ: Mapping[str, str],
) -> BuiltCheckout:
    """Build the wheels of a source in a new folder, and return where they are.

    `environ` is what git may see of the caller's environment; the build sees what `shop_of` gives a
    Python. Raises BuildFailed where the project makes no wheel, UsageError where it is another
    package or no source at all, ToolFailed and IndexUnreachable for trouble that is not its own.
    """
    copy = copied_source(order.source, place / "source", environ)
    wheels: list[CheckoutWheel] = []
    if copy.path.suffix == ".whl":
        wheels.append(_wheel(copy.path, order))
    else:
        for python in _missing(order, wheels):
            folder = place / f"py{python.major}.{python.minor}"
            wheels.append(_wheel(_built(copy, folder, shop_of(python), order), order))
    return BuiltCheckout(
        source=without_credentials(order.source), commit=copy.commit, is_changed=copy.is_changed,
        wheels=tuple(wheels), folder=str(copy.path) if copy.path.is_dir() else "",
    )  # fmt: skip


def _missing(order: CheckoutOrder, wheels: Sequence[CheckoutWheel]) -> Iterator[Version]:
    for python in order.pythons:
        tags = accepted_tags(Version(f"{python.major}.{python.minor}"), order.platform)
        if any(not tags.isdisjoint(wheel.tags) for wheel in wheels):
            continue
        if wheels and not admits(wheels[0].published.requires_python, python):
            continue
        yield python


def _built(copy: SourceCopy, place: Path, shop: Workshop, order: CheckoutOrder) -> Path:
    for name in ("home", "tmp", "wheels"):
        (place / name).mkdir(parents=True)
    command = [
        *(find_uv_bin(), "build", "--wheel", "--no-config", "--no-progress", "--color=never"),
        *("--no-python-downloads", "--no-sources", "--no-create-gitignore"),
        *(f"--python={shop.python}", f"--out-dir={place / 'wheels'}"),
        *(*index_arguments(shop.index), str(copy.path)),
    ]
    room = build_room(place, log := place / "build.log", shop)
    readable = (*room.readable, *copy.readable)
    room = replace(room, writable=(place.parent,), readable=readable)
    ended = run_limited(command, room, shop.limits, level=shop.level)
    if ended.by != "exit" or ended.exit_code != 0:
        raise _failure(ended, log.read_text(encoding="utf-8", errors="replace"), order)
    # The folder is hostile: a link is no wheel.
    wheels = [
        path for path in (place / "wheels").glob("*.whl") if stat.S_ISREG(path.lstat().st_mode)
    ]
    if len(wheels) != 1:
        raise BuildFailed.of(f"the build left {len(wheels)} wheels, not one", path=order.source)
    return wheels[0]


def _failure(
    ended: Ended, log: str, order: CheckoutOrder
) -> BuildFailed | ToolFailed | IndexUnreachable:
    source = without_credentials(order.source)
    if ended.by != "exit":
        return ToolFailed.of(f"the build ended by {ended.by}", path=source)
    # uv draws a tree beside its words.
    drawn = " \u2502\u251c\u2500\u25b6\u2570\u00d7"
    printed = [line.strip(drawn) for line in log.splitlines() if line.strip()]
    own = error_before_failure(log) or own_error(log)
    why = one_line(own or next(iter(printed[-1:]), "it said nothing"))
    if any(sign in log for sign in NETWORK_SIGNS):
        hint = "check the network and the index, then again"
        return IndexUnreachable.of(f"cannot be built: {why}", path=source, hint=hint)
    hint = f"uv build --wheel {source} shows the whole of it"
    return BuildFailed.of(f"cannot be built: {why}", path=source, hint=hint)


def _wheel(path: Path, order: CheckoutOrder) -> CheckoutWheel:
    source = without_credentials(order.source)
    try:
        name, version, _, tags = parse_wheel_filename(path.name)
    except (InvalidWheelFilename, InvalidVersion) as error:
        raise UsageError.of(f"{path.name!r} is not the name of a wheel", path=source) from error
    if order.package and name != canonicalize_name(order.package):
        hint = "--subject-from names the project of the matrix's subject"
        message = f"is the project {name}, and the subject of the matrix is {order.package}"
        raise UsageError.of(message, path=source, hint=hint)
    if path.stat().st_size > _MOST_BYTES:
        raise UsageError.of(f"its wheel is larger than {_MOST_BYTES:,} bytes", path=source)
    return CheckoutWheel(
        name=name, path=str(path), sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        version=version, tags=tags, published=published_in(path),
    )  # fmt: skip
