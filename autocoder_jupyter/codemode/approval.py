"""Asks the user before a tool marked with `ask` is called. Decisions for the session are kept."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import InvalidRequest

Decision = Literal["allow", "always", "deny", "never"]
"""Allow this call, allow all calls of the tool in this session, deny this call, deny all calls of the tool."""


@dataclass(frozen=True)
class ApprovalRequest:
    """A question to the user.

    Args:
        call: the id of the call in the events.
        tool: the name of the tool.
        arguments: by name, as the tool will get them; frames are DataFrames.
        argument: the arguments in one short line, secrets masked.
        line: the line of the block of code that calls it.
        recorded: whether the code comes from a record, not from the model in this session.
    """

    call: str
    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    argument: str
    line: int
    recorded: bool = False


Approve = Callable[[ApprovalRequest], "Awaitable[Decision] | Decision"]
"""A function that asks the user, async or blocking. A blocking one is called in its own thread."""


class Consent:
    """Asks the user and keeps the decisions of this session. One question at a time.

    Args:
        approve: asks the user; None if there is no user to ask, and then every call is denied.
    """

    def __init__(self, approve: Approve | None) -> None:
        self._approve = approve
        self._decided: dict[str, bool] = {}
        self._locks: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}

    @property
    def can_ask(self) -> bool:
        """Whether there is a user to ask."""
        return self._approve is not None

    def known(self, tool: str) -> bool | None:
        """The decision for all calls of a tool; None if there is none."""
        return self._decided.get(tool)

    async def ask(self, request: ApprovalRequest) -> bool:
        """Whether the call is allowed.

        Raises:
            InvalidRequest: `approve` did not return a `Decision`.
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
