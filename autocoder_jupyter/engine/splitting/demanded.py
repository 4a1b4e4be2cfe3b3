"""A split that the user demands: a condition of success, which is checked in each attempt that runs on the sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.second_opinion.sides import Side
from autocoder_jupyter.engine.splitting.check import SplitCheck
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.settings.parameters import did_you_mean
from autocoder_jupyter.types import CheckOutcome, InputSpec
from autocoder_jupyter.types.interface import DeclaredSplit, Split, demand
from autocoder_jupyter.untrusted.parsing import visible

_TOLD = 500
"""Characters of a counter-example."""


def largest_table(inputs: Iterable[InputSpec], values: Mapping[str, Any]) -> str:
    """The table that is split: the one with the most rows, the first if two have as many; "" if there is none."""
    tables = [spec.name for spec in inputs if isinstance(values.get(spec.name), pd.DataFrame | pd.Series)]
    return max(tables, key=lambda name: len(values[name]), default="")


def require_split_columns(text: str, inputs: Iterable[InputSpec], samples: Mapping[str, Any]) -> None:
    """Check that a demanded split names columns of the table that is split.

    Raises:
        InvalidRequest: it does not, or no sample is a table.
    """
    split = declared(text, inputs, samples)
    if not split.input:
        raise InvalidRequest(
            f"--split {visible(text)} needs a table as a sample.", hint="Name one in the request: @orders."
        )
    require_keys(split, samples[split.input])


def declared(text: str, inputs: Iterable[InputSpec], samples: Mapping[str, Any]) -> DeclaredSplit:
    """A demanded split with the table that is split, which is "" if no sample is one."""
    kind, keys = demand(text)
    return DeclaredSplit(input=largest_table(inputs, samples), kind=kind, keys=keys)


def require_keys(split: DeclaredSplit, table: Any) -> None:
    """Check that a table has the keys of a split.

    Raises:
        InvalidRequest: it lacks one.
    """
    names = [str(name) for name in table.columns] if isinstance(table, pd.DataFrame) else []
    for key in split.keys:
        if key not in names:
            hint = did_you_mean(key, names) or f"Its columns: {', '.join(map(visible, names[:20])) or 'none'}."
            what = f"--split {split.kind}:{','.join(map(visible, split.keys))}"
            raise InvalidRequest(f"{what}: {visible(split.input)} has no column {visible(key)!r}.", hint=hint)


async def run_split(
    session: SandboxSession, text: str, program: Program, samples: Mapping[str, Any], redaction: Redaction
) -> tuple[CheckOutcome, ...]:
    """Compare the answers for whole tables with those for their pieces, for each output that is a table.

    The model will see the messages; `redaction` decides what they may contain.

    Args:
        session: where the function runs.
        text: the demanded split; "" for none.
        program: the function.
        samples: its inputs.
        redaction: of the messages.
    """
    if not text:
        return ()
    demanded = declared(text, program.inputs, samples)
    name = f"{demanded.input} may be split: {demanded.words}"
    outputs = [spec.name for spec in program.outputs if spec.type == "DataFrame"]
    if not outputs or len(outputs) < len(program.outputs):
        told = "only tables can be put together from pieces, and it returns something else"
        return (CheckOutcome(name=name, passed=False, message=told),)

    def work(worker: Worker) -> list[Split]:
        side = Side("the function", worker, program)
        return [
            SplitCheck(side.running, program, output, dict(samples), demanded.input).run(demanded) for output in outputs
        ]

    found = await session.work(work)
    against = next((split for split in found if split.kind == "whole"), None)
    if against is None:
        order = "counts" if any(split.ordered for split in found) else "does not count"
        message = f"{sum(split.comparisons for split in found)} comparisons; the order of rows {order}"
        return (CheckOutcome(name=name, passed=True, message=message),)
    told = redaction.words(against.counterexample, _TOLD)
    return (CheckOutcome(name=name, passed=False, message=told or "pieces give another answer than the whole"),)
