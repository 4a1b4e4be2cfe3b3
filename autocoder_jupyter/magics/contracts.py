"""Read the pandera schemas of `--contract monthly=@Model` and `--schema @Model` from variables of the notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from autocoder_jupyter.contracts.describing import backend_of, contract_of, kind_of
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import CellCommand
from autocoder_jupyter.magics.settings import suggestion
from autocoder_jupyter.request import Request

_OF_AN_INPUT = re.compile(r"(?:(?P<input>[^\W\d]\w*)\s*=\s*)?@(?P<variable>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
"""`--schema @Model`, or `--schema sales=@Model`. Any other value is text."""


def with_contracts(request: Request, command: CellCommand, namespace: Mapping[str, Any]) -> Request:
    """The request with the schemas of the cell. The samples are validated, and are those that pandera returned."""
    contracts = dict(request.contracts) if command.refine else {}
    outputs = {spec.name for spec in request.outputs}
    for place, name, variable in _named(request, command, namespace):
        value = look_up(place, variable, namespace)
        contracts[name] = contract_of(place, name, value, is_output=name in outputs)
    if not contracts:
        return request
    from autocoder_jupyter.contracts.applying import with_checked_samples

    return with_checked_samples(replace(request, contracts=contracts))


def schema_names(namespace: Mapping[str, Any]) -> list[str]:
    """The variables of the notebook that hold a pandera schema."""
    return [name for name, value in namespace.items() if not name.startswith("_") and backend_of(value)]


def names_a_schema(text: str | None, namespace: Mapping[str, Any]) -> bool:
    """Whether the value of `--schema` names a pandera schema, not text."""
    found = _OF_AN_INPUT.fullmatch((text or "").strip())
    if found is None:
        return False
    value = _found(found["variable"], namespace)
    return bool(found["input"]) or "." in found["variable"] or bool(backend_of(value))


def look_up(place: str, variable: str, namespace: Mapping[str, Any]) -> Any:
    """The value of a variable, or of an attribute of a module or class."""
    value = _found(variable, namespace)
    if value is _NOTHING:
        hint = suggestion(variable, schema_names(namespace), mark="@")
        raise InvalidRequest(f"{place}: there is no {variable!r} in the notebook.", hint=hint)
    return value


_NOTHING = object()


def _found(variable: str, namespace: Mapping[str, Any]) -> Any:
    first, *attributes = variable.split(".")
    value = namespace.get(first, _NOTHING)
    for attribute in attributes:
        value = getattr(value, attribute, _NOTHING)
    return value


def _named(request: Request, command: CellCommand, namespace: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """For each schema: the option as written, the name of the input or output, the variable."""
    given = dict(command.contracts)
    if names_a_schema(command.schema, namespace):
        found = _OF_AN_INPUT.fullmatch((command.schema or "").strip())
        assert found is not None
        place = f"--schema {found[0]}"
        name = found["input"] or _only_input(place, found["variable"], request, namespace)
        if name in given:
            raise InvalidRequest(f"{name} has a schema from --schema and from --contract.", hint="Keep one of them.")
        yield place, name, found["variable"]
    for name, variable in command.contracts:
        yield f"--contract {name}=@{variable}", name, variable


def _only_input(place: str, variable: str, request: Request, namespace: Mapping[str, Any]) -> str:
    """The input of a schema that is given without a name: exactly one input must fit."""
    schema = look_up(place, variable, namespace)
    kinds = {spec.name: spec.type for spec in request.inputs}
    kinds |= {name: type(value).__name__ for name, value in request.samples.items()}  # type: ignore[misc]
    fitting = [name for name, kind in kinds.items() if kind == kind_of(schema)]
    if len(fitting) == 1:
        return fitting[0]
    candidates = f"there are {len(fitting)}: {', '.join(fitting)}" if fitting else f"there is no {kind_of(schema)}"
    raise InvalidRequest(
        f"{place} does not name its input, and {candidates}.",
        hint=f"Write --schema {fitting[0]}=@{variable}, and --contract for the others."
        if fitting
        else f"For an output write --contract NAME=@{variable}.",
    )
