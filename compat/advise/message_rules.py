"""The `advise` room's rules for messages: what pip, uv and Python say when versions do not fit, as
patterns with the sentence that each means.

The command and the site's script read the same rules: a pattern is of the syntax that Python's `re`
with `re.ASCII` and JavaScript's RegExp share, so groups have numbers, and each repetition has a
bound. All are matched without regard to case, in the text that `legible` returns.
"""

from compat.run.outcome import Cause
from compat.value import Value

# Of a longer message the end is read: there tools say what went wrong. A screen of a terminal has
# 5,000; the longest in our cases 2,000. Chosen in 2026-11 for the site, and kept.
MOST_READ = 50_000

_NAME = r"[a-z0-9][\w.-]{0,100}?"
_SPEC = r"[<>=!~]=?=? ?[\w.*+!-]{1,60}(?:, ?[<>=!~]=?=? ?[\w.*+!-]{1,60}){0,7}"
_EXTRAS = r"(?:\[[\w.,-]{1,80}\])?"
_RELEASE = r"[\w.+!-]{1,60}"


class MessageRule(Value, frozen=True):
    """What a text shows that has the pattern.

    `$1` to `$9` in the other texts stand for its groups. `package` is at fault (`python` for the
    interpreter), `of` is who asks for it; both are empty where the message does not say. `needs` is
    a requirement that would mend it. Not `is_fault` is what says nothing about versions, or is
    information only.
    """

    pattern: str
    cause: Cause
    sentence: str
    package: str = ""
    of: str = ""
    needs: str = ""
    is_fault: bool = True


def _rule(
    cause: Cause, pattern: str, sentence: str, *, package: str, of: str = "", needs: str = ""
) -> MessageRule:
    pattern = (
        pattern.replace("NAME", _NAME)
        .replace("SPEC", _SPEC)
        .replace("EXTRAS", _EXTRAS)
        .replace("RELEASE", _RELEASE)
    )
    return MessageRule(
        pattern=pattern, cause=cause, sentence=sentence, package=package, of=of, needs=needs
    )


def _information(cause: Cause, pattern: str, sentence: str) -> MessageRule:
    return MessageRule(pattern=pattern, cause=cause, sentence=sentence, is_fault=False)


_GONE_IN_310 = "(?:Mutable)?(?:Mapping|Sequence|Set)|Iterable|Iterator|Callable|Hashable|Sized"

