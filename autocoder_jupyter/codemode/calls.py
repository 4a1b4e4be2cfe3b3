"""Calls of tools: counted, looked up in the record, approved by the user, made, emitted and recorded."""

from __future__ import annotations

import asyncio
import builtins
import concurrent.futures
import contextvars
import hashlib
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from autocoder_jupyter.codemode.journal import ConversationJournal, RecordedOutcome, call_key
from autocoder_jupyter.codemode.tables import key_form
from autocoder_jupyter.codemode.tools import Tool
from autocoder_jupyter.codemode.values import Crossing, Shown, bounded, encode, is_frame
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import AutocodeError, ContractBroken, InvalidRequest, UnsupportedData
from autocoder_jupyter.run.events import (
    LINE_CHARACTERS,
    CallAllowed,
    CallWaits,
    Emit,
    FunctionCalled,
    ShownArgument,
    ToolEnded,
)
from autocoder_jupyter.types import ToolOutcome
from autocoder_jupyter.untrusted.plain_json import shortened
from autocoder_jupyter.untrusted.visible import visible_block

# Approval
#
# The user decides about the complete arguments: each is shown in full, or with its length and hash where it is cut.

Decision = Literal["allow", "always", "deny", "never"]
"""Allow this call, allow all calls of the tool in this session, deny this call, deny all calls of the tool."""


@dataclass(frozen=True)
class ApprovalRequest:
    """A question to the user.

    Args:
        call: the id of the call in the events.
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


class NoUserToAsk(Exception):
    """The user cannot be asked after all, for example at the end of input. This is not a decision."""


Approve = Callable[[ApprovalRequest], "Awaitable[Decision] | Decision"]
"""A function that asks the user, async or blocking. A blocking one is called in its own thread."""


class Consent:
    """Asks the user and keeps the decisions of this session. One question at a time.

    Args:
        approve: asks the user; None if there is no user to ask. It may raise `NoUserToAsk`.
    """

    def __init__(self, approve: Approve | None) -> None:
        self._approve = approve
        self._decided: dict[str, bool] = {}
        self._locks: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}

    def known(self, tool: str) -> bool | None:
        """The decision for all calls of a tool; None if there is none."""
        return self._decided.get(tool)

    async def ask(self, request: ApprovalRequest) -> bool:
        """Whether the call is allowed."""
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if (known := self.known(request.tool)) is not None:
                return known
            if self._approve is None:
                raise NoUserToAsk
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


# Calls

SEEN_TYPES = frozenset(
    (
        *("Exception", "ArithmeticError", "AssertionError", "AttributeError", "FileExistsError", "FileNotFoundError"),
        *("ImportError", "IndexError", "IsADirectoryError", "KeyError", "LookupError", "MemoryError", "NameError"),
        *("ModuleNotFoundError", "NotADirectoryError", "NotImplementedError", "OSError", "OverflowError"),
        *("PermissionError", "RecursionError", "RuntimeError", "StopIteration", "SyntaxError", "TimeoutError"),
        *("TypeError", "UnicodeDecodeError", "UnicodeEncodeError", "ValueError", "ZeroDivisionError"),
    )
)
"""Names of the exceptions that the sandbox has. Others become their nearest base class."""

IN_THREAD = "to_thread"
"""The function with which the program calls plain tools concurrently."""


class ToolFailed(Exception):
    """A call raises an exception in the program.

    Args:
        kind: name of the built-in exception type that the program sees.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Denied(ToolFailed):
    """A call was not made, because there was no user to ask."""


@dataclass
class BlockScope:
    """The block of code whose calls are served.

    Args:
        key: identifies the block and all messages before it.
        recorded: whether the code comes from a record, not from the model in this session.
        restoring: whether the block ran before, and is run again only to define its variables.
    """

    turn: int
    key: str
    recorded: bool = False
    restoring: bool = False
    _counts: dict[str, int] = field(default_factory=dict)

    def call_key(self, tool: str, arguments: Any) -> str:
        """The key of a call. Repeated equal calls get different keys."""
        first = call_key(self.key, tool, arguments, 0)
        number = self._counts.get(first, 0)
        self._counts[first] = number + 1
        return first if number == 0 else call_key(self.key, tool, arguments, number)


@dataclass(frozen=True)
class _Call:
    """One call that has begun; `number` counts the calls of a run, None for one that only restores what was defined."""

    name: str
    tool: Tool
    arguments: inspect.BoundArguments
    argument: str
    key: str
    line: int
    scope: BlockScope
    number: int | None

    @property
    def depends_on_data(self) -> bool:
        """Whether the answer can change with the notebook's data. Then the recorded outcome is not used."""
        given = (*self.arguments.args, *self.arguments.kwargs.values())
        return self.tool.kind == "generated" or any(map(is_frame, given))


