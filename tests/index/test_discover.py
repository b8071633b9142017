"""From a matrix to its catalogue, through a source that needs no network."""

import threading

import pytest
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.version import Version
from support.memory_source import MemorySource

from compat.declare.matrix import InterpreterAxis, Matrix, PackageAxis, Selector, Suite
from compat.errors import DeclarationError, IndexUnreachable, UnsoundFile
from compat.index.discover import THREADS, decode_catalogue, discover, encode_catalogue
from compat.index.release import Artifact, Package, Published, Release
from compat.plan.plan import Infeasible, plan

WHEEL = frozenset({Tag("py3", "none", "any")})


def artifact(filename: str) -> Artifact:
    tags = WHEEL if filename.endswith(".whl") else frozenset()
    return Artifact(filename=filename, url=f"https://files.example/{filename}", tags=tags)


def package(name: str, files: dict[str, list[str]]) -> Package:
    releases = (
        Release(version=Version(v), artifacts=tuple(map(artifact, files[v]))) for v in files
    )
    return Package(name=name, releases=tuple(releases))


def published(text: str) -> Published:
    return Published(requires_python=None, requires_dist=(text,))


MATRIX = Matrix(
    name="small",
    title="Small",
    subject="bread",
    platform="x86_64-manylinux_2_31",
    margin_days=1,
    suite=Suite(path="suite"),
    axes=(
        InterpreterAxis(name="python", short="py", releases=(Version("3.11.7"),)),
        PackageAxis(name="flour", short="f", package="Whole_Flour"),
        PackageAxis(
            name="bread", short="b", package="Bread", select=Selector(specifier=SpecifierSet(">=2"))
        ),
    ),
)
FLOUR = package("whole-flour", {"1.0": ["whole_flour-1.0-py3-none-any.whl"]})
BREAD = package(
    "bread",
    {
        "1.0": ["bread-1.0-py3-none-any.whl"],
        "2.0": [
            "Bread-2.0.tar.gz",
            "bread-2.0-cp311-cp311-linux_x86_64.whl",
            "bread-2.0-py3-none-any.whl",
        ],
        "3.0": ["bread-3.0.tar.gz"],
    },
)
METADATA = {
    "whole_flour-1.0-py3-none-any.whl": published("grain"),
    "Bread-2.0.tar.gz": published("what an sdist says does not count"),
    "bread-1.0-py3-none-any.whl": published("flour==1"),
    "bread-2.0-cp311-cp311-linux_x86_64.whl": published("flour==2"),
}


def test_a_catalogue_has_each_package_axis_in_order_under_its_normal_name() -> None:
    catalogue = discover(MATRIX, MemorySource({"whole-flour": FLOUR, "bread": BREAD}, METADATA))
    assert [found.name for found in catalogue.packages] == ["whole-flour", "bread"]
    assert catalogue.package("whole-flour") == FLOUR


def test_metadata_is_read_for_the_selected_releases_of_the_subject_from_the_first_wheel() -> None:
    catalogue = discover(MATRIX, MemorySource({"whole-flour": FLOUR, "bread": BREAD}, METADATA))
    found = {
        str(release.version): release.published for release in catalogue.package("bread").releases
    }
    assert found == {"1.0": None, "2.0": published("flour==2"), "3.0": None}


def test_two_axes_of_one_package_make_one_entry() -> None:
    axes = (
        *MATRIX.axes,
        PackageAxis(name="loaf", short="l", package="bread", select=Selector(keep="major")),
    )
    twice = Matrix(
        **{name: getattr(MATRIX, name) for name in MATRIX.__struct_fields__} | {"axes": axes}
    )
    catalogue = discover(twice, MemorySource({"whole-flour": FLOUR, "bread": BREAD}, METADATA))
    assert [found.name for found in catalogue.packages] == ["whole-flour", "bread"]


def test_a_package_that_the_index_does_not_have_is_a_fault_of_the_declaration() -> None:
    with pytest.raises(DeclarationError) as caught:
        discover(MATRIX, MemorySource({"bread": BREAD}, METADATA))
    [fault] = caught.value.faults
    assert fault.path == "matrices/small/matrix.toml: axes[1].package"
    assert "'Whole_Flour'" in fault.message


