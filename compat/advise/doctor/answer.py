"""The doctor's answer to a message or a list: its findings, and the command that mends the first."""

from collections.abc import Mapping

from packaging.version import Version

from compat.advise.doctor.facts import Text
from compat.advise.doctor.infer import Case, Finding, findings
from compat.advise.doctor.python import python_facts
from compat.advise.doctor.resolvers import resolver_facts
from compat.advise.doctor.traceback import read_traceback
from compat.advise.doctor.words import word_facts


def case_of(text: str, python: Version | None = None, versions: Mapping[str, Version] | None = None) -> Case:
    read = Text(text)
    trace = read_traceback(read)
    facts = (*python_facts(read, trace), *word_facts(read, trace), *resolver_facts(read))
    return Case(read, trace, facts, python, versions)


def answer(text: str, python: Version | None = None, versions: Mapping[str, Version] | None = None) -> list[Finding]:
    """What is wrong, the surest first."""
    return findings(case_of(text, python, versions))
