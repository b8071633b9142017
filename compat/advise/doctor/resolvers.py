"""What pip, uv, poetry, pipenv, pip-tools and conda print when versions do not fit, as facts: who
requires what, what was asked, what there is no file of, and which Python is wanted.
"""

import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from compat.advise.doctor.facts import (
    PYTHON,
    Absent,
    Asked,
    Fact,
    Have,
    Refused,
    Requires,
    Text,
    Trouble,
    Unbuilt,
    specifier,
)

_NAME = r"[A-Za-z](?:[\w.-]{0,80}\w)?"
_EXTRAS = r"(?:\[[\w.,\s-]{1,80}\])?"
_VERSION = r"v?\d[\w.+!-]{0,40}?"
_CLAUSE = r"(?:[<>=!~^]=?=? ?\d[\w.*+!-]{0,40}|\*)"
_RANGE = rf"(?:{_CLAUSE}(?:(?:, ?| and |\|){_CLAUSE}){{0,12}})"
_PY = r"\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:[ab]\d|rc\d)?"

# The Python that a message names, the surest first, and a package with its version. The site's
# script reads them, too: their syntax is that which Python and JavaScript share, a repetition has a
# bound, and case does not count. Two groups are the two numbers of a tag.
_OURS = r"(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?)"
_PLAIN = r"([23]\.\d{1,2}(?:\.\d{1,2})?)(?![\d.]{0,8}(?:[*,<>+]| or | and |-))"
PYTHON_PATTERNS = (
    rf"requires a different python: {_OURS}",
    rf"current python version \(?{_OURS}",
    rf"using (?:cpython|python|python interpreter)[ :]{{1,3}}{_OURS}",
    rf"cannot install on python version {_OURS}",
    rf"(?:you require|you're using|youre using) cpython {_OURS}",
    rf"interpreter (?:version|resolved to python) \(?{_OURS}",
    rf"\(python {_OURS}\)",
    rf"(?<!different )(?<!requires )(?<!to )\bpython(?: ?version)?(?:[ =:]| is ){{1,3}}\(?(?:python )?{_PLAIN}",
    r"(?<!requires )\bpython[/\\-]?([23]\.\d{1,2})(?![\d.]{0,8}[*,<>])",
    r"\b(?:cp|cpython-|python)([23])(\d{1,2})(?=[-_/\\.]\w|[/\\])",
)
VERSION_PATTERN = (
    r"(?<![\w.=/-])([a-z][\w.-]{1,60}?)(?:\[[^\]]{0,80}\])?(?:==|(?: version)?:? {1,60}| \(|-)v?"
    r"(\d{1,8}(?:\.\d{1,8}){1,6}(?:[\w+]{0,30}\w)?)(?! or )(?=[\s,;)']|-py|-cp|\.tar|\.whl|\.\s|\.$|$)"
)


def resolver_facts(text: Text) -> Iterator[Fact]:
    for reader in (_python, _pip, _builds, _uv, _poetry, _pipenv, _conda, _listed):
        yield from reader(text)


def _each(text: Text, pattern: str, most: int = 400) -> Iterator[tuple["re.Match[str]", int]]:
    for number, match in enumerate(re.finditer(pattern, text.flat)):
        if number == most:
            return
        yield match, text.line_at(match.start())


def _name(text: str) -> str:
    name = str(canonicalize_name(re.sub(r"\[.*|\{.*", "", text.strip())))
    return PYTHON if name in ("cpython", "python") else name


# ---- Python itself


def _python(text: Text) -> Iterator[Fact]:
    for pattern in PYTHON_PATTERNS:
        for match, line in _each(text, f"(?i){pattern}", 1):
            yield Have(what=PYTHON, version=".".join(filter(None, match.groups())), line=line)
    for match, line in _each(
        text,
        rf"(?:Package '?(?P<who>{_NAME})'? )?requires a different Python: {_PY} not in '?(?P<r>{_RANGE})",
    ):
        yield Requires(
            who=_name(match["who"] or ""), version="", what=PYTHON, range=match["r"], line=line
        )
    for pattern in (
        rf"only versions (?P<r>{_RANGE}) are supported",
        rf"incompatible with the project's Python requirement: '?(?P<r>{_RANGE})",
        rf"maximum supported version \((?P<max>{_PY})\)",
        rf"[Pp]ython (?:version )?(?P<r>{_RANGE})(?: is)? required",
        rf"[Rr]equires [Pp]ython (?:version )?(?P<min>{_PY})(?: or|\+)",
        rf"(?i)\b(?:needs?|requires?|must (?:use|be)|only (?:runs|works) (?:on|with)) python (?P<r>>=? ?{_PY})",
    ):
        for match, line in _each(text, pattern, 4):
            groups = match.groupdict()
            wanted = groups.get("r") or (
                "<=" + groups["max"] + ".99" if groups.get("max") else ">=" + groups["min"]
            )
            yield Requires(who="", version="", what=PYTHON, range=wanted, line=line, is_check=True)


