"""The `advise` room's knowledge of modules whose name is not their package's own."""

# By the module, or the beginning of its name.
_PACKAGES = {
    "Crypto": "pycryptodome",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "_distutils_hack": "setuptools",
    "_cffi_backend": "cffi",
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
    "pvectorc": "pyrsistent",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "tree": "dm-tree",
    "yaml": "pyyaml",
}
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
