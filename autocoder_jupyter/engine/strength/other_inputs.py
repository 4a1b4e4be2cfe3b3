"""Runs the function alone on variations of the sample, on small parts of it, and on one several times as large.

It needs no second solution. Two things are found: that the function raises an error, and that a check of the user does
not hold. A check is tried if it says something that can hold for other data too: its numbers are small, and its texts
are names of columns. An error of a kind that the code raises itself is meant.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from autocoder_jupyter.engine.checks import checked
from autocoder_jupyter.engine.second_opinion.sides import Side, TrialEnded
from autocoder_jupyter.engine.second_opinion.sizes import VariedSample, largest_number
from autocoder_jupyter.engine.second_opinion.trial import SMALL_PART
from autocoder_jupyter.engine.second_opinion.variations import Tables
from autocoder_jupyter.engine.strength.relations import searched
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.protocol import CallSpec
from autocoder_jupyter.untrusted.parsing import parse
from autocoder_jupyter.view.amounts import counted

CHECKED_PARTS = 8
"""The maximum number of small parts on which the user's checks are tried."""

_ERRORS = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))

Failed = tuple[str, str, Tables]
"""What failed, on which input, and its tables."""


@dataclass(frozen=True)
class OtherInputs:
    """What was found on them.

    Args:
        count: the number of inputs on which the function gave an answer.
        failed: the first error, and for each check of the user the first input on which it does not hold.
        held: the user's checks that hold on all of them.
    """

    count: int
    failed: tuple[Failed, ...] = ()
    held: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The number of inputs in words."""
        return f"{counted(self.count, 'variation')} and parts of the sample"


def on_other_inputs(
    side: Side,
    varied: VariedSample,
    others: Mapping[str, Any],
    deadline: float,
    checks: Sequence[str],
    redaction: Redaction,
) -> OtherInputs:
    """Run the function on other inputs. Blocks.

    Args:
        side: the verified function, in a worker.
        varied: the tables of the sample, with what is made from them.
        others: the other inputs.
        deadline: on the monotonic clock.
        checks: the user's checks.
        redaction: decides what messages may contain.
    """
    answered: list[tuple[str, Tables, Mapping[str, Any]]] = []
    meant, error, count = raised_in(side.program.code), list[Failed](), 0
    inputs = tuple(_inputs(varied, side.program.code))
    side.get_ready(({**others, **tables} for _, tables in inputs), deadline)
    for name, tables in inputs:
        try:
            answer = side.on({**others, **tables}, deadline, reuse=True, kept=True)
            if answer.error and name != SMALL_PART:  # not because of the calls that this process had before
                answer = side.on({**others, **tables}, deadline, kept=True)
        except TrialEnded:
            break
        if answer.error:
            kind = answer.error.partition(":")[0]
            if kind not in meant and not error:
                said = f"the function raises {kind if kind in _ERRORS else 'an error'}"
                error.append((said, name, searched(tables, partial(_raises, side, others, kind))))
            continue
        count += 1
        if name != SMALL_PART or [one for one, _, _ in answered].count(name) < CHECKED_PARTS:
            answered.append((name, tables, answer.values))
    general = [check for check in checks if is_general(check, _names(side, varied.tables))]
    broken: dict[str, Failed] = {}
    for name, tables, values in answered if general else ():
        given = {**others, **tables}
        outcomes = checked(side.worker, general, side.program, given, values, redaction, CallSpec(reuse=True))
        for outcome in outcomes:
            if not outcome.passed:
                broken.setdefault(outcome.name, (f"your check {outcome.name} does not hold", name, tables))
    held = tuple(check for check in general if check not in broken) if answered else ()
    return OtherInputs(count, (*error, *broken.values()), held)


def _raises(side: Side, others: Mapping[str, Any], kind: str, tables: Tables, until: float) -> bool:
    return side.on({**others, **tables}, until, reuse=True).error.startswith(f"{kind}:")


def _inputs(varied: VariedSample, code: str) -> Iterator[tuple[str, Tables]]:
    """Inputs as the data allow them, with their names, which have no name of a column."""
    inside = (one for one in varied.variations if not one.is_outside)
    yield from ((one.general or one.name, one.tables) for one in inside)
    yield from ((SMALL_PART, part) for part in varied.parts)
    large = varied.larger(largest_number(code))
    if large is not None and not large.is_outside and not large.has_new_texts:
        yield large.name, large.tables


def raised_in(code: str) -> set[str]:
    """The names of the errors that the code raises."""
    raised = (node.exc for node in ast.walk(parse(code)) if isinstance(node, ast.Raise))
    plain = (node.func if isinstance(node, ast.Call) else node for node in raised)
    return {node.id for node in plain if isinstance(node, ast.Name)}


def _names(side: Side, tables: Mapping[str, Any]) -> set[str]:
    """Names of columns."""
    given = {str(name) for table in tables.values() if isinstance(table, pd.DataFrame) for name in table.columns}
    return given | {column.name for spec in side.program.outputs for column in spec.columns}


def is_general(check: str, names: Collection[str]) -> bool:
    """Whether a check says something that can hold for other data than the sample.

    Args:
        check: an expression.
        names: the names of columns.
    """
    try:
        values = [node.value for node in ast.walk(parse(check)) if isinstance(node, ast.Constant)]
    except SyntaxError:
        return False
    return all(
        value in names
        if isinstance(value, str)
        else isinstance(value, int | float) and (abs(value) <= 1 or value == 100)
        for value in values
        if value is not None
    )