class ToolCalls:
    """The `InterpreterHost` of the programs of one run.

    Args:
        most: the maximum number of calls in the run.
        loop: the event loop on which calls are made; `call` is called from another thread.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        crossing: Crossing,
        journal: ConversationJournal,
        consent: Consent,
        emit: Emit,
        shown: Shown,
        most: int,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._tools = tools
        self._crossing = crossing
        self._journal = journal
        self._consent = consent
        self._emit = emit
        self._shown = shown
        self._most = most
        self._loop = loop
        self._context = contextvars.copy_context()  # the caller's context variables, for the tools
        self._open: set[concurrent.futures.Future[Any]] = set()
        self.scope = BlockScope(0, "")
        self.is_from_record = False
        """Whether the conversation, or a part of it, comes from a record, and so perhaps from somebody else."""
        self._count = 0
        self._is_cancelled = False

    @property
    def names(self) -> Mapping[str, bool]:
        """The functions that the program may call, and whether each is awaited."""
        return {IN_THREAD: True, **{name: tool.is_awaited for name, tool in self._tools.items()}}

    def call(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], line: int
    ) -> concurrent.futures.Future[Any]:
        """Start a call. See `interpreter.InterpreterHost`."""
        try:
            begun = self._begun(name, args, kwargs, line)
        except (AutocodeError, TypeError) as error:
            failed: concurrent.futures.Future[Any] = concurrent.futures.Future()
            failed.set_exception(ToolFailed(*_builtin_error(error)))
            return failed
        future = self._context.run(asyncio.run_coroutine_threadsafe, self._served(begun), self._loop)
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        return future

    def cancel(self) -> None:
        """Cancel the calls under way. No other one begins."""
        self._is_cancelled = True
        for future in list(self._open):
            future.cancel()

    def _begun(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], line: int) -> _Call:
        """Make the call with its arguments as the tool gets them, and emit it first."""
        if name == IN_THREAD:
            name, args = self._handed_over(args)
        tool, scope = self._tools[name], self.scope
        given = self._crossing.outward([list(args), kwargs], name)
        try:
            arguments = tool.signature.bind(*given[0], **given[1])
        except TypeError as error:
            raise TypeError(f"{name}(): {error}") from None
        key = scope.call_key(name, encode([list(args), kwargs], key_form))
        call = _Call("", tool, arguments, self._shown.arguments(arguments), key, line, scope, None)
        return call if scope.restoring else self._listed(call)

    def _listed(self, call: _Call) -> _Call:
        """The call with its number. It is emitted."""
        tool, scope = call.tool, call.scope
        self._count += 1
        call = replace(call, name=f"call-{self._count}", number=self._count)
        self._emit(FunctionCalled(call.name, scope.turn, tool.name, call.argument, call.line, tool.ask, tool.effects))
        return call

    def _handed_over(self, args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        """The tool and the arguments that were given to `to_thread`."""
        name = args[0] if args else None
        if not isinstance(name, str) or name not in self._tools:
            raise TypeError("to_thread takes a tool and its arguments; other functions are just called")
        if self._tools[name].is_awaited:
            raise TypeError(f"{name} is async: await it as it is, without to_thread")
        return name, args[1:]

    async def _served(self, call: _Call) -> Any:
        """Make the call, or take its recorded outcome. Returns the value for the sandbox."""
        if self._is_cancelled:  # its arguments were read meanwhile, on another thread
            raise asyncio.CancelledError
        recorded = self._journal.outcome(call.key, restoring=call.scope.restoring)
        started = time.monotonic()
        outcome: RecordedOutcome | None = None
        try:
            if recorded is not None and self._holds(recorded, call):
                outcome = recorded if recorded.known else _uncertain(call.tool.name)
            else:
                _require_no_effect_of_restoring(call)
                call = call if call.number is not None else self._listed(call)
                outcome = await self._made(call)
            given = outcome
            # Converting a large value takes long and must not block the loop.
            return await background.call_blocking(lambda: self._taken(given, call))
        except ToolFailed as error:
            if outcome is None or outcome.error is None:
                outcome = RecordedOutcome(error=(error.kind, str(error)), denied=isinstance(error, _Denied))
            raise
        except Exception as error:  # the user's `approve` may raise any error
            outcome = RecordedOutcome(error=_builtin_error(error))
            raise ToolFailed(*_builtin_error(error)) from error
        finally:
            replayed = outcome is not None and outcome is recorded
            self._ended(call, outcome, 0.0 if replayed else time.monotonic() - started, replayed=replayed)

    @staticmethod
    def _holds(recorded: RecordedOutcome, call: _Call) -> bool:
        """Whether the recorded outcome is used, so that the call is not made. A call with effects is never repeated."""
        if call.tool.effects:
            return True
        return recorded.known and (call.scope.restoring or not call.depends_on_data)

    def _taken(self, outcome: RecordedOutcome, call: _Call) -> Any:
        """The outcome for the program: its value, or its error raised."""
        if outcome.error is not None:
            raise ToolFailed(*outcome.error)
        try:
            return self._crossing.inward(outcome.value, call.tool.name, call.key)
        except AutocodeError as error:
            raise ToolFailed(*_builtin_error(error)) from None

    async def _made(self, call: _Call) -> RecordedOutcome:
        """Make the call and record its outcome."""
        if call.number is not None and call.number > self._most:
            raise ToolFailed(
                "RuntimeError", f"the run has made its {self._most} calls of tools; no further one is made"
            )
        if await self._is_allowed(call):
            if call.tool.effects:
                await self._begin(call)
            outcome = await self._answer(call)
        else:
            message = f"{call.tool.name} was not called: the person did not allow it."
            outcome = RecordedOutcome(error=("PermissionError", message), denied=True)
        return await background.call_blocking(lambda: self._recorded(outcome, call))

    async def _is_allowed(self, call: _Call) -> bool:
        """Whether the user allows the call, or need not be asked.

        A record is untrusted. If its code calls a tool with effects, the call needs approval, even if the tool is not
        marked with `ask`. So does a call of new code, if the conversation comes from a record: its code may have
        changed what the new code does, and its messages what the model writes.
        """
        from_record = call.scope.recorded or self.is_from_record
        if not call.tool.ask and not (from_record and call.tool.effects):
            return True
        name = call.tool.name
        request = ApprovalRequest(
            call.name, name, dict(call.arguments.arguments), call.argument, call.line, recorded=from_record
        )
        self._emit(CallWaits(call.name, name, call.argument, recorded=from_record))
        try:
            allowed = await self._consent.ask(request)
        except NoUserToAsk:
            why = (
                "it needs a person's consent"
                if call.tool.ask
                else "the code comes from a record"
                if call.scope.recorded
                else "the conversation comes from a record"
            )
            raise _Denied("PermissionError", f"{name} was not called: {why}, and there is nobody to ask.") from None
        self._emit(CallAllowed(call.name, allowed))
        return allowed

    async def _begin(self, call: _Call) -> None:
        """Record that a call with effects begins."""
        try:
            await background.call_blocking(lambda: self._journal.add_begun(call.key))
        except AutocodeError as error:
            why = " ".join(filter(None, (error.what, error.why)))
            raise ToolFailed(
                "OSError",
                f"{call.tool.name} was not called. It has effects, and it could not be recorded that it begins: {why}",
            ) from error

    async def _answer(self, call: _Call) -> RecordedOutcome:
        try:
            return RecordedOutcome(value=await call.tool.answer(call.arguments))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            return RecordedOutcome(error=_builtin_error(error))

    def _recorded(self, outcome: RecordedOutcome, call: _Call) -> RecordedOutcome:
        """The outcome in recordable form: pandas and numpy scalars as Python values; a value that cannot cross is an
        error.
        """
        try:
            outcome = replace(outcome, value=self._crossing.plain(outcome.value, call.tool.name))
        except AutocodeError as error:
            outcome = RecordedOutcome(error=_builtin_error(error))
        self._journal.add_outcome(call.key, call.tool.name, outcome)
        return outcome

    def _ended(self, call: _Call, outcome: RecordedOutcome | None, seconds: float, *, replayed: bool) -> None:
        if call.number is None:
            return
        ended: ToolOutcome = "cancelled"
        observed = ""
        if outcome is not None and outcome.error is not None:
            ended, observed = _kind_of(outcome), self._shown.text(": ".join(outcome.error))
        elif outcome is not None:
            ended, observed = "ok", self._shown.value(outcome.value)
        self._emit(ToolEnded(call.name, ended, observed, seconds, replayed))


def _require_no_effect_of_restoring(call: _Call) -> None:
    """Check that a call may be made, if it only restores the state of a conversation."""
    if call.scope.restoring and (call.tool.effects or call.tool.ask):
        raise ToolFailed(
            "RuntimeError",
            f"what {call.tool.name} gave is not on record, and it is not called to bring back what was defined",
        )


def _uncertain(tool: str) -> RecordedOutcome:
    """The outcome of a call with effects that was begun, by this run or an earlier one, and whose end is unknown."""
    message = (
        f"it is uncertain whether {tool} did what it does: it was begun with these arguments before, and what it gave "
        "is not on record. It has effects, so it is not called a second time."
    )
    return RecordedOutcome(error=("RuntimeError", message), known=False)


def _kind_of(outcome: RecordedOutcome) -> ToolOutcome:
    """How a call ended that raises an exception in the program."""
    return "uncertain" if not outcome.known else "denied" if outcome.denied else "failed"


def _builtin_error(error: Exception) -> tuple[str, str]:
    """The nearest built-in type of an exception, and its message, which names the original type if it differs."""
    if isinstance(error, ContractBroken):  # its message quotes rows
        return "ValueError", " ".join(error.without_values.split("\n"))
    if isinstance(error, AutocodeError):
        return "ValueError", " ".join(str(error).split("\n"))
    kind = next(
        base.__name__
        for base in type(error).__mro__
        if base.__name__ in SEEN_TYPES and getattr(builtins, base.__name__) is base
    )
    message = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    return kind, message if type(error).__name__ == kind else f"{type(error).__name__}: {message}"
