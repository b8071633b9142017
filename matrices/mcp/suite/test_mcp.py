"""The MCP SDK as its users run it: servers with tools, resources and prompts, and a client that asks them."""

import json
import sys
from pathlib import Path

import anyio
import pytest
from api import Absent, ask, call, helper, look_up, make_server, request, value
from pydantic import BaseModel, Field

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}},
}


class Person(BaseModel):
    name: str
    age: int = Field(ge=0)


def text(result):
    """Return the text of a result's first content."""
    return result.content[0].text


@pytest.mark.capability(
    "import",
    title="Import",
    says="mcp imports, with client, server and types.",
)
def test_it_imports():
    import mcp.types

    import mcp

    assert mcp.ClientSession
    assert mcp.types.Tool


@pytest.mark.capability(
    "server.fastmcp",
    title="The name FastMCP",
    says="A server is made by `from mcp.server.fastmcp import FastMCP`, as all code for mcp 1 does.",
)
def test_a_server_is_made_under_its_first_name():
    server = look_up("mcp.server.fastmcp.FastMCP")("demo")
    assert server.name == "demo"


@pytest.mark.capability(
    "tool.list",
    title="List tools",
    says="A client sees the name and the description of a tool.",
)
def test_a_client_lists_tools():
    server = make_server("demo")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    (tool,) = ask(server, lambda client: client.list_tools()).tools
    assert (tool.name, tool.description) == ("add", "Add two numbers.")


@pytest.mark.capability(
    "tool.call",
    title="Call a tool",
    says="A function with a decorator is called by a client.",
)
def test_a_client_calls_a_tool():
    server = make_server("demo")

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    assert text(call(server, "add", {"a": 40, "b": 2})) == "42"


@pytest.mark.capability(
    "tool.async",
    title="An asynchronous tool",
    says="A coroutine is a tool, too.",
)
def test_a_coroutine_is_a_tool():
    server = make_server("demo")

    @server.tool(name="wait", description="Wait.")
    async def anything(text: str) -> str:
        await anyio.sleep(0)
        return text.upper()

    assert text(call(server, "wait", {"text": "done"})) == "DONE"


@pytest.mark.capability(
    "tool.schema",
    title="A tool's schema",
    says="The types, defaults and descriptions of parameters become the JSON schema that a client sees.",
)
def test_parameters_become_a_schema():
    server = make_server("demo")

    @server.tool()
    def find(word: str, limit: int = Field(default=10, description="how many", le=100)) -> str:
        return word

    (tool,) = ask(server, lambda client: client.list_tools()).tools
    schema = value(tool, "inputSchema", "input_schema")
    assert schema["required"] == ["word"]
    limit = schema["properties"]["limit"]
    assert (limit["type"], limit["default"], limit["maximum"], limit["description"]) == ("integer", 10, 100, "how many")


@pytest.mark.capability(
    "tool.default",
    title="A default",
    says="A parameter that a client leaves out has its default.",
)
def test_a_default_is_filled_in():
    server = make_server("demo")

    @server.tool()
    def repeat(word: str, times: int = 2) -> str:
        return word * times

    assert text(call(server, "repeat", {"word": "a"})) == "aa"


@pytest.mark.capability(
    "tool.model",
    title="A model as an argument",
    says="A tool takes a pydantic model, which its argument is parsed to.",
)
def test_a_model_is_an_argument():
    server = make_server("demo")

    @server.tool()
    def greet(person: Person) -> str:
        assert isinstance(person, Person)
        return f"{person.name}, {person.age}"

    assert text(call(server, "greet", {"person": {"name": "Ada", "age": 36}})) == "Ada, 36"


@pytest.mark.capability(
    "tool.optional",
    title="Unions",
    says="A tool with an optional argument takes null, a value, and neither.",
)
def test_an_optional_argument():
    server = make_server("demo")

    @server.tool()
    def show(word: str | None = None) -> str:
        return str(word)

    assert text(call(server, "show", {"word": None})) == "None"
    assert text(call(server, "show", {"word": "a"})) == "a"
    assert text(call(server, "show")) == "None"


