"""Generate what `compat doctor` knows of packages: names and parameters by release, wheels by
Python, and published requirements.

    python tools/knowledge.py PACKAGE...          names, wheels and requirements
    python tools/knowledge.py --again PACKAGE...  the same, with all that was read before
    python tools/knowledge.py --index PACKAGE...  wheels and requirements alone
    python tools/knowledge.py --python PATH...    of Python's own library, by interpreters
    python tools/knowledge.py --known 1/6         a part of all that are known, again
    python tools/knowledge.py --words PACKAGE...  what its errors say, and since when
    python tools/knowledge.py --bounds FILE       corrections of bounds by conda-forge, as JSON

uv unpacks wheels, and their sources are parsed with `ast`; nothing is run. Of a release without a
wheel the source archive is read. Only releases that were not read before are read, with a few
others to compare their parameters with.
"""

import ast
import functools
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import types
from pathlib import Path

import requests
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from compat.advise.doctor.facts import Index
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
    "transformers": re.compile(
        r"^transformers/(?:\w+|(?:utils|generation|data|pipelines|integrations)/\w+|models/(?:\w+/)?__init__|models/(?:auto|bert|gpt2|llama|t5|clip)/\w+)\.py$"
    ),
    "diffusers": re.compile(
        r"^diffusers/(?:\w+|(?:utils|models|schedulers|loaders)/\w+|pipelines/(?:\w+/)?__init__|pipelines/(?:pipeline_utils|stable_diffusion/\w+))\.py$"
    ),
}
# Packages whose names are read, beside those that have data: how many releases, and why these.
# Reports name these most, by the corpora and by what their errors import. Where one of them
# breaks its users with most minor releases, more are read.
READ = {
    60: "jax openai huggingface-hub tokenizers fastapi starlette setuptools keras",
    36: "transformers tensorflow-probability langchain-core pillow ipython cryptography sphinx",
    # Extensions of the frameworks, which break with each of them.
    30: "tensorflow-addons tensorflow-text tensorflow-hub tensorflow-federated diffusers accelerate"
    " torchvision torchaudio sentence-transformers peft datasets lightning numba xgboost seaborn"
    " langchain-openai langchain-community",
    # What the web and its tools import.
    24: "aiohttp botocore uvicorn anyio httpcore kombu pyjwt docker tornado jsonschema pyopenssl"
    " virtualenv poetry poetry-core pytest-asyncio flake8 black rich",
    # Data and science; not dask, whose classes have the names of those of pandas.
    20: "fsspec s3fs statsmodels scikit-image imbalanced-learn nltk gensim librosa joblib",
}
# How programs call packages, and modules whose package has no data of its own.
ALIASES = {
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
    "Crypto": "pycryptodome",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "_cffi_backend": "cffi",
    "_distutils_hack": "setuptools",
    "_pytest": "pytest",
    "_yaml": "pyyaml",
    "absl": "absl-py",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "google": "protobuf",
    "google._upb": "protobuf",
    "google.api": "googleapis-common-protos",
    "google.api_core": "google-api-core",
    "google.auth": "google-auth",
    "google.protobuf": "protobuf",
    "grpc": "grpcio",
    "grpc_tools": "grpcio-tools",
    "jwt": "pyjwt",
    "mpl_toolkits": "matplotlib",
    "pkg_resources": "setuptools",
    "pvectorc": "pyrsistent",
    "pytorch": "torch",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "tree": "dm-tree",
    "yaml": "pyyaml",
}
WORDED = {"keras": 32, "pydantic": 24}  # releases whose errors are read; of others 14
MOST, ANCHORS = {name: most for most, names in READ.items() for name in names.split()}, 6
UV = shutil.which("uv") or "uv"


def spread(items, most):
    if len(items) <= most:
        return list(items)
    return (
        [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)] if most > 1 else []
    )


