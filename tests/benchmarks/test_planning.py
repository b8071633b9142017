"""Planning at size: the whole process for time and memory, the plain product for comparison."""

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.benchmark

# 7 interpreters x 68 x 70 releases x 3 recipes = 99,960 cells, with real specifiers, tags and
# rules.
SYNTHETIC = """
import datetime, itertools, json, resource, time
from packaging.tags import parse_tag
from packaging.version import Version
from compat.declare.load import decode_matrix
from compat.index.release import Artifact, Catalogue, Package, Published, Release
from compat.plan.plan import plan
from compat.plan.cell import product

WHEN = datetime.datetime(2024, 5, 1, tzinfo=datetime.timezone.utc)

def release(name, version, number, pins=()):
    tags = [f"cp3{minor}-cp3{minor}-manylinux_2_17_x86_64" for minor in range(7, 14) if (minor + \
number) % 4]
    artifacts = tuple(
        Artifact(filename=f"{name}-{version}-{tag}.whl", url="x", tags=parse_tag(tag), \
uploaded=WHEN) for tag in tags
    )
    published = Published(requires_python=None, requires_dist=pins)
    return Release(version=Version(version), artifacts=artifacts, published=published)

matrix = decode_matrix(b'''
name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 10
suite = { path = "suite" }
axes = [
  { kind = "interpreter", name = "python", short = "py", releases = [
    "3.7.16", "3.8.18", "3.9.18", "3.10.13", "3.11.7", "3.12.1", "3.13.0"
  ] },
  { kind = "package", name = "dep", short = "dep", package = "dep", select = { keep = "minor" } },
  { kind = "package", name = "demo", short = "demo", package = "demo" },
]
rules = [
  { name = "moved", effect = "relax", because = "dep keeps its promises", when = { dep = "moved" \
}, relaxations = [
    { package = "dep", to = "any" },
  ] },
  { name = "odd", effect = "exclude", because = "it never built there", when = { demo = "<0.3", \
dep = ">=1.60" } },
]
''', "demo")
deps = tuple(release("dep", f"1.{minor}.{patch}", minor) for minor in range(68) for patch in \
range(3))
demos = tuple(release("demo", f"0.{n}.0", n, (f"dep>=1.{n // 2},<1.{n // 2 + 30}", "other~=2.0")) \
for n in range(70))
catalogue = Catalogue(packages=(Package(name="dep", releases=deps), Package(name="demo", \
releases=demos)))

begin = time.perf_counter()
plain = [(place, recipe) for place in product(matrix, catalogue) for recipe in range(3)]
middle = time.perf_counter()
made = plan(matrix, catalogue)
end = time.perf_counter()
print(json.dumps({
    "cells": len(made.fates), "plain": len(plain), "plain_seconds": middle - begin, "seconds": \
end - middle,
    "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""
WARM = """
import io, json, resource, sys, time
begin = time.perf_counter()
from compat.cli.app import main
out, sys.stdout = sys.stdout, io.StringIO()
sys.argv = ["compat", "plan", "tff", "--json"]
try:
    main()
except SystemExit as left:
    code = left.code
sys.stdout, text = out, sys.stdout.getvalue()
cells = len(json.loads(text)["data"]["cells"]) if code == 0 else 0
print(json.dumps({
    "code": code, "cells": cells, "seconds": time.perf_counter() - begin,
    "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def measured(program: str) -> dict[str, Any]:
    """Return what a program prints, run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True
    )
    return dict(json.loads(done.stdout))


def test_a_hundred_thousand_cells_against_the_plain_product() -> None:
    figures = measured(SYNTHETIC)
    ratio = figures["seconds"] / figures["plain_seconds"]
    took = f"{figures['seconds']:.2f} s, {ratio:.0f} x the plain product, {figures['mb']:.0f} MB"
    print(f"\n{figures['cells']:,} cells: {took}")
    assert figures["cells"] == figures["plain"] == 99_960
    assert figures["mb"] < 1000
    # The plain product takes about 0.03 s; ten seconds would be three hundred times that.
    assert ratio < 300


@pytest.mark.real_index
def test_a_warm_plan_of_the_real_matrix() -> None:
    measured(WARM)
    figures = measured(WARM)
    print(f"\n{figures['cells']:,} cells, warm: {figures['seconds']:.2f} s, {figures['mb']:.0f} MB")
    assert figures["code"] == 0
    assert figures["cells"] > 20_000
    assert figures["mb"] < 300
