"""Write the reference pages docs/commands.md and docs/configuration.md from the code.

    python tools/reference.py            write both
    python tools/reference.py --check    exit 1 if one is out of date

Options and their help come from the command tree, keys from the JSON schemas in matrices/. The
example of a key is its first value in docs/declaration.md, whose declarations a test loads.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import tomlkit

from compat.cli.arguments import SHARED, Argument, Parameter, help_row
from compat.cli.command_table import FIRST, GROUPS, declared_by

ROOT = Path(__file__).parent.parent
GENERATED = "`tools/reference.py` writes this page."
TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "array": "list",
}
EXIT_CODES = """\
| exit code | meaning |
|---|---|
| 0 | yes, or done |
| 1 | done, with findings: a failed cell, a resolution failure, a changed lock |
| 2 | wrong usage, or a fault in a declaration |
| 3 | infrastructure: the index does not answer, or a machine has no isolation or no disk left |
| 4 | authentication |
| 130 | interrupted |
"""


def cell(text: str) -> str:
    """One cell of a Markdown table; `<` is escaped outside of code only."""
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)


def cell_row(*texts: str) -> str:
    return f"| {' | '.join(map(cell, texts))} |"


def command_lines(path: str, key: str) -> Iterator[str]:
    says, parameters = declared_by(key)
    own = [p for p in parameters if p.name not in SHARED]
    yield from (f"## compat {path}", "")
    for paragraph in re.split(r"\n\s*\n", says):
        text = " ".join(paragraph.split())
        if text.startswith(("Example: ", "Examples: ")):
            examples = text.partition(": ")[2].removesuffix(".").split("; ")
            yield from ("```sh", *examples, "```", "")
        else:
            yield from (text, "")
    places = [p.metavar for p in own if isinstance(p, Argument)]
    yield from (f"Usage: `{' '.join(['compat', path, *places, '[OPTIONS]'])}`", "")
    yield from option_lines(own)


def option_lines(parameters: Iterable[Parameter]) -> Iterator[str]:
    rows = [help_row(p) for p in parameters]
    if rows:
        yield from ("| option | meaning |", "|---|---|")
        yield from (cell_row(f"`{name}`", text) for name, text in rows)
        yield ""


def commands_page() -> str:
    lines = ["# Commands", "", GENERATED, "", EXIT_CODES]
    lines += ["## Options of every command", ""]
    lines += ["They may stand anywhere. `compat COMMAND --help` prints what is below.", ""]
    lines += option_lines(SHARED.values())
    for rows in FIRST.values():
        for name in rows:
            lines += command_lines(name, name)
    for group, (_, names) in GROUPS.items():
        for name, key in names.items():
            lines += command_lines(f"{group} {name}", key)
    return "\n".join(lines).rstrip() + "\n"


def kind(schema: dict[str, Any], names: dict[str, str]) -> str:
    """What a value must be, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[`{names[name]}`](#{anchor(names[name])})"
    if "anyOf" in schema:
        return " or ".join(
            kind(each, names) for each in schema["anyOf"] if each.get("type") != "null"
        )
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {}), names)}"
    if schema.get("type") == "object":
        return "table of " + kind(schema.get("additionalProperties") or {"type": "string"}, names)
    said = (
        schema.get("description")
        or schema.get("format", "").replace("-", " ")
        or TYPES.get(schema.get("type", ""), "text")
    )
    low, high = schema.get("minimum"), schema.get("maximum")
    return (
        said
        if low is None
        else f"{said} from {low} to {high:,}"
        if high is not None
        else f"{said} from {low}"
    )


def anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {toml(each)}' for key, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return str(tomlkit.item(value).as_string())


def examples() -> dict[tuple[str, str], str]:
    """The first value of each key of each table in the TOML of docs/declaration.md."""
    found: dict[tuple[str, str], str] = {}

    def take(table: str, values: Any) -> None:
        for each in values if isinstance(values, list) else [values]:
            kind_of_axis = {"interpreter": "InterpreterAxis", "package": "PackageAxis"}.get(
                each.get("kind", ""), table
            )
            for key, value in each.items():
                below = (
                    TABLES.get(key)
                    if isinstance(value, dict)
                    or (isinstance(value, list) and value and isinstance(value[0], dict))
                    else None
                )
                if below:
                    take(below, value)
                if not below or key in ("select", "relaxations", "prereleases"):
                    found.setdefault((kind_of_axis, key), toml(value))

    page = (ROOT / "docs/declaration.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```toml\n(.*?)^```", page, re.M | re.S):
        values = tomlkit.parse(block).unwrap()
        take("Policy" if "cadence" in values else "Matrix", values)
    return found


TITLES = {
    "Matrix": "matrix.toml",
    "Suite": "[suite]",
    "InterpreterAxis": "[[axes]] of interpreters",
    "PackageAxis": "[[axes]] of packages",
    "Selector": "select",
    "Floor": "[[floors]]",
    "Rule": "[[rules]]",
    "Relaxation": "relaxations",
    "KnownIssue": "[[known]]",
    "Prereleases": "prereleases",
    "Source": "[[sources]]",
    "MeasuredThing": "[[measured]]",
    "Policy": "policy.toml",
    "Window": "[[windows]]",
    "Hold": "[[holds]]",
    "KnownBad": "[[known_bad]]",
}


# The table that stands at a key.
TABLES = {title.strip("[]"): name for name, title in TITLES.items()} | {
    "axes": "PackageAxis",
    "metrics": "MeasuredThing",
}


def configuration_page() -> str:
    lines = [
        "# Configuration",
        "",
        GENERATED,
        "",
        "Every key of `matrix.toml` and `policy.toml`, with examples from"
        " [the declaration](declaration.md), which explains them.",
        "",
    ]
    shown = examples()
    for name in ("matrix", "policy"):
        schema = json.loads((ROOT / f"matrices/{name}.schema.json").read_text(encoding="utf-8"))
        definitions = schema["$defs"]
        titles = {key: TITLES.get(key, key) for key in definitions}
        top = schema["$ref"].rpartition("/")[2]
        for key in (top, *(each for each in definitions if each != top)):
            table = definitions[key]
            lines += [
                f"## `{titles[key]}`",
                "",
                *(
                    " ".join(part.split()) + "\n"
                    for part in table.get("description", "").split("\n\n")[:9]
                    if part
                ),
            ]
            if "properties" not in table:
                lines += [kind(table, titles), ""]
                continue
            lines += ["| key | value | default | example |", "|---|---|---|---|"]
            for field, value in sorted(
                table["properties"].items(),
                key=lambda item: item[0] not in table.get("required", []),
            ):
                default = (
                    "required"
                    if field in table.get("required", [])
                    else f"`{json.dumps(value['default'])}`"
                    if value.get("default") not in (None, "", [], {})
                    else ""
                )
                example = f"`{shown[key, field]}`" if (key, field) in shown else ""
                lines.append(cell_row(f"`{field}`", kind(value, titles), default, example))
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    stale = 0
    for name, text in (("commands", commands_page()), ("configuration", configuration_page())):
        path = ROOT / "docs" / f"{name}.md"
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"docs/{name}.md is out of date: run python tools/reference.py", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    raise SystemExit(main())