# ---- pip, and pip-tools, which prints as pip does


def _pip(text: Text) -> Iterator[Fact]:
    for match, line in _each(text, rf"(?P<v>\d[\w.+!-]{{0,40}}) Requires-Python (?P<r>{_RANGE})"):
        yield Refused(who="", version=match["v"], range=match["r"], line=line)
    for match, line in _each(
        text,
        rf"[Cc]ould not find a version that (?:satisfies the requirement|matches) (?P<n>{_NAME}){_EXTRAS} ?"
        rf"(?P<r>{_RANGE}(?:,{_CLAUSE})*)?[^()]{{0,160}}?(?=[(.]| ERROR| No |Tried|$)(?:\(from (?!versions)(?P<who>[^()]*(?:\([^()]*\)[^()]*)?)\) ?)?(?:\(from versions: (?P<all>[^()]*)\))?",
    ):
        yield from _not_found(match, line)
    for match, line in _each(
        text,
        rf"[Nn]o matching distribution found for (?P<n>{_NAME}){_EXTRAS} ?(?P<r>{_RANGE})?(?:; [^()]+?)?(?: \(from (?P<who>[^()]{{1,120}}(?:\(line \d+\))?)\))?(?= |$)",
    ):
        yield from _not_found(match, line)
    for match, line in _each(
        text,
        rf"(?P<who>{_NAME}){_EXTRAS} (?P<v>{_VERSION}) (?:has requirement|requires) (?P<n>{_NAME}){_EXTRAS} ?(?P<r>{_RANGE})?(?:; [^,]{{1,80}})?, (?:but (?:you'll have|you have) (?P<h>{_NAME}) (?P<hv>{_VERSION})(?= which)|which is not installed)",
    ):
        yield Requires(
            who=_name(match["who"]),
            version=match["v"],
            what=_name(match["n"]),
            range=match["r"] or "",
            line=line,
        )
        if match["h"]:
            yield Have(what=_name(match["h"]), version=match["hv"], line=line)
    for match, line in _each(
        text,
        rf"(?<!\w)(?P<who>{_NAME}){_EXTRAS} (?P<v>{_VERSION}) depends on (?P<n>{_NAME}){_EXTRAS} ?(?P<r>{_RANGE})?",
    ):
        yield Requires(
            who=_name(match["who"]),
            version=match["v"],
            what=_name(match["n"]),
            range=match["r"] or "",
            line=line,
        )
    for match, line in _each(
        text, rf"The user requested (?:\(constraint\) )?(?P<n>{_NAME}){_EXTRAS} ?(?P<r>{_RANGE})"
    ):
        yield Asked(what=_name(match["n"]), range=match["r"], line=line)
    for match, line in _each(
        text, r"Cannot install (?P<list>.{3,600}?) because these package versions have"
    ):
        for each in re.findall(
            rf"(?<![\w-])({_NAME}){_EXTRAS}(?:==| )({_RANGE}|\d[\w.*+!]{{0,30}})", match["list"]
        ):
            if each[0] not in ("line", "and", "r"):
                yield Asked(what=_name(each[0]), range=each[1], line=line)
        names = [
            n
            for n in re.findall(rf"(?:^|, | and )({_NAME})(?=,| and |$)", match["list"])
            if n != "and"
        ]
        for name in names:
            yield Asked(what=_name(name), range="", line=line)
    for match, line in _each(
        text,
        rf"\(?(?P<n>{_NAME}) (?P<v>{_VERSION})(?: \([^()]{{1,200}}\))?, Requirement\.parse\('(?P<m>{_NAME}){_EXTRAS}(?P<r>{_RANGE})'\)(?:, \{{'(?P<who>{_NAME})'\}})?",
    ):
        yield Have(what=_name(match["n"]), version=match["v"], line=line)
        yield Requires(
            who=_name(match["who"] or ""),
            version="",
            what=_name(match["m"]),
            range=match["r"],
            line=line,
            is_check=True,
        )
    for match, line in _each(
        text,
        rf"The '(?P<n>{_NAME}){_EXTRAS} ?(?P<r>{_RANGE})?' distribution was not found(?: and is required by (?:the )?(?P<who>{_NAME}))?",
    ):
        who = _name(match["who"] or "")
        yield Requires(
            who="" if who == "application" else who,
            version="",
            what=_name(match["n"]),
            range=match["r"] or "",
            line=line,
            is_check=True,
        )
        yield Absent(
            what=_name(match["n"]), range=match["r"] or "", why="version", line=line, versions=()
        )
    for match, line in _each(
        text,
        rf"(?P<n>{_NAME}?)-(?P<v>\d[\w.+!]*)-(?P<tags>[\w.]+-[\w.]+-[\w.]+)\.whl is not a supported wheel on this platform",
    ):
        yield Absent(
            what=_name(match["n"]),
            range=f"=={match['v']}",
            why="wheel-tag",
            line=line,
            tags=tuple(match["tags"].split("-")),
        )
    for match, line in _each(
        text,
        rf"(?:Requested )?(?P<n>{_NAME})==(?P<v>{_VERSION}) from \S+(?: \([^()]*(?:\([^()]*\))?\))? has invalid metadata.{{0,400}}?Please use pip(?P<r>{_RANGE})",
    ):
        yield Requires(
            who=_name(match["n"]),
            version=match["v"],
            what="pip",
            range=match["r"],
            line=line,
            is_check=True,
        )
    for match, line in _each(
        text,
        r"\bpip(?:3|\d\.\d+)? install (?P<words>[^$#]{2,300}?)(?= (?:Collecting|ERROR|Requirement|Using|Traceback|Looking|Could|\$)|$)",
    ):
        for name, wanted in re.findall(
            rf"(?:^| )'?({_NAME}){_EXTRAS} ?({_CLAUSE}(?:,{_CLAUSE})*)?'?(?= |$)",
            match["words"][:300],
        ):
            if wanted:
                yield Asked(what=_name(name), range=wanted, line=line)


