"""The `advise` room's rules for what resolvers, installers and builds refuse."""

from compat.advise.message_rule import fault

OF_RESOLVERS = (
    fault(
        "no-artifact",
        r"could not find a version that satisfies the requirement (NAME)EXTRAS ?(SPEC)MARKER"
        r" \(from (NAME)(?:==RELEASE)?\)",
        "$3 requires $1$2, and pip finds no such file for this Python and platform.",
        package="$1",
        of="$3",
        needs="$1$2",
    ),
    fault(
        "no-artifact",
        r"no matching distribution found for (NAME)EXTRAS ?(SPEC)MARKER"
        r" \(from (NAME)(?:==RELEASE)?\)",
        "$3 requires $1$2, and pip finds no such file for this Python and platform.",
        package="$1",
        of="$3",
        needs="$1$2",
    ),
    # A Python is no file of an index, whichever is asked for.
    fault(
        "no-artifact",
        r"no matching distribution found for (?!python ?[<>=!~])(NAME)EXTRAS ?(SPEC)(?=[\s;)]|$)",
        "pip finds no file of $1$2 for this Python and platform.",
        package="$1",
    ),
    fault(
        "no-artifact",
        r"there (?:is|are) no versions? of (NAME)EXTRAS(?:\{[^}]{0,80}\})?(SPEC)(?=[ ,])"
        r"(?: and (NAME)(?:==RELEASE) depends on)?",
        "The index has no $1$2 for this Python and platform.",
        package="$1",
        of="$3",
    ),
    fault(
        "no-artifact",
        r"because only (?:NAME)EXTRAS ?(?:SPEC) (?:is|are) available and"
        r" (?:you require|(NAME)(?:==RELEASE) depends on) (NAME)EXTRAS ?(SPEC)",
        "The index has no $2$3 for this Python and platform.",
        package="$2",
        of="$1",
    ),
    fault(
        "no-artifact",
        r"because (NAME)(SPEC) has no (?:usable )?(?:wheels|source distribution)",
        "$1$2 has no file for this Python and platform.",
        package="$1",
    ),
    # https://peps.python.org/pep-0592/
    fault(
        "yanked",
        r"because (NAME)==(RELEASE) was yanked",
        "$1 $2 was taken back by its authors, and this resolver does not take it.",
        package="$1",
    ),
    fault(
        "conflict",
        r"because only the following versions of (NAME)EXTRAS are available: .{0,2000}? and"
        r" (NAME)EXTRAS(?:==RELEASE)? depends on \1EXTRAS ?(SPEC), .{0,2000}?because you require"
        r" \1EXTRAS ?(SPEC)",
        "$2 requires $1$3, and $1$4 is asked for, too.",
        package="$1",
        of="$2",
        needs="$1$3",
    ),
    fault(
        "no-artifact",
        r"because only the following versions of (NAME)EXTRAS are available: .{0,2000}?(?: and|,)"
        r" (?:we can .{0,200}?|you require|your project depends on|(?:all versions of"
        r" )?(NAME)EXTRAS(?:==RELEASE)? depends? on) \1EXTRAS ?(SPEC)",
        "The index has no $1$3 for this Python and platform.",
        package="$1",
        of="$2",
    ),
    fault(
        "no-artifact",
        r"(NAME)(?:==(RELEASE))? is unusable because no (?:wheels|source distribution)",
        "$1 $2 has no file for this Python and platform.",
        package="$1",
    ),
    fault(
        "no-artifact",
        r"because all versions of (NAME) have no (?:usable )?(?:wheels|source distribution)",
        "$1 has no file for this Python and platform.",
        package="$1",
    ),
    fault(
        "no-artifact",
        r"(?:distribution )?(NAME)==(RELEASE)(?: @ \S{1,80})? cant be installed because it doesnt"
        r" have a source distribution or wheel for the current platform",
        "$1 $2 has no file for this Python and platform.",
        package="$1",
    ),
    fault(
        "no-artifact",
        r"(?:^|[\s/])([a-z0-9][\w.]{0,80}?)-(\d[\w.+!]{0,40}?)-\S{1,120}\.whl is not a supported"
        r" wheel on this platform",
        "$1 $2: the file is for another Python or platform.",
        package="$1",
    ),
    # https://pip.pypa.io/en/stable/news/#v24-1b1
    fault(
        "no-artifact",
        r"ignoring version (RELEASE) of (NAME) since it has invalid metadata",
        "pip 24.1 and newer refuse $2 $1, whose metadata is not valid.",
        package="$2",
    ),
    fault(
        "no-artifact",
        r"requested (NAME)(?:==(RELEASE))? from \S{1,400} (?:\([^)]{1,200}(?:\([^)]{1,40}\))?\) )?"
        r"has invalid metadata: ",
        "pip 24.1 and newer refuse $1 $2, whose metadata is not valid.",
        package="pip",
        needs="pip<24.1",
    ),
    fault(
        "no-artifact",
        r"could not find a version that satisfies the requirement (?!python ?[<>=!~])(NAME)EXTRAS"
        r" ?(SPEC)MARKER(?: \(from -[^()]{1,200}(?:\(line \d{1,6}\)[^()]{0,200}){1,9}\))?"
        r" \(from versions:",
        "pip finds no file of $1$2 for this Python and platform.",
        package="$1",
    ),
    fault(
        "conflict",
        r"because (NAME)EXTRAS(==RELEASE) depends on (NAME)EXTRAS(?:\{[^}]{0,80}\})?(SPEC) and"
        r" (?:you require|(NAME)EXTRAS(==RELEASE) depends on) \3EXTRAS(?:\{[^}]{0,80}\})? ?(SPEC)",
        "$1$2 requires $3$4, and $3$7 is asked for, too.",
        package="$3",
        of="$1",
        needs="$3$4",
    ),
    fault(
        "conflict",
        r"because (?:all versions of )?(NAME)EXTRAS(?:SPEC)? depends? on"
        r" (NAME)EXTRAS(?:\{[^}]{0,80}\})? ?(SPEC) and (?:you require|(?:all versions of"
        r" )?(NAME)EXTRAS(?:SPEC)? depends? on|your project depends on) \2EXTRAS(?:\{[^}]{0,80}\})?"
        r" ?(SPEC)",
        "$1 requires $2$3, and $2$5 is asked for, too.",
        package="$2",
        of="$1",
        needs="$2$3",
    ),
    fault(
        "conflict",
        r"because (?:you require|your project depends on) (NAME)EXTRAS ?(SPEC) and"
        r" (?:you require |your project depends on )?\1EXTRAS ?(SPEC),",
        "$1$2 is asked for, and $1$3, too.",
        package="$1",
    ),
    fault(
        "no-artifact",
        r"because (NAME)EXTRAS(?:==RELEASE)? depends on (NAME)EXTRAS(?:\{[^}]{0,80}\})? ?(SPEC) and"
        r" only the following versions of \2EXTRAS(?:\{[^}]{0,80}\})? are available",
        "$1 requires $2$3, which the index does not have for this Python and platform.",
        package="$2",
        of="$1",
    ),
    # What poetry says.
    fault(
        "conflict",
        r"because (NAME)EXTRAS \(RELEASE\) depends on (NAME)EXTRAS \(([^()]{1,80})\) and"
        r" (?:NAME)EXTRAS(?: \(RELEASE\))? depends on \2EXTRAS \(([^()]{1,80})\)",
        "$1 requires $2$3, and $2$4 is asked for, too.",
        package="$2",
        of="$1",
        needs="$2$3",
    ),
    fault(
        "requires-python",
        r"projects (?:python requirement|supported python range) \((SPEC)\) is not compatible with"
        r" some of the required packages python requirement: - (NAME) requires python (SPEC)",
        "$2 requires Python $3, and the project admits $1.",
        package="python",
        of="$2",
        needs="python$3",
    ),
    fault(
        "requires-python",
        r"because (NAME) \((?:RELEASE)\) requires python (SPEC)(?= and|,)",
        "$1 requires Python $2.",
        package="python",
        of="$1",
        needs="python$2",
    ),
    fault(
        "no-artifact",
        r"unable to find installation candidates for (NAME) \((RELEASE)\)",
        "$1 $2 has no file for this Python and platform.",
        package="$1",
    ),
    fault(
        "no-artifact",
        r"depends on (NAME)EXTRAS \(([^()]{1,80})\) which doesnt match any versions",
        "The index has no $1 $2.",
        package="$1",
    ),
    fault(
        "conflict",
        r"(?:so, )?because (NAME) depends on (?:both )?(NAME)EXTRAS \([^()]{1,80}\)(?: and"
        r" (NAME)EXTRAS \([^()]{1,80}\))?, version solving failed",
        "$1 requires $2, which other requirements exclude.",
        package="$2",
        of="$1",
    ),
    fault(
        "conflict",
        r"the conflict is caused by: .{0,600}?depends on (NAME)EXTRAS ?(?:SPEC)(?=[ ;]|$)",
        "The requirements on $1 contradict each other.",
        package="$1",
    ),
    fault(
        "conflict",
        r"cannot install (?:-\S .{0,400}? and |(NAME)EXTRAS(?:==RELEASE)?(?:,| and) .{0,400}?)?"
        r"(NAME)EXTRAS ?(?:SPEC|\d[\w.]{0,40})?(?: \(from [^()]{1,400}\))?(?: and (?:SPEC))?"
        r" because these package versions have conflicting dependencies",
        "What $1 and $2 require cannot be installed together.",
        package="$2",
        of="$1",
    ),
    # What pip-tools said before it used pip's own resolver.
    fault(
        "conflict",
        r"could not find a version that matches (NAME)EXTRAS(SPEC)",
        "The requirements on $1 contradict each other: $2.",
        package="$1",
    ),
    fault(
        "build",
        r"(?:using cached|downloading) ([a-z0-9][\w.-]{0,80}?)-(\d[\w.]{0,40}?)\.(?:tar\.gz|zip)"
        r"(?: \([^)]{1,30}\))?(?:(?!collecting).){0,300}?(?:installing build dependencies"
        r"|getting requirements to build wheel|preparing metadata|building wheel)"
        r"(?: \([^)]{1,30}\))?:? ?(?:\.\.\.|started|finished with status) ?error",
        "$1 $2 has no file for this Python and platform, and does not build from source.",
        package="$1",
    ),
    fault(
        "build",
        r"building wheels? for (NAME)(?: \([^)]{1,30}\))?:? ?(?:(?:\.\.\.|finished with"
        r" status) ?error|did not run successfully)",
        "$1 has no file for this Python and platform, and does not build from source.",
        package="$1",
    ),
    fault(
        "build",
        r"running setup\.py (?:install|bdist_wheel|develop) for (NAME)(?:: finished with status|"
        r" ?\.\.\.) error",
        "$1 has no file for this Python and platform, and does not build from source.",
        package="$1",
    ),
    # The last requirement before pip gives up is the one that it was building.
    fault(
        "build",
        r"([a-z0-9][\w.-]{0,80}?)([~=]=[\d.]{1,40})(?:(?![~=<>]=).){0,300}?"
        r"error: subprocess-exited-with-error",
        "$1$2 has no file for this Python and platform, and does not build from source.",
        package="$1",
    ),
    fault(
        "build",
        r"failed to build installable wheels for some pyproject\.toml based projects"
        r" \(([\w.-]{1,80})",
        "$1 has no file for this Python and platform, and does not build from source.",
        package="$1",
    ),
    fault(
        "build",
        r"encountered error while (?:trying to install package|generating package metadata)\.? ?>?"
        r" ?(?!see )([a-z0-9][\w.-]{0,80})",
        "$1 has no file for this Python and platform, and does not build from source.",
        package="$1",
    ),
    fault(
        "build",
        r"(?:failed to (?:download and )?build:?|failed building wheel for|could not build wheels"
        r" for) (?!installable|one or more|these)([a-z0-9][\w.-]{0,80}\w)(?![\w.-])"
        r"(?:==(RELEASE))?(?! @ file:)",
        "$1 $2 does not build from source.",
        package="$1",
    ),
    # pip builds in folders that are named after the package.
    fault(
        "build",
        r"error code \d{1,3} in \S{0,200}/pip-\w{1,10}-\w{6,12}/([a-z0-9][\w.-]{0,80}?)(?=/|$| )",
        "$1 does not build from source.",
        package="$1",
    ),
    fault(
        "build",
        r"[/ ]pip-(?:install|build|req-build|download)-\w{6,12}/([a-z0-9][\w.-]{0,80}?)"
        r"(?:_[0-9a-f]{32})?/(?:(?!/pip-(?:install|build|req-build)-).){0,1500}?(?:error:|exception:"
        r"|error code|exit (?:status|code))",
        "$1 does not build from source.",
        package="$1",
    ),
    fault(
        "build",
        r"installing (NAME) \((RELEASE)\): failed (?=calledprocesserror|chefbuilderror"
        r"|envcommanderror)",
        "$1 $2 has no file for this Python and platform, and does not build from source.",
        package="$1",
    ),
    # What pipenv says.
    fault(
        "build",
        r"an error occurred while installing (NAME)(?=[=<>!~ ;\[]|$)",
        "$1 could not be installed.",
        package="$1",
    ),
    fault(
        "build",
        r"likely not a problem with poetry but with (NAME) \((RELEASE)\)",
        "$1 $2 does not build from source.",
        package="$1",
    ),
    # https://setuptools.pypa.io/en/stable/history.html#v58-0-0
    fault(
        "build-tool",
        r"error in NAME setup command: use_2to3 is invalid",
        "setuptools 58 and newer build nothing that asks for use_2to3.",
        package="setuptools",
        needs="setuptools<58",
    ),
    fault(
        "build",
        r"(?<![\w.-])([a-z0-9][\w-]{0,80})\.egg-info(?:(?!\.egg-info).){0,3000}?error: cant find"
        r" rust compiler",
        "$1 has no file for this Python and platform, and is not built without Rust.",
        package="$1",
    ),
    # What C code asks of the inside of an interpreter or of numpy, which others have otherwise.
    fault(
        "build",
        r"(?:no member named \w{1,60} in (?:struct )?_?|(?:_?|struct )_?)(?:pyarray|npy)_?\w{1,60}"
        r"(?: \{aka[^}]{1,80}\})?(?: has no member named| was not declared)",
        "C code in it is for another numpy than the one that it is built with.",
        package="numpy",
    ),
    fault(
        "build",
        r"longintrepr\.h|(?:no member named \w{1,60} in (?:struct )?|incomplete (?:type|typedef) "
        r"|(?:implicit declaration of|too (?:few|many) arguments to)(?: function)? "
        r"|undeclared identifier )(?:struct )?_?(?:py[a-z]{0,20}_?\w{1,60}|_ts|_frame|_longobject)"
        r"(?!\w)|(?<!\w)_?py\w{1,60}(?: \{aka[^}]{1,80}\})? (?:has no member named|undeclared)",
        "C code in it is for another Python than this one: mostly for an older one.",
        package="python",
    ),
    # https://setuptools.pypa.io: what distutils says where it runs a compiler.
    fault(
        "build",
        r"error: command \S{1,200} failed(?: with exit (?:status|code)|: )"
        r"|(?:pip-build-env-|/builds-v0/)(?:(?! hint: ).){0,600}?error: (?!subprocess)\w"
        r"|error: microsoft visual c\+\+ [\d.]{1,8} (?:or greater )?is required",
        "A package has no file for this Python and platform, and its source does not compile.",
        package="",
    ),
)
# A bare name that is not found may be misspelt.
OF_BARE_NAMES = (
    fault(
        "no-artifact",
        r"no matching distribution found for (NAME)EXTRAS(?=[\s;)]|$)",
        "pip finds no file of $1 for this Python and platform.",
        package="$1",
    ),
    fault(
        "no-artifact",
        r"could not find a version that satisfies the requirement (NAME)EXTRASMARKER"
        r"(?: \(from -[^()]{1,200}(?:\(line \d{1,6}\)[^()]{0,200}){1,9}\))? \(from versions:",
        "pip finds no file of $1 for this Python and platform.",
        package="$1",
    ),
    fault(
        "no-artifact",
        r"there (?:is|are) no versions? of (NAME)EXTRAS(?:\{[^}]{0,80}\})?(?=[ ,])"
        r"(?: and (NAME)(?:==RELEASE) depends on)?",
        "The index has no $1 for this Python and platform.",
        package="$1",
        of="$2",
    ),
    fault(
        "no-artifact",
        r"because (NAME) was not found in the (?:package registry|provided package locations)",
        "The index has no package $1.",
        package="$1",
    ),
)
