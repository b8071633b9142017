"""Outcomes of one run of a cell: a stage and a cause, printed and parsed by the same code."""

import re
from typing import Literal, NamedTuple, get_args

from compat.value import Value

Stage = Literal["plan", "lock", "install", "import", "collect", "test"]
Cause = Literal[
    "requires-python",
    "no-artifact",
    "conflicting-pin",
    "yanked",
    "excluded",
    "no-interpreter",
    "undated",
    "conflict",
    "hash-mismatch",
    "build",
    "build-tool",
    "source-only",
    "unsupported",
    "environment-mismatch",
    "report-mismatch",
    "missing-module",
    "missing-attribute",
    "binary-incompatible",
    "syntax",
    "type-error",
    "version-guard",
    "assertion",
    "error",
    "segfault",
    "abort",
    "illegal-instruction",
    "fatal-python",
    "premature-exit",
    "no-tests",
    "test-runner",
    "wall-time",
    "silence",
    "memory",
    "disk",
    "output",
    "processes",
    "killed",
    "network",
    "index",
    "cache",
    "sandbox",
    "worker",
    "cancelled",
    "suite-fault",
]
STAGES: tuple[Stage, ...] = get_args(Stage)
CAUSES: tuple[Cause, ...] = get_args(Cause)
# Causes outside the versions: the machine, the network, our limits, build tools and permission to
# build, or the suite and its declaration. A missing processor instruction is one: the same files
# may work on another processor.
SPURIOUS: frozenset[Cause] = frozenset(
    (
        *("disk", "output", "processes", "network", "index", "cache", "sandbox", "worker"),
        *("cancelled", "illegal-instruction", "build-tool", "source-only", "suite-fault"),
    )
)
# Spurious until two runs of the same lock and suite end so. A slow machine or one short of memory
# does this once; a library that always raises MemoryError or kills itself does it again.
DOUBTFUL: frozenset[Cause] = frozenset(("wall-time", "silence", "memory", "killed"))
# The process ended by itself; only a place in its trace shows whose code did it.
CRASHES: frozenset[Cause] = frozenset(("segfault", "abort", "fatal-python", "premature-exit"))
# The subject of these is the place, unless a test is the subject; a test failure names a thing.
PLACED: frozenset[Cause] = frozenset(("syntax", "type-error", "error"))
NAMING: frozenset[Cause] = frozenset(
    ("missing-module", "missing-attribute", "binary-incompatible", "version-guard", "test-runner")
)
_FORM = re.compile(r"(?P<stage>[a-z]+)-fail:(?P<cause>[a-z-]+)(?:\((?P<parts>.*)\))?", re.DOTALL)
# Labels separate the parts, so that any part may be missing; a text without labels is a subject.
_PARTS = re.compile(r"(?P<subject>.*?)(?:; by (?P<by>.*?))?(?:; at (?P<at>.*?))?", re.DOTALL)
# A label inside a part is escaped by a backslash, and existing backslashes get one more.
_LABEL = re.compile(r";(\\*)(?= (?:by|at) )")
_ESCAPED = re.compile(r";\\(\\*)(?= (?:by|at) )")


class Passed(Value, frozen=True, kw_only=True):
    """The only green outcome: tests ran, and none failed."""

    def __str__(self) -> str:
        return "pass"


class Failed(Value, frozen=True, kw_only=True):
    """A run that did not pass: its stage, the cause, and the subject; each text may be empty.

    The subject is the test or capability at stage `test`; else the package, the attribute, or the
    place (see PLACED). `by` is the attribute, module or package behind a failed test. `at` is the
    place in the code, `file:line`.
    """

    stage: Stage
    cause: Cause
    subject: str = ""
    by: str = ""
    at: str = ""

    def __str__(self) -> str:
        """Return `stage-fail:cause(subject; by thing; at place)` without the empty parts."""
        head = f"{self.stage}-fail:{self.cause}"
        labelled = ("", self.subject), ("; by ", self.by), ("; at ", self.at)
        parts = "".join(label + _LABEL.sub(r";\\\1", text) for label, text in labelled if text)
        return f"{head}({parts})" if parts else head

    @property
    def thing(self) -> str:
        """The attribute, module or package that the failure names; empty when it names none."""
        if self.stage not in ("import", "collect", "test") or self.cause not in NAMING:
            return ""
        return self.by or (self.subject if self.stage != "test" else "")

    @property
    def place(self) -> str:
        """Where in the code it failed, `file:line`; empty when unknown."""
        return self.at or (
            self.subject if self.stage in ("import", "collect") and self.cause in PLACED else ""
        )

    def brief(self) -> "Failed":
        """Records from before 22 November 2026 hold no more, so runs are compared by it."""
        return Failed(stage=self.stage, cause=self.cause, subject=self.subject)


