"""Source builds in a cell: with the tools of the cell's date, and a tool that fails says nothing of
the versions.
"""

import datetime
import hashlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from packaging.version import Version
from support.built import THEN, inputs_of, run_of, variables
from support.fake_index import FakeIndex, File, body, in_json, metadata
from support.zoo import sdist, wheel
from test_classify import but, step

from compat.index.pypi import PyPISource
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Lock
from compat.lock.resolvers import own_error, refusal_of_uv, tool_at_fault
from compat.lock.sources import NamedBuilds
from compat.lock.uv import UvLocker
from compat.results.judge import judged, record_of
from compat.run.builds import Builder, Workshop
from compat.run.cell_run import CellRun
from compat.run.classify import classify
from compat.run.evidence import Limits
from compat.run.outcome import is_spurious

# Its build asks for a tool without saying which version, and needs what only the old one has.
BACKEND = """\
import base64, hashlib, zipfile
import buildtool
buildtool.OLD

def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "old-1.0-py3-none-any.whl"
    files = {
        "old.py": "",
        "old-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: old\\nVersion: 1.0\\n",
        "old-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: \
py3-none-any\\n",
        "old-1.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(directory + "/" + name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return name
"""
PROJECT = """\
[build-system]
requires = ["buildtool"]
build-backend = "backend"
backend-path = ["."]
"""
DATES = (("then", THEN), ("now", None))


SDIST = sdist("old", {"pyproject.toml": PROJECT, "backend.py": BACKEND})


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeIndex]:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    fake = FakeIndex()
    tools = {
        "buildtool-1.0-py3-none-any.whl": (
            wheel("buildtool", "1.0", {"buildtool.py": "OLD = 1\n"}, []),
            1,
        ),
        "buildtool-2.0-py3-none-any.whl": (wheel("buildtool", "2.0", {"buildtool.py": ""}, []), 20),
    }
    pages = {"buildtool": tools, "old": {"old-1.0.tar.gz": (SDIST, 2)}}
    for name, contents in pages.items():
        files = []
        for filename, (content, day) in contents.items():
            fake.answers(f"/files/{filename}", body(content, "application/octet-stream"))
            uploaded = f"2024-01-{day:02}T12:00:00Z"
            digest = hashlib.sha256(content).hexdigest()
            is_wheel = filename.endswith(".whl")
            if is_wheel:
                text = metadata(name, filename.split("-")[1])
                fake.answers(f"/files/{filename}.metadata", body(text, "application/octet-stream"))
            files.append(File(filename, "", digest, None, uploaded, metadata=is_wheel or None))
        fake.page(name, in_json(files))
    yield fake
    fake.stop()


def cell(index: FakeIndex, folder: Path, as_of: datetime.datetime | None) -> CellRun:
    return run_of(
        inputs_of("old", as_of),
        hashlib.sha256(SDIST).hexdigest(),
        folder,
        ("old==1.0",),
        level="L0",
        sandbox=str(folder),
        index=IndexSettings(index_url=index.url),
        variables=variables(folder / "uv"),
    )


def workshop(settings: IndexSettings, environ: dict[str, str], shelf: Path) -> Workshop:
    limits = Limits(
        wall_seconds=300,
        silence_seconds=300,
        memory_mb=1024,
        processes=100,
        output_mb=5,
        disk_mb=512,
    )
    return Workshop(
        python=sys.executable,
        level="L0",
        index=settings,
        variables=tuple(environ.items()),
        limits=limits,
        shelf=str(shelf),
    )


def _same(shop: Workshop, _: Version) -> Workshop:
    return shop


def test_a_source_build_uses_the_tools_of_the_cells_date(index: FakeIndex, tmp_path: Path) -> None:
    then, now = (cell(index, tmp_path / name, as_of).run() for name, as_of in DATES)
    assert [item.name for item in then.installed] == ["old"], then.steps[-1].log
    assert str(classify(then)) == "pass"
    assert str(classify(now)) == "install-fail:build(old==1.0)"
    assert (
        "AttributeError: module 'buildtool' has no attribute 'OLD'"
        in record_of([judged(now)], tool="made").log
    )


