"""Equality of values: one definition for examples, changes by a refinement, second opinions, and two runs.

A comparison says `equal`, `different`, or `not compared` if there is nothing that could be compared. What a caller
ignores is a `Leniency`, and what differs is a `ValueDifference`; the words for it are the caller's. It imports no other
package.

- `leniency`: the tolerance of numbers, and what may be ignored
- `scalars`: single values
- `tables`: columns of the same length, and which columns and rows of two tables belong together
- `comparison`: goes through two values; its result; files, folders and pictures
"""

from __future__ import annotations

from autocoder_jupyter.equality.comparison import (
    Comparison,
    NotCompared,
    Path,
    PathStep,
    ValueDifference,
    compare,
    equal,
    is_comparable,
)
from autocoder_jupyter.equality.leniency import EXAMPLE, INDEPENDENT, STRICT, Leniency

__all__ = [
    "EXAMPLE",
    "INDEPENDENT",
    "STRICT",
    "Comparison",
    "Leniency",
    "NotCompared",
    "Path",
    "PathStep",
    "ValueDifference",
    "compare",
    "equal",
    "is_comparable",
]
