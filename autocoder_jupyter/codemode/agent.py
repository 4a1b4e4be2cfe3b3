"""`CodeModeAgent`: a model that answers by writing code, which calls the tools of the user from a sandbox."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from autocoder_jupyter.agent.place import journal_root as default_journal_root
from autocoder_jupyter.codemode import handles
from autocoder_jupyter.codemode.approval import Approve, Consent
from autocoder_jupyter.codemode.calls import Calls
from autocoder_jupyter.codemode.conversation import Conversation, Rules, Talk, checked_history
from autocoder_jupyter.codemode.events import Emit, EndState, Event, Finished, LoadingClient, Noticed
from autocoder_jupyter.codemode.frame import Sight
from autocoder_jupyter.codemode.functions import Functions
from autocoder_jupyter.codemode.interpreter import Interpreter
from autocoder_jupyter.codemode.journal import ConversationJournal, Memory, block_key
from autocoder_jupyter.codemode.limits import Limits
from autocoder_jupyter.codemode.model import CalledModel, CallLLM
from autocoder_jupyter.codemode.prompt import system_prompt
from autocoder_jupyter.codemode.result import AgentResult
from autocoder_jupyter.codemode.shown import Shown
from autocoder_jupyter.codemode.signatures import declaration, stubs
from autocoder_jupyter.codemode.tools import Tool, toolbox
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.syncified import Syncified
from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.errors import AutocodeError, BudgetSpent, InvalidRequest
from autocoder_jupyter.models.protocol import ConfiguredModel, ModelConfig
from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.settings.config import RECORDS, AgentConfig, CachePolicy, Share

FOLDER_NAME = "tools"
"""The folder of conversations in `.autocode`, where they have no name."""


class CodeModeAgent:
    """Answers requests by code of a model, which runs in a sandbox and calls the tools that the user gave.

    `tools`, `model`, `max_retries`, `skills`, `call_llm` and `system_prompt_prefix` are those of Flyte's
    `CodeModeAgent`. Immutable but for what the user decided about calls in this session; runs can go on side by side.
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
            tools: functions that the code may call, or functions by the name that it calls them by: plain and async
                ones, results of `as_task()` and of `%%autocode`, tasks of Flyte. `@tool(…)` marks what the user is
                asked for, and what has effects.
            model: identifier that litellm knows, such as `"anthropic/claude-sonnet-4-5"`.
            max_retries: answers in a row that may fail after the first that failed.
            skills: further instructions, as texts, or as `Path` of a file whose text is read now.
            call_llm: `await call_llm(model, system, messages)` gives the answer in place of litellm.
            system_prompt_prefix: who the model is, in place of our words; it goes in as it is.
            name: folder of the record in `.autocode`.
            functions: generated functions by name, for `call("growth", frame)` in the code.
            max_turns: questions to the model, in one `run`.
            limits: the limits of the sandbox: memory, time, depth, calls, size of what the model is told.
            share: `rows`, `stats` or `schema`: how much of the frames the code, and so the model, may see.
            hide: columns of frames that the code does not see; they are in the frames that tools get.
            mask: columns of frames of which the code sees no value.
            approve: asks the user about a call of a tool marked with `ask`; without it such calls are denied.
            api_key: NAME of the environment variable that holds the key; the provider's usual one by default.
            api_base: address of the model's service, for proxies and local models.
            litellm_params: passed to every call of the model.
            max_cost: US dollars at most for one `run`.
            max_tokens: tokens, in and out, at most for one `run`.
            max_seconds: wall-clock seconds at most for one `run`.
            cache: `auto` replays what is recorded, `override` does everything anew, `disable` records nothing.
            locked: ask no model; what is not recorded ends the run with an error.

        Raises:
            InvalidRequest: a value that a setting cannot have; it names the setting.
        """
        self._tools = toolbox(tools)
        self._functions = Functions(functions)
        self.model = RECORDS["model"].checked(model)
        self.name = check.identifier("name", name)
        self.share: Share = RECORDS["share"].checked(share)
        hidden, masked = RECORDS["hide"].checked(hide), RECORDS["mask"].checked(mask)
        self._sight = Sight(self.share, frozenset(hidden), frozenset(masked))
        self.limits = limits or Limits()
        self._rules = Rules(
            check.count("max_turns", max_turns, least=1), check.count("max_retries", max_retries, least=0)
        )
        self._call_llm = call_llm
        self._consent = Consent(approve)
        self._reached = ModelConfig(
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
        about = [handles.about(self._sight), self._functions.about()]
        self._system = system_prompt(self._tools, prefix, about, _texts(skills))
        self._memories: dict[Path, Memory] = {}

    def __repr__(self) -> str:
        return f"CodeModeAgent([{', '.join(self._tools)}], model={self.model!r})"

    @property
    def system_prompt(self) -> str:
        """What the model is told first, whole."""
        return self._system

    def tool_descriptions(self) -> list[dict[str, str]]:
        """Name, signature and the first paragraph of the description of each tool, as the model knows it."""
        return [
            {
                "name": tool.name,
                "signature": declaration(tool).removeprefix("async ").removeprefix("def "),
                "description": tool.description.partition("\n\n")[0],
            }
            for tool in self._tools.values()
        ]

    def uses_flyte_tools(self) -> bool:
        """Whether there are tasks of Flyte among the tools."""
        return any(tool.kind == "flyte" for tool in self._tools.values())

    def described(self, frames: Mapping[str, Any]) -> str:
        """What the model is told of frames with a request: their columns, as far as it may know them."""
        return handles.described(frames, self._sight)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by the name that the code calls them by."""
        return dict(self._tools)

    @Syncified
    async def run(
        self,
        message: str,
        history: Sequence[Mapping[str, str]] = (),
        *,
        frames: Mapping[str, Any] | None = None,
        on_event: Emit | None = None,
        journal_root: str | os.PathLike[str] | None = None,
    ) -> AgentResult:
        """Answer a request; `await agent.run.aio(…)` on your own loop. What goes wrong is in the result's `error`.

        Args:
            message: what is wanted, in words.
            history: the history of the result that the conversation goes on from. What its code defined is there again.
            frames: DataFrames and Series by the name that the code has them by.
            on_event: is told what happens, on another thread; see `codemode.events`.
            journal_root: the `.autocode` folder; beside the notebook, or in the current folder, by default.

        Returns:
            The answer, with the code that led to it; look at `error`.

        Raises:
            InvalidRequest: an argument cannot be understood.
        """
        messages = checked_history(history)
        tables = handles.checked_frames(frames, self._tools)
        content = "\n\n".join(filter(None, [check.text("message", message), self.described(tables)]))
        messages.append({"role": "user", "content": content})
        root = default_journal_root() if journal_root is None else Path(journal_root)
        work = background.submit(self._answered(messages, tables, on_event or _ignore, root))
        return await asyncio.wrap_future(work)

    async def _answered(
        self, messages: list[dict[str, str]], tables: Mapping[str, Any], emit: Emit, root: Path
    ) -> AgentResult:
        started = time.monotonic()
        memory = self._memories.setdefault(root, Memory())
        journal = ConversationJournal(root, self.name, self._cache, memory)
        question = json.dumps([self.model, self._system, messages])
        await background.call_blocking(lambda: journal.begin(question))
        shown = Shown(self.limits.observation, self.share)
        frames = handles.Frames(self._sight, self.limits, tables)
        budget = Budget(tokens=self._max_tokens, cost=self._max_cost, seconds=self._max_seconds)
        tools = {**self._tools, **self._functions.tools()}
        calls = Calls(
            tools,
            frames.crossing,
            journal,
            self._consent,
            emit,
            shown,
            self.limits.calls,
            asyncio.get_running_loop(),
        )
        began = block_key(messages[:1])
        conversation = Conversation(
            system=self._system,
            model=self._model(journal, emit),
            budget=budget,
            journal=journal,
            calls=calls,
            crossing=frames.crossing,
            start=lambda: Interpreter(
                self.limits,
                stubs(tools.values(), tables),
                journal.clock(began),
                frames.globals(),
            ),
            shown=shown,
            rules=self._rules,
            emit=emit,
        )
        talk = Talk(messages)
        state, error = await self._ended(conversation, talk, emit)
        notes = journal.take_notes()
        for note in notes:
            emit(Noticed(note))
        return AgentResult(
            code=talk.code,
            charts=talk.charts,
            summary=talk.summary,
            error=None if error is None else str(error),
            attempts=len(talk.blocks),
            value=talk.value,
            output="".join(block.printed for block in talk.blocks),
            calls=tuple(calls.made),
            blocks=tuple(talk.blocks),
            usage=budget.used,
            state=state,
            turns=talk.turns,
            history=tuple(talk.messages),
            exchanges=tuple(talk.exchanges),
            run_id=journal.run_id,
            seconds=time.monotonic() - started,
            notes=notes,
        )

    async def _ended(self, conversation: Conversation, talk: Talk, emit: Emit) -> tuple[EndState, AutocodeError | None]:
        """Run to the end, and tell what it is."""
        try:
            async with asyncio.timeout(self._max_seconds):
                for tool in (*self._tools.values(), *self._functions.generated):
                    await tool.require_sandbox()
                await conversation.run(talk)
        except TimeoutError:
            error: AutocodeError = BudgetSpent(
                f"The {self._max_seconds:g} seconds of this run are over.",
                hint="Raise max_seconds; what is recorded is not done again.",
                limit="max_seconds",
            )
        except AutocodeError as raised:
            error = raised
        except asyncio.CancelledError:
            emit(Finished("cancelled", "Cancelled."))
            raise
        else:
            emit(Finished("ready"))
            return "ready", None
        state: EndState = "over_budget" if isinstance(error, BudgetSpent) else "failed"
        emit(Finished(state, error.what, getattr(error, "limit", "")))
        return state, error

    def _model(self, journal: ConversationJournal, emit: Emit) -> Any:
        from autocoder_jupyter.models.client import LiteLLMModel
        from autocoder_jupyter.models.locked import LockedModel
        from autocoder_jupyter.models.replay import ReplayingModel

        model: ConfiguredModel
        if self._locked:
            model = LockedModel(self._reached)
        elif self._call_llm is not None:
            model = CalledModel(self._call_llm, self._reached)
        else:
            model = LiteLLMModel(
                self._reached,
                limited=self._max_cost is not None,
                on_send=journal.add_sent,
                on_loading=lambda begins: emit(LoadingClient(done=not begins)),
            )
        return ReplayingModel(model, journal, self._cache)


def _ignore(event: Event) -> None:
    """The listener of a run that has none."""


def _texts(skills: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Skills as texts; a path is read.

    Raises:
        InvalidRequest: it is no list, or a file cannot be read.
    """
    if isinstance(skills, str | os.PathLike) or not isinstance(skills, Iterable):
        raise InvalidRequest("skills must be a list of texts and paths.", hint="Write skills=[…].")
    texts = []
    for skill in skills:
        if not isinstance(skill, os.PathLike):
            texts.append(check.text("skills", skill))
            continue
        try:
            texts.append(Path(skill).expanduser().read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidRequest(f"skills: {Path(skill)} cannot be read.", why=f"{error}.") from None
    return texts
