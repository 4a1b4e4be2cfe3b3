"""What the tools do, where the data are: in a kernel, or in the server's process for a folder.

The texts of an agent are compared with what is there, or are the words of a request. They are never evaluated.
"""

from __future__ import annotations

import builtins
import io
import json
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
from pydantic import BaseModel

from autocoder_jupyter.agent.agent import load, loadable
from autocoder_jupyter.agent.arguments import build_request
from autocoder_jupyter.agent.rules import rule_files, usable_rules, with_rules
from autocoder_jupyter.calls.outputs import field_names
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.data.capture import converted
from autocoder_jupyter.data.readers import read_table
from autocoder_jupyter.data.sampling import is_source, sampled
from autocoder_jupyter.data.sources import lazy_kind
from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.jobs import GenerationJob
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.kinds.values import Figure
from autocoder_jupyter.magics.cell import launch
from autocoder_jupyter.magics.notebook import Notebook, is_result
from autocoder_jupyter.magics.references import kind_of
from autocoder_jupyter.magics.settings import Autocode, suggestion
from autocoder_jupyter.mcp.answers import (
    CallOutputs,
    Description,
    FunctionVerdict,
    Listing,
    NamedFunction,
    NamedTable,
    Output,
)
from autocoder_jupyter.mcp.paths import NamedFolders
from autocoder_jupyter.mcp.shown import AgentView
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.redaction.messages import without_anything_secret
from autocoder_jupyter.request import Share
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.run.events import EndState
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import headline, open_questions, run_of
from autocoder_jupyter.run.record import HEADLINES, AsksFor
from autocoder_jupyter.settings.parameters import is_input_name
from autocoder_jupyter.types import Dir, File, InputSpec
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.visible import visible

_log = redacting_logger(__name__)

TRUST = "waiting for the person: agreement to settings or house rules of the folder (%autocode trust)."

LONGEST_REQUEST = 20_000

_CALLING = threading.Lock()
"""One call at a time: each takes free names, and hears the warnings of the process."""


@dataclass(frozen=True)
class Kept:
    """A value that a call returned.

    Args:
        output: what was said of it.
        seen: what the agent could see when it was shown; None if it was not: it can only be passed to other calls.
    """

    value: Any
    output: Output
    seen: AgentView | None


