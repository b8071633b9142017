# ruff: noqa: E501
"""Generate what `compat doctor` knows of packages: names and parameters by release, wheels by
Python, and published requirements.

    python tools/knowledge.py PACKAGE...          names, wheels and requirements
    python tools/knowledge.py --index PACKAGE...  wheels and requirements alone
    python tools/knowledge.py --python PATH...    of Python's own library, from interpreters
    python tools/knowledge.py --known 1/6         a part of all that are known, again
    python tools/knowledge.py --bounds FILE       corrections of bounds by conda-forge, as JSON

Python sources are read out of wheels by range requests and parsed with `ast`; nothing is run. A file
that a release shares with the one before is neither fetched nor parsed again.
"""

import io
import json
import lzma
import os
import re
import struct
import subprocess
import sys
import tarfile
import time
import zipfile
import zlib
from pathlib import Path
from typing import Any

import requests
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version
from remotezip import RemoteZip

from compat.index.pypi import PyPISource
from compat.index.settings import settings
from compat.search.api_change import Surface, module_of, surface

FOLDER = Path(__file__).parent.parent / "compat" / "advise" / "doctor" / "data"
SKIPPED = re.compile(
    r"(?:^|/)(?:tests?|_tests?|testing_refleaks|benchmarks?|examples?|docs?|_vendor|_vendored"
    r"|_distutils|extern|vendor(?:ed)?|include|third_party|build_tools)/|(?:^|/)(?:test_|conftest|setup\.py)"
)
# Packages whose surface is what `_api` imports: the rest is too large.
ONLY = {
    "tensorflow": re.compile(
        r"^(?:tensorflow|tensorflow_core)/(?:__init__|_api/v2/(?!.*compat/v[12]/compat).*__init__|compat/v1/.*__init__|contrib/[^/]*/__init__)\.py$"
    ),
    "torch": re.compile(r"^torch/(?:[a-z]\w*/)*\w+\.py$"),
}
MOST, GAP = 28, 200_000
SESSION = requests.Session()


