# ruff: noqa: E501 (what tools said stands here word for word)
"""What resolvers said on real indexes, and what we make of it: one real example for each
pattern.
"""

import pytest

from compat.lock.refusals import last_words, refusal_of_pip, refusal_of_uv, tool_message

# uv 0.13.9 and 0.9 differ in frame only; both are read.
UV = [
    (
        "no-artifact(jaxlib==0.4.14)",
        """\
error: No solution found when resolving dependencies
  cause: Because there is no version of jaxlib==0.4.14 and tensorflow-federated>=0.87.0 depends on jaxlib==0.4.14, we can conclude that tensorflow-federated>=0.87.0 cannot be used.
         And because you require tensorflow-federated==0.87.0, we can conclude that your requirements are unsatisfiable.
""",
    ),
    (
        "no-artifact(jaxlib==0.4.14)",
        """\
  \u00d7 No solution found when resolving dependencies:
  ╰─▶ Because there is no version of jaxlib==0.4.14 and tensorflow-federated==0.87.0
      depends on jaxlib==0.4.14, we can conclude that tensorflow-federated==0.87.0 cannot
      be used.
""",
    ),
    (
        "requires-python(tensorflow-federated==0.36.0)",
        """\
error: No solution found when resolving dependencies
  cause: Because the requested Python version (>=3.8.18) does not satisfy Python>=3.9.0,<3.10 and tensorflow-federated==0.36.0 depends on Python>=3.9.0,<3.10, we can conclude that tensorflow-federated==0.36.0 cannot be used.
""",
    ),
    (
        "no-artifact(ml-dtypes>=0.1.0)",
        """\
error: No solution found when resolving dependencies
  cause: Because only ml-dtypes<=0.0.4 is available and jax==0.4.13 depends on ml-dtypes>=0.1.0, we can conclude that jax==0.4.13 cannot be used.
""",
    ),
    (
        "no-artifact(ml-dtypes)",
        """\
error: No solution found when resolving dependencies
  cause: Because there are no versions of ml-dtypes and jaxlib<=0.4.13 depends on ml-dtypes>=0.1.0, we can conclude that jaxlib<=0.4.13 cannot be used.
""",
    ),
    (
        "no-artifact(nonexistent-zzz-package-1)",
        """\
error: No solution found when resolving dependencies
  cause: Because nonexistent-zzz-package-1 was not found in the package registry and you require nonexistent-zzz-package-1, we can conclude that your requirements are unsatisfiable.
""",
    ),
    (
        "no-artifact(tensorflow>=2.3.0,<=2.3.4)",
        """\
error: No solution found when resolving dependencies
  cause: Because tensorflow>=2.3.0,<=2.3.4 has no wheels with a matching Python ABI tag (e.g., `cp39`) and only the following versions of tensorflow are available:
             tensorflow<2.3.dev0
             tensorflow>=2.3.0,<=2.3.4
         we can conclude that tensorflow==2.3.* cannot be used.
""",
    ),
    (
        "conflict(tensorflow>=2.8.0,<2.9.dev0)",
        """\
error: No solution found when resolving dependencies
  cause: Because tensorflow-federated==0.20.0 depends on tensorflow>=2.8.0,<2.9.dev0 and you require tensorflow-federated==0.20.0, we can conclude that you require tensorflow>=2.8.0,<2.9.dev0.
         And because you require tensorflow==2.9.*, we can conclude that your requirements are unsatisfiable.
""",
    ),
    (
        "build(absl-py==0.9.0)",
        """\
warning: The requested Python version 3.8.18 is not available; 3.11.7 will be used to build dependencies instead.
error: Failed to build `absl-py==0.9.0`
  cause: The build backend returned an error
  cause: Call to `setuptools.build_meta:__legacy__.get_requires_for_build_wheel` failed (exit status: 1)
""",
    ),
    (
        "source-only(markupsafe>=2.0.0rc2,<=2.0.1)",
        """\
error: No solution found when resolving dependencies
  cause: Because jinja2==3.0.0 depends on markupsafe>=2.0.0rc2 and markupsafe>=2.0.0rc2,<=2.0.1 has no usable wheels, we can conclude that jinja2==3.0.0 depends on markupsafe>=2.1.0.
         And because you require jinja2==3.0.0 and markupsafe<2.1, we can conclude that your requirements are unsatisfiable.

hint: Wheels are required for `markupsafe` because building from source is disabled for all packages (i.e., with `--no-build`)
""",
    ),
    (
        "source-only(markupsafe>=2.0.0,<=2.0.1)",
        """\
error: No solution found when resolving dependencies
  cause: Because only the following versions of markupsafe are available:
             markupsafe<2.0.dev0
             markupsafe>2.0.0rc2
         and markupsafe>=2.0.0,<=2.0.1 has no usable wheels, we can conclude that markupsafe>=2.0.0,<=2.0.1 cannot be used.
         And because you require markupsafe==2.0.*, we can conclude that your requirements are unsatisfiable.

hint: Wheels are required for `markupsafe` because building from source is disabled for all packages (i.e., with `--no-build`)
""",
    ),
    (
        "conflict(charset-normalizer>=2,<4)",
        """\
error: No solution found when resolving dependencies
  cause: Because requests>=2.32.2,<=2.32.5 depends on charset-normalizer>=2,<4 and requests>=2.32.0,<=2.32.1 has no usable wheels, we can conclude that requests>=2.32.0,<=2.32.5 depends on charset-normalizer>=2,<4.
         And because you require requests==2.32.* and charset-normalizer==4.*, we can conclude that your requirements are unsatisfiable.

hint: Wheels are required for `requests` because building from source is disabled for all packages (i.e., with `--no-build`)
""",
    ),
    (
        "conflict(numpy>=1.19.5,<1.27.0)",
        """\
error: No solution found when resolving dependencies
  cause: Because only the following versions of scipy are available:
             scipy<1.10.dev0
             scipy>1.10.0rc2
         and scipy>=1.10.0,<=1.10.1 depends on numpy>=1.19.5,<1.27.0, we can conclude that scipy>=1.10.0rc1,<=1.10.1 depends on numpy>=1.19.5,<1.27.0.
         And because you require scipy==1.10.* and numpy==2.0.*, we can conclude that your requirements are unsatisfiable.
""",
    ),
    (
        "no-artifact(markupsafe==3.0.*)",
        """\
error: No solution found when resolving dependencies
  cause: Because only markupsafe<=2.1.1 is available and you require markupsafe==3.0.*, we can conclude that your requirements are unsatisfiable.
""",
    ),
    (
        "conflict(urllib3>=1.25.4,<2.1)",
        """\
error: No solution found when resolving dependencies
  cause: Because botocore>=1.34.0,<=1.34.62 depends on urllib3>=1.25.4,<2.1 and botocore>=1.34.63,<=1.34.162 depends on one of:
             urllib3>=1.25.4,<2.2.0
             urllib3>2.2.0,<3
         we can conclude that botocore==1.34.* depends on one of:
             urllib3>=1.25.4,<2.2.0
             urllib3>2.2.0,<3
         And because requests==2.20.0 depends on urllib3>=1.21.1,<1.25 and you require botocore==1.34.*, we can conclude that you require botocore==1.34.* and requests==2.20.0 are incompatible.
""",
    ),
]
PIP = [
    (
        "no-artifact(ml-dtypes>=0.1.0)",
        """\
  ERROR: Ignored the following versions that require a different python version: 0.10.0 Requires-Python >=3.11; 0.2.0 Requires-Python >=3.10
  ERROR: Could not find a version that satisfies the requirement ml-dtypes>=0.1.0 (from jax) (from versions: 0.0.1, 0.0.2)
pip._internal.exceptions.DistributionNotFound: No matching distribution found for ml-dtypes>=0.1.0
""",
    ),
    (
        "requires-python(tensorflow-federated==0.36.0)",
        """\
ERROR: Ignored the following versions that require a different python version: 0.34.0 Requires-Python ~=3.9.0; 0.36.0 Requires-Python ~=3.9.0
ERROR: Could not find a version that satisfies the requirement tensorflow-federated==0.36.0 (from versions: 0.32.0, 0.33.0)
ERROR: No matching distribution found for tensorflow-federated==0.36.0
""",
    ),
    (
        "no-artifact(jaxlib==0.4.14)",
        """\
  ERROR: Could not find a version that satisfies the requirement jaxlib==0.4.14 (from tensorflow-federated) (from versions: 0.4.13, 0.4.18)
ERROR: No matching distribution found for jaxlib==0.4.14
""",
    ),
    (
        "conflict(pip-tools==7.4.0)",
        """\
ERROR: Cannot install pip-tools==7.4.0 and pip==21.3.1 because these package versions have conflicting dependencies.
ERROR: ResolutionImpossible: for help visit the documentation
""",
    ),
    (
        "conflict(werkzeug>=2.0)",
        """\
  ERROR: Cannot install -r roots.in (line 1) and werkzeug<1 because these package versions have conflicting dependencies.
Traceback (most recent call last):
  File "/x/resolvers/resolution.py", line 434, in resolve
pip._vendor.resolvelib.resolvers.exceptions.ResolutionImpossible: [RequirementInformation(requirement=SpecifierRequirement('werkzeug<1'), parent=None), RequirementInformation(requirement=SpecifierRequirement('Werkzeug>=2.0'), parent=LinkCandidate('http://127.0.0.1:80/bf/Flask-2.0.0-py3-none-any.whl#sha256=1833 (from http://127.0.0.1:80/simple/flask/) (requires-python:>=3.6)'))]

The above exception was the direct cause of the following exception:

pip._internal.exceptions.DistributionNotFound: ResolutionImpossible: for help visit the documentation
""",
    ),
]


