"""`CodeModeAgent`: a model that answers by writing code, which runs in a sandbox and calls the user's tools."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import inspect
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autocoder_jupyter.agent.place import journal_root as default_journal_root
from autocoder_jupyter.agent.rules import Named, RuleFile, rules_about, rules_for_script
from autocoder_jupyter.codemode import tables as handles
from autocoder_jupyter.codemode.calls import IN_THREAD, Approve, Consent, ToolCalls
from autocoder_jupyter.codemode.conversation import CodeConversation, Rules, Transcript, checked_history, system_prompt
from autocoder_jupyter.codemode.interpreter import CodeInterpreter
from autocoder_jupyter.codemode.journal import ConversationJournal, Memory, block_key, run_id_of
from autocoder_jupyter.codemode.limits import Limits
from autocoder_jupyter.codemode.tables import FailedOnData, Visibility
from autocoder_jupyter.codemode.tools import Functions, Tool, declaration, stubs, toolbox
from autocoder_jupyter.codemode.values import Shown
from autocoder_jupyter.concurrency import background, file_locks
from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.concurrency.syncified import Syncified
from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.prompt import rules_text
from autocoder_jupyter.errors import AutocodeError, BudgetSpent, InvalidRequest, ModelError
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.models.offers import offer_others
from autocoder_jupyter.models.protocol import SILENT, ConfiguredModel, Listener, ModelConfig, Question, question_key
from autocoder_jupyter.models.silence import SilenceWatch
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.run.code_run import Block, CodeRun, ToolCall
from autocoder_jupyter.run.events import Emit, EndState, Finished, LoadingClient, Noticed, WaitsForRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.settings.config import RECORDS, AgentConfig, CachePolicy, Share
from autocoder_jupyter.types import Exchange, Step, Usage
from autocoder_jupyter.types.of_flyte import all_fetched
from autocoder_jupyter.untrusted.plain_json import valid_unicode
from autocoder_jupyter.versions.request_lock import hold_lock, lock_of

# Models

CallLLM = Callable[[str, str, list[dict[str, str]]], "Awaitable[str] | str"]
"""`await call_llm(model, system, messages)` returns the model's answer. A blocking function is also accepted."""


class CalledModel:
    """A `ConfiguredModel` that calls a function of the user. Tokens and cost are unknown.

    Args:
        config: names the model; the keys of questions depend on it.
    """

    def __init__(self, call: CallLLM, config: ModelConfig) -> None:
        self._call = call
        self.config = config

    async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
        """One answer."""
        system, messages = _split(question.messages)
        started = time.monotonic()
        try:
            answer = await self._answer(system, messages)
        except Exception as error:
            raise ModelError(f"call_llm failed: {type(error).__name__}: {error}.") from error
        if not isinstance(answer, str):
            raise ModelError(f"call_llm must return a string, not {type(answer).__name__}.")
        answer = valid_unicode(answer)
        listener.on_text(answer)
        return Exchange(
            stage=question.stage,
            key=question_key(question, self.config),
            model=self.config.model,
            messages=tuple(dict(message) for message in question.messages),
            answer=answer,
            usage=Usage(cost=None),
            seconds=time.monotonic() - started,
        )

    async def _answer(self, system: str, messages: list[dict[str, str]]) -> Any:
        if inspect.iscoroutinefunction(self._call):
            return await self._call(self.config.model, system, messages)
        answer = await background.call_blocking(lambda: self._call(self.config.model, system, messages))
        return await answer if inspect.isawaitable(answer) else answer


def _split(messages: tuple[Mapping[str, Any], ...]) -> tuple[str, list[dict[str, str]]]:
    """The system text, and the messages after it."""
    system = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "system")
    return system, [dict(message) for message in messages if message["role"] != "system"]


# The result


