"""Evaluates the probes of a first answer, and notes the tables in failing tests for a fix.

A model wrote what runs here. So it runs in the sandbox only, without network and secrets, on tables that have nothing
that the description of the data withholds; what comes back is bounded, not believed, and masked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.data.rendering import neutral
from autocoder_jupyter.data.withheld import WithheldColumns, shareable_tables
from autocoder_jupyter.engine.conversation import Messages
from autocoder_jupyter.engine.generation import GenerationSetup, GenerationState
from autocoder_jupyter.engine.probes import (
    BUILTINS,
    LONGEST,
    MOST_PROBES,
    MOST_ROWS,
    DescribedValue,
    NotAProbe,
    cut,
    listed,
    reply_of,
    short,
    shown,
    tables_used,
    texts_in,
)
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.prompt import block
from autocoder_jupyter.engine.repair import excerpt
from autocoder_jupyter.engine.sample_run import PROGRAM_FAILURES
from autocoder_jupyter.errors import AutocodeError, OutOfMemory, SandboxTimeout, UnsupportedData, was_killed
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.run.events import TextStreamed
from autocoder_jupyter.sandbox.protocol import Callee, CallSpec, Program, TestSpec, Worker
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import InputSpec, OutputSpec, type_name
from autocoder_jupyter.versions.request_fields import content_key

if TYPE_CHECKING:
    from autocoder_jupyter.sandbox.host.replies import CallAnswer
    from autocoder_jupyter.sandbox.worker.entries import Packed

# Probes of the first answer

SECONDS = 10.0
"""The most that one probe may take."""

_STEP = "probe"
_REPLY = OutputSpec(name="reply", type="str")
_UNREADABLE = "its result cannot be shown"


class DataProbes:
    """Evaluates the probes of one generation.

    Args:
        names: the tables that may be probed.
        ready: waits for the environment.
    """

    def __init__(self, setup: GenerationSetup, names: Sequence[str], ready: Callable[[], Awaitable[None]]) -> None:
        self._setup = setup
        self._names = names
        self._ready = ready
        self._masker = setup.prepared.context.masker
        self._withheld = WithheldColumns.of(setup.config.hide, setup.config.mask)
        self._tables: Mapping[str, Any] = {}

    async def look(self, lines: Sequence[str], is_last: bool) -> Messages:
        """The further messages of the conversation: the probes, and what they give."""
        probes = lines[:MOST_PROBES]
        results = []
        for number, line in enumerate(probes, start=1):
            expression, result = cut(neutral(line)), await self._result(line)
            results.append(f'<data name="probe {number}">\n>>> {expression}\n{result}\n</data>')
        if len(lines) > len(probes):
            results.append(f"Only the first {MOST_PROBES} were evaluated.")
        self._setup.emit(TextStreamed("plan", "\n" + "\n".join(results) + "\n"))
        asked = "\n".join(["```probe", *map(cut, probes), "```"])
        next_step = prompt("first_answer.no more probes") if is_last else prompt("first_answer.results of probes")
        told = "\n\n".join([*results, next_step])
        return ({"role": "assistant", "content": asked}, {"role": "user", "content": told})

    async def _result(self, line: str) -> str:
        """What a probe gives, as it is recorded or found out now."""
        journal, cache = self._setup.services.journal, self._setup.config.cache
        withheld = [sorted(self._withheld.hidden), sorted(self._withheld.masked)] if self._withheld else []
        key = content_key(self._setup.prepared.context.text, MOST_ROWS, line, *withheld)
        recorded = (journal.find_step(_STEP, key) or {}).get("told") if cache == "auto" else None
        if isinstance(recorded, str):
            told = cut("\n".join(map(neutral, recorded.splitlines())))
        else:
            told = await self._evaluated(line)
            if cache != "disable":
                journal.add_step(_STEP, key, {"told": told})
        journal.add_probe(line, told)
        return told

    async def _evaluated(self, line: str) -> str:
        try:
            tables = await self._tables_of(tables_used(line, self._names))
            reply = reply_of(await self._run(line, tables))
            if (error := reply.get("error")) is not None:
                (text,) = texts_in([error], 1)
                return f"It failed: {shown(text, self._masker, LONGEST)}"
            return DescribedValue.read(reply.get("value")).written(self._masker)
        except NotAProbe as error:
            return f"It was not evaluated: {shown(str(error), self._masker, LONGEST)}."
        except SandboxTimeout:
            return f"It failed: it took more than {SECONDS:g} s."
        except OutOfMemory:
            return "It failed: it needs too much memory."
        except (*PROGRAM_FAILURES, UnsupportedData, ValueError) as error:
            if isinstance(error, AutocodeError) and was_killed(error):
                raise
            return f"It failed: {_UNREADABLE}."

    async def _tables_of(self, names: frozenset[str]) -> dict[str, Any]:
        if not self._tables:
            samples = {name: self._setup.request.samples[name] for name in self._names}
            self._tables = await call_blocking(lambda: shareable_tables(samples, self._withheld, self._masker))
        return {name: table for name, table in self._tables.items() if name in names}

    async def _run(self, line: str, tables: Mapping[str, Any]) -> Any:
        await self._ready()
        code = program_text("look", EXPRESSION=line.strip(), ROWS=MOST_ROWS, BUILTINS=list(BUILTINS))
        inputs = tuple(InputSpec(name=name, type=type_name(type(table))) for name, table in tables.items())
        program, spec = Program(code, inputs, (_REPLY,)), CallSpec(seed=0, seconds=SECONDS, processor_seconds=SECONDS)
        outcome = await self._setup.session.work(lambda worker: worker.call(program, tables, spec), is_offline=True)
        return outcome.values[_REPLY.name]


# Tables in failing tests, for a fix
#
# A failing test is run again alone. Its last call is then repeated with a copy of the module that notes its tables. The
# workers were never given data, secrets or network, so what they tell comes from the code and the tests, which a model
# wrote. Code may quote values of the data that its model was shown: they are masked, and rows are shown at `rows` only.

MOST_TESTS = 2
_MOST_NOTES = 20
_LONGEST_TABLES = 6_000
_FEW_ROWS = 5
_TRACE_STEP = "tables"


async def tables_in_tests(state: GenerationState, failing: Sequence[str]) -> str:
    """What the tables in `run` were in the first failing tests, for the question for a fix; "" if that is not known."""
    setup, suite = state.setup, state.suite
    if suite is None or not EFFORTS[setup.config.effort].is_examined:
        return ""
    tests = [(name, excerpt(suite.source, [name])) for name in failing if name in suite.ids][:MOST_TESTS]
    shows_rows = setup.share_of_runs == "rows"
    key = content_key(state.code, tests, shows_rows)
    recorded = setup.services.journal.find_step(_TRACE_STEP, key) if setup.config.cache == "auto" else None
    told = (recorded or {}).get("told")
    if not isinstance(told, str):
        masker = Masker()
        told = "\n\n".join([text async for text in _traced(state, tests, masker, _FEW_ROWS if shows_rows else 0)])
        if setup.config.cache != "disable":
            setup.services.journal.add_step(_TRACE_STEP, key, {"told": told})
    text = short("\n".join(map(neutral, told.splitlines())), _LONGEST_TABLES)
    return block("tables", f"{prompt('fix.tables')}\n\n{text}") if text else ""


async def _traced(
    state: GenerationState, tests: Sequence[tuple[str, str]], masker: Masker, rows: int
) -> AsyncIterator[str]:
    helpers = state.brief.request.helpers
    program = Program(state.code, state.brief.plan.inputs, state.brief.plan.outputs, helpers=helpers)
    code = program_text("look", CODE=state.code, ROWS=rows)
    tracing = replace(program, code=code, outputs=(_REPLY,))
    for name, source in tests:

        def job(worker: Worker, callee: Worker, name: str = name, source: str = source) -> Any:
            calls = _RecordingCallee(callee)
            spec = TestSpec(source, (name,), seconds=SECONDS, until_failure=True, traceback=False)
            worker.test(program, spec, callee=calls)
            if calls.last is None:
                return None
            (outcome, *_) = callee.batch(tracing, [calls.last], 2 * SECONDS, seed=0)
            return None if isinstance(outcome, Exception) else outcome.values[_REPLY.name]

        with suppress(AutocodeError, ValueError, TypeError):  # a fix does without
            reply = await state.setup.session.work_with_two(job, without_data=True, is_offline=True)
            if reply is not None and (lines := list(_lines(reply_of(reply), state.code, masker, rows))):
                yield "\n".join([f"In {name}:", *(state.redaction.masked(line) for line in lines)])


def _lines(reply: Mapping[str, Any], code: str, masker: Masker, rows: int) -> Iterator[str]:
    source, last = code.splitlines(), 0
    for note in listed(reply.get("notes", []), _MOST_NOTES):
        line, name, found = note
        if type(line) is not int or not 0 < line <= len(source) or not isinstance(name, str):
            raise ValueError("a note of no line")
        if line != last:
            yield f"After line {line}, `{source[line - 1].strip()}`"
        last = line
        yield f"{shown(name, masker)}: {DescribedValue.read(found).written(masker, rows=rows)}"


class _RecordingCallee:
    """A callee that keeps the arguments of its last call."""

    def __init__(self, callee: Callee) -> None:
        self._callee = callee
        self.last: Packed | None = None

    @property
    def alive(self) -> bool:
        return self._callee.alive

    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        self.last = type(packed)(packed.entries, [bytes(piece) for piece in packed.pieces], packed.size)
        return self._callee.answer(program, packed, spec)
