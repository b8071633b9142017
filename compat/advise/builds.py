"""The `advise` room's knowledge of builds under another name: `tf-nightly` is one of tensorflow,
`onnxruntime-gpu` one of onnxruntime.

Such distributions hold the same modules as the package, but for pip they are packages of their own:
they can lie over each other, and none of them meets a requirement on another.
"""

import datetime
import re
from collections.abc import Collection, Iterator, Mapping

from packaging.version import Version

from compat.value import Value

# What a name says of how it was built. The meaning of "-binary" or "-headless" differs by package.
_KINDS = frozenset(("nightly", "gpu", "cpu", "rocm"))
# How the nightly builds of TensorFlow's projects shorten names, by their pages on PyPI, 2026-11-23.
_SHORTENED = {
    "tf": "tensorflow",
    "tb": "tensorboard",
    "tfa": "tensorflow-addons",
    "tfds": "tensorflow-datasets",
    "tfp": "tensorflow-probability",
}
_DAY = re.compile(r"(?:dev|a|b|rc)(20\d{6})(?:\d{2})?(?!\d)")
# Nightly builds of a week fit each other mostly. A choice: no measured figure stands behind it.
_MOST_DAYS = 7


class NamedBuild(Value, frozen=True):
    """An installed build of a package under a name of its own; names are normalised.

    `day` is when it was built, where its version tells.
    """

    name: str
    base: str
    version: Version

    @property
    def day(self) -> datetime.date | None:
        """The day that its version names, as nightly builds do."""
        match = _DAY.search(str(self.version))
        try:
            return None if match is None else datetime.datetime.strptime(match[1], "%Y%m%d").date()
        except ValueError:
            return None

    def __str__(self) -> str:
        """Name it with its version."""
        return f"{self.name} {self.version}"


def named_builds(versions: Mapping[str, Version]) -> tuple[NamedBuild, ...]:
    """Return the builds under other names among installed packages, by normalised name."""
    return tuple(
        NamedBuild(name=name, base=base, version=version)
        for name, version in versions.items()
        if (base := _base(name)) != name
    )


def lying_over_each_other(
    versions: Mapping[str, Version], bases: Collection[str]
) -> Iterator[tuple[str, tuple[NamedBuild, ...]]]:
    """Yield each of those packages that is installed in several builds of different releases, with
    the builds; the package under its own name is one of them. A nightly build towards 2.8.0 beside
    2.8.0 is what TensorFlow 2.8 itself asks for.
    """
    builds: dict[str, list[NamedBuild]] = {}
    for build in named_builds(versions):
        if build.base in bases:
            builds.setdefault(build.base, []).append(build)
    for base, others in builds.items():
        own = versions.get(base)
        plain = [] if own is None else [NamedBuild(name=base, base=base, version=own)]
        if len({build.version.base_version for build in (*plain, *others)}) > 1:
            yield base, (*plain, *others)


def of_other_days(subject: str, versions: Mapping[str, Version]) -> tuple[NamedBuild, ...]:
    """Return a nightly build of the subject, and after it those of other packages that are of other
    weeks; nothing where it is none, or all are of its time.
    """
    builds = [build for build in named_builds(versions) if build.day is not None]
    own = next((build for build in builds if build.base == subject), None)
    if own is None or own.day is None:
        return ()
    day = own.day
    far = [b for b in builds if b.day is not None and abs((b.day - day).days) > _MOST_DAYS]
    return (own, *far) if far else ()


def stand_ins(versions: Mapping[str, Version]) -> dict[str, NamedBuild]:
    """Return the builds that are installed in the place of a package, by the package's name."""
    return {build.base: build for build in named_builds(versions) if build.base not in versions}


def _base(name: str) -> str:
    """The package of a build; a name that tells of no build is its own."""
    tokens = name.split("-")
    kept = [token for token in tokens if token not in _KINDS]
    if len(kept) == len(tokens) or not kept:
        return name
    return "-".join((_SHORTENED.get(kept[0], kept[0]), *kept[1:]))