@pytest.mark.parametrize(("outcome", "text"), UV, ids=[outcome for outcome, _ in UV])
def test_uv_says_why(outcome: str, text: str) -> None:
    assert str(refusal_of_uv(text)) == f"lock-fail:{outcome}"


@pytest.mark.parametrize(("outcome", "text"), PIP, ids=[outcome for outcome, _ in PIP])
def test_pip_says_why(outcome: str, text: str) -> None:
    assert str(refusal_of_pip(text)) == f"lock-fail:{outcome}"


def test_uv_names_the_packages_that_the_date_hides() -> None:
    text = UV[3][1] + (
        "\nhint: `ml-dtypes` was filtered by `exclude-newer` to only include packages uploaded before 2022-09-08."
        "\nhint: `etils` was filtered by `exclude-newer-package` to only include packages uploaded before 2022-09-08."
    )
    refusal = refusal_of_uv(text)
    assert refusal is not None
    assert refusal.hidden == ("ml-dtypes", "etils")


def test_because_is_the_root_clause_and_not_the_conclusion() -> None:
    refusal = refusal_of_uv(UV[0][1])
    assert refusal is not None
    assert refusal.because == (
        "there is no version of jaxlib==0.4.14 and tensorflow-federated>=0.87.0 depends on jaxlib==0.4.14"
    )


