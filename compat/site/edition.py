"""The `site` room's input and output: all that one edition is made from, the files that it becomes,
and their URLs.

A producer is `files(edition) -> Iterator[File | Made | Listing]`. Paths have no leading slash and
use `/`. The scheme:

    index.html                         the home of all matrices
    <matrix>/index.html                the home of one; below it advise/ grid/ grid/<py3.9>/
    cell/<id>/ cap/<id>/
                                       release/<version>/ schedule/ proposals/ changes/ reliability/
    lock/<matrix>/<cell-id>.txt        the hash-locked requirements of a cell
    api/v1/<matrix>/... badge/<matrix>/... feed/<matrix>/... cal/<matrix>/... schema/v1/...
    about/ about/<page>/               the documentation, from docs/*.md

A page at `a/b/` is the file `a/b/index.html`. Every part that comes from outside goes through
`segment`.
"""

import datetime
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Protocol

from packaging.version import Version

from compat.advise.answer import Advisor, Recommended, Unproven
from compat.advise.proof import TestedCombination
from compat.advise.request import Goal, Request
from compat.declare.capabilities import Described
from compat.lock.lockfile import Lock
from compat.lock.text import decode_lock
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.policy.calendar import Schedule, schedule
from compat.policy.proposal import Proposal
from compat.policy.propose import proposals
from compat.results.record import RESERVED, Capability, Record, Status
from compat.results.snapshot import Entry, Snapshot
from compat.results.table import ReleaseColumn, columns
from compat.site.history import Event, events
from compat.site.tokens import Tokens
from compat.value import Value

Versions = tuple[Version, ...]
_LONGEST = 150
_TAKEN = frozenset(("index.html", "index.json"))
_PLAIN = re.compile(r"[a-z0-9_.+-]")


class SiteFile(Value, frozen=True, kw_only=True):
    """A file of the site with its content."""

    path: str
    content: bytes


class Made(Value, frozen=True, kw_only=True):
    """A file that is made only when it must be: `inputs` is a digest of everything that `make`
    reads.

    Where an earlier edition has the file with the same inputs, `make` is not called.
    """

    path: str
    inputs: str
    make: Callable[[], bytes]


class Listed(Value, frozen=True, kw_only=True):
    """A file as a listing names it: its sha256, and its size in bytes."""

    path: str
    sha256: str
    bytes: int


class DigestListing(Value, frozen=True, kw_only=True):
    """A file made from the digests of all that came before it and whose paths begin with `below`,
    sorted by path.
    """

    path: str
    below: str
    make: Callable[[tuple[Listed, ...]], bytes]


class PartSource(Protocol):
    """Where the parts of a matrix are read from when a page needs them whole."""

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell, oldest first."""

    def lock_text(self, cell: str) -> str | None:
        """Return the text of a cell's lock; None when it has none."""


