"""Compares the tables of calls with the recorded values of the samples, and tells each difference once."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autocoder_jupyter.calls.function import Function

MOST_OF_CALLS = 0.04
"""The part of the time of calls that comparing may take. A call that would exceed it is not compared, and counted."""


class ValueWatch:
    """What was found in the calls of one function.

    Attributes:
        told: the sentences, by input, column and kind of difference.
        calls: the seconds of all calls so far that could be compared.
        comparing: the seconds of all comparisons so far, of the processor.
        compared: the number of calls that were compared.
        left_out: the number of calls that were not compared, because there was no time for it.
    """

    def __init__(self) -> None:
        self.told: dict[tuple[str, str, str], str] = {}
        self.calls = 0.0
        self.comparing = 0.0
        self.compared = 0
        self.left_out = 0

    def may_compare(self) -> bool:
        """Whether this call may be compared. The first one always is."""
        if self.comparing <= self.calls * MOST_OF_CALLS:
            self.compared += 1
            return True
        self.left_out += 1
        return False

    @property
    def remarks(self) -> tuple[str, ...]:
        """A sentence if calls were not compared."""
        if not self.left_out:
            return ()
        return (
            f"{self.left_out:,} of {self.left_out + self.compared:,} calls were not compared, because comparing may "
            f"take at most {MOST_OF_CALLS * 100:.0f} % of the time of calls.",
        )

    def compare(self, function: Function, arguments: Mapping[str, Any], given: Collection[str]) -> list[str]:
        """Compare the given tables. Returns the sentences about differences of a kind that was not told before.

        Args:
            function: the function.
            arguments: its arguments.
            given: the names of those to compare: the call has passed them, and their values are recorded.
        """
        import pandas as pd

        from autocoder_jupyter.data.columns_read import columns_read
        from autocoder_jupyter.data.value_drift import value_drift
        from autocoder_jupyter.data.value_profile import recorded_values

        # Neither imports, which are made once, nor the work of other threads count.
        began, new = time.thread_time(), []
        reads = columns_read(function.code, function.inputs)
        for name in given:
            then, value = recorded_values(function.values[name]), arguments.get(name)
            if then is None or value is function.samples.get(name) or not isinstance(value, pd.DataFrame):
                continue
            for found in value_drift(name, value, then, reads, show_values=True):
                kind = (name, found.column, found.what)
                if kind not in self.told:
                    self.told[kind] = found.words
                    new.append(f"{function.name}: {found.words}")
        self.comparing += time.thread_time() - began
        return new
