import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel


class Item(BaseModel):
    name: str
    price: float


@pytest.fixture
def client():
    app = FastAPI()

    @app.get("/items/{number}")
    def read(number: int, q: str = ""):
        return {"number": number, "q": q}

    @app.post("/items/")
    def write(item: Item):
        return item

    return TestClient(app)


def test_a_path_and_a_query_are_read(client):
    assert client.get("/items/3?q=x").json() == {"number": 3, "q": "x"}


def test_a_wrong_number_is_refused(client):
    assert client.get("/items/three").status_code == 422


def test_a_body_is_a_model(client):
    assert client.post("/items/", json={"name": "pen", "price": "2.5"}).json() == {
        "name": "pen",
        "price": 2.5,
    }


def test_the_schema_names_the_model(client):
    assert "Item" in client.get("/openapi.json").json()["components"]["schemas"]
