"""The `advise` room's knowledge of modules whose name is not their package's own, and of names that
tell of no package.
"""

import sys

# By the module, or the beginning of its name.
_PACKAGES = {
    "Crypto": "pycryptodome",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "_distutils_hack": "setuptools",
    "_cffi_backend": "cffi",
    "_pytest": "pytest",
    "_yaml": "pyyaml",
    "absl": "absl-py",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "google.api": "googleapis-common-protos",
    "google.api_core": "google-api-core",
    "google.auth": "google-auth",
    "google.protobuf": "protobuf",
    "google._upb": "protobuf",
    "grpc": "grpcio",
    "grpc_tools": "grpcio-tools",
    "jwt": "pyjwt",
    "mpl_toolkits": "matplotlib",
    "pkg_resources": "setuptools",
    "pytorch": "torch",
    "pvectorc": "pyrsistent",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "tree": "dm-tree",
    "yaml": "pyyaml",
}
# What many call a module of their own.
_OF_ANYBODY = frozenset(
    (
        *("api", "app", "base", "common", "config", "configs", "constants", "core", "data"),
        *("dataset", "datasets", "db", "demo", "errors", "example", "examples", "forms"),
        *("functions", "helper", "helpers", "lib", "libs", "logger", "main", "misc", "model"),
        *("models", "module", "modules", "my", "net", "network", "networks", "options", "plugin"),
        *(
            "plugins",
            "process",
            "project",
            "run",
            "scripts",
            "server",
            "setting",
            "settings",
            "src",
        ),
        *("agent", "agents", "auth", "bot", "callbacks", "client", "crud", "custom", "database"),
        *("dependencies", "engine", "env", "environment", "evaluation", "execution", "game"),
        *("handlers", "inference", "losses", "metrics", "nodes", "player", "preprocess", "routes"),
        *("schema", "schemas", "service", "services", "state", "trainer", "user", "users", "vocab"),
        *("test", "tests", "tool", "tools", "train", "types", "ui", "urls", "util", "utilities"),
        *("utils", "views", "api_keys", "cfg", "cogs", "const", "consts", "credentials", "globals"),
        *(
            "keys",
            "local_settings",
            "parameters",
            "params",
            "secret",
            "shared",
            "tokens",
            "version",
        ),
    )
)
# Under which names programs import modules: a call of `np.sum` is one of numpy.
_SHORT_FORMS = {"jnp": "jax", "np": "numpy", "pd": "pandas"}
_BY_LOWER = {module.lower(): package for module, package in (_PACKAGES | _SHORT_FORMS).items()}


def module_package(module: str) -> str:
    """Return the package of a module: the known one, or the name of its top module. Messages are
    matched without regard to case, so are modules.
    """
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        package = _BY_LOWER.get(".".join(parts[:length]).lower())
        if package is not None:
            return package
    return parts[0]


def is_own_name(name: str) -> bool:
    """Return whether a module of that name may be of one's own, or is of Python's library, so that
    the name alone tells of no package.
    """
    module = name.replace("-", "_").lower()
    return (
        module.startswith(("my_", "_"))
        or module in _OF_ANYBODY
        or module in {known.lower() for known in sys.stdlib_module_names}
    )
