"""Probes: expressions with which the model looks at the data before it plans, and tables that a fix gets to see.

A model wrote what is evaluated here. So it runs in the sandbox only, without network and secrets, on tables that have
nothing that the description of the data withholds; what comes back is bounded, not believed, and masked.
"""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.data.rendering import neutral
from autocoder_jupyter.data.text_formats import shorten
from autocoder_jupyter.data.withheld import WithheldColumns, shareable_tables
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.prompt import block
from autocoder_jupyter.engine.repair import excerpt
from autocoder_jupyter.engine.sample_run import PROGRAM_FAILURES
from autocoder_jupyter.errors import AutocodeError, OutOfMemory, SandboxTimeout, UnsupportedData, was_killed
from autocoder_jupyter.models.answers import fenced_blocks
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.run.events import TextStreamed
from autocoder_jupyter.sandbox.protocol import Callee, CallSpec, Program, TestSpec, Worker
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import InputSpec, OutputSpec, type_name
from autocoder_jupyter.untrusted import plain_json
from autocoder_jupyter.untrusted.parsing import complaint, parse_expression
from autocoder_jupyter.versions.request_fields import content_key

if TYPE_CHECKING:
    from autocoder_jupyter.engine.conversation import Messages
    from autocoder_jupyter.engine.generation import GenerationSetup, GenerationState
    from autocoder_jupyter.sandbox.host.replies import CallAnswer
    from autocoder_jupyter.sandbox.worker.entries import Packed

# What the model may ask for

MOST_PROBES, ROUNDS = 5, 2

_LONGEST_PROBE, _LONGEST_ANSWER = 1_000, 100_000
_TAGS = ("probe", "probes")

