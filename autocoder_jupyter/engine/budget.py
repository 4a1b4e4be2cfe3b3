"""What a generation may spend: tokens, money, seconds."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from autocoder_jupyter.errors import BudgetSpent
from autocoder_jupyter.types import Usage


@dataclass
class Budget:
    """Limits, and what is used of them so far. None is no limit.

    Args:
        tokens: in and out together.
        cost: US dollars.
        seconds: wall clock since the budget was made.
    """

    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    used: Usage = Usage()
    started: float = field(default_factory=time.monotonic)

    def spend(self, usage: Usage) -> None:
        """Count one exchange."""
        self.used = self.used + usage

    @property
    def seconds_left(self) -> float | None:
        """Wall-clock seconds left, never below zero; None without a limit. The loop keeps it, as one deadline."""
        if self.seconds is None:
            return None
        return max(0.0, self.seconds - (time.monotonic() - self.started))

    def require(self) -> None:
        """Raise when nothing is left for another question.

        Raises:
            BudgetSpent: a limit is reached, or money is limited and nobody counted what an answer cost.
        """
        tokens = self.used.input_tokens + self.used.output_tokens
        if self.tokens is not None and tokens >= self.tokens:
            raise BudgetSpent(
                f"The budget of {self.tokens} tokens is spent ({tokens} used).",
                hint="Raise max_tokens and run the cell again; the answers so far are replayed at no cost.",
            )
        if self.cost is not None and self.used.cost is None:
            raise BudgetSpent(
                "The cost so far is unknown, so the limit in dollars cannot be kept.",
                why="The price of the model is not known, or its service does not say how many tokens it counted.",
                hint="Limit tokens instead (max_tokens), or take another model.",
            )
        if self.cost is not None and self.used.cost is not None and self.used.cost >= self.cost:
            raise BudgetSpent(
                f"The budget of ${self.cost:g} is spent (${self.used.cost:.4f} used).",
                hint="Raise max_cost and run the cell again; the answers so far are replayed at no cost.",
            )
