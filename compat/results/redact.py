"""Redacts logs for publication: paths, hosts, secrets and control characters."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from urllib.parse import quote

HIDDEN = "***"
HOST = "<host>"
_MOST_PASSES = 8

# First folders of paths that distinguish a file of a machine from a route such as /users/7: those
# of the Filesystem Hierarchy Standard 3.0, of macOS, and the mounts of CI services and clusters.
# Callers name the machine's other folders.
_STANDARD_ROOTS = """
    bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp usr
    var
    Applications Library System Users Volumes private
    __t __w agent azp builds cygdrive gpfs hostedtoolcache lustre nfs nix scratch snap work
    workspace workspaces
"""
# Suffixes of programs' files, and not of pages.
_PROGRAM = re.compile(
    r"\.(?:py[cdiwx]?|pxd|so(?:\.\d+)*|dylib|dll|whl|egg|pth|c|cc|cpp|h|hpp|o|a|toml|cfg|ini|lock)$"
)

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC and similar: titles, links
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_LINE_BREAKS = re.compile("\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(r"[^\n\t -~]")

_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}-----(?:(?!-----)[\s\S]){0,20000}(?:-----END [A-Z0-9 ]{0,40}-----)?"
)
_PUTTY = re.compile(
    r"PuTTY-User-Key-File-\d(?:(?!Private-MAC)[\s\S]){0,20000}(?:Private-MAC: ?\w+)?"
)
_TOKENS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[a-z]_[A-Za-z0-9_]{16,}|github_pat_[A-Za-z0-9_]{16,}"
    r"|gl[a-z]{1,10}-[A-Za-z0-9_-]{16,}|GR1348941[A-Za-z0-9_-]{16,}"
    r"|(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}"
    r"|ya29\.[A-Za-z0-9_.-]{16,}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}|pypi-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{16,}|hf_[A-Za-z0-9]{16,}"
    r"|sk-[A-Za-z0-9_-]{16,}|dckr_pat_[A-Za-z0-9_-]{16,}|eyJ[A-Za-z0-9_=-]{8,}\.[A-Za-z0-9_.=-]{8,}"
    r"|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|sq0[a-z]{3}-[A-Za-z0-9\\_-]{20,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"
    r"|(?:AC|SK)[0-9a-f]{32}(?![0-9a-z])"
    r"|[0-9a-z]{32}-us[0-9]{1,2}\b|AKC[A-Za-z0-9]{10,}"
    r"|AP[0-9A-F](?=[A-Za-z]{0,99}[0-9])[A-Za-z0-9]{8,}(?![\w.])"
    r"|(?:bot)?[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"
    r")"
)
_WEBHOOK = re.compile(
    r"(?i)(/services/(?=T)|/api/webhooks/|/soap/v3(?:\.1)?/)(?!\*)[A-Za-z0-9_/-]{20,}"
)
_BEARER = re.compile(
    r"(?i)\b(bearer|basic|token)[ \t]+(?=[A-Za-z0-9+/_.=-]{0,200}[0-9+/=])([A-Za-z0-9+/_.=-]{12,})"
)
_HEADER = re.compile(
    r"(?im)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]{0,30}(?:token|key))(['\"]?:)[^\n]*"
)
_FOLLOWS = re.compile(r"sha256:\Z")
# The letters F and E alone are pytest's failed tests.
_HEX = re.compile(r"(?<![0-9A-Za-z])(?![EF]+\b)[0-9A-Fa-f]{40,}(?![0-9A-Za-z])")
_SECRET_WORD = (
    r"(?:TOKEN|SECRET|PASS|PWD|KEY|CRED|AUTH|COOKIE|SESSION|PRIVATE|SIGNATURE|DSN|WEBHOOK|CERT)"
)
_SECRET_NAME = rf"(?<![A-Z0-9_])(?=[A-Z0-9_]{{0,80}}{_SECRET_WORD})[A-Z][A-Z0-9_]{{2,99}}"
_OF_MACHINE = (
    r"(?<![A-Z0-9_])(?:HOST|HOSTNAME|USER|USERNAME|LOGNAME|SUDO_USER|HOME|MAIL|SSH_[A-Z]{1,20})"
)
_SETTING = re.compile(rf"({_SECRET_NAME}|{_OF_MACHINE})=[^\n]*")
_QUOTED_SETTING = re.compile(
    rf"(['\"])({_SECRET_NAME}|{_OF_MACHINE})\1(: ?)(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s,}}]+)"
)
# A name that says what it holds, with any prefix: db_password, cloudant-api-key, _authToken.
_TELLING = (
    r"(?:(?:api|auth|service|account|db|database|priv|private|client|access|secret)[_-]?key"
    r"|(?:db|database|key)[_-]?pass|password|passwd|passphrase|pwd|secret|contrase[nñ]a"
    r"|(?:[_-]|auth|access)token"
    r"|(?<![a-z0-9])(?:cloudant|clou|cl|softlayer|sl)[_-]?(?:api)?[_-]?(?:key|pw|pass|token))"
)
_PASSWORD = re.compile(
    rf"(?i)(?=[-_acdkps])({_TELLING}(?:['\"\]]{{0,2}} ?[=:] ?))(?!['\"`]|[=:>]|\*\*\*)[^\s,;]+"
)
_QUOTED_SECRET = re.compile(
    rf"(?i)(?=[-_acdkps])({_TELLING}[\w-]{{0,40}}(?:\[\d*\])?['\"\]]{{0,2}}"
    r"(?:\.assign)?\s?(?:[:=!>(]|\s){1,4}@?)"
    r"(['\"`])[^'\"`\n]+\2"
)
_COMPARED_SECRET = re.compile(
    rf"(?i)(['\"`])[^'\"`\n]+\1(\s?[!=]{{2,3}}\s?[\w.-]{{0,60}}{_TELLING})"
)
_QUOTED = re.compile(r"(?P<quote>['\"])(?P<text>[A-Za-z0-9+/=_-]{20,200})(?P=quote)")

_FILE_URL = re.compile(r"(?i)\bfile:/+([^\s'\"<>]*)")
_CREDENTIALS = re.compile(r"(://)[^\s/'\"<>@]{1,200}@")
_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,30}://)(?!<host>)[^\s/?#'\"<>()\[\]{}|\\,;]+")
_BARE_URL = re.compile(
    r"(?<![:\w/.])//(?:[A-Za-z0-9-]{1,63}\.){1,9}[A-Za-z]{2,30}(?::\d+)?(?=[/\s'\"]|$)"
)
_QUERY = re.compile(r"(://<host>[^\s?#'\"<>]*)[?#](?!\.\.\.)[^\s'\"<>)]*")
_NAMED_HOST = re.compile(r"(?i)\b(host(?:name)?(?:=|: ?|=? ?)(['\"]))[^'\"\n<]+\2")
_PLAIN_HOST = re.compile(
    r"(?i)\b((?:resolve|connect to|reach) (?:host:? )?)(?=[a-z0-9.-]*\.)[a-z0-9][a-z0-9.-]{2,250}"
)
_USER_AT = re.compile(
    r"(?<![^\s'\"<>(,=:/])[A-Za-z0-9._%+:-]{1,100}"
    r"@[A-Za-z0-9][A-Za-z0-9.-]{0,100}\.[A-Za-z0-9-]{1,40}"
)
_ADDRESS = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}:\d{1,5}\b")
# Without a port only where the text calls it one: 1.2.3.4 alone is a version as well.
_NAMED_ADDRESS = re.compile(
    r"(?i)((?:host|server|addr|address|\bip|peer)['\"]?(?:[:=( ]|,"
    r" ){1,3}['\"]?)(?:\d{1,3}\.){3}\d{1,3}\b(?![\w.])"
)

_NAME = r"[^/\s:'\"<>|,;()\[\]{}]+"
_HOME = re.compile(rf"(?<![\w.~*/-])(?<!<host>)/(?:home|Users)/{_NAME}")
# Builders put absolute paths below their own folders: build/temp.linux/home/jane/x.o.
_HOME_BELOW = re.compile(
    rf"(?<![\w./:<>-])((?:\.{{0,2}}/)?[\w.-]+(?:/[\w.-]+)*?)/(?:home|Users)/{_NAME}(?=/[^\s/])"
)
_IS_HOME = re.compile(r".*[/\\](?:home|Users)[/\\]+[^/\\]+[/\\]*")
_FRAME = re.compile(r"(\bFile \")(~?/[^\"\n]+)(\")")
_NAMED_PATH = re.compile(
    r"((?:\[(?:Errno|WinError)"
    r" -?\d+\][^\n'\"]{0,200}|\b(?:Pure)?(?:Posix|Windows)?Path\()b?(['\"]))"
    r"(/[^'\"\n]*/[^'\"\n]+)(\2)"
)
_QUOTED_PATH = re.compile(
    r"(?P<quote>['\"`])(?P<path>(?:~?/|[A-Za-z]:[\\/]|\\\\)[^'\"`\n]*)(?P=quote)"
)
_REST = r"[^\s:'\"`<>|,;()\[\]{}*?!&=]"
_WINDOWS = (
    r"(?<![A-Za-z0-9\\])(?:[A-Za-z]:[\\/]+)+|(?<!\\)\\\\(?=[\w.-]{2,60}\\[^\\])"
    r"|(?<!\\)\\{4}(?=[\w.-]{2,60}\\\\[^\\])"
)
_PATH = re.compile(
    # Alone, after dots that are no relative path, or glued to an option as in -I/usr/include.
    rf"(?:(?<![\w.~*/-])|(?<=\.\.\.)|(?<=\s-[A-Z]))(?<!<host>)(?:~?/+|{_WINDOWS})(?=[^\s/]){_REST}+"
)
_ON_WINDOWS = re.compile(_WINDOWS)
_INSTALLED = re.compile(r"[/\\](?:site-packages|dist-packages|python3\.\d+)[/\\]")
_TAIL = re.compile(r".*[/\\]((?:site-packages|dist-packages|suite)[/\\].*)", re.DOTALL)
_STDLIB = re.compile(r".*?[/\\](python3\.\d+[/\\].*)", re.DOTALL)
_COMMAND = re.compile(r"(?m)^([ \t]*):(:+)")
_OLD_COMMAND = re.compile(r"##(?=\[|vso\[)")


def redacted(text: str, places: Iterable[str] = ()) -> str:
    """Return the text without private details of the machine or secrets; idempotent.

    A path keeps its part from `site-packages/`, the suite or the standard library on, else its last
    name; a URL loses its host, user and query. `places` are the machine's own folders: below `/`
    they are first names of its paths, deeper ones are hidden everywhere.
    """
    rules = _rules(tuple(places))

    def shown(match: re.Match[str]) -> str:
        char = match[0]
        if "\ud800" <= char <= "\udfff":
            return "\N{REPLACEMENT CHARACTER}"
        return " " if char.isspace() else char if char.isprintable() else ""

    text = _UNSEEN.sub(shown, _LINE_BREAKS.sub("\n", _ESCAPES.sub("", text)))
    for _ in range(_MOST_PASSES):
        once = _pass(text, rules)
        if once == text:
            return text
        text = once
    # Crafted with nested layers: nothing of such a line is worth publishing.
    return "\n".join(line if _pass(line, rules) == line else HIDDEN for line in text.split("\n"))


def _pass(text: str, rules: "tuple[Rule, ...]") -> str:
    for rule, by in rules:
        text = rule.sub(by, text)
    return text


def _random(match: re.Match[str]) -> str:
    text, quote_mark = match["text"], match["quote"]
    share = [count / len(text) for count in Counter(text).values()]
    bits = -sum(part * math.log2(part) for part in share)
    is_hex = len(text) >= 32 and re.fullmatch(r"[0-9A-Fa-f]+", text) is not None and bits > 3
    kinds = all(re.search(kind, text) for kind in ("[A-Z]", "[a-z]", "[0-9]"))
    return f"{quote_mark}{HIDDEN}{quote_mark}" if is_hex or (kinds and bits > 4.5) else match[0]


def _tail(path: str) -> str:
    for rule in (_TAIL, _STDLIB):
        if match := rule.fullmatch(path):
            return match[1]
    if _IS_HOME.fullmatch(path):
        return "~"
    return re.split(r"[/\\]|%2[Ff]", path.rstrip("/\\"))[-1].lstrip("~") or "."


def _is_of_machine(path: str, roots: frozenset[str]) -> bool:
    if path.startswith("~") or _ON_WINDOWS.match(path):
        return True
    names = [name for name in path.split("/") if name]
    if len(names) < 2:
        # A folder that every machine has, or a route: its name would stay in any case.
        return False
    first, is_cut, _ = names[0].partition("...")
    if first in roots or (is_cut and any(root.startswith(first) for root in roots)):
        return True
    return bool(_INSTALLED.search(path) or _PROGRAM.search(path))


@lru_cache(maxsize=8)
def _rules(places: tuple[str, ...]) -> "tuple[Rule, ...]":
    folders = {place.rstrip("/") for place in places if place.startswith("/") and place.strip("/")}
    roots = frozenset(_STANDARD_ROOTS.split()) | {
        place[1:] for place in folders if place.count("/") == 1
    }
    deep = {
        form for place in folders if place.count("/") > 1 for form in (place, quote(place, safe=""))
    }

    def in_quotes(match: re.Match[str]) -> str:
        if not _is_of_machine(match["path"], roots):
            return match[0]
        return f"{match['quote']}{_tail(match['path'])}{match['quote']}"

    def alone(match: re.Match[str]) -> str:
        has_line = re.match(r":\d", match.string[match.end() : match.end() + 2])
        is_file = has_line and "." in match[0] and "/" in match[0].strip("/")
        return _tail(match[0]) if is_file or _is_of_machine(match[0], roots) else match[0]

    own: tuple[Rule, ...] = ()
    if deep:
        ordered = sorted(deep, key=lambda place: (-len(place), place))
        rule = re.compile(rf"(?:{'|'.join(map(re.escape, ordered))})(?![\w-])(?P<rest>{_REST}*)")
        own = ((rule, lambda m: _tail(m[0]) if m["rest"].strip("/\\") else "."),)
    return (
        *_BEFORE_PATHS,
        *own,
        (_HOME, "~"),
        (_HOME_BELOW, r"\1~"),
        (_QUOTED_PATH, in_quotes),
        (_PATH, alone),
        *_LAST,
    )


Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]
_BEFORE_PATHS: tuple[Rule, ...] = (
    (_KEY_BLOCK, HIDDEN),
    (_PUTTY, HIDDEN),
    (_HEADER, rf"\1\2 {HIDDEN}"),
    (_SETTING, rf"\1={HIDDEN}"),
    (_QUOTED_SETTING, rf"\1\2\1\3{HIDDEN}"),
    (_QUOTED_SECRET, rf"\1\2{HIDDEN}\2"),
    (_COMPARED_SECRET, rf"\1{HIDDEN}\1\2"),
    (_PASSWORD, rf"\1{HIDDEN}"),
    (_BEARER, rf"\1 {HIDDEN}"),
    (_TOKENS, HIDDEN),
    (_WEBHOOK, rf"\1{HIDDEN}"),
    (
        _HEX,
        lambda m: m[0] if len(m[0]) == 64 and _FOLLOWS.search(m.string[: m.start()]) else HIDDEN,
    ),
    (_QUOTED, _random),
    (_FILE_URL, lambda match: _tail(f"/{match[1]}")),
    (_CREDENTIALS, r"\1"),
    (_URL, rf"\1{HOST}"),
    (_BARE_URL, f"//{HOST}"),
    (_QUERY, r"\1?..."),
    (_NAMED_HOST, rf"\1{HOST}\2"),
    (_PLAIN_HOST, rf"\1{HOST}"),
    (_USER_AT, HOST),
    (_ADDRESS, HOST),
    (_NAMED_ADDRESS, rf"\1{HOST}"),
    (_FRAME, lambda match: f"{match[1]}{_tail(match[2])}{match[3]}"),
    (_NAMED_PATH, lambda match: f"{match[1]}{_tail(match[3])}{match[4]}"),
)
_LAST: tuple[Rule, ...] = ((_COMMAND, r"\1: \2"), (_OLD_COMMAND, "## "))
