"""What a command leaves for CI: a JUnit XML file, and a summary as Markdown."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal
from xml.etree import ElementTree

from compat import files
from compat.cli.arguments import Option
from compat.errors import one_line
from compat.github.markdown import inline
from compat.value import Value

JUnitFile = Annotated[
    Path | None, Option("--junit", metavar="FILE", help="Write the results as JUnit XML.")
]
SummaryFile = Annotated[
    Path | None,
    Option(
        "--summary", metavar="FILE", help="Append a summary as Markdown, for $GITHUB_STEP_SUMMARY."
    ),
]
# A job's summary may have 1 MiB; more rows than these nobody reads.
_MOST_ROWS = 100


class ReportCase(Value, frozen=True, kw_only=True):
    """A case of a suite. Without a tag it passed; with one, `message` says why not, `kind` is the
    cause as programs know it, and `log` the end of what was printed.
    """

    name: str
    tag: Literal["", "failure", "error", "skipped"] = ""
    message: str = ""
    kind: str = ""
    log: str = ""


class ReportSuite(Value, frozen=True, kw_only=True):
    """The cases of a cell, when its run began and how many seconds it took; None without a run."""

    cell: str
    cases: tuple[ReportCase, ...]
    started: datetime.datetime | None = None
    seconds: float | None = None


class Report(Value, frozen=True, kw_only=True):
    """What a command came to, for both files.

    `command` names the suites together, `heading` is that of the summary. `rows` are a table of the
    `columns`, in Markdown; `heading` and `sentences` are text.
    """

    command: str
    suites: tuple[ReportSuite, ...]
    heading: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    sentences: tuple[str, ...] = ()


class ReportFiles(Value, frozen=True, kw_only=True):
    """The files that a command is to leave; None where one was not asked for."""

    junit: Path | None = None
    summary: Path | None = None

    @property
    def is_asked(self) -> bool:
        return self.junit is not None or self.summary is not None

    def write(self, report: Report) -> None:
        """Write them; raise CompatError for a file that cannot be written."""
        if self.junit is not None:
            files.write(self.junit, junit_xml(report))
        if self.summary is not None:
            # The runner gives each step one file, and the step may call more than one command.
            before = files.read_if_there(self.summary) or b""
            files.write(self.summary, before + summary_text(report).encode())


def junit_xml(report: Report) -> bytes:
    """Return the results as JUnit XML: a suite for each cell.

    Of the several dialects this keeps to what Jenkins, GitLab and GitHub's viewers have in common:
    the attributes tests, failures, errors, skipped and time, and one element below a case.
    """
    root = ElementTree.Element("testsuites", name=report.command)
    for suite in report.suites:
        node = ElementTree.SubElement(root, "testsuite", name=suite.cell)
        for case in suite.cases:
            _add(node, suite.cell, case)
        if suite.seconds is not None:
            node.set("time", f"{suite.seconds:.3f}")
        if suite.started is not None:
            node.set("timestamp", suite.started.strftime("%Y-%m-%dT%H:%M:%S"))
        _count(node, node.findall("testcase"))
    _count(root, root.findall("testsuite/testcase"))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _add(suite: ElementTree.Element, cell: str, case: ReportCase) -> None:
    node = ElementTree.SubElement(suite, "testcase", classname=cell, name=one_line(case.name))
    if case.tag:
        tag = ElementTree.SubElement(node, case.tag, message=one_line(case.message))
        if case.kind:
            tag.set("type", case.kind)
        if case.log:
            tag.text = "\n".join(map(one_line, case.log.splitlines()))


def _count(node: ElementTree.Element, cases: Sequence[ElementTree.Element]) -> None:
    node.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        node.set(name, str(sum(case.find(tag) is not None for case in cases)))


def summary_text(report: Report) -> str:
    lines = [f"## {inline(report.heading, 500)}", ""]
    if report.rows:
        lines += [f"| {' | '.join(report.columns)} |", "|---" * len(report.columns) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in report.rows[:_MOST_ROWS]]
    if len(report.rows) > _MOST_ROWS:
        lines.append(f"\n{len(report.rows) - _MOST_ROWS:,} more are not listed.")
    if report.sentences:
        lines += ["", *(f"{inline(text, 1000)}\n" for text in report.sentences[:_MOST_ROWS])]
    return "\n".join(lines).rstrip("\n") + "\n\n"