@dataclass(frozen=True)
class Handler:
    """Functions, frames and files of one session of an agent.

    Args:
        has_person: whether somebody can be asked, in the notebook.
        kept: what calls of agents returned, by name.
        made: the jobs that this session has started, by name.
    """

    notebook: Notebook
    folders: NamedFolders
    share: Share
    has_person: bool
    kept: dict[str, Kept] = field(default_factory=dict)
    made: dict[str, GenerationJob] = field(default_factory=dict)

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> BaseModel:
        """What a tool returns.

        Raises:
            AutocodeError: it cannot do that.
        """
        tools: dict[str, Callable[..., BaseModel]] = {
            "list": self.list,
            "describe": self.describe,
            "call": self.call,
            "make": self.make,
            "verdict": self.verdict,
        }
        return tools[tool](**arguments)

    # What is there

    @property
    def _view(self) -> AgentView:
        """What the agent may see now: the person can change the settings of the notebook at any time."""
        self.notebook.front_end.await_settings()
        return AgentView.of(self.notebook.settings().agent_config(), self.share)

    def _results(self) -> dict[str, CodeGenEvalResult]:
        """The functions of the notebook by name, also those that are being made."""
        jobs = {job.name: job.result for job in self.notebook.jobs.all_jobs() if is_result(job.result)}
        bound = {name: value for name, value in self.notebook.namespace.items() if is_result(value) and name[0] != "_"}
        return {**jobs, **bound}

    def _function(self, name: str) -> CodeGenEvalResult:
        results = self._results()
        if name in results:
            return results[name]
        recorded = loadable()
        if name in recorded:
            return load(recorded[recorded.index(name)])
        raise InvalidRequest(
            f"There is no function {visible(name[:100])!r}.",
            hint=suggestion(name[:100], [*results, *recorded]) or "list names what is there.",
        )

    def _frames(self) -> dict[str, Any]:
        """The tables of the notebook by name. Those whose rows are elsewhere are left out: reading them is a query."""
        return {
            name: value
            for name, value in self.notebook.namespace.items()
            if is_input_name(name) and name[0] != "_" and _is_table(value)
        }

    def _table(self, text: str) -> Any:
        """The frame of that name, or the path of the file."""
        frames = self._frames()
        if text in frames:
            return frames[text]
        if text.isidentifier():
            raise InvalidRequest(
                f"There is no table {visible(text[:100])!r}.",
                hint=suggestion(text[:100], frames) or "Name a file below the folders of the person.",
            )
        return self.folders.table(text)

    def list(self) -> Listing:
        view, results = self._view, self._results()
        recorded = {name: load(name) for name in loadable() if name not in results}
        frames = {name: value for name, value in self._frames().items() if self._kept(name) is None}
        return Listing(
            share=view.share,
            functions=[self._in_a_line(view, result) for result in {**recorded, **results}.values()],
            frames=[
                NamedTable(name=name, rows=len(value), columns=value.shape[1] if len(value.shape) > 1 else 1)
                for name, value in frames.items()
            ],
            files=[NamedTable(name=name, size=size) for name, size in self.folders.tables()],
        )

    def _in_a_line(self, view: AgentView, result: CodeGenEvalResult) -> NamedFunction:
        told = result.can_be_called and not view.withheld_of(result)
        return NamedFunction(
            name=result.name,
            signature=_signature(result, told=told),
            headline=headline(_run_of(result, self.made.get(result.name))),
            does=result.interface.description.partition("\n")[0] if told else "",
        )

    def describe(self, name: str) -> Description:
        view = self._view
        frames = self._frames()
        if (kept := self._kept(name)) is not None and not (view.may_show(kept.seen) and name in frames):
            said = view.said_of(kept.output, kept.seen)
            return Description(name=name, kind=said.kind, text=said.model_dump_json(), withheld=said.withheld)
        if name not in frames and name.isidentifier():
            return self._described(view, self._function(name))
        value = self._read(self._table(name), name)
        return Description(name=name, kind=type(value).__name__, text=view.table(_plain_name(name), value))

    def _described(self, view: AgentView, result: CodeGenEvalResult) -> Description:
        withheld = view.withheld_of(result) if result.can_be_called else "it is not finished"
        text = f"{result.name}{_signature(result, told=not withheld)}"
        if not withheld:
            text += f"\n\n{result.interface.documentation()}"
        return Description(
            name=result.name,
            kind="function",
            text=text,
            code="" if withheld else result.code,
            withheld=f"Its words and its code are not shown: {withheld}." if withheld else "",
        )

    def _kept(self, name: str) -> Kept | None:
        """What a call has returned under this name, if the person has not bound it anew."""
        kept = self.kept.get(name)
        bound = next((value for key, value in self.notebook.namespace.items() if key == name), None)
        return kept if kept is not None and kept.value is bound else None

    def _read(self, value: Any, name: str) -> Any:
        """A table in memory; of Parquet a sample."""
        if not isinstance(value, Path):
            return value if (table := converted(value)) is None else table
        if is_source(value):
            return background.run(sampled({"table": value}))["table"]
        return read_table(visible(name[:100]), value, None)

    # Calls

    def call(self, name: str, inputs: Mapping[str, Any]) -> CallOutputs:
        view, result = self._view, self._function(name)
        run = _run_of(result, self.made.get(name))
        if not result.can_be_called:
            raise InvalidRequest(
                f"{name} cannot be called: {headline(run)}.",
                why=self._waiting_for(result, run),
                hint=f"verdict {name} says how it goes.",
            )
        values = self._inputs(result, inputs)
        given = {**result.original_samples, **values}
        unseen = {
            key: view.said_of(kept.output, kept.seen)
            for key, value in given.items()
            for kept in self.kept.values()
            if kept.value is value and not view.may_show(kept.seen)
        }
        read = {key: self._read(value, key) for key, value in given.items()}
        shows = not unseen and view.shows(read.values())
        # Of a table that may not be seen, the agent knows the names that it was told.
        read |= {key: pd.DataFrame(columns=output.columns) for key, output in unseen.items()}
        with _CALLING:
            return self._called(view, result, values, read.values(), shows=shows)

    def _called(
        self,
        view: AgentView,
        result: CodeGenEvalResult,
        values: Mapping[str, Any],
        given: Iterable[Any],
        *,
        shows: bool,
    ) -> CallOutputs:
        name = result.name
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                returned = result.run(**values)
            except AutocodeError as error:
                raise view.failure(result, error, shows=shows) from None
        specs = result.declared_outputs
        returned = [returned] if len(specs) == 1 else list(returned)
        outputs = []
        for spec, field_name, value in zip(specs, field_names([spec.name for spec in specs]), returned, strict=True):
            output = view.output(result, spec, value, given, shows=shows)
            seen = view if shows else None
            outputs.append(self._keep(name if len(specs) == 1 else f"{name}_{field_name}", value, output, seen, name))
        notes = [Masker().mask(str(warning.message)) for warning in caught] if shows else []
        run = _run_of(result, self.made.get(name))
        return CallOutputs(function=name, headline=headline(run), outputs=outputs, notes=notes)

    def _inputs(self, result: CodeGenEvalResult, inputs: Mapping[str, Any]) -> dict[str, Any]:
        specs = {spec.name: spec for spec in result.declared_inputs}
        if strange := next((name for name in inputs if name not in specs), None):
            raise InvalidRequest(
                f"{result.name} has no input {visible(strange[:100])!r}.",
                hint=f"Its inputs: {', '.join(specs) or 'none'}.",
            )
        known = {*inputs, *result.original_samples}
        if missing := next((spec for spec in specs.values() if spec.required and spec.name not in known), None):
            raise InvalidRequest(
                f"{result.name} needs {missing.name} ({missing.written_type}).",
                hint="Give the name of a frame or the path of a file for a table."
                if KINDS[missing.type].is_data
                else "",
            )
        return {name: self._input(specs[name], value) for name, value in inputs.items()}

    def _input(self, spec: InputSpec, value: Any) -> Any:
        kind = KINDS[spec.type]
        if kind.is_data:
            if not isinstance(value, str):
                raise InvalidRequest(
                    f"{spec.name} must be a text: the name of a frame, or the path of a file.",
                    why="Data stay where they are, and are passed by name.",
                )
            if kind.form == "table":
                return self._table(value)
            return File(self.folders.path(value)) if spec.type == "File" else Dir(self.folders.folder(value))
        try:
            return kind.from_json(value)
        except (TypeError, ValueError):
            raise InvalidRequest(f"{spec.name} must be a {spec.written_type}.", hint=kind.iso_example) from None

    def _keep(self, base: str, value: Any, output: Output, seen: AgentView | None, function: str) -> Output:
        """Bind a value to a new name, so that nothing is replaced. Without a kernel it gets a file too."""
        if isinstance(value, File | Dir):
            return output
        taken = {*self.notebook.namespace, *loadable(), *dir(builtins)}
        number = next(number for number in range(1, len(taken) + 2) if f"{base}_{number}" not in taken)
        output.name = f"{base}_{number}"
        self.notebook.namespace[output.name] = value
        if not self.has_person:
            output.file = self._written(function, output.name, value)
        self.kept[output.name] = Kept(value, output, seen)
        return output

    def _written(self, function: str, name: str, value: Any) -> str:
        """The path of a new file with a value, beside what calls of the function have written; "" if it has none."""
        content, suffix = _content(value)
        if not content:
            return ""
        root = self.notebook.journal_root
        files, place = Folder(root.parent), f"{root.name}/{function}/outputs"
        number = 1
        while files.exists(path := f"{place}/{name}{f'-{number}' if number > 1 else ''}{suffix}"):
            number += 1
        files.write(path, content)
        return str(root.parent / path)

    # Requests

    def make(self, name: str, request: str, data: Mapping[str, str], max_cost: float) -> FunctionVerdict:
        self._require_new(name)
        if not request.strip() or len(request) > LONGEST_REQUEST:
            raise InvalidRequest(f"A request is a text of at most {LONGEST_REQUEST:,} characters.")
        settings = self.notebook.settings()
        config = self._view.config
        samples = {}
        for key, text in data.items():
            if not is_input_name(key):
                raise InvalidRequest(f"{visible(key[:100])!r} cannot be the name of an input.")
            if (kept := self._kept(text)) is not None and not self._view.may_show(kept.seen):
                raise InvalidRequest(
                    f"{text} cannot be the data of a request.",
                    why="It was computed from data that you may not see, and its names could tell them.",
                    hint="Use the frames and files from which it was computed.",
                )
            samples[key] = self._read(self._table(text), key)
            self._view.require_describable(key, samples[key])
        withheld = AgentView(config).withheld_in(samples.values())
        config = replace(
            config,
            hide=tuple(name for name in config.hide if name in withheld.hidden),
            mask=tuple(name for name in config.mask if name in withheld.masked),
            max_cost=max_cost if config.max_cost is None else min(max_cost, config.max_cost),
            ask=config.ask and self.has_person,
        )
        root = self.notebook.journal_root
        made = build_request(request, name, samples=samples)
        made = with_rules(made, usable_rules(root.parent, locked=config.locked))
        launch(self.notebook, made, config, waits=False)
        job = self.notebook.jobs.current(name)
        assert isinstance(job, GenerationJob)
        self.made[name] = job
        verdict = self.verdict(name)
        if settings.waiting or any(not file.may_be_used(locked=config.locked) for file in rule_files(root.parent)):
            verdict.waiting_for = verdict.waiting_for or TRUST
        return verdict

    def _require_new(self, name: str) -> None:
        if not is_input_name(name) or name[0] == "_" or hasattr(builtins, name):
            raise InvalidRequest(f"{visible(name[:100])!r} cannot be the name of a function.", hint="Use a new word.")
        bound = [value for known, value in self.notebook.namespace.items() if known == name]
        made = self.made.get(name)
        is_own = made is not None and made is self.notebook.jobs.current(name)
        is_own = is_own and all(made is not None and value is made.result for value in bound)
        if (bound or name in loadable()) and not is_own:
            raise InvalidRequest(
                f"{name} is there already.",
                why="It is the person's, and an agent replaces nothing of theirs.",
                hint="Call it, or choose another name.",
            )

    def verdict(self, name: str) -> FunctionVerdict:
        job = self.made.get(name)
        if job is not None and not self.has_person and job.pending_approval is not None:
            job.decline()  # as in a run without a user
        result = job.result if job is not None else self._function(name)
        run = _run_of(result, job)
        return self._view.verdict(result, run, waiting_for=self._waiting_for(result, run))

    def _waiting_for(self, result: CodeGenEvalResult, run: FunctionRun) -> str:
        """What only the person can do; "" if nothing."""
        job = self.notebook.jobs.current(result.name)
        reply = f"in the notebook (%autocode reply {result.name})"
        asked = ""
        if job is not None and job.pending_approval:
            asked = f"consent to install {', '.join(job.pending_approval)}, {reply}"
        elif job is not None and job.pending_questions:
            asked = f"answers to questions about the request, {reply}"
        elif run.asked_at_end:
            asked = f"{HEADLINES[run.asked_at_end]} It is asked {reply}"
        elif result.state == "not_verified":
            asked = f"to run its cell or {result.name}.verify(): it was not verified here"
        elif open_questions(run):
            asked = f"an answer to the questions, {reply}. It can be called meanwhile"
        return f"waiting for the person: {asked}." if asked else ""


