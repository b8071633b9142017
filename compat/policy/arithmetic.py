"""The `policy` room's arithmetic: the lines by which a person follows a floor from dates and
declarations.
"""

from collections.abc import Iterator

from packaging.version import Version

from compat.declare.matrix import Axis, InterpreterAxis
from compat.policy.as_of import AsOf, package_words
from compat.policy.floor_steps import FloorSteps
from compat.policy.window import CADENCES, Slot, hold_words, rule_of, window_of


def floor_arithmetic(steps: FloorSteps) -> tuple[str, ...]:
    as_of, axis = steps.as_of, steps.axis
    parts = (
        _looking_back(as_of),
        *(part(as_of, axis) for part in (_floor, _rule)),
        _calendar(steps),
        *(part(as_of, axis) for part in (_bad, _admits)),
    )
    return tuple(line for part in parts for line in part)


def _looking_back(as_of: AsOf) -> Iterator[str]:
    if as_of.looks_back:
        yield (
            f"This looks back at {as_of.day}: only what had been released by then counts, and"
            " declared holds do not. The cells were run later, some with a patch release that came"
            " after that day."
        )


def _floor(as_of: AsOf, axis: Axis) -> Iterator[str]:
    floor = as_of.floors[axis.name]
    if not as_of.looks_back:
        because = next(floor.because for floor in as_of.matrix.floors if floor.axis == axis.name)
        yield f"The floor of {package_words(axis)} is {floor}: {_ended(because)}"
    elif as_of.newest is not None:
        day = as_of.newest[1].uploaded
        since = "" if day is None else f" of {day.date()}"
        asked = f"asks for {_asked(as_of, axis)}"
        yield f"The newest release then, {as_of.called}{since}, {asked}, so the floor is {floor}."


def _rule(as_of: AsOf, axis: Axis) -> Iterator[str]:
    window = window_of(as_of.policy, axis.name)
    yield f"The floor may rise to {rule_of(window)}. {_ended(window.because)}"


def _calendar(steps: FloorSteps) -> Iterator[str]:
    as_of, axis, hold = steps.as_of, steps.axis, steps.hold
    package, reached = package_words(axis), as_of.calendar(axis.name)
    following = next((step for step in steps.calendar if step.on > as_of.day), None)
    is_stopped = hold is not None and reached is not None and reached.version > hold.at
    if reached is None:
        yield f"On {as_of.day} the calendar does not let go of any {package} yet."
    elif not is_stopped:
        yield from _steps(as_of, axis, reached)
        yield f"So on {as_of.day} the calendar allows {package} {reached.version}."
    if hold is not None:
        yield f"Until {hold.until} there is {_ended(hold_words(hold, steps.at, dated=False))}"
    if is_stopped and steps.under_the_hold is not None:
        yield f"So on {as_of.day} calendar and hold allow {package} {steps.under_the_hold}."
    if following is None:
        return
    slot, on = following.slot, following.on
    out = "out since" if slot.came.released <= as_of.day else "planned for"
    if following.held is not None:
        yield (
            f"The first step past the hold is {package} {slot.version}, {out}"
            f" {slot.came.released}: with a release after {on}."
        )
    else:
        every = CADENCES[as_of.policy.cadence]
        yield (
            f"The {'next' if reached else 'first'} is {slot.version}, {out} {slot.came.released}: "
            f"allowed from {slot.allowed}, on the first day of a {every} from {on}."
        )


def _steps(as_of: AsOf, axis: Axis, slot: Slot) -> Iterator[str]:
    window, version_release = window_of(as_of.policy, axis.name), slot.came
    yield (
        f"{package_words(axis)} {version_release.version} came out on {version_release.released}"
        f" ({version_release.source})."
    )
    if window.months is not None:
        yield f"{window.months} months later is {slot.allowed}."
    else:
        yield f"By the rule it is allowed from {slot.allowed} on."
    if slot.on != slot.allowed:
        yield f"Floors rise on the first day of a {CADENCES[as_of.policy.cadence]}: {slot.on}."


def _bad(as_of: AsOf, axis: Axis) -> Iterator[str]:
    for bad in as_of.policy.known_bad:
        if bad.axis == axis.name:
            yield (
                f"{package_words(axis)} {bad.version} is passed over, it is known to be bad:"
                f" {_ended(bad.because)}"
            )


def _admits(as_of: AsOf, axis: Axis) -> Iterator[str]:
    if as_of.asks(axis) is not None and not as_of.looks_back:
        yield f"The newest release, {as_of.called}, asks for {_asked(as_of, axis)}."


def _asked(as_of: AsOf, axis: Axis) -> str:
    """What the newest release asks of an axis; of a package, with the newest Python of the
    matrix.
    """
    asked = as_of.asks(axis)
    what = f"{package_words(axis)} {asked}" if asked else f"any {package_words(axis)}"
    return what if isinstance(axis, InterpreterAxis) else f"{what} on Python {as_of.newest_python}"


def package_and_version(axis: Axis, version: Version) -> str:
    return f"{package_words(axis)} {version}"


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
