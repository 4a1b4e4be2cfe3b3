"""One run: ask the model, run its code, send back the output, until there is a final answer."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autocoder_jupyter.codemode.calls import BlockScope, ToolCalls
from autocoder_jupyter.codemode.interpreter import CodeInterpreter, Start, runnable
from autocoder_jupyter.codemode.journal import ConversationJournal, block_key
from autocoder_jupyter.codemode.monty_session import BlockOutcome
from autocoder_jupyter.codemode.tables import FailedOnData
from autocoder_jupyter.codemode.tools import Tool, declaration
from autocoder_jupyter.codemode.values import Crossing, Shown
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.errors import AutocodeError, BudgetSpent, InvalidRequest
from autocoder_jupyter.models.faults import exchange_of, stopped
from autocoder_jupyter.models.loops import REPEATED
from autocoder_jupyter.models.protocol import ConfiguredModel, Listener, Question, SummingMeter
from autocoder_jupyter.models.silence import SilenceWatch
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.events import CodeEnded, CodeStarted, Retrying, TextStreamed, TokensUsed, TurnBegun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types import Exchange, Usage
from autocoder_jupyter.untrusted.parsing import complaint

# Answers of the model

_FENCE = re.compile(r"^[ \t]{0,3}(?P<marks>```+|~~~+)[ \t]*(?P<language>[^\s`]*)[^\n]*$", re.MULTILINE)
_PYTHON = frozenset({"", "py", "python", "python3", "py3"})


@dataclass(frozen=True)
class Code:
    """One block to run; `text` is the text before it, `left` the number of further blocks that are not run."""

    source: str
    text: str = ""
    left: int = 0


@dataclass(frozen=True)
class Final:
    """The final answer as text. It is never run."""

    text: str


@dataclass(frozen=True)
class Unclear:
    """Neither code nor a final answer; `reason` is text for the model."""

    reason: str


Answer = Code | Final | Unclear


def read_answer(answer: str) -> Answer:
    """Read an answer. Only the first block of Python is used; text outside of blocks is never run."""
    if not answer.strip():
        return Unclear("Your answer was empty.")
    blocks = list(_blocks(answer))
    python = [block for block in blocks if block[0] in _PYTHON]
    if not blocks:
        return Final(answer.strip())
    if not python:
        return Unclear(
            f"A block of {blocks[0][0]!r} is not run: only Python is, in a block that begins with ```python. "
            "A final answer has no block of code at all."
        )
    _, source, text = python[0]
    if not source.strip():
        return Unclear("Your block of code was empty.")
    return Code(source, text, left=len(python) - 1)


def _blocks(answer: str) -> list[tuple[str, str, str]]:
    """Language, content and preceding text of each fenced block. An unclosed block ends with the answer."""
    found, position, begun = [], 0, 0
    while opening := _FENCE.search(answer, position):
        marks = opening["marks"]
        closing = re.compile(rf"^[ \t]{{0,3}}{re.escape(marks[0])}{{{len(marks)},}}[ \t]*$", re.MULTILINE)
        end = closing.search(answer, opening.end())
        content = answer[opening.end() + 1 : end.start() if end else len(answer)]
        found.append((opening["language"].lower(), content, answer[begun : opening.start()].strip()))
        if end is None:
            break
        position = begun = end.end()
    return found


# Texts for the model


def system_prompt(tools: Mapping[str, Tool], prefix: str | None, about: Iterable[str], skills: Iterable[str]) -> str:
    """The complete system prompt. The user's texts are included unchanged."""
    parts = [prompt("code_mode.persona") if prefix is None else prefix.strip(), prompt("code_mode.rules")]
    parts.append("# Tools\n" + ("\n\n".join(map(_tool, tools.values())) or prompt("code_mode.no tools")))
    parts += filter(None, about)
    texts = [skill.strip() for skill in skills]
    if texts:
        parts.append("# Further instructions\n" + "\n\n".join(texts))
    return "\n\n".join(parts)