class MatrixReport:
    """What an edition tells of one matrix.

    `capabilities` are those that the suite describes; `suite` has the texts of its files, helpers
    to copy among them.
    """

    def __init__(
        self,
        picture: Snapshot,
        kept: PartSource,
        suite: Mapping[str, str],
        told: Iterable[Described],
    ) -> None:
        """Take what is known of every cell, where whole records are read, and the suite."""
        self.picture = picture
        self.kept = kept
        self.suite = dict(suite)
        self.capabilities = tuple(told)
        self._answers: dict[Request, Recommended | Unproven] = {}
        self._ordered: dict[Goal, list[TestedCombination]] = {}
        self._released: dict[tuple[str, Version], datetime.date | None] = {}

    @property
    def name(self) -> str:
        """The matrix's name."""
        return self.picture.matrix.name

    def released(self, axis: str, version: Version) -> datetime.date | None:
        """Return the day on which a coordinate of a package axis came out: a series, with its first
        release.
        """
        if (axis, version) not in self._released:
            (found,) = (one for one in self.picture.matrix.packages if one.name == axis)
            came_out = self.picture.catalogue.came_out(found, version)
            self._released[axis, version] = None if came_out is None else came_out.date()
        return self._released[axis, version]

    @cached_property
    def titles(self) -> dict[str, Described]:
        """What the suite says of each capability, by its id."""
        return {one.id: one for one in self.capabilities}

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """The ids of the capabilities that the suite has or that any run told of, sorted."""
        seen = (one.id for entry in self.picture.known for one in entry.verdict.capabilities)
        return tuple(sorted({*self.titles, *seen} - self.picture.present.helpers))

    @property
    def helpers(self) -> tuple[str, ...]:
        """The ids under which the suite tests files of its own, sorted."""
        return tuple(sorted(self.picture.present.helpers))

    @cached_property
    def columns(self) -> tuple[ReleaseColumn, ...]:
        """The releases whose suite a run reached, oldest first, each with the cell that speaks for
        it.
        """
        return columns(self.picture)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """Every change of a verdict, the newest first."""
        return events(self.picture)

    @cached_property
    def schedule(self) -> Schedule:
        """The coming moves of floors, from the picture's day on."""
        return schedule(self.picture, self.picture.day)

    @cached_property
    def proposals(self) -> tuple[Proposal, ...]:
        """The moves of floors that are open or wait on the picture's day."""
        return proposals(self.picture, self.picture.day)

    @cached_property
    def failures(self) -> dict[str, list[tuple[Entry, Capability]]]:
        """The cells in which each capability fails, and how."""
        found: dict[str, list[tuple[Entry, Capability]]] = {}
        for entry in self.picture.known:
            for one in (*entry.verdict.capabilities, *entry.verdict.helpers):
                if one.status == "no":
                    found.setdefault(one.id, []).append((entry, one))
        return found

    @cached_property
    def locks(self) -> "Locks":
        """The locks of its cells."""
        return Locks(self)

    @cached_property
    def advisor(self) -> Advisor:
        """What answers the question what to install."""
        return Advisor(self.picture, self.locks)

    def answer(self, request: Request) -> Recommended | Unproven:
        """Return the advisor's answer, worked out once."""
        if request not in self._answers:
            self._answers[request] = self.advisor.answer(request)
        return self._answers[request]

    @cached_property
    def disagreeing(self) -> dict[Version, dict[str, set[Status]]]:
        """What each capability comes to in the cells of a release that do not speak for it, by
        release.
        """
        found: dict[Version, dict[str, set[Status]]] = {}
        for column in self.columns:
            told = found.setdefault(column.version, {})
            for entry in column.others:
                for one in (*entry.verdict.capabilities, *entry.verdict.helpers):
                    told.setdefault(one.id, set()).add(one.status)
        return found

    def ordered(self, goal: Goal) -> list[TestedCombination]:
        """Return all proofs, the best for the goal first."""
        if goal not in self._ordered:
            self._ordered[goal] = self.advisor.fitting(Request(goal=goal))
        return self._ordered[goal]

    @cached_property
    def facts(self) -> Feasibility:
        """What catalogue and rules say about cells: published requirements, relaxations."""
        return Feasibility(self.picture.matrix, self.picture.catalogue)

    @cached_property
    def places(self) -> dict[str, tuple[Entry, ...]]:
        """The entries of each place, fresh before dated before relaxed, by the place's id (that of
        its fresh cell).
        """
        found: dict[str, list[Entry]] = {}
        for entry in self.picture.entries:
            found.setdefault(place_of(entry.cell), []).append(entry)
        return {place: tuple(entries) for place, entries in found.items()}

    @cached_property
    def board(self) -> dict[Version, dict[tuple[Version, Versions], tuple[Entry, ...]]]:
        """The places by Python, then by the subject's version and those of the other package axes
        in their order.
        """
        matrix = self.picture.matrix
        python, subject = matrix.interpreters.name, matrix.subject
        others = [axis.name for axis in matrix.packages if axis is not matrix.subject_axis]
        found: dict[Version, dict[tuple[Version, Versions], tuple[Entry, ...]]] = {}
        for entries in self.places.values():
            at = {one.axis: one.version for one in entries[0].cell.coordinates}
            found.setdefault(at[python], {})[at[subject], tuple(at[name] for name in others)] = (
                entries
            )
        return dict(sorted(found.items()))