def _not_found(match: "re.Match[str]", line: int) -> Iterator[Fact]:
    name, wanted = _name(match["n"]), match["r"] or ""
    if name.endswith("-txt") or match["n"].endswith(".txt") or name == PYTHON:
        sentence = f"{match['n']} is the name of no package: the command or the list is not as pip takes it."
        yield Trouble(kind="machine", sentence=sentence, line=line)
        return
    groups = match.groupdict()
    listed = groups.get("all")
    versions = None
    if listed is not None:
        versions = tuple(v.strip() for v in listed.split(",") if re.match(r"\s*\d", v))
    yield Absent(what=name, range=wanted, why="version", line=line, versions=versions)
    who = groups.get("who") or ""
    chain = [part.strip() for part in who.split("->")]
    asker = (
        re.match(rf"({_NAME}){_EXTRAS}(?:==({_VERSION})$)?", chain[0])
        if chain and chain[0]
        else None
    )
    if asker and asker[1] not in ("-r", "-c", "r", "c", "versions"):
        yield Requires(
            who=_name(asker[1]), version=asker[2] or "", what=name, range=wanted, line=line
        )


# ---- builds from source


def _builds(text: Text) -> Iterator[Fact]:
    for pattern in (
        rf"(?:ERROR: )?Failed building wheel for (?P<n>{_NAME})",
        rf"Could not build wheels for (?P<n>{_NAME}),",
        rf"Building wheel for (?P<n>{_NAME}) \([\w.]+\)(?: \.\.\. error| did not run| finished with status 'error')",
        rf"Running setup\.py install for (?P<n>{_NAME})(?: \.\.\. |: finished with status ')error",
        rf"error in (?P<n>{_NAME}) setup command: (?P<why>use_2to3 is invalid|[^.]{{1,100}})",
        rf"Failed to (?:build|download and build|install) '?(?P<n>{_NAME}?)(?:==|-)(?P<v>\d[\w.+!]*)",
        rf"Installing (?P<n>{_NAME}) \((?P<v>{_VERSION})\): Failed",
        rf"the installation fails due to (?P<n>{_NAME})(?:[~=]=(?P<v>{_VERSION})(?= ))?",
        rf"pip-install-\w+/(?P<n>{_NAME}?)_[0-9a-f]{{8,40}}/",
        rf"(?:Using cached|Downloading) (?:\S+/)?(?P<n>{_NAME}?)-(?P<v>\d[\w.+!]*?)\.(?:tar\.gz|zip|tar\.bz2)(?:(?!Collecting|Using cached|Downloading).){{0,900}}?(?:[Ee]rror[: ]|status 'error'|exited with)",
        r"build/lib\.\S+/(?P<n>[a-z]\w+)(?=/|$| )",
        rf"Required package (?P<n>{_NAME}) does not build",
        r"building '(?P<n>[A-Za-z_]\w*)[\w.]*' extension",
        r"CompileError: (?:src/)?(?P<n>[A-Za-z_]\w*)/\S+\.pyx",
    ):
        for match, line in _each(text, pattern, 3):
            groups = match.groupdict()
            yield Unbuilt(
                what=_name(groups["n"]),
                version=(groups.get("v") or "").rstrip("."),
                line=line,
                why=groups.get("why") or _why(text.flat),
            )


