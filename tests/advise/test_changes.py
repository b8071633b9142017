"""What is known of the objects, calls and words of much-used packages: each piece of it finds an
example, and what is like it and one's own is left alone.
"""

import re

import pytest

from compat.advise.changed_words import OF_CHANGED_WORDS
from compat.advise.message import legible, read_message
from compat.advise.pattern_words import may_match

# At least one for each rule, with the package at fault.
EXAMPLES = [
    ("AttributeError: 'engine' object has no attribute 'execute'", "sqlalchemy"),
    ("AttributeError: 'graph' object has no attribute 'node'", "networkx"),
    ("AttributeError: 'figurecanvasm' object has no attribute 'set_window_title'", "matplotlib"),
    ("AttributeError: 'intents' object has no attribute 'message_content'", "discord-py"),
    ("AttributeError: 'function' object has no attribute 'get_marker'", "pytest"),
    ("AttributeError: 'pytestpluginmanager' object has no attribute 'hasplugin'", "pytest"),
    ("AttributeError: 'treerebuilder' object has no attribute 'visit_m'", "astroid"),
    ("AttributeError: 'RequirementSet' object has no attribute 'add_requirement'", "pip"),
    ("AttributeError: 'Values' object has no attribute 'process_dependency_links'", "pip"),
    ("TypeError: __init__() got an unexpected keyword argument 'proxies'", "httpx"),
    ("TypeError: get() got an unexpected keyword argument 'proxies'", "httpx"),
    ("TypeError: __init__() got an unexpected keyword argument 'gpus'", "pytorch-lightning"),
    ("TypeError: metadata.__init__() got an unexpected keyword argument 'bind'", "sqlalchemy"),
    ("TypeError: __init__() got an unexpected keyword argument 'sparse_output'", "scikit-learn"),
    ("TypeError: __init__() got an unexpected keyword argument 'loop'", "python"),
    ("TypeError: load() missing 2 required positional argument: 'loader'", "pyyaml"),
    ("TypeError: __init__() missing 2 required positional argument: 'intents'", "discord-py"),
    ("TypeError: argument() missing 2 required positional argument: 'default'", "typer"),
    ("TypeError: make_metavar() missing 2 required positional argument: 'ctx'", "click"),
    ("TypeError: parse_requirements() missing 2 required positional argument: 'session'", "pip"),
    ("TypeError: dataframe.m() takes 2 positional argument but", "pandas"),
    ("TypeError: dataframe.m() takes 2 positional argument but", "pandas"),
    ("TypeError: fastmcp.m() takes 2 positional argument but", "fastmcp"),
    ("pydantic.errors.PydanticUserError: A field has no annotation", "pydantic"),
    ("weights only load failed", "torch"),
    ("ValueError: node array from the pickle has an incompatible dtype:", "scikit-learn"),
    ("If you are loading a serialized model (like pickle in Python, RDS in R)", "xgboost"),
    ("pandas._config.config.OptionError: Pattern matched multiple keys", "pandas"),
    ("attributeerror: cython_sources", "pyyaml"),
    ("nameerror: name modulenotfounderror is not defined", "python"),
]


@pytest.mark.parametrize(("text", "package"), EXAMPLES)
def test_an_example_is_recognised(text: str, package: str) -> None:
    plain = legible(text)
    rules = [rule for rule in OF_CHANGED_WORDS if rule.package == package]
    found = [r for r in rules if re.search(r.pattern, plain, re.IGNORECASE | re.ASCII)]
    assert found
    assert all(may_match(rule.pattern, plain.lower()) for rule in found)
    told = [c.package for c in read_message(text).complaints if c.is_fault and c.is_certain]
    assert package in told


def test_each_rule_has_an_example() -> None:
    for rule in OF_CHANGED_WORDS:
        texts = [legible(text) for text, package in EXAMPLES if package == rule.package]
        assert any(re.search(rule.pattern, text, re.IGNORECASE | re.ASCII) for text in texts)


@pytest.mark.parametrize(
    "text",
    [
        "AttributeError: 'Row' object has no attribute 'update'",
        "AttributeError: 'Graph' object has no attribute 'vertices'",
        "AttributeError: 'Model' object has no attribute 'net'",
        "AttributeError: 'Client' object has no attribute 'guild_list'",
        "AttributeError: 'Connection' object has no attribute 'query'",
        "AttributeError: 'dict' object has no attribute 'model_dump'",
        "TypeError: Trainer.__init__() got an unexpected keyword argument 'epochs'",
        "TypeError: Client.__init__() got an unexpected keyword argument 'hostname'",
        "TypeError: load() missing 1 required positional argument: 'path'",
        "TypeError: load() takes 1 positional argument but 2 were given",
        "TypeError: __init__() got an unexpected keyword argument 'mode'",
        "TypeError: render() got an unexpected keyword argument 'template'",
        "KeyError: 'accuracy'",
        "ValueError: too many values to unpack (expected 4)",
        "RuntimeError: There is no current event loop in thread 'Thread-1'.",
        "OSError: [E050] Can't find model 'en_core_web_sm'.",
    ],
)
def test_what_is_like_it_and_ones_own_is_left_alone(text: str) -> None:
    assert not any(c.is_fault and c.package for c in read_message(text).complaints if c.is_certain)
