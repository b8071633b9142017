"""The `site` room's box of commands: every way to install a lock, as pages show them."""

from compat.advise.commands import Commands, commands
from compat.lock.lockfile import Lock
from compat.site.edition import Edition, MatrixReport
from compat.site.exports.lock_files import whereabouts
from compat.site.pages.place_view import View
from compat.site.paths import lock_file


class CommandBlock(View, frozen=True):
    """Lines to copy, under what they are for."""

    label: str
    lines: tuple[str, ...]


class CommandForm(View, frozen=True):
    """One way to install: its name, its blocks, and what is to be known of it."""

    name: str
    blocks: tuple[CommandBlock, ...]
    note: str = ""


class CommandBox(View, frozen=True):
    """All ways to install a lock. `facts` are the platform, the size and the time, and what of
    these is not measured.
    """

    lock_path: str
    facts: tuple[str, ...]
    forms: tuple[CommandForm, ...]


def command_box(edition: Edition, report: MatrixReport, lock: Lock) -> CommandBox:
    """Return the box of a lock; reads the records of its cell for time and size."""
    lines = commands(lock, whereabouts(edition, report, lock.inputs), report.snapshot.matrix)
    return CommandBox(
        lock_path=lock_file(report.name, lock.inputs.cell),
        facts=report.lock_facts(lock).words,
        forms=tuple(form for form in _forms(lines) if form.blocks),
    )


def _forms(lines: Commands) -> tuple[CommandForm, ...]:
    project = (
        CommandBlock(label="in pyproject.toml", lines=lines.pyproject),
        CommandBlock(label="in the folder of the project", lines=lines.project),
    )
    return (
        CommandForm(name="uv", blocks=(CommandBlock(label="with uv", lines=lines.uv),)),
        CommandForm(name="pip", blocks=(CommandBlock(label="with pip", lines=lines.pip),)),
        CommandForm(
            name="Your project",
            blocks=project if lines.project else (),
            note="uv keeps these versions in the project's uv.lock, with the hashes of your index.",
        ),
        CommandForm(
            name="Colab",
            blocks=(CommandBlock(label="in a cell of a notebook", lines=lines.colab),),
            note=(
                "The notebook keeps its own Python. Run your code as a script:"
                f" !{lines.folder}/bin/python script.py"
            ),
        ),
        CommandForm(
            name="Docker", blocks=(CommandBlock(label="as a Dockerfile", lines=lines.docker),)
        ),
    )
