"""What the tests of the lock room share: uv's resolver, asked about the packages of the demo."""

import os
from pathlib import Path

import pytest
from support.fake_index import FakeIndex

from compat.index.settings import IndexSettings
from compat.lock.uv import UvLocker


@pytest.fixture
def locker(demo_index: FakeIndex, tmp_path: Path) -> UvLocker:
    environ = {**os.environ, "UV_CACHE_DIR": str(tmp_path), "UV_HTTP_RETRIES": "0"}
    return UvLocker(IndexSettings(index_url=demo_index.url), environ, lambda _: None)
