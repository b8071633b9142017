"""The `advise` room's rules for what an interpreter, and who asks for one, says of its version."""

from compat.advise.message_rule import fault
from compat.advise.standard_library import OF_STANDARD_LIBRARY
from compat.advise.syntax_rules import OF_SYNTAX

OF_PYTHON = (
    fault(
        "requires-python",
        r"package (NAME) requires a different python: ([\d.]{1,20}) not in (SPEC)",
        "$1 requires Python $3, and yours is $2.",
        package="python",
        of="$1",
        needs="python$3",
    ),
    fault(
        "requires-python",
        r"(?:current|requested) python version \([^\d)]{0,4}([\d.]{1,20})(?:, ?SPEC)?\) does not"
        r" satisfy"
        r" python ?(SPEC),? and (?:all versions of )?(NAME)(?:==RELEASE)? depends? on python",
        "$3 requires Python $2, and yours is $1.",
        package="python",
        of="$3",
        needs="python$2",
    ),
    fault(
        "requires-python",
        r"(?:current|requested) python version \([^\d)]{0,4}([\d.]{1,20})(?:, ?SPEC)?\) does not"
        r" satisfy"
        r" python.{0,1500}? (NAME)EXTRAS(?:SPEC)? depends on python ?(SPEC)",
        "$2 requires Python $3, and yours is $1.",
        package="python",
        of="$2",
        needs="python$3",
    ),
    fault(
        "requires-python",
        r"(?:current|requested) python version \([^\d)]{0,4}([\d.]{1,20})(?:, ?SPEC)?\) does not"
        r" satisfy"
        r" python ?(SPEC),? and (?:your project depends on|you require) (NAME)(?=[\[<>=!~ ,])",
        "$3 requires Python $2, and yours is $1.",
        package="python",
        of="$3",
        needs="python$2",
    ),
    # pip names what it left out, and says then that it finds nothing.
    fault(
        "requires-python",
        r"(?<=[\s;])(RELEASE) requires-python (SPEC)(?=[\s;])(?:(?!no matching).){0,3000}?"
        r"no matching distribution found for (NAME)EXTRAS==\1(?![\w.])",
        "$3 $1 requires Python $2.",
        package="python",
        of="$3",
        needs="python$2",
    ),
    fault(
        "requires-python",
        r"cannot install on python version ([\d.]{1,20}\d); only versions (SPEC) are supported",
        "What is built requires Python $2, and yours is $1.",
        package="python",
        needs="python$2",
    ),
    fault(
        "requires-python",
        r"the requested interpreter resolved to python ([\d.]{1,20}\d), which is incompatible with"
        r" the projects python requirement: (SPEC)",
        "The project requires Python $2, and yours is $1.",
        package="python",
        needs="python$2",
    ),
    fault(
        "requires-python",
        r"(?:^|[\s:(])(NAME)(?: \(?v?RELEASE\)?)? is (?:not compatible|incompatible|not supported)"
        r" (?:to|with|on|by) (?:your )?python(?: version)?:? v?(3[\d.]{1,8})",
        "$1 is not for Python $2.",
        package="python",
        of="$1",
    ),
    # https://pyo3.rs: a build for a newer Python than its release knows is refused.
    fault(
        "requires-python",
        r"python interpreter version \(([\d.]{1,20})\) is newer than pyo3s maximum supported"
        r" version \(([\d.]{1,20})\)",
        "What is built is for Python $2 or older, and yours is $1.",
        package="python",
    ),
    # https://peps.python.org/pep-0585/
    fault(
        "type-error",
        r"(?:^|[^\w])(?:type|abcmeta) object is not subscriptable",
        "A type annotation in it needs Python 3.9 or newer (PEP 585).",
        package="python",
        needs="python>=3.9",
    ),
    # https://peps.python.org/pep-0604/
    fault(
        "type-error",
        r"unsupported operand type\(s\) for \|: (?:(?:type|abcmeta|enummeta|enumtype"
        r"|modelmetaclass|(?:typing\.|types\.)?_?\w{0,20}genericalias|_specialform) and \w"
        r"|\S{1,80} and nonetype)",
        "A type annotation in it needs Python 3.10 or newer (PEP 604).",
        package="python",
        needs="python>=3.10",
    ),
    # https://peps.python.org/pep-0584/
    fault(
        "type-error",
        r"unsupported operand type\(s\) for \|=?: dict and dict",
        "Code in it joins dictionaries as Python 3.9 and newer can (PEP 584).",
        package="python",
        needs="python>=3.9",
    ),
    # https://github.com/python/cpython/issues/86361: typing refused it before 3.9.2.
    fault(
        "type-error",
        r"callable\[\[arg, \.\.\.\], result\]: each arg must be a type\. got ellipsis",
        "A type annotation in it is refused by this Python, and taken from 3.9.2 on.",
        package="python",
        needs="python>=3.9",
    ),
    *OF_SYNTAX,
    # https://docs.python.org/3/whatsnew/3.11.html#dataclasses
    fault(
        "type-error",
        r"valueerror: mutable default class (?!list\b|dict\b|set\b)\S{1,200} for field \w{1,80} is"
        r" not allowed: use default_factory|valueerror: mutable default <class (?!list\b|dict\b"
        r"|set\b)[^>]{1,200}> for field \w{1,80} is not allowed: use default_factory",
        "Python 3.11 refuses such defaults of a dataclass: the code is for Python 3.10 or older.",
        package="python",
        needs="python<3.11",
    ),
    # https://docs.python.org/3/whatsnew/3.10.html#removed
    fault(
        "type-error",
        r"as of 3\.10, the \*?loop\*? parameter was removed",
        "Python 3.10 removed asyncio's loop parameter: the code is for Python 3.9 or older.",
        package="python",
        needs="python<3.10",
    ),
    *OF_STANDARD_LIBRARY,
)
