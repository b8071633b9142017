"""The `site` room's encoding: documents as JSON, XML and lines of text; characters that a format
cannot hold are replaced.
"""

import datetime
import re
import unicodedata
from typing import Any
from xml.etree import ElementTree

import msgspec

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
        return encode(_fit_all(msgspec.to_builtins(document, enc_hook=encode_hook))) + b"\n"


def picture(width: int, height: int, title: str, says: str) -> ElementTree.Element:
    size = {"width": str(width), "height": str(height), "viewBox": f"0 0 {width} {height}"}
    root = ElementTree.Element("svg", size, xmlns="http://www.w3.org/2000/svg", role="img")
    root.set("aria-labelledby", "t d")
    ElementTree.SubElement(root, "title", id="t").text = title
    ElementTree.SubElement(root, "desc", id="d").text = says
    return root


def texts(root: ElementTree.Element, colour: str, size: int = 0) -> ElementTree.Element:
    group = ElementTree.SubElement(root, "g", fill=colour)
    group.set("font-family", "Verdana,DejaVu Sans,sans-serif")
    if size:
        group.set("font-size", str(size))
    return group


def written(root: ElementTree.Element) -> bytes:
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def moment(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(), datetime.timezone.utc)


def _fit_all(value: Any) -> Any:
    match value:
        case str():
            return re.sub("[\ud800-\udfff]", "\ufffd", value)
        case dict():
            return {_fit_all(key): _fit_all(item) for key, item in value.items()}
        case list() | tuple():
            return [_fit_all(item) for item in value]
    return value
