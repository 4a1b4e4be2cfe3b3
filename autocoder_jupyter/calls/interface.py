"""The interface of a function: its signature and docstring, or the known part before the function is generated."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.calls.option_specs import OPTIONS
from autocoder_jupyter.calls.outputs import field_names
from autocoder_jupyter.kinds import element_types
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.types import InputSpec, OutputSpec
from autocoder_jupyter.untrusted.visible import visible_block


@dataclass(frozen=True)
class Interface:
    """The interface of a function for its caller.

    Args:
        description: what the function does.
        inputs: its arguments, in order.
        outputs: its outputs, in order; empty while they are unknown.
        sampled: names of inputs that have a sample as default.
    """

    description: str
    inputs: tuple[InputSpec, ...] = ()
    outputs: tuple[OutputSpec, ...] = ()
    sampled: Collection[str] = ()

    def signature(self) -> inspect.Signature:
        """The signature with Python types. Inputs with a sample or a default are optional."""
        parameters = [
            inspect.Parameter(
                spec.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=_annotation(spec),
                default=self._default(spec),
            )
            for spec in self.inputs
        ]
        if _required_after_default(parameters):
            parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        return inspect.Signature(parameters, return_annotation=self._returned())

    def _default(self, spec: InputSpec) -> Any:
        if spec.name in self.sampled:
            return SAMPLE
        return inspect.Parameter.empty if spec.required else spec.default

    def _returned(self) -> Any:
        types = tuple(map(_annotation, self.outputs))
        if not types:
            return inspect.Signature.empty
        return types[0] if len(types) == 1 else tuple.__class_getitem__(types)

    def documentation(self) -> str:
        """What it does, each argument and each output, and the options of a call."""
        parts = [self.description.strip()]
        if self.inputs:
            parts.append("\n".join(["Args:", *(_line(spec.name, spec) for spec in self.inputs)]))
        if self.outputs:
            fields = field_names([spec.name for spec in self.outputs])
            lines = [_line(name, spec) for name, spec in zip(fields, self.outputs, strict=True)]
            parts.append("\n".join(["Returns:", *lines]))
        parts.append(f"Options of a call, by name: {', '.join(OPTIONS)}.")
        return visible_block("\n\n".join(parts))


def _line(name: str, spec: InputSpec | OutputSpec) -> str:
    return f"    {name}: {spec.written_type}. {spec.meaning}".rstrip()


def _annotation(spec: InputSpec | OutputSpec) -> Any:
    return element_types.python_type(KINDS[spec.type].python_type, spec.elements)


class _Sample:
    """A placeholder in a signature for a default that is a sample."""

    def __repr__(self) -> str:
        return "<sample>"

    def __reduce__(self) -> str:
        return "SAMPLE"


SAMPLE = _Sample()


def _required_after_default(parameters: list[inspect.Parameter]) -> bool:
    optional = [parameter.default is not inspect.Parameter.empty for parameter in parameters]
    return any(earlier and not later for earlier, later in itertools.pairwise(optional))