def sampled(versions, most):
    """Of few releases all; of more the first and the last of each major series and of each minor
    one, as far as they fit, and some between.
    """
    final = [v for v in versions if not (v.is_prerelease or v.is_postrelease)]
    if len(final) <= most:
        return final
    minor, major = {}, {}
    for version in final:
        minor.setdefault(version.release[:2], []).append(version)
        major.setdefault(version.release[0], []).append(version)
    edges = {v for group in major.values() for v in (group[0], group[-1])}
    edges = edges if len(major) <= 12 else set()
    firsts, lasts = ([group[place] for group in minor.values()] for place in (0, -1))
    if len(minor) * 2 <= most:
        chosen = {*firsts, *lasts}
        chosen |= set(spread([v for v in final if v not in chosen], most - len(chosen)))
    elif len(minor) <= most:
        chosen = {*lasts, *spread(firsts, most - len(lasts))}
    else:
        chosen = {*spread(lasts, most)}
    return sorted(chosen | edges)


def unpacked(name, version, python, folder, cache, archive=None):
    """The modules of a release by name; a file that was parsed before is not parsed again."""
    target, only, found = folder / "files", ONLY.get(name), {}
    if archive is not None:
        target = extracted(archive, folder)
    else:
        installed(name, version, python, target, folder)
    for path in sorted(target.rglob("*")):
        place = path.relative_to(target).as_posix()
        module = module_of(place)
        is_read = module is not None and path.is_file() and not SKIPPED.search(place)
        if not is_read or (only and not only.match(place)):
            continue
        if not place.endswith(".py"):
            found.setdefault(module, Surface(module)).is_open = True
            continue
        text = path.read_bytes()
        key = (place, hash(text), len(text))
        if key not in cache:
            cache[key] = surface(text, module, place.endswith("/__init__.py"))
        found[module] = cache[key]
    shutil.rmtree(folder / "files", ignore_errors=True)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    return found


def installed(name, version, python, target, folder):
    command = [UV, "pip", "install", "--no-deps", "--no-config", "--only-binary", ":all:"]
    command += ["--target", str(target), "--cache-dir", str(folder / "cache")]
    command += ["--python-version", str(python), "--python-platform", "x86_64-manylinux_2_40"]
    done = subprocess.run(
        [*command, f"{name}=={version}"], capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise OSError(" ".join(done.stderr.split())[-160:])


def extracted(url, folder):
    """The folder of a source archive that has the packages."""
    path, files = folder / "archive", folder / "files"
    with requests.get(url, timeout=60, verify=settings().cert or True) as answer:
        answer.raise_for_status()
        path.write_bytes(answer.content)
    with tarfile.open(path) as archive:
        archive.extractall(files, filter="data")
    inner = next((each for each in files.iterdir() if each.is_dir()), files)
    below = (inner / each for each in ("src", "lib", "python"))
    return next((b for b in below if b.is_dir() and not (b / "__init__.py").exists()), inner)


def numbers(text, count):
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last) + 1 if last else count)


def extended(content, api):
    """Add what was read before. The data has only parameters that changed; the others are those of
    a release that was read both times.
    """
    releases = [Version(v) for v in content["releases"]]
    before, count = [{} for _ in releases], len(releases)
    for module, by_spans in content["names"].items():
        for spans_of_names, names in by_spans.items():
            for number in numbers(spans_of_names, count):
                before[number] |= {f"{module}:{each}": None for each in names.split(" ")}
    changed = {
        name: {p: set(numbers(text, count)) for p, text in by_parameter.items()}
        for name, by_parameter in content["calls"].items()
    }
    fixed = {}
    for version in reversed([v for v in releases if v in api]):
        for name, accepts in api[version].items():
            same = [p for p in accepts or () if p not in changed.get(name, {})]
            fixed.setdefault(name, same)
    for number, (version, names) in enumerate(zip(releases, before, strict=True)):
        for name in names:
            own = [p for p, present in changed.get(name, {}).items() if number in present]
            names[name] = (*fixed.get(name, ()), *own) or None
        api.setdefault(version, names)