def _signature(result: CodeGenEvalResult, *, told: bool) -> str:
    """The signature; if its words are not told, without defaults, which the model may have taken from the data."""
    if told:
        return str(result.interface.signature())
    inputs = (f"{spec.name}: {spec.written_type}" for spec in result.interface.inputs)
    outputs = ", ".join(spec.written_type for spec in result.interface.outputs)
    return f"({', '.join(inputs)}){f' -> {outputs}' if outputs else ''}"


def _run_of(result: CodeGenEvalResult, job: GenerationJob | None) -> FunctionRun:
    """The record of a function: of the run that makes it, until there is something to use."""
    if result.is_usable:
        return run_of(result.report, cast(EndState, result.state), cast(AsksFor, result.asks_for))
    return job.tracker.run if job is not None and job.result is result else FunctionRun(result.name)


def _is_table(value: Any) -> bool:
    """Whether it is a table in memory, of a library that knows its size without a computation."""
    library = str(type(value).__module__).partition(".")[0]
    return kind_of(value) in ("DataFrame", "Series") or (
        library in ("polars", "pyarrow") and kind_of(value) == "table" and lazy_kind(value) is None
    )


def _plain_name(name: str) -> str:
    return name if name.isidentifier() else "table"


def _content(value: Any) -> tuple[bytes, str]:
    """A value as the content of a file, with its suffix; b"" if it cannot be one."""
    if isinstance(value, Figure):
        return value.png, ".png"
    if not isinstance(value, pd.DataFrame | pd.Series):
        return b"", ""
    file = io.BytesIO()
    try:
        (value.to_frame() if isinstance(value, pd.Series) else value).to_parquet(file)
    except Exception:  # pyarrow and pandas raise several types for what Parquet cannot hold
        return b"", ""
    return file.getvalue(), ".parquet"