@dataclass(frozen=True)
class AgentResult:
    """The result of a run. `code`, `charts`, `summary`, `error` and `attempts` are those of Flyte's `AgentResult`.

    Args:
        code: the last block that ran without an error, else the last block; "" if there was none.
        charts: the program's `charts`: HTML, SVG or Markdown from tools.
        summary: the final answer as text.
        error: why there is no final answer, in a few lines; None if there is one.
        attempts: the number of blocks that were run.
        value: the value of the last good block; frames are pandas frames. Treat it as read-only.
        output: the output of all blocks.
        calls: all tool calls, in the order in which they began.
        blocks: all blocks, also the failed ones.
        usage: tokens and US dollars of this run; replayed answers cost nothing.
        state: `ready`, or how else the run ended.
        turns: how often the model was asked.
        history: the complete conversation as messages; pass it to the next `run` to continue.
        exchanges: the requests to the model and its answers.
        run_id: the id of the record of this run beside the notebook; "" if nothing is recorded.
        seconds: wall clock of the run.
        notes: sentences for the user, such as a file that could not be written.
        timeline: when each step began and how long it took.
    """

    code: str = ""
    charts: tuple[str, ...] = ()
    summary: str = ""
    error: str | None = None
    attempts: int = 0
    value: Any = field(default=None, repr=False)
    output: str = field(default="", repr=False)
    calls: tuple[ToolCall, ...] = field(default=(), repr=False)
    blocks: tuple[Block, ...] = field(default=(), repr=False)
    usage: Usage = Usage()
    state: EndState = "ready"
    turns: int = 0
    history: tuple[dict[str, str], ...] = field(default=(), repr=False)
    exchanges: tuple[Exchange, ...] = field(default=(), repr=False)
    run_id: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    timeline: tuple[Step, ...] = field(default=(), repr=False)

    @property
    def success(self) -> bool:
        """Whether there is a final answer."""
        return self.error is None


# The agent

FOLDER_NAME = "tools"
"""The default folder of conversations in `.autocode`."""


@dataclass(frozen=True)
class CodeQuestion:
    """A checked question to the model.

    Args:
        messages: the conversation; the last message is the request.
        tables: DataFrames and Series by the name that the code uses.
        notes: sentences for the user about what it contains.
    """

    messages: tuple[dict[str, str], ...]
    tables: Mapping[str, Any]
    notes: tuple[str, ...] = ()


