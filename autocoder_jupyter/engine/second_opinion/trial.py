"""Runs both solutions in one call of a program in the sandbox, and checks the result.

What may be told to a model comes from a second call in a new process, which gets only a small input. The first one saw
the data, and a solution could put them into any text of its result.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Any

import pandas as pd
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from autocoder_jupyter.engine.programs import with_constants
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.second_opinion.inside.made_up import is_made_up
from autocoder_jupyter.engine.second_opinion.inside.written import CELLS, dtypes, made, source
from autocoder_jupyter.engine.second_opinion.writer import SecondSolution, matched_outputs
from autocoder_jupyter.errors import SandboxError
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.redaction.words import Redaction
from autocoder_jupyter.sandbox.protocol import CallSpec, Program
from autocoder_jupyter.types import Count, OutputSpec, TypeName

SECONDS = 30.0
"""Wall-clock seconds for the whole trial. A second opinion is not worth a longer wait."""

_EQUALITY = "autocoder_jupyter.equality"
_INSIDE = "autocoder_jupyter.engine.second_opinion.inside"

MODULES = (
    *((_EQUALITY, name) for name in ("leniency", "result", "scalars", "columns", "tables", "files", "comparison")),
    *((_INSIDE, name) for name in ("places", "variations", "made_up", "smallest", "written", "trial")),
)
"""The modules that are sent to the sandbox. Each imports only those before it."""

SIDE_BY_SIDE = "both could not be run side by side"
"""Why nothing was compared, if the trial itself failed."""

LONGEST = 200
"""Characters of a text about a difference."""

MOST = 200
"""Differences, notes and variations of a trial."""

SOURCE = 10_000
"""Characters of a small input as source."""

_VALUES = 4_000
"""Characters of all values at one place."""


def _few(entries: list[Any]) -> list[Any]:
    return entries[:MOST]


def _short(values: list[Any]) -> list[Any]:
    """The values; none if they are too long to be told."""
    plain = all(value is None or isinstance(value, bool | int | float | str) for value in values)
    return values if plain and len(values) <= MOST and all(map(_is_short, values)) and _size(values) else []


def _is_short(value: Any) -> bool:
    return abs(value) < 10**100 if isinstance(value, int) else len(value) <= _VALUES if isinstance(value, str) else True


def _size(values: list[Any]) -> bool:
    return len(repr(values)) <= _VALUES


Text = Annotated[str, AfterValidator(lambda text: text[:LONGEST])]
Values = Annotated[list[Any], AfterValidator(_short)]


class FoundPlace(BaseModel):
    """One place where they differ, to be read."""

    where: Text
    first: Text
    second: Text
    at: Text = ""
    count: Count = 1
    of: Count = 1


class OpenPlace(FoundPlace):
    """The same with all values there, as JSON; `keys` are the columns that name rows."""

    ones: Values = Field(default_factory=list)
    others: Values = Field(default_factory=list)
    keys: Values = Field(default_factory=list)


class OnVariation(BaseModel):
    """What differs on one variation of the sample."""

    name: Text
    differences: Annotated[list[FoundPlace], AfterValidator(_few)]


class SmallTable(BaseModel):
    """The values of a small table by column. A program could put data into names and dtypes: they are the sample's."""

    cells: list[list[bool | int | float | str | None]]

    def fits(self, like: Any) -> bool:
        """Whether it is small, and has as many columns as a table."""
        columns = 1 if isinstance(like, pd.Series) else like.shape[1]
        is_small = sum(map(len, self.cells)) <= CELLS
        values = (value for column in self.cells for value in column)
        return len(self.cells) == columns and is_small and all(map(_is_short, values))


class Smallest(BaseModel):
    """A small input on which they differ, and the places. A table is None if it cannot be written as source."""

    variation: Text = ""
    tables: dict[str, SmallTable | None]
    places: Annotated[list[Text], AfterValidator(_few)] = Field(default_factory=list)


@dataclass(frozen=True)
class SmallInput:
    """A small input that the notebook made.

    Args:
        tables: by input name.
        source: all tables as statements of Python.
        is_made_up: whether it contains no value of the data.
    """

    tables: Mapping[str, Any]
    source: str
    is_made_up: bool

    @classmethod
    def of(cls, smallest: Smallest, given: Mapping[str, Any]) -> SmallInput | None:
        """The tables of a trial with the names and dtypes of the samples; None if they cannot be made or are too large.

        Args:
            smallest: what the trial found.
            given: the sample, by input name.
        """
        tables, sources = {}, []
        for name, like in given.items():
            if not isinstance(like, pd.DataFrame | pd.Series):
                continue
            small = smallest.tables.get(name)
            if small is None or not small.fits(like):
                return None
            try:
                tables[name] = made(small.cells, dtypes(like), like)
                sources.append(f"{name} = {source(small.cells, dtypes(like), like)}")
            except Exception:  # pandas has many errors for values that do not fit a dtype
                return None
        text = "\n".join(sources)
        is_made_up = len(tables) == len(given) and all(map(_has_no_own_value, tables.values()))
        return cls(tables, text, is_made_up) if text and len(text) <= SOURCE else None


