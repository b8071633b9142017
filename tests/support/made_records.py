"""Records made up for the tests of the results room, and strategies that make up more."""

import datetime
import hashlib
import json
from contextlib import closing
from typing import Any

import msgspec
from hypothesis import strategies as st

from compat.errors import Fault
from compat.plan.cell import Cell
from compat.results.answers import AnswerTable
from compat.results.record import (
    Attempt,
    Capability,
    Record,
    StepSeconds,
    decisive,
    decode_record,
    encode_record,
)
from compat.results.record_files import RecordFiles
from compat.run.evidence import MOST_METRIC, Installed, Metric
from compat.run.isolation import HIGHEST_FIRST
from compat.run.outcome import CAUSES, STAGES, Failed, Outcome, Passed, parse_outcome

UTC = datetime.timezone.utc
START = datetime.datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
NOW = datetime.datetime(2026, 11, 21, 22, 40, 12, tzinfo=UTC)
CELL = "py3.11-tf2.14-tff0.87.0"
LOCK, OTHER_LOCK, SUITE, OTHER_SUITE = ("1" * 64, "2" * 64, "a" * 64, "b" * 64)


def cell_of(text: str) -> Cell:
    """A cell of that id, of no matrix in particular."""
    recipe: Any = text.partition("+")[2] or "fresh"
    return Cell(matrix="tff", coordinates=(), recipe=recipe, unread=text)


def outcome(text: str) -> Outcome:
    return parse_outcome(text)


def ran(
    *outcomes: str,
    day: int = 0,
    lock: str = LOCK,
    suite: str = SUITE,
    cell: str = CELL,
    **more: Any,
) -> Record:
    """A record of a run that started so many days after START, with an attempt for each outcome."""
    started = START + datetime.timedelta(days=day, seconds=more.pop("second", 0))
    tries = [outcome(text) for text in outcomes]
    return Record(
        **{
            "cell": cell,
            "matrix": "tff",
            "outcome": decisive(tries),
            "lock_digest": lock,
            "suite_digest": suite,
            "started": started,
            "seconds": 12.5,
            "host": "linux-x86_64-2cpu-24gb",
            "isolation": "L2",
            "attempts": tuple(
                Attempt(outcome=one, seconds=12.5, started=started, isolation="L2") for one in tries
            ),
        }
        | more
    )


def capabilities(**statuses: str) -> tuple[Capability, ...]:
    """`capabilities(sum="yes", mean="no")`."""
    return tuple(
        Capability(id=name, status=status)  # type: ignore[arg-type]
        for name, status in statuses.items()
    )


def full() -> Record:
    """A record with something in every field."""
    return ran(
        "test-fail:assertion(sparse.sum)",
        capabilities=(
            Capability(id="aggregation.sum", status="yes", spelling="tff.federated_sum"),
            Capability(
                id="sparse.sum",
                status="no",
                cause="assertion",
                subject="1 is not 2 (test_sparse.py:7)",
            ),
            Capability(
                id="learning.fed-avg",
                status="absent",
                missing=("tff.learning.algorithms", "tff.learning"),
            ),
        ),
        metrics=(Metric(name="import_seconds", value=3.25, unit="s", better="lower"),),
        involved=("tensorflow-privacy",),
        installed=(
            Installed(name="numpy", version="1.26.4"),
            Installed(name="tensorflow", version="2.14.1"),
        ),
        step_seconds=StepSeconds(install=4.5, import_=3.25, suite=4.0, overhead=0.75),
        tool="uv 0.13.1",
        log="E   AssertionError: 1 is not 2",
        run_url="https://ci.example/runs/1",
    )


def raw_of(record: Record) -> dict[str, Any]:
    """What the record's text holds, to be spoilt."""
    found: dict[str, Any] = json.loads(encode_record(record))
    return found


