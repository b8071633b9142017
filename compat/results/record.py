"""The record of one run of one cell, and its text with format and digest."""

import datetime
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from packaging.utils import canonicalize_name

from compat.declare.matrix import Tier
from compat.declare.parsing import Name
from compat.errors import Fault, RecordError
from compat.lock.resolvers import PYTHON, packages_in
from compat.run.evidence import Installed, Isolation, Metric
from compat.run.outcome import (
    EXCEPTIONS,
    Cause,
    Failed,
    Outcome,
    Passed,
    is_before_import,
    is_doubtful,
    is_spurious,
    match_signature,
    parse_outcome,
)
from compat.value import StrictValue

Raw = dict[str, Any]
# An outcome, or its text in a file; and an attempt with either.
T = TypeVar("T")
A = TypeVar("A")
_MOST_SHOWN = 60


def strict(text: str) -> Any:
    """Parse strict JSON (RFC 8259): also a key that stands there twice raises ValueError."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        for key, _ in pairs if len(members) < len(pairs) else ():
            if sum(key == other for other, _ in pairs) > 1:
                raise ValueError(f"has the key {key[:_MOST_SHOWN]!r} twice")
        return members

    document = msgspec.json.decode(text)
    json.loads(text, object_pairs_hook=unique)
    return document


FORMAT = 5
MOST_BYTES = 2 * 1024 * 1024
MOST_LOG_BYTES = 4096
LONGEST_TEXT = 1000
FIRST_YEAR = 2000
INSTALLED = "installed_size"  # the metric of a cell's installed size
# Other file systems treat these as devices, with any suffix.
RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10))]
)
_CELL_ID = re.compile(r"[a-z0-9](?:[a-z0-9_!+-]|\.(?!\.)){0,198}[a-z0-9_]")
# Keys are sorted, so a line follows this one. Two spaces exclude nested keys, and no text has a raw
# line break.
_DIGEST = '\n  "digest": "'
# A capability's subject: the exception, and its place in brackets.
_TOLD = re.compile(r"(?P<message>.*) \((?P<at>[^()]*)\)", re.DOTALL)

Status = Literal["yes", "no", "absent"]
Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
UtcDatetime = Annotated[datetime.datetime, msgspec.Meta(tz=True)]
Digest = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^([0-9a-f]{64})?$(?!\n)", description="a sha256 in lower-case hex, or empty"
    ),
]
# At most four parts, so this can be no host's name.
HostClass = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[a-z]+-[a-z0-9_]+-[0-9]+cpu-[0-9]+gb$(?!\n)",
        description="a class such as linux-x86_64-2cpu-24gb",
    ),
]
RunUrl = Annotated[str, msgspec.Meta(pattern=r"^(https://[!#-;=?-~]+)?$(?!\n)", max_length=500)]


class Capability(StrictValue, frozen=True, kw_only=True):
    """The result of one capability.

    `cause` and `subject` say why it failed; `missing` is the API that an absent one lacks.

    `spelling` is its name in this version, where names changed.
    """

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    status: Status
    cause: Cause | Literal[""] = ""
    subject: Text = ""
    missing: tuple[Text, ...] = ()
    spelling: Text = ""

    @property
    def failed(self) -> Failed | None:
        return _failed(self.id, self.cause, self.subject) if self.status == "no" else None


# A verdict needs it several times, and the runs of a cell fail in the same way.
@lru_cache(maxsize=10_000)
def _failed(name: str, cause: Cause | Literal[""], subject: str) -> Failed:
    text = _TOLD.fullmatch(subject)
    _, blamed = match_signature(EXCEPTIONS, text["message"] if text else subject) or ("", "")
    place = text["at"] if text else ""
    return Failed(stage="test", cause=cause or "error", subject=name, by=blamed, at=place)


class StepSeconds(StrictValue, frozen=True, kw_only=True):
    """Seconds of each step, None where not reached; `overhead` is compat's own share."""

    install: Seconds | None = None
    import_: Seconds | None = msgspec.field(default=None, name="import")
    suite: Seconds | None = None
    overhead: Seconds | None = None


class _Try(StrictValue, Generic[T], frozen=True, kw_only=True):
    outcome: T
    seconds: Seconds
    started: UtcDatetime
    isolation: Isolation


class Attempt(_Try[Outcome], frozen=True, kw_only=True):
    """One try inside a run; each uses a clean cell, and all are stored."""


class _Run(StrictValue, Generic[T, A], frozen=True, kw_only=True):
    cell: str
    matrix: Name
    outcome: T
    lock_digest: Digest
    suite_digest: Digest
    started: UtcDatetime
    seconds: Seconds
    host: HostClass
    isolation: Isolation
    tier: Tier = "full"
    tool: Text = ""
    capabilities: tuple[Capability, ...] = ()
    metrics: tuple[Metric, ...] = ()
    installed: tuple[Installed, ...] = ()
    involved: tuple[Text, ...] = ()
    remarks: tuple[Text, ...] = ()
    step_seconds: StepSeconds = StepSeconds()
    log: str = ""
    run_url: RunUrl = ""
    attempts: tuple[A, ...] = ()