def test_because_ends_before_the_conclusion_also_after_a_list_of_versions() -> None:
    refusal = refusal_of_uv(
        """\
error: No solution found when resolving dependencies
  cause: Because tensorflow>=2.17.0,<=2.17.1 depends on numpy{python_full_version < '3.12'}>=1.23.5,<2.0.0 and only the following versions of tensorflow are available:
             tensorflow<2.17.dev0
             tensorflow>2.17.0rc1
         we can conclude that tensorflow>=2.17.0rc0,<=2.17.1 depends on numpy>=1.23.5,<2.0.0. (1)

         Because tensorflow-privacy>=0.8.5,<=0.8.10 depends on attrs>=21.4,<22.dev0 and tensorflow-privacy>=0.8.1,<=0.8.4 depends on numpy>=1.21.4,<1.22.dev0, we can conclude that all of:
"""
    )
    assert refusal is not None
    assert str(refusal) == "lock-fail:conflict(numpy>=1.23.5,<2.0.0)"
    assert refusal.because == (
        "tensorflow>=2.17.0,<=2.17.1 depends on numpy{python_full_version < '3.12'}>=1.23.5,<2.0.0"
        " and only the following versions of tensorflow are available: tensorflow<2.17.dev0 tensorflow>2.17.0rc1,"
        " and tensorflow-privacy>=0.8.1,<=0.8.4 depends on numpy>=1.21.4,<1.22.dev0"
    )


