"""All facts of a message and of the list beside it."""

from collections.abc import Mapping

from packaging.version import Version

from compat.advise.doctor.facts import Asked, Text
from compat.advise.doctor.infer import Case
from compat.advise.doctor.python import python_facts
from compat.advise.doctor.resolvers import resolver_facts
from compat.advise.doctor.traceback import read_traceback
from compat.advise.doctor.words import word_facts


def case_of(
    text: str,
    python: Version | None = None,
    versions: Mapping[str, Version] | None = None,
    ranges: Mapping[str, str] | None = None,
) -> Case:
    """The facts of a text. A Python, versions and ranges from a list beat what it says of them."""
    read = Text(text)
    trace = read_traceback(read)
    listed = (Asked(what=n, range=r, line=0) for n, r in (ranges or {}).items())
    facts = (*listed, *python_facts(read, trace), *word_facts(read, trace), *resolver_facts(read))
    return Case(read, trace, facts, python, versions)
