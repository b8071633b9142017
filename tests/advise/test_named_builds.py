"""Builds under another name: which lie over each other, which are of other days, what stands in."""

import datetime
from pathlib import Path

import pytest
from packaging.version import Version

from compat.advise.package_list import (
    base_of,
    lying_over_each_other,
    named_builds,
    of_other_days,
    short_names,
    stand_ins,
)
from compat.workspace import Workspace

MATRICES = Path(__file__).parents[2] / "matrices"
DAY = datetime.date(2026, 11, 27)

SHORT = {"tf": "tensorflow", "tff": "tensorflow-federated"}


def versions(**pins: str) -> dict[str, Version]:
    return {name.replace("_", "-"): Version(version) for name, version in pins.items()}


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("tf-nightly", "tensorflow"),
        ("tf-nightly-gpu", "tensorflow"),
        ("tf-estimator-nightly", "tensorflow-estimator"),
        ("tff-nightly", "tensorflow-federated"),
        ("tensorflow-federated-nightly", "tensorflow-federated"),
        ("keras-nightly", "keras"),
        ("onnxruntime-gpu", "onnxruntime"),
    ],
)
def test_a_name_tells_of_what_it_is_a_build(name: str, base: str) -> None:
    (build,) = named_builds({name: Version("1.0")}, SHORT)
    assert build.base == base


@pytest.mark.parametrize("name", ["tf-keras", "tf2onnx", "nightly", "cpuinfo", "tensorflow-metal"])
def test_other_names_are_their_own(name: str) -> None:
    assert named_builds({name: Version("1.0")}, SHORT) == ()


def test_a_package_of_another_project_is_no_build_of_the_subject() -> None:
    matrix = Workspace(MATRICES / "tff", DAY, lambda: MATRICES).matrix
    assert base_of("tff-nightly", short_names(matrix)) == "tff-nightly"
    assert base_of("tff-gpu", short_names(matrix)) == "tensorflow-federated"


def test_a_day_is_read_from_the_versions_of_nightly_builds() -> None:
    builds = named_builds(
        versions(
            keras_nightly="2.9.0.dev2022030808",
            tb_nightly="2.9.0a20220307",
            tf_nightly="2.9.0.dev20221399",
            tfp_nightly="0.17",
        ),
        SHORT,
    )
    assert [build.day for build in builds] == [
        datetime.date(2022, 3, 8),
        datetime.date(2022, 3, 7),
        None,
        None,
    ]


def test_builds_of_different_releases_lie_over_each_other() -> None:
    mixed = versions(tensorflow="2.2.1", tf_nightly="2.4.0.dev20200927")
    ((base, builds),) = lying_over_each_other(mixed, SHORT, {"tensorflow"})
    assert base == "tensorflow"
    assert [build.name for build in builds] == ["tensorflow", "tf-nightly"]
    assert not list(lying_over_each_other(mixed, SHORT, {"numpy"}))


def test_a_nightly_towards_the_release_beside_it_does_not_count() -> None:
    # TensorFlow 2.8.0 asks for tf-estimator-nightly 2.8.0.dev2021122109 beside its own estimator.
    beside = versions(tensorflow_estimator="2.8.0", tf_estimator_nightly="2.8.0.dev2021122109")
    assert not list(lying_over_each_other(beside, SHORT, {"tensorflow-estimator"}))


def test_nightly_builds_of_other_weeks_are_told_of_a_nightly_subject_alone() -> None:
    of_weeks = versions(demo_nightly="0.19.0.dev20220218", keras_nightly="2.9.0.dev2022030808")
    assert [build.name for build in of_other_days("demo", of_weeks, SHORT)] == [
        "demo-nightly",
        "keras-nightly",
    ]
    assert of_other_days("keras-else", of_weeks, SHORT) == ()
    near = versions(demo_nightly="0.19.0.dev20220218", keras_nightly="2.9.0.dev2022022108")
    assert of_other_days("demo", near, SHORT) == ()


def test_what_stands_in_is_where_the_package_itself_is_not() -> None:
    installed = versions(tf_nightly="2.10.0.dev1", keras="2.9.0", keras_nightly="2.9.0.dev1")
    assert list(stand_ins(installed, SHORT)) == ["tensorflow"]