class Locks(Mapping[str, Lock]):
    """The locks of a volume's cells by id, each read when it is first asked for."""

    def __init__(self, volume: MatrixReport) -> None:
        """Take the volume."""
        self._volume = volume
        self._ids = [
            entry.cell.id for entry in volume.picture.known if entry.lock_digest is not None
        ]
        self._read: dict[str, Lock] = {}

    def __getitem__(self, cell: str) -> Lock:
        """Return the lock of a cell; KeyError when it has none."""
        if cell not in self._read:
            text = self._volume.kept.lock_text(cell)
            if text is None:
                raise KeyError(cell)
            self._read[cell] = decode_lock(text, f"matrices/{self._volume.name}/locks/{cell}.txt")
        return self._read[cell]

    def __iter__(self) -> Iterator[str]:
        """Go through the ids of the cells that have one."""
        return iter(self._ids)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._ids)


class Edition:
    """All that one edition of the site is made from; `day` is the day that it speaks for.

    The first volume is the one that the home page opens with. `repository` is the `owner/name` on
    GitHub whose issues take reports; empty where there is none.
    """

    def __init__(
        self,
        volumes: Iterable[MatrixReport],
        base_url: str,
        day: datetime.date,
        repository: str = "",
    ) -> None:
        """Take at least one volume, and the address under which the site will stand."""
        self.volumes = tuple(volumes)
        self.base_url = base_url.rstrip("/") + "/"
        self.day = day
        self.repository = repository
        self._tokens: dict[str, Tokens] = {}

    def volume(self, matrix: str) -> MatrixReport:
        """Return the volume of that matrix; KeyError when the edition has none."""
        for volume in self.volumes:
            if volume.name == matrix:
                return volume
        raise KeyError(matrix)

    def tokens(self, volume: MatrixReport) -> Tokens:
        """Return what the files about a volume depend on, as digests."""
        if volume.name not in self._tokens:
            titles = [(one.name, one.picture.matrix.title) for one in self.volumes]
            parts = (self.base_url, self.repository, titles, sorted(volume.suite.items()))
            self._tokens[volume.name] = Tokens(volume.picture, self.day, *parts)
        return self._tokens[volume.name]

    def records(self, matrix: str, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell, oldest first."""
        return self.volume(matrix).kept.records(cell)

    def lock_text(self, matrix: str, cell: str) -> str | None:
        """Return the text of a cell's lock; None when it has none."""
        return self.volume(matrix).kept.lock_text(cell)

    def url(self, path: str) -> str:
        """Return the absolute address of a path of the site; that of a page ends in a slash."""
        return self.base_url + path.removesuffix("index.html")


def place_of(cell: Cell) -> str:
    """Return the id of a cell's place: its id without the recipe."""
    return cell.id.partition("+")[0]


@lru_cache(maxsize=100_000)
def segment(text: str) -> str:
    """Return the text as one part of a path: another text gives another part, on any file system.

    Lower-case ASCII letters, digits and `_.+-` stand for themselves; any other byte is `~` and two
    hex digits. What would be long ends in its sha256.
    """
    coded = "".join(
        char if _PLAIN.fullmatch(char) else _coded(char) for char in text[: _LONGEST + 1]
    )
    stem = coded.partition(".")[0]
    if not coded or coded in _TAKEN or stem in RESERVED or coded.startswith("."):
        coded = f"~{coded}"
    if coded.endswith("."):
        coded = f"{coded[:-1]}~2e"
    if len(coded) > _LONGEST:
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        return f"{coded[:60]}~~{digest}"
    return coded


def page(matrix: str, *parts: str) -> str:
    """Return the path of a matrix's page: `page("demo", "cap", "sum")` is
    `demo/cap/sum/index.html`.
    """
    return "/".join((*map(segment, (matrix, *parts)), "index.html"))


def cell_page(cell: Cell) -> str:
    """Return the path of a cell's page; only cells that have a lock or a run have one
    (`Picture.known`).
    """
    return page(cell.matrix, "cell", cell.id)


def lock_file(matrix: str, cell: str) -> str:
    """Return the path of a cell's lock on the site."""
    return f"lock/{segment(matrix)}/{segment(cell)}.txt"


def _coded(char: str) -> str:
    return "".join(f"~{byte:02x}" for byte in char.encode(errors="surrogatepass"))
