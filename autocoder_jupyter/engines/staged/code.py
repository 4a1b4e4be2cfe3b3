"""The code: one module with one function, written from the plan."""

from __future__ import annotations

from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.prompt import (
    FUNCTION,
    approach_text,
    code_rules,
    extended,
    interface_problem,
    without_entry,
)
from autocoder_jupyter.engine.repair import Brief
from autocoder_jupyter.errors import UnusableAnswer

_ROLE = "You write one module that answers the request, as an expert in Python and pandas."

_WHOLE = "Answer with the whole module in one ```python block, and nothing else: no tests, no example of a call."

_ESCALATIONS = (
    "",
    "The module above does not have the interface that was fixed: {problem}. Write the whole module again with exactly "
    "that interface.",
    "This is the last try. Your module was refused twice because {problem}. The `def` line under <interface> is not "
    "negotiable: copy it as it stands and write the whole module around it.",
)
"""The text that is added on each try, more forceful each time, as in the reference."""


def code_messages(brief: Brief, system_prompt: str | None) -> Messages:
    """The question for the module."""
    role = "You write one module that answers the request." if system_prompt else _ROLE
    return brief.question(
        approach_text(brief.plan),
        code_rules(brief.plan),
        system_prompt or "",
        f"{role} {_WHOLE}",
    )


async def write_code(talk: Conversation, brief: Brief, system_prompt: str | None, also: str = "") -> str:
    """Ask for the module until it has the planned interface.

    Args:
        talk: the conversation with the model.
        brief: the request, the plan and the data context.
        system_prompt: replaces the default instructions.
        also: text for the end of the question.

    Raises:
        UnusableAnswer: no answer has the planned interface.
    """
    messages = extended(code_messages(brief, system_prompt), also)
    problem = ""
    for insistence in _ESCALATIONS:
        if insistence:
            messages = (*messages, {"role": "user", "content": insistence.format(problem=problem)})
        code = without_entry(await talk.code("code", messages, must_define=FUNCTION))
        problem = interface_problem(code, brief.plan)
        if not problem:
            return code
        messages = (*messages, {"role": "assistant", "content": f"```python\n{code}\n```"})
    raise UnusableAnswer(f"The model does not keep to the interface of the plan: {problem}.", hint="Try another model.")