def test_a_lock_builds_with_the_tools_of_its_date(index: FakeIndex, tmp_path: Path) -> None:
    """No file of this source distribution says what it requires, so that its lock must build it."""
    for name, as_of in DATES:
        environ = dict(variables(tmp_path / name))
        settings = IndexSettings(index_url=index.url)
        shop = workshop(settings, environ, tmp_path / f"shelf-{name}")
        builder = Builder(partial(_same, shop))
        named = NamedBuilds((("old", Version("1.0")),), PyPISource(settings), builder)
        locker = UvLocker(settings, environ, lambda _: sys.executable, named)
        answer = locker.lock(inputs_of("old", as_of))
        assert isinstance(answer, Lock) is (as_of is THEN), answer
        if isinstance(answer, Lock):
            assert answer.builds == ("old",)
            assert [pin.hashes for pin in answer.pins] == [(hashlib.sha256(SDIST).hexdigest(),)]
        else:
            assert answer.cause == "build"
            assert "module 'buildtool' has no attribute 'OLD'" in answer.because


# uv 0.13.9 with setuptools of 2026, under Python 3.11.
UV = """\
Using Python 3.11.7 environment at: b1
Resolved 1 package in 826ms
   Building {package}
error: Failed to build `{package}`
  cause: The build backend returned an error
  cause: Call to `setuptools.build_meta:__legacy__.get_requires_for_build_wheel` failed (exit \
status: 1)

         [stderr]
         Traceback (most recent call last):
           File "<string>", line 14, in <module>
           File "<cache>/lib/python3.11/site-packages/setuptools/build_meta.py", line 317, in \
run_setup
             exec(code, locals())  # noqa: S102 # exec is intentional here
             ^^^^^^^^^^^^^^^^^^^^
           File "<string>", line 31, in <module>
         {error}

hint: Build failures usually indicate a problem with the package or the build environment
"""
PKG_RESOURCES = "ModuleNotFoundError: No module named 'pkg_resources'"
OF_PYTHON = "RuntimeError: Python version 2.7 or 3.4+ is required."
BUILDS = [
    ("pandas==1.1.5", PKG_RESOURCES, "pkg_resources"),
    ("grpcio==1.34.1", PKG_RESOURCES, "pkg_resources"),
    ("demo==1.0", "error: command 'gcc' failed: No such file or directory", "gcc"),
    ("demo==1.0", "error in demo setup command: use_2to3 is invalid.", "setuptools"),
    ("demo==1.0", "AttributeError: module 'pkgutil' has no attribute 'ImpImporter'", "setuptools"),
    ("absl-py==0.9.0", OF_PYTHON, ""),
    ("demo==1.0", "error: command '/usr/bin/gcc' failed with exit code 1", ""),
    ("demo==1.0", "ModuleNotFoundError: No module named 'numpy'", ""),
]


@pytest.mark.parametrize(("package", "error", "tool"), BUILDS)
def test_a_failing_build_tool_never_counts_against_versions(
    package: str, error: str, tool: str
) -> None:
    log = UV.format(package=package, error=error)
    outcome = classify(but(steps=(step("install", log, 1),)))
    told = f"build-tool({package}; by {tool})" if tool else f"build({package})"
    assert str(outcome) == f"install-fail:{told}"
    assert is_spurious(outcome) is bool(tool)
    refusal = refusal_of_uv(log)
    assert refusal is not None
    assert (refusal.cause, refusal.subject) == ("build-tool" if tool else "build", package)
    assert tool_at_fault(log) == tool


@pytest.mark.parametrize(
    ("package", "error", "tool"), [build for build in BUILDS if "use_2to3" not in build[1]]
)
def test_the_builders_own_error_is_kept(package: str, error: str, tool: str) -> None:
    log = UV.format(package=package, error=error)
    assert own_error(log) == error
    refusal = refusal_of_uv(log)
    assert refusal is not None
    assert error.replace("/usr/bin/gcc", "<path>") in refusal.because
    record = record_of([judged(but(steps=(step("install", log, 1),)))], tool="made")
    assert record.log.splitlines()[0] == error.replace("/usr/bin/", "")


def test_what_is_no_build_has_no_builders_error() -> None:
    assert own_error("error: Request failed after 3 retries") == ""
    assert tool_at_fault("ModuleNotFoundError: No module named 'setuptools'") == ""
