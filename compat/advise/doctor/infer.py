"""About a dozen inferences from facts to problems; each names its facts, and none names a package.
Their texts are in `findings.toml`.

An inference names the culprit and, as `needs`, the requirement that fixes it. `_fixed` adds the
shared part: the direction, and a release or a Python with known files.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from importlib.resources import files
from itertools import combinations
from typing import Any, Literal, TypeVar

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.advise.doctor.facts import (
    PYTHONS,
    Api,
    BadCall,
    Binary,
    Changed,
    LacksName,
    NoModule,
    Presence,
    Text,
    api,
    corrected,
    grammar,
    index,
    library,
    modules_of,
    owners,
    package_of,
    package_of_module,
    packages_known,
    pattern,
    requirement_of,
    speakers,
    specifier,
    version_of,
)
from compat.advise.doctor.parse import Traceback, all_facts, is_users_own
from compat.declare.parsing import toml_document
from compat.lock.resolvers import (
    PYTHON,
    Absent,
    Asked,
    Demand,
    Fact,
    Have,
    Refused,
    Requires,
    Trouble,
    Unbuilt,
    build_trouble,
)
from compat.run.outcome import Cause
from compat.value import Value

# The evidence of a problem: a run, published metadata, or a pasted message.
Ground = Literal["run", "metadata", "message"]
Direction = Literal["", "older", "newer", "other", "python", "drop", "rebuild", "install"]
F = TypeVar("F")
Made = Iterator["Finding"]
ANY = SpecifierSet()
_CONTENT = (files("compat.advise.doctor") / "findings.toml").read_bytes()
_TEMPLATES: dict[str, Any] = toml_document(_CONTENT, "findings.toml")
_LOWER, _UPPER = (">", ">=", "==", "~="), ("<", "<=", "==", "~=")


class Finding(Value, frozen=True):
    """A problem: the package at fault first, `python` for the interpreter, then the others.

    `needs` is the requirement that fixes it, `absent` the one that no file meets. `pin` names
    releases and `python` a series that were checked against the known files; without either,
    `advice` says why. `lines` are those of the facts; the lower the `rank`, the surer.

    Of a matrix: `because` and `link` are the declared explanation, and `capability` is what fails.
    """

    cause: Cause
    packages: tuple[str, ...]
    sentence: str
    lines: tuple[int, ...] = ()
    direction: Direction = ""
    needs: str = ""
    absent: str = ""
    pin: str = ""
    python: str = ""
    advice: str = ""
    rank: int = 5
    is_fault: bool = True
    ground: Ground = "message"
    because: str = ""
    link: str = ""
    capability: str = ""


def finding_of(kind: str, packages: Iterable[str], *lines: int, **given: Any) -> Finding:
    """A finding of a kind. Arguments with the name of a field replace the template's value; the
    rest fill its sentences, beside the packages and the second of them.
    """
    template, named = _TEMPLATES[kind], tuple(dict.fromkeys(filter(None, packages)))
    own = {n: v for n, v in given.items() if n in Finding.__struct_fields__ and v != ""}
    texts = {n: template[n] for n in ("sentence", "advice") if n in template}
    first, *others = (*("Python" if name == PYTHON else name for name in named), "", "")
    words = {"beside": others[0] or "the code that uses it"} | given
    filled = {n: text.format(first, *others, **words) for n, text in texts.items()}
    lines = tuple(dict.fromkeys(filter(None, lines)))
    return Finding(packages=named, lines=lines, **(template | filled | own))


class Case:
    """What is known about one question."""

    def __init__(
        self,
        text: Text,
        trace: Traceback,
        facts: Iterable[Fact],
        python: Version | None = None,
        versions: Mapping[str, Version] | None = None,
    ) -> None:
        self.text, self.trace, self.facts = text, trace, tuple(facts)
        self.given_python, self.installed = python, dict(versions or {})

    def all(self, kind: type[F]) -> list[F]:
        return [fact for fact in self.facts if isinstance(fact, kind)]

    @cached_property
    def findings(self) -> tuple["Finding", ...]:
        return tuple(findings(self))

    @cached_property
    def python(self) -> Version | None:
        stated = [version_of(f.version) for f in self.all(Have) if f.what == PYTHON]
        return self.given_python or next(filter(None, stated), None)

    @cached_property
    def versions(self) -> dict[str, Version]:
        stated: dict[str, Version] = {}
        for fact in self.all(Have):
            version = version_of(fact.version)
            if version is not None and fact.what != PYTHON:
                stated.setdefault(fact.what, version)
        return stated | self.installed

    @property
    def series(self) -> Version | None:
        return None if self.python is None else Version(f"{self.python.major}.{self.python.minor}")

    def there(self, package: str) -> str:
        if package == PYTHON:
            return f", and yours is {self.python}" if self.python is not None else ""
        return f", and {self.versions[package]} is there" if package in self.versions else ""

    def say(self, kind: str, packages: Iterable[str], *lines: int, **given: Any) -> Finding:
        named = [package for package in packages if package]
        words = {"there": self.there("".join(named[:1]))} | given
        return finding_of(kind, named, *lines, **words)

    def beside(self, *packages: str) -> str:
        """The innermost package of the traceback outside the excluded ones."""
        return next((p for p in self.trace.installed if p not in packages), "")

    def package_of(self, module: str) -> str:
        """The package of a module; of an unknown `demo.part` a stated demo-part."""
        parts = [re.sub(r"[-_]", "", part) for part in module.split(".")[:3]]
        names = {"".join(parts[:number]) for number in range(1, len(parts) + 1)}
        alike = (name for name in self.versions if name.replace("-", "") in names)
        return package_of_module(module) or next(alike, package_of(module))

    def mentions(self, package: str) -> bool:
        words = {package, package.replace("-", "_"), *modules_of(package)}
        either = "|".join(
            re.escape(word) for word in words if len(word) > 2
        )  # not the py of a file
        return bool(re.search(rf"(?<![\w-])(?:{either})(?![\w-])", self.text.flat, re.IGNORECASE))

    def title(self, who: str, version: str = "") -> str:
        """The requiring package, with its version where one is stated somewhere."""
        versions = (f.version for f in self.all(Requires) if f.who == who and f.version)
        stated = version or next(versions, "")
        return f"{who} {stated}" if stated[:1].isdigit() else f"{who}{stated}"

    def pin(self, package: str, wanted: SpecifierSet | None, by: Demand | None = None) -> str:
        """The newest release in a range that has a file for this Python.

        Of a range that is open above: the newest of the time of the release that requires it
        (`by`), which later ones may break. Other packages' ranges count where a release is in all.
        """
        known = index(package)
        if known is None or wanted is None:
            return ""
        others = (
            f.range for f in self.all(Requires) if f.what == package and f.who and not f.is_check
        )
        everyone = wanted
        for each in filter(None, map(specifier, others)):
            everyone &= each
        for wish in (everyone, wanted):
            if by is not None and by.who and not _bounds(wish, _UPPER):
                their, release = index(by.who), version_of(by.version.lstrip("="))
                day = their.days.get(release, "") if their is not None and release else ""
                version = known.newest(wish, self.python, day) if day else None
                if version is not None:
                    return f"{package}=={version}"
            version = known.newest(wish, self.python)
            if version is not None:
                return f"{package}=={version}"
        return ""


def case_of(
    text: str,
    python: Version | None = None,
    versions: Mapping[str, Version] | None = None,
    ranges: Mapping[str, str] | None = None,
) -> Case:
    """Parse a message. A given Python and given versions override those of the message."""
    read = Text(text)
    trace, facts = all_facts(read)
    listed = (Asked(what=n, range=r, line=0) for n, r in (ranges or {}).items())
    return Case(read, trace, (*listed, *facts), python, versions)


def findings(case: Case) -> list[Finding]:
    """All problems, the surest first; each package once for each cause."""
    matched = [finding for infer in _INFERENCES for finding in infer(case)]
    troubles = {fact.kind for fact in case.all(Trouble)}
    is_certain = any(isinstance(fact, Absent | Refused) for fact in case.facts)
    hidden: tuple[str, ...] = ()
    if troubles & {"network", "disk"} or ("machine" in troubles and not is_certain):
        # An unreachable index has no files, and nothing builds on a full disk.
        hidden = ("no-artifact", "build", "version-guard")
    if "shadow" in troubles:
        hidden += ("missing-attribute", "missing-module")
    matched = [f for f in matched if not f.is_fault or f.cause not in hidden]
    # What the message shows comes before what a list alone shows.
    matched.sort(key=lambda f: (not f.is_fault, f.rank + 2 * (not f.lines)))
    first: dict[tuple[str, ...], Finding] = {}
    for finding in matched:
        first.setdefault((finding.cause, *(finding.packages[:1] or (finding.sentence,))), finding)
    judged = [_unless_refuted(case, finding) for finding in first.values()]
    return [_fixed(case, f) if f.is_fault else f for f in judged]


def _unless_refuted(case: Case, finding: Finding) -> Finding:
    """A finding, or a remark where its fix is installed: nothing that a list refutes is a fault."""
    # A resolver's message is about the requested packages, not about the installed ones.
    need = requirement_of(finding.needs)
    is_of_files = finding.cause in ("conflict", "no-artifact", "build")
    if need is None or not need.specifier or finding.pin or is_of_files:
        return finding
    installed = case.given_python if need.name == PYTHON else case.installed.get(need.name)
    if installed is None or not need.specifier.contains(installed, prereleases=True):
        return finding
    name = "Python" if need.name == PYTHON else need.name
    words = {"what": f"{name}{need.specifier}", "there": f"{name} {installed}"}
    return case.say("refuted", [], *finding.lines, **words)


# ---- the change that fixes it


def _fixed(case: Case, finding: Finding) -> Finding:
    name = re.split(r"[<>=!~]", finding.needs)[0]
    text, culprit = finding.needs[len(name) :], finding.packages[0]
    wish = specifier(text)
    changed: dict[str, str] = {}
    if not finding.direction and name and wish is not None:
        changed["direction"] = _toward(wish, case.versions.get(name))
    if finding.pin:
        return msgspec.structs.replace(finding, **changed)
    if name == PYTHON and wish is not None:
        changed["python"] = _python_in(case, finding, wish)
        if finding.rank > 5:
            changed |= _of_one_time(case, finding)
    elif name:
        is_built = finding.cause == "binary-incompatible" and not text and len(finding.packages) > 1
        changed = changed | {"pin": ""} | (_of_one_time(case, finding) if is_built else {})
        is_guard = finding.cause == "version-guard"
        is_asked = (is_guard or finding.cause == "conflict") and finding.packages[1:]
        if wish is not None and (is_asked or case.versions.get(name) is not None):
            # Code that requires at least a release was written for that one, not for today's.
            low = max(_bounds(wish, (">=",)), default=None)
            if low is not None and not _bounds(wish, _UPPER):
                is_minor = is_guard or not (is_asked or low.major)
                near = SpecifierSet(f"=={low.major}.{f'{low.minor}.' if is_minor else ''}*")
                changed["pin"] = changed["pin"] or case.pin(name, wish & near)
        changed["pin"] = changed["pin"] or case.pin(name, wish)
        if index(name) is not None and not changed["pin"]:
            changed |= _files_of(case, name, text)
            offered = version_of(changed.get("pin", "").partition("==")[2])
            if offered is not None and wish is not None and not wish.contains(offered):
                changed["pin"] = ""  # what is nearest lacks it as well
        others = [p for p in finding.packages if p not in (name, PYTHON)]
        if not changed["pin"] and others and not changed.get("needs", "").startswith(PYTHON):
            # No release of the asked one: one of the asker that fits what is there, else both.
            present = case.versions.get(name)
            way = _admits(case, others[0], name, f"=={present}") if present is not None else ""
            if not way and present is not None and changed.get("direction") == "older":
                # Packages of one project may count alike.
                way = case.pin(others[0], SpecifierSet(f"=={present}"))
            newer = {"pin": way, "advice": f"Or keep {name} {present}, with another {others[0]}."}
            changed |= newer if way else _of_one_time(case, finding)
    elif finding.direction not in ("drop", "python") and not (
        finding.direction == "older" and finding.cause.startswith("missing-")
    ):
        changed |= _of_one_time(case, finding)
    if (series := changed.pop("needs", "")).startswith(f"{PYTHON}==") and not changed.get("pin"):
        changed["python"] = series.removeprefix(f"{PYTHON}==").removesuffix(".*")
    present = case.versions.get(culprit)
    shift = dict(pin.split("==") for pin in changed.get("pin", "").split()).get(culprit)
    if shift and present and not (finding.direction or changed.get("direction")):
        changed["direction"] = "older" if Version(shift) < present else "newer"
    if not (changed.get("pin") or changed.get("python") or finding.direction == "drop"):
        changed |= _unchecked(case, finding, changed, name or culprit)
    return msgspec.structs.replace(finding, **{k: v for k, v in changed.items() if v})


def _unchecked(case: Case, finding: Finding, changed: Any, about: str) -> dict[str, str]:
    """What is said where no change could be checked: on which side it lies, and why."""
    culprit, toward = finding.packages[0], finding.direction or changed.get("direction", "")
    if about == PYTHON:
        why = f"no Python from {PYTHONS[0]} to {PYTHONS[-1]} fits"
    elif index(about) is None:
        why = f"the files of {about} are not in the data that this command carries"
    elif finding.cause in ("binary-incompatible", "illegal-instruction"):
        why = f"the data does not show which {about} was built for this machine"
    else:
        why = "no release that fits is known"
    advice = changed.get("advice", finding.advice)
    fields = {"advice": f"{advice} No change was checked: {why}.".strip()}
    if not toward and api(culprit) is not None:
        # A package that fails in its own code may be mended since. What user code uses and no
        # release shows was private, and moved.
        fields["direction"] = "newer" if culprit in case.trace.installed else "older"
    elif index(culprit) is None and not finding.needs and toward in ("", "newer", "other"):
        # Nothing but its newest is known.
        fields |= {"needs": culprit, "direction": toward or "newer"}
    elif toward == PYTHON and index(culprit) is None and about != PYTHON and case.series:
        # Mostly the newest Python is too new.
        fields[PYTHON] = f"3.{case.series.minor - 1}" if case.series.minor > 4 else ""
    return fields


def _python_in(case: Case, finding: Finding, wish: SpecifierSet) -> str:
    """The series in a range that is nearest to the present one and has files of all packages of a
    finding with a known release.
    """
    fitting = [python for python in pythons_in(wish) if python in PYTHONS] or pythons_in(wish)
    for package in finding.packages:
        known, version = index(package), case.versions.get(package)
        if known is not None and package != PYTHON:
            version = version if version in known.versions else None
            fitting = [
                p for p in fitting if (known.fits(version, p) if version else known.newest(ANY, p))
            ] or fitting
    if not fitting:
        return ""
    ours = case.series
    is_newer = fitting[0] > ours if ours is not None else str(wish)[:1] == ">"
    return str(fitting[0] if is_newer else fitting[-1])


def _of_one_time(case: Case, finding: Finding) -> dict[str, str]:
    """The newest of the requiring package and that of the other for which it was written; of
    compiled ones that which was compiled for the present release.
    """
    culprit, beside = finding.packages[0], next(iter(finding.packages[1:]), "")
    known, other = index(culprit), index(beside)
    if finding.cause == "binary-incompatible" and known is not None and other is not None:
        # A release that is compiled for the present one, by its requirement; else both.
        maker, target = (known, other) if known.asks(beside) else (other, known)
        by, what = maker.package, target.package
        version = case.versions.get(what)
        if version in target.days:
            matched = maker.admitting(what, version, target.days[version], case.python)
            return {} if matched is None else {"pin": f"{by}=={matched}"}
        newest = maker.newest(ANY, case.python)
        asked = maker.requires(newest, what, case.python) if newest is not None else []
        fitting = case.pin(what, specifier(asked[-1])) if asked else ""
        return {"pin": f"{by}=={newest} {fitting}"} if fitting else {}
    if not beside:
        # The other may be newer: nothing says which of the two is too old.
        return {}
    asker, newest_of = (culprit, "Python") if beside == PYTHON else (beside, culprit)
    pin = case.pin(asker, ANY)
    if not pin or pin == f"{asker}=={case.versions.get(asker)}":
        return {}
    their = index(asker)
    newest = their.newest(ANY, case.python) if their is not None else None
    if newest_of != "Python" and their is not None and newest is not None:
        asked = their.requires(newest, newest_of, case.python)
        need = Requires(newest_of, "".join(asked[-1:]), 0, asker, str(newest))
        fitting = case.pin(newest_of, specifier(need.range), need) if asked else ""
        if asked and not fitting:
            return {}  # what the newest requires is gone
        if not fitting and known is not None and newest in their.days:
            matched = known.newest(ANY, case.python, their.days[newest])
            fitting = f"{newest_of}=={matched}" if matched is not None else ""
        pin = f"{pin} {fitting}".strip()
    return {"pin": pin, "advice": f"The newest {asker} is written for the newest {newest_of}."}


# ---- 1: disjoint ranges; the user's own requirement has no package


def _ranges_that_do_not_meet(case: Case) -> Made:
    wanted: dict[str, list[Demand]] = {}
    asked: list[Demand] = [*case.all(Asked)]
    for wish in (*asked, *(needs for needs in case.all(Requires) if not needs.is_check)):
        if wish.what != PYTHON:
            wanted.setdefault(wish.what, []).append(wish)
    for wishes in wanted.values():
        pair = _apart([wish for wish in wishes if wish.range])
        if pair is not None:
            yield _conflict(case, *pair)


def _apart(wishes: list[Demand]) -> tuple[Demand, Demand] | None:
    """Two ranges of a package that exclude each other, the user's first."""
    by_asker: dict[str, list[Demand]] = {}
    for wish in wishes:
        by_asker.setdefault(wish.who, []).append(wish)
    for first, other in combinations(by_asker.get("", []), 2):
        if not _meet(first.what, first.range, other.range):
            return first, other
    for ours, theirs in combinations(by_asker.values(), 2):
        # A resolver tries one release of a package after another: all of them may conflict.
        if not any(_meet(a.what, a.range, b.range) for a in ours for b in theirs):
            return (theirs[0], ours[0]) if not theirs[0].who else (ours[0], theirs[0])
    for asker, own in by_asker.items():
        for first, other in combinations(own, 2):
            # Two extras of one release, which uv writes under one name.
            is_one = asker and first.line == other.line and first.range != other.range
            if is_one and not _meet(first.what, first.range, other.range):
                return first, other
    return None


