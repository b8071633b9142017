"""About a dozen inferences from facts to problems: each names the facts that it rests on, and none
knows a package by name.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.advise.doctor.facts import (
    PYTHON,
    Absent,
    Asked,
    BadCall,
    Binary,
    Changed,
    Fact,
    Have,
    LacksName,
    NoModule,
    Refused,
    Requires,
    Syntax,
    Text,
    Trouble,
    Unbuilt,
    specifier,
    version_of,
)
from compat.advise.doctor.known import (
    PYTHONS,
    Presence,
    api,
    index,
    owners,
    package_of_module,
)
from compat.advise.doctor.resolvers import grammar
from compat.advise.doctor.traceback import Frame, Traceback, is_users_own, package_of
from compat.run.outcome import Cause
from compat.value import Value

Direction = Literal["", "older", "newer", "other", "python", "drop", "rebuild", "install"]
# What a hosted notebook brings itself asks for exact versions and works with others:
# https://github.com/googlecolab/colabtools/issues/2604 and many more.
_HOSTS = frozenset(("google-colab", "datascience"))
_BUILTINS = frozenset(
    [
        "str",
        "bytes",
        "int",
        "float",
        "bool",
        "list",
        "tuple",
        "dict",
        "set",
        "function",
        "method",
        "generator",
        "type",
        "object",
    ]
)


class Finding(Value, frozen=True):
    """A problem: the package at fault first, `python` for the interpreter, then those beside it.

    `needs` is the requirement that mends it, `wanted` the one that no file meets. Where that was checked against known releases, `pin` is
    one that can be had. `lines` are those of the facts. `rank` orders findings, the surest first.
    """

    cause: Cause
    packages: tuple[str, ...]
    sentence: str
    lines: tuple[int, ...]
    direction: Direction = ""
    needs: str = ""
    wanted: str = ""
    pin: str = ""
    advice: str = ""
    rank: int = 5
    is_fault: bool = True


class Case:
    """All that is known of one question."""

    def __init__(
        self,
        text: Text,
        trace: Traceback,
        facts: Iterable[Fact],
        python: Version | None = None,
        versions: Mapping[str, Version] | None = None,
    ) -> None:
        self.text, self.trace, self.facts = text, trace, tuple(facts)
        self._python, self._versions = python, dict(versions or {})

    def all(self, kind: "type[Fact]") -> list:  # type: ignore[type-arg]
        return [fact for fact in self.facts if isinstance(fact, kind)]

    @cached_property
    def python(self) -> Version | None:
        if self._python is not None:
            return self._python
        said = [version_of(f.version) for f in self.all(Have) if f.what == PYTHON]
        found = next((v for v in said if v is not None), None)
        return found

    @cached_property
    def versions(self) -> dict[str, Version]:
        """What is there, by package: a list beats what the message says."""
        said: dict[str, Version] = {}
        for fact in self.all(Have):
            version = version_of(fact.version)
            if version is not None and fact.what != PYTHON:
                said.setdefault(fact.what, version)
        return said | self._versions

    def mentions(self, package: str) -> bool:
        """Whether the text speaks of a package or of a module of it."""
        words = {package, package.replace("-", "_")}
        known = api(package)
        words |= set(known.modules if known else ())
        return any(
            re.search(rf"(?<![\w-]){re.escape(w)}(?![\w-])", self.text.flat, re.I) for w in words
        )


def findings(case: Case) -> list[Finding]:
    """All problems, the surest first; each package once for each cause."""
    found = [finding for infer in _INFERENCES for finding in infer(case)]
    troubles = {fact.kind for fact in case.all(Trouble)}
    if troubles & {"network", "disk"} or ("machine" in troubles and not _is_certain(case)):
        found = [
            f
            for f in found
            if f.cause not in ("no-artifact", "build", "version-guard") or not f.is_fault
        ]
    if "shadow" in troubles:
        found = [
            f
            for f in found
            if f.cause not in ("missing-attribute", "missing-module") or not f.is_fault
        ]
    found.sort(key=lambda f: (not f.is_fault, f.rank))
    first: dict[tuple[str, ...], Finding] = {}
    for finding in found:
        first.setdefault((finding.cause, *finding.packages[:1]), finding)
    return list(first.values())


def _is_certain(case: Case) -> bool:
    return any(isinstance(f, Absent | Refused) for f in case.facts)


# ---- 1: ranges that do not meet


def _ranges_that_do_not_meet(case: Case) -> Iterator[Finding]:
    wanted: dict[str, list[tuple[str, str, int]]] = {}
    for fact in case.all(Asked):
        if fact.range:
            wanted.setdefault(fact.what, []).append(("", fact.range, fact.line))
    for fact in case.all(Requires):
        if fact.range and not fact.is_check:
            wanted.setdefault(fact.what, []).append((fact.who, fact.range, fact.line))
    for what, all_ranges in wanted.items():
        if what == PYTHON:
            continue
        pair = _apart(what, all_ranges)
        if pair is not None:
            yield _conflict(case, what, *pair)


Wish = tuple[str, str, int]


def _apart(what: str, ranges: list[Wish]) -> tuple[Wish, Wish] | None:
    """Two ranges that exclude each other: what the user asks for first, then the one in the way."""
    # Of one asker's releases that a resolver tried one after another, any admits the range.
    by_asker: dict[str, list[Wish]] = {}
    for wish in dict.fromkeys(ranges):
        by_asker.setdefault(wish[0], []).append(wish)
    askers = list(by_asker)
    for wish, other in _pairs(by_asker[""] if "" in by_asker else []):
        if not _meet(what, wish[1], other[1]):
            return wish, other
    for number, asker in enumerate(askers):
        for other_asker in askers[number + 1 :]:
            pairs = [(a, b) for a in by_asker[asker] for b in by_asker[other_asker]]
            if pairs and not any(_meet(what, a[1], b[1]) for a, b in pairs):
                first, second = pairs[0]
                return (second, first) if not second[0] else (first, second)
    same = [a for asker, all_of in by_asker.items() if asker for a in all_of]
    for one, other in _pairs(same):
        # Two extras of one release, which uv writes under one name.
        if one[0] == other[0] and not _meet(what, one[1], other[1]) and one[2] == other[2]:
            return one, other
    return None


def _pairs(wishes: list[Wish]) -> Iterator[tuple[Wish, Wish]]:
    for number, one in enumerate(wishes):
        for other in wishes[number + 1 :]:
            yield one, other


def _meet(what: str, one: str, other: str) -> bool:
    """Whether some version is in both ranges: of those that exist, where they are known, else of
    those near the bounds.
    """
    first, second = specifier(one), specifier(other)
    if first is None or second is None:
        return True
    both = first & second
    known = index(what)
    if known is not None:
        return any(both.contains(version, prereleases=True) for version in known.versions)
    return any(both.contains(version, prereleases=True) for version in _near(both))


def _near(both: SpecifierSet) -> Iterator[Version]:
    yield Version("0")
    for clause in both:
        text = clause.version.replace(".*", "")
        base = version_of(text)
        if base is None:
            continue
        yield base
        release = list(base.release)
        yield Version(".".join(map(str, [*release, 1])))
        yield Version(".".join(map(str, [*release, 0, 1])))
        for place in range(len(release)):
            for step in (-1, 1):
                if release[place] + step >= 0:
                    nearby = [*release[:place], release[place] + step]
                    yield Version(".".join(map(str, nearby)))
                    yield Version(".".join(map(str, [*nearby, 9999])))
    yield Version("99999")


def _conflict(case: Case, what: str, one: Wish, other: Wish) -> Finding:
    askers = [asker for asker in (one[0], other[0]) if asker]
    lines = tuple(sorted({one[2], other[2]}))
    if not askers:
        newest = _best(case, what, [one[1]], [other[1]])
        return Finding(
            cause="conflict",
            packages=(what,),
            sentence=f"{what} is asked for twice, as {_shown(one[1])} and as {_shown(other[1])}: no release is both.",
            lines=lines,
            direction="drop",
            needs=f"{what}{_spec(newest[0])}" if newest else "",
            pin=f"{what}=={newest[1]}" if newest and newest[1] else "",
            advice=f"Keep one of the two requirements of {what}.",
            rank=1,
        )
    if not one[0]:
        newest = _best(case, what, [other[1]])
        version = newest[1] if newest else None
        others = [a for a in [_admits(case, other[0], what, one[1])] if a]
        return Finding(
            cause="conflict",
            packages=(what, other[0]),
            sentence=f"{_title(case, other[0])} requires {what}{_shown(other[1])}, and {what}{_shown(one[1])} is asked for.",
            lines=lines,
            direction=_direction(one[1], other[1]),
            needs=f"{what}{_spec(other[1])}",
            pin=f"{what}=={version}" if version else "",
            advice=f"Ask for {what}{_shown(other[1])} instead"
            + (f", or for {others[0]}." if others else "."),
            rank=1,
        )
    ways = [
        w
        for w in (_admits(case, one[0], what, other[1]), _admits(case, other[0], what, one[1]))
        if w
    ]
    named = " or ".join(dict.fromkeys(askers))
    return Finding(
        cause="conflict",
        packages=(what, *dict.fromkeys(askers)),
        sentence=(
            f"{_title(case, one[0])} requires {what}{_shown(one[1])} and {_title(case, other[0])} requires"
            f" {what}{_shown(other[1])}: no release is both."
        ),
        lines=lines,
        direction="other",
        pin=ways[0] if ways else "",
        advice=f"Ask for {' or for '.join(ways)}."
        if ways
        else f"Take another release of {named}: drop its pin, and the resolver looks for one.",
        rank=1,
    )


def _admits(case: Case, who: str, what: str, wanted: str) -> str:
    """The newest release of a package that admits a range of another, as far as that is known."""
    known, target, wish = index(who), index(what), specifier(wanted)
    if known is None or target is None or wish is None:
        return ""
    version = target.newest(wish, case.python)
    release = (
        None
        if version is None
        else known.admitting(what, version, target.days[version], case.python)
    )
    return f"{who}=={release}" if release is not None else ""


def _best(case: Case, what: str, *choices: list[str]) -> tuple[str, Version | None] | None:
    known = index(what)
    for ranges in choices:
        wish = specifier(",".join(ranges))
        if wish is None:
            continue
        version = known.newest(wish, case.python) if known is not None else None
        if version is not None or known is None:
            return ",".join(ranges), version
    return None


def _direction(asked: str, wanted: str) -> Direction:
    """Whether what is wanted is older or newer than what is asked for."""
    ours = [v for v in map(version_of, re.findall(r"\d[\w.]*", asked)) if v]
    if not ours:
        return "other"
    wish = specifier(wanted)
    return _toward(wish, max(ours)) if wish is not None else "other"


def _toward(wish: SpecifierSet, installed: Version) -> Direction:
    uppers = [
        version_of(c.version.replace(".*", ""))
        for c in wish
        if c.operator in ("<", "<=", "==", "~=")
    ]
    lowers = [
        version_of(c.version.replace(".*", ""))
        for c in wish
        if c.operator in (">", ">=", "==", "~=")
    ]
    if any(low is not None and installed < low for low in lowers):
        return "newer"
    if any(up is not None and installed >= up for up in uppers):
        return "older"
    return "other"


def _spec(text: str) -> str:
    return str(specifier(text) or "")


def _shown(text: str) -> str:
    spec = specifier(text)
    return text if spec is None else ",".join(sorted(map(str, spec), reverse=True))


def _title(case: Case, who: str) -> str:
    if not who:
        return "Something"
    said = next((f.version for f in case.all(Requires) if f.who == who and f.version), "")
    if said[:1].isdigit():
        return f"{who} {said}"
    return f"{who}{said}" if said else who


# ---- 2: the resolver names who conflicts, and no range


def _unnamed_conflict(case: Case) -> Iterator[Finding]:
    lone = [f for f in case.all(Asked) if f.what != PYTHON and f.range]
    if (
        re.search(r"UnsatisfiableError|following specifications were found", case.text.flat)
        and len(lone) == 1
        and not case.all(Requires)
    ):
        yield Finding(
            cause="no-artifact",
            packages=(lone[0].what,),
            sentence=f"The channels have no {lone[0].what}{_shown(lone[0].range)} that fits.",
            lines=(lone[0].line,),
            direction="other",
            advice="Add the channel that has the build, or ask for another release.",
            rank=4,
        )
    asked = [
        f
        for f in case.all(Asked)
        if "because these package versions have conflicting" in case.text.flat and f.what != PYTHON
    ]
    if not asked or case.all(Requires):
        # All releases of one package ask for what is not there.
        needs = [f for f in case.all(Requires) if not f.is_check]
        what = needs[0].what if needs else ""
        if (
            asked
            and len({f.what for f in needs}) == 1
            and len(needs) > 1
            and all(f.what != what for f in asked)
        ):
            yield Finding(
                cause="no-artifact",
                packages=(what, *dict.fromkeys(f.who for f in needs if f.who)),
                sentence=f"Every release of {needs[0].who} that was tried requires {what}, and none of {what} fits this Python or platform.",
                lines=tuple(f.line for f in needs[:3]),
                direction="python",
                **_pythons_of(case, what, needs[0].range),
                rank=3,
            )
        return
    names = tuple(dict.fromkeys(f.what for f in asked))
    yield Finding(
        cause="conflict",
        packages=names,
        sentence=f"{' and '.join(names)} as asked for cannot be installed together.",
        lines=(asked[0].line,),
        direction="other",
        advice="The message leaves out which requirement is in the way: pip prints it after 'The conflict is caused by'.",
        rank=4,
    )


def _pythons_of(case: Case, what: str, wanted: str) -> dict[str, str]:
    """What a range of a package can be had for, as fields of a Finding."""
    known, wish = index(what), specifier(wanted)
    if known is None or wish is None:
        return {"advice": f"Use a Python for which {what} has a file."}
    version = known.newest(wish)
    if version is None:
        newest = known.newest(SpecifierSet(), case.python)
        if newest is None:
            return {"advice": f"No release of {what} fits."}
        return {
            "advice": f"The index has no {what}{_shown(wanted)} any more. The newest{' for this Python' if case.python else ''} is {newest}.",
            "pin": f"{what}=={newest}",
        }
    pythons = known.pythons(version)
    if case.python is not None and known.fits(version, case.python):
        return {
            "advice": f"The index has {what} {version} for this Python: the platform or an old pip is in the way.",
            "pin": f"{what}=={version}",
        }
    if not pythons:
        return {
            "advice": f"{what} {version} has files for Pythons before {PYTHONS[0]} or for other platforms alone."
        }
    nearest = pythons[-1] if case.python is None or case.python > pythons[-1] else pythons[0]
    fields = {
        "needs": f"python=={nearest}.*",
        "advice": f"{what} {version} has files for Python {_series(pythons)}.",
    }
    other = known.newest(SpecifierSet(), case.python) if case.python is not None else None
    if other is not None and other != version:
        fields["advice"] += f" For Python {case.python} the newest release is {other}."
        fields["pin"] = f"{what}=={other}" if other > version else ""
    return fields


def _series(pythons: list[Version]) -> str:
    return str(pythons[0]) if len(pythons) == 1 else f"{pythons[0]} to {pythons[-1]}"


# ---- 3: a range, and a version that is there


def _versions_out_of_range(case: Case) -> Iterator[Finding]:
    refused = []
    for fact in case.all(Requires):
        if fact.what == PYTHON or not fact.range:
            continue
        wish, installed = specifier(fact.range), case.versions.get(fact.what)
        if wish is None or (installed is None and not fact.is_check):
            continue
        if installed is not None and wish.contains(installed, prereleases=True):
            continue
        refused.append((fact, wish, installed))
    # Of what several ask, an installer reports as a notice only, and most of them are bystanders.
    notice = [f for f, _, _ in refused if not f.is_check]
    is_crowd = len({f.who for f in notice}) > 1
    for fact, wish, installed in refused:
        if not fact.is_check:
            if fact.who in _HOSTS or (is_crowd and not _is_spoken_of(case, fact)):
                continue
        who = fact.who or (case.trace.installed[:1] or [""])[0]
        who = "" if who in (fact.what, PYTHON) else who
        pin = _best(case, fact.what, [fact.range])
        title = _title(case, who) if who else "The code that raised this"
        there = f", and {installed} is there" if installed is not None else ""
        yield Finding(
            cause="version-guard" if fact.is_check else "conflict",
            packages=(fact.what, who) if who else (fact.what,),
            sentence=f"{title} requires {fact.what}{_shown(fact.range)}{there}.",
            lines=(fact.line,),
            direction=_toward(wish, installed) if installed is not None else _only(wish),
            needs=f"{fact.what}{wish}",
            pin=f"{fact.what}=={pin[1]}" if pin and pin[1] else "",
            rank=2 if fact.is_check or not case.trace.raised else 4,
        )


def _only(wish: SpecifierSet) -> Direction:
    operators = {clause.operator for clause in wish}
    return "newer" if operators <= {">", ">="} else "older" if operators <= {"<", "<="} else "other"


def _is_spoken_of(case: Case, fact: Requires) -> bool:
    """Whether the text speaks of an asker elsewhere: a command, an import, what was installed."""
    stems = {fact.who, fact.who.replace("-", "_")}
    places = [
        line
        for number, line in enumerate(case.text.lines, 1)
        if number != fact.line
        and "is incompatible" not in line
        and any(s in line.lower() for s in stems)
    ]
    return bool(places)


# ---- 4: the asker's Python


def _python_refused(case: Case) -> Iterator[Finding]:
    wishes = [f for f in case.all(Requires) if f.what == PYTHON and f.range]
    asked = [f for f in case.all(Asked) if f.what == PYTHON]
    for fact in wishes:
        wish = specifier(fact.range)
        if wish is None:
            continue
        ours, line = case.python, fact.line
        is_range = bool(asked) and not _meets_all(asked[0].range, wish)
        if ours is not None and wish.contains(ours, prereleases=True) and not is_range:
            continue
        if ours is None and not asked and fact.is_check and not fact.who:
            ours_words = ""
        elif asked and is_range:
            ours_words = f", and the project admits Python {_shown(asked[0].range)}"
            if asked[0].range.strip().startswith("=="):
                ours_words = f", and yours is {asked[0].range.strip('=.*')}"
        else:
            ours_words = f", and yours is {ours}" if ours is not None else ""
        who = fact.who
        known = index(who) if who else None
        version = (
            known.newest(SpecifierSet(), ours) if known is not None and ours is not None else None
        )
        title = _title(case, who) if who else "What is installed"
        yield Finding(
            cause="requires-python",
            packages=(PYTHON, who) if who else (PYTHON,),
            sentence=f"{title} requires Python {_shown(fact.range)}{ours_words}.",
            lines=(line,),
            direction="python",
            needs=f"python{wish}",
            pin=f"{who}=={version}" if version is not None else "",
            advice=_python_advice(wish, is_range, asked),
            rank=2 if (asked and is_range) or ours is not None else 3,
        )
        return


def _python_advice(wish: SpecifierSet, is_range: bool, asked: list[Asked]) -> str:
    fitting = [p for p in PYTHONS if any(wish.contains(f"{p}.{patch}") for patch in (0, 5, 20))]
    if is_range and asked and re.search(r"[<>]", asked[0].range):
        return f"Narrow the project's requires-python to {wish}."
    return (
        f"Use Python {fitting[-1] if str(wish)[:1] != '>' else fitting[0]}."
        if fitting
        else "Use another Python."
    )


def _meets_all(asked: str, wish: SpecifierSet) -> bool:
    """Whether all Pythons of one range are in another."""
    ours = specifier(asked)
    return ours is None or all(
        wish.contains(f"{p}.9") for p in (*PYTHONS, Version("2.7")) if ours.contains(f"{p}.9")
    )


# ---- 5: no file


def _no_file(case: Case) -> Iterator[Finding]:
    absent = [f for f in case.all(Absent)]
    if not absent:
        return
    by_name: dict[str, list[Absent]] = {}
    for fact in absent:
        by_name.setdefault(fact.what, []).append(fact)
    for what, facts in by_name.items():
        fact = next((f for f in facts if f.range), facts[0])
        tags = next((f.tags for f in facts if f.tags), ())
        saw = next((f.versions for f in facts if f.versions is not None), None)
        askers = [r.who for r in case.all(Requires) if r.what == what and r.who]
        refused = [r for r in case.all(Refused) if _is_of(r, what, fact)]
        if refused:
            yield _refused_by_python(case, what, fact, refused)
            continue
        title = f"{what}{_shown(fact.range)}" if fact.range else what
        asks = f", which {askers[0]} requires" if askers else ""
        fields = _pythons_of(case, what, fact.range)
        if fact.why in ("wheel", "platform", "wheel-tag"):
            fields |= _of_tags(case, what, fact, facts, tags)
        reason = {
            "version": f"No release {title} was found for this Python and platform{asks}.",
            "wheel": f"{title} has no wheel for this Python{asks}.",
            "platform": f"{title} has no wheel for this platform{asks}.",
            "wheel-tag": f"The wheel of {title} is for another Python or platform, or this pip is too old to know its tag.",
            "yanked": f"{title} was yanked{asks}, so the resolver refuses it.",
        }[fact.why]
        if saw is not None and fact.range:
            reason += _seen(fact.range, saw)
            if not fields.get("pin") and not fields.get("needs"):
                fields |= _from_seen(what, fact.range, saw)
        if not index(what) and not saw and fact.why == "version" and saw is not None:
            reason += " Check the name, too: the index lists no release of it here."
        yield Finding(
            cause="no-artifact",
            wanted=f"{what}{_spec(fact.range)}",
            packages=(what, *dict.fromkeys(askers), PYTHON)
            if not fact.why == "platform"
            else (what, *askers),
            sentence=reason,
            lines=tuple(sorted({f.line for f in facts}))[:3],
            direction="python" if fields.get("needs", "").startswith(PYTHON) else "other",
            **{k: v for k, v in fields.items() if v},
            rank=3 if fact.why == "version" else 2,
        )


def _seen(wanted: str, saw: tuple[str, ...]) -> str:
    wish = specifier(wanted)
    versions = sorted(v for v in map(version_of, saw) if v is not None)
    if wish is None or not versions:
        return ""
    lowest = min(
        (version_of(c.version.replace(".*", "")) or versions[0] for c in wish), default=versions[0]
    )
    side = (
        "older than"
        if versions[-1] < lowest
        else "newer than"
        if versions[0] > lowest
        else "beside"
    )
    if side == "beside":
        return f" The index lists {versions[0]} to {versions[-1]}."
    return f" All that the index lists here ({versions[0]} to {versions[-1]}) are {side} it: releases like it are for {'newer' if side == 'older than' else 'older'} Pythons, or gone."


def _from_seen(what: str, wanted: str, saw: tuple[str, ...]) -> dict[str, str]:
    wish = specifier(wanted)
    versions = sorted(v for v in map(version_of, saw) if v is not None and not v.is_prerelease)
    if wish is None or not versions:
        return {}
    lower = [version_of(c.version.replace(".*", "")) for c in wish]
    base = min((v for v in lower if v is not None), default=versions[0])
    nearest = next((v for v in versions if v >= base), versions[-1])
    return {
        "advice": f"Of the releases that are offered here, {nearest} is the nearest.",
        "pin": f"{what}=={nearest}",
    }


def _is_of(refused: Refused, what: str, fact: Absent) -> bool:
    """pip leaves out whose releases it ignored: they are of the package that it did not find, where
    one of them is in the range.
    """
    if refused.who:
        return refused.who == what
    wish, version = specifier(fact.range), version_of(refused.version)
    known = index(what)
    if known is not None and version is not None:
        return version in known.versions and (
            wish is None or wish.contains(version, prereleases=True)
        )
    return wish is not None and version is not None and wish.contains(version, prereleases=True)


def _refused_by_python(case: Case, what: str, fact: Absent, refused: list[Refused]) -> Finding:
    newest = max(refused, key=lambda r: version_of(r.version) or Version("0"))
    wish = specifier(newest.range) or SpecifierSet()
    yours = (
        f", and yours is {case.python}"
        if case.python is not None
        else ", and yours is none of these"
    )
    return Finding(
        cause="requires-python",
        packages=(PYTHON, what),
        sentence=f"{what} {newest.version} requires Python {_shown(newest.range)}{yours}.",
        lines=(newest.line, fact.line),
        direction="python",
        needs=f"python{wish}",
        advice=_python_advice(wish, False, []),
        rank=1,
    )


def _of_tags(
    case: Case, what: str, fact: Absent, facts: list[Absent], tags: tuple[str, ...]
) -> dict[str, str]:
    exact = next((f.range for f in facts if f.tags), fact.range)
    pythons = [Version(f"{t[2]}.{t[3:]}") for t in tags if re.fullmatch(r"cp[23]\d+", t)]
    if pythons:
        best = max(pythons)
        return {
            "needs": f"python=={best}.*",
            "advice": f"{what} {exact.strip('=')} has wheels for Python {_series(sorted(pythons))}.",
        }
    if (tags and fact.why == "platform") or any(f.why == "platform" for f in facts):
        return {
            "needs": "",
            "pin": "",
            "advice": f"{what} {exact.strip('=')} has wheels for {', '.join(tags[:6])} alone: take another release, or another machine.",
        }
    return {}


# ---- 6: a source release that did not build


def _not_built(case: Case) -> Iterator[Finding]:
    built = case.all(Unbuilt)
    if not built:
        return
    fact = next((f for f in built if f.version), built[0])
    fact = next((f for f in built if f.why and f.what == fact.what), fact)
    version = version_of(next((f.version for f in built if f.what == fact.what and f.version), ""))
    known = index(fact.what)
    title = f"{fact.what} {version}" if version else fact.what
    build = next((b for b in grammar()["build"] if b["sign"] == fact.why), {})
    tool, words = build.get("needs", ""), build.get("words", "")
    fields: dict[str, str] = {"needs": tool}
    said = (
        f"{title} {words}." if words else f"{title} is built from source here, and the build fails."
    )
    if (
        known is not None
        and version is not None
        and case.python is not None
        and not known.fits(version, case.python)
    ):
        fields |= _pythons_of(case, fact.what, f"=={version}")
    elif known is not None and case.python is not None:
        newest = known.newest(SpecifierSet(), case.python)
        if newest is not None and newest != version:
            fields["pin"] = f"{fact.what}=={newest}"
            fields["advice"] = f"{fact.what} {newest} has a wheel for Python {case.python}."
    elif known is not None and version is not None and (pythons := known.pythons(version)):
        fields["advice"] = f"{title} has wheels for Python {_series(pythons)}."
    if not fields.get("advice"):
        fields["advice"] = (
            f"Build it with {tool}, or take a release that has a wheel."
            if tool
            else f"Take a release of {fact.what} that has a wheel for this Python, or a Python that it has one for."
        )
    helper = re.split(r"[<=]", tool)[0]
    yield Finding(
        cause="build",
        packages=tuple(dict.fromkeys(filter(None, (fact.what, helper)))),
        sentence=said,
        lines=(fact.line,),
        direction="python" if str(fields.get("needs", "")).startswith(PYTHON) else "other",
        **{k: v for k, v in fields.items() if v},
        rank=3,
    )


# ---- 7: a name that is gone or not there yet


def _lacking_names(case: Case) -> Iterator[Finding]:
    for fact in case.all(LacksName):
        if fact.module == PYTHON:
            yield _of_python(case, fact)
            continue
        finding = _lacking_attribute(case, fact) if fact.is_class else _lacking_name(case, fact)
        if finding is not None:
            yield finding


def _of_python(case: Case, fact: LacksName) -> Finding:
    who = (case.trace.installed[:1] or [""])[0]
    wish = SpecifierSet(fact.since)
    newer = fact.since.startswith(">")
    yours = f" Yours is {case.python}." if case.python is not None else ""
    subject = who or "This code"
    return Finding(
        cause="type-error",
        packages=(PYTHON, who) if who else (PYTHON,),
        sentence=f"{subject} is written for Python {fact.since}: {fact.name}.{yours}",
        lines=(fact.line,),
        direction="python",
        needs=f"python{wish}",
        advice=f"Use Python {fact.since}"
        + ("." if newer else ", or a newer release of what raised it."),
        rank=3,
    )


def _provider(case: Case, module: str) -> str:
    return package_of_module(module) or package_of(module)


def _lacking_name(case: Case, fact: LacksName) -> Finding | None:
    top = fact.module.partition(".")[0]
    if re.search(
        rf"(?:^|[/\\]){re.escape(top)}(?:[/\\]__init__)?\.py$", fact.file
    ) and not re.search(r"-packages|[/\\]lib(?:64)?[/\\]|[/\\]pip[/\\]", fact.file, re.I):
        return _always_there(fact, f"{fact.file} is imported in the place of {top}")
    library = api(PYTHON)
    if library is not None and library.has_module(fact.module):
        return _of_library(case, library.name(fact.module, fact.name), fact)
    package = _provider(case, fact.module)
    if not package:
        return None
    known = api(package)
    importer = next((p for p in case.trace.installed if p not in (package, PYTHON)), "")
    if (
        known is not None
        and fact.module
        and (known.has_module(fact.module) or top in known.modules)
    ):
        presence = known.name(fact.module, fact.name)
        if presence.never and not known.has_module(fact.module):
            presence = known.name(top, fact.name)
        if presence.always:
            return _always_there(fact)
        if not presence.had and not importer and not fact.since and not fact.file:
            return None  # a typo, or a name that is made up when it is asked for
        if presence.is_known:
            return _moved(case, presence, f"{fact.module}.{fact.name}", (fact.line,), importer)
    if not importer and is_users_own(fact.module, case.trace):
        return None
    since = f"<{fact.since}" if fact.since else ""
    wish = specifier(since)
    best = _best(case, package, [since]) if since else None
    who = importer or "the code that asks for it"
    return Finding(
        cause="missing-attribute",
        packages=(package, importer) if importer else (package,),
        sentence=(
            f"{fact.module} no longer has {fact.name} from {package} {fact.since} on."
            if fact.since
            else f"This release of {package} has no {fact.name} in {fact.module}, and {who} is written for another one."
        ),
        lines=(fact.line,),
        direction="older" if since else "",
        needs=f"{package}{wish}" if since else "",
        pin=f"{package}=={best[1]}" if best and best[1] else "",
        advice=""
        if since
        else f"Which releases have it is not known here: take the {package} of the time of {importer or 'that code'}"
        + (f", or a newer {importer}." if importer else "."),
        rank=5,
    )


def _always_there(fact: LacksName, why: str = "") -> Finding:
    return Finding(
        cause="error",
        packages=(),
        sentence=f"{why}: rename that file."
        if why
        else f"Every known release has {fact.module}.{fact.name}: a local file shadows the module, or its"
        " installation is damaged.",
        lines=(fact.line,),
        is_fault=False,
    )


def _moved(
    case: Case,
    presence: Presence,
    name: str,
    lines: tuple[int, ...],
    importer: str,
    cause: Cause = "missing-attribute",
) -> Finding | None:
    """A name that some releases have: which, and the newest of them that can be had."""
    installed = case.versions.get(presence.package)
    if (
        installed is not None
        and presence.place_of(installed) in presence.had
        and installed in presence.releases
    ):
        return None  # the list refutes it
    wanted = presence.wanted(installed)
    known, wish = index(presence.package), specifier(wanted)
    assert wish is not None
    version = known.newest(wish, case.python) if known is not None else None
    spans = presence.spans()
    first, end = spans[-1]
    gone = end is not None and (installed is None or installed >= first)
    words = f"{presence.package} has {name} " + " and ".join(
        f"from {a} on"
        if b is None
        else f"before {b}"
        if a == presence.releases[0]
        else f"from {a} to before {b}"
        for a, b in spans[:3]
    )
    there = f"; {installed} is there" if installed is not None else ""
    packages = (presence.package, importer) if importer else (presence.package,)
    return Finding(
        cause=cause,
        packages=packages,
        sentence=f"{words}{there}.",
        lines=lines,
        direction=_toward(wish, installed)
        if installed is not None
        else "older"
        if gone
        else "newer",
        needs=f"{presence.package}{wish}",
        pin=f"{presence.package}=={version}" if version is not None else "",
        advice=f"Or take a newer {importer}." if importer and gone else "",
        rank=2,
    )


def _of_library(
    case: Case, presence: Presence, fact: LacksName | NoModule | BadCall, name: str = ""
) -> Finding | None:
    """What a release of Python has or lacks in its own library."""
    importer = next((p for p in case.trace.installed if p != PYTHON), "")
    shown = name or (f"{fact.module}.{fact.name}" if isinstance(fact, LacksName) else "")
    ours = case.python
    if presence.never:
        return None
    if presence.always or (
        ours is not None
        and presence.place_of(ours) in presence.had
        and ours >= presence.releases[1]
    ):
        return _always_there(fact) if isinstance(fact, LacksName) else None
    wanted = presence.wanted(Version(f"{ours.major}.{ours.minor}") if ours is not None else None)
    wish = SpecifierSet(wanted)
    direction = "older" if "<" in wanted else "newer"
    yours = f" Yours is {ours}." if ours is not None else ""
    words = f"has {shown} only {'before ' + wanted.split('<')[-1] if direction == 'older' else 'from ' + wanted.strip('>=') + ' on'}"
    stand_in = package_of_module(shown.partition(" ")[2] or shown)
    return Finding(
        cause="missing-module"
        if isinstance(fact, NoModule)
        else "type-error"
        if isinstance(fact, BadCall)
        else "missing-attribute",
        packages=(PYTHON, importer) if importer else (PYTHON,),
        sentence=f"Python {words}.{yours}",
        lines=(fact.line,),
        direction="python",
        needs=f"python{wish}",
        advice=(
            f"Install {stand_in}, which has a module of that name"
            if stand_in
            else f"Use Python {wanted}"
        )
        + (f", or a newer {importer}." if importer and direction == "older" else "."),
        rank=2,
    )


def _lacking_attribute(case: Case, fact: LacksName) -> Finding | None:
    name = fact.module.rpartition(".")[2]
    importer = next((p for p in case.trace.installed if p != PYTHON), "")
    library = api(PYTHON)
    if name in ("NoneType",):
        return None
    if "." in fact.module and not (library and library.has_module(fact.module.partition(".")[0])):
        package = _provider(case, fact.module)
        if not importer:
            return None
        return _unknown(
            package, importer if importer != package else "", f"{name}.{fact.name}", fact.line
        )
    if library is not None and (name in _BUILTINS or "." in fact.module or owners(name) == ()):
        presence = library.attribute(name, fact.name)
        if importer and presence.had == {0}:
            # Its code runs on Python 3: it is given text where it expects bytes, or the like.
            return _unknown(importer, "", f"{name}.{fact.name}", fact.line)
        if not presence.never and (presence.is_known or presence.always):
            return _of_library(case, presence, fact)
    found = _candidates(case, owners(name), lambda p: api(p).attribute(name, fact.name))  # type: ignore[union-attr]
    if found is not None:
        beside = importer if importer != found.package else ""
        return _moved(case, found, f"{name}.{fact.name}", (fact.line,), beside)
    own = owners(name)
    if (
        len(own) == 1
        and (importer or case.mentions(own[0]))
        and case.trace.frames
        and case.trace.frames[-1].package
    ):
        return _unknown(
            own[0], importer if importer != own[0] else "", f"{name}.{fact.name}", fact.line
        )
    if case.trace.frames and case.trace.frames[-1].package and importer:
        if name in _BUILTINS and not case.trace.frames[-1].package:
            return None
        return _unknown(importer, "", f"{name}.{fact.name}", fact.line)
    mentioned = [p for p in own if case.mentions(p)]
    if len(mentioned) == 1:
        return _unknown((mentioned or list(own))[0], "", f"{name}.{fact.name}", fact.line)
    return None


def _unknown(package: str, beside: str, name: str, line: int) -> Finding:
    return Finding(
        cause="missing-attribute",
        packages=(package, beside) if beside else (package,),
        sentence=f"{package} and what it is used with do not fit: {name} is asked for and not there.",
        lines=(line,),
        advice=f"Which release has it is not known here: take {package} and {beside or 'the code that uses it'} of the same time.",
        rank=6,
    )


def _candidates(
    case: Case, packages: Iterable[str], presence_of: Callable[[str], Presence | None]
) -> Presence | None:
    """The package whose releases differ in it: the one that the text speaks of, else the only one,
    else none.
    """
    found = []
    for package in list(packages)[:8]:
        if api(package) is None:
            continue
        presence = presence_of(package)
        if presence is not None and presence.is_known:
            found.append(presence)
    spoken = [p for p in found if case.mentions(p.package)]
    if len(spoken) == 1:
        return spoken[0]
    # Who does not say a version mostly has the newest: what that one still has is not missed.
    lost = [p for p in spoken or found if len(p.releases) - 1 not in p.had]
    if len(lost) == 1:
        return lost[0]
    return found[0] if len(found) == 1 else spoken[0] if spoken else None


# ---- 8: a call that does not fit


def _wrong_calls(case: Case) -> Iterator[Finding]:
    for fact in case.all(BadCall):
        finding = _wrong_call(case, fact)
        if finding is not None:
            yield finding


def _wrong_call(case: Case, fact: BadCall) -> Finding | None:
    function = fact.function.replace(".<locals>", "")
    argument = ("!" if fact.kind == "!" else "") + fact.argument
    called = _callee(case, function)
    names = [n for n in (function, called) if n]
    if "." in called and called.rpartition(".")[2] == function:
        names = [called]
    last = (
        next((n for n in names if n.rpartition(".")[2] not in ("__init__", "__new__")), "")
        or names[0]
        if names
        else ""
    )
    if not last:
        return None
    bare = last.removesuffix(".__init__").removesuffix(".__new__")
    importer = next((p for p in case.trace.installed if p != PYTHON), "")
    top = bare.partition(".")[0]
    alias = re.findall(
        rf"\b(?:import ([\w.]+) as {re.escape(top)}\b|from ([\w.]+) import [^#\n]*\b{re.escape(top)}\b)",
        case.text.flat,
    )
    home = _provider(case, next((a or b for a, b in alias), top)) if top else ""
    keys = [
        bare.rpartition(".")[2],
        f"{bare.rpartition('.')[2]}()",
        bare.split(".")[0] if "." in bare else "",
    ]
    places = list(
        dict.fromkeys([*([home] if api(home) else []), *(o for k in keys if k for o in owners(k))])
    )
    wanted: Callable[[str], Presence | None] = lambda p: _presence_of_call(p, bare, argument, fact)
    found = _candidates(case, places, wanted)
    if found is not None:
        shown = (
            f"the argument {fact.argument} of {bare}"
            if fact.kind != "#"
            else f"{bare} with {fact.argument} positional arguments"
        )
        if fact.kind == "!":
            shown = f"{bare} without {fact.argument}"
        return _moved(
            case,
            found,
            shown,
            (fact.line,),
            importer if importer != found.package else "",
            "type-error",
        )
    library = api(PYTHON)
    if library is not None and not owners(keys[1]):
        presence = library.accepts(bare.rpartition(".")[2], argument)
        if presence is not None and presence.is_known and fact.kind == "+":
            return _of_library(case, presence, fact, f"the argument {fact.argument} of {bare}")
    if bare in ("__init__", "__new__"):
        found = _candidates(
            case, sorted(case.versions), lambda p: _any_class_taking(case, p, argument)
        )
        if found is not None:
            return _moved(
                case, found, f"the argument {fact.argument}", (fact.line,), "", "type-error"
            )
    return _unplaced_call(case, fact, bare, home, importer, keys)


def _unplaced_call(
    case: Case, fact: BadCall, bare: str, home: str, importer: str, keys: list[str]
) -> Finding | None:
    single = [o for k in keys[:2] for o in owners(k) if case.mentions(o)]
    frames = _callers(case)
    innermost = frames[-1].package if frames else ""
    top = bare.partition(".")[0]
    is_called = "." in bare and bare.rpartition(".")[2] == fact.function.rpartition(".")[2]
    is_library = (
        home != package_of(top)
        or home in case.versions
        or bool(package_of_module(top))
        or home != top
    )
    third = (
        home
        if home not in ("", PYTHON)
        and is_called
        and top not in ("self", "cls")
        and (is_library or re.search(rf"\b(?:import|from) {re.escape(top)}", case.text.flat))
        else ""
    )
    if frames and not innermost and not third:
        return None  # his own code calls, and nothing says whom
    package = (
        third or (single[0] if len(set(single)) == 1 else "") or (importer if innermost else "")
    )
    if not package:
        return None
    return Finding(
        cause="type-error",
        packages=tuple(dict.fromkeys(filter(None, (package, importer)))),
        sentence=f"{package} and the code that calls {bare}() do not fit: the argument {fact.argument} is {'not taken' if fact.kind == '+' else 'missing' if fact.kind == '!' else 'one too many'}.",
        lines=(fact.line,),
        advice="Which release takes it is not known here: take releases of the same time.",
        rank=6,
    )


def _any_class_taking(case: Case, package: str, argument: str) -> Presence | None:
    """A class of a package that takes an argument in other releases than the one that is there."""
    known = api(package)
    here = case.versions[package]
    return next(
        (p for p in (known.takers(argument) if known else ()) if p.place_of(here) not in p.had),
        None,
    )


def _presence_of_call(package: str, function: str, argument: str, fact: BadCall) -> Presence | None:
    known = api(package)
    if known is None:
        return None
    last = function.rpartition(".")[2] if function.count(".") else function
    for name in dict.fromkeys((function, ".".join(function.split(".")[-2:]), last)):
        if fact.kind == "#":
            return None
        presence = known.accepts(name, argument)
        if presence is not None:
            if fact.kind == "!":  # which releases do not require it
                return msgspec.structs.replace(
                    presence, had=frozenset(range(len(presence.releases))) - presence.had
                )
            return presence
    return None


def _callers(case: Case) -> tuple[Frame, ...]:
    """The frames without those at the end that only pass arguments on."""
    frames = case.trace.frames
    while frames and re.search(r"\*args|\*\*kwargs|\*a\b", frames[-1].source) and len(frames) > 1:
        frames = frames[:-1]
    return frames


def _callee(case: Case, function: str) -> str:
    """What the line calls from which it came, where the error names no class."""
    if function and "." in function:
        return function
    last = function.rpartition(".")[2]
    for frame in reversed(_callers(case)[-2:]):
        calls = re.findall(r"([A-Za-z_][\w.]*)\(", frame.source.lstrip("@"))
        calls = [
            c
            for c in calls
            if c not in ("super", "return", "print", "list", "dict") and not c.startswith("self.")
        ]
        if last and last not in ("__init__", "__new__"):
            exact = [c for c in calls if c.rpartition(".")[2] == last]
            return exact[-1] if exact else function
        classes = [c for c in calls if c.rpartition(".")[2][:1].isupper()]
        if classes or calls:
            return (classes or calls)[-1].removesuffix(".__init__")
    before = case.text.flat
    if last in ("__init__", "__new__") or not last:
        lines = [l for l in case.text.lines if re.search(r"\b[A-Z]\w*\(", l) and "Error" not in l]
        if lines:
            found = re.findall(r"([A-Za-z_][\w.]*[A-Z]\w*)\(", lines[-1])
            return found[0] if found else function
    exact = re.findall(rf"([A-Za-z_][\w.]*\.{re.escape(last)})\(", before) if last else []
    return exact[-1] if exact else function


# ---- 9: a module that is not found


def _missing_modules(case: Case) -> Iterator[Finding]:
    for fact in case.all(NoModule):
        finding = _missing_module(case, fact)
        if finding is not None:
            yield finding


def _missing_module(case: Case, fact: NoModule) -> Finding | None:
    top = fact.module.partition(".")[0]
    library = api(PYTHON)
    if library is not None and (library.has_module(fact.module) or library.has_module(top)):
        presence = library.module(fact.module if library.has_module(fact.module) else top)
        return _of_library(case, presence, fact, f"the module {fact.module}")
    package = _provider(case, fact.module)
    known = api(package)
    importer = next((p for p in case.trace.installed if p not in (package, PYTHON)), "")
    if known is not None:
        presence = known.module(fact.module)
        if presence.is_known and ("." in fact.module or top.replace("_", "-") != package):
            return _moved(
                case,
                presence,
                f"the module {fact.module}",
                (fact.line,),
                importer,
                "missing-module",
            )
        if presence.never and "." in fact.module and not importer:
            above, _, name = fact.module.rpartition(".")
            presence = known.name(above, name)
            if presence.is_known:
                return _moved(
                    case,
                    presence,
                    f"the module {fact.module}",
                    (fact.line,),
                    importer,
                    "missing-module",
                )
    if "." in fact.module and (importer or not is_users_own(fact.module, case.trace)):
        return Finding(
            cause="missing-module",
            packages=(package, importer) if importer else (package,),
            sentence=f"This release of {package} has no module {fact.module}, and {importer or 'the code that imports it'} is written for another one.",
            lines=(fact.line,),
            advice="Which releases have it is not known here: take releases of the same time.",
            rank=5,
        )
    is_own = is_users_own(fact.module, case.trace)
    innermost = case.trace.frames[-1].package if case.trace.frames else ""
    return Finding(
        cause="missing-module",
        packages=(package, importer) if importer else (package,),
        sentence=f"{package} is not installed here{f', and {importer} imports it' if importer else ''}.",
        lines=(fact.line,),
        direction="install",
        needs=package if not is_own else "",
        advice=""
        if not is_own
        else "It may be a module of your own: start the program from its folder.",
        rank=6,
        is_fault=bool(innermost and innermost != PYTHON and importer and not is_own),
    )


# ---- 10: compiled files


def _binaries(case: Case) -> Iterator[Finding]:
    for fact in case.all(Binary):
        finding = _BINARY[fact.kind](case, fact)
        if finding is not None:
            yield finding


def _array(case: Case, fact: Binary) -> Finding:
    installed = case.versions.get(fact.what)
    by = fact.by or next(
        (n for n in case.versions if n != fact.what and case.trace.raised == ()), ""
    )
    by = fact.by
    needs = fact.needs
    if not needs and installed is not None:
        needs = "<2" if installed >= Version("2") else ""
    if needs == "<2" and installed is not None and installed < Version("2"):
        needs = "newer"
    direction: Direction = (
        "older" if needs == "<2" else "newer" if needs in ("newer", ">=2") else "other"
    )
    subject = by or "A compiled module"
    wish = needs if needs[:1] in "<>" else ""
    best = _best(case, fact.what, [wish]) if wish else None
    return Finding(
        cause="binary-incompatible",
        packages=tuple(filter(None, (fact.what, by))),
        sentence=f"{subject} was compiled for another {fact.what} than the one that is there"
        + (f" ({installed})." if installed is not None else "."),
        lines=(fact.line,),
        direction=direction,
        needs=f"{fact.what}{wish}" if wish else "",
        pin=f"{fact.what}=={best[1]}" if best and best[1] else "",
        advice=(
            f"Upgrade {fact.what}"
            if direction == "newer"
            else f"Or upgrade {by or 'what was compiled'}, so that it is built for this {fact.what}"
        )
        + ".",
        rank=2,
    )


def _symbol(case: Case, fact: Binary) -> Finding | None:
    by, what = fact.by, fact.what
    if what == by:
        what = ""
    if not by:
        return None  # a file of his own
    packages = tuple(filter(None, (what, by) if what and not index(by) else (by, what)))
    beside = what or next((p for p in case.trace.installed if p not in (by, PYTHON)), "")
    here = case.versions.get(beside) if beside else None
    return Finding(
        cause="binary-incompatible",
        packages=packages if what else tuple(filter(None, (by, beside))),
        sentence=f"{by} was compiled for another {beside or 'library'} than the one that is there"
        + (f" ({here})." if here is not None else "."),
        lines=(fact.line,),
        direction="rebuild",
        advice=f"Take the {by} that is made for this {beside}, or build it again here."
        if beside
        else f"Install {by} again.",
        rank=3,
    )


def _library(case: Case, fact: Binary) -> Finding | None:
    if not fact.by:
        return None
    kind = "C library" if "GLIBC" in fact.needs.upper() else fact.what
    return Finding(
        cause="binary-incompatible",
        packages=(fact.by,),
        sentence=f"{fact.by} was built for a newer {kind} than this system has ({fact.needs}).",
        lines=(fact.line,),
        direction="older",
        advice=f"Take an older release of {fact.by}, or a newer system.",
        rank=3,
    )


def _loader(case: Case, fact: Binary) -> Finding | None:
    if not fact.by:
        return None
    return Finding(
        cause="binary-incompatible",
        packages=(fact.by,),
        sentence=f"A compiled file of {fact.by} does not load: it is for another processor, or its build is faulty.",
        lines=(fact.line,),
        direction="rebuild",
        advice=f"Install a {fact.by} that has a wheel for this machine, with a Python of its architecture.",
        rank=3,
    )


def _saved(case: Case, fact: Binary) -> Finding | None:
    return Finding(
        cause="error",
        packages=(fact.by,),
        sentence=f"A file was written by another release of {fact.by} than the one that reads it.",
        lines=(fact.line,),
        direction="older",
        advice=f"Read it with the release of {fact.by} that wrote it, and write it again from there.",
        rank=4,
    )


def _processor(case: Case, fact: Binary) -> Finding | None:
    if not fact.by:
        return None
    return Finding(
        cause="illegal-instruction",
        packages=(fact.by,),
        sentence=f"{fact.by} uses instructions that this processor does not have.",
        lines=(fact.line,),
        direction="older",
        advice=f"Take an older release of {fact.by}, or a build for this processor.",
        rank=3,
    )


_BINARY: Mapping[str, Callable[[Case, Binary], Finding | None]] = {
    "array": _array,
    "symbol": _symbol,
    "library": _library,
    "loader": _loader,
    "instruction": _processor,
    "saved": _saved,
}


# ---- 11: what this Python cannot parse


def _unparsed(case: Case) -> Iterator[Finding]:
    for fact in case.all(Syntax):
        wish = wanted_by_source(fact.source)
        who = _package_of_file(fact.file)
        if (
            wish.startswith(">")
            and case.python is not None
            and SpecifierSet(wish).contains(case.python)
        ):
            continue
        if not wish and case.python is not None and case.python < Version("3.8"):
            wish = ">=3.8"  # what a Python of that time cannot parse is mostly newer
        if not wish and not who:
            continue
        subject = who or "This code"
        is_old = wish.startswith("<")
        yield Finding(
            cause="syntax",
            packages=(who, PYTHON) if who and is_old else (PYTHON, who) if who else (PYTHON,),
            sentence=f"{subject} is written for Python {wish or 'of another time'}"
            + (f", and yours is {case.python}." if case.python is not None else "."),
            lines=(fact.line,),
            direction="python",
            needs=f"python{wish}" if wish else "",
            advice=f"Use Python {wish}"
            + (f", or {'a newer' if is_old else 'an older'} {who}." if who else "."),
            rank=2,
        )
        return


def _package_of_file(path: str) -> str:
    found = re.search(r"(?:site|dist)-packages/(\w+)", path)
    return package_of(found[1].removesuffix(".py")) if found else ""


_PYTHON_2 = re.compile(
    r"^\s*print\s+[\"'\w%]|^\s*exec\s+[\"'\w]|^\s*except\s+[\w., ()]+,\s*\w+\s*:|<>|\braise\s+\w+\s*,|\b0[0-7]{2,}\b|\bur['\"]"
)
_RESERVED = re.compile(r"\b(?:async|await)\b(?!\s+(?:def|for|with|\w))")


def wanted_by_source(source: str) -> str:
    """Which Python a line is written for, where that can be told: a range, or empty."""
    if _PYTHON_2.search(source):
        return "<3"
    if _RESERVED.search(source):
        return "<3.7"
    import vermin

    for whole in (
        source,
        f"{source}\n    pass",
        f"{source}\n    case _: pass",
        f"{source.rstrip(':')}",
    ):
        try:
            found = vermin.visit(whole).minimum_versions()
        except Exception:
            continue
        newest = found[1] if isinstance(found, list) and len(found) > 1 else None
        if newest and newest >= (3, 5):
            return f">={newest[0]}.{newest[1]}"
    return ""


# ---- 12: what says nothing about versions


def _troubles(case: Case) -> Iterator[Finding]:
    kinds: dict[str, Cause] = {
        "network": "network",
        "disk": "disk",
        "shadow": "error",
        "machine": "error",
    }
    for fact in case.all(Trouble):
        yield Finding(
            cause=kinds[fact.kind],
            packages=(),
            sentence=fact.sentence,
            lines=(fact.line,),
            is_fault=False,
            rank=0,
        )


# ---- 13: what the user changed himself


def _changed(case: Case) -> Iterator[Finding]:
    for fact in case.all(Changed):
        old, new = version_of(fact.old), version_of(fact.new)
        if (
            old is None
            or new is None
            or not any(case.all(k) for k in (LacksName, BadCall, NoModule, Binary))
        ):
            continue
        yield Finding(
            cause="error",
            packages=(fact.what,),
            sentence=f"It began with the step of {fact.what} from {old} to {new}.",
            lines=(fact.line,),
            direction="older" if new > old else "newer",
            needs=f"{fact.what}=={old}",
            pin=f"{fact.what}=={old}",
            rank=4,
        )


# ---- 14: a list against published requirements


def _unmet(case: Case) -> Iterator[Finding]:
    installed = dict(case._versions)
    asked = {f.what: f.range for f in case.all(Asked) if f.range and f.what != PYTHON}
    pins = {**{n: f"=={v}" for n, v in installed.items()}, **asked}
    for who, wanted in pins.items():
        known, wish = index(who), specifier(wanted)
        release = None if known is None or wish is None else known.newest(wish)
        if known is None or release is None:
            continue
        for what, ours in pins.items():
            needs = [] if what == who else known.requires(release, what, case.python)
            if needs and not any(_meet(what, need, ours) for need in needs):
                yield _conflict(case, what, ("", ours, 1), (f"{who} {release}", needs[-1], 1))
        if who in installed:
            yield from _fallen_back(case, who, release, pins)
        if (
            case.python is not None
            and not known.fits(release, case.python)
            and known.pythons(release)
        ):
            yield Finding(
                cause="no-artifact",
                packages=(who, PYTHON),
                sentence=f"{who} {release} has no file for Python {case.python}.",
                lines=(1,),
                direction="python",
                **_pythons_of(case, who, f"=={release}"),
                rank=2,
            )


def _fallen_back(
    case: Case, who: str, release: Version, pins: Mapping[str, str]
) -> Iterator[Finding]:
    """An old release that a resolver took without a word, as no later one admits what is there; and
    one that this Python stops at.
    """
    known = index(who)
    newest = known.newest(SpecifierSet()) if known is not None else None
    if known is None or newest is None or not _years(known.days, release, newest):
        return
    later = [v for v in known.versions if v > release and not v.is_prerelease and known.pythons(v)]
    here = [v for v in later if case.python is None or known.fits(v, case.python)]
    if later and not here:
        yield Finding(
            cause="requires-python",
            packages=(who, PYTHON),
            sentence=f"{who} {release} of {known.days[release][:4]} is the newest for Python {case.python}:"
            f" {newest} has files for Python {_series(known.pythons(newest))}.",
            lines=(1,),
            direction="python",
            is_fault=False,
        )
    for what, ours in pins.items():
        beside, there = index(what), version_of(ours.removeprefix("=="))
        # A set of one time is no trap: what is there must be from long after.
        if (
            beside is None
            or there is None
            or not _years({**beside.days, release: known.days[release]}, release, there)
        ):
            continue
        ranges = [known.requires(v, what, case.python) for v in here]
        asking = [each for each in ranges if each]
        if (
            len(asking) > 2
            and not known.requires(release, what, case.python)
            and not any(
                _meet(what, need, ours) for each in asking[len(asking) // 3 :] for need in each
            )
        ):
            best = index(what)
            wish = specifier(asking[-1][-1])
            pin = best.newest(wish, case.python) if best is not None and wish is not None else None
            yield Finding(
                cause="conflict",
                packages=(who, what),
                sentence=f"{who} {release} is of {known.days[release][:4]} and sets no bound on {what}; later releases require"
                f" other ones than {what}{_shown(ours)}. pip or uv may have fallen back to it.",
                lines=(1,),
                direction="newer",
                needs=f"{who}>{release}",
                pin=f"{what}=={pin}" if pin else "",
                advice=f"{who} {newest} requires {what}{_shown(asking[-1][-1])}.",
                rank=2,
            )
            return


def _years(days: Mapping[Version, str], old: Version, new: Version) -> bool:
    """Whether a release is two years older than another."""
    first, last = days.get(old, "")[:4], days.get(new, "")[:4]
    return bool(first and last) and int(first) + 2 <= int(last)


_INFERENCES: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    _troubles,
    _ranges_that_do_not_meet,
    _versions_out_of_range,
    _python_refused,
    _no_file,
    _not_built,
    _lacking_names,
    _wrong_calls,
    _missing_modules,
    _binaries,
    _unparsed,
    _unnamed_conflict,
    _changed,
    _unmet,
)
