"""The site of the committed records: it takes a minute, so a test run makes one."""

import datetime
import shutil
from pathlib import Path

from compat.cli import publish
from compat.cli.machine import today

# The day after today: with a day before it, even one that a run over midnight leaves behind, the
# command line looks back, which the published site never does.
DAY = today() + datetime.timedelta(days=1)
MATRICES = Path(__file__).parents[2] / "matrices"
URL = "https://compat.example/"


def made(place: Path) -> None:
    """Copy the matrices to a folder, and publish them into its `public`."""
    shutil.copytree(MATRICES, place / "matrices")
    publish.publish_site(None, place / "public", URL, DAY, place)
