"""The `site` room's words about plain installs and variants, for pages, API and commands alike."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace
from packaging.version import Version

from compat.advise.answer import Advisor
from compat.advise.request import Request, exactly
from compat.declare.platforms import PLATFORMS, PlatformName
from compat.lock.recipe import LockedFloor
from compat.results.answer import Answer
from compat.results.compare import LaneCell
from compat.results.installs import INSTALLABLE, Install, InstallGroup, InstallState, newest_on
from compat.run.outcome import Failed, parse_outcome
from compat.site.status import STYLES, StatusStyle
from compat.site.wording import cause_sentence, listed, ranges
from compat.value import grouped


def floor_words(floor: LockedFloor) -> str:
    if floor.is_exact:
        return f"{floor.installed} installed"
    if floor.installed is None:
        return "nothing installed"
    because = f" ({floor.because})" if floor.because else ""
    return f"{floor.installed} installed, {floor.lowest} is not tested{because}"


def lane_blame(matrix: str, cell: LaneCell) -> str:
    return f"compat blame {matrix} {cell.against} {cell.cell}"


def no_prerelease_words(package: str) -> str:
    return f"no pre-release of {package} is newer than its final releases"


# What a resolver found is "checked", what ran is "tested"; neither word replaces the other.
_RUN: dict[InstallState, str] = {
    "works": "It installs, and the suite finds no failure of this combination.",
    "works-smoke": "It installs, imports and passes the core of the suite; the rest was not run.",
    "partial": "It installs and imports; some capabilities fail.",
    "partial-smoke": "It installs and imports; a part of the suite's core fails.",
    "flaky": "It installs; the suite passes and fails by chance.",
    "flaky-smoke": "It installs; the core of the suite passes and fails by chance.",
    "broken": "It was run and fails.",
    "broken-smoke": "A run of the suite's core failed; the rest was not run.",
}
# The style that has symbol and class of these, the word, and the sentence.
_NOT_RUN: dict[InstallState, tuple[str, str, str]] = {
    "resolves": ("declared", "resolves, not run",
                 "A resolver finds packages that satisfy every requirement; nothing was run."),
    "refused": ("refused", "refused",
                "A resolver finds no packages that satisfy every requirement."),
    "needs-build": ("blocked", "needs a build from source",
                    "A package has no wheel here; whether it builds from source was not tried."),
    "ruled-out": ("infeasible", "ruled out by metadata",
                  "By metadata, its requirements are not available here."),
    "not-admitted": ("infeasible", "Python not supported",
                     "The release's own metadata does not admit this Python."),
    "not-asked": ("unknown", "not resolved yet", "No resolver has run yet."),
    "by-metadata": ("declared", "installs by metadata",
                    "Wheel tags and known requirements allow it; no resolver has run."),
    "no-wheel": ("infeasible", "no wheel",
                 "A package has no file for this platform and Python."),
}  # fmt: skip
INSTALL_STYLES: dict[InstallState, StatusStyle] = {
    **{state: replace(STYLES[state], sentence=says) for state, says in _RUN.items()},
    **{
        state: replace(STYLES[name], word=word, sentence=says)
        for state, (name, word, says) in _NOT_RUN.items()
    },
}

# What uv says where an index has a release, and no file of it fits; the cause is the same as where
# it has none. Seen with uv 0.13.9 on 2026-11-23.
_NO_WHEEL = "has no wheels with a matching"
# For these the message of the run or the resolver is more precise than the state.
_EXPLAINED: tuple[InstallState, ...] = ("refused", "broken", "broken-smoke", "needs-build")
_METADATA: tuple[InstallState, ...] = ("ruled-out", "not-admitted", "not-asked")


def plain_command(package: str, release: str) -> str:
    return f"pip install {package}=={release}"


def platform_title(name: PlatformName) -> str:
    return PLATFORMS[name].title


def install_reason(about: Install | InstallGroup) -> str:
    """Return why, as one sentence without a date: what failed, or what the metadata of this release
    refuses. For a package without a file on a platform, also its newest release with one.
    """
    install = about if isinstance(about, Install) else about.example
    style = INSTALL_STYLES[about.state]
    if install.platform:
        if about.state == "no-wheel":
            if not install.newest:
                lacking = f"no version of {install.lacking} that is known has one"
                return f"{install.because}; {lacking}"
            return (
                f"{install.because}; the newest {install.lacking} with a file for that platform is"
                f" {install.newest}, for Python {listed(install.newest_pythons)}"
            )
        if about.state == "needs-build" or install.evidence == "declared":
            return install.because or style.sentence
        outcome = None if about.state == "resolves" else parse_outcome(install.outcome)
        known = cause_sentence(outcome) if isinstance(outcome, Failed) else style.sentence
        return known or install.because
    if about.state in _EXPLAINED and "-fail:" in about.outcome:
        failed = parse_outcome(about.outcome)
        words = install.because
        if isinstance(failed, Failed) and failed.cause == "no-artifact" and _NO_WHEEL in words:
            return f"The package index has no wheel of {failed.subject} for this Python."
        return cause_sentence(failed)
    if isinstance(about, Install) and about.state in _METADATA and about.because:
        return about.because
    return style.sentence


def install_line(install: Install) -> str:
    word, reason = INSTALL_STYLES[install.state].word, install_reason(install)
    if install.platform:
        on = "" if install.on is None else f" on {install.on}"
        evidence = "checked" if install.evidence == "asked" else install.evidence
        return f"{word} ({evidence}{on}): {reason}"
    on = ""
    if install.on is not None:
        on = f" ({'tested' if install.ground == 'run' else 'checked'} on {install.on})"
    witness = install.witness
    inferred = f" Inferred from {witness}, which has the same conflict." if witness else ""
    return f"{word}{on}: {reason}{inferred}"


def installable_words(installs: Iterable[Install], platform: PlatformName, package: str) -> str:
    own, title = tuple(installs), platform_title(platform)
    best = newest_on(own, platform, INSTALLABLE)
    if best is None:
        buildable: tuple[InstallState, ...] = ("needs-build",)
        words, built = "", newest_on(own, platform, buildable)
        if built is not None:
            words = f"; the newest that may, once something is built there: {built.release}"
            words += f", on Python {listed(built.pythons)}"
        return f"No release of {package} installs on {title} as published, by what is known{words}."
    return (
        f"The newest release of {package} that installs on {title} as published, by what is known:"
        f" {best.release}, on Python {listed(best.pythons)}"
        f" ({INSTALL_STYLES[best.state].word}, {best.example.evidence})."
    )


def by_python(releases: Mapping[str, Sequence[str]], every: Sequence[str]) -> list[tuple[str, str]]:
    """Return Pythons with the same releases together, each with its ranges of releases."""
    alike = grouped((ranges(versions, every), python) for python, versions in releases.items())
    return [(listed(pythons), versions) for versions, pythons in alike.items()]


def works_instead(advisor: Advisor, install: Install) -> Answer | None:
    matrix = advisor.snapshot.matrix
    asked = {matrix.interpreters.name: install.python, matrix.subject: install.release}
    wants = tuple(
        exactly(axis, Version(asked[axis.name])) for axis in matrix.axes if axis.name in asked
    )
    return advisor.first(Request(wants=wants))
