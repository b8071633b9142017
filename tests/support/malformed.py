"""Malformed declarations by the hundred, made from the sound ones: each must be refused, one clear
line a fault.
"""

import datetime

from support.documents import MATRIX, POLICY, Document, Path, changed, places, toml, without

Named = tuple[str, bytes]

# What may be left out of a document without harm; all the rest must be there.
OPTIONAL = {
    "default_months",
    "cadence",
    "notice_days",
    "witnesses",
    "as_of",
    "everywhere",
    "floors",
    "holds",
    "keep",
    "known_bad",
    "link",
    "prereleases",
    "requirements",
    "rules",
    "select",
    "specifier",
    "until",
    "windows",
    "python",
    "engine",
    "demo",
    "when",
}
WRONG: dict[str, object] = {
    "boolean": True,
    "integer": 7,
    "float": 1.5,
    "nan": float("nan"),
    "string": "\x1b[31m",
    "date": datetime.date(2026, 1, 1),
    "moment": datetime.datetime(2026, 1, 1, 12, 30),
    "array": [],
    "table": {},
}
KINDS = {
    bool: {"boolean"},
    int: {"integer"},
    str: {"string"},
    datetime.date: {"date"},
    list: {"array"},
    dict: {"table"},
}
TEXTS: dict[str, tuple[object, ...]] = {
    "version": ("", "abc", "1..2", "1 2", "v", "1" * 5000, "1.2.3\x1b[31m", "latest"),
    "specifier": ("=>3", "3", "~=1", ">", ">=3 <4", ">=1;", "\u202e>=1", ">=" + "1" * 5000),
    "condition": ("=>3", "3", "Moved", "removed", "", "~=1", "<" + "1" * 5000),
    "pin": ("", "=3", "every", "Any", "none", ">=x"),
    "requirement": (
        "",
        ">=1",
        "a b",
        "a>=",
        "-r other.txt",
        "a\n--index-url x",
        "a @ https://example.org/a.whl",
        "(" * 5000,
        "a;" + "(" * 5000,
    ),
    "name": ("", "Demo", "a b", "1a", "a" * 41, "demo\n", "../demo", "\u0430"),
    "package": ("", "-a", "a/b", "a" * 101, "a\n", "a\x00b"),
    "reason": (
        "",
        "short",
        "x" * 601,
        "two\nlines of text",
        "a colour \x1b[31m of text",
        "turned \u202e around",
    ),
    "link": (
        "",
        "http://example.org",
        "javascript:alert(1)",
        "https://",
        "https://a b",
        "https://a\n",
        'https://"><b>',
    ),
    "number": (-1, 10**6, 2**63, 10**5000),
    "date": ("soon", "2026-13-01", "2026-02-30", "", "2026-1-1"),
}
MATRIX_TEXTS: dict[str, tuple[Path, ...]] = {
    "version": (("axes", 0, "releases", 1), ("floors", 0, "at")),
    "specifier": (("axes", 1, "select", "specifier"),),
    "condition": (("rules", 0, "when", "demo"), ("rules", 1, "when", "python")),
    "pin": (("rules", 0, "relaxations", 0, "to"),),
    "requirement": (("requirements", 0), ("suite", "requirements", 0)),
    "name": (
        ("name",),
        ("subject",),
        ("axes", 1, "name"),
        ("axes", 2, "short"),
        ("floors", 0, "axis"),
        ("rules", 0, "name"),
    ),
    "package": (("axes", 1, "package"), ("rules", 0, "relaxations", 0, "package")),
    "reason": (("rules", 0, "because"), ("floors", 0, "because")),
    "link": (("rules", 0, "link"),),
    "number": (("margin_days",),),
    "date": (("rules", 0, "until"),),
}
POLICY_TEXTS: dict[str, tuple[Path, ...]] = {
    "version": (("holds", 0, "at"), ("known_bad", 0, "version")),
    "name": (("windows", 0, "axis"),),
    "number": (("default_months",), ("witnesses",), ("notice_days",), ("windows", 0, "months")),
    "date": (("holds", 0, "until"),),
}


def corpus() -> list[Named]:
    """Return malformed matrices by name; each stands for the `matrix.toml` of a folder named
    `demo`.
    """
    return [*handmade(), *_derived(MATRIX, MATRIX_TEXTS)]


def handmade() -> list[Named]:
    """Return those malformed matrices that were thought of one by one."""
    return [*_bytes(toml(MATRIX), "margin_days"), *_misshapen_matrices(), *_disagreeing_matrices()]


