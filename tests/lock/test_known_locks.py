"""A lock answers other questions that its pins meet, and no others."""

import datetime
import os
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version
from support.fake_index import FakeIndex

from compat.index.pypi import PyPISource
from compat.index.settings import IndexSettings
from compat.lock.demands import KnownLocks
from compat.lock.lockfile import Cutoff, Inputs, Lock, Pin
from compat.lock.uv import UvLocker


def day(number: int) -> datetime.datetime:
    return datetime.datetime(2024, 1, number, tzinfo=datetime.timezone.utc)


def inputs(*requirements: str, **more: Any) -> Inputs:
    stated = {"python": Version("3.11.7"), "platform": "x86_64-manylinux_2_28"} | more
    return Inputs(cell="c", requirements=tuple(sorted(requirements)), **stated)


def free(*names: str) -> tuple[Cutoff, ...]:
    return tuple(Cutoff(package=name, until=None) for name in names)


QUESTIONS = (
    inputs("demo==1.0"),
    inputs("demo==1.0", as_of=day(4)),
    inputs("demo==1.0", as_of=day(10)),
    inputs("demo==1.0", "deep<2", as_of=day(10)),
    inputs("dep"),
    inputs("dep<2"),
    inputs("dep==2.*", as_of=day(16)),
    inputs("dep==2.*", as_of=day(16), cutoffs=free("deep")),
    inputs("dep==2.*", "deep==2.0"),
    inputs("demo==1.0", overrides=("deep==2.0",)),
    inputs("demo==1.0", "deep==1.0", overrides=("deep==2.0",)),
    inputs("demo==1.0", overrides=("deep<3",)),
    inputs("demo==1.0", excludes=("deep",)),
    inputs("pre==2.*"),
    inputs("pre==2.*", no_prereleases=("pre",)),
    inputs("demo==1.0", python=Version("3.8.18")),
)


@pytest.fixture
def source(demo_index: FakeIndex) -> PyPISource:
    return PyPISource(IndexSettings(index_url=demo_index.url))


def test_what_a_lock_answers_the_resolver_can_lock(
    demo_index: FakeIndex, source: PyPISource, tmp_path: Path
) -> None:
    environ = {**os.environ, "UV_CACHE_DIR": str(tmp_path), "UV_HTTP_RETRIES": "0"}
    locker = UvLocker(IndexSettings(index_url=demo_index.url), environ, lambda _: None)
    answers = [locker.lock(question) for question in QUESTIONS]
    locked = [answer for answer in answers if isinstance(answer, Lock)]
    saved = 0
    for lock, (question, answer) in product(locked, zip(QUESTIONS, answers, strict=True)):
        known = KnownLocks(source.package)
        known.add(lock)
        if known.answering(question) is not None:
            assert isinstance(answer, Lock), (lock.inputs, question, answer)
            saved += lock.inputs != question
    assert saved >= 15


PINS = {"demo": "1.0", "dep": "1.1", "deep": "1.0"}
ASKED = inputs("demo==1.0", "dep[extra]<2")
ANSWERED: list[tuple[Inputs, dict[str, Any], bool]] = [
    (inputs("demo==1.0"), {}, True),
    (inputs("demo"), {}, True),
    (inputs("demo", "dep<1.1"), {}, False),
    (inputs("demo", "late"), {}, False),
    (inputs("demo", "dep[extra]"), {}, True),
    (inputs("demo", "dep[other]"), {}, False),
    (inputs("demo", "dep @ https://example.org/dep.zip"), {}, False),
    (inputs("demo", as_of=day(10)), {}, True),
    (inputs("demo", as_of=day(4)), {}, False),
    (inputs("demo", as_of=day(4), cutoffs=free("dep")), {}, True),
    (inputs("demo", overrides=("deep<2",)), {}, True),
    (inputs("demo", overrides=("deep==2.0",)), {}, False),
    (inputs("demo", "deep==9", overrides=("deep<2",)), {}, True),
    (inputs("demo"), {"overrides": ("deep<2",)}, False),
    (inputs("demo", overrides=("deep",)), {"overrides": ("deep<2",)}, True),
    (inputs("demo"), {"overrides": ("late<2",)}, True),
    (inputs("demo"), {"excludes": ("deep",)}, False),
    (inputs("demo", python=Version("3.8.18")), {}, False),
]


@pytest.mark.parametrize(("question", "of_lock", "is_answered"), ANSWERED)
def test_a_lock_answers_what_its_pins_meet(
    source: PyPISource, question: Inputs, of_lock: dict[str, Any], is_answered: bool
) -> None:
    pins = tuple(
        Pin(name=name, version=Version(version), hashes=()) for name, version in PINS.items()
    )
    made = inputs(*ASKED.requirements, **of_lock)
    known = KnownLocks(source.package)
    known.add(Lock(inputs=made, pins=pins, tool="uv"))
    assert (known.answering(question) is not None) is is_answered


def test_a_lock_with_a_pre_release_answers_nothing_else(source: PyPISource) -> None:
    known = KnownLocks(source.package)
    pin = Pin(name="dep", version=Version("2.1rc1"), hashes=())
    known.add(Lock(inputs=inputs("dep==2.1rc1"), pins=(pin,), tool="uv"))
    assert known.answering(inputs("dep>=2.1rc1")) is None
