"""Describes the value of an expression, or the tables of a function after each of its lines, as JSON."""

from __future__ import annotations

import builtins
import itertools
import json
import re
import sys
import types
from typing import Any

import numpy as np
import pandas as pd

EXPRESSION = ""
"""The expression; "" to follow `CODE`."""

BUILTINS: list[str] = []
"""The built-in functions that it may use."""

CODE = ""
"""The source of a module whose function `run` is called and followed."""

ROWS = 10
"""The most rows of a table that are described; with 0 there are no values at all."""

MOST_COLUMNS, MOST_NOTES, MOST_STEPS = 12, 16, 2_000
LONGEST_CELL, LONGEST_TEXT, LONGEST_ERROR = 500, 2_000, 500

FILE = "solution.py"


def described(value: Any) -> dict[str, Any]:
    """The kind of a value, its size and dtypes, and its beginning as texts."""
    if isinstance(value, np.number | np.bool_):
        value = value.item()
    kind = type(value).__name__
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = pd.Series(value)
    if isinstance(value, pd.Index):
        value = value.to_series().reset_index(drop=True) if value.nlevels == 1 else value.to_frame(index=False)
    if isinstance(value, pd.Series):
        return {"kind": kind, "size": [len(value)], **_table(value.to_frame())}
    if isinstance(value, pd.DataFrame):
        return {"kind": kind, "size": list(value.shape), **_table(value)}
    return {"kind": kind, "text": _text(value, LONGEST_TEXT)} if ROWS else {"kind": kind}


def _table(table: pd.DataFrame) -> dict[str, Any]:
    head = table.iloc[:ROWS, :MOST_COLUMNS]
    columns = [[_text(label, LONGEST_CELL), str(dtype)[:100]] for label, dtype in zip(head, head.dtypes, strict=True)]
    names, cells = [], []
    if not _only_numbers_rows(table.index):
        names = [_text("" if name is None else name, LONGEST_CELL) for name in head.index.names]
        cells = [list(head.index.get_level_values(place)) for place in range(head.index.nlevels)]
    cells += [list(head.iloc[:, place]) for place in range(head.shape[1])]
    rows = [[_text(cell, LONGEST_CELL) for cell in row] for row in zip(*cells, strict=True)] if ROWS else []
    return {"columns": columns, "index": names, "rows": rows}


def _only_numbers_rows(index: pd.Index) -> bool:
    return type(index) is pd.RangeIndex and index.name is None and index.start == 0 and index.step == 1


def _text(value: Any, longest: int) -> str:
    """A value as text. A number of characters behind `…` says how many are missing."""
    if isinstance(value, str):
        text = str(value)
    elif isinstance(value, float | np.floating):
        text = "" if np.isnan(value) else f"{value:.10g}"
    elif value is None or value is pd.NA or value is pd.NaT:
        text = ""
    elif isinstance(value, dict):
        text = repr(dict(itertools.islice(value.items(), longest)))
    elif isinstance(value, frozenset) or type(value).__name__ == "set":
        text = "{" + ", ".join(sorted(map(repr, itertools.islice(value, longest)))) + "}"
    elif isinstance(value, list | tuple | np.ndarray):
        text = repr([one.item() if isinstance(one, np.generic) else one for one in value[:longest]])
    else:
        text = re.sub(" at 0x[0-9a-fA-F]+", "", str(value))
    return text if len(text) <= longest else f"{text[:longest]}…(+{len(text) - longest})"


def evaluated(tables: dict[str, Any]) -> dict[str, Any]:
    """The described value of the expression, or the error that it raised."""
    known = {"pd": pd, "np": np, "__builtins__": {name: getattr(builtins, name) for name in BUILTINS}}
    try:
        return {"value": described(eval(compile(EXPRESSION, "probe.py", "eval", dont_inherit=True), known | tables))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {_text(str(error), LONGEST_ERROR)}"}


class LineFollower:
    """Notes the tables among the variables of a module's functions, after each line that makes or changes them."""

    def __init__(self) -> None:
        self.notes: list[list[Any]] = []
        self._steps = 0
        self._last: dict[Any, int] = {}
        self._seen: dict[Any, str] = {}

    def __call__(self, frame: types.FrameType, event: str, value: Any) -> Any:
        code = frame.f_code
        if code.co_filename != FILE or code.co_name.startswith("<"):
            return None
        self._steps += 1
        if self._steps > MOST_STEPS or len(self.notes) >= MOST_NOTES:
            return None
        line = self._last.get(frame, frame.f_lineno)  # a call has that of the `def`
        for name, table in list(frame.f_locals.items()):
            self._note(line, (code, name), name, table)
        if event == "return" and code.co_name == "run":
            for number, table in enumerate(value if isinstance(value, tuple) else (value,)):
                self._note(frame.f_lineno, (code, number), "returned", table)
        self._last[frame] = frame.f_lineno
        return self

    def _note(self, line: int, place: Any, name: str, table: Any) -> None:
        if isinstance(table, pd.DataFrame | pd.Series):
            found = described(table)
            text = json.dumps(found)
            if text not in self._seen.values() and len(self.notes) < MOST_NOTES:
                self.notes.append([line, name, found])
            self._seen[place] = text


def followed(inputs: dict[str, Any]) -> dict[str, Any]:
    """The tables of a call of the function, also if it raises an error."""
    module = sys.modules["solution"] = types.ModuleType("solution")
    module.__file__ = FILE
    exec(compile(CODE, FILE, "exec", dont_inherit=True), module.__dict__)
    follower, before = LineFollower(), sys.gettrace()
    try:
        sys.settrace(follower)
        module.run(**inputs)
    except Exception as error:
        return {"notes": follower.notes, "error": type(error).__name__}
    finally:
        sys.settrace(before)
    return {"notes": follower.notes}


def run(**given: Any) -> str:
    """What was asked for, as JSON."""
    return json.dumps(followed(given) if CODE else evaluated(given))
