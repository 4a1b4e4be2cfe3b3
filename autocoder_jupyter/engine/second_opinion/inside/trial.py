"""Runs both solutions on the sample and its variations, and finds the smallest input on which they differ."""

from __future__ import annotations

import copy
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from autocoder_jupyter.engine.second_opinion.inside.places import (
    Compared,
    OutputPlace,
    against_an_error,
    compared_outputs,
)
from autocoder_jupyter.engine.second_opinion.inside.smallest import TRIALS, simplified, smallest
from autocoder_jupyter.engine.second_opinion.inside.variations import ROWS, trimmed, variations
from autocoder_jupyter.engine.second_opinion.inside.written import cells

TRIALS_ON_ALL = 60
"""The number of trials for the smallest input, if only the full sample shows a difference."""

RAISED = "an error"


@dataclass(frozen=True)
class Solution:
    """One of the two solutions.

    Args:
        run: its function.
        outputs: the names of its outputs, in order.
    """

    run: Callable[..., Any]
    outputs: tuple[str, ...]

    @classmethod
    def loaded(cls, name: str, code: str, outputs: Sequence[str]) -> Solution:
        """Load a solution from its source."""
        module = types.ModuleType(name)
        sys.modules[name] = module  # dataclasses and pickling look there
        exec(compile(code, f"<{name}>", "exec"), module.__dict__)
        return cls(module.__dict__["run"], tuple(outputs))

    def on(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Its outputs by name. The inputs are copied first."""
        given = {name: value.copy() if _is_table(value) else copy.copy(value) for name, value in inputs.items()}
        result = self.run(**given)
        values = (result,) if len(self.outputs) == 1 else tuple(result)
        return dict(zip(self.outputs, values, strict=True))


@dataclass(frozen=True)
class Trial:
    """Runs two solutions side by side.

    Args:
        first, second: the function, and the second solution.
        pairs: (name in the first, name in the second) of outputs that belong together.
        others: inputs that are not tables. They do not vary.
    """

    first: Solution
    second: Solution
    pairs: tuple[tuple[str, str], ...]
    others: Mapping[str, Any]

    def compared(self, tables: Mapping[str, Any]) -> Compared | str:
        """Compare on one input. If the second solution fails, there is no difference to report, only its error."""
        inputs = {**self.others, **tables}
        try:
            theirs = self.second.on(inputs)
        except Exception as error:
            return f"the second solution raises {_said(error)}"
        try:
            ours = self.first.on(inputs)
        except Exception as error:
            return against_an_error(f"{RAISED} ({_said(error)})", theirs, self.pairs)
        return compared_outputs(ours, theirs, self.pairs)

    def places(self, tables: Mapping[str, Any]) -> list[OutputPlace]:
        """Where both differ on one input."""
        found = self.compared(tables)
        return [] if isinstance(found, str) else found.places


def run_trial(
    first: tuple[str, Sequence[str]],
    second: tuple[str, Sequence[str]],
    pairs: Sequence[Sequence[str]],
    inputs: Mapping[str, Any],
) -> dict[str, Any]:
    """Run the whole trial.

    Args:
        first: source of the function, and the names of its outputs in order.
        second: source and names of outputs of the second solution.
        pairs: names of outputs that belong together.
        inputs: the sample.

    Returns:
        All findings as JSON.
    """
    trial, tables = _trial(first, second, pairs, inputs)
    on_sample = trial.compared(tables)
    if isinstance(on_sample, str):
        return {"failed": on_sample}
    differing = [("", tables, on_sample.places)]
    tried, failed_on = [], []
    for name, varied in variations(tables):
        found = trial.compared(varied)
        if isinstance(found, str) or not found.outputs:
            failed_on.extend([name] if isinstance(found, str) else [])
            continue
        tried.append(name)
        differing.append((name, varied, found.places))
    differing = [entry for entry in differing if entry[2]]
    return {
        "sample": [_told(place) for place in on_sample.places],
        "not_compared": [{"where": where, "why": why} for where, why in on_sample.not_compared],
        "compared": on_sample.outputs,
        "tried": tried,
        "failed_on": failed_on,
        "variations": [{"name": name, "differences": list(map(_told, found))} for name, _, found in differing if name],
        "smallest": _smallest(trial, differing),
    }


def run_once(
    first: tuple[str, Sequence[str]],
    second: tuple[str, Sequence[str]],
    pairs: Sequence[Sequence[str]],
    inputs: Mapping[str, Any],
) -> dict[str, Any]:
    """Compare on one small input. The arguments are those of `run_trial`."""
    trial, tables = _trial(first, second, pairs, inputs)
    return {"differences": [_open(place) for place in trial.places(tables)]}


def _trial(
    first: tuple[str, Sequence[str]],
    second: tuple[str, Sequence[str]],
    pairs: Sequence[Sequence[str]],
    inputs: Mapping[str, Any],
) -> tuple[Trial, dict[str, Any]]:
    """Both solutions loaded, and the tables among the inputs."""
    tables = {name: value for name, value in inputs.items() if _is_table(value)}
    others = {name: value for name, value in inputs.items() if name not in tables}
    one, other = Solution.loaded("first_solution", *first), Solution.loaded("second_solution", *second)
    return Trial(one, other, tuple((one, other) for one, other in pairs), others), tables


def _smallest(
    trial: Trial, differing: Sequence[tuple[str, dict[str, Any], list[OutputPlace]]]
) -> dict[str, Any] | None:
    """The smallest input found that still shows the first of the differences."""
    if not differing or not differing[0][1]:
        return None
    wanted = differing[0][2][0]

    def differs(tables: Mapping[str, Any]) -> bool:
        return any(_alike(place, wanted) for place in trial.places(tables))

    few = {name: trimmed(table) for name, table in differing[0][1].items()}
    candidates = [(differing[0][0], few), *((name, tables) for name, tables, _ in differing[1:])]
    name, tables = next((entry for entry in candidates if differs(entry[1])), differing[0][:2])
    small = all(len(table) <= 2 * ROWS for table in tables.values())
    tables = simplified(smallest(tables, differs, TRIALS if small else TRIALS_ON_ALL), differs)
    written = {label: cells(table) for label, table in tables.items()}
    return {
        "variation": name,
        "tables": {label: None if values is None else {"cells": values} for label, values in written.items()},
        "places": [place.where for place in trial.places(tables)],
    }


def _open(place: OutputPlace) -> dict[str, Any]:
    """A difference with all values there."""
    lists = {"ones": list(place.ones), "others": list(place.others), "keys": list(place.keys)}
    return {**asdict(place), **lists}


def _alike(one: OutputPlace, other: OutputPlace) -> bool:
    """Whether two differences have the same place and kind: an error, a missing value, or two values."""
    raised = one.first.startswith(RAISED), other.first.startswith(RAISED)
    if all(raised):  # only a short table is described by its columns
        return one.where.partition(".")[0] == other.where.partition(".")[0]
    named = bool(one.keys) == bool(other.keys)  # rows without key columns are only counted
    return one.where == other.where and raised[0] == raised[1] and one.both == other.both and named


def _is_table(value: Any) -> bool:
    return isinstance(value, pd.DataFrame | pd.Series)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _told(place: OutputPlace) -> dict[str, Any]:
    """A difference as text for the user. The values themselves stay in the sandbox."""
    return {key: value for key, value in asdict(place).items() if key not in ("ones", "others", "keys")}
