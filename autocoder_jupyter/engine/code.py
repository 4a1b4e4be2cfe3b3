"""The code: one module with one function, written from the plan."""

from __future__ import annotations

from autocoder_jupyter.engine.brief import DATA_RULE, extended, plan_text, request_text
from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.entry import without_entry
from autocoder_jupyter.engine.interface import FUNCTION, interface_problem
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan

_ROLE = "You are an expert in Python and pandas. You write one module that answers a data scientist's request."

CODE_RULES = f"""\
{DATA_RULE}

The module:
- defines the function `run` exactly as under <interface>: same parameter names, same order of outputs; one output is
  returned bare, several as a tuple. Helper functions are fine. No code runs on import but imports and constants.
- works on any input of the same columns and dtypes, never only on the data shown: no value of it is hard-coded, empty
  frames and missing values are handled as the assumptions say.
- does not change its inputs, prints nothing, opens no network connection, and gives the same result every time.
- returns the exact types: a DataFrame with a plain RangeIndex and the columns, dtypes and order of the plan; Python
  scalars rather than numpy's (`int(x)`, `float(x)`, `str(x)`, `bool(x)`).
- File and Dir are pathlib.Path: inputs are read-only copies, outputs are written to the current folder and their path
  returned. A Figure is drawn with matplotlib's `Figure` and returned, not shown and not saved.
- imports what it uses at the top; packages with compiled wheels only.
- raises ValueError with a clear sentence where the request cannot be met, and never hides an error.

Answer with the whole module in one ```python block, and nothing else."""

_INSISTENCE = (
    "",
    "The module above does not have the interface that was fixed: {problem}. Write the whole module again with exactly "
    "that interface.",
    "This is the last try. Your module was refused twice because {problem}. The `def` line under <interface> is not "
    "negotiable: copy it as it stands and write the whole module around it.",
)
"""What is added on each try; it grows more forceful, as the reference does it."""


def code_messages(request: Request, plan: CodePlan, data_context: str, system_prompt: str | None) -> Messages:
    """The question for the module."""
    return (
        {"role": "system", "content": f"{system_prompt or _ROLE}\n\n{CODE_RULES}"},
        {
            "role": "user",
            "content": f"{request_text(request, data_context)}\n\n{plan_text(plan)}\n\nApproach: {plan.approach}\n\n"
            "Write the module.",
        },
    )


async def write_code(
    talk: Conversation, request: Request, plan: CodePlan, data_context: str, system_prompt: str | None, also: str = ""
) -> str:
    """Ask for the module until it has the planned interface.

    Args:
        talk: with the model.
        request: what was asked.
        plan: the fixed interface.
        data_context: what is told about the data.
        system_prompt: takes the place of our own instructions.
        also: said at the end of the question.

    Raises:
        UnusableAnswer: it never got it.
    """
    messages = extended(code_messages(request, plan, data_context, system_prompt), also)
    problem = ""
    for insistence in _INSISTENCE:
        if insistence:
            messages = (*messages, {"role": "user", "content": insistence.format(problem=problem)})
        code = without_entry(await talk.code("code", messages, must_define=FUNCTION))
        problem = interface_problem(code, plan)
        if not problem:
            return code
        messages = (*messages, {"role": "assistant", "content": f"```python\n{code}\n```"})
    raise UnusableAnswer(f"The model does not keep to the interface of the plan: {problem}.", hint="Try another model.")