def sampled(versions):
    """Of few releases all; of more the first and the last of each series, and some between."""
    final = [v for v in versions if not v.is_prerelease]
    if len(final) <= MOST:
        return final
    series = {}
    for version in final:
        series.setdefault(version.release[:2], []).append(version)
    step = max(1, len(final) // MOST)
    chosen = {v for group in series.values() for v in (group[0], group[-1], *group[::step])}
    if len(chosen) > MOST * 2:  # the last of each series, and of the rest every few
        last = sorted({version.release[:2]: version for version in final}.values())[-MOST:]
        step = -(-len(final) // (MOST * 2 - len(last)))
        chosen = {*last, *final[::step]}
    return sorted(chosen)


def chosen(release):
    files = [a for a in release.artifacts if not a.filename.endswith((".exe", ".egg", ".rpm"))]
    wheels = [a for a in files if a.is_wheel]

    def order(wheel: Any) -> tuple[bool, bool, str]:
        is_pure = any(tag.platform == "any" for tag in wheel.tags)
        return not is_pure, "linux" not in wheel.filename, wheel.filename

    return min(wheels, key=order) if wheels else next(iter(files), None)


def from_wheel(url, only, cache, total):
    with RemoteZip(url, session=SESSION) as wheel:
        infos = sorted(wheel.infolist(), key=lambda i: i.header_offset)
    wanted, found = [], {}
    for info in infos:
        name = re.sub(r"^[^/]+\.data/(?:purelib|platlib)/", "", info.filename)
        module = module_of(name)
        if module is None or SKIPPED.search(name) or (only and not only.match(name)):
            continue
        if not name.endswith(".py"):
            found.setdefault(
                module, Surface(names={}, stars=(), aliases={}, bases={}, is_open=True)
            )
            continue
        key = (name, info.CRC, info.file_size)
        if key in cache:
            found[module] = cache[key]
        else:
            wanted.append((info, name, module, key))
    groups = []
    for item in wanted:
        start = item[0].header_offset
        end = start + item[0].compress_size + 400 + len(item[0].filename)
        if groups and start - groups[-1][1] < GAP:
            groups[-1][1] = end
            groups[-1][2].append(item)
        else:
            groups.append([start, end, [item]])
    for start, end, items in groups:
        data = SESSION.get(url, headers={"Range": f"bytes={start}-{end}"}, timeout=120).content
        total[0] += len(data)
        for info, name, module, key in items:
            at = info.header_offset - start
            n, m = struct.unpack("<HH", data[at + 26 : at + 30])
            raw = data[at + 30 + n + m : at + 30 + n + m + info.compress_size]
            text = zlib.decompress(raw, -15) if info.compress_type else raw
            cache[key] = found[module] = surface(text, module, name.endswith("/__init__.py"))
    return found


def from_sdist(url, cache, tops):
    data = SESSION.get(url, timeout=120).content
    files = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                if member.isfile() and member.name.endswith(".py"):
                    files[member.name] = archive.extractfile(member).read()
    except tarfile.TarError:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {n: archive.read(n) for n in archive.namelist() if n.endswith(".py")}
    found = {}
    for path, text in files.items():
        name = (
            path.partition("/")[2].removeprefix("src/").removeprefix("lib/").removeprefix("python/")
        )
        module = module_of(name)
        if (
            module is None
            or SKIPPED.search(name)
            or (tops and module.partition(".")[0] not in tops)
        ):
            continue
        key = (name, hash(text), len(text))
        if key not in cache:
            cache[key] = surface(text, module, name.endswith("/__init__.py"))
        found[module] = cache[key]
    return found


def joined(surfaces):
    """Every name of a release as `module:name`, a module itself as `module:`, with what `import *`
    brings; `module:?` where a module is open.
    """
    found = {}
    for module, each in surfaces.items():
        found[f"{module}:"] = None
        names = dict(_with_stars(module, surfaces, frozenset()))
        for name, parameters in names.items():
            target = each.aliases.get(name)
            if target is not None and parameters is None:
                found[f"{module}:{name}"] = _followed(target, surfaces)
                continue
            found[f"{module}:{name}"] = parameters
        if each.is_open:
            found[f"{module}:?"] = None
        for name, bases in each.bases.items():
            found |= {f"{module}:{name}<{base.rpartition('.')[2]}": None for base in bases}
    for module in surfaces:
        above, _, name = module.rpartition(".")
        if above in surfaces:
            found.setdefault(f"{above}:{name}", None)
    return found


def _with_stars(module, surfaces, seen):
    each = surfaces.get(module)
    if each is None or module in seen:
        return
    for star in each.stars:
        other = surfaces.get(star)
        for name, parameters in _with_stars(star, surfaces, seen | {module}):
            own = other is not None and name in other.names
            hidden = own and other is not None and other.exports is not None
            if "." not in name and (
                name in (other.exports or ()) if hidden and other else not name.startswith("_")
            ):
                yield name, parameters
    yield from each.names.items()


def _followed(target, surfaces, depth=8):
    module, name = target
    each = surfaces.get(module)
    if each is None or not depth:
        return None
    parameters = each.names.get(name)
    if parameters is None and name in each.aliases:
        return _followed(each.aliases[name], surfaces, depth - 1)
    return parameters


def spans(present, count):
    """`0-3,7-` of a sorted list of numbers; the last one is open."""
    out, start, last = [], None, None
    for number in [*present, None]:
        if last is not None and number != last + 1:
            end = "" if last == count - 1 else last
            out.append(f"{start}-{end}")
            start = number
        if start is None:
            start = number
        last = number
    return ",".join(out)


def packed(surfaces):
    """Names grouped by module and by the spans of releases that have them."""
    count, names, parameters = len(surfaces), {}, {}
    for number, release in enumerate(surfaces):
        for name, accepts in release.items():
            names.setdefault(name, []).append(number)
            for each in accepts or ():
                parameters.setdefault(name, {}).setdefault(each, []).append(number)
    modules = {}
    for name, present in sorted(names.items()):
        module, _, attribute = name.partition(":")
        # Only closed classes of private helpers are left out; the rest is what people import.
        modules.setdefault(module, {}).setdefault(spans(present, count), []).append(attribute)
    calls = {}
    for name, accepted in parameters.items():
        changed = {p: spans(there, count) for p, there in accepted.items() if there != names[name]}
        if changed:
            calls[name] = changed
    return (
        {m: {s: " ".join(n) for s, n in by.items()} for m, by in modules.items()},
        calls,
    )


def pythons_of(release):
    """`cp39 cp310|lmw|>=3.9|s`: tags, platforms, requires-python, whether there is an sdist."""
    wheels = [a for a in release.artifacts if a.is_wheel and not a.yanked]
    tags = {
        t.interpreter if t.abi != "abi3" else f"{t.interpreter}+" for a in wheels for t in a.tags
    }
    platforms = {
        "a"
        if t.platform == "any"
        else "w"
        if t.platform[:3] == "win"
        else "m"
        if t.platform.startswith("macosx")
        else "l"
        for a in wheels
        for t in a.tags
    }
    requires = {str(a.requires_python) for a in release.artifacts if a.requires_python}
    sdist = any(not a.is_wheel for a in release.artifacts)
    return "|".join(
        (
            " ".join(sorted(tags)),
            "".join(sorted(platforms)),
            min(requires, default=""),
            "s" if sdist else "",
        )
    )


def generate(name, is_read=True):
    began, total = time.time(), [0]
    source = PyPISource(settings(), Path(os.environ.get("KNOWLEDGE_CACHE", "/tmp/knowledge-cache")))
    package = source.package(name)
    by_version = {r.version: r for r in package.releases if not r.yanked and r.artifacts}
    api, cache, tops = [], {}, set()
    releases = sampled(sorted(by_version))
    requires = {}
    for version in reversed(releases):
        artifact = chosen(by_version[version])
        try:
            if artifact.is_wheel:
                found = from_wheel(artifact.url, ONLY.get(name), cache, total) if is_read else None
                published = source.published(artifact)
                requires[str(version)] = [
                    re.sub(r"\s+", "", r.partition(";")[0])
                    + (";" + r.partition(";")[2].strip() if ";" in r else "")
                    for r in published.requires_dist
                    if "extra ==" not in r.replace("extra==", "extra ==")
                ]
            else:
                found = from_sdist(artifact.url, cache, tops) if is_read else None
        except Exception as error:
            print(f"{name} {version}: {type(error).__name__} {error}"[:200], file=sys.stderr)
            continue
        if not found:
            continue
        if not tops:
            tops = {m.partition(".")[0] for m in found}
        api.append((version, joined(found)))
    api.reverse()
    size = write(f"{name}.api.xz", content_of(name, api)) if is_read else 0
    wheels, last = [], None
    for version, release in sorted(by_version.items()):
        row = pythons_of(release)
        day = release.uploaded.date().isoformat() if release.uploaded else ""
        wheels.append([str(version), day, "" if row == last else row])
        last = row
    needs, last = {}, None
    for version in (str(v) for v in releases):
        if version in requires and requires[version] != last:
            needs[version] = last = requires[version]
    index = {"package": name, "wheels": wheels, "requires": needs}
    small = write(f"{name}.index.xz", index)
    print(
        f"{name}: {len(api)} of {len(by_version)} releases, {size // 1000} + {small // 1000} kB,"
        f" {total[0] // 1_000_000} MB read, {time.time() - began:.0f} s, {time.process_time():.0f} CPU s",
        flush=True,
    )


def python(interpreters):
    """What Python's own library has, by release: asked of the interpreters themselves."""
    releases = []
    for interpreter in interpreters:
        script = Path(__file__).with_name("stdlib_names.py")
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        version = subprocess.run(
            [interpreter, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        printed = subprocess.run(
            [interpreter, str(script)],
            check=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        ).stdout
        names = json.loads(printed[printed.index("{") :])
        releases.append(
            (Version(version), {n: None if p is None else tuple(p) for n, p in names.items()})
        )
    releases.sort(key=lambda pair: pair[0])
    write("python.api.xz", content_of("python", releases))


def bounds(path):
    """What conda-forge's maintainers added to requirements: for which releases, until which day."""
    signs = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=="}
    found = {}
    for entry in json.loads(Path(path).read_text()):
        when = entry["subject_when"]
        clauses = [
            f"{signs[k[8:]]}{v}" for k, v in when.items() if k[8:] in signs and k[:8] == "version_"
        ]
        lists = [[f"=={v}"] for v in when.get("version_in", ())] or [
            [f"=={when['version']}"] if "version" in when else clauses
        ]
        day = (
            time.strftime("%Y-%m-%d", time.gmtime(when.get("timestamp_lt", 0) / 1000))
            if "timestamp_lt" in when
            else ""
        )
        for clauses in lists:
            try:
                SpecifierSet(",".join(clauses)), SpecifierSet(entry["bound"])
            except InvalidSpecifier:
                continue
            rows = found.setdefault(entry["subject"], [])
            rows.append([",".join(clauses), day, entry["dependency"], entry["bound"]])
    write("bounds.xz", found)


def content_of(name, api):
    names, calls = packed([each for _, each in api])
    modules = sorted({m.partition(".")[0] for m in names})
    return {
        "package": name,
        "modules": modules,
        "releases": [str(v) for v, _ in api],
        "names": names,
        "calls": calls,
    }


def write(name, content):
    FOLDER.mkdir(parents=True, exist_ok=True)
    data = lzma.compress(json.dumps(content, separators=(",", ":")).encode(), preset=6)
    (FOLDER / name).write_bytes(data)
    return len(data)


def names_of_all():
    """Which package has a module, a class, or a function whose parameters changed; and of classes
    that several have, whose releases differ in a parameter: `Client(timeout`.
    """
    modules, found, takers = {}, {}, {}
    for path in sorted(FOLDER.glob("*.api.xz")):
        content = json.loads(lzma.decompress(path.read_bytes()))
        package = content["package"]
        if package == "python":
            continue
        for top in content["modules"]:
            if not top.startswith("_") and (top not in modules or top.replace("_", "-") == package):
                modules[top] = package
        for module, by_spans in content["names"].items():
            for each in " ".join(by_spans.values()).split(" ") if "._vendor" not in module else ():
                if "." in each and "<" not in each:
                    found.setdefault(each.partition(".")[0], set()).add(package)
        for function, changed in content["calls"].items():
            last = re.sub(r"\.__(?:init|new)__$", "", function.partition(":")[2])
            if "." not in last:
                found.setdefault(f"{last}()", set()).add(package)
            if not last.startswith("_"):
                for each in changed:
                    takers.setdefault(f"{last}({each}", set()).add(package)
                    if "." in last and each[0] not in "!#*_":
                        method = last.partition(".")[2]
                        takers.setdefault(f".{method}({each}", set()).add(package)
    for key, packages in takers.items():
        head = key.partition("(")[0].partition(".")[0]
        is_shared = len(found.get(head, ()) or found.get(f"{head}()", ())) > 1
        if len(packages) < (4 if key[0] != "." else 2) and (is_shared or key[0] == "."):
            found[key] = packages
    aliases = {
        "np": "numpy",
        "pd": "pandas",
        "tf": "tensorflow",
        "plt": "matplotlib",
        "sns": "seaborn",
        "nx": "networkx",
        "jnp": "jax",
        "tff": "tensorflow-federated",
        "tfp": "tensorflow-probability",
        "xgb": "xgboost",
        "mx": "mxnet",
    }
    owners = {name: sorted(packages) for name, packages in found.items() if len(packages) <= 8}
    size = write("names.xz", aliases | modules)
    # One line a name, so that it is found without parsing a hundred thousand of them.
    lines = "".join(f"\n{name}\t{' '.join(owners[name])}" for name in sorted(owners)) + "\n"
    data = lzma.compress(lines.encode(), preset=6)
    (FOLDER / "owners.xz").write_bytes(data)
    print(f"names: {len(owners)} owners, {(size + len(data)) // 1000} kB")


def each(packages, is_read):
    for package in packages:
        try:
            generate(package, is_read)
        except Exception as error:
            print(f"{package}: {type(error).__name__} {error}"[:300], flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--python", *paths]:
            python(paths)
        case ["--bounds", path]:
            bounds(path)
        case ["--known", part]:  # `2/6`: the second sixth of the packages that are known
            number, count = map(int, part.split("/"))
            known = sorted({path.name.split(".")[0] for path in FOLDER.glob("*.index.xz")})
            for package in known[number - 1 :: count]:
                each([package], (FOLDER / f"{package}.api.xz").exists())
        case ["--index", *packages]:
            each(packages, is_read=False)
        case packages:
            each(packages, is_read=True)
    names_of_all()
