"""The `site` room's question: the form that asks what somebody has, and what it says of a version
that the matrix does not have.
"""

from collections.abc import Mapping, Sequence
from string import Template

from packaging.version import Version

from compat.advise.request import label
from compat.declare.matrix import Axis
from compat.site.edition import MatrixReport
from compat.site.pages.advice_view import GOAL_WORDS, answer_path
from compat.site.pages.place_view import View
from compat.site.paths import SIGNS, api_path
from compat.site.wording import RECIPE_WORDS

# What the form says of a version that is no coordinate; `$version` is what was asked for.
_NEWER = Template("$label $$version is not in this matrix: the newest is $newest$why.")
_OLDER = Template("$label $$version is not in this matrix: the oldest is $oldest.")
_OTHER = Template("$label $$version is not in this matrix, which has $oldest to $newest.")
_SERIES = Template("$label $$version is answered as $label $$series.")


class QuestionField(View, frozen=True):
    """A field of the form: an axis and its coordinates, the newest first.

    `names` are those that an address or a pasted text may have for it. `newer`, `older` and `other`
    say that the matrix lacks a version, `series` that one is answered by the series that it is of;
    each has `$version` in place of what was asked for.
    """

    name: str
    short: str
    label: str
    names: tuple[str, ...]
    versions: tuple[str, ...]
    chosen: str
    is_subject: bool
    newer: str
    older: str
    other: str
    series: str


class QuestionForm(View, frozen=True):
    """The form of a matrix: its fields, where its answers are, and what a script answers from.

    `unknown` says that the matrix has nothing of a name, which is `$name` in it; `pins` that an
    answer is not as published. `needs` and
    `goals` are asked only where `is_whole`.
    """

    name: str
    fields: tuple[QuestionField, ...]
    answers: str
    table_path: str
    signs_path: str
    unknown: str
    pins: str
    is_whole: bool
    needs: tuple[tuple[str, str], ...]
    goals: tuple[tuple[str, str], ...]


def question(
    report: MatrixReport,
    coordinates: Mapping[str, Version] | None = None,
    is_whole: bool = False,
) -> QuestionForm:
    """Return the form, with these coordinates chosen; a whole one asks for the subject's version,
    needs and preference too.
    """
    matrix = report.snapshot.matrix
    axes = [axis for axis in matrix.axes if is_whole or axis.name != matrix.subject]
    known = ", ".join(label(axis) for axis in matrix.axes)
    return QuestionForm(
        name=report.name,
        fields=tuple(_field(report, axis, coordinates or {}) for axis in axes),
        answers=answer_path(report, {}),
        table_path=api_path(report.name, "advise"),
        signs_path=SIGNS,
        pins=RECIPE_WORDS["relaxed"],
        unknown=f"$name is not a part of this matrix, which has {known}.",
        is_whole=is_whole,
        needs=tuple(
            (described.id, described.title)
            for described in report.capabilities
            if described.id not in report.helpers
        ),
        goals=tuple(GOAL_WORDS.items()),
    )


def axis_names(axis: Axis) -> tuple[str, ...]:
    """Return the names that an axis goes by, in lower case: its own, its short one, its label."""
    return tuple(dict.fromkeys(name.lower() for name in (axis.name, axis.short, label(axis))))


def _field(report: MatrixReport, axis: Axis, coordinates: Mapping[str, Version]) -> QuestionField:
    versions = list(report.advisor.ranks.positions[axis.name])
    blanks = {
        "label": label(axis),
        "oldest": str(versions[0]) if versions else "",
        "newest": str(versions[-1]) if versions else "",
        "why": _of_newest(report, axis, versions),
    }
    return QuestionField(
        name=axis.name,
        short=axis.short,
        label=label(axis),
        names=axis_names(axis),
        versions=tuple(str(version) for version in reversed(versions)),
        chosen=str(coordinates[axis.name]) if axis.name in coordinates else "",
        is_subject=axis.name == report.snapshot.matrix.subject,
        newer=_NEWER.substitute(blanks),
        older=_OLDER.substitute(blanks),
        other=_OTHER.substitute(blanks),
        series=_SERIES.substitute(blanks),
    )


def _of_newest(report: MatrixReport, axis: Axis, versions: Sequence[Version]) -> str:
    if not versions:
        return ""
    newest = versions[-1]
    if any(proof.cell.on(axis.name).version == newest for proof in report.advisor.proofs):
        return ""
    if all(entry.obstacle is not None for entry in report.entries_at({axis.name: newest})):
        return ", and no release supports it"
    return ", and no tested combination with it works"