_BUILTINS = (
    *("abs", "all", "any", "bool", "dict", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min"),
    *("range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "type", "zip"),
)


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_OF_LIBRARIES: Mapping[str, frozenset[str]] = {
    "pd": _set(
        "DataFrame DateOffset Grouper Index Interval NA NaT NamedAgg Series Timedelta Timestamp concat crosstab cut "
        "date_range factorize isna isnull merge merge_asof notna notnull pivot_table qcut to_datetime to_numeric "
        "to_timedelta unique"
    ),
    "np": _set(
        "abs arange array ceil corrcoef diff exp floor inf isclose isfinite isinf isnan log log10 log1p max mean "
        "median min nan nanmax nanmean nanmin number percentile quantile round sign sort sqrt std sum unique var where"
    ),
}
_REFUSED = _set("dump dumps eval format format_map pipe save savez tofile")
_CONVERSIONS = _set(
    "to_datetime to_dict to_frame to_list to_numeric to_numpy to_period to_records to_series to_string to_timedelta "
    "to_timestamp"
)
"""The methods with `to_` that write no file."""


class NotAProbe(ValueError):
    """A line is not an expression that is evaluated; the message is text for the model."""


def probes_in(answer: str) -> tuple[str, ...]:
    """The lines of an answer that only asks for probes; () for any other answer."""
    answer = answer[:_LONGEST_ANSWER]
    blocks = fenced_blocks(answer)
    if not blocks or any(one.tag not in _TAGS for one in blocks):
        return ()
    inside = {line for one in blocks for line in one.body.splitlines()}
    rest = [line for line in answer.splitlines() if line not in inside]
    if any(line.startswith(("def ", '"""', "'''")) for line in rest):  # a module without a fence
        return ()
    lines = [line.strip() for one in blocks for line in one.body.splitlines()]
    lines = [line[6:-1] if line.startswith("print(") and line.endswith(")") else line for line in lines]
    return tuple(dict.fromkeys(line for line in lines if line and not line.startswith("#")))


def tables_used(expression: str, names: Iterable[str]) -> frozenset[str]:
    """The names of the tables in a probe.

    The sandbox is what confines it. This refuses early what no question about data needs.

    Raises:
        NotAProbe: it is not evaluated.
    """
    if len(expression) > _LONGEST_PROBE:
        raise NotAProbe(f"it has more than {_LONGEST_PROBE:,} characters")
    try:
        tree = parse_expression(expression)
    except SyntaxError as error:
        raise NotAProbe(f"it is not one expression of Python: {complaint(error)}") from None
    nodes, tables = list(ast.walk(tree)), frozenset(names)
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    for node in nodes:
        if isinstance(node, ast.Attribute):
            _require_harmless(node)
        elif isinstance(node, ast.Name):
            is_library = node.id in _OF_LIBRARIES and id(node) in owners and node.id not in bound
            if not is_library and node.id not in tables | bound | {*_BUILTINS}:
                raise NotAProbe(f"there is no {node.id}")
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "query":
            text = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
            if not isinstance(text, str) or "@" in text or "__" in text:
                raise NotAProbe("query() takes one text without @")
        elif isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
            raise NotAProbe("it is not an expression over tables")
    used = tables.intersection(node.id for node in nodes if isinstance(node, ast.Name))
    if not used:
        raise NotAProbe(f"it uses none of {', '.join(sorted(tables))}")
    return used


def _require_harmless(node: ast.Attribute) -> None:
    name, owner = node.attr, node.value
    if isinstance(owner, ast.Name) and owner.id in _OF_LIBRARIES:
        is_refused = name not in _OF_LIBRARIES[owner.id]
    else:
        is_other_form = name.startswith(("to_", "read_")) and name not in _CONVERSIONS
        is_refused = name.startswith("_") or name in _REFUSED or is_other_form
    if is_refused:
        raise NotAProbe(f"{name[:_LONGEST_NAME]} is not available")


def probed_names(samples: Mapping[str, Any], config: AgentConfig) -> tuple[str, ...]:
    """The tables that the model may probe; none if that is not offered.

    It is offered only where rows are shared. A number or a truth value of an expression that the model chose can tell
    any value, letter by letter, so no answer is safe at the other levels.
    """
    if config.share != "rows" or config.max_sample_rows <= 0 or not EFFORTS[config.effort].is_examined:
        return ()
    return tuple(
        name
        for name, value in samples.items()
        if isinstance(value, pd.DataFrame | pd.Series)
        and name.isidentifier()
        and name not in (*_OF_LIBRARIES, *_BUILTINS)
        and not (isinstance(value, pd.Series) and str(value.name) in config.mask)
    )


def offer_text(names: Sequence[str]) -> str:
    """The end of the first question; "" without names."""
    return prompt("first_answer.probes", names=", ".join(f"`{name}`" for name in names)) if names else ""


# What the sandbox tells of a value

MOST_ROWS = 10
LONGEST = 1_500
"""Characters of the text about one value."""

_MOST_COLUMNS, _MOST_NOTES = 20, 20
_LONGEST_CELL, _LONGEST_NAME, _LONGEST_TEXT = 60, 60, 1_000
_LONGEST_REPLY = 400_000


@dataclass(frozen=True)
class DescribedValue:
    """A value as a program in the sandbox describes it. All texts are of the program, and not masked.

    Args:
        size: rows and columns of a table, the number of values of a Series; () for any other value.
        columns: name and dtype of the first columns.
        index: the names of the index; () if that only numbers the rows.
        rows: the cells of the first rows, those of the index first.
        text: the beginning of a value that is not a table.
    """

    kind: str
    size: tuple[int, ...] = ()
    columns: tuple[tuple[str, ...], ...] = ()
    index: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    text: str = ""

    @classmethod
    def read(cls, found: Any) -> DescribedValue:
        """What a program told.

        Raises:
            ValueError: it is something else.
        """
        if not isinstance(found, dict):
            raise ValueError("no description of a value")
        size = found.get("size", [])
        if not isinstance(size, list) or not all(type(count) is int and 0 <= count < 2**53 for count in size):
            raise ValueError("a size that is none")
        columns = tuple(_texts(column, 2) for column in _listed(found.get("columns", []), _MOST_COLUMNS))
        if any(len(column) != 2 for column in columns):
            raise ValueError("a column without a dtype")
        index = _texts(found.get("index", []), _MOST_COLUMNS)
        rows = tuple(_texts(row, 2 * _MOST_COLUMNS) for row in _listed(found.get("rows", []), MOST_ROWS))
        if any(len(row) != len(index) + len(columns) for row in rows):
            raise ValueError("a row that does not fit its columns")
        kind, text = _texts([found.get("kind"), found.get("text", "")], 2)
        return cls(kind[:_LONGEST_NAME], tuple(size[:2]), columns, index, rows, text)

    def written(self, masker: Masker, *, rows: int = MOST_ROWS) -> str:
        """The text for the model."""
        if not self.size:
            return _cut(f"{_shown(self.kind, masker)}: {_shown(self.text, masker, LONGEST)}")
        names = [f"{_shown(name, masker)} {_shown(dtype, masker)}" for name, dtype in self.columns]
        if len(self.size) == 1:
            head = f"{_shown(self.kind, masker)} of {self.size[0]} values, {names[0] if names else ''}"
        else:
            listed = ", ".join([*names, *(["…"] if self.size[1] > len(names) else [])])
            head = f"{_shown(self.kind, masker)}, {self.size[0]} rows × {self.size[1]} columns: {listed}"
        shown = self.rows[:rows]
        if not shown:
            return _cut(head)
        cells = [_column(texts, masker) for texts in zip(*shown, strict=True)]
        titles = [_shown(name or "index", masker) for name in (*self.index, *(name for name, _ in self.columns))]
        lines = [",".join(row) for row in (titles, *zip(*cells, strict=True))]
        rest = self.size[0] - len(shown)
        return _cut("\n".join([head, *lines, *([f"… and {rest} more"] if rest > 0 else [])]))


def _short(text: str, longest: int) -> str:
    """A text of which something may be missing already, as its end says; that end is not believed."""
    return shorten(text, longest)[: longest + 20]


def _listed(found: Any, most: int) -> list[Any]:
    if not isinstance(found, list):
        raise ValueError("no list")
    return found[:most]


def _texts(found: Any, most: int) -> tuple[str, ...]:
    texts = _listed(found, most)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("no texts")
    return tuple(_short(text, _LONGEST_TEXT) for text in texts)


def _shown(text: str, masker: Masker, longest: int = _LONGEST_NAME) -> str:
    return neutral(_short(masker.mask(text), longest))


def _column(texts: Sequence[str], masker: Masker) -> list[str]:
    mask = masker.for_column(texts)
    return [neutral(_short(mask(text), _LONGEST_CELL)).replace(",", ";") for text in texts]


def _cut(text: str) -> str:
    return _short(text, LONGEST)


def reply_of(text: Any) -> dict[str, Any]:
    """The reply of `programs.look`, which is not trusted.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(text, str) or len(text) > _LONGEST_REPLY:
        raise ValueError("a reply that is too long")
    found = plain_json.parse(text, values=20_000)
    if not isinstance(found, dict):
        raise ValueError("no reply")
    return found


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
        self._rows = min(MOST_ROWS, setup.config.max_sample_rows)
        self._tables: Mapping[str, Any] = {}

    async def look(self, lines: Sequence[str], is_last: bool) -> Messages:
        """The further messages of the conversation: the probes, and what they give."""
        probes = lines[:MOST_PROBES]
        results = []
        for number, line in enumerate(probes, start=1):
            shown, result = _cut(neutral(line)), await self._result(line)
            results.append(f'<data name="probe {number}">\n>>> {shown}\n{result}\n</data>')
        if len(lines) > len(probes):
            results.append(f"Only the first {MOST_PROBES} were evaluated.")
        self._setup.emit(TextStreamed("plan", "\n" + "\n".join(results) + "\n"))
        asked = "\n".join(["```probe", *map(_cut, probes), "```"])
        next_step = prompt("first_answer.no more probes") if is_last else prompt("first_answer.results of probes")
        told = "\n\n".join([*results, next_step])
        return ({"role": "assistant", "content": asked}, {"role": "user", "content": told})

    async def _result(self, line: str) -> str:
        """What a probe gives, as it is recorded or found out now."""
        journal, cache = self._setup.services.journal, self._setup.config.cache
        key = content_key(self._setup.prepared.context.text, self._rows, line)
        recorded = (journal.find_step(_STEP, key) or {}).get("told") if cache == "auto" else None
        if isinstance(recorded, str):
            told = _cut("\n".join(map(neutral, recorded.splitlines())))
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
                (text,) = _texts([error], 1)
                return f"It failed: {_shown(text, self._masker, LONGEST)}"
            return DescribedValue.read(reply.get("value")).written(self._masker, rows=self._rows)
        except NotAProbe as error:
            return f"It was not evaluated: {_shown(str(error), self._masker, LONGEST)}."
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
            setup, samples = self._setup, {name: self._setup.request.samples[name] for name in self._names}
            withheld = WithheldColumns.of(setup.config.hide, setup.config.mask)
            self._tables = await call_blocking(lambda: shareable_tables(samples, withheld, self._masker))
        return {name: table for name, table in self._tables.items() if name in names}

    async def _run(self, line: str, tables: Mapping[str, Any]) -> Any:
        await self._ready()
        code = program_text("look", EXPRESSION=line.strip(), ROWS=self._rows, BUILTINS=list(_BUILTINS))
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
    text = _short("\n".join(map(neutral, told.splitlines())), _LONGEST_TABLES)
    return block("tables", f"{prompt('fix.tables')}\n\n{text}") if text else ""


async def _traced(state: GenerationState, tests: Sequence[tuple[str, str]], masker: Masker, rows: int) -> Any:
    program = Program(state.code, state.brief.plan.inputs, state.brief.plan.outputs)
    code = program_text("look", CODE=state.code, ROWS=rows)
    tracing = Program(code, program.inputs, (_REPLY,))
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
    for note in _listed(reply.get("notes", []), _MOST_NOTES):
        line, name, found = note
        if type(line) is not int or not 0 < line <= len(source) or not isinstance(name, str):
            raise ValueError("a note of no line")
        if line != last:
            yield f"After line {line}, `{source[line - 1].strip()}`"
        last = line
        yield f"{_shown(name, masker)}: {DescribedValue.read(found).written(masker, rows=rows)}"


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