def _why(flat: str) -> str:
    """What a build needs otherwise, in the words of its own tools."""
    for sign in (
        "use_2to3 is invalid",
        "cython_sources",
        "longintrepr.h",
        "ImpImporter",
        "Cython.Compiler.Errors",
        "pkg_resources",
        "bdist_wheel",
        "distutils",
    ):
        if sign in flat:
            return sign
    return ""


# ---- uv: "Because T and T, we can conclude that T. And because ..."

_UV_TERM = rf"(?P<n>{_NAME}){_EXTRAS}(?:\{{[^}}]*\}})?(?P<r>(?:[<>=!~]=?=?[\w.*+!]+(?:,[<>=!~]=?=?[\w.*+!]+)*)?)"


def _uv(text: Text) -> Iterator[Fact]:
    if (
        "ecause" not in text.flat
        and "(v" not in text.flat
        and "can't be installed" not in text.flat
    ):
        return
    for match, line in _each(
        text, rf"{_UV_TERM} depends on (?P<m>{_NAME}){_EXTRAS}(?:\{{[^}}]*\}})?(?P<s>{_RANGE})"
    ):
        version = match["r"] if match["r"].count("=") and "," not in match["r"] else match["r"]
        yield Requires(
            who=_name(match["n"]),
            version=version,
            what=_name(match["m"]),
            range=match["s"],
            line=line,
        )
    for match, line in _each(
        text,
        r"(?<!conclude that )(?:you require|your project depends on|your project requires) (?P<list>.{2,400}?)(?=,? (?:we can|and (?:the|because|we|only|there)|but)|, we|$)",
    ):
        for name, wanted in re.findall(
            rf"({_NAME}){_EXTRAS}(?:\{{[^}}]*\}})?({_RANGE})?\.?(?=,| and |$| \()", match["list"]
        ):
            if name not in ("and",):
                yield Asked(what=_name(name), range=wanted, line=line)
    for match, line in _each(
        text,
        rf"current Python version \(?{_PY}\)? does not satisfy Python(?P<r>{_RANGE})(?: and (?P<who>{_NAME}){_EXTRAS}(?:==(?P<v>{_VERSION}))? depends on Python)?",
    ):
        yield Requires(
            who=_name(match["who"] or ""),
            version=match["v"] or "",
            what=PYTHON,
            range=match["r"],
            line=line,
        )
    for match, line in _each(
        text,
        rf"requested Python version \((?P<have>[^)]+)\) does not satisfy Python(?P<r>{_RANGE})",
    ):
        yield Asked(what=PYTHON, range=match["have"], line=line)
        tail = text.flat[match.end() : match.end() + 200]
        before = text.flat[max(0, match.start() - 700) : match.start()]
        who = re.match(
            rf" and (?P<n>{_NAME}){_EXTRAS}(?:==(?P<v>{_VERSION}))? depends on Python", tail
        )
        listed = re.findall(rf"({_NAME})\{{[^}}]*\}}[<>=]", before)
        yield Requires(
            who=_name(who["n"] if who else listed[-1] if listed else ""),
            version=(who and who["v"]) or "",
            what=PYTHON,
            range=match["r"],
            line=line,
        )
    for match, line in _each(
        text,
        rf"{_UV_TERM} (?:has no wheels|is unusable because no wheels are available|was yanked|has no (?:usable )?(?:source distribution|publish))(?P<how>.{{0,120}})",
    ):
        why = "yanked" if "was yanked" in match[0] else "wheel"
        yield Absent(what=_name(match["n"]), range=match["r"], why=why, line=line)  # type: ignore[arg-type]
    for match, line in _each(text, rf"there (?:is no version|are no versions) of {_UV_TERM}"):
        yield Absent(what=_name(match["n"]), range=match["r"], why="version", line=line)
    for match, line in _each(text, rf"{_UV_TERM} was not found in the package registry"):
        yield Absent(what=_name(match["n"]), range="", why="version", line=line, versions=())
    for match, line in _each(
        text,
        rf"[Bb]ecause only {_UV_TERM} is available and you require (?P<m>{_NAME}){_EXTRAS}(?P<s>{_RANGE})",
    ):
        if _name(match["n"]) == _name(match["m"]):
            yield Absent(what=_name(match["n"]), range=match["s"], why="version", line=line)
    for match, line in _each(
        text,
        rf"Distribution '(?P<n>{_NAME})==(?P<v>{_VERSION})(?: @ [^']*)?' can't be installed because it doesn't have",
    ):
        yield Absent(what=_name(match["n"]), range=f"=={match['v']}", why="wheel", line=line)
    for match, line in _each(
        text,
        rf"(?:wheels for '?(?P<n>{_NAME})'? \(v(?P<v>{_VERSION})\)|'?(?P<n2>{_NAME})'? \(v(?P<v2>{_VERSION})\) only has wheels) (?:with|for) the following (?P<what>Python ABI tags?|platforms?|Python (?:implementation )?tags?): (?P<tags>(?:'?[\w.]+'?(?:, | and )?)+)",
    ):
        why = "platform" if match["what"].startswith("platform") else "wheel"
        tags = tuple(re.findall(r"[\w.]+", match["tags"].replace(" and ", " ")))
        yield Absent(
            what=_name(match["n"] or match["n2"]),
            range=f"=={match['v'] or match['v2']}",
            why=why,
            line=line,
            tags=tags,
        )  # type: ignore[arg-type]
    for match, line in _each(
        text,
        rf"'?(?P<n>{_NAME})'? \(v(?P<v>{_VERSION})\) was included because '?(?P<who>{_NAME})'? \(v(?P<w>{_VERSION})\) depends on",
    ):
        yield Requires(
            who=_name(match["who"]), version=match["w"], what=_name(match["n"]), range="", line=line
        )