Outcome = Passed | Failed


def parse_outcome(text: str) -> Outcome:
    if text == "pass":
        return Passed()
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text[:80]!r} is neither 'pass' nor 'stage-fail:cause(subject; by thing; at place)'"
        )
    stage = next((known for known in STAGES if known == match["stage"]), None)
    cause = next((known for known in CAUSES if known == match["cause"]), None)
    if stage is None or cause is None:
        raise ValueError(f"{text[:80]!r} names no known stage and cause")
    parts_match = _PARTS.fullmatch(match["parts"] or "")
    texts = {} if parts_match is None else parts_match.groupdict(default="")
    parts = {name: _ESCAPED.sub(r";\1", text) for name, text in texts.items()}
    return Failed(stage=stage, cause=cause, **parts)


def brief(outcome: Outcome) -> Outcome:
    return outcome.brief() if isinstance(outcome, Failed) else outcome


def begins_with(outcome: Outcome | None, start: str) -> bool:
    """In the full form, or in the older one without `by` and `at`."""
    return outcome is not None and any(
        str(form).startswith(start) for form in (outcome, brief(outcome))
    )


def is_of_machine(outcome: Outcome) -> bool:
    return is_spurious(outcome) or is_doubtful(outcome)


def is_spurious(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.cause in SPURIOUS


def is_lasting(outcome: Outcome) -> bool:
    """Return whether it says nothing of the versions, but stays until the index has other files."""
    return isinstance(outcome, Failed) and outcome.cause == "source-only"


def lacks_instruction(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.cause == "illegal-instruction"


def is_suite_fault(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.cause == "suite-fault"


def is_before_import(outcome: Outcome | None) -> bool:
    """Return whether nothing could be installed."""
    return isinstance(outcome, Failed) and outcome.stage in ("plan", "lock", "install")


def is_untrusted(outcome: Outcome) -> bool:
    """Return whether the cell changed its judge or contradicts itself: its reports do not count."""
    untrusted = ("environment-mismatch", "report-mismatch")
    return (
        isinstance(outcome, Failed)
        and outcome.stage in ("import", "collect", "test")
        and outcome.cause in untrusted
    )


def is_doubtful(outcome: Outcome) -> bool:
    """Return whether it counts only after two runs of the same lock and suite gave it."""
    return isinstance(outcome, Failed) and outcome.cause in DOUBTFUL


# Signatures: ordered text patterns -> cause, with real examples in tests.


class Signature(NamedTuple):
    """A pattern over an exception (`Type: message`) or a log, and its cause.

    A group `subject` names the thing, after its `owner` where known. Without a group the thing is
    constant.
    """

    cause: Cause
    pattern: str
    subject: str = ""


# The first match decides; the general ones are last.
EXCEPTIONS = (
    Signature(
        "version-guard",
        r"(?P<subject>[\w.-]+(?: [\w.-]+)?) requires .{0,80}?version [<>=!]=?"
        r" ?[\w.]+.*(?:detected|found|Detected)",
    ),
    Signature(
        "version-guard",
        r"(?:only supports|requires) (?P<subject>Python)(?: versions?)? ?(?:[<>=]+ ?)?\d",
    ),
    Signature(
        "version-guard",
        r"(?P<subject>[\w.-]+) is version [\w.]+, but this version of [\w.-]+ requires version",
    ),
    Signature("missing-module", r"ModuleNotFoundError: No module named '(?P<subject>[^']+)'"),
    # The message of a module that was compiled for another version of a package:
    # https://numpy.org/doc/stable/user/troubleshooting-importerror.html
    Signature(
        "binary-incompatible",
        r": (?P<subject>\w+)(?:\.\w+)* (?:size changed, may indicate binary incompatib"
        r"|has the wrong size, try recompil)",
    ),
    Signature(
        "binary-incompatible",
        r"module compiled against A[BP]I version \w+ but this version of (?P<subject>\w+) is ",
    ),
    Signature(
        "binary-incompatible",
        r"ImportError: (?P<subject>\w+)(?:\._?core)?\.(?:_multiarray_umath|multiarray|umath) failed"
        r" to import",
    ),
    Signature(
        "binary-incompatible",
        r"A module that was compiled using NumPy \d|AttributeError: _(?:ARRAY|UFUNC)_API not found",
        "numpy",
    ),
    Signature(
        "binary-incompatible", r"(?:site|dist)-packages/(?P<subject>\w+)[^: ]*: undefined symbol: "
    ),
    Signature(
        "binary-incompatible", r"(?P<subject>[\w+-]+)(?:\.[\w-]+)*\.so[\w.]*: undefined symbol: "
    ),
    Signature(
        "missing-attribute",
        r"ImportError: cannot import name '(?P<subject>[^']+)' from (?:partially initialized"
        r" module )?"
        r"'(?P<owner>[^'<>]+)'",
    ),
    Signature("missing-attribute", r"ImportError: cannot import name '(?P<subject>[^']+)'"),
    Signature(
        "missing-attribute",
        r"AttributeError: (?:(?:partially initialized )?module |type object )?'(?P<owner>[^'<>]+)'"
        r" (?:object )?"
        r"has no attribute '(?P<subject>[^']+)'",
    ),
    Signature("missing-attribute", r"AttributeError: .*has no attribute '(?P<subject>[^']+)'"),
    Signature(
        "missing-attribute",
        r"(?:AttributeError|ImportError): `?(?P<subject>\w+(?:\.\w+)+)`? (?:is|was|has been) "
        r"(?:deprecated .{1,60} )?removed",
    ),
    Signature(
        "missing-module",
        r"ImportError: (?P<subject>lib[\w.+-]+\.so[\w.]*): cannot open shared object file",
    ),
    Signature("syntax", r"^(?:SyntaxError|IndentationError|TabError): "),
    Signature("type-error", r"^TypeError: "),
    Signature("premature-exit", r"^(?:SystemExit|KeyboardInterrupt)\b"),
    Signature("memory", r"^MemoryError\b"),
    Signature("disk", r"OSError: \[Errno 28\]"),
    Signature("assertion", r"^AssertionError\b"),
)
INSTALL = (
    Signature(
        "environment-mismatch",
        r"\((?P<subject>[\w.-]+==[\w.]+)\)\s+cause: Wheel version does not match filename",
    ),
    Signature("hash-mismatch", r"[Hh]ash mismatch for `?(?P<subject>[\w.-]+(?:==[\w.]+)?)"),
    Signature("hash-mismatch", r"THESE PACKAGES DO NOT MATCH THE HASHES"),
    Signature(
        "network",
        r"Failed to fetch|error sending request|dns error|Connection refused|timed out|Temporary"
        r" failure in name",
    ),
    Signature("disk", r"No space left on device|os error 28"),
    Signature("build", r"Failed to (?:download and )?build [`'](?P<subject>[^`']+)[`']"),
    Signature("requires-python", r"(?P<subject>[\w.-]+==[\w.]+) depends on Python"),
    Signature("source-only", r"(?P<subject>[\w.-]+==[\w.]+) has no usable wheels"),
    Signature(
        "no-artifact",
        r"(?:there is no version of|[Nn]o matching distribution found for|Because)"
        r" (?P<subject>[\w.-]+==[\w.]+)"
        r"(?: has no wheels| and|$)",
    ),
)
DEATHS = (
    Signature(
        "fatal-python",
        r"Fatal Python error: (?!Segmentation|Aborted|Illegal|Bus|User"
        r" defined)(?P<subject>[^\n]{1,80})",
    ),
    Signature("segfault", r"Fatal Python error: (?:Segmentation fault|Bus error)"),
    Signature("abort", r"Fatal Python error: Aborted"),
    Signature("illegal-instruction", r"Fatal Python error: Illegal instruction"),
)


def match_signature(signatures: tuple[Signature, ...], text: str) -> tuple[Cause, str] | None:
    for signature in signatures:
        if (match := re.search(signature.pattern, text)) is not None:
            named = {"subject": signature.subject, **match.groupdict()}
            parts = (named.get("owner"), named["subject"])
            return signature.cause, ".".join(filter(None, parts))
    return None
