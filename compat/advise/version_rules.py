"""The `advise` room's rules for what packages say of the versions of others."""

from compat.advise.message_rule import fault

OF_VERSIONS = (
    fault(
        "version-guard",
        r"this version of ([\w-]{1,60}(?: [\w-]{1,60})?) requires ([\w-]{1,60}(?: [\w-]{1,60})?)"
        r" version ([<>=]=? ?[\d.]{1,20}\d)[;,.]? ?(?:but )?detected an installation of version"
        r" ([\w.-]{1,40}\w)",
        "$1 requires $2 $3 when it is imported, and $2 $4 is installed.",
        package="$2",
        of="$1",
        needs="$2$3",
    ),
    fault(
        "version-guard",
        r"([\w-]{1,60}) is version ([\w.]{1,40}), but this version of ([\w-]{1,60}) requires"
        r" version (?:>= ?)?([\w.]{1,40}\w)",
        "$3 requires $1 $4 or newer, and $1 $2 is installed.",
        package="$1",
        of="$3",
        needs="$1>=$4",
    ),
    fault(
        "version-guard",
        r"([\w-]{1,60}) version (RELEASE) is newer than and incompatible with ([\w-]{1,60}) version"
        r" ([\w.]{1,40}\w)",
        "$1 $2 is too new for $3 $4.",
        package="$1",
        of="$3",
        needs="$1<=$4",
    ),
    fault(
        "version-guard",
        r"(?:error: |^|(?<=[\s(]))(DIST) (?:needs|requires) (DIST) (?:version )?(\d[\d.]{0,20}) or"
        r" (?:less|lower|older|earlier)",
        "$1 requires $2 $3 or older when it is imported.",
        package="$2",
        of="$1",
    ),
    fault(
        "version-guard",
        r"error: ([\w-]{1,60}) (?:needs|requires) (?!(?:python|version)\b)([\w-]{1,60}) (?:version"
        r" )?(?:>= ?)?(\d[\d.]{0,20}) or (?:higher|newer|later|above|greater|more)",
        "$1 requires $2 $3 or newer when it is imported.",
        package="$2",
        of="$1",
        needs="$2>=$3",
    ),
    # What pandas says of the packages that it takes where they are installed.
    fault(
        "version-guard",
        r"(?:([\w-]{1,60}) requires )?version ([\d.]{1,20}\d) or newer of ([\w-]{1,60})"
        r" \(version (RELEASE) currently installed\)",
        "$1 requires $3 $2 or newer, and $3 $4 is installed.",
        package="$3",
        of="$1",
        needs="$3>=$2",
    ),
    fault(
        "version-guard",
        r"this version of ([\w-]{1,60}) is incompatible with ([\w-]{1,60}) ?< ?([\d.]{1,20}\d)",
        "$1 requires $2 $3 or newer when it is imported.",
        package="$2",
        of="$1",
        needs="$2>=$3",
    ),
    fault(
        "version-guard",
        r"error: (NAME)(SPEC) is required for a normal functioning of this module, but found"
        r" \1==(RELEASE)",
        "A package requires $1$2 when it is imported, and $1 $3 is installed.",
        package="$1",
        needs="$1$2",
    ),
    fault(
        "version-guard",
        r"error: (NAME)==(RELEASE) is used but incompatible\. please install (?:NAME)(SPEC)",
        "A package requires $1$3 when it is imported, and $1 $2 is installed.",
        package="$1",
        needs="$1$3",
    ),
    fault(
        "version-guard",
        r"error: (NAME)==(RELEASE) is used but incompatible(?!\. please install \S{1,60}=\d)",
        "A package takes another $1 when it is imported, and $1 $2 is installed.",
        package="$1",
    ),
    fault(
        "version-guard",
        r"installed version of ([\w-]{1,60}) is ([\w. ]{1,40}), but this is not (?:yet )?supported"
        r" (?:in|by) ([\w-]{1,60}\w)",
        "$3 does not take $2 of $1 when it is imported.",
        package="$1",
        of="$3",
    ),
    fault(
        "version-guard",
        r"importerror: (NAME) v?(\d[\d.]{0,20}\d|\d) only supports"
        r" ([^,.;]{1,80}(?:\.\d[^,.;]{0,20}){0,4})",
        "$1 $2 works with $3 alone.",
        package="$1",
    ),
    # https://grpc.io: what generated code checks since grpcio-tools 1.63.
    fault(
        "version-guard",
        r"the (grpc) package installed is at version (RELEASE),? but the generated code in"
        r" \S{1,300} depends on grpcio>=([\w.]{1,40}\w)",
        "Generated code in it needs grpcio $3 or newer, and $2 is installed.",
        package="grpcio",
        needs="grpcio>=$3",
    ),
    # What pkg_resources says of requirements that are not met.
    fault(
        "conflict",
        r"versionconflict: \((NAME) (RELEASE) \([^)]{0,400}\),"
        r" requirement\.parse\((NAME)EXTRAS(SPEC)\)(?:, \{(NAME)[,}])?",
        "$5 requires $3$4, and $1 $2 is installed.",
        package="$1",
        of="$5",
        needs="$3$4",
    ),
    # What distutils says.
    fault(
        "conflict",
        r"error: (NAME) (RELEASE) is installed but \1EXTRAS(SPEC) is required by \{(NAME)[,}]",
        "$4 requires $1$3, and $1 $2 is installed.",
        package="$1",
        of="$4",
        needs="$1$3",
    ),
    fault(
        "missing-module",
        r"distributionnotfound: the (NAME)EXTRAS(SPEC)? distribution was not found and is required"
        r" by (?!the application)(NAME)(?=[\s,]|$)",
        "$3 requires $1$2, which is not installed.",
        package="$1",
        of="$3",
        needs="$1$2",
    ),
)
# What other packages have changed, and one's own may lack: is held against what is known alone.
OF_CHANGES = (
    fault(
        "missing-module",
        r"packagenotfounderror: (?:no package metadata was found for )?(NAME)(?=\s|$)",
        "The package $1 is not installed, or its metadata is damaged.",
        package="$1",
    ),
    # https://docs.h5py.org/en/stable/whatsnew/3.0.html
    fault(
        "missing-attribute",
        r"(?:hdf5_format|saving|topology)\.py, line SAMEFILEattributeerror: str object has no"
        r" attribute decode",
        "h5py 3 gives text where bytes are expected: the code is for h5py 2.",
        package="h5py",
        needs="h5py<3",
    ),
    # pip-tools calls what pip keeps to itself, below pip._internal.
    fault(
        "type-error",
        r"pip-(?:compile|sync)\b(?:(?!-packages/).){0,600}? typeerror: (?:[\w.]{1,80}\.)?\w{1,80}"
        r"\(\) got an unexpected keyword argument (\w{1,80})",
        "pip-tools calls pip with $1, which the installed pip does not take.",
        package="pip",
        of="pip-tools",
    ),
    # https://importlib-metadata.readthedocs.io/en/latest/history.html#v5-0-0
    fault(
        "missing-attribute",
        r"entrypoints object has no attribute (get|items|keys|values)\b",
        "importlib-metadata 5 and Python 3.12 removed $1 of entry points: the code is for older"
        " ones.",
        package="importlib-metadata",
        needs="importlib-metadata<5",
    ),
)
