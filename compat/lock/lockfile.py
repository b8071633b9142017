"""The interface of lockers: Inputs in; a Lock, or a `Refusal` (a resolution failure with its
cause), out.
"""

import datetime
import hashlib
import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal, Protocol

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat.errors import DeclarationError
from compat.files import first_bytes, read, tree_states
from compat.value import LazyMapping, Value

Cause = Literal[
    "no-artifact",
    "requires-python",
    "conflict",
    "yanked",
    "build",
    "build-tool",
    "unsupported",
    "source-only",
    "suite-fault",
]


class Pin(Value, frozen=True):
    """A package (name as in PEP 503) at one version, with the sorted sha256 of its files."""

    name: str
    version: Version
    hashes: tuple[str, ...]


class Cutoff(Value, frozen=True):
    """A package's own date inside a lock: releases up to `until` are visible; None: all."""

    package: str
    until: datetime.datetime | None


class Inputs(Value, frozen=True):
    """Everything that decides a lock, in resolver's terms; sorted, so that equal inputs are equal.

    `python` is a full CPython version and `platform` an architecture with a glibc
    (`x86_64-manylinux_2_31`). `requirements` are the roots; packages in `no_prereleases` may not be
    pre-releases. `overrides` replace requirements throughout the tree, and `excludes` drop packages
    from it. `as_of` hides later releases; `cutoffs` are the exemptions. `injected_pin` joins the
    answer unresolved: the subject, when its own requirements are among the roots.
    `install_as_python` is a Python that it admits, when it does not admit the cell's: the installer
    needs it to install the pin. `floors` are requirements whose packages get the lowest version
    that the others and the tree allow. `constraints` bound packages without requiring them. `index`
    is the address of a further index for this lock alone; all indexes then rank equally. `suite`
    are the requirements of the suite alone: the library is resolved without them.
    """

    cell: str
    python: Version
    platform: str
    requirements: tuple[str, ...]
    no_prereleases: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    as_of: datetime.datetime | None = None
    cutoffs: tuple[Cutoff, ...] = ()
    injected_pin: Pin | None = None
    install_as_python: Version | None = None
    floors: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    index: str = ""
    suite: tuple[str, ...] = ()

    def cutoff(self, package: str) -> datetime.datetime | None:
        """Return the moment up to which releases of the package are visible; None: all of them."""
        return next(
            (cutoff.until for cutoff in self.cutoffs if cutoff.package == package), self.as_of
        )


class Lock(Value, frozen=True):
    """The exact pins that satisfy the inputs, sorted by name. `tool` is the locker and its version.

    `builds` names the pins without a fitting wheel on the index: they are built from their source
    distribution. `suite_only` names the pins that only the suite and pytest need; None where
    unknown, as in locks from before 26 November 2026.
    """

    inputs: Inputs
    pins: tuple[Pin, ...]
    tool: str
    builds: tuple[str, ...] = ()
    suite_only: tuple[str, ...] | None = None

    @property
    def versions(self) -> dict[str, Version]:
        return {pin.name: pin.version for pin in self.pins}

    @property
    def library_pins(self) -> tuple[Pin, ...]:
        """What a user installs: the pins without the suite's; all where that is unknown."""
        return tuple(pin for pin in self.pins if pin.name not in (self.suite_only or ()))

    @property
    def suite_pins(self) -> tuple[Pin, ...]:
        return tuple(pin for pin in self.pins if pin.name in (self.suite_only or ()))

    @property
    def digest(self) -> str:
        """The sha256 over names, versions and hashes: equal digests install the same files."""
        return lock_digest(self.pins)


def lock_digest(pins: Iterable[Pin]) -> str:
    lines = (f"{pin.name}=={pin.version} {' '.join(pin.hashes)}\n" for pin in pins)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


class Refusal(Value, frozen=True):
    """A resolution failure that the resolver proved.

    `subject` is the requirement that cannot be met, `because` one sentence. `hidden` names packages
    that the date hid from the resolver, in order of mention. `wheelless` names those with a release
    that has no usable wheel. `named` are all packages of its derivation, normalised (PEP 503) and
    sorted; empty where it shows none.
    """

    cause: Cause
    subject: str
    because: str
    hidden: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    wheelless: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"lock-fail:{self.cause}({self.subject})"


