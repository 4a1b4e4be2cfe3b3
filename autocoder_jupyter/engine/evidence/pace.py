"""How long a function would take for a hundred times as many rows, from runs with a few thousand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.engine.evidence.solution_worker import SolutionStopped, SolutionWorker
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import VariedSample, main_table

TIMES = 100
"""How many times as many rows as the sample has."""

SIZES = (2_000, 8_000)
"""Rows of the runs."""

LEAST_SECONDS, CALL_SECONDS = 0.1, 2.0
"""Seconds of processor time below which a run shows nothing, and after which it is stopped."""

SLOW = 60.0
"""Seconds from which on it is told."""

_SQUARE = 1.6


def pace(side: SolutionWorker, varied: VariedSample, others: Mapping[str, Any], limit: TimeLimit) -> str:
    """What so many rows would take, as a sentence; "" if that is not long. It may end the worker. Blocks."""
    name = main_table(varied.tables)
    rows = TIMES * len(varied.tables[name]) if name else 0
    few, many = (varied.larger(size) for size in SIZES)
    if few is None or many is None or rows < len(many.tables[name]):
        return ""
    found = list[tuple[int, float]]()
    for tables in (few.tables, many.tables):
        if found and found[0][1] >= LEAST_SECONDS:  # a smaller table says as much
            tables = varied.trimmed
        before = side.worker.processor_seconds
        try:
            answer = side.on({**others, **tables}, limit.part(CALL_SECONDS), reuse=True)
        except SolutionStopped:
            return "" if limit.is_over else _sentence(rows, [(len(tables[name]), CALL_SECONDS)], "more than")
        if answer.error:
            return ""
        found.append((len(tables[name]), side.worker.processor_seconds - before))
    return _sentence(rows, sorted(found), "about")


def _sentence(rows: int, found: list[tuple[int, float]], about: str) -> str:
    (few, fast), (many, slow) = found[0], found[-1]
    power = math.log(slow / fast) / math.log(many / few) if many > few and slow > fast > 0 else 1.0
    seconds = slow * (rows / many) ** max(power, 1.0)
    if slow < LEAST_SECONDS or seconds < SLOW:
        return ""
    unit, size = ("hours", 3600.0) if seconds >= 7200 else ("minutes", 60.0)
    why = ": its time grows with the square of the rows" if power >= _SQUARE else ""
    return f"{rows:,} rows would take {about} {seconds / size:,.0f} {unit}{why}"
