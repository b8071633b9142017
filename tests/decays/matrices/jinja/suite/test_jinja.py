"""A template that is filled in."""

import jinja2


def test_a_template_is_filled_in():
    assert jinja2.Template("{{ x }}").render(x="<b>") == "<b>"
