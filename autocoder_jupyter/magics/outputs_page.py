"""Show the outputs of a call as the last line of a cell: each under its name, as a table, a picture or text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autocoder_jupyter.view.markup import Html

OUTPUTS_TYPE = ("autocoder_jupyter.calls.outputs", "NamedOutputs")
"""Module and name of the type. It is checked by name, so that its module need not be imported."""


def outputs_page(outputs: Any) -> Html:
    """A named tuple of outputs as static HTML."""
    from autocoder_jupyter.data.overview import excerpt
    from autocoder_jupyter.display.inspector.evidence import outputs_html
    from autocoder_jupyter.view.markup import NO_FORMULAS, element

    values = {name: _of_pandas(value) for name, value in outputs._asdict().items()}
    page = outputs_html("outputs", values, excerpt)
    return element("div", page, class_=f"autocode-outputs {NO_FORMULAS}", look="text")


def _of_pandas(value: Any) -> Any:
    """A table of another library converted to pandas, to show it. Any other value is returned unchanged."""
    from autocoder_jupyter.data.capture import converted

    table = converted(value)
    return value if table is None else table
