"""What the in-cell code reported, read with suspicion: any program of the cell may have written these files."""

import json
from pathlib import Path
from typing import Any

import msgspec

from compat.run.evidence import Metric, Raised, Trial

_LARGEST = 20_000_000
_LONGEST = 500


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What the plugin streamed: the part of Evidence that comes from the suite."""

    collected: int | None = None
    finished: bool = False
    collect_errors: tuple[Raised, ...] = ()
    tests: tuple[Trial, ...] = ()
    started_test: str = ""
    metrics: tuple[Metric, ...] = ()


def read_probe(path: Path) -> tuple[float | None, Raised | None]:
    """Return the seconds of the import and what it raised; None for both when the probe left nothing readable."""
    found = _object(_text(path))
    seconds = found.get("seconds")
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds < 0:
        return None, None
    return float(seconds), _raised(found.get("raised"))


def read_report(path: Path) -> Report:
    """Return what the events tell; lines that are none, or that do not fit, are passed over."""
    collected: int | None = None
    finished = False
    errors: list[Raised] = []
    tests: dict[str, Trial] = {}
    open_tests: list[str] = []
    metrics: list[Metric] = []
    for line in _text(path).splitlines():
        event = _object(line)
        match event.get("event"):
            case "collected" if isinstance(event.get("count"), int):
                collected = int(event["count"])
            case "collect-error":
                errors.append(_raised(event.get("raised")) or Raised(type="Error", message="", where=""))
            case "start":
                open_tests.append(_short(event.get("test")))
            case "end":
                test = _test(event)
                if test is not None:
                    tests[test.test] = test
                    open_tests = [name for name in open_tests if name != test.test]
            case "metric":
                metrics.extend(_metric(event))
            case "finish":
                # 0: all passed; 1: some failed; 5: none collected. Others mean that pytest itself was stopped.
                finished = event.get("exitstatus") in (0, 1, 5)
    return Report(
        collected=collected, finished=finished, collect_errors=tuple(errors), tests=tuple(tests.values()),
        started_test=open_tests[-1] if open_tests else "", metrics=tuple(metrics),
    )  # fmt: skip


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("utf-8", errors="replace")
    except OSError:
        return ""


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _raised(found: object) -> Raised | None:
    if not isinstance(found, dict):
        return None
    return Raised(
        type=_short(found.get("type")),
        message=_short(found.get("message")),
        where=_short(found.get("where")),
        of_suite=found.get("of_suite") is True,
    )


def _test(event: dict[str, Any]) -> Trial | None:
    status = event.get("status")
    seconds = event.get("seconds")
    if status not in ("passed", "failed", "skipped", "absent") or not isinstance(seconds, int | float):
        return None
    missing = event.get("missing")
    return Trial(
        test=_short(event.get("test")), capability=_short(event.get("capability")), status=status,
        seconds=max(0.0, float(seconds)), raised=_raised(event.get("raised")),
        missing=tuple(_short(name) for name in missing[:50]) if isinstance(missing, list) else (),
        spelling=_short(event.get("spelling")), helper=event.get("helper") is True,
    )  # fmt: skip


def _metric(event: dict[str, Any]) -> list[Metric]:
    value, better = event.get("value"), event.get("better")
    if not isinstance(value, int | float) or isinstance(value, bool) or value != value or abs(value) > 1e15:
        return []
    if better not in ("lower", "higher"):
        return []
    return [Metric(name=_short(event.get("name")), value=float(value), unit=_short(event.get("unit")), better=better)]


def _short(text: object) -> str:
    if not isinstance(text, str):
        return ""
    return text[:_LONGEST].encode("utf-8", errors="replace").decode()
