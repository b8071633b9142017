"""The `site` room's page weights: how large each kind of page may be, gzipped."""

from collections.abc import Iterator, Mapping

from compat.value import Value

KIB = 1024
# The most that a kind of file may weigh, gzipped; a page of any other kind may
# weigh 60 KiB. The kind of a page is the folder below its matrix; the box for other pages is one
# of its own.
_BUDGETS = {"grid": 50, "cell": 12, "embed": 4, "css": 12, "js": 15}
_PAGE = 60


class Weight(Value, frozen=True, kw_only=True):
    """The heaviest file of a kind: how many there are, and its size and the most allowed, in bytes
    after gzip.
    """

    kind: str
    count: int
    heaviest: str
    size: int
    most: int

    @property
    def is_over(self) -> bool:
        return self.size > self.most


def weights(sizes: Mapping[str, int]) -> tuple[Weight, ...]:
    """Return the heaviest page, style sheet and script of each kind; `sizes` are those after gzip
    by path.
    """
    return tuple(_weights(sizes))


def _weights(sizes: Mapping[str, int]) -> Iterator[Weight]:
    kinds: dict[str, list[str]] = {}
    for path in sizes:
        kinds.setdefault(_kind(path), []).append(path)
    for kind in sorted(kind for kind in kinds if kind):
        heaviest = max(kinds[kind], key=lambda path: (sizes[path], path))
        yield Weight(
            kind=kind,
            count=len(kinds[kind]),
            heaviest=heaviest,
            size=sizes[heaviest],
            most=_BUDGETS.get(kind, _PAGE) * KIB,
        )


def _kind(path: str) -> str:
    if path.endswith((".css", ".js")):
        return path.rpartition(".")[2]
    if not path.endswith(".html"):
        return ""
    parts = path.split("/")
    if parts[0] == "embed":
        return parts[0]
    return parts[1] if len(parts) > 2 else "home"