def signed(raw: dict[str, Any]) -> str:
    """The text of these keys with a digest that fits: what a forger would write."""
    body = {key: value for key, value in raw.items() if key != "digest"}
    plain = json.dumps(body, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    digest = hashlib.sha256(plain.encode(errors="replace")).hexdigest()
    return (
        json.dumps({**body, "digest": digest}, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    )


def read_back(record: Record) -> Record:
    return decode_record(encode_record(record), "a test")


texts = st.text(max_size=40)
seconds = st.floats(min_value=0, max_value=1e6, allow_nan=False)
moments = st.datetimes(
    min_value=datetime.datetime(2020, 1, 1),
    max_value=datetime.datetime(2100, 1, 1),
    timezones=st.just(UTC),
)
outcomes: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(Passed),
    st.builds(Failed, stage=st.sampled_from(STAGES), cause=st.sampled_from(CAUSES), subject=texts),
)
_digests = st.sampled_from(["", LOCK, OTHER_LOCK])
_attempts = st.builds(
    Attempt,
    outcome=outcomes,
    seconds=seconds,
    started=moments,
    isolation=st.sampled_from(["L0", "L1", "L2", "L3"]),
)
_capabilities = st.lists(
    st.builds(
        Capability,
        id=st.text(min_size=1, max_size=20),
        status=st.sampled_from(["yes", "absent"]),
        cause=st.sampled_from(["", *CAUSES]),
        subject=texts,
        missing=st.lists(texts, max_size=3).map(tuple),
        spelling=texts,
    ),
    max_size=5,
    unique_by=lambda one: one.id,
).map(tuple)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Any record that can be stored."""
    level = draw(st.sampled_from(HIGHEST_FIRST))
    attempts = tuple(
        msgspec.structs.replace(attempt, isolation=level)
        for attempt in draw(st.lists(_attempts, max_size=3))
    )
    came_to = decisive([one.outcome for one in attempts]) if attempts else draw(outcomes)
    metric = st.builds(
        Metric,
        name=texts,
        value=st.floats(-MOST_METRIC, MOST_METRIC),
        unit=texts,
        better=st.just("lower"),
    )
    return Record(
        cell=draw(st.from_regex(r"py3\.[0-9]{1,2}-tf2\.[0-9]{1,3}(\+relaxed)?", fullmatch=True)),
        matrix=draw(st.sampled_from(["tff", "pip-tools"])),
        outcome=came_to,
        attempts=attempts,
        lock_digest=draw(_digests),
        suite_digest=draw(_digests),
        started=draw(moments),
        seconds=draw(st.one_of(seconds, st.integers(0, 10_000))),
        host=draw(
            st.from_regex(r"linux-(x86_64|aarch64)-[0-9]{1,2}cpu-[0-9]{1,3}gb", fullmatch=True)
        ),
        isolation=level,
        tool=draw(texts),
        capabilities=draw(_capabilities),
        metrics=tuple(draw(st.lists(metric, max_size=2))),
        involved=("tensorflow-privacy",),
        installed=tuple(
            draw(st.lists(st.builds(Installed, name=texts, version=texts), max_size=3, unique=True))
        ),
        step_seconds=draw(
            st.builds(StepSeconds, install=st.none() | seconds, import_=st.none() | seconds)
        ),
        log=draw(st.text(max_size=200)),
        run_url=draw(st.sampled_from(["", "https://ci.example/runs/7"])),
    )


# Few outcomes, locks and days, so that they meet.
_TOLD = (
    "pass",
    "test-fail:assertion(sum)",
    "import-fail:missing-module(jax)",
    "lock-fail:conflict(numpy)",
    "test-fail:wall-time",
    "import-fail:silence",
    "install-fail:network",
    "test-fail:memory",
    "test-fail:killed(sum)",
    "test-fail:output",
)
SPURIOUS = (
    "install-fail:network",
    "test-fail:disk",
    "lock-fail:index",
    "import-fail:worker",
    "test-fail:cancelled",
)


@st.composite
def runs(draw: st.DrawFn, told: tuple[str, ...] = _TOLD) -> Record:
    """A run of CELL among few possible ones."""
    tries = draw(st.lists(st.sampled_from(told), min_size=1, max_size=2))
    statuses = st.dictionaries(st.sampled_from(["sum", "mean"]), st.sampled_from(["yes", "absent"]))
    failing = "pass" not in tries and draw(st.booleans())
    return ran(
        *tries,
        day=draw(st.integers(0, 6)),
        lock=draw(st.sampled_from([LOCK, OTHER_LOCK])),
        suite=draw(st.sampled_from([SUITE, OTHER_SUITE])),
        capabilities=capabilities(**draw(statuses), **({"last": "no"} if failing else {})),
    )


def cells_in(store: RecordFiles) -> tuple[str, ...]:
    """The cells with a record in a store."""
    days = (store.read(store.folder / name) for name, _ in store.states())
    return tuple(sorted({record.cell for day in days for _, record in day.records}))


def damaged(store: RecordFiles, now: datetime.datetime) -> tuple[Fault, ...]:
    with closing(AnswerTable(None, store, now.date())) as table:
        table.refresh()
        return table.damaged(now)
