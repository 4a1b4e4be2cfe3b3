"""The plan: it fixes the interface and names the assumptions, before code and tests are written concurrently."""

from __future__ import annotations

import re
from collections.abc import Callable

from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.earlier import plan_addition
from autocoder_jupyter.engine.plan_answer import PlanAnswer, merge
from autocoder_jupyter.engine.prompt import extended, question, request_text
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan, InputSpec

_INSTRUCTIONS = """\
You plan one Python function, `run`, and write no code. Its code and its tests are written apart from each other, from
your plan and the rules above: leave nothing to guess that both need to know. Decide:
- outputs: the name, type and exact meaning of each (unit, order, what is counted; of a list of fixed length what stands
  at each place; of an int that is no count what stands for nothing). Of a DataFrame also how its rows are sorted, and
  its columns in order, each with dtype (int64, float64, str, bool, datetime64[us], category) and meaning; none where
  they depend on the data. Declared outputs stay; else propose the fewest that answer the request.
- parameters: usually none. Only a number or word of the request that a person will want to vary, as a single value,
  with that of the request as default; meanings then write its name, not its value. None for what an output's name says
  (`orders_in_2019`). The inputs above are given already.
- assumptions: how you read what a reader could take otherwise: which date counts; duplicates, unmatched keys; which
  standard deviation; whether bounds are included; time zones; where the data win over the request; what holds where a
  rule above is not meant. Decide each, ask nothing, plan no error. Short sentences, the important ones first.
- approach: a few sentences, with the pandas operations that matter.
- holds: which of these `run` keeps on any data; each is tested, so leave out what is not certain:
  `order`: another order of the input's rows changes no value, also among ties.
  `twice`: each row of the largest input twice changes nothing, as for means, medians, shares and distinct values, but
  not for sums, counts or a deviation by n - 1.
  `rows`: the output is a table, and each row of it needs one row of the largest input alone.
  `groups:customer`: the output is a table, and each row of it needs the rows of one customer alone, where `customer` is
  a column of the largest input.
- packages beyond the standard library, pandas and numpy: well-known ones, by their names on the Python package index,
  and only when they earn it. System packages (apt) almost never.

Types: str, int, float, bool, datetime, date, timedelta, DataFrame, Series, list[str], dict[str, float] and the like
(JSON, with the type of what they hold), File and Dir (a pathlib.Path in `run`), Figure (of matplotlib)."""

_OTHER_FIGURES = "A Figure may be of plotly or altair too, where that is asked for; then it is among the packages."


def plan_messages(request: Request, inputs: tuple[InputSpec, ...], data_context: str) -> Messages:
    """The question for a plan. A preview shows it too, because every later question begins with the same text."""
    given = "\n".join(
        f"- {spec.name}: {spec.written_type}" + ("" if spec.required else f" = {spec.default!r}") for spec in inputs
    )
    declared = "\n".join(f"- {spec.name}: {spec.written_type}" for spec in request.outputs)
    messages = question(
        request,
        data_context,
        f"Inputs that are given:\n{given or '- none'}",
        f"Outputs that are declared:\n{declared or '- none: propose them'}",
        _INSTRUCTIONS,
        _OTHER_FIGURES if re.search("plotly|altair", request_text(request, ""), re.IGNORECASE) else "",
    )
    return extended(messages, plan_addition(request.earlier) if request.earlier else "")


def reading(request: Request, inputs: tuple[InputSpec, ...]) -> Callable[[PlanAnswer], CodePlan]:
    """A function that makes a plan from an answer and the user's declarations; it raises `Unreadable` if it cannot.

    In a refinement the plan may have more outputs than were declared, because the new wish may ask for them.

    Args:
        request: the request.
        inputs: all inputs of the function.
    """

    def read(answer: PlanAnswer) -> CodePlan:
        plan = merge(answer, inputs, request.outputs)
        if request.earlier is None or not request.outputs or not answer.outputs:
            return plan
        declared = {output.name for output in plan.outputs}
        further = tuple(output for output in merge(answer, inputs, ()).outputs if output.name not in declared)
        return plan.model_copy(update={"outputs": (*plan.outputs, *further)})

    return read


async def make_plan(talk: Conversation, request: Request, inputs: tuple[InputSpec, ...], data_context: str) -> CodePlan:
    """Ask for a plan until all of it can be read, and merge it with the user's declarations.

    Raises:
        UnusableAnswer: no answer could be read.
    """
    read = reading(request, inputs)
    return read(await talk.structured("plan", plan_messages(request, inputs, data_context), PlanAnswer, require=read))