# ---- poetry


def _poetry(text: Text) -> Iterator[Fact]:
    term = rf"(?P<n>{_NAME}){_EXTRAS}(?: \((?P<r>[^()]{{1,60}})\))?(?: @ \S+)?"
    for match, line in _each(
        text,
        rf"{term} (?:depends on|requires) (?P<m>{_NAME}){_EXTRAS} \((?P<s>[^()]{{1,80}})\)(?P<rest> which doesn't match any versions)?",
    ):
        if match["n"] in ("So", "and", "Because"):
            continue
        if match["s"] == "<empty>" or match["rest"]:
            yield Absent(
                what=_name(match["m"]),
                range="" if match["s"] == "<empty>" else match["s"],
                why="version",
                line=line,
            )
        if match["s"] != "<empty>":
            yield Requires(
                who=_name(match["n"]),
                version=match["r"] or "",
                what=_name(match["m"]),
                range=match["s"],
                line=line,
            )
    for match, line in _each(
        text,
        rf"{term} requires Python (?P<s>{_RANGE})(?:, so it will not be satisfied for Python (?P<gap>{_RANGE}))?",
    ):
        yield Requires(
            who=_name(match["n"]),
            version=match["r"] or "",
            what=PYTHON,
            range=match["s"],
            line=line,
        )
    for match, line in _each(
        text, r"project's (?:supported )?Python (?:requirement|range) \((?P<r>[^()]+)\)"
    ):
        yield Asked(what=PYTHON, range=match["r"], line=line)
    for match, line in _each(
        text,
        rf"[Bb]ecause (?P<who>{_NAME})(?: \([^()]*\))? depends on both (?P<n>{_NAME}) \((?P<r>[^()]+)\) and (?P<m>{_NAME}) \((?P<s>[^()]+)\)",
    ):
        yield Asked(what=_name(match["n"]), range=match["r"], line=line)
        yield Asked(what=_name(match["m"]), range=match["s"], line=line)


# ---- pipenv and old pip-tools


