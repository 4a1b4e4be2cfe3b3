"""Whether the conclusion of a function is stable on the data of a call."""

from __future__ import annotations

from dataclasses import replace

from autocoder_jupyter.calls.call import WorkerTask, in_turn, program_of
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.row_counts import AnsweredCall
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.sandbox.protocol import Worker
from autocoder_jupyter.types import Conclusion, Stability
from autocoder_jupyter.untrusted.visible import visible

SECONDS = 60.0
"""Processor time."""


def conclusion_of(function: Function, planned: Conclusion | None, text: str) -> Conclusion:
    """The conclusion that a user writes, or that the plan names.

    Raises:
        InvalidRequest: the text is none, or there is neither.
    """
    name, outputs = visible(function.name), function.outputs
    if text:
        return Conclusion.read(text, outputs)
    if planned is None or planned.output not in {spec.name for spec in outputs}:
        raise InvalidRequest(
            f"The plan of {name} names no conclusion, such as a verdict or an effect.",
            hint=f'Name it: {name}.stability(conclusion="{visible(outputs[0].name)}, outcome COLUMN, groups COLUMN").',
        )
    return planned


async def stability_of(answered: AnsweredCall, conclusion: Conclusion) -> Stability:
    """Whether the conclusion of a call is stable.

    Raises:
        SandboxError: the sandbox failed.
    """
    from autocoder_jupyter.engine.evidence.solution_worker import SolutionWorker
    from autocoder_jupyter.engine.evidence.stability import stability
    from autocoder_jupyter.engine.evidence.time_limit import TimeLimit

    function, options = answered.function, answered.options
    program = program_of(function, options)

    def work(worker: Worker) -> Stability:
        side = SolutionWorker("the function", worker, program)
        return stability(side, conclusion, answered.arguments, TimeLimit(SECONDS), str)

    task = WorkerTask(function, replace(options, retries=0), work)
    return await in_turn(f"{function.name}.stability", task, options, task.done)
