"""What every stage after the plan gets: the request, the plan, and the description of the data."""

from __future__ import annotations

from dataclasses import dataclass

from autocoder_jupyter.engine.conversation import Messages
from autocoder_jupyter.engine.prompt import plan_text, question
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan


@dataclass(frozen=True)
class Brief:
    """The request with its plan.

    Args:
        request: the request, with the user's answers to the questions of the plan.
        plan: the fixed interface and the assumptions.
        context: the text about the data and the environment.
    """

    request: Request
    plan: CodePlan
    context: str

    def question(self, *parts: str) -> Messages:
        """The messages of a question: the shared beginning, the plan, then these parts. Empty parts are left out."""
        return question(self.request, self.context, plan_text(self.plan), *parts)
