"""A generated function at rest: everything that a call needs, as plain data. It pickles when its samples do."""

from __future__ import annotations

import datetime as dt
import inspect
import itertools
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autocoder_jupyter.errors import GenerationFailed
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
from autocoder_jupyter.tasks.outputs import field_names
from autocoder_jupyter.types import Dir, Figure, File, InputSpec, OutputSpec, Report, TypeName


@dataclass(frozen=True)
class Function:
    """What to call.

    Args:
        name: what the person called it.
        code: source of the module.
        inputs: its arguments, in order.
        outputs: what it returns, in order.
        environment: the packages that it was tested with, locked.
        sandbox: the kind of sandbox that it was tested in.
        description: one sentence.
        samples: default arguments.
        shapes: what each frame looked like when the function was built, for noticing drift.
        root: the `.autocode` folder; `File` and `Dir` outputs go below it.
    """

    name: str
    code: str
    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    environment: EnvironmentSpec
    sandbox: str | None = None
    description: str = ""
    samples: Mapping[str, Any] = field(default_factory=dict, repr=False)
    shapes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    root: Path = Path(".autocode")

    @classmethod
    def of(cls, report: Report, samples: Mapping[str, Any], root: Path) -> Function:
        """The function that a generation gave.

        Raises:
            GenerationFailed: it gave none that can be trusted.
        """
        if not report.success or report.solution is None:
            raise GenerationFailed(
                f"{report.name} has no function that passed its tests.",
                why=report.error or "",
                hint=f"See %autocode show {report.name}; then say more in the request, or raise --max-iterations.",
            )
        return cls(
            name=report.name,
            code=report.solution.code,
            inputs=report.declared_inputs,
            outputs=report.declared_outputs,
            environment=EnvironmentSpec(
                packages=report.detected_packages,
                python_version=report.python_version or (sys.version_info[0], sys.version_info[1]),
                system_packages=report.detected_system_packages,
                lock=report.lock,
            ),
            sandbox=report.sandbox,
            description=report.plan.description if report.plan else report.prompt.strip(),
            samples=samples,
            shapes=report.sample_shapes,
            root=root,
        )

    def signature(self) -> inspect.Signature:
        """How it is called, with real types. What has a sample or a default may be left out."""
        parameters = [
            inspect.Parameter(
                spec.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=python_type(spec.type),
                default=self._default(spec),
            )
            for spec in self.inputs
        ]
        if _required_after_default(parameters):
            parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        return inspect.Signature(parameters, return_annotation=self._returned())

    def _default(self, spec: InputSpec) -> Any:
        if spec.name in self.samples:
            return SAMPLE
        return inspect.Parameter.empty if spec.required else spec.default

    def _returned(self) -> Any:
        types = tuple(python_type(spec.type) for spec in self.outputs)
        return types[0] if len(types) == 1 else tuple.__class_getitem__(types)

    def documentation(self) -> str:
        """Its docstring: what it does, each argument and each output."""
        lines = [self.description, ""]
        if self.inputs:
            lines += ["Args:", *(f"    {spec.name}: {spec.type}. {spec.meaning}".rstrip() for spec in self.inputs), ""]
        fields = field_names([spec.name for spec in self.outputs])
        lines += [
            "Returns:",
            *(
                f"    {name}: {spec.type}. {spec.meaning}".rstrip()
                for name, spec in zip(fields, self.outputs, strict=True)
            ),
        ]
        return "\n".join(lines)


class _Sample:
    """Stands in a signature for the sample that is the default."""

    def __repr__(self) -> str:
        return "<sample>"

    def __reduce__(self) -> str:
        return "SAMPLE"


SAMPLE = _Sample()


def python_type(name: TypeName) -> Any:
    """The class that a `TypeName` stands for in a person's notebook."""
    if name in ("DataFrame", "Series"):
        import pandas as pd

        return getattr(pd, name)
    return _PLAIN_TYPES[name]


_PLAIN_TYPES: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "datetime": dt.datetime,
    "date": dt.date,
    "timedelta": dt.timedelta,
    "File": File,
    "Dir": Dir,
    "dict": dict,
    "list": list,
    "Figure": Figure,
}


def _required_after_default(parameters: list[inspect.Parameter]) -> bool:
    optional = [parameter.default is not inspect.Parameter.empty for parameter in parameters]
    return any(earlier and not later for earlier, later in itertools.pairwise(optional))
