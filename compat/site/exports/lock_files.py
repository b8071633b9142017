"""The `site` room's locks: each as a file to install from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from compat.advise.commands import Commands, commands
from compat.declare.parsing import minor_series
from compat.files import read_if_there, write
from compat.index.release import Artifact, ReleaseSource, releases_of
from compat.lock.lock_text import encode_lock
from compat.lock.lockfile import Inputs, Lock
from compat.plan.platform import accepted_tags
from compat.results.lifted import Lifted
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.paths import lock_file

WHEELS = "wheels.json"
# This much of a sha256 distinguishes the few files of one release.
_SHORT = 12


def whereabouts(edition: Edition, report: MatrixReport, inputs: Inputs) -> str:
    return edition.url(lock_file(report.name, inputs.cell))


def lock_commands(
    edition: Edition, report: MatrixReport, lock: Lock, changed: Sequence[Lifted]
) -> Commands:
    place = whereabouts(edition, report, lock.inputs)
    return commands(lock, place, report.snapshot.matrix, changed)


def files(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        for cell in report.locks:
            lock = report.locks[cell]
            cut = fitted(lock, report.wheels)
            text = report.parts.lock_text(cell) or ""
            if cut.pins != lock.pins:
                complete = f"\n# complete-digest: {lock.digest}\n# digest: "
                text = encode_lock(cut).replace("\n# digest: ", complete, 1)
            yield SiteFile(path=lock_file(report.name, cell), content=text.encode())


# The Python and platform of locks, then a pin of theirs; the files of it that fit there, each by
# the beginning of its sha256.
Wheels = Mapping[str, Mapping[str, tuple[str, ...]]]


def fitted(lock: Lock, wheels: Wheels) -> Lock:
    """Return the lock with the files that its Python and platform can take, and no others; all of a
    pin that is built there, or of which nothing is known.
    """
    known = wheels.get(_place(lock.inputs), {})

    def hashes(pin: str, every: tuple[str, ...]) -> tuple[str, ...]:
        short = known.get(pin, ())
        return tuple(sha256 for sha256 in every if sha256[:_SHORT] in short) or every

    pins = tuple(
        pin
        if pin.name in lock.builds
        else msgspec.structs.replace(pin, hashes=hashes(f"{pin.name}=={pin.version}", pin.hashes))
        for pin in lock.pins
    )
    return msgspec.structs.replace(lock, pins=pins)


def kept_wheels(folder: Path) -> Wheels:
    text = read_if_there(folder / WHEELS)
    return msgspec.json.decode(text or b"{}", type=dict[str, dict[str, tuple[str, ...]]])


def keep_wheels(folder: Path, locks: Iterable[Lock], source: ReleaseSource) -> None:
    """Note beside the matrix which files of each pin the locks' Pythons and platforms can take. The
    index is asked only about packages of which that is not known.
    """
    before, fits = kept_wheels(folder), dict[str, dict[str, tuple[str, ...]]]()
    files: dict[str, dict[str, tuple[Artifact, ...]]] = {}
    for lock in locks:
        place = _place(lock.inputs)
        tags = accepted_tags(lock.inputs.python, lock.inputs.platform)
        known, own = before.get(place, {}), fits.setdefault(place, {})
        for pin in lock.pins:
            name = f"{pin.name}=={pin.version}"
            if len(pin.hashes) == 1 or pin.name in lock.builds or name in own:
                continue
            if name not in known and pin.name not in files:
                releases = releases_of(source.package, pin.name)
                files[pin.name] = {str(each.version): each.artifacts for each in releases}
            fitting = known.get(name) or sorted(
                file.sha256[:_SHORT]
                for file in files[pin.name].get(str(pin.version), ())
                if file.sha256 in pin.hashes and not tags.isdisjoint(file.tags)
            )
            if fitting:
                own[name] = tuple(fitting)
    text = msgspec.json.encode(fits, order="sorted")
    write(folder / WHEELS, msgspec.json.format(text, indent=0) + b"\n")


def _place(inputs: Inputs) -> str:
    return f"{minor_series(inputs.python)} {inputs.platform}"
