"""One spelling for what releases of mcp name differently, and a client that talks to a server in the same process."""

import contextlib
import importlib

import anyio
import pytest


class Absent(pytest.skip.Exception):
    """This release has none of the names: neither a success nor a failure."""

    def __init__(self, *names):
        super().__init__("absent: " + ", ".join(names))
        self.missing = names


def look_up(*names):
    """Return the first of the dotted names that exists; raise Absent where none does."""
    for name in names:
        module, _, attribute = name.rpartition(".")
        try:
            return getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            # Another module that is missing is a fault, and no absence.
            if not (error.name and (module + ".").startswith(error.name + ".")):
                raise
        except AttributeError:
            pass
    raise Absent(*names)


def make_server(*arguments, **options):
    """Return a high-level server: FastMCP until 1.30, MCPServer from 2.0 on."""
    return look_up("mcp.server.fastmcp.FastMCP", "mcp.server.mcpserver.MCPServer")(*arguments, **options)


def helper(name):
    """Return a name that stands beside the high-level server, such as Context."""
    return look_up("mcp.server.fastmcp." + name, "mcp.server.mcpserver." + name)


def value(result, *names):
    """Return the field of a result that has one of these names; 2.0 renamed them to snake_case."""
    for name in names:
        if hasattr(result, name):
            return getattr(result, name)
    raise Absent(*names)


@contextlib.asynccontextmanager
async def connected(server, **options):
    """Yield a client of the server, in this process."""
    try:
        client = look_up("mcp.Client")
    except Absent:
        connect = look_up("mcp.shared.memory.create_connected_server_and_client_session")
        async with connect(getattr(server, "_mcp_server", server), **options) as session:
            yield session
    else:
        async with client(server, **options) as session:
            yield session


def ask(server, question, **options):
    """Return what an asynchronous function answers to a client of the server."""

    answers, errors = [], []

    async def asking():
        with anyio.fail_after(20):
            async with connected(server, **options) as client:
                try:
                    answers.append(await question(client))
                except Exception as error:
                    # Kept from the task groups around it, which would bury it in groups of exceptions.
                    errors.append(error)

    anyio.run(asking)
    for error in errors:
        raise error
    return answers[0]


def call(server, name, arguments=None, **options):
    """Return the result of one call of a tool."""
    return ask(server, lambda client: client.call_tool(name, arguments or {}), **options)


def request(app, method, path, body=b"", headers=(), until=None):
    """Send one request to an ASGI application; return its status and its body, up to the text `until`."""
    answer = {"status": None, "body": b""}

    async def asking():
        sent = False

        async def receive():
            nonlocal sent
            if sent:
                await anyio.sleep_forever()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            if message["type"] == "http.response.start":
                answer["status"] = message["status"]
            else:
                answer["body"] += message.get("body", b"")
            if until and until in answer["body"]:
                scope_of_request.cancel()

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1:8000"), *headers],
            "client": ("127.0.0.1", 5000),
            "server": ("127.0.0.1", 8000),
            "state": {},
        }
        with anyio.fail_after(20):
            async with app.router.lifespan_context(app):
                with anyio.CancelScope() as scope_of_request:
                    await app(scope, receive, send)

    anyio.run(asking)
    return answer["status"], answer["body"]
