"""Equality of values: one definition for examples, changes by a refinement, second opinions, and two runs.

A comparison says `equal`, `different`, or `not compared` if there is nothing that could be compared. What a caller
ignores is a `Leniency`, and what differs is a `ValueDifference`; the words for it are the caller's.

    leniency    the tolerance, and what may be ignored
    scalars     single values
    columns     columns of the same length, in pieces
    tables      which columns and rows belong together
    files       files, folders and pictures
    comparison  goes through two values
    result      the differences, and what was not compared
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
