"""The `policy` room's arithmetic: the lines by which a person follows a floor from dates and
declarations.
"""

from collections.abc import Iterator

from packaging.version import Version

from compat.declare.matrix import Axis, InterpreterAxis
from compat.policy.as_of import AsOf, package_words
from compat.policy.window import CADENCES, Slot, rule_of, window_of


def floor_arithmetic(moment: AsOf, axis: Axis) -> tuple[str, ...]:
    """Return the lines for one axis that has a floor."""
    parts = (
        _looking_back(moment),
        *(part(moment, axis) for part in (_floor, _rule, _calendar, _exceptions, _admits)),
    )
    return tuple(line for part in parts for line in part)


def _looking_back(moment: AsOf) -> Iterator[str]:
    if moment.looks_back:
        yield (
            f"This looks back at {moment.day}: only what had been released by then counts, and"
            " declared holds do not. The cells were run later, some with a patch release that came"
            " after that day."
        )


def _floor(moment: AsOf, axis: Axis) -> Iterator[str]:
    floor = moment.floors[axis.name]
    if not moment.looks_back:
        because = next(one.because for one in moment.matrix.floors if one.axis == axis.name)
        yield f"The floor of {package_words(axis)} is {floor}: {_ended(because)}"
    elif moment.newest is not None:
        day = moment.newest[1].uploaded
        since = "" if day is None else f" of {day.date()}"
        asked = f"asks for {_asked(moment, axis)}"
        yield f"The newest release then, {moment.called}{since}, {asked}, so the floor is {floor}."


def _rule(moment: AsOf, axis: Axis) -> Iterator[str]:
    window = window_of(moment.policy, axis.name)
    yield f"The floor may rise to {rule_of(window)}. {_ended(window.because)}"


def _calendar(moment: AsOf, axis: Axis) -> Iterator[str]:
    reached, bad = moment.calendar(axis.name), moment.bad(axis.name)
    at = None if reached is None else reached.version
    known = moment.slots[axis.name]
    after = [(s.on, s) for s in known if s.on is not None and (at is None or s.version > at)]
    after = [(on, slot) for on, slot in after if slot.version not in bad]
    every = CADENCES[moment.policy.cadence]
    if reached is None:
        yield f"On {moment.day} the calendar does not let go of any {package_words(axis)} yet."
    else:
        yield from _steps(moment, axis, reached)
        yield f"So on {moment.day} the calendar allows {package_words(axis)} {reached.version}."
    if after:
        on, slot = min(after, key=lambda pair: (pair[0], pair[1].version))
        out = "out since" if slot.came.released <= moment.day else "planned for"
        yield (
            f"The {'next' if reached else 'first'} is {slot.version}, {out} {slot.came.released}: "
            f"allowed from {slot.allowed}, on the first day of a {every} from {on}."
        )


def _steps(moment: AsOf, axis: Axis, slot: Slot) -> Iterator[str]:
    window, came = window_of(moment.policy, axis.name), slot.came
    yield f"{package_words(axis)} {came.version} came out on {came.released} ({came.source})."
    if window.months is not None:
        yield f"{window.months} months later is {slot.allowed}."
    else:
        yield f"By the rule it is allowed from {slot.allowed} on."
    if slot.on != slot.allowed:
        yield f"Floors rise on the first day of a {CADENCES[moment.policy.cadence]}: {slot.on}."


def _exceptions(moment: AsOf, axis: Axis) -> Iterator[str]:
    hold = moment.hold(axis.name)
    if hold is not None:
        yield f"Until {hold.until} a hold lets it rise to {hold.at} at most: {_ended(hold.because)}"
    for bad in moment.policy.known_bad:
        if bad.axis == axis.name:
            yield (
                f"{package_words(axis)} {bad.version} is passed over, it is known to be bad:"
                f" {_ended(bad.because)}"
            )


def _admits(moment: AsOf, axis: Axis) -> Iterator[str]:
    if moment.asks(axis) is not None and not moment.looks_back:
        yield f"The newest release, {moment.called}, asks for {_asked(moment, axis)}."


def _asked(moment: AsOf, axis: Axis) -> str:
    """What the newest release asks of an axis; of a package, with the newest Python of the
    matrix.
    """
    asked = moment.asks(axis)
    what = f"{package_words(axis)} {asked}" if asked else f"any {package_words(axis)}"
    return what if isinstance(axis, InterpreterAxis) else f"{what} on Python {moment.newest_python}"


def package_and_version(axis: Axis, version: Version) -> str:
    """Return a version with what it is a version of."""
    return f"{package_words(axis)} {version}"


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
