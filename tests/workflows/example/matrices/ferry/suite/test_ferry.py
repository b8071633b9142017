import boat
import ferry


def test_the_ferry_floats():
    assert ferry.FLOATS


def test_the_boat_is_the_one_that_was_locked():
    assert boat.NAME
