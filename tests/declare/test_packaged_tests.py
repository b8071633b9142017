"""Which tests are a part of their package: those that import from above their own folder."""

import pytest

from compat.declare.capabilities import reach_above


@pytest.mark.parametrize(
    ("path", "text", "reaches"),
    [
        ("tests/test_a.py", "from .util import one", False),
        ("tests/test_a.py", "from ..core import one", True),
        ("tests/unit/test_a.py", "from ..util import one", False),
        ("tests/unit/test_a.py", "from ... import core", True),
        ("tests/test_a.py", "from pkg.deep.tests.util import one", True),
        ("tests/test_a.py", "import pkg.deep.tests.util", True),
        ("tests/test_a.py", "import pkg.deep\nfrom pkg.deep.core import one", False),
        ("tests/test_a.py", "import pkg.deep.tests_of_others", False),
        ("tests/test_a.py", "this is not Python", False),
    ],
)
def test_an_import_from_above(path: str, text: str, reaches: bool) -> None:
    assert reach_above({path: text}, "pkg.deep") is reaches
