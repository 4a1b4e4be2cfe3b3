"""The Python code of the call that the form describes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.types import Dir, File, InputSpec


@dataclass(frozen=True)
class Given:
    """An argument from the form.

    Args:
        source: its source code.
        value: its value; None for a variable, which is captured later.
        variable: the name of a variable, or "".
    """

    source: str
    value: Any = None
    variable: str = ""

    @classmethod
    def of_value(cls, value: Any) -> Given:
        """A value with a literal."""
        return cls(repr(value), value)

    @classmethod
    def of_variable(cls, name: str) -> Given:
        """A variable of the notebook."""
        return cls(name, variable=name)


def call_code(name: str, inputs: Sequence[InputSpec], given: Mapping[str, Given]) -> str:
    """`growth.run(sales_2025, min_orders=3)`, after the imports that it needs.

    Variables are positional arguments as long as possible; all others are keyword arguments.
    """
    arguments: list[str] = []
    by_position = True
    odd: dict[str, str] = {}
    for spec in inputs:
        argument = given.get(spec.name)
        if argument is None:
            by_position = False
            continue
        by_position = by_position and bool(argument.variable)
        if by_position:
            arguments.append(argument.source)
        elif spec.name.isidentifier():
            arguments.append(f"{spec.name}={argument.source}")
        else:
            odd[spec.name] = argument.source
    if odd:
        arguments.append(f"**{{{', '.join(f'{key!r}: {source}' for key, source in odd.items())}}}")
    imports = _imports([argument.value for argument in given.values()])
    return "\n".join([*imports, f"{variable_name(name)}.run({', '.join(arguments)})"])


def call_line(name: str, inputs: Sequence[InputSpec], variables: Container[str]) -> str:
    """`growth.run(sales, limit=...)`: variables with the names of inputs, and `...` for values to fill in.

    Args:
        name: the name of the result.
        inputs: the inputs of the function.
        variables: names of variables. If one of a table is missing, the call uses the sample.
    """
    needed = [spec for spec in inputs if spec.required]
    tables = [spec for spec in needed if KINDS[spec.type].is_data]
    given = {spec.name: Given("...") for spec in needed if spec not in tables}
    if all(spec.name.isidentifier() and spec.name in variables for spec in tables):
        given |= {spec.name: Given.of_variable(spec.name) for spec in tables}
    return call_code(name, inputs, given)


def variable_name(name: str) -> str:
    """The name of a result if it is an identifier, or `result`; the name of a loaded result is untrusted."""
    return name if name.isidentifier() else "result"


def _imports(values: Sequence[Any]) -> list[str]:
    kinds = [kind.__name__ for kind in (Dir, File) if any(isinstance(value, kind) for value in values)]
    lines = ["import datetime"] if any(isinstance(value, dt.date | dt.timedelta) for value in values) else []
    return [*lines, f"from autocoder_jupyter import {', '.join(kinds)}"] if kinds else lines
