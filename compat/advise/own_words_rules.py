"""The `advise` room's rules for what packages say in words of their own of the versions that they
need, by the form of the sentence.
"""

from compat.advise.message_rule import fault

# Who says so need not be known: a sentence of these forms, with a version, is of versions always.
OF_OWN_WORDS = (
    fault(
        "version-guard",
        r"error: (DIST) ?(DOTTEDSPEC) (?:requirement )?(?:is |was )?not (?:satisfied|met)",
        "$1$2 is required, and another version is installed.",
        package="$1",
        needs="$1$2",
    ),
    fault(
        "version-guard",
        r"(?:requires?|needs?) (DIST) (?:maximum|minimum|max|min)\.? versions?:? v?(VERS)",
        "$1 of another version is required: $2 is the bound.",
        package="$1",
    ),
    fault(
        "binary-incompatible",
        r"(?:built|compiled) for(?: another version of)?:? (DIST) (?:v?(VERS) [^.:;]{0,60})?"
        r"\(you have",
        "What is loaded was made for $1 $2, and another version is installed.",
        package="$1",
    ),
    fault(
        "binary-incompatible",
        r"(?:module|extension) was (?:built|compiled) for another version of (DIST)",
        "A compiled module is for another $1 than the installed one.",
        package="$1",
    ),
    fault(
        "version-guard",
        r"version mismatch: this is the (DIST) package version (VERS)",
        "Parts of two releases of $1 are installed over each other.",
        package="$1",
    ),
    fault(
        "version-guard",
        r"(?:requires?|needs?|expects?|need) (?:at least )?(?:the )?(DIST)(?: library| package)?"
        r"(?: versions?)? (?:>= ?|at least |of at least )?v?(VERS)(?: or NEWER|\+| and NEWER)",
        "$1 $2 or newer is required.",
        package="$1",
        needs="$1>=$2",
    ),
    fault(
        "version-guard",
        r"(?:requires?|needs?|expects?) (?:at least|a minimum of|minimum) (DIST)(?: versions?)?"
        r" v?(VERS)",
        "$1 $2 or newer is required.",
        package="$1",
        needs="$1>=$2",
    ),
    fault(
        "version-guard",
        r"(?<![\w.-])(DIST)(?: version)? (?:>= ?)?v?(VERS)(?:\+| or NEWER| and NEWER)? (?:is|are)"
        r" (?:required|needed)(?!d)",
        "$1 $2 or newer is required.",
        package="$1",
        needs="$1>=$2",
    ),
    fault(
        "version-guard",
        r"(?<![\w.-])(DIST)(?: version)? ?(DOTTEDSPEC)(?: and SPEC)? (?:is|are) (?:required|needed)"
        r"(?: (?:for|by) (?:this version of )?(DIST))?",
        "$1$2 is required.",
        package="$1",
        of="$3",
        needs="$1$2",
    ),
    fault(
        "version-guard",
        r"(?:requires?|needs?|expects?|expected|need) (DIST)(?: versions?)? ?(DOTTEDSPEC)"
        r"(?=[ ;:)]|, |\. |\.$)(?!(?:;[^,]{1,120})?,? ?but you(?:ll)? have \S{1,80} \S{1,80}"
        r" which)(?!,? which is)"
        r"(?:(?!error:|which is ).){0,150}?(?:you have|found|installed|detected|current|upgrade"
        r"|downgrade|\bgot\b|running|instead)",
        "$1$2 is required, and another version is installed.",
        package="$1",
        needs="$1$2",
    ),
    fault(
        "version-guard",
        r"(?:requires?|needs?|expects?|expected|need) (DIST)(?: versions?)? (?:== ?)?v?(VERS)[,;.]?"
        r" (?:but |and |you )?(?:got|found|have|detected|installed|version)",
        "$1 $2 is expected, and another version is installed.",
        package="$1",
        needs="$1==$2",
    ),
    fault(
        "version-guard",
        r"(?<![\w.-])(DIST)(?: version)? v?(VERS) is (?:incompatible|not compatible) with"
        r" (?!python\b)([a-z][\w-]{0,60})(?: version)? ?(SPEC|VERS)?",
        "$1 $2 is not for $3 $4.",
        package="$3",
        of="$1",
    ),
    fault(
        "version-guard",
        r"(?:your|installed|current|the) (?:installed )?(DIST) version (?:\(?v?VERS\)? )?(?:is"
        r" (?:too (?:old|new)|outdated|not supported|unsupported|incompatible|not compatible)"
        r"|(?:must|should|has to) be )",
        "The installed $1 is not of a version that is taken.",
        package="$1",
    ),
    fault(
        "version-guard",
        r"versions? (?:VERS )?of (DIST) (?:\(?v?VERS\)? )?(?:is (?:too (?:old|new)|outdated"
        r"|not supported|unsupported|incompatible|not compatible)|(?:must|should|has to|needs to)"
        r" be )",
        "The installed $1 is not of a version that is taken.",
        package="$1",
    ),
    fault(
        "version-guard",
        r"please (?:upgrade|update|downgrade|install|use|run)(?: your| to| the| with)?(?: package)?"
        r" (DIST)(?: versions?)?(?: to)?(?: versions?| at least)? ?(DOTTEDSPEC)",
        "$1$2 is asked for, and another version is installed.",
        package="$1",
        needs="$1$2",
    ),
    fault(
        "version-guard",
        r"please (?:upgrade|update|downgrade)(?: your| to| the)? (DIST)(?: versions?)?(?: to)?"
        r"(?: versions?| at least)? v?(VERS)",
        "$1 $2 is asked for, and another version is installed.",
        package="$1",
    ),
    fault(
        "version-guard",
        r"error: (?:(?!error:).){0,300}?pip3? install (?:(?:-u|--upgrade) (DIST)|(DIST)"
        r" (?:-u|--upgrade))(?![\w-])",
        "$1$2 is too old for what asks for it.",
        package="$1$2",
    ),
    fault(
        "missing-attribute",
        r"(?:no longer (?:supported|available|exists?)|removed|not supported|dropped) (?:in|since"
        r"|from|as of|with) (?:version |the )?(DIST)(?: versions?)? ?(?:>=? ?)?v?(VERS)",
        "$1 $2 no longer has what is asked of it: the code is for an older $1.",
        package="$1",
        needs="$1<$2",
    ),
    fault(
        "binary-incompatible",
        r"(?<![\w-])(DIST) and (DIST) versions (?:are incompatible|are not compatible|do not match"
        r"|dont match|mismatch)",
        "The installed $1 and $2 do not fit together.",
        package="$1",
        of="$2",
    ),
    fault(
        "binary-incompatible",
        r"(?<![\w-])(DIST) and (DIST) were (?:compiled|built) with different",
        "The installed $1 and $2 do not fit together.",
        package="$1",
        of="$2",
    ),
    fault(
        "binary-incompatible",
        r"(?:built|compiled|linked|generated) (?:with|against|using|for|by) (DIST)(?: versions?)?"
        r" v?(VERS)[^a-z]{0,3}(?:but|while|and|when|however) [^.:]{0,80}\d\.\d",
        "What is loaded was made with $1 $2, and another version is installed.",
        package="$1",
    ),
    # https://pytorch.org: a compiled extension that was not loaded, as it is for another torch.
    fault(
        "binary-incompatible",
        r"(?:operator (\w{1,60})::\w{1,80} does not exist|no such operator (\w{1,60})::)",
        "The compiled operators of $1$2 were not loaded: it is for another release of what it"
        " extends.",
        package="$1$2",
        of="torch",
    ),
    fault(
        "binary-incompatible",
        r"_opnamespace (\w{1,60}) object has no attribute (\w{1,80})",
        "The compiled operator $1::$2 was not loaded: it is for another torch.",
        package="torch",
    ),
    # Whose function, optimizer, tensor or file it is the sentence says.
    fault(
        "error",
        r"(?<![\w.])(\w{1,20})(?:\.\w{1,20}){0,3}\.?placeholder\(\) is not compatible with eager",
        "The code is for an older $1, which had no eager execution.",
        package="$1",
    ),
    fault(
        "error",
        r"\w{1,40} is deprecated in the new ([a-z]\w{1,30}) optimizer"
        r"|file format not supported: (?:(?!error:).){0,300}? ([a-z]\w{1,30}) \d{1,2} only"
        r" supports",
        "The installed $1$2 no longer takes it: the code, or what was saved, is for an older one.",
        package="$1$2",
    ),
    fault(
        "type-error",
        r"(?<!\w)a ([a-z]\w{1,30})tensor (?:cannot be used as input|is symbolic)"
        r"|(?<!\w)([a-z]\w{1,30}) symbolic inputs/outputs do not implement",
        "The installed $1$2 is of another release than what works with it.",
        package="$1$2",
    ),
    # An exception that is made for it; what speaks of a conversion is none.
    fault(
        "version-guard",
        r"(?<![\w.])(?!pkg_resources\b)([a-z_]\w{0,60})\.(?:\w{1,60}\.){0,4}\w{0,30}?"
        r"(?<!con)(?<!in)(?<!re)(?<!sub)version\w{0,30}?(?:error|mismatch|conflict|exception)"
        r"(?!\w)",
        "$1 refuses a version: what asks for it is for another release.",
        package="$1",
    ),
    fault(
        "missing-module",
        r"(?:missing|unable to import) required dependencies:? \[?([a-z]\w{0,60})",
        "$1 is not installed, or its installed files are damaged.",
        package="$1",
    ),
)
# What may be of something else than packages: is held against what is known to be one alone.
OF_LOOSE_WORDS = (
    fault(
        "version-guard",
        r"(?:import|runtime|value|assertion|attribute)error: (?:[^:]{0,200}? )?(?:requires?|needs?"
        r"|expects?) (?!python\b)([a-z][\w-]{0,60}?)(?: version)? ?(SPEC)(?=[,;.)]? |[,;.)]?$)",
        "$1$2 is required by what is imported.",
        package="$1",
        needs="$1$2",
    ),
    fault(
        "version-guard",
        r"(?<![\w.-])(DIST)(?: version)? v?(VERS) is (?:too (?:old|new)|not supported|unsupported"
        r"|incompatible|no longer supported)",
        "$1 $2 is not of a version that is taken.",
        package="$1",
    ),
    fault(
        "version-guard",
        r"(?:incompatible|unsupported) (DIST) version(?!\w)",
        "The installed $1 is not of a version that is taken.",
        package="$1",
    ),
    fault(
        "version-guard",
        r"error: (?:(?!error:).){0,300}?(?:please|try|need to|have to|should|must|consider)"
        r" (?:upgrade|update|downgrade|upgrading|updating|downgrading)(?: your| to| the)? (DIST)"
        r"(?![\w-])",
        "Another version of $1 is asked for.",
        package="$1",
    ),
)