class Locker(Protocol):
    """Turns inputs into exact pins."""

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        """Return the pins or a Refusal; raise IndexUnreachable, or ToolFailed on other trouble."""


# Encodes and decodes lock files: requirements with hashes, whose comments hold the inputs.

FORMAT = "1"
NOW = "now"
_MOMENT = "%Y-%m-%dT%H:%M:%SZ"
_NONE = "-"
_HEAD = re.compile(r"^# ([a-z-]+(?: \S+)?): (.*)$", re.MULTILINE)
_DIGEST = re.compile(r"^# digest: ([0-9a-f]{64})$", re.MULTILINE)
# A head is longer than 2 kB only where a matrix lifts many requirements.
MOST_HEAD = 20_000
_PLAIN = re.compile(r"\s*([a-z0-9](?:-?[a-z0-9])*)==([0-9]+(?:\.[0-9]+)*)\s*")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_BODY = re.compile(r"^(?!#)", re.MULTILINE)
_BREAK = " \\\n    --hash=sha256:"
_PINNED = re.compile(r"^([a-z0-9](?:-?[a-z0-9])*)==([^\s\\]+)", re.MULTILINE)
# Inputs that are lists, each entry on a line with this key.
_LISTS = {
    "require": "requirements",
    "suite": "suite",
    "final": "no_prereleases",
    "override": "overrides",
    "exclude": "excludes",
    "floor": "floors",
    "constraint": "constraints",
}


def encode_lock(lock: Lock) -> str:
    """Return the lock as text, without machine, index or time: equal locks are equal bytes."""
    return "\n".join([*_head(lock), *(encode_pin(pin) for pin in lock.pins)]) + "\n"


def decode_lock(text: str, source: str) -> Lock:
    head, body = _split(text)
    try:
        if head["lock-format"] != [FORMAT]:
            raise ValueError(
                f"lock format {head['lock-format'][0]!r} is not {FORMAT}; lock the cell again"
            )
        pins, digest = tuple(decode_pins(body)), head["digest"][0]
        # Of another hand's text only the pins themselves can have the digest.
        lines = body.replace(_BREAK, " ").encode()
        if digest not in (hashlib.sha256(lines).hexdigest(), lock_digest(pins)):
            raise ValueError("its pins are not those that were locked: the digest differs")
        only = head.get("suite-only")
        return Lock(
            inputs=_inputs(head, pins),
            pins=pins,
            tool=head["tool"][0],
            builds=tuple(head.get("build", ())),
            suite_only=None if only is None else tuple(() if only == [_NONE] else only[0].split()),
        )
    except KeyError as missing:
        message = f"lacks the line '# {missing.args[0]}: ...'"
    except ValueError as fault:
        message = str(fault)
    raise DeclarationError.of(message, path=source, hint="`compat matrix lock` writes it anew")


def read_digest(text: str) -> str:
    match = _DIGEST.search(text[:MOST_HEAD])
    return match[1] if match else ""


def read_pins(text: str) -> dict[str, Version]:
    """Return the versions of the library's pins by name; of all pins in an old lock."""
    only = _split(text)[0].get("suite-only", [_NONE])[0].split()
    return {
        name: locked_version(version) for name, version in _PINNED.findall(text) if name not in only
    }


def decode_pins(text: str) -> list[Pin]:
    entries = (entry.strip() for entry in text.replace("\\\n", " ").splitlines())
    pins = (_pin_of(entry) for entry in entries if entry and not entry.startswith("#"))
    return sorted(pins, key=lambda pin: pin.name)


# Locks of one matrix share most pins.
@lru_cache(maxsize=20_000)
def _pin_of(entry: str) -> Pin:
    asked, _, _ = entry.partition("--hash=")
    name, version = parse_exact(asked)
    hashes = tuple(sorted(set(_HASH.findall(entry))))
    if not hashes:
        raise ValueError(f"{name} has no sha256 hash")
    return Pin(name=name, version=version, hashes=hashes)


