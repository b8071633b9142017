"""The `advise` room's knowledge of Python's own library: what came with a release of Python and
what went with one, as https://docs.python.org/3/whatsnew/ tells, and the rules that follow.
"""

from collections.abc import Iterator

from compat.advise.message_rule import MessageRule, fault

# By the Python that brought them: the names of each module, and under "" whole modules.
GAINED: dict[str, dict[str, str]] = {
    "3.6": {"": "secrets"},
    "3.7": {
        "": "dataclasses contextvars importlib.resources",
        "asyncio": "run create_task get_running_loop current_task all_tasks",
        "contextlib": "nullcontext asynccontextmanager",
        "time": "time_ns perf_counter_ns monotonic_ns",
        "typing": "ForwardRef",
        "re": "Pattern Match",
    },
    "3.8": {
        "": "importlib.metadata",
        "typing": "Literal Final Protocol TypedDict runtime_checkable SupportsIndex get_args"
        " get_origin",
        "functools": "cached_property singledispatchmethod",
        "math": "prod comb perm isqrt dist",
    },
    "3.9": {
        "": "zoneinfo graphlib",
        "typing": "Annotated",
        "functools": "cache",
        "asyncio": "to_thread",
        "math": "lcm nextafter",
    },
    "3.10": {
        "typing": "TypeAlias ParamSpec ParamSpecArgs ParamSpecKwargs Concatenate TypeGuard"
        " is_typeddict",
        "types": "NoneType EllipsisType UnionType",
        "itertools": "pairwise",
        "contextlib": "aclosing",
    },
    "3.11": {
        "": "tomllib",
        "typing": "Self LiteralString Never NotRequired Required TypeVarTuple Unpack assert_never"
        " assert_type reveal_type dataclass_transform",
        "enum": "StrEnum ReprEnum",
        "datetime": "UTC",
        "asyncio": "TaskGroup Runner timeout",
        "hashlib": "file_digest",
    },
    "3.12": {
        "typing": "override TypeAliasType",
        "itertools": "batched",
        "collections.abc": "Buffer",
    },
    "3.13": {"typing": "TypeIs ReadOnly NoDefault", "warnings": "deprecated"},
}
# By the Python that no longer has them.
LOST: dict[str, dict[str, str]] = {
    "3.7": {
        "typing": "GenericMeta _ForwardRef _Union _ClassVar",
        "re": "_pattern_type",
        "os": "errno",
    },
    "3.8": {"time": "clock", "platform": "linux_distribution dist", "cgi": "escape"},
    "3.9": {
        "": "dummy_threading _dummy_thread",
        "plistlib": "readPlist writePlist readPlistFromString",
        "sys": "setcheckinterval getcheckinterval",
        "fractions": "gcd",
        "base64": "encodestring decodestring",
    },
    "3.10": {
        "": "formatter parser symbol",
        "collections": "Mapping MutableMapping Sequence MutableSequence Set MutableSet Iterable"
        " Iterator Callable Hashable Sized Container Awaitable Coroutine Generator",
    },
    "3.11": {
        "": "binhex",
        "inspect": "getargspec formatargspec",
        "asyncio": "coroutine",
    },
    "3.12": {
        "": "distutils imp asynchat asyncore smtpd",
        "pkgutil": "ImpImporter ImpLoader",
        "importlib": "find_loader",
        "importlib.abc": "Finder",
        "ssl": "wrap_socket match_hostname",
        "configparser": "SafeConfigParser",
        "locale": "format",
    },
    "3.13": {
        "": "aifc audioop cgi cgitb chunk crypt imghdr lib2to3 mailcap nis nntplib"
        " ossaudiodev pipes sndhdr spwd sunau telnetlib uu xdrlib",
        "unittest": "makeSuite findTestCases",
        "locale": "resetlocale",
    },
    "3.14": {
        "ast": "Num Str Bytes NameConstant",
        "pkgutil": "find_loader get_loader",
        "typing": "ByteString",
        "asyncio": "get_child_watcher set_child_watcher",
    },
}
# What a type of Python's own no longer has, or does not have before.
_OF_TYPES = (
    ("3.9", False, r"htmlparser object has no attribute (unescape)"),
    ("3.9", False, r"thread object has no attribute (isalive)"),
    ("3.9", False, r"array\.array object has no attribute (tostring|fromstring)"),
    ("3.9", False, r"elementtree\.element object has no attribute (getchildren|getiterator)"),
    ("3.12", False, r"configparser object has no attribute (readfp)"),
    (
        "3.12",
        False,
        r"(?:filefinder|zipimporter) object has no attribute (find_module|find_loader)",
    ),
    (
        "3.12",
        False,
        r"object has no attribute (assertequals|assertnotequals|assertregexpmatches"
        r"|assertraisesregexp|assert_)\b",
    ),
    (
        "3.7",
        True,
        r"argparse\.py, line SAMEFILEtypeerror: (?:\w{1,40}\.)?__init__\(\) got an unexpected"
        r" keyword argument (required)",
    ),
    (
        "3.9",
        False,
        r"json/__init__\.py, line SAMEFILEtypeerror: (?:\w{1,40}\.)?__init__\(\) got an unexpected"
        r" keyword argument (encoding)",
    ),
    (
        "3.0",
        True,
        r"typeerror: (encoding|errors|newline) is an invalid keyword argument for this f",
    ),
    ("3.4", True, r"\(\) got an unexpected keyword argument (with_pip)"),
    ("3.6", True, r"the json object must be str, not (bytes)"),
    ("3.7", True, r"(?:type object )?datetime\.datetime has no attribute (fromisoformat)"),
    ("3.7", True, r"\(\) got an unexpected keyword argument (capture_output)"),
    ("3.8", True, r"\(\) got an unexpected keyword argument (missing_ok|dirs_exist_ok)"),
    ("3.9", True, r"(?:posix|windows)path object has no attribute (is_relative_to|with_stem)"),
    ("3.9", True, r"str object has no attribute (removeprefix|removesuffix)"),
    ("3.10", True, r"int object has no attribute (bit_count)"),
    ("3.10", True, r"dataclass\(\) got an unexpected keyword argument (slots|kw_only)"),
    ("3.10", True, r"(zip)\(\) takes no keyword arguments"),
    ("3.10", True, r"(entry_points)\(\) got an unexpected keyword argument group"),
    ("3.11", True, r"nameerror: name (exceptiongroup|baseexceptiongroup) is not defined"),
)


