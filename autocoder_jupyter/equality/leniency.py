"""The tolerance of numbers, and what a caller may ignore besides.

Two numbers are equal if they differ by at most a billionth of the larger one: sums in another order, and other formulas
for the same number, differ by less, and data are measured more coarsely. Sums that cancel each other leave about 1e-16
of their terms in place of 0, so numbers are also equal if they differ by at most 1e-12. Two whole numbers are equal
only if they are the same, because they can be identifiers.
"""

from __future__ import annotations

from dataclasses import dataclass

RELATIVE, ABSOLUTE = 1e-9, 1e-12


@dataclass(frozen=True)
class Leniency:
    """What does not count as a difference. By default everything counts that is not within the tolerance.

    A missing value equals any other missing value, and row numbers are not compared, in every case.

    Args:
        types: `3` equals `3.0`, a tuple a list, a day its midnight; dtypes are not compared.
        column_order: columns may have another order.
        labels: the second value decides about labels: an index that it does not have is ignored, its named index may
            be given as columns, and the name of a Series does not count.
        rounding: a number equals one that was rounded to two decimals or more.
        text_dates: text that is a date equals the date.
        names: columns are matched by name, words and content, keys of dicts by their text. What has no counterpart is
            not compared.
        row_order: rows are matched by the columns that identify them.
        unlike: values of different kinds, and files and pictures without comparable content, are not compared.
    """

    types: bool = False
    column_order: bool = False
    labels: bool = False
    rounding: bool = False
    text_dates: bool = False
    names: bool = False
    row_order: bool = False
    unlike: bool = False


STRICT = Leniency()
"""Of two versions of a function, and of two runs."""

EXAMPLE = Leniency(types=True, column_order=True, labels=True)
"""Of an output and what a user expects of it."""

INDEPENDENT = Leniency(*(True,) * 8)
"""Of two solutions that do not know each other."""
