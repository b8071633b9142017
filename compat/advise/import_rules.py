"""The `advise` room's rules for where something failed: while an installed package was imported or
a test runner started, and right after somebody installed another release.

What a user gives to a package has no part in its import, so that only what is installed around it
explains the failure; what a machine lacks is told otherwise.
"""

from compat.advise.message_rule import MessageRule, fault, part_of_found
from compat.run.outcome import Cause

# Frames below the one that imports: of installed packages and of Python's library, none of one's
# own. An environment variable is asked for in os.py, a locale in locale.py.
_BELOW = (
    r"(?:(?!\.py, line \d|in <module>|error: ).|-packages/[^ :]{1,300}\.py, line \d"
    r"|/lib(?:64)?/python[\d.]{1,6}/(?!os\.py|locale\.py)[\w/]{1,60}\.py, line \d){0,1500}?"
)
# What Python says of damaged files, unknown locales and values of an environment.
_NOT_OF_VERSIONS = (
    r"(?!.{0,80}(?:null bytes|locale|invalid literal for int|not a valid (?:port|url)"
    r"|environ|api_?key|most likely due))"
)
# What is raised, and what it means.
_RAISED: tuple[tuple[str, Cause], ...] = (
    ("typeerror", "type-error"),
    ("attributeerror", "missing-attribute"),
    ("(?:key|value|index|name|assertion|notimplemented|recursion)error", "error"),
)


def _while_importing(raised: str, cause: Cause) -> MessageRule:
    return fault(
        cause,
        rf"INSTALLED[^ ]{{0,300}} line \d{{1,6}}, in <module>"
        rf"{_BELOW}(?<![\w.])(?:\w{{1,40}}\.){{0,4}}{raised}: {_NOT_OF_VERSIONS}\S",
        "$1 fails while it is imported: what is installed around it is of other releases than it is"
        " for.",
        package="$1",
    )


def _while_loading(raised: str, cause: Cause) -> MessageRule:
    return fault(
        cause,
        r"INSTALLED[^ ]{0,300}(?: line \d{1,6},)? in (?:from_config|deserialize\w{0,40}"
        r"|__setstate__|__cinit__|unpickle\w{0,20})(?!\w)(?:(?!-packages/|\.py, line \d).){0,400}?"
        rf"(?<!\w){raised}: \S",
        "$1 cannot read what was saved: another release of it wrote it.",
        package="$1",
    )


def _after_change(raised: str, cause: Cause) -> MessageRule:
    rule = fault(
        cause,
        r"(?<!\w)(?:upgrad|updat|downgrad|bump)(?:ed|ing|e)?(?: (?:from|to|the|of)){0,2}"
        r" (?!(?:script|code|app|project|bot|program|server|system|release|core)\b)(DIST)(?: from)?"
        rf"(?: version)?(?: to)? v?(VERS).{{0,400}}?(?<!\w){raised}: \S",
        "It fails since another $1 is installed, $2 among them: the code is for another release.",
        package="$1",
    )
    return part_of_found(rule)


OF_IMPORTS = (
    *(_while_importing(*row) for row in _RAISED),
    *(_while_loading(*row) for row in _RAISED),
    # https://docs.python.org/3/library/pickle.html#pickling-class-instances
    fault(
        "missing-attribute",
        r"cant get attribute (\w{1,80}) on <module ([a-z]\w{0,60}(?:\.\w{1,60}){0,8}) from"
        r" \S{1,300}-packages/",
        "The installed $2 has no $1: what was saved is of another release.",
        package="$2",
    ),
    # https://docs.pytest.org: what fails there is of pytest or of its plugins.
    *(
        fault(
            cause,
            rf"internalerror> .{{0,3000}}-packages/(\w{{1,80}})(?:/|\.py)[^ ]{{0,300}}"
            rf"(?:(?!-packages/|\.py, line \d).){{0,800}}?internalerror> {raised}:? ",
            "$1 fails inside pytest: it and a plugin are of releases that do not fit together.",
            package="$1",
        )
        for raised, cause in _RAISED
    ),
    fault(
        "missing-attribute",
        r"INSTALLEDSAMEFILEattributeerror: (?:cant set attribute"
        r"|property \w{1,80} of \w{1,80} object has no setter)",
        "Code of $1 sets what the installed release no longer lets it set.",
        package="$1",
    ),
    *(_after_change(*row) for row in _RAISED[:2]),
)
