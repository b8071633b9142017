"""The `advise` room's knowledge of what releases of much-used packages took from their objects,
calls and words, as their changelogs say. Each rule recognises a known case.
"""

from compat.advise.message_rule import MessageRule, fault
from compat.run.outcome import Cause

_OLD: Cause = "missing-attribute"
_TYPE: Cause = "type-error"
_ERROR: Cause = "error"
_LACKS = r"(?: object)? has no attribute"
_GOT = r"\(\) got an unexpected keyword argument"
_MISSING = r"\(\) missing \d{1,2} required (?:positional|keyword-only) arguments?:"
_TAKES = (
    r"\.(?:\w{1,60})\(\) (?:takes (?:from )?\d{1,2}(?: to \d{1,2})? positional arguments? but"
    r"|got an unexpected keyword argument \w{1,80})"
)
# What is wrong, what would mend it or the package alone, and what it says, in lower case.
_ROWS: tuple[tuple[Cause, str, str], ...] = (
    (
        _OLD,
        "sqlalchemy<2",
        r"(?:option)?engine" + _LACKS + r" (?:execute|table_names|has_table|scalar|run_callable"
        r"|transaction)(?!\w)",
    ),
    (_OLD, "networkx<2.4", r"(?:multi)?(?:di|ordereddi)?graph" + _LACKS + r" node(?!\w)"),
    (_OLD, "matplotlib<3.6", r"figurecanvas\w{1,20}" + _LACKS + r" set_window_title(?!\w)"),
    (_OLD, "discord-py", r"(?:intents|connectionstate)" + _LACKS + r" \w{1,60}"),
    (
        _OLD,
        "pytest",
        r"(?:function|item|fixturedef|package|module)" + _LACKS + r" (?:get_marker|unittest|obj)"
        r"(?!\w)|(?<!\w)(?:pytestpluginmanager|fixturefunctiondefinition)" + _LACKS + r" \w{1,80}",
    ),
    (_OLD, "astroid", r"treerebuilder" + _LACKS + r" visit_\w{1,40}"),
    (
        _OLD,
        "pip",
        r"(?:installrequirement|requirementset|packagefinder|pipsession|requirementpreparer"
        r"|linkcollector)" + _LACKS + r" \w{1,80}|(?<!\w)values" + _LACKS + r" (?:build_isolation"
        r"|process_dependency_links)(?!\w)",
    ),
    (
        _TYPE,
        "httpx<0.28",
        r"(?:(?:async)?client\.)?(?:__init__|get|post|request|stream|put|patch|delete)"
        + _GOT
        + r" (?:proxies|app)(?!\w)",
    ),
    (
        _TYPE,
        "pytorch-lightning<2",
        r"(?:trainer\.)?__init__" + _GOT + r" (?:gpus|tpu_cores|num_processes|auto_select_gpus|ipus"
        r"|progress_bar_refresh_rate|weights_summary|checkpoint_callback|resume_from_checkpoint"
        r"|distributed_backend|amp_backend|flush_logs_every_n_steps|terminate_on_nan)(?!\w)",
    ),
    (_TYPE, "sqlalchemy<2", r"metadata\.__init__" + _GOT + r" bind(?!\w)"),
    (
        _TYPE,
        "scikit-learn",
        r"(?:\w{1,40}\.)?(?:__init__|__new__|fit|check_array|make_scorer)" + _GOT + r" (?:affinity"
        r"|sparse_output|base_estimator|min_impurity_split|presort|categorical_features|iid"
        r"|force_all_finite|ensure_all_finite|needs_proba|needs_threshold|n_topics)(?!\w)",
    ),
    (
        _TYPE,
        "python<3.10",
        r"(?:(?:(?:lock|event|queue|semaphore|condition)\.)?__init__|sleep|wait|wait_for|gather"
        r"|as_completed|open_connection|create_subprocess_exec|start_server)" + _GOT + r" loop\b",
    ),
    (_TYPE, "pyyaml<6", r"load(?:_all)?" + _MISSING + r" loader(?!\w)"),
    (_TYPE, "discord-py<2", r"(?:\w{1,30}\.)?__init__" + _MISSING + r" intents(?!\w)"),
    (_TYPE, "typer", r"(?:argument|option)" + _MISSING + r" default(?!\w)"),
    (_TYPE, "click<8.2", r"(?:\w{1,40}\.)?make_metavar" + _MISSING + r" ctx(?!\w)"),
    (
        _TYPE,
        "pip",
        r"(?:parse_requirements|search_packages_info)" + _MISSING + r" (?:session|include_files)"
        r"(?!\w)",
    ),
    (
        _TYPE,
        "pandas",
        r"typeerror: (?:\w{1,40}\.){0,2}(?:dataframe|series|stringdtype|dataframegroupby"
        r"|seriesgroupby|multiindex|ndframe|styler)" + _TAKES,
    ),
    (_TYPE, "fastmcp", r"typeerror: (?:\w{1,40}\.){0,2}fastmcp" + _TAKES),
    # https://docs.pydantic.dev/latest/migration/, https://docs.pydantic.dev/latest/errors/
    (
        _ERROR,
        "pydantic",
        r"pydanticusererror: |a non-annotated attribute was detected: |was overridden by a"
        r" non-annotated attribute|field and config parameters are not available in pydantic v2",
    ),
    # https://github.com/pytorch/pytorch/releases
    (
        _ERROR,
        "torch",
        r"weights only load failed|the default value of the weights_only argument in torch\.load"
        r"|legacy autograd function with non-static forward|unknown builtin op:",
    ),
    # https://scikit-learn.org/stable/model_persistence.html, https://xgboost.readthedocs.io
    (_ERROR, "scikit-learn", r"node array from the pickle has an incompatible dtype"),
    (_ERROR, "xgboost", r"loading a serialized model \(like pickle in python"),
    (_ERROR, "pandas", r"optionerror: pattern matched multiple keys"),
    # https://github.com/yaml/pyyaml/issues/601, https://github.com/cython/cython/issues/5568
    ("build", "pyyaml", r"attributeerror: cython_sources"),
    (
        _OLD,
        "python>=3.6",
        r"nameerror: name (?:modulenotfounderror|filenotfounderror|breakpoint|anext|aiter) is not"
        r" defined",
    ),
)


def _of_row(cause: Cause, needs: str, words: str) -> MessageRule:
    package = needs.partition("<")[0].partition(">")[0]
    if ">" in needs:
        sentence = f"It asks for {needs}: what is installed is older than what it is for."
    elif "<" in needs:
        sentence = f"It is for {needs}: what is installed no longer takes it."
    else:
        sentence = f"The installed {package} is of another release than what it is given is for."
    needs = needs if needs != package else ""
    # A name begins where it stands alone; an error may be named with its module.
    start = r"(?<![\w.])" if cause in (_OLD, _TYPE) else ""
    return fault(cause, start + words, sentence, package=package, needs=needs)


OF_CHANGED_WORDS = tuple(_of_row(*row) for row in _ROWS)