def _tool(tool: Tool) -> str:
    marks = [prompt("code_mode.asked first")] if tool.ask else []
    marks += [prompt("code_mode.has effects")] if tool.effects else []
    lines = [f"{declaration(tool)}:"]
    text = "\n".join(filter(None, [tool.description, *marks]))
    return "\n".join(lines + [f"    {line}".rstrip() for line in text.split("\n")] * bool(text))


def observation(*, value: str | None, printed: str, left: int) -> str:
    """The message about the outcome of a block, for the model."""
    parts = []
    if printed:
        parts.append(prompt("code_mode.printed", printed=printed))
    if value is not None:
        parts.append(prompt("code_mode.value", value=value))
    if not parts:
        parts.append(prompt("code_mode.nothing"))
    if left:
        parts.append(prompt("code_mode.first block only", left=left))
    return "\n\n".join(parts)


def failure(*, error: str, printed: str, began: bool, lost: bool, tries: int) -> str:
    """The message about a failed block, for the model."""
    parts = [prompt("code_mode.printed", printed=printed)] if printed else []
    parts.append(prompt("code_mode.failed" if began else "code_mode.not run", error=error))
    if lost:
        parts.append(prompt("code_mode.lost"))
    parts.append(prompt("code_mode.try again", tries=tries) if tries > 0 else prompt("code_mode.last try"))
    return "\n\n".join(parts)


def unclear(reason: str) -> str:
    """The message about an unclear answer, for the model."""
    return prompt("code_mode.unclear", reason=reason)


# The run

Messages = list[dict[str, str]]


@dataclass
class Transcript:
    """The results of a run so far. They are kept if the run is interrupted."""

    messages: Messages
    exchanges: list[Exchange] = field(default_factory=list)
    value: Any = None
    charts: tuple[str, ...] = ()
    summary: str = ""
    turns: int = 0


@dataclass(frozen=True)
class Rules:
    """The limits of a run.

    Args:
        max_turns: the maximum number of questions to the model.
        max_retries: the number of further failed blocks in a row that are allowed after a failed one.
    """

    max_turns: int
    max_retries: int


