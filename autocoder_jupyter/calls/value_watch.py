"""Compares the tables of calls with the recorded values of the samples, and tells each difference once."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autocoder_jupyter.calls.function import Function

MOST_OF_CALLS = 0.04
"""The part of the time of calls that comparing may take. A call that would exceed it is not compared."""


class ValueWatch:
    """What was found in the calls of one function.

    Attributes:
        told: the sentences, by input, column and kind of difference.
        calls: the seconds of all calls so far that could be compared.
        comparing: the seconds of all comparisons so far.
    """

    def __init__(self) -> None:
        self.told: dict[tuple[str, str, str], str] = {}
        self.calls = 0.0
        self.comparing = 0.0

    @property
    def has_time(self) -> bool:
        """Whether the next call may be compared. The first one always is."""
        return self.comparing <= self.calls * MOST_OF_CALLS

    def compare(self, function: Function, arguments: Mapping[str, Any], given: Collection[str]) -> list[str]:
        """Compare the given tables. Returns the sentences about differences of a kind that was not told before.

        Args:
            function: the function.
            arguments: its arguments.
            given: the names of those that the call has passed.
        """
        import pandas as pd

        from autocoder_jupyter.data.columns_read import columns_read
        from autocoder_jupyter.data.value_drift import value_drift
        from autocoder_jupyter.data.value_profile import recorded_values

        began, new = time.perf_counter(), []
        reads = columns_read(function.code, function.inputs)
        for name in function.values.keys() & set(given):
            then, value = recorded_values(function.values[name]), arguments.get(name)
            if then is None or value is function.samples.get(name) or not isinstance(value, pd.DataFrame):
                continue
            for found in value_drift(name, value, then, reads, show_values=True):
                kind = (name, found.column, found.what)
                if kind not in self.told:
                    self.told[kind] = found.words
                    new.append(f"{function.name}: {found.words}")
        self.comparing += time.perf_counter() - began
        return new
