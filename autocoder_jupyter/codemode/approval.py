"""Asking the user before a tool marked with `ask` is called; what they decide for the session is remembered."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import InvalidRequest

Decision = Literal["allow", "always", "deny", "never"]
"""This call, every call of that tool in this session, not this call, no call of that tool in this session."""


@dataclass(frozen=True)
class ApprovalRequest:
    """What the user is asked.

    Args:
        call: names the call in the events.
        tool: its name.
        arguments: by name, as the tool will get them; frames are DataFrames.
        argument: the same in one short line, secrets masked.
        line: the line of the block of code that calls it.
        recorded: whether the code comes from a record and not from the model in this session.
    """

    call: str
    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    argument: str
    line: int
    recorded: bool = False


Approve = Callable[[ApprovalRequest], "Awaitable[Decision] | Decision"]
"""Asks the user, async or blocking; a blocking one is called in a thread of its own."""


class Consent:
    """What the user decided in this session. One question at a time.

    Args:
        approve: asks the user; None if no user can be asked, and then nothing is allowed.
    """

    def __init__(self, approve: Approve | None) -> None:
        self._approve = approve
        self._decided: dict[str, bool] = {}
        self._locks: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}

    @property
    def can_ask(self) -> bool:
        """Whether there is somebody to ask."""
        return self._approve is not None

    def known(self, tool: str) -> bool | None:
        """What was decided for all calls of a tool; None when nothing was."""
        return self._decided.get(tool)

    async def ask(self, request: ApprovalRequest) -> bool:
        """Whether the call is allowed.

        Raises:
            InvalidRequest: `approve` answered something else than a `Decision`.
        """
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if (known := self.known(request.tool)) is not None:
                return known
            if self._approve is None:
                return False
            decision = await self._asked(self._approve, request)
            if decision not in get_args(Decision):
                allowed = ", ".join(map(repr, get_args(Decision)))
                raise InvalidRequest(f"approve must answer one of {allowed}, not {decision!r}.")
            if decision in ("always", "never"):
                self._decided[request.tool] = decision == "always"
            return decision in ("allow", "always")

    @staticmethod
    async def _asked(approve: Approve, request: ApprovalRequest) -> Any:
        if inspect.iscoroutinefunction(approve):
            return await approve(request)
        answer = await background.call_blocking(lambda: approve(request))
        return await answer if inspect.isawaitable(answer) else answer
