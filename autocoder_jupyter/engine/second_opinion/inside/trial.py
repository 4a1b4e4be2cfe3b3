"""Runs both solutions on the sample and its variations, and finds the smallest input on which they differ."""

from __future__ import annotations

import copy
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from autocoder_jupyter.engine.second_opinion.inside.comparison import Comparison, Difference, compare, leaves
from autocoder_jupyter.engine.second_opinion.inside.smallest import TRIALS, simplified, smallest
from autocoder_jupyter.engine.second_opinion.inside.variations import ROWS, trimmed, variations
from autocoder_jupyter.engine.second_opinion.inside.written import cells, dtypes

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

    def compared(self, tables: Mapping[str, Any]) -> Comparison:
        """Compare on one input. If the second solution fails, there is no difference to report."""
        inputs = {**self.others, **tables}
        try:
            theirs = self.second.on(inputs)
        except Exception as error:
            return Comparison(not_compared=[f"the second solution raises {_said(error)}"])
        try:
            ours = self.first.on(inputs)
        except Exception as error:
            return Comparison(list(self._against_an_error(f"{RAISED} ({_said(error)})", theirs)))
        return compare(ours, theirs, self.pairs)

    def _against_an_error(self, said: str, theirs: Mapping[str, Any]) -> Iterator[Difference]:
        """The outputs of the second solution as differences, if the first fails."""
        for one, other in self.pairs:
            for where, values in leaves(one, theirs[other]):
                yield Difference(where, said, ", ".join(map(str, values[:3])) or "no rows", others=values)


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
    if on_sample.not_compared and on_sample.not_compared[0].startswith("the second solution raises"):
        return {"failed": on_sample.not_compared[0], "sample": [], "variations": [], "not_compared": []}
    found = [("", tables, on_sample)]
    tried = []
    for name, varied in variations(tables):
        tried.append(name)
        found.append((name, varied, trial.compared(varied)))
    return {
        "failed": "",
        "sample": [_told(difference) for difference in on_sample.differences],
        "not_compared": on_sample.not_compared,
        "tried": tried,
        "variations": [
            {"name": name, "differences": [_told(difference) for difference in outcome.differences]}
            for name, _, outcome in found[1:]
            if outcome.differences
        ],
        "smallest": _smallest(trial, found),
    }


def run_once(
    first: tuple[str, Sequence[str]],
    second: tuple[str, Sequence[str]],
    pairs: Sequence[Sequence[str]],
    inputs: Mapping[str, Any],
) -> dict[str, Any]:
    """Compare on one small input. The arguments are those of `run_trial`."""
    trial, tables = _trial(first, second, pairs, inputs)
    return {"differences": [_open(difference) for difference in trial.compared(tables).differences]}


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


def _smallest(trial: Trial, found: Sequence[tuple[str, dict[str, Any], Comparison]]) -> dict[str, Any] | None:
    """The smallest input found that still shows the first of the differences."""
    differing = [entry for entry in found if entry[2].differences]
    if not differing or not differing[0][1]:
        return None
    wanted = differing[0][2].differences[0]

    def differs(tables: Mapping[str, Any]) -> bool:
        return any(_alike(difference, wanted) for difference in trial.compared(tables).differences)

    few = {name: trimmed(table) for name, table in differing[0][1].items()}
    candidates = [(differing[0][0], few), *((name, tables) for name, tables, _ in differing[1:])]
    name, tables = next((entry for entry in candidates if differs(entry[1])), differing[0][:2])
    small = all(len(table) <= 2 * ROWS for table in tables.values())
    tables = simplified(smallest(tables, differs, TRIALS if small else TRIALS_ON_ALL), differs)
    written = {label: cells(table) for label, table in tables.items()}
    return {
        "variation": name,
        "tables": {
            label: None if values is None else {"cells": values, "dtypes": dtypes(tables[label])}
            for label, values in written.items()
        },
        "places": [difference.where for difference in trial.compared(tables).differences],
    }


def _open(difference: Difference) -> dict[str, Any]:
    """A difference with all values there."""
    lists = {"ones": list(difference.ones), "others": list(difference.others), "keys": list(difference.keys)}
    return {**asdict(difference), **lists}


def _alike(one: Difference, other: Difference) -> bool:
    """Whether two differences have the same place and kind: an error, a missing value, or two values."""
    raised = one.first.startswith(RAISED), other.first.startswith(RAISED)
    named = bool(one.keys) == bool(other.keys)  # rows without key columns are only counted
    return one.where == other.where and raised[0] == raised[1] and one.both == other.both and named


def _is_table(value: Any) -> bool:
    return isinstance(value, pd.DataFrame | pd.Series)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _told(difference: Difference) -> dict[str, Any]:
    """A difference as text for the user. The values themselves stay in the sandbox."""
    return {key: value for key, value in asdict(difference).items() if key not in ("ones", "others", "keys")}
