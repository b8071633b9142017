"""A file that a move changes, as it was and as it should be."""

from compat.value import Value


class RepositoryFile(Value, frozen=True, kw_only=True):
    """A file of the repository as it was read, and as it should be."""

    path: str
    before: str
    after: str
