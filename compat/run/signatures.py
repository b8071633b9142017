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
    pattern: str
    subject: str = ""


# The first match decides; the general ones are last.
EXCEPTIONS = (
    Signature(
        "version-guard",
        r"(?P<subject>[\w.-]+(?: [\w.-]+)?) requires .{0,80}?version [<>=!]=?"
        r" ?[\w.]+.*(?:detected|found|Detected)",
    ),
    Signature(
        "version-guard",
        r"(?:only supports|requires) (?P<subject>Python)(?: versions?)? ?(?:[<>=]+ ?)?\d",
    ),
    Signature(
        "version-guard",
        r"(?P<subject>[\w.-]+) is version [\w.]+, but this version of [\w.-]+ requires version",
    ),
    Signature("missing-module", r"ModuleNotFoundError: No module named '(?P<subject>[^']+)'"),
    # The message of a module that was compiled for another version of a package:
    # https://numpy.org/doc/stable/user/troubleshooting-importerror.html
    Signature(
        "binary-incompatible",
        r": (?P<subject>\w+)(?:\.\w+)* (?:size changed, may indicate binary incompatib"
        r"|has the wrong size, try recompil)",
    ),
    Signature(
        "binary-incompatible",
        r"module compiled against A[BP]I version \w+ but this version of (?P<subject>\w+) is ",
    ),
    Signature(
        "binary-incompatible",
        r"ImportError: (?P<subject>\w+)(?:\._?core)?\.(?:_multiarray_umath|multiarray|umath) failed"
        r" to import",
    ),
    Signature(
        "binary-incompatible",
        r"A module that was compiled using NumPy \d|AttributeError: _(?:ARRAY|UFUNC)_API not found",
        "numpy",
    ),
    Signature(
        "binary-incompatible", r"(?:site|dist)-packages/(?P<subject>\w+)[^: ]*: undefined symbol: "
    ),
    Signature(
        "binary-incompatible", r"(?P<subject>[\w+-]+)(?:\.[\w-]+)*\.so[\w.]*: undefined symbol: "
    ),
    Signature(
        "missing-attribute",
        r"ImportError: cannot import name '(?P<subject>[^']+)' from (?:partially initialized"
        r" module )?"
        r"'(?P<owner>[^'<>]+)'",
    ),
    Signature("missing-attribute", r"ImportError: cannot import name '(?P<subject>[^']+)'"),
    Signature(
        "missing-attribute",
        r"AttributeError: (?:(?:partially initialized )?module |type object )?'(?P<owner>[^'<>]+)'"
        r" (?:object )?"
        r"has no attribute '(?P<subject>[^']+)'",
    ),
    Signature("missing-attribute", r"AttributeError: .*has no attribute '(?P<subject>[^']+)'"),
    Signature(
        "missing-attribute",
        r"(?:AttributeError|ImportError): `?(?P<subject>\w+(?:\.\w+)+)`? (?:is|was|has been) "
        r"(?:deprecated .{1,60} )?removed",
    ),
    Signature(
        "missing-module",
        r"ImportError: (?P<subject>lib[\w.+-]+\.so[\w.]*): cannot open shared object file",
    ),
    Signature("syntax", r"^(?:SyntaxError|IndentationError|TabError): "),
    Signature("type-error", r"^TypeError: "),
    Signature("premature-exit", r"^(?:SystemExit|KeyboardInterrupt)\b"),
    Signature("memory", r"^MemoryError\b"),
    Signature("disk", r"OSError: \[Errno 28\]"),
    Signature("assertion", r"^AssertionError\b"),
)
INSTALL = (
    Signature(
        "environment-mismatch",
        r"\((?P<subject>[\w.-]+==[\w.]+)\)\s+cause: Wheel version does not match filename",
    ),
    Signature("hash-mismatch", r"[Hh]ash mismatch for `?(?P<subject>[\w.-]+(?:==[\w.]+)?)"),
    Signature("hash-mismatch", r"THESE PACKAGES DO NOT MATCH THE HASHES"),
    Signature(
        "network",
        r"Failed to fetch|error sending request|dns error|Connection refused|timed out|Temporary"
        r" failure in name",
    ),
    Signature("disk", r"No space left on device|os error 28"),
    Signature("build", r"Failed to (?:download and )?build [`'](?P<subject>[^`']+)[`']"),
    Signature("requires-python", r"(?P<subject>[\w.-]+==[\w.]+) depends on Python"),
    Signature("source-only", r"(?P<subject>[\w.-]+==[\w.]+) has no usable wheels"),
    Signature(
        "no-artifact",
        r"(?:there is no version of|[Nn]o matching distribution found for|Because)"
        r" (?P<subject>[\w.-]+==[\w.]+)"
        r"(?: has no wheels| and|$)",
    ),
)
DEATHS = (
    Signature(
        "fatal-python",
        r"Fatal Python error: (?!Segmentation|Aborted|Illegal|Bus|User"
        r" defined)(?P<subject>[^\n]{1,80})",
    ),
    Signature("segfault", r"Fatal Python error: (?:Segmentation fault|Bus error)"),
    Signature("abort", r"Fatal Python error: Aborted"),
    Signature("illegal-instruction", r"Fatal Python error: Illegal instruction"),
)


def match_signature(signatures: tuple[Signature, ...], text: str) -> tuple[Cause, str] | None:
    for signature in signatures:
        if (match := re.search(signature.pattern, text)) is not None:
            named = {"subject": signature.subject, **match.groupdict()}
            parts = (named.get("owner"), named["subject"])
            return signature.cause, ".".join(filter(None, parts))
    return None