class Record(_Run[Outcome, Attempt], frozen=True, kw_only=True):
    """One run of one cell. `started` is in UTC, and `log` a redacted excerpt of at most 4 KiB.

    `lock_digest` is empty without a lock, and so is then `suite_digest`: a resolution failure does
    not depend on the suite. `outcome` is that of one of the attempts, see `decisive`; without
    attempts it is its own. `involved` are the packages that it names, by normalised name. `remarks`
    are notes on the installed packages beyond the outcome: code that the interpreter runs at its
    start, wrong RECORDs. `tier` is how much of the suite was requested; where no suite could run it
    is `full`.
    """

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return tuple(attempt.outcome for attempt in self.attempts) or (self.outcome,)


_Stored = _Run[str, _Try[str]]


class _Written(_Run[str, _Try[str]], frozen=True, kw_only=True):
    format: int
    digest: str


_written = msgspec.json.Decoder(_Written)


def decisive(outcomes: Sequence[Outcome]) -> Outcome:
    """Where those disagree it is the last failure: no retry hides one."""
    telling = [each for each in outcomes if not (is_spurious(each) or is_doubtful(each))]
    failures = [outcome for outcome in telling if isinstance(outcome, Failed)]
    return (failures or telling or outcomes)[-1]


def is_cell_id(text: str) -> bool:
    return bool(_CELL_ID.fullmatch(text)) and text.partition(".")[0] not in RESERVED


def encode_record(record: Record) -> str:
    tries = tuple(_Try[str](**_texts(attempt)) for attempt in record.attempts)
    stored = _Stored(**{**_texts(record), "attempts": tries})
    place = f"record of {record.cell}"
    try:
        # Through `convert`, so that an integer of seconds is written as the number that is read
        # back.
        body = msgspec.convert(msgspec.to_builtins(stored), _Stored)
        raw = {**msgspec.to_builtins(body), "format": FORMAT}
        digest = hashlib.sha256(_canonical(raw).encode()).hexdigest()
        text = _canonical({**raw, "digest": digest})
    except (msgspec.ValidationError, UnicodeError) as fault:
        raise RecordError(_fault(place, str(fault))) from fault
    if decode_record(text, place) != record:
        raise RecordError.of(
            "holds what cannot be read back, such as a number that is not finite", path=place
        )
    return text


def decode_record(text: str, source: str) -> Record:
    """Raises RecordError with one line for anything else, or where it was changed."""
    try:
        # A character takes at most four bytes.
        if len(text) * 4 > MOST_BYTES and len(text.encode()) > MOST_BYTES:
            raise ValueError(f"is larger than {MOST_BYTES} bytes")
        try:
            written = _written.decode(text)
        except ValueError:
            # What matters more than the first key that does not fit.
            raw = strict(text)
            if not isinstance(raw, dict):
                raise ValueError("is not a JSON object") from None
            _refuse_other_format(raw.get("format"))
            raise
        _refuse_other_format(written.format)
        if written.digest != record_digest(text):
            raise ValueError("is not as it was written: its digest differs")
        if _canonical(written) != text:
            strict(text)  # no key twice
            raise ValueError("is not as it was written: its digest fits another spelling")
        tries = tuple(Attempt(**_values(attempt)) for attempt in written.attempts)
        record = Record(**{**_values(written), "attempts": tries})
        _refuse_unsound(record)
        return record
    except (ValueError, UnicodeError) as fault:
        raise RecordError(_fault(source, str(fault))) from fault
    except RecursionError as fault:
        raise RecordError(_fault(source, "is nested too deep")) from fault


def _refuse_other_format(number: object) -> None:
    if number != FORMAT or not isinstance(number, int) or isinstance(number, bool):
        raise ValueError(f"has format {number!r}; this version of compat reads {FORMAT}")


def encode_line(record: Record) -> bytes:
    return msgspec.json.format(encode_record(record).encode(), indent=-1) + b"\n"


def decode_line(line: bytes, source: str) -> Record:
    try:
        text = msgspec.json.format(line, indent=2).decode() + "\n"
    except (ValueError, RecursionError):
        try:
            text = line.decode()
        except UnicodeDecodeError as fault:
            message = f"is not UTF-8 at byte {fault.start}"
            raise RecordError(_fault(source, message)) from fault
    return decode_record(text, source)


