"""A view that answers."""

import flask


def test_a_view_answers():
    app = flask.Flask("demo")
    app.add_url_rule("/", view_func=lambda: "here")
    assert app.test_client().get("/").data == b"here"
