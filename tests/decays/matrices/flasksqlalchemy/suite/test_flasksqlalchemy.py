"""A model that is stored and read."""

import flask
from flask_sqlalchemy import SQLAlchemy


def test_a_row_is_stored():
    app = flask.Flask("demo")
    app.config.update(SQLALCHEMY_DATABASE_URI="sqlite://", SQLALCHEMY_TRACK_MODIFICATIONS=False)
    db = SQLAlchemy(app)

    class Row(db.Model):
        id = db.Column(db.Integer, primary_key=True)

    with app.app_context():
        db.create_all()
        db.session.add(Row(id=7))
        db.session.commit()
        assert Row.query.count() == 1