def record_digest(text: str) -> str:
    """Return the sha256 of a record's text without its digest's line; empty without that line."""
    before, separator, after = text.partition(_DIGEST)
    _, _, rest = after.partition("\n")
    return hashlib.sha256(f"{before}\n{rest}".encode()).hexdigest() if separator else ""


def _canonical(raw: Raw | _Written) -> str:
    return msgspec.json.format(msgspec.json.encode(raw, order="sorted"), indent=2).decode() + "\n"


def _texts(ran: Record | Attempt) -> Raw:
    """The fields of a run, of which the outcome is a text."""
    return {f: getattr(ran, f) for f in ran.__struct_fields__} | {"outcome": str(ran.outcome)}


def _values(stored: _Run[str, _Try[str]] | _Try[str]) -> Raw:
    fields = (_Run if isinstance(stored, _Run) else _Try).__struct_fields__
    return {f: getattr(stored, f) for f in fields} | {"outcome": parse_outcome(stored.outcome)}


def _refuse_unsound(record: Record) -> None:
    if not is_cell_id(record.cell):
        form = "lower-case letters, digits, '._+!-', no '..'"
        raise ValueError(f"cell: {record.cell[:80]!r} cannot be a cell id: {form}")
    for moment in (record.started, *(attempt.started for attempt in record.attempts)):
        if moment.utcoffset() or moment.year < FIRST_YEAR:
            text = f"{moment.isoformat()} is not a moment in UTC since {FIRST_YEAR}"
            raise ValueError(f"started: {text}")
    if len(record.log.encode()) > MOST_LOG_BYTES:
        raise ValueError(f"log: is longer than {MOST_LOG_BYTES} bytes")
    if record.outcome != decisive(record.outcomes):
        raise ValueError(f"outcome: its attempts do not result in {record.outcome}")
    if levels := {a.isolation for a in record.attempts} - {record.isolation}:
        raise ValueError(f"isolation: attempts ran at {min(levels)}, not at {record.isolation}")
    for outcome in (record.outcome, *record.outcomes):
        parts = (outcome.subject, outcome.by, outcome.at) if isinstance(outcome, Failed) else ()
        if any(len(part) > LONGEST_TEXT for part in parts):
            raise ValueError(f"outcome: a part of it is longer than {LONGEST_TEXT} characters")
    ids = [capability.id for capability in record.capabilities]
    if len(set(ids)) < len(ids):
        raise ValueError("capabilities: one stands there twice")
    if len(set(record.installed)) < len(record.installed):
        raise ValueError("installed: one stands there twice")
    if isinstance(record.outcome, Passed) and any(c.status == "no" for c in record.capabilities):
        raise ValueError("outcome: it cannot pass while a capability is 'no'")


def _fault(source: str, message: str) -> Fault:
    reason, separator, key = message.partition(" - at `$")
    path = f"{source}: {key.rstrip('`').lstrip('.')}" if separator else source
    return Fault(code=RecordError.code, path=path, message=reason)


_LIBRARY = re.compile(r"python3\.\d+/")


def involved(
    outcome: Outcome, installed: Iterable[str], modules: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the packages that a failure names, by normalised name, then the owner of its code.
    `modules` has the package of each module whose name does not show it, by dotted name.
    """
    if not isinstance(outcome, Failed):
        return ()
    if is_before_import(outcome):
        return packages_in(outcome.subject)
    known = {PYTHON, *installed, *modules.values()}
    # An attribute, a module, or a product as people write its name; then the code's owner.
    named = (_package(outcome.thing.split("."), modules),) if outcome.thing else ()
    place = outcome.place
    owner: tuple[str, ...] = ()
    if _LIBRARY.match(place):
        owner = (PYTHON,)
    elif place:
        owner = (owner_of(place, modules),)
    return tuple(dict.fromkeys(name for name in (*named, *owner) if name in known))


def owner_of(place: str, modules: Mapping[str, str]) -> str:
    """Return the package of an installed file, by the same `modules`."""
    return _package(re.split(r"[/:]", re.sub(r"\.\w+(?=:|$)", "", place)), modules)


def involved_in_failure(subject: str, because: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*packages_in(subject), *packages_in(because)]))


def third_package(packages: Iterable[str], asked: frozenset[str]) -> str:
    return next((name for name in packages if asked and name not in asked | {PYTHON}), "")


def blocked_import(outcome: Outcome, packages: Iterable[str], asked: frozenset[str]) -> str:
    is_import = isinstance(outcome, Failed) and outcome.stage == "import"
    return third_package(packages, asked) if is_import else ""


def _package(parts: list[str], modules: Mapping[str, str]) -> str:
    # That of the longest known prefix, else of its top.
    for length in range(len(parts), 0, -1):
        package = modules.get(".".join(parts[:length]))
        if package is not None:
            return package
    return canonicalize_name(re.sub(r"\s+", "-", parts[0]))
