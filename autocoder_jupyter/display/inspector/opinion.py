"""The section *Second opinion*: the differences to a second solution, the smallest input, and its code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.display import readings
from autocoder_jupyter.display.inspector.source import source_block
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.html import EMPTY, Html, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.types import Difference, Report

CODE_CHARACTERS = 20_000
"""Characters of the second solution."""


def opinion_section(report: Report) -> Html:
    """The section; empty without a second opinion."""
    opinion = report.second_opinion
    if opinion is None:
        return EMPTY
    rows = [
        (entry.where, _on(entry), entry.at, entry.first, entry.second, f"{entry.count} of {entry.of}")
        for entry in opinion.differences
    ]
    headings = ("where", "on", "at", "the function", "the second solution", "rows")
    table = markup.scrolled(markup.table(headings, rows)) if rows else EMPTY
    return join(
        readings.opinion_html(report.name if report.success else "", opinion),
        table,
        markup.row("Inputs tried", escape(", ".join(opinion.tried))),
        markup.row("Smallest input", markup.python(opinion.smallest)),
        markup.row("Expected result", markup.code(opinion.derivation)),
        markup.details(f"The second solution, by {opinion.model}", source_block(opinion.code[:CODE_CHARACTERS])),
    )


def _on(difference: Difference) -> str:
    return f"the sample {difference.on}" if difference.on else "the sample"
