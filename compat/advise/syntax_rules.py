"""The `advise` room's rules for code that an interpreter cannot parse: the line that it shows has
what a newer Python brought, or an older one had.

What newer Pythons cannot parse they say in more words, so that the bare `invalid syntax` is said of
a line that is well-formed for another Python, or of a slip; a slip has seldom one of these forms.
"""

from compat.advise.message_rule import MessageRule, fault

_TYPES = (
    r"(?:typing\.|t\.)?(?:str|int|float|bool|bytes|list|dict|set|tuple|type|optional|iterable"
    r"|callable|any|union|sequence|mapping|path)(?!\w)"
)
# The Python that can parse it, what it is, the line as far as it tells, and what Python says of it
# where that is more than `invalid syntax`. The more certain first.
_LINES = (
    # https://docs.python.org/3/whatsnew/
    (">=3.12", "A type parameter (PEP 695)", r"line \d{1,6} (?:async )?(?:def|class) \w{1,80}\["),
    (">=3.12", "A type alias (PEP 695)", r"line \d{1,6} type \w{1,60} = "),
    (">=3.11", "An exception group (PEP 654)", r"except ?\* ?\w"),
    (">=3.10", "Pattern matching (PEP 634)", r"line \d{1,6}(?:, in \S{1,80})? match [^^:]{1,120}:"),
    (">=3.8", "A self-documenting string", r"(?<!\w)f[^{}^]{0,80}\{[^{}^=!<>]{1,80}= ?\}"),
    (">=3.8", "A positional-only parameter (PEP 570)", r"def \w{1,80}\([^^()]{1,200}, /[,)]"),
    (">=3.8", "An assignment expression (PEP 572)", r"(?<!\w)[a-z_]\w{0,80} := "),
    (">=3.6", "A formatted string (PEP 498)", r"(?<!\w)f[^\s{}]{0,80}\{[^{}]{1,200}\}"),
    (">=3.6", "An underscore in a number (PEP 515)", r"(?<![\w.])\d{1,3}_\d{3}(?!\d)"),
    (">=3.6", "The type of a variable (PEP 526)", rf"line \d{{1,6}} [a-z_][\w.]{{0,60}}: {_TYPES}"),
    (">=3.5", "An asynchronous function (PEP 492)", r"line \d{1,6} async (?:def|with|for) "),
    (">=3.0", "The type of a function (PEP 3107)", r"def \w{1,80}\([^^]{0,200}\) -> "),
    (">=3.0", "The type of a parameter", rf"def \w{{1,80}}\([^^()]{{0,200}}\w: ?{_TYPES}"),
    (">=3.0", "An argument of print", r"print\([^^]{1,200}, ?(?:end|file|sep|flush) ?= ?"),
    (
        "<3.7",
        "A name that became a keyword, async,",
        r"(?:import async\b|\.async(?= import|\(| ?=)|[(, ]async ?=|def async\()",
    ),
    ("<3.0", "A statement of Python 2", r"except [\w.(), ]{1,80}[\w)], ?\w{1,40}:|print >> ?\w"),
)
# What Python says of itself, without the line.
_WORDS = (
    (
        ">=3.12",
        "A formatted string (PEP 701)",
        r"f-string: (?:unmatched|expecting \}|unterminated)",
    ),
    (">=3.12", "A formatted string (PEP 701)", r"f-string expression part cannot include a back"),
    (">=3.0", "A character outside ASCII", r"non-ascii character \S{1,20} in file"),
    ("<3.0", "A number with a leading zero", r"invalid token(?!\w)"),
)


def _of_line(python: str, what: str, line: str) -> MessageRule:
    words = r"(?:f-string: )?invalid (?:syntax|decimal literal|token)(?!\.)"
    return _of_words(python, what, words, rf"{line}[^^]{{0,300}}\^[\^~ ]{{0,120}} ?")


def _of_words(python: str, what: str, words: str, before: str = "") -> MessageRule:
    age = f"{python[2:]} or newer" if python.startswith(">=") else f"an older one than {python[1:]}"
    return fault(
        "syntax",
        rf"{before}syntaxerror: {words}",
        f"{what} is in it, which needs Python {age}.",
        package="python",
        needs=f"python{python}",
    )


OF_SYNTAX = (
    fault(
        "syntax",
        r"INSTALLEDSAMEFILEsyntaxerror: ",
        "Code of $1 is for another Python: this one cannot parse it.",
        package="python",
        of="$1",
    ),
    fault(
        "syntax",
        r"future feature annotations is not defined",
        "Code in it needs Python 3.7 or newer (PEP 563).",
        package="python",
        needs="python>=3.7",
    ),
    *(_of_line(*row) for row in _LINES),
    *(_of_words(*row) for row in _WORDS),
    # Without a place only a Python that is older than all that the matrix knows speaks for it.
    fault(
        "syntax",
        r"syntaxerror: (?:invalid syntax|invalid decimal literal)",
        "Code in it is for a newer Python than this one, which cannot parse it.",
        package="",
    ),
)
