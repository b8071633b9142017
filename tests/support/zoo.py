"""Keeps the zoo: builds each animal's package, serves it from an index on this machine, and says
where all of it is.
"""

import base64
import functools
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import psutil
from msgspec import toml
from packaging.requirements import Requirement

from compat.run.supervise import levels
from support.documents import toml as written
from support.fake_index import FakeIndex, File, body, in_json

ANIMALS = Path(__file__).parent.parent / "zoo" / "animals"
SERIES = f"{sys.version_info.major}.{sys.version_info.minor}"
# What pytest uses of it; the other 300 modules each cell would unpack, hash and compile.
PYGMENTS = {"__init__", "_mapping", "python", "diff", "terminal", "default"}
level = functools.cache(lambda: levels(os.environ)[0])
SHARED: list[Path] = []  # the folder that tests/conftest.py makes for all workers
MATRIX = """\
name = "zoo"
title = "The zoo"
subject = "animal"
platform = "x86_64-manylinux_2_17"
margin_days = 1
axes = [
  {{ kind = "interpreter", name = "python", short = "py", releases = ["{python}"] }},
  {{ kind = "package", name = "animal", short = "", package = "{name}" }},
]
"""


@dataclass
class Animal:
    """A package that fails in one way: its story, its module, its suite, and what a run of it must
    come to.

    With `level` it comes to that at this level of isolation only.
    """

    name: str
    story: str
    outcome: str
    module: str = "ALIVE = True\n"
    suite: str = "def test_alive():\n    import animal\n\n    assert animal.ALIVE\n"
    requires: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    tag: str = "py3-none-any"
    metadata_version: str = "1.0"
    suite_requires: list[str] = field(default_factory=list)
    attempts: int = 1
    declared_module: str = "animal"
    test_file: str = "test_animal.py"
    settings: str = ""
    runner: str = "pytest"
    verdict: str = ""
    level: str = ""


def animals() -> list[Animal]:
    """Return all animals, by name."""
    return [
        Animal(name=path.stem, **toml.decode(path.read_bytes()))
        for path in sorted(ANIMALS.glob("*.toml"))
    ]


