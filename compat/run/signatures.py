"""Signatures: ordered text patterns -> cause, each with a real example that a test holds against
it.
"""

import re
from typing import NamedTuple

from compat.run.outcome import Cause


class Signature(NamedTuple):
    """A pattern over an exception (`Type: message`) or a log, and its cause.

    A group `subject` names the thing, after its `owner` where that is told. Without a group the
    thing is always the same.
    """

    cause: Cause
    pattern: re.Pattern[str]
    example: str
    subject: str


def _signature(cause: Cause, pattern: str, example: str, subject: str = "") -> Signature:
    return Signature(cause, re.compile(pattern), example, subject)


# The first that matches decides; the general ones stand last.
EXCEPTIONS = (
    _signature(
        "version-guard",
        r"(?P<subject>[\w.-]+(?: [\w.-]+)?) requires .{0,80}?version [<>=!]=?"
        r" ?[\w.]+.*(?:detected|found|Detected)",
        "ImportError: This version of Demo Extras requires Demo version >= 2.12; Detected an"
        " installation of version 2.9.3. Please upgrade Demo to proceed.",
        "Demo Extras",
    ),
    _signature(
        "version-guard",
        r"(?:only supports|requires) (?P<subject>Python)(?: versions?)? ?(?:[<>=]+ ?)?\d",
        "RuntimeError: demo only supports Python versions 3.9 or later.",
        "Python",
    ),
    _signature(
        "version-guard",
        r"(?P<subject>[\w.-]+) is version [\w.]+, but this version of [\w.-]+ requires version",
        "RuntimeError: demolib is version 0.1.55, but this version of demo requires version"
        " 0.1.76.",
        "demolib",
    ),
    _signature(
        "missing-module",
        r"ModuleNotFoundError: No module named '(?P<subject>[^']+)'",
        "ModuleNotFoundError: No module named 'jax'",
        "jax",
    ),
    # What a module says that was compiled for another version of a package:
    # https://numpy.org/doc/stable/user/troubleshooting-importerror.html
    _signature(
        "binary-incompatible",
        r": (?P<subject>\w+)(?:\.\w+)* (?:size changed, may indicate binary incompatib"
        r"|has the wrong size, try recompil)",
        "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96"
        " from C header, got 88 from PyObject",
        "numpy",
    ),
    _signature(
        "binary-incompatible",
        r"module compiled against A[BP]I version \w+ but this version of (?P<subject>\w+) is ",
        "RuntimeError: module compiled against ABI version 0x1000009 but this version of numpy is"
        " 0x2000000",
        "numpy",
    ),
    _signature(
        "binary-incompatible",
        r"ImportError: (?P<subject>\w+)(?:\._?core)?\.(?:_multiarray_umath|multiarray|umath) failed"
        r" to import",
        "ImportError: numpy.core.multiarray failed to import",
        "numpy",
    ),
    _signature(
        "binary-incompatible",
        r"A module that was compiled using NumPy \d|AttributeError: _(?:ARRAY|UFUNC)_API not found",
        "ImportError: A module that was compiled using NumPy 1.x cannot be run in",
        "numpy",
    ),
    _signature(
        "binary-incompatible",
        r"(?:site|dist)-packages/(?P<subject>\w+)[^: ]*: undefined symbol: ",
        "ImportError: /cell/lib/python3.9/site-packages/demo_text/ops/_kernel.so: undefined symbol:"
        " _ZN4demo6StringE",
        "demo_text",
    ),
    _signature(
        "binary-incompatible",
        r"(?P<subject>[\w+-]+)(?:\.[\w-]+)*\.so[\w.]*: undefined symbol: ",
        "ImportError: /opt/demo/libkernel.so.2: undefined symbol: _ZN4demo6StringE",
        "libkernel",
    ),
    _signature(
        "missing-attribute",
        r"ImportError: cannot import name '(?P<subject>[^']+)' from (?:partially initialized"
        r" module )?"
        r"'(?P<owner>[^'<>]+)'",
        "ImportError: cannot import name 'url_quote' from 'werkzeug.urls' (/cell/werkzeug/urls.py)",
        "werkzeug.urls.url_quote",
    ),
    _signature(
        "missing-attribute",
        r"ImportError: cannot import name '(?P<subject>[^']+)'",
        "ImportError: cannot import name 'url_quote' from '<unknown module name>' (unknown"
        " location)",
        "url_quote",
    ),
    _signature(
        "missing-attribute",
        r"AttributeError: (?:(?:partially initialized )?module |type object )?'(?P<owner>[^'<>]+)'"
        r" (?:object )?"
        r"has no attribute '(?P<subject>[^']+)'",
        "AttributeError: module 'numpy' has no attribute 'bool'",
        "numpy.bool",
    ),
    _signature(
        "missing-attribute",
        r"AttributeError: .*has no attribute '(?P<subject>[^']+)'",
        "AttributeError: This demo has no attribute 'bool'",
        "bool",
    ),
    _signature(
        "missing-attribute",
        r"(?:AttributeError|ImportError): `?(?P<subject>\w+(?:\.\w+)+)`? (?:is|was|has been) "
        r"(?:deprecated .{1,60} )?removed",
        "AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64`"
        " instead.",
        "np.float_",
    ),
    _signature(
        "missing-module",
        r"ImportError: (?P<subject>lib[\w.+-]+\.so[\w.]*): cannot open shared object file",
        "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory",
        "libcudart.so.11.0",
    ),
    _signature(
        "syntax", r"^(?:SyntaxError|IndentationError|TabError): ", "SyntaxError: invalid syntax"
    ),
    _signature("type-error", r"^TypeError: ", "TypeError: 'type' object is not subscriptable"),
    _signature("premature-exit", r"^(?:SystemExit|KeyboardInterrupt)\b", "SystemExit: 0"),
    _signature("memory", r"^MemoryError\b", "MemoryError: "),
    _signature(
        "disk", r"OSError: \[Errno 28\]", "OSError: [Errno 28] No space left on device: '/tmp/x'"
    ),
    _signature("assertion", r"^AssertionError\b", "AssertionError: 3 != 4"),
)
INSTALL = (
    _signature(
        "environment-mismatch",
        r"\((?P<subject>[\w.-]+==[\w.]+)\)\s+cause: Wheel version does not match filename",
        "error: Failed to install: demo-1.0-py3-none-any.whl (demo==1.0)\n  cause: Wheel version"
        " does not match filename (2.0 != 1.0), which indicates a malformed wheel.",
        "demo==1.0",
    ),
    _signature(
        "hash-mismatch",
        r"[Hh]ash mismatch for `?(?P<subject>[\w.-]+(?:==[\w.]+)?)",
        "error: Failed to download `six==1.16.0`\n  cause: Hash mismatch for `six==1.16.0`",
        "six==1.16.0",
    ),
    _signature(
        "hash-mismatch",
        r"THESE PACKAGES DO NOT MATCH THE HASHES",
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
    ),
    _signature(
        "network",
        r"Failed to fetch|error sending request|dns error|Connection refused|timed out|Temporary"
        r" failure in name",
        "error: Request failed after 3 retries\n  cause: Failed to fetch: <url>",
    ),
    _signature(
        "disk",
        r"No space left on device|os error 28",
        "error: failed to write: No space left on device (os error 28)",
    ),
    _signature(
        "build",
        r"Failed to (?:download and )?build [`'](?P<subject>[^`']+)[`']",
        "error: Failed to build `absl-py==0.9.0`\n  cause: The build backend returned an error",
        "absl-py==0.9.0",
    ),
    _signature(
        "requires-python",
        r"(?P<subject>[\w.-]+==[\w.]+) depends on Python",
        "Because the current Python version (3.8.18) does not satisfy Python>=3.9 and demo==1.0"
        " depends on Python>=3.9",
        "demo==1.0",
    ),
    _signature(
        "source-only",
        r"(?P<subject>[\w.-]+==[\w.]+) has no usable wheels",
        "Because demo==1.0 has no usable wheels and you require demo==1.0, we can conclude that",
        "demo==1.0",
    ),
    _signature(
        "no-artifact",
        r"(?:there is no version of|[Nn]o matching distribution found for|Because)"
        r" (?P<subject>[\w.-]+==[\w.]+)"
        r"(?: has no wheels| and|$)",
        "Because there is no version of demo==1.0 and you require demo==1.0",
        "demo==1.0",
    ),
)
DEATHS = (
    _signature(
        "fatal-python",
        r"Fatal Python error: (?!Segmentation|Aborted|Illegal|Bus|User"
        r" defined)(?P<subject>[^\n]{1,80})",
        "Fatal Python error: Cannot recover from stack overflow.",
        "Cannot recover from stack overflow.",
    ),
    _signature(
        "segfault",
        r"Fatal Python error: (?:Segmentation fault|Bus error)",
        "Fatal Python error: Segmentation fault",
    ),
    _signature("abort", r"Fatal Python error: Aborted", "Fatal Python error: Aborted"),
    _signature(
        "illegal-instruction",
        r"Fatal Python error: Illegal instruction",
        "Fatal Python error: Illegal instruction",
    ),
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