@pytest.mark.capability(
    "tool.refuses",
    title="A wrong argument",
    says="An argument that does not fit its type is an error of the call, and the tool is not run.",
)
def test_a_wrong_argument_is_an_error():
    server, ran = make_server("demo"), []

    @server.tool()
    def greet(person: Person) -> str:
        ran.append(person)
        return "no"

    result = call(server, "greet", {"person": {"name": "Ada", "age": -1}})
    assert value(result, "isError", "is_error") is True
    assert "greater than or equal to 0" in text(result)
    assert not ran


@pytest.mark.capability(
    "tool.error",
    title="A tool that fails",
    says="An exception in a tool reaches the client as an error of this call.",
)
def test_an_exception_is_an_error():
    server = make_server("demo")

    @server.tool()
    def fail() -> str:
        raise ValueError("no such city")

    assert value(call(server, "fail"), "isError", "is_error") is True


@pytest.mark.capability(
    "tool.error-message",
    title="The message of an exception",
    says="A client reads why a tool failed: the exception's message.",
)
def test_a_client_reads_the_message():
    server = make_server("demo")

    @server.tool()
    def fail() -> str:
        raise ValueError("no such city")

    assert "no such city" in text(call(server, "fail"))


@pytest.mark.capability(
    "tool.structured",
    title="Structured results",
    says="A tool that returns a pydantic model gives the client its fields, beside their schema.",
)
def test_a_model_is_a_structured_result():
    server = make_server("demo")

    @server.tool()
    def find() -> Person:
        return Person(name="Ada", age=36)

    result = call(server, "find")
    assert value(result, "structuredContent", "structured_content") == {"name": "Ada", "age": 36}
    (tool,) = ask(server, lambda client: client.list_tools()).tools
    assert set(value(tool, "outputSchema", "output_schema")["properties"]) == {"name", "age"}


@pytest.mark.capability(
    "tool.image",
    title="Images",
    says="A tool returns an image, which the client gets with its type.",
)
def test_a_tool_returns_an_image():
    server, image = make_server("demo"), helper("Image")

    @server.tool()
    def draw():
        return image(data=b"\x89PNG", format="png")

    (content,) = call(server, "draw").content
    assert (content.type, value(content, "mimeType", "mime_type")) == ("image", "image/png")


@pytest.mark.capability(
    "tool.context",
    title="The context",
    says="A tool gets the context of its call, which no client sees as a parameter.",
)
def test_a_tool_gets_its_context():
    server, context = make_server("demo"), helper("Context")

    def identify(word: str, ctx) -> str:
        return word + str(bool(ctx.request_id))

    identify.__annotations__["ctx"] = context
    server.tool()(identify)
    (tool,) = ask(server, lambda client: client.list_tools()).tools
    assert set(value(tool, "inputSchema", "input_schema")["properties"]) == {"word"}
    assert text(call(server, "identify", {"word": "a"})) == "aTrue"


@pytest.mark.capability(
    "server.lifespan",
    title="Lifespan",
    says="What a server's lifespan makes reaches the tools, and is cleaned up.",
)
def test_a_lifespan_reaches_the_tools():
    import contextlib

    # A server before it takes any setting, and heeds none that it does not know.
    look_up("mcp.server.lowlevel.server.lifespan")
    events, context = [], helper("Context")

    @contextlib.asynccontextmanager
    async def lifespan(server):
        events.append("start")
        yield {"answer": 42}
        events.append("end")

    server = make_server("demo", lifespan=lifespan)

    def ask_it(ctx) -> str:
        return str(ctx.request_context.lifespan_context["answer"])

    ask_it.__annotations__["ctx"] = context
    server.tool()(ask_it)
    assert text(call(server, "ask_it")) == "42"
    assert events == ["start", "end"]


