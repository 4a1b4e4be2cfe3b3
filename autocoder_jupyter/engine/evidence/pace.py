"""How long a function would take for a hundred times as many rows, from runs with a few thousand."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.engine.evidence.code_numbers import largest_number
from autocoder_jupyter.engine.evidence.mutants import LONGEST_CODE
from autocoder_jupyter.engine.evidence.solution_worker import SolutionStopped, SolutionWorker
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import VariedSample, main_table
from autocoder_jupyter.untrusted.parsing import parse

TIMES = 100
"""How many times as many rows as the sample has."""

ROWS = 8_000
"""Rows of the second run."""

LEAST_SECONDS, CALL_SECONDS = 0.1, 2.0
"""Seconds of processor time below which a run shows nothing, and after which it is stopped."""

SLOW = 60.0
"""Seconds from which on it is told."""

_SQUARE = 1.6

_PAIRS = re.compile(r"\b(?:apply|map|transform|agg|pipe|cross|outer|cdist|meshgrid|dot)\b|\[:, None|\[:, np.newaxis")
"""Words of code that calls a function for each row, or pairs each row with each."""


def may_be_slow(code: str) -> bool:
    """Whether code may take more than a fixed time for each row: it has a loop, or calls what may have one."""
    if len(code) > LONGEST_CODE:
        return True
    loops = ast.For | ast.While | ast.comprehension | ast.Lambda
    return any(isinstance(node, loops) for node in ast.walk(parse(code))) or bool(_PAIRS.search(code))


def pace(side: SolutionWorker, varied: VariedSample, others: Mapping[str, Any], limit: TimeLimit) -> str:
    """What so many rows would take, as a sentence; "" if that is not long. It may end the worker. Blocks.

    The first run has as many rows as another layer tries. The second has fewer rows if that one was slow, and more only
    if the square of the rows would be slow.
    """
    name = main_table(varied.tables)
    code = side.program.code
    first = varied.larger(largest_number(code)) if name and may_be_slow(code) else None
    if first is None:
        return ""
    rows = TIMES * len(varied.tables[name])
    found = list[tuple[int, float]]()
    tables: Mapping[str, Any] | None = first.tables
    while tables is not None and len(tables[name]) < rows:
        before = side.worker.processor_seconds
        try:
            answer = side.on({**others, **tables}, limit.part(CALL_SECONDS), reuse=True)
        except SolutionStopped:
            return "" if limit.is_over else _sentence(rows, [(len(tables[name]), CALL_SECONDS)], "more than")
        if answer.error:
            return ""
        found.append((len(tables[name]), side.worker.processor_seconds - before))
        count, seconds = found[0]
        if len(found) > 1 or seconds * (rows / count) ** 2 < SLOW:
            break
        larger = varied.larger(ROWS)
        tables = varied.trimmed if seconds >= LEAST_SECONDS else larger.tables if larger is not None else None
    return _sentence(rows, sorted(found), "about") if found else ""


def _sentence(rows: int, found: list[tuple[int, float]], about: str) -> str:
    (few, fast), (many, slow) = found[0], found[-1]
    power = math.log(slow / fast) / math.log(many / few) if many > few and slow > fast > 0 else 1.0
    seconds = slow * (rows / many) ** max(power, 1.0)
    if slow < LEAST_SECONDS or seconds < SLOW:
        return ""
    unit, size = ("hours", 3600.0) if seconds >= 7200 else ("minutes", 60.0)
    why = ": its time grows with the square of the rows" if power >= _SQUARE else ""
    return f"{rows:,} rows would take {about} {seconds / size:,.0f} {unit}{why}"
