"""The `site` room's encoding: documents as JSON, other files by their templates; characters that a
format cannot hold are replaced.
"""

import datetime
import re
import unicodedata
from json import dumps
from typing import Any

import msgspec

from compat import files
from compat.site import paths
from compat.value import encode, encode_hook

# What XML 1.0 cannot hold, nor UTF-8: control characters but tab and line breaks, lone surrogates,
# two non-characters.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def fit(text: str) -> str:
    return text if text.isprintable() else _UNFIT.sub("\ufffd", text)


def line(text: str, most: int) -> str:
    visible = (
        " " if unicodedata.category(char)[0] == "C" else char for char in fit(text[: 10 * most])
    )
    whole = " ".join("".join(visible).split())
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def json(document: Any) -> bytes:
    try:
        return encode(document) + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot hold
        whole = msgspec.to_builtins(document, enc_hook=encode_hook)
        text = dumps(whole, ensure_ascii=False, separators=(",", ":"))
        return re.sub("[\ud800-\udfff]", "\ufffd", text).encode() + b"\n"


def rendered(template: str, **shown: Any) -> bytes:
    shown = {"paths": paths, **shown}
    folder = "assets/templates"
    text = files.rendered(
        "compat.site", template, shown, folder=folder, finalize=lambda value: fit(str(value))
    )
    return text.encode()


def moment(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(), datetime.timezone.utc)
