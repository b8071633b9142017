"""The `advise` room's rules for messages: what tools and packages say when versions do not fit, the
most certain first, and what says nothing about versions.
"""

from collections.abc import Iterable, Iterator

import msgspec

from compat.advise.binary_rules import OF_BINARIES, OF_SYMBOLS
from compat.advise.changed_words import OF_CHANGED_WORDS
from compat.advise.conda_rules import OF_CONDA
from compat.advise.import_rules import OF_IMPORTS
from compat.advise.interpreter_rules import OF_PYTHON
from compat.advise.message_rule import MessageRule, information
from compat.advise.name_rules import OF_CALLS, OF_NAMES, OF_REQUIREMENTS, OF_SLIPS
from compat.advise.own_words_rules import OF_LOOSE_WORDS, OF_OWN_WORDS
from compat.advise.python2_rules import OF_PYTHON_2
from compat.advise.removal_rules import OF_REMOVALS
from compat.advise.resolver_rules import OF_BARE_NAMES, OF_RESOLVERS
from compat.advise.version_rules import OF_CHANGES, OF_VERSIONS

# Of a longer message the end is read: there tools say what went wrong. A screen of a terminal has
# 5,000; the longest in our cases 2,000. Chosen in 2026-11 for the site, and kept.
MOST_READ = 50_000
# What says nothing about versions, or only tells more about another line.
_INFORMATION = (
    information(
        "network",
        r"max retries exceeded|temporary failure in name resolution|read timed out|readtimeout"
        r"|connection (?:refused|reset|aborted|broken|timed out)|certificate_verify_failed"
        r"|could not fetch url|failed to fetch|error sending request for url"
        r"|cannot connect to proxy|tunnel connection failed|remote end closed connection"
        r"|incompleteread|http error (?:40[137]|429|5\d\d)|getaddrinfo failed"
        r"|read operation timed out|40[13] (?:(?:client )?error|unauthorized|forbidden)"
        r"|unable to connect|sslerror|proxyerror|there was an error checking the latest version of"
        r" pip",
        "The network or the index failed, which says nothing about versions.",
    ),
    information(
        "disk",
        r"no space left on device",
        "The disk is full, which says nothing about versions.",
    ),
    information(
        "sandbox",
        r"externally-managed-environment",
        "This Python belongs to the operating system: install into a virtual environment.",
    ),
    information(
        "worker",
        r"\[errno 13\]|\[winerror 5\]|permission denied|access is denied",
        "A file or folder may not be written, which says nothing about versions.",
    ),
    information(
        "memory",
        r"(?:^|[^\w])memoryerror(?!\w)|cannot allocate memory(?! in static)|signal killed"
        r"|oom when allocating|resource_?exhausted",
        "The memory did not suffice, which says nothing about versions.",
    ),
    information(
        "error",
        r"\(most likely due to a circular import\)|consider renaming \S{1,300} since it has the"
        r" same name|no module named \S{1,200}; \S{1,200} is not a package",
        "A module was asked while it was still being imported: mostly a file of one's own has the"
        " name of a package.",
    ),
    information(
        "error",
        r"invalid requirement: |could not open requirements file|no such option: "
        r"|not a valid editable requirement|zsh: no matches found|: command not found"
        r"|(?:setup\.py|pyproject\.toml) (?:was )?not found",
        "What was asked of the installer is not as it takes it, which says nothing about versions.",
    ),
    information(
        "hash-mismatch",
        r"do not match the hashes from the requirements file",
        "The index serves other files than the requirements were made for.",
    ),
)


def _certain(rules: Iterable[MessageRule]) -> Iterator[MessageRule]:
    """What pip, a resolver or conda says, or a package of a version that it refuses, is not of
    one's own code.
    """
    return (msgspec.structs.replace(rule, is_certain=True) for rule in rules)


MESSAGE_RULES = (
    *OF_PYTHON,
    *OF_PYTHON_2,
    *_certain(OF_VERSIONS),
    *OF_CHANGES,
    *OF_REMOVALS,
    *_certain(OF_CHANGED_WORDS),
    *OF_BINARIES,
    *_certain(OF_SYMBOLS),
    *_certain(OF_RESOLVERS),
    *_certain(OF_CONDA),
    *_certain(OF_OWN_WORDS),
    *OF_LOOSE_WORDS,
    *OF_BARE_NAMES,
    *_certain(OF_CALLS),
    *OF_SLIPS,
    *OF_NAMES,
    *OF_IMPORTS,
    *OF_REQUIREMENTS,
    *_INFORMATION,
)
