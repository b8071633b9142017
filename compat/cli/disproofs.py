"""What is said where a lock or a run contradicts what was inferred."""

from collections.abc import Sequence

from compat.cli.output import say
from compat.results.clauses import Disproof, FileClause
from compat.site.wording import count


def tell_disproofs(disproofs: Sequence[Disproof], fell: Sequence[str]) -> None:
    """Print the clauses that were removed, and the cells that have no answer any more."""
    for disproof in disproofs:
        clause = disproof.clause
        about = clause.path if isinstance(clause, FileClause) else " and ".join(clause.facts)
        say(f"disproved by {disproof.cell} on {disproof.on}, and removed: {about}")
    if disproofs:
        say(f"{count(len(fell), 'cell')} without an answer now{': ' if fell else ''}")
        for cell in fell:
            say(f"  {cell}")
