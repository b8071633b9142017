"""The `advise` room's rules for what Python says of names, and pip of installed packages; the other
rules tell more of those that are known.
"""

from compat.advise.message_rule import fault, information, part_of_found

# What a name of one's own explains as well: which one the message does not tell.
OF_SLIPS = (
    # Python 3.10 and newer name the nearest name there is. One letter less, more, other or moved
    # is a slip; a plural or an underscore is mostly a name that was changed.
    information(
        "missing-attribute",
        r"module ([\w.]{1,200}\w) has no attribute (?=\w{4})(?:(\w{1,80})[a-z\d](\w{1,80})\. did"
        r" you mean: \.?(?:\2\3|\2[a-z\d]\3)|(\w{1,80}?)(\w{1,80})\. did you mean:"
        r" \.?\4[a-z\d]\5"
        r"|(\w{0,80})(\w)(\w)(\w{0,80})\. did you mean: \.?\6\8\7\9)\?",
        "The name that is asked of $1 is one letter from one that it has: a slip, as it seems.",
        package="$1",
    ),
    information(
        "missing-attribute",
        r"(?:module (\w{1,80}) has no attribute \1(?!\w)|cannot import name (\w{1,80}) from \2"
        r"(?![\w.])(?! \(\S{1,300}-packages/))",
        "The module $1$2 lacks what it is named after: mostly a file or folder of one's own has the"
        " name of the package.",
        package="$1$2",
    ),
)
# A call from one installed package into another: no code of one's own has a part in it.
OF_CALLS = (
    fault(
        "missing-attribute",
        r"-packages/(\w{1,80})(?:/|\.py)SAMEFILEattributeerror: (?:partially initialized )?module"
        r" (?!object )(?!\1\b)(\w{1,80})((?:\.\w{1,80}){0,6}) has no attribute (\w{1,80})(?! \()",
        "Code of $1 asks $2$3 for $4, which the installed release does not have.",
        package="$2",
        of="$1",
    ),
    fault(
        "missing-attribute",
        r"-packages/(\w{1,80})(?:/|\.py)[^ ]{0,300}(?: in [^.]{1,80})? (?:(?!-packages/).){0,200}?"
        r"\.(\w{1,80})(?!\w)(?:(?!\.py, line \d).){0,200}? file \S{0,300}-packages/(?!\1\b)"
        r"(\w{1,80})(?:/|\.py)SAMEFILEattributeerror: (?:\w{1,80} object has no attribute )?\2"
        r"(?!\w)",
        "Code of $1 asks $3 for $2, which the installed release does not have.",
        package="$3",
        of="$1",
    ),
    # What the interpreter brings itself begins so.
    fault(
        "missing-attribute",
        r"/lib(?:64)?/python[\d.]{1,6}/\w{1,80}\.py, line SAMEFILEimporterror: cannot import name"
        r" (_\w{1,80})",
        "The library of this Python is of another release than the interpreter: it asks for $1.",
        package="python",
    ),
)
OF_NAMES = (
    part_of_found(
        fault(
            "missing-attribute",
            r"(?<!\w)(?:partially initialized )?module (?!object )([\w.]{1,200}\w)"
            r" has no attribute (\w{1,80})(?!\w)(?! \((?:most likely due|consider renaming))",
            "The installed $1 has no $2: it was removed, renamed, or is not there yet.",
            package="$1",
        ),
    ),
    part_of_found(
        fault(
            "missing-attribute",
            r"cannot import name (\w{1,80}) from (?:partially initialized module )?(?!partially"
            r" init)([\w.]{1,200}\w)(?![\w.])(?! \(most likely due to a circular import)",
            "The installed $2 has no $1: it was removed, renamed, or is not there yet.",
            package="$2",
        ),
    ),
    # Before Python 3.7 the line above the error alone tells which module was asked.
    part_of_found(
        fault(
            "missing-attribute",
            r"from ([a-z_][\w.]{0,200}\w) import (?:\(? ?\w{1,80}(?: as \w{1,80})?, ){0,20}?\(?"
            r" ?(\w{1,80})(?:(?!-packages/)[^:]){0,200}? importerror: cannot import name \2(?!"
            r" from)(?!\w)",
            "The installed $1 has no $2: it was removed, renamed, or is not there yet.",
            package="$1",
        ),
    ),
    # Of several lines a traceback shows the first.
    part_of_found(
        fault(
            "missing-attribute",
            r"from ([a-z_][\w.]{0,200}\w) import \( importerror: cannot import name (\w{1,80})(?!"
            r" from)(?!\w)",
            "The installed $1 has no $2: it was removed, renamed, or is not there yet.",
            package="$1",
        ),
    ),
    fault(
        "missing-attribute",
        r"INSTALLEDOWNFRAMEattributeerror:"
        r" (?!BUILTIN )(\w{1,80}) object has no attribute (\w{1,80})",
        "Code of $1 asks a $2 for $3, which the installed release does not have.",
        package="$1",
    ),
    fault(
        "missing-attribute",
        r"INSTALLEDOWNFRAMEfile \S{0,300}-packages/\1/[^ ]{0,300} line"
        r" \d{1,6}, in __getattr(?:(?!-packages/).){0,400}?attributeerror: (?!BUILTIN )(\w{1,80})"
        r" object has no attribute (\w{1,80})",
        "Code of $1 asks a $2 for $3, which the installed release does not have.",
        package="$1",
    ),
    # What a package asks of a module is no slip of the user's; Python 2 names none.
    fault(
        "missing-attribute",
        r"INSTALLEDSAMEFILEattributeerror: module object has no attribute"
        r" (\w{1,80})",
        "Code of $1 asks a module for $2, which what is installed does not have.",
        package="$1",
    ),
    # What is handed to it may be wrong, too: that is held against what the matrix knows alone.
    fault(
        "missing-attribute",
        r"INSTALLEDOWNFRAMEattributeerror:"
        r" (?!nonetype )(\w{1,80}) object has no attribute (\w{1,80})",
        "Code of $1 asks a $2 for $3, which the installed release does not have.",
        package="$1",
        of="$1",
    ),
    # Python 2 says of no module which one it is; the line of the call, above the error, does.
    part_of_found(
        fault(
            "missing-attribute",
            r"(?<!\w)import ([a-z_][\w.]{0,60}) as (\w{1,30})(?!\w).{0,800}?(?<![\w.])\2\."
            r"(\w{1,60})(?!\w).{0,300}? attributeerror: module object has no attribute \3(?!\w)",
            "The installed $1 has no $3: it was removed, renamed, or is not there yet.",
            package="$1",
        ),
    ),
    fault(
        "missing-attribute",
        r"(?<![\w.])([a-z_]\w{0,40})(?:\.\w{1,60}){0,5}\.(\w{1,80})(?!\w)(?:(?!\.py\b).){0,300}?"
        r" attributeerror: module object has no attribute \2(?!\w)",
        "The installed $1 has no $2: it was removed, renamed, or is not there yet.",
        package="$1",
        of="$1",
    ),
    fault(
        "missing-attribute",
        r"INSTALLEDSAMEFILEimporterror: cannot import name"
        r" (\w{1,80})(?!\w)(?! from)",
        "Code of $1 imports $2, which what is installed does not have.",
        package="$1",
    ),
    fault(
        "missing-attribute",
        r"INSTALLEDSAMEFILEattributeerror: (\w{1,80})(?= file |$| \[)",
        "Code of $1 asks for $2, which what is installed does not have.",
        package="$1",
        of="$1",
    ),
    # A type that is written in C is named with its module. An array is mostly the user's own.
    fault(
        "missing-attribute",
        r"(?<!\w)(?!numpy\.)([a-z_]\w{0,80}(?:\.\w{1,80}){1,8}) object has no attribute (\w{1,80})",
        "The installed $1 has no $2: the code is for another release.",
        package="$1",
    ),
    part_of_found(
        fault(
            "missing-attribute",
            r"type object ([a-z_]\w{0,80})((?:\.\w{1,80}){1,6}) has no attribute (\w{1,80})",
            "The installed $1$2 has no $3: it is of another release than what asks for it.",
            package="$1",
        ),
    ),
    fault(
        "missing-attribute",
        r"INSTALLEDOWNFRAMEattributeerror: type object"
        r" (\w{1,80}) has no attribute (\w{1,80})",
        "Code of $1 asks $2 for $3, which the installed release does not have.",
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
    # A program that shows where its names come from.
    part_of_found(
        fault(
            "type-error",
            r"(?<!\w)import ([a-z_]\w{0,60})(?!\w)(?! as ).{0,1500}?(?<![\w.])\1((?:\.\w{1,60})"
            r"{1,5})\(.{0,300}? typeerror: (?:[\w.<>]{1,100}\.)?\w{1,60}\(\) (?:got an unexpected"
            r" keyword argument|missing \d{1,2} required keyword-only arguments?:?) (\w{1,80})",
            "$1$2 is called without or with $3, as the installed release does not take it.",
            package="$1",
        )
    ),
    part_of_found(
        fault(
            "type-error",
            r"(?<!\w)import ([a-z_][\w.]{0,60}) as (\w{1,30})(?!\w).{0,1500}?(?<![\w.])\2((?:\."
            r"\w{1,60}){1,5})\(.{0,300}? typeerror: (?:[\w.<>]{1,100}\.)?\w{1,60}\(\) (?:got an"
            r" unexpected keyword argument|missing \d{1,2} required keyword-only arguments?:?)"
            r" (\w{1,80})",
            "$1$3 is called without or with $4, as the installed release does not take it.",
            package="$1",
        )
    ),
    part_of_found(
        fault(
            "type-error",
            r"(?<!\w)from ([a-z_][\w.]{0,80}) import (?:\w{1,60}, ){0,8}?(\w{1,60})(?!\w)"
            r".{0,1500}? typeerror: \2\.__init__\(\) (?:got an unexpected keyword argument|missing"
            r" \d{1,2} required keyword-only arguments?:?) (\w{1,80})",
            "$2 of $1 is made without or with $3, as the installed release does not take it.",
            package="$1",
        )
    ),
    # The line of the call, above the error, says whose function it is.
    fault(
        "type-error",
        r"(?<![\w.])(?!(?:self|cls|super|model)\b)([a-z_]\w{0,40})((?:\.\w{1,60}){0,5}"
        r"\.(\w{1,60}))\((?:(?!\.py\b).){0,300}?(?:typeerror:|>)"
        r" (?:(?:[\w.<>]{1,100}\.)?(?:\3|__init__|__new__)\(\) )?(?:got an unexpected keyword"
        r" argument \w|takes (?:from )?\d{1,2}(?: to \d{1,2})? positional arguments? but|missing"
        r" \d{1,2} required)",
        "$1$2 is called in a way that the installed release does not take.",
        package="$1",
        of="$1",
    ),
    # Functions that others import by their name alone: https://www.attrs.org/en/stable/api.html,
    # https://scikit-learn.org/stable/api/sklearn.utils.html
    fault(
        "type-error",
        r"(?<![\w.])(?:attrs|attrib|attributes)\(\) got an unexpected keyword argument (\w{1,80})",
        "The installed attrs does not take $1: the code is for another release.",
        package="attrs",
    ),
    fault(
        "type-error",
        r"(?<![\w.])(check_array|check_x_y|check_is_fitted|validate_data|check_consistent_length)"
        r"\(\) got an unexpected keyword argument (\w{1,80})",
        "$1 of the installed scikit-learn does not take $2: the code is for another release.",
        package="scikit-learn",
    ),
    fault(
        "type-error",
        r"(?<![\w.])(read_(?:csv|excel|json|table)|to_(?:csv|excel|datetime)|json_normalize)\(\)"
        r" got an unexpected keyword argument (\w{1,80})",
        "$1 of the installed pandas does not take $2: the code is for another release.",
        package="pandas",
    ),
    # A call from a package's own code, into another one or its own. What it only hands on may be
    # of the user's.
    fault(
        "type-error",
        r"INSTALLEDSAMEFILEtypeerror:"
        r" (?:[\w.<>]{1,100}\.)?(\w{1,80})\(\) got an unexpected keyword argument (\w{1,80})",
        "Code of $1 calls $2 with $3, which the installed release does not take.",
        package="$1",
    ),
    # The line of the call names what is called: no function that the user handed on.
    fault(
        "type-error",
        r"INSTALLED[^ ]{0,300}(?:(?!-packages/|\.py, line \d"
        r"|\*args, ?\*\*kw).){0,400}?(?<!\w)(\w{2,80})\((?:(?!-packages/|\.py, line \d|\*args, ?"
        r"\*\*kw).){0,400}?typeerror: (?:[\w.<>]{1,100}\.)?\2\(\) (missing \d{1,2} required"
        r" (?:positional|keyword-only) arguments?|takes (?:from )?\d{1,2}(?: to \d{1,2})?"
        r" positional arguments? but)",
        "Code of $1 calls $2 in a way that the installed release does not take.",
        package="$1",
    ),
    fault(
        "type-error",
        r"INSTALLED[^ ]{0,300}(?:(?!-packages/|\.py, line \d"
        r"|\*args, ?\*\*kw|(?<!\w)cls\().){0,400}?typeerror: (?:[\w.<>]{1,100}\.)?(__init__)\(\)"
        r" (missing \d{1,2} required (?:positional|keyword-only) arguments?)",
        "Code of $1 makes an object in a way that the installed release does not take.",
        package="$1",
    ),
    fault(
        "type-error",
        r"INSTALLED(?:(?!-packages/|\.py, line \d|\*args, ?\*\*"
        r"kw).){0,500}?typeerror: (?:[\w.<>]{1,100}\.)?(\w{1,80})\(\) (missing \d{1,2} required"
        r" (?:positional|keyword-only) arguments?|takes (?:from )?\d{1,2}(?: to \d{1,2})?"
        r" positional arguments? but)",
        "Code of $1 calls $2 in a way that the installed release does not take.",
        package="$1",
    ),
    fault(
        "type-error",
        r"INSTALLEDSAMEFILE(?:typeerror: \(keyword argument not"
        r" understood:,|valueerror: \(?unrecognized keyword arguments)",
        "$1 is given an argument that the installed release does not know.",
        package="$1",
    ),
    # A class of one package and a base of another, or of another release of its own.
    fault(
        "type-error",
        r"(?:site|dist)-packages/(?:google/)?(\w{1,80})(?:/|\.py)SAMEFILEtypeerror: metaclass"
        r" conflict",
        "Code of $1 makes a class whose bases do not fit together: they are of other releases.",
        package="$1",
    ),
    fault(
        "type-error",
        r"typeerror: (?:[\w.<>]{1,100}\.)?(\w{1,80})\(\) (got an unexpected keyword argument"
        r" \w{1,80}|missing \d{1,2} required (?:positional|keyword-only) arguments?)"
        r"|valueerror: \(?unrecognized keyword arguments",
        "Something is called in a way that the installed release does not take.",
        package="",
    ),
    # Lower-case types are mostly Python's own, whose attributes no release of a library changes.
    fault(
        "missing-attribute",
        r"attributeerror: (?!BUILTIN )(\w{1,80}) object has no attribute (\w{1,80})",
        "Code asks a $1 for $2, which it does not have: the code is for another release.",
        package="",
    ),
    fault(
        "missing-module",
        r"INSTALLEDSAMEFILE(?:import|from) (?:[\w.,]{1,80} ){1,12}?"
        r"(?:modulenotfounderror|importerror): no module named (?!\1\b)"
        r"([\w.]{1,200}\w)(?![\w.])(?!; \S{1,200} is not a package)",
        "The module $2 is not installed, and $1 imports it.",
        package="$2",
        of="$1",
    ),
    # Since Python 3.3 the first of the packages that are not there is named: the outer ones are.
    part_of_found(
        fault(
            "missing-module",
            r"(?:modulenotfounderror|exception): no module named ([a-z_]\w{0,80})"
            r"((?:\.\w{1,80}){1,8})(?![\w.])(?!; \S{1,200} is not a package)",
            "The installed $1 has no module $1$2: it was removed, renamed, or is not there yet.",
            package="$1",
        ),
    ),
    fault(
        "missing-module",
        r"(?:modulenotfounderror|importerror): no module named"
        r" ([\w.]{1,200}\w)(?![\w.])(?!; \S{1,200} is not a package)",
        "The module $1 is not installed.",
        package="$1",
    ),
    fault(
        "requires-python",
        r"error: (?:(?:[^:]{0,120}? )?([\w-]{1,60}) (?:requires|needs|only supports) )?python"
        r" (?:version )?(?:>="
        r" ?)?(3\.\d{1,2}(?:\.\d{1,2})?)(?: is required| required|\+| or (?:higher|newer|later"
        r"|above|greater))",
        "$1 requires Python $2 or newer.",
        package="python",
        of="$1",
        needs="python>=$2",
    ),
)
# What pip says of installed packages.
OF_REQUIREMENTS = (
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
)
