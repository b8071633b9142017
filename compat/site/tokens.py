"""The `site` room's fingerprints: what a page depends on as a digest, so that it is made only when
that changes.
"""

import datetime
import hashlib

import msgspec
from msgspec.structs import asdict

from compat.results.answer import Answer
from compat.results.snapshot import Snapshot


class Tokens:
    """What the pages of a report depend on, as digests: `seed` of all that was declared, and one of
    each known cell.
    """

    def __init__(self, snapshot: Snapshot, day: datetime.date, *parts: object) -> None:
        self.seed = digest(
            repr(snapshot.ask),
            msgspec.json.encode(snapshot.catalogue, enc_hook=str),
            # A cell that refutes an entry takes the explanation from the pages of others.
            sorted(snapshot.attribution.refuting),
            sorted(snapshot.plain.items()),
            msgspec.json.encode(snapshot.platform_installs),
            *parts,
        )
        shared = _SharedDigests()
        self._of = {entry.cell.id: _token(entry, shared) for entry in snapshot.known}
        self._all = digest(self.seed, day, sorted(self._of.items()))

    def of(self, *entries: Answer | None) -> str:
        ids = (entry.cell.id for entry in entries if entry is not None)
        return digest(self.seed, *(self._of.get(cell, cell) for cell in ids))

    @property
    def all(self) -> str:
        """A digest of the day, and of what is known of every cell."""
        return self._all


def digest(*parts: object) -> str:
    text = "\0".join([part if isinstance(part, str) else repr(part) for part in parts])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


class _SharedDigests:
    """The digests of what verdicts share: most cells came to what another one did, and hold the
    same object.
    """

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[object, bytes]] = {}

    def of(self, shared: object) -> bytes:
        known = self._by_identity.get(id(shared))
        if known is None:
            content = msgspec.msgpack.encode(shared, enc_hook=str)
            # With the object, so that no other gets its identity.
            known = self._by_identity[id(shared)] = shared, hashlib.sha256(content).digest()
        return known[1]


def _token(entry: Answer, shared: _SharedDigests) -> str:
    runs = [
        (run.started, run.lock_digest, run.suite_digest, shared.of(run.outcomes))
        for run in entry.runs
    ]
    known = asdict(entry) | {"cell": entry.id, "history": runs}
    for name in ("capabilities", "faults", "helpers", "score"):
        known[name] = shared.of(known[name])
    content = msgspec.msgpack.encode(known, enc_hook=str)
    return hashlib.sha256(content).hexdigest()
