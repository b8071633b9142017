"""The machine of `compat run --fleet`: what its locking builds, it builds isolated."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from compat.cli import this_machine
from compat.cli.machine import level_of
from compat.cli.options import workspace_of
from compat.cli.worker import FleetMachine, address_of


@pytest.mark.skipif(find_spec("distributed") is None, reason="the extra fleet is not installed")
def test_what_a_fleet_builds_while_it_locks_is_isolated_as_far_as_can_be(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[object] = []
    monkeypatch.setattr(
        this_machine, "locker_of", lambda _, name, level, shown: levels.append(level)
    )
    address = address_of("dask://127.0.0.1:1", None, serves=True)
    FleetMachine(workspace_of("demo", root), address).locker()
    assert levels == [level_of("")]