def parse_exact(text: str) -> tuple[str, Version]:
    # Our own text needs no full parser of requirements, which takes ten times as long.
    if plain := _PLAIN.fullmatch(text):
        return plain[1], locked_version(plain[2])
    try:
        requirement = Requirement(text.strip())
        (specifier,) = requirement.specifier
        version = Version(specifier.version)
    except (InvalidRequirement, InvalidVersion, ValueError) as error:
        raise ValueError(f"{text.strip()[:80]!r} is not an exact pin") from error
    if specifier.operator != "==":
        raise ValueError(f"{text.strip()[:80]!r} is not an exact pin")
    return canonicalize_name(requirement.name), version


@lru_cache(maxsize=20_000)
def locked_version(text: str) -> Version:
    return Version(text)


def _head(lock: Lock) -> list[str]:
    inputs = lock.inputs
    lines = [
        ("cell", inputs.cell),
        ("lock-format", FORMAT),
        ("python", str(inputs.python)),
        ("platform", inputs.platform),
        ("as-of", moment_text(inputs.as_of)),
        *((f"as-of {cutoff.package}", moment_text(cutoff.until)) for cutoff in inputs.cutoffs),
        *((key, text) for key, field in _LISTS.items() for text in getattr(inputs, field)),
        *([("index", inputs.index)] if inputs.index else []),
        *([("given", inputs.injected_pin.name)] if inputs.injected_pin else []),
        *([("given-python", str(inputs.install_as_python))] if inputs.install_as_python else []),
        *(("build", name) for name in lock.builds),
        *([] if lock.suite_only is None else [("suite-only", " ".join(lock.suite_only) or _NONE)]),
        ("tool", lock.tool),
        ("digest", lock.digest),
    ]
    return [f"# {key}: {value}" for key, value in lines]


def encode_pin(pin: Pin) -> str:
    return " \\\n".join(
        [f"{pin.name}=={pin.version}", *(f"    --hash=sha256:{digest}" for digest in pin.hashes)]
    )


def _split(text: str) -> tuple[dict[str, list[str]], str]:
    head: dict[str, list[str]] = {}
    begin = match.start() if (match := _BODY.search(text)) else len(text)
    for key, value in _HEAD.findall(text, 0, begin):
        head.setdefault(key, []).append(value)
    return head, text[begin:]


def _inputs(head: dict[str, list[str]], pins: tuple[Pin, ...]) -> Inputs:
    injected = head.get("given", [""])[0]
    return Inputs(
        cell=head["cell"][0],
        python=locked_version(head["python"][0]),
        platform=head["platform"][0],
        **{field: tuple(head.get(key, ())) for key, field in _LISTS.items()},
        index=head.get("index", [""])[0],
        as_of=_parse_moment(head["as-of"][0]),
        cutoffs=tuple(
            Cutoff(package=key.partition(" ")[2], until=_parse_moment(values[0]))
            for key, values in head.items()
            if key.startswith("as-of ")
        ),
        injected_pin=next((pin for pin in pins if pin.name == injected), None),
        install_as_python=next(
            (locked_version(text) for text in head.get("given-python", ())), None
        ),
    )


def moment_text(moment: datetime.datetime | None) -> str:
    utc = datetime.timezone.utc
    return NOW if moment is None else moment.astimezone(utc).strftime(_MOMENT)


@lru_cache(maxsize=20_000)
def _parse_moment(text: str) -> datetime.datetime | None:
    if text == NOW:
        return None
    return datetime.datetime.strptime(text, _MOMENT).replace(tzinfo=datetime.timezone.utc)


def stored_lock(path: Path) -> Lock:
    return decode_lock(read(path).decode(errors="replace"), "/".join(path.parts[-4:]))


class LockDigests(LazyMapping[str]):
    """The digest of each lock of a folder, by cell; a lock is read on first use."""

    def __init__(self, folder: Path) -> None:
        super().__init__(lambda: self.states, self._digest)
        self._folder = folder

    @cached_property
    def states(self) -> dict[str, str]:
        """Size and time of each lock's file at the first call: others may write one now."""
        files = (state.rsplit(" ", 2) for state in tree_states(self._folder))
        return {
            name.removesuffix(".txt"): f"{size} {changed}"
            for name, size, changed in files
            if name.endswith(".txt") and "/" not in name
        }

    def _digest(self, cell: str) -> str | None:
        if cell not in self.states:
            return None
        text = first_bytes(f"{self._folder}/{cell}.txt", MOST_HEAD)
        return read_digest(text.decode(errors="replace"))
