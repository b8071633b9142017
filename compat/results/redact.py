"""The `results` room's black pen: what of a log may be published. Paths, hosts, secrets and control signs may not."""

import re
from collections.abc import Callable, Iterable
from urllib.parse import quote

HIDDEN = "***"
HOST = "<host>"
_SHORTEST_SECRET = 4
_MOST_PASSES = 8

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC and its kin: titles, links
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_LINE_BREAKS = re.compile("\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(r"[^\n\t -~]")

_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]{0,40}-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}-----)?")
_TOKENS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[a-z]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|gl[a-z]{1,10}-[A-Za-z0-9_-]{16,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_.-]{16,}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}|pypi-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{16,}|hf_[A-Za-z0-9]{16,}"
    r"|sk-[A-Za-z0-9_-]{16,}|dckr_pat_[A-Za-z0-9_-]{16,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]{8,}"
    r")"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic|token)[ \t]+(?=[A-Za-z0-9+/_.=-]{0,200}[0-9+/=])([A-Za-z0-9+/_.=-]{12,})")
_HEADER = re.compile(r"(?im)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]{0,30}(?:token|key))(['\"]?:)[^\n]*")
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{40,}(?![0-9A-Za-z])")
_SECRET_WORD = r"(?:TOKEN|SECRET|PASS|PWD|KEY|CRED|AUTH|COOKIE|SESSION|PRIVATE|SIGNATURE|DSN|WEBHOOK|CERT)"
_SECRET_NAME = rf"(?<![A-Z0-9_])(?=[A-Z0-9_]{{0,80}}{_SECRET_WORD})[A-Z][A-Z0-9_]{{2,99}}"
_OF_MACHINE = r"(?<![A-Z0-9_])(?:HOST|HOSTNAME|USER|USERNAME|LOGNAME|SUDO_USER|HOME|MAIL|SSH_[A-Z]{1,20})"
_SETTING = re.compile(rf"({_SECRET_NAME}|{_OF_MACHINE})=[^\n]*")
_QUOTED_SETTING = re.compile(rf"(['\"])({_SECRET_NAME}|{_OF_MACHINE})\1(: ?)(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s,}}]+)")
_PASSWORD = re.compile(
    r"(?i)\b(password|passwd|passphrase|secret|api_?key|access_?token|auth_?token)( ?[=:] ?)[^\s,;]+"
)

_FILE_URL = re.compile(r"(?i)\bfile:/+")
_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,30}://)(?!<host>)[^\s/?#'\"<>()\[\]{}|\\,;]+")
_QUERY = re.compile(r"(://<host>[^\s?#'\"<>]*)[?#](?!\.\.\.)[^\s'\"<>)]*")
_NAMED_HOST = re.compile(r"(?i)\b(host(?:name)?(?:=|: ?|=? ?)(['\"]))[^'\"\n<]+\2")
_PLAIN_HOST = re.compile(r"(?i)\b((?:resolve|connect to|reach) (?:host:? )?)(?=[a-z0-9.-]*\.)[a-z0-9][a-z0-9.-]{2,250}")
_USER_AT = re.compile(
    r"(?<![^\s'\"<>(,=:/])[A-Za-z0-9._%+:-]{1,100}@[A-Za-z0-9][A-Za-z0-9.-]{0,100}\.[A-Za-z0-9-]{1,40}"
)
_ADDRESS = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}:\d{1,5}\b")

