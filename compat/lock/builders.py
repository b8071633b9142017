"""What the build of a source distribution said: the builder's own error, and the tool that is at
fault for it.
"""

import re
import textwrap

# What a build brings along or finds on the machine, and no version of a cell decides.
_TOOLS = (
    re.compile(
        r"ModuleNotFoundError: No module named"
        r" '(?P<tool>pkg_resources|setuptools|distutils|wheel|pip|Cython)\b"
    ),
    # Removed in setuptools 58 (September 2021): https://setuptools.pypa.io/en/stable/history.html
    re.compile(r"error in \S+ setup command: use_2to3 is invalid(?P<tool>)"),
    re.compile(r"command '(?P<tool>[^']+)' failed: No such file or directory"),
    re.compile(r"unable to execute '(?P<tool>[^']+)': No such file or directory"),
    re.compile(r"\bUnknown compiler\(s\): \[\[(?P<tool>[^\],]+)"),
    # What old tools miss in a newer Python, such as 3.12.
    re.compile(r"AttributeError: module 'pkgutil' has no attribute 'ImpImporter'(?P<tool>)"),
)
_DEFAULT_TOOL = "setuptools"
_OWN = re.compile(
    r"^[\s│]*(?P<error>(?:[A-Za-z_][\w.]*(?:Error|Exception)\b|error|ERROR): .+?)\s*$", re.MULTILINE
)
_STEP = re.compile(r"Failed to (?:download and )?build ")


def tool_at_fault(text: str) -> str:
    """Return the build tool that is missing or does not fit; empty when the package itself is at
    fault.
    """
    if not _STEP.search(text):
        return ""
    match = next((match for pattern in _TOOLS if (match := pattern.search(text))), None)
    return "" if match is None else match["tool"].strip("'\"") or _DEFAULT_TOOL


def own_error(text: str) -> str:
    """Return the last error that the builder itself told after a build failed; empty when it told
    none.
    """
    begin = _STEP.search(text)
    return "" if begin is None else _last_error(text[begin.end() :])


def error_before_failure(text: str) -> str:
    """Return the last error that the builder told before its caller said that the build failed, as
    `uv build` prints them; empty when it told none.
    """
    end = _STEP.search(text)
    return _last_error(text if end is None else text[: end.start()].rpartition("\n")[0])


def _last_error(text: str) -> str:
    errors = [match["error"] for match in _OWN.finditer(text)]
    return textwrap.shorten(errors[-1], 300, placeholder=" ...") if errors else ""