class CodeModeAgent:
    """Answers requests by a model's code, which runs in a sandbox and calls the user's tools.

    `tools`, `model`, `max_retries`, `skills`, `call_llm` and `system_prompt_prefix` are those of Flyte's
    `CodeModeAgent`. Immutable, except for the user's decisions about calls in this session. Runs can be concurrent.
    """

    def __init__(
        self,
        tools: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] = (),
        *,
        model: str = AgentConfig.model,
        max_retries: int = 2,
        skills: Iterable[str | os.PathLike[str]] = (),
        call_llm: CallLLM | None = None,
        system_prompt_prefix: str | None = None,
        name: str = FOLDER_NAME,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        max_turns: int = 10,
        limits: Limits | None = None,
        share: Share = AgentConfig.share,
        hide: Iterable[str] | None = None,
        mask: Iterable[str] | None = None,
        approve: Approve | None = None,
        api_key: str | None = None,
        api_base: str | None = None,
        litellm_params: Mapping[str, Any] | None = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        max_seconds: float | dt.timedelta | None = None,
        cache: CachePolicy = AgentConfig.cache,
        locked: bool = False,
    ) -> None:
        """Check and keep the settings.

        Args:
            tools: functions that the code may call, or functions by name: plain and async functions, results of
                `as_task()` and of `%%autocode`, tasks of Flyte. `@tool(…)` marks tools that need approval or have
                effects.
            model: identifier that litellm knows, such as `"anthropic/claude-sonnet-4-5"`.
            max_retries: the number of further failed answers in a row that are allowed after a failed one.
            skills: further instructions, as texts, or as `Path` of a file whose text is read now.
            call_llm: `await call_llm(model, system, messages)` returns the answer, instead of litellm.
            system_prompt_prefix: replaces the default description of the model's role. It is sent unchanged.
            name: folder of the record in `.autocode`.
            functions: generated functions by name, for `call("growth", frame)` in the code.
            max_turns: the maximum number of questions to the model in one `run`.
            limits: the limits of the sandbox: memory, time, depth, calls, length of output for the model.
            share: `rows`, `stats` or `schema`: how much of the frames the code, and so the model, may see.
            hide: columns of frames that the code does not see; tools still get them.
            mask: columns of frames whose values the code does not see.
            approve: asks the user about a call of a tool marked with `ask`; without it such calls are denied.
            api_key: NAME of the environment variable that holds the key; the provider's usual one by default.
            api_base: address of the model's service, for proxies and local models.
            litellm_params: passed to every call of the model.
            max_cost: maximum cost of one `run` in US dollars.
            max_tokens: maximum number of tokens of one `run`, input and output.
            max_seconds: maximum wall-clock seconds of one `run`.
            cache: `auto` replays recorded answers and calls, `override` ignores them, `disable` records nothing.
            locked: ask no model; a question without a recorded answer ends the run with an error.

        Raises:
            InvalidRequest: a setting has an invalid value; the message names the setting.
        """
        self._tools = toolbox(tools)
        self._functions = Functions(functions)
        self.model = RECORDS["model"].checked(model)
        self.name = check.identifier("name", name)
        self.share: Share = RECORDS["share"].checked(share)
        hidden, masked = RECORDS["hide"].checked(hide), RECORDS["mask"].checked(mask)
        self._visibility = Visibility(self.share, frozenset(hidden), frozenset(masked))
        self.limits = limits or Limits()
        self._rules = Rules(
            check.count("max_turns", max_turns, least=1), check.count("max_retries", max_retries, least=0)
        )
        self._call_llm = call_llm
        self._consent = Consent(approve)
        self._model_config = ModelConfig(
            model=self.model,
            api_key=RECORDS["api_key"].checked(api_key),
            api_base=RECORDS["api_base"].checked(api_base),
            params=RECORDS["litellm_params"].checked(litellm_params),
        )
        self._max_cost = RECORDS["max_cost"].checked(max_cost)
        self._max_tokens = RECORDS["max_tokens"].checked(max_tokens)
        self._max_seconds = RECORDS["max_seconds"].checked(max_seconds)
        self._cache: CachePolicy = RECORDS["cache"].checked(cache)
        self._locked = RECORDS["locked"].checked(locked)
        prefix = None if system_prompt_prefix is None else check.text("system_prompt_prefix", system_prompt_prefix)
        about = [handles.about(self._visibility), self._functions.about()]
        self._system = system_prompt(self._tools, prefix, about, _texts(skills))
        self._memories: dict[Path, Memory] = {}

    def __repr__(self) -> str:
        return f"CodeModeAgent([{', '.join(self._tools)}], model={self.model!r})"

    @property
    def system_prompt(self) -> str:
        """The complete system prompt."""
        return self._system

    def tool_descriptions(self) -> list[dict[str, str]]:
        """Name, signature and first paragraph of the description of each tool, as the model sees them."""
        return [
            {
                "name": tool.name,
                "signature": declaration(tool).removeprefix("async ").removeprefix("def "),
                "description": tool.description.partition("\n\n")[0],
            }
            for tool in self._tools.values()
        ]

    def uses_flyte_tools(self) -> bool:
        """Whether a tool is a Flyte task."""
        return any(tool.kind == "flyte" for tool in self._tools.values())

    def described(self, frames: Mapping[str, Any]) -> str:
        """The text about frames for the model: the columns that it may know."""
        return handles.described(frames, self._visibility)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by the name that the code uses."""
        return dict(self._tools)

    @Syncified
    async def run(
        self,
        message: str,
        history: Sequence[Mapping[str, str]] = (),
        *,
        frames: Mapping[str, Any] | None = None,
        rules: Named | None = None,
        on_event: Emit | None = None,
        journal_root: str | os.PathLike[str] | None = None,
    ) -> AgentResult:
        """Answer a request; `await agent.run.aio(…)` on your own loop. Errors of the run are in the result's `error`.

        Args:
            message: the request.
            history: the `history` of a result, to continue its conversation. The variables of its code still exist.
            frames: DataFrames, also of Flyte, and Series by the name that the code uses.
            rules: the path of an `autocode.md`, or several, as for `AutoCoderAgent.generate`.
            on_event: called with events, on another thread; see `run.events`.
            journal_root: the `.autocode` folder; beside the notebook, or in the current folder, by default.

        Returns:
            The answer with its code; check `error`.

        Raises:
            InvalidRequest: an argument is invalid.
        """
        root = default_journal_root() if journal_root is None else local_path(journal_root)
        tracker = RunTracker(CodeRun(self.name, self._max_cost), *([on_event] if on_event else []))
        if isinstance(frames, Mapping):
            frames = await all_fetched(frames)
        asked = self.asked(message, history, frames, rules_for_script(root.parent, rules, locked=self._locked))

        async def answered() -> AgentResult:
            try:
                return await self.answer(asked, tracker, root)
            finally:
                tracker.finish(Finished("failed"))

        return await asyncio.wrap_future(background.submit(answered()))

    def asked(
        self,
        message: str,
        history: Sequence[Mapping[str, str]],
        frames: Mapping[str, Any] | None,
        files: Iterable[RuleFile] = (),
    ) -> CodeQuestion:
        """The checked arguments of `run`, with the house rules of these files that apply.

        Raises:
            InvalidRequest: an argument is invalid.
        """
        messages = checked_history(history)
        tables = handles.checked_frames(frames, self._tools)
        check.text("message", message)
        rules = rules_about([message], tables, files)
        text = rules_text(rules, prompt("code_mode.house rules")) if rules else ""
        content = "\n\n".join(filter(None, [message, text, self.described(tables)]))
        notes = tuple(f"House rule: {rule.line}" for rule in rules)
        return CodeQuestion((*messages, {"role": "user", "content": content}), tables, notes)

    async def answer(
        self, asked: CodeQuestion, tracker: RunTracker[CodeRun], root: Path, silence: SilenceWatch | None = None
    ) -> AgentResult:
        """The answer, for a caller on the background loop that keeps the record of the run and finishes it.

        Args:
            asked: the question.
            tracker: keeps the record of the run.
            root: the `.autocode` folder.
            silence: watches for questions without an answer.
        """
        messages, tables = list(asked.messages), asked.tables
        memory = self._memories.setdefault(root, Memory())
        journal = ConversationJournal(root, self.name, self._cache, memory)
        run_id = run_id_of(json.dumps([self.model, self._system, messages]))
        shown = Shown(self.limits.observation, shapes=self._visibility.is_everything)
        frames = handles.Frames(self._visibility, self.limits, tables)
        budget = Budget(tokens=self._max_tokens, cost=self._max_cost, seconds=self._max_seconds)
        tools = {**self._tools, **self._functions.tools()}
        calls = ToolCalls(
            tools,
            frames.crossing,
            journal,
            self._consent,
            tracker,
            shown,
            self.limits.calls,
            asyncio.get_running_loop(),
        )
        began = block_key(messages[:1])
        conversation = CodeConversation(
            system=self._system,
            model=self._model(journal, tracker),
            budget=budget,
            journal=journal,
            calls=calls,
            crossing=frames.crossing,
            start=lambda: CodeInterpreter(
                self.limits,
                stubs(tools.values(), tables),
                journal.clock(began),
                frames.globals(),
                frames.operate,
            ),
            reserved=frozenset((*tools, *tables, IN_THREAD)),
            shown=shown,
            rules=self._rules,
            tracker=tracker,
            silence=silence or SilenceWatch(tracker),
        )
        transcript = Transcript(messages)

        async def converse() -> None:
            async with _alone(journal, run_id, tracker) as alone:
                await background.call_blocking(lambda: journal.begin(run_id, alone=alone))
                for tool in (*self._tools.values(), *self._functions.generated):
                    await tool.require_sandbox()
                await conversation.run(transcript)

        try:
            finished, error = await self._ended(converse())
        except asyncio.CancelledError:
            tracker(Finished("cancelled", "Cancelled."))
            raise
        notes = (*asked.notes, *journal.take_notes())
        for note in notes:
            tracker(Noticed(note))
        if error is not None:
            await offer_others(error, tracker)
        tracker(finished)
        run = tracker.run.apply(finished, tracker.stop())
        return AgentResult(
            code=run.code,
            charts=transcript.charts,
            summary=transcript.summary,
            error=None if error is None else str(error),
            attempts=len(run.blocks),
            value=transcript.value,
            output="".join(block.printed for block in run.blocks),
            calls=run.calls,
            blocks=run.blocks,
            usage=budget.used,
            state=finished.state,
            turns=run.turn,
            history=tuple(transcript.messages),
            exchanges=tuple(transcript.exchanges),
            run_id=journal.run_id,
            seconds=run.seconds,
            notes=notes,
            timeline=run.steps.in_order,
        )

    async def _ended(self, run: Coroutine[Any, Any, None]) -> tuple[Finished, AutocodeError | None]:
        """Wait for a run. Returns how it ended, with the error if there was one."""
        try:
            async with asyncio.timeout(self._max_seconds):
                await run
        except TimeoutError:
            error: AutocodeError = BudgetSpent(
                f"The run exceeded its limit of {self._max_seconds:g} seconds.",
                hint="Raise max_seconds; recorded answers and calls are not repeated.",
                limit="max_seconds",
            )
        except AutocodeError as raised:
            error = raised
        except FailedOnData as raised:
            error = AutocodeError(
                f"An operation of the code on a table failed: {raised}.",
                why="The model does not see this error, because it depends on rows that are not shared with it.",
                hint="Check the values of the columns in the code above, or share more (--share, --mask).",
            )
        else:
            return Finished("ready"), None
        state: EndState = "over_budget" if isinstance(error, BudgetSpent) else "failed"
        return Finished(state, error.what, getattr(error, "limit", "")), error

    def _model(self, journal: ConversationJournal, emit: Emit) -> Any:
        from autocoder_jupyter.models.client import LiteLLMModel
        from autocoder_jupyter.models.process import RemoteModel
        from autocoder_jupyter.models.replay import LockedModel, ReplayingModel

        model: ConfiguredModel
        if self._locked:
            model = LockedModel(self._model_config)
        elif self._call_llm is not None:
            model = CalledModel(self._call_llm, self._model_config)
        else:
            here = LiteLLMModel(
                self._model_config,
                limited=self._max_cost is not None,
                on_send=journal.add_sent,
                on_loading=lambda begins: emit(LoadingClient(done=not begins)),
            )
            model = RemoteModel(here)
        return ReplayingModel(model, journal, self._cache)


@contextlib.asynccontextmanager
async def _alone(journal: ConversationJournal, run_id: str, emit: Emit) -> AsyncIterator[bool]:
    """Hold the lock of a run. A second kernel that starts the same run waits, and then uses what this one recorded.

    Yields whether no other process can have the same run open.
    """
    if not journal.records:
        yield False
        return
    lock = await background.call_blocking(lambda: lock_of(cache_folder(), journal.root, journal.name, run_id))
    async with hold_lock(lock, lambda words: emit(WaitsForRun(words))) as held:
        yield held or not file_locks.SUPPORTED


def _texts(skills: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Skills as texts; the file of a path is read."""
    if isinstance(skills, str | os.PathLike) or not isinstance(skills, Iterable):
        raise InvalidRequest("skills must be a list of strings and paths.", hint="Write skills=[…].")
    texts = []
    for skill in skills:
        if not isinstance(skill, os.PathLike):
            texts.append(check.text("skills", skill))
            continue
        try:
            texts.append(local_path(skill).expanduser().read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidRequest(f"skills: {Path(skill)} cannot be read.", why=f"{error}.") from None
    return texts