def _meet(what: str, one: str, other: str) -> bool:
    """Whether some version is in both ranges: of known releases, else of those near the bounds."""
    first, second = specifier(one), specifier(other)
    if first is None or second is None:
        return True
    both, known = first & second, index(what)
    if known is None:
        return not both.is_unsatisfiable()
    exact = [v for c in both if c.operator == "==" and (v := version_of(c.version))]
    return any(both.contains(v, prereleases=True) for v in (*known.versions, *exact))


def _conflict(case: Case, one: Demand, other: Demand) -> Finding:
    what, packages, lines = one.what, (one.what, one.who, other.who), (one.line, other.line)
    wanted = specifier(other.range)
    words = {"one": _shown(one.range), "wanted": _shown(other.range)}
    if not other.who:
        pin = case.pin(what, specifier(one.range)) or case.pin(what, wanted)
        return case.say(
            "asked-twice", packages, *lines, pin=pin, other=_shown(other.range), **words
        )
    theirs, way = case.title(other.who, other.version), _admits(case, other.who, what, one.range)
    if not one.who:
        toward, others = _direction(one.range, other.range), f", or for {way}" if way else ""
        words |= {"who": theirs, "others": others, "needs": f"{what}{wanted}"}
        words["pin"] = case.pin(what, wanted, other)
        return case.say("asked-otherwise", packages, *lines, direction=toward, **words)
    ways = list(dict.fromkeys(filter(None, (_admits(case, one.who, what, other.range), way))))
    advice = "Ask for " + " or for ".join(ways) if ways else "Drop the pin of one of the two"
    words |= {"who": case.title(one.who) or "Something", "other": theirs, "ways": advice}
    return case.say("required-otherwise", packages, *lines, pin=next(iter(ways), ""), **words)


