"""The `site` room's locks: each as a file to install from, and where a lock has two steps, its two parts."""

from collections.abc import Iterator

from compat.advise.commands import Whereabouts, in_two_steps, parts
from compat.lock.lockfile import Lock
from compat.lock.text import encode_lock
from compat.site.edition import Edition, File, Volume, lock_file


def whereabouts(edition: Edition, volume: Volume, lock: Lock) -> Whereabouts:
    """Return the addresses under which the site has a lock."""
    whole, rest, subject = (edition.url(path) for path in _paths(volume, lock))
    return Whereabouts(lock=whole, pins=rest, given=subject) if in_two_steps(lock) else Whereabouts(lock=whole)


def files(edition: Edition) -> Iterator[File]:
    """Yield the locks of every matrix."""
    for volume in edition.volumes:
        for lock in volume.locks.values():
            texts = (encode_lock(lock), *parts(lock)) if in_two_steps(lock) else (encode_lock(lock),)
            for path, text in zip(_paths(volume, lock), texts, strict=False):
                yield File(path=path, content=text.encode())


def _paths(volume: Volume, lock: Lock) -> tuple[str, str, str]:
    path = lock_file(volume.name, lock.inputs.cell)
    stem = path.removesuffix(".txt")
    return path, f"{stem}/pins.txt", f"{stem}/given.txt"
