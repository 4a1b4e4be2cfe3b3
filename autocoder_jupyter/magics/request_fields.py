"""What a cell gives for the fields of a request. The data are captured as they are now."""

from __future__ import annotations

import dataclasses
from typing import Any

from autocoder_jupyter.magics.command import CellCommand
from autocoder_jupyter.magics.examples import collect_example
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.references import collect_samples, read_schema
from autocoder_jupyter.request import Request

_NEEDS_THE_REQUEST = frozenset({"name", "prompt", "contracts"})

_AS_WRITTEN = tuple(
    field.name
    for field in dataclasses.fields(CellCommand)
    if field.name in Request.__dataclass_fields__ and field.name not in _NEEDS_THE_REQUEST
)
"""The fields whose value is that of the parsed cell, except for those that are looked up."""


def given_fields(command: CellCommand, notebook: Notebook) -> dict[str, Any]:
    """The fields that a cell gives, without its text and its contracts.

    Raises:
        InvalidRequest: a name of the cell is not in the notebook, or has a value that cannot be used.
    """
    looked_up = {
        "samples": collect_samples(command, notebook.namespace),
        "schema": read_schema(command.schema, notebook.namespace),
        "own_tests": notebook.own_tests_of(command.name),
        "examples": tuple(collect_example(option, notebook.namespace) for option in command.examples),
    }
    return {**{name: getattr(command, name) for name in _AS_WRITTEN}, **looked_up}
