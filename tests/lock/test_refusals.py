# ruff: noqa: E501 (what tools said stands here word for word)
"""What resolvers said on real indexes, and what we make of it: one real example for each
pattern.
"""

import pytest

from compat.lock.refusals import refusal_of_pip, refusal_of_uv, tool_message

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
        "conflict(tensorflow-federated==0.20.0)",
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
    assert str(refusal) == "lock-fail:conflict(tensorflow>=2.17.0,<=2.17.1)"
    assert refusal.because == (
        "tensorflow>=2.17.0,<=2.17.1 depends on numpy{python_full_version < '3.12'}>=1.23.5,<2.0.0"
        " and only the following versions of tensorflow are available: tensorflow<2.17.dev0 tensorflow>2.17.0rc1"
    )


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
