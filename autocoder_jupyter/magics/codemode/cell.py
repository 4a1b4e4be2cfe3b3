"""Run a cell with `--mode tools`: find its tools and conversation, start a job, bind the name to the pending result."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from autocoder_jupyter.agent.rules import usable_rules
from autocoder_jupyter.display.live import LiveCard
from autocoder_jupyter.errors import InvalidRequest, WrittenLater
from autocoder_jupyter.jobs.code_job import CodeJob, CodeModeResult, CodeRequest, EarlierRun, agent_of, load_record
from autocoder_jupyter.magics.cell import NO_ANSWER, show_job, wait_for, waits
from autocoder_jupyter.magics.codemode.reading import ToolOption
from autocoder_jupyter.magics.notebook import Notebook, is_code_result, is_result
from autocoder_jupyter.magics.progress import TerminalProgress
from autocoder_jupyter.magics.references import MOST_OTHERS, collect_samples, kind_of
from autocoder_jupyter.magics.settings import Settings, suggestion
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.record import AsksFor, Steps
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.types.records import Glimpse
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.view import markup

if TYPE_CHECKING:
    from autocoder_jupyter.magics.command import CellCommand


# Consent in a terminal


def ask_consent_at_prompt(job: CodeJob) -> None:
    """Ask with `input` whether the waiting call is allowed. `s` shows the complete arguments. At the end of input it is
    not made, which does not count as a decision of the user.
    """
    waiting = job.pending_approval
    if waiting is None:
        return
    shown = job.shown_arguments
    answers = "y or n" if all(argument.is_short for argument in shown) else "y, n, or s to show the arguments"
    try:
        word = input(f"{job.name}: may it call {visible(waiting[0])}? {answers}: ").strip().casefold()
    except EOFError:
        job.leave_undecided()
        return
    if word == "s":
        for argument in shown:
            print(markup.plain(f"{argument.name}: {argument.facts}\n{argument.text}"))
    elif word in ("y", "yes"):
        job.approve()
    elif word:
        job.decline()


# The conversation of `--continue NAME`, in this kernel or in the record on disk


@dataclass(frozen=True)
class ConversationContext:
    """The tools and data that the user passed to a conversation; the fields are those of `CodeRequest`."""

    conversation: str = ""
    tools: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    functions: Mapping[str, Any] = field(default_factory=dict)
    frames: Mapping[str, Any] = field(default_factory=dict)


def earlier_of(notebook: Notebook, name: str | None) -> EarlierRun | None:
    """The conversation to continue; None for a new one."""
    if name is None:
        return None
    job = notebook.jobs.current(name)
    if isinstance(job, CodeJob):
        return EarlierRun(name, result=job.result)
    record = load_record(notebook.journal_root, name)
    if record is not None:
        return EarlierRun(name, record=record)
    if is_result(notebook.namespace.get(name)):
        raise InvalidRequest(f"{name} is a function, not a conversation.", hint=f"Pass it as a tool: --tool {name}.")
    raise InvalidRequest(
        f"There is no conversation named {name!r} to continue.",
        hint=suggestion(name, conversations(notebook)) or "Start one: a cell with --mode tools and without --continue.",
    )


def conversations(notebook: Notebook) -> list[str]:
    """The conversations that `--continue` can name: those of this kernel, and the recorded ones."""
    held = [name for name, value in notebook.namespace.items() if is_code_result(value) and not name.startswith("_")]
    root = notebook.journal_root
    recorded = []
    for name in Folder(root.parent).names(root.name):
        with contextlib.suppress(WrittenLater):
            recorded += [name] if load_record(root, name) is not None else []
    return list(dict.fromkeys([*held, *recorded]))


def passed_before(notebook: Notebook, earlier: EarlierRun | None) -> ConversationContext:
    """The tools and frames that the user passed to a conversation in this kernel. None come from a record."""
    if earlier is None:
        return ConversationContext()
    job = notebook.jobs.current(earlier.name)
    if isinstance(job, CodeJob):
        request = job.request
        return ConversationContext(job.conversation, request.tools, request.functions, request.frames)
    return ConversationContext(earlier.record.conversation if earlier.record is not None else "")


def require_passed(request: CodeRequest) -> None:
    """Check that a conversation that continues from its record has all its tools and frames.

    The record may come from somebody else. It only names them; the functions and tables come from a cell.
    """
    record = request.earlier.record if request.earlier is not None else None
    if record is None or request.earlier is None:
        return
    tools = [name for name in record.tools if name not in request.tools and name not in request.functions]
    frames = [name for name in record.frames if name not in request.frames]
    if not tools and not frames:
        return
    name = request.earlier.name
    missing = [*([f"the tools {', '.join(tools)}"] if tools else [])]
    missing += [f"the data {', '.join(frames)}"] if frames else []
    again = [*(f"--tool {tool}" for tool in tools), *(f"@{frame}" for frame in frames)]
    raise InvalidRequest(
        f"{name} cannot be continued without {' and '.join(missing)}.",
        why="It continues from a file, which only names them. Nothing is passed to code because a file names it.",
        hint=f"Run the cell of {name} first, or pass them in this cell: {' '.join(again)}.",
    )


# The last state of a card, with what no event contains: answer, value, charts, sent requests


def completed(state: CodeRun, job: CodeJob, journal_root: Path) -> CodeRun:
    """The last state of a run, with the answer and the requests that were sent."""
    return replace(outcome_of(state, job.result.result), sent=read_sent_messages(journal_root, job))


def outcome_of(state: CodeRun, result: Any) -> CodeRun:
    """A state, with the answer of a result."""
    return replace(state, summary=result.summary, value=_glimpse(_beside_the_answer(result)), charts=result.charts)


def state_of(result: CodeModeResult) -> CodeRun:
    """The last state of the card, rebuilt from a result."""
    done = result.result
    state = CodeRun(
        result.name,
        notice=done.notes,
        phase=done.state,
        asks_for=cast("AsksFor", result.asks_for),
        reason=done.error or "",
        seconds=done.seconds,
        turn=done.turns,
        blocks=done.blocks,
        calls=done.calls,
        steps=Steps(done.timeline),
        usage=done.usage,
        exchanges=len(done.exchanges),
        replayed_exchanges=sum(exchange.replayed for exchange in done.exchanges),
    )
    return outcome_of(state, done)


def read_sent_messages(journal_root: Path, job: CodeJob) -> str:
    """The complete last request that a run sent to the model, below a line of facts; "" if nothing was sent."""
    from autocoder_jupyter.engine.journal import sent_record

    requests = sent_record(journal_root, job.conversation, job.run_id).get("requests", [])
    if not requests:
        return ""
    last = requests[-1]
    body = last.get("body", {}) if isinstance(last, dict) else {}
    facts = f"requests: {len(requests)} · to: {last.get('to', '')}" if isinstance(last, dict) else ""
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list):
        return f"{facts}\n\n{json.dumps(body, indent=1, ensure_ascii=False)}"
    return "\n\n".join([facts, *(_message(message) for message in messages)])


def _message(message: Any) -> str:
    if not isinstance(message, dict):
        return str(message)
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, indent=1, ensure_ascii=False)
    return f"[{message.get('role', '')}]\n{text}"


def _beside_the_answer(result: CodeModeResult) -> Any:
    """The value without the summary and the charts, which the card shows on their own; None if nothing is left."""
    value = result.value
    if not isinstance(value, Mapping) or str(value.get("summary", "")).strip() != result.summary:
        return value
    return {key: part for key, part in value.items() if key not in ("summary", "charts")} or None


def _glimpse(value: Any) -> Glimpse | None:
    if value is None:
        return None
    from autocoder_jupyter.data.overview import glimpses

    return glimpses({"value": value}, {})[0]


# Settings as arguments of `CodeModeAgent`


def agent_settings(settings: Settings) -> dict[str, Any]:
    """The arguments for the settings that are set. For the others, code mode uses its own defaults."""
    from autocoder_jupyter.codemode import CodeModeAgent, Limits

    _require_privacy(settings)
    config = settings.agent_config()
    shared = RECORDS.keys() & signature(CodeModeAgent).parameters.keys() - {"name"}
    arguments: dict[str, Any] = {name: getattr(config, name) for name in shared}
    arguments["system_prompt_prefix"] = config.system_prompt
    if settings.origins["max_iterations"] != "default":
        arguments["max_retries"] = config.max_iterations - 1
    limits: dict[str, Any] = {}
    if settings.origins["memory"] != "default":
        limits["memory"] = config.resources.memory
    if settings.origins["timeout"] != "default":
        limits["seconds"] = config.timeout
    if limits:
        arguments["limits"] = Limits(**limits)
    return arguments


def _require_privacy(settings: Settings) -> None:
    """Refuse a privacy setting that code mode cannot apply."""
    if settings.origins["max_sample_rows"] != "default" and settings["share"] == "rows":
        raise InvalidRequest(
            f"max_sample_rows is set ({settings.origins['max_sample_rows']}), and --mode tools does not support it.",
            hint="With --share stats the model sees no rows at all.",
        )


# Functions of the notebook that `--tool` names

Tools = Mapping[str, Callable[..., Any]]
"""The tools, by their name in the code."""

_OF_PYTHON = frozenset({"builtins", "io", "_io", "_pyio"})
"""The modules of built-in functions such as `open`. They are not offered, because no code should get them by a typo."""


def find_tools(options: Sequence[ToolOption], namespace: Mapping[str, Any]) -> Tools:
    """The functions that the options name."""
    return {option.alias: _found(option.name, namespace) for option in options}


def tool_names(namespace: Mapping[str, Any]) -> list[str]:
    """The variables of the notebook that can be tools: functions, and results that can be called."""
    names = [name for name, value in namespace.items() if not name.startswith("_") and is_tool(value)]
    return names[:MOST_OTHERS]


def is_tool(value: object) -> bool:
    """Whether a value can be a tool. Not classes, built-in functions, and names that IPython adds."""
    if isinstance(value, type) or not callable(value):
        return False
    home = str(getattr(value, "__module__", ""))
    return is_result(value) or not (home.startswith(("IPython.", "ipykernel.")) or home in _OF_PYTHON)


def _found(name: str, namespace: Mapping[str, Any]) -> Callable[..., Any]:
    first, *attributes = name.split(".")
    if first not in namespace:
        hint = suggestion(first, tool_names(namespace))
        raise InvalidRequest(f"--tool {name}: there is no {first!r} in the notebook.", hint=hint)
    value = namespace[first]
    for number, attribute in enumerate(attributes, 1):
        if not hasattr(value, attribute):
            owner = ".".join((first, *attributes[: number - 1]))
            public = [known for known in dir(value) if not known.startswith("_")]
            raise InvalidRequest(f"--tool {name}: {owner} has no {attribute!r}.", hint=suggestion(attribute, public))
        value = getattr(value, attribute)
    if isinstance(value, type) or not callable(value):
        kind = "a class" if isinstance(value, type) else f"of the type {type(value).__name__}"
        raise InvalidRequest(f"--tool {name}: it is {kind}, not a function.", hint=_instead(name, value))
    if is_result(value) and value.done and not value.can_be_called:
        raise InvalidRequest(
            f"--tool {name}: {name} cannot be called, because it {_ended(value.state)}.", hint="Run its cell again."
        )
    result: Callable[..., Any] = value
    return result


def _instead(name: str, value: object) -> str:
    if type(value).__name__ in ("DataFrame", "Series"):
        return f"Write @{name} in the request to pass it."
    return "Write a function that wraps it, with a docstring that describes it."


def _ended(state: str) -> str:
    return {"cancelled": "was cancelled", "over_budget": "went over its budget"}.get(state, "failed")


# Cells


def build_code_request(command: CellCommand, notebook: Notebook, settings: Settings) -> CodeRequest:
    """The request of a cell for code mode. The frames are captured as they are now."""
    earlier = earlier_of(notebook, command.continues)
    before = passed_before(notebook, earlier)
    given = find_tools(command.tools, notebook.namespace)
    callables = {**before.tools, **before.functions, **given}
    request = CodeRequest(
        name=command.name,
        message=command.prompt,
        tools={alias: value for alias, value in callables.items() if not is_result(value)},
        functions={
            alias: value.with_options(sandbox_minimum=settings.sandbox_minimum)
            for alias, value in callables.items()
            if is_result(value)
        },
        frames={**before.frames, **_frames(command, notebook.namespace)},
        settings=agent_settings(settings),
        config=settings.agent_config(),
        conversation=before.conversation or command.name,
        earlier=earlier,
        attended=not notebook.is_headless,
        rules=usable_rules(notebook.journal_root.parent, locked=settings["locked"]),
    )
    _refuse_one_name_for_two(request)
    require_passed(request)
    return request


def launch_code(notebook: Notebook, request: CodeRequest, settings: Settings, notices: tuple[str, ...] = ()) -> None:
    """Start a run, bind its name to the pending result at once, and show its card with the notices."""
    tracker = RunTracker(
        CodeRun(
            request.name,
            request.settings.get("max_cost"),
            notice=() if notebook.is_terminal else notices,
            continues=request.earlier.name if request.earlier else "",
        )
    )
    card = LiveCard(tracker, complete=lambda last: completed(last, job, notebook.journal_root))
    job = notebook.jobs.submit_code(request, journal_root=notebook.journal_root, tracker=tracker)
    started = show_job(notebook, job, card, notices=notices)
    if waits(notebook, settings):
        wait_for(
            notebook,
            started,
            TerminalProgress(card, has_prompt=True),
            lambda: ask_consent_at_prompt(job),
            NO_ANSWER,
            asks_consent=True,
        )


def preview_code(request: CodeRequest) -> str:
    """The text of the first question to the model, after the conversation so far."""
    before = "" if request.earlier is None else f"[the messages of {request.earlier.name}]\n\n"
    agent = agent_of(request)
    asked = agent.asked(request.message, (), request.frames, request.rules).messages[-1]["content"]
    return f"[system]\n{agent.system_prompt}\n\n{before}[user]\n{asked}"


def retried(request: CodeRequest) -> CodeRequest:
    """The same request, with new answers of the model."""
    return dataclasses.replace(request, settings={**request.settings, "cache": "override"})


def _frames(command: CellCommand, namespace: Mapping[str, Any]) -> dict[str, Any]:
    samples = collect_samples(command, namespace, may_sample=False)
    for name, value in samples.items():
        if kind_of(value) not in ("DataFrame", "Series"):
            raise InvalidRequest(
                f"{name} cannot be passed: with --mode tools, only pandas DataFrames and Series can.",
                hint="Read it into a DataFrame first, or pass a tool that reads it.",
            )
    return samples


def _refuse_one_name_for_two(request: CodeRequest) -> None:
    for name in request.frames:
        if name in request.tools or name in request.functions:
            raise InvalidRequest(f"{name} is both a tool and a frame.", hint=f"Rename the tool: --tool {name}_=…")
