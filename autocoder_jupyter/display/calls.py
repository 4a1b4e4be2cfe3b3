"""Lines of code that call a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from autocoder_jupyter.calls.outputs import field_names
from autocoder_jupyter.kinds.table import KINDS

if TYPE_CHECKING:
    from autocoder_jupyter.types import InputSpec, Report


def call_line(name: str, inputs: Sequence[InputSpec], variables: Mapping[str, str]) -> str:
    """`growth.run(sales_2025, limit=...)`: the variables of inputs, and `...` for values to fill in.

    Without a variable for each table and file, the function runs on its sample.
    """
    needed = [spec for spec in inputs if spec.required]
    data = [spec.name for spec in needed if KINDS[spec.type].is_data]
    given = {spec.name: "..." for spec in needed if spec.name not in data}
    if all(one in variables for one in data):
        given |= {one: variables[one] for one in data}
    arguments: list[str] = []
    odd: list[str] = []
    by_position = True
    for spec in inputs:
        by_position = by_position and spec.name in given and spec.name in data
        if spec.name not in given:
            continue
        if by_position:
            arguments.append(given[spec.name])
        elif spec.name.isidentifier():
            arguments.append(f"{spec.name}={given[spec.name]}")
        else:
            odd.append(f"{spec.name!r}: {given[spec.name]}")
    if odd:
        arguments.append(f"**{{{', '.join(odd)}}}")
    return f"{variable_name(name)}.run({', '.join(arguments)})"


def example(report: Report) -> str:
    """`monthly, best_month = growth.run()`."""
    returned = ", ".join(field_names([spec.name for spec in report.declared_outputs]))
    call = f"{returned} = {variable_name(report.name)}.run"
    needed = [spec.name for spec in report.declared_inputs if spec.required and KINDS[spec.type].form == "table"]
    if not needed or not all(map(str.isidentifier, needed)):
        return f"{call}()"
    return f"{call}()  # on the sample\n{call}({', '.join(needed)})"


def variable_name(name: str) -> str:
    """The name of a result if it is an identifier, or `result`; the name of a loaded result is untrusted."""
    return name if name.isidentifier() else "result"