def _admits(case: Case, who: str, what: str, wanted: str) -> str:
    known, target, wish = index(who), index(what), specifier(wanted)
    version = target.newest(wish, case.python) if target and wish is not None else None
    if known is None or target is None or version is None:
        return ""
    release = known.admitting(what, version, target.days[version], case.python)
    return f"{who}=={release}" if release is not None else ""


def _direction(asked: str, wanted: str) -> Direction:
    ours = [v for v in map(version_of, re.findall(r"\d[\w.]*", asked)) if v]
    wish = specifier(wanted)
    return _toward(wish, max(ours)) if ours and wish is not None else "other"


def _bounds(wish: SpecifierSet, operators: tuple[str, ...]) -> list[Version]:
    clauses = (c for c in wish if c.operator in operators)
    return [v for c in clauses if (v := version_of(c.version.replace(".*", ""))) is not None]


def _toward(wish: SpecifierSet, installed: Version | None) -> Direction:
    """Where a range lies from the present version; without one, on which side it is open."""
    if installed is None:
        operators = {clause.operator for clause in wish}
        is_newer, is_older = operators <= {">", ">="}, operators <= {"<", "<="}
    else:
        is_newer = any(installed < low for low in _bounds(wish, _LOWER))
        is_older = any(installed >= up for up in _bounds(wish, _UPPER))
    return "newer" if is_newer else "older" if is_older else "other"


def _shown(text: str) -> str:
    spec = specifier(text)
    return text if spec is None else ",".join(sorted(map(str, spec), reverse=True))


# ---- 2: the resolver names the conflicting packages, and no range


def _unnamed_conflict(case: Case) -> Made:
    asked = [fact for fact in case.all(Asked) if fact.what != PYTHON]
    needs = [fact for fact in case.all(Requires) if not fact.is_check]
    is_conflict = re.search(
        "because these package versions have conflicting|the following combinations of packages",
        case.text.flat,
    )
    if not (asked and is_conflict) or any(_ranges_that_do_not_meet(case)):
        return
    if len(needs) > 1 and {f.what for f in needs} == {needs[0].what} - {f.what for f in asked}:
        packages, lines = [needs[0].what, *(f.who for f in needs)], [f.line for f in needs[:3]]
        fields = _files_of(case, needs[0].what, needs[0].range)
        yield case.say("each-release-asks", packages, *lines, **fields)
        return
    names = list(dict.fromkeys(fact.what for fact in sorted(asked, key=lambda fact: fact.line)))
    if names[1:] == []:  # then it is Python that conda names beside it
        names += [fact.what for fact in case.all(Asked) if fact.what == PYTHON][:1]
    both = next((fact for fact in needs if fact.what in names), None)
    pin = case.pin(both.what, specifier(both.range)) if both is not None else ""
    words = {"names": " and ".join(names), "pin": pin}
    yield case.say("not-together", names, asked[0].line, **words)