def policy_corpus() -> list[Named]:
    """Return malformed policies by name; each stands for the `policy.toml` beside the sound
    matrix.
    """
    return [
        *_derived(POLICY, POLICY_TEXTS),
        # A policy of the defaults alone is sound.
        *(named for named in _bytes(toml(POLICY), "witnesses") if named[0] != "only a comment"),
        *_misshapen_windows(),
    ]


def _misshapen_windows() -> list[Named]:
    """Return windows with no rule, with two, and with rules that cannot be."""
    window = {"axis": "engine", "because": "engines are replaced quickly"}
    cases: dict[str, Document] = {
        "window without a rule": {},
        "window with two rules": {"months": 18, "minors": 3},
        "window with all rules": {"months": 18, "minors": 3, "end_of_life": True},
        "window that only denies a rule": {"end_of_life": False},
        "window that drops without months": {"minors": 3, "dropped": True},
        "window of no minors": {"minors": 0},
        "window of many minors": {"minors": 51},
        "window of minors in words": {"minors": "three"},
        "end of life in words": {"end_of_life": "yes"},
    }
    return [
        (name, toml(changed(POLICY, ("windows", 0), {**window, **rule})))
        for name, rule in cases.items()
    ]


def _derived(document: Document, texts: dict[str, tuple[Path, ...]]) -> list[Named]:
    found: list[Named] = [("unknown key at the top", toml({**document, "surprise": 1}))]
    for path, value in places(document):
        name = ".".join(map(str, path))
        if isinstance(value, dict):
            found.append(
                (f"unknown key in {name}", toml(changed(document, (*path, "surprise"), 1)))
            )
        if isinstance(path[-1], str) and path[-1] not in OPTIONAL:
            found.append((f"no {name}", toml(without(document, path))))
        for kind, wrong in WRONG.items():
            if kind not in KINDS[type(value)]:
                found.append((f"{kind} as {name}", toml(changed(document, path, wrong))))
    for kind, paths in texts.items():
        for path in paths:
            for i, text in enumerate(TEXTS[kind]):
                name = f"bad {kind} {i} as {'.'.join(map(str, path))}"
                found.append(
                    (
                        name,
                        (
                            _huge(document, path)
                            if text == 10**5000
                            else toml(changed(document, path, text))
                        ),
                    )
                )
    return found


def _huge(document: Document, path: Path) -> bytes:
    # Python refuses to print an integer of more than 4300 digits, so it is put in as text.
    return toml(changed(document, path, 987654321)).replace(b"987654321", b"1" + b"0" * 5000)


def _bytes(good: bytes, number: str) -> list[Named]:
    """Return what goes wrong before there is a document."""
    return [
        ("empty", b""),
        ("blank", b" \n\t\n"),
        ("only a comment", b"# nothing\n"),
        ("byte order mark", b"\xef\xbb\xbf" + good),
        ("UTF-16", good.decode().encode("utf-16")),
        ("UTF-16 without a mark", good.decode().encode("utf-16-le")),
        ("UTF-32", good.decode().encode("utf-32")),
        ("Latin-1", b'extra = "\xe9"\n' + good),
        ("surrogate in UTF-8", b'extra = "\xed\xa0\x80"\n' + good),
        ("lone surrogate escape", b'extra = "\\ud800"\n' + good),
        ("raw control character", b'extra = "\x1b[31m"\n' + good),
        ("raw NUL", good + b"\x00"),
        ("escape sequence as a key", b'"\\u001b[31m\\n" = 1\n' + good),
        ("bidirectional override as a key", '"\u202e\u2066" = 1\n'.encode() + good),
        ("long key", b"k" * 5000 + b" = 1\n" + good),
        ("empty key", b'"" = 1\n' + good),
        ("2 MiB", good + b"# " + b"x" * 2**21),
        ("2 MiB of opening brackets", b"x = " + b"[" * 2**21),
        ("depth 100000", b"x = " + b"[" * 100_000 + b"]" * 100_000),
        ("depth 50000 of tables", b"x = " + b"{a=" * 50_000 + b"1" + b"}" * 50_000),
        ("depth 100", b"x = " + b"[" * 100 + b"]" * 100),
        ("dotted key of 100000 parts", b"x." * 100_000 + b"x = 1"),
        ("quoted dotted key of 50000 parts", b'"x".' * 50_000 + b"x = 1"),
        ("dotted header of 100000 parts", b"[" + b"x . " * 50_000 + b"x]"),
        ("unclosed text of escaped quotes", b'x = "' + b'\\"' * 100_000),
        ("one long word", b"x" * 200_000),
        ("integer of 5000 digits", b"extra = " + b"9" * 5000 + b"\n" + good),
        ("hexadecimal integer of 50000 digits", b"extra = 0x" + b"f" * 50_000 + b"\n" + good),
        ("huge exponent", f"{number} = 1e99999\n".encode()),
        ("not a number", f"{number} = nan\n".encode()),
        ("minus infinity", f"{number} = -inf\n".encode()),
        ("duplicate key", good + f"{number} = 1\n".encode()),
        ("duplicate table", good + b"[extra]\n[extra]\n"),
        ("no equals sign", b"extra\n" + good),
        ("no value", b"extra =\n" + good),
        ("unclosed text", b'extra = "abc\n' + good),
        ("unclosed array", good + b"extra = [1,\n"),
        ("bad date", b"extra = 2026-13-45\n" + good),
        ("JSON", b'{"name": "demo"}'),
        ("YAML", b"name: demo\n"),
        ("binary", bytes(range(256))),
        ("carriage returns alone", good.replace(b"\n", b"\r")),
        ("many empty tables", b"[[rules]]\n" * 20_000),
        ("many unknown keys", b"".join(b"k%d = 1\n" % i for i in range(10_000))),
    ]


