"""A request by the test client."""


def test_the_test_client_answers():
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route
    from starlette.testclient import TestClient

    async def home(request):
        return PlainTextResponse("here")

    assert TestClient(Starlette(routes=[Route("/", home)])).get("/").text == "here"