# ---- 3: a range, and a present version


def _versions_out_of_range(case: Case) -> Made:
    refused = []
    for fact in case.all(Requires):
        wish, installed = specifier(fact.range), case.versions.get(fact.what)
        if fact.what == PYTHON or not fact.range or wish is None:
            continue
        if fact.is_check if installed is None else not wish.contains(installed, prereleases=True):
            refused.append((fact, wish))
    # Where several packages require several others, an installer only prints a notice, and most of
    # them are unrelated.
    needs = [fact for fact, _ in refused if not fact.is_check]
    is_crowd = len({f.who for f in needs}) > 1 < len({f.what for f in needs})

    def is_spoken_of(fact: Requires) -> bool:
        # Elsewhere in the text: by a command, an import, an installation.
        stems = {fact.who, fact.who.replace("-", "_")}
        others = (line.lower() for n, line in enumerate(case.text.lines, 1) if n != fact.line)
        return any("is incompatible" not in e and any(s in e for s in stems) for e in others)

    for fact, wish in refused:
        is_host = fact.who in grammar()["lists"]["hosts"]
        if not fact.is_check and (is_host or (is_crowd and not is_spoken_of(fact))):
            continue
        who = fact.who or case.beside(fact.what)
        yield case.say(
            "out-of-range-at-import" if fact.is_check else "out-of-range",
            [fact.what, who],
            fact.line,
            needs=f"{fact.what}{wish}",
            rank=2 if fact.is_check or not case.trace.raised else 4,
            who=case.title(who) if who else "The code that raised this",
            wanted=_shown(fact.range),
        )


# ---- 4: the Python of the requiring package


def _python_refused(case: Case) -> Made:
    asked = next((fact.range for fact in case.all(Asked) if fact.what == PYTHON), "")
    for fact in sorted(case.all(Requires), key=lambda fact: fact.is_check):
        if fact.what == PYTHON and fact.range and (finding := _refusing(case, fact, asked)):
            yield finding
            return


def _refusing(case: Case, fact: Requires, asked: str, *lines: int) -> Finding | None:
    wish, ours = specifier(fact.range), case.python
    if wish is None:
        return None
    is_too_wide = not {*pythons_in(specifier(asked) or wish)} <= {*pythons_in(wish)}
    is_refuted = ours is not None and wish.contains(ours, prereleases=True) and not is_too_wide
    if is_refuted and not (fact.is_check and case.given_python):  # that one becomes a remark
        return None
    beside = f", and Python {_shown(asked)} is asked for" if is_too_wide else case.there(PYTHON)
    is_project = is_too_wide and re.search(r"[<>]", asked)
    return case.say(
        "python-refused",
        [PYTHON, fact.who],
        fact.line,
        *lines,
        needs=f"python{wish}",
        pin=case.pin(fact.who, ANY) if ours is not None and not (lines or fact.is_check) else "",
        advice=f"Narrow the project's requires-python to {wish}." if is_project else "",
        rank=1 if lines else 2 if beside else 3,
        who=case.title(fact.who, fact.version)
        or ("What is installed" if fact.is_check else "What is asked for"),
        wanted=_shown(fact.range),
        there=beside or (", and yours is none of these" if lines else ""),
    )


def pythons_in(wish: SpecifierSet) -> list[Version]:
    """The series of Python of which some patch is in a range."""
    each = (Version("2.7"), *PYTHONS)
    return [p for p in each if any(wish.contains(f"{p}.{patch}") for patch in (0, 5, 9, 20))]


# ---- 5: no file


def _no_file(case: Case) -> Made:
    by_name: dict[str, list[Absent]] = {}
    for absent in case.all(Absent):
        by_name.setdefault(absent.what, []).append(absent)
    for what, facts in by_name.items():
        fact = next((f for f in facts if f.range), facts[0])
        refused = [r for r in case.all(Refused) if _is_of(r, what, fact)]
        newest = max(refused, key=lambda r: version_of(r.version) or Version("0"), default=None)
        if newest is None:
            yield _absent(case, fact, facts)
        else:
            theirs = Requires(PYTHON, newest.range, newest.line, what, newest.version)
            yield from filter(None, [_refusing(case, theirs, "", fact.line)])
    is_all = not by_name and "gnored the following versions" in case.text.flat
    # pip prints this where it fails; here the text leaves out for which package.
    if is_all and (refused := case.all(Refused)):
        newest = max(refused, key=lambda r: version_of(r.version) or Version("0"))
        theirs = Requires(PYTHON, newest.range, newest.line)
        yield from filter(None, [_refusing(case, theirs, "")])


def _absent(case: Case, fact: Absent, facts: list[Absent]) -> Finding:
    what = fact.what
    askers = [needs.who for needs in case.all(Requires) if needs.what == what and needs.who]
    tags, exact = next(((f.tags, f.range) for f in facts if f.tags), ((), fact.range))
    saw = next((f.versions for f in facts if f.versions is not None), None)
    fields = _files_of(case, what, fact.range)
    if tags and fact.why != "version":
        title = f"{what} {exact.strip('=')}"
        fields = {
            "advice": f"{title} has wheels for {', '.join(tags[:6])} alone: take another"
            " release or machine."
        }
        on = sorted(Version(f"{t[2]}.{t[3:]}") for t in tags if re.fullmatch(r"cp[23]\d+", t))
        if on:
            words = f"{title} has wheels for Python {_series(on)}."
            fields = {"needs": f"python=={on[-1]}.*", "advice": words}
    visited, nearest = _seen(fact.range, saw or ())
    if saw == () and fields.get("pin") and (known := index(what)) and case.series:
        # This index, platform or 32-bit Python has none of the files that the data lists.
        earlier = [p for p in PYTHONS if p < case.series and known.newest(ANY, p)]
        fields |= {"needs": f"{PYTHON}=={earlier[-1]}.*", "pin": ""} if earlier else {}
    if nearest and not (fields.get("pin") or fields.get("needs")):
        fields["pin"] = f"{what}=={nearest}"
        fields["advice"] = f"Of the releases that are offered here, {nearest} is the nearest."
    if saw == () and index(what) is None:
        known_names = get_close_matches(what, packages_known(), n=1, cutoff=0.8)
        meant = f" Did you mean {known_names[0]}?" if known_names else ""
        if not askers and not fact.range:  # only the name is known, which may be wrong
            return case.say("no-such-name", [], fact.line, what=what, meant=meant)
        visited = f" Check the name, too: the index lists no release of it here.{meant}"
    why = next((f.why for f in facts if f.why == "platform"), fact.why)
    return case.say(
        why,
        [what, *askers, *([] if why == "platform" else [PYTHON])],
        *sorted(f.line for f in facts)[:3],
        direction="python"
        if fields.get("needs", "").startswith(PYTHON) or "none of its files" in visited
        else "newer"
        if fields.get("pin") and not fact.range
        else "other",
        absent=f"{what}{specifier(fact.range) or ''}",
        title=f"{what}{_shown(fact.range)}",
        asks=f", which {askers[0]} requires" if askers else "",
        seen=visited,
        **fields,
    )


