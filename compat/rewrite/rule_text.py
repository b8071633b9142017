"""A relaxing rule as the lines that people put into a matrix.toml."""

import tomlkit
from tomlkit.items import InlineTable

from compat.declare.matrix import Relaxation, Rule


def rule_text(rule: Rule, evidence: str = "") -> str:
    # Return a rule as an entry `[[rules]]`, ready to stand at the end of a matrix.toml; its reason
    # ends with the evidence.
    table = tomlkit.table()
    table["name"] = rule.name
    table["effect"] = rule.effect
    table["because"] = f"{rule.because}{evidence}"
    if rule.when.conditions:
        when = tomlkit.inline_table()
        when.update({axis: str(condition) for axis, condition in rule.when.conditions})
        table["when"] = when
    if rule.relaxations:
        relaxations = tomlkit.array().multiline(True)
        relaxations.extend(map(_relaxation, rule.relaxations))
        table["relaxations"] = relaxations
    rules = tomlkit.aot()
    rules.append(table)
    document = tomlkit.document()
    document["rules"] = rules
    return tomlkit.dumps(document)


def _relaxation(relaxation: Relaxation) -> InlineTable:
    entry = tomlkit.inline_table()
    entry["package"] = relaxation.package
    if relaxation.ignore_requires_python:
        entry["ignore_requires_python"] = True
        return entry
    entry["to"] = relaxation.to
    if relaxation.as_of is not None:
        entry["as_of"] = relaxation.as_of
    entry.update({name: True for name in ("everywhere", "always") if getattr(relaxation, name)})
    return entry
