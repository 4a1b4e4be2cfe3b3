"""One run of code mode in the background: the conversation that it continues, its result, and its approvals."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from autocoder_jupyter.agent.rules import RuleFile
from autocoder_jupyter.codemode.agent import AgentResult
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import AutocodeError, Cancelled, InvalidRequest, WrittenLater
from autocoder_jupyter.jobs.job import BackgroundJob, UserQuestion
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.result.pending import Pending, PendingResult
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.events import CallWaits, EndState, Finished, Noticed
from autocoder_jupyter.run.tracker import RunTracker, write_log
from autocoder_jupyter.trust.formats import require_known, stamp
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.codemode.agent import CodeModeAgent
    from autocoder_jupyter.codemode.calls import ApprovalRequest, Approve, Decision
    from autocoder_jupyter.run.code_run import Block, ToolCall
    from autocoder_jupyter.run.events import ShownArgument
    from autocoder_jupyter.run.record import AsksFor
    from autocoder_jupyter.types import Usage


# The record of a conversation, in `.autocode/<name>/conversation.json`
#
# With it, a cell can continue the conversation after a restart. The file is untrusted: its size is limited, and nothing
# in it is run or looked up. It names the tools and frames of the conversation, so that an error can list those that a
# cell does not pass. The variables of the code are restored from the journal, which has its own checks.

FILE = "conversation.json"

MOST_MESSAGES = 2_000


@dataclass(frozen=True)
class CodeRecord:
    """One finished run.

    Args:
        conversation: the folder of its journal in `.autocode`, which is the name of its first cell.
        tools: the names that the code uses for its tools.
    """

    conversation: str
    message: str
    history: tuple[dict[str, str], ...]
    tools: tuple[str, ...]
    frames: tuple[str, ...]
    state: str
    summary: str

    def save(self, root: Path, name: str) -> None:
        """Write the record, unless the same is there, which another version of this package may have written.

        Raises:
            OSError: it cannot be written.
            WrittenLater: a record of a later version of this package is there.
        """
        if load_record(root, name) == self:
            return
        text = json.dumps(stamp() | asdict(self), indent=1, ensure_ascii=False)
        Folder(root.parent).write(f"{root.name}/{name}/{FILE}", text.encode("utf-8", "replace"))


def load_record(root: Path, name: str) -> CodeRecord | None:
    """The record of a name; None if there is none, or it cannot be read.

    Raises:
        WrittenLater: a later version of this package wrote it.
    """
    try:
        record = parse(Folder(root.parent).read_bytes(f"{root.name}/{name}/{FILE}"))
        require_known(record, name)
        return _checked(record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _checked(record: dict[str, Any]) -> CodeRecord:
    history, tools = record["history"], record["tools"]
    if len(history) > MOST_MESSAGES or not all(message["role"] in ("user", "assistant") for message in history):
        raise ValueError("the messages are invalid")
    return CodeRecord(
        conversation=_name(record["conversation"]),
        message=_text(record["message"]),
        history=tuple({"role": message["role"], "content": _text(message["content"])} for message in history),
        tools=tuple(map(_name, tools)),
        frames=tuple(map(_name, record["frames"])),
        state=_text(record["state"]),
        summary=_text(record["summary"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a string")
    return value


def _name(value: Any) -> str:
    if not _text(value).isidentifier():
        raise ValueError("expected an identifier")
    return str(value)


# The result: first pending, then the answer with value, charts and calls

LONGEST_SUMMARY = 160
"""The maximum number of characters of the summary in a `repr`."""


@dataclass(frozen=True)
class Answered:
    """How a run of code mode ended.

    Args:
        result: its result; of a run that raised an exception, little more than the reason.
        exception: the exception that it raised, if any.
        asks_for: what it asks for, if there is no answer.
    """

    state: EndState
    result: AgentResult
    exception: Exception | None = None
    asks_for: AsksFor = ""


class CodeModeResult(PendingResult[Answered]):
    """The answer to a cell, and the record of its code. The fields are those of `AgentResult`.

    `state`, `done` and `repr` never wait. `wait()` and `await` return the result when the run has ended, with or
    without success; they raise only the exception of the run itself (no key, cancelled). Every other field waits too,
    and can be read after any end.

    Args:
        root: the `.autocode` folder.
        asked: see `asked`.
    """

    __slots__ = ("_asked",)

    def __init__(
        self,
        name: str,
        pending: Pending[Answered],
        root: Path = Path(".autocode"),
        asked: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        super().__init__(name, pending, root)
        self._asked = asked

    @property
    def asked(self) -> Mapping[str, Any]:
        """The complete arguments of the call that waits for your consent, by name; empty if none waits. Never waits."""
        return self._asked()

    @property
    def result(self) -> AgentResult:
        """The complete result as one record. Waits, but does not raise the exception of the run."""
        return self._pending.wait().result

    # The fields

    @property
    def value(self) -> Any:
        """The value of the last good block of code; frames are DataFrames."""
        return self.result.value

    @property
    def summary(self) -> str:
        """The final answer as text; "" if there is none."""
        return self.result.summary

    @property
    def charts(self) -> tuple[str, ...]:
        """The charts of the code, as text. Show their HTML only if you trust the code."""
        return self.result.charts

    @property
    def code(self) -> str:
        """The last block of code that ran; `blocks` has all of them."""
        return self.result.code

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks of code, also the failed ones, with their output."""
        return self.result.blocks

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All tool calls, in the order in which they began."""
        return self.result.calls

    @property
    def output(self) -> str:
        """The output of the code."""
        return self.result.output

    @property
    def error(self) -> str | None:
        """Why there is no final answer; None if there is one."""
        return self.result.error

    @property
    def success(self) -> bool:
        """Whether there is a final answer."""
        return self.result.success

    @property
    def usage(self) -> Usage:
        """Tokens and US dollars."""
        return self.result.usage

    @property
    def attempts(self) -> int:
        """The number of blocks of code that were run."""
        return self.result.attempts

    @property
    def history(self) -> tuple[dict[str, str], ...]:
        """The complete conversation as messages; `--continue` continues it."""
        return self.result.history

    @property
    def run_id(self) -> str:
        """The id of the record of the run; "" if there is none."""
        return self.result.run_id

    def __repr__(self) -> str:
        if not self.done:
            return f"<autocode {self.name} {self.state}>"
        result = self.result
        text = " ".join((result.summary or result.error or "").split())
        short = text if len(text) <= LONGEST_SUMMARY else f"{text[:LONGEST_SUMMARY]}…"
        ended = CodeRun(self.name, phase=result.state, asks_for=cast("AsksFor", self.asks_for))
        calls = f"{len(result.calls)} call{'' if len(result.calls) == 1 else 's'}"
        return visible(f"<autocode {self.name} {ended.headline.lower()} · {calls} · {short}>")


# The job


@dataclass(frozen=True)
class EarlierRun:
    """The run that a conversation continues.

    Args:
        record: its record, if there is one before this run.
        result: its result, if it ran in this kernel; the new run waits for it.
    """

    name: str
    record: CodeRecord | None = None
    result: CodeModeResult | None = None


@dataclass(frozen=True)
class CodeRequest:
    """The request of a cell for code mode.

    Args:
        tools: functions by the name that the code uses.
        functions: generated functions by the name that `call` uses.
        settings: further arguments of `CodeModeAgent`.
        config: the settings of the notebook from which these were made.
        conversation: the name of the conversation's first cell.
        earlier: the run to continue; None for a new conversation.
        attended: whether there is a user to ask.
        rules: the files with house rules that may be used.
    """

    name: str
    message: str
    tools: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    functions: Mapping[str, Any] = field(default_factory=dict)
    frames: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    config: AgentConfig = AgentConfig()
    conversation: str = ""
    earlier: EarlierRun | None = None
    attended: bool = True
    rules: tuple[RuleFile, ...] = ()


def agent_of(request: CodeRequest, approve: Approve | None = None) -> CodeModeAgent:
    """The agent for a request.

    Raises:
        InvalidRequest: the request is not valid, for example a tool has the name of a Python built-in.
    """
    from autocoder_jupyter.codemode.agent import CodeModeAgent

    return CodeModeAgent(
        request.tools,
        functions=request.functions,
        name=request.conversation or request.name,
        approve=approve,
        **request.settings,
    )


class CodeJob(BackgroundJob[AgentResult, Answered, CodeRun]):
    """A running or ended run of code mode.

    Args:
        journal_root: the `.autocode` folder.
        tracker: keeps the record of the run; by default a new one.

    Raises:
        InvalidRequest: the request is not valid, for example a tool has the name of a Python built-in.
    """

    def __init__(self, request: CodeRequest, *, journal_root: Path, tracker: RunTracker[CodeRun] | None = None) -> None:
        super().__init__(tracker or RunTracker(CodeRun(request.name)))
        self.request = request
        self.config = request.config
        self._root = journal_root
        self._shown: tuple[ShownArgument, ...] = ()
        self._awaits = ""
        self._run_id = ""
        self.result = CodeModeResult(request.name, self._pending, journal_root, self._waiting_arguments)
        self._agent = agent_of(request, self._ask_consent if request.attended else None)
        write_log(self.tracker, self.config.log, lambda: self.run_id)

    @property
    def run_id(self) -> str:
        """The folder of this run in the journal of its conversation; "" until the run has ended."""
        return self._run_id

    @property
    def conversation(self) -> str:
        """The folder in `.autocode` with the journal of its conversation."""
        return self.request.conversation or self.name

    # The run

    async def _work(self) -> AgentResult:
        for function in self.request.functions.values():
            if not function.is_usable:
                self._awaits = function.name
                with contextlib.suppress(AutocodeError):  # its calls then raise the error
                    await function._ready()
        history = await self._history()
        self._awaits = ""
        asked = self._agent.asked(self.request.message, history, self.request.frames, self.request.rules)
        result = await self._agent.answer(asked, self.tracker, self._root, self._silence)
        self._run_id = result.run_id
        self._record(result)
        return result

    async def _history(self) -> tuple[dict[str, str], ...]:
        """The messages of the earlier run."""
        earlier = self.request.earlier
        if earlier is None:
            return ()
        if earlier.result is None:
            return earlier.record.history if earlier.record else ()
        self._awaits = earlier.name
        await earlier.result
        if not earlier.result.history:
            raise InvalidRequest(
                f"{self.name} cannot continue, because {earlier.name} ended without an answer of the model.",
                why=earlier.result.error or "",
                hint=f"Run the cell of {earlier.name} again.",
            )
        return earlier.result.history

    def _record(self, result: AgentResult) -> None:
        """Save the state of the conversation, if the run is recorded."""
        if not result.run_id:
            return
        record = CodeRecord(
            conversation=self.conversation,
            message=self.request.message,
            history=result.history,
            tools=(*self.request.tools, *self.request.functions),
            frames=tuple(self.request.frames),
            state=result.state,
            summary=result.summary,
        )
        try:
            record.save(self._root, self.name)
        except (OSError, WrittenLater) as error:
            self.tracker(Noticed(f"The conversation cannot be continued after a restart: {error}."))

    # How it ended

    def _ended(self, outcome: AgentResult) -> Answered:
        return Answered(outcome.state, outcome, asks_for=self.tracker.run.asks_for)

    def _raised(self, error: Exception) -> Answered:
        state: EndState = "cancelled" if isinstance(error, Cancelled) else "failed"
        text = str(error) if isinstance(error, AutocodeError) else f"{type(error).__name__}: {error}"
        return Answered(state, AgentResult(error=text, state=state), error, self.tracker.run.asks_for)

    def _last_event(self, resolution: Answered) -> Finished:
        error = resolution.exception
        reason = error.what if isinstance(error, AutocodeError) else resolution.result.error or ""
        return Finished(resolution.state, reason)

    def _doing(self) -> str:
        return f"waiting for {self._awaits}" if self._awaits else super()._doing()

    def obstacle(self) -> str:
        """The approval that the run needs from the user, as a sentence; "" if it needs none."""
        if (waiting := self.pending_approval) is None:
            return ""
        return (
            f"{self.name} waits for your consent to call {waiting[0]}. "
            f"Interrupt, then type %autocode reply {self.name} yes {' '.join(self.tracker.run.consent)}, or no."
        )

    # Approval

    @property
    def pending_approval(self) -> tuple[str, ...] | None:
        """The call that waits for approval, as text; None if there is none."""
        request = self._waiting()
        if request is None:
            return None
        return (f"{request.tool}({', '.join(argument.line for argument in self._shown)})",)

    @property
    def shown_arguments(self) -> tuple[ShownArgument, ...]:
        """The arguments of the call that waits for approval."""
        return self._shown

    def _waiting(self) -> ApprovalRequest | None:
        request: ApprovalRequest | None = self._asked("waiting for approval")
        return request

    def _waiting_arguments(self) -> Mapping[str, Any]:
        request = self._waiting()
        return {} if request is None else dict(request.arguments)

    @property
    def pending_questions(self) -> None:
        """None: a run of code mode asks no questions before it starts."""

    def answer(self, answers: Sequence[str]) -> bool:
        """False: it asks only for approval."""
        return False

    def approve(self, question: str = "", *, always: bool = False) -> bool:
        """Allow the waiting call; with `always`, all calls of that tool in this run. False if no call waits, or another
        one than `question`.
        """
        return self._decide("always" if always else "allow", question)

    def decline(self, question: str = "") -> bool:
        """Deny the waiting call. False if no call waits, or another one than `question`."""
        return self._decide("deny", question)

    def leave_undecided(self) -> bool:
        """Skip the waiting call, because there is no user to ask. A later run asks again. False if no call waits."""
        return self._decide(None)

    def _decide(self, decision: Decision | None, question: str = "") -> bool:
        return self._answer("waiting for approval", decision, question)

    async def _ask_consent(self, request: ApprovalRequest) -> Decision:
        from autocoder_jupyter.codemode.calls import NoUserToAsk, shown_arguments

        self._shown = await background.call_blocking(lambda: shown_arguments(request.arguments))
        question: UserQuestion[ApprovalRequest, Decision | None]
        question = UserQuestion(request, request.call, "waiting for approval")
        self.tracker(CallWaits(request.call, request.tool, request.argument, self._shown, request.recorded))
        try:
            decision = await self._ask(question)
        finally:
            self._shown = ()
        if decision is None:
            raise NoUserToAsk
        return decision
