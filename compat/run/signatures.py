"""Signatures: ordered text patterns -> cause, with real examples in tests."""

import re
from typing import NamedTuple

from compat.run.outcome import Cause


class Signature(NamedTuple):
    """A pattern over an exception (`Type: message`) or a log, and its cause.

    A group `subject` names the thing, after its `owner` where known. Without a group the thing is
    constant.
    """

    cause: Cause
    pattern: re.Pattern[str]
    subject: str


def _signature(cause: Cause, pattern: str, subject: str = "") -> Signature:
    return Signature(cause, re.compile(pattern), subject)


# The first match decides; the general ones are last.
EXCEPTIONS = (
    _signature(
        "version-guard",
        r"(?P<subject>[\w.-]+(?: [\w.-]+)?) requires .{0,80}?version [<>=!]=?"
        r" ?[\w.]+.*(?:detected|found|Detected)",
    ),
    _signature(
        "version-guard",
        r"(?:only supports|requires) (?P<subject>Python)(?: versions?)? ?(?:[<>=]+ ?)?\d",
    ),
    _signature(
        "version-guard",
        r"(?P<subject>[\w.-]+) is version [\w.]+, but this version of [\w.-]+ requires version",
    ),
    _signature("missing-module", r"ModuleNotFoundError: No module named '(?P<subject>[^']+)'"),
    # The message of a module that was compiled for another version of a package:
    # https://numpy.org/doc/stable/user/troubleshooting-importerror.html
    _signature(
        "binary-incompatible",
        r": (?P<subject>\w+)(?:\.\w+)* (?:size changed, may indicate binary incompatib"
        r"|has the wrong size, try recompil)",
    ),
    _signature(
        "binary-incompatible",
        r"module compiled against A[BP]I version \w+ but this version of (?P<subject>\w+) is ",
    ),
    _signature(
        "binary-incompatible",
        r"ImportError: (?P<subject>\w+)(?:\._?core)?\.(?:_multiarray_umath|multiarray|umath) failed"
        r" to import",
    ),
    _signature(
        "binary-incompatible",
        r"A module that was compiled using NumPy \d|AttributeError: _(?:ARRAY|UFUNC)_API not found",
        "numpy",
    ),
    _signature(
        "binary-incompatible", r"(?:site|dist)-packages/(?P<subject>\w+)[^: ]*: undefined symbol: "
    ),
    _signature(
        "binary-incompatible", r"(?P<subject>[\w+-]+)(?:\.[\w-]+)*\.so[\w.]*: undefined symbol: "
    ),
    _signature(
        "missing-attribute",
        r"ImportError: cannot import name '(?P<subject>[^']+)' from (?:partially initialized"
        r" module )?"
        r"'(?P<owner>[^'<>]+)'",
    ),
    _signature("missing-attribute", r"ImportError: cannot import name '(?P<subject>[^']+)'"),
    _signature(
        "missing-attribute",
        r"AttributeError: (?:(?:partially initialized )?module |type object )?'(?P<owner>[^'<>]+)'"
        r" (?:object )?"
        r"has no attribute '(?P<subject>[^']+)'",
    ),
    _signature("missing-attribute", r"AttributeError: .*has no attribute '(?P<subject>[^']+)'"),
    _signature(
        "missing-attribute",
        r"(?:AttributeError|ImportError): `?(?P<subject>\w+(?:\.\w+)+)`? (?:is|was|has been) "
        r"(?:deprecated .{1,60} )?removed",
    ),
    _signature(
        "missing-module",
        r"ImportError: (?P<subject>lib[\w.+-]+\.so[\w.]*): cannot open shared object file",
    ),
    _signature("syntax", r"^(?:SyntaxError|IndentationError|TabError): "),
    _signature("type-error", r"^TypeError: "),
    _signature("premature-exit", r"^(?:SystemExit|KeyboardInterrupt)\b"),
    _signature("memory", r"^MemoryError\b"),
    _signature("disk", r"OSError: \[Errno 28\]"),
    _signature("assertion", r"^AssertionError\b"),
)
INSTALL = (
    _signature(
        "environment-mismatch",
        r"\((?P<subject>[\w.-]+==[\w.]+)\)\s+cause: Wheel version does not match filename",
    ),
    _signature("hash-mismatch", r"[Hh]ash mismatch for `?(?P<subject>[\w.-]+(?:==[\w.]+)?)"),
    _signature("hash-mismatch", r"THESE PACKAGES DO NOT MATCH THE HASHES"),
    _signature(
        "network",
        r"Failed to fetch|error sending request|dns error|Connection refused|timed out|Temporary"
        r" failure in name",
    ),
    _signature("disk", r"No space left on device|os error 28"),
    _signature("build", r"Failed to (?:download and )?build [`'](?P<subject>[^`']+)[`']"),
    _signature("requires-python", r"(?P<subject>[\w.-]+==[\w.]+) depends on Python"),
    _signature("source-only", r"(?P<subject>[\w.-]+==[\w.]+) has no usable wheels"),
    _signature(
        "no-artifact",
        r"(?:there is no version of|[Nn]o matching distribution found for|Because)"
        r" (?P<subject>[\w.-]+==[\w.]+)"
        r"(?: has no wheels| and|$)",
    ),
)
DEATHS = (
    _signature(
        "fatal-python",
        r"Fatal Python error: (?!Segmentation|Aborted|Illegal|Bus|User"
        r" defined)(?P<subject>[^\n]{1,80})",
    ),
    _signature("segfault", r"Fatal Python error: (?:Segmentation fault|Bus error)"),
    _signature("abort", r"Fatal Python error: Aborted"),
    _signature("illegal-instruction", r"Fatal Python error: Illegal instruction"),
)


def match_signature(signatures: tuple[Signature, ...], text: str) -> tuple[Cause, str] | None:
    for signature in signatures:
        match = signature.pattern.search(text)
        if match is not None:
            named = match.groupdict()
            parts = (
                named.get("owner"),
                named.get("subject") if "subject" in named else signature.subject,
            )
            return signature.cause, ".".join(filter(None, parts))
    return None
