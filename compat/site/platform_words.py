"""The `site` room's words about plain installs on other platforms, for pages and the command line
alike.
"""

from collections.abc import Iterable

from compat.declare.platforms import PLATFORMS, PlatformName
from compat.results.platform_installs import (
    INSTALLABLE,
    PlatformInstall,
    PlatformState,
    newest_on,
)
from compat.run.outcome import Failed, parse_outcome
from compat.site.plain_words import PLAIN_STYLES, PlainStyle
from compat.site.wording import cause_sentence, day, listed

PLATFORM_STYLES: dict[PlatformState, PlainStyle] = {
    "resolves": PLAIN_STYLES["resolves"],
    "by-metadata": PlainStyle(
        symbol="○",
        word="installs by metadata",
        sentence="No tag of a wheel and no requirement that is known speaks against it;"
        " no resolver was asked.",
        css="unknown declared",
    ),
    "needs-build": PLAIN_STYLES["needs-build"],
    "refused": PLAIN_STYLES["refused"],
    "no-wheel": PlainStyle(
        symbol="⊘",
        word="no wheel",
        sentence="A package has no file for this platform and Python.",
        css="infeasible",
    ),
    "ruled-out": PLAIN_STYLES["ruled-out"],
    "not-admitted": PLAIN_STYLES["not-admitted"],
}


def platform_title(name: PlatformName) -> str:
    return PLATFORMS[name].title


def platform_reason(install: PlatformInstall) -> str:
    """Return why, as one sentence: of a package without a file there, also its newest that has
    one.
    """
    if install.state == "no-wheel":
        return f"{install.because}; {_newest_words(install)}"
    if install.evidence == "declared":
        return install.because or PLATFORM_STYLES[install.state].sentence
    if install.state == "needs-build":
        return install.because
    if install.state == "resolves":
        return PLATFORM_STYLES["resolves"].sentence
    outcome = parse_outcome(install.outcome)
    known = cause_sentence(outcome) if isinstance(outcome, Failed) else ""
    return known or install.because


def platform_line(install: PlatformInstall) -> str:
    """Return an answer as one line of text: word, evidence with its day, and cause."""
    on = "" if install.on is None else f" on {install.on}"
    word = PLATFORM_STYLES[install.state].word
    return f"{word} ({install.evidence}{on}): {platform_reason(install)}"


def evidence_words(install: PlatformInstall) -> str:
    """Return from what an answer is known: `declared`, or `asked on 23 November 2026`."""
    return install.evidence if install.on is None else f"{install.evidence} on {day(install.on)}"


def installable_words(
    installs: Iterable[PlatformInstall], platform: PlatformName, package: str
) -> str:
    buildable: tuple[PlatformState, ...] = ("needs-build",)
    own, title = tuple(installs), platform_title(platform)
    best = newest_on(own, platform, INSTALLABLE)
    if best is None:
        built = newest_on(own, platform, buildable)
        words = (
            ""
            if built is None
            else (
                f"; the newest that may, once something is built there: {built.release},"
                f" on Python {listed(built.pythons)}"
            )
        )
        return f"No release of {package} installs on {title} as published, by what is known{words}."
    return (
        f"The newest release of {package} that installs on {title} as published, by what is known:"
        f" {best.release}, on Python {listed(best.pythons)}"
        f" ({PLATFORM_STYLES[best.state].word}, {best.install.evidence})."
    )


def _newest_words(install: PlatformInstall) -> str:
    if not install.newest:
        return f"no version of {install.lacking} that is known has one"
    pythons = listed(install.newest_pythons)
    return (
        f"the newest {install.lacking} with a file for that platform is {install.newest},"
        f" for Python {pythons}"
    )