def _files_of(case: Case, what: str, wanted: str) -> dict[str, str]:
    """Where the files of a range are: the Python that `needs` one, or a `pin`, and `advice`."""
    known, wish = index(what), specifier(wanted)
    if known is None or wish is None:
        return {"advice": f"Take a release of {what} or a Python for which it has a file."}
    version, current = known.newest(wish, case.python), known.newest(ANY, case.python)
    version = version or known.newest(wish)
    if version is None:
        bounds = _bounds(wish, (*_LOWER, *_UPPER))
        final = (v for v in sorted(known.versions) if not v.is_prerelease)
        later = (v for v in final if bounds and v >= max(bounds))
        near = next((v for v in later if not case.python or known.fits(v, case.python)), current)
        words = f"The index has no {what}{_shown(wanted)} any more; the nearest is {near}."
        return {"advice": words, "pin": f"{what}=={near}" if near else ""}
    pythons = known.pythons(version)
    if case.python is not None and known.fits(version, case.python):
        words = f"The index has {what} {version} for this Python: this platform or pip is too old."
        return {"advice": words, "pin": f"{what}=={version}"}
    if not pythons:
        return {"advice": f"{what} {version} has files for Pythons before {PYTHONS[0]} alone."}
    # A Python that came after the release may break it.
    tried = [each for each in pythons if each <= _newest_of(known.days[version])] or pythons
    nearest = tried[-1] if case.python is None or case.python > tried[-1] else tried[0]
    words = f"{what} {version} has files for Python {_series(pythons)}."
    fields = {"needs": f"python=={nearest}.*", "advice": words}
    if case.python is not None and current is not None and current != version:
        fields["advice"] += f" For Python {case.python} the newest release is {current}."
        fields["pin"] = f"{what}=={current}" if current > version else ""
    return fields


def _newest_of(day: str) -> Version:
    """The newest Python of a day. Since 3.8 there is a new series each October (PEP 602)."""
    return Version(f"3.{max((m for m in range(8, 40) if f'{2011 + m}-10' <= day[:7]), default=7)}")


def _series(pythons: list[Version]) -> str:
    return str(pythons[0]) if len(pythons) == 1 else f"{pythons[0]} to {pythons[-1]}"


def _seen(wanted: str, saw: tuple[str, ...]) -> tuple[str, Version | None]:
    """What is known of the releases that an installer saw, and the nearest of them."""
    versions = sorted(v for v in map(version_of, saw) if v is not None)
    wish = specifier(wanted)
    if not versions or not wish:
        return "", None
    lowest = min(_bounds(wish, (*_LOWER, *_UPPER, "!=")), default=versions[0])
    final = [v for v in versions if not v.is_prerelease] or versions
    nearest = next((v for v in final if v >= lowest), final[-1])
    if wish.contains(nearest, prereleases=True):
        return " The index lists it, and none of its files is for this Python and platform.", None
    words = f" The index lists {versions[0]} to {versions[-1]} here"
    if versions[-1] < lowest:
        return f"{words}, all older: releases like it are for newer Pythons, or gone.", nearest
    if versions[0] > lowest:
        return f"{words}, all newer: releases like it are for older Pythons, or gone.", nearest
    return f"{words}.", nearest


def _is_of(refused: Refused, what: str, fact: Absent) -> bool:
    """pip omits the package of ignored releases: the missing one, if its range has one of them."""
    wish, version, known = specifier(fact.range), version_of(refused.version), index(what)
    if version is None or (known is None and not fact.range):
        return False
    is_one = known is None or version in known.versions
    return is_one and (wish is None or wish.contains(version, prereleases=True))


# ---- 6: a source release that failed to build


def _not_built(case: Case) -> Made:
    built = [fact for fact in case.all(Unbuilt) if fact.what]
    if not built:
        return
    fact = next((f for f in built if f.range), built[0])
    version = version_of(fact.range.lstrip("="))
    sign = next((e for e, _ in build_trouble(case.text.flat) if "needs" in e), {})
    tool = sign.get("needs", "")
    fields = {"needs": tool} | _wheels_of(case, fact)
    if case.python is None:
        fields["needs"] = tool or fields["needs"]
    if tool and index(fact.what) is None:
        fields["advice"] = f"Build it with {tool}, or take a release that has a wheel."
    yield case.say(
        "not-built",
        [fact.what, re.split(r"[<=]", tool)[0]],
        fact.line,
        direction="python"
        if fields["needs"].startswith(PYTHON) or not (tool or index(fact.what))
        else "other",
        title=f"{fact.what} {version}" if version else fact.what,
        words=sign.get("words", "is built from source here, and the build fails"),
        **fields,
    )


def _wheels_of(case: Case, fact: Unbuilt) -> dict[str, str]:
    known, wish = index(fact.what), specifier(fact.range)
    release = known.newest(wish) if known is not None and wish is not None else None
    if known is None or release is None or known.is_wheel(release):
        return _files_of(case, fact.what, fact.range)
    later = [v for v in known.versions if v > release and known.is_wheel(v) and not v.is_prerelease]
    later = [v for v in later if case.python is None or known.fits(v, case.python)]
    if not later:
        return {"advice": f"No later release of {fact.what} has a wheel for this Python."}
    words = f"{fact.what} {release} has no wheel, and {max(later)} has."
    return {"advice": words, "pin": f"{fact.what}=={max(later)}"}


# ---- 7: a name that was removed or does not exist yet


def _lacking_name(case: Case, fact: LacksName) -> Finding | None:
    top, shown = fact.module.partition(".")[0], f"{fact.module}.{fact.name}"
    if fact.is_class:
        return _lacking_attribute(case, fact)
    is_installed = re.search(
        r"-packages|[/\\]lib(?:64)?[/\\]|[/\\]pip[/\\]", fact.file, re.IGNORECASE
    )
    if not is_installed and re.search(rf"(?:^|[/\\]){re.escape(top)}\.py$", fact.file):
        return case.say("shadowed", [], fact.line, place=fact.file, top=top)
    if library().has_module(fact.module):
        return _moved(case, library().name(fact.module, fact.name), shown, fact.line)
    package = case.package_of(fact.module)
    known, importer = api(package), case.beside(package)
    if fact.module == "lib" and importer:  # what cffi calls each library
        return case.say("lacks", [importer], fact.line, needs=importer, name=shown)
    if known is not None and (known.has_module(fact.module) or top in known.modules):
        presence = known.name(fact.module, fact.name)
        if presence.never and not known.has_module(fact.module):
            presence = known.name(top, fact.name)
        older = known.before(fact.module, fact.name) if not presence.had else ""
        if older:
            words = {"needs": f"{package}<{older}", "since": older, "name": shown}
            return case.say("removed", [package, importer], fact.line, **words)
        if presence.always:
            return None
        is_inner = fact.module.count(".") > 1 or "._" in fact.module
        if not presence.had and not (importer or fact.since or fact.file or is_inner):
            return None
        if not presence.is_known and (other := _of_another(case, known, fact.module, fact.name)):
            return other
        if presence.is_known:
            return _moved(case, presence, shown, fact.line)
    if not package or (not importer and is_users_own(fact.module, case.trace)):
        return None
    kind, needs = ("removed", f"{package}<{fact.since}") if fact.since else ("lacks", "")
    if not fact.since and case.trace.frames and case.trace.frames[-1].package == package:
        kind, needs = "mixed", package
    words = {"needs": needs, "since": fact.since, "name": shown}
    return case.say(kind, [package, importer], fact.line, **words)


