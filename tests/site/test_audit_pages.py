"""How sure inferred answers are, beside them; and nowhere on a day that did not know it."""

import datetime

import msgspec
from support.editions import TOLD, URL
from support.known import CELLS, DAY, Shelf

from compat.lock.demands import Demands
from compat.results.infer import with_answers
from compat.results.learnt import Audit, AuditedCell, Clause, StoredClauses
from compat.site.edition import Edition, MatrixReport
from compat.site.page_list import pages
from compat.site.render import Printer, assets

ASKED = AuditedCell(
    cell="py3.8-dep1-demo1.0",
    inferred="lock-fail:conflict(dep)",
    outcome="lock-fail:conflict(dep)",
    finding="agrees",
)
AUDIT = Audit(on=DAY, seed=1, inferred=1, cells=(ASKED,))
SENTENCE = "Audited: of 1 inferred cell asked on 20 November 2026, 1 agree; at 95 % at most 95.0 %"


def causes(audit: Audit | None) -> str:
    """The page of causes where one fact of a cell is said to be impossible."""
    shelf = Shelf()
    known = shelf.picture()
    entry = next(e for e in known.entries if e.planned and e.obstacle is None)
    fact = sorted(Demands(known.feasibility).of(entry.cell)[0])[0]
    python = str(entry.cell.on(known.matrix.interpreters.name).version)
    clause = Clause(
        facts=(fact,),
        pythons=(python,),
        outcome="lock-fail:conflict(dep)",
        because="dep cannot be had",
        cell=CELLS[0].id,
        on=DAY,
    )
    inferred = with_answers(known, {}, StoredClauses(conflicts=(clause,)))
    edition = Edition([MatrixReport(inferred, shelf, {}, TOLD, None, audit)], URL, DAY)
    [page] = [page for page in pages(edition) if page.path == "demo/causes/index.html"]
    return Printer(edition, assets()).html(page).decode()


def test_the_bound_stands_where_inferred_answers_are_shown() -> None:
    markup = causes(AUDIT)
    assert "Inferred, not run" in markup
    assert SENTENCE in markup, markup[markup.index("Inferred, not run") :][:800]
    assert "Audited" not in causes(None)


def test_an_edition_knows_no_later_audit() -> None:
    later = msgspec.structs.replace(AUDIT, on=DAY + datetime.timedelta(days=1))
    assert "Audited" not in causes(later)