def wheel(
    name: str, version: str, files: dict[str, str], requires: list[str], tag: str = "py3-none-any"
) -> bytes:
    """Return a wheel with those files."""
    info = f"{name}-{version}.dist-info"
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    whole = {
        **files,
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        record = f"{info}/RECORD"
        whole[record] = ""
        for path, text in whole.items():
            # Not of now, so that each worker makes the same wheel.
            member = zipfile.ZipInfo(path)
            member.external_attr = 0o600 << 16
            archive.writestr(member, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
            row = f"{path},sha256={digest.rstrip(b'=').decode()},{len(text.encode())}\n"
            whole[record] += "" if path == record else row
    return packed.getvalue()


def sdist(name: str, files: dict[str, str]) -> bytes:
    """Return release 1.0 of a source distribution with those files."""
    files = {"PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", **files}
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}-1.0/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return whole.getvalue()


def repacked(name: str, with_entry_points: bool = False) -> tuple[str, str, bytes]:
    """Return the name, the version and a wheel of a pure distribution that these tests run with."""
    found = distribution(name)
    files = {
        str(path): Path(str(found.locate_file(path))).read_text(encoding="utf-8")
        for path in found.files or ()
        if path.suffix in (".py", ".pyi", ".txt")
        and ".." not in path.parts
        and (not path.match("pygments/*/*") or path.stem in PYGMENTS)
        and (
            "dist-info" not in path.parts[0]
            or (with_entry_points and path.name == "entry_points.txt")
        )
    }
    requires = [text for text in found.requires or () if "extra ==" not in text]
    plain = name.replace("-", "_")
    return plain, found.version, wheel(plain, found.version, files, requires)


def pytest_and_its_needs() -> list[tuple[str, str, bytes]]:
    """Return wheels of pytest and all that it needs here."""
    found: dict[str, tuple[str, str, bytes]] = {}
    waiting = ["pytest"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = repacked(name)
        for text in distribution(name).requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append(needed.name)
    return list(found.values())


def open_gates(
    index: FakeIndex, animal: Animal, root: Path, tools: list[tuple[str, str, bytes]]
) -> str:
    """Serve the animal and the tools, write its matrix under `root`, and return its cell's id."""
    package = f"zoo{animal.name.replace('-', '')}"
    served: dict[str, list[tuple[str, bytes, str]]] = {}
    for name, version, content in tools:
        served.setdefault(name, []).append((version, content, "py3-none-any"))
    files = {"animal.py": animal.module, **animal.files}
    made = wheel(package, animal.metadata_version, files, animal.requires, animal.tag)
    served[package] = [("1.0", made, animal.tag)]
    for spec, requires in animal.others.items():
        other, _, version = spec.partition("==")
        served.setdefault(other, []).append(
            (version, wheel(other, version, {f"{other}.py": ""}, requires.split()), "py3-none-any")
        )
    for name, releases in served.items():
        serve(index, name, releases)
    folder = root / "matrices" / "zoo"
    (folder / "suite").mkdir(parents=True)
    suite = {
        "path": "suite",
        "module": animal.declared_module,
        "requirements": [animal.runner, *animal.suite_requires],
        **animal.limits,
    }
    python = ".".join(str(part) for part in sys.version_info[:3])
    matrix = MATRIX.format(python=python, name=package).replace('short = ""', 'short = "a"')
    (folder / "matrix.toml").write_text(
        matrix + written({"suite": suite}).decode(), encoding="utf-8"
    )
    (folder / "suite" / animal.test_file).write_text(animal.suite, encoding="utf-8")
    if animal.settings:
        (folder / "suite" / "pytest.ini").write_text(animal.settings, encoding="utf-8")
    return f"py{SERIES}-a1.0"


def serve(
    index: FakeIndex,
    name: str,
    releases: list[tuple[str, bytes, str]],
    days: Mapping[str, str] | None = None,
) -> None:
    """Serve the wheels of a package: version, content and tag of each; `days` has the day on which
    a version came out.
    """
    files: list[File] = []
    for version, content, tag in releases:
        filename = f"{name}-{version}-{tag}.whl"
        index.answers(f"/files/{filename}", body(content, "application/octet-stream"))
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            metadata = archive.read(
                next(entry for entry in archive.namelist() if entry.endswith("/METADATA"))
            )
        metadata = metadata.replace(b"Version: 2.0\n", f"Version: {version}\n".encode())
        index.answers(f"/files/{filename}.metadata", body(metadata, "application/octet-stream"))
        digest = hashlib.sha256(content).hexdigest()
        uploaded = f"{(days or {}).get(version, '2024-01-01')}T00:00:00Z"
        files.append(File(filename, "", digest, None, uploaded, metadata=True))
    index.page(name.replace("_", "-"), in_json(files))


def shares(cache: Path) -> None:
    """Give a new cache what any cell before left: bytecode, that a canary lived, interpreters."""
    own = [cache / "interpreters", *(cache / level() / name for name in ("bytecode", "canaries"))]
    for folder in own if SHARED else []:
        (SHARED[0] / folder.name).mkdir(parents=True, exist_ok=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.exists():
            folder.symlink_to(SHARED[0] / folder.name)


class Repository:
    """A repository with one animal, and a process for each command."""

    def __init__(
        self,
        root: Path,
        cache: Path,
        index: FakeIndex,
        animal: Animal,
        tools: list[tuple[str, str, bytes]],
    ) -> None:
        self.root = root
        self.cache = cache
        self.cell = open_gates(index, animal, root, tools)
        shares(cache)
        kept = {
            key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "UV_"))
        }
        self.environ = kept | {
            "COMPAT_CACHE_DIR": str(cache),
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_INDEX_URL": index.url,
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            "UV_HTTP_RETRIES": "0",
        }

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start `compat` with these words.

        It does not ask pip, which tests/index does: for each command that would take as long again.
        """
        says = f":env:.index-url={self.environ['PIP_INDEX_URL']!r}\n"
        program = (
            f"from compat.index import settings; settings._pip_config_list = lambda: {says!r}\n"
            "from compat.cli.app import main; main()"
        )
        command = [sys.executable, "-c", program, *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.root, env=self.environ, text=True, stdout=pipe, stderr=pipe
        )

    def run(self, *words: str) -> tuple[int, str, str]:
        """Run `compat` with these words; return its exit code and what it said."""
        process = self.start(*words)
        out, err = process.communicate(timeout=900)
        return process.returncode, out, err

    def records(self) -> list[bytes]:
        """Return the lines of the records."""
        paths = sorted((self.root / "matrices" / "zoo" / "records").glob("*.jsonl"))
        return [line for path in paths for line in path.read_bytes().splitlines()]

    @property
    def sandbox(self) -> Path:
        """Where cells are, at the highest level that this machine allows."""
        return self.cache / level() / "sandbox"

    def alive(self) -> list[int]:
        """Return the processes whose folder or arguments lie in a cell of this cache."""
        marker = re.compile(re.escape(str(self.cache)) + "/L[0-3]/sandbox/cells")
        return [
            process.pid
            for process in psutil.process_iter(["cmdline", "cwd"])
            if marker.search(" ".join(process.info["cmdline"] or ()))
            or marker.search(process.info["cwd"] or "")
        ]


def described(animal: Animal) -> dict[str, Any]:
    """Return what a failing test shows of an animal."""
    return {"story": animal.story, "outcome": animal.outcome}
