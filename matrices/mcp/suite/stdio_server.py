"""A server that a test starts as a process of its own."""

from api import make_server

server = make_server("demo")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


if __name__ == "__main__":
    server.run()
