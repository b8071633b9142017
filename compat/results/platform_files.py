"""What is kept of a matrix on other platforms than its own: the wheels that what it pins has there,
what resolvers said, and the locks that they made.
"""

from collections.abc import Iterable
from pathlib import Path

from compat.declare.matrix import Matrix
from compat.declare.platforms import PlatformName
from compat.files import Keep, read_if_there, write
from compat.index.kept import decode_packages, encode_packages
from compat.index.release import Catalogue, Package
from compat.lock.lock_text import encode_lock
from compat.lock.lockfile import Lock
from compat.plan.feasible import Feasibility
from compat.plan.installs import platform_facts
from compat.results.installs import (
    Install,
    declared_installs,
    decode_installs,
    encode_installs,
    with_platform_answers,
)
from compat.results.plain_answers import PlainAnswer, decode_answers, encode_answers

PLATFORMS_FOLDER = "platforms"
WHEELS = "wheels.json"
ANSWERS = "answers.json"


class PlatformFiles:
    """The folder `platforms/` of a matrix; each part is read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._matrix = folder.name
        self._folder = folder / PLATFORMS_FOLDER

    @property
    def wheels_path(self) -> Path:
        """Where the wheels of other platforms are listed."""
        return self._folder / WHEELS

    def keep_wheels(self, packages: Iterable[Package]) -> bool:
        """Write the list of wheels, and return whether it changed."""
        return write(self.wheels_path, encode_packages(packages))

    def answers(self, platform: PlatformName) -> dict[str, PlainAnswer]:
        text = read_if_there(self._folder / platform / ANSWERS)
        source = f"matrices/{self._matrix}/{PLATFORMS_FOLDER}/{platform}/{ANSWERS}"
        return {} if text is None else decode_answers(text.decode(errors="replace"), source)

    def keep_answer(self, platform: PlatformName, answer: PlainAnswer, lock: Lock | None) -> None:
        """Keep an answer in the place of the earlier one about its cell, and its lock; a lock that
        is no longer to be had goes.
        """
        merged = self.answers(platform) | {answer.cell: answer}
        path = self.lock_path(platform, answer.cell)
        if lock is None:
            path.unlink(missing_ok=True)
        else:
            write(path, encode_lock(lock))
        write(self._folder / platform / ANSWERS, encode_answers(merged.values()))

    def lock_path(self, platform: PlatformName, cell: str) -> Path:
        return self._folder / platform / "locks" / f"{cell}.txt"

    def facts(self, matrix: Matrix, catalogue: Catalogue, platform: PlatformName) -> Feasibility:
        text = read_if_there(self.wheels_path)
        source = f"matrices/{self._matrix}/{PLATFORMS_FOLDER}/{WHEELS}"
        elsewhere = None if text is None else decode_packages(text.decode(errors="replace"), source)
        return platform_facts(matrix, catalogue, elsewhere, platform)

    def installs(self, matrix: Matrix, catalogue: Catalogue, keep: Keep) -> tuple[Install, ...]:
        def declared() -> bytes:
            return encode_installs(
                install
                for name in matrix.platforms
                for install in declared_installs(self.facts(matrix, catalogue, name), name)
            )

        if not matrix.platforms:
            return ()
        known = decode_installs(
            keep("platforms", (read_if_there(self.wheels_path) or b"",), declared)
        )
        return tuple(
            install
            for name in matrix.platforms
            for install in with_platform_answers(
                (install for install in known if install.platform == name), self.answers(name)
            )
        )