def test_the_nearest_name_that_the_subject_requires_is_offered() -> None:
    metadata = METADATA | {
        "bread-3.0-py3-none-any.whl": published("whole-flower>=1; python_version>'3'")
    }
    bread = package("bread", {"3.0": ["bread-3.0-py3-none-any.whl"]})
    with pytest.raises(DeclarationError, match=r"did you mean 'whole-flower'\?"):
        discover(MATRIX, MemorySource({"bread": bread}, metadata))


def test_an_index_that_does_not_answer_is_no_fault_of_the_declaration() -> None:
    class Silent(MemorySource):
        def package(self, name: str) -> Package:
            raise IndexUnreachable.of("the package index did not answer in time")

    with pytest.raises(IndexUnreachable, match="did not answer"):
        discover(MATRIX, Silent({}, {}))


class Failing(MemorySource):
    """A source whose metadata cannot be had."""

    def __init__(self, package: Package) -> None:
        super().__init__({"whole-flour": FLOUR, "bread": package}, {})
        self.asked: list[str] = []

    def published(self, artifact: Artifact) -> Published | None:
        self.asked.append(artifact.filename)
        raise IndexUnreachable.of(f"no metadata of {artifact.filename}")


def test_missing_metadata_is_trouble_and_ends_the_asking() -> None:
    many = package("bread", {f"2.{n}": [f"bread-2.{n}-py3-none-any.whl"] for n in range(1000)})
    source = Failing(many)
    with pytest.raises(IndexUnreachable, match=r"no metadata of bread-2\.0-"):
        discover(MATRIX, source)
    assert len(source.asked) < 1000


class Meeting(MemorySource):
    """A source that answers only when several ask at once."""

    def __init__(self) -> None:
        releases = {f"2.{n}": [f"bread-2.{n}-py3-none-any.whl"] for n in range(THREADS)}
        super().__init__({"whole-flour": FLOUR, "bread": package("bread", releases)}, {})
        self.barrier = threading.Barrier(THREADS, timeout=5)

    def published(self, artifact: Artifact) -> Published | None:
        self.barrier.wait()
        return published("flour")


def test_metadata_is_read_at_the_same_time() -> None:
    catalogue = discover(MATRIX, Meeting())
    assert all(release.published is not None for release in catalogue.package("bread").releases)


class Liars(MemorySource):
    """A source in which the METADATA of some wheels is another's."""

    def __init__(self, *names: str) -> None:
        super().__init__({"whole-flour": FLOUR, "bread": BREAD}, METADATA)
        self._names = names

    def published(self, artifact: Artifact) -> Published | None:
        if artifact.filename in self._names:
            raise UnsoundFile.of(f"{artifact.filename}: its METADATA speaks of stone 1.0")
        return super().published(artifact)


def test_a_wheel_whose_metadata_is_anothers_is_set_aside_and_the_next_one_speaks() -> None:
    liar, sound = "bread-2.0-cp311-cp311-linux_x86_64.whl", "bread-2.0-py3-none-any.whl"
    source = Liars(liar)
    release = discover(MATRIX, source).package("bread").releases[1]
    reasons = {artifact.filename: artifact.set_aside for artifact in release.artifacts}
    assert reasons == {
        "Bread-2.0.tar.gz": "",
        liar: f"{liar}: its METADATA speaks of stone 1.0",
        sound: "",
    }
    assert release.published is None


def test_a_release_of_liars_only_is_ruled_out_with_the_reason_and_the_plan_goes_on() -> None:
    files = {"2.0": ["bread-2.0-py3-none-any.whl"], "3.0": ["bread-3.0-py3-none-any.whl"]}
    source = Liars("bread-2.0-py3-none-any.whl")
    source._packages = {"whole-flour": FLOUR, "bread": package("bread", files)}
    catalogue = discover(MATRIX, source)
    text = encode_catalogue(catalogue, MATRIX)
    for known in (catalogue, decode_catalogue(text, "catalogue.json")):
        fates = {
            fate.cell.id: fate for fate in plan(MATRIX, known).fates if fate.cell.recipe == "fresh"
        }
        ruled_out = fates["py3.11-f1.0-b2.0"]
        assert isinstance(ruled_out, Infeasible)
        assert ruled_out.obstacle.kind == "no-artifact"
        assert "speaks of stone 1.0" in ruled_out.obstacle.because
        assert not isinstance(fates["py3.11-f1.0-b3.0"], Infeasible)