@pytest.mark.capability(
    "resource.read",
    title="Read a resource",
    says="A client reads a resource under its address.",
)
def test_a_client_reads_a_resource():
    server = make_server("demo")

    @server.resource("config://app")
    def config() -> str:
        return "a=1"

    (resource,) = ask(server, lambda client: client.list_resources()).resources
    (content,) = ask(server, lambda client: client.read_resource(resource.uri)).contents
    assert (str(resource.uri), content.text) == ("config://app", "a=1")


@pytest.mark.capability(
    "resource.template",
    title="Resource templates",
    says="The parameters of a template come from the address.",
)
def test_a_template_has_parameters():
    server = make_server("demo")

    @server.resource("users://{name}/profile")
    def profile(name: str) -> str:
        return "of " + name

    async def read(client):
        templates = await value(client, "list_resource_templates")()
        (template,) = value(templates, "resourceTemplates", "resource_templates")
        address = value(template, "uriTemplate", "uri_template").replace("{name}", "ada")
        try:
            return await client.read_resource(address)
        except (AttributeError, TypeError, ValueError):
            from pydantic import AnyUrl

            return await client.read_resource(AnyUrl(address))

    (content,) = ask(server, read).contents
    assert content.text == "of ada"


@pytest.mark.capability(
    "resource.json",
    title="JSON of a resource",
    says="A resource that returns a dictionary is read as JSON.",
)
def test_a_dictionary_is_json():
    server = make_server("demo")

    @server.resource("config://app")
    def config() -> dict:
        return {"a": [1]}

    async def read(client):
        (resource,) = (await client.list_resources()).resources
        return await client.read_resource(resource.uri)

    (content,) = ask(server, read).contents
    assert json.loads(content.text) == {"a": [1]}


@pytest.mark.capability(
    "prompt.get",
    title="Prompts",
    says="A client lists a prompt and fills in its arguments.",
)
def test_a_prompt_is_filled_in():
    server = make_server("demo")

    @server.prompt()
    def review(code: str) -> str:
        return "Review " + code

    async def get(client):
        (prompt,) = (await client.list_prompts()).prompts
        assert [argument.name for argument in prompt.arguments] == ["code"]
        return await client.get_prompt(prompt.name, {"code": "x = 1"})

    (message,) = ask(server, get).messages
    assert (message.role, message.content.text) == ("user", "Review x = 1")


@pytest.mark.capability(
    "prompt.messages",
    title="A conversation",
    says="A prompt of several messages keeps their roles and order.",
)
def test_a_prompt_of_several_messages():
    server = make_server("demo")
    user, assistant = (
        look_up(f"mcp.server.fastmcp.prompts.base.{name}", f"mcp.server.mcpserver.prompts.base.{name}")
        for name in ("UserMessage", "AssistantMessage")
    )

    @server.prompt()
    def talk() -> list:
        return [user("a"), assistant("b")]

    got = ask(server, lambda client: client.get_prompt("talk"))
    assert [(message.role, message.content.text) for message in got.messages] == [("user", "a"), ("assistant", "b")]


@pytest.mark.capability(
    "client.ping",
    title="Ping",
    says="A client pings a server.",
)
def test_a_client_pings():
    assert ask(make_server("demo"), lambda client: client.send_ping()) is not None


@pytest.mark.capability(
    "server.low-level",
    title="The low-level server of mcp 1",
    says="A low-level server takes its handlers by decorators, such as `@server.list_tools()`.",
)
def test_a_low_level_server_takes_decorators():
    from mcp.server import Server

    from mcp import types

    if not hasattr(Server, "list_tools"):
        raise Absent("mcp.server.Server.list_tools")
    server = Server("demo")

    @server.list_tools()
    async def tools():
        return [types.Tool(name="a", description="b", inputSchema={"type": "object"})]

    (tool,) = ask(server, lambda client: client.list_tools()).tools
    assert tool.name == "a"


