"""A cache and a folder of wheels that hostile cells share, one after the other."""

import dataclasses
import datetime
import hashlib
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from packaging.version import Version

from compat.declare.matrix import Suite
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Inputs, Lock, Pin
from compat.run.cell_run import CellRun
from compat.run.classify import classify
from compat.run.evidence import Evidence, Isolation
from compat.run.job import Bench, Job, bytecode_of
from support.hostile import landlock
from support.zoo import wheel

THEN = datetime.datetime(2026, 11, 22, tzinfo=datetime.timezone.utc)
PYTHON = Version(".".join(map(str, sys.version_info[:3])))


@dataclasses.dataclass
class Lair:
    """A cache that several cells share, one after the other, and a folder of wheels."""

    folder: Path
    level: Isolation
    tools: list[tuple[str, str, bytes]]
    runs: int = 0
    disk_mb: int = 1000

    @property
    def is_sealed(self) -> bool:
        """Whether nothing that a cell wrote outside of its home can be there."""
        return self.level == "L3" or (landlock() >= 3 and self.folder.parts[1] != "tmp")

    def run(
        self,
        files: dict[str, str],
        suite: dict[str, str],
        remade: Callable[[str, bytes], bytes] | None = None,
        before: dict[str, str] | None = None,
        is_local: bool = False,
    ) -> Evidence:
        """Run a suite with a package that has these files, and return the evidence.

        `remade` makes another archive of the name and the content of its wheel. With `before`, the
        files of another package, that one is installed first, and this one by a command of its own;
        so it is where its wheel `is_local`, like a checkout's.
        """
        self.runs += 1
        home = self.folder / f"run{self.runs}"
        # One folder of wheels for all runs: the installer's cache knows a wheel by its place.
        name, links, tests = f"lair{self.runs}", self.folder / "links", home / "suite"
        for place in (links, tests):
            place.mkdir(parents=True, exist_ok=True)
        made = wheel(name, "1.0", {"animal.py": "ALIVE = True\n", **files}, [])
        if remade is not None:
            made = remade(name, made)
        wheels = [*self.tools, (name, "1.0", made)]
        if before is not None:
            wheels.append(
                (f"before{self.runs}", "1.0", wheel(f"before{self.runs}", "1.0", before, []))
            )
        pins = []
        for package, version, content in wheels:
            file = links / f"{package}-{version}-py3-none-any.whl"
            if not file.exists():
                file.write_bytes(content)
            digest = hashlib.sha256(content).hexdigest()
            pins.append(
                Pin(name=package.replace("_", "-"), version=Version(version), hashes=(digest,))
            )
        for path, text in suite.items():
            (tests / path).write_text(text, encoding="utf-8")
        given = next(pin for pin in pins if pin.name == name) if before is not None else None
        inputs = Inputs(
            cell="cell", python=PYTHON, platform="", requirements=(f"{name}==1.0",),
            injected_pin=given, install_as_python=PYTHON if given is not None else None,
        )  # fmt: skip
        job = Job(
            matrix="lair",
            cell="cell",
            subject=name,
            module="animal",
            suite=Suite(path="suite", seconds=60, disk_mb=self.disk_mb),
            lock=Lock(
                inputs=inputs, pins=tuple(sorted(pins, key=lambda pin: pin.name)), tool="made"
            ),
            suite_folder=str(tests),
            links=str(links),
            wheels=(
                (hashlib.sha256(made).hexdigest(), str(links / f"{name}-1.0-py3-none-any.whl")),
            )
            if is_local
            else (),
        )
        return CellRun(job, self.bench(home), THEN, threading.Event()).run()

    def bench(self, home: Path) -> Bench:
        tag, magic = bytecode_of(sys.executable)
        sandbox = self.folder / "sandbox"
        (sandbox / "uv").mkdir(parents=True, exist_ok=True)
        return Bench(
            worker=f"worker-{self.runs}",
            evidence=str(home / "evidence"),
            bytecode=str(self.folder / "bytecode"),
            sandbox=str(sandbox),
            python=sys.executable,
            tag=tag,
            magic=magic,
            level=self.level,
            index=IndexSettings(index_url="http://127.0.0.1:9/"),
            host="linux-x86_64-1cpu-1gb",
            variables=(("PATH", "/usr/bin:/bin"), ("UV_CACHE_DIR", str(sandbox / "uv"))),
        )


def used_lair(
    once: Callable[[str, Callable[[Path], object]], Path],
    place: Path,
    level: Isolation,
    tools: list[tuple[str, str, bytes]],
) -> Lair:
    """Make a lair with what an honest cell left in another one, so that not every test makes
    pytest's tree anew.
    """
    green = "import animal\n\ndef test_green():\n    assert animal.ALIVE\n"

    def fill(folder: Path) -> None:
        evidence = Lair(folder, level, tools, runs=-1).run({}, {"test_a.py": green})
        assert str(classify(evidence)) == "pass"

    # Wheels that another worker packed may differ, by their times.
    digest = hashlib.sha256(b"".join(content for *_, content in tools)).hexdigest()[:12]
    seed = once(f"lair-{level}-{digest}", fill)
    # The installer's cache knows a wheel by its place, which is another one here.
    shutil.copytree(
        seed, place, symlinks=True, ignore=shutil.ignore_patterns("uv"), dirs_exist_ok=True
    )
    return Lair(place, level, tools)