def _rules() -> Iterator[MessageRule]:
    for is_new, table in ((True, GAINED), (False, LOST)):
        for python, modules in table.items():
            for module, names in modules.items():
                yield _of_module(python, module, "|".join(names.split()), is_new)
    for python, is_new, pattern in _OF_TYPES:
        yield fault(
            "type-error" if "()" in pattern or r"\(\)" in pattern else "missing-attribute",
            pattern,
            _sentence(python, "$1", is_new),
            package="python",
            needs=_needs(python, is_new),
        )


def _of_module(python: str, module: str, names: str, is_new: bool) -> MessageRule:
    names, place = names.replace(".", r"\."), module.replace(".", r"\.")
    if not module:
        return fault(
            "missing-module",
            rf"no module named ({names})(?![\w.])",
            _sentence(python, "the module $1", is_new),
            package="python",
            needs=_needs(python, is_new),
        )
    return fault(
        "missing-attribute",
        rf"cannot import name ({names}) from {place}(?![\w.])"
        rf"|module {place} has no attribute ({names})(?!\w)",
        _sentence(python, f"{module}.$1$2", is_new),
        package="python",
        needs=_needs(python, is_new),
    )


def _sentence(python: str, what: str, is_new: bool) -> str:
    if is_new:
        return f"Python {python} brought {what}: the code is for it or a newer one."
    minor = int(python.partition(".")[2]) - 1
    return f"Python {python} removed {what}: the code is for Python 3.{minor} or older."


def _needs(python: str, is_new: bool) -> str:
    return f"python>={python}" if is_new else f"python<{python}"


OF_STANDARD_LIBRARY = tuple(_rules())
