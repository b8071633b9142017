"""Lists that name each version a project supports, and the same lists from another floor on: what
classifiers, tox, nox and CI matrices have in common.

Only the stretch from the old floor to the new one is touched. What stood below the old floor has a
reason of its own.
"""

import re
from collections.abc import Callable, Sequence

from packaging.version import Version

from compat.rewrite.ranges import Edit, Move, is_of
from compat.value import Value

Spell = Callable[[Version], str]

_REST_OF_LINE = re.compile(r"[ \t]*,?[ \t]*(?:#.*)?\r?\n?")
_COMMENT_ABOVE = re.compile(r"(?:[ \t]*#[^\n]*\n)+\Z")


class ListedVersion(Value, frozen=True, kw_only=True):
    """An item of a list: where it stands in the text, without what separates it from the next, and
    the version that it names. `spell` writes another version in its place; None where the item is
    of a kind of its own, such as a PyPy, which can only go.
    """

    start: int
    end: int
    version: Version
    spell: Spell | None


class TextChange(Value, frozen=True, kw_only=True):
    """A stretch of a text, and what stands there afterwards."""

    start: int
    end: int
    after: str


def list_changes(text: str, items: Sequence[ListedVersion], move: Move) -> list[TextChange]:
    """Return what a move changes in one list.

    Up: items from the old floor to below the new one go; where the list had one of them and does
    not name the new floor, the highest becomes it. Down: a list that began at the old floor gets
    the versions that the move opens. A version that is added comes beside the newest.
    """
    if move.added is not None:
        return _extended(text, items, move.added, max(move.known, default=None))
    if move.before is None:
        return []
    if move.floor < move.before:
        return _opened(text, items, move)
    leaving = [item for item in items if _leaves(item, move)]
    # A list of series names that of a floor that is one release.
    named = any(is_of(i.version, move.floor) or is_of(move.floor, i.version) for i in items)
    plain = [item for item in leaving if item.spell is not None]
    stays = None if named or not plain else max(plain, key=lambda item: item.version)
    changes = []
    for item in leaving:
        if item is stays and item.spell is not None:
            after = item.spell(move.floor)
            changes.append(TextChange(start=item.start, end=item.end, after=after))
        else:
            start, end = _without(text, item.start, item.end)
            changes.append(TextChange(start=start, end=end, after=""))
    return changes


def scalar_change(item: ListedVersion, move: Move) -> list[TextChange]:
    """Return what a move up makes of one version that stands alone; nothing else changes it."""
    if move.before is None or item.spell is None or move.added is not None:
        return []
    if not _leaves(item, move):
        return []
    return [TextChange(start=item.start, end=item.end, after=item.spell(move.floor))]


def _leaves(item: ListedVersion, move: Move) -> bool:
    assert move.before is not None
    is_below = move.before <= item.version < move.floor
    return is_below and not is_of(move.floor, item.version)


def applied_changes(
    text: str, changes: Sequence[TextChange], place: str
) -> tuple[str, tuple[Edit, ...]]:
    """Return the text after changes that do not overlap, and each as an edit with its line."""
    edits: list[Edit] = []
    after = text
    for change in sorted(changes, key=lambda change: change.start, reverse=True):
        line = text.count("\n", 0, change.start) + 1
        before = text[change.start : change.end]
        edits.insert(0, Edit(place=f"{place}, line {line}", before=before, after=change.after))
        after = after[: change.start] + change.after + after[change.end :]
    return after, tuple(edits)


def _opened(text: str, items: Sequence[ListedVersion], move: Move) -> list[TextChange]:
    plain = [item for item in items if item.spell is not None]
    lowest = min(plain, key=lambda item: item.version, default=None)
    if lowest is None or not is_of(lowest.version, move.before):
        return []
    versions = sorted(v for v in move.known if move.floor <= v < lowest.version)
    new = [v for v in versions if not is_of(lowest.version, v)]
    return _beside_the_end(text, items, lowest, new)


def _extended(
    text: str, items: Sequence[ListedVersion], added: Version, newest: Version | None
) -> list[TextChange]:
    plain = [item for item in items if item.spell is not None]
    highest = max(plain, key=lambda item: item.version, default=None)
    if highest is None or not is_of(highest.version, newest):
        return []
    known = text[items[0].start : items[-1].end]
    if re.search(rf"(?<![\w.]){re.escape(str(added))}(?![\dt])", known):
        return []  # there already, as a pre-release: 3.15-dev
    return _beside_the_end(text, items, highest, [added])


def _beside_the_end(
    text: str, items: Sequence[ListedVersion], end: ListedVersion, versions: Sequence[Version]
) -> list[TextChange]:
    position = items.index(end)
    is_first = position == 0
    neighbour = position + 1 if is_first else position - 1
    if end.spell is None or not 0 <= neighbour < len(items):
        return []
    first, second = sorted((position, neighbour))
    between = re.sub(r"[ \t]*#[^\n]*", "", text[items[first].end : items[second].start])
    between = re.sub(r"(\r?\n)(?:[ \t]*\r?\n)+", r"\1", between)
    spelled = [end.spell(version) for version in versions]
    if is_first:
        after = "".join(f"{item}{between}" for item in spelled)
        return [TextChange(start=end.start, end=end.start, after=after)]
    after = "".join(f"{between}{item}" for item in reversed(spelled))
    return [TextChange(start=end.end, end=end.end, after=after)]


def _without(text: str, start: int, end: int) -> tuple[int, int]:
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end + 1
    head, tail = text[line_start:start], text[end:line_end]
    if re.fullmatch(r"[ \t]*(?:- +)?", head) and _REST_OF_LINE.fullmatch(tail):
        above = _COMMENT_ABOVE.search(text, 0, line_start)
        # A comment goes with its item, unless it may be about those below, too.
        is_own = re.match(r"\s*(?:#|[\])}]|$|\n)", text[line_end:])
        return (above.start() if above and is_own else line_start), line_end
    if match := re.match(r"[ \t]*,[ \t]*", text[end:line_end]):
        return start, end + match.end()
    if match := re.search(r"[ \t]*,[ \t]*$", text[line_start:start]):
        return line_start + match.start(), end
    return start, end


def plain_version(text: str) -> Version | None:
    """Return the version that a text is; None for any other, such as the git tag `v2.8.5`."""
    return Version(text) if re.fullmatch(r"\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?", text) else None
