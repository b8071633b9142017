"""Reads TOML: bytes to a plain document, or the fault."""

import re
import sys
from typing import Any

from compat.declare.faults import Path, fault_place
from compat.errors import DeclarationError, Fault

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# About 75 times the largest declaration; TOML of this size is read in a quarter of a second.
MOST_BYTES = 256 * 1024
DEEPEST = 16
_TOO_DEEP = f"is nested deeper than {DEEPEST} levels"

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "UTF-8 with a byte order mark"),
    (b"\xff\xfe", "UTF-16 or UTF-32"),
    (b"\xfe\xff", "UTF-16 or UTF-32"),
)
# A string up to its closing quote or the end of its line: enough to distinguish keys from strings.
_QUOTED = re.compile(r""""(?:[^"\\\n]+|\\.)*(?:"|\\?$)|'[^'\n]*(?:'|$)""", re.MULTILINE)
# tomllib takes quadratic time and memory in the parts of a dotted key (CPython 3.11).
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{DEEPEST + 1}}}")


def toml_document(content: bytes, source: str) -> dict[str, Any]:
    """Raises DeclarationError, also beyond 256 KiB, 16 levels, and integers of 64 bits."""
    if len(content) > MOST_BYTES:
        raise _refusal(
            "too-large", source, f"has {len(content)} bytes; allowed: at most {MOST_BYTES}"
        )
    text = _text(content, source)
    if not text.strip():
        raise _refusal("empty", source, "is empty")
    if _LONG_KEY.search(_QUOTED.sub("q", text)):
        raise _refusal("too-deep", source, f"has a dotted key of more than {DEEPEST} parts")
    try:
        parsed = tomllib.loads(text)
    except RecursionError as cause:
        raise _refusal("too-deep", source, _TOO_DEEP) from cause
    except tomllib.TOMLDecodeError as error:
        end = f"at the end, line {text.count(chr(10)) + 1}"
        message = str(error).replace("at end of document", end)
        raise _refusal("toml-syntax", source, f"is not TOML: {message}") from error
    except ValueError as cause:
        # Python refuses to read more than 4300 digits.
        raise _refusal("bad-value", source, "has an integer of too many digits") from cause
    # What later readers would choke on; a stack of its own, because the document may be deep.
    waiting: list[tuple[Path, Any]] = [((), parsed)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > DEEPEST:
            raise _refusal("too-deep", source, _TOO_DEEP)
        if isinstance(value, dict | list):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*path, key), inner) for key, inner in pairs]
        elif isinstance(value, int) and abs(value) >= 2**63:
            place = fault_place(source, path)
            raise _refusal("bad-value", place, "is an integer beyond 64 bits")
    return parsed


def _text(content: bytes, source: str) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            raise _refusal(
                "encoding", source, f"is {encoding}; allowed: UTF-8 without a byte order mark"
            )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refusal(
            "encoding", source, f"is not UTF-8: byte 0x{content[error.start]:02x} in line {line}"
        ) from error


def _refusal(code: str, path: str, message: str) -> DeclarationError:
    return DeclarationError(Fault(code=code, path=path, message=message))