_HOME = re.compile(r"/(?:home|Users)/[^/\s:'\"<>|,;()\[\]{}]+")
_QUOTED_PATH = re.compile(r"(?P<quote>['\"`])(?P<path>(?:~?/|[A-Za-z]:[\\/]|\\\\)[^'\"`\n]*)(?P=quote)")
_PATH = re.compile(
    # Alone, after dots that are no relative path, or glued to an option as in -I/usr/include.
    r"(?:(?<![\w.~*/-])|(?<=\.\.\.)|(?<=\s-[A-Z]))(?<!<host>)(?:~?/+|(?<![A-Za-z0-9])(?:[A-Za-z]:[\\/]+)+|\\\\)"
    r"(?=[^\s/])[^\s:'\"`<>|,;()\[\]{}*?!&=]+"
)
_TAIL = re.compile(r".*[/\\]((?:site-packages|dist-packages|suite)[/\\].*)", re.DOTALL)
_STDLIB = re.compile(r".*?[/\\](python3\.\d+[/\\].*)", re.DOTALL)
_COMMAND = re.compile(r"(?m)^([ \t]*):(:+)")
_OLD_COMMAND = re.compile(r"##(?=\[|vso\[)")


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text without what is a machine's own or a secret; doing it again changes nothing.

    A path keeps its part from `site-packages/`, the suite or the standard library on, else its last name; a URL loses
    its host, user and query. Secrets that are known are replaced wherever they stand, if they have four characters.
    """
    known = _spellings(secrets)
    text = _visible(text)
    for _ in range(_MOST_PASSES):
        once = _pass(text, known)
        if once == text:
            return text
        text = once
    # Made to be peeled layer by layer: nothing of such a line is worth keeping.
    return "\n".join(line if _pass(line, known) == line else HIDDEN for line in text.split("\n"))


def _visible(text: str) -> str:
    """Without escape sequences, control characters, and what cannot be seen or turns the direction of reading."""
    text = _LINE_BREAKS.sub("\n", _ESCAPES.sub("", text))
    return _UNSEEN.sub(lambda match: _shown(match[0]), text)


def _shown(char: str) -> str:
    if char.isspace():
        return " "
    if "\ud800" <= char <= "\udfff":
        return "\N{REPLACEMENT CHARACTER}"
    return char if char.isprintable() else ""


def _spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Each secret as it is, as it stands in a URL, and line by line; the longest first."""
    plain = {line.strip() for secret in secrets for line in (secret, *secret.splitlines())}
    known = {form for secret in plain for form in (secret, _visible(secret), quote(secret, safe="", errors="replace"))}
    return tuple(sorted((s for s in known if len(s) >= _SHORTEST_SECRET and s.strip("*")), key=lambda s: (-len(s), s)))


def _pass(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    for rule, by in _RULES:
        text = rule.sub(by, text)
    return text


def _kept_digest(match: re.Match[str]) -> str:
    is_digest = len(match[0]) == 64 and match.string[: match.start()].endswith("sha256:")
    return match[0] if is_digest else HIDDEN


def _tail(path: str) -> str:
    for rule in (_TAIL, _STDLIB):
        if found := rule.fullmatch(path):
            return found[1]
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1].lstrip("~") or "."


_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (_KEY_BLOCK, HIDDEN),
    (_HEADER, rf"\1\2 {HIDDEN}"),
    (_SETTING, rf"\1={HIDDEN}"),
    (_QUOTED_SETTING, rf"\1\2\1\3{HIDDEN}"),
    (_PASSWORD, rf"\1\2{HIDDEN}"),
    (_BEARER, rf"\1 {HIDDEN}"),
    (_TOKENS, HIDDEN),
    (_HEX, _kept_digest),
    (_FILE_URL, "/"),
    (_URL, rf"\1{HOST}"),
    (_QUERY, r"\1?..."),
    (_NAMED_HOST, rf"\1{HOST}\2"),
    (_PLAIN_HOST, rf"\1{HOST}"),
    (_USER_AT, HOST),
    (_ADDRESS, HOST),
    (_HOME, "~"),
    (_QUOTED_PATH, lambda match: f"{match['quote']}{_tail(match['path'])}{match['quote']}"),
    (_PATH, lambda match: _tail(match[0])),
    (_COMMAND, r"\1: \2"),
    (_OLD_COMMAND, "## "),
)