def joined(surfaces):
    """Every name of a release as `module:name`, a module itself as `module:`, with what `import *`
    brings; `module:?` where a module is open.
    """
    found, surfaces = {}, dict(surfaces)
    for module, each in list(surfaces.items()):
        for folder in (n.partition(".")[2] for n in each.names if n.startswith("__path__.")):
            inner = f"{module}.{folder}."
            moved = {
                f"{module}.{m.removeprefix(inner)}": m for m in surfaces if m.startswith(inner)
            }
            surfaces |= {name: surfaces[m] for name, m in moved.items() if name not in surfaces}
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


def generate(name, is_read=True, is_again=False):
    began = time.time()
    source = PyPISource(settings(), Path(os.environ.get("KNOWLEDGE_CACHE", "/tmp/knowledge-cache")))
    package = source.package(name)
    by_version = {r.version: r for r in package.releases if not r.yanked and r.artifacts}
    wheels, last = [], None
    for version, release in sorted(by_version.items()):
        row = pythons_of(release)
        day = release.uploaded.date().isoformat() if release.uploaded else ""
        wheels.append([str(version), day, "" if row == last else row])
        last = row
    needs, last = {}, None
    for version in sampled(sorted(by_version), 100):
        # Wheels of other systems may require other packages.
        wheels_of = [a for a in by_version[version].artifacts if a.is_wheel]
        wheel = min(
            wheels_of,
            key=lambda a: re.search(r"linux\w*(?:x86_64|i686)|none-any", a.filename) is None,
            default=None,
        )
        published = source.published(wheel).requires_dist if wheel else ()
        lines = [
            re.sub(r"\s+", "", r.partition(";")[0])
            + (";" + r.partition(";")[2].strip() if ";" in r else "")
            for r in published
            if "extra ==" not in r.replace("extra==", "extra ==")
        ]
        if wheel and lines != last:
            needs[str(version)] = last = lines
    index = {"package": name, "wheels": wheels, "requires": needs}
    small = write(f"{name}.index.xz", index)
    archives = {
        version: archive.url
        for version, release in by_version.items()
        if not any(a.is_wheel for a in release.artifacts)
        for archive in release.artifacts
        if archive.filename.endswith(".tar.gz")
    }
    size, count = read(name, Index(index), archives, is_again) if is_read else (0, 0)
    print(
        f"{name}: {count} of {len(by_version)} releases, {size // 1000} + {small // 1000} kB,"
        f" {time.time() - began:.0f} s, {time.process_time():.0f} CPU s",
        flush=True,
    )


def read(name, known, archives, is_again=False):
    path, cache, api = FOLDER / f"{name}.api.xz", {}, {}
    before = json.loads(lzma.decompress(path.read_bytes())) if path.exists() else None
    having = [Version(v) for v in before["releases"]] if before else []
    usable = [
        v
        for v in sorted(known.versions)
        if v in archives or (known.is_wheel(v) and known.pythons(v))
    ]
    new = {*sampled(usable, MOST.get(name, 30))} - {*having}
    if is_again:  # what a fault of this file wrote then
        new, having, before = new | {v for v in having if v in usable}, [], None
    new, anchors = sorted(new), spread([v for v in having if v in usable], ANCHORS)
    with tempfile.TemporaryDirectory() as folder:
        for version in [*anchors, *new] if new else []:
            pythons = known.pythons(version) or [Version("3.8")]
            python = next((p for p in reversed(pythons) if p <= Version("3.12")), pythons[0])
            place = (python, Path(folder), cache, archives.get(version))
            try:
                api[version] = joined(unpacked(name, version, *place))
            except (OSError, subprocess.SubprocessError, tarfile.TarError) as error:
                print(f"{name} {version}: {error}"[:200], file=sys.stderr)
    # An archive has more than the package: what lies beside it counts if a wheel has it, too.
    tops = {n.partition(":")[0].partition(".")[0] for v in api if v not in archives for n in api[v]}
    tops = tops or {name.replace("-", "_")}
    for version in api.keys() & archives.keys():
        kept = (n for n in api[version] if n.partition(":")[0].partition(".")[0] in tops)
        api[version] = {n: api[version][n] for n in kept}
    if not set(api) - set(anchors):
        return path.stat().st_size if before else 0, len(having)
    if before:
        extended(before, api)
    content = content_of(name, sorted((v, names) for v, names in api.items() if names))
    return write(path.name, content), len(content["releases"])