def _of_another(case: Case, known: Api, module: str, name: str = "") -> Finding | None:
    """What a package shows of another one as its own (`demo.dep.x` for `dep.x`, in a folder
    `python`, too): its release that goes with that of the other, or was published before.
    """
    top, _, inner = module.replace(".python.", ".").partition(".")
    other = api(package_of_module(inner.partition(".")[0])) if inner else None
    if other is None or other is known or len(known.releases) - 1 not in known.module(top).had:
        return None
    presence = other.name(inner, name) if name else other.module(inner)
    shown = f"{module}.{name}".strip(".")
    finding = _moved(case, presence, shown, 0) if presence.is_known else None
    need = requirement_of(finding.needs) if finding is not None else None
    if finding is None or need is None:
        return None
    pin = case.pin(known.package, ANY)
    if _bounds(need.specifier, _UPPER):
        ranges = presence.wanted(None)
        admitting = (_admits(case, known.package, other.package, each) for each in ranges)
        ends = (end for _, end in presence.spans() if end is not None)
        before, files = index(other.package), index(known.package)
        if (pin := next(filter(None, admitting), "")) == "" and before and files:
            release = files.newest(ANY, case.python, before.days.get(max(ends), ""))
            pin = f"{known.package}=={release}" if release else ""
    return msgspec.structs.replace(
        finding, packages=(known.package, other.package), needs="", pin=pin
    )


def _moved(
    case: Case, presence: Presence, name: str, line: int, cause: Cause | Literal[""] = ""
) -> Finding | None:
    """The releases that have something: a range, and the direction; None if the list refutes it."""
    package, spans, is_python = presence.package, presence.spans(), presence.package == PYTHON
    importer = case.beside(package)
    if is_python and (presence.never or presence.always):
        return None
    installed = case.series if is_python else case.versions.get(package)
    wishes = [SpecifierSet(each) for each in presence.wanted(installed, is_every=is_python)]
    wish = next((each for each in wishes if case.pin(package, each)), wishes[0])
    when = " and ".join(
        f"from {start} on"
        if stop is None
        else f"before {stop}"
        if start == presence.releases[0]
        else f"from {start} to before {stop}"
        for start, stop in spans[:3]
    )
    if installed is not None and presence.place_of(installed) in presence.had:
        if is_python or installed in presence.releases:
            return None
        # The releases between the read ones: it was removed before the present one.
        last = presence.releases[presence.place_of(installed)]
        wish, when = SpecifierSet(f"<={last}"), f"up to {last}"
    is_gone = bool(_bounds(wish, _UPPER))
    stand_in = package_of_module(name.rpartition(" ")[2]) if is_python else ""
    ways = [f"install {stand_in}, which has it"] if stand_in else []
    ways += [f"take a newer {importer}"] if importer and is_gone else []
    toward = "older" if is_gone else "newer"
    return case.say(
        "moved",
        [package, importer],
        line,
        cause=cause,
        direction="python" if is_python else "" if installed else toward,
        needs=f"{package}{wish}",
        advice=f"Or {' or '.join(ways)}." if ways else "",
        name=name,
        when=when,
    )


def _lacking_attribute(case: Case, fact: LacksName) -> Finding | None:
    name, importer = fact.module.rpartition(".")[2], case.beside()
    shown = f"{name}.{fact.name}"
    own = owners(name)
    # A class with `__getattr__` raises itself what its user lacks.
    users = [f for f in case.trace.frames if not f.function.startswith("__getattr")]
    is_inner = bool(users and users[-1].package)

    def unknown(package: str, beside: str = "") -> Finding:
        fields = {"direction": PYTHON, "pin": case.pin(beside, ANY)} if package == PYTHON else {}
        return case.say("unknown", [package, beside], fact.line, name=shown, **fields)

    if name == "NoneType":
        return None
    if "." in fact.module and not library().has_module(fact.module.partition(".")[0]):
        return unknown(package_of(fact.module), importer) if importer else None
    presence: Presence | None
    if (
        name in grammar()["lists"]["builtins"]
        or "." in fact.module
        or not any(map(case.mentions, own))
    ):
        presence = library().attribute(name, fact.name)
        if importer and presence.had == {0}:
            # Its code runs on Python 3: it gets text where it expects bytes, or the like.
            return unknown(importer)
        if presence.is_known or presence.always:
            return _moved(case, presence, shown, fact.line)
    presence = _candidate(case, own, lambda known: known.attribute(name, fact.name))
    if presence is not None and pattern("stored").search(case.text.flat):
        # The class has it: the object was stored by a release that did not.
        (first, _), *_ = presence.spans()
        needs = f"{presence.package}<{first}" if first > presence.releases[0] else ""
        return case.say("saved", [presence.package], fact.line, needs=needs)
    if presence is not None:
        return _moved(case, presence, shown, fact.line)
    spoken = [package for package in own if case.mentions(package)]
    if not is_inner and len(users) < len(case.trace.frames):
        return None
    if is_inner and importer:
        is_near = len(own) == 1 and (own[0] == PYTHON or own[0] in (*spoken, *case.trace.installed))
        return unknown(own[0], importer) if is_near else unknown(importer)
    return unknown(spoken[0]) if len(spoken) == 1 else None


def _candidate(
    case: Case,
    packages: Iterable[str],
    presence_of: Callable[[Api], Presence | None],
    is_common: bool = False,
) -> Presence | None:
    """The package whose releases differ in something: the mentioned one, the only one, or the only
    one whose newest release lacks it; else none.
    """
    named = [p for p in packages if re.search(rf"(?<![\w-]){p}(?![\w-])", case.text.flat)]

    def differing(names: Iterable[str]) -> list[Presence]:
        presences = (presence_of(known) for p in names if (known := api(p)) is not None)
        return [presence for presence in presences if presence is not None and presence.is_known]

    # Reading a package's names is slow: a mentioned package comes first, mostly alone.
    if len(named) == 1 and (sure := differing(named)):
        return sure[0]
    matched = differing(sorted(packages, key=lambda p: not case.mentions(p))[:16])
    spoken = [presence for presence in matched if case.mentions(presence.package)]
    if is_common:  # a name of many packages belongs to the mentioned one, or to none
        matched = spoken
    lost = [p for p in spoken or matched if len(p.releases) - 1 not in p.had]
    # One project under two names changes at one version; the older name is the usual one.
    is_one = len({presence.spans()[-1][1] for presence in lost}) == 1
    oldest = [min(lost, key=lambda presence: presence.releases[0])] if is_one else []
    ways = (spoken, matched, lost, oldest)
    return next((several[0] for several in ways if len(several) == 1), next(iter(spoken), None))


# ---- 8: a call that does not fit