# What an interpreter says of the version that it is.
_OF_PYTHON = (
    _rule(
        "requires-python",
        r"package (NAME) requires a different python: ([\d.]{1,20}) not in (SPEC)",
        "$1 requires Python $3, and yours is $2.",
        package="python",
        of="$1",
        needs="python$3",
    ),
    _rule(
        "requires-python",
        r"(?:current|requested) python version \([^\d)]{0,4}([\d.]{1,20})\) does not satisfy"
        r" python ?(SPEC),? and (?:all versions of )?(NAME)(?:==RELEASE)? depends? on python",
        "$3 requires Python $2, and yours is $1.",
        package="python",
        of="$3",
        needs="python$2",
    ),
    # https://peps.python.org/pep-0585/
    _rule(
        "type-error",
        r"(?:^|[^\w])(?:type|abcmeta) object is not subscriptable",
        "A type annotation in it needs Python 3.9 or newer (PEP 585).",
        package="python",
        needs="python>=3.9",
    ),
    # https://github.com/python/cpython/issues/86361: typing refused it before 3.9.2.
    _rule(
        "type-error",
        r"callable\[\[arg, \.\.\.\], result\]: each arg must be a type\. got ellipsis",
        "A type annotation in it is refused by this Python, and taken from 3.9.2 on.",
        package="python",
        needs="python>=3.9",
    ),
    _rule(
        "syntax",
        r"python3\.\d{1,2}/(?:site|dist)-packages/(\w{1,80})/(?:(?!-packages/).){0,400}?"
        r"syntaxerror: ",
        "Code of $1 is for a newer Python: this one cannot parse it.",
        package="python",
        of="$1",
    ),
    # https://docs.python.org/3/whatsnew/3.10.html#removed
    _rule(
        "missing-attribute",
        rf"cannot import name ({_GONE_IN_310}) from collections(?![\w.])",
        "Python 3.10 removed collections.$1: the code is for Python 3.9 or older.",
        package="python",
        needs="python<3.10",
    ),
    _rule(
        "missing-attribute",
        rf"module collections has no attribute ({_GONE_IN_310})\b",
        "Python 3.10 removed collections.$1: the code is for Python 3.9 or older.",
        package="python",
        needs="python<3.10",
    ),
    # https://docs.python.org/3/whatsnew/3.12.html#removed
    _rule(
        "missing-module",
        r"no module named (distutils|imp|asynchat|asyncore|smtpd)(?![\w.])",
        "Python 3.12 removed the module $1: the code is for Python 3.11 or older.",
        package="python",
        needs="python<3.12",
    ),
    _rule(
        "missing-attribute",
        r"module pkgutil has no attribute (impimporter)\b",
        "Python 3.12 removed pkgutil.ImpImporter: the code is for Python 3.11 or older.",
        package="python",
        needs="python<3.12",
    ),
)
# What one package says of another one's version.
_OF_VERSIONS = (
    _rule(
        "version-guard",
        r"this version of ([\w-]{1,60}(?: [\w-]{1,60})?) requires ([\w-]{1,60}(?: [\w-]{1,60})?)"
        r" version ([<>=]=? ?[\d.]{1,20}\d)[;,.]? ?(?:but )?detected an installation of version"
        r" ([\w.-]{1,40}\w)",
        "$1 requires $2 $3 when it is imported, and $2 $4 is installed.",
        package="$2",
        of="$1",
        needs="$2$3",
    ),
    _rule(
        "version-guard",
        r"([\w-]{1,60}) is version ([\w.]{1,40}), but this version of ([\w-]{1,60}) requires"
        r" version (?:>= ?)?([\w.]{1,40}\w)",
        "$3 requires $1 $4 or newer, and $1 $2 is installed.",
        package="$1",
        of="$3",
        needs="$1>=$4",
    ),
    # https://numpy.org/doc/stable/release/1.24.0-notes.html#expired-deprecations
    _rule(
        "missing-attribute",
        r"module numpy has no attribute"
        r" (bool|object|int|float|complex|str|long|unicode|typeDict)\b",
        "numpy 1.24 removed numpy.$1: what asks for it needs an older numpy.",
        package="numpy",
        needs="numpy<1.24",
    ),
    _rule(
        "missing-attribute",
        r"np\.(\w{1,40}) was removed in the numpy 2\.0 release",
        "numpy 2.0 removed np.$1: what asks for it needs an older numpy.",
        package="numpy",
        needs="numpy<2",
    ),
    # https://numpy.org/doc/stable/user/troubleshooting-importerror.html
    _rule(
        "binary-incompatible",
        r"compiled using numpy 1\.x cannot be run in numpy ([\d.]{1,20}\d)"
        r"|attributeerror: _(?:array|ufunc)_api not found",
        "A compiled module is for numpy 1, and numpy 2 is installed.",
        package="numpy",
        needs="numpy<2",
    ),
    _rule(
        "binary-incompatible",
        r"numpy\.(?:dtype|ufunc|ndarray) size changed, may indicate binary incompatib"
        r"|compiled against a[bp]i version \w{1,20} but this version of numpy is"
        r"|numpy\.(?:_?core)\.(?:multiarray|umath|_multiarray_umath) failed to import",
        "A compiled module is for another numpy than the installed one.",
        package="numpy",
    ),
    # https://protobuf.dev/news/2022-05-06/#python-updates
    _rule(
        "type-error",
        r"descriptors cannot (?:not )?be created directly",
        "Generated code in it is for protobuf 3.20 or older, and a newer one is installed.",
        package="protobuf",
        needs="protobuf<3.21",
    ),
    _rule(
        "missing-attribute",
        r"cannot import name builder from google\.protobuf\.internal",
        "Generated code in it needs protobuf 3.20 or newer.",
        package="protobuf",
        needs="protobuf>=3.20",
    ),
    _rule(
        "binary-incompatible",
        r"(?:site|dist)-packages/(\w{1,80})[^: ]{0,200}: undefined symbol: ",
        "A compiled module of $1 is for another version of what it was linked with.",
        package="$1",
    ),
)
# What a resolver or an installer refuses.
_OF_RESOLVERS = (
    _rule(
        "no-artifact",
        r"could not find a version that satisfies the requirement (NAME)EXTRAS ?(SPEC)"
        r" \(from (NAME)(?:==RELEASE)?\)",
        "$3 requires $1$2, and pip finds no such file for this Python and platform.",
        package="$1",
        of="$3",
        needs="$1$2",
    ),
    _rule(
        "no-artifact",
        r"no matching distribution found for (NAME)EXTRAS ?(SPEC) \(from (NAME)(?:==RELEASE)?\)",
        "$3 requires $1$2, and pip finds no such file for this Python and platform.",
        package="$1",
        of="$3",
        needs="$1$2",
    ),
    _rule(
        "no-artifact",
        r"no matching distribution found for (NAME)EXTRAS ?(SPEC)?(?=[\s;)]|$)",
        "pip finds no file of $1$2 for this Python and platform.",
        package="$1",
    ),
    _rule(
        "no-artifact",
        r"there (?:is|are) no versions? of (NAME)EXTRAS(?:\{[^}]{0,80}\})?(SPEC)?(?=[ ,])"
        r"(?: and (NAME)(?:==RELEASE) depends on)?",
        "The index has no $1$2 for this Python and platform.",
        package="$1",
        of="$3",
    ),
    _rule(
        "no-artifact",
        r"because only (?:NAME)EXTRAS ?(?:SPEC) (?:is|are) available and"
        r" (?:you require|(NAME)(?:==RELEASE) depends on) (NAME)EXTRAS ?(SPEC)",
        "The index has no $2$3 for this Python and platform.",
        package="$2",
        of="$1",
    ),
    _rule(
        "no-artifact",
        r"because (NAME)(SPEC) has no (?:usable )?(?:wheels|source distribution)",
        "$1$2 has no file for this Python and platform.",
        package="$1",
    ),
    _rule(
        "no-artifact",
        r"because (NAME) was not found in the (?:package registry|provided package locations)",
        "The index has no package $1.",
        package="$1",
    ),
    _rule(
        "conflict",
        r"because (NAME)EXTRAS(==RELEASE) depends on (NAME)EXTRAS(?:\{[^}]{0,80}\})?(SPEC) and"
        r" (?:you require|(NAME)EXTRAS(==RELEASE) depends on) \3EXTRAS(?:\{[^}]{0,80}\})? ?(SPEC)",
        "$1$2 requires $3$4, and $3$7 is asked for, too.",
        package="$3",
        of="$1",
        needs="$3$4",
    ),
    _rule(
        "conflict",
        r"the conflict is caused by: .{0,600}?depends on (NAME)EXTRAS ?(?:SPEC)(?=[ ;]|$)",
        "The requirements on $1 contradict each other.",
        package="$1",
    ),
    _rule(
        "build",
        r"(?:using cached|downloading) ([a-z0-9][\w.-]{0,80}?)-(\d[\w.]{0,40}?)\.(?:tar\.gz|zip)"
        r"(?: \([^)]{1,30}\))?(?:(?!collecting).){0,300}?(?:installing build dependencies"
        r"|getting requirements to build wheel|preparing metadata|building wheel)"
        r"(?: \([^)]{1,30}\))?:? ?(?:\.\.\.|started|finished with status) ?error",
        "$1 $2 has no file for this Python and platform, and does not build from source.",
        package="$1",
    ),
    _rule(
        "build",
        r"building wheels? for (NAME)(?: \([^)]{1,30}\))?:? ?"
        r"(?:\.\.\.|finished with status) ?error",
        "$1 has no file for this Python and platform, and does not build from source.",
        package="$1",
    ),
    # The last requirement before pip gives up is the one that it was building.
    _rule(
        "build",
        r"([a-z0-9][\w.-]{0,80}?)([~=]=[\d.]{1,40})(?:(?![~=<>]=).){0,300}?"
        r"error: subprocess-exited-with-error",
        "$1$2 has no file for this Python and platform, and does not build from source.",
        package="$1",
    ),
    _rule(
        "build",
        r"(?:failed to (?:download and )?build|failed building wheel for"
        r"|could not build wheels for) ([a-z0-9][\w.-]{0,80}\w)(?:==(RELEASE))?",
        "$1 $2 does not build from source.",
        package="$1",
    ),
    # https://setuptools.pypa.io: what distutils says where it runs a compiler.
    _rule(
        "build",
        r"error: command \S{1,200} failed(?: with exit (?:status|code)|: )"
        r"|error: microsoft visual c\+\+ [\d.]{1,8} (?:or greater )?is required",
        "A package has no file for this Python and platform, and its source does not compile.",
        package="",
    ),
)
# What Python says of names; the rules above tell more of those that are known.
_OF_NAMES = (
    _rule(
        "missing-attribute",
        r"attributeerror: (?:partially initialized )?module ([\w.]{1,200}\w) has no attribute"
        r" (\w{1,80})",
        "The installed $1 has no $2: it was removed, renamed, or is not there yet.",
        package="$1",
    ),
    _rule(
        "missing-attribute",
        r"importerror: cannot import name (\w{1,80}) from (?:partially initialized module )?"
        r"([\w.]{1,200}\w)",
        "The installed $2 has no $1: it was removed, renamed, or is not there yet.",
        package="$2",
    ),
    _rule(
        "missing-attribute",
        r"(?:site|dist)-packages/(\w{1,80})/(?:(?!-packages/).){0,400}?attributeerror:"
        r" (?!nonetype )(\w{1,80}) object has no attribute (\w{1,80})",
        "Code of $1 asks a $2 for $3, which the installed release does not have.",
        package="$1",
    ),
    # Lower-case types are mostly Python's own, whose attributes no release of a library changes.
    _rule(
        "missing-attribute",
        r"attributeerror: (?!(?:nonetype|str|bytes|int|float|bool|list|tuple|dict|set|function"
        r"|method|module|generator|type|object) )(\w{1,80}) object has no attribute (\w{1,80})",
        "Code asks a $1 for $2, which it does not have: the code is for another release.",
        package="",
    ),
    _rule(
        "missing-module",
        r"(?:modulenotfounderror|importerror): no module named ([\w.]{1,200}\w)",
        "The module $1 is not installed.",
        package="$1",
    ),
    _rule(
        "conflict",
        r"(?:^|[\s:])(NAME) (\d[\w.+!-]{0,60}) (?:requires|has requirement) (NAME)EXTRAS ?(SPEC)"
        r"(?:;.{1,120}?)?, but you(?:ll)? have (NAME) (\d[\w.+!-]{0,60}) which is incompatible",
        "$1 $2 requires $3$4, and $5 $6 is installed.",
        package="$3",
        of="$1",
        needs="$3$4",
    ),
    _rule(
        "missing-module",
        r"(?:^|[\s:])(NAME) (\d[\w.+!-]{0,60}) requires (NAME)EXTRAS ?(?:SPEC)?, which is not"
        r" installed",
        "$1 $2 requires $3, which is not installed.",
        package="$3",
        of="$1",
        needs="$3",
    ),
)
# What says nothing about versions, or only tells more about another line.
_INFORMATION = (
    _information(
        "network",
        r"max retries exceeded|temporary failure in name resolution|read timed out"
        r"|connection (?:refused|reset|aborted|broken)|certificate_verify_failed"
        r"|could not fetch url|failed to fetch",
        "The network or the index failed, which says nothing about versions.",
    ),
    _information(
        "disk",
        r"no space left on device",
        "The disk is full, which says nothing about versions.",
    ),
    _information(
        "sandbox",
        r"externally-managed-environment",
        "This Python belongs to the operating system: install into a virtual environment.",
    ),
    _information(
        "hash-mismatch",
        r"do not match the hashes from the requirements file",
        "The index serves other files than the requirements were made for.",
    ),
)
MESSAGE_RULES = (*_OF_PYTHON, *_OF_VERSIONS, *_OF_RESOLVERS, *_OF_NAMES, *_INFORMATION)