def python(interpreters):
    """What Python's own library has, by release: asked of the interpreters themselves."""
    script = Path(__file__).with_name("stdlib_names.py")

    def printed(interpreter, *words, names=()):
        told = "\n".join(names)
        ended = subprocess.run(
            [interpreter, *words],
            capture_output=True,
            text=True,
            check=True,
            input=told,
            timeout=120,
        )
        return ended.stdout

    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    versions = {each: Version(printed(each, "-c", code).strip()) for each in interpreters}
    names = set()
    # A second time with the names of all: see the script.
    for _ in range(2):
        releases = []
        for interpreter, version in versions.items():
            shown = printed(interpreter, str(script), names=sorted(names))
            own = json.loads(shown[shown.index("{") :])
            releases.append((version, {n: None if p is None else tuple(p) for n, p in own.items()}))
        names = {
            name
            for _, own in releases
            for name in own
            if not name.endswith(":") and "." not in name.partition(":")[2]
        }
    releases.sort(key=lambda pair: pair[0])
    while stubs := typeshed(after := Version(f"3.{releases[-1][0].minor + 1}")):
        gone, new = typeshed(releases[-1][0]) - stubs, stubs - typeshed(releases[-1][0])
        last = {n: p for n, p in releases[-1][1].items() if not _is_of(n, gone)}
        # The stubs also have modules that are not Python's own, such as `typing_extensions`.
        own = {f"{n.partition(':')[0]}:" for n in last} | {n for n in new if n.endswith(":")}
        new = {n for n in new if f"{n.partition(':')[0]}:" in own}
        releases.append((after, last | dict.fromkeys(new)))
    write("python.api.xz", content_of("python", releases))


def _is_of(name, gone):
    """Whether a name is gone, or its class or module is."""
    module, _, rest = name.partition(":")
    parents = {f"{module}:", f"{module}:{rest.partition('.')[0]}", name}
    return not parents.isdisjoint(gone)


@functools.cache
def typeshed(version):
    """The public names of Python's own library by the stubs that mypy brings: for releases that
    this machine does not have. None of a release that the stubs do not know.
    """
    import mypy  # of the group `check`

    folder = Path(mypy.__file__).parent / "typeshed" / "stdlib"
    spans, found = {}, set()
    for line in (folder / "VERSIONS").read_text().splitlines():
        module, _, span = line.partition("#")[0].partition(":")
        if span:
            spans[module.strip()] = span.strip().split("-")
    texts = {path: path.read_text() for path in sorted(folder.rglob("*.pyi"))}
    if not any(f"({version.major}, {version.minor})" in text for text in texts.values()):
        return found
    for path, text in texts.items():
        parts = path.relative_to(folder).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        near = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        first, last = next(spans[name] for name in near if name in spans)
        if Version(first) <= version and (not last or version <= Version(last)):
            shown = set(_stub_names(ast.parse(text).body, version))
            found |= {f"{module}:"} | {f"{module}:{name}" for name in shown}
    # `from .events import *` in `asyncio` brings the names of `asyncio.events`.
    for module, star in [name.split(":*.") for name in found if ":*." in name]:
        inner = f"{module}.{star}:"
        found |= {f"{module}:{n[len(inner) :]}" for n in found if n.startswith(inner)}
    return {name for name in found if "*" not in name}


