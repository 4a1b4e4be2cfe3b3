"""The outputs of a call as the last line of a cell: each under its name, tables as tables, figures as pictures."""

from __future__ import annotations

from typing import Any

OUTPUTS_TYPE = ("autocoder_jupyter.tasks.outputs", "NamedOutputs")
"""Module and name of the type; by name, so that nothing is imported to ask."""


def outputs_page(outputs: Any) -> str:
    """A named tuple of outputs as static HTML."""
    from autocoder_jupyter.data.excerpt import excerpt
    from autocoder_jupyter.display.inspector.outputs import outputs_html
    from autocoder_jupyter.display.markup import FONT, NO_FORMULAS

    page = outputs_html("outputs", outputs._asdict(), excerpt)
    return f'<div class="autocode-outputs {NO_FORMULAS}" style="{FONT}">{page}</div>'