class CodeConversation:
    """One run.

    Args:
        reserved: the names of tools and frames, which the code must not bind.
    """

    def __init__(
        self,
        *,
        system: str,
        model: ConfiguredModel,
        budget: Budget,
        journal: ConversationJournal,
        calls: ToolCalls,
        crossing: Crossing,
        start: Start,
        reserved: Collection[str],
        shown: Shown,
        rules: Rules,
        tracker: RunTracker[CodeRun],
        silence: SilenceWatch,
    ) -> None:
        self._silence = silence
        self._system = system
        self._model = model
        self._budget = budget
        self._journal = journal
        self._calls = calls
        self._crossing = crossing
        self._start = start
        self._reserved = reserved
        self._shown = shown
        self._rules = rules
        self._tracker = tracker
        self._sandbox: CodeInterpreter | None = None

    async def run(self, transcript: Transcript) -> None:
        """Run until there is a final answer. It is stored in `transcript`."""
        history = transcript.messages[:-1]
        self._calls.is_from_record = bool(history) and not self._journal.is_known(block_key(history))
        try:
            await self._go_on(transcript)
        finally:
            self._note_known(transcript)
            self._calls.cancel()
            if (sandbox := self._sandbox) is not None:
                sandbox.kill()
                await background.call_blocking(lambda: sandbox.__exit__(None, None, None))

    async def _go_on(self, transcript: Transcript) -> None:
        failures, error = 0, ""
        while not transcript.summary:
            if transcript.turns >= self._rules.max_turns:
                raise BudgetSpent(
                    f"There is no final answer after {transcript.turns} turns.",
                    hint="Raise max_turns, or split the request.",
                    limit="max_turns",
                )
            exchange = await self._asked(transcript)
            recorded = exchange.replayed
            match read_answer(exchange.answer):
                case Final() if exchange.finish_reason == REPEATED:
                    error = "Your answer repeated itself without end, and was stopped."
                    _add(transcript, "user", unclear(error))
                case Final(text):
                    transcript.summary, error = text, ""
                case Unclear(reason):
                    error = reason
                    _add(transcript, "user", unclear(reason))
                case Code() as code:
                    ran = await self._ran(code, transcript, recorded=recorded)
                    error = ran.error
                    _add(
                        transcript, "user", self._report(code, ran, transcript, left=self._rules.max_retries - failures)
                    )
            failures = failures + 1 if error else 0
            self._require_retries(failures, error, transcript)

    def _require_retries(self, failures: int, error: str, transcript: Transcript) -> None:
        if failures > self._rules.max_retries:
            self._reject_answers(transcript.exchanges[-failures:], first=transcript.turns - failures + 1)
            raise AutocodeError(
                f"{failures} {'answer' if failures == 1 else 'answers in a row'} could not be run.",
                why=f"The last: {self._shown.for_model(error)}",
                hint="Make the request more precise, or raise max_retries.",
            )

    def _reject_answers(self, exchanges: Sequence[Exchange], first: int) -> None:
        """Make the next run ask these questions again. Answers are kept if a call of their code had effects, because
        other code would cause the effects a second time.
        """
        if not any(call.effects and call.turn >= first for call in self._tracker.run.calls):
            self._journal.reject(exchanges)

    # The model

    def _listener(self) -> Listener:
        return Listener(
            lambda text: self._tracker(TextStreamed("tools", text)),
            lambda reason, seconds: self._tracker(Retrying("tools", reason, seconds)),
            self._budget,
        )

    async def _asked(self, transcript: Transcript) -> Exchange:
        """The model's next answer."""
        transcript.turns += 1
        turn = transcript.turns
        self._tracker(TurnBegun(turn, self._rules.max_turns))
        question = Question("codemode", ({"role": "system", "content": self._system}, *transcript.messages))

        async def asked(listener: Listener) -> Exchange:
            tab, began = SummingMeter(listener.meter), time.monotonic()
            try:
                return await self._model.ask(question, replace(listener, meter=tab))
            except BaseException as error:  # also a cancel: the tokens that arrived are paid for
                if (cut := exchange_of(error)) is not None:
                    self._note(transcript, cut)
                elif tab.spent != Usage():
                    self._note(transcript, stopped(question, self._model.config, tab.spent, time.monotonic() - began))
                raise

        exchange = await self._silence.follow("tools", self._listener(), asked)
        self._note(transcript, exchange)
        _add(transcript, "assistant", exchange.answer)
        if exchange.replayed and not self._journal.is_known(block_key(transcript.messages)):
            self._calls.is_from_record = True
        self._note_known(transcript)
        return exchange

    def _note_known(self, transcript: Transcript) -> None:
        if not self._calls.is_from_record:
            self._journal.add_known(block_key(transcript.messages))

    def _note(self, transcript: Transcript, exchange: Exchange) -> None:
        transcript.exchanges.append(exchange)
        self._tracker(TokensUsed("tools", exchange.usage, self._budget.used, exchange.seconds, exchange.replayed))

    # The code

    async def _ran(self, code: Code, transcript: Transcript, *, recorded: bool) -> BlockOutcome:
        """Run the block of the last message."""
        key = block_key(transcript.messages)
        sandbox = await self._ready(transcript.messages[:-1])
        self._tracker(CodeStarted(transcript.turns, code.source))
        self._calls.scope = BlockScope(transcript.turns, key, recorded=recorded)
        self._journal.add_block(key)
        try:
            outcome = await self._in_sandbox(sandbox, code.source)
            # Converting a large value takes long and must not block the loop.
            ran = await background.call_blocking(lambda: self._taken(outcome, transcript))
        except (FailedOnData, BudgetSpent):
            self._journal.drop_block(key)
            raise
        if ran.lost:
            self._journal.drop_block(key)
            await self._closed()
        return ran

    def _taken(self, ran: BlockOutcome, transcript: Transcript) -> BlockOutcome:
        """The outcome with its value converted for the user. If that is not possible, the block has failed."""
        if ran.error:
            return ran
        try:
            value = self._crossing.outward(ran.value, "the final value")
            transcript.charts, transcript.summary = _final_answer(value)
        except AutocodeError as error:
            return replace(ran, error=str(error))
        transcript.value = value
        return replace(ran, value=value)

    async def _ready(self, earlier: Messages) -> CodeInterpreter:
        """The sandbox, with the variables of the blocks in the earlier messages."""
        if self._sandbox is not None:
            return self._sandbox
        sandbox = await background.call_blocking(lambda: self._start().__enter__())
        self._sandbox = sandbox
        for number, message in enumerate(earlier):
            key = block_key(earlier[: number + 1])
            code = read_answer(message["content"])
            if message["role"] == "assistant" and isinstance(code, Code) and self._journal.ran(key):
                self._calls.scope = BlockScope(0, key, restoring=True)
                if (ran := await self._in_sandbox(sandbox, code.source)).lost:
                    raise AutocodeError(
                        "The variables of the conversation cannot be restored.",
                        why=f"A block of it exceeds a limit now: {self._shown.for_model(ran.error)}",
                        hint="Start a new conversation, or raise its limits.",
                    )
        return sandbox

    async def _in_sandbox(self, sandbox: CodeInterpreter, source: str) -> BlockOutcome:
        def cancel() -> None:
            self._calls.cancel()
            sandbox.kill()

        def run() -> BlockOutcome:
            try:
                code = runnable(source, self._reserved)
            except SyntaxError as error:
                return BlockOutcome(error=f"SyntaxError: {complaint(error)}", began=False)
            return sandbox.run(code, self._calls)

        return await background.call_blocking(run, on_cancel=cancel)

    async def _closed(self) -> None:
        if (sandbox := self._sandbox) is not None:
            self._sandbox = None
            await background.call_blocking(lambda: sandbox.__exit__(None, None, None))

    # The outcome

    def _report(self, code: Code, ran: BlockOutcome, transcript: Transcript, *, left: int) -> str:
        """Emit the end of a block, and return the message to the model about it."""
        printed = self._shown.for_model(ran.printed.rstrip()) if ran.printed else ""
        if ran.error:
            message = failure(
                error=self._shown.for_model(ran.error),
                printed=printed,
                began=ran.began,
                lost=ran.lost,
                tries=left - 1,
            )
        else:
            value = None if ran.value is None else self._shown.value_for_model(ran.value)
            message = observation(value=value, printed=printed, left=code.left)
        error = self._shown.for_model(ran.error) if ran.error else None
        self._tracker(CodeEnded(transcript.turns, not ran.error, message, error, ran.printed))
        return message


def _final_answer(value: Any) -> tuple[tuple[str, ...], str]:
    """The charts and the summary of a dict with a summary; empty for any other value."""
    if not isinstance(value, Mapping) or not isinstance(value.get("summary"), str) or not value["summary"].strip():
        return (), ""
    charts = value.get("charts", [])
    if not isinstance(charts, list | tuple) or not all(isinstance(chart, str) for chart in charts):
        raise AutocodeError('TypeError: "charts" must be a list of texts.')
    return tuple(charts), value["summary"].strip()


def checked_history(history: Sequence[Mapping[str, str]]) -> Messages:
    """A checked copy of the earlier messages."""
    messages = []
    for message in history:
        if (
            not isinstance(message, Mapping)
            or message.get("role") not in ("user", "assistant")
            or not isinstance(message.get("content"), str)
        ):
            raise InvalidRequest(
                "history must be messages with a role (user or assistant) and a content.",
                hint="Use the history of the earlier result: run(…, history=result.history).",
            )
        messages.append({"role": message["role"], "content": message["content"]})
    return messages


def _add(transcript: Transcript, role: str, content: str) -> None:
    transcript.messages.append({"role": role, "content": content})