def _misshapen_matrices() -> list[Named]:
    """Return matrices of the right words in the wrong shapes, and values that contradict
    themselves.
    """
    relaxation: Path = ("rules", 0, "relaxations", 0)
    cases: list[tuple[str, Path, object]] = [
        ("axes as one table", ("axes",), MATRIX["axes"][0]),
        ("suite as an array of tables", ("suite",), [MATRIX["suite"]]),
        ("empty axes", ("axes",), []),
        ("nine axes", ("axes",), MATRIX["axes"] * 3),
        ("too many requirements", ("requirements",), ["attrs"] * 51),
        ("requirements as one text", ("requirements",), "attrs"),
        ("unknown kind", ("axes", 1, "kind"), "packge"),
        ("interpreter axis with a package", ("axes", 0, "package"), "python"),
        ("interpreter axis with a selector", ("axes", 0, "select"), {}),
        ("package axis with releases", ("axes", 1, "releases"), ["1.0"]),
        ("empty releases", ("axes", 0, "releases"), []),
        ("unknown keep", ("axes", 1, "select", "keep"), "patch"),
        ("unknown effect", ("rules", 0, "effect"), "relaxe"),
        ("unknown platform", ("platform",), "win_amd64"),
        ("platform with a line break", ("platform",), "x86_64-manylinux_2_28\n"),
        ("suite outside the folder", ("suite", "path"), "../other"),
        ("absolute suite", ("suite", "path"), "/etc"),
        ("title of two lines", ("title",), "De\nmo"),
        ("title that ends in a line break", ("title",), "Demo\n"),
        ("long title", ("title",), "x" * 81),
        ("exclusion that relaxes", ("rules", 0, "effect"), "exclude"),
        ("relaxing rule without relaxations", ("rules", 0, "relaxations"), []),
        ("relaxation of nothing", relaxation, {"package": "companion"}),
        ("relaxation of two things", (*relaxation, "ignore_requires_python"), True),
        ("dropped package as of an axis", (*relaxation, "to"), "nothing"),
        ("requires-python ignored everywhere", ("rules", 0, "relaxations", 1, "everywhere"), True),
        ("nested conditions", ("rules", 0, "when", "engine"), {"moved": True}),
    ]
    return [(name, toml(changed(MATRIX, path, value))) for name, path, value in cases]


def _disagreeing_matrices() -> list[Named]:
    """Return matrices that decode, but whose keys disagree."""
    cases: list[tuple[str, Path, object]] = [
        ("name of another folder", ("name",), "other"),
        ("subject that is no axis", ("subject",), "demos"),
        ("subject that is the interpreter", ("subject",), "python"),
        ("two interpreters", ("axes", 1), {**MATRIX["axes"][0], "name": "engine", "short": "en"}),
        ("same short name twice", ("axes", 1, "short"), "demo"),
        ("same package twice", ("axes", 1, "package"), "DEMO"),
        ("floor of an unknown axis", ("floors", 0, "axis"), "engin"),
        ("condition on an unknown axis", ("rules", 1, "when", "engin"), ">=1"),
        ("moved subject", ("rules", 0, "when", "demo"), "moved"),
        ("condition that nothing satisfies", ("rules", 0, "when", "demo"), ">3,<2"),
        ("condition on no series", ("rules", 1, "when", "python"), ">=4"),
        ("expired rule", ("rules", 0, "until"), datetime.date(2020, 1, 1)),
        ("exclusion of everything", ("rules", 1, "when"), {}),
        ("requirement on the subject", ("requirements", 0), "Demo>=1"),
    ]
    return [
        (f"disagreeing: {name}", toml(changed(MATRIX, path, value))) for name, path, value in cases
    ]
