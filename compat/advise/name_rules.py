"""The `advise` room's rules for what Python says of names, and pip of installed packages; the other
rules tell more of those that are known.
"""

from compat.advise.message_rule import fault

OF_NAMES = (
    fault(
        "missing-attribute",
        r"attributeerror: (?:partially initialized )?module ([\w.]{1,200}\w) has no attribute"
        r" (\w{1,80})(?!\w)(?! \((?:most likely due|consider renaming))",
        "The installed $1 has no $2: it was removed, renamed, or is not there yet.",
        package="$1",
    ),
    fault(
        "missing-attribute",
        r"importerror: cannot import name (\w{1,80}) from (?:partially initialized module )?"
        r"(?!partially init)([\w.]{1,200}\w)(?![\w.])(?! \(most likely due to a circular import)",
        "The installed $2 has no $1: it was removed, renamed, or is not there yet.",
        package="$2",
    ),
    # Before Python 3.7 the line above the error alone tells which module was asked.
    fault(
        "missing-attribute",
        r"from ([a-z_][\w.]{0,200}\w) import (?:\(? ?\w{1,80}(?: as \w{1,80})?, ){0,20}?\(?"
        r" ?(\w{1,80})(?:(?!-packages/)[^:]){0,200}? importerror: cannot import name \2(?!"
        r" from)(?!\w)",
        "The installed $1 has no $2: it was removed, renamed, or is not there yet.",
        package="$1",
    ),
    fault(
        "missing-attribute",
        r"(?:site|dist)-packages/(\w{1,80})/(?:(?!-packages/).){0,400}?attributeerror:"
        r" (?!nonetype )(\w{1,80}) object has no attribute (\w{1,80})",
        "Code of $1 asks a $2 for $3, which the installed release does not have.",
        package="$1",
    ),
    # Python 2 names the last part of a module alone.
    fault(
        "missing-module",
        r"from ([a-z]\w{0,80})(?:\.\w{1,80}){0,6}?\.(\w{1,80}) import [^:]{0,200}? importerror: no"
        r" module named \2(?![\w.])",
        "The installed $1 has no module $2: it was removed, renamed, or is not there yet.",
        package="$1",
    ),
    # A call from a package's own code, into another one or its own.
    fault(
        "type-error",
        r"(?:site|dist)-packages/(\w{1,80})/SAMEFILEtypeerror: (?:[\w.<>]{1,100}\.)?(\w{1,80})\(\)"
        r" got an unexpected keyword argument (\w{1,80})",
        "Code of $1 calls $2 with $3, which the installed release does not take.",
        package="$1",
    ),
    # Lower-case types are mostly Python's own, whose attributes no release of a library changes.
    fault(
        "missing-attribute",
        r"attributeerror: (?!(?:nonetype|str|bytes|int|float|bool|list|tuple|dict|set|function"
        r"|method|module|generator|type|object) )(\w{1,80}) object has no attribute (\w{1,80})",
        "Code asks a $1 for $2, which it does not have: the code is for another release.",
        package="",
    ),
    fault(
        "missing-module",
        r"(?:modulenotfounderror|importerror): no module named ([\w.]{1,200}\w)",
        "The module $1 is not installed.",
        package="$1",
    ),
    fault(
        "conflict",
        r"(?:^|[\s:])(NAME) (\d[\w.+!-]{0,60}) (?:requires|has requirement) (NAME)EXTRAS ?(SPEC)"
        r"(?:;.{1,120}?)?, but you(?:ll)? have (NAME) (\d[\w.+!-]{0,60}) which is incompatible",
        "$1 $2 requires $3$4, and $5 $6 is installed.",
        package="$3",
        of="$1",
        needs="$3$4",
    ),
    fault(
        "missing-module",
        r"(?:^|[\s:])(NAME) (\d[\w.+!-]{0,60}) requires (NAME)EXTRAS ?(?:SPEC)?, which is not"
        r" installed",
        "$1 $2 requires $3, which is not installed.",
        package="$3",
        of="$1",
        needs="$3",
    ),
    fault(
        "requires-python",
        r"error: (?:([\w-]{1,60}) requires )?python (?:version )?(?:>="
        r" ?)?(3\.\d{1,2}(?:\.\d{1,2})?)(?: is required| required|\+| or (?:higher|newer|later"
        r"|above|greater))",
        "$1 requires Python $2 or newer.",
        package="python",
        of="$1",
        needs="python>=$2",
    ),
)
