"""What every stage after the plan is told: the request, the plan, and the description of the data."""

from __future__ import annotations

from dataclasses import dataclass

from autocoder_jupyter.engine.conversation import Messages
from autocoder_jupyter.engine.prompt import plan_text, question
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan


@dataclass(frozen=True)
class Brief:
    """The request, with the plan that says how it is read.

    Args:
        request: what was asked, with the person's answers to the questions of the plan.
        plan: the fixed interface and the assumptions.
        context: what is told about the data and the environment.
    """

    request: Request
    plan: CodePlan
    context: str

    def question(self, *parts: str) -> Messages:
        """The messages of a question: the shared beginning, the plan, then these parts; "" is left out."""
        return question(self.request, self.context, plan_text(self.plan), *parts)