def because_of(outcome: str) -> str:
    (text,) = [text for told, text in UV + PIP if told == outcome]
    refusal = refusal_of_pip(text) if (outcome, text) in PIP else refusal_of_uv(text)
    assert refusal is not None
    return refusal.because


@pytest.mark.parametrize(
    ("outcome", "because"),
    [
        (
            "conflict(tensorflow>=2.8.0,<2.9.dev0)",
            "tensorflow-federated==0.20.0 depends on tensorflow>=2.8.0,<2.9.dev0 and you require tensorflow-federated==0.20.0, and you require tensorflow==2.9.*",
        ),
        (
            "conflict(charset-normalizer>=2,<4)",
            "requests>=2.32.2,<=2.32.5 depends on charset-normalizer>=2,<4 and requests>=2.32.0,<=2.32.1 has no usable wheels, and you require charset-normalizer==4.*",
        ),
        (
            "conflict(urllib3>=1.25.4,<2.1)",
            "botocore>=1.34.0,<=1.34.62 depends on urllib3>=1.25.4,<2.1 and botocore>=1.34.63,<=1.34.162 depends on one of: urllib3>=1.25.4,<2.2.0 urllib3>2.2.0,<3, and requests==2.20.0 depends on urllib3>=1.21.1,<1.25",
        ),
        (
            "conflict(werkzeug>=2.0)",
            "you require werkzeug<1 and Flask==2.0.0 depends on werkzeug>=2.0",
        ),
    ],
)
def test_a_conflict_tells_both_demands(outcome: str, because: str) -> None:
    assert because_of(outcome) == because


def test_the_reason_of_pip_ends_before_its_traceback() -> None:
    refusal = refusal_of_pip(
        f"{PIP[2][1].splitlines()[0]}\nTraceback (most recent call last):\n  x"
    )
    assert refusal is not None
    assert refusal.because.endswith("(from versions: 0.4.13, 0.4.18)")


def test_the_end_of_a_tools_words_begins_with_a_word() -> None:
    words = " ".join(f"word{number}" for number in range(100))
    assert last_words("short") == "short"
    assert len(last_words(words)) <= 300
    assert words.endswith(f" {last_words(words)}")


def test_a_long_reason_is_cut_at_the_end_of_a_word_and_says_so() -> None:
    parts = [f"part-{number}>=1.{number} depends on ground>={number}" for number in range(20)]
    refusal = refusal_of_uv(
        f"error: No solution found when resolving dependencies\n  cause: Because {' and '.join(parts)}"
    )
    assert refusal is not None
    assert len(refusal.because) <= 300
    assert refusal.because.endswith("...")
    assert " and ".join(parts).startswith(refusal.because[:-3])
    assert " and ".join(parts)[len(refusal.because) - 3] == " "


def test_a_build_that_pip_could_not_set_up_is_not_a_refusal() -> None:
    text = "ERROR: installing backend dependencies for farmhashpy did not run successfully.\nERROR: Failed to build 'x'"
    assert refusal_of_pip(text) is None


@pytest.mark.parametrize(
    "text", ["", "error: unexpected argument '--frob' found", "thread 'main' panicked at lib.rs"]
)
def test_a_broken_tool_is_not_a_refusal(text: str) -> None:
    assert refusal_of_uv(text) is None
    assert refusal_of_pip(text) is None


def test_what_is_told_names_neither_indexes_nor_paths_of_the_machine() -> None:
    text = "Failed to fetch https://user:secret@index.example/simple/x/ into /home/somebody/.cache/uv/x \n  again"
    assert tool_message(text) == "Failed to fetch <url> into <path> again"
