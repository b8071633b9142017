"""What a machine's own time zone says changes no answer."""

import datetime
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.ran import Run

from compat.cli.machine import now

Remember = Callable[..., None]

COMMANDS = (
    ("matrix", "schedule", "demo", "--json"),
    ("ci", "health", "demo", "--json"),
    ("propose", "demo", "--json"),
    ("show", "demo", "--json"),
)


def zones() -> dict[str, str]:
    """Return time zones in the form of POSIX: one whose summer time began this very day among
    them.
    """
    day = now().timetuple().tm_yday
    return {
        "behind": "ZZZ12",
        "ahead": "ZZZ-14",
        "summer time began today": f"ZZZ0SSS-1,{day - 1}/0,{(day + 100) % 364}/0",
        "summer time ends today": f"ZZZ0SSS-1,{(day + 100) % 364}/0,{day - 1}/0",
    }


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()


def test_every_answer_is_the_same_in_every_time_zone(
    run: Run, root: Path, remember: Remember, zone: pytest.MonkeyPatch
) -> None:
    policy = 'default_months = 24\ncadence = "quarterly"\nnotice_days = 30\nwitnesses = 2\n'
    (root / "matrices" / "demo" / "policy.toml").write_text(policy, encoding="utf-8")
    run("matrix", "lock", "demo", "*")
    run("matrix", "discover", "demo", "--write")
    remember()

    def answers() -> list[str]:
        said = [run(*command) for command in COMMANDS]
        assert [ran.code for ran in said] == [0] * len(COMMANDS), [ran.err for ran in said]
        return [json.dumps(json.loads(ran.out)["data"]) for ran in said]

    in_utc = answers()
    for rule in zones().values():
        zone.setenv("TZ", rule)
        time.tzset()
        assert answers() == in_utc


def test_a_moment_is_in_utc_while_the_local_clock_differs(zone: pytest.MonkeyPatch) -> None:
    zone.setenv("TZ", "ZZZ-14")
    time.tzset()
    before = time.time()
    assert now().utcoffset() == datetime.timedelta(0)
    assert abs(now().timestamp() - before) < 3600
