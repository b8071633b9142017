"""The patch that stands for a series of CPython when a matrix names none.

Packages ask for a Python by its patch (`>=3.8.1`, `!=3.9.7`), and so do markers. The oldest patch
would make such packages infeasible that everybody can install, and what this machine happens to
have would make locks depend on it. So it is the newest patch that this edition of compat knows.
"""

from packaging.version import Version

# The newest patch of each series as of 2026-11-22, https://www.python.org/downloads/. A series that
# is not here is newer than this list, and its `.0` is what everybody has.
_NEWEST = (
    "3.6.15",
    "3.7.17",
    "3.8.20",
    "3.9.25",
    "3.10.22",
    "3.11.18",
    "3.12.16",
    "3.13.18",
    "3.14.10",
    "3.15.2",
)
NEWEST = {patch.rpartition(".")[0]: Version(patch) for patch in _NEWEST}


def patch_of(release: Version) -> Version:
    if len(release.release) > 2:
        return release
    return NEWEST.get(str(release), Version(f"{release}.0"))
