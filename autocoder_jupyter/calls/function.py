"""`Function`: all that a call of a generated function needs, as plain data. It can be pickled if its samples can."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autocoder_jupyter.calls.interface import Interface
from autocoder_jupyter.calls.split_watch import SplitWatch
from autocoder_jupyter.calls.value_watch import ValueWatch
from autocoder_jupyter.errors import GenerationFailed
from autocoder_jupyter.request import Contract
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
from autocoder_jupyter.types import InputSpec, OutputSpec, Report
from autocoder_jupyter.types.split import DeclaredSplit
from autocoder_jupyter.untrusted.visible import visible


@dataclass(frozen=True)
class Function:
    """A function to call.

    Args:
        name: its name.
        code: source of the module.
        inputs: its arguments, in order.
        outputs: its outputs, in order.
        environment: the packages that it was tested with, locked.
        sandbox: the kind of sandbox that it was tested in.
        description: one sentence.
        samples: default arguments; it was tested with them.
        defaults: further default arguments, which it was not tested with. They are checked as if they were passed.
        shapes: columns and dtypes of each frame when the function was built, to detect drift.
        values: the values of each frame in figures when the function was built, to detect drift.
        renames: names of columns in the data, by the names that it reads (`--rename`).
        split: how its largest table must be able to be split (`--split`); None if nothing was demanded.
        root: the `.autocode` folder. `File` and `Dir` outputs are stored below it.
        contracts: schemas that its inputs and outputs must satisfy; the user's own code.
        caution: a sentence for a warning in each call; "" for none.
        unchecked: a sentence about contracts that only its notebook has, for a warning in each call; "" for none.
        unverified: a sentence for a warning in the first call if its evidence was not gathered here; "" for none.
        watch: what was found in the tables of its calls.
        splits: what is known of how it may be split.
    """

    name: str
    code: str
    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    environment: EnvironmentSpec
    sandbox: str | None = None
    description: str = ""
    samples: Mapping[str, Any] = field(default_factory=dict, repr=False)
    defaults: Mapping[str, Any] = field(default_factory=dict, repr=False)
    shapes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    renames: Mapping[str, str] = field(default_factory=dict)
    split: DeclaredSplit | None = None
    root: Path = Path(".autocode")
    contracts: Mapping[str, Contract] = field(default_factory=dict, repr=False)
    caution: str = ""
    unchecked: str = ""
    unverified: str = ""
    watch: ValueWatch = field(default_factory=ValueWatch, repr=False, compare=False)
    splits: SplitWatch = field(default_factory=SplitWatch, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        report: Report,
        samples: Mapping[str, Any],
        root: Path,
        contracts: Mapping[str, Contract] | None = None,
        *,
        is_verified: bool = True,
    ) -> Function:
        """The function of a finished generation.

        Args:
            report: the report of the generation.
            samples: default arguments.
            root: the `.autocode` folder.
            contracts: the available schemas. For a contract that is only recorded, each call warns that it was not
                checked.
            is_verified: False for a recorded function whose evidence was not gathered here. It can be called, because
                it runs in the sandbox anyway; the first call warns.

        Raises:
            GenerationFailed: it has no function that passed.
        """
        if (is_verified and not report.success) or report.solution is None:
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
            values=report.sample_values,
            renames=report.renames,
            split=report.plan.split if report.plan else None,
            root=root,
            contracts=dict(contracts or {}),
            unchecked=_unchecked(report, contracts or {}),
            unverified="" if is_verified else _unverified(report),
        )

    def without_samples(self) -> Function:
        """The same function for another process, to which the samples are not sent."""
        return replace(self, samples={})

    @property
    def interface(self) -> Interface:
        """Its signature and description."""
        return Interface(self.description, self.inputs, self.outputs, (*self.samples, *self.defaults))


def _unverified(report: Report) -> str:
    return f"{report.name} (version {visible(report.run_id)}) is not verified here: {report.name}.verify() tests it."


def _unchecked(report: Report, contracts: Mapping[str, Contract]) -> str:
    """The warning of each call if a required schema exists only in the notebook; "" if all schemas are available."""
    lacking = [name for name in report.contracts if name not in contracts]
    if not lacking:
        return ""
    return (
        f"{report.name} has a contract for {visible(', '.join(lacking))}, and this call was not checked against it: "
        f"the schema is code of its notebook, of which the record holds only a description. Run its cell to check."
    )
