"""The `declare` room's table `[prereleases]`: which dependencies are tried before they are out."""

import datetime
from typing import Annotated

import msgspec

from compat.declare.parsing import Name
from compat.value import StrictValue

IndexAddress = Annotated[
    str,
    msgspec.Meta(
        # Printable ASCII without quotes, angle brackets and `@`: it stands in locks and on pages,
        # so it may hold no password. Without TLS only this machine is believed.
        pattern=r"^(https://|http://127\.0\.0\.1[:/])[!#-;=?A-~]+$(?!\n)",
        max_length=300,
        description=(
            "the address of a package index, such as 'https://my.example/pip/', without a password"
        ),
    ),
]


class Prereleases(StrictValue, frozen=True):
    """The lane of pre-releases: of each of these axes the newest alpha, beta, candidate or
    development release that is newer than every final one, in the place of the axis's own versions.

    `index` is where they are looked for, the main index where none is given. `as_of` looks at what
    was out before that day, so that the lane of a day can be run again.
    """

    axes: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1, max_length=7)]
    index: IndexAddress = ""
    as_of: datetime.date | None = None
