"""Badges of a README that say from which version on a project works: static ones of shields.io, and
the words beside them (https://shields.io/badges/static-badge).
"""

import re

from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.rewrite.ranges import Move
from compat.rewrite.toml_values import Rewritten
from compat.rewrite.version_lists import TextChange, applied_changes

# In a path of shields.io a dash of the text is written twice, a blank as _ or %20.
_BADGE = re.compile(
    r"img\.shields\.io/badge/(?P<label>(?:[^-/\s)\"]|--)+)-"
    r"(?P<message>(?P<head>(?:%3E%3D|>=|%E2%89%A5|≥|from|_|%20)*)"
    r"(?P<version>\d+(?:\.\d+)*)(?P<tail>(?:%2B|\+|_|%20|or|newer|later)*))-",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(r"!\[(?P<alt>[^\]\n]*)\]\([^)\s]*$")
_RST = re.compile(r"[^\n]*\n(?:[ \t]+:(?!alt)\w+:[^\n]*\n)*[ \t]+:alt:(?P<alt>[^\n]*)")


def rewritten_readme(text: str, move: Move) -> Rewritten:
    """Return a README after a move: badges such as `python-3.9+`, and their alternative text."""
    changes: list[TextChange] = []
    for badge in _BADGE.finditer(text):
        if move.before in (None, move.floor) or not _is_about(badge["label"], move):
            continue
        if not badge["head"] and not badge["tail"]:
            continue  # one version, not a floor
        if Version(badge["version"]) != move.before:
            continue
        start, end = badge.span("version")
        changes.append(TextChange(start=start, end=end, after=str(move.floor)))
        changes += _beside(text, badge, move)
    after, edits = applied_changes(text, changes, "README")
    return Rewritten(text=after, edits=edits)


def _beside(text: str, badge: re.Match[str], move: Move) -> list[TextChange]:
    line_start = text.rfind("\n", 0, badge.start()) + 1
    alt = _MARKDOWN.search(text, line_start, badge.start()) or _RST.match(text, badge.end())
    if alt is None:
        return []
    version = re.compile(rf"(?<![\d.]){re.escape(badge['version'])}(?![\d]|\.\d)")
    match = version.search(text, *alt.span("alt"))
    if match is None:
        return []
    return [TextChange(start=match.start(), end=match.end(), after=str(move.floor))]


def _is_about(label: str, move: Move) -> bool:
    words = re.sub(r"_|%20", " ", label.replace("--", "-")).strip()
    name = canonicalize_name(words.replace(" ", "-"))
    return name in (("python",) if move.package is None else (canonicalize_name(move.package),))
