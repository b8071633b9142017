"""The `advise` room's rules for what conda and mamba refuse."""

from compat.advise.message_rule import fault

OF_CONDA = (
    # What mamba, and conda since 23.10, say.
    fault(
        "conflict",
        r"package (NAME)-(?:\d[\w.!+]{0,40})-\S{1,60} requires ([a-z0-9][\w.-]{0,80})"
        r" ?(SPEC)?[\w.*, ]{0,40}, but none of the providers can be installed",
        "$1 requires $2$3, which nothing that is asked for besides admits.",
        package="$2",
        of="$1",
    ),
    # https://docs.conda.io: the classic solver lists what it was asked for, and what that asks for.
    fault(
        "requires-python",
        r"incompatible with the existing python installation in your environment: specifications:"
        r" - (NAME)(?:[ =]\S{1,60})? -> python\[version=([^\]]{1,200})\]",
        "$1 requires Python $2.",
        package="python",
        of="$1",
    ),
    fault(
        "conflict",
        r"specifications were found to be (?:in conflict|incompatible[^:]{0,80}) ?: ?- ?(NAME)"
        r"(?=[ =<>!~*]|->|$)(?:[^-]{0,80} -(?: |(?=[a-z]))([a-z]NAME)(?=[ =<>!~*]|->|$))?",
        "What $1 and $2 require cannot be installed together.",
        package="$1",
        of="$2",
    ),
    fault(
        "conflict",
        r"package (NAME) conflicts for: (NAME)(?=[ =<>!~]|$)",
        "The requirements on $1, of $2 and others, contradict each other.",
        package="$1",
        of="$2",
    ),
    fault(
        "no-artifact",
        r"(?:packagesnotfounderror: the following packages are (?:not available from current"
        r" channels|missing from the target environment)|resolvepackagenotfound): ?- ?(NAME)"
        r"(?=[ =<>!~\[]|$)",
        "The channels have no such $1.",
        package="$1",
    ),
    fault(
        "no-artifact",
        r"nothing provides (NAME)(?=[ =<>!~])[^,;:]{0,80}? needed by ([a-z][\w.-]{0,80}?)-\d",
        "The channels have no such $1, which $2 requires.",
        package="$1",
        of="$2",
    ),
    fault(
        "no-artifact",
        r"nothing provides (?:requested )?(NAME)(?=[ =<>!~]|$)",
        "The channels have no such $1.",
        package="$1",
    ),
    # What is pinned in an environment, and so may not be changed.
    fault(
        "conflict",
        r"pins seem to be involved in the conflict\. currently pinned specs: - (NAME)"
        r"(?=[ =<>!~]|$)",
        "$1 is pinned to a version that what is asked for does not admit.",
        package="$1",
    ),
    fault(
        "conflict",
        r"(?:^|[ >-])(NAME) [\d.*=|<>,!~ \[\]]{0,80}is not installable because",
        "What $1 requires cannot be installed with the rest.",
        package="$1",
    ),
    fault(
        "no-artifact",
        r"(?:^|[ >-])(NAME) [\d.*=|<>,!~ \[\]]{0,80}does not exist \(perhaps a typo or a missing"
        r" channel\)",
        "The channels have no such $1.",
        package="$1",
    ),
)
