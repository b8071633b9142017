"""A sum over a frame."""

import pandas


def test_a_frame_adds_up():
    assert pandas.DataFrame({"x": [1, 2]}).x.sum() == 3