def _wrong_call(case: Case, fact: BadCall) -> Finding | None:
    argument = (fact.kind if fact.kind in "!#=" else "") + fact.argument
    name = _called(case, fact.function.replace(".<locals>", ""))
    if not name:
        return None
    keywords = re.findall(r"\b(\w+)=", " ".join(frame.source for frame in case.trace.frames))
    if fact.argument not in keywords and get_close_matches(fact.argument, keywords, cutoff=0.8):
        return None  # a misspelt argument
    last, top = name.rpartition(".")[2], name.partition(".")[0]
    imported = re.findall(
        rf"\bimport ([\w.]+) as {re.escape(top)}\b"
        rf"|\bfrom ([\w.]+) import [^#]{{0,80}}\b{re.escape(top)}\b",
        case.text.flat,
    )
    home = package_of(next((a or b for a, b in imported), top))
    keys = [last, f"{last}()", top if "." in name else ""]
    short = ".".join(name.split(".")[-2:])
    sure = owners(f"{short}({argument}") or owners(f".{last}({argument}")
    known_owners = sure or [owner for key in keys for owner in owners(key)]
    places = dict.fromkeys([*([home] if api(home) else []), *known_owners])
    is_qualified = "." in name and bool(imported or package_of_module(top))
    if is_qualified:  # the name says whose it is
        parts = {*name.split(".")}
        places = {p: None for p in places if p == home or not parts.isdisjoint(modules_of(p))}

    def takes(known: Api) -> Presence | None:
        tried = (known.accepts(each, argument) for each in dict.fromkeys((name, short, last)))
        return next((presence for presence in tried if presence is not None), None)

    is_word = re.fullmatch("[A-Z]?[a-z]+", name) is not None
    is_common = is_word and not sure and (name.islower() or bool(case.trace.installed))
    matched = _candidate(case, places, takes, is_common)
    shown = f"the argument {fact.argument} of {name}"
    if fact.kind == "!":
        shown = f"{name} without {fact.argument}"
    elif fact.kind == "=":
        shown = f"{name} with {fact.argument} results"
    if matched is None and name in ("__init__", "__new__"):
        for package in sorted(case.versions):
            takers = known.takers(argument) if (known := api(package)) else ()
            current = case.versions[package]
            matched = matched or next((p for p in takers if p.place_of(current) not in p.had), None)
    is_pythons = "." in name and top in sys.stdlib_module_names
    if matched is None and fact.kind == "+" and (is_pythons or not owners(f"{last}()")):
        of_python = library().accepts(last, argument)
        matched = of_python if of_python is not None and of_python.is_known else None
    if matched is None and fact.kind == "+" and not is_qualified:
        changed = _takers(case, argument)
        if len({presence.package for presence in changed}) > 1:
            return None  # it may be of either
        matched = next(iter(changed), None)
    if matched is not None:
        return _moved(case, matched, shown, fact.line, "type-error")
    return _unplaced_call(case, fact, name, home, keys) if fact.kind != "=" else None


def _takers(case: Case, argument: str) -> list[Presence]:
    """What takes an argument in the innermost package, or, above `super`, in what that requires:
    first what has it now and was added, then what had it longest.
    """
    inner = case.trace.frames[-1] if case.trace.frames else None
    if inner is None or not inner.package:
        return []
    files_of = index(inner.package) if "super(" in inner.source else None
    required = [known for name in (files_of.required if files_of else ()) if (known := api(name))]
    homes = required or filter(None, [api(inner.package)])
    changed = [p for known in homes for p in known.takers(argument) if p.is_known]
    return sorted(changed, key=lambda p: (len(p.releases) - 1 not in p.had, -len(p.had)))


def _unplaced_call(
    case: Case, fact: BadCall, name: str, home: str, keys: list[str]
) -> Finding | None:
    top, last = name.partition(".")[0], name.rpartition(".")[2]
    frames = case.trace.frames
    innermost = frames[-1].package if frames else ""
    is_library = home != package_of(top).lower() or home in case.versions or package_of_module(top)
    is_called = fact.function.rpartition(".")[2] in (last, "")
    is_called &= top != last and top not in ("self", "cls")
    is_imported = re.search(rf"\b(?:import|from) {re.escape(top)}", case.text.flat)
    third = home if home != PYTHON and is_called and (is_library or is_imported) else ""
    single = {owner for key in keys[:2] for owner in owners(key) if case.mentions(owner)}
    if frames and not innermost and not third:
        return None  # the user's own code calls, and no package is named
    package = third or (single.pop() if len(single) == 1 else "")
    is_class = top[:1].isupper() and top != name and not any(map(case.mentions, owners(top)))
    package = (
        PYTHON
        if is_class and library().homes(top)
        else package or (case.beside() if innermost else "")
    )
    how = {"+": "not taken", "!": "missing", "#": "one too many"}[fact.kind]
    words = {"name": name, "argument": fact.argument, "how": how}
    return case.say("bad-call", [package, case.beside()], fact.line, **words) if package else None


def _called(case: Case, function: str) -> str:
    if "." in function:
        return re.sub(r"\.__(?:init|new)__$", "", function)
    is_class = function in ("__init__", "__new__", "")
    for frame in reversed(case.trace.frames[-2:]):
        calls = re.findall(r"([A-Za-z_][\w.]*)\(", frame.source.lstrip("@"))
        calls = [c for c in calls if c != "super" and not c.startswith("self.")]
        classes = [c for c in calls if c.rpartition(".")[2][:1].isupper()]
        exact = [c for c in calls if c.rpartition(".")[2] == function]
        wanted = classes if is_class else exact
        if wanted or (calls and not function):
            return str((wanted or calls)[-1])
        if calls and not is_class:
            return function
    if not is_class:
        exact = re.findall(rf"([A-Za-z_][\w.]*\.{re.escape(function)})\(", case.text.flat)
        return exact[-1] if exact else function
    if function == "__init__" and (stated := re.findall(r"\bclass '([A-Z]\w*)'", case.text.flat)):
        return str(stated[-1])
    lines = [line for line in case.text.lines if re.search(r"\b[A-Z]\w*\(", line)]
    own = [line for line in lines if "Error" not in line]
    matched = re.findall(r"([A-Za-z_][\w.]*[A-Z]\w*)\(", own[-1]) if own else []
    return matched[0] if matched else function


# ---- 9: a module that was not found


def _missing_module(case: Case, fact: NoModule) -> Finding | None:
    top, shown = fact.module.partition(".")[0], f"the module {fact.module}"
    if library().has_module(top):
        presence = library().module(fact.module if library().has_module(fact.module) else top)
        return _moved(case, presence, shown, fact.line, "missing-module")
    package = case.package_of(fact.module)
    known, importer = api(package), case.beside(package)
    is_inner = "." in fact.module
    if known is not None and (is_inner or top.replace("_", "-") != package):
        above, _, name = fact.module.rpartition(".")
        for presence in (known.module(fact.module), known.name(above, name)):
            if presence.is_known:
                return _moved(case, presence, shown, fact.line, "missing-module")
        if other := _of_another(case, known, fact.module):
            return other
    is_own = is_users_own(fact.module, case.trace)
    is_seen = known is not None or index(package) is not None or package in case.versions
    if is_inner and (importer or (is_seen and not is_own)):
        return case.say("lacks-module", [package, importer], fact.line, name=fact.module)
    innermost = case.trace.frames[-1].package if case.trace.frames else ""
    advice = "It may be a module of your own: start the program from its folder."
    return case.say(
        "not-installed",
        [package, importer],
        fact.line,
        needs="" if is_own else package,
        advice=advice if is_own else "",
        is_fault=bool(importer and innermost not in ("", PYTHON) and not is_own),
        who=f", and {importer} imports it" if importer else "",
    )


# ---- 10: compiled files


def _binary(case: Case, fact: Binary) -> Finding | None:
    if fact.kind == "array":
        return _array(case, fact)
    if not fact.by and fact.kind != "generated":
        return None  # it is one of the user's own files
    beside = fact.what if fact.what != fact.by else ""
    beside = beside or case.beside(fact.by)
    packages = [fact.by]
    if fact.kind == "generated":
        packages = [fact.what, fact.by]
    elif fact.kind == "symbol":
        packages = [fact.by, beside] if not fact.what or index(fact.by) else [beside, fact.by]
    what = "C library" if "GLIBC" in fact.needs else fact.what
    # A file with an argument that its reader does not know was written by a newer release.
    is_newer = fact.kind == "saved" and any(call.kind == "+" for call in case.all(BadCall))
    return case.say(
        "system" if fact.kind == "library" else fact.kind,
        packages,
        fact.line,
        needs=fact.by if fact.kind == "symbol" or is_newer else "",
        direction="newer" if is_newer else "",
        by=fact.by,
        what=what if fact.kind == "library" else beside or "library",
        there=case.there(beside),
        version=fact.needs,
    )


