"""The `advise` room's rules for what releases of much-used packages removed or changed, as
their changelogs say.
"""

from compat.advise.message_rule import fault

OF_REMOVALS = (
    # https://numpy.org/doc/stable/release/1.24.0-notes.html#expired-deprecations
    fault(
        "missing-attribute",
        r"module numpy has no attribute (bool|object|int|float|complex|str|long|unicode"
        r"|typeDict)\b",
        "numpy 1.24 removed numpy.$1: what asks for it needs an older numpy.",
        package="numpy",
        needs="numpy<1.24",
    ),
    fault(
        "missing-attribute",
        r"np\.(\w{1,40}) was removed in the numpy 2\.0 release",
        "numpy 2.0 removed np.$1: what asks for it needs an older numpy.",
        package="numpy",
        needs="numpy<2",
    ),
    # https://numpy.org/doc/stable/numpy_2_0_migration_guide.html
    fault(
        "type-error",
        r"unable to avoid copy while creating an array as requested",
        "numpy 2.0 refuses copy=False where a copy is needed: the code is for an older numpy.",
        package="numpy",
        needs="numpy<2",
    ),
    # https://numpy.org/doc/stable/user/troubleshooting-importerror.html
    fault(
        "binary-incompatible",
        r"compiled using numpy 1\.x cannot be run in numpy ([\d.]{1,20}\d)"
        r"|attributeerror: _(?:array|ufunc)_api not found",
        "A compiled module is for numpy 1, and numpy 2 is installed.",
        package="numpy",
        needs="numpy<2",
    ),
    fault(
        "binary-incompatible",
        r"numpy\.(?:dtype|ufunc|ndarray) (?:size changed, may indicate binary incompatib"
        r"|has the wrong size)"
        r"|something is wrong with the numpy installation"
        r"|compiled against a[bp]i version \w{1,20} but this version of numpy is"
        r"|numpy\.(?:_?core)\.(?:multiarray|umath|_multiarray_umath) failed to import",
        "A compiled module is for another numpy than the installed one.",
        package="numpy",
    ),
    # https://protobuf.dev/news/2022-05-06/#python-updates
    fault(
        "type-error",
        r"descriptors cannot (?:not )?be created directly",
        "Generated code in it is for protobuf 3.20 or older, and a newer one is installed.",
        package="protobuf",
        needs="protobuf<3.21",
    ),
    # https://protobuf.dev/support/cross-version-runtime-guarantee/
    fault(
        "version-guard",
        r"(?:incompatible|mismatched) protobuf gencode/runtime (?:major )?versions.{0,300}?gencode"
        r" (RELEASE) runtime (RELEASE)\. runtime version cannot be older",
        "Generated code in it needs protobuf $1 or newer, and $2 is installed.",
        package="protobuf",
        needs="protobuf>=$1",
    ),
    fault(
        "version-guard",
        r"(?:incompatible|mismatched) protobuf gencode/runtime (?:major )?versions",
        "Generated code in it is for another protobuf than the installed one.",
        package="protobuf",
    ),
    fault(
        "missing-attribute",
        r"cannot import name (runtime_version) from google\.protobuf(?![\w.])",
        "Generated code in it needs protobuf 5.26 or newer.",
        package="protobuf",
        needs="protobuf>=5.26",
    ),
    fault(
        "missing-attribute",
        r"module google\.protobuf\.descriptor has no attribute _internal_create_key",
        "Generated code in it needs protobuf 3.12 or newer.",
        package="protobuf",
        needs="protobuf>=3.12",
    ),
    # https://protobuf.dev/news/2023-12-05/: removed in 5.26.
    fault(
        "missing-attribute",
        r"(?:messagefactory|symboldatabase) object has no attribute (getprototype|getmessages)",
        "protobuf 5.26 removed $1: the code is for an older one.",
        package="protobuf",
        needs="protobuf<5",
    ),
    fault(
        "type-error",
        r"messageto(?:dict|json)\(\) got an unexpected keyword argument"
        r" including_default_value_fields",
        "protobuf 5.26 removed including_default_value_fields: the code is for an older one.",
        package="protobuf",
        needs="protobuf<5",
    ),
    fault(
        "missing-attribute",
        r"couldnt find field (google\.protobuf\.\w{1,80}\.\w{1,80})",
        "The installed protobuf has no $1: generated code in it is for another one.",
        package="protobuf",
    ),
    fault(
        "missing-attribute",
        r"fielddescriptor object has no attribute (\w{1,80})",
        "The installed protobuf's field descriptors have no $1.",
        package="protobuf",
    ),
    fault(
        "missing-attribute",
        r"cannot import name builder from google\.protobuf\.internal",
        "Generated code in it needs protobuf 3.20 or newer.",
        package="protobuf",
        needs="protobuf>=3.20",
    ),
    # https://setuptools.pypa.io/en/latest/history.html#v82-0-0
    fault(
        "missing-module",
        r"no module named (pkg_resources)(?![\w.])",
        "setuptools is not installed, or is 82 or newer, which has no pkg_resources.",
        package="setuptools",
        needs="setuptools<82",
    ),
    # https://setuptools.pypa.io/en/latest/history.html#v58-0-0
    fault(
        "build",
        r"error in (NAME) setup command: use_2to3 is invalid",
        "$1 does not build with setuptools 58 or newer: its code is for Python 2.",
        package="$1",
    ),
    fault(
        "build",
        r"error in (NAME) setup command: ",
        "$1 does not build with the installed setuptools, which refuses its setup.",
        package="$1",
    ),
    # https://github.com/pypa/setuptools/issues/4483
    fault(
        "type-error",
        r"canonicalize_version\(\) got an unexpected keyword argument strip_trailing_zero",
        "The installed setuptools needs packaging 22 or newer.",
        package="packaging",
        of="setuptools",
        needs="packaging>=22",
    ),
    # https://cryptography.io/en/latest/changelog/: names that an older pyOpenSSL asks for.
    fault(
        "missing-attribute",
        r"module lib has no attribute ((?:x509|ssl|gen|openssl|err|evp|bio|pkcs)_\w{1,80})",
        "The installed cryptography has no $1, which an older pyOpenSSL asks for.",
        package="pyopenssl",
        of="cryptography",
    ),
    # https://pandas.pydata.org/docs/whatsnew/v2.0.0.html
    fault(
        "missing-attribute",
        r"(?:dataframe|series) object has no attribute (append|iteritems|mad)\b",
        "pandas 2.0 removed $1: the code is for an older pandas.",
        package="pandas",
        needs="pandas<2",
    ),
    # https://pandas.pydata.org/docs/whatsnew/v1.0.0.html#removal-of-prior-version-deprecations-changes
    # and v0.20.0
    fault(
        "missing-attribute",
        r"(?:dataframe|series) object has no attribute (ix|as_matrix|get_value|set_value|sort|order"
        r"|convert_objects|clip_upper|clip_lower|get_dtype_counts|irow|icol|from_csv)\b",
        "pandas 1.0 and earlier releases removed $1: the code is for an older pandas.",
        package="pandas",
        needs="pandas<1",
    ),
    # A column may have any name, but mostly not one that begins so.
    fault(
        "missing-attribute",
        r"(?:dataframe|series|index|multiindex) object has no attribute (_[a-z]\w{1,60})",
        "The installed pandas has no $1 inside: the code, or what was saved, is of another one.",
        package="pandas",
    ),
    # https://docs.pydantic.dev/latest/migration/
    fault(
        "missing-attribute",
        r"pydanticimporterror: (\w{1,80}) has been (?:moved|removed)",
        "pydantic 2 has no $1: the code is for pydantic 1.",
        package="pydantic",
        needs="pydantic<2",
    ),
    # A module that says itself what it no longer has.
    fault(
        "missing-attribute",
        r"(?:attribute|import|runtime)error: ([a-z_]\w{0,80})((?:\.\w{1,80}){1,6}) (?:was|were|has"
        r" been|have been|is) (?:removed|deprecated)",
        "The installed $1 no longer has $1$2: the code is for an older one.",
        package="$1",
    ),
)
