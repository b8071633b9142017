"""What the real index says today about the cells that the project began with, by both lockers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import uv
from packaging.pylock import Pylock
from packaging.version import Version

from compat.cli.machine import interpreter
from compat.cli.options import workspace_of
from compat.cli.this_machine import locker_of, uv_locker
from compat.declare.matrix import target_of
from compat.index.discover import wheels_elsewhere
from compat.lock.lockfile import Inputs, Lock, Refusal, stored_lock
from compat.lock.piptools import PipToolsLocker
from compat.lock.recipe import locked_cell
from compat.pipeline import locked
from compat.plan.cell import parse_cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import Infeasible, plan
from compat.workspace import Workspace

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.real_index
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def tff(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The matrix of TFF, with an empty cache."""
    return setting("tff", tmp_path_factory.mktemp("cache"))


def setting(name: str, cache: Path) -> Workspace:
    before = os.environ.get("COMPAT_CACHE_DIR")
    os.environ["COMPAT_CACHE_DIR"] = str(cache)
    try:
        made = workspace_of(name, ROOT)
        assert made.catalogue.packages
        return made
    finally:
        os.environ.pop("COMPAT_CACHE_DIR")
        if before is not None:
            os.environ["COMPAT_CACHE_DIR"] = before


def answer(here: Workspace, cell: str, locker: str = "uv") -> Lock | Refusal | Infeasible:
    facts = Feasibility(here.matrix, here.catalogue)
    resolver = locker_of(here, "pip-tools" if locker == "pip-tools" else "uv")
    return locked(here, facts, parse_cell(cell, here.matrix), resolver)


def resolved(here: Workspace, cell: str, locker: str = "uv") -> Lock | Refusal:
    """What the resolver says, whatever the plan knows."""
    facts = Feasibility(here.matrix, here.catalogue)
    resolver = locker_of(here, "pip-tools" if locker == "pip-tools" else "uv")
    return locked_cell(facts, parse_cell(cell, here.matrix), resolver, here.source.package)


def test_the_plan_of_tff_is_a_partition_and_every_rule_is_needed(tff: Workspace) -> None:
    made = plan(tff.matrix, tff.catalogue)
    ids = {fate.cell.id for fate in made.fates}
    # Three recipes at 9,044 places, but for seven where no rule changes what 0.17.0 asks for.
    assert len(ids) == len(made.fates) >= 27_125
    assert made.unneeded == ()


def test_the_plan_knows_what_the_resolver_would_refuse_of_the_newest_release(
    tff: Workspace,
) -> None:
    known = answer(tff, "py3.11-tf2.14-tff0.87.0")
    assert isinstance(known, Infeasible)
    assert known.obstacle.between == ("jaxlib==0.4.14",)
    refusal = resolved(tff, "py3.11-tf2.14-tff0.87.0")
    assert str(refusal) == "lock-fail:no-artifact(jaxlib==0.4.14)"


def test_relaxed_the_newest_release_locks(tff: Workspace) -> None:
    made = answer(tff, "py3.11-tf2.14-tff0.87.0+relaxed")
    assert isinstance(made, Lock)
    versions = {pin.name: pin.version for pin in made.pins}
    assert versions["jaxlib"] == Version("0.4.20")
    assert versions["tensorflow"].release[:2] == (2, 14)


def test_0_36_on_python_3_8_is_infeasible_as_published_and_locks_relaxed(tff: Workspace) -> None:
    published = answer(tff, "py3.8-tf2.10-tff0.36.0")
    assert isinstance(published, Infeasible)
    assert published.obstacle.kind == "requires-python"
    made = answer(tff, "py3.8-tf2.10-tff0.36.0+relaxed")
    assert isinstance(made, Lock)
    assert {pin.name: pin.version for pin in made.pins}["tensorflow-federated"] == Version("0.36.0")


@pytest.mark.parametrize("cell", ["py3.11-pip24-piptools7.4", "py3.11-pip22-piptools7.3+dated"])
def test_both_lockers_give_the_same_pins(cell: str, tmp_path: Path) -> None:
    if interpreter(Version("3.11")) is None:
        pytest.fail(
            "pip-tools locks under the cell's own interpreter, and this machine has no Python 3.11"
        )
    here = setting("pip-tools", tmp_path)
    by_uv, by_pip_tools = answer(here, cell, "uv"), answer(here, cell, "pip-tools")
    assert isinstance(by_uv, Lock)
    assert isinstance(by_pip_tools, Lock)
    assert by_uv.pins == by_pip_tools.pins
    assert by_uv.digest == by_pip_tools.digest
    assert isinstance(locker_of(here, "pip-tools"), PipToolsLocker)


def test_both_lockers_give_the_same_refusal(tff: Workspace) -> None:
    cell = "py3.11-tf2.14-tff0.87.0"
    if interpreter(Version("3.11")) is None:
        pytest.fail(
            "pip-tools locks under the cell's own interpreter, and this machine has no Python 3.11"
        )
    assert str(resolved(tff, cell, "pip-tools")) == str(resolved(tff, cell, "uv"))


def test_a_lock_for_another_platform_has_what_is_installed_there(tff: Workspace) -> None:
    def asked(requirement: str) -> Lock | Refusal:
        inputs = Inputs(
            cell="py3.11-elsewhere",
            python=Version("3.11.7"),
            platform=target_of("macos-arm64", tff.matrix.platform),
            requirements=(requirement,),
        )
        return uv_locker(tff).lock(inputs)

    # Of 2.15 the package for macOS arm64 is an empty one that requires another (its metadata).
    lock = asked("tensorflow==2.15.0")
    assert isinstance(lock, Lock), lock
    assert "tensorflow-macos" in {pin.name for pin in lock.pins}
    # 2.12 has wheels, and none for macOS arm64.
    refusal = asked("tensorflow==2.12.0")
    assert isinstance(refusal, Refusal), refusal
    assert refusal.cause == "no-artifact"


def test_what_is_pinned_has_wheels_for_other_platforms(tff: Workspace) -> None:
    found = wheels_elsewhere(tff.matrix, tff.catalogue.required, tff.source)
    (addons,) = (package for package in found if package.name == "tensorflow-addons")
    names = {file.filename for release in addons.releases for file in release.artifacts}
    assert "tensorflow_addons-0.11.2-cp38-cp38-win_amd64.whl" in names
    assert not any("manylinux2010_x86_64" in name for name in names)


def test_a_stored_lock_becomes_a_pylock_with_the_same_files(tmp_path: Path) -> None:
    """By uv, as docs/declaration.md says; pip and uv install from it."""
    path = ROOT / "matrices/pip-tools/locks/py3.13-pip26-piptools7.6.txt"
    lock, out = stored_lock(path), tmp_path / "pylock.toml"
    command = [uv.find_uv_bin(), "pip", "compile", "--quiet", "--no-deps", "--python", "3.13"]
    form = ["--format", "pylock.toml", "--output-file", str(out)]
    subprocess.run([*command, *form, str(path)], check=True, timeout=300)
    exported = Pylock.from_dict(tomllib.loads(out.read_text(encoding="utf-8")))
    found = {}
    for package in exported.packages:
        files = [*(package.wheels or ()), *([package.sdist] if package.sdist else [])]
        found[package.name] = (package.version, {file.hashes["sha256"] for file in files})
    assert found == {pin.name: (pin.version, {*pin.hashes}) for pin in lock.pins}
