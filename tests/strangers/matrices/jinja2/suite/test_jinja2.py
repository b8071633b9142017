from jinja2 import DictLoader, Environment


def test_a_template_is_filled_in():
    assert Environment().from_string("Hello {{ name }}!").render(name="you") == "Hello you!"


def test_html_is_escaped():
    template = Environment(autoescape=True).from_string('<a href="/users/{{ name }}">')
    assert template.render(name='"') == '<a href="/users/&#34;">'


def test_a_template_extends_another():
    page = "{% extends 'base' %}{% block a %}x{% endblock %}"
    loader = DictLoader({"base": "<{% block a %}{% endblock %}>", "page": page})
    assert Environment(loader=loader).get_template("page").render() == "<x>"
