"""The classifiers of Python series in any text that lists them: pyproject.toml, setup.cfg and
setup.py (core metadata specifications, Classifier).
"""

import re

from packaging.version import Version

from compat.rewrite.ranges import Move
from compat.rewrite.version_lists import ListedVersion, TextChange, list_changes

_PREFIX = "Programming Language :: Python :: "
# In quotes, or alone on its line as in setup.cfg.
_CLASSIFIER = re.compile(
    rf"(?P<quote>[\"'])?{_PREFIX}(?P<version>\d+\.\d+)(?(quote)(?P=quote)|(?=[ \t]*\r?$))", re.M
)


def classifier_changes(text: str, move: Move) -> list[TextChange]:
    """Return what a move of Python's floor, or an added Python, changes among the classifiers."""
    if move.package is not None:
        return []
    matches = _CLASSIFIER.finditer(text)
    items = [_item(match) for match in matches if not _is_comment(text, match.start())]
    return list_changes(text, items, move)


def _item(match: re.Match[str]) -> ListedVersion:
    quote = match["quote"] or ""

    def spell(version: Version) -> str:
        return f"{quote}{_PREFIX}{version}{quote}"

    version = Version(match["version"])
    return ListedVersion(start=match.start(), end=match.end(), version=version, spell=spell)


def _is_comment(text: str, start: int) -> bool:
    return "#" in text[text.rfind("\n", 0, start) + 1 : start]
