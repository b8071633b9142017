"""The suite of a drafted matrix: what its table says, and the files that it needs."""

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from compat.declare.project import Project
from compat.declare.suite_imports import distribution_of, modules_of
from compat.draft.declaration_text import import_test, toml_line
from compat.value import Value


class SuiteDraft(Value, frozen=True, kw_only=True):
    """A suite as it is proposed: the first lines of `[suite]`, what it asks for besides, the lines
    after that, its files by their path below the matrix's folder, and why it is this one.

    `is_own` says that it is the library's own tests, which are those of one release.
    """

    lines: tuple[str, ...]
    requirements: tuple[str, ...]
    remarks: tuple[str, ...]
    texts: Mapping[str, str]
    because: str
    is_own: bool = False

    def table(self, packages: Collection[str]) -> tuple[str, ...]:
        # Return all lines of `[suite]` in a matrix whose axes are these packages: a cell has a
        # version of each, so none is asked for again.
        normalised = set(map(canonicalize_name, packages))
        asked = [name for name in self.requirements if canonicalize_name(name) not in normalised]
        return (*self.lines, *([toml_line("requirements", asked)] if asked else ()), *self.remarks)


# What projects call the dependencies of their tests, most usual first.
_GROUPS = ("tests", "test", "testing", "dev")


def own_suite(project: Project, module: str, tests: str) -> SuiteDraft:
    """Return a suite of the project's own tests, with the first group or extra that brings pytest;
    without one that brings it pytest alone is asked for.
    """
    groups = [name for name in _named(project.groups) if _brings_pytest(_of_group(project, name))]
    extras = [name for name in _named(project.extras) if _brings_pytest(project.of_extra(name))]
    texts: Sequence[str] = ()
    where, lines = "", [toml_line("tests", tests), toml_line("module", module)]
    named = {"groups": groups[:1], "extras": [] if groups else extras[:1]}
    if groups:
        where = f", with what the dependency group {groups[0]} asks for"
        texts = _of_group(project, groups[0])
    elif extras:
        where = f", with what the extra {extras[0]} asks for"
        texts = project.of_extra(extras[0])
    lines += [toml_line(key, names) for key, names in named.items() if names]
    return SuiteDraft(
        lines=tuple(lines),
        requirements=() if "pytest" in _names(texts) else ("pytest",),
        remarks=(
            "# Arguments of pytest, for example to leave tests out that need a network:",
            '# arguments = ["-m", "not network"]',
        ),
        texts={},
        because=f"Suite: the project's own tests in {tests}{where}",
        is_own=True,
    )


def bringing(module: str, project: Project) -> str:
    """Return a requirement that brings a module: one of the project's groups and extras, else a
    distribution that is known to have it; empty where neither is. A module's name alone names none:
    the package that is called so on an index may be anybody's.
    """
    for key, table in (("groups", project.groups), ("extras", project.extras)):
        for name in table:
            for requirement in _requirements(project, key, name):
                if module in modules_of(canonicalize_name(requirement.name)):
                    return f"{requirement.name}{requirement.specifier}"
    return distribution_of(module)


def _requirements(project: Project, key: str, name: str) -> Iterator[Requirement]:
    try:
        texts = project.of_extra(name) if key == "extras" else project.of_group(name)
        for text in texts:
            yield Requirement(text)
    except (InvalidRequirement, ValueError):
        return


def _named(table: Mapping[str, object]) -> list[str]:
    by_name = {str(canonicalize_name(name)): name for name in table}
    return [by_name[name] for name in _GROUPS if name in by_name]


def _of_group(project: Project, name: str) -> Sequence[str]:
    try:
        return project.of_group(name)
    except ValueError:
        return ()


def _brings_pytest(texts: Sequence[str]) -> bool:
    return any(name.partition("-")[0] == "pytest" for name in _names(texts))


def _names(texts: Sequence[str]) -> set[str]:
    names = set()
    for text in texts:
        with contextlib.suppress(InvalidRequirement):
            names.add(str(canonicalize_name(Requirement(text).name)))
    return names


def import_suite(module: str, title: str, because: str) -> SuiteDraft:
    remarks = (
        "# What `compat run --tier smoke` asks for: few capabilities that every release has.",
        'core = ["import"]',
    )
    return SuiteDraft(
        lines=('path = "suite"', toml_line("module", module)),
        requirements=("pytest",),
        remarks=remarks,
        texts={"suite/test_import.py": import_test(module, title)},
        because=because,
    )