def _pipenv(text: Text) -> Iterator[Fact]:
    for match, line in _each(
        text,
        rf"Could not find a version that matches (?P<n>{_NAME}){_EXTRAS}(?P<r>(?:[<>=!~]=?=?[\w.*+!]+,?)*)(?: \(from [^()]*\))?(?: Tried: (?P<all>[\d][^A-Z]{{0,400}}))?(?P<none>.{{0,60}}No versions found)?",
    ):
        versions: tuple[str, ...] | None = () if match["none"] else None
        if match["all"]:
            versions = tuple(v.strip() for v in match["all"].split(",") if v.strip()[:1].isdigit())
        clauses = [c for c in match["r"].split(",") if c]
        yield Absent(
            what=_name(match["n"]),
            range=match["r"].strip(","),
            why="version",
            line=line,
            versions=versions,
        )
        if len(clauses) > 1 and versions:
            # Several askers' ranges are joined here, and pip-tools saw releases.
            for clause in clauses:
                yield Requires(who="", version="", what=_name(match["n"]), range=clause, line=line)


# ---- conda and mamba


def _conda(text: Text) -> Iterator[Fact]:
    if (
        "nsatisfiable" not in text.flat
        and "nothing provides" not in text.flat
        and "found to be i" not in text.flat
    ):
        return
    for number, line in enumerate(text.lines, 1):
        stripped = line.strip()
        chain = re.match(r"^-? ?([A-Za-z][\w.-]*)(?:[ =]([^-]*?))?((?: ?->.*)?)$", stripped)
        if chain and (
            stripped.startswith("-") or "->" in stripped or re.fullmatch(r"[\w.-]+=\S+", stripped)
        ):
            yield from _conda_chain(stripped.lstrip("- "), number)
    for match, line in _each(
        text,
        rf"nothing provides (?:requested )?(?P<n>{_NAME}) ?(?P<r>[\w.*<>=,]+)?(?: [\w*]+)?(?: needed by (?P<who>{_NAME}?)-(?P<v>\d[\w.]*))?",
    ):
        yield Absent(what=_name(match["n"]), range=match["r"] or "", why="version", line=line)
    for match, line in _each(text, rf"Your python: python=+(?P<v>{_PY})"):
        yield Asked(what=PYTHON, range=f"=={match['v']}.*", line=line)


def _conda_chain(text: str, line: int) -> Iterator[Fact]:
    links = [_conda_spec(part) for part in text.split("->")]
    if not links[0][0] or links[0][0] in ("package", "specifications"):
        return
    if len(links) == 1:
        yield Asked(what=_name(links[0][0]), range=links[0][1], line=line)
        return
    for (who, version), (what, wanted) in zip(links, links[1:], strict=False):
        yield Requires(who=_name(who), version=version, what=_name(what), range=wanted, line=line)


def _conda_spec(text: str) -> tuple[str, str]:
    match = re.match(
        r"\s*([A-Za-z][\w.-]*?)(?:\[version='([^']+)'\]|[ =]+([\w.*<>=!,|]+))?(?:[= ]\S+)?\s*$",
        text,
    )
    if match is None:
        return "", ""
    wanted = (match[2] or match[3] or "").split("|")[0]
    if wanted and wanted[0].isdigit() and "*" not in wanted:
        wanted = f"{wanted}.*" if wanted.count(".") < 2 else f"=={wanted}"
    return match[1], wanted


# ---- versions that a text mentions


_INSTALLED = re.compile(VERSION_PATTERN, re.IGNORECASE)
_NO_PACKAGE = frozenset(
    ["version", "versions", "python", "pip2", "line", "than", "least", "in", "to", "at", "of", "or", "and", "is", "the", "a", "an", "with", "from", "by", "for", "cuda", "cudnn", "gcc", "v", "release", "newer", "older", "upgrade", "downgrade", "got", "now", "about", "windows", "macos", "ubuntu", "linux", "total", "mode", "numpy-version", "used", "requires", "require", "needs", "size", "api", "level"]
)


def _listed(text: Text) -> Iterator[Fact]:
    for number, line in enumerate(text.lines, 1):
        wish = re.fullmatch(
            rf"\s*({_NAME}){_EXTRAS} ?((?:[<>~!]=?|>=)\s?\d[\w.*]*(?:, ?{_CLAUSE})*)(?: ?;.*)?",
            line,
        )
        if wish and "ecause" not in text.flat:
            yield Asked(what=_name(wish[1]), range=wish[2], line=number)
        if re.search(
            r"depends on|[Rr]equire|Ignored the following|from versions|satisf|Collecting|ecause",
            line,
        ):
            continue
        for match in list(_INSTALLED.finditer(line))[:40]:
            name = match[1].lower()
            if name not in _NO_PACKAGE and not name.endswith(".py"):
                yield Have(what=_name(match[1]), version=match[2], line=number)


def is_range(text: str) -> bool:
    return specifier(text) is not None
