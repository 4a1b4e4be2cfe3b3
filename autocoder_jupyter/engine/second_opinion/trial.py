"""Runs both solutions in one call of a program in the sandbox, and checks the result."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from autocoder_jupyter.engine.programs import with_constants
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.second_opinion.writer import SecondSolution, matched_outputs
from autocoder_jupyter.errors import SandboxError
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import Count, OutputSpec, TypeName

SECONDS = 30.0
"""Wall-clock seconds for the whole trial. A second opinion is not worth a longer wait."""

_INSIDE = "autocoder_jupyter.engine.second_opinion.inside"

_ORDER = ("values", "frames", "comparison", "variations", "smallest", "written", "trial")
"""The modules that are sent to the sandbox. Each imports only those before it."""


class Place(BaseModel):
    """One place where they differ, to be read."""

    where: str
    first: str
    second: str
    at: str = ""
    count: Count = 1
    of: Count = 1


class OpenPlace(Place):
    """The same with all values there, as JSON; `keys` are the columns that name rows."""

    ones: list[Any] = Field(default_factory=list)
    others: list[Any] = Field(default_factory=list)
    keys: list[str] = Field(default_factory=list)


class OnVariation(BaseModel):
    """What differs on one variation of the sample."""

    name: str
    differences: list[Place]


class Smallest(BaseModel):
    """A small input on which they differ, as Python source by input name, and what differs there.

    `own_values` are columns in which values of the data are left.
    """

    variation: str = ""
    sources: dict[str, str]
    own_values: list[str] = Field(default_factory=list)
    differences: list[OpenPlace]

    @property
    def source(self) -> str:
        """All tables as statements; "" when one cannot be written."""
        if not all(self.sources.values()):
            return ""
        return "\n".join(f"{name} = {text}" for name, text in self.sources.items())


class TrialOutcome(BaseModel):
    """The outcome of a trial. It was computed in the same process as untrusted code, so it is checked."""

    failed: str = ""
    sample: list[Place] = Field(default_factory=list)
    not_compared: list[str] = Field(default_factory=list)
    tried: list[str] = Field(default_factory=list)
    variations: list[OnVariation] = Field(default_factory=list)
    smallest: Smallest | None = None


async def try_both(
    session: SandboxSession,
    program: Program,
    second: SecondSolution,
    samples: Mapping[str, Any],
) -> TrialOutcome:
    """Run the function and the second solution on the sample and its variations.

    Errors are in the outcome.

    Args:
        session: the sandbox session.
        program: the function.
        second: the second solution.
        samples: the sample, by input name.
    """
    pairs = matched_outputs(program.outputs, second.outputs)
    unpaired = [f"{spec.name}: the second solution has no such output" for spec in program.outputs]
    missing = [note for note, spec in zip(unpaired, program.outputs, strict=True) if spec.name not in pairs]
    comparable = {one: other for one, other in pairs.items() if KINDS[_type_of(program.outputs, one)].is_compared}
    missing += [f"{name}: a picture or a folder" for name in pairs if name not in comparable]
    if not comparable:
        return TrialOutcome(failed="no output can be compared", not_compared=missing)
    code = with_constants(
        _source("program"),
        SOURCES=_sources(),
        FIRST=(program.code, [spec.name for spec in program.outputs]),
        SECOND=(second.code, [spec.name for spec in second.outputs]),
        PAIRS=list(comparable.items()),
    )
    trial = Program(code, program.inputs, (OutputSpec(name="found", type="dict"),), env_vars=program.env_vars)
    given = {spec.name: samples[spec.name] for spec in program.inputs if spec.name in samples}
    try:
        outcome = await session.work(lambda worker: worker.call(trial, given, seed=0, seconds=SECONDS))
        found = TrialOutcome.model_validate(outcome.values["found"])
    except SandboxError as error:
        return TrialOutcome(failed=f"both could not be run side by side: {error.what}", not_compared=missing)
    except ValidationError:
        return TrialOutcome(failed="both could not be run side by side", not_compared=missing)
    return found.model_copy(update={"not_compared": [*missing, *found.not_compared]})


def _type_of(outputs: Sequence[OutputSpec], name: str) -> TypeName:
    return next(spec.type for spec in outputs if spec.name == name)


@functools.cache
def _sources() -> dict[str, str]:
    """The sources of these modules by name. Empty packages come first, so that `import` finds them."""
    parts = _INSIDE.split(".")
    packages = {".".join(parts[: count + 1]): "" for count in range(len(parts))}
    return packages | {f"{_INSIDE}.{name}": _source(name) for name in _ORDER}


@functools.cache
def _source(name: str) -> str:
    return resources.files(_INSIDE).joinpath(f"{name}.py").read_text("utf-8")
