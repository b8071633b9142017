"""A package index on this machine with tiny real wheels, for resolvers and commands that must run
without a network.
"""

import hashlib

from support.fake_index import FakeIndex, File, body, in_json, metadata, wheel

WHEN = "2024-01-{day:02}T12:00:00Z"


def fill(
    index: FakeIndex, packages: dict[str, list[tuple[str, int, str | None, list[str]]]]
) -> None:
    """Lay out packages: name -> releases as (version, day of January 2024, requires-python,
    requirements).
    """
    for name, releases in packages.items():
        files = []
        for version, day, requires_python, requirements in releases:
            lines = [f"Requires-Dist: {requirement}" for requirement in requirements]
            if requires_python is not None:
                lines.append(f"Requires-Python: {requires_python}")
            filename = f"{name}-{version}-py3-none-any.whl"
            text = metadata(name, version, *lines)
            content = wheel(text, folder=f"{name}-{version}.dist-info")
            index.answers(f"/files/{filename}", body(content, "application/octet-stream"))
            index.answers(f"/files/{filename}.metadata", body(text, "application/octet-stream"))
            digest = hashlib.sha256(content).hexdigest()
            uploaded = WHEN.format(day=day)
            files.append(File(filename, "", digest, requires_python, uploaded, metadata=True))
        index.page(name, in_json(files))


DEMO: dict[str, list[tuple[str, int, str | None, list[str]]]] = {
    "demo": [("1.0", 1, None, ["dep~=1.0"]), ("2.0", 20, ">=3.9", ["dep==2.*", "gone==4.1"])],
    "dep": [
        ("1.0", 1, None, []),
        ("1.1", 5, None, ["deep<2"]),
        ("2.0", 15, None, ["deep"]),
        ("2.1rc1", 16, None, []),
    ],
    "deep": [("1.0", 2, None, []), ("2.0", 25, None, [])],
    "gone": [("4.0", 1, None, []), ("4.2", 28, None, ["late>=1"])],
    "late": [("1.0", 29, None, [])],
    "pre": [("2.0", 15, None, ["deep==9"]), ("2.1rc1", 16, None, [])],
    "pytest": [("8.0", 1, None, [])],
}
MATRIX = """\
name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 1
suite = { path = "suite", requirements = ["pytest"], memory_mb = 512, disk_mb = 256 }
axes = [
  { kind = "interpreter", name = "python", short = "py", releases = ["3.8.18", "3.11.7"] },
  { kind = "package", name = "dep", short = "dep", package = "dep", select = { keep = "major" } },
  { kind = "package", name = "demo", short = "demo", package = "demo" },
]
rules = [
  { name = "gone", effect = "relax", because = "the index lost 4.1", when = { demo = ">=2" }, \
relaxations = [
    { package = "gone", to = "==4.2" },
  ] },
  { name = "moved", effect = "relax", because = "dep keeps its promises", when = { dep = "moved" \
}, relaxations = [
    { package = "dep", to = "any", as_of = "dep" },
  ] },
]
"""
