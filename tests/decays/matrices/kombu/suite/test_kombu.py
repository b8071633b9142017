"""The entry points that bring further serialisers."""


def test_entry_points_are_read():
    from kombu.utils.compat import entrypoints

    assert list(entrypoints("kombu.nobody.has.this")) == []
