"""The `policy` room's reviewed data: when each Python came out, and until when upstream looks after
it.

Source: "Status of Python versions" of the developer's guide (devguide.python.org/versions), as of
2026-09, and the PEP of each series. Where a PEP names only a month, its last day stands here. What
the PEP still calls a plan is `planned`.
"""

import datetime

from packaging.version import Version

from compat.value import StrictValue

_DAY = datetime.date


class Series(StrictValue, frozen=True, kw_only=True):
    """A series of Python: its first release, the last day of upstream's care, and the PEP that says
    so.
    """

    version: Version
    released: datetime.date
    ends: datetime.date
    pep: int
    planned: bool = False

    @property
    def source(self) -> str:
        return f"PEP {self.pep}{', planned' if self.planned else ''}"


def _series(
    text: str, released: datetime.date, ends: datetime.date, pep: int, planned: bool = False
) -> Series:
    return Series(version=Version(text), released=released, ends=ends, pep=pep, planned=planned)


PYTHONS: tuple[Series, ...] = (
    _series("3.6", _DAY(2016, 12, 23), _DAY(2021, 12, 23), 494),
    _series("3.7", _DAY(2018, 6, 27), _DAY(2023, 6, 27), 537),
    _series("3.8", _DAY(2019, 10, 14), _DAY(2024, 10, 7), 569),
    _series("3.9", _DAY(2020, 10, 5), _DAY(2025, 10, 31), 596),
    _series("3.10", _DAY(2021, 10, 4), _DAY(2026, 10, 31), 619),
    _series("3.11", _DAY(2022, 10, 24), _DAY(2027, 10, 31), 664),
    _series("3.12", _DAY(2023, 10, 2), _DAY(2028, 10, 31), 693),
    _series("3.13", _DAY(2024, 10, 7), _DAY(2029, 10, 31), 719),
    _series("3.14", _DAY(2025, 10, 7), _DAY(2030, 10, 31), 745),
    _series("3.15", _DAY(2026, 10, 1), _DAY(2031, 10, 31), 790, planned=True),
    _series("3.16", _DAY(2027, 10, 6), _DAY(2032, 10, 31), 826, planned=True),
)
