"""The files of releases, unpacked from their wheels to be read; no code of them runs."""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from uv import find_uv_bin

from compat.index.settings import IndexSettings
from compat.lock.lock_text import encode_pin
from compat.lock.lockfile import Inputs, Pin
from compat.lock.uv import index_arguments, run_resolver
from compat.plan.platform import without_build
from compat.value import Value

# The wheel was installed by a run before, so it mostly comes from uv's cache.
_SECONDS = 600


class Unpacked(Value, frozen=True, kw_only=True):
    """The folder that holds a release's files, and its top-level modules and packages."""

    folder: str
    modules: tuple[str, ...]


@contextmanager
def unpacked(
    pins: Sequence[Pin], inputs: Inputs, index: IndexSettings, variables: Mapping[str, str]
) -> Iterator[list[Unpacked]]:
    """Yield what the wheels hold that the inputs' interpreter takes, as long as the context lasts.

    A release whose wheel cannot be had now is left out. `variables` is all that uv sees of the
    environment. Raises ToolFailed as a resolver does.
    """
    with tempfile.TemporaryDirectory(prefix="compat-release-") as name:
        folders = []
        for number, pin in enumerate(pins):
            target = Path(name) / str(number)
            (Path(name) / "pin.txt").write_text(f"{encode_pin(pin)}\n", encoding="utf-8")
            command = [
                *(find_uv_bin(), "pip", "install", "--no-config", "--no-progress"),
                *("--color=never", "--no-deps", "--only-binary=:all:", "--require-hashes"),
                *("-r", "pin.txt", f"--target={target}", f"--python={sys.executable}"),
                *(
                    f"--python-version={inputs.python}",
                    f"--python-platform={without_build(inputs.platform)}",
                ),
                *index_arguments(index),
            ]
            if run_resolver(command, Path(name), variables, _SECONDS).returncode == 0:
                folders.append(Unpacked(folder=str(target), modules=_modules(target)))
        yield folders


def _modules(folder: Path) -> tuple[str, ...]:
    names = {
        path.name.partition(".")[0]
        for path in folder.iterdir()
        if path.suffix in (".py", ".so") or (path.is_dir() and not path.suffix)
    }
    return tuple(sorted(name for name in names if name.isidentifier()))
