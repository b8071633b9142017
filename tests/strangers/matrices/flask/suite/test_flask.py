import flask
import pytest


@pytest.fixture
def client():
    app = flask.Flask(__name__)

    @app.get("/")
    def home():
        return "hello"

    @app.get("/users/<int:number>")
    def user(number):
        return flask.jsonify(number=number, url=flask.url_for("user", number=number))

    return app.test_client()


def test_the_home_page_says_hello(client):
    assert client.get("/").data == b"hello"


def test_a_route_takes_a_number(client):
    assert client.get("/users/7").get_json() == {"number": 7, "url": "/users/7"}


def test_a_page_that_is_not_there_is_a_404(client):
    assert client.get("/users/seven").status_code == 404


def test_a_template_escapes_html():
    app = flask.Flask(__name__)
    with app.app_context():
        assert flask.render_template_string("<p>{{ name }}</p>", name="<b>") == "<p>&lt;b&gt;</p>"
