"""The `results` room's slow and strict reading of JSON that is not in our own form."""

import json
from collections.abc import Iterable
from typing import Any

_MOST_SHOWN = 60


def strict(text: str) -> dict[str, Any]:
    """Return the JSON object (RFC 8259) of the text, or raise ValueError with one sentence.

    Refused besides what the standard library refuses: deep nesting, NaN, numbers out of range, a
    key that stands twice, and halves of a surrogate pair.
    """
    try:
        document = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite
        )
        text.encode()
        json.dumps(document, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
    except json.JSONDecodeError as fault:
        raise ValueError(
            f"is not JSON: {fault.msg[:1].lower()}{fault.msg[1:]} in line {fault.lineno}"
        ) from fault
    except UnicodeEncodeError as error:
        raise ValueError("is not Unicode: it holds one half of a surrogate pair") from error
    if not isinstance(document, dict):
        raise ValueError("is not a JSON object")
    return document


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"has the key {key[:_MOST_SHOWN]!r} twice")
        members[key] = value
    return members


def _no_number(name: str) -> Any:
    raise ValueError(f"holds {name}, which is not a number in JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"holds {text[:_MOST_SHOWN]}, which is out of range")
    return number
