"""The Python sources of a release, read from one of its wheels; nothing of it is installed."""

import zipfile
from collections.abc import Iterator, Mapping

from compat.errors import UnsoundFile
from compat.index.metadata import DAMAGED, NETWORK, NotMetadata, whole_wheel
from compat.index.release import Artifact, Release, usable_wheels
from compat.index.settings import IndexSettings
from compat.index.transport import ResponseLimits, Web, whole_wheel_limits
from compat.index.trouble import unreachable
from compat.value import Value

_MOST_MODULES = 20_000
_MOST_BYTES = 200_000_000  # of sources in one wheel; the largest seen has 60 MB


class WheelSources(Value, frozen=True, kw_only=True):
    """The modules of a wheel by their path below site-packages; stubs and data are left out."""

    wheel: str
    modules: Mapping[str, bytes]


class SourceReader:
    """Reads sources of wheels from an index."""

    def __init__(self, settings: IndexSettings, limits: ResponseLimits | None = None) -> None:
        self._web = Web(settings, whole_wheel_limits(limits or ResponseLimits()))

    def sources(self, artifact: Artifact) -> WheelSources:
        """Return the sources of a wheel, which is downloaded whole.

        Raises UnsoundFile for what is not a readable wheel or has more sources than any real one,
        IndexUnreachable when it cannot be had.
        """
        try:
            with whole_wheel(self._web, artifact) as file, zipfile.ZipFile(file) as wheel:
                return WheelSources(wheel=artifact.filename, modules=dict(_modules(wheel)))
        except (*NETWORK, *DAMAGED, OSError) as fault:
            if isinstance(fault, DAMAGED):
                reason = str(fault) if isinstance(fault, NotMetadata) else "not a readable wheel"
                raise UnsoundFile.of(
                    f"{artifact.filename}: {reason}", hint="do not trust this file"
                ) from fault
            raise unreachable(fault, artifact.filename) from fault

    def close(self) -> None:
        self._web.close()


def wheel_to_read(release: Release) -> Artifact | None:
    """Return the wheel whose sources stand for a release: one for any platform, else for Linux,
    else the first; None without any.

    The modules of a release's wheels are taken to be the same.
    """

    def rank(artifact: Artifact) -> tuple[bool, bool, str]:
        platforms = {tag.platform for tag in artifact.tags}
        is_linux = any("linux" in platform for platform in platforms)
        return "any" not in platforms, not is_linux, artifact.filename

    return min(usable_wheels(release), key=rank, default=None)


def _modules(wheel: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    members = [info for info in wheel.infolist() if _is_module(info.filename)]
    if len(members) > _MOST_MODULES or sum(info.file_size for info in members) > _MOST_BYTES:
        raise NotMetadata(f"it has {len(members)} modules, more than are read")
    for info in members:
        yield info.filename, wheel.read(info)


def _is_module(path: str) -> bool:
    parts = path.split("/")
    is_inside = ".." not in parts and not path.startswith("/") and "\\" not in path
    return path.endswith(".py") and is_inside and not parts[0].endswith(".data")
