"""The `advise` room's commands: how to install exactly what a lock pins, with uv and with pip."""

from shlex import quote

from compat.declare.parsing import minor_series
from compat.lock.lock_text import encode_pin
from compat.lock.lockfile import Lock
from compat.value import Value

FOLDER = "cell"


class Whereabouts(Value, frozen=True):
    """Where a lock file is: a path or an address.

    `pins` and `given` are its two parts, where they are kept apart.

    A lock with `install_as_python` is installed in two steps by uv: its subject as if for that
    Python, the rest as usual.
    """

    lock: str
    pins: str = ""
    given: str = ""


class Commands(Value, frozen=True):
    """The lines that make the virtual environment `cell` and install the lock into it."""

    uv: tuple[str, ...]
    pip: tuple[str, ...]


def commands(lock: Lock, at: Whereabouts) -> Commands:
    """Return the commands that install a lock, as a shell takes them."""
    return Commands(uv=uv_lines(lock, at), pip=pip_lines(lock, at))


def uv_lines(lock: Lock, at: Whereabouts) -> tuple[str, ...]:
    """Return the commands with uv, which fetches the interpreter too."""
    install = f"uv pip install --python {FOLDER} --no-deps --require-hashes"
    first = f"uv venv --python {series(lock)} {FOLDER}"
    if not in_two_steps(lock):
        return first, f"{install} -r {quote(at.lock)}"
    pins, subject_file = at.pins or "pins.txt", at.given or "given.txt"
    return (
        first,
        *(() if at.pins and at.given else _split(lock, at.lock)),
        f"{install} -r {quote(pins)}",
        f"{install} --python-version {lock.inputs.install_as_python} -r {quote(subject_file)}",
    )


def pip_lines(lock: Lock, at: Whereabouts) -> tuple[str, ...]:
    """Return the commands with pip; what declares no such Python is let in, and exact pins leave no
    choice.
    """
    ignoring = " --ignore-requires-python" if in_two_steps(lock) else ""
    return (
        f"python{series(lock)} -m venv {FOLDER}",
        (
            f"{FOLDER}/bin/python -m pip install --no-deps --require-hashes{ignoring} -r"
            f" {quote(at.lock)}"
        ),
    )


def series(lock: Lock) -> str:
    """Return the interpreter series that the lock is for, X.Y."""
    return minor_series(lock.inputs.python)


def in_two_steps(lock: Lock) -> bool:
    """Return whether the lock's subject does not declare the lock's Python."""
    return lock.inputs.injected_pin is not None and lock.inputs.install_as_python is not None


def parts(lock: Lock) -> tuple[str, str]:
    """Return the two requirements files of a lock: everything but the given subject, and that
    alone.
    """
    injected = "" if lock.inputs.injected_pin is None else lock.inputs.injected_pin.name
    texts = [(pin.name == injected, encode_pin(pin)) for pin in lock.pins]
    rest, subject = (
        "".join(f"{text}\n" for is_given, text in texts if is_given is side)
        for side in (False, True)
    )
    return rest, subject


def _split(lock: Lock, path: str) -> tuple[str, ...]:
    name = "" if lock.inputs.injected_pin is None else lock.inputs.injected_pin.name
    mark = f"/^[a-z0-9]/ {{ given = /^{name}==/ }}"
    return (
        f"awk '{mark} given' {quote(path)} > given.txt",
        f"awk '{mark} !given' {quote(path)} > pins.txt",
    )