def _has_no_own_value(table: Any) -> bool:
    columns = [table] if isinstance(table, pd.Series) else [table.iloc[:, place] for place in range(table.shape[1])]
    return all(map(is_made_up, columns))


class _Differing(BaseModel):
    """Where they differ on one small input."""

    differences: Annotated[list[OpenPlace], AfterValidator(_few)]


class Uncompared(BaseModel):
    """An output, or a part of one, that was not compared, and why."""

    where: Text
    why: Text


class TrialOutcome(BaseModel):
    """The outcome of a trial. It was computed in the same process as untrusted code, so it is checked.

    `compared` are the outputs of which something was compared on the sample, `failed_on` the variations on which the
    second solution raised an error.
    """

    failed: Text = ""
    sample: Annotated[list[FoundPlace], AfterValidator(_few)] = Field(default_factory=list)
    not_compared: Annotated[list[Uncompared], AfterValidator(_few)] = Field(default_factory=list)
    compared: Annotated[list[Text], AfterValidator(_few)] = Field(default_factory=list)
    failed_on: Annotated[list[Text], AfterValidator(_few)] = Field(default_factory=list)
    tried: Annotated[list[Text], AfterValidator(_few)] = Field(default_factory=list)
    variations: Annotated[list[OnVariation], AfterValidator(_few)] = Field(default_factory=list)
    smallest: Smallest | None = None


@dataclass(frozen=True)
class OpinionTrial:
    """The function and the second solution, to be run side by side in the sandbox.

    Args:
        session: the sandbox session.
        program: the function.
        second: the second solution.
        samples: the sample, by input name.
        redaction: removes the values of secrets from the findings.
    """

    session: SandboxSession
    program: Program
    second: SecondSolution
    samples: Mapping[str, Any]
    redaction: Redaction

    @property
    def given(self) -> dict[str, Any]:
        """The sample, as far as it is an input of the function."""
        return {spec.name: self.samples[spec.name] for spec in self.program.inputs if spec.name in self.samples}

    async def run(self) -> TrialOutcome:
        """Run both on the sample and its variations. Errors are in the outcome."""
        pairs, missing = self._pairs()
        if not pairs:
            return TrialOutcome(failed="no output can be compared", not_compared=missing)
        try:
            found = TrialOutcome.model_validate(await self._called(pairs, self.given))
        except SandboxError as error:
            return TrialOutcome(failed=f"{SIDE_BY_SIDE}: {error.what}", not_compared=missing)
        except ValidationError:
            return TrialOutcome(failed=SIDE_BY_SIDE, not_compared=missing)
        return found.model_copy(update={"not_compared": [*missing, *found.not_compared]})

    async def run_once(self, small: SmallInput) -> list[OpenPlace]:
        """Where they differ on a small input, in a new process that has not seen the data; [] if it cannot be run."""
        given = {**self.given, **small.tables}
        try:
            found = await self._called(self._pairs()[0], given, once=True)
            return _Differing.model_validate(found).differences
        except (SandboxError, ValidationError):
            return []

    def _pairs(self) -> tuple[dict[str, str], list[Uncompared]]:
        """The outputs that can be compared, and notes on the others."""
        outputs = self.program.outputs
        pairs = matched_outputs(outputs, self.second.outputs)
        alone = [spec.name for spec in outputs if spec.name not in pairs]
        missing = [Uncompared(where=name, why="the second solution has no such output") for name in alone]
        comparable = {one: other for one, other in pairs.items() if KINDS[_type_of(outputs, one)].is_compared}
        drawn = [name for name in pairs if name not in comparable]
        missing += [Uncompared(where=name, why="a picture or a folder") for name in drawn]
        return comparable, missing

    async def _called(self, pairs: Mapping[str, str], given: Mapping[str, Any], *, once: bool = False) -> Any:
        program = self.program
        code = with_constants(
            _source(_INSIDE, "program"),
            SOURCES=_sources(),
            FIRST=(program.code, [spec.name for spec in program.outputs]),
            SECOND=(self.second.code, [spec.name for spec in self.second.outputs]),
            PAIRS=list(pairs.items()),
            ONCE=once,
        )
        trial = Program(code, program.inputs, (OutputSpec(name="found", type="dict"),), env_vars=program.env_vars)
        outcome = await self.session.work(lambda worker: worker.call(trial, given, CallSpec(seed=0, seconds=SECONDS)))
        return self.redaction.found(outcome.values["found"])


def _type_of(outputs: Sequence[OutputSpec], name: str) -> TypeName:
    return next(spec.type for spec in outputs if spec.name == name)


@functools.cache
def _sources() -> dict[str, str]:
    """The sources of these modules by name. Empty packages come first, so that `import` finds them."""
    packages: dict[str, str] = {}
    for package in (_EQUALITY, _INSIDE):
        parts = package.split(".")
        packages |= {".".join(parts[: count + 1]): "" for count in range(len(parts))}
    return packages | {f"{package}.{name}": _source(package, name) for package, name in MODULES}


@functools.cache
def _source(package: str, name: str) -> str:
    return resources.files(package).joinpath(f"{name}.py").read_text("utf-8")
