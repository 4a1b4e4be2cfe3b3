"""The section *Second opinion*: the differences to a second solution, the smallest input, and its code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.display import readings
from autocoder_jupyter.display.inspector.source import source
from autocoder_jupyter.view.document import Block, Fold, Row, Source, Table, lines

if TYPE_CHECKING:
    from autocoder_jupyter.types import Difference, Report

CODE_CHARACTERS = 20_000
"""Characters of the second solution."""

_HEADINGS = ("where", "on", "at", "the function", "the second solution", "rows")


def opinion_section(report: Report) -> tuple[Block, ...]:
    """The section; nothing without a second opinion."""
    opinion = report.second_opinion
    if opinion is None:
        return ()
    rows = tuple(
        (entry.where, _on(entry), entry.at, entry.first, entry.second, f"{entry.count} of {entry.of}")
        for entry in opinion.differences
    )
    code = source(opinion.code[:CODE_CHARACTERS])
    return (
        *readings.opinion_blocks(report.name if report.success else "", opinion),
        *([Table(_HEADINGS, rows)] if rows else []),
        Row("Inputs tried", lines([", ".join(opinion.tried)])),
        Row("They differ on", lines([", ".join(opinion.differs_on)])),
        Row("Smallest input", (Source(opinion.smallest, python=True),)),
        Row("Expected result", (Source(opinion.derivation),)),
        Fold(f"The second solution, by {opinion.model}", (code,) if opinion.code.strip() else ()),
    )


def _on(difference: Difference) -> str:
    return f"the sample {difference.on}" if difference.on else "the sample"