def _stub_names(body, version, inside=""):
    for node in body:
        match node:
            case ast.If():
                code = compile(ast.Expression(node.test), "stub", "eval")
                place = {"version_info": version.release, "platform": "linux"}
                is_so = eval(code, {"sys": types.SimpleNamespace(**place), "TYPE_CHECKING": True})
                yield from _stub_names(node.body if is_so else node.orelse, version, inside)
                continue
            case ast.ClassDef():
                yield from _stub_names(node.body, version, f"{node.name}.")
                names = [node.name]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names = [node.name]
            case ast.Assign():
                names = [t.id for t in node.targets if isinstance(t, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case ast.ImportFrom():
                names = [each.asname for each in node.names if each.asname]
                if node.level == 1 and node.names[0].name == "*":
                    names = [f"*.{node.module}"]
            case _:
                names = []
        yield from (f"{inside}{name}" for name in names if not name.startswith("_"))


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


# Words of an error about what a package had before, or has not yet; others are mostly the user's.
SPOKEN = re.compile(
    rb"(?i)deprecat|no longer|removed|supported|only support|legacy|instead|renamed|replaced|moved"
    rb"|upgrad|not recogni|explicitly|migrat|only instances|cannot be used|not compatible|annotat"
    rb"|must end|executable"
)


def words_of(source):
    """The texts of what a module raises, each as its literal parts."""
    if not SPOKEN.search(source):
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for value in raised_in(tree, {}):
        parts = [re.sub(r"%\(?\w*\)?[srdif]|\{[^{}]*\}", "\0", p) for p in literals(value)]
        whole = " ".join(re.sub(r"https?://[^\s\0]*", "\0", "".join(parts)).split())
        pieces = [p.strip(" .")[:80] for p in whole.split("\0") if len(p.strip(" .")) > 2]
        is_specific = max(map(len, pieces), default=0) >= 20 and sum(map(len, pieces)) >= 24
        if is_specific and SPOKEN.search(whole.encode()):
            yield tuple(pieces)


def raised_in(node, values):
    """The first argument of each raised exception, or what its name was last bound to."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from raised_in(child, {})
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values[name] = value
            case ast.Raise(exc=ast.Call(args=[ast.Name(id=name), *_])):
                yield values.get(name, child)
            case ast.Raise(exc=ast.Call(args=[first, *_])):
                yield first
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from raised_in(child, values)


def literals(node):
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            for each in values:
                yield from literals(each)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from literals(left)
            yield from literals(right)
        case ast.BinOp(left=left, op=ast.Mod()):
            yield from literals(left)
        case ast.Call(func=ast.Attribute(value=value, attr="format" | "strip" | "lstrip")):
            yield from literals(value)
        case _:
            yield "\0"


def spoken(name):
    """The errors that some releases of a package raise and others do not, with the range of the
    others: before the first that has it, or after the last.
    """
    known, cache, said = (
        Index(json.loads(lzma.decompress((FOLDER / f"{name}.index.xz").read_bytes()))),
        {},
        {},
    )
    usable = [v for v in sorted(known.versions) if known.is_wheel(v) and known.pythons(v)]
    read = []
    with tempfile.TemporaryDirectory() as folder:
        for version in sampled(usable, WORDED.get(name, 14)):
            pythons = known.pythons(version)
            python = next((p for p in reversed(pythons) if p <= Version("3.12")), pythons[0])
            target = Path(folder) / "files"
            try:
                installed(name, version, python, target, Path(folder))
            except (OSError, subprocess.SubprocessError):
                continue
            for path in target.rglob("*.py"):
                place = path.relative_to(target).as_posix()
                if SKIPPED.search(place):
                    continue
                text = path.read_bytes()
                key = hash(text)
                if key not in cache:
                    cache[key] = {*words_of(text)}
                for pieces in cache[key]:
                    said.setdefault(pieces, set()).add(len(read))
            shutil.rmtree(target, ignore_errors=True)
            shutil.rmtree(Path(folder) / "cache", ignore_errors=True)
            read.append(version)
    return rows_of(said, read)


def rows_of(said, read):
    words = {pieces: {*re.findall(r"\w+", " ".join(pieces).lower())} for pieces in said}
    for pieces, present in sorted(said.items()):
        lacking = {*range(len(read))} - present
        # An error in other words is no change.
        alike = {
            number
            for other, there in said.items()
            if other != pieces
            and len(words[other] & words[pieces]) * 2 > len(words[other] | words[pieces])
            for number in there
        }
        without = lacking - alike
        below = [number for number in without if number < min(present)]
        above = [number for number in without if number > max(present)]
        if below and len(without) * 2 >= len(lacking):
            yield f"<={read[max(below)]}", pieces
        elif above and not below and 0 in present:
            yield f">={read[min(above)]}", pieces


def said_before():
    path = FOLDER / "words.xz"
    return lzma.decompress(path.read_bytes()).decode().splitlines() if path.exists() else []


def say(packages):
    path, rows = FOLDER / "words.xz", said_before()
    for package in packages:
        began = time.time()
        try:
            own = ["\t".join((package, wish, *pieces)) for wish, pieces in spoken(package)]
        except Exception as error:
            print(f"{package}: {type(error).__name__} {error}"[:300], flush=True)
            continue
        rows = [row for row in rows if row.partition("\t")[0] != package] + own
        data = lzma.compress("\n".join(sorted(rows)).encode(), preset=6)
        path.write_bytes(data)
        seconds, size = time.time() - began, len(data) // 1000
        print(f"{package}: {len(own)} errors, {seconds:.0f} s, {size} kB of all", flush=True)


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
        is_shared = len({*found.get(head, ()), *found.get(f"{head}()", ())}) > 1
        if len(packages) < (4 if key[0] != "." else 2) and (is_shared or key[0] == "."):
            found[key] = packages
    most = max(16, len(set(modules.values())) // 6)  # what more packages have identifies none
    owners = {name: sorted(packages) for name, packages in found.items() if len(packages) <= most}
    size = write("names.xz", ALIASES | modules | {name.lower(): ALIASES[name] for name in ALIASES})
    # One line a name, so that it is found without parsing a hundred thousand of them.
    lines = "".join(f"\n{name}\t{' '.join(owners[name])}" for name in sorted(owners)) + "\n"
    data = lzma.compress(lines.encode(), preset=6)
    (FOLDER / "owners.xz").write_bytes(data)
    print(f"names: {len(owners)} owners, {(size + len(data)) // 1000} kB")


def each(packages, is_read, is_again=False):
    for package in packages:
        try:
            generate(package, is_read, is_again)
        except Exception as error:
            print(f"{package}: {type(error).__name__} {error}"[:300], flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--python", *paths]:
            python(paths)
        case ["--bounds", path]:
            bounds(path)
        case ["--words", *packages]:
            say(packages)
        case ["--known", part]:  # `2/6`: the second sixth of the packages that are known
            number, count = map(int, part.split("/"))
            known = sorted({path.name.split(".")[0] for path in FOLDER.glob("*.index.xz")})
            spoken_of = {row.partition("\t")[0] for row in said_before()}
            for package in known[number - 1 :: count]:
                each([package], (FOLDER / f"{package}.api.xz").exists())
                if package in spoken_of:
                    say([package])
        case ["--again", *packages]:
            each(packages, is_read=True, is_again=True)
        case ["--index", *packages]:
            each(packages, is_read=False)
        case packages:
            each(packages, is_read=True)
    if sys.argv[1:2] != ["--words"]:
        names_of_all()
