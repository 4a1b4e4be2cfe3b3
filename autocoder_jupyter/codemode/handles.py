"""Handles for the tables of a run in the sandbox, and the text about them for the model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autocoder_jupyter.codemode.crossing import Crossing, is_frame
from autocoder_jupyter.codemode.frame import METHODS, Frame, Room, Sight, frame_of
from autocoder_jupyter.codemode.limits import Limits
from autocoder_jupyter.codemode.tools import require_free_name
from autocoder_jupyter.errors import BudgetSpent, InvalidRequest

COLUMNS = 200
"""The maximum number of columns of a frame in the text for the model."""

LONGEST = 2_000
"""The maximum number of characters of an operation's error."""

_SEEN = {
    "rows": "Any of it may be shown.",
    "stats": """No row is shown. Of the frames that your code has by name these are: count(); head and scalar after an
aggregate without `by` of count, nunique, and of numbers sum, mean and std; and after
aggregate({"rows": (column, "count")}, by=column) if the column has few values. Every other frame shows only columns and
dtypes: count, head and scalar are refused.""",
    "schema": "Only names and dtypes are shown: count, head and scalar are refused.",
}
_UNSEEN = " A frame that is not shown can be given to a tool, and to the person."
_MASKED = """ Some columns are masked: each of their cells is shown as "<masked>". Of a frame that was filtered,
sorted, grouped, aggregated or joined by such a column only columns and dtypes are shown."""


def about(sight: Sight) -> str:
    """The description of Frames for the model."""
    seen = _SEEN[sight.share] + (_MASKED if sight.mask and sight.share == "rows" else "")
    seen += _UNSEEN if sight.mask or sight.share != "rows" else ""
    return f"""\
# Frames
A table is a `Frame`: its rows stay outside of your code. It has no `[]`, no `len`, no operators and no other methods
than these. Frames go to tools and come from them, and are never changed. {seen}
    frame.columns, frame.dtypes             # names; dtype by name
    frame.count()                           # number of rows
    frame.head(n=5)                         # list of dicts, at most 100; a missing value is None
    frame.scalar(column)                    # the value in a frame of one row
    frame.filter(column, operator, value)   # ==, !=, <, <=, >, >=, "in", "not in", "contains", "starts with",
                                            # "ends with", "is null", "not null" (these two without a value)
    frame.select("a", "b")
    frame.sort(by, descending=False)        # a column or a list of them
    frame.aggregate({{"total": ("amount", "sum")}}, by="region")    # count, sum, mean, median, min, max, std, nunique;
                                            # without `by` one row of all
    frame.join(other, on, how="inner")      # left, right, outer
A Frame as a value at the end of the answer is given to the person as a whole table."""


class Frames:
    """The tables of one run.

    Args:
        sight: what the code may see of them.
        limits: the limits of values that go into the sandbox, and of tables that are made.
        tables: the tables that the program has from the beginning, by name.
    """

    def __init__(self, sight: Sight, limits: Limits, tables: Mapping[str, Any]) -> None:
        self._sight = sight
        self._tables = tables
        self._limits = limits
        self._room = Room()
        self._seconds = 0.0
        self.crossing = Crossing(limits.crossing, self._wrap, self._unwrap)

    def globals(self) -> dict[str, Any]:
        """The handles for a new sandbox by name. Tables of the previous sandbox are dropped."""
        both = self._sight.mask and self._sight.share == "rows"  # only then there are tables of both sorts
        self._room = Room(self._limits.table_bytes // (2 if both else 1))
        return {name: self._wrap(table, name, passed=True) for name, table in self._tables.items()}

    def _wrap(self, table: Any, origin: str, *, passed: bool = False) -> Any:
        return frame_of(table, origin, self._sight, self._room, passed=passed)

    def operate(self, frame: Frame, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The outcome of an operation for the program.

        Raises:
            BudgetSpent: the seconds of the run for such operations are over. The program does not see this: how long an
                operation takes depends on cells that it may not see.
            Exception: of a built-in type that the program sees.
        """
        started = time.monotonic()
        try:
            return self._operated(frame, name, args, kwargs)
        finally:
            self._seconds += time.monotonic() - started
            self._require_time()

    def _require_time(self) -> None:
        if self._seconds > self._limits.table_seconds:
            raise BudgetSpent(
                f"The operations of the code on tables took more than {self._limits.table_seconds:g} seconds.",
                hint="Ask for less at once, pass smaller tables, or raise limits.table_seconds.",
                limit="table_seconds",
            )

    def _operated(self, frame: Frame, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        try:
            if name not in METHODS:
                raise AttributeError(f"'Frame' object has no attribute {name!r}")
            value = getattr(frame, name)(*args, **kwargs)
            return value if isinstance(value, Frame) else self.crossing.inward(value, name, "")
        except Exception as error:  # pandas may raise any error for a wrong argument
            kinds = (KeyError, PermissionError, AttributeError, TypeError, MemoryError)
            kind = next((kind for kind in kinds if isinstance(error, kind)), ValueError)
            raise kind(str(error.args[0] if error.args else error)[:LONGEST]) from None

    @staticmethod
    def _unwrap(value: Any) -> Any:
        if not isinstance(value, Frame):
            raise LookupError
        from autocoder_jupyter.data.capture import capture

        return capture(value.released())


def key_form(value: Any) -> Any:
    """The form in a call's key of a value that is not plain."""
    if isinstance(value, Frame):
        return {"$type": "frame", "value": value.origin}
    return {"$type": "other", "value": type(value).__name__}


def checked_frames(frames: Mapping[str, Any] | None, tools: Iterable[str]) -> dict[str, Any]:
    """The captured frames of a run by name.

    Raises:
        InvalidRequest: an invalid name, or a value that is not a table.
    """
    if frames is None:
        return {}
    if not isinstance(frames, Mapping):
        raise InvalidRequest("frames must be a dict of DataFrames by name.")
    from autocoder_jupyter.data.capture import capture, is_table

    found = {}
    for name, table in frames.items():
        require_free_name("frames", name)
        if name in set(tools):
            raise InvalidRequest(f"frames: {name!r} is the name of a tool.", hint="Give the frame another name.")
        if not is_frame(table) and not is_table(table):
            raise InvalidRequest(f"frames: {name} is a {type(table).__name__}, not a DataFrame or Series.")
        found[name] = capture(table)
        frame_of(found[name], name, Sight())  # refuses duplicate column names now
    return found


def described(tables: Mapping[str, Any], sight: Sight) -> str:
    """The text about the tables of a request for the model: columns and dtypes. It does not depend on the rows."""
    lines = []
    for name, table in tables.items():
        dtypes = frame_of(table, name, sight).dtypes
        shown = [f"{column!r} {dtype}" for column, dtype in list(dtypes.items())[:COLUMNS]]
        shown += [f"and {len(dtypes) - COLUMNS} more"] if len(dtypes) > COLUMNS else []
        lines.append(f"- {name}: {', '.join(shown)}")
    return "\n".join(["Frames that your code has by name:", *lines]) if lines else ""
