import numpy as np
import pandas as pd


def test_a_frame_sums_its_columns():
    frame = pd.DataFrame({"a": [1, 2], "b": [3.5, 4.5]})
    assert frame.sum().to_dict() == {"a": 3.0, "b": 8.0}


def test_groups_have_means():
    frame = pd.DataFrame({"key": ["x", "y", "x"], "value": [1.0, 2.0, 3.0]})
    assert frame.groupby("key")["value"].mean().to_dict() == {"x": 2.0, "y": 2.0}


def test_a_series_becomes_an_array():
    assert np.array_equal(pd.Series([1, 2, 3]).to_numpy() * 2, np.array([2, 4, 6]))


def test_dates_have_a_range():
    assert list(pd.date_range("2024-02-28", periods=2).strftime("%d")) == ["28", "29"]
