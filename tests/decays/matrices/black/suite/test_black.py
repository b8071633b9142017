"""The command's entry point, as far as it prepares click."""


def test_click_is_prepared():
    import black

    black.patch_click()