# Where a handler is


class JsonAnswer:
    """An answer as IPython formats it: as JSON."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.answer = answer

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"application/json": self.answer}

    def __repr__(self) -> str:
        return "<an answer for an agent>"


_handlers: dict[str, Handler] = {}
"""The handlers of this process by session."""

_kept: dict[str, Kept] = {}
"""Of all sessions: what one of them may not see is none of the person's tables for the next one."""

_FINDING = threading.Lock()


def answer(text: str) -> JsonAnswer:
    """Answer a request that the server has sent into this kernel, as JSON."""
    return JsonAnswer(handled(json.loads(text), _of_kernel, has_person=True))


def handled(asked: Mapping[str, Any], notebook: Callable[[], Notebook], *, has_person: bool) -> dict[str, Any]:
    """The answer of a handler, or its error. Raises nothing."""
    try:
        with _FINDING:
            found, here = _handlers.get(asked["session"]), notebook()
            if found is None:
                found = Handler(here, NamedFolders.of(asked["folders"]), asked["share"], has_person, _kept)
            handler = _handlers[asked["session"]] = replace(
                found, notebook=here
            )  # the extension may have been loaded again
        return {"ok": handler.answer(asked["tool"], asked["arguments"]).model_dump(mode="json")}
    except AutocodeError as error:
        without_anything_secret(error)
        return {"error": str(error)}
    except Exception as error:  # its message may quote the data
        _log.info("a request of an agent failed", exc_info=True)
        return {"error": f"The request failed ({type(error).__name__}). The log of the process has the details."}


def _of_kernel() -> Notebook:
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    magics = shell.magics_manager.registry.get("AutocodeMagics") if shell is not None else None
    if magics is None:
        raise InvalidRequest(
            "The notebook has not loaded the extension.",
            why="Its settings say what may be shared, and consents are asked there.",
            hint="waiting for the person: run %load_ext autocoder_jupyter in the notebook.",
        )
    notebook: Notebook = magics.notebook
    return notebook


def of_folder() -> Notebook:
    """A notebook without a shell, in the current folder."""
    return Notebook(SimpleNamespace(user_ns={}), Autocode())
