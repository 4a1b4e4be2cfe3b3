"""The plan: the interface is fixed and the assumptions are named, before code and tests are written side by side."""

from __future__ import annotations

from collections.abc import Callable

from autocoder_jupyter.engine.brief import DATA_RULE, extended, request_text
from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.plan_answer import PlanAnswer, merge
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan, InputSpec

_SYSTEM = f"""\
You are a careful data engineer. You plan one Python function, `run`, that answers a data scientist's request.
You write no code. Another engineer writes the function from your plan, and a third one, who never sees that code,
writes its tests from your plan. So the plan must leave nothing to guess that both need to know.

{DATA_RULE}

Decide:
- the outputs: for each its name, type and exact meaning (unit, rounding, order, what is counted); for a DataFrame its
  columns in order, each with its dtype as pandas writes it (int64, float64, str, bool, datetime64[us], category) and
  its meaning, and how rows are sorted. A frame must come back with exactly these columns and kinds of dtype; give no
  columns where they depend on the data. Keep declared outputs as they are. Where none are declared, propose the
  fewest that answer the request.
- parameters: optional scalars only, for a number or word in the request that a person will want to vary, each with
  the value of the request as its default. Usually none. Inputs that are declared or shown as data are given already.
- the assumptions: how you read what the request leaves open and a reader could take otherwise (which date counts,
  what becomes of nulls, duplicates, ties, unmatched keys and empty input, which standard deviation, inclusive or
  exclusive bounds, time zones, rounding). Decide each; ask nothing. Short sentences, the important ones first.
- the approach in a few sentences, with the pandas operations that matter.
- the packages beyond the standard library, as named on the Python package index; pandas and numpy need no mention.
  Take well-known ones, and only when they earn it. System packages (apt) almost never.

Types: str, int, float, bool, datetime, date, timedelta, DataFrame, Series, dict, list (JSON-like), File and Dir (the
function sees and returns pathlib.Path), Figure (a matplotlib Figure)."""


def plan_messages(request: Request, inputs: tuple[InputSpec, ...], data_context: str) -> Messages:
    """The question for a plan: also what a preview shows, since every later question begins with the same text."""
    given = "\n".join(
        f"- {spec.name}: {spec.type}" + ("" if spec.required else f" = {spec.default!r}") for spec in inputs
    )
    declared = "\n".join(f"- {spec.name}: {spec.type}" for spec in request.outputs)
    return (
        {"role": "system", "content": _SYSTEM},
        {
            "role": "user",
            "content": f"{request_text(request, data_context)}\n\nInputs that are given:\n{given or '- none'}\n\n"
            f"Outputs that are declared:\n{declared or '- none: propose them'}\n\nPlan the function.",
        },
    )


def reading(
    request: Request, inputs: tuple[InputSpec, ...], *, open_ended: bool = False
) -> Callable[[PlanAnswer], CodePlan]:
    """How an answer becomes a plan, in line with what the person declared; raises `Unreadable` where it cannot.

    Args:
        request: what was asked.
        inputs: all that are given.
        open_ended: whether outputs that were not declared may come besides those that were.
    """

    def read(answer: PlanAnswer) -> CodePlan:
        plan = merge(answer, inputs, request.outputs)
        if not (open_ended and request.outputs and answer.outputs):
            return plan
        declared = {output.name for output in plan.outputs}
        further = tuple(output for output in merge(answer, inputs, ()).outputs if output.name not in declared)
        return plan.model_copy(update={"outputs": (*plan.outputs, *further)})

    return read


async def make_plan(
    talk: Conversation,
    request: Request,
    inputs: tuple[InputSpec, ...],
    data_context: str,
    *,
    also: str = "",
    open_ended: bool = False,
) -> CodePlan:
    """Ask for a plan until all of it can be understood, and bring it in line with what the person declared.

    Args:
        talk: with the model.
        request: what was asked.
        inputs: all that are given.
        data_context: what is told about the data.
        also: said at the end of the question.
        open_ended: whether outputs that were not declared may come besides those that were.

    Raises:
        UnusableAnswer: it never could.
    """
    read = reading(request, inputs, open_ended=open_ended)
    messages = extended(plan_messages(request, inputs, data_context), also)
    return read(await talk.structured("plan", messages, PlanAnswer, require=read))