def _array(case: Case, fact: Binary) -> Finding:
    installed = case.versions.get(fact.what)
    needs = fact.needs
    if installed is not None and needs in ("", "<2"):
        needs = "<2" if installed >= Version("2") else "newer" if needs else ""
    toward = {"<": "older", ">": "newer", "n": "newer"}.get(needs[:1], "other")
    way = f"Or upgrade {fact.by or 'what was compiled'}, which is built for it then"
    return case.say(
        "array",
        [fact.what, fact.by],
        fact.line,
        direction=toward,
        needs=f"{fact.what}{needs}" if needs[:1] in ("<", ">") else "",
        by=fact.by or "A compiled module",
        way=f"Upgrade {fact.what}" if toward == "newer" else way,
    )


# ---- 11: code that this Python cannot parse


def _unparsed(case: Case) -> Made:
    who = "".join(frame.package for frame in case.trace.frames[-1:]).replace(PYTHON, "")
    for error in case.trace.raised:
        if error.type not in ("SyntaxError", "TabError"):
            continue
        above = [line for line in case.text.lines[: error.line - 1] if line.strip(" ^~")]
        wish = wanted_by_source("".join(above[-1:]).strip())
        if case.python is not None and wish[:1] == ">" and SpecifierSet(wish).contains(case.python):
            continue
        if not wish and case.python is not None and case.python < Version("3.8"):
            wish = ">=3.8"  # code that a Python of that time cannot parse is mostly newer
        if not wish and not who:
            continue
        is_old = wish.startswith("<")
        yield case.say(
            "unparsed",
            [who, PYTHON] if who and is_old else [PYTHON, who],
            error.line,
            needs=f"python{wish}" if wish else "",
            who=who or "This code",
            wanted=wish or "of another time",
            there=case.there(PYTHON),
            or_take=f", or {'a newer' if is_old else 'an older'} {who}" if who else "",
        )
        return


_RESERVED = re.compile(r"\b(?:async|await)\b(?!\s+(?:def|for|with|\w))")


def wanted_by_source(source: str) -> str:
    """The Python range that a line was written for; empty where unknown."""
    if pattern("python2").search(source):
        return "<3"
    if _RESERVED.search(source):
        return "<3.7"
    try:
        import vermin  # type: ignore[import-untyped]
    except ImportError:  # the extra `sources` brings it
        return ""
    for whole in (source, f"{source}\n    pass", f"{source}\n    case _: pass"):
        try:
            matched = vermin.visit(whole).minimum_versions()
        except Exception:  # what vermin cannot parse raises many things
            continue
        newest = matched[1] if isinstance(matched, list) and len(matched) > 1 else None
        if newest and newest >= (3, 5):
            return f">={newest[0]}.{newest[1]}"
    return ""


# ---- 12: the user's own changes


def _changed(case: Case, fact: Changed) -> Finding | None:
    old, new = version_of(fact.old), version_of(fact.new)
    kinds: tuple[Any, ...] = (LacksName, BadCall, NoModule, Binary)
    if old is None or new is None or not any(map(case.all, kinds)):
        return None
    toward, pin = "older" if new > old else "newer", f"{fact.what}=={old}"
    fields = {"direction": toward, "needs": pin, "pin": pin}
    return case.say("changed", [fact.what], fact.line, old=old, new=new, **fields)


# ---- 13: a list against published requirements


def _unmet(case: Case) -> Made:
    asked = {f.what: f.range for f in case.all(Asked) if f.range and f.what != PYTHON}
    pins = {name: f"=={version}" for name, version in case.installed.items()} | asked
    for who, wanted in pins.items():
        known, wish = index(who), specifier(wanted)
        release = known.newest(wish) if known and wish is not None else case.installed.get(who)
        if release is None:
            continue
        for what, ours in pins.items():
            if what == who:
                continue
            needs = known.requires(release, what, case.python) if known is not None else []
            bound = corrected(who, release, what)
            if needs and not any(_meet(what, need, ours) for need in needs):
                theirs = Requires(what, needs[-1], 0, who, str(release))
                yield _conflict(case, Asked(what, ours, 0), theirs)
            elif bound and not _meet(what, bound, ours):
                fields = {"needs": f"{what}{bound}", "direction": _direction(ours, bound)}
                words = {"who": f"{who} {release}", "one": _shown(ours), "wanted": bound}
                yield case.say("corrected", [what, who], 0, **fields, **words)
        if known is None:
            continue
        if who in case.installed:
            yield from _old_release(case, who, release, pins)
        if case.python and not known.fits(release, case.python) and known.pythons(release):
            fields = _files_of(case, who, f"=={release}")
            words = {"title": f"{who} {release}", "ours": str(case.python)}
            yield case.say("no-file-for-python", [who, PYTHON], 0, **words, **fields)


def _old_release(case: Case, who: str, release: Version, pins: Mapping[str, str]) -> Made:
    """An old release to which a resolver silently fell back, as no later one admits the present
    packages; or the last one for this Python.
    """
    known = index(who)
    newest = known.newest(ANY) if known is not None else None
    if known is None or newest is None or known.years(release, newest) < 2:
        return
    later = [v for v in known.versions if v > release and not v.is_prerelease and known.pythons(v)]
    current = [v for v in later if case.python is None or known.fits(v, case.python)]
    year = known.days[release][:4]
    words = {"title": f"{who} {release}", "year": year, "newest": newest}
    if later and not current:
        pythons = _series(known.pythons(newest))
        yield case.say(
            "newest-for-python", [who, PYTHON], 0, ours=case.python, pythons=pythons, **words
        )
    for what, ours in pins.items():
        beside, present = index(what), version_of(ours.removeprefix("=="))
        asking = [each for v in current if (each := known.requires(v, what, case.python))]
        late = asking[len(asking) // 3 :]
        # A set of one time is no such case: the present packages must be much newer.
        if beside is None or present is None or len(asking) < 3:
            continue
        if int(beside.days.get(present, "")[:4] or 0) < int(year or 0) + 2:
            continue
        own = known.requires(release, what, case.python)
        is_capped = any(_bounds(SpecifierSet(each), _UPPER) for each in own)
        if is_capped or any(_meet(what, need, ours) for each in late for need in each):
            continue
        wanted = asking[-1][-1]
        yield case.say(
            "fallen-back",
            [who, what],
            0,
            needs=f"{who}>{release}",
            pin=case.pin(what, specifier(wanted)),
            one=_shown(ours),
            wanted=_shown(wanted),
            **words,
        )
        return


# ---- 14: an error that some releases raise and others do not


def _said(case: Case) -> Made:
    for package, wish, length in speakers(case.text.flat):
        if length > 40 or case.mentions(package):
            lines = (error.line for error in case.trace.raised[-1:])
            yield case.say("said", [package, case.beside(package)], *lines, needs=package + wish)
            return


def _each(kind: type[F], infer: Callable[[Case, F], Finding | None]) -> Callable[[Case], Made]:
    """An inference from single facts of a kind."""
    return lambda case: filter(None, (infer(case, fact) for fact in case.all(kind)))


_INFERENCES: tuple[Callable[[Case], Made], ...] = (
    # Errors unrelated to versions.
    _each(Trouble, lambda case, fact: case.say(fact.kind, [], fact.line, words=fact.sentence)),
    _ranges_that_do_not_meet,
    _versions_out_of_range,
    _python_refused,
    _no_file,
    _not_built,
    _each(LacksName, _lacking_name),
    _each(BadCall, _wrong_call),
    _each(NoModule, _missing_module),
    _each(Binary, _binary),
    _unparsed,
    _unnamed_conflict,
    _each(Changed, _changed),
    _unmet,
    _said,
)
