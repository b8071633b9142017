"""The `advise` room's patterns for what a message tells besides its complaints: the Python and the
versions of packages. Their syntax is that of the rules.
"""

# A Python that a message names, the most certain first. Two groups are the two numbers of a tag.
PYTHON_PATTERNS = (
    r"requires a different python: (\d{1,2}\.\d{1,3}[\d.]{0,8}) not in",
    r"current python version \(?(\d{1,2}\.\d{1,3}[\d.]{0,8})",
    r"\bpython(?: ?version)?(?:[ =:]| is ){1,3}(\d{1,2}\.\d{1,3}[\d.]{0,8})",
    r"\bpython[/\\ -]?(3\.\d{1,3})",
    r"\bcp(3)(\d{1,2})\b",
    r"\bpython(3)(\d{1,2})\b",
)
# A package with its version: `name==1.2`, `name 1.2`, `name version: 1.2`, `name-1.2.tar.gz`.
VERSION_PATTERN = (
    r"(?<![\w.-])([A-Za-z][\w.-]{0,100}?)(?:\[[^\]]{0,80}\])?(?:==|(?: version)?:? {1,60}|-)v?"
    r"(\d{1,20}(?:\.\d{1,20}){1,8}[\w.+]{0,40}?)(?=[\s,;)]|-py|-cp|\.tar|\.whl|\.\s|$)"
)