@pytest.mark.capability(
    "types.json",
    title="Types as JSON",
    says="A tool's description survives JSON, by its public names.",
)
def test_types_survive_json():
    from mcp.types import Tool

    tool = Tool.model_validate({"name": "a", "inputSchema": {"type": "object"}})
    made = json.loads(tool.model_dump_json(by_alias=True, exclude_none=True))
    assert made == {"name": "a", "inputSchema": {"type": "object"}}
    assert Tool.model_validate(made) == tool


@pytest.mark.capability(
    "auth.metadata",
    title="OAuth metadata",
    says="The metadata of an OAuth client is parsed, and wrong addresses are refused.",
)
def test_metadata_of_a_client_is_parsed():
    from pydantic import ValidationError

    metadata = look_up("mcp.shared.auth.OAuthClientMetadata")
    made = metadata.model_validate({"redirect_uris": ["https://example.org/callback"]})
    assert [str(address) for address in made.redirect_uris] == ["https://example.org/callback"]
    with pytest.raises(ValidationError):
        metadata.model_validate({"redirect_uris": ["no address"]})


@pytest.mark.capability(
    "http.streamable",
    title="Streamable HTTP",
    says="The ASGI application of a server answers a client's initialization.",
)
def test_the_application_answers():
    server = make_server("demo")
    app = value(server, "streamable_http_app")()
    headers = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
    status, body = request(app, "POST", "/mcp", json.dumps(INITIALIZE).encode(), headers, until=b"serverInfo")
    assert status == 200
    assert b'"name":"demo"' in body


@pytest.mark.capability(
    "http.sse",
    title="HTTP with SSE",
    says="The application for the older transport names where messages are to be sent.",
)
def test_the_older_transport_names_its_endpoint():
    app = value(make_server("demo"), "sse_app")()
    status, body = request(app, "GET", "/sse", until=b"session_id=")
    assert status == 200
    assert body.startswith(b"event: endpoint")


@pytest.mark.capability(
    "http.route",
    title="A route beside MCP",
    says="A server's own route is served by Starlette beside the protocol's.",
)
def test_a_route_of_ones_own():
    from starlette.responses import JSONResponse

    server = make_server("demo")
    route = value(server, "custom_route")

    @route("/health", methods=["GET"])
    async def health(request):
        return JSONResponse({"ok": True})

    app = value(server, "streamable_http_app")()
    status, body = request(app, "GET", "/health")
    assert (status, json.loads(body)) == (200, {"ok": True})


@pytest.mark.capability(
    "http.mount",
    title="Mounted in Starlette",
    says="The application is mounted in a Starlette application with others.",
)
def test_the_application_is_mounted():
    from starlette.applications import Starlette
    from starlette.routing import Mount

    app = Starlette(routes=[Mount("/tools", app=value(make_server("demo"), "sse_app")())])
    status, body = request(app, "GET", "/tools/sse", until=b"session_id=")
    assert status == 200
    assert b"/tools/messages/" in body


@pytest.mark.capability(
    "transport.stdio",
    title="Standard input",
    says="A client starts a server as a process and calls its tool by stdin and stdout.",
)
def test_a_client_starts_a_server():
    from mcp.client.stdio import stdio_client

    from mcp import ClientSession, StdioServerParameters

    async def asking():
        here = str(Path(__file__).parent)
        parameters = StdioServerParameters(
            command=sys.executable, args=[here + "/stdio_server.py"], env={"PYTHONPATH": ":".join(sys.path)}
        )
        with anyio.fail_after(40):
            async with stdio_client(parameters) as (reading, writing), ClientSession(reading, writing) as session:
                await session.initialize()
                return await session.call_tool("add", {"a": 40, "b": 2})

    assert text(anyio.run(asking)) == "42"
