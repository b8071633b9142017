"""What a run leaves for CI: a JUnit XML file, and a summary as Markdown. Both say no more than the
exit code of the run does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from xml.etree import ElementTree

import typer

from compat import files
from compat.cli.learnt import learnt, next_step
from compat.cli.verdicts import RunWords, verdict_words
from compat.errors import one_line
from compat.github.markdown import code, inline
from compat.results.score import EXCUSED
from compat.run.outcome import Failed, Passed, is_spurious
from compat.site.wording import cause_sentence, fault_words, reason_words
from compat.value import Value

if TYPE_CHECKING:
    from compat.results.record import Capability, Record
    from compat.results.score import Blame
    from compat.workspace import Workspace

JUnitFile = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write the results as JUnit XML.")
]
SummaryFile = Annotated[
    Path | None,
    typer.Option(
        "--summary", metavar="FILE", help="Append a summary as Markdown, for $GITHUB_STEP_SUMMARY."
    ),
]
# A job's summary may have 1 MiB; more rows than these nobody reads.
_MOST_ROWS = 100


class RunReports(Value, frozen=True, kw_only=True):
    """The files that a run is to leave; None where one was not asked for."""

    junit: Path | None = None
    summary: Path | None = None

    @property
    def is_asked(self) -> bool:
        """Whether there is any to write."""
        return self.junit is not None or self.summary is not None

    def write(self, workspace: Workspace, cells: Sequence[str], records: Sequence[Record]) -> None:
        """Write them about the cells that were to run and what was recorded of them; raise
        CompatError for a file that cannot be written.
        """
        if self.junit is not None:
            files.write(self.junit, junit_xml(workspace, cells, records))
        if self.summary is not None:
            # The runner gives each step one file, and the step may call more than one command.
            before = files.read_if_there(self.summary) or b""
            files.write(self.summary, before + run_summary(workspace, cells, records).encode())


def junit_xml(workspace: Workspace, cells: Sequence[str], records: Sequence[Record]) -> bytes:
    """Return the results as JUnit XML: a suite for each cell, a case for each capability.

    A capability that fails in this combination is a failure; what the release lacks, or fails in
    every combination of it, is skipped, as it takes nothing from the verdict. Trouble of the
    machine or the network is an error, and so is a cell without a result. Of the several dialects
    this keeps to what Jenkins, GitLab and GitHub's viewers have in common: the attributes tests,
    failures, errors, skipped and time, and one element below a case.
    """
    by_cell = {record.cell: record for record in records}
    root = ElementTree.Element("testsuites", name=f"compat run {workspace.name}")
    for cell in cells:
        record = by_cell.get(cell)
        suite = ElementTree.SubElement(root, "testsuite", name=cell)
        for case in [_without_result(cell)] if record is None else _cases(workspace, record):
            suite.append(case)
        if record is not None:
            suite.set("time", f"{record.seconds:.3f}")
            suite.set("timestamp", record.started.strftime("%Y-%m-%dT%H:%M:%S"))
        _count(suite, suite.findall("testcase"))
    _count(root, root.findall("testsuite/testcase"))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _count(element: ElementTree.Element, cases: Sequence[ElementTree.Element]) -> None:
    element.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))


def _cases(workspace: Workspace, record: Record) -> Iterator[ElementTree.Element]:
    """A case for each capability, and one for the step that failed where no capability says it."""
    verdict = workspace.verdict(record.cell)
    excused = {fault.id: fault.fault for fault in verdict.faults if fault.fault in EXCUSED}
    for capability in record.capabilities:
        yield _capability_case(record.cell, capability, excused)
    outcome = record.outcome
    failing = {capability.id for capability in record.capabilities if capability.status == "no"}
    if isinstance(outcome, Failed) and not (outcome.stage == "test" and outcome.subject in failing):
        case = _case(record.cell, outcome.stage)
        tag = "error" if is_spurious(outcome) else "failure"
        element = _say(case, tag, cause_sentence(outcome), outcome.cause)
        element.text = "\n".join(map(one_line, record.log.splitlines()))
        yield case
    elif not record.capabilities and isinstance(outcome, Passed):
        yield _case(record.cell, "suite")


def _capability_case(
    cell: str, capability: Capability, excused: Mapping[str, Blame]
) -> ElementTree.Element:
    case, failed = _case(cell, capability.id), capability.failed
    if capability.status == "absent":
        lacking = ", ".join(capability.missing) or "it"
        _say(case, "skipped", f"this release does not have {lacking}")
    elif failed is not None and capability.id in excused:
        _say(case, "skipped", f"{fault_words(excused[capability.id])}: {reason_words(failed)}")
    elif failed is not None:
        _say(case, "failure", capability.subject or reason_words(failed), failed.cause)
    return case


def _without_result(cell: str) -> ElementTree.Element:
    case = _case(cell, "run")
    _say(case, "error", "compat could not run this cell, or was stopped; see what it printed")
    return case


def _case(cell: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=cell, name=one_line(name))


def _say(case: ElementTree.Element, tag: str, message: str, kind: str = "") -> ElementTree.Element:
    element = ElementTree.SubElement(case, tag, message=one_line(message))
    if kind:
        element.set("type", kind)
    return element


def run_summary(workspace: Workspace, cells: Sequence[str], records: Sequence[Record]) -> str:
    """Return what the cells came to as Markdown, those that do not work first."""
    by_cell, words = {record.cell: record for record in records}, RunWords(workspace, cells)
    works = {cell for cell in by_cell if workspace.verdict(cell).kind == "works"}
    title = inline(workspace.matrix.title)
    if not cells:
        return f"## {title}: nothing was due\n\n"
    rows = [
        (code(cell), inline(_word(workspace, by_cell.get(cell))), _why(by_cell.get(cell), words))
        for cell in sorted(cells, key=lambda cell: (cell in works, cells.index(cell)))
    ]
    lines = [
        f"## {title}: {_number(len(works), len(cells))}",
        "",
        "| cell | verdict | this run |",
        "|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows[:_MOST_ROWS]),
    ]
    if len(rows) > _MOST_ROWS:
        lines.append(f"\n{len(rows) - _MOST_ROWS:,} more are not listed.")
    outcomes = {record.cell: str(record.outcome) for record in records}
    if outcomes:
        sentences = (*learnt(workspace, outcomes), next_step(workspace, outcomes))
        lines += ["", *(f"{inline(sentence, 1000)}\n" for sentence in sentences)]
    return "\n".join(lines).rstrip("\n") + "\n\n"


def _number(works: int, cells: int) -> str:
    if cells == 1:
        return f"the combination {'works' if works else 'does not work'}"
    return f"{works:,} of {cells:,} combinations work"


def _word(workspace: Workspace, record: Record | None) -> str:
    return "no result" if record is None else verdict_words(workspace, record.cell)


def _why(record: Record | None, words: RunWords) -> str:
    if record is None:
        return "compat could not run it, or was stopped"
    outcome = words.of_record(record)
    if not isinstance(record.outcome, Failed) or outcome != str(record.outcome):
        return inline(outcome, 500)
    return inline(cause_sentence(record.outcome), 500)
