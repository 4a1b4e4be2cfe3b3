"""Asks the user before a tool marked with `ask` is called. Decisions for the session are kept.

The user decides about the complete arguments: each is shown in full, or with its length and hash where it is cut.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from autocoder_jupyter.codemode.crossing import is_frame
from autocoder_jupyter.codemode.shown import bounded
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import InvalidRequest, UnsupportedData
from autocoder_jupyter.run.events import LINE_CHARACTERS, ShownArgument
from autocoder_jupyter.untrusted.parsing import visible_block
from autocoder_jupyter.untrusted.plain_json import shortened

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
        recorded: whether the code, or the conversation before it, comes from a record.
    """

    call: str
    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    argument: str
    line: int
    recorded: bool = False


BOX_CHARACTERS = 50_000
"""The maximum number of characters of all arguments of a call in a box with a scroll bar."""

TABLE_ROWS = 100
"""The maximum number of rows of a table in a box."""


def shown_arguments(arguments: Mapping[str, Any]) -> tuple[ShownArgument, ...]:
    """The arguments of a call as the user sees them. It takes long for large values."""
    most = max(BOX_CHARACTERS // max(len(arguments), 1), 2 * LINE_CHARACTERS)
    return tuple(_shown_argument(name, value, most) for name, value in arguments.items())


def _shown_argument(name: str, value: Any, most: int) -> ShownArgument:
    text, size = _table_text(value) if is_frame(value) else (_text(value), "")
    text = visible_block(text)
    whole = _table_bytes(value) if is_frame(value) else text.encode("utf-8", "backslashreplace")
    size = size or f"{len(text):,} characters"
    return ShownArgument(name, bounded(text, most), size, hashlib.sha256(whole).hexdigest()[:16])


def _text(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # an integer with too many digits
        return repr(shortened(value))


def _table_text(table: Any) -> tuple[str, str]:
    frame = table.to_frame() if table.ndim == 1 else table
    size = f"{len(frame):,} rows × {frame.shape[1]:,} columns"
    return frame.to_string(max_rows=TABLE_ROWS, max_cols=100, max_colwidth=200), size


def _table_bytes(table: Any) -> bytes:
    """Bytes that differ if the content of a table differs."""
    from autocoder_jupyter import codec

    try:
        return codec.encode(table, type(table).__name__).digest().encode()
    except UnsupportedData:
        return str((table.to_frame() if table.ndim == 1 else table).to_csv()).encode("utf-8", "backslashreplace")


class NobodyToAsk(Exception):
    """The user cannot be asked after all, for example at the end of input. This is no decision."""


Approve = Callable[[ApprovalRequest], "Awaitable[Decision] | Decision"]
"""A function that asks the user, async or blocking. A blocking one is called in its own thread."""


class Consent:
    """Asks the user and keeps the decisions of this session. One question at a time.

    Args:
        approve: asks the user; None if there is no user to ask. It may raise `NobodyToAsk`.
    """

    def __init__(self, approve: Approve | None) -> None:
        self._approve = approve
        self._decided: dict[str, bool] = {}
        self._locks: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}

    def known(self, tool: str) -> bool | None:
        """The decision for all calls of a tool; None if there is none."""
        return self._decided.get(tool)

    async def ask(self, request: ApprovalRequest) -> bool:
        """Whether the call is allowed.

        Raises:
            InvalidRequest: `approve` did not return a `Decision`.
            NobodyToAsk: there is no decision, and nobody who could make one.
        """
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if (known := self.known(request.tool)) is not None:
                return known
            if self._approve is None:
                raise NobodyToAsk
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
